#!/usr/bin/env python3
"""Tests tensors in device memory on the simulated GPU (tests/simulated). Its library is loaded first and is otherwise
equal to the real library."""

from __future__ import annotations

import base64
import ctypes
import io
import os
import pathlib
import sys
import tempfile
import threading
import unittest
import unittest.mock
from typing import Any

import fake_torch
import warpaes
from support import main_on_simulated_gpu, needed, new_folder, run_python
from test_views import Capsule
from warpaes import Memory, exceptions, random
from warpaes.aead import AESCCM, AESGCM, AESGCMSIV, AESSIV
from warpaes.ciphers import Cipher, algorithms, modes

KEY = bytes(range(32))
NONCE = bytes(12)
LENGTHS = (1, 15, 16, 17, 1000, 4096, 100_003)


def text(length: int) -> bytes:
    return bytes(i * 7 % 251 for i in range(length))


def on_device(data: bytes) -> Memory:
    memory = Memory(max(len(data), 1), "device")
    if data:
        warpaes.copy(Part(memory, 0, len(data)), data)
    return memory


class Part:
    """A part of device memory that is exported like CuPy's and Numba's arrays."""

    def __init__(self, memory: Memory, at: int, length: int, *, writable: bool = True, **more: Any) -> None:
        self.memory = memory
        address = memory.__cuda_array_interface__["data"][0]
        self.__cuda_array_interface__ = {
            "shape": (length,),
            "typestr": "|u1",
            "data": (address + at, not writable),
            "version": 3,
            **more,
        }


def bytes_of(memory: Any, at: int, length: int) -> bytes:
    out = bytearray(length)
    warpaes.copy(out, Part(memory, at, length))
    return bytes(out)


def torch_tensor(memory: Memory) -> Any:
    return fake_torch.Tensor(memory.__cuda_array_interface__["data"][0], len(memory), "cuda", memory)


def algorithms_key(key: Any) -> Any:
    return Cipher(algorithms.AES(key), modes.ECB()).encryptor()


class Whole(unittest.TestCase):
    def test_gcm_and_ccm(self) -> None:
        for aead in (AESGCM(KEY), AESCCM(KEY)):
            for length in LENGTHS:
                if isinstance(aead, AESCCM) and length > 5000:
                    continue
                data = on_device(text(length))
                sealed = Memory(length + 16, "device")
                self.assertEqual(aead.encrypt_into(NONCE, data, b"aad", sealed), length + 16)
                expected = aead.encrypt(NONCE, text(length), b"aad")
                self.assertEqual(bytes_of(sealed, 0, length + 16), expected)
                out = Memory(length, "device")
                aead.decrypt_into(NONCE, sealed, b"aad", out)
                self.assertEqual(bytes_of(out, 0, length), text(length))

    def test_what_is_empty_lies_nowhere(self) -> None:
        empty = Part(Memory(16, "device"), 0, 0)
        empty.__cuda_array_interface__["data"] = (0, False)
        for aead in (AESGCM(KEY), AESCCM(KEY)):
            sealed = Memory(16, "device")
            self.assertEqual(aead.encrypt_into(NONCE, empty, b"aad", sealed), 16)
            self.assertEqual(bytes_of(sealed, 0, 16), aead.encrypt(NONCE, b"", b"aad"))
            self.assertEqual(aead.decrypt_into(NONCE, sealed, b"aad", empty), 0)

    def test_in_place_with_a_tag_of_its_own(self) -> None:
        gcm = AESGCM(KEY)
        data, tag = on_device(text(4096)), Memory(16, "device")
        gcm.encrypt_into(NONCE, data, None, data, tag=tag)
        self.assertEqual(bytes_of(data, 0, 4096) + bytes_of(tag, 0, 16), gcm.encrypt(NONCE, text(4096), None))
        gcm.decrypt_into(NONCE, data, None, data, tag=tag)
        self.assertEqual(bytes_of(data, 0, 4096), text(4096))
        gcm.encrypt_into(NONCE, data, None, data, tag=tag)
        gcm.decrypt_into(NONCE, data, None, data, tag=bytes_of(tag, 0, 16))
        self.assertEqual(bytes_of(data, 0, 4096), text(4096))

    def test_a_wrong_tag_raises_or_is_told(self) -> None:
        gcm = AESGCM(KEY)
        sealed = bytearray(gcm.encrypt(NONCE, text(1000), None))
        sealed[0] ^= 1
        out = on_device(b"x" * 1000)
        for _ in range(3):
            with self.assertRaises(exceptions.InvalidTag):
                gcm.decrypt_into(NONCE, on_device(bytes(sealed)), None, out)
            self.assertEqual(bytes_of(out, 0, 1000), bytes(1000))
        status = on_device(b"\xff" * 4)
        gcm.decrypt_into(NONCE, on_device(bytes(sealed)), None, out, status=status)
        self.assertEqual(int.from_bytes(bytes_of(status, 0, 4), sys.byteorder), 22)
        sealed[0] ^= 1
        gcm.decrypt_into(NONCE, on_device(bytes(sealed)), None, out, status=status)
        self.assertEqual(int.from_bytes(bytes_of(status, 0, 4), sys.byteorder), 0)
        self.assertEqual(bytes_of(out, 0, 1000), text(1000))

    def test_modes(self) -> None:
        for mode in (modes.CTR(NONCE + bytes(4)), modes.CBC(bytes(16)), modes.ECB(), modes.XTS(bytes(16))):
            cipher = Cipher(algorithms.AES(KEY), mode)
            expected = bytearray(4096)
            cipher.encrypt_into(text(4096), expected)
            data = on_device(text(4096))
            cipher.encrypt_into(data, data)
            self.assertEqual(bytes_of(data, 0, 4096), bytes(expected), mode.name)
            cipher.decrypt_into(data, data)
            self.assertEqual(bytes_of(data, 0, 4096), text(4096))

    def test_a_named_stream(self) -> None:
        class Stream:
            ptr = 0

        class Protocol:
            def __cuda_stream__(self) -> tuple[int, int]:
                return (0, 0)

        for stream in (0, Stream(), Protocol(), None):
            data = on_device(text(100))
            Cipher(algorithms.AES(KEY), modes.CTR(bytes(16))).encrypt_into(data, data, stream=stream)
        with self.assertRaisesRegex(TypeError, "stream must be"):
            Cipher(algorithms.AES(KEY), modes.CTR(bytes(16))).encrypt_into(data, data, stream="default")


