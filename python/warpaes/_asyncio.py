"""Waits for batches in an event loop."""

from __future__ import annotations

import asyncio
from typing import Any

__all__ = ["wait"]

# The futures that wait for a batch, by event loop and descriptor. A loop has only one reader for each descriptor.
_waiting: dict[tuple[asyncio.AbstractEventLoop, int], set[asyncio.Future[None]]] = {}


def _finish(all_waiting: set[asyncio.Future[None]]) -> None:
    for finished in all_waiting:
        if not finished.done():
            finished.set_result(None)


async def wait(batch: Any) -> Any:
    """Wait until a batch has finished and return its result. Cancelling the last waiter in a loop cancels the batch."""
    loop = asyncio.get_running_loop()
    descriptor = batch.fileno()
    if not batch.done():
        if descriptor < 0:
            return await loop.run_in_executor(None, batch.result)
        finished = loop.create_future()
        place = (loop, descriptor)
        others = _waiting.setdefault(place, set())
        if not others:
            loop.add_reader(descriptor, _finish, others)
        others.add(finished)
        try:
            await finished
        except asyncio.CancelledError:
            if len(others) == 1:
                batch.cancel()
            raise
        finally:
            others.remove(finished)
            if not others:
                del _waiting[place]
                loop.remove_reader(descriptor)
    return batch.result()
