"""Tests `warpaes bulk` with faults of users, file systems and other programs: names, folders, lists and
interruptions."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest
import unittest.mock
from typing import Any

from bulk_case import Case, bulk, refusal, said_by
from warpaes.bulk import (
    cli,
    dispatch,
    job,
    keys,
    listing,
    lock,
    manifest,
    pool,
    progress,
    rows,
    storage,
    stores,
    transfer,
    worker,
)
from warpaes.bulk.local import PART, LocalStorage
from warpaes.bulk.lock import Lock, LockedError
from warpaes.exceptions import Error


class Ends(Case):
    """Tests of the relation between source and target."""

    def test_a_target_within_the_source_and_the_other_way_round(self) -> None:
        self.write([10])
        given = ("encrypt", "-k", self.key)
        self.assertIn("is inside", refusal(*given, self.source, self.source / "sealed"))
        self.assertIn("is inside", refusal(*given, self.source / "a", self.source))
        self.assertFalse((self.source / "sealed").exists())
        # A folder whose name begins with the same text is a different folder.
        self.assertEqual(bulk(*given, self.source, self.folder / "source2")[0], 0)

    def test_links_do_not_hide_that_they_are_the_same(self) -> None:
        content = self.write([10])
        (self.folder / "link").symlink_to(self.source)
        given = ("encrypt", "-k", self.key, "--overwrite")
        self.assertIn("are the same", refusal(*given, self.source, self.folder / "link"))
        self.assertIn("is inside", refusal(*given, self.folder / "link", self.source / "a/../sealed"))
        self.assertEqual(self.files(self.source), content)

    def test_one_object_does_not_become_itself(self) -> None:
        content = self.write([10])
        path = self.source / next(iter(content))
        given = ("encrypt", "-k", self.key, "--overwrite")
        self.assertIn("is also the target", refusal(*given, path, path.parent))
        self.assertEqual(path.read_bytes(), next(iter(content.values())))
        self.assertEqual(bulk(*given, "--suffix", ".sealed", path, path.parent)[0], 0)

    def test_names_of_bulks_own_are_left_alone(self) -> None:
        self.write([10])
        self.key2.write_bytes(b"0" * 32)
        (self.source / storage.FOLDER / "keys").mkdir(parents=True)
        (self.source / manifest.NAME).write_bytes(b"evil")
        names = self.folder / "names"
        names.write_text(f"{manifest.NAME}\na/0/o b.10\n")
        for _ in range(2):
            given = ("encrypt", "-k", self.key, "--overwrite", "--names", names, self.source, self.target)
            with unittest.mock.patch.object(manifest.Manifest, "load", self.only(self.target)):
                status, report = bulk(*given)
            self.assertEqual((status, report["errors"], report["done"]), (1, 1, 1))
            self.assertEqual(len(self.load(self.target).rows), 2)

    def only(self, folder: pathlib.Path) -> Any:
        """Return a Manifest.load that works only for this target, because the source contains a different file with
        this name."""
        real = manifest.Manifest.load
        return lambda there, holders=None: real(there, holders) if there.url == str(folder) else None

    def test_two_objects_that_would_be_one(self) -> None:
        self.write([10])
        bulk("encrypt", "-k", self.key, "--suffix", ".s", self.source, self.target)
        (sealed,) = self.target.glob("a/0/*.s")
        other = sealed.with_name(sealed.name.removesuffix(".s"))
        other.write_bytes(sealed.read_bytes())
        given = ("-k", self.key, *self.without_manifest(self.target), "--suffix", ".s", "--overwrite")
        out = self.folder / "out"
        for _ in range(2):  # the errors repeat when the rows are retried
            status, report = bulk("decrypt", *given, self.target, out)
            self.assertEqual((status, report["errors"], report["done"]), (1, 2, 0))
            self.assertIn("several source objects would become", report["first_errors"][0]["error"])
            self.assertEqual(self.files(out), {})

    def test_wrapped_keys_are_not_replaced_by_objects(self) -> None:
        self.write([10])
        (one,) = self.source.glob("a/0/*")
        one.with_name(one.name + storage.KEY_SUFFIX).write_bytes(b"an object of this name")
        given = ("encrypt", "-k", self.key, "--envelope", "object", "--overwrite", self.source, self.target)
        for _ in range(2):
            status, report = bulk(*given)
            self.assertEqual((status, report["errors"], report["done"]), (1, 1, 1))
        self.assertEqual(bulk("verify", "-k", self.key, self.target)[1]["done"], 1)
        given = self.without_manifest(self.target)
        self.assertEqual(bulk("decrypt", "-k", self.key, *given, self.target, self.folder / "out")[1]["done"], 1)

    def test_names_that_are_not_utf8(self) -> None:
        content = self.write([10])
        with open(os.fsencode(self.source) + b"/caf\xe9", "wb") as file:
            file.write(b"x")
        for options in ((), ("--update",)):
            status, report = bulk("encrypt", "-k", self.key, *options, self.source, self.target)
            self.assertEqual((status, report["done"], report["errors"]), (1, 1, 1))
        self.assertEqual(report["first_errors"][0]["key"], "./caf\\xe9")
        self.assertEqual(self.files(self.target).keys(), content.keys())

    def test_odd_names(self) -> None:
        names = [" ", "%2e%2e", "#?&=+", "\u2028\x0b\x85", "a\nb", "ä/ö/\U0001f511", "~", "-k", "x" * 200, '"\\"']
        for name in names:
            (self.source / name).parent.mkdir(parents=True, exist_ok=True)
            (self.source / name).write_bytes(name.encode())
        self.assertEqual(bulk("encrypt", "-k", self.key, self.source, self.target)[0], 0)
        self.assertEqual(bulk("decrypt", "-k", self.key, self.target, self.folder / "out")[0], 0)
        self.assertEqual(self.files(self.folder / "out"), {name: name.encode() for name in names})

    def test_a_file_where_a_folder_has_to_be(self) -> None:
        self.write([10])
        self.target.mkdir()
        (self.target / "a").write_bytes(b"a file")
        status, report = bulk("encrypt", "-k", self.key, self.source, self.target)
        self.assertEqual((status, report["retries"]), (1, 0))
        self.assertIn("is a file", report["first_errors"][0]["error"])

    def test_folders_are_on_the_disk_before_their_files_count(self) -> None:
        self.write([10])
        synced: list[str] = []
        real = os.fsync
        with unittest.mock.patch.object(
            os,
            "fsync",
            lambda descriptor: (synced.append(os.readlink(f"/proc/self/fd/{descriptor}")), real(descriptor)),
        ):
            bulk("encrypt", "-k", self.key, self.source, self.target)
        for path in (self.folder, self.target, self.target / "a", self.target / "a/0"):
            self.assertIn(str(path), synced)


class Lists(Case):
    """Tests of name lists that other programs created."""

    def listed(self, *names: str) -> pathlib.Path:
        path = self.folder / "names"
        path.write_bytes("\n".join(names).encode())
        return path

    def test_lines_end_at_line_feeds_alone(self) -> None:
        for name in ("a\u2028b", "c\x0bd", "e\x85f", "g"):
            (self.source / name).parent.mkdir(parents=True, exist_ok=True)
            (self.source / name).write_bytes(b"1")
        names = self.listed("a\u2028b", "c\x0bd\r", "e\x85f", "g", "g", "")
        status, report = bulk("encrypt", "-k", self.key, "--names", names, self.source, self.target)
        self.assertEqual((status, report["objects"]), (0, 4))

    def test_a_list_in_the_root(self) -> None:
        found = listing.Listing(
            listing.Options("encrypt", "/", "/"), stores.open_storage("/"), stores.open_storage("/")
        )
        with self.assertRaisesRegex(storage.MissingError, "^/no-such-list"):
            next(iter(found._named("/no-such-list", None)))

    def test_nothing_outside_the_source_is_read(self) -> None:
        self.write([10])
        secret = self.folder / "secret"
        secret.write_bytes(b"secret")
        names = self.listed("../secret", str(secret), "a/../../secret")
        given = ("encrypt", "-k", self.key, "--suffix", ".s", "--names", names)
        status, report = bulk(*given, self.source, "memory://nothing-outside")
        self.assertEqual((status, report["done"], report["errors"]), (1, 0, 3))

    def test_a_size_that_is_not_the_objects(self) -> None:
        """With a wrong size, only the beginning of the object would be encrypted, and the original would be removed."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        content = self.write([9_000_000, 50])
        versions = [stores.open_storage(str(self.source)).stat(name).version for name in content]
        pq.write_table(
            pa.table({"key": list(content), "size": [10, 50], "version": versions}), self.folder / "l.parquet"
        )
        given = ("--names", self.folder / "l.parquet", "--remove-source", self.source, self.target)
        status, report = bulk("encrypt", "-k", self.key, *given)
        self.assertEqual((status, report["done"], report["errors"]), (1, 1, 1))
        self.assertEqual(self.files(self.source), {name: data for name, data in content.items() if len(data) > 50})


