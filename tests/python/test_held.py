#!/usr/bin/env python3
"""Tests that buffers are released at the end of a call, a batch or a file, after success and after failure."""

from __future__ import annotations

import asyncio
import gc
import io
import tempfile
import time
import unittest
from collections.abc import Callable
from typing import Any

import warpaes
from support import needed
from warpaes import Keyset, exceptions, keywrap
from warpaes.aead import AESCCM, AESGCM, AESGCMSIV, AESSIV
from warpaes.ciphers import Cipher, algorithms, modes
from warpaes.cmac import CMAC

KEY, NONCE, SIZE = bytes(32), bytes(12), 20_000
GCM = AESGCM(KEY)
KEYSET = Keyset.generate("AES256_GCM_HKDF_4KB")


def sealed(text: bytes = bytes(SIZE)) -> bytes:
    file = io.BytesIO()
    with warpaes.open(file, "wb", keyset=KEYSET) as writer:
        writer.write(text)
    return file.getvalue()


class Case(unittest.TestCase):
    def free(self, *buffers: bytearray) -> None:
        """Check that the buffers are no longer exported, so that they can grow."""
        for number, buffer in enumerate(buffers):
            try:
                buffer.append(0)
            except BufferError:
                self.fail(f"buffer {number} is still held")
            buffer.pop()

    def check(self, action: Callable[..., Any], *buffers: Any, fails: Any = None) -> None:
        """Call an action. A stored exception with its traceback must not keep a buffer exported."""
        if fails is None:
            result = action(*buffers)
            self.free(*buffers)
            del result
            return
        try:
            action(*buffers)
        except fails as error:
            kept = error
        else:
            self.fail("nothing was raised")
        self.free(*buffers)
        del kept


class Calls(Case):
    def test_messages(self) -> None:
        for aead in (GCM, AESCCM(KEY), AESGCMSIV(KEY)):
            data, nonce, aad, out = bytearray(SIZE), bytearray(12), bytearray(9), bytearray(SIZE + 16)
            self.check(aead.encrypt, nonce, data, aad)
            self.check(lambda n, d, a, o, aead=aead: aead.encrypt_into(n, d, a, o), nonce, data, aad, out)
            self.check(aead.decrypt, nonce, data, aad, fails=exceptions.InvalidTag)
            self.check(aead.decrypt_into, nonce, out, aad, data, fails=None)
            out[0] ^= 1
            self.check(aead.decrypt_into, nonce, out, aad, data, fails=exceptions.InvalidTag)
            self.check(aead.decrypt_into, nonce, data, aad, out, fails=ValueError)
            self.check(aead.encrypt, bytearray(3), data, aad, fails=ValueError)
        siv = AESSIV(KEY)
        self.check(lambda d, a: siv.encrypt(d, [a]), bytearray(SIZE), bytearray(3))
        self.check(lambda d, a: siv.decrypt(d, [a]), bytearray(SIZE), bytearray(3), fails=exceptions.InvalidTag)

    def test_keys(self) -> None:
        for kind in (AESGCM, AESCCM, AESGCMSIV, AESSIV, warpaes.Generator):
            self.check(kind, bytearray(32))
            self.check(kind, bytearray(31), fails=ValueError)
        self.check(lambda key: Keyset.from_raw("AES256_GCM_HKDF_4KB", key), bytearray(32))
        self.check(lambda key: Keyset.from_raw("AES256_GCM_HKDF_4KB", key), bytearray(3), fails=ValueError)
        self.check(Keyset.parse, bytearray(KEYSET.to_json()))
        self.check(Keyset.parse, bytearray(b"{}"), fails=exceptions.KeysetError)
        self.check(lambda k, d: keywrap.aes_key_wrap(bytes(k), d), bytearray(16), bytearray(16))
        self.check(lambda d: keywrap.aes_key_unwrap(KEY, d), bytearray(24), fails=exceptions.InvalidUnwrap)

    def test_contexts(self) -> None:
        for mode in (modes.CTR(bytes(16)), modes.GCM(NONCE), modes.CBC(bytes(16))):
            context = Cipher(algorithms.AES(KEY), mode).encryptor()
            self.check(context.update, bytearray(SIZE))
            self.check(context.update_into, bytearray(SIZE), bytearray(SIZE + 15))
            self.check(context.update_into, bytearray(SIZE), bytearray(3), fails=ValueError)
        mac = CMAC(algorithms.AES(KEY))
        self.check(mac.update, bytearray(SIZE))
        self.check(mac.verify, bytearray(16), fails=exceptions.InvalidSignature)
        ctr = Cipher(algorithms.AES(KEY), modes.CTR(bytes(16)))
        self.check(ctr.encrypt_into, bytearray(SIZE), bytearray(SIZE))
        self.check(ctr.encrypt_into, bytearray(SIZE), bytearray(3), fails=ValueError)

    def test_others(self) -> None:
        self.check(warpaes.copy, bytearray(SIZE), bytearray(SIZE))
        self.check(warpaes.copy, bytearray(SIZE), bytearray(3), fails=ValueError)
        self.check(warpaes.Generator(KEY).fill, bytearray(SIZE))


