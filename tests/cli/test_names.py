"""Tests encrypted names in an output directory: round trips, key rotation, hostile names, and an adversary who controls
the storage."""

import json
import os
import random
import re
import shutil
import stat
import unittest

from support import (
    ARGUMENT,
    AUTHENTICATION,
    EXISTS,
    FORMAT,
    NOT_FOUND,
    WARPAES,
    WRITE,
    CommandTest,
    data,
    main,
    missing,
)

try:
    import names_oracle
except ImportError as error:
    names_oracle = None
    WITHOUT_ORACLE = missing("cryptography", error)
else:
    WITHOUT_ORACLE = ""

KEY = data(32, b"key of names")
PART = re.compile(rb"[0-9a-v]{1,143}|[0-9a-v]{142}-")
FILES = {
    b"photos/a.jpg": data(10_000, b"a"),
    b"photos/b.jpg": data(10_000, b"b"),
    b"photos/raw/a.jpg": data(5000, b"c"),
    b"photos/raw/deep er/-": b"",
    b"photos/" + b"n" * 255: data(100, b"n"),
    b"photos/" + b"m" * 144 + b"/" + b"k" * 74: data(99, b"k"),
    b"photos/line\nend\xff\xfe": data(98, b"l"),
    b"photos/..x.warpaes": data(97, b"w"),
    b"notes.txt": data(4096, b"t"),
}


def files_below(root):
    found = {}
    for folder, _, names in os.walk(os.fsencode(root)):
        for name in names:
            path = os.path.join(folder, name)
            if not os.path.islink(path) and os.path.isfile(path):
                with open(path, "rb") as file:
                    found[os.path.relpath(path, os.fsencode(root))] = file.read()
    return found


def everything_below(root):
    root = os.fsencode(root)
    return sorted(
        os.path.relpath(os.path.join(folder, name), root)
        for folder, folders, names in os.walk(root)
        for name in folders + names
    )


class NamesTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.private("key", KEY)
        self.private("other", data(32, b"other key"))
        self.make(FILES)

    def make(self, files):
        for name, content in files.items():
            path = os.path.join(os.fsencode(self.path("in")), name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(content)

    def encrypt(self, *more, keys=("-k", "key"), to="out"):
        return self.warpaes("encrypt", *keys, "--encrypt-names", "--output-dir", to, "in/photos", "in/notes.txt", *more)

    def decrypt_all(self, *more, keys=("-k", "key"), of="out"):
        """Decrypt into a new directory. Return the exit status, the results and the messages."""
        shutil.rmtree(self.path("back"), ignore_errors=True)
        result = self.run_command(WARPAES, "decrypt", *keys, "--encrypted-names", "--output-dir", "back", of, *more)
        return result.returncode, files_below(self.path("back")), result.stderr

    def stored(self, plain):
        """Return the path of the stored form of a plain path."""
        return os.path.join(os.fsencode(self.path("out")), self.where()[plain])

    def where(self, keys=("-k", "key"), of="out"):
        record = json.loads(self.warpaes("list", *keys, "--json", of))
        return {
            bytes.fromhex(entry["name_hex"]) if "name_hex" in entry else entry["name"].encode(): entry[
                "stored"
            ].encode()
            for entry in record
        }


class RoundTrips(NamesTest):
    def test_there_and_back(self):
        os.makedirs(self.path("in/photos/empty"))
        os.chmod(self.path("in/photos/raw"), 0o750)
        os.chmod(self.path("in/photos/a.jpg"), 0o640)
        for folder in (b"photos/raw/deep er", b"photos/raw", b"photos/" + b"m" * 144, b"photos/empty", b"photos"):
            os.utime(os.path.join(os.fsencode(self.path("in")), folder), (10**9, 10**9 + len(folder)))
        self.encrypt()
        for path in everything_below(self.path("out")):
            for part in path.split(b"/"):
                self.assertTrue(PART.fullmatch(part), part)
        stored = b"\n".join(everything_below(self.path("out")))
        for word in (b"photos", b"raw", b"notes", b"nnnn", b"jpg", b"warpaes"):
            self.assertNotIn(word, stored)
        status, made, messages = self.decrypt_all()
        self.assertEqual((status, messages), (0, b""))
        self.assertEqual(made, FILES)
        for path in everything_below(self.path("back")):
            then = os.stat(os.path.join(os.fsencode(self.path("in")), path))
            now = os.stat(os.path.join(os.fsencode(self.path("back")), path))
            self.assertEqual((then.st_mode, then.st_mtime_ns), (now.st_mode, now.st_mtime_ns), (path, oct(now.st_mode)))
        self.assertEqual(everything_below(self.path("back")), everything_below(self.path("in")))
        text = self.warpaes("verify", "-k", "key", "--encrypted-names", "out")
        self.assertEqual(text.count(b": authentic\n"), len(FILES))
        self.assertIn(b"photos/raw/a.jpg: authentic\n", text)

    def test_parts_of_long_names_have_the_mode_of_their_folder(self):
        os.chmod(self.path("in/photos"), 0o751)
        self.encrypt()
        parts = [path for path in everything_below(self.path("out")) if path.endswith(b"-")]
        self.assertTrue(parts)
        for part in parts:
            path = os.path.join(os.fsencode(self.path("out")), part)
            mode = stat.S_IMODE(os.stat(path).st_mode)
            self.assertIn(mode, (0o751, 0o755))

    @unittest.skipIf(names_oracle is None, WITHOUT_ORACLE)
    def test_names_and_associated_data_are_those_of_the_documentation(self):
        self.encrypt("--aad", "more")
        expected = {names_oracle.encrypt_path(KEY, name): name for name in FILES}
        self.assertEqual(set(files_below(self.path("out"))), set(expected))
        for stored, name in expected.items():
            with open(self.path("aad"), "wb") as file:
                file.write(names_oracle.associated_data(name, b"more"))
            path = os.path.join(b"out", stored)
            self.assertEqual(self.warpaes("cat", "-k", "key", "--aad-file", "aad", path), FILES[name])
        self.assertEqual(self.decrypt_all("--aad", "more")[:2], (0, FILES))
        status, made, _ = self.decrypt_all()
        self.assertEqual((status, made), (AUTHENTICATION, {}))

    def test_lists_plain_names_in_order(self):
        os.makedirs(self.path("in/photos/empty"))
        self.encrypt()
        lines = self.warpaes("list", "-k", "key", "out").splitlines()
        expected = sorted(FILES, key=lambda name: name.split(b"/"))
        names = [line for line in lines if not line.endswith(b"/")]
        self.assertEqual(len(names), len(FILES))
        self.assertEqual([name for name in names if b"line" not in name], [n for n in expected if b"line" not in n])
        self.assertIn(b"photos/empty/", lines)
        where = self.where()
        self.assertEqual({name for name in where if name in FILES}, set(FILES))
        for name, stored in where.items():
            self.assertTrue(os.path.exists(os.path.join(os.fsencode(self.path("out")), stored)), name)

    def test_one_file_by_its_plain_name(self):
        self.encrypt()
        for name in (b"photos/raw/a.jpg", b"photos/" + b"n" * 255, b"photos/line\nend\xff\xfe", b"notes.txt"):
            get = ("-k", "key", "--encrypted-names", "--name", name, "out")
            self.assertEqual(self.warpaes("cat", *get), FILES[name])
            self.assertEqual(self.warpaes("decrypt", *get), FILES[name])
            self.warpaes("decrypt", *get, "-f", "-o", "one")
            self.assertEqual(self.read("one"), FILES[name])
            self.assertEqual(self.warpaes("decrypt", "-r", "3:90", *get), FILES[name][3:91])
            self.assertEqual(self.warpaes("verify", *get).count(b": authentic"), 1)
        self.assertEqual(
            self.warpaes("cat", "-k", "key", "--encrypted-names", "--name=notes.txt", "--name=photos/a.jpg", "out"),
            FILES[b"notes.txt"] + FILES[b"photos/a.jpg"],
        )
        self.warpaes(
            "decrypt", "-k", "key", "--encrypted-names", "--name", "photos/a.jpg", "--output-dir", "some", "out"
        )
        self.assertEqual(files_below(self.path("some")), {b"photos/a.jpg": FILES[b"photos/a.jpg"]})

    def test_patterns_match_plain_names(self):
        self.encrypt("--exclude", "b.jpg")
        self.assertNotIn(b"photos/b.jpg", self.where())
        self.assertEqual(set(self.decrypt_all("--include", "*.jpg")[1]), {b"photos/a.jpg", b"photos/raw/a.jpg"})
        self.assertEqual(
            set(self.decrypt_all("--include", "photos/raw/")[1]), {b"photos/raw/a.jpg", b"photos/raw/deep er/-"}
        )
        self.assertNotIn(b"photos/raw/a.jpg", self.decrypt_all("--exclude", "raw")[1])

    def test_a_second_run(self):
        self.encrypt()
        before = everything_below(self.path("out"))
        result = self.run_command(
            WARPAES, "encrypt", "-k", "key", "--encrypt-names", "--output-dir", "out", "in/photos", "in/notes.txt"
        )
        self.assertEqual(result.returncode, EXISTS)
        self.encrypt("--skip-existing")
        self.encrypt("-f")
        self.assertEqual(everything_below(self.path("out")), before)
        self.assertEqual(self.decrypt_all()[:2], (0, FILES))

    def test_a_dry_run_says_what_would_be_made(self):
        record = json.loads(self.encrypt("-n", "--json"))
        outputs = {os.fsencode(file["output"]) for file in record["files"]}
        self.assertFalse(os.path.exists(self.path("out")))
        self.encrypt()
        self.assertEqual(outputs, {b"out/" + path for path in files_below(self.path("out"))})
        text = self.warpaes("decrypt", "-n", "-k", "key", "--encrypted-names", "--output-dir", "back", "out")
        self.assertIn(b"photos/raw/a.jpg -> back/photos/raw/a.jpg\n", text)
        self.assertFalse(os.path.exists(self.path("back")))

    def test_random_trees(self):
        draw = random.Random(5297)
        alphabet = [bytes([c]) for c in range(1, 256) if c != ord("/")]
        for turn in range(12):
            shutil.rmtree(self.path("in"))
            files, folders = {}, [b"photos"]
            for number in range(draw.randrange(1, 12)):
                name = b"".join(draw.choices(alphabet, k=draw.choice((1, 2, 9, 72, 73, 74, 140, 143, 144, 250, 255))))
                if name in (b".", b".."):
                    continue
                path = draw.choice(folders) + b"/" + name
                if len(path) > 1200 or path in files or path in folders:
                    continue
                if draw.random() < 0.3:
                    folders.append(path)
                else:
                    files[path] = data(draw.choice((0, 1, 5000)), bytes([turn, number]))
            self.make(files | {b"notes.txt": b"t"})
            for folder in folders:
                os.makedirs(os.path.join(os.fsencode(self.path("in")), folder), exist_ok=True)
            self.encrypt(to=f"out{turn}")
            status, made, messages = self.decrypt_all(of=f"out{turn}")
            self.assertEqual((status, made), (0, files | {b"notes.txt": b"t"}), messages)
            self.assertEqual(everything_below(self.path("back")), everything_below(self.path("in")))


class Rotation(NamesTest):
    def setUp(self):
        super().setUp()
        self.warpaes("keygen", "-t", "AES256_GCM_HKDF_4KB", "-o", "keyset")
        self.keys = ("-k", "keyset")
        self.encrypt(keys=self.keys)
        self.before = everything_below(self.path("out"))
        self.old = json.loads(self.warpaes("keys", "list", "--json", "keyset"))[0]["key_id"]

    def rotate(self, *more, of="out"):
        return self.run_command(WARPAES, "reencrypt", *self.keys, "--encrypted-names", *more, of)

    def only_the_new_key(self):
        shutil.copy(self.path("keyset"), self.path("new"))
        self.warpaes("keys", "remove", "new", str(self.old))
        return ("-k", "new")

    def test_names_and_files_get_the_new_key(self):
        self.warpaes("keys", "add", "--primary", "keyset")
        self.assertEqual(self.decrypt_all(keys=self.keys)[:2], (0, FILES))
        result = self.rotate()
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        self.assertEqual(set(everything_below(self.path("out"))) & set(self.before), set())
        self.assertEqual(self.decrypt_all(keys=self.only_the_new_key())[:2], (0, FILES))
        again = everything_below(self.path("out"))
        self.assertIn(b"already had the new key", self.rotate().stderr)
        self.assertEqual(everything_below(self.path("out")), again)

    def test_to_other_keys_and_formats(self):
        for new in ("other", "key"):
            result = self.rotate("--to", new)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(self.decrypt_all(keys=("-k", new))[:2], (0, FILES))
            self.keys = ("-k", new)

    def test_a_second_encryption_before_the_rotation_keeps_the_names(self):
        self.warpaes("keys", "add", "--primary", "keyset")
        self.encrypt("-f", keys=self.keys)
        self.make({b"photos/new": b"new"})
        self.encrypt("-f", keys=self.keys)
        self.assertEqual(self.decrypt_all(keys=self.keys)[:2], (0, FILES | {b"photos/new": b"new"}))
        self.assertEqual(len(everything_below(self.path("out"))), len(self.before) + 1)

    def test_an_interrupted_rotation_is_readable_and_goes_on(self):
        self.warpaes("keys", "add", "--primary", "keyset")
        damaged = os.path.join(os.fsencode(self.path("out")), self.where(self.keys)[b"photos/raw/a.jpg"])
        with open(damaged, "r+b") as file:
            whole = file.read()
            file.truncate(len(whole) - 1)
        result = self.rotate()
        self.assertEqual(result.returncode, AUTHENTICATION, result.stderr)
        self.assertIn(b"'photos/raw/a.jpg': ", result.stderr)
        rest = {name: content for name, content in FILES.items() if name != b"photos/raw/a.jpg"}
        self.assertEqual(self.decrypt_all(keys=self.keys)[1], rest)
        left = os.path.join(os.fsencode(self.path("out")), self.where(self.keys)[b"photos/raw/a.jpg"])
        with open(left, "wb") as file:
            file.write(whole)
        self.assertEqual(self.rotate().returncode, 0)
        self.assertEqual(self.decrypt_all(keys=self.only_the_new_key())[:2], (0, FILES))

    def test_killed_at_any_time_nothing_is_lost(self):
        self.warpaes("keys", "add", "--primary", "keyset")
        for turn in range(6):
            tree = f"tree{turn}"
            shutil.copytree(self.path("out"), self.path(tree))
            result = self.run_command(
                "timeout", "-s", "KILL", f"{0.003 + 0.004 * turn}", WARPAES, "reencrypt", *self.keys, "--no-sync",
                "--encrypted-names", tree,
            )  # fmt: skip
            self.assertIn(result.returncode, (0, 137, -9))
            shutil.rmtree(self.path("back"), ignore_errors=True)
            self.run_command(WARPAES, "decrypt", *self.keys, "--encrypted-names", "--output-dir", "back", tree)
            self.assertEqual(files_below(self.path("back")), FILES)

    def test_a_name_that_is_there_twice_is_refused(self):
        shutil.copytree(self.path("out"), self.path("copy"))
        self.warpaes("keys", "add", "--primary", "keyset")
        self.assertEqual(self.rotate().returncode, 0)
        for path in self.before:  # an old copy of the whole dataset reappears
            source = os.path.join(os.fsencode(self.path("copy")), path)
            target = os.path.join(os.fsencode(self.path("out")), path)
            if os.path.isdir(source):
                os.makedirs(target, exist_ok=True)
            else:
                shutil.copy(source, target)
        status, made, messages = self.decrypt_all(keys=self.keys)
        self.assertEqual((status, made), (FORMAT, {}))
        self.assertIn(b"2 entries have this plain name", messages)


class Adversary(NamesTest):
    def setUp(self):
        super().setUp()
        self.encrypt()

    def check(self, lost, words, status):
        """Check that decryption fails with this message, and that it writes all files except ``lost`` and nothing
        else."""
        code, made, messages = self.decrypt_all()
        self.assertEqual(code, status, messages)
        self.assertIn(words, messages)
        self.assertEqual(made, {name: content for name, content in FILES.items() if name not in lost})
        verified = self.run_command(WARPAES, "verify", "-k", "key", "--encrypted-names", "out")
        self.assertEqual(verified.returncode, status, verified.stderr)

    def test_every_changed_character_of_a_name_is_noticed(self):
        path = self.stored(b"notes.txt")
        folder, stored = os.path.split(path)
        rest = {name: content for name, content in FILES.items() if name != b"notes.txt"}
        for i in range(len(stored)):
            other = bytearray(stored)
            other[i] = ord("0") if other[i] != ord("0") else ord("1")
            os.rename(path, os.path.join(folder, bytes(other)))
            listed = self.run_command(WARPAES, "list", "-k", "key", "out")
            self.assertIn(listed.returncode, (AUTHENTICATION, FORMAT))
            self.assertNotIn(b"notes.txt", listed.stdout)
            self.assertEqual(listed.stderr.count(b"\n"), 1)
            if i % 7 == 0:
                status, made, _ = self.decrypt_all()
                self.assertIn(status, (AUTHENTICATION, FORMAT))
                self.assertEqual(made, rest)
            os.rename(os.path.join(folder, bytes(other)), path)
        for changed in (stored.upper(), stored + b"0", stored[:-1], stored + b".warpaes", b"x" + stored, stored + b"-"):
            os.rename(path, os.path.join(folder, changed))
            self.assertIn(self.decrypt_all()[0], (AUTHENTICATION, FORMAT))
            self.assertEqual(self.decrypt_all()[1], rest)
            os.rename(os.path.join(folder, changed), path)
        self.assertEqual(self.decrypt_all()[:2], (0, FILES))

    def test_two_files_of_a_folder_that_change_places(self):
        one, two = self.stored(b"photos/a.jpg"), self.stored(b"photos/b.jpg")
        os.rename(one, one + b".x")
        os.rename(two, one)
        os.rename(one + b".x", two)
        self.check({b"photos/a.jpg", b"photos/b.jpg"}, b"moved within the tree", AUTHENTICATION)

    def test_files_and_folders_that_move(self):
        one = self.stored(b"photos/raw/a.jpg")
        os.rename(one, os.path.join(os.path.dirname(self.stored(b"photos/a.jpg")), os.path.basename(one)))
        self.check({b"photos/raw/a.jpg"}, b"the name is not authentic", AUTHENTICATION)
        raw = os.path.dirname(one)
        os.rename(raw, os.path.join(os.fsencode(self.path("out")), os.path.basename(raw)))
        self.check({name for name in FILES if b"raw" in name}, b"the name is not authentic", AUTHENTICATION)

    def test_a_file_under_a_name_of_another_folder(self):
        shutil.copy(self.stored(b"photos/raw/a.jpg"), self.stored(b"photos/a.jpg"))
        self.check({b"photos/a.jpg"}, b"'photos/a.jpg': ", AUTHENTICATION)

    def test_a_folder_in_place_of_a_file_and_the_reverse(self):
        note, raw = self.stored(b"notes.txt"), os.path.dirname(self.stored(b"photos/raw/a.jpg"))
        os.rename(note, self.path("note"))
        shutil.rmtree(raw)
        shutil.copy(os.fsencode(self.path("note")), raw)
        os.mkdir(note)
        shutil.copy(os.fsencode(self.path("note")), note)
        self.check({name for name in FILES if b"raw" in name or name == b"notes.txt"}, b"photos/raw", FORMAT)

    def test_planted_things(self):
        photos = os.path.dirname(self.stored(b"photos/a.jpg"))
        folder = b"v" * 142 + b"-"
        for plant, words in (
            (lambda path: os.symlink("/etc/passwd", path), b"a symbolic link"),
            (lambda path: os.symlink("/etc", path), b"a symbolic link"),
            (os.mkfifo, b"not a regular file"),
        ):
            note = self.stored(b"notes.txt")
            os.rename(note, self.path("note"))
            plant(note)
            self.check({b"notes.txt"}, words, FORMAT)
            result = self.run_command(WARPAES, "cat", "-k", "key", "--encrypted-names", "--name", "notes.txt", "out")
            self.assertEqual((result.returncode, result.stdout), (NOT_FOUND, b""), result.stderr)
            os.unlink(note)
            os.rename(self.path("note"), note)
        for name in (b"readme", b".hidden", b"0", b"-", folder[:-1], b"..warpaes", b"0" * 28, b"\xff\n", b"a b"):
            path = os.path.join(photos, name)
            with open(path, "wb") as file:
                file.write(b"planted")
            status, made, _ = self.decrypt_all()
            self.assertIn(status, (AUTHENTICATION, FORMAT))
            self.assertEqual(made, FILES)
            if name != b"-":  # one of the files is called "-"
                self.assertEqual(self.decrypt_all("--exclude", name)[:2], (0, FILES))
            os.unlink(path)
        # Incomplete parts of a long name count as deleted entries.
        os.makedirs(os.path.join(photos, *[folder] * 3))
        self.assertEqual(self.decrypt_all()[:2], (0, FILES))
        deep = photos
        for _ in range(25):
            deep = os.path.join(deep, folder)
            os.makedirs(deep, exist_ok=True)
        self.assertIn(self.decrypt_all()[0], (0, FORMAT))
        self.assertEqual(self.decrypt_all()[1], FILES)

    def test_links_above_a_file_are_not_followed(self):
        photos = os.path.dirname(self.stored(b"photos/a.jpg"))
        os.rename(photos, self.path("elsewhere"))
        os.symlink(self.path("elsewhere"), photos)
        get = ("-k", "key", "--encrypted-names", "--name", "photos/a.jpg", "out")
        result = self.run_command(WARPAES, "cat", *get)
        self.assertEqual((result.returncode, result.stdout), (NOT_FOUND, b""), result.stderr)
        self.check({name for name in FILES if name != b"notes.txt"}, b"a symbolic link", FORMAT)
        before = everything_below(self.path("elsewhere"))
        self.run_command(WARPAES, "reencrypt", "-k", "key", "--to", "other", "--encrypted-names", "out")
        self.assertEqual(everything_below(self.path("elsewhere")), before)

    def test_links_below_the_target_are_not_written_through(self):
        """A second encryption creates nothing in a different folder, changes no permissions there, and replaces no
        file."""
        victim = self.path("victim")
        os.mkdir(victim, 0o700)
        self.write("victim/own", b"secret")
        os.chmod(self.path("in/photos"), 0o755)
        for plain in (b"photos", b"photos/a.jpg", b"notes.txt", b"photos/" + b"n" * 255):
            path = self.stored(plain) if b"n" * 255 not in plain else os.path.dirname(self.stored(plain))
            for target in ("victim/own",) if b"." in plain else ("victim",):
                os.rename(path, self.path("kept"))
                os.symlink(self.path(target), path)
                with self.subTest(plain=plain):
                    result = self.run_command(
                        WARPAES, "encrypt", "-f", "-k", "key", "--encrypt-names", "--output-dir", "out", "in/photos",
                        "in/notes.txt",
                    )  # fmt: skip
                    self.assertEqual(result.returncode, WRITE, result.stderr)
                    self.assertEqual(everything_below(victim), [b"own"])
                    self.assertEqual(self.read("victim/own"), b"secret")
                    self.assertEqual(os.stat(victim).st_mode & 0o777, 0o700)
                    self.assertNotIn(b"/proc/", result.stderr)
                os.unlink(path)
                os.rename(self.path("kept"), path)
        self.encrypt("-f")
        self.assertEqual(self.decrypt_all()[:2], (0, FILES))

    def test_messages_name_the_output(self):
        result = self.run_command(
            WARPAES, "encrypt", "-k", "key", "--encrypt-names", "--output-dir", "out", "in/notes.txt"
        )
        self.assertIn(self.where()[b"notes.txt"], result.stderr)
        self.assertNotIn(b"/proc/", result.stderr)

    def test_another_tree_and_other_keys(self):
        self.encrypt(keys=("-k", "other"), to="second")
        for path in everything_below(self.path("second")):
            source, target = (os.path.join(os.fsencode(self.path(root)), path) for root in ("second", "out"))
            if os.path.isfile(source):
                os.makedirs(os.path.dirname(target), exist_ok=True)
                shutil.copy(source, target)
        status, made, messages = self.decrypt_all()
        self.assertEqual((status, made), (AUTHENTICATION, FILES), messages)
        status, made, messages = self.decrypt_all(keys=("-k", "key", "-k", "other"))
        self.assertEqual((status, made), (FORMAT, {}))  # every name exists twice

    def test_a_part_of_the_tree_is_no_tree(self):
        photos = os.path.basename(os.path.dirname(self.stored(b"photos/a.jpg")))
        status, made, messages = self.decrypt_all(of=os.path.join(b"out", photos))
        self.assertEqual((status, made), (AUTHENTICATION, {}), messages)

    @unittest.skipIf(names_oracle is None, WITHOUT_ORACLE)
    def test_authentic_names_that_lead_elsewhere(self):
        """These names were created with the key, as a careless or malicious writer could create them."""
        root = os.fsencode(self.path("out"))
        photos = os.path.dirname(self.stored(b"photos/a.jpg"))
        for name in (b"..", b".", b"../../evil", b"/tmp/evil", b"a\0b", b"\0"):
            for folder, place in ((b"", root), (b"photos", photos)):
                path = os.path.join(place, names_oracle.encrypt_name(KEY, folder, name))
                for plant in (lambda p: shutil.copy(self.stored(b"notes.txt"), p), os.mkdir):
                    plant(path)
                    before = everything_below(self.directory)
                    status, made, messages = self.decrypt_all()
                    self.assertEqual(status, FORMAT, messages)
                    self.assertIn(b"the name in it ", messages)
                    self.assertEqual(made, FILES)
                    shutil.rmtree(self.path("back"))
                    self.assertEqual([p for p in everything_below(self.directory) if p not in before], [])
                    os.rmdir(path) if os.path.isdir(path) else os.unlink(path)
        for name in (b"..", b"photos/../photos/a.jpg", b"./notes.txt", b"photos//a.jpg"):
            result = self.run_command(WARPAES, "cat", "-k", "key", "--encrypted-names", "--name", name, "out")
            self.assertEqual((result.returncode, result.stdout), (ARGUMENT, b""))

    def test_random_acts(self):
        """No file appears with different content or in a different place, whatever happens to the storage."""
        draw = random.Random(5298)
        shutil.copytree(self.path("out"), self.path("clean"), symlinks=True)
        outcomes = set()
        for _ in range(60):
            shutil.rmtree(self.path("out"))
            shutil.copytree(self.path("clean"), self.path("out"), symlinks=True)
            acts = [self.act(draw) for _ in range(draw.randrange(1, 5))]
            status, made, messages = self.decrypt_all()
            outcomes.add(status)
            for name, content in made.items():
                self.assertEqual(content, FILES.get(name), (name, acts))
            missing_names = set(FILES) - set(made)
            if any(act != "delete" for act in acts if act) and status == 0:
                # No authentic file is in a wrong place, so the changes cancelled each other out or affected deleted
                # entries.
                self.assertEqual(self.run_command(WARPAES, "list", "-k", "key", "out").returncode, 0, messages)
            elif status == 0:
                self.assertFalse(missing_names and not any(acts))
        self.assertIn(AUTHENTICATION, outcomes)

    def act(self, draw):
        root = os.fsencode(self.path("out"))
        there = everything_below(root)
        if not there:
            return None
        one, two = (os.path.join(root, draw.choice(there)) for _ in range(2))
        kind = draw.choice(("rename", "swap", "delete", "plant", "copy", "move"))
        try:
            if kind == "rename":
                os.rename(one, os.path.join(os.path.dirname(one), os.path.basename(two)))
            elif kind == "swap" and not (one.startswith(two) or two.startswith(one)):
                os.rename(one, root + b"/x")
                os.rename(two, one)
                os.rename(root + b"/x", two)
            elif kind == "delete":
                shutil.rmtree(one) if os.path.isdir(one) else os.unlink(one)
            elif kind == "plant":
                with open(os.path.join(os.path.dirname(one), b"0123456789abcdefghijklmnopqrst"), "wb") as file:
                    file.write(b"planted")
            elif kind == "copy":
                shutil.copy(one, two)
            elif kind == "move" and not two.startswith(one):
                os.rename(one, os.path.join(two if os.path.isdir(two) else root, os.path.basename(one)))
        except OSError:
            return None
        return kind


class Refused(NamesTest):
    def test_wrong_command_lines(self):
        self.warpaes("encrypt", "-k", "key", "--output-dir", "plain", "in/notes.txt")
        self.encrypt()
        key, names = ("-k", "key"), "--encrypted-names"
        for words, *arguments in (
            ("--encrypt-names: requires --output-dir", "encrypt", *key, "--encrypt-names", "in/notes.txt"),
            ("--encrypt-names: requires a separate keyset|keygen", "encrypt", "--passphrase-from", "key",
             "--encrypt-names", "--output-dir", "new", "in"),
            ("--encrypted-names: requires a separate keyset", "decrypt", names, "--output-dir", "new", "out"),
            ("--name: requires --encrypted-names", "decrypt", *key, "--name", "notes.txt", "out"),
            ("--encrypted-names: give --output-dir DIRECTORY|--name PATH", "decrypt", *key, names, "out"),
            ("--encrypted-names: give --name PATH", "cat", *key, names, "out"),
            ("--name: there are several files; give", "decrypt", *key, names, "--name=a", "--name=b", "out"),
            ("--name: requires exactly one FILE", "cat", *key, names, "--name", "a", "out", "plain"),
            ("--name: cannot be combined with", "verify", *key, names, "--name", "a", "--include", "b", "out"),
            ("--name: '/notes.txt' is not the plain path", "cat", *key, names, "--name", "/notes.txt", "out"),
            ("--name: '' is not the plain path", "cat", *key, names, "--name", "", "out"),
            ("--name: 'photos' is a folder|--include 'photos/'", "cat", *key, names, "--name", "photos", "out"),
            ("--range: requires exactly one --name", "decrypt", *key, names, "-r", "0:1", "out", "--output-dir", "new"),
            ("standard input, which has no name", "verify", *key, names),
            ("--kek: has no effect on the key of a dataset", "list", "-k", "dataset:key", "--kek", "key", "out"),
            ("--passphrase-from: has no effect", "list", "-k", "dataset:key", "--passphrase-from", "key", "out"),
            ("--raw: has no effect", "list", "-k", "dataset:key", "--raw", "out"),
            ("--template: has no effect", "list", "-k", "dataset:key", "-t", "AES128_GCM_HKDF_4KB", "out"),
            ("did you mean '--encrypted-names'", "decrypt", *key, "--encrypt-names", "--output-dir", "new", "out"),
        ):  # fmt: skip
            self.refused(ARGUMENT, words, *arguments)
        for words, *arguments in (
            (
                "'photos/none' does not exist in 'out' under these keys",
                "cat",
                *key,
                names,
                "--name",
                "photos/none",
                "out",
            ),
            ("'notes.txt' does not exist in 'out'", "cat", "-k", "other", names, "--name", "notes.txt", "out"),
            ("requires the directory that `encrypt --output-dir` wrote", "verify", *key, names, "in/notes.txt"),
            ("requires the directory that `encrypt --output-dir` wrote", "verify", *key, names, "nothing"),
            ("not a directory", "list", *key, "in/notes.txt"),
        ):
            self.refused(NOT_FOUND, words, *arguments)
        self.refused(FORMAT, "does not have the form of an encrypted name", "list", *key, "plain")
        self.refused(
            AUTHENTICATION, "2 names were refused|no key opens it in this folder", "list", "-k", "other", "out"
        )

    def test_without_the_option_the_sentence_names_it(self):
        self.encrypt()
        result = self.run_command(WARPAES, "verify", "-k", "key", "out")
        self.assertEqual(result.returncode, AUTHENTICATION)
        self.assertIn(b"its name looks encrypted, so give --encrypted-names and the complete directory", result.stderr)


if __name__ == "__main__":
    main()
