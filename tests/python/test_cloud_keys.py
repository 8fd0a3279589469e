#!/usr/bin/env python3
"""Tests the key sources for Google Cloud KMS and Azure Key Vault with their own clients and small servers on this
machine."""

from __future__ import annotations

import base64
import concurrent.futures
import contextlib
import http.server
import io
import json
import os
import time
import unittest
from typing import Any
from unittest import mock

from support import needed, served
from test_keysources import DATA_KEY, Sources, free_port
from warpaes import keysources
from warpaes.exceptions import InvalidUnwrap
from warpaes.keysources import BadAnswerError, DeniedError, KeySourceError, UnavailableError, UnknownKeyError
from warpaes.keysources._gcp import crc32c

KEY = "projects/p/locations/europe-west1/keyRings/r/cryptoKeys/k"


class _Kms:
    """Cloud KMS's Encrypt and Decrypt. ``fault`` is a status or a function that alters responses."""

    def __init__(self) -> None:
        import grpc
        from google.cloud.kms_v1 import types

        self.fault: Any = None
        self.keys: dict[str, Any] = {}
        self.add(KEY)
        service = "google.cloud.kms.v1.KeyManagementService"

        def handler(request: Any, answer: Any, act: Any) -> Any:
            def call(message: Any, context: Any) -> Any:
                if isinstance(self.fault, grpc.StatusCode):
                    context.abort(self.fault, "as the test requested")
                if message.name not in self.keys:
                    context.abort(grpc.StatusCode.NOT_FOUND, f"CryptoKey {message.name} not found.")
                result = act(message, context)
                return self.fault(result) if callable(self.fault) else result

            return grpc.unary_unary_rpc_method_handler(call, request.deserialize, answer.serialize)

        methods = {
            "Encrypt": handler(types.EncryptRequest, types.EncryptResponse, self.encrypt),
            "Decrypt": handler(types.DecryptRequest, types.DecryptResponse, self.decrypt),
        }
        self.server = grpc.server(concurrent.futures.ThreadPoolExecutor(4))
        self.server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, methods),))
        self.port = self.server.add_insecure_port("127.0.0.1:0")
        self.server.start()

    def add(self, name: str) -> None:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        self.keys[name] = AESGCM(os.urandom(32))

    def encrypt(self, message: Any, context: Any) -> Any:
        from google.cloud.kms_v1 import types

        nonce = os.urandom(12)
        sealed = nonce + self.keys[message.name].encrypt(
            nonce, message.plaintext, message.additional_authenticated_data
        )
        assert crc32c(message.plaintext) == message.plaintext_crc32c
        return types.EncryptResponse(
            ciphertext=sealed,
            ciphertext_crc32c=crc32c(sealed),
            verified_plaintext_crc32c=True,
            verified_additional_authenticated_data_crc32c=True,
        )

    def decrypt(self, message: Any, context: Any) -> Any:
        import grpc
        from cryptography.exceptions import InvalidTag
        from google.cloud.kms_v1 import types

        try:
            text = self.keys[message.name].decrypt(
                message.ciphertext[:12], message.ciphertext[12:], message.additional_authenticated_data
            )
        except (InvalidTag, ValueError):
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "Decryption failed: the ciphertext is invalid.")
        return types.DecryptResponse(plaintext=text, plaintext_crc32c=crc32c(text))


