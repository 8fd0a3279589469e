"""Tests that attackers without a key who can write to a dataset's storage control nothing: no key, no check, no object,
and no result of a job."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import pathlib
import shutil
import threading
import unittest
import unittest.mock
from typing import Any

import warpaes
from bulk_case import Case, bulk, refusal, said_by
from storage_acts import seal
from warpaes import keysources
from warpaes.bulk import cli, keys, manifest, manifest_1, rows, storage, stores, worker
from warpaes.bulk.rekey import Rekey


def old_manifest(
    target: pathlib.Path, command: str, source: pathlib.Path, options: dict[str, Any], every: list[rows.Row]
) -> None:
    """Write a manifest as warpaes 1.0 did."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    job = {"id": "0" * 32, "command": command, "source": str(source), "target": str(target), "options": options}
    job |= {"keys": {}, "key_id": "", "listed": True, "finished": True, "saved": "0", "version": 1}
    schema = pa.schema([field for field in rows.SCHEMA if field.name not in ("todo", "old_sha256", "attributes")])
    columns = {name: [getattr(row, name) for row in every] for name in schema.names}
    (target / storage.FOLDER).mkdir(parents=True, exist_ok=True)
    pq.write_table(
        pa.table(columns, schema=schema.with_metadata({b"warpaes": json.dumps(job)})), target / manifest.NAME_1
    )


class Trust(Case):
    def setUp(self) -> None:
        super().setUp()
        self.source.mkdir()
        self.keyset = warpaes.Keyset.generate("AES256_GCM_HKDF_4KB")
        self.leaked = warpaes.Keyset.parse(self.keyset.to_json())
        self.old_id = self.keyset.keys()[0]["key_id"]
        self.key.write_bytes(self.keyset.to_json())
        self.out = self.folder / "out"

    def rotate(self) -> None:
        self.keyset.rotate()
        self.key.write_bytes(self.keyset.to_json())

    def put(self, **content: str) -> None:
        for name, text in content.items():
            (self.source / name).write_text(text)

    def opens(self, keyset: warpaes.Keyset, name: str) -> bool:
        """Return whether the keyset opens the object, whether it is unbound, or bound to its name with or without
        its dataset."""
        sealed = (self.target / name).read_bytes()
        dataset = self.load(self.target).dataset
        for associated in (b"", name.encode(), keys.name_data(dataset, name)):
            try:
                warpaes.open(sealed, keyset=keyset, associated_data=associated).read()
                return True
            except (warpaes.exceptions.InvalidTag, warpaes.exceptions.FormatError):
                continue
        return False

    def kek(self, name: str) -> pathlib.Path:
        path = self.folder / name
        path.write_bytes(keysources.generate_kek())
        return path

    def alter_root(self, change: Any) -> None:
        """Alter the root without the manifest key, as the owner of the storage can."""
        path = self.target / manifest.NAME
        text, _, code = path.read_bytes().partition(b"\n")
        root = json.loads(text)
        change(root)
        path.write_bytes(json.dumps(root, separators=(",", ":")).encode() + b"\n" + code)


