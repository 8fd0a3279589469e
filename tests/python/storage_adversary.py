"""Tests `warpaes bulk` with random acts of an attacker who can write to its storage, and checks invariants after each
command.

    PYTHONPATH=build/default/python:tests/python python3 tests/python/storage_adversary.py --runs 10000 --seed 1 [--s3]

The adversary has none of the owner's keys. The adversary has other keys, the data keys of a dataset that the owner
created for the adversary, old states of all files, old keys once a rekey has replaced them, and in some runs permission
to wrap keys. Some datasets have encrypted names (storage_names.py). After each command:

a. its output opens under no key that the adversary knows, and uses the cipher from the command line; b. a decrypt
returns the content that was encrypted, or a nonzero exit status, and no file has different content; c. after a rekey
with exit status 0, nothing in the target opens under an earlier key; d. nothing outside the target was changed or read;
e. no file has more permissions than before, or than its source; f. when the adversary's acts are undone, the same
command succeeds; g. a failure is a message of one sentence without control characters, not an exception; h. an original
is removed only if its copy in the target opens to the same content; i. warpaes.open returns an object's own content or
raises an exception (local files); j. if names are encrypted, no output of a command contains a plain name, and listings
contain only the owner's names.

A command may be killed before one of its system calls, lose its storage, or be run by two drivers.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import functools
import io
import json
import multiprocessing
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import unittest.mock
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from typing import Any

import pyarrow
import warpaes
from bulk_case import MEMORY
from fsspec.implementations.local import LocalFileSystem
from storage_acts import FOLDER, Adversary, Bucket, Files, Node, Place, Tree, put
from storage_names import Names, NamesAdversary
from warpaes import keysources
from warpaes._printable import printable
from warpaes.bulk import cli, commands, keys, manifest, storage, stores
from warpaes.bulk.local import PART, LocalStorage, LocalUpload
from warpaes.exceptions import FormatError, InvalidTag, KeysetError
from warpaes.fs import WarpaesFileSystem

#: Cached, because creating a parser takes a quarter of the time of a short command.
make_parser = functools.cache(cli.make_parser)

pyarrow.set_cpu_count(1)  # enough for tables with five rows

#: The client and the session that all runs share.
CLIENTS: list[Any] = []
SESSIONS: list[Any] = []

SECRET = b"a secret with a different purposer"
THEIRS = b"for the adversary"
SKIP = os.environ.get("ADVERSARY_SKIP", "")
TEMPLATE = "AES256_GCM_HKDF_4KB"
#: Parts of plain names that occur nowhere else.
WORDS = (b"later", b"shared")
#: Exceptions that a reader may raise.
REFUSALS = (OSError, ValueError, FormatError, InvalidTag, KeysetError)


class BrokenError(Exception):
    """A violated invariant: its letter and a message."""


def keyset_of(key: bytes, template: str = TEMPLATE) -> warpaes.Keyset:
    return warpaes.Keyset.from_raw(template, key)


def opens(sealed: bytes, keyset: warpaes.Keyset, names: set[bytes], content: bytes | None = None) -> bool:
    """Return whether an object opens with one of these associated data and, if a content is given, has this content."""
    for associated in names:
        try:
            with warpaes.open(sealed, keyset=keyset, associated_data=associated) as file:
                found = file.read()
                if content is None or found == content:
                    return True
        except (FormatError, InvalidTag, KeysetError):
            continue
    return False


def source_of(path: pathlib.Path) -> Any:
    return keys.KeySpec.read(str(path)).open()


def data_keys(tree: Tree, source: Any) -> tuple[list[dict[str, Any]], list[warpaes.Keyset]]:
    """Return the records in a tree, and the data keys that a source unwraps from them."""
    records, found = [], []
    for name, (kind, content, _) in tree.items():
        if kind == "file" and (content[:1] == b"[" or name.startswith(FOLDER + "keys/")):
            with contextlib.suppress(Exception):
                for record in keys.parse_records(content, name):
                    found.append(keyset_of(keys.unwrap([source], record), record["template"]))
                    records.append(record)
    return records, found


class Killed:
    """Kills a process before it opens, names or removes a file, or sets its mode."""

    def __init__(self, at: int) -> None:
        self.at = at

    def run(self, words: list[str]) -> tuple[int, dict[str, Any], str]:
        """Run a command in a process that is killed in this way, unless it ends earlier. Return its status, its report
        and a description."""
        here = str(pathlib.Path(__file__).parent)
        program = f"import sys; sys.path.insert(0, {here!r}); import storage_adversary\n"
        program += f"storage_adversary.run_until({self.at}, {words!r})"
        done = subprocess.run([sys.executable, "-B", "-c", program], capture_output=True, timeout=120)
        if done.returncode < 0:
            return 1, {}, "killed"
        return done.returncode, json.loads(done.stdout or "{}"), "not killed"


#: Events of Python's audit hooks that precede system calls that write or inspect files.
CALLS = {"open", "os.chmod", "os.chown", "os.link", "os.listdir", "os.mkdir", "os.remove", "os.rename", "os.scandir"}


def run_until(at: int, words: list[str]) -> None:
    """Run a bulk command and kill this process before the call with this number."""
    left = [at]
    target = os.fsencode(words[-1])

    def look(event: str, arguments: tuple[Any, ...]) -> None:
        # Files that the interpreter and its libraries open are not counted.
        if event in CALLS and not (event == "open" and str(arguments[0]).startswith(("/proc", "/usr", sys.prefix))):
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    assert target
    sys.addaudithook(look)
    sys.exit(cli.main([*words, "-q", "--json"]))


class Away:
    """A storage that fails at one of its calls, before or after the call takes effect."""

    def __init__(self, at: int, after: bool) -> None:
        self.left, self.after = at, after
        self.is_over = False  #: the command has ended, so the harness can access the storage

    @contextlib.contextmanager
    def happens(self) -> Iterator[None]:
        with contextlib.ExitStack() as patched:
            kinds: list[tuple[Any, str]] = [
                (LocalStorage, name) for name in ("put", "remove", "stat", "read", "create")
            ]
            kinds += [(LocalUpload, "commit"), (LocalUpload, "abort")]
            if "warpaes.bulk.s3" in sys.modules:
                s3 = sys.modules["warpaes.bulk.s3"].S3Storage
                kinds += [(s3, name) for name in ("put_object", "remove", "stat", "read", "create")]
            for kind, name in kinds:
                real = getattr(kind, name)
                writes = name in ("put", "remove", "commit", "put_object")
                patched.enter_context(unittest.mock.patch.object(kind, name, self.wrapped(real, writes)))
            yield

    def wrapped(self, real: Any, writes: bool) -> Any:
        def call(*arguments: Any, **named: Any) -> Any:
            if self.is_over:
                return real(*arguments, **named)
            if self.left <= 0:
                raise OSError(5, "the storage is away")
            if writes:
                self.left -= 1
                if self.left == 0:
                    if self.after:
                        real(*arguments, **named)
                    raise OSError(5, "the storage is away")
            return real(*arguments, **named)

        return call


class World:
    """A run with an owner, a source, a target and an adversary."""

    def __init__(self, seed: int, s3: Any = None) -> None:
        chance = random.Random(seed)
        self.root = pathlib.Path(tempfile.mkdtemp(dir=MEMORY, prefix="adversary-"))
        self.log: list[str] = []
        self.envelope = chance.choice(["", "job", "object"])
        self.bind = chance.random() < 0.7
        self.careful = chance.random() < 0.5
        self.may_wrap = bool(self.envelope) and chance.random() < 0.4
        #: Only a manifest reveals forgeries if the adversary may wrap keys or knows a data key that a rekey replaced.
        self.may_make_objects = self.may_wrap
        self.suffix = chance.choice(["", "", ".enc"])
        self.is_kek = bool(self.envelope) and chance.random() < 0.6
        self.source_folder = self.root / "source"
        self.outside = self.root / "outside"
        self.outside.mkdir()
        (self.outside / "secret").write_bytes(SECRET)
        (self.outside / "secret").chmod(0o600)
        self.names = [
            *(f"n{i}" for i in range(chance.randrange(1, 4))),
            "d/m",
            "d/shared",
            "later1",
            "d/later2",
            "later3",
        ]
        # A separate generator is used, so that the other random numbers of a run are the same as without hidden names.
        self.hidden = Names(random.Random(f"names {seed}").random() < 0.35)
        self.theirs = Names(self.hidden.hides)  #: names of the datasets that are created for the adversary
        self.names += ["d/shared" + "x" * 80] if self.hidden.hides else []
        self.content = {name: f"{name} {chance.random()}".encode() * chance.choice([1, 1, 400]) for name in self.names}
        self.key = self.new_key()
        self.known = [warpaes.Keyset.generate(TEMPLATE)]
        self.leaked: list[warpaes.Keyset] = []  #: keys that have leaked, but not to the adversary
        self.planted_key = chance.randbytes(32)
        if self.envelope:
            self.known += [keyset_of(self.planted_key), keyset_of(self.planted_key[:16], "AES128_GCM_HKDF_4KB")]
        self.key_ids: list[str] = []
        self.records: list[dict[str, Any]] = []
        self.target_url = str(self.root / "target")
        self.options: list[str] = ["--lock-expiry", "0.4", "--threads", "2", "--attempts", "1"]
        self.place: Place = Files(self.root / "target")
        if s3 is not None:
            self.place, self.target_url = Bucket(s3, f"r{seed}"), f"s3://bucket/r{seed}"
            put(self.place, {})
        else:
            (self.root / "target").mkdir()
        self.history: list[Tree] = []
        self.truths: list[set[str]] = [set()]  #: the names that a decrypt may return, for each state of the dataset
        self.sure = 0  #: the index of the last state that a careful owner has seen
        self.save, self.pin = 0, ""
        self.listed: list[str] = []
        self.step = 0
        self.away: Away | None = None  #: the failing storage of the command that is running
        self.damage: dict[str, tuple[Node | None, Node | None]] = {}  #: the original and the damaged nodes
        self.is_mixed = self.has_ended = self.is_adopted = self.took_unbound = self.has_removed = False
        self.dataset = ""
        self.modes: dict[str, int] = {}  #: the modes of source files, including removed files
        self.shard_rows = chance.choice([2, 3, manifest.SHARD_ROWS])
        self.earlier: list[warpaes.Keyset] = []
        self.pending: tuple[pathlib.Path, list[str]] | None = None  #: an unfinished rekey
        self.prepare()
        self.adversary = NamesAdversary(self) if self.hidden.hides else Adversary(self)

    def new_key(self) -> pathlib.Path:
        path = self.root / f"key{len(list(self.root.glob('key*')))}"
        path.write_bytes(keysources.generate_kek() if self.is_kek else warpaes.Keyset.generate(TEMPLATE).to_json())
        path.chmod(0o600)
        return path

    def rotated(self, path: pathlib.Path) -> pathlib.Path:
        """Write the owner's keyset with a new primary key to a file."""
        keyset = warpaes.Keyset.parse(self.key.read_bytes())
        keyset.rotate(TEMPLATE)
        path.write_bytes(keyset.to_json())
        return path

    def source(self) -> Any:
        return source_of(self.key)

    def wrap(self, key: bytes, data: bytes) -> bytes:
        wrapped: bytes = self.source().wrap(key, data)
        return wrapped

    def prepare(self) -> None:
        """Create a dataset that the owner encrypted for the adversary, and a dataset under the adversary's key."""
        theirs = self.root / "for-him"
        for name in self.names:
            (theirs / name).parent.mkdir(parents=True, exist_ok=True)
            (theirs / name).write_bytes(THEIRS)
        for name, key in (("other", self.key), ("hostile", self.root / "his")):
            if name == "hostile":
                key.write_bytes(self.known[0].to_json())
            envelope = ["--envelope", self.envelope] if self.envelope else []
            bind = ["--bind-names" if self.bind else "--no-bind-names"]
            made = self.root / name
            words = ["encrypt", "-k", str(key), *self.naming("encrypt"), *envelope, *bind, "--template", TEMPLATE]
            status, _, said = self.run(*words, str(theirs), str(made))
            assert status == 0, said
            setattr(self, name, tree := Files(made).tree())
            self.theirs.learn(tree, lambda key=key: [source_of(key)], b"")
            shutil.rmtree(made)
        shutil.rmtree(theirs)
        if self.envelope:
            self.records, found = data_keys(self.other, self.source())
            self.known += found
        else:
            self.key_ids = [str(each["key_id"]) for each in warpaes.Keyset.parse(self.key.read_bytes()).keys()]  # noqa: SIM118

    other: Tree
    hostile: Tree

    def naming(self, command: str) -> list[str]:
        """Return a command's option for encrypted names."""
        return [f"--{command}-names"] if self.hidden.hides else []

    # ------------------------------------------------------------------------------------------------- the commands

    def run(self, *arguments: str) -> tuple[int, dict[str, Any], str]:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                with self.patched():
                    status = cli.main([*arguments, "-q", "--json"])
            except SystemExit as error:
                raise BrokenError(f"g: wrong usage of {arguments[0]}: {err.getvalue()[-200:]}") from error
            except Exception as error:
                last = traceback.extract_tb(error.__traceback__)[-1]
                raise BrokenError(
                    f"g: {type(error).__name__}: {str(error)[:150]} ({last.name}, line {last.lineno})"
                ) from error
        report = json.loads(out.getvalue() or "{}")
        return status, report, err.getvalue()

    @contextlib.contextmanager
    def patched(self) -> Iterator[None]:
        with (
            unittest.mock.patch.object(cli, "make_parser", make_parser),
            unittest.mock.patch.object(manifest, "SHARD_ROWS", self.shard_rows),
            self.one_client(),
        ):
            yield

    def run_shared(self, *arguments: str) -> tuple[int, dict[str, Any], str]:
        """Run two drivers that share a job.

        Return the status and the report of the driver that ends last. A driver that joins another driver ends after it,
        with the same result. A driver that arrives too late has no report.
        """

        def drive(_: int) -> tuple[float, int, dict[str, Any], str]:
            run = None
            try:
                run = commands.make_run(cli.options_of(make_parser().parse_args([*arguments, "--share", "-q"])))
                report = run.run()
                return time.monotonic(), int(bool(report["errors"])), report, ""
            except cli.FAILURES as error:
                said = f"warpaes bulk: {printable(str(error))}"
                return time.monotonic(), 1 if run is not None and run.begun else 2, {}, said

        with self.patched(), ThreadPoolExecutor(2) as drivers:
            try:
                return max(drivers.map(drive, range(2)), key=lambda result: (bool(result[2]), result[0]))[1:]
            except Exception as error:
                last = traceback.extract_tb(error.__traceback__)[-1]
                raise BrokenError(f"g: {type(error).__name__}: {error} ({last.name}, line {last.lineno})") from error

    @contextlib.contextmanager
    def one_client(self) -> Iterator[None]:
        """Share one S3 client and one session, because creating them takes longer than a command."""
        if not isinstance(self.place, Bucket):
            yield
            return
        from boto3.session import Session
        from warpaes.bulk import s3

        if not SESSIONS:
            SESSIONS.append(s3._session())

        def client(session: Session, *_: Any, **named: Any) -> Any:
            if not CLIENTS:
                CLIENTS.append(make(session, "s3", **named))
            return CLIENTS[0]

        make = Session.client
        with (
            unittest.mock.patch.object(Session, "client", client),
            unittest.mock.patch.object(s3, "_session", lambda: SESSIONS[0]),
        ):
            yield

    def command(self, words: list[str], how: Killed | str = "") -> tuple[int, list[str], pathlib.Path | None]:
        """Run one of the owner's commands on the target and check the invariants. `how` states whether the command is
        killed or run by two drivers."""
        self.step += 1
        name, out = words[0], None
        before, outside = self.place.tree(), Files(self.outside).tree()
        outside_names = set(os.listdir(self.root))
        if name == "decrypt":
            out = self.root / f"out{self.step}"
            outside_names.add(out.name)
            words = [*words, str(out)]
        originals = Files(self.source_folder).tree() if self.source_folder.is_dir() else {}
        report: dict[str, Any] = {}
        said = ""
        if isinstance(how, Killed):
            status, report, said = how.run(words)
        else:
            status, report, said = self.run_shared(*words) if how else self.run(*words)
        if self.away is not None:
            self.away.is_over = True
        if SKIP and re.search(SKIP, said + json.dumps(report)):
            self.is_mixed = True
        first = "; ".join(f"{each['key']}: {each['error']}" for each in report.get("first_errors", []))
        told = (said.strip() + " " + first).replace(str(self.root) + "/", "")[:200]
        shown = " ".join(words).replace(str(self.root) + "/", "").replace(" ".join(self.options) + " ", "")
        self.log.append(f"{shown} -> {status} {told!r}")
        after = self.place.tree()
        self.hidden.learn(after, lambda: [source_of(path) for path in self.keys_of_files()], self.planted_key)
        if status not in (0, 1, 2) or (status == 2 and not said.strip()):
            raise BrokenError(f"g: exit status {status}: {said}")
        if "Traceback" in said or not said.replace("\n", "").isprintable() or len(said.strip().split("\n")) > 1:
            raise BrokenError(f"g: it said {said!r}")
        if Files(self.outside).tree() != outside or set(os.listdir(self.root)) - outside_names:
            raise BrokenError("d: a file outside the target was written")
        self.check_written(name, words, before, after)
        self.check_removed(originals, after)
        if out is not None:
            self.check_decrypted(status, out, after, "--no-manifest" in words)
        self.check_listed([each["name"] for each in report.get("names", [])])
        if report.get("manifest_key") and name in ("adopt", "encrypt", "rekey", "rewrap", "verify"):
            self.save, self.pin = int(report["save"]), str(report["manifest_key"])
            self.dataset = self.dataset or str(report["dataset"])
        self.history.append(after)
        self.note_written(before, after)
        return status, words, out

    def check_removed(self, before: Tree, target: Tree) -> None:
        """Check that an original is removed only if its copy decrypts to the same content."""
        now = Files(self.source_folder).tree() if self.source_folder.is_dir() else {}
        for name in [name for name, node in before.items() if node[0] == "file" and name not in now]:
            self.has_removed = True
            if self.envelope:
                keysets = self.kept_keys()
            else:
                keysets = [warpaes.Keyset.parse(path.read_bytes()) for path in self.keys_of_files()]
            there = [each for each in self.hidden.of(name + self.suffix) if each in target]
            if not any(
                opens(target[each][1], keyset, self.associated(each, target), self.content[name])
                for each in there
                for keyset in keysets
            ):
                raise BrokenError(f"h: the original of {name} was removed, and its copy does not open to it")

    def kept_keys(self) -> list[warpaes.Keyset]:
        """Return the data keys in the manifest that the owner's keys open."""
        holders = [holder for path in self.keys_of_files() for holder in keys.KeySpec.read(str(path)).holders()]
        there = manifest.Manifest.load(stores.open_storage(self.target_url), holders)
        assert there is not None
        records = [*there.job.keys.values(), *(json.loads(row.wrapped)[0] for row in there.rows if row.wrapped)]
        sources = [source_of(path) for path in self.keys_of_files()]
        found = []
        for record in records:
            with contextlib.suppress(storage.PermanentError):  # keys that a rekey has replaced
                found.append(keyset_of(keys.unwrap(sources, record), record["template"]))
        return found

    def keys_of_files(self) -> list[pathlib.Path]:
        return [self.key] if self.pending is None else [self.key, self.pending[0]]

    def associated(self, name: str, tree: Tree) -> set[bytes]:
        found = {b"", name.encode()}
        for each in (tree, self.other, self.hostile):
            with contextlib.suppress(Exception):
                dataset = json.loads(each[manifest.NAME][1].partition(b"\n")[0])["dataset"]
                found.add(f"warpaes bulk object {dataset} {name}".encode())
        return found

    def check_written(self, command: str, words: list[str], before: Tree, after: Tree) -> None:
        for name, (kind, content, mode) in after.items():
            if kind != "file" or before.get(name) == after[name]:
                continue
            if isinstance(self.place, Files):
                allowed = 0o600
                replaced = re.sub(r"\.([^/]+)\.warpaes-part-[0-9a-f]{32}$", r"\1", name)  # a temporary file of a killed
                # command
                if replaced in before and before[replaced][0] == "file":
                    allowed |= before[replaced][2]
                else:
                    allowed |= self.modes.get(self.hidden.plain(replaced).removesuffix(self.suffix), 0)
                    # A temporary file's name contains the beginning of a name.
                    for each in self.listed if PART in name else ():
                        begins = (whole.startswith(replaced) for whole in self.hidden.of(each + self.suffix))
                        allowed |= self.modes[each] if any(begins) else 0
                if mode & ~allowed:
                    raise BrokenError(f"e: {command} set the mode of {name} to {mode:o}, but {allowed:o} is allowed")
            if SECRET in content:
                raise BrokenError(f"d: {name} contains the content of a link's target")
            if self.hidden.hides and any(word in each for word in WORDS for each in (name.encode(), content)):
                raise BrokenError(f"j: {command} wrote {name!r}, which contains a plain name")
            if (
                name.startswith(FOLDER)
                or self.hidden.plain(name).endswith(storage.KEY_SUFFIX)
                or before.get(name, ("", b"", 0))[1] == content
            ):
                continue
            if command not in ("encrypt", "rekey") and PART not in name:
                raise BrokenError(f"a: {command} wrote {name}")
            if PART in name:  # a killed process may leave a truncated file or a record
                continue
            if content[:1] != b"\x28":
                raise BrokenError(f"a: {command} wrote {name} with a different cipher")
            for number, keyset in enumerate([*self.known, *self.leaked]):
                if opens(content, keyset, self.associated(name, after)):
                    raise BrokenError(
                        f"a: {command} wrote {name}, which opens under key {number}, which the adversary knows"
                    )
            if not self.envelope:
                primary = keys.only(
                    warpaes.Keyset.parse(self.primary(words)),
                    keys.key_ids(warpaes.Keyset.parse(self.primary(words)))[0],
                )
                if not opens(content, primary, self.associated(name, after)):
                    raise BrokenError(f"a: {command} wrote {name} under a key other than the command line's")

    def primary(self, words: list[str]) -> bytes:
        option = "--new-key" if "--new-key" in words else "-k"
        return pathlib.Path(words[words.index(option) + 1]).read_bytes()

    def check_decrypted(self, status: int, out: pathlib.Path, target: Tree, bare: bool) -> None:
        found = Files(out).tree() if out.is_dir() else {}
        files = {name: node[1] for name, node in found.items() if node[0] != "folder" and not name.startswith(FOLDER)}
        for name, (kind, content, mode) in found.items():
            if kind == "folder" or name.startswith(FOLDER):
                continue
            if not self.careful and content == THEIRS and not bare:
                continue  # the content of another dataset under the same key, which only --pin distinguishes
            # Without a manifest, or with one made from existing objects, an unbound object may have any name. A rekey
            # then binds it to that name.
            unbound = self.took_unbound or (bare and not self.bind)
            if unbound and content in (THEIRS, *self.content.values()):
                continue
            if kind != "file" or self.content.get(name) != content:
                raise BrokenError(
                    f"b: decrypt returned {content[:40]!r} for {name!r}, not {self.content.get(name, b'none')[:40]!r}"
                )
            allowed = 0o600
            for each in self.hidden.of(name + self.suffix):
                allowed |= target.get(each, ("", b"", 0))[2]
            if mode & ~allowed:
                raise BrokenError(f"e: decrypt set the mode of {name} to {mode:o}, but {allowed:o} is allowed")
        if (
            status == 0
            and not bare
            and not (self.is_adopted and set(files) <= set(self.names))
            # If a dataset is rolled back to a state before an original was removed, it lacks this object. Only
            # --at-least detects this.
            and not (self.has_removed and not self.careful and set(files) <= set(self.names))
            and not (files and set(files.values()) == {THEIRS} and not self.careful)
            and set(files) not in self.truths[self.sure if self.careful else 0 :]
        ):
            raise BrokenError(
                f"b: decrypt with exit status 0 returned {sorted(files)}, but {sorted(self.truths[-1])} were encrypted"
            )

    def check_read(self) -> None:
        """Read the target with warpaes.open, as other programs do."""
        pins = self.checks([])
        pin = f"pin={pins[pins.index('--pin') + 1]};" if "--pin" in pins else ""
        given = [word for word in self.keys_given() if word != "-k"]
        if self.hidden.hides:
            self.check_named([f"dataset:{pin}{key}" for key in given], pin)
            return
        for name, (kind, _, _) in self.place.tree().items():
            if kind not in ("file", "link") or (self.root / "target" / name).is_fifo():
                continue
            plain = name.removesuffix(self.suffix)
            for key in given:
                try:
                    with warpaes.open(self.root / "target" / name, keyset=f"dataset:{pin}{key}") as file:
                        content = file.read()
                except REFUSALS:
                    continue
                self.check_content(plain, content, pin)

    def check_content(self, plain: str, content: bytes, pin: str) -> None:
        if self.content.get(plain) == content or (content == THEIRS and not pin):
            return
        if (self.is_adopted or not self.bind) and content in (THEIRS, *self.content.values()):
            return
        raise BrokenError(f"i: warpaes.open returned {content[:40]!r} for {plain!r}")

    def check_named(self, keysets: list[str], pin: str) -> None:
        """List the target and read the objects by their plain names. Under any other name, no object must exist."""
        folder, tree = self.root / "target", self.place.tree()
        stored = [name for name, node in tree.items() if node[0] in ("file", "link") and not name.startswith(FOLDER)]
        wanted = {name + self.suffix for name in self.names} | {self.hidden.plain(name) for name in stored}
        for keyset in keysets:
            files = WarpaesFileSystem(keyset, fs=LocalFileSystem())
            with contextlib.suppress(*REFUSALS):
                # Without a manifest, the folder is not part of a dataset, and anyone may have named its folders.
                found = files.find(str(folder), withdirs=tree.get(manifest.NAME, ("",))[0] == "file")
                self.check_listed([pathlib.Path(path).relative_to(folder).as_posix() for path in found])
            for name in sorted({*wanted, *stored}):
                if any((folder / each).is_fifo() for each in self.hidden.of(name)):
                    continue  # opening a pipe waits for a writer
                try:
                    with files.open(f"{folder}/{name}", "rb") as file:
                        content = file.read()
                except REFUSALS:
                    continue
                self.check_content(name.removesuffix(self.suffix), content, pin)

    def check_listed(self, names: list[str]) -> None:
        """Check that a listing contains only the names of objects that the owner has encrypted, and of their
        folders."""
        objects = {name + self.suffix for name in self.listed}
        allowed = {*objects, *(each.rpartition("/")[0] for each in objects), "."}
        if (strange := set(names) - allowed) and not self.hidden.leaked:
            raise BrokenError(f"j: a listing contains {sorted(strange)}")

    def keys_given(self) -> list[str]:
        if self.pending is not None and "--new-key" not in self.pending[1]:
            return ["-k", str(self.pending[0])]  # this keyset also contains the previous key
        given = ["-k", str(self.key)]
        return (
            [*given, "-k", str(self.pending[0])] if self.pending is not None and self.pending[0] != self.key else given
        )

    def checks(self, words: list[str]) -> list[str]:
        """Return the options that check the manifest. A careful owner always uses them. If others may wrap keys, every
        owner pins the manifest key."""
        found = ["--at-least", str(self.save)] if self.careful and self.save else []
        return [*found, "--pin", self.pin] if (self.may_wrap or self.careful) and self.pin else found

    def words(self, kind: str, chance: random.Random) -> list[str]:
        """Return a command line."""
        envelope = ["--envelope", self.envelope, "--template", TEMPLATE] if self.envelope else []
        if kind == "rotate":  # the nightly encrypt follows, before the rekey that it requires
            key, self.key = self.key, self.rotated(self.new_key())
            words = self.words("encrypt", chance)
            self.earlier = [
                keys.only(keyset, keys.key_ids(keyset)[0]) for keyset in [warpaes.Keyset.parse(key.read_bytes())]
            ]
            self.leaked += self.earlier
            self.pending = self.key, ["rekey", "-k", str(self.key), *self.options, self.target_url]
            self.key = key
            return words
        if kind == "encrypt":
            new = [name for name in self.names if name not in self.listed]
            first = not self.listed
            for name in [each for each in new if "later" not in each] if first else new[:1]:
                path = self.source_folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(self.content[name])
                path.chmod(chance.choice([0o600, 0o640, 0o644]))
                self.modes[name] = path.stat().st_mode & 0o777
                self.listed.append(name)
            self.truths.append(set(self.listed))
            self.has_ended = False
            bind = ["--bind-names" if self.bind else "--no-bind-names", *self.naming("encrypt")]
            suffix = ["--suffix", self.suffix] if self.suffix else []
            update = [] if first else ["--update"]
            words = ["encrypt", *self.keys_given(), *envelope, *bind, *suffix, *update]
            return [*words, *self.checks(words), *self.options, str(self.source_folder), self.target_url]
        if kind in ("adopt", "bare"):
            bind = ["--bind-names" if self.bind else "--no-bind-names", *self.naming("encrypted")]
            dataset = ["--dataset", self.dataset]
            if kind == "adopt":
                return ["adopt", *self.keys_given(), *dataset, *bind, *self.options, self.target_url]
            suffix = ["--suffix", self.suffix] if self.suffix else []
            words = ["decrypt", "--no-manifest", *self.keys_given(), *dataset, *bind, *suffix]
            return [*words, *self.options, self.target_url]
        if kind == "remove":
            words = self.words("encrypt", chance)
            return [words[0], "--remove-source", *words[1:]]
        if kind == "decrypt":
            suffix = ["--suffix", self.suffix] if self.suffix else []
            words = ["decrypt", *self.keys_given(), *suffix]
            return [*words, *self.checks(words), *self.options, self.target_url]
        if kind in ("rekey", "rewrap"):
            if self.pending is not None:
                return [
                    *self.pending[1],
                    *(["--at-least", str(self.save)] if self.careful and self.save else []),
                ]
            new, rotated = self.new_key(), kind == "rekey" and chance.random() < 0.5
            words = [kind, "-k", str(self.key), "--new-key", str(new)]
            if rotated:
                new = self.key if self.envelope else self.rotated(new)
                words = [kind, "-k", str(new)]
            words += envelope if kind == "rekey" else []
            words = [*words, *self.options, self.target_url]
            self.pending, self.earlier = (new, words), self.keys_before()
            return [*words, *self.checks(words)]
        if kind == "verify":
            words = ["verify", *self.keys_given()]
            return [*words, *self.checks(words), *self.options, self.target_url]
        if self.hidden.hides and chance.random() < 0.7:
            words = ["list", *self.keys_given(), *self.naming("encrypted")]
            return [*words, *self.checks(words), self.target_url]
        return ["status", *self.keys_given(), *self.options[6:], self.target_url]

    def one(self, kind: str, chance: random.Random, fault: Away | Killed | str) -> tuple[int, list[str]]:
        """Run a command and record its consequences for the owner and for the adversary."""
        if kind == "adopt":  # the manifest is lost
            self.damage.pop(manifest.NAME, None)
            self.place.set(manifest.NAME, None)
            self.is_mixed = self.is_adopted = True
            self.took_unbound = self.took_unbound or not self.bind
        words = self.words(kind, chance)
        if not isinstance(fault, Away):
            status, words, out = self.command(words, fault)
        else:
            self.away = fault
            with fault.happens():
                status, words, out = self.command(words)
            self.away = None
            # The lock belongs to this process, which is still alive.
            self.place.set(FOLDER + "lock", None)
            self.log[-1] += f" (the storage went away: {'after' if fault.after else 'before'})"
        if out is not None:
            shutil.rmtree(out, ignore_errors=True)
            words = words[:-1]
        if status == 0:
            self.succeeded(kind)
        return status, words

    def succeeded(self, kind: str) -> None:
        if kind in ("encrypt", "remove"):
            self.has_ended = True
            self.sure = len(self.truths) - 1
        if kind in ("rekey", "rewrap") and self.pending is not None:
            if kind == "rekey":
                for name, (what, content, _) in self.place.tree().items():
                    if what != "file" or name.startswith(FOLDER) or content[:1] == b"[":
                        continue
                    if any(opens(content, keyset, self.associated(name, self.place.tree())) for keyset in self.earlier):
                        raise BrokenError(f"c: after a rekey with exit status 0, {name} opens under an earlier key")
                # The adversary does not receive keys from a keyset that the owner still trusts.
                found = self.earlier if self.envelope or "--new-key" in self.pending[1] else []
                self.known += found
                self.hidden.leaked = self.hidden.leaked or bool(found and not self.envelope)
                self.may_make_objects = self.may_make_objects or bool(self.envelope and found)
                self.leaked += [each for each in self.earlier if each not in found]
                self.bind = True  # a rekey binds objects to their names
                self.key_ids += [str(each["key_id"]) for keyset in self.earlier for each in keyset.keys()]  # noqa: SIM118
            self.key = self.pending[0]
            self.pending = None
        if kind == "verify":
            status, _, out = self.command(self.words("decrypt", random.Random(0)))
            if status != 0:
                raise BrokenError("b: verify had exit status 0, but a decrypt of the same state fails")
            shutil.rmtree(out or "", ignore_errors=True)

    def suffer(self, acts: list[int]) -> None:
        """Let the adversary act, and record the state before the acts."""
        before = self.place.tree()
        self.history = self.history or [before]
        for act in acts:
            self.log.append("  he: " + self.adversary.act(act))
        after = self.place.tree()
        for name in {*before, *after}:
            if before.get(name) != after.get(name):
                self.damage[name] = self.damage.get(name, (before.get(name),))[0], after.get(name)

    def note_written(self, before: Tree, after: Tree) -> None:
        """Forget damage that the owner has overwritten. Work that is based on forged states cannot be undone."""
        own = any(name.startswith(FOLDER) and name != FOLDER + "lock" for name in self.damage)
        if own and any(name.startswith(FOLDER) and before.get(name) != after.get(name) for name in {*before, *after}):
            self.is_mixed = True
        for name in [name for name, (_, dirty) in self.damage.items() if after.get(name) != dirty]:
            del self.damage[name]

    def mend(self) -> None:
        """Undo the adversary's acts."""
        now = self.place.tree()
        damage = {
            name: clean
            for name, (clean, dirty) in self.damage.items()
            if now.get(name) == dirty and not any(each.startswith(name + "/") for each in now if clean is None)
        }
        for name in sorted(damage, reverse=True):
            if damage[name] is None:
                self.place.set(name, None)
        for name in sorted(damage):
            if damage[name] is not None:
                self.place.set(name, damage[name])
        self.damage = {}
        self.log.append("  mended")

    def keys_before(self) -> list[warpaes.Keyset]:
        """Return every key that was ever used to encrypt objects."""
        if not self.envelope:
            every = warpaes.Keyset.parse(self.key.read_bytes())
            return [keys.only(every, number) for number in keys.key_ids(every)]
        found = {}
        for tree in (*self.history, self.place.tree()):
            for keyset in data_keys(tree, self.source())[1]:
                found[json.dumps(json.loads(keyset.to_json())["key"][0]["keyData"])] = keyset
        return list(found.values())

    def close(self) -> None:
        for path in self.root.rglob("*"):
            if path.is_dir() and not path.is_symlink():
                path.chmod(0o700)
        shutil.rmtree(self.root, ignore_errors=True)


