"""Tests packaging: addresses are in one place, versions agree, files parse, and the scripts that workflows run work."""

import hashlib
import importlib.machinery
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import unittest
from pathlib import Path

import tomllib

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import urls  # noqa: E402

CONAN = ROOT / ".venv/lint/bin/conan"
PLACEHOLDER = "warpaes.example"
VERSION = re.search(r"project\(warpaes VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]


def tracked():
    done = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, text=True, check=False)
    if done.returncode != 0 or not done.stdout:
        raise unittest.SkipTest("needs git and a checkout: an archive of the sources does not list its files")
    return [ROOT / name for name in done.stdout.rstrip("\0").split("\0") if (ROOT / name).is_file()]


def script(name):
    loader = importlib.machinery.SourceFileLoader(name, str(ROOT / "packaging" / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    return module


class Addresses(unittest.TestCase):
    def test_every_placeholder_is_one_of_the_list(self):
        known = sorted(urls.addresses().values(), key=len, reverse=True)
        found = 0
        for path in tracked():
            if path in (urls.FILE, Path(__file__).resolve(), ROOT / "tools/urls.py", ROOT / "packaging/README.md"):
                continue
            text = path.read_bytes().decode(errors="replace")
            for address in known:
                found += text.count(address)
                text = text.replace(address, "")
            self.assertNotIn(PLACEHOLDER, text, path)
        self.assertGreater(found, 10)

    def test_no_release_is_published_yet(self):
        """When the project has a public home, `tools/urls.py` sets the addresses. Then delete this test."""
        self.assertTrue(all(PLACEHOLDER in value for name, value in urls.addresses().items() if name != "owners"))
        self.assertIn("No release is published yet", (ROOT / "README.md").read_text())

    def test_addresses_are_replaced_everywhere(self):
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder)
            for name in ("packaging", "tools/urls.py", ".github/CODEOWNERS"):
                (copy / name).parent.mkdir(parents=True, exist_ok=True)
                (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, copy / name)
            for command in (["git", "init", "-q"], ["git", "add", "-A"]):
                subprocess.run(command, cwd=copy, check=True)
            new = "https://code.example.org/aes"
            run = [sys.executable, "-B", copy / "tools/urls.py"]
            subprocess.run([*run, f"repository={new}"], check=True, capture_output=True)
            self.assertEqual(json.loads((copy / "packaging/urls.json").read_text())["repository"], new)
            self.assertIn(new, (copy / "packaging/aur/PKGBUILD").read_text())
            self.assertNotIn("git.warpaes.example", (copy / "packaging/nix/flake.nix").read_text())
            refused = subprocess.run([*run, "nothing=x"], check=False, capture_output=True)
            self.assertEqual(refused.returncode, 2)


class Recipes(unittest.TestCase):
    def test_versions_agree(self):
        for name, pattern in {
            "conda-forge/recipe.yaml": r'\n  version: "([\d.]+)"',
            "vcpkg/vcpkg.json": r'"version": "([\d.]+)"',
            "conan/conanfile.py": r'version = "([\d.]+)"',
            "homebrew/warpaes.rb": r'tag: "v([\d.]+)"',
            "nix/flake.nix": r'version = "([\d.]+)"',
            "aur/PKGBUILD": r"pkgver=([\d.]+)",
        }.items():
            self.assertEqual(re.findall(pattern, (ROOT / "packaging" / name).read_text()), [VERSION], name)

    def test_manifests_parse(self):
        """`make lint` checks all other files with their own linters."""
        for path in [ROOT / "packaging/vcpkg/vcpkg.json", ROOT / ".devcontainer/devcontainer.json", urls.FILE]:
            json.loads(path.read_text())
        tomllib.loads((ROOT / "pyproject.toml").read_text())

    def test_recipes_of_the_library_build_no_command(self):
        """The recipes list the library's dependencies but not the command's."""
        for name in ("vcpkg/portfile.cmake", "conan/conanfile.py", "oss-fuzz/build.sh"):
            text = (ROOT / "packaging" / name).read_text()
            for option in ("CLI", "PROVIDER", "CUDA"):
                self.assertRegex(text, rf'WARPAES_{option}(=OFF|": False)', name)

    @unittest.skipUnless(
        CONAN.exists(), "there is no conan; a machine where `tools/setup lint` has installed it runs this test"
    )
    def test_conan_builds_the_checkout_with_the_default_profile(self):
        """The recipe exports all files that CMake needs and accepts the default profile."""
        with tempfile.TemporaryDirectory() as folder:
            environment = dict(os.environ, CONAN_HOME=folder)

            def conan(*arguments):
                done = subprocess.run([CONAN, *arguments], env=environment, capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)
                return done.stdout

            conan("profile", "detect")
            profile = Path(folder, "profiles/default")
            profile.write_text(profile.read_text() + "\n[platform_requires]\nopenssl/3.0.0\n")
            info = json.loads(conan("graph", "info", ROOT / "packaging/conan", "--format=json"))
            self.assertIsNone(info["graph"]["nodes"]["0"]["info_invalid"])
            conan("export", ROOT / "packaging/conan")
            (sources,) = Path(folder, "p").glob("*/es")
            options = [f"-DWARPAES_{name}=OFF" for name in ("TESTS", "CLI", "CUDA", "PROVIDER")]
            done = subprocess.run(
                ["cmake", "-S", sources, "-B", Path(folder, "build"), *options], capture_output=True, text=True
            )
            self.assertEqual(done.returncode, 0, done.stderr)

    @unittest.skipUnless(
        shutil.which("cmake"), "there is no cmake; a machine where `make test` has installed it runs this test"
    )
    def test_the_vcpkg_port_builds_the_checkout(self):
        """The test replaces vcpkg's functions. The real vcpkg_from_git accepts only the hash of a commit, not a tag."""
        names = ["check_linkage", "cmake_configure", "cmake_install", "cmake_config_fixup", "fixup_pkgconfig"]
        with tempfile.TemporaryDirectory() as folder:
            script = Path(folder, "script.cmake")
            functions = [f'function(vcpkg_{name})\n  message("{name};${{ARGN}}")\nendfunction()' for name in names]
            functions.append('function(vcpkg_install_copyright)\n  message("copyright;${ARGN}")\nendfunction()')
            port = ROOT / "packaging/vcpkg/portfile.cmake"
            script.write_text("\n".join([*functions, f"set(CURRENT_PACKAGES_DIR {folder})", f"include({port})"]))
            done = subprocess.run(["cmake", "-P", script], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        calls = {line.split(";")[0]: line.split(";")[1:] for line in done.stderr.splitlines()}
        self.assertEqual(list(calls), [*names, "copyright"])
        configure = calls["cmake_configure"]
        self.assertEqual(Path(configure[configure.index("SOURCE_PATH") + 1]).resolve(), ROOT)
        self.assertTrue(Path(calls["copyright"][1]).is_file())

    @unittest.skipUnless(
        shutil.which("cmake") and Path(sysconfig.get_path("include"), "Python.h").exists(),
        "cmake or Python's headers are missing; a machine where `tools/setup test` has installed them runs this test",
    )
    def test_cmake_configures_the_source_distribution_of_python(self):
        """pyproject.toml excludes files from the source distribution. The command, which is in the wheel, includes
        parts of lab/."""
        settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["scikit-build"]
        excluded = [pattern.lstrip("/") for pattern in settings["sdist"]["exclude"]]
        defines = [f"-D{name}={value}" for name, value in settings["cmake"]["define"].items()]
        with tempfile.TemporaryDirectory() as folder:
            for path in tracked():
                name = path.relative_to(ROOT)
                if not any(parent.match(pattern) for parent in (name, *name.parents) for pattern in excluded):
                    copy = Path(folder, "sdist", name)
                    copy.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(path, copy)
            command = [
                "cmake",
                "-S",
                Path(folder, "sdist"),
                "-B",
                Path(folder, "build"),
                *defines,
                "-DWARPAES_CUDA=OFF",
            ]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_setup_installs_all_build_dependencies_of_the_debian_packages(self):
        """dpkg-buildpackage also requires build-essential, which a minimal Debian system lacks."""
        listed = re.search(r"^Build-Depends: (.*)$", (ROOT / "debian/control").read_text(), re.MULTILINE)[1]
        names = {re.match(r"[a-z0-9-]+", entry)[0] for entry in listed.split(", ")} - {"debhelper-compat"}
        self.assertGreater(len(names), 4)
        setup = (ROOT / "tools/setup").read_text()
        for name in names | {"build-essential", "debhelper", "dpkg-dev", "lintian"}:
            self.assertRegex(setup, rf"(need|h|hpp) {name} ", name)

    def test_cmake_options_exist(self):
        declared = "".join(path.read_text() for path in [ROOT / "CMakeLists.txt", *(ROOT / "cmake").glob("*.cmake")])
        declared += (ROOT / "python/CMakeLists.txt").read_text()
        for path in (ROOT / "packaging").rglob("*"):
            if path.is_file() and path.suffix != ".c":
                for option in re.findall(r"\bWARPAES_[A-Z_]+\b", path.read_text()):
                    self.assertIn(option, declared, path)

    def test_every_fuzzer_has_a_seed_corpus_for_oss_fuzz(self):
        """packaging/oss-fuzz/build.sh unpacks a corpus for each program and fails if a corpus is missing."""
        self.assertIn("fuzz/corpus/${name#fuzz_}.tar.xz", (ROOT / "packaging/oss-fuzz/build.sh").read_text())
        targets = re.findall(
            r"^ *warpaes_fuzz_(?:file_)?target\((\w+)", (ROOT / "fuzz/CMakeLists.txt").read_text(), re.M
        )
        self.assertGreaterEqual(len(targets), 13)
        self.assertEqual(sorted(targets), sorted(path.name[:-7] for path in (ROOT / "fuzz/corpus").glob("*.tar.xz")))

    def test_the_image_of_oss_fuzz_is_of_one_system(self):
        """OSS-Fuzz runs the fuzzers in the system that project.yaml names, because the default system is too old for
        OpenSSL 3."""
        system = re.search(r"base_os_version: (.*)", (ROOT / "packaging/oss-fuzz/project.yaml").read_text())[1]
        image = (ROOT / "packaging/oss-fuzz/Dockerfile").read_text().splitlines()[0]
        self.assertEqual(image, f"FROM gcr.io/oss-fuzz-base/base-builder:{system}")


class Release(unittest.TestCase):
    def test_files_get_checksums_and_an_sbom(self):
        collect = script("collect")
        with tempfile.TemporaryDirectory() as folder:
            source, target = Path(folder) / "from", Path(folder) / "to"
            for name in ("a/x.whl", "b/y.deb", "b/z.tar.gz", "b/notes.txt"):
                (source / name).parent.mkdir(parents=True, exist_ok=True)
                (source / name).write_text(name)
            made = [path.name for path in collect.collect(source, target)]
            self.assertEqual(made, ["x.whl", "y.deb", "z.tar.gz", f"warpaes-{VERSION}.cdx.json", "SHA256SUMS"])
            sums = dict(reversed(line.split("  ")) for line in (target / "SHA256SUMS").read_text().splitlines())
            self.assertEqual(sums["x.whl"], hashlib.sha256(b"a/x.whl").hexdigest())
            document = json.loads((target / f"warpaes-{VERSION}.cdx.json").read_text())
            names = [component["name"] for component in document["components"]]
            licences = {path.stem for path in (ROOT / "licenses").glob("*.txt")}
            self.assertLessEqual(set(collect.INSIDE), licences)
            self.assertEqual(names[-3:], ["x.whl", "y.deb", "z.tar.gz"])
            (source / "c").mkdir()
            (source / "c/x.whl").write_text("other")
            with self.assertRaisesRegex(SystemExit, "x.whl: two jobs"):
                collect.collect(source, target)

    def test_one_wheel_for_glibc_for_each_architecture(self):
        """packaging/collect refuses two files with the same name. The images of manylinux_2_28 contain OpenSSL
        1.1.1."""
        text = (ROOT / ".github/workflows/release.yml").read_text()
        built = re.findall(r"\{ arch: (\w+), gpu: ", text)
        self.assertEqual(built, ["x86_64", "aarch64"])
        self.assertEqual(text.count("make wheel GPU"), 2, "the step's name and its command")
        self.assertNotIn("manylinux", re.findall(r"CIBW_BUILD: .*", text)[0])

    def test_notes_are_the_changelogs(self):
        done = subprocess.run(
            [sys.executable, "-B", ROOT / "packaging/notes", VERSION], capture_output=True, text=True, check=True
        )
        self.assertTrue(done.stdout.startswith("### Security"))
        missing = subprocess.run([sys.executable, "-B", ROOT / "packaging/notes", "9.9.9"], capture_output=True)
        self.assertNotEqual(missing.returncode, 0)

    def test_workflows_run_scripts_of_the_tree(self):
        for path in (ROOT / ".github/workflows").glob("*.yml"):
            text = path.read_text()
            self.assertIn("permissions:", text, path)
            for name in re.findall(r"(?:run:|sudo|^ +)\s*((?:packaging|tools|\.ci)/\w+)", text, re.MULTILINE):
                self.assertTrue((ROOT / name).is_file(), f"{path.name}: {name}")
            for action in re.findall(r"uses: (.+)", text):
                self.assertRegex(action, r"^\S+@[0-9a-f]{40} # v\d+\.\d+\.\d+$", f"{path.name}: a tag can be moved")


if __name__ == "__main__":
    unittest.main()
