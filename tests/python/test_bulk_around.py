"""Tests `warpaes bulk` with external keys, with fsspec's file systems, and with metrics."""

from __future__ import annotations

import http.client
import io
import json
import os
import pathlib
import shutil
import unittest
import unittest.mock
from typing import Any

import warpaes
from bulk_case import Case, bulk, refusal, said_by
from support import needed, run_python, served
from warpaes import Keyset, keysources
from warpaes.bulk import cli, dispatch, job, keys, manifest, pool, storage, stores, worker


class Keys(Case):
    def test_without_a_manifest_after_a_rekey_to_other_kinds_of_keys(self) -> None:
        content = self.write([0, 100])
        for old in ("", "job", "object"):
            for new in ("", "job", "object"):
                with self.subTest(f"{old} to {new}"):
                    target, out = self.folder / f"t{old}-{new}", self.folder / f"o{old}-{new}"
                    how = [["--envelope", each] if each else [] for each in (old, new)]
                    bulk("encrypt", "-k", self.key, *how[0], self.source, target)
                    both = ("-k", self.key, "--new-key", self.key2)
                    self.assertEqual(bulk("rekey", *both, *how[1], target)[0], 0)
                    given = self.without_manifest(target)
                    self.assertEqual(bulk("decrypt", "-k", self.key2, *given, target, out)[0], 0)
                    self.assertEqual(self.files(out), content)

    def test_rekey_without_a_manifest(self) -> None:
        """Rekey is refused until adopt creates a manifest."""
        content = self.write([100, 200])
        for old in ("", "job", "object"):
            with self.subTest(old):
                target, out = self.folder / f"t{old}", self.folder / f"o{old}"
                bulk("encrypt", "-k", self.key, *(["--envelope", old] if old else []), self.source, target)
                _, *dataset = self.without_manifest(target)
                before = self.files(target)
                rekey = ("rekey", "-k", self.key, "--new-key", self.key2, target)
                self.assertIn("`warpaes bulk adopt`", refusal(*rekey))
                self.assertEqual(self.files(target), before)
                self.assertEqual(bulk("adopt", "-k", self.key, *dataset, target)[0], 0)
                status, report = bulk(*rekey)
                self.assertEqual((status, report["done"]), (0, 2), report)
                self.assertEqual(bulk("verify", "-k", self.key2, target)[0], 0)
                self.assertEqual(bulk("decrypt", "-k", self.key2, target, out)[0], 0)
                self.assertEqual(self.files(out), content)

    def test_a_program_prints_the_key(self) -> None:
        content = self.write([10])
        command = f"exec:cat '{self.key}' --secret-argument 2>/dev/null || cat '{self.key}'"
        for envelope in ([], ["--envelope", "job"]):
            target, out = self.folder / f"t{len(envelope)}", self.folder / f"o{len(envelope)}"
            self.assertEqual(bulk("encrypt", "-k", command, *envelope, self.source, target)[0], 0)
            self.assertEqual(bulk("decrypt", "-k", command, "--workers", "2", target, out)[0], 0)
            self.assertEqual(self.files(out), content)
            for path in target.rglob("*"):
                self.assertFalse(path.is_file() and b"secret-argument" in path.read_bytes())
        self.assertIn("exec:exit: failed with exit status 3", refusal("verify", "-k", "exec:exit 3", target))
        self.assertIn("must be followed by a command", refusal("verify", "-k", "exec: ", target))
        status, said = said_by("verify", "-k", "exec:echo hello", target)
        self.assertEqual(status, 2)
        self.assertNotIn("hello", said)

    def test_what_lies_beside_objects_may_be_anything(self) -> None:
        self.write([10])
        for envelope in ("job", "object"):
            for data in (b"", b"{}", b"[]", b"[" * 5000, b'[{"key_id": 1, "template": "x", "wrapped": ""}]'):
                target = self.folder / f"t{envelope}"
                bulk("encrypt", "-k", self.key, "--envelope", envelope, self.source, target)
                given = self.without_manifest(target)
                pattern = f"*{storage.KEY_SUFFIX}" if envelope == "object" else f"{storage.FOLDER}keys/*"
                for path in target.rglob(pattern):
                    path.write_bytes(data)
                status, said = said_by("decrypt", "-k", self.key, *given, target, self.folder / "out")
                self.assertIn(status, (1, 2))
                if envelope == "job":
                    self.assertIn("does not contain wrapped keys", said)
                self.assertEqual(self.files(self.folder / "out"), {})
                shutil.rmtree(target)
                shutil.rmtree(self.folder / "out", ignore_errors=True)

    def test_encrypted_keysets(self) -> None:
        """In every option, a keyset's place can name its passphrase or KEK."""
        self.write([10])
        keyset = Keyset.load(str(self.key))
        (self.folder / "kek").write_bytes(b"0f" * 32)
        (self.folder / "word").write_bytes(b"correct horse")
        for name in ("kek", "word"):
            (self.folder / name).chmod(0o600)
        places = [f"kek={self.folder}/kek;{self.folder}/under", f"passphrase={self.folder}/word;{self.folder}/locked"]
        for number, place in enumerate(places):
            keyset.save(place)
            target, out = self.folder / f"places{number}", self.folder / f"out{number}"
            self.assertEqual(bulk("encrypt", "-k", place, self.source, target)[0], 0)
            self.assertEqual(bulk("decrypt", "-k", f"clear:{self.key}", target, out)[0], 0)
            self.assertEqual(bulk("verify", "-k", place, "--workers", "2", target)[0], 0)
            bare = place.partition(";")[2]
            self.assertRegex(refusal("verify", "-k", bare, target), "before its place")
        self.assertIn(
            "may have replaced yours", refusal("verify", "-k", f"kek={self.folder}/kek;{self.key}", self.target)
        )

    def test_keys_that_only_wrap_keys(self) -> None:
        """The key is a Tink AEAD keyset or a raw key, as in the documentation of `-k kek.json`."""
        content = self.write([10])
        kek, raw = self.folder / "kek.json", self.folder / "kek.hex"
        kek.write_bytes(keysources.generate_kek())
        raw.write_text(os.urandom(32).hex())
        self.assertIn("add --envelope", refusal("encrypt", "-k", kek, self.source, self.target))
        for envelope in ("job", "object"):
            target, out = self.folder / f"t{envelope}", self.folder / f"o{envelope}"
            self.assertEqual(bulk("encrypt", "-k", kek, "--envelope", envelope, self.source, target)[0], 0)
            self.assertEqual(bulk("rewrap", "-k", kek, "--new-key", raw, target)[0], 0)
            self.assertIn("was not saved under any of the given keys", refusal("verify", "-k", kek, target))
            self.assertEqual(bulk("verify", "-k", raw, target)[0], 0)
            given = self.without_manifest(target)
            self.assertEqual(bulk("verify", "-k", kek, *given, target)[1]["errors"], 1)
            self.assertEqual(bulk("decrypt", "-k", raw, *given, "--workers", "2", target, out)[0], 0)
            self.assertEqual(self.files(out), content)

    def test_a_manager_that_says_no_ends_the_job_and_no_row(self) -> None:
        self.write([10] * 5)

        class Manager(keysources.KeySource):
            """A key manager that wraps a key only if its associated data begins with one of `allows`."""

            name = "vault-transit://denied"
            allows: tuple[bytes, ...] = ()

            def wrap(self, data_key: bytes, associated_data: bytes = b"") -> bytes:
                if not associated_data.startswith(self.allows):
                    raise keysources.DeniedError("the token has expired")
                return associated_data + data_key

            def unwrap(self, wrapped: bytes, associated_data: bytes = b"") -> bytes:
                return self.wrap(wrapped, associated_data)[2 * len(associated_data) :]

        manager = Manager()
        given = ("encrypt", "-k", "vault-transit://h/m/keys/n", "--envelope", "object", self.source, self.target)
        with unittest.mock.patch.object(keysources, "from_url", lambda url: manager):
            # The manifest's key is refused, so the job does not start.
            self.assertIn("the token has expired", refusal(*given))
            self.assertEqual([path for path in self.target.rglob("*") if path.is_file()], [])
            # The keys of objects are refused later.
            manager.allows = (manifest.KEY_LABEL,)
            status, said = said_by(*given)
            self.assertEqual(status, 1)
            self.assertIn("the token has expired; correct this, and run the same command to continue", said)
            self.assertEqual({row.state for row in self.load(self.target).rows}, {"pending"})
            manager.allows = (manifest.KEY_LABEL, keys.RECORD_LABEL)
            status, report = bulk(*given)
            self.assertEqual((status, report["done"]), (0, 5))
            # If the key manager refuses an existing manifest's key, the command does not report a wrong key.
            manager.allows = ()
            self.assertIn("the token has expired", refusal("verify", *given[1:3], self.target))

    def test_secrets_are_in_no_representation(self) -> None:
        secret = json.loads(self.key.read_text())["key"][0]["keyData"]["value"]
        there = stores.open_storage(str(self.target))
        for place in (str(self.key), f"exec:cat '{self.key}'"):
            spec = keys.KeySpec.read(place)
            signer = manifest.Signer.create("d", spec.holders()[0])
            config = worker.Config("encrypt", "a", "b", key=[spec], record_key=signer.record_key)
            one = manifest.Manifest(there, manifest.Job("1", "encrypt", "a", "b"), signer, "d")
            shown = repr(
                [spec, spec.holders(), signer, config, one, dispatch.Dispatcher(one, pool_of(), config, *no())]
            )
            self.assertNotIn(secret, shown)
            for hidden in (signer.record_key, signer._root_key):
                self.assertNotIn(repr(hidden)[2:-1], shown)
                self.assertNotIn(hidden.hex(), shown)


