"""Places of keysets: strings that name a keyset and the way to decrypt it (docs/keys.md, "Places of keysets")."""

from __future__ import annotations

import errno
import getpass
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ._key_files import keep_from_programs
from ._places import lasting_place, read_secret, shown
from .exceptions import KeysetError

if TYPE_CHECKING:
    from ._native import Keyset
    from .keysources import KeySource

#: A function that prompts for a passphrase. Its argument is a prompt that names the place.
AskPassphrase = Callable[[str], "str | bytes"]

#: The location that means the keyset at the start of each sealed file.
OWN = "own:"
#: The prefix for the key of a ``warpaes bulk`` dataset.
DATASET = "dataset:"
LOCATIONS = "PATH, file:PATH, env:NAME, fd:NUMBER or exec:COMMAND"
OPENERS = ("passphrase", "kek", "kek-aad")
#: The URL schemes of key-encryption keys that never leave a key manager, token or TPM.
MANAGERS = ("aws-kms", "azure-kv", "gcp-kms", "gcp-kms+http", "pkcs11", "tpm2", "vault-transit", "vault-transit+http")

_DATASET_OPENER = re.compile(r"(id|pin)=([0-9A-Za-z-]{1,64});")
_OPENER = re.compile(r"([a-z][a-z-]{0,15})=")
_KIND = re.compile(r"([a-z][a-z0-9+-]{0,23}):", re.IGNORECASE)
_RAW = re.compile(rb"(?:[0-9a-fA-F]{32}){1,2}")


@dataclass(frozen=True)
class KeysetPlace:
    """The parts of a keyset's place; see ``parse``."""

    location: str
    clear: bool = False  #: marked as unencrypted
    asks: bool = False  #: the user is prompted for the passphrase
    passphrase: str | None = None  #: the location of the passphrase
    kek: str | None = None  #: the location or URL of the key-encryption key
    kek_aad: str | None = None  #: the associated data of the encrypted keyset

    @property
    def is_own(self) -> bool:
        """Whether the keyset is stored at the start of each sealed file."""
        return self.location == OWN

    @property
    def encrypted(self) -> bool:
        """Whether the place requires an encrypted keyset."""
        return self.asks or self.passphrase is not None or self.kek is not None

    def lasting(self) -> str | None:
        """Return the place in a form that other processes can use, or None if it works only in this process or requires
        a prompt."""
        parts = [self.location, *(each for each in (self.passphrase, self.kek) if each is not None)]
        if self.asks or any(_is_of_process(part) for part in parts):
            return None
        openers = [("passphrase", self.passphrase), ("kek", self.kek)]
        text = "".join(f"{name}={_escaped(_lasting(value))};" for name, value in openers if value is not None)
        if self.kek_aad is not None:
            text += f"kek-aad={_escaped(self.kek_aad)};"
        return text + ("clear:" if self.clear else "") + _lasting(self.location)


@dataclass(frozen=True)
class DatasetPlace:
    """The key of datasets: the value of ``-k`` in ``warpaes bulk``, and the required dataset or manifest key."""

    key: str
    id: str | None = None
    pin: str | None = None

    def lasting(self) -> str | None:
        """Return the place in a form that other processes can use, or None if it works only in this process or requires
        a prompt."""
        key = self.key if _kind(self.key) in MANAGERS else parse(self.key).lasting()
        openers = "".join(f"{name}={value};" for name, value in (("id", self.id), ("pin", self.pin)) if value)
        return None if key is None else f"{DATASET}{openers}{key}"


def dataset_place(place: object) -> DatasetPlace | None:
    """Parse the place of a dataset's key, which may be a key manager's URL. Return None for any other kind of place.

    Raises:
        ValueError: The text begins like the place of a dataset's key, but is invalid.
    """
    if not isinstance(place, str) or not (place.startswith(DATASET) or _kind(place) in MANAGERS):
        return None
    rest = place.removeprefix(DATASET)
    found: dict[str, str] = {}
    while opener := _DATASET_OPENER.match(rest):
        if opener[1] in found:
            raise ValueError(f"the place of the keyset: {opener[1]}= is given twice")
        found[opener[1]], rest = opener[2], rest[opener.end() :]
    if _kind(rest) not in MANAGERS and parse(rest).is_own:
        raise ValueError("the place of the keyset: dataset: and own: cannot be combined; omit one of them")
    return DatasetPlace(rest, found.get("id"), found.get("pin"))


def _is_of_process(location: str) -> bool:
    return location.startswith("fd:")


def _lasting(location: str) -> str:
    if location == OWN or location.partition(":")[0] in ("env", "exec", *MANAGERS):
        return location
    return lasting_place(location if location.startswith("file:") else f"file:{location}") or ""


def _escaped(value: str) -> str:
    return value.replace(";", ";;")