class Choices(Trust):
    """The command line determines the key that encrypts."""

    def test_a_rotation_is_not_ignored(self) -> None:
        self.put(monday="1")
        bulk("encrypt", "-k", self.key, self.source, self.target)
        self.rotate()
        self.put(tuesday="2")
        again = ("encrypt", "-k", self.key, "--update", self.source, self.target)
        said = refusal(*again)
        self.assertIn("rekey", said)
        self.assertIn(f"--keep-key {self.old_id}", said)
        self.assertFalse((self.target / "tuesday").exists())
        _, report = bulk("verify", "-k", self.key, self.target)
        self.assertIn(f"is encrypted under the key {self.old_id}", report["notes"][0])
        self.assertEqual(bulk("rekey", "-k", self.key, self.target)[0], 0)
        self.assertEqual(bulk("verify", "-k", self.key, self.target)[1]["notes"], [])
        self.assertEqual(bulk(*again)[0], 0)
        for name in ("monday", "tuesday"):
            self.assertFalse(self.opens(self.leaked, name))
        self.assertEqual(bulk("decrypt", "-k", self.key, self.target, self.out)[0], 0)
        self.assertEqual(self.files(self.out), {"monday": b"1", "tuesday": b"2"})

    def test_an_old_key_is_kept_only_if_the_command_line_says_so(self) -> None:
        self.put(a="1")
        bulk("encrypt", "-k", self.key, self.source, self.target)
        self.rotate()
        self.put(b="2")
        again = ["encrypt", "-k", self.key, "--update", self.source, self.target]
        self.assertEqual(bulk(*again, "--keep-key", str(self.old_id))[0], 0)
        self.assertTrue(self.opens(self.leaked, "b"))
        self.assertIn("no enabled key with the ID 7", refusal(*again, "--keep-key", "7"))
        self.assertIn("is not a keyset", refusal(*again[:2], "tpm2:", "--keep-key", "7", self.source, self.target))

    def test_a_rotated_key_encryption_key(self) -> None:
        kek, leaked = self.kek("kek"), self.folder / "leaked"
        first = json.loads(kek.read_text())
        shutil.copy(kek, leaked)
        self.put(a="1")
        how = ("-k", kek, "--envelope", "job")
        bulk("encrypt", *how, self.source, self.target)
        rotated = json.loads(keysources.generate_kek())
        rotated["key"] += first["key"]
        kek.write_text(json.dumps(rotated))
        self.put(b="2")
        self.assertIn("rewrap", refusal("encrypt", *how, "--update", self.source, self.target))
        self.assertEqual(bulk("rewrap", "-k", kek, "--new-key", kek, self.target)[0], 0)
        self.assertEqual(bulk("encrypt", *how, "--update", self.source, self.target)[0], 0)
        self.assertIn("not saved under any of the given keys", refusal("decrypt", "-k", leaked, self.target, self.out))
        self.assertEqual(bulk("decrypt", "-k", kek, self.target, self.out)[0], 0)

    def test_every_run_has_a_data_key_of_its_own(self) -> None:
        kek = self.kek("kek")
        for number in range(2):
            self.put(**{f"file{number}": "x"})
            given = ("--envelope", "job", "--update", self.source, self.target)
            self.assertEqual(bulk("encrypt", "-k", kek, *given)[0], 0)
        there = self.load(self.target)
        self.assertEqual(len({row.key_id for row in there.rows}), 2)
        self.assertEqual(len(there.job.keys), 2)

    def test_a_root_that_was_altered_is_refused_by_every_command(self) -> None:
        self.put(a="1", b="2")
        bulk("encrypt", "-k", self.key, self.source, self.target)
        good = (self.target / manifest.NAME).read_bytes()
        changes = {
            "key": lambda root: root["job"].update(key_id="7"),
            "template": lambda root: root["job"]["options"].update(template="AES128_GCM_HKDF_4KB"),
            "binding": lambda root: root["job"]["options"].update(binding=""),
            "command": lambda root: root["job"].update(command="rekey", finished=False),
            "shards": lambda root: root.update(shards=[]),
            "save": lambda root: root.update(save=99),
        }
        for name, change in changes.items():
            (self.target / manifest.NAME).write_bytes(good)
            self.alter_root(change)
            for command in (
                ("encrypt", "-k", self.key, "--update", self.source, self.target),
                ("decrypt", "-k", self.key, self.target, self.out),
                ("rekey", "-k", self.key, "--new-key", self.key2, self.target),
                ("verify", "-k", self.key, self.target),
                ("status", "-k", self.key, self.target),
            ):
                with self.subTest(name, command=command[0]):
                    self.assertIn("is not authentic", refusal(*command))
        self.assertFalse(self.out.exists() and self.files(self.out))
        self.assertTrue(self.opens(self.keyset, "a"))

    def test_text_that_cannot_be_encoded(self) -> None:
        """JSON can contain half of a surrogate pair, which UTF-8 cannot encode."""
        self.put(a="1")
        bulk("encrypt", "-k", self.key, self.source, self.target)
        path = self.target / manifest.NAME
        good = path.read_bytes()
        text = good.partition(b"\n")[0]
        roots = {"code": text + b"\n" + json.dumps({"hmac_sha256": "\ud800"}).encode() + b"\n"}
        changes = {
            "dataset": lambda root: root.update(dataset="\ud800"),
            "key": lambda root: root["manifest_key"].update(key_id="\ud800"),
        }
        for name, change in changes.items():
            self.alter_root(change)
            roots[name] = path.read_bytes()
            path.write_bytes(good)
        for name, root in roots.items():
            path.write_bytes(root)
            for command in ("verify", "status"):
                with self.subTest(name, command=command):
                    said = refusal(command, "-k", self.key, self.target)
                    self.assertIn(f"{manifest.NAME} is not a warpaes bulk manifest", said)

    def test_a_manifest_key_of_another_dataset(self) -> None:
        """The attacker plants a key that the same keyset wrapped for a different dataset."""
        self.put(a="1")
        bulk("encrypt", "-k", self.key, self.source, self.target)
        other = self.folder / "other"
        bulk("encrypt", "-k", self.key, self.source, other)
        held = json.loads((other / manifest.NAME).read_bytes().partition(b"\n")[0])["manifest_key"]
        self.alter_root(lambda root: root.update(manifest_key=held))
        self.assertIn("not saved under any of the given keys", refusal("verify", "-k", self.key, self.target))

    def test_shards_are_authentic_or_refused(self) -> None:
        self.put(a="1", b="2")
        bulk("encrypt", "-k", self.key, self.source, self.target)
        (shard,) = (self.target / manifest.SHARDS).iterdir()
        good = shard.read_bytes()
        every = rows.unpack(good)
        every[0].sha256, every[1].sha256 = every[1].sha256, every[0].sha256
        for data in (rows.pack(every), rows.pack(every[:1]), good[:-1], good + b"\0", b""):
            shard.write_bytes(data)
            for command in (
                ("verify", "-k", self.key, self.target),
                ("decrypt", "-k", self.key, self.target, self.out),
            ):
                status, said = said_by(*command)
                self.assertIn(status, (1, 2))
                self.assertIn("is not authentic", said)
        shard.unlink()
        self.assertIn("is missing", said_by("decrypt", "-k", self.key, self.target, self.out)[1])
        self.assertFalse(self.out.exists() and self.files(self.out))

    def test_a_manifest_that_is_gone_is_noticed(self) -> None:
        self.put(a="1")
        bulk("encrypt", "-k", self.key, self.source, self.target)
        dataset = self.load(self.target).dataset
        shutil.rmtree(self.target / storage.FOLDER)
        self.assertIn("no manifest", refusal("verify", "-k", self.key, self.target))
        self.assertIn("no manifest", refusal("decrypt", "-k", self.key, self.target, self.out))
        self.assertIn("adopt", refusal("rekey", "-k", self.key, "--new-key", self.key2, self.target))
        # Names are bound to the dataset, so nothing opens without the dataset's ID.
        without = ("--no-manifest", self.target, self.out)
        self.assertEqual(bulk("decrypt", "-k", self.key, *without)[0], 1)
        shutil.rmtree(self.out)
        self.assertEqual(bulk("decrypt", "-k", self.key, "--dataset", dataset, *without)[0], 0)
        self.assertEqual(self.files(self.out), {"a": b"1"})

    def test_rollback_and_pins(self) -> None:
        self.put(a="1")
        encrypt = ("encrypt", "-k", self.key, "--update", self.source, self.target)
        _, first = bulk(*encrypt)
        before = self.folder / "before"
        shutil.copytree(self.target, before)
        self.put(a="another", b="2")
        _, second = bulk(*encrypt, "--overwrite")
        self.assertGreater(second["save"], first["save"])
        shutil.rmtree(self.target)
        shutil.copytree(before, self.target)
        newest = ("--at-least", str(second["save"]))
        for command in (
            ("decrypt", "-k", self.key, *newest, self.target, self.out),
            ("verify", "-k", self.key, *newest, self.target),
            ("rekey", "-k", self.key, *newest, self.target),
            (*encrypt, *newest),
        ):
            self.assertIn("older than --at-least", refusal(*command))
        self.assertEqual(bulk("verify", "-k", self.key, "--at-least", str(first["save"]), self.target)[0], 0)
        self.assertEqual(bulk("verify", "-k", self.key, "--pin", first["manifest_key"], self.target)[0], 0)
        self.assertIn("manifest key", refusal("verify", "-k", self.key, "--pin", "0" * 16, self.target))

    def test_another_dataset_in_the_place_of_this_one(self) -> None:
        """The dataset is authentic and under the same key, but it was written at a different place."""
        self.put(a="1")
        other = self.folder / "other"
        bulk("encrypt", "-k", self.key, self.source, other)
        self.put(a="2")
        _, report = bulk("encrypt", "-k", self.key, self.source, self.target)
        moved = self.folder / "moved"
        self.target.rename(moved)
        other.rename(self.target)
        for command in (
            ("decrypt", "-k", self.key, self.target, self.out),
            ("verify", "-k", self.key, self.target),
            ("rekey", "-k", self.key, "--new-key", self.key2, self.target),
        ):
            self.assertIn("written to", refusal(*command))
            self.assertIn("not " + report["dataset"], refusal(*command, "--dataset", report["dataset"]))
        known = ("--dataset", report["dataset"])
        self.assertEqual(bulk("decrypt", "-k", self.key, *known, moved, self.out)[0], 0)
        self.assertEqual(self.files(self.out), {"a": b"2"})
        self.assertEqual(bulk("rekey", "-k", self.key, "--new-key", self.key2, *known, moved)[0], 0)
        self.assertEqual(bulk("verify", "-k", self.key2, moved)[0], 0)  # the dataset now belongs to this place

    def test_a_pin_survives_an_interrupted_rekey(self) -> None:
        self.put(a="1", b="2")
        _, report = bulk("encrypt", "-k", self.key, self.source, self.target)
        (self.target / "b").rename(self.folder / "b")
        rekey = ("rekey", "-k", self.key, "--new-key", self.key2, "--pin", report["manifest_key"], self.target)
        self.assertEqual(bulk(*rekey)[0], 1)
        self.assertIn("manifest key", refusal("verify", "-k", self.key2, "--pin", report["manifest_key"], self.target))
        (self.folder / "b").rename(self.target / "b")
        self.assertEqual(bulk(*rekey)[0], 0)
        self.assertIn("manifest key", refusal(*rekey))

    def test_a_successor_that_nothing_names(self) -> None:
        """A client that may only wrap keys creates a manifest key and claims that this key replaces the pinned key."""
        self.put(a="1")
        _, report = bulk("encrypt", "-k", self.key, self.source, self.target)
        there = self.load(self.target, self.key)
        mine = manifest.Signer.create(there.dataset, keys.KeySpec.read(str(self.key)).holders()[0])
        assert there.signer is not None
        wrapped, code = there.signer.wrapped.hex(), mine.code(mine.fingerprint.encode())
        there.predecessor = {"key_id": str(self.old_id), "wrapped": wrapped, "code": code}
        there.signer, there.job.command, there.job.finished = mine, "rekey", False
        there.save()
        pinned = ("--pin", report["manifest_key"])
        self.assertIn("manifest key", refusal("rekey", "-k", self.key, "--new-key", self.key2, *pinned, self.target))

    def test_rewrap_after_a_rekey(self) -> None:
        """The wrapped keys that the rekey replaced are encrypted under a key that is no longer given."""
        self.put(a="1")
        for envelope in ("job", "object"):
            with self.subTest(envelope):
                target, keks = self.folder / envelope, [self.kek(f"{envelope}{number}") for number in range(3)]
                bulk("encrypt", "-k", keks[0], "--envelope", envelope, self.source, target)
                rekey = ("rekey", "-k", keks[0], "--new-key", keks[1], "--envelope", envelope, target)
                self.assertEqual(bulk(*rekey)[0], 0)
                self.assertEqual(bulk("rewrap", "-k", keks[1], "--new-key", keks[2], target)[0], 0)
                self.assertEqual(bulk("verify", "-k", keks[2], target)[0], 0)

    def test_the_usual_command_continues_after_a_rekey(self) -> None:
        self.put(a="1")
        for how in (
            ["--envelope", "job", "--template", "AES128_GCM_HKDF_4KB"],
            ["--envelope", "object", "--template", "AES128_GCM_HKDF_4KB"],
            [],
        ):
            with self.subTest(how):
                target = self.folder / f"t{'-'.join(how)}"
                bulk("encrypt", "-k", self.key, *how, self.source, target)
                rekey = ("rekey", "-k", self.key, "--new-key", self.key2, *how[:2], target)
                self.assertEqual(bulk(*rekey)[0], 0)
                again = ("encrypt", "-k", self.key2, *how, "--update", self.source, target)
                self.assertEqual(bulk(*again)[0], 0)
        bulk("encrypt", "-k", self.key, "--no-bind-names", self.source, self.target)
        bulk("rekey", "-k", self.key, "--new-key", self.key2, self.target)
        again = ("encrypt", "-k", self.key2, "--update", self.source, self.target)
        self.assertIn("omit --no-bind-names", refusal(*again, "--no-bind-names"))
        self.assertEqual(bulk(*again)[0], 0)

    def test_status_of_a_root_with_any_number(self) -> None:
        """The root is not authenticated, so every field may contain any JSON value."""
        self.put(a="1")
        bulk("encrypt", "-k", self.key, self.source, self.target)
        good = (self.target / manifest.NAME).read_bytes()
        for field in ("save", "shards", "predecessor", "dataset", "job"):
            for value in (float("inf"), float("nan"), 1 << 70, None, [], {"a": 1}, "\ud800"):
                with self.subTest(field=field, value=value):
                    (self.target / manifest.NAME).write_bytes(good)
                    self.alter_root(lambda root: root.update({field: value}))  # noqa: B023
                    with unittest.mock.patch("warpaes.bulk.verify.GETS", 1):  # does not wait for a running job
                        self.assertIn(said_by("status", self.target)[0], (0, 2))

    def test_status_says_whether_it_is_authentic(self) -> None:
        self.put(a="1")
        bulk("encrypt", "-k", self.key, self.source, self.target)
        self.assertFalse(bulk("status", self.target)[1]["authentic"])
        report = bulk("status", "-k", self.key, self.target)[1]
        self.assertTrue(report["authentic"])
        self.assertEqual(report["under"], f"the key {self.old_id} of file:key.json")


