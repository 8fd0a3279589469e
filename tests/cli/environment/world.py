"""The folder of a case in the environment matrix, and the invariants that are checked after every case."""

import base64
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Optional

WARPAES = os.environ["WARPAES"]
# Variables that programs built with sanitizers or mutants read.
OF_THE_BUILD = ("ASAN_OPTIONS", "UBSAN_OPTIONS", "WARPAES_MUTANT")
MARKER = b"plaintext-that-nobody-may-see-7f3a"
PASSPHRASE = "passphrase-that-nobody-may-see-5e1d"
RAW_KEY = "5ec2e7" * 10 + "5ec2"
OLD = b"the previous content"
NOBODY = 65534
LONGEST = 10  # seconds
DOCUMENTED = set(range(26))
READ, WRITE, NOT_FOUND, EXISTS, SAME_FILE, ARGUMENT, FORMAT, CANCELLED = 19, 20, 16, 17, 18, 2, 21, 15
#: Signals that indicate a crash.
BROKEN = {-number for number in (signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE)}


@dataclass
class Case:
    axis: str
    name: str
    arguments: list
    #: the content of each output after success: "plain", "sealed", "enc", "keyset" or "part"
    outputs: dict = field(default_factory=dict)
    #: the only valid exit statuses, or None if any documented status is valid; a negative status is a signal
    allowed: Optional[set] = None
    stdin: bytes = b""
    #: called with the World before the command starts
    prepare: Callable = lambda world: None
    #: called in the new process before the command
    enter: Callable = lambda: None
    #: called with the World and the process, instead of waiting for the process to end
    drive: Optional[Callable] = None
    #: called at the end with the World and the Result; returns the differences
    check: Callable = lambda world, result: []
    #: whether standard output may contain secrets
    open_stdout: bool = False
    user: Optional[int] = None
    longest: float = LONGEST
    changes_keys: bool = False
    may_leave: bool = False
    environment: dict = field(default_factory=dict)
    #: whether an output already exists
    replaces: bool = False


@dataclass
class Result:
    status: Optional[int]
    stdout: bytes
    stderr: bytes


class Template:
    """The initial contents of every case's folder. They are created once."""

    def __init__(self):
        parent = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.base = Path(tempfile.mkdtemp(prefix="warpaes-environment-", dir=parent))
        os.chmod(self.base, 0o755)
        self.folder = self.base / "template"
        self.folder.mkdir()
        self.command = self._copy_of_command()
        plain = (MARKER + b"." * 100) * 400
        self.plain = plain
        (self.folder / "plain").write_bytes(plain)
        (self.folder / "more").write_bytes(plain[::-1])
        (self.folder / "raw").write_text(RAW_KEY)
        for arguments in (
            ("keygen", "-o", "keys"),
            ("encrypt", "-k", "keys", "-o", "sealed", "plain"),
            (*ENC, "-in", "plain", "-out", "sealed_enc"),
        ):
            subprocess.run([self.command, *arguments], cwd=self.folder, env=self.environment(), check=True, stderr=-3)
        os.chmod(self.folder / "raw", 0o600)
        self.files = {path.name: path.read_bytes() for path in self.folder.iterdir()}
        secrets = [MARKER, MARKER[::-1], PASSPHRASE.encode(), RAW_KEY.encode()]
        for key in json.loads(self.files["keys"])["key"]:
            value = base64.b64decode(key["keyData"]["value"])
            secrets += [key["keyData"]["value"].encode(), value[-32:], value[-32:].hex().encode()]
        self.secrets = secrets
        self.unnamed_files = self._has_unnamed_files()

    def _copy_of_command(self):
        """Copy the programs, because other users may not be allowed to enter the build folder."""
        copy = self.base / "bin"
        copy.mkdir(mode=0o755)
        found = subprocess.run(["ldd", WARPAES], capture_output=True, text=True, check=False).stdout
        for library in re.findall(r"=> (\S*libwarpaes\S*)", found):
            shutil.copy(library, copy)
        self.libraries = str(copy)
        return shutil.copy(WARPAES, copy)

    def _has_unnamed_files(self):
        try:
            os.close(os.open(self.base, os.O_TMPFILE | os.O_WRONLY, 0o600))
        except OSError:
            return False
        return True

    def environment(self, **more):
        return {
            "PATH": os.environ["PATH"],
            "LD_LIBRARY_PATH": self.libraries,
            "WARPAES_CALIBRATION": "none",
            "P": PASSPHRASE,
            **{name: value for name, value in os.environ.items() if name.startswith(OF_THE_BUILD)},
            **more,
        }

    def remove(self):
        shutil.rmtree(self.base, ignore_errors=True)


ENC = ("enc", "-aes-256-ctr", "-pbkdf2", "-iter", "10", "-pass", "env:P")


