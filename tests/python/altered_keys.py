"""Alters keysets, wrapped keys, and letters under QKD keys."""

from __future__ import annotations

import base64
import io
import json
import pathlib
import random
from collections.abc import Callable, Iterator
from typing import Any

import warpaes
from alterations import Altered, Format, Give, Part, Reader, fields
from altered_files import SHA256, SHA512, entry, field
from warpaes import Keyset, exceptions, keysources, keywrap, qkd
from warpaes.keysources import _tink, _tpm2

AAD = b"associated data"


def two_keys(seed: int) -> bytes:
    """Return an unencrypted keyset with a key of each type. For seed 1, the keys' IDs are 7 and 8."""
    draw = random.Random(seed)
    gcm = field(1, 4096) + field(2, 16) + field(3, SHA256)
    hmac = field(1, 4096) + field(2, 32) + field(3, SHA512) + field(4, field(1, SHA256) + field(2, 32))
    keys = [
        entry(2 * seed + 5, "AesGcmHkdfStreamingKey", gcm, draw.randbytes(16)),
        entry(2 * seed + 6, "AesCtrHmacStreamingKey", hmac, draw.randbytes(32)),
    ]
    return Keyset.parse(json.dumps({"primaryKeyId": 2 * seed + 5, "key": keys})).to_json()


def secret_of(key: dict[str, Any]) -> bytes:
    """Return the secret of a key in Tink's JSON without its parameters."""
    value = base64.b64decode(key["keyData"]["value"])
    return dict(_tink.fields(value)).get(3, b"")  # type: ignore[return-value]


SAME_KEYS = "the same keys"
VICTIMS = "the victim's keys, with other numbers, states or parameters"


class ClearKeyset(Format):
    """An unencrypted keyset, which is not authenticated. An altered keyset is refused, or its new keys do not open the
    victim's files."""

    name = "keyset in clear"
    refusals = (exceptions.KeysetError,)
    verdicts = {  # noqa: RUF012
        SAME_KEYS: "white space, escapes and base64 that mean the same",
        VICTIMS: "opens files only with the victim's keys",
        "other keys, which open nothing": "an unencrypted keyset is only as trustworthy as its storage",
    }
    stands_alone = True

    def __init__(self, folder: pathlib.Path) -> None:
        super().__init__(folder)
        self.first, self.second = two_keys(1), two_keys(2)
        self.keyset = Keyset.parse(self.first)
        self.files = []
        for number in (7, 8):
            self.keyset.promote(number)
            out = io.BytesIO()
            with warpaes.open(out, "wb", keyset=self.keyset) as file:
                file.write(b"a victim's secret")
            self.files.append(out.getvalue())
        self.secrets = [secret_of(key) for key in json.loads(self.first)["key"]]

    def authentic(self) -> tuple[bytes, bytes]:
        return self.first, self.second

    def plain(self) -> bytes:
        return self.first

    def more(self, first: bytes, second: bytes) -> Iterator[Altered]:
        return fields(first, second)

    def parse(self, content: bytes, give: Give) -> str | None:
        keyset = Keyset.parse(content)
        text = keyset.to_json()
        if text == self.first:
            give(0, text)
            return SAME_KEYS
        kept = [key for key in json.loads(text)["key"] if "keyData" in key]
        new = [
            {**key, "keyId": number, "status": "ENABLED"}
            for number, key in enumerate(kept, 1)
            if secret_of(key) not in self.secrets
        ]
        if not new:
            return VICTIMS
        try:
            others = Keyset.parse(json.dumps({"primaryKeyId": 1, "key": [{**key, "keyId": 1} for key in new[:1]]}))
        except exceptions.KeysetError:
            return "other keys, which open nothing"  # warpaes preserves this key type but does not use it
        for sealed in self.files:
            try:
                with warpaes.open(sealed, keyset=others) as file:
                    return f"opened a victim's file: {file.read()!r}"
            except (exceptions.InvalidTag, exceptions.FormatError):
                pass
        return "other keys, which open nothing"

    def readers(self) -> dict[str, Reader]:
        return {"Keyset.parse": self.parse}