class Mistakes(unittest.TestCase):
    def setUp(self) -> None:
        self.gcm = AESGCM(KEY)
        self.data = on_device(text(100))

    def refused(self, kind: type[BaseException], words: str, data: Any, buf: Any, **named: Any) -> None:
        with self.assertRaisesRegex(kind, words):
            self.gcm.encrypt_into(NONCE, data, None, buf, **named)

    def test_places(self) -> None:
        here = bytearray(116)
        self.refused(ValueError, "data and buf are in different kinds of memory", self.data, here)
        self.refused(ValueError, "data and buf are in different kinds of memory", bytes(100), Memory(116, "device"))
        self.refused(ValueError, "tag must be in the same memory", self.data, self.data, tag=bytearray(16))
        with self.assertRaisesRegex(TypeError, "use encrypt_into"):
            self.gcm.encrypt(NONCE, self.data, None)
        with self.assertRaisesRegex(ValueError, "tag must be in the same memory"):
            self.gcm.encrypt_into(NONCE, b"x", None, bytearray(1), tag=Memory(16, "device"))
        with self.assertRaisesRegex(ValueError, "tag must be in the same memory"):
            self.gcm.decrypt_into(NONCE, b"x", None, bytearray(1), tag=Memory(16, "device"))
        with self.assertRaisesRegex(TypeError, "nonce must be in host memory"):
            self.gcm.encrypt(on_device(NONCE), b"", None)
        for secret in (AESGCM, AESSIV, algorithms_key):
            with self.assertRaisesRegex(TypeError, "key must"):
                secret(on_device(KEY))
        with self.assertRaisesRegex(TypeError, "data must be in host memory"):
            AESSIV(KEY).encrypt(self.data, None)
        with self.assertRaisesRegex(TypeError, "pieces must be in host memory"):
            Cipher(algorithms.AES(KEY), modes.CTR(bytes(16))).encryptor().update(self.data)
        with self.assertRaisesRegex(TypeError, "must be in host memory"):
            self.gcm.encrypt_batch([NONCE], [self.data])

    def test_array_interfaces(self) -> None:
        out = Memory(116, "device")
        part = Part(self.data, 0, 50, strides=(2,))
        self.refused(BufferError, "not contiguous", part, out)
        self.refused(BufferError, "read-only", self.data, Part(out, 0, 116, writable=False))
        self.refused(BufferError, "mask", Part(self.data, 0, 100, mask=self.data), out)
        self.refused(TypeError, "does not consist of plain bytes", Part(self.data, 0, 100, typestr="|O8"), out)
        self.refused(TypeError, "must contain data", Part(self.data, 0, 100, shape=None), out)
        self.refused(ValueError, "buffer must be 116 bytes", self.data, self.data)
        self.refused(ValueError, "overlap", Part(self.data, 0, 50), Part(self.data, 20, 66))
        self.refused(BufferError, "negative", Part(self.data, 0, 100, shape=(-1,)), out)
        self.refused(BufferError, "fit in memory", Part(self.data, 0, 100, shape=(1 << 33, 1 << 33)), out)
        self.refused(BufferError, "fit in memory", Part(self.data, 0, 100, shape=(1 << 62,), typestr="<f8"), out)
        for strides in ([1], (1, 1), 1):
            self.refused(TypeError, "strides", Part(self.data, 0, 100, strides=strides), out)

    def test_an_array_that_does_not_say_whether_it_is_read_only(self) -> None:
        class Undecided:
            def __bool__(self) -> bool:
                raise LookupError("who knows")

        out = Part(Memory(116, "device"), 0, 116)
        address, _ = out.__cuda_array_interface__["data"]
        out.__cuda_array_interface__["data"] = (address, Undecided())
        self.refused(LookupError, "who knows", self.data, out)

    def test_the_processor_cannot_reach_it(self) -> None:
        with self.assertRaisesRegex(TypeError, "device"):
            memoryview(self.data)  # type: ignore[arg-type]
        with self.assertRaises(AttributeError):
            _ = Memory(4).__cuda_array_interface__
        with self.assertRaises(ValueError):
            Memory(4, "nowhere")  # type: ignore[arg-type]
        with self.assertRaisesRegex(ValueError, "same length"):
            warpaes.copy(bytearray(3), self.data)


