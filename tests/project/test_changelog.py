"""Tests that CHANGELOG.md contains a date for each version and lists every change once. A merge of two wordings once
duplicated a third of the file."""

from __future__ import annotations

import itertools
import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "CHANGELOG.md").read_text()


def versions(text: str) -> dict[str, list[str]]:
    """Return the entries of each version, by the version's heading."""
    found = {}
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        entries = re.split(r"^- ", part, flags=re.MULTILINE)[1:]
        found[part.split("\n")[0]] = [" ".join(re.split(r"\n\n|\n#", entry)[0].split()) for entry in entries]
    return found


def words(entry: str) -> set[str]:
    return set(re.findall(r"[a-z0-9_]{4,}", entry.lower()))


def doubled(entries: list[str]) -> list[tuple[str, str]]:
    """Return pairs of entries whose shorter entry contains hardly any words that the longer entry lacks."""
    pairs = []
    for a, b in itertools.combinations(entries, 2):
        shorter, longer = sorted((words(a), words(b)), key=len)
        if len(shorter) >= 8 and len(shorter & longer) > 0.75 * len(shorter):
            pairs.append((a, b))
    return pairs


class Changelog(unittest.TestCase):
    def test_every_version_has_a_date(self):
        for heading in versions(TEXT):
            self.assertRegex(heading, r"^\d+\.\d+\.\d+ \((unreleased|\d{4}-\d\d-\d\d.*)\)$")
        newest = next(iter(versions(TEXT))).split()[0]
        self.assertIn(f"\nversion: {newest}\n", (ROOT / "CITATION.cff").read_text())

    def test_every_change_stands_once(self):
        for heading, entries in versions(TEXT).items():
            self.assertGreater(len(entries), 10, heading)
            self.assertEqual(doubled(entries), [], heading)

    def test_two_wordings_of_a_change_are_found(self):
        entries = [
            "`warpaes.torch.Generator`: a `torch.Generator` of secure numbers, for what takes `generator=` in PyTorch, "
            "samplers, data loaders and Opacus' secure mode, on CPUs and GPUs.",
            "Entries of any number of messages are cancelled at once.",
            "`warpaes.torch.Generator` is a `torch.Generator` of secure numbers on CPUs and GPUs. PyTorch's functions "
            "with `generator=` take it, and so do samplers, data loaders and Opacus' secure mode.",
        ]
        self.assertEqual(doubled(entries), [(entries[0], entries[2])])
        self.assertEqual(doubled(entries[:2]), [])

    def test_advisories_are_about_releases(self):
        """Security advisories are for users of a release, so unpublished versions have no advisories."""
        preview = [heading for heading in versions(TEXT) if "not published" in heading]
        for heading in preview:
            number = re.escape(heading.split()[0])
            self.assertNotRegex(TEXT, rf"[Uu]sers of {number}")


if __name__ == "__main__":
    unittest.main()
