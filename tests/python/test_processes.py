#!/usr/bin/env python3
"""Tests that each process has one engine. It is created when it is needed, created again in a child of fork, and
destroyed cleanly at exit."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
import shutil
import subprocess
import sys
import threading
import unittest

import warpaes
from support import needed, new_folder, run_python
from warpaes import exceptions
from warpaes.aead import AESGCM
from warpaes.ciphers import Cipher, algorithms, modes

NONCE = bytes(12)
DATA = bytes(1 << 20)
GCM = AESGCM(bytes(16))


def seal(number: int) -> bytes:
    return GCM.encrypt(NONCE, DATA + bytes([number]), None)[-16:]


class Import(unittest.TestCase):
    def test_nothing_else_is_loaded(self) -> None:
        said = run_python(
            "import sys, threading, warpaes\n"
            "print([name for name in ('numpy', 'torch', 'fsspec', 'cryptography', 'asyncio') if name in sys.modules])\n"
            "import os\n"
            "print(len(os.listdir('/proc/self/task')))"
        )
        self.assertEqual(said.split("\n")[:2], ["[]", "1"])

    def test_the_backend_can_be_chosen(self) -> None:
        said = run_python(
            "import warpaes\n"
            "warpaes.configure(backend='libcrypto', threads=1)\n"
            "from warpaes.aead import AESGCM\n"
            "print(AESGCM(bytes(16)).encrypt(bytes(12), b'', None).hex())"
        )
        self.assertEqual(said.strip(), GCM.encrypt(NONCE, b"", None).hex())

    def test_a_backend_that_is_not_there(self) -> None:
        said = run_python(
            "import warpaes\n"
            "from warpaes.exceptions import Error\n"
            "for backend in ('abacus', None):\n"
            "    try:\n"
            "        warpaes.configure(backend=backend)\n"
            "        print('made')\n"
            "    except Error as error:\n"
            "        print(error)"
        )
        self.assertIn("abacus", said.split("\n")[0])
        self.assertEqual(said.split("\n")[1], "made")

    def test_what_cannot_be_had_is_forgotten(self) -> None:
        said = run_python(
            "import warpaes\n"
            "from warpaes.exceptions import Error\n"
            "for wrong in ({'backend': 'abacus'}, {'backend': 'abacus', 'threads': 1 << 40}):\n"
            "    try: warpaes.configure(**wrong)\n"
            "    except (Error, ValueError): pass\n"
            "    else: print('made')\n"
            "from warpaes.aead import AESGCM\n"
            "print(AESGCM(bytes(16)).encrypt(bytes(12), b'', None).hex())"
        )
        self.assertEqual(said.strip(), GCM.encrypt(NONCE, b"", None).hex())

    def test_numbers_that_no_device_has(self) -> None:
        for device in (-2, 1 << 31, 1 << 32):
            said = run_python(
                f"import warpaes\ntry: warpaes.configure(device={device})\nexcept ValueError as error: print(error)"
            )
            self.assertIn(f"not {device}", said)
        for size in (0, -1, 1 << 63, (1 << 64) + 16):
            with self.assertRaisesRegex(ValueError, "nbytes"):
                warpaes.Memory(size)

    def test_other_interpreters_are_refused(self) -> None:
        said = run_python(
            "import importlib.util, sys\n"
            "names = [n for n in ('_interpreters', '_xxsubinterpreters') if importlib.util.find_spec(n)]\n"
            "if not names: sys.exit(print('none here'))\n"
            "interpreters = __import__(names[0])\n"
            "program = 'try: import warpaes\\nexcept ImportError: print(\"refused\", flush=True)'\n"
            "for _ in range(2):\n"
            "    interpreters.run_string(interpreters.create(), program)\n"
            "    import warpaes\n"
            "from warpaes.aead import AESGCM\n"
            "try: AESGCM(bytes(16)).decrypt(bytes(12), bytes(20), None)\n"
            "except warpaes.exceptions.InvalidTag: print('still works')"
        )
        if said == "none here\n":
            self.skipTest("this Python does not support subinterpreters; Python 3.8 or later runs this test")
        self.assertEqual(said, "refused\nrefused\nstill works\n")

    def test_what_there_is(self) -> None:
        names = [backend["name"] for backend in warpaes.backends()]
        self.assertIn("libcrypto", names)

    def test_end_with_work_in_flight(self) -> None:
        run_python(
            "import threading, warpaes\n"
            "from warpaes.aead import AESGCM\n"
            "gcm, data = AESGCM(bytes(16)), bytes(1 << 22)\n"
            "def work():\n"
            "    while True: gcm.encrypt(bytes(12), data, None)\n"
            "for _ in range(3): threading.Thread(target=work, daemon=True).start()\n"
            "batch = gcm.submit('encrypt', [i.to_bytes(12, 'big') for i in range(9)], [data] * 9)\n"
            "import time; time.sleep(0.2)"
        )


class Fork(unittest.TestCase):
    def in_child(self, action: object) -> str:
        """Run an action in a child of fork and return its output."""
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                said = str(action())  # type: ignore[operator]
            except BaseException as error:
                said = f"{type(error).__name__}: {error}"
            os.write(write, said.encode())
            os._exit(0)
        os.close(write)
        with os.fdopen(read) as pipe:
            said = pipe.read()
        os.waitpid(child, 0)
        return said

    def test_generators_of_random_keys_make_other_numbers(self) -> None:
        given, drawn = warpaes.Generator(bytes(16)), warpaes.Generator()
        spawned = drawn.spawn(7)
        expected = warpaes.Generator(bytes(16)).bytes(32)
        self.assertEqual(drawn.bytes(32), type(drawn)(drawn._key).bytes(32))
        childs = [self.in_child(lambda of=of: of.bytes(32).hex()) for of in (given, drawn, spawned) for _ in range(2)]
        self.assertEqual(childs[:2], [expected.hex()] * 2)
        ours = [drawn.bytes(32).hex(), spawned.bytes(32).hex()]
        self.assertEqual(len({*childs[2:], *ours}), 6)
        self.assertEqual(self.in_child(lambda: (drawn.bytes(1), drawn.position)[1]), "16")

    def test_copies_of_generators(self) -> None:
        class Own(warpaes.Generator):
            def __init__(self, name: str) -> None:
                super().__init__()
                self.name = name

        for original in (warpaes.Generator(), warpaes.Generator().spawn(3), Own("x")):
            original.bytes(16)
            for make in (copy.copy, copy.deepcopy, lambda of: copy.copy(copy.copy(of))):
                copied = make(original)
                self.assertIs(type(copied), type(original))
                self.assertEqual(copied.position, original.position)
                at = original.position
                self.assertEqual(copied.bytes(16), original.bytes(16))
                original.position = at
                self.assertEqual(copied.position, at + 16)  # each copy has a separate position
                copied.position = at
                childs = [
                    self.in_child(lambda of=of: of.bytes(16).hex()) for of in (copied, original) for _ in range(2)
                ]
                self.assertEqual(len({*childs, copied.bytes(16).hex()}), 5)
        given = warpaes.Generator(bytes(16))
        self.assertEqual(self.in_child(lambda: copy.copy(given).bytes(16).hex()), given.bytes(16).hex())
        for of in (given, warpaes.Generator()):
            for dump in (pickle.dumps, lambda of: pickle.dumps([of]), lambda of: of.__reduce_ex__(2)):
                with self.assertRaisesRegex(TypeError, "the pickle would contain its key; .* send a key"):
                    dump(of)

    def test_keys_and_classes_go_on(self) -> None:
        expected = seal(1)
        self.assertEqual(self.in_child(lambda: seal(1) == expected), "True")

    def test_a_child_of_a_child(self) -> None:
        expected = seal(2)
        self.assertEqual(self.in_child(lambda: self.in_child(lambda: seal(2) == expected)), "True")

    def test_what_belongs_to_the_parents_engine(self) -> None:
        context = Cipher(algorithms.AES(bytes(16)), modes.CTR(bytes(16))).encryptor()
        context.update(b"x")
        self.assertIn("created before fork", self.in_child(lambda: context.update(b"x")))
        batch = GCM.submit("encrypt", [NONCE], [b"x"])
        self.assertIn("created before fork", self.in_child(batch.result))
        self.assertEqual(len(context.update(b"x")), 1)
        self.assertEqual(batch.result(), [GCM.encrypt(NONCE, b"x", None)])

    def test_a_child_cannot_be_given_the_parents_file(self) -> None:
        import io

        keyset = warpaes.Keyset.generate()
        file = io.BytesIO()
        with warpaes.open(file, "wb", keyset=keyset) as writer:
            writer.write(b"text")
        reader = warpaes.open(file, keyset=keyset)
        self.assertIn("created before fork", self.in_child(reader.read))
        self.assertEqual(reader.read(), b"text")

    def test_while_others_are_at_work(self) -> None:
        stop = threading.Event()

        def work() -> None:
            while not stop.is_set():
                seal(0)

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        try:
            expected = seal(3)
            for _ in range(10):
                self.assertEqual(self.in_child(lambda: seal(3) == expected), "True")
        finally:
            stop.set()
            for thread in threads:
                thread.join()

    def test_multiprocessing(self) -> None:
        expected = [seal(i) for i in range(4)]
        with multiprocessing.get_context("fork").Pool(2) as pool:
            self.assertEqual(pool.map(seal, range(4)), expected)

    def test_configure_in_a_child(self) -> None:
        seal(0)
        self.assertEqual(self.in_child(lambda: warpaes.configure(backend="libcrypto") or len(seal(0))), "16")


class Commands(unittest.TestCase):
    """The memory of these processes contains keys. No other process of the user may read the memory, and no core file
    may contain it."""

    def setUp(self) -> None:
        needed("fsspec")
        needed("pyarrow")
        self.folder = new_folder(self)
        # Python imports this module at startup, also in workers. It records its findings when a file is opened.
        (self.folder / "sitecustomize.py").write_text(
            "import ctypes, os, resource, sys\n"
            "def hook(event, arguments):\n"
            "    if event != 'open' or os.environ['WATCHED'] not in str(arguments[0]): return\n"
            "    found = ctypes.CDLL(None).prctl(3, 0, 0, 0, 0), *resource.getrlimit(resource.RLIMIT_CORE)\n"
            "    log = os.open(os.environ['LOG'], os.O_WRONLY | os.O_APPEND | os.O_CREAT)\n"
            "    os.write(log, f'{os.getpid()} {found}\\n'.encode())\n"
            "    os.close(log)\n"
            "sys.addaudithook(hook)\n"
        )
        self.key = self.folder / "keyset.json"
        self.key.write_bytes(warpaes.Keyset.generate("AES256_GCM_HKDF_4KB").to_json())
        self.key.chmod(0o600)
        (self.folder / "source").mkdir()
        (self.folder / "source" / "watched").write_bytes(b"text")

    def found(self, watched: str, *command: str) -> list[str]:
        """Return, by process, the findings from every time that a file with this text in its name was opened."""
        log = self.folder / "log"
        log.unlink(missing_ok=True)
        path = f"{self.folder}:{os.environ.get('PYTHONPATH', '')}"
        environment = os.environ | {"PYTHONPATH": path, "WATCHED": watched, "LOG": str(log)}
        done = subprocess.run(
            [sys.executable, "-B", *command], env=environment, capture_output=True, text=True, timeout=200
        )
        self.assertTrue(log.exists(), done.stdout + done.stderr)
        return log.read_text().splitlines()

    def test_all(self) -> None:
        from warpaes import keysources

        kek = self.folder / "kek"
        kek.write_bytes(keysources.generate_kek())
        target = str(self.folder / "target")
        script = self.folder / "script"  # a script like those that pip creates
        script.write_text(
            "import sys\nfrom warpaes.__main__ import main\nif __name__ == '__main__': sys.exit(main())\n"
        )
        encrypt = ("bulk", "encrypt", str(self.folder / "source"), target, "-k", str(self.key), "-q", "--workers", "2")
        wrap = ("-m", "warpaes.keysources", "wrap", f"file:{kek}", str(self.key))
        commands = [
            ("/keyset.json", wrap),
            ("/kek", wrap),
            (".watched.warpaes-part-", ("-m", "warpaes", *encrypt)),  # a worker creates this file
            (".watched.warpaes-part-", (str(script), *encrypt)),
            ("/qkd.", ("-m", "warpaes", "qkd", "status")),
        ]
        for watched, command in commands:
            shutil.rmtree(target, ignore_errors=True)
            found = self.found(watched, *command)
            for line in found:
                self.assertEqual(line.partition(" ")[2], "(0, 0, 0)", command)


class Threads(unittest.TestCase):
    def test_many_at_once(self) -> None:
        expected = [seal(i) for i in range(8)]
        found: list[bytes] = [b""] * 8

        def work(i: int) -> None:
            for _ in range(20):
                found[i] = seal(i)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, expected)

    def test_a_context_is_for_one(self) -> None:
        """If two threads use the same context, one of them receives an error or they take turns. The message is
        complete in any case."""
        context = Cipher(algorithms.AES(bytes(16)), modes.CTR(bytes(16))).encryptor()
        data, done, told = bytes(8 << 20), [0], [0]

        def work() -> None:
            for _ in range(10):
                try:
                    context.update(data)
                    done[0] += 1
                except exceptions.Error as error:
                    self.assertIn("one thread at a time", str(error))
                    told[0] += 1

        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(done[0] + told[0], 20)
        expected = Cipher(algorithms.AES(bytes(16)), modes.CTR(bytes(16))).encryptor()
        expected.seek(done[0] * len(data))
        self.assertEqual(context.update(bytes(100)), expected.update(bytes(100)))

    def test_a_keyset_is_not_changed_while_it_is_read(self) -> None:
        keyset = warpaes.Keyset.generate()
        changed: list[BaseException] = []

        def read(offset: int, buffer: memoryview) -> None:
            try:
                keyset.rotate()
            except exceptions.Error as error:
                changed.append(error)

        with self.assertRaises((exceptions.FormatError, exceptions.InvalidTag)):
            warpaes.Reader(read, keyset, size=1000)
        self.assertIn("after that thread has finished", str(changed[0]))
        self.assertEqual(len(keyset), 1)
        keyset.rotate()

    def test_a_writer_is_for_one(self) -> None:
        entered, go = threading.Event(), threading.Event()

        def slow(piece: memoryview) -> None:
            if len(piece) < 100:  # the header is written first
                return
            entered.set()
            go.wait(60)

        writer = warpaes.Writer(slow, warpaes.Keyset.generate("AES128_GCM_HKDF_4KB"))
        thread = threading.Thread(target=lambda: writer.write(bytes(64 << 20)))
        thread.start()
        entered.wait(60)
        try:
            with self.assertRaisesRegex(exceptions.Error, "only one thread at a time"):
                writer.write(b"x")
            with self.assertRaisesRegex(exceptions.Error, "only one thread at a time"):
                writer.abort()
        finally:
            go.set()
            thread.join()
        writer.abort()


if __name__ == "__main__":
    unittest.main()
