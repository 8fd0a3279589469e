"""PyTorch's random operators for ``warpaes.torch.Generator``, as kernels for the dispatch key CustomRNGKeyId.

The kernels raise exceptions of the same types as PyTorch's own kernels.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NoReturn

import torch
from torch import Tensor

from . import random
from ._torch_generator import source_of
from .random import _BITS, _INTEGERS, _NORMAL, _UNIFORM

_library = torch.library.Library("aten", "IMPL", "CustomRNGKeyId")
#: Number of bits in a dtype's significand. The dtype represents all integers up to two to this power.
_DIGITS = {torch.float64: 53, torch.float32: 24, torch.float16: 11, torch.bfloat16: 8}
_BITS_OF = {2: torch.int16, 4: torch.int32, 8: torch.int64}
_LIKELIEST = 1 << 24  # the maximum number of categories in PyTorch's multinomial


def _kernel(*names: str) -> Callable[[Any], Any]:
    """Register a function for operators. The dispatcher omits arguments that equal the operators' defaults."""

    def register(function: Any) -> Any:
        for name in names:
            _library.impl(name, function)
        return function

    return register


def _check(right: bool, said: str) -> None:
    if not right:
        raise RuntimeError(said)


# ------------------------------------------------------------------------------------------------------------- filling


def make(kind: int, tensor: Tensor, source: random.Generator, *values: float, **bounds: int) -> None:
    """Fill a tensor with random numbers of one kind.

    A tensor that is not contiguous, or not on a CPU or CUDA device, is filled through a temporary tensor.
    """
    if tensor.numel() == 0 or tensor.is_meta:
        return
    known = tensor.is_cpu or tensor.is_cuda
    if known and tensor.is_contiguous():
        source._make(kind, tensor.detach(), *values, **bounds)
        return
    numbers = torch.empty(tensor.shape, dtype=tensor.dtype, device=tensor.device if known else "cpu")
    source._make(kind, numbers, *values, **bounds)
    tensor.copy_(numbers)


def _kind(kinds: dict[str, int], tensor: Tensor, name: str) -> int:
    kind = kinds.get(str(tensor.dtype).removeprefix("torch."))
    if kind is None:
        raise NotImplementedError(f"{name} with a warpaes.torch.Generator is not implemented for {tensor.dtype}")
    return kind


def _unit(tensor: Tensor, source: random.Generator) -> Tensor:
    """Return uniform float64 numbers in [0, 1), with the shape and device of ``tensor``."""
    numbers = torch.empty(tensor.shape, dtype=torch.float64, device=tensor.device)
    make(_UNIFORM["float64"], numbers, source)
    return numbers


def _exponential(tensor: Tensor, source: random.Generator) -> Tensor:
    """Return exponential numbers with rate 1. All are above 0, because 2^-54, the middle of [0, 2^-53), replaces 0."""
    return _unit(tensor, source).neg_().log1p_().neg_().clamp_(min=2.0**-54)


def _normal(tensor: Tensor, source: random.Generator, mean: float = 0.0, std: float = 1.0) -> Tensor:
    _check(std >= 0, f"normal expects std >= 0.0, but found std {std}")
    if tensor.is_complex():
        make(_kind(_NORMAL, parts := torch.view_as_real(tensor), "normal"), parts, source, 0.0, std * math.sqrt(0.5))
        return tensor.add_(mean)
    make(_kind(_NORMAL, tensor, "normal"), tensor, source, mean, std)
    return tensor


def _integers(tensor: Tensor, source: random.Generator, low: int, high: int) -> Tensor:
    """Fill a tensor with integers in [low, high), a range of at most 2^64 values."""
    words = tensor if tensor.dtype == torch.int64 else torch.empty_like(tensor, dtype=torch.int64)
    make(_INTEGERS, words, source, low=low % 2**64, many=(high - low) % 2**64)
    return tensor if words is tensor else tensor.copy_(words)


def _to_out(result: Tensor, out: Tensor) -> Tensor:
    if out.shape != result.shape:
        out.resize_(result.shape)
    return out.copy_(result)


