"""Alters one file in datasets of ``warpaes bulk``: the manifest's root, a shard, an object or a record."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
from collections.abc import Iterator

from alterations import Altered, Format, Give, Part, Reader, fields
from altered_bulk import RefusedError, bulk, sentence
from warpaes import Keyset, keysources

Tree = dict[str, bytes]


def tree(folder: pathlib.Path) -> Tree:
    """Return the contents of all files below a folder."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


class DatasetFile(Format):
    """A dataset with one altered file. All other files are unchanged.

    The altered file keeps its inode and times, so only its content reveals the change.
    """

    refusals = (RefusedError,)
    stands_alone = False

    def __init__(self, folder: pathlib.Path, which: str, envelope: str = "") -> None:
        """``which`` is the file's path, with ``*`` for random parts."""
        super().__init__(folder)
        self.name = f"bulk: {which}" + (f", --envelope {envelope}" if envelope else "")
        for path in folder.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        self.key = folder / "key.json"
        self.key.write_bytes(
            keysources.generate_kek() if envelope else Keyset.generate("AES256_GCM_HKDF_4KB").to_json()
        )
        self.key.chmod(0o600)
        self.how = ["--envelope", envelope] if envelope else []
        self.content = {"a": b"the first text", "b": b"the second text"}
        found = []
        for number, dataset in enumerate(("one", "two")):
            source = folder / f"{dataset} source"
            source.mkdir()
            for name, text in self.content.items():
                (source / name).write_bytes(text if number == 0 else text[::-1])
            status, said = bulk("encrypt", "-k", self.key, *self.how, source, folder / dataset)
            if status:
                raise AssertionError(said)
            (path,) = (folder / dataset).glob(which)
            found.append(path)
        self.target, self.path = folder / "one", found[0]
        self._authentic = found[0].read_bytes(), found[1].read_bytes()
        self.whole, self.times = tree(self.target), found[0].stat()
        self.out = folder / "out"

    def authentic(self) -> tuple[bytes, bytes]:
        return self._authentic

    def plain(self) -> bytes:
        return b"".join(self.content.values())

    def parts(self, content: bytes) -> list[Part]:
        if content.startswith(b"PAR1"):
            footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
            return [Part("pages", 4, footer), Part("footer", footer, len(content))]
        if content.startswith((b"{", b"[")):
            ends = [at + 1 for at, byte in enumerate(content) if byte == 10]
            return [Part("line", begin, end) for begin, end in zip([0, *ends], ends)]
        return [Part("header", 0, 40), Part("segment", 40, len(content)), Part("tag", len(content) - 16, len(content))]

    def more(self, first: bytes, second: bytes) -> Iterator[Altered]:
        if first.startswith((b"{", b"[")):
            rest = first[len(first.split(b"\n")[0]) :]
            yield from fields(
                first, second, lambda content: json.loads(content.split(b"\n")[0]), lambda text: text + rest
            )

    def run(self, content: bytes, *arguments: object) -> tuple[int, str]:
        """Run a command with the altered file, and then restore all files."""
        shutil.rmtree(self.out, ignore_errors=True)
        with open(self.path, "r+b") as file:
            file.truncate(0)
            file.write(content)
        os.utime(self.path, ns=(self.times.st_atime_ns, self.times.st_mtime_ns))
        around = sorted(path.name for path in self.folder.iterdir() if path != self.out)
        altered = tree(self.target)
        status, said = bulk(*arguments)
        if status not in (0, 1, 2):
            raise AssertionError(f"status {status}: {said[-300:]}")
        if sorted(path.name for path in self.folder.iterdir() if path != self.out) != around:
            raise AssertionError("a file appeared next to the target")
        if status and {name: data for name, data in tree(self.target).items() if name not in altered}:
            raise AssertionError("a refused command wrote into the target")
        self.restore()
        return status, said

    def restore(self) -> None:
        for name in tree(self.target).keys() - self.whole.keys():
            (self.target / name).unlink()
        for name, data in self.whole.items():
            path = self.target / name
            if not path.exists() or path.read_bytes() != data:
                path.write_bytes(data)
        os.utime(self.path, ns=(self.times.st_atime_ns, self.times.st_mtime_ns))

    def judged(self, status: int, said: str, verdict: str) -> str | None:
        """Raise the command's error, or return the reason why the command could succeed."""
        if status:
            raise RefusedError(sentence(said))
        return verdict if verdict in self.verdicts else None

    def decrypt(self, content: bytes, give: Give) -> str | None:
        status, said = self.run(content, "decrypt", "-k", self.key, self.target, self.out)
        opened = {name: data for name, data in tree(self.out).items() if not name.startswith(".warpaes-bulk")}
        if any(self.content.get(name) != data for name, data in opened.items()):
            raise AssertionError(f"decrypt returned {opened}")
        if status == 0:
            if opened != self.content:
                raise AssertionError("decrypt succeeded without an object")
            give(0, self.plain())
        return self.judged(status, said, "content as in the manifest")

    def verify(self, content: bytes, give: Give) -> str | None:
        status, said = self.run(content, "verify", "-k", self.key, self.target)
        if status == 0:
            give(0, self.plain())
        return self.judged(status, said, "content as in the manifest")

    def status(self, content: bytes, give: Give) -> str | None:
        """Check ``status``, which can only print what the files contain, because it has no key."""
        status, said = self.run(content, "status", self.target)
        if content == self._authentic[0]:
            give(0, self.plain())
        return self.judged(status, said, "shown as not authenticated")

    def readers(self) -> dict[str, Reader]:
        found: dict[str, Reader] = {"bulk decrypt": self.decrypt, "bulk verify": self.verify}
        if self.path.name.startswith("manifest"):
            found["bulk status"] = self.status
        return found


SHOWN = {"shown as not authenticated": "status without a key reports that"}
COPY = {"content as in the manifest": "the manifest has the record; the one next to the object is a copy"}


def dataset_files(folder: pathlib.Path) -> Iterator[Format]:
    """Yield the files of a dataset under a keyset and of a dataset with data keys."""
    cases: list[tuple[str, str, dict[str, str]]] = [
        (".warpaes-bulk/manifest.jsonl", "", SHOWN),
        (".warpaes-bulk/shards/*", "", {}),
        ("a", "", {}),
        (".warpaes-bulk/manifest.jsonl", "object", SHOWN),
        ("a.warpaes-key", "object", COPY),
        (".warpaes-bulk/keys/*", "job", COPY),
    ]
    for which, envelope, verdicts in cases:
        made = DatasetFile(folder, which, envelope)
        made.verdicts = verdicts
        yield made
