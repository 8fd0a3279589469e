"""Attributes of objects in an object store: content type and similar fields, user metadata, and tags.

The names of attributes are those that boto3 uses. The manifest contains the attributes of the original objects. Files
next to an object do not affect which attributes are restored.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from typing import Any

#: The response headers that contain attributes.
HEADERS = {
    "content-type": "ContentType",
    "cache-control": "CacheControl",
    "content-disposition": "ContentDisposition",
    "content-encoding": "ContentEncoding",
    "content-language": "ContentLanguage",
    "expires": "Expires",
    "x-amz-website-redirect-location": "WebsiteRedirectLocation",
}
META = "x-amz-meta-"
METADATA, TAGS = "Metadata", "Tagging"
#: The names of all attributes.
NAMES = (*HEADERS.values(), METADATA, TAGS)
#: The default content type of objects.
NO_TYPE = "binary/octet-stream"

Attributes = dict[str, Any]


def from_headers(headers: Mapping[str, str], own: set[str]) -> Attributes:
    """Return an object's attributes except its tags. `own` contains the names of metadata to omit."""
    found: Attributes = {}
    metadata = {}
    for name, value in headers.items():
        lower = name.lower()
        if lower.startswith(META) and lower.removeprefix(META) not in own:
            metadata[lower.removeprefix(META)] = value
        elif lower in HEADERS:
            found[HEADERS[lower]] = value
    if found.get("ContentType") == NO_TYPE:
        del found["ContentType"]
    if encoding := found.pop("ContentEncoding", ""):
        parts = [part.strip() for part in encoding.split(",") if part.strip() not in ("", "aws-chunked")]
        if parts:
            found["ContentEncoding"] = ", ".join(parts)
    if metadata:
        found[METADATA] = metadata
    return found


def of_sealed(attributes: Attributes) -> Attributes:
    """Return the attributes of an encrypted object. Its content does not have the original's encoding."""
    return {name: value for name, value in attributes.items() if name != "ContentEncoding"}


def to_text(attributes: Attributes) -> str:
    """Serialize attributes to the text that a manifest row stores."""
    return json.dumps(attributes, sort_keys=True, separators=(",", ":")) if attributes else ""


@functools.lru_cache(1024)
def names_in(text: str) -> frozenset[str]:
    """Return the names of the attributes in a row."""
    return frozenset(from_text(text))


def from_text(text: str) -> Attributes:
    """Return the attributes in an authentic row."""
    found: Attributes = json.loads(text) if text else {}
    return found
