#!/usr/bin/env python3
"""Tests LMCache's GDS L1 with a slab of ciphertext.

The test uses LMCache and PyTorch if they are installed (LMCache 0.5.6 was tried on a CPU), and otherwise classes with
their interfaces. A backend in this file moves the bytes, because no test machine has GPUDirect Storage.
"""

from __future__ import annotations

import contextlib
import importlib
import pathlib
import sys
import tempfile
import types
import unittest
import unittest.mock
from collections.abc import Iterator
from typing import Any

import array_torch
from support import needed
from test_device import text
from test_vllm_offload import HAS_TORCH, installed
from warpaes.exceptions import FormatError, InvalidTag

HAS_LMCACHE = HAS_TORCH and installed("lmcache.v1.gpu_connector.gds_backends")
REGION = 8192  # the size registered at a time; LMCache uses 16 MiB
OURS = pathlib.Path(__file__).resolve().parents[2] / "python/warpaes/lmcache/gds_backends"


def made_up_lmcache() -> None:
    """Install modules with the interface of LMCache's backends."""
    package, backends = "lmcache.v1.gpu_connector", "lmcache.v1.gpu_connector.gds_backends"
    if backends in sys.modules:
        return
    parts = f"{backends}.base".split(".")
    for end in range(1, len(parts) + 1):
        name = ".".join(parts[:end])
        sys.modules.setdefault(name, types.ModuleType(name)).__path__ = []
    base: Any = sys.modules[f"{backends}.base"]

    class GDSHandle:
        def __init__(self, path: str) -> None:
            self.path = path

    base.GDSBackend, base.GDSHandle = type("GDSBackend", (), {}), GDSHandle
    factory: Any = types.ModuleType(f"{package}._gds_backends")
    sys.modules[factory.__name__] = factory
    sys.modules[package]._gds_backends = factory
    sys.modules[backends].__path__ = [str(OURS)]


class Memory:
    """A backend that reads and writes immediately, in a slab in this process."""

    def __init__(self, torch: Any) -> None:
        self.torch, self.memory = torch, lambda address, size: None
        self.slab, self.calls = bytearray(), list[tuple[str, int, int]]()
        self.path, self.lacking = "slab", 0

    def open_slab(self, location: str, size: int, direct_io: bool) -> Memory:
        self.slab[:] = bytes(size)
        return self

    def read_async(self, base: int, size: int, place: int, offset: int, stream: int) -> Any:
        self.calls.append(("read", place, size))
        got = size - self.lacking
        data = self.torch.frombuffer(self.slab[place : place + got], dtype=self.torch.uint8)
        self.memory(base + offset, got).copy_(data)
        return types.SimpleNamespace(bytes_done=got)

    def write_async(self, base: int, size: int, place: int, offset: int, stream: int) -> Any:
        self.calls.append(("write", place, size))
        self.slab[place : place + size] = self.memory(base + offset, size).cpu().numpy().tobytes()
        return types.SimpleNamespace(bytes_done=size)

    def __getattr__(self, name: str) -> Any:
        if name in ("register_buffer", "deregister_buffer", "register_stream", "deregister_stream"):
            return lambda value: self.calls.append((name, 0, 0))
        if name in ("close", "close_driver", "validate_environment"):
            return lambda: self.calls.append((name, 0, 0))
        raise AttributeError(name)


