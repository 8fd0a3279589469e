"""Keys from quantum key distribution: a client of ETSI GS QKD 014, and files under such keys.

``warpaes qkd status|send|receive`` is the command. A file of ``send`` is one of Tink's streaming AEAD, whose key
comes from the key-management entity (KME); a small JSON file beside it says which. docs/keys.md describes both.
"""

from __future__ import annotations

import argparse
import base64
import binascii
import contextlib
import dataclasses
import hashlib
import hmac
import json
import os
import pathlib
import sys
from collections.abc import Iterator, Sequence
from typing import IO, Any
from urllib.parse import quote

from . import exceptions, files
from ._command import failed
from ._native import Keyset
from .keysources import (
    BadAnswerError,
    DeniedError,
    ExhaustedError,
    KeySourceError,
    UnavailableError,
    UnknownKeyError,
)
from .keysources._https import Client, tls_context

FORMAT = "warpaes-qkd-1"
TEMPLATE = "AES256_GCM_HKDF_1MB"
KEY_BYTES = 32
MOST_HEADER = 4096
SIDECAR = ".qkd.json"
ENDING = ".warpaes"
PIECE = 4 << 20


@dataclasses.dataclass(frozen=True)
class Status:
    """What a KME says of the keys that we share with another SAE."""

    source_kme_id: str
    target_kme_id: str
    master_sae_id: str
    slave_sae_id: str
    key_size: int
    stored_key_count: int
    max_key_count: int
    max_key_per_request: int
    max_key_size: int
    min_key_size: int


@dataclasses.dataclass(frozen=True)
class QkdKey:
    """A key that two secure application entities (SAEs) have, and nobody else."""

    key_id: str
    key: bytes = dataclasses.field(repr=False)


def _text(answer: dict[str, Any], name: str) -> str:
    value = answer.get(name)
    if not isinstance(value, str) or not value or len(value) > 1024:
        raise BadAnswerError(f"KME: its answer has no proper '{name}'")
    return value


def _number(answer: dict[str, Any], name: str) -> int:
    value = answer.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise BadAnswerError(f"KME: its answer has no proper '{name}'")
    return value


