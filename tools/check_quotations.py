#!/usr/bin/env python3
"""Checks that the lab quotes its papers verbatim.

    pdftotext paper.pdf paper.txt
    tools/check_quotations.py A=paper.txt

It ignores line breaks, spaces, hyphens at the ends of lines, and misread letters in "T-box".
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path

STATEMENTS = Path(__file__).resolve().parents[1] / "lab/claims/statements"


def plain(text: str) -> str:
    """Remove characters that typesetting adds, and correct misread letters in "T-box"."""
    text = re.sub("[T\u0422]-[b\u042c][o\u043e][x\u0445]", "T-box", text)  # some letters may be Cyrillic
    return re.sub(r"\s+|-\s*\n\s*", "", text)


def quotations(statement: dict) -> list[str]:
    """Return the quoted sentences: `original` and the sentences in guillemets in `says`."""
    quoted = statement.get("original", "").split(" … ")
    return [part for part in quoted + re.findall("«(.*?)»", statement["says"]) if part]


def missing(paper: dict, text: str) -> list[str]:
    """Return the quotations that the text does not contain, with the IDs of their statements."""
    there = plain(text)
    return [f"{s['id']}: {q}" for s in paper["statements"] for q in quotations(s) if plain(q) not in there]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "papers",
        nargs="+",
        metavar="LETTER=TEXT",
        help="a paper's letter in lab/claims/statements, and the file with its text",
    )
    arguments = parser.parse_args(arguments).papers
    if not all(re.fullmatch("[A-Z]=.+", argument) for argument in arguments):
        parser.error("a paper is LETTER=TEXT")
    read = [json.loads(path.read_text()) for path in STATEMENTS.glob("*.json")]
    papers = {paper["paper"]: paper for paper in read if "paper" in paper}
    found = []
    for argument in arguments:
        letter, path = argument.split("=", 1)
        found += missing(papers[letter], Path(path).read_text())
        print(f"[{letter}] {sum(len(quotations(s)) for s in papers[letter]['statements'])} quotations")
    for line in found:
        print(f"not in the text: {line}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
