"""Searches the memory of the current process for plaintext.

The search words are stored multiplied by a constant, so that the list of words does not itself contain plaintext.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

#: This number is odd, so multiplication by it modulo 2^64 is invertible, and different words stay different.
FACTOR = np.uint64(0x9E3779B97F4A7C15)
BITS = 24
#: Distance in bytes between sampled plaintext words.
STEP = 16 << 10
PIECE = 32 << 20


def disguised(words: Any) -> Any:
    """Multiply 64-bit words by the constant."""
    with np.errstate(over="ignore"):
        return words * FACTOR


def needles_of(data: Any) -> Any:
    """Return a disguised word and its successor for every 16 KiB of plaintext. Words of zeros are left out."""
    words = np.frombuffer(data, np.uint64, len(data) // 8)
    first = words[: len(words) - 1 : STEP // 8]
    second = words[1 :: STEP // 8][: len(first)]
    pairs = np.stack([first, second], axis=1)
    return disguised(pairs[(pairs[:, 0] != 0) & (pairs[:, 1] != 0)])


class Scan:
    """Finds the search words and their successors in memory."""

    def __init__(self, needles: Any) -> None:
        """``needles`` is a result of ``needles_of``, or several results concatenated."""
        self._sorted = needles[np.argsort(needles[:, 0])]
        self._filter = np.zeros(1 << BITS, bool)
        self._filter[self._sorted[:, 0] >> np.uint64(64 - BITS)] = True

    def hits(self, data: Any) -> int:
        """Return the number of positions in ``data``, at multiples of 8 bytes, where a search word is followed by its
        successor."""
        words = disguised(np.frombuffer(data, np.uint64, len(data) // 8))
        places = np.flatnonzero(self._filter[words[:-1] >> np.uint64(64 - BITS)])
        first, second = words[places], words[places + 1]
        at = np.searchsorted(self._sorted[:, 0], first)
        at[at == len(self._sorted)] = 0
        return int(((self._sorted[at, 0] == first) & (self._sorted[at, 1] == second)).sum())

    def process(self, also: Iterable[Any] = ()) -> dict[str, Any]:
        """Search all writable memory of the process, and the buffers in ``also``, which ``/proc/self/mem`` may not
        show.

        Returns:
            ``hits``, the number of ``bytes`` that were read, and ``unread``, the number of bytes that could not be
            read, by mapping name.
        """
        found: dict[str, Any] = {"hits": 0, "bytes": 0, "unread": {}}
        for data in also:
            found["hits"] += self.hits(data)
            found["bytes"] += len(data)
        with open("/proc/self/mem", "rb", buffering=0) as memory:
            for begin, end, name in writable():
                for at in range(begin, end, PIECE):
                    size = min(PIECE, end - at)
                    data = b""
                    with contextlib.suppress(OSError, OverflowError, ValueError):
                        data = os.pread(memory.fileno(), size, at)
                    found["hits"] += self.hits(data) if len(data) >= 16 else 0
                    found["bytes"] += len(data)
                    if len(data) < size:
                        found["unread"][name] = found["unread"].get(name, 0) + size - len(data)
        return found


def writable() -> Iterator[tuple[int, int, str]]:
    """Yield the start, end and name of each readable and writable mapping of the process that has resident pages.

    Mappings of a driver's memory are also yielded, although the kernel counts no pages for them.
    """
    here: tuple[int, int, str] | None = None
    for line in Path("/proc/self/smaps").read_text().splitlines():
        first, *rest = line.split(maxsplit=5)
        if not first.endswith(":"):
            begin, end = (int(part, 16) for part in first.split("-"))
            name = rest[4].strip() if len(rest) > 4 else "anonymous"
            here = (begin, end, name) if rest[0].startswith("rw") else None
        elif first == "Rss:" and here is not None and (int(rest[0]) or "/dev/" in here[2]):
            yield here
