#!/usr/bin/env python3
"""Compares encrypted safetensors with the packages safetensors and cryptotensors: the files that each package opens or
refuses."""

from __future__ import annotations

import json
import os
import random
import re
import struct
import unittest
import unittest.mock
import warnings
from collections.abc import Callable
from typing import Any

from support import needed
from test_safetensors import SafetensorsTest, b64
from warpaes import _cryptotensors, _jwk, _sealed_file, exceptions


class Peers(SafetensorsTest):
    def setUp(self) -> None:
        super().setUp()
        self.theirs = needed("cryptotensors")
        self.plain = needed("safetensors")
        self.plain_numpy = needed("safetensors.numpy")
        self.theirs.register_direct_key_provider(keys=list(self.keys.values()))

    def read_by_theirs(self, names: Any) -> dict[str, Any]:
        with self.theirs.safe_open(str(self.path), framework="np") as file:
            return {name: file.get_tensor(name) for name in names}


class Guards(Peers):
    """Tests of the guard tensor. It stops readers that would mistake the ciphertext for weights."""

    def test_the_default(self) -> None:
        self.save()
        self.check(self.ours.load_file(self.path, **self.keys))
        self.check(self.read_by_theirs(self.tensors))
        for load in (
            lambda: self.plain_numpy.load_file(self.path),
            lambda: self.plain_numpy.load(self.path.read_bytes()),
        ):
            with self.assertRaises((self.plain.SafetensorError, KeyError)):
                load()
        with self.plain.safe_open(self.path, "np") as file:
            self.assertEqual(set(file.keys()), {*self.tensors, _cryptotensors.GUARD})
            self.assertIn("open this file with warpaes.safetensors or cryptotensors", min(file.keys()))
            with self.assertRaises(self.plain.SafetensorError):
                file.get_tensor(_cryptotensors.GUARD)

    def test_that_it_is_the_first(self) -> None:
        """The guard comes first, so a reader stops before it reads a model of many gigabytes."""
        self.tensors = {"a": self.numpy.ones(3), "b": self.numpy.ones(3, "u1")}
        self.save()
        with self.plain.safe_open(self.path, "np") as file:
            self.assertEqual(file.offset_keys()[0], _cryptotensors.GUARD)

    def test_for_every_reader(self) -> None:
        self.save(guard="header")
        self.check(self.ours.load_file(self.path, **self.keys))
        for call in (
            lambda: self.plain.safe_open(self.path, "np"),
            lambda: self.plain_numpy.load(self.path.read_bytes()),
            lambda: self.theirs.safe_open(str(self.path), framework="np"),
        ):
            with self.assertRaisesRegex(Exception, "ENCRYPTED_open_with_warpaes"):
                call()

    def test_without(self) -> None:
        self.save(guard="none")
        self.check(self.ours.load_file(self.path, **self.keys))
        # Without the guard, the values are noise.
        self.assertEqual(set(self.plain_numpy.load_file(self.path)), set(self.tensors))

    def test_that_it_is_no_tensor_of_the_model(self) -> None:
        for guard in ("tensor", "header"):
            self.save(guard=guard)
            with self.ours.safe_open(self.path, **self.keys) as file:
                for names in (file.keys(), file.offset_keys(), file.get_tensors()):
                    self.assertEqual(set(names), set(self.tensors))
                self.assertEqual(file.clear_keys(), [])
                self.assertRaises(KeyError, file.get_tensor, _cryptotensors.GUARD)
                self.assertRaises(KeyError, file.get_slice, _cryptotensors.GUARD)
        with self.assertRaisesRegex(ValueError, "is a reserved name"):
            self.ours.save_file({_cryptotensors.GUARD: self.tensors["small"]}, self.path, **self.keys)
        with self.assertRaisesRegex(ValueError, "guard must be"):
            self.save(guard="all")

    def test_models_of_few_tensors(self) -> None:
        np = self.numpy
        for tensors in ({}, {"a": np.ones(0)}, {"a": np.ones(0), "b": np.ones((2, 0))}, {"a": np.ones(1)}):
            for guard in ("tensor", "header", "none"):
                self.tensors = tensors
                self.save(guard=guard)
                self.check(self.ours.load_file(self.path, **self.keys))

    def test_names_that_programs_look_for(self) -> None:
        for name, guard, warned in (
            ("model.safetensors", "tensor", 1),
            ("model-00001-of-00002.safetensors", "none", 1),
            ("model.safetensors", "header", 0),
            ("model.cryptotensors", "tensor", 0),
        ):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                self.ours.save_file(self.tensors, self.folder / name, **self.keys, guard=guard)
            self.assertEqual([str(warning.message)[-14:] for warning in caught], ["guard='header'"] * warned, name)
            self.assertEqual([warning.filename for warning in caught], [__file__] * warned)
            self.check(self.ours.load_file(self.folder / name, **self.keys))


