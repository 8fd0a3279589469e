"""Sections of docs/performance.md: many messages at once, several GPUs, and AES inside users' own kernels."""

from __future__ import annotations

from text import gpu_of, human_bytes, number, operation, stamp, table


def batches_section(record: dict) -> list[str]:
    """Return the section on many messages at once, which `warpaes bench --messages` measures, and on the mixed payload
    in its seven orders."""
    rows = record.get("batches", [])
    if not rows:
        return []
    whole = {row["key_bits"]: row["gb_per_s"] for row in rows if row["messages"] == 1 and row["mode"] == "ctr"}
    lines = []
    for row in rows:
        what = f"{operation(row['mode'], row['direction'])}, AES-{row['key_bits']}"
        if row["aad_bytes"]:
            what += f", {row['aad_bytes']} bytes of associated data"
        beside = ""
        if row["baseline_gb_per_s"]:
            beside = f"{row['gb_per_s'] / row['baseline_gb_per_s']:.2f}x libcrypto"
        elif row["mode"] == "ctr" and row["memory"] == "device" and row["keys"] == "one" and row["messages"] > 1:
            beside = f"{100 * (whole[row['key_bits']] / row['gb_per_s'] - 1):.1f} % slower per byte than one message"
        lines.append(
            [
                row["backend"],
                what,
                f"{row['messages']:,} x {human_bytes(row['bytes'])}",
                row["keys"],
                {"arena": "host", "pageable": "host"}.get(row["memory"], row["memory"]),
                number(row["gb_per_s"]),
                beside,
            ]
        )
    out = [
        "### Many messages at once",
        table(["", "", "messages", "keys", "memory", "GB/s", ""], lines),
        f"*{stamp(rows[0])}. The time runs from submission to the end of the wait. It includes checks, transfers, the "
        "storing of tags, and the expansion of keys that belong to only one message. For GPUs, host memory is a "
        "page-locked arena. For CPUs, it is pageable memory, and the batch runs on one thread. "
        "In device memory, four batches are in flight.*",
    ]
    payload = record.get("payload")
    if payload:
        orders = payload["orders"]
        out.append(
            f"A mixed payload of {payload['messages']:,} messages and {payload['bytes']:,} bytes, with half of the "
            "bytes in a serial mode (after Harrison and Waldron, 2008), takes "
            + ", ".join(f"{1e3 * s:.2f}" for s in orders)
            + " ms in its seven orders. The longest time is "
            + f"{100 * (max(orders) / min(orders) - 1):.1f} % more than the shortest."
        )
    return out


def gpus_section(record: dict) -> list[str]:
    """Return the throughput from host memory to host memory with several GPUs, compared with plain copies."""
    rows = record.get("gpus", [])
    if not rows:
        return []
    copies = {row["gpus"]: row["gb_per_s"] for row in rows if row.get("what")}
    one = {}
    lines = []
    for row in rows:
        name = row.get("what") or operation(row["mode"], row["direction"]) + f", AES-{row['key_bits']}"
        if row.get("messages"):
            name += f", {row['messages']:,} x {human_bytes(row['bytes'])}"
        one.setdefault(name, row["gb_per_s"])
        share = "" if row.get("what") else f"{100 * row['gb_per_s'] / copies[row['gpus']]:.0f} %"
        speed = row["gb_per_s"]
        lines.append([name, str(row["gpus"]), number(speed), f"{speed / one[name]:.2f}x", share])
    lines.sort(key=lambda line: list(one).index(line[0]))
    return [
        "### Several GPUs",
        table(["", "GPUs", "GB/s", "compared with one GPU", "of bare copies"], lines),
        f"*{stamp(rows[0])}. The figures are for complete calls, with input and output in page-locked host memory. "
        "Bare copies run in both directions at once on every GPU, with separate buffers and no computation. They show "
        "the limit of the host's memory and buses.*",
    ]


def kernels_section(record: dict) -> list[str]:
    """Return the section on AES inside users' own kernels, measured by bench/device_bench."""
    rows = record.get("device", [])
    if not rows:
        return []
    lines = []
    for row in rows:
        what = f"`{row['kernel']}`, AES-{row['key_bits']}"
        if row["blocks_per_key"]:
            what += f", {row['blocks_per_key']} block{'s' if row['blocks_per_key'] > 1 else ''} per key"
        if row["tables"] in (1, 2):
            what += f", {row['tables']} table{'s' if row['tables'] > 1 else ''}"
        if row["note"]:
            what += f", {row['note']}"
        most = row["limit_blocks_per_s"]
        lines.append(
            [
                what,
                number(row["blocks_per_s"] / 1e9),
                number(16 * row["blocks_per_s"] / 1e9),
                f"{100 * row['blocks_per_s'] / most:.0f} %" if most else "",
                f"{row['lookups']:.0f}" if row["lookups"] else "",
                str(row["registers"]),
            ]
        )
    where = f"{gpu_of(record)}; {stamp(rows[0])}; {human_bytes(16 * rows[0]['blocks'])} of output"
    return [
        "### In your own kernels: `warpaes/device.cuh`",
        table(["", "10^9 blocks/s", "GB/s", "of the limit", "lookups per block", "registers"], lines),
        f"*{where}. Times include loading the tables, reading keys or blocks from device memory, and storing every "
        "block.*",
        "Unless stated otherwise, kernels use four tables and one thread per key or block. `encrypt_planes` is "
        "bitsliced. The limit counts only lookups: multiprocessors x clock x 32 / lookups.",
    ]
