#!/usr/bin/env python3
"""Tests one-shot authenticated encryption, ciphers, key wrap and CMAC, in addition to pyca's own tests (pyca.py)."""

from __future__ import annotations

import hashlib
import mmap
import unittest
from typing import Any

import warpaes
from support import growth, needed
from warpaes import aead, cmac, exceptions, keywrap
from warpaes.ciphers import Cipher, algorithms, modes

KEY = bytes(range(32))
NONCE = bytes(range(12))


def text(length: int) -> bytes:
    return hashlib.shake_256(b"text").digest(length)


class AgainstPyca(unittest.TestCase):
    """Both APIs must return the same bytes for lengths around block boundaries and around the length at which the GIL
    is released."""

    lengths = (0, 1, 15, 16, 17, 63, 64, 65, 1000, 16383, 16384, 16385, 1_000_003)

    def setUp(self) -> None:
        self.theirs = needed("cryptography.hazmat.primitives.ciphers.aead")

    def test_aead(self) -> None:
        for name in ("AESGCM", "AESCCM", "AESGCMSIV"):
            for key in (KEY[:16], KEY):
                ours, theirs = getattr(aead, name)(key), getattr(self.theirs, name)(key)
                for length in self.lengths:
                    for aad in (None, b"", b"associated", text(20_000)):
                        sealed = ours.encrypt(NONCE, text(length), aad)
                        self.assertEqual(sealed, theirs.encrypt(NONCE, text(length), aad), (name, length))
                        self.assertEqual(ours.decrypt(NONCE, sealed, aad), text(length))

    def test_siv(self) -> None:
        ours, theirs = aead.AESSIV(KEY * 2), self.theirs.AESSIV(KEY * 2)
        for length in self.lengths[1:]:
            for parts in (None, [], [b"a"], [b"a", b"", text(20_000)]):
                sealed = ours.encrypt(text(length), parts)
                self.assertEqual(sealed, theirs.encrypt(text(length), parts))
                self.assertEqual(ours.decrypt(sealed, parts), text(length))

    def test_ciphers_in_pieces(self) -> None:
        pyca = needed("cryptography.hazmat.primitives.ciphers")
        decrepit = needed("cryptography.hazmat.decrepit.ciphers.modes")
        data = text(100_000)
        for name in ("ECB", "CBC", "CFB", "CFB8", "OFB", "CTR", "GCM"):
            theirs_mode = getattr(decrepit if name in ("CFB", "CFB8", "OFB") else pyca.modes, name)
            iv = [] if name == "ECB" else [text(16)]
            theirs = pyca.Cipher(pyca.algorithms.AES(KEY), theirs_mode(*iv)).encryptor()
            ours = Cipher(algorithms.AES(KEY), getattr(modes, name)(*iv)).encryptor()
            expected = theirs.update(data) + theirs.finalize()
            got, at, step = b"", 0, 1
            while at < len(data):
                got += ours.update(data[at : at + step])
                at, step = at + step, step * 3 % 20_011
            self.assertEqual(got + ours.finalize(), expected[: len(got)], name)
            self.assertEqual(len(got), len(expected))
            if name == "GCM":
                self.assertEqual(ours.tag, theirs.tag)

    def test_cmac_copies(self) -> None:
        pyca = needed("cryptography.hazmat.primitives.cmac")
        algorithm = needed("cryptography.hazmat.primitives.ciphers.algorithms").AES(KEY)
        first = cmac.CMAC(algorithms.AES(KEY))
        first.update(b"one")
        second = first.copy()
        self.assertIsInstance(second, cmac.CMAC)
        first.update(b"two")
        theirs = pyca.CMAC(algorithm)
        theirs.update(b"onetwo")
        self.assertEqual(first.finalize(), theirs.finalize())
        theirs = pyca.CMAC(algorithm)
        theirs.update(b"one")
        self.assertEqual(second.finalize(), theirs.finalize())

    def test_keywrap(self) -> None:
        pyca = needed("cryptography.hazmat.primitives.keywrap")
        for length in (16, 24, 4096):
            wrapped = keywrap.aes_key_wrap(KEY, text(length))
            self.assertEqual(wrapped, pyca.aes_key_wrap(KEY, text(length)))
        for length in (1, 7, 8, 9, 4099):
            wrapped = keywrap.aes_key_wrap_with_padding(KEY, text(length))
            self.assertEqual(wrapped, pyca.aes_key_wrap_with_padding(KEY, text(length)))
            self.assertEqual(keywrap.aes_key_unwrap_with_padding(KEY, wrapped), text(length))


