"""Encrypted Parquet files (Parquet modular encryption) for any reader.

``open`` returns a file object that contains the unencrypted file, which pyarrow, DuckDB, Polars, pandas and others read
like any other file. Pages keep their offsets, so only the parts that a reader requests are fetched and decrypted.
"""

from __future__ import annotations

from ._ags1 import Ags1Reader, open_ags1, write_ags1
from ._keys import (
    IcebergKeyMetadata,
    KeyFunction,
    KeyMaterial,
    KeyRing,
    Keys,
    KeysLike,
    KmsClient,
    MetadataKeys,
    SourceKms,
)
from ._open import open
from ._rewrite import Encryption, rewrite
from ._tables import ParquetFile, read_table, write_table
from ._view import PlainView

__all__ = [
    "Ags1Reader",
    "Encryption",
    "IcebergKeyMetadata",
    "KeyFunction",
    "KeyMaterial",
    "KeyRing",
    "Keys",
    "KeysLike",
    "KmsClient",
    "MetadataKeys",
    "ParquetFile",
    "PlainView",
    "SourceKms",
    "open",
    "open_ags1",
    "read_table",
    "rewrite",
    "write_ags1",
    "write_table",
]
