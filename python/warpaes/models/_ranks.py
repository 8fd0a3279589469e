"""Ranks of ``torch.distributed`` that load one model: none goes on, and none waits, when another one has failed."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

Opened = TypeVar("Opened")


def together(
    group: Any,
    begin: Callable[[], Opened],
    work: Callable[[Opened], Iterator[tuple[str, Any]]],
    end: Callable[[Opened], None],
) -> Iterator[tuple[str, Any]]:
    """Yield the results of ``work``, with the outcomes of all ranks compared after ``begin`` and after ``work``.

    Args:
        group: A process group, or None for a process of its own.
        begin: Returns an object for ``work`` and ``end``.
        work: Returns the results.
        end: Is called last, whatever happens.

    Raises:
        RuntimeError: Another rank failed or stopped.
    """
    with _compared(group, "could not begin"):
        opened = begin()
    try:
        with _compared(group, "stopped"):
            yield from work(opened)
    finally:
        end(opened)


@contextlib.contextmanager
def _compared(group: Any, what: str) -> Iterator[None]:
    """Tell the other ranks how a block ended, and raise an exception if theirs ended by one."""
    if group is None:
        yield
        return
    import torch.distributed as dist

    def outcomes(own: str) -> list[str]:
        found: list[Any] = [None] * dist.get_world_size(group)
        dist.all_gather_object(found, own, group)
        return found

    try:
        yield
    except BaseException as error:
        with contextlib.suppress(Exception):  # the others have gone
            outcomes(f"{type(error).__name__}: {error}")
        raise
    found = outcomes("")
    for number, outcome in enumerate(found):
        if outcome:
            raise RuntimeError(f"rank {number} {what}: {outcome}")
