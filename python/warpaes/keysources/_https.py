"""JSON over HTTPS for key managers. An answer that is incomplete or too long raises an exception."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from .._key_files import warn_if_others_can_read
from ._source import BadAnswerError, DeniedError, UnavailableError

MOST_ANSWER = 4 << 20


def tls_context(
    ca: str | None = None, certificate: str | None = None, key: str | None = None, password: str | None = None
) -> ssl.SSLContext:
    """Return a context for TLS 1.2 and later that verifies the server's certificate and name, and optionally contains a
    client certificate."""
    try:
        context = ssl.create_default_context(cafile=ca)
    except (OSError, ssl.SSLError) as error:
        raise UnavailableError(f"cannot load the CA certificates in '{ca}': {error.strerror or error}") from None
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if certificate is not None:
        try:
            context.load_cert_chain(certificate, key, password=password)
            warn_if_others_can_read(f"'{key or certificate}'", key or certificate)
        except (OSError, ssl.SSLError) as error:
            raise UnavailableError(
                f"cannot load the client certificate '{certificate}' with the key '{key}': {error.strerror or error}"
            ) from None
    return context


class Client:
    """Sends requests to a server, each on a new connection, because requests are rare."""

    def __init__(self, name: str, url: str, context: ssl.SSLContext | None, timeout: float = 30) -> None:
        """Prepare requests.

        Args:
            name: The server's name in messages.
            url: https://HOST[:PORT][/PREFIX].
            context: The TLS context, or None for http:// to a server on this machine.
            timeout: The time limit in seconds for the connection and, separately, for the complete answer.
        """
        parts = urlsplit(url)
        if parts.scheme != ("http" if context is None else "https") or not parts.hostname:
            raise ValueError(f"{name}: the server's address must be https://HOST[:PORT], not '{url}'")
        self._name = name
        self._context = context
        self._timeout = timeout
        self._host, self._port = parts.hostname, parts.port
        self.address = f"{self._host}:{self._port or 443}"
        self._prefix = parts.path.rstrip("/")

    def request(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, Any]:
        """Return the status and the parsed JSON of the answer.

        The JSON is None if the answer is empty, or if it reports an error and is not JSON.
        """
        connection: http.client.HTTPConnection
        if self._context is None:
            connection = http.client.HTTPConnection(self._host, self._port, timeout=self._timeout)
        else:
            connection = http.client.HTTPSConnection(
                self._host, self._port, timeout=self._timeout, context=self._context
            )
        sent = None if body is None else json.dumps(body).encode()
        given = {"Accept": "application/json", **({} if sent is None else {"Content-Type": "application/json"})}
        late = threading.Event()
        try:
            connection.connect()
            with _deadline(connection.sock, self._timeout, late):
                connection.request(method, self._prefix + path, sent, {**given, **(headers or {})})
                answer = connection.getresponse()
                content = answer.read(MOST_ANSWER + 1)
                # A bounded read() returns a truncated body without an error.
                cut = answer.length not in (None, 0) and len(content) <= MOST_ANSWER
            if late.is_set():
                raise TimeoutError
        except (OSError, http.client.HTTPException) as error:
            if late.is_set():
                raise UnavailableError(
                    f"{self._name}: {self.address} did not send its answer within {self._timeout:g} s"
                ) from None
            raise self._failure(error) from None
        finally:
            connection.close()
        if len(content) > MOST_ANSWER:
            raise BadAnswerError(f"{self._name}: the answer is longer than {MOST_ANSWER} bytes")
        if cut:
            raise BadAnswerError(f"{self._name}: the answer was truncated after {len(content)} bytes")
        try:
            return answer.status, json.loads(content) if content.strip() else None
        except (ValueError, RecursionError):
            if answer.status >= 400:  # for example, a proxy's error page
                return answer.status, None
            raise BadAnswerError(f"{self._name}: the answer is not JSON") from None

    def _failure(self, error: OSError | http.client.HTTPException) -> Exception:
        if isinstance(error, ssl.SSLCertVerificationError):
            return DeniedError(f"{self._name}: the server's certificate is not accepted: {error.verify_message}")
        if isinstance(error, ssl.SSLError):
            return DeniedError(
                f"{self._name}: TLS failed, perhaps because the server refuses the certificate: {error.reason or error}"
            )
        if isinstance(error, http.client.HTTPException):
            return BadAnswerError(f"{self._name}: the answer is truncated or not HTTP ({type(error).__name__})")
        return UnavailableError(f"{self._name}: cannot reach {self.address}: {error.strerror or error}")


@contextlib.contextmanager
def _deadline(connection: socket.socket, seconds: float, late: threading.Event) -> Iterator[None]:
    """Close a connection after ``seconds``, because a socket's own timeout restarts with every received byte."""
    # Another thread must not close TLS objects, so the timer closes a copy of the descriptor.
    copy = socket.socket(fileno=os.dup(connection.fileno()))

    def end() -> None:
        late.set()
        with contextlib.suppress(OSError):
            copy.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        copy.close()
