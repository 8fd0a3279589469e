"""Cases with unreadable and read-only folders, full file systems, results with the same name, and another user."""

import json
import os
import re
import select
import subprocess
import sys
import time

from recipes import BY_NAME, RECIPES, WRITING, K
from signals import feed
from world import ENC, LONGEST, NOBODY, NOT_FOUND, SAME_FILE, WRITE, Case

AS_ROOT = os.geteuid() == 0
OTHER = 65533  # another user


# ------------------------------------------------------------------------------------------------ read-only and full


def read_only():
    for recipe in RECIPES:
        writes = bool(recipe.outputs) or recipe.changes_keys

        def prepare(world):
            os.chmod(world.folder, 0o555)

        allowed = {WRITE} if writes and recipe.status == 0 else {recipe.status, WRITE}
        user = NOBODY if AS_ROOT else None
        yield recipe.case("places", "a read-only folder", prepare=prepare, user=user, allowed=allowed)


class Mounted:
    """A file system of 256 KiB, or None if it cannot be mounted."""

    def __init__(self, template):
        self.folder = template.base / "small"
        self.folder.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", "size=256k,mode=777", "tmpfs", self.folder]
        self.there = AS_ROOT and subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode == 0
        self.cases = 0

    def remove(self):
        if self.there:
            subprocess.run(["umount", self.folder], check=True)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def full(mounted):
    if not mounted.there:
        return
    for recipe in WRITING:
        if "out" not in recipe.outputs:
            continue
        for left in (0, 4096, 20_000):
            for replaces in (False, True):
                if replaces and recipe.arguments[0] == "keygen":
                    continue
                mounted.cases += 1
                place = str(mounted.folder / str(mounted.cases))
                where = os.path.join(place, "out")
                arguments = [where if argument == "out" else argument for argument in recipe.arguments]
                if replaces:
                    arguments.insert(1, "-f")

                def prepare(world, place=place, where=where, left=left, replaces=replaces):
                    os.mkdir(place, 0o777)
                    if replaces:
                        with open(where, "wb") as file:
                            file.write(b"old")
                    with open(place + "-rest", "wb", buffering=0) as file:
                        state = os.statvfs(place)
                        for _ in range(max(0, state.f_bfree * state.f_bsize - left) // 4096):
                            file.write(bytes(4096))

                def check(world, result, place=place, replaces=replaces):
                    found = sorted(os.listdir(place))
                    content = read(os.path.join(place, "out")) if "out" in found else None
                    os.unlink(place + "-rest")
                    for name in found:
                        os.unlink(os.path.join(place, name))
                    os.rmdir(place)
                    if found not in ([], ["out"]):
                        return [f"the folder contains {found}"]
                    if result.status != 0 and content != (b"old" if replaces else None):
                        return [f"failure, and the output is {str(content)[:40]}"]
                    return []

                yield recipe.case(
                    "full",
                    f"{left} bytes left{', replacing' if replaces else ''}",
                    arguments=arguments,
                    outputs={},
                    prepare=prepare,
                    check=check,
                    allowed={recipe.status, WRITE},
                )


# ------------------------------------------------------------------------------------------ several inputs and results


def tree(world, **files):
    for name, content in files.items():
        path = world.path(name.replace("__", "/").replace("_dot_", "."))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if isinstance(content, bytes):
            with open(path, "wb") as file:
                file.write(content)
        else:
            content(path)
    world.extra_inputs |= {b"in", b"x", b"y"}
    world.extra |= {name.replace("__", "/").replace("_dot_", ".").split("/")[0] for name in files} | {"out"}


def content_of(world):
    found = {}
    for root, _, names in os.walk(world.folder):
        for name in names:
            path = os.path.join(root, name)
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    found[path] = file.read()
    return found


def refused_before_anything(world, result):
    return [] if content_of(world) == world.before else ["something was done"]


def clash(name, arguments, allowed, **files):
    def prepare(world):
        tree(world, **files)
        world.before = content_of(world)

    return Case("places", name, arguments, prepare=prepare, allowed=allowed, check=refused_before_anything)


def clashes():
    one = {SAME_FILE, 2}
    for force in ([], ["-f"]):
        into = ["encrypt", *K, *force, "--output-dir"]
        a = {"a": b"a", "a_dot_warpaes": b"b"}
        yield clash(f"a result that replaces an input {force}", [*into, ".", "a", "a.warpaes"], one, **a)
        yield clash(f"an input that a result replaces {force}", [*into, ".", "a.warpaes", "a"], one, **a)
        linked = {"in__a": b"a", "d__a_dot_warpaes": b"b", "out": lambda path: os.symlink("d", path)}
        yield clash(f"through a link {force}", [*into, "out", "in/a", "d/a.warpaes"], one, **linked)
        hard = {
            "a": b"a",
            "b": b"b",
            "out__a_dot_warpaes": lambda path: os.link(os.path.join(os.path.dirname(path), "../b"), path),
        }
        yield clash(f"a hard link {force}", [*into, "out", "a", "b"], one, **hard)
        soft = {**a, "out__a_dot_warpaes": lambda path: os.symlink("../a.warpaes", path)}
        yield clash(f"a link to an input {force}", [*into, "out", "a", "a.warpaes"], one, **soft)
        two = {"x__a": b"a", "y__a": b"b", "out__x": lambda path: os.symlink("y", path), "out__y__z": b""}
        yield clash(f"a link to a folder among the results {force}", [*into, "out", "x", "y"], one, **two)
        same = {
            "a": b"a",
            "b": b"b",
            "out__a_dot_warpaes": b"old",
            "out__b_dot_warpaes": lambda path: os.symlink("a.warpaes", path),
        }
        yield clash(f"a link from one result to another {force}", [*into, "out", "a", "b"], one, **same)
        fresh = {"x__a": b"a", "y__a": b"b"}
        yield clash(f"one name {force}", [*into, "new/folder", "x/a", "y/a"], one, **fresh)
        yield clash(f"the same name in two folders {force}", [*into, "new", "x", "y/../x"], one, **fresh)
    back = {"a_dot_warpaes": b"a", "a": b"b"}
    arguments = ["decrypt", *K, "-f", "--output-dir", ".", "a", "a.warpaes"]
    yield clash("decryption that replaces an input", arguments, one, **back)


def unreadable():
    """Check that unreadable files are reported and all other files are processed."""

    def prepare(world):
        tree(world, in__a=world.template.plain, in__b__c=b"x", in__d=world.template.plain)
        os.chmod(world.path("in/b"), 0)
        if AS_ROOT:
            for root, folders, names in os.walk(world.folder):
                for name in folders + names:
                    os.chown(os.path.join(root, name), NOBODY, NOBODY)

    def check(world, result):
        entries = json.loads(result.stdout)["files"]
        told = {os.path.basename(entry["input"]): entry["status"] for entry in entries}
        found = [] if told == {"a": 0, "b": NOT_FOUND, "d": 0} else [f"the record contains {told}"]
        return found if b"in/b" in result.stderr else [*found, "the message does not name the folder"]

    arguments = ["encrypt", *K, "--json", "--output-dir", "out", "in"]
    outputs = {"out/in/a.warpaes": "sealed", "out/in/d.warpaes": "sealed"}
    user = NOBODY if AS_ROOT else None
    more = {"prepare": prepare, "check": check, "user": user, "allowed": {NOT_FOUND}}
    case = Case("places", "an unreadable folder", arguments, {}, **more)
    yield case

    def outputs_are_there(world, result):
        return [f"{name} is missing" for name in outputs if not os.path.isfile(world.path(name))]

    yield Case("places", "and the rest", arguments, {}, **{**more, "check": outputs_are_there})


# ------------------------------------------------------------------------------------------ inputs that change


#: The length exceeds the capacity of a pipe and of all buffers in the command, so the command cannot end until its
#: output is read.
UNREADABLE_BYTES = 4 << 30


def changing():
    """Grow or shrink the input while the output waits for a reader.

    The first bytes of the output show that the command has opened its input. At this point, most of the input is still
    unread.
    """

    def drive(size):
        def change(world, process):
            world.extra.add("big")
            with open(os.open(world.path("fifo"), os.O_RDONLY | os.O_NONBLOCK), "rb") as fifo:
                ready, _, _ = select.select([fifo], [], [], LONGEST)
                os.truncate(world.path("big"), size)
                os.set_blocking(fifo.fileno(), True)
                world.received = len(fifo.read()) if ready else -1

        return change

    def prepare(size):
        def make(world):
            os.mkfifo(world.path("fifo"))
            world.extra |= {"fifo", "big"}
            with open(world.path("big"), "wb") as file:
                file.truncate(size)

        return make

    def told(world, result):
        found = [] if b"grew" in result.stderr else ["the change is not reported"]
        return found if 3_000_000 <= world.received < 3_001_000 else [*found, f"{world.received} bytes"]

    for arguments in (["encrypt", *K, "-o", "fifo", "big"], [*ENC, "-in", "big", "-out", "fifo"]):
        for before, size, allowed, check in (
            (3_000_000, 4_000_000, {0}, told),
            (UNREADABLE_BYTES, 100_000, {19}, lambda world, result: []),
        ):
            name = f"{arguments[0]}: the input changes to {size} bytes"
            how = {"prepare": prepare(before), "drive": drive(size), "check": check, "allowed": allowed}
            yield Case("places", name, arguments, **how)


# ------------------------------------------------------------------------------------------ another user


WATCHER = """
import ctypes, os, struct, sys
user = int(sys.argv[3])
os.setgroups([]); os.setgid(user); os.setuid(user)
libc = ctypes.CDLL(None)
inotify = libc.inotify_init()
libc.inotify_add_watch(inotify, os.fsencode(sys.argv[1]), 0x100 | 0x80 | 0x2)  # created, moved, changed
os.write(1, b"ready")
os.chdir(sys.argv[1])
while True:
    events = os.read(inotify, 65536)
    while events:
        _, _, _, length = struct.unpack_from("iIII", events)
        name = events[16:16 + length].rstrip(bytes(1))
        events = events[16 + length:]
        try:
            fd = os.open(name, os.O_RDONLY)
            if name not in sys.argv[2].encode().split(b","):
                for _ in range(2000):
                    if os.pread(fd, 1, 0):
                        os.write(2, b"read " + name)
                        break
            os.close(fd)
        except OSError:
            pass
"""


def watched():
    """Check that no other user can read a byte before the output has its name."""
    if not AS_ROOT:
        return

    def prepare(world):
        os.chmod(world.folder, 0o755)
        known = ",".join([*world.template.files, "out"])
        world.watcher = subprocess.Popen(
            [sys.executable, "-c", WATCHER, world.folder, known, str(OTHER)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        world.watcher.stdout.read(5)

    def check(world, result):
        time.sleep(0.01)
        world.watcher.kill()
        seen = world.watcher.communicate()[1]
        return [f"another user {seen}"] if seen else []

    for recipe in WRITING:
        if "out" in recipe.outputs and recipe.status == 0:
            for again in range(4):
                more = {"prepare": prepare, "check": check, "allowed": {0}, "enter": lambda: os.umask(0)}
                yield recipe.case("another user", f"watches, {again}", **more)


def memory():
    """Check that the process's /proc files belong to root. If they do, no other process of the user may inspect the
    process, and it leaves no core dump."""

    def drive(world, process):
        feed(process, world.template.plain)
        world.owner = os.stat(f"/proc/{process.pid}/environ").st_uid
        with open(f"/proc/{process.pid}/limits", encoding="ascii") as file:
            world.limits = file.read()

    def check(world, result):
        found = [] if world.owner == 0 else ["other processes can read its memory"]
        return found if re.search("Max core file size +0 +0 ", world.limits) else [*found, "it may dump core"]

    user = NOBODY if AS_ROOT else None
    more = {"drive": drive, "check": check, "user": user, "stdin": b"", "allowed": {0}}
    yield BY_NAME["encrypt a stream"].case("another user", "its memory", **more)


def cases(mounted):
    yield from read_only()
    yield from full(mounted)
    yield from clashes()
    yield from unreadable()
    yield from changing()
    yield from watched()
    yield from memory()
