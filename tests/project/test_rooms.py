"""Tests dependencies. Includes between the folders of src/ are those in the table in docs/architecture.md.
Imports between the modules of the Python package contain no cycle, including imports in functions and for types."""

import ast
import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python/warpaes"
ARCHITECTURE = (ROOT / "docs/architecture.md").read_text()


def rooms_of_table() -> dict[str, list[str]]:
    """Return the folders that each folder includes, from the table in docs/architecture.md."""
    rows = re.findall(r"^\| (`[\w/`, ]+`) \| (`[^;|]*`)", ARCHITECTURE[ARCHITECTURE.index("| room |") :], re.MULTILINE)
    return {room: re.findall(r"`(\w+)`", row[1]) for row in rows for room in re.findall(r"`([\w/]+)`", row[0])}


TABLE = rooms_of_table()
#: The folders that have a row together, because they implement the same interface.
BACKENDS = re.findall(r"\w+", re.search(r"^\| (`cpu`.*?) \|", ARCHITECTURE, re.MULTILINE)[1])


def arrows() -> dict[tuple[str, str], Path]:
    """Return the edges from each folder to the folders whose headers it includes, each with an example file."""
    found = {}
    for path in (ROOT / "src").glob("*/**/*.[ch]*"):
        room = path.relative_to(ROOT / "src").parts[0]
        for other in re.findall(r'^#\s*include "(\w+)/', path.read_text(), re.MULTILINE):
            if other not in (room, "warpaes"):
                found[room, other] = path.relative_to(ROOT)
    return found


def included_by(folder: str) -> set[str]:
    found = set()
    for path in (ROOT / folder).glob("*.[ch]pp"):
        found |= set(re.findall(r'^#\s*include "(\w+)/', path.read_text(), re.MULTILINE))
    return found - {"warpaes"}


class Rooms(unittest.TestCase):
    def test_every_room_is_in_the_drawing(self):
        rooms = {path.name for path in (ROOT / "src").iterdir() if path.is_dir()}
        self.assertEqual(set(re.findall(r"src/(\w+)/", ARCHITECTURE.split("```")[1])), rooms)
        self.assertLessEqual(len(rooms - set(BACKENDS)), 8)

    def test_arrows_are_those_of_the_table(self):
        found = arrows()
        listed = {(room, other) for room in TABLE if not room.endswith("/") for other in TABLE[room]}
        self.assertEqual(set(found) - listed, set(), [str(found[arrow]) for arrow in set(found) - listed])
        self.assertEqual({arrow for arrow in listed - set(found) if arrow[0] not in BACKENDS}, set())
        self.assertLessEqual(len([room for room, _ in found if room not in BACKENDS]), 16, "arrows are few")

    def test_arrows_point_down(self):
        left = {room: set(others) for room, others in TABLE.items()} | {"aes": set(), "base": set()}
        while lowest := {room for room, others in left.items() if not others}:
            left = {room: others - lowest for room, others in left.items() if room not in lowest}
        self.assertEqual(left, {}, "these rooms include each other")

    def test_the_gpu_is_passed_down(self):
        """The GPU is available only through Engine::gpu(), and engine/memory.hpp accesses memory of any kind. No other
        code uses a global variable for them."""
        gpus = tuple(f"src/{room}/" for room in BACKENDS if room != "cpu")
        found: dict[str, set[str]] = {"cuda_backend": set(), "gpu_memory": set()}
        for folder in ("src", "provider", "cli", "lab", "python/src"):
            for path in (ROOT / folder).glob("**/*.[ch]*"):
                place = str(path.relative_to(ROOT))
                for name in re.findall(r"\b(cuda_backend|gpu_memory)\(\)", path.read_text()):
                    if not place.startswith(gpus):
                        found[name].add(place)
        self.assertEqual(found["cuda_backend"], {"src/backend/cuda_backend.hpp", "src/engine/engine.cpp"})
        self.assertEqual(
            found["gpu_memory"], {"src/backend/gpu_memory.hpp", "src/engine/memory.cpp", "src/engine/arena.cpp"}
        )

    def test_the_ways_to_a_kernel_are_listed(self):
        """Only the files in the table in docs/architecture.md call a backend's kernels."""
        calls = {
            "a short function": r"clean_after\(way\.function|\.short_function\([^;]*\)\(\{",
            "`CudaBackend::run`": r"\bgpu(?:_|\(\))?\.(?:run|enqueue)\(",
            "`Lane::run`": r"\blane(?:->|\.)run\((?!\[)",
        }
        listed: dict[str, set[str]] = {way: set() for way in calls}
        rows = re.findall(
            r"^\| (.*) \| .* \| (`.*`) \|$", ARCHITECTURE[ARCHITECTURE.index("| path to a kernel") :], re.MULTILINE
        )
        self.assertEqual(len(rows), 6)
        for way, files in rows:
            for name in calls:
                if way.startswith(name):
                    listed[name] |= set(re.findall(r"`([^`]*)`", files))
        found: dict[str, set[str]] = {way: set() for way in calls}
        for room in ("capi", "message", "format", "engine"):
            for path in (ROOT / "src" / room).glob("**/*.[ch]pp"):
                code = re.sub(r"\s+", " ", path.read_text())
                for way, pattern in calls.items():
                    if re.search(pattern, code):
                        found[way].add(str(path.relative_to(ROOT / "src")))
        self.maxDiff = None
        self.assertEqual(found, listed)

    def test_the_command_and_the_provider_include_what_is_listed(self):
        self.assertEqual(included_by("cli") - {"lab"}, set(TABLE["cli/"]))
        self.assertEqual(included_by("provider") - {"provider"}, set(TABLE["provider/"]))


def imported(module: tuple[str, ...], text: str, modules: set[tuple[str, ...]]) -> set[tuple[str, ...]]:
    """Return the package's modules that a module imports. For a package's own file, `module` ends with `__init__`."""
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


def imports_in(root: Path) -> dict[tuple[str, ...], set[tuple[str, ...]]]:
    sources = [path for path in root.rglob("*.py*") if path.suffix != ".pyc"]
    texts = {path.relative_to(root).with_suffix("").parts: path.read_text() for path in sources}
    return {module: imported(module, text, set(texts)) for module, text in texts.items()}


def cycles(arrows: dict[tuple[str, ...], set[tuple[str, ...]]]) -> list[list[str]]:
    """Return the groups of modules that import each other."""

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
        arrows = imports_in(PACKAGE)
        self.assertGreater(len(arrows), 60)
        self.assertGreater(sum(map(len, arrows.values())), 150)
        self.assertEqual(cycles(arrows), [])

    def test_bulk_is_above_the_rest(self):
        """The command starts bulk, and file systems read its datasets. No other part of the package needs bulk."""
        above = {
            module for module, others in imports_in(PACKAGE).items() if any(other[0] == "bulk" for other in others)
        }
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