NOTHING = ("", 0, False)
Plan = list[tuple[list[int], str, int, "tuple[str, int, bool]", bool]]


def plan_of(seed: int) -> Plan:
    """Generate the steps. A step consists of the seeds of acts, a command, the command's seed, its disturbance, and
    whether a failure is repaired."""
    chance = random.Random(seed)

    def fault() -> tuple[str, int, bool]:
        """Return a disturbance: the storage disappears, the process is killed, or two drivers share the job."""
        what = chance.choices(["", "away", "killed", "shared"], [70, 16, 4, 10])[0]
        return what, chance.randrange(1, 14) if what == "away" else chance.randrange(1, 250), chance.random() < 0.5

    acts = [chance.getrandbits(32) for _ in range(chance.randrange(3))] if chance.random() < 0.4 else []
    steps: Plan = [(acts, "encrypt", chance.getrandbits(32), fault(), chance.random() < 0.5)]
    for _ in range(chance.randrange(2, 6)):
        kind = chance.choice(
            ["encrypt"] * 3 + ["decrypt"] * 3 + ["rekey"] * 3
            + ["rotate", "rewrap", "verify", "verify", "status", "bare", "remove", "adopt"]
        )  # fmt: skip
        acts = [chance.getrandbits(32) for _ in range(chance.randrange(6))]
        steps.append((acts, kind, chance.getrandbits(32), fault(), chance.random() < 0.5))
    return [*steps, ([], "decrypt", 0, NOTHING, True)]