class ClearKek(Format):
    """An unencrypted key-encryption key that a key source reads."""

    refusals = (exceptions.KeysetError, exceptions.InvalidUnwrap)
    verdicts = {SAME_KEYS: "another text of the same key"}  # noqa: RUF012

    def __init__(self, folder: pathlib.Path, name: str, make: Callable[[], bytes]) -> None:
        super().__init__(folder)
        self.name = name
        self.first, self.second = make(), make()
        self.wrapped = self.source(self.first).wrap(bytes(range(32)), AAD)

    def source(self, content: bytes) -> keysources.LocalSource:
        return keysources.LocalSource("test", lambda: content)

    def authentic(self) -> tuple[bytes, bytes]:
        return self.first, self.second

    def plain(self) -> bytes:
        return bytes(range(32))

    def more(self, first: bytes, second: bytes) -> Iterator[Altered]:
        return fields(first, second) if first.startswith(b"{") else iter(())

    def unwrap(self, content: bytes, give: Give) -> str | None:
        give(0, self.source(content).unwrap(self.wrapped, AAD))
        return SAME_KEYS

    def readers(self) -> dict[str, Reader]:
        return {"LocalSource.unwrap": self.unwrap}


def _seal_under(source: keysources.KeySource, text: bytes) -> bytes:
    return keysources.write_keyset(Keyset.parse(text), source, AAD)


class WrappedKeyset(Format):
    """A keyset that a key source encrypted. The ciphertext is authenticated. The JSON around the ciphertext repeats
    parts of its content."""

    refusals = (exceptions.KeysetError, exceptions.InvalidUnwrap)
    verdicts = {SAME_KEYS: "equivalent JSON around the ciphertext"}  # noqa: RUF012

    def __init__(self, folder: pathlib.Path, name: str, kek: bytes) -> None:
        super().__init__(folder)
        self.name, self.kek = f"keyset under {name}", kek
        self.source = keysources.LocalSource("test", lambda: kek)
        self.text = two_keys(1)
        self._authentic = _seal_under(self.source, self.text), _seal_under(self.source, two_keys(2))

    def authentic(self) -> tuple[bytes, bytes]:
        return self._authentic

    def plain(self) -> bytes:
        return self.text

    def more(self, first: bytes, second: bytes) -> Iterator[Altered]:
        return fields(first, second)

    def read(self, content: bytes, give: Give) -> str | None:
        give(0, keysources.read_keyset(content, self.source, AAD).to_json())
        return SAME_KEYS

    def readers(self) -> dict[str, Reader]:
        return {"read_keyset": self.read}


class KeysetMessage(Format):
    """Tink's binary keyset. Only the holder of the key-encryption key can alter it."""

    name = "binary keyset, wrapped again after it was altered"
    refusals = (exceptions.KeysetError,)
    verdicts = ClearKeyset.verdicts

    def __init__(self, folder: pathlib.Path) -> None:
        super().__init__(folder)
        self.clear = ClearKeyset(folder)
        kek = bytes(range(32))
        self.source = keysources.LocalSource("test", lambda: kek)
        self._authentic = self.message(self.clear.first), self.message(self.clear.second)

    def message(self, text: bytes) -> bytes:
        wrapped = json.loads(_seal_under(self.source, text))["encryptedKeyset"]
        return self.source.unwrap(base64.b64decode(wrapped), AAD)

    def authentic(self) -> tuple[bytes, bytes]:
        return self._authentic

    def plain(self) -> bytes:
        return self.clear.first

    def read(self, content: bytes, give: Give) -> str | None:
        if not content:
            raise exceptions.KeysetError("key sources do not wrap empty keys")
        if len(content) > 4096:
            raise exceptions.KeysetError("key sources do not wrap keys of this length")
        sealed = base64.b64encode(self.source.wrap(content, AAD)).decode()
        found = json.loads(_seal_under(self.source, self.clear.first))
        text = json.dumps({**found, "encryptedKeyset": sealed})
        return self.clear.parse(keysources.read_keyset(text, self.source, AAD).to_json(), give)

    def readers(self) -> dict[str, Reader]:
        return {"read_keyset": self.read}