class GcmSiv(unittest.TestCase):
    """GCM-SIV cannot be enqueued. A call waits for the stream and is complete when it returns."""

    LISTENER = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)

    def setUp(self) -> None:
        self.siv = AESGCMSIV(KEY)
        self.driver = ctypes.CDLL(os.environ["WARPAES_FAKE_DRIVER"])
        self.addCleanup(self.listen, None)

    def listen(self, listener: Any) -> None:
        self.listener = self.LISTENER(listener) if listener else self.LISTENER(0)
        self.driver.listen_to_waits(self.listener)

    def test_both_ways(self) -> None:
        for siv in (self.siv, AESGCMSIV(KEY[:16])):
            for length in (0, *LENGTHS):
                sealed, out = Memory(length + 16, "device"), Memory(max(length, 1), "device")
                data = Part(on_device(text(length)), 0, length)
                self.assertEqual(siv.encrypt_into(NONCE, data, b"aad", sealed), length + 16)
                self.assertEqual(bytes_of(sealed, 0, length + 16), siv.encrypt(NONCE, text(length), b"aad"))
                self.assertEqual(siv.decrypt_into(NONCE, sealed, b"aad", Part(out, 0, length)), length)
                self.assertEqual(bytes_of(out, 0, length), text(length))

    def test_in_place_with_a_tag_of_its_own(self) -> None:
        data, tag, aad = on_device(text(4096)), Memory(16, "device"), on_device(b"associated")
        self.siv.encrypt_into(NONCE, data, aad, data, tag=tag)
        expected = self.siv.encrypt(NONCE, text(4096), b"associated")
        self.assertEqual(bytes_of(data, 0, 4096) + bytes_of(tag, 0, 16), expected)
        self.siv.decrypt_into(NONCE, data, aad, data, tag=tag)
        self.assertEqual(bytes_of(data, 0, 4096), text(4096))
        self.siv.encrypt_into(NONCE, data, aad, data, tag=tag)
        self.siv.decrypt_into(NONCE, data, aad, data, tag=bytes_of(tag, 0, 16))
        self.assertEqual(bytes_of(data, 0, 4096), text(4096))
        with self.assertRaisesRegex(ValueError, "tag must be in the same memory"):
            self.siv.encrypt_into(NONCE, data, aad, data, tag=bytearray(16))

    def test_a_wrong_tag_raises_and_wipes(self) -> None:
        sealed = bytearray(self.siv.encrypt(NONCE, text(1000), None))
        sealed[0] ^= 1
        out = on_device(b"x" * 1000)
        with self.assertRaises(exceptions.InvalidTag):
            self.siv.decrypt_into(NONCE, on_device(bytes(sealed)), None, out)
        self.assertEqual(bytes_of(out, 0, 1000), bytes(1000))
        with self.assertRaisesRegex(ValueError, "AESGCMSIV waits"):
            self.siv.decrypt_into(NONCE, on_device(bytes(sealed)), None, out, status=Memory(4, "device"))

    def test_the_stream_is_waited_for_before(self) -> None:
        """The stream's pending work produces the data."""
        for stream in (None, 1):
            waited: list[Any] = []
            data, out = on_device(bytes(1000)), Memory(1016, "device")

            def arrives(stream: Any, data: Memory = data, waited: list[Any] = waited) -> int:
                waited.append(stream)
                warpaes.copy(data, text(1000))
                return 0

            self.listen(arrives)
            self.siv.encrypt_into(NONCE, data, None, out, stream=stream)
            self.listen(None)
            self.assertEqual(waited, [stream])
            self.assertEqual(bytes_of(out, 0, 1016), self.siv.encrypt(NONCE, text(1000), None))

    def test_pytorchs_current_stream(self) -> None:
        asked, waited = fake_torch.install(), []
        self.listen(lambda stream: waited.append(stream) or 0)
        memory, tag = on_device(text(100)), Memory(16, "device")
        data, its_tag = torch_tensor(memory), torch_tensor(tag)
        self.siv.encrypt_into(NONCE, data, None, data, tag=its_tag)
        self.assertEqual((set(asked), waited), ({0}, [None]))
        self.assertEqual(bytes_of(memory, 0, 100) + bytes_of(tag, 0, 16), self.siv.encrypt(NONCE, text(100), None))

    def test_in_a_thread_that_has_not_met_cuda(self) -> None:
        """The thread has no current CUDA context, but waiting for the stream requires one."""
        data, out = on_device(text(100)), Memory(116, "device")
        thread = threading.Thread(target=lambda: self.siv.encrypt_into(NONCE, data, None, out))
        thread.start()
        thread.join()
        self.assertEqual(bytes_of(out, 0, 116), self.siv.encrypt(NONCE, text(100), None))
        self.assertEqual(self.driver.contexts_retained(), 0)

    def test_a_stream_that_fails(self) -> None:
        out = on_device(b"x" * 116)
        self.listen(lambda stream: 900)  # 900 means that the stream is being captured
        with self.assertRaisesRegex(exceptions.Error, "waiting for the stream failed"):
            self.siv.encrypt_into(NONCE, on_device(text(100)), None, out)
        self.assertEqual(bytes_of(out, 0, 116), b"x" * 116)

    def test_a_child_of_fork_is_told(self) -> None:
        data, out = on_device(text(100)), Memory(116, "device")
        child = os.fork()
        if child == 0:
            try:
                self.siv.encrypt_into(NONCE, data, None, out)
            except exceptions.Error as error:
                os._exit(0 if "copy the data to host memory" in str(error) else 2)
            os._exit(1)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)