class Steps(Case):
    """Tests of a crash, a failure or an interruption between two steps."""

    def test_what_was_begun_beside_objects_is_swept(self) -> None:
        content = self.write([10])
        given = ("encrypt", "-k", self.key, "--envelope", "object", self.source, self.target)
        name = self.target / next(iter(content))
        number = "0" * 32
        orphans = [
            self.target / storage.FOLDER / f".manifest.jsonl{PART}{number}",
            self.target / storage.FOLDER / f"shards/.x.parquet{PART}{number}",
            self.target / storage.FOLDER / f"keys/.x.json{PART}{number}",
            name.with_name(f".{name.name}{storage.KEY_SUFFIX}{PART}{number}"),
        ]
        for path in orphans:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"half")
        somebodys = self.target / f".other{PART}{number}"
        somebodys.write_bytes(b"somebody's")
        self.assertEqual(bulk(*given)[1]["parts_swept"], 4)
        self.assertEqual([path.exists() for path in [*orphans, somebodys]], [False, False, False, False, True])

    def test_a_manifest_that_is_replaced_while_it_is_read(self) -> None:
        self.write([10])
        bulk("encrypt", "-k", self.key, self.source, self.target)
        real, times = LocalStorage.read, [3]

        def read(store: Any, entry: storage.Entry, *where: int) -> bytes:
            if entry.key == manifest.NAME and times[0]:
                times[0] -= 1
                path = self.target / manifest.NAME
                path.with_name("new").write_bytes(path.read_bytes())
                path.with_name("new").rename(path)
            return real(store, entry, *where)

        with unittest.mock.patch.object(LocalStorage, "read", read):
            self.assertEqual(bulk("status", self.target)[0], 0)
            times[0] = 10**9
            self.assertIn("has changed", refusal("status", self.target))

    def test_attempts_of_earlier_runs_do_not_count(self) -> None:
        self.write([10])
        bulk("encrypt", "-k", self.key, "--envelope", "object", self.source, self.target)
        there = self.load(self.target, self.key)
        (row,) = there.rows_of(0)
        row.attempt = 5
        there.change(0)
        there.save()
        self.assertEqual([row.attempt for row in self.load(self.target).rows], [5])
        real, failures = LocalStorage.read, [1]

        def read(store: Any, entry: storage.Entry, *where: int) -> bytes:
            if failures[0] and entry.key == row.key:
                failures[0] -= 1
                raise OSError("a network file system hangs")
            return real(store, entry, *where)

        with unittest.mock.patch.object(LocalStorage, "read", read):
            status, report = bulk("verify", "-k", self.key, self.target)
        self.assertEqual((status, report["retries"]), (0, 1))

    def test_a_full_disk_at_a_checkpoint_does_not_end_the_job(self) -> None:
        self.write([10] * 20)
        real, failures = LocalStorage.put, []

        def put(store: Any, key: str, data: bytes, replace: str | None = None) -> str:
            if key == manifest.NAME and replace is not None and not failures:
                failures.append(key)
                raise OSError(28, "No space left on device")
            return real(store, key, data, replace)

        check = job.Run._every_while

        def at_once(run: job.Run) -> None:
            run._saved, run._saving = -1e9, 0.0
            check(run)

        with (
            unittest.mock.patch.object(LocalStorage, "put", put),
            unittest.mock.patch.object(job.Run, "_every_while", at_once),
        ):
            status, report = bulk("encrypt", "-k", self.key, self.source, self.target)
        self.assertEqual((status, report["done"], len(failures)), (0, 20, 1))
        self.assertTrue(self.load(self.target).job.finished)

    def test_a_save_without_an_answer_is_recognised_afterwards(self) -> None:
        self.write([10])
        bulk("encrypt", "-k", self.key, self.source, self.target)
        real = LocalStorage.put
        for number, part in enumerate((manifest.NAME, manifest.SHARDS) * 2):
            lost: list[str] = []

            def put(store: Any, key: str, *others: Any, part: str = part, lost: list[str] = lost) -> str:
                version = real(store, key, *others)
                if key.startswith(part):
                    lost.append(key)
                    raise KeyboardInterrupt
                return version

            one = self.load(self.target, self.key)
            one.rows_of(0)[0].attempt = 10 + number
            one.change(0)
            with unittest.mock.patch.object(LocalStorage, "put", put), self.assertRaises(KeyboardInterrupt):
                one.save()
            self.assertEqual(len(lost), 1)
            one.save()
            one.save()
            self.assertEqual([row.attempt for row in self.load(self.target, self.key).rows], [10 + number])
        stale = self.load(self.target, self.key)
        self.load(self.target, self.key).save()
        self.assertRaises(storage.ExistsError, stale.save)

    def test_an_interruption_gives_large_objects_up(self) -> None:
        self.write([10])
        with open(self.source / "large", "wb") as file:
            file.truncate(24 * storage.WINDOW)
        read, real = [0], LocalStorage.read

        def counted(store: Any, entry: storage.Entry, *where: int) -> bytes:
            read[0] += 1
            return real(store, entry, *where)

        def interrupt(run: job.Run) -> None:
            if read[0] > 3:
                raise KeyboardInterrupt

        with (
            unittest.mock.patch.object(LocalStorage, "read", counted),
            unittest.mock.patch.object(job.Run, "_every_while", interrupt),
            unittest.mock.patch.object(worker.Worker, "poll", lambda one, timeout: []),
        ):
            # With --verify, this process encrypts. Otherwise, the library's jobs encrypt, as tested below.
            status, said = said_by("encrypt", "-k", self.key, "--verify", self.source, self.target)
        self.assertEqual(status, 130, said)
        self.assertIn("run the same command to continue", said)
        self.assertLess(read[0], 20)
        self.assertEqual(list(self.target.rglob(f"*{PART}*")), [])
        self.assertFalse((self.target / lock.NAME).exists())
        self.assertEqual(bulk("encrypt", "-k", self.key, self.source, self.target)[0], 0)

    def test_an_interruption_gives_large_files_up(self) -> None:
        self.write([10])
        with open(self.source / "large", "wb") as file:
            file.truncate(24 * storage.WINDOW)
        asked, ended, real = [0], [], transfer._crypt_file

        def watched(*given: Any) -> Any:
            *before, proceed = given

            def go_on() -> bool:
                asked[0] += 1
                while asked[0] > 1 and proceed():  # wait until the worker is closed
                    time.sleep(0.001)
                return proceed()

            try:
                return real(*before, go_on if os.fstat(before[1]).st_size > storage.WINDOW else proceed)
            except Error as error:
                ended.append(str(error))
                raise

        def interrupt(run: job.Run) -> None:
            if asked[0] > 1:
                raise KeyboardInterrupt

        with (
            unittest.mock.patch.object(transfer, "_crypt_file", watched),
            unittest.mock.patch.object(job.Run, "_every_while", interrupt),
            unittest.mock.patch.object(worker.Worker, "poll", lambda one, timeout: []),
        ):
            status, said = said_by("encrypt", "-k", self.key, self.source, self.target)
        self.assertEqual(status, 130, said)
        self.assertEqual(ended, ["cancelled by the caller"])
        self.assertEqual(len(self.files(self.target)), 1)
        self.assertEqual(list(self.target.rglob(f"*{PART}*")), [])
        self.assertEqual(bulk("encrypt", "-k", self.key, self.source, self.target)[0], 0)

    def test_signals_are_handled_as_before_afterwards(self) -> None:
        before = signal.getsignal(signal.SIGTERM)
        refusal("status", self.target)
        self.assertEqual(signal.getsignal(signal.SIGTERM), before)

    def test_nobody_reads_the_progress(self) -> None:
        self.write([10])

        class Closed(io.StringIO):
            def write(self, text: str) -> int:
                raise BrokenPipeError(32, "Broken pipe")

        with contextlib.redirect_stderr(Closed()):
            given = ["-k", self.key, "--metrics", self.folder / "none/x", self.source, self.target]
            status = cli.main(["encrypt", *map(str, given)])
        self.assertEqual(status, 0)

    def test_workers_that_cannot_be_made_are_one_sentence(self) -> None:
        self.write([10])
        given = ("encrypt", "-k", "vault-transit://nothing-else", "--envelope", "object", self.source)
        for number in ("1", "2"):
            said = refusal(*given, self.folder / number, "--workers", number)
            self.assertIn("vault-transit://", said)
            self.assertEqual(said.count("\n"), 1, said)
        # This process can open the key source, but workers cannot.
        make, bad = job.make_pool, keys.KeySpec("vault-transit://nothing-else", None)
        ours = ("encrypt", "-k", self.key, self.source)

        def broken(config: worker.Config, *others: Any) -> pool.Pool:
            return make(dataclasses.replace(config, key=[bad]), *others)

        for number in ("1", "2"):
            with unittest.mock.patch.object(job, "make_pool", broken):
                status, said = said_by(*ours, self.target, "--workers", number)
            self.assertEqual(status, 1, said)
            self.assertIn("vault-transit://", said)
            self.assertEqual(said.count("\n"), 1, said)
        self.assertEqual(bulk(*ours, self.target)[0], 0)

    def test_a_backend_by_name(self) -> None:
        """A separate process is used, because a backend is chosen only once per process."""
        self.write([10])
        command = [
            sys.executable,
            "-m",
            "warpaes",
            "bulk",
            "encrypt",
            "-q",
            "--json",
            "--envelope",
            "job",
            "-k",
            self.key,
        ]
        for name, status, more in (("abacus", 2, []), ("libcrypto", 0, []), ("libcrypto", 0, ["--verify"])):
            ends = [self.source, self.folder / ("target" + "".join(more))]
            ended = subprocess.run(
                [*command, "--backend", name, *more, *ends], capture_output=True, text=True, check=False
            )
            self.assertEqual(ended.returncode, status, ended.stderr)
            self.assertEqual("abacus" in ended.stderr, name == "abacus")
            if status == 0:
                self.assertEqual(json.loads(ended.stdout)["computed_on"], {name: 1})

    def test_large_files_are_shared_among_workers(self) -> None:
        given: dict[int, list[int]] = {}

        class Two(pool.Pool):
            """A pool whose workers finish immediately."""

            size = 2

            def submit(self, slot: int, tasks: list[pool.Task]) -> None:
                given.setdefault(slot, []).extend(number for number, _, _ in tasks)
                self.now = [(slot, [(number, {}) for number, _, _ in tasks]), *getattr(self, "now", [])]

            def poll(self, timeout: float) -> list[tuple[int, pool.Events | None]]:
                now, self.now = self.now, []
                return list(now)

            def close(self) -> None:
                pass

        group = [rows.Row(f"{i}", f"{i}", 2 * storage.WINDOW, "1") for i in range(40)]
        config = worker.Config("encrypt", "/a", "/b")
        told = progress.Progress("encrypt", "/b", None, None)
        there = manifest.Manifest.in_memory(stores.open_storage(str(self.target)), group)
        dispatch.Dispatcher(there, Two(), config, told, 5, None, lambda: None).run(dispatch.ENCRYPT)
        self.assertEqual(sorted(given[0] + given[1]), list(range(40)))
        self.assertGreater(min(len(given[0]), len(given[1])), 8)

    def test_as_many_actors_as_there_is_room_for(self) -> None:
        """A row that is assigned to a GPU actor without a slot would never run."""
        machine = {"CPU": 32.0, "GPU": 2.0}
        for cpus, gpus, wanted in ((1, 0, 32), (4, 0, 8), (1, 1, 2), (20, 1, 1), (1, 0.25, 8), (0, 1, 2), (64, 0, 1)):
            self.assertEqual(pool.actors_in(machine, cpus, gpus), wanted, (cpus, gpus))
        self.assertEqual(pool.actors_in({"CPU": 8.0}, 1, 1), 1)

    def test_no_ray(self) -> None:
        self.write([10])
        with unittest.mock.patch.dict("sys.modules", {"ray": None}):
            status, said = said_by("encrypt", "-k", self.key, "--address", "auto", self.source, self.target)
        self.assertEqual(status, 1)
        self.assertIn("pip install 'warpaes[ray]'", said)

    def test_options_that_cannot_be(self) -> None:
        for name, value in (("--memory", "0"), ("--threads", "0"), ("--attempts", "0"), ("--workers", "-1"),
                            ("--requests", "0"), ("--checkpoint", "nan"), ("--lock-expiry", "0")):  # fmt: skip
            said = io.StringIO()
            with contextlib.redirect_stderr(said), self.assertRaises(SystemExit):
                cli.main(["encrypt", "-k", "x", name, value, "a", "b"])
            self.assertIn(name, said.getvalue())


