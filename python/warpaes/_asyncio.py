"""Batches in an event loop."""

from __future__ import annotations

import asyncio
from typing import Any

__all__ = ["wait"]


def _finish(finished: asyncio.Future[None]) -> None:
    if not finished.done():
        finished.set_result(None)


async def wait(batch: Any) -> Any:
    """Return a batch's result once it is finished; it is cancelled if whoever awaits it is."""
    loop = asyncio.get_running_loop()
    descriptor = batch.fileno()
    if not batch.done():
        if descriptor < 0:
            return await loop.run_in_executor(None, batch.result)
        finished = loop.create_future()
        loop.add_reader(descriptor, _finish, finished)
        try:
            await finished
        except asyncio.CancelledError:
            batch.cancel()
            raise
        finally:
            loop.remove_reader(descriptor)
    return batch.result()
