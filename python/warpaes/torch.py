"""Operators for PyTorch that ``torch.compile`` keeps in its graphs, and random numbers in tensors of any device.

Importing this registers ``torch.ops.warpaes``: ``gcm_encrypt``, ``gcm_decrypt``, ``ctr`` and ``ctr_``, which the
functions here are. Data may lie in host or device memory; keys, nonces and associated data are uint8 tensors in host
memory. On a GPU the work is enqueued on the current stream, and nobody waits. They are not differentiable.

A graph that is captured, or a function that is compiled with a nonce inside, uses that nonce every time: give nonces as
arguments, and each once.
"""

from __future__ import annotations

import torch
from torch import Tensor

from . import random
from ._torch_generator import Generator
from ._torch_kernels import make
from .aead import AESGCM
from .ciphers import Cipher, algorithms, modes
from .exceptions import InvalidTag
from .random import _NORMAL, _UNIFORM

__all__ = ["Generator", "ctr", "ctr_", "gcm_decrypt", "gcm_encrypt", "normal_", "random_", "uniform_"]

TAG_BYTES = 16
#: What ``status`` is after a decryption of what is not authentic: WARPAES_ERROR_AUTHENTICATION.
NOT_AUTHENTIC = 22


def _bytes(tensor: Tensor, name: str) -> bytes:
    if tensor.device.type != "cpu" or tensor.dtype != torch.uint8 or tensor.dim() != 1:
        raise ValueError(f"{name} must be a uint8 tensor of one dimension in host memory: {name}.cpu() makes one")
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
        nonce: 8 to 128 bytes, best 12; never twice with one key.
        data: The plaintext, of any shape and dtype.
        associated_data: What is authenticated and not encrypted.

    Returns:
        The ciphertext, of the shape and dtype of the data, and the tag: 16 bytes on the data's device.

    Raises:
        ValueError: A key or a nonce of a wrong length, or not in host memory.
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
    """Decrypt what ``gcm_encrypt`` gave. Nothing is raised where it is not authentic: look at the status.

    Args:
        key: 16, 24 or 32 bytes.
        nonce: The nonce that it was encrypted with.
        data: The ciphertext.
        tag: 16 bytes, on the data's device.
        associated_data: The same as for encryption.

    Returns:
        The plaintext, and a status on the data's device: int32, 0, or 22 if it is not authentic, when the plaintext is
            zeros.

    Raises:
        ValueError: A key, a nonce or a tag of a wrong length, or in the wrong memory.
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
    """Encrypt or decrypt a tensor with AES-CTR, which authenticates nothing.

    Args:
        key: 16, 24 or 32 bytes.
        iv: The first counter block, 16 bytes; no block of it twice with one key.
        data: Plaintext or ciphertext, of any shape and dtype.

    Returns:
        The other, of the same shape and dtype.

    Raises:
        ValueError: A key or an IV of a wrong length, or not in host memory.
    """
    out = _like(data)
    _ctr(key, iv, data.detach().contiguous(), out)
    return out


@ctr.register_fake
def _fake_ctr(key: Tensor, iv: Tensor, data: Tensor) -> Tensor:
    return _like(data)


@torch.library.custom_op("warpaes::ctr_", mutates_args={"data"})
def ctr_(key: Tensor, iv: Tensor, data: Tensor) -> None:
    """Do what ``ctr`` does in place.

    Args:
        key: 16, 24 or 32 bytes.
        iv: The first counter block, 16 bytes; no block of it twice with one key.
        data: A contiguous tensor that requires no grad.

    Raises:
        ValueError: A key or an IV of a wrong length, or not in host memory.
        BufferError: The tensor is not contiguous.
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
    """Fill a tensor with numbers in [0, 1), the same as ``generator.random`` gives, on whatever device it lies.

    Args:
        tensor: float64, float32, float16 or bfloat16.
        generator: Whose next numbers they are.

    Returns:
        The tensor.

    Raises:
        TypeError: Another dtype.
    """
    return _fill(_UNIFORM, tensor, generator)


def uniform_(tensor: Tensor, generator: random.Generator, low: float = 0.0, high: float = 1.0) -> Tensor:
    """Fill a tensor with numbers between ``low`` and ``high``: low + (high - low) · random, each rounded to its dtype.

    Args:
        tensor: float64, float32, float16 or bfloat16.
        generator: Whose next numbers they are.
        low: The lower bound.
        high: The upper bound, which rounding may give.

    Returns:
        The tensor.

    Raises:
        TypeError: Another dtype.
    """
    return _fill(_UNIFORM, tensor, generator, low, high - low)


def normal_(tensor: Tensor, generator: random.Generator, mean: float = 0.0, deviation: float = 1.0) -> Tensor:
    """Fill a tensor with normal numbers, the same as ``generator.normal`` gives, on whatever device it lies.

    Args:
        tensor: float64, float32, float16 or bfloat16.
        generator: Whose next numbers they are.
        mean: Their mean.
        deviation: Their standard deviation.

    Returns:
        The tensor.

    Raises:
        TypeError: Another dtype.
    """
    return _fill(_NORMAL, tensor, generator, mean, deviation)
