"""A file system of sealed files on top of any other of fsspec.

For example ``fsspec.open("warpaes::s3://bucket/key", keyset=…)``.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import warnings
from collections.abc import Callable
from typing import Any

from fsspec import AbstractFileSystem
from fsspec.callbacks import DEFAULT_CALLBACK
from fsspec.core import url_to_fs
from fsspec.implementations.chained import ChainedFileSystem
from fsspec.implementations.local import LocalFileSystem
from fsspec.utils import isfilelike

from ._native import Keyset, Reader, Writer
from ._output import Output
from ._typing import Buffer
from .exceptions import Error, FormatError, InvalidTag
from .files import SealedReader, SealedWriter

__all__ = ["WarpaesFileSystem"]

#: Bytes that are copied at a time.
_COPY_BYTES = 16 << 20
_NAMES = "file:PATH, env:NAME, fd:NUMBER or exec:COMMAND"


def _read_keyset(name: str, kek: str | None) -> Keyset:
    """Read a keyset from the place that a name describes, and decrypt it with the key source ``kek``, if there is one.

    Raises:
        ValueError: The name has another form.
    """
    from ._places import read_secret
    from .keysources import from_url, read_keyset

    if name.partition(":")[0] not in ("file", "env", "fd", "exec"):
        raise ValueError(f"keyset must be a Keyset, or name one by {_NAMES}")
    text = read_secret(name)
    if kek is None:
        return Keyset.parse(text)
    with from_url(kek) as source:
        return read_keyset(text, source)


def _discard(below: Any) -> None:
    try:
        below.close()
    finally:
        below.discard()


class _LocalFile:
    """A local file that appears by ``commit``. fsspec's own is written elsewhere, and copied to its name."""

    def __init__(self, path: str, exclusive: bool) -> None:
        self._output = Output(path, replace=not exclusive)
        self.write = self._output.write
        self.discard = self._output.abort

    def close(self) -> None:
        pass

    def commit(self) -> None:
        self._output.commit()


class _ClosingReader(SealedReader):
    def __init__(self, below: Any, keyset: Keyset, associated_data: Buffer | None) -> None:
        self._below = below
        try:
            super().__init__(below, keyset, associated_data)
        except BaseException:
            below.close()
            raise

    def close(self) -> None:
        try:
            super().close()
        finally:
            self._below.close()


class _ClosingWriter(SealedWriter):
    """Writes to a file object of the file system beneath, which makes the file appear by ``commit``.

    Without ``autocommit``, the file is one of a transaction of fsspec's, which calls ``commit`` or ``discard``.
    """

    def __init__(
        self,
        below: Any,
        keyset: Keyset,
        associated_data: Buffer | None,
        check: Callable[[], None] | None,
        autocommit: bool,
    ) -> None:
        self._below = below
        self._check = check
        self._autocommit = autocommit
        self._waits = False
        self._process = os.getpid()
        try:
            super().__init__(below, keyset, associated_data)
        except BaseException:
            _discard(below)
            raise

    def _publish(self, writer: Writer) -> None:
        super()._publish(writer)
        self._waits = True
        if self._autocommit:
            self.commit()

    def _discard(self, writer: Writer) -> None:
        try:
            super()._discard(writer)
        finally:
            self._discard_below()

    def _discard_below(self) -> None:
        """Leave nothing. In a child of ``fork``, the temporary file or upload is the parent's, which goes on."""
        if self._process == os.getpid():
            _discard(self._below)

    def commit(self) -> None:
        """Make the file appear, if it was completed and not aborted."""
        if self._writer is not None:
            self.abort()
            raise ValueError("a file of the transaction was not closed, and does not appear")
        if self._process != os.getpid():
            raise Error("a file of a transaction belongs to the process that began it")
        if self._waits:
            self._waits = False
            try:
                if self._check is not None:
                    self._check()
                self._below.close()
                self._below.commit()
            except BaseException:
                self._discard_below()
                raise

    def discard(self) -> None:
        """Leave nothing."""
        self.abort()
        if self._waits:
            self._waits = False
            self._discard_below()


