"""Encryption of KV blocks on a GPU before they are copied to host memory or storage, and decryption after they are
copied back.

    blocks = warpaes.kv.Blocks("keyset.json")
    seals = blocks.store(staging, names, pinned)         # the pinned memory only ever contains ciphertext
    statuses = blocks.fetch(pinned, seals, names, staging)

``encrypt`` and ``decrypt`` do the same without the copy, for example before a write with GPUDirect Storage. The key,
the IV and the associated data of a block are those of frame version 2 (docs/kv-caches.md). ``Seals.frame`` returns a
frame that ``warpaes.lmcache`` can open. On a GPU, the methods of ``Blocks`` enqueue their work on the current stream
and do not wait for it. Methods of ``Seals`` that return tags wait for them.
"""

from __future__ import annotations

import array
import collections
import contextlib
import os
import struct
import sys
from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor

from ._fork_lock import ForkLock
from ._keyset_places import as_keyset
from ._kv_frames import IV_BYTES, TAG_BYTES, Frames, ObjectName
from ._native import Keyset, copy
from .aead import AESGCM
from .exceptions import FormatError, InvalidTag

__all__ = ["NOT_AUTHENTIC", "Blocks", "ObjectName", "Seals"]

#: The status of a block that is not authentic.
NOT_AUTHENTIC = 22
#: Number of bytes that a store encrypts in a separate call, so that the GPU begins to work while the host prepares the
#: other blocks. A fetch ends with FETCHED times as many bytes; all bytes before are copied at once.
PART_BYTES, FETCHED = 8 << 20, 4
_STATUS_BYTES = 4
_HEADER = struct.Struct(f">I{IV_BYTES}s")


class Seals:
    """Key IDs, IVs and tags of encrypted blocks. The tags are on the device of the blocks."""

    #: Number of bytes for each block in ``bytes()``.
    ENTRY_BYTES = _HEADER.size + TAG_BYTES

    def __init__(self, key_ids: Sequence[int], ivs: bytes, tags: Tensor) -> None:
        """Store a key ID, a 12-byte IV and a 16-byte tag for each block."""
        if len(ivs) != IV_BYTES * len(key_ids) or tags.nbytes != TAG_BYTES * len(key_ids):
            raise ValueError("ivs, tags: must have 12 and 16 bytes, respectively, for each key ID")
        self.key_ids, self.ivs, self.tags = list(key_ids), ivs, tags

    def __len__(self) -> int:
        """Return the number of blocks."""
        return len(self.key_ids)

    def iv(self, number: int) -> bytes:
        """Return the IV of a block."""
        return self.ivs[_slice(number, IV_BYTES)]

    def header(self, number: int) -> bytes:
        """Return a block's part of ``bytes()`` without the tag at its end. The call does not wait for the tag."""
        return _HEADER.pack(self.key_ids[number], self.iv(number))

    def select(self, numbers: Sequence[int]) -> Seals:
        """Return the seals of some blocks, with their tags in host memory. The call waits for the tags."""
        tags = bytes(self.tags.cpu().numpy())
        chosen = b"".join(tags[_slice(number, TAG_BYTES)] for number in numbers)
        ivs = b"".join(map(self.iv, numbers))
        return Seals([self.key_ids[number] for number in numbers], ivs, _host_tags(chosen))

    def __bytes__(self) -> bytes:
        """Return all seals as bytes, with ``ENTRY_BYTES`` for each block. The call waits for the tags."""
        tags = bytes(self.tags.cpu().numpy())
        return b"".join(self.header(number) + tags[_slice(number, TAG_BYTES)] for number in range(len(self)))

    @classmethod
    def from_bytes(cls, data: bytes) -> Seals:
        """Return the seals that a result of ``bytes()`` represents.

        Raises:
            FormatError: ``data`` has the wrong length.
        """
        if len(data) % cls.ENTRY_BYTES:
            raise FormatError(f"data: must have {cls.ENTRY_BYTES} bytes for each block, but has {len(data)} bytes")
        entries = [data[at : at + cls.ENTRY_BYTES] for at in range(0, len(data), cls.ENTRY_BYTES)]
        headers = [_HEADER.unpack(entry[: _HEADER.size]) for entry in entries]
        tags = b"".join(entry[_HEADER.size :] for entry in entries)
        return cls([key_id for key_id, _ in headers], b"".join(iv for _, iv in headers), _host_tags(tags))

    def frame(self, number: int, ciphertext: bytes) -> bytes:
        """Return a block's frame in version 2. The call waits for the tags."""
        tag = bytes(self.tags.cpu().numpy()[_slice(number, TAG_BYTES)])
        return b"\x02" + self.header(number) + ciphertext + tag


