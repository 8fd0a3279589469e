#!/usr/bin/env python3
"""Serves an object store with a given latency, for tools/bulk_bench.py.

The server supports only the requests that the benchmark sends, and does not check signatures. It is fast enough not to
limit the benchmark's clients.

    tools/bench_s3.py 9000 /dev/shm/objects 0.02
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import os
import re
import urllib.parse
import uuid
from pathlib import Path
from xml.sax.saxutils import escape


class Server:
    def __init__(self, folder: Path, latency: float) -> None:
        self.folder, self.latency = folder, latency
        self.metadata: dict[str, dict[str, str]] = {}  # with the ETag
        self.uploads: dict[str, dict[str, str]] = {}

    def path(self, key: str) -> Path:
        return self.folder / urllib.parse.quote(key, safe="")

    async def client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                method, target, _ = head.split("\r\n", 1)[0].split(" ")
                headers = {k.lower(): v for k, v in re.findall(r"^([^:\r\n]+): *([^\r\n]*)", head, re.MULTILINE)}
                if headers.get("expect"):
                    writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                path, _, query = target.partition("?")
                if self.latency:
                    await asyncio.sleep(self.latency)
                arguments = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
                status, extra, data = self.answer(method, urllib.parse.unquote(path), arguments, headers, body)
                length = extra.pop("content-length", str(len(data)))
                lines = [f"HTTP/1.1 {status} x", f"content-length: {length}", *(f"{k}: {v}" for k, v in extra.items())]
                writer.write("\r\n".join([*lines, "", ""]).encode() + (b"" if method == "HEAD" else data))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    def answer(
        self, method: str, key: str, arguments: dict[str, str], headers: dict[str, str], body: bytes
    ) -> tuple[int, dict[str, str], bytes]:
        """Return the status, headers and body of the response to a request."""
        there = self.metadata.get(key)
        if method == "GET" and "list-type" in arguments:
            return self.list(key, arguments)
        if method == "GET" and "uploads" in arguments:
            return 200, {}, b"<ListMultipartUploadsResult><IsTruncated>false</IsTruncated></ListMultipartUploadsResult>"
        if method in ("GET", "HEAD"):
            if there is None:
                return 404, {}, b"<Error><Code>NoSuchKey</Code></Error>"
            if headers.get("if-match", there["etag"]) != there["etag"]:
                return 412, {}, b"<Error><Code>PreconditionFailed</Code></Error>"
            return self.read(method, key, headers)
        if method == "DELETE":
            self.metadata.pop(key, None)
            return 204, {}, b""
        if "uploads" in arguments:
            name = uuid.uuid4().hex
            self.uploads[name] = headers
            xml = f"<InitiateMultipartUploadResult><UploadId>{name}</UploadId></InitiateMultipartUploadResult>"
            return 200, {}, xml.encode()
        if "partNumber" in arguments:
            part = self.folder / f"{arguments['uploadId']}.{int(arguments['partNumber']):05}"
            part.write_bytes(body)
            return 200, {"etag": f'"{part.name}"'}, b""
        if (headers.get("if-none-match") == "*" and there) or (
            headers.get("if-match") and (there or {}).get("etag") != headers["if-match"]
        ):
            return 412, {}, b"<Error><Code>PreconditionFailed</Code></Error>"
        if "uploadId" in arguments:
            etag = f'"{arguments["uploadId"]}-1"'
            with open(self.path(key), "wb") as file:
                for part in sorted(self.folder.glob(f"{arguments['uploadId']}.*")):
                    file.write(part.read_bytes())
                    part.unlink()
            kept, xml = self.uploads.pop(arguments["uploadId"]), f"<ETag>{escape(etag)}</ETag>"
            self.metadata[key] = self.kept(kept, etag)
            return 200, {}, f"<CompleteMultipartUploadResult>{xml}</CompleteMultipartUploadResult>".encode()
        self.path(key).write_bytes(body)
        etag = f'"{hashlib.md5(body).hexdigest()}"'
        self.metadata[key] = self.kept(headers, etag)
        return 200, {"etag": etag}, b""

    @staticmethod
    def kept(headers: dict[str, str], etag: str) -> dict[str, str]:
        return {"etag": etag, **{k: v for k, v in headers.items() if k.startswith("x-amz-meta-")}}

    def read(self, method: str, key: str, headers: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
        size = self.path(key).stat().st_size
        found = dict(self.metadata[key])
        if method == "HEAD":
            return 200, {**found, "content-length": str(size)}, b""
        wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", headers.get("range", ""))
        first, last = (int(wanted[1]), int(wanted[2])) if wanted else (0, size - 1)
        with open(self.path(key), "rb") as file:
            data = os.pread(file.fileno(), last - first + 1, first)
        return 206 if wanted else 200, found, data

    def list(self, bucket: str, arguments: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
        prefix = f"{bucket.rstrip('/')}/{arguments.get('prefix', '')}"
        names = sorted(key for key in self.metadata if key.startswith(prefix))
        begin = int(arguments.get("continuation-token", 0))
        page, more = names[begin : begin + 1000], len(names) > begin + 1000
        items = "".join(
            f"<Contents><Key>{escape(key[len(bucket.rstrip('/')) + 1 :])}</Key>"
            f"<ETag>{escape(self.metadata[key]['etag'])}</ETag><Size>{self.path(key).stat().st_size}</Size></Contents>"
            for key in page
        )
        token = f"<NextContinuationToken>{begin + 1000}</NextContinuationToken>" if more else ""
        xml = f"<IsTruncated>{str(more).lower()}</IsTruncated>{token}{items}"
        return 200, {}, f"<ListBucketResult>{xml}</ListBucketResult>".encode()


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("port", type=int, help="port on 127.0.0.1")
    parser.add_argument("folder", type=Path, help="folder for the objects, one file each")
    parser.add_argument("latency", type=float, help="delay in seconds before each response")
    given = parser.parse_args()
    server = await asyncio.start_server(
        Server(given.folder, given.latency).client, "127.0.0.1", given.port, limit=1 << 22
    )
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
