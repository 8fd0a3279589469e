#!/usr/bin/env python3
"""Tests files under QKD keys with two sites, two simulated key-management entities, mutual TLS, and failures."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import unittest
from typing import Any

import kme as simulated
import warpaes
from support import LENGTHS, needed, new_folder, set_environment
from warpaes import exceptions, qkd
from warpaes.keysources import (
    BadAnswerError,
    DeniedError,
    ExhaustedError,
    KeySourceError,
    UnavailableError,
    UnknownKeyError,
)

TEXT = random.Random(1).randbytes(max(LENGTHS))


def altered_lines(line: bytes) -> dict[str, bytes]:
    """Return changes to a line that mail programs, editors, JSON tools and version control make, and changes to each
    field."""
    text, fields = line.decode(), json.loads(line)
    found = {
        "CRLF": line[:-1] + b"\r\n",
        "CR": line[:-1] + b"\r",
        "no line feed": line[:-1],
        "two line feeds": line + b"\n",
        "a line before": b"\n" + line,
        "byte order mark": b"\xef\xbb\xbf" + line,
        "NUL": line[:-1] + b"\0\n",
        "no spaces": json.dumps(fields, separators=(",", ":")).encode() + b"\n",
        "indented": json.dumps(fields, indent=1).encode() + b"\n",
        "sorted": json.dumps(fields, sort_keys=True).encode() + b"\n",
        "escaped": line.replace(b"alice", b"\\u0061lice"),
        "quoted": json.dumps(text).encode() + b"\n",
        "number": line.replace(b"256,", b"256.0,"),
    }
    found |= {encoding: text.encode(encoding) for encoding in ("utf-16", "utf-16-le", "utf-32", "utf-16-be")}
    for at, space in ((0, " "), (1, " "), (-2, " "), (-1, " "), (-1, "\t"), (10, " ")):
        found[f"{space!r} at {at}"] = (text[:at] + space + text[at:]).encode()
    for name, value in fields.items():
        rest = {other: fields[other] for other in fields if other != name}
        others: list[Any] = [None, "", [], 7, True, "x\n", "\u200b"]
        if name != "key_id":  # a different value would be the ID of a different key
            others += ["carol", f"{value} ", str(value).upper() + "X"]
        if name == "key_size":
            others += [255, 1 << 20, 256.5]
        found |= {f"{name}: {other!r}": json.dumps(fields | {name: other}).encode() + b"\n" for other in others}
        found |= {f"without {name}": json.dumps(rest).encode() + b"\n"}
        found |= {f"{name} twice": line.replace(b"{", b"{" + json.dumps({name: value}).encode()[1:-1] + b", ")}
        found |= {f"{name} last": json.dumps(rest | {name: value}).encode() + b"\n"} if rest else {}
    del found["template last"]  # the template is already the last field
    return found


class Sites(unittest.TestCase):
    certificates: tempfile.TemporaryDirectory[str]

    @classmethod
    def setUpClass(cls) -> None:
        cls.certificates = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.certificates.cleanup)
        cls.keys = pathlib.Path(cls.certificates.name)
        simulated.make_certificates(cls.keys)

    def setUp(self) -> None:
        self.folder = new_folder(self)
        home = new_folder(self)
        self.state = home / "warpaes" / "qkd"
        set_environment(self, XDG_STATE_HOME=str(home))
        self.sites = simulated.Sites(self.keys)
        self.addCleanup(self.sites.close)
        self.link = self.sites.link
        self.alice, self.bob = self.kme("alice"), self.kme("bob")
        self.plain = self.folder / "plain"
        self.plain.write_bytes(TEXT)
        self.sealed = self.folder / "sealed"
        self.target = self.folder / "target"

    def kme(self, sae: str, who: str | None = None, **other: Any) -> qkd.Kme:
        who = who or sae
        files = {"certificate": f"{who}.pem", "key": f"{who}.key", "ca": "ca.pem"} | other
        return qkd.Kme(
            self.sites.urls[sae], **{name: str(self.keys / file) for name, file in files.items()}, timeout=10
        )

    def arguments(self, sae: str, peer: str) -> list[str]:
        keys = self.keys
        return ["--kme", self.sites.urls[sae], "--cert", f"{keys}/{sae}.pem", "--key", f"{keys}/{sae}.key",
                "--ca", f"{keys}/ca.pem", "--peer", peer]  # fmt: skip

    def left(self) -> list[str]:
        return sorted(os.listdir(self.folder))

    def fails(self, kind: type[BaseException], words: str, action: Any) -> None:
        """Check that this exception is raised and that no file appears in the folder."""
        before = self.left()
        with self.assertRaisesRegex(kind, words) as raised:
            action()
        self.assertIs(type(raised.exception), kind)
        self.assertEqual(self.left(), before)

    def send(self) -> qkd.Header:
        return qkd.send(self.alice, "bob", self.plain, self.sealed)

    def receive(self) -> qkd.Header:
        return qkd.receive(self.bob, "alice", self.sealed, self.target)


class Keys(Sites):
    def test_status(self) -> None:
        status = self.alice.status("bob")
        self.assertEqual((status.source_kme_id, status.target_kme_id), ("KME-A", "KME-B"))
        self.assertEqual((status.master_sae_id, status.slave_sae_id), ("alice", "bob"))
        self.assertEqual((status.stored_key_count, status.max_key_per_request), (100, 3))

    def test_both_sides_have_the_same_keys_once(self) -> None:
        keys = self.alice.new_keys("bob", 7)
        self.assertEqual(len({key.key for key in keys}), 7)
        self.assertEqual(sum(path.endswith("enc_keys") for path in self.link.requests), 3)  # max_key_per_request is 3
        names = [key.key_id for key in keys]
        self.assertEqual(self.bob.keys("alice", names[::-1]), keys[::-1])
        for again in (names, names[:1]):
            self.fails(UnknownKeyError, r"dec_keys.*\(400\): one or more keys", lambda: self.bob.keys("alice", again))  # noqa: B023
        self.assertNotIn(repr(keys[0].key), repr(keys[0]))

    def test_sizes(self) -> None:
        for size in (128, 256, 1024):
            self.assertEqual(len(self.alice.new_keys("bob", 1, size)[0].key) * 8, size)
        for size in (64, 120, 257, 1032):
            self.fails(ValueError, "128 to 1024 bits", lambda: self.alice.new_keys("bob", 1, size))  # noqa: B023

    def test_exhausted(self) -> None:
        self.link.stored = 4
        self.fails(ExhaustedError, "4 keys for 'bob', but 5", lambda: self.alice.new_keys("bob", 5))
        self.assertEqual((self.link.stored, self.link.waiting), (4, {}))
        # Another client fetches the keys between the status request and the key request.
        taken: list[str] = []

        def race(path: str) -> None:
            taken.append(path)
            if path.endswith("enc_keys"):
                self.link.stored = 0

        self.link.fault = race
        self.fails(ExhaustedError, r"\(503\): not enough keys", lambda: self.alice.new_keys("bob", 2))

    def test_answers_that_are_none(self) -> None:
        status = {
            "source_KME_ID": "A", "target_KME_ID": "B", "master_SAE_ID": "alice", "slave_SAE_ID": "bob",
            "key_size": 256, "stored_key_count": 9, "max_key_count": 9, "max_key_per_request": 3,
            "max_key_size": 256, "min_key_size": 256,
        }  # fmt: skip
        key = {"key_ID": "a", "key": "A" * 43 + "="}

        def answered(enc: Any, of_status: Any = status, code: int = 200) -> None:
            self.link.fault = lambda path: (code, enc) if path.endswith("keys") else (200, of_status)

        for keys, words in (
            ([], "does not contain the 2 requested keys"),
            ([key], "does not contain the 2 requested keys"),
            ([key, key], "twice"),
            ([key, key | {"key_ID": "b"}], "twice"),
            ([key, {"key_ID": "b"}], "valid 'key'"),
            ([key, 7], "an invalid key"),
            ([key, {"key_ID": "b", "key": "AAAA"}], "24 bits, not 256"),
            ([key, {"key_ID": "b", "key": "A"}], "not base64"),
            ([key, {"key_ID": "b", "key": "\u00e9" * 44}], "not base64"),
            ([key, {"key_ID": "b", "key": "\ud800"}], "valid 'key'"),
            ([key, {"key_ID": "\x1b[2J", "key": "A" * 43 + "="}], "valid 'key_ID'"),
            ([key, {"key_ID": 7, "key": "A" * 43 + "="}], "valid 'key_ID'"),
        ):
            answered({"keys": keys})
            self.fails(BadAnswerError, words, lambda: self.alice.new_keys("bob", 2))
        for body in (b"", b"[]", b"null", b"{", b"<html>", b"\xff"):
            answered(body)
            self.fails(BadAnswerError, "JSON", lambda: self.alice.new_keys("bob", 2))
        answered(b'{"keys": [', code=0)
        self.fails(BadAnswerError, "truncated after 10 bytes", lambda: self.alice.new_keys("bob", 2))
        answered(b" " * (5 << 20))
        self.fails(BadAnswerError, "longer than", lambda: self.alice.new_keys("bob", 2))
        for name, value in (("max_key_per_request", 0), ("stored_key_count", "9"), ("master_SAE_ID", ""),
                            ("min_key_size", -1), ("key_size", True), ("slave_SAE_ID", None)):  # fmt: skip
            answered({}, status | {name: value})
            self.fails(BadAnswerError, name, lambda: self.alice.new_keys("bob", 2))
        answered({"keys": [key]})
        self.fails(BadAnswerError, "IDs that were not requested", lambda: self.bob.keys("alice", ["b"]))

    def test_statuses(self) -> None:
        for code, kind in ((400, UnknownKeyError), (401, DeniedError), (403, DeniedError), (500, KeySourceError),
                           (503, UnavailableError)):  # fmt: skip
            self.link.fault = lambda path: (code, {"message": "why"})  # noqa: B023
            self.fails(kind, rf"\({code}\): why|status {code}: why", lambda: self.bob.keys("alice", ["x"]))

    def test_messages_and_redirects(self) -> None:
        """A KME's message is printed safely on a terminal, and a redirect to another server is not followed."""
        self.link.fault = lambda path: (500, {"message": "a\x1b[2J\nb\u202e" + "x" * 9999})
        self.fails(KeySourceError, r"500: a\?\[2J\?b\?x{192}$", lambda: self.bob.status("alice"))
        self.link.fault = lambda path: (307, {"Location": "https://127.0.0.1/"})
        self.fails(KeySourceError, "307", lambda: self.bob.keys("alice", ["x"]))

    def test_names_of_saes_are_escaped(self) -> None:
        with self.assertRaises(UnknownKeyError):
            self.alice.status("../b ob?")
        self.assertEqual(self.link.requests, ["/api/v1/keys/..%2Fb%20ob%3F/status"])


