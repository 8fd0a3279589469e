#!/usr/bin/env python3
"""Tests with PyTorch tensors. PyTorch is too large for the tests' environment, so run this program by hand on a machine
with PyTorch, with or without a GPU.

PYTHONPATH=build/default/python:tests/python python3 tests/python/test_torch.py
"""

from __future__ import annotations

import base64
import math
import shutil
import tempfile
import unittest
import unittest.mock
from functools import partial
from typing import Any

import numpy
import torch
import warpaes
import warpaes.torch as torch_ours
from warpaes.aead import AESGCM, AESGCMSIV
from warpaes.ciphers import Cipher, algorithms, modes
from warpaes.exceptions import InvalidTag

GCM = AESGCM(bytes(16))
NONCE = bytes(12)
COMPILER = any(map(shutil.which, ("g++", "clang++")))  # inductor needs a compiler
needs_gpu = unittest.skipUnless(torch.cuda.is_available(), "PyTorch found no GPU; a machine with a GPU runs this test")


def raw(tensor: Any) -> bytes:
    return bytes(tensor.contiguous().cpu().view(-1).view(torch.uint8).numpy())


def weight_keys() -> dict[str, Any]:
    from cryptography.hazmat.primitives.asymmetric import ed25519

    def text(data: bytes) -> str:
        return base64.b64encode(data).decode()

    private = bytes(range(32))
    public = ed25519.Ed25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw()
    return {
        "enc_key": {"kty": "oct", "alg": "aes256gcm", "k": text(bytes(32)), "kid": "enc"},
        "sign_key": {"kty": "okp", "alg": "ed25519", "d": text(private), "x": text(public), "kid": "sign"},
    }


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


def octets(data: bytes) -> Any:
    return torch.tensor(list(data), dtype=torch.uint8)


KEY, IV, AAD = octets(bytes(range(32))), octets(bytes(range(12))), octets(b"associated")
COUNTER = octets(bytes(16))
DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


