"""A TPM 2.0, accessed through tpm2-tools. Wrapped keys open only on this machine and, with ``pcr``, only in the
machine's current state."""

from __future__ import annotations

import pathlib
import secrets
import struct
import tempfile
from urllib.parse import parse_qsl

from .. import aead
from .._fork_lock import ForkLock
from ..exceptions import InvalidTag, InvalidUnwrap
from ._program import run_program
from ._source import KeySource, KeySourceError, UnavailableError, check_length

MAGIC = b"warpaes-tpm2-1\n"
NONCE_BYTES, TAG_BYTES, KEK_BYTES, MOST_PART = 12, 16, 32, 4096


class Tpm2Source(KeySource):
    """``tpm2:[?pcr=sha256:0,7][&tcti=…][&flush=yes]``.

    For each wrapped key, the TPM seals a new key under its storage hierarchy's primary key. The new key encrypts the
    data key with AES-256-GCM in this process. ``flush=yes`` is for a TPM that has no resource manager (/dev/tpmrm0) and
    no other users.
    """

    def __init__(self, url: str) -> None:
        """Parse the complete URL."""
        path, _, query = url.removeprefix("tpm2:").partition("?")
        options = dict(parse_qsl(query))
        if path.strip("/") or set(options) - {"pcr", "tcti", "flush"} or options.get("flush", "yes") != "yes":
            raise ValueError("tpm2: must be tpm2: or tpm2:?pcr=sha256:0,7&tcti=TCTI&flush=yes")
        self.name = "tpm2:" + (f"?pcr={options['pcr']}" if "pcr" in options else "")
        self._pcr = options.get("pcr")
        self._flush = "flush" in options
        self._environment = {"TPM2TOOLS_TCTI": options["tcti"]} if "tcti" in options else {}
        self._lock = ForkLock()

    def _tpm(self, *arguments: str, stdin: bytes | None = None) -> bytes:
        try:
            return run_program(self.name, ["tpm2", *arguments], stdin=stdin, environment=self._environment, quiet=True)
        finally:
            if self._flush and arguments[0] != "flushcontext":
                run_program(self.name, ["tpm2", "flushcontext", "-t"], environment=self._environment, quiet=True)

    def _primary(self, folder: pathlib.Path) -> str:
        context = str(folder / "primary")
        try:
            self._tpm("createprimary", "-Q", "-C", "o", "-G", "ecc", "-c", context)
        except KeySourceError as error:
            raise UnavailableError(f"{error}; check that a TPM exists and that this user may access it") from None
        return context

    def wrap(self, data_key: bytes, associated_data: bytes = b"") -> bytes:
        """Seal a new key in the TPM, and encrypt the data key under it."""
        check_length(data_key)
        kek = secrets.token_bytes(KEK_BYTES)
        with self._lock, tempfile.TemporaryDirectory(prefix="warpaes-tpm2-") as name:
            folder = pathlib.Path(name)
            primary = self._primary(folder)
            policy = []
            if self._pcr:
                self._tpm("createpolicy", "-Q", "--policy-pcr", "-l", self._pcr, "-L", str(folder / "policy"))
                policy = ["-L", str(folder / "policy")]
            public, private = folder / "public", folder / "private"
            self._tpm(
                "create", "-Q", "-C", primary, "-i", "-", *policy, "-u", str(public), "-r", str(private), stdin=kek
            )
            parts = [public.read_bytes(), private.read_bytes()]
        nonce = secrets.token_bytes(NONCE_BYTES)
        head = MAGIC + b"".join(struct.pack(">H", len(part)) + part for part in parts)
        return head + nonce + aead.AESGCM(kek).encrypt(nonce, data_key, head + associated_data)

    def unwrap(self, wrapped: bytes, associated_data: bytes = b"") -> bytes:
        """Unseal the key in the TPM, and decrypt the data key with it."""
        public, private, at = self._parts(wrapped)
        with self._lock, tempfile.TemporaryDirectory(prefix="warpaes-tpm2-") as name:
            folder = pathlib.Path(name)
            primary = self._primary(folder)
            (folder / "public").write_bytes(public)
            (folder / "private").write_bytes(private)
            sealed = str(folder / "sealed")
            try:
                self._tpm("load", "-Q", "-C", primary, "-u", str(folder / "public"), "-r", str(folder / "private"),
                          "-c", sealed)  # fmt: skip
                kek = self._tpm("unseal", "-c", sealed, *(["-p", f"pcr:{self._pcr}"] if self._pcr else []))
            except KeySourceError as error:
                raise InvalidUnwrap(
                    f"{self.name}: the TPM cannot open the wrapped key: the machine or its state differs, or the "
                    f"wrapped key was altered ({error})"
                ) from None
        try:
            return aead.AESGCM(kek).decrypt(wrapped[at : at + NONCE_BYTES], wrapped[at + NONCE_BYTES :],
                                            wrapped[:at] + associated_data)  # fmt: skip
        except (InvalidTag, ValueError):
            raise InvalidUnwrap(f"{self.name}: the wrapped key was altered, or the associated data differ") from None

    def _parts(self, wrapped: bytes) -> tuple[bytes, bytes, int]:
        at, parts = len(MAGIC), []
        for _ in range(2):
            length = int.from_bytes(wrapped[at : at + 2], "big")
            parts.append(wrapped[at + 2 : at + 2 + length])
            at += 2 + length
        if not wrapped.startswith(MAGIC) or len(wrapped) < at + NONCE_BYTES + TAG_BYTES or len(wrapped) > MOST_PART * 3:
            raise InvalidUnwrap(f"{self.name}: the wrapped key is truncated, or was created by another source")
        return parts[0], parts[1], at
