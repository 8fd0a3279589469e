"""PyTorch support: operators for ``torch.compile``, random numbers in tensors on any device, and encrypted checkpoints.

``save`` and ``load`` work like ``torch.save`` and ``torch.load``, but with encrypted files. ``StorageWriter`` and
``StorageReader`` implement the classes of these names in ``torch.distributed.checkpoint``.

Importing this module registers the operators ``gcm_encrypt``, ``gcm_decrypt``, ``ctr`` and ``ctr_`` in
``torch.ops.warpaes``. The functions of the same names call the operators. Data may be in host or device memory; keys,
nonces and associated data are uint8 tensors in host memory. On a GPU, the work is enqueued on the current stream, and
the call does not wait for it. The operators are not differentiable.

A captured CUDA graph, or a compiled function with a constant nonce, reuses that nonce in every run. Pass nonces as
arguments, and use each nonce only once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from . import random
from ._torch_checkpoints import load, save
from ._torch_generator import Generator
from ._torch_kernels import make
from .aead import AESGCM
from .ciphers import Cipher, algorithms, modes
from .exceptions import InvalidTag
from .random import _NORMAL, _UNIFORM

if TYPE_CHECKING:
    from ._torch_distributed import StorageReader, StorageWriter

__all__ = [
    "Generator",
    "StorageReader",
    "StorageWriter",
    "ctr",
    "ctr_",
    "gcm_decrypt",
    "gcm_encrypt",
    "load",
    "normal_",
    "random_",
    "save",
    "uniform_",
]

TAG_BYTES = 16
#: The status of a message that is not authentic: WARPAES_ERROR_AUTHENTICATION.
NOT_AUTHENTIC = 22


def __getattr__(name: str) -> Any:
    # Importing torch.distributed.checkpoint takes longer than all other imports.
    if name in ("StorageReader", "StorageWriter"):
        from . import _torch_distributed

        return getattr(_torch_distributed, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _bytes(tensor: Tensor, name: str) -> bytes:
    if tensor.device.type != "cpu" or tensor.dtype != torch.uint8 or tensor.dim() != 1:
        raise ValueError(f"{name} must be a one-dimensional uint8 tensor in host memory; pass {name}.cpu()")
    return bytes(tensor.tolist())


def _optional(tensor: Tensor | None, name: str) -> bytes | None:
    return None if tensor is None else _bytes(tensor, name)


def _like(data: Tensor) -> Tensor:
    return torch.empty_like(data, memory_format=torch.contiguous_format)


@torch.library.custom_op("warpaes::gcm_encrypt", mutates_args=())
def gcm_encrypt(
    key: Tensor, nonce: Tensor, data: Tensor, associated_data: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Encrypt a tensor with AES-GCM.

    Args:
        key: 16, 24 or 32 bytes.
        nonce: 8 to 128 bytes, preferably 12. Never use the same nonce twice with the same key.
        data: The plaintext, of any shape and dtype. A tensor that is not contiguous is copied.
        associated_data: Data to authenticate but not to encrypt, or None.

    Returns:
        The ciphertext, with the shape and dtype of the data, and the tag, 16 bytes on the data's device.

    Raises:
        ValueError: The key or the nonce has the wrong length, or an argument other than ``data`` is not a
            one-dimensional uint8 tensor in host memory.
    """
    plain, out = data.detach().contiguous(), _like(data)
    tag = torch.empty(TAG_BYTES, dtype=torch.uint8, device=data.device)
    associated = _optional(associated_data, "associated_data")
    AESGCM(_bytes(key, "key")).encrypt_into(_bytes(nonce, "nonce"), plain, associated, out, tag=tag)
    return out, tag