# ------------------------------------------------------------------------------------------- floating-point numbers


def _below(bound: float, dtype: torch.dtype) -> float:
    """Return the largest number of a dtype below ``bound``. The bound is first rounded to the dtype.

    For a bound of 0, the result is above 0. This is harmless, because rounding never produces 0 as a bound.
    """
    number = torch.tensor(bound, dtype=dtype, device="cpu")
    bits = number.view(_BITS_OF[dtype.itemsize])
    return float((bits - 1 if number > 0 else bits + 1).view(dtype))


@_kernel("uniform_")
def _uniform_(self: Tensor, low: float = 0.0, high: float = 1.0, *, generator: Any = None) -> Tensor:
    source = source_of(generator, self.is_cuda)
    parts = torch.view_as_real(self) if self.is_complex() else self
    kind, most = _kind(_UNIFORM, parts, "uniform_"), torch.finfo(parts.dtype).max
    _check(-most <= low <= high <= most, f"uniform_ expects from <= to within {self.dtype}, not {low} and {high}")
    _check(high - low <= most, f"uniform_ expects to - from <= {most}, but found {low} and {high}")
    make(kind, parts, source, low, high - low)
    if low != 0 and not parts.is_meta:  # with low == 0, rounding never produces the bound
        parts.clamp_(max=max(_below(high, parts.dtype), float(torch.tensor(low, dtype=parts.dtype, device="cpu"))))
    return self