class EmptyTensors(Peers):
    """cryptotensors sorts tensors by offset before it verifies. Empty tensors at the same offset may be in any
    order."""

    def test_that_cryptotensors_reads_them_every_time(self) -> None:
        np = self.numpy
        for count in range(6):
            for guard in ("tensor", "none"):
                filled = {f"f{i}": np.ones(i + 1, "f8") for i in range(5)}
                self.tensors = filled | {f"e{i}": np.zeros((0, i), "u1" if i % 2 else "f8") for i in range(count)}
                self.save(guard=guard)
                for _ in range(10):
                    self.check(self.read_by_theirs(self.tensors))
                self.check(self.ours.load_file(self.path, **self.keys))

    def test_places(self) -> None:
        choices = random.Random(1)
        for _ in range(300):
            sizes = [choices.choice([0, 0, 1, 7]) for _ in range(choices.randrange(12))]
            items = list(enumerate(sizes))
            ordered = _cryptotensors.spread((item, item[1]) for item in items)
            self.assertEqual(sorted(ordered), items)
            self.assertEqual([item for item in ordered if item[1]], [item for item in items if item[1]])
            ends, places = 0, []
            for _, size in ordered:
                if size == 0:
                    places.append(ends)
                ends += size
            filled = len(sizes) - len(places)
            self.assertEqual(len(set(places)), min(len(places), filled + 1))
            if len(places) <= 1:
                self.assertEqual(ordered, items)
        many = _cryptotensors.spread([(0, 0)] * 100_000 + [(1, 1)] * 100_000)
        self.assertEqual(many[:4], [0, 1, 0, 1])


