"""Adds mutants with switches to a source, so that one build contains many changed lines. The environment variable
WARPAES_MUTANT selects the active mutants of a process, such as "7" or "7,12".

A changed statement becomes `if (warpaes_mutant(7)) { changed } else { original }`, and a changed expression becomes
`(warpaes_mutant(7) ? (changed) : (original))`, on the same lines. Code that has an effect only at compile time
(constants, types, `if constexpr`) cannot have a switch.
"""

from __future__ import annotations

import bisect
import re
from dataclasses import dataclass, field

HEADER = """#pragma once
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <type_traits>

struct warpaes_active_mutants {
    unsigned char of[4096] = {};

    warpaes_active_mutants() {
        const char* at = ::getenv("WARPAES_MUTANT");
        while (at != nullptr && *at != '\\0') {
            char* end = nullptr;
            const unsigned long number = ::strtoul(at, &end, 10);
            if (number != 0 && number < sizeof of) of[number] = 1;
            at = *end == ',' ? end + 1 : nullptr;
        }
    }
};
inline const warpaes_active_mutants warpaes_active;

// Contains a byte for each mutant, in a file. The byte is 1 if this process or its children executed the mutant.
inline unsigned char* const warpaes_reached_mutants = []() -> unsigned char* {
    const char* path = ::getenv("WARPAES_MUTANTS_REACHED");
    const int file = path != nullptr ? ::open(path, O_RDWR | O_CLOEXEC) : -1;
    if (file < 0) return nullptr;
    void* const memory = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    ::close(file);
    return memory != MAP_FAILED ? static_cast<unsigned char*>(memory) : nullptr;
}();

constexpr bool warpaes_mutant(int number) noexcept {
    if (std::is_constant_evaluated()) return false;
    if (__builtin_expect(warpaes_reached_mutants != nullptr, 0)) warpaes_reached_mutants[number] = 1;
    return __builtin_expect(warpaes_active.of[number] != 0, 0);
}
"""

TOKEN = re.compile(
    r"""(?P<preprocessor>^[ \t]*\#(?:\\\n|[^\n])*)|(?P<nothing>\s+|//[^\n]*|/\*.*?\*/)
    |(?P<raw>R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)")|(?P<string>(?:u8|[uUL])?"(?:\\.|[^"\\\n])*")
    |(?P<number>\.?\d(?:[eEpP][+-]|'?[\w.])*)|(?P<char>(?:u8|[uUL])?'(?:\\.|[^'\\\n])+')|(?P<word>\w+)
    |(?P<sign><=>|<<=|>>=|->\*|\.\.\.|::|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|.)""",
    re.VERBOSE | re.MULTILINE | re.DOTALL,
)
PAIRS = {"(": ")", "[": "]", "{": "}"}
ASSIGNMENTS = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="}
BINARY = {"/", "%", "|", "^", "<=", ">=", "==", "!=", "||", "<<"}
UNARY = {"+", "-", "!", "~"}
ENDS = {",", ";", "return", "throw", "co_return", "case", *ASSIGNMENTS}
CLASSES = {"struct", "class", "enum", "union", "namespace", "extern"}
DECLARING = CLASSES | {"const", "constexpr", "constinit", "consteval", "static", "auto", "using", "typedef", "friend"}
DECLARING |= {"virtual", "explicit", "inline", "template", "static_assert", "thread_local", "unsigned", "signed", "int"}
DECLARING |= {"bool", "char", "void", "double", "float", "long", "short", "public", "private", "protected"}
LEAVING = {
    "asm",
    "return",
    "throw",
    "delete",
    "goto",
    "co_return",
    "co_yield",
    "co_await",
    "new",
    "case",
    "else",
    "if",
    "for",
}
COMPUTED = {"constexpr", "consteval", "constinit", "static_assert", "template", "enum", "using", "typedef", "case"}
COMPUTED |= {"asm", "alignas"}
VALUES = {"sizeof", "new", "alignof", "not", "const", "unsigned", "long", "struct", "typename"}
NO_VALUE = COMPUTED | {"{", "if", "for", "while", "switch", "do"}


@dataclass
class Token:
    text: str
    begin: int
    end: int