class World:
    """The folder of a case."""

    def __init__(self, template):
        self.template = template
        self.folder = Path(tempfile.mkdtemp(prefix="case-", dir=template.base))
        for name, content in template.files.items():
            path = self.folder / name
            path.write_bytes(content)
            os.chmod(path, 0o600 if name in ("keys", "raw") else 0o644)
        self.extra = set()  # names that may also exist after the case
        self.extra_inputs = set()  # folders that contain plaintext

    def path(self, name):
        return os.path.join(self.folder, name)

    def owned_by(self, user):
        for path in [self.folder, *self.folder.iterdir()]:
            os.chown(path, user, user, follow_symlinks=False)

    def run(self, *arguments):
        return subprocess.run(
            [self.template.command, *arguments],
            cwd=self.folder,
            env=self.template.environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
        )

    def start(self, case, stdin):
        def enter():
            os.setpgid(0, 0)  # not a separate session, because a terminal could not stop it
            if case.user is not None:
                os.setgroups([])
                os.setgid(case.user)
                os.setuid(case.user)
            case.enter()

        return subprocess.Popen(
            [self.template.command, *case.arguments],
            cwd=self.folder,
            env=self.template.environment(**case.environment),
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=enter,
        )

    def is_right(self, kind, content):
        if kind == "plain":
            return content == self.template.plain
        if kind == "part":
            return content == self.template.plain[:100]
        if kind == "keyset":
            return bool(json.loads(content)["key"])
        copy = self.template.base / (self.folder.name + "-copy")  # outside folders that another user can access
        copy.write_bytes(content)
        how = (*ENC, "-d", "-in") if kind == "enc" else ("decrypt", "-k", "keys")
        opened = self.run(*how, copy)
        copy.unlink()
        return opened.returncode == 0 and opened.stdout in (self.template.plain, self.template.plain[::-1])

    def look_at_outputs(self, case, status):
        for name, kind in case.outputs.items():
            path = self.folder / os.fsdecode(name)
            content = path.read_bytes() if path.is_file() else None
            if status == 0 and content is None:
                yield f"success, but {name!r} does not exist"
            elif content is not None and not (case.replaces and content == OLD and status != 0):
                try:
                    right = self.is_right(kind, content)
                except ValueError:
                    right = False
                if not right:
                    yield f"{name!r} is incomplete: {content[:60]}"
            elif content is None and case.replaces:
                yield f"{name!r} is lost"

    def look_at_inputs(self, case):
        for name, content in self.template.files.items():
            path = self.folder / name
            if name == "keys" and case.changes_keys:
                if self.run("keys", "list", "keys").returncode != 0:
                    yield "the keyset was lost"
            elif not path.is_file() or path.read_bytes() != content:
                yield f"the input {name!r} was changed"

    def look_for_leftovers(self, case):
        known = {os.fsencode(name).split(b"/")[0] for name in (*self.template.files, *case.outputs, *self.extra)}
        for name in os.listdir(os.fsencode(self.folder)):
            if name not in known and not (case.may_leave and name.startswith(b".warpaes-")):
                yield f"{name!r} remains"

    def look_for_secrets(self, case, result):
        shown = {"standard error": result.stderr}
        if not case.open_stdout:
            shown["standard output"] = result.stdout
        known = {os.fsencode(name) for name in (*self.template.files, *case.outputs, *self.extra)}
        for root, _, names in os.walk(os.fsencode(self.folder)):
            for name in names:
                path = os.path.join(root, name)
                within = os.path.relpath(path, os.fsencode(self.folder))
                if within in known or within.split(b"/")[0] in self.extra_inputs:
                    continue
                if stat.S_ISREG(os.lstat(path).st_mode):
                    with open(path, "rb") as file:
                        shown[within] = file.read()
        for where, content in shown.items():
            if any(secret in content for secret in self.template.secrets):
                yield f"{where} contains a secret"

    def faults(self, case, result):
        if result.status is None:
            return [f"the command hung for more than {case.longest} s"]
        found = []
        if result.status in BROKEN:
            found.append(f"it died: {signal.Signals(-result.status).name}")
        elif case.allowed is not None and result.status not in case.allowed:
            found.append(f"exit status {result.status} instead of {sorted(case.allowed)}")
        elif case.allowed is None and result.status not in DOCUMENTED:
            found.append(f"exit status {result.status} is not documented")
        found += self.look_at_outputs(case, result.status)
        found += self.look_at_inputs(case)
        found += self.look_for_leftovers(case)
        found += self.look_for_secrets(case, result)
        found += case.check(self, result)
        return found

    def remove(self):
        for root, folders, _ in os.walk(self.folder):
            for name in folders:
                if not os.path.islink(os.path.join(root, name)):
                    os.chmod(os.path.join(root, name), 0o700)
        shutil.rmtree(self.folder, ignore_errors=True)


def run_case(template, case):
    """Run a case and return its faults, with the text on standard error."""
    world = World(template)
    try:
        if case.replaces:
            for name in case.outputs:
                (world.folder / name).write_bytes(OLD)
        case.prepare(world)
        if case.user is not None:
            world.owned_by(case.user)
        process = world.start(case, subprocess.PIPE)
        try:
            if case.drive is not None:
                case.drive(world, process)
            stdout, stderr = process.communicate(case.stdin if process.stdin else None, timeout=case.longest)
            result = Result(process.returncode, stdout, stderr)
        except subprocess.TimeoutExpired:
            process.kill()
            stdout, stderr = process.communicate()
            result = Result(None, stdout, stderr)
        return [f"{what}; standard error: {result.stderr[-300:]!r}" for what in world.faults(case, result)]
    finally:
        world.remove()


def notice(text):
    print(text, file=sys.stderr, flush=True)