class Slab(unittest.TestCase):
    """Objects of any size, at any position of staging buffers that are registered in regions."""

    def setUp(self) -> None:
        needed("numpy")
        needed("cryptography")
        if not HAS_TORCH:
            array_torch.install()
        if HAS_LMCACHE:
            importlib.import_module("warpaes.lmcache")
        else:
            made_up_lmcache()
        self.torch: Any = importlib.import_module("torch")
        factory = importlib.import_module("lmcache.v1.gpu_connector._gds_backends")
        module = importlib.import_module("lmcache.v1.gpu_connector.gds_backends.encrypted")
        self.below = Memory(self.torch)
        create = unittest.mock.patch.object(factory, "create_backend", lambda name: self.below, create=True)
        with create:
            self.backend = module.Backend()
        self.below.memory = self.backend.memory
        folder = self.enterContext(tempfile.TemporaryDirectory())
        self.handle = self.backend.open_slab(folder, 1 << 17, True)
        device = "cuda" if self.torch.cuda.is_available() else "cpu"
        self.buffer = self.torch.empty(5 * REGION, dtype=self.torch.uint8, device=device)
        self.address = self.buffer.data_ptr()
        for begin in range(0, 5 * REGION, REGION):
            self.backend.register_buffer(self.buffer[begin : begin + REGION])
        self.backend.register_stream(0)

    def transfer(self, direction: str, slab: int, size: int, at: int) -> None:
        """Make calls that do not cross a region, as LMCache's GDSContext.transfer_async does."""
        action, done = getattr(self.handle, f"{direction}_async"), 0
        while done < size:
            base, offset = divmod(at + done, REGION)
            length = min(size - done, REGION - offset)
            action(self.address + base * REGION, length, slab + done, offset, 0)
            done += length

    def fill(self, at: int, data: bytes) -> None:
        self.buffer[at : at + len(data)].copy_(self.torch.frombuffer(bytearray(data), dtype=self.torch.uint8))

    def content(self, at: int, size: int) -> bytes:
        found: bytes = self.buffer[at : at + size].cpu().numpy().tobytes()
        return found

    def write(self, slab: int, data: bytes, at: int) -> None:
        self.fill(at, data)
        self.transfer("write", slab, len(data), at)

    def test_any_places(self) -> None:
        """An object is written from one part of the staging buffer and read into a different part."""
        for size in (1, 4096, REGION, 3 * REGION, 20000):
            for source, target in ((0, 0), (0, 4096), (4096, 0), (4096, 12288)):
                data = text(size)
                self.write(8192, data, source)
                if size >= 16:
                    self.assertFalse(data[:16] in self.below.slab or data[-16:] in self.below.slab)
                self.fill(target, bytes(size))
                self.transfer("read", 8192, size, target)
                self.assertEqual(self.content(target, size), data, (size, source, target))

    def test_the_slab_is_written_again(self) -> None:
        """Objects are written over other objects, completely or in part."""
        first, second, third = text(12288), text(12289)[1:], text(4098)[2:]
        self.write(0, first, 0)
        self.write(16384, second, 0)
        self.write(4096, third, 0)
        self.transfer("read", 16384, 12288, 0)
        self.assertEqual(self.content(0, 12288), second)
        self.transfer("read", 4096, 4096, 0)
        self.assertEqual(self.content(0, 4096), third)
        with self.assertRaisesRegex(FormatError, "no write begins"):
            self.transfer("read", 0, 12288, 0)
        self.write(0, second, 0)
        self.transfer("read", 0, 12288, 4096)
        self.assertEqual(self.content(4096, 12288), second)

    def test_what_was_altered(self) -> None:
        """Altered bytes, earlier content, and content from a different location are refused and wiped during the
        read."""
        before = text(20000)
        self.write(0, before, 4096)
        older = bytes(self.below.slab[:20000])
        self.write(0, text(20001)[1:], 4096)
        self.write(32768, before, 4096)
        kept = bytes(self.below.slab)
        for begin, content in (
            (0, older),
            (0, kept[32768:52768]),
            (0, bytes([kept[0] ^ 1])),
            (4096, bytes([kept[4096] ^ 1])),
            (19999, bytes([kept[19999] ^ 1])),
        ):
            self.below.slab[begin : begin + len(content)] = content
            self.fill(0, b"\xff" * 20000)
            with self.subTest(begin), self.assertRaisesRegex(InvalidTag, "differ from the bytes that were written"):
                self.transfer("read", 0, 20000, 0)
            self.handle._readings.clear()
            self.below.slab[:] = kept
        self.transfer("read", 0, 20000, 0)
        self.assertEqual(self.content(0, 20000), text(20001)[1:])

    def test_reads_that_end_early(self) -> None:
        self.write(0, text(8192), 0)
        self.below.lacking = 1
        with self.assertRaisesRegex(FormatError, "8191 of 8192"):
            self.transfer("read", 0, 8192, 0)
        self.assertEqual(self.content(0, 8192), bytes(8192))
        self.below.lacking = 0
        self.transfer("read", 0, 4096, 0)  # only the beginning of one write
        with self.assertRaisesRegex(FormatError, "cannot be authenticated"):
            self.transfer("read", 0, 8192, 0)

    def test_buffers_are_wiped_on_the_stream(self) -> None:
        """While a read is refused, the read and earlier decryptions are still on their stream."""
        self.write(0, text(64), 0)
        streams, wiped = list[int](), list[list[int]]()

        @contextlib.contextmanager
        def on(stream: int, device: Any) -> Iterator[Any]:
            streams.append(stream)
            try:
                yield None
            finally:
                streams.pop()

        def zero(tensor: Any) -> None:
            wiped.append(list(streams))

        module = importlib.import_module("lmcache.v1.gpu_connector.gds_backends.encrypted")
        with (
            unittest.mock.patch.object(module, "_on", on),
            unittest.mock.patch.object(type(self.buffer), "zero_", zero),
            self.assertRaisesRegex(FormatError, "no write begins at byte 64"),
        ):
            self.handle.read_async(self.address, 128, 0, 0, 5)
        self.assertEqual(wiped, [[5], [5]])

    def test_keys_and_ivs(self) -> None:
        """No IV is used twice, and each slab has its own key."""
        for number in range(50):
            self.write(4096 * (number % 4), text(4096), 0)
        seals = [part.seals for part in self.handle._parts]
        self.assertEqual(len({each.ivs for each in seals}), 4)
        other = self.backend.open_slab("", 1 << 17, True)
        self.assertNotEqual(other._blocks.primary, self.handle._blocks.primary)

    def test_registrations(self) -> None:
        with self.assertRaisesRegex(ValueError, "not registered"):
            self.backend.memory(1, 1)
        for begin in range(0, 5 * REGION, REGION):
            self.backend.deregister_buffer(self.buffer[begin : begin + REGION])
        with self.assertRaisesRegex(ValueError, "not registered"):
            self.backend.memory(self.address, 1)
        self.backend.deregister_stream(0)
        self.handle.close()
        self.backend.close_driver()
        kinds = [kind for kind, _, _ in self.below.calls]
        self.assertEqual(kinds[-3:], ["deregister_stream", "close", "close_driver"])
        self.assertEqual(kinds.count("deregister_buffer"), 5)


