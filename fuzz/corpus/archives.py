"""Reads and writes the fuzzers' corpora. Each target has an archive, TARGET.tar.xz, with its inputs in the order of
their names. Equal inputs produce equal archives.

    archives.py FOLDER [TARGET…]    unpacks corpora into FOLDER/TARGET
"""

from __future__ import annotations

import io
import sys
import tarfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SUFFIX = ".tar.xz"


def targets() -> list[str]:
    return sorted(path.name.removesuffix(SUFFIX) for path in HERE.glob("*" + SUFFIX))


def read(target: str) -> dict[str, bytes]:
    """Returns the inputs of a target by name, or no inputs if there is no archive yet."""
    path = HERE / (target + SUFFIX)
    if not path.exists():
        return {}
    found = {}
    with tarfile.open(path) as archive:
        for member in archive:
            file = archive.extractfile(member)
            if file is None or "/" in (name := member.name.removeprefix(target + "/")):
                raise ValueError(f"{path}: {member.name} is not a file of {target}/")
            found[name] = file.read()
    return found


def write(target: str, inputs: dict[str, bytes]) -> None:
    """Replaces a target's archive."""
    with tarfile.open(HERE / (target + SUFFIX), "w:xz", format=tarfile.USTAR_FORMAT, preset=9) as archive:
        for name, content in sorted(inputs.items()):
            member = tarfile.TarInfo(f"{target}/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))


def unpack(target: str, folder: Path) -> Path:
    """Writes the inputs of a target as files in FOLDER/TARGET, and returns this folder."""
    there = folder / target
    there.mkdir(parents=True, exist_ok=True)
    for name, content in read(target).items():
        (there / name).write_bytes(content)
    return there


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__.strip())
    for chosen in sys.argv[2:] or targets():
        unpack(chosen, Path(sys.argv[1]))
