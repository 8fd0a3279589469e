#!/usr/bin/env python3
"""Tests data that is used without copies: buffers, NumPy arrays, and tensors through DLPack and the CUDA array
interface, in host memory."""

from __future__ import annotations

import array
import ctypes
import mmap
import pathlib
import random
import re
import sys
import unittest
from typing import Any

import warpaes
from support import growth, needed
from warpaes._native import large_pages
from warpaes.aead import AESGCM
from warpaes.ciphers import Cipher, algorithms, modes

GCM = AESGCM(bytes(16))
NONCE = bytes(12)


class DlpackOnly:
    """A tensor that supports only DLPack. `versions` states whether the tensor supports version 1."""

    def __init__(self, array: Any, *, versions: bool = True, device: tuple[int, int] = (1, 0)) -> None:
        self.array = array
        self.versions = versions
        self.device = device

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(self, **options: Any) -> Any:
        if "max_version" in options and not self.versions:
            raise TypeError("unexpected keyword argument 'max_version'")
        return self.array.__dlpack__(**options)


class Capsule:
    """A DLPack tensor of bytes, with any shape and on any device. Without a given memory, it has none."""

    Tensor = type(
        "Tensor",
        (ctypes.Structure,),
        {
            "_fields_": [
                ("data", ctypes.c_void_p),
                ("device_type", ctypes.c_int32),
                ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8),
                ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64),
                ("manager_ctx", ctypes.c_void_p),
                ("deleter", ctypes.c_void_p),
            ]
        },
    )

    def __init__(self, shape: tuple[int, ...], device: tuple[int, int] = (1, 0), address: int = 0) -> None:
        self.shape = (ctypes.c_int64 * len(shape))(*shape)
        self.device = device
        self.tensor: Any = self.Tensor(data=address, device_type=device[0], device_id=device[1], bits=8, lanes=1)
        self.tensor.ndim, self.tensor.shape = len(shape), self.shape
        self.asked: list[dict[str, Any]] = []

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(self, **options: Any) -> Any:
        self.asked.append(options)
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return make(ctypes.addressof(self.tensor), b"dltensor", None)


class Buffers(unittest.TestCase):
    def test_any_buffer(self) -> None:
        expected = GCM.encrypt(NONCE, b"abcdefgh", b"aad")
        page = mmap.mmap(-1, 8)
        page[:] = b"abcdefgh"
        for data in (bytearray(b"abcdefgh"), memoryview(b"abcdefgh"), array.array("b", b"abcdefgh"), page):
            self.assertEqual(GCM.encrypt(NONCE, data, memoryview(b"aad")), expected)

    def test_a_view_with_steps(self) -> None:
        with self.assertRaisesRegex(BufferError, "contiguous"):
            GCM.encrypt(NONCE, memoryview(b"abcdefgh")[::2], None)

    def test_what_is_held_is_released(self) -> None:
        data, out = bytearray(b"x" * 100_000), bytearray(100_016)
        GCM.encrypt_into(NONCE, data, None, out)
        data.extend(b"y")
        with self.assertRaises(ValueError):
            GCM.encrypt_into(NONCE, data, None, out)
        out.extend(b"y")


