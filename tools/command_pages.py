#!/usr/bin/env python3
"""Generates the command's man pages and shell completions from its help texts.

The build runs this program (cmake/install.cmake), and `make install` installs its output.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: An option line in the help: one or more names, then two spaces or the end of the line, then the description.
OPTION = re.compile(r"^ {2,4}(-\S.*?)(?: {2,}(\S.*))?$")
NAME = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]*")
CIPHERS = [
    f"-aes-{bits}-{mode}" for bits in (128, 192, 256) for mode in ["ecb", "cbc", "cfb", "cfb8", "cfb1", "ofb", "ctr"]
]
#: The words that can follow a command: its subcommands, or the ciphers of `enc`.
WORDS = {
    "enc": CIPHERS,
    "keys": ["list", "add", "promote", "disable", "enable", "destroy", "remove", "passphrase"],
    "provider": ["install", "check", "remove", "stats"],
    "bulk": ["encrypt", "decrypt", "rekey", "rewrap", "verify", "adopt", "status"],
    "keysources": ["new", "wrap", "open", "new-kek"],
    "model": ["encrypt", "verify", "inspect"],
    "parquet": ["inspect", "verify", "decrypt", "encrypt", "rekey"],
    "qkd": ["status", "send", "receive"],
}
#: Commands with subcommands.
WITH_COMMANDS = ("bulk", "keys", "keysources", "model", "parquet", "provider", "qkd")
#: Commands from other packages, which may not be installed. Their man pages are not generated.
ELSEWHERE = ("bulk", "keysources", "lab", "model", "parquet", "qkd")


BACKENDS = "$(_warpaes_backends)"
LIST_BACKENDS = "devices 2>/dev/null | sed -n '1d;s/^\\([a-z0-9]*\\).*/\\1/p'"
MODES = ["ecb", "cbc", "cfb128", "cfb8", "cfb1", "ofb", "ctr", "xts", "gcm", "ccm", "cmac"]
#: The words that can follow an option of any command. Places of keys are completed like file names.
VALUES = {
    "--backend": ["auto", BACKENDS],
    "--direction": ["encrypt", "decrypt"],
    "--key-bits": ["128", "192", "256"],
    "-md": ["sha256", "sha512", "sha1", "md5"],
    "-pass": ["env:", "file:", "fd:", "stdin", "pass:"],
}
#: The words that can follow an option of a single command.
OWN_VALUES = {
    "bench": {
        "--backend": [BACKENDS],
        "--mode": [*MODES[:9], "gmac"],
        "--from": ["device", "page-locked", "arena", "pageable"],
        "--keys": ["one", "each"],
    },
    "plan": {"--mode": MODES, "--from": ["host", "page-locked", "device"]},
    "provider": {"--threads": ["auto"]},
}
#: Options whose value is a template. Completions get the names from `warpaes keygen --help`.
TEMPLATES = ("-t", "--template", "--to-template")
LIST_TEMPLATES = "keygen --help 2>/dev/null | sed -n 's/^  \\([A-Z0-9_]*\\)$/\\1/p'"


def values_of(command: str, text: str) -> dict[str, list[str]]:
    """Return the options of a command, each with the words that can follow it."""
    templates = {name: ["$(_warpaes_templates)"] for name in TEMPLATES}
    known = {**VALUES, **templates, **OWN_VALUES.get(command, {})}
    return {name: known[name] for name, _ in options_of(text) if name in known}


def help_of(warpaes: str, *command: str) -> str:
    environment = os.environ | {"WARPAES_CALIBRATION": "none"}
    return subprocess.run(
        [warpaes, *command, "--help-all"], env=environment, capture_output=True, check=True, text=True
    ).stdout


def summaries(text: str) -> dict[str, str]:
    """Return the commands that `warpaes --help` lists, each with its description."""
    return dict(re.findall(r"^  ([a-z]+) +(\S.*)$", text.split("`warpaes COMMAND")[0], re.MULTILINE))


def options_of(text: str) -> list[tuple[str, str]]:
    """Return every option name in the help, with its description."""
    found: dict[str, str] = {"--help": "print the help and exit", "--help-all": "print all of it and exit"}
    for name in NAME.findall(text.partition("\n\n")[0]):  # the usage
        found.setdefault(name, "")
    for line in text.splitlines():
        if match := OPTION.match(line):
            for name in NAME.findall(match[1]):
                found.setdefault(name, match[2] or "")
    return sorted(item for item in found.items() if "BITS" not in item[0])


def roff(text: str) -> str:
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text)


def man_page(name: str, summary: str, text: str, version: str) -> str:
    """Convert the help to roff. The usage becomes the synopsis, headings become sections, the list of templates becomes
    a reference to `warpaes keygen --help`, and all other lines are kept."""
    lines = text.rstrip().splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("Usage:"))
    usage, body = [lines[start].removeprefix("Usage:").strip()], lines[start + 1 :]
    while body and body[0].startswith("       "):
        usage.append(body.pop(0).strip())
    if "Templates" in body:
        body[body.index("Templates") + 1 :] = ["  `warpaes keygen --help` lists the templates."]
    page = [
        f'.TH {name.upper()} 1 "" "warpaes {version}"',
        ".SH NAME",
        f"{name} \\- {roff(summary)}",
        ".SH SYNOPSIS",
        ".nf",
    ]
    page += [roff(line) for line in usage] + [".fi", ".SH DESCRIPTION", ".nf"]
    for i, line in enumerate(body):
        before = body[i - 1] if i else ""
        heading = re.fullmatch(r"([A-Z][A-Za-z ,]{2,40}):?", line)
        if heading and not before and i + 1 < len(body) and body[i + 1].startswith("  "):
            page += [".fi", f'.SH "{heading[1].upper()}"', ".nf"]
        elif line or page[-1] not in (".nf", ""):
            page.append(roff(line))
    others = (
        "warpaes(1), openssl\\-enc(1)" if name != "warpaes" else "the page of each command, as warpaes\\-encrypt(1)"
    )
    return "\n".join([*page, ".fi", ".SH SEE ALSO", others]) + "\n"


def words(command: str, text: str) -> list[str]:
    names = [name for name, _ in options_of(text)]
    return names + WORDS.get(command, [])


def bash(commands: dict[str, str], values: dict[str, dict[str, list[str]]]) -> str:
    after = "\n".join(
        f'    "{name} {option}") words="{" ".join(words)}" ;;'
        for name, options in values.items()
        for option, words in options.items()
    )
    cases = "\n".join(f'        {name}) words="{" ".join(words(name, text))}" ;;' for name, text in commands.items())
    return f"""# Bash completion for warpaes. Generated by tools/command_pages.py.
