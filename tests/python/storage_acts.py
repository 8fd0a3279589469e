"""The adversary for storage_adversary.py: the acts of an attacker who can write to a storage but has none of its
owner's keys."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import os
import pathlib
import random
import shutil
import stat
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import warpaes
from warpaes.bulk import keys, manifest, rows, storage

if TYPE_CHECKING:
    from s3_here import Here
    from storage_adversary import World

#: A file's kind, content and permissions. The content of a link is the path of its target.
Node = tuple[str, bytes, int]
Tree = dict[str, Node]
FOLDER = storage.FOLDER


class Files:
    """A folder to which an attacker can write."""

    has_links = True

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder

    def tree(self) -> Tree:
        found: Tree = {}
        folders = [self.folder]
        while folders:
            folder = folders.pop()
            for name in sorted(os.listdir(folder)):
                path = folder / name
                with contextlib.suppress(FileNotFoundError):  # a temporary file of an abandoned worker may disappear
                    node = found[path.relative_to(self.folder).as_posix()] = self.node(path)
                    if node[0] == "folder":
                        folders.append(path)
        return found

    @staticmethod
    def node(path: pathlib.Path) -> Node:
        info = path.lstat()
        mode = stat.S_IMODE(info.st_mode)
        if stat.S_ISLNK(info.st_mode):
            return "link", os.fsencode(os.readlink(path)), 0
        if stat.S_ISREG(info.st_mode):
            return "file", path.read_bytes(), mode
        return "folder" if stat.S_ISDIR(info.st_mode) else "pipe", b"", mode

    def clear(self, name: str) -> None:
        path = self.folder / name
        for above in path.relative_to(self.folder).parents:
            place = self.folder / above
            if place != self.folder and os.path.lexists(place) and (place.is_symlink() or not place.is_dir()):
                place.unlink()
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
        path.parent.mkdir(parents=True, exist_ok=True)

    def set(self, name: str, node: Node | None) -> None:
        path = self.folder / name
        if node is not None and node[0] == "folder" and path.is_dir() and not path.is_symlink():
            return
        self.clear(name)
        if node is None:
            return
        kind, content, mode = node
        if kind == "link":
            path.symlink_to(os.fsdecode(content))
        elif kind == "folder":
            path.mkdir(mode=0o755)
        elif kind == "pipe":
            os.mkfifo(path)
        else:
            path.write_bytes(content)
            path.chmod(mode)


class Bucket:
    """The objects below a prefix in moto's S3."""

    has_links = False

    def __init__(self, store: Here, prefix: str) -> None:
        self.store, self.prefix = store, prefix + "/"

    def tree(self) -> Tree:
        objects = self.store.objects(self.prefix)
        return {name.removeprefix(self.prefix): ("file", objects[name], 0) for name in sorted(objects)}

    def set(self, name: str, node: Node | None) -> None:
        if node is None or node[0] == "file":
            self.store.set(self.prefix + name, None if node is None else node[1])


Place = Files | Bucket


def put(place: Place, tree: Tree, prefix: str = "") -> None:
    """Replace everything in a place whose name begins with a prefix."""
    now = place.tree()
    for name in sorted(now, reverse=True):
        if name.startswith(prefix) and name not in tree and name.rstrip("/") + "/" != prefix:
            place.set(name, None)
    for name, node in tree.items():
        if name.startswith(prefix) and now.get(name) != node:
            place.set(name, node)


def seal(keyset: warpaes.Keyset, content: bytes, associated: bytes) -> bytes:
    out = io.BytesIO()
    with warpaes.open(out, "wb", keyset=keyset, associated_data=associated) as file:
        file.write(content)
    return out.getvalue()


def json_places(found: Any) -> list[tuple[Any, Any]]:
    every = []
    for key, value in list(found.items() if isinstance(found, dict) else enumerate(found)):
        every.append((found, key))
        if isinstance(value, (dict, list)):
            every += json_places(value)
    return every


