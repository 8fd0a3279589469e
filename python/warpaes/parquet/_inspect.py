"""Descriptions of a Parquet file's encryption, with and without its keys."""

from __future__ import annotations

from typing import Any

from .. import _native
from . import _footer, _thrift
from ._source import Source
from ._view import PlainView

_STEP_BYTES = 8 << 20


def _shown(data: bytes | None) -> str | None:
    """Return bytes as text, or as hexadecimal digits if they are not text."""
    if data is None:
        return None
    text = data.decode("utf-8", "replace")
    return text if text.isprintable() and "\ufffd" not in text else "0x" + data.hex()


def describe(source: Source) -> dict[str, Any]:
    """Return information that can be read without keys. The information is not authenticated.

    Raises:
        FormatError: The file is not a Parquet file, or is damaged.
    """
    data = _footer.read_end(source.read, source.size)
    encrypted, plaintext, ctr, supply, stored, _, key_metadata, _ = _native.parquet_footer(data)
    if not encrypted:
        return {"bytes": source.size, "footer": "plaintext", "algorithm": None}
    return {
        "bytes": source.size,
        "footer": "plaintext, signed" if plaintext else "encrypted",
        "algorithm": "AES_GCM_CTR_V1" if ctr else "AES_GCM_V1",
        "pages_authenticated": not ctr,
        "aad_prefix": "must be supplied" if supply and stored is None else _shown(stored),
        "footer_key_metadata": _shown(key_metadata),
    }


def describe_view(view: PlainView) -> dict[str, Any]:
    """Return the information in the footer about rows and columns."""
    footer = view.footer
    columns: dict[str, dict[str, Any]] = {}
    for row in footer.chunks:
        for chunk in row:
            one = columns.setdefault(chunk.place.path, {"bytes": 0, "key": "none"})
            one["bytes"] += chunk.length
            if chunk.encrypted:
                one["key"] = "own" if chunk.own_key else "footer"
            if chunk.own_key:
                one["key_metadata"] = _shown(chunk.key_metadata)
            if chunk.encrypted and chunk.key is None:
                one["missing"] = True
    rows = _thrift.get(footer.metadata, _footer.NUM_ROWS, _thrift.I64, "the footer")
    return {"rows": rows, "row_groups": len(footer.chunks), "columns": columns}


def verify(view: PlainView, progress: Any = None) -> int:
    """Decrypt all modules of all columns whose keys are available. Return the total size of these modules in the file.

    Raises:
        InvalidTag: A module is not authentic.
        FormatError: The file is damaged.
    """
    footer = view.footer
    parts = [(one.start, one.length) for row in footer.chunks for one in row if one.encrypted and one.key is not None]
    parts += [(one.start, one.length) for one in footer.spans]
    total = sum(length for _, length in parts)
    done = 0
    for start, length in sorted(parts):
        for at in range(start, start + length, _STEP_BYTES):
            step = min(_STEP_BYTES, start + length - at)
            view.read_at(at, step)
            done += step
            if progress is not None:
                progress(done, total)
    return total