_warpaes_templates() {{
    "${{COMP_WORDS[0]}}" {LIST_TEMPLATES}
}}
_warpaes_backends() {{
    "${{COMP_WORDS[0]}}" {LIST_BACKENDS}
}}
_warpaes() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} words=
    if [ "$current" = "=" ]; then # --option=
        current=
    elif [ "$before" = "=" ]; then
        before=${{COMP_WORDS[COMP_CWORD - 2]}}
    fi
    [[ " ${{COMP_WORDS[*]:2:COMP_CWORD-2}} " = *" -- "* ]] || case "${{COMP_WORDS[1]}} $before" in
{after}
    esac
    if [ -n "$words" ]; then
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
        return
    fi
    if [ "$COMP_CWORD" -eq 1 ]; then
        words="{" ".join(commands)} --help --help-all --version"
    else
        case ${{COMP_WORDS[1]}} in
{cases}
        esac
        [[ " ${{COMP_WORDS[*]:2:COMP_CWORD-2}} " != *" -- "* ]] || words=
        case $current in
        -*) ;;
        *) [[ "${{COMP_WORDS[1]}}" = @({"|".join(WITH_COMMANDS)}) ]] &&
            [ "$COMP_CWORD" -eq 2 ] || words= ;;
        esac
    fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
    [ ${{#COMPREPLY[@]}} -ne 0 ] || mapfile -t COMPREPLY < <(compgen -f -- "$current")
}}
complete -o filenames -o bashdefault -o default -F _warpaes warpaes
"""


def quoted(text: str) -> str:
    return text.replace("'", "").replace("[", "(").replace("]", ")").replace(":", ";")


def zsh(commands: dict[str, str], said: dict[str, str], values: dict[str, dict[str, list[str]]]) -> str:
    after = "\n".join(
        f"    '{name} {option}') words_of=({' '.join(words)}) ;;"
        for name, options in values.items()
        for option, words in options.items()
    )
    listed = "\n".join(f"        '{name}:{quoted(said[name])}'" for name in commands)
    cases = "\n".join(f"    {name}) words=({' '.join(words(name, text))}) ;;" for name, text in commands.items())
    return f"""#compdef warpaes
# Zsh completion for warpaes. Generated by tools/command_pages.py.
_warpaes_templates() {{
    "${{words[1]}}" {LIST_TEMPLATES}
}}
_warpaes_backends() {{
    "${{words[1]}}" {LIST_BACKENDS}
}}
if (( CURRENT == 2 )); then
    local -a commands=(
{listed}
    )
    _describe command commands
else
    compset -P clear:
    local -a words_of=()
    case ${{words[2]}} in
{cases.replace("words=", "words_of=")}
    esac
    local -i given=0
    if (( ${{words[(i)--]}} >= CURRENT )); then
        case "${{words[2]}} ${{words[CURRENT-1]}}" in
{after.replace("    '", "        '")}
        *) given=1 ;;
        esac
        if (( ! given )); then
            compadd -- $words_of
            return
        fi
    fi
    if (( ${{words[(i)--]}} < CURRENT )); then
        _files
    elif [[ $PREFIX == -* || ${{words[2]}} == ({"|".join(WITH_COMMANDS)}) && CURRENT -eq 3 ]]; then
        compadd -- $words_of
    else
        _files
    fi