class Objects(Trust):
    """Using an object is an error unless it is the object that was written under its name."""

    def test_swapped_and_old_objects(self) -> None:
        for bound in ("--bind-names", "--no-bind-names"):
            with self.subTest(bound):
                target, out = self.folder / f"t{bound}", self.folder / f"o{bound}"
                self.put(prod="auth=on ", test="auth=off")
                how = ("-k", self.key, bound, "--update", "--overwrite", self.source, target)
                bulk("encrypt", *how)
                old = (target / "prod").read_bytes()
                (target / "prod").rename(target / "x")
                shutil.copy(target / "test", target / "prod")
                self.assertEqual(bulk("verify", "-k", self.key, target)[0], 1)
                self.assertEqual(bulk("decrypt", "-k", self.key, target, out)[0], 1)
                self.assertEqual(self.files(out), {"test": b"auth=off"})
                (target / "x").rename(target / "prod")
                self.put(prod="auth=yes")
                self.assertEqual(bulk("encrypt", *how)[0], 0)
                (target / "prod").write_bytes(old)
                self.assertEqual(bulk("verify", "-k", self.key, target)[0], 1)
                shutil.rmtree(out)
                status, report = bulk("decrypt", "-k", self.key, target, out)
                self.assertEqual(status, 1)
                self.assertIn("differs from the object in the manifest", report["first_errors"][0]["error"])
                self.assertEqual(self.files(out), {"test": b"auth=off"})

    def test_rekey_takes_no_old_or_swapped_object(self) -> None:
        self.put(a="old!", b="bbbb")
        update = ("encrypt", "-k", self.key, "--update", "--overwrite", self.source, self.target)
        bulk(*update)
        old = (self.target / "a").read_bytes()
        self.put(a="new!")
        bulk(*update)
        new = (self.target / "a").read_bytes()
        (self.target / "a").write_bytes(old)
        rekey = ("rekey", "-k", self.key, "--new-key", self.key2, self.target)
        status, report = bulk(*rekey)
        self.assertEqual((status, report["errors"], report["run_objects"]), (1, 1, 1))
        self.assertIn("rekey job has not finished", refusal("decrypt", "-k", self.key2, self.target, self.out))
        (self.target / "a").write_bytes(new)  # repaired, as a new file
        self.assertEqual(bulk(*rekey)[0], 0)
        self.assertEqual(bulk("decrypt", "-k", self.key2, self.target, self.out)[0], 0)
        self.assertEqual(self.files(self.out), {"a": b"new!", "b": b"bbbb"})

    def test_a_failed_rekey_can_be_mended_and_ended(self) -> None:
        self.put(a="1", b="2", c="3")
        for envelope in ([], ["--envelope", "job"], ["--envelope", "object"]):
            with self.subTest(envelope):
                target, out = self.folder / "-".join(["t", *envelope]), self.folder / "-".join(["o", *envelope])
                bulk("encrypt", "-k", self.key, *envelope, self.source, target)
                away = self.folder / "away"
                (target / "b").rename(away)
                rekey = ("rekey", "-k", self.key, "--new-key", self.key2, *envelope, target)
                self.assertEqual(bulk(*rekey)[0], 1)
                away.rename(target / "b")
                self.assertEqual(bulk(*rekey)[0], 0)
                self.assertEqual(bulk("decrypt", "-k", self.key2, target, out)[0], 0)
                self.assertEqual(self.files(out), {"a": b"1", "b": b"2", "c": b"3"})

    def test_a_rekey_whose_end_was_lost_begins_again(self) -> None:
        """All objects are already bound to their names, although the dataset is not."""
        self.put(one="a", two="b")
        kek = self.kek("kek")
        bulk("encrypt", "-k", kek, "--envelope", "job", "--no-bind-names", self.source, self.target)
        rekey = ("rekey", "-k", kek, "--envelope", "job", self.target)
        with (
            unittest.mock.patch.object(Rekey, "_find_unlisted", side_effect=OSError(5, "the storage is away")),
            contextlib.suppress(OSError),
        ):
            bulk(*rekey)
        self.assertEqual(bulk(*rekey)[0], 0)
        self.assertEqual(bulk("decrypt", "-k", kek, self.target, self.out)[0], 0)
        self.assertEqual([(self.out / name).read_text() for name in ("one", "two")], ["a", "b"])

    def test_a_rekey_can_end_without_an_object_that_is_lost(self) -> None:
        self.put(a="1", b="2", c="3")
        bulk("encrypt", "-k", self.key, self.source, self.target)
        (self.target / "b").unlink()
        rekey = ("rekey", "-k", self.key, "--new-key", self.key2, self.target)
        self.assertEqual(bulk(*rekey)[0], 1)
        self.assertEqual(bulk(*rekey)[0], 1)
        status, report = bulk(*rekey, "--drop-missing")
        self.assertEqual((status, report["notes"]), (0, ["b is missing and was removed from the manifest"]))
        self.assertEqual(bulk("decrypt", "-k", self.key2, self.target, self.out)[0], 0)
        self.assertEqual(self.files(self.out), {"a": b"1", "c": b"3"})

    def test_rekey_adopts_nothing_but_its_own_objects(self) -> None:
        """The object planted between the two runs is under the new key, but belongs to another name or dataset."""
        for envelope in ([], ["--envelope", "job"], ["--envelope", "object"]):
            for planted in ("another name", "another dataset"):
                with self.subTest(envelope, planted=planted):
                    self.put(allow="allow all", deny="deny all!")
                    target, other = self.folder / f"t{len(envelope)}{planted}", self.folder / "other"
                    shutil.rmtree(other, ignore_errors=True)
                    shutil.rmtree(target, ignore_errors=True)
                    bulk("encrypt", "-k", self.key, *envelope, self.source, target)
                    real = worker.Worker._rekey

                    def interrupted(self: Any, number: int, row: Any, share: Any, real: Any = real) -> Any:
                        if row.key == "deny":
                            raise storage.PermanentError("interrupted")
                        return real(self, number, row, share)

                    rekey = ("rekey", "-k", self.key, "--new-key", self.key2, *envelope, target)
                    with unittest.mock.patch.object(worker.Worker, "_rekey", interrupted):
                        self.assertEqual(bulk(*rekey)[0], 1)
                    good = (target / "deny").read_bytes()
                    if planted == "another name":
                        shutil.copy(target / "allow", target / "deny")
                        if envelope == ["--envelope", "object"]:
                            shutil.copy(target / "allow.warpaes-key", target / "deny.warpaes-key")
                    else:
                        self.put(deny="deny none")
                        bulk("encrypt", "-k", self.key2, *envelope, self.source, other)
                        shutil.copy(other / "deny", target / "deny")
                        if envelope == ["--envelope", "object"]:
                            shutil.copy(other / "deny.warpaes-key", target / "deny.warpaes-key")
                        self.put(deny="deny all!")
                    status, report = bulk(*rekey)
                    self.assertEqual((status, report["adopted"]), (1, 0))
                    (target / "deny").write_bytes(good)
                    self.assertEqual(bulk(*rekey)[0], 0)
                    shutil.rmtree(self.out, ignore_errors=True)
                    self.assertEqual(bulk("decrypt", "-k", self.key2, target, self.out)[0], 0)
                    self.assertEqual((self.out / "deny").read_bytes(), b"deny all!")

    def test_a_key_that_was_used_before_is_no_new_one(self) -> None:
        self.put(a="1")
        bulk("encrypt", "-k", self.key, self.source, self.target)
        self.assertEqual(bulk("rekey", "-k", self.key, "--new-key", self.key2, self.target)[0], 0)
        back = ("rekey", "-k", self.key2, "--new-key", self.key, self.target)
        self.assertIn("were previously under this key", refusal(*back))

    def test_rekey_names_what_the_manifest_does_not_have(self) -> None:
        self.put(a="1", hidden="2")
        bulk("encrypt", "-k", self.key, self.source, self.target)
        shutil.copy(self.target / "hidden", self.target / "copy of hidden")
        rekey = ("rekey", "-k", self.key, "--new-key", self.key2, self.target)
        status, report = bulk(*rekey)
        self.assertEqual((status, report["errors"], report["first_errors"][0]["key"]), (1, 1, "copy of hidden"))
        self.assertEqual(bulk(*rekey)[0], 1)
        (self.target / "copy of hidden").unlink()
        self.assertEqual(bulk(*rekey)[0], 0)
        for name in ("a", "hidden"):
            self.assertFalse(self.opens(self.leaked, name))

    def test_an_object_without_the_suffix_is_another_one(self) -> None:
        self.put(a="1")
        bulk("encrypt", "-k", self.key, "--suffix", ".enc", self.source, self.target)
        shutil.copy(self.target / "a.enc", self.target / "a")
        status, report = bulk("rekey", "-k", self.key, "--new-key", self.key2, self.target)
        self.assertEqual((status, report["first_errors"][0]["key"]), (1, "a"))

    def test_two_rekeys_of_unbound_objects(self) -> None:
        """The first run binds the objects and finds an object that is not in the manifest."""
        kek = self.kek("kek")
        self.put(a="1")
        bulk("encrypt", "-k", kek, "--envelope", "object", "--no-bind-names", self.source, self.target)
        (self.target / "x").write_bytes(b"planted")
        rekey = ("rekey", "-k", kek, "--envelope", "object", self.target)
        self.assertEqual(bulk(*rekey)[0], 1)
        (self.target / "x").unlink()
        self.assertEqual(bulk(*rekey)[0], 0)
        self.assertEqual(bulk("verify", "-k", kek, self.target)[0], 0)

    def test_a_rekey_with_envelopes_ends_when_unlisted_objects_are_gone(self) -> None:
        self.put(a="1")
        for envelope in ("job", "object"):
            with self.subTest(envelope):
                target, old, new = self.folder / envelope, self.kek(f"o{envelope}"), self.kek(f"n{envelope}")
                bulk("encrypt", "-k", old, "--envelope", envelope, self.source, target)
                (target / "x").write_bytes(b"planted")
                rekey = ("rekey", "-k", old, "--new-key", new, "--envelope", envelope, target)
                for _ in range(2):
                    status, report = bulk(*rekey)
                    self.assertEqual((status, report["first_errors"][0]["key"]), (1, "x"))
                self.assertEqual(bulk("verify", "-k", new, target)[0], 0)
                (target / "x").unlink()
                self.assertEqual(bulk(*rekey)[0], 0)
                self.assertEqual(bulk(*rekey)[1]["run_objects"], 0)  # the rekey has finished
                # With the key that opens the dataset, it is a different rekey.
                again = ("rekey", "-k", new, "--envelope", envelope, target)
                self.assertEqual(bulk(*again)[1]["run_objects"], 1)
                self.assertEqual(bulk("verify", "-k", new, target)[0], 0)

    def test_bound_names_are_demanded_as_said(self) -> None:
        self.put(a="1")
        bulk("encrypt", "-k", self.key, "--no-bind-names", self.source, self.target)
        for command in (("decrypt", "-k", self.key, self.target, self.out), ("verify", "-k", self.key, self.target)):
            self.assertEqual(bulk(*command)[0], 0)
            self.assertIn("not bound to their names", refusal(*command, "--bind-names"))
        self.assertEqual(bulk("rekey", "-k", self.key, "--new-key", self.key2, self.target)[0], 0)
        self.assertEqual(bulk("verify", "-k", self.key2, "--bind-names", self.target)[0], 0)

    def test_one_object_of_many(self) -> None:
        self.put(a="1", b="2")
        bulk("encrypt", "-k", self.key, "--suffix", ".w", self.source, self.target)
        (self.target / "b.w").write_bytes(b"x")
        status, report = bulk("verify", "-k", self.key, "--name", "a.w", self.target)
        self.assertEqual((status, report["objects"], report["errors"]), (0, 1, 0))
        self.assertEqual(bulk("verify", "-k", self.key, "--name", "b.w", self.target)[0], 1)
        self.assertIn("does not contain 'c'", refusal("verify", "-k", self.key, "--name", "c", self.target))


