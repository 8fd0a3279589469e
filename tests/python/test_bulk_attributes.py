"""Tests that attributes of objects in an object store are kept, restored and compared, and that losses are
announced."""

from __future__ import annotations

import json
import re
import unittest
from typing import Any

from bulk_case import StoreCase, bulk, refusal
from warpaes.bulk import attributes, s3, storage, stores

#: Arguments of put_object, by an object's name.
OBJECTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "typed": {"ContentType": "text/html; charset=utf-8"},
    "octets": {"ContentType": "application/octet-stream"},
    "headers": {
        "ContentType": "application/json",
        "CacheControl": "max-age=60, private",
        "ContentDisposition": 'attachment; filename="a b.json"',
        "ContentEncoding": "gzip",
        "ContentLanguage": "de, en",
        "WebsiteRedirectLocation": "/elsewhere",
    },
    "metadata": {"Metadata": {"owner": "Alice", "empty": "", "with-dash_1": "a=b&c; d", "long": "x" * 500}},
    "full": {"Metadata": {"m": "x" * 2047}},
    "nearly": {"Metadata": {"m": "x" * 1990}},
    "tags": {"Tagging": "class=secret&empty=&a%3Db=c%3Dd+e%2Bf"},
    "all": {"ContentType": "image/png", "Metadata": {"owner": "Bob"}, "Tagging": "x=1"},
    "large": {"ContentType": "image/png", "Metadata": {"owner": "Bob"}, "Tagging": "x=1", "CacheControl": "no-store"},
}
#: Fields in the response to a HEAD request that are attributes.
FIELDS = {*attributes.HEADERS.values(), "Metadata"}


