"""Alters files and checks the results of readers.

A format is a class with two authentic files and every reader for them. Each alteration of the first file must lead to a
documented exception, and the reader must not have returned a byte that the author did not write at its position.
"""

from __future__ import annotations

import collections
import itertools
import json
import pathlib
import random
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Optional

from support import resident_bytes
from warpaes import exceptions

#: The maximum growth of the process's memory during half of a format's reads: a number of bytes, plus the size of this
#: many files.
MOST_GROWTH, MOST_FILES = 16 << 20, 24
#: Files that are larger than this are altered only around the ends of their parts and at some other positions.
LARGE = 64 << 10
KINDS = ("flip", "cut", "append", "swap", "field")

#: Collects bytes of the plaintext, starting at an offset.
Give = Callable[[int, bytes], None]
#: Reads a file. Returns None, or the name of one of the format's verdicts.
Reader = Callable[[bytes, Give], Optional[str]]


class Altered(NamedTuple):
    """An alteration. Its content is created only when it is used, because a file has many alterations and may be
    large."""

    kind: str
    words: str
    make: Callable[[], bytes]


class Part(NamedTuple):
    """A part of a file that can be exchanged with other parts of the same ``kind``."""

    kind: str
    begin: int
    end: int


def _flipped(content: bytes, at: int, mask: int) -> bytes:
    altered = bytearray(content)
    altered[at] ^= mask
    return bytes(altered)


def flips(content: bytes, places: Sequence[int]) -> Iterator[Altered]:
    """In each of these bytes, flip the highest bit, all bits, or a bit that depends on the position."""
    for at in places:
        for mask in sorted({1 << at % 8, 0x80, 0xFF}):
            yield Altered("flip", f"byte {at} ^ {mask:#x}", lambda at=at, mask=mask: _flipped(content, at, mask))


