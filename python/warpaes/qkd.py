"""Keys from quantum key distribution (QKD): a client for ETSI GS QKD 014, and files encrypted under QKD keys.

``warpaes qkd status|send|receive`` is the command. ``send`` writes a Tink streaming-AEAD file under a key from the
key-management entity (KME), and next to the file a small JSON file that names the key. docs/keys.md describes both.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import errno
import hashlib
import hmac
import json
import os
import pathlib
import stat
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from . import exceptions, files
from ._command import failed
from ._file_objects import check_binary, write_all
from ._kept_keys import KeptKeys
from ._kme import Kme, QkdKey, Status
from ._native import Keyset
from ._output import Output
from ._printable import printable
from .keysources import DeniedError, KeySourceError, UnknownKeyError

__all__ = [
    "Header",
    "Kme",
    "QkdKey",
    "Status",
    "check_new",
    "keyset_of",
    "main",
    "parse_header",
    "read_header",
    "receive",
    "receive_stream",
    "send",
    "send_stream",
    "sidecar_of",
]

FORMAT = "warpaes-qkd-1"
TEMPLATE = "AES256_GCM_HKDF_1MB"
KEY_BYTES = 32
MOST_HEADER = 4096
SIDECAR = ".qkd.json"
ENDING = ".warpaes"
PIECE = 4 << 20
# A body begins with its header (the length of the header, a 32-byte salt and a 7-byte nonce) and contains at least one
# tag. Each segment except the last has the full length, including header and tag. The last segment contains plaintext
# unless it is the only segment.
BODY_HEADER, BODY_TAG, BODY_SEGMENT = 40, 16, 1 << 20


# -------------------------------------------------------------------------------------------------------- files


@dataclasses.dataclass(frozen=True)
class Header:
    """The content of the JSON file next to a sealed file: all information that a reader needs except the key."""

    master_sae_id: str
    slave_sae_id: str
    key_id: str
    key_size: int
    template: str = TEMPLATE

    def line(self) -> bytes:
        """Return the header as one line of JSON. The line is the associated data of the sealed file."""
        return json.dumps({"format": FORMAT, **dataclasses.asdict(self)}).encode() + b"\n"


def parse_header(line: bytes) -> Header:
    """Parse a header. The header is authentic only after the file has been opened with the line as associated data.

    Raises:
        FormatError: ``line`` is not a valid header. The message names the field.
    """

    def refuse(why: str) -> exceptions.FormatError:
        return exceptions.FormatError(f"not a line of JSON that names a file's QKD key ({FORMAT}): {why}")

    names = [field.name for field in dataclasses.fields(Header)]
    if len(line) > MOST_HEADER:
        raise refuse(f"it has more than {MOST_HEADER} bytes")
    if not line.endswith(b"\n") or line.count(b"\n") != 1:
        raise refuse("it is not a single line with a line feed at the end")
    try:
        pairs = json.loads(line, object_pairs_hook=list)
    except (ValueError, RecursionError):
        raise refuse("it is not JSON") from None
    if not isinstance(pairs, list) or not all(isinstance(pair, tuple) for pair in pairs):
        raise refuse("it is not a JSON object")
    found = dict(pairs)
    if len(found) != len(pairs):
        raise refuse("a field appears twice")
    for name in ("format", *names):
        value = found.get(name)
        if name == "key_size":
            good = type(value) is int and value >= 8 * KEY_BYTES
        else:
            good = isinstance(value, str) and value.isprintable() and value != ""
        if not good or (name == "format" and value != FORMAT):
            raise refuse(f"it has no valid '{name}'")
    if unknown := sorted(found.keys() - {"format", *names}):
        raise refuse(f"{unknown[0]!a} is not one of its fields")
    header = Header(**{name: found[name] for name in names})
    # The bytes of the line are the associated data, so a file does not open with a reformatted line.
    if line != header.line():
        raise refuse(
            "the fields are valid, but the bytes differ from the output of `send`, so it was converted or reformatted"
        )
    return header


def keyset_of(key: QkdKey, template: str = TEMPLATE) -> Keyset:
    """Return the keyset for a file.

    A 32-byte QKD key is used unchanged. From a longer key, HKDF-SHA256 derives 32 bytes without a salt and with the
    key's ID in the info parameter.

    Raises:
        ValueError: The key is shorter than 32 bytes.
    """
    secret = key.key
    if len(secret) < KEY_BYTES:
        raise ValueError(f"a QKD key of {len(secret) * 8} bits is too short: at least {KEY_BYTES * 8} bits are needed")
    if len(secret) > KEY_BYTES:
        pseudo_random = hmac.digest(bytes(32), secret, hashlib.sha256)
        secret = hmac.digest(pseudo_random, f"{FORMAT} {key.key_id}".encode() + b"\x01", hashlib.sha256)
    return Keyset.from_raw(template, secret)


def _copy(source: Any, target: Any) -> None:
    while piece := source.read(PIECE):
        target.write(piece)


def sidecar_of(path: str | os.PathLike[str]) -> pathlib.Path:
    """Return the path of the header next to a file."""
    return pathlib.Path(f"{os.fspath(path)}{SIDECAR}")


def check_new(*paths: str | os.PathLike[str]) -> None:
    """Check that the paths can be created. Callers do this before a key is used up.

    Raises:
        FileExistsError: A path exists.
        PermissionError: A folder is not writable.
    """
    for path in paths:
        if os.path.lexists(path):
            raise FileExistsError(17, "exists and is not overwritten; choose a different name", os.fspath(path))
        folder = pathlib.Path(path).absolute().parent
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(13, "this directory is not writable", str(folder))


def send(
    kme: Kme, peer: str, source: str | os.PathLike[str], target: str | os.PathLike[str], size: int = 256
) -> Header:
    """Encrypt a file for a peer under a new QKD key.

    The call creates both ``target`` and the header file next to it, or neither.

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
        KeySourceError: The KME does not return a key.
        OSError: A file cannot be read or written.
    """
    with open(source, "rb") as plain:
        check_new(target, sidecar_of(target))
        master = kme.status(peer).master_sae_id
        (key,) = kme.new_keys(peer, 1, size)
        header = Header(master, peer, key.key_id, size)
        line = header.line()
        sidecar = sidecar_of(target)
        with files.SealedWriter(os.fspath(target), keyset_of(key), line) as file:
            _copy(plain, file)
            with Output(sidecar) as beside:
                beside.write(line)
            try:
                file.close()
            except BaseException:
                sidecar.unlink()
                raise
    return header


def send_stream(kme: Kme, peer: str, source: Any, target: Any, size: int = 256) -> Header:
    """Encrypt data from one file object to another. The output is the header line followed by the sealed file. See
    ``send``."""
    check_binary(source, "read")
    write = write_all(target)
    master = kme.status(peer).master_sae_id
    (key,) = kme.new_keys(peer, 1, size)
    header = Header(master, peer, key.key_id, size)
    line = header.line()
    write(memoryview(line))
    with files.SealedWriter(target, keyset_of(key), line) as file:
        _copy(source, file)
    return header


def _check(header: Header, peer: str) -> None:
    """Check all fields of a header before a key is requested."""
    if header.master_sae_id != peer:
        raise DeniedError(f"the file is from '{header.master_sae_id}', not from '{peer}'")
    if header.template != TEMPLATE:
        raise exceptions.FormatError(f"the file's template is '{header.template}', not {TEMPLATE}")


def _check_body(body: Any) -> None:
    """Check the first byte and the size of a body, and set its position to the start."""
    first, size = body.read(1), body.seek(0, os.SEEK_END)
    if first != bytes([BODY_HEADER]) or size < BODY_HEADER + BODY_TAG:
        raise exceptions.FormatError(
            f"the file does not have the format {TEMPLATE}: it does not begin with the header of this format, or is "
            "shorter than an encrypted empty file"
        )
    if size > BODY_SEGMENT and 0 < size % BODY_SEGMENT <= BODY_TAG:
        raise exceptions.FormatError(f"an {TEMPLATE} file cannot have {size} bytes, so the file is truncated")
    body.seek(0)


def _check_with(kme: Kme, peer: str, header: Header) -> None:
    """Compare a header with the KME's status without requesting a key."""
    try:
        status = kme.status(peer)
    except (DeniedError, UnknownKeyError):  # some KMEs answer only the side that requests new keys
        return
    # One of the status's two SAEs must be the peer. Most KMEs name the caller as the master; some name the sender.
    ours = {status.master_sae_id, status.slave_sae_id} - {peer}
    if ours and header.slave_sae_id not in ours:
        raise DeniedError(f"the file is for '{header.slave_sae_id}', not for '{min(ours)}'")
    if not status.min_key_size <= header.key_size <= status.max_key_size:
        raise exceptions.FormatError(
            f"the file's key_size is {header.key_size}, but the KME's keys have {status.min_key_size} to "
            f"{status.max_key_size} bits"
        )


