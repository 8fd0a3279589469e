"""Encrypted model weights in CryptoTensors, version 2, the format of the package cryptotensors.

The layout is that of safetensors, with ciphertext in place of the tensors. The header contains the wrapped keys, the
tags and a signature. Each tensor has its own key, which is wrapped with your key. Keys are JSON Web Keys:
``{"kty": "oct", "alg": "aes256gcm", "k": …, "kid": …}`` with ``k`` in base64 and, for signatures, ``{"kty": "okp",
"alg": "ed25519", "x": …, "d": …, "kid": …}``. The package cryptography creates and verifies the signatures.

The signature covers the header, and the header contains the tags of the encrypted tensors. A file may also contain
unencrypted tensors, whose data is not authenticated. Unencrypted tensors are refused unless ``allow_clear`` is True;
``safe_open.clear_keys`` lists them. All bytes of a file other than the data of unencrypted tensors are authenticated,
or fixed by the format.

An access policy in this format is a program. warpaes does not run such programs, and refuses every file whose policy
does not allow everything.
"""

from __future__ import annotations

import collections
import os
import struct
import warnings
from collections.abc import Generator, Iterable, Iterator, Mapping
from functools import lru_cache, partial
from types import TracebackType
from typing import Any

from . import _jwk, _native
from ._cryptotensors import (
    CHUNK_BYTES,
    GUARD,
    GUARDS,
    MAX_HEADER_BYTES,
    NAMES,
    POLICY,
    RANK,
    spread,
    too_large,
)
from ._jwk import Key, b64, compact
from ._kvikio import ranges_of
from ._output import Output
from ._pieces import TAG_BYTES, Ahead, Part, chunks_of, cut, workers
from ._pieces import Tensor as Sealed
from ._sealed_file import Ranges, SealedFile
from ._slices import Slice
from .exceptions import FormatError

__all__ = ["load_file", "safe_open", "save_file"]

# Number of bytes that are encrypted and written at a time. A few windows of this size fit in the last-level cache of
# most processors.
_WINDOW_BYTES = 4 << 20
# Maximum number of encrypting threads. The single writing thread is hardly faster than three encrypting threads.
_MOST_THREADS = 3


def _decrypts_there(device: Any) -> bool:
    """Return whether a PyTorch device is a GPU that this process can use for computation."""
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
    """A tensor's bytes in host memory, and its dtype as named in the header."""

    def __init__(self, name: str, value: Any) -> None:
        if not hasattr(value, "dtype") or not hasattr(value, "shape"):
            raise TypeError(f"{name}: must be a NumPy array or a PyTorch tensor, not {type(value).__name__}")
        if str(getattr(value, "layout", "torch.strided")) != "torch.strided":
            raise TypeError(
                f"{name}: safetensors does not support sparse tensors; convert the tensor to a dense tensor"
            )
        dtype = _name_of(value.dtype)
        if dtype not in NAMES:
            raise TypeError(f"{name}: safetensors does not support the dtype {dtype}")
        self.name, self.dtype, self.shape = name, NAMES[dtype], list(value.shape)
        if self.dtype == "F4":  # an element of the PyTorch dtype contains two numbers
            self.shape[-1] *= 2
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


class Stored:
    """A tensor as stored in an unencrypted file: its bytes, and its dtype as named in the header."""

    def __init__(self, name: str, dtype: str, shape: list[int], data: memoryview) -> None:
        if dtype not in RANK:
            raise TypeError(f"{name}: safetensors does not support the dtype {dtype}")
        self.name, self.dtype, self.shape, self.data = name, dtype, shape, data


class _Guard:
    """An empty tensor that stops readers which would use ciphertext as weights."""

    name, shape, data = GUARD, [0], memoryview(b"")

    def __init__(self, guard: str) -> None:
        self.dtype = GUARDS[guard]


def _arranged(tensors: Mapping[str, Any], guard: str) -> list[Any]:
    """Return the tensors in file order, including the tensor that stops other readers."""
    ordered: list[Any] = [
        value if isinstance(value, Stored) else _Tensor(name, value) for name, value in tensors.items()
    ]
    ordered.sort(key=lambda tensor: (-RANK[tensor.dtype], tensor.name))
    if guard != "none" and (not ordered or any(tensor.data.nbytes for tensor in ordered)):
        ordered.insert(0, _Guard(guard))
    return spread((tensor, tensor.data.nbytes) for tensor in ordered)


