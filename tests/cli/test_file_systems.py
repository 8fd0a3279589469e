"""Tests output files on file systems that lack features of ext4, such as links, RENAME_NOREPLACE, rename, permissions
or times.

A preloaded library (poor_file_system.cpp) refuses the calls. This works on any machine and as any user. Real file
systems are tested if they can be mounted: rclone, bindfs, gocryptfs, FAT or exFAT with FUSE, overlayfs and tmpfs.
"""

import json
import os
import shutil
import subprocess
import sys
import unittest

from support import EXISTS, WARPAES, WRITE, CommandTest, data, main

LIBRARY = os.environ["POOR_FILE_SYSTEM_LIBRARY"]
PACKAGE = os.environ.get("WARPAES_PYTHON_PACKAGE")
ENC = ["enc", "-aes-256-ctr", "-pbkdf2", "-iter", "10", "-pass", "env:P"]
PLAIN = data(300_000)

#: The missing features of each kind of file system.
KINDS = {
    "no unnamed files": "tmpfile",
    "old kernel or NFS": "tmpfile noreplace",
    "unnamed files that no link can name": "link",
    "FAT, exFAT": "tmpfile link chown",
    "CIFS of another owner": "tmpfile link chmod times chown",
    "rclone, s3fs, gcsfuse": "tmpfile noreplace link quiet_chmod chown",
    "rclone without a cache": "tmpfile noreplace link quiet_chmod chown order open prompt",
    "object storage without rename": "tmpfile noreplace link rename chmod times chown fsync",
    "everything denied at the end": "chmod times chown fsync",
}

PYTHON_WRITERS = """
import io, os, sys, warpaes
from warpaes._output import Output
keyset = warpaes.Keyset.parse(open("keyset.json", "rb").read())
plain = open("plain", "rb").read()
with warpaes.open("out/a", "wb" if "replace" in sys.argv else "xb", keyset=keyset) as file:
    file.write(plain)
with Output("out/b", replace="replace" in sys.argv) as file:
    file.write(plain)
for name in ("a", "b"):
    with (warpaes.open("out/a", keyset=keyset) if name == "a" else open("out/b", "rb")) as file:
        assert file.read() == plain, name
"""