class ForkedChild(unittest.TestCase):
    def test_every_use_is_refused_with_the_reason(self) -> None:
        """A child of fork computes on the CPU. The message states this and does not mention missing backends."""
        if "torch" not in sys.modules:
            fake_torch.install()
        data, out, tag = on_device(text(100)), Memory(100, "device"), Memory(16, "device")
        gcm, keyset = AESGCM(KEY), warpaes.Keyset.generate("AES256_GCM_HKDF_4KB")
        file = io.BytesIO()
        with warpaes.open(file, "wb", keyset=keyset) as writer:
            writer.write(bytes(100))
        ctr = Cipher(algorithms.AES(KEY), modes.CTR(bytes(16)))
        actions: dict[str, Any] = {
            "gcm": lambda: gcm.encrypt_into(NONCE, data, None, out, tag=tag),
            "ctr": lambda: ctr.encrypt_into(data, out),
            "copy": lambda: warpaes.copy(bytearray(100), data),
            "memory": lambda: Memory(16, "device"),
            "numbers": lambda: warpaes.Generator(KEY).fill(out),
            "read": lambda: warpaes.open(file, keyset=keyset).reader.read_into(0, out),
            "write": lambda: warpaes.open(io.BytesIO(), "wb", keyset=keyset).write(data),
            "dlpack": lambda: gcm.encrypt(NONCE, Capsule((5,), (2, 0)), None),
            "tensor": lambda: gcm.encrypt(NONCE, fake_torch.Tensor(1, 5, device="cuda"), None),
        }
        for name, action in actions.items():
            child = os.fork()
            if child == 0:
                try:
                    action()
                except BaseException as error:
                    os._exit(
                        0
                        if "a process created by fork computes on the CPU; start processes with spawn" in str(error)
                        else 2
                    )
                os._exit(1)
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0, name)