class WholeMessages(unittest.TestCase):
    def test_the_same_as_in_pieces(self) -> None:
        data = text(4096)
        for mode in (modes.ECB(), modes.CBC(text(16)), modes.CTR(text(16)), modes.OFB(text(16)), modes.XTS(text(16))):
            cipher = Cipher(algorithms.AES(KEY), mode)
            out = bytearray(len(data))
            self.assertEqual(cipher.encrypt_into(data, out), len(data))
            pieces = cipher.encryptor()
            self.assertEqual(bytes(out), pieces.update(data) + pieces.finalize(), mode.name)
            cipher.decrypt_into(out, out)
            self.assertEqual(bytes(out), data)

    def test_data_units_of_xts(self) -> None:
        data, out = text(4096), bytearray(4096)
        Cipher(algorithms.AES(KEY), modes.XTS((7).to_bytes(16, "little"))).encrypt_into(data, out, data_unit_bytes=512)
        third = Cipher(algorithms.AES(KEY), modes.XTS((9).to_bytes(16, "little"))).encryptor()
        self.assertEqual(bytes(out[1024:1536]), third.update(data[1024:1536]) + third.finalize())

    def test_seek(self) -> None:
        cipher = Cipher(algorithms.AES(KEY), modes.CTR(text(16)))
        whole = cipher.encryptor().update(text(5000))
        for offset in (0, 1, 16, 4097):
            context = cipher.encryptor()
            context.seek(offset)
            self.assertEqual(context.update(text(5000)[offset:]), whole[offset:])


