"""The name patterns of --include and --exclude, with the same meaning as for directories in the warpaes command."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from .rows import order

#: The character classes within brackets, as ASCII bytes.
CLASSES = {
    b"alnum": rb"0-9A-Za-z",
    b"alpha": rb"A-Za-z",
    b"blank": rb" \t",
    b"cntrl": rb"\x00-\x1f\x7f",
    b"digit": rb"0-9",
    b"graph": rb"\x21-\x7e",
    b"lower": rb"a-z",
    b"print": rb"\x20-\x7e",
    b"punct": rb"\x21-\x2f\x3a-\x40\x5b-\x60\x7b-\x7e",
    b"space": rb" \t\n\r\f\v",
    b"upper": rb"A-Z",
    b"xdigit": rb"0-9A-Fa-f",
}
#: Replaces a bracket expression that matches no byte.
NEVER = rb"(?!)"


class Pattern:
    """A pattern that matches names, or paths if it contains a slash. If it ends with a slash, it matches only
    folders."""

    def __init__(self, option: str, text: str) -> None:
        """Parse a pattern, or raise a ValueError that names the option.

        Names are compared as bytes, and `*` matches slashes.
        """
        wanted = order(text)
        while wanted.startswith(b"./"):
            wanted = wanted[2:]
        self.only_folders = wanted.endswith(b"/")
        wanted = wanted.rstrip(b"/")
        if not wanted:
            raise ValueError(f"{option} {text!r}: the pattern matches no name")
        self.of_path = b"/" in wanted
        try:
            self._match: Callable[[bytes], object] = re.compile(translated(wanted), re.DOTALL).fullmatch
        except ValueError as error:
            raise ValueError(f"{option} {text!r}: {error}") from None

    def matches(self, path: bytes, is_folder: bool) -> bool:
        """Return whether the pattern matches an object or one of its folders."""
        if self.only_folders and not is_folder:
            return False
        return self._match(path if self.of_path else path.rpartition(b"/")[2]) is not None


class Patterns:
    """The patterns of a job. Objects that match --exclude are skipped, even if they match --include."""

    def __init__(self, include: Sequence[str], exclude: Sequence[str]) -> None:
        """Parse the patterns of the command line."""
        self._include = [Pattern("--include", text) for text in include]
        self._exclude = [Pattern("--exclude", text) for text in exclude]

    def __bool__(self) -> bool:
        """Return whether there are any patterns."""
        return bool(self._include or self._exclude)

    def take(self, *names: str) -> bool:
        """Return whether the patterns select an object with these names (encrypted and plaintext)."""
        paths = [way for name in dict.fromkeys(names) for way in _ways(order(name))]
        if any(pattern.matches(*way) for pattern in self._exclude for way in paths):
            return False
        return not self._include or any(pattern.matches(*way) for pattern in self._include for way in paths)


def _ways(path: bytes) -> Iterator[tuple[bytes, bool]]:
    """Yield the folders of a path, and the path itself."""
    at = path.find(b"/")
    while at >= 0:
        if at:
            yield path[:at], True
        at = path.find(b"/", at + 1)
    yield path, False


def translated(pattern: bytes) -> bytes:
    """Translate a POSIX fnmatch pattern (no flags, C locale) to a regular expression.

    The text after each `*` is matched at its first occurrence without backtracking, so no name is slow to match.
    """
    groups: list[list[bytes]] = [[]]
    for piece in _pieces(pattern):
        if piece == b"*":
            groups.append([])
        else:
            groups[-1].append(piece)
    first, *rest = [b"".join(group) for group in groups]
    if not rest:
        return first
    *middle, last = rest
    return first + b"".join(b"(?>.*?%s)" % each for each in middle if each) + b".*" + last


def _pieces(pattern: bytes) -> Iterator[bytes]:
    """Split a pattern into pieces: `*`, or a regular expression for one byte."""
    at = 0
    while at < len(pattern):
        byte = pattern[at : at + 1]
        at += 1
        if byte == b"*":
            yield byte
        elif byte == b"?":
            yield b"."
        elif byte == b"\\":
            if at == len(pattern):
                raise ValueError(r"nothing follows the last \; write \\ for the character itself")
            yield re.escape(pattern[at : at + 1])
            at += 1
        elif byte == b"[":
            piece, at = _bracket(pattern, at)
            yield piece
        else:
            yield re.escape(byte)


def _bracket(pattern: bytes, at: int) -> tuple[bytes, int]:
    """Return a regular expression for the bracket expression whose `[` is just before `at`, and its end."""
    negated = pattern[at : at + 1] in (b"!", b"^")
    at += negated
    parts: list[bytes] = []
    begin = at
    while True:
        byte = pattern[at : at + 1]
        if not byte:
            raise ValueError(r"a [ has no matching ]; write \[ for the character itself")
        if byte == b"]" and at != begin:
            break
        if byte == b"[" and pattern[at + 1 : at + 2] in (b".", b"="):
            raise ValueError("[. and [= are not supported within brackets")
        if byte == b"[" and pattern[at + 1 : at + 2] == b":":
            name, end, _ = pattern[at + 2 :].partition(b":]")
            if not end or name not in CLASSES:
                raise ValueError(f"a class within brackets must be one of {', '.join(map(bytes.decode, CLASSES))}")
            parts.append(CLASSES[name])
            at += len(name) + 4
            continue
        low, at = _one(pattern, at)
        high = low
        if pattern[at : at + 1] == b"-" and pattern[at + 1 : at + 2] not in (b"", b"]"):
            if pattern[at + 1 : at + 3] in (b"[.", b"[=", b"[:"):
                raise ValueError("a range within brackets must end with a character")
            high, at = _one(pattern, at + 1)
        if low <= high:
            parts.append(b"\\x%02x-\\x%02x" % (low, high))
    if not parts:
        return (b"." if negated else NEVER), at + 1
    return b"[%s%s]" % (b"^" if negated else b"", b"".join(parts)), at + 1


def _one(pattern: bytes, at: int) -> tuple[int, int]:
    r"""Return one byte within brackets, possibly escaped by \, and the position after it."""
    at += pattern[at : at + 1] == b"\\"
    if at >= len(pattern):
        raise ValueError(r"a [ has no matching ]; write \[ for the character itself")
    return pattern[at], at + 1
