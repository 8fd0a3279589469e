"""The parts of KvikIO 26.10 that warpaes uses: reads into device memory, which end when the caller waits."""

from __future__ import annotations

import os
import sys
import types
import urllib.parse
from typing import Any

import warpaes

#: The objects by URL, and the reads: the name, the offset, the number of bytes, and whether the target is device
#: memory.
objects: dict[str, bytes] = {}
reads: list[tuple[str, int, int, bool]] = []
#: The S3 options that were passed.
options: list[dict[str, Any]] = []


class IOFuture:
    """A read that runs when its result is requested. The data may have changed by that time."""

    def __init__(self, action: Any) -> None:
        self._action, self._result = action, None

    def get(self) -> int:
        if self._result is None:
            self._result = self._action()
        return self._result


def _into(buf: Any, data: bytes) -> int:
    if data:
        warpaes.copy(buf[: len(data)], data)
    return len(data)


class CuFile:
    def __init__(self, file: str, flags: str = "r") -> None:
        if flags != "r":
            raise ValueError(flags)
        self._name = os.path.realpath(file)
        self._descriptor = os.open(file, os.O_RDONLY)
        self.closed = False

    def pread(self, buf: Any, size: int | None = None, file_offset: int = 0, task_size: int | None = None) -> IOFuture:
        size = buf.nbytes if size is None else size
        reads.append((self._name, file_offset, size, getattr(buf, "is_cuda", False)))
        return IOFuture(lambda: _into(buf, os.pread(self._descriptor, size, file_offset)))

    def close(self) -> None:
        if not self.closed:
            os.close(self._descriptor)
        self.closed = True


class RemoteFile:
    def __init__(self, url: str) -> None:
        if url not in objects:
            raise RuntimeError(f"{url}: 404")
        self._url = url

    @classmethod
    def open_http(cls, url: str, nbytes: int | None = None) -> RemoteFile:
        return cls(url)

    @classmethod
    def open_s3_url(
        cls,
        url: str,
        nbytes: int | None = None,
        aws_region_name: str | None = None,
        aws_access_key_id: str | None = None,
        aws_secret_access_key: str | None = None,
        aws_endpoint_url: str | None = None,
        aws_session_token: str | None = None,
    ) -> RemoteFile:
        if urllib.parse.urlparse(url).scheme != "s3":
            raise ValueError(f"Unsupported protocol: {url}")
        options.append({"endpoint": aws_endpoint_url, "key": aws_access_key_id, "secret": aws_secret_access_key})
        return cls(url)

    def nbytes(self) -> int:
        return len(objects[self._url])

    def pread(self, buf: Any, size: int | None = None, file_offset: int = 0) -> IOFuture:
        size = buf.nbytes if size is None else size
        reads.append((self._url, file_offset, size, getattr(buf, "is_cuda", False)))
        return IOFuture(lambda: _into(buf, objects[self._url][file_offset : file_offset + size]))


def install() -> None:
    """Install this module as kvikio, without reads and objects."""
    module: Any = types.ModuleType("kvikio")
    module.CuFile, module.RemoteFile = CuFile, RemoteFile
    sys.modules["kvikio"] = module
    for each in (objects, reads, options):
        each.clear()
