#!/usr/bin/env python3
"""Tests encrypted safetensors: the exchange of files with the package cryptotensors, and error messages."""

from __future__ import annotations

import base64
import json
import os
import re
import struct
import threading
import unittest
import unittest.mock
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from support import needed, new_folder
from warpaes import exceptions


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


class SafetensorsTest(unittest.TestCase):
    def setUp(self) -> None:
        self.numpy = np = needed("numpy")
        ed25519 = needed("cryptography.hazmat.primitives.asymmetric.ed25519")
        from warpaes import safetensors

        self.ours = safetensors
        public = ed25519.Ed25519PrivateKey.from_private_bytes(bytes(range(32))).public_key().public_bytes_raw()
        self.keys: dict[str, Any] = {
            "enc_key": {"kty": "oct", "alg": "aes256gcm", "k": b64(bytes(range(32))), "kid": "enc"},
            "sign_key": {"kty": "okp", "alg": "ed25519", "d": b64(bytes(range(32))), "x": b64(public), "kid": "sign"},
        }
        self.folder = new_folder(self)
        self.path = self.folder / "model.cryptotensors"
        random = np.random.default_rng(1)
        self.tensors = {
            "large": random.standard_normal((1500, 1000)).astype("f4"),
            "whole chunks": random.integers(0, 256, 2 * (2 << 20), np.uint8),
            "small": np.arange(15, dtype="f8").reshape(3, 5),
            "empty": np.zeros((0, 4), "f4"),
            "scalar": np.array(7, "i8"),
            "half": np.ones(3, "f2"),
            "umlaut ä": np.array([True, False]),
        }

    def save(self, **options: Any) -> bytes:
        self.ours.save_file(self.tensors, self.path, {"made by": "a test"}, **self.keys, **options)
        return self.path.read_bytes()

    def check(self, found: Any) -> None:
        self.assertEqual(set(found), set(self.tensors))
        for name, tensor in self.tensors.items():
            self.assertEqual(found[name].dtype, tensor.dtype)
            self.assertEqual(found[name].shape, tensor.shape)
            self.assertEqual(found[name].tobytes(), tensor.tobytes())


class BothWays(SafetensorsTest):
    def test_by_itself(self) -> None:
        self.save()
        self.check(self.ours.load_file(self.path, **self.keys))
        with self.ours.safe_open(self.path, **self.keys) as file:
            self.assertEqual(file.metadata(), {"made by": "a test"})
            self.assertEqual(file.get_tensor("small").tolist(), self.tensors["small"].tolist())
        with self.assertRaises(ValueError):
            file.get_tensor("small")

    def test_cryptotensors_reads_it(self) -> None:
        theirs = needed("cryptotensors")
        from cryptotensors.numpy import load_file

        self.save(guard="none")
        theirs.register_direct_key_provider(keys=list(self.keys.values()))
        self.check(load_file(str(self.path)))

    def test_cryptotensors_wrote_it(self) -> None:
        needed("cryptotensors")
        from cryptotensors.numpy import save_file

        save_file(self.tensors, str(self.path), metadata={"ü": "ö"}, config=self.keys)
        self.check(self.ours.load_file(self.path, **self.keys))
        with self.ours.safe_open(self.path, **self.keys) as file:
            self.assertEqual(file.metadata(), {"ü": "ö"})

    def test_tensors_in_clear_and_other_chunks(self) -> None:
        needed("cryptotensors")
        from cryptotensors.numpy import save_file

        config = self.keys | {"tensors": ["large", "empty"], "chunk_size": 4096}
        save_file(self.tensors, str(self.path), config=config)
        clear = set(self.tensors) - {"large", "empty"}
        with self.ours.safe_open(self.path, **self.keys) as file:
            self.assertEqual(set(file.keys()), set(self.tensors))
            self.assertEqual(set(file.clear_keys()), clear)
            for name in self.tensors:
                if name in clear:
                    with self.assertRaisesRegex(exceptions.FormatError, f"^{name} is neither .*allow_clear=True"):
                        file.get_tensor(name)
                else:
                    self.assertEqual(file.get_tensor(name).tobytes(), self.tensors[name].tobytes())
        with self.assertRaisesRegex(exceptions.FormatError, "neither encrypted nor authenticated"):
            self.ours.load_file(self.path, **self.keys)
        self.check(self.ours.load_file(self.path, **self.keys, allow_clear=True))
        with self.ours.safe_open(self.path, **self.keys, allow_clear=True) as file:
            self.assertEqual(set(file.clear_keys()), clear)
            self.assertEqual(file.get_tensor("scalar"), 7)
            self.assertRaises(KeyError, file.get_tensor, "none")
        self.save()
        with self.ours.safe_open(self.path, **self.keys) as file:
            self.assertEqual(file.clear_keys(), [])

    def test_aes_128(self) -> None:
        theirs = needed("cryptotensors")
        from cryptotensors.numpy import load_file

        self.keys["enc_key"] = {"kty": "oct", "alg": "aes128gcm", "k": b64(bytes(16)), "kid": "short"}
        self.save(guard="none")
        self.check(self.ours.load_file(self.path, **self.keys))
        theirs.register_direct_key_provider(keys=list(self.keys.values()))
        self.check(load_file(str(self.path)))

    def test_the_header_is_as_theirs(self) -> None:
        """The header has the same fields as cryptotensors' header, in the same order. Only random values differ, and
        they have the same lengths."""
        needed("cryptotensors")
        from cryptotensors.numpy import save_file

        theirs_path = self.folder / "theirs"
        save_file(self.tensors, str(theirs_path), metadata={"made by": "a test"}, config=self.keys)
        ours, theirs = self.save(guard="none"), theirs_path.read_bytes()
        self.assertEqual(len(ours), len(theirs))
        shapes = []
        for file in (ours, theirs):
            header = json.loads(file[8 : 8 + struct.unpack("<Q", file[:8])[0]])
            metadata = header["__metadata__"]
            encryption = json.loads(metadata.pop("__encryption__"))
            lengths = {name: {field: len(value) for field, value in of.items()} for name, of in encryption.items()}
            signature = len(metadata.pop("__signature__"))
            shapes.append((header, list(header), lengths, list(lengths), signature, metadata))
        self.assertEqual(*shapes)


