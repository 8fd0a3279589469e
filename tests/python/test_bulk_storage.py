"""Tests `warpaes bulk` on files in folders where other users can write: links, modes, pipes and names."""

from __future__ import annotations

import contextlib
import http.client
import io
import os
import pathlib
import socket
import stat
import sys
import unittest
import unittest.mock
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from bulk_case import Case, bulk, said_by
from warpaes import _command
from warpaes._printable import printable
from warpaes.bulk import local as local_files
from warpaes.bulk import manifest, metrics, metrics_server, progress, storage, stores
from warpaes.bulk.local import PART, LocalStorage

ACROSS = "a\x1b]0;x\x07b\x9b31m\x7f\u202ec\u2028d\udcffe\n"
SHOWN = r"a\x1b]0;x\x07b\x9b31m\x7f\u202ec\u2028d\udcffe\n"


def seen(folder: pathlib.Path) -> dict[str, Any]:
    """Return the kind, permissions and content of everything below a folder, without following links."""
    found = {}
    for path in folder.rglob("*"):
        content = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else b""
        found[path.relative_to(folder).as_posix()] = path.lstat().st_mode, content
    return found


class Below(Case):
    """Tests with a root, and files outside the root that must not be accessed."""

    def setUp(self) -> None:
        super().setUp()
        self.outside = self.folder / "outside"
        (self.outside / "b").mkdir(parents=True)
        for name in ("x", "b/x", ".x" + PART + "0" * 32):
            (self.outside / name).write_bytes(b"outside")
        self.before = seen(self.outside)
        (self.source / "a/b").mkdir(parents=True)
        for name in ("a/x", "a/b/x", "y"):
            (self.source / name).write_bytes(b"inside!")
        self.local = LocalStorage(str(self.source))

    def untouched(self) -> None:
        self.assertEqual(seen(self.outside), self.before)

    def swap(self, name: str, target: pathlib.Path | None = None) -> None:
        """Replace a file or a folder with a link."""
        (self.source / name).rename(self.folder / "swapped")
        (self.source / name).symlink_to(target or self.outside)

    def written(self, local: LocalStorage, key: str, replace: str | None) -> None:
        with ThreadPoolExecutor(1) as threads:
            upload = local.create(key, 1, replace, storage.Attempt(), threads)
            upload.write(memoryview(b"1"))
            try:
                upload.commit()
            finally:
                upload.abort()