class Kme:
    """The key-management entity of our site, over mutual TLS.

    It knows us by our certificate. Keys are delivered once to either side; who asks for one has to use it.
    """

    def __init__(
        self, url: str, certificate: str, key: str, ca: str, *, password: str | None = None, timeout: float = 30
    ) -> None:
        """``certificate`` and ``key``: ours; ``ca``: the authority of the KME's; files in PEM."""
        self._client = Client("KME", url, tls_context(ca, certificate, key, password), timeout)

    def status(self, sae: str) -> Status:
        """Return what there is to share with ``sae``, our peer."""
        answer = self._ask("GET", sae, "status")
        return Status(
            source_kme_id=_text(answer, "source_KME_ID"),
            target_kme_id=_text(answer, "target_KME_ID"),
            master_sae_id=_text(answer, "master_SAE_ID"),
            slave_sae_id=_text(answer, "slave_SAE_ID"),
            key_size=_number(answer, "key_size"),
            stored_key_count=_number(answer, "stored_key_count"),
            max_key_count=_number(answer, "max_key_count"),
            max_key_per_request=_number(answer, "max_key_per_request"),
            max_key_size=_number(answer, "max_key_size"),
            min_key_size=_number(answer, "min_key_size"),
        )

    def new_keys(self, sae: str, number: int = 1, size: int = 8 * KEY_BYTES) -> list[QkdKey]:
        """Get keys of ``size`` bits that ``sae`` can get by their numbers, in as many requests as the KME wants.

        What it cannot give is found out before the first key is taken.
        """
        if number < 1:
            raise ValueError("number: must be 1 or more")
        status = self.status(sae)
        if size % 8 != 0 or not status.min_key_size <= size <= status.max_key_size:
            raise ValueError(
                f"size: the KME has keys of {status.min_key_size} to {status.max_key_size} bits in bytes, not of {size}"
            )
        if status.stored_key_count < number:
            raise ExhaustedError(
                f"KME: {status.stored_key_count} keys are there for '{sae}', and {number} are needed: wait for more"
            )
        if status.max_key_per_request < 1:
            raise BadAnswerError("KME: it says that no request may ask for a key (max_key_per_request)")
        keys: list[QkdKey] = []
        while len(keys) < number:
            some = min(number - len(keys), status.max_key_per_request)
            keys += self._keys(self._ask("POST", sae, "enc_keys", {"number": some, "size": size}), some, size)
        if len({key.key_id for key in keys}) != number or len({key.key for key in keys}) != number:
            raise BadAnswerError("KME: it gave a key or a number twice; none is used")
        return keys

    def keys(self, sae: str, key_ids: Sequence[str], size: int | None = None) -> list[QkdKey]:
        """Get the keys of these numbers, which ``sae`` got first; of ``size`` bits, if that is known."""
        asked = [{"key_ID": key_id} for key_id in key_ids]
        keys = self._keys(self._ask("POST", sae, "dec_keys", {"key_IDs": asked}), len(key_ids), size)
        found = {key.key_id: key for key in keys}
        try:
            return [found[key_id] for key_id in key_ids]
        except KeyError:
            raise BadAnswerError("KME: it gave keys of other numbers than were asked for") from None

    @staticmethod
    def _keys(answer: dict[str, Any], number: int, size: int | None) -> list[QkdKey]:
        entries = answer.get("keys")
        if not isinstance(entries, list) or len(entries) != number:
            raise BadAnswerError(f"KME: its answer does not have the {number} keys that were asked for")
        keys = []
        for entry in entries:
            if not isinstance(entry, dict):
                raise BadAnswerError("KME: its answer has a key that is none")
            try:
                key = base64.b64decode(_text(entry, "key"), validate=True)
            except binascii.Error:
                raise BadAnswerError("KME: its answer has a key that is not base64") from None
            if size is not None and len(key) * 8 != size:
                raise BadAnswerError(f"KME: its answer has a key of {len(key) * 8} bits, where {size} were asked for")
            keys.append(QkdKey(_text(entry, "key_ID"), key))
        return keys

    def _ask(self, method: str, sae: str, what: str, body: Any = None) -> dict[str, Any]:
        status, answer = self._client.request(method, f"/api/v1/keys/{quote(sae, safe='')}/{what}", body)
        said = ""
        if isinstance(answer, dict) and isinstance(answer.get("message"), str):
            said = ": " + answer["message"][:200]
        if status == 200:
            if not isinstance(answer, dict):
                raise BadAnswerError(f"KME: its answer to {what} is no JSON object")
            return answer
        if status in (401, 403):
            raise DeniedError(f"KME: it does not let us have keys with '{sae}' ({status}){said}")
        if status == 503:
            kind = ExhaustedError if what == "enc_keys" else UnavailableError
            raise kind(f"KME: it has none to give, or is out of order ({status}){said}")
        if status in (400, 404):
            raise UnknownKeyError(f"KME: it refuses {what} for '{sae}' ({status}){said}")
        raise KeySourceError(f"KME: it answered {what} with status {status}{said}")


# -------------------------------------------------------------------------------------------------------- files


@dataclasses.dataclass(frozen=True)
class Header:
    """What stands beside a file: everything but the key that is needed to read it."""

    master_sae_id: str
    slave_sae_id: str
    key_id: str
    key_size: int
    template: str = TEMPLATE

    def line(self) -> bytes:
        """Return the one line that the file is bound to, as its associated data."""
        return json.dumps({"format": FORMAT, **dataclasses.asdict(self)}).encode() + b"\n"


def parse_header(line: bytes) -> Header:
    """Read such a line. Nothing is authentic until the file has been opened with it."""
    try:
        found = json.loads(line)
        if len(line) > MOST_HEADER or not line.endswith(b"\n") or found.pop("format") != FORMAT:
            raise KeyError
        header = Header(**found)
        good = all(
            isinstance(value, str) and value
            for value in (header.master_sae_id, header.slave_sae_id, header.key_id, header.template)
        )
        if not good or not isinstance(header.key_size, int) or isinstance(header.key_size, bool):
            raise KeyError
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise exceptions.FormatError(f"not the line of JSON that says which QKD key a file has ({FORMAT})") from None
    return header