class FileSystems(CommandTest):
    def setUp(self):
        super().setUp()
        self.addCleanup(os.umask, os.umask(0o022))
        self.warpaes("keygen", "-o", "keyset.json")
        self.write("plain", PLAIN)
        os.chmod(self.path("plain"), 0o640)
        os.mkdir(self.path("tree"))
        self.write("tree/a", PLAIN[:1000])
        self.write("tree/b", b"")
        self.out = self.path("out")
        os.mkdir(self.out)

    def commands(self):
        """Return every command that writes a file, with the name of the output."""
        k = ["-k", "keyset.json"]
        yield "sealed", ["encrypt", *k, "-o", "out/sealed", "plain"]
        yield "opened", ["decrypt", *k, "-o", "out/opened", "out/sealed"]
        yield "part", ["decrypt", *k, "-r", "5:9", "-o", "out/part", "out/sealed"]
        yield "stream", ["encrypt", *k, "-o", "out/stream"]
        yield "enc", [*ENC, "-in", "plain", "-out", "out/enc"]
        yield "dec", [*ENC, "-d", "-in", "out/enc", "-out", "out/dec"]
        yield "keys", ["keygen", "-o", "out/keys"]
        yield "trees/tree/a.warpaes", ["encrypt", *k, "--output-dir", "out/trees", "tree"]
        yield "back/tree/a", ["decrypt", *k, "--output-dir", "out/back", "out/trees/tree"]

    def check_all(self, environment, may_replace=True, keeps_times=True, creates_late=False):
        """Run all commands and the Python writers, and return the messages.

        ``keeps_times`` states whether files keep their modification time, because `reencrypt` refuses changed files.
        ``creates_late`` states whether removed files can reappear after the mount has uploaded them.
        """
        said = b""
        for name, arguments in self.commands():
            done = self.run_command(WARPAES, *arguments, stdin=PLAIN, env=environment)
            self.assertEqual(done.returncode, 0, (arguments, done.stderr))
            self.assertTrue(os.path.exists(os.path.join(self.out, name)), arguments)
            said += done.stderr
            # Without -f, no file is replaced. With -f, every file can be replaced.
            if arguments[0] in ("encrypt", "enc") and "--output-dir" not in arguments:
                before = os.stat(os.path.join(self.out, name)).st_size
                self.refused_in(EXISTS, environment, *arguments)
                again = self.run_command(WARPAES, arguments[0], "-f", *arguments[1:], stdin=PLAIN, env=environment)
                self.assertEqual(again.returncode, 0 if may_replace else WRITE, (arguments, again.stderr))
                self.assertEqual(os.stat(os.path.join(self.out, name)).st_size, before)
                said += again.stderr
        self.assertEqual(self.read("out/opened"), PLAIN)
        self.assertEqual(self.read("out/dec"), PLAIN)
        self.assertEqual(self.read("out/part"), PLAIN[5:10])
        self.assertEqual(self.read("out/back/tree/a"), PLAIN[:1000])
        for done in (["verify", "-k", "keyset.json", "out/stream"], ["keys", "list", "out/keys"]):
            self.warpaes(*done)
        if may_replace and keeps_times:
            k = ["-k", "keyset.json", "--to", "out/keys"]
            for arguments in (["keys", "add", "--primary", "out/keys"], ["reencrypt", *k, "out/stream"]):
                done = self.run_command(WARPAES, *arguments, env=environment)
                self.assertEqual(done.returncode, 0, (arguments, done.stderr))
            self.warpaes("verify", "-k", "out/keys", "out/stream")
        said += self.check_python(environment, may_replace)
        if not creates_late:
            self.assertEqual([name for name in self.walk() if ".warpaes-" in name], [])
        return said

    def check_python(self, environment, may_replace):
        if PACKAGE is None:
            return b""
        said = b""
        for how in ([], ["replace"]) if may_replace else ([],):
            path = {**environment, "PYTHONPATH": PACKAGE}
            done = self.run_command(sys.executable, "-B", "-c", PYTHON_WRITERS, *how, env=path)
            self.assertEqual(done.returncode, 0, done.stderr)
            said += done.stderr
        return said

    def refused_in(self, status, environment, *arguments):
        done = self.run_command(WARPAES, *arguments, stdin=PLAIN, env=environment)
        self.assertEqual(done.returncode, status, (arguments, done.stderr))

    def walk(self):
        for root, folders, names in os.walk(self.out):
            yield from (os.path.join(root, name) for name in [*folders, *names])

    def poor(self, lacks, **more):
        return {"P": "x", "LD_PRELOAD": LIBRARY, "POOR_FILE_SYSTEM": lacks, **more}

    def test_every_command_on_every_kind(self):
        for kind, lacks in KINDS.items():
            with self.subTest(kind):
                shutil.rmtree(self.out)
                os.mkdir(self.out)
                words = lacks.split()
                calls = self.path("calls")
                said = self.check_all(self.poor(lacks, POOR_CALLS=calls), may_replace="rename" not in words)
                with open(calls, encoding="ascii") as file:
                    refused = set(file.read().split())
                os.remove(calls)
                # The test is only meaningful if these calls were made.
                self.assertGreaterEqual(
                    refused, set(words) - {"open", "prompt", "quiet_chmod", "chown", "rename", "noreplace", "fsync"}
                )
                weaker = {"chmod", "quiet_chmod", "times"} & set(words)
                self.assertEqual(b"did not store the permissions" in said, bool(weaker), said)
                self.assertEqual(b"cannot rename files" in said, "rename" in words, said)

    def test_nobody_gets_more_than_asked_for(self):
        for lacks in KINDS.values():
            if "chmod" not in lacks.split():
                continue
            shutil.rmtree(self.out)
            os.mkdir(self.out)
            self.run_command(WARPAES, "encrypt", "-k", "keyset.json", "-o", "out/a", "plain", env=self.poor(lacks))
            self.assertEqual(os.stat(self.path("out/a")).st_mode & 0o777, 0o600)
            self.write("out/old", b"old")
            os.chmod(self.path("out/old"), 0o644)
            if "rename" not in lacks.split():
                self.run_command(
                    WARPAES, "encrypt", "-f", "-k", "keyset.json", "-o", "out/old", "plain", env=self.poor(lacks)
                )
                self.assertEqual(os.stat(self.path("out/old")).st_mode & 0o777, 0o600)

    def test_what_cannot_work_fails_before_the_input_is_read(self):
        """Files are replaced without rename(). The input is a pipe that has no writer."""
        self.write("out/old", b"old")
        lacks = self.poor("tmpfile noreplace link rename")
        reader, writer = os.pipe()
        try:
            done = self.run_command(
                WARPAES, "encrypt", "-f", "-k", "keyset.json", "-o", "out/old", stdin=reader, env=lacks
            )
        finally:
            os.close(reader)
            os.close(writer)
        self.assertEqual(done.returncode, WRITE)
        self.assertIn(b"cannot rename files", done.stderr)
        self.assertEqual(self.read("out/old"), b"old")
        self.assertEqual(os.listdir(self.out), ["old"])

    def test_a_file_that_cannot_be_stored_when_it_is_closed(self):
        """A mount of object storage may run out of space at close() without an error in any earlier call."""
        lacks = self.poor("tmpfile noreplace link close")
        self.write("out/old", b"old")
        k = ["-k", "keyset.json"]
        for arguments in (
            ["encrypt", *k, "-o", "out/a", "plain"],
            ["encrypt", *k, "-f", "-o", "out/old", "plain"],
            ["keygen", "-o", "out/keys"],
        ):
            done = self.run_command(WARPAES, *arguments, env=lacks)
            self.assertEqual(done.returncode, WRITE)
            self.assertIn(b"No space left on device", done.stderr)
        if PACKAGE is not None:
            lacks["PYTHONPATH"] = PACKAGE
            for program in (
                PYTHON_WRITERS,
                "from warpaes._output import Output\nwith Output('out/b') as f: f.write(b'text')",
            ):
                done = self.run_command(sys.executable, "-B", "-c", program, env=lacks)
                self.assertIn(b"No space left on device", done.stderr)
        self.assertEqual(os.listdir(self.out), ["old"])
        self.assertEqual(self.read("out/old"), b"old")

    def test_a_file_that_takes_the_place_of_a_new_keyset_stays(self):
        self.refused_in(EXISTS, self.poor("noreplace link stolen"), "keygen", "-o", "out/keyset")
        self.assertEqual(self.read("out/keyset"), b"theirs")
        self.assertEqual(os.listdir(self.out), ["keyset"])

    @unittest.skipUnless(os.geteuid() == 0, "only root may change another user's keyset; root runs this test")
    def test_root_takes_no_keyset_from_its_owner(self):
        shutil.copy(self.path("keyset.json"), self.path("out/keyset"))
        os.chown(self.path("out/keyset"), 65534, 65534)
        before = self.read("out/keyset")
        self.refused_in(WRITE, self.poor("chown"), "keys", "add", "out/keyset")
        self.assertEqual(self.read("out/keyset"), before)
        self.assertEqual(os.stat(self.path("out/keyset")).st_uid, 65534)
        self.assertEqual(os.listdir(self.out), ["keyset"])
        os.chown(self.path("out/keyset"), 0, 65534)  # harmless, because the other group may not read the file
        done = self.run_command(WARPAES, "keys", "add", "out/keyset", env=self.poor("chown"))
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_record_counts_a_complete_file_as_done(self):
        arguments = ["encrypt", "-k", "keyset.json", "--json", "-o", "out/a", "plain"]
        done = self.run_command(WARPAES, *arguments, env=self.poor("chmod times"))
        self.assertEqual(json.loads(done.stdout)["status"], 0)


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False)