class Arrays(unittest.TestCase):
    def setUp(self) -> None:
        self.numpy = needed("numpy")

    def test_any_dtype_and_shape(self) -> None:
        np = self.numpy
        for dtype in ("u1", "<i4", ">f8", "f2", "c16", "?"):
            data = np.arange(24).reshape(2, 3, 4).astype(dtype)
            sealed = GCM.encrypt(NONCE, data, None)
            self.assertEqual(sealed, GCM.encrypt(NONCE, data.tobytes(), None))
            out = np.empty_like(data)
            GCM.decrypt_into(NONCE, sealed, None, out)
            self.assertTrue((out == data).all())

    def test_refused(self) -> None:
        np = self.numpy
        out = np.zeros(16, np.uint8)
        out.flags.writeable = False
        with self.assertRaises(BufferError):
            GCM.encrypt_into(NONCE, b"", None, out)
        with self.assertRaisesRegex(BufferError, "contiguous"):
            GCM.encrypt(NONCE, np.zeros((4, 4))[:, 1], None)
        with self.assertRaisesRegex(BufferError, "contiguous"):
            GCM.encrypt(NONCE, np.asfortranarray(np.zeros((4, 4))), None)
        with self.assertRaisesRegex(TypeError, "Python objects"):
            GCM.encrypt(NONCE, np.array([object()]), None)

    def test_each_cause_has_its_sentence(self) -> None:
        np = self.numpy
        released = memoryview(bytearray(5))
        released.release()
        closed = mmap.mmap(-1, 8)
        closed.close()
        plain = np.zeros((4, 4))
        causes: list[tuple[Any, type[Exception], str]] = [
            (np.array(["2020-01-01"], "M8[D]"), BufferError, r"cannot include dtype 'M' .* array\.view\('u8'\)"),
            (np.zeros((3, 3), "m8[s]"), BufferError, r"cannot include dtype 'm' .* array\.view\('u8'\)"),
            (np.zeros((3, 3), "m8[s]").T, BufferError, "data is not contiguous"),
            (plain.T, BufferError, "data is not contiguous"),
            (plain[::2], BufferError, "data is not contiguous"),
            (memoryview(bytes(8))[::-1], BufferError, "data is not contiguous"),
            (np.array([object()]), TypeError, "data contains Python objects"),
            (np.zeros(2, [("x", "O")]), TypeError, "data contains Python objects"),
            (released, ValueError, "data: operation forbidden on released memoryview"),
            (closed, ValueError, "data: mmap closed"),
        ]
        if hasattr(np.dtypes, "StringDType"):
            causes.append((np.array(["a"], np.dtypes.StringDType()), TypeError, "data contains Python objects"))
        for data, kind, words in causes:
            with self.subTest(words), self.assertRaisesRegex(kind, words) as raised:
                GCM.encrypt(NONCE, data, None)
            self.assertIs(type(raised.exception), kind)
        read_only = np.zeros(16, np.uint8)
        read_only.flags.writeable = False
        for out in (bytes(16), memoryview(bytes(16)), read_only):
            with self.assertRaisesRegex(BufferError, "buf is an output but is read-only"):
                GCM.encrypt_into(NONCE, b"", None, out)
        for out, words in ((np.zeros(4)[::2], "buf is not contiguous"), (np.zeros(2, "M8[s]"), "cannot include dtype")):
            with self.assertRaisesRegex(BufferError, words):
                GCM.encrypt_into(NONCE, b"", None, out)

    def test_names_of_fields_are_not_types(self) -> None:
        data = self.numpy.zeros(3, [("Offset", "<u4"), ("O", ">f8")])
        self.assertEqual(GCM.encrypt(NONCE, data, None), GCM.encrypt(NONCE, data.tobytes(), None))

    def test_dlpack(self) -> None:
        data = self.numpy.arange(1000, dtype="f4")
        expected = GCM.encrypt(NONCE, data.tobytes(), None)
        for versions in (True, False):
            self.assertEqual(GCM.encrypt(NONCE, DlpackOnly(data, versions=versions), None), expected)
            out = self.numpy.zeros(4016, "u1")
            GCM.encrypt_into(NONCE, DlpackOnly(data), None, DlpackOnly(out, versions=versions))
            self.assertEqual(out.tobytes(), expected)

    def test_dlpack_refused(self) -> None:
        data = self.numpy.zeros((4, 4))
        with self.assertRaisesRegex(BufferError, "contiguous"):
            GCM.encrypt(NONCE, DlpackOnly(data.T), None)
        with self.assertRaisesRegex(BufferError, "type 7"):
            GCM.encrypt(NONCE, DlpackOnly(data, device=(7, 0)), None)
        data.flags.writeable = False
        with self.assertRaises(BufferError):
            GCM.encrypt_into(NONCE, b"", None, DlpackOnly(data.reshape(-1)[:2]))

    def test_dlpack_of_impossible_shapes(self) -> None:
        for shape, words in (((-1,), "negative"), ((1 << 33, 1 << 33), "fit in memory"), ((1 << 62,), "fit in memory")):
            with self.assertRaisesRegex(BufferError, words):
                GCM.encrypt(NONCE, Capsule(shape), None)
        self.assertEqual(GCM.encrypt(NONCE, Capsule((1 << 62, 0, 1 << 62)), None), GCM.encrypt(NONCE, b"", None))

    def test_what_is_refused_is_released(self) -> None:
        objects = (ctypes.py_object * 2)(1, 2)
        before = sys.getrefcount(objects)
        with self.assertRaisesRegex(TypeError, "Python objects"):
            GCM.encrypt(NONCE, objects, None)
        self.assertEqual(sys.getrefcount(objects), before)

    def test_nothing_leaks(self) -> None:
        data = self.numpy.zeros(100_000, "u1")

        def once() -> None:
            GCM.encrypt(NONCE, DlpackOnly(data.copy()), None)
            GCM.encrypt(NONCE, DlpackOnly(data.copy(), versions=False), None)
            try:
                GCM.encrypt(NONCE, DlpackOnly(data.copy().reshape(10, -1).T), None)
            except BufferError:
                return
            raise AssertionError("not contiguous")

        self.assertLess(growth(once, 200), 2 << 20)


