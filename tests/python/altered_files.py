"""Alters encrypted files (Tink's streaming AEAD and C2SP) and encrypted tensors."""

from __future__ import annotations

import base64
import io
import json
import pathlib
import random
import struct
import tempfile
from collections.abc import Iterator
from typing import Any

import warpaes
from alterations import Altered, Format, Give, Part, Reader, fields
from support import needed
from warpaes import Keyset, exceptions

AAD = b"associated data"
SHA1, SHA256, SHA512 = 1, 3, 4


def field(number: int, value: int | bytes) -> bytes:
    """Return a protobuf field."""

    def varint(n: int) -> bytes:
        return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + varint(n >> 7)

    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def entry(key_id: int, kind: str, parameters: bytes, secret: bytes) -> dict[str, Any]:
    """Return a key as Tink's JSON."""
    return {
        "keyData": {
            "typeUrl": f"type.googleapis.com/google.crypto.tink.{kind}",
            "value": base64.b64encode(field(2, parameters) + field(3, secret)).decode(),
            "keyMaterialType": "SYMMETRIC",
        },
        "status": "ENABLED",
        "keyId": key_id,
        "outputPrefixType": "RAW",
    }


def tink_keyset(kind: str, segment: int, key_bytes: int, hkdf: int, tag: tuple[int, int] | None = None) -> Keyset:
    """Return a keyset with one key that has these parameters."""
    parameters = field(1, segment) + field(2, key_bytes) + field(3, hkdf)
    if tag is not None:
        parameters += field(4, field(1, tag[0]) + field(2, tag[1]))
    key = entry(9, kind, parameters, random.Random(segment).randbytes(32))
    return Keyset.parse(json.dumps({"primaryKeyId": 9, "key": [key]}))


