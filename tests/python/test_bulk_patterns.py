"""Tests that --include, --exclude and --dry-run have the same meaning in `warpaes bulk` as for the command's
directories."""

from __future__ import annotations

import ctypes
import io
import locale
import os
import random
import re
import subprocess
import time
import unittest
import unittest.mock
from contextlib import redirect_stdout

from bulk_case import Case, StoreCase, bulk, refusal
from warpaes.bulk import cli
from warpaes.bulk.patterns import Patterns, translated

TREE = ["a.csv", "b.tmp", "raw/c.csv", "raw/x/d.csv", "raw/x/e.tmp", ".git/f", "sub/raw/g.csv", "\u00e9.csv", "[h].csv"]


def taken(include: list[str], exclude: list[str]) -> list[str]:
    patterns = Patterns(include, exclude)
    return [name for name in TREE if patterns.take(name)]


class Meaning(unittest.TestCase):
    def test_names_paths_and_folders(self) -> None:
        self.assertEqual(taken([], []), TREE)
        self.assertEqual(taken(["*.tmp"], []), ["b.tmp", "raw/x/e.tmp"])
        self.assertEqual(taken([], ["*.csv", "*.tmp"]), [".git/f"])
        self.assertEqual(taken(["raw"], []), ["raw/c.csv", "raw/x/d.csv", "raw/x/e.tmp", "sub/raw/g.csv"])
        self.assertEqual(taken(["raw/x"], []), ["raw/x/d.csv", "raw/x/e.tmp"])
        self.assertEqual(taken(["./raw/*/"], []), ["raw/x/d.csv", "raw/x/e.tmp"])
        self.assertEqual(taken(["a.csv/"], ["none"]), [])
        self.assertEqual(taken(["[[]h*", "??.csv"], []), ["\u00e9.csv", "[h].csv"])  # each ? matches a byte

    def test_exclude_counts_more_than_include(self) -> None:
        self.assertEqual(taken(["raw"], ["*.tmp", "sub"]), ["raw/c.csv", "raw/x/d.csv"])

    def test_patterns_that_match_nothing_or_are_not_complete(self) -> None:
        for text in (
            "",
            "/",
            "./",
            "[a",
            "a\\",
            "[[:nix:]]",
            "[[:alpha:",
            "[[.a.]]",
            "[[=a=]]",
            "[a-[:alpha:]]",
            "[]",
            "[!]",
        ):
            with self.subTest(text), self.assertRaisesRegex(ValueError, "^--exclude " + re.escape(repr(text)[:3])):
                Patterns([], [text])

    def test_random_patterns_match_as_the_c_library(self) -> None:
        fnmatch = ctypes.CDLL(None).fnmatch
        before = locale.setlocale(locale.LC_ALL)
        locale.setlocale(locale.LC_ALL, "C")
        self.addCleanup(locale.setlocale, locale.LC_ALL, before)
        generator = random.Random(43)
        pieces = [
            *b"aabbc-./]!^\\\n\xc3",
            b"*",
            b"*",
            b"?",
            b"[ab]",
            b"[!a]",
            b"[^b-c]",
            b"[]a]",
            b"[a-]",
            b"[[:alpha:]]",
        ]
        pieces += [b"[\\]]", b"[b-a]", b"[!c-a]", b"[![:space:]x]", b"[[:punct:]]", b"[\x80-\xff]", b"[[a]", b"[!]-]"]
        pieces = [bytes([piece]) if isinstance(piece, int) else piece for piece in pieces]
        matches = compared = 0
        for _ in range(40_000):
            pattern = b"".join(generator.choices(pieces, k=generator.randrange(1, 7)))
            name = bytes(generator.choices(b"aabbc-./]![\\ \n\xc3\xa9", k=generator.randrange(7)))
            try:
                found = re.compile(translated(pattern), re.DOTALL).fullmatch(name) is not None
            except ValueError:
                continue
            compared += 1
            matches += found
            self.assertEqual(found, fnmatch(pattern, name, 0) == 0, (pattern, name))
        self.assertGreater(compared, 30_000)
        self.assertGreater(matches, 1_000)

    def test_names_that_are_chosen_to_take_long(self) -> None:
        begin = time.monotonic()
        self.assertFalse(Patterns([], ["*a*a*a*a*a*a*a*a*a*a*a*a*b"]).take("a" * 1024) is False)
        self.assertLess(time.monotonic() - begin, 2)


