"""Tests encrypted model folders: encryption, refusals, and loading with transformers and diffusers."""

from __future__ import annotations

import contextlib
import copy
import functools
import importlib
import io
import json
import os
import pathlib
import pickle
import shutil
import struct
import sys
import types
import unittest
from typing import Any
from unittest import mock

import warpaes
from support import needed, new_folder, optional
from warpaes.exceptions import FormatError, InvalidSignature, InvalidTag, KeysetError

ROOT = pathlib.Path(__file__).resolve().parents[2]
REFUSED = (FormatError, InvalidTag, InvalidSignature, KeysetError)


class Case(unittest.TestCase):
    def setUp(self) -> None:
        needed("safetensors")
        needed("cryptography")
        self.numpy, self.plain = needed("numpy"), needed("safetensors.numpy")
        self.models: Any = importlib.import_module("warpaes.models")
        self.folder = new_folder(self)
        self.source, self.target = self.folder / "source", self.folder / "target"
        self.keyset = warpaes.Keyset.generate()
        self.key = self.folder / "keyset.json"
        self.keyset.save(str(self.key))

    def make(self) -> dict[str, Any]:
        """Write a model with three shards and an index, and a part in a subfolder."""
        random = self.numpy.random.default_rng(7)
        tensors: dict[str, Any] = {}
        index: dict[str, str] = {}
        self.source.mkdir()
        for i in range(3):
            shard = {f"layer.{i}.{n}": random.random((31, 17 + n), dtype="f4") for n in range(4)}
            shard[f"layer.{i}.empty"] = self.numpy.zeros((0, 5), dtype="i8")
            name = f"model-0000{i + 1}-of-00003.safetensors"
            self.plain.save_file(shard, self.source / name, {"format": "pt"})
            tensors |= shard
            index |= dict.fromkeys(shard, name)
        (self.source / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": index}))
        (self.source / "config.json").write_text('{"model_type": "any"}')
        (self.source / "adapter").mkdir()
        adapter = {"lora": random.random((3, 300000), dtype="f4")}
        self.plain.save_file(adapter, self.source / "adapter/adapter_model.safetensors")
        return tensors | adapter

    def encrypt(self) -> dict[str, Any]:
        tensors = self.make()
        self.models.encrypt(self.source, self.target, str(self.key))
        return tensors

    def load(self, **options: Any) -> dict[str, Any]:
        return dict(self.models.load(self.target, str(self.key), framework="numpy", **options))


class Folders(Case):
    def test_what_is_encrypted_comes_back(self) -> None:
        tensors = self.encrypt()
        found = self.load()
        self.assertEqual(found.keys(), tensors.keys())
        for name, tensor in tensors.items():
            self.assertEqual((found[name].dtype, found[name].tobytes()), (tensor.dtype, tensor.tobytes()))
            content = tensor.tobytes()
            if content:
                for path in self.target.rglob("*"):
                    self.assertFalse(path.is_file() and content[:64] in path.read_bytes(), path)
        self.assertEqual((self.target / "config.json").read_text(), '{"model_type": "any"}')
        self.assertEqual(self.models.verify(self.target, self.keyset), len(tensors))
        found = self.models.inspect(self.target)
        self.assertEqual((len(found["encrypted"]), len(found["in_clear"])), (4, 2))
        with self.assertRaises(needed("safetensors").SafetensorError):
            self.plain.load_file(self.target / "model-00001-of-00003.safetensors")
        self.assertEqual(self.target.stat().st_mode & 0o777, 0o700)

    def test_dtypes_that_numpy_lacks(self) -> None:
        self.source.mkdir()
        data = os.urandom(64)
        header = json.dumps({"b": {"dtype": "BF16", "shape": [32], "data_offsets": [0, 64]}}).encode()
        (self.source / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + data)
        self.models.encrypt(self.source, self.target, self.keyset)
        self.assertEqual(self.models.verify(self.target, self.keyset), 1)

    def test_links_of_a_cache(self) -> None:
        tensors = self.make()
        cache = self.folder / "hub/models--a"
        (cache / "snapshots").mkdir(parents=True)
        (cache / "blobs").mkdir()
        snapshot = self.source.rename(cache / "snapshots/0123")
        for number, path in enumerate(sorted(path for path in snapshot.rglob("*") if path.is_file())):
            path.rename(cache / f"blobs/{number}")
            path.symlink_to(os.path.relpath(cache / f"blobs/{number}", path.parent))
        self.models.encrypt(snapshot, self.target, self.keyset)
        self.assertFalse((self.target / "config.json").is_symlink())
        self.assertEqual(self.load().keys(), tensors.keys())

    def test_links_to_files_of_others(self) -> None:
        """A cloned model may contain a link to one of the user's keys. Without a check, the key would be copied
        unencrypted."""
        self.make()
        (self.folder / "id_rsa").write_text("secret")
        (self.source / "README.md").symlink_to("../id_rsa")
        with self.assertRaisesRegex(FormatError, "README.md is a link to a file outside"):
            self.models.encrypt(self.source, self.target, self.keyset)
        self.assertFalse(self.target.exists())
        self.models.encrypt(self.source, self.target, self.keyset, clear=["README.md"])
        shutil.rmtree(self.target)
        (self.source / "README.md").unlink()
        (self.source / "README.md").symlink_to("config.json")
        self.models.encrypt(self.source, self.target, self.keyset)
        self.assertFalse((self.target / "README.md").is_symlink())

    def test_a_part_of_the_tensors(self) -> None:
        tensors = self.encrypt()
        parts = [self.load(rank=rank, world_size=3) for rank in range(3)]
        self.assertEqual(sorted(name for part in parts for name in part), sorted(tensors))
        self.assertEqual(self.load(wanted=lambda name: name == "lora").keys(), {"lora"})
        with self.assertRaisesRegex(ValueError, "rank"):
            self.load(rank=3, world_size=3)
        with self.assertRaisesRegex(ValueError, "wanted"):
            self.load(wanted=bool, rank=0, world_size=2)

    def test_what_a_hub_keeps(self) -> None:
        tensors = self.make()
        for folder in (self.source, self.target):
            if folder is self.target:
                self.models.encrypt(self.source, self.target, self.keyset, clear=["odd.dat"])
                self.assertFalse((self.target / ".cache").exists())
            (folder / ".cache").mkdir()
            (folder / ".cache/x.lock").write_text("")
            (folder / ".gitattributes").write_text("*")
            (folder / "odd.dat").write_text("0")
        self.assertEqual(self.load().keys(), tensors.keys())
        for name in (".gitattributes.safetensors", ".gitignore.py", ".cache.py"):  # names that only share this prefix
            (self.target / name).write_text("x")
            with self.assertRaisesRegex(FormatError, "was added"):
                self.load()
            (self.target / name).unlink()

    def test_keys_are_in_no_pickle(self) -> None:
        self.encrypt()
        there = self.models.Folder(self.target, str(self.key))
        for each in (there, there.keys, there.open(there.shards[0], "numpy")):
            for save in (pickle.dumps, copy.deepcopy):
                with self.assertRaisesRegex(TypeError, "pickle"):
                    save(each)
        self.assertNotIn(there.keys.enc["k"], repr(there.keys) + str(vars(there)))

    def test_a_shard_that_is_exchanged_while_it_is_opened(self) -> None:
        """The manifest is compared with the file that was opened, not with the file that is at its path."""
        self.encrypt()
        other = self.folder / "other"
        self.models.encrypt(self.source, other, str(self.key))
        folder = self.models.Folder(self.target, self.keyset)
        name = folder.shards[1]
        module = importlib.import_module("warpaes.models._places")
        real = module.ranges_of

        def exchanged(path: str, reader: str) -> Any:
            kept = pathlib.Path(path).read_bytes()
            shutil.copy(other / name, path)
            file = real(path, reader)
            os.unlink(path)
            pathlib.Path(path).write_bytes(kept)
            return file

        with mock.patch.object(module, "ranges_of", exchanged), self.assertRaises(InvalidTag):
            folder.open(name, "numpy")

    def test_parts_with_equal_names(self) -> None:
        tensors = self.make()
        self.plain.save_file({"lora": tensors["lora"]}, self.source / "extra.safetensors")
        self.models.encrypt(self.source, self.target, self.keyset)
        with self.assertRaisesRegex(ValueError, "specify a subfolder"):
            self.load()
        self.assertEqual(self.load(subfolder="adapter").keys(), {"lora"})
        self.assertEqual(self.load(subfolder="").keys(), tensors.keys())

    def test_keysets(self) -> None:
        self.encrypt()
        rotated = warpaes.Keyset.parse(self.key.read_bytes())
        rotated.promote(rotated.add("AES256_GCM_HKDF_1MB"))
        self.assertEqual(self.models.verify(self.target, rotated), 16)
        with self.assertRaisesRegex(KeysetError, "no enabled key"):
            self.models.verify(self.target, warpaes.Keyset.generate())
        found = json.loads(self.key.read_text())
        found["key"][0]["keyData"] = json.loads(warpaes.Keyset.generate().to_json())["key"][0]["keyData"]
        with self.assertRaisesRegex(InvalidTag, "not authentic"):  # a different key with the same ID
            self.models.verify(self.target, warpaes.Keyset.parse(json.dumps(found)))

    def refused(self, words: str = "") -> None:
        """Check that no tensor is yielded, that verify fails, and that from_pretrained would fail."""
        yielded = []
        with self.assertRaisesRegex(REFUSED, words):
            for name, _ in self.models.load(self.target, str(self.key), framework="numpy"):
                yielded.append(name)
        self.assertEqual(yielded, [])
        with self.assertRaises(REFUSED):
            self.models.verify(self.target, str(self.key))

    def test_files_that_were_changed(self) -> None:
        self.encrypt()
        kept = self.folder / "kept"
        shutil.copytree(self.target, kept)
        first, second, third = sorted(self.target.glob("model-*.safetensors"))

        def swap(a: pathlib.Path, b: pathlib.Path) -> None:
            a.rename(self.folder / "x")
            b.rename(a)
            (self.folder / "x").rename(b)

        def rewrite(path: pathlib.Path, old: bytes, new: bytes) -> None:
            self.assertIn(old, path.read_bytes())
            path.write_bytes(path.read_bytes().replace(old, new))

        def plain() -> None:
            shutil.copy(self.source / second.name, second)

        def other_model() -> None:
            other = self.folder / "other"
            self.models.encrypt(self.source, other, str(self.key))
            shutil.copy(other / first.name, first)
            shutil.rmtree(other)

        index, manifest = self.target / "model.safetensors.index.json", self.target / "warpaes-model.json"
        for number, (change, words) in enumerate(
            (
                (lambda: second.unlink(), "is missing"),
                (lambda: second.rename(self.target / "model-00004-of-00003.safetensors"), "was added|is missing"),
                (lambda: shutil.copy(first, self.target / "adapter/more.safetensors"), "was added"),
                (lambda: (self.target / "modeling_any.py").write_text("print()"), "was added"),
                (lambda: (self.target / "link").symlink_to(first), "neither a regular file nor a folder"),
                (lambda: os.mkfifo(self.target / "pipe"), "neither a regular file nor a folder"),
                (lambda: swap(first, third), "altered or replaced"),
                (plain, "bytes"),
                (other_model, "altered or replaced"),
                (lambda: first.write_bytes(first.read_bytes()[:-1]), "bytes"),
                (lambda: first.write_bytes(first.read_bytes()[:20]), "has 20 bytes"),
                (lambda: first.write_bytes(b""), "has 0 bytes"),
                (lambda: first.write_bytes(first.read_bytes() + b"x"), "bytes"),
                (lambda: rewrite(first, b"[31,17]", b"[17,31]"), "altered or replaced"),
                (lambda: rewrite(first, b'"F32"', b'"I32"'), "altered or replaced"),
                (lambda: rewrite(index, b"layer.0.0", b"layer.0.9"), "altered"),
                (lambda: rewrite(self.target / "config.json", b"any", b"ant"), "altered"),
                (lambda: rewrite(manifest, b'"encrypted": true', b'"encrypted": truE'), "not the manifest"),
                (lambda: rewrite(manifest, b'"bytes": 21', b'"bytes": 22'), "not authentic"),
                (lambda: rewrite(manifest, b'"hmac_sha256": "', b'"hmac_sha256": "0'), "not authentic"),
                (lambda: manifest.write_bytes(b"[" * 100_000), "not the manifest"),
                (lambda: manifest.write_bytes(b"{}"), "not the manifest"),
                (lambda: rewrite(manifest, b'"key_id": ', b'"key_id": [], "x": '), "not the manifest"),
            )
        ):
            with self.subTest(number):
                change()  # type: ignore[no-untyped-call]
                self.refused(words)
            shutil.rmtree(self.target)
            shutil.copytree(kept, self.target)
        self.assertEqual(len(self.load()), 16)
        manifest.unlink()
        with self.assertRaises(FileNotFoundError):
            self.load()

    def test_a_tensor_that_was_changed(self) -> None:
        """Tags are checked when a tensor is read, so an altered tensor is not yielded."""
        self.encrypt()
        path = sorted(self.target.glob("model-*.safetensors"))[0]
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content)
        with self.assertRaisesRegex(InvalidTag, "layer"):
            self.load()
        with self.assertRaises(InvalidTag):
            self.models.verify(self.target, self.keyset)

    def test_folders_that_are_not_encrypted(self) -> None:
        for change, words in (
            (lambda: (self.source / "pytorch_model.bin").write_bytes(b"x"), "copied unencrypted"),
            (lambda: (self.source / "adapter/x.gguf").write_bytes(b"x"), "copied unencrypted"),
            (lambda: (self.source / "rust_model.ot").write_bytes(b"x"), "copied unencrypted"),
            (lambda: (self.source / "x.SAFETENSORS").write_bytes(b"x"), "copied unencrypted"),
            (lambda: (self.source / "weights").write_bytes(b"x"), "copied unencrypted"),
            (lambda: (self.source / "model-00002-of-00003.safetensors").unlink(), "is missing"),
            (lambda: (self.source / "model.safetensors.index.json").write_text("[]"), "not an index"),
            (
                lambda: (self.source / "model-00002-of-00003.safetensors").write_bytes(b"x" * 99),
                "not a safetensors file",
            ),
            (lambda: [path.unlink() for path in self.source.rglob("*.safetensors")], "has no"),
            (lambda: os.mkfifo(self.source / "pipe"), "neither a regular file nor a folder"),
        ):
            self.make()
            change()  # type: ignore[no-untyped-call]
            with self.subTest(words), self.assertRaisesRegex(FormatError, words):
                self.models.encrypt(self.source, self.target, self.keyset)
            self.assertEqual(sorted(os.listdir(self.folder)), ["keyset.json", "source"], "nothing is left")
            shutil.rmtree(self.source)
        self.encrypt()
        with self.assertRaises(FileExistsError):
            self.models.encrypt(self.source, self.target, self.keyset)
        with self.assertRaisesRegex(FormatError, "already"):
            self.models.encrypt(self.target, self.folder / "again", self.keyset)
        index = self.source / "model.safetensors.index.json"
        index.write_text(index.read_text().replace("layer.0.0", "layer.9.9"))
        with self.assertRaisesRegex(FormatError, "must be in both"):
            self.models.encrypt(self.source, self.folder / "again", self.keyset)

    def test_the_command(self) -> None:
        self.make()
        main = importlib.import_module("warpaes.models._command").main

        def run(*words: Any) -> tuple[int, str, str]:
            out, err = io.StringIO(), io.StringIO()
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                status = main([str(word) for word in words])
            return status, out.getvalue(), err.getvalue()

        status, out, _ = run("encrypt", "-k", self.key, self.source, self.target)
        self.assertEqual((status, out.count("unencrypted")), (0, 2))
        self.assertEqual(run("verify", "-k", self.key, self.target)[0], 0)
        self.assertEqual(json.loads(run("inspect", "--json", self.target)[1])["format"], "warpaes model 1")
        self.assertEqual(run("encrypt", "-k", self.key, self.source, self.target)[0], 17)
        (self.target / "config.json").write_text("{}")
        status, _, err = run("verify", "-k", self.key, self.target)
        self.assertEqual((status, "config.json" in err), (22, True))
        self.assertEqual(run("verify", "-k", self.folder / "none", self.target)[0], 16)
        self.assertEqual(run("inspect", self.source)[0], 16)
        # `inspect` prints the manifest's fields to a terminal without authenticating them.
        place = self.target / "warpaes-model.json"
        about = json.loads(place.read_text().partition("\n")[0])
        name = "model-00001-of-00003.safetensors"
        shard, escape = about["files"][name], "\x1b[2J"
        changes: list[dict[str, Any]] = [{"key_id": escape}]
        changes += [{"files": {"a": each}} for each in (shard | {"bytes": escape}, shard | {"encrypted": escape}, [])]
        for change in changes:
            place.write_text(json.dumps(about | change) + "\n")
            self.assertEqual(run("inspect", self.target)[0], 21, change)
        place.write_text(json.dumps(about | {"files": {"\x1b[2J": about["files"][name]}}) + "\n")
        status, out, _ = run("inspect", self.target)
        self.assertEqual((status, "\x1b" in out, "x1b[2J" in out), (0, False, True))


