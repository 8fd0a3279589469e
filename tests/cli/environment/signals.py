"""Cases with every signal that ends a process by default, at several moments, with signals that stop a process, and
with SIGKILL."""

import array
import contextlib
import fcntl
import os
import signal
import termios
import time

from recipes import BY_NAME, K, Recipe
from world import ENC

NAMES = (
    "SIGHUP SIGINT SIGQUIT SIGTERM SIGUSR1 SIGUSR2 SIGALRM SIGVTALRM SIGPROF SIGXCPU SIGPOLL SIGPWR SIGRTMIN SIGRTMAX"
)
ENDING = [getattr(signal, name) for name in NAMES.split(" ")] + [16]  # SIGSTKFLT
IGNORED = [signal.SIGPIPE, signal.SIGXFSZ]
BIG = b"." * 1_000_000


def wait_until_read(process):
    left = array.array("i", [1])
    deadline = time.monotonic() + 5
    while left[0] != 0 and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.002)
        fcntl.ioctl(process.stdin, termios.FIONREAD, left)


def wait_until_in(process, wanted, times=3):
    """Wait until the process has been observed in this state `times` times. "S" means asleep, and "T" means stopped."""
    seen = 0
    deadline = time.monotonic() + 5
    while seen < times and time.monotonic() < deadline:
        time.sleep(0.004)
        with open(f"/proc/{process.pid}/stat", encoding="ascii", errors="replace") as file:
            state = file.read().rsplit(")", 1)[1].split()[0]
        if state == "Z":
            return
        seen = seen + 1 if state == wanted else 0


def feed(process, content):
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write(content)
        process.stdin.flush()
        wait_until_read(process)


def after(delay, number):
    def drive(world, process):
        time.sleep(delay)
        process.send_signal(number)

    return drive


def in_the_middle(*numbers):
    def drive(world, process):
        feed(process, BIG)
        for number in numbers:
            process.send_signal(number)
            time.sleep(0.01)

    return drive


def while_it_waits(number):
    def drive(world, process):
        wait_until_in(process, "S")
        process.send_signal(number)

    return drive


def stopped_and_continued(world, process):
    feed(process, world.template.plain[:20_000])
    process.send_signal(signal.SIGTSTP)
    wait_until_in(process, "T", times=1)
    process.send_signal(signal.SIGCONT)
    process.stdin.write(world.template.plain[20_000:])
    process.stdin.close()
    process.stdin = None  # communicate() would otherwise close it again


def fifos(*names):
    def prepare(world):
        for name in names:
            os.mkfifo(world.path(name))
            world.extra.add(name)
        world.extra.add("out")

    return prepare


def locked(world):
    world.lock = open(world.path("keys"), "rb")  # noqa: SIM115
    fcntl.flock(world.lock, fcntl.LOCK_EX)


def big_input(world):
    with open(world.path("big"), "wb") as file:
        file.truncate(50_000_000)
    world.extra.add("big")


#: Commands that wait, with the reason and a function that makes them wait.
WAITING = [
    (Recipe("encrypt from a pipe", ("encrypt", *K, "-o", "out", "fifo"), {"out": "sealed"}), fifos("fifo")),
    (Recipe("encrypt into a pipe", ("encrypt", *K, "-o", "fifo", "plain")), fifos("fifo")),
    (Recipe("enc into a pipe", (*ENC, "-in", "plain", "-out", "fifo")), fifos("fifo")),
    (Recipe("encrypt several pipes", ("encrypt", *K, "--output-dir", "out", "a", "b", "plain")), fifos("a", "b")),
    (Recipe("verify a pipe", ("verify", *K, "fifo")), fifos("fifo")),
    (Recipe("keys from a pipe", ("verify", "-k", "fifo", "sealed")), fifos("fifo")),
    (Recipe("a keyset in use", ("keys", "add", "keys"), changes_keys=True), locked),
    (Recipe("its output has no reader", ("encrypt", *K, "-o", "-", "big")), big_input),
    (
        Recipe(
            "weak passphrases",
            ("enc", "-aes-256-ctr", "-iter", "999999999", "-pass", "env:P", "-in", "plain", "-out", "o"),
        ),
        fifos(),
    ),
]
STREAMS = [
    Recipe("encrypt", ("encrypt", *K, "-o", "out"), {"out": "sealed"}),
    Recipe("enc", (*ENC, "-out", "out"), {"out": "enc"}),
    Recipe("encrypt with -f", ("encrypt", *K, "-f", "-o", "out"), {"out": "sealed"}),
    Recipe("enc -a", ("enc", "-aes-256-cbc", "-K", "file:raw", "-iv", "0" * 32, "-a", "-out", "out"), {"out": "?"}),
]
QUICK = ("encrypt", "decrypt", "encrypt several", "keygen", "keys add", "verify", "enc", "plan", "selftest")


def cases():
    for number in ENDING:
        name = signal.strsignal(number)
        for quick in QUICK:
            recipe = BY_NAME[quick]
            for delay in (0, 0.003, 0.01):
                yield recipe.case(
                    "signals", f"{name} after {delay} s", drive=after(delay, number), allowed={0, -number}
                )
        for recipe in STREAMS:
            for replaces in (False, True) if "-f" in recipe.arguments else (False,):
                what = f"{name} midway{', replacing' if replaces else ''}"
                yield recipe.case("signals", what, drive=in_the_middle(number), allowed={-number}, replaces=replaces)
        for recipe, prepare in WAITING:
            yield recipe.case(
                "signals", f"{name} while it waits", drive=while_it_waits(number), allowed={-number}, prepare=prepare
            )
    for recipe in STREAMS[:3]:
        for number in (signal.SIGINT, signal.SIGTERM):
            twice = (number, number, signal.SIGHUP)
            yield recipe.case("signals", f"{number.name} twice", drive=in_the_middle(*twice), allowed={-number})
        for number in IGNORED:
            drive = in_the_middle(number)
            yield recipe.case(
                "signals",
                f"{number.name} from outside",
                drive=drive,
                allowed={0},
                check=whole,
                prepare=fifos(),
                outputs={},
            )
        yield recipe.case("signals", "SIGKILL", drive=in_the_middle(signal.SIGKILL), allowed={-9}, check=no_trace)
        yield recipe.case("signals", "SIGTSTP, SIGCONT", drive=stopped_and_continued, allowed={0})


def whole(world, result):
    world.extra.add("out")
    size = os.path.getsize(world.path("out"))
    return [] if size > len(BIG) else [f"the output is {size} bytes"]


def no_trace(world, result):
    """Return a fault if a temporary file remains. An unnamed file disappears with its process. On file systems without
    unnamed files, a temporary file remains, and only its owner can read it."""
    left = [name for name in os.listdir(world.folder) if name.startswith(".warpaes-")]
    return [f"{left} remain"] if left and world.template.unnamed_files else []
