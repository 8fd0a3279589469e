"""Tests datasets of `warpaes bulk` with encrypted names (--encrypt-names)."""

from __future__ import annotations

import base64
import json
import os
import pathlib
import pickle
import shutil
import sys
import threading
import unittest
import unittest.mock
from collections.abc import Iterator
from typing import Any

import warpaes
from bulk_case import Case, StoreCase, bulk, refusal, said_by
from support import needed
from warpaes.bulk import cli, commands, keys, local, manifest, names, storage, stores, worker
from warpaes.exceptions import FormatError, InvalidTag
from warpaes.fs import WarpaesFileSystem
from warpaes.names import EncryptedNames

HOW = ((), ("--envelope", "job"), ("--envelope", "object"))
#: Every part of a name or path contains a unique word.
TREE = [
    "zebra.csv",
    "yakyak/xerus.csv",
    "yakyak/walrus/volevole.csv",
    "yakyak/walrus/uakari",
    "tapir/" + "s" * 200 + "lemurlemur",
]
WORDS = (
    b"zebra",
    b"yakyak",
    b"xerus",
    b"walrus",
    b"volevole",
    b"uakari",
    b"tapir",
    b"ssssss",
    b"lemurlemur",
    b"plain-source",
)


def oracle() -> Any:
    """Return the second implementation of encrypted names."""
    needed("cryptography")
    sys.path.append(str(pathlib.Path(__file__).parents[1] / "cli"))
    import names_oracle

    return names_oracle


class Named(Case):
    def setUp(self) -> None:
        super().setUp()
        self.source = self.folder / "plain-source"
        self.back = self.folder / "back"

    def make(self, tree: list[str] = TREE) -> dict[str, bytes]:
        content = {name: (name[-9:] * 30).upper().encode() for name in tree}
        for name, data in content.items():
            (self.source / name).parent.mkdir(parents=True, exist_ok=True)
            (self.source / name).write_bytes(data)
        return content

    def encrypt(self, *more: str, target: pathlib.Path | None = None) -> tuple[int, dict[str, Any]]:
        return bulk("encrypt", "-k", self.key, "--encrypt-names", *more, self.source, target or self.target)

    def decrypted(self, *more: str, key: pathlib.Path | None = None) -> dict[str, bytes]:
        shutil.rmtree(self.back, ignore_errors=True)
        status, report = bulk("decrypt", "-k", key or self.key, *more, self.target, self.back)
        self.assertEqual((status, report["errors"]), (0, 0), report)
        return self.files(self.back)

    def lost(self, key: pathlib.Path) -> tuple[str, ...]:
        """Remove the manifest and return the options that name the dataset."""
        dataset = self.load(self.target, key).dataset
        shutil.rmtree(self.target / manifest.SHARDS)
        (self.target / manifest.NAME).unlink()
        return "--dataset", dataset

    def names(self, key: pathlib.Path | None = None) -> EncryptedNames:
        there = self.load(self.target, key or self.key)
        assert there.names is not None
        return there.names.names

    def stored(self, name: str, key: pathlib.Path | None = None) -> pathlib.Path:
        return self.target / self.names(key).encrypt(name)

    def seen(self) -> Iterator[bytes]:
        """Yield all paths and contents in the target."""
        for path in self.target.rglob("*"):
            yield os.fsencode(path.relative_to(self.target))
            if path.is_file():
                yield path.read_bytes()


