"""Whole directories there and back: what is kept, what is left out, what is done when it is done again."""

import json
import os
import stat

from support import ARGUMENT, AUTHENTICATION, FORMAT, NOT_FOUND, WARPAES, CommandTest, data, main


class Directories(CommandTest):
    def setUp(self):
        super().setUp()
        self.warpaes("keygen", "-t", "AES128_GCM_HKDF_4KB", "-o", "keyset")
        os.makedirs(self.path("in/sub/empty"))
        self.write("in/a", data(10))
        self.write("in/sub/b.tmp", data(5000))
        self.write("in/sub/c", data(0))
        for name, mode, time in (
            ("in/a", 0o600, 1_000_000_000),
            ("in/sub/b.tmp", 0o754, 1_100_000_000),
            ("in/sub/c", 0o444, 1_200_000_000),
            ("in/sub/empty", 0o700, 1_300_000_000),
            ("in/sub", 0o750, 1_400_000_000),
        ):
            os.chmod(self.path(name), mode)
            os.utime(self.path(name), (time, time))

    def encrypt(self, *arguments, **options):
        return self.warpaes("encrypt", "-k", "keyset", "--output-dir", "out", *arguments, **options)

    def attributes(self, name):
        status = os.stat(self.path(name))
        return stat.S_IMODE(status.st_mode), int(status.st_mtime)

    def names(self, directory):
        found = []
        for at, directories, files in os.walk(self.path(directory)):
            found += [os.path.relpath(os.path.join(at, name), self.path(directory)) for name in directories + files]
        return sorted(found)

    def test_permissions_times_and_empty_directories_come_back(self):
        self.encrypt("in")
        self.warpaes("decrypt", "-k", "keyset", "--output-dir", "back", "out/in")
        self.assertEqual(self.names("back/in"), self.names("in"))
        for name in self.names("in"):
            self.assertEqual(self.attributes(f"back/in/{name}"), self.attributes(f"in/{name}"), name)
            if os.path.isfile(self.path(f"in/{name}")):
                self.assertEqual(self.read(f"back/in/{name}"), self.read(f"in/{name}"))
                self.assertEqual(self.attributes(f"out/in/{name}.warpaes"), self.attributes(f"in/{name}"), name)

    def test_nobody_else_may_read_a_result_at_any_time(self):
        os.umask(0o022)
        self.write("private", data(8 << 20))
        os.chmod(self.path("private"), 0o600)
        self.encrypt("private")
        self.assertEqual(self.attributes("out/private.warpaes")[0], 0o600)
        self.assertEqual(self.attributes("out")[0], 0o700)

    def test_a_second_run_does_what_is_missing(self):
        self.encrypt("in")
        before = self.read("out/in/a.warpaes")
        os.remove(self.path("out/in/sub/c.warpaes"))
        result = self.run_command(WARPAES, *["encrypt", "-k", "keyset", "--output-dir", "out", "--skip-existing", "in"])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(b"2 of 3 results were there already", result.stderr)
        self.assertEqual(self.read("out/in/a.warpaes"), before)
        self.assertTrue(os.path.exists(self.path("out/in/sub/c.warpaes")))
        record = json.loads(self.encrypt("--skip-existing", "--json", "in"))
        self.assertEqual([file.get("skipped") for file in record["files"]], [True] * 3)

    def test_patterns_that_are_left_out(self):
        self.encrypt("--exclude", "*.tmp", "--exclude", "in/sub/c", "in")
        self.assertEqual(self.names("out"), ["in", "in/a.warpaes", "in/sub", "in/sub/empty"])
        self.encrypt("--exclude", "sub", "-f", "in", "in/sub/c")
        self.assertIn("c.warpaes", self.names("out"))

    def test_options_that_contradict(self):
        run = ("encrypt", "-k", "keyset", "in/a")
        self.refused(ARGUMENT, "--skip-existing|-f", *run, "--skip-existing", "-f", "--output-dir", "out")
        self.refused(ARGUMENT, "--skip-existing|--output-dir", *run, "--skip-existing", "-o", "x")

    def test_what_does_not_look_encrypted_is_left_out_of_directories(self):
        self.encrypt("in")
        self.write("out/in/README", b"not one of ours")
        os.rename(self.path("out/in/a.warpaes"), self.path("out/in/renamed"))
        result = self.run_command(WARPAES, "verify", "-k", "keyset", "out")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(b"1 file does not look encrypted: left out", result.stderr)
        self.assertEqual(len(result.stdout.splitlines()), 3)
        self.assertIn(b"out/in/renamed: authentic", result.stdout)
        # By its own name it is tried, and damage is no reason to leave one out.
        self.refused(FORMAT, "header", "verify", "-k", "keyset", "out/in/README")
        self.write("out/in/damaged.warpaes", b"not one of ours any more")
        self.refused(FORMAT, "1 of 4 files failed", "verify", "-k", "keyset", "out")
        os.mkdir(self.path("plain"))
        self.write("plain/x", b"x")
        self.refused(NOT_FOUND, "none of the 1 files there looks encrypted", "verify", "-k", "keyset", "plain")

    def test_files_without_a_mark_are_all_tried(self):
        self.warpaes("keygen", "-t", "C2SP_CHUNKED_256", "-o", "raw")
        self.warpaes("encrypt", "-k", "raw", "-o", "in/unmarked", "in/a")
        result = self.run_command(WARPAES, "verify", "-k", "raw", "in")
        self.assertIn(b"in/unmarked: authentic", result.stdout)
        self.assertIn(b"3 of 4 files failed", result.stderr)


class ForeignFiles(CommandTest):
    def test_what_they_are_is_said(self):
        self.warpaes("keygen", "-o", "keyset")
        for begin, words in (
            (b"Salted__" + data(40), "warpaes enc -d"),
            (b"U2FsdGVkX19" + b"A" * 40, "warpaes enc -d -a"),
            (b"age-encryption.org/v1\n" + data(40), "age -d"),
            (b"-----BEGIN PGP MESSAGE-----\n", "gpg -d"),
            (b"PK\x03\x04" + data(40), "unzip"),
            (b"\x1f\x8b\x08" + data(40), "not encrypted"),
        ):
            self.write("foreign", begin)
            for command in ("decrypt", "verify"):
                self.refused(FORMAT, words, command, "-k", "keyset", "foreign")
        self.write("foreign", b"(" + data(100))
        result = self.refused(AUTHENTICATION, "input", "verify", "-k", "keyset", "foreign")
        self.assertNotIn(b"looks like", result.stderr)


class RawKeys(CommandTest):
    def test_a_key_says_what_it_is_for(self):
        for template in ("C2SP_CHUNKED_256", "C2SP_CHUNKED_128"):
            self.warpaes("keygen", "-t", template, "-o", template)
            self.assertTrue(self.read(template).startswith(template.encode() + b" "))
            plain = self.write("plain", data(50_000))
            self.warpaes("encrypt", "-k", template, "-o", f"{template}.file", plain)
            self.assertEqual(self.warpaes("decrypt", "-k", template, f"{template}.file"), data(50_000))
            # The key alone is the same, with its template named.
            self.write("bare", self.read(template).split()[1])
            os.chmod(self.path("bare"), 0o600)
            again = self.warpaes("decrypt", "-k", "bare", "--format", template, f"{template}.file")
            self.assertEqual(again, data(50_000))
        self.refused(
            ARGUMENT, "--format|C2SP_CHUNKED_128",
            *("verify", "-k", "C2SP_CHUNKED_128", "--format", "AES128_GCM_HKDF_1MB", "plain"),
        )  # fmt: skip


if __name__ == "__main__":
    main()