def _slice(number: int, size: int) -> slice:
    """Return the slice of element ``number`` in a concatenation of elements of ``size`` bytes."""
    return slice(size * number, size * (number + 1))


def _host_tags(data: bytes) -> Tensor:
    return torch.frombuffer(bytearray(data), dtype=torch.uint8) if data else torch.empty(0, dtype=torch.uint8)


def _flat(data: Any, name: str) -> Tensor:
    """Return the bytes of a tensor, or of an array with ``__dlpack__``, as a tensor in the same memory."""
    tensor = data if isinstance(data, Tensor) else torch.from_dlpack(data)
    if not tensor.is_contiguous():
        raise ValueError(f"{name}: must be contiguous")
    flat: Tensor = tensor.detach().reshape(-1).view(torch.uint8)
    return flat


def _on_device(data: Any, name: str) -> Tensor:
    """Like ``_flat``, but return a contiguous tensor in GPU or page-locked memory as it is, which is faster."""
    as_it_is = isinstance(data, Tensor) and data.is_contiguous() and not data.requires_grad
    return data if as_it_is else _flat(data, name)


class Blocks:
    """Encrypts and decrypts blocks of equal size in one tensor. Any number of threads may use an instance.

    Random IVs are counted for each tenant, as in ``warpaes.lmcache``. The counts of all instances with the same keyset
    must be added.
    """

    # Shared by all instances, because copies may be under way when an instance is deleted.
    _lock = ForkLock()
    _copied: ClassVar[collections.deque[tuple[Any, Tensor]]] = collections.deque()

    def __init__(self, keyset: Keyset | str) -> None:
        """Store a keyset, given as an object or as a location that ``Keyset.load`` accepts. Its primary key
        encrypts."""
        self._frames = Frames.of_keyset(as_keyset(keyset))

    @property
    def primary(self) -> int:
        """The ID of the encrypting key."""
        return self._frames.primary

    def has_key(self, key_id: int) -> bool:
        """Return whether the keyset has an enabled key with this ID."""
        return self._frames.has_key(key_id)

    def encrypt(
        self, data: Any, names: Sequence[ObjectName], *, out: Any = None, stream: torch.cuda.Stream | None = None
    ) -> Seals:
        """Encrypt blocks, in place or to ``out``.

        Args:
            data: A contiguous tensor on any device, or an array with ``__dlpack__``, which contains as many blocks of
                equal length as there are names.
            names: The name of each block, which is authenticated. ``cache_salt`` is the tenant. Each tenant has its own
                key.
            out: The ciphertext, as large as ``data`` and on the same device, or None to encrypt in place.
            stream: The stream of a GPU, or None for the current stream.

        Returns:
            The seals. Their tags are complete when the ciphertext is complete.

        Raises:
            ValueError: ``data`` cannot be divided into blocks of equal length, or a name is invalid.
            Error: A tenant's key has reached the limit of encryptions.
            RuntimeError: The stream is being captured. Each replay of the graph would use the same IVs.
        """
        source, target, size = self._operands(data, out, len(names))
        _refuse_capture(stream, source)
        bound, ciphers = [name.associated_data() for name in names], self._encrypting(names)
        ivs = os.urandom(IV_BYTES * len(names))
        with _on(stream, source):
            tags = torch.empty(TAG_BYTES * len(names), dtype=torch.uint8, device=source.device)
        _seal(ciphers, ivs, source, size, bound, target, tags, stream)
        return Seals([self.primary] * len(names), ivs, tags)

    def _encrypting(self, names: Sequence[ObjectName]) -> list[AESGCM]:
        """Return the ciphers of the tenants, and count the encryptions."""
        return self._frames.ciphers([(self.primary, name.cache_salt) for name in names], encryptions=1)

    def _decrypting(self, key_ids: Sequence[int], names: Sequence[ObjectName]) -> list[AESGCM]:
        """Return the ciphers of the tenants. Raises FormatError if a key is not in the keyset."""
        for key_id in key_ids:
            self._frames.check_key_id(key_id)
        return self._frames.ciphers([(key_id, name.cache_salt) for key_id, name in zip(key_ids, names)])

    def decrypt(
        self,
        data: Any,
        seals: Seals,
        names: Sequence[ObjectName],
        *,
        out: Any = None,
        stream: torch.cuda.Stream | None = None,
    ) -> Tensor:
        """Decrypt blocks, in place or to ``out``. Blocks that are not authentic are wiped.

        Args:
            data: The ciphertext; see ``encrypt``.
            seals: The seals of the blocks, in the same order. The tags may be in host memory.
            names: The name of each block.
            out: The plaintext, or None to decrypt in place.
            stream: The stream of a GPU, or None for the current stream.

        Returns:
            The statuses, an int32 for each block, on the device of ``data``: 0, or 22 (``NOT_AUTHENTIC``).

        Raises:
            ValueError: ``data`` cannot be divided into blocks of equal length, or the number of seals differs from the
                number of names.
            FormatError: A block is encrypted under a key that is not in the keyset.
        """
        source, target, size = self._operands(data, out, len(names))
        _check_count(seals, names)
        bound, ciphers = [name.associated_data() for name in names], self._decrypting(seals.key_ids, names)
        with _on(stream, source):
            statuses = _statuses(len(names), source)
        _open(ciphers, seals.ivs, source, size, bound, target, seals.tags, statuses, stream)
        return _int32(statuses)

    def store(self, data: Any, names: Sequence[ObjectName], host: Tensor) -> Seals:
        """Encrypt blocks in place and copy them to host memory. A part is copied while the next part is encrypted.

        Args:
            data: The blocks on a GPU; see ``encrypt``. The call replaces them with ciphertext.
            names: The name of each block.
            host: Page-locked memory as large as ``data``. Its content is complete when the current stream reaches this
                point.

        Returns:
            The seals.

        Raises:
            ValueError, Error, RuntimeError: For the same reasons as ``encrypt``, and ``data`` is unchanged. If the GPU
                fails, ``data`` may be partly encrypted.
        """
        source, target = _on_device(data, "data"), _on_device(host, "host")
        count, size = len(names), _copied_bytes(source, target, len(names))
        _refuse_capture(None, source)
        bound, ciphers = [name.associated_data() for name in names], self._encrypting(names)
        ivs = os.urandom(IV_BYTES * count)
        tags = torch.empty(TAG_BYTES * count, dtype=torch.uint8, device=source.device)
        if not source.is_cuda or count == 0:
            source, target = _flat(source, "data"), _flat(target, "host")
            _seal(ciphers, ivs, source, size, bound, source, tags, None)
            target.copy_(source)
            return Seals([self.primary] * count, ivs, tags)
        first = max(1, PART_BYTES // size) if size else count
        parts = [slice(0, count)] if 2 * first > count else [slice(0, first), slice(first, count)]
        try:
            for part in parts:
                its, its_tags = (ciphers[part], ivs[_bytes(part, IV_BYTES)]), tags[_bytes(part, TAG_BYTES)]
                places = _places(size, part)
                options: dict[str, Any] = {"host": target, "more": part.stop < count}
                AESGCM.enqueue_into("encrypt", *its, source, *places, source, its_tags, bound[part], **options)
        except BaseException as error:
            raise _failure(error, source, target) from None
        self._keep(source, target)
        return Seals([self.primary] * count, ivs, tags)

    def fetch(self, host: Tensor, seals: Seals, names: Sequence[ObjectName], data: Any) -> Tensor:
        """Copy blocks from host memory and decrypt them. A part is decrypted while the next part is copied.

        Args:
            host: The ciphertext in page-locked memory.
            seals: The seals of the blocks.
            names: The name of each block.
            data: The plaintext on a GPU, as large as ``host``.

        Returns:
            The statuses; see ``decrypt``. Raises the same exceptions as ``decrypt``.
        """
        _check_count(seals, names)
        source, target = _flat(host, "host"), _flat(data, "data")
        count, size = len(names), _copied_bytes(target, source, len(names))
        # The first copy is under way while the host prepares the decryption.
        copied = max(0, count - max(1, FETCHED * PART_BYTES // size)) if size and target.is_cuda else count
        target[: copied * size].copy_(source[: copied * size], non_blocking=target.is_cuda)
        bound, ciphers = [name.associated_data() for name in names], self._decrypting(seals.key_ids, names)
        statuses = _statuses(count, target)
        if copied == count:
            _open(ciphers, seals.ivs, target, size, bound, target, seals.tags, statuses, None)
            return _int32(statuses)
        try:
            tags = seals.tags if seals.tags.is_cuda else bytes(seals.tags.numpy())
            places = _places(size, slice(0, count))
            options: dict[str, Any] = {"statuses": statuses, "host": source, "first_copied": copied}
            AESGCM.enqueue_into("decrypt", ciphers, seals.ivs, target, *places, target, tags, bound, **options)
        except BaseException as error:
            raise _failure(error, target, source) from None
        self._keep(target, source)
        return _int32(statuses)

    def _keep(self, data: Tensor, host: Tensor) -> None:
        """Keep host memory until its copies have ended and another call is made. PyTorch does not see the library's
        copies, and would otherwise reuse memory that is freed before they end."""
        if torch.cuda.is_current_stream_capturing():
            return
        ended = torch.cuda.current_stream(data.device).record_event()
        with self._lock:
            while self._copied and self._copied[0][0].query():
                self._copied.popleft()
            self._copied.append((ended, host))

    @staticmethod
    def _operands(data: Any, out: Any, count: int) -> tuple[Tensor, Tensor, int]:
        source = _flat(data, "data")
        target = source if out is None else _flat(out, "out")
        if target.nbytes != source.nbytes or target.device.type != source.device.type:
            raise ValueError("out: must be as large as data, and on the same device")
        return source, target, _block_bytes(source.nbytes, count)


def _bytes(blocks: slice, size: int) -> slice:
    """Return the slice of blocks in a concatenation of elements of ``size`` bytes."""
    return slice(blocks.start * size, blocks.stop * size)


def _seal(
    ciphers: list[AESGCM],
    ivs: bytes,
    source: Tensor,
    size: int,
    bound: list[bytes],
    target: Tensor,
    tags: Tensor,
    stream: Any,
) -> None:
    """Encrypt blocks of ``size`` bytes. ``bound`` is their associated data."""
    if ciphers and source.is_cuda:
        places = _places(size, slice(0, len(ciphers)))
        AESGCM.enqueue_into("encrypt", ciphers, ivs, source, *places, target, tags, bound, stream=stream)
        return
    for number, cipher in enumerate(ciphers):
        iv, here, tag = (_slice(number, each) for each in (IV_BYTES, size, TAG_BYTES))
        cipher.encrypt_into(ivs[iv], source[here], bound[number], target[here], tag=tags[tag])


def _open(
    ciphers: list[AESGCM],
    ivs: bytes,
    source: Tensor,
    size: int,
    bound: list[bytes],
    target: Tensor,
    tags: Tensor,
    statuses: Tensor,
    stream: Any,
) -> None:
    """Decrypt blocks of ``size`` bytes. ``statuses`` has four bytes for each block."""
    if ciphers and source.is_cuda:
        known = tags if tags.is_cuda else bytes(tags.numpy())
        places = _places(size, slice(0, len(ciphers)))
        AESGCM.enqueue_into(
            "decrypt", ciphers, ivs, source, *places, target, known, bound, statuses=statuses, stream=stream
        )
        return
    tags = tags.cpu()
    for number, cipher in enumerate(ciphers):
        iv, here, tag = (_slice(number, each) for each in (IV_BYTES, size, TAG_BYTES))
        status = 0
        try:
            cipher.decrypt_into(ivs[iv], source[here], bound[number], target[here], tag=tags[tag])
        except InvalidTag:
            status = NOT_AUTHENTIC
        copy(statuses[_slice(number, _STATUS_BYTES)], status.to_bytes(_STATUS_BYTES, sys.byteorder))


def _statuses(count: int, data: Tensor) -> Tensor:
    """Return memory for the statuses of blocks, on the device of ``data``."""
    return torch.empty(_STATUS_BYTES * count, dtype=torch.uint8, device=data.device)


def _int32(data: Tensor) -> Tensor:
    viewed: Tensor = data.view(torch.int32)
    return viewed


def _check_count(seals: Seals, names: Sequence[ObjectName]) -> None:
    if len(seals) != len(names):
        raise ValueError(f"seals: {len(seals)} seals do not match {len(names)} blocks")


def _refuse_capture(stream: Any, data: Tensor) -> None:
    with _on(stream, data):
        if data.is_cuda and torch.cuda.is_current_stream_capturing():
            raise RuntimeError("stream: is being captured; each replay of the graph would encrypt under the same IVs")


def _on(stream: Any, data: Tensor) -> Any:
    """Return a context that allocates new tensors on a stream, because memory of other streams may still be in use."""
    return contextlib.nullcontext() if stream is None or not data.is_cuda else torch.cuda.stream(stream)


def _failure(error: BaseException, data: Tensor, host: Tensor) -> BaseException:
    """Wait for copies of ``host`` that the current stream does not wait for yet. Return the exception to raise."""
    torch.cuda.synchronize(data.device)
    if isinstance(error, ValueError) and not host.is_pinned():
        return ValueError("host: must be page-locked memory; use pin_memory=True")
    return error


def _copied_bytes(data: Tensor, host: Tensor, count: int) -> int:
    """Return the bytes of a block that is copied between a GPU and host memory."""
    if data.nbytes != host.nbytes:
        raise ValueError("host: must be as large as data")
    return _block_bytes(data.nbytes, count)


def _block_bytes(size: int, count: int) -> int:
    if size % max(1, count) or (count == 0 and size):
        raise ValueError(f"data: {size} bytes cannot be divided into {count} blocks of equal length")
    return size // max(1, count)


def _places(size: int, blocks: slice) -> tuple[array.array[int], array.array[int]]:
    """Return the offsets and lengths of blocks."""
    count = blocks.stop - blocks.start
    offsets = range(blocks.start * size, blocks.stop * size, size) if size else [0] * count
    return array.array("Q", offsets), array.array("Q", [size]) * count