class Torch(unittest.TestCase):
    """Tests of the interface of PyTorch tensors. test_torch.py uses real tensors if PyTorch is installed."""

    def tensor(self, array: Any, **flags: Any) -> Any:
        import fake_torch

        return fake_torch.Tensor(array.__array_interface__["data"][0], array.nbytes, owner=array, **flags)

    def setUp(self) -> None:
        self.numpy = needed("numpy")
        if "torch" not in sys.modules:
            import fake_torch

            fake_torch.install()

    def test_tensors(self) -> None:
        data = self.numpy.arange(1000, dtype="f4")
        out, tag = self.numpy.zeros(4000, "u1"), self.numpy.zeros(16, "u1")
        expected = GCM.encrypt(NONCE, data, None)
        self.assertEqual(GCM.encrypt(NONCE, self.tensor(data), None), expected)
        GCM.encrypt_into(NONCE, self.tensor(data), None, self.tensor(out), tag=self.tensor(tag))
        self.assertEqual(out.tobytes() + tag.tobytes(), expected)
        # Reading a tensor with requires_grad does not affect autograd.
        self.assertEqual(GCM.encrypt(NONCE, self.tensor(data, requires_grad=True), None), expected)

    def test_refused(self) -> None:
        data, out = self.numpy.zeros(16, "u1"), self.numpy.zeros(32, "u1")
        with self.assertRaisesRegex(BufferError, "not contiguous"):
            GCM.encrypt(NONCE, self.tensor(data[::2]), None)
        for words, flags in (
            ("lazy conjugate", {"conj": True}),
            ("lazy conjugate", {"neg": True}),
            ("type 'mps'", {"device": "mps"}),
        ):
            with self.assertRaisesRegex(BufferError, words):
                GCM.encrypt(NONCE, self.tensor(data, **flags), None)
        with self.assertRaisesRegex(BufferError, r"pass buf\.detach"):
            GCM.encrypt_into(NONCE, data, None, self.tensor(out, requires_grad=True))