def mounted(kind, back, place, image):
    """Mount a file system of this kind at a place. Return None, or the reason why it cannot be mounted here."""
    if os.geteuid() != 0:
        return "only root may mount"
    if kind in ("tmpfs", "overlay"):
        upper, work = f"{back}/upper", f"{back}/work"
        os.makedirs(upper)
        os.makedirs(work)
        options = f"lowerdir={back},upperdir={upper},workdir={work}" if kind == "overlay" else "size=64m"
        done = run("mount", "-t", kind, "-o", options, kind, place)
        return None if done.returncode == 0 else done.stderr.strip()
    program = kind.split()[0]
    if shutil.which(program) is None:
        return f"{program} is not installed"
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        return "there is no /dev/fuse"
    if program == "rclone":
        done = run("rclone", "mount", "--config", "/dev/null", "--vfs-cache-mode", kind.split()[1], "--daemon",
                   "--daemon-wait", "20s", back, place)  # fmt: skip
    elif program == "bindfs":
        done = run("bindfs", *kind.split()[1:], back, place)
    elif program == "gocryptfs":
        run("sh", "-c", f"echo secret | gocryptfs -q -init -scryptn 10 {back}")
        done = run("sh", "-c", f"echo secret | gocryptfs -q {back} {place}")
    else:
        with open(image, "wb") as file:
            file.truncate(64 << 20)
        make = {"mount.exfat-fuse": ["mkfs.exfat"], "fusefat": ["mkfs.vfat"]}[program]
        if shutil.which(make[0]) is None:
            return f"{make[0]} is not installed"
        run(*make, image)
        done = run(program, *(["-o", "rw+"] if program == "fusefat" else []), image, place)
    return None if done.returncode == 0 else (done.stdout + done.stderr).strip()


