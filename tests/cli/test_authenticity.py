"""Tests that forged input is refused: no file appears, a pipe receives only authenticated segments, and nothing
remains."""

import os
import subprocess
import unittest

from support import (
    ARGUMENT,
    AUTHENTICATION,
    EXISTS,
    FORMAT,
    NOT_FOUND,
    RANGE,
    WARPAES,
    CommandTest,
    as_ordinary_user,
    data,
)

TEMPLATES = ("AES128_GCM_HKDF_4KB", "AES256_CTR_HMAC_SHA256_4KB", "C2SP_CHUNKED_256")
# For each template: the plaintext bytes of the first segment and of later segments, the position of the first segment's
# end, and the bytes of a segment.
LAYOUT = {
    "AES128_GCM_HKDF_4KB": (4096 - 24 - 16, 4096 - 16, 4096, 4096),
    "AES256_CTR_HMAC_SHA256_4KB": (4096 - 40 - 32, 4096 - 32, 4096, 4096),
    "C2SP_CHUNKED_256": (16384, 16384, 56 + 16400, 16400),
}
LENGTH = 60_000


class Authenticity(CommandTest):
    def setUp(self):
        super().setUp()
        self.plain = data(LENGTH)

    def make(self, template, name="key", aad="aad"):
        self.warpaes("keygen", "-t", template, "-o", name)
        self.how = ("-k", name, "--aad", aad, *(["--format", template] if "C2SP" in template else []))
        return self.warpaes("encrypt", *self.how, stdin=self.plain)

    def is_refused(self, content, at_most, *, statuses=(AUTHENTICATION, FORMAT), how=None):
        """Check that input is refused when decrypted into a new file, over an old file, with `verify`, and through a
        pipe. The pipe may receive at most `at_most` bytes of plaintext."""
        self.write("bad", content)
        how = how or self.how
        self.write("old", b"old")
        before = sorted(os.listdir(self.directory))
        for arguments in (
            ["decrypt", *how, "-o", "out", "bad"],
            ["decrypt", *how, "-o", "old", "-f", "bad"],
            ["verify", *how, "bad"],
        ):
            result = self.run_command(WARPAES, *arguments)
            self.assertIn(result.returncode, statuses, result.stderr)
            self.assertTrue(result.stderr.startswith(b"warpaes: "), result.stderr)
            self.assertEqual(result.stdout, b"")
        for source in ({"stdin": content}, {}):
            result = self.run_command(WARPAES, "decrypt", *how, *([] if source else ["bad"]), **source)
            self.assertIn(result.returncode, statuses, result.stderr)
            self.assertNotEqual(result.stderr, b"")
            self.assertTrue(self.plain.startswith(result.stdout))
            self.assertLessEqual(len(result.stdout), at_most)
        self.assertEqual(sorted(os.listdir(self.directory)), before)
        self.assertEqual(self.read("old"), b"old")

    def each(self):
        for template in TEMPLATES:
            self.setUp()
            yield template, self.make(template), LAYOUT[template]

    def test_another_key_or_other_associated_data(self):
        for template, good, _ in self.each():
            self.assertTrue(self.warpaes("decrypt", *self.how, stdin=good) == self.plain)
            right = self.how
            self.make(template, "other")
            self.is_refused(good, 0, statuses=(AUTHENTICATION,))
            self.is_refused(
                good, 0, statuses=(AUTHENTICATION,), how=[h.replace("aad", "AAD") if h == "aad" else h for h in right]
            )
            self.is_refused(good, 0, statuses=(AUTHENTICATION,), how=[h for h in right if h not in ("--aad", "aad")])

    def test_bits(self):
        for _, good, (first, other, end, segment) in self.each():
            for position in (0, 1, 20, 23, 24, 30, 56, end - 1, end, end + segment - 1, len(good) - 1):
                bad = bytearray(good)
                bad[position] ^= 1 << position % 8
                whole = 0 if position < end else 1 + (position - end) // segment
                self.is_refused(bytes(bad), 0 if whole == 0 else first + (whole - 1) * other)

    def test_truncation_at_every_kind_of_byte(self):
        for _, good, (first, other, end, segment) in self.each():
            for length in (0, 1, 23, 24, 40, 56, 57, end - 1, end, end + 1, end + 16, end + segment, len(good) - 1):
                whole = 0 if length < end else 1 + (length - end) // segment
                self.is_refused(good[:length], 0 if whole == 0 else first + (whole - 1) * other)

    def test_what_was_written_before_a_missing_end_is_told_to_be_incomplete(self):
        for _, good, (first, other, end, segment) in self.each():
            cut = good[: end + segment + segment // 2]
            result = self.run_command(WARPAES, "decrypt", *self.how, stdin=cut)
            self.assertIn(result.returncode, (AUTHENTICATION, FORMAT))
            self.assertIn(len(result.stdout), (0, first, first + other))
            self.assertTrue(self.plain.startswith(result.stdout))

    def test_a_file_that_shows_at_once_what_is_written_gets_nothing_behind_damage(self):
        """If standard output is a file, several workers could write at any position."""
        self.plain = data(8 << 20)
        sealed = bytearray(self.make("AES128_GCM_HKDF_4KB"))
        damage = len(sealed) // 3
        sealed[damage] ^= 1
        self.write("bad", bytes(sealed))
        for _ in range(5):
            with open(self.path("shown"), "wb") as shown:
                command = [WARPAES, "decrypt", *self.how, "--threads", "4", "bad"]
                result = subprocess.run(command, stdout=shown, stderr=subprocess.PIPE, cwd=self.directory, check=False)
            self.assertEqual(result.returncode, AUTHENTICATION, result.stderr)
            found = self.read("shown")
            self.assertLessEqual(len(found), damage)
            self.assertTrue(self.plain.startswith(found))

    def test_segments_dropped_doubled_swapped_and_from_another_file(self):
        for _, good, (first, other, end, segment) in self.each():
            head, rest = good[:end], good[end:]
            parts = [rest[at : at + segment] for at in range(0, len(rest), segment)]
            alien = self.warpaes("encrypt", *self.how, stdin=data(LENGTH, b"alien"))
            for bad, whole in (
                (parts[1:], 1),
                ([parts[0], *parts], 2),
                ([parts[1], parts[0], *parts[2:]], 1),
                (parts[:-1], len(parts) - 1),
                ([alien[end : end + segment], *parts[1:]], 1),
                ([*parts, parts[-1]], len(parts)),
            ):
                self.is_refused(head + b"".join(bad), first + (whole - 1) * other)
            self.is_refused(alien[:24] + good[24:], 0)
            self.is_refused(good + b"x", LENGTH)
            self.is_refused(good + bytes(segment), LENGTH)

    def test_files_of_other_formats(self):
        files = {template: good for template, good, _ in self.each()}
        for template in TEMPLATES:
            self.setUp()
            self.make(template)
            others = [good for name, good in files.items() if name != template]
            for content in (
                *others,
                b"",
                b"Salted__" + data(1000),
                data(5000),
                bytes(5000),
                b"\xff" * 5000,
                b"\x18",
                b"\x28",
            ):
                self.is_refused(content, 0)

    def test_ranges_check_what_they_show(self):
        for template, good, (first, _, end, segment) in self.each():
            bad = bytearray(good)
            bad[end + 20] ^= 1  # in the second segment
            self.write("bad", bad)
            self.refused(RANGE, "range", "decrypt", *self.how, "-r", "0:10", stdin=good)  # standard input is a pipe
            part = self.warpaes("decrypt", *self.how, "-r", f"0:{first - 1}", "bad")
            self.assertTrue(part == self.plain[:first])
            self.refused(AUTHENTICATION, "'bad': ", "decrypt", *self.how, "-r", f"{first}:{first}", "bad")
            self.refused(
                AUTHENTICATION, "'bad': ", "decrypt", *self.how, "-r", f"{first - 1}:{first}", "-o", "out", "bad"
            )
            self.write("bad", good[: end + segment])  # the file ends with a segment that is not sealed as the last one
            if "C2SP" in template:  # no file has this length
                self.refused(FORMAT, "truncated", "decrypt", *self.how, "-r", "0:10", "bad")
                continue
            self.assertEqual(self.warpaes("decrypt", *self.how, "-r", "0:10", "bad"), self.plain[:11])
            self.refused(AUTHENTICATION, "'bad': ", "decrypt", *self.how, "-r", f"{first}:", "bad")
            self.refused(AUTHENTICATION, "'bad': ", "decrypt", *self.how, "-r", f"0:{LENGTH - 1}", "bad")

    def test_what_is_no_file(self):
        self.make("AES128_GCM_HKDF_4KB")
        os.mkdir(self.path("directory"))
        self.refused(NOT_FOUND, "nowhere", "decrypt", *self.how, "-o", "out", "nowhere")
        self.refused(ARGUMENT, "directory|--output-dir", "decrypt", *self.how, "-o", "out", "directory")
        self.refused(NOT_FOUND, "no files", "verify", *self.how, "directory")
        self.refused(NOT_FOUND, "nowhere", "verify", *self.how, "nowhere")
        self.write("good", self.warpaes("encrypt", *self.how, stdin=b"x"))
        self.write("out", b"old")
        self.refused(EXISTS, "'out' exists", "decrypt", *self.how, "-o", "out", "good")
        self.assertEqual(self.read("out"), b"old")

    @as_ordinary_user
    def test_unreadable_files(self):
        self.make("AES128_GCM_HKDF_4KB")
        self.write("closed", b"")
        os.chmod(self.path("closed"), 0)
        self.refused(NOT_FOUND, "'closed'|Permission denied", "decrypt", *self.how, "closed")
        self.refused(NOT_FOUND, "'closed'|Permission denied", "decrypt", "-k", "closed", "closed")

    def test_the_good_ones_of_several_are_done(self):
        good = self.make("AES128_GCM_HKDF_4KB")
        for name, content in (("a", good), ("b", good[:-1]), ("c", good), ("d", b"")):
            self.write(name, content)
        result = self.run_command(WARPAES, "decrypt", *self.how, "--output-dir", "out", "a", "b", "c", "d")
        self.assertIn(result.returncode, (AUTHENTICATION, FORMAT))
        self.assertIn(b"'b': ", result.stderr)
        self.assertIn(b"2 of 4 files failed", result.stderr)
        self.assertEqual(sorted(os.listdir(self.path("out"))), ["a", "c"])
        result = self.run_command(WARPAES, "verify", *self.how, "a", "b", "c")
        self.assertEqual(result.stdout, b"a: authentic\nc: authentic\n")
        self.assertNotEqual(result.returncode, 0)

    def test_a_writer_that_goes_away_is_noticed(self):
        good = self.make("AES128_GCM_HKDF_4KB")
        process = subprocess.Popen(
            [WARPAES, "decrypt", *self.how, "-o", "out"],
            cwd=self.directory,
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        _, message = process.communicate(good[:30_000], timeout=20)
        self.assertIn(process.returncode, (AUTHENTICATION, FORMAT))
        self.assertIn(b"warpaes: standard input: ", message)
        self.assertEqual(os.listdir(self.directory), ["key"])


if __name__ == "__main__":
    unittest.main()
