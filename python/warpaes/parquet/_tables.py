"""Reading and writing of pyarrow tables as encrypted Parquet files."""

from __future__ import annotations

import io
import os
from typing import Any

from .._output import Output
from ._keys import Keys, KeysLike
from ._open import open as open_view
from ._rewrite import Encryption, rewrite
from ._view import PlainView


def read_table(
    file: Any, keys: KeysLike, aad_prefix: bytes | None = None, *, require_gcm: bool = False, **options: Any
) -> Any:
    """Read an encrypted Parquet file as a ``pyarrow.Table``.

    Args:
        file: See ``open``.
        keys: See ``open``.
        aad_prefix: See ``open``.
        require_gcm: See ``open``.
        options: Additional arguments for ``pyarrow.parquet.ParquetFile.read``, such as ``columns``.

    Raises:
        InvalidTag: The file is not authentic.
        OSError: The file cannot be read, or pyarrow refuses it.
    """
    import pyarrow.parquet as pq

    with open_view(file, keys, aad_prefix, require_gcm) as view:
        return pq.ParquetFile(view).read(**options)


def ParquetFile(  # noqa: N802 (pyarrow's name)
    file: Any, keys: KeysLike, aad_prefix: bytes | None = None, **options: Any
) -> Any:
    """Return a ``pyarrow.parquet.ParquetFile`` for an encrypted file.

    Args:
        file: See ``open``.
        keys: See ``open``.
        aad_prefix: See ``open``.
        options: Additional arguments for pyarrow's ``ParquetFile``.
    """
    import pyarrow.parquet as pq

    return pq.ParquetFile(open_view(file, keys, aad_prefix), **options)


def write_table(table: Any, where: Any, encryption: Encryption, **options: Any) -> None:
    """Write a ``pyarrow.Table`` as an encrypted Parquet file. pyarrow creates the pages in memory, and plaintext is
    never written to a file.

    Unlike in pyarrow's raw-key API, columns can have separate keys.

    Args:
        table: The table.
        where: A path, where the file appears or is replaced only when it is complete, or a file object with ``write``.
        encryption: The keys and the algorithm.
        options: Additional arguments for ``pyarrow.parquet.write_table``.

    Raises:
        OSError: The file cannot be written.
        ValueError: ``encryption`` names a column that the table does not have.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    plain = pa.BufferOutputStream()
    pq.write_table(table, plain, **options)
    with open_view(pa.BufferReader(plain.getvalue()), Keys(None), allow_plaintext=True) as view:
        encrypt_view(view, where, encryption)


def encrypt_view(view: PlainView, where: Any, encryption: Encryption | None) -> None:
    """Write a view to a path or a file object."""
    if isinstance(where, (str, os.PathLike)):
        with Output(where, replace=True) as output, io.BufferedWriter(_Raw(output), 1 << 20) as buffered:
            rewrite(view, buffered, encryption)
    else:
        rewrite(view, where, encryption)


def buffered(output: Output) -> io.BufferedWriter:
    """Return a buffered writer for an output, which stays open."""
    return io.BufferedWriter(_Raw(output), 1 << 20)


class _Raw(io.RawIOBase):
    """Adapts an Output to Python's buffered writers."""

    def __init__(self, output: Output) -> None:
        super().__init__()
        self._output = output

    def writable(self) -> bool:
        """Return True, because the file can be written."""
        return True

    def write(self, data: Any) -> int:
        """Write all of a buffer."""
        return self._output.write(data)
