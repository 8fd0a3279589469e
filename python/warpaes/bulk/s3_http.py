"""GET and PUT for millions of requests. botocore signs and sends the requests, but without the layers of its clients,
which take four times as long.
"""

from __future__ import annotations

import base64
import re
import socket
import urllib.parse
import zlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import botocore.exceptions
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.httpsession import URLLib3Session
from botocore.utils import get_environ_proxies

#: The error codes for responses without a body, as in botocore.
CODE = re.compile(rb"<Code>\s*([^<\s]+)\s*</Code>")
MESSAGE = re.compile(rb"<Message>([^<]*)</Message>")


#: Maximum size of a response for which no length was requested, such as an error.
MOST = 1 << 20


class Answer(NamedTuple):
    """A complete response."""

    status_code: int
    headers: Mapping[str, str]
    content: bytes


class Found(Exception):  # noqa: N818
    """Raised to intercept a request before it is sent."""


def where(client: Any, bucket: str) -> str:
    """Return the URL that a client would use to request the object `x`."""

    def stop(request: Any, **others: Any) -> None:
        raise Found(request.url)

    event = "before-send.s3.GetObject"
    client.meta.events.register_first(event, stop)
    try:
        client.get_object(Bucket=bucket, Key="x")
    except Found as found:
        return str(found)
    finally:
        client.meta.events.unregister(event, stop)
    raise AssertionError


def _read(raw: Any, most: int) -> bytes:
    """Read a complete response, or close the connection if the response is longer than `most` bytes."""
    try:
        data: bytes = raw.read(most + 1)
        if len(data) > most:
            raise ConnectionError(f"more than {most} bytes were received")
        return data
    except BaseException:
        raw.close()
        raise


class Http:
    """Sends requests for the objects in a bucket, from any number of threads."""

    def __init__(
        self,
        client: Any,
        credentials: Any,
        bucket: str,
        connections: int,
        timeouts: tuple[float, float],
        verify: str | bool,
    ) -> None:
        """Store the URL and the region of a boto3 client, and the credentials of its session.

        `verify` is a file of trusted CA certificates, or True for botocore's certificates.
        """
        url = where(client, bucket)
        self._base = url.removesuffix("x")
        self._credentials, self._region = credentials, client.meta.region_name
        self._session = URLLib3Session(
            verify=verify,
            proxies=get_environ_proxies(url),
            timeout=timeouts,
            max_pool_connections=connections,
            # The header and the body are written separately. The second write must not wait for the first's
            # acknowledgement.
            socket_options=[(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1), (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)],
        )
        members = client.meta.service_model.operation_model("PutObject").input_shape.members
        self._names = {name: member.serialization.get("name", name) for name, member in members.items()}

    def headers(self, arguments: dict[str, str]) -> dict[str, str]:
        """Return boto3 arguments as headers."""
        unknown = arguments.keys() - self._names.keys()
        if unknown:
            raise ValueError(f"--put: boto3's put_object has no argument {sorted(unknown)[0]}")
        return {self._names[name]: value for name, value in arguments.items()}

    def send(
        self,
        method: str,
        name: str,
        headers: dict[str, str],
        body: bytes | bytearray = b"",
        query: str = "",
        most: int = 0,
    ) -> Answer:
        """Send a request and return the response.

        Raise ClientError if the response reports an error, and another botocore exception if there is no response.
        `most` is the expected number of bytes; a longer response is not read completely.
        """
        url = self._base + urllib.parse.quote(name, safe="/~") + query
        if method == "PUT":
            checksum = base64.b64encode(zlib.crc32(body).to_bytes(4, "big")).decode()
            headers = {**headers, "x-amz-checksum-crc32": checksum}
        request = AWSRequest(method, url, headers, body or None)
        # Over TLS, a checksum protects the body, so the signature need not include the body's hash.
        request.context["checksum"] = {"request_algorithm": {"in": "header", "name": "x-amz-checksum-crc32"}}
        request.context["has_streaming_input"] = True
        if self._credentials is None:
            raise botocore.exceptions.NoCredentialsError
        S3SigV4Auth(self._credentials.get_frozen_credentials(), "s3", self._region).add_auth(request)
        prepared = request.prepare()
        prepared.stream_output = True
        response = self._session.send(prepared)
        answer = Answer(response.status_code, response.headers, _read(response.raw, max(most, MOST)))
        if answer.status_code >= 300:
            data = answer.content
            code, message = CODE.search(data), MESSAGE.search(data)
            error = {
                "Code": code[1].decode(errors="replace") if code else str(answer.status_code),
                "Message": message[1].decode(errors="replace") if message else "",
            }
            status = {"HTTPStatusCode": answer.status_code}
            raise botocore.exceptions.ClientError({"Error": error, "ResponseMetadata": status}, f"{method} {name}")
        return answer
