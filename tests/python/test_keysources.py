#!/usr/bin/env python3
"""Tests key sources with files and programs, moto's KMS, SoftHSM, a simulated TPM, and a small server with Vault's
API."""

from __future__ import annotations

import base64
import contextlib
import http.server
import io
import json
import os
import pathlib
import pickle
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.request
from typing import Any

import warpaes
from support import needed, new_folder, served, set_environment
from warpaes import aead, keysources
from warpaes.exceptions import InvalidTag, InvalidUnwrap, KeysetError
from warpaes.keysources import BadAnswerError, DeniedError, KeySourceError, UnavailableError, UnknownKeyError
from warpaes.keysources.__main__ import main as command

DATA_KEY = bytes(range(32))
# Protobuf messages that are not keysets.
MALFORMED = "07 08 120107 1200 12060a0010011801 0801 000000 120410091801 12030a0107 12020801 08ffffffffffffffffffff01"
SOFTHSM = pathlib.Path("/usr/lib/softhsm/libsofthsm2.so")


def needed_program(name: str, package: str) -> None:
    """Skip the test if a program is missing. In CI, where `tools/setup test` has run, a missing program is a
    failure."""
    if shutil.which(name) is None:
        if os.environ.get("CI") == "true":
            raise RuntimeError(f"{name} is missing")
        raise unittest.SkipTest(f"{name} is missing; a machine with Debian's package {package} runs this test")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Sources(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = new_folder(self)

    def environment(self, **names: str) -> None:
        set_environment(self, **names)

    def fails(self, kind: type[BaseException], words: str, action: Any) -> None:
        with self.assertRaisesRegex(kind, words) as raised:
            action()
        self.assertIs(type(raised.exception), kind, raised.exception)

    def works(self, source: keysources.KeySource) -> bytes:
        """Run the tests that apply to every source."""
        for key in (b"k", DATA_KEY, bytes(4096)):
            for aad in (b"", b"row 7", bytes(range(256))):
                wrapped = source.wrap(key, aad)
                self.assertNotIn(key if len(key) > 1 else b"\0" * 99, wrapped)
                self.assertEqual(source.unwrap(wrapped, aad), key)
        self.assertNotEqual(source.wrap(DATA_KEY), source.wrap(DATA_KEY))
        wrapped = source.wrap(DATA_KEY, b"row 7")
        for aad in (b"", b"row 8"):
            self.fails(InvalidUnwrap, "", lambda: source.unwrap(wrapped, aad))  # noqa: B023
        last = bytes([wrapped[-1] ^ 1]) if wrapped[-1] != ord("=") else b"x"
        for altered in (wrapped[:-1] + last, wrapped[:-1], wrapped[:20], b"", wrapped + b"A"):
            self.fails(InvalidUnwrap, "", lambda: source.unwrap(altered, b"row 7"))  # noqa: B023
        for length in (0, 4097):
            self.fails(ValueError, "1 to 4096 bytes", lambda: source.wrap(bytes(length)))  # noqa: B023
        keyset = warpaes.Keyset.generate()
        keyset.disable(keyset.add("AES128_CTR_HMAC_SHA256_4KB"))
        keyset.destroy(keyset.add("AES128_GCM_HKDF_4KB"))
        text = keysources.write_keyset(keyset, source, b"place")
        self.assertEqual(keysources.read_keyset(text, source, b"place").to_json(), keyset.to_json())
        self.fails(InvalidUnwrap, "", lambda: keysources.read_keyset(text, source, b"another"))
        return text

    def works_by_place(self, url: str) -> None:
        """With a source's URL, a keyset is saved, loaded, pickled and used."""
        place = f"kek={url.replace(';', ';;')};kek-aad=of May;{self.folder}/keyset"
        keyset = warpaes.Keyset.generate()
        keyset.save(place)
        loaded = warpaes.Keyset.load(place)
        self.assertEqual(loaded.to_json(), keyset.to_json())
        self.assertEqual(pickle.loads(pickle.dumps(loaded)).to_json(), keyset.to_json())
        with warpaes.open(self.folder / "sealed", "wb", keyset=place) as file:
            file.write(DATA_KEY)
        with warpaes.open(self.folder / "sealed", keyset=keyset) as opened:
            self.assertEqual(opened.read(), DATA_KEY)
        other = place.replace("of May", "of June")
        self.fails(InvalidUnwrap, "", lambda: warpaes.Keyset.load(other))


class Urls(Sources):
    def test_what_is_none(self) -> None:
        for url in ("", "keyset.json", "http://x", "oci-kms://x"):
            self.fails(ValueError, "key source: must be file:PATH", lambda: keysources.from_url(url))  # noqa: B023
        for url, words in (
            ("exec: ", "must be followed by a command"),
            ("aws-kms://", "must name a key"),
            ("vault-transit://host/transit/NAME", "MOUNT/keys/NAME"),
            ("vault-transit://me:pw@host/transit/keys/NAME", "MOUNT/keys/NAME"),
            ("vault-transit+http://vault.example/transit/keys/NAME", "unencrypted"),
            ("pkcs11:token=a", "object=LABEL"),
            ("pkcs11:token=a;object=b?pin-value=1234", "pin-source"),
            ("pkcs11:token=a;object=b;slot=1", "slot: is not supported"),
            ("tpm2:?pcr=sha256:0&handle=1", "must be tpm2:"),
        ):
            self.fails(ValueError, words, lambda: keysources.from_url(url))  # noqa: B023

    def test_nothing_is_asked_before_it_is_used(self) -> None:
        network = ("aws-kms://alias/no", "vault-transit://no/a/keys/b")
        for url in ("file:no", "exec:false", *network, "pkcs11:token=a;id=%01", "tpm2:"):
            with keysources.from_url(url) as source:
                self.assertTrue(source.name.startswith(url.partition(":")[0]))


class Local(Sources):
    def source(self, content: bytes) -> keysources.KeySource:
        path = self.folder / "kek"
        path.write_bytes(content)
        path.chmod(0o600)
        return keysources.from_url(f"file:{path}")

    def test_every_kind_of_key(self) -> None:
        for content in (keysources.generate_kek(), os.urandom(32), os.urandom(16), DATA_KEY.hex().encode() + b"\n",
                        warpaes.Keyset.generate().to_json()):  # fmt: skip
            self.works(self.source(content))

    def test_a_program(self) -> None:
        self.source(keysources.generate_kek())
        source = keysources.from_url(f"exec:cat {self.folder}/kek")
        self.assertEqual(source.name, "exec:cat")
        self.works(source)
        self.environment(WARPAES_KEYSET="x")
        keysources.from_url(f'exec:test -z "${{WARPAES_KEYSET+x}}" && cat {self.folder}/kek').wrap(DATA_KEY)

    def test_programs_that_fail(self) -> None:
        for text, kind, words in (
            ("false", KeySourceError, "exec:false: failed with exit status 1; its output was not used"),
            ("printf %064d 0; exit 3", KeySourceError, "exit status 3"),
            ("kill -9 $$", KeySourceError, "signal 9"),
            ("yes", KeySourceError, "more than 1048576 bytes"),
            ("echo hello", KeysetError, "exec:echo: is neither"),
            ("true", KeysetError, "exec:true: is neither"),
        ):
            self.fails(kind, words, lambda: keysources.from_url(f"exec:{text}").wrap(DATA_KEY))  # noqa: B023

    def test_files_that_are_no_keys(self) -> None:
        self.fails(UnavailableError, "No such file", lambda: keysources.from_url("file:no").wrap(DATA_KEY))
        for content in (
            b"",
            b"{}",
            b"[]",
            b"7",
            b"\xff",
            b'{"primaryKeyId":1,"key":[]}',
            b'{"encryptedKeyset":""}',
            b"[" * 9999,
        ):
            self.fails(KeysetError, "new-kek", lambda: self.source(content).wrap(DATA_KEY))  # noqa: B023

    def test_rotation(self) -> None:
        """The primary key encrypts, and every enabled key decrypts."""
        first, second = (json.loads(keysources.generate_kek()) for _ in range(2))
        old = self.source(json.dumps(first).encode()).wrap(DATA_KEY, b"aad")
        both = {"primaryKeyId": second["primaryKeyId"], "key": first["key"] + second["key"]}
        source = self.source(json.dumps(both).encode())
        self.assertEqual(source.unwrap(old, b"aad"), DATA_KEY)
        new = source.wrap(DATA_KEY)
        self.assertEqual(new[1:5], second["primaryKeyId"].to_bytes(4, "big"))
        both["key"][0]["status"] = "DISABLED"
        self.fails(
            InvalidUnwrap,
            "the key or the associated data differ",
            lambda: self.source(json.dumps(both).encode()).unwrap(old, b"aad"),
        )
        both["primaryKeyId"] = first["primaryKeyId"]
        self.fails(
            KeysetError,
            "key 1 is its primary key and is not enabled",
            lambda: self.source(json.dumps(both).encode()).wrap(b"x"),
        )

    def test_tink_opens_what_we_wrapped_and_the_reverse(self) -> None:
        needed("tink")
        from tink import aead as tink_aead
        from tink import cleartext_keyset_handle, json_proto_keyset_format, secret_key_access, streaming_aead

        self.assertTrue(cleartext_keyset_handle)
        tink_aead.register()
        streaming_aead.register()
        kek = keysources.generate_kek()
        source = self.source(kek)
        theirs = json_proto_keyset_format.parse(kek.decode(), secret_key_access.TOKEN).primitive(tink_aead.Aead)
        self.assertEqual(theirs.decrypt(source.wrap(DATA_KEY, b"aad"), b"aad"), DATA_KEY)
        self.assertEqual(source.unwrap(theirs.encrypt(DATA_KEY, b"aad"), b"aad"), DATA_KEY)
        keyset = warpaes.Keyset.generate("AES256_GCM_HKDF_4KB")
        keyset.rotate("AES128_CTR_HMAC_SHA256_4KB")
        handle = json_proto_keyset_format.parse_encrypted(
            keysources.write_keyset(keyset, source, b"aad").decode(), theirs, b"aad"
        )
        again = json_proto_keyset_format.serialize_encrypted(handle, theirs, b"aad")
        opened = keysources.read_keyset(again, source, b"aad")
        self.assertEqual(opened.to_json(), keyset.to_json())
        sealed = io.BytesIO()
        with warpaes.open(sealed, "wb", keyset=opened, associated_data=b"x") as file:
            file.write(b"text" * 5000)
        primitive = handle.primitive(streaming_aead.StreamingAead)
        with primitive.new_decrypting_stream(io.BytesIO(sealed.getvalue()), b"x") as stream:
            self.assertEqual(stream.read(), b"text" * 5000)

    def test_keysets_that_are_none(self) -> None:
        source = self.source(keysources.generate_kek())
        for text in (b"", b"{}", b"[]", b'{"encryptedKeyset":"%"}', b'{"encryptedKeyset":7}', b"[" * 9999):
            self.fails(KeysetError, "encrypted keyset", lambda: keysources.read_keyset(text, source))  # noqa: B023
        for message in MALFORMED.split():
            sealed = base64.b64encode(source.wrap(bytes.fromhex(message))).decode()
            with self.assertRaises(KeysetError):
                keysources.read_keyset(json.dumps({"encryptedKeyset": sealed}), source)

    def test_the_command(self) -> None:
        """Includes `warpaes -k exec:` with this command, as docs/keys.md describes."""
        kek, wrapped, clear = (str(self.folder / name) for name in ("kek", "wrapped", "clear"))
        self.assertEqual(command(["new-kek", "-o", kek]), 0)
        self.assertEqual(os.stat(kek).st_mode & 0o777, 0o600)
        self.assertEqual(command(["new", f"file:{kek}", "--aad", "backup", "-o", wrapped]), 0)
        with contextlib.redirect_stderr(io.StringIO()) as said:
            self.assertEqual(command(["open", f"file:{kek}", wrapped, "-o", clear]), 22)
            self.assertEqual(command(["open", f"file:{kek}", "--aad", "backup", wrapped, "-o", kek]), 17)
            self.assertEqual(command(["open", "file:no", "--aad", "backup", wrapped, "-o", clear]), 19)
            self.assertEqual(command(["open", f"file:{kek}", "no", "-o", clear]), 16)
            self.assertEqual(command(["open", "gcp:x", wrapped, "-o", clear]), 2)
            self.assertEqual(command(["open", f"file:{kek}", kek, "-o", clear]), 23)
        self.assertEqual(said.getvalue().count("\nwarpaes: "), 5)
        self.assertEqual(sorted(os.listdir(self.folder)), ["kek", "wrapped"])
        program = pathlib.Path(warpaes.__file__).parent / "bin" / "warpaes"
        if not program.exists():
            self.skipTest("the package was built without the command; a package with the command runs this test")
        keys = f"exec:{sys.executable} -B -m warpaes.keysources open file:{kek} --aad backup {wrapped}"
        sealed = subprocess.run([program, "encrypt", "-k", keys], input=b"text", capture_output=True, check=True).stdout
        self.assertEqual(command(["open", f"file:{kek}", "--aad", "backup", wrapped, "-o", clear]), 0)
        keyset = warpaes.Keyset.parse(pathlib.Path(clear).read_bytes())
        self.assertEqual(warpaes.open(sealed, keyset=keyset).read(), b"text")
        self.assertEqual(command(["wrap", f"file:{kek}", clear, "-o", f"{wrapped}2"]), 0)

    def test_the_program_takes_the_same_keys(self) -> None:
        """The command and the package open each other's wrapped keysets and refuse the same invalid keysets."""
        program = pathlib.Path(warpaes.__file__).parent / "bin" / "warpaes"
        if not program.exists():
            self.skipTest("the package was built without the command; a package with the command runs this test")

        def run(*arguments: str) -> int:
            return subprocess.run([program, *arguments], cwd=self.folder, capture_output=True).returncode

        several = json.loads(keysources.generate_kek())
        several["key"] = [json.loads(keysources.generate_kek())["key"][0] | {"status": "DISABLED"}, *several["key"]]
        digits = DATA_KEY.hex().encode()
        good = [keysources.generate_kek(), json.dumps(several).encode(), DATA_KEY, DATA_KEY[:16], digits, digits[:32],
                b"\t\x0b " + digits.upper() + b"\x0c\r\n", b" " + DATA_KEY[:31], b"{" + DATA_KEY[:15]]  # fmt: skip
        for number, kek in enumerate(good):
            source = self.source(kek)
            keyset = warpaes.Keyset.generate()
            ours, theirs = self.folder / f"ours{number}", self.folder / f"theirs{number}"
            ours.write_bytes(keysources.write_keyset(keyset, source, b"aad"))
            self.assertEqual(run("keys", "add", "--kek", "kek", "--kek-aad", "aad", ours.name), 0, kek)
            self.assertEqual(len(keysources.read_keyset(ours.read_bytes(), source, b"aad").keys()), 2)
            self.assertEqual(run("keys", "add", "--kek", "kek", ours.name), 22)
            self.assertEqual(run("keygen", "--kek", "kek", "-o", theirs.name), 0)
            self.assertEqual(len(keysources.read_keyset(theirs.read_bytes(), source).keys()), 1)
            self.fails(InvalidUnwrap, "", lambda: keysources.read_keyset(theirs.read_bytes(), source, b"x"))  # noqa: B023
        for kek in (b"", DATA_KEY + b"\n", digits[:31], digits + b"0", b"{}", b"[" * 99, b"0x" + digits, DATA_KEY[:24]):
            self.fails(KeysetError, "", lambda: self.source(kek).wrap(DATA_KEY))  # noqa: B023
            self.assertEqual(run("keygen", "--kek", "kek", "-o", "none"), 23, kek)


class _Vault(http.server.BaseHTTPRequestHandler):
    """The part of transit's documented API that warpaes uses."""

    server: Any

    def log_message(self, *_: Any) -> None:
        pass

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        status, answer = self.server.fault or self._carry_out(json.loads(body))
        sent = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status or 200)
        self.send_header("Content-Length", str(len(sent) * (1 if status else 2)))
        self.end_headers()
        self.wfile.write(sent)
        self.close_connection = True

    def _carry_out(self, body: dict[str, str]) -> tuple[int, Any]:
        if self.headers["X-Vault-Token"] != "right":
            return 403, {"errors": ["permission denied"]}
        mount, _, rest = self.path.removeprefix("/v1/").partition("/")
        operation, _, name = rest.partition("/")
        if mount != "transit" or operation not in ("encrypt", "decrypt"):
            return 404, {"errors": ["no handler for route"]}
        if name != "kek":
            return 400, {"errors": ["encryption key not found"]}
        cipher = aead.AESGCM(bytes(32))
        aad = base64.b64decode(body.get("associated_data", ""))
        if operation == "encrypt":
            nonce = os.urandom(12)
            sealed = nonce + cipher.encrypt(nonce, base64.b64decode(body["plaintext"]), aad)
            return 200, {"data": {"ciphertext": "vault:v1:" + base64.b64encode(sealed).decode(), "key_version": 1}}
        try:
            sealed = base64.b64decode(body["ciphertext"].removeprefix("vault:v1:"), validate=True)
            opened = cipher.decrypt(sealed[:12], sealed[12:], aad)
        except (ValueError, InvalidTag):
            return 400, {"errors": ["cipher: message authentication failed"]}
        return 200, {"data": {"plaintext": base64.b64encode(opened).decode()}}


