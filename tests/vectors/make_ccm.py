#!/usr/bin/env python3
"""Writes ccm/ccm*.rsp with one record of each section in NIST's CCM validation files (600 KB), at a position that
changes from section to section. For decryption, writes two records, one with the right tag and one with a wrong tag.

The published files contain a key, a nonce or a length once for the records that follow. The written records contain all
of them. Needs the Python package `cryptography_vectors`. Usage: make_ccm.py OUTPUT_DIRECTORY
"""

import importlib.resources
import pathlib
import re
import sys

KINDS = ("VADT", "VNT", "VPT", "VTT", "DVPT")
FIELDS = ("Alen", "Plen", "Nlen", "Tlen", "Key", "Nonce", "Adata", "Payload", "CT", "Result")


def records_of(text: str) -> list[list[dict[str, str]]]:
    """Returns the records of each section."""
    general: dict[str, str] = {}
    sections: list[list[dict[str, str]]] = []
    common: dict[str, str] = {}
    for line in text.splitlines():
        fields = dict(re.findall(r"(\w+) = (\w+)", line))
        if line.startswith("#"):
            continue
        if line.startswith("["):
            sections.append([])
            common = general | fields
        elif "Count" in fields:
            sections[-1].append(dict(common))
        elif sections and sections[-1]:
            sections[-1][-1] |= fields
        elif sections:
            common |= fields
        else:
            general |= fields
    return sections


def kept(kind: str, number: int, section: list[dict[str, str]]) -> list[dict[str, str]]:
    if kind != "DVPT":
        return [section[number % len(section)]]
    by_result = [[r for r in section if r["Result"] == result] for result in ("Pass", "Fail")]
    return [records[number % len(records)] for records in by_result]


def main() -> None:
    directory = pathlib.Path(sys.argv[1])
    directory.mkdir(exist_ok=True)
    source = importlib.resources.files("cryptography_vectors") / "ciphers" / "AES" / "CCM"
    for key_bits in (128, 192, 256):
        lines = [f"# NIST CAVP, CCM, AES Keylen: {key_bits}; see ../make_ccm.py"]
        count = 0
        for kind in KINDS:
            lines += ["", f"# {kind}"]
            for number, section in enumerate(records_of((source / f"{kind}{key_bits}.rsp").read_text())):
                for record in kept(kind, number, section):
                    lines += ["", f"Count = {count}", *(f"{f} = {record[f]}" for f in FIELDS if f in record)]
                    count += 1
        (directory / f"ccm{key_bits}.rsp").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