def fault_of(fault: tuple[str, int, bool], kind: str, over_s3: bool) -> Away | Killed | str:
    """Return the disturbance of a command. If the object store is in this process, there are no other processes to
    kill."""
    what, number, after = fault
    if what == "killed" and not over_s3 and kind not in ("decrypt", "bare", "status", "verify"):
        return Killed(number)
    if what == "shared" and kind in ("encrypt", "decrypt", "rekey", "remove"):
        return what
    return Away(number % 13 + 1, after) if what in ("away", "killed") else ""


def play(seed: int, plan: Plan, s3: Any = None) -> tuple[str, list[str]]:
    """Execute a plan. Return the violated invariant, if any, and the log."""
    world = World(seed, s3)
    try:
        for acts, kind, number, fault, mended in plan:
            if kind == "rewrap" and not world.envelope:
                kind = "rekey"
            if kind in ("bare", "adopt") and (not world.dataset or world.pending is not None):
                kind = "encrypt"
            if kind == "adopt" and (not world.has_ended or world.may_make_objects):
                kind = "bare"
            if kind == "bare" and world.may_make_objects:
                kind = "decrypt"
            if kind == "rotate" and (world.envelope or world.pending is not None or not world.has_ended):
                kind = "encrypt"
            if kind in ("rekey", "rewrap"):
                kind = world.pending[1][0] if world.pending is not None else kind if world.has_ended else "encrypt"
            world.suffer(acts)
            status, words = world.one(kind, random.Random(number), fault_of(fault, kind, s3 is not None))
            if s3 is None:
                world.check_read()
            if status != 0 and kind != "rotate" and (mended or kind in ("rekey", "rewrap")):
                world.mend()
                again = world.words(kind, random.Random(number)) if world.pending is not None else words
                status, _, out = world.command(again)
                shutil.rmtree(out or "/nonexistent", ignore_errors=True)
                ends = kind in ("rekey", "rewrap") or (kind in ("encrypt", "remove") and world.pending is None)
                if status != 0 and kind in ("encrypt", "remove") and "--overwrite" in world.log[-1]:
                    # An object is not yet in a manifest, and the only copy of its key was removed.
                    status, _, _ = world.command([again[0], "--overwrite", *again[1:]])
                if status != 0 and ends and not world.is_mixed:
                    raise BrokenError(f"f: {kind} still fails after repair")
                if status == 0:
                    world.succeeded(kind)
        return "", world.log
    except BrokenError as broken:
        return str(broken), world.log
    finally:
        world.close()