class Random(unittest.TestCase):
    def test_the_same_bits_there(self) -> None:
        memory = Memory(1000, "device")
        warpaes.Generator(KEY, stream=3).fill(memory)
        self.assertEqual(bytes_of(memory, 0, 1000), warpaes.Generator(KEY, stream=3).bytes(1000))

    def test_the_same_numbers_there(self) -> None:
        values = {"first": -0.5, "second": 3.0}
        wanted = [(kind, values) for kinds in (random._UNIFORM, random._NORMAL) for kind in kinds.values()]
        for kind, its in [*wanted, (random._INTEGERS, {"low": 7, "many": 100})]:
            memory, here = Memory(1000, "device"), bytearray(1000)
            warpaes.Generator(KEY)._make(kind, memory, **its)  # type: ignore[arg-type]
            warpaes.Generator(KEY)._make(kind, here, **its)  # type: ignore[arg-type]
            self.assertEqual(bytes_of(memory, 0, 1000), bytes(here), kind)


class Torch(unittest.TestCase):
    """Tests of tensors like PyTorch's, in memory of the simulated GPU."""

    def setUp(self) -> None:
        self.asked = fake_torch.install()

    def test_on_the_current_stream(self) -> None:
        gcm, memory, tag = AESGCM(KEY), on_device(text(4096)), Memory(16, "device")
        data = torch_tensor(memory)
        gcm.encrypt_into(NONCE, data, None, data, tag=torch_tensor(tag))
        self.assertEqual(bytes_of(memory, 0, 4096) + bytes_of(tag, 0, 16), gcm.encrypt(NONCE, text(4096), None))
        self.assertTrue(self.asked)
        self.assertEqual(set(self.asked), {0})
        self.assertEqual(data.recorded, [])

    def test_another_stream_is_told_to_the_allocator(self) -> None:
        data = torch_tensor(on_device(text(4096)))
        stream = fake_torch.Stream(1)  # a different handle for the legacy default stream
        Cipher(algorithms.AES(KEY), modes.CTR(bytes(16))).encrypt_into(data, data, stream=stream)
        self.assertIn(stream, data.recorded)
        self.assertEqual(bytes_of(data.owner, 0, 16), self.ctr(text(16)))

    def test_every_tensor_of_a_call_is_told(self) -> None:
        gcm = AESGCM(KEY)
        data, aad, tag, status = (torch_tensor(on_device(text(length))) for length in (4096, 10, 16, 4))
        stream = fake_torch.Stream(1)
        gcm.encrypt_into(NONCE, data, aad, data, tag=tag, stream=stream)
        gcm.decrypt_into(NONCE, data, aad, data, tag=tag, status=status, stream=stream)
        for tensor in (data, aad, tag, status):
            self.assertIn(stream, tensor.recorded)

    def test_streams_of_others_are_told_as_pytorchs(self) -> None:
        class Cupys:
            ptr = 1

        for stream in (1, Cupys()):
            data = torch_tensor(on_device(text(4096)))
            Cipher(algorithms.AES(KEY), modes.CTR(bytes(16))).encrypt_into(data, data, stream=stream)
            self.assertEqual(
                [(type(one), one.cuda_stream) for one in data.recorded][:1], [(fake_torch.ExternalStream, 1)]
            )

    def test_whose_stream_it_is(self) -> None:
        """The work is enqueued on the stream of the tensor's library, whichever tensor has a stream."""
        gcm, driver = AESGCM(KEY), ctypes.CDLL(os.environ["WARPAES_FAKE_DRIVER"])
        waited: list[Any] = []
        listener = GcmSiv.LISTENER(lambda stream: waited.append(stream) or 0)
        driver.listen_to_waits(listener)
        self.addCleanup(driver.listen_to_waits, GcmSiv.LISTENER(0))
        sealed = on_device(gcm.encrypt(NONCE, text(1000), None))
        size = len(sealed)
        plain = Memory(1000, "device")
        for data, out, expected in (
            (sealed, plain, None),
            (Part(sealed, 0, size, stream=2), plain, 2),
            (sealed, Part(plain, 0, 1000, stream=2), 2),
            (Part(sealed, 0, size, stream=1), Part(plain, 0, 1000), None),
        ):
            gcm.decrypt_into(NONCE, data, None, out)
            self.assertEqual(waited.pop(), expected)
            self.assertEqual(bytes_of(plain, 0, 1000), text(1000))
        for data, out in (
            (Part(sealed, 0, size, stream=2), Part(plain, 0, 1000, stream=1)),
            (Part(sealed, 0, size, stream=2), torch_tensor(plain)),
        ):
            with self.assertRaisesRegex(ValueError, "different streams"):
                gcm.decrypt_into(NONCE, data, None, out)
            gcm.decrypt_into(NONCE, data, None, out, stream=1)
        # DLPack's exporter makes the data ready for the default stream. Other streams must wait for it.
        waited.clear()
        address = sealed.__cuda_array_interface__["data"][0]
        exported = Capsule((size,), (2, 0), address)
        gcm.decrypt_into(NONCE, exported, None, plain)
        self.assertEqual((waited, exported.asked[-1]["stream"]), ([None], 1))
        gcm.decrypt_into(NONCE, exported, None, Part(plain, 0, 1000, stream=2))
        self.assertEqual(waited, [None, None, 2])

    def test_captures_are_left_alone(self) -> None:
        """A call that waits must not invalidate its own stream's capture or the captures of other threads."""
        gcm, driver = AESGCM(KEY), ctypes.CDLL(os.environ["WARPAES_FAKE_DRIVER"])
        driver.capture.argtypes = [ctypes.c_void_p, ctypes.c_int]
        self.addCleanup(driver.capture, None, 0)
        sealed = on_device(gcm.encrypt(NONCE, text(1000), None))
        plain, status = Memory(1000, "device"), Memory(4, "device")
        data, out = Part(sealed, 0, len(sealed), stream=2), Part(plain, 0, 1000, stream=2)
        gcm.decrypt_into(NONCE, data, None, out)
        relaxed = 2
        self.assertEqual((driver.mode_in_last_wait(), driver.mode_now()), (relaxed, 0))
        siv_sealed, siv = on_device(AESGCMSIV(KEY).encrypt(NONCE, text(1000), None)), AESGCMSIV(KEY)
        siv_data = Part(siv_sealed, 0, len(siv_sealed), stream=2)
        driver.capture(2, 1)
        for act in (
            lambda: gcm.decrypt_into(NONCE, data, None, out),
            lambda: siv.decrypt_into(NONCE, siv_data, None, out),
        ):
            with self.assertRaisesRegex(exceptions.Error, "is capturing the stream"):
                act()
        gcm.decrypt_into(NONCE, data, None, out, status=Part(status, 0, 4, stream=2))
        driver.capture(3, 1)
        gcm.decrypt_into(NONCE, data, None, out)

    def ctr(self, data: bytes) -> bytes:
        return Cipher(algorithms.AES(KEY), modes.CTR(bytes(16))).encryptor().update(data)


