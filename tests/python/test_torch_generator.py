#!/usr/bin/env python3
"""Tests warpaes.torch.Generator in PyTorch's functions. Like test_torch.py, run this program by hand on a machine with
PyTorch.

PYTHONPATH=build/default/python:tests/python python3 tests/python/test_torch_generator.py
"""

from __future__ import annotations

import math
import unittest
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
import torch
import warpaes
import warpaes.torch as ours
from warpaes import _torch_kernels as kernels

KEY = bytes(range(16))
DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
FLOATS = [torch.float64, torch.float32, torch.float16, torch.bfloat16]
INTEGERS = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.uint16, torch.uint32, torch.uint64]


def made(stream: int = 0) -> Any:
    return ours.Generator(warpaes.Generator(KEY, stream=stream))


def source(position: int = 0) -> warpaes.Generator:
    generator = warpaes.Generator(KEY)
    generator.position = position
    return generator


def raw(tensor: Any) -> bytes:
    return bytes(tensor.contiguous().cpu().view(-1).view(torch.uint8).numpy())


def wide(count: int) -> list[int]:
    """Return the key stream as 128-bit numbers, each of which becomes an integer."""
    bits = source().bytes(16 * count)
    return [int.from_bytes(bits[at : at + 16], "little") for at in range(0, len(bits), 16)]