class Wrapped(Format):
    """A wrapped key, as its source returns it."""

    refusals = (exceptions.InvalidUnwrap,)

    def __init__(
        self, folder: pathlib.Path, name: str, wrap: Callable[[bytes], bytes], unwrap: Callable[[bytes], bytes]
    ) -> None:
        super().__init__(folder)
        self.name, self._unwrap = name, unwrap
        self._authentic = wrap(bytes(range(32))), wrap(bytes(range(32, 64)))

    def authentic(self) -> tuple[bytes, bytes]:
        return self._authentic

    def plain(self) -> bytes:
        return bytes(range(32))

    def parts(self, content: bytes) -> list[Part]:
        return [Part("piece", at, min(at + 4, len(content))) for at in range(0, len(content), 4)]

    def unwrap(self, content: bytes, give: Give) -> None:
        give(0, self._unwrap(content))

    def readers(self) -> dict[str, Reader]:
        return {"unwrap": self.unwrap}


class _FakeTpm(_tpm2.Tpm2Source):
    """A fake TPM that keeps sealed data in a table and opens only its own objects."""

    def __init__(self) -> None:
        super().__init__("tpm2:")
        self._sealed: dict[bytes, bytes] = {}
        self._loaded = b""

    def _tpm(self, *arguments: str, stdin: bytes | None = None) -> bytes:
        named = dict(zip(arguments, arguments[1:]))
        if arguments[0] == "create":
            draw = random.Random(len(self._sealed))
            parts = [draw.randbytes(78), draw.randbytes(158)]
            self._sealed[b"".join(parts)] = stdin or b""
            for option, part in zip(("-u", "-r"), parts):
                pathlib.Path(named[option]).write_bytes(part)
        elif arguments[0] == "load":
            self._loaded = b"".join(pathlib.Path(named[option]).read_bytes() for option in ("-u", "-r"))
            if self._loaded not in self._sealed:
                raise keysources.KeySourceError("tpm2: the TPM does not load it")
        elif arguments[0] == "unseal":
            return self._sealed[self._loaded]
        return b""


