#!/usr/bin/env python3
"""Encrypted safetensors: files go both ways between warpaes and the package cryptotensors, and mistakes are said."""

from __future__ import annotations

import base64
import json
import os
import pathlib
import struct
import tempfile
import threading
import unittest
import unittest.mock
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from support import needed
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
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.path = self.folder / "model.safetensors"
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

    def save(self) -> bytes:
        self.ours.save_file(self.tensors, self.path, {"made by": "a test"}, **self.keys)
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

        self.save()
        theirs.register_direct_key_provider(keys=list(self.keys.values()))
        self.check(load_file(str(self.path)))

    def test_cryptotensors_wrote_it(self) -> None:
        needed("cryptotensors")
        from cryptotensors.numpy import save_file

        save_file(self.tensors, str(self.path), metadata={"ü": "ö"}, config=self.keys)
        self.check(self.ours.load_file(self.path, **self.keys))
        with self.ours.safe_open(self.path, **self.keys) as file:
            self.assertEqual(file.metadata(), {"ü": "ö"})

    def test_some_tensors_in_clear_and_other_chunks(self) -> None:
        needed("cryptotensors")
        from cryptotensors.numpy import save_file

        config = self.keys | {"tensors": ["large", "empty"], "chunk_size": 4096}
        save_file(self.tensors, str(self.path), config=config)
        self.check(self.ours.load_file(self.path, **self.keys))

    def test_aes_128(self) -> None:
        theirs = needed("cryptotensors")
        from cryptotensors.numpy import load_file

        self.keys["enc_key"] = {"kty": "oct", "alg": "aes128gcm", "k": b64(bytes(16)), "kid": "short"}
        self.save()
        self.check(self.ours.load_file(self.path, **self.keys))
        theirs.register_direct_key_provider(keys=list(self.keys.values()))
        self.check(load_file(str(self.path)))

    def test_the_header_is_as_theirs(self) -> None:
        """All but what is random: the same names, the same order, the same lengths."""
        needed("cryptotensors")
        from cryptotensors.numpy import save_file

        theirs_path = self.folder / "theirs"
        save_file(self.tensors, str(theirs_path), metadata={"made by": "a test"}, config=self.keys)
        ours, theirs = self.save(), theirs_path.read_bytes()
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
        self.refused(exceptions.InvalidTag, "umlaut ä: message 0", bytes(file))
        with self.ours.safe_open(self.path, **self.keys) as opened:
            self.assertEqual(opened.get_tensor("small").tolist(), self.tensors["small"].tolist())

    def test_every_chunk(self) -> None:
        """The first that is altered is named, whoever came to it."""
        self.tensors = {"a": self.numpy.arange(9 << 17, dtype="i8"), "b": self.numpy.arange(5 << 18, dtype="f8")}
        file = self.save()
        begin = 8 + struct.unpack("<Q", file[:8])[0]
        with self.ours.safe_open(self.path, **self.keys) as opened:
            names = opened.keys()
        chunks, at = [], begin
        for name in names:
            for first in range(0, self.tensors[name].nbytes, 2 << 20):
                chunks.append((at + first, f"{name}: message {first >> 21}: "))
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
            self.refused(exceptions.InvalidTag, f"^{number:03}: message 0: ", bytes(file))

    def test_a_short_chunk_among_many(self) -> None:
        needed("cryptotensors")
        from cryptotensors.numpy import save_file

        save_file(self.tensors, str(self.path), config=self.keys | {"chunk_size": 4096})
        file = bytearray(self.path.read_bytes())
        with self.ours.safe_open(self.path, **self.keys) as opened:
            at = opened._begin + opened._entries["whole chunks"]["data_offsets"][0]
        file[at + 700 * 4096 + 1] ^= 1
        self.refused(exceptions.InvalidTag, "^whole chunks: message 700: ", bytes(file))

    def test_cut_off_while_it_is_read(self) -> None:
        self.save()
        with self.ours.safe_open(self.path, **self.keys) as opened:
            self.path.write_bytes(self.path.read_bytes()[:-5])
            with self.assertRaisesRegex(exceptions.FormatError, "cut off"):
                opened.get_tensor("umlaut ä")
            self.assertEqual(opened.get_tensor("scalar"), 7)

    def test_header(self) -> None:
        file = self.save()
        self.refused(exceptions.InvalidSignature, "altered", file.replace(b"a test", b"a fake"))
        self.refused(exceptions.InvalidSignature, "altered", file.replace(b'"shape":[3,5]', b'"shape":[5,3]'))

    def test_lengths(self) -> None:
        file = self.save()
        self.refused(exceptions.FormatError, "cut off", file[:-1])
        for wrong in (b"", b"1234567", file[:100], struct.pack("<Q", 2**63) + file[8:], b"\x02" + bytes(7) + b"{}"):
            self.refused(exceptions.FormatError, "no (safetensors|CryptoTensors)", wrong)
        deep = b"[" * 200_000
        self.refused(exceptions.FormatError, "no CryptoTensors", struct.pack("<Q", len(deep)) + deep)

    def test_other_keys(self) -> None:
        self.save()
        enc, sign = self.keys["enc_key"], self.keys["sign_key"]
        self.refused(exceptions.InvalidTag, "not wrapped with enc_key", enc_key=enc | {"k": b64(bytes(32))})
        self.refused(exceptions.InvalidSignature, "another's", sign_key=sign | {"x": b64(bytes(32))})
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
            self.save()
            self.check(self.ours.load_file(self.path, **self.keys))
        theirs = needed("cryptotensors")
        from cryptotensors.numpy import load_file

        theirs.register_direct_key_provider(keys=list(self.keys.values()))
        self.check(load_file(str(self.path)))

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
        """At the end of the interpreter there are none to be had."""
        self.tensors |= {"a": self.numpy.arange(5 << 20, dtype="i4")}
        with unittest.mock.patch("threading.Thread.start", side_effect=RuntimeError("can't start new thread")):
            self.save()
            self.check(self.ours.load_file(self.path, **self.keys))

    def test_what_fails_amid_a_file(self) -> None:
        """Nobody is left waiting, and what was there stays."""
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