def keyset_of(key: QkdKey, template: str = TEMPLATE) -> Keyset:
    """Return the key of a file: 32 bytes as they are, of a longer one HKDF-SHA256, without salt, its number as info."""
    secret = key.key
    if len(secret) < KEY_BYTES:
        raise ValueError(f"a QKD key of {len(secret) * 8} bits is too short: {KEY_BYTES * 8} or more are needed")
    if len(secret) > KEY_BYTES:
        pseudo_random = hmac.digest(bytes(32), secret, hashlib.sha256)
        secret = hmac.digest(pseudo_random, f"{FORMAT} {key.key_id}".encode() + b"\x01", hashlib.sha256)
    return Keyset.from_raw(template, secret)


def _copy(source: IO[bytes] | Any, target: Any) -> None:
    while piece := source.read(PIECE):
        target.write(piece)


def _sync_folder(folder: pathlib.Path) -> None:
    """A key is handed out once: the file that it was for is still there after a loss of power."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _new_file(path: pathlib.Path, content: bytes) -> Iterator[None]:
    """A file that stays only if the block succeeds."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        _sync_folder(path.absolute().parent)
        yield
    except BaseException:
        path.unlink()
        raise


def sidecar_of(path: str | os.PathLike[str]) -> pathlib.Path:
    """Return where the line of a file stands."""
    return pathlib.Path(f"{os.fspath(path)}{SIDECAR}")


def check_new(*paths: str | os.PathLike[str]) -> None:
    """Before a key is used up for nothing."""
    for path in paths:
        if os.path.lexists(path):
            raise FileExistsError(17, "exists, and is not overwritten", os.fspath(path))
        folder = pathlib.Path(path).absolute().parent
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(13, "cannot write to this directory", str(folder))


def send(
    kme: Kme, peer: str, source: str | os.PathLike[str], target: str | os.PathLike[str], size: int = 256
) -> Header:
    """Encrypt a file for ``peer`` under a new QKD key: ``target`` and its line beside it, or nothing."""
    with open(source, "rb") as plain:
        check_new(target, sidecar_of(target))
        master = kme.status(peer).master_sae_id
        (key,) = kme.new_keys(peer, 1, size)
        header = Header(master, peer, key.key_id, size)
        line = header.line()
        file = files.SealedWriter(os.fspath(target), keyset_of(key), line)
        with file:
            _copy(plain, file)
            with _new_file(sidecar_of(target), line):
                file.close()
    return header


def send_stream(kme: Kme, peer: str, source: Any, target: Any, size: int = 256) -> Header:
    """Encrypt from one file object to another: the line, and behind it the file."""
    master = kme.status(peer).master_sae_id
    (key,) = kme.new_keys(peer, 1, size)
    header = Header(master, peer, key.key_id, size)
    line = header.line()
    target.write(line)
    with files.SealedWriter(target, keyset_of(key), line) as file:
        _copy(source, file)
    return header


def _key_of(kme: Kme, peer: str, header: Header) -> Keyset:
    if header.master_sae_id != peer:
        raise DeniedError(f"the file is from '{header.master_sae_id}', and not from '{peer}'")
    if header.template != TEMPLATE:
        raise exceptions.FormatError(f"the file's template is '{header.template}', and not {TEMPLATE}")
    (key,) = kme.keys(peer, [header.key_id], header.key_size)
    return keyset_of(key, header.template)


def _read_line(path: str | os.PathLike[str]) -> bytes:
    with open(sidecar_of(path), "rb") as file:
        return file.read(MOST_HEADER + 1)


def read_header(path: str | os.PathLike[str]) -> Header:
    """Read the line beside a file."""
    return parse_header(_read_line(path))


def receive(kme: Kme, peer: str, source: str | os.PathLike[str], target: str | os.PathLike[str]) -> Header:
    """Decrypt a file of ``peer``. The target appears when all of it was authentic."""
    line = _read_line(source)
    header = parse_header(line)
    # Whatever else can fail comes before the key is used up.
    with (
        open(source, "rb") as sealed,
        _appearing(target) as plain,
        files.SealedReader(sealed, _key_of(kme, peer, header), line) as file,
    ):
        _copy(file, plain)
    return header


