"""A client for a key-management entity (KME) for quantum key distribution, as specified in ETSI GS QKD 014."""

from __future__ import annotations

import base64
import dataclasses
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from .keysources import (
    BadAnswerError,
    DeniedError,
    ExhaustedError,
    KeySourceError,
    UnavailableError,
    UnknownKeyError,
)
from .keysources._https import Client, tls_context
from .keysources._source import printable


@dataclasses.dataclass(frozen=True)
class Status:
    """The fields of ETSI GS QKD 014 that describe the keys that a KME shares with another SAE."""

    source_kme_id: str
    target_kme_id: str
    master_sae_id: str
    slave_sae_id: str
    key_size: int
    stored_key_count: int
    max_key_count: int
    max_key_per_request: int
    max_key_size: int
    min_key_size: int


@dataclasses.dataclass(frozen=True)
class QkdKey:
    """A key shared by two secure application entities (SAEs). Its ``repr`` does not contain ``key``."""

    key_id: str
    key: bytes = dataclasses.field(repr=False)


def _text(answer: dict[str, Any], name: str) -> str:
    value = answer.get(name)
    if not isinstance(value, str) or not value.isprintable() or not 0 < len(value) <= 1024:
        raise BadAnswerError(f"KME: the answer has no valid '{name}'")
    return value


def _number(answer: dict[str, Any], name: str) -> int:
    value = answer.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise BadAnswerError(f"KME: the answer has no valid '{name}'")
    return value


class Kme:
    """The local site's key-management entity, accessed over mutual TLS.

    The KME identifies the caller by its certificate. It delivers each key only once to each side, so a caller must use
    every key that it requests.
    """

    def __init__(
        self, url: str, certificate: str, key: str, ca: str, *, password: str | None = None, timeout: float = 30
    ) -> None:
        """Create a client. It connects when it sends the first request.

        Args:
            url: ``https://HOST[:PORT]`` of the KME.
            certificate: The path of the caller's certificate in PEM format.
            key: The path of the certificate's private key in PEM format.
            ca: The path of the certificate of the KME's certificate authority, in PEM format.
            password: The password of the private key, or None.
            timeout: The time limit for a request in seconds.
        """
        self._client = Client("KME", url, tls_context(ca, certificate, key, password), timeout)
        #: HOST:PORT
        self.address = self._client.address

    def status(self, sae: str) -> Status:
        """Return the KME's information about the keys that it shares with ``sae``, the peer.

        Raises:
            KeySourceError: The KME refuses, is unreachable, or returns an invalid answer.
        """
        answer = self._ask("GET", sae, "status")
        return Status(
            source_kme_id=_text(answer, "source_KME_ID"),
            target_kme_id=_text(answer, "target_KME_ID"),
            master_sae_id=_text(answer, "master_SAE_ID"),
            slave_sae_id=_text(answer, "slave_SAE_ID"),
            key_size=_number(answer, "key_size"),
            stored_key_count=_number(answer, "stored_key_count"),
            max_key_count=_number(answer, "max_key_count"),
            max_key_per_request=_number(answer, "max_key_per_request"),
            max_key_size=_number(answer, "max_key_size"),
            min_key_size=_number(answer, "min_key_size"),
        )

    def new_keys(self, sae: str, number: int = 1, size: int = 256) -> list[QkdKey]:
        """Get new keys. The peer ``sae`` can then get the same keys by their IDs.

        The method checks the KME's status before it requests the first key, and splits the request into the sizes that
        the KME permits.

        Args:
            sae: The peer.
            number: The number of keys, at least 1.
            size: The size of each key in bits, a multiple of 8.

        Returns:
            The keys.

        Raises:
            ValueError: ``number`` is less than 1, or ``size`` is outside the KME's range.
            ExhaustedError: The KME has too few keys.
            KeySourceError: The KME refuses, is unreachable, or returns an invalid answer.
        """
        if number < 1:
            raise ValueError("number: must be at least 1")
        status = self.status(sae)
        if size % 8 != 0 or not status.min_key_size <= size <= status.max_key_size:
            raise ValueError(
                f"size: must be a multiple of 8 from {status.min_key_size} to {status.max_key_size} bits, not {size}"
            )
        if status.stored_key_count < number:
            raise ExhaustedError(
                f"KME: has {status.stored_key_count} keys for '{sae}', but {number} are needed; try again later"
            )
        if status.max_key_per_request < 1:
            raise BadAnswerError("KME: does not permit requests for keys (max_key_per_request is 0)")
        keys: list[QkdKey] = []
        while len(keys) < number:
            some = min(number - len(keys), status.max_key_per_request)
            keys += self._keys(self._ask("POST", sae, "enc_keys", {"number": some, "size": size}), some, size)
        if len({key.key_id for key in keys}) != number or len({key.key for key in keys}) != number:
            raise BadAnswerError("KME: returned a key or an ID twice, so the keys are not used")
        return keys

    def keys(self, sae: str, key_ids: Sequence[str], size: int | None = None) -> list[QkdKey]:
        """Get the keys with these IDs, after ``sae`` has requested them with ``new_keys``.

        Args:
            sae: The peer.
            key_ids: The IDs of the keys.
            size: The expected size of each key in bits, or None if unknown.

        Returns:
            The keys, in the order of ``key_ids``.

        Raises:
            KeySourceError: The KME refuses, is unreachable, or returns an invalid answer.
        """
        asked = [{"key_ID": key_id} for key_id in key_ids]
        keys = self._keys(self._ask("POST", sae, "dec_keys", {"key_IDs": asked}), len(key_ids), size)
        found = {key.key_id: key for key in keys}
        try:
            return [found[key_id] for key_id in key_ids]
        except KeyError:
            raise BadAnswerError("KME: returned keys with IDs that were not requested") from None

    @staticmethod
    def _keys(answer: dict[str, Any], number: int, size: int | None) -> list[QkdKey]:
        entries = answer.get("keys")
        if not isinstance(entries, list) or len(entries) != number:
            raise BadAnswerError(f"KME: the answer does not contain the {number} requested keys")
        keys = []
        for entry in entries:
            if not isinstance(entry, dict):
                raise BadAnswerError("KME: the answer contains an invalid key")
            try:
                key = base64.b64decode(_text(entry, "key"), validate=True)
            except ValueError:
                raise BadAnswerError("KME: the answer contains a key that is not base64") from None
            if size is not None and len(key) * 8 != size:
                raise BadAnswerError(f"KME: the answer contains a key of {len(key) * 8} bits, not {size}")
            keys.append(QkdKey(_text(entry, "key_ID"), key))
        return keys

    def _ask(self, method: str, sae: str, what: str, body: Any = None) -> dict[str, Any]:
        status, answer = self._client.request(method, f"/api/v1/keys/{quote(sae, safe='')}/{what}", body)
        said = ""
        if isinstance(answer, dict) and isinstance(answer.get("message"), str):
            said = ": " + printable(answer["message"], 200)
        if status == 200:
            if not isinstance(answer, dict):
                raise BadAnswerError(f"KME: the answer to {what} is not a JSON object")
            return answer
        if status in (401, 403):
            raise DeniedError(f"KME: refuses keys for '{sae}' ({status}){said}")
        if status == 503:
            kind = ExhaustedError if what == "enc_keys" else UnavailableError
            raise kind(f"KME: has no keys left, or is temporarily unavailable ({status}){said}")
        if status in (400, 404):
            raise UnknownKeyError(f"KME: refuses {what} for '{sae}' ({status}){said}")
        raise KeySourceError(f"KME: answered {what} with status {status}{said}")
