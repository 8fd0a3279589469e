"""Tests other programs that read enveloped datasets in an object store, each with one URL and one key place.

The names in the datasets are encrypted; `InClear` reads a dataset with unencrypted names. `Blocks` runs the programs in
docs/with-your-tools.md, which have at most three lines after their imports. Programs that are not installed are
skipped.
"""

from __future__ import annotations

import ast
import csv
import functools
import io
import multiprocessing
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from typing import Any, ClassVar

import warpaes
from bulk_case import bulk
from support import needed, optional
from warpaes.fs import WarpaesFileSystem

TEXTS = ["one", "two", "three"]
ROWS = 1000
PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/with-your-tools.md"
#: The programs in the page's section, each with the first package that it needs.
PROGRAMS = {"pandas", "dask.dataframe", "pyarrow", "polars", "duckdb", "datasets", "ray.data", "torch"}
BLOCK = re.compile(r"^```python\n# needs: (.*?)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Texts:
    """A map-style torch dataset whose items are objects."""

    def __init__(self, files: WarpaesFileSystem, folder: str) -> None:
        self.files, self.paths = files, [f"{folder}/texts/{text}.txt" for text in TEXTS]

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> str:
        text: str = self.files.cat_file(self.paths[index]).decode()
        return text


@functools.cache
def store() -> Any:
    """Return the object store and the key manager that all tests share, because s3fs keeps its connections to the first
    store."""
    for name in ("moto", "boto3", "flask", "s3fs", "pyarrow"):
        needed(name)
    import boto3
    import fsspec
    from faulty_s3 import Store

    started = Store(slow=0.1)
    unittest.addModuleCleanup(started.close)
    for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_KMS", "AWS_ENDPOINT_URL_S3"):
        os.environ[name] = started.moto.url
        unittest.addModuleCleanup(os.environ.pop, name)
    fsspec.register_implementation("warpaes", WarpaesFileSystem, clobber=True)  # as the wheel's entry point does
    manager = boto3.client("kms")
    key = manager.create_key()["KeyMetadata"]["KeyId"]
    manager.create_alias(AliasName="alias/files", TargetKeyId=key)
    return started


class Dataset(unittest.TestCase):
    """A dataset under a key in a key manager. `prefix` is its path, and `place` is the place of the key."""

    NAMES: ClassVar[tuple[str, ...]] = ("--encrypt-names",)
    place = "aws-kms://alias/files"

    @classmethod
    def setUpClass(cls) -> None:
        cls.store = store()
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.write(cls.folder / "source")
        cls.prefix = f"bucket/{cls.__name__}"
        given = ("--endpoint-url", cls.store.moto.url, "--envelope", "object", *cls.NAMES)
        status, report = bulk("encrypt", "-k", cls.place, *given, cls.folder / "source", f"s3://{cls.prefix}")
        assert status == 0, report

    @classmethod
    def write(cls, source: pathlib.Path) -> None:
        raise NotImplementedError


class Readers(Dataset):
    @classmethod
    def write(cls, source: pathlib.Path) -> None:
        import pyarrow.parquet

        (source / "parts").mkdir(parents=True)
        (source / "texts").mkdir()
        for part in range(2):
            table = pyarrow.table({"x": range(part * ROWS, (part + 1) * ROWS)})
            pyarrow.parquet.write_table(table, source / f"parts/{part}.parquet")
        with open(source / "table.csv", "w", newline="") as file:
            csv.writer(file).writerows([["x"], *([i] for i in range(ROWS))])
        (source / "lines.jsonl").write_text("".join(f'{{"text": "{text}"}}\n' for text in TEXTS))
        for text in TEXTS:
            (source / f"texts/{text}.txt").write_text(text)

    def setUp(self) -> None:
        self.options = {"warpaes": {"keyset": self.place}}
        self.files = WarpaesFileSystem(self.place, target_protocol="s3")
        self.sum = sum(range(2 * ROWS))

    def test_names(self) -> None:
        """If names are encrypted, the store shows no plain name. Readers see the plain names."""
        stored = " ".join(self.store.keys(self.prefix.removeprefix("bucket/")))
        for name in ("parts", "lines", "table", "texts", "three"):
            self.assertEqual(name in stored, not self.NAMES, name)
        below = [path.removeprefix(self.prefix + "/") for path in self.files.find(self.prefix)]
        self.assertEqual(below, ["lines.jsonl", "parts/0.parquet", "parts/1.parquet", "table.csv",
                                 *sorted(f"texts/{text}.txt" for text in TEXTS)])  # fmt: skip
        with warpaes.open(f"s3://{self.prefix}/texts/one.txt", keyset=self.place) as file:
            self.assertEqual(file.read(), b"one")

    def test_pandas(self) -> None:
        pandas = needed("pandas")
        table = pandas.read_csv(f"warpaes::s3://{self.prefix}/table.csv", storage_options=self.options)
        self.assertEqual(table["x"].sum(), sum(range(ROWS)))
        table = pandas.read_parquet(f"warpaes::s3://{self.prefix}/parts/0.parquet", storage_options=self.options)
        self.assertEqual(len(table), ROWS)

    def test_pyarrow(self) -> None:
        dataset = needed("pyarrow.dataset")
        table = dataset.dataset(f"{self.prefix}/parts", filesystem=self.files, format="parquet").to_table()
        self.assertEqual(sum(table["x"].to_pylist()), self.sum)

    def test_duckdb(self) -> None:
        connection = needed("duckdb").connect()
        connection.register_filesystem(self.files)
        query = f"select sum(x) from 'warpaes://{self.prefix}/parts/*.parquet'"
        self.assertEqual(connection.sql(query).fetchall(), [(self.sum,)])

    def test_polars(self) -> None:
        polars, dataset = needed("polars"), needed("pyarrow.dataset")
        parts = dataset.dataset(f"{self.prefix}/parts", filesystem=self.files, format="parquet")
        self.assertEqual(polars.scan_pyarrow_dataset(parts).select("x").sum().collect().item(), self.sum)
        with self.files.open(f"{self.prefix}/parts/0.parquet") as file:
            self.assertEqual(len(polars.read_parquet(file)), ROWS)

    def test_dask(self) -> None:
        optional("dask")
        dataframe = optional("dask.dataframe")
        table = dataframe.read_parquet(f"warpaes::s3://{self.prefix}/parts/*.parquet", storage_options=self.options)
        self.assertEqual(table["x"].sum().compute(scheduler="threads"), self.sum)

    def test_hugging_face(self) -> None:
        load_dataset = optional("datasets").load_dataset
        options = {"warpaes": {"keyset": self.place, "target_protocol": "s3"}}
        for streaming in (True, False):
            with self.subTest(streaming=streaming):
                rows = load_dataset(
                    "json",
                    data_files=f"warpaes://{self.prefix}/lines.jsonl",
                    split="train",
                    streaming=streaming,
                    storage_options=options,
                    cache_dir=str(self.folder / "cache" / type(self).__name__),
                )
                self.assertEqual([row["text"] for row in rows], TEXTS)

    def test_torch_workers(self) -> None:
        DataLoader = optional("torch.utils.data").DataLoader  # noqa: N806
        for how in ("fork", "spawn", "forkserver"):
            with self.subTest(how):
                texts = Texts(self.files, self.prefix)
                loader = DataLoader(
                    texts, batch_size=1, num_workers=2, multiprocessing_context=multiprocessing.get_context(how)
                )
                self.assertEqual([batch[0] for batch in loader], TEXTS)

    def test_processes(self) -> None:
        """Without torch, a file system is sent to other processes together with its key place."""
        for how in ("fork", "spawn", "forkserver"):
            with self.subTest(how), multiprocessing.get_context(how).Pool(2) as pool:
                texts = Texts(self.files, self.prefix)
                self.assertEqual(pool.map(texts.__getitem__, range(3)), TEXTS)

    def test_ray(self) -> None:
        ray = optional("ray")
        optional("ray.data")
        environment: dict[str, Any] = {"env_vars": {"PYTHONPATH": os.environ.get("PYTHONPATH", "")}}
        ray.init(num_cpus=2, include_dashboard=False, runtime_env=environment, log_to_driver=False)
        try:
            table = ray.data.read_parquet(f"{self.prefix}/parts", filesystem=self.files)
            self.assertEqual(table.sum("x"), self.sum)
        finally:
            ray.shutdown()

    def test_zip_and_text(self) -> None:
        """The standard library reads these formats."""
        with io.TextIOWrapper(self.files.open(f"{self.prefix}/table.csv")) as file:
            self.assertEqual(sum(int(row["x"]) for row in csv.DictReader(file)), sum(range(ROWS)))


class InClear(Readers):
    """Repeats the reader tests on a dataset with unencrypted names."""

    NAMES: ClassVar[tuple[str, ...]] = ()


class Blocks(Dataset):
    """Runs the programs on the page, which read `bucket/trips`."""

    @classmethod
    def write(cls, source: pathlib.Path) -> None:
        import pyarrow.parquet

        source.mkdir()
        for day in range(2):
            table = pyarrow.table({"fare": range(day * ROWS, (day + 1) * ROWS)})
            pyarrow.parquet.write_table(table, source / f"day-{day + 1}.parquet")

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.bytes = sum(path.stat().st_size for path in (cls.folder / "source").iterdir())
        # fsspec finds file systems through the entry points of installed packages.
        installed = cls.folder / "packages/warpaes-0.dist-info"
        installed.mkdir(parents=True)
        (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: warpaes\nVersion: 0\n")
        (installed / "entry_points.txt").write_text("[fsspec.specs]\nwarpaes = warpaes.fs:WarpaesFileSystem\n")

    def run_block(self, packages: str, block: str, total: int) -> None:
        """Run a block as a program and compare its ``total``."""
        pythons = [sys.executable, os.environ.get("PYTHON_WITH_TOOLS", "")]
        found = [python for python in pythons if python and _imports(python, packages)]
        if not found:
            self.skipTest(f"{packages} cannot be imported; PYTHON_WITH_TOOLS names an interpreter that has them")
        program = block.replace("bucket/trips", self.prefix)
        program += f"\nassert total == {total}, total\n"
        if "ray" in packages:
            begin = "import ray\nray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)\n"
            program = f"{begin}{program}ray.shutdown()\n"
        # A process that has used pyarrow 26 sometimes aborts in its static destructors.
        program += "import os\nos._exit(0)\n"
        path = os.environ.get("PYTHONPATH", "")
        environment = os.environ | {"PYTHONPATH": f"{path}:{self.folder}/packages", "HF_HUB_OFFLINE": "1"}
        environment |= {"HOME": str(self.folder), "WARPAES_CALIBRATION": "none", "RAY_USAGE_STATS_ENABLED": "0"}
        done = subprocess.run(
            [found[0], "-B", "-c", program],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=240,
        )
        self.assertEqual(done.returncode, 0, f"{block}\n{done.stderr}")

    def test_every_program_has_a_block_of_three_lines(self) -> None:
        self.assertEqual(set(BLOCKS), PROGRAMS)
        for block in BLOCKS.values():
            lines = [each for each in ast.parse(block[1]).body if not isinstance(each, (ast.Import, ast.ImportFrom))]
            self.assertLessEqual(len(lines), 3, block[1])
            self.assertLessEqual(len(block[1].split("\n\n", 1)[1].strip().split("\n")), 3, block[1])


def _imports(python: str, packages: str) -> bool:
    return subprocess.run([python, "-c", f"import {packages}"], capture_output=True, check=False).returncode == 0


def _section() -> str:
    return PAGE.read_text().partition("## A dataset in a bucket")[2].partition("\n## ")[0]


BLOCKS = {packages.partition(",")[0]: (packages, block) for packages, block in BLOCK.findall(_section())}


def _test_of(name: str) -> Any:
    def test(self: Blocks) -> None:
        packages, block = BLOCKS[name]
        if name != "torch":
            self.run_block(packages, block, sum(range(2 * ROWS)))
            return
        self.assertIn('"spawn"', block)
        for how in ("fork", "spawn", "forkserver"):
            with self.subTest(how):
                self.run_block(packages, block.replace('"spawn"', f'"{how}"'), self.bytes)

    return test


for each in BLOCKS:
    setattr(Blocks, "test_" + each.replace(".", "_"), _test_of(each))


if __name__ == "__main__":
    unittest.main()
