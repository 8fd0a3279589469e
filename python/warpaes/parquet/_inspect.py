"""What an encrypted Parquet file is encrypted with, as far as that can be read without and with its keys."""

from __future__ import annotations

from typing import Any

from ..exceptions import FormatError
from . import _footer, _thrift
from ._source import Source
from ._thrift import BINARY, STRUCT, Struct
from ._view import PlainView

_STEP_BYTES = 8 << 20


def _shown(data: bytes | None) -> str | None:
    """Return bytes as text, or as hexadecimal digits if they are not text."""
    if data is None:
        return None
    text = data.decode("utf-8", "replace")
    return text if text.isprintable() and "\ufffd" not in text else "0x" + data.hex()


def describe(source: Source) -> dict[str, Any]:
    """Return what can be read without keys; none of it is authenticated.

    Raises:
        FormatError: The file is not a Parquet file, or is damaged.
    """
    size = source.size
    if size < 12:
        raise FormatError("not a Parquet file: it is shorter than 12 bytes")
    tail = source.read(size - 8, 8)
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] not in (b"PAR1", b"PARE") or length > size - 12:
        raise FormatError("not a Parquet file: it does not end with a footer's length and PAR1 or PARE")
    data = source.read(size - 8 - length, length)
    found: dict[str, Any] = {"bytes": size, "footer": "encrypted" if tail[4:] == b"PARE" else "plaintext, signed"}
    if tail[4:] == b"PARE":
        top = _thrift.Reader(data, "FileCryptoMetaData").struct()
        algorithm = _thrift.need(top, 1, STRUCT, "FileCryptoMetaData")
        key_metadata = _thrift.get(top, 2, BINARY, "FileCryptoMetaData")
    else:
        top = _thrift.Reader(data, "the footer").struct()
        algorithm = _thrift.get(top, _footer.ALGORITHM, STRUCT, "the footer")
        if algorithm is None:
            return {"bytes": size, "footer": "plaintext", "algorithm": None}
        key_metadata = _thrift.get(top, _footer.SIGNING_KEY_METADATA, BINARY, "the footer")
    number = next(iter(algorithm), 0)
    one: Struct = _thrift.get(algorithm, number, STRUCT, "the encryption algorithm") or {}
    found["algorithm"] = {1: "AES_GCM_V1", 2: "AES_GCM_CTR_V1"}.get(number, f"unknown ({number})")
    found["pages_authenticated"] = number == 1
    stored = _thrift.get(one, 1, BINARY, "the encryption algorithm")
    supply = bool(one.get(3, (0, False))[1])
    found["aad_prefix"] = "must be supplied" if supply and stored is None else _shown(stored)
    found["footer_key_metadata"] = _shown(key_metadata)
    return found


def describe_view(view: PlainView) -> dict[str, Any]:
    """Return what the footer contains about rows and columns."""
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
    """Decrypt all modules of all columns with keys; return how many bytes of the file they take.

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