class Mistakes(unittest.TestCase):
    def test_keys_that_are_made_are_taken(self) -> None:
        for kind in (aead.AESGCM, aead.AESCCM, aead.AESGCMSIV, aead.AESSIV):
            for bits in (0, 64, 128, 192, 256, 384, 512, 1 << 70):
                try:
                    key = kind.generate_key(bits)
                except ValueError:
                    continue
                self.assertEqual(len(key), bits // 8)
                kind(key)
        self.refused(ValueError, "bit_length must be 128 or 256", aead.AESGCMSIV.generate_key, 192)

    def test_a_key_that_is_too_long_to_wrap(self) -> None:
        with mmap.mmap(-1, 1 << 32, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
            self.refused(ValueError, r"at most 2\^32 - 1", keywrap.aes_key_wrap_with_padding, KEY, memory)

    def test_the_list_of_associated_data_changes_meanwhile(self) -> None:
        class Treacherous:
            def __init__(self, parts: list[Any]) -> None:
                self.parts = parts

            @property
            def __cuda_array_interface__(self) -> Any:
                self.parts.clear()
                raise AttributeError

        parts: list[Any] = []
        parts += [Treacherous(parts), b"second", b"third"]
        with self.assertRaises((TypeError, IndexError)):
            aead.AESSIV(KEY).encrypt(b"text", parts)

        class Empties(Treacherous):
            @property
            def __cuda_array_interface__(self) -> Any:
                self.parts.clear()
                return {"data": (1, False), "shape": (0,), "typestr": "|u1"}

        parts += [Empties(parts), b"second", b"third"]
        with self.assertRaises((TypeError, IndexError)):
            aead.AESSIV(KEY).encrypt(b"text", parts)

    def refused(self, kind: type[BaseException], words: str, function: Any, *values: Any, **named: Any) -> None:
        with self.assertRaisesRegex(kind, words):
            function(*values, **named)

    def test_arguments(self) -> None:
        gcm = aead.AESGCM(KEY)
        self.refused(TypeError, "missing required argument: 'associated_data'", gcm.encrypt, NONCE, b"")
        self.refused(TypeError, "takes 3 positional", gcm.encrypt, NONCE, b"", None, None)
        self.refused(TypeError, "unexpected keyword argument 'iv'", gcm.encrypt, iv=NONCE)
        self.refused(TypeError, "multiple values", gcm.encrypt, NONCE, b"", None, nonce=NONCE)
        self.refused(TypeError, "str.*\n.*bytestring instead", gcm.encrypt, NONCE, "text", None)
        self.assertEqual(
            gcm.encrypt(associated_data=None, data=b"x", nonce=NONCE), gcm.encrypt(NONCE, b"x", associated_data=None)
        )

    def test_stream_and_status_are_for_gpus(self) -> None:
        gcm, out = aead.AESGCM(KEY), bytearray(17)
        self.refused(ValueError, "stream applies only to tensors", gcm.encrypt_into, NONCE, b"x", None, out, stream=1)
        status = bytearray(4)
        self.refused(ValueError, "status must be", gcm.decrypt_into, NONCE, out, None, bytearray(1), status=status)

    def test_a_wrong_tag_wipes(self) -> None:
        gcm = aead.AESGCM(KEY)
        sealed = bytearray(gcm.encrypt(NONCE, text(100_000), None))
        sealed[-1] ^= 1
        out = bytearray(b"x" * 100_000)
        self.refused(exceptions.InvalidTag, "", gcm.decrypt_into, NONCE, sealed, None, out)
        self.assertEqual(out, bytes(100_000))

    def test_overlap(self) -> None:
        buffer = memoryview(bytearray(1000))
        self.refused(ValueError, "overlap", aead.AESGCM(KEY).encrypt_into, NONCE, buffer[8:108], None, buffer[100:216])

    def test_in_place(self) -> None:
        gcm = aead.AESGCM(KEY)
        buffer = bytearray(text(1000) + bytes(16))
        gcm.encrypt_into(NONCE, memoryview(buffer)[:1000], None, buffer)
        self.assertEqual(bytes(buffer), gcm.encrypt(NONCE, text(1000), None))
        gcm.decrypt_into(NONCE, buffer, None, memoryview(buffer)[:1000])
        self.assertEqual(buffer[:1000], text(1000))

    def test_a_tag_of_its_own(self) -> None:
        gcm, out, tag = aead.AESGCM(KEY), bytearray(1000), bytearray(16)
        self.assertEqual(gcm.encrypt_into(NONCE, text(1000), b"a", out, tag=tag), 1000)
        self.assertEqual(bytes(out + tag), gcm.encrypt(NONCE, text(1000), b"a"))
        gcm.decrypt_into(NONCE, out, b"a", out, tag=tag)
        self.assertEqual(bytes(out), text(1000))
        short = bytearray(12)
        self.refused(ValueError, "tag must be 16 bytes", gcm.encrypt_into, NONCE, b"", None, bytearray(), tag=short)

    def test_a_context_that_failed_goes_on(self) -> None:
        context = Cipher(algorithms.AES(KEY), modes.CBC(text(16))).encryptor()
        context.update(b"x" * 17)
        self.refused(ValueError, "multiple of the block length", context.finalize)
        self.assertEqual(len(context.update(b"x" * 15)), 16)
        self.assertEqual(context.finalize(), b"")

    def test_contexts_are_made_by_ciphers(self) -> None:
        kind: Any = type(Cipher(algorithms.AES(KEY), modes.ECB()).encryptor())
        self.refused(TypeError, "cannot create", kind)

    def test_the_backend_that_was_asked_for_cannot_be_changed(self) -> None:
        aead.AESGCM(KEY).encrypt(NONCE, b"", None)
        self.refused(exceptions.Error, "already has an engine", warpaes.configure, threads=1)


class Leaks(unittest.TestCase):
    """Memory must not grow over a thousand calls, including calls that fail."""

    def test_nothing_stays(self) -> None:
        data = text(20_000)
        out = bytearray(len(data))

        def once() -> None:
            gcm = aead.AESGCM(KEY)
            sealed = gcm.encrypt(NONCE, data, data)
            gcm.decrypt(NONCE, sealed, data)
            for wrong in ((b"", sealed, None), (NONCE, sealed, None), (NONCE, "text", None), (NONCE, b"short", None)):
                try:
                    gcm.decrypt(*wrong)  # type: ignore[arg-type]
                except (TypeError, ValueError, exceptions.InvalidTag):
                    continue
                raise AssertionError(wrong)
            context = Cipher(algorithms.AES(KEY), modes.GCM(NONCE)).encryptor()
            context.update_into(data, out)
            context.finalize()
            mac = cmac.CMAC(algorithms.AES(KEY))
            mac.update(data)
            mac.copy().finalize()

        self.assertLess(growth(once, 1000), 1 << 20)


if __name__ == "__main__":
    unittest.main()