class Files(unittest.TestCase):
    def test_read_into_device_memory(self) -> None:
        keyset = warpaes.Keyset.generate("AES128_GCM_HKDF_4KB")
        pieces: list[bytes] = []
        writer = warpaes.Writer(lambda piece: pieces.append(bytes(piece)), keyset)
        writer.write(on_device(text(20_000)))
        writer.finish()
        reader = warpaes.Reader(b"".join(pieces), keyset)
        out = Memory(20_000, "device")
        self.assertEqual(reader.read_into(0, out), 20_000)
        self.assertEqual(bytes_of(out, 0, 20_000), text(20_000))

    def test_readinto_of_a_file_object(self) -> None:
        """Tensors and buffers alternate, starting at the current position. Also tests an altered file and a file that
        cannot seek."""
        keyset, plain = warpaes.Keyset.generate("AES128_GCM_HKDF_4KB"), text(20_000)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "sealed")
            with warpaes.open(path, "wb", keyset=keyset) as file:
                file.write(plain)
            out, host = Memory(9000, "device"), bytearray(100)
            fake_torch.install()
            tensor = fake_torch.empty(9000, dtype=fake_torch.DType(1), device="cuda")
            with warpaes.open(path, keyset=keyset) as file:
                self.assertEqual((file.readinto(host), bytes(host)), (100, plain[:100]))
                self.assertEqual((file.readinto(Part(out, 0, 9000)), file.tell()), (9000, 9100))
                self.assertEqual(bytes_of(out, 0, 9000), plain[100:9100])
                self.assertEqual(file.read(10), plain[9100:9110])
                self.assertEqual((file.readinto1(tensor), file.tell()), (9000, 18_110))
                self.assertEqual(bytes_of(tensor.owner, 0, 9000), plain[9110:18_110])
                self.assertEqual((file.readinto(out), file.tell()), (1890, 20_000))
                self.assertEqual(bytes_of(out, 0, 1890), plain[18_110:])
                self.assertEqual(file.readinto(out), 0)
                file.seek(1)
                self.assertEqual(file.readinto(Part(out, 0, 4)), 4)
                self.assertEqual(bytes_of(out, 0, 4), plain[1:5])
                with self.assertRaisesRegex(BufferError, "read-only"):
                    file.readinto(Part(out, 0, 4, writable=False))
                with self.assertRaises(TypeError):
                    file.readinto("text")
            with self.assertRaisesRegex(ValueError, "closed"):
                file.readinto(out)
            content = bytearray(pathlib.Path(path).read_bytes())
            forward = warpaes.open(io.BufferedReader(Pipe(bytes(content))), keyset=keyset)
            with self.assertRaisesRegex(io.UnsupportedOperation, "warpaes.copy"):
                forward.readinto(out)
            content[6000] ^= 1
            pathlib.Path(path).write_bytes(content)
            with warpaes.open(path, keyset=keyset) as file, self.assertRaisesRegex(exceptions.InvalidTag, path):
                file.readinto(out)
            self.assertEqual(bytes_of(out, 0, 9000), bytes(9000))