class Objects(Named):
    def test_nothing_in_the_target_shows_a_name(self) -> None:
        content = self.make()
        (self.source / "tapir/lemming").write_bytes(b"left out")
        for how in HOW:
            for more in ((), ("--suffix", ".enc"), ("--verify",)):
                with self.subTest(how=how, more=more):
                    status, report = self.encrypt(*how, *more, "--exclude", "lemming")
                    self.assertEqual((status, report["objects"]), (0, len(TREE)), report)
                    self.check_hidden()
                    suffix = more[1:] and ("--suffix", ".enc")
                    self.assertEqual(self.decrypted(*suffix), content)
                    self.assertEqual(bulk("verify", "-k", self.key, self.target)[0], 0)
                    shutil.rmtree(self.target)

    def check_hidden(self) -> None:
        for found in self.seen():
            for word in (*WORDS, b"lemming", b".enc"):
                self.assertNotIn(word, found)

    def test_names_have_the_format_of_the_command(self) -> None:
        encrypt_path = oracle().encrypt_path
        self.make()
        self.encrypt("--envelope", "object")
        there = self.load(self.target, self.key)
        assert there.names is not None
        objects = {os.fsdecode(encrypt_path(there.names.key, os.fsencode(name))) for name in TREE}
        records = {os.fsdecode(encrypt_path(there.names.key, os.fsencode(name + ".warpaes-key"))) for name in TREE}
        self.assertEqual(set(self.files(self.target)), objects | records)

    def test_every_step_of_a_life(self) -> None:
        content = self.make()
        for how in HOW:
            with self.subTest(how):
                self.assertEqual(self.encrypt(*how)[0], 0)
                (self.source / "new").mkdir(exist_ok=True)
                (self.source / "new/quokka").write_bytes(b"Q")
                content["new/quokka"] = b"Q"
                status, report = self.encrypt(*how, "--update")
                self.assertEqual((status, report["run_objects"]), (0, 1))
                self.assertEqual(self.decrypted(), content)
                before = set(self.files(self.target))
                status, report = bulk("rekey", "-k", self.key, "--new-key", self.key2, *how, self.target)
                self.assertEqual((status, report["errors"]), (0, 0), report)
                self.assertIn("names key stays the same", " ".join(report["notes"]))
                self.assertEqual(set(self.files(self.target)), before)
                self.assertIn("not saved under any of the given keys", refusal("verify", "-k", self.key, self.target))
                self.assertEqual(self.decrypted(key=self.key2), content)
                if how:
                    status, report = bulk("rewrap", "-k", self.key2, "--new-key", self.key, self.target)
                    self.assertEqual((status, report["errors"]), (0, 0), report)
                    self.assertEqual(self.decrypted(), content)
                self.check_hidden()
                (self.source / "new/quokka").unlink()
                del content["new/quokka"]
                shutil.rmtree(self.target)

    def test_the_old_key_opens_no_record_after_a_rekey_and_a_rewrap(self) -> None:
        self.make()
        old = [self.spec(self.key)]
        for command, how in (("rekey", ()), ("rekey", HOW[2]), ("rewrap", HOW[1]), ("rewrap", HOW[2])):
            with self.subTest(command=command, how=how):
                self.encrypt(*how)
                more = how if command == "rekey" else ()
                self.assertEqual(bulk(command, "-k", self.key, "--new-key", self.key2, *more, self.target)[0], 0)
                root = json.loads((self.target / manifest.NAME).read_text().splitlines()[0])
                beside = json.loads((self.target / keys.NAMES_PLACE).read_text())
                self.assertEqual(root["names_key"], beside)
                with self.assertRaises(storage.PermanentError):
                    keys.unwrap(old, beside)
                shutil.rmtree(self.target)

    @staticmethod
    def spec(path: pathlib.Path) -> keys.KeySource:
        return keys.KeySpec.read(str(path)).open()

    def test_a_run_that_died(self) -> None:
        content = self.make()
        for how in HOW:
            with self.subTest(how):
                self.encrypt(*how)
                self.forget(self.target, self.key)
                status, report = self.encrypt(*how)
                self.assertEqual((status, report["adopted"]), (0, len(TREE)), report)
                self.assertEqual(self.decrypted(), content)
                shutil.rmtree(self.target)

    def test_a_rekey_that_died(self) -> None:
        content = self.make()
        for how in HOW:
            with self.subTest(how):
                self.encrypt(*how)
                victim, kept = self.stored("zebra.csv"), self.folder / "kept"
                victim.rename(kept)
                words = ("rekey", "-k", self.key, "--new-key", self.key2, *how, self.target)
                status, report = bulk(*words)
                self.assertEqual((status, report["errors"]), (1, 1))
                self.assertEqual(report["first_errors"][0]["key"], "zebra.csv")
                kept.rename(victim)
                self.assertEqual(bulk(*words)[0], 0)
                self.assertEqual(self.decrypted(key=self.key2), content)
                shutil.rmtree(self.target)

    def test_temporary_files_of_dead_runs(self) -> None:
        self.make()
        self.encrypt("--envelope", "object")
        mine = self.stored("yakyak/xerus.csv")
        record = self.stored("yakyak/xerus.csv.warpaes-key")
        left = [path.parent / local._temporary(path.name, "0" * 32) for path in (mine, record)]
        foreign = mine.parent / local._temporary("a" * 40, "0" * 32)
        for path in (*left, foreign):
            path.write_bytes(b"half")
        (self.source / "new").write_bytes(b"x")
        status, report = self.encrypt("--envelope", "object", "--update")
        self.assertEqual((status, report["parts_swept"]), (0, 2), report)
        self.assertEqual([path.exists() for path in (*left, foreign)], [False, False, True])

    def test_temporary_files_of_long_names(self) -> None:
        """The names of temporary files have at most 143 bytes, as eCryptfs requires, so they contain only part of an
        object's name."""
        long = "yakyak/" + "l" * 60
        self.make([*TREE, long, long + "2"])
        self.encrypt("--envelope", "object")
        mine = [self.stored(name + suffix) for name in (long, TREE[-1]) for suffix in ("", ".warpaes-key")]
        left = [path.parent / local._temporary(path.name, "0" * 32) for path in mine]
        self.assertEqual([path.name for path in left if len(path.name) > 143], [])
        elsewhere = self.target / ("q" * 40) / local._temporary("a" * 140, "0" * 32)
        elsewhere.parent.mkdir()
        for path in (*left, elsewhere):
            path.write_bytes(b"half")
        (self.source / "new").write_bytes(b"x")
        status, report = self.encrypt("--envelope", "object", "--update")
        self.assertEqual((status, report["parts_swept"]), (0, 4), report)
        self.assertEqual([path.exists() for path in (*left, elsewhere)], [False] * 4 + [True])

    def test_the_order_of_writes_is_not_that_of_names(self) -> None:
        names = [f"badger/{number:03}" for number in range(100)]
        self.make(names)
        written: list[str] = []
        for command in ("encrypt", "rekey"):
            written.clear()
            with unittest.mock.patch.object(
                worker.Worker, f"_{command}", lambda its, number, row, share: written.append(row.key) or {}
            ):
                if command == "encrypt":
                    self.encrypt("--threads", "1")
                else:
                    bulk("rekey", "--threads", "1", "-k", self.key, "--new-key", self.key2, self.target)
            self.assertEqual(sorted(written), names)
            self.assertTrue(written != names, "objects were written in the order of their names")

    def test_workers_and_drivers(self) -> None:
        content = self.make([f"badger/{i:03}" for i in range(60)])
        reports: list[dict[str, Any]] = []
        words = ["encrypt", "-q", "--threads", "1", "-k", self.key, "--encrypt-names", "--share", *HOW[2]]
        real, barrier = worker.Worker._encrypt, threading.Barrier(2)

        def together(self: Any, number: int, row: Any, share: Any) -> Any:
            if not hasattr(self, "has_met"):  # with its first object, each driver waits for the other driver
                self.has_met = True
                barrier.wait(60)
            return real(self, number, row, share)

        def run() -> None:
            parsed = cli.make_parser().parse_args([*map(str, words), str(self.source), str(self.target)])
            reports.append(commands.make_run(cli.options_of(parsed)).run())

        with (
            unittest.mock.patch.object(manifest, "SHARD_ROWS", 4),
            unittest.mock.patch.object(worker.Worker, "_encrypt", together),
        ):
            drivers = [threading.Thread(target=run) for _ in range(2)]
            for driver in drivers:
                driver.start()
            for driver in drivers:
                driver.join()
        self.assertEqual([report["errors"] for report in reports], [0, 0], reports)
        self.assertEqual(sum(report["run_objects"] for report in reports), 60)
        self.assertGreater(min(report["run_objects"] for report in reports), 0)
        self.assertEqual(self.decrypted("--workers", "2"), content)

    def test_objects_by_their_plain_names(self) -> None:
        content = self.make()
        self.encrypt("--envelope", "job")
        status, report = bulk("verify", "-k", self.key, "--name", "yakyak/xerus.csv", self.target)
        self.assertEqual((status, report["objects"]), (0, 1))
        self.assertIn(
            "does not contain",
            refusal("verify", "-k", self.key, "--name", self.names().encrypt("zebra.csv"), self.target),
        )
        listed = self.folder / "names"
        listed.write_text("yakyak/xerus.csv\nzebra.csv\n")
        wanted = {name: content[name] for name in ("yakyak/xerus.csv", "zebra.csv")}
        self.assertEqual(self.decrypted("--names", str(listed)), wanted)
        wanted = {name: data for name, data in content.items() if name.startswith("yakyak/walrus/")}
        self.assertEqual(self.decrypted("--include", "walrus/"), wanted)
        wanted = {name: data for name, data in content.items() if name.startswith("yakyak/") and "walrus" not in name}
        self.assertEqual(self.decrypted("--include", "yakyak", "--exclude", "walrus"), wanted)
        status, report = bulk("verify", "-k", self.key, "--exclude", "*.csv", self.target)
        self.assertEqual((status, report["objects"]), (0, 2))

    def test_list_and_status(self) -> None:
        self.make()
        self.encrypt()
        status, report = bulk("list", "-k", self.key, self.target)
        self.assertEqual((status, [each["name"] for each in report["names"]]), (0, sorted(TREE)))
        for each in report["names"]:
            self.assertTrue((self.target / each["stored"]).is_file())
        status, report = bulk("list", "-k", f"dataset:{self.key}", "--include", "walrus", self.target)
        self.assertEqual(
            [each["name"] for each in report["names"]], ["yakyak/walrus/uakari", "yakyak/walrus/volevole.csv"]
        )
        self.assertIn("is the dataset", refusal("list", "-k", f"dataset:id={'0' * 32};{self.key}", self.target))
        status, report = bulk("status", "-k", self.key, self.target)
        self.assertTrue(report["encrypted_names"])
        self.assertEqual((report["source"], report["objects"]), (str(self.source), len(TREE)))
        self.assertIn("pass its key with -k", refusal("status", self.target))
        plain = self.folder / "plain"
        bulk("encrypt", "-k", self.key, self.source, plain)
        status, report = bulk("list", "-k", self.key, plain)
        self.assertEqual([each["stored"] for each in report["names"]], sorted(TREE))
        self.assertIn("not encrypted", refusal("list", "-k", self.key, "--encrypted-names", plain))

    def test_names_that_cannot_be_encrypted(self) -> None:
        content = self.make(["a", "b" * 255, "c/" * 40 + "c", "d\n\x1be", "\u00e9 f", ".warpaes-key", "x-", "-"])
        os.close(os.open(os.fsencode(self.source) + b"/g\xff", os.O_CREAT | os.O_WRONLY))
        self.make([".warpaes-bulk/own"])
        status, report = self.encrypt()
        self.assertEqual((status, report["errors"]), (1, 1), report)
        self.assertIn("UTF-8", report["first_errors"][0]["error"])
        shutil.rmtree(self.back, ignore_errors=True)
        self.assertEqual(bulk("decrypt", "-k", self.key, self.target, self.back)[0], 1)
        self.assertEqual(self.files(self.back), content)

    def test_a_tree_too_deep_for_its_encrypted_names(self) -> None:
        deep = "/".join(["e" * 200] * 15)
        self.make(["a"])
        listed = self.folder / "names"
        listed.write_text("a\n" + deep + "\n../up\nb//c\n/d\n./a\n")
        status, report = self.encrypt("--names", str(listed))
        self.assertEqual((status, report["done"], report["errors"]), (1, 1, 5), report)
        said = {each["key"]: each["error"] for each in report["first_errors"]}
        self.assertEqual(
            sorted(p.name for p in self.folder.iterdir()), ["key.json", "key2.json", "names", "plain-source", "target"]
        )
        self.assertEqual(len(said), 5)

    def test_dry_run(self) -> None:
        self.make()
        status, report = self.encrypt("--dry-run")
        self.assertEqual((status, report["objects"]), (0, len(TREE)))
        self.assertFalse(self.target.exists())

    def test_options_that_contradict(self) -> None:
        self.make()
        plain, kek = self.folder / "plain", self.folder / "kek"
        bulk("encrypt", "-k", self.key, self.source, plain)
        before = (plain / manifest.NAME).read_bytes()
        self.assertIn("not encrypted", refusal("encrypt", "-k", self.key, "--encrypt-names", self.source, plain))
        for command in ("verify", "decrypt"):
            words = (plain, self.back)[: 2 if command == "decrypt" else 1]
            self.assertIn("not encrypted", refusal(command, "-k", self.key, "--encrypted-names", *words))
        self.assertEqual((plain / manifest.NAME).read_bytes(), before)
        self.assertEqual(json.loads(before.splitlines()[0])["format"], "warpaes bulk manifest 2")
        self.assertFalse((plain / keys.NAMES_PLACE).exists())
        self.encrypt()
        self.assertIn("--encrypt-names", refusal("encrypt", "-k", self.key, self.source, self.target))
        self.assertIn("encrypted dataset", refusal("encrypt", "-k", self.key, self.target, self.folder / "twice"))
        self.assertEqual(bulk("verify", "-k", self.key, "--encrypted-names", self.target)[0], 0)
        in_place = ("encrypt", "-k", self.key, "--encrypt-names", "--suffix", ".e", self.source, self.source)
        self.assertIn("the same", refusal(*in_place))
        kek.write_bytes(bytes(32))
        self.assertIn("--envelope", refusal("encrypt", "-k", kek, "--encrypt-names", self.source, self.folder / "t2"))

    def test_originals_are_removed_only_if_they_lie_in_the_target(self) -> None:
        content = self.make()
        status, _ = self.encrypt("--remove-source")
        self.assertEqual((status, self.files(self.source)), (0, {}))
        self.assertEqual(self.decrypted(), content)

    def test_parquet_files_show_no_name(self) -> None:
        import pyarrow
        import pyarrow.parquet

        (self.source / "yakyak").mkdir(parents=True)
        pyarrow.parquet.write_table(pyarrow.table({"x": range(100)}), self.source / "yakyak/xerus.parquet")
        self.assertEqual(self.encrypt("--envelope", "object", "--template", "AES256_GCM_PARQUET")[0], 0)
        self.check_hidden()
        files = WarpaesParquet(self.key)
        with files.open(f"{self.target}/yakyak/xerus.parquet") as file:
            self.assertEqual(len(pyarrow.parquet.read_table(file)), 100)
        self.assertEqual(files.ls(f"{self.target}/yakyak", detail=False), [f"{self.target}/yakyak/xerus.parquet"])
        self.assertEqual(len(self.decrypted()), 1)


