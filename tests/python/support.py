"""Shared code for the tests of the Python package."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import http.server
import importlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
import unittest.mock
from typing import Any

# File lengths: a length that is not a multiple of any block size, and lengths around a segment of 4 KiB.
LENGTHS = [0, 1, 15, 16, 17, 4055, 4056, 4057, 8192, 100_003]


def main_with_arrow() -> None:
    """Run the module's tests and exit without Python's finalization.

    A thread of a pyarrow dataset may drop its last reference to a file object or a buffer shortly after the read. If
    Python is finalizing at that moment, Python 3.11 ends the thread inside a C++ destructor, and the process aborts.
    """
    program = unittest.main(exit=False)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(not program.result.wasSuccessful())


def needed(name: str) -> Any:
    """Return a module, or skip the test. In CI, where `tools/setup test` has run, a missing module is a failure."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if os.environ.get("CI") == "true":
            raise RuntimeError(f"the Python package {name} is missing") from error
        raise unittest.SkipTest(
            f"the Python package {name} is missing; a build that was configured after `tools/setup test` had installed "
            "it into .venv/tests runs this test"
        ) from None


def optional(name: str) -> Any:
    """Return a module that `tools/setup test` does not install, or skip the test."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        raise unittest.SkipTest(
            f"the Python package {name} is not installed; machines that have it run this test"
        ) from None


def under_passphrase(keyset: Any, passphrase: bytes) -> bytes:
    """Return the keyset encrypted under the passphrase, at a sixteenth of the minimum cost that the library writes.

    Tests that load the same keyset a hundred times would otherwise spend most of their time in scrypt. docs/formats.md
    describes the format.
    """
    aes_gcm = needed("cryptography.hazmat.primitives.ciphers.aead").AESGCM
    wrapped = json.loads(keyset._wrap(passphrase, 0))

    def cipher() -> Any:
        cost = wrapped["keyEncryptionKey"]
        salt, n, r, p = base64.b64decode(cost["salt"]), cost["n"], cost["r"], cost["p"]
        return aes_gcm(hashlib.scrypt(passphrase, salt=salt, n=n, r=r, p=p, dklen=32, maxmem=129 * n * r))

    old = base64.b64decode(wrapped["encryptedKeyset"])
    plain = cipher().decrypt(old[:12], old[12:], b"")
    wrapped["keyEncryptionKey"]["n"] //= 16
    nonce = os.urandom(12)
    wrapped["encryptedKeyset"] = base64.b64encode(nonce + cipher().encrypt(nonce, plain, b"")).decode()
    return json.dumps(wrapped).encode()


def new_folder(test: unittest.TestCase, parent: str | None = None) -> pathlib.Path:
    """Return a folder that is removed after the test."""
    folder = tempfile.TemporaryDirectory(dir=parent)
    test.addCleanup(folder.cleanup)
    return pathlib.Path(folder.name)


def set_environment(test: unittest.TestCase, **names: str) -> None:
    """Set environment variables until the test ends."""
    patch = unittest.mock.patch.dict(os.environ, names)
    patch.start()
    test.addCleanup(patch.stop)


def served(test: unittest.TestCase, handler: Any, **attributes: Any) -> Any:
    """Return an HTTP server with these attributes. It runs until the test ends."""
    server: Any = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    for name, value in attributes.items():
        setattr(server, name, value)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    test.addCleanup(server.server_close)
    test.addCleanup(server.shutdown)
    return server


def main_on_simulated_gpu() -> None:
    """Run the tests of the calling program on the simulated GPU (tests/simulated), whose library is loaded first."""
    simulated = os.environ.get("WARPAES_SIMULATED", "")
    if not os.path.exists(simulated):
        print("the simulated GPU is not built")
        sys.exit(77)
    if os.environ.get("LD_PRELOAD") != simulated:
        environment = os.environ | {"LD_PRELOAD": simulated}
        os.execve(sys.executable, [sys.executable, "-B", "-X", "dev", *sys.argv], environment)
    unittest.main()


def run_python(program: str, **environment: str) -> str:
    """Run a program in a separate process, check that it succeeds, and return its output."""
    done = subprocess.run(
        [sys.executable, "-B", "-X", "dev", "-c", program],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=200,
    )
    if done.returncode != 0:
        raise AssertionError(f"exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def torchrun(program: str, arguments: list[str]) -> tuple[int, str]:
    """Run a program with torchrun in two processes. Return the exit status and the output, after checking that no
    process remains."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", program]
    child = subprocess.Popen(
        [*command, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    try:
        said = child.communicate(timeout=280)[0]
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    return child.returncode, said


def resident_bytes() -> int:
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def growth(action: Any, times: int) -> int:
    """Return how many bytes the process grows during this many repetitions."""
    for _ in range(times):
        action()
    before = resident_bytes()
    for _ in range(times):
        action()
    return resident_bytes() - before