class Code:
    """The tokens of a file, and its pairs of brackets."""

    def __init__(self, text: str):
        self.text = text
        self.tokens = [
            Token(found.group(), found.start(), found.end())
            for found in TOKEN.finditer(text)
            if found.lastgroup != "nothing" and found["nothing"] is None
        ]
        self.words = [token.text for token in self.tokens]
        self.starts: list[int] = []
        self.match: dict[int, int] = {}
        opened: list[int] = []
        for i, word in enumerate(self.words):
            if word in PAIRS:
                opened.append(i)
            elif word in PAIRS.values() and opened and PAIRS[self.words[opened[-1]]] == word:
                begin = opened.pop()
                self.match |= {begin: i, i: begin}

    def of_line(self, line: int) -> range:
        """Return the indices of the tokens that begin in this line."""
        if not self.starts:
            self.starts = [0] + [found.end() for found in re.finditer("\n", self.text)] + [len(self.text) + 1]
        begins = [token.begin for token in self.tokens]
        return range(*(bisect.bisect_left(begins, self.starts[at]) for at in (line - 1, line)))

    def enclosing(self, i: int) -> int:
        """Return the index of the innermost bracket around token i, or -1 if there is none."""
        i -= 1
        while i >= 0 and not (self.words[i] in PAIRS and i in self.match):
            i = self.match.get(i, i) - 1
        return i

    def part(self, begin: int, end: int) -> str:
        return self.text[self.tokens[begin].begin : self.tokens[end - 1].end] if begin < end else ""

    def on_one_line(self, begin: int, end: int) -> str:
        return " ".join(self.words[begin:end])

    def head(self, i: int) -> list[str]:
        """Return the tokens of a statement before token i, without the contents of parentheses and brackets."""
        words: list[str] = []
        i -= 1
        while i >= 0 and self.words[i] not in {";", "}"} and not self.words[i].lstrip().startswith("#"):
            if self.words[i] == "{" and self.opens_block(i):
                break
            words.append(self.words[i])
            i = self.match.get(i, i) - 1 if self.words[i] in {")", "]"} else i - 1
        words.reverse()
        if words[:1] in (["case"], ["default"]) and ":" in words:
            words = words[words.index(":") + 1 :]
        return words[3:] if words[:3] == ["if", "constexpr", ")"] else words

    def opens_block(self, i: int) -> bool:
        """Return whether the brace at i begins statements or members rather than a list of values."""
        before = self.words[i - 1] if i else ";"
        if before in {
            ")",
            "]",
            ";",
            "{",
            "}",
            ":",
            "else",
            "do",
            "try",
            "const",
            "noexcept",
            "override",
            "mutable",
            "final",
        }:
            return True
        head = self.head(i)
        return bool(CLASSES & set(head[:3])) or "->" in head


@dataclass
class Switch:
    """A replacement of a part of the text. The mutant's number is inserted later."""

    begin: int
    end: int
    before: str
    after: str  # "%d" stands for the mutant's number


