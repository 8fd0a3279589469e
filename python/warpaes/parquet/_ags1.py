"""Iceberg's AES GCM Stream (AGS1), for manifests, manifest lists and data files that are not Parquet files.

A stream consists of ``"AGS1"``, the block size (4 bytes, little-endian), and blocks of nonce (12 bytes), ciphertext and
tag (16 bytes). A block's associated data consists of the AAD prefix and the block's number (4 bytes, little-endian).
"""

from __future__ import annotations

import io
import os
import secrets
from collections.abc import Iterator
from typing import Any

from .._output import Output
from ..aead import AESGCM
from ..exceptions import FormatError, InvalidTag
from ._keys import IcebergKeyMetadata
from ._plain import PlainFile
from ._source import Source, open_source
from ._tables import buffered

_MAGIC = b"AGS1"
_HEADER_BYTES = 8
_NONCE_BYTES, _OVERHEAD = 12, 28
_DEFAULT_BLOCK = 1 << 20
_MAX_BLOCK = 1 << 28
#: Number of bytes to decrypt at a time, if no block is longer.
_WINDOW_BYTES = 4 << 20


def _aad(prefix: bytes, block: int) -> bytes:
    return prefix + block.to_bytes(4, "little")


class Ags1Reader(PlainFile):
    """The plaintext of an AGS1 stream, which can be read at any position. Only authentic bytes are returned, and only
    the blocks that a read needs are fetched.

    The file's length must come from trusted metadata, because only the length reveals that blocks were removed from the
    end. Only one thread at a time may use the position; ``read_at`` is thread-safe.
    """

    def __init__(self, source: Source, metadata: IcebergKeyMetadata) -> None:
        """See ``open_ags1``."""
        super().__init__()
        self._source = source
        self._cipher, self._prefix = AESGCM(metadata.encryption_key), metadata.aad_prefix
        if metadata.file_length not in (None, source.size):
            raise ValueError(f"file: has {source.size} bytes, but {metadata.file_length} according to its key metadata")
        if source.size < _HEADER_BYTES + _OVERHEAD:
            raise FormatError("not an AGS1 stream: the file is too short")
        header = source.read(0, _HEADER_BYTES)
        if header[:4] != _MAGIC:
            raise FormatError("not an AGS1 stream: the file does not begin with AGS1")
        self.block_size = int.from_bytes(header[4:], "little")
        if not 0 < self.block_size <= _MAX_BLOCK:
            raise FormatError(f"the AGS1 stream is damaged: its block size is {self.block_size}")
        sealed = source.size - _HEADER_BYTES
        self._blocks = -(-sealed // (self.block_size + _OVERHEAD))
        self._size = sealed - self._blocks * _OVERHEAD
        last = self.size - (self._blocks - 1) * self.block_size
        if last < 0 or (last == 0 and self._blocks > 1) or self._blocks > 1 << 32:
            raise FormatError("the AGS1 stream is damaged: the last block is truncated")
        self._kept: tuple[int, bytes] | None = None
        self._read_blocks(self._blocks - 1, self._blocks)  # raises InvalidTag if the key is wrong

    def close(self) -> None:
        """Close this object, and the file if ``open_ags1`` opened it."""
        if not self.closed:
            self._source.close()
        super().close()

    def read_at(self, offset: int, length: int) -> bytes:
        """Read up to ``length`` bytes from an offset.

        Raises:
            InvalidTag: A block is not authentic.
        """
        self._check_open()
        end = min(offset + length, self.size)
        if offset >= end:
            return b""
        first, last = offset // self.block_size, (end - 1) // self.block_size + 1
        step = max(1, _WINDOW_BYTES // self.block_size)
        pieces = []
        for block in range(first, last, step):
            pieces += self._read_blocks(block, min(block + step, last))
        data = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        base = offset - first * self.block_size
        return data if base == 0 and len(data) == end - offset else data[base : base + end - offset]

    def _read_blocks(self, first: int, last: int) -> list[bytes]:
        kept = self._kept
        if kept is not None and last - first == 1 and kept[0] == first:
            return [kept[1]]
        step = self.block_size + _OVERHEAD
        start = _HEADER_BYTES + first * step
        data = memoryview(self._source.read(start, min(last * step + _HEADER_BYTES, self._source.size) - start))
        blocks = [data[at : at + step] for at in range(0, len(data), step)]
        found = self._cipher.decrypt_batch(
            [block[:_NONCE_BYTES] for block in blocks],
            [block[_NONCE_BYTES:] for block in blocks],
            [_aad(self._prefix, number) for number in range(first, last)],
            return_exceptions=True,
        )
        for number, one in enumerate(found, first):
            if isinstance(one, BaseException):
                raise InvalidTag(
                    f"block {number} is not authentic: the key or the AAD prefix is wrong, or the file was altered"
                )
        self._kept = (last - 1, found[-1])
        return list(found)


def open_ags1(file: Any, metadata: IcebergKeyMetadata) -> Ags1Reader:
    """Open an AGS1 stream.

    Args:
        file: A path, a URL that fsspec opens, or a seekable file object, which stays open.
        metadata: The key, the AAD prefix and, from trusted metadata, the length of the file.

    Raises:
        FormatError: The file is not an AGS1 stream, or is damaged.
        InvalidTag: The last block is not authentic.
        ValueError: The file's length differs from the length in the metadata.
    """
    source = open_source(file)
    try:
        return Ags1Reader(source, metadata)
    except BaseException:
        source.close()
        raise


def _blocks_of(data: Any, block_size: int) -> Iterator[bytes]:
    """Yield the blocks of a bytes object or a file object. There is always at least one block."""
    file = data if hasattr(data, "read") else io.BytesIO(data)
    first = True
    while True:
        block = b""
        while len(block) < block_size and (piece := file.read(block_size - len(block))):
            block += piece
        if block or first:
            yield block
        first = False
        if len(block) < block_size:
            return


def write_ags1(
    data: Any, where: Any, key: bytes, aad_prefix: bytes = b"", block_size: int = _DEFAULT_BLOCK
) -> IcebergKeyMetadata:
    """Write an AGS1 stream. Return its key metadata, which the caller must store.

    Args:
        data: Bytes, or a file object with ``read``.
        where: A path, where the file appears or is replaced only when it is complete, or a file object with ``write``.
        key: 16, 24 or 32 bytes.
        aad_prefix: Associated data that binds the file to its location.
        block_size: Number of plaintext bytes in a block, from 1 to 2^28.

    Raises:
        ValueError: The key has the wrong length, or the block size is out of range.
    """
    if not 0 < block_size <= _MAX_BLOCK:
        raise ValueError(f"block_size: must be from 1 to 2^28, not {block_size}")
    cipher = AESGCM(key)
    if isinstance(where, (str, os.PathLike)):
        with Output(where, replace=True) as output, buffered(output) as sink:
            length = _write_blocks(data, sink, cipher, aad_prefix, block_size)
    else:
        length = _write_blocks(data, where, cipher, aad_prefix, block_size)
    return IcebergKeyMetadata(key, aad_prefix, length)


def _write_blocks(data: Any, sink: Any, cipher: AESGCM, aad_prefix: bytes, block_size: int) -> int:
    sink.write(_MAGIC + block_size.to_bytes(4, "little"))
    length = _HEADER_BYTES
    for number, block in enumerate(_blocks_of(data, block_size)):
        if number >> 32:
            raise ValueError("data: has more than 2^32 blocks")
        nonce = secrets.token_bytes(_NONCE_BYTES)
        sink.write(nonce)
        sink.write(cipher.encrypt(nonce, block, _aad(aad_prefix, number)))
        length += len(block) + _OVERHEAD
    return length
