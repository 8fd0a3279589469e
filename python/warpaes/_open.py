"""``warpaes.open``, which opens sealed files for reading and writing."""

from __future__ import annotations

import codecs
import io
import os
import re
from typing import Any, Literal, overload

from ._fs_files import begin_own, open_own
from ._keyset_places import KeysetPlace, as_keyset, dataset_place, parse
from ._native import Keyset
from ._own_keysets import OwnKeysets
from ._raw_reader import path_of
from ._typing import Buffer
from .files import SealedReader, SealedTextWriter, SealedWriter

#: The beginning of a URL.
_URL = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)


@overload
def open(
    file: Any, mode: Literal["rb"] = "rb", *, keyset: Keyset | str, associated_data: Buffer | None = None
) -> SealedReader: ...
@overload
def open(
    file: Any, mode: Literal["wb", "xb"], *, keyset: Keyset | str, associated_data: Buffer | None = None
) -> SealedWriter: ...
@overload
def open(
    file: Any,
    mode: Literal["rt"],
    *,
    keyset: Keyset | str,
    associated_data: Buffer | None = None,
    encoding: str | None = None,
    errors: str | None = None,
    newline: str | None = None,
) -> io.TextIOWrapper: ...
@overload
def open(
    file: Any,
    mode: Literal["wt", "xt"],
    *,
    keyset: Keyset | str,
    associated_data: Buffer | None = None,
    encoding: str | None = None,
    errors: str | None = None,
    newline: str | None = None,
) -> SealedTextWriter: ...
@overload
def open(
    file: Any,
    mode: str,
    *,
    keyset: Keyset | str,
    associated_data: Buffer | None = None,
    encoding: str | None = None,
    errors: str | None = None,
    newline: str | None = None,
) -> SealedReader | SealedWriter | io.TextIOWrapper: ...


def open(
    file: Any,
    mode: str = "rb",
    *,
    keyset: Keyset | str,
    associated_data: Buffer | None = None,
    encoding: str | None = None,
    errors: str | None = None,
    newline: str | None = None,
) -> SealedReader | SealedWriter | io.TextIOWrapper:
    """Open a sealed file.

    Args:
        file: A path, a URL that fsspec opens, or a binary file object. For reading, it can also be a buffer. A source
            that cannot seek, such as a pipe, is read forward. See SealedReader and SealedWriter.
        mode: ``rb`` reads, ``wb`` creates or replaces a file, and ``xb`` creates a new file; ``rt``, ``wt`` and ``xt``
            are the same for text. ``r``, ``w`` and ``x``, which mean text in some functions and binary in others, are
            not allowed.
        keyset: The keys, or a location that ``Keyset.load`` accepts. A reader tries the enabled keys on the last
            segment, which also proves that the file is not truncated. A writer uses the primary key. A place that ends
            with ``own:``, such as ``passphrase:own:``, means the keyset at the start of the file. The URL of a key
            manager, or ``dataset:`` followed by a place, means the key of the ``warpaes bulk`` dataset that contains
            the file. The dataset's manifest contains the keys and the associated data.
        associated_data: Authenticated data, which must be the same for writer and reader. It is not stored in the file.
        encoding: The encoding of text. The default is UTF-8 on every machine.
        errors: The treatment of encoding errors; see ``io.TextIOWrapper``.
        newline: The treatment of line endings; see ``io.TextIOWrapper``.

    Returns:
        A SealedReader or a SealedWriter or, for text, an ``io.TextIOWrapper`` or a SealedTextWriter.

    Raises:
        ValueError: ``mode`` is not one of these modes, or a binary mode is combined with an argument for text.
        InvalidTag: While reading, no key of the keyset opens the file, the file was altered or truncated, or the
            manifest of the file's dataset does not contain the file or is not authentic.
        FileExistsError: The mode is ``xb`` or ``xt``, and a file already exists at the path.
        OSError: The file cannot be read or written.
    """
    if mode not in ("rb", "wb", "xb", "rt", "wt", "xt"):
        raise ValueError(f"mode must be rb, wb or xb or, for text, rt, wt or xt, not {mode!r}")
    is_text = mode.endswith("t")
    if is_text:  # checks the arguments before the file is created
        encoding = codecs.lookup(encoding or "utf-8").name
        below = io.BufferedReader(io.BytesIO()) if mode[0] == "r" else io.BytesIO()
        io.TextIOWrapper(below, encoding, errors, newline)
    elif encoding is not None or errors is not None or newline is not None:
        raise ValueError(f"encoding, errors and newline apply only to text; use mode {mode[0]}t, not {mode!r}")
    if dataset_place(keyset) is not None or (isinstance(file, str) and _URL.match(file)):
        return _open_url(file, mode, keyset, associated_data, (encoding, errors, newline))
    place = parse(keyset) if isinstance(keyset, str) else None
    if place is not None and place.is_own:
        return _open_own(file, mode, place, associated_data, (encoding, errors, newline))
    keyset = as_keyset(keyset)
    if mode[0] == "r":
        reader = SealedReader(file, keyset, associated_data)
        return io.TextIOWrapper(reader, encoding, errors, newline) if is_text else reader
    writer = SealedWriter(file, keyset, associated_data, overwrite=mode[0] == "w")
    return SealedTextWriter(writer, encoding, errors, newline) if is_text else writer


def _open_url(
    file: Any,
    mode: str,
    keyset: Keyset | str,
    associated_data: Buffer | None,
    text: tuple[str | None, str | None, str | None],
) -> SealedReader | SealedWriter | io.TextIOWrapper:
    """Open a URL, or an object of a dataset, through WarpaesFileSystem; see ``open``."""
    path = path_of(file)
    if path is None:
        raise ValueError("an object of a dataset must be given as a path or a URL, not as a file object or a buffer")
    try:
        from fsspec.core import url_to_fs

        from .fs import WarpaesFileSystem
    except ImportError as error:
        raise ImportError(
            f"URLs require the package fsspec, and datasets of warpaes bulk also require pyarrow: {error}"
        ) from error
    below, path = url_to_fs(os.fspath(path))
    files = WarpaesFileSystem(keyset, bytes(associated_data) if associated_data is not None else None, below)
    opened = files.open(path, mode[0] + "b")
    if not mode.endswith("t"):
        return opened  # type: ignore[no-any-return]
    return io.TextIOWrapper(opened, *text) if mode[0] == "r" else SealedTextWriter(opened, *text)


def _open_own(
    file: Any,
    mode: str,
    place: KeysetPlace,
    associated_data: Buffer | None,
    text: tuple[str | None, str | None, str | None],
) -> SealedReader | SealedWriter | io.TextIOWrapper:
    """Open a sealed file with its own keyset; see ``open``."""
    keysets = OwnKeysets(place)
    if mode[0] == "r":
        reader = open_own(file, keysets, associated_data)
        return io.TextIOWrapper(reader, *text) if mode.endswith("t") else reader
    writer = begin_own(file, keysets, associated_data, overwrite=mode[0] == "w")
    return SealedTextWriter(writer, *text) if mode.endswith("t") else writer
