"""Tests datasets of Parquet files that remain Parquet files: `warpaes bulk` with a template for Parquet."""

from __future__ import annotations

import hashlib
import io
import json
import pathlib
import random
import shutil
import unittest
from concurrent.futures import ThreadPoolExecutor
from unittest import mock

import warpaes.parquet as wp
from bulk_case import Case, StoreCase, bulk, refusal
from support import needed
from warpaes.bulk import keys, parquet
from warpaes.bulk.storage import WINDOW, Entry
from warpaes.exceptions import InvalidTag, KeysetError

pa = needed("pyarrow")
pq = needed("pyarrow.parquet")
pe = needed("pyarrow.parquet.encryption")

TEMPLATE = ("--template", "AES256_GCM_PARQUET", "--envelope", "object")


def table(rows: int, seed: int = 0) -> pa.Table:
    return pa.table(
        {
            "number": pa.array([(i * 7919 + seed) % 100_003 for i in range(rows)]),
            "text": pa.array([None if i % 7 == 0 else f"text {i % 13} {seed}" for i in range(rows)]),
            "list": pa.array([[i, seed] * (i % 3) for i in range(rows)], pa.list_(pa.int32())),
        }
    )


def written(what: pa.Table, **options: object) -> bytes:
    out = io.BytesIO()
    pq.write_table(what, out, **options)
    return out.getvalue()


def content() -> dict[str, bytes]:
    """Return files with several layouts."""
    return {
        "day=1/part-0.parquet": written(table(500, 1), data_page_size=700, write_batch_size=50, row_group_size=230),
        "day=1/part 1.parquet": written(table(500, 2), write_page_index=True, write_page_checksum=True),
        "day=2/part-0.parquet": written(table(0, 3)),
        "day=2/ü.parquet": written(table(300, 4), compression="zstd", bloom_filter_options={"number": True}),
        "v2.parquet": written(table(400, 5), data_page_version="2.0", use_dictionary=False, data_page_size=900),
    }


def read(data: bytes) -> pa.Table:
    return pq.read_table(io.BytesIO(data))