class Gcp(Sources):
    kms: _Kms

    @classmethod
    def setUpClass(cls) -> None:
        needed("grpc")
        needed("google.cloud.kms_v1")
        cls.kms = _Kms()
        cls.addClassCleanup(lambda: cls.kms.server.stop(None).wait())

    def setUp(self) -> None:
        super().setUp()
        self.kms.fault = None
        self.source = keysources.from_url(f"gcp-kms+http://127.0.0.1:{self.kms.port}/{KEY}")
        self.addCleanup(self.source.close)

    def test_it_works(self) -> None:
        self.works(self.source)
        self.works_by_place(self.source.name)

    def test_another_key(self) -> None:
        self.kms.add(KEY + "2")
        other = keysources.from_url(self.source.name + "2")
        wrapped = self.source.wrap(DATA_KEY)
        self.fails(InvalidUnwrap, "Decryption failed", lambda: other.unwrap(wrapped))
        unknown = keysources.from_url(self.source.name + "3")
        self.fails(UnknownKeyError, "not found", lambda: unknown.wrap(DATA_KEY))

    def test_faults(self) -> None:
        import grpc

        wrapped = self.source.wrap(DATA_KEY)
        status = grpc.StatusCode
        for code, kind in (
            (status.PERMISSION_DENIED, DeniedError),
            (status.UNAUTHENTICATED, DeniedError),
            (status.FAILED_PRECONDITION, UnknownKeyError),
            (status.RESOURCE_EXHAUSTED, UnavailableError),
            (status.UNAVAILABLE, UnavailableError),
            (status.DEADLINE_EXCEEDED, UnavailableError),
            (status.INTERNAL, UnavailableError),
        ):
            self.kms.fault = code
            with self.subTest(code):
                self.fails(kind, "as the test requested", lambda: self.source.wrap(DATA_KEY))
                self.fails(kind, "as the test requested", lambda: self.source.unwrap(wrapped))

    def test_answers_that_were_altered(self) -> None:
        wrapped = self.source.wrap(DATA_KEY)

        def altered(**fields: Any) -> Any:
            def alter(answer: Any) -> Any:
                for name, value in fields.items():
                    setattr(answer, name, value)
                return answer

            return alter

        for fields in (
            {"verified_plaintext_crc32c": False},
            {"verified_additional_authenticated_data_crc32c": False},
            {"ciphertext": b"another"},
            {"ciphertext": b""},
            {"ciphertext_crc32c": 7},
        ):
            self.kms.fault = altered(**fields)
            with self.subTest(fields):
                self.fails(BadAnswerError, "", lambda: self.source.wrap(DATA_KEY))
        for fields in ({"plaintext": b"another"}, {"plaintext": b""}, {"plaintext_crc32c": 7}):
            self.kms.fault = altered(**fields)
            with self.subTest(fields):
                self.fails(BadAnswerError, "altered", lambda: self.source.unwrap(wrapped))

    def test_lengths_that_no_key_has(self) -> None:
        """Invalid keys are refused before any work is done with them."""
        wrapped = self.source.wrap(DATA_KEY)
        with mock.patch("warpaes.keysources._gcp.crc32c", lambda data: crc32c(data) if len(data) <= 65536 else 1 / 0):
            self.fails(InvalidUnwrap, "has 65537", lambda: self.source.unwrap(bytes(65537)))
            for name, use in (("ciphertext", lambda: self.source.wrap(DATA_KEY)),
                              ("plaintext", lambda: self.source.unwrap(wrapped))):  # fmt: skip

                def longer(answer: Any) -> Any:
                    setattr(answer, name, bytes(65537))  # noqa: B023
                    return answer

                self.kms.fault = longer
                self.fails(BadAnswerError, "altered", use)

    def test_a_proxy_does_not_get_what_is_for_this_machine(self) -> None:
        self.environment(http_proxy=f"http://127.0.0.1:{free_port()}", no_proxy="", NO_PROXY="")
        again = keysources.from_url(self.source.name)
        self.assertEqual(again.unwrap(self.source.wrap(DATA_KEY)), DATA_KEY)

    def test_after_a_fork(self) -> None:
        wrapped = self.source.wrap(DATA_KEY)
        parents = self.source._client.get()  # type: ignore[attr-defined]
        self.assertIs(self.source._client.get(), parents)  # type: ignore[attr-defined]
        with mock.patch("os.getpid", lambda: -1):
            self.assertIsNot(self.source._client.get(), parents)  # type: ignore[attr-defined]
            self.assertEqual(self.source.unwrap(wrapped), DATA_KEY)

    def test_no_server_and_no_credentials(self) -> None:
        away = keysources.from_url(f"gcp-kms+http://127.0.0.1:{free_port()}/{KEY}")
        self.fails(UnavailableError, "encrypt was refused", lambda: away.wrap(DATA_KEY))
        self.environment(GOOGLE_APPLICATION_CREDENTIALS=str(self.folder / "none"))
        real = keysources.from_url(f"gcp-kms://{KEY}")
        self.fails(DeniedError, "none", lambda: real.wrap(DATA_KEY))

    def test_urls(self) -> None:
        for url, words in (
            ("gcp-kms://alias/x", "cryptoKeys/NAME"),
            (f"gcp-kms://{KEY}/cryptoKeyVersions/1", "cryptoKeys/NAME"),
            (f"gcp-kms+http://kms.example/{KEY}", "unencrypted"),
            (f"gcp-kms+http://localhost:1@kms.example:2/{KEY}", "unencrypted"),
            (f"gcp-kms+http://localhost:x/{KEY}", "unencrypted"),
            (f"gcp-kms://{KEY}\n", "cryptoKeys/NAME"),
            (f"gcp-kms://{KEY.replace('/r/', '/r?x/')}", "cryptoKeys/NAME"),
        ):
            self.fails(ValueError, words, lambda: keysources.from_url(url))  # noqa: B023

    def test_checksum(self) -> None:
        self.assertEqual(crc32c(b"123456789"), 0xE3069283)


