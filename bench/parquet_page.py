"""Generates the figures of docs/parquet.md from the newest record of bench/results/parquet."""

from __future__ import annotations

from records import RESULTS, read
from text import commit_of, human_bytes, number, table, with_figures

PAGE = "docs/parquet.md"
HEADER = ["", "bytes", "unencrypted", "pyarrow", "view", "times pyarrow", "at most", "of unencrypted"]


def line(row: dict) -> list[str]:
    clear, theirs, ours = (row[f"{name}_seconds"] for name in ("clear", "pyarrow", "view"))
    rates = [f"{number(row['bytes'] / seconds / 1e9)} GB/s" for seconds in (clear, theirs, ours)]
    compared = [f"{theirs / ours:.2f}", f"{theirs / clear:.2f}", f"{100 * clear / ours:.0f} %"]
    return [row["what"], human_bytes(row["bytes"]), *rates, *compared]


def figures(record: dict) -> str:
    parts = []
    for cores in sorted({row["cores"] for row in record["rows"]}):
        rows = [line(row) for row in record["rows"] if row["cores"] == cores]
        parts += [f"On {'one core' if cores == 1 else f'{cores} cores'}:", table(HEADER, rows)]
    host, versions = record["host"], ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    parts.append(
        f"*{host['cpu']}, {host['cores']} cores, Python {record['python']}, {versions}; {record['date'][:10]}, "
        f"{commit_of(record)}; `tools/parquet_bench.py`. `ParquetFile.read` reads a complete file on tmpfs "
        "into a `pyarrow.Table`: unencrypted, decrypted by pyarrow, and through the view. Each figure is the shortest "
        'of samples taken alternately. On one core, it is processor time. The column "at most" is the speedup if '
        "decryption took no time; pyarrow decodes the pages in every case.*"
    )
    return "\n\n".join(parts)


def render(page: str) -> dict[str, str]:
    folder = RESULTS / "parquet"
    newest = max(read(folder) if folder.exists() else [], key=lambda record: record["date"], default=None)
    none = "There is no record yet. `tools/parquet_bench.py` measures this machine."
    return {PAGE: with_figures(page, figures(newest) if newest else none)}
