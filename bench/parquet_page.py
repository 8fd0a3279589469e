"""Generates the figures of docs/parquet.md from the newest records of bench/results/parquet and parquet_cudf."""

from __future__ import annotations

from statistics import median

from records import RESULTS, read
from text import commit_of, human_bytes, number, table, with_figures

PAGE = "docs/parquet.md"
HEADER = ["", "bytes", "unencrypted", "pyarrow", "view", "times pyarrow", "of unencrypted"]

#: The parts of a read that no view avoids, on one core.
NECESSARY = ("memory", "file", "decrypt")

CUDF = ["", "bytes", "unencrypted, 4 threads", "unencrypted, 16 threads", "view", "pyarrow, copied"]
CUDF += ["of 4 threads", "of 16 threads", "times pyarrow"]
CUDF_MARKS = ("<!-- cudf: begin -->", "<!-- cudf: end -->")


def cudf_line(row: dict) -> list[str]:
    """Return a table row with the medians of the samples that used the driver's pool of GPU memory."""
    taken = {name: median(samples) for name, samples in row["milliseconds"]["pool"].items()}
    few, many = (taken[f"cuDF in clear, {threads} threads"] for threads in (4, 16))
    ours = taken["cuDF through the view"]
    theirs = min(value for name, value in taken.items() if name.startswith("pyarrow"))
    rates = [f"{number(row['bytes'] / value / 1e6)} GB/s" for value in (few, many, ours, theirs)]
    compared = [f"{100 * few / ours:.0f} %", f"{100 * many / ours:.0f} %", f"{theirs / ours:.1f}"]
    return [row["kind"], human_bytes(row["bytes"]), *rates, *compared]


def cudf_figures(record: dict) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    text = (
        f"*{record['gpu']['name']}, driver {record['gpu']['driver']}, {record['host']['cpu']}, "
        f"{record['host']['cores']} cores, {versions}; {record['date'][:10]}, {commit_of(record)}; "
        "`bench/parquet_cudf.py`. Times run from opening a file on tmpfs until the table is in GPU memory, which comes "
        "from the driver's pool. Each figure is the median of samples taken alternately. cuDF reads through "
        "KvikIO, which uses 4 threads by default. pyarrow decrypts on all cores, and the table is copied to the GPU.*"
    )
    return table(CUDF, [cudf_line(row) for row in record["rows"]]) + "\n\n" + text


def newest(kind: str) -> dict | None:
    folder = RESULTS / kind
    return max(read(folder) if folder.exists() else [], key=lambda record: record["date"], default=None)


def line(row: dict) -> list[str]:
    clear, theirs, ours = (row[f"{name}_seconds"] for name in ("clear", "pyarrow", "view"))
    rates = [f"{number(row['bytes'] / seconds / 1e9)} GB/s" for seconds in (clear, theirs, ours)]
    compared = [f"{theirs / ours:.2f}", f"{100 * clear / ours:.0f} %"]
    if "memory_seconds" in row:
        compared.append(f"{theirs / sum(row[f'{name}_seconds'] for name in NECESSARY):.2f}")
    return [row["what"], human_bytes(row["bytes"]), *rates, *compared]


def figures(record: dict) -> str:
    parts = []
    for cores in sorted({row["cores"] for row in record["rows"]}):
        rows = [line(row) for row in record["rows"] if row["cores"] == cores]
        header = HEADER + ["at most"] * (len(rows[0]) - len(HEADER))
        parts += [f"On {'one core' if cores == 1 else f'{cores} cores'}:", table(header, rows)]
    host, versions = record["host"], ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    parts.append(
        f"*{host['cpu']}, {host['cores']} cores, Python {record['python']}, {versions}; {record['date'][:10]}, "
        f"{commit_of(record)}; `tools/parquet_bench.py`. `ParquetFile.read` reads a complete file on tmpfs, or one of "
        "its columns, into a `pyarrow.Table`: unencrypted, decrypted by pyarrow, and through the view. The times "
        "include the opening of the file. Each figure is computed from the shortest of several samples, taken "
        'alternately. On one core, it is processor time. The column "at most" is the speedup of a view that only reads '
        "the file and decrypts it in the processor's caches, before pyarrow reads the plaintext from memory.*"
    )
    return "\n\n".join(parts)


def render(page: str) -> dict[str, str]:
    record, cudf = newest("parquet"), newest("parquet_cudf")
    none = "There is no record yet. `{}` measures this machine."
    text = with_figures(page, figures(record) if record else none.format("tools/parquet_bench.py"))
    if CUDF_MARKS[0] in text:
        its = cudf_figures(cudf) if cudf else none.format("bench/parquet_cudf.py")
        text = with_figures(text, its, CUDF_MARKS)
    return {PAGE: text}
