#!/usr/bin/env python3
"""Tests KV blocks and other messages under separate keys, in device memory on the simulated GPU and in host memory."""

from __future__ import annotations

import array
import unittest
import unittest.mock
from typing import Any

import fake_torch
import warpaes
from support import main_on_simulated_gpu, needed
from test_device import KEY, Part, bytes_of, on_device, text
from warpaes import Memory
from warpaes.aead import AESCCM, AESGCM
from warpaes.exceptions import Error, FormatError

NONCES = [bytes([number]) * 12 for number in range(5)]
LENGTHS = (4096, 1, 0, 17, 1000)


class Enqueued(unittest.TestCase):
    """Tests of AESGCM.enqueue_into with several keys in the same call."""

    def setUp(self) -> None:
        fake_torch.install()
        self.ciphers = [AESGCM(bytes([number]) * length) for number, length in enumerate((16, 32, 24, 16, 32))]
        self.bound = [b"", b"a", b"bc", bytes(100), b"d"]
        self.offsets = array.array("Q", [0, 4096, 4100, 4100, 4120])
        self.lengths = array.array("Q", LENGTHS)
        self.plain = text(6000)

    def parts(self, data: bytes) -> list[bytes]:
        return [data[at : at + size] for at, size in zip(self.offsets, self.lengths)]

    def encrypt(self, data: Any, out: Any, tags: Any, **options: Any) -> None:
        places = (self.offsets, self.lengths)
        AESGCM.enqueue_into("encrypt", self.ciphers, NONCES, data, *places, out, tags, self.bound, **options)

    def decrypt(self, data: Any, out: Any, tags: Any, **options: Any) -> None:
        places = (self.offsets, self.lengths)
        AESGCM.enqueue_into("decrypt", self.ciphers, b"".join(NONCES), data, *places, out, tags, self.bound, **options)

    def test_both_ways(self) -> None:
        for in_place in (True, False):
            data, tags, statuses = on_device(self.plain), Memory(16 * 5, "device"), on_device(b"\xff" * 20)
            out = data if in_place else Memory(6000, "device")
            self.encrypt(data, out, tags)
            expected = [
                cipher.encrypt(nonce, part, aad)
                for cipher, nonce, part, aad in zip(self.ciphers, NONCES, self.parts(self.plain), self.bound)
            ]
            found = self.parts(bytes_of(out, 0, 6000))
            tag_bytes = bytes_of(tags, 0, 80)
            for number, whole in enumerate(expected):
                self.assertEqual(found[number] + tag_bytes[16 * number : 16 * number + 16], whole, number)
            for its_tags in (tags, tag_bytes):
                back = Memory(6000, "device")
                self.decrypt(out, back, its_tags, statuses=statuses)
                self.assertEqual(bytes_of(statuses, 0, 20), bytes(20))
                self.assertEqual(self.parts(bytes_of(back, 0, 6000)), self.parts(self.plain))

    def test_ciphers_that_are_made_for_each_access(self) -> None:
        class Made(list[AESGCM]):
            def __getitem__(self, number: Any) -> Any:
                return AESGCM(bytes([number]) * 16)

        self.ciphers = Made([AESGCM(KEY)] * 5)
        data, tags = on_device(self.plain), Memory(16 * 5, "device")
        self.encrypt(data, data, tags)
        expected = AESGCM(bytes(16)).encrypt(NONCES[0], self.plain[:4096], b"")
        self.assertEqual(bytes_of(data, 0, 4096) + bytes_of(tags, 0, 16), expected)

    def test_what_is_altered_is_told_and_wiped(self) -> None:
        data, tags, statuses = on_device(self.plain), Memory(16 * 5, "device"), Memory(20, "device")
        self.encrypt(data, data, tags)
        altered = bytearray(bytes_of(tags, 0, 80))
        altered[16 * 3] ^= 1
        self.bound[0] = b"another name"
        self.decrypt(data, data, bytes(altered), statuses=statuses)
        self.assertEqual(array.array("i", bytes_of(statuses, 0, 20)).tolist(), [22, 0, 0, 22, 0])
        found, expected = self.parts(bytes_of(data, 0, 6000)), self.parts(self.plain)
        self.assertEqual((found[0], found[3]), (bytes(4096), bytes(17)))
        self.assertEqual((found[1], found[4]), (expected[1], expected[4]))

    def test_tensors_are_told_of_the_stream(self) -> None:
        memory, tags = on_device(self.plain), Memory(80, "device")
        data = fake_torch.Tensor(memory.address, 6000, "cuda", memory)
        stream = fake_torch.Stream(1)
        self.encrypt(data, data, tags, stream=stream)
        self.assertIn(stream, data.recorded)

    def test_mistakes(self) -> None:
        data, tags, statuses = on_device(self.plain), Memory(80, "device"), Memory(20, "device")

        def refused(kind: type[Exception], words: str, action: Any, *arguments: Any, **options: Any) -> None:
            with self.assertRaisesRegex(kind, words):
                action(*arguments, **options)

        refused(ValueError, "one 32-bit integer for each message", self.encrypt, data, data, tags, statuses=statuses)
        refused(ValueError, "one 32-bit integer for each message", self.decrypt, data, data, tags)
        refused(ValueError, "statuses must be", self.decrypt, data, data, tags, statuses=Memory(16, "device"))
        refused(ValueError, "must be in device memory", self.encrypt, data, data, bytearray(80))
        refused(ValueError, "must be in device", self.decrypt, data, data, tags, statuses=bytearray(20))
        host = bytearray(6000)
        refused(ValueError, "submit_into", self.encrypt, host, host, bytearray(80))
        refused(ValueError, "buffer must be 6000", self.encrypt, data, Memory(5999, "device"), tags)
        refused(ValueError, "tags must be 80", self.encrypt, data, data, Memory(64, "device"))
        refused(BufferError, "read-only", self.encrypt, data, Part(data, 0, 6000, writable=False), tags)
        for number, other in ((0, AESCCM(KEY)), (4, None), (2, KEY)):
            kept, self.ciphers[number] = self.ciphers[number], other  # type: ignore[call-overload]
            refused(TypeError, "objects of this class", self.encrypt, data, data, tags)
            self.ciphers[number] = kept
        self.ciphers.append(self.ciphers[0])
        refused(ValueError, "one object for each message", self.encrypt, data, data, tags)
        self.ciphers.pop()
        self.lengths[4] = 5000
        refused(ValueError, "message 4 extends past", self.encrypt, data, data, tags)
        self.lengths[4], self.offsets[4] = 1, 2**64 - 1
        refused(ValueError, "message 4 extends past", self.encrypt, data, data, tags)
        self.offsets[4] = 10  # inside the first message
        refused(ValueError, "overlap", self.encrypt, data, data, tags)
        self.assertEqual(bytes_of(data, 0, 6000), self.plain, "nothing was done")