class Definition(unittest.TestCase):
    """Tests of the values that are computed from the source's numbers."""

    def test_uniform_and_normal_numbers(self) -> None:
        for device in DEVICES:
            for dtype in FLOATS:
                like = {"dtype": dtype, "device": device}
                for found, expected in (
                    (torch.rand(3, 1001, generator=made(), **like), ours.random_),
                    (torch.randn(3, 1001, generator=made(), **like), ours.normal_),
                    (torch.empty(3, 1001, **like).uniform_(0, 3, generator=made()),
                     lambda tensor, generator: ours.uniform_(tensor, generator, 0, 3)),
                    (torch.empty(3, 1001, **like).normal_(2, 3, generator=made()),
                     lambda tensor, generator: ours.normal_(tensor, generator, 2, 3)),
                ):  # fmt: skip
                    self.assertEqual((found.dtype, found.device.type), (dtype, device))
                    self.assertEqual(raw(found), raw(expected(torch.empty(3, 1001, **like), source())))

    def test_draws_follow_each_other(self) -> None:
        generator, twin = made(), source()
        for count in (1, 7, 0, 1000):
            self.assertEqual(torch.rand(count, generator=generator).tolist(), twin.random(count, "float32").tolist())
            self.assertEqual(generator.source.position, twin.position)

    def test_integers(self) -> None:
        for device in DEVICES:
            for dtype in (*INTEGERS, torch.bool):
                end = 2 if dtype == torch.bool else torch.iinfo(dtype).max + 1
                least = 0 if dtype == torch.bool else torch.iinfo(dtype).min
                most = min(end - 1, 2**63 - 1)  # the maximum value of an argument
                for low, high, draw in (
                    (0, end, lambda tensor: tensor.random_(generator=made())),
                    (0, most, lambda tensor, a=most: tensor.random_(a, generator=made())),
                    (least, most, lambda tensor, a=least, b=most: tensor.random_(a, b, generator=made())),
                    (least, end, lambda tensor, a=least: tensor.random_(a, None, generator=made())),
                ):
                    found = draw(torch.empty(500, dtype=dtype, device=device))
                    self.assertEqual(found.tolist(), [low + (x * (high - low) >> 128) for x in wide(500)], dtype)
            found = torch.randint(-5, 5, (10, 50), generator=made(), device=device, dtype=torch.int16)
            self.assertEqual(found.reshape(-1).tolist(), [-5 + (x * 10 >> 128) for x in wide(500)])

    def test_integers_in_floating_point_numbers(self) -> None:
        for dtype, digits in zip(FLOATS, (53, 24, 11, 8)):
            found = torch.empty(500, dtype=dtype).random_(generator=made())
            self.assertEqual(found.tolist(), [float(x * (2**digits + 1) >> 128) for x in wide(500)])
            high = 2**digits + 3  # 2^digits + 1 cannot be represented
            found = torch.empty(2000, dtype=dtype).random_(high - 4, high, generator=made())
            self.assertEqual(set(found.tolist()), {2.0**digits - 1, 2.0**digits, 2.0**digits + 2})
            found = torch.empty(2000, dtype=dtype).random_(-high + 1, -high + 4, generator=made())
            self.assertLessEqual(set(found.tolist()), {-(2.0**digits), -(2.0**digits) - 2, -(2.0**digits) + 1})
            # Rounding never produces a value outside the range.
            high = 2**digits + 4
            found = torch.empty(2000, dtype=dtype).random_(high - 6, high, generator=made())
            self.assertLess(float(found.max()), high)
            found = torch.empty(2000, dtype=dtype).random_(-high + 1, -high + 6, generator=made())
            self.assertGreater(float(found.min()), -high)
        for dtype in FLOATS[:2]:
            found = torch.empty(1000, dtype=dtype).random_(-(2**63), None, generator=made())
            self.assertGreater(float(found.max()), 2.0**62)
            self.assertLess(float(found.min()), -(2.0**62))

    def test_probabilities(self) -> None:
        unit = source().random(1000)
        for device in DEVICES:
            for dtype in (*FLOATS, *INTEGERS, torch.bool):
                found = torch.empty(1000, dtype=dtype, device=device).bernoulli_(0.3, generator=made())
                self.assertEqual(found.tolist(), (unit < 0.3).tolist())
            chances = torch.linspace(0, 1, 1000, device=device)
            expected = (unit < chances.double().cpu().numpy()).tolist()
            self.assertEqual(torch.bernoulli(chances, generator=made()).tolist(), expected)
            self.assertEqual(torch.empty(1000, device=device).bernoulli_(chances, generator=made()).tolist(), expected)
            self.assertEqual(torch.bernoulli(chances, 0.5, generator=made()).tolist(), (unit < 0.5).tolist())

    def test_other_distributions(self) -> None:
        unit, normal = source().random(1000), source().normal(0.5, 0.25, 1000)
        for device in DEVICES:
            for dtype, bits in ((torch.float64, 1e-12), (torch.float32, 2e-7), (torch.float16, 1e-3)):
                for name, arguments, expected in (
                    ("exponential_", (2,), -np.log1p(-unit) / 2),
                    ("cauchy_", (1, 3), 1 + 3 * np.tan(math.pi * (unit - 0.5))),
                    ("log_normal_", (0.5, 0.25), np.exp(normal)),
                    ("geometric_", (0.3,), np.maximum(np.ceil(np.log1p(-unit) / np.log1p(-0.3)), 1)),
                ):
                    tensor = torch.empty(1000, dtype=dtype, device=device)
                    found = getattr(tensor, name)(*arguments, generator=made()).double().cpu().numpy()
                    close = np.isclose(found, expected, rtol=bits, atol=bits)
                    self.assertTrue(close.all(), (name, dtype, found[~close], expected[~close]))

    def test_permutations(self) -> None:
        for device in DEVICES:
            for count in (0, 1, 2, 1000):
                keys = np.frombuffer(source().bytes(8 * count), "<i8").tolist()
                expected = sorted(range(count), key=keys.__getitem__)
                for dtype in (torch.int64, torch.int32, torch.float32):
                    found = torch.randperm(count, generator=made(), device=device, dtype=dtype)
                    self.assertEqual((found.dtype, found.tolist()), (dtype, expected))

    def test_equal_keys_of_a_permutation_are_made_again(self) -> None:
        rounds: list[Any] = []
        make = kernels.make

        def make_two_equal(kind: int, keys: Any, source: Any) -> None:
            rounds.append(keys)
            if len(rounds) < 3:
                keys.copy_(torch.arange(50).clamp(max=48))
            else:
                make(kind, keys, source)

        expected, generator = torch.randperm(50, generator=made()).tolist(), made()
        with mock.patch.object(kernels, "make", make_two_equal):
            self.assertEqual(torch.randperm(50, generator=generator).tolist(), expected)
        self.assertEqual(len(rounds), 3)

    def test_categories(self) -> None:
        weights = torch.tensor([[0.0, 1, 2, 3, 0], [5, 0, 0, 1, 1]], dtype=torch.float64)
        sums = weights.cumsum(1).numpy()
        unit = source().random((2, 400))
        expected = [[int((sums[row] <= x * sums[row, -1]).sum()) for x in unit[row]] for row in (0, 1)]
        for device in DEVICES:
            there = weights.to(device)
            self.assertEqual(torch.multinomial(there, 400, True, generator=made()).tolist(), expected)
            self.assertEqual(torch.multinomial(there[0], 400, True, generator=made()).tolist(), expected[0])
            rates = weights.numpy() / -np.log1p(-source().random((2, 5)))
            self.assertEqual(
                torch.multinomial(there, 3, generator=made()).tolist(), np.argsort(-rates, 1)[:, :3].tolist()
            )

    def test_normal_of_tensors(self) -> None:
        for device in DEVICES:
            mean, std = torch.arange(6.0, device=device).reshape(2, 3), torch.tensor([1.0, 2, 0], device=device)
            of_six = torch.randn(2, 3, generator=made(), device=device)
            of_three = torch.randn(3, generator=made(), device=device)
            for arguments, expected in (
                ((mean, std), of_six * std + mean),
                ((mean, 2.0), of_six * 2.0 + mean),
                ((0.5, std), of_three * std + 0.5),
            ):
                self.assertEqual(torch.normal(*arguments, generator=made()).tolist(), expected.tolist())
                out = torch.empty(0, device=device)
                torch.normal(*arguments, generator=made(), out=out)
                self.assertEqual(out.tolist(), expected.tolist())
            found = torch.normal(mean=0, std=3.0, size=(4, 5), generator=made(), device=device)
            self.assertEqual(raw(found), raw(ours.normal_(torch.empty_like(found), source(), 0, 3)))

    def test_complex_numbers(self) -> None:
        parts = torch.empty(100, 2)
        found = torch.empty(100, dtype=torch.complex64).normal_(3, 2, generator=made())
        ours.normal_(parts, source(), 0, math.sqrt(2))
        self.assertEqual(found.tolist(), (torch.view_as_complex(parts) + 3).tolist())
        found = torch.rand(100, dtype=torch.complex64, generator=made())
        self.assertEqual(raw(found), raw(ours.random_(parts, source())))


