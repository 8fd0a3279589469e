"""Shared code for the tests of `warpaes bulk`."""

from __future__ import annotations

import contextlib
import io
import json
import os
import pathlib
import random
import shutil
import sys
import tempfile
import unittest
from typing import Any

import warpaes
from support import needed

try:
    needed("pyarrow")
    needed("fsspec")
except unittest.SkipTest as reason:
    print(reason)
    sys.exit(77)
from warpaes.bulk import cli, keys, manifest, storage, stores

SIZES = [0, 1, 4095, 4096, 100_003, storage.WINDOW - 1, storage.WINDOW, storage.WINDOW + 1, 3 * storage.WINDOW + 5]


#: A folder in memory. A small job on a disk would mostly wait for the disk, which these tests do not need.
MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") and shutil.disk_usage("/dev/shm").free > 2 << 30 else None


def bulk(*arguments: str | os.PathLike[str]) -> tuple[int, dict[str, Any]]:
    """Run the command in this process. Return its exit status and report."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        status = cli.main([str(argument) for argument in arguments] + ["-q", "--json"])
    return status, json.loads(out.getvalue() or "{}")


def refusal(*arguments: str | os.PathLike[str]) -> str:
    """Return the message of a command that refuses to start."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        status = cli.main([str(argument) for argument in arguments] + ["-q"])
    assert status == 2, (status, said.getvalue())
    return said.getvalue()


def said_by(*arguments: str | os.PathLike[str]) -> tuple[int, str]:
    """Return the exit status of the command and its standard error."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        status = cli.main([str(argument) for argument in arguments] + ["-q"])
    return status, said.getvalue()


def tink_open(keyset: bytes, sealed: bytes, associated: bytes = b"") -> bytes:
    """Return the plaintext that Tink decrypts."""
    from tink import json_proto_keyset_format, secret_key_access, streaming_aead

    streaming_aead.register()
    handle = json_proto_keyset_format.parse(keyset.decode(), secret_key_access.TOKEN)
    primitive = handle.primitive(streaming_aead.StreamingAead)
    with primitive.new_decrypting_stream(io.BytesIO(sealed), associated) as stream:
        data: bytes = stream.read()
    return data


class Case(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=MEMORY))
        self.addCleanup(shutil.rmtree, self.folder)
        self.key = self.folder / "key.json"
        self.key.write_bytes(warpaes.Keyset.generate("AES256_GCM_HKDF_4KB").to_json())
        self.key2 = self.folder / "key2.json"
        self.key2.write_bytes(warpaes.Keyset.generate("AES128_GCM_HKDF_1MB").to_json())
        for key in (self.key, self.key2):
            key.chmod(0o600)  # with a different mode, each key would cause a warning
        self.source, self.target = self.folder / "source", self.folder / "target"

    def content(self, sizes: list[int]) -> dict[str, bytes]:
        generator = random.Random(7)
        return {f"a/{i}/o b.{size}": generator.randbytes(size) for i, size in enumerate(sizes)}

    def write(self, sizes: list[int]) -> dict[str, bytes]:
        content = self.content(sizes)
        for name, data in content.items():
            (self.source / name).parent.mkdir(parents=True, exist_ok=True)
            (self.source / name).write_bytes(data)
        return content

    def files(self, folder: pathlib.Path) -> dict[str, bytes]:
        """Return the contents of a folder except bulk's own files."""
        return {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in folder.rglob("*")
            if path.is_file() and storage.FOLDER not in path.relative_to(folder).as_posix()
        }

    def load(self, folder: pathlib.Path, key: pathlib.Path | None = None) -> manifest.Manifest:
        """Return a target's manifest with its key, so that a test can alter and save the manifest."""
        holders = keys.KeySpec.read(str(key)).holders() if key is not None else None
        there = manifest.Manifest.load(stores.open_storage(str(folder)), holders)
        assert there is not None
        return there

    def name_data(self, folder: pathlib.Path, name: str) -> bytes:
        """Return an object's associated data."""
        return keys.name_data(self.load(folder).dataset, name)

    def without_manifest(self, folder: pathlib.Path) -> tuple[str, ...]:
        """Remove a target's manifest. Return the options with which commands accept its objects without a manifest."""
        dataset = self.load(folder).dataset
        (folder / manifest.NAME).unlink()
        return "--no-manifest", "--dataset", dataset

    def forget(self, folder: pathlib.Path, key: pathlib.Path) -> None:
        """Reset the manifest to its state before the first objects were written."""
        there = self.load(folder, key)
        for number, group in there.each():
            for row in group:
                row.state, row.key_id, row.wrapped, row.sha256, row.out_version = "pending", "", "", "", ""
                row.out_size = 0
            there.change(number)
        there.job.finished = False
        there.save()


class StoreCase(Case):
    """Tests that use moto's S3 in this process. `store` has one bucket, which is named bucket."""

    @classmethod
    def setUpClass(cls) -> None:
        for name in ("moto", "boto3"):
            needed(name)
        from s3_here import Here

        cls.store = Here()
        cls.addClassCleanup(cls.store.close)