@dataclass
class Finder:
    """Finds the switches that can implement a changed line, with the best switch first."""

    old: Code
    new: Code
    line: int
    found: list[Switch] = field(default_factory=list)

    def __post_init__(self):
        before, after = self.old.of_line(self.line), self.new.of_line(self.line)
        old, new = self.old.words[before.start : before.stop], self.new.words[after.start : after.stop]
        limit = min(len(old), len(new))
        first = next((i for i in range(limit) if old[i] != new[i]), limit)
        same = next((i for i in range(limit - first) if old[-1 - i] != new[-1 - i]), limit - first)
        self.first, self.end, self.more = before.start + first, before.stop - same, len(new) - len(old)
        self.same = old == new

    def is_code(self) -> bool:
        """Return whether the changed line might compile."""
        if self.same:
            return False
        old, new = (
            code.words[span.start : span.stop] for code in (self.old, self.new) for span in [code.of_line(self.line)]
        )
        if any(old.count(sign) != new.count(sign) for sign in "()[]{}") and new:
            changes = [sum(words.count(a) - words.count(b) for a, b in PAIRS.items()) for words in (old, new)]
            if changes[0] != changes[1]:
                return False
        if not new and any(
            self.old.match.get(i, i) not in range(self.first, self.end) for i in range(self.first, self.end)
        ):
            return False
        known = set(self.old.words) | {"invoke", "true", "false", "nullptr", "1", "0"}
        before = self.old.words[self.first : self.end]
        after = self.new.words[self.first : self.end + self.more]
        for word in after:
            if re.match(r"[A-Za-z_]", word) and word not in known:
                return False
            if re.match(r"\d", word) and not re.fullmatch(
                r"(0[xX][\da-fA-F']+|0[bB][01']+|[\d']+(\.\d*)?(e-?\d+)?)[uUlLzZfF]*", word
            ):
                return False
        around = self.new.words[max(0, self.first - 1) : self.end + self.more + 1]
        for left, right in zip(around, around[1:]):
            if right in BINARY and (left in BINARY | UNARY | {"(", "[", "{", ",", "=", "return", ";", "?"}):
                return False
            if left in BINARY and right in {")", "]", ",", ";", "}"}:
                return False
        # `T& x` and `T* x`, as clang-format writes them
        if before and before[0] in {"&", "*", "&&"} and after[:1] != before[:1]:
            at = self.old.tokens[self.first]
            if self.old.text[at.begin - 1] not in " (!" and self.old.text[at.end] in " )>,":
                return False
        # changed brackets of a template
        of_template = {"<", ">", ">>"} & set(before[:1]) and after[:1] != before[:1]
        return not of_template or self.old.text[self.old.tokens[self.first].begin - 1] == " "

    def balanced(self, begin: int, end: int) -> tuple[int, int]:
        changed = True
        while changed:
            changed = False
            for i in range(begin, end):
                other = self.old.match.get(i)
                if other is not None and not begin <= other < end:
                    begin, end, changed = min(begin, other), max(end, other + 1), True
                    break
        return begin, end

    def separated(self, code: Code, begin: int, end: int, signs: set[str]) -> bool:
        i = begin
        while i < end:
            if code.words[i] in PAIRS and i in code.match:
                i = code.match[i]
            elif code.words[i] in signs:
                return True
            i += 1
        return False

    def around(self, begin: int, end: int, signs: set[str]) -> tuple[int, int]:
        words, match = self.old.words, self.old.match
        while begin > 0:
            word = words[begin - 1]
            if word in {")", "]"} or (word == "}" and not self.old.opens_block(match.get(begin - 1, 0))):
                begin = match.get(begin - 1, 0)
            elif word in PAIRS or word == "}" or word in signs or word.lstrip().startswith("#"):
                break
            else:
                begin -= 1
        while end < len(words):
            if words[end] in {"(", "["} or (words[end] == "{" and not self.old.opens_block(end)):
                end = match.get(end, len(words) - 1) + 1
            elif words[end] == "{" or words[end] in PAIRS.values() or words[end] in signs:
                break
            else:
                end += 1
        return begin, end

    def computed(self, begin: int) -> bool:
        """Return whether the compiler may need the value of the expression that begins at `begin`."""
        head = self.old.head(begin)
        if head[-1:] == ["["] and re.fullmatch(r"\w+|[>*&]", "".join(head[-3:-2])) and head[-3] not in LEAVING:
            return True  # the size of an array
        return bool(COMPUTED & set(head)) or any(word.startswith("#") for word in head)

    def add(self, begin: int, end: int, text: str):
        part = self.old.part(begin, end)
        if any(word.lstrip().startswith("#") for word in self.old.words[begin:end]):
            return
        at = self.old.tokens[begin].begin
        self.found.append(Switch(at, at + len(part), part, text))

    def names(self, begin: int, end: int) -> bool:
        """Return whether the tokens are a type and a name rather than a value."""
        words, i = self.old.words, begin
        while i + 1 < end:
            if words[i] in PAIRS and i in self.old.match:
                i = self.old.match[i]
            elif re.match(r"[A-Za-z_]", words[i]) and re.match(r"[A-Za-z_]", words[i + 1]) and words[i] not in VALUES:
                return True
            i += 1
        return words[begin] == "[" and begin + 1 < end and words[begin + 1] == "["

    def expressions(self):
        begin, end = self.first, self.end
        while True:
            begin, end = self.balanced(begin, end)
            for signs in (ENDS | {"?", ":"}, ENDS):
                if self.separated(self.old, begin, end, signs) or self.separated(
                    self.new, begin, end + self.more, signs
                ):
                    continue
                a, b = self.around(begin, end, signs)
                words = self.old.words[a:b]
                if not words or b + self.more == a or words[0] in NO_VALUE or self.computed(a) or self.names(a, b):
                    continue
                after = self.new.on_one_line(a, b + self.more)
                self.add(a, b, f"(warpaes_mutant(%d) ? ({after}) : ({self.old.part(a, b)}))")
            a, _ = self.around(begin, end, set())
            if a == 0 or self.old.words[a - 1] not in PAIRS or a - 1 not in self.old.match:
                return
            if self.old.words[a - 1] == "{" and self.old.opens_block(a - 1):
                return
            begin, end = a - 1, self.old.match[a - 1] + 1

    def declares(self, begin: int, end: int) -> bool:
        words = self.old.words
        if words[begin] in DECLARING or words[begin] == "[":
            return True
        if words[begin] in LEAVING or not re.match(r"[A-Za-z_]|::", words[begin]):
            return False
        i = begin
        while i < end and (words[i] == "::" or re.fullmatch(r"\w+", words[i])):
            if i > begin and words[i] != "::" and words[i - 1] != "::":
                break
            i = self.old.match.get(i + 1, i) + 1 if words[i] == "decltype" else i + 1
            if i < end and words[i] == "<":
                depth = 0
                while i < end:
                    depth += {"<": 1, ">": -1, ">>": -2}.get(words[i], 0)
                    i += 1
                    if depth <= 0:
                        break
        while i < end and words[i] in {"&", "*", "&&", "const"}:
            i += 1
        return (
            i < end - 1
            and bool(re.fullmatch(r"[A-Za-z_]\w*", words[i]))
            and words[i + 1] in {"=", "{", "(", ";", ",", "["}
        )

    def statement(self):
        words, match = self.old.words, self.old.match
        begin, end = self.balanced(self.first, self.end)
        outer = self.old.enclosing(begin)
        while outer >= 0 and not (words[outer] == "{" and self.old.opens_block(outer)):
            begin, end = outer, match[outer] + 1
            outer = self.old.enclosing(begin)
        if outer < 0:
            return
        ended = end > begin and words[end - 1] == ";"
        begin, after = self.around(begin, end, {";"})
        if not ended:
            end = after + 1
            if after >= len(words) or words[after] != ";":
                return
        while begin < end:
            if words[begin] in {"case", "default"} and ":" in words[begin:end]:
                begin = words.index(":", begin) + 1
            elif words[begin] == "else":
                begin += 1
            elif words[begin] in {"if", "for", "while"}:
                opening = begin + 1 + (words[begin + 1] == "constexpr")
                if words[opening] != "(" or opening not in match or match[opening] >= self.first:
                    break
                begin = match[opening] + 1
            else:
                break
        if not begin <= self.first or begin >= end or self.end > end:
            return
        if words[begin] == "if" and words[begin + 1] == "constexpr":
            return
        if end < len(words) and words[end] == "else" and words[begin] == "if":
            return
        if self.declares(begin, end) or "case" in words[begin:end] or self.head_of_class(begin):
            return
        after = self.new.on_one_line(begin, end + self.more)
        before = self.old.part(begin, end)
        if after.strip() in {"", ";"} and self.ends_function(begin, end):
            # Without the trap, the function could end without `return`, so the compiler would assume that the mutant is
            # never active.
            self.add(begin, end, "if (warpaes_mutant(%d)) { __builtin_trap(); } else { " + before + " }")
        elif after.strip() in {"", ";"}:
            self.add(begin, end, "if (!warpaes_mutant(%d)) { " + before + " }")
        else:
            self.add(begin, end, "if (warpaes_mutant(%d)) { " + after + " } else { " + before + " }")

    def ends_function(self, begin: int, end: int) -> bool:
        """Return whether a function would end without a `return` if this `return` were deleted."""
        words, opened = self.old.words, self.old.enclosing(begin)
        if words[begin] != "return" or end - begin == 2 or words[end : end + 1] != ["}"]:
            return False
        return self.old.head(opened)[:1] not in (["if"], ["for"], ["while"], ["switch"], ["else"], ["do"], [])

    def head_of_class(self, begin: int) -> bool:
        """Return whether `begin` is in a class or at namespace scope, where members or names are declared."""
        i = begin
        while i > 0:
            i -= 1
            if self.old.words[i] == "}" and i in self.old.match:
                i = self.old.match[i]
            elif self.old.words[i] == "{":
                return bool(CLASSES & set(self.old.head(i)[:3]))
        return True

    def switches(self) -> list[Switch]:
        self.statement()
        self.expressions()
        seen, chosen = set(), []
        for switch in self.found:
            key = (switch.begin, switch.end)
            if key not in seen:
                seen.add(key)
                chosen.append(switch)
        return chosen


def finder(code: Code, line: int, after: str) -> Finder:
    lines = code.text.split("\n")
    lines[line - 1] = after
    return Finder(code, Code("\n".join(lines)), line)


def start_of(text: str, line: int) -> int:
    """Return the position where a line begins."""
    return sum(len(before) + 1 for before in text.split("\n")[: line - 1])


def lines_of(text: str, switch: Switch) -> range:
    """Return the lines that a switch covers."""
    return range(text.count("\n", 0, switch.begin) + 1, text.count("\n", 0, switch.end) + 2)


def with_switches(text: str, chosen: list[tuple[int, Switch]], header: str) -> str:
    """Return the text with these numbered switches, which must not overlap. Line numbers do not change."""
    for number, switch in sorted(chosen, key=lambda item: -item[1].begin):
        text = text[: switch.begin] + switch.after.replace("%d", str(number), 1) + text[switch.end :]
    return f'#include "{header}"\n#line 1\n{text}'


def overlaps(taken: list[Switch], switch: Switch) -> bool:
    spans = sorted((other.begin, other.end) for other in taken)
    i = bisect.bisect(spans, (switch.end, 0))
    return any(end > switch.begin for _, end in spans[:i])
