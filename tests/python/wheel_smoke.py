"""Checks the functions that an installed wheel must provide. `tools/wheel` runs this program in an otherwise empty
environment."""

from __future__ import annotations

import importlib.metadata
import os
import pathlib
import pty
import re
import subprocess
import sys
import tempfile

import warpaes
from warpaes.aead import AESGCM

assert pathlib.Path(warpaes.__file__).is_relative_to(sys.prefix), "a different warpaes was imported"
for module in ("numpy", "torch", "cryptography"):
    assert module not in sys.modules

# Test case 4 of NIST's GCM specification.
key = bytes.fromhex("feffe9928665731c6d6a8f9467308308")
nonce = bytes.fromhex("cafebabefacedbaddecaf888")
text = bytes.fromhex(
    "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
    "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39"
)
aad = bytes.fromhex("feedfacedeadbeeffeedfacedeadbeefabaddad2")
sealed = AESGCM(key).encrypt(nonce, text, aad)
assert sealed[-16:].hex() == "5bc94fbc3221a5db94fae95ae7121a47", sealed[-16:].hex()
assert AESGCM(key).decrypt(nonce, sealed, aad) == text

assert (pathlib.Path(warpaes.get_include()) / "warpaes" / "warpaes.h").exists()
assert pathlib.Path(warpaes.get_library()).exists()
licenses = {path.name for path in importlib.metadata.files("warpaes") or [] if "licenses" in path.parts}
assert licenses >= {"LICENSE", "OpenSSL.txt", "fmt.txt", "CLI11.txt", "nlohmann-json.txt", "libstdc++.txt"}, licenses

# An unversioned symbol may exist in this machine's glibc but not in an older glibc.
command = pathlib.Path(warpaes.__file__).parent / "bin" / "warpaes"
for elf in (command, warpaes.get_library(), warpaes._native.__file__):
    listed = subprocess.run(["readelf", "-W", "--dyn-syms", elf], capture_output=True, text=True, check=True).stdout
    unversioned = set(re.findall(r" GLOBAL .* UND (\w+)$", listed, re.MULTILINE))
    others = {name for name in unversioned if not name.startswith(("Py", "_Py", "warpaes_"))}
    assert "@GLIBC_" in listed and not others, (elf, others)

version = subprocess.run([sys.argv[1], "--version"], capture_output=True, text=True, check=True).stdout
assert version.startswith(f"warpaes {warpaes.__version__}"), version
libraries = subprocess.run(["ldd", warpaes.get_library()], capture_output=True, text=True, check=True).stdout
assert "libcrypto" not in libraries and "not found" not in libraries, libraries
program = pathlib.Path(sys.argv[1]).absolute()
with tempfile.TemporaryDirectory() as folder:
    for arguments in (["keygen", "-o", "key.json"], ["encrypt", "-k", "exec:cat key.json", "key.json", "-o", "sealed"]):
        subprocess.run([program, *arguments], cwd=folder, capture_output=True, check=True)
    opened = ["decrypt", "-k", "exec:cat key.json", "sealed", "-o", "-"]
    text = subprocess.run([program, *opened], cwd=folder, capture_output=True, check=True).stdout
    assert text == pathlib.Path(folder, "key.json").read_bytes()


def on_terminal(*command: str) -> str:
    """Run a command that prompts for passphrases on its terminal. Answer all prompts with the same text and return the
    command's output."""
    child, terminal = pty.fork()
    if child == 0:
        os.execv(command[0], command)
    shown, answered = b"", 0
    while True:
        try:
            shown += os.read(terminal, 4096)
        except OSError:  # the child has closed the terminal
            break
        questions = len(re.findall(rb"assphrase of [^\r\n]*:", shown))
        if questions > answered:
            os.write(terminal, b"correct horse battery staple\n" * (questions - answered))
            answered = questions
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.close(terminal)
    assert status == 0, (command, status, shown)
    return shown.decode()


# After `pip install`, a new user encrypts a first file with one command and reads it with one more command.
with tempfile.TemporaryDirectory() as folder:
    letter = pathlib.Path(folder, "letter.txt")
    letter.write_text("Dear reader")
    assert on_terminal(str(program), "encrypt", "--passphrase", str(letter)).count("New passphrase") == 2
    sealed_letter = pathlib.Path(folder, "letter.txt.warpaes")
    assert b"Dear reader" not in sealed_letter.read_bytes()
    as_module = [sys.executable, "-m", "warpaes"]
    shown = on_terminal(*as_module, "cat", str(sealed_letter))
    assert "Dear reader" in shown, shown
    usage = subprocess.run([*as_module, "--help"], cwd=folder, capture_output=True, text=True, check=True).stdout
    assert usage == subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout
bulk = subprocess.run([sys.argv[1], "bulk", "status", "."], capture_output=True, text=True)
assert bulk.returncode == 1 and "pip install 'warpaes[bulk]'" in bulk.stderr, bulk
print(f"warpaes {warpaes.__version__} works from the wheel")