fi
"""


def fish(commands: dict[str, str], said: dict[str, str], values: dict[str, dict[str, list[str]]]) -> str:
    lines = ["# Fish completion for warpaes. Generated by tools/command_pages.py."]
    for function, list_words in (("_warpaes_templates", LIST_TEMPLATES), ("_warpaes_backends", LIST_BACKENDS)):
        lines += [f"function {function}", f"    warpaes {list_words}", "end"]
    for name, text in commands.items():
        lines.append(f"complete -c warpaes -n __fish_use_subcommand -a {name} -d '{quoted(said[name])}'")
        inside = f"'__fish_seen_subcommand_from {name}'"
        for option, what in options_of(text):
            kind = (
                f"-l {option[2:]}" if option.startswith("--") else f"-{'s' if len(option) == 2 else 'o'} {option[1:]}"
            )
            words = " ".join(values.get(name, {}).get(option, [])).replace("$(", "(")
            after = f" -x -a '{words}'" if words else ""
            lines.append(f"complete -c warpaes -n {inside} {kind}{after}" + (f" -d '{quoted(what)}'" if what else ""))
        for word in WORDS.get(name, []):
            lines.append(f"complete -c warpaes -n {inside} -a {word}")
    return "\n".join(lines) + "\n"


def render(warpaes: str) -> dict[str, str]:
    """Return the generated files, by name."""
    version = subprocess.run([warpaes, "--version"], capture_output=True, check=True, text=True).stdout.split()[1]
    main = help_of(warpaes)
    said = summaries(main)
    commands = {name: help_of(warpaes, name) for name in said if name not in ELSEWHERE}
    files = {"warpaes.1": man_page("warpaes", "AES on GPUs and CPUs", main, version)}
    for name, text in commands.items():
        files[f"warpaes-{name}.1"] = man_page(f"warpaes-{name}", said[name], text, version)
    values = {name: found for name, text in commands.items() if (found := values_of(name, text))}
    commands |= dict.fromkeys(ELSEWHERE, "")
    files["warpaes.bash"] = bash(commands, values)
    files["_warpaes"] = zsh(commands, said, values)
    files["warpaes.fish"] = fish(commands, said, values)
    return files


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--warpaes", default=str(ROOT / "build/default/cli/warpaes"), help="the command (%(default)s)")
    parser.add_argument("directory", type=Path, help="output folder")
    arguments = parser.parse_args()
    arguments.directory.mkdir(parents=True, exist_ok=True)
    files = render(arguments.warpaes)
    for old in arguments.directory.iterdir():
        if old.name not in files:
            old.unlink()
    for name, content in files.items():
        (arguments.directory / name).write_text(content)


if __name__ == "__main__":
    main()
