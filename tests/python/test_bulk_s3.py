"""Tests `warpaes bulk` on moto's S3 server, behind a proxy with faults that the tests choose."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import io
import os
import pathlib
import re
import unittest
import unittest.mock
import urllib.parse
import zlib
from typing import Any

import warpaes
from bulk_case import SIZES, Case, bulk, refusal
from support import needed
from warpaes.bulk import cli, keys, manifest, storage, stores

#: A key of the maximum length.
LONGEST = 1024


class ObjectStore(Case):
    """Tests with moto's S3 behind a proxy with faults that the tests choose."""

    @classmethod
    def setUpClass(cls) -> None:
        for name in ("moto", "boto3", "flask"):
            needed(name)
        from faulty_s3 import Store

        cls.store = Store(slow=0.1)
        cls.addClassCleanup(cls.store.close)

    def setUp(self) -> None:
        super().setUp()
        self.addCleanup(self.quiet)
        self.prefix = self.id().rpartition(".")[2]
        self.raw, self.sealed = (f"s3://bucket/{self.prefix}/{name}" for name in ("raw", "sealed"))
        self.options = ["--endpoint-url", self.store.proxy.url, "--timeout", "20"]

    def quiet(self) -> None:
        self.store.proxy.hook, self.store.proxy.rate = None, 0

    def fill(self, sizes: list[int]) -> dict[str, bytes]:
        content = {name.replace("o b", "o b+%20ä&=~'()"): data for name, data in self.content(sizes).items()}
        for name, data in content.items():
            self.store.put(f"{self.prefix}/raw/{name}", data)
        return content

    def check(self, content: dict[str, bytes], key: pathlib.Path) -> None:
        """Check that the dataset is complete and correct and that no other object exists."""
        keyset = warpaes.Keyset.parse(key.read_bytes())
        there = self.load_sealed(key)
        names = self.store.keys(f"{self.prefix}/sealed/")
        objects = {name.split("/", 2)[2] for name in names if storage.FOLDER not in name}
        self.assertEqual(objects, set(content))
        digests = {row.key: row.sha256 for row in there.rows if row.is_sealed}
        self.assertEqual(digests.keys(), content.keys())
        for name, data in content.items():
            sealed = self.store.get(f"{self.prefix}/sealed/{name}")
            self.assertEqual(digests[name], hashlib.sha256(sealed).hexdigest())
            associated = keys.name_data(there.dataset, name)
            with warpaes.open(sealed, keyset=keyset, associated_data=associated) as file:
                self.assertEqual(file.read(), data)
        self.assertEqual(self.store.uploads(), [])
        self.assertEqual([name for name in names if name.endswith("/lock")], [])
        shards = {name.split("/", 2)[2] for name in names if manifest.SHARDS in name}
        self.assertEqual(shards, {shard.file for shard in there.shards})

    def load_sealed(self, key: pathlib.Path) -> manifest.Manifest:
        there = stores.open_storage(self.sealed, {"endpoint_url": self.store.moto.url})
        found = manifest.Manifest.load(there, keys.KeySpec.read(str(key)).holders())
        assert found is not None
        return found

    def encrypt(self, *options: str) -> tuple[int, dict[str, Any]]:
        return bulk("encrypt", "-k", self.key, *options, *self.options, self.raw, self.sealed)

    def test_there_and_back(self) -> None:
        content = self.fill(SIZES)
        self.assertEqual(self.encrypt()[0], 0)
        self.check(content, self.key)
        self.assertEqual(bulk("verify", "-k", self.key, *self.options, self.sealed)[0], 0)
        keys_given = ("-k", self.key, "--new-key", self.key2)
        self.assertEqual(bulk("rekey", *keys_given, *self.options, self.sealed)[0], 0)
        self.check(content, self.key2)
        self.assertEqual(bulk("decrypt", "-k", self.key2, *self.options, self.sealed, self.folder / "out")[0], 0)
        self.assertEqual(self.files(self.folder / "out"), content)

    def once(self, pattern: str, fault: str) -> list[str]:
        """Inject this fault into the first request of a kind."""
        from faulty_s3 import matches

        happened: list[str] = []

        def hook(method: str, path: str) -> str:
            if not happened and matches(pattern, method, path):
                happened.append(path)
                return fault
            return ""

        self.store.proxy.hook = hook
        return happened

    def test_lost_answers_of_what_makes_objects_appear(self) -> None:
        for number, (size, pattern) in enumerate(
            [
                (100, r"PUT .*/sealed/a.*"),
                (9_000_000, r"POST .*/sealed/a.*uploadId=.*"),
                (9_000_000, r"POST .*\?uploads"),
            ]
        ):
            with self.subTest(pattern):
                self.prefix = f"lost{number}"
                self.raw, self.sealed = (f"s3://bucket/{self.prefix}/{name}" for name in ("raw", "sealed"))
                content = self.fill([size])
                happened = self.once(pattern, "lost")
                status, report = self.encrypt()
                found = (len(happened), status, report["retries"], report["adopted"])
                self.assertEqual(found, (1, 0, 0, 0), report)
                self.check(content, self.key)

    def test_every_kind_of_fault(self) -> None:
        content = self.fill([0, 10, 5000] * 20 + [17_000_000, 9_000_000])
        from faulty_s3 import FAULTS

        self.store.proxy.rate = 1.5
        before = {name: self.store.proxy.counts[name] for name in FAULTS}
        self.assertEqual(self.encrypt("--attempts", "20")[0], 0)
        keys_given = ("-k", self.key, "--new-key", self.key2, "--attempts", "20")
        self.assertEqual(bulk("rekey", *keys_given, *self.options, self.sealed)[0], 0)
        self.quiet()
        self.check(content, self.key2)
        for name, count in before.items():
            self.assertGreater(self.store.proxy.counts[name], count, name)

    def test_orphans_of_a_dead_run_are_aborted(self) -> None:
        content = self.fill([9_000_000])
        key = f"{self.prefix}/sealed/{next(iter(content))}"
        self.store.direct.create_multipart_upload(Bucket="bucket", Key=key)
        self.store.direct.create_multipart_upload(Bucket="bucket", Key=f"{self.prefix}/somebody-else")
        status, report = self.encrypt()
        self.assertEqual((status, report["parts_swept"]), (0, 1))
        self.assertEqual(self.store.uploads(), [f"{self.prefix}/somebody-else"])
        self.store.direct.abort_multipart_upload(
            Bucket="bucket",
            Key=f"{self.prefix}/somebody-else",
            UploadId=self.store.direct.list_multipart_uploads(Bucket="bucket")["Uploads"][0]["UploadId"],
        )

    def test_a_source_that_changes_on_the_way(self) -> None:
        content = self.fill([25_000_000, 10])
        name = next(iter(content))

        def hook(method: str, path: str) -> str:
            if method == "GET" and "/raw/" in path and "25000000" in path:
                # Later requests ask for other ranges of the object.
                self.store.proxy.hook = None
                self.store.put(f"{self.prefix}/raw/{name}", b"new")
            return ""

        self.store.proxy.hook = hook
        status, report = self.encrypt("--requests", "1")
        self.assertEqual((status, report["errors"], report["done"]), (1, 1, 1))
        del content[name]
        self.check(content, self.key)

    def test_somebody_elses_object_is_not_replaced(self) -> None:
        content = self.fill([9_000_000])
        name = f"{self.prefix}/sealed/{next(iter(content))}"
        from faulty_s3 import matches

        def hook(method: str, path: str) -> str:
            if matches(r"POST .*uploadId=.*", method, path):
                self.store.proxy.hook = None
                self.store.put(name, b"somebody's")
            return ""

        self.store.proxy.hook = hook
        status, report = self.encrypt()
        self.assertEqual((status, report["errors"]), (1, 1))
        self.assertEqual(self.store.get(name), b"somebody's")
        self.assertEqual(self.store.uploads(), [])

    def test_names_that_only_object_stores_have(self) -> None:
        for name in ("/x", "x", "a//b", "a/", "b/"):
            self.store.put(f"{self.prefix}/raw/{name}", b"" if name == "b/" else name.encode())
        status, report = self.encrypt()
        self.assertEqual((status, report["done"]), (0, 4))
        self.assertEqual(bulk("verify", "-k", self.key, *self.options, self.sealed)[1]["done"], 4)
        status, report = bulk("decrypt", "-k", self.key, *self.options, self.sealed, self.folder / "out")
        self.assertEqual((status, report["done"], report["errors"]), (1, 1, 3))
        self.assertEqual(self.files(self.folder / "out"), {"x": b"x"})

    def test_one_object_alone(self) -> None:
        self.store.put(f"{self.prefix}/raw/a/one", b"1234")
        self.raw += "/a/one"
        self.assertEqual(self.encrypt()[0], 0)
        self.check({"one": b"1234"}, self.key)

    def test_data_keys_under_a_key_manager(self) -> None:
        import boto3

        os.environ["AWS_ENDPOINT_URL_KMS"] = self.store.moto.url
        self.addCleanup(os.environ.pop, "AWS_ENDPOINT_URL_KMS")
        manager = "aws-kms://" + boto3.client("kms").create_key()["KeyMetadata"]["Arn"]
        content = self.fill([0, 10, 5000])
        self.assertIn("add --envelope", refusal("encrypt", "-k", manager, *self.options, self.raw, self.sealed))
        for envelope in ("job", "object"):
            sealed, out = f"{self.sealed}-{envelope}", self.folder / envelope
            how = ("--envelope", envelope, *self.options)
            self.assertEqual(bulk("encrypt", "-k", self.key, *how, self.raw, sealed)[0], 0)
            moved = ("-k", self.key, "--new-key", manager, *self.options, sealed)
            self.assertEqual(bulk("rewrap", *moved)[0], 0)
            self.assertIn(
                "was not saved under any of the given keys", refusal("verify", "-k", self.key, *self.options, sealed)
            )
            self.assertEqual(bulk("rekey", "-k", manager, *how, "--drop-old-keys", sealed)[0], 0)
            self.assertEqual(bulk("decrypt", "-k", manager, *self.options, sealed, out)[0], 0)
            self.assertEqual(self.files(out), content)

    def test_names_of_every_kind(self) -> None:
        longest = "l" * (LONGEST - len(f"{self.prefix}/sealed/"))
        names = ["%", "%41", "a?b=c", "a#b", "ä\u2028", "...", " ", "x\x01y", "+", "\\", "a/../b", "a/./b", longest]
        for name in names:
            self.store.put(f"{self.prefix}/raw/{name}", name.encode())
        self.store.put(f"{self.prefix}/raw/{longest}x", b"longer in the target")
        status, report = self.encrypt()
        self.assertEqual((status, report["done"], report["errors"]), (1, len(names), 1))
        self.assertIn("bytes, but S3 allows 1024", report["first_errors"][0]["error"])
        status, report = bulk("decrypt", "-k", self.key, *self.options, self.sealed, f"s3://bucket/{self.prefix}/out")
        self.assertEqual(report["done"], len(names))
        for name in names:
            self.assertEqual(self.store.get(f"{self.prefix}/out/{name}"), name.encode())

    def test_a_size_that_is_not_the_objects(self) -> None:
        """With a wrong size, only the beginning of the object would be encrypted, and the original would be removed."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        self.store.put(f"{self.prefix}/raw/x", bytes(20_000_000))
        etag = self.store.direct.head_object(Bucket="bucket", Key=f"{self.prefix}/raw/x")["ETag"].strip('"')
        path = self.folder / "list.parquet"
        for size, done in ((10_000_000, 0), (20_000_000, 1)):
            pq.write_table(pa.table({"key": ["x"], "size": [size], "etag": [etag]}), path)
            target = f"{self.sealed}{done}"
            given = ("-k", self.key, "--names", path, *self.options, self.raw, target)
            status, report = bulk("encrypt", *given)
            self.assertEqual((status, report["done"]), (1 - done, done), report)
        self.assertEqual(len(self.store.get(f"{self.prefix}/raw/x")), 20_000_000)

    def test_no_answer_is_longer_than_what_was_asked_for(self) -> None:
        """Memory stays bounded even if a store ignores ranges or sends too much."""
        self.store.put(f"{self.prefix}/raw/x", bytes(20_000_000))
        raw = stores.open_storage(self.raw, {"endpoint_url": self.store.proxy.url, "tries": 1})
        entry = raw.stat("x")
        self.assertEqual(raw.read(entry, 5, 100), bytes(100))
        self.store.proxy.hook = lambda method, path: "whole"
        with self.assertRaisesRegex(OSError, "more than 1048576 bytes were received"):
            raw.read(entry, 0, 100)

    def test_credentials_that_expire_end_the_job_and_no_row(self) -> None:
        content = self.fill([10] * 30)
        for code in ("ExpiredToken", "RequestTimeTooSkewed"):
            began = self.store.proxy.requests
            self.store.proxy.hook = lambda method, path: (
                f"say 403 {code}" if method == "PUT" and "/sealed/a" in path else ""  # noqa: B023
            )
            said = io.StringIO()
            with contextlib.redirect_stderr(said):
                given = ["encrypt", "-q", "-k", str(self.key), *self.options, self.raw, self.sealed]
                self.assertEqual(cli.main(given), 1)
            self.assertIn(code, said.getvalue())
            self.assertIn("run the same command to continue", said.getvalue())
            self.assertLess(self.store.proxy.requests - began, 120)
        self.quiet()
        status, report = self.encrypt()
        self.assertEqual((status, report["done"]), (0, 30))
        self.check(content, self.key)

    def test_what_is_answered_for_a_while_is_tried_again(self) -> None:
        content = self.fill([10])
        for status, code in ((429, "TooManyRequests"), (409, "ConditionalRequestConflict"), (500, "InternalError")):
            self.sealed = f"s3://bucket/{self.prefix}/{code}"
            happened = self.once(rf"PUT .*/{code}/a.*", f"say {status} {code}")
            found, report = self.encrypt()
            self.assertEqual((found, report["retries"], len(happened)), (0, 0, 1), report)
        self.assertEqual(len(content), 1)

    def test_two_stores_of_one_name_are_two(self) -> None:
        self.store.put(f"{self.prefix}/raw/x", b"1")
        given = ("-k", self.key, "--endpoint-url", self.store.proxy.url)
        self.assertIn("are the same", refusal("encrypt", *given, self.raw, self.raw + "/"))
        self.assertIn("is inside", refusal("encrypt", *given, self.raw, self.raw + "/sealed"))
        other = ("--source-endpoint-url", self.store.moto.url)
        # The same store has two names. Existing objects are kept.
        status, report = bulk("encrypt", *given, *other, self.raw, self.raw)
        self.assertEqual((status, report["errors"]), (1, 1))
        self.assertEqual(self.store.get(f"{self.prefix}/raw/x"), b"1")

    def test_versions_that_are_kept_are_said(self) -> None:
        self.store.direct.create_bucket(Bucket="versions")
        self.store.direct.put_bucket_versioning(Bucket="versions", VersioningConfiguration={"Status": "Enabled"})
        self.store.direct.put_object(Bucket="versions", Key="raw/x", Body=b"1")
        given = ("-k", self.key, *self.options)
        words = ("encrypt", *given, "--remove-source", "s3://versions/raw", "s3://versions/sealed")
        self.assertIn("older versions", refusal(*words))
        status, report = bulk(*words, "--accept-loss")
        self.assertEqual((status, len(report["notes"])), (0, 2))
        self.assertIn("so the originals still exist there", report["notes"][1])
        status, report = bulk("rekey", *given, "--new-key", self.key2, "s3://versions/sealed")
        self.assertIn("which the old key can still decrypt", report["notes"][0])
        self.assertNotIn("so the originals still exist there", str(self.encrypt_one()["notes"]))

    def encrypt_one(self) -> dict[str, Any]:
        self.fill([10])
        return self.encrypt("--remove-source", "--accept-loss")[1]

    def test_no_profile_and_no_credentials_are_one_sentence(self) -> None:
        self.fill([10])
        with unittest.mock.patch.dict(os.environ, AWS_PROFILE="no-such-profile"):
            self.assertIn("no-such-profile", refusal("encrypt", "-k", self.key, *self.options, self.raw, self.sealed))
        nothing = dict.fromkeys(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), "")
        nothing |= {"AWS_EC2_METADATA_DISABLED": "true", "AWS_SHARED_CREDENTIALS_FILE": "/nothing"}
        with unittest.mock.patch.dict(os.environ, nothing):
            for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
                del os.environ[name]
            self.assertIn("credentials", refusal("encrypt", "-k", self.key, *self.options, self.raw, self.sealed))

    def test_refusals_are_not_tried_again(self) -> None:
        began = self.store.proxy.requests
        said = refusal("encrypt", "-k", self.key, *self.options, self.raw, "s3://no-such-bucket/x")
        self.assertIn("NoSuchBucket", said)
        self.assertLess(self.store.proxy.requests - began, 5)


class Signatures(unittest.TestCase):
    """moto does not check signatures, so the test computes them as AWS describes for version 4."""

    def setUp(self) -> None:
        self.made: dict[str | None, Any] = {}

    def request(self, endpoint: str | None, *arguments: Any) -> Any:
        needed("boto3")
        import boto3
        from warpaes.bulk.s3_http import Http

        if endpoint not in self.made:
            session = boto3.session.Session("AKID", "SECRET", region_name="eu-west-1")
            client = session.client("s3", endpoint_url=endpoint)
            self.made[endpoint] = Http(client, session.get_credentials(), "bucket", 4, (1, 1), True)
        http = self.made[endpoint]
        sent: list[Any] = []

        class Captured(Exception):  # noqa: N818
            pass

        def send(request: Any) -> Any:
            sent.append(request)
            raise Captured

        http._session.send = send
        with self.assertRaises(Captured):
            http.send(*arguments)
        return sent[0]

    def check(self, request: Any, name: str) -> dict[str, str]:
        headers = {
            key.lower(): value.decode() if isinstance(value, bytes) else value for key, value in request.headers.items()
        }
        url = urllib.parse.urlsplit(request.url)
        folder = "/" if url.netloc == "bucket.s3.eu-west-1.amazonaws.com" else "/bucket/"
        self.assertEqual(url.path, folder + urllib.parse.quote(name, safe="/-._~"))
        found = re.fullmatch(
            r"AWS4-HMAC-SHA256 Credential=AKID/(\d{8})/eu-west-1/s3/aws4_request, SignedHeaders=(.*), Signature=(.*)",
            headers["authorization"],
        )
        assert found is not None
        day, names, signature = found.groups()
        query = "&".join(
            f"{urllib.parse.quote(key, safe='-._~')}={urllib.parse.quote(value, safe='-._~')}"
            for key, value in sorted(urllib.parse.parse_qsl(url.query))
        )
        listed = "".join(f"{key}:{headers.get(key, url.netloc)}\n" for key in names.split(";"))
        canonical = "\n".join([request.method, url.path, query, listed, names, headers["x-amz-content-sha256"]])
        digest = hashlib.sha256(canonical.encode()).hexdigest()
        text = f"AWS4-HMAC-SHA256\n{headers['x-amz-date']}\n{day}/eu-west-1/s3/aws4_request\n{digest}"
        key = b"AWS4SECRET"
        for part in (day, "eu-west-1", "s3", "aws4_request", text):
            key = hmac.digest(key, part.encode(), "sha256")
        self.assertEqual(key.hex(), signature)
        for each in headers.keys() - {"authorization", "content-length", "user-agent"}:
            self.assertIn(each, names.split(";"))
        return headers

    def test_every_kind_of_request(self) -> None:
        name = "a b+c/ä%2f~'()&=#?/*.x"
        for endpoint in (None, "http://127.0.0.1:9", "https://store.example"):
            with self.subTest(endpoint):
                self.check(self.request(endpoint, "GET", name, {"If-Match": '"e"', "Range": "bytes=1-2"}), name)
                meta = {"If-None-Match": "*", "x-amz-meta-warpaes-attempt": "1", "x-amz-storage-class": "STANDARD_IA"}
                headers = self.check(self.request(endpoint, "PUT", name, meta, b"body"), name)
                over_tls = endpoint is None or endpoint.startswith("https")
                body = "UNSIGNED-PAYLOAD" if over_tls else hashlib.sha256(b"body").hexdigest()
                self.assertEqual(headers["x-amz-content-sha256"], body)
                self.assertEqual(
                    headers["x-amz-checksum-crc32"], base64.b64encode(zlib.crc32(b"body").to_bytes(4, "big")).decode()
                )
                query = "?" + urllib.parse.urlencode({"partNumber": 7, "uploadId": "a+b/c=="})
                self.check(self.request(endpoint, "PUT", name, {}, b"part", query), name)


if __name__ == "__main__":
    unittest.main()
