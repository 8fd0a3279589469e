"""Tests the tables of modes and of kinds of memory. A line that omits a column must not compile."""

import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TYPES = (ROOT / "src/aes/types.hpp").read_text()
LINES = re.search(r"inline constexpr std::array mode_lines\{\n(.*?)\n\};", TYPES, re.DOTALL).group(1)
COLUMNS = [
    "Runs::whole",
    "Parallel::neither",
    "Ivs::unique",
    "Output::text",
    "KeyValues::with_subkey",
    "Contexts::none",
    "WorkClass::ccm",
    "WorkClass::gcm_decrypt",
]
# Modes are added with higher values, because values never change.
CHECKS = """
#include "engine/cost_model.hpp"
#include "message/checks.hpp"
using namespace warpaes;
constexpr Mode added = Mode{40};
static_assert(modes.back() == added && mode_values == 41 && modes.front() == Mode::ecb);
static_assert(is_backend_mode(40) && !is_composed(added) && !is_backend_mode(39) && !is_composed(Mode{39}));
static_assert(is_composed(Mode::kw) && is_composed(Mode::gcm_siv) && !is_backend_mode(12) && !is_backend_mode(0));
static_assert(is_backend_mode(11) && !is_backend_mode(41) && !is_backend_mode(-1) && !is_backend_mode(1000));
static_assert(!is_parallel(added, Direction::decrypt) && uses_tag(added) && has_output(added));
static_assert(!uses_inverse_cipher(added, Direction::decrypt));
static_assert(traits_of(Mode::gcm_siv).mode == Mode::gcm_siv && traits_of(Mode::ecb).mode == Mode::ecb);
"""


def line_of_added(columns: list[str], name: str = '.name = "added", ') -> str:
    return f"ModeTraits{{.mode = Mode::added, {name}.kind = {{{', '.join(columns)}}}, .tags = 0x10000}},\n"


def compiles(line: str, value: str = "40", checks: str = '#include "aes/types.hpp"') -> bool:
    """Return whether the headers compile with another mode's enumerator and table line."""
    with tempfile.TemporaryDirectory() as folder:
        types = TYPES.replace(LINES, LINES + "\n" + line)
        types = types.replace("std::int32_t {\n    ecb = 1,", f"std::int32_t {{\n    added = {value},\n    ecb = 1,")
        (Path(folder) / "aes").mkdir()
        (Path(folder) / "aes/types.hpp").write_text(types)
        (Path(folder) / "checks.cpp").write_text(checks)
        command = [os.environ.get("CXX", "c++"), "-std=c++20", "-fsyntax-only", "-I", folder]
        command += ["-I", str(ROOT / "src"), "-I", str(ROOT / "include"), "checks.cpp"]
        return subprocess.run(command, cwd=folder, capture_output=True, timeout=120).returncode == 0


def memory_compiles(line: str) -> bool:
    """Return whether a line can be added to the table of kinds of memory."""
    source = f'#include "backend/gpu_memory.hpp"\nusing namespace warpaes;\nMemoryKind added{{{line}}};\n'
    command = [os.environ.get("CXX", "c++"), "-std=c++20", "-fsyntax-only", "-x", "c++", "-"]
    command += ["-I", str(ROOT / "src"), "-I", str(ROOT / "include")]
    return subprocess.run(command, input=source, text=True, capture_output=True, timeout=120).returncode == 0


class Modes(unittest.TestCase):
    def test_a_mode_is_a_line_of_the_table(self) -> None:
        self.assertTrue(compiles(line_of_added(COLUMNS), checks=CHECKS))

    def test_each_column_is_required(self) -> None:
        kind = re.search(r"struct ModeKind \{\n(.*?)\};", TYPES, re.DOTALL).group(1)
        names = [n for names in re.findall(r"Required<\w+> ([^;]+);", kind) for n in names.split(", ")]
        self.assertEqual(len(names), len(COLUMNS), "add the new columns to COLUMNS")
        for i, column in enumerate(COLUMNS):
            with self.subTest(column=names[i]):
                self.assertFalse(compiles(line_of_added(COLUMNS[:i] + COLUMNS[i + 1 :])), column)
        self.assertFalse(compiles(line_of_added(COLUMNS, name="")))
        self.assertFalse(compiles(line_of_added(COLUMNS), value="3"), "the value of a different mode")

    def test_each_mode_of_the_abi_has_a_line(self) -> None:
        header = (ROOT / "include/warpaes/warpaes.h").read_text()
        enumerators = re.search(r"typedef enum warpaes_mode \{(.*?)\} warpaes_mode;", header, re.DOTALL).group(1)
        of_abi = [n.lower() for n in re.findall(r"WARPAES_(\w+) = \d+", enumerators)]
        own = re.search(r"enum class Mode : std::int32_t \{(.*?)\};", TYPES, re.DOTALL).group(1)
        self.assertEqual(of_abi, re.findall(r"(\w+) = \d+", own))
        self.assertEqual(of_abi, re.findall(r"\.mode = Mode::(\w+)", LINES))

    def test_each_column_of_a_kind_of_memory_is_required(self) -> None:
        columns = ['"managed"', "Memory::device", "true", "true", "Allocation::by_driver", "Memory::page_locked"]
        self.assertTrue(memory_compiles(", ".join(columns)))
        for count in range(len(columns)):
            self.assertFalse(memory_compiles(", ".join(columns[:count])), count)


if __name__ == "__main__":
    unittest.main()
