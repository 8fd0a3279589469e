"""Tests round trips of directories, including preserved metadata, skipped files, and second runs."""

import json
import os
import shutil
import signal
import stat
import subprocess
import time

from support import ARGUMENT, EXISTS, FORMAT, NOT_FOUND, WARPAES, KeyedTest, as_ordinary_user, data, main

RECORDER = os.environ["RECORDED_CALLS_LIBRARY"]

FILES = {
    "photos/a.jpg": 10_000,
    "photos/2020/b.jpg": 0,
    "photos/2020/very deep/c": 1,
    "photos/with.warpaes": 5,
    "notes.txt": 4096,
}


class Trees(KeyedTest):
    def setUp(self):
        super().setUp()
        for name, length in FILES.items():
            os.makedirs(os.path.dirname(self.path("in/" + name)), exist_ok=True)
            self.write("in/" + name, data(length, name.encode()))

    def tree(self, root):
        found = {}
        for folder, _, files in os.walk(self.path(root)):
            for file in files:
                path = os.path.join(folder, file)
                found[os.path.relpath(path, self.path(root))] = path
        return found

    def test_there_and_back(self):
        self.encrypt("--output-dir", "out/deep", "in/photos", "in/notes.txt")
        self.assertEqual(set(self.tree("out/deep")), {name + ".warpaes" for name in FILES})
        self.decrypt("--output-dir", "back", "out/deep/photos/", "out/deep/notes.txt.warpaes", "--jobs", "3")
        self.assertEqual(set(self.tree("back")), set(FILES))
        for name, path in self.tree("back").items():
            self.assertEqual(self.read(path), data(FILES[name], name.encode()))
        text = self.warpaes("verify", "-k", "keyset", "out").decode()
        self.assertEqual(text.count(": authentic\n"), len(FILES))

    def test_the_content_of_dot_appears_itself(self):
        self.warpaes("encrypt", "-k", "../keyset", "--output-dir", "../out", ".", cwd=self.path("in"))
        self.assertEqual(set(self.tree("out")), {name + ".warpaes" for name in FILES})

    def test_an_output_directory_in_the_input_is_left_out(self):
        for _ in range(2):
            self.encrypt("--output-dir", "in/out", "-f", "in")
        self.assertEqual(set(self.tree("in/out")), {f"in/{name}.warpaes" for name in FILES})

    def test_links_and_other_things_are_left_out(self):
        os.symlink("a.jpg", self.path("in/photos/link"))
        os.symlink("..", self.path("in/photos/loop"))
        os.mkfifo(self.path("in/photos/fifo"))
        result = self.run_command(WARPAES, "encrypt", "-k", "keyset", "--output-dir", "out", "in")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(set(self.tree("out")), {f"in/{name}.warpaes" for name in FILES})
        for name in ("link", "loop", "fifo"):
            self.assertIn(f"photos/{name}' is".encode(), result.stderr)

    def test_what_lies_in_a_directory_is_done_in_order_of_names(self):
        names = [f"{number * 37 % 100:02}" for number in range(100)]
        os.mkdir(self.path("many"))
        for name in names:
            self.write("many/" + name, b"")
        record = json.loads(self.encrypt("--output-dir", "out", "many", "--json"))
        self.assertEqual([file["input"] for file in record["files"]], [f"many/{name}" for name in sorted(names)])

    def test_existing_files_stay_and_the_others_are_done(self):
        os.makedirs(self.path("out/in"))
        self.write("out/in/notes.txt.warpaes", b"old")
        result = self.run_command(WARPAES, "encrypt", "-k", "keyset", "--output-dir", "out", "in", "--json")
        self.assertEqual(result.returncode, EXISTS, result.stderr)
        self.assertIn(b"1 of 5 files failed", result.stderr)
        self.assertIn(b"with -f", result.stderr)
        self.assertEqual(self.read("out/in/notes.txt.warpaes"), b"old")
        self.assertEqual(len(self.tree("out")), 5)
        record = json.loads(result.stdout)
        self.assertEqual(record["status"], EXISTS)
        self.assertEqual(sorted(file["status"] for file in record["files"]), [0, 0, 0, 0, EXISTS])
        self.encrypt("--output-dir", "out", "in", "-f")
        self.assertNotEqual(self.read("out/in/notes.txt.warpaes"), b"old")

    def test_results_of_one_name(self):
        os.mkdir(self.path("other"))
        self.write("other/notes.txt", b"other")
        words = "in/notes.txt|other/notes.txt|would both become"
        self.refused(
            ARGUMENT, words, "encrypt", "-k", "keyset", "--output-dir", "out", "in/notes.txt", "other/notes.txt"
        )

    def test_directories_and_several_files_need_a_place(self):
        for arguments in (["in"], ["in", "-o", "out"], ["in/notes.txt", "in/photos/a.jpg", "-o", "out"]):
            self.refused(ARGUMENT, "--output-dir", "encrypt", "-k", "keyset", *arguments)
        self.refused(ARGUMENT, "--output-dir", "decrypt", "-k", "keyset", "in/notes.txt", "in/photos/a.jpg")
        self.refused(ARGUMENT, "cannot be combined", "encrypt", "-k", "keyset", "in", "-o", "x", "--output-dir", "out")
        self.refused(ARGUMENT, "which has no name", "encrypt", "-k", "keyset", "--output-dir", "out")
        self.refused(ARGUMENT, "one FILE", "decrypt", "-k", "keyset", "--output-dir", "out", "-r", "0:1", "in")
        os.mkdir(self.path("empty"))
        self.refused(NOT_FOUND, "no files", "encrypt", "-k", "keyset", "--output-dir", "out", "empty")

    def test_a_missing_file_among_others(self):
        result = self.run_command(WARPAES, "encrypt", "-k", "keyset", "--output-dir", "out", "nowhere", "in/notes.txt")
        self.assertEqual(result.returncode, NOT_FOUND)
        self.assertIn(b"'nowhere': ", result.stderr)
        self.assertEqual(set(self.tree("out")), {"notes.txt.warpaes"})

    def test_a_directory_that_cannot_be_read_among_others(self):
        # Paths below this folder are too long, even for root.
        at = os.open(self.path("in"), os.O_RDONLY)
        for _ in range(20):
            os.mkdir("d" * 250, dir_fd=at)
            below = os.open("d" * 250, os.O_RDONLY, dir_fd=at)
            os.close(at)
            at = below
        os.close(at)
        result = self.run_command(WARPAES, "encrypt", "-k", "keyset", "--output-dir", "out", "in", "--json")
        self.assertEqual(result.returncode, NOT_FOUND, result.stderr)
        self.assertIn(b"cannot read the directory", result.stderr)
        self.assertEqual(set(self.tree("out")), {f"in/{name}.warpaes" for name in FILES})
        statuses = [file["status"] for file in json.loads(result.stdout)["files"]]
        self.assertEqual(sorted(statuses), [0] * len(FILES) + [NOT_FOUND])

    def test_large_and_small_files_together(self):
        with open(self.path("in/large"), "wb") as file:
            file.truncate(40 << 20)
        record = json.loads(self.encrypt("--output-dir", "out", "in", "--json"))
        self.assertEqual(len(record["files"]), 6)
        self.assertEqual(record["bytes_read"], sum(FILES.values()) + (40 << 20))
        self.assertEqual(self.decrypt("-r", f"{(40 << 20) - 5}:", "out/in/large.warpaes"), bytes(5))


