"""Tests keys that a program prints: `exec:COMMAND` in all options and variables that accept a place."""

import os
import signal
import subprocess
import time

from support import ARGUMENT, KEYS, KEYSET, READ, WARPAES, KeyedTest, data, main


class KeyProgram(KeyedTest):
    def setUp(self):
        super().setUp()
        self.write("notes", data(9000))
        self.encrypt("notes")

    def opened(self, *arguments, **options):
        self.assertEqual(self.warpaes(*arguments, **options), data(9000))

    def test_wherever_keys_are_taken(self):
        keys = ("-k", "exec:cat keyset")
        self.opened("decrypt", *keys, "notes.warpaes")
        self.opened("cat", *keys, "notes.warpaes")
        self.warpaes("verify", *keys, "notes.warpaes")
        self.assertIn(b"AES128_GCM_HKDF_4KB", self.warpaes("inspect", *keys, "notes.warpaes"))
        self.assertIn(b"enabled", self.warpaes("keys", "list", *keys))
        self.assertEqual(self.decrypt(stdin=self.warpaes("encrypt", *keys, stdin=data(9000))), data(9000))
        self.opened("decrypt", "notes.warpaes", env={"WARPAES_KEYSET": "exec:cat keyset"})
        self.opened("-d", stdin=self.read("notes.warpaes"), env={"WARPAES_KEYSET": "exec:cat keyset"})
        self.warpaes("keygen", "-o", "other")
        self.warpaes("reencrypt", *keys, "--to", "exec:cat other", "notes.warpaes")
        self.opened("decrypt", *keys, "-k", "exec: cat  other", "notes.warpaes")

    def test_a_raw_key(self):
        self.private("raw", bytes.fromhex(KEYS[256]))
        sealed = self.warpaes("encrypt", "-k", "raw", stdin=data(9000))
        self.opened("decrypt", "-k", "exec:cat raw", stdin=sealed)
        self.opened("decrypt", "-k", "exec:od -An -v -tx1 raw | tr -d ' \\n'", stdin=sealed)

    def test_a_passphrase(self):
        self.private("word", b"correct horse\n")
        self.warpaes("keygen", "--passphrase-from", "exec:cat word", "--passphrase-seconds", "0.01", "-o", "locked")
        sealed = self.warpaes("encrypt", "-k", "locked", "--passphrase-from", "word", stdin=data(9000))
        self.opened("decrypt", "-k", "exec:cat locked", "--passphrase-from", "exec:echo correct horse", stdin=sealed)
        self.refused(READ, "--passphrase-from exec: 'false'|exit status 1", "decrypt", "-k", "locked",
                     "--passphrase-from", "exec:false", stdin=sealed)  # fmt: skip

    def test_standard_input_stays_the_data(self):
        self.opened("decrypt", "-k", "exec:cat; cat keyset", stdin=self.read("notes.warpaes"))

    def test_errors_of_the_program_are_passed_on(self):
        result = self.run_command(WARPAES, "decrypt", "-k", "exec:echo locked >&2; cat keyset", "notes.warpaes")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, data(9000), b"locked\n"))

    def test_a_failure_takes_nothing(self):
        """The output of a failed program is not used, even if it is a complete keyset."""
        for command, words in (
            ("exec:cat keyset; exit 3", "-k exec: 'cat …'|exit status 3|its output was not used"),
            ("exec:false", "'false'|exit status 1"),
            ("exec:TOKEN=secret A=b false x", "-k exec: 'false …'|exit status 1"),
            ("exec:cat keyset; kill -9 $$", "ended by signal 9"),
            ("exec:no-such-program of mine", "exit status 127|was not found"),
            ("exec:./notes", "exit status 126|may not be executed"),
        ):
            self.refused(READ, words, "encrypt", "-k", command, "-o", "out", "notes")

    def test_what_is_printed_has_to_be_keys(self):
        for command, words in (
            ("exec:true", "'true'|printed nothing"),
            ("exec:TOKEN=secret", "-k exec: '…'|printed nothing"),
            ("exec:echo", "printed nothing"),
            ("exec:echo hello", "'echo …'|neither a keyset"),
            ("exec:head -c 2000000 /dev/zero", "longer than"),
            ("exec:yes", "longer than"),
        ):
            self.refused(KEYSET, words, "encrypt", "-k", command, "-o", "out", "notes")
        self.refused(ARGUMENT, "must be followed by a command", "encrypt", "-k", "exec: ", "-o", "out", "notes")

    def test_no_keyset_in_the_environment_to_start_it_again(self):
        own = f'exec:test -z "${{WARPAES_KEYSET+x}}" && {WARPAES} decrypt -k keyset inner'
        with open(self.path("inner"), "wb") as inner:
            inner.write(self.encrypt(stdin=self.read("keyset")))
        self.opened("decrypt", "notes.warpaes", env={"WARPAES_KEYSET": own})

    def seen_by_program(self, *arguments, script="env", **options):
        """Return the output of `script`. The program, which replaces SEEN in `arguments`, runs it and then prints the
        keyset."""
        self.write("look", f"{script} >seen; cat keyset".encode())
        self.warpaes(*[word.replace("SEEN", "sh look") for word in arguments], **options)
        return self.read("seen").decode()

    def test_no_variable_in_which_a_key_is(self):
        self.private("word", b"correct horse\n")
        self.private("kek", KEYS[256].encode())
        quick = ("-t", "AES128_GCM_HKDF_4KB", "--passphrase-seconds", "0")
        self.warpaes("keygen", *quick[:2], "--kek", "kek", "-o", "under")
        self.warpaes("keygen", *quick, "--passphrase-from", "word", "-o", "locked")
        names = ("FIRST", "SECOND", "THIRD", "FOURTH", "KEK", "WORD")
        environment = {name: self.read("keyset").decode() for name in names}
        environment |= {
            "KEK": KEYS[256],
            "WORD": "correct horse",
            "WARPAES_KEYSET": "clear:env:THIRD",
            "OTHER": "stays",
        }
        for arguments, gone in (
            (("-k", "exec:SEEN", "-k", "env:FIRST"), {"FIRST", "THIRD"}),
            (("--keys=env:FIRST", "--keys=exec:SEEN"), {"FIRST", "THIRD"}),
            (("-kenv:FIRST", "-k", "clear:env:SECOND", "-kexec:SEEN"), {"FIRST", "SECOND", "THIRD"}),
            (("-qkenv:FIRST", "-qkexec:SEEN"), {"FIRST", "THIRD"}),
            (("-k", "clear:exec:SEEN", "-k", "under", "--kek", "env:KEK"), {"KEK", "THIRD"}),
            (("-k", "clear:exec:SEEN", "-k", "under", "--kek=env:KEK"), {"KEK", "THIRD"}),
            (("-k", "clear:exec:SEEN", "-k", "locked", "--passphrase-from", "env:WORD"), {"WORD", "THIRD"}),
            # A command may set a variable for the program that it runs.
            (("-k", "exec:SEEN; : env:FOURTH"), {"THIRD"}),
        ):
            with self.subTest(arguments=arguments):
                text = self.seen_by_program("decrypt", *arguments, "notes.warpaes", env=environment)
                seen = {line.split("=")[0] for line in text.splitlines()}
                self.assertEqual({*names, "WARPAES_KEYSET"} - seen, gone | {"WARPAES_KEYSET"})
                self.assertLessEqual({"OTHER", "PATH"}, seen)
        text = self.seen_by_program(
            "reencrypt", "-k", "exec:SEEN", "--to", "env:SECOND", "-f", "notes.warpaes", env=environment
        )
        self.assertNotIn("SECOND", text)

    def test_no_descriptor_but_the_standard_ones(self):
        self.private("kek", KEYS[256].encode())
        self.warpaes("keygen", "-t", "AES128_GCM_HKDF_4KB", "--kek", "kek", "-o", "under")
        with open(self.path("kek"), "rb") as key, open(self.path("notes"), "rb") as other:
            text = self.seen_by_program(
                "decrypt", "-k", "clear:exec:SEEN", "-k", "under", "--kek", f"fd:{key.fileno()}", "notes.warpaes",
                script="ls -l /proc/$$/fd", pass_fds=[key.fileno(), other.fileno()]
            )  # fmt: skip
        self.assertIn("/dev/null", text)
        for name in ("kek", "notes"):
            self.assertNotIn(f"{self.directory}/{name}\n", text)

    def test_the_name_that_messages_show_is_certain(self):
        """A word of a quoted secret is not mistaken for the name of the program."""
        for command, name in (
            ("false x", "false …"),
            ("TOKEN='correct horse battery' false", "false"),
            ("TOKEN=correct' horse 'battery A=1  false x", "false …"),
            ('PIN="12 3456" false x', "false …"),
            ('PIN="it\'s 3456" false x', "false …"),
            ("PIN='a \"b' c=\"d 'e\" false", "false"),
            ("PIN='a b'; false", "false"),
            ("PIN=$A false", "false"),
            ("PIN='a; b' && false x", "false …"),
            ("/bin/false secret", "/bin/false …"),
            ("false;true secret", None),
            # Words that may be secret are not shown.
            ("PIN=correct\\ horse false", "…"),
            ('PIN="correct \\" horse" false', "…"),
            ("PIN=$(echo correct horse) false", "…"),
            ("PIN=$((1 + 2)) false", "…"),
            ('PIN="$(echo "correct horse")" false', "…"),
            ("PIN=`echo correct horse` false", "…"),
            ("PIN=${NOTHING:-correct horse} false", "…"),
            ("PIN=$'correct horse' false", "…"),
            ("{ PIN='correct horse'; false; }", "…"),
            ("( PIN='correct horse' false )", "…"),
            ("! echo correct horse >/dev/null", "…"),
            ("'false' correct horse", "…"),
            ('"fal"se correct horse', "…"),
            ("$NOTHING false correct horse", "…"),
            ("2>/dev/null false correct horse", "…"),
            ("</dev/null false correct horse", "…"),
            ("PIN='a b'", "…"),
            ("A_1=x B='correct horse' C=battery", "…"),
        ):
            with self.subTest(command=command):
                result = self.run_command(WARPAES, "verify", "-k", "exec:" + command, "notes.warpaes")
                message = result.stderr.decode()
                self.assertNotEqual(result.returncode, 0)
                self.assertIn(f"-k exec: '{name or 'false …'}'" if name else "-k exec: '", message)
                for word in ("correct", "horse", "battery", "3456", "secret"):
                    self.assertNotIn(word, message)

    def test_no_message_repeats_its_arguments(self):
        """A key among the arguments causes a warning, which does not repeat it."""
        secret = KEYS[256]
        result = self.run_command(WARPAES, "decrypt", "-k", f"exec:printf %s {secret}; exit 1", "notes.warpaes")
        self.assertEqual(result.returncode, READ)
        self.assertNotIn(secret[:16].encode(), result.stderr)
        self.assertIn(b"warning: -k exec: 'printf", result.stderr)

    def test_a_file_that_is_to_be_changed(self):
        self.refused(ARGUMENT, "must be a file", "keys", "add", "exec:cat keyset")

    def test_signals_that_warpaes_ignores_end_the_program_as_ever(self):
        """SIGPIPE has its default action. Otherwise, a program whose reader ends early would print an error."""
        command = "exec:yes | head -n 1 >/dev/null; cat keyset"
        result = self.run_command(WARPAES, "decrypt", "-k", command, "notes.warpaes")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, data(9000), b""))

    def test_a_limit_on_file_sizes_ends_the_program(self):
        self.write("big", b"")
        command = "exec:cat keyset; ulimit -c 0; ulimit -f 1; exec head -c 100000 /dev/zero >big"
        self.refused(READ, f"ended by signal {int(signal.SIGXFSZ)}", "decrypt", "-k", command, "notes.warpaes")

    def test_interrupted_when_it_begins_to_wait(self):
        """The signal arrives just before the command starts to wait. It must not be lost."""
        for _ in range(20):
            command = "exec:kill -TERM $PPID; exec sleep 1000"
            result = self.run_command(WARPAES, "decrypt", "-k", command, "notes.warpaes")
            self.assertEqual((result.returncode, result.stdout), (-signal.SIGTERM, b""))
            self.assertIn(b"interrupted", result.stderr)

    def test_interrupted_while_the_program_goes_on_without_its_output(self):
        command = "exec:cat keyset; exec >&-; sleep 0.2; kill -TERM $PPID; exec sleep 1000"
        result = self.run_command(WARPAES, "decrypt", "-k", command, "notes.warpaes")
        self.assertEqual((result.returncode, result.stdout), (-signal.SIGTERM, b""))
        self.assertEqual(result.stderr, b"warpaes: interrupted\n")

    def test_interrupted_while_it_waits(self):
        child = f"echo $$ >{self.path('started')}; exec sleep 1000"
        process = subprocess.Popen(
            [WARPAES, "decrypt", "-k", f"exec:{child}", "notes.warpaes"],
            cwd=self.directory,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=os.environ | {"WARPAES_CALIBRATION": "none"},
        )
        while not os.path.exists(self.path("started")) or not self.read("started"):
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        out, errors = process.communicate(timeout=60)
        self.assertEqual((process.returncode, out), (-signal.SIGTERM, b""))
        self.assertIn(b"interrupted", errors)
        with self.assertRaises(ProcessLookupError):
            os.kill(int(self.read("started")), 0)


if __name__ == "__main__":
    main()