def save_file(
    tensors: Mapping[str, Any],
    filename: str | os.PathLike[str],
    metadata: Mapping[str, str] | None = None,
    *,
    enc_key: Key,
    sign_key: Key,
    guard: str = "tensor",
) -> None:
    """Encrypt tensors, sign the header and write the file.

    The file appears under its name only when it is complete, and replaces an existing file. All safetensors readers
    accept the layout, and without a key they would read random weights. To stop them, keep the default ``guard``, and
    do not use a name that ends with ``.safetensors``, which causes a UserWarning unless ``guard`` is ``header``.

    Args:
        tensors: NumPy arrays or PyTorch tensors by name, on any device.
        filename: The path.
        metadata: Text by name, which is stored in the header unencrypted and signed. Names must not begin with two
            underscores.
        enc_key: The JSON Web Key that wraps the tensors' keys.
        sign_key: The JSON Web Key with the private key for the signature.
        guard: An additional empty tensor that stops readers which do not decrypt. With ``tensor``, no framework
            supports its dtype, so reading all tensors fails. cryptotensors can open the file and read tensors by name,
            but its ``load_file`` fails. With ``header``, no other reader supports its dtype, so only this module opens
            the file. With ``none``, the tensor is omitted, as in cryptotensors' own files.

    Raises:
        KeysetError: A key is not in the expected format.
        TypeError: safetensors does not support a tensor's dtype, or ``metadata`` contains values that are not text.
        ValueError: A name in ``metadata`` or a tensor's name is reserved, ``guard`` is unknown, or the header would be
            longer than 100,000,000 bytes.
        ModuleNotFoundError: The package cryptography is not installed.
        OSError: The file cannot be written.
    """
    wrapping = _jwk.wrapping_key(enc_key)
    key_bytes = _jwk.KEY_BYTES[enc_key["alg"]]
    if any(not isinstance(text, str) for item in (metadata or {}).items() for text in item):
        raise TypeError("metadata: names and values must be text")
    if any(name.startswith("__") for name in metadata or {}):
        raise ValueError("metadata: names that begin with two underscores are reserved")
    for name in ("__metadata__", GUARD):
        if name in tensors:
            raise ValueError(f"{name}: is a reserved name; rename the tensor")
    if guard not in (*GUARDS, "none"):
        raise ValueError(f"guard must be tensor, header or none, not {guard!r}")
    if guard != "header" and os.fspath(filename).endswith(".safetensors"):
        warnings.warn(
            f"{os.fspath(filename)}: programs that load *.safetensors may use the ciphertext as "
            f"weights; name the file *.cryptotensors, or pass guard='header'",
            stacklevel=2,
        )
    ordered = _arranged(tensors, guard)
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
    fields["__policy__"] = compact({"local": POLICY, "remote": POLICY}).decode()

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

    # Raises an exception before the encryption if the package or the signature key is unusable.
    _jwk.ed25519()
    _jwk.signature_key(sign_key, "d")
    begin = len(header(False))  # the header's length does not depend on the tags
    if begin - 8 > MAX_HEADER_BYTES:
        raise ValueError(
            f"the header of {len(ordered)} tensors would have {begin - 8} bytes, but readers accept "
            f"at most {MAX_HEADER_BYTES}; write several files"
        )
    with Output(filename, replace=True) as output:
        os.lseek(output.descriptor, begin, os.SEEK_SET)
        _write_tensors(output, sealed)
        os.lseek(output.descriptor, 0, os.SEEK_SET)
        output.write(header(True))


def _encrypt(piece: list[Part], room: memoryview) -> memoryview:
    """Encrypt parts of tensors back to back into ``room``. Return the part of ``room`` that they fill."""
    parts, at = [], 0
    for part in piece:
        out = room[at : at + part.size]
        parts.append((part.tensor.key, part.tensor.base, part.first, part.data, out, part.tags))
        at += part.size
    _native._chunks("encrypt", CHUNK_BYTES, parts)
    return room[:at]


def _write_tensors(output: Output, tensors: list[Sealed]) -> None:
    """Write each window while other threads encrypt the next windows. ``tensors`` are in file order."""
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


