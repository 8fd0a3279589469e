#!/usr/bin/env python3
"""Tests an inbox of QKD letters where other users can write: random edits, swaps, deletions, replays, planted files and
links.

``test_qkd_adversary.py`` executes a fixed number of runs. ``test_qkd_adversary.py RUNS SEED`` executes RUNS runs,
starting with this seed. If a run finds a fault, the message contains the run's seed.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pathlib
import random
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
import unittest
from typing import Any
from unittest import mock

import kme as simulated
from support import new_folder
from warpaes import exceptions, qkd
from warpaes.keysources import KeySourceError, UnknownKeyError

RUNS, SEED = 150, 38
MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None  # in memory, because every output is synced to its disk
EXPECTED = (exceptions.InvalidTag, exceptions.FormatError, KeySourceError, OSError)


class LocalKme(qkd.Kme):
    """A simulated KME in this process, without TLS."""

    def __init__(self, link: simulated.Link, sae: str) -> None:
        self.address = f"kme-of-{sae}:443"
        self._link, self._sae = link, sae

    def _ask(self, method: str, sae: str, what: str, body: Any = None) -> dict[str, Any]:
        if what == "status":
            return {
                "source_KME_ID": "A", "target_KME_ID": "B", "master_SAE_ID": self._sae, "slave_SAE_ID": sae,
                "key_size": 256, "stored_key_count": self._link.stored, "max_key_count": 100,
                "max_key_per_request": 3, "max_key_size": 1024, "min_key_size": 128,
            }  # fmt: skip
        if what == "enc_keys":
            keys = self._link.take(self._sae, sae, body["number"], body["size"])
        else:
            keys = self._link.fetch(sae, self._sae, [entry["key_ID"] for entry in body["key_IDs"]])
        if keys is None:
            raise UnknownKeyError("KME: not found")
        import base64

        return {"keys": [{"key_ID": name, "key": base64.b64encode(key).decode()} for name, key in keys]}


class CrashError(BaseException):
    """Simulates the end of the process."""


class World:
    """Bob's machine, with an inbox where the adversary can write, and folders where the adversary cannot."""

    def __init__(self, folder: pathlib.Path, rng: random.Random) -> None:
        self.rng = rng
        self.inbox, self.out, self.outside = (folder / name for name in ("inbox", "out", "outside"))
        for path in (self.inbox, self.out, self.outside):
            path.mkdir()
        self.state = folder / "state"
        self.link = simulated.Link()
        self.alice, self.bob = LocalKme(self.link, "alice"), LocalKme(self.link, "bob")
        (self.outside / "secret").write_bytes(b"not a letter")
        (self.outside / "secret").chmod(0o640)
        self.untouched = self.look(self.outside)
        #: For each key ID, the letter as it was sent, and its text.
        self.sent: dict[str, tuple[bytes, bytes, bytes]] = {}
        self.delivered: set[str] = set()
        self.number = 0
        for _ in range(rng.randint(1, 3)):
            self.send(folder)

    @staticmethod
    def look(folder: pathlib.Path) -> Any:
        """Return the types, modes and contents of everything in a folder."""
        found = {}
        for path in sorted(folder.rglob("*")):
            info = path.lstat()
            content = path.read_bytes() if stat.S_ISREG(info.st_mode) else None
            found[str(path.relative_to(folder))] = (info.st_mode, info.st_ino, content)
        return found

    def send(self, folder: pathlib.Path) -> None:
        text = self.rng.randbytes(self.rng.choice([0, 1, 100, 5000]))
        plain = folder / "plain"
        plain.write_bytes(text)
        header = qkd.send(self.alice, "bob", plain, folder / "letter", self.rng.choice([256, 512]))
        files = [folder / "letter", qkd.sidecar_of(folder / "letter")]
        self.sent[header.key_id] = (files[0].read_bytes(), files[1].read_bytes(), text)
        for path in (plain, *files):
            path.unlink()
        self.deliver(header.key_id)

    def name(self) -> pathlib.Path:
        self.number += 1
        return self.inbox / f"{self.number}.warpaes"

    def deliver(self, key_id: str, path: pathlib.Path | None = None) -> pathlib.Path:
        path = path or self.name()
        path.write_bytes(self.sent[key_id][0])
        qkd.sidecar_of(path).write_bytes(self.sent[key_id][1])
        return path

    # ---------------------------------------------------------------------------------------------- the adversary

    def attack(self) -> None:
        entries = sorted(self.inbox.iterdir())
        actions = [self.plant, self.replay, self.link_or_pipe]
        if entries:
            actions += [self.edit, self.edit, self.delete, self.swap]
        self.rng.choice(actions)()

    def any_entry(self) -> pathlib.Path:
        return self.rng.choice(sorted(self.inbox.iterdir()))

    def remove(self, path: pathlib.Path) -> None:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)

    def edit(self) -> None:
        path, rng = self.any_entry(), self.rng
        if path.is_symlink() or not path.is_file():
            return
        content = bytearray(path.read_bytes())
        how = rng.randrange(4)
        if how == 0 and content:
            content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        elif how == 1:
            del content[rng.randint(0, len(content)) :]
        elif how == 2:
            content += rng.randbytes(rng.choice([1, 16, 100]))
        else:
            content[:0] = rng.choice([b" ", b"\n", b"\x28", rng.randbytes(5)])
        self.remove(path)  # the adversary cannot write through a hard link to a file outside the inbox
        path.write_bytes(content)

    def delete(self) -> None:
        self.remove(self.any_entry())

    def swap(self) -> None:
        one, two = self.any_entry(), self.any_entry()
        if one != two:
            aside = self.inbox / "aside"
            one.rename(aside)
            two.rename(one)
            aside.rename(two)

    def replay(self) -> None:
        self.deliver(self.rng.choice(sorted(self.sent)))

    def plant(self) -> None:
        """Create a letter with an altered copy of a genuine sidecar, which usually names a genuine key."""
        rng = self.rng
        body, line, _ = self.sent[rng.choice(sorted(self.sent))]
        fields = json.loads(line)
        other = json.loads(self.sent[rng.choice(sorted(self.sent))][1])
        change: Any = rng.choice([
            {}, {}, {"key_size": 128}, {"key_size": 1024}, {"key_size": -1}, {"key_size": 2**80}, {"key_size": True},
            {"slave_sae_id": "carol"}, {"master_sae_id": "carol"}, {"key_id": other["key_id"]}, {"key_id": "../../x"},
            {"key_id": "\ud800"}, {"key_id": "\0\x1b[2J"}, {"kme": "https://kme.example"},
            {"template": "AES128_GCM_HKDF_4KB"}, {"format": "warpaes-qkd-2"}, {"key_id": None}, {"key_id": [[[]]]},
        ])  # fmt: skip
        sidecar = json.dumps(fields | change).encode() + b"\n"
        broken = [b"[" * 4000 + b"\n", b" " * 99_999, b"", sidecar[:-1], sidecar * 2, b'{"a":' * 800 + b"\n",
                  sidecar[:-2] + b', "key_id": "x"}\n']  # fmt: skip
        sidecar = rng.choice([sidecar] * 6 + broken)
        made = rng.choice([body, rng.randbytes(100), b"\x28" + rng.randbytes(99), b"\x28" * 56, b"", body[:40],
                           body[:56], body[:40] + rng.randbytes(max(0, len(body) - 40))])  # fmt: skip
        path = self.name()
        path.write_bytes(made)
        qkd.sidecar_of(path).write_bytes(sidecar)

    def link_or_pipe(self) -> None:
        path = self.deliver(self.rng.choice(sorted(self.sent)))
        if self.rng.random() < 0.5:
            path = qkd.sidecar_of(path)
        content = self.rng.choice(["secret", "letter", "state", "pipe", "folder", "hard", "dangling"])
        aside = self.inbox / f"moved{self.number}"
        path.rename(aside)
        if content == "pipe":
            os.mkfifo(path)
        elif content == "folder":
            path.mkdir()
        elif content == "hard":
            path.hardlink_to(self.outside / "secret")
        else:
            path.symlink_to({"secret": self.outside / "secret", "letter": aside, "state": self.state / "lock",
                             "dangling": self.outside / "new"}[content])  # fmt: skip

    # ---------------------------------------------------------------------------------------------- bob

    def receive(self, path: pathlib.Path, target: pathlib.Path) -> bool:
        """Receive a letter and return whether it opened. Only genuine letters may open."""
        try:
            header = qkd.receive(self.bob, "alice", path, target, state=self.state)
        except EXPECTED:
            return False
        if target.is_symlink() or target.read_bytes() != self.sent[header.key_id][2]:
            raise AssertionError("a forged letter was returned")
        if target.stat().st_mode & 0o777 != 0o600:
            raise AssertionError("the plaintext can be read by other users")
        self.delivered.add(header.key_id)
        return True

    def work(self) -> None:
        rng = self.rng
        bodies = [path for path in sorted(self.inbox.iterdir()) if not path.name.endswith(qkd.SIDECAR)]
        if not bodies:
            return
        path = rng.choice(bodies)
        target = self.out / f"{self.number}-{rng.randrange(10**9)}"
        before, kind = self.look(self.inbox), rng.randrange(6)
        if kind == 0:  # the process ends after it has received the key
            with mock.patch.object(qkd, "keyset_of", side_effect=CrashError), contextlib.suppress(CrashError):
                self.receive(path, target)
        elif kind == 1:  # two processes receive at the same time
            done: list[BaseException] = []

            def run(name: str) -> None:
                try:
                    self.receive(path, target.with_name(name))
                except BaseException as error:
                    done.append(error)

            threads = [threading.Thread(target=run, args=(f"{target.name}-{number}",)) for number in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            if done:
                raise done[0]
        elif kind == 2:  # the target is a link that the adversary planted
            target.symlink_to(self.outside / rng.choice(["secret", "new"]))
            if self.receive(path, target):
                raise AssertionError("a link was followed")
            target.unlink()
        else:
            self.receive(path, target)
        if self.look(self.inbox) != before:
            raise AssertionError("receiving changed the inbox")

    def check(self) -> None:
        if self.look(self.outside) != self.untouched:
            raise AssertionError("a file outside the inbox was written")
        if self.state.exists():
            for path in (self.state, *self.state.iterdir()):
                if path.stat().st_mode & 0o077:
                    raise AssertionError(f"{path.name} can be read by other users")
                if path.name.startswith(".warpaes-"):
                    raise AssertionError("a temporary file remains next to the keys")
        texts = [text for _, _, text in self.sent.values()]
        for path in self.out.iterdir():
            if path.name.startswith(".") or path.read_bytes() not in texts:
                raise AssertionError(f"{path.name} remains next to the plaintexts")

    def run(self) -> None:
        for _ in range(self.rng.randint(3, 12)):
            (self.attack if self.rng.random() < 0.6 else self.work)()
            self.check()
        # After the adversary has gone, every letter that has not been opened can be opened.
        for key_id in self.sent:
            self.receive(self.deliver(key_id), self.out / f"end-{key_id}")
            if key_id not in self.delivered:
                raise AssertionError("a genuine letter no longer opens")
        self.check()
        if self.state.exists() and any(path.name.endswith(".key") for path in self.state.iterdir()):
            raise AssertionError("a key remains after its letter was opened")


def run(runs: int, seed: int) -> dict[str, int]:
    """Execute runs. Return the numbers of runs, letters and fetched keys."""
    counts = {"runs": 0, "letters": 0, "fetched": 0}
    for number in range(seed, seed + runs):
        with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
            world = World(pathlib.Path(folder), random.Random(number))
            try:
                world.run()
            except BaseException as error:
                raise AssertionError(f"seed {number}: {type(error).__name__} {error}") from error
        counts["runs"] += 1
        counts["letters"] += len(world.sent)
        counts["fetched"] += len(world.link.handed_out)
    return counts


class Adversary(unittest.TestCase):
    def test_random_runs(self) -> None:
        counts = run(RUNS, SEED)
        self.assertEqual(counts["fetched"], counts["letters"])


class Kept(unittest.TestCase):
    """Tests of single cases, in addition to random runs."""

    def setUp(self) -> None:
        self.folder = new_folder(self, MEMORY)
        self.world = World(self.folder, random.Random(1))
        self.world.rng.seed(1)
        (self.key_id, (self.body, self.line, self.text)), *_ = self.world.sent.items()
        self.target = self.folder / "target"

    def receive(self, path: pathlib.Path) -> bytes:
        qkd.receive(self.world.bob, "alice", path, self.target, state=self.world.state)
        text = self.target.read_bytes()
        self.target.unlink()
        return text

    def plant(self, body: bytes, line: bytes) -> pathlib.Path:
        path = self.world.name()
        path.write_bytes(body)
        qkd.sidecar_of(path).write_bytes(line)
        return path

    def kept(self) -> list[pathlib.Path]:
        return sorted(self.world.state.glob("*.key"))

    def test_a_forged_letter_does_not_use_up_the_key(self) -> None:
        """For a file that cannot be a letter, no key is requested. A plausible forgery leaves the key for the genuine
        letter."""
        for body in (b"", b"\x29" + os.urandom(99), self.body[:40], self.body[:55]):
            with self.assertRaisesRegex(exceptions.FormatError, "does not begin with the header of this format"):
                self.receive(self.plant(body, self.line))
        self.assertEqual((self.world.link.handed_out, self.kept()), ([], []))
        fields = json.loads(self.line)
        size = fields["key_size"]
        for change, kind in (({}, exceptions.InvalidTag), ({"slave_sae_id": "carol"}, exceptions.InvalidTag),
                             ({"key_size": size + 8}, exceptions.FormatError)):  # fmt: skip
            line = json.dumps(fields | change).encode() + b"\n"
            for _ in range(2):
                with self.assertRaises(kind):
                    self.receive(self.plant(b"\x28" + os.urandom(99), line))
        self.assertEqual(self.world.link.handed_out, [self.key_id])
        (path,) = self.kept()
        self.assertEqual((path.stat().st_mode & 0o777, self.world.state.stat().st_mode & 0o777), (0o600, 0o700))
        self.assertEqual(self.receive(self.plant(self.body, self.line)), self.text)
        self.assertEqual(self.kept(), [])
        with self.assertRaises(UnknownKeyError):
            self.receive(self.plant(self.body, self.line))

    def test_kept_keys_expire_and_are_overwritten(self) -> None:
        with self.assertRaises(exceptions.InvalidTag):
            self.receive(self.plant(b"\x28" + os.urandom(99), self.line))
        (path,) = self.kept()
        (self.world.state / ".warpaes-1").write_bytes(b"key")
        copy = self.folder / "copy"
        copy.hardlink_to(path)
        self.assertIn(b'"key"', copy.read_bytes())
        for each in (path, self.world.state / ".warpaes-1"):
            os.utime(each, (0, 0))
        with self.assertRaises(UnknownKeyError):
            self.receive(self.plant(self.body, self.line))
        self.assertEqual(os.listdir(self.world.state), ["lock"])
        self.assertEqual(set(copy.read_bytes()), {0})

    def test_folders_and_files_of_kept_keys_that_are_not_ours(self) -> None:
        with self.assertRaises(exceptions.InvalidTag):
            self.receive(self.plant(b"\x28" + os.urandom(99), self.line))
        (path,) = self.kept()
        good = path.read_bytes()
        for at in range(len(good)):
            for content in (good[:at], good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :]):
                path.write_bytes(content)
                with self.assertRaises((exceptions.FormatError, exceptions.InvalidTag)) as raised:
                    if self.receive(self.plant(self.body, self.line)) == self.text:
                        raise exceptions.InvalidTag  # raised for the line feed
                if isinstance(raised.exception, exceptions.FormatError) and str(path) not in str(raised.exception):
                    self.assertIn("key_size", str(raised.exception))
        path.unlink(missing_ok=True)
        path.symlink_to(self.folder / "elsewhere")
        with self.assertRaises(OSError):
            self.receive(self.plant(self.body, self.line))
        path.unlink()
        path.write_bytes(good)
        self.world.state.chmod(0o750)
        with self.assertRaisesRegex(PermissionError, "only its owner"):
            self.receive(self.plant(self.body, self.line))
        self.world.state.rename(self.folder / "moved")
        self.world.state.symlink_to(self.folder / "moved")
        with self.assertRaises(OSError):
            self.receive(self.plant(self.body, self.line))
        self.world.state.unlink()
        (self.folder / "moved").rename(self.world.state)
        self.world.state.chmod(0o700)
        self.assertEqual(self.receive(self.plant(self.body, self.line)), self.text)

    def test_a_process_that_is_killed_with_the_key(self) -> None:
        """The key is on the disk before the letter is opened."""
        script = (
            "import os, sys, pathlib, random, pickle; sys.path[:0] = sys.argv[2:]\n"
            "from unittest import mock; from warpaes import qkd; import kme, test_qkd_adversary as t\n"
            "link, path, state, target = pickle.load(sys.stdin.buffer)\n"
            "l = kme.Link(); l.waiting = link\n"
            "with mock.patch.object(qkd, 'keyset_of', side_effect=lambda *a: os.kill(os.getpid(), 9)):\n"
            "    qkd.receive(t.LocalKme(l, 'bob'), 'alice', path, target, state=state)\n"
        )
        import pickle

        given = pickle.dumps((self.world.link.waiting, self.plant(self.body, self.line), self.world.state, self.target))
        done = subprocess.run([sys.executable, "-B", "-c", script, "x", *sys.path], input=given, capture_output=True)
        self.assertEqual(done.returncode, -9, done.stderr)
        self.world.link.waiting.clear()
        self.assertEqual(len(self.kept()), 1)
        self.assertEqual(self.receive(self.plant(self.body, self.line)), self.text)

    def test_a_genuine_letter_waits_for_a_forged_one_that_has_its_key(self) -> None:
        """The process that handles the forged letter has fetched the key from the KME but has not stored it yet."""
        fetched, go_on = threading.Event(), threading.Event()
        fetch, flock, opened = self.world.link.fetch, fcntl.flock, []
        forged, letter = self.plant(b"\x28" + os.urandom(99), self.line), self.plant(self.body, self.line)

        def slow_fetch(*asked: Any) -> Any:
            keys = fetch(*asked)
            fetched.set()
            go_on.wait()
            return keys

        def locked(*given: Any) -> None:
            if threading.current_thread().name == "genuine":
                go_on.set()
            flock(*given)

        def open_both(path: pathlib.Path) -> None:
            with contextlib.suppress(exceptions.InvalidTag):
                opened.append(self.receive(path))

        with mock.patch.object(self.world.link, "fetch", slow_fetch), mock.patch("fcntl.flock", locked):
            threads = [threading.Thread(target=open_both, args=(forged,)),
                       threading.Thread(target=open_both, args=(letter,), name="genuine")]  # fmt: skip
            threads[0].start()
            fetched.wait()
            threads[1].start()
            for thread in threads:
                thread.join()
        self.assertEqual((opened, self.kept()), ([self.text], []))

    def test_no_key_is_fetched_where_it_cannot_be_kept(self) -> None:
        path = self.plant(self.body, self.line)
        (self.folder / "file").write_bytes(b"")
        for state in (self.folder / "file", self.folder / "file" / "state", "/proc/none"):
            with self.assertRaises(OSError):
                qkd.receive(self.world.bob, "alice", path, self.target, state=state)
        for home in ("", "relative"):
            nowhere = mock.patch.dict(os.environ, {"XDG_STATE_HOME": home, "HOME": home or "relative"})
            with nowhere, self.assertRaisesRegex(ValueError, "--state"):
                qkd.receive(self.world.bob, "alice", path, self.target)
        full = mock.patch("os.posix_fallocate", side_effect=OSError(28, "No space left on device"))
        with full, self.assertRaises(OSError):
            self.receive(path)
        self.assertEqual(self.world.link.handed_out, [])
        self.world.state = pathlib.Path(f"{self.folder}/new/state/")
        self.assertEqual(self.receive(path), self.text)
        qkd.receive(*self.another(), state=f"{self.folder}/new/state2/")
        self.assertEqual((self.folder / "new" / "state2").stat().st_mode & 0o777, 0o700)

    def another(self) -> tuple[qkd.Kme, str, pathlib.Path, pathlib.Path]:
        """Return the arguments for receiving another letter."""
        self.world.send(self.folder)
        return self.world.bob, "alice", self.world.inbox / f"{self.world.number}.warpaes", self.target

    def test_a_stream(self) -> None:
        import io

        out = io.BytesIO()
        for body in (os.urandom(10), b"\x28" + os.urandom(99)):
            with self.assertRaises((exceptions.FormatError, exceptions.InvalidTag)):
                qkd.receive_stream(self.world.bob, "alice", io.BytesIO(self.line + body), out, state=self.world.state)
        self.assertEqual(out.getvalue(), b"")
        good = io.BytesIO(self.line + self.body)
        qkd.receive_stream(self.world.bob, "alice", good, out, state=self.world.state)
        self.assertEqual((out.getvalue(), self.kept()), (self.text, []))


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1].isdigit():
        print(run(int(sys.argv[1]), int(sys.argv[2])))
    else:
        unittest.main()