class Operators(unittest.TestCase):
    """Tests of torch.library's rules for operators and of torch.compile, also on a GPU if there is one."""

    def test_results(self) -> None:
        gcm = AESGCM(bytes(KEY))
        for device in DEVICES:
            for dtype in (torch.uint8, torch.bfloat16, torch.float64):
                data = torch.arange(1001).to(dtype).reshape(7, 143).to(device)
                sealed, tag = torch.ops.warpaes.gcm_encrypt(KEY, IV, data, AAD)
                self.assertEqual((sealed.shape, sealed.dtype), (data.shape, dtype))
                self.assertEqual(raw(sealed) + raw(tag), gcm.encrypt(bytes(IV), raw(data), b"associated"))
                opened, status = torch.ops.warpaes.gcm_decrypt(KEY, IV, sealed, tag, AAD)
                self.assertEqual((raw(opened), int(status)), (raw(data), 0))
                tag[3] ^= 1
                opened, status = torch.ops.warpaes.gcm_decrypt(KEY, IV, sealed, tag, AAD)
                self.assertEqual((int(status), set(raw(opened))), (22, {0}))
                text = torch.ops.warpaes.ctr(KEY, COUNTER, data)
                self.assertNotEqual(raw(text), raw(data))
                torch.ops.warpaes.ctr_(KEY, COUNTER, text)
                self.assertEqual(raw(text), raw(data))

    def test_other_layouts(self) -> None:
        data = torch.arange(60.0).reshape(3, 20).T
        sealed = torch.ops.warpaes.ctr(KEY, COUNTER, data)
        self.assertEqual(raw(sealed), raw(torch.ops.warpaes.ctr(KEY, COUNTER, data.contiguous())))
        self.assertTrue(sealed.is_contiguous())
        with self.assertRaisesRegex(BufferError, "contiguous"):
            torch.ops.warpaes.ctr_(KEY, COUNTER, data)
        weight = torch.nn.Parameter(torch.ones(3, 4))
        self.assertEqual(
            raw(torch.ops.warpaes.ctr(KEY, COUNTER, weight)), raw(torch.ops.warpaes.ctr(KEY, COUNTER, weight.detach()))
        )

    def test_mistakes(self) -> None:
        data = torch.zeros(10)
        for key, iv, said in (
            (KEY[:5], IV, "128, 192, or 256"),
            (KEY, IV[:3], "8 and 128"),
            (KEY.float(), IV, "key must be"),
        ):
            with self.assertRaisesRegex(ValueError, said):
                torch.ops.warpaes.gcm_encrypt(key, iv, data)
        with self.assertRaises(ValueError):
            torch.ops.warpaes.ctr(KEY, IV, data)

    def test_what_torch_asks_of_operators(self) -> None:
        for device in DEVICES:
            data = torch.arange(100, device=device).reshape(10, 10)  # avoids NaN, which is not equal to itself
            sealed, tag = torch.ops.warpaes.gcm_encrypt(KEY, IV, data)
            for operator, arguments in (
                (torch.ops.warpaes.gcm_encrypt, (KEY, IV, data, AAD)),
                (torch.ops.warpaes.gcm_encrypt, (KEY, IV, data.T, None)),
                (torch.ops.warpaes.gcm_decrypt, (KEY, IV, sealed, tag)),
                (torch.ops.warpaes.ctr, (KEY, COUNTER, data.T)),
                (torch.ops.warpaes.ctr_, (KEY, COUNTER, data.clone())),
            ):
                found = torch.library.opcheck(operator, arguments)
                self.assertEqual(set(found.values()), {"SUCCESS"})

    def test_compiled_without_a_break(self) -> None:
        def step(key: Any, iv: Any, counter: Any, data: Any) -> Any:
            sealed, tag = torch.ops.warpaes.gcm_encrypt(key, iv, data * 2)
            opened, status = torch.ops.warpaes.gcm_decrypt(key, iv, sealed, tag)
            scratch = opened.clone()
            torch.ops.warpaes.ctr_(key, counter, scratch)
            return torch.ops.warpaes.ctr(key, counter, scratch) + 1, status, tag

        for device in DEVICES:
            for backend in ("eager", "aot_eager", "inductor") if COMPILER else ("eager", "aot_eager"):
                compiled = torch.compile(step, fullgraph=True, backend=backend)
                for shape in ((8, 16), (5, 3), (6, 3)):  # by the third shape, shapes have become symbolic
                    data = torch.rand(shape, device=device)
                    numbers, status, tag = compiled(KEY, IV, COUNTER, data)
                    self.assertTrue(torch.equal(numbers, data * 2 + 1), backend)
                    self.assertEqual(int(status), 0)
                    self.assertEqual(raw(tag), raw(step(KEY, IV, COUNTER, data)[2]))

    def test_the_caller_sees_what_is_done_in_place_in_a_compiled_function(self) -> None:
        data = torch.arange(64.0)
        wanted = torch.ops.warpaes.ctr(KEY, COUNTER, data)
        torch.compile(lambda d: torch.ops.warpaes.ctr_(KEY, COUNTER, d), fullgraph=True, backend="aot_eager")(data)
        self.assertEqual(raw(data), raw(wanted))