class Pipe(io.RawIOBase):
    """A stream whose bytes cannot be read again."""

    def __init__(self, data: bytes) -> None:
        self.data = io.BytesIO(data)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self.data.readinto(buffer)


class Weights(unittest.TestCase):
    """Tests of loading encrypted tensors from a file to the device: long tensors, short tensors that are read together,
    and unencrypted tensors."""

    def setUp(self) -> None:
        np = needed("numpy")
        ed25519 = needed("cryptography.hazmat.primitives.asymmetric.ed25519")
        needed("cryptotensors")
        from cryptotensors.numpy import save_file
        from warpaes import safetensors

        fake_torch.install()
        self.safetensors = safetensors
        private, encode = (
            ed25519.Ed25519PrivateKey.from_private_bytes(KEY),
            lambda data: base64.b64encode(data).decode(),
        )
        sign = {"d": encode(KEY), "x": encode(private.public_key().public_bytes_raw())}
        self.keys: dict[str, Any] = {
            "enc_key": {"kty": "oct", "alg": "aes256gcm", "k": encode(KEY), "kid": "enc"},
            "sign_key": {"kty": "okp", "alg": "ed25519", "kid": "sign", **sign},
        }
        self.tensors = {f"{i:03}": np.arange(7 * i, dtype="f4") for i in range(150)}
        self.tensors |= {"long": np.arange(100_000, dtype="i8"), "whole": np.zeros(2 * 65536, "u1")}
        self.path = new_folder(self) / "model"
        encrypted = [name for name in self.tensors if name not in ("017", "018", "140")]
        save_file(self.tensors, str(self.path), config=self.keys | {"chunk_size": 65536, "tensors": encrypted})

    def load(self, **options: Any) -> Any:
        return self.safetensors.load_file(self.path, "torch", "cuda", **self.keys | {"allow_clear": True} | options)

    def test_all(self) -> None:
        found = self.load()
        self.assertEqual(set(found), set(self.tensors))
        for name, tensor in self.tensors.items():
            self.assertTrue(found[name].is_cuda)
            self.assertEqual(found[name].nbytes, tensor.nbytes)
            if tensor.nbytes:
                self.assertEqual(bytes_of(found[name].owner, 0, tensor.nbytes), tensor.tobytes(), name)

    def test_tensors_in_clear(self) -> None:
        with self.assertRaisesRegex(exceptions.FormatError, "^017 is neither"):
            self.load(allow_clear=False)
        with self.safetensors.safe_open(self.path, "torch", "cuda", **self.keys) as file:
            self.assertEqual(set(file.clear_keys()), {"017", "018", "140"})
            self.assertEqual(file.get_tensor("019").nbytes, self.tensors["019"].nbytes)
            for name in file.clear_keys():
                with self.assertRaisesRegex(exceptions.FormatError, f"^{name} is neither"):
                    file.get_tensor(name)

    def test_the_first_that_is_altered_is_named(self) -> None:
        file = bytearray(self.path.read_bytes())
        with self.safetensors.safe_open(self.path, **self.keys) as opened:
            places = {
                name: opened._file._begin + entry["data_offsets"][0] for name, entry in opened._file.entries.items()
            }
        # The tensors are altered in reverse file order.
        for name, chunk in (("whole", 1), ("149", 0), ("099", 0), ("001", 0), ("long", 12), ("long", 3)):
            file[places[name] + 65536 * chunk + 5] ^= 1
            self.path.write_bytes(file)
            with self.assertRaisesRegex(exceptions.InvalidTag, f"^{name}: chunk {chunk} is not authentic: "):
                self.load()

    def test_a_refusal_wipes_all_tensors(self) -> None:
        file = bytearray(self.path.read_bytes())
        file[-1] ^= 1
        self.path.write_bytes(file)
        from warpaes import _shards

        made: list[Any] = []
        real = _shards.Shard.wipe

        def wipe(shard: Any) -> None:
            made.extend(tensor for _, tensor in shard.made)
            real(shard)

        with unittest.mock.patch.object(_shards.Shard, "wipe", wipe), self.assertRaises(exceptions.InvalidTag):
            self.load()
        on_gpu = [tensor for tensor in made if tensor.is_cuda and tensor.nbytes]
        self.assertEqual(len(on_gpu), sum(1 for tensor in self.tensors.values() if tensor.nbytes))
        for tensor in on_gpu:
            self.assertEqual(bytes_of(tensor.owner, 0, tensor.nbytes), bytes(tensor.nbytes))