class Kept(StoreCase):
    def setUp(self) -> None:
        super().setUp()
        self.raw, self.sealed, self.back = (f"s3://bucket/{self.id().rpartition('.')[2]}/{each}" for each in "rsb")
        self.sizes = {name: (9 << 20 if name == "large" else 10) for name in OBJECTS}

    def at(self, place: str, name: str) -> str:
        return f"{place}/{name}".removeprefix("s3://bucket/")

    def fill(self) -> None:
        for name, given in OBJECTS.items():
            self.store.put(self.at(self.raw, name), b"x" * self.sizes[name], **given)

    def look(self, place: str, name: str) -> dict[str, Any]:
        """Return an object's attributes in the store, without bulk's own attributes."""
        key = self.at(place, name)
        head = self.store.client.head_object(Bucket="bucket", Key=key)
        found = {field: head[field] for field in FIELDS if head.get(field)}
        found["Metadata"] = {name: value for name, value in head["Metadata"].items() if not name.startswith("warpaes-")}
        tags = self.store.client.get_object_tagging(Bucket="bucket", Key=key)["TagSet"]
        return {**found, "tags": sorted((tag["Key"], tag["Value"]) for tag in tags)}

    def check(self, place: str, is_sealed: bool) -> None:
        for name in OBJECTS:
            expected = self.look(self.raw, name)
            if is_sealed:
                expected.pop("ContentEncoding", None)
            self.assertEqual(self.look(place, name), expected, name)

    def test_through_encryption_rekey_and_decryption(self) -> None:
        self.fill()
        for envelope in ("", "object"):
            with self.subTest(envelope):
                sealed, how = f"{self.sealed}{envelope}", ["--envelope", envelope] if envelope else []
                self.assertEqual(bulk("encrypt", "-k", self.key, *how, self.raw, sealed)[0], 0)
                self.check(sealed, True)
                self.assertEqual(bulk("verify", "-k", self.key, sealed)[0], 0)
                rekey = ("rekey", "-k", self.key, "--new-key", self.key2, *how, sealed)
                self.assertEqual(bulk(*rekey)[0], 0)
                self.check(sealed, True)
                self.assertEqual(bulk("verify", "-k", self.key2, sealed)[0], 0)
                self.assertEqual(bulk("decrypt", "-k", self.key2, sealed, f"{self.back}{envelope}")[0], 0)
                self.check(f"{self.back}{envelope}", False)

    def test_through_files(self) -> None:
        """A manifest that is stored with files contains the attributes, and they are restored from it."""
        self.fill()
        self.assertEqual(bulk("encrypt", "-k", self.key, self.raw, self.target)[0], 0)
        self.assertEqual(bulk("rekey", "-k", self.key, "--new-key", self.key2, self.target)[0], 0)
        self.assertEqual(bulk("decrypt", "-k", self.key2, self.target, self.back)[0], 0)
        self.check(self.back, False)

    def test_who_can_write_to_the_storage_does_not_choose_them(self) -> None:
        self.fill()
        bulk("encrypt", "-k", self.key, self.raw, self.sealed)
        changes: dict[str, dict[str, Any]] = {
            "typed": {"ContentType": "text/x-evil"},
            "all": {"ContentType": "image/png", "Metadata": {"owner": "Mallory"}},
            "tags": {"Tagging": "class=public"},
            "headers": {},
            "metadata": {},
        }
        for name, given in changes.items():
            key = self.at(self.sealed, name)
            self.store.put(key, self.store.get(key), **given)
        status, report = bulk("verify", "-k", self.key, self.sealed)
        self.assertEqual((status, {each["key"] for each in report["first_errors"]}), (1, set(changes)), report)
        self.assertIn("Metadata differs from the manifest", json.dumps(report))
        for command in (("decrypt", "-k", self.key, self.sealed, self.back),):
            self.assertEqual(bulk(*command)[0], 0)
        self.check(self.back, False)
        self.assertEqual(bulk("rekey", "-k", self.key, "--new-key", self.key2, self.sealed)[0], 0)
        self.check(self.sealed, True)
        self.assertEqual(bulk("verify", "-k", self.key2, self.sealed)[0], 0)

    def test_without_a_manifest_nothing_is_restored(self) -> None:
        self.fill()
        dataset = bulk("encrypt", "-k", self.key, self.raw, self.sealed)[1]["dataset"]
        how = ("--no-manifest", "--dataset", dataset)
        status, report = bulk("decrypt", "-k", self.key, *how, self.sealed, self.back)
        self.assertEqual(status, 0)
        self.assertIn("which only a manifest contains", report["notes"][0])
        self.assertEqual(
            self.look(self.back, "all"), {"ContentType": "binary/octet-stream", "Metadata": {}, "tags": []}
        )
        words = ("decrypt", "-k", self.key, *how, "--remove-source", self.sealed, f"{self.back}2")
        self.assertIn("add --accept-loss", refusal(*words))

    def test_what_the_command_line_gives_to_all(self) -> None:
        self.fill()
        put = ("--put", "ContentType=text/plain", "--put", "Tagging=team=b")
        self.assertEqual(bulk("encrypt", "-k", self.key, *put, self.raw, self.sealed)[0], 0)
        for name in OBJECTS:
            found = self.look(self.sealed, name)
            self.assertEqual((found["ContentType"], found["tags"]), ("text/plain", [("team", "b")]))
        self.assertEqual(bulk("verify", "-k", self.key, self.sealed)[0], 0)
        self.assertEqual(bulk("decrypt", "-k", self.key, self.sealed, self.back)[0], 0)
        self.check(self.back, False)

    def test_a_manifest_of_earlier_versions(self) -> None:
        import io

        import pyarrow.parquet as pq
        from warpaes.bulk import rows

        data = rows.pack([rows.Row("a", "a", 1, "v", sha256="0")])
        table = pq.read_table(io.BytesIO(data)).drop_columns(["attributes"])
        out = io.BytesIO()
        pq.write_table(table, out)
        self.assertEqual(rows.unpack(out.getvalue()), rows.unpack(data))


