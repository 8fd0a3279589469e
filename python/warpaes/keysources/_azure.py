"""Azure Key Vault and Managed HSM: the key never leaves the service. Requires azure-keyvault-keys and azure-identity
(``warpaes[azure]``).

The service wraps keys without associated data. Therefore, each wrapping creates a new key, which the vault wraps. The
new key encrypts the data key and authenticates the associated data, with AES-GCM.
"""

from __future__ import annotations

import base64
import json
import re
import secrets
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from .._fork_lock import ForkLock
from ..exceptions import InvalidTag, InvalidUnwrap
from ._client import Client
from ._https import MOST_ANSWER
from ._source import (
    BadAnswerError,
    DeniedError,
    KeySource,
    KeySourceError,
    UnavailableError,
    UnknownKeyError,
    check_length,
    printable,
)

LABEL = b"warpaes azure-kv 1 "
#: The wrapping algorithms: for RSA keys in a vault, and for AES keys in a Managed HSM.
ALGORITHMS = ("RSA-OAEP-256", "A256KW")
UNKNOWN = ("KeyDisabled", "KeyNotYetValid", "KeyExpired", "KeyNotFound")
OPTIONS = {"connection_timeout": 10, "read_timeout": 30, "retry_total": 0, "permit_redirects": False}
_NONCE = bytes(12)  # each key encrypts only once
_HERE = ("127.0.0.1", "localhost")
_VERSION = re.compile(r"[0-9A-Za-z]{1,64}")
#: Maximum number of clients that are kept, one for each key version. A wrapped key may name any version.
MOST_CLIENTS = 16


def _bounded(name: str) -> Any:
    """Return a policy for Azure pipelines that limits the length of answers."""
    from azure.core.pipeline.policies import HTTPPolicy

    class Bounded(HTTPPolicy):  # type: ignore[type-arg]
        def send(self, request: Any) -> Any:
            request.context.options["stream"] = True
            answer = self.next.send(request)
            http, pieces = answer.http_response, answer.http_response.iter_bytes

            def limited(**options: Any) -> Iterator[bytes]:
                length = 0
                for piece in pieces(**options):
                    length += len(piece)
                    if length > MOST_ANSWER:
                        http.close()
                        raise BadAnswerError(f"{name}: the answer is longer than {MOST_ANSWER} bytes")
                    yield piece

            http.iter_bytes = limited
            http.read()
            request.context.options["stream"] = False  # for the policies that decode the answer
            return answer

    return Bounded()


class _Clients:
    """The clients for the versions of one key."""

    def __init__(self, name: str, key: str, verify: bool) -> None:
        from azure.identity import DefaultAzureCredential

        self._name, self._key, self._verify = name, key, verify
        self._credential = DefaultAzureCredential()
        self._kept: OrderedDict[str, Any] = OrderedDict()
        self._lock = ForkLock()

    def get(self, version: str) -> Any:
        from azure.keyvault.keys.crypto import CryptographyClient

        with self._lock:
            if version not in self._kept:
                key = f"{self._key}/{version}" if version else self._key
                self._kept[version] = CryptographyClient(
                    key,
                    self._credential,
                    verify_challenge_resource=self._verify,
                    per_retry_policies=[_bounded(self._name)],
                    **OPTIONS,
                )
                if len(self._kept) > MOST_CLIENTS:
                    self._kept.popitem(last=False)  # not closed, because another thread may still be using it
            self._kept.move_to_end(version)
            return self._kept[version]

    def close(self) -> None:
        with self._lock:
            for client in self._kept.values():
                client.close()
            self._credential.close()


