"""Installs the Debian packages (`make deb`) in a separate root file system. Their contents must work there, and
removing the packages must delete them."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = sorted((ROOT / "build/deb").glob("*.deb"))
NAMES = ["libwarpaes-dev", "libwarpaes1", "warpaes", "warpaes-openssl-provider"]


@unittest.skipIf(shutil.which("dpkg") is None, "dpkg is missing; a machine with dpkg runs this test")
@unittest.skipIf(not PACKAGES, "there are no packages; `make deb` builds them")
class Packages(unittest.TestCase):
    def setUp(self):
        self.root = Path(tempfile.mkdtemp(prefix="warpaes-packages-"))
        self.addCleanup(shutil.rmtree, self.root)
        (self.root / "var/lib/dpkg/updates").mkdir(parents=True)
        (self.root / "var/lib/dpkg/info").mkdir()
        (self.root / "var/lib/dpkg/status").touch()

    def run_command(self, *command, **options):
        done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
        self.assertEqual(done.returncode, 0, (command, done.stdout, done.stderr))
        return done.stdout

    def dpkg(self, *arguments):
        return self.run_command(
            "dpkg", f"--root={self.root}", "--force-not-root", "--force-depends", "--force-script-chrootless",
            "--no-triggers", "--log=/dev/null", *arguments,
            env={**os.environ, "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"},
        )  # fmt: skip

    def files(self):
        return {p for p in (self.root / "usr").rglob("*") if not p.is_dir()} if (self.root / "usr").exists() else set()

    def test_installed_used_and_removed(self):
        names = [re.match(r"[^_]*", package.name)[0] for package in PACKAGES if "dbgsym" not in package.name]
        self.assertEqual(sorted(names), NAMES)
        self.dpkg("--install", *[str(package) for package in PACKAGES if "dbgsym" not in package.name])
        (command,) = self.root.glob("usr/bin/warpaes")
        (library,) = self.root.glob("usr/lib/*/libwarpaes.so.1")
        (module,) = self.root.glob("usr/lib/*/ossl-modules/warpaes.so")
        environment = {**os.environ, "LD_LIBRARY_PATH": str(library.parent)}
        self.run_command(str(command), "selftest", env=environment)
        if shutil.which("openssl"):
            listed = self.run_command(
                "openssl", "list", "-providers", "-provider-path", str(module.parent), "-provider", "warpaes"
            )
            self.assertRegex(listed, r"(?m)^  warpaes\n(    .*\n)*    status: active$")
            config = self.root / "openssl.cnf"
            config.write_text("")
            install = [str(command), "provider", "install", "--config", str(config)]
            self.run_command(*install, env=environment)
            self.assertIn(str(module), config.read_text())
            self.run_command(str(command), "provider", "remove", "--config", str(config), env=environment)
            self.assertEqual(config.read_text(), "")
        self.assertTrue(list(self.root.glob("usr/share/man/man1/warpaes-provider.1*")))
        for place in (
            "bash-completion/completions/warpaes",
            "zsh/*/_warpaes",
            "fish/vendor_completions.d/warpaes.fish",
        ):
            self.assertEqual(len(list(self.root.glob(f"usr/share/{place}"))), 1, place)
        self.dpkg("--purge", *NAMES)
        self.assertEqual(self.files(), set())


if __name__ == "__main__":
    unittest.main()