class _Vault(http.server.BaseHTTPRequestHandler):
    """The keys of a vault. ``fault`` is a status and a response that replace the right response."""

    server: Any

    def log_message(self, *_: Any) -> None:
        """Print nothing."""

    def answer(self, status: int, content: Any, **headers: str) -> None:
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)

    def handle_one(self, body: bytes) -> None:
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import padding

        if "Authorization" not in self.headers:
            challenge = 'Bearer authorization="https://login.microsoftonline.com/t", resource="https://vault.azure.net"'
            self.answer(401, {}, WWW_Authenticate=challenge)
            return
        self.server.requests.append(self.path)
        if self.server.fault is not None:
            status, content, *headers = self.server.fault
            self.answer(status, content, **(headers[0] if headers else {}))
            return
        _, _, name, *rest = self.path.partition("?")[0].split("/")
        version = rest[0] if rest and rest[0] else self.server.newest
        key = self.server.keys.get((name, version))
        kid = f"https://{self.headers['Host']}/keys/{name}/{version}"
        if key is None:
            self.answer(404, {"error": {"code": "KeyNotFound", "message": f"{name} was not found"}})
            return
        oaep = padding.OAEP(padding.MGF1(hashes.SHA256()), hashes.SHA256(), None)
        if self.command == "GET":
            if not self.server.may_get:
                self.answer(403, {"error": {"code": "Forbidden", "message": "no get"}})
                return
            numbers = key.public_key().public_numbers()
            jwk = {
                "kid": kid,
                "kty": "RSA",
                "key_ops": ["wrapKey", "unwrapKey"],
                "e": _url(numbers.e),
                "n": _url(numbers.n),
            }
            self.answer(200, {"key": jwk, "attributes": {"enabled": True}})
            return
        value = json.loads(body)["value"]
        data = base64.urlsafe_b64decode(value + "=" * (-len(value) % 4))
        try:
            result = key.public_key().encrypt(data, oaep) if rest[-1] == "wrapkey" else key.decrypt(data, oaep)
        except ValueError:
            self.answer(400, {"error": {"code": "BadParameter", "message": "cannot be decrypted"}})
            return
        self.answer(200, {"kid": kid, "value": base64.urlsafe_b64encode(result).decode().rstrip("=")})

    def do_GET(self) -> None:
        self.handle_one(b"")

    def do_POST(self) -> None:
        self.handle_one(self.rfile.read(int(self.headers["Content-Length"])))


