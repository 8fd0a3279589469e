"""Ranks of ``torch.distributed`` that load the same model. If a rank fails, the other ranks neither continue nor wait
for it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeVar


class Opened(Protocol):
    """An open model."""

    identity: str  #: equal on all ranks that have opened the same version of the same model

    def close(self) -> None:
        """Close all files."""


Model = TypeVar("Model", bound=Opened)


def together(
    group: Any, begin: Callable[[], Model], work: Callable[[Model], Iterator[tuple[str, Any]]]
) -> Iterator[tuple[str, Any]]:
    """Yield the results of ``work``. After ``begin`` and after ``work``, all ranks compare their outcomes.

    Args:
        group: A process group, or None for a single process.
        begin: A function that opens the model. The model is always closed at the end.
        work: A function that returns the results.

    Raises:
        RuntimeError: Another rank failed or stopped, or has opened a different model.
    """
    with contextlib.ExitStack() as stack:
        with _compared(group, "could not begin") as facts:
            opened = begin()
            stack.callback(opened.close)
            facts.append(opened.identity)
        with _compared(group, "stopped"):
            yield from work(opened)


@contextlib.contextmanager
def _compared(group: Any, what: str) -> Iterator[list[str]]:
    """Send the other ranks the outcome of a block, and the facts that the block has added to the list.

    Raises:
        RuntimeError: Another rank's block raised an exception or added different facts.
    """
    facts: list[str] = []
    if group is None:
        yield facts
        return
    import torch.distributed as dist

    def outcomes(error: str) -> list[tuple[str, list[str]]]:
        found: list[Any] = [None] * dist.get_world_size(group)
        dist.all_gather_object(found, (error, facts), group)
        return found

    try:
        yield facts
    except BaseException as error:
        with contextlib.suppress(Exception):  # fails if the other ranks have already exited
            outcomes(f"{type(error).__name__}: {error}")
        raise
    found = outcomes("")
    for number, (outcome, _) in enumerate(found):
        if outcome:
            raise RuntimeError(f"rank {number} {what}: {outcome}")
    for number, (_, others) in enumerate(found):
        if others != facts:
            raise RuntimeError(f"rank {number} has opened a different model, or a different version of the model")