class Acceptance(Peers):
    """A header that the signer wrote is accepted here if and only if cryptotensors accepts it."""

    def signed(self, change: Callable[[dict[str, Any]], None], text: Any = None, data: Any = None) -> None:
        """Write a file with a changed header and cryptotensors' kind of signature. Then change the file's bytes."""
        self.tensors = {"a": self.numpy.arange(4, dtype="f4"), "b": self.numpy.arange(4, dtype="i4")}
        file = self.save(guard="none")
        begin = 8 + struct.unpack("<Q", file[:8])[0]
        header = json.loads(file[8:begin])
        change(header)
        metadata = header.pop("__metadata__")
        if isinstance(metadata, dict):
            metadata.pop("__signature__")
            unsigned = {"__metadata__": dict(sorted(metadata.items())), **header}
            signature = b64(_jwk.sign(self.keys["sign_key"], _jwk.compact(unsigned)))
            metadata = dict(sorted({**metadata, "__signature__": signature}.items()))
        made = _jwk.compact({"__metadata__": metadata, **header})
        made += b" " * (-len(made) % 8)
        made = text(made) if text else made
        content = data(file[begin:]) if data else file[begin:]
        self.path.write_bytes(struct.pack("<Q", len(made)) + made + content)

    def read_by_ours(self, names: Any) -> dict[str, Any]:
        with self.ours.safe_open(self.path, **self.keys) as file:
            return {name: file.get_tensor(name) for name in names}

    def outcomes(self, names: Any = ("a", "b")) -> list[Any]:
        refused = (
            exceptions.FormatError,
            exceptions.InvalidSignature,
            exceptions.InvalidTag,
            self.theirs.SafetensorError,
        )
        found: list[Any] = []
        for read in (self.read_by_ours, self.read_by_theirs):
            try:
                found.append({name: (str(array.dtype), array.tobytes()) for name, array in read(names).items()})
            except refused:
                found.append(None)
        return found

    def keys_without(self, field: str) -> Callable[[dict[str, Any]], None]:
        def change(header: dict[str, Any]) -> None:
            about = json.loads(header["__metadata__"]["__crypto_keys__"])
            del about[field]
            header["__metadata__"]["__crypto_keys__"] = json.dumps(about, separators=(",", ":"))

        return change

    def encryption(self, edit: Callable[[dict[str, Any]], Any]) -> Callable[[dict[str, Any]], None]:
        def change(header: dict[str, Any]) -> None:
            encryption = json.loads(header["__metadata__"]["__encryption__"])
            edit(encryption["a"])
            header["__metadata__"]["__encryption__"] = json.dumps(encryption, separators=(",", ":"))

        return change

    def test_shapes_of_no_memory(self) -> None:
        """An empty tensor has a shape that no framework creates. The file opens, and the other tensor can be read."""
        for shape in ([0, 1 << 62], [0, 1 << 40, 1 << 40]):

            def change(header: dict[str, Any], shape: Any = shape) -> None:
                header["b"].update(shape=shape, data_offsets=[16, 16])

            self.signed(change, None, lambda data: data[:16])
            ours, theirs = self.outcomes("a")
            self.assertIsNotNone(ours)
            self.assertEqual(ours, theirs)
            with self.ours.safe_open(self.path, **self.keys) as file:
                self.assertRaisesRegex(exceptions.FormatError, "too large", file.get_tensor, "b")

    def test_what_both_open(self) -> None:
        cases: dict[str, Callable[[dict[str, Any]], None]] = {
            "as it is": lambda header: None,
            "no chunk size": self.keys_without("chunk_size"),
            "the longest chunks": lambda header: header["__metadata__"].update(
                __crypto_keys__=header["__metadata__"]["__crypto_keys__"].replace("2097152", str(2**64 - 1))
            ),
            "metadata named like fields": lambda header: header["__metadata__"].update(
                dtype="F32", shape="[4]", data_offsets="[0,16]", a='"dtype":"F32"'
            ),
            "spaces in __encryption__": lambda header: header["__metadata__"].update(
                __encryption__=json.dumps(json.loads(header["__metadata__"]["__encryption__"]), indent=1)
            ),
            "more fields in __encryption__": self.encryption(lambda fields: fields.update(enc_algo="aes256gcm")),
            "more metadata": lambda header: header["__metadata__"].update(__more="x", ä="\u2028\0"),
            "a different dtype of the same size": lambda header: header["a"].update(dtype="U32"),
            "complex": lambda header: header["a"].update(dtype="C64", shape=[2]),
            "another shape": lambda header: header["a"].update(shape=[2, 1, 2]),
        }
        for name, change in cases.items():
            self.signed(change)
            ours, theirs = self.outcomes()
            self.assertIsNotNone(ours, name)
            self.assertEqual(ours, theirs, name)

    def test_what_both_refuse(self) -> None:
        cases: dict[str, Any] = {
            "a number in metadata": (lambda header: header["__metadata__"].update(x=1),),
            "null in metadata": (lambda header: header["__metadata__"].update(x=None),),
            "metadata in a list": (lambda header: header.update(__metadata__=[])),
            "a field missing in __encryption__": (self.encryption(lambda fields: fields.pop("key_tag")),),
            "a number in __encryption__": (self.encryption(lambda fields: fields.update(key_iv=1)),),
            "__encryption__ is not an object": (
                lambda header: header["__metadata__"].update(__encryption__='{"a":1}'),
            ),
            "no signature key": (self.keys_without("sign"),),
            "a key that is a number": (
                lambda header: header["__metadata__"].update(
                    __crypto_keys__=re.sub('"enc":{[^}]*}', '"enc":5', header["__metadata__"]["__crypto_keys__"])
                ),
            ),
            "a number as a key's name": (
                lambda header: header["__metadata__"].update(
                    __crypto_keys__=header["__metadata__"]["__crypto_keys__"].replace('"kid":"enc"', '"kid":5')
                ),
            ),
            "unknown dtype": (lambda header: header["a"].update(dtype="F33"),),
            "a gap": (lambda header: header["b"].update(data_offsets=[17, 33]), None, lambda data: data + b"x"),
            "an overlap": (lambda header: header["b"].update(data_offsets=[12, 28]), None, lambda data: data[:28]),
            "two tensors at the same position": (lambda header: header.update(c=header["a"]),),
            "appended": (lambda header: None, None, lambda data: data + b"attached"),
            "cut off": (lambda header: None, None, lambda data: data[:-1]),
            "negative": (lambda header: header["a"].update(shape=[-4], data_offsets=[16, 0]),),
            "a boolean as a number": (lambda header: header["a"].update(shape=[True, 4]),),
            "a fraction": (lambda header: header["a"].update(shape=[4.0]),),
            "three offsets": (lambda header: header["a"].update(data_offsets=[0, 16, 16]),),
            "no shape": (lambda header: header["a"].pop("shape"),),
            "a shape of a different size": (lambda header: header["a"].update(shape=[5]),),
            "a shape that overflows": (
                lambda header: header["a"].update(shape=[2**40, 2**40, 0], data_offsets=[0, 0]),
            ),
            "half a byte": (lambda header: header["a"].update(dtype="F4", shape=[33]),),
            "a field twice": (
                lambda header: None,
                lambda text: self.twice(text, b'"shape":['),
            ),
            "chunks of no bytes": (
                lambda header: header["__metadata__"].update(
                    __crypto_keys__=header["__metadata__"]["__crypto_keys__"].replace("2097152", "0")
                ),
            ),
        }
        for name, case in cases.items():
            self.signed(*(case if isinstance(case, tuple) else (case,)))
            self.assertEqual(self.outcomes(), [None, None], name)

    @staticmethod
    def twice(text: bytes, member: bytes) -> bytes:
        end = text.index(b"}" if member.endswith(b"{") else b"]", text.index(member)) + 1
        copied = text[text.index(member) : end]
        made = text.replace(member, copied + b"," + member, 1).rstrip()
        return made + b" " * (-len(made) % 8)

    def test_names_that_are_signed_twice(self) -> None:
        """With two tensors of the same name, the result would depend on the reader."""
        self.signed(lambda header: None)
        file = self.path.read_bytes()
        begin = 8 + struct.unpack("<Q", file[:8])[0]
        for member in (b'"a":{', b'"shape":['):
            made = bytearray(self.twice(file[8:begin], member))
            _ = _sealed_file.take_signature(made)
            signature = b64(_jwk.sign(self.keys["sign_key"], made)).encode()
            text = bytes(made).replace(b'"__policy__"', b'"__signature__":"' + signature + b'","__policy__"', 1)
            text += b" " * (-len(text) % 8)
            self.path.write_bytes(struct.pack("<Q", len(text)) + text + file[begin:])
            with self.assertRaisesRegex(exceptions.FormatError, "twice"):
                self.ours.safe_open(self.path, **self.keys)

    def test_bytes_that_are_not_those_that_were_signed(self) -> None:
        """cryptotensors verifies the parsed header. warpaes refuses any bytes other than the signed bytes."""
        texts: dict[str, Callable[[bytes], bytes]] = {
            "spaces before": lambda text: b" " * 8 + text,
            "more spaces after": lambda text: text + b" " * 8,
            "line feeds after": lambda text: text.rstrip() + b"\n" * (8 + -len(text.rstrip()) % 8),
            "not a multiple of 8": lambda text: text.rstrip() + b" " * (-len(text.rstrip()) % 8 + 1),
            "spaces within": lambda text: text.replace(b'"dtype":', b'"dtype": ', 1).rstrip().ljust(len(text) + 8),
            "escapes": lambda text: text.replace(b'"shape"', b'"\\u0073hape"', 1).rstrip().ljust(len(text) + 8),
            "a tensor twice": lambda text: self.twice(text, b'"a":{'),
            "another order": lambda text: text.replace(b'"dtype":"F32","shape":[4]', b'"shape":[4],"dtype":"F32"', 1),
        }
        for name, text in texts.items():
            self.signed(lambda header: None, text)
            ours, theirs = self.outcomes()
            self.assertIsNone(ours, name)
            self.assertIsNotNone(theirs, name)

    def test_dtypes_without_a_place_in_numpy(self) -> None:
        """The file opens, and the other tensors can be read."""
        for dtype, shape in (("F4", [32]), ("F6_E2M3", [4, 4]), ("F8_E8M0", [16]), ("F8_E4M3", [2, 8]), ("BF16", [8])):
            stop = 12 if dtype.startswith("F6") else 16

            def change(header: dict[str, Any], dtype: str = dtype, shape: Any = shape, stop: int = stop) -> None:
                header["b"].update(dtype=dtype, shape=shape, data_offsets=[16, 16 + stop])

            self.signed(change, None, lambda data, stop=stop: data[: 16 + stop])
            ours, theirs = self.outcomes(["a"])
            self.assertIsNotNone(ours, dtype)
            self.assertEqual(ours, theirs, dtype)
            with self.ours.safe_open(self.path, **self.keys) as file:
                self.assertEqual((file.get_slice("b").get_dtype(), file.get_slice("b").get_shape()), (dtype, shape))
                with self.assertRaisesRegex(TypeError, "NumPy"):
                    file.get_tensor("b")