def receive_stream(kme: Kme, peer: str, source: Any, target: Any) -> Header:
    """Decrypt what ``send_stream`` wrote, from a file object that can seek."""
    line = source.readline(MOST_HEADER + 1)
    header = parse_header(line)
    body = _Behind(source, source.tell())
    with files.SealedReader(body, _key_of(kme, peer, header), line) as file:
        _copy(file, target)
    return header


class _Behind:
    """A file object without its first bytes."""

    def __init__(self, file: Any, start: int) -> None:
        self._file, self._start = file, start

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        position: int = self._file.seek(offset + (self._start if whence == os.SEEK_SET else 0), whence)
        return position - self._start

    def tell(self) -> int:
        position: int = self._file.tell()
        return position - self._start

    def read(self, size: int) -> bytes:
        content: bytes = self._file.read(size)
        return content


@contextlib.contextmanager
def _appearing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A file for its owner alone that gets its name when the block has succeeded, and never takes another's place."""
    check_new(path)
    target = pathlib.Path(path).absolute()
    temporary = target.parent / f".warpaes-{os.urandom(5).hex()}"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.link(temporary, target)
        _sync_folder(target.parent)
    finally:
        temporary.unlink()


# -------------------------------------------------------------------------------------------------------- command

# The command's exit statuses (docs/command-line.md), by kinds of exceptions.
EXIT_STATUSES: list[tuple[type[BaseException], int]] = [
    (exceptions.InvalidTag, 22),
    (exceptions.FormatError, 21),
    (exceptions.KeysetError, 23),
    (KeySourceError, 19),
    (FileExistsError, 17),
    (FileNotFoundError, 16),
    (PermissionError, 16),
    (ValueError, 2),
    (OSError, 20),
]

USAGE = """Files under keys of quantum key distribution (ETSI GS QKD 014).

  warpaes qkd status  --peer SAE ...            what there is to share
  warpaes qkd send    --peer SAE ... FILE       makes FILE.warpaes and FILE.warpaes.qkd.json: send both
  warpaes qkd receive --peer SAE ... FILE -o X  X, from FILE and the .qkd.json beside it
"""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("warpaes qkd", description=USAGE, formatter_class=argparse.RawTextHelpFormatter)
    words = parser.add_subparsers(dest="word", required=True, metavar="status|send|receive")
    for name in ("status", "send", "receive"):
        word = words.add_parser(name)
        word.add_argument(
            "--kme", required=True, metavar="URL", help="https://HOST[:PORT] of our key-management entity"
        )
        word.add_argument("--cert", required=True, metavar="FILE", help="our certificate, PEM")
        word.add_argument("--key", required=True, metavar="FILE", help="its private key, PEM")
        word.add_argument("--ca", required=True, metavar="FILE", help="the authority of the KME's certificate, PEM")
        word.add_argument("--peer", required=True, metavar="SAE", help="who gets the file, or from whom it has to be")
        word.add_argument("--timeout", type=float, default=30, metavar="SECONDS")
        if name != "status":
            word.add_argument("file", metavar="FILE")
            word.add_argument("-o", "--output", metavar="FILE", required=name == "receive")
        if name == "send":
            word.add_argument("--key-size", type=int, default=256, metavar="BITS", help="256, the default, or more")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``warpaes qkd``; return its exit status."""
    options = _parser().parse_args(arguments)
    try:
        kme = Kme(options.kme, options.cert, options.key, options.ca, timeout=options.timeout)
        if options.word == "status":
            print(json.dumps(dataclasses.asdict(kme.status(options.peer)), indent=2))
        elif options.word == "send":
            target = options.output or options.file + ENDING
            header = send(kme, options.peer, options.file, target, options.key_size)
            print(f"{target} and {sidecar_of(target)}, under key {header.key_id}", file=sys.stderr)
        else:
            receive(kme, options.peer, options.file, options.output)
    except tuple(kind for kind, _ in EXIT_STATUSES) as error:
        return failed(error, EXIT_STATUSES, "not authentic: another key, or altered or cut off")
    return 0


if __name__ == "__main__":
    sys.exit(main())
