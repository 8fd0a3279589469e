"""Tests the threads of a worker: the number of concurrent rows depends on the storage, the size and the processor
load."""

from __future__ import annotations

import threading
import time
import unittest
import unittest.mock

from warpaes.bulk import row_threads
from warpaes.bulk.row_threads import LOOK, SMALL, RowThreads
from warpaes.bulk.rows import Row

MOST = 8


class Clock:
    """Replaces `time` in the module under test."""

    now = used = 0.0

    def monotonic(self) -> float:
        return self.now

    def process_time(self) -> float:
        return self.used


class Threads(unittest.TestCase):
    def setUp(self) -> None:
        self.clock = Clock()
        patch = unittest.mock.patch.object(row_threads, "time", self.clock)
        patch.start()
        self.addCleanup(patch.stop)
        self.running: set[int] = set()
        self.ran: list[int] = []
        self.changed = threading.Condition()
        self.ends = threading.Event()  # when it is set, the rows end
        self.addCleanup(self.ends.set)

    def run_row(self, number: int, what: str, row: Row) -> None:
        with self.changed:
            self.running.add(number)
            self.changed.notify_all()
        self.ends.wait()
        with self.changed:
            self.running.remove(number)
            self.ran.append(number)
            self.changed.notify_all()

    def threads(self, nearby: bool = True) -> RowThreads:
        threads = RowThreads(self.run_row, MOST, nearby)
        self.addCleanup(threads.close)
        self.addCleanup(self.ends.set)
        return threads

    def submit(self, threads: RowThreads, first: int, count: int, size: int) -> None:
        threads.submit([(number, "encrypt", Row("k", "k", size, "")) for number in range(first, first + count)])

    def expect_running(self, *numbers: int) -> None:
        with self.changed:
            self.assertTrue(self.changed.wait_for(lambda: self.running == set(numbers), 10), self.running)

    def look(self, busy: float) -> None:
        self.clock.now += LOOK
        self.clock.used += busy * LOOK

    def test_one_thread_while_the_processor_is_busy(self) -> None:
        threads = self.threads()
        self.submit(threads, 0, 20, SMALL)
        for _ in range(5):
            self.look(busy=1)
            threads.adapt()
        self.expect_running(0)
        self.assertTrue(threads.may_adapt)
        self.ends.set()
        with self.changed:
            self.assertTrue(self.changed.wait_for(lambda: len(self.ran) == 20, 10))
        self.assertEqual(self.ran, list(range(20)))
        self.assertFalse(threads.may_adapt)

    def test_more_threads_while_it_idles(self) -> None:
        threads = self.threads()
        self.submit(threads, 0, 20, 0)
        for count in (2, 4, 8, 8):
            self.look(busy=0.1)
            threads.adapt()
            self.expect_running(*range(count))
        self.assertFalse(threads.may_adapt)

    def test_no_second_look_within_the_time(self) -> None:
        threads = self.threads()
        self.submit(threads, 0, 20, 0)
        self.look(busy=0)
        threads.adapt()
        threads.adapt()
        self.expect_running(0, 1)

    def test_none_for_rows_that_do_not_wait(self) -> None:
        threads = self.threads()
        self.submit(threads, 0, 1, 0)
        self.look(busy=0)
        threads.adapt()
        self.submit(threads, 1, 3, 0)
        self.expect_running(0)

    def test_large_objects_do_not_wait_for_small_ones(self) -> None:
        threads = self.threads()
        self.submit(threads, 0, 2, 10)
        self.submit(threads, 2, 3, SMALL + 1)
        self.submit(threads, 5, 2, -1)  # rows from a list of names, whose sizes are not yet known
        self.expect_running(0, 2, 3, 4, 5, 6)

    def test_all_threads_for_storage_that_is_far_away(self) -> None:
        threads = self.threads(nearby=False)
        self.submit(threads, 0, 20, 10)
        self.expect_running(*range(MOST))
        self.assertFalse(threads.may_adapt)

    def test_close_drops_the_rows_that_wait(self) -> None:
        threads = self.threads()
        self.submit(threads, 0, 20, 10)
        self.expect_running(0)
        closing = threading.Thread(target=threads.close)
        closing.start()
        while threads.may_adapt:  # wait until the waiting rows are dropped
            time.sleep(0.001)
        self.ends.set()
        closing.join(10)
        self.assertFalse(closing.is_alive())
        self.assertEqual(self.ran, [0])


if __name__ == "__main__":
    unittest.main()