class Limits(Peers):
    def test_a_model_in_clear(self) -> None:
        self.path.write_bytes(self.plain_numpy.save(self.tensors, {"format": "np"}))
        for framework, module in (("np", "numpy"), ("pt", "torch")):
            with self.assertRaisesRegex(
                exceptions.FormatError,
                f"^{self.path} is not encrypted .*; open it with safetensors.{module}.load_file$",
            ):
                self.ours.safe_open(self.path, framework, **self.keys, allow_clear=True)
        for header in ({}, {"__metadata__": None}, {"__metadata__": {"__signature": "x"}}):
            text = json.dumps(header).encode().ljust(48)
            self.path.write_bytes(struct.pack("<Q", len(text)) + text)
            with self.assertRaisesRegex(exceptions.FormatError, "is not encrypted"):
                self.ours.load_file(self.path, **self.keys)
        self.path.write_bytes(self.plain_numpy.save({}))
        with self.assertRaisesRegex(exceptions.FormatError, "is not encrypted"):
            self.ours.load_file(self.path, **self.keys)

    def test_the_longest_header(self) -> None:
        most = 100_000_000
        with open(self.path, "wb") as file:
            file.write(struct.pack("<Q", most + 8))
            file.truncate(8 + most + 8)
        with self.assertRaisesRegex(exceptions.FormatError, "the format allows at most 100000000"):
            self.ours.safe_open(self.path, **self.keys)
        with self.assertRaisesRegex(self.plain.SafetensorError, "header too large"):
            self.plain.safe_open(self.path, "np")
        os.remove(self.path)
        with (
            unittest.mock.patch.object(self.ours, "MAX_HEADER_BYTES", 1000),
            self.assertRaisesRegex(ValueError, "write several files"),
        ):
            self.save()
        self.assertEqual(os.listdir(self.folder), [])

    def test_alignment(self) -> None:
        """The data begins at a multiple of 8 bytes, and each tensor begins at a multiple of its element size."""
        np = self.numpy
        self.tensors = {
            f"{dtype} {n}": np.zeros(n, dtype) for dtype in ("u1", "f2", "f4", "f8", "c8") for n in (0, 1, 3)
        }
        for guard in ("tensor", "header", "none"):
            file = self.save(guard=guard)
            begin = 8 + struct.unpack("<Q", file[:8])[0]
            self.assertEqual(begin % 8, 0)
            for name, entry in json.loads(file[8:begin]).items():
                if name in self.tensors:
                    size = min(self.tensors[name].itemsize, 8)
                    self.assertEqual(entry["data_offsets"][0] % size, 0, name)


