"""Operators for PyTorch that ``torch.compile`` keeps in its graphs, and random numbers in tensors of any device.

Importing this registers ``torch.ops.warpaes``: ``gcm_encrypt``, ``gcm_decrypt``, ``ctr`` and ``ctr_``, which the
functions here are. Data may lie in host or device memory; keys, nonces and associated data are uint8 tensors in host
memory. On a GPU the work is enqueued on the current stream, and nobody waits. They are not differentiable.

A graph that is captured, or a function that is compiled with a nonce inside, uses that nonce every time: give nonces as
arguments, and each once.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from . import _native
from .aead import AESGCM
from .ciphers import Cipher, algorithms, modes
from .exceptions import InvalidTag
from .random import Generator

__all__ = ["ctr", "ctr_", "gcm_decrypt", "gcm_encrypt", "normal_", "random_", "uniform_"]

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

#: Of a dtype: that of words as long, the bits that are dropped, and what the rest is multiplied by.
_UNIT = {
    torch.float64: (torch.int64, 11, 2.0**-53),
    torch.float32: (torch.int32, 8, 2.0**-24),
    torch.float16: (torch.int16, 5, 2.0**-11),
    torch.bfloat16: (torch.int16, 8, 2.0**-8),
}


def _check_dtype(tensor: Tensor) -> None:
    if tensor.dtype not in _UNIT:
        raise TypeError(f"tensor must be float64, float32, float16 or bfloat16, not {tensor.dtype}")


def _bits(count: int, word: torch.dtype, device: torch.device, generator: Generator) -> Tensor:
    words = torch.empty(count, dtype=word, device=device)
    generator.fill(words)
    return words


def _upper(words: Tensor, dropped: int) -> Tensor:
    """The upper bits of words, as numbers that are not negative."""
    return (words.to(torch.int64) >> dropped) & ((1 << (8 * words.element_size() - dropped)) - 1)


def _random_here(words: Tensor, dtype: torch.dtype) -> Tensor:
    _native.shape(str(dtype).removeprefix("torch."), words, 0, 0)
    return words.view(dtype)


def _random_there(words: Tensor, dtype: torch.dtype) -> Tensor:
    _, dropped, scale = _UNIT[dtype]
    return _upper(words, dropped).to(torch.float64).mul_(scale).to(dtype)  # each step is exact


def random_(tensor: Tensor, generator: Generator) -> Tensor:
    """Fill a tensor with numbers in [0, 1), the same as ``generator.random`` gives, on whatever device it lies.

    Args:
        tensor: float64, float32, float16 or bfloat16.
        generator: Whose next numbers they are.

    Returns:
        The tensor.

    Raises:
        TypeError: Another dtype.
    """
    _check_dtype(tensor)
    words = _bits(tensor.numel(), _UNIT[tensor.dtype][0], tensor.device, generator)
    numbers = (_random_here if tensor.device.type == "cpu" else _random_there)(words, tensor.dtype)
    with torch.no_grad():
        return tensor.copy_(numbers.view(tensor.shape))


def uniform_(tensor: Tensor, generator: Generator, low: float = 0.0, high: float = 1.0) -> Tensor:
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
    random_(tensor, generator)
    with torch.no_grad():
        tensor.mul_(torch.tensor(high - low, dtype=tensor.dtype, device=tensor.device))
        return tensor.add_(torch.tensor(low, dtype=tensor.dtype, device=tensor.device))


def _series(z: Tensor, factors: list[float]) -> Tensor:
    total = torch.full_like(z, factors[0])
    for factor in factors[1:]:
        total.mul_(z).add_(factor)
    return total


def _logarithm(x: Tensor) -> Tensor:
    mantissa, exponent = torch.frexp(x)
    small = mantissa < math.sqrt(0.5)
    mantissa = torch.where(small, mantissa * 2.0, mantissa)
    exponent = exponent - small.to(exponent.dtype)
    s = (mantissa - 1.0) / (mantissa + 1.0)
    z = s * s
    series = s * z * _series(z, [1.0 / n for n in range(23, 1, -2)]) + s
    return exponent.to(torch.float64) * math.log(2) + (series + series)


def _normal_there(words: Tensor) -> Tensor:
    """What python/src/random.cpp does: for each operation there one of PyTorch's, which GPUs round alike."""
    words = words.view(-1, 2)
    radius = (_logarithm((_upper(words[:, 0], 11) + 1).to(torch.float64) * 2.0**-53) * -2.0).sqrt()
    within = (_upper(words[:, 1], 11) & ((1 << 51) - 1)).to(torch.float64) * 2.0**-51 - 0.5
    x = within * (math.pi / 2)
    z = x * x
    sine = x * z * _series(z, [(-1) ** n / math.factorial(2 * n + 1) for n in range(7, 0, -1)]) + x
    cosine = z * _series(z, [(-1) ** n / math.factorial(2 * n) for n in range(8, 0, -1)]) + 1.0
    c, s = (cosine - sine) * math.sqrt(0.5), (cosine + sine) * math.sqrt(0.5)
    quarter = _upper(words[:, 1], 62)
    odd, turned = (quarter & 1) == 1, quarter >= 2
    first, second = torch.where(odd, -s, c), torch.where(odd, c, s)
    pairs = torch.stack([torch.where(turned, -first, first), torch.where(turned, -second, second)], 1)
    return (radius.unsqueeze(1) * pairs).view(-1)


def _normal_here(words: Tensor) -> Tensor:
    _native.shape("normal", words, 0, 0)  # the square root of PyTorch's CPU tensors is not always the nearest number
    return words.view(torch.float64)


def normal_(tensor: Tensor, generator: Generator, mean: float = 0.0, deviation: float = 1.0) -> Tensor:
    """Fill a tensor with normal numbers, the same as ``generator.normal`` gives, on whatever device it lies.

    They are computed in float64; on a GPU in some twenty tensors of the same number of elements.

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
    _check_dtype(tensor)
    words = _bits((tensor.numel() + 1) // 2 * 2, torch.int64, tensor.device, generator)
    numbers = (_normal_here if tensor.device.type == "cpu" else _normal_there)(words)[: tensor.numel()]
    if (mean, deviation) != (0.0, 1.0):
        numbers = numbers * deviation + mean
    if tensor.element_size() == 2:
        numbers = numbers.to(torch.float32)
    with torch.no_grad():
        return tensor.copy_(numbers.to(tensor.dtype).view(tensor.shape))
