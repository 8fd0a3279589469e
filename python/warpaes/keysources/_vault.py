"""The transit engine of HashiCorp Vault and compatible servers (OpenBao): the key never leaves the server."""

from __future__ import annotations

import base64
import binascii
import os
from typing import Any
from urllib.parse import quote, urlsplit

from .._key_files import warn_if_others_can_read
from ..exceptions import InvalidUnwrap
from ._https import Client, tls_context
from ._source import (
    BadAnswerError,
    DeniedError,
    KeySourceError,
    ProvingSource,
    UnavailableError,
    UnknownKeyError,
    printable,
)


class _RefusedTextError(KeySourceError):
    """The transit engine refused the plaintext."""


def _token() -> str:
    """Return the token. As in Vault's own command, the environment has precedence over the file that `vault login`
    writes."""
    token, place = os.environ.get("VAULT_TOKEN", "").strip(), "VAULT_TOKEN"
    if not token:
        place = "'~/.vault-token'"
        try:
            with open(os.path.expanduser("~/.vault-token"), encoding="ascii", errors="replace") as file:
                warn_if_others_can_read(place, file.fileno())
                token = file.read(4096).strip()
        except OSError:
            raise DeniedError("vault-transit: no token found; set VAULT_TOKEN, or log in with `vault login`") from None
    return _header(place, token)


def _header(place: str, value: str) -> str:
    """Return ``value`` if a request header can contain it. The error message of http.client would quote the token."""
    if not value.isascii() or not value.isprintable() or not value:
        raise DeniedError(
            f"vault-transit: {place} is empty, or contains characters that are not allowed in a request header"
        )
    return value


class VaultTransitSource(ProvingSource):
    """``vault-transit://HOST[:PORT]/MOUNT/keys/NAME``. VAULT_TOKEN, VAULT_CACERT and VAULT_NAMESPACE have the same
    meaning as for Vault's command.

    ``vault-transit+http://`` does not use TLS and is allowed only for a server on this machine.
    """

    def __init__(self, url: str) -> None:
        """Parse the complete URL."""
        super().__init__()
        parts = urlsplit(url)
        mount, _, key = parts.path.strip("/").rpartition("/keys/")
        plain = parts.scheme == "vault-transit+http"
        if not parts.hostname or not mount or not key or "/" in key or parts.username is not None:
            raise ValueError(f"vault-transit: must be vault-transit://HOST[:PORT]/MOUNT/keys/NAME, not '{parts.path}'")
        if plain and parts.hostname not in ("127.0.0.1", "::1", "localhost"):
            raise ValueError(
                "vault-transit+http: allowed only for a server on this machine, because the token is sent unencrypted"
            )
        self.name = f"{parts.scheme}://{parts.netloc}/{mount}/keys/{key}"
        self._mount, self._key = quote(mount), quote(key, safe="")
        context = None if plain else tls_context(os.environ.get("VAULT_CACERT"))
        self._client = Client(self.name, f"{'http' if plain else 'https'}://{parts.netloc}", context)

    def _ask(self, operation: str, body: dict[str, str], answer_name: str) -> str:
        headers = {"X-Vault-Token": _token(), "X-Vault-Request": "true"}
        if namespace := os.environ.get("VAULT_NAMESPACE"):
            headers["X-Vault-Namespace"] = _header("VAULT_NAMESPACE", namespace)
        path = f"/v1/{self._mount}/{operation}/{self._key}"
        status, answer = self._client.request("POST", path, body, headers)
        if status == 200:
            self._check_warnings(answer)
            data = answer.get("data") if isinstance(answer, dict) else None
            content = data.get(answer_name) if isinstance(data, dict) else None
            if not isinstance(content, str) or not content or not content.isascii():
                raise BadAnswerError(f"{self.name}: the answer to {operation} has no {answer_name}")
            return content
        said: Any = answer.get("errors") if isinstance(answer, dict) else None
        text = printable("; ".join(str(line) for line in said)) if isinstance(said, list) else ""
        kind: type[Exception] = KeySourceError
        if "encryption key not found" in text or status == 404:
            kind = UnknownKeyError
        elif status == 400:
            kind = InvalidUnwrap if operation == "decrypt" else _RefusedTextError
        elif status in (401, 403):
            kind = DeniedError
        elif status in (429, 472, 473, 502, 503, 504):  # 503: sealed
            kind = UnavailableError
        raise kind(f"{self.name}: {operation} was refused ({status}){': ' if text else ''}{text}")

    def _check_warnings(self, answer: Any) -> None:
        """Reject an answer with the warning that associated data was ignored. Vault 1.11 and 1.12 send this warning."""
        said = answer.get("warnings") if isinstance(answer, dict) else None
        for warning in said if isinstance(said, list) else [said]:
            if "associated_data" in str(warning) or "ignored" in str(warning):
                raise self._ignores(f"it warns '{printable(str(warning))}' (transit requires Vault 1.13 or newer)")

    def _prove_with_probe(self) -> None:
        try:
            super()._prove_with_probe()
        except DeniedError:
            # The token may be permitted only to encrypt, so another test is used. A server that processes associated
            # data rejects invalid base64.
            try:
                self._ask("encrypt", {"plaintext": "AAAA", "associated_data": "%"}, "ciphertext")
            except _RefusedTextError:
                return
            raise self._ignores(
                "it accepts invalid base64 as associated data (transit requires Vault 1.13 or newer)"
            ) from None

    def _wrap(self, data_key: bytes, associated_data: bytes) -> bytes:
        """Encrypt a data key. The result is the text that Vault returns, ``vault:v1:…``."""
        text = self._ask("encrypt", self._body("plaintext", data_key, associated_data), "ciphertext")
        if not text.startswith("vault:v"):
            raise BadAnswerError(f"{self.name}: the ciphertext in the answer to encrypt does not have Vault's format")
        return text.encode()

    def _unwrap(self, wrapped: bytes, associated_data: bytes) -> bytes:
        """Decrypt a data key with the key version that the text names."""
        try:
            text = wrapped.decode("ascii")
        except UnicodeDecodeError:
            text = ""
        if not text.startswith("vault:v"):
            raise InvalidUnwrap(
                f"{self.name}: the wrapped key is not from Vault, because it does not begin with 'vault:v'"
            )
        body = self._body("", b"", associated_data) | {"ciphertext": text}
        try:
            return base64.b64decode(self._ask("decrypt", body, "plaintext"), validate=True)
        except binascii.Error:
            raise BadAnswerError(f"{self.name}: the answer to decrypt is not base64") from None

    @staticmethod
    def _body(name: str, content: bytes, associated_data: bytes) -> dict[str, str]:
        body = {name: base64.b64encode(content).decode()} if name else {}
        if associated_data:
            body["associated_data"] = base64.b64encode(associated_data).decode()
        return body
