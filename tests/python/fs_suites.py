#!/usr/bin/env python3
"""Runs fsspec's own abstract test suites on warpaes.fs over local files, files in memory and S3 objects (moto).

`fs_suites.py -k local` runs the suites of one underlying file system.
"""

from __future__ import annotations

import os
import sys
import unittest
from collections.abc import Iterator
from typing import Any

import warpaes
from faulty_s3 import Moto
from support import needed

try:
    pytest = needed("pytest")
    needed("fsspec.tests.abstract")
except unittest.SkipTest as skipped:
    print(skipped)
    sys.exit(77)

from fsspec.implementations.memory import MemoryFileSystem
from fsspec.tests import abstract
from fsspec.tests.abstract import mv as abstract_mv
from warpaes.fs import WarpaesFileSystem

KEYSET = warpaes.Keyset.generate("AES256_GCM_HKDF_4KB")


@pytest.fixture(autouse=True)
def no_waiting_for_disks(monkeypatch: Any) -> None:
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


class Local(abstract.AbstractFixtures):
    @pytest.fixture
    def fs(self) -> Any:
        return WarpaesFileSystem(KEYSET, target_protocol="file", target_options={"auto_mkdir": True})

    @pytest.fixture
    def fs_path(self, tmpdir: Any) -> str:
        return str(tmpdir)


class Memory(abstract.AbstractFixtures):
    @pytest.fixture
    def fs(self) -> Iterator[Any]:
        yield WarpaesFileSystem(KEYSET, target_protocol="memory")
        MemoryFileSystem.store.clear()
        MemoryFileSystem.pseudo_dirs[:] = [""]

    @pytest.fixture
    def fs_join(self) -> Any:
        return lambda *parts: "/".join(parts)

    @pytest.fixture
    def fs_path(self) -> str:
        return "/folder"


@pytest.fixture(scope="session")
def endpoint() -> Iterator[str]:
    os.environ.update(
        AWS_ACCESS_KEY_ID="test", AWS_SECRET_ACCESS_KEY="test", AWS_DEFAULT_REGION="us-east-1", AWS_CONFIG_FILE="/"
    )
    needed("s3fs")
    moto = Moto()
    yield moto.url
    moto.close()


class S3(abstract.AbstractFixtures):
    @pytest.fixture
    def fs(self, endpoint: str) -> Iterator[Any]:
        options = {"anon": False, "client_kwargs": {"endpoint_url": endpoint}}
        files = WarpaesFileSystem(KEYSET, target_protocol="s3", target_options=options)
        files.invalidate_cache()
        files.fs.mkdir("bucket")
        yield files
        files.fs.rm("bucket", recursive=True)

    @pytest.fixture
    def fs_path(self) -> str:
        return "bucket"

    @pytest.fixture
    def supports_empty_directories(self) -> bool:
        return False


class NamedLocal(Local):
    """Local files with encrypted names."""

    @pytest.fixture
    def fs(self, tmpdir: Any) -> Any:
        options = {"auto_mkdir": True}
        return WarpaesFileSystem(KEYSET, target_protocol="file", target_options=options, encrypted_names=str(tmpdir))


class NamedMemory(Memory):
    """Files in memory with encrypted names."""

    @pytest.fixture
    def fs(self) -> Iterator[Any]:
        yield WarpaesFileSystem(KEYSET, target_protocol="memory", encrypted_names="memory://folder")
        MemoryFileSystem.store.clear()
        MemoryFileSystem.pseudo_dirs[:] = [""]


class NamedS3(S3):
    """S3 objects with encrypted names."""

    @pytest.fixture
    def fs(self, endpoint: str) -> Iterator[Any]:
        options = {"anon": False, "client_kwargs": {"endpoint_url": endpoint}}
        files = WarpaesFileSystem(KEYSET, target_protocol="s3", target_options=options, encrypted_names="s3://bucket")
        files.invalidate_cache()
        files.fs.fs.mkdir("bucket")
        yield files
        files.fs.fs.rm("bucket", recursive=True)


SUITES = [
    abstract.AbstractCopyTests,
    abstract.AbstractGetTests,
    abstract.AbstractOpenTests,
    abstract.AbstractPipeTests,
    abstract.AbstractPutTests,
]
for below in (Local, Memory, S3, NamedLocal, NamedMemory, NamedS3):
    # The suites have separate classes, because some tests have the same name in two suites.
    for suite in SUITES if below is not NamedS3 else SUITES[2:4]:
        name = f"Test{below.__name__}{suite.__name__}"
        globals()[name] = type(name, (below, suite), {})


def test_moving_into_no_folder(tmpdir: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The suite's own method would create a file system for the protocol "file"."""
    files = WarpaesFileSystem(KEYSET, target_protocol="file")
    monkeypatch.setattr(abstract_mv.fsspec, "filesystem", lambda protocol: files)
    abstract_mv.test_move_raises_error_with_tmpdir(tmpdir)


class Sample:
    """Divides the tests of glob patterns over S3 among GoogleTest's shards, as CI sets them in the environment. All
    other tests, including those of the same patterns over local files, run in every shard."""

    @staticmethod
    def pytest_collection_modifyitems(items: list[Any]) -> None:
        shards, shard = int(os.environ.get("GTEST_TOTAL_SHARDS", 1)), int(os.environ.get("GTEST_SHARD_INDEX", 0))
        repeated = [item for item in items if "S3" in item.nodeid and "glob_edge_cases[" in item.nodeid]
        others = {id(item) for number, item in enumerate(repeated) if number % shards != shard}
        items[:] = [item for item in items if id(item) not in others]


if __name__ == "__main__":
    sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "-W", "ignore", __file__, *sys.argv[1:]], [Sample()]))
