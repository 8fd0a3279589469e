#!/usr/bin/env python3
"""Runs every block of README.md, docs/tutorial.md and docs/library.md in a minimal root file system.

    tools/fresh_root.py debian    Debian 12 (debootstrap's variant minbase) with the committed tree
    tools/fresh_root.py ubuntu    Ubuntu 24.04

The script needs root privileges and debootstrap.

It runs the blocks unchanged and in order, with one shell per page. It first creates the file that the README's commands
encrypt, and adds declarations around blocks of C and C++. At the end, it deletes the root file system unless --root
names it. The first block that fails ends the run.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: For each system: the suite, the archive, debootstrap's script, and the archive's keyring.
SYSTEMS = {
    "debian": ("bookworm", "http://deb.debian.org/debian", None, "debian-archive-keyring.gpg"),
    "ubuntu": ("noble", "http://archive.ubuntu.com/ubuntu", "gutsy", "ubuntu-archive-keyring.gpg"),
}
#: The package that contains Ubuntu's keyring, and the SHA-256 of the keyring. The keyring contains the key
#: F6ECB3762474EDA9D21B7022871920D1991BC93C.
UBUNTU_KEYRING = (
    "pool/main/u/ubuntu-keyring/ubuntu-keyring_2023.11.28.1_all.deb",
    "80a36b0a6de2f69f49d2df75ef473ccde121e9e190b9ea01d20a4f63778d5c31",
)
AUTHORITIES = Path("/usr/local/share/ca-certificates")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

#: Creates the file that the README's commands use.
README_FILES = "head -c 2500000 /dev/urandom > disk.img\n"
#: Builds a program against the installation in ~/.local, as the page describes.
BUILD_C = """\
export PKG_CONFIG_PATH=~/.local/lib/pkgconfig LD_LIBRARY_PATH=~/.local/lib
{compiler} program{suffix} $(pkg-config --cflags --libs warpaes) -o program && ./program
"""
CMAKE = """\
mkdir consumer && cp program.cpp consumer/ && cat > consumer/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.22)
project(consumer CXX)
find_package(warpaes REQUIRED)
add_executable(consumer program.cpp)
target_link_libraries(consumer warpaes::warpaes)
END
CMAKE_PREFIX_PATH=~/.local cmake -S consumer -B consumer/build
cmake --build consumer/build && consumer/build/consumer
"""


def run(*command: object, **options) -> subprocess.CompletedProcess:
    return subprocess.run([str(part) for part in command], check=True, **options)


def keyring_of(system: str, mirror: str, folder: Path) -> Path:
    """Return the keyring that verifies the archive's signatures."""
    installed = Path("/usr/share/keyrings") / SYSTEMS[system][3]
    if installed.exists():
        return installed
    if system != "ubuntu":
        raise SystemExit(f"{installed} is missing; apt-get install debian-archive-keyring")
    path, wanted = UBUNTU_KEYRING
    package = folder / "keyring.deb"
    with urllib.request.urlopen(f"{mirror}/{path}", timeout=60) as answer:
        package.write_bytes(answer.read())
    run("dpkg-deb", "-x", package, folder / "keyring")
    found = folder / "keyring/usr/share/keyrings" / SYSTEMS[system][3]
    if hashlib.sha256(found.read_bytes()).hexdigest() != wanted:
        raise SystemExit(f"{path} of {mirror} is not the expected keyring")
    return found


def make_root(system: str, root: Path, scratch: Path) -> None:
    suite, mirror, script, _ = SYSTEMS[system]
    options = ["--variant=minbase", "--components=main,universe" if system == "ubuntu" else "--components=main"]
    if script and not Path(f"/usr/share/debootstrap/scripts/{suite}").exists():
        arguments = [suite, root, mirror, f"/usr/share/debootstrap/scripts/{script}"]
    else:
        arguments = [suite, root, mirror]
    keyring = keyring_of(system, mirror, scratch)
    run("debootstrap", *options, f"--keyring={keyring}", "--force-check-gpg", *arguments, stdout=subprocess.DEVNULL)


