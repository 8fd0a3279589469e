"""Encrypted names in storage_adversary.py: code for the harness to read them, and the attacker's acts against them."""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import json
import random
from collections.abc import Callable
from typing import Any

from storage_acts import FOLDER, Adversary, Tree, json_places, seal
from warpaes import Keyset
from warpaes.bulk import keys, manifest, storage
from warpaes.bulk.config import BOUND
from warpaes.bulk.names import NamesKey
from warpaes.exceptions import FormatError, InvalidTag
from warpaes.names import EncryptedNames


class Names:
    """The names of the owner's objects: unencrypted, or encrypted under the names keys of the owner's datasets."""

    def __init__(self, hides: bool) -> None:
        self.hides = hides
        #: Whether the attacker can encrypt names. This requires that the attacker chose the names key or has a key that
        #: once wrapped it.
        self.leaked = False
        self._trees: dict[bytes, EncryptedNames] = {}
        self._read: set[bytes] = set()

    def learn(self, tree: Tree, sources: Callable[[], list[Any]], planted: bytes) -> None:
        """Unwrap the records of names keys in a target. `planted` is the attacker's own key."""
        for place in (keys.NAMES_PLACE, manifest.NAME) if self.hides else ():
            text = tree.get(place, ("", b"", 0))[1].partition(b"\n")[0]
            if text in self._read:
                continue
            with contextlib.suppress(Exception):  # the record may contain anything
                found = json.loads(text)
                key = keys.unwrap(sources(), found if place == keys.NAMES_PLACE else found["names_key"])
                self._read.add(text)
                self.leaked = self.leaked or key == planted
                self._trees.setdefault(key, EncryptedNames(Keyset.from_raw("AES256_GCM_HKDF_1MB", key)))

    def of(self, name: str) -> list[str]:
        """Return the names that an object may have in the target, one for each names key."""
        return [names.encrypt(name) for names in self._trees.values()] if self.hides else [name]

    def plain(self, stored: str) -> str:
        """Return the plain name of an object in the target, or its stored name if it has no plain name."""
        for names in self._trees.values() if not stored.startswith(FOLDER) else ():
            with contextlib.suppress(InvalidTag, FormatError):
                return names.decrypt(stored)
        return stored


def split(name: str) -> tuple[str, str]:
    """Return the folder and the last name of an encrypted path. A long name has several parts."""
    parts = name.split("/")
    at = len(parts) - 1
    while at > 0 and parts[at - 1].endswith("-"):
        at -= 1
    return "/".join(parts[:at]), "/".join(parts[at:])


