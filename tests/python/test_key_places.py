#!/usr/bin/env python3
"""Tests key places, and programs that print keys: their environment, and their commands in messages."""

from __future__ import annotations

import contextlib
import io
import json
import os
import pathlib
import random
import shlex
import subprocess
import unittest
from unittest import mock

import warpaes
from support import new_folder, run_python
from warpaes import _key_files, _places, keysources
from warpaes.bulk.cli import main as bulk
from warpaes.keysources.__main__ import main as command
from warpaes.keysources._program import program_name


class Places(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = new_folder(self)
        for patch in (
            mock.patch.dict(os.environ),
            mock.patch.object(_key_files, "_secret_variables", set()),
            mock.patch.object(_key_files, "_warned_of", set()),
        ):
            patch.start()
            self.addCleanup(patch.stop)

    def key(self, mode: int = 0o600) -> pathlib.Path:
        path = self.folder / f"kek{mode:o}"
        path.write_bytes(keysources.generate_kek())
        path.chmod(mode)
        return path

    def said_by(self, main: object, *arguments: object) -> str:
        with contextlib.redirect_stderr(io.StringIO()) as errors, contextlib.redirect_stdout(io.StringIO()):
            main([str(argument) for argument in arguments])  # type: ignore[operator]
        return errors.getvalue()


class Programs(Places):
    def test_they_get_no_variable_of_keys(self) -> None:
        """Programs receive their own variables and credentials, but no variable that a later place names."""
        secret = {"KEK": "kek", "OTHER": "other", "PIN": "pin", "WARPAES_KEYSET": "k", "WARPAES_KEYSET_OLD": "k"}
        kept = {"VAULT_TOKEN": "token", "WARPAES_PKCS11_PIN": "1234", "MINE": "mine"}
        os.environ.update(secret | kept)
        _key_files.keep_from_programs(["env:OTHER", "fd:3", "a/path", "exec:env"])
        self.assertEqual(_places.read_secret("env:KEK"), b"kek")
        keysources.from_url("pkcs11:token=a;object=b?pin-source=env:PIN")
        printed = _places.read_secret("exec:env -0").decode().split("\0")
        names = {line.partition("=")[0] for line in printed if line}
        self.assertEqual(names & (secret.keys() | kept.keys()), set(kept))
        for name in secret:
            self.assertIn(name, os.environ)

    def test_they_inherit_no_descriptor_of_keys(self) -> None:
        key = self.key()
        with open(key, "rb") as file, open(self.folder / "log", "wb") as log:
            for descriptor in (file.fileno(), log.fileno()):
                os.set_inheritable(descriptor, True)
            self.assertEqual(_places.read_secret(f"fd:{file.fileno()}"), key.read_bytes())
            listed = _places.read_secret("exec:for each in /proc/self/fd/*; do readlink $each; done; cat").decode()
        # The list contains only readlink's standard streams. Its standard error is this process's standard error.
        ours = os.readlink("/proc/self/fd/2")
        for line in listed.splitlines():
            self.assertTrue(line == ours or line == "/dev/null" or line.startswith(("pipe:", "/proc/")), listed)

    def test_no_word_of_a_quoted_secret_is_shown(self) -> None:
        for text, name in (
            ("get-key", "get-key"),
            ("  /usr/bin/vault read secret", "vault"),
            ("TOKEN=secret /usr/bin/vault read secret", "vault"),
            ("  A=secret  B=secret vault", "vault"),
            ("TOKEN='correct horse battery' get-key", "get-key"),
            ("PIN=\"12 3456\" tool x", "tool"),
            ("A=1 tool --secret s", "tool"),
            ("A=\"it's a secret\" B='an \"other\" one' tool", "tool"),
            ("A='x'y\"z w\" tool", "tool"),
            ("A= tool", "tool"),
            ("exit 3; echo secret", "exit"),
            ("tool|secret", "tool"),
            # The shell would interpret these commands differently, or they are ambiguous.
            ("TOKEN=$(cat secret) get-key", ""),
            ("TOKEN=$(echo correct horse) get-key", ""),
            ("TOKEN=`echo correct horse` get-key", ""),
            ('TOKEN="$(echo correct horse)" get-key', ""),
            ("TOKEN=${A:-correct horse} get-key", ""),
            ("TOKEN=correct\\ horse get-key", ""),
            ('TOKEN="correct \\" horse" get-key', ""),
            ("TOKEN='correct horse battery get-key", ""),
            ("TOKEN='correct'\\''s horse' get-key", ""),
            ("A=(correct horse) get-key", ""),
            ("A[1]='correct horse' get-key", ""),
            ("<<EOF cat\nsecret\nEOF", ""),
            ("'correct horse' x", ""),
            ("get'secret'", ""),
            ("A=secret", ""),
            ("A=secret; get-key", ""),
            ("$SECRET", ""),
            ("(secret)", ""),
            ("# secret", ""),
            ("0123456789abcdef0123456789ABCDEF", ""),
            ("{\"primaryKeyId\":1}", ""),
            ("c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0", ""),
            ("", ""),
        ):  # fmt: skip
            with self.subTest(text):
                self.assertEqual(program_name(text), f"exec:{name}")
                self.assertEqual(_places.shown(f"exec:{text}"), f"exec:{name}")

    def test_a_quoted_secret_in_any_words(self) -> None:
        """Secrets of random characters are quoted as Python quotes them for the shell, and in double quotes."""
        rng = random.Random(38)
        letters = "secretSECRET '\"\\$`=;|&<>(){}[]#*?!~\t\n-/.:,%@+_01"
        shown: dict[str, int] = {}
        for _ in range(20_000):
            secret = "".join(rng.choices(letters, k=rng.randint(1, 30)))
            quoted = rng.choice(
                [shlex.quote(secret), '"' + secret.replace('"', "") + '"', "'" + secret.replace("'", "") + "'"]
            )
            name = program_name(f"TOKEN={quoted} get-key")
            shown[name] = shown.get(name, 0) + 1
        self.assertEqual(set(shown), {"exec:", "exec:get-key"}, shown)
        self.assertGreater(shown["exec:get-key"], 5000)

    def test_the_shell_runs_the_program_that_is_shown(self) -> None:
        """The shell and the parser agree on the first word after random assignments."""
        rng = random.Random(39)
        pieces = ["A=", "b", "'x y'", '"z w"', " ", "\t", "$", "\\", "'", '"', ";", "=", "prog", "/", "(", "\n", "C=1 "]
        agreed = 0
        for _ in range(1500):
            text = "".join(rng.choices(pieces, k=rng.randint(1, 9)))
            name = program_name(text).removeprefix("exec:")
            if not name:
                continue
            # bash calls `command_not_found_handle`, which prints the program's name.
            ran = subprocess.run(
                ["bash", "-c", f'PATH=/none; command_not_found_handle() {{ printf "%s|" "$1"; }}\n{text}'],
                capture_output=True, text=True, cwd=self.folder)  # fmt: skip
            if "|" in ran.stdout:
                self.assertEqual(ran.stdout.partition("|")[0], name, text)
                agreed += 1
        self.assertGreater(agreed, 20)

    def test_no_record_or_message_of_bulk_has_it(self) -> None:
        source, target = self.folder / "source", self.folder / "target"
        source.mkdir()
        (source / "a").write_bytes(b"x")
        key = self.key()
        for number, text in enumerate(
            (f"TOKEN='correct horse battery' cat {key}", f"A=`echo correct horse`; cat {key}")
        ):
            place = self.folder / f"target{number}"
            said = self.said_by(bulk, "encrypt", "-k", f"exec:{text}", "--envelope", "job", source, place)
            said += self.said_by(bulk, "verify", "-k", f"exec:{text} && false", place)
            self.assertNotIn("horse", said)
            for path in place.rglob("*"):
                self.assertFalse(path.is_file() and b"horse" in path.read_bytes(), path)
        self.assertFalse(target.exists())


class Reading(Places):
    def test_every_place(self) -> None:
        key = self.key()
        os.environ["KEK"] = "text"
        with open(key, "rb") as file:
            places = {str(key): "file:kek600", f"file:{key}": "file:kek600", f"exec:cat {key}": "exec:cat",
                      f"fd:{file.fileno()}": f"fd:{file.fileno()}"}  # fmt: skip
            for place, name in places.items():
                self.assertEqual(_places.read_secret(place), key.read_bytes())
                self.assertEqual(_places.shown(place), name)
        self.assertEqual(_places.shown("env:KEK"), "env:KEK")
        for place in ("env:correct horse", "env:", "fd:correct", "fd:", "fd:-1"):
            self.assertEqual(_places.shown(place), place[: place.index(":") + 1])
            with self.assertRaises(ValueError) as raised:
                _places.read_secret(place)
            self.assertNotIn("correct", str(raised.exception))
        with self.assertRaisesRegex(ValueError, "must be followed by a command"):
            _places.read_secret("exec: ")

    def test_too_long(self) -> None:
        path = self.folder / "long"
        path.write_bytes(bytes(_key_files.MOST_BYTES + 1))
        path.chmod(0o600)
        for place in (str(path), "/dev/zero"):
            with self.assertRaisesRegex(warpaes.exceptions.KeysetError, "more than 1048576 bytes"):
                _places.read_secret(place)
            with self.assertRaisesRegex(warpaes.exceptions.KeysetError, "more than 1048576 bytes"):
                keysources.from_url(f"file:{place}").wrap(b"key")


class Warnings(Places):
    def sentence(self, path: pathlib.Path | str, mode: int) -> str:
        return (f"warpaes: warning: '{path}' is open to other users of this machine (mode {mode:03o}); "
                "`chmod 600` closes it\n")  # fmt: skip

    def test_of_files_that_others_can_read(self) -> None:
        source = self.folder / "source"
        source.mkdir()
        for mode in (0o600, 0o400, 0o644, 0o640, 0o602, 0o610):
            kek = self.key(mode)
            expected = self.sentence(kek, mode) if mode & 0o77 else ""
            wrapped = self.folder / f"wrapped{mode:o}"
            with self.subTest(oct(mode)):
                self.assertEqual(self.said_by(command, "new", f"file:{kek}", "-o", wrapped), expected)
                _key_files._warned_of.clear()
                said = self.said_by(bulk, "encrypt", "-q", "-k", kek, "--envelope", "job", source, f"{wrapped}.bulk")
                self.assertEqual(said.count("open to other users"), 1 if expected else 0, said)
                self.assertIn(expected, said)
                self.assertEqual(wrapped.stat().st_mode & 0o777, 0o600)

    def test_of_a_keyset_in_clear_that_is_wrapped(self) -> None:
        kek, clear = self.key(), self.folder / "clear"
        clear.write_bytes(warpaes.Keyset.generate().to_json())
        clear.chmod(0o644)
        said = self.said_by(command, "wrap", f"file:{kek}", clear, "-o", self.folder / "wrapped")
        self.assertEqual(said, self.sentence(clear, 0o644))
        # The wrapped keyset is not secret.
        (self.folder / "wrapped").chmod(0o644)
        self.assertEqual(self.said_by(command, "open", f"file:{kek}", self.folder / "wrapped", "-o", f"{clear}2"), "")

    def test_a_program_with_handlers_of_its_own_gets_it(self) -> None:
        kek = self.key(0o644)
        with self.assertLogs("warpaes", "WARNING") as logs:
            keysources.from_url(f"file:{kek}").wrap(b"key")
        self.assertEqual(logs.records[0].getMessage() + "\n", self.sentence(kek, 0o644))

    def test_in_a_process_of_its_own(self) -> None:
        kek = self.key(0o604)
        text = "import sys; sys.stderr = sys.stdout; from warpaes import keysources;" \
               f"s = keysources.from_url('file:{kek}'); s.wrap(b'k'); s.close(); s.wrap(b'k')"  # fmt: skip
        self.assertEqual(run_python(text), self.sentence(kek, 0o604))


class Counts(Places):
    def test_wraps_are_counted_and_refused_at_the_limit(self) -> None:
        for content in (keysources.generate_kek(), os.urandom(32)):
            source = keysources.LocalSource("local", lambda: content)  # noqa: B023
            for number in range(5):
                self.assertEqual(source.wraps, number)
                wrapped = source.wrap(b"key")
            source.unwrap(wrapped)
            with self.assertRaises(ValueError):
                source.wrap(b"")
            self.assertEqual(source.wraps, 5)
            source._count.value = 2**32 - 1
            source.wrap(b"key")
            with self.assertRaisesRegex(keysources.ExhaustedError, "local: .*4294967296.*new key"):
                source.wrap(b"key")
            source.close()  # close() does not reset the count
            with self.assertRaises(keysources.ExhaustedError):
                source.wrap(b"key")
            self.assertEqual(source.unwrap(wrapped), b"key")

    def test_a_keyset_for_files_has_no_such_limit(self) -> None:
        """Each wrapped key is encrypted with a separate key, which is derived from a random salt that is as long as the
        key."""
        source = keysources.LocalSource("local", lambda: keyset)
        keyset = warpaes.Keyset.generate().to_json()
        salts = {source.wrap(b"key")[1:33] for _ in range(50)}
        self.assertEqual((len(salts), source.wraps), (50, 0))
        self.assertIn("AesGcmHkdf", json.loads(keyset)["key"][0]["keyData"]["typeUrl"])


if __name__ == "__main__":
    unittest.main()