def shrunk(seed: int, plan: Plan, letter: str, s3: Any = None) -> tuple[Plan, str, list[str]]:
    """Return a shortened plan that still violates the same invariant."""
    said, log = play(seed, plan, s3)

    def breaks(smaller: Plan) -> bool:
        nonlocal said, log, plan
        found, its_log = play(seed, smaller, s3)
        if found[:1] == letter:
            plan, said, log = smaller, found, its_log
            return True
        return False

    changed = True
    while changed:
        changed = False
        for i in reversed(range(1, len(plan))):
            changed = breaks(plan[:i] + plan[i + 1 :]) or changed
        for i in range(len(plan)):
            acts, kind, number, _, mended = plan[i]
            for j in reversed(range(len(acts))):
                acts = plan[i][0]
                if breaks([*plan[:i], (acts[:j] + acts[j + 1 :], kind, number, plan[i][3], mended), *plan[i + 1 :]]):
                    changed = True
            calm = (plan[i][0], kind, number, NOTHING, mended)
            if plan[i][3][0] and breaks([*plan[:i], calm, *plan[i + 1 :]]):
                changed = True
    return plan, said, log


def one(seed: int, over_s3: bool) -> tuple[str, list[str]]:
    """Execute one run. Report a violation with the acts and commands that cause it."""
    s3 = store() if over_s3 else None
    try:
        said, log = play(seed, plan_of(seed), s3)
        if said:
            _, said, log = shrunk(seed, plan_of(seed), said[0], s3)
    except Exception:
        return "x: the harness failed", traceback.format_exc().split("\n")[-12:]
    return said, log


