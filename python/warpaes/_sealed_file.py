"""Open files of encrypted tensors: the verified header, and the encrypted bytes of the tensors."""

from __future__ import annotations

import binascii
import copy
import hashlib
import io
import json
import os
import struct
from functools import partial
from typing import Any

from . import _jwk
from ._cryptotensors import (
    CHUNK_BYTES,
    ENCRYPTION,
    GUARD,
    MAX_HEADER_BYTES,
    POLICY,
    check,
    check_encryption,
    check_key,
    is_guard,
)
from ._jwk import Key, unb64
from ._pieces import TAG_BYTES, Tensor, chunks_of
from .exceptions import FormatError, InvalidTag

_END = 1 << 64

#: Like ``unb64``, but its exceptions do not name the field.
_base64 = partial(binascii.a2b_base64, strict_mode=True)


class _InClear(FormatError):  # noqa: N818 (always converted to another exception)
    """The header is a safetensors header without encryption."""


def take_signature(text: bytearray) -> bytes:
    """Remove the signature and the padding from a header, and return the signature. The remaining text is the signed
    text."""
    if b'"__encryption__"' not in text and b'"__crypto_keys__"' not in text and text.lstrip().startswith(b"{"):
        raise _InClear
    end = text.rfind(b"}") + 1
    if len(text) % 8 or len(text) - end >= 8 or text[end:] != b" " * (len(text) - end):
        raise FormatError(
            "not a CryptoTensors file: the header is not JSON, padded with spaces to a multiple of 8 bytes"
        )
    # Within JSON strings, quotes are escaped.
    name = b'"__signature__":"'
    begin = max(text.find(b"{" + name), text.find(b"," + name)) + 1
    behind = text.find(b'"', begin + len(name), begin + len(name) + 2 * _jwk.SIGNATURE_BYTES) + 1
    if begin == 0 or behind == 0:
        raise FormatError("not a CryptoTensors file: the header has no __signature__")
    signature = _jwk.signature(text[begin + len(name) : behind - 1].decode("latin-1"))
    del text[end:]
    if text[behind : behind + 1] == b",":
        behind += 1
    elif text[begin - 1 : begin] == b",":
        begin -= 1
    del text[begin:behind]
    return signature


class Ranges:
    """A local file that any number of threads can read at any offset. Subclasses override ``_read`` and ``close``."""

    #: The minimum size in bytes of a separate read, and the minimum number of threads, which does not depend on the
    #: number of processors.
    piece_bytes, threads = 0, 0
    #: Whether the file can also be read into device memory (``_kvikio.DeviceRanges``).
    reads_to_device = False

    def __init__(self, filename: str | os.PathLike[str]) -> None:
        """Open a file."""
        self.name = os.fspath(filename)
        self._file: io.FileIO | None = io.FileIO(filename, "rb")
        self.size = os.fstat(self._file.fileno()).st_size

    def check_open(self) -> None:
        """Raise ValueError if the file is closed."""
        if self._file is None:
            raise ValueError("I/O operation on closed file")

    def fill(self, at: int, *rooms: memoryview) -> None:
        """Read from offset ``at`` in the file into the buffers, one after another, until all buffers are full."""
        left = [room for room in rooms if room.nbytes]
        while left:
            self.check_open()
            got = self._read(at, left)
            if got == 0:
                raise FormatError(f"the file ends at byte {at}, so it was truncated")
            at += got
            while left and got >= left[0].nbytes:
                got -= left.pop(0).nbytes
            if got:
                left[0] = left[0][got:]

    def _read(self, at: int, rooms: list[memoryview]) -> int:
        """Read into the beginning of the buffers. Return the number of bytes, or 0 at the end of the file."""
        assert self._file is not None
        return os.preadv(self._file.fileno(), rooms, at)

    def begin_fill(self, at: int, room: Any) -> Any:
        """Begin to read into device memory, if the file supports this."""
        raise NotImplementedError

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None