class Links(Below):
    def test_links_are_left_out_and_named(self) -> None:
        self.outside.joinpath("x").chmod(0o600)
        (self.source / "file").symlink_to(self.outside / "x")
        (self.source / "folder").symlink_to(self.outside)
        (self.source / "nothing").symlink_to("nowhere")
        (self.source / "self").symlink_to("self")
        os.mkfifo(self.source / "pipe")
        self.assertEqual([entry.key for entry in self.local.list()], ["y", "a/x", "a/b/x"])
        link = "a symbolic link"
        self.assertEqual(
            self.local.left_out,
            {"file": link, "folder": link, "nothing": link, "self": link, "pipe": "not a regular file"},
        )
        self.assertEqual(bulk("encrypt", "-k", self.key, self.source, self.target)[1]["done"], 3)
        self.assertEqual(bulk("decrypt", "-k", self.key, self.target, self.folder / "out")[0], 0)
        self.assertEqual(self.files(self.folder / "out"), dict.fromkeys(("y", "a/x", "a/b/x"), b"inside!"))

    def test_followed_where_the_caller_says_so(self) -> None:
        (self.source / "file").symlink_to(self.outside / "x")
        (self.source / "folder").symlink_to(self.outside)
        (self.source / "nothing").symlink_to("nowhere")
        local = stores.open_storage(str(self.source), {"follow": True})
        entries = {entry.key: entry for entry in local.list()}
        self.assertEqual(list(entries), ["file", "y", "a/x", "a/b/x"])
        self.assertEqual(local.left_out, {"folder": "a link to a folder", "nothing": "a symbolic link"})
        self.assertEqual(local.read(entries["file"], 0, 7), b"outside")
        local.remove(entries["file"])
        self.assertFalse((self.source / "file").is_symlink())
        self.untouched()
        with self.assertRaises(storage.PermanentError):
            local.stat("folder/x")

    def test_links_in_the_roots_own_path_are_the_callers(self) -> None:
        (self.folder / "link").symlink_to(self.source)
        (self.folder / "one").symlink_to(self.source / "y")
        for root, keys in (("link", ["y", "a/x", "a/b/x"]), ("one", [""])):
            local = LocalStorage(str(self.folder / root))
            entries = list(local.list())
            self.assertEqual([entry.key for entry in entries], keys)
            self.assertEqual(local.read(entries[0], 0, 7), b"inside!")

    def test_a_folder_that_becomes_a_link_leads_nowhere(self) -> None:
        """The test covers every operation after its object was listed and its folder was opened."""
        for swapped, key in (("a", "a/x"), ("a", "a/b/x"), ("a/b", "a/b/x"), ("y", "y"), ("a/x", "a/x")):
            operations: dict[str, Callable[[LocalStorage, storage.Entry], Any]] = {
                "stat": lambda local, entry: local.stat(entry.key),
                "mode_of": lambda local, entry: local.mode_of(entry),
                "read": lambda local, entry: local.read(entry, 0, 7),
                "get": lambda local, entry: local.get(entry.key),
                "remove": lambda local, entry: local.remove(entry),
                "put": lambda local, entry: local.put(entry.key, b"1"),
                "replace": lambda local, entry: local.put(entry.key, b"1", entry.version),
                "create": lambda local, entry: self.written(local, entry.key, None),
                "create over": lambda local, entry: self.written(local, entry.key, entry.version),
            }
            for name, operation in operations.items():
                with self.subTest(name, swapped=swapped, key=key):
                    local = LocalStorage(str(self.source))
                    entry = local.stat(key)
                    local.read(entry, 0, 7)
                    # The name is a link to a file whose version is the listed version.
                    os.utime(self.outside / "x", ns=(0, (self.source / key).stat().st_mtime_ns))
                    self.before = seen(self.outside)
                    self.swap(swapped, self.outside / "x" if swapped == key else None)
                    try:
                        with self.assertRaises((storage.ExistsError, storage.PermanentError)) as caught:
                            operation(local, entry)
                        if not isinstance(caught.exception, storage.ExistsError):
                            self.assertIn("is a symbolic link", str(caught.exception))
                        self.untouched()
                    finally:
                        (self.source / swapped).unlink()
                        (self.folder / "swapped").rename(self.source / swapped)

    def test_the_folder_is_swapped_while_a_file_is_written(self) -> None:
        for replace in (False, True):
            for swapped in ("a", "a/b"):
                with self.subTest(swapped, replace=replace), ThreadPoolExecutor(1) as threads:
                    version = self.local.stat("a/b/x").version if replace else None
                    key = "a/b/x" if replace else "a/b/new"
                    upload = self.local.create(key, 1, version, storage.Attempt(), threads)
                    upload.write(memoryview(b"1"))
                    self.swap(swapped)
                    with self.assertRaises((storage.ChangedError, storage.PermanentError)):
                        upload.commit()
                    upload.abort()
                    self.untouched()
                    (self.source / swapped).unlink()
                    (self.folder / "swapped").rename(self.source / swapped)
        self.assertEqual(set(self.files(self.source)), {"a/x", "a/b/x", "y"})

    def test_the_folder_is_moved_away_while_a_file_is_written(self) -> None:
        """The folder's descriptor follows the moved folder, where the file would appear."""
        with ThreadPoolExecutor(1) as threads:
            upload = self.local.create("a/new", 1, None, storage.Attempt(), threads)
            (self.source / "a").rename(self.outside / "a")
            (self.source / "a").mkdir()
            self.assertRaises(storage.ChangedError, upload.commit)
            upload.abort()
        self.assertEqual(set(self.files(self.outside)), {*self.files(self.outside / "b"), *self.files(self.outside)})
        self.assertFalse(list(self.outside.glob("a/*new*")))

    def test_sweeps_and_listings_stay_inside(self) -> None:
        self.swap("a")
        self.assertEqual(self.local.sweep({"x", "a/x", "b/x"}), 0)
        self.assertEqual([entry.key for entry in self.local.list("a/")], [])
        self.untouched()

    def test_a_swap_in_the_middle_of_a_listing(self) -> None:
        listing = self.local.list()
        self.assertEqual(next(listing).key, "y")
        self.swap("a")
        with self.assertRaisesRegex(storage.PermanentError, "is a symbolic link"):
            list(listing)

    def test_jobs_on_planted_links(self) -> None:
        """Links replace folders, bulk's own folder, and files in both, before and after the first job."""
        own = (".warpaes-bulk", manifest.NAME, ".warpaes-bulk/lock")
        keys, number = ("-k", self.key), 0
        for planted in (*own, "a", "a/b", "a/x"):
            for command in ("first", "encrypt", "decrypt", "rekey", "verify", "status"):
                number += 1
                target, out = self.folder / f"target{number}", self.folder / f"out{number}"
                path = target / planted
                if command == "first":
                    path.parent.mkdir(parents=True, exist_ok=True)
                else:
                    bulk("encrypt", *keys, self.source, target)
                    if path.exists():
                        path.rename(self.folder / f"moved{number}")
                is_file = planted in (manifest.NAME, ".warpaes-bulk/lock", "a/x")
                path.symlink_to(self.outside / "x" if is_file else self.outside)
                with contextlib.redirect_stdout(io.StringIO()):
                    code, said = said_by(
                        *{
                            "first": ("encrypt", *keys, self.source, target),
                            "encrypt": ("encrypt", *keys, "--overwrite", "--update", self.source, target),
                            "decrypt": ("decrypt", *keys, target, out),
                            "rekey": ("rekey", *keys, "--new-key", self.key2, target),
                            "verify": ("verify", *keys, target),
                            "status": ("status", target),
                        }[command]
                    )
                with self.subTest(planted, command=command, said=said):
                    self.untouched()
                    looked_at = planted in own[:2] or command in ("first", "rekey")
                    if command in ("decrypt", "verify"):  # these commands do not lock their source
                        looked_at = not planted.endswith("lock")
                    self.assertIn(code, (1, 2) if looked_at else (0, 1, 2))

    def test_what_is_no_file_is_not_waited_for(self) -> None:
        def listen(path: pathlib.Path) -> None:
            with socket.socket(socket.AF_UNIX) as made:
                made.bind(str(path))

        entry = self.local.stat("y")
        for make in (os.mkfifo, listen, os.mkdir):
            (self.source / "y").unlink()
            make(self.source / "y")
            # Such a node is refused even if its attributes equal the file's attributes.
            with unittest.mock.patch.object(local_files, "_version", lambda info: entry.version):
                for operation in (self.local.read, lambda *_: self.local.get("y")):
                    with self.assertRaisesRegex(storage.PermanentError, "/y is "):
                        operation(entry, 0, 7)
            (self.source / "y").rmdir() if (self.source / "y").is_dir() else (self.source / "y").unlink()
            (self.source / "y").touch()

    def test_names_that_no_file_has(self) -> None:
        for name in ("../x", "/x", "a/../../x", "a//x", "./y", "a/.", "x\0y", "n" * 256, "\ud800", "n/" * 3000 + "n"):
            entry = storage.Entry(name, 7, "")
            for operation in (
                lambda name, _: self.local.stat(name),
                lambda _, entry: self.local.read(entry, 0, 7),
                lambda _, entry: self.local.remove(entry),
                lambda name, _: self.local.put(name, b""),
                lambda name, _: self.local.check_key(name),
            ):
                self.assertRaises(storage.PermanentError, operation, name, entry)
        self.untouched()

    def test_folders_without_end(self) -> None:
        descriptor = os.open(self.source, os.O_RDONLY)
        for _ in range(30):
            os.mkdir("d" * 200, dir_fd=descriptor)
            inner = os.open("d" * 200, os.O_RDONLY, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = inner
        os.close(descriptor)
        self.assertEqual([entry.key for entry in self.local.list()], ["y", "a/x", "a/b/x"])
        self.assertEqual(list(self.local.left_out.values()), ["a folder whose path is too long"])

    def test_descriptors_are_closed(self) -> None:
        def opened() -> int:
            return len(os.listdir("/proc/self/fd"))

        count = opened()
        local = LocalStorage(str(self.source))
        for _ in range(3):
            for entry in local.list():
                local.read(entry, 0, 7)
                local.mode_of(entry)
                with contextlib.suppress(storage.ExistsError):
                    local.put(entry.key, b"", "else")
                with contextlib.suppress(storage.PermanentError):
                    local.stat(entry.key + "/../x")
        del local
        self.assertEqual(opened(), count)


class Walked(Links):
    """Runs the same tests as on a system without openat2."""

    def setUp(self) -> None:
        super().setUp()
        without = unittest.mock.patch.object(local_files, "open_beneath", lambda *_: -1)
        without.start()
        self.addCleanup(without.stop)


class Modes(Below):
    def setUp(self) -> None:
        super().setUp()
        self.addCleanup(os.umask, os.umask(0))

    def mode(self, path: pathlib.Path) -> int:
        return stat.S_IMODE(path.stat().st_mode)

    def test_an_incomplete_file_is_its_owners_only(self) -> None:
        with ThreadPoolExecutor(1) as threads:
            for replace in (None, self.local.stat("y").version):
                upload = self.local.create("y" if replace else "n", 1, replace, storage.Attempt(mode=0o666), threads)
                upload.write(memoryview(b"1"))
                (part,) = (path for path in self.source.iterdir() if PART in path.name)
                self.assertEqual(self.mode(part), 0o600)
                upload.abort()

    def test_which_mode_a_file_gets(self) -> None:
        for replaced, given, mode in (
            (None, None, 0o600),
            (None, 0o640, 0o640),
            (None, 0o444, 0o444),
            (0o640, None, 0o640),
            (0o600, 0o666, 0o600),
            (0o4755, None, 0o755),
        ):
            with self.subTest(replaced=replaced, given=given), ThreadPoolExecutor(1) as threads:
                path = self.source / "y"
                path.unlink(missing_ok=True)
                if replaced is not None:
                    path.touch()
                    path.chmod(replaced)
                version = None if replaced is None else self.local.stat("y").version
                upload = self.local.create("y", 1, version, storage.Attempt(mode=given), threads)
                upload.commit()
                self.assertEqual(self.mode(path), mode)

    def test_a_mode_has_no_set_id_bits(self) -> None:
        (self.source / "y").chmod(0o6751)
        self.assertEqual(self.local.mode_of(self.local.stat("y")), 0o751)

    def test_no_command_widens_a_mode(self) -> None:
        out = self.folder / "out"
        keys = ("-k", self.key)
        self.assertEqual(bulk("encrypt", *keys, self.source, self.target)[0], 0)
        out.mkdir()
        (out / "y").write_bytes(b"the one before")
        for path in (out / "y", self.target / "y"):
            path.chmod(0o600)
        (self.target / "a/x").chmod(0o640)
        self.assertEqual(bulk("decrypt", *keys, "--overwrite", self.target, out)[0], 0)
        self.assertEqual(bulk("rekey", *keys, "--new-key", self.key2, self.target)[0], 0)
        self.assertEqual((out / "y").read_bytes(), b"inside!")
        modes = [self.mode(path) for path in (out / "y", self.target / "y", self.target / "a/x")]
        self.assertEqual(modes, [0o600, 0o600, 0o640])
        own = [path for path in (self.target / storage.FOLDER).rglob("*") if path.is_file()]
        self.assertEqual({self.mode(path) for path in own}, {0o600})


class Names(Case):
    def test_nothing_of_a_name_acts_on_a_terminal(self) -> None:
        self.assertEqual(printable(ACROSS), SHOWN)
        self.assertEqual(printable("ä 😀 \\ ü.txt"), "ä 😀 \\ ü.txt")
        for number in range(sys.maxunicode + 1):
            shown = printable(chr(number))
            self.assertTrue(shown.isprintable())
            shown.encode()

    def test_progress(self) -> None:
        for terminal in (False, True):
            out = io.StringIO()
            out.isatty = lambda: terminal  # type: ignore[method-assign] # noqa: B023
            told = progress.Progress(ACROSS, ACROSS, out, None)
            told.say(ACROSS)
            told.tell(last=True)
            written = out.getvalue().replace("\r\x1b[K", "")
            self.assertEqual(written.count(SHOWN), 3)
            self.assertTrue(written.replace("\n", "").isprintable())

    def test_errors_of_the_packages_commands(self) -> None:
        out = io.StringIO()
        with contextlib.redirect_stderr(out):
            _command.failed(ValueError(ACROSS), [(ValueError, 2)])
            _command.failed(FileNotFoundError(2, "none", ACROSS), [(OSError, 2)])
        self.assertEqual(out.getvalue(), f"warpaes: {SHOWN}\nwarpaes: '{SHOWN}': none\n")


class Told(Case):
    """Tests of metrics."""

    def test_a_file_is_not_written_through_links(self) -> None:
        place, other = self.folder / "metrics", self.folder / "other"
        other.write_bytes(b"another's")
        for link in (place, self.folder / f"metrics.{os.getpid()}"):
            link.symlink_to(other)
        told = progress.open_metrics(str(place), {"target": ACROSS})
        self.assertRaises(OSError, told.tell, dict.fromkeys(metrics.METRICS, 0.0), "")
        place.unlink()
        told.tell(dict.fromkeys(metrics.METRICS, 0.0), "")
        self.assertEqual(other.read_bytes(), b"another's")
        self.assertIn('{target="' + SHOWN.replace("\\", "\\\\") + '"}', place.read_text())

    def ask(self, port: int, path: str, **headers: str) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        self.addCleanup(connection.close)
        connection.putrequest("GET", path, skip_host=True)
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        answer.read()
        return answer.status

    def server(self, host: str) -> int:
        server = metrics_server.MetricsServer(host, 0, {"target": "t"})
        self.addCleanup(server.close)
        return int(server.port)

    def test_a_page_of_elsewhere_does_not_read_metrics(self) -> None:
        port = self.server("127.0.0.1")
        for host in ("localhost", f"localhost:{port}", "127.0.0.1", f"127.0.0.1:{port}", f"[::1]:{port}"):
            self.assertEqual(self.ask(port, "/metrics", Host=host), 200, host)
        for host in (
            "evil.example",
            f"evil.example:{port}",
            "127.0.0.1@evil.example",
            "127.0.0.1.evil.example",
            "[::1",
        ):
            self.assertEqual(self.ask(port, "/metrics", Host=host), 403, host)
        # A server that accepts connections from other machines cannot know all of its names.
        self.assertEqual(self.ask(self.server("0.0.0.0"), "/metrics", Host="node7.example:9100"), 200)

    def test_what_is_asked_for(self) -> None:
        port = self.server("127.0.0.1")
        for path, status in (("/metrics?x=1", 200), ("/", 200), ("/../etc/passwd", 404), ("/metrics/", 404)):
            self.assertEqual(self.ask(port, path), status)
        self.assertEqual(self.ask(port, "/" + "x" * 70_000), 414)

    def test_clients_that_wait_are_few(self) -> None:
        port = self.server("127.0.0.1")
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            waiting = [socket.create_connection(("127.0.0.1", port), 10) for _ in range(metrics_server.MAX_REQUESTS)]
            one_more = socket.create_connection(("127.0.0.1", port), 10)
            self.assertEqual(one_more.recv(1), b"")
            for client in [*waiting, one_more]:
                client.close()
        self.assertEqual(said.getvalue(), "")


if __name__ == "__main__":
    unittest.main()