def _take_value(name: str, text: str) -> tuple[str, str]:
    """Split at the first single semicolon. A double semicolon represents a semicolon in the value."""
    end = re.search(r"(?<!;)(?:;;)*;(?!;)", text)
    if end is None:
        raise ValueError(f"the place of the keyset: {name}= must be followed by ';' and the place of a keyset")
    return text[: end.end() - 1].replace(";;", ";"), text[end.end() :]


def parse(place: str) -> KeysetPlace:
    """Parse the place of a keyset.

    Raises:
        ValueError: The text is not a place. The message does not quote anything that may be secret.
    """
    if not isinstance(place, str):
        raise TypeError("the place of a keyset must be a string")
    found: dict[str, str] = {}
    rest = place
    while (opener := _OPENER.match(rest)) and ";" in rest:
        name = opener[1]
        if name not in OPENERS:
            raise ValueError(
                f"the place of the keyset: unknown {name}=; use {', '.join(f'{each}=' for each in OPENERS)}, or write "
                "file: before a path that begins like that"
            )
        if name in found:
            raise ValueError(f"the place of the keyset: {name}= is given twice")
        found[name], rest = _take_value(name, rest[opener.end() :])
        if not found[name] and name != "kek-aad":
            raise ValueError(f"the place of the keyset: {name}= is empty; use {LOCATIONS}")
    asks = rest.startswith("passphrase:")
    rest = rest.removeprefix("passphrase:")
    clear = rest.startswith("clear:")
    rest = rest.removeprefix("clear:")
    opened = [name for name, is_there in (("passphrase:", asks), ("passphrase=", "passphrase" in found),
              ("kek=", "kek" in found), ("clear:", clear)) if is_there]  # fmt: skip
    if len(opened) > 1:
        raise ValueError(f"the place of the keyset: {' and '.join(opened)} cannot be combined; use only one of them")
    if rest == OWN and clear:
        raise ValueError("the place of the keyset: clear: and own: cannot be combined, because own: is encrypted")
    if "kek-aad" in found and "kek" not in found:
        raise ValueError("the place of the keyset: kek-aad= requires kek=")
    if not rest:
        raise ValueError(f"the place of the keyset is empty; it must be {LOCATIONS}")
    if _kind(rest) in MANAGERS:
        raise ValueError(
            "the place of the keyset: a key manager, token or TPM contains no keysets; write "
            "kek=URL;PATH, where PATH is a keyset that it has wrapped"
        )
    return KeysetPlace(rest, clear, asks, found.get("passphrase"), found.get("kek"), found.get("kek-aad"))


def _kind(location: str) -> str:
    kind = _KIND.match(location)
    return kind[1] if kind else ""


def _read(role: str, location: str) -> bytes:
    """Read a location. Messages do not quote a name that is not a file, because it may be a secret."""
    kind = _kind(location)
    if kind not in ("file", "env", "fd", "exec") and not os.path.lexists(location):
        if kind:
            raise ValueError(f"{role}: '{kind}:' is not a kind of place, and the file does not exist; use {LOCATIONS}")
        raise FileNotFoundError(
            errno.ENOENT, f"{role}: the file does not exist (its name is not shown, because it may be a secret)"
        )
    return read_secret(location)


def ask_passphrase(where: KeysetPlace, ask: AskPassphrase | None, question: str, *, twice: bool = False) -> bytes:
    """Return the passphrase from a place or from the prompt."""
    if where.passphrase is None:
        answer = ask(question) if ask is not None else _ask_terminal(question, twice)
        text = answer.encode(errors="surrogateescape") if isinstance(answer, str) else bytes(answer)
        name = "the passphrase"
    else:
        name = "passphrase="
        text = _read(name, where.passphrase)
    text = text.removesuffix(b"\n").removesuffix(b"\r")
    if not text:
        raise ValueError(f"{name} is empty")
    if b"\n" in text:
        raise ValueError(f"{name} contains more than one line")
    return text


def _ask_terminal(question: str, twice: bool) -> str:
    try:  # without a terminal, getpass would read standard input
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC))
    except OSError:
        raise ValueError(
            f"{question}: there is no terminal for the prompt; write passphrase=PLACE; before the place of the keyset"
        ) from None
    answer = getpass.getpass(f"{question}: ")
    if twice and answer != getpass.getpass("Again: "):
        raise ValueError(f"{question}: the two answers differ")
    return answer


def key_source(location: str) -> KeySource:
    """Return the key source at a location or URL."""
    from .keysources import LocalSource, from_url

    if _kind(location) in MANAGERS:
        return from_url(location)
    return LocalSource(shown(location), lambda: _read("kek=", location))


def _from_raw(name: str, text: bytes) -> Keyset | None:
    """Return the keyset of a raw key in the command's format, or None if the text is not a raw key."""
    from ._native import Keyset

    digits = text.removeprefix(b"\xef\xbb\xbf").strip()
    template = next((each for each in Keyset.templates() if digits.startswith(each.encode() + b" ")), None)
    if template is not None:
        digits = digits[len(template) :].strip()
    if _RAW.fullmatch(digits):
        key = bytes.fromhex(digits.decode())
    elif len(text) in (16, 32):
        try:
            Keyset.check_raw(text)
        except KeysetError as error:
            raise KeysetError(f"{name}: {error}") from None
        key = text
    else:
        return None
    return Keyset.from_raw(template or f"AES{8 * len(key)}_GCM_HKDF_1MB", key)


