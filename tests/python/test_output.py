#!/usr/bin/env python3
"""Tests files that the package writes. No incomplete file has the final name, no write follows a link, and no file
receives more permissions."""

from __future__ import annotations

import os
import pathlib
import stat
import struct
import unittest
import unittest.mock
from typing import Any

from support import new_folder
from warpaes._output import Output

ACCESS_LIST = "system.posix_acl_access"


def mode_of(path: pathlib.Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def access_list(user: int, rights: int) -> bytes:
    """Return an access list with rw for the owner, no permissions for group and others, and permissions for one
    additional user."""
    none = 0xFFFFFFFF
    entries = [(1, 6, none), (2, rights, user), (4, 0, none), (0x10, rights, none), (0x20, 0, none)]
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


class Outputs(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = new_folder(self)
        self.path = self.folder / "file"
        self.addCleanup(os.umask, os.umask(0o022))

    def names(self) -> list[str]:
        return sorted(os.listdir(self.folder))

    def test_nothing_under_the_name_before_commit(self) -> None:
        with Output(self.path) as output:
            self.assertEqual(output.write(b"secret"), 6)
            self.assertEqual(self.names(), [output.temporary])
            self.assertEqual(mode_of(self.folder / output.temporary), 0o600)
        self.assertEqual(self.names(), ["file"])
        self.assertEqual(self.path.read_bytes(), b"secret")
        self.assertEqual(mode_of(self.path), 0o644)

    def test_modes(self) -> None:
        for options, expected in (({}, 0o640), ({"secret": True}, 0o600), ({"mode": 0o444, "secret": True}, 0o444)):
            os.umask(0o027)
            with Output(self.path, **options):
                pass
            self.assertEqual(mode_of(self.path), expected)
            self.path.unlink()
        for mode in (0o600, 0o640, 0o644, 0o400, 0o755):
            for options in ({}, {"secret": True}, {"mode": 0o666}):
                self.path.write_bytes(b"old")
                self.path.chmod(mode)
                with Output(self.path, replace=True, **options) as output:
                    output.write(b"new")
                self.assertEqual(mode_of(self.path), mode)
                self.assertEqual(self.path.read_bytes(), b"new")

    def test_owner_and_access_list(self) -> None:
        if os.getuid() != 0:
            self.skipTest("only root can change a file's owner")
        self.path.write_bytes(b"old")
        self.path.chmod(0o640)
        os.chown(self.path, 1234, 5678)
        with Output(self.path, replace=True):
            pass
        found = self.path.stat()
        self.assertEqual((found.st_uid, found.st_gid, mode_of(self.path)), (1234, 5678, 0o640))
        # If the group cannot be set, the file's new group receives only the permissions of others.
        with unittest.mock.patch("os.fchown", side_effect=PermissionError(1, "no")), Output(self.path, replace=True):
            pass
        self.assertEqual((self.path.stat().st_uid, mode_of(self.path)), (0, 0o600))

    def test_access_lists(self) -> None:
        self.path.write_bytes(b"old")
        try:
            os.setxattr(self.path, ACCESS_LIST, access_list(1234, 4))
        except OSError as error:
            self.skipTest(f"no access lists here: {error}")
        with Output(self.path, replace=True):
            pass
        self.assertEqual(os.getxattr(self.path, ACCESS_LIST), access_list(1234, 4))
        # A folder's default access list is not applied to a file that replaces a file without a list.
        self.path.unlink()
        self.path.write_bytes(b"old")
        self.path.chmod(0o640)
        os.setxattr(self.folder, "system.posix_acl_default", access_list(1234, 7))
        with Output(self.path, replace=True):
            pass
        self.assertRaises(OSError, os.getxattr, self.path, ACCESS_LIST)
        with Output(self.folder / "key", secret=True):
            pass
        self.assertEqual(mode_of(self.folder / "key"), 0o600)

    def test_failures_leave_nothing(self) -> None:
        self.path.write_bytes(b"old")
        for step in ("fsync", "rename", "fchmod", "write"):
            with unittest.mock.patch(f"os.{step}", side_effect=OSError(28, "No space left on device")):  # noqa: SIM117
                with self.assertRaises(OSError) as raised, Output(self.path, replace=True) as output:
                    output.write(b"new")
            self.assertEqual(raised.exception.filename, str(self.path))
            self.assertEqual((self.names(), self.path.read_bytes()), (["file"], b"old"))
        with self.assertRaises(KeyboardInterrupt), Output(self.path, replace=True):
            raise KeyboardInterrupt
        with self.assertRaises(FileNotFoundError) as missing:
            Output(self.folder / "none" / "file")
        self.assertEqual(missing.exception.filename, str(self.folder / "none" / "file"))
        output = Output(self.path, replace=True)
        del output
        self.assertEqual((self.names(), self.path.read_bytes()), (["file"], b"old"))
        for name in ("", ".", "..", "a/"):
            self.assertRaises(ValueError, Output, os.path.join(self.folder, name) if name else "")

    def test_a_new_file_replaces_none(self) -> None:
        self.path.write_bytes(b"old")
        self.assertRaises(FileExistsError, Output, self.path)
        self.path.unlink()
        for planted in (lambda: self.path.write_bytes(b"old"), lambda: self.path.symlink_to("elsewhere")):
            output = Output(self.path)
            planted()
            with self.assertRaises(FileExistsError):
                output.commit()
            self.assertEqual(self.names(), ["file"])
            self.path.unlink()
        # A file appears between the last check and the call to link().
        output = Output(self.path)
        self.path.write_bytes(b"old")
        with unittest.mock.patch.object(Output, "_check", return_value=None), self.assertRaises(FileExistsError):
            output.commit()
        self.assertEqual((self.names(), self.path.read_bytes()), (["file"], b"old"))

    def test_a_file_system_that_takes_no_links_and_has_the_number_of_one_that_did(self) -> None:
        with Output(self.path):
            pass
        self.path.unlink()
        refused = PermissionError(1, "Operation not permitted")
        with unittest.mock.patch("os.link", side_effect=refused) as link, Output(self.path) as output:
            output.write(b"new")
        self.assertEqual(link.call_count, 1)  # the missing support for links was not detected earlier
        self.assertEqual((self.names(), self.path.read_bytes()), (["file"], b"new"))
        with (
            unittest.mock.patch("os.link", side_effect=refused),
            self.assertRaises(FileExistsError),
            Output(self.path) as output,
        ):
            output.write(b"newer")
        self.assertEqual((self.names(), self.path.read_bytes()), (["file"], b"new"))

    def test_no_link_is_followed(self) -> None:
        other = self.folder / "other"
        other.write_bytes(b"old")
        for goal in ("other", "nowhere"):
            self.path.symlink_to(goal)
            with self.assertRaisesRegex(OSError, "symbolic link"):
                Output(self.path, replace=True)
            self.assertRaises(FileExistsError, Output, self.path)
            self.path.unlink()
        output = Output(self.path, replace=True)
        self.path.symlink_to("other")
        with self.assertRaisesRegex(OSError, "symbolic link"):
            output.commit()
        self.path.unlink()
        # The temporary name is a symbolic link.
        (self.folder / "planted").symlink_to("other")
        self.assertRaises(FileExistsError, Output, self.path, temporary="planted")
        (self.folder / "planted").unlink()
        os.mkfifo(self.path)
        with self.assertRaisesRegex(OSError, "regular"):
            Output(self.path, replace=True)
        self.path.unlink()
        self.path.mkdir()
        self.assertRaises(IsADirectoryError, Output, self.path, replace=True)
        self.assertEqual((self.names(), other.read_bytes()), (["file", "other"], b"old"))

    def test_a_folder_that_is_swapped_gets_nothing(self) -> None:
        here, moved, foreign = (self.folder / name for name in ("here", "moved", "foreign"))
        here.mkdir()
        foreign.mkdir()
        for end in ("commit", "abort"):
            output = Output(here / "file", replace=True)
            here.rename(moved)
            here.symlink_to(foreign)
            getattr(output, end)()
            self.assertEqual(os.listdir(foreign), [])
            here.unlink()
            moved.rename(here)
            self.assertEqual(os.listdir(here), ["file"])

    def test_a_folder_by_descriptor(self) -> None:
        folder = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
        self.addCleanup(os.close, folder)
        with Output("file", folder=folder, temporary=".part") as output:
            self.assertEqual(self.names(), [".part"])
            info = os.fstat(output.descriptor)
        self.assertEqual(self.names(), ["file"])
        self.assertEqual(self.path.stat().st_ino, info.st_ino)
        self.assertRaises(ValueError, Output, "below/file", folder=folder)

    def test_the_child_of_a_fork_leaves_it_alone(self) -> None:
        for end in ("abort", "commit"):
            output = Output(self.path, replace=True)
            output.write(b"parent")
            child = os.fork()
            if child == 0:
                try:
                    getattr(output, end)()
                except RuntimeError:
                    os._exit(3)
                os._exit(0)
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), {"abort": 0, "commit": 3}[end])
            self.assertEqual(self.names(), sorted({output.temporary, *self.names()}))
            output.commit()
            self.assertEqual(self.path.read_bytes(), b"parent")

    def test_no_descriptor_remains(self) -> None:
        def count() -> int:
            return len(os.listdir("/proc/self/fd"))

        before = count()
        ends: list[Any] = [lambda output: output.commit(), lambda output: output.abort()]
        for end in ends:
            end(Output(self.path, replace=True))
        self.path.unlink()
        self.path.symlink_to("other")
        self.assertRaises(OSError, Output, self.path, replace=True)
        self.assertEqual(count(), before)


if __name__ == "__main__":
    unittest.main()