class WarpaesFileSystem(ChainedFileSystem):  # type: ignore[misc]  # fsspec has no types
    """The plaintexts of another file system's sealed files, under the same paths.

    Sizes are those of plaintexts. To find a size, and to check that the file is complete, the file system opens the
    file with two reads: of a few bytes, and of a segment. A file that the keyset does not open is listed with the size
    None.
    """

    protocol = "warpaes"
    cachable = False

    def __init__(
        self,
        keyset: Keyset | str | bytes | None = None,
        associated_data: bytes | Callable[[str], bytes] | None = None,
        fs: AbstractFileSystem | None = None,
        target_protocol: str | None = None,
        target_options: dict[str, Any] | None = None,
        fo: str = "",
        kek: str | None = None,
        **options: Any,
    ) -> None:
        """Make a file system on top of ``fs``, or of a protocol with its options.

        A file system is pickled with the name of its keyset, and each process reads the keyset itself. One with a
        Keyset in memory cannot be pickled. Options are as trusted as code: ``exec:`` runs a program.

        Args:
            keyset: A Keyset, or the name of the place that has its JSON: ``file:PATH``, ``env:NAME``, ``fd:NUMBER`` or
                ``exec:COMMAND``; required. The JSON itself is deprecated: options do not stay in this process.
            associated_data: The associated data of all files, or a function that returns it for a path.
            fs: The underlying file system.
            target_protocol: The protocol of the underlying file system, if ``fs`` is None.
            target_options: The options of that protocol.
            fo: Ignored; fsspec passes it for chained URLs.
            kek: The URL of the key source that the named keyset is encrypted with, as for ``keysources.from_url``.
            options: Further options of fsspec.

        Raises:
            ValueError: There is no keyset, it is named in no known form, or there is no underlying file system.
            KeysetError: The JSON is not a keyset, or with ``kek`` not an encrypted one.
            OSError: The keyset cannot be read.
        """
        super().__init__(**options)
        if keyset is None:
            raise ValueError(f"keyset is missing: name it by {_NAMES}, or pass keyset=warpaes.Keyset.parse(...)")
        self._keyset_name = ""
        if isinstance(keyset, str) and not keyset.lstrip().startswith("{"):
            self.keyset = _read_keyset(keyset, kek)
            self._keyset_name = keyset
        elif kek is not None:
            raise ValueError(f"kek decrypts a keyset that is named by {_NAMES}, and keyset is none of these")
        elif isinstance(keyset, Keyset):
            self.keyset = keyset
        else:
            warnings.warn(
                f"keyset: keys in clear do not belong into options; name the keyset by {_NAMES}",
                DeprecationWarning,
                stacklevel=3,
            )
            self.keyset = Keyset.parse(keyset)
        self.associated_data = associated_data
        if fs is None:
            if target_protocol is None:
                raise ValueError("the file system beneath is missing: fs, or target_protocol")
            fs = url_to_fs(f"{target_protocol}://", **(target_options or {}))[0]
        self.fs = fs

        def strip(path: Any) -> Any:
            """Strip the prefixes of both file systems. It is set on the instance, because the underlying one
            differs."""
            plain = type(self)._strip_protocol(path)
            return fs._strip_protocol(plain)

        self._strip_protocol = strip  # type: ignore[method-assign]
        self._sizes: dict[tuple[Any, ...], int | None] = {}

    # fsspec sets the arguments that it pickles once the object is made. A keyset in clear is not kept in them.

    @property
    def storage_options(self) -> dict[str, Any]:
        """The options that the file system was made with."""
        return self._storage_options

    @storage_options.setter
    def storage_options(self, options: dict[str, Any]) -> None:
        if "keyset" in options:
            options = {**options, "keyset": self._keyset_name or self.keyset}
        self._storage_options = options

    @property
    def storage_args(self) -> tuple[Any, ...]:
        """The positional arguments that the file system was made with."""
        return self._storage_args

    @storage_args.setter
    def storage_args(self, arguments: tuple[Any, ...]) -> None:
        self._storage_args = (self._keyset_name or self.keyset, *arguments[1:]) if arguments else arguments

    def _check_name(self) -> None:
        """Refuse to leave the process without a keyset that another process can read."""
        if self._keyset_name.partition(":")[0] in ("", "fd"):
            raise TypeError(
                "a file system whose keyset is only in this process cannot be pickled or written as JSON: make it with "
                "keyset='file:PATH', 'env:NAME' or 'exec:COMMAND', which each process reads itself"
            )

    def __reduce__(self) -> Any:
        """Pickle the arguments, with the name of the keyset."""
        self._check_name()
        return super().__reduce__()

    def to_dict(self, **options: Any) -> dict[str, Any]:
        """Return the arguments, with the name of the keyset; ``to_json`` calls this."""
        self._check_name()
        arguments: dict[str, Any] = super().to_dict(**options)
        return arguments

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        if isinstance(path, list):
            return [cls._strip_protocol(one) for one in path]
        return path.removeprefix("warpaes::").removeprefix("warpaes://")

    def _associated_data(self, path: str) -> Buffer | None:
        if callable(self.associated_data):
            return self.associated_data(path)
        return self.associated_data

    def _reader(self, path: str, size: int) -> Reader:
        def read_at(offset: int, buffer: memoryview) -> None:
            data = self.fs.cat_file(path, start=offset, end=offset + len(buffer))
            if len(data) != len(buffer):
                raise OSError(f"{path}: {len(data)} of {len(buffer)} bytes came; it is shorter than it was")
            buffer[:] = data

        return Reader(read_at, self.keyset, self._associated_data(path), size=size, _own=True)

    def _open(self, path: str, mode: str = "rb", **options: Any) -> Any:
        path = self._strip_protocol(path)
        associated_data = self._associated_data(path)
        if mode == "rb":
            return _ClosingReader(self.fs.open(path, "rb"), self.keyset, associated_data)
        if mode in ("wb", "xb"):
            # The file appears only when it is complete: the writer commits it, or discards it. The underlying "xb"
            # would create it at once, so this code checks for an existing file instead, here and again at the end.
            check = (lambda: self._refuse_existing(path)) if mode == "xb" else None
            if check is not None:
                check()
            below = self._create(path, mode == "xb")
            return _ClosingWriter(below, self.keyset, associated_data, check, options.get("autocommit", True))
        raise ValueError(f"mode must be rb, wb or xb, not {mode!r}: nothing can be added to a sealed file")

    def _create(self, path: str, exclusive: bool = False) -> Any:
        """Begin a file of the underlying file system that appears by ``commit``."""
        if not isinstance(self.fs, LocalFileSystem):
            return self.fs.open(path, "wb", autocommit=False)
        if self.fs.auto_mkdir:
            self.fs.makedirs(self.fs._parent(path), exist_ok=True)
        return _LocalFile(path, exclusive)

    def _refuse_existing(self, path: str) -> None:
        self.fs.invalidate_cache(path)
        if self.fs.exists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)

    def _plain(self, entry: dict[str, Any]) -> dict[str, Any]:
        """Return the entry of a listing with the size of the plaintext."""
        if entry["type"] != "file":
            return entry
        path, size = entry["name"], entry["size"]
        stamps = [entry.get(name) for name in ("ETag", "mtime", "LastModified", "created")]
        version = (path, size, str(next((stamp for stamp in stamps if stamp), None)))
        if version not in self._sizes:
            try:
                reader = self._reader(path, size)
                self._sizes[version] = reader.size
                reader.close()
            except (FormatError, InvalidTag):
                self._sizes[version] = None
        return {**entry, "size": self._sizes[version], "sealed_size": size}

    def info(self, path: str, **options: Any) -> dict[str, Any]:
        """Return the entry of a path: ``size`` is that of the plaintext, ``sealed_size`` that of the file."""
        return self._plain(self.fs.info(self._strip_protocol(path), **options))

    def ls(self, path: str, detail: bool = True, **options: Any) -> Any:
        """List a folder, with sizes as in ``info``."""
        entries = self.fs.ls(self._strip_protocol(path), detail=detail, **options)
        return [self._plain(entry) for entry in entries] if detail else entries

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **options: Any) -> bytes:
        """Return the plaintext of a file, or its range [start, end).

        Raises:
            InvalidTag: No key of the keyset opens the file, or it was altered.
        """
        return self._ranges(self._strip_protocol(path), [(start, end)])[0]

    def cat_ranges(
        self,
        paths: list[str],
        starts: Any,
        ends: Any,
        max_gap: int | None = None,
        on_error: str = "return",
        **options: Any,
    ) -> list[Any]:
        """Return ranges of plaintexts. Only the segments under them are fetched, and each file is opened once.

        Args:
            paths: The files; a path may occur several times.
            starts: The first byte of each range, or one for all.
            ends: The end of each range, or one for all.
            max_gap: Ignored.
            on_error: ``raise`` raises the first exception; otherwise it stands in the list in place of the file's
                ranges.
            options: Ignored.

        Raises:
            ValueError: The lists differ in length.
        """
        if not isinstance(starts, (list, tuple)):
            starts = [starts] * len(paths)
        if not isinstance(ends, (list, tuple)):
            ends = [ends] * len(paths)
        if len(starts) != len(paths) or len(ends) != len(paths):
            raise ValueError("paths, starts and ends must be of the same length")
        wanted: dict[str, list[int]] = {}
        for i, path in enumerate(paths):
            wanted.setdefault(self._strip_protocol(path), []).append(i)
        results: list[Any] = [None] * len(paths)
        for path, places in wanted.items():
            try:
                found: list[Any] = self._ranges(path, [(starts[i], ends[i]) for i in places])
            except Exception as error:
                if on_error == "raise":
                    raise
                found = [error] * len(places)
            for i, data in zip(places, found):
                results[i] = data
        return results

    def _ranges(self, path: str, ranges: list[tuple[int | None, int | None]]) -> list[bytes]:
        reader = self._reader(path, self.fs.info(path)["size"])
        try:
            pieces = []
            for start, end in ranges:
                first, last, _ = slice(start, end).indices(reader.size)
                pieces.append(reader.read(first, max(0, last - first)))
            return pieces
        finally:
            reader.close()

    def get_file(
        self,
        rpath: str,
        lpath: Any = None,
        callback: Any = DEFAULT_CALLBACK,
        outfile: Any = None,
        **options: Any,
    ) -> None:
        """Write the plaintext of a file to a local file, which appears when all of it is authentic.

        Raises:
            InvalidTag: No key of the keyset opens the file, or it was altered.
        """
        if outfile is None and isfilelike(lpath):
            outfile = lpath
        if outfile is None and self.isdir(rpath):
            os.makedirs(lpath, exist_ok=True)
            return
        with self.open(rpath, "rb", **options) as source, contextlib.ExitStack() as opened:
            if outfile is None:
                os.makedirs(os.path.dirname(os.fspath(lpath)) or ".", exist_ok=True)
                outfile = opened.enter_context(Output(lpath, replace=True))
            callback.set_size(source.size)
            while data := source.read(self.blocksize):
                outfile.write(data)
                callback.relative_update(len(data))

    # Operations that do not touch content are passed to the underlying file system.

    def mkdir(self, path: str, *positions: Any, **options: Any) -> Any:
        """Create a folder."""
        return self.fs.mkdir(self._strip_protocol(path), *positions, **options)

    def makedirs(self, path: str, exist_ok: bool = False) -> Any:
        """Create a folder and its parents."""
        return self.fs.makedirs(self._strip_protocol(path), exist_ok=exist_ok)

    def rmdir(self, path: str) -> Any:
        """Remove a folder."""
        return self.fs.rmdir(self._strip_protocol(path))

    def _rm(self, path: str) -> Any:
        return self.fs.rm_file(self._strip_protocol(path))

    def rm_file(self, path: str) -> Any:
        """Remove a file."""
        return self._rm(path)

    def cp_file(self, path1: str, path2: str, **options: Any) -> None:
        """Copy a file. If ``associated_data`` is a function of the path, the copy is encrypted again."""
        path1, path2 = self._strip_protocol(path1), self._strip_protocol(path2)
        if callable(self.associated_data):
            with self.open(path1, "rb") as source, self.open(path2, "wb") as target:
                shutil.copyfileobj(source, target, _COPY_BYTES)
        elif isinstance(self.fs, LocalFileSystem) and self.fs.isfile(path1):
            with open(path1, "rb") as source, Output(path2, replace=True) as copy:
                shutil.copyfileobj(source, copy, _COPY_BYTES)
        else:
            self.fs.cp_file(path1, path2, **options)

    def mv(self, path1: str, path2: str, **options: Any) -> Any:
        """Move a file. If ``associated_data`` is a function of the path, the file is encrypted again."""
        if callable(self.associated_data):
            return super().mv(path1, path2, **options)
        return self.fs.mv(self._strip_protocol(path1), self._strip_protocol(path2), **options)

    def created(self, path: str) -> Any:
        """Return the creation time of a file."""
        return self.fs.created(self._strip_protocol(path))

    def modified(self, path: str) -> Any:
        """Return the modification time of a file."""
        return self.fs.modified(self._strip_protocol(path))

    def invalidate_cache(self, path: str | None = None) -> None:
        """Forget the cached sizes and listings."""
        self._sizes.clear()
        self.fs.invalidate_cache(path)
