#!/usr/bin/env python3
"""Writes gcm/*.rsp with one record of each section in NIST's GCM validation files (17 MB), at a position that changes
from section to section. A section is a combination of IV, text, associated data and tag lengths and has 15 records.

Needs the Python package `cryptography_vectors`. Usage: make_gcm.py OUTPUT_DIRECTORY
"""

import importlib.resources
import pathlib
import sys

RECORDS_A_SECTION = 15


def one_of_each_section(text: str) -> str:
    """Returns the file with one record per section. Sections and records are separated by empty lines."""
    header, *sections = text.split("[Keylen", 1)[0], *("[Keylen" + s for s in text.split("[Keylen")[1:])
    kept = [header.strip() + "\n# One record of each section; see ../make_gcm.py\n\n"]
    for number, section in enumerate(sections):
        lengths, *records = section.strip("\n").split("\n\n")
        assert len(records) == RECORDS_A_SECTION, lengths
        kept.append(lengths + "\n\n" + records[number % RECORDS_A_SECTION].strip("\n") + "\n\n")
    return "".join(kept)


def main() -> None:
    directory = pathlib.Path(sys.argv[1])
    directory.mkdir(exist_ok=True)
    source = importlib.resources.files("cryptography_vectors") / "ciphers" / "AES" / "GCM"
    for kind in ("EncryptExtIV", "Decrypt"):
        for key_bits in (128, 192, 256):
            name = f"gcm{kind}{key_bits}.rsp"
            (directory / name).write_text(one_of_each_section((source / name).read_text()))


if __name__ == "__main__":
    main()
