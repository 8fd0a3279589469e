"""Cases with names that are not UTF-8, begin with '-' or have maximum length, and with links, pipes and devices."""

import json
import os
import socket
import stat

from recipes import K
from world import ENC, EXISTS, FORMAT, NOT_FOUND, OLD, SAME_FILE, WRITE, Case

AS_ROOT = os.geteuid() == 0
NAMES = [
    b"caf\xe9",
    b"\xff\xfe\x80",
    b"-o",
    b"--json",
    b"--",
    b"-",
    b"new\nline",
    b"tab\tand \x1b[31mred",
    b"trailing spaces ",
    b"'quoted'",
    b"*",
    b"...",
    b".hidden",
    "ü€😀".encode(),
    b"a" * 240,
    b"x" * 255,
]


def record_names(field, name):
    """Check that the record is readable and contains the bytes of the name."""

    def check(world, result):
        try:
            record = json.loads(result.stdout)
        except ValueError as error:
            return [f"the record cannot be read: {error}"]
        entry = record["files"][0] if isinstance(record, dict) else record[0]
        exact = bytes.fromhex(entry[field + "_hex"]) if field + "_hex" in entry else entry[field].encode()
        return [] if exact == name else [f"the record contains {exact}"]

    return check


def move(name, source):
    def prepare(world):
        os.rename(world.path(source), os.path.join(os.fsencode(world.folder), name))
        os.link(os.path.join(os.fsencode(world.folder), name), world.path(source))
        world.extra |= {name, "out"}

    return prepare


def named():
    for name in NAMES:
        path = b"./" + name  # `-` is standard input, and `-o` is an option
        put = {"prepare": move(name, "plain"), "allowed": {0}}
        sealed = {"prepare": move(name, "sealed"), "allowed": {0}}
        shown = repr(name[:20])
        yield Case("names", f"encrypt {shown}", ["encrypt", *K, "-o", "out", path], {"out": "sealed"}, **put)
        for_record = {**put, "check": record_names("input", path)}
        yield Case("names", f"encrypt --json {shown}", ["encrypt", *K, "--json", "-o", "out", path], **for_record)
        for_record = {**sealed, "check": record_names("input", path)}
        yield Case("names", f"verify --json {shown}", ["verify", *K, "--json", path], **for_record)
        for_record = {**sealed, "check": record_names("file", path)}
        yield Case("names", f"inspect --json {shown}", ["inspect", "--json", path], **for_record)
        yield Case("names", f"enc {shown}", [*ENC, "-in", path, "-out", "out"], {"out": "enc"}, **put)
        yield Case("names", f"encrypt to {shown}", ["encrypt", *K, "-o", path, "plain"], {name: "sealed"}, allowed={0})
        for_record = {"outputs": {name: "sealed"}, "allowed": {0}, "check": record_names("output", path)}
        arguments = ["encrypt", *K, "--json", "-o", path, "plain"]
        yield Case("names", f"encrypt --json to {shown}", arguments, **for_record)
        yield Case("names", f"keygen -o {shown}", ["keygen", "-o", path], {name: "keyset"}, allowed={0})
        many = {"prepare": move(name, "plain"), "allowed": {0} if len(name) < 248 else {WRITE}}
        arguments = ["encrypt", *K, "--json", "--output-dir", "out", path]
        yield Case("names", f"encrypt --output-dir {shown}", arguments, **many)
        arguments = ["verify", *K, "--json", b"./missing" + name[:200]]
        for_record = {"allowed": {NOT_FOUND}, "check": record_names("input", arguments[-1])}
        yield Case("names", f"verify missing {shown}", arguments, **for_record)
        arguments = [*ENC, "--json", "-in", b"./missing" + name[:200], "-out", "out"]
        yield Case("names", f"enc --json missing {shown}", arguments, allowed={NOT_FOUND}, check=is_json)
    yield Case("names", "too long", ["encrypt", *K, "-o", "x" * 256, "plain"], allowed={WRITE})
    yield Case("names", "too long with its suffix", ["verify", *K, "y" * 5000], allowed={NOT_FOUND})


def is_json(world, result):
    try:
        json.loads(result.stdout)
    except ValueError as error:
        return [f"the record cannot be read: {error}"]
    return []


# ------------------------------------------------------------------------------------- kinds of files that a name can
# refer to


def link(target):
    return lambda path: os.symlink(target, path)


def bound_socket(path):
    with socket.socket(socket.AF_UNIX) as end:
        end.bind(path)


def device(path):
    os.mknod(path, stat.S_IFBLK | 0o600, os.makedev(240, 250))  # no such device exists


#: For each kind, how it is created, and the exit statuses as an output without -f, as an output with -f, and as an
#: input.
KINDS = {
    "a dangling link": (link("nowhere"), {WRITE}, {WRITE}, {NOT_FOUND}),
    "a link to itself": (link("it"), {WRITE}, {WRITE}, {NOT_FOUND}),
    "a link to a folder": (link("."), {WRITE}, {WRITE}, {NOT_FOUND, 2}),
    "a link to a file": (link("old"), {EXISTS}, {0}, None),
    "a link to the input": (link("plain"), {SAME_FILE}, {SAME_FILE}, None),
    "a link below a file": (link("plain/x"), {WRITE}, {WRITE}, {NOT_FOUND}),
    "the input again": (None, {SAME_FILE}, {SAME_FILE}, None),
    "a folder": (os.mkdir, {WRITE}, {WRITE}, {NOT_FOUND, 2}),
    "a socket": (bound_socket, {WRITE}, {WRITE}, {NOT_FOUND}),
    "a disk": (device if AS_ROOT else None, {EXISTS}, {WRITE}, {NOT_FOUND}),
}
DEVICES = {"/dev/null": {0}, "/dev/zero": {0}, "/dev/full": {WRITE}, "/dev/stdin": {WRITE}, "/dev/fd/0": {WRITE}}


