"""Alters files and keysets, and reads them with the command ``warpaes``."""

from __future__ import annotations

import json
import os
import pathlib
import random
import shutil
import subprocess
from collections.abc import Iterator

from alterations import Altered, Count, Format, Give, Judge, Reader, chosen, fields
from altered_files import AAD, Sealed, small_files, template_files
from altered_keys import SAME_KEYS, WrappedKeyset, two_keys
from warpaes import Keyset

#: The number of files in each call with a directory.
TOGETHER = 400
#: Exit statuses for data of a different format, for data that is not authentic, and for an unusable keyset
#: (docs/command-line.md).
FORMAT, AUTHENTICATION, KEYSET = 21, 22, 23


class ExitError(Exception):
    """A failure of the command, with an exit status and a message."""

    allowed: tuple[int, ...] = (FORMAT, AUTHENTICATION)

    def __init__(self, status: int, words: str) -> None:
        super().__init__(f"{words} (status {status})")
        self.shown = f"status {status}"


def run(*arguments: str, stdin: bytes = b"", **environment: str) -> tuple[int, bytes, str]:
    """Run the command. Return its status and outputs. A signal must not end the command."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("WARPAES")}
    done = subprocess.run(
        [os.environ["WARPAES"], *arguments],
        input=stdin,
        capture_output=True,
        timeout=300,
        check=False,
        env={**clean, "WARPAES_CALIBRATION": "none", **environment},
    )
    return done.returncode, done.stdout, done.stderr.decode(errors="replace")


def refused(status: int, words: str, allowed: tuple[int, ...]) -> BaseException:
    """Return the exception for a status. An undocumented status is a fault."""
    if status not in allowed or not words.strip():
        return AssertionError(f"status {status}: {words[-300:]}")
    return ExitError(status, words.strip().splitlines()[-1])


class Files:
    """A format of sealed files that the command reads."""

    def __init__(self, of: Sealed) -> None:
        self.of, self.folder = of, of.folder / "command"
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        self.how = ["-k", str(self.folder / "key"), "--aad", AAD.decode()]
        key = self.folder / "key"
        if of.name.startswith("C2SP"):
            bits = int(of.name.split(",")[0].rpartition("_")[2])
            key.write_text(f"C2SP_CHUNKED_{bits} {bytes(range(bits // 8)).hex()}\n")
        else:
            key.write_bytes(of.keyset.to_json())
        (self.folder / "new").write_bytes(Keyset.generate("AES256_GCM_HKDF_4KB").to_json())
        key.chmod(0o600)
        (self.folder / "new").chmod(0o600)

    def many(self, word: str, contents: list[bytes]) -> list[tuple[list[tuple[int, bytes]], BaseException | None]]:
        """Read the files in a directory with one call. Return the output and the status for each file."""
        source, target = self.folder / "in", self.folder / "out"
        for each in (source, target):
            shutil.rmtree(each, ignore_errors=True)
        source.mkdir()
        paths = [source / f"{number}.warpaes" for number in range(len(contents))]
        for path, content in zip(paths, contents):
            path.write_bytes(content)
        more = {
            "decrypt": ["--output-dir", str(target), "--no-sync"],
            "verify": [],
            "reencrypt": ["--to", str(self.folder / "new"), "--no-sync"],
        }[word]
        status, out, words = run(word, *self.how, *more, "--json", "-q", *map(str, paths))
        if status < 0:
            raise AssertionError(f"{word} ended by signal {-status}: {words}")
        if not out:
            raise AssertionError(f"{word}: status {status}: {words}")
        record = json.loads(out)
        ends = {each["input"]: each for each in record["files"]}
        results: list[tuple[list[tuple[int, bytes]], BaseException | None]] = []
        for number, (path, content) in enumerate(zip(paths, contents)):
            each = ends[str(path)]
            error = refused(each["status"], each.get("error") or "", ExitError.allowed) if each["status"] else None
            given = []
            left = [name for name in (target.rglob(f"{number}*") if target.exists() else [])
                    if name.is_file() and name.stem == str(number)]  # fmt: skip
            if left:
                given.append(
                    (0, left[0].read_bytes() + (b"" if error is None else b" output of a file that was refused"))
                )
            elif error is None and word != "decrypt":
                given.append((0, self.of.plain()))
            if word == "reencrypt" and error is not None and path.read_bytes() != content:
                given.append((0, b"reencrypt changed a file that it refused"))
            results.append((given, error))
        stray = [name for name in (target.rglob(".*") if target.exists() else [])]
        if stray or sorted(source.iterdir()) != sorted(paths):
            raise AssertionError(f"{word} left {stray or sorted(source.iterdir())[:3]}")
        return results

    def pipe(self, content: bytes, give: Give) -> None:
        status, out, words = run("decrypt", *self.how, "-q", stdin=content)
        give(0, out)
        if status:
            raise refused(status, words, ExitError.allowed)

    def one_file(self, content: bytes, give: Give) -> None:
        path, target = self.folder / "one", self.folder / "opened"
        path.write_bytes(content)
        target.write_bytes(b"old")
        status, _, words = run("decrypt", *self.how, "-q", "-f", "--no-sync", "-o", str(target), str(path))
        if status == 0:
            give(0, target.read_bytes())
            return
        if target.read_bytes() != b"old" or list(self.folder.glob(".warpaes*")):
            raise AssertionError("decrypt -o changed the output of a file that it refused")
        raise refused(status, words, ExitError.allowed)

    def cat(self, content: bytes, give: Give) -> None:
        path = self.folder / "one"
        path.write_bytes(content)
        status, out, words = run("cat", *self.how, "-q", str(path))
        give(0, out)
        if status:
            raise refused(status, words, ExitError.allowed)

    def ranges(self, content: bytes, give: Give) -> str | None:
        """Read three ranges that together cover the file.

        A range authenticates only the segments that it covers. If a file begins with another file under the same key
        and associated data, reading it is therefore like reading that other file, unless a range reaches the end.
        """
        if content.startswith(self.of.authentic()[1]):
            return "begins with another file"
        path = self.folder / "one"
        path.write_bytes(content)
        length = len(self.of.plain())
        error: BaseException | None = None
        for begin, end in ((0, length // 3), (length // 3, length - 5), (length - 5, length)):
            if end > begin:
                status, out, words = run("cat", *self.how, "-q", "-r", f"{begin}:{end - 1}", str(path))
                give(begin, out)
                if status:  # with status 9, the altered file is shorter or longer than the range
                    error = refused(status, words, (*ExitError.allowed, 9))
        if error is not None:
            raise error
        return None

    def inspect(self, content: bytes, give: Give) -> str | None:
        """``inspect`` reports public facts and authenticates nothing. If a key is given, it tries the key."""
        path = self.folder / "one"
        path.write_bytes(content)
        for more in ([], self.how):
            status, _, words = run("inspect", *more, str(path))
            if status not in (0, FORMAT, AUTHENTICATION):
                raise AssertionError(f"inspect {more[:1]}: status {status}: {words[-200:]}")
        if content == self.of.authentic()[0]:
            give(0, self.of.plain())
        return "public facts"


def sealed_by_command(folder: pathlib.Path, most: int | None, singles: int, seed: int) -> Iterator[Count]:
    """Count files with all templates and with small segments. Most are read in one call, and some are read
    separately."""
    for of in [*small_files(folder), *template_files(folder)]:
        if not isinstance(of, Sealed) or not of.plain():
            continue
        of.verdicts = {
            "public facts": "inspect reports facts from the header and the length",
            "begins with another file": "a range of that file",
        }
        of.refusals = (ExitError,)
        large = len(of.plain()) > 1 << 20
        judge, files = Judge(of), Files(of)
        drawn = chosen(of.alterations(), min(most or 200, 200) if large else most, seed)
        altered = [one for one in drawn if of.differs(one.make())]
        for word in ("decrypt", "verify", "reencrypt"):
            count = Count(of.name, f"warpaes {word}, many files")
            if files.many(word, [of.authentic()[0]])[0] != ([(0, of.plain())], None):
                count.faults.append(f"{of.name}: {word} cannot read the authentic file")
            together = 20 if large else TOGETHER
            for begin in range(0, len(altered), together):
                some = altered[begin : begin + together]
                for one, (given, error) in zip(some, files.many(word, [each.make() for each in some])):
                    judge.result(count, one, given, None, error)
            yield count
        few = random.Random(seed).sample(altered, min(singles, len(altered)))
        ways: dict[str, Reader] = {
            "decrypt, a pipe": files.pipe,
            "decrypt -f -o": files.one_file,
            "cat": files.cat,
            "cat -r": files.ranges,
            "inspect": files.inspect,
        }
        yield from singly(of, judge, few, {f"warpaes {name}": read for name, read in ways.items()})


def singly(of: Format, judge: Judge, altered: list[Altered], readers: dict[str, Reader]) -> Iterator[Count]:
    """Count with a separate process for each read."""
    for name, read in readers.items():
        count = Count(of.name, name)
        given: list[tuple[int, bytes]] = []
        read(of.authentic()[0], lambda at, data, given=given: given.append((at, bytes(data))))
        if b"".join(data for _, data in sorted(given)) != judge.plain:
            count.faults.append(f"{of.name}, {name}: the authentic file cannot be read")
        for one in altered:
            judge.one(count, one, read)
        yield count


# --------------------------------------------------------------------------------------------------------- keysets


class KeysetOfCommand(Format):
    """A keyset with which the command reads a victim's file."""

    refusals = (ExitError,)
    allowed = (2, FORMAT, AUTHENTICATION, KEYSET)
    options: tuple[str, ...] = ()

    def __init__(self, folder: pathlib.Path, name: str, pair: tuple[bytes, bytes], options: list[str]) -> None:
        """``options`` contains the command's options for the keyset."""
        super().__init__(folder)
        self.name, self.pair, self.how = name, pair, options
        (folder / "clear.json").write_bytes(two_keys(1))
        (folder / "clear.json").chmod(0o600)
        self.victim = folder / "victim"
        self.victim.unlink(missing_ok=True)
        status, _, words = run("encrypt", "-k", str(folder / "clear.json"), "-o", str(self.victim), "--no-sync",
                               stdin=self.plain())  # fmt: skip
        if status:
            raise AssertionError(words)

    def authentic(self) -> tuple[bytes, bytes]:
        return self.pair

    def plain(self) -> bytes:
        return b"a victim's secret"

    def more(self, first: bytes, second: bytes) -> Iterator[Altered]:
        return fields(first, second) if first.startswith(b"{") else iter(())

    def decrypt(self, content: bytes, give: Give) -> str | None:
        path = self.folder / "keyset"
        path.write_bytes(content)
        path.chmod(0o600)
        status, out, words = run("decrypt", "-k", str(path), *self.how, "-q", str(self.victim))
        give(0, out)
        if status:
            raise refused(status, words, self.allowed)
        return SAME_KEYS

    def listed(self, content: bytes, give: Give) -> str | None:
        """``keys list`` decrypts nothing. It prints a message, or key IDs and states."""
        path = self.folder / "keyset"
        path.write_bytes(content)
        path.chmod(0o600)
        status, out, words = run("keys", "list", str(path))
        if status:
            raise refused(status, words, self.allowed)
        if content == self.pair[0]:
            give(0, self.plain())
        if b"AAAA" in out:
            return "keys list prints a secret"
        return "numbers and states"

    def readers(self) -> dict[str, Reader]:
        return {"warpaes decrypt -k": self.decrypt, "warpaes keys list": self.listed}


