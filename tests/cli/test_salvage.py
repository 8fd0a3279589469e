"""Tests `warpaes decrypt --salvage`. Damaged files keep their authentic segments, and the command lists all other
ranges."""

import json
import os

from support import ARGUMENT, AUTHENTICATION, EXISTS, WARPAES, KeyedTest, data, main

HOLES = 26
SEGMENT = 4096 - 16
FIRST = SEGMENT - 24  # AES128_GCM_HKDF_4KB has a header of 24 bytes


class Salvage(KeyedTest):
    def setUp(self):
        super().setUp()
        self.plain = data(100 * SEGMENT)
        self.sealed = bytearray(self.warpaes("encrypt", "-k", "keyset", stdin=self.plain))

    def damage(self, *segments):
        for segment in segments:
            self.sealed[segment * 4096 + 200] ^= 1
        self.write("damaged", self.sealed)

    def salvage(self, *options, status=HOLES):
        done = self.run_command(WARPAES, "decrypt", "-k", "keyset", "--salvage", *options, "damaged")
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def with_zeros(self, *segments):
        text = bytearray(self.plain)
        for segment in segments:
            begin = FIRST + (segment - 1) * SEGMENT if segment else 0
            end = FIRST + segment * SEGMENT
            text[begin:end] = bytes(end - begin)
        return bytes(text)

    def test_segments_become_zeros(self):
        self.damage(0, 7, 8, 50)
        done = self.salvage("-o", "out")
        self.assertEqual(self.read("out"), self.with_zeros(0, 7, 8, 50))
        lines = done.stderr.decode().splitlines()
        begin = FIRST + 6 * SEGMENT
        self.assertEqual(
            lines[:2],
            [
                f"'damaged': bytes 0:{FIRST - 1}: not authentic, zeros in the result",
                f"'damaged': bytes {begin}:{begin + 2 * SEGMENT - 1}: not authentic, zeros in the result",
            ],
        )
        self.assertIn("'damaged': is not authentic in 3 places", lines[-1])
        self.assertEqual(self.salvage("-o", "-").stdout, self.with_zeros(0, 7, 8, 50))

    def test_the_end_is_missing(self):
        del self.sealed[40 * 4096 + 10 :]
        self.damage()
        done = self.salvage("-o", "out")
        left = FIRST + 39 * SEGMENT
        self.assertEqual(self.read("out"), self.plain[:left])
        self.assertIn(
            f"from byte {left} on: not authentic, and the end of the file may be missing", done.stderr.decode()
        )

    def test_the_record_lists_all(self):
        segments = range(2, 90, 2)
        self.damage(*segments)
        done = self.salvage("-o", "out", "--json")
        record = json.loads(done.stdout)
        self.assertEqual(record["status"], HOLES)
        holes = [(hole["first"], hole["length"]) for hole in record["files"][0]["holes"]]
        self.assertEqual(holes, [(FIRST + (segment - 1) * SEGMENT, SEGMENT) for segment in segments])
        self.assertIn(b"and 24 more ranges; --json lists all", done.stderr)

    def test_a_whole_file(self):
        self.damage()
        self.assertEqual(self.salvage("-o", "out", status=0).stderr, b"")
        self.assertEqual(self.read("out"), self.plain)

    def test_several_files(self):
        os.mkdir(self.path("tree"))
        self.damage()
        os.rename(self.path("damaged"), self.path("tree/whole.warpaes"))
        self.damage(3)
        os.rename(self.path("damaged"), self.path("tree/damaged.warpaes"))
        done = self.run_command(WARPAES, "decrypt", "-k", "keyset", "--salvage", "--output-dir", "out", "tree")
        self.assertEqual(done.returncode, HOLES, done.stderr)
        self.assertEqual(self.read("out/tree/whole"), self.plain)
        self.assertEqual(self.read("out/tree/damaged"), self.with_zeros(3))

    def test_what_cannot_be_salvaged(self):
        self.damage(5)
        self.write("out", b"old")
        self.refused(EXISTS, "out", "decrypt", "-k", "keyset", "--salvage", "-o", "out", "damaged")
        self.refused(ARGUMENT, "pipe", "decrypt", "-k", "keyset", "--salvage", "-o", "new", stdin=bytes(self.sealed))
        self.refused(ARGUMENT, "--range", "decrypt", "-k", "keyset", "--salvage", "-r", "0:1", "-o", "new", "damaged")
        self.sealed[5] ^= 1  # alters the salt
        self.damage()
        self.refused(
            AUTHENTICATION,
            "no key opens any segment",
            "decrypt",
            "-k",
            "keyset",
            "--salvage",
            "-o",
            "new",
            "damaged",
        )


if __name__ == "__main__":
    main()