class Jobs(Case):
    def make(self, names: list[str]) -> None:
        for name in names:
            (self.source / name).parent.mkdir(parents=True, exist_ok=True)
            (self.source / name).write_bytes(name.encode())

    def everything(self) -> dict[str, tuple[int, bytes]]:
        """Return all files below the test's folder, including bulk's own files."""
        return {
            str(path): (path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else b"")
            for path in self.folder.rglob("*")
        }

    def test_encrypt_decrypt_and_verify(self) -> None:
        self.make(TREE)
        status, report = bulk(
            "encrypt", "-k", self.key, "--exclude", "*.tmp", "--exclude", ".git/", self.source, self.target
        )
        self.assertEqual((status, report["objects"]), (0, 6))
        self.assertIn("--include and --exclude skipped 3 objects", report["notes"])
        self.assertEqual(sorted(self.files(self.target)), sorted(set(TREE) - {"b.tmp", "raw/x/e.tmp", ".git/f"}))
        status, report = bulk("verify", "-k", self.key, "--include", "raw/", self.target)
        self.assertEqual((status, report["objects"], report["done"]), (0, 3, 3))
        back = self.folder / "back"
        status, report = bulk("decrypt", "-k", self.key, "--include", "raw", "--exclude", "x", self.target, back)
        self.assertEqual((status, sorted(self.files(back))), (0, ["raw/c.csv", "sub/raw/g.csv"]))
        self.assertEqual((back / "raw/c.csv").read_bytes(), b"raw/c.csv")

    def test_a_dataset_without_manifest(self) -> None:
        self.make(TREE)
        bulk("encrypt", "-k", self.key, self.source, self.target)
        without = self.without_manifest(self.target)
        status, report = bulk("verify", "-k", self.key, *without, "--include", "*.tmp", self.target)
        self.assertEqual((status, report["objects"]), (0, 2))

    def test_names_of_encrypted_objects_match_both_ways(self) -> None:
        self.make(TREE)
        bulk("encrypt", "-k", self.key, "--suffix", ".enc", "--include", "*.csv", self.source, self.target)
        for pattern in ("a.csv", "a.csv.enc"):
            with self.subTest(pattern):
                status, report = bulk("verify", "-k", self.key, "--include", pattern, self.target)
                self.assertEqual((status, report["objects"]), (0, 1))
                back = self.folder / ("back" + pattern)
                bulk("decrypt", "-k", self.key, "--suffix", ".enc", "--include", pattern, self.target, back)
                self.assertEqual(sorted(self.files(back)), ["a.csv"])

    def test_an_altered_object_that_is_left_out_is_not_verified_and_others_are(self) -> None:
        self.make(TREE)
        bulk("encrypt", "-k", self.key, self.source, self.target)
        (self.target / "a.csv").write_bytes(b"altered")
        self.assertEqual(bulk("verify", "-k", self.key, "--exclude", "a.csv", self.target)[0], 0)
        self.assertEqual(bulk("verify", "-k", self.key, "--include", "a*", self.target)[0], 1)

    def test_a_list_of_names(self) -> None:
        self.make(TREE)
        names = self.folder / "names"
        names.write_text("a.csv\nb.tmp\nraw/c.csv\n")
        bulk("encrypt", "-k", self.key, "--names", names, "--include", "*.csv", self.source, self.target)
        self.assertEqual(sorted(self.files(self.target)), ["a.csv", "raw/c.csv"])

    def test_one_object(self) -> None:
        self.make(["a.csv"])
        self.assertIn(
            "exclude all", refusal("encrypt", "-k", self.key, "--include", "b", self.source / "a.csv", self.target)
        )
        bulk("encrypt", "-k", self.key, "--include", "a.*", self.source / "a.csv", self.target)
        self.assertEqual(list(self.files(self.target)), ["a.csv"])

    def test_other_patterns_need_a_new_listing(self) -> None:
        self.make(TREE)
        command = ["encrypt", "-k", self.key, self.source, self.target]
        bulk(*command, "--include", "*.csv")
        self.assertEqual(bulk(*command, "--include", "*.csv")[0], 0)
        for other in ([], ["--include", "*.tmp"], ["--include", "*.csv", "--exclude", "a*"]):
            self.assertIn("--update", refusal(*command, *other))
        status, report = bulk(*command, "--update", "--include", "*.tmp")
        self.assertEqual((status, report["objects"], report["run_objects"]), (0, 8, 2))
        self.assertEqual(bulk(*command, "--include", "*.tmp")[0], 0)
        self.assertEqual(bulk("verify", "-k", self.key, self.target)[1]["done"], 8)

    def test_the_originals_of_other_objects_stay(self) -> None:
        self.make(TREE)
        bulk("encrypt", "-k", self.key, "--remove-source", "--exclude", "*.tmp", self.source, self.target)
        self.assertEqual(sorted(self.files(self.source)), ["b.tmp", "raw/x/e.tmp"])

    def test_refusals(self) -> None:
        self.make(TREE)
        command = ["encrypt", "-k", self.key, self.source, self.target]
        self.assertIn("exclude all 9 objects", refusal(*command, "--exclude", "*"))
        self.assertFalse(self.files(self.target))
        self.assertIn("--include '[a'", refusal(*command, "--include", "[a"))
        self.assertIn("--share", refusal(*command, "--dry-run", "--share"))
        self.assertIn("--metrics", refusal(*command, "--dry-run", "--metrics", self.folder / "metrics"))
        bulk(*command)
        self.assertIn("--name", refusal("verify", "-k", self.key, "--name", "a.csv", "--include", "a*", self.target))
        self.assertIn("exclude all", refusal("verify", "-k", self.key, "--include", "nix", self.target))

    # ------------------------------------------------------------------------------------------------------ dry runs

    def test_a_dry_run_writes_nothing_and_says_what_the_job_then_does(self) -> None:
        self.make(TREE)
        options = [
            "-k",
            self.key,
            "--suffix",
            ".enc",
            "--exclude",
            "*.tmp",
            "--remove-source",
            self.source,
            self.target,
        ]
        for envelope in ([], ["--envelope", "job"], ["--envelope", "object"]):
            before = self.everything()
            status, report = bulk("encrypt", "--dry-run", *envelope, *options)
            self.assertEqual(status, 0, report)
            self.assertEqual(self.everything(), before)
        self.assertFalse(self.target.exists())
        self.assertTrue(report["dry_run"])
        self.assertIn("--remove-source would remove the originals at the end", report["notes"])
        planned = {each["source"]: each["target"] for each in report["first_objects"]}
        self.assertEqual(planned, {name: name + ".enc" for name in TREE if not name.endswith(".tmp")})
        self.assertEqual(report["bytes"], sum(len(name.encode()) for name in planned))
        status, done = bulk("encrypt", *options)
        self.assertEqual((status, done["run_objects"], done["run_bytes"]), (0, report["objects"], report["bytes"]))
        self.assertEqual(sorted(self.files(self.target)), sorted(planned.values()))

        back = self.folder / "back"
        before = self.everything()
        status, report = bulk("decrypt", "-n", "-k", self.key, "--suffix", ".enc", self.target, back)
        self.assertEqual((status, report["objects"]), (0, 7))
        self.assertEqual(self.everything(), before)

    def test_a_dry_run_of_a_job_that_goes_on(self) -> None:
        self.make(TREE)
        command = ["encrypt", "-k", self.key, self.source, self.target]
        bulk(*command)
        self.make(["new", "raw/new"])
        (self.source / "a.csv").write_bytes(b"changed")
        before = self.everything()
        status, report = bulk(*command, "--dry-run")
        self.assertEqual((status, report["objects"], report["done"]), (0, 0, 9))
        status, report = bulk(*command, "--dry-run", "--update")
        self.assertEqual([each["source"] for each in report["first_objects"]], ["new", "raw/new"])
        self.assertEqual((status, report["done"], report["errors"]), (1, 8, 1))
        self.assertIn("--overwrite", report["first_errors"][0]["error"])
        status, report = bulk(*command, "--dry-run", "--update", "--overwrite")
        self.assertEqual(
            (status, [each["source"] for each in report["first_objects"]]), (0, ["a.csv", "new", "raw/new"])
        )
        self.assertEqual(self.everything(), before)

    def test_a_dry_run_after_failures(self) -> None:
        self.make(TREE)
        command = ["encrypt", "-k", self.key, self.source, self.target]
        (self.target / "a.csv").mkdir(parents=True)
        self.assertEqual(bulk(*command)[0], 1)
        self.make(["new"])
        before = self.everything()
        for more, names in ([], ["a.csv"]), (["--update"], ["a.csv", "new"]):
            _, report = bulk(*command, "--dry-run", *more)
            self.assertEqual([each["source"] for each in report["first_objects"]], names)
        self.assertEqual(self.everything(), before)

    def test_a_dry_run_over_several_shards(self) -> None:
        self.make([f"{number:02}" for number in range(0, 40, 2)])
        command = ["encrypt", "-k", self.key, self.source, self.target]
        with unittest.mock.patch("warpaes.bulk.manifest.SHARD_ROWS", 4):
            (self.target / "06").mkdir(parents=True)
            bulk(*command)
            self.make([f"{number:02}" for number in range(1, 40, 4)])
            before = self.everything()
            _, report = bulk(*command, "--dry-run", "--update")
            self.assertEqual(self.everything(), before)
            (self.target / "06").rmdir()
            _, done = bulk(*command, "--update")
        self.assertEqual(done["run_objects"], report["objects"])
        self.assertEqual((done["errors"], report["objects"]), (0, 11), done["first_errors"])
        self.assertEqual((report["done"], report["errors"]), (19, 0))

    def test_a_dry_run_names_what_would_fail(self) -> None:
        self.make(["a", "b" * 250])
        status, report = bulk("encrypt", "-n", "-k", self.key, "--suffix", ".enc.enc", self.source, self.target)
        self.assertEqual((status, report["objects"], report["errors"]), (1, 1, 1))
        self.assertEqual(report["first_errors"][0]["key"], "b" * 250)

    def test_a_dry_run_in_words(self) -> None:
        self.make(["a\x1b]0;x\x07", "b"])
        out = io.StringIO()
        with redirect_stdout(out):
            status = cli.main(["encrypt", "-q", "-n", "-k", str(self.key), str(self.source), str(self.target)])
        self.assertEqual(status, 0)
        self.assertNotIn("\x1b", out.getvalue())
        self.assertIn("  b -> b (1 B)\n", out.getvalue())
        self.assertIn("2 objects to process", out.getvalue())
        self.assertIn("nothing was written", out.getvalue())

    def test_a_dry_run_refuses_what_the_job_refuses(self) -> None:
        self.make(TREE)
        options = ["-k", self.key, self.source, self.target]
        bulk("encrypt", *options)
        self.assertIn(
            "is encrypted under", refusal("encrypt", "-n", "-k", self.key2, "-k", self.key, self.source, self.target)
        )
        self.assertIn(
            "not saved under any of the given keys",
            refusal("decrypt", "-n", "-k", self.key2, self.target, self.folder / "back"),
        )
        self.assertIn("the same", refusal("decrypt", "-n", "-k", self.key, self.target, self.target))