class NamesAdversary(Adversary):
    """The acts of an attacker against a dataset with encrypted names. The attacker sees only encrypted names."""

    def order(self, stored: str) -> str:
        """Return the plain name, because encrypted names differ from run to run, but the order of choices must not."""
        plain = self.world.hidden.plain(stored)
        return plain if plain != stored else self.world.theirs.plain(stored)

    def records(self) -> list[str]:
        tree = self.place.tree()
        return self.files(lambda name: not name.startswith(FOLDER) and tree[name][1][:1] == b"[")

    def record_of(self, name: str) -> str:
        """Return the location of an object's record, which contains the object's name."""
        for record in self.records():
            with contextlib.suppress(Exception):
                if json.loads(self.content(record))[0]["name"] == name:
                    return record
        return name + storage.KEY_SUFFIX

    def job(self) -> str:
        """Return the ID of the job. Only records show it, because the root's job is encrypted."""
        for name in [*self.records(), *self.files(lambda name: name.startswith(FOLDER + "keys/"))]:
            if job := _loaded(self.content(name)).get("job"):
                return str(job)
        return ""

    def future(self) -> list[str]:
        """Return names that were or are in a dataset of the owner."""
        every: dict[str, None] = {}
        for tree in (*self.world.history, self.world.other):
            every |= dict.fromkeys(
                sorted((n for n, node in tree.items() if node[0] == "file" and n[:14] != FOLDER), key=self.order)
            )
        return [*every] or ["x"]

    def place_object(self, chance: random.Random, name: str, to: str) -> None:
        """Move or copy an object."""
        node = self.place.tree()[name]
        if chance.random() < 0.5:
            self.place.set(name, None)
        self.place.set(to, node)

    def move(self, chance: random.Random) -> str:
        """Move an object to a different folder under its own name, or to a different object's folder."""
        names = self.files(lambda name: not name.startswith(FOLDER))
        if not names:
            return "nothing"
        name, other = chance.choice(names), chance.choice([*names, *self.future()])
        folder, last = split(other)[0], split(name)[1]
        to = f"{folder}/{last}" if folder else last
        if chance.random() < 0.3:
            to = f"{other}/{last}"  # in a folder under the name of a different object
        self.place_object(chance, name, to)
        return f"move {self.order(name)} to {self.order(to)}"

    def rename_folder(self, chance: random.Random) -> str:
        """Rename a folder to the name of a different folder, or swap two folders."""
        names = self.files(lambda name: not name.startswith(FOLDER))
        folders = sorted({split(name)[0] for name in names if split(name)[0]}, key=self.order)
        if not folders:
            return "nothing"
        one, two = chance.choice(folders), chance.choice([*folders, split(chance.choice(self.future()))[1]])
        tree, swaps = self.place.tree(), chance.random() < 0.5
        moves = [(name, two + name[len(one) :]) for name in names if name.startswith(one + "/")]
        moves += [(name, one + name[len(two) :]) for name in names if swaps and name.startswith(two + "/")]
        for name, _ in moves:
            self.place.set(name, None)
        for name, to in moves:
            self.place.set(to, tree[name])
        return f"rename the folder {self.order(one)} to {self.order(two)}"

    def spell(self, chance: random.Random) -> str:
        """Alter a name."""
        names = self.files(lambda name: not name.startswith(FOLDER))
        if not names:
            return "nothing"
        name = chance.choice(names)
        at = chance.randrange(len(name))
        how = chance.choice(["upper", "cut", "longer", "other", "long", "empty"])
        to = {
            "upper": name.upper(),
            "cut": name[:-1] or "x",
            "longer": name + chance.choice("0v="),
            "other": name[:at] + chance.choice("0123456789abcdefghijklmnopqrstuv") + name[at + 1 :],
            "long": name[:at] + "-/" + name[at:],
            "empty": name + "-/" + "x",
        }[how].strip("/")
        if "//" in to or to.startswith(FOLDER):
            return "nothing"
        self.place_object(chance, name, to)
        return f"spell {self.order(name)} otherwise: {how}"

    def foreign_name(self, chance: random.Random) -> str:
        """Change an object's name to a name from a different dataset."""
        tree = chance.choice([self.world.other, self.world.hostile])
        names = self.files(lambda name: not name.startswith(FOLDER))
        theirs = [name for name, node in tree.items() if node[0] == "file" and not name.startswith(FOLDER)]
        theirs.sort(key=self.order)
        if not names or not theirs:
            return "nothing"
        name = chance.choice(names)
        self.place_object(chance, name, theirs[chance.randrange(len(theirs))])
        return f"rename {self.order(name)} to a name from another dataset"

    def names_record(self, chance: random.Random) -> str:
        """Replace the record of the names key."""
        world, now = self.world, self.place.tree().get(keys.NAMES_PLACE, ("", b"{}", 0))[1]
        texts = [each[keys.NAMES_PLACE][1] for each in (world.other, world.hostile, *world.history)
                 if keys.NAMES_PLACE in each]  # fmt: skip
        texts += [self.content(name) for name in self.records()[:3]]
        record = _loaded(chance.choice(texts)) if texts else {}
        what = chance.choice(["copy", "names the dataset", "field", "wrap"])
        if what == "names the dataset":
            record = {**record, "dataset": self.dataset(), "name": keys.NAMES_PLACE}
        elif what == "field" and (places := json_places(record := _loaded(now))):
            inside, key = chance.choice(places)
            inside[key] = chance.choice([None, "", 1, "x", [], "AES128_GCM_HKDF_4KB"])
        elif what == "wrap" and world.may_wrap:
            record = self._names_key().record
        self.alter(keys.NAMES_PLACE, json.dumps(record).encode())
        return f"the record of the names key: {what}"

    def _names_key(self) -> NamesKey:
        """Return the attacker's own names key, wrapped for the owner's dataset."""
        return NamesKey(self.dataset(), self.world.planted_key, {}).wrapped(self.job(), self.world.source())

    def root_names(self, chance: random.Random) -> str:
        """Exchange the root's names key, sealed part or format."""
        text, separator, code = self.content_or_nothing(manifest.NAME).partition(b"\n")
        roots = [_loaded(each[manifest.NAME][1].partition(b"\n")[0]) for each in
                 (self.world.other, self.world.hostile, *self.world.history) if manifest.NAME in each]  # fmt: skip
        root = _loaded(text)
        if not roots or not root:
            return "nothing"
        other = chance.choice(roots)
        what = chance.choice(["names_key", "sealed", "format", "in clear"])
        if what in ("names_key", "sealed"):
            root[what] = other.get(what)
        else:
            root["format"] = chance.choice([manifest.FORMAT, "warpaes bulk manifest 1", "warpaes bulk manifest 4", 3])
        if what == "in clear":
            root |= {"format": manifest.FORMAT, "job": dataclasses.asdict(self._forged_job()), "shards": []}
        self.alter(manifest.NAME, json.dumps(root, separators=(",", ":")).encode() + separator + code)
        return f"the root's {what}"

    def _forged_job(self) -> manifest.Job:
        world = self.world
        options = {"envelope": world.envelope, "suffix": world.suffix, "binding": BOUND}
        return manifest.Job("0" * 32, "encrypt", str(world.source_folder), world.target_url, options, finished=True)

    def sign(self, chance: random.Random) -> str:
        """Plant a root under the attacker's manifest key and names key, which the owner's key manager has wrapped."""
        world = self.world
        root = _loaded(self.content_or_nothing(manifest.NAME).partition(b"\n")[0])
        if not world.may_wrap or not root or chance.random() < 0.3:
            return super().sign(chance)
        with contextlib.suppress(Exception):
            holder = keys.Holder(world.source(), "", root["manifest_key"]["key_id"])
            signer, names = manifest.Signer.create(root["dataset"], holder), self._names_key()
            content = {"job": dataclasses.asdict(self._forged_job()), "shards": []}
            sealed = base64.b64encode(names.seal(json.dumps(content).encode(), "root")).decode()
            root |= {"manifest_key": {**root["manifest_key"], "wrapped": signer.wrapped.hex()}}
            root |= {"format": manifest.FORMAT_3, "names_key": names.record, "sealed": sealed}
            text = json.dumps(root).encode()
            self.alter(manifest.NAME, text + b"\n" + json.dumps({"hmac_sha256": signer.code(text)}).encode() + b"\n")
            return "sign a root with a names key"
        return "nothing"

    def forge_name(self, chance: random.Random) -> str:
        """Plant an object under a plain name that the owner never used, if the attacker can encrypt names."""
        if not self.world.hidden.leaked:
            return "nothing"
        name = chance.choice(["forged", "d/forged", FOLDER + "forged", "d", "n0/forged", "forged.warpaes-key"])
        to = chance.choice(self.world.hidden.of(name))
        bound = [b"", to.encode(), f"warpaes bulk object {self.dataset()} {to}".encode()]
        self.place.set(to, ("file", seal(chance.choice(self.world.known), b"forged", chance.choice(bound)), 0o644))
        return f"forge the name {name}"

    ACTS = (
        *(act for act in Adversary.ACTS if act is not Adversary.sign),
        sign,
        move,
        rename_folder,
        spell,
        foreign_name,
        names_record,
        root_names,
        forge_name,
    )


def _loaded(text: bytes) -> dict[str, Any]:
    """Return a JSON object, or the first object in an array, or an empty object if there is none."""
    with contextlib.suppress(ValueError, RecursionError, IndexError):
        found = json.loads(text)
        found = found[0] if isinstance(found, list) else found
        return found if isinstance(found, dict) else {}
    return {}
