"""Formats sizes, figures, operations and the origin of records for the generated pages."""

from __future__ import annotations

BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"

MODES = {
    "ecb": "ECB",
    "cbc": "CBC",
    "cfb128": "CFB128",
    "cfb8": "CFB8",
    "cfb1": "CFB1",
    "ofb": "OFB",
    "ctr": "CTR",
    "xts": "XTS",
    "gcm": "GCM",
    "gmac": "GMAC",
    "ccm": "CCM",
    "cmac": "CMAC",
}


def human_bytes(n: int) -> str:
    """Return the size exactly, in the largest unit that divides it."""
    for unit, shift in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if n and n % (1 << shift) == 0:
            return f"{n >> shift:,} {unit}"
    return f"{n:,} B"


def short_bytes(n: int) -> str:
    """Return the size in the form that the command's options accept, such as 64, 16K or 1M."""
    return human_bytes(n).replace(" ", "").rstrip("iB")


def number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def operation(mode: str, direction: str) -> str:
    name, _, size = mode.partition("/")
    what = MODES[name] if name in ("ctr", "gmac", "cmac") else f"{MODES[name]} {direction}ion"
    if not size:
        return what
    return f"{what}, {'segments' if name == 'gcm' else 'data units'} of {human_bytes(int(size))}"


def commit_of(record: dict) -> str:
    return f"commit {record['commit'][:12] or 'unknown'}" + (" with changes" if record["dirty"] else "")


def stamp(record: dict) -> str:
    return f"{record['date'][:10]}, {commit_of(record)}"


def machine(record: dict) -> str:
    return record["gpu"]["name"] if record["gpu"] else record["host"]["cpu"]


def gpu_of(record: dict) -> str:
    return f"{record['gpu']['name']}, driver {record['gpu']['driver']}, CUDA {record['gpu']['cuda']}"


def slug(name: str) -> str:
    """Return the name in a form that is suitable for a file name."""
    return "-".join(filter(None, "".join(c if c.isalnum() else "-" for c in name.lower()).split("-")))


def table(header: list[str], rows: list[list], rule: tuple[str, str] = ("---", "--:")) -> str:
    """Return a Markdown table. `rule` contains the alignment markers for the first column and for the other columns,
    which contain numbers."""
    first, others = rule
    lines = ["| " + " | ".join(map(str, cells)) + " |" for cells in (header, *rows)]
    return "\n".join([lines[0], "|" + "|".join([first] + [others] * (len(header) - 1)) + "|", *lines[1:]])


def with_figures(page: str, figures: str, marks: tuple[str, str] = (BEGIN, END)) -> str:
    """Return the hand-written page with the text between its two marks replaced by `figures`."""
    begin, end = marks
    before, rest = page.split(begin)
    _, after = rest.split(end)
    return f"{before}{begin}\n{figures}\n{end}{after}"
