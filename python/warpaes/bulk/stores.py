"""Opening of the storage that a URL names."""

from __future__ import annotations

from typing import Any

from .storage import Storage, is_local


def open_storage(url: str, options: dict[str, Any] | None = None) -> Storage:
    """Return the storage that a URL or a local path names."""
    protocol, separator, rest = url.partition("://")
    if is_local(url):
        from .local import LocalStorage

        return LocalStorage(rest if separator else url, bool((options or {}).get("follow")))
    if protocol in ("s3", "s3a"):
        from .s3 import S3Storage

        return S3Storage(rest, options or {})
    from .remote import RemoteStorage

    return RemoteStorage(url)