def _url(number: int) -> str:
    data = number.to_bytes((number.bit_length() + 7) // 8, "big")
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


class _Credential:
    """Replaces azure-identity's credential."""

    def __init__(self) -> None:
        from azure.core.credentials import AccessToken

        self.token = AccessToken("token", int(time.time()) + 3600)

    def get_token(self, *_: Any, **__: Any) -> Any:
        return self.token

    def close(self) -> None:
        """Close nothing."""


class Azure(Sources):
    @classmethod
    def setUpClass(cls) -> None:
        needed("azure.identity")
        needed("azure.keyvault.keys")
        from cryptography.hazmat.primitives.asymmetric import rsa

        cls.keys = [rsa.generate_private_key(65537, 2048) for _ in range(2)]

    def setUp(self) -> None:
        super().setUp()
        from azure.core.pipeline.transport import RequestsTransport

        keys = {("k", "v1"): self.keys[0], ("k", "v2"): self.keys[1]}
        server = served(self, _Vault, fault=None, may_get=True, newest="v1", requests=[], keys=keys)
        self.server = server
        real = RequestsTransport.send

        def send(transport: Any, request: Any, **options: Any) -> Any:
            url = request.url
            request.url = url.replace("https://127.0.0.1", "http://127.0.0.1")  # the server has no certificate
            try:
                return real(transport, request, **options)
            finally:
                request.url = url

        for patch in (
            mock.patch.object(RequestsTransport, "send", send),
            mock.patch("azure.identity.DefaultAzureCredential", _Credential),
        ):
            patch.start()
            self.addCleanup(patch.stop)
        self.url = f"azure-kv://127.0.0.1:{server.server_address[1]}/keys/k"
        self.source = keysources.from_url(self.url)
        self.addCleanup(self.source.close)

    def test_it_works(self) -> None:
        self.works(self.source)
        self.works_by_place(self.url)

    def test_a_client_that_may_not_see_the_public_key(self) -> None:
        self.server.may_get = False
        self.fails(DeniedError, "name a version", lambda: self.source.wrap(DATA_KEY))
        self.works(keysources.from_url(self.url + "/v1"))
        self.assertTrue(any("wrapkey" in path for path in self.server.requests))

    def test_versions(self) -> None:
        old = self.source.wrap(DATA_KEY, b"x")
        self.server.newest = "v2"
        again = keysources.from_url(self.url)
        self.assertEqual(again.unwrap(old, b"x"), DATA_KEY)
        self.assertIn(b'"v2"', again.wrap(DATA_KEY))
        pinned = keysources.from_url(self.url + "/v1")
        self.assertIn(b'"v1"', pinned.wrap(DATA_KEY))
        other = json.loads(old) | {"version": "v2"}
        self.fails(InvalidUnwrap, "", lambda: again.unwrap(json.dumps(other).encode(), b"x"))
        gone = json.loads(old) | {"version": "v3"}
        self.fails(UnknownKeyError, "not found", lambda: again.unwrap(json.dumps(gone).encode(), b"x"))

    def test_wrapped_keys_that_were_altered(self) -> None:
        good = json.loads(self.source.wrap(DATA_KEY, b"x"))
        requests = len(self.server.requests)
        for wrong in (
            {"version": "../../secrets/s"},
            {"version": 7},
            {"version": ""},
            {"key": "!"},
            {"sealed": None},
            {"key": 5},
        ):
            with self.subTest(wrong):
                self.fails(
                    InvalidUnwrap,
                    "altered",
                    lambda: self.source.unwrap(json.dumps(good | wrong).encode(), b"x"),  # noqa: B023
                )
        self.assertEqual(len(self.server.requests), requests, "no request is made for these")
        self.fails(InvalidUnwrap, "", lambda: self.source.unwrap(b"[" * 100_000, b"x"))
        sealed = json.loads(self.source.wrap(bytes(32), b"x"))["sealed"]
        self.fails(InvalidUnwrap, "", lambda: self.source.unwrap(json.dumps(good | {"sealed": sealed}).encode(), b"x"))

    def test_answers_that_hold_a_key_are_not_repeated(self) -> None:
        wrapped = self.source.wrap(DATA_KEY)
        secret = _url(int.from_bytes(os.urandom(32), "big"))
        for status in (200, 400, 500):
            for form in (
                '{"kid": "x", "value": "%s',
                '{"value": "%s"} x',
                '["%s"]',
                '"%s"',
                "<html>%s",
                '{"value": {"%s": 1}}',
            ):
                self.server.fault = (status, (form % secret).encode())
                with self.subTest(form, status=status), self.assertRaises((KeySourceError, InvalidUnwrap)) as raised:
                    keysources.from_url(self.url).unwrap(wrapped)
                self.assertNotIn(secret[:8], str(raised.exception))

    def test_what_a_service_can_send(self) -> None:
        wrapped = self.source.wrap(DATA_KEY)
        self.server.fault = (200, b'{"kid": "x", "value": "' + b"A" * (5 << 20) + b'"}')
        with contextlib.redirect_stderr(io.StringIO()):  # hides the server's messages
            self.fails(BadAnswerError, "longer than 4194304", lambda: keysources.from_url(self.url).unwrap(wrapped))
        place = f"http://127.0.0.1:{self.server.server_address[1]}/keys/other/v1/unwrapkey"
        self.server.fault = (307, {}, {"Location": place})
        before = len(self.server.requests)
        self.fails(KeySourceError, "refused", lambda: keysources.from_url(self.url).unwrap(wrapped))
        self.assertFalse([path for path in self.server.requests[before:] if "other" in path], "not followed")

    def test_versions_in_planted_keys_cost_no_memory_without_a_limit(self) -> None:
        good = json.loads(self.source.wrap(DATA_KEY))
        for i in range(20):
            planted = json.dumps(good | {"version": f"x{i}"}).encode()
            self.fails(UnknownKeyError, "not found", lambda: self.source.unwrap(planted))  # noqa: B023
        self.assertEqual(len(self.source._clients.get()._kept), 16)

    def test_faults(self) -> None:
        wrapped = self.source.wrap(DATA_KEY)

        def error(code: str, inner: str = "") -> dict[str, Any]:
            return {"error": {"code": code, "message": "said", "innererror": {"code": inner}}}

        for status, answer, kind in (
            (403, error("Forbidden", "ForbiddenByPolicy"), DeniedError),
            (403, error("Forbidden", "KeyDisabled"), UnknownKeyError),
            (404, error("KeyNotFound"), UnknownKeyError),
            (429, error("Throttled"), UnavailableError),
            (500, error("Internal"), UnavailableError),
            (200, b'{"kid": "htt', BadAnswerError),
            (200, b"[]", BadAnswerError),
        ):
            self.server.fault = (status, answer)
            with self.subTest(answer=answer):
                self.fails(kind, "azure-kv", lambda: keysources.from_url(self.url).unwrap(wrapped))
        self.server.fault = None
        away = keysources.from_url(f"azure-kv://127.0.0.1:{free_port()}/keys/k")
        self.fails(UnavailableError, "azure-kv", lambda: away.wrap(DATA_KEY))

    def test_urls(self) -> None:
        for url in (
            "azure-kv://",
            "azure-kv://v.vault.azure.net/secrets/k",
            "azure-kv://v.vault.azure.net/keys/k/v/x",
            "azure-kv://me:pw@v.vault.azure.net/keys/k",
            "azure-kv://v.vault.azure.net/keys/k?alg=RSA",
        ):
            self.fails(ValueError, "must be azure-kv", lambda: keysources.from_url(url))  # noqa: B023
        self.fails(ValueError, "RSA-OAEP-256", lambda: keysources.from_url(f"{self.url}?algorithm=RSA1_5"))


del Sources  # only its subclasses contain tests

if __name__ == "__main__":
    unittest.main()
