"""Files that KvikIO reads into device memory, and the choice between KvikIO and reading with threads."""

from __future__ import annotations

import os
from typing import Any

from ._sealed_file import Ranges

#: The ways to read ciphertext for a GPU: threads that read into page-locked memory, or the package kvikio.
READERS = ("threads", "kvikio")


def check_reader(reader: str) -> None:
    """Raise ValueError unless ``reader`` is one of ``READERS``."""
    if reader not in READERS:
        raise ValueError(f"reader must be threads or kvikio, not {reader!r:.40}")


def ranges_of(filename: str | os.PathLike[str], reader: str) -> Ranges:
    """Open a file for a reader. Raises the same exceptions as ``safetensors.safe_open``."""
    check_reader(reader)
    if reader == "threads":
        return Ranges(filename)
    path = os.fspath(filename)
    return RemoteDeviceRanges(path) if "://" in path and not os.path.exists(path) else DeviceRanges(path)


class DeviceRanges(Ranges):
    """A local file that KvikIO reads into device memory. Reads into host memory work as for other files."""

    reads_to_device = True

    def __init__(self, filename: str) -> None:
        """Open a file for reads into host and device memory.

        Raises:
            ModuleNotFoundError: The package kvikio is not installed.
            OSError, RuntimeError: The file cannot be opened.
        """
        import kvikio

        super().__init__(filename)
        try:
            # Opened through its descriptor, because another file may have replaced it at the path.
            assert self._file is not None
            self._device_file = kvikio.CuFile(f"/proc/self/fd/{self._file.fileno()}", "r")
        except BaseException:
            super().close()
            raise

    def begin_fill(self, at: int, room: Any) -> Any:
        """Begin to read into device memory. Return a future for the number of bytes."""
        return self._device_file.pread(room, room.nbytes, at)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._device_file.close()
        super().close()


class RemoteDeviceRanges(Ranges):
    """An object or file at a URL that KvikIO reads into host or device memory."""

    reads_to_device = True
    piece_bytes, threads = 16 << 20, 8

    def __init__(self, url: str, options: dict[str, Any] | None = None) -> None:
        """Open an ``s3:``, ``http:`` or ``https:`` URL.

        Args:
            url: The URL.
            options: Options with the same names as in s3fs: ``endpoint_url``, ``key``, ``secret``, ``token``. The
                defaults come from the environment (``AWS_ENDPOINT_URL``, ``AWS_ACCESS_KEY_ID``, …).

        Raises:
            ValueError: The URL scheme is not supported, or an option is unknown.
        """
        import kvikio

        scheme, given = url.partition("://")[0], dict(options or {})
        self.name = url
        if scheme == "s3":
            names = {"endpoint_url": "aws_endpoint_url", "key": "aws_access_key_id", "secret": "aws_secret_access_key",
                     "token": "aws_session_token"}  # fmt: skip
            unknown = given.keys() - names.keys()
            if unknown:
                raise ValueError(f"storage_options: kvikio does not support the option {sorted(unknown)[0]}")
            named = {names[name]: value for name, value in given.items()}
            self._remote: Any = kvikio.RemoteFile.open_s3_url(url, **named)
        elif scheme in ("http", "https") and not given:
            self._remote = kvikio.RemoteFile.open_http(url)
        else:
            raise ValueError(
                f"kvikio supports only s3:, http: and https: URLs, and options only for s3:, not {url!r:.80}"
            )
        self.size = self._remote.nbytes()

    def check_open(self) -> None:
        if self._remote is None:
            raise ValueError("I/O operation on closed file")

    def _read(self, at: int, rooms: list[memoryview]) -> int:
        size = min(rooms[0].nbytes, self.size - at)
        return int(self._remote.pread(rooms[0], size, at).get()) if size > 0 else 0

    def begin_fill(self, at: int, room: Any) -> Any:
        """Begin to read into device memory. Return a future for the number of bytes."""
        return self._remote.pread(room, room.nbytes, at)

    def close(self) -> None:
        self._remote = None