class safe_open:  # noqa: N801 (safetensors' name)
    """An open file whose tensors can be read individually. Only the chunks of the requested tensors are read."""

    def __init__(
        self,
        filename: str | os.PathLike[str] | Ranges,
        framework: str = "numpy",
        device: Any = "cpu",
        *,
        enc_key: Key,
        sign_key: Key,
        allow_clear: bool = False,
        reader: str = "threads",
        _header_sha256: str | None = None,
    ) -> None:
        """Open a file and verify the signature of its header.

        Args:
            filename: The path or, with ``kvikio``, an ``s3:``, ``http:`` or ``https:`` URL.
            framework: ``numpy`` or ``torch``, or ``np`` or ``pt``.
            device: The device for PyTorch tensors. If warpaes can use a GPU, the GPU decrypts its tensors itself.
            enc_key: The JSON Web Key that wraps the tensors' keys.
            sign_key: The JSON Web Key with the public key that verifies the signature.
            allow_clear: Whether to permit reads of unencrypted tensors, which are not authenticated; see
                ``clear_keys``.
            reader: How the ciphertext is read for a GPU. With ``threads``, threads read it into page-locked memory.
                With ``kvikio``, which requires the package kvikio, it is read into device memory, by GPUDirect Storage
                if the file system supports this.

        Raises:
            InvalidSignature: The header was altered or was signed with a different key.
            FormatError: The file is not CryptoTensors of version 2, is truncated, contains bytes that belong to no
                tensor, or has an access policy.
            KeysetError: A key is not in the expected format.
            ValueError: ``framework`` or ``reader`` is unknown, or NumPy is combined with a device other than the CPU.
            ModuleNotFoundError: The package kvikio is not installed.
            OSError: The file cannot be read.
        """
        if framework not in ("numpy", "np", "torch", "pt"):
            raise ValueError(f"framework must be numpy or torch, not {framework!r}")
        framework = {"np": "numpy", "pt": "torch"}.get(framework, framework)
        if framework == "numpy" and device != "cpu":
            raise ValueError("NumPy arrays are on the CPU; another device requires framework='torch'")
        self._allow_clear = allow_clear
        self._file = SealedFile(
            filename if isinstance(filename, Ranges) else ranges_of(filename, reader),
            framework,
            device,
            enc_key=enc_key,
            sign_key=sign_key,
            header_sha256=_header_sha256,
        )

    def keys(self) -> list[str]:
        """Return the names of the tensors, in header order."""
        return list(self._file.entries)

    def offset_keys(self) -> list[str]:
        """Return the names of the tensors, ordered by the offsets of their data."""
        return sorted(self._file.entries, key=lambda name: self._file.entries[name]["data_offsets"])

    def clear_keys(self) -> list[str]:
        """Return the names of the unencrypted tensors. Anyone with write access to the file can change these tensors'
        data, but not their names, dtypes or shapes, which are authenticated."""
        return [name for name in self._file.entries if name not in self._file.encryption]

    def metadata(self) -> dict[str, str]:
        """Return the metadata that was passed to ``save_file``. It is authenticated."""
        return {name: value for name, value in self._file.metadata.items() if not name.startswith("__")}

    def get_tensor(self, name: str) -> Any:
        """Read, decrypt and return a tensor.

        Raises:
            KeyError: The file has no tensor with this name.
            InvalidTag: The tensor was altered, or ``enc_key`` is the wrong key.
            FormatError: The tensor is unencrypted and ``allow_clear`` is False, or the file was truncated after it was
                opened.
            ValueError: The file is closed.
        """
        return next(self._tensors([name]))[1]

    def get_tensors(self) -> dict[str, Any]:
        """Read, decrypt and return all tensors by name. Raises the same exceptions as ``get_tensor``."""
        return dict(self._tensors(self.keys()))

    def get_slice(self, name: str) -> Slice:
        """Return an object that reads the tensor when it is indexed; see ``Slice``.

        Raises:
            KeyError: The file has no tensor with this name.
        """
        return Slice(partial(self.get_tensor, name), self._file.entries[name])

    def _tensors(self, names: list[str], device: Any = None) -> Iterator[tuple[str, Any]]:
        """Read and decrypt tensors with several threads. ``device`` replaces the device that the file was opened
        for."""
        yield from next(_tensors_of([(self, names)], device))

    def _check(self, names: list[str]) -> None:
        """Refuse tensors that cannot be read."""
        for name in names:
            if name not in self._file.entries:
                raise KeyError(name)
            if too_large(self._file.entries[name]["shape"]):
                raise FormatError(f"{name}: the shape is too large for NumPy and PyTorch")
            if name not in self._file.encryption and not self._allow_clear:
                raise FormatError(
                    f"{name} is neither encrypted nor authenticated; pass allow_clear=True to read such "
                    f"tensors (clear_keys() lists them)"
                )

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> safe_open:
        """Return this object."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close the file."""
        self.close()


def _tensors_of(
    files: list[tuple[safe_open, list[str]]], device: Any = None
) -> Generator[Iterable[tuple[str, Any]], None, None]:
    """Yield the named tensors of each file. ``device`` replaces the device that the files were opened for.

    The tensors of a file are loaded to a GPU while the caller uses the tensors of the previous file.
    """
    for file, names in files:
        file._check(names)
    opened = [(file._file if device is None else file._file.on(device), names) for file, names in files]
    first = opened[0][0]
    if first.is_torch and _decrypts_there(first.device):
        from ._shards import Shard

        load: Any
        if first.reads_to_device:
            from ._device_reader import load
        else:
            from ._to_gpu import load
        yield from load([Shard(*each) for each in opened])
        return
    from ._to_host import load

    for each in opened:
        yield load(*each)


def load_file(
    filename: str | os.PathLike[str],
    framework: str = "numpy",
    device: Any = "cpu",
    *,
    enc_key: Key,
    sign_key: Key,
    allow_clear: bool = False,
    reader: str = "threads",
) -> dict[str, Any]:
    """Read and decrypt all tensors of a file.

    See ``safe_open`` for the arguments. Raises the exceptions of ``safe_open`` and ``get_tensor``.

    Returns:
        The tensors by name.
    """
    opened = safe_open(
        filename, framework, device, enc_key=enc_key, sign_key=sign_key, allow_clear=allow_clear, reader=reader
    )
    with opened as file:
        return file.get_tensors()
