"""Loading of encrypted folders with ``from_pretrained`` of other packages."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

from .._fork_lock import ForkLock
from .._native import Keyset
from ..exceptions import FormatError
from ..safetensors import safe_open
from ._folder import MANIFEST, Folder

_turn = threading.Lock()


class _Opener:
    """Replaces ``safetensors.safe_open`` for the files of encrypted model folders."""

    def __init__(self, keys: Keyset | str, root: str | os.PathLike[str] | None = None, reader: str = "threads") -> None:
        self._keys, self._reader = keys, reader
        self._lock = ForkLock()
        self._folders: dict[str, Folder] = {}
        self._opened = False
        self._root = None if root is None else os.path.abspath(os.fspath(root))
        if self._root is not None:
            self._folder_at(self._root)

    def __call__(self, filename: Any, framework: str, device: Any = "cpu", **options: Any) -> safe_open:
        """Open a file. ``options`` are ignored, because options such as safetensors' ``backend`` only affect how
        unencrypted files are read."""
        path = os.path.abspath(os.fsdecode(filename))
        root = self._root or self._root_of(path)
        folder = self._folder_at(root)
        self._opened = True
        return folder.open(os.path.relpath(path, root), framework, "cpu" if device is None else device)

    def _folder_at(self, root: str) -> Folder:
        with self._lock:
            if root not in self._folders:
                folder = Folder(root, self._keys, reader=self._reader)
                folder.check_shards()
                self._folders[root] = folder
            return self._folders[root]

    @staticmethod
    def _root_of(path: str) -> str:
        root = os.path.dirname(path)
        while not os.path.lexists(os.path.join(root, MANIFEST)):
            if root == os.path.dirname(root):
                raise FormatError(
                    f"{path} is not in an encrypted model folder, so it cannot be authenticated; load it outside "
                    "unlocked()"
                )
            root = os.path.dirname(root)
        return root

    def check(self) -> None:
        """Compare the names of the files in the folders, and the unencrypted files, with the manifests again."""
        if not self._opened:
            raise FormatError("no file of an encrypted model folder was opened within unlocked()")
        for folder in self._folders.values():
            folder.check_clear()


def _replace(old: Any, new: Any) -> None:
    """Replace a function in all modules that have imported it under any name."""
    for module in list(sys.modules.values()):
        with contextlib.suppress(Exception):  # sys.modules may contain objects that are not modules
            for name in [name for name, value in vars(module).items() if value is old]:
                setattr(module, name, new)


def _refusing(what: str) -> Callable[..., Any]:
    """Return the replacement for a function that reads weights without authentication."""

    def refuse(*_: Any, **__: Any) -> Any:
        raise FormatError(f"{what} reads unauthenticated data; load it outside unlocked()")

    return refuse


@contextlib.contextmanager
def in_place_of(old: Any, new: Any) -> Iterator[None]:
    """Replace a function in all modules until the block ends."""
    _replace(old, new)
    try:
        yield
    finally:
        _replace(new, old)


@contextlib.contextmanager
def unlocked(keys: Keyset | str, folder: str | os.PathLike[str] | None = None) -> Iterator[None]:
    """Make ``from_pretrained`` of transformers, diffusers and other packages load encrypted model folders.

    Within the ``with`` block, ``safetensors.safe_open`` opens only files in encrypted folders, and each tensor is
    authenticated when it is read. Any other file is refused, and so are ``torch.load`` and ``safetensors.torch.load``,
    which reads bytes. If ``folder`` is given, the headers of all shards and the unencrypted files, such as
    ``config.json``, are compared with the manifest before the block begins. The unencrypted files are compared again at
    the end. The block raises an exception if they have changed or if no file was opened. The block affects the entire
    process, so only one block can be active.

    Args:
        keys: A Keyset, or a location that ``Keyset.load`` accepts.
        folder: The encrypted folder that the block loads. Files in other folders are refused. None permits any
            encrypted folder. Each folder is then compared when its first shard is opened, and nothing binds these
            folders to the folder that ``from_pretrained`` reads: an attacker's folder with its own configuration can
            contain an index that points to the shards of an encrypted folder.

    Raises:
        RuntimeError: Another block is active.
        ModuleNotFoundError: The package safetensors is not installed.
        InvalidTag, FormatError, KeysetError, OSError: For the same reasons as ``Folder`` and ``Folder.open``.
    """
    with opening(keys, folder):
        yield


@contextlib.contextmanager
def opening(
    keys: Keyset | str, folder: str | os.PathLike[str] | None, reader: str = "threads"
) -> Iterator[Callable[..., safe_open]]:
    """Implement ``unlocked``. Yield the function that replaces ``safetensors.safe_open``.

    ``reader`` selects how the ciphertext is read for a GPU; see ``safetensors.safe_open``.
    """
    import safetensors

    with contextlib.suppress(ModuleNotFoundError):  # it refers to safe_open by its own name
        importlib.import_module("safetensors.torch")

    if not _turn.acquire(blocking=False):
        raise RuntimeError("unlocked: another block is active in this process; end it first")
    try:
        opener = _Opener(keys, folder, reader)
        with contextlib.ExitStack() as places:
            places.enter_context(in_place_of(safetensors.safe_open, opener))
            # transformers and diffusers read whole files with this function, for example with disable_mmap.
            places.enter_context(in_place_of(safetensors.deserialize, _refusing("safetensors.deserialize")))
            if (torch := sys.modules.get("torch")) is not None:
                # Packages fall back to this function if they find no *.safetensors.
                places.enter_context(in_place_of(torch.load, _refusing("torch.load")))
            yield opener
        opener.check()
    finally:
        _turn.release()
