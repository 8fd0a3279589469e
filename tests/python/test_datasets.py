"""Tests how other programs read objects of `warpaes bulk` through warpaes.open and the file system for fsspec, given
the path or URL of an object and the place of a key."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import pickle
import shutil
import signal
import sys
import threading
import unittest
import unittest.mock
from collections.abc import Callable, Iterator
from typing import Any

import warpaes
from bulk_case import Case, bulk
from support import needed
from warpaes._once import Kept
from warpaes.bulk import keys, reading, storage
from warpaes.exceptions import InvalidTag, KeysetError
from warpaes.fs import WarpaesFileSystem

HOW = ("", "job", "object")


class Local(Case):
    def encrypt(self, envelope: str, key: pathlib.Path | None = None, *more: str) -> pathlib.Path:
        target = self.folder / f"t{envelope}"
        how = ("--envelope", envelope) if envelope else ()
        status, _ = bulk("encrypt", "-k", key or self.key, *how, *more, self.source, target)
        self.assertEqual(status, 0)
        return target

    def place(self, key: pathlib.Path | None = None) -> str:
        return f"dataset:{key or self.key}"

    def read(self, path: pathlib.Path, place: str | None = None) -> bytes:
        with warpaes.open(path, keyset=place or self.place()) as file:
            data: bytes = file.read()
        return data

    def test_every_object_opens(self) -> None:
        content = self.write([0, 1, 5000, 100_000])
        for envelope in HOW:
            for suffix in ("", ".enc"):
                with self.subTest(envelope=envelope, suffix=suffix):
                    target = self.encrypt(envelope, None, "--suffix", suffix)
                    for name, data in content.items():
                        self.assertEqual(self.read(target / (name + suffix)), data)
                    files = WarpaesFileSystem(self.place(), target_protocol="file")
                    found = files.find(str(target))
                    self.assertEqual(
                        {name.removeprefix(f"{target}/"): data for name, data in files.cat(found).items()},
                        {name + suffix: data for name, data in content.items()},
                    )
                    entries = files.find(str(target), detail=True)
                    self.assertEqual(sorted(e["size"] for e in entries.values()), sorted(map(len, content.values())))
                    self.assertEqual([each for each in files.ls(str(target), detail=False) if "warpaes" in each], [])
                    walked = [name for _, folders, names in files.walk(str(target)) for name in [*folders, *names]]
                    self.assertEqual([name for name in walked if "warpaes" in name], [])
                    shutil.rmtree(target)

    def test_text_ranges_and_pickles(self) -> None:
        self.write([5000])
        target = self.encrypt("object")
        path = target / "a/0/o b.5000"
        want = (self.source / "a/0/o b.5000").read_bytes()
        with warpaes.open(path, "rt", keyset=self.place(), encoding="latin-1", newline="") as file:
            self.assertEqual(file.read(), want.decode("latin-1"))
        files = WarpaesFileSystem(self.place(), target_protocol="file")
        again = pickle.loads(pickle.dumps(files))
        self.assertEqual(again.cat_file(str(path), 100, 300), want[100:300])
        self.assertNotIn(b"AES256", pickle.dumps(files))

    def test_a_kek_of_tink_and_one_under_a_passphrase(self) -> None:
        content = self.write([0, 700])
        kek = self.folder / "kek.json"
        self.assertEqual(os.system(f"{_python()} -m warpaes.keysources new-kek -o {kek}"), 0)
        target = self.encrypt("object", kek)
        for name, data in content.items():
            self.assertEqual(self.read(target / name, self.place(kek)), data)
        os.environ["WORD_OF_A_TEST"] = "correct horse battery"
        self.addCleanup(os.environ.pop, "WORD_OF_A_TEST")
        place = f"passphrase=env:WORD_OF_A_TEST;{self.folder / 'locked.json'}"
        warpaes.Keyset.generate().save(place)
        shutil.rmtree(target)
        status, _ = bulk("encrypt", "-k", place, "--envelope", "object", self.source, target)
        self.assertEqual(status, 0)
        for name, data in content.items():
            self.assertEqual(self.read(target / name, f"dataset:{place}"), data)

    def test_each_key_is_asked_once(self) -> None:
        self.write([10, 20, 30])
        for envelope, count in (("object", 1 + 3), ("job", 1 + 1)):
            target = self.encrypt(envelope)
            files = WarpaesFileSystem(self.place(), target_protocol="file")
            with unittest.mock.patch.object(
                keys.KeysetSource, "unwrap", autospec=True, side_effect=keys.KeysetSource.unwrap
            ) as unwrap:
                for _ in range(3):
                    files.cat(files.find(str(target)))
                self.assertEqual(unwrap.call_count, count, envelope)

    def test_planted_files_cost_no_requests(self) -> None:
        """An attacker who can write to the storage cannot make a reader query the key manager repeatedly."""
        self.write([10, 20])
        target = self.encrypt("object")
        for i in range(30):
            (target / f"planted{i}").write_bytes(b"x" * 100)
        files = WarpaesFileSystem(self.place(), target_protocol="file")
        with unittest.mock.patch.object(
            keys.KeysetSource, "unwrap", autospec=True, side_effect=keys.KeysetSource.unwrap
        ) as unwrap:
            found = files.find(str(target), detail=True)
            self.assertEqual(sum(entry["size"] is None for entry in found.values()), 30)
            self.assertEqual(unwrap.call_count, 1 + 2)
            with self.assertRaises(InvalidTag):
                files.cat_file(f"{target}/planted0")
            self.assertEqual(unwrap.call_count, 1 + 2)

    @contextlib.contextmanager
    def unwraps(self, act: Callable[[bytes], None] = lambda _: None) -> Iterator[list[bytes]]:
        """Collect the keys that are unwrapped. ``act`` is called before each unwrap."""
        asked: list[bytes] = []
        real = keys.KeysetSource.unwrap

        def unwrap(source: keys.KeysetSource, wrapped: bytes, associated_data: bytes) -> bytes:
            asked.append(wrapped)
            act(wrapped)
            return real(source, wrapped, associated_data)

        with unittest.mock.patch.object(keys.KeysetSource, "unwrap", unwrap):
            yield asked

    def reader(self) -> WarpaesFileSystem:
        return WarpaesFileSystem(self.place(), target_protocol="file", skip_instance_cache=True)

    def test_altered_shards_and_planted_manifests_cost_no_requests(self) -> None:
        content = self.write([10] * 8)
        target = self.encrypt("object")
        for shard in (target / ".warpaes-bulk/shards").iterdir():
            shard.write_bytes(shard.read_bytes()[:-1] + b"\0")
        with self.unwraps() as asked:
            files = self.reader()
            for name in content:
                with self.assertRaisesRegex(InvalidTag, "not authentic"):
                    files.cat_file(f"{target}/{name}")
            self.assertEqual(len(asked), 1)
        shutil.rmtree(target)
        target = self.encrypt("object")
        root = target / ".warpaes-bulk/manifest.jsonl"
        nearer = target / "a/.warpaes-bulk"
        nearer.mkdir()
        (nearer / "manifest.jsonl").write_bytes(root.read_bytes().replace(b'"save":', b'"save": '))
        with self.unwraps() as asked:
            files = self.reader()
            for name in content:
                with self.assertRaisesRegex(InvalidTag, "was altered"):
                    files.cat_file(f"{target}/{name}")
            self.assertEqual(len(asked), 1)

    def test_a_dataset_within_another(self) -> None:
        self.write([10])
        target = self.encrypt("object")
        inner = target / "inner"
        self.assertEqual(bulk("encrypt", "-k", self.key, "--envelope", "object", self.source, inner)[0], 0)
        files = self.reader()
        for _ in range(2):
            for folder in (target, inner):
                self.assertEqual(len(files.cat_file(f"{folder}/a/0/o b.10")), 10)

    def test_keys_are_kept_for_a_time(self) -> None:
        self.write([10, 20])
        now = [1000.0]
        clock = unittest.mock.patch("time.monotonic", lambda: now[0])
        clock.start()
        self.addCleanup(clock.stop)
        for envelope, first, again in (("object", 3, 3), ("job", 2, 2)):
            target = self.encrypt(envelope)
            with self.unwraps() as asked:
                files = self.reader()
                found = files.find(str(target))
                for _ in range(2):
                    files.cat(found)
                now[0] += reading.KEPT_SECONDS - 1
                files.cat(found)
                self.assertEqual(len(asked), first)
                now[0] += 2
                files.cat(found)
                self.assertEqual(len(asked), first + again)
            with self.unwraps(lambda _: self.denied()):
                files.cat(found)
                now[0] += reading.KEPT_SECONDS + 1
                with self.assertRaises(PermissionError):  # the key is disabled
                    files.cat_file(found[0])
                self.assertEqual((len(files.datasets._kept), len(files.datasets._found)), (0, 0))

    @staticmethod
    def denied() -> None:
        raise storage.CredentialsError("the key is disabled")

    def test_a_slow_key_manager_holds_up_only_who_needs_it(self) -> None:
        content = self.write([10, 20, 30])
        target = self.encrypt("object")
        first, second, third = (f"{target}/{name}" for name in content)
        files = self.reader()
        files.cat_file(first)
        waits, goes_on = threading.Event(), threading.Event()

        def wait(_: bytes) -> None:
            if not waits.is_set():
                waits.set()
                goes_on.wait(60)

        results: list[bytes] = []
        with self.unwraps(wait) as asked:
            threads = [threading.Thread(target=lambda: results.append(files.cat_file(second))) for _ in range(3)]
            for thread in threads:
                thread.start()
            self.assertTrue(waits.wait(60))
            self.assertEqual(len(files.cat_file(first)), 10)  # the key is cached
            self.assertEqual(len(files.cat_file(third)), 30)  # this needs a different key
            child = os.fork()
            if child == 0:
                signal.alarm(60)
                os._exit(len(files.cat_file(second)))
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 20)
            self.assertEqual(results, [])
            goes_on.set()
            for thread in threads:
                thread.join()
            self.assertEqual([len(each) for each in results], [20] * 3)
            self.assertEqual(len(asked), 2, "one request for three threads")

    def test_keys_that_are_kept_are_bounded(self) -> None:
        self.write([10] * 5)
        target = self.encrypt("object")
        with unittest.mock.patch.object(reading, "MOST_KEPT", 2):
            files = WarpaesFileSystem(self.place(), target_protocol="file", skip_instance_cache=True)
            files.cat(files.find(str(target)))
            self.assertEqual(len(files.datasets._kept), 2)

    def test_threads_and_a_child(self) -> None:
        content = self.write([100 * i for i in range(12)])
        target = self.encrypt("object")
        files = WarpaesFileSystem(self.place(), target_protocol="file")
        wrong: list[Any] = []

        def read_all() -> None:
            for name, data in content.items():
                if files.cat_file(f"{target}/{name}") != data:
                    wrong.append(name)

        threads = [threading.Thread(target=read_all) for _ in range(6)]
        for thread in threads:
            thread.start()
        pid = os.fork()
        if pid == 0:
            try:
                read_all()
                os._exit(len(wrong))
            except BaseException:
                os._exit(99)
        for thread in threads:
            thread.join()
        self.assertEqual((wrong, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])), ([], 0))

    def test_what_lies_in_the_storage_decides_nothing(self) -> None:
        """An attacker moves, copies and plants objects. A read returns the object's own content or fails."""
        self.write([11, 22])
        one, two = "a/0/o b.11", "a/1/o b.22"
        for envelope in HOW:
            target = self.encrypt(envelope)
            kept = self.folder / f"kept{envelope}"
            shutil.copytree(target, kept)

            def refused(name: str, kind: type[Exception] = InvalidTag, place: str | None = None) -> str:
                with self.assertRaises(kind) as caught:
                    self.read(target / name, place)  # noqa: B023
                return str(caught.exception)

            def restored() -> None:
                shutil.rmtree(target)  # noqa: B023
                shutil.copytree(kept, target)  # noqa: B023

            with self.subTest(envelope):
                suffixes = ("", storage.KEY_SUFFIX) if envelope == "object" else ("",)
                for suffix in suffixes:  # the objects are exchanged, with their wrapped keys
                    first, second = target / (one + suffix), target / (two + suffix)
                    first.rename(target / "x")
                    second.rename(first)
                    (target / "x").rename(second)
                refused(one)
                refused(two)
                restored()
                shutil.copy(target / one, target / "a/copy")  # the copy is planted
                self.assertIn("the manifest does not contain it", refused("a/copy"))
                (target / ".warpaes-bulk/manifest.jsonl").unlink()
                refused(one, FileNotFoundError)
                restored()
                # A different complete dataset replaces this dataset, or is in a nearer folder.
                shutil.copytree(kept, target / "a/0", dirs_exist_ok=True)
                self.assertIn(str(target), refused(one))
                restored()
                root = target / ".warpaes-bulk/manifest.jsonl"
                text = root.read_bytes()
                for altered in (text.replace(b'"save":', b'"save": '), text[:-20], b"", b"{}\n{}\n"):
                    root.write_bytes(altered)
                    refused(one)
                restored()
                for shard in (target / ".warpaes-bulk/shards").iterdir():
                    shard.write_bytes(shard.read_bytes()[:-1] + b"\0")
                self.assertIn("is not authentic", refused(one))
                restored()
                other = self.folder / "other"
                target.rename(other)  # the dataset was moved
                with self.assertRaises(InvalidTag) as caught:
                    self.read(other / one)
                found = str(caught.exception)
                dataset = self.load(other).dataset
                self.assertIn(f"dataset:id={dataset};", found)
                self.assertEqual(len(self.read(other / one, f"dataset:id={dataset};{self.key}")), 11)
                other.rename(target)
                self.assertIn("is the dataset", refused(one, place=f"dataset:id=0123;{self.key}"))
                self.assertIn("not abc", refused(one, place=f"dataset:pin=abc;{self.key}"))
                self.assertIn("not saved under any of the given keys", refused(one, place=self.place(self.key2)))

    def test_wrapped_keys_next_to_objects_are_not_used(self) -> None:
        self.write([33])
        target = self.encrypt("object")
        beside = target / ("a/0/o b.33" + storage.KEY_SUFFIX)
        beside.write_bytes(json.dumps([{"nonsense": 1}]).encode())
        self.assertEqual(len(self.read(target / "a/0/o b.33")), 33)

    def test_after_a_rekey_and_a_rewrap(self) -> None:
        content = self.write([44, 55])
        for envelope in HOW:
            target = self.encrypt(envelope)
            files = WarpaesFileSystem(self.place(), target_protocol="file")
            found = files.find(str(target))
            files.cat(found)
            how = ("--envelope", envelope) if envelope else ()
            self.assertEqual(bulk("rekey", "-k", self.key, "--new-key", self.key2, *how, target)[0], 0)
            with self.assertRaises((InvalidTag, KeysetError)):
                files.cat(found)
            new = WarpaesFileSystem(self.place(self.key2), target_protocol="file")
            self.assertEqual(sorted(new.cat(found).values()), sorted(content.values()))
            if envelope:  # under the same key, a file system that is open reads the new manifest
                self.assertEqual(bulk("rekey", "-k", self.key2, *how, target)[0], 0)
                self.assertEqual(sorted(new.cat(found).values()), sorted(content.values()))

    def test_objects_that_come_later(self) -> None:
        self.write([66])
        target = self.encrypt("object")
        files = WarpaesFileSystem(self.place(), target_protocol="file")
        files.cat(files.find(str(target)))
        (self.source / "late").write_bytes(b"late")
        self.assertEqual(bulk("encrypt", "-k", self.key, "--envelope", "object", "--update", self.source, target)[0], 0)
        self.assertEqual(files.cat_file(f"{target}/late"), b"late")

    def test_bad_arguments(self) -> None:
        self.write([1])
        target = self.encrypt("job")
        path = target / "a/0/o b.1"
        cases: list[tuple[type[Exception], str, dict[str, Any]]] = [
            (ValueError, "read-only", {"mode": "wb"}),
            (ValueError, "associated_data", {"associated_data": b"x"}),
            (ValueError, "twice", {"keyset": f"dataset:id=a;id=b;{self.key}"}),
            (ValueError, "cannot be combined", {"keyset": "dataset:passphrase:own:"}),
            (ValueError, "empty", {"keyset": "dataset:"}),
            (FileNotFoundError, "", {"keyset": "dataset:not-there.json"}),
            (FileNotFoundError, "no folder above it", {"file": self.source / "a/0/o b.1"}),
            (ValueError, "path or a URL", {"file": b"bytes"}),
        ]
        for kind, sentence, arguments in cases:
            with self.subTest(arguments):
                with self.assertRaises(kind) as caught:
                    warpaes.open(
                        arguments.pop("file", path),
                        arguments.pop("mode", "rb"),
                        **{"keyset": self.place(), **arguments},
                    )
                self.assertIn(sentence, str(caught.exception))
        with self.assertRaises(ValueError):
            WarpaesFileSystem(self.place(), target_protocol="file").pipe_file(str(path), b"x")
        self.assertEqual(len(self.read(path)), 1)


