"""Converts the declarations and comments of the headers to Markdown pages. Each header becomes a page with its
declarations in the same order.

In a header, a comment (`/** */` or `///`) precedes its declaration. A page shows the declaration under its name,
without function bodies and private members. The comment follows the declaration.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field
from pathlib import Path

SECTION = re.compile(r"(?:/\*|//) -{5,} (?P<name>.+?)\s*(?:\*/)?$")
DEFINE = re.compile(r"#define (?P<name>\w+)(?P<rest>(?:.*\\\n)*.*)")
TRANSPARENT = re.compile(r'(?:extern "C"|(?:inline )?namespace \w+(?:::\w+)*)\s*\{')
HIDDEN = re.compile(r"namespace (?:\w+::)?detail\s*\{")
TYPE = re.compile(r"(?:typedef\s+)?(?:struct|class|enum|union)\b")
ACCESS = re.compile(r"^\s*(public|private|protected):\s*$")
INDENT = "    "


@dataclass
class Item:
    """Declarations that share a comment."""

    names: list[str] = field(default_factory=list)
    code: list[str] = field(default_factory=list)
    text: str = ""


@dataclass
class Header:
    path: str
    text: str
    sections: list[tuple[str, list[Item]]]

    def items(self) -> list[Item]:
        return [item for _, items in self.sections for item in items]


def _plain(comment: str) -> str:
    """Return a comment's text without comment marks. The indentation inside the comment is kept."""
    if comment.startswith("/*"):
        body = re.sub(r"^/\*+!?|\*/$", "", comment)
        lines = [re.sub(r"^\s*\* ?(?!\*)", "", line) if i else line.strip() for i, line in enumerate(body.splitlines())]
    else:
        lines = [re.sub(r"^\s*///? ?", "", line) for line in comment.splitlines()]
    return "\n".join(line.rstrip() for line in lines if "SPDX-License-Identifier" not in line).strip("\n")


def _close(text: str, at: int) -> int:
    """Return the position after the bracket that closes the brace or parenthesis at `at`. Brackets in comments and
    literals are skipped."""
    pairs = {"{": "}", "(": ")"}
    opening, closing, depth = text[at], pairs[text[at]], 0
    while at < len(text):
        if skipped := _skip(text, at):
            at = skipped
            continue
        depth += (text[at] == opening) - (text[at] == closing)
        at += 1
        if depth == 0:
            return at
    raise ValueError(f"{opening} is not closed")


def _skip(text: str, at: int) -> int:
    """Return the position after the comment or literal that begins at `at`, or 0 if none begins there."""
    if text.startswith("//", at):
        end = text.find("\n", at)
        return end if end >= 0 else len(text)
    if text.startswith("/*", at):
        return text.index("*/", at) + 2
    if text[at] == '"' or (text[at] == "'" and not text[at - 1].isalnum()):
        return re.compile(r"(?:\\.|[^\\" + text[at] + r"])*" + text[at]).match(text, at + 1).end()
    return 0


def _signature(text: str) -> str:
    """Return a function's head, without a constructor's initializers."""
    text = _without_marks(text).rstrip()
    depth = 0
    for i, char in enumerate(text):
        depth += (char in "(<") - (char in ")>" and text[i - 1 : i + 1] != "->")
        if char == ":" and depth == 0 and ")" in text[:i] and ":" not in (text[i - 1], text[i + 1 : i + 2]):
            return text[:i].rstrip()
    return text


def _without_marks(text: str) -> str:
    """Remove words that contain no information for a reader, and keep aligned lines aligned."""
    for mark in ("WARPAES_API ", "__forceinline__ "):
        if mark in text:
            text = re.sub(rf"^ {{{len(mark)}}}(?= {{8}})", "", text.replace(mark, ""), flags=re.MULTILINE)
    return text


def _is_function(head: str) -> bool:
    """Return whether a brace after `head` begins a body."""
    bare = re.sub(r"//.*|/\*.*?\*/", "", head).strip()
    bare = re.sub(r"^template\s*<.*?>\s*(?=\w)", "", bare, flags=re.DOTALL)
    return "(" in bare and not TYPE.match(bare) and not re.search(r"(?<!operator)(?<![=!<>])=\s*$", bare)


def _declaration(text: str, at: int) -> tuple[str, int]:
    """Return the declaration that begins at `at`, without bodies, and the position after the declaration."""
    start = at
    while at < len(text):
        if skipped := _skip(text, at):
            at = skipped
        elif text[at] == "(":
            at = _close(text, at)
        elif text[at] == "{":
            head, end = text[start:at], _close(text, at)
            if _is_function(head):
                return _signature(head) + ";", end
            at = end
        elif text[at] == ";":
            rest = re.compile(r"[ \t]*///?<.*(?:\n\s*//(?!/).*)*").match(text, at + 1)
            at = rest.end() if rest else at + 1
            return _without_bodies(_without_marks(text[start:at])), at
        else:
            at += 1
    raise ValueError(f"a declaration does not end: {text[start : start + 80]!r}")