class Distribution(unittest.TestCase):
    """A million values of each distribution are within six standard deviations of the definition."""

    def test_uniform_numbers_lie_below_their_bound(self) -> None:
        for dtype in FLOATS:
            for low, high in ((1, 2), (-2, -1), (0, 1), (-1, 0), (0.1, 0.3), (-5, 5), (7, 7)):
                found = torch.empty(1_000_000, dtype=dtype).uniform_(low, high, generator=made())
                ends = [float(torch.tensor(bound, dtype=dtype)) for bound in (low, high)]
                self.assertGreaterEqual(float(found.min()), ends[0])
                self.assertTrue(low == high or float(found.max()) < ends[1], (dtype, low, high))
                self.assertTrue(low == high or float(found.max()) > ends[1] - (ends[1] - ends[0]) / 100)

    def test_exponential_numbers(self) -> None:
        for dtype in FLOATS:
            found = torch.empty(1_000_000, dtype=dtype).exponential_(4, generator=made()).double() * 4
            self.assertGreater(float(found.min()), 0)
            self.assertLess(abs(float(found.mean()) - 1), 6e-3)
            self.assertLess(abs(float(found.var()) - 1), 6 * math.sqrt(8) * 1e-3)

    def test_the_rarest_draw(self) -> None:
        """A draw of 0 produces a valid value in each distribution."""

        def zeros(kind: int, tensor: Any, *others: Any) -> None:
            tensor.zero_()

        generator = made()
        with mock.patch.object(kernels, "make", zeros):
            for dtype, least in zip(FLOATS, (2.0**-54, 2.0**-54, 2.0**-24, 2.0**-54)):
                self.assertEqual(torch.empty(1, dtype=dtype).exponential_(generator=generator).item(), least)
                self.assertEqual(torch.empty(1, dtype=dtype).geometric_(0.3, generator=generator).item(), 1)
                self.assertLess(torch.empty(1, dtype=dtype).cauchy_(generator=generator).item(), -(10.0**16))
            self.assertEqual(
                torch.multinomial(torch.tensor([0, 0, 1.0]), 5, True, generator=generator).tolist(), [2] * 5
            )
            self.assertEqual(torch.multinomial(torch.tensor([1, 0, 2.0]), 2, generator=generator).tolist(), [2, 0])
            self.assertEqual(torch.bernoulli(torch.tensor([0.0, 1e-30]), generator=generator).tolist(), [0, 1])

    def test_geometric_numbers(self) -> None:
        found = torch.empty(1_000_000, dtype=torch.int32).geometric_(0.25, generator=made()).double()
        self.assertLess(abs(float(found.mean()) - 4), 6e-3 * math.sqrt(12))
        self.assertEqual(float(found.min()), 1)
        small = torch.empty(100, dtype=torch.int8).geometric_(1e-9, generator=made())
        self.assertEqual(set(small.tolist()), {127})

    def test_permutations(self) -> None:
        generator, counts, rounds = made(), dict[tuple, int](), 12_000
        for _ in range(rounds):
            found = tuple(torch.randperm(5, generator=generator).tolist())
            counts[found] = counts.get(found, 0) + 1
        chi = sum((count - rounds / 120) ** 2 for count in counts.values()) * 120 / rounds
        self.assertEqual(len(counts), 120)
        self.assertLess(abs(chi - 119), 6 * math.sqrt(2 * 119))

    def test_categories(self) -> None:
        weights = torch.tensor([1.0, 0, 2, 5])
        for replacement in (True, False):
            found = torch.multinomial(weights.expand(100_000, 4), 2, replacement, generator=made())
            first = torch.bincount(found[:, 0], minlength=4) / 100_000
            self.assertLess(float((first - weights / 8).abs().max()), 6 * 0.5 / math.sqrt(100_000))
            self.assertEqual(float(first[1]), 0)
            huge = torch.tensor([3.0, 0, 1], dtype=torch.float64) * 1e307 * 5
            first = torch.multinomial(huge.expand(100_000, 3), 1, replacement, generator=made()).double()
            self.assertLess(abs(float(first.mean()) - 0.5), 6 / math.sqrt(100_000))
            if not replacement:  # the second draw is from the remaining values
                after = found[found[:, 0] == 3, 1]
                self.assertLess(abs(float((after == 2).double().mean()) - 2 / 3), 6 * 0.5 / math.sqrt(len(after)))