def pool_of() -> Any:
    return type("None", (), {"size": 1})()


def no() -> Any:
    return None, 1, None, lambda: None


class Told(Case):
    """Tests of metrics."""

    def test_a_port(self) -> None:
        self.write([10, 20])
        seen: list[tuple[str, str]] = []
        real = job.Run._report

        def ask(run: job.Run) -> Any:
            report = real(run)
            (server,) = run.progress._told_of
            for path in ("/metrics", "/", "/else"):
                connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)  # type: ignore[attr-defined]
                connection.request("GET", path)
                answer = connection.getresponse()
                seen.append((str(answer.status), answer.read().decode()))
                connection.close()
            return report

        with unittest.mock.patch.object(job.Run, "_report", ask):
            bulk("encrypt", "-k", self.key, "--metrics", "0", self.source, self.target)
        (first, metrics), (_, page), (missing, _) = seen
        self.assertEqual((first, missing), ("200", "404"))
        label = f'{{command="encrypt",target="{self.target}"}}'
        for name, value in (("done_objects", 2), ("done_bytes", 30), ("errors", 0), ("finished", 1)):
            self.assertIn(f"\nwarpaes_bulk_{name}{label} {value}\n", "\n" + metrics)
        for name in ("bytes_per_second", "objects_per_second", "seconds_left"):
            self.assertRegex(metrics, rf"(?m)^warpaes_bulk_{name}\{{.*\}} [\d.]+$")
        self.assertIn("encrypt: 2/2 objects, 30 B of 30 B", page)
        self.assertIn("cannot listen", refusal("verify", "-k", self.key, "--metrics", "192.0.2.1:1", self.target))

    def test_rays_gauges(self) -> None:
        from warpaes.bulk import metrics, progress

        made: dict[str, Any] = {}

        class Gauge:
            def __init__(self, name: str, description: str, tag_keys: tuple[str, ...]) -> None:
                assert tag_keys == ("command", "target")
                made[name] = None

            def set(self, value: float, tags: dict[str, str]) -> None:
                made[name_of(self)] = value, tags

        def name_of(gauge: Gauge) -> str:
            return next(name for name, one in told._gauges.items() if one is gauge)

        told = metrics.RayGauges(Gauge, {"command": "encrypt", "target": "t"})
        shown = progress.Progress("encrypt", "t", None, None)
        shown.watch(told)
        shown.done_objects = 7
        shown.tell(last=True)
        self.assertEqual(made["done_objects"], (7, {"command": "encrypt", "target": "t"}))
        self.assertIn("warpaes_bulk_worker_deaths", made)