def _check_lock(name: str, where: KeysetPlace, text: bytes) -> None:
    """Refuse a keyset that is not encrypted as its place requires, because it may have been replaced."""
    encrypted = b'"encryptedKeyset"' in text
    if encrypted and where.clear:
        raise KeysetError(f"{name}: is encrypted, but clear: requires an unencrypted keyset; leave clear: out")
    if where.encrypted and not encrypted:
        raise KeysetError(
            f"{name}: is not an encrypted keyset, but its place requires one; another file may have "
            f"replaced yours. Restore the encrypted keyset, or, if an unencrypted keyset is intended, write "
            f"clear: before the place and omit the way to decrypt it"
        )
    if not encrypted:
        return
    under_passphrase = b'"keyEncryptionKey"' in text
    if under_passphrase and not (where.asks or where.passphrase is not None):
        more = ", not under the key of kek=" if where.kek is not None else ""
        raise KeysetError(
            f"{name}: is encrypted under a passphrase{more}; write passphrase: before its place to be prompted, or "
            f"passphrase=PLACE; where PLACE is {LOCATIONS}"
        )
    if not under_passphrase and where.kek is None:
        raise KeysetError(
            f"{name}: is encrypted under a key; write kek=PLACE; before its place, where PLACE is {LOCATIONS}, or the "
            "URL of a key manager"
        )


def load_keyset(place: str, kek: str | None = None, ask: AskPassphrase | None = None) -> Keyset:
    """Read a keyset from its place; see ``Keyset.load``."""
    from ._native import Keyset
    from .keysources import read_keyset

    where = parse(place)
    if where.is_own:
        raise ValueError(
            "the place of the keyset: own: means the keyset at the start of an encrypted file; use it with warpaes.open"
        )
    if kek is not None:
        if where.encrypted or where.clear:
            raise ValueError("kek: the place of the keyset already names a way to decrypt it; use only one of the two")
        where = replace(where, kek=kek)
    keep_from_programs(each for each in (where.location, where.passphrase, where.kek) if each is not None)
    text, name = _read("keyset", where.location), shown(where.location)
    _check_lock(name, where, text)
    try:
        if where.kek is not None:
            with key_source(where.kek) as source:
                return read_keyset(text, source, (where.kek_aad or "").encode())
        if where.encrypted:
            Keyset._check_wrapped(text)  # before any prompt, raises an exception if the cost exceeds the limits
            return Keyset._unwrap(text, ask_passphrase(where, ask, f"Passphrase of {name}"))
        return _from_raw(name, text) or Keyset.parse(text)
    except KeysetError as error:
        message = str(error)
        raise KeysetError(message if message.startswith(name) else f"{name}: {message}") from None


def read_keyset_text(place: str) -> tuple[str, bytes]:
    """Return the name and the text of the key at a place: a raw key, or a keyset that was decrypted if the place
    requires this."""
    where = parse(place)
    name = shown(where.location)
    if where.encrypted:
        return name, load_keyset(place).to_json()
    text = read_secret(where.location)
    _check_lock(name, where, text)
    return name, text


def lasting_keyset_place(place: str) -> str | None:
    """Return the place in a form that other processes can use, or None if it works only in this process or requires a
    prompt."""
    return (dataset_place(place) or parse(place)).lasting()


def save_keyset(keyset: Keyset, place: str, ask: AskPassphrase | None = None, seconds: float = 1.0) -> None:
    """Write a keyset to its place; see ``Keyset.save``."""
    from ._output import Output
    from .keysources import write_keyset

    where = parse(place)
    if where.is_own or _kind(where.location) in ("env", "fd", "exec"):
        raise ValueError("the place of the keyset: a keyset can be saved only in a file (PATH or file:PATH)")
    path = where.location.removeprefix("file:")
    if os.path.lexists(path):  # checked before any prompt
        raise FileExistsError(errno.EEXIST, "the file exists, and keys are never overwritten", path)
    if where.kek is not None:
        with key_source(where.kek) as source:
            text = write_keyset(keyset, source, (where.kek_aad or "").encode())
    elif where.encrypted:
        text = keyset._wrap(ask_passphrase(where, ask, f"New passphrase of {shown(path)}", twice=True), seconds)
    else:
        text = keyset.to_json()
    with Output(path, secret=True) as output, open(output.descriptor, "wb", closefd=False) as file:
        file.write(text)


def as_keyset(keyset: Any) -> Keyset:
    """Return a keyset that is given as a Keyset object or as a place."""
    return load_keyset(keyset) if isinstance(keyset, str) else keyset
