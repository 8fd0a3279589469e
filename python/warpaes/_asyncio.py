"""Batches in an event loop."""

from __future__ import annotations

import asyncio
from typing import Any

__all__ = ["wait"]


async def wait(batch: Any) -> Any:
    """Return a batch's result once it is finished; it is cancelled if whoever awaits it is."""
    loop = asyncio.get_running_loop()
    descriptor = batch.fileno()
    if not batch.done():
        if descriptor < 0:
            return await loop.run_in_executor(None, batch.result)
        finished = loop.create_future()
        loop.add_reader(descriptor, lambda: finished.done() or finished.set_result(None))
        try:
            await finished
        except asyncio.CancelledError:
            batch.cancel()
            raise
        finally:
            loop.remove_reader(descriptor)
    return batch.result()