class Altered(SafetensorsTest):
    def refused(self, kind: Any, words: str, file: bytes | None = None, **keys: Any) -> None:
        if file is not None:
            self.path.write_bytes(file)
        with self.assertRaisesRegex(kind, words):
            self.ours.load_file(self.path, **self.keys | keys)

    def test_data(self) -> None:
        file = bytearray(self.save())
        file[-1] ^= 1
        self.refused(exceptions.InvalidTag, "umlaut ä: chunk 0", bytes(file))
        with self.ours.safe_open(self.path, **self.keys) as opened:
            self.assertEqual(opened.get_tensor("small").tolist(), self.tensors["small"].tolist())

    def test_every_chunk(self) -> None:
        """The error names the first modified tensor, whichever thread finds it."""
        self.tensors = {"a": self.numpy.arange(9 << 17, dtype="i8"), "b": self.numpy.arange(5 << 18, dtype="f8")}
        file = self.save()
        begin = 8 + struct.unpack("<Q", file[:8])[0]
        with self.ours.safe_open(self.path, **self.keys) as opened:
            names = opened.keys()
        chunks, at = [], begin
        for name in names:
            for first in range(0, self.tensors[name].nbytes, 2 << 20):
                chunks.append((at + first, f"{name}: chunk {first >> 21} is"))
            at += self.tensors[name].nbytes
        self.assertEqual(len(chunks), 10)
        for number, (_, words) in enumerate(chunks):
            altered = bytearray(file)
            for later, _ in chunks[number::3]:
                altered[later] ^= 1
            self.refused(exceptions.InvalidTag, f"^{words}", bytes(altered))

    def test_short_tensors_that_are_read_together(self) -> None:
        self.tensors = {f"{i:03}": self.numpy.full(5000, i, "i4") for i in range(300)}
        file = bytearray(self.save())
        begin = 8 + struct.unpack("<Q", file[:8])[0]
        for number in (299, 150, 149, 31):
            file[begin + number * 20000 + 19999] ^= 1
            self.refused(exceptions.InvalidTag, f"^{number:03}: chunk 0 is", bytes(file))

    def test_a_short_chunk_among_many(self) -> None:
        needed("cryptotensors")
        from cryptotensors.numpy import save_file

        save_file(self.tensors, str(self.path), config=self.keys | {"chunk_size": 4096})
        file = bytearray(self.path.read_bytes())
        with self.ours.safe_open(self.path, **self.keys) as opened:
            at = opened._file._begin + opened._file.entries["whole chunks"]["data_offsets"][0]
        file[at + 700 * 4096 + 1] ^= 1
        self.refused(exceptions.InvalidTag, "^whole chunks: chunk 700 is", bytes(file))

    def test_cut_off_while_it_is_read(self) -> None:
        self.save()
        with self.ours.safe_open(self.path, **self.keys) as opened:
            self.path.write_bytes(self.path.read_bytes()[:-5])
            with self.assertRaisesRegex(exceptions.FormatError, "truncated"):
                opened.get_tensor("umlaut ä")
            self.assertEqual(opened.get_tensor("scalar"), 7)

    def test_header(self) -> None:
        file = self.save()
        self.refused(exceptions.InvalidSignature, "altered", file.replace(b"a test", b"a fake"))
        self.refused(exceptions.InvalidSignature, "altered", file.replace(b'"shape":[3,5]', b'"shape":[5,3]'))

    def opens(self, file: bytes, **keys: Any) -> Any:
        """Return the content of a file, or None if the file is refused with a documented error."""
        self.path.write_bytes(file)
        try:
            with self.ours.safe_open(self.path, **self.keys | keys) as opened:
                names = opened.keys()
                return opened.metadata(), [opened.get_tensor(name) for name in names]
        except (exceptions.FormatError, exceptions.InvalidSignature, exceptions.InvalidTag):
            return None

    def small(self, start: int = 0) -> bytes:
        self.tensors = {
            "a": self.numpy.arange(start, start + 4, dtype="f4"),
            "b": self.numpy.arange(start, start + 4, dtype="i4"),
            "c": self.numpy.zeros((0, 4), "f4"),
        }
        return self.save()

    def test_every_byte_and_every_length(self) -> None:
        file = self.small()
        self.assertIsNotNone(self.opens(file))
        for at in range(len(file)):
            altered = bytearray(file)
            altered[at] ^= 1 << at % 8
            self.assertIsNone(self.opens(altered), f"byte {at}")
        for length in range(len(file)):
            self.assertIsNone(self.opens(file[:length]), length)
        for more in (b"\0", b" ", file[-1:], bytes(8), file):
            self.assertIsNone(self.opens(file + more))
        self.refused(exceptions.FormatError, "5 unauthenticated bytes follow the last tensor", file + bytes(5))

    def test_the_same_header_in_other_bytes(self) -> None:
        """The signature covers the bytes. Different bytes with the same meaning are refused."""
        file = self.small()
        length = struct.unpack("<Q", file[:8])[0]
        text, data = file[8 : 8 + length], file[8 + length :]
        signature = json.loads(text)["__metadata__"]["__signature__"].encode()
        same = signature[:-3] + bytes([signature[-3] + 1]) + b"=="  # changes the unused bits after the last byte
        others = [
            text.replace(signature, same),
            text + bytes(b" " * 8),
            b" " * 8 + text,
            text.replace(b'"dtype":', b'"dtype": '),
            text.replace(b'"shape"', b'"\\u0073hape"'),
            text.replace(b'"shape":[4]', b'"shape":[5],"shape":[4]'),
            text.replace(b'{"__metadata__"', b'{"a":{"dtype":"U8"},"__metadata__"'),
            text.decode().encode("utf-16"),
        ]
        self.assertIsNotNone(self.opens(struct.pack("<Q", length) + text + data))
        for other in others:
            self.assertNotEqual(other, text)
            self.assertIsNone(self.opens(struct.pack("<Q", len(other)) + other + data), other)
        self.refused(exceptions.FormatError, "multiple of 8", struct.pack("<Q", length + 8) + text + b" " * 8 + data)

    def test_a_header_is_parsed_after_its_signature_was_verified(self) -> None:
        """Unsigned JSON, nested or long, costs no more than reading its bytes. Errors do not quote it."""
        file = self.small()
        length = struct.unpack("<Q", file[:8])[0]
        text, data = file[8 : 8 + length], file[8 + length :]
        member = text[text.index(b',"__signature__"') : text.index(b'"__signature__"') + 16 + 90]
        with unittest.mock.patch.object(json, "loads", side_effect=AssertionError("parsed")):
            for inner in (
                b"[]," * 1000 + b"[]",
                b"[" * 100_000 + b"]" * 100_000,
                b'"\xff"',
                b'"' + b"A" * 10_000 + b'"',
            ):
                for signed in (member, b""):
                    other = b'{"__metadata__":{"a":' + inner + signed + b"}}"
                    other += b" " * (-len(other) % 8)
                    self.path.write_bytes(struct.pack("<Q", len(other)) + other + data)
                    with self.assertRaises((exceptions.InvalidSignature, exceptions.FormatError)) as caught:
                        self.ours.safe_open(self.path, **self.keys)
                    self.assertLess(len(str(caught.exception)), 300)

    def test_parts_that_are_swapped(self) -> None:
        """Data, entries, keys, tags and headers are exchanged within a file and between two files under the same
        keys."""
        one, other = self.small(), self.small(10)
        length = struct.unpack("<Q", one[:8])[0]
        self.assertEqual(length, struct.unpack("<Q", other[:8])[0])
        begin = 8 + length
        self.assertIsNone(self.opens(one[:begin] + other[begin:]))
        self.assertIsNone(self.opens(one[:begin] + one[begin + 16 :] + one[begin : begin + 16]))
        self.assertIsNone(self.opens(one[: begin + 16] + other[begin + 16 :]))
        headers = [json.loads(file[8:begin]) for file in (one, other)]

        def with_header(change: Any) -> bytes:
            header = json.loads(one[8:begin])
            encryption = json.loads(header["__metadata__"]["__encryption__"])
            change(header, encryption)
            header["__metadata__"]["__encryption__"] = json.dumps(encryption, separators=(",", ":"), ensure_ascii=False)
            text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
            text += b" " * (-len(text) % 8)
            return struct.pack("<Q", len(text)) + text + one[begin:]

        self.assertIsNotNone(self.opens(with_header(lambda header, encryption: None)))
        for field in ("dtype", "data_offsets"):

            def swap(header: Any, encryption: Any, field: str = field) -> None:
                header["a"][field], header["b"][field] = header["b"][field], header["a"][field]

            self.assertIsNone(self.opens(with_header(swap)))
        changes = [
            lambda header, encryption: header.update(a=header["b"], b=header["a"]),
            lambda header, encryption: header["a"].update(shape=[2, 2]),
            lambda header, encryption: header.update(d=header["a"]),
            lambda header, encryption: header.pop("b"),
            lambda header, encryption: encryption.pop("a"),
            lambda header, encryption: encryption.update(a=encryption["b"], b=encryption["a"]),
            lambda header, encryption: header["__metadata__"].update(more="words"),
            lambda header, encryption: header["__metadata__"].pop("made by"),
            lambda header, encryption: header["__metadata__"].update(__policy__="{}"),
            lambda header, encryption: header["__metadata__"].update(
                __signature__=headers[1]["__metadata__"]["__signature__"]
            ),
        ]
        for field in ("wrapped_key", "key_iv", "key_tag", "base_iv", "tags"):
            changes.append(lambda header, encryption, field=field: encryption["a"].update(
                {field: encryption["b"][field]}
            ))  # fmt: skip
        for number, change in enumerate(changes):
            self.assertIsNone(self.opens(with_header(change)), number)

    def signed(self, change: Any) -> bytes:
        """Return a file whose signer wrote a wrong header."""
        file = self.small()
        length = struct.unpack("<Q", file[:8])[0]
        header = json.loads(file[8 : 8 + length])
        change(header)
        metadata = header["__metadata__"]
        metadata.pop("__signature__")
        from warpaes import _jwk

        unsigned = {"__metadata__": dict(sorted(metadata.items())), **header}
        metadata["__signature__"] = b64(_jwk.sign(self.keys["sign_key"], _jwk.compact(unsigned)))
        text = _jwk.compact({**header, "__metadata__": dict(sorted(metadata.items()))})
        text += b" " * (-len(text) % 8)
        return struct.pack("<Q", len(text)) + text + file[8 + length :]

    def test_what_a_signer_gets_wrong(self) -> None:
        """Signed headers with holes, overlaps or invalid numbers are refused."""
        self.assertIsNotNone(self.opens(self.signed(lambda header: None)))
        changes: list[Any] = [
            lambda header: header["b"].update(data_offsets=[0, 16]),
            lambda header: header["b"].update(data_offsets=[17, 33]),
            lambda header: header["b"].update(data_offsets=[-16, 0]),
            lambda header: header["a"].update(shape=[-4], data_offsets=[16, 0]),
            lambda header: header["a"].update(shape=[True, 4]),
            lambda header: header["a"].update(shape=[4.0]),
            lambda header: header["a"].update(shape=4),
            lambda header: header["a"].update(data_offsets=[0, 16, 16]),
            lambda header: header["a"].update(dtype="F65"),
            lambda header: header["a"].update(dtype=["F32"]),
            lambda header: header["a"].pop("dtype"),
            lambda header: header.update(a=[]),
            lambda header: header.update(a=None),
            lambda header: header.pop("b"),
            lambda header: header["__metadata__"].update(__encryption__="[]"),
            lambda header: header["__metadata__"].update(__encryption__='{"a":null}'),
            lambda header: header["__metadata__"].update(__encryption__='{"a":{"wrapped_key":1}}'),
            lambda header: header["__metadata__"].update(__crypto_keys__="[]"),
            lambda header: header["__metadata__"].update(__crypto_keys__='{"version":"2","enc":[]}'),
            lambda header: header["__metadata__"].update(
                __crypto_keys__='{"version":"2","enc":{"alg":["x"]},"chunk_size":1}'
            ),
            lambda header: header["__metadata__"].update(
                __crypto_keys__='{"version":"2","enc":{"alg":"aes256gcm"},"chunk_size":true}'
            ),
            lambda header: header["__metadata__"].update(__policy__="null"),
            lambda header: header["c"].update(shape=[0, 2**70]),
            lambda header: header["c"].update(shape=[0, 2**40, 2**40]),
            *(
                lambda header, field=field: header["__metadata__"].update(
                    __encryption__=re.sub(f'(?<="{field}":")[^"]*', "AAAA", header["__metadata__"]["__encryption__"])
                )
                for field in ("wrapped_key", "key_iv", "key_tag", "base_iv", "tags")
            ),
            lambda header: header["__metadata__"].update(
                __crypto_keys__=header["__metadata__"]["__crypto_keys__"].replace("2097152", str(2**70))
            ),
        ]
        for number, change in enumerate(changes):
            self.assertIsNone(self.opens(self.signed(change)), number)

    def test_headers_that_nobody_signed(self) -> None:
        """Any content raises one of the documented exceptions."""
        inner = {"__signature__": b64(bytes(64)), "__crypto_keys__": "{}", "__encryption__": "{}", "__policy__": "{}"}
        texts: list[bytes] = [
            json.dumps({"__metadata__": inner | more} | others).encode()
            for more, others in (
                ({"x": "\ud800"}, {}),
                ({}, {"\udfff": 0}),
                ({"__crypto_keys__": "[]"}, {}),
                ({"__crypto_keys__": '"\\ud800"'}, {}),
                ({"__signature__": 5}, {}),
                ({"__signature__": "\ud800"}, {}),
                ({"__signature__": "ä"}, {}),
                ({"__encryption__": "[" * 100_000}, {}),
                ({}, {"a": float("nan")}),
            )
        ]
        texts += [
            b'{"__metadata__":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
            json.dumps({"__metadata__": inner, "big": 0}).replace('"big": 0', '"big": ' + "9" * 5000).encode(),
            json.dumps({"__metadata__": [["__signature__", "x"]]}).encode(),
            b'{"__metadata__":"\xff\xfe"}',
            b"[]",
            b"null",
            b"",
        ]
        for depth in (900, 990, 2_000, 20_000):  # too deep for the parser, for the writer, or for both
            texts.append(
                json.dumps({"__metadata__": inner, "deep": 0}).encode()[:-2] + b"[" * depth + b"]" * depth + b"}"
            )
        for text in texts:
            self.assertIsNone(self.opens(struct.pack("<Q", len(text)) + text), text[:200])

    def test_lengths(self) -> None:
        file = self.save()
        self.refused(exceptions.FormatError, "truncated", file[:-1])
        for wrong in (b"", b"1234567", file[:100], struct.pack("<Q", 2**63) + file[8:], b"\x02" + bytes(7) + b"{}"):
            self.refused(exceptions.FormatError, "not a (safetensors|CryptoTensors) file|is not encrypted", wrong)
        deep = b"[" * 200_000
        self.refused(exceptions.FormatError, "not a CryptoTensors file", struct.pack("<Q", len(deep)) + deep)

    def test_other_keys(self) -> None:
        self.save()
        enc, sign = self.keys["enc_key"], self.keys["sign_key"]
        self.refused(exceptions.InvalidTag, "not wrapped with enc_key", enc_key=enc | {"k": b64(bytes(32))})
        self.refused(exceptions.InvalidSignature, "signed with a different key", sign_key=sign | {"x": b64(bytes(32))})
        self.refused(exceptions.KeysetError, "k has 31 bytes", enc_key=enc | {"k": b64(bytes(31))})
        self.refused(exceptions.KeysetError, "k is missing", enc_key=enc | {"k": None})
        self.refused(exceptions.KeysetError, "alg aes128gcm", enc_key=enc | {"alg": "chacha20poly1305"})
        self.refused(exceptions.KeysetError, "kty must be okp", sign_key=enc)

    def test_a_policy_is_not_ignored(self) -> None:
        needed("cryptotensors")
        from cryptotensors.numpy import save_file

        policy = {"local": "package model\nallow = false", "remote": "package model\nallow = true"}
        save_file(self.tensors, str(self.path), config=self.keys | {"policy": policy})
        self.refused(exceptions.FormatError, "access policy")


