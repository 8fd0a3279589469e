"""Tests man pages and completions: they contain every option, and shells accept them."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from support import WARPAES, CommandTest, main

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import command_pages  # noqa: E402


class Pages(CommandTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.pages = Path(folder.name)
        for name, content in command_pages.render(WARPAES).items():
            (cls.pages / name).write_text(content)

    def test_every_command_has_a_page(self):
        commands = command_pages.summaries(command_pages.help_of(WARPAES))
        pages = [f"warpaes-{name}.1" for name in commands if name not in command_pages.ELSEWHERE]
        completions = ["_warpaes", "warpaes.bash", "warpaes.fish"]
        self.assertEqual(sorted(os.listdir(self.pages)), sorted(["warpaes.1", *pages, *completions]))
        for page in pages:
            name = page.removeprefix("warpaes-").removesuffix(".1")
            options = dict(command_pages.options_of(command_pages.help_of(WARPAES, name)))
            for option in options.keys() - {"--help", "--help-all"}:
                self.assertIn(command_pages.roff(option), (self.pages / page).read_text(), page)

    def test_every_option_that_is_taken_is_there(self):
        """Every option of the command appears on its page, however the option's line is formatted."""
        for command, some in (
            ("encrypt", "-k --keys --skip-existing --no-progress --json"),
            ("enc", "-pbkdf2 -A -K --range"),
            ("devices", "--json"),
            ("bench", "--segment -o --quick"),
            ("keys", "--primary -t"),
        ):
            names = [name for name, _ in command_pages.options_of(command_pages.help_of(WARPAES, command))]
            self.assertLessEqual(set(some.split()), set(names), command)

    def test_every_help_fits_a_terminal_of_80_columns(self):
        commands = list(command_pages.summaries(command_pages.help_of(WARPAES)))
        self.assertGreater(len(commands), 15)
        for name in command_pages.ELSEWHERE:
            commands.remove(name)
        for command in ([], *([name] for name in commands)):
            for option in ("--help", "--help-all"):
                for line in self.warpaes(*command, option).decode().splitlines():
                    self.assertLessEqual(len(line), 80, (command, line))

    def test_help_takes_a_command(self):
        for command in ("encrypt", "enc", "bench", "keys"):
            self.assertEqual(self.warpaes("help", command), self.warpaes(command, "--help"))
        self.refused(2, "'nosuch'", "help", "nosuch")
        self.refused(2, "'b': unexpected argument", "help", "keys", "b")

    @unittest.skipUnless(shutil.which("groff"), "groff is missing; a machine with groff runs this test")
    def test_groff_finds_no_fault(self):
        for page in self.pages.glob("*.1"):
            result = self.run_command("groff", "-man", "-ww", "-Tutf8", str(page))
            self.assertEqual((result.returncode, result.stderr), (0, b""), page)

    def completions(self, *words):
        script = 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _warpaes; printf "%s\\n" "${COMPREPLY[@]}"'
        shell = subprocess.run(
            ["bash", "-c", script, self.pages / "warpaes.bash", WARPAES, *words],
            cwd=self.directory,
            capture_output=True,
            check=True,
            text=True,
        )
        self.assertEqual(shell.stderr, "")
        return shell.stdout.split("\n")[:-1]

    def test_bash_completes(self):
        self.write("a file", b"")
        self.write("another", b"")
        self.assertEqual(self.completions("enc"), ["encrypt", "enc"])
        self.assertEqual(self.completions("encrypt", "--skip"), ["--skip-existing"])
        self.assertEqual(self.completions("keys", "pro"), ["promote"])
        self.assertEqual(self.completions("bulk", "re"), ["rekey", "rewrap"])
        self.assertEqual(self.completions("keysources", "new"), ["new", "new-kek"])
        self.assertEqual(sorted(self.completions("encrypt", "a")), ["a file", "another"])
        self.assertEqual(sorted(self.completions("keys", "list", "a")), ["a file", "another"])
        self.assertEqual(self.completions("enc", "-aes-256-ct"), ["-aes-256-ctr"])

    def test_bash_completes_values(self):
        for words, expected in (
            (("encrypt", "--backend", "v"), ["vaes"]),
            (("encrypt", "--backend", "=", "cu"), ["cuda"]),
            (("plan", "--mode", "xt"), ["xts"]),
            (("bench", "--keys", ""), ["one", "each"]),
            (("plan", "--from", "pag"), ["page-locked"]),
            (("keygen", "-t", "C2SP_CHUNKED_2"), ["C2SP_CHUNKED_256"]),
            (("enc", "-pass", "st"), ["stdin"]),
            (("provider", "install", "--threads", ""), ["auto"]),
        ):
            self.assertEqual(self.completions(*words), expected, words)
        # If the help lists an option's words, the shell completes them.
        for command in ("encrypt", "bench", "plan", "provider", "enc"):
            text = command_pages.help_of(WARPAES, command)
            for name, words in command_pages.values_of(command, text).items():
                for word in words if name.startswith("--") else ():
                    # Completions take the names of templates and backends from the command.
                    if word.startswith("$(") or (command, name) == ("plan", "--backend"):
                        continue
                    self.assertIn(word.rstrip(":"), text, (command, name))

    def test_bash_takes_odd_words_as_they_are(self):
        odd = ["d$(touch pwned)", "d'quoted", 'd"quoted', "d`touch pwned`", "d\\back", "d*", "d;e"]
        for name in odd:
            self.write(name, b"")
        self.assertEqual(sorted(self.completions("encrypt", "d")), sorted(odd))
        for word in ("$(touch pwned)", "`touch pwned`", "a'b", '"', "\\", "--$(touch pwned)", "-k=$(touch pwned)"):
            self.completions("encrypt", word)
            self.completions(word)
            self.completions("keys", word)
            self.completions(word, "x")
        self.assertEqual(sorted(os.listdir(self.directory)), sorted(odd))
        # After "--", no word is an option, and the shell completes tildes and variables.
        self.assertEqual(self.completions("encrypt", "--", "--skip"), [""])
        self.assertEqual(self.completions("encrypt", "--", "d*"), ["d*"])
        self.assertIn("-o bashdefault -o default", (self.pages / "warpaes.bash").read_text())

    def test_the_other_shells_take_theirs(self):
        for shell, page in (("zsh", "_warpaes"), ("fish", "warpaes.fish")):
            with self.subTest(shell):
                if shutil.which(shell) is None:
                    self.skipTest(f"there is no {shell}; a machine with {shell} runs this test")
                self.run_command(shell, "-n", str(self.pages / page), check=True)


if __name__ == "__main__":
    main()