class Vault(Sources):
    def setUp(self) -> None:
        super().setUp()
        server = self.server = served(self, _Vault, fault=None)
        self.url = f"vault-transit+http://127.0.0.1:{server.server_address[1]}/transit/keys/kek"
        self.source = keysources.from_url(self.url)
        self.environment(VAULT_TOKEN="right", HOME=str(self.folder))

    def test_it_works(self) -> None:
        self.works(self.source)
        self.works_by_place(self.url)
        self.assertTrue(self.source.wrap(DATA_KEY).startswith(b"vault:v1:"))
        (self.folder / ".vault-token").write_text("right\n")
        (self.folder / ".vault-token").chmod(0o600)
        self.environment(VAULT_TOKEN="")
        self.source.wrap(DATA_KEY)

    def test_it_refuses(self) -> None:
        self.fails(UnknownKeyError, "not found", lambda: keysources.from_url(self.url + "2").wrap(DATA_KEY))
        self.fails(InvalidUnwrap, "is not from Vault", lambda: self.source.unwrap(b"\xff"))
        self.environment(VAULT_TOKEN="wrong")
        self.fails(DeniedError, "permission denied", lambda: self.source.wrap(DATA_KEY))
        self.environment(VAULT_TOKEN="")
        self.fails(DeniedError, "no token", lambda: self.source.wrap(DATA_KEY))

    def test_faults(self) -> None:
        wrapped = self.source.wrap(DATA_KEY)
        for fault, kind, words in (
            ((503, {"errors": ["Vault is sealed"]}), UnavailableError, "503.*sealed"),
            ((500, b"<html>"), KeySourceError, "500"),
            ((0, b'{"data":'), BadAnswerError, "truncated after 8 bytes"),
            ((200, b'{"data":'), BadAnswerError, "not JSON"),
            ((200, {"data": {}}), BadAnswerError, "has no plaintext"),
            ((200, {"data": {"plaintext": "%"}}), BadAnswerError, "not base64"),
            ((200, []), BadAnswerError, "has no plaintext"),
        ):
            self.server.fault = fault
            self.fails(kind, words, lambda: self.source.unwrap(wrapped))
        self.server.shutdown()
        self.server.server_close()
        self.fails(UnavailableError, "cannot reach", lambda: self.source.wrap(DATA_KEY))