class Lost(StoreCase):
    """Attributes that a copy would lose are reported before the run. Removing such originals requires an additional
    option."""

    def bucket(self, name: str, **arguments: Any) -> Any:
        self.store.client.create_bucket(Bucket=name, **arguments)
        self.store.client.put_object(Bucket=name, Key="r/a", Body=b"a")
        return self.store.client

    def check(self, source: str, sentence: str, more: tuple[str, ...] = ()) -> None:
        target = self.folder / re.sub(r"\W", "", source)
        words = ("encrypt", "-k", self.key, *more, source)
        if not sentence:
            self.assertEqual(bulk(*words, "--remove-source", target)[1]["notes"], [])
            return
        said = refusal(*words, "--remove-source", target)
        self.assertIn(sentence, said)
        self.assertIn("add --accept-loss", said)
        self.assertEqual(self.files(target), {})
        self.assertTrue(list(stores.open_storage(source).list()))
        status, report = bulk(*words, target)
        self.assertEqual(status, 0)
        self.assertIn(sentence, report["notes"][0])
        self.assertIn(sentence, refusal(*words, "--remove-source", target))
        self.assertTrue(list(stores.open_storage(source).list()))
        status, report = bulk(*words, "--remove-source", "--accept-loss", target)
        self.assertEqual((status, report["errors"]), (0, 0))
        self.assertRaises(storage.MissingError, lambda: list(stores.open_storage(source).list()))

    def test_nothing(self) -> None:
        self.bucket("enforced", ObjectOwnership="BucketOwnerEnforced")
        self.check("s3://enforced/r", "")

    def test_access_lists(self) -> None:
        self.bucket("unset")
        self.check("s3://unset/r", "access lists")
        self.bucket("writer", ObjectOwnership="ObjectWriter")
        self.check("s3://writer/r", "access lists")

    def test_storage_classes(self) -> None:
        client = self.bucket("cold", ObjectOwnership="BucketOwnerEnforced")
        client.put_object(Bucket="cold", Key="r/b", Body=b"b", StorageClass="STANDARD_IA")
        self.check("s3://cold/r", "the storage class of STANDARD_IA objects")
        client.put_object(Bucket="cold", Key="q/b", Body=b"b", StorageClass="STANDARD_IA")
        self.check("s3://cold/q", "", ("--put", "StorageClass=STANDARD_IA"))

    def test_versions_and_locks(self) -> None:
        client = self.bucket("locked", ObjectOwnership="BucketOwnerEnforced", ObjectLockEnabledForBucket=True)
        self.assertEqual(client.get_bucket_versioning(Bucket="locked")["Status"], "Enabled")
        target = self.folder / "t"
        said = refusal("encrypt", "-k", self.key, "--remove-source", "s3://locked/r", target)
        self.assertIn("older versions", said)
        self.assertIn("retention periods and legal holds", said)

    def test_attributes_where_files_have_none(self) -> None:
        self.store.client.put_object(Bucket="bucket", Key="r/a", Body=b"a", ContentType="text/x", Metadata={"a": "b"})
        self.assertEqual(bulk("encrypt", "-k", self.key, "s3://bucket/r", "s3://bucket/s")[0], 0)
        words = ("decrypt", "-k", self.key, "s3://bucket/s", self.target)
        sentence = "ContentType, Metadata of objects: files do not have these"
        self.assertIn(sentence, refusal(*words, "--remove-source"))
        self.assertIn(sentence, bulk(*words)[1]["notes"][0])
        self.assertIn(sentence, refusal(*words, "--remove-source"))
        self.assertEqual(bulk(*words, "--remove-source", "--accept-loss")[0], 0)

    def test_through_fsspec(self) -> None:
        import fsspec

        fsspec.filesystem("memory").pipe_file("/lost/a", b"a")
        self.addCleanup(fsspec.filesystem("memory").rm, "/lost", recursive=True)
        target = self.folder / "t"
        said = refusal("encrypt", "-k", self.key, "--remove-source", "memory://lost", target)
        self.assertIn("which fsspec does not read", said)

    def test_own_metadata_gives_way(self) -> None:
        """S3's limit applies to the total metadata of an object."""
        there = stores.open_storage("s3://bucket/x")
        assert isinstance(there, s3.S3Storage)
        for length in (0, 1900, 1960, 1990, 2047):
            attempt = storage.Attempt(key_id="1234567890", attributes=lambda: {"Metadata": {"m": "x" * length}})  # noqa: B023
            headers = {name: value for name, value in there.headers(attempt).items() if name.startswith("x-amz-meta-")}
            size = sum(len(name) - len("x-amz-meta-") + len(value) for name, value in headers.items())
            self.assertLessEqual(size, 2048)
            self.assertEqual("x-amz-meta-warpaes-attempt" in headers, length <= 1990)


if __name__ == "__main__":
    unittest.main()