class Batches(Case):
    def begin(self, data: Any, out: Any, tags: Any, nonces: Any, direction: str = "encrypt") -> Any:
        np = needed("numpy")
        return GCM.submit_into(direction, nonces, data, np.arange(10) * 100, np.full(10, 100), out, tags)

    def buffers(self) -> list[bytearray]:
        nonces = bytearray(b"".join(i.to_bytes(12, "big") for i in range(10)))
        return [bytearray(1000), bytearray(1000), bytearray(160), nonces]

    def test_result(self) -> None:
        buffers = self.buffers()
        batch = self.begin(*buffers)
        batch.result()
        self.free(*buffers)
        self.assertEqual(batch.result(), [None] * 10, "the results remain")
        self.free(*buffers)

    def test_done_and_cancel(self) -> None:
        for end in ("done", "cancel"):
            buffers = self.buffers()
            batch = self.begin(*buffers)
            while not batch.done():
                time.sleep(0.001)
            if end == "cancel":
                batch.cancel()
            self.free(*buffers)
            batch.result(return_exceptions=True)

    def test_failure(self) -> None:
        buffers = self.buffers()
        batch = self.begin(*buffers, direction="decrypt")
        self.check(lambda *_: batch.result(), *buffers, fails=exceptions.InvalidTag)
        self.assertIsInstance(batch.result(return_exceptions=True)[0], exceptions.InvalidTag)
        buffers = self.buffers()
        self.check(self.begin, *buffers[:3], bytearray(7), fails=ValueError)
        self.check(self.begin, buffers[0], bytearray(3), *buffers[2:], fails=ValueError)
        # There is only one nonce.
        self.check(lambda *of: self.begin(*of).result(), *buffers[:3], bytearray(120), fails=ValueError)

    def test_lists(self) -> None:
        data = [bytearray(i) for i in range(100)]
        nonces = [bytearray(i.to_bytes(12, "big")) for i in range(100)]
        batch = GCM.submit("encrypt", nonces, data)
        found = batch.result()
        self.free(*data, *nonces)
        self.assertEqual(found[7], GCM.encrypt(nonces[7], data[7], None))
        self.assertEqual(batch.result(), found)
        GCM.encrypt_batch(nonces, data)
        self.free(*data, *nonces)
        with self.assertRaises(exceptions.InvalidTag):
            GCM.decrypt_batch(nonces, data)
        self.free(*data, *nonces)

    def test_await(self) -> None:
        async def run() -> None:
            buffers = self.buffers()
            await self.begin(*buffers)
            self.free(*buffers)
            buffers = self.buffers()
            with self.assertRaises(exceptions.InvalidTag):
                await self.begin(*buffers, direction="decrypt")
            self.free(*buffers)

        asyncio.run(run())

    def test_a_buffer_that_runs_code_when_it_is_released(self) -> None:
        """Code that runs while a buffer is released may query the batch."""
        np = needed("numpy")
        seen: list[Any] = []

        class Array(np.ndarray):  # type: ignore[misc,name-defined]
            def __array_finalize__(self, of: Any) -> None:
                pass

            def __del__(self) -> None:
                seen.append(batch.done())

        buffers = self.buffers()
        data = np.zeros(1000, np.uint8).view(Array)
        batch = self.begin(data, *buffers[1:])
        del data
        batch.result()
        gc.collect()
        self.assertIn(True, seen)


class Files(Case):
    def test_reading(self) -> None:
        data = bytearray(sealed())
        file = warpaes.open(data, keyset=KEYSET)
        self.check(file.readinto, bytearray(SIZE))
        with self.assertRaises(BufferError):
            data.append(0)
        file.close()
        self.free(data)
        reader = warpaes.Reader(data, KEYSET)
        self.check(lambda buffer: reader.read_into(0, buffer), bytearray(SIZE))
        reader.close()
        self.free(data)
        del file

    def test_a_file_that_cannot_be_opened(self) -> None:
        self.check(lambda data: warpaes.open(data, keyset=KEYSET), bytearray(99), fails=exceptions.FormatError)
        altered = bytearray(sealed())
        altered[-1] ^= 1
        self.check(lambda data: warpaes.open(data, keyset=KEYSET), altered, fails=exceptions.InvalidTag)
        self.check(lambda data: warpaes.Reader(data, KEYSET), altered, fails=exceptions.InvalidTag)
        for mode in ("rb", "wb"):
            aad = bytearray(9)
            with warpaes.open(io.BytesIO(sealed()) if mode == "rb" else io.BytesIO(), mode, keyset=KEYSET) as file:
                pass
            self.check(
                lambda aad, mode=mode: warpaes.open("/nowhere/x", mode, keyset=KEYSET, associated_data=aad),
                aad, fails=OSError,
            )  # fmt: skip
            del file

    def test_reads_that_fail(self) -> None:
        altered = bytearray(sealed())
        altered[10_000] ^= 1
        for source in (altered, io.BytesIO(altered), io.BufferedReader(io.BytesIO(altered))):  # type: ignore[arg-type]
            for size in (5000, 200_000):
                with warpaes.open(source, keyset=KEYSET) as file:
                    file.seek(8000)
                    self.check(file.readinto, bytearray(size), fails=exceptions.InvalidTag)
                    file.raw.seek(8200)
                    self.check(file.raw.readinto, bytearray(size), fails=exceptions.InvalidTag)
                    self.check(
                        lambda b, r=file.reader: r.read_into(8000, b), bytearray(size), fails=exceptions.InvalidTag
                    )
        self.free(altered)

    def test_writing(self) -> None:
        with tempfile.TemporaryFile() as below, warpaes.open(below, "wb", keyset=KEYSET) as file:
            for size in (10, SIZE, 1 << 20):
                self.check(file.write, bytearray(size))

        class Full(io.RawIOBase):
            left = 100

            def write(self, data: Any) -> int:  # type: ignore[override]
                self.left -= len(data)
                if self.left < 0:
                    raise OSError(28, "No space left on device")
                return len(data)

        file = warpaes.open(Full(), "wb", keyset=KEYSET)
        self.check(lambda data: [file.write(data) for _ in range(200)], bytearray(1 << 20), fails=OSError)
        file.abort()


if __name__ == "__main__":
    unittest.main()
