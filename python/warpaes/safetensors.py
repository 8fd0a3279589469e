"""Encrypted model weights: CryptoTensors, version 2, the format of the package cryptotensors.

The layout is that of safetensors, with ciphertext in place of the tensors. The header has the wrapped keys, the tags
and a signature. Each tensor has its own key, wrapped with yours. Keys are JSON Web Keys: ``{"kty": "oct", "alg":
"aes256gcm", "k": …, "kid": …}`` with ``k`` in base64, and for signatures ``{"kty": "okp", "alg": "ed25519", "x": …,
"d": …, "kid": …}``. The package cryptography makes and verifies the signatures.

The signature covers the header, and the header has the tags of the encrypted tensors. A file may also contain tensors
in clear: nothing authenticates these. They are refused unless ``allow_clear`` is True; ``safe_open.clear_keys`` lists
them. Every other byte of a file is authenticated, or must be what the format prescribes.

An access policy of the format is a program, and warpaes does not run it: it refuses every file whose policy is not the
one that allows everything.
"""

from __future__ import annotations

import collections
import io
import json
import math
import os
import struct
from collections.abc import Iterator, Mapping
from functools import lru_cache, partial
from types import TracebackType
from typing import Any

from . import _jwk, _native
from ._jwk import Key, b64, compact, unb64
from ._output import Output
from ._pieces import TAG_BYTES, Ahead, Part, chunks_of, cut, workers
from ._pieces import Tensor as Sealed
from .exceptions import FormatError, InvalidTag

__all__ = ["load_file", "safe_open", "save_file"]

CHUNK_BYTES = 2 << 20
# Bytes encrypted and written at a time: a few windows fit into the last-level cache of most processors.
_WINDOW_BYTES = 4 << 20
# One thread writes the file, and it is hardly faster than this many threads encrypt.
_MOST_THREADS = 3
_MOST_HEADER_BYTES = 100 << 20
_END = 1 << 63
_ALLOW_ALL = "package model\nallow = true"

# In the order of safetensors. In the file, tensors are sorted by dtype, from the last of these to the first.
_DTYPES = {
    "BOOL": ("bool", 1),
    "U8": ("uint8", 1),
    "I8": ("int8", 1),
    "F8_E5M2": ("float8_e5m2", 1),
    "F8_E4M3": ("float8_e4m3fn", 1),
    "I16": ("int16", 2),
    "U16": ("uint16", 2),
    "F16": ("float16", 2),
    "BF16": ("bfloat16", 2),
    "I32": ("int32", 4),
    "U32": ("uint32", 4),
    "F32": ("float32", 4),
    "C64": ("complex64", 8),
    "F64": ("float64", 8),
    "I64": ("int64", 8),
    "U64": ("uint64", 8),
}
_NAMES = {name: dtype for dtype, (name, _) in _DTYPES.items()}
_RANK = {dtype: rank for rank, dtype in enumerate(_DTYPES)}


def _nonces(base: bytes, first: int, count: int) -> bytes:
    fixed, start = base[:8], struct.unpack(">I", base[8:])[0]
    return b"".join(fixed + struct.pack(">I", start + i & 0xFFFFFFFF) for i in range(first, first + count))


def _decrypts_there(device: Any) -> bool:
    """Return whether a PyTorch device is a GPU that this process computes on."""
    import torch

    place = torch.device(device)
    if place.type != "cuda":
        return False
    return _native._reaches(torch.cuda.current_device() if place.index is None else place.index)


# ---------------------------------------------------------------------------------------------------------- writing


@lru_cache(64)
def _name_of(dtype: Any) -> str:
    return getattr(dtype, "name", None) or str(dtype).removeprefix("torch.")


class _Tensor:
    """A tensor's bytes in host memory, with its dtype in the terms of the header."""

    def __init__(self, name: str, value: Any) -> None:
        dtype = _name_of(value.dtype)
        if dtype not in _NAMES:
            raise TypeError(f"{name}: safetensors has no dtype {dtype}")
        self.name, self.dtype, self.shape = name, _NAMES[dtype], list(value.shape)
        if hasattr(value, "detach"):  # PyTorch
            import torch

            host = value.detach().cpu().contiguous()
            self.data = memoryview(host.reshape(-1).view(torch.uint8).numpy())
        else:
            import numpy as np

            if value.dtype.byteorder == ">":
                value = value.astype(value.dtype.newbyteorder("<"))
            plain: Any = np.ascontiguousarray(value).reshape(-1).view(np.uint8)
            self.data = memoryview(plain)