class Confidential(unittest.TestCase):
    def test_memory_that_cannot_be_page_locked(self) -> None:
        """cudaHostRegister is not supported here. All code that page-locks memory must work without it."""
        said = run_python(
            "import tempfile, warpaes\n"
            "from warpaes.aead import AESGCM\n"
            "text, gcm = bytes(range(256)) * 1000, AESGCM(bytes(32))\n"
            "warpaes.configure(backend='cuda')\n"
            "plain, sealed = warpaes.Memory(len(text)), warpaes.Memory(len(text) + 16)\n"
            "assert bytes(plain) == bytes(len(text))\n"
            "memoryview(plain)[:] = text\n"
            "gcm.encrypt_into(bytes(12), plain, None, sealed)\n"
            "assert bytes(sealed) == gcm.encrypt(bytes(12), text, None)\n"
            "gcm.decrypt_into(bytes(12), sealed, None, plain)\n"
            "assert bytes(plain) == text\n"
            "keyset, name = warpaes.Keyset.generate(), tempfile.mktemp()\n"
            "with warpaes.open(name, 'wb', keyset=keyset) as file: file.write(plain)\n"
            "with warpaes.open(name, keyset=keyset) as file: assert file.read() == text\n"
            "print([backend['description'] for backend in warpaes.backends()][-1])",
            WARPAES_SIMT_CONFIDENTIAL="1",
        )
        self.assertIn("page-locks only memory that the driver allocates", said)


class NoDevice(unittest.TestCase):
    def test_said(self) -> None:
        """Runs without the simulator, on a machine without a GPU."""
        said = run_python(
            "import warpaes\n"
            "if all(backend['device'] < 0 for backend in warpaes.backends()):\n"
            "    try: warpaes.Memory(16, 'device')\n"
            "    except Exception as error: print(type(error).__name__, error)\n"
            "    try: warpaes.configure(backend='cuda')\n"
            "    except Exception as error: print(type(error).__name__, error)\n"
            "else: print('Error a GPU is here')",
            LD_PRELOAD="",
        )
        for line in said.strip().split("\n"):
            self.assertTrue(line.startswith("Error "), said)


if __name__ == "__main__":
    main_on_simulated_gpu()