class Sealed(Format):
    """A file that consists of segments."""

    def __init__(
        self,
        folder: pathlib.Path,
        name: str,
        keyset: Keyset,
        layout: tuple[int, int, int, int],
        length: int,
        on_disk: bool = True,
    ) -> None:
        """``layout`` contains the number of bytes in the header, in a segment and in a tag, and the number of bytes by
        which the first segment is shorter."""
        super().__init__(folder)
        self.name, self.keyset, self.layout, self.on_disk = name, keyset, layout, on_disk
        self.path = folder / "sealed"
        texts = [random.Random(seed).randbytes(length) for seed in (1, 2)]
        self._plain = texts[0]
        first, second = (self.seal(text) for text in texts)
        self._authentic = first, second

    def seal(self, text: bytes) -> bytes:
        out = io.BytesIO()
        with warpaes.open(out, "wb", keyset=self.keyset, associated_data=AAD) as file:
            file.write(text)
        return out.getvalue()

    def authentic(self) -> tuple[bytes, bytes]:
        return self._authentic

    def plain(self) -> bytes:
        return self._plain

    def parts(self, content: bytes) -> list[Part]:
        header, segment, tag, less = self.layout
        found = [Part("header", 0, header)]
        at, end = header, header + segment - less
        while at < len(content):
            end = min(end, len(content))
            found.append(Part("segment", at, end))
            found.append(Part("tag", end - tag, end))
            at, end = end, end + segment
        return found

    # ---------------------------------------------------------------------------------------------------------- readers

    def whole(self, content: bytes, give: Give) -> None:
        with warpaes.open(content, keyset=self.keyset, associated_data=AAD) as file:
            give(0, file.read())

    def file_in_pieces(self, content: bytes, give: Give) -> None:
        self.path.write_bytes(content)
        with warpaes.open(self.path, keyset=self.keyset, associated_data=AAD) as file:
            at = 0
            while piece := file.read(max(7, len(self._plain) // 9)):
                give(at, piece)
                at += len(piece)

    def ranges_into_buffers(self, content: bytes, give: Give) -> None:
        """Read each range separately. Refused ranges must be wiped, and all other ranges must be authentic."""

        def read_at(offset: int, buffer: memoryview) -> None:
            buffer[:] = content[offset : offset + len(buffer)]

        reader = warpaes.Reader(read_at, self.keyset, AAD, size=len(content))
        refused: exceptions.InvalidTag | None = None
        step = max(1, -(-len(self._plain) // 7))
        for at in range(0, reader.size, step):
            buffer = bytearray(b"\x5a" * step)
            try:
                give(at, buffer[: reader.read_into(at, buffer)])
            except exceptions.InvalidTag as error:
                refused = error
                if any(buffer[: reader.size - at]):
                    raise AssertionError("the buffer was not wiped") from None
        reader.close()
        if refused is not None:
            raise refused

    def file_object(self, content: bytes, give: Give) -> None:
        with warpaes.open(io.BytesIO(content), keyset=self.keyset, associated_data=AAD) as file:
            for at in range(0, file.size, max(1, file.size // 3)):
                file.seek(at)
                give(at, file.read(max(1, file.size // 3)))

    def file_system(self, content: bytes, give: Give) -> None:
        """Read a path with fsspec. A reported size must be right, and a fetched file must be complete or absent."""
        memory = needed("fsspec").filesystem("memory")
        from warpaes.fs import WarpaesFileSystem

        memory.pipe("/sealed", content)
        sealed = WarpaesFileSystem(self.keyset, AAD, fs=memory)
        size = sealed.info("/sealed")["size"]
        target = self.folder / "fetched"
        target.unlink(missing_ok=True)
        try:
            (found,) = sealed.cat_ranges(["/sealed"], [None], [None], on_error="raise")
            give(0, found)
            sealed.get_file("/sealed", str(target))
            if target.read_bytes() != found or size != len(found):
                raise AssertionError("get_file or info differs from cat")
        except BaseException:
            if target.exists() or size not in (None, len(self._plain)):
                raise AssertionError("a file or a size that is not authentic") from None
            raise

    def fetched(self, content: bytes, give: Give) -> None:
        """Read the file separately with ``get_file``, which reads in pieces."""
        memory = needed("fsspec").filesystem("memory")
        from warpaes.fs import WarpaesFileSystem

        memory.pipe("/sealed", content)
        with tempfile.TemporaryDirectory(dir=self.folder) as name:
            target = pathlib.Path(name) / "fetched"
            try:
                WarpaesFileSystem(self.keyset, AAD, fs=memory).get_file("/sealed", str(target))
            except BaseException:
                left = list(target.parent.iterdir())
                if left:
                    raise AssertionError(f"get_file left {left[0].stat().st_size} bytes") from None
                raise
            give(0, target.read_bytes())

    def readers(self) -> dict[str, Reader]:
        found: dict[str, Reader] = {
            "open(bytes)": self.whole,
            "open(path), in pieces": self.file_in_pieces,
            "Reader.read_into, each range": self.ranges_into_buffers,
            "open(file object)": self.file_object,
            "fs: cat, info": self.file_system,
            "fs: get_file": self.fetched,
        }
        return found


def small_files(folder: pathlib.Path) -> Iterator[Format]:
    """Yield files with every construction. Most of them have three segments in 300 bytes. They are small enough for
    every alteration."""
    for name, kind, segment, key_bytes, hkdf, tag in (
        ("AES-GCM-HKDF, AES-128, SHA-1", "AesGcmHkdfStreamingKey", 112, 16, SHA1, None),
        ("AES-GCM-HKDF, AES-256, SHA-256", "AesGcmHkdfStreamingKey", 112, 32, SHA256, None),
        ("AES-GCM-HKDF, AES-256, SHA-512", "AesGcmHkdfStreamingKey", 112, 32, SHA512, None),
        ("AES-CTR-HMAC, AES-128, SHA-1, tag of 10", "AesCtrHmacStreamingKey", 112, 16, SHA1, (SHA1, 10)),
        ("AES-CTR-HMAC, AES-256, SHA-256, tag of 32", "AesCtrHmacStreamingKey", 112, 32, SHA256, (SHA256, 32)),
        ("AES-CTR-HMAC, AES-256, SHA-512, tag of 64", "AesCtrHmacStreamingKey", 144, 32, SHA512, (SHA512, 64)),
    ):
        header = 8 + key_bytes
        layout = (header, segment, 16 if tag is None else tag[1], header)
        keyset = tink_keyset(kind, segment, key_bytes, hkdf, tag)
        yield Sealed(folder, f"{name}, segments of {segment}", keyset, layout, 190)
    for bits in (128, 256):
        keyset = Keyset.from_raw(f"C2SP_CHUNKED_{bits}", bytes(range(bits // 8)))
        yield Sealed(folder, f"C2SP_CHUNKED_{bits}, one segment", keyset, (56, 16400, 16, 0), 190)
    keyset = tink_keyset("AesGcmHkdfStreamingKey", 112, 32, SHA256)
    yield Sealed(folder, "AES-GCM-HKDF, empty", keyset, (40, 112, 16, 40), 0)


def template_files(folder: pathlib.Path) -> Iterator[Format]:
    """Yield files with three segments for every template, for random alterations."""
    for template in Keyset.templates():
        bits = int(template.rpartition("_")[2] if "C2SP" in template else template[3:6])
        if "C2SP" in template:
            keyset, layout = Keyset.from_raw(template, bytes(range(bits // 8))), (56, 16400, 16, 0)
        else:
            keyset = Keyset.generate(template)
            segment = 1 << 20 if template.endswith("1MB") else 4096
            layout = (8 + bits // 8, segment, 32 if "HMAC" in template else 16, 8 + bits // 8)
        yield Sealed(folder, template, keyset, layout, 2 * layout[1] + 100)


# --------------------------------------------------------------------------------------------------- safetensors


def _b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


class Tensors(Format):
    """CryptoTensors files, read tensor by tensor and all at once."""

    name = "CryptoTensors"
    refusals = (exceptions.InvalidTag, exceptions.InvalidSignature, exceptions.FormatError)

    def __init__(self, folder: pathlib.Path, theirs: bool = False, framework: str = "numpy") -> None:
        """``theirs`` states whether the package cryptotensors creates the file, with chunks of 64 bytes."""
        super().__init__(folder)
        np = needed("numpy")
        ed25519 = needed("cryptography.hazmat.primitives.asymmetric.ed25519")
        from warpaes import safetensors

        self.ours, self.framework = safetensors, framework
        private = ed25519.Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
        public = private.public_key().public_bytes_raw()
        self.keys: dict[str, Any] = {
            "enc_key": {"kty": "oct", "alg": "aes256gcm", "k": _b64(bytes(range(32))), "kid": "enc"},
            "sign_key": {"kty": "okp", "alg": "ed25519", "d": _b64(bytes(range(32))), "x": _b64(public), "kid": "s"},
        }
        self.path = folder / "model.cryptotensors"
        made = []
        for seed in (1, 2):
            draw = np.random.default_rng(seed)
            tensors = {
                "a": draw.integers(0, 256, 48, np.uint8),
                "b": draw.integers(0, 256, 48, np.uint8),
                "c": draw.integers(0, 256, 200, np.uint8).view("f4").reshape(5, 10),
                "empty": np.zeros((0, 4), "f4"),
            }
            if theirs:
                needed("cryptotensors")
                from cryptotensors.numpy import save_file

                save_file(tensors, str(self.path), metadata={"n": str(seed)}, config=self.keys | {"chunk_size": 64})
            else:
                safetensors.save_file(tensors, self.path, {"n": str(seed)}, **self.keys)
            made.append(self.path.read_bytes())
            if seed == 1:
                self.tensors = tensors
        self._authentic = made[0], made[1]
        self.name = f"CryptoTensors of {'cryptotensors, chunks of 64' if theirs else 'warpaes'}, {framework}"

    def authentic(self) -> tuple[bytes, bytes]:
        return self._authentic

    def plain(self) -> bytes:
        return b"".join(self._bytes(name, tensor) for name, tensor in sorted(self.tensors.items()))

    def _bytes(self, name: str, tensor: Any) -> bytes:
        """Return a tensor with all of its properties that a caller can observe."""
        array = tensor if self.framework == "numpy" or hasattr(tensor, "tobytes") else tensor.numpy()
        data: bytes = f"{name} {array.dtype} {array.shape} ".encode() + array.tobytes()
        return data

    def _at(self, name: str) -> int:
        before = (self._bytes(other, tensor) for other, tensor in self.tensors.items() if other < name)
        return sum(map(len, before))

    def _header(self, content: bytes) -> tuple[int, Any]:
        length = struct.unpack("<Q", content[:8])[0]
        return 8 + length, json.loads(content[8 : 8 + length])

    def parts(self, content: bytes) -> list[Part]:
        begin, header = self._header(content)
        found = [Part("length", 0, 8), Part("header", 8, begin), Part("data", begin, len(content))]
        for name, tensor in sorted(header.items()):
            if name != "__metadata__" and tensor["data_offsets"][1] > tensor["data_offsets"][0]:
                first, end = tensor["data_offsets"]
                found.append(Part(f"tensor of {end - first}", begin + first, begin + end))
        return found

    def more(self, first: bytes, second: bytes) -> Iterator[Altered]:
        begin, _ = self._header(first)

        def write(text: bytes) -> bytes:
            return struct.pack("<Q", len(text)) + text + first[begin:]

        def read(content: bytes) -> Any:
            header = self._header(content)[1]
            inner = header["__metadata__"]
            for name in ("__encryption__", "__crypto_keys__", "__policy__"):
                inner[name] = json.loads(inner[name])
            return header

        def nested(text: bytes) -> bytes:
            """Write a header whose JSON values in the metadata become strings again, as the format requires."""
            try:
                header = json.loads(text)
                inner = header["__metadata__"]
                for name in ("__encryption__", "__crypto_keys__", "__policy__"):
                    if name in inner and not isinstance(inner[name], str):
                        inner[name] = json.dumps(inner[name], separators=(",", ":"), ensure_ascii=False)
                compact = json.dumps(header, separators=(",", ":"), ensure_ascii=False)
                return write(compact.encode(errors="surrogatepass"))
            except (ValueError, RecursionError, TypeError, KeyError):
                return write(text)

        yield from fields(first, second, read, nested)
        length = struct.unpack("<Q", first[:8])[0]
        for lie in (0, 1, length - 1, length + 1, len(first), 2**31, 2**32, 2**63 - 1, 2**63, 2**64 - 1):
            yield Altered("field", f"header of {lie} bytes", lambda n=lie: struct.pack("<Q", n) + first[8:])

    def all_at_once(self, content: bytes, give: Give) -> None:
        self.path.write_bytes(content)
        for name, tensor in self.ours.load_file(self.path, self.framework, **self.keys).items():
            give(self._at(name), self._bytes(name, tensor))

    def each_tensor(self, content: bytes, give: Give) -> None:
        self.path.write_bytes(content)
        refused: exceptions.InvalidTag | None = None
        with self.ours.safe_open(self.path, self.framework, **self.keys) as file:
            for name in file.keys():  # noqa: SIM118
                try:
                    give(self._at(name), self._bytes(name, file.get_tensor(name)))
                except exceptions.InvalidTag as error:
                    refused = error
        if refused is not None:
            raise refused

    def readers(self) -> dict[str, Reader]:
        return {"load_file": self.all_at_once, "get_tensor": self.each_tensor}


def tensor_files(folder: pathlib.Path) -> Iterator[Format]:
    """Yield files from both packages, for NumPy and, if it is installed, PyTorch."""
    yield Tensors(folder)
    yield Tensors(folder, theirs=True)
    try:
        import torch  # noqa: F401
    except ModuleNotFoundError:
        return
    yield Tensors(folder, framework="torch")
