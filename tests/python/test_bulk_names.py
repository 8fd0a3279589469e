"""Tests all kinds of names and places in `warpaes bulk`, in every locale and on every terminal."""

from __future__ import annotations

import io
import json
import os
import pathlib
import subprocess
import sys
import unittest
import unittest.mock
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from bulk_case import Case, StoreCase, bulk, refusal
from support import run_python
from warpaes.bulk import local, manifest, storage, stores, tables

#: Names that files may have.
NAMES = [
    " a",
    "a ",
    "a.",
    "-k",
    "--help",
    "...",
    ".hidden",
    "a\nb",
    "a\r",
    "\r\n",
    "\t",
    "\x01\x1b]0;x\x07",
    "a\\b\\",
    "C:\\x",
    "caf\u00e9",
    "cafe\u0301",
    "\u202egpj.exe",
    "\u2028",
    "\ufeffx",
    "\U0001f600",
    "%2e%2e",
    "a+b c&d=e?f#g",
    "'\"`$(x)",
    "a.enc",
    "a.enc.enc",
    "b.warpaes-key.x",
    "nul",
    "d/\n/e",
    "d/ /f",
    "\u00e9" * 127,
    "x" * 209,
    "y" * 255,
]
#: Names that objects can have but files cannot.
OBJECTS = ["a/../b", "a/./b", "..", ".", "/lead", "//", "p//q", "end/", "o" * 1024]
#: Locales, and encodings of standard output.
ENVIRONMENTS: list[dict[str, str]] = [
    {},
    {"LC_ALL": "C"},
    {"LANG": "C", "LC_ALL": "", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
    {"LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
    {"PYTHONIOENCODING": "ascii"},
    {"PYTHONIOENCODING": "latin-1:strict"},
]


def command(*words: Any, environment: dict[str, str] | None = None, **how: Any) -> subprocess.CompletedProcess[bytes]:
    """Run the command in a separate process."""
    every = [sys.executable, "-W", "ignore", "-m", "warpaes", "bulk", *map(os.fsencode, map(str, words))]
    found: subprocess.CompletedProcess[bytes] = subprocess.run(
        every, env=os.environ | (environment or {}), capture_output="stdout" not in how, timeout=200, **how
    )
    return found


class Names(Case):
    def make(self, names: list[str]) -> dict[str, bytes]:
        content = {}
        for name in names:
            path = self.source / name
            path.parent.mkdir(parents=True, exist_ok=True)
            content[name] = path.name.encode(errors="surrogateescape") * 20
            path.write_bytes(content[name])
        return content

    def test_files_keep_their_names_in_every_locale(self) -> None:
        """Objects that were encrypted with one spelling of a name decrypt with the other spelling, because names and
        their bindings are equal."""
        content = self.make(NAMES)
        environments = [*ENVIRONMENTS, ENVIRONMENTS[0]]
        for number, environment in enumerate(ENVIRONMENTS):
            with self.subTest(str(environment)):
                target, out = self.folder / f"t{number}", self.folder / f"o{number}"
                done = command("encrypt", "-k", self.key, self.source, target, environment=environment)
                self.assertEqual(done.returncode, 0, done)
                there = self.load(target, self.key)
                self.assertEqual({row.key for row in there.rows}, set(NAMES))
                self.assertEqual(set(self.files(target)), set(NAMES))
                done = command("decrypt", "-k", self.key, target, out, environment=environments[number + 1])
                self.assertEqual(done.returncode, 0, done)
                self.assertEqual(self.files(out), content)

    def test_envelopes_and_suffixes(self) -> None:
        names = [name for name in NAMES if len(name.encode()) < 240]
        content = self.make(names)
        target, out = self.folder / "t", self.folder / "o"
        how = ("-k", self.key, "--suffix", ".enc")
        self.assertEqual(bulk("encrypt", *how, "--envelope", "object", self.source, target)[0], 0)
        self.assertEqual(bulk("rekey", "-k", self.key, "--new-key", self.key2, "--envelope", "object", target)[0], 0)
        self.assertEqual(bulk("decrypt", "-k", self.key2, "--suffix", ".enc", target, out)[0], 0)
        self.assertEqual(self.files(out), content)
        self.assertEqual(bulk("encrypt", *how, self.source, self.source)[0], 0)  # encrypts in place
        self.assertEqual({name for name in self.files(self.source) if name not in names}, self.ended(names))

    @staticmethod
    def ended(names: list[str]) -> set[str]:
        return {f"{name}.enc" for name in names if not name.endswith(".enc")} - set(names)

    def test_in_place_names_with_the_suffix_are_reported(self) -> None:
        self.make(["a", "b.enc"])
        how = ("encrypt", "-k", self.key, "--suffix", ".enc")
        report = bulk(*how, self.source, self.source)[1]
        self.assertEqual(
            report["notes"], ["skipped: b.enc (its name ends with .enc, as the names of encrypted objects do)"]
        )
        report = bulk(*how, "--update", self.source, self.source)[1]
        self.assertEqual(
            report["notes"], ["skipped: b.enc (its name ends with .enc, as the names of encrypted objects do)"]
        )

    def test_a_name_that_is_not_utf_8_is_an_error_of_its_row(self) -> None:
        bad = [b"\xff", b"\\xff\xfe", b"\xff\xfe", b"\xed\xb3\xbf", b"\xe9\n", b"bad\xc3"]
        self.make(["a", "\\xff", "./\\xff"[2:], "caf\u00e9"])
        for name in bad:
            (self.source / os.fsdecode(name)).write_bytes(b"x")
        for number, environment in enumerate(ENVIRONMENTS):
            for how in ([], ["--json"], ["-q"]):
                with self.subTest(f"{environment} {how}"):
                    target = self.folder / f"t{number}{how}"
                    words = ("encrypt", "-k", self.key, "--suffix", ".e", *how, self.source, target)
                    done = command(*words, environment=environment)
                    self.assertEqual(done.returncode, 1, done)
                    self.assertNotIn(b"Traceback", done.stderr)
                    self.assertEqual(set(self.files(target)), {"a.e", "\\xff.e", "caf\u00e9.e"})
                    there = self.load(target, self.key)
                    self.assertEqual(len({row.key for row in there.rows}), 3 + len(bad))
                    for row in there.rows:
                        self.assertEqual(there.find(there.job.plain_name(row)), row)
                    if how == ["--json"]:
                        self.assertEqual(json.loads(done.stdout)["errors"], len(bad))
                    else:
                        self.assertEqual(done.stdout.count(b"is not UTF-8"), len(bad), done.stdout)
                        self.assertTrue(done.stdout.replace(b"\n", b"").isascii(), done.stdout)

    def test_a_place_that_is_not_utf_8(self) -> None:
        folder = self.folder / os.fsdecode(b"\xff\n\xc3")
        (folder / "s").mkdir(parents=True)
        (folder / "s" / "x").write_bytes(b"x")
        target, one = folder / "t", folder / os.fsdecode(b"one\xff")
        one.write_bytes(b"1")
        for environment in ENVIRONMENTS:
            with self.subTest(str(environment)):
                done = command("encrypt", "-k", self.key, folder / "s", target, environment=environment)
                self.assertEqual(done.returncode, 0, done)
                done = command("status", "-k", self.key, target, environment=environment)
                self.assertEqual(done.returncode, 0, done)
        done = command("encrypt", "-k", self.key, one, self.target)
        self.assertEqual((done.returncode, b"not UTF-8" in done.stdout), (1, True), done)
        done = command("encrypt", "-k", self.key, "--suffix", os.fsdecode(b"\xff"), folder / "s", self.target)
        self.assertEqual((done.returncode, b"argument --suffix: must be UTF-8" in done.stderr), (2, True), done)

    def test_help_on_every_terminal(self) -> None:
        for words in ([], *([each] for each in ("encrypt", "decrypt", "rekey", "rewrap", "verify", "adopt", "status"))):
            done = command(*words, "--help", environment={"PYTHONIOENCODING": "ascii"})
            self.assertEqual((done.returncode, done.stderr), (0, b""))

    def test_closed_and_full_streams(self) -> None:
        """A missing standard stream does not change the contents of objects. A report that cannot be written is an
        error."""
        content = self.make(["a", "b/c"])
        for number, closed in enumerate(("<&-", ">&-", "2>&-", "<&- >&- 2>&-", ">/dev/full", "| true", "2>/dev/full")):
            for how in ("", "--json", "--workers 2"):
                with self.subTest(f"{closed} {how}"):
                    target, out = self.folder / f"t{number}{how}", self.folder / f"o{number}{how}"
                    words = [sys.executable, "-W", "ignore", "-m", "warpaes", "bulk", "encrypt", "-k", str(self.key)]
                    line = f'"$@" {how} {closed}; exit ${{PIPESTATUS[0]}}'
                    done = subprocess.run(
                        ["bash", "-c", line, "bash", *words, str(self.source), str(target)],
                        capture_output=True,
                        text=True,
                        timeout=200,
                    )
                    lost = closed in (">/dev/full", "| true")
                    self.assertIn(done.returncode, (0, 1) if closed == "| true" else (int(lost),), done)
                    self.assertNotIn("Traceback", done.stderr)
                    if closed == ">/dev/full":
                        self.assertIn("its report could not be written: No space left on device", done.stderr)
                    self.assertEqual(set(self.files(target)), set(content))
                    self.assertEqual(bulk("decrypt", "-k", self.key, target, out)[0], 0)
                    self.assertEqual(self.files(out), content)

    def test_another_suffix_to_decrypt(self) -> None:
        """The rows of the new manifest are sorted. Names that become equal are errors."""
        names = ["a", "a-x", "a.enc", "a.enc-x", "b"]
        self.make(names)
        for suffix in ("", ".enc", ".e"):
            for other in ("", ".enc", ".e", "-x"):
                with self.subTest(f"{suffix} {other}"), unittest.mock.patch.object(manifest, "SHARD_ROWS", 2):
                    target, out = self.folder / f"t{suffix}", self.folder / f"o{suffix}+{other}"
                    bulk("encrypt", "-k", self.key, f"--suffix={suffix}", self.source, target)
                    bulk("decrypt", "-k", self.key, f"--suffix={other}", target, out)
                    there = self.load(out, self.key)
                    keys = [row.key for row in there.rows]
                    self.assertEqual(keys, sorted(keys))
                    self.assertTrue(all(there.find(key) is not None for key in keys))
                    expected = [(name + suffix).removesuffix(other) for name in names]
                    single = {key for key in expected if expected.count(key) == 1}
                    self.assertEqual(set(self.files(out)), single)

    def test_temporary_files_of_long_names_are_swept(self) -> None:
        for suffix in ("", ".suffix"):
            names = [name for name in NAMES if len(name.encode()) in (209, 254, 255)]
            names = [name[: -len(suffix)] if suffix and len(name.encode()) > 240 else name for name in names]
            self.make(names)
            target = self.folder / f"t{suffix}"
            bulk("encrypt", "-k", self.key, f"--suffix={suffix}", self.source, target)
            left = [target / local._temporary(name + suffix, "0" * 32) for name in names]
            other = target / local._temporary("z" * 255, "0" * 32)
            for path in (*left, other):
                path.write_bytes(b"x")
            self.make(["new" + suffix])
            bulk("encrypt", "-k", self.key, "--suffix", suffix, "--update", self.source, target)
            self.assertEqual([path for path in left if path.exists()], [])
            self.assertTrue(other.exists())


class Threads(unittest.TestCase):
    def test_rows_are_read_by_the_thread_that_asks(self) -> None:
        """An Arrow thread that still uses Python's memory at exit would crash the process."""
        said = run_python(
            "import os; from warpaes.bulk import rows, tables\n"
            "every = [rows.Row(str(i), '', 0, '') for i in range(5000)]\n"
            "data = rows.pack(every)\n"
            "before = os.listdir('/proc/self/task')\n"
            "assert rows.unpack(data) == every and len(list(tables.read_list(data, 'x.parquet'))) == 5000\n"
            "print(len(os.listdir('/proc/self/task')) - len(before))"
        )
        self.assertEqual(said.strip(), "0")


class Lists(Case):
    """Tests of names from `--names`."""

    def setUp(self) -> None:
        super().setUp()
        self.source.mkdir()
        (self.source / "a").write_bytes(b"a")

    def run_with(self, data: bytes, name: str = "list.txt") -> tuple[int, dict[str, Any]]:
        (self.folder / name).write_bytes(data)
        return bulk("encrypt", "-k", self.key, "--names", self.folder / name, self.source, self.target)

    def test_text(self) -> None:
        for data in (b"a\n", b"a", b"\xef\xbb\xbfa\n", b"a\r\n\r\n", b"\n\na\n"):
            self.assertEqual(self.run_with(data)[1]["done"], 1, data)
        (self.folder / "bad.txt").write_bytes(b"a\nb\n\xff\n")
        said = refusal("encrypt", "-k", self.key, "--names", self.folder / "bad.txt", self.source, self.folder / "t")
        self.assertIn("bad.txt: line 3 is not UTF-8", said)

    def test_tables(self) -> None:
        def table(**columns: Any) -> bytes:
            out = io.BytesIO()
            pq.write_table(pa.table(columns), out)
            return out.getvalue()

        wrong = {
            "column `key`": [{"key": pa.array(["a", None])}, {"key": ["a", ""]}, {"key": [b"a"]}, {"key": [1]}],
            "column `size`": [{"key": ["a"], "size": [each]} for each in (-1, 1.5, "1", b"1")],
            "column `etag`": [{"key": ["a"], "etag": [each]} for each in (1, b"x")],
            "no column `key`": [{"name": ["a"]}],
        }
        for sentence, every in wrong.items():
            for number, columns in enumerate(every):
                with self.subTest(f"{sentence} {number}"):
                    path = self.folder / "list.parquet"
                    path.write_bytes(table(**columns))
                    said = refusal("encrypt", "-k", self.key, "--names", path, self.source, self.target)
                    self.assertIn(sentence, said)
        not_utf8 = pa.StringArray.from_buffers(1, pa.py_buffer(b"\0\0\0\0\1\0\0\0"), pa.py_buffer(b"\xff"))
        for data in (table(key=not_utf8), b"", b"PAR1", b"PAR1" * 9, table(key=["a"])[:-9]):
            (self.folder / "list.parquet").write_bytes(data)
            path = self.folder / "list.parquet"
            self.assertIn("list.parquet", refusal("encrypt", "-k", self.key, "--names", path, self.source, self.target))
        status, report = self.run_with(table(key=["a", "../x", "a\n", "x" * 300, "a\0"]), "list.parquet")
        self.assertEqual((status, report["done"], report["errors"]), (1, 1, 4))

    def peak(self, path: pathlib.Path) -> int:
        """Return the MiB by which reading a list increases a process's memory. Check that the list is refused or
        contains these names."""
        return int(
            run_python(
                # ru_maxrss is not suitable, because it is at least that of the process that started this process.
                "import pathlib, re\n"
                "from warpaes.bulk import tables\n"
                "def now(): return int(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1]) >> 10\n"
                f"data = pathlib.Path({str(path)!r}).read_bytes()\n"
                "before = now()\n"
                "try:\n"
                "    names = {each[0] for each in tables.read_list(data, 'x.parquet')}\n"
                "except ValueError as error:\n"
                "    assert 'x.parquet' in str(error)\n"
                "print(now() - before)"
            )
        )

    def test_a_table_takes_memory_by_its_size_whatever_it_claims(self) -> None:
        path = self.folder / "x.parquet"
        count = 30_000
        noise = pa.array([os.urandom(8) for _ in range(count)])
        for length in (4000, 25_000):  # many rows share the same text
            names = pa.DictionaryArray.from_arrays(pa.array([0] * count, pa.int32()), ["x" * length])
            pq.write_table(pa.table({"key": names, "noise": noise}), path)
            self.assertLess(self.peak(path), 60, length)
        every = ["x" * 1_000_000 + str(i) for i in range(300)]
        for dictionary in (True, False):
            out = io.BytesIO()
            pq.write_table(
                pa.table({"key": every}), out, compression="zstd", use_dictionary=dictionary, write_statistics=False,
                dictionary_pagesize_limit=1 << 30, data_page_size=1 << 30,
            )  # fmt: skip
            data = bytearray(out.getvalue())
            # The footer claims one byte of content. The two sizes in it are five-byte numbers.
            footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
            group = pq.ParquetFile(io.BytesIO(data)).metadata.row_group(0)
            for size in (group.total_byte_size, group.column(0).total_uncompressed_size):
                text = self.varint(2 * size)
                while (at := data.find(text, footer)) >= 0:
                    data[at : at + len(text)] = b"\x82" + b"\x80" * (len(text) - 2) + b"\0"
            self.assertEqual(pq.ParquetFile(io.BytesIO(data)).metadata.row_group(0).total_byte_size, 1)
            path.write_bytes(data)
            self.assertLess(len(data), 200_000)
            self.assertLess(self.peak(path), 60, dictionary)

    @staticmethod
    def varint(value: int) -> bytes:
        out = b""
        while value >= 0x80:
            out += bytes([value & 0x7F | 0x80])
            value >>= 7
        return out + bytes([value])

    def test_altered_tables(self) -> None:
        """Each altered table is either read or causes the kind of error that names the file."""
        out = io.BytesIO()
        pq.write_table(pa.table({"key": ["a", "b"], "size": [1, 2], "etag": ["x", None]}), out)
        data = out.getvalue()
        read = 0
        for at in range(len(data)):
            for altered in (data[:at], data[:at] + bytes([data[at] ^ 1 << at % 8]) + data[at + 1 :]):
                try:
                    read += len(list(tables.read_list(altered, "x.parquet"))) > 0
                except ValueError as error:
                    self.assertIn("x.parquet", str(error))
        self.assertGreater(read, 0)


class Objects(StoreCase):
    """Tests of names and URLs on an object store."""

    def setUp(self) -> None:
        super().setUp()
        self.addCleanup(self.clear)

    def clear(self) -> None:
        for key in self.store.keys(""):
            self.store.client.delete_object(Bucket="bucket", Key=key)

    def own(self, prefix: str) -> set[str]:
        return {key[len(prefix) :] for key in self.store.keys(prefix) if storage.FOLDER not in key}

    def test_every_name(self) -> None:
        names = [name for name in NAMES + OBJECTS if len(name.encode()) <= 1000]
        for name in names:
            self.store.put("raw/" + name, name.encode())
        self.store.put("raw/folder/", b"")  # web consoles create such folders
        for envelope in ("", "object"):
            with self.subTest(envelope):
                sealed, back, out = f"s3://bucket/s{envelope}", f"s3://bucket/b{envelope}", self.folder / f"o{envelope}"
                how = ["--envelope", envelope] if envelope else []
                status, report = bulk("encrypt", "-k", self.key, *how, "s3://bucket/raw", sealed)
                self.assertEqual((status, report["objects"]), (0, len(names)), report)
                self.assertEqual(bulk("verify", "-k", self.key, sealed)[0], 0)
                self.assertEqual(bulk("decrypt", "-k", self.key, sealed, back)[0], 0)
                self.assertEqual(self.own(f"b{envelope}/"), set(names))
                for name in names:
                    self.assertEqual(self.store.get(f"b{envelope}/{name}"), name.encode())
                status, report = bulk("decrypt", "-k", self.key, sealed, out)
                files = {name for name in names if name in NAMES}
                self.assertEqual((status, report["errors"]), (1, len(names) - len(files)))
                self.assertEqual(self.files(out), {name: name.encode() for name in files})
                self.assertEqual({path.name for path in self.folder.iterdir()} & {"a", "b", "lead"}, set())

    def test_the_longest_names(self) -> None:
        for length in (1023, 1024):
            self.store.put("n" * length, b"x")
        self.store.client.create_bucket(Bucket="other")
        status, report = bulk("encrypt", "-k", self.key, "s3://bucket", "s3://other")
        self.assertEqual((status, report["done"]), (0, 2), report)
        for how in (["--suffix", "xx"], ["--envelope", "object"]):
            status, report = bulk("encrypt", "-k", self.key, *how, "s3://bucket", f"s3://other/{how[0]}")
            self.assertEqual((status, report["errors"]), (1, 2), report)
            self.assertIn("bytes, but S3 allows 1024", report["first_errors"][0]["error"])

    def test_a_slash_more_is_another_folder(self) -> None:
        keys = ("one", "/one", "//one", "p/one", "p//two", "p///three", "p/q/four", "p//q/five", "p", "p/")
        for key in keys:
            self.store.put(key, key.encode())
        places = {"": "", "/": "", "//": "/", "///": "//", "/p": "p/", "/p/": "p/", "/p//": "p//", "/p///": "p///"}
        for place, prefix in places.items():
            with self.subTest(place):
                out = self.folder / f"o{len(place)}{place.count('p')}"
                there = stores.open_storage(f"s3://bucket{place}")
                self.assertEqual(stores.open_storage(there.url).place(), there.place())
                expected = {
                    key[len(prefix) :]: key.encode() for key in keys if key.startswith(prefix) and key != prefix
                }
                found = {entry.key: there.read(entry, 0, entry.size) for entry in there.list()}
                self.assertEqual(found, {name: data for name, data in expected.items() if name})
                self.assertEqual(len(there.left_out), int(prefix in keys))
                bulk("encrypt", "-k", self.key, f"s3://bucket{place}", out)
                self.assertEqual({row.key for row in self.load(out).rows}, set(found))
        self.assertTrue(storage.is_within(*(stores.open_storage(f"s3://bucket{each}") for each in ("/p//", "/p"))))
        self.assertFalse(storage.is_within(*(stores.open_storage(f"s3://bucket{each}") for each in ("/p", "/p//"))))
        self.assertFalse(storage.is_within(*(stores.open_storage(f"s3://bucket{each}") for each in ("/pq", "/p"))))

    def test_a_slash_more_in_the_target(self) -> None:
        self.source.mkdir()
        (self.source / "x").write_bytes(b"x")
        self.assertEqual(bulk("encrypt", "-k", self.key, self.source, "s3://bucket/t//")[0], 0)
        self.assertEqual(self.own("t/"), {"/x"})
        self.assertEqual(bulk("verify", "-k", self.key, "s3://bucket/t//")[0], 0)
        self.assertIn("no manifest", refusal("status", "s3://bucket/t/"))
        self.assertEqual(bulk("decrypt", "-k", self.key, "--remove-source", "s3://bucket/t//", self.target)[0], 0)
        self.assertEqual(self.own("t/"), set())
        self.assertEqual(self.files(self.target), {"x": b"x"})

    def test_what_fsspec_cannot_name_is_refused(self) -> None:
        for url in ("memory://p//", "memory:////", "http://127.0.0.1:9/p//"):
            self.assertIn("ends with a slash", refusal("encrypt", "-k", self.key, url, self.target))
        self.assertIn("is not UTF-8", refusal("encrypt", "-k", self.key, "s3://bucket/\udcff", self.target))


if __name__ == "__main__":
    unittest.main()
