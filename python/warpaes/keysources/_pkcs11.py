"""An AES key on a PKCS#11 token (an HSM, a smart card or SoftHSM), which computes AES-GCM. Requires python-pkcs11
(``warpaes[keys]``)."""

from __future__ import annotations

import contextlib
import os
import secrets
from typing import Any
from urllib.parse import parse_qsl, unquote, unquote_to_bytes

from .._fork_lock import ForkLock
from .._key_files import keep_from_programs, warn_if_others_can_read
from ..exceptions import InvalidUnwrap
from ._source import DeniedError, KeySourceError, ProvingSource, UnavailableError, UnknownKeyError, WrapCount

NONCE_BYTES, TAG_BYTES = 12, 16

# A login applies to the process, so a logout ends all sessions, including those of other sources on the same token.
_one_at_a_time = ForkLock()


class Pkcs11Source(ProvingSource):
    """``pkcs11:token=…;object=…;id=…?module-path=…&pin-source=file:…``, as in RFC 7512.

    The PIN comes from ``pin-source`` (``file:PATH`` or ``env:NAME``) or from WARPAES_PKCS11_PIN. The module comes from
    ``module-path`` or from WARPAES_PKCS11_MODULE. A wrapped key begins with a random 12-byte nonce and ends with the
    tag.
    """

    def __init__(self, url: str) -> None:
        """Parse the complete URL."""
        super().__init__()
        path, _, query = url.removeprefix("pkcs11:").partition("?")
        named = dict(part.split("=", 1) for part in path.split(";") if "=" in part)
        options = dict(parse_qsl(query))
        for name in options:
            if name == "pin-value":
                raise ValueError(
                    "pkcs11: pin-value is not allowed, because other processes could read it; use pin-source"
                )
            if name not in ("module-path", "pin-source"):
                raise ValueError(f"pkcs11: {name}: is not supported; use module-path or pin-source")
        for name in named:
            if name not in ("token", "object", "id", "type"):
                raise ValueError(f"pkcs11: {name}: is not supported; use token, object or id")
        if "token" not in named or not ("object" in named or "id" in named):
            raise ValueError("pkcs11: must contain token=LABEL, and object=LABEL or id=… for the key")
        self.name = f"pkcs11:{path}"
        self._token = unquote(named["token"])
        self._object = unquote(named["object"]) if "object" in named else None
        self._id = unquote_to_bytes(named["id"]) if "id" in named else None
        self._module = options.get("module-path") or os.environ.get("WARPAES_PKCS11_MODULE")
        self._pin_source = options.get("pin-source", "env:WARPAES_PKCS11_PIN")
        self._count = WrapCount()
        if "pin-source" in options:
            keep_from_programs([self._pin_source])

    @property
    def wraps(self) -> int:
        """Number of keys that this object has wrapped. A key may wrap at most 2^32 keys."""
        return self._count.value

    def _pin(self) -> str:
        kind, _, place = self._pin_source.partition(":")
        if kind == "file":
            try:
                with open(place) as file:
                    warn_if_others_can_read(f"'{place}'", file.fileno())
                    return file.readline(256).rstrip("\r\n")
            except OSError as error:
                raise UnavailableError(f"{self.name}: pin-source: cannot read '{place}': {error.strerror}") from None
        pin = os.environ.get(place) if kind == "env" else None
        if pin is None:
            raise DeniedError(
                f"{self.name}: no PIN given; set WARPAES_PKCS11_PIN, or use pin-source=file:PATH or pin-source=env:NAME"
            )
        return pin

    @contextlib.contextmanager
    def _key(self) -> Any:
        """Open a session for one operation, so that a removed token is detected and no login stays open."""
        try:
            import pkcs11
            from pkcs11 import exceptions
        except ImportError:
            raise UnavailableError(f"{self.name}: requires python-pkcs11; run pip install 'warpaes[keys]'") from None
        if not self._module:
            raise UnavailableError(f"{self.name}: no module given; use module-path=PATH, or set WARPAES_PKCS11_MODULE")
        try:
            library = pkcs11.lib(self._module)
        except (RuntimeError, OSError, exceptions.PKCS11Error) as error:
            raise UnavailableError(f"{self.name}: cannot load '{self._module}': {error}") from None
        with _one_at_a_time:
            try:
                with library.get_token(token_label=self._token).open(user_pin=self._pin()) as session:
                    wanted: dict[Any, Any] = {
                        pkcs11.Attribute.CLASS: pkcs11.ObjectClass.SECRET_KEY,
                        pkcs11.Attribute.KEY_TYPE: pkcs11.KeyType.AES,
                    }
                    if self._object is not None:
                        wanted[pkcs11.Attribute.LABEL] = self._object
                    if self._id is not None:
                        wanted[pkcs11.Attribute.ID] = self._id
                    found = list(session.get_objects(wanted))
                    if not found:
                        raise UnknownKeyError(f"{self.name}: the token does not have this AES key")
                    if len(found) > 1:
                        raise UnknownKeyError(f"{self.name}: the token has several such keys; add id=… to choose one")
                    yield found[0]
            except (exceptions.NoSuchToken, exceptions.TokenNotPresent, exceptions.DeviceRemoved):
                raise UnavailableError(f"{self.name}: the token was not found") from None
            except (exceptions.PinIncorrect, exceptions.PinInvalid, exceptions.PinLenRange):
                raise DeniedError(f"{self.name}: the PIN is wrong") from None
            except (exceptions.PinLocked, exceptions.PinExpired, exceptions.UserPinNotInitialized) as error:
                raise DeniedError(f"{self.name}: the PIN cannot be used: {type(error).__name__}") from None
            except exceptions.MultipleTokensReturned:
                raise UnavailableError(f"{self.name}: several tokens have this label; remove all but one") from None
            except exceptions.PKCS11Error as error:
                raise KeySourceError(f"{self.name}: the token failed: {type(error).__name__} {error}") from None

    def _wrap(self, data_key: bytes, associated_data: bytes) -> bytes:
        """Encrypt a data key on the token."""
        self._count.add(self.name)
        with self._key() as key:
            nonce = secrets.token_bytes(NONCE_BYTES)
            sealed: bytes = key.encrypt(data_key, **self._mechanism(nonce, associated_data))
        return nonce + sealed

    def _unwrap(self, wrapped: bytes, associated_data: bytes) -> bytes:
        """Decrypt a data key on the token."""
        if len(wrapped) <= NONCE_BYTES + TAG_BYTES:
            raise InvalidUnwrap(f"{self.name}: {len(wrapped)} bytes are too short for a wrapped key")
        with self._key() as key:
            from pkcs11 import exceptions

            try:
                opened: bytes = key.decrypt(
                    wrapped[NONCE_BYTES:], **self._mechanism(wrapped[:NONCE_BYTES], associated_data)
                )
            except (exceptions.EncryptedDataInvalid, exceptions.EncryptedDataLenRange, exceptions.GeneralError,
                    exceptions.FunctionFailed):  # fmt: skip
                # Modules report a wrong tag in different ways; SoftHSM raises GeneralError.
                raise InvalidUnwrap(
                    f"{self.name}: cannot open the wrapped key: it was altered, or the key or the associated data "
                    "differ"
                ) from None
        return opened

    @staticmethod
    def _mechanism(nonce: bytes, associated_data: bytes) -> dict[str, Any]:
        from pkcs11 import GCMParams, Mechanism

        return {"mechanism": Mechanism.AES_GCM, "mechanism_param": GCMParams(nonce, associated_data or None)}