class Records(Trust):
    """A wrapped data key is valid only for its object, its dataset and its job."""

    def record(self, name: str) -> dict[str, Any]:
        (record, *_) = json.loads((self.target / f"{name}.warpaes-key").read_text())
        found: dict[str, Any] = record
        return found

    def data_keyset(self, kek: pathlib.Path, record: dict[str, Any]) -> warpaes.Keyset:
        """Return a record's data key, which its owner has shared with the attacker."""
        source = keys.KeySpec.read(str(kek)).open()
        return warpaes.Keyset.from_raw(record["template"], keys.unwrap([source], record))

    def test_a_record_of_another_object_encrypts_nothing(self) -> None:
        kek = self.kek("kek")
        self.put(shared="may be read")
        how = ("encrypt", "-k", kek, "--envelope", "object", "--update", self.source, self.target)
        bulk(*how)
        known = self.data_keyset(kek, self.record("shared"))
        self.assertTrue(self.opens(known, "shared"))
        shutil.copy(self.target / "shared.warpaes-key", self.target / "payroll.warpaes-key")
        self.put(payroll="secret")
        self.assertEqual(bulk(*how)[0], 0)
        self.assertFalse(self.opens(known, "payroll"))
        self.assertEqual(bulk("decrypt", "-k", kek, self.target, self.out)[0], 0)

    def test_an_altered_record_of_an_unsaved_object_is_not_replaced(self) -> None:
        """An earlier attempt wrote the record and the object but died before it saved the manifest."""
        kek, new = self.kek("kek"), self.kek("new")
        self.put(a="1")
        encrypt = ("encrypt", "-k", kek, "--envelope", "object", self.source, self.target)
        rekey = ("rekey", "-k", kek, "--new-key", new, "--envelope", "object", self.target)
        for command, key in ((encrypt, kek), (rekey, new)):
            with self.subTest(command[0]):
                before = self.load(self.target).rows[0] if command is rekey else None
                self.assertEqual(bulk(*command)[0], 0)
                there = self.load(self.target, key)
                (row,) = there.rows_of(0)
                if before is None:
                    row.state, row.wrapped, row.key_id, row.sha256, row.out_version = "pending", "", "", "", ""
                else:
                    row.todo, row.wrapped, row.key_id, row.sha256 = (
                        "rekey",
                        before.wrapped,
                        before.key_id,
                        before.sha256,
                    )
                    row.out_version = before.out_version
                there.job.finished = False
                there.change(0)
                there.save()
                path = self.target / "a.warpaes-key"
                good = path.read_bytes()
                path.write_bytes(good.replace(b'"attempt": "', b'"attempt": "0'))
                for _ in range(2):
                    status, report = bulk(*command)
                    self.assertEqual(status, 1)
                    self.assertIn("a.warpaes-key was altered", report["first_errors"][0]["error"])
                path.write_bytes(good)
                status, report = bulk(*command)
                self.assertEqual((status, report["adopted"]), (0, 1))
                self.assertEqual(bulk("verify", "-k", key, self.target)[0], 0)

    def test_what_is_no_record_in_its_place(self) -> None:
        """A link, folder, pipe or large file in the place of the record is an error of the object and can be
        repaired."""
        kek = self.kek("kek")
        how = ("encrypt", "-k", kek, "--envelope", "object", "--update", self.source, self.target)
        outside = self.folder / "outside"
        outside.write_text("content")

        def huge(path: pathlib.Path) -> None:
            path.touch()
            os.truncate(path, 1 << 40)

        for number, (plant, said) in enumerate(
            (
                (lambda path: path.symlink_to(outside), "symbolic link"),
                (lambda path: path.symlink_to("nowhere"), "symbolic link"),
                (lambda path: path.mkdir(), "a folder"),
                (os.mkfifo, "not a regular file"),
                (huge, "has 1099511627776 bytes"),
            )
        ):
            with self.subTest(said):
                name = f"object-{number}"
                self.put(**{name: "text"})
                self.target.mkdir(exist_ok=True)
                path = self.target / f"{name}.warpaes-key"
                plant(path)
                status, report = bulk(*how)
                self.assertEqual(status, 1)
                self.assertIn(said, report["first_errors"][0]["error"])
                self.assertFalse((self.target / name).exists())
                path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
                self.assertEqual(bulk(*how)[0], 0)
        self.assertEqual(outside.read_text(), "content")

    def test_records_that_cannot_be_decoded(self) -> None:
        """The error names the file of the record, also if its text cannot be decoded."""
        good = {"key_id": "1", "template": "AES256_GCM_HKDF_4KB", "wrapped": "AAAA"}
        self.assertEqual(keys.parse_records(json.dumps(good), "place"), [good])
        for change in ({"key_id": "\ud800"}, {"wrapped": "A"}, {"wrapped": "\u00e9"}, {"wrapped": "\ud800"}):
            with self.subTest(change), self.assertRaisesRegex(storage.PermanentError, "^place does not contain"):
                keys.parse_records(json.dumps([good, good | change]), "place")

    def test_a_record_of_who_may_only_wrap(self) -> None:
        """The attacker, like a producer with access to a key manager, can create any record but cannot sign it."""
        kek = self.kek("kek")
        self.put(first="1")
        how = ("encrypt", "-k", kek, "--envelope", "object", "--update", self.source, self.target)
        bulk(*how)
        there = self.load(self.target)
        place = keys.Place(there.dataset, "next", there.job.id)
        record, known = keys.new_record(keys.KeySpec.read(str(kek)).open(), "AES256_GCM_HKDF_1MB", place)
        (self.target / "next.warpaes-key").write_text(keys.to_json([keys.signed(record, b"guess")]))
        self.put(next="another producer's")
        self.assertEqual(bulk(*how)[0], 0)
        self.assertFalse(self.opens(known, "next"))

    def test_without_a_manifest_a_record_of_another_dataset_opens_nothing(self) -> None:
        """A data key of one dataset cannot create objects of a different dataset under the same key."""
        kek, theirs = self.kek("kek"), self.folder / "theirs"
        self.put(a="1", b="2")
        for envelope in ("object", "job"):
            with self.subTest(envelope):
                self.target, out = self.folder / f"t{envelope}", self.folder / f"o{envelope}"
                how = ("encrypt", "-k", kek, "--envelope", envelope, self.source)
                bulk(*how, self.target)
                bulk(*how, theirs / envelope)
                dataset = self.load(self.target).dataset
                beside = theirs / envelope / "a.warpaes-key"
                path = beside if beside.exists() else next((theirs / envelope / storage.FOLDER / "keys").iterdir())
                found = json.loads(path.read_text())
                record = found[0] if isinstance(found, list) else found
                known = self.data_keyset(kek, record)
                bound = keys.name_data(dataset, "a")
                (self.target / "a").write_bytes(seal(known, b"forged", bound))
                shutil.copy(path, self.target / path.relative_to(theirs / envelope))
                (self.target / manifest.NAME).unlink()
                given = ("-k", kek, "--dataset", dataset)
                status, report = bulk("decrypt", "--no-manifest", *given, self.target, out)
                self.assertEqual((status, report["errors"]), (1, 1))
                self.assertEqual(self.files(out), {"b": b"2"})
                status, report = bulk("adopt", *given, self.target)
                self.assertEqual((status, report["errors"], report["first_errors"][0]["key"]), (1, 1, "a"))

    def test_an_object_whose_key_is_gone_is_replaced_by_overwrite(self) -> None:
        """The object's key was only in a record next to the object and not yet in a manifest. The message names the
        remedy."""
        kek = self.kek("kek")
        self.put(a="1")
        how = ("encrypt", "-k", kek, "--envelope", "object", self.source, self.target)
        for damage in (b"", b"[", None):
            with self.subTest(damage):
                bulk(*how)
                self.forget(self.target, kek)
                path = self.target / "a.warpaes-key"
                if damage is None:
                    path.unlink()
                else:
                    path.write_bytes(damage if damage else path.read_bytes().replace(b'"attempt": "', b'"attempt": "0'))
                status, report = bulk(*how)
                self.assertEqual(status, 1)
                self.assertIn("--overwrite", report["first_errors"][0]["error"])
                status, report = bulk(how[0], "--overwrite", *how[1:])
                self.assertEqual((status, report["errors"]), (0, 0), report)
                self.assertEqual(bulk("verify", "-k", kek, self.target)[0], 0)
                shutil.rmtree(self.target)

    def test_the_rekey_that_locks_somebody_out_does(self) -> None:
        kek = self.kek("kek")
        self.put(shared="may be read", payroll="secret")
        bulk("encrypt", "-k", kek, "--envelope", "object", self.source, self.target)
        known = self.data_keyset(kek, self.record("shared"))
        shutil.copy(self.target / "shared.warpaes-key", self.target / "payroll.warpaes-key")
        rekey = ("rekey", "-k", kek, "--new-key", kek, "--envelope", "object", self.target)
        self.assertEqual(bulk(*rekey)[0], 0)
        self.assertFalse(self.opens(known, "shared") or self.opens(known, "payroll"))
        self.assertEqual(bulk("decrypt", "-k", kek, self.target, self.out)[0], 0)
        self.assertEqual((self.out / "payroll").read_bytes(), b"secret")

    def test_a_known_data_key_forges_no_other_object(self) -> None:
        kek = self.kek("kek")
        self.put(shared="may be read", payroll="1000")
        bulk("encrypt", "-k", kek, "--envelope", "object", self.source, self.target)
        known, dataset = self.data_keyset(kek, self.record("shared")), self.load(self.target).dataset
        for name in ("payroll", "shared"):
            associated = keys.name_data(dataset, name)
            with warpaes.open(self.target / name, "wb", keyset=known, associated_data=associated) as file:
                file.write(b"999000")
        shutil.copy(self.target / "shared.warpaes-key", self.target / "payroll.warpaes-key")
        self.assertEqual(bulk("verify", "-k", kek, self.target)[1]["errors"], 2)
        self.assertEqual(bulk("decrypt", "-k", kek, self.target, self.out)[1]["errors"], 2)
        self.assertEqual(self.files(self.out), {})

    def test_the_template_is_bound(self) -> None:
        source = keys.KeySpec.read(str(self.kek("kek"))).open()
        record, _ = keys.new_record(source, "AES256_GCM_HKDF_1MB", keys.Place("d", "n", "j"))
        for name in keys.BOUND:
            other = {**record, name: "AES128_GCM_HKDF_4KB" if name == "template" else "other"}
            with self.assertRaises(storage.PermanentError):
                keys.unwrap([source], other)
        self.assertEqual(len(keys.unwrap([source], record)), 32)

    def test_names_are_not_labels_of_wrapped_keys(self) -> None:
        """No object name produces associated data that has a different purpose."""
        uploads, vault = self.folder / "uploads", self.folder / "vault"
        uploads.mkdir()
        name, known = "warpaes bulk data key " + "0" * 32, b"K" * 32
        (uploads / name).write_bytes(known)
        bulk("encrypt", "-k", self.key, uploads, vault)
        wrapped = base64.b64encode((vault / name).read_bytes()).decode()
        record = {"key_id": "0" * 32, "template": "AES256_GCM_HKDF_1MB", "source": "x", "wrapped": wrapped}
        with self.assertRaises(storage.PermanentError):
            keys.unwrap([keys.KeySpec.read(str(self.key)).open()], record)
        labels = {keys.NAME_LABEL.encode(), keys.RECORD_LABEL, keys.RECORD_LABEL_1, manifest.KEY_LABEL}
        for one in labels:
            for other in labels - {one, keys.RECORD_LABEL_1}:
                self.assertFalse(other.startswith(one) and one != keys.RECORD_LABEL_1, (one, other))


