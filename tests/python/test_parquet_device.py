#!/usr/bin/env python3
"""Tests column chunks of encrypted Parquet in device memory, on the simulated GPU."""

from __future__ import annotations

import io
import unittest
import unittest.mock
from typing import Any

import support
import warpaes.parquet as wp
from warpaes.exceptions import InvalidTag

support.needed("pyarrow.parquet.encryption")
from test_parquet import KEY, ColumnChunks, content, hundred_rows, written  # noqa: E402


class OnDevice(ColumnChunks):
    """Runs the tests of spans in device memory."""

    def setUp(self) -> None:
        super().setUp()
        self.assertEqual(self.device, "cuda")


class Statuses(unittest.TestCase):
    """Tests of pages that are checked after several have been enqueued."""

    def setUp(self) -> None:
        self.data = written(
            hundred_rows(), use_dictionary=False, compression="none", data_page_size=400, write_batch_size=20
        )

    def patch(self, **values: int) -> None:
        from warpaes.parquet import _device, _pages

        for name, value in values.items():
            module: Any = _device if hasattr(_device, name) else _pages
            change = unittest.mock.patch.object(module, name, value)
            change.start()
            self.addCleanup(change.stop)
        _device._staging._movers.clear()
        self.addCleanup(_device._staging._movers.clear)

    def test_few_statuses(self) -> None:
        """Statuses are read when the memory for statuses is full. If it has no room for the statuses of one piece, the
        reader waits for each piece."""
        for room in (1, 2, 5, 64):
            self.patch(_STATUSES=room, _PIECE_BYTES=3000)
            with wp.open(io.BytesIO(self.data), KEY) as view:
                for span in view.column_chunks(device="cuda"):
                    self.assertEqual(content(span), view.read_at(span.offset, span.size))

    def test_each_page_is_checked(self) -> None:
        """A page that was altered is named, whether its statuses are read at the end or earlier."""
        with wp.open(io.BytesIO(self.data), KEY) as view:
            pages = view.column_pages()[0]
            starts, first = pages.starts(), pages.chunk.start
        self.assertGreater(len(starts), 4)
        for room in (4, 1000):
            self.patch(_STATUSES=room, _PIECE_BYTES=900)
            for number, end in enumerate(starts[1:]):
                altered = bytearray(self.data)
                altered[first + end - 20] ^= 1
                expected = self.assertRaisesRegex(
                    InvalidTag, f"^row group 0, column 0, page {number}: the page is not authentic"
                )
                with wp.open(io.BytesIO(altered), KEY) as view, expected:
                    view.column_chunks(device="cuda")

    def test_memory_of_the_host(self) -> None:
        from warpaes import Memory, _native
        from warpaes.aead import AESGCM

        image, there = bytearray(16), Memory(64, "device")
        for to, statuses in ((bytearray(64), there), (there, bytearray(64))):
            with self.assertRaisesRegex(ValueError, "must be in device memory"):
                _native.parquet_enqueue(AESGCM(KEY), b"", image, to, 0, False, False, 0, 0, 0, statuses, 0)
        with self.assertRaisesRegex(TypeError, "cipher"):
            not_a_cipher: Any = KEY
            _native.parquet_enqueue(not_a_cipher, b"", image, there, 0, False, False, 0, 0, 0, there, 0)
        self.assertEqual(
            _native.parquet_enqueue(AESGCM(KEY), b"", image, there, 0, False, False, 0, 0, 0, there, 0), (0, 0)
        )


del ColumnChunks  # another program runs it on the CPU

if __name__ == "__main__":
    support.main_on_simulated_gpu()