def save_file(
    tensors: Mapping[str, Any],
    filename: str | os.PathLike[str],
    metadata: Mapping[str, str] | None = None,
    *,
    enc_key: Key,
    sign_key: Key,
) -> None:
    """Encrypt tensors, sign the header and write the file.

    The file appears under its name only when it is complete; it replaces a file at the path.

    Args:
        tensors: NumPy arrays or PyTorch tensors by name, on any device.
        filename: The path.
        metadata: Text by name, which the header contains in clear and signed. Names must not begin with two
            underscores.
        enc_key: The JSON Web Key that wraps the tensors' keys.
        sign_key: The JSON Web Key with the private key for the signature.

    Raises:
        KeysetError: A key does not have the expected form.
        TypeError: A tensor has a dtype that safetensors lacks, or ``metadata`` has something else than text.
        ValueError: A name in ``metadata`` or of a tensor is reserved.
        ModuleNotFoundError: The package cryptography is missing.
        OSError: The file cannot be written.
    """
    wrapping = _jwk.wrapping_key(enc_key)
    key_bytes = _jwk.KEY_BYTES[enc_key["alg"]]
    if any(not isinstance(text, str) for item in (metadata or {}).items() for text in item):
        raise TypeError("metadata: names and values must be text")
    if any(name.startswith("__") for name in metadata or {}):
        raise ValueError("metadata: names that begin with two underscores are the format's")
    if "__metadata__" in tensors:
        raise ValueError("no tensor can be called __metadata__")
    ordered = [_Tensor(name, value) for name, value in tensors.items()]
    ordered.sort(key=lambda tensor: (-_RANK[tensor.dtype], tensor.name))
    entries: dict[str, Any] = {}
    at = 0
    for tensor in ordered:
        end = at + tensor.data.nbytes
        entries[tensor.name] = {"dtype": tensor.dtype, "shape": tensor.shape, "data_offsets": [at, end]}
        at = end
    sealed: list[Sealed] = []
    encryption: dict[str, dict[str, str]] = {}
    for tensor in ordered:
        random = os.urandom(12 + 12 + key_bytes)
        key_iv, base, key = random[:12], random[12:24], random[24:]
        wrapped = wrapping.encrypt(key_iv, key, None)
        size = tensor.data.nbytes
        tags = memoryview(bytearray(TAG_BYTES * chunks_of(size, CHUNK_BYTES)))
        offset = entries[tensor.name]["data_offsets"][0]
        sealed.append(Sealed(tensor.name, tensor.data, size, offset, key, base, tags))
        encryption[tensor.name] = {
            "wrapped_key": b64(wrapped[:-TAG_BYTES]),
            "key_iv": b64(key_iv),
            "key_tag": b64(wrapped[-TAG_BYTES:]),
            "base_iv": b64(base),
        }
    encryption = dict(sorted(encryption.items()))
    about = {"chunk_size": CHUNK_BYTES, "enc": _jwk.public(enc_key), "sign": _jwk.public(sign_key), "version": "2"}
    fields = dict(metadata or {})
    fields["__crypto_keys__"] = compact(about).decode()
    fields["__policy__"] = compact({"local": _ALLOW_ALL, "remote": _ALLOW_ALL}).decode()

    def header(sign: bool) -> bytes:
        for tensor in sealed:
            encryption[tensor.name]["tags"] = b64(tensor.tags)
        fields["__encryption__"] = compact(encryption).decode()
        fields.pop("__signature__", None)
        unsigned = {"__metadata__": dict(sorted(fields.items())), **entries}
        fields["__signature__"] = b64(_jwk.sign(sign_key, compact(unsigned)) if sign else bytes(_jwk.SIGNATURE_BYTES))
        text = compact({"__metadata__": dict(sorted(fields.items())), **entries})
        text += b" " * (-len(text) % 8)
        return struct.pack("<Q", len(text)) + text

    # Fail before the encryption if the package or the signature key is unusable.
    _jwk.ed25519()
    _jwk.signature_key(sign_key, "d")
    begin = len(header(False))  # its length does not depend on the tags
    with Output(filename, replace=True) as output:
        os.lseek(output.descriptor, begin, os.SEEK_SET)
        _write_tensors(output, sealed)
        os.lseek(output.descriptor, 0, os.SEEK_SET)
        output.write(header(True))