@unittest.skipUnless(HAS_LMCACHE, "the Python package lmcache is not installed; machines that have it run this test")
class Real(Slab):
    """Runs the tests with LMCache's own context, which chooses the backend."""

    def setUp(self) -> None:
        super().setUp()
        context: Any = importlib.import_module("lmcache.v1.gpu_connector.gds_context")
        config = importlib.import_module("lmcache.v1.distributed.config")
        self.enterContext(unittest.mock.patch.object(context, "_MAX_GDS_REGION", REGION))
        if self.buffer.device.type == "cpu":  # a CPU has no streams
            self.enterContext(unittest.mock.patch.object(context.platform_stream, "stream_handle", lambda *_: 0))
        self.context = context.GDSContext(self.backend)
        self.context.initialize(config.GdsL1Config("", 1 << 17))
        self.handle = self.context._slab_handle
        self.context.register_gpu_buffer(self.buffer)
        self.directions = {"read": context.SlabDirection.READ, "write": context.SlabDirection.WRITE}

    def transfer(self, direction: str, slab: int, size: int, at: int) -> None:
        placed = types.SimpleNamespace(slab_offset=slab, get_size=lambda: size)
        self.context.transfer_async(placed, self.buffer[at : at + size], self.directions[direction])

    def test_registrations(self) -> None:
        self.context.deregister_gpu_buffer(self.buffer)
        self.context.close()

    def test_lmcache_finds_the_backend(self) -> None:
        factory = importlib.import_module("lmcache.v1.gpu_connector._gds_backends")
        self.assertIn("encrypted", factory.available_backends())
        self.assertTrue(issubclass(factory._load_backend_class("encrypted"), factory.GDSBackend))


if __name__ == "__main__":
    unittest.main()
