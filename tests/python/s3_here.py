"""moto's S3 in this process. moto answers botocore's requests without a connection. Clients run unchanged down to
botocore's HTTP session, which `Here` replaces.

A run is several times as fast as with a server in a separate process.
"""

from __future__ import annotations

import os
import threading
from typing import Any

import botocore.httpsession
from botocore.awsrequest import AWSResponse

os.environ.update(
    AWS_ACCESS_KEY_ID="test", AWS_SECRET_ACCESS_KEY="test", AWS_DEFAULT_REGION="us-east-1", AWS_CONFIG_FILE="/"
)


class Here:
    """An object store with one bucket. `client` is a boto3 client."""

    def __init__(self, bucket: str = "bucket") -> None:
        """Redirect every request of this process to this object."""
        import boto3
        import moto.backend_index
        from moto.core.botocore_stubber import BotocoreStubber, MockRawResponse

        stubber = BotocoreStubber()
        # moto searches about two hundred services in this order, so S3 is moved to the front.
        moto.backend_index.backend_url_patterns.sort(key=lambda service: service[0] != "s3")
        #: moto compares and writes in two steps. Handling one request at a time makes conditional writes atomic.
        self.turn = turn = threading.Lock()
        #: Called with the method and the URL before each request. It may raise an exception.
        self.hook: Any = None

        def send(session: Any, request: Any) -> AWSResponse:
            if self.hook is not None:
                self.hook(request.method, request.url)
            if isinstance(request.body, bytearray):
                request.body = bytes(request.body)
            with turn:
                answer = stubber.process_request(request)
            assert answer is not None, request.url
            status, headers, body = answer
            response = AWSResponse(request.url, status, headers, MockRawResponse(body))
            if not request.stream_output:
                _ = response.content
            return response

        self._real = botocore.httpsession.URLLib3Session.send
        botocore.httpsession.URLLib3Session.send = send
        self.bucket = bucket
        self.client = boto3.client("s3")
        self.client.create_bucket(Bucket=bucket)

    def put(self, key: str, data: bytes, **arguments: Any) -> None:
        self.client.put_object(Bucket=self.bucket, Key=key, Body=data, **arguments)

    def get(self, key: str) -> bytes:
        data: bytes = self.client.get_object(Bucket=self.bucket, Key=key)["Body"].read()
        return data

    def keys(self, prefix: str = "") -> list[str]:
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=prefix)
        return [item["Key"] for page in pages for item in page.get("Contents", ())]

    def objects(self, prefix: str) -> dict[str, bytes]:
        """Return the objects below a prefix directly from moto's memory, which takes a tenth of the time of a
        request."""
        with self.turn:
            return {key: item.value for key, item in self._backend().get_bucket(self.bucket).keys.items()
                    if key.startswith(prefix)}  # fmt: skip

    def set(self, key: str, data: bytes | None) -> None:
        """Write or delete an object, without a request."""
        with self.turn:
            if data is not None:
                self._backend().put_object(self.bucket, key, data)
            else:
                self._backend().delete_object(self.bucket, key)

    @staticmethod
    def _backend() -> Any:
        from moto.backends import get_backend
        from moto.core import DEFAULT_ACCOUNT_ID

        return get_backend("s3")[DEFAULT_ACCOUNT_ID]["aws"]

    def close(self) -> None:
        from moto.backends import get_backend

        botocore.httpsession.URLLib3Session.send = self._real
        for account in get_backend("s3").values():
            for backend in account.values():
                backend.reset()