def WarpaesParquet(key: pathlib.Path) -> Any:  # noqa: N802
    from warpaes.parquet._fs import ParquetFileSystem

    return ParquetFileSystem(f"dataset:{key}", target_protocol="file")


class Hostile(Named):
    """Tests where the test acts as anyone who can write to the target."""

    def setUp(self) -> None:
        super().setUp()
        self.all = self.make()

    def test_objects_under_other_names(self) -> None:
        one, two, far = "yakyak/walrus/volevole.csv", "yakyak/walrus/uakari", "zebra.csv"
        for how in HOW:
            for act in ("swap", "move", "folder", "copy"):
                with self.subTest(how=how, act=act):
                    self.encrypt(*how)
                    a, b, c = (self.stored(name) for name in (one, two, far))
                    if act == "swap":
                        data = a.read_bytes()
                        a.write_bytes(b.read_bytes())
                        b.write_bytes(data)
                        wrong = {one, two}
                    elif act == "move":
                        a.rename(c)
                        wrong = {one, far}
                    elif act == "folder":  # moves the name to a different folder
                        b.rename(self.target / b.name)
                        wrong = {two}
                    else:
                        c.write_bytes(a.read_bytes())
                        wrong = {far}
                    for command, words in (("verify", ()), ("decrypt", (self.back,))):
                        shutil.rmtree(self.back, ignore_errors=True)
                        status, report = bulk(command, "-k", self.key, self.target, *words)
                        self.assertEqual(
                            (
                                status,
                                {each["key"].replace(str(self.stored(one).name), "") for each in report["first_errors"]}
                                and report["errors"],
                            ),
                            (1, len(wrong)),
                            report,
                        )
                    good = {name: data for name, data in self.all.items() if name not in wrong}
                    self.assertEqual(self.files(self.back), good)
                    for name in wrong:
                        with self.assertRaises((InvalidTag, FormatError, FileNotFoundError)):
                            warpaes.open(self.target / name, keyset=f"dataset:{self.key}")
                    shutil.rmtree(self.target)

    def test_planted_names(self) -> None:
        """Names that do not decrypt are errors in every listing of a tree, and nothing is written under such names."""
        self.encrypt()
        names = self.names()
        other = EncryptedNames(warpaes.Keyset.generate())
        planted = {
            "plain": "plain",
            "another key": other.encrypt("zebra.csv"),
            "another folder": names.encrypt("yakyak/xerus.csv").rpartition("/")[2],
            "upper case": names.encrypt("zebra.csv").upper(),
            "cut": names.encrypt("zebra.csv")[:-1],
            "in a plain folder": "folder/" + names.encrypt("zebra.csv"),
        }
        for name in planted.values():
            (self.target / name).parent.mkdir(exist_ok=True)
            (self.target / name).write_bytes(self.stored("zebra.csv").read_bytes())
        self.assertEqual(self.decrypted(), self.all)  # the manifest does not contain the planted objects
        files = WarpaesFileSystem(f"dataset:{self.key}", target_protocol="file")
        with self.assertRaises((InvalidTag, FormatError)):
            files.ls(str(self.target))
        status, report = bulk("rekey", "-k", self.key, "--new-key", self.key2, self.target)
        self.assertEqual((status, report["errors"]), (1, len(planted)))
        self.assertEqual({each["key"] for each in report["first_errors"]}, set(planted.values()))
        more = (*self.lost(self.key2), "--encrypted-names", "--no-manifest")
        shutil.rmtree(self.back)
        for command, words in (("verify", ()), ("decrypt", (self.back,))):
            status, report = bulk(command, "-k", self.key2, *more, self.target, *words)
            self.assertEqual((status, report["errors"]), (1, len(planted)), report)
            for each in report["first_errors"]:
                self.assertIn("is not an encrypted name in this dataset", each["error"])
        self.assertEqual(self.files(self.back), self.all)

    def test_a_lost_manifest(self) -> None:
        for how in HOW:
            with self.subTest(how):
                self.encrypt(*how)
                dataset = self.lost(self.key)
                self.assertIn("no manifest", refusal("verify", "-k", self.key, *dataset, self.target))
                for command in ("verify", "adopt"):
                    no = ("--no-manifest",) if command == "verify" else ()
                    refused = refusal(command, "-k", self.key, *dataset, *no, self.target)
                    self.assertIn("add --encrypted-names", refused)
                more = ("--encrypted-names", *dataset)
                self.assertEqual(self.decrypted("--no-manifest", *more), self.all)
                status, report = bulk("adopt", "-k", self.key, *more, self.target)
                self.assertEqual((status, report["done"], report["errors"]), (0, len(TREE), 0), report)
                self.assertEqual(self.load(self.target, self.key).dataset, dataset[1])
                self.assertEqual(self.decrypted(), self.all)
                self.assertEqual(
                    {each["name"] for each in bulk("list", "-k", self.key, self.target)[1]["names"]}, set(TREE)
                )
                self.assertEqual(bulk("rekey", "-k", self.key, "--new-key", self.key2, *how, self.target)[0], 0)
                self.assertEqual(self.decrypted(key=self.key2), self.all)
                shutil.rmtree(self.target)

    def test_encryption_over_a_dataset_that_lost_its_manifest(self) -> None:
        """The record of the names key may be the only copy of the key."""
        self.encrypt()
        dataset = self.lost(self.key)
        record = (self.target / keys.NAMES_PLACE).read_bytes()
        for more in (("--encrypt-names",), (), ("--encrypt-names", "--dry-run"), ("--encrypt-names", "--overwrite")):
            with self.subTest(more):
                said = refusal("encrypt", "-k", self.key, *more, self.source, self.target)
                self.assertIn("lost its manifest", said)
                self.assertEqual((self.target / keys.NAMES_PLACE).read_bytes(), record)
                self.assertFalse((self.target / manifest.NAME).exists())
        self.assertEqual(bulk("adopt", "-k", self.key, "--encrypted-names", *dataset, self.target)[0], 0)
        self.assertEqual(self.decrypted(), self.all)

    def test_adopt_refuses_names_of_elsewhere(self) -> None:
        self.encrypt()
        stored = self.stored("yakyak/xerus.csv")
        stored.rename(self.target / stored.name)
        more = ("--encrypted-names", *self.lost(self.key))
        status, report = bulk("adopt", "-k", self.key, *more, self.target)
        self.assertEqual((status, report["errors"]), (1, 1), report)
        self.assertIn("is not an encrypted name in this dataset", report["first_errors"][0]["error"])
        del self.all["yakyak/xerus.csv"]
        self.assertEqual(bulk("decrypt", "-k", self.key, self.target, self.back)[0], 1)
        self.assertEqual(self.files(self.back), self.all)

    def test_objects_that_adopt_refused(self) -> None:
        """No listing contains these objects. Readers refuse them, because the manifest does not contain them."""
        altered, lost = "zebra.csv", "yakyak/xerus.csv"
        for how in HOW:
            with self.subTest(how):
                self.encrypt(*how)
                path = self.stored(altered)
                path.write_bytes(path.read_bytes()[:-1])
                self.stored(lost).unlink()
                more = ("--encrypted-names", *self.lost(self.key))
                self.assertEqual(bulk("adopt", "-k", self.key, *more, self.target)[0], 1)
                _, report = bulk("list", "-k", self.key, self.target)
                self.assertEqual({each["name"] for each in report["names"]}, {*TREE} - {altered, lost})
                for name in (altered, lost, f"{lost}.warpaes-key"):
                    with self.assertRaises(InvalidTag):
                        warpaes.open(self.target / name, keyset=f"dataset:{self.key}")
                shutil.rmtree(self.target)

    def test_authentic_names_that_lead_elsewhere(self) -> None:
        """Holders of the names key can create such names, but no command follows them."""
        self.encrypt()
        there = self.load(self.target, self.key)
        assert there.names is not None
        cipher = oracle().siv(there.names.key)
        data = self.stored("zebra.csv").read_bytes()
        for name in (b"..", b".", b"", b"a/b", b"/etc/x", b"a\0b"):
            text = base64.b32hexencode(cipher.encrypt(name, [b"/"]))
            (self.target / text.rstrip(b"=").lower().decode()).write_bytes(data)
        own = names.NamedStorage(stores.open_storage(str(self.target)), there.names.names)
        self.assertEqual({each.key for each in own.list() if not each.key.startswith(storage.FOLDER)}, set(TREE))
        self.assertEqual(len(own.strangers), 6)
        for stored in own.strangers:
            with self.assertRaises((InvalidTag, FormatError)):
                own.plain(stored)
        more = ("--encrypted-names", "--no-manifest", *self.lost(self.key))
        status, report = bulk("decrypt", "-k", self.key, *more, self.target, self.back)
        self.assertEqual((status, report["errors"]), (1, 6), report)
        self.assertEqual(self.files(self.back), self.all)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()),
                         ["back", "key.json", "key2.json", "plain-source", "target"])  # fmt: skip

    def test_names_that_lead_into_bulks_own_folder(self) -> None:
        self.encrypt()
        there = self.load(self.target, self.key)
        assert there.names is not None
        stored = there.names.names.encrypt(".warpaes-bulk/manifest.jsonl")
        (self.target / stored).parent.mkdir(exist_ok=True)
        (self.target / stored).write_bytes(self.stored("zebra.csv").read_bytes())
        own = names.NamedStorage(stores.open_storage(str(self.target)), there.names.names)
        self.assertIn(stored, [*own.list()] and own.strangers)

    def test_the_record_of_the_names_key(self) -> None:
        self.encrypt("--envelope", "object")
        place = self.target / keys.NAMES_PLACE
        good = place.read_bytes()
        other = self.folder / "other"
        self.encrypt("--envelope", "object", target=other)
        foreign = (other / keys.NAMES_PLACE).read_bytes()
        of_an_object = self.stored("zebra.csv.warpaes-key").read_bytes()
        more = ("--encrypted-names", "--no-manifest", *self.lost(self.key))
        for text, status in ((b"", 2), (b"{}", 2), (b"[" * 9999, 2), (foreign, 2), (of_an_object, 2), (good, 0)):
            with self.subTest(text[:20]):
                place.write_bytes(text)
                self.assertEqual(said_by("verify", "-k", self.key, *more, self.target)[0], status)
        place.unlink()
        self.assertIn("is missing", refusal("verify", "-k", self.key, *more, self.target))
        place.write_bytes(foreign)  # without --dataset, names under a different key do not decrypt
        status, report = bulk("verify", "-k", self.key, "--encrypted-names", "--no-manifest", self.target)
        self.assertEqual((status, report["errors"]), (1, 2 * len(TREE)))
        place.unlink()
        place.symlink_to(self.key)
        self.assertEqual(said_by("verify", "-k", self.key, *more, self.target)[0], 2)

    def test_the_names_key_opens_no_object(self) -> None:
        """The names key outlives a rekey, so its record must not be accepted as the record of an object's key."""
        self.encrypt("--envelope", "object")
        there = self.load(self.target, self.key)
        assert there.names is not None
        bulk("rekey", "-k", self.key, "--new-key", self.key2, "--envelope", "object", self.target)
        name = there.names.names.encrypt("zebra.csv")
        dataset = self.lost(self.key2)[1]
        keyset = warpaes.Keyset.from_raw(names.TEMPLATE, there.names.key)
        bound = keys.name_data(dataset, name)
        with warpaes.open(self.target / name, "wb", keyset=keyset, associated_data=bound) as file:
            file.write(b"forged")
        record = (self.target / keys.NAMES_PLACE).read_bytes()
        (self.target / there.names.names.encrypt("zebra.csv.warpaes-key")).write_bytes(record)
        for more in ((), ("--dataset", dataset)):
            with self.subTest(more):
                status, report = bulk(
                    "decrypt", "-k", self.key2, "--encrypted-names", "--no-manifest", *more, self.target, self.back
                )
                self.assertEqual(status, 1, report)
                self.assertNotIn("zebra.csv", self.files(self.back))
                shutil.rmtree(self.back)

    def test_the_names_key_is_not_adopted(self) -> None:
        """The names key's record is not even accepted as the shared key of all objects, with names that are not bound
        to a dataset."""
        self.encrypt()
        there = self.load(self.target, self.key)
        assert there.names is not None
        bulk("rekey", "-k", self.key, "--new-key", self.key2, self.target)
        self.lost(self.key2)
        name, record = there.names.names.encrypt("zebra.csv"), json.loads((self.target / keys.NAMES_PLACE).read_bytes())
        keyset = warpaes.Keyset.from_raw(names.TEMPLATE, there.names.key)
        with warpaes.open(self.target / name, "wb", keyset=keyset, associated_data=name.encode()) as file:
            file.write(b"forged")
        planted = self.target / keys.record_name(record["key_id"])
        planted.parent.mkdir()
        planted.write_text(json.dumps(record))
        self.assertIn("names key", refusal("adopt", "-k", self.key2, "--encrypted-names", self.target))
        planted.unlink()
        status, report = bulk("adopt", "-k", self.key2, "--encrypted-names", self.target)
        self.assertEqual((status, report["done"], report["errors"]), (1, 0, len(TREE)), report)

    def test_altered_roots_and_shards(self) -> None:
        self.encrypt()
        path = self.target / manifest.NAME
        good = path.read_bytes()
        text, code = good.splitlines()
        root = json.loads(text)
        other = self.folder / "other"
        self.encrypt(target=other)
        foreign = json.loads((other / manifest.NAME).read_bytes().splitlines()[0])
        for change in (
            {"format": manifest.FORMAT},
            {"sealed": foreign["sealed"]},
            {"names_key": foreign["names_key"]},
            {"names_key": {}},
            {"sealed": ""},
            {"sealed": 7},
            {"names_key": None, "format": manifest.FORMAT, "job": {}, "shards": []},
        ):
            with self.subTest(change):
                path.write_bytes(json.dumps({**root, **change}, separators=(",", ":")).encode() + b"\n" + code + b"\n")
                self.assertEqual(said_by("verify", "-k", self.key, self.target)[0], 2)
        path.write_bytes(good)
        there = self.load(self.target, self.key)
        shard = self.target / there.shards[0].file
        data = shard.read_bytes()
        for altered in (
            data[:-1],
            data[:50] + bytes([data[50] ^ 1]) + data[51:],
            b"",
            (other / self.load(other, self.key).shards[0].file).read_bytes(),
        ):
            shard.write_bytes(altered)
            status, said = said_by("verify", "-k", self.key, self.target)
            self.assertNotEqual(status, 0)
            self.assertIn("not authentic", said)
        shard.write_bytes(data)
        self.assertEqual(bulk("verify", "-k", self.key, self.target)[0], 0)

    def test_an_authentic_root_with_parts_of_other_kinds(self) -> None:
        """A holder of the key saved this root. The command must print a message rather than a traceback."""
        self.encrypt()
        there = self.load(self.target, self.key)
        assert there.names is not None and there.signer is not None
        root = json.loads(there._root().splitlines()[0])
        for content in (b"", b"[]", b"{}", b'{"job": 1, "shards": 2}', b'{"job": {}, "shards": [{}]}', b"\xff"):
            with self.subTest(content):
                sealed = base64.b64encode(there.names.seal(content, "root")).decode()
                text = json.dumps({**root, "sealed": sealed}).encode()
                line = manifest._code_line(there.signer.code(text))
                (self.target / manifest.NAME).write_bytes(text + b"\n" + line)
                self.assertIn("is not a warpaes bulk manifest", refusal("verify", "-k", self.key, self.target))
        text = json.dumps({**root, "sealed": base64.b64encode(there.names.seal(b"{}", "shard")).decode()}).encode()
        (self.target / manifest.NAME).write_bytes(text + b"\n" + manifest._code_line(there.signer.code(text)))
        self.assertIn("is not a warpaes bulk manifest", refusal("verify", "-k", self.key, self.target))

    def test_a_dataset_moved_elsewhere(self) -> None:
        self.encrypt()
        moved = self.folder / "moved"
        self.target.rename(moved)
        self.assertIn("--dataset", refusal("verify", "-k", self.key, moved))
        dataset = self.load(moved, self.key).dataset
        self.assertEqual(bulk("verify", "-k", self.key, "--dataset", dataset, moved)[0], 0)