def take_network(root: Path) -> dict[str, str]:
    """Copy this system's name servers and certificate authorities, and return environment variables for its proxies and
    authorities."""
    shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
    environment = {name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")}
    own = [path.read_text() for path in sorted(AUTHORITIES.glob("*.crt"))]
    if own:
        (root / "etc/ssl").mkdir(exist_ok=True)
        system = Path("/etc/ssl/certs/ca-certificates.crt").read_text()
        (root / "etc/ssl/of-the-network.crt").write_text(system + "\n".join(own))
        environment["PIP_CERT"] = "/etc/ssl/of-the-network.crt"
    return environment


def snippets():
    """Return the module tests/project/test_snippets.py, which adds the code around blocks of C and C++."""
    os.environ.setdefault("WARPAES_BUILD", "/nowhere")
    os.environ.setdefault("WARPAES_LIBRARY", "/nowhere")
    spec = importlib.util.spec_from_file_location("snippets", ROOT / "tests/project/test_snippets.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def program(page: str, language: str, block: str) -> str:
    """Return a block of a page as a complete program."""
    known = snippets()
    includes, body = "".join(known.INCLUDE.findall(block)), known.INCLUDE.sub("", block)
    if language == "c":
        return f"{includes}{known.C_BEGIN}{body}{known.C_ENDS[page]}\nreturn 0; }}\n"
    before, end = known.CPP[page]
    return f"{includes}{known.CPP_BEGIN}{before}{body}{end}\nreturn 0; }}\n"


def lines_of(name: str) -> list[str]:
    """Return a page as a shell script that prints and runs each of its blocks."""
    out = []
    for number, (language, block) in enumerate(BLOCK.findall((ROOT / name).read_text()), 1):
        out.append(f"echo; echo '== {name}, block {number}: {language}'")
        if language == "sh":
            for line in block.splitlines():
                out.append(f"printf '%s\\n' {shlex.quote('$ ' + line)}")
                out += ["cd ~/warpaes", line, "cd ~/work"] if line.startswith("make ") else [line]
                if line.startswith("make install PREFIX=~/.local"):
                    out.append("PATH=~/.local/bin:$PATH")
        elif language in ("c", "cpp"):
            compiler, suffix = {"c": ("gcc -std=gnu99 -w", ".c"), "cpp": ("g++ -std=c++20", ".cpp")}[language]
            out.append(f"cat > program{suffix} <<'END_OF_PROGRAM'\n{program(name, language, block)}END_OF_PROGRAM")
            out.append(BUILD_C.format(compiler=compiler, suffix=suffix))
            out += [CMAKE] if language == "cpp" else []
        elif language == "python":
            out.append(f"cat > read.py <<'END_OF_PROGRAM'\n{block}print(len(content))\nEND_OF_PROGRAM")
            out.append("(cd ~/warpaes && make wheel) && python3 -m venv venv")
            out.append("venv/bin/pip install -q ~/warpaes/build/dist/*.whl && venv/bin/python3 read.py")
        else:
            raise SystemExit(f"{name}: blocks of {language} are not supported")
    return out


#: Each page runs in its own empty folder. PREPARE installs packages that the docs require in prose: make; pkg-config (C
#: and C++ examples); python3-venv (Python examples).
BEFORE = """\
set -eo pipefail
rm -rf ~/work && mkdir ~/work && cd ~/work
"""
PREPARE = """\
apt-get -qq update
DEBIAN_FRONTEND=noninteractive apt-get -qq install --no-install-recommends {packages} >/dev/null
"""


def enter(root: Path, environment: dict[str, str], script: str) -> None:
    command = f'mount --rbind /dev {root}/dev && mount -t proc proc {root}/proc && exec chroot {root} /bin/bash -c "$0"'
    run(
        *("unshare", "--mount", "--pid", "--fork", "/bin/sh", "-c", command, script),
        env={"HOME": "/root", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", **environment},
        stdin=subprocess.DEVNULL,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("system", choices=SYSTEMS, help="the distribution")
    parser.add_argument(
        "--root", type=Path, help="use this root file system, or create it if it does not exist; keep it at the end"
    )
    parser.add_argument("--tree", default="HEAD", help="the commit whose pages run (%(default)s)")
    arguments = parser.parse_args()
    if os.geteuid() != 0 or not shutil.which("debootstrap"):
        print("tools/fresh_root.py needs root and debootstrap (apt-get install debootstrap)", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="warpaes-root-") as scratch:
        root = (arguments.root or Path(scratch) / "root").resolve()
        if not (root / "bin/bash").exists():
            print(f"== a bare {arguments.system} in {root}", flush=True)
            make_root(arguments.system, root, Path(scratch))
        environment = take_network(root)
        tree = root / "root/warpaes"
        shutil.rmtree(tree, ignore_errors=True)
        tree.mkdir()
        archive = run("git", "-C", ROOT, "archive", arguments.tree, stdout=subprocess.PIPE).stdout
        run("tar", "x", "-C", tree, input=archive)
        enter(root, environment, "set -e\n" + PREPARE.format(packages="make"))
        for name, before in (("README.md", README_FILES), ("docs/tutorial.md", ""), ("docs/library.md", "")):
            more = PREPARE.format(packages="pkg-config python3-venv") if name == "README.md" else ""
            script = "\n".join([BEFORE + before, *lines_of(name)])
            # Packages for blocks in other languages are installed after the first block, which must work without them.
            first, second = script.split(f"== {name}, block 2", 1)
            script = first.rpartition("echo; echo '")[0] + more + f"\necho; echo '== {name}, block 2" + second
            enter(root, environment, script)
    print(f"\nREADME.md, docs/tutorial.md and docs/library.md work on {arguments.system}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