class Fsspec(Case):
    """Tests with targets that are neither files nor S3 objects."""

    def setUp(self) -> None:
        super().setUp()
        needed("fsspec")
        import fsspec

        self.memory = fsspec.filesystem("memory")
        self.name = self.id().rpartition(".")[2]
        self.sealed = f"memory://{self.name}"
        self.addCleanup(lambda: self.memory.exists(self.name) and self.memory.rm(self.name, recursive=True))

    def test_there_and_back(self) -> None:
        content = self.write([0, 10, 9_000_000])
        for envelope in ("job", "object"):
            sealed = f"{self.sealed}/{envelope}"
            given = ("-k", self.key, "--envelope", envelope, "--verify", self.source, sealed)
            self.assertEqual(bulk("encrypt", *given)[0], 0)
            self.assertEqual(bulk("encrypt", *given)[1]["run_objects"], 0)
            self.assertEqual(bulk("rewrap", "-k", self.key, "--new-key", self.key2, sealed)[0], 0)
            self.assertEqual(bulk("verify", "-k", self.key2, sealed)[0], 0)
            back = self.folder / envelope
            self.assertEqual(bulk("decrypt", "-k", self.key2, sealed, back)[0], 0)
            self.assertEqual(self.files(back), content)
        plain = f"{self.sealed}/plain"
        bulk("decrypt", "-k", self.key2, f"{self.sealed}/job", plain)
        self.assertEqual(self.memory.cat_file(f"{plain}/{list(content)[1]}"), list(content.values())[1])
        self.assertIn("cannot replace them conditionally", refusal("rekey", "-k", self.key, f"{self.sealed}/job"))
        self.assertIn("in this process", refusal("verify", "-k", self.key, "--workers", "2", sealed))
        self.assertIn("targets must be", refusal("encrypt", "-k", self.key, self.source, "http://127.0.0.1:9/x"))

    def test_what_is_there_stays(self) -> None:
        content = self.write([10, 20])
        self.memory.pipe_file(f"/{self.name}/{next(iter(content))}", b"somebody's")
        given = ("-k", self.key, self.source, self.sealed)
        status, report = bulk("encrypt", *given)
        self.assertEqual((status, report["done"], report["errors"]), (1, 1, 1))
        self.assertEqual(self.memory.cat_file(f"/{self.name}/{next(iter(content))}"), b"somebody's")
        self.assertEqual(bulk("encrypt", "--overwrite", *given)[0], 0)

    def test_what_died_before_it_was_saved_is_adopted(self) -> None:
        self.write([10, 20])
        bulk("encrypt", "-k", self.key, self.source, self.sealed)
        there = stores.open_storage(self.sealed)
        saved = manifest.Manifest.load(there, keys.KeySpec.read(str(self.key)).holders())
        assert saved is not None
        for row in saved.rows_of(0):
            row.state = "pending"
        saved.change(0)
        saved.job.finished = False
        saved.save()
        status, report = bulk("encrypt", "-k", self.key, "--remove-source", self.source, self.sealed)
        self.assertEqual((status, report["adopted"]), (0, 2))
        self.assertEqual(self.files(self.source), {})

    def test_large_objects_are_streamed_and_given_up(self) -> None:
        """An upload to the file system appears when it is closed."""
        from concurrent.futures import ThreadPoolExecutor

        from fsspec.implementations.memory import MemoryFileSystem
        from fsspec.spec import AbstractBufferedFile
        from warpaes.bulk.remote import RemoteStorage

        chunks: list[int] = []

        class Uploaded(AbstractBufferedFile):
            def _initiate_upload(self) -> None:
                self.gathered = bytearray()

            def _upload_chunk(self, final: bool = False) -> bool:
                chunks.append(self.buffer.tell())
                self.gathered += self.buffer.getvalue()
                if final:
                    MemoryFileSystem.pipe_file(self.fs, self.path, bytes(self.gathered), "create")
                return True

        class Uploads(MemoryFileSystem):
            cachable = False

            def _open(self, path: str, mode: str = "rb", **others: Any) -> Any:
                if mode == "rb" or "data" in others:
                    return super()._open(path, mode=mode, **others)
                return Uploaded(self, path, mode, **others)

        there = RemoteStorage(self.sealed)
        there._fs, there.is_shared = Uploads(), True
        with ThreadPoolExecutor(1) as threads:
            for end in ("commit", "abort"):
                upload = there.create(end, 30 << 20, None, storage.Attempt(), threads)
                for _ in range(30):
                    upload.write(memoryview(bytes(1 << 20)))
                self.assertRaises(storage.MissingError, there.stat, end)
                getattr(upload, end)()
            self.assertEqual(there.stat("commit").size, 30 << 20)
            self.assertRaises(storage.MissingError, there.stat, "abort")
            late = there.create("commit", 30 << 20, None, storage.Attempt(), threads)
            with self.assertRaises(storage.ExistsError):
                for _ in range(30):
                    late.write(memoryview(bytes(1 << 20)))
                late.commit()
        self.assertLess(max(chunks), 12 << 20)

    def test_a_web_server(self) -> None:
        needed("aiohttp")
        import functools
        import http.server

        content = self.write([10, 9_000_000])
        for name in ("a#b", "c?d", "e%20f", "g h"):
            content[name] = name.encode()
            (self.source / name).write_bytes(content[name])

        class Handler(http.server.SimpleHTTPRequestHandler):
            """An HTTP server that shows folders as lists of links and supports ranges."""

            def log_message(self, format: str, *arguments: Any) -> None:
                pass

            def do_GET(self) -> None:
                path, wanted = self.translate_path(self.path), self.headers.get("Range")
                if wanted is None or os.path.isdir(path):
                    super().do_GET()
                    return
                data = pathlib.Path(path).read_bytes()
                first, last = (int(part) for part in wanted.removeprefix("bytes=").split("-"))
                piece = data[first : last + 1]
                self.send_response(206)
                self.send_header("Content-Range", f"bytes {first}-{first + len(piece) - 1}/{len(data)}")
                self.send_header("Content-Length", str(len(piece)))
                self.end_headers()
                self.wfile.write(piece)

        handler = functools.partial(Handler, directory=str(self.source))
        server = served(self, handler)
        url = f"http://127.0.0.1:{server.server_address[1]}/"
        self.assertEqual(bulk("encrypt", "-k", self.key, url, self.target)[1]["first_errors"], [])
        self.assertEqual(bulk("decrypt", "-k", self.key, self.target, self.folder / "out")[0], 0)
        found = self.files(self.folder / "out")
        self.assertEqual(found.keys(), content.keys())
        self.assertTrue(found == content)
        one = bulk("encrypt", "-k", self.key, url + "g%20h", self.folder / "one")
        self.assertEqual((one[0], self.files(self.folder / "one").keys()), (0, {"g%20h"}))
        names = self.folder / "names"
        names.write_text("\n".join(content))
        self.assertEqual(bulk("encrypt", "-k", self.key, "--names", names, url, self.folder / "listed")[0], 0)


