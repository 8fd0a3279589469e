"""Escaping of untrusted text for a terminal."""

from __future__ import annotations


def printable(text: str) -> str:
    r"""Return text as one line that cannot control a terminal.

    Anyone who can write to a storage can choose the names in it. Control characters (including those that begin escape
    sequences), invisible characters, characters that change the writing direction, line separators, and bytes that are
    not UTF-8 become escapes such as ``\x1b`` and ``\u202e``.
    """
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)
