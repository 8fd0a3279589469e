#!/usr/bin/env python3
"""Tests random numbers: the key stream, known answers of the distributions, and their statistics."""

from __future__ import annotations

import hashlib
import math
import threading
import unittest
from fractions import Fraction
from typing import Any

import warpaes
from support import needed
from warpaes import _native
from warpaes.ciphers import Cipher, algorithms, modes

KEY = bytes(range(32))


def keystream(length: int, stream: int = 0, at: int = 0) -> bytes:
    counter = (stream << 64 | at // 16).to_bytes(16, "big")
    return Cipher(algorithms.AES(KEY), modes.CTR(counter)).encryptor().update(bytes(length))


def series(z: float, factors: list[float]) -> float:
    total = factors[0]
    for factor in factors[1:]:
        total = total * z + factor
    return total


def normal_pair(first: int, second: int) -> tuple[float, float]:
    """Compute the definitions in docs/python.md with Python floats, whose operations round separately."""
    mantissa, exponent = math.frexp(((first >> 11) + 1) * 2.0**-53)
    if mantissa < math.sqrt(0.5):
        mantissa, exponent = mantissa * 2.0, exponent - 1
    s = (mantissa - 1.0) / (mantissa + 1.0)
    half = s * (s * s) * series(s * s, [1.0 / n for n in range(23, 1, -2)]) + s
    radius = math.sqrt(-2.0 * (exponent * math.log(2) + (half + half)))
    x = ((second >> 11 & (1 << 51) - 1) * 2.0**-51 - 0.5) * (math.pi / 2)
    z = x * x
    sine = x * z * series(z, [(-1) ** n / math.factorial(2 * n + 1) for n in range(7, 0, -1)]) + x
    cosine = z * series(z, [(-1) ** n / math.factorial(2 * n) for n in range(8, 0, -1)]) + 1.0
    turned = [(cosine, sine), (-sine, cosine), (-cosine, -sine), (sine, -cosine)][second >> 62]
    return radius * turned[0], radius * turned[1]


def normal_floats(np: Any, first: Any, second: Any) -> Any:
    """Like normal_pair, for arrays of 32-bit words. NumPy rounds each float32 operation separately."""

    def number(text: str) -> Any:
        return np.float32(float.fromhex(text))

    def polynomial(x: Any, *factors: str) -> Any:
        total = number(factors[0])
        for factor in factors[1:]:
            total = total * x + number(factor)
        return total

    half, one = np.float32(0.5), np.float32(1)
    unit = (first >> np.uint32(1)).astype("i4").astype("f4") * number("0x1p-31") + number("0x1p-32")
    mantissa, exponent = np.frexp(unit)
    small = mantissa < number("0x1.6a09e6p-1")  # the largest float below sqrt(1/2)
    mantissa, exponent = np.where(small, mantissa * np.float32(2), mantissa), exponent - small
    t = mantissa - one
    z = t * t
    p = polynomial(t, "-0x1.38b582p-4", "0x1.055b6cp-3", "-0x1.0d8542p-3", "0x1.22da1cp-3", "-0x1.547244p-3",
                   "0x1.99a008p-3", "-0x1.000226p-2", "0x1.555554p-2")  # fmt: skip
    logarithm = exponent.astype("f4") * number("0x1.62e430p-1") + ((z * t) * p - z * half + t)
    radius = np.sqrt(logarithm * np.float32(-2))
    within = ((second << np.uint32(2)) ^ np.uint32(1 << 31)).view("i4").astype("f4")
    x = within * number("0x1.921fb6p-32")
    z = x * x
    sine = x * z * polynomial(z, "-0x1.994eb4p-13", "0x1.110760p-7", "-0x1.555546p-3") + x
    cosine = z * z * polynomial(z, "0x1.9a025ap-16", "-0x1.6c0c8cp-10", "0x1.55554ap-5") - z * half + one
    quarter = second >> np.uint32(30)
    across = np.choose(quarter, [cosine, -sine, -cosine, sine])
    up = np.choose(quarter, [sine, cosine, -sine, -cosine])
    return np.stack([radius * across, radius * up], 1).reshape(-1)


class Bits(unittest.TestCase):
    def test_the_keystream(self) -> None:
        generator = warpaes.Generator(KEY, stream=5)
        self.assertEqual(generator.bytes(100), keystream(100, 5))
        self.assertEqual(generator.position, 112)
        self.assertEqual(generator.bytes(20), keystream(20, 5, 112))
        generator.position = 16
        self.assertEqual(generator.bytes(33), keystream(33, 5, 16))
        self.assertEqual(generator.spawn(6).bytes(16), keystream(16, 6))
        generator.position = (1 << 68) - 16
        self.assertEqual(generator.bytes(16), keystream(16, 5, (1 << 68) - 16))
        with self.assertRaisesRegex(ValueError, "exhausted"):
            generator.bytes(1)

    def test_a_key_of_its_own(self) -> None:
        self.assertNotEqual(warpaes.Generator().bytes(16), warpaes.Generator().bytes(16))

    def test_mistakes(self) -> None:
        for wrong in (dict(key=bytes(15)), dict(stream=-1), dict(stream=1 << 64)):
            with self.assertRaises(ValueError):
                warpaes.Generator(**wrong)  # type: ignore[arg-type]
        with self.assertRaises(ValueError):
            warpaes.Generator(KEY).position = 8
        with self.assertRaises((TypeError, BufferError)):
            warpaes.Generator(KEY).fill(bytes(8))
        generator = warpaes.Generator(KEY)
        generator.bytes(160)
        with self.assertRaises(ValueError):
            generator.bytes(-100)
        self.assertEqual(generator.position, 160)  # numbers are never returned twice

    def test_a_length_that_changes_its_mind(self) -> None:
        class Length:
            asked = 0

            def __index__(self) -> int:
                self.asked += 1
                return 16 * self.asked

        generator = warpaes.Generator(KEY)
        length = Length()
        made = _native.bits(KEY, generator._take, length)  # type: ignore[arg-type]
        self.assertEqual((len(made), length.asked), (16, 1))

    def test_threads_share_it(self) -> None:
        generator, found = warpaes.Generator(KEY), []

        def take() -> None:
            for _ in range(100):
                found.append(generator.bytes(16))

        threads = [threading.Thread(target=take) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        whole = keystream(6400)
        self.assertEqual(sorted(found), sorted(whole[at : at + 16] for at in range(0, 6400, 16)))


class Numbers(unittest.TestCase):
    def setUp(self) -> None:
        self.numpy = needed("numpy")

    def test_uniform_by_definition(self) -> None:
        np = self.numpy
        words = np.frombuffer(keystream(8000), "<u8")
        expected = (words >> np.uint64(11)).astype("f8") * 2.0**-53
        self.assertTrue((warpaes.Generator(KEY).random(1000) == expected).all())
        words = np.frombuffer(keystream(4000), "<u4")
        expected = (words >> np.uint32(8)).astype("f4") * np.float32(2.0**-24)
        found = warpaes.Generator(KEY).random((10, 100), "float32")
        self.assertEqual(found.shape, (10, 100))
        self.assertTrue((found.reshape(-1) == expected).all())
        scaled = warpaes.Generator(KEY).uniform(-3, 5, 1000)
        self.assertTrue((scaled == warpaes.Generator(KEY).random(1000) * 8.0 + -3.0).all())

    def test_sixteen_bits_by_definition(self) -> None:
        np = self.numpy
        found = warpaes.Generator(KEY).random((10, 100), "float16")
        drawn = np.frombuffer(keystream(2000), "<u2")
        self.assertEqual(found.reshape(-1).astype("f8").tolist(), ((drawn >> 5) / 2**11).tolist())
        scaled = warpaes.Generator(KEY).uniform(-3, 5, 1000, "float16")
        self.assertEqual(scaled.tolist(), (found.reshape(-1) * np.float16(8) + np.float16(-3)).tolist())
        normal = warpaes.Generator(KEY).normal(1, 2, 1000, "float16")
        single = warpaes.Generator(KEY).normal(1, 2, 1000, "float32")
        self.assertEqual(normal.tolist(), single.astype("f2").tolist())

    def test_integers_by_definition(self) -> None:
        bits = keystream(16_000)
        numbers = [int.from_bytes(bits[at : at + 16], "little") for at in range(0, len(bits), 16)]
        for low, high, dtype in ((0, 6, "i8"), (-5, 5, "i4"), (-(2**63), 2**63, "i8"), (0, 2**64, "u8"), (7, 8, "u1")):
            found = warpaes.Generator(KEY).integers(low, high, 1000, dtype)
            self.assertEqual(found.dtype, self.numpy.dtype(dtype))
            self.assertEqual([int(x) for x in found], [low + (x * (high - low) >> 128) for x in numbers])

    def test_integers_of_numpy_are_numbers_too(self) -> None:
        np = self.numpy
        ours, theirs = warpaes.Generator(KEY, stream=3), warpaes.Generator(KEY, stream=np.int64(3))
        ours.position, theirs.position = 32, np.int32(32)
        for low, high in ((0, 10), (-5, 10), (-(2**63), 2**63 - 1)):
            expected = ours.integers(low, high, 100)
            self.assertEqual(theirs.integers(np.int64(low), np.int64(high), 100).tolist(), expected.tolist())
        self.assertEqual(theirs.integers(np.uint8(200), size=9).tolist(), ours.integers(200, size=9).tolist())
        self.assertEqual(theirs.spawn(np.uint64(2**63)).bytes(16), ours.spawn(2**63).bytes(16))
        for wrong in (1.5, "1"):
            with self.assertRaises(TypeError):
                ours.integers(wrong)  # type: ignore[arg-type]

    def test_normal_is_what_it_is_everywhere(self) -> None:
        """The results equal the machine's logarithm, sine and cosine except for the last few bits. The bits are the
        same on every machine."""
        np = self.numpy
        words = np.frombuffer(keystream(160_000), "<u8").reshape(-1, 2)
        first = ((words[:, 0] >> np.uint64(11)) + np.uint64(1)).astype("f8") * 2.0**-53
        within = (words[:, 1] >> np.uint64(11) & np.uint64((1 << 51) - 1)).astype("f8") * 2.0**-51 - 0.5
        angle = ((words[:, 1] >> np.uint64(62)).astype("f8") + within) * (math.pi / 2)
        radius = np.sqrt(-2 * np.log(first))
        expected = np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1).reshape(-1)
        found = warpaes.Generator(KEY).normal(size=20_000)
        self.assertLess(float(np.abs(found - expected).max()), 4e-15)
        by_definition = [number for pair in words[:500] for number in normal_pair(int(pair[0]), int(pair[1]))]
        self.assertEqual(found[:1000].tolist(), by_definition)
        digest = hashlib.sha256(found.astype("<f8").tobytes()).hexdigest()
        self.assertEqual(digest, "750f5dbdee9ac9d89bff87b4dc4832c3982b57035cefd8593ad3204486de0f42")

    def test_normal_float32_is_what_it_is_everywhere(self) -> None:
        np = self.numpy
        words = np.frombuffer(keystream(160_000), "<u4").reshape(-1, 2)
        expected = normal_floats(np, words[:, 0], words[:, 1])
        found = warpaes.Generator(KEY).normal(size=40_000, dtype="float32")
        self.assertEqual(found.tobytes(), expected.astype("<f4").tobytes())
        digest = hashlib.sha256(found.astype("<f4").tobytes()).hexdigest()
        self.assertEqual(digest, "dc573ef11a9d069fe3e467045cdd30e9b614547b962ac8b220300f88e6e726ef")

    def test_nothing_is_taken_for_what_cannot_be_filled(self) -> None:
        generator = warpaes.Generator(KEY)
        for wrong in (bytes(8), self.numpy.zeros((4, 4))[:, 1], 5):
            with self.assertRaises((TypeError, BufferError, ValueError)):
                generator.fill(wrong)
        self.assertEqual(generator.position, 0)
        with self.assertRaisesRegex(ValueError, "finite"):
            generator.normal(deviation=math.inf)

    def test_distributions(self) -> None:
        """The mean, the variance and the counts of a million numbers are within six standard deviations of the expected
        values."""
        generator, count = warpaes.Generator(KEY), 1_000_000
        uniform = generator.random(count)
        self.assertLess(abs(uniform.mean() - 0.5), 6 * math.sqrt(1 / 12 / count))
        steps = self.numpy.bincount((generator.random(count, "f2").astype("f8") * 2048).astype("i8"), minlength=2048)
        chi = float(((steps - count / 2048) ** 2).sum()) * 2048 / count
        self.assertLess(abs(chi - 2047), 6 * math.sqrt(2 * 2047))
        for dtype in ("f8", "f4", "f2"):
            normal = generator.normal(3, 2, count, dtype).astype("f8")
            self.assertLess(abs(normal.mean() - 3), 6 * 2 / math.sqrt(count))
            self.assertLess(abs(normal.var() - 4), 6 * 4 * math.sqrt(2 / count))
            inside = (abs(normal - 3) < 2).mean() + (abs(normal - 3) == 2).mean() / 2
            self.assertLess(abs(inside - math.erf(1 / math.sqrt(2))), 6 * math.sqrt(0.25 / count))
        counts = self.numpy.bincount(generator.integers(10, size=count))
        self.assertLess(float((counts - count / 10).__abs__().max()), 6 * math.sqrt(count * 0.09))

    def test_frequencies_of_bits(self) -> None:
        """The numbers of ones and of runs in eight million bits pass SP 800-22, 2.1 and 2.3."""
        bits = self.numpy.unpackbits(self.numpy.frombuffer(warpaes.Generator(KEY).bytes(1_000_000), "u1"))
        ones = int(bits.sum())
        self.assertLess(abs(ones - len(bits) / 2), 6 * math.sqrt(len(bits)) / 2)
        runs = 1 + int((bits[1:] != bits[:-1]).sum())
        share = Fraction(ones, len(bits))
        expected = 2 * len(bits) * float(share * (1 - share))
        self.assertLess(abs(runs - expected), 6 * 2 * math.sqrt(2 * len(bits)) * float(share * (1 - share)))

    def test_mistakes(self) -> None:
        generator: Any = warpaes.Generator(KEY)
        for action in (lambda: generator.integers(0), lambda: generator.integers(0, 300, 1, "u1")):
            with self.assertRaises(ValueError):
                action()
        for action in (
            lambda: generator.random(1, "i4"),
            lambda: generator.normal(dtype="g"),
            lambda: generator.integers(3, dtype="f8"),
        ):
            with self.assertRaises(TypeError):
                action()


if __name__ == "__main__":
    unittest.main()
