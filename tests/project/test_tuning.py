"""Tests that the numbers that determine kernel launches are only in src/cuda/tuning, and that each has a record."""

from __future__ import annotations

import json
import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TUNING = ROOT / "src/cuda/tuning"
RECORDS = ROOT / "bench/results/launches"
#: Names of limits, thresholds and shapes.
SHAPING = re.compile(
    r"(^|_)(least|most|few|many|threads|warps|blocks_each|width|share|batch|depth|stages|looks|turns|chunk|lanes|"
    r"mapped|wiped|zero_copy)(_|$)"
)
#: Numbers with such names that do not determine a launch: data layouts and sizes of cached memory.
OTHERS = {
    "src/cuda/batch_keys.hpp": {"most_table_keys"},
    "src/cuda/kernels/batch_params.cuh": {"most", "width", "shares", "most_few"},
    "src/cuda/kernels/batch_serial.cu": {"serial_stages", "most"},
    "src/cuda/kernels/ghash_keys.cu": {"lanes"},
    "src/cuda/kernels/simt.cuh": {"warp_lanes"},
    "src/cuda/device_calls.cpp": {"most_scratch"},
    "src/cuda/resources.hpp": {"least"},
    "src/cuda/rows.hpp": {"most_pitch"},
    "src/cuda/kernels/cipher.cuh": {"at_once"},
}
DECLARATION = re.compile(r"\bconstexpr\s+(?:const\s+)?(?:std::|unsigned |long )*\w+\s+(\w+ = [^;()]*);")


def code_of(path: Path) -> str:
    """Return a file's code without comments. Where the simulated GPU differs, the result contains the code for real
    GPUs."""
    text = re.sub(r"//[^\n]*", "", path.read_text())
    return re.sub(r"#if defined\(WARPAES_SIMT\)\n.*?#else\n(.*?)#endif\n", r"\1", text, flags=re.DOTALL)


def value_of(expression: str) -> int | None:
    """Return a number that consists of literals, or None if it depends on other numbers."""
    expression = re.sub(r"std::\w+\{(\d+)\}", r"\1", expression.replace("'", ""))
    expression = re.sub(r"\b(\d+)(?:[uU][lL]*|[lL]+)\b", r"\1", expression).strip()
    if not re.fullmatch(r"[\d\s<*+-]+", expression) or re.search(r"\b0\d", expression):
        return None
    return eval(expression, {"__builtins__": {}})  # the expression contains only digits and operators


def declared(code: str) -> list[tuple[int, str, int]]:
    """Return the position, name and value of each constant that consists of literals."""
    found = []
    for match in DECLARATION.finditer(code):
        for part in match[1].split(","):
            name, _, expression = part.partition("=")
            value = value_of(expression)
            if value is not None:
                found.append((match.start(), name.strip(), value))
    return found


def numbers_of(path: Path) -> dict[str, int]:
    """Return the numbers in a file in TUNING, under the name Struct::name or name."""
    code = code_of(path)
    structs = [
        (m.start(), code.index("\n};", m.start()), m[1]) for m in re.finditer(r"^struct (\w+)[^;]*?\{", code, re.M)
    ]
    found = {}
    for at, name, value in declared(code):
        inside = [struct for begin, end, struct in structs if begin < at < end]
        found["::".join([*inside, name])] = value
    for name, body in re.findall(r"^inline constexpr \w+ (\w+)\{\n(.*?)\n\};", code, re.M | re.DOTALL):
        for field, expression in re.findall(r"\.(\w+) = ([^,\n]+),", body):
            value = value_of(expression)
            if value is not None:
                found[f"{name}.{field}"] = value
    return found


def all_numbers() -> dict[str, int]:
    found: dict[str, int] = {}
    for path in sorted(TUNING.glob("*.hpp")):
        if path.name == "architectures.hpp":
            continue  # these are not measured: the rows follow from the hardware, and `warpaes tune` replaces them
        found |= numbers_of(path)
    table = re.search(
        r"struct LaunchTable \{(.*?)\n\};", (ROOT / "src/backend/launch_table.hpp").read_text(), re.DOTALL
    )
    for name, value in re.findall(r"std::uint32_t (\w+) = (\d+);", table[1]):
        found[f"LaunchTable::{name}"] = int(value)
    return found


class Tuning(unittest.TestCase):
    def test_no_launch_number_stands_elsewhere(self):
        for path in sorted((ROOT / "src/cuda").rglob("*.[ch]*")):
            if path.parent == TUNING:
                continue
            place = str(path.relative_to(ROOT))
            code = code_of(path)
            self.assertNotRegex(code, r"__launch_bounds__\(\s*\d", place)
            self.assertNotRegex(code, r"\b(thread_each|launch_shape)\([^;]*,\s*\d+\s*[,)]", place)
            self.assertNotRegex(code, r"\blaunch\([^;]*\{[^;{}]*\b\d{2,}\b[^;{}]*\}, ", place)
            shaping = {name for _, name, _ in declared(code) if SHAPING.search(name)}
            self.assertLessEqual(shaping, OTHERS.get(place, set()), f"{place}: belongs in src/cuda/tuning")
        for path in sorted((ROOT / "src/engine").rglob("*.[ch]pp")):
            for _, name, _ in declared(code_of(path)):
                self.assertNotRegex(name, r"^gpu_(chunk|lanes)|zero_copy|page_locked|pageable", path.name)

    def test_each_number_has_its_record(self):
        newest = sorted(RECORDS.glob("*.json"))[-1]
        record = {row["number"]: row for row in json.loads(newest.read_text())["numbers"]}
        numbers = all_numbers()
        self.assertGreater(len(numbers), 100)
        self.maxDiff = None
        self.assertEqual(numbers, {name: row["value"] for name, row in record.items()})
        for name, row in record.items():
            self.assertTrue("measured" in row or "because" in row, name)

    def test_thresholds_measured_on_one_side_grow_no_more(self):
        """A number that selects one of two code paths has figures for both paths, or its record states that there are
        none."""
        newest = sorted(RECORDS.glob("*.json"))[-1]
        open_ones = 0
        for row in json.loads(newest.read_text())["numbers"]:
            if "sides" not in row:
                continue
            self.assertEqual(len(row["sides"]), 2, row["number"])
            if "measured" not in row:
                self.assertRegex(row["because"], "^not measured: ", row["number"])
                open_ones += 1
                continue
            both = [r for r in row["measured"]["rows"] if len(r) == 3 and None not in r[1:]]
            if not both:
                self.assertRegex(row["because"], "not recorded", row["number"])
                open_ones += 1
        self.assertLessEqual(open_ones, 11)

    def test_the_reader_of_numbers_reads(self):
        self.assertEqual(value_of("std::uint64_t{2} << 20"), 2 << 20)
        self.assertIsNone(value_of("2 * rows"))
        self.assertEqual(
            declared("static constexpr int a = 1, b = 8 * 2, c = a; constexpr std::uint64_t d = 3u;"),
            [(7, "a", 1), (7, "b", 16), (46, "d", 3)],
        )


if __name__ == "__main__":
    unittest.main()
