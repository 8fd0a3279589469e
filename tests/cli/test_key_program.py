"""Keys that a program prints: `exec:COMMAND`, where -k, WARPAES_KEYSET and --passphrase-from take a place."""

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
        """Neither of a program that has printed a whole keyset first."""
        for command, words in (
            ("exec:cat keyset; exit 3", "-k exec: 'cat …'|exit status 3|nothing of it was taken"),
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
        self.refused(ARGUMENT, "no command", "encrypt", "-k", "exec: ", "-o", "out", "notes")

    def test_no_keyset_in_the_environment_to_start_it_again(self):
        own = f'exec:test -z "${{WARPAES_KEYSET+x}}" && {WARPAES} decrypt -k keyset inner'
        with open(self.path("inner"), "wb") as inner:
            inner.write(self.encrypt(stdin=self.read("keyset")))
        self.opened("decrypt", "notes.warpaes", env={"WARPAES_KEYSET": own})

    def test_no_message_repeats_its_arguments(self):
        """And a key among them is warned of."""
        secret = KEYS[256]
        result = self.run_command(WARPAES, "decrypt", "-k", f"exec:printf %s {secret}; exit 1", "notes.warpaes")
        self.assertEqual(result.returncode, READ)
        self.assertNotIn(secret[:16].encode(), result.stderr)
        self.assertIn(b"warning: -k exec: 'printf", result.stderr)

    def test_a_file_that_is_to_be_changed(self):
        self.refused(ARGUMENT, "has to be a file", "keys", "add", "exec:cat keyset")

    def test_signals_that_warpaes_ignores_end_the_program_as_ever(self):
        """Else a program whose reader ends early would complain."""
        command = "exec:yes | head -n 1 >/dev/null; cat keyset"
        result = self.run_command(WARPAES, "decrypt", "-k", command, "notes.warpaes")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, data(9000), b""))

    def test_a_limit_on_file_sizes_ends_the_program(self):
        self.write("big", b"")
        command = "exec:cat keyset; ulimit -c 0; ulimit -f 1; exec head -c 100000 /dev/zero >big"
        self.refused(READ, f"ended by signal {int(signal.SIGXFSZ)}", "decrypt", "-k", command, "notes.warpaes")

    def test_interrupted_when_it_begins_to_wait(self):
        """The signal comes when the command is on its way to wait, and is not lost there."""
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
