"""Tests `warpaes bulk` with an object store that reports wrong names, sizes and versions, or whose listings never
end."""

from __future__ import annotations

import http.server
import os
import unittest
import unittest.mock
import urllib.parse
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from xml.sax.saxutils import escape

from bulk_case import Case, bulk, said_by
from support import needed, served
from warpaes.bulk import storage, stores

Answer = tuple[int, dict[str, str], bytes]


def page(*items: dict[str, Any], token: str = "") -> bytes:
    """Return a page of a listing."""
    contents = "".join(
        "<Contents>" + "".join(f"<{name}>{escape(str(value))}</{name}>" for name, value in item.items()) + "</Contents>"
        for item in items
    )
    more = f"<IsTruncated>true</IsTruncated><NextContinuationToken>{token}</NextContinuationToken>" if token else ""
    return f"<?xml version='1.0'?><ListBucketResult>{contents}{more}</ListBucketResult>".encode()


class Lies(Case):
    """Tests that determine the store's responses."""

    def setUp(self) -> None:
        super().setUp()
        needed("boto3")
        os.environ.update(
            AWS_ACCESS_KEY_ID="test", AWS_SECRET_ACCESS_KEY="test", AWS_DEFAULT_REGION="us-east-1", AWS_CONFIG_FILE="/"
        )
        case = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                path, _, query = self.path.partition("?")
                name = urllib.parse.unquote(path).removeprefix("/bucket").removeprefix("/")
                asked = self.command, name, dict(urllib.parse.parse_qsl(query))
                status, headers, body = (404, {}, b"") if storage.FOLDER in name else case.say(*asked)
                case.asked += 1
                self.send_response(status)
                for each, value in {"Content-Length": str(len(body)), **headers}.items():
                    self.send_header(each, value)
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = answer  # noqa: N815

            def log_message(self, format: str, *arguments: Any) -> None:
                pass

        server = served(self, Handler)
        self.asked = 0
        from warpaes.bulk.s3 import S3Storage

        pause = unittest.mock.patch.object(S3Storage, "pause", staticmethod(lambda number: None))
        pause.start()
        self.addCleanup(pause.stop)
        self.options = {"endpoint_url": f"http://127.0.0.1:{server.server_address[1]}", "tries": 2}
        self.say: Callable[[str, str, dict[str, str]], Answer] = lambda *_: (404, {}, b"")

    def store(self, prefix: str = "raw") -> storage.Storage:
        return stores.open_storage(f"s3://bucket/{prefix}", self.options)

    def listing(self, *items: dict[str, Any], content: bytes = b"1") -> None:
        """List these objects, each of which has this content."""

        def say(method: str, name: str, query: dict[str, str]) -> Answer:
            return (200, {}, page(*items)) if "list-type" in query else (200, {"ETag": '"1"'}, content)

        self.say = say

    def encrypt(self) -> tuple[int, dict[str, Any]]:
        return bulk(
            "encrypt", "-k", self.key, "--endpoint-url", self.options["endpoint_url"], "s3://bucket/raw", self.target
        )

    def test_names(self) -> None:
        """Each invalid name is reported as an error of its row. Nothing is written outside the target."""
        names = ["../x", "a/../../x", "/etc/x", "a//x", "./x", "..", "n" * 300, "p/" * 2500 + "x"]
        good = ["good", "\x7f", "\u202e", "x\u0085y"]  # XML cannot contain other control characters
        self.listing(*({"Key": f"raw/{name}", "Size": 1, "ETag": '"1"'} for name in [*names, *good]))
        before = {path.name for path in self.folder.iterdir()}
        status, report = self.encrypt()
        self.assertEqual((status, report["done"], report["errors"]), (1, len(good), len(names)), report)
        self.assertEqual({path.name for path in self.folder.iterdir()} - before, {"target"})
        self.assertEqual(len(self.files(self.target)), len(good))

    def test_sizes(self) -> None:
        for size in (0, 2, -1, -(1 << 70), 9 << 20, 1 << 62, 1 << 70):
            with self.subTest(size):
                self.listing({"Key": "raw/x", "Size": size, "ETag": '"1"'}, {"Key": "raw/y", "Size": 1, "ETag": '"1"'})
                self.target = self.folder / f"target{size}"
                status, report = self.encrypt()
                self.assertEqual((status, report["done"], report["errors"]), (1, 1, 1), report)
                self.assertEqual(report["first_errors"][0]["key"], "x")
                self.assertEqual(report["retries"], 0)
                self.assertEqual(self.files(self.target).keys(), {"y"})

    def test_a_size_that_a_single_answer_claims(self) -> None:
        for length in ("-5", str(1 << 70)):
            self.say = lambda *_: (200, {"Content-Length": length, "ETag": '"1"'}, b"")  # noqa: B023
            self.assertEqual(self.store().stat("x").size, (1 << 63) - 1)

    def test_versions(self) -> None:
        for version in ("", '"', "x" * 2000, '"a b"', '"ä"', "\x85", '"\u202e"'):
            with self.subTest(version):
                self.listing({"Key": "raw/x", "Size": 1, "ETag": version}, {"Key": "raw/y", "Size": 1, "ETag": '"1"'})
                self.target = self.folder / f"target{len(os.listdir(self.folder))}"
                status, report = self.encrypt()
                if version != '"':  # a request can contain this version
                    self.assertEqual((status, report["done"], report["errors"]), (1, 1, 1), report)
                    self.assertIn("is not an ETag", report["first_errors"][0]["error"])
        there = self.store()
        self.say = lambda *_: (200, {"ETag": "a\tb"}, b"")
        for operation in (
            lambda: there.put("x", b"1", "a\r\nX-Planted: 1"),
            lambda: there.remove(there.stat("x")),
            lambda: there.read(storage.Entry("x", 1, "\r\n"), 0, 1),
        ):
            self.assertRaises(storage.PermanentError, operation)

    def test_listings_without_end(self) -> None:
        one = {"Key": "raw/x", "Size": 1, "ETag": '"1"'}
        pages: dict[str, Callable[[int], bytes]] = {
            "the same page": lambda number: page(one, token="again"),
            "two in turn": lambda number: page(one, token=f"t{number % 2}"),
            "nothing": lambda number: page(token=f"t{number}"),
        }
        for name, make in pages.items():
            with self.subTest(name):
                self.asked = 0
                self.say = lambda *_: (200, {}, make(self.asked))  # noqa: B023
                with self.assertRaisesRegex(OSError, "does not end"):
                    list(self.store().list())
                self.assertLess(self.asked, 200)

    def test_uploads_without_end(self) -> None:
        again = (
            "<IsTruncated>true</IsTruncated><NextKeyMarker>k</NextKeyMarker><NextUploadIdMarker>u</NextUploadIdMarker>"
        )
        body = f"<ListMultipartUploadsResult>{again}</ListMultipartUploadsResult>".encode()
        self.say = lambda *_: (200, {}, body)
        with self.assertRaisesRegex(OSError, "does not end"):
            self.store().sweep({"x"})

    def test_answers_that_lack_something(self) -> None:
        """Each caller reports the missing field in its message."""
        given = (
            "encrypt",
            "-k",
            self.key,
            "--endpoint-url",
            self.options["endpoint_url"],
            "s3://bucket/raw",
            self.target,
        )
        whole = {"Key": "raw/x", "Size": 1, "ETag": '"1"'}
        for name in whole:
            self.listing({each: value for each, value in whole.items() if each != name})
            status, said = said_by(*given)
            self.assertEqual((status, name in said), (2, True), said)
        self.say = lambda *_: (200, {}, page(whole).replace(b"</List", b"<IsTruncated>true</IsTruncated></List"))
        self.assertIn("NextContinuationToken", said_by(*given)[1])
        self.listing({**whole, "Key": "elsewhere/x"})
        self.assertIn("does not begin with", said_by(*given)[1])
        there = self.store()
        self.say = lambda *_: (200, {}, b"")
        with ThreadPoolExecutor(4) as threads:
            upload = there.create("x", 9 << 20, None, storage.Attempt(), threads)
            for operation in (
                lambda: there.stat("x"),
                lambda: there.put("x", b"1"),
                lambda: (upload.write(memoryview(bytes(9 << 20))), upload.commit()),
            ):
                with self.assertRaisesRegex(OSError, "does not contain (ETag|UploadId)"):
                    operation()


if __name__ == "__main__":
    unittest.main()