class AwsKms(Sources):
    server: Any

    @classmethod
    def setUpClass(cls) -> None:
        needed("boto3")
        server = needed("moto.server")
        cls.server = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        cls.server.start()
        cls.addClassCleanup(cls.server.stop)

    def setUp(self) -> None:
        super().setUp()
        import boto3

        address, port = self.server.get_host_and_port()
        self.endpoint = f"http://{address}:{port}"
        self.environment(
            AWS_ENDPOINT_URL=self.endpoint,
            AWS_ACCESS_KEY_ID="id",
            AWS_SECRET_ACCESS_KEY="secret",
            AWS_DEFAULT_REGION="eu-west-1",
            AWS_MAX_ATTEMPTS="1",
            AWS_EC2_METADATA_DISABLED="true",
            AWS_CONFIG_FILE=str(self.folder / "none"),
            AWS_SHARED_CREDENTIALS_FILE=str(self.folder / "none"),
        )
        self.kms = boto3.client("kms")
        self.arn = self.kms.create_key()["KeyMetadata"]["Arn"]
        self.source = keysources.from_url(f"aws-kms://{self.arn}")

    def test_it_works(self) -> None:
        self.works(self.source)
        self.works_by_place(self.source.name)
        self.kms.create_alias(AliasName="alias/kek", TargetKeyId=self.arn)
        alias = keysources.from_url("aws-kms://alias/kek")
        self.assertEqual(self.source.unwrap(alias.wrap(DATA_KEY)), DATA_KEY)

    def test_tink_s_own_client_opens_it_and_the_reverse(self) -> None:
        needed("tink")
        from tink import json_proto_keyset_format, streaming_aead
        from tink.integration import awskms

        streaming_aead.register()
        theirs = awskms.new_client(boto3_client=self.kms).get_aead(self.source.name)
        keyset = warpaes.Keyset.generate("AES256_GCM_HKDF_4KB")
        for aad in (b"", b"backup"):
            text = keysources.write_keyset(keyset, self.source, aad).decode()
            handle = json_proto_keyset_format.parse_encrypted(text, theirs, aad)
            again = json_proto_keyset_format.serialize_encrypted(handle, theirs, aad)
            self.assertEqual(keysources.read_keyset(again, self.source, aad).to_json(), keyset.to_json())

    def test_it_refuses(self) -> None:
        wrapped = self.source.wrap(DATA_KEY)
        other = keysources.from_url(f"aws-kms://{self.kms.create_key()['KeyMetadata']['Arn']}")
        with self.assertRaises((InvalidUnwrap, DeniedError)):
            if other.unwrap(wrapped) == DATA_KEY:  # moto does not check KeyId, but AWS does
                raise InvalidUnwrap
        unknown = keysources.from_url(self.source.name[:-12] + "0" * 12)
        self.fails(UnknownKeyError, "NotFoundException", lambda: unknown.wrap(DATA_KEY))
        self.authenticate("0")
        self.addCleanup(self.authenticate, "inf")
        self.fails(DeniedError, "encrypt was refused: ", lambda: self.source.wrap(DATA_KEY))

    def authenticate(self, after: str) -> None:
        """Make moto check the caller's identity after this number of requests."""
        request = urllib.request.Request(
            f"{self.endpoint}/moto-api/reset-auth", after.encode(), {"Content-Type": "text/plain"}
        )
        with urllib.request.urlopen(request) as answer:
            self.assertEqual(answer.status, 200)

    def test_no_credentials(self) -> None:
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            del os.environ[name]
        self.fails(DeniedError, "credentials", lambda: self.source.wrap(DATA_KEY))

    def answered(self, status: int, answer: Any) -> None:
        """Create a source whose server gives this response."""
        server = served(self, _Vault, fault=(status, answer))
        self.environment(AWS_ENDPOINT_URL=f"http://127.0.0.1:{server.server_address[1]}")
        self.source = keysources.from_url(f"aws-kms://{self.arn}")

    def test_faults(self) -> None:
        for status, answer, kind, words in (
            (400, {"__type": "AccessDeniedException", "message": "no"}, DeniedError, "AccessDeniedException: no"),
            (400, {"__type": "ExpiredTokenException"}, DeniedError, "ExpiredTokenException"),
            (400, {"__type": "DisabledException"}, UnknownKeyError, "DisabledException"),
            (400, {"__type": "KMSInvalidStateException"}, UnknownKeyError, "KMSInvalidState"),
            (400, {"__type": "IncorrectKeyException"}, InvalidUnwrap, "IncorrectKey"),
            (500, {"__type": "KMSInternalException"}, UnavailableError, "KMSInternal"),
            (200, b'{"CiphertextBlob": "AAAA', BadAnswerError, "aws-kms"),
            (200, {"other": 1}, BadAnswerError, "aws-kms"),
            (0, b'{"CiphertextBlob": "AA', BadAnswerError, "aws-kms"),
        ):
            self.answered(status, answer)
            with self.subTest(answer), self.assertRaisesRegex(kind, words):  # type: ignore[arg-type]
                self.source.wrap(DATA_KEY)
        self.environment(AWS_ENDPOINT_URL=f"http://127.0.0.1:{free_port()}")
        self.fails(UnavailableError, "connect", lambda: keysources.from_url(self.source.name).wrap(DATA_KEY))