class Adoption(Trust):
    """Datasets of warpaes 1.0 are adopted only once, with the command `adopt`."""

    def seal(self, bound: bool) -> list[rows.Row]:
        """Write a dataset as version 1.0 did."""
        every = []
        self.target.mkdir()
        for path in sorted(self.source.iterdir()):
            associated = path.name.encode() if bound else b""
            to = self.target / path.name
            with warpaes.open(to, "wb", keyset=self.keyset, associated_data=associated) as file:
                file.write(path.read_bytes())
            data = to.read_bytes()
            every.append(
                rows.Row(
                    path.name,
                    path.name,
                    path.stat().st_size,
                    stores.open_storage(str(self.source)).stat(path.name).version,
                    state="done",
                    key_id=str(self.old_id),
                    sha256=hashlib.sha256(data).hexdigest(),
                    out_size=len(data),
                )
            )
        options = {"envelope": "", "template": "AES256_GCM_HKDF_1MB", "bind_names": bound, "suffix": ""}
        old_manifest(self.target, "encrypt", self.source, options, every)
        return every

    def test_there_is_no_silent_path(self) -> None:
        self.put(a="1", b="2")
        self.seal(bound=False)
        for command in (
            ("encrypt", "-k", self.key, "--update", self.source, self.target),
            ("decrypt", "-k", self.key, self.target, self.out),
            ("rekey", "-k", self.key, "--new-key", self.key2, self.target),
            ("rewrap", "-k", self.key, "--new-key", self.key2, self.target),
            ("verify", "-k", self.key, self.target),
            ("status", self.target),
        ):
            said = refusal(*command)
            self.assertIn("adopt", said)
            self.assertIn("1.0", said)

    def test_adopt_takes_over_what_is_authentic(self) -> None:
        for bound in (False, True):
            with self.subTest(bound=bound):
                shutil.rmtree(self.target, ignore_errors=True)
                shutil.rmtree(self.out, ignore_errors=True)
                self.put(a="1", b="2")
                self.seal(bound)
                status, report = bulk("adopt", "-k", self.key, self.target)
                self.assertEqual((status, report["run_objects"], report["errors"]), (0, 2, 0))
                self.assertFalse((self.target / manifest.NAME_1).exists())
                self.assertEqual(bulk("verify", "-k", self.key, self.target)[0], 0)
                self.assertIn("already authentic", refusal("adopt", "-k", self.key, self.target))
                self.assertEqual(bulk("rekey", "-k", self.key, "--new-key", self.key2, self.target)[0], 0)
                self.put(c="3")
                again = ("encrypt", "-k", self.key2, "--update", self.source, self.target)
                self.assertEqual(bulk(*again)[0], 0)
                self.assertEqual(bulk("decrypt", "-k", self.key2, self.target, self.out)[0], 0)
                self.assertEqual(self.files(self.out), {"a": b"1", "b": b"2", "c": b"3"})
                (self.source / "c").unlink()

    def test_adopt_refuses_what_is_not(self) -> None:
        self.put(a="1", b="2")
        self.seal(bound=False)
        good = (self.target / "b").read_bytes()
        shutil.copy(self.target / "a", self.target / "b")
        status, report = bulk("adopt", "-k", self.key, self.target)
        self.assertEqual((status, report["errors"]), (1, 1))
        self.assertIn("old manifest", report["first_errors"][0]["error"])
        (self.target / "b").write_bytes(good)
        self.assertEqual(bulk("adopt", "-k", self.key, self.target)[0], 0)

    def test_a_dataset_without_a_manifest(self) -> None:
        kek = self.kek("kek")
        self.put(a="1", b="2")
        for envelope in ("", "job", "object"):
            with self.subTest(envelope):
                key = kek if envelope else self.key
                how = ["--envelope", envelope] if envelope else []
                target, out = self.folder / f"t{envelope}", self.folder / f"o{envelope}"
                bulk("encrypt", "-k", key, *how, self.source, target)
                dataset = self.load(target).dataset
                (target / manifest.NAME).unlink()
                shutil.rmtree(target / manifest.SHARDS)
                self.assertEqual(bulk("adopt", "-k", key, "--dataset", dataset, target)[0], 0)
                self.assertEqual(bulk("verify", "-k", key, target)[0], 0)
                new = self.kek("kek2") if envelope else self.key2
                self.assertEqual(bulk("rekey", "-k", key, "--new-key", new, *how, target)[0], 0)
                self.assertEqual(bulk("decrypt", "-k", new, target, out)[0], 0)
                self.assertEqual(self.files(out), {"a": b"1", "b": b"2"})

    def test_old_manifests_of_any_content_are_one_sentence(self) -> None:
        self.put(a="1")
        every = self.seal(bound=False)
        good = (self.target / manifest.NAME_1).read_bytes()

        def variant(change: Any) -> None:
            every[:] = [rows.Row(**{name: getattr(row, name) for name in rows.Row.__slots__}) for row in kept]
            options: dict[str, Any] = {"bind_names": False}
            change(every[0], options)
            old_manifest(self.target, "encrypt", self.source, options, every)

        kept = list(every)
        for number, change in enumerate(
            (
                lambda row, options: setattr(row, "key", None),
                lambda row, options: setattr(row, "key", "../../outside"),
                lambda row, options: setattr(row, "key", "/etc/passwd"),
                lambda row, options: setattr(row, "wrapped", "{}"),
                lambda row, options: setattr(row, "wrapped", "[1]"),
                lambda row, options: setattr(row, "out_size", -5),
                lambda row, options: setattr(row, "sha256", "x"),
                lambda row, options: options.update(bind_names=["x"], envelope=5),
            )
        ):
            with self.subTest(number):
                shutil.rmtree(self.target / manifest.SHARDS, ignore_errors=True)
                (self.target / manifest.NAME).unlink(missing_ok=True)
                variant(change)
                status, said = said_by("adopt", "-k", self.key, self.target)
                self.assertIn(status, (1, 2))
                self.assertNotIn("Traceback", said)
        for begin in range(0, len(good), 97):
            data = bytearray(good)
            data[begin] ^= 0xFF
            (self.target / manifest.NAME_1).write_bytes(data)
            try:
                manifest_1.load(stores.open_storage(str(self.target)))
            except storage.PermanentError as error:
                self.assertIn(manifest.NAME_1, str(error))