class Same(Case):
    """The command's directories and bulk skip the same files."""

    def test_random_patterns(self) -> None:
        program = os.environ.get("WARPAES")
        if not program:
            self.skipTest("the command is not built")
        for name in TREE:
            (self.source / name).parent.mkdir(parents=True, exist_ok=True)
            (self.source / name).write_bytes(b"x")
        generator = random.Random(4)
        words = [
            "*",
            "*.csv",
            "raw",
            "raw/",
            "x",
            "*/x",
            "?.*",
            "[!a]*",
            "[a-c].csv",
            "\\[h\\].csv",
            ".git",
            "raw/x/*",
            "sub/*",
        ]
        for number in range(25):
            patterns = generator.sample(words[1:], generator.randrange(1, 4))
            with self.subTest(patterns):
                options = [
                    word for pattern in patterns for word in (generator.choice(["--include", "--exclude"]), pattern)
                ]
                one, other = self.folder / f"command{number}", self.folder / f"bulk{number}"
                subprocess.run(
                    [program, "encrypt", "-q", "-k", str(self.key), "--output-dir", str(one), *options, "."],
                    cwd=self.source, check=False, capture_output=True,
                )  # fmt: skip
                bulk("encrypt", "-k", self.key, *options, self.source, other)
                made = [path.relative_to(one).as_posix() for path in one.rglob("*") if path.is_file()]
                self.assertEqual(sorted(made), sorted(name + ".warpaes" for name in self.files(other)))


class Stores(StoreCase):
    def test_a_dry_run_asks_and_writes_nothing(self) -> None:
        client = self.store.client
        for name in TREE:
            client.put_object(Bucket="bucket", Key="source/" + name, Body=name.encode())

        def listed() -> list[tuple[str, str]]:
            return [(each["Key"], each["ETag"]) for each in client.list_objects_v2(Bucket="bucket")["Contents"]]

        before = listed()
        options = ["-k", self.key, "--include", "raw/", "s3://bucket/source", "s3://bucket/target"]
        status, report = bulk("encrypt", "-n", *options)
        self.assertEqual((status, report["objects"]), (0, 4))
        self.assertEqual(listed(), before)
        status, report = bulk("encrypt", *options)
        self.assertEqual((status, report["run_objects"]), (0, 4))


if __name__ == "__main__":
    unittest.main()