class Files(Case):
    """Tests with local folders."""

    def setUp(self) -> None:
        super().setUp()
        self.content = content()
        self.store(self.source, self.content)

    def store(self, folder: pathlib.Path, files: dict[str, bytes]) -> None:
        for name, data in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)

    def encrypt(self, *options: object) -> dict[str, object]:
        status, report = bulk("encrypt", "-k", self.key, *TEMPLATE, *options, self.source, self.target)
        self.assertEqual((status, report["errors"]), (0, 0), report)
        return report

    def sealed(self) -> dict[str, bytes]:
        return {name: data for name, data in self.files(self.target).items() if not name.endswith(".warpaes-key")}

    def opened(self, target: pathlib.Path | None = None) -> dict[str, bytes]:
        """Decrypt the dataset and return its files."""
        plain = self.folder / "plain"
        shutil.rmtree(plain, ignore_errors=True)
        status, report = bulk("decrypt", "-k", self.key, target or self.target, plain)
        self.assertEqual((status, report["errors"]), (0, 0), report)
        return self.files(plain)

    def same_tables(self, files: dict[str, bytes]) -> None:
        self.assertEqual(files.keys(), self.content.keys())
        for name, data in files.items():
            self.assertTrue(read(data).equals(read(self.content[name])), name)

    def data_key(self, name: str) -> bytes:
        record = json.loads((self.target / f"{name}.warpaes-key").read_bytes())[0]
        self.assertEqual(record["template"], "AES256_GCM_PARQUET")
        return keys.unwrap([keys.KeySpec.read(str(self.key)).open()], record)

    def test_there_and_back(self) -> None:
        self.encrypt()
        sealed = self.sealed()
        self.assertEqual(sealed.keys(), self.content.keys())
        used = set()
        for name, data in sealed.items():
            self.assertEqual((data[:4], data[-4:]), (b"PARE", b"PARE"))
            # Any reader with the data key can read the file. The AAD prefix is the object's associated data.
            key = self.data_key(name)
            used.add(key)
            prefix = self.name_data(self.target, name)
            theirs = pe.create_decryption_properties(key, aad_prefix=prefix)
            self.assertTrue(
                pq.read_table(io.BytesIO(data), decryption_properties=theirs).equals(read(self.content[name]))
            )
            with self.assertRaises(OSError):
                wrong = pe.create_decryption_properties(key, aad_prefix=prefix + b"x")
                pq.read_table(io.BytesIO(data), decryption_properties=wrong)
        self.assertEqual(len(used), len(sealed))
        self.same_tables(self.opened())
        self.assertEqual(bulk("verify", "-k", self.key, self.target)[0], 0)
        # A second run finds no work and changes nothing.
        self.assertEqual(self.encrypt()["run_objects"], 0)
        self.assertEqual(self.sealed(), sealed)

    def test_rekey_and_rewrap(self) -> None:
        self.encrypt()
        before = self.sealed()
        status, report = bulk("rewrap", "-k", self.key, "--new-key", self.key2, self.target)
        self.assertEqual((status, report["errors"]), (0, 0))
        self.assertEqual(self.sealed(), before)
        self.key, old = self.key2, self.key
        self.same_tables(self.opened())
        status, report = bulk("rekey", "-k", self.key, "--envelope", "object", "--new-key", old, self.target)
        self.assertEqual((status, report["errors"]), (0, 0), report)
        self.key = old
        self.assertTrue(all(data != before[name] for name, data in self.sealed().items()))
        self.same_tables(self.opened())
        self.assertEqual(bulk("verify", "-k", self.key, self.target)[0], 0)
        self.assertNotEqual(bulk("verify", "-k", self.key2, self.target)[0], 0)

    def test_alterations(self) -> None:
        """Verify and decrypt detect altered bytes in any part, altered lengths, exchanged files, and earlier files."""
        self.encrypt()
        sealed = self.sealed()
        name, other = "day=1/part-0.parquet", "v2.parquet"
        data = sealed[name]
        rng = random.Random(44)
        altered = [data[:-1], data + b"\0", b"", data[: len(data) // 2], sealed[other], self.content[name]]
        for at in [0, 4, len(data) - 9, *(rng.randrange(len(data)) for _ in range(20))]:
            altered.append(data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :])
        for wrong in altered:
            (self.target / name).write_bytes(wrong)
            for command in (("verify", "-k", self.key, self.target, "--name", name), self.decrypting(name)):
                status, report = bulk(*command)
                self.assertEqual((status, report["errors"]), (1, 1), command)
            self.assertFalse((self.folder / "plain" / name).exists())
        (self.target / name).write_bytes(data)
        self.same_tables(self.opened())

    def decrypting(self, name: str) -> tuple[object, ...]:
        shutil.rmtree(self.folder / "plain", ignore_errors=True)
        return ("decrypt", "-k", self.key, "--include", name, self.target, self.folder / "plain")

    def test_an_earlier_file_is_refused(self) -> None:
        """The file is an authentic earlier version with its own key record."""
        self.encrypt()
        name = "v2.parquet"
        early = [(self.target / one).read_bytes() for one in (name, name + ".warpaes-key")]
        (self.source / name).write_bytes(written(table(10, 9)))
        self.encrypt("--update", "--overwrite")
        for one, data in zip((name, name + ".warpaes-key"), early, strict=True):
            (self.target / one).write_bytes(data)
        status, report = bulk("verify", "-k", self.key, self.target)
        self.assertEqual((status, report["errors"]), (1, 1))
        self.assertRegex(report["first_errors"][0]["error"], "not authentic|differs from the prefix|SHA-256|bytes")

    def test_two_files_exchanged_without_a_manifest(self) -> None:
        self.encrypt()
        accepted = self.without_manifest(self.target)
        plain = self.folder / "plain"
        self.assertEqual(bulk("decrypt", "-k", self.key, *accepted, self.target, plain)[0], 0)
        self.same_tables(self.files(plain))
        one, other = self.target / "v2.parquet", self.target / "day=2/part-0.parquet"
        first = one.read_bytes()
        one.write_bytes(other.read_bytes())
        other.write_bytes(first)
        status, report = bulk("verify", "-k", self.key, *accepted, self.target)
        self.assertEqual((status, report["errors"]), (1, 2), report)

    def test_what_a_manifest_is_not_needed_for(self) -> None:
        """Without a manifest, files are refused if they are unencrypted, use a different algorithm, or use their own
        data key with a wrong or missing AAD prefix."""
        self.encrypt()
        name = "v2.parquet"
        key, sealed = self.data_key(name), self.sealed()[name]
        at = sealed.index(b"\x1c\x1c", len(sealed) - 8 - int.from_bytes(sealed[-8:-4], "little"))
        wrong = [self.content[name], sealed[: at + 1] + b"\x2c" + sealed[at + 2 :]]
        for prefix in (b"", b"prefix", self.name_data(self.target, "day=2/part-0.parquet")):
            for algorithm in ("AES_GCM_V1", "AES_GCM_CTR_V1"):
                out = io.BytesIO()
                wp.write_table(table(9), out, wp.Encryption(key, aad_prefix=prefix, algorithm=algorithm))
                wrong.append(out.getvalue())
        out = io.BytesIO()
        prefix = self.name_data(self.target, name)
        wp.write_table(table(9), out, wp.Encryption(key, aad_prefix=prefix, algorithm="AES_GCM_CTR_V1"))
        wrong.append(out.getvalue())
        accepted = self.without_manifest(self.target)
        for data in wrong:
            (self.target / name).write_bytes(data)
            status, report = bulk("verify", "-k", self.key, *accepted, "--include", name, self.target)
            self.assertEqual((status, report["errors"]), (1, 1), report)
        (self.target / name).write_bytes(sealed)
        self.assertEqual(bulk("verify", "-k", self.key, *accepted, "--include", name, self.target)[0], 0)

    def test_adopt(self) -> None:
        self.encrypt()
        _, _, dataset = self.without_manifest(self.target)
        status, report = bulk("adopt", "-k", self.key, "--dataset", dataset, self.target)
        self.assertEqual((status, report["errors"]), (0, 0), report)
        self.same_tables(self.opened())
        options = ("-k", self.key, "--new-key", self.key2, "--envelope", "object")
        self.assertEqual(bulk("rekey", *options, self.target)[0], 0)
        self.key = self.key2
        self.same_tables(self.opened())

    def test_a_run_that_died(self) -> None:
        """Files from a run that died are adopted if their content equals the source's. Other files are kept and are
        errors."""
        self.encrypt()
        sealed = self.sealed()
        self.forget(self.target, self.key)
        self.assertEqual(self.encrypt()["adopted"], len(sealed))
        self.assertEqual(self.sealed(), sealed)
        self.forget(self.target, self.key)
        (self.target / "v2.parquet").write_bytes(sealed["day=1/part-0.parquet"])
        status, report = bulk("encrypt", "-k", self.key, *TEMPLATE, self.source, self.target)
        self.assertEqual((status, report["errors"]), (1, 1))

    def test_verified_and_removed(self) -> None:
        status, report = bulk(
            "encrypt", "-k", self.key, *TEMPLATE, "--verify", "--remove-source", self.source, self.target
        )
        self.assertEqual((status, report["errors"]), (0, 0), report)
        self.assertEqual(self.files(self.source), {})
        plain = self.folder / "plain"
        status, report = bulk("decrypt", "-k", self.key, "--verify", "--remove-source", self.target, plain)
        self.assertEqual((status, report["errors"]), (0, 0), report)
        self.same_tables(self.files(plain))
        self.assertEqual(self.sealed(), {})

    def test_other_sources(self) -> None:
        """Sources that are not Parquet files, or are damaged or already encrypted, are errors of their rows."""
        encrypted = io.BytesIO()
        properties = pe.create_encryption_properties(bytes(16))
        pq.write_table(table(9), encrypted, encryption_properties=properties)
        signed = io.BytesIO()
        properties = pe.create_encryption_properties(bytes(16), plaintext_footer=True)
        pq.write_table(table(9), signed, encryption_properties=properties)
        whole = self.content["v2.parquet"]
        wrong = {
            "_SUCCESS": b"",
            "notes.txt": b"words" * 100,
            "encrypted.parquet": encrypted.getvalue(),
            "signed.parquet": signed.getvalue(),
            "damaged.parquet": whole[:50] + whole[90:],
        }
        self.store(self.source, wrong)
        status, report = bulk("encrypt", "-k", self.key, *TEMPLATE, self.source, self.target)
        self.assertEqual((status, report["errors"]), (1, len(wrong)))
        errors = {one["key"]: one["error"] for one in report["first_errors"]}
        self.assertIn("not a Parquet file", errors["_SUCCESS"])
        self.assertIn("not a Parquet file", errors["notes.txt"])
        self.assertIn("already encrypted", errors["encrypted.parquet"])
        self.assertIn("already encrypted", errors["signed.parquet"])
        self.assertEqual(self.sealed().keys(), self.content.keys())

    def test_refusals(self) -> None:
        start = ("encrypt", "-k", self.key, "--template", "AES256_GCM_PARQUET")
        for options in ((), ("--envelope", "job")):
            self.assertIn("add --envelope object", refusal(*start, *options, self.source, self.target))
        self.encrypt()
        rekey = ("rekey", "-k", self.key, "--new-key", self.key2)
        self.assertIn("add --envelope object", refusal(*rekey, "--envelope", "job", self.target))
        self.assertIn("add --envelope object", refusal(*rekey, self.target))
        streaming = ("--envelope", "object", "--template", "AES256_GCM_HKDF_1MB")
        self.assertIn("does not change the format", refusal(*rekey, *streaming, self.target))
        other = self.folder / "other"
        self.assertEqual(bulk("encrypt", "-k", self.key, self.source, other)[0], 0)
        self.assertIn("does not change the format", refusal(*rekey, *TEMPLATE, other))
        self.same_tables(self.opened())

    def test_one_file_by_the_key_of_the_dataset(self) -> None:
        fsspec = needed("fsspec")
        from warpaes.fs import WarpaesFileSystem
        from warpaes.parquet._fs import ParquetFileSystem

        self.encrypt()
        files = ParquetFileSystem(keys=f"dataset:{self.key}", fs=fsspec.filesystem("file"))
        for name in self.content:
            with files.open(f"{self.target}/{name}") as plain:
                self.assertTrue(pq.read_table(plain).equals(read(self.content[name])))
        shutil.copy(self.target / "v2.parquet", self.target / "copy.parquet")
        with self.assertRaises(InvalidTag):
            files.open(f"{self.target}/copy.parquet")
        with self.assertRaisesRegex(ValueError, "aad_prefix"):
            ParquetFileSystem(keys=f"dataset:{self.key}", aad_prefix=b"x", fs=fsspec.filesystem("file"))
        streams = WarpaesFileSystem(f"dataset:{self.key}", fs=fsspec.filesystem("file"))
        with self.assertRaisesRegex(KeysetError, "warpaes-parquet"):
            streams.open(f"{self.target}/v2.parquet").read()
        other = self.folder / "other"
        self.assertEqual(bulk("encrypt", "-k", self.key, self.source, other)[0], 0)
        with self.assertRaisesRegex(KeysetError, "read it with the protocol warpaes"):
            files.open(f"{other}/v2.parquet")

    def test_nothing_in_clear_is_left(self) -> None:
        """No file in the target contains names of columns or statistics as plaintext."""
        self.encrypt()
        for path in self.target.rglob("*"):
            if path.is_file():
                self.assertNotIn(b"text 1", path.read_bytes(), path)
        for data in self.sealed().values():
            self.assertNotIn(b"number", data)

    def test_aes_128(self) -> None:
        options = ("--template", "AES128_GCM_PARQUET", "--envelope", "object")
        self.assertEqual(bulk("encrypt", "-k", self.key, *options, self.source, self.target)[0], 0)
        self.same_tables(self.opened())


class Store(StoreCase):
    """Tests with moto's S3."""

    def test_there_and_back(self) -> None:
        large = written(
            pa.table({"a": pa.array(range(1_500_000)), "b": pa.array(range(1_500_000))}),
            compression="none",
            use_dictionary=False,
            row_group_size=400_000,
        )
        self.assertGreater(len(large), 2 * WINDOW)
        files = {**content(), "large.parquet": large}
        for name, data in files.items():
            self.store.put(f"raw/{name}", data, Metadata={"kind": "trips"})
        status, report = bulk("encrypt", "-k", self.key, *TEMPLATE, "s3://bucket/raw", "s3://bucket/vault")
        self.assertEqual((status, report["errors"]), (0, 0), report)
        self.assertEqual(bulk("verify", "-k", self.key, "s3://bucket/vault")[0], 0)
        rekey = ("rekey", "-k", self.key, "--new-key", self.key2, "--envelope", "object")
        status, report = bulk(*rekey, "s3://bucket/vault")
        self.assertEqual((status, report["errors"]), (0, 0), report)
        status, report = bulk("decrypt", "-k", self.key2, "s3://bucket/vault", "s3://bucket/plain")
        self.assertEqual((status, report["errors"]), (0, 0), report)
        for name, data in files.items():
            self.assertEqual(self.store.get(f"vault/{name}")[:4], b"PARE")
            self.assertTrue(read(self.store.get(f"plain/{name}")).equals(read(data)), name)
        head = self.store.client.head_object(Bucket="bucket", Key="plain/large.parquet")
        self.assertEqual(head["Metadata"].get("kind"), "trips")

    def test_a_source_that_changes_on_the_way(self) -> None:
        for name, data in content().items():
            self.store.put(f"changing/{name}", data)
        changed = False

        def hook(method: str, url: str) -> None:
            nonlocal changed
            if method == "GET" and "v2.parquet" in url and "changing" in url and not changed:
                changed = True
                self.store.hook = None
                self.store.put("changing/v2.parquet", written(table(7, 7)))
                self.store.hook = hook

        self.store.hook = hook
        self.addCleanup(setattr, self.store, "hook", None)
        status, report = bulk("encrypt", "-k", self.key, *TEMPLATE, "s3://bucket/changing", "s3://bucket/changed")
        self.assertTrue(changed)
        self.assertEqual((status, report["errors"]), (1, 1), report)


class Windows(unittest.TestCase):
    """Objects are read in windows, in any order."""

    def test_any_order(self) -> None:
        rng = random.Random(7)
        with mock.patch.object(parquet, "WINDOW", 1000), ThreadPoolExecutor(4) as threads:
            for size in (0, 1, 999, 1000, 1001, 25_300):
                data = rng.randbytes(size)
                storage = mock.Mock()
                storage.read = lambda entry, begin, length, data=data: data[begin : begin + length]
                file = parquet.StorageFile(storage, Entry("name", size, ""), threads, digest=True)
                for _ in range(200):
                    at, length = rng.randrange(size + 1), rng.randrange(3000)
                    file.seek(at)
                    got = file.read(length) or b""
                    self.assertEqual(got, data[at : at + len(got)])
                    self.assertTrue(got or at == size or not length)
                    self.assertLessEqual(len(file._windows), parquet.AHEAD + 4)
                self.assertEqual(file.sha256(), hashlib.sha256(data).hexdigest())
                file.close()

    def test_one_form_in_clear(self) -> None:
        """A file that has been encrypted and decrypted has the same bytes as the compact form of its original."""
        from warpaes.parquet import Encryption, Keys
        from warpaes.parquet import open as open_view
        from warpaes.parquet._rewrite import rewritten

        def compact(data: bytes, key: bytes | None = None) -> bytes:
            view = open_view(io.BytesIO(data), Keys(key), allow_plaintext=key is None)
            return b"".join(bytes(piece) for piece in rewritten(view, None))

        for name, data in content().items():
            with self.subTest(name):
                view = open_view(io.BytesIO(data), Keys(None), allow_plaintext=True)
                sealed = b"".join(bytes(piece) for piece in rewritten(view, Encryption(bytes(32))))
                self.assertEqual(compact(sealed, bytes(32)), compact(data))
                self.assertEqual(compact(compact(data)), compact(data))
                self.assertTrue(read(compact(data)).equals(read(data)))

    def test_keys(self) -> None:
        with self.assertRaises(Exception) as caught:
            keys._data_key("AES256_GCM_PARQUET", bytes(16))
        self.assertIn("16 bytes", str(caught.exception))
        self.assertNotIn("\\x00", repr(keys.ParquetKey(bytes(32))))


if __name__ == "__main__":
    unittest.main()
