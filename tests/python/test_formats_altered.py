#!/usr/bin/env python3
"""For every readable format, flips every byte, truncates the file everywhere, appends bytes, and exchanges parts
between two files. Each read must end in a documented exception and must not return data that is not authentic.

For large files, the tests draw a sample of alterations. ``test_formats_altered.py --all [GROUP…]`` tries all of them
and prints the counts.

``openssl enc`` is excluded, because it does not authenticate. Ciphertexts of AWS KMS, Vault and PKCS #11 tokens, which
only these services open, and OpenSSL's configuration, which its owner trusts, are also excluded.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import sys
import tempfile
import unittest
import unittest.mock
from collections.abc import Callable, Iterator

from alterations import HEADING, Count, Format, judged
from altered_bulk import bulk_files
from altered_command import keysets_by_command, sealed_by_command
from altered_dataset import dataset_files
from altered_files import small_files, template_files, tensor_files
from altered_keys import key_files
from warpaes import exceptions, keysources

#: The groups of formats, with the number of alterations per kind that the tests draw. None means all alterations.
GROUPS: dict[str, tuple[Callable[[pathlib.Path], Iterator[Format]], int | None]] = {
    "small": (small_files, None),
    "templates": (template_files, 8),
    "tensors": (tensor_files, 150),
    "keys": (key_files, 600),
    "bulk": (bulk_files, 60),
    "dataset": (dataset_files, 6),
}
#: The groups that the command reads: files in directories, single files, and keysets.
COMMAND = {"directories": 25, "files": 3, "keysets": 8}
MEMORY = "/dev/shm" if pathlib.Path("/dev/shm").is_dir() else None


def run(group: str, everything: bool = False, seed: int = 1) -> Iterator[Count]:
    """Count the outcomes of a group, for each format with each reader."""
    make, most = GROUPS[group]
    with tempfile.TemporaryDirectory(dir=MEMORY) as name:
        parent = pathlib.Path(name)
        for of in make(parent):
            yield from judged(of, None if everything else most, seed)
            for path in parent.iterdir():
                shutil.rmtree(path) if path.is_dir() else path.unlink()


def run_command(everything: bool = False, seed: int = 1) -> Iterator[Count]:
    """Count the outcomes with the command, whose path is in the environment variable WARPAES."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as name:
        folder = pathlib.Path(name)
        many = None if everything else COMMAND["directories"]
        yield from sealed_by_command(folder, many, 200 if everything else COMMAND["files"], seed)
        for of in keysets_by_command(folder):
            slow = everything and "passphrase" in of.name
            yield from judged(of, 60 if slow else 400 if everything else COMMAND["keysets"], seed)


class Altered(unittest.TestCase):
    def check(self, group: str) -> None:
        self.judge(list(run(group)))

    def judge(self, counts: list[Count]) -> None:
        """Check that no altered data was accepted or returned, and that every reader was tried."""
        self.assertNotEqual(counts, [])
        self.assertEqual([fault for count in counts for fault in count.faults[:3]], [])
        for count in counts:
            self.assertGreaterEqual(sum(count.kinds.values()), COMMAND["files"], count.line())

    def test_sealed_files(self) -> None:
        self.check("small")

    def test_every_template(self) -> None:
        self.check("templates")

    def test_tensors(self) -> None:
        self.check("tensors")

    def test_keys_and_letters(self) -> None:
        self.check("keys")

    def test_what_bulk_reads(self) -> None:
        self.check("bulk")

    def test_datasets(self) -> None:
        self.check("dataset")

    @unittest.skipUnless(
        os.environ.get("WARPAES"), "WARPAES does not name the command; a build with the command runs this test"
    )
    def test_command(self) -> None:
        self.judge(list(run_command()))


class Bounds(unittest.TestCase):
    """Input whose cost would be out of proportion to its length is refused before any work is done."""

    def test_a_keyset_is_at_most_as_long_as_for_the_command(self) -> None:
        source = keysources.LocalSource("test", lambda: bytes(range(32)))
        with unittest.mock.patch("json.loads", side_effect=AssertionError("parsed")):
            for inner in (b"{}," * (1 << 19), b"[" * (2 << 20), b'"' + b"A" * (2 << 20)):
                with self.assertRaisesRegex(exceptions.KeysetError, "longer than 1 MiB"):
                    keysources.read_keyset(b'{"encryptedKeyset": ' + inner, source)


def main() -> int:
    """Print the table for the groups that the arguments name, or for all groups."""
    everything = "--drawn" not in sys.argv
    names = [name for name in sys.argv[2:] if not name.startswith("-")] or [*GROUPS, "command"]
    print(HEADING)
    faults: list[str] = []
    total = 0
    for name in names:
        for count in run_command(everything) if name == "command" else run(name, everything):
            print(count.line(), flush=True)
            faults += count.faults
            total += sum(count.kinds.values())
    print(f"\n{total} readings, {len(faults)} faults")
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--all"]:
        sys.exit(main())
    unittest.main()