@gcm_encrypt.register_fake
def _fake_gcm_encrypt(
    key: Tensor, nonce: Tensor, data: Tensor, associated_data: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    return _like(data), torch.empty(TAG_BYTES, dtype=torch.uint8, device=data.device)


@torch.library.custom_op("warpaes::gcm_decrypt", mutates_args=())
def gcm_decrypt(
    key: Tensor, nonce: Tensor, data: Tensor, tag: Tensor, associated_data: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Decrypt a result of ``gcm_encrypt``. A message that is not authentic does not raise an exception, so check the
    status.

    Args:
        key: 16, 24 or 32 bytes.
        nonce: The nonce used for encryption.
        data: The ciphertext.
        tag: The tag, 16 bytes on the data's device.
        associated_data: The associated data used for encryption, or None.

    Returns:
        The plaintext, and the status: a one-element int32 tensor on the data's device, which is 0, or 22 if the message
            is not authentic. In the latter case, the plaintext is all zeros.

    Raises:
        ValueError: The key, the nonce or the tag has the wrong length or is in the wrong memory.
    """
    sealed, out = data.detach().contiguous(), _like(data)
    status = torch.zeros(1, dtype=torch.int32, device=data.device)
    associated = _optional(associated_data, "associated_data")
    gcm, iv = AESGCM(_bytes(key, "key")), _bytes(nonce, "nonce")
    if data.device.type == "cuda":
        gcm.decrypt_into(iv, sealed, associated, out, tag=tag.contiguous(), status=status)
        return out, status
    try:
        gcm.decrypt_into(iv, sealed, associated, out, tag=tag.contiguous())
    except InvalidTag:
        status.fill_(NOT_AUTHENTIC)
    return out, status


@gcm_decrypt.register_fake
def _fake_gcm_decrypt(
    key: Tensor, nonce: Tensor, data: Tensor, tag: Tensor, associated_data: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    return _like(data), torch.empty(1, dtype=torch.int32, device=data.device)


def _ctr(key: Tensor, iv: Tensor, data: Tensor, out: Tensor) -> None:
    cipher = Cipher(algorithms.AES(_bytes(key, "key")), modes.CTR(_bytes(iv, "iv")))
    cipher.encrypt_into(data, out)


@torch.library.custom_op("warpaes::ctr", mutates_args=())
def ctr(key: Tensor, iv: Tensor, data: Tensor) -> Tensor:
    """Encrypt or decrypt a tensor with AES-CTR, without authentication.

    Args:
        key: 16, 24 or 32 bytes.
        iv: The first counter block, 16 bytes. Never use a counter block twice with the same key.
        data: The plaintext or the ciphertext, of any shape and dtype.

    Returns:
        The ciphertext or the plaintext, with the shape and dtype of ``data``.

    Raises:
        ValueError: The key or the IV has the wrong length, or is not a one-dimensional uint8 tensor in host memory.
    """
    out = _like(data)
    _ctr(key, iv, data.detach().contiguous(), out)
    return out


@ctr.register_fake
def _fake_ctr(key: Tensor, iv: Tensor, data: Tensor) -> Tensor:
    return _like(data)


@torch.library.custom_op("warpaes::ctr_", mutates_args={"data"})
def ctr_(key: Tensor, iv: Tensor, data: Tensor) -> None:
    """Encrypt or decrypt a tensor with AES-CTR in place.

    Args:
        key: 16, 24 or 32 bytes.
        iv: The first counter block, 16 bytes. Never use a counter block twice with the same key.
        data: A tensor that does not require grad and has no gaps between its elements, which may be in any order. The
            key stream follows memory order.

    Raises:
        ValueError: The key or the IV has the wrong length, or is not a one-dimensional uint8 tensor in host memory.
        BufferError: The tensor has gaps between its elements.
    """
    _ctr(key, iv, data, data)


@ctr_.register_fake
def _fake_ctr_(key: Tensor, iv: Tensor, data: Tensor) -> None:
    return None


# ------------------------------------------------------------------------------------------------------ random numbers


def _fill(
    kinds: dict[str, int], tensor: Tensor, generator: random.Generator, first: float = 0.0, second: float = 1.0
) -> Tensor:
    name = str(tensor.dtype).removeprefix("torch.")
    if name not in kinds:
        raise TypeError(f"tensor must be float64, float32, float16 or bfloat16, not {tensor.dtype}")
    with torch.no_grad():
        make(kinds[name], tensor, generator, first, second)
    torch.autograd.graph.increment_version(tensor)
    return tensor


def random_(tensor: Tensor, generator: random.Generator) -> Tensor:
    """Fill a tensor on any device with uniform numbers in [0, 1), the same numbers as from ``generator.random``.

    On a GPU, the work is enqueued on the current stream.

    Args:
        tensor: A tensor of float64, float32, float16 or bfloat16.
        generator: The generator that supplies the numbers.

    Returns:
        The tensor.

    Raises:
        TypeError: The tensor's dtype is not supported.
    """
    return _fill(_UNIFORM, tensor, generator)


def uniform_(tensor: Tensor, generator: random.Generator, low: float = 0.0, high: float = 1.0) -> Tensor:
    """Fill a tensor with uniform numbers between ``low`` and ``high``: low + (high - low) · random.

    Each operation is rounded to the tensor's dtype. On a GPU, the work is enqueued on the current stream.

    Args:
        tensor: A tensor of float64, float32, float16 or bfloat16.
        generator: The generator that supplies the numbers.
        low: The lower bound.
        high: The upper bound, which rounding can produce.

    Returns:
        The tensor.

    Raises:
        TypeError: The tensor's dtype is not supported.
    """
    return _fill(_UNIFORM, tensor, generator, low, high - low)


def normal_(tensor: Tensor, generator: random.Generator, mean: float = 0.0, deviation: float = 1.0) -> Tensor:
    """Fill a tensor on any device with normally distributed numbers, the same numbers as from ``generator.normal``.

    On a GPU, the work is enqueued on the current stream.

    Args:
        tensor: A tensor of float64, float32, float16 or bfloat16.
        generator: The generator that supplies the numbers.
        mean: The mean.
        deviation: The standard deviation.

    Returns:
        The tensor.

    Raises:
        TypeError: The tensor's dtype is not supported.
    """
    return _fill(_NORMAL, tensor, generator, mean, deviation)
