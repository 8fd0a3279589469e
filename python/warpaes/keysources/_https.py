"""JSON over HTTPS, for key managers: what is answered is bounded and complete, or an exception says why not."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from ._source import BadAnswerError, DeniedError, UnavailableError

MOST_ANSWER = 4 << 20


def tls_context(
    ca: str | None = None, certificate: str | None = None, key: str | None = None, password: str | None = None
) -> ssl.SSLContext:
    """Return a context for TLS 1.2 and newer that checks the server's certificate and name and may show one of ours."""
    try:
        context = ssl.create_default_context(cafile=ca)
    except (OSError, ssl.SSLError) as error:
        raise UnavailableError(f"certificates of authorities in '{ca}': {error.strerror or error}") from None
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if certificate is not None:
        try:
            context.load_cert_chain(certificate, key, password=password)
        except (OSError, ssl.SSLError) as error:
            raise UnavailableError(
                f"our certificate '{certificate}' with key '{key}': {error.strerror or error}"
            ) from None
    return context


class Client:
    """Requests to one server, each on a connection of its own: they are few."""

    def __init__(self, name: str, url: str, context: ssl.SSLContext | None, timeout: float = 30) -> None:
        """``url``: https://HOST[:PORT][/PREFIX]. ``context``: None, for http:// to this machine alone."""
        parts = urlsplit(url)
        if parts.scheme != ("http" if context is None else "https") or not parts.hostname:
            raise ValueError(f"{name}: the server's address must be https://HOST[:PORT], not '{url}'")
        self._name = name
        self._context = context
        self._timeout = timeout
        self._host, self._port = parts.hostname, parts.port
        self._prefix = parts.path.rstrip("/")

    def request(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, Any]:
        """Return the status, and the JSON of the answer, or None where there is none."""
        connection: http.client.HTTPConnection
        if self._context is None:
            connection = http.client.HTTPConnection(self._host, self._port, timeout=self._timeout)
        else:
            connection = http.client.HTTPSConnection(
                self._host, self._port, timeout=self._timeout, context=self._context
            )
        sent = None if body is None else json.dumps(body).encode()
        given = {"Accept": "application/json", **({} if sent is None else {"Content-Type": "application/json"})}
        try:
            connection.request(method, self._prefix + path, sent, {**given, **(headers or {})})
            answer = connection.getresponse()
            content = answer.read(MOST_ANSWER + 1)
            # A bounded read() takes a body that ends early for a whole one.
            cut = answer.length not in (None, 0) and len(content) <= MOST_ANSWER
        except ssl.SSLCertVerificationError as error:
            raise DeniedError(
                f"{self._name}: the server's certificate is not accepted: {error.verify_message}"
            ) from None
        except ssl.SSLError as error:
            raise DeniedError(
                f"{self._name}: TLS failed, as with a certificate that the server refuses: {error.reason or error}"
            ) from None
        except http.client.HTTPException as error:
            raise BadAnswerError(
                f"{self._name}: the answer is cut off or is not HTTP ({type(error).__name__})"
            ) from None
        except OSError as error:
            raise UnavailableError(
                f"{self._name}: cannot reach {self._host}:{self._port or 443}: {error.strerror or error}"
            ) from None
        finally:
            connection.close()
        if len(content) > MOST_ANSWER:
            raise BadAnswerError(f"{self._name}: the answer is longer than {MOST_ANSWER} bytes")
        if cut:
            raise BadAnswerError(f"{self._name}: the answer is cut off after {len(content)} bytes")
        try:
            return answer.status, json.loads(content) if content.strip() else None
        except (ValueError, RecursionError):
            if answer.status >= 400:  # a proxy's page
                return answer.status, None
            raise BadAnswerError(f"{self._name}: the answer is not JSON") from None