class _Kme:
    """A key-management entity in this process, which gives each key to the receiver only once."""

    address = "https://kme"

    def __init__(self) -> None:
        self.made: dict[str, qkd.QkdKey] = {}
        self.fetched: set[str] = set()

    def status(self, sae: str) -> qkd.Status:
        return qkd.Status("A", "B", "alice", sae, 256, 9, 9, 9, 1024, 256)

    def new_keys(self, sae: str, number: int = 1, size: int = 256) -> list[qkd.QkdKey]:
        draw = random.Random(len(self.made))
        key = qkd.QkdKey(f"key-{len(self.made)}", draw.randbytes(size // 8))
        self.made[key.key_id] = key
        return [key]

    def keys(self, sae: str, key_ids: list[str], size: int | None = None) -> list[qkd.QkdKey]:
        found = [self.made[key_id] for key_id in key_ids if key_id in self.made and key_id not in self.fetched]
        if len(found) != len(key_ids) or any(size not in (None, len(key.key) * 8) for key in found):
            raise keysources.UnknownKeyError("KME: refuses dec_keys (400): one or more keys are not found")
        self.fetched.update(key_ids)
        return found


class Letter(Format):
    """A file under a QKD key, with the header line in a sidecar or in the same stream. The genuine file must still open
    after an altered file was refused."""

    refusals = (
        exceptions.InvalidTag,
        exceptions.FormatError,
        keysources.UnknownKeyError,
        keysources.DeniedError,
    )

    def __init__(self, folder: pathlib.Path, what: str) -> None:
        """``what`` names the part to alter: the sidecar, the body or the stream."""
        super().__init__(folder)
        self.name, self.what = f"QKD letter: the {what}", what
        self.stands_alone = what == "stream"
        self.kme: Any = _Kme()
        self.text = random.Random(3).randbytes(200)
        self.sealed, self.target, self.state = folder / "letter", folder / "opened", folder / "state"
        self.state.mkdir(mode=0o700, exist_ok=True)
        made = []
        for number, text in enumerate((self.text, bytes(200))):
            if what == "stream":
                out = io.BytesIO()
                qkd.send_stream(self.kme, "bob", io.BytesIO(text), out)
                made.append(out.getvalue())
                continue
            plain, sealed = folder / f"plain {number}", folder / f"letter {number}"
            plain.write_bytes(text)
            qkd.send(self.kme, "bob", plain, sealed)
            made.append((qkd.sidecar_of(sealed) if what == "sidecar" else sealed).read_bytes())
            if number == 0:
                self.line, self.body = qkd.sidecar_of(sealed).read_bytes(), sealed.read_bytes()
        self._authentic = made[0], made[1]

    def authentic(self) -> tuple[bytes, bytes]:
        return self._authentic

    def plain(self) -> bytes:
        return self.text

    def parts(self, content: bytes) -> list[Part]:
        begin = content.index(b"\n") + 1 if self.what == "stream" else 0
        line = [Part("line", 0, begin)] if begin else []
        if self.what == "sidecar":
            return []
        return [
            *line,
            Part("header", begin, begin + 40),
            Part("segment", begin + 40, len(content)),
            Part("tag", len(content) - 16, len(content)),
        ]

    def more(self, first: bytes, second: bytes) -> Iterator[Altered]:
        if self.what == "body":
            return
        end = first.index(b"\n")
        yield from fields(
            first, second, lambda content: json.loads(content.splitlines()[0]), lambda text: text + first[end:]
        )

    def receive(self, content: bytes, give: Give) -> None:
        self.sealed.write_bytes(content if self.what == "body" else self.body)
        qkd.sidecar_of(self.sealed).write_bytes(content if self.what == "sidecar" else self.line)
        self.target.unlink(missing_ok=True)
        before = sorted(self.folder.iterdir())
        try:
            qkd.receive(self.kme, "alice", self.sealed, self.target, state=self.state)
        except BaseException:
            if sorted(self.folder.iterdir()) != before:
                raise AssertionError("receive left a file behind") from None
            raise
        give(0, self.target.read_bytes())

    def receive_stream(self, content: bytes, give: Give) -> None:
        out = io.BytesIO()
        try:
            qkd.receive_stream(self.kme, "alice", io.BytesIO(content), out, state=self.state)
        finally:
            give(0, out.getvalue())

    def read(self, content: bytes, give: Give) -> None:
        receive = self.receive_stream if self.what == "stream" else self.receive
        self.kme.fetched.clear()
        try:
            receive(content, give)
        except BaseException:
            opened: list[bytes] = []
            receive(self._authentic[0], lambda _, data: opened.append(data))
            if opened != [self.text]:
                raise AssertionError("the genuine letter does not open after this one") from None
            raise

    def readers(self) -> dict[str, Reader]:
        return {"receive_stream" if self.what == "stream" else "receive": self.read}


def key_files(folder: pathlib.Path) -> Iterator[Format]:
    """Yield all formats that contain keys."""
    yield ClearKeyset(folder)
    yield KeysetMessage(folder)
    for name, make in (
        ("KEK: Tink's JSON of an AEAD", keysources.generate_kek),
        ("KEK: Tink's JSON for files", lambda: Keyset.generate("AES256_GCM_HKDF_4KB").to_json()),
        ("KEK: hexadecimal", lambda: random.randbytes(32).hex().encode() + b"\n"),
        ("KEK: 32 bytes", lambda: b"\0" + random.randbytes(31)),
    ):
        yield ClearKek(folder, name, make)
    aead_kek, stream_kek = keysources.generate_kek(), Keyset.generate("AES256_GCM_HKDF_4KB").to_json()
    yield WrappedKeyset(folder, "an AEAD", aead_kek)
    yield WrappedKeyset(folder, "a keyset for files", stream_kek)
    yield WrappedKeyset(folder, "a raw key", bytes(range(32)))
    sources: list[keysources.KeySource] = [
        keysources.LocalSource("test", lambda: aead_kek),
        keysources.LocalSource("test", lambda: stream_kek),
        keysources.LocalSource("test", lambda: bytes(range(32))),
        _FakeTpm(),
    ]
    for name, source in zip(("an AEAD", "a keyset for files", "a raw key", "a TPM"), sources):
        yield Wrapped(folder, f"key wrapped by {name}", lambda key, s=source: s.wrap(key, AAD),
                      lambda text, s=source: s.unwrap(text, AAD))  # fmt: skip
    for bits in (128, 192, 256):
        kek = bytes(range(bits // 8))
        yield Wrapped(folder, f"KW, AES-{bits}", lambda key, k=kek: keywrap.aes_key_wrap(k, key),
                      lambda text, k=kek: keywrap.aes_key_unwrap(k, text))  # fmt: skip
        yield Wrapped(folder, f"KWP, AES-{bits}", lambda key, k=kek: keywrap.aes_key_wrap_with_padding(k, key),
                      lambda text, k=kek: keywrap.aes_key_unwrap_with_padding(k, text))  # fmt: skip
    for what in ("sidecar", "body", "stream"):
        yield Letter(folder, what)