class RealFileSystems(FileSystems):
    """Runs the same tests on the mounts that this machine supports."""

    test_every_command_on_every_kind = test_nobody_gets_more_than_asked_for = None
    test_a_file_that_takes_the_place_of_a_new_keyset_stays = test_root_takes_no_keyset_from_its_owner = None
    test_a_file_that_cannot_be_stored_when_it_is_closed = None
    test_what_cannot_work_fails_before_the_input_is_read = test_a_record_counts_a_complete_file_as_done = None

    def on(self, kind, **how):
        back = self.path("back")
        os.mkdir(back)
        why = mounted(kind, back, self.out, self.path("image"))
        if why is not None:
            self.skipTest(f"{kind}: {why}; root with FUSE and the package runs this test")
        try:
            return self.check_all({"P": "x"}, **how)
        finally:
            run("umount", self.out)

    def test_tmpfs(self):
        self.on("tmpfs")

    def test_overlay(self):
        self.on("overlay")

    def test_rclone(self):
        self.on("rclone full", keeps_times=False)

    def test_rclone_without_a_cache(self):
        self.on("rclone off", keeps_times=False, creates_late=True)

    def test_bindfs_that_denies_chmod(self):
        self.assertIn(b"did not store the permissions", self.on("bindfs --chmod-deny"))

    def test_bindfs_that_ignores_chmod(self):
        self.assertIn(b"did not store the permissions", self.on("bindfs --chmod-ignore"))

    def test_gocryptfs(self):
        self.on("gocryptfs")

    def test_exfat(self):
        self.on("mount.exfat-fuse")

    def test_fat(self):
        self.on("fusefat")


if __name__ == "__main__":
    main()
