"""Tests error messages, and checks before the work begins: files, options, space, names and links."""

import json
import os
import unittest

from support import (
    AUTHENTICATION,
    FORMAT,
    KEYSET,
    NOT_FOUND,
    OPENSSL,
    WARPAES,
    WRITE,
    KeyedTest,
    as_ordinary_user,
    data,
    main,
)

RECORDER = os.environ["RECORDED_CALLS_LIBRARY"]
ENC = ["enc", "-aes-256-cbc", "-pbkdf2", "-pass", "env:PW"]


class Names(KeyedTest):
    def setUp(self):
        super().setUp()
        self.write("plain", data(20_000))
        self.encrypt("-o", "sealed", "plain")
        self.write("cut", self.read("sealed")[:-1])

    def test_errors_of_a_single_file_name_it(self):
        os.mkfifo(self.path("pipe"))
        self.refused(2, "'pipe': not a regular file", "reencrypt", "-k", "keyset", "pipe")
        for command in ("decrypt", "verify", "cat", "reencrypt"):
            for name, status in (("cut", AUTHENTICATION), ("plain", FORMAT), ("nowhere", NOT_FOUND)):
                said = self.refused(status, f"'{name}'", command, "-k", "keyset", name).stderr
                self.assertNotIn(b"input", said, (command, name))
        self.refused(AUTHENTICATION, "standard input: ", "verify", "-k", "keyset", stdin=self.read("cut"))

    def test_that_it_is_not_encrypted_comes_before_byte_offsets(self):
        said = self.refused(FORMAT, "'plain': does not look encrypted (", "verify", "-k", "keyset", "plain").stderr
        self.assertLess(said.index(b"encrypted"), said.index(b"byte 0"))

    @unittest.skipIf(OPENSSL is None, "there is no openssl; a machine with openssl runs this test")
    def test_enc_gives_a_file_the_sentence_of_its_own_call(self):
        """To give a hint, the command inspects the file again. The hint must not replace the message."""
        env = {"PW": "x"}
        whole = self.openssl(*ENC, "-in", "plain", env=env)
        text = self.openssl(*ENC, "-a", "-in", "plain", env=env)
        for content, more in (
            (whole[:12], []),
            (whole[:-1], []),
            (data(100), []),
            (b"", []),
            (text[:200] + b"\n----", ["-a"]),
        ):
            self.write("in", content)
            by_pipe = self.run_command(WARPAES, *ENC, "-d", *more, "-out", "out", stdin=content, env=env)
            by_file = self.run_command(WARPAES, *ENC, "-d", *more, "-in", "in", "-out", "out", env=env)
            self.assertNotEqual(by_file.returncode, 0)
            self.assertEqual(by_file.returncode, by_pipe.returncode)
            self.assertEqual(by_file.stderr.replace(b"'in'", b"standard input"), by_pipe.stderr)

    def test_a_passphrase_in_the_place_of_a_key_is_not_repeated(self):
        for option, command in (("-k", "encrypt"), ("-k", "verify"), ("--to", "reencrypt"), ("--kek", "keygen")):
            arguments = [command, option, "my secret passphrase", *(["sealed"] if command != "keygen" else [])]
            if command == "reencrypt":
                arguments += ["-k", "keyset"]
            said = self.refused(NOT_FOUND, "may be a passphrase", *arguments).stderr
            self.assertNotIn(b"secret", said)
        said = self.refused(NOT_FOUND, "may be a passphrase", "keys", "add", "my secret passphrase").stderr
        self.assertNotIn(b"secret", said)
        said = self.refused(NOT_FOUND, "may be", "verify", "sealed", env={"WARPAES_KEYSET": "my secret pass"}).stderr
        self.assertNotIn(b"secret", said)

    def test_a_record_of_an_unusable_key(self):
        self.write("text", b"no key")
        for key, status in (("nowhere", NOT_FOUND), ("text", KEYSET)):
            for command in (["encrypt", "-o", "out"], ["decrypt", "-o", "out"], ["verify"], ["reencrypt"]):
                done = self.run_command(WARPAES, *command, "--json", "-k", key, "sealed")
                record = json.loads(done.stdout)
                self.assertEqual((done.returncode, record["status"], record["files"]), (status, status, []))
                self.assertIn(key, record["error"])
        done = self.run_command(WARPAES, "decrypt", "--json", "-k", "nowhere", "sealed")
        self.assertEqual(done.stdout, b"")  # standard output is reserved for plaintext
        self.assertEqual(json.loads(done.stderr.splitlines()[0])["status"], NOT_FOUND)


class Places(KeyedTest):
    def test_names_without_room_for_the_suffix(self):
        os.mkdir(self.path("in"))
        for length in (246, 247, 248, 255):
            self.write("in/" + "n" * length, b"x")
        done = self.run_command(WARPAES, "encrypt", "-k", "keyset", "--output-dir", "out", "in")
        self.assertEqual(done.returncode, WRITE)
        self.assertEqual(done.stderr.count(b"the name is too long for .warpaes"), 2)
        self.assertIn(b"-o and a shorter name, or encrypt a tar archive", done.stderr)
        self.assertEqual(sorted(len(name) for name in os.listdir(self.path("out/in"))), [254, 255])
        long = "in/" + "n" * 255
        self.refused(WRITE, "too long for .warpaes", "encrypt", "-k", "keyset", long)
        self.encrypt("-o", "short", long)
        self.decrypt("-o", "n" * 255, "short")
        self.assertEqual(self.read("n" * 255), b"x")

    def test_space_is_looked_at_before_the_work(self):
        """The result of a sparse input would not fit on any disk. The command must not read the input."""
        with open(self.path("huge"), "wb") as file:
            file.truncate(1 << 43)
        for command in (["encrypt", "-k", "keyset", "-o", "out", "huge"], [*ENC, "-in", "huge", "-out", "out"]):
            self.refused(WRITE, "'out' needs|free; free some space", *command, env={"PW": "x"})
        self.refused(WRITE, "--output-dir|Nothing was done", "encrypt", "-k", "keyset", "--output-dir", "out", "huge")

    def test_a_folder_that_becomes_a_link_is_not_followed(self):
        """Another user replaces a listed folder with a link to files that only root can read."""
        for name, content in (("in/a", b"x"), ("in/sub/c", b"x"), ("elsewhere/c", b"secret")):
            os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
            self.write(name, content)
        shim = {
            "LD_PRELOAD": RECORDER,
            "RECORDED_CALLS": os.devnull,
            "BEFORE_NAME": "mv in/sub in/old && ln -s ../elsewhere in/sub",
        }
        arguments = ["encrypt", "-k", "keyset", "--output-dir", "out", "-j", "1", "in"]
        done = self.run_command(WARPAES, *arguments, env=shim)
        self.assertEqual(done.returncode, NOT_FOUND, done.stderr)
        self.assertIn(b"cannot open 'in/sub/c'", done.stderr)
        self.assertTrue(os.path.exists(self.path("out/in/a.warpaes")))
        self.assertFalse(os.path.exists(self.path("out/in/sub/c.warpaes")))

    @as_ordinary_user
    def test_a_folder_where_nobody_may_write_is_named(self):
        os.mkdir(self.path("closed"))
        self.write("plain", b"x")
        os.chmod(self.path("closed"), 0o555)
        self.refused(WRITE, "'closed'|Permission denied", "encrypt", "-k", "keyset", "-o", "closed/out", "plain")


if __name__ == "__main__":
    main()
