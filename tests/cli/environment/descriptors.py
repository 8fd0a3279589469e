"""Cases with standard descriptors that are missing, full, closed at the other end, or open for the wrong direction."""

import os
import signal

from recipes import RECIPES, SELFTEST
from world import NOT_FOUND, READ, WRITE


def put(fd, opened):
    os.dup2(opened, fd)
    if opened > 2:
        os.close(opened)


def closed(fd):
    os.close(fd)


def full(fd):
    put(fd, os.open("/dev/full", os.O_WRONLY))


def only_read(fd):
    put(fd, os.open("/dev/null", os.O_RDONLY))


def only_write(fd):
    put(fd, os.open("/dev/null", os.O_WRONLY))


def broken_pipe(fd):
    reader, writer = os.pipe()
    put(fd, reader if fd == 0 else writer)
    os.close(writer if fd == 0 else reader)


def directory(fd):
    put(fd, os.open("/", os.O_RDONLY))


STATES = [closed, full, only_read, only_write, broken_pipe, directory]
UNREADABLE = {closed, full, only_write, directory}
UNWRITABLE = {closed, full, only_read, broken_pipe, directory}
WHICH = ((0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2))


def case(recipe, state, fds):
    def enter():
        for fd in fds:
            state(fd)

    allowed = {recipe.status}
    stdin = b""
    if recipe.reads and 0 in fds and state in UNREADABLE:
        allowed = {READ, NOT_FOUND}
    elif recipe.prints and 1 in fds and state in UNWRITABLE:
        # Lost data is a failure. If the reader of text output has gone, as after `head`, the command ends silently.
        allowed = {-signal.SIGPIPE} if state is broken_pipe and not recipe.data else {WRITE}
    elif recipe.reads and 0 not in fds:
        stdin = None
    more = {} if stdin is None else {"stdin": stdin}
    # An empty input is also valid, but the outputs then differ from the expected outputs.
    outputs = {} if recipe.reads and 0 in fds else recipe.outputs
    names = ", ".join(str(fd) for fd in fds)

    def prepare(world):
        world.extra |= set(recipe.outputs)

    return recipe.case(
        "descriptors",
        f"{state.__name__} {names}",
        enter=enter,
        allowed=allowed,
        outputs=outputs,
        prepare=prepare,
        **more,
    )


def cases():
    for recipe in RECIPES:
        for state in STATES:
            for fds in WHICH:
                yield case(recipe, state, fds)
    for fds in WHICH:
        yield case(SELFTEST, closed, fds)
