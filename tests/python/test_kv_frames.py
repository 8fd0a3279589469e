"""Compares frames of encrypted KV caches with pyca and, if it is installed, LMCache."""

from __future__ import annotations

import copy
import importlib
import multiprocessing
import os
import pickle
import signal
import struct
import subprocess
import sys
import threading
import types
import unittest
from typing import Any
from unittest import mock

import warpaes
from support import needed, new_folder
from warpaes.exceptions import Error, FormatError, InvalidTag


def ivs_of_child(queue: Any, seed: int) -> None:
    from warpaes._kv_frames import Frames, ObjectName

    frames = Frames(1, [(0, bytes(32))])
    queue.put([sealed(frames, bytes(4), ObjectName(b"", "", 0, 0, ""))[1:13] for _ in range(100)])


def sealed(frames: Any, plain: bytes, name: Any) -> bytes:
    frame = bytearray(len(plain) + frames.overhead)
    assert frames.seal(plain, frame, name) == len(frame)
    return bytes(frame)


class KvFrames(unittest.TestCase):
    def setUp(self) -> None:
        needed("cryptography")
        self.module = importlib.import_module("warpaes._kv_frames")
        self.name = self.module.ObjectName(b"hash", "org/model", 3, 1, "tenant")
        self.keyset = warpaes.Keyset.generate()

    def opened(self, frames: Any, frame: Any, size: int, name: Any = None) -> bytes:
        plain = bytearray(b"\xee" * size)
        try:
            frames.open(frame, plain, name or self.name)
        except (InvalidTag, FormatError):
            self.assertEqual(plain, bytes(size), "wiped")
            raise
        return bytes(plain)

    def frames(self) -> list[Any]:
        return [
            self.module.Frames(1, [(0, b"master")], 16),
            self.module.Frames(1, [(0, b"master")], 32),
            self.module.Frames.of_keyset(self.keyset),
        ]

    def test_lengths(self) -> None:
        for frames in self.frames():
            for size in (0, 1, 15, 16, 17, 1023, 1024, 65536, 1 << 20, (1 << 20) + 3):
                plain = os.urandom(size)
                frame = sealed(frames, plain, self.name)
                self.assertEqual(len(frame), size + (29 if frames.version == 1 else 33))
                self.assertEqual(self.opened(frames, frame, size), plain)
                self.assertEqual(self.opened(frames, frame + b"padding", size), plain)

    def test_pyca_opens_both_and_the_reverse(self) -> None:
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

        plain = os.urandom(5000)
        for bits in (128, 256):
            frames = self.module.Frames(1, [(0, b"master secret")], bits // 8)
            key = HKDF(hashes.SHA256(), bits // 8, None, b"lmcache-l2-aesgcm-v1" + b"tenant").derive(b"master secret")
            frame = sealed(frames, plain, self.name)
            self.assertEqual((frame[0], AESGCM(key).decrypt(frame[1:13], frame[13:], None)), (1, plain))
            theirs = b"\1" + bytes(12) + AESGCM(key).encrypt(bytes(12), plain, None)
            self.assertEqual(self.opened(frames, theirs, len(plain)), plain)
        frames = self.module.Frames(2, [(7, b"secret"), (9, b"older")])
        bound = b"warpaes kv 2 " + b"".join(
            struct.pack(">Q", len(part)) + part for part in (b"hash", b"org/model", b"tenant")
        )
        bound += struct.pack(">qq", 3, 1)
        for number, secret in ((7, b"secret"), (9, b"older")):
            key = HKDF(hashes.SHA256(), 32, None, b"warpaes kv 2 tenant").derive(secret)
            theirs = b"\2" + struct.pack(">I", number) + bytes(12) + AESGCM(key).encrypt(bytes(12), plain, bound)
            self.assertEqual(self.opened(frames, theirs, len(plain)), plain)
        frame = sealed(frames, plain, self.name)
        key = HKDF(hashes.SHA256(), 32, None, b"warpaes kv 2 tenant").derive(b"secret")
        self.assertEqual(AESGCM(key).decrypt(frame[5:17], frame[17:], bound), plain)

    def test_who_writes_the_storage(self) -> None:
        """Flipped bits, truncated frames, a different tenant's frame and a different object's second frame are
        refused."""
        plain = os.urandom(64)
        for frames in self.frames():
            frame = sealed(frames, plain, self.name)
            for at in range(len(frame)):
                altered = bytearray(frame)
                altered[at] ^= 1
                with self.assertRaises((InvalidTag, FormatError)):
                    self.opened(frames, altered, 64)
            for size in range(len(frame)):
                with self.assertRaises(FormatError):
                    self.opened(frames, frame[:size], 64)
            for size in (0, 63, 65, 1 << 30):
                with self.assertRaises((InvalidTag, FormatError)):
                    frames.open(frame, bytearray(min(size, 1 << 20)), self.name)
            with self.assertRaises(InvalidTag):
                self.opened(frames, frame, 64, self.name._replace(cache_salt="other"))
            others = [
                self.name._replace(**change)
                for change in (
                    {"chunk_hash": b"hash2"},
                    {"model_name": "org/model2"},
                    {"kv_rank": 4},
                    {"object_group_id": 2},
                    {"chunk_hash": b"hashorg", "model_name": "/model"},
                )
            ]
            for other in others:
                if frames.version == 1:  # LMCache's frame does not bind the name
                    self.assertEqual(self.opened(frames, frame, 64, other), plain)
                else:
                    with self.assertRaises(InvalidTag):
                        self.opened(frames, frame, 64, other)

    def test_keys(self) -> None:
        frames = self.module.Frames.of_keyset(self.keyset)
        frame = sealed(frames, b"text", self.name)
        rotated = warpaes.Keyset.parse(self.keyset.to_json())
        rotated.promote(rotated.add("AES256_GCM_HKDF_1MB"))
        self.assertEqual(self.opened(self.module.Frames.of_keyset(rotated), frame, 4), b"text")
        with self.assertRaisesRegex(FormatError, "not in the keyset"):
            self.opened(self.module.Frames.of_keyset(warpaes.Keyset.generate()), frame, 4)
        for arguments in ((3, [(0, b"x")]), (1, []), (1, [(0, b"")]), (1, [(0, b"x")], 24)):
            with self.assertRaises(ValueError):
                self.module.Frames(*arguments)
        with self.assertRaisesRegex(ValueError, "requires 37"):
            frames.seal(b"text", bytearray(36), self.name)
        for wrong in ("text", 5, None):
            with self.assertRaises(TypeError):
                frames.seal(wrong, bytearray(99), self.name)

    def test_the_budget_of_random_ivs(self) -> None:
        frames = self.module.Frames(2, [(1, b"secret")])
        with mock.patch.object(self.module, "MOST_OBJECTS", 3):
            for _ in range(3):
                sealed(frames, b"x", self.name)
            frame = bytearray(b"\xee" * 34)
            with self.assertRaisesRegex(Error, "2\\^32"):
                frames.seal(b"x", frame, self.name)
            self.assertEqual(frame[1:], b"\xee" * 33 if frame[0] == 0xEE else frame[1:])
            sealed(frames, b"x", self.name._replace(cache_salt="another"))

    def test_clients_that_choose_many_tenants(self) -> None:
        """Clients that choose many tenants do not use unlimited memory, and a key that was dropped does not restart its
        count at 0."""
        for opens in (False, True):
            frames = self.module.Frames(2, [(1, b"secret")])
            with mock.patch.object(self.module, "MOST_TENANTS", 4), mock.patch.object(self.module, "MOST_OBJECTS", 3):
                for _ in range(2):
                    sealed(frames, b"x", self.name)
                for i in range(20):
                    name = self.name._replace(cache_salt=str(i))
                    if opens:
                        with self.assertRaises(InvalidTag):
                            self.opened(frames, b"\2\0\0\0\1" + bytes(29), 1, name)
                    elif i < 4:
                        sealed(frames, b"x", name)
                    self.assertLessEqual(len(frames._keys), 4)
                self.assertNotIn((1, "tenant"), frames._keys)
                sealed(frames, b"x", self.name)
                with self.assertRaisesRegex(Error, "2\\^32"):
                    sealed(frames, b"x", self.name)

    def test_objects_whose_names_are_wrong(self) -> None:
        frames = self.module.Frames.of_keyset(self.keyset)
        frame = sealed(frames, b"text", self.name)
        for change, words in (
            ({"kv_rank": 1 << 63}, "kv_rank and"),
            ({"object_group_id": "1"}, "object_group_id must"),
            ({"cache_salt": "\ud800"}, "cache_salt must"),
            ({"model_name": None}, "model_name must"),
            ({"chunk_hash": 5}, "chunk_hash must"),
        ):
            name = self.name._replace(**change)
            with self.subTest(change):
                for use in (lambda: sealed(frames, b"text", name), lambda: frames.open(frame, bytearray(4), name)):  # noqa: B023
                    with self.assertRaisesRegex(ValueError, words):
                        use()

    def test_threads(self) -> None:
        frames = self.module.Frames.of_keyset(self.keyset)
        wrong: list[int] = []

        def work(number: int) -> None:
            name = self.name._replace(cache_salt=f"t{number % 2}")
            for i in range(100):
                plain = os.urandom(1000 + i)
                if self.opened(frames, sealed(frames, plain, name), len(plain), name) != plain:
                    wrong.append(number)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])
        self.assertEqual(sum(key.count for key in frames._keys.values()), 600)

    def test_no_iv_is_repeated_in_children(self) -> None:
        for how in ("fork", "spawn", "forkserver"):
            context = multiprocessing.get_context(how)
            queue = context.Queue()
            children = [context.Process(target=ivs_of_child, args=(queue, i)) for i in range(3)]
            for child in children:
                child.start()
            ivs = [iv for _ in children for iv in queue.get(timeout=60)]
            for child in children:
                child.join()
            self.assertEqual(len(set(ivs)), 300, how)

    def test_a_child_that_is_forked_while_a_thread_encrypts(self) -> None:
        """The parent's lock may be held during the fork, and no thread in the child would release it."""
        frames = self.module.Frames.of_keyset(self.keyset)
        with frames._lock:
            child = os.fork()
            if child == 0:
                signal.alarm(20)
                sealed(frames, b"text", self.name)
                os._exit(0)
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_keys_are_in_no_pickle(self) -> None:
        for frames in self.frames():
            for save in (pickle.dumps, copy.deepcopy):
                with self.assertRaises(TypeError):
                    save(frames)


