"""Rooms of the Python package: imports between modules, including those in functions and for types, have no cycle."""

from __future__ import annotations

import ast
import unittest
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "python/warpaes"


def imported(module: tuple[str, ...], text: str, modules: set[tuple[str, ...]]) -> set[tuple[str, ...]]:
    """The modules of the package that a module imports. `module` ends with `__init__` in a package's own file."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.ImportFrom) or node.level == 0:
            continue
        base = (*module[: -node.level], *(node.module.split(".") if node.module else ()))
        for name in node.names:
            for candidate in ((*base, name.name), (*base, name.name, "__init__"), base, (*base, "__init__")):
                if candidate in modules:
                    found.add(candidate)
                    break
    return found - {module}


def graph(root: Path) -> dict[tuple[str, ...], set[tuple[str, ...]]]:
    texts = {path.relative_to(root).with_suffix("").parts: path.read_text() for path in root.rglob("*.py*")}
    return {module: imported(module, text, set(texts)) for module, text in texts.items()}


def cycles(arrows: dict[tuple[str, ...], set[tuple[str, ...]]]) -> list[list[str]]:
    """Groups of modules that import each other."""

    def reached(start: tuple[str, ...]) -> set[tuple[str, ...]]:
        seen, todo = set(), [start]
        while todo:
            for other in arrows.get(todo.pop(), set()) - seen:
                seen.add(other)
                todo.append(other)
        return seen

    reach = {module: reached(module) for module in arrows}
    groups = {frozenset(a for a in reach[b] if b in reach[a]) for b in arrows if b in reach[b]}
    return sorted(sorted(".".join(module) for module in group) for group in groups)


class PythonRooms(unittest.TestCase):
    def test_imports_have_no_cycle(self):
        arrows = graph(PACKAGE)
        self.assertGreater(len(arrows), 60)
        self.assertGreater(sum(map(len, arrows.values())), 150)
        self.assertEqual(cycles(arrows), [])

    def test_bulk_is_above_the_rest(self):
        """The command begins bulk, and file systems read its datasets; nothing else of the package needs it."""
        above = {module for module, others in graph(PACKAGE).items() if any(other[0] == "bulk" for other in others)}
        outside = {module for module in above if module[0] != "bulk"}
        self.assertEqual(outside, {("__main__",), ("fs",), ("parquet", "_fs")})

    def test_cycles_are_found(self):
        arrows = {("a",): {("b",)}, ("b",): {("c",)}, ("c",): {("b",), ("d",)}, ("d",): set()}
        self.assertEqual(cycles(arrows), [["b", "c"]])
        modules = {("a",), ("b", "__init__"), ("b", "c"), ("d",)}
        self.assertEqual(imported(("b", "c"), "def f():\n    from .. import a, d", modules), {("a",), ("d",)})
        self.assertEqual(
            imported(("a",), "from .b import c\nfrom .b import x", modules), {("b", "c"), ("b", "__init__")}
        )


if __name__ == "__main__":
    unittest.main()