class Tls(Sites):
    def test_who_has_no_keys(self) -> None:
        for who, kme in (("mallory", "alice"), ("bob", "alice")):
            self.fails(DeniedError, rf"\(401\): {who} is no SAE", lambda: self.kme(kme, who).status("bob"))  # noqa: B023

    def test_certificates_that_are_not_accepted(self) -> None:
        stranger = self.kme("alice", "other-alice")
        # With TLS 1.3, the server may simply close the connection.
        with self.assertRaises((DeniedError, UnavailableError)):
            stranger.status("bob")
        self.fails(
            DeniedError, "certificate is not accepted", lambda: self.kme("alice", ca="other-ca.pem").status("bob")
        )
        self.assertEqual(self.link.requests, [])
        # This address reaches the server but is not in its certificate.
        named = self.sites.urls["alice"].replace("127.0.0.1", "127.0.0.2")
        files = [str(self.keys / name) for name in ("alice.pem", "alice.key", "ca.pem")]
        with self.assertRaises((DeniedError, UnavailableError)):
            qkd.Kme(named, *files).status("bob")
        self.assertEqual(self.link.requests, [])

    def test_files_that_are_none(self) -> None:
        self.fails(UnavailableError, "client certificate", lambda: self.kme("alice", certificate="nothing.pem"))
        self.fails(UnavailableError, "client certificate", lambda: self.kme("alice", key="bob.key"))
        self.fails(UnavailableError, "CA certificates", lambda: self.kme("alice", ca="nothing.pem"))
        with self.assertRaisesRegex(ValueError, "https://"):
            qkd.Kme("http://127.0.0.1", *[str(self.keys / name) for name in ("alice.pem", "alice.key", "ca.pem")])

    def test_a_private_key_that_others_can_read(self) -> None:
        path = self.keys / "alice.key"
        self.addCleanup(path.chmod, path.stat().st_mode)
        path.chmod(0o640)
        with self.assertLogs("warpaes") as logs:
            self.kme("alice")
        self.assertIn(f"'{path}' is open to other users of this machine (mode 640)", logs.output[0])

    def test_down(self) -> None:
        self.sites.close()
        self.fails(UnavailableError, "cannot reach 127.0.0.1:", self.send)