@contextlib.contextmanager
def _opened(
    kept: KeptKeys, kme: Kme, peer: str, header: Header, body: Any, line: bytes
) -> Iterator[files.SealedReader]:
    """Open a file with its key. If the ``with`` block succeeds, the key is wiped. Otherwise, it is kept for another
    file."""
    key = kept.get(kme, peer, header.key_id, lambda: _check_with(kme, peer, header))
    if len(key.key) * 8 != header.key_size:
        raise exceptions.FormatError(
            f"the file's key_size is {header.key_size}, but its key has {len(key.key) * 8} bits"
        )
    with files.SealedReader(body, keyset_of(key, header.template), line) as file:
        yield file
    kept.wipe(kme, peer, header.key_id)


def _open_file(path: str | os.PathLike[str]) -> Any:
    """Open an untrusted file, such as one in an inbox, without following links and without blocking."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        said = "is a symbolic link, which is not followed; name the file itself"
        raise OSError(errno.ELOOP, said, os.fspath(path)) from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "is not a regular file", os.fspath(path))
    return os.fdopen(descriptor, "rb")


def _read_line(path: str | os.PathLike[str]) -> bytes:
    with _open_file(sidecar_of(path)) as file:
        line: bytes = file.read(MOST_HEADER + 1)
        return line


def read_header(path: str | os.PathLike[str]) -> Header:
    """Read the header next to a file.

    Raises:
        FileNotFoundError: There is no header.
        FormatError: The header is not valid.
    """
    return parse_header(_read_line(path))


def receive(
    kme: Kme,
    peer: str,
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    state: str | os.PathLike[str] | None = None,
) -> Header:
    """Decrypt a file from a peer, using the header file next to it.

    The target appears only after the complete file has been authenticated, and only its owner can open it. The key is
    kept until it has opened a file, so a forged file that names the key does not use the key up.

    Args:
        kme: The local KME.
        peer: The SAE that must have encrypted the file.
        source: The path of the sealed file.
        target: The path of the plaintext, which must not exist.
        state: The folder for kept keys; the default is ``warpaes/qkd`` in XDG_STATE_HOME or in ``~/.local/state``.

    Returns:
        The header.

    Raises:
        InvalidTag: The file or its header was altered or truncated.
        FormatError: The header is not valid.
        FileExistsError: ``target`` exists.
        KeySourceError: The KME does not return a key, or the file is from another SAE.
        OSError: A file cannot be read or written.
    """
    line = _read_line(source)
    header = parse_header(line)
    _check(header, peer)
    check_new(target)
    # Open all files first: a key can be requested only once, so the request must follow all other steps that can fail.
    with _open_file(source) as sealed, KeptKeys(state) as kept:
        _check_body(sealed)
        plain = Output(target, secret=True)
        try:
            with _opened(kept, kme, peer, header, sealed, line) as file:
                _copy(file, plain)
                plain.commit()
        finally:
            plain.abort()
    return header


def receive_stream(
    kme: Kme, peer: str, source: Any, target: Any, *, state: str | os.PathLike[str] | None = None
) -> Header:
    """Decrypt the output of ``send_stream`` from a seekable file object. See ``receive``."""
    check_binary(source, "readline")
    write_all(target)  # checks that the target is writable
    line = source.readline(MOST_HEADER + 1)
    header = parse_header(line)
    _check(header, peer)
    body = _Behind(source, source.tell())
    _check_body(body)
    with KeptKeys(state) as kept, _opened(kept, kme, peer, header, body, line) as file:
        _copy(file, target)
    return header


class _Behind:
    """The rest of a file object, starting at byte ``start``."""

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


# -------------------------------------------------------------------------------------------------------- command

# The command's exit status for each exception type (docs/command-line.md). The first match applies.
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

USAGE = """Encrypts files under keys from quantum key distribution (ETSI GS QKD 014).

  warpaes qkd status  --peer SAE ...
      print the number and sizes of available keys
  warpaes qkd send    --peer SAE ... FILE
      create FILE.warpaes and FILE.warpaes.qkd.json; send both to the peer
  warpaes qkd receive --peer SAE ... FILE -o X
      create X from FILE and the .qkd.json file next to it