class Adversary:
    """The attacker. Each act uses only the random numbers that it receives, so that it can be repeated."""

    def __init__(self, world: World) -> None:
        self.world, self.place = world, world.place

    def order(self, name: str) -> str:
        """Return a key that sorts names."""
        return name

    def files(self, wanted: Callable[[str], bool] = lambda name: True) -> list[str]:
        every = (name for name, node in self.place.tree().items() if node[0] == "file" and wanted(name))
        return sorted(every, key=self.order)

    def records(self) -> list[str]:
        """Return the wrapped keys next to objects."""
        return self.files(lambda name: name.endswith(storage.KEY_SUFFIX))

    def record_of(self, name: str) -> str:
        """Return the location of an object's wrapped key, whether it exists or not."""
        return name + storage.KEY_SUFFIX

    def objects(self) -> list[str]:
        records = set(self.records())
        return self.files(lambda name: not name.startswith(FOLDER) and name not in records)

    def any_file(self, chance: random.Random) -> str | None:
        own = self.files(lambda name: name.startswith(FOLDER))
        every = [each for each in (own, self.records(), self.objects()) if each]
        return chance.choice(chance.choice(every)) if every else None

    def future(self) -> list[str]:
        """Return the names of objects that the owner has or will have."""
        return [name + self.world.suffix for name in self.world.names]

    def name(self, chance: random.Random) -> str:
        """Choose an existing object or a future object."""
        return chance.choice([*self.objects(), *self.future()])

    def alter(self, name: str, content: bytes) -> None:
        node = self.place.tree().get(name)
        self.place.set(name, ("file", content, node[2] if node is not None and node[0] == "file" else 0o644))

    def content(self, name: str) -> bytes:
        return self.place.tree()[name][1]

    def content_or_nothing(self, name: str) -> bytes:
        return self.place.tree().get(name, ("", b"", 0))[1]

    def dataset(self) -> str:
        try:
            return str(json.loads(self.content(manifest.NAME).partition(b"\n")[0])["dataset"])
        except Exception:
            return ""

    def edit(self, chance: random.Random) -> str:
        name = self.any_file(chance)
        if name is None:
            return "nothing"
        data = bytearray(self.content(name))
        how = chance.choice(["flip", "cut", "append", "empty", "front"])
        if how == "flip" and data:
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        elif how == "cut":
            del data[chance.randrange(len(data) + 1) :]
        elif how == "append":
            data += chance.randbytes(chance.randrange(1, 40))
        elif how == "empty":
            data.clear()
        else:
            data[:0] = chance.randbytes(5)
        self.alter(name, bytes(data))
        return f"{how} {self.order(name)}"

    def field(self, chance: random.Random) -> str:
        """Change a JSON value in the root, a record or a lock."""
        names = self.files(lambda name: name.endswith((".json", ".jsonl")))
        names = sorted({*names, *self.records()}, key=self.order)
        if not names:
            return "nothing"
        name = chance.choice(names)
        text, separator, rest = self.content(name).partition(b"\n")
        try:
            found = json.loads(text)
            places = json_places(found)
        except (ValueError, AttributeError, RecursionError):
            return "nothing"
        if not places:
            return "nothing"
        inside, key = chance.choice(places)
        values = [
            None,
            "",
            0,
            -1,
            1 << 70,
            "x",
            [],
            {},
            [[]] * 9,
            True,
            False,
            "rekey",
            "encrypt",
            "decrypt",
            "AES128_GCM_HKDF_4KB",
        ]
        values += [inner[each] for inner, each in places]
        if chance.random() < 0.2:
            with contextlib.suppress(TypeError):
                del inside[key]
        else:
            inside[key] = chance.choice(values)
        with contextlib.suppress(ValueError):
            self.alter(name, json.dumps(found).encode() + separator + rest)
        return f"field {key!r} of {self.order(name)}"

    def swap(self, chance: random.Random) -> str:
        own = chance.random() < 0.3
        names = self.files(lambda name: name.startswith(FOLDER)) if own else self.objects()
        if len(names) < 2:
            return "nothing"
        one, two = chance.sample(names, 2)
        a, b = self.content(one), self.content(two)
        beside = [self.record_of(each) for each in (one, two)]
        records = [self.place.tree().get(each) for each in beside]
        self.alter(one, b)
        if chance.random() < 0.7:
            self.alter(two, a)
        if all(records) and chance.random() < 0.5:
            for name, record in zip(beside, reversed(records), strict=True):
                self.place.set(name, record)
        return f"swap {self.order(one)} and {self.order(two)}"

    def copy(self, chance: random.Random) -> str:
        name, to = self.any_file(chance), self.name(chance)
        if name is None:
            return "nothing"
        to = chance.choice([to, to, self.record_of(to)])
        self.alter(to, self.content(name))
        return f"copy {self.order(name)} to {self.order(to)}"

    def delete(self, chance: random.Random) -> str:
        name = self.any_file(chance)
        if name is None:
            return "nothing"
        if chance.random() < 0.1:
            put(self.place, {}, FOLDER)
            return "delete bulk's folder"
        self.place.set(name, None)
        return f"delete {self.order(name)}"

    def replay(self, chance: random.Random) -> str:
        """Restore an older state of one file."""
        old = chance.choice(self.world.history)
        names = sorted((name for name, node in old.items() if node[0] == "file"), key=self.order)
        if not names:
            return "nothing"
        name = chance.choice(names)
        self.alter(name, old[name][1])
        return f"replay {self.order(name)}"

    def roll_back(self, chance: random.Random) -> str:
        """Restore an older state of all files, or of all files in bulk's own folder."""
        prefix = chance.choice(["", FOLDER])
        number = chance.randrange(len(self.world.history))
        put(self.place, self.world.history[number], prefix)
        return f"roll back {prefix or 'all'} to {number}"

    def from_other(self, chance: random.Random) -> str:
        """Plant a file from a dataset that the owner created for the attacker, or that the attacker created under the
        attacker's own key."""
        which = chance.choice(["other", "hostile"])
        tree = self.world.other if which == "other" else self.world.hostile
        kind = chance.choice(["object", "record", "own", "all"])
        if kind in ("own", "all"):
            put(self.place, tree, FOLDER if kind == "own" else "")
            return f"{kind} of {which}"
        names = [name for name, node in tree.items() if not name.startswith(FOLDER) and node[0] == "file"]
        names = [name for name in names if (tree[name][1][:1] == b"[") == (kind == "record")]
        if not names:
            return "nothing"
        name, to = chance.choice(sorted(names, key=self.order)), self.name(chance)
        to = self.record_of(to) if kind == "record" else to
        self.alter(to, tree[name][1])
        return f"{kind} {self.order(name)} of {which} to {self.order(to)}"

    def forge(self, chance: random.Random) -> str:
        """Plant an object under a key that the attacker has."""
        name = self.name(chance)
        dataset = self.dataset()
        bound = [b"", name.encode(), f"warpaes bulk object {dataset} {name}".encode()]
        keyset = chance.choice(self.world.known)
        self.alter(name, seal(keyset, b"forged", chance.choice(bound)))
        return f"forge {self.order(name)}"

    def plant_record(self, chance: random.Random) -> str:
        """Plant a wrapped data key that the attacker knows, next to an object or in place of a shared key."""
        world, name = self.world, self.name(chance)
        record: dict[str, Any] = {}
        if world.may_wrap and chance.random() < 0.7:
            record = {"key_id": "0" * 32, "template": chance.choice(["AES256_GCM_HKDF_4KB", "AES128_GCM_HKDF_4KB"])}
            job = self.job()
            record |= {"dataset": self.dataset(), "name": name, "job": job, "attempt": "0" * 16}
            data = keys._record_data(record)
            key = world.planted_key if "256" in record["template"] else world.planted_key[:16]
            record |= {"source": "x", "wrapped": base64.b64encode(world.wrap(key, data)).decode()}
        elif world.records:
            record = chance.choice(world.records)
        else:
            return "nothing"
        if chance.random() < 0.7:
            self.alter(self.record_of(name), json.dumps([record]).encode())
        else:
            self.alter(f"{FOLDER}keys/{record['key_id']}.json", json.dumps(record).encode())
        return f"plant a record for {self.order(name)}"

    def job(self) -> str:
        try:
            return str(json.loads(self.content(manifest.NAME).partition(b"\n")[0])["job"]["id"])
        except Exception:
            return ""

    def sign(self, chance: random.Random) -> str:
        """Plant a root that the attacker's manifest key authenticates. The owner's key manager may have wrapped this
        key."""
        world = self.world
        if not world.may_wrap:
            return "nothing"
        try:
            text = self.content(manifest.NAME).partition(b"\n")[0]
            root = json.loads(text)
            held = root["manifest_key"]
            holder = keys.Holder(world.source(), "", held["key_id"])
            signer = manifest.Signer.create(root["dataset"], holder)
            root["manifest_key"] = {**held, "wrapped": signer.wrapped.hex()}
            if chance.random() < 0.5:
                root["shards"] = []
            text = json.dumps(root).encode()
        except Exception:
            return "nothing"
        self.alter(manifest.NAME, text + b"\n" + json.dumps({"hmac_sha256": signer.code(text)}).encode() + b"\n")
        return "sign a root"

    def manifest_1(self, chance: random.Random) -> str:
        """Plant an unauthenticated manifest of warpaes 1.0."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        job = {
            "id": "0" * 32,
            "command": chance.choice(["encrypt", "rekey", "decrypt"]),
            "source": self.world.target_url,
        }
        job |= {
            "target": self.world.target_url,
            "options": {"envelope": self.world.envelope},
            "keys": {},
            "key_id": "1",
        }
        job |= {"listed": True, "finished": chance.random() < 0.5, "saved": "0", "version": 1}
        every = [rows.Row(name, name, 1, "", state="done") for name in self.objects()]
        schema = pa.schema([field for field in rows.SCHEMA if field.name not in ("todo", "old_sha256", "attributes")])
        table = pa.table({name: [getattr(row, name) for row in every] for name in schema.names}, schema)
        out = io.BytesIO()
        pq.write_table(table.replace_schema_metadata({b"warpaes": json.dumps(job).encode()}), out)
        if chance.random() < 0.5:
            self.place.set(manifest.NAME, None)
        self.alter(manifest.NAME_1, out.getvalue())
        return "a manifest of 1.0"

    def lock(self, chance: random.Random) -> str:
        content = chance.choice(
            [
                b"",
                b"{}",
                b"[" * 3000,
                json.dumps({"process": 1, "host": "\x1b]0;x\x07", "command": "x", "since": "y"}).encode(),
            ]
        )
        self.alter(FOLDER + "lock", content)
        return "a lock"

    def link(self, chance: random.Random) -> str:
        """Replace a file or folder with a link, a pipe or a folder."""
        if not self.place.has_links:
            return "nothing"
        tree = self.place.tree()
        name = chance.choice(sorted(tree, key=self.order) or ["x"]) if chance.random() < 0.8 else self.name(chance)
        outside = self.world.outside
        node: Node = chance.choice(
            [
                ("link", os.fsencode(outside), 0),
                ("link", os.fsencode(outside / "secret"), 0),
                ("link", b"nowhere", 0),
                ("link", os.fsencode(outside / "new"), 0),
                ("pipe", b"", 0),
                ("folder", b"", 0o755),
            ]
        )
        self.place.set(name, None)
        self.place.set(name, node)
        return f"{node[0]} {os.fsdecode(node[1])} at {self.order(name)}"

    def mode(self, chance: random.Random) -> str:
        name = self.any_file(chance)
        if name is None or not isinstance(self.place, Files):
            return "nothing"
        mode = chance.choice([0o600, 0o640, 0o644, 0o666, 0o400])
        (self.place.folder / name).chmod(mode)
        return f"mode {mode:o} of {name}"

    def odd_name(self, chance: random.Random) -> str:
        """Plant an object with an unusual name, such as a long name, a name with control characters, or a name that
        is reserved for bulk."""
        name = chance.choice(
            ["\x1b]0;x\x07", "a/../../x", "\u202e", "x" * 200, FOLDER + "x", ".x.warpaes-part-" + "0" * 32]
        )
        name = name.replace("/../", "/") if self.place.has_links else name
        self.alter(name, chance.choice([b"", seal(self.world.known[0], b"x", b"")]))
        return f"plant {name!r}"

    ACTS = (
        edit,
        field,
        swap,
        copy,
        delete,
        replay,
        roll_back,
        from_other,
        forge,
        plant_record,
        sign,
        manifest_1,
        lock,
        link,
    )
    RARE = (mode, odd_name)

    def act(self, seed: int) -> str:
        """Perform one random act."""
        chance = random.Random(seed)
        what = chance.choice(self.ACTS if chance.random() < 0.9 else self.RARE)
        with contextlib.suppress(OSError):
            return what(self, chance)
        return "nothing"