class Pkcs11(Sources):
    folder_of_tokens: tempfile.TemporaryDirectory[str]

    @classmethod
    def setUpClass(cls) -> None:
        pkcs11 = needed("pkcs11")
        needed_program("softhsm2-util", "softhsm2")
        cls.folder_of_tokens = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder_of_tokens.cleanup)
        config = pathlib.Path(cls.folder_of_tokens.name) / "softhsm2.conf"
        config.write_text(f"directories.tokendir = {cls.folder_of_tokens.name}\nlog.level = ERROR\n")
        os.environ["SOFTHSM2_CONF"] = str(config)
        for label in ("kek token", "other"):
            init = ["softhsm2-util", "--init-token", "--free", "--label", label, "--so-pin", "0000", "--pin", "1234"]
            subprocess.run(init, check=True, capture_output=True)
        with pkcs11.lib(str(SOFTHSM)).get_token(token_label="kek token").open(rw=True, user_pin="1234") as session:
            for number, label in enumerate(("kek", "twice", "twice")):
                session.generate_key(pkcs11.KeyType.AES, 256, label=label, id=bytes([number + 1]), store=True)

    def setUp(self) -> None:
        super().setUp()
        self.environment(WARPAES_PKCS11_PIN="1234", WARPAES_PKCS11_MODULE=str(SOFTHSM))

    def test_it_works(self) -> None:
        source = keysources.from_url("pkcs11:token=kek%20token;object=kek")
        self.works(source)
        self.works_by_place(source.name)
        (self.folder / "pin").write_text("1234\n")
        (self.folder / "pin").chmod(0o600)
        del os.environ["WARPAES_PKCS11_PIN"], os.environ["WARPAES_PKCS11_MODULE"]
        same = f"pkcs11:token=kek%20token;id=%01?module-path={SOFTHSM}&pin-source=file:{self.folder}/pin"
        self.assertEqual(
            keysources.from_url(same).unwrap(source_wrapped := keysources.from_url(same).wrap(b"key")), b"key"
        )
        other = keysources.from_url(same.replace("%01", "%02"))
        self.fails(InvalidUnwrap, "the key or the associated data differ", lambda: other.unwrap(source_wrapped))

    def test_several_sources_at_once(self) -> None:
        """The sources share a token, with one login per process."""
        failed: list[Exception] = []

        def work() -> None:
            try:
                source = keysources.from_url("pkcs11:token=kek%20token;object=kek")
                for _ in range(20):
                    if source.unwrap(source.wrap(DATA_KEY, b"aad"), b"aad") != DATA_KEY:
                        raise AssertionError
            except Exception as error:
                failed.append(error)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failed, [])

    def test_it_refuses(self) -> None:
        def wrap(url: str) -> None:
            keysources.from_url(url).wrap(DATA_KEY)

        kek = "pkcs11:token=kek%20token;object=kek"
        self.fails(UnknownKeyError, "does not have this AES key", lambda: wrap("pkcs11:token=other;object=kek"))
        self.fails(UnknownKeyError, "several", lambda: wrap("pkcs11:token=kek%20token;object=twice"))
        self.fails(UnavailableError, "token was not found", lambda: wrap("pkcs11:token=gone;object=kek"))
        self.fails(UnavailableError, "cannot load", lambda: wrap(f"{kek}?module-path=/no.so"))
        self.fails(UnavailableError, "cannot read", lambda: wrap(f"{kek}?pin-source=file:/no"))
        self.fails(DeniedError, "no PIN", lambda: wrap(f"{kek}?pin-source=env:NO_SUCH_PIN"))
        self.environment(WARPAES_PKCS11_PIN="4321")
        self.fails(DeniedError, "PIN is wrong", lambda: wrap(kek))
        del os.environ["WARPAES_PKCS11_MODULE"]
        self.fails(UnavailableError, "no module", lambda: wrap(kek))


