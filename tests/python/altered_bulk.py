"""Altered input for ``warpaes bulk``: lists of names, locks, key records, and manifests."""

from __future__ import annotations

import contextlib
import io
import json
import pathlib
import shutil
from collections.abc import Iterator

from alterations import Altered, Format, Give, Part, Reader, fields
from support import needed
from warpaes import Keyset

#: The beginning of a refusal that ``bulk`` reports in one sentence.
SENTENCE = "bulk said: "


class RefusedError(Exception):
    """Raised if the command refuses the input or if rows end in errors."""


def bulk(*arguments: object) -> tuple[int, str]:
    """Run the command in this process. Return its status and output. Unexpected exceptions propagate."""
    from warpaes.bulk import cli

    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
        status = cli.main([str(each) for each in arguments] + ["-q"])
    return status, said.getvalue()


def sentence(said: str) -> str:
    """Return the command's message, after checking that it is safe for a terminal."""
    if any(not character.isprintable() for character in said.replace("\n", "").replace("\r", "")):
        raise AssertionError("control characters reach the terminal")
    return SENTENCE + said.strip()[:300]


class Names(Format):
    """A list of object names. It selects the objects to open, but does not give access to other objects."""

    refusals = (RefusedError,)
    verdicts = {"objects of the dataset": "the author of the list selects among the source's objects"}  # noqa: RUF012

    def __init__(self, folder: pathlib.Path, parquet: bool) -> None:
        super().__init__(folder)
        self.name = f"list of names, {'Parquet' if parquet else 'text'}"
        self.source, self.sealed, self.target = folder / "source", folder / "dataset", folder / "target"
        for each in (self.source, self.sealed):
            shutil.rmtree(each, ignore_errors=True)
        self.source.mkdir()
        self.content = {"a": b"first text", "b b": b"second text", "sub/c": b"third text"}
        for name, text in self.content.items():
            (self.source / name).parent.mkdir(exist_ok=True)
            (self.source / name).write_bytes(text)
        self.key = folder / "key.json"
        self.key.write_bytes(Keyset.generate("AES256_GCM_HKDF_4KB").to_json())
        self.key.chmod(0o600)
        status, said = bulk("encrypt", "-k", self.key, self.source, self.sealed)
        if status:
            raise AssertionError(said)
        self.list = folder / ("names.parquet" if parquet else "names")
        made = []
        for names in (["a", "b b"], ["b b", "sub/c"]):
            if parquet:
                pa, pq = needed("pyarrow"), needed("pyarrow.parquet")
                out = io.BytesIO()
                pq.write_table(pa.table({"key": names}), out, compression="zstd")
                made.append(out.getvalue())
            else:
                made.append("".join(f"{name}\n" for name in names).encode())
        self._authentic = made[0], made[1]

    def authentic(self) -> tuple[bytes, bytes]:
        return self._authentic

    def plain(self) -> bytes:
        return self.content["a"] + self.content["b b"]

    def parts(self, content: bytes) -> list[Part]:
        if not content.startswith(b"PAR1"):
            ends = [at + 1 for at, byte in enumerate(content) if byte == 10]
            return [Part("line", begin, end) for begin, end in zip([0, *ends], ends)]
        footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
        return [Part("pages", 4, footer), Part("footer", footer, len(content) - 8), Part("length", -8, -4)][:2]

    def decrypt(self, content: bytes, give: Give) -> str | None:
        self.list.write_bytes(content)
        shutil.rmtree(self.target, ignore_errors=True)
        before = sorted(self.folder.iterdir())
        status, said = bulk("decrypt", "-k", self.key, "--names", self.list, self.sealed, self.target)
        found = {path.relative_to(self.target).as_posix(): path.read_bytes() for path in self.target.rglob("*")
                 if path.is_file() and ".warpaes-bulk" not in path.parts}  # fmt: skip
        if any(self.content.get(name) != text for name, text in found.items()):
            raise AssertionError(f"wrong content: {found}")
        if sorted(path for path in self.folder.iterdir() if path != self.target) != [
            path for path in before if path != self.target
        ]:
            raise AssertionError("a file appeared next to the target")
        if status not in (0, 1, 2):
            raise AssertionError(f"status {status}")
        if content == self._authentic[0]:
            give(0, b"".join(text for _, text in sorted(found.items())))
            return None
        if status:
            raise RefusedError(sentence(said))
        return "objects of the dataset"

    def readers(self) -> dict[str, Reader]:
        return {"bulk decrypt --names": self.decrypt}


class LockFile(Format):
    """Another job's lock. Its text is not authenticated: it appears in a message, and determines whether and after how
    much time the lock is taken over."""

    name = "lock of bulk"
    verdicts = {"text for a sentence": "changes of the lock show whether another job is alive"}  # noqa: RUF012

    def __init__(self, folder: pathlib.Path) -> None:
        super().__init__(folder)
        text = {"holder": "a", "command": "encrypt", "host": "h", "boot": "b", "numbers": "n", "process": 1,
                "begun": "1", "beats": 0, "since": "2026-01-01T00:00:00Z"}  # fmt: skip
        self._authentic = json.dumps(text).encode(), json.dumps({**text, "host": "i", "process": 2}).encode()

    def authentic(self) -> tuple[bytes, bytes]:
        return self._authentic

    def plain(self) -> bytes:
        return b""

    def more(self, first: bytes, second: bytes) -> Iterator[Altered]:
        return fields(first, second)

    def read(self, content: bytes, give: Give) -> str | None:
        from warpaes.bulk import lock

        found = lock.read_lock(content)
        lock._begun(found["process"])
        lock._sentence("target", found)
        return "text for a sentence"

    def readers(self) -> dict[str, Reader]:
        return {"read_lock": self.read}


def bulk_files(folder: pathlib.Path) -> Iterator[Format]:
    """Yield lists and locks."""
    for package in ("pyarrow", "fsspec"):
        needed(package)
    yield Names(folder, parquet=False)
    yield Names(folder, parquet=True)
    yield LockFile(folder)
