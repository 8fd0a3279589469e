"""Implements the interface of the package safetensors with warpaes.safetensors and fixed keys, for safetensors' own
tests."""

from __future__ import annotations

import base64
import contextlib
import os
import tempfile
from collections.abc import Iterator
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ed25519
from safetensors import SafetensorError
from warpaes import exceptions, safetensors

_PRIVATE = ed25519.Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
KEYS: dict[str, Any] = {
    "enc_key": {"kty": "oct", "alg": "aes256gcm", "kid": "enc", "k": base64.b64encode(bytes(32)).decode()},
    "sign_key": {
        "kty": "okp",
        "alg": "ed25519",
        "kid": "sign",
        "d": base64.b64encode(_PRIVATE.private_bytes_raw()).decode(),
        "x": base64.b64encode(_PRIVATE.public_key().public_bytes_raw()).decode(),
    },
}


@contextlib.contextmanager
def translated() -> Iterator[None]:
    """Raise safetensors' exception instead of ours."""
    try:
        yield
    except FileNotFoundError as error:
        raise FileNotFoundError(f"No such file or directory: {error.filename}") from error
    except (exceptions.FormatError, exceptions.InvalidTag, exceptions.InvalidSignature, IndexError, KeyError) as error:
        raise SafetensorError(str(error)) from error
    except ValueError as error:  # the file is closed
        raise SafetensorError(str(error)) from error


class Slice:
    def __init__(self, part: Any) -> None:
        self.part = part
        self.get_shape, self.get_dtype = part.get_shape, part.get_dtype

    def __getitem__(self, index: Any) -> Any:
        with translated():
            return self.part[index]


class safe_open:  # noqa: N801 (safetensors' name)
    def __init__(self, filename: Any, framework: str, device: Any = "cpu", backend: str = "mmap") -> None:
        if backend not in ("mmap", "pread"):
            raise SafetensorError(f"unknown backend {backend}")
        with translated():
            self.file = safetensors.safe_open(filename, framework, device, **KEYS)

    def __enter__(self) -> safe_open:
        return self

    def __exit__(self, *_: Any) -> None:
        self.file.close()

    def get_slice(self, name: str) -> Slice:
        with translated():
            return Slice(self.file.get_slice(name))

    def keys(self) -> list[str]:
        with translated():
            self.file._file.check_open()  # safetensors does not return the names in a closed file
            return sorted(self.file.keys())

    def offset_keys(self) -> list[str]:
        return self.file.offset_keys()

    def metadata(self) -> Any:
        return self.file.metadata() or None

    def get_tensor(self, name: str) -> Any:
        with translated():
            return self.file.get_tensor(name)

    def get_tensors(self) -> Any:
        with translated():
            return self.file.get_tensors()


def _safe_open_handle(file: Any, framework: str, device: Any = "cpu") -> safe_open:
    return safe_open(file.name, framework, device)


def save_file(tensors: Any, filename: Any, metadata: Any = None) -> None:
    if not isinstance(tensors, dict):
        raise ValueError(f"a dictionary of tensors is needed, not {type(tensors)}")
    try:
        with translated():
            safetensors.save_file(tensors, filename, metadata, **KEYS, guard="header")
    except TypeError as error:
        raise ValueError(str(error)) from error


def save(tensors: Any, metadata: Any = None) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "file")
        save_file(tensors, path, metadata)
        with open(path, "rb") as file:
            return file.read()


def load_file(filename: Any, framework: str, device: Any = "cpu", backend: str = "mmap") -> dict[str, Any]:
    with safe_open(filename, framework, device, backend) as file:
        tensors: dict[str, Any] = file.get_tensors()
        return tensors


def load(data: bytes, framework: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "file")
        with open(path, "wb") as file:
            file.write(data)
        return load_file(path, framework)
