#!/usr/bin/env python3
"""Lists or replaces the project's addresses in packaging/urls.json and in all files that contain them.

    tools/urls.py                                       lists the addresses and the files that contain them
    tools/urls.py repository=https://github.com/me/aes  replaces an address in all files

Addresses under .example are placeholders (RFC 2606): no release is published yet.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "packaging/urls.json"


def addresses() -> dict[str, str]:
    return json.loads(FILE.read_text())


def files_with(text: str) -> list[Path]:
    """Return the tracked text files, except urls.json, that contain `text`."""
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, text=True, check=True).stdout
    found = []
    for name in listed.rstrip("\0").split("\0"):
        path = ROOT / name
        if path != FILE and path.is_file() and text.encode() in path.read_bytes():
            found.append(path)
    return found


def main() -> int:
    known = addresses()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("changes", nargs="*", metavar="NAME=ADDRESS", help=f"NAME is one of {', '.join(known)}")
    changes = dict(argument.partition("=")[::2] for argument in parser.parse_args().changes)
    for name, value in changes.items():
        if name not in known or not value:
            print(f"{name}: is not one of {', '.join(known)}, or has no value", file=sys.stderr)
            return 2
    # Longer addresses come first, because an address may contain another address.
    for name, old in sorted(known.items(), key=lambda item: -len(item[1])):
        paths = files_with(old)
        if name not in changes:
            print(f"{name}: {old}: {', '.join(str(path.relative_to(ROOT)) for path in paths)}")
            continue
        for path in paths:
            path.write_text(path.read_text().replace(old, changes[name]))
        print(f"{name}: {changes[name]}: {len(paths)} files")
    FILE.write_text(json.dumps(known | changes, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