@functools.cache
def store() -> Any:
    """Return the object store of this process."""
    from s3_here import Here

    return Here()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--s3", action="store_true", help="use moto's S3 (in this process) instead of files")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="processes")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="do not start a run after this time")
    parser.add_argument("--stop", type=int, default=20, help="stop after this many failed runs")
    parser.add_argument("--log", action="store_true", help="print the log of every run")
    arguments = parser.parse_args()
    begin, broken, statuses = time.monotonic(), [], collections.Counter[str]()
    done, seeds = 0, iter(range(arguments.seed, arguments.seed + arguments.runs))
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(arguments.jobs, context, max_tasks_per_child=200) as processes:
        running: dict[Future[tuple[str, list[str]]], int] = {}

        def fill() -> None:
            while len(running) < 2 * arguments.jobs and time.monotonic() - begin < arguments.seconds:
                if len(broken) >= arguments.stop or (seed := next(seeds, None)) is None:
                    return
                running[processes.submit(one, seed, arguments.s3)] = seed

        fill()
        while running:
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                seed, (said, log) = running.pop(future), future.result()
                done += 1
                for line in log:
                    if " -> " in line:
                        statuses[line.split()[0] + " " + line.split(" -> ")[1][:1]] += 1
                if said:
                    broken.append(seed)
                if said or arguments.log:
                    print(f"seed {seed}: {said}", *log, sep="\n    ", flush=True)
            fill()
    seconds = time.monotonic() - begin
    print(f"{done} runs, {len(broken)} broken: {sorted(broken)}; {seconds:.0f} s; {dict(sorted(statuses.items()))}")
    sys.exit(bool(broken))


if __name__ == "__main__":
    main()
