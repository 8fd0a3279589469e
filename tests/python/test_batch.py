#!/usr/bin/env python3
"""Tests many messages at once."""

from __future__ import annotations

import asyncio
import contextlib
import select
import unittest

from support import growth, needed
from warpaes.aead import AESCCM, AESGCM
from warpaes.exceptions import InvalidTag

GCM = AESGCM(bytes(range(16)))
COUNT = 300
NONCES = [i.to_bytes(12, "big") for i in range(COUNT)]
TEXTS = [bytes([i % 256]) * i for i in range(COUNT)]


class Lists(unittest.TestCase):
    def test_the_same_as_one_by_one(self) -> None:
        aads = [bytes([i % 7]) * (i % 5) for i in range(COUNT)]
        for aead in (GCM, AESCCM(bytes(32), tag_length=8)):
            for aad in (None, b"one for all", aads):
                each = aad if isinstance(aad, list) else [aad] * COUNT
                sealed = aead.encrypt_batch(NONCES, TEXTS, aad)
                self.assertEqual(sealed, [aead.encrypt(*message) for message in zip(NONCES, TEXTS, each)])
                self.assertEqual(aead.decrypt_batch(NONCES, sealed, aad), TEXTS)

    def test_nonces_in_one_buffer(self) -> None:
        self.assertEqual(GCM.encrypt_batch(b"".join(NONCES), TEXTS), GCM.encrypt_batch(NONCES, TEXTS))
        with self.assertRaisesRegex(ValueError, "divided equally among"):
            GCM.encrypt_batch(bytes(COUNT * 12 + 1), TEXTS)

    def test_nothing(self) -> None:
        self.assertEqual(GCM.encrypt_batch([], []), [])

    def test_every_message_has_its_error(self) -> None:
        sealed = GCM.encrypt_batch(NONCES, TEXTS)
        for i in (3, 200):
            sealed[i] = bytes(len(sealed[i]))
        results = GCM.decrypt_batch(NONCES, sealed, return_exceptions=True)
        self.assertEqual([i for i, result in enumerate(results) if isinstance(result, InvalidTag)], [3, 200])
        self.assertTrue(all(result == TEXTS[i] for i, result in enumerate(results) if i not in (3, 200)))
        with self.assertRaisesRegex(InvalidTag, "message 3:"):
            GCM.decrypt_batch(NONCES, sealed)

    def test_too_short_for_a_tag(self) -> None:
        """A message that is too short is an error of this message, like a wrong tag, for every kind of buffer. All
        other messages are decrypted."""
        for aead, tag in ((GCM, 16), (AESCCM(bytes(32), tag_length=8), 8)):
            sealed: list[object] = [*aead.encrypt_batch(NONCES, TEXTS)]
            wrong: dict[int, object] = {0: b"", 5: bytearray(tag - 1), 6: memoryview(bytes(1)), 299: b"x"}
            for i, short in wrong.items():
                sealed[i] = short
            sealed[7] = bytes(tag)  # as long as the tag of an empty text, but wrong
            results = aead.decrypt_batch(NONCES, sealed, return_exceptions=True)  # type: ignore[arg-type]
            for i, result in enumerate(results):
                if i in wrong:
                    self.assertIsInstance(result, InvalidTag)
                    self.assertEqual(str(result), f"message {i} is shorter than a tag")
                elif i == 7:
                    self.assertRegex(str(result), "message 7:")
                else:
                    self.assertEqual(result, TEXTS[i])
            with self.assertRaisesRegex(InvalidTag, "message 4 is shorter"):
                aead.decrypt_batch(NONCES[1:8], sealed[1:8])  # type: ignore[arg-type]
            # The error names the first message that fails, not the first short message.
            with self.assertRaisesRegex(InvalidTag, "message 1:"):
                aead.decrypt_batch(NONCES[6:9], [aead.encrypt(NONCES[6], b"", None), bytes(tag), b""])
            self.assertEqual(
                [type(one) for one in aead.decrypt_batch(NONCES[:2], [b"", b"x"], return_exceptions=True)],
                [InvalidTag] * 2,
            )
        batch = GCM.submit("decrypt", NONCES[:2], [b"short", GCM.encrypt(NONCES[1], b"text", None)])
        with self.assertRaisesRegex(InvalidTag, "message 0 is shorter"):
            batch.result()
        self.assertEqual(batch.result(return_exceptions=True)[1], b"text")

    def test_mistakes(self) -> None:
        with self.assertRaisesRegex(ValueError, "twice"):
            GCM.encrypt_batch([NONCES[0]] * 2, [b"a", b"b"])
        self.assertEqual(len(GCM.encrypt_batch([NONCES[0]] * 2, [b"a", b"b"], check_nonces=False)), 2)
        with self.assertRaisesRegex(ValueError, "299 entries for 300"):
            GCM.encrypt_batch(NONCES[1:], TEXTS)
        with self.assertRaisesRegex(ValueError, "Nonce must be"):
            GCM.encrypt_batch([b"short"], [b""])
        with self.assertRaisesRegex(TypeError, "list of buffers"):
            GCM.encrypt_batch(NONCES, b"text")
        with self.assertRaisesRegex(ValueError, "Nonce must be"):
            GCM.decrypt_batch([b"short"], [b"short"])
        with self.assertRaisesRegex(ValueError, "'encrypt' or 'decrypt'"):
            GCM.submit("seal", [], [])  # type: ignore[arg-type]

    def test_nothing_leaks(self) -> None:
        sealed = GCM.encrypt_batch(NONCES, TEXTS)
        sealed[9] = bytes(len(sealed[9]))
        self.assertLess(growth(lambda: GCM.decrypt_batch(NONCES, sealed, return_exceptions=True), 100), 2 << 20)