class Attributes(KeyedTest):
    def setUp(self):
        super().setUp()
        os.makedirs(self.path("in/sub/empty"))
        self.write("in/a", data(10))
        self.write("in/sub/b.tmp", data(5000))
        self.write("in/sub/c", data(0))
        for name, mode, at in (
            ("in/a", 0o600, 1_000_000_000),
            ("in/sub/b.tmp", 0o754, 1_100_000_000),
            ("in/sub/c", 0o444, 1_200_000_000),
            ("in/sub/empty", 0o700, 1_300_000_000),
            ("in/sub", 0o750, 1_400_000_000),
        ):
            os.chmod(self.path(name), mode)
            os.utime(self.path(name), (at, at))

    def encrypt(self, *arguments, **options):
        return super().encrypt("--output-dir", "out", *arguments, **options)

    def attributes(self, name):
        status = os.stat(self.path(name))
        return stat.S_IMODE(status.st_mode), int(status.st_mtime)

    def names(self, directory):
        found = []
        for at, directories, files in os.walk(self.path(directory)):
            found += [os.path.relpath(os.path.join(at, name), self.path(directory)) for name in directories + files]
        return sorted(found)

    def test_the_times_of_access_and_of_change_are_two(self):
        """The access time is in the future, so reading the file does not change it."""
        changed, accessed = 1_500_000_000, int(time.time()) + 10000
        os.utime(self.path("in/a"), (accessed, changed))
        self.encrypt("in")
        now, then = os.stat(self.path("in/a")), os.stat(self.path("out/in/a.warpaes"))
        self.assertEqual((then.st_atime_ns, then.st_mtime), (now.st_atime_ns, changed))
        self.assertGreater(now.st_atime, changed)

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

    def test_a_new_output_directory_follows_the_umask(self):
        for mask, folder in ((0o022, "a"), (0o027, "b/c"), (0o077, "d")):
            os.umask(mask)
            self.warpaes("encrypt", "-k", "keyset", "--output-dir", folder, "in/a")
            while folder:
                self.assertEqual(self.attributes(folder)[0], 0o777 & ~mask, folder)
                folder = os.path.dirname(folder)
        os.umask(0o022)

    def test_a_second_run_does_what_is_missing(self):
        self.encrypt("in")
        before = self.read("out/in/a.warpaes")
        os.remove(self.path("out/in/sub/c.warpaes"))
        result = self.run_command(WARPAES, *["encrypt", "-k", "keyset", "--output-dir", "out", "--skip-existing", "in"])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(b"2 of 3 results already existed", result.stderr)
        self.assertEqual(self.read("out/in/a.warpaes"), before)
        self.assertTrue(os.path.exists(self.path("out/in/sub/c.warpaes")))
        record = json.loads(self.encrypt("--skip-existing", "--json", "in"))
        self.assertEqual([file.get("skipped") for file in record["files"]], [True] * 3)

    def test_patterns_that_are_left_out(self):
        self.encrypt("--exclude", "*.tmp", "--exclude", "in/sub/c", "in")
        self.assertEqual(self.names("out"), ["in", "in/a.warpaes", "in/sub", "in/sub/empty"])
        self.encrypt("--exclude", "sub", "-f", "in", "in/sub/c")
        self.assertIn("c.warpaes", self.names("out"))

    def test_patterns_that_are_taken(self):
        self.encrypt("--include", "c", "in")
        self.assertEqual(self.names("out"), ["in", "in/sub", "in/sub/c.warpaes"])
        shutil.rmtree(self.path("out"))
        self.encrypt("--include", "sub/", "--include", "in/a", "--exclude", "c", "in")
        self.assertEqual(self.names("out"), ["in", "in/a.warpaes", "in/sub", "in/sub/b.tmp.warpaes", "in/sub/empty"])
        shutil.rmtree(self.path("out"))
        # Files that are named on the command line are always included.
        self.encrypt("--include", "nothing", "in", "in/sub/c")
        self.assertEqual(self.names("out"), ["c.warpaes"])
        self.encrypt("in")
        self.decrypt("--output-dir", "back", "--include", "a", "--include", "c.warpaes", "out/in")
        self.assertEqual(self.names("back"), ["in", "in/a", "in/sub", "in/sub/c"])
        result = self.run_command(WARPAES, "verify", "-k", "keyset", "--include", "a", "out")
        self.assertEqual(result.stdout.count(b"authentic"), 1, result.stderr)
        self.stopped(NOT_FOUND, "--include", "nothing", "in", words=b"exclude every file")

    def stopped(self, status, *arguments, words):
        result = self.run_command(WARPAES, "encrypt", "-k", "keyset", "--output-dir", "new", *arguments)
        self.assertEqual(result.returncode, status, result.stderr)
        self.assertIn(words, result.stderr)
        self.assertFalse(os.path.exists(self.path("new")))

    def everything(self):
        return {
            path: (os.stat(path).st_mtime_ns, os.path.isfile(path) and self.read(path))
            for folder, folders, files in os.walk(self.path("."))
            for path in (os.path.join(folder, name) for name in [*folders, *files])
        }

    def test_a_dry_run_writes_nothing(self):
        before = self.everything()
        printed = self.encrypt("-n", "--exclude", "*.tmp", "in").decode()
        self.assertEqual(printed, "in/a -> out/in/a.warpaes\nin/sub/c -> out/in/sub/c.warpaes\n")
        record = json.loads(self.encrypt("--dry-run", "--json", "in"))
        self.assertTrue(record["dry_run"])
        self.assertEqual(record["bytes"], sum(file["bytes"] for file in record["files"]))
        planned = [file["output"] for file in record["files"]]
        self.stopped(ARGUMENT, "-n", "-", words=b"--dry-run")
        result = self.run_command(WARPAES, "encrypt", "-n", "-k", "keyset", "-")
        self.assertIn(b"--dry-run", result.stderr)
        self.assertEqual(self.everything(), before)

        done = json.loads(self.encrypt("--json", "in"))
        self.assertEqual([file["output"] for file in done["files"]], planned)
        before = self.everything()
        again = self.run_command(WARPAES, "encrypt", "-n", "-k", "keyset", "--output-dir", "out", "in")
        self.assertEqual(again.returncode, EXISTS)
        self.assertIn(b"files would fail", again.stderr)
        record = json.loads(self.encrypt("-n", "--skip-existing", "--json", "in"))
        self.assertEqual({file.get("skipped") for file in record["files"]}, {True})
        self.assertEqual(self.encrypt("-n", "-f", "in").count(b" -> "), len(planned))
        self.assertEqual(self.decrypt("-n", "--output-dir", "back", "out").count(b" -> "), len(planned))
        self.assertEqual(self.everything(), before)

    def test_a_dry_run_asks_for_no_passphrase_and_makes_no_key(self):
        command = [WARPAES, "encrypt", "-n", "--passphrase", "--output-dir", "out", "in"]
        result = self.run_command(*command)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(b"in/a -> ", result.stdout)

    def test_a_pattern_for_directories_and_for_hidden_files(self):
        os.mkdir(self.path("in/node_modules"))
        self.write("in/node_modules/x", b"x")
        self.write("in/sub/node_modules", b"a file with that name")
        self.write("in/.secret.key", b"x")
        self.encrypt("--exclude", "node_modules/", "--exclude", "*.key", "--exclude", "./in/sub/c", "in")
        names = self.names("out")
        self.assertNotIn("in/node_modules", names)
        self.assertNotIn("in/.secret.key.warpaes", names)
        self.assertNotIn("in/sub/c.warpaes", names)
        self.assertIn("in/sub/node_modules.warpaes", names)
        # For decryption, a pattern matches the stored name or the plain name.
        self.decrypt("--output-dir", "back", "--exclude", "a", "--exclude", "node_modules.warpaes", "out/in")
        self.assertNotIn("in/a", self.names("back"))
        self.assertNotIn("in/sub/node_modules", self.names("back"))

    def test_what_is_there_and_is_no_result(self):
        for what, words in (("directory", "directory"), ("foreign", "does not look encrypted"), ("empty", "encrypted")):
            with self.subTest(what):
                os.makedirs(self.path("out/in"), exist_ok=True)
                if what == "directory":
                    os.mkdir(self.path("out/in/a.warpaes"))
                else:
                    self.write("out/in/a.warpaes", b"" if what == "empty" else b"somebody's own")
                result = self.run_command(
                    WARPAES, "encrypt", "-k", "keyset", "--output-dir", "out", "--skip-existing", "in"
                )
                self.assertEqual(result.returncode, EXISTS, result.stderr)
                self.assertIn(words.encode(), result.stderr)
                self.assertIn(b"a.warpaes", result.stderr)
                shutil.rmtree(self.path("out"))

    def test_nothing_but_the_result_gets_permissions_and_times(self):
        os.makedirs(self.path("out/in"))
        os.mkfifo(self.path("pipe"), 0o600)
        os.chmod(self.path("pipe"), 0o622)
        os.symlink("../../pipe", self.path("out/in/a.warpaes"))
        os.chmod(self.path("in/a"), 0o751)
        with subprocess.Popen(["cat", self.path("pipe")], stdout=subprocess.PIPE) as reader:
            self.encrypt("-f", "in")
            self.assertGreater(len(reader.stdout.read()), 24)
        self.assertEqual(stat.S_IMODE(os.stat(self.path("pipe")).st_mode), 0o622)
        # An existing link leads to a file. The file is replaced and receives the attributes.
        os.unlink(self.path("out/in/a.warpaes"))
        self.write("elsewhere", b"old")
        os.symlink("../../elsewhere", self.path("out/in/a.warpaes"))
        self.encrypt("-f", "in")
        self.assertEqual(stat.S_IMODE(os.stat(self.path("elsewhere")).st_mode), 0o751)
        self.assertTrue(os.path.islink(self.path("out/in/a.warpaes")))

    @as_ordinary_user
    def test_a_second_run_where_nobody_may_write(self):
        os.chmod(self.path("in/sub"), 0o555)
        self.addCleanup(lambda: [os.chmod(self.path(name), 0o755) for name in ("in/sub", "out/in/sub")])
        self.encrypt("in")
        os.chmod(self.path("in/sub"), 0o755)
        self.write("in/sub/new", b"x")
        os.chmod(self.path("in/sub"), 0o555)
        self.encrypt("--skip-existing", "in")
        self.assertIn("in/sub/new.warpaes", self.names("out"))
        self.assertEqual(self.attributes("out/in/sub")[0], 0o555)

    def test_what_an_interrupted_run_has_made_is_as_in_the_end(self):
        for number in range(8):
            self.write(f"in/sub/large {number}", b"x")
            os.chmod(self.path(f"in/sub/large {number}"), 0o640)
        os.chmod(self.path("in/sub"), 0o750)
        # The signal arrives immediately before the first result receives its name.
        shim = {"LD_PRELOAD": RECORDER, "RECORDED_CALLS": os.devnull, "BEFORE_NAME": "kill -TERM $PPID"}
        arguments = ["encrypt", "-k", "keyset", "--output-dir", "out", "-j", "1", "in"]
        command = self.run_command(WARPAES, *arguments, env=shim)
        self.assertEqual(command.returncode, -signal.SIGTERM, command.stderr)
        made = [name for name in self.names("out/in") if name.endswith(".warpaes")]
        self.assertIn("a.warpaes", made)
        self.assertNotIn("sub/large 7.warpaes", made)
        for name in self.names("out/in"):
            self.assertEqual(self.attributes(f"out/in/{name}"), self.attributes("in/" + name.removesuffix(".warpaes")))
        self.encrypt("--skip-existing", "in")
        self.assertIn("sub/large 7.warpaes", self.names("out/in"))
        self.warpaes("verify", "-k", "keyset", "out")

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
        self.assertIn(b"1 file does not look encrypted and was skipped", result.stderr)
        self.assertEqual(len(result.stdout.splitlines()), 3)
        self.assertIn(b"out/in/renamed: authentic", result.stdout)
        # A file that is named on the command line is always tried, and damaged files are not skipped.
        self.refused(FORMAT, "header", "verify", "-k", "keyset", "out/in/README")
        self.write("out/in/damaged.warpaes", b"not one of ours any more")
        self.refused(FORMAT, "1 of 4 files failed", "verify", "-k", "keyset", "out")
        os.mkdir(self.path("plain"))
        self.write("plain/x", b"x")
        self.refused(NOT_FOUND, "no file looks encrypted (of 1 file)", "verify", "-k", "keyset", "plain")
        self.write("plain/y", b"y")
        self.refused(NOT_FOUND, "no file looks encrypted (of 2 files)", "verify", "-k", "keyset", "plain")

    def test_files_without_a_mark_are_all_tried(self):
        self.warpaes("keygen", "-t", "C2SP_CHUNKED_256", "-o", "raw")
        self.warpaes("encrypt", "-k", "raw", "-o", "in/unmarked", "in/a")
        result = self.run_command(WARPAES, "verify", "-k", "raw", "in")
        self.assertIn(b"in/unmarked: authentic", result.stdout)
        self.assertIn(b"3 of 4 files failed", result.stderr)


if __name__ == "__main__":
    main()