class Files(Sites):
    def test_every_length(self) -> None:
        for length in LENGTHS:
            self.plain.write_bytes(TEXT[:length])
            sent = self.send()
            self.assertEqual(self.receive(), sent)
            self.assertEqual(self.target.read_bytes(), TEXT[:length])
            self.assertEqual(self.target.stat().st_mode & 0o777, 0o600)
            for path in (self.sealed, qkd.sidecar_of(self.sealed), self.target):
                path.unlink()
        self.assertEqual(self.link.waiting, {})
        self.assertEqual(len(set(self.link.handed_out)), len(LENGTHS))
        self.assertEqual(self.left(), ["plain"])

    def test_tink_opens_it_with_the_key(self) -> None:
        """A key of 256 bits is used unchanged. A longer key is shortened with HKDF. A second library computes the
        expected key."""
        tink = needed("tink")
        hkdf = needed("cryptography.hazmat.primitives.kdf.hkdf")
        hashes = needed("cryptography.hazmat.primitives.hashes")
        from tink import json_proto_keyset_format, secret_key_access, streaming_aead

        streaming_aead.register()
        for size in (256, 512):
            header = qkd.send(self.alice, "bob", self.plain, self.sealed, size)
            (key,) = self.bob.keys("alice", [header.key_id], size)
            secret = key.key
            if size > 256:
                secret = hkdf.HKDF(hashes.SHA256(), 32, None, b"warpaes-qkd-1 " + key.key_id.encode()).derive(secret)
            text = json.loads(warpaes.Keyset.generate(qkd.TEMPLATE).to_json())
            value = warpaes.Keyset.from_raw(qkd.TEMPLATE, secret).to_json()
            text["key"][0]["keyData"] = json.loads(value)["key"][0]["keyData"]
            keyset = json_proto_keyset_format.parse(json.dumps(text), secret_key_access.TOKEN)
            primitive = keyset.primitive(streaming_aead.StreamingAead)
            line = qkd.sidecar_of(self.sealed).read_bytes()
            with open(self.sealed, "rb") as file, primitive.new_decrypting_stream(file, line) as stream:
                self.assertEqual(stream.read(), TEXT)
            for path in (self.sealed, qkd.sidecar_of(self.sealed)):
                path.unlink()
        self.assertTrue(tink)

    def test_a_stream(self) -> None:
        for size in (256, 1024):
            wire, plain = io.BytesIO(), io.BytesIO()
            qkd.send_stream(self.alice, "bob", io.BytesIO(TEXT), wire, size)
            wire.seek(0)
            self.assertEqual(qkd.receive_stream(self.bob, "alice", wire, plain).slave_sae_id, "bob")
            self.assertEqual(plain.getvalue(), TEXT)

    def test_a_key_is_used_once(self) -> None:
        self.send()
        self.receive()
        self.target.unlink()
        self.fails(UnknownKeyError, "not found", self.receive)

    def test_unknown_expired_and_revoked_keys(self) -> None:
        header = self.send()
        self.link.revoke(header.key_id)
        self.fails(UnknownKeyError, "not found", self.receive)

    def test_any_change_is_noticed(self) -> None:
        other = json.dumps("f" * 36)
        for change in (
            lambda: self.sealed.write_bytes(self.sealed.read_bytes()[:-1]),
            lambda: self.sealed.write_bytes(self.sealed.read_bytes()[:-1] + b"x"),
            lambda: self.line(lambda line: line.replace(b'"key_size": 256', b'"key_size": 512')),
        ):
            self.send()
            change()
            with self.subTest(), self.assertRaises((exceptions.InvalidTag, exceptions.FormatError)):
                self.receive()
            self.assertFalse(self.target.exists())
            self.sealed.unlink()
            qkd.sidecar_of(self.sealed).unlink()
        header = self.send()
        self.line(lambda line: line.replace(json.dumps(header.key_id).encode(), other.encode()))
        self.fails(UnknownKeyError, "not found", self.receive)

    def test_whatever_changed_in_the_files_no_key_is_lost(self) -> None:
        """A change that can be detected without the key is detected before the key is fetched. After any other change,
        the key is kept."""
        header = self.send()
        line, body = qkd.sidecar_of(self.sealed).read_bytes(), self.sealed.read_bytes()
        for name, altered in altered_lines(line).items():
            qkd.sidecar_of(self.sealed).write_bytes(altered)
            with self.subTest(name), self.assertRaises((exceptions.FormatError, DeniedError)):
                self.receive()
            self.assertEqual(self.link.handed_out, [], name)
        qkd.sidecar_of(self.sealed).write_bytes(line)
        segment = 1 << 20
        for size in (0, 1, 39, 40, 55, segment + 1, segment + 16, 3 * segment + 9):
            self.sealed.write_bytes((body + bytes(3 * segment + 9))[:size])
            with self.subTest(size), self.assertRaises(exceptions.FormatError):
                self.receive()
        for first in (0, 24, 41):
            self.sealed.write_bytes(bytes([first]) + body[1:])
            self.assertRaises(exceptions.FormatError, self.receive)
        self.assertEqual(self.link.handed_out, [])
        # Changes that only the key reveals.
        self.sealed.write_bytes(body[:-1])
        self.assertRaises(exceptions.InvalidTag, self.receive)
        self.sealed.write_bytes(body)
        qkd.sidecar_of(self.sealed).write_bytes(line.replace(b'"key_size": 256', b'"key_size": 512'))
        self.assertRaises(exceptions.FormatError, self.receive)
        self.assertEqual(self.link.handed_out, [header.key_id])
        qkd.sidecar_of(self.sealed).write_bytes(line)
        self.receive()
        self.assertEqual(self.target.read_bytes(), TEXT)

    def test_a_kme_without_a_status_for_the_receiver(self) -> None:
        for status in (400, 401, 404):
            self.send()
            self.link.fault = lambda path, status=status: (status, {}) if path.endswith("/status") else None
            self.receive()
            self.link.fault = None
            for path in (self.sealed, qkd.sidecar_of(self.sealed), self.target):
                path.unlink()

    def test_streams_that_cannot_be_used(self) -> None:
        """Streams that cannot be used are refused before a key is requested."""
        wire = io.BytesIO()
        qkd.send_stream(self.alice, "bob", io.BytesIO(TEXT), wire)
        stored = self.link.stored
        for source, target in ((io.StringIO(), wire), (io.BytesIO(), io.StringIO()), (io.BytesIO(), 7), (7, wire)):
            with self.assertRaises(TypeError):
                qkd.send_stream(self.alice, "bob", source, target)
        self.assertEqual(self.link.stored, stored)
        wire.seek(0)
        closed = open(self.plain, "rb")  # noqa: SIM115
        self.addCleanup(closed.close)
        for source, target, kind in (
            (wire, io.StringIO(), TypeError),
            (wire, closed, OSError),
            (io.StringIO("{}\n"), io.BytesIO(), TypeError),
        ):
            with self.assertRaises(kind):
                qkd.receive_stream(self.bob, "alice", source, target)
        self.assertEqual(self.link.handed_out, [])
        plain = io.BytesIO()
        qkd.receive_stream(self.bob, "alice", wire, plain)
        self.assertEqual(plain.getvalue(), TEXT)

    def line(self, change: Any) -> None:
        path = qkd.sidecar_of(self.sealed)
        path.write_bytes(change(path.read_bytes()))

    def test_links_and_pipes(self) -> None:
        """An inbox may contain anything. The command neither waits nor requests a key."""
        self.send()
        for path in (self.sealed, qkd.sidecar_of(self.sealed)):
            aside = self.folder / "aside"
            path.rename(aside)
            for make, words in ((lambda: path.symlink_to(aside), "symbolic link"),  # noqa: B023
                                (lambda: os.mkfifo(path), "regular file"), (path.mkdir, "")):  # noqa: B023  # fmt: skip
                make()
                with self.assertRaisesRegex(OSError, words):
                    self.receive()
                self.assertFalse(self.target.exists())
                path.rmdir() if path.is_dir() else path.unlink()
            aside.rename(path)
        self.assertEqual(self.link.handed_out, [])
        self.receive()

    def test_another_file_s_line(self) -> None:
        self.send()
        qkd.send(self.alice, "bob", self.plain, self.folder / "second")
        os.replace(qkd.sidecar_of(self.folder / "second"), qkd.sidecar_of(self.sealed))
        self.fails(exceptions.InvalidTag, "", self.receive)

    def test_somebody_else_s_file(self) -> None:
        """Bob expects a letter from Carol, but the letter is from Alice."""
        self.send()
        self.fails(DeniedError, "from 'alice', not from 'carol'",
                   lambda: qkd.receive(self.bob, "carol", self.sealed, self.target))  # fmt: skip
        self.assertEqual(self.link.handed_out, [])

    def test_lines_that_are_none(self) -> None:
        self.send()
        good = qkd.sidecar_of(self.sealed).read_bytes()
        parsed = json.loads(good)
        for line in (b"", b"{}\n", b"[]\n", b"7\n", good[:-1], good.replace(b"qkd-1", b"qkd-2"), b"\xff\n",
                     b" " * 5000 + good, b"[" * 4000 + b"\n",
                     *(json.dumps(parsed | change).encode() + b"\n" for change in (
                         {"key_id": ""}, {"key_id": 7}, {"key_size": "256"}, {"key_size": True}, {"more": 1},
                         {"template": "AES128_GCM_HKDF_4KB"}))):  # fmt: skip
            qkd.sidecar_of(self.sealed).write_bytes(line)
            self.fails(exceptions.FormatError, "", self.receive)
        qkd.sidecar_of(self.sealed).unlink()
        self.fails(FileNotFoundError, "", self.receive)
        self.assertEqual(self.link.handed_out, [])

    def test_no_key_is_used_up_for_nothing(self) -> None:
        """Existing and unwritable targets are detected first and stay unchanged."""
        self.sealed.write_bytes(b"mine")
        self.fails(FileExistsError, "", self.send)
        self.sealed.unlink()
        qkd.sidecar_of(self.sealed).write_bytes(b"mine")
        self.fails(FileExistsError, "", self.send)
        qkd.sidecar_of(self.sealed).unlink()
        self.fails(FileNotFoundError, "", lambda: qkd.send(self.alice, "bob", self.folder / "no", self.sealed))
        self.fails(ValueError, "128 to 1024", lambda: qkd.send(self.alice, "bob", self.plain, self.sealed, 2048))
        self.assertEqual(self.link.stored, 100)
        self.send()
        self.target.write_bytes(b"mine")
        self.fails(FileExistsError, "", self.receive)
        self.assertEqual(self.target.read_bytes(), b"mine")
        self.assertEqual(self.link.handed_out, [])

    def test_an_input_that_fails_leaves_nothing(self) -> None:
        for path, kind in (("/proc/self/mem", OSError), ("/proc/self", IsADirectoryError)):
            self.fails(kind, "", lambda: qkd.send(self.alice, "bob", path, self.sealed))  # noqa: B023

    def test_a_short_key_is_not_used(self) -> None:
        self.fails(
            ValueError, "128 bits is too short", lambda: qkd.send(self.alice, "bob", self.plain, self.sealed, 128)
        )

    def test_a_longer_key_becomes_the_file_s_by_hkdf(self) -> None:
        """The test derives the key with two calls of hmac.digest."""
        import hmac

        key = qkd.QkdKey("name", bytes(range(64)))
        derived = hmac.digest(
            hmac.digest(bytes(32), key.key, hashlib.sha256), b"warpaes-qkd-1 name\x01", hashlib.sha256
        )
        self.assertEqual(
            qkd.keyset_of(key).to_json(), warpaes.Keyset.from_raw(qkd.TEMPLATE, derived).to_json()
        )  # fmt: skip