class Readers(Named):
    """Other programs read the dataset by a single path and a single key place."""

    def setUp(self) -> None:
        super().setUp()
        self.all = self.make()

    def files_of(self, key: pathlib.Path | None = None) -> WarpaesFileSystem:
        return WarpaesFileSystem(f"dataset:{key or self.key}", target_protocol="file")

    def test_open_and_fsspec(self) -> None:
        root = str(self.target)
        for how in HOW:
            with self.subTest(how):
                self.encrypt(*how)
                files = self.files_of()
                for name, data in self.all.items():
                    with warpaes.open(self.target / name, keyset=f"dataset:{self.key}") as file:
                        self.assertEqual(file.read(), data)
                    self.assertEqual(files.cat_file(f"{root}/{name}"), data)
                    self.assertEqual(files.info(f"{root}/{name}")["size"], len(data))
                found = {name.removeprefix(root + "/"): data for name, data in files.cat(files.find(root)).items()}
                self.assertEqual(found, self.all)
                self.assertEqual(
                    [os.path.basename(name) for name in files.ls(root, detail=False)], ["tapir", "yakyak", "zebra.csv"]
                )
                self.assertEqual(
                    sorted(files.glob(root + "/yakyak/*")), [f"{root}/yakyak/walrus", f"{root}/yakyak/xerus.csv"]
                )
                self.assertEqual(files.du(root), sum(map(len, self.all.values())))
                walked = {f"{folder}/{name}" for folder, _, every in files.walk(root) for name in every}
                self.assertEqual(walked, {f"{root}/{name}" for name in TREE})
                for path, there in (("yakyak", True), ("yakyak/xerus.csv", True), ("nix", False), ("yakyak/nix", False),
                                    (self.names().encrypt("yakyak/xerus.csv"), False), ("..", False)):  # fmt: skip
                    self.assertEqual(files.exists(f"{root}/{path}"), there, path)
                self.assertTrue(files.isdir(f"{root}/yakyak/walrus") and files.isfile(f"{root}/zebra.csv"))
                files.get(f"{root}/yakyak", str(self.back), recursive=True)
                self.assertEqual((self.back / "walrus/uakari").read_bytes(), self.all["yakyak/walrus/uakari"])
                again = pickle.loads(pickle.dumps(files))
                self.assertEqual(again.cat_file(f"{root}/zebra.csv"), self.all["zebra.csv"])
                shutil.rmtree(self.back)
                shutil.rmtree(self.target)

    def test_what_is_refused(self) -> None:
        self.encrypt("--envelope", "object")
        files = self.files_of()
        stored = str(self.stored("zebra.csv"))
        for path in (stored, f"{self.target}/nix", f"{self.target}/zebra.csv.warpaes-key"):
            with self.assertRaises((FileNotFoundError, InvalidTag)):
                files.cat_file(path)
        with self.assertRaisesRegex(ValueError, "read-only"):
            files.open(f"{self.target}/zebra.csv", "wb")
        for key in (self.key2,):
            with self.assertRaises(InvalidTag):
                self.files_of(key).ls(str(self.target))
        path = self.target / manifest.NAME
        path.write_bytes(path.read_bytes().replace(b'"save":', b'"save": '))
        with self.assertRaises(InvalidTag):
            self.files_of().ls(str(self.target))

    def test_after_a_rekey_and_in_a_child(self) -> None:
        self.encrypt("--envelope", "object")
        files = WarpaesFileSystem(f"dataset:{self.key}", target_protocol="file")
        path = f"{self.target}/yakyak/xerus.csv"
        self.assertEqual(files.cat_file(path), self.all["yakyak/xerus.csv"])
        keyset = warpaes.Keyset.parse(self.key.read_bytes())
        keyset.rotate("AES256_GCM_HKDF_4KB")
        self.key.write_bytes(keyset.to_json())
        self.assertEqual(bulk("rekey", "-k", self.key, "--envelope", "object", self.target)[0], 0)
        files = self.files_of()
        self.assertEqual(files.cat_file(path), self.all["yakyak/xerus.csv"])
        child = os.fork()
        if child == 0:
            os._exit(files.cat_file(path) != self.all["yakyak/xerus.csv"])
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_listings_above_datasets(self) -> None:
        above, clear = self.folder / "above", self.folder / "above/clear"
        above.mkdir()
        self.target = above / "hidden"
        self.encrypt("--envelope", "object")
        self.assertEqual(bulk("encrypt", "-k", self.key, self.source, clear)[0], 0)
        files = self.files_of()
        root = str(above)
        self.assertEqual(files.ls(root, detail=False), [str(clear), str(self.target)])
        for name in TREE:
            both = [f"{clear}/{name}", f"{self.target}/{name}"]
            self.assertEqual(files.glob(f"{root}/*/{name}"), both)
        self.assertEqual(files.find(root), sorted(f"{each}/{name}" for each in (clear, self.target) for name in TREE))
        self.assertEqual(files.du(root), 2 * sum(map(len, self.all.values())))
        walked = {f"{folder}/{name}" for folder, _, every in files.walk(root) for name in every}
        self.assertEqual(walked, set(files.find(root)))
        found = files.find(root, detail=True, withdirs=True)
        self.assertEqual(found[f"{self.target}/zebra.csv"]["size"], len(self.all["zebra.csv"]))
        self.assertEqual(found[f"{self.target}/yakyak/walrus"]["type"], "directory")

    def test_listings_of_files_without_a_manifest(self) -> None:
        """Without a manifest, listings are refused. Otherwise, anyone who removes the manifest could choose the
        names."""
        self.encrypt("--envelope", "object")
        (self.target / "planted.csv").write_bytes(b"")
        self.lost(self.key)
        root = str(self.target)
        for files in (self.files_of(), WarpaesParquet(self.key)):
            for call in ("ls", "find", "glob", "du", "walk"):
                with self.subTest(call), self.assertRaisesRegex(InvalidTag, "not an object of a dataset"):
                    found = getattr(files, call)(f"{root}/*.csv" if call == "glob" else root)
                    self.fail([*found] if call == "walk" else found)

    def test_another_dataset_at_the_same_place(self) -> None:
        self.encrypt()
        files = self.files_of()
        path = f"{self.target}/zebra.csv"
        self.assertEqual(files.cat_file(path), self.all["zebra.csv"])
        shutil.rmtree(self.target)
        self.encrypt()
        with files.open(path) as file:
            self.assertEqual(file.read(), self.all["zebra.csv"])

    def test_listings_of_another_dataset_at_the_same_place(self) -> None:
        root = str(self.target)
        files = self.files_of()
        for how in (("--encrypt-names",), ("--encrypt-names",), (), ("--encrypt-names",)):
            shutil.rmtree(self.target, ignore_errors=True)
            bulk("encrypt", "-k", self.key, *how, self.source, self.target)
            with self.subTest(how):
                self.assertTrue(files.exists(f"{root}/zebra.csv"))
                self.assertTrue(files.isdir(f"{root}/yakyak") and not files.exists(f"{root}/nix"))
                self.assertEqual(files.info(f"{root}/zebra.csv")["size"], len(self.all["zebra.csv"]))
        for act in (
            lambda: files.ls(f"{root}/yakyak/walrus", detail=False),
            lambda: files.find(f"{root}/yakyak/walrus"),
            lambda: [f"{folder}/{name}" for folder, _, every in files.walk(f"{root}/yakyak/walrus") for name in every],
            lambda: files.glob(f"{root}/yakyak/walrus/*"),
        ):
            shutil.rmtree(self.target)
            self.encrypt()
            self.assertEqual(sorted(act()), [f"{root}/yakyak/walrus/uakari", f"{root}/yakyak/walrus/volevole.csv"])

    def test_listings_while_a_job_runs(self) -> None:
        self.encrypt()
        files, root = self.files_of(), str(self.target)
        for name in ("zebra.csv", "yakyak/walrus/uakari"):
            stored = self.stored(name)
            stored.with_name(local._temporary(stored.name, "0" * 32)).write_bytes(b"half")
        self.assertEqual(
            [os.path.basename(name) for name in files.ls(root, detail=False)], ["tapir", "yakyak", "zebra.csv"]
        )
        self.assertEqual({name.removeprefix(root + "/") for name in files.find(root)}, set(TREE))

    def test_planted_folders_of_hyphens(self) -> None:
        """The planted folders look like parts of a name."""
        self.encrypt()
        for number in range(1, 1000):
            os.mkdir(f"{self.target}/{'-/' * number}")
        with self.assertRaises(FormatError):
            self.files_of().ls(str(self.target))
        for number in range(999, 0, -1):  # shutil.rmtree would fail
            os.rmdir(f"{self.target}/{'-/' * number}")

    def test_the_key_is_asked_once_for_the_manifest_and_once_for_the_names(self) -> None:
        self.encrypt("--envelope", "job")
        files = self.files_of()
        with unittest.mock.patch.object(
            keys.KeysetSource, "unwrap", autospec=True, side_effect=keys.KeysetSource.unwrap
        ) as unwrap:
            for _ in range(3):
                files.cat(files.find(str(self.target)))
            self.assertEqual(unwrap.call_count, 3)