class Unlocked(Case):
    def open_all(self, folder: pathlib.Path) -> None:
        """Read the shards that a folder's index lists, as ``from_pretrained`` does."""
        index = json.loads((folder / "model.safetensors.index.json").read_text())
        for name, shard in index["weight_map"].items():
            with needed("safetensors").safe_open(str(folder / shard), framework="numpy") as file:
                file.get_tensor(name)

    def test_a_configuration_above_an_encrypted_folder(self) -> None:
        """An attacker nests the encrypted folder in a folder with a forged config.json, and with an index that points
        to the encrypted shards or outside."""
        self.encrypt()
        inner = self.folder / "sub"
        self.target.rename(inner)
        self.target.mkdir()
        inner = inner.rename(self.target / "sub")
        index = json.loads((inner / "model.safetensors.index.json").read_text())
        index["weight_map"] = {name: f"sub/{shard}" for name, shard in index["weight_map"].items()}
        (self.target / "model.safetensors.index.json").write_text(json.dumps(index))
        (self.target / "config.json").write_text('{"auto_map": "an attacker\'s"}')
        began = False
        with self.assertRaises(FileNotFoundError), self.models.unlocked(str(self.key), self.target):
            began = True
        self.assertFalse(began)
        shutil.copy(inner / "warpaes-model.json", self.target)
        with self.assertRaisesRegex(FormatError, "is missing"), self.models.unlocked(str(self.key), self.target):
            began = True
        self.assertFalse(began)
        words = "is not an encrypted file of the model"
        with self.assertRaisesRegex(FormatError, words), self.models.unlocked(str(self.key), inner):
            index["weight_map"] = {"any": "../../other/model.safetensors"}
            (inner / "model.safetensors.index.json").write_text(json.dumps(index))
            self.open_all(inner)

    def test_a_folder_is_checked_before_its_block(self) -> None:
        self.encrypt()
        block = functools.partial(self.models.unlocked, str(self.key), self.target)
        with block():
            self.open_all(self.target)
        with self.assertRaisesRegex(FormatError, "was opened within"), block():
            pass
        with self.assertRaisesRegex(FormatError, "added.py was added"), block():
            self.open_all(self.target)
            (self.target / "added.py").write_text("evil")
        (self.target / "added.py").unlink()
        (self.target / "config.json").write_text('{"auto_map": "an attacker\'s"}')
        began = False
        with self.assertRaises(InvalidTag), block():
            began = True
        self.assertFalse(began)

    def test_safetensors_itself(self) -> None:
        safetensors = needed("safetensors")
        torch = optional("torch")
        loaded = importlib.import_module("safetensors.torch")
        tensors = self.encrypt()
        original = safetensors.safe_open
        by_another_name: Any = types.ModuleType("by_another_name")
        by_another_name.its = torch.load
        sys.modules["by_another_name"] = by_another_name
        self.addCleanup(sys.modules.pop, "by_another_name")
        path = str(self.target / "model-00001-of-00003.safetensors")
        with self.models.unlocked(str(self.key)):
            with safetensors.safe_open(path, framework="pt", device="cpu") as file:
                self.assertEqual(
                    file.get_slice("layer.0.1")[2:5].numpy().tobytes(), tensors["layer.0.1"][2:5].tobytes()
                )
                self.assertEqual(file.metadata(), {"format": "pt"})
            self.assertEqual(len(loaded.load_file(path)), 5)
            with self.assertRaisesRegex(FormatError, "not in an encrypted model folder"):
                loaded.load_file(str(self.source / "model-00001-of-00003.safetensors"))
            with self.assertRaisesRegex(RuntimeError, "another block"), self.models.unlocked(str(self.key)):
                pass
            content = (self.source / "model-00001-of-00003.safetensors").read_bytes()
            for read in (loaded.load, self.plain.load, safetensors.deserialize):
                with self.assertRaisesRegex(FormatError, "deserialize: reads unauthenticated"):
                    read(content)
            for read in (torch.load, torch.serialization.load, by_another_name.its):
                with self.assertRaisesRegex(FormatError, r"torch\.load: nothing"):
                    read(self.folder / "any.pt")
        self.assertEqual(len(loaded.load(content)), 5)
        self.assertIs(by_another_name.its, torch.load)
        self.assertIs(torch.serialization.load, torch.load)
        self.assertIs(safetensors.safe_open, original)
        self.assertIs(loaded.safe_open, original)
        with self.assertRaises(safetensors.SafetensorError):
            loaded.load_file(path)
        with self.assertRaises(InvalidTag), self.models.unlocked(str(self.key)):
            loaded.load_file(path)
            (self.target / "config.json").write_text("{}")

    def test_transformers(self) -> None:
        torch = optional("torch")
        transformers = optional("transformers")
        config = transformers.LlamaConfig(
            vocab_size=64, hidden_size=64, intermediate_size=128, num_hidden_layers=4, num_attention_heads=4,
            num_key_value_heads=2, max_position_embeddings=64,
        )  # fmt: skip
        torch.manual_seed(1)
        for dtype in (torch.float32, torch.bfloat16):
            with self.subTest(dtype):
                model = transformers.LlamaForCausalLM(config).to(dtype).eval()
                model.save_pretrained(self.source, max_shard_size="100KB")
                self.assertGreater(len(list(self.source.glob("*.safetensors"))), 3)
                self.models.encrypt(self.source, self.target, str(self.key))
                text = torch.arange(20).reshape(1, 20)
                with torch.no_grad():
                    clear = transformers.AutoModelForCausalLM.from_pretrained(self.source, dtype=dtype)
                    want = clear.eval()(text).logits
                    with self.models.unlocked(str(self.key), self.target):
                        again = transformers.AutoModelForCausalLM.from_pretrained(self.target, dtype=dtype)
                    self.assertTrue(torch.equal(again.eval()(text).logits, want))
                with self.assertRaises(needed("safetensors").SafetensorError):
                    transformers.AutoModelForCausalLM.from_pretrained(self.target)
                shard = sorted(self.target.glob("*.safetensors"))[2]
                content = bytearray(shard.read_bytes())
                content[-1] ^= 1
                shard.write_bytes(content)
                with self.assertRaises(InvalidTag), self.models.unlocked(str(self.key)):
                    transformers.AutoModelForCausalLM.from_pretrained(self.target, dtype=dtype)
            shutil.rmtree(self.source)
            shutil.rmtree(self.target)

    def test_weights_in_clear_in_their_place(self) -> None:
        """An attacker replaces the shards with pickles, which transformers loads as a fallback."""
        torch = optional("torch")
        transformers = optional("transformers")
        config = transformers.LlamaConfig(
            vocab_size=64, hidden_size=64, intermediate_size=64, num_hidden_layers=1, num_attention_heads=2
        )
        model = transformers.LlamaForCausalLM(config)
        model.save_pretrained(self.source)
        self.models.encrypt(self.source, self.target, str(self.key))
        for path in self.target.glob("*.safetensors"):
            path.unlink()
        torch.save(model.state_dict(), self.target / "pytorch_model.bin")
        original = torch.load
        with self.assertRaisesRegex(FormatError, "torch.load"), self.models.unlocked(str(self.key)):
            transformers.AutoModelForCausalLM.from_pretrained(self.target)
        self.assertIs(torch.load, original)
        with self.assertRaisesRegex(FormatError, "was opened within"), self.models.unlocked(str(self.key)):
            pass

    def test_diffusers(self) -> None:
        torch = optional("torch")
        diffusers = optional("diffusers")
        torch.manual_seed(2)
        model = diffusers.AutoencoderKL(block_out_channels=(32,), norm_num_groups=8, latent_channels=2).eval()
        model.save_pretrained(self.source / "vae")
        self.models.encrypt(self.source, self.target, str(self.key))
        image = torch.rand(1, 3, 16, 16)
        with self.models.unlocked(str(self.key)):
            again = diffusers.AutoencoderKL.from_pretrained(self.target, subfolder="vae").eval()
        with torch.no_grad():
            self.assertTrue(torch.equal(again(image).sample, model(image).sample))

    def test_accelerate(self) -> None:
        torch = optional("torch")
        accelerate = optional("accelerate")
        optional("transformers")
        model = torch.nn.Sequential(torch.nn.Linear(40, 40), torch.nn.Linear(40, 4))
        accelerate.Accelerator().save_model(model, str(self.source), max_shard_size="4KB")
        self.models.encrypt(self.source, self.target, str(self.key))
        again = torch.nn.Sequential(torch.nn.Linear(40, 40), torch.nn.Linear(40, 4))
        with self.models.unlocked(str(self.key), self.target):
            accelerate.load_checkpoint_in_model(again, str(self.target))
        for name, tensor in model.state_dict().items():
            self.assertTrue(torch.equal(again.state_dict()[name], tensor))

    def test_torch_devices_and_dtypes(self) -> None:
        torch = optional("torch")
        tensors = self.encrypt()
        found = dict(self.models.load(self.target, self.keyset, dtype=torch.float16))
        self.assertEqual(found["lora"].dtype, torch.float16)
        self.assertEqual(found["layer.0.empty"].dtype, torch.int64)
        self.assertTrue(torch.equal(found["lora"], torch.from_numpy(tensors["lora"]).to(torch.float16)))


if __name__ == "__main__":
    unittest.main()
