"""Encrypted model weights: CryptoTensors, version 2, which the package cryptotensors reads and writes.

The layout is that of safetensors, with ciphertext where the tensors are; keys, tags and a signature stand in the
header. Every tensor has a key of its own, wrapped with yours. Keys are JSON Web Keys: ``{"kty": "oct", "alg":
"aes256gcm", "k": …, "kid": …}`` with ``k`` in base64, and for signatures ``{"kty": "okp", "alg": "ed25519", "x": …,
"d": …, "kid": …}``. Signatures are made and verified by the package cryptography.

Access policies are programs, which warpaes does not run: a file whose policy is not the one that allows everything is
refused.
"""

from __future__ import annotations

import array
import base64
import builtins
import contextlib
import io
import json
import math
import os
import struct
import tempfile
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any

from . import _native
from .aead import AESGCM, Batch
from .exceptions import FormatError, InvalidSignature, InvalidTag, KeysetError

__all__ = ["load_file", "safe_open", "save_file"]

Key = Mapping[str, Any]

CHUNK_BYTES = 2 << 20
# What is encrypted and written at a time: two windows lie in the cache of most processors' last level.
_WINDOW_BYTES = 4 << 20
# Shorter messages are encrypted sooner than others could be asked to.
_LEAST_BATCH_BYTES = 128 << 10
_MOST_HEADER_BYTES = 100 << 20
_KEY_BYTES = {"aes128gcm": 16, "aes256gcm": 32}
_ALLOW_ALL = "package model\nallow = true"

# In the order in which safetensors has them; tensors lie in the file from the last kind to the first.
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


def _b64(data: Any) -> str:
    return base64.b64encode(data).decode()