class Slices(Peers):
    def test_as_safetensors(self) -> None:
        """Random indices select the same parts and cause the same errors as in safetensors."""
        np = self.numpy
        self.tensors = {"a": np.arange(60.0).reshape(5, 3, 4), "b": np.arange(7), "c": np.array(1.5)}
        self.save()
        other = self.folder / "plain"
        self.plain_numpy.save_file(self.tensors, other)
        choices = random.Random(3)

        def index() -> Any:
            ends = sorted(choices.choice([0, 1, 2, 3, 4, 6]) for _ in range(2))
            part = slice(*(choices.choice([None, end]) for end in ends))
            kinds = [part, choices.randrange(-6, 7), slice(None)]
            return choices.choice(kinds)

        with self.ours.safe_open(self.path, **self.keys) as mine, self.plain.safe_open(other, "np") as plain:
            for _ in range(500):
                name = choices.choice("abc")
                indices = tuple(index() for _ in range(choices.randrange(3)))
                wanted: Any = indices[0] if len(indices) == 1 else indices
                if choices.random() < 0.1:
                    wanted = choices.choice([[], [1]])
                results: list[Any] = []
                for file in (mine, plain):
                    part = file.get_slice(name)
                    try:
                        results.append(part[wanted].tolist())
                    except (IndexError, self.plain.SafetensorError) as error:
                        results.append(str(error))
                if isinstance(results[1], str):
                    self.assertIsInstance(results[0], str, (name, wanted))
                else:
                    self.assertEqual(results[0], results[1], (name, wanted))
            self.assertEqual(mine.get_slice("a").get_shape(), plain.get_slice("a").get_shape())
            self.assertEqual(mine.get_slice("a").get_dtype(), plain.get_slice("a").get_dtype())
            self.assertEqual(mine.offset_keys(), plain.offset_keys())


if __name__ == "__main__":
    unittest.main()
