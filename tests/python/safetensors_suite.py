#!/usr/bin/env python3
"""Runs safetensors' own Python tests against warpaes.safetensors.

The source distribution of the installed version is copied with changed imports. The functions that read and write files
come from safetensors_shim, which has safetensors' interface and fixed keys. EXCEPTIONS lists the omitted tests with
reasons, and safetensors_shim/passed.txt lists the tests that pass. Without PyTorch, the tests that use it are
skipped."""

from __future__ import annotations

import argparse
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from pyca import ROOT, unpacked, with_other_imports

MODULES = {
    "safetensors": "safetensors_shim",
    "safetensors.numpy": "safetensors_shim.numpy",
    "safetensors.torch": "safetensors_shim.torch",
}
TESTS = [
    "test_handle.py",
    "test_multithreaded.py",
    "test_pread_backend.py",
    "test_pt_comparison.py",
    "test_pt_model.py",
    "test_simple.py",
    "test_threadable.py",
]

# Maps part of a test's name to the reason for omitting the test.
EXCEPTIONS = {
    "test_bogus": "quotes another package's messages",
    "test_cannot_serialize_a_non_contiguous_tensor": "warpaes writes a contiguous copy",
    "test_cannot_serialize_shared": "warpaes writes each tensor separately",
    "test_complex": "compares bytes of an unencrypted file",
    "test_deserialization and test_simple": "reads an unencrypted file, which warpaes refuses",
    "test_exception": "tests serialize, which warpaes does not have",
    "test_failure": "tests load_model, which warpaes does not have",
    "test_fsspec_s3": "needs a bucket on the internet",
    "test_in_memory": "compares bytes of an unencrypted file",
    "test_save and TorchModelTestCase": "tests save_model, which warpaes does not have",
    "test_serialization": "compares bytes of an unencrypted file",
    "test_serialize_file_releases_gil": "tests serialize_file, which warpaes does not have",
    "test_sparse": "quotes another package's messages",
    "test_workaround": "tests save_model, which warpaes does not have",
}

# A replacement for PyTorch if PyTorch is missing. Tests that use it are skipped.
TORCH = """
import unittest

def __getattr__(name):
    if name.startswith("_") or name == "pytestmark":  # pytest looks at what modules import
        raise AttributeError(name)
    raise unittest.SkipTest(f"the Python package torch is missing, and so is its {name}")
"""


def compare(output: str, with_torch: bool) -> int:
    """Compare the tests that passed with the recorded list."""
    listed = (pathlib.Path(__file__).parent / "safetensors_shim" / "passed.txt").read_text().split("---\n")
    names = {line for part in listed[: 2 if with_torch else 1] for line in part.splitlines() if line[0] != "#"}
    passed = {line.removeprefix("PASSED ") for line in output.splitlines() if line.startswith("PASSED ")}
    for name in sorted(names ^ passed):
        print(f"{name}: {'did not pass' if name in names else 'is not in passed.txt'}")
    return int(names != passed)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sdist", nargs="?", type=pathlib.Path, help="safetensors-*.tar.gz")
    arguments, options = parser.parse_known_args()
    if importlib.util.find_spec("safetensors") is None:
        print("the Python package safetensors is missing; `tools/setup test` installs it")
        return 77
    import safetensors

    sdist = arguments.sdist or ROOT / ".venv/tests/safetensors" / f"safetensors-{safetensors.__version__}.tar.gz"
    if not sdist.exists():
        print(f"{sdist} is missing; `tools/setup test` downloads it")
        return 77
    folder = pathlib.Path(tempfile.mkdtemp(prefix="warpaes-safetensors-"))
    try:
        source = unpacked(sdist, folder / "source") / "bindings/python/tests"
        (folder / "tests" / "data").mkdir(parents=True)
        for name in TESTS:
            (folder / name).write_text(with_other_imports((source / name).read_text(), MODULES))
        with_torch = importlib.util.find_spec("torch") is not None
        if not with_torch:
            (folder / "torch.py").write_text(TORCH)
        paths = [str(pathlib.Path(__file__).parent), *sys.path]
        pytest = [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib"]
        if EXCEPTIONS:
            pytest += ["-k", " and ".join(f"not ({part})" for part in EXCEPTIONS)]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), *paths])}
        command = [*pytest, "-rA", *options, *TESTS]
        done = subprocess.run(command, cwd=folder, env=environment, check=False, capture_output=True, text=True)
        print(done.stdout, done.stderr)
        return done.returncode or compare(done.stdout, with_torch)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