class Lmcache(unittest.TestCase):
    """Tests with LMCache's own classes on both sides."""

    def setUp(self) -> None:
        try:
            self.theirs = importlib.import_module("lmcache.v1.distributed.serde.aesgcm")
        except ImportError as error:
            raise unittest.SkipTest(
                f"LMCache cannot be imported ({error.name}); machines that have it run this test"
            ) from None
        self.ours = importlib.import_module("warpaes.lmcache")
        self.folder = new_folder(self)
        self.master = self.folder / "master"
        self.master.write_bytes(os.urandom(32))
        self.master.chmod(0o600)
        api = importlib.import_module("lmcache.v1.distributed.api")
        self.key = api.ObjectKey(b"hash", "org/model", 2, 0, "tenant")

    @staticmethod
    def object_of(content: bytes | int) -> Any:
        return types.SimpleNamespace(byte_array=memoryview(bytearray(content)))

    def test_frames_of_both(self) -> None:
        for bits in (128, 256):
            provider = self.theirs.HkdfKeyProvider(self.master.read_bytes(), bits // 8, b"lmcache-l2-aesgcm-v1")
            sides = (
                (self.theirs.AesGcmSerializer(provider), self.theirs.AesGcmDeserializer(provider)),
                self.sides({"master_key_path": str(self.master), "aes_bits": bits}),
            )
            for size in (1024, 65537, 1 << 20, 256 << 20):
                plain = os.urandom(size)
                for writer, _ in sides:
                    frame = self.object_of(size + 29)
                    self.assertEqual(writer.serialize(self.object_of(plain), frame, self.key), size + 29)
                    for _, reader in sides:
                        out = self.object_of(size)
                        reader.deserialize(frame, out, self.key)
                        self.assertTrue(out.byte_array == plain)
                    frame.byte_array[40] ^= 1
                    for _, reader in sides:
                        with self.assertRaises(Exception) as caught:
                            reader.deserialize(frame, self.object_of(size), self.key)
                        self.assertEqual(type(caught.exception).__name__, "InvalidTag")

    def sides(self, options: dict[str, Any]) -> tuple[Any, Any]:
        processor = self.ours.create_serde(options)
        self.addCleanup(processor.close)
        return processor._serializer, processor._deserializer

    def test_through_lmcache_s_threads(self) -> None:
        torch = importlib.import_module("torch")
        factory = importlib.import_module("lmcache.v1.distributed.serde.factory")
        base = importlib.import_module("lmcache.v1.distributed.serde.base")
        api = importlib.import_module("lmcache.v1.distributed.api")
        warpaes.Keyset.generate().save(str(self.folder / "keyset"))
        config = base.SerdeConfig("warpaes", {"keyset": str(self.folder / "keyset")})
        processor = factory.create_serde_processor(config)
        self.addCleanup(processor.close)
        layout = api.MemoryLayoutDesc(shapes=[torch.Size([2, 100])], dtypes=[torch.bfloat16])
        size = processor.estimate_serialized_size(layout)
        self.assertEqual(size, 400 + 33)
        plains = [os.urandom(400) for _ in range(20)]
        keys = [api.ObjectKey(bytes([i]), "org/model", 0, 0, f"t{i % 3}") for i in range(20)]
        frames = [self.object_of(size) for _ in plains]
        for frame in frames:
            frame.set_used_size = lambda n: None
        self.assertTrue(self.done(processor.query_serialize_result, processor.submit_serialize(
            [self.object_of(plain) for plain in plains], frames, keys)))  # fmt: skip
        outs = [self.object_of(400) for _ in plains]
        task = processor.submit_deserialize(frames, outs, keys)
        self.assertTrue(self.done(processor.query_deserialize_result, task))
        self.assertEqual([bytes(out.byte_array) for out in outs], plains)
        task = processor.submit_deserialize(frames[:1], outs[:1], keys[1:2])  # exchanged objects are a cache miss
        self.assertFalse(self.done(processor.query_deserialize_result, task))

    @staticmethod
    def done(query: Any, task: Any) -> Any:
        for _ in range(2000):
            found = query(task)
            if found is not None:
                return found
            threading.Event().wait(0.005)
        raise AssertionError("it hangs")

    def test_options(self) -> None:
        for options, words in (
            ({}, "requires keyset"),
            ({"keyset": "a", "master_key_path": "b"}, "requires keyset"),
            ({"keyset": "a", "aes_bits": 256}, "aes_bits applies only"),
            ({"master_key_path": str(self.master), "aes_bits": 192}, "128 or 256"),
            ({"master_key_path": str(self.master), "aes_bits": 130}, "128 or 256"),
            ({"master_key_path": str(self.master), "key_provider": "keyring"}, "must be hkdf"),
            ({"master_key_path": 5}, "must be a path"),
            ({"keyset": "a", "key_provider": "hkdf"}, "key_provider applies only"),
            ({"keyset": 5}, "place of a keyset"),
            ({"keyset": "a", "max_workers": 0}, "positive integer"),
            ({"keysett": "a"}, "the option keysett is unknown"),
        ):
            with self.subTest(options), self.assertRaisesRegex(ValueError, words):
                self.ours.create_serde(options)
        with self.assertRaises(OSError):
            self.ours.create_serde({"master_key_path": str(self.folder / "none")})

    def test_a_module_of_lmcache_with_it(self) -> None:
        (self.folder / "probe.py").write_text(
            "from lmcache.v1.distributed.serde import get_registered_serde_types\n"
            "import sys\nprint(get_registered_serde_types(), sys.argv[1:])\n"
        )
        run = [sys.executable, "-m", "warpaes.lmcache", "probe", "--port", "1"]
        path = os.pathsep.join(filter(None, [str(self.folder), os.environ.get("PYTHONPATH", "")]))
        done = subprocess.run(run, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"'warpaes'.*\['--port', '1'\]")


if __name__ == "__main__":
    unittest.main()