class Drivers(Trust):
    """Tests in which several drivers share a job."""

    def test_two_drivers_take_different_shards(self) -> None:
        content = {f"{i:04}": f"content {i}" for i in range(300)}
        self.put(**content)
        with unittest.mock.patch.object(manifest, "SHARD_ROWS", 16):
            for envelope in ("", "job", "object"):
                with self.subTest(envelope):
                    target, out = self.folder / f"t{envelope}", self.folder / f"o{envelope}"
                    how = ["--envelope", envelope] if envelope else []
                    done = self.both(["encrypt", "-k", self.key, *how, "--share", self.source, target])
                    self.assertEqual(sum(done), 300)
                    self.assertGreater(min(done), 0)
                    there = self.load(target, self.key)
                    self.assertEqual((there.job.finished, there.total("done"), len(there.shards)), (True, 300, 19))
                    self.assertEqual(list((target / storage.FOLDER / "locks").iterdir()), [])
                    self.assertEqual(len(list((target / manifest.SHARDS).iterdir())), 19)
                    self.assertEqual(bulk("decrypt", "-k", self.key, target, out)[0], 0)
                    self.assertEqual(self.files(out), {name: text.encode() for name, text in content.items()})

    def both(self, command: list[Any]) -> list[int]:
        """Run two drivers and return the number of objects that each driver processed."""
        reports: list[dict[str, Any]] = []
        real, barrier = worker.Worker._encrypt, threading.Barrier(2)
        waited = threading.local()

        def together(self: Any, number: int, row: Any, share: Any) -> Any:
            # With its first object, each driver waits for the other driver.
            if not hasattr(self, "has_met"):
                self.has_met = True
                barrier.wait(60)
            return real(self, number, row, share)

        def run() -> None:
            parsed = cli.make_parser().parse_args([*map(str, command), "-q", "--threads", "1"])
            waited.run = cli.make_run(cli.options_of(parsed))
            reports.append(waited.run.run())

        with unittest.mock.patch.object(worker.Worker, "_encrypt", together):
            threads = [threading.Thread(target=run) for _ in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(len(reports), 2)
        return [report["run_objects"] for report in reports]

    def test_a_driver_that_joins_ends_with_the_errors_of_all(self) -> None:
        """If any driver of a rekey returns exit status 0, the old key does not open any object."""
        self.put(**{f"{i:02}": f"content {i}" for i in range(40)})
        bulk("encrypt", "-k", self.key, self.source, self.target)
        (self.target / "00").write_bytes(b"x")
        command = [*map(str, ("rekey", "-k", self.key, "--new-key", self.key2, "--share", self.target)), "-q"]
        joined: list[bool] = []
        errors: list[int] = []
        real, begun, ends = worker.Worker._rekey, threading.Event(), threading.Event()

        def slow(its: Any, number: int, row: Any, share: Any) -> Any:
            begun.set()
            if row.key == "00":  # an object of the driver that began the job
                ends.wait(3)
            return real(its, number, row, share)

        def run() -> None:
            one = cli.make_run(cli.options_of(cli.make_parser().parse_args(command)))
            errors.append(one.run()["errors"])
            joined.append(one._joins)

        with (
            unittest.mock.patch.object(manifest, "SHARD_ROWS", 8),
            unittest.mock.patch.object(worker.Worker, "_rekey", slow),
        ):
            first, second = threading.Thread(target=run), threading.Thread(target=run)
            first.start()
            self.assertTrue(begun.wait(60))
            second.start()
            first.join()
            second.join()
        self.assertEqual((sorted(joined), errors), ([False, True], [1, 1]))

    def test_an_original_goes_after_its_copy_was_restored(self) -> None:
        """A copy from a backup has a different version but the same content."""
        self.put(a="1", b="2")
        how = ("encrypt", "-k", self.key, self.source, self.target)
        bulk(*how)
        content = (self.target / "a").read_bytes()
        (self.target / "a").unlink()
        (self.target / "a").write_bytes(content)
        (self.target / "b").write_bytes(content)
        status, report = bulk(how[0], "--remove-source", *how[1:])
        self.assertEqual((status, report["errors"], set(self.files(self.source))), (1, 1, {"b"}))

    def test_killed_anywhere(self) -> None:
        """If a command is killed before one of its operations on files, the next command completes its work."""
        from storage_adversary import Killed

        for number, at in enumerate((*range(1, 60, 6), *range(60, 240, 25))):
            with self.subTest(at):
                shutil.rmtree(self.source)
                self.source.mkdir()
                self.put(a="1", b="2", c="3")
                target, out = self.folder / f"t{number}", self.folder / f"o{number}"
                envelope = ["--envelope", "object"] if number % 2 else []
                words = ["encrypt", "-k", self.key, *envelope, "--remove-source", self.source, target]
                status, _, how = Killed(at).run([*map(str, words)])
                self.assertTrue(how == "killed" or status == 0, status)
                self.assertEqual(bulk(*words)[0], 0)
                rekey = ["rekey", "-k", self.key, "--new-key", self.key2, *envelope, target]
                status, _, how = Killed(at).run([*map(str, rekey)])
                self.assertTrue(how == "killed" or status == 0, status)
                self.assertEqual(bulk(*rekey)[0], 0)
                self.assertEqual(bulk("decrypt", "-k", self.key2, target, out)[0], 0)
                self.assertEqual(self.files(out), {"a": b"1", "b": b"2", "c": b"3"})
                self.assertEqual([path for path in target.rglob(".*-part-*") if ".lock." not in path.name], [])


if __name__ == "__main__":
    unittest.main()
