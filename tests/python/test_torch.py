#!/usr/bin/env python3
"""Tensors of PyTorch, which is too large for the tests' environment: run by hand where it is installed, GPU or not.

PYTHONPATH=build/default/python:tests/python python3 tests/python/test_torch.py
"""

from __future__ import annotations

import tempfile
import unittest
from typing import Any

import torch
import warpaes
from warpaes.aead import AESGCM
from warpaes.ciphers import Cipher, algorithms, modes
from warpaes.exceptions import InvalidTag

GCM = AESGCM(bytes(16))
NONCE = bytes(12)
needs_gpu = unittest.skipUnless(torch.cuda.is_available(), "PyTorch sees no GPU here; a machine with one runs this")


def raw(tensor: Any) -> bytes:
    return bytes(tensor.contiguous().cpu().view(-1).view(torch.uint8).numpy())


class Host(unittest.TestCase):
    def test_tensors(self) -> None:
        data = torch.arange(1000, dtype=torch.bfloat16).reshape(10, 100)
        expected = GCM.encrypt(NONCE, raw(data), None)
        self.assertEqual(GCM.encrypt(NONCE, data, None), expected)
        out, tag = torch.empty_like(data), torch.empty(16, dtype=torch.uint8)
        GCM.encrypt_into(NONCE, data, None, out, tag=tag)
        self.assertEqual(raw(out) + raw(tag), expected)

    def test_refused(self) -> None:
        data, tag = torch.zeros(10, 100), torch.empty(16, dtype=torch.uint8)
        with self.assertRaisesRegex(BufferError, "contiguous"):
            GCM.encrypt(NONCE, data.T, None)
        with self.assertRaisesRegex(BufferError, "requires grad"):
            GCM.encrypt_into(NONCE, data, None, torch.zeros(10, 100, requires_grad=True), tag=tag)
        with self.assertRaisesRegex(BufferError, "lazy conjugate"):
            GCM.encrypt(NONCE, torch.zeros(3, dtype=torch.complex64).conj(), None)

    def test_random_numbers(self) -> None:
        bits = torch.empty(1000, dtype=torch.uint8)
        warpaes.Generator(bytes(16)).fill(bits)
        self.assertEqual(raw(bits), warpaes.Generator(bytes(16)).bytes(1000))


@needs_gpu
class Gpu(unittest.TestCase):
    def test_gcm(self) -> None:
        for length in (1, 16, 4096, 1_000_003):
            data = torch.randint(0, 256, (length,), dtype=torch.uint8, device="cuda")
            out, tag = torch.empty_like(data), torch.empty(16, dtype=torch.uint8, device="cuda")
            GCM.encrypt_into(NONCE, data, b"aad", out, tag=tag)
            self.assertEqual(raw(out) + raw(tag), GCM.encrypt(NONCE, raw(data), b"aad"))
            back = torch.empty_like(data)
            GCM.decrypt_into(NONCE, out, b"aad", back, tag=tag)
            self.assertTrue(torch.equal(back, data))
            status = torch.full((1,), -1, dtype=torch.int32, device="cuda")
            tag[0] ^= 1
            GCM.decrypt_into(NONCE, out, b"aad", back, tag=tag, status=status)
            self.assertEqual((int(status), int(back.count_nonzero())), (22, 0))
            with self.assertRaises(InvalidTag):
                GCM.decrypt_into(NONCE, out, b"aad", back, tag=tag)

    def test_streams(self) -> None:
        cipher = Cipher(algorithms.AES(bytes(16)), modes.CTR(bytes(16)))
        expected = bytearray(1 << 20)
        cipher.encrypt_into(bytes(1 << 20), expected)
        for name_it in (False, True):
            stream = torch.cuda.Stream()
            with torch.cuda.stream(torch.cuda.current_stream() if name_it else stream):
                data = torch.zeros(1 << 20, dtype=torch.uint8, device="cuda")
                torch.cuda.current_stream().synchronize()
                cipher.encrypt_into(data, data, stream=stream if name_it else None)
            stream.synchronize()
            self.assertEqual(raw(data), bytes(expected))

    def test_a_graph(self) -> None:
        data = torch.zeros(4096, dtype=torch.uint8, device="cuda")
        out, tag = torch.empty_like(data), torch.empty(16, dtype=torch.uint8, device="cuda")
        GCM.encrypt_into(NONCE, data, None, out, tag=tag)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            GCM.encrypt_into(NONCE, data, None, out, tag=tag)
        for i in range(1000):
            data.fill_(i % 256)
            graph.replay()
        self.assertEqual(raw(out) + raw(tag), GCM.encrypt(NONCE, bytes([999 % 256]) * 4096, None))

    def test_random_numbers(self) -> None:
        bits = torch.empty(100_000, dtype=torch.uint8, device="cuda")
        warpaes.Generator(bytes(16)).fill(bits)
        self.assertEqual(raw(bits), warpaes.Generator(bytes(16)).bytes(100_000))

    def test_files(self) -> None:
        keyset = warpaes.Keyset.generate()
        data = torch.randint(0, 256, (10_000_000,), dtype=torch.uint8, device="cuda")
        with tempfile.NamedTemporaryFile() as file:
            with warpaes.open(file.name, "wb", keyset=keyset) as writer:
                writer.write(data)
            out = torch.empty_like(data)
            with warpaes.open(file.name, keyset=keyset) as reader:
                self.assertEqual(reader.reader.read_into(0, out), data.nbytes)
        self.assertTrue(torch.equal(out, data))


if __name__ == "__main__":
    unittest.main()
