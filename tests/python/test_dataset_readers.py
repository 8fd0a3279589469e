"""An enveloped dataset in an object store, read by other programs, each with one URL and one key place.

Each program runs in at most three lines. Programs that are not installed are skipped.
"""

from __future__ import annotations

import csv
import io
import multiprocessing
import os
import unittest
from typing import Any

from bulk_case import Case, bulk
from support import needed, optional
from warpaes.fs import WarpaesFileSystem

TEXTS = ["one", "two", "three"]
ROWS = 1000


class Texts:
    """Items of a map-style torch dataset, each an object."""

    def __init__(self, files: WarpaesFileSystem, folder: str) -> None:
        self.files, self.paths = files, [f"{folder}/{text}.txt" for text in TEXTS]

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> str:
        text: str = self.files.cat_file(self.paths[index]).decode()
        return text


class Readers(Case):
    @classmethod
    def setUpClass(cls) -> None:
        for name in ("moto", "boto3", "flask", "s3fs", "pyarrow"):
            needed(name)
        from faulty_s3 import Store

        cls.store = Store(slow=0.1)
        cls.addClassCleanup(cls.store.close)

    def setUp(self) -> None:
        super().setUp()
        import boto3
        import fsspec
        import pyarrow
        import pyarrow.parquet

        for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_KMS", "AWS_ENDPOINT_URL_S3"):
            os.environ[name] = self.store.moto.url
            self.addCleanup(os.environ.pop, name)
        fsspec.register_implementation("warpaes", WarpaesFileSystem, clobber=True)  # as the wheel's entry point does
        folder = self.source / "parts"
        folder.mkdir(parents=True)
        for part in range(2):
            table = pyarrow.table({"x": range(part * ROWS, (part + 1) * ROWS)})
            pyarrow.parquet.write_table(table, folder / f"{part}.parquet")
        with open(self.source / "table.csv", "w", newline="") as file:
            csv.writer(file).writerows([["x"], *([i] for i in range(ROWS))])
        (self.source / "lines.jsonl").write_text("".join(f'{{"text": "{text}"}}\n' for text in TEXTS))
        for text in TEXTS:
            (self.source / f"{text}.txt").write_text(text)
        self.place = "aws-kms://" + boto3.client("kms").create_key()["KeyMetadata"]["Arn"]
        self.prefix = "bucket/" + self.id().rpartition(".")[2]
        given = ("--endpoint-url", self.store.moto.url, "--envelope", "object")
        status, _ = bulk("encrypt", "-k", self.place, *given, self.source, f"s3://{self.prefix}")
        self.assertEqual(status, 0)
        self.options = {"warpaes": {"keyset": self.place}}
        self.files = WarpaesFileSystem(self.place, target_protocol="s3")
        self.sum = sum(range(2 * ROWS))

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
                    cache_dir=str(self.folder / "cache"),
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
        """The same without torch: a file system is sent to other processes with the place of its key."""
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
        """Formats of the standard library."""
        with io.TextIOWrapper(self.files.open(f"{self.prefix}/table.csv")) as file:
            self.assertEqual(sum(int(row["x"]) for row in csv.DictReader(file)), sum(range(ROWS)))


if __name__ == "__main__":
    unittest.main()