@_kernel("normal_")
def _normal_(self: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Tensor:
    return _normal(self, source_of(generator, self.is_cuda), mean, std)


def _normal_of(mean: Tensor | float, std: Tensor | float, generator: Any) -> Tensor:
    shape = torch.broadcast_shapes(*(part.shape for part in (mean, std) if isinstance(part, Tensor)))
    like = mean if isinstance(mean, Tensor) else std
    assert isinstance(like, Tensor)
    numbers = torch.empty(shape, dtype=like.dtype, device=like.device)
    source = source_of(generator, numbers.is_cuda)
    if isinstance(std, Tensor):
        _check(std.is_meta or not bool((std < 0).any()), "normal expects all elements of std >= 0.0")
    else:
        _check(std >= 0, f"normal expects std >= 0.0, but found std {std}")
    return _normal(numbers, source).mul_(std).add_(mean)


@_kernel("normal.Tensor_float", "normal.float_Tensor", "normal.Tensor_Tensor")
def _normal_tensors(mean: Any, std: Any = 1.0, *, generator: Any = None) -> Tensor:
    return _normal_of(mean, std, generator)


@_kernel("normal.Tensor_float_out", "normal.float_Tensor_out", "normal.Tensor_Tensor_out")
def _normal_out(mean: Any, std: Any = 1.0, *, generator: Any = None, out: Tensor) -> Tensor:
    return _to_out(_normal_of(mean, std, generator), out)


@_kernel("exponential_")
def _exponential_(self: Tensor, lambd: float = 1.0, *, generator: Any = None) -> Tensor:
    source = source_of(generator, self.is_cuda)
    _kind(_UNIFORM, self, "exponential_")
    _check(lambd > 0, f"exponential_ expects lambda > 0.0, but found lambda={lambd}")
    limits = torch.finfo(self.dtype)
    return self.copy_(_exponential(self, source).div_(lambd)).clamp_(min=limits.tiny * limits.eps)


@_kernel("cauchy_")
def _cauchy_(self: Tensor, median: float = 0.0, sigma: float = 1.0, *, generator: Any = None) -> Tensor:
    source = source_of(generator, self.is_cuda)
    _kind(_UNIFORM, self, "cauchy_")
    _check(sigma > 0, f"cauchy_ expects sigma > 0.0, but found sigma={sigma}")
    return self.copy_(_unit(self, source).sub_(0.5).mul_(math.pi).tan_().mul_(sigma).add_(median))


@_kernel("log_normal_")
def _log_normal_(self: Tensor, mean: float = 1.0, std: float = 2.0, *, generator: Any = None) -> Tensor:
    source = source_of(generator, self.is_cuda)
    _kind(_UNIFORM, self, "log_normal_")
    _check(std > 0, f"log_normal_ expects std > 0.0, but found std={std}")
    return self.copy_(_normal(torch.empty_like(self, dtype=torch.float64), source, mean, std).exp_())


@_kernel("geometric_")
def _geometric_(self: Tensor, p: float, *, generator: Any = None) -> Tensor:
    source = source_of(generator, self.is_cuda)
    if self.is_complex() or self.dtype == torch.bool:
        raise NotImplementedError(f"geometric_ with a warpaes.torch.Generator is not implemented for {self.dtype}")
    _check(0 < p < 1, f"geometric_ expects p to be in (0, 1), but got p={p}")
    most = math.inf if self.is_floating_point() else min(torch.iinfo(self.dtype).max, 2**63 - 1024)
    return self.copy_(_unit(self, source).neg_().log1p_().div_(math.log1p(-p)).ceil_().clamp_(1, most))


# --------------------------------------------------------------------------------------------------------- integers


def _limits(dtype: torch.dtype) -> tuple[int, int]:
    """Return the lowest integer of a dtype, and the first integer above its range."""
    if dtype == torch.bool:
        return 0, 2
    if dtype in _DIGITS:
        most = int(torch.finfo(dtype).max)
        return max(-most, -(2**63)), min(most, 2**63 - 1) + 1
    if dtype.is_floating_point or dtype.is_complex:
        raise NotImplementedError(f"integers with a warpaes.torch.Generator are not implemented for {dtype}")
    return torch.iinfo(dtype).min, torch.iinfo(dtype).max + 1


def _representable(number: int, digits: int) -> int:
    """Return the largest integer not above ``number`` that has at most ``digits`` significant bits."""
    step = 1 << max(0, abs(number).bit_length() - digits)
    return number // step * step


def _random_between(self: Tensor, source: random.Generator, low: int, high: int) -> Tensor:
    """Fill a tensor with integers in [low, high). The range is narrowed so that rounding to the dtype cannot leave
    it."""
    first, end = _limits(self.dtype)
    _check(first <= low and high <= end, f"random_ expects [{low}, {high}) to lie within {self.dtype}")
    if self.dtype in _DIGITS:
        digits = _DIGITS[self.dtype]
        low, high = -_representable(-low, digits), _representable(high - 1, digits) + 1
    _check(low < high, f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high} in {self.dtype}")
    return _integers(self, source, low, high)


@_kernel("random_")
def _random_(self: Tensor, *, generator: Any = None) -> Tensor:
    end = 2 ** _DIGITS[self.dtype] + 1 if self.dtype in _DIGITS else _limits(self.dtype)[1]
    return _random_between(self, source_of(generator, self.is_cuda), 0, end)


@_kernel("random_.to")
def _random_to(self: Tensor, end: int, *, generator: Any = None) -> Tensor:
    return _random_from(self, 0, end, generator=generator)


@_kernel("random_.from")
def _random_from(self: Tensor, low: int, end: int | None = None, *, generator: Any = None) -> Tensor:
    source = source_of(generator, self.is_cuda)
    if end is not None:
        _check(low < end, f"random_ expects 'from' to be less than 'to', but got from={low} >= to={end}")
    elif low == -(2**63) and self.dtype in _DIGITS:
        end = 2**63
    else:
        end = 2 ** _DIGITS[self.dtype] + 1 if self.dtype in _DIGITS else _limits(self.dtype)[1]
    return _random_between(self, source, low, end)


# ----------------------------------------------------------------------------------------------------- probabilities


@_kernel("bernoulli_.float")
def _bernoulli_(self: Tensor, p: float = 0.5, *, generator: Any = None) -> Tensor:
    source = source_of(generator, self.is_cuda)
    _check(0 <= p <= 1, f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    return self.copy_(_unit(self, source) < p)


@_kernel("bernoulli_.Tensor")
def _bernoulli_tensor(self: Tensor, p: Tensor, *, generator: Any = None) -> Tensor:
    source = source_of(generator, self.is_cuda)
    if not p.is_floating_point():
        raise NotImplementedError(f"bernoulli_ expects probabilities of a floating-point dtype, not {p.dtype}")
    if p.device.type == "cpu":  # a check on a GPU would wait for the GPU
        _check(bool(((p >= 0) & (p <= 1)).all()), "bernoulli_ expects all elements of p to be in [0, 1]")
    return self.copy_(_unit(self, source) < p)


@_kernel("bernoulli.out")
def _bernoulli_out(self: Tensor, *, generator: Any = None, out: Tensor) -> Tensor:
    return _to_out(_bernoulli_tensor(torch.empty_like(self), self, generator=generator), out)


def _multinomial(self: Tensor, count: int, replacement: bool, generator: Any) -> Tensor:
    source = source_of(generator, self.is_cuda)
    _kind(_UNIFORM, self, "multinomial")
    _check(self.dim() in (1, 2), "prob_dist must be 1 or 2 dim")
    categories = self.shape[-1]
    _check(0 < categories <= _LIKELIEST, f"number of categories must be between 1 and 2^24, not {categories}")
    _check(count > 0, "cannot sample n_sample <= 0 samples")
    _check(
        replacement or count <= categories, "cannot sample n_sample > prob_dist.size(-1) samples without replacement"
    )
    if self.is_meta or self.numel() == 0:
        return torch.empty((*self.shape[:-1], count), dtype=torch.int64, device=self.device)
    weights = self.to(torch.float64)
    _check(
        bool(((weights >= 0) & weights.isfinite()).all()),
        "probability tensor contains either `inf`, `nan` or element < 0",
    )
    enough = 1 if replacement else count
    _check(
        bool((weights.count_nonzero(-1) >= enough).all()),
        f"invalid multinomial distribution: {enough} categories must have a probability that is not 0",
    )
    weights = weights / weights.amax(-1, keepdim=True)
    if not replacement:  # exponential race: the categories with the earliest arrival times
        return torch.topk(weights / _exponential(weights, source), count, -1).indices
    sums = weights.cumsum(-1)
    drawn = _unit(torch.empty((*self.shape[:-1], count), device=self.device), source) * sums[..., -1:]
    return torch.searchsorted(sums, drawn, right=True)


@_kernel("multinomial")
def _multinomial_new(self: Tensor, count: int, replacement: bool = False, *, generator: Any = None) -> Tensor:
    return _multinomial(self, count, replacement, generator)


@_kernel("multinomial.out")
def _multinomial_out(
    self: Tensor, count: int, replacement: bool = False, *, generator: Any = None, out: Tensor
) -> Tensor:
    _check(out.dtype == torch.int64, f"multinomial expects Long tensor out, got: {out.dtype}")
    return _to_out(_multinomial(self, count, replacement, generator), out)


@_kernel("randperm.generator_out")
def _randperm_out(count: int, *, generator: Any, out: Tensor) -> Tensor:
    """Return the sort order of random keys. Equal keys would bias the order, so all keys are then drawn again."""
    source = source_of(generator, out.is_cuda)
    _check(count >= 0, f"n must be non-negative, got {count}")
    end = 2 ** _DIGITS[out.dtype] + 1 if out.dtype in _DIGITS else _limits(out.dtype)[1]
    _check(count <= end, f"n is too large for result tensor type: {out.dtype}")
    keys = torch.empty(count, dtype=torch.int64, device=out.device)
    while True:
        make(_BITS, keys, source)
        ordered, order = keys.sort()
        if out.is_meta or not bool((ordered[1:] == ordered[:-1]).any()):
            return _to_out(order, out)


def _refuse(name: str) -> None:
    def kernel(*arguments: Any, **named: Any) -> NoReturn:
        raise NotImplementedError(f"aten::{name} is not implemented with a warpaes.torch.Generator")

    _kernel(name)(kernel)


# Operators with a generator argument that raise NotImplementedError.
for _name in (
    "_fused_dropout",
    "_sample_dirichlet",
    "_standard_gamma",
    "binomial",
    "poisson",
    "rrelu_with_noise",
    "rrelu_with_noise.out",
    "rrelu_with_noise_",
):
    _refuse(_name)
