#!/usr/bin/env python3
"""Runs pyca/cryptography's own test modules for ciphers, AEAD, key wrap and CMAC against warpaes.

The source distribution of the installed version is copied with changed imports, so that every name that warpaes
provides comes from warpaes. EXCEPTIONS lists the omitted tests with reasons, and docs/python.md contains the same
list."""

from __future__ import annotations

import argparse
import ast
import importlib
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]

# The local names of pyca's modules.
MODULES = {
    "cryptography.exceptions": "warpaes.exceptions",
    "cryptography.hazmat.decrepit.ciphers.modes": "warpaes.ciphers.modes",
    "cryptography.hazmat.primitives": "warpaes",
    "cryptography.hazmat.primitives.ciphers": "warpaes.ciphers",
    "cryptography.hazmat.primitives.ciphers.aead": "warpaes.aead",
    "cryptography.hazmat.primitives.ciphers.algorithms": "warpaes.ciphers.algorithms",
    "cryptography.hazmat.primitives.ciphers.modes": "warpaes.ciphers.modes",
    "cryptography.hazmat.primitives.cmac": "warpaes.cmac",
    "cryptography.hazmat.primitives.keywrap": "warpaes.keywrap",
}

# Modules of pyca's tests that are copied and run. The other modules are helpers.
TESTS = [
    "tests/hazmat/primitives/test_aead.py",
    "tests/hazmat/primitives/test_aes.py",
    "tests/hazmat/primitives/test_aes_gcm.py",
    "tests/hazmat/primitives/test_block.py",
    "tests/hazmat/primitives/test_ciphers.py",
    "tests/hazmat/primitives/test_cmac.py",
    "tests/hazmat/primitives/test_keywrap.py",
]
HELPERS = [
    "tests/__init__.py",
    "tests/doubles.py",
    "tests/utils.py",
    "tests/hazmat/__init__.py",
    "tests/hazmat/primitives/__init__.py",
    "tests/hazmat/primitives/utils.py",
]

# Maps part of a test's name to the reason for omitting the test.
EXCEPTIONS = {
    "TestChaCha20Poly1305": "not AES",
    "test_chacha20poly1305_unsupported": "not AES",
    "TestAESOCB3": "OCB is not a mode of warpaes",
    "TestCamellia": "not AES",
    "3des": "not AES",
    "test_deprecated_ciphers_import_with_warning": "tests names of ciphers other than AES",
    "test_data_too_large": "warpaes accepts messages of 2^31 bytes and more",
    "test_gcm_ciphertext_limit": "sets pyca's private counter; tests/abi tests the limit",
    "test_gcm_aad_limit": "sets pyca's private counter",
}

CONFTEST = """
import contextlib

import pytest

from warpaes import ciphers, exceptions

from .utils import check_backend_support


class Backend:
    _fips_enabled = False

    def cipher_supported(self, algorithm, mode):
        if algorithm.name == "RC4":  # a test passes RC4 to CMAC
            return True
        try:
            ciphers.Cipher(algorithm, mode)._supported_mode()
        except (exceptions.UnsupportedAlgorithm, TypeError):
            return False
        return True

    def cmac_algorithm_supported(self, algorithm):
        return algorithm.name == "AES"


@pytest.fixture(autouse=True)
def backend(request):
    check_backend_support(Backend(), request)
    yield Backend()


class SubTests:
    @contextlib.contextmanager
    def test(self):
        try:
            yield
        except pytest.skip.Exception:
            pass


@pytest.fixture()
def subtests():
    yield SubTests()


def pytest_configure(config):
    config.addinivalue_line("markers", "supported: what a backend must support")
    config.addinivalue_line("markers", "skip_fips: not in FIPS mode")
    config.addinivalue_line("markers", "malloc_failure: needs memory")
"""


def has(module: str, name: str) -> bool:
    if hasattr(importlib.import_module(module), name):
        return True
    try:
        importlib.import_module(f"{module}.{name}")
    except ModuleNotFoundError:
        return False
    return True


def with_other_imports(source: str, modules: dict[str, str] = MODULES) -> str:
    """Return the module with every name imported from the replacements."""
    lines = source.splitlines()
    for node in sorted(ast.walk(ast.parse(source)), key=lambda node: -getattr(node, "lineno", 0)):
        if not isinstance(node, ast.ImportFrom) or node.module not in modules or node.level:
            continue
        module = modules[node.module]
        ours = [name for name in node.names if has(module, name.name)]
        theirs = [name for name in node.names if name not in ours]
        new = [
            " " * node.col_offset + ast.unparse(ast.ImportFrom(origin, names, 0))
            for origin, names in ((module, ours), (node.module, theirs))
            if names
        ]
        lines[node.lineno - 1 : node.end_lineno] = new
    return "\n".join(lines) + "\n"


def copy_tests(source: pathlib.Path, folder: pathlib.Path) -> None:
    for name in TESTS + HELPERS:
        text = with_other_imports((source / name).read_text())
        if name == "tests/utils.py":
            # pyca's reasons are private, so only the exceptions are compared.
            text, count = re.subn(r"\n    assert exc_info\.value\._reason == reason\n", "\n", text)
            assert count == 1
        # RFC 8452 does not define GCM-SIV with AES-192. pyca's tests omit these vectors for builds without it.
        text = text.replace("rust_openssl.CRYPTOGRAPHY_IS_BORINGSSL", "True")
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    (folder / "tests" / "conftest.py").write_text(CONFTEST)


def unpacked(archive: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    with tarfile.open(archive) as tar:
        # The filter is available from Python 3.11.4 on.
        tar.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    return next(folder.iterdir())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sdist", nargs="?", type=pathlib.Path, help="cryptography-*.tar.gz")
    arguments, options = parser.parse_known_args()
    import cryptography

    name = f"cryptography-{cryptography.__version__}.tar.gz"
    sdist = arguments.sdist or ROOT / ".venv" / "tests" / "pyca" / name
    if not sdist.exists():
        print(f"{sdist} is missing; `tools/setup test` downloads it")
        return 77
    folder = pathlib.Path(tempfile.mkdtemp(prefix="warpaes-pyca-"))
    try:
        copy_tests(unpacked(sdist, folder / "source"), folder)
        deselected = " and ".join(f"not {part}" for part in EXCEPTIONS)
        pytest = [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", deselected, *options]
        return subprocess.run([*pytest, *TESTS], cwd=folder, check=False).returncode
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
