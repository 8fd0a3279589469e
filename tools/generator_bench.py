#!/usr/bin/env python3
"""Compares warpaes.torch.Generator with PyTorch's own generator on this machine's CPU. Needs PyTorch.

Prints the table and stores a record in bench/results/generator.

    PYTHONPATH=build/default/python python3 tools/generator_bench.py
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

import python_bench
import python_page
import torch
import warpaes.torch
from recording import ROOT, processor, save, stamp

LONG, SHORT = 64 << 20, 64


def rows() -> list[dict]:
    ours, theirs, made = warpaes.torch.Generator(), torch.Generator(), []

    def measure(what: str, size: int, calls: int, draw: Callable[[Any], object]) -> None:
        times = python_bench.seconds_of({"ours": lambda: draw(ours), "theirs": lambda: draw(theirs)}, calls)
        made.append(python_bench.row(what, size, "torch", times))

    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        tensor, name = torch.empty(LONG // dtype.itemsize, dtype=dtype), str(dtype).removeprefix("torch.")
        for draw in ("uniform_", "normal_", "exponential_", "bernoulli_"):
            measure(f"{draw}, {name}", LONG, 1, drawing(tensor, draw))
    words = torch.empty(LONG // 8, dtype=torch.int64)
    measure("random_(1000), int64", LONG, 1, lambda generator: words.random_(1000, generator=generator))
    measure("randperm(1 << 20)", 8 << 20, 1, lambda generator: torch.randperm(1 << 20, generator=generator))
    short = torch.empty(SHORT // 4)
    measure("normal_, float32", SHORT, 2000, drawing(short, "normal_"))
    return made


def drawing(tensor: Any, name: str) -> Callable[[Any], object]:
    method = getattr(tensor, name)
    return lambda generator: method(generator=generator)


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    measured = rows()
    host = {"cpu": processor(), "cores": python_bench.CORES}
    record = {"schema": 1} | stamp() | {"host": host, "python": sys.version.split()[0]}
    record |= {"versions": {"torch": torch.__version__}, "rows": measured}
    print(python_page.figures(record))
    path = save(record, processor(), ROOT / "bench/results/generator")
    print(f"record: {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