class AzureKeyVaultSource(KeySource):
    """``azure-kv://HOST/keys/NAME[/VERSION][?algorithm=A256KW]``; azure-identity finds the credentials.

    If the URL does not name a version, the newest version wraps. Each wrapped key names the version that unwraps it.
    """

    def __init__(self, url: str) -> None:
        """Parse the complete URL."""
        parts = urlsplit(url)
        found = re.fullmatch(r"/keys/([0-9A-Za-z-]{1,127})(?:/([0-9A-Za-z]{1,64}))?", parts.path)
        name, equals, algorithm = parts.query.partition("=")
        if not parts.hostname or found is None or parts.username is not None or (parts.query and name != "algorithm"):
            raise ValueError("azure-kv: must be azure-kv://HOST/keys/NAME[/VERSION][?algorithm=A256KW]")
        self._algorithm = algorithm if equals else ALGORITHMS[0]
        if self._algorithm not in ALGORITHMS:
            raise ValueError(f"azure-kv: algorithm must be {' or '.join(ALGORITHMS)}")
        self.name = url
        self._host = parts.hostname
        self._key = f"https://{parts.netloc}/keys/{found[1]}"
        self._version = found[2] or ""
        self._clients = Client(url, self._made)

    def _made(self) -> _Clients:
        # A server on this machine sends an authentication challenge that names Azure's domain.
        try:
            return _Clients(self.name, self._key, self._host not in _HERE)
        except ImportError:
            raise UnavailableError(
                f"{self.name}: requires azure-keyvault-keys and azure-identity; run pip install 'warpaes[azure]'"
            ) from None

    def _ask(self, operation: str, version: str, data: bytes) -> Any:
        self._clients.get()
        from azure.core import exceptions
        from azure.keyvault.keys.crypto import KeyWrapAlgorithm

        try:
            algorithm = KeyWrapAlgorithm(self._algorithm)
            return self._clients.ask(lambda clients: getattr(clients.get(version), operation)(algorithm, data))
        except exceptions.ClientAuthenticationError as error:
            raise DeniedError(f"{self.name}: {printable(str(error))}") from None
        except exceptions.DecodeError:  # its message quotes the answer, which contains the key
            raise BadAnswerError(f"{self.name}: the answer to {operation} is truncated or not JSON") from None
        except (exceptions.ServiceRequestError, exceptions.ServiceResponseError) as error:
            raise UnavailableError(f"{self.name}: {printable(str(error))}") from None
        except exceptions.HttpResponseError as error:
            raise self._kind(operation, error)(
                f"{self.name}: {operation} was refused: {printable(str(error.message))}"
            ) from None
        except exceptions.AzureError as error:
            raise KeySourceError(f"{self.name}: {printable(str(error))}") from None
        except (AttributeError, KeyError, TypeError, ValueError) as error:  # other invalid answers
            raise BadAnswerError(
                f"{self.name}: the answer to {operation} does not follow the protocol ({type(error).__name__})"
            ) from None

    @staticmethod
    def _kind(operation: str, error: Any) -> type[Exception]:
        status = error.status_code or 0
        inner = getattr(getattr(error, "error", None), "innererror", None) or {}
        code = str(inner.get("code", "")) if isinstance(inner, dict) else ""
        if status == 404 or code in UNKNOWN:
            return UnknownKeyError
        if status == 400 and operation == "unwrap_key":
            return InvalidUnwrap
        if status in (401, 403):
            return DeniedError
        return UnavailableError if status == 429 or status >= 500 else KeySourceError

    def wrap(self, data_key: bytes, associated_data: bytes = b"") -> bytes:
        """Encrypt a data key with a new key, which the vault wraps."""
        from ..aead import AESGCM

        check_length(data_key)
        once = secrets.token_bytes(32)
        answer = self._ask("wrap_key", self._version, once)
        version = str(answer.key_id or "").removeprefix(self._key).removeprefix("/")
        if not version:
            raise DeniedError(
                f"{self.name}: the client is not permitted to get the key, so the newest version is unknown; name a "
                "version"
            )
        if not _VERSION.fullmatch(version) or not isinstance(answer.encrypted_key, bytes):
            raise BadAnswerError(f"{self.name}: the answer to wrap_key names another key")
        sealed = AESGCM(once).encrypt(_NONCE, data_key, self._bound(version, associated_data))
        parts = {"version": version, "key": answer.encrypted_key, "sealed": sealed}
        return json.dumps(
            {name: base64.b64encode(part).decode() if isinstance(part, bytes) else part for name, part in parts.items()}
        ).encode()

    def unwrap(self, wrapped: bytes, associated_data: bytes = b"") -> bytes:
        """Decrypt a data key with the key that the vault unwraps."""
        from ..aead import AESGCM

        altered = InvalidUnwrap(f"{self.name}: the wrapped key was altered, or was created by another source")
        try:
            parts = json.loads(wrapped)
            version = parts["version"]
            key, sealed = (base64.b64decode(parts[name], validate=True) for name in ("key", "sealed"))
            if not _VERSION.fullmatch(version):
                raise altered
        except (KeyError, TypeError, ValueError, RecursionError):
            raise altered from None
        once = self._ask("unwrap_key", version, key).key
        if not isinstance(once, bytes) or len(once) != 32:
            raise altered
        try:
            return AESGCM(once).decrypt(_NONCE, sealed, self._bound(version, associated_data))
        except InvalidTag:
            raise InvalidUnwrap(f"{self.name}: the associated data differ, or the wrapped key was altered") from None

    def _bound(self, version: str, associated_data: bytes) -> bytes:
        return LABEL + f"{self._key}/{version} ".encode() + associated_data

    def close(self) -> None:
        """Close the clients' connections."""
        self._clients.close(_Clients.close)
