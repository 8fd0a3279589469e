#!/usr/bin/env python3
"""Tests key sources with untrusted input: servers that send arbitrary responses, and modified key files."""

from __future__ import annotations

import base64
import contextlib
import http.server
import io
import json
import os
import signal
import socket
import socketserver
import threading
import time
import unittest
from typing import Any
from unittest import mock

import warpaes
from support import needed, new_folder, resident_bytes, served, set_environment
from warpaes import aead, keysources
from warpaes.exceptions import InvalidTag, InvalidUnwrap, KeysetError
from warpaes.keysources import BadAnswerError, DeniedError, KeySourceError, UnavailableError
from warpaes.keysources.__main__ import main as command

DATA_KEY = bytes(range(32))
WARNING = "Endpoint ignored these unrecognized parameters: [associated_data]"


class Folder(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = new_folder(self)

    def environment(self, **names: str) -> None:
        set_environment(self, **names)

    def serve(self, handler: Any, **attributes: Any) -> Any:
        return served(self, handler, **attributes)


class _Transit(http.server.BaseHTTPRequestHandler):
    """Vault's transit engine. ``binds`` states whether it supports associated data, and ``warns`` contains its
    warnings."""

    server: Any

    def log_message(self, *_: Any) -> None:
        pass

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(self.path.split("/")[-2])
        status, answer = self._carry_out(body)
        if "associated_data" in body and self.server.warns and status == 200:
            answer["warnings"] = self.server.warns
        sent = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def _carry_out(self, body: dict[str, str]) -> tuple[int, Any]:
        operation = self.path.split("/")[-2]
        if operation in self.server.denies:
            return 403, {"errors": ["permission denied"]}
        cipher = aead.AESGCM(bytes(32))
        try:
            aad = base64.b64decode(body.get("associated_data", ""), validate=True) if self.server.binds else b""
            if operation == "encrypt":
                nonce = os.urandom(12)
                sealed = nonce + cipher.encrypt(nonce, base64.b64decode(body["plaintext"]), aad)
                return 200, {"data": {"ciphertext": "vault:v1:" + base64.b64encode(sealed).decode()}}
            sealed = base64.b64decode(body["ciphertext"].removeprefix("vault:v1:"), validate=True)
            opened = cipher.decrypt(sealed[:12], sealed[12:], aad)
        except (ValueError, InvalidTag):
            return 400, {"errors": ["cipher: message authentication failed"]}
        return 200, {"data": {"plaintext": base64.b64encode(opened).decode()}}


class Vault(Folder):
    def setUp(self) -> None:
        super().setUp()
        self.environment(VAULT_TOKEN="t")
        self.server = self.serve(_Transit, binds=True, warns=None, denies=(), asked=[])

    def source(self) -> keysources.KeySource:
        return keysources.from_url(f"vault-transit+http://127.0.0.1:{self.server.server_address[1]}/transit/keys/k")

    def refused(self, words: str) -> None:
        """Check that every use of an object is refused, including the second use."""
        wrapped = b"vault:v1:" + base64.b64encode(bytes(12) + aead.AESGCM(bytes(32)).encrypt(bytes(12), DATA_KEY, None))
        for use in (lambda s: s.wrap(DATA_KEY, b"a"), lambda s: s.wrap(DATA_KEY), lambda s: s.unwrap(wrapped, b"a"),
                    lambda s: s.unwrap(wrapped)):  # fmt: skip
            source = self.source()
            for _ in range(2):
                with self.assertRaisesRegex(BadAnswerError, words):
                    use(source)

    def test_one_that_ignores_associated_data_silently(self) -> None:
        self.server.binds = False
        self.refused("ignores associated data")

    def test_one_that_warns_of_it(self) -> None:
        self.server.binds = False
        for said in ([WARNING], ["another", WARNING], WARNING, {"x": WARNING}):
            self.server.warns = said
            self.refused("ignores associated data")
        # In a cluster with one old server, the old server's responses are refused even after the proof.
        self.server.binds, self.server.warns = True, None
        source = self.source()
        wrapped = source.wrap(DATA_KEY, b"a")
        self.server.binds, self.server.warns = False, [WARNING]
        unbound = b"vault:v1:" + base64.b64encode(bytes(12) + aead.AESGCM(bytes(32)).encrypt(bytes(12), DATA_KEY, None))
        for use in (lambda: source.wrap(DATA_KEY, b"a"), lambda: source.unwrap(unbound, b"a")):
            with self.assertRaisesRegex(BadAnswerError, "it warns 'Endpoint ignored.*1.13"):
                use()
        self.server.warns = ["the key will expire soon"]
        self.server.binds = True
        self.assertEqual(source.unwrap(wrapped, b"a"), DATA_KEY)

    def test_the_proof_is_once_for_an_object(self) -> None:
        source = self.source()
        threads = [threading.Thread(target=source.wrap, args=(DATA_KEY, b"a")) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(self.server.asked), ["decrypt"] * 2 + ["encrypt"] * 5)
        wrapped = source.wrap(DATA_KEY, b"a")
        del self.server.asked[:]
        self.assertEqual(source.unwrap(wrapped, b"a"), DATA_KEY)
        self.assertEqual(self.server.asked, ["decrypt"])
        other = self.source()
        for _ in range(3):
            self.assertEqual(other.unwrap(wrapped, b"a"), DATA_KEY)
        self.assertEqual(self.server.asked, ["decrypt"] * 5)
        with self.assertRaises(InvalidUnwrap):
            self.source().unwrap(wrapped, b"b")

    def test_tokens_that_may_only_encrypt_or_only_decrypt(self) -> None:
        wrapped = self.source().wrap(DATA_KEY, b"a")
        for binds in (True, False):
            self.server.binds = binds
            self.server.denies = ("decrypt",)
            if binds:
                self.assertTrue(self.source().wrap(DATA_KEY, b"a").startswith(b"vault:v1:"))
            else:
                with self.assertRaisesRegex(BadAnswerError, "accepts invalid base64"):
                    self.source().wrap(DATA_KEY, b"a")
        self.server.binds, self.server.denies = True, ("encrypt",)
        self.assertEqual(self.source().unwrap(wrapped, b"a"), DATA_KEY)
        self.server.denies = ("encrypt", "decrypt")
        for use in (lambda: self.source().wrap(DATA_KEY, b"a"), lambda: self.source().unwrap(wrapped, b"a")):
            with self.assertRaises(DeniedError):
                use()


class Others(Folder):
    def test_a_module_that_leaves_associated_data_out(self) -> None:
        """The fake module has the API of python-pkcs11 and can ignore associated data."""

        class Key:
            def __init__(self, binds: bool) -> None:
                self.binds = binds

            def encrypt(self, data: bytes, mechanism_param: tuple[bytes, bytes]) -> bytes:
                nonce, aad = mechanism_param
                return aead.AESGCM(bytes(32)).encrypt(nonce, data, aad if self.binds else b"")

            def decrypt(self, data: bytes, mechanism_param: tuple[bytes, bytes]) -> bytes:
                nonce, aad = mechanism_param
                try:
                    return aead.AESGCM(bytes(32)).decrypt(nonce, data, aad if self.binds else b"")
                except InvalidTag:
                    raise needed("pkcs11").exceptions.EncryptedDataInvalid from None

        needed("pkcs11")
        from warpaes.keysources import _pkcs11

        def source(binds: bool) -> keysources.KeySource:
            made = keysources.from_url("pkcs11:token=t;object=k")
            made._key = lambda: contextlib.nullcontext(Key(binds))  # type: ignore[attr-defined]
            return made

        with mock.patch.object(
            _pkcs11.Pkcs11Source, "_mechanism", lambda self, nonce, aad: {"mechanism_param": (nonce, aad)}
        ):
            good = source(True)
            wrapped = good.wrap(DATA_KEY, b"a")
            self.assertEqual((good.unwrap(wrapped, b"a"), good.wraps), (DATA_KEY, 2))  # type: ignore[attr-defined]
            nonce = bytes(12)
            unbound = nonce + aead.AESGCM(bytes(32)).encrypt(nonce, DATA_KEY, b"")
            for use in (lambda s: s.wrap(DATA_KEY, b"a"), lambda s: s.unwrap(unbound, b"a")):
                with self.assertRaisesRegex(BadAnswerError, "ignores associated data"):
                    use(source(False))

    def test_every_source_binds_them(self) -> None:
        """Sources that encrypt in this process bind associated data themselves. Other sources pass it on and, except
        for AWS and Google, prove that it is bound."""
        from warpaes.keysources import _aws, _azure, _gcp, _local, _pkcs11, _source, _tpm2, _vault

        modules = (_aws, _azure, _gcp, _local, _pkcs11, _tpm2, _vault)
        kinds = {each.__name__ for module in modules for each in vars(module).values()
                 if isinstance(each, type) and issubclass(each, keysources.KeySource)}  # fmt: skip
        proving = {each.__name__ for each in _source.ProvingSource.__subclasses__()}
        self.assertEqual(
            kinds - proving - {"KeySource", "ProvingSource"},
            {"AwsKmsSource", "AzureKeyVaultSource", "GcpKmsSource", "LocalSource", "Tpm2Source"},
        )
        self.assertGreaterEqual(proving, {"Pkcs11Source", "VaultTransitSource"})


class _Raw(socketserver.BaseRequestHandler):
    """Responds to every request with the bytes in ``server.pieces``, with a pause after each piece."""

    server: Any

    def handle(self) -> None:
        asked = b""
        while not asked.endswith(b"}"):
            asked += self.request.recv(1 << 16)
        self.server.requests += 1
        with contextlib.suppress(OSError):
            for piece in self.server.pieces():
                self.request.sendall(piece)
                time.sleep(self.server.pause)


def answer(body: bytes, status: str = "200 OK", *headers: str) -> bytes:
    # The server closes the connection after each response. Without a header that announces this, a client may send its
    # next request on the connection.
    lines = [f"HTTP/1.1 {status}", *headers, "Connection: close", f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode() + body


class Servers(Folder):
    """Tests servers that send garbage, huge or slow responses, or redirects, to Vault's client and to boto3. The KME's
    client shares the HTTP code of Vault's client."""

    def setUp(self) -> None:
        super().setUp()
        self.environment(VAULT_TOKEN="t")
        self.server = self.serve(_Raw, pieces=list, pause=0, requests=0)

    def source(self) -> Any:
        return keysources.from_url(f"vault-transit+http://127.0.0.1:{self.server.server_address[1]}/transit/keys/k")

    def garbage(self) -> list[tuple[bytes, type[Exception]]]:
        deep = 200_000
        good = json.dumps({"data": {"plaintext": "AAAA", "ciphertext": "vault:v1:AAAA"}}).encode()
        return [
            (b"", BadAnswerError),
            (b"\0" * 100, BadAnswerError),
            (b"SSH-2.0-x\r\n", BadAnswerError),
            (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n" + good, BadAnswerError),
            (b"HTTP/1.1 200 OK\r\nX: " + b"y" * 70_000, BadAnswerError),
            (b"HTTP/1.1 9999999 OK\r\n\r\n", BadAnswerError),
            (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", BadAnswerError),
            (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{}", BadAnswerError),
            (b"HTTP/1.1 200 OK\r\n\r\n" + b" " * (5 << 20), BadAnswerError),
            (answer(b"[" * deep), BadAnswerError),
            (answer(b'{"a":' * deep), BadAnswerError),
            (answer(b"[" * deep + b"]" * deep), BadAnswerError),
            (answer(b"1" * 100_000), BadAnswerError),
            (answer(b"NaN"), BadAnswerError),
            (answer(b"\xff\xfe{\0}\0"), BadAnswerError),
            (answer(b'{"data": [], "warnings": 7}'), BadAnswerError),
            (answer(b'{"data": {"ciphertext": ["vault"], "plaintext": {}}}'), BadAnswerError),
            (answer(b'{"data": {"ciphertext": "\\ud800", "plaintext": "\\ud800"}}'), BadAnswerError),
            (answer(b'{"errors": {"a": [[[]]]}}', "500 no"), KeySourceError),
            (answer(b"[" * deep, "500 no"), KeySourceError),
            (answer(b"", "204 none"), KeySourceError),
        ]

    def test_garbage(self) -> None:
        for sent, kind in self.garbage():
            self.server.pieces = lambda: [sent]  # noqa: B023
            for use in (lambda: self.source().wrap(DATA_KEY), lambda: self.source().unwrap(b"vault:v1:AAAA")):
                with self.subTest(sent[:60]), self.assertRaises(kind):
                    use()

    def test_garbage_for_boto3(self) -> None:
        """boto3's errors are less exact, and its parser accepts responses without a body."""
        needed("boto3")
        names = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE")
        endpoint = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.environment(**dict.fromkeys(names, "none"), AWS_ENDPOINT_URL=endpoint, AWS_DEFAULT_REGION="eu-west-1",
                         AWS_MAX_ATTEMPTS="1", AWS_EC2_METADATA_DISABLED="true")  # fmt: skip
        others = [answer(json.dumps({name: value}).encode()) for name in ("CiphertextBlob", "Plaintext")
                  for value in (7, [[]], "%", "\ud800", None, {})]  # fmt: skip
        with keysources.from_url("aws-kms://alias/k") as source:
            for sent in [sent for sent, _ in self.garbage()] + others:
                self.server.pieces = lambda: [sent]  # noqa: B023
                for use in (lambda: source.wrap(DATA_KEY), lambda: source.unwrap(b"wrapped")):
                    with self.subTest(sent[:60]), self.assertRaises(KeySourceError) as raised:
                        use()
                    self.assertTrue(str(raised.exception).isprintable(), raised.exception)
            self.server.pieces = lambda: [answer(b"{" + b" " * (300 << 20) + b"}")]
            before = resident_bytes()
            with self.assertRaisesRegex(BadAnswerError, "longer than 4194304 bytes"):
                source.wrap(DATA_KEY)
            self.assertLess(resident_bytes() - before, 1 << 30)

    def test_words_of_a_server_do_not_reach_a_terminal_raw(self) -> None:
        for status, sent in (("500 no", {"errors": ["a\x1b[2J\nb\u202e", "\ud800"]}),
                             ("200 OK", {"data": {}, "warnings": ["ignored \x1b[2J\n"]})):  # fmt: skip
            self.server.pieces = lambda: [answer(json.dumps(sent).encode(), status)]  # noqa: B023
            with self.assertRaisesRegex(KeySourceError, r"\?\[2J\?") as raised:
                self.source().wrap(DATA_KEY)
            self.assertTrue(str(raised.exception).isprintable(), raised.exception)

    def test_redirects_are_not_followed(self) -> None:
        other = self.serve(_Raw, pieces=list, pause=0, requests=0)
        place = f"http://127.0.0.1:{other.server_address[1]}/v1/transit/decrypt/k"
        for status in ("301 Moved", "302 Found", "303 See", "307 Temporary", "308 Permanent", "300 Choices"):
            self.server.pieces = lambda: [answer(b"{}", status, f"Location: {place}")]  # noqa: B023
            with self.assertRaisesRegex(KeySourceError, status[:3]):
                self.source().wrap(DATA_KEY)
        self.assertEqual((self.server.requests, other.requests), (6, 0))

    def test_slow_answers_end(self) -> None:
        """The response arrives byte by byte in the status, a header, the body or a chunk. Each byte arrives well within
        a socket's timeout."""
        head = b"HTTP/1.1 200 OK\r\n"
        for first, rest in (
            (b"", head * 100),
            (head, b"X: y\r\n" * 100),
            (answer(b" " * 9999)[:-9999], b" " * 9999),
            (head + b"\r\n", b" " * 9999),
            (head + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n" * 9999),
        ):
            self.server.pieces = lambda: [first, *(rest[i : i + 1] for i in range(len(rest)))]  # noqa: B023
            self.server.pause = 0.02
            source = self.source()
            source._client._timeout = 0.3
            with (
                self.subTest(first),
                self.assertRaisesRegex(UnavailableError, r"did not send its answer within 0\.3 s"),
            ):
                source.wrap(DATA_KEY)
        silent = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(silent.close)
        source = keysources.from_url(f"vault-transit+http://127.0.0.1:{silent.getsockname()[1]}/transit/keys/k")
        source._client._timeout = 0.3  # type: ignore[attr-defined]
        with self.assertRaises(UnavailableError):
            source.wrap(DATA_KEY)

    def test_boto3_s_limits_start_again_with_every_byte(self) -> None:
        needed("boto3")
        names = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE")
        endpoint = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.environment(**dict.fromkeys(names, "none"), AWS_ENDPOINT_URL=endpoint, AWS_DEFAULT_REGION="eu-west-1",
                         AWS_MAX_ATTEMPTS="1", AWS_EC2_METADATA_DISABLED="true")  # fmt: skip
        self.server.pieces = lambda: [answer(b" " * 9999)[:-9999], *[b" "] * 9999]
        self.server.pause = 0.02
        with (
            keysources.from_url("aws-kms://alias/k") as source,
            mock.patch("warpaes.keysources._client.MOST_SECONDS", 0.3),
        ):
            source._client.get()  # type: ignore[attr-defined]
            for words in [r"no complete answer within 0\.3 s"] * 4 + ["4 earlier requests are still unanswered"] * 2:
                with self.assertRaisesRegex(UnavailableError, words):
                    source.unwrap(b"wrapped")
            self.server.pause = 0  # now the requests end
            deadline = time.monotonic() + 30
            while any(thread.is_alive() for thread in source._client._late) and time.monotonic() < deadline:  # type: ignore[attr-defined]
                time.sleep(0.05)
            self.server.pieces = lambda: [
                answer(json.dumps({"Plaintext": base64.b64encode(DATA_KEY).decode()}).encode())
            ]
            self.assertEqual(source.unwrap(b"wrapped"), DATA_KEY)

    def test_tokens_that_no_header_can_have_are_not_repeated(self) -> None:
        home = self.folder / ".vault-token"
        for content in (b"hvs.secret\nX: y", b"hvs.secret\xff", "hvs.secret\u2026".encode(), b"hvs.secret\x7f", b" \n"):
            home.write_bytes(content)
            home.chmod(0o600)
            for variables in ({"VAULT_TOKEN": os.fsdecode(content)}, {"VAULT_TOKEN": "", "HOME": str(self.folder)}):
                with self.subTest(content), mock.patch.dict(os.environ, variables):
                    with self.assertRaises(DeniedError) as raised:
                        self.source().wrap(DATA_KEY)
                    self.assertNotIn("secret", str(raised.exception))
        self.environment(VAULT_NAMESPACE="a\nb")
        with self.assertRaisesRegex(DeniedError, "VAULT_NAMESPACE"):
            self.source().wrap(DATA_KEY)

    def test_a_child_that_is_forked_while_a_thread_proves(self) -> None:
        source = keysources.LocalSource("file:kek", lambda: bytes(32))
        with source._lock, source._count._lock:
            child = os.fork()
            if child == 0:
                signal.alarm(20)
                source.unwrap(source.wrap(DATA_KEY))
                os._exit(0)
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_no_thread_and_no_descriptor_is_left(self) -> None:
        self.server.pieces = lambda: [answer(b"{}")]
        source = self.source()

        def use() -> tuple[int, int]:
            with self.assertRaises(BadAnswerError):
                source.wrap(DATA_KEY)
            timers = [each for each in threading.enumerate() if isinstance(each, threading.Timer)]
            return len(os.listdir("/proc/self/fd")), len(timers)

        use()
        first = min(use() for _ in range(5))
        self.assertLessEqual(min(use() for _ in range(20)), first)
        self.assertEqual(first[1], 0)


class Altered(Folder):
    """Changes each byte of every file that key sources store, truncates the file everywhere, and appends bytes."""

    def variants(self, content: bytes) -> Any:
        for at in range(len(content)):
            for change in (1, 0x20, 0x80):
                yield content[:at] + bytes([content[at] ^ change]) + content[at + 1 :]
            yield content[:at]
        for more in (b"x", b"{}", b"\0", content, b"]", b"}"):
            yield content + more

    def run_command(self, *arguments: object) -> tuple[int, str]:
        with contextlib.redirect_stderr(io.StringIO()) as errors:
            status = command([str(argument) for argument in arguments])
        return status, errors.getvalue()

    def test_wrapped_keysets(self) -> None:
        keyset = warpaes.Keyset.generate()
        keyset.disable(keyset.add("AES128_CTR_HMAC_SHA256_4KB"))
        keyset.destroy(keyset.add("AES128_GCM_HKDF_4KB"))
        kek = keysources.generate_kek()
        for content in (kek, warpaes.Keyset.generate().to_json(), bytes(32)):
            source = keysources.LocalSource("file:kek", lambda: content)  # noqa: B023
            good = keysources.write_keyset(keyset, source, b"aad")
            refused = 0
            for text in self.variants(good):
                if text == good.rstrip():
                    continue
                try:
                    opened = keysources.read_keyset(text, source, b"aad")
                except (InvalidUnwrap, KeysetError) as error:
                    refused += 1
                    self.assertRegex(str(error), "file:kek|keyset|keysetInfo", text)
                else:
                    self.fail(f"opened: {text!r}" if opened else "")
            self.assertGreater(refused, 4 * len(good))
            for same in (good + b"\n", good.rstrip()):
                self.assertEqual(keysources.read_keyset(same, source, b"aad").to_json(), keyset.to_json())

    def test_parts_of_two_wrapped_keysets(self) -> None:
        source = keysources.LocalSource("file:kek", lambda: bytes(32))
        one, two = (json.loads(keysources.write_keyset(warpaes.Keyset.generate(), source)) for _ in range(2))
        with self.assertRaisesRegex(KeysetError, "keysetInfo does not match"):
            keysources.read_keyset(json.dumps(one | {"keysetInfo": two["keysetInfo"]}), source)
        for info in (
            None,
            [],
            7,
            {},
            {"keyInfo": 7},
            {"keyInfo": [7], "primaryKeyId": 1},
            one["keysetInfo"] | {"x": 1},
        ):
            with self.assertRaisesRegex(KeysetError, "keysetInfo does not match"):
                keysources.read_keyset(json.dumps(one | {"keysetInfo": info}), source)
        with self.assertRaisesRegex(KeysetError, "a field twice"):
            text = json.dumps(one)[:-1] + f', "encryptedKeyset": "{two["encryptedKeyset"]}"}}'
            keysources.read_keyset(text, source)
        with self.assertRaisesRegex(KeysetError, "'more' is not a valid field"):
            keysources.read_keyset(json.dumps(one | {"more": 1}), source)
        keysources.read_keyset(json.dumps({"encryptedKeyset": one["encryptedKeyset"]}), source)

    def test_keys_that_wrap(self) -> None:
        """An unencrypted key is not authenticated. An altered key opens nothing or is the same key."""
        kek = keysources.generate_kek()
        wrapped = keysources.LocalSource("file:kek", lambda: kek).wrap(DATA_KEY, b"aad")
        refused = same = 0
        for text in self.variants(kek):
            try:
                self.assertEqual(keysources.LocalSource("file:kek", lambda: text).unwrap(wrapped, b"aad"), DATA_KEY)  # noqa: B023
                same += 1
            except (InvalidUnwrap, KeysetError) as error:
                refused += 1
                self.assertIn("file:kek: ", str(error))
        # The unused names are keyMaterialType and its value.
        self.assertLess(same, 4 * len('"keyMaterialType": "SYMMETRIC"'))
        self.assertGreater(refused, 3 * len(kek))

    def test_sealed_data_keys(self) -> None:
        for content in (keysources.generate_kek(), warpaes.Keyset.generate().to_json(), bytes(32)):
            source = keysources.LocalSource("file:kek", lambda: content)  # noqa: B023
            for text in self.variants(source.wrap(DATA_KEY, b"aad")):
                with self.assertRaisesRegex(InvalidUnwrap, "file:kek: "):
                    source.unwrap(text, b"aad")

    def test_the_command_names_file_and_field_and_writes_nothing(self) -> None:
        kek, wrapped, out = self.folder / "kek", self.folder / "wrapped", self.folder / "out"
        self.assertEqual(self.run_command("new-kek", "-o", kek), (0, ""))
        self.assertEqual(self.run_command("new", f"file:{kek}", "-o", wrapped), (0, ""))
        good, good_kek = wrapped.read_bytes(), kek.read_bytes()
        for text, words in (
            (b"", "is not JSON"),
            (b"[" * 99_999, "is not JSON"),
            (b"7", "not a JSON object"),
            (b"{}", "has no encryptedKeyset"),
            (good_kek, "has no encryptedKeyset"),
            (good[:-5], "is not JSON"),
            (good.replace(b'Keyset": "', b'Keyset": "%'), "encryptedKeyset is not base64"),
            (good.replace(b'Keyset": "', b'Keyset": "AAAA'), "cannot open the wrapped key"),
            (good.replace(b"keysetInfo", b"keysetinfo"), "'keysetinfo' is not a valid field"),
            (good.replace(b"ENABLED", b"DISABLED"), "keysetInfo does not match"),
        ):
            wrapped.write_bytes(text)
            status, said = self.run_command("open", f"file:{kek}", wrapped, "-o", out)
            self.assertRegex(said, f"^warpaes: '{wrapped}': .*{words}[^\n]*\n$")
            self.assertIn(status, (22, 23))
        wrapped.write_bytes(good)
        for text, words in (
            (b"", "is not JSON"),
            (good, "is encrypted, but a key-encryption key"),
            (good_kek[:-5], "is not JSON"),
            (good_kek.replace(b"ENABLED", b"ENABLEE"), "key 1 has no valid 'status'"),
            (good_kek.replace(b"TINK", b"TONK"), "key 1 has no valid 'outputPrefixType'"),
            (good_kek.replace(b'"value": "', b'"value": "%'), "key 1 'value': is not base64"),
            (good_kek.replace(b"primaryKeyId", b"primarykeyid"), "no valid 'primaryKeyId'"),
        ):
            kek.write_bytes(text)
            status, said = self.run_command("open", f"file:{kek}", wrapped, "-o", out)
            self.assertRegex(said, f"^warpaes: '{wrapped}': file:{kek}: .*{words}[^\n]*\n$")
            self.assertEqual(status, 23)
        self.assertEqual(sorted(os.listdir(self.folder)), ["kek", "wrapped"])

    def test_outputs(self) -> None:
        """Existing links and files are not overwritten, and no temporary file remains."""
        outside, link = self.folder / "outside", self.folder / "link"
        outside.write_bytes(b"mine")
        link.symlink_to(outside)
        for path in (outside, link, self.folder):
            self.assertEqual(self.run_command("new-kek", "-o", path)[0], 17)
        (self.folder / "dangling").symlink_to(self.folder / "nothing")
        self.assertEqual(self.run_command("new-kek", "-o", self.folder / "dangling")[0], 17)
        self.assertEqual(self.run_command("new-kek", "-o", self.folder / "no" / "kek")[0], 16)
        self.assertEqual(outside.read_bytes(), b"mine")
        self.assertEqual(sorted(os.listdir(self.folder)), ["dangling", "link", "outside"])


if __name__ == "__main__":
    unittest.main()