class Tpm2(Sources):
    def setUp(self) -> None:
        super().setUp()
        needed_program("swtpm", "swtpm")
        needed_program("tpm2", "tpm2-tools")
        self.url = f"tpm2:?flush=yes&tcti=swtpm:port={self.start('one')}"

    def start(self, name: str) -> int:
        """Start swtpm. Its control channel needs the next port, which may already be in use."""
        state = self.folder / name
        state.mkdir()
        for _ in range(10):
            port = free_port()
            tpm = subprocess.Popen(
                ["swtpm", "socket", "--tpm2", "--tpmstate", f"dir={state}", "--server", f"type=tcp,port={port}",
                 "--ctrl", f"type=tcp,port={port + 1}", "--flags", "not-need-init,startup-clear"],
                stderr=subprocess.DEVNULL,
            )  # fmt: skip
            self.addCleanup(tpm.wait)
            self.addCleanup(tpm.kill)
            while tpm.poll() is None:
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port + 1)) == 0 and tpm.poll() is None:
                        return port
                time.sleep(0.01)
        raise AssertionError("swtpm does not start")

    def tpm(self, *arguments: str) -> None:
        tcti = {"TPM2TOOLS_TCTI": self.url.partition("tcti=")[2]}
        subprocess.run(["tpm2", *arguments], env=os.environ | tcti, check=True, capture_output=True)

    def test_it_works(self) -> None:
        self.works(keysources.from_url(self.url))
        self.works_by_place(self.url)

    def test_another_machine(self) -> None:
        wrapped = keysources.from_url(self.url).wrap(DATA_KEY)
        other = keysources.from_url(f"tpm2:?flush=yes&tcti=swtpm:port={self.start('two')}")
        self.fails(InvalidUnwrap, "the machine or its state differs", lambda: other.unwrap(wrapped))
        self.fails(InvalidUnwrap, "was created by another source", lambda: other.unwrap(b"warpaes-tpm2-1\n\xff\xff"))

    def test_another_state(self) -> None:
        source = keysources.from_url(self.url + "&pcr=sha256:0,16")
        wrapped = source.wrap(DATA_KEY, b"aad")
        self.assertEqual(source.unwrap(wrapped, b"aad"), DATA_KEY)
        with self.assertRaises(InvalidUnwrap):  # the TPM enforces the policy, and the source must apply the policy
            keysources.from_url(self.url).unwrap(wrapped, b"aad")
        self.tpm("pcrextend", "16:sha256=" + "1" * 64)
        self.fails(InvalidUnwrap, "state", lambda: source.unwrap(wrapped, b"aad"))

    def test_no_tpm(self) -> None:
        gone = keysources.from_url(f"tpm2:?tcti=swtpm:port={free_port()}")
        self.fails(UnavailableError, "check that a TPM exists", lambda: gone.wrap(DATA_KEY))


if __name__ == "__main__":
    unittest.main()
