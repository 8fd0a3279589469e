"""Prints untrusted text on a terminal."""

from __future__ import annotations


def printable(text: str) -> str:
    r"""Return text as one line that cannot control a terminal.

    Anyone who can write to a storage can choose the names in it. Control characters, which include the beginnings of
    escape sequences, characters that change the direction of writing or are invisible, separators of lines, and bytes
    that are not UTF-8 become escapes such as ``\x1b`` and ``\u202e``.
    """
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)
