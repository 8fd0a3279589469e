"""Opening of encrypted Parquet files."""

from __future__ import annotations

from typing import Any

from ._keys import IcebergKeyMetadata, KeysLike, key_ring
from ._source import open_source
from ._view import PlainView


def open(
    file: Any,
    keys: KeysLike,
    aad_prefix: bytes | None = None,
    require_gcm: bool = False,
    allow_plaintext: bool = False,
    drop_missing: bool = False,
) -> PlainView:
    """Open an encrypted Parquet file. Return a file object that contains the unencrypted file.

    Args:
        file: A path, a URL that fsspec opens (``s3://…``), or a seekable file object, which stays open.
        keys: A key of 16, 24 or 32 bytes for the footer and all columns that do not have their own keys; a function
            that returns the key for given key metadata, or None; or ``Keys``, ``KeyMaterial`` or
            ``IcebergKeyMetadata``.
        aad_prefix: The AAD prefix with which the file was written, unless it is stored in the file. If both exist, they
            must be equal. With ``IcebergKeyMetadata``, None means the prefix in the metadata.
        require_gcm: Whether to refuse files whose pages are not authenticated (AES_GCM_CTR_V1).
        allow_plaintext: Whether to open unencrypted files unchanged. By default they are refused, because anyone could
            replace an encrypted file with an unencrypted file.
        drop_missing: Whether to omit columns without a key from the view. Otherwise, readers see these columns, and
            reading such a column raises KeyError. A reader that reads the whole file, as Polars does with file objects,
            then fails.

    Raises:
        FormatError: The file is not a Parquet file, or is damaged.
        InvalidTag: The footer is not authentic: the key or the AAD prefix is wrong, or the file was altered.
        KeyError: The key of the footer is missing or, with ``drop_missing``, the keys of all columns are missing.
        ValueError: The AAD prefix is missing or differs from the stored prefix, or a key has the wrong length.
        OSError: The file cannot be read.
    """
    ring = key_ring(keys)
    if aad_prefix is None and isinstance(ring, IcebergKeyMetadata):
        aad_prefix = ring.aad_prefix or None
    source = open_source(file)
    try:
        if isinstance(ring, IcebergKeyMetadata) and ring.file_length not in (None, source.size):
            raise ValueError(f"file: has {source.size} bytes, but {ring.file_length} according to its key metadata")
        return PlainView(source, ring, aad_prefix, require_gcm, allow_plaintext, drop_missing)
    except BaseException:
        source.close()
        raise
