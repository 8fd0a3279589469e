"""Builds a copy of the tree with switches for its mutants (switches.py)."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import switches
from recording import ROOT, output_of

PRESET = "cpu-only"


class Slot:
    """A position in the sample. The first of its candidates is the current mutant."""

    def __init__(self, number: int, candidates: list[dict]):
        self.number, self.candidates = number, candidates
        self.ways: list[switches.Switch] = []

    @property
    def mutant(self) -> dict:
        return self.candidates[0]


class Tree:
    def __init__(self, folder: Path):
        self.folder = folder
        self.build = folder / "build" / PRESET
        self.header = folder / "mutant.hpp"
        self.log = folder.parent / "build.log"
        self.slots: list[Slot] = []
        self.passed_over: list[dict] = []
        self.codes: dict[str, switches.Code] = {}
        self.checked: dict[str, str] = {}
        self.folder.mkdir(parents=True, exist_ok=True)

    def code(self, file: str) -> switches.Code:
        if file not in self.codes:
            self.codes[file] = switches.Code((ROOT / file).read_text())
        return self.codes[file]

    def pass_over(self, slot: Slot, why: str) -> None:
        self.passed_over.append({**slot.candidates.pop(0), "slot": slot.number, "why": why})
        slot.ways = []

    def settle(self, slot: Slot) -> bool:
        """Use the first candidate whose switch is compatible with the other slots' switches."""
        while slot.candidates:
            mutant = slot.mutant
            if not slot.ways:
                code = self.code(mutant["file"])
                finder = switches.finder(code, mutant["line"], mutant["after"])
                slot.ways = finder.switches() if finder.is_code() else []
                if not slot.ways:
                    self.pass_over(slot, "cannot have a switch" if finder.is_code() else "cannot compile")
                    continue
            others = [s for s in self.slots if s is not slot and s.ways and s.mutant["file"] == mutant["file"]]
            if any(other.mutant["line"] == mutant["line"] for other in others):
                self.pass_over(slot, "drawn already")
                continue
            taken = [other.ways[0] for other in others]
            while slot.ways and switches.overlaps(taken, slot.ways[0]):
                slot.ways.pop(0)
            if slot.ways:
                return True
            self.pass_over(slot, "within another switch")
        return False

    def refuse(self, slot: Slot) -> None:
        """Drop the current switch, because it does not compile. Use the mutant's next switch, or else the next
        candidate."""
        slot.ways.pop(0)
        if not slot.ways:
            self.pass_over(slot, "does not compile with a switch")
        if not self.settle(slot):
            self.slots.remove(slot)

    def take(self, lists: list[list[dict]]) -> None:
        self.slots = [Slot(number, list(candidates)) for number, candidates in enumerate(lists, 1)]
        self.slots = [slot for slot in list(self.slots) if self.settle(slot)]

    def write(self) -> None:
        chosen: dict[str, list[tuple[int, switches.Switch]]] = {}
        for slot in self.slots:
            chosen.setdefault(slot.mutant["file"], []).append((slot.number, slot.ways[0]))
        texts = {self.header: switches.HEADER.encode()}
        for name in output_of("git", "ls-files", "--cached", "--others", "--exclude-standard").splitlines():
            if (ROOT / name).is_file():
                texts[self.folder / name] = (ROOT / name).read_bytes()
        for file, found in chosen.items():
            text = switches.with_switches(self.code(file).text, found, str(self.header))
            texts[self.folder / file] = text.encode()
        for path, text in texts.items():
            if not path.exists() or path.read_bytes() != text:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(text)
                path.chmod(0o755 if text.startswith(b"#!") else 0o644)
        if not (self.folder / ".venv").exists():
            (self.folder / ".venv").symlink_to(ROOT / ".venv")

    def configure(self) -> None:
        options = {"WARPAES_CMAKE_OPTIONS": "-DWARPAES_LAB=OFF -DWARPAES_UNITY=OFF -DCMAKE_EXPORT_COMPILE_COMMANDS=ON"}
        command = ["tools/build", PRESET, "help"]
        done = subprocess.run(command, cwd=self.folder, env=os.environ | options, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"mutants: cannot configure the copy\n{done.stdout}{done.stderr}")

    def blamed(self, output: str) -> set[Slot]:
        """Return the mutants that cause the compiler's errors. The line of an error identifies the mutant. If no mutant
        is on this line, the lines in the error's notes identify it."""
        spans: dict[str, list[tuple[range, Slot]]] = {}
        for slot in self.slots:
            text = self.code(slot.mutant["file"]).text
            spans.setdefault(slot.mutant["file"], []).append((switches.lines_of(text, slot.ways[0]), slot))
        found: set[Slot] = set()
        mention = re.compile(r"([\w./+-]+):(\d+):(?:\d+:)?")
        for block in re.split(r"\n(?=[^\n]*(?:fatal )?error: )", "\n" + output)[1:]:
            for number, line in enumerate(block.splitlines()):
                of_line = set()
                for name, at in mention.findall(line):
                    path = os.path.relpath(os.path.join(self.build, name), self.folder)
                    of_line |= {slot for lines, slot in spans.get(path, []) if int(at) in lines}
                found |= of_line
                if of_line and number == 0:
                    break
        return found

    def mentioned(self, output: str) -> set[Slot]:
        """Return the mutants on all lines that the compiler reports for the failed objects. For errors in constant
        expressions, the mutant's line is reported before the error."""
        failed = re.findall(r"^FAILED: .*?(?=^\[\d+/|\Z)", output, re.MULTILINE | re.DOTALL)
        return self.blamed("".join("error: " + line + "\n" for block in failed for line in block.splitlines()))

    def check(self, done: bool = False) -> None:
        """Check the syntax of the changed files, and replace switches that do not compile. A changed header is checked
        through a file that includes it. With `done`, record that all files compile and do not check them."""
        commands = {
            os.path.relpath(os.path.join(entry["directory"], entry["file"]), self.folder): entry
            for entry in json.loads((self.build / "compile_commands.json").read_text())
        }
        closures = {name: self.included(name) for name in commands if (self.folder / name).exists()}
        refused = True
        while refused:
            self.write()
            files = {slot.mutant["file"] for slot in self.slots}
            wanted = {name: [name] for name in files & commands.keys()}
            for header in sorted(files - commands.keys()):
                users = [name for name, closure in closures.items() if header in closure]
                stem = header.rsplit("/", 1)[-1].split(".")[0]
                users.sort(key=lambda name: (stem not in name, name not in wanted, len(closures[name])))
                for user in users[:1]:
                    wanted.setdefault(user, [user]).append(header)
            state = {name: "".join((self.folder / part).read_text() for part in wanted[name]) for name in wanted}
            if done:
                self.checked |= state
                return
            todo = [name for name in sorted(wanted) if self.checked.get(name) != state[name]]
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                outputs = list(pool.map(lambda name: self.syntax(commands[name]), todo))
            self.checked |= {name: state[name] for name, output in zip(todo, outputs, strict=True) if not output}
            refused = set().union(*(self.blamed(output) for output in outputs))
            print(f"{len(todo)} files checked, {len(refused)} switches refused", flush=True)
            for slot in refused:
                self.refuse(slot)

    def included(self, name: str) -> set[str]:
        found, open_ = set(), [name]
        while open_:
            current = open_.pop()
            text = (self.folder / current).read_text()
            for path in re.findall(r'^#\s*include [<"]([^>"]+)[>"]', text, re.MULTILINE):
                for base in ("src", "include", os.path.dirname(current), "tests"):
                    known = os.path.normpath(f"{base}/{path}")
                    if (self.folder / known).is_file():
                        if known not in found:
                            found.add(known)
                            open_.append(known)
                        break
        return found

    def syntax(self, entry: dict) -> str:
        command = re.sub(r"^\S*ccache ", "", entry["command"]) + " -fsyntax-only -w"
        command = re.sub(r" -o \S+", "", command)
        done = subprocess.run(command, shell=True, cwd=entry["directory"], capture_output=True, text=True)
        return done.stderr if done.returncode != 0 else ""

    def make(self, targets: list[str], keep: Callable[[], None], checked: bool = False) -> None:
        """Build the targets, and replace each switch that does not compile. `checked` means that all switches are known
        to compile. `keep` is called before each build."""
        while True:
            self.check(checked)
            checked = False
            keep()
            command = ["cmake", "--build", self.build, "--target", *targets, "--", "-k", "0"]
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            self.log.write_text(done.stdout)
            if done.returncode == 0:
                return
            refused = self.blamed(done.stdout) or self.mentioned(done.stdout)
            if not refused:
                sys.exit(f"mutants: the copy does not build; see {self.log}")
            for slot in refused:
                self.refuse(slot)