class Locks(Case):
    def test_a_lock_that_is_none_is_taken_when_it_is_silent(self) -> None:
        target = stores.open_storage(str(self.target))
        for data in (b"", b"{}", b"[" * 5000, b"null"):
            target.put(lock.NAME, data)
            with Lock(target, "encrypt", beat=0.05, expiry=0.1) as one:
                one.check()
        self.write([10])
        bulk("encrypt", "-k", self.key, self.source, self.target)
        target.put(lock.NAME, b"{}")
        with contextlib.redirect_stdout(io.StringIO()) as out:
            self.assertEqual(cli.main(["status", str(self.target)]), 0)
        self.assertIn("locked by process ?", out.getvalue())

    def test_an_old_lock_of_a_process_that_lives_is_no_driver_to_join(self) -> None:
        """Another process with write access to the target restores a lock that this process held earlier."""
        self.write([10])
        bulk("encrypt", "-k", self.key, self.source, self.target)
        target = stores.open_storage(str(self.target))
        target.put(lock.NAME, Lock(target, "encrypt")._text())
        shared = ("--share", "--lock-expiry", "0.4", "-k", self.key, "--new-key", self.key2, self.target)
        self.assertIn("the driver that began the job has ended; run the command again", refusal("rekey", *shared))
        self.assertEqual(bulk("rekey", *shared)[0], 0)
        target.put(lock.NAME, Lock(target, "encrypt")._text())
        self.assertIn("is working on it", refusal("encrypt", "--update", "-k", self.key2, self.source, self.target))

    def test_a_process_of_another_container_is_not_taken_for_dead(self) -> None:
        """The lock's process ID belongs to a different container. The local process with this ID is unrelated."""
        target = stores.open_storage(str(self.target))
        first = Lock(target, "encrypt", beat=0.2, expiry=1e6)
        first._mine.update(numbers="pid:[1]", process=2**22 + 1)
        with first:
            with self.assertRaises(LockedError), Lock(target, "encrypt", beat=0.2, expiry=1e6):
                pass
            first.check()


if __name__ == "__main__":
    unittest.main()