def _unb64(text: Any, what: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (TypeError, ValueError):
        raise FormatError(f"{what} is not base64") from None


def _compact(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def _wrapping_key(key: Key) -> AESGCM:
    algorithm = key.get("alg")
    if key.get("kty") != "oct" or algorithm not in _KEY_BYTES:
        raise KeysetError(f"enc_key: kty must be oct, and alg aes128gcm or aes256gcm, not {algorithm!r}")
    try:
        secret = base64.b64decode(key["k"], validate=True)
    except (KeyError, TypeError, ValueError):
        raise KeysetError("enc_key: k is missing, or not base64") from None
    if len(secret) != _KEY_BYTES[algorithm]:
        raise KeysetError(f"enc_key: k has {len(secret)} bytes, and {algorithm} takes {_KEY_BYTES[algorithm]}")
    return AESGCM(secret)


def _public(key: Key) -> dict[str, Any]:
    """Return what of a key stands in the header."""
    return {name: key[name] for name in ("alg", "jku", "kid", "kty") if key.get(name) is not None}


def _signature_key(key: Key, name: str) -> bytes:
    if key.get("kty") != "okp" or key.get("alg") != "ed25519":
        raise KeysetError("sign_key: kty must be okp, and alg ed25519")
    try:
        data = base64.b64decode(key[name], validate=True)
    except (KeyError, TypeError, ValueError):
        raise KeysetError(f"sign_key: {name} is missing, or not base64") from None
    if len(data) != 32:
        raise KeysetError(f"sign_key: {name} must have 32 bytes")
    return data


def _ed25519() -> Any:
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ModuleNotFoundError:
        raise ModuleNotFoundError("signatures need the package cryptography: pip install cryptography") from None
    return ed25519


def _sign(key: Key, message: bytes) -> bytes:
    signature: bytes = _ed25519().Ed25519PrivateKey.from_private_bytes(_signature_key(key, "d")).sign(message)
    return signature


def _verify(key: Key, signature: bytes, message: bytes) -> None:
    public = _ed25519().Ed25519PublicKey.from_public_bytes(_signature_key(key, "x"))
    try:
        public.verify(signature, message)
    except Exception:
        raise InvalidSignature("the signature is not sign_key's: the header was altered, or is another's") from None


def _nonces(base: bytes, first: int, count: int) -> bytes:
    fixed, start = base[:8], struct.unpack(">I", base[8:])[0]
    return b"".join(fixed + struct.pack(">I", start + i & 0xFFFFFFFF) for i in range(first, first + count))


def _decrypts_there(device: Any) -> bool:
    """Whether a device of PyTorch's is a GPU that this process computes on."""
    import torch

    place = torch.device(device)
    if place.type != "cuda":
        return False
    return _native._reaches(torch.cuda.current_device() if place.index is None else place.index)


def _chunks(size: int, chunk: int) -> int:
    """Return how many chunks there are; of nothing there is one, that is empty."""
    return max(1, -(-size // chunk))


def _begin(cipher: AESGCM, way: Any, base: bytes, first: int, chunk: int, data: Any, out: Any, tags: Any) -> Batch:
    """Begin on the chunks of some bytes, from chunk ``first`` of their tensor on."""
    size = data.nbytes
    count = _chunks(size, chunk)
    offsets = array.array("Q", range(0, count * chunk, chunk))
    lengths = array.array("Q", [min(chunk, size - offset) for offset in offsets])
    return cipher.submit_into(way, _nonces(base, first, count), data, offsets, lengths, out, tags)


# ---------------------------------------------------------------------------------------------------------- writing


class _Tensor:
    """A tensor as bytes, with its name in the header."""

    def __init__(self, name: str, value: Any) -> None:
        dtype = getattr(value.dtype, "name", None) or str(value.dtype).removeprefix("torch.")
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
    """Write tensors of NumPy or PyTorch. The file appears under its name when it is complete."""
    wrapping = _wrapping_key(enc_key)
    key_bytes = _KEY_BYTES[enc_key["alg"]]
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
    keys = {tensor.name: os.urandom(key_bytes) for tensor in ordered}
    ivs = {tensor.name: (os.urandom(12), os.urandom(12)) for tensor in ordered}
    tags = {tensor.name: bytearray(16 * _chunks(tensor.data.nbytes, CHUNK_BYTES)) for tensor in ordered}

    def header() -> bytes:
        encryption = {}
        for name in sorted(keys):
            key_iv, base_iv = ivs[name]
            sealed = wrapping.encrypt(key_iv, keys[name], None)
            encryption[name] = {
                "wrapped_key": _b64(sealed[:-16]),
                "key_iv": _b64(key_iv),
                "key_tag": _b64(sealed[-16:]),
                "base_iv": _b64(base_iv),
                "tags": _b64(tags[name]),
            }
        about = {"chunk_size": CHUNK_BYTES, "enc": _public(enc_key), "sign": _public(sign_key), "version": "2"}
        fields = dict(metadata or {})
        fields["__crypto_keys__"] = _compact(about).decode()
        fields["__encryption__"] = _compact(encryption).decode()
        fields["__policy__"] = _compact({"local": _ALLOW_ALL, "remote": _ALLOW_ALL}).decode()
        unsigned = {"__metadata__": dict(sorted(fields.items())), **entries}
        fields["__signature__"] = _b64(_sign(sign_key, _compact(unsigned)))
        text = _compact({"__metadata__": dict(sorted(fields.items())), **entries})
        text += b" " * (-len(text) % 8)
        return struct.pack("<Q", len(text)) + text

    # With other tags it is as long.
    begin = len(header())
    path = os.fspath(filename)
    descriptor, temporary = tempfile.mkstemp(prefix=".warpaes-", dir=os.path.dirname(path) or ".")
    try:
        with os.fdopen(descriptor, "wb", buffering=0) as file:
            file.seek(begin)
            ciphers = {name: AESGCM(key) for name, key in keys.items()}
            _write_tensors(file, ordered, ciphers, {name: iv for name, (_, iv) in ivs.items()}, tags)
            file.seek(0)
            _write(file, memoryview(header()))
            os.fchmod(descriptor, 0o666 & ~_umask())
            os.fsync(descriptor)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def _umask() -> int:
    with builtins.open("/proc/self/status") as status:
        for line in status:
            if line.startswith("Umask:"):
                return int(line.split()[1], 8)
    return 0o077


def _write(file: Any, data: memoryview) -> None:
    while data.nbytes:
        data = data[file.write(data) :]


class _Window:
    """Ciphertext that goes to the file as one, and the batches that make it."""

    def __init__(self, room: int) -> None:
        self._room = memoryview(bytearray(room))
        self._used = 0
        self._batches: list[Batch] = []

    def left(self) -> int:
        """Return how many bytes there is room for."""
        return self._room.nbytes - self._used

    def add(self, cipher: AESGCM, base: bytes, first: int, data: memoryview, tags: memoryview) -> None:
        """Begin to encrypt some chunks."""
        out = self._room[self._used : self._used + data.nbytes]
        self._used += data.nbytes
        if tags.nbytes == 16 and data.nbytes < _LEAST_BATCH_BYTES:
            cipher.encrypt_into(_nonces(base, first, 1), data, None, out, tag=tags)
        else:
            self._batches.append(_begin(cipher, "encrypt", base, first, CHUNK_BYTES, data, out, tags))

    def write(self, file: Any) -> None:
        batches, self._batches = self._batches, []
        for batch in batches:
            batch.result()
        _write(file, self._room[: self._used])
        self._used = 0


def _write_tensors(
    file: Any,
    tensors: list[_Tensor],
    ciphers: Mapping[str, AESGCM],
    bases: Mapping[str, bytes],
    tags: Mapping[str, bytearray],
) -> None:
    """Encrypt a window while the one before is written. Tensors follow one another in the file as they do here."""
    room = min(_WINDOW_BYTES, sum(tensor.data.nbytes for tensor in tensors))
    filling, full = _Window(room), _Window(room)
    for tensor in tensors:
        size, at = tensor.data.nbytes, 0
        while at < max(size, 1):
            fits = filling.left() if filling.left() >= size - at else filling.left() // CHUNK_BYTES * CHUNK_BYTES
            if fits == 0 and size != 0:
                full.write(file)
                filling, full = full, filling
                continue
            data, first = tensor.data[at : at + fits], at // CHUNK_BYTES
            tag = memoryview(tags[tensor.name])[16 * first : 16 * (first + _chunks(data.nbytes, CHUNK_BYTES))]
            filling.add(ciphers[tensor.name], bases[tensor.name], first, data, tag)
            at += max(data.nbytes, 1)
    full.write(file)
    filling.write(file)


# ---------------------------------------------------------------------------------------------------------- reading


class safe_open:  # noqa: N801 (safetensors' name)
    """A file whose tensors are read one by one; only the chunks of a tensor that is asked for are read."""

    def __init__(
        self,
        filename: str | os.PathLike[str],
        framework: str = "numpy",
        device: Any = "cpu",
        *,
        enc_key: Key,
        sign_key: Key,
    ) -> None:
        """Open a file, and verify its header. ``framework``: numpy or torch; ``device``: where torch's tensors go."""
        if framework not in ("numpy", "np", "torch", "pt"):
            raise ValueError(f"framework must be numpy or torch, not {framework!r}")
        self._torch = framework in ("torch", "pt")
        if not self._torch and device != "cpu":
            raise ValueError("NumPy's arrays are on the cpu: another device needs framework='torch'")
        self._device = device
        self._wrapping = _wrapping_key(enc_key)
        self._key_bytes = _KEY_BYTES[enc_key["alg"]]
        self._file: io.FileIO | None = io.FileIO(filename, "rb")
        try:
            self._read_header(sign_key)
        except BaseException:
            self.close()
            raise

    def _read_header(self, sign_key: Key) -> None:
        size = os.fstat(self._descriptor()).st_size
        length = struct.unpack("<Q", self._read(0, 8))[0] if size >= 8 else size
        if length > min(size - 8, _MOST_HEADER_BYTES):
            raise FormatError("no safetensors: the header would be longer than the file")
        try:
            header = json.loads(self._read(8, length))
            self._metadata = header.pop("__metadata__")
            signed = dict(self._metadata)
            signature = signed.pop("__signature__")
            about = json.loads(self._metadata["__crypto_keys__"])
            self._encryption = json.loads(self._metadata["__encryption__"])
            policy = json.loads(self._metadata["__policy__"])
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise FormatError(f"no CryptoTensors: {error!r} in the header") from None
        _verify(sign_key, _unb64(signature, "__signature__"), _compact({"__metadata__": signed, **header}))
        # From here on it is what whoever has the key for signatures has written.
        if about.get("version") != "2":
            raise FormatError(f"CryptoTensors of version {about.get('version')!r}: warpaes reads version 2")
        if policy.get("local") != _ALLOW_ALL or policy.get("remote") not in (_ALLOW_ALL, ""):
            raise FormatError("the file has an access policy, which warpaes does not evaluate: use cryptotensors")
        if about.get("enc", {}).get("alg") not in _KEY_BYTES:
            raise FormatError(f"encrypted with {about.get('enc', {}).get('alg')!r}, not with AES-GCM")
        self._chunk = about.get("chunk_size")
        if not isinstance(self._chunk, int) or self._chunk <= 0:
            raise FormatError("chunk_size must be a number above 0")
        self._entries = header
        self._begin = 8 + length
        for name, entry in header.items():
            if entry["dtype"] not in _DTYPES:
                raise FormatError(f"{name}: the dtype {entry['dtype']} is none that warpaes knows")
            first, end = entry["data_offsets"]
            if end - first != math.prod(entry["shape"]) * _DTYPES[entry["dtype"]][1] or self._begin + end > size:
                raise FormatError(f"{name}: its place in the file does not fit its shape, or the file was cut off")

    def _descriptor(self) -> int:
        if self._file is None:
            raise ValueError("I/O operation on closed file")
        return self._file.fileno()

    def _read(self, at: int, length: int) -> bytes:
        out = bytearray(length)
        self._fill(at, memoryview(out))
        return bytes(out)

    def _fill(self, at: int, out: memoryview) -> None:
        while out.nbytes:
            got = os.preadv(self._descriptor(), [out], at)
            if got == 0:
                raise FormatError(f"the file ends at byte {at}: it was cut off")
            out, at = out[got:], at + got

    def keys(self) -> list[str]:
        """Return the names of the tensors, in the order of the file."""
        return list(self._entries)

    def metadata(self) -> dict[str, str]:
        """Return the metadata that whoever wrote the file has given."""
        return {name: value for name, value in self._metadata.items() if not name.startswith("__")}

    def get_tensor(self, name: str) -> Any:
        """Read and decrypt one tensor."""
        return next(self._tensors([name]))[1]

    def _cipher(self, name: str) -> tuple[AESGCM, bytes, bytes]:
        fields = self._encryption[name]
        try:
            sealed = _unb64(fields["wrapped_key"], "wrapped_key") + _unb64(fields["key_tag"], "key_tag")
            nonce, base = _unb64(fields["key_iv"], "key_iv"), _unb64(fields["base_iv"], "base_iv")
            tags = _unb64(fields["tags"], "tags")
        except (KeyError, TypeError) as error:
            raise FormatError(f"{name}: {error!r} in __encryption__") from None
        try:
            key = self._wrapping.decrypt(nonce, sealed, None)
        except InvalidTag:
            raise InvalidTag(f"{name}: its key is not wrapped with enc_key") from None
        if len(key) != self._key_bytes or len(base) != 12:
            raise FormatError(f"{name}: its key or base_iv has a wrong length")
        first, end = self._entries[name]["data_offsets"]
        if len(tags) != 16 * _chunks(end - first, self._chunk):
            raise FormatError(f"{name}: it has tags for another number of chunks")
        return AESGCM(key), base, tags

    def _tensors(self, names: list[str]) -> Iterator[tuple[str, Any]]:
        """Read and decrypt tensors, by several threads."""
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
        """Return itself."""
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
) -> dict[str, Any]:
    """Read and decrypt all tensors of a file."""
    with safe_open(filename, framework, device, enc_key=enc_key, sign_key=sign_key) as file:
        return dict(file._tensors(file.keys()))