def prepare_kind(make):
    def prepare(world):
        world.extra |= {"it", "old", "out"}
        with open(world.path("old"), "wb") as file:
            file.write(OLD)
        if make is None:
            os.link(world.path("plain"), world.path("it"))
        else:
            here = os.getcwd()
            make(world.path("it")) if make is not bound_socket else bound_socket(world.path("it"))
            assert os.getcwd() == here
        world.before = os.lstat(world.path("it"))

    return prepare


def still_there(world, result):
    found = []
    now = os.lstat(world.path("it")) if os.path.lexists(world.path("it")) else None
    if now is None or (now.st_ino, now.st_mode) != (world.before.st_ino, world.before.st_mode):
        found.append("'it' was changed")
    with open(world.path("old"), "rb") as file:
        old = file.read()
    if old != OLD and not (result.status == 0 and (world.is_right("enc", old) or world.is_right("sealed", old))):
        found.append("'old' was changed")
    return found


def kinds():
    for kind, (make, fresh, forced, as_input) in KINDS.items():
        if kind == "a disk" and not AS_ROOT:
            continue
        how = {"prepare": prepare_kind(make), "check": still_there}
        for base in (["encrypt", *K], ["enc", *ENC[1:]]):
            out, source = ("-o", []) if base[0] == "encrypt" else ("-out", ["-in"])
            for force, allowed in (([], fresh), (["-f"], forced)):
                arguments = [*base, *force, out, "it", *source, "plain"]
                yield Case("links", f"{base[0]} {' '.join(force)} to {kind}", arguments, allowed=allowed, **how)
            if as_input is not None:
                arguments = [*base, out, "out", *source, "it"]
                yield Case("links", f"{base[0]} {kind}", arguments, allowed=as_input, **how)
        for base in (["decrypt", *K], ["verify", *K], ["inspect"]):
            out = ["-o", "out"] if base[0] == "decrypt" else []
            more = {FORMAT, 22, 0}  # the input has a different format
            arguments = [*base, *out, "it"]
            yield Case("links", f"{base[0]} {kind}", arguments, allowed=(as_input or set()) | more, **how)
        arguments = ["keygen", "-o", "it"]
        yield Case("links", f"keygen to {kind}", arguments, allowed={EXISTS}, **how)
        arguments = ["verify", "-k", "it", "sealed"]
        yield Case("links", f"keys in {kind}", arguments, allowed={NOT_FOUND, READ_FAILED, 23}, **how)
        arguments = ["encrypt", *K, "--aad-file", "it", "-o", "out", "plain"]
        yield Case("links", f"associated data in {kind}", arguments, allowed={NOT_FOUND, 0}, **how)


READ_FAILED = 19


def devices():
    for path, allowed in DEVICES.items():
        for force in ([], ["-f"]):
            shown = f"{path} {' '.join(force)}"
            # Standard input of these cases is a pipe. /dev/stdin and /dev/fd/0 are its read end.
            yield Case("links", f"encrypt to {shown}", ["encrypt", *K, *force, "-o", path, "plain"], allowed=allowed)
            yield Case("links", f"enc to {shown}", [*ENC, *force, "-in", "plain", "-out", path], allowed=allowed)
        arguments = ["verify", "-k", path, "sealed"]
        yield Case("links", f"keys in {path}", arguments, allowed={23, NOT_FOUND, READ_FAILED})
        arguments = ["plan", "--mode", "gcm", "--bytes", "1M"]
        yield Case(
            "links", f"a calibration in {path}", arguments, environment={"WARPAES_CALIBRATION": path}, allowed={0}
        )
        yield Case("links", f"verify {path}", ["verify", *K, path], allowed={FORMAT, 22, NOT_FOUND, READ_FAILED})
        yield Case("links", f"inspect {path}", ["inspect", path], allowed={FORMAT, NOT_FOUND})
    for arguments in (
        ["encrypt", *K, "-o", "it", "it"],
        ["encrypt", *K, "-o", "/dev/stdin"],
        [*ENC, "-out", "/dev/stdin"],
    ):
        fifo = {"prepare": lambda world: (os.mkfifo(world.path("it")), world.extra.add("it"))}
        if "it" in arguments:
            continue  # the command waits for a writer, as it should
        yield Case("links", " ".join(arguments), arguments, allowed={SAME_FILE}, stdin=b"x" * 200_000, **fifo)

    def make_fifo(world):
        os.mkfifo(world.path("it"))
        world.extra.add("it")

    how = {"prepare": make_fifo, "environment": {"WARPAES_CALIBRATION": "it"}, "allowed": {0}}
    yield Case("links", "a calibration in a pipe", ["plan", "--mode", "gcm", "--bytes", "1M"], **how)
    yield Case(
        "links", "encrypt with a pipe as calibration", ["encrypt", *K, "-o", "out", "plain"], {"out": "sealed"}, **how
    )


def cases():
    yield from named()
    yield from kinds()
    yield from devices()