class Layouts(unittest.TestCase):
    """Arrays without gaps whose elements are not in C order work with every protocol."""

    def setUp(self) -> None:
        self.numpy = needed("numpy")
        if "torch" not in sys.modules:
            import fake_torch

            fake_torch.install()

    def layouts(self) -> list[Any]:
        np = self.numpy
        numbers = np.arange(2 * 3 * 4 * 5, dtype="<u4")
        return [
            np.asfortranarray(numbers.reshape(24, 5)),
            numbers.reshape(6, 20).T,
            numbers.reshape(2, 4, 5, 3).transpose(0, 3, 1, 2),  # channels_last
            numbers.reshape(5, 4, 3, 2).transpose(3, 0, 2, 1),
            numbers.reshape(1, 12, 1, 10).T,
        ]

    def protocols(self) -> list[Any]:
        import fake_torch

        return [
            lambda data: data,
            DlpackOnly,
            lambda data: DlpackOnly(data, versions=False),
            lambda data: fake_torch.Tensor(data.__array_interface__["data"][0], data.nbytes, owner=data),
        ]

    def in_memory(self, data: Any) -> bytes:
        """Return the bytes in memory order."""
        return ctypes.string_at(data.__array_interface__["data"][0], data.nbytes)

    def test_in_place_and_to_the_same_layout(self) -> None:
        np = self.numpy
        ctr = Cipher(algorithms.AES(bytes(16)), modes.CTR(bytes(16)))
        for give in self.protocols():
            for data in self.layouts():
                before = self.in_memory(data)
                sealed = GCM.encrypt(NONCE, before, None)
                out, tag = np.empty_like(data), np.zeros(16, "u1")
                self.assertEqual(out.strides, data.strides)
                GCM.encrypt_into(NONCE, give(data), None, give(out), tag=tag)
                self.assertEqual(self.in_memory(out) + tag.tobytes(), sealed)
                GCM.decrypt_into(NONCE, give(out), None, give(out), tag=tag)
                self.assertTrue((out == data).all())
                ctr.encrypt_into(give(out), give(out))
                self.assertNotEqual(self.in_memory(out), before)
                ctr.decrypt_into(give(out), give(out))
                copied = np.zeros_like(data)
                warpaes.copy(give(copied), give(out))
                self.assertTrue((copied == data).all())

    def test_refused(self) -> None:
        np = self.numpy
        ctr = Cipher(algorithms.AES(bytes(16)), modes.CTR(bytes(16)))
        for give in self.protocols():
            for data in self.layouts():
                in_c_order, tag = np.zeros(data.shape, data.dtype), np.zeros(16, "u1")
                flat = np.zeros(data.size, data.dtype)
                for other in (in_c_order, flat):
                    for one, two in ((data, other), (other, data)):
                        with self.assertRaisesRegex(BufferError, "differently"):
                            GCM.encrypt_into(NONCE, give(one), None, give(two), tag=tag)
                        with self.assertRaisesRegex(BufferError, "differently"):
                            GCM.decrypt_into(NONCE, give(one), None, give(two), tag=tag)
                        with self.assertRaisesRegex(BufferError, "differently"):
                            warpaes.copy(give(two), give(one))
                with self.assertRaisesRegex(BufferError, "contiguous"):
                    GCM.encrypt(NONCE, give(data), None)  # bytes have no layout
                with self.assertRaisesRegex(BufferError, "contiguous"):
                    GCM.encrypt_into(NONCE, b"", give(data), np.zeros(16, "u1"))
            square = np.arange(36, dtype="u2").reshape(6, 6)
            line = np.arange(36, dtype="u2")
            with_gaps = [square[::2].T, square[:, ::2], square[:, ::-1], square[::-1].T, square[:4, :4].T]
            with_gaps += [line[::2], line[::-1], line[::-2], line.reshape(36, 1)[::3], square[:, 1]]
            shared = np.lib.stride_tricks.as_strided(square, (3, 3), (2, 2))
            for data in [*with_gaps, shared]:
                if isinstance(give(data), DlpackOnly) and min(data.strides) < 0:
                    continue  # NumPy does not export this type
                with self.assertRaisesRegex(BufferError, "contiguous"):
                    GCM.encrypt_into(NONCE, give(data), None, give(data), tag=np.zeros(16, "u1"))
                with self.assertRaisesRegex(BufferError, "contiguous"):
                    GCM.decrypt_into(NONCE, bytes(data.nbytes + 16), None, give(data))
                with self.assertRaisesRegex(BufferError, "contiguous"):
                    warpaes.copy(give(data), bytes(data.nbytes))
                with self.assertRaisesRegex(BufferError, "contiguous"):
                    ctr.encrypt_into(give(data), bytearray(data.nbytes))

    def test_device_memory(self) -> None:
        """Tests of the parts of the data interface that work without a GPU."""

        class OnDevice:
            def __init__(self, data: Any) -> None:
                self.__cuda_array_interface__ = {**data.__array_interface__, "strides": data.strides, "version": 3}

        for data in self.layouts():
            with self.assertRaisesRegex(BufferError, "differently"):
                GCM.encrypt_into(NONCE, OnDevice(data), None, OnDevice(data.ravel()), tag=OnDevice(data.ravel()[:4]))
            with self.assertRaisesRegex(BufferError, "contiguous"):
                GCM.encrypt_into(NONCE, b"", OnDevice(data), bytearray(16))


class LargePages(unittest.TestCase):
    def test_refused(self) -> None:
        with self.assertRaises((BufferError, TypeError)):
            large_pages(bytes(8 << 20))
        with self.assertRaises(TypeError):
            large_pages(1)  # type: ignore[arg-type]

    def test_what_lies_there_stays(self) -> None:
        for length in (0, 5, 4 << 20, (9 << 20) + 5):
            data = bytearray(random.Random(length).randbytes(length))
            before = bytes(data)
            large_pages(data)
            self.assertEqual(data, before)

    @unittest.skipUnless(
        pathlib.Path("/sys/kernel/mm/transparent_hugepage").exists(),
        "this kernel has no huge pages; machines with most other kernels run this test",
    )
    def test_the_kernel_knows(self) -> None:
        with mmap.mmap(-1, 16 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
            address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
            middle = address + (8 << 20)
            self.assertNotIn("hg", flags_of(middle))
            large_pages(memory)
            self.assertIn("hg", flags_of(middle))


def flags_of(address: int) -> list[str]:
    """Return the kernel's entry for the mapping of an address."""
    inside = False
    for line in pathlib.Path("/proc/self/smaps").read_text().splitlines():
        if bounds := re.match(r"([0-9a-f]+)-([0-9a-f]+) ", line):
            inside = int(bounds[1], 16) <= address < int(bounds[2], 16)
        elif inside and line.startswith("VmFlags:"):
            return line.split()[1:]
    raise AssertionError("no mapping")


if __name__ == "__main__":
    unittest.main()