class Store(StoreCase):
    """Tests of encrypted names on an object store."""

    def setUp(self) -> None:
        super().setUp()
        self.all = {name: (name[-9:] * 30).upper().encode() for name in TREE}
        self.prefix = self.id().rpartition(".")[2]
        for name, data in self.all.items():
            shown = f'attachment; filename="{name[-20:]}"'
            more = {"ContentType": "text/csv", "ContentDisposition": shown, "Metadata": {"from": "walrus"}}
            self.store.put(f"{self.prefix}-raw/{name}", data, **more)
        self.raw, self.sealed = f"s3://bucket/{self.prefix}-raw", f"s3://bucket/{self.prefix}"

    def test_objects_of_a_store(self) -> None:
        client = self.store.client
        for how in HOW:
            with self.subTest(how):
                words = ("-k", self.key, "--encrypt-names", *how, self.raw, self.sealed)
                status, report = bulk("encrypt", *words)
                self.assertEqual((status, report["errors"]), (0, 0), report)
                for key in self.store.keys(self.prefix + "/"):
                    head = client.get_object(Bucket="bucket", Key=key)
                    seen = [key.encode(), head["Body"].read(), json.dumps(head["Metadata"]).encode()]
                    seen += [str(head.get(name)).encode() for name in ("ContentType", "ContentDisposition")]
                    for word in (*WORDS, b"text/csv", b"-raw"):
                        self.assertFalse(any(word in each for each in seen), (word, key))
                self.assertEqual(bulk("verify", "-k", self.key, self.sealed)[0], 0)
                self.assertEqual(bulk("rekey", "-k", self.key, "--new-key", self.key2, *how, self.sealed)[0], 0)
                back = self.sealed + "-back"
                self.assertEqual(bulk("decrypt", "-k", self.key2, self.sealed, back)[0], 0)
                for name, data in self.all.items():
                    head = client.get_object(Bucket="bucket", Key=f"{self.prefix}-back/{name}")
                    self.assertEqual((head["Body"].read(), head["ContentType"]), (data, "text/csv"))
                    self.assertEqual(head["Metadata"]["from"], "walrus")
                self.clear(self.prefix + "-back/")
                self.clear(self.prefix + "/")

    def clear(self, prefix: str) -> None:
        for key in self.store.keys(prefix):
            self.store.client.delete_object(Bucket="bucket", Key=key)

    def test_uploads_of_dead_runs(self) -> None:
        bulk("encrypt", "-k", self.key, "--encrypt-names", self.raw, self.sealed)
        holders = keys.KeySpec.read(str(self.key)).holders()
        there = manifest.Manifest.load(stores.open_storage(self.sealed), holders)
        assert there is not None and there.names is not None
        client = self.store.client
        for name in (there.names.names.encrypt("zebra.csv"), "foreign", "q" * 40):
            client.create_multipart_upload(Bucket="bucket", Key=f"{self.prefix}/{name}")
        self.store.put(f"{self.prefix}-raw/new", b"x")
        _, report = bulk("encrypt", "-k", self.key, "--encrypt-names", "--update", self.raw, self.sealed)
        self.assertEqual(report["parts_swept"], 1)

    def test_names_that_only_a_store_has(self) -> None:
        for name in ("a//b", "/c", "d/../e", ".", "f" * 900):
            self.store.put(f"{self.prefix}-raw/{name}", b"x")
        status, report = bulk("encrypt", "-k", self.key, "--encrypt-names", self.raw, self.sealed)
        self.assertEqual((status, report["done"], report["errors"]), (1, len(TREE), 5), report)
        for each in report["first_errors"]:
            self.assertRegex(each["error"], "cannot be encrypted as a name|would have an encrypted name that")

    def test_originals_without_their_attributes_are_not_removed(self) -> None:
        """Only the manifest contains the attributes, but it is not used here."""
        bulk("encrypt", "-k", self.key, "--encrypt-names", self.raw, self.sealed)
        before = set(self.store.keys(self.prefix + "/"))
        words = ("-k", self.key, "--encrypted-names", "--no-manifest", "--remove-source", self.sealed)
        self.assertIn("--accept-loss", refusal("decrypt", *words, self.folder / "back"))
        self.assertEqual(set(self.store.keys(self.prefix + "/")), before)

    def test_a_name_that_is_too_long_for_its_wrapped_key(self) -> None:
        names = EncryptedNames(warpaes.Keyset.generate())
        room = 1024 - len(self.prefix) - 1
        long = next(n for n in range(1, 700) if len(names.encrypt("f" * n + storage.KEY_SUFFIX)) > room)
        self.assertLessEqual(len(names.encrypt("f" * long)), room)
        self.store.put(f"{self.prefix}-raw/{'f' * long}", b"x")
        for more in (("--dry-run",), ()):
            status, report = bulk("encrypt", "-k", self.key, "--encrypt-names", *HOW[2], *more, self.raw, self.sealed)
            self.assertEqual((status, report["errors"]), (1, 1), report)
            self.assertIn("S3 allows 1024", report["first_errors"][0]["error"])

    def test_swapped_objects(self) -> None:
        bulk("encrypt", "-k", self.key, "--encrypt-names", "--envelope", "object", self.raw, self.sealed)
        objects = {key: self.store.get(key) for key in self.store.keys(self.prefix + "/") if storage.FOLDER not in key}
        # All files have the same length, which wrapped keys do not have. Wrapped keys are not exchanged, because verify
        # reads the keys from the manifest.
        lengths = [len(data) for data in objects.values()]
        files = [key for key, data in objects.items() if lengths.count(len(data)) == len(TREE)]
        one, two = files[:2]
        first, second = objects[one], objects[two]
        self.store.put(one, second)
        self.store.put(two, first)
        status, report = bulk("verify", "-k", self.key, self.sealed)
        self.assertEqual(status, 1)
        self.assertGreater(report["errors"], 0)


if __name__ == "__main__":
    unittest.main()