def _without_bodies(text: str) -> str:
    """Return a type's public part, without function bodies and private members."""
    bare = re.sub(r"^template\s*<.*?>\s*(?=struct|class)", "", text, flags=re.DOTALL)
    opening = text.find("{")
    if opening < 0 or not re.match(r"(?:struct|class)\b", bare):
        return text
    out, at, start = [text[: opening + 1]], opening + 1, opening + 1
    end = _close(text, opening) - 1
    while at < end:
        if skipped := _skip(text, at):
            at = skipped
        elif text[at] == "(":
            at = _close(text, at)
        elif text[at] == "{":
            closing = _close(text, at)
            head = text[start:at]
            comments, code = _split(head)
            if _is_function(code):
                out.append(comments + _signature(code) + ";")
                at = start = closing
            else:
                at = closing
        elif text[at] == ";" or (text[at] == ":" and ACCESS.match(text[start : at + 1].splitlines()[-1])):
            rest = re.compile(r"[ \t]*///?<.*(?:\n\s*//(?!/).*)*").match(text, at + 1)
            at = rest.end() if rest else at + 1
            out.append(text[start:at])
            start = at
        else:
            at += 1
    out.append(text[start:end])
    shown, lines = not bare.startswith("class"), []
    for line in "".join(out).splitlines():
        if access := ACCESS.match(line):
            shown = access[1] == "public"
            if not shown or bare.startswith("struct"):
                continue
        if shown or not lines or line.startswith(("class", "struct", "template")):
            lines.append(line)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).rstrip() + "\n" + text[end:]


def _split(text: str) -> tuple[str, str]:
    """Split a text into its leading blanks and comments, and the rest."""
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
        elif text.startswith(("//", "/*"), at):
            at = _skip(text, at)
        else:
            break
    return text[:at], text[at:]


def _name(code: str) -> str:
    bare = re.sub(r"//.*|/\*.*?\*/", "", code, flags=re.DOTALL).strip()
    if bare.startswith("template"):
        depth = 0
        for i, char in enumerate(bare):
            depth += (char == "<") - (char == ">")
            if char == ">" and depth == 0:
                bare = bare[i + 1 :].strip()
                break
    patterns = (
        r"typedef (?:struct|enum|union)\b.*\}\s*(\w+)\s*;$",
        r"typedef .*?\(\*(\w+)\)",
        r"typedef .*?(\w+)\s*;$",
        r"(?:enum class|enum|struct|class|union)\s+(?:alignas\([^)]*\)\s*)?(\w+)",
        r"(?:using|concept)\s+(\w+)",
        r"(?:inline |static )?constexpr\s[^=({]*?(\w+)\s*[={;]",
        r"(operator\s?\S+?)\s*\(",
        r"(~?\w+)\s*\(",
    )
    for pattern in patterns:
        if found := re.match(pattern, bare, re.DOTALL) or (
            pattern[0] in "(~" and re.search(pattern, re.sub(r"__attribute__\(\(.*?\)\)|requires .*", "", bare))
        ):
            return found[1]
    return ""  # an enumeration without a name


def parse(path: Path, name: str) -> Header:
    text = path.read_text()
    at = re.compile(r"\s*(?:/\*(?!\*).*?\*/|(?://.*\n)+)", re.DOTALL if text.startswith("/*") else 0).match(text).end()
    header = Header(name, _plain(text[:at].strip()), [("", [])])
    comment, joined = "", False
    while at < len(text):
        rest = text[at:]
        items = header.sections[-1][1]
        if rest[0].isspace():
            blank = re.match(r"\s+", rest)[0]
            joined = joined and blank.count("\n") < 2
            comment = "" if blank.count("\n") > 1 else comment
            at += len(blank)
        elif line := SECTION.match(rest.partition("\n")[0]):
            header.sections.append((line["name"], []))
            at += rest.index("\n") if rest.startswith("//") else rest.index("*/") + 2
        elif rest.startswith(("//", "/*")):
            run = re.match(r"(?:[ \t]*//.*\n)+", rest)
            found = run[0] if rest.startswith("//") else rest[: rest.index("*/") + 2]
            comment, joined = (_plain(found.strip()) if found.startswith(("///", "/**")) else ""), False
            at += len(found) - (found.endswith("\n"))
        elif rest.startswith("#"):
            define = DEFINE.match(rest)
            if define and (comment or define["name"].endswith(("_INIT", "_VERSION"))) and not joined:
                items.append(Item([define["name"]], [define[0]], comment))
                comment = ""
            at += len(define[0]) if define else len(re.match(r"(?:.*\\\n)*.*", rest)[0])
            joined = False
        elif hidden := HIDDEN.match(rest):
            at = _close(text, at + hidden.end() - 1)
            comment = ""
        elif opening := TRANSPARENT.match(rest):
            at += opening.end()
            comment = ""
        elif rest[0] == "}":
            at += 1
        else:
            code, at = _declaration(text, at)
            named = _name(code)
            if re.match(r"(?:struct|class|union)\s+\w+;$|WARPAES_|template <typename Type, auto|friend", code.strip()):
                comment, joined = "", False
                continue
            if not (joined and items and not comment and named in items[-1].names):
                items.append(Item(text=comment))
            if named and named not in items[-1].names:
                items[-1].names.append(named)
            items[-1].code.append(code.strip("\n"))
            comment, joined = "", True
    header.sections = [(title, items) for title, items in header.sections if items]
    return header