def keysets_by_command(folder: pathlib.Path) -> Iterator[KeysetOfCommand]:
    """Yield unencrypted keysets, raw keys, and keysets that are encrypted under a key-encryption key or a
    passphrase."""
    clear = two_keys(1), two_keys(2)
    for name, text in (("kek", bytes(range(32)).hex().encode()), ("passphrase", b"correct horse battery\n")):
        (folder / name).write_bytes(text)
        (folder / name).chmod(0o600)
    same = {
        SAME_KEYS: "white space, base64 and numbers; only the victim's key opens the victim's file",
        "numbers and states": "keys list reports the unencrypted fields",
    }
    in_clear = KeysetOfCommand(folder, "keyset in clear", clear, [])
    in_clear.verdicts = same
    yield in_clear
    under = WrappedKeyset(folder, "a raw key", bytes(range(32)))
    kek = KeysetOfCommand(
        folder, "keyset under --kek", under.authentic(), ["--kek", str(folder / "kek"), "--kek-aad", AAD.decode()]
    )
    kek.verdicts = same
    yield kek
    made = []
    for text in clear:
        path = folder / "passed.json"
        path.write_bytes(text)
        path.chmod(0o600)
        status, _, words = run("keys", "passphrase", str(path), "--new-passphrase-from",
                               str(folder / "passphrase"), "--passphrase-seconds", "0.01")  # fmt: skip
        if status:
            raise AssertionError(words)
        made.append(path.read_bytes())
    passed = KeysetOfCommand(
        folder, "keyset under a passphrase", (made[0], made[1]), ["--passphrase-from", str(folder / "passphrase")]
    )
    passed.verdicts = same
    yield passed