class Saving(SafetensorsTest):
    def test_a_failure_leaves_what_was_there(self) -> None:
        self.path.write_bytes(b"before")
        with self.assertRaises(TypeError):
            self.ours.save_file({"a": self.numpy.array(["text"])}, self.path, **self.keys)
        with self.assertRaisesRegex(exceptions.KeysetError, "d is missing"):
            self.ours.save_file(self.tensors, self.path, **self.keys | {"sign_key": {"kty": "okp", "alg": "ed25519"}})
        self.assertEqual(self.path.read_bytes(), b"before")
        self.assertEqual([entry.name for entry in self.folder.iterdir()], [self.path.name])

    def test_names_of_the_format(self) -> None:
        with self.assertRaises(ValueError):
            self.ours.save_file({}, self.path, {"__policy__": ""}, **self.keys)
        with self.assertRaises(ValueError):
            self.ours.save_file({"__metadata__": self.tensors["small"]}, self.path, **self.keys)

    def test_more_than_a_window(self) -> None:
        self.tensors = {"a": self.numpy.arange(20 << 20, dtype="i8")}
        self.save()
        self.check(self.ours.load_file(self.path, **self.keys))

    def test_windows_and_tensors_of_all_lengths(self) -> None:
        np = self.numpy
        random = np.random.default_rng(2)
        edges = [0, 1, (128 << 10) - 1, 128 << 10, (2 << 20) - 1, 2 << 20, (2 << 20) + 1, 4 << 20, (4 << 20) + 1]
        for _ in range(3):
            lengths = random.permutation(edges + [int(n) for n in random.integers(0, 3 << 20, 9)])
            self.tensors = {f"{i:02}": random.integers(0, 256, n, np.uint8) for i, n in enumerate(lengths)}
            self.save(guard="none")
            self.check(self.ours.load_file(self.path, **self.keys))
        theirs = needed("cryptotensors")
        from cryptotensors.numpy import load_file

        theirs.register_direct_key_provider(keys=list(self.keys.values()))
        self.check(load_file(str(self.path)))

    def test_metadata_is_text(self) -> None:
        for wrong in ({"a": 1}, {1: "a"}):
            with self.assertRaises(TypeError):
                self.ours.save_file(self.tensors, self.path, wrong, **self.keys)

    def test_a_link_is_not_followed(self) -> None:
        """The permissions of a replaced file do not become wider either."""
        self.save()
        self.path.chmod(0o600)
        self.save()
        self.assertEqual(self.path.stat().st_mode & 0o777, 0o600)
        other = self.folder / "other"
        other.write_bytes(b"before")
        self.path.unlink()
        self.path.symlink_to(other)
        with self.assertRaisesRegex(OSError, "symbolic link"):
            self.save()
        self.assertEqual(other.read_bytes(), b"before")

    def test_short_tensors_have_rooms_of_their_own(self) -> None:
        np = self.numpy
        random = np.random.default_rng(3)
        lengths = [0, 1, 63, 64, 65, *random.integers(0, 200_000, 200), (2 << 20) - 1, 2 << 20, 9 << 20]
        self.tensors = {f"{i:03}": random.integers(0, 256, n, np.uint8) for i, n in enumerate(lengths)}
        self.tensors |= {f"f{i:03}": random.standard_normal(n).astype("f4") for i, n in enumerate(lengths[:100])}
        self.save()
        found = self.ours.load_file(self.path, **self.keys)
        self.check(found)
        for i, array in enumerate(found.values()):
            self.assertTrue(array.flags.writeable and array.flags.aligned)
            array.reshape(-1).view(np.uint8)[:] = i % 251
        for i, array in enumerate(found.values()):
            self.assertTrue((array.reshape(-1).view(np.uint8) == i % 251).all())

    def test_reads_that_give_less(self) -> None:
        self.tensors |= {f"{i:03}": self.numpy.full(i, i, "i4") for i in range(200)}
        self.save()
        read = os.preadv
        less = unittest.mock.Mock(side_effect=lambda descriptor, rooms, at: read(descriptor, [rooms[0][:777]], at))
        with unittest.mock.patch("os.preadv", less):
            self.check(self.ours.load_file(self.path, **self.keys))

    def test_without_other_threads(self) -> None:
        """At the interpreter's exit, no thread can be started."""
        self.tensors |= {"a": self.numpy.arange(5 << 20, dtype="i4")}
        with unittest.mock.patch("threading.Thread.start", side_effect=RuntimeError("can't start new thread")):
            self.save()
            self.check(self.ours.load_file(self.path, **self.keys))

    def test_what_fails_amid_a_file(self) -> None:
        """After a failure, no thread is left waiting, and existing tensors stay valid."""
        self.tensors = {"a": self.numpy.arange(9 << 20, dtype="i4")}
        self.path.write_bytes(b"before")
        crypt, calls = self.ours._native._chunks, []

        def fails(*arguments: Any) -> Any:
            calls.append(1)
            if len(calls) == 4:
                raise MemoryError("none left")
            return crypt(*arguments)

        before = threading.active_count()
        with unittest.mock.patch.object(self.ours._native, "_chunks", fails), self.assertRaises(MemoryError):
            self.save()
        self.assertEqual(self.path.read_bytes(), b"before")
        self.assertEqual([entry.name for entry in self.folder.iterdir()], [self.path.name])
        self.assertEqual(threading.active_count(), before)

    def test_several_threads_read_one_file(self) -> None:
        self.save()
        with self.ours.safe_open(self.path, **self.keys) as file, ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda name: (name, file.get_tensor(name)), 5 * list(self.tensors)))
        for name, tensor in found:
            self.assertEqual(tensor.tobytes(), self.tensors[name].tobytes())

    def test_long_arrays_can_be_written_to(self) -> None:
        self.tensors = {"a": self.numpy.arange(3 << 20, dtype="f4")}
        self.save()
        found = self.ours.load_file(self.path, **self.keys)["a"]
        found += 1
        self.assertEqual(found[-1], 3 << 20)
        self.assertTrue(found.flags.c_contiguous and found.flags.aligned)

    def test_arrays_that_are_not_plain(self) -> None:
        np = self.numpy
        self.ours.save_file(
            {"steps": np.arange(20)[::2], "order": np.arange(6.0).reshape(2, 3).T, "big": np.arange(3, dtype=">i4")},
            self.path,
            **self.keys,
        )
        found = self.ours.load_file(self.path, **self.keys)
        self.assertEqual(found["steps"].tolist(), list(range(0, 20, 2)))
        self.assertEqual(found["order"].tolist(), [[0, 3], [1, 4], [2, 5]])
        self.assertEqual(found["big"].tolist(), [0, 1, 2])


if __name__ == "__main__":
    unittest.main()
