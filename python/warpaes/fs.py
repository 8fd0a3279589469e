"""A file system of sealed files on top of any other fsspec file system.

For example ``fsspec.open("warpaes::s3://bucket/key", keyset=…)``.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import shutil
import warnings
from collections.abc import Callable
from typing import Any

from fsspec import AbstractFileSystem
from fsspec.callbacks import DEFAULT_CALLBACK
from fsspec.compression import compr
from fsspec.core import get_compression
from fsspec.implementations.dirfs import DirFileSystem
from fsspec.implementations.local import LocalFileSystem
from fsspec.implementations.memory import MemoryFileSystem
from fsspec.utils import isfilelike, stringify_path

from ._fs_datasets import DatasetFileSystem
from ._fs_files import ClosingReader, ClosingWriter, Compressed, LocalFile, MemoryFile
from ._fs_listing import Listing
from ._fs_names import LastingArguments, NamedFileSystem, again, underlying
from ._keyset_places import OWN, dataset_place, lasting_keyset_place, load_keyset, parse
from ._native import Keyset
from ._output import Output
from ._own_keysets import OwnKeysets
from .names import EncryptedNames

__all__ = ["WarpaesFileSystem"]

#: Number of bytes to copy at a time.
_COPY_BYTES = 16 << 20
_NAMES = "PATH, file:PATH, env:NAME, fd:NUMBER or exec:COMMAND"


class WarpaesFileSystem(LastingArguments, Listing):
    """The plaintexts of another file system's sealed files, under the same paths.

    Sizes are plaintext sizes. To find a size and to check that the file is complete, the file system opens the file
    with two reads: a few bytes and a segment. It caches the size until the file is replaced. A file that cannot be
    opened is listed with the size None, and ``du`` omits it. Listing names does not read the files.
    """

    protocol = "warpaes"
    _secret = "keyset"
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
        encrypted_names: str | None = None,
        **options: Any,
    ) -> None:
        """Create a file system on top of ``fs``, or on top of a protocol with its options.

        A pickle of the file system contains the place of its keyset. Each process that loads the pickle reads the
        keyset. A file system with a Keyset in memory cannot be pickled. Options must be trusted like code: ``exec:``
        runs a program.

        Args:
            keyset: A Keyset, or a location that ``warpaes.open`` accepts; required. Passing the JSON itself is
                deprecated, because options may leave this process.
            associated_data: The associated data of all files, or a function that returns it for a path, which several
                threads may call concurrently.
            fs: The underlying file system.
            target_protocol: The protocol of the underlying file system, if ``fs`` is None.
            target_options: The options for that protocol.
            fo: Ignored; fsspec passes it for chained URLs.
            kek: The place of the keyset's key-encryption key, if ``keyset`` does not name it.
            encrypted_names: The path or URL of a folder with encrypted names, as ``warpaes encrypt --encrypt-names``
                creates it. Paths below the folder are plaintext paths, and each file is bound to its path. Listing a
                folder raises InvalidTag or FormatError if a name in it is not authentic.
            options: Additional fsspec options.

        Raises:
            ValueError: The keyset is missing or its place is invalid, or the underlying file system is missing or
                asynchronous.
            KeysetError: The JSON is not a keyset, or ``kek`` is given and the keyset is not encrypted.
            OSError: The keyset cannot be read.
        """
        if fs is None and target_options is None and target_protocol in options:
            target_options = options.pop(target_protocol)  # a chained URL passes the options under this name
        super().__init__(**options)
        if keyset is None:
            raise ValueError(f"keyset is missing; name it by {_NAMES}, or pass keyset=warpaes.Keyset.parse(...)")
        self._keyset_name = ""
        self.own = self.datasets = None
        datasets = dataset_place(keyset)
        if datasets is not None:
            if kek is not None or associated_data is not None:
                raise ValueError(
                    "kek, associated_data: not allowed with a key for datasets, because the manifests of datasets "
                    "contain both"
                )
            self.keyset = Keyset()  # opens no files
            self._keyset_name = datasets.lasting() or str(keyset)
        elif isinstance(keyset, str) and keyset.endswith(OWN) and kek is None and (place := parse(keyset)).is_own:
            self.own = OwnKeysets(place)
            self.keyset = Keyset()  # opens no files
            self._keyset_name = place.lasting() or keyset
        elif isinstance(keyset, str) and not keyset.lstrip().startswith("{"):
            self.keyset = load_keyset(keyset, kek)
            self._keyset_name = lasting_keyset_place(keyset) or keyset
        elif kek is not None:
            raise ValueError(f"kek: allowed only if the keyset is named by {_NAMES}")
        elif isinstance(keyset, Keyset):
            self.keyset = keyset
        else:
            warnings.warn(
                f"keyset: unencrypted keys must not be passed in options; name the keyset by {_NAMES}",
                DeprecationWarning,
                stacklevel=3,
            )
            self.keyset = Keyset.parse(keyset)
        if encrypted_names is not None and (datasets is not None or self.own is not None):
            raise ValueError("encrypted_names: requires a separate keyset, neither own: nor a key for datasets")
        fs = underlying(fs, target_protocol, target_options)
        self._below_fs, self._process = fs, os.getpid()
        if encrypted_names is not None:
            associated_data = self._use_names(encrypted_names, fs, associated_data)
        self.associated_data = associated_data
        if datasets is not None:
            from .bulk.reading import Datasets  # requires pyarrow

            self.datasets = Datasets(datasets, lambda: self.fs.fs)
            self._below_fs = DatasetFileSystem(fs, self.datasets.names_of, self.datasets.refresh)

        def strip(path: Any) -> Any:
            """Strip the prefixes of both file systems. The method is set on the instance, because it depends on the
            underlying file system."""
            plain = type(self)._strip_protocol(path)
            if isinstance(plain, list):
                return [fs._strip_protocol(one) for one in plain]
            return fs._strip_protocol(plain)

        self._strip_protocol = strip  # type: ignore[method-assign]
        self._parent = lambda path: fs._parent(strip(path))
        self.root_marker = fs.root_marker
        self._sizes: dict[str, tuple[Any, int | None]] = {}

    def _use_names(self, root: str, fs: AbstractFileSystem, more: Any) -> Callable[[str], bytes]:
        """Insert a file system with plaintext paths between this file system and ``fs``. Return the function that
        computes the associated data of files."""
        named = self._below_fs = NamedFileSystem(fs, root, EncryptedNames(self.keyset))

        def bound(path: str) -> bytes:
            return named.names.associated_data(named.plain(path), more(path) if callable(more) else more)

        return bound

    @property
    def fs(self) -> AbstractFileSystem:
        """The underlying file system. If it is asynchronous, a process created by ``fork`` replaces it."""
        if self._process != os.getpid():
            below = self._below_fs
            self._below_fs = below.again() if isinstance(below, DatasetFileSystem) else again(below)
            self._process = os.getpid()  # set last, because another thread may be executing this method
        return self._below_fs

    def _lasting(self) -> Any:
        return self._keyset_name or self.keyset

    def _check_name(self) -> None:
        """Raise an exception if other processes cannot read the keyset."""
        if not self._keyset_name or lasting_keyset_place(self._keyset_name) is None:
            raise TypeError(
                "a file system whose keyset exists only in this process cannot be pickled or written as "
                "JSON; create it with keyset='file:PATH', 'env:NAME' or 'exec:COMMAND', so that each "
                "process reads the keyset itself"
            )

    def __reduce__(self) -> Any:
        """Pickle the arguments, with the place of the keyset."""
        self._check_name()
        return super().__reduce__()

    def to_dict(self, **options: Any) -> dict[str, Any]:
        """Return the arguments for ``to_json``, with the place of the keyset."""
        self._check_name()
        arguments: dict[str, Any] = super().to_dict(**options)
        return arguments

    def open(self, path: Any, mode: str = "rb", *positions: Any, compression: str | None = None, **options: Any) -> Any:
        """Open a file. The modes are ``rb``, ``wb``, ``xb`` and, for text, ``r``, ``w`` and ``x``."""
        if compression is None or "b" not in mode or "r" in mode:
            return super().open(path, mode, *positions, compression=compression, **options)
        name = get_compression(path, compression)
        file = super().open(path, mode, *positions, **options)
        return file if name is None else Compressed(file, compr[name](file, mode=mode[0]))

    def _open(self, path: str, mode: str = "rb", **options: Any) -> Any:
        path = self._strip_protocol(path)
        if mode == "rb":
            return self._again_if_replaced(path, lambda: self._open_reader(path, options))
        if mode in ("wb", "xb"):
            if self.datasets is not None:
                raise ValueError(
                    "a dataset is read-only in this file system; use `warpaes bulk encrypt` to write objects"
                )
            associated_data = self._associated_data(path)
            # The file appears only when it is complete, because the writer commits or discards it. The underlying "xb"
            # would create the file immediately, so this code checks for an existing file now and again at the end.
            check = (lambda: self._refuse_existing(path)) if mode == "xb" else None
            if check is not None:
                check()
            keyset, front = self.own.make() if self.own is not None else (self.keyset, b"")
            below = self._create(path, mode == "xb")
            if front:
                below.write(front)
            return ClosingWriter(below, keyset, associated_data, check, options.get("autocommit", True))
        raise ValueError(f"mode must be rb, wb or xb, not {mode!r}; encrypted files cannot be appended to")

    def _open_reader(self, path: str, options: dict[str, Any]) -> ClosingReader:
        keyset, associated_data = self._keys_of(path)
        return ClosingReader(self._open_below(path, options), self.own or keyset, associated_data, self, path)

    def _open_below(self, path: str, options: dict[str, Any]) -> Any:
        if isinstance(self._innermost(path)[0], MemoryFileSystem):
            # In fsspec's memory file system, all callers that open a file share the same file object and its position.
            return io.BytesIO(self.fs.open(path, "rb").getvalue())
        names = ("block_size", "cache_type", "cache_options")
        return self.fs.open(path, "rb", **{name: options[name] for name in names if options.get(name) is not None})

    def _innermost(self, path: str) -> tuple[Any, str]:
        """Return the file system below all wrappers that only prepend a folder, and the path in that file system."""
        below = self.fs
        while isinstance(below, (DatasetFileSystem, DirFileSystem, NamedFileSystem)):
            if isinstance(below, DatasetFileSystem):
                below = below.of(path)
                continue
            path = below.stored(path) if isinstance(below, NamedFileSystem) else below._join(path)
            below = below.fs
        return below, path

    def _create(self, path: str, exclusive: bool = False) -> Any:
        """Begin a file in the underlying file system. The file appears when ``commit`` is called."""
        if isinstance(self.fs, NamedFileSystem):
            self.fs.make_parts(self.fs.stored(path))
        below, inner = self._innermost(path)
        if isinstance(below, LocalFileSystem):
            inner = below._strip_protocol(inner)
            if below.auto_mkdir:
                below.makedirs(below._parent(inner), exist_ok=True)
            return LocalFile(inner, exclusive)
        if isinstance(below, MemoryFileSystem):
            with contextlib.suppress(FileNotFoundError):
                self.fs.open(path, "rb")  # raises for invalid targets, such as folders and paths below a file
            mode = "create" if exclusive else "overwrite"
            return MemoryFile(lambda data: self.fs.pipe_file(path, data, mode=mode))
        protocol = self.fs.protocol
        on_s3 = "s3" in ((protocol,) if isinstance(protocol, str) else protocol)
        mode = "xb" if exclusive and on_s3 else "wb"  # s3fs implements "xb" as a condition in the last request
        file = self.fs.open(path, mode, autocommit=False)
        self._take_out(file)
        return file

    def _take_out(self, file: Any) -> None:
        """Remove a file from the underlying file system's transaction. Opening the file without commit adds it to the
        transaction."""
        below = self.fs
        while below is not None:
            transaction = getattr(below, "_transaction", None)
            if transaction is not None and file in transaction.files:
                transaction.files.remove(file)
            below = getattr(below, "fs", None)

    def _make_parent(self, path: str) -> None:
        if isinstance(self.fs, LocalFileSystem) and self.fs.auto_mkdir:
            self.fs.makedirs(self.fs._parent(path), exist_ok=True)

    def _refuse_existing(self, path: str) -> None:
        self.fs.invalidate_cache(path)
        if self.fs.exists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)

    # -------------------------------------------------------------------------------------------------- reading

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **options: Any) -> bytes:
        """Return the plaintext of a file, or the range [start, end) of the plaintext.

        Raises:
            InvalidTag: No key of the keyset opens the file, or the file was altered.
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
        """Return ranges of plaintexts. Only the segments that contain the ranges are fetched, and each file is opened
        only once.

        Args:
            paths: The files; a path may occur several times.
            starts: The first byte of each range, or one value for all ranges.
            ends: The end of each range, or one value for all ranges.
            max_gap: Ignored.
            on_error: ``raise`` raises the first exception. Otherwise, the list contains a failed file's exception in
                place of its ranges.
            options: Ignored.

        Raises:
            ValueError: The lists differ in length.
        """
        if not isinstance(starts, (list, tuple)):
            starts = [starts] * len(paths)
        if not isinstance(ends, (list, tuple)):
            ends = [ends] * len(paths)
        if len(starts) != len(paths) or len(ends) != len(paths):
            raise ValueError("paths, starts and ends must have the same length")
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
        reader = self._current_reader(path)
        try:
            pieces = []
            for start, end in ranges:
                first, last, _ = slice(start, end).indices(reader.size)
                pieces.append(reader.read(first, max(0, last - first)))
            return pieces
        finally:
            reader.close()

    def get(self, rpath: Any, lpath: Any, *positions: Any, **options: Any) -> None:
        """Decrypt files to local paths, as ``get_file`` does. With ``recursive``, also decrypt folders."""
        super().get(stringify_path(rpath), stringify_path(lpath), *positions, **options)

    def get_file(
        self,
        rpath: str,
        lpath: Any = None,
        callback: Any = DEFAULT_CALLBACK,
        outfile: Any = None,
        **options: Any,
    ) -> None:
        """Write the plaintext of a file to a local file, which appears when it is complete and authentic.

        If the path is a folder, create an empty folder.

        Raises:
            InvalidTag: No key of the keyset opens the file, or the file was altered.
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
            if source.seekable():
                callback.set_size(source.size)
            while data := source.read(self.blocksize):
                outfile.write(data)
                callback.relative_update(len(data))

    # -------------------------------------------------------------------------------------------------- writing

    def pipe(self, path: Any, value: Any = None, **options: Any) -> None:
        """Write bytes to a file, or each value of a dictionary to its path."""
        super().pipe(stringify_path(path), value, **options)

    def pipe_file(self, path: str, value: Any, mode: str = "overwrite", **options: Any) -> None:
        """Write a file's bytes. The mode ``create`` raises an exception if the file exists."""
        with self.open(path, "xb" if mode == "create" else "wb", **options) as file:
            file.write(value)

    def put(self, lpath: Any, rpath: Any, *positions: Any, **options: Any) -> None:
        """Encrypt local files to a path. With ``recursive``, also encrypt folders."""
        super().put(stringify_path(lpath), stringify_path(rpath), *positions, **options)

    def put_file(
        self, lpath: Any, rpath: Any, callback: Any = DEFAULT_CALLBACK, mode: str = "overwrite", **options: Any
    ) -> None:
        """Encrypt a local file to a path whose folder is created if necessary. For a local folder, create an empty
        folder."""
        if os.path.isdir(lpath):
            self.makedirs(rpath, exist_ok=True)
            return
        with open(lpath, "rb") as source:
            callback.set_size(os.fstat(source.fileno()).st_size)
            path = self._strip_protocol(rpath)
            self.mkdirs(self.fs._parent(path), exist_ok=True)
            with self.open(path, "xb" if mode == "create" else "wb", **options) as target:
                while data := source.read(self.blocksize):
                    target.write(data)
                    callback.relative_update(len(data))

    def touch(self, path: str, truncate: bool = True, **options: Any) -> None:
        """Create an empty file. Without ``truncate``, set the time of an existing file."""
        path = self._strip_protocol(path)
        if not truncate and self.fs.exists(path):
            self.fs.touch(path, truncate=False, **options)
        else:
            self.pipe_file(path, b"", **options)

    # The underlying file system performs operations that do not access content.

    def mkdir(self, path: str, *positions: Any, **options: Any) -> Any:
        """Create a folder."""
        return self.fs.mkdir(self._strip_protocol(path), *positions, **options)

    def makedirs(self, path: str, exist_ok: bool = False) -> Any:
        """Create a folder and its parents."""
        return self.fs.makedirs(self._strip_protocol(path), exist_ok=exist_ok)

    def rmdir(self, path: str) -> Any:
        """Remove a folder."""
        return self.fs.rmdir(self._strip_protocol(path))

    def rm(self, path: Any, recursive: bool = False, maxdepth: int | None = None) -> Any:
        """Remove files, as the underlying file system does. With ``recursive``, also remove folders."""
        return self.fs.rm(self._below(path), recursive=recursive, maxdepth=maxdepth)

    def _rm(self, path: str) -> Any:
        return self.fs.rm_file(self._strip_protocol(path))

    def rm_file(self, path: str) -> Any:
        """Remove a file."""
        return self._rm(path)

    def copy(self, path1: Any, path2: Any, *positions: Any, **options: Any) -> Any:
        """Copy files, as ``cp_file`` does. With ``recursive``, also copy folders."""
        if callable(self.associated_data) or isinstance(self.fs, LocalFileSystem):
            return super().copy(stringify_path(path1), stringify_path(path2), *positions, **options)
        return self.fs.copy(self._below(path1), self._below(path2), *positions, **options)

    def cp_file(self, path1: str, path2: str, **options: Any) -> None:
        """Copy a file. If ``associated_data`` is a function of the path, the copy is re-encrypted.

        If the path is a folder, create an empty folder.
        """
        path1, path2 = self._strip_protocol(path1), self._strip_protocol(path2)
        if callable(self.associated_data) and self.fs.isfile(path1):
            with self.open(path1, "rb") as source, self.open(path2, "wb") as target:
                shutil.copyfileobj(source, target, _COPY_BYTES)
        elif callable(self.associated_data) and self.fs.isdir(path1):
            self.fs.makedirs(path2, exist_ok=True)
        elif isinstance(self.fs, LocalFileSystem) and self.fs.isfile(path1):
            self._make_parent(path2)
            if self.fs.exists(path2) and os.path.samefile(path1, path2):
                raise shutil.SameFileError(f"{path1!r} and {path2!r} are the same file")
            with open(path1, "rb") as source, Output(path2, replace=True) as copy:
                shutil.copyfileobj(source, copy, _COPY_BYTES)
        else:
            self.fs.cp_file(path1, path2, **options)

    def mv(self, path1: Any, path2: Any, recursive: bool = False, maxdepth: int | None = None, **options: Any) -> Any:
        """Move files or folders, as the underlying file system does.

        If ``associated_data`` is a function of the path, files are re-encrypted, and the originals are removed at the
        end.
        """
        if not callable(self.associated_data):
            options |= {} if isinstance(self.fs, LocalFileSystem) else {"maxdepth": maxdepth}
            return self.fs.mv(self._below(path1), self._below(path2), recursive=recursive, **options)
        if isinstance(self.fs, LocalFileSystem):
            recursive = True  # the local file system always moves folders, and does not replace files in a folder
            inside = f"{self._strip_protocol(path2)}/{self._strip_protocol(path1).rsplit('/', 1)[-1]}"
            if self.fs.exists(inside):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), inside)
        return super().mv(stringify_path(path1), stringify_path(path2), recursive=recursive, maxdepth=maxdepth)

    def created(self, path: str) -> Any:
        """Return the creation time of a file."""
        return self.fs.created(self._strip_protocol(path))

    def modified(self, path: str) -> Any:
        """Return the modification time of a file."""
        return self.fs.modified(self._strip_protocol(path))

    def invalidate_cache(self, path: str | None = None) -> None:
        """Clear the cached sizes and listings."""
        super().invalidate_cache(path)
        self._sizes.clear()
        self.fs.invalidate_cache(None if path is None else self._strip_protocol(path))
