#!/usr/bin/env python3
"""Measures the cost of forged files, compared with authentic files, for every Python reader and the command.

Prints a table with the time and peak memory for an authentic file and for each forgery of about the same length. A
forgery may take at most 1.5 times as long as the authentic file and must not need more memory. The exit status is 1 if
a forgery exceeds these limits.

  tools/hostile_formats.py [--python FOLDER] [--command FILE] [--mib N] [CASE…]

A time is the minimum of several runs. Runs alternate between the two files, so that other work on the machine affects
both.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import io
import json
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator

ROOT = pathlib.Path(__file__).resolve().parent.parent
MOST_TIME, MOST_MEMORY = 1.5, 1.05
#: Differences up to these values, in seconds and bytes, are noise.
LEAST_TIME, LEAST_MEMORY = 0.002, 4 << 20
RUNS = 5
AAD = b"associated data"

# ------------------------------------------------------------------------------- ways to read, in a child process


def open_and_read(path: str, keys: pathlib.Path) -> None:
    import warpaes

    keyset = warpaes.Keyset.parse((keys / "keyset").read_bytes())
    with warpaes.open(path, keyset=keyset, associated_data=AAD) as file:
        while file.read(1 << 20):
            pass


def read_into_one_buffer(path: str, keys: pathlib.Path) -> None:
    import warpaes

    keyset = warpaes.Keyset.parse((keys / "keyset").read_bytes())
    reader = warpaes.Reader(path, keyset, AAD)
    buffer = bytearray(os.stat(path).st_size)
    reader.read_into(0, memoryview(buffer)[: reader.size])


def filesystem(path: str, keys: pathlib.Path) -> None:
    import fsspec
    import warpaes
    from warpaes.fs import WarpaesFileSystem

    keyset = warpaes.Keyset.parse((keys / "keyset").read_bytes())
    system = WarpaesFileSystem(keyset, AAD, fs=fsspec.filesystem("file"))
    target = keys / "fetched"
    try:
        system.get_file(path, str(target))
    finally:
        target.unlink(missing_ok=True)


def _command(*arguments: str) -> int:
    """Run the command, and return its peak memory in bytes."""
    with open(os.devnull, "r+b") as null:
        process = subprocess.Popen([os.environ["WARPAES"], *arguments], stdin=null, stdout=null, stderr=null)
        _, _, usage = os.wait4(process.pid, 0)
    return usage.ru_maxrss << 10


def command(word: str) -> Callable[[str, pathlib.Path], int]:
    def run(path: str, keys: pathlib.Path) -> int:
        target = keys / "opened"
        more = ["-o", str(target), "--no-sync"] if word == "decrypt" else []
        try:
            return _command(word, "-k", str(keys / "keyset"), "--aad", AAD.decode(), "-q", *more, path)
        finally:
            target.unlink(missing_ok=True)

    return run


def keyset_command(path: str, keys: pathlib.Path) -> int:
    return _command("decrypt", "-k", path, "--passphrase-from", str(keys / "passphrase"), "-q", str(keys / "victim"))


def parse(path: str, keys: pathlib.Path) -> None:
    import warpaes

    warpaes.Keyset.parse(pathlib.Path(path).read_bytes())


def read_keyset(path: str, keys: pathlib.Path) -> None:
    from warpaes import keysources

    source = keysources.from_url(f"file:{keys / 'kek'}")
    keysources.read_keyset(pathlib.Path(path).read_bytes(), source, AAD)


def tensors(path: str, keys: pathlib.Path) -> None:
    from warpaes import safetensors

    safetensors.load_file(path, **json.loads((keys / "jwk").read_text()))


def names(path: str, keys: pathlib.Path) -> None:
    from warpaes.bulk.tables import read_list

    for _ in read_list(pathlib.Path(path).read_bytes(), path):
        pass


WAYS: dict[str, Callable[[str, pathlib.Path], int | None]] = {
    "open": open_and_read,
    "read_into": read_into_one_buffer,
    "fs.get_file": filesystem,
    "decrypt": command("decrypt"),
    "verify": command("verify"),
    "cat": command("cat"),
    "Keyset.parse": parse,
    "read_keyset": read_keyset,
    "decrypt -k": keyset_command,
    "load_file": tensors,
    "read_list": names,
}


def _memory(name: str) -> int:
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith(name + ":"))


def _once(way: str, path: str, keys: pathlib.Path) -> tuple[float, int, str]:
    """Read a file once. Return the time in seconds, the peak memory in bytes, and the name of the exception or ""."""
    with open("/proc/self/clear_refs", "w") as reset:
        reset.write("5")  # resets VmHWM
    before, error = _memory("VmRSS"), ""
    begin = time.perf_counter()
    peak: int | None = None
    try:
        peak = WAYS[way](path, keys)
    except Exception as caught:
        error = type(caught).__name__
    seconds = time.perf_counter() - begin
    return seconds, _memory("VmHWM") - before if peak is None else peak, error


def child(way: str, authentic: str, forged: str, keys: pathlib.Path) -> None:
    """Compare two files with one reader and print the figures."""
    _once(way, authentic, keys)
    first, memory, error = _once(way, authentic, keys)
    second, forged_memory, forged_error = _once(way, forged, keys)
    for _ in range(RUNS - 1 if max(first, second) < 3 else 1):
        first = min(first, _once(way, authentic, keys)[0])
        second = min(second, _once(way, forged, keys)[0])
    print(json.dumps({"seconds": [first, second], "memory": [memory, forged_memory], "errors": [error, forged_error]}))


# ------------------------------------------------------------------------------------------------- files and forgeries

Forgeries = dict[str, bytes]


class Case:
    """A format with an authentic file, forgeries of about the same length, and readers."""

    def __init__(self, name: str, authentic: bytes, forged: Forgeries, ways: list[str]) -> None:
        self.name, self.authentic, self.forged, self.ways = name, authentic, forged, ways


def _flipped(content: bytes, at: int) -> bytes:
    altered = bytearray(content)
    altered[at] ^= 1
    return bytes(altered)


def _forged(content: bytes, header: int) -> Forgeries:
    return {
        "header": _flipped(content, 9),
        "first segment": _flipped(content, header + 5),
        "middle": _flipped(content, len(content) // 2),
        "last segment": _flipped(content, len(content) - 40),
        "one byte less": content[:-1],
        "random bytes": content[:1] + random.Random(1).randbytes(len(content) - 1),
        "two segments missing": content[: len(content) // 2]
        + content[len(content) // 2 + (2 << 20) :]
        + bytes(2 << 20),
    }


def sealed_files(keys: pathlib.Path, mib: int) -> Iterator[Case]:
    import warpaes

    ways = ["open", "read_into", "fs.get_file", "decrypt", "verify", "cat"]
    text = random.Random(2).randbytes(1 << 20) * mib + b"end of it"
    for template in ("AES256_GCM_HKDF_1MB", "AES128_GCM_HKDF_4KB", "AES256_CTR_HMAC_SHA256_1MB"):
        keyset = warpaes.Keyset.generate(template)
        (keys / "keyset").write_bytes(keyset.to_json())
        out = io.BytesIO()
        with warpaes.open(out, "wb", keyset=keyset, associated_data=AAD) as file:
            file.write(text)
        yield Case(template, out.getvalue(), _forged(out.getvalue(), 40), ways)
    # The last of many keys decrypts the authentic file. No key decrypts a forged file.
    keyset = warpaes.Keyset.generate("AES256_GCM_HKDF_1MB")
    for _ in range(19):
        keyset.add("AES256_GCM_HKDF_1MB")
    keyset.promote(keyset.keys()[-1]["key_id"])
    out = io.BytesIO()
    with warpaes.open(out, "wb", keyset=keyset, associated_data=AAD) as file:
        file.write(text[: 1 << 19])
    keyset.promote(keyset.keys()[0]["key_id"])
    (keys / "keyset").write_bytes(keyset.to_json())
    forged = {name: content for name, content in _forged(out.getvalue(), 40).items() if "missing" not in name}
    yield Case("0.5 MiB under the last of 20 keys", out.getvalue(), forged, ways)


def _deep(length: int) -> bytes:
    return b"[" * (length // 2) + b"]" * (length - length // 2)


def keysets(keys: pathlib.Path, mib: int) -> Iterator[Case]:
    import warpaes
    from warpaes import keysources

    one = json.loads(warpaes.Keyset.generate("AES256_GCM_HKDF_1MB").to_json())
    many = json.dumps({**one, "key": [{**one["key"][0], "keyId": one["primaryKeyId"]}]
                       + [{**one["key"][0], "keyId": number} for number in range(1, 999)]}, indent=1)  # fmt: skip
    content = many.encode()
    hostile = {
        "nested": _deep(len(content)),
        "nested in a key": b'{"key": ' + _deep(len(content) - 9) + b"}",
        "many empty keys": b'{"key": [' + b"{}," * ((len(content) - 14) // 3) + b"{}]}",
        "one long string": b'{"' + b"A" * (len(content) - 3) + b'"',
        "one long number": b'{"primaryKeyId": ' + b"9" * (len(content) - 18) + b"}",
        "the last key altered": _flipped(content, content.rindex(b"SYMMETRIC") + 3),
    }
    yield Case("unencrypted keyset, 999 keys", content, hostile, ["Keyset.parse"])
    (keys / "kek").write_bytes(bytes(range(32)).hex().encode())
    source = keysources.from_url(f"file:{keys / 'kek'}")
    keyset = warpaes.Keyset.generate("AES256_GCM_HKDF_1MB")
    for _ in range(25):  # a key source wraps at most 4 KiB
        keyset.add("AES256_GCM_HKDF_1MB")
    content = keysources.write_keyset(keyset, source, AAD)
    found = json.loads(content)
    lies = {
        "nested": _deep(len(content)),
        "nested in keysetInfo": json.dumps({**found, "keysetInfo": "here"}).encode().replace(b'"here"', _deep(2000)),
        "ciphertext of this length": json.dumps({**found, "encryptedKeyset": "A" * (len(content) - 8000)}).encode(),
        "empty objects": b'{"encryptedKeyset": [' + b"{}," * ((len(content) - 30) // 3) + b"{}]}",
        "2 MiB of empty objects": b'{"encryptedKeyset": [' + b"{}," * ((2 << 20) // 3) + b"{}]}",
        "2 MiB nested": _deep(2 << 20),
        "altered": content.replace(b'"encryptedKeyset": "', b'"encryptedKeyset": "AAAA'),
    }
    yield Case("keyset of 26 keys under a key", content, lies, ["read_keyset"])
    (keys / "passphrase").write_bytes(b"correct horse\n")
    (keys / "victim").write_bytes(b"")
    path = keys / "passed"
    path.write_bytes(warpaes.Keyset.generate("AES256_GCM_HKDF_1MB").to_json())
    for each in ("passphrase", "passed"):
        (keys / each).chmod(0o600)
    _command("keys", "passphrase", str(path), "--new-passphrase-from", str(keys / "passphrase"),
             "--passphrase-seconds", "0.01")  # fmt: skip
    content = path.read_bytes()
    cost = json.loads(content)["keyEncryptionKey"]

    def costs(**lie: int) -> bytes:
        return json.dumps({**json.loads(content), "keyEncryptionKey": {**cost, **lie}}).encode()

    yield Case(
        f"keyset under a passphrase, n = {cost['n']}",
        content,
        {
            "altered": content.replace(b'"encryptedKeyset": "', b'"encryptedKeyset": "AAAA'),
            # The library may write keysets whose cost is up to eight passes over 1 GiB of memory (docs/formats.md).
            "n = 2^21": costs(n=1 << 21),
            "n = 2^40": costs(n=1 << 40),
            "r = 2^30": costs(r=1 << 30),
            "p = 128": costs(p=128),
            "p = 2^30": costs(p=1 << 30),
            "n = 2, r = 2^20": costs(n=2, r=1 << 20),
            "nested": _deep(len(content)),
        },
        ["decrypt -k"],
    )


def tensor_files(keys: pathlib.Path, mib: int) -> Iterator[Case]:
    import numpy as np
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from warpaes import safetensors

    def b64(data: bytes) -> str:
        return base64.b64encode(data).decode()

    public = Ed25519PrivateKey.from_private_bytes(bytes(range(32))).public_key().public_bytes_raw()
    jwk = {
        "enc_key": {"kty": "oct", "alg": "aes256gcm", "k": b64(bytes(range(32))), "kid": "enc"},
        "sign_key": {"kty": "okp", "alg": "ed25519", "d": b64(bytes(range(32))), "x": b64(public), "kid": "sign"},
    }
    (keys / "jwk").write_text(json.dumps(jwk))
    path = keys / "made.cryptotensors"
    draw = np.random.default_rng(1)
    # One file contains long tensors. The other consists mostly of its header.
    for number, size in ((4, mib << 18), (20_000, 128)):
        safetensors.save_file({str(i): draw.integers(0, 256, size, np.uint8) for i in range(number)}, path, **jwk)
        content = path.read_bytes()
        length = struct.unpack("<Q", content[:8])[0]
        forged = {
            "length of 2^63": struct.pack("<Q", 1 << 63) + content[8:],
            "header altered": _flipped(content, 8 + length // 2),
            "first tensor altered": _flipped(content, 8 + length + 3),
            "last tensor altered": _flipped(content, len(content) - 3),
            "header nested 100,000 deep": _headed(content, b"[" * 100_000 + b"]" * 100_000, 200_200),
        }
        if number > 4:
            forged |= {
                "length of the file": struct.pack("<Q", (len(content) - 8) // 8 * 8) + content[8:],
                "header of empty arrays": _headed(content, b"[" + b"[]," * ((length - 300) // 3) + b"[]]", length),
                "header of one text": _headed(content, b'"' + b"A" * (length - 300) + b'"', length),
            }
        yield Case(f"CryptoTensors, {number} of {size:,} bytes", content, forged, ["load_file"])


def _headed(content: bytes, inner: bytes, length: int) -> bytes:
    """Return the file with a header of `length` bytes that contains `inner` and a signature of zeros. The length of the
    file does not change."""
    signature = base64.b64encode(bytes(64)).decode().encode()
    text = b'{"__metadata__":{"__signature__":"' + signature + b'","a":' + inner
    text += b" " * (length // 8 * 8 - len(text) - 2) + b"}}"
    return struct.pack("<Q", len(text)) + text + content[8 + len(text) :]


def lists(keys: pathlib.Path, mib: int) -> Iterator[Case]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    draw = random.Random(3)
    out = io.BytesIO()
    pq.write_table(pa.table({"key": [draw.randbytes(30).hex() for _ in range(30_000)]}), out, compression="zstd")
    content = out.getvalue()
    bomb = io.BytesIO()
    pq.write_table(pa.table({"key": pa.array(["A" * 60]).take(pa.array([0] * 3_000_000))}), bomb, compression="zstd")
    filled = bomb.getvalue()
    yield Case(
        "list of 30,000 names, Parquet",
        content,
        {
            "3,000,000 equal names": filled,
            "footer altered": _flipped(content, len(content) - 30),
            "length of the footer 2^32 - 1": content[:-8] + b"\xff" * 4 + content[-4:],
            "pages altered": _flipped(content, len(content) // 2),
        },
        ["read_list"],
    )


CASES: dict[str, Callable[[pathlib.Path, int], Iterator[Case]]] = {
    "sealed": sealed_files,
    "keysets": keysets,
    "tensors": tensor_files,
    "lists": lists,
}


def compared(case: Case, folder: pathlib.Path) -> Iterator[tuple[str, bool]]:
    """Yield the rows of a case, each with a flag that is true if the row is within the limits."""
    ending = ".parquet" if "Parquet" in case.name else ""
    authentic, forged = folder / f"authentic{ending}", folder / f"forged{ending}"
    authentic.write_bytes(case.authentic)
    authentic.chmod(0o600)
    for way in case.ways:
        for name, content in case.forged.items():
            forged.write_bytes(content)
            forged.chmod(0o600)
            run = [sys.executable, "-B", __file__, "--child", way, str(authentic), str(forged), str(folder)]
            done = subprocess.run(run, capture_output=True, text=True, timeout=600, check=False)
            if done.returncode:
                yield (
                    f"| {case.name} | {way} | {name} | ended with {done.returncode}: {done.stderr[-200:]!r} | | |",
                    False,
                )
                continue
            found = json.loads(done.stdout)
            (first, second), (memory, more) = found["seconds"], found["memory"]
            good = second <= max(MOST_TIME * first, first + LEAST_TIME) and more <= max(
                MOST_MEMORY * memory, memory + LEAST_MEMORY
            )
            yield (
                (
                    f"| {case.name} | {way} | {name} | {first * 1e3:.1f} | {second * 1e3:.1f} | {second / first:.2f} "
                    f"| {memory / 2**20:.1f} | {more / 2**20:.1f} | {found['errors'][1]} |{'' if good else ' **more**'}"
                ),
                good,
            )


def main() -> int:
    """Print the table, and return 1 if a forgery exceeds the limits."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--python",
        default=str(ROOT / "build/default/python"),
        help="folder that contains the Python package (%(default)s)",
    )
    parser.add_argument(
        "--command", default=str(ROOT / "build/default/cli/warpaes"), help="the warpaes program (%(default)s)"
    )
    parser.add_argument("--mib", type=int, default=64, help="size of sealed files and tensors in MiB (%(default)s)")
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"one or more of {', '.join(CASES)} (default: all)")
    options = parser.parse_args()
    os.environ |= {"WARPAES": options.command, "WARPAES_CALIBRATION": "none", "PYTHONPATH": options.python}
    sys.path.insert(0, options.python)
    print(
        "| format | read by | forged | authentic, ms | forged, ms | ratio | authentic, MiB | forged, MiB | ends with |"
    )
    print("|---|---|---|--:|--:|--:|--:|--:|---|")
    bad = 0
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as name:
        for group in options.cases or CASES:
            for case in CASES[group](pathlib.Path(name), options.mib):
                for row, good in compared(case, pathlib.Path(name)):
                    print(row, flush=True)
                    bad += not good
    print(
        f"\n{bad} rows are outside the limits: the forgery took more than {MOST_TIME} times as long as the authentic "
        "file or needed more memory, or the process that read it failed"
    )
    return bad != 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        with contextlib.redirect_stderr(io.StringIO()):
            child(sys.argv[2], sys.argv[3], sys.argv[4], pathlib.Path(sys.argv[5]))
    else:
        sys.exit(main())
