"""The keyset at the start of a sealed file, called the front (docs/formats.md, "A file with its own keyset")."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from ._fork_lock import ForkLock
from ._keyset_places import AskPassphrase, KeysetPlace, ask_passphrase, key_source
from ._native import Keyset
from ._once import KEPT_SECONDS, Kept
from .exceptions import FormatError, InvalidTag, InvalidUnwrap, KeysetError
from .keysources import read_keyset, write_keyset

MARK = b"warpaes-own-1 "
FIRST_LINE = len(MARK) + 7
PAGE = 4096
MOST_FRONT = 1 << 16
MOST_SLOTS = 16
#: The limit for the sum of 128 n r p bytes over all slots of a front. It equals the library's limit for one keyset.
MOST_WORK = 8 << 30
#: Maximum number of opened keysets that are kept.
MOST_KEPT = 1024


class OwnKeysets:
    """Opens the keysets at the start of many files, each only once, and creates a keyset for new files.

    The class is thread-safe.
    """

    def __init__(self, place: KeysetPlace, ask: AskPassphrase | None = None) -> None:
        """Check the place, which must end with ``own:``.

        Raises:
            ValueError: The place names neither a passphrase nor a key-encryption key.
        """
        if not place.encrypted:
            raise ValueError(
                "the place of the keyset: own: is always encrypted; write passphrase:own:, or "
                "passphrase=PLACE; or kek=PLACE; before it"
            )
        self._place, self._ask = place, ask
        self._lock = ForkLock()  #: guards the passphrase, the derivation of keys, and new keysets
        self._passphrase: bytes | None = None
        # The passphrase is kept, so that the key derivation is not repeated.
        self._opened: Kept[Keyset] = Kept(MOST_KEPT, KEPT_SECONDS if place.kek is not None else float("inf"))
        self._made: tuple[Keyset, bytes] | None = None

    def open(self, front: bytes) -> Keyset:
        """Return the keyset in a front, which ``read_front`` has returned.

        Raises:
            InvalidTag: The passphrase or key is wrong, or the front was altered.
            KeysetError: The front is not encrypted under the required passphrase or key.
            KeySourceError: The key manager refused the request or could not be reached.
        """
        slots = _slots(front)
        under_passphrase = self._place.kek is None
        mine = [slot for slot, has_passphrase in slots if has_passphrase == under_passphrase]
        if not mine:
            what, other = ("passphrase", "kek=") if under_passphrase else ("key-encryption key", "passphrase:")
            raise KeysetError(
                f"the keyset at the start of the file is not encrypted under a {what}; write {other} before own:"
            )
        for slot in mine:
            if (kept := self._opened.kept(slot)) is not None:
                return kept
        return self._by_passphrase(mine) if under_passphrase else self._by_source(mine)

    def _by_passphrase(self, slots: list[bytes]) -> Keyset:
        with self._lock:  # concurrent derivations would require several times the memory
            if self._passphrase is None:
                self._passphrase = ask_passphrase(self._place, self._ask, "Passphrase of the file")
            passphrase = self._passphrase
            for slot in slots:
                try:
                    return self._opened.get(slot, lambda: Keyset._unwrap(slot, passphrase))  # noqa: B023
                except InvalidTag:
                    continue
            if self._place.passphrase is None:
                # The passphrase may have been mistyped, so the prompt appears again for the next file.
                self._passphrase = None
        raise InvalidTag("the passphrase is wrong, or the keyset at the start of the file was altered")

    def _by_source(self, slots: list[bytes]) -> Keyset:
        associated_data = (self._place.kek_aad or "").encode()
        with key_source(self._place.kek or "") as source:
            for slot in slots:
                try:
                    return self._opened.get(slot, lambda: read_keyset(slot, source, associated_data))  # noqa: B023
                except (InvalidTag, InvalidUnwrap):
                    continue
        raise InvalidTag("kek: cannot open the file's keyset: it was altered, or the key or the associated data differ")

    def make(self) -> tuple[Keyset, bytes]:
        """Return a new keyset and its front. They are the same for all files that are sealed with this object.

        Raises:
            KeySourceError: The key manager refused the request or could not be reached.
        """
        with self._lock:
            if self._made is None:
                keyset = Keyset.generate()
                if self._place.kek is not None:
                    with key_source(self._place.kek) as source:
                        slot = write_keyset(keyset, source, (self._place.kek_aad or "").encode())
                else:
                    passphrase = ask_passphrase(self._place, self._ask, "New passphrase of the file", twice=True)
                    slot = keyset._wrap(passphrase, 1.0)
                self._made = keyset, _build(json.dumps(json.loads(slot), separators=(",", ":")).encode())
            return self._made


def _build(slot: bytes) -> bytes:
    size = -(-(FIRST_LINE + 2 * len(slot) + 66) // PAGE) * PAGE  # leaves room for a new passphrase
    text = b"%s%06d\n%s\n" % (MARK, size, slot)
    return text.ljust(size - 1) + b"\n"


def read_front(read: Callable[[int], bytes]) -> bytes:
    """Read the front with a function that returns the next bytes, and fewer bytes than requested only at the end.

    Raises:
        FormatError: The file does not begin with a front, or the front is truncated.
    """
    first = read(FIRST_LINE)
    if not first.startswith(MARK):
        raise FormatError(
            "the file does not begin with its own keyset, but own: requires one; another file may have replaced yours"
        )
    number = re.fullmatch(rb"([0-9]{6})\n", first[len(MARK) :])
    size = int(number[1]) if number else 0
    if size == 0 or size % PAGE or size > MOST_FRONT:
        raise FormatError("the first line of the file has no valid length, so it was altered")
    front = first + read(size - FIRST_LINE)
    if len(front) != size:
        raise FormatError("the file ends inside the keyset at its start")
    return front


def _slots(front: bytes) -> list[tuple[bytes, bool]]:
    """Return the encrypted keysets in a front, each with a flag that is true if it is under a passphrase. Their total
    cost is limited."""
    slots, work = [], 0
    for line in front[FIRST_LINE:].split(b"\n"):
        slot = line.strip(b" ")
        if not slot:
            continue
        try:
            cost = Keyset._check_wrapped(slot)
        except KeysetError:
            whole = slot.endswith(b"}") and slot.count(b"{") == slot.count(b"}")
            if whole and b'"encryptedKeyset"' in slot:
                raise
            continue  # an interrupted change leaves an incomplete line
        work += cost
        slots.append((slot, cost != 0))
    if work > MOST_WORK:
        raise KeysetError(
            f"testing a passphrase for this file would require {work >> 20} MiB of memory, and the limit is "
            f"{MOST_WORK >> 20} MiB"
        )
    if not slots or len(slots) > MOST_SLOTS:
        raise FormatError(f"the file has {len(slots)} encrypted keysets at its start, so it was altered")
    return slots