class Blocks(unittest.TestCase):
    """Tests of warpaes.kv with tensors like PyTorch's, in both kinds of memory."""

    def setUp(self) -> None:
        needed("cryptography")
        needed("numpy")
        fake_torch.install()
        from warpaes import kv
        from warpaes._kv_frames import Frames

        self.kv, self.keyset = kv, warpaes.Keyset.generate()
        self.blocks, self.frames = kv.Blocks(self.keyset), Frames.of_keyset(self.keyset)
        self.names = [kv.ObjectName(bytes([n]), "model", 0, n, f"tenant {n % 2}") for n in range(4)]

    def tensor(self, data: bytes, device: str) -> Any:
        made = fake_torch.empty(len(data), dtype=fake_torch.DType(1), device=device, pin_memory=device == "cpu")
        if data:
            warpaes.copy(made, data)
        return made

    def content(self, tensor: Any) -> bytes:
        out = bytearray(tensor.nbytes)
        if out:
            warpaes.copy(out, tensor)
        return bytes(out)

    def statuses(self, tensor: Any) -> list[int]:
        return array.array("i", self.content(tensor)).tolist()

    def test_a_block_is_a_frame(self) -> None:
        """The code for frames opens a block that was encrypted on the GPU, and vice versa."""
        for device in ("cuda", "cpu"):
            data = self.tensor(text(4000), device)
            seals = self.blocks.encrypt(data, self.names)
            sealed = self.content(data)
            for number, name in enumerate(self.names):
                block = sealed[1000 * number : 1000 * number + 1000]
                plain = bytearray(1000)
                self.frames.open(seals.frame(number, block), plain, name)
                self.assertEqual(plain, text(4000)[1000 * number : 1000 * number + 1000])
            frame = bytearray(1000 + self.frames.overhead)
            self.frames.seal(text(1000), frame, self.names[0])
            stored = self.kv.Seals.from_bytes(bytes(frame[1:17]) + bytes(frame[-16:]))
            back = self.tensor(bytes(frame[17:-16]), device)
            self.assertEqual(self.statuses(self.blocks.decrypt(back, stored, self.names[:1])), [0])
            self.assertEqual(self.content(back), text(1000))

    def test_stored_seals(self) -> None:
        for device in ("cuda", "cpu"):
            data, out = self.tensor(text(4000), device), self.tensor(bytes(4000), device)
            seals = self.blocks.encrypt(data, self.names, out=out)
            self.assertEqual(self.content(data), text(4000))
            stored = self.kv.Seals.from_bytes(bytes(seals))
            self.assertEqual((len(stored), bytes(stored)), (4, bytes(seals)))
            self.assertEqual(self.statuses(self.blocks.decrypt(out, stored, self.names, out=data)), [0] * 4)
            some = self.tensor(self.content(out)[2000:3000] + self.content(out)[:1000], device)
            chosen, names = seals.select([2, 0]), [self.names[2], self.names[0]]
            self.assertEqual(self.statuses(self.blocks.decrypt(some, chosen, names)), [0, 0])
            self.assertEqual(self.content(some), text(4000)[2000:3000] + text(1000))
        with self.assertRaisesRegex(FormatError, "32 bytes for each block"):
            self.kv.Seals.from_bytes(bytes(33))

    def test_what_is_altered_is_wiped(self) -> None:
        for device in ("cuda", "cpu"):
            data = self.tensor(text(4000), device)
            seals = self.blocks.encrypt(data, self.names)
            sealed = self.content(data)
            # Two blocks of a tenant are exchanged, and one block belongs to a different tenant.
            swapped = sealed[2000:3000] + sealed[1000:2000] + sealed[:1000] + sealed[3000:]
            found = self.tensor(swapped, device)
            exchanged = seals.select([2, 1, 0, 3])
            self.assertEqual(self.statuses(self.blocks.decrypt(found, exchanged, self.names)), [22, 0, 22, 0])
            plain = text(4000)
            expected = bytes(1000) + plain[1000:2000] + bytes(1000) + plain[3000:]
            self.assertEqual(self.content(found), expected)
            other = self.kv.Blocks(warpaes.Keyset.generate())
            with self.assertRaisesRegex(FormatError, "not in the keyset"):
                other.decrypt(data, seals, self.names)
            names = [name._replace(cache_salt="another") for name in self.names]
            self.assertEqual(self.statuses(self.blocks.decrypt(data, seals, names)), [22] * 4)
            self.assertEqual(self.content(data), bytes(4000))

    def test_a_rotated_keyset(self) -> None:
        data = self.tensor(text(4000), "cuda")
        seals = self.blocks.encrypt(data, self.names)
        self.keyset.promote(self.keyset.add("AES256_GCM_HKDF_1MB"))
        rotated = self.kv.Blocks(self.keyset)
        self.assertNotEqual(rotated.encrypt(self.tensor(b"", "cuda"), []).key_ids, seals.key_ids)
        self.assertEqual(self.statuses(rotated.decrypt(data, seals, self.names)), [0] * 4)

    def noted_calls(self) -> list[tuple[Any, ...]]:
        """Return a list that receives the calls of the library and PyTorch's copies and events."""
        enqueue = AESGCM.enqueue_into

        def noted(direction: str, ciphers: list[AESGCM], *rest: Any, **options: Any) -> None:
            fake_torch.work.append((direction, len(ciphers), options.get("more"), options.get("first_copied")))
            enqueue(direction, ciphers, *rest, **options)

        patched = unittest.mock.patch.object(self.kv, "AESGCM", unittest.mock.Mock(enqueue_into=noted))
        patched.start()
        self.addCleanup(patched.stop)
        fake_torch.work.clear()
        return fake_torch.work

    def test_parts(self) -> None:
        """A store begins with a call for a few blocks. A fetch begins with a copy of most blocks. The library copies
        the others."""
        kept = self.kv.PART_BYTES, self.kv.FETCHED
        self.addCleanup(lambda: [setattr(self.kv, *each) for each in zip(("PART_BYTES", "FETCHED"), kept)])
        for part, fetched, stores, fetches in (
            (1000, 1, [(1, True), (3, False)], 3),
            (1999, 2, [(1, True), (3, False)], 1),
            (2000, 1, [(2, True), (2, False)], 2),
            (100, 1, [(1, True), (3, False)], 3),
            (3000, 4, [(4, False)], 0),
            (*kept, [(4, False)], 0),
        ):
            with self.subTest(part=part, fetched=fetched):
                self.kv.PART_BYTES, self.kv.FETCHED = part, fetched
                data, host = self.tensor(text(4000), "cuda"), self.tensor(bytes(4000), "cpu")
                steps = self.noted_calls()
                seals = self.blocks.store(data, self.names, host)
                self.assertEqual(steps[:-1], [("encrypt", *each, None) for each in stores])
                self.assertEqual(steps.pop()[0], "record")
                sealed = self.content(host)
                self.assertEqual(sealed, self.content(data))
                self.assertNotIn(text(4000)[:16], sealed)
                back = self.tensor(bytes(4000), "cuda")
                steps.clear()
                statuses = self.blocks.fetch(host, seals, self.names, back)
                self.assertEqual(steps[:-1], [("copy", "cuda", 1000 * fetches), ("decrypt", 4, None, fetches)])
                self.assertEqual((self.statuses(statuses), self.content(back)), ([0] * 4, text(4000)))
                self.assertEqual(self.content(host), sealed)

    def test_host_memory_is_kept_until_the_copies_end(self) -> None:
        data, host = self.tensor(text(4000), "cuda"), self.tensor(bytes(4000), "cpu")
        self.kv.Blocks._copied.clear()
        with unittest.mock.patch.object(fake_torch.Event, "query", lambda event: False):
            self.kv.Blocks(self.keyset).store(data, self.names, host)
            self.assertEqual(len(self.kv.Blocks._copied), 1, "after the instance is deleted")
            self.kv.Blocks._copied.clear()
            for count in (1, 2):
                self.blocks.store(data, self.names, host)
                self.assertEqual([kept.address for _, kept in self.blocks._copied], [host.address] * count)
        other = self.tensor(bytes(4000), "cpu")
        self.blocks.store(data, self.names, other)
        self.assertEqual([kept.address for _, kept in self.blocks._copied], [other.address])

    def test_a_failure_after_the_first_part(self) -> None:
        """The call waits for the copy of the first part, because the current stream does not wait for it."""
        self.kv.PART_BYTES, kept = 1000, self.kv.PART_BYTES
        self.addCleanup(setattr, self.kv, "PART_BYTES", kept)
        data, host = self.tensor(text(4000), "cuda"), self.tensor(bytes(4000), "cpu")
        steps = self.noted_calls()
        places = self.kv._places
        with (
            unittest.mock.patch.object(
                self.kv, "_places", lambda size, blocks: places(size, blocks) if blocks.start == 0 else 1 // 0
            ),
            self.assertRaises(ZeroDivisionError),
        ):
            self.blocks.store(data, self.names, host)
        self.assertEqual(steps, [("encrypt", 1, True, None), ("synchronize",)])
        self.assertEqual(self.content(data)[1000:], text(4000)[1000:])
        self.assertEqual(self.content(host)[1000:], bytes(3000))
        self.assertEqual(self.content(host)[:1000], self.content(data)[:1000])
        self.assertNotEqual(self.content(host)[:1000], text(4000)[:1000])

    def test_memory_that_is_not_page_locked(self) -> None:
        data, host = self.tensor(text(4000), "cuda"), fake_torch.empty(4000, dtype=fake_torch.DType(1))
        warpaes.copy(host, bytes(4000))
        with self.assertRaisesRegex(ValueError, "host: must be page-locked memory; use pin_memory=True"):
            self.blocks.store(data, self.names, host)
        seals = self.blocks.encrypt(self.tensor(text(4000), "cuda"), self.names)
        with self.assertRaisesRegex(ValueError, "host: must be page-locked memory; use pin_memory=True"):
            self.blocks.fetch(host, seals, self.names, data)
        self.assertEqual((self.content(data), self.content(host)), (text(4000), bytes(4000)))

    def test_altered_blocks_in_host_memory(self) -> None:
        """The statuses are in the order of the blocks."""
        for device in ("cuda", "cpu"):
            data, host = self.tensor(text(4000), device), self.tensor(bytes(4000), "cpu")
            seals = self.blocks.store(data, self.names, host)
            altered = bytearray(self.content(host))
            altered[1000] ^= 1
            altered[3999] ^= 1
            warpaes.copy(host, bytes(altered))
            for its in (seals, self.kv.Seals.from_bytes(bytes(seals))):
                statuses = self.blocks.fetch(host, its, self.names, data)
                self.assertEqual(self.statuses(statuses), [0, 22, 0, 22])
                expected = text(4000)[:1000] + bytes(1000) + text(4000)[2000:3000] + bytes(1000)
                self.assertEqual(self.content(data), expected)

    def test_results_belong_to_the_stream(self) -> None:
        """Memory that the current stream has freed may still be in use on that stream, and the work is on a different
        stream."""
        data, stream = self.tensor(text(4000), "cuda"), fake_torch.Stream(0)
        seals = self.blocks.encrypt(data, self.names, stream=stream)
        statuses = self.blocks.decrypt(data, seals, self.names, stream=stream)
        self.assertEqual([each.made_on for each in (seals.tags, statuses)], [stream] * 2)
        self.assertEqual((self.statuses(statuses), self.content(data)), ([0] * 4, text(4000)))

    def test_a_name_that_is_not_valid_changes_nothing(self) -> None:
        """An invalid name of a later block also changes nothing. Otherwise, the seals of the earlier blocks would be
        lost."""
        data, host = self.tensor(text(4000), "cuda"), self.tensor(bytes(4000), "cpu")
        with self.assertRaisesRegex(ValueError, "64-bit"):
            self.blocks.store(data, [*self.names[:3], self.names[3]._replace(kv_rank=2**63)], host)
        self.assertEqual((self.content(data), self.content(host)), (text(4000), bytes(4000)))

    def test_a_graph_would_repeat_the_ivs(self) -> None:
        data, host = self.tensor(text(4000), "cuda"), self.tensor(bytes(4000), "cpu")
        sealed = self.tensor(text(4000), "cuda")
        seals = self.blocks.store(sealed, self.names, host)
        with unittest.mock.patch.object(
            fake_torch.sys.modules["torch"].cuda, "is_current_stream_capturing", lambda: True
        ):
            for call in (
                lambda: self.blocks.store(data, self.names, host),
                lambda: self.blocks.encrypt(data, self.names),
                lambda: self.blocks.encrypt(data, self.names, stream=fake_torch.Stream(1)),
            ):
                self.assertRaisesRegex(RuntimeError, "same IVs", call)
            self.assertEqual(self.content(data), text(4000))
            self.assertEqual(self.statuses(self.blocks.decrypt(sealed, seals, self.names)), [0] * 4)

    def test_in_host_memory(self) -> None:
        data, host = self.tensor(text(4000), "cpu"), self.tensor(bytes(4000), "cpu")
        seals = self.blocks.store(data, self.names, host)
        self.assertEqual(self.content(host), self.content(data))
        back = self.tensor(bytes(4000), "cpu")
        self.assertEqual(self.statuses(self.blocks.fetch(host, seals, self.names, back)), [0] * 4)
        self.assertEqual(self.content(back), text(4000))

    def test_ivs_and_their_budget(self) -> None:
        import warpaes._kv_frames as frames

        ivs = [self.blocks.encrypt(self.tensor(text(4000), "cuda"), self.names).ivs for _ in range(50)]
        each = [part[12 * number : 12 * number + 12] for part in ivs for number in range(4)]
        self.assertEqual(len(set(each)), 200)
        with unittest.mock.patch.object(frames, "MOST_OBJECTS", 101):
            data = self.tensor(text(4000), "cuda")
            with self.assertRaisesRegex(Error, "rotate the keyset"):
                self.blocks.encrypt(data, self.names)
            self.assertEqual(self.content(data), text(4000))

    def test_a_budget_that_ends_in_a_later_block_changes_nothing(self) -> None:
        import warpaes._kv_frames as frames

        data, host = self.tensor(text(4000), "cuda"), self.tensor(bytes(4000), "cpu")
        with (
            unittest.mock.patch.object(frames, "MOST_OBJECTS", 1),  # each of two tenants has two blocks
            self.assertRaisesRegex(Error, "rotate the keyset"),
        ):
            self.blocks.store(data, self.names, host)
        self.assertEqual((self.content(data), self.content(host)), (text(4000), bytes(4000)))

    def test_mistakes(self) -> None:
        data = self.tensor(text(4000), "cuda")
        seals = self.blocks.encrypt(data, self.names)
        for words, action in (
            ("divided into 3 blocks", lambda: self.blocks.encrypt(data, self.names[:3])),
            ("divided into 0 blocks", lambda: self.blocks.encrypt(data, [])),
            ("as large as", lambda: self.blocks.encrypt(data, self.names, out=self.tensor(bytes(3999), "cuda"))),
            ("same device", lambda: self.blocks.encrypt(data, self.names, out=self.tensor(bytes(4000), "cpu"))),
            ("4 seals do not match", lambda: self.blocks.decrypt(data, seals, self.names[:2])),
            ("4 seals do not match", lambda: self.blocks.fetch(self.tensor(b"", "cpu"), seals, self.names[:2], data)),
            ("as large as data", lambda: self.blocks.store(data, self.names, self.tensor(bytes(10), "cpu"))),
            ("12 and 16 bytes", lambda: self.kv.Seals([1], bytes(12), self.tensor(bytes(15), "cpu"))),
            ("UTF-8", lambda: self.blocks.encrypt(data, [name._replace(model_name=1) for name in self.names])),
            (
                "wrong type",
                lambda: self.blocks.encrypt(data, [name._replace(cache_salt=[]) for name in self.names]),
            ),
        ):
            with self.subTest(words), self.assertRaisesRegex(ValueError, words):
                action()


if __name__ == "__main__":
    main_on_simulated_gpu()
