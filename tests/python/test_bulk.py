"""Tests `warpaes bulk` on files. test_bulk_s3.py covers object storage, and `make cluster-test` covers Ray and dying
workers."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import shutil
import subprocess
import sys
import threading
import time
import unittest
import unittest.mock
from typing import Any

import warpaes
from bulk_case import SIZES, Case, bulk, refusal, said_by, tink_open
from support import needed
from warpaes.bulk import job, keys, manifest, pool, rows, storage, stores, transfer, worker
from warpaes.bulk.local import PART, LocalStorage
from warpaes.bulk.lock import Lock, LockedError


class Files(Case):
    def test_there_and_back(self) -> None:
        content = self.write(SIZES)
        self.assertEqual(bulk("encrypt", "-k", self.key, self.source, self.target)[0], 0)
        sealed = self.files(self.target)
        self.assertEqual(sealed.keys(), content.keys())
        for name, data in content.items():
            keyset = warpaes.Keyset.parse(self.key.read_bytes())
            with warpaes.open(sealed[name], keyset=keyset, associated_data=self.name_data(self.target, name)) as file:
                self.assertEqual(file.read(), data, name)
        for row in self.load(self.target).rows:
            self.assertEqual((row.state, row.attempt, row.error), ("done", 1, ""))
            self.assertEqual(row.sha256, hashlib.sha256(sealed[row.key]).hexdigest())
            self.assertEqual(row.out_size, len(sealed[row.key]))
        self.assertEqual(bulk("verify", "-k", self.key, self.target)[0], 0)
        status, report = bulk("decrypt", "-k", self.key, self.target, self.folder / "out")
        self.assertEqual((status, report["done"], report["errors"]), (0, len(SIZES), 0))
        self.assertEqual(self.files(self.folder / "out"), content)

    def test_tink_opens_what_was_made(self) -> None:
        needed("tink")
        content = self.write(SIZES[:5])
        bulk("encrypt", "-k", self.key, self.source, self.target)
        for name, data in self.files(self.target).items():
            associated = self.name_data(self.target, name)
            self.assertEqual(tink_open(self.key.read_bytes(), data, associated), content[name])

    def test_every_template_of_data_keys(self) -> None:
        content = self.write([0, 5000, 70_000])
        for template in warpaes.Keyset.templates():
            target, out = self.folder / template, self.folder / (template + ".out")
            for envelope in ("job", "object"):
                bulk("encrypt", "-k", self.key, "--envelope", envelope, "--template", template, self.source, target)
                self.assertEqual(bulk("decrypt", "-k", self.key, target, out)[0], 0, template)
                self.assertEqual(self.files(out), content)
                shutil.rmtree(target)
                shutil.rmtree(out)

    def test_processes(self) -> None:
        content = self.write([1000] * 100 + SIZES)
        self.assertEqual(bulk("encrypt", "-k", self.key, "--workers", "2", self.source, self.target)[0], 0)
        bulk("decrypt", "-k", self.key, self.target, self.folder / "out")
        self.assertEqual(self.files(self.folder / "out"), content)

    def test_a_second_run_has_nothing_to_do_and_does_not_list(self) -> None:
        self.write([10, 20])
        bulk("encrypt", "-k", self.key, self.source, self.target)
        before = self.files(self.target)
        (self.source / "new").write_bytes(b"new")
        status, report = bulk("encrypt", "-k", self.key, self.source, self.target)
        self.assertEqual((status, report["run_objects"], report["objects"]), (0, 0, 2))
        self.assertEqual(self.files(self.target), before)
        status, report = bulk("encrypt", "-k", self.key, "--update", self.source, self.target)
        self.assertEqual((status, report["run_objects"], report["objects"]), (0, 1, 3))

    def test_a_file_that_changes_on_the_way(self) -> None:
        """The copy does not appear if the source became longer or shorter, changed or disappeared. If the source became
        shorter, the job fails."""
        for change in ("shorter", "more", "another", "gone"):
            shutil.rmtree(self.source, ignore_errors=True)
            self.write([3 * storage.WINDOW])
            path = next(path for path in self.source.rglob("*") if path.is_file())
            real = transfer._crypt_file

            def changed(*given: Any, path: Any = path, change: str = change, real: Any = real) -> Any:
                if change == "shorter":
                    os.truncate(path, storage.WINDOW)
                elif change == "more":
                    path.write_bytes(path.read_bytes() + b"more")
                elif change == "another":
                    shutil.copyfile(path, self.folder / "another")
                    os.replace(self.folder / "another", path)
                else:
                    path.unlink()
                return real(*given)

            with unittest.mock.patch.object(transfer, "_crypt_file", changed):
                target = self.folder / f"target {change}"
                status, report = bulk("encrypt", "-k", self.key, self.source, target)
            self.assertEqual((status, report["errors"]), (1, 1))
            sentence = "was removed after" if change == "gone" else "has changed since it was listed"
            self.assertIn(sentence, report["first_errors"][0]["error"])
            self.assertEqual(self.files(target), {})

    def test_a_report_says_what_computed(self) -> None:
        self.write([0, 100, 5_000_000])
        names = {each["name"] for each in warpaes.backends()}
        for command, source, target in (
            ("encrypt", self.source, self.target),
            ("decrypt", self.target, self.folder / "o"),
        ):
            _, report = bulk(command, "-k", self.key, source, target)
            self.assertEqual(sum(report["computed_on"].values()), 3)
            self.assertLessEqual(report["computed_on"].keys(), names)
        self.assertEqual(transfer.computed_on("vaes", -1), "vaes")
        with unittest.mock.patch.dict(os.environ, CUDA_VISIBLE_DEVICES="3,GPU-1"):
            self.assertEqual([transfer.computed_on("cuda", i) for i in range(3)], ["cuda 3", "cuda GPU-1", "cuda 2"])

    def test_files_take_little_memory_and_as_many_threads_as_there_is_use_for(self) -> None:
        self.write([1 << 20] * 6)
        threads, shares, lock, real = [], [], threading.Lock(), transfer._crypt_file

        def watched(*given: Any) -> Any:
            with lock:
                threads.append(given[-2])
            return real(*given)

        def take(share: worker.Share, wanted: int) -> None:
            with lock:
                shares.append(wanted)

        for names in (None, "one"):
            (self.folder / "one").write_text(next(iter(self.content([1 << 20]))) + "\n")
            given = ["--names", self.folder / names] if names else []
            with (
                unittest.mock.patch.object(transfer, "_crypt_file", watched),
                unittest.mock.patch.object(worker, "processors", lambda: 8),
                unittest.mock.patch.object(worker.Share, "take", take),
            ):
                self.assertEqual(
                    bulk("encrypt", "-k", self.key, *given, self.source, self.folder / f"to {names}")[0], 0
                )
        self.assertEqual(threads[-1], 4)
        self.assertEqual(threads[0], 1)
        self.assertLessEqual(max(shares), transfer.memory_of_file(1 << 20, 4))
        config = worker.Config("encrypt", str(self.source), str(self.target))
        self.assertLess(32 * config.memory_of("encrypt", 80 << 30), config.memory)
        for other in (
            worker.Config("encrypt", str(self.source), str(self.target), verify=True),
            worker.Config("encrypt", "s3://a/b", str(self.target)),
            worker.Config("rekey", str(self.source), str(self.target)),
        ):
            self.assertEqual(
                other.memory_of(other.command, 1 << 30), transfer.memory_of(1 << 30, storage.part_bytes(1 << 30))
            )

    def test_a_changed_source_is_an_error_of_its_row(self) -> None:
        content = self.write([100, 200, 300])
        bulk("encrypt", "-k", self.key, self.source, self.target)
        changed = next(iter(content))
        (self.source / changed).write_bytes(b"else")
        (self.target / changed).unlink()
        self.forget(self.target, self.key)
        status, report = bulk("encrypt", "-k", self.key, self.source, self.target)
        self.assertEqual((status, report["errors"], report["adopted"]), (1, 1, 2))
        self.assertIn("changed", report["first_errors"][0]["error"])
        self.assertFalse((self.target / changed).exists())
        status, report = bulk("encrypt", "-k", self.key, "--update", self.source, self.target)
        self.assertEqual((status, report["errors"]), (0, 0))

    def test_a_job_recognises_its_own_objects(self) -> None:
        """The driver died before it saved the results, so the rows are pending although the objects exist."""
        content = self.write([0, 100, 9_000_000])
        for envelope in ("", "job", "object"):
            with self.subTest(envelope):
                target, out = self.folder / f"t{envelope}", self.folder / f"o{envelope}"
                given = ("encrypt", "-k", self.key, *(["--envelope", envelope] if envelope else []))
                bulk(*given, self.source, target)
                before = {
                    row.key: (row.key_id, row.wrapped, row.sha256, row.out_version) for row in self.load(target).rows
                }
                self.forget(target, self.key)
                status, report = bulk(*given, self.source, target)
                self.assertEqual((status, report["adopted"]), (0, 3), report)
                after = {
                    row.key: (row.key_id, row.wrapped, row.sha256, row.out_version) for row in self.load(target).rows
                }
                self.assertEqual(after, before)
                self.assertEqual(bulk("decrypt", "-k", self.key, target, out)[0], 0)
                self.assertEqual(self.files(out), content)

    def test_what_is_there_stays(self) -> None:
        content = self.write([100])
        name = next(iter(content))
        (self.target / name).parent.mkdir(parents=True)
        (self.target / name).write_bytes(b"somebody's")
        status, report = bulk("encrypt", "-k", self.key, self.source, self.target)
        self.assertEqual((status, report["errors"]), (1, 1))
        self.assertEqual((self.target / name).read_bytes(), b"somebody's")
        self.assertEqual(bulk("encrypt", "-k", self.key, "--overwrite", self.source, self.target)[0], 0)
        self.assertEqual(bulk("verify", "-k", self.key, self.target)[0], 0)
        self.assertEqual(self.files(self.target).keys(), content.keys())

    def test_names_that_no_file_can_have(self) -> None:
        local = stores.open_storage(str(self.target))
        for name in ("../x", "/x", "a//b", "a/../../x", "", "a\0b", "x" * 256, "." + "x.warpaes-part-" + "0" * 32):
            with self.assertRaises(storage.PermanentError):
                local.check_key(name)

    def test_damage_is_found_and_named(self) -> None:
        content = self.write([100, 200, 9_000_000])
        bulk("encrypt", "-k", self.key, self.source, self.target)
        names = list(content)
        path = self.target / names[2]
        data = bytearray(path.read_bytes())
        data[8_500_000] ^= 1
        path.write_bytes(data)
        (self.target / names[1]).unlink()
        # This content is authentic but belongs to a different object.
        shutil.copy(self.target / names[1].replace("1/o b.200", "0/o b.100"), self.target / names[1])
        status, report = bulk("verify", "-k", self.key, self.target)
        self.assertEqual((status, report["errors"], report["done"]), (1, 2, 1))
        out = self.folder / "out"
        status, report = bulk("decrypt", "-k", self.key, self.target, out)
        self.assertEqual((status, report["errors"]), (1, 2))
        self.assertEqual(list(self.files(out).values()), [content[names[0]]])

    def test_a_wrong_key_is_refused_before_any_object_is_read(self) -> None:
        self.write([10] * 50)
        bulk("encrypt", "-k", self.key, self.source, self.target)
        key_id = self.load(self.target, self.key).job.key_id
        self.key.write_bytes(warpaes.Keyset.generate("AES256_GCM_HKDF_4KB").to_json())
        out = self.folder / "out"
        commands: list[tuple[Any, ...]] = [("verify", self.target), ("decrypt", self.target, out)]
        commands += [("encrypt", self.source, self.target), ("rekey", "--new-key", self.key2, self.target)]
        for command in commands:
            with unittest.mock.patch.object(pool, "Worker", side_effect=AssertionError):
                said = refusal(command[0], "-k", self.key, *command[1:])
            self.assertIn(f"was not saved under any of the given keys; it names 'key {key_id}'", said)
        self.assertEqual([path for path in out.rglob("*") if path.is_file()], [])

    def test_a_wrong_key_ends_early_without_a_manifest(self) -> None:
        self.write([10] * 50)
        bulk("encrypt", "-k", self.key, self.source, self.target)
        given = self.without_manifest(self.target)
        status, said = said_by("verify", "-k", self.key2, *given, "--max-errors", "3", self.target)
        self.assertEqual(status, 1)
        self.assertIn("more than 3 objects have failed", said)

    def test_originals_go_when_their_copies_are_right(self) -> None:
        content = self.write([100, 200, 9_000_000])
        bulk("encrypt", "-k", self.key, self.source, self.target)
        bad = next(iter(content))
        (self.target / bad).write_bytes(b"broken")
        status, report = bulk("encrypt", "-k", self.key, "--remove-source", self.source, self.target)
        self.assertEqual((status, report["errors"]), (1, 1))
        self.assertEqual(self.files(self.source), {bad: content[bad]})
        self.assertEqual(sorted(row.state for row in self.load(self.target).rows), ["done", "removed", "removed"])

    def test_in_place_with_a_suffix(self) -> None:
        content = self.write([100, 200])
        for _ in range(2):
            options = ["--suffix", ".sealed", "--remove-source", "--envelope", "object"]
            self.assertEqual(bulk("encrypt", "-k", self.key, *options, self.source, self.source)[0], 0)
        names = {name + ending for name in content for ending in (".sealed", ".sealed" + storage.KEY_SUFFIX)}
        self.assertEqual(self.files(self.source).keys(), names)
        bulk("decrypt", "-k", self.key, "--suffix", ".sealed", self.source, self.folder / "out")
        self.assertEqual(self.files(self.folder / "out"), content)

    def test_one_object_alone(self) -> None:
        content = self.write([5000])
        (path,) = [self.source / name for name in content]
        self.assertEqual(bulk("encrypt", "-k", self.key, path, self.target)[0], 0)
        self.assertEqual(self.files(self.target).keys(), {path.name})
        sealed, out = self.target / path.name, self.folder / "out"
        # This path is not above the manifest, so the command line must name the dataset.
        self.assertIn("has no manifest", refusal("decrypt", "-k", self.key, sealed, out))
        self.assertEqual(bulk("decrypt", "-k", self.key, "--no-manifest", sealed, out)[1]["errors"], 1)
        shutil.rmtree(out)
        dataset = ("--dataset", self.load(self.target).dataset)
        self.assertEqual(bulk("decrypt", "-k", self.key, "--no-manifest", *dataset, sealed, out)[0], 0)
        self.assertEqual(self.files(out), {path.name: content[path.relative_to(self.source).as_posix()]})

    def test_verification_without_a_manifest(self) -> None:
        self.write([10, 20, 30])
        bulk("encrypt", "-k", self.key, self.source, self.target)
        given = ("verify", "-k", self.key, *self.without_manifest(self.target), self.target)
        self.assertIn("--no-manifest", refusal("verify", "-k", self.key, self.target))
        self.assertEqual(bulk(*given)[1]["done"], 3)
        next(iter((self.target / "a/1").iterdir())).write_bytes(b"x" * 100)
        status, report = bulk(*given)
        self.assertEqual((status, report["done"], report["errors"]), (1, 2, 1))

    def test_verify_reads_again_what_was_written(self) -> None:
        self.write([10, 9_000_000])
        written = LocalStorage.create

        def worse(self: Any, *arguments: Any) -> Any:
            upload = written(self, *arguments)
            original = upload.commit

            def commit() -> str:
                os.pwrite(upload.descriptor, b"!!!!", 50)  # four bytes, because one of them may already have this value
                return original()

            upload.commit = commit
            return upload

        LocalStorage.create = worse  # type: ignore[method-assign]
        self.addCleanup(setattr, LocalStorage, "create", written)
        status, report = bulk("encrypt", "-k", self.key, "--verify", self.source, self.target)
        self.assertEqual((status, report["errors"]), (1, 2))

    def test_a_source_that_is_missing_leaves_no_target(self) -> None:
        for command in ("encrypt", "decrypt"):
            said = refusal(command, "-k", self.key, self.folder / "nowhere", self.target)
            self.assertIn("no such file or folder", said)
            self.assertFalse(os.path.exists(self.target))

    def test_lists_instead_of_listing(self) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        content = self.write([10, 20, 30])
        chosen = sorted(content)[:2]
        text = self.folder / "names.txt"
        text.write_text("\n".join([*chosen, "missing"]) + "\n")
        status, report = bulk("encrypt", "-k", self.key, "--names", text, self.source, self.target)
        self.assertEqual((status, report["done"], report["first_errors"][0]["key"]), (1, 2, "missing"))
        entries = [stores.open_storage(str(self.source)).stat(name) for name in chosen]
        table = pa.table({"key": chosen, "size": [10, 20], "version": [entry.version for entry in entries]})
        pq.write_table(table, self.folder / "names.parquet")
        target = self.folder / "other"
        given = ("--names", self.folder / "names.parquet")
        self.assertEqual(bulk("encrypt", "-k", self.key, *given, self.source, target)[0], 0)
        self.assertEqual(sorted(self.files(target)), chosen)

    def test_other_file_systems_can_be_read(self) -> None:
        import fsspec

        files = fsspec.filesystem("memory")
        content = self.content([0, 10, storage.WINDOW + 7])
        for name, data in content.items():
            files.pipe_file(f"/bulk/{name}", data)
        self.assertEqual(bulk("encrypt", "-k", self.key, "memory://bulk", self.target)[0], 0)
        bulk("decrypt", "-k", self.key, self.target, self.folder / "out")
        self.assertEqual(self.files(self.folder / "out"), content)

    def test_metrics_and_status(self) -> None:
        self.write([10, 20])
        metrics = self.folder / "metrics.prom"
        bulk("encrypt", "-k", self.key, "--metrics", metrics, self.source, self.target)
        text = metrics.read_text()
        self.assertIn(f'warpaes_bulk_done_objects{{command="encrypt",target="{self.target}"}} 2\n', text)
        status, report = bulk("status", self.target)
        self.assertEqual((status, report["states"], report["finished"], report["lock"]), (0, {"done": 2}, True, None))


class Keys(Case):
    def test_rekey(self) -> None:
        content = self.write([0, 100, 9_000_000])
        for envelope in ("", "job", "object"):
            with self.subTest(envelope):
                target, out = self.folder / f"t{envelope}", self.folder / f"o{envelope}"
                how = ["--envelope", envelope] if envelope else []
                bulk("encrypt", "-k", self.key, *how, self.source, target)
                before = self.files(target)
                old = ["-k", self.key, "--new-key", self.key2]
                status, report = bulk("rekey", *old, *how, "--drop-old-keys", target)
                self.assertEqual((status, report["run_objects"]), (0, 3))
                after = self.files(target)
                for name in content:
                    self.assertNotEqual(before[name], after[name])
                self.assertIn("was not saved under any of the given keys", refusal("verify", "-k", self.key, target))
                self.assertEqual(bulk("decrypt", "-k", self.key2, target, out)[0], 0)
                self.assertEqual(self.files(out), content)
                self.assertEqual(len(self.load(target).job.keys), envelope == "job")
                # The old key does not open any object either.
                given = self.without_manifest(target)
                self.assertEqual(bulk("verify", "-k", self.key, *given, target)[1]["errors"], 3)
                self.assertEqual(bulk("verify", "-k", self.key2, *given, target)[1]["errors"], 0)

    def test_rotation_within_a_keyset(self) -> None:
        content = self.write([100, 200])
        bulk("encrypt", "-k", self.key, self.source, self.target)
        keyset = warpaes.Keyset.parse(self.key.read_bytes())
        old = keyset.keys()[0]["key_id"]
        self.assertIn("rotate KEY", refusal("rekey", "-k", self.key, self.target))
        new = keyset.rotate()
        self.key.write_bytes(keyset.to_json())
        self.assertEqual(bulk("rekey", "-k", self.key, self.target)[0], 0)
        self.assertEqual({row.key_id for row in self.load(self.target).rows}, {str(new)})
        keyset.remove(old)
        self.key.write_bytes(keyset.to_json())
        bulk("decrypt", "-k", self.key, self.target, self.folder / "out")
        self.assertEqual(self.files(self.folder / "out"), content)

    def test_rekey_goes_on_where_it_was_ended(self) -> None:
        content = self.write([100] * 20)
        for envelope in ("", "job", "object"):
            with self.subTest(envelope):
                target, out = self.folder / f"t{envelope}", self.folder / f"o{envelope}"
                how = ["--envelope", envelope] if envelope else []
                bulk("encrypt", "-k", self.key, *how, self.source, target)
                before = self.load(target).rows
                command = ["rekey", "-k", self.key, "--new-key", self.key2, *how, target]
                bulk(*command)
                # The driver died before it had saved the results of most rows.
                there = self.load(target, self.key2)
                versions = {row.key: row.out_version for row in there.rows}
                for new, old in zip(there.rows_of(0)[3:], before[3:], strict=True):
                    new.key_id, new.wrapped, new.sha256 = old.key_id, old.wrapped, old.sha256
                    new.out_size, new.out_version, new.todo = old.out_size, old.out_version, "rekey"
                there.change(0)
                there.job.finished = False
                there.save()
                self.assertIn("has not finished", refusal("decrypt", "-k", self.key2, target, out))
                status, report = bulk(*command)
                self.assertEqual((status, report["adopted"]), (0, 17), report)
                self.assertEqual({row.key: row.out_version for row in self.load(target).rows}, versions)
                self.assertEqual(bulk("decrypt", "-k", self.key2, target, out)[0], 0)
                self.assertEqual(self.files(out), content)

    def test_rewrap_changes_no_object(self) -> None:
        content = self.write([0, 100, 200])
        for envelope in ("job", "object"):
            target, out = self.folder / envelope, self.folder / ("o" + envelope)
            bulk("encrypt", "-k", self.key, "--envelope", envelope, self.source, target)
            before = self.files(target)
            for _ in range(2):  # a repetition has no effect
                keys_given = ("-k", self.key, "--new-key", self.key2)
                self.assertEqual(bulk("rewrap", *keys_given, target)[0], 0)
            after = self.files(target)
            self.assertEqual({name: before[name] for name in content}, {name: after[name] for name in content})
            self.assertEqual(bulk("verify", "-k", self.key2, target)[0], 0)
            self.assertIn("was not saved under any of the given keys", refusal("verify", "-k", self.key, target))
            # The manifest is lost. The records next to the objects are sufficient, and only the new key opens them.
            given = self.without_manifest(target)
            self.assertEqual(bulk("verify", "-k", self.key, *given, target)[1]["errors"], 3)
            self.assertEqual(bulk("decrypt", "-k", self.key2, *given, target, out)[0], 0)
            self.assertEqual(self.files(out), content)
        bulk("encrypt", "-k", self.key, self.source, self.target)
        self.assertIn(
            "there are no wrapped keys", refusal("rewrap", "-k", self.key, "--new-key", self.key2, self.target)
        )

    def test_every_attempt_at_an_object_has_a_key_of_its_own(self) -> None:
        """The file next to the object contains this job's records of the object, starting with the newest, and no other
        records."""
        self.write([100])
        config = worker.Config("encrypt", str(self.source), str(self.target), envelope="object")
        config.key = [keys.KeySpec.read(str(self.key))]
        config.dataset, config.job, config.record_key = "d", "j", b"k" * 32
        one, row = worker.Worker(config), rows.Row("x", "x", 100, "")
        self.addCleanup(one.close)
        source, path = config.key[0].open(), self.target / ("x" + storage.KEY_SUFFIX)
        path.parent.mkdir()
        # This job did not write these records for this object, because the name, job, dataset or code is wrong or
        # missing.
        others = [("d", "y", "j", b"k" * 32), ("d", "x", "i", b"k" * 32), ("e", "x", "j", b"k" * 32)]
        planted = [
            keys.signed(keys.new_record(source, config.template, keys.Place(dataset, name, of))[0], code)
            for dataset, name, of, code in [*others, ("d", "x", "j", b"l" * 32)]
        ]
        planted.append(keys.new_record(source, config.template, keys.Place("d", "x", "j"))[0])
        path.write_text(keys.to_json(planted))
        found = [one._own_key(row) for _ in range(3)]
        ids = [own.records[0]["key_id"] for own in found]
        self.assertEqual(len({*ids, *(record["key_id"] for record in planted)}), 8)
        self.assertEqual([record["key_id"] for record in found[2].records], ids[::-1])
        self.assertEqual(keys.parse_records(path.read_bytes(), "x"), found[2].records)
        sealed = io.BytesIO()
        with warpaes.open(sealed, "wb", keyset=found[0].keyset) as file:
            file.write(b"x")
        for own, opens in ((found[0], True), (found[1], False), (found[2], False)):
            with contextlib.nullcontext() if opens else self.assertRaises(warpaes.exceptions.InvalidTag):
                warpaes.open(sealed.getvalue(), keyset=one.new_keys.open(own.records[0])).read()

    def test_every_run_has_a_shared_key_of_its_own(self) -> None:
        self.write([100])
        given = ("encrypt", "-k", self.key, "--envelope", "job", "--update", self.source, self.target)
        ids = []
        for i in range(3):
            (self.source / f"new {i}").write_bytes(b"new")
            self.assertEqual(bulk(*given)[0], 0)
            ids.append(self.load(self.target).job.key_id)
            row = self.load(self.target).find(f"new {i}")
            assert row is not None
            self.assertEqual(row.key_id, ids[-1])
        self.assertEqual(len(set(ids)), 3)
        self.assertEqual(bulk("verify", "-k", self.key, self.target)[1]["done"], 4)

    def test_encryption_after_a_rotation_is_refused(self) -> None:
        content = self.write([100, 200])
        for envelope, remedy in (
            ("", "bulk rekey"),
            ("job", "bulk rewrap"),
            ("object", "bulk rewrap"),
        ):
            with self.subTest(envelope):
                self.key.write_bytes(warpaes.Keyset.generate("AES256_GCM_HKDF_4KB").to_json())
                target, out = self.folder / f"t{envelope}", self.folder / f"o{envelope}"
                given = ("encrypt", "-k", self.key, *(["--envelope", envelope] if envelope else []), "--update")
                bulk(*given, self.source, target)
                keyset = warpaes.Keyset.parse(self.key.read_bytes())
                old = keyset.keys()[0]["key_id"]
                keyset.rotate()
                self.key.write_bytes(keyset.to_json())
                before = {path: path.read_bytes() for path in target.rglob("*") if path.is_file()}
                said = refusal(*given, self.source, target)
                self.assertIn(remedy, said)
                self.assertIn(f"--keep-key {old} ", said)
                self.assertEqual({path: path.read_bytes() for path in target.rglob("*") if path.is_file()}, before)
                (self.source / "new").write_bytes(b"new")
                self.assertEqual(bulk(*given, "--keep-key", str(old), self.source, target)[1]["run_objects"], 1)
                self.key2.write_bytes(keys.only(keyset, old).to_json())
                self.assertEqual(bulk("decrypt", "-k", self.key2, target, out)[0], 0)
                self.assertEqual(self.files(out), {**content, "new": b"new"})
                (self.source / "new").unlink()

    def test_more_than_one_keyset(self) -> None:
        content = self.write([10, 20])
        bulk("encrypt", "-k", self.key, self.source, self.target)
        both = ("-k", self.key2, "-k", self.key)
        self.assertEqual(bulk("decrypt", *both, self.target, self.folder / "out")[0], 0)
        self.assertEqual(self.files(self.folder / "out"), content)
        for envelope in ("job", "object"):
            target, out = self.folder / envelope, self.folder / ("o" + envelope)
            bulk("encrypt", "-k", self.key, "--envelope", envelope, self.source, target)
            self.assertEqual(bulk("decrypt", *both, target, out)[0], 0)
        for name in ("one", "two"):
            (self.folder / name).write_bytes(warpaes.Keyset.from_raw("AES256_GCM_HKDF_4KB", os.urandom(32)).to_json())
        clash = ("-k", self.folder / "one", "-k", self.folder / "two")
        self.assertIn("different keys with the ID 1", refusal("verify", *clash, self.target))

    def test_keys_from_the_environment_and_descriptors(self) -> None:
        self.write([10])
        os.environ["BULK_KEY"] = self.key.read_text()
        self.assertEqual(bulk("encrypt", "-k", "env:BULK_KEY", self.source, self.target)[0], 0)
        with open(self.key, "rb") as file:
            self.assertEqual(bulk("verify", "-k", f"fd:{file.fileno()}", self.target)[0], 0)


class Jobs(Case):
    def test_two_jobs_notice_each_other(self) -> None:
        self.write([10])
        target = stores.open_storage(str(self.target))
        with Lock(target, "encrypt"):
            self.assertIn("is working on it", refusal("encrypt", "-k", self.key, self.source, self.target))
        self.assertEqual(bulk("encrypt", "-k", self.key, self.source, self.target)[0], 0)

    def test_a_lock_that_is_silent_is_taken_and_its_holder_ends(self) -> None:
        target = stores.open_storage(str(self.target))
        first = Lock(target, "encrypt", beat=0.2, expiry=0.6)
        first._mine["host"] = "elsewhere"
        with first:
            with self.assertRaises(LockedError), Lock(target, "encrypt", beat=0.2, expiry=0.6):
                pass
            first._beat = 1e6  # the driver is silent after its next beat
            time.sleep(0.5)
            with Lock(target, "encrypt", beat=0.2, expiry=0.6) as second:
                first._end.set()
                first._thread.join()
                first._end.clear()
                first._beat = 0.01
                first._thread = threading.Thread(target=first._live)
                first._thread.start()
                first._thread.join()
                self.assertRaises(LockedError, first.check)
                second.check()

    def test_a_driver_that_was_killed_is_followed_at_once(self) -> None:
        content = self.write([1000] * 600)
        command = [sys.executable, "-m", "warpaes", "bulk", "encrypt", "-q", "-k", self.key, "--checkpoint", "0.1"]
        command += ["--threads", "2", self.source, self.target]
        with subprocess.Popen(command) as process:
            while not (self.target / manifest.NAME).exists() or not self.load(self.target).total("done"):
                time.sleep(0.01)
            process.kill()
        status, report = bulk("encrypt", "-k", self.key, self.source, self.target)
        self.assertEqual((status, report["done"]), (0, 600))
        self.assertLess(report["run_objects"], 600)
        bulk("decrypt", "-k", self.key, self.target, self.folder / "out")
        self.assertEqual(self.files(self.folder / "out"), content)
        self.assertFalse(list(self.target.rglob(f"*{PART}*")))

    def test_other_jobs_targets_are_refused(self) -> None:
        self.write([10])
        bulk("encrypt", "-k", self.key, self.source, self.target)
        other = self.folder / "other"
        other.mkdir()
        self.assertIn("another job", refusal("encrypt", "-k", self.key, other, self.target))
        self.assertIn(
            "started with --suffix", refusal("encrypt", "-k", self.key, "--suffix", "x", self.source, self.target)
        )
        self.assertIn("encrypted dataset", refusal("encrypt", "-k", self.key, self.target, self.folder / "twice"))
        self.assertIn("are the same", refusal("encrypt", "-k", self.key, self.source, self.source))
        bulk("decrypt", "-k", self.key, self.target, self.folder / "out")
        self.assertIn("use its source", refusal("verify", "-k", self.key, self.folder / "out"))

    def test_a_manifest_that_another_job_has_written_is_not_replaced(self) -> None:
        self.write([10])
        bulk("encrypt", "-k", self.key, self.source, self.target)
        mine, other = self.load(self.target, self.key), self.load(self.target, self.key)
        other.save()
        saved = (self.target / manifest.NAME).read_bytes()
        self.assertRaises(storage.ExistsError, mine.save)
        self.assertEqual((self.target / manifest.NAME).read_bytes(), saved)
        for data in (b"", b"PAR1 and nothing", b"{}\n{}\n", b"[" * 5000):
            (self.target / manifest.NAME).write_bytes(data)
            self.assertIn("is not a warpaes bulk manifest", refusal("verify", "-k", self.key, self.target))
            self.assertIn("is not a warpaes bulk manifest", refusal("status", self.target))

    def test_memory_is_bounded(self) -> None:
        budget = worker.Budget(100)
        most, held, lock = 0, 0, threading.Lock()

        def use(size: int) -> None:
            nonlocal most, held
            taken = budget.take(size)
            with lock:
                held += taken
                most = max(most, held)
            time.sleep(0.001)
            with lock:
                held -= taken
            budget.give(taken)

        threads = [threading.Thread(target=use, args=(size,)) for size in [30, 70, 1000, 1] * 25]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((budget.free, held), (100, 0))
        self.assertLessEqual(most, 100)

    def test_parts_have_room_for_the_largest_objects(self) -> None:
        for size in (0, 1 << 20, 80 << 30, 5 << 40):
            part = storage.part_bytes(size)
            self.assertLessEqual(-(-(size + size // 200) // part), storage.MAX_PARTS)
        self.assertEqual(storage.part_bytes(1), 8 << 20)
        self.assertLess(transfer.memory_of(20 << 30, storage.part_bytes(20 << 30)), 256 << 20)


class Dying(Case):
    def test_poison_ends_its_row_and_not_the_job(self) -> None:
        content = self.write([100] * 40)
        poison = sorted(content)[5]

        class Fatal(pool.Pool):
            """A pool in which one of two workers dies as soon as it receives the row."""

            size = 2

            def __init__(self, config: worker.Config) -> None:
                self.config = config
                self.workers = [worker.Worker(config) for _ in range(2)]
                self.dead: list[int] = []

            def submit(self, slot: int, tasks: list[pool.Task]) -> None:
                if any(row.source == poison for _, _, row in tasks):
                    self.dead.append(slot)
                else:
                    self.workers[slot].submit(tasks)

            def poll(self, timeout: float) -> list[tuple[int, pool.Events | None]]:
                reports: list[tuple[int, pool.Events | None]] = [(slot, None) for slot in self.dead]
                self.dead = []
                return reports or [(slot, each.poll(0.005)) for slot, each in enumerate(self.workers)]

            def close(self) -> None:
                for each in self.workers:
                    each.close()

        original = job.make_pool
        job.make_pool = lambda config, *_: Fatal(config)
        self.addCleanup(setattr, job, "make_pool", original)
        status, report = bulk("encrypt", "-k", self.key, self.source, self.target)
        self.assertEqual((status, report["done"], report["errors"]), (1, 39, 1))
        self.assertEqual(report["first_errors"][0]["key"], poison)
        self.assertIn("workers died while processing only this object", report["first_errors"][0]["error"])
        job.make_pool = original
        self.assertEqual(bulk("encrypt", "-k", self.key, self.source, self.target)[0], 0)

    def test_processes_that_are_killed(self) -> None:
        content = self.write([20_000] * 400)
        original = pool.ProcessPool

        class Watched(original):  # type: ignore[misc, valid-type]
            """A pool in which a worker dies every third time that it receives rows, six times in all."""

            given = 0

            def submit(self, slot: int, tasks: Any) -> None:
                super().submit(slot, tasks)
                self.given += 1
                if self.given % 3 == 0 and self.given <= 18:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(self.processes[slot], 9)

        pool.ProcessPool = Watched  # type: ignore[misc]
        self.addCleanup(setattr, pool, "ProcessPool", original)
        options = ["--workers", "2", "--threads", "2"]
        status, report = bulk("encrypt", "-k", self.key, *options, self.source, self.target)
        self.assertEqual((status, report["done"]), (0, 400))
        self.assertGreater(report["worker_deaths"], 0)
        bulk("decrypt", "-k", self.key, self.target, self.folder / "out")
        self.assertEqual(self.files(self.folder / "out"), content)
        self.assertFalse(list(self.target.rglob(f"*{PART}*")))


if __name__ == "__main__":
    unittest.main()
