"""Cases with limits on descriptors, processes, memory, file sizes and time, and with umasks."""

import os
import resource
import signal
import stat
import subprocess

from recipes import BY_NAME, RECIPES, WRITING
from world import DOCUMENTED, NOBODY, WARPAES, WRITE, Case

AS_ROOT = os.geteuid() == 0
LOADER = {127}  # ld.so and the shell return this status if a library cannot be loaded


def limit(which, value):
    def enter():
        # Root is exempt from this limit.
        resource.setrlimit(which, (value, value))

    return enter


def descriptors():
    for recipe in RECIPES:
        for n in (3, 4, 5, 6, 8, 12):
            enter = limit(resource.RLIMIT_NOFILE, n)
            yield recipe.case("limits", f"{n} descriptors", enter=enter, allowed=DOCUMENTED | LOADER)


def sanitized():
    """Return whether a sanitizer is in use, which reserves more memory than any of these limits before the command
    begins."""
    enter = limit(resource.RLIMIT_AS, 8 << 30)
    return subprocess.run([WARPAES, "--version"], preexec_fn=enter, capture_output=True, check=False).returncode != 0


def memory():
    if sanitized():
        return
    for recipe in RECIPES:
        for mib in (12, 20, 30, 45, 70, 110, 200):
            enter = limit(resource.RLIMIT_AS, mib << 20)
            yield recipe.case("limits", f"{mib} MiB of memory", enter=enter, allowed=DOCUMENTED | LOADER)


def processes():
    for recipe in RECIPES:
        for n in (1, 2):
            more = {"user": NOBODY if AS_ROOT else None, "enter": limit(resource.RLIMIT_NPROC, n)}
            yield recipe.case("limits", f"{n} threads", allowed={recipe.status}, **more)


def sizes():
    for recipe in WRITING:
        for n in (0, 1, 50, 300, 20_000):
            for replaces in (False, True):
                arguments = list(recipe.arguments)
                if replaces and arguments[0] == "keygen":
                    continue
                if replaces:
                    arguments.insert(1, "-f")
                if replaces and "out" not in recipe.outputs:
                    continue
                yield recipe.case(
                    "limits",
                    f"file size limit of {n} bytes{', replacing' if replaces else ''}",
                    arguments=arguments,
                    enter=limit(resource.RLIMIT_FSIZE, n),
                    allowed={recipe.status, WRITE},
                    replaces=replaces,
                )
    yield BY_NAME["keys add"].case(
        "limits", "files of 10 bytes", enter=limit(resource.RLIMIT_FSIZE, 10), allowed={WRITE}
    )


def seconds():
    def enter():
        resource.setrlimit(resource.RLIMIT_CPU, (1, 30))

    slow = ("enc", "-aes-256-cfb8", "-pbkdf2", "-iter", "10", "-pass", "env:P", "-in", "/dev/zero", "-out")
    for output in ("out", "/dev/null"):
        more = {"enter": enter, "allowed": {-signal.SIGXCPU}, "longest": 100}  # one extra second for a busy machine
        yield Case("limits", f"one second of processor time, to {output}", [*slow, output], **more)


def masks():
    def mode_is(name, mode):
        def check(world, result):
            found = stat.S_IMODE(os.stat(world.path(name)).st_mode)
            return [] if found == mode else [f"{name!r} has mode {found:o} instead of {mode:o}"]

        return check

    for mask in (0, 0o002, 0o022, 0o027, 0o077, 0o277):
        for name in ("encrypt", "decrypt", "enc", "decrypt a part", "keygen"):
            recipe = BY_NAME[name]
            mode = (0o600 if name == "keygen" else 0o666) & ~mask
            yield recipe.case(
                "umask", f"{mask:03o}", enter=lambda mask=mask: os.umask(mask), allowed={0}, check=mode_is("out", mode)
            )
        for old in (0o600, 0o644, 0o4755, 0o2711):
            for name in ("encrypt", "decrypt", "enc"):
                recipe = BY_NAME[name]
                yield recipe.case(
                    "umask",
                    f"{mask:03o}, replacing {old:o}",
                    arguments=[recipe.arguments[0], "-f", *recipe.arguments[1:]],
                    enter=lambda mask=mask: os.umask(mask),
                    prepare=lambda world, old=old: os.chmod(world.path("out"), old),
                    replaces=True,
                    allowed={0},
                    check=mode_is("out", old & 0o777),
                )


def cases():
    yield from descriptors()
    yield from memory()
    yield from processes()
    yield from sizes()
    yield from seconds()
    yield from masks()