class Command(Sites):
    def run_main(self, *arguments: str) -> tuple[int, str]:
        with contextlib.redirect_stderr(io.StringIO()) as errors, contextlib.redirect_stdout(io.StringIO()):
            status = qkd.main(arguments)
        return status, errors.getvalue()

    def test_there_and_back_by_the_package_s_command(self) -> None:
        run = [sys.executable, "-B", "-m", "warpaes", "qkd"]
        status = subprocess.run([*run, "status", *self.arguments("alice", "bob")], check=True, capture_output=True)
        self.assertEqual(json.loads(status.stdout)["slave_sae_id"], "bob")
        subprocess.run(
            [*run, "send", *self.arguments("alice", "bob"), str(self.plain)], check=True, capture_output=True
        )
        self.assertEqual(self.left(), ["plain", "plain.warpaes", "plain.warpaes.qkd.json"])
        got = [*run, "receive", *self.arguments("bob", "alice"), f"{self.plain}.warpaes", "-o", str(self.target)]
        subprocess.run(got, check=True)
        self.assertEqual(self.target.read_bytes(), TEXT)
        again = subprocess.run([*got[:-1], str(self.folder / "again")], capture_output=True, text=True)
        self.assertEqual(again.returncode, 19)
        self.assertRegex(again.stderr, "^warpaes: KME: refuses dec_keys for 'alice'.*not found.*\n$")

    def test_the_demonstration(self) -> None:
        demo = pathlib.Path(__file__).parents[2] / "tools" / "qkd_demo"
        package = str(pathlib.Path(warpaes.__file__).parents[1])
        environment = os.environ | {"PYTHON": sys.executable, "PYTHONPATH": package}
        done = subprocess.run([demo], env=environment, capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("The letters are identical", done.stdout)
        self.assertRegex(done.stderr, "warpaes: KME: refuses dec_keys for 'alice'.*not found")

    def test_exit_statuses(self) -> None:
        send = ("send", *self.arguments("alice", "bob"), str(self.plain))
        self.assertEqual(self.run_main(*send)[0], 0)
        self.assertEqual(self.run_main(*send)[0], 17)
        self.assertEqual(self.run_main(*send[:-1], str(self.folder / "no"))[0], 16)
        self.assertEqual(self.run_main(*send, "-o", str(self.folder / "x"), "--key-size", "7")[0], 2)
        self.link.stored = 0
        status, said = self.run_main(*send, "-o", str(self.folder / "x"))
        self.assertEqual(
            (status, said), (19, "warpaes: KME: has 0 keys for 'bob', but 1 are needed; try again later\n")
        )
        kept = self.folder.with_name(self.folder.name + "-state")
        self.addCleanup(shutil.rmtree, kept)
        receive = ("receive", *self.arguments("bob", "alice"), f"{self.plain}.warpaes", "-o", str(self.target),
                   "--state", str(kept))  # fmt: skip
        sealed = pathlib.Path(f"{self.plain}.warpaes")
        sealed.write_bytes(sealed.read_bytes()[:-1])
        status, said = self.run_main(*receive)
        self.assertEqual(status, 22, said)
        self.assertEqual((len(list(kept.glob("*.key"))), self.state.exists()), (1, False))
        sidecar = qkd.sidecar_of(sealed)
        sidecar.write_bytes(b"{}")
        self.assertEqual(self.run_main(*receive)[0], 21)
        self.assertEqual(self.left(), ["plain", "plain.warpaes", "plain.warpaes.qkd.json"])


if __name__ == "__main__":
    unittest.main()
