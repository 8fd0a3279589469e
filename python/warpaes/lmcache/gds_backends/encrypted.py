"""LMCache's GDS L1 with a slab that only contains ciphertext: ``--gds-l1-backend encrypted``.

A GPU encrypts the staging buffer before it is written with GPUDirect Storage, and decrypts the buffer after it is read.
LMCache finds this module by its name, because ``warpaes.lmcache`` adds this folder to LMCache's package of backends.

LMCache clears the slab when it starts, so keys, IVs and tags stay in this process. The key is created for the slab and
exists only as long as the slab. Each part of the slab is bound to its position and to its last write.
"""

from __future__ import annotations

import bisect
import contextlib
import threading
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from lmcache.v1.gpu_connector import _gds_backends
from lmcache.v1.gpu_connector.gds_backends.base import GDSBackend, GDSHandle

from warpaes import Keyset, kv
from warpaes.exceptions import FormatError, InvalidTag

#: LMCache's backend that reads and writes.
BELOW = "auto"


class _Part(NamedTuple):
    """The range of a write in the slab, and the seal of its bytes."""

    begin: int
    end: int
    seals: kv.Seals


class _Reading(NamedTuple):
    """Reads of consecutive bytes into consecutive memory, starting with the first byte that is not decrypted yet."""

    begin: int  #: offset in the slab
    end: int
    address: int
    device: Any


class Backend(GDSBackend):  # type: ignore[misc]  # LMCache has no types
    """Encrypts data for LMCache's default backend in this environment."""

    name = "encrypted"

    def __init__(self) -> None:
        """Create the backend that reads and writes."""
        self._below = _gds_backends.create_backend(BELOW)
        self._lock = threading.Lock()
        self._buffers: dict[int, torch.Tensor] = {}

    def open_slab(self, location: str, size: int, direct_io: bool) -> GDSHandle:
        """Open LMCache's slab under a new key."""
        return _Handle(self._below.open_slab(location, size, direct_io), self)

    def register_buffer(self, buf: torch.Tensor) -> None:
        """Register a GPU tensor, which transfers identify by its address."""
        self._below.register_buffer(buf)
        with self._lock:
            self._buffers[buf.data_ptr()] = buf

    def deregister_buffer(self, buf: torch.Tensor) -> None:
        """Deregister a GPU tensor."""
        with self._lock:
            self._buffers.pop(buf.data_ptr(), None)
        self._below.deregister_buffer(buf)

    def register_stream(self, raw_stream: int) -> None:
        """Prepare a stream."""
        self._below.register_stream(raw_stream)

    def deregister_stream(self, raw_stream: int) -> None:
        """Release a stream."""
        self._below.deregister_stream(raw_stream)

    def close_driver(self) -> None:
        """Release the driver."""
        self._below.close_driver()

    def memory(self, address: int, size: int) -> torch.Tensor:
        """Return a range of the registered buffers. A range may continue in the next buffer of the same allocation."""
        with self._lock:
            bases = sorted(self._buffers)
            at = bisect.bisect_right(bases, address) - 1
            if at < 0:
                raise ValueError(f"the GPU memory at {address:#x} is not registered")
            buffer = self._buffers[bases[at]]
        flat = buffer.view(torch.uint8).view(-1)
        begin = flat.storage_offset() + address - bases[at]
        return flat.as_strided((size,), (1,), begin)


class _Handle(GDSHandle):  # type: ignore[misc]
    """A slab under its own key. Any number of threads may use it, each with its own streams."""

    def __init__(self, below: GDSHandle, backend: Backend) -> None:
        super().__init__(below.path)
        self._below, self._backend = below, backend
        self._blocks = kv.Blocks(Keyset.generate())
        self._lock = threading.Lock()
        self._begins: list[int] = []
        self._parts: list[_Part] = []  # in order, without overlaps
        self._readings: dict[int, _Reading] = {}

    def write_async(self, buf_base: int, size: int, file_offset: int, buf_offset: int, raw_stream: int) -> Any:
        """Encrypt the buffer in place and enqueue the write."""
        data = self._backend.memory(buf_base + buf_offset, size)
        with _on(raw_stream, data.device):
            seals = self._blocks.encrypt(data, [_name(file_offset)])
        with self._lock:
            first, end = self._overlap(file_offset, file_offset + size)
            self._parts[first:end] = [_Part(file_offset, file_offset + size, seals)]
            self._begins[first:end] = [file_offset]
        return self._below.write_async(buf_base, size, file_offset, buf_offset, raw_stream)

    def read_async(self, buf_base: int, size: int, file_offset: int, buf_offset: int, raw_stream: int) -> Any:
        """Enqueue a read, decrypt the complete parts, and wait for them, because LMCache does not check the results of
        reads.

        Raises:
            InvalidTag: The slab does not have the content that was written. The buffer is wiped, and LMCache computes
                the object again.
            FormatError: The range does not consist of written parts, or the read ended early.
        """
        address = buf_base + buf_offset
        data = self._backend.memory(address, size)
        begun = self._readings.pop(raw_stream, None)
        if begun is not None and (begun.end, begun.address + begun.end - begun.begin) != (file_offset, address):
            raise FormatError(
                f"slab: the read of byte {begun.begin} ended within a part, which cannot be authenticated"
            )
        begin, start = (file_offset, address) if begun is None else (begun.begin, begun.address)
        submission = self._below.read_async(buf_base, size, file_offset, buf_offset, raw_stream)
        end = file_offset + size
        found, statuses = [], []
        try:
            with _on(raw_stream, data.device) as stream:
                while begin < end and (part := self._written(begin)).end <= end:
                    piece = self._backend.memory(start, part.end - begin)
                    found.append(piece)
                    statuses.append(self._blocks.decrypt(piece, part.seals, [_name(begin)]))
                    begin, start = part.end, start + part.end - begin
                if stream is not None:
                    stream.synchronize()
            if submission.bytes_done != size:
                raise FormatError(f"slab: {submission.bytes_done} of {size} bytes at {file_offset} were read")
            if any(int(status[0]) for status in statuses):
                raise InvalidTag(f"slab: bytes up to {begin} differ from the bytes that were written")
        except BaseException:
            with _on(raw_stream, data.device):  # the read and the decryptions may still be running
                for piece in [*found, data]:
                    piece.zero_()
            raise
        if begin < end:
            self._readings[raw_stream] = _Reading(begin, end, start, data.device)
        return submission

    def close(self) -> None:
        """Close the slab."""
        self._below.close()

    def _written(self, begin: int) -> _Part:
        """Return the write that begins at a given byte of the slab."""
        with self._lock:
            at = bisect.bisect_left(self._begins, begin)
            if at == len(self._parts) or self._parts[at].begin != begin:
                raise FormatError(f"slab: no write begins at byte {begin}")
            return self._parts[at]

    def _overlap(self, begin: int, end: int) -> tuple[int, int]:
        """Return the range of indices of the writes that contain bytes from ``begin`` to ``end``."""
        first = bisect.bisect_right(self._begins, begin)
        if first and self._parts[first - 1].end > begin:
            first -= 1
        return first, max(first, bisect.bisect_left(self._begins, end))


@contextlib.contextmanager
def _on(raw_stream: int, device: Any) -> Iterator[Any]:
    """Make one of LMCache's streams current and return it, or return None if the memory is not on a GPU."""
    if device.type != "cuda":
        yield None
        return
    stream = torch.cuda.ExternalStream(raw_stream, device)
    with torch.cuda.stream(stream):
        yield stream


def _name(place: int) -> kv.ObjectName:
    return kv.ObjectName(b"", "slab", 0, place, "")
