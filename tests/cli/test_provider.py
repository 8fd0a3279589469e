"""Tests `warpaes provider`, which adds the provider to openssl.cnf and removes it."""

import json
import os
import shutil
import stat
import subprocess
import tempfile
import unittest
from pathlib import Path

from support import ARGUMENT, EXISTS, FORMAT, NOT_FOUND, OPENSSL, WARPAES, WRITE, CommandTest, main

STATE = 14
MODULE = os.environ.get("WARPAES_PROVIDER", "")
DEBIAN = """openssl_conf = openssl_init
[openssl_init]
providers = provider_sect
ssl_conf = ssl_sect
[provider_sect]
default = default_sect

[default_sect]
# activate = 1
  \t
[ssl_sect]
system_default = system_default_sect
[system_default_sect]
MinProtocol = TLSv1.2
"""


def setUpModule():
    """Copy the module to a folder in root's home directory, because root's configurations refuse modules that another
    user can replace, as in some build trees."""
    global MODULE
    if os.geteuid() == 0 and MODULE:
        folder = tempfile.mkdtemp(prefix=".warpaes-test-", dir=Path.home())
        unittest.addModuleCleanup(shutil.rmtree, folder)
        MODULE = shutil.copy(MODULE, folder)


@unittest.skipIf(OPENSSL is None, "the command openssl is missing; a machine with openssl runs this test")
@unittest.skipIf(not MODULE, "built without the provider; a build with WARPAES_PROVIDER=ON runs this test")
class Provider(CommandTest):
    def setUp(self):
        super().setUp()
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.directory)

    def config(self, text):
        Path("openssl.cnf").write_text(text)
        return ("--config", "openssl.cnf")

    def install(self, text, *more):
        return self.warpaes("provider", "install", *self.config(text), "--module", MODULE, *more)

    def used(self):
        """Return the names of the loaded providers, and check that OpenSSL can generate an RSA key."""
        environment = {**os.environ, "OPENSSL_CONF": str(Path("openssl.cnf").resolve())}

        def run(*a):
            return subprocess.run(["openssl", *a], env=environment, capture_output=True, text=True, check=True)

        providers = run("list", "-providers").stdout
        run("genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:1024")
        return {name for name in ("default", "warpaes", "legacy") if f"\n  {name}\n" in providers}

    def test_settings_for_a_gpu_that_is_not_there(self):
        for lines, words in (
            ("backend = cuda\ndevice = 1000\n", "device = 1000"),
            ("backend = vaes\ndevice = 1000\n", None),
            ("backend = auto\n", None),
        ):
            given = self.config(DEBIAN)
            self.warpaes("provider", "install", *given, "--module", MODULE)
            text = Path("openssl.cnf").read_text()
            Path("openssl.cnf").write_text(text.replace("[warpaes_provider]\n", "[warpaes_provider]\n" + lines))
            done = self.run_command(WARPAES, "provider", "check", *given)
            said = done.stderr.decode()
            self.assertEqual(done.returncode, 0, said)
            self.assertEqual("CPUs do all the work" in said and (words or "?") in said, words is not None, said)
            record = json.loads(self.warpaes("provider", "check", "--json", *given))
            self.assertEqual(len(record["idle"]), 0 if words is None else 1)

    @unittest.skipIf(
        os.geteuid() != 0, "only root can create a configuration that belongs to root; any build as root runs this test"
    )
    def test_root_takes_no_module_that_others_can_replace(self):
        given = self.config(DEBIAN)
        home = Path(tempfile.mkdtemp(prefix=".warpaes-test-", dir=Path.home()))
        self.addCleanup(shutil.rmtree, home)
        home.chmod(0o755)
        folder = home / "a" / "b"
        folder.mkdir(parents=True, mode=0o755)
        module = Path(shutil.copy(MODULE, folder))
        (folder / "link.so").symlink_to(module)
        nobody = 65534

        def refused(words, name=module):
            self.refused_as(
                STATE, f"module '{module}': {words}|--module FILE", "install", *given, "--module", str(name)
            )
            self.assertEqual(Path("openssl.cnf").read_text(), DEBIAN)

        for place in (module, folder, home / "a", home):
            before = place.stat().st_mode & 0o7777
            for mode in (before | 0o020, before | 0o002, 0o1777):
                place.chmod(mode)
                refused(f"'{place}' is writable by other users (mode {mode:04o})")
                refused(f"'{place}' is writable by other users", folder / "link.so")
            place.chmod(before)
            os.chown(place, nobody, -1)
            refused(f"'{place}' belongs to user {nobody}")
            os.chown(place, 0, nobody)
            place.chmod(before)
        Path("here.so").write_bytes(module.read_bytes())  # below /tmp
        if tempfile.gettempdir() == "/tmp":
            self.refused_as(STATE, "'/tmp' is writable by other users (mode 1777)",
                            "install", *given, "--module", "here.so")  # fmt: skip
        self.warpaes("provider", "install", *given, "--module", str(folder / "link.so"))
        self.assertIn(f"module = {module}\n", Path("openssl.cnf").read_text())
        self.warpaes("provider", "check", *given)
        # The command finds a module that was installed earlier, but does not load it.
        folder.chmod(0o777)
        self.refused_as(STATE, f"module '{module}': '{folder}' is writable by other users", "check", *given)
        # Another user's configuration is not checked.
        os.chown("openssl.cnf", nobody, -1)
        self.warpaes("provider", "check", *given)
        self.warpaes("provider", "install", *given, "--module", str(module))
        self.assertEqual(os.stat("openssl.cnf").st_uid, nobody)

    def test_the_module_is_removed_before_the_block(self):
        """`apt-get remove` may remove the module first. OpenSSL then works without it, and the message names the
        remedy."""
        folder = Path(tempfile.mkdtemp(prefix=".warpaes-test-", dir=Path.home()))
        self.addCleanup(shutil.rmtree, folder)
        module = Path(shutil.copy(MODULE, folder))
        given = self.config(DEBIAN)
        self.warpaes("provider", "install", *given, "--module", str(module))
        self.assertEqual(self.used(), {"default", "warpaes"})
        module.unlink()
        self.assertEqual(self.used(), {"default"})
        self.refused_as(
            NOT_FOUND, f"module '{module}', which does not exist|`warpaes provider remove --config 'openssl.cnf'`",
            "check", *given,
            text=Path("openssl.cnf").read_text(),
        )  # fmt: skip
        self.warpaes("provider", "remove", *given)
        self.assertEqual(Path("openssl.cnf").read_text(), DEBIAN)

    def test_install_check_and_remove(self):
        configs = {
            "empty": "",
            "of Debian": DEBIAN,
            "one provider named": DEBIAN.replace("# activate", "activate"),
            "two named": DEBIAN.replace("default = default_sect", "default = default_sect\nlegacy = l").replace(
                "[default_sect]", "[l]\nactivate = 1\n[default_sect]"
            ),
            "none but properties": "openssl_conf = a\n[a]\nalg_section = b\n[b]\ndefault_properties = ?foo=bar\n",
            "comments and quotes": '# a\nopenssl_conf = "a" # b\n[ a ]\nproviders=c\n[c]\n',
        }
        for name, text in configs.items():
            with self.subTest(name):
                # A second run replaces the block.
                for _ in range(2):
                    self.install(text)
                    text_with = Path("openssl.cnf").read_text()
                    self.assertTrue(text_with.startswith(text))
                expected = {"default", "warpaes", "legacy"} if "two" in name else {"default", "warpaes"}
                self.assertEqual(self.used(), expected)
                self.assertIn(
                    b"openssl.cnf: works, warpaes ", self.warpaes("provider", "check", "--config", "openssl.cnf")
                )
                record = json.loads(self.warpaes("provider", "check", "--config", "openssl.cnf", "--json"))
                self.assertTrue(record["works"])
                self.warpaes("provider", "remove", "--config", "openssl.cnf")
                self.assertEqual(Path("openssl.cnf").read_text(), text)
                file = os.stat("openssl.cnf").st_ino
                again = self.run_command(WARPAES, "provider", "remove", "--config", "openssl.cnf")
                self.assertEqual(again.returncode, 0)
                self.assertRegex(
                    again.stderr, rb"^'.*openssl.cnf' contains no block of warpaes; nothing was changed\n$"
                )
                self.assertEqual(os.stat("openssl.cnf").st_ino, file)
                self.assertEqual(Path("openssl.cnf").read_text(), text)
        os.remove("openssl.cnf")

    def test_an_openssl_that_does_not_say_where_its_configuration_is(self):
        os.mkdir("bin")
        for script, words in (
            (None, "the `openssl` command, which tests the configuration, is not installed; install it"),
            ("#!/bin/sh\n", "openssl does not report the path of its configuration; give --config FILE"),
            ("#!/bin/sh\necho 'OPENSSLDIR: \"'\n", "openssl does not report the path of its configuration"),
        ):
            if script is not None:
                Path("bin/openssl").write_text(script)
                os.chmod("bin/openssl", 0o755)
            self.refused(
                NOT_FOUND, words, "provider", "remove", env={"PATH": os.path.abspath("bin"), "OPENSSL_CONF": ""}
            )
        shutil.rmtree("bin")

    def test_an_openssl_that_cannot_list_its_providers(self):
        self.config(DEBIAN)
        os.mkdir("bin")
        Path("bin/openssl").write_text("#!/bin/sh\necho 'no list' today >&2\nexit 1\n")
        os.chmod("bin/openssl", 0o755)
        words = "`openssl list -providers` fails: no list today"
        env = {"PATH": os.path.abspath("bin") + ":" + os.environ["PATH"]}
        self.refused(STATE, words, "provider", "check", "--config", "openssl.cnf", env=env)
        shutil.rmtree("bin")
        os.remove("openssl.cnf")

    def test_permissions_stay(self):
        given = ("--config", "openssl.cnf")
        for mode in (0o600, 0o640, 0o664):
            self.config(DEBIAN)
            os.chmod("openssl.cnf", mode)
            self.warpaes("provider", "install", *given, "--module", MODULE)
            self.assertEqual(stat.S_IMODE(os.stat("openssl.cnf").st_mode), mode)
            self.warpaes("provider", "remove", *given)
            self.assertEqual(stat.S_IMODE(os.stat("openssl.cnf").st_mode), mode)
        os.remove("openssl.cnf")

    def test_sections_in_other_files(self):
        Path("more.cnf").write_text(
            "[openssl_init]\nproviders = elsewhere\n[elsewhere]\ndefault = d\n[d]\nactivate = 1\n"
        )
        self.install("openssl_conf = openssl_init\n.include more.cnf\n")
        self.assertIn("[elsewhere]\nwarpaes = ", Path("openssl.cnf").read_text())
        self.assertEqual(self.used(), {"default", "warpaes"})
        os.remove("openssl.cnf")
        os.remove("more.cnf")

    def test_counters(self):
        self.install(DEBIAN, "--counters", "counters", "--cbc", "--threads", "2", "--threshold", "1M")
        self.assertIn(b"bytes", self.warpaes("provider-stats", "--config", "openssl.cnf"))
        environment = {**os.environ, "OPENSSL_CONF": str(Path("openssl.cnf").resolve())}
        enc = ["openssl", "enc", "-aes-128-cbc", "-K", "00" * 16, "-iv", "00" * 16]
        subprocess.run(enc, env=environment, input=bytes(100000), stdout=subprocess.DEVNULL, check=True)
        for given in (("--config", "openssl.cnf"), ("--counters", "counters")):
            record = json.loads(self.warpaes("provider", "stats", *given, "--json"))
            (cbc,) = [row for row in record["counts"] if row["mode"] == "CBC"]
            self.assertEqual((cbc["where"], cbc["bytes"]), ("kernels", 100016))
            self.assertGreater(record["loads"], 0)
        # The counters include programs in any folder.
        os.mkdir("elsewhere")
        subprocess.run(enc, env=environment, input=bytes(1000), stdout=subprocess.DEVNULL, check=True, cwd="elsewhere")
        record = json.loads(self.warpaes("provider", "stats", *given, "--json"))
        self.assertEqual([row["bytes"] for row in record["counts"] if row["mode"] == "CBC"], [100016 + 1008])
        os.rmdir("elsewhere")
        for text in (b"", b"warpaes1", Path("counters").read_bytes()[:100]):  # counting restarts after a truncated file
            Path("counters").write_bytes(text)
            self.assertEqual(json.loads(self.warpaes("provider", "stats", *given, "--json"))["counts"], [])
        os.remove("counters")
        os.remove("openssl.cnf")

    def test_parameters_that_mean_nothing(self):
        """OpenSSL does not report unknown parameters to the provider. The command warns of them, whatever the section
        is called."""
        self.install(DEBIAN, "--threshold", "1M", "--cbc", "--threads", "auto", "--backend", "aesni")
        check = ("provider", "check", "--config", "openssl.cnf")
        done = self.run_command(WARPAES, "provider", "check", "--config", "openssl.cnf")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertEqual(json.loads(self.warpaes(*check, "--json"))["unknown"], [])
        known = "device = 0\ndevice-memory = yes\ncounters = counters\nsoft_load = 0\n"
        by_hand = (
            "openssl_conf = a\n[a]\nproviders = b\n[b]\ndefault = c\nwarpaes = d\n[c]\nactivate = 1\n"
            f"[d]\nmodule = {MODULE}\nactivate = 1\n{known}[a]\nalg_section = e\n[e]\n"
            "default_properties = ?provider=warpaes\n"
        )
        self.config(by_hand)
        done = self.run_command(WARPAES, "provider", "check", "--config", "openssl.cnf")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.config(by_hand + "[d]\ntreshold = 64K\nd::colour = red\n")
        done = self.run_command(WARPAES, "provider", "check", "--config", "openssl.cnf")
        self.assertEqual(done.returncode, 0)
        self.assertIn(b"works, warpaes", done.stdout)
        self.assertEqual(
            done.stderr.decode().replace("warpaes: warning: [d]: ", "").splitlines(),
            [
                "'treshold' is not a parameter of the provider, which ignores it; did you mean 'threshold'?",
                "'colour' is not a parameter of the provider, which ignores it",
            ],
        )
        self.assertEqual(json.loads(self.warpaes(*check, "--json"))["unknown"], ["treshold", "colour"])
        os.remove("counters")
        os.remove("openssl.cnf")

    def refused_as(self, status, sentence, *arguments, text=None):
        """Check that the command is refused and the configuration is unchanged."""
        self.refused(status, sentence, "provider", *arguments)
        if text is not None:
            self.assertEqual(Path("openssl.cnf").read_text(), text)

    def test_options_of_another_verb(self):
        given = self.config(DEBIAN)
        of_install = (("--module", "x"), ("--backend", "vaes"), ("--threads", "2"), ("--threshold", "1M"), ("--cbc",))
        idle = {
            "install": (("--json",),),
            "check": (*of_install, ("--counters", "x")),
            "remove": (*of_install, ("--counters", "x"), ("--json",)),
            "stats": of_install,
        }
        for verb, options in idle.items():
            for option in options:
                self.refused_as(ARGUMENT, f"{option[0]}: has no effect on `provider {verb}`; omit it",
                                verb, *given, *option, text=DEBIAN)  # fmt: skip

    def test_no_place_for_temporary_files(self):
        self.install(DEBIAN)
        check = ("provider", "check", "--config", "openssl.cnf")
        self.refused(WRITE, "cannot create a temporary file", *check, env={"TMPDIR": "/proc"})

    def test_what_is_refused_changes_nothing(self):
        given = ("--config", "openssl.cnf", "--module", MODULE)
        for text, status, sentence in [
            (DEBIAN.rstrip("\n"), FORMAT, "does not end with a line break"),
            (DEBIAN + "[openssl_init]\nalg_section = a\n[a]\ndefault_properties = fips=yes\n", STATE, "FIPS"),
            (DEBIAN + "[openssl_init]\nalg_section = a\n[a]\ndefault_properties = provider=x\n", STATE, "prefers"),
            (DEBIAN + "[provider_sect]\nwarpaes = w\n", EXISTS, "already names warpaes"),
            (
                DEBIAN + ".include\n",
                FORMAT,
                ".include is nested too deeply",
            ),  # the directory that contains the file itself
        ]:
            self.config(text)
            self.refused_as(status, sentence, "install", *given, text=text)
        self.config(DEBIAN)
        self.refused_as(STATE, "is unchanged", "install", *given, "--backend", "fast", text=DEBIAN)
        self.refused_as(STATE, "is unchanged", "install", *given, "--threshold", "huge", text=DEBIAN)
        module = Path(MODULE).with_name("module") if os.geteuid() == 0 else Path("module")
        shutil.copy("openssl.cnf", module)
        self.refused_as(STATE, "not active", "install", "--config", "openssl.cnf", "--module", str(module), text=DEBIAN)
        self.refused_as(
            NOT_FOUND,
            "--module: the file 'nothing' does not exist",
            "install",
            "--config",
            "openssl.cnf",
            "--module",
            "nothing",
        )
        self.refused_as(NOT_FOUND, "nothing.cnf", "install", "--config", "nothing.cnf", "--module", MODULE)
        self.refused_as(STATE, "not active", "check", "--config", "openssl.cnf", text=DEBIAN)
        self.refused_as(NOT_FOUND, "does not name a counters file", "stats", "--config", "openssl.cnf")
        self.refused_as(FORMAT, "not a counters file of the provider", "stats", "--counters", "openssl.cnf")
        self.refused_as(ARGUMENT, "did you mean 'install'", "instal")
        self.refused_as(ARGUMENT, "install, check, remove or stats")
        os.remove(module)
        os.remove("openssl.cnf")


if __name__ == "__main__":
    main()