class RandomTensors(unittest.TestCase):
    def same(self, tensor: Any, ours: Any, theirs: Any) -> None:
        mine, other = warpaes.Generator(bytes(16), stream=3), warpaes.Generator(bytes(16), stream=3)
        self.assertEqual(raw(ours(tensor, mine)), theirs(other).tobytes())
        self.assertEqual(mine.position, other.position)

    def test_the_same_as_numpys_on_every_device(self) -> None:
        for device in DEVICES:
            for name in ("float64", "float32", "float16"):
                for count in (1, 7, 40_001):
                    tensor = torch.empty(count, dtype=getattr(torch, name), device=device)
                    numbers = {"size": count, "dtype": name}
                    self.same(tensor, torch_ours.random_, partial(warpaes.Generator.random, **numbers))
                    between = partial(torch_ours.uniform_, low=-3, high=5)
                    self.same(tensor, between, partial(warpaes.Generator.uniform, low=-3, high=5, **numbers))
                    self.same(tensor, torch_ours.normal_, partial(warpaes.Generator.normal, **numbers))
                    about = partial(torch_ours.normal_, mean=2, deviation=3)
                    self.same(tensor, about, partial(warpaes.Generator.normal, mean=2, deviation=3, **numbers))

    def test_they_count_as_a_change(self) -> None:
        for device in DEVICES:
            weight = torch.zeros(5, device=device, requires_grad=True)
            product = (weight * weight).sum()
            torch_ours.normal_(weight, warpaes.Generator(bytes(16)))
            with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
                product.backward()

    def test_bfloat16_by_definition(self) -> None:
        bits = warpaes.Generator(bytes(16)).bytes(20_000)
        words = [int.from_bytes(bits[at : at + 2], "little") for at in range(0, len(bits), 2)]
        for device in DEVICES:
            found = torch_ours.random_(
                torch.empty(100, 100, dtype=torch.bfloat16, device=device), warpaes.Generator(bytes(16))
            )
            self.assertEqual(found.view(-1).tolist(), [(word >> 8) / 256 for word in words])
            normal = torch_ours.normal_(
                torch.empty(1000, dtype=torch.bfloat16, device=device), warpaes.Generator(bytes(16))
            )
            single = torch.from_numpy(warpaes.Generator(bytes(16)).normal(size=1000, dtype="float32"))
            self.assertEqual(raw(normal), raw(single.to(torch.bfloat16)))

    def test_layouts_and_mistakes(self) -> None:
        base = torch.zeros(6, 4)
        torch_ours.random_(base.T, warpaes.Generator(bytes(16)))
        self.assertEqual(base.T.reshape(-1).tolist(), warpaes.Generator(bytes(16)).random(24, "float32").tolist())
        weight = torch.nn.Parameter(torch.zeros(5))
        torch_ours.normal_(weight, warpaes.Generator(bytes(16)))
        self.assertTrue(weight.requires_grad and weight.abs().min() > 0)
        with self.assertRaises(TypeError):
            torch_ours.random_(torch.zeros(3, dtype=torch.int32), warpaes.Generator(bytes(16)))

    def test_distributions(self) -> None:
        """The error is within six standard deviations plus the error of rounding to the type."""
        count = 1_000_000
        for dtype, steps in ((torch.float16, 2048), (torch.bfloat16, 256)):
            generator = warpaes.Generator(bytes(16))
            uniform = torch_ours.random_(torch.empty(count, dtype=dtype), generator).double()
            self.assertLess(abs(float(uniform.mean()) - 0.5 + 0.5 / steps), 6 * math.sqrt(1 / 12 / count))
            counts = torch.bincount((uniform * steps).long(), minlength=steps)
            chi = float(((counts - count / steps) ** 2).sum()) * steps / count
            self.assertLess(abs(chi - (steps - 1)), 6 * math.sqrt(2 * (steps - 1)))
            normal = torch_ours.normal_(torch.empty(count, dtype=dtype), generator).double()
            self.assertLess(abs(float(normal.mean())), 6 / math.sqrt(count))
            self.assertLess(abs(float(normal.var()) - 1), 6 * math.sqrt(2 / count) + 2 / steps)


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

    def test_gcm_siv(self) -> None:
        """The call is not enqueued but waits for the stream's pending work, which is a slow product followed by the
        data."""
        siv = AESGCMSIV(bytes(32))
        for length in (0, 1, 16, 4096, 1_000_003):
            for name_it in (False, True):
                stream, factors = torch.cuda.Stream(), torch.ones(4096, 4096, device="cuda")
                text = torch.randint(0, 256, (length,), dtype=torch.uint8, device="cuda")
                data, tag = torch.zeros_like(text), torch.empty(16, dtype=torch.uint8, device="cuda")
                torch.cuda.synchronize()
                with torch.cuda.stream(stream):
                    for _ in range(5):
                        factors = factors @ factors / 4096
                    data.copy_(text)
                with torch.cuda.stream(torch.cuda.current_stream() if name_it else stream):
                    siv.encrypt_into(NONCE, data, b"aad", data, tag=tag, stream=stream if name_it else None)
                self.assertEqual(raw(data) + raw(tag), siv.encrypt(NONCE, raw(text), b"aad"))
                siv.decrypt_into(NONCE, data, b"aad", data, tag=tag)
                self.assertTrue(torch.equal(data, text))
                tag[0] ^= 1
                with self.assertRaises(InvalidTag):
                    siv.decrypt_into(NONCE, data, b"aad", data, tag=tag)
                self.assertEqual(int(data.count_nonzero()), 0)

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

    def test_numbers_in_a_graph(self) -> None:
        numbers, generator = torch.empty(100_001, device="cuda"), warpaes.Generator(bytes(16))
        torch_ours.normal_(numbers, warpaes.Generator(bytes(16)))
        wanted = raw(numbers)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            torch_ours.normal_(numbers, generator)
        for _ in range(3):
            numbers.zero_()
            graph.replay()
            self.assertEqual(raw(numbers), wanted)

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

    def test_jax(self) -> None:
        try:
            import jax
        except ModuleNotFoundError:
            self.skipTest("JAX is not installed; a machine that has it runs this test")
        data = jax.numpy.arange(1000)
        self.assertEqual(next(iter(data.devices())).platform, "gpu")
        out, tag = (torch.empty(size, dtype=torch.uint8, device="cuda") for size in (4000, 16))
        GCM.encrypt_into(NONCE, data, None, out, tag=tag)
        self.assertEqual(raw(out) + raw(tag), GCM.encrypt(NONCE, bytes(numpy.asarray(data)), None))
        with self.assertRaises((BufferError, TypeError)):  # JAX's arrays are read-only
            GCM.encrypt_into(NONCE, out, None, data, tag=tag)

    def test_encrypted_weights(self) -> None:
        from warpaes import safetensors

        keys = weight_keys()
        tensors = {
            "long": torch.randn(9_000_000),
            "whole pieces": torch.randint(0, 256, (32 << 20,), dtype=torch.uint8),
            "short": torch.randn(3, 5, dtype=torch.bfloat16),
            "scalar": torch.tensor(7),
            "empty": torch.zeros(0, 4),
        }
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/model.cryptotensors"
            safetensors.save_file(tensors, path, **keys)
            loaded = safetensors.load_file(path, framework="torch", device="cuda", **keys)
            self.assertEqual(list(loaded), list(safetensors.load_file(path, framework="torch", **keys)))
            for name, tensor in tensors.items():
                self.assertEqual((loaded[name].device.type, loaded[name].dtype), ("cuda", tensor.dtype))
                self.assertTrue(torch.equal(loaded[name].cpu(), tensor), name)
            with safetensors.safe_open(path, "torch", "cuda", **keys) as file:
                self.assertTrue(torch.equal(file.get_tensor("short").cpu(), tensors["short"]))
            with open(path, "r+b") as file:  # alters a byte of the second to last tensor
                file.seek(-(20 << 20), 2)
                byte = file.read(1)[0]
                file.seek(-(20 << 20), 2)
                file.write(bytes([byte ^ 1]))
            with self.assertRaisesRegex(InvalidTag, "^whole pieces: "):
                safetensors.load_file(path, framework="torch", device="cuda", **keys)


if __name__ == "__main__":
    unittest.main()