def cuts(content: bytes, places: Sequence[int]) -> Iterator[Altered]:
    """Truncate the file to each of these lengths, and remove various numbers of bytes from the front."""
    for at in places:
        yield Altered("cut", f"the first {at} bytes", lambda at=at: content[:at])
    for at in range(1, len(content), max(1, len(content) // 64)):
        yield Altered("cut", f"without the first {at} bytes", lambda at=at: content[at:])


def appends(content: bytes, other: bytes) -> Iterator[Altered]:
    """Append and prepend bytes, copies of the file, and another file."""
    noise = random.Random(len(content)).randbytes(4096)
    for words, tail in (
        *((f"{count} zeros", bytes(count)) for count in (1, 16, 4096)),
        *((f"{count} random bytes", noise[:count]) for count in (1, 16, 4096)),
        *((f"byte {byte:#x}", bytes([byte])) for byte in b"\n\r}],0A="),
        ("a copy", content),
        ("another file", other),
    ):
        yield Altered("append", f"{words} appended", lambda tail=tail: content + tail)
        yield Altered("append", f"{words} in front", lambda tail=tail: tail + content)


def swaps(content: bytes, other: bytes, parts: Callable[[bytes], list[Part]]) -> Iterator[Altered]:
    """Exchange parts between two files and within one file, omit parts, and duplicate parts."""
    mine, theirs = parts(content), parts(other)
    for i, part in enumerate(mine):
        begin, end = part.begin, part.end
        for j, foreign in enumerate(theirs):
            if foreign.kind == part.kind:
                piece = other[foreign.begin : foreign.end]
                yield Altered(
                    "swap",
                    f"{part.kind} {i} replaced by {j} of the other file",
                    lambda begin=begin, end=end, piece=piece: content[:begin] + piece + content[end:],
                )
        yield Altered("swap", f"{part.kind} {i} omitted", lambda b=begin, e=end: content[:b] + content[e:])
        yield Altered("swap", f"{part.kind} {i} twice", lambda b=begin, e=end: content[:e] + content[b:])
        for j, later in enumerate(mine[i + 1 :], i + 1):
            if later.kind == part.kind and later.begin >= end:

                def exchanged(first: Part = part, second: Part = later) -> bytes:
                    return b"".join(
                        content[a:b]
                        for a, b in (
                            (0, first.begin),
                            (second.begin, second.end),
                            (first.end, second.begin),
                            (first.begin, first.end),
                            (second.end, len(content)),
                        )
                    )

                yield Altered("swap", f"{part.kind} {i} and {j} exchanged", exchanged)


# ------------------------------------------------------------------------------------------------------- JSON

#: JSON texts that replace a member of a JSON file.
HOSTILE = (
    "null", "true", "0", "-1", "1", "4294967295", "4294967296", "9223372036854775808", "1e400", "-0.5", "NaN",
    '""', '"A"', '"\\ud800"', '"\\u0000"', '"../x"', "[]", "[null]", "{}", '{"a":{}}', "9" * 5000,
    '"' + "A" * 5000 + '"', "[" * 200 + "]" * 200, "[" * 100_000 + "]" * 100_000,
)  # fmt: skip

_Path = tuple[Any, ...]


def _paths(value: Any, path: _Path = ()) -> Iterator[tuple[_Path, Any]]:
    yield path, value
    if isinstance(value, (dict, list)):
        for name, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _paths(inner, (*path, name))


def _replaced(value: Any, path: _Path, change: Callable[[Any, Any], None]) -> Any:
    copy = json.loads(json.dumps(value))
    holder = copy
    for name in path[:-1]:
        holder = holder[name]
    change(holder, path[-1])
    return copy


#: Placeholders for a value that Python's JSON does not write, and for a second member with the same name.
_MARK, _TWIN = "the position of a value", r"\u0000twin"


def fields(
    content: bytes,
    other: bytes,
    read: Callable[[bytes], Any] = json.loads,
    write: Callable[[bytes], bytes] = bytes,
) -> Iterator[Altered]:
    """Exchange JSON members between two files, omit them, duplicate them, and replace their values with values of
    different types.

    ``read`` returns the JSON in a file, and ``write`` creates a file from altered JSON.
    """
    mine, theirs = read(content), read(other)
    foreign = dict(_paths(theirs))

    def text(value: Any, literal: str = "") -> bytes:
        return write(json.dumps(value).replace(_TWIN, "").replace(json.dumps(_MARK), literal).encode())

    for path, value in _paths(mine):
        if not path:
            continue
        where = ".".join(map(str, path))
        if path in foreign and foreign[path] != value:
            literal = json.dumps(foreign[path])
            yield Altered(
                "swap",
                f"{where} of the other file",
                lambda p=path, t=literal: text(_replaced(mine, p, _mark), t),
            )
        yield Altered("field", f"{where} omitted", lambda p=path: text(_replaced(mine, p, _remove)))
        for literal in HOSTILE:
            if literal != json.dumps(value):
                yield Altered(
                    "field",
                    f"{where} is {literal[:30]}",
                    lambda p=path, t=literal: text(_replaced(mine, p, _mark), t),
                )
        if isinstance(path[-1], str):
            yield Altered("field", f"{where} twice", lambda p=path, v=value: text(_doubled(mine, p), json.dumps(v)))
        if isinstance(value, list):
            yield Altered("swap", f"{where} reversed", lambda p=path, v=value: text(_replaced(mine, p, _reverse)))
            yield Altered("swap", f"{where} doubled", lambda p=path, v=value: text(_replaced(mine, p, _twice)))
        if isinstance(value, dict):
            extra = _replaced(mine, path, lambda holder, name: holder[name].__setitem__("unknown", 1))
            yield Altered("field", f"{where} has an unknown member", lambda extra=extra: text(extra))


def _mark(holder: Any, name: Any) -> None:
    holder[name] = _MARK


def _remove(holder: Any, name: Any) -> None:
    del holder[name]


def _reverse(holder: Any, name: Any) -> None:
    holder[name] = holder[name][::-1]


def _twice(holder: Any, name: Any) -> None:
    holder[name] = holder[name] * 2


def _doubled(value: Any, path: _Path) -> Any:
    return _replaced(value, path, lambda holder, name: holder.__setitem__(f"{name}\0twin", _MARK))


# --------------------------------------------------------------------------------------------------- judgement


class Format:
    """A format. Subclasses override ``name``, ``authentic``, ``plain`` and ``readers``, and other members as needed."""

    name = ""
    #: The exceptions that may end a read. Their types must match exactly.
    refusals: tuple[type[BaseException], ...] = (exceptions.InvalidTag, exceptions.FormatError)
    #: Verdicts that a reader may return instead of raising an exception, and the reason why each verdict is harmless.
    verdicts: dict[str, str] = {}  # noqa: RUF012
    #: Whether the other authentic file is also accepted in place of the first file.
    stands_alone = True

    def __init__(self, folder: pathlib.Path) -> None:
        """Create keys and files in ``folder``, which no other format uses."""
        self.folder = folder

    def authentic(self) -> tuple[bytes, bytes]:
        """Return two different files that the same key opens."""
        raise NotImplementedError

    def plain(self) -> bytes:
        """Return the plaintext of the first file."""
        raise NotImplementedError

    def readers(self) -> dict[str, Reader]:
        """Return all readers for the file."""
        raise NotImplementedError

    def parts(self, content: bytes) -> list[Part]:
        """Return the parts of a file that can be exchanged."""
        return []

    def more(self, first: bytes, second: bytes) -> Iterator[Altered]:
        """Yield further alterations, such as changed fields."""
        return iter(())

    def places(self) -> list[int]:
        """Return every position in a small file, or positions near the ends of parts and some other positions in a
        large file."""
        content = self.authentic()[0]
        if len(content) <= LARGE:
            return list(range(len(content)))
        around = {end + i for part in self.parts(content) for end in (part.begin, part.end) for i in range(-70, 70)}
        others = random.Random(len(content)).sample(range(len(content)), 300)
        return sorted(at for at in around.union(others) if 0 <= at < len(content))

    def alterations(self) -> Iterator[Altered]:
        """Yield all alterations of the first file."""
        first, second = self.authentic()
        places = self.places()
        yield from flips(first, places)
        yield from cuts(first, places)
        yield from appends(first, second)
        yield from swaps(first, second, self.parts)
        yield from self.more(first, second)

    def differs(self, content: bytes) -> bool:
        """Return whether a reader may refuse this content."""
        first, second = self.authentic()
        return content != first and not (self.stands_alone and content == second)


def chosen(every: Iterator[Altered], most: int | None, seed: int) -> list[Altered]:
    """Return all alterations, or at most ``most`` alterations of each kind."""
    kinds: dict[str, list[Altered]] = collections.defaultdict(list)
    for one in every:
        kinds[one.kind].append(one)
    choose = random.Random(seed)
    for kind, ones in kinds.items():
        if most is not None and len(ones) > most:
            kinds[kind] = choose.sample(ones, most)
    return list(itertools.chain.from_iterable(kinds.values()))


class Count:
    """The outcomes of a format's alterations with one reader."""

    def __init__(self, format_name: str, reader_name: str) -> None:
        """Start counting."""
        self.format, self.reader = format_name, reader_name
        self.kinds: collections.Counter[str] = collections.Counter()
        self.ends: collections.Counter[str] = (
            collections.Counter()
        )  #: the number of reads by exception type or exit status
        self.verdicts: collections.Counter[str] = collections.Counter()
        self.prefixes = 0  #: the number of reads that returned authentic bytes before the file was refused
        self.faults: list[str] = []

    def line(self) -> str:
        """Return the row for the table."""
        counts = " | ".join(str(self.kinds[kind]) for kind in KINDS)
        ends = ", ".join(f"{name} {count}" for name, count in sorted(self.ends.items()))
        verdicts = ", ".join(f"{name} {count}" for name, count in sorted(self.verdicts.items())) or "0"
        handed = "nothing" if not self.faults else f"**{len(self.faults)} FAULTS**"
        return f"| {self.format} | {self.reader} | {counts} | {handed} | {self.prefixes} | {verdicts} | {ends} |"


HEADING = (
    f"| format | read by | {' | '.join(f'{kind}s' for kind in KINDS)} | handed out | authentic parts first "
    f"| accepted | refused with |\n|---|---|{'--:|' * len(KINDS)}---|--:|---|---|"
)


class Judge:
    """Runs readers and checks that their results are allowed."""

    def __init__(self, of: Format) -> None:
        """Store the format whose altered files are judged."""
        self.format = of
        self.plain = of.plain()

    def one(self, count: Count, altered: Altered, read: Reader) -> None:
        """Read an altered file."""
        content = altered.make()
        if not self.format.differs(content):
            return
        given: list[tuple[int, bytes]] = []
        verdict: str | None = None
        error: BaseException | None = None
        try:
            verdict = read(content, lambda at, data: given.append((at, bytes(data))))
        except (KeyboardInterrupt, MemoryError):
            raise
        except BaseException as caught:
            error = caught
        self.result(count, altered, given, verdict, error)

    def result(
        self,
        count: Count,
        altered: Altered,
        given: list[tuple[int, bytes]],
        verdict: str | None,
        error: BaseException | None,
    ) -> None:
        """Judge a read."""
        count.kinds[altered.kind] += 1
        fault = ""
        handed = [(at, data) for at, data in given if data]
        if any(self.plain[at : at + len(data)] != data for at, data in handed):
            fault = "returned data that is not authentic"
        elif error is not None:
            fault = self.improper(error)
            count.ends[getattr(error, "shown", type(error).__name__)] += 1
            count.prefixes += bool(handed)
        elif verdict is None:
            fault = "accepted"
        elif verdict not in self.format.verdicts:
            fault = f"accepted: {verdict}"
        else:
            count.verdicts[verdict] += 1
        if fault:
            count.faults.append(f"{count.format}, {count.reader}: {altered.kind}, {altered.words}: {fault}")

    def improper(self, error: BaseException) -> str:
        """Return the fault of an exception, or "" if it has none."""
        kind, words = type(error), str(error)
        shown = f"{kind.__module__}.{kind.__name__}: {words[:150]}"
        if kind not in self.format.refusals:
            return shown
        if kind is not exceptions.InvalidTag and len(re.findall(r"\w+", words)) < 3:
            return f"no sentence: {shown}"
        if len(words) > 1000 or "Traceback" in words:
            return f"the message is too long: {shown}"
        return ""


def judged(of: Format, most: int | None, seed: int = 1) -> list[Count]:
    """Alter the first file of a format and read each altered file with every reader. At most ``most`` alterations of
    each kind are used."""
    judge = Judge(of)
    alterations = chosen(of.alterations(), most, seed)
    counts = []
    for name, read in of.readers().items():
        count = Count(of.name, name)
        # The unaltered file must open. Otherwise, refusals of altered files would not prove anything.
        given: list[tuple[int, bytes]] = []
        read(of.authentic()[0], lambda at, data, given=given: given.append((at, bytes(data))))
        if b"".join(data for _, data in sorted(given)) != judge.plain:
            count.faults.append(f"{of.name}, {name}: the authentic file cannot be read")
        before = resident_bytes()
        for number, altered in enumerate(alterations):
            if number == len(alterations) // 2:
                before = resident_bytes()  # caches and arenas have reached their size
            judge.one(count, altered, read)
        if (grown := resident_bytes() - before) > MOST_GROWTH + MOST_FILES * len(of.authentic()[0]):
            count.faults.append(f"{of.name}, {name}: {grown >> 20} MiB of memory remain")
        counts.append(count)
    return counts