class SealedFile:
    """A file of encrypted tensors, used by ``safe_open`` and by the code that reads tensors into memory."""

    def __init__(
        self,
        file: Ranges,
        framework: str,
        device: Any,
        *,
        enc_key: Key,
        sign_key: Key,
        header_sha256: str | None = None,
    ) -> None:
        """Open a file and verify the signature of its header. Raises the same exceptions as ``safe_open``.

        Args:
            file: The open file, which is closed together with this object.
            framework: The framework of the tensors to read: ``numpy`` or ``torch``.
            device: The device for PyTorch tensors.
            enc_key: The JSON Web Key that wraps the tensors' keys.
            sign_key: The JSON Web Key with the public key that verifies the signature.
            header_sha256: The required hash of the header, including its length field. None accepts any header.
        """
        self.is_torch, self.device = framework == "torch", device
        self._framework = framework
        self._wrapping = _jwk.wrapping_key(enc_key)
        self._key_bytes = _jwk.KEY_BYTES[enc_key["alg"]]
        self._ranges = file
        self._name = self._ranges.name
        self.fill, self.close, self.check_open = self._ranges.fill, self._ranges.close, self._ranges.check_open
        self.piece_bytes, self.threads = self._ranges.piece_bytes, self._ranges.threads
        self.reads_to_device = self._ranges.reads_to_device
        try:
            self._read_header(sign_key, header_sha256)
        except BaseException:
            self.close()
            raise

    def begin_fill(self, at: int, room: Any) -> Any:
        """Begin to read into device memory. Return a future for the number of bytes."""
        self.check_open()
        return self._ranges.begin_fill(at, room)

    def on(self, device: Any) -> SealedFile:
        """Return an object for the same open file, but for tensors on another device."""
        other = copy.copy(self)
        other.device = device
        return other

    def _read_header(self, sign_key: Key, header_sha256: str | None) -> None:
        size = self._ranges.size
        start = bytearray(8)
        self.fill(0, memoryview(start)[: min(size, 8)])
        length = struct.unpack("<Q", start)[0] if size >= 8 else size
        if length > size - 8:
            raise FormatError("not a safetensors file: the header would be longer than the file")
        if length > MAX_HEADER_BYTES:
            raise FormatError(f"the header has {length} bytes, but the format allows at most {MAX_HEADER_BYTES}")
        text = bytearray(length)
        self.fill(8, memoryview(text))
        if header_sha256 is not None and hashlib.sha256(start + text).hexdigest() != header_sha256:
            raise InvalidTag(f"{self._name} was altered or replaced: it differs from the file in the manifest")
        # The signature is verified before the header is parsed, so that an unsigned header costs little.
        try:
            signature = take_signature(text)
        except _InClear:
            raise FormatError(
                f"{self._name} is not encrypted and therefore not authenticated; "
                f"open it with safetensors.{self._framework}.load_file"
            ) from None
        _jwk.verify(sign_key, signature, text)
        try:
            header = json.loads(text)
            metadata = header.pop("__metadata__")
            if any(type(value) is not str for value in metadata.values()):
                raise FormatError("not a CryptoTensors file: __metadata__ contains values that are not text")
            about = json.loads(metadata["__crypto_keys__"])
            encryption = json.loads(metadata["__encryption__"])
            policy = json.loads(metadata["__policy__"])
            self._interpret(about, policy)
            check_encryption(encryption)
            check(text, metadata, header, size - 8 - length)
        except FormatError:
            raise
        except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
            raise FormatError(f"not a CryptoTensors file: {error!r:.200} in the header") from None
        self.metadata, self.encryption = metadata, encryption
        if GUARD in header and is_guard(GUARD, header[GUARD]):
            del header[GUARD]
        self.entries: dict[str, Any] = header
        self._begin = 8 + length

    def _interpret(self, about: Any, policy: Any) -> None:
        if about.get("version") != "2":
            raise FormatError(f"the CryptoTensors version is {about.get('version')!r}, but only version 2 is supported")
        if policy.get("local") != POLICY or policy.get("remote") not in (POLICY, ""):
            raise FormatError(
                "the file has an access policy, which warpaes does not evaluate; read it with cryptotensors"
            )
        for use in ("enc", "sign"):
            check_key(about.get(use), use)
        algorithm = about["enc"].get("alg")
        if algorithm not in _jwk.KEY_BYTES:
            raise FormatError(f"the file is encrypted with {algorithm!r}, not with AES-GCM")
        if about["sign"].get("alg") != "ed25519":
            raise FormatError("the file is signed with an algorithm other than ed25519")
        chunk = about.get("chunk_size", CHUNK_BYTES)
        if type(chunk) is not int or not 0 < chunk < _END:
            raise FormatError("chunk_size must be from 1 to 2^64 - 1")
        self.chunk = min(chunk, _END >> 2)  # more than the length of any file

    def sealed(self, name: str, data: Any) -> Tensor:
        """Return the description of a tensor, whose bytes will be read into ``data``."""
        first, end = self.entries[name]["data_offsets"]
        key, base, tags = self._keys(name) if name in self.encryption else (b"", b"", b"")
        return Tensor(name, data, end - first, self._begin + first, key, base, memoryview(tags))

    def _keys(self, name: str) -> tuple[bytes, bytes, bytes]:
        fields = self.encryption[name]
        try:
            wrapped, nonce, tag, base, tags = [_base64(fields[field]) for field in ENCRYPTION]
        except KeyError as error:
            raise FormatError(f"{name}: {error!r} in __encryption__") from None
        except (TypeError, ValueError):
            for field in ENCRYPTION:
                unb64(fields[field], f"{name}: {field}")
            raise
        sealed = wrapped + tag
        if len(nonce) != 12 or len(base) != 12 or len(sealed) != self._key_bytes + TAG_BYTES:
            raise FormatError(f"{name}: the wrapped key, key_iv or base_iv has the wrong length")
        try:
            key = self._wrapping.decrypt(nonce, sealed, None)
        except InvalidTag:
            raise InvalidTag(f"{name}: the key is not wrapped with enc_key") from None
        first, end = self.entries[name]["data_offsets"]
        if len(tags) != TAG_BYTES * chunks_of(end - first, self.chunk):
            raise FormatError(f"{name}: the number of tags does not match the number of chunks")
        return key, base, tags