# ----------------------------------------------------------------------------------------------------------- Markdown


def _prose(text: str, links: dict[str, str]) -> str:
    """Convert a paragraph of a comment to Markdown: escape everything except `code`, and link names of declarations."""
    out = []
    for i, part in enumerate(re.split(r"(`[^`]+`)", text)):
        if i % 2:
            out.append(f"[{part}]({links[part[1:-1]]})" if part[1:-1] in links else part)
        else:
            escaped = re.sub(r"([*\\\[\]])", r"\\\1", part).replace("&", "&amp;").replace("<", "&lt;")
            out.append(
                re.sub(r"\bwarpaes_\w+", lambda m: f"[{m[0]}]({links[m[0]]})" if m[0] in links else m[0], escaped)
            )
    return "".join(out)


def prose(text: str, links: dict[str, str]) -> str:
    """Convert a comment to Markdown. Keeps paragraphs, lists (items begin with " - ") and indented code."""
    out = []
    text = re.sub(r":\n(?= - )", ":\n\n", text)
    for paragraph in re.split(r"\n\s*\n", text):
        if not paragraph.strip():
            continue
        if re.match(r"\s?- ", paragraph):
            lines = (re.sub(r"^\s?(- |  )", r"\1", line) for line in paragraph.splitlines())
            out.append(_prose(re.sub(r"\n  (?! )", "\n    ", "\n".join(lines)), links))
        elif all(line.startswith("  ") for line in paragraph.splitlines()):
            if out and out[-1].endswith("\n```"):
                out[-1] = f"{out[-1][:-3]}\n{paragraph}\n```"
            else:
                out.append(f"```cpp\n{paragraph}\n```")
        else:
            out.append(_prose("\n".join(map(str.strip, paragraph.splitlines())), links))
    return "\n\n".join(re.sub(r"(?<=\n)    |(?<=\n)  (?=\S)", "", part) if part[:3] == "```" else part for part in out)


def page(header: Header, links: dict[str, str]) -> str:
    """Convert a header to a page. `links` maps names to the locations of their declarations."""
    out = [f"# {header.path}", prose(header.text, links), f"```cpp\n#include <warpaes/{header.path}>\n```"]
    seen: set[str] = set()
    for title, items in header.sections:
        if title:
            out.append(f"## {title[0].upper()}{title[1:]}")
        level = "###" if title else "##"
        for item in items:
            name = item.names[0] if item.names else "Constants"
            anchor = f" {{ #{name} }}" if name in links and name not in seen else ""
            seen.add(name)
            out.append(f"{level} `{name}`{anchor}")
            out.append("```cpp\n" + "\n".join(item.code) + "\n```")
            if item.text:
                out.append(prose(item.text, links))
    return "\n\n".join(out) + "\n"


def pages(include: Path) -> dict[str, str]:
    """Return the pages of all headers in include/warpaes, by name."""
    paths = [*sorted(include.glob("*.h")), *sorted(include.glob("*.hpp")), *sorted(include.glob("**/*.cuh"))]
    made = [parse(path, str(path.relative_to(include))) for path in paths]
    where: dict[str, str] = {}
    for header in made:
        for item in header.items():
            for name in item.names:
                if re.fullmatch(r"\w+", name):
                    where.setdefault(name, header.path)
    out = {}
    for header in made:
        folder = posixpath.dirname(header.path) or "."
        links = {name: f"{posixpath.relpath(path, folder)}.md#{name}" for name, path in where.items()}
        out[header.path] = page(header, links)
    return out