class KeptValues(unittest.TestCase):
    def test_errors_are_raised_for_all_and_not_kept(self) -> None:
        kept: Kept[int] = Kept(3)
        begun, goes_on, failed = threading.Event(), threading.Event(), []

        def fail() -> int:
            begun.set()
            goes_on.wait(60)
            raise OSError("no")

        def get() -> None:
            try:
                kept.get("a", fail)
            except OSError:
                failed.append(1)

        threads = [threading.Thread(target=get) for _ in range(4)]
        for thread in threads:
            thread.start()
        self.assertTrue(begun.wait(60))
        goes_on.set()
        for thread in threads:
            thread.join()
        self.assertEqual((len(failed), len(kept)), (4, 0))
        self.assertEqual(kept.get("a", lambda: 5), 5)

    def test_who_waits_for_one_that_is_interrupted_makes_it(self) -> None:
        kept: Kept[int] = Kept(3)
        begun, goes_on, results = threading.Event(), threading.Event(), []

        def interrupted() -> int:
            begun.set()
            goes_on.wait(60)
            raise KeyboardInterrupt

        def first() -> None:
            with contextlib.suppress(KeyboardInterrupt):
                kept.get("a", interrupted)

        threads = [threading.Thread(target=first)]
        threads[0].start()
        self.assertTrue(begun.wait(60))
        threads.append(threading.Thread(target=lambda: results.append(kept.get("a", lambda: 7))))
        threads[1].start()
        goes_on.set()
        for thread in threads:
            thread.join()
        self.assertEqual(results, [7])

    def test_those_used_last_stay(self) -> None:
        kept: Kept[str] = Kept(3)
        made: list[str] = []

        def get(name: str) -> None:
            kept.get(name, lambda: made.append(name) or name)  # type: ignore[func-returns-value]

        for name in "abcadaebxa":
            get(name)
        self.assertEqual("".join(made), "abcdebxa")
        self.assertEqual(len(kept), 3)
        self.assertEqual((kept.kept("a"), kept.kept("c")), ("a", None))
        kept.forget("a", "another" + "a")
        self.assertEqual(kept.get("a", str), "a")
        kept.forget("a", kept.get("a", str))
        self.assertIsNone(kept.kept("a"))
        self.assertEqual(kept.get("b", lambda: "new", lambda value: value == "new"), "new")