"""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("warpaes qkd", description=USAGE, formatter_class=argparse.RawTextHelpFormatter)
    words = parser.add_subparsers(dest="word", required=True, metavar="status|send|receive")
    for name in ("status", "send", "receive"):
        word = words.add_parser(name)
        word.add_argument(
            "--kme", required=True, metavar="URL", help="https://HOST[:PORT] of the local key-management entity"
        )
        word.add_argument("--cert", required=True, metavar="FILE", help="this SAE's certificate, in PEM format")
        word.add_argument("--key", required=True, metavar="FILE", help="the certificate's private key, in PEM format")
        word.add_argument(
            "--ca",
            required=True,
            metavar="FILE",
            help="the certificate of the authority that signed the KME's certificate, in PEM format",
        )
        word.add_argument("--peer", required=True, metavar="SAE", help="the SAE that the file is for, or must be from")
        word.add_argument("--timeout", type=float, default=30, metavar="SECONDS")
        if name != "status":
            word.add_argument("file", metavar="FILE")
            word.add_argument("-o", "--output", metavar="FILE", required=name == "receive")
        if name == "receive":
            word.add_argument(
                "--state",
                metavar="FOLDER",
                help="folder for keys that have not opened a file yet (default: ~/.local/state/warpaes/qkd)",
            )
        if name == "send":
            word.add_argument(
                "--key-size", type=int, default=256, metavar="BITS", help="key size in bits: 256 (the default) or more"
            )
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
            receive(kme, options.peer, options.file, options.output, state=options.state)
    except tuple(kind for kind, _ in EXIT_STATUSES) as error:
        return failed(
            error, EXIT_STATUSES, "the file is not authentic: the key is wrong, or the file was altered or truncated"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