class Tensors(unittest.TestCase):
    """Tests of layouts, and of PyTorch's own behaviour with the same arguments."""

    def test_layouts(self) -> None:
        expected = torch.randn(24, generator=made()).tolist()
        room = torch.zeros(8, 12)
        for view in (
            torch.zeros(6, 4).T,
            room[2:6, 3:9],
            torch.zeros(48)[::2],
            torch.zeros(1, 2, 3, 4).contiguous(memory_format=torch.channels_last),
            torch.zeros(25)[1:],
            torch.zeros(24, dtype=torch.complex64).conj().imag,
        ):
            self.assertIs(view.normal_(generator=made()), view)
            self.assertEqual(view.reshape(-1).tolist(), expected)
        self.assertEqual(int(room.count_nonzero()), 24)
        for draw in ("normal_", "uniform_", "random_", "exponential_", "bernoulli_"):
            with self.assertRaisesRegex(RuntimeError, "single memory location"):
                getattr(torch.zeros(1).expand(5), draw)(generator=made())
        with self.assertRaises(NotImplementedError):
            torch.eye(3).to_sparse().normal_(generator=made())

    def test_nothing_and_a_scalar(self) -> None:
        generator = made()
        for shape in ((0,), (3, 0), (0, 4)):
            for draw in ("normal_", "uniform_", "random_", "exponential_", "bernoulli_", "cauchy_"):
                self.assertEqual(getattr(torch.empty(shape), draw)(generator=generator).shape, shape)
        torch.empty(10, device="meta").normal_(generator=generator)
        self.assertEqual(torch.randperm(10, device="meta", generator=generator).shape, (10,))
        self.assertEqual(generator.source.position, 0)
        self.assertEqual(torch.rand((), generator=generator).item(), source().random(1, "float32")[0])

    def test_outputs(self) -> None:
        for draw in (
            lambda **named: torch.rand(4, 3, **named),
            lambda **named: torch.randn(4, 3, **named),
            lambda **named: torch.normal(0.0, 1.0, (4, 3), **named),
            lambda **named: torch.bernoulli(torch.full((4, 3), 0.5), **named),
        ):
            expected = draw(generator=made())
            for out in (torch.zeros(4, 3), torch.zeros(0), torch.zeros(3, 4).T):
                self.assertIs(draw(generator=made(), out=out), out)
                self.assertEqual(out.tolist(), expected.tolist())
        for out in (torch.zeros(7, dtype=torch.int64), torch.zeros(14, dtype=torch.int32)[::2], torch.zeros(0).long()):
            torch.randperm(7, generator=made(), out=out)
            self.assertEqual(out.tolist(), torch.randperm(7, generator=made()).tolist())
        weights, out = torch.ones(5), torch.zeros(0, dtype=torch.int64)
        torch.multinomial(weights, 3, generator=made(), out=out)
        self.assertEqual(out.tolist(), torch.multinomial(weights, 3, generator=made()).tolist())
        torch.normal(weights, 2.0, generator=made(), out=weights)
        self.assertEqual(weights.tolist(), torch.normal(torch.ones(5), 2.0, generator=made()).tolist())

    def test_autograd(self) -> None:
        weight = torch.zeros(5, requires_grad=True)
        with self.assertRaisesRegex(RuntimeError, "leaf Variable"):
            weight.normal_(generator=made())
        product = (weight * weight).sum()
        torch.nn.init.normal_(weight, generator=made())
        with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
            product.backward()
        mean, std = (torch.ones(5, requires_grad=True) for _ in range(2))
        (torch.normal(mean, 1.0, generator=made()) * 1).sum().backward()
        self.assertEqual(mean.grad.tolist(), [0] * 5)  # as with PyTorch's own generator
        self.assertTrue(torch.normal(mean, std, generator=made()).requires_grad)
        with torch.inference_mode():
            found = torch.rand(5, generator=made())
            self.assertEqual(ours.random_(torch.empty(5), source()).tolist(), found.tolist())

    def test_results_are_of_the_kinds_that_pytorchs_are(self) -> None:
        half, words = torch.full((2, 3), 0.5), torch.zeros(2, 3, dtype=torch.int16)
        for call in (
            lambda g: torch.rand(2, 3, generator=g, dtype=torch.float16),
            lambda g: torch.randn(2, 3, generator=g, dtype=torch.complex128),
            lambda g: torch.randint(3, (2, 3), generator=g),
            lambda g: torch.randint(3, (2, 3), generator=g, dtype=torch.uint8),
            lambda g: torch.randperm(5, generator=g, dtype=torch.int16),
            lambda g: torch.bernoulli(half, generator=g),
            lambda g: torch.bernoulli(half.T, 0.2, generator=g),
            lambda g: torch.normal(half.double(), half, generator=g),
            lambda g: torch.normal(0.0, half.T, generator=g),
            lambda g: torch.normal(0.0, 1.0, (4,), generator=g, dtype=torch.bfloat16),
            lambda g: torch.multinomial(half, 2, generator=g),
            lambda g: torch.multinomial(half[0].double(), 7, True, generator=g),
            lambda g: words.clone().geometric_(0.5, generator=g),
            lambda g: words.bool().random_(generator=g),
            lambda g: words.clone().bernoulli_(generator=g),
            lambda g: torch.nn.init.trunc_normal_(torch.empty(3, 4), generator=g),
            lambda g: torch.nn.init.kaiming_uniform_(torch.empty(3, 4), generator=g),
            lambda g: torch.ops.aten.uniform(half.half(), 1.0, 2.0, generator=g),
            lambda g: torch.ops.aten.exponential(half, generator=g),
        ):
            mine, theirs = call(made()), call(torch.Generator())
            self.assertEqual(
                (mine.shape, mine.dtype, mine.device, mine.layout, mine.requires_grad),
                (theirs.shape, theirs.dtype, theirs.device, theirs.layout, theirs.requires_grad),
            )

    def test_what_pytorch_refuses_is_refused(self) -> None:
        def empty(dtype: Any = torch.float32) -> Any:
            return torch.empty(3, dtype=dtype)

        nan, bad = math.nan, torch.tensor([0.5, -1, 2])
        calls: list[Callable[[Any], Any]] = [
            lambda g: empty().uniform_(2, 1, generator=g),
            lambda g: empty(torch.float16).uniform_(0, 1e6, generator=g),
            lambda g: empty(torch.float16).uniform_(-60000, 60000, generator=g),
            lambda g: empty(torch.int32).uniform_(generator=g),
            lambda g: empty().normal_(0, -1, generator=g),
            lambda g: empty(torch.int32).normal_(generator=g),
            lambda g: torch.normal(bad, bad, generator=g),
            lambda g: torch.normal(0.0, bad, generator=g),
            lambda g: torch.normal(bad, -1.0, generator=g),
            lambda g: torch.normal(bad, torch.ones(2), generator=g),
            lambda g: empty().exponential_(0, generator=g),
            lambda g: empty(torch.int32).exponential_(generator=g),
            lambda g: empty().cauchy_(0, 0, generator=g),
            lambda g: empty().log_normal_(0, 0, generator=g),
            lambda g: empty().geometric_(0, generator=g),
            lambda g: empty().geometric_(1, generator=g),
            lambda g: empty().bernoulli_(1.5, generator=g),
            lambda g: empty().bernoulli_(nan, generator=g),
            lambda g: empty().bernoulli_(bad, generator=g),
            lambda g: torch.bernoulli(bad, generator=g),
            lambda g: empty().random_(0, generator=g),
            lambda g: empty().random_(5, 5, generator=g),
            lambda g: empty(torch.int8).random_(200, generator=g),
            lambda g: empty(torch.uint8).random_(-1, 5, generator=g),
            lambda g: empty(torch.int16).random_(1 << 15, None, generator=g),
            lambda g: empty(torch.complex64).random_(generator=g),
            lambda g: torch.randint(5, 5, (2,), generator=g),
            lambda g: torch.randperm(-1, generator=g),
            lambda g: torch.randperm(300, generator=g, dtype=torch.uint8),
            lambda g: torch.randperm(3000, generator=g, dtype=torch.float16),
            lambda g: torch.multinomial(bad, 1, generator=g),
            lambda g: torch.multinomial(torch.tensor([1.0, nan]), 1, generator=g),
            lambda g: torch.multinomial(torch.tensor([1.0, math.inf]), 1, generator=g),
            lambda g: torch.multinomial(torch.zeros(3), 1, generator=g),
            lambda g: torch.multinomial(torch.ones(3), 4, generator=g),
            lambda g: torch.multinomial(torch.ones(3), 2, generator=g, out=torch.ones(2)),
            lambda g: torch.normal(0.0, torch.ones(3, dtype=torch.complex64), generator=g),
            lambda g: torch.multinomial(torch.ones(3), 0, generator=g),
            lambda g: torch.multinomial(torch.ones(2, 2, 2), 1, generator=g),
            lambda g: torch.multinomial(torch.ones(3).long(), 1, generator=g),
        ]
        generator = made()
        for at, call in enumerate(calls):
            for which in (torch.Generator(), generator):
                with self.assertRaises(RuntimeError, msg=f"{at} of {which}"):
                    call(which)
        # PyTorch's generator returns a category with probability 0.
        with self.assertRaisesRegex(RuntimeError, "2 categories"):
            torch.multinomial(torch.tensor([1.0, 0, 0]), 2, generator=generator)
        self.assertEqual(generator.source.position, 0)


if __name__ == "__main__":
    unittest.main()
