"""Keys from quantum key distribution (QKD): a client of ETSI GS QKD 014, and files under such keys.

``warpaes qkd status|send|receive`` is the command. ``send`` writes a file of Tink's streaming AEAD under a key from the
key-management entity (KME), and beside it a small JSON file that names the key. docs/keys.md describes both.
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
from ._printable import printable
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
    """A KME's information about the keys it shares with another SAE, with the fields of ETSI GS QKD 014."""

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
    """A key that only two secure application entities (SAEs) have. ``key`` is left out of the ``repr``."""

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
    """The local site's key-management entity, over mutual TLS.

    The KME identifies the caller by its certificate. It delivers each key once to either side, so a caller must use
    every key that it requests.
    """

    def __init__(
        self, url: str, certificate: str, key: str, ca: str, *, password: str | None = None, timeout: float = 30
    ) -> None:
        """Prepare a client. It connects at the first request.

        Args:
            url: ``https://HOST[:PORT]`` of the KME.
            certificate: The path of the caller's certificate, PEM.
            key: The path of the certificate's private key, PEM.
            ca: The path of the certificate authority of the KME, PEM.
            password: The password of the private key, or None.
            timeout: The limit for a request, in seconds.
        """
        self._client = Client("KME", url, tls_context(ca, certificate, key, password), timeout)

    def status(self, sae: str) -> Status:
        """Return the KME's information about the keys that it shares with ``sae``, the peer.

        Raises:
            KeySourceError: The KME refuses, is unreachable, or answers wrongly.
        """
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
        """Get new keys, which ``sae`` can then get by their numbers.

        The method checks the status before it takes the first key, and splits the request as the KME requires.

        Args:
            sae: The peer.
            number: The number of keys, at least 1.
            size: The size of each key in bits, a multiple of 8.

        Returns:
            The keys.

        Raises:
            ValueError: ``number`` or ``size`` is out of the KME's range.
            ExhaustedError: The KME has too few keys.
            KeySourceError: The KME refuses, is unreachable, or answers wrongly.
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
        """Get the keys of these numbers, after ``sae`` got them with ``new_keys``.

        Args:
            sae: The peer.
            key_ids: The numbers of the keys.
            size: The expected size of each key in bits; None if unknown.

        Returns:
            The keys, in the order of ``key_ids``.

        Raises:
            KeySourceError: The KME refuses, is unreachable, or answers wrongly.
        """
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
    """The content of the JSON file beside a sealed file: everything that a reader needs, except the key."""

    master_sae_id: str
    slave_sae_id: str
    key_id: str
    key_size: int
    template: str = TEMPLATE

    def line(self) -> bytes:
        """Return the header as one line of JSON. The line is the associated data of the sealed file."""
        return json.dumps({"format": FORMAT, **dataclasses.asdict(self)}).encode() + b"\n"


def parse_header(line: bytes) -> Header:
    """Parse a header. It is authentic only after the file has been opened with the line as associated data.

    Raises:
        FormatError: ``line`` is not such a header.
    """
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
    """Return the keyset for a file: 32 bytes of a QKD key as they are.

    From a longer key, HKDF-SHA256 derives 32 bytes, without salt and with the key's number in the info.

    Raises:
        ValueError: The key is shorter than 32 bytes.
    """
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
    """Sync a folder. A key is delivered only once, so the file that depends on it must survive a loss of power."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _new_file(path: pathlib.Path, content: bytes) -> Iterator[None]:
    """Create a file that is removed again if the block raises."""
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
    """Return the path of the header beside a file."""
    return pathlib.Path(f"{os.fspath(path)}{SIDECAR}")


def check_new(*paths: str | os.PathLike[str]) -> None:
    """Check that the paths can be created, before a key is used up for nothing.

    Raises:
        FileExistsError: A path exists.
        PermissionError: A folder is not writable.
    """
    for path in paths:
        if os.path.lexists(path):
            raise FileExistsError(17, "exists, and is not overwritten", os.fspath(path))
        folder = pathlib.Path(path).absolute().parent
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(13, "cannot write to this directory", str(folder))


def send(
    kme: Kme, peer: str, source: str | os.PathLike[str], target: str | os.PathLike[str], size: int = 256
) -> Header:
    """Encrypt a file for a peer under a new QKD key.

    The result is ``target`` and the header beside it, or neither.

    Args:
        kme: The local KME.
        peer: The SAE that will decrypt the file.
        source: The path of the plaintext.
        target: The path of the sealed file, which must not exist.
        size: The size of the QKD key in bits, at least 256.

    Returns:
        The header.

    Raises:
        FileExistsError: ``target`` or the header exists.
        KeySourceError: The KME gives no key.
        OSError: A file cannot be read or written.
    """
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
    """Encrypt from one file object to another: the header line, then the sealed file. See ``send``."""
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
    """Read the header beside a file.

    Raises:
        FileNotFoundError: There is no header.
        FormatError: The file is not such a header.
    """
    return parse_header(_read_line(path))


def receive(kme: Kme, peer: str, source: str | os.PathLike[str], target: str | os.PathLike[str]) -> Header:
    """Decrypt a file from a peer, with the header beside it.

    The target appears only after the whole file was authenticated. The file permissions allow only the owner.

    Args:
        kme: The local KME.
        peer: The SAE that must have encrypted the file.
        source: The path of the sealed file.
        target: The path of the plaintext, which must not exist.

    Returns:
        The header.

    Raises:
        InvalidTag: The file or its header was altered, or is truncated.
        FormatError: There is no valid header.
        FileExistsError: ``target`` exists.
        KeySourceError: The KME gives no key, or the file is from another SAE.
        OSError: A file cannot be read or written.
    """
    line = _read_line(source)
    header = parse_header(line)
    # Open both files first: everything else that can fail comes before the request that uses up the key.
    with (
        open(source, "rb") as sealed,
        _appearing(target) as plain,
        files.SealedReader(sealed, _key_of(kme, peer, header), line) as file,
    ):
        _copy(file, plain)
    return header


def receive_stream(kme: Kme, peer: str, source: Any, target: Any) -> Header:
    """Decrypt the output of ``send_stream``, from a file object that can seek. See ``receive``."""
    line = source.readline(MOST_HEADER + 1)
    header = parse_header(line)
    body = _Behind(source, source.tell())
    with files.SealedReader(body, _key_of(kme, peer, header), line) as file:
        _copy(file, target)
    return header


class _Behind:
    """The rest of a file object, from byte ``start`` on."""

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
    """Create a file for its owner alone, under its name only if the block succeeds. It never replaces a file."""
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

# The command's exit status for each exception type (docs/command-line.md); the first match counts.
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
    """Run ``warpaes qkd`` and return its exit status."""
    options = _parser().parse_args(arguments)
    try:
        kme = Kme(options.kme, options.cert, options.key, options.ca, timeout=options.timeout)
        if options.word == "status":
            print(json.dumps(dataclasses.asdict(kme.status(options.peer)), indent=2))
        elif options.word == "send":
            target = options.output or options.file + ENDING
            header = send(kme, options.peer, options.file, target, options.key_size)
            said = f"{target} and {sidecar_of(target)}, under key {header.key_id}"
            print(printable(said), file=sys.stderr)
        else:
            receive(kme, options.peer, options.file, options.output)
    except tuple(kind for kind, _ in EXIT_STATUSES) as error:
        return failed(error, EXIT_STATUSES, "not authentic: another key, or altered or cut off")
    return 0


if __name__ == "__main__":
    sys.exit(main())
