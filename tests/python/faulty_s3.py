"""moto's S3 server behind a proxy that injects the faults of networks and object stores: resets, status 503, and
responses that are slow, truncated or lost after the request was executed. Unlike moto, the proxy makes conditional
writes atomic, including `If-Match` in CompleteMultipartUpload.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import os
import random
import re
import socket
import subprocess
import sys
import threading
import time
from typing import Any

#: The faults of a request, and the number of requests in a thousand that have each fault at a rate of 1.
FAULTS = {"reset": 10, "unavailable": 20, "slow": 20, "truncated": 15, "lost": 15}

UNAVAILABLE = b"<Error><Code>SlowDown</Code><Message>Reduce your request rate.</Message></Error>"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Moto:
    """moto's server in a separate process."""

    def __init__(self) -> None:
        self.port = free_port()
        # moto would send two "Server" headers. In Python's development mode, aiohttp rejects this.
        program = f"""
from moto.server import main
from werkzeug.serving import WSGIRequestHandler

WSGIRequestHandler.send_response = WSGIRequestHandler.send_response_only
main(['-H', '127.0.0.1', '-p', '{self.port}'])
"""
        self.process = subprocess.Popen(
            [sys.executable, "-c", program], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self.url = f"http://127.0.0.1:{self.port}"
        for _ in range(600):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            if self.process.poll() is not None:
                break
            time.sleep(0.1)
        raise RuntimeError("moto's server does not answer")

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


class Proxy:
    """Forwards requests in a thread. `rate` scales the frequency of the faults."""

    def __init__(self, upstream: int, rate: float = 0, seed: int = 1, slow: float = 1.0) -> None:
        self.upstream, self.rate, self.slow = upstream, rate, slow
        self.random = random.Random(seed)
        self.counts = dict.fromkeys(FAULTS, 0)
        self.requests = 0
        #: Called with the method and the path before a request is forwarded. It may return the name of a fault, `whole`
        #: for a response that ignores ranges, or `say STATUS CODE`.
        self.hook: Any = None
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._locks: dict[str, asyncio.Lock] = {}
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self._started.wait(30)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join(10)

    def _run(self) -> None:
        async def serve() -> None:
            self._loop, self._ended = asyncio.get_running_loop(), asyncio.Event()
            server = await asyncio.start_server(self._client, "127.0.0.1", self.port, limit=1 << 20)
            self._started.set()
            await self._ended.wait()
            server.close()

        asyncio.run(serve(), debug=False)

    def _fault(self, method: str, path: str) -> str:
        self.requests += 1
        name = (self.hook and self.hook(method, path)) or ""
        if not name:
            share = min(1, self.rate * sum(FAULTS.values()) / 1000)
            if self.random.random() >= share:
                return ""
            name = self.random.choices(list(FAULTS), list(FAULTS.values()))[0]
        self.counts[name] = self.counts.get(name, 0) + 1
        return name

    async def _client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._request(reader, writer):
                pass
        except (asyncio.CancelledError, asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Forward a request and its response. Return False if the connection must be closed."""
        head = await reader.readuntil(b"\r\n\r\n")
        method, path, _ = head.split(b"\r\n", 1)[0].decode().split(" ", 2)
        headers = {
            name.strip().lower(): value.strip()
            for name, _, value in (line.partition(":") for line in head.decode("latin-1").split("\r\n")[1:-2])
        }
        fault = self._fault(method, path)
        if fault == "reset":
            writer.transport.abort()
            return False
        if headers.get("expect", "").lower() == "100-continue":
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        body = await self._body(reader, headers)
        if fault == "unavailable":
            await self._answer(writer, 503, {"content-type": "application/xml"}, UNAVAILABLE)
            return True
        if fault.startswith("say "):
            _, status, code = fault.split()
            await self._answer(writer, int(status), {}, f"<Error><Code>{code}</Code></Error>".encode())
            return True
        if fault == "whole":
            headers.pop("range", None)
        if fault == "slow":
            await asyncio.sleep(self.random.random() * self.slow)
        headers.pop("expect", None)
        headers.pop("transfer-encoding", None)
        headers["content-length"] = str(len(body))
        async with self._locks.setdefault(path.partition("?")[0], asyncio.Lock()):
            status, answer_headers, answer = await self._pass(method, path, headers, body)
        if fault == "lost":
            writer.transport.abort()
            return False
        if fault == "truncated" and len(answer) > 1:
            await self._answer(writer, status, answer_headers, answer, len(answer) // 2)
            return False
        await self._answer(writer, status, answer_headers, answer, 0 if method == "HEAD" else None)
        return True

    async def _body(self, reader: asyncio.StreamReader, headers: dict[str, str]) -> bytes:
        if headers.get("transfer-encoding", "").lower() != "chunked":
            return await reader.readexactly(int(headers.get("content-length", 0)))
        pieces = []
        while length := int((await reader.readline()).split(b";")[0], 16):
            pieces.append(await reader.readexactly(length))
            await reader.readline()
        while (await reader.readline()).strip():
            pass
        return b"".join(pieces)

    async def _pass(
        self, method: str, path: str, headers: dict[str, str], body: bytes
    ) -> tuple[int, dict[str, str], bytes]:
        if method == "POST" and "uploadId=" in path and "if-match" in headers:
            now = await asyncio.to_thread(self._ask, "HEAD", path.partition("?")[0], {}, b"")
            if now[1].get("etag") != headers["if-match"]:
                code = b"<Error><Code>PreconditionFailed</Code><Message>another ETag</Message></Error>"
                return 412, {"content-type": "application/xml"}, code
        return await asyncio.to_thread(self._ask, method, path, headers, body)

    def _ask(self, method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.upstream, timeout=120)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in (headers or {"host": f"127.0.0.1:{self.port}"}).items():
                connection.putheader(name, value.encode("latin-1"))
            connection.endheaders(body)
            answer = connection.getresponse()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    async def _answer(
        self, writer: asyncio.StreamWriter, status: int, headers: dict[str, str], body: bytes, sent: int | None = None
    ) -> None:
        skipped = ("connection", "transfer-encoding", "content-length")
        kept = {name: value for name, value in headers.items() if name not in skipped}
        # For HEAD, the length is the object's length.
        length = headers.get("content-length", str(len(body))) if sent == 0 else str(len(body))
        lines = [f"HTTP/1.1 {status} {http.client.responses.get(status, '')}", f"content-length: {length}"]
        lines += [f"{name}: {value}" for name, value in kept.items()]
        writer.write("\r\n".join([*lines, "", ""]).encode("latin-1"))
        writer.write(body if sent is None else body[:sent])
        await writer.drain()


class Store:
    """Runs moto and the proxy, with a bucket. `direct` is a client that bypasses the proxy."""

    def __init__(self, rate: float = 0, seed: int = 1, slow: float = 1.0, bucket: str = "bucket") -> None:
        os.environ.update(
            AWS_ACCESS_KEY_ID="test", AWS_SECRET_ACCESS_KEY="test", AWS_DEFAULT_REGION="us-east-1", AWS_CONFIG_FILE="/"
        )
        import boto3

        self.moto = Moto()
        self.proxy = Proxy(self.moto.port, rate, seed, slow)
        self.direct = boto3.client("s3", endpoint_url=self.moto.url)
        self.bucket = bucket
        self.direct.create_bucket(Bucket=bucket)

    def put(self, key: str, data: bytes) -> None:
        self.direct.put_object(Bucket=self.bucket, Key=key, Body=data)

    def get(self, key: str) -> bytes:
        data: bytes = self.direct.get_object(Bucket=self.bucket, Key=key)["Body"].read()
        return data

    def keys(self, prefix: str = "") -> list[str]:
        pages = self.direct.get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=prefix)
        return [item["Key"] for page in pages for item in page.get("Contents", ())]

    def uploads(self) -> list[str]:
        """Return the multipart uploads that were neither completed nor aborted."""
        answer = self.direct.list_multipart_uploads(Bucket=self.bucket)
        return [upload["Key"] for upload in answer.get("Uploads", ())]

    def close(self) -> None:
        self.proxy.close()
        self.moto.close()


def matches(pattern: str, method: str, path: str) -> bool:
    """Return whether a request matches a pattern such as 'POST .*uploadId'."""
    return re.fullmatch(pattern, f"{method} {path}") is not None
