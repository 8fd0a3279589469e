"""Tests common mistakes and the exact messages of one or two lines that forty.txt lists for them.

python3 tests/cli/test_forty.py --record     rewrites forty.txt; review the file before you commit it
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from support import WARPAES, CommandTest, data, main

TRANSCRIPT = Path(__file__).with_name("forty.txt")
COMMAND = re.compile(r"^\$ (.*)$", re.MULTILINE)


class Place:
    """Provides a directory with the files for the mistakes, and masks key IDs in the output."""

    def __init__(self, directory):
        self.directory = Path(directory)
        self.environment = {
            "PATH": f"{directory}/bin:{os.environ['PATH']}",
            "HOME": str(directory),
            "WARPAES_CALIBRATION": "none",
            "LC_ALL": "C",
        }
        (self.directory / "bin").mkdir()
        (self.directory / "bin/warpaes").symlink_to(WARPAES)
        self.write("notes.txt", b"some notes\n")
        self.write("passphrase", b"correct horse\n", 0o600)
        self.write("others-passphrase", b"battery staple\n", 0o600)
        (self.directory / "photos").mkdir()
        self.write("photos/one.jpg", data(100))
        self.write("notes.age", b"age-encryption.org/v1\n" + data(100))
        self.write("notes.enc", b"Salted__" + data(40))
        self.write("not-a-keyset.json", b'{"keys": []}\n', 0o600)
        self.write("raw.key", bytes(range(32)), 0o600)
        for command in (
            "warpaes keygen -o keyset.json",
            "warpaes keygen -o other.json",
            "warpaes keygen -t AES128_GCM_HKDF_4KB -o small.json",
            "warpaes keygen --passphrase-from passphrase --passphrase-seconds 0 -o wrapped.json",
            "warpaes keygen --kek raw.key -o under.json",
            "warpaes encrypt -k keyset.json notes.txt",
            "warpaes encrypt -k small.json -o small.warpaes photos/one.jpg",
            "warpaes encrypt -k keyset.json --aad chapter -o chapter.warpaes notes.txt",
            "head -c 3000000 /dev/zero | warpaes encrypt -k keyset.json > large.warpaes",
            "head -c 1500000 large.warpaes > cut.warpaes",
            "cp large.warpaes damaged.warpaes",
            "printf x | dd of=damaged.warpaes bs=1 seek=1600000 conv=notrunc status=none",
        ):
            status, said = self.run(command)
            assert (status, "error" in said) == (0, False), said
        self.before = self.listing()

    def write(self, name, content, mode=0o644):
        (self.directory / name).write_bytes(content)
        (self.directory / name).chmod(mode)

    def listing(self):
        return sorted(str(path.relative_to(self.directory)) for path in self.directory.rglob("*"))

    def run(self, command):
        result = subprocess.run(
            ["sh", "-c", command], cwd=self.directory, env=self.environment, stdin=subprocess.DEVNULL,
            capture_output=True, timeout=60, start_new_session=True,
        )  # fmt: skip
        return result.returncode, result.stderr.decode()

    def answer(self, command):
        status, said = self.run(command)
        return status, re.sub(r"\b[1-9]\d{5,9}\b", "N", said.replace(str(self.directory), "DIRECTORY"))


def transcript(commands, place):
    text = "Messages after common mistakes. `test_forty.py --record` writes this file; review it before a commit.\n"
    for command in commands:
        status, said = place.answer(command)
        text += f"\n$ {command}\n{said}exit status {status}\n"
    return text


class Forty(CommandTest):
    def test_every_answer(self):
        commands = COMMAND.findall(TRANSCRIPT.read_text())
        self.assertGreaterEqual(len(commands), 40)
        place = Place(self.directory)
        self.assertMultiLineEqual(transcript(commands, place), TRANSCRIPT.read_text())
        self.assertEqual(place.listing(), place.before, "a mistake left a file")

    def test_every_answer_is_short_and_none_is_a_success(self):
        for answer in TRANSCRIPT.read_text().split("\n\n")[1:]:
            _, *said, status = answer.strip().splitlines()
            self.assertLessEqual(len(said), 2, answer)
            self.assertGreater(len(said), 0, answer)
            self.assertLess(max(map(len, said)), 260, answer)
            self.assertNotEqual(status, "exit status 0", answer)


if __name__ == "__main__":
    if sys.argv[1:] == ["--record"]:
        with tempfile.TemporaryDirectory() as directory:
            TRANSCRIPT.write_text(transcript(COMMAND.findall(TRANSCRIPT.read_text()), Place(directory)))
    else:
        main()
