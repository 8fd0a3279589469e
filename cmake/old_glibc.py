"""Writes stub libraries for linking programs that run with glibc VERSION and later.

    old_glibc.py VERSION FOLDER

The stubs are derived from this machine's glibc. They define each symbol in its newest version up to VERSION, in the
library that contained the symbol in glibc VERSION. Using a symbol that does not exist in VERSION causes a link error.
old_glibc.cpp defines the missing symbols that the compiler's libraries need.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

LIBRARIES = ["libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1"]
SYMBOL = re.compile(
    r"^ *\d+: +(?P<value>\w+) +(?P<size>\w+) +(?P<kind>FUNC|IFUNC|OBJECT) +(?P<binding>\w+) .* "
    r"(?P<name>\w+)@@?GLIBC_(?P<version>[\d.]+)$"
)
#: glibc 2.34 merged several libraries into libc. This dictionary maps the former libraries to patterns for their
#: symbols.
MOVED = {
    "libpthread.so.0": re.compile(r"(__)?pthread_|sem_"),
    "libdl.so.2": re.compile(r"dl"),
    "librt.so.1": re.compile(r"(aio|lio|mq|shm|timer)_"),
}


class Symbol(NamedTuple):
    name: str
    version: tuple[int, ...]
    value: str  # symbols with equal values are aliases
    size: int
    function: bool
    weak: bool  # must equal glibc's: a program's copy of a variable replaces only its weak aliases


def path_of(name: str) -> str:
    """Return the path of a library or object file that the compiler links."""
    return subprocess.run(["cc", f"-print-file-name={name}"], capture_output=True, text=True, check=True).stdout.strip()


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def symbols_of(library: str, limit: tuple[int, ...]) -> dict[str, list[Symbol]]:
    """Return the library's symbols, each in its newest version up to `limit`, grouped by the library that contained
    them in glibc `limit`."""
    listed = subprocess.run(
        ["readelf", "-W", "--dyn-syms", path_of(library)], capture_output=True, text=True, check=True
    )
    versions = defaultdict(list)
    for found in filter(None, map(SYMBOL.match, listed.stdout.splitlines())):
        function, weak = found["kind"] != "OBJECT", found["binding"] == "WEAK"
        versions[found["name"]].append(
            Symbol(found["name"], numbers(found["version"]), found["value"], int(found["size"], 0), function, weak)
        )
    by_library = defaultdict(list)
    for name, symbols in versions.items():
        if old := [symbol for symbol in symbols if symbol.version <= limit]:
            moved = len(old) < len(symbols) and library == "libc.so.6"
            home = next((home for home, names in MOVED.items() if moved and names.match(name)), library)
            by_library[home].append(max(old, key=lambda symbol: symbol.version))
    return by_library


def assembly(symbols: list[Symbol]) -> str:
    """Return the assembly source of a stub library. A function is one byte long. A variable has its real size, because
    a program may contain a copy of the variable."""
    lines = []
    for section, function in ((".text", True), (".data", False)):
        lines.append(section)
        things = defaultdict(list)
        for symbol in symbols:
            if symbol.function == function:
                things[symbol.value].append(symbol)
        for names in things.values():
            size = 1 if function else max(symbol.size for symbol in names)
            kind = "function" if function else "object"
            lines.append(".balign 32")
            for symbol in names:
                lines += [
                    f".{'weak' if symbol.weak else 'globl'} {symbol.name}",
                    f".type {symbol.name}, %{kind}",
                    f".size {symbol.name}, {symbol.size}",
                ]
            lines += [f"{symbol.name}:" for symbol in names] + [f".zero {size}"]
    return "\n".join([*lines, '.section .note.GNU-stack,"",%progbits', ""])


def version_script(symbols: list[Symbol]) -> str:
    nodes = defaultdict(list)
    for symbol in symbols:
        nodes[symbol.version].append(symbol.name)
    return "".join(
        f"GLIBC_{'.'.join(map(str, version))} {{ {'; '.join(names)}; }};\n" for version, names in sorted(nodes.items())
    )


def write_library(folder: Path, name: str, symbols: list[Symbol]) -> None:
    source, script = folder / f"{name}.s", folder / f"{name}.map"
    source.write_text(assembly(symbols))
    script.write_text(version_script(symbols))
    options = ["-shared", "-nostdlib", f"-Wl,-soname,{name}", f"-Wl,--version-script={script}"]
    subprocess.run(["cc", *options, "-o", folder / name, source], check=True)


def main() -> None:
    limit, folder = numbers(sys.argv[1]), Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    libraries = defaultdict(list)
    linker = Path(path_of("libc.so")).read_text()
    loader = re.search(r"\S*/(ld-linux\S*)", linker)
    for library in [*LIBRARIES, loader[1]]:
        for home, symbols in symbols_of(library, limit).items():
            libraries[home] += symbols
    for name, symbols in libraries.items():
        write_library(folder, name, symbols)
        if name not in ("libc.so.6", loader[1]):
            link = folder / f"{name.partition('.so')[0]}.so"
            link.unlink(missing_ok=True)
            link.symlink_to(name)
    rest = path_of("libc_nonshared.a")
    (folder / "libc.so").write_text(f"GROUP ( {folder}/libc.so.6 {rest} AS_NEEDED ( {folder}/{loader[1]} ) )\n")


if __name__ == "__main__":
    main()
