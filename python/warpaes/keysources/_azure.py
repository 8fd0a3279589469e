"""Azure Key Vault and Managed HSM: the key never leaves the service. Needs azure-keyvault-keys and azure-identity
(``warpaes[azure]``).

These keys wrap keys without associated data. So each wrapping creates a new key, which the vault wraps, and which
encrypts the data key with AES-GCM and the associated data.
"""

from __future__ import annotations

import base64
import json
import re
import secrets
import threading
from typing import Any
from urllib.parse import urlsplit

from ..exceptions import InvalidTag, InvalidUnwrap
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
#: RSA keys of a vault; AES keys of a Managed HSM.
ALGORITHMS = ("RSA-OAEP-256", "A256KW")
UNKNOWN = ("KeyDisabled", "KeyNotYetValid", "KeyExpired", "KeyNotFound")
TIMEOUTS = {"connection_timeout": 10, "read_timeout": 30, "retry_total": 0}
_NONCE = bytes(12)  # each key encrypts once
_HERE = ("127.0.0.1", "localhost")
_VERSION = re.compile(r"[0-9A-Za-z]{1,64}")


class AzureKeyVaultSource(KeySource):
    """``azure-kv://HOST/keys/NAME[/VERSION][?algorithm=A256KW]``; azure-identity finds the credentials.

    A key without a version wraps with the newest one, and each wrapped key names the version that opens it.
    """

    def __init__(self, url: str) -> None:
        """``url``: all of it."""
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
        self._lock = threading.Lock()
        self._clients: dict[str, Any] = {}
        self._credential: Any = None

    def _client(self, version: str) -> Any:
        with self._lock:
            if version not in self._clients:
                try:
                    from azure.identity import DefaultAzureCredential
                    from azure.keyvault.keys.crypto import CryptographyClient
                except ImportError:
                    raise UnavailableError(
                        f"{self.name}: needs azure-keyvault-keys and azure-identity: pip install 'warpaes[azure]'"
                    ) from None
                self._credential = self._credential or DefaultAzureCredential()
                key = f"{self._key}/{version}" if version else self._key
                verify = self._host not in _HERE  # the challenge of a server on this machine names Azure's domain
                self._clients[version] = CryptographyClient(
                    key, self._credential, verify_challenge_resource=verify, **TIMEOUTS
                )
            return self._clients[version]

    def _ask(self, operation: str, version: str, data: bytes) -> Any:
        client = self._client(version)
        from azure.core import exceptions
        from azure.keyvault.keys.crypto import KeyWrapAlgorithm

        try:
            return getattr(client, operation)(KeyWrapAlgorithm(self._algorithm), data)
        except exceptions.ClientAuthenticationError as error:
            raise DeniedError(f"{self.name}: {printable(str(error))}") from None
        except exceptions.DecodeError as error:
            raise BadAnswerError(f"{self.name}: {printable(str(error))}") from None
        except (exceptions.ServiceRequestError, exceptions.ServiceResponseError) as error:
            raise UnavailableError(f"{self.name}: {printable(str(error))}") from None
        except exceptions.HttpResponseError as error:
            raise self._kind(operation, error)(
                f"{self.name}: {operation} is refused: {printable(str(error.message))}"
            ) from None
        except exceptions.AzureError as error:
            raise KeySourceError(f"{self.name}: {printable(str(error))}") from None
        except (AttributeError, KeyError, TypeError, ValueError) as error:  # the client's exceptions for other answers
            raise BadAnswerError(f"{self.name}: the answer to {operation}: {printable(str(error))}") from None

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
        """Encrypt with a new key, which the vault wraps."""
        from ..aead import AESGCM

        check_length(data_key)
        once = secrets.token_bytes(32)
        answer = self._ask("wrap_key", self._version, once)
        version = str(answer.key_id or "").removeprefix(self._key).removeprefix("/")
        if not version:
            raise DeniedError(
                f"{self.name}: the client may not get the key, so its newest version is unknown: name a version"
            )
        if not _VERSION.fullmatch(version) or not isinstance(answer.encrypted_key, bytes):
            raise BadAnswerError(f"{self.name}: the answer to wrap_key is of another key")
        sealed = AESGCM(once).encrypt(_NONCE, data_key, self._bound(version, associated_data))
        parts = {"version": version, "key": answer.encrypted_key, "sealed": sealed}
        return json.dumps(
            {name: base64.b64encode(part).decode() if isinstance(part, bytes) else part for name, part in parts.items()}
        ).encode()

    def unwrap(self, wrapped: bytes, associated_data: bytes = b"") -> bytes:
        """Decrypt with the key that the vault unwraps."""
        from ..aead import AESGCM

        altered = InvalidUnwrap(f"{self.name}: this wrapped key was altered, or another kind of source has made it")
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
            raise InvalidUnwrap(f"{self.name}: other associated data, or an altered wrapped key") from None

    def _bound(self, version: str, associated_data: bytes) -> bytes:
        return LABEL + f"{self._key}/{version} ".encode() + associated_data

    def close(self) -> None:
        """Close its connections."""
        with self._lock:
            for client in self._clients.values():
                client.close()
            if self._credential is not None:
                self._credential.close()
            self._clients, self._credential = {}, None