def _encrypt(piece: list[Part], room: memoryview) -> memoryview:
    """Encrypt parts of tensors back to back into ``room``; return the part of ``room`` that they fill."""
    parts, at = [], 0
    for part in piece:
        out = room[at : at + part.size]
        parts.append((part.tensor.key, part.tensor.base, part.first, part.data, out, part.tags))
        at += part.size
    _native._chunks("encrypt", CHUNK_BYTES, parts)
    return room[:at]


def _write_tensors(output: Output, tensors: list[Sealed]) -> None:
    """Write one window while other threads encrypt the next ones. ``tensors`` are in the order of the file."""
    size = sum(tensor.size for tensor in tensors)
    threads = max(1, min(_MOST_THREADS, workers(-(-size // _WINDOW_BYTES)) - 1))  # the current thread writes
    rooms = [memoryview(bytearray(min(_WINDOW_BYTES, size))) for _ in range(threads + 1)]
    with Ahead(threads) as ahead:
        begun: collections.deque[Any] = collections.deque()
        for number, piece in enumerate(cut(tensors, CHUNK_BYTES, _WINDOW_BYTES, _WINDOW_BYTES)):
            if len(begun) == len(rooms):
                output.write(begun.popleft().result())
            begun.append(ahead.submit(partial(_encrypt, piece, rooms[number % len(rooms)])))
        for job in begun:
            output.write(job.result())


# ---------------------------------------------------------------------------------------------------------- reading


def _take_signature(text: bytearray) -> bytes:
    """Remove the signature and the padding from a header; return the signature. The rest is what was signed."""
    end = text.rfind(b"}") + 1
    if len(text) % 8 or len(text) - end >= 8 or text[end:] != b" " * (len(text) - end):
        raise FormatError("no CryptoTensors: the header is not JSON with spaces to a multiple of 8 bytes")
    # Within JSON's strings no quote follows a comma or a brace without a backslash.
    name = b'"__signature__":"'
    begin = max(text.find(b"{" + name), text.find(b"," + name)) + 1
    behind = text.find(b'"', begin + len(name), begin + len(name) + 2 * _jwk.SIGNATURE_BYTES) + 1
    if begin == 0 or behind == 0:
        raise FormatError("no CryptoTensors: the header has no __signature__")
    signature = _jwk.signature(text[begin + len(name) : behind - 1].decode("latin-1"))
    del text[end:]
    if text[behind : behind + 1] == b",":
        behind += 1
    elif text[begin - 1 : begin] == b",":
        begin -= 1
    del text[begin:behind]
    return signature


def _check(name: str, dtype: str, shape: list[int], data_offsets: list[int]) -> None:
    """Check a tensor's entry in the header; raise FormatError if its place does not fit its dtype and shape."""
    if dtype not in _DTYPES:
        raise FormatError(f"{name}: the dtype {dtype} is none that warpaes knows")
    first, end = data_offsets
    numbers = (first, end, *shape)
    if set(map(type, numbers)) != {int} or min(numbers) < 0:
        raise FormatError(f"{name}: shape and data_offsets must be numbers from 0 on")
    if 0 in shape and 8 * math.prod(filter(None, shape)) >= _END:  # NumPy and PyTorch refuse it also if it is empty
        raise FormatError(f"{name}: its shape is too large")
    if end - first != math.prod(shape) * _DTYPES[dtype][1]:
        raise FormatError(f"{name}: its place in the file does not fit its shape")


class safe_open:  # noqa: N801 (safetensors' name)
    """An open file whose tensors are read one by one. Only the chunks of the requested tensors are read."""

    def __init__(
        self,
        filename: str | os.PathLike[str],
        framework: str = "numpy",
        device: Any = "cpu",
        *,
        enc_key: Key,
        sign_key: Key,
        allow_clear: bool = False,
    ) -> None:
        """Open a file and verify the signature of its header.

        Args:
            filename: The path.
            framework: ``numpy`` or ``torch``, or ``np`` or ``pt``.
            device: The device of PyTorch's tensors. On a GPU that warpaes computes on, the GPU decrypts.
            enc_key: The JSON Web Key that wraps the tensors' keys.
            sign_key: The JSON Web Key with the public key of the signature.
            allow_clear: Whether tensors in clear, which nothing authenticates, can be read; see ``clear_keys``.

        Raises:
            InvalidSignature: The header was altered, or is signed with another key.
            FormatError: The file is not CryptoTensors of version 2, is truncated, has bytes that belong to no tensor,
                or has an access policy.
            KeysetError: A key does not have the expected form.
            ValueError: ``framework`` is unknown, or NumPy is combined with a device other than the CPU.
            OSError: The file cannot be read.
        """
        if framework not in ("numpy", "np", "torch", "pt"):
            raise ValueError(f"framework must be numpy or torch, not {framework!r}")
        self._torch = framework in ("torch", "pt")
        if not self._torch and device != "cpu":
            raise ValueError("NumPy's arrays are on the cpu: another device needs framework='torch'")
        self._device = device
        self._allow_clear = allow_clear
        self._wrapping = _jwk.wrapping_key(enc_key)
        self._key_bytes = _jwk.KEY_BYTES[enc_key["alg"]]
        self._file: io.FileIO | None = io.FileIO(filename, "rb")
        try:
            self._read_header(sign_key)
        except BaseException:
            self.close()
            raise

    def _read_header(self, sign_key: Key) -> None:
        size = os.fstat(self._descriptor()).st_size
        start = bytearray(8)
        self._fill(0, memoryview(start)[: min(size, 8)])
        length = struct.unpack("<Q", start)[0] if size >= 8 else size
        if length > min(size - 8, _MOST_HEADER_BYTES):
            raise FormatError("no safetensors: the header would be longer than the file")
        text = bytearray(length)
        self._fill(8, memoryview(text))
        # Over the bytes, before anything interprets them: an unsigned header costs less than a file of its length.
        _jwk.verify(sign_key, _take_signature(text), text)
        try:
            header = json.loads(text)
            metadata = header.pop("__metadata__")
            about = json.loads(metadata["__crypto_keys__"])
            encryption = json.loads(metadata["__encryption__"])
            policy = json.loads(metadata["__policy__"])
        except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
            raise FormatError(f"no CryptoTensors: {error!r:.200} in the header") from None
        try:
            self._interpret(about, policy, encryption)
            self._metadata, self._encryption = metadata, encryption
            self._entries = header
            for name, entry in header.items():
                _check(name, **entry)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise FormatError(f"no CryptoTensors: {error!r:.200} in the header") from None
        self._begin = 8 + length
        end = self._begin
        for name, entry in sorted(self._entries.items(), key=lambda item: item[1]["data_offsets"]):
            first, behind = entry["data_offsets"]
            if self._begin + first != end:
                raise FormatError(f"{name}: its place in the file leaves a gap, or is also another tensor's")
            end = self._begin + behind
            if end > size:
                raise FormatError(f"{name}: ends after the end of the file, which was cut off")
        if end != size:
            raise FormatError(f"{size - end} bytes follow the last tensor: nothing authenticates them, so remove them")

    def _interpret(self, about: Any, policy: Any, encryption: Any) -> None:
        if about.get("version") != "2":
            raise FormatError(f"CryptoTensors of version {about.get('version')!r}: warpaes reads version 2")
        if policy.get("local") != _ALLOW_ALL or policy.get("remote") not in (_ALLOW_ALL, ""):
            raise FormatError("the file has an access policy, which warpaes does not evaluate: use cryptotensors")
        algorithm = about.get("enc", {}).get("alg")
        if algorithm not in _jwk.KEY_BYTES:
            raise FormatError(f"encrypted with {algorithm!r}, not with AES-GCM")
        self._chunk = about.get("chunk_size")
        if type(self._chunk) is not int or not 0 < self._chunk < _END:
            raise FormatError("chunk_size must be a number above 0 and below 2^63")
        if any(not isinstance(fields, dict) for fields in encryption.values()):
            raise FormatError("__encryption__ must have an object for each tensor")

    def _descriptor(self) -> int:
        if self._file is None:
            raise ValueError("I/O operation on closed file")
        return self._file.fileno()

    def _fill(self, at: int, *rooms: memoryview) -> None:
        """Read from offset ``at`` of the file into one buffer after the other, until all are full."""
        left = [room for room in rooms if room.nbytes]
        while left:
            got = os.preadv(self._descriptor(), left, at)
            if got == 0:
                raise FormatError(f"the file ends at byte {at}: it was cut off")
            at += got
            while left and got >= left[0].nbytes:
                got -= left.pop(0).nbytes
            if got:
                left[0] = left[0][got:]

    def keys(self) -> list[str]:
        """Return the names of the tensors, in the order of the header."""
        return list(self._entries)

    def clear_keys(self) -> list[str]:
        """Return the names of the tensors that are in clear. Anyone who can write to the file can change their data;
        names, dtypes and shapes are authentic."""
        return [name for name in self._entries if name not in self._encryption]

    def metadata(self) -> dict[str, str]:
        """Return the metadata given to ``save_file``. It is authentic."""
        return {name: value for name, value in self._metadata.items() if not name.startswith("__")}

    def get_tensor(self, name: str) -> Any:
        """Read, decrypt and return one tensor.

        Raises:
            KeyError: There is no tensor of this name.
            InvalidTag: The tensor was altered, or ``enc_key`` is another key.
            FormatError: The tensor is in clear, and ``allow_clear`` is False; or the file was cut off meanwhile.
            ValueError: The file is closed.
        """
        return next(self._tensors([name]))[1]

    def _keys(self, name: str) -> tuple[bytes, bytes, bytes]:
        fields = self._encryption[name]
        try:
            sealed = unb64(fields["wrapped_key"], "wrapped_key") + unb64(fields["key_tag"], "key_tag")
            nonce, base = unb64(fields["key_iv"], "key_iv"), unb64(fields["base_iv"], "base_iv")
            tags = unb64(fields["tags"], "tags")
        except (KeyError, TypeError) as error:
            raise FormatError(f"{name}: {error!r} in __encryption__") from None
        if len(nonce) != 12 or len(base) != 12 or len(sealed) != self._key_bytes + TAG_BYTES:
            raise FormatError(f"{name}: its wrapped key, key_iv or base_iv has a wrong length")
        try:
            key = self._wrapping.decrypt(nonce, sealed, None)
        except InvalidTag:
            raise InvalidTag(f"{name}: its key is not wrapped with enc_key") from None
        first, end = self._entries[name]["data_offsets"]
        if len(tags) != TAG_BYTES * chunks_of(end - first, self._chunk):
            raise FormatError(f"{name}: it has tags for another number of chunks")
        return key, base, tags

    def _tensors(self, names: list[str]) -> Iterator[tuple[str, Any]]:
        """Read and decrypt tensors with several threads."""
        for name in names:
            if name not in self._entries:
                raise KeyError(name)
            if name not in self._encryption and not self._allow_clear:
                raise FormatError(
                    f"{name}: is in clear, so nothing authenticates it; allow_clear=True reads such tensors, which "
                    "clear_keys() lists"
                )
        if self._torch and _decrypts_there(self._device):
            from ._to_gpu import load
        else:
            from ._to_host import load
        yield from load(self, names)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self) -> safe_open:
        """Return this object."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close the file."""
        self.close()


def load_file(
    filename: str | os.PathLike[str],
    framework: str = "numpy",
    device: Any = "cpu",
    *,
    enc_key: Key,
    sign_key: Key,
    allow_clear: bool = False,
) -> dict[str, Any]:
    """Read and decrypt all tensors of a file.

    Arguments and exceptions are those of ``safe_open`` and ``get_tensor``.

    Returns:
        The tensors by name.
    """
    with safe_open(filename, framework, device, enc_key=enc_key, sign_key=sign_key, allow_clear=allow_clear) as file:
        return dict(file._tensors(file.keys()))