class Start(Case):
    def test_a_job_does_not_import_pandas(self) -> None:
        """pyarrow imports pandas for some conversions, which would take longer than a small job."""
        needed("pandas")
        self.write([10])
        program = (
            "import os, sys\n"
            "from warpaes.bulk import cli\n"
            "key, source, target, back = os.environ['FOLDERS'].split(':')\n"
            "for line in (['encrypt', source, target], ['verify', target], ['decrypt', target, back]):\n"
            "    assert cli.main([*line, '-q', '-k', key]) == 0, line\n"
            "assert 'pyarrow' in sys.modules and 'pandas' not in sys.modules\n"
        )
        folders = (self.key, self.source, self.target, self.folder / "back")
        run_python(program, FOLDERS=":".join(map(str, folders)))
        self.assertEqual(self.files(self.folder / "back"), self.content([10]))


class Records(unittest.TestCase):
    def test_every_key_of_several_keysets(self) -> None:
        """Each of these keys is tried on objects without a manifest, starting with the keys in records."""
        made = [warpaes.Keyset.generate("AES256_GCM_HKDF_4KB") for _ in range(3)]
        specs = [keys.KeySpec(str(i), keyset.to_json()) for i, keyset in enumerate(made)]
        sources = [spec.open() for spec in specs]
        place = keys.Place("d", "x", "j")
        made_for = [keys.new_record(source, "AES256_GCM_HKDF_4KB", place) for source in sources]
        beside = [record for record, _ in made_for[:2]]
        shared = {made_for[2][0]["key_id"]: made_for[2][0]}
        every = keys.Keyring(keys.merged(specs), sources, shared).any_of(beside)
        wanted = [record["key_id"] for record in beside] + [*shared] + [str(keys.key_ids(each)[0]) for each in made]
        self.assertEqual([key_id for key_id, _ in every], wanted)
        for keyset, (_, open_keyset) in zip([*(keyset for _, keyset in made_for), *made], every, strict=True):
            sealed = io.BytesIO()
            with warpaes.open(sealed, "wb", keyset=keyset) as file:
                file.write(b"x")
            with warpaes.open(sealed.getvalue(), keyset=open_keyset()) as file:
                self.assertEqual(file.read(), b"x")

    def test_a_pool_says_what_workers_say(self) -> None:
        self.assertTrue(issubclass(pool.NoWorkerError, cli.FAILURES))


if __name__ == "__main__":
    unittest.main()