class Store(Case):
    """Tests of S3 objects under a key in AWS KMS, with moto's servers."""

    @classmethod
    def setUpClass(cls) -> None:
        for name in ("moto", "boto3", "flask", "s3fs"):
            needed(name)
        from faulty_s3 import Store as Moto

        cls.store = Moto(slow=0.1)
        cls.addClassCleanup(cls.store.close)

    def test_a_url_and_the_url_of_a_key_manager(self) -> None:
        import boto3
        import fsspec

        content = self.write([0, 123, 100_000])
        for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_KMS", "AWS_ENDPOINT_URL_S3"):
            os.environ[name] = self.store.moto.url
            self.addCleanup(os.environ.pop, name)
        manager = "aws-kms://" + boto3.client("kms").create_key()["KeyMetadata"]["Arn"]
        for envelope in ("job", "object"):
            target = f"s3://bucket/{envelope}/set"
            given = ("--endpoint-url", self.store.moto.url, "--envelope", envelope)
            self.assertEqual(bulk("encrypt", "-k", manager, *given, self.source, target)[0], 0)
            for name, data in content.items():
                with warpaes.open(f"{target}/{name}", keyset=manager) as file:
                    self.assertEqual(file.read(), data)
            fsspec.register_implementation(
                "warpaes", WarpaesFileSystem, clobber=True
            )  # the wheel's entry point does the same
            with fsspec.open(f"warpaes::{target}/a/1/o b.123", warpaes={"keyset": manager}) as file:
                self.assertEqual(file.read(), content["a/1/o b.123"])
            self.store.put(f"{envelope}/set/planted", self.store.get(f"{envelope}/set/a/1/o b.123"))
            with self.assertRaises(InvalidTag):
                warpaes.open(f"{target}/planted", keyset=manager)
            other = "aws-kms://" + boto3.client("kms").create_key()["KeyMetadata"]["Arn"]
            with self.assertRaises((InvalidTag, PermissionError)):
                warpaes.open(f"{target}/a/1/o b.123", keyset=other)
        with self.assertRaises(FileNotFoundError):
            warpaes.open("s3://bucket/nowhere/x", keyset=manager)


def _python() -> str:
    return f"PYTHONPATH={pathlib.Path(warpaes.__file__).parent.parent} {sys.executable}"


if __name__ == "__main__":
    unittest.main()