class OneBuffer(unittest.TestCase):
    def setUp(self) -> None:
        np = needed("numpy")
        self.numpy = np
        self.data = np.frombuffer(b"".join(TEXTS), np.uint8)
        self.lengths = np.array([len(text) for text in TEXTS], np.int64)
        self.offsets = np.cumsum(self.lengths) - self.lengths
        self.sealed = np.zeros_like(self.data)
        self.tags = np.zeros((COUNT, 16), np.uint8)

    def run_batch(self, direction: str, data: object, out: object, **options: bool) -> list[object]:
        batch = GCM.submit_into(direction, b"".join(NONCES), data, self.offsets, self.lengths, out, self.tags, b"aad")  # type: ignore[arg-type]
        return batch.result(**options)  # type: ignore[arg-type]

    def test_there_and_back(self) -> None:
        self.assertEqual(self.run_batch("encrypt", self.data, self.sealed), [None] * COUNT)
        for i in (0, 1, 17, 299):
            at, length = self.offsets[i], self.lengths[i]
            found = self.sealed[at : at + length].tobytes() + self.tags[i].tobytes()
            self.assertEqual(found, GCM.encrypt(NONCES[i], TEXTS[i], b"aad"))
        self.tags[7, 0] ^= 1
        results = self.run_batch("decrypt", self.sealed, self.sealed, return_exceptions=True)
        self.assertEqual([i for i, result in enumerate(results) if result is not None], [7])
        expected = self.data.copy()
        expected[self.offsets[7] : self.offsets[8]] = 0
        self.assertEqual(self.sealed.tobytes(), expected.tobytes())

    def test_beyond_the_end(self) -> None:
        for wrong in (self.offsets[-1] + 1, 2**62, -1):
            self.offsets[-1] = wrong
            with self.assertRaisesRegex(ValueError, "message 299 extends past"):
                self.run_batch("encrypt", self.data, self.sealed)

    def test_numbers_at_odd_addresses(self) -> None:
        np = self.numpy
        odd = [memoryview(b"x" + numbers.tobytes())[1:] for numbers in (self.offsets, self.lengths)]
        sealed = np.zeros_like(self.data)
        GCM.submit_into("encrypt", b"".join(NONCES), self.data, *odd, sealed, self.tags, b"aad").result()
        self.run_batch("encrypt", self.data, self.sealed)
        self.assertEqual(sealed.tobytes(), self.sealed.tobytes())


class Waiting(unittest.TestCase):
    def test_result_and_descriptor(self) -> None:
        batch = GCM.submit("encrypt", NONCES, TEXTS)
        self.assertTrue(select.select([batch], [], [], 60)[0])
        self.assertTrue(batch.done())
        self.assertEqual(batch.result(timeout=0), GCM.encrypt_batch(NONCES, TEXTS))

    def test_each_caller_has_a_list_of_its_own(self) -> None:
        batch = GCM.submit("encrypt", NONCES, TEXTS)
        first = batch.result()
        first.clear()
        self.assertEqual(batch.result(), GCM.encrypt_batch(NONCES, TEXTS))

    def test_time_out(self) -> None:
        batch = GCM.submit("encrypt", NONCES[:8], [bytes(32 << 20)] * 8)
        with contextlib.suppress(TimeoutError):
            batch.result(timeout=0)
        batch.cancel()
        results = batch.result(return_exceptions=True)
        self.assertEqual(len(results), 8)

    def test_times_that_are_none_or_for_ever(self) -> None:
        for timeout in (float("inf"), 1e300, 1e19, 1e16):
            data = bytes(1 << 16)
            batch = GCM.submit("encrypt", [i.to_bytes(12, "big") for i in range(500)], [data] * 500)
            self.assertEqual(len(batch.result(timeout)), 500)
        with self.assertRaisesRegex(ValueError, "not NaN"):
            batch.result(float("nan"))

    def test_await(self) -> None:
        async def many() -> list[list[bytes]]:
            return await asyncio.gather(*(self.one(i) for i in range(5)))

        self.assertEqual(asyncio.run(many()), [GCM.encrypt_batch(NONCES, TEXTS, bytes([i])) for i in range(5)])

    async def one(self, i: int) -> list[bytes]:
        return await GCM.submit("encrypt", NONCES, TEXTS, bytes([i]))

    def test_await_by_several(self) -> None:
        async def together(cancelled: int) -> list[object]:
            data = bytes(1 << 16)
            batch = GCM.submit("encrypt", [i.to_bytes(12, "big") for i in range(3000)], [data] * 3000)

            async def one() -> int:
                return len(await batch)

            tasks = [asyncio.create_task(one()) for _ in range(3)]
            await asyncio.sleep(0)
            for task in tasks[:cancelled]:
                task.cancel()
            return await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 60)

        self.assertEqual(asyncio.run(together(0)), [3000] * 3)
        found = asyncio.run(together(1))
        self.assertIsInstance(found[0], asyncio.CancelledError)
        self.assertEqual(found[1:], [3000] * 2)
        self.assertEqual([type(error) for error in asyncio.run(together(3))], [asyncio.CancelledError] * 3)

    def test_await_says_what_failed(self) -> None:
        async def one() -> None:
            await GCM.submit("decrypt", [NONCES[0]], [bytes(16)])

        with self.assertRaises(InvalidTag):
            asyncio.run(one())

    def test_left_alone(self) -> None:
        for _ in range(20):
            GCM.submit("encrypt", NONCES[:2], [bytes(1 << 20)] * 2)


if __name__ == "__main__":
    unittest.main()
