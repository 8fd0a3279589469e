"""The command line of ``warpaes bulk``."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import sys
from collections.abc import Iterator
from typing import Any

from .._command import print_report
from .._keyset_places import dataset_place
from .._native import Keyset
from .._printable import printable
from ..exceptions import Error, InvalidTag, InvalidUnwrap, KeysetError
from . import contents, plan
from .commands import make_run
from .config import TEMPLATE
from .dispatch import StoppedError
from .job import Run
from .keys import PARQUET_TEMPLATES
from .listing import Options, Refused
from .lock import EXPIRY, LockedError
from .pool import NoWorkerError
from .progress import human
from .storage import ChangedError, ExistsError, MissingError, PermanentError

#: Exceptions that end a job with a message.
FAILURES = (
    ChangedError,
    Error,
    ExistsError,
    InvalidTag,
    InvalidUnwrap,
    KeysetError,
    LockedError,
    MissingError,
    NoWorkerError,
    OSError,
    PermanentError,
    Refused,
    StoppedError,
    ValueError,
)
UNITS = {"k": 10, "m": 20, "g": 30}

DESCRIPTION = """\
Encrypts, decrypts, re-encrypts and verifies datasets: many objects at once, on
this machine or on a Ray cluster. Sources are paths, s3:// URLs and all other
fsspec URLs. Targets are paths and s3:// URLs. A manifest in the target contains
the state of every object. Only the holder of a key can change the manifest. If
the same command is run again, it continues from the manifest."""

EXAMPLES = """\
examples:
  warpaes bulk encrypt -k keyset.json s3://raw/2026 s3://vault/2026
  warpaes bulk encrypt -k kek.json --envelope job s3://raw/2026 s3://vault/2026
  warpaes bulk decrypt -k keyset.json s3://vault/2026 /data/2026
  warpaes bulk rekey -k keyset.json --new-key new.json s3://vault/2026
  warpaes bulk rewrap -k kek.json --new-key kek2.json s3://vault/2026
  warpaes bulk adopt -k keyset.json s3://vault/2024
  warpaes bulk list -k keyset.json s3://vault/2026
  warpaes bulk status -k keyset.json s3://vault/2026"""


def size(text: str) -> int:
    """Parse a number of bytes, such as 512M or 2GiB."""
    digits = text.lower().removesuffix("b").removesuffix("i")
    try:
        if digits[-1:] in UNITS:
            return int(float(digits[:-1]) * 2 ** UNITS[digits[-1]])
        return int(digits)
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(f"{text!r} is not a size, such as 512M") from None


def _number(kind: type, least: float, text: str) -> Any:
    try:
        value = kind(text)
    except ValueError:
        value = None
    if value is None or not least <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"must be a number that is at least {least}, not {text!r}")
    return value


def count(text: str) -> int:
    """Parse a positive integer."""
    return int(_number(int, 1, text))


def count_or_none(text: str) -> int:
    """Parse an integer of at least 0."""
    return int(_number(int, 0, text))


def seconds(text: str) -> float:
    """Parse a time of at least 0.001 seconds."""
    return float(_number(float, 0.001, text))


def share(text: str) -> float:
    """Parse a decimal number of at least 0."""
    return float(_number(float, 0, text))


def memory(text: str) -> int:
    """Parse a size of at least 1M."""
    value = size(text)
    if value < 1 << 20:
        raise argparse.ArgumentTypeError(f"{text!r} is less than the minimum, 1M")
    return value


def rate(text: str) -> int:
    """Parse a rate in bytes per second, at least 1."""
    value = size(text)
    if not 1 <= value < 1 << 63:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a rate from 1 to 2^63 - 1 bytes per second")
    return value


def suffix(text: str) -> str:
    """Parse a suffix for names, which must be UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise argparse.ArgumentTypeError("must be UTF-8") from None
    return text


def pair(text: str) -> tuple[str, str]:
    """Parse NAME=VALUE."""
    name, separator, value = text.partition("=")
    if not separator:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value


def _patterns(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("which objects")
    group.add_argument(
        "--include",
        action="append",
        default=[],
        metavar="PATTERN",
        help="process only objects whose name or folder matches PATTERN ('*.csv', 2026/, 'raw/*/day'); can be repeated",
    )
    group.add_argument(
        "--exclude",
        action="append",
        default=[],
        metavar="PATTERN",
        help="skip objects that match PATTERN, even if they match --include; can be repeated",
    )


def _keys(parser: argparse.ArgumentParser, new: str | None, required: bool = True) -> None:
    group = parser.add_argument_group("keys")
    group.add_argument(
        "-k",
        "--key",
        action="append",
        default=[],
        metavar="KEY",
        help=("" if required else "authenticate with this key. ")
        + "Tink keyset: a file, env:NAME, fd:N or exec:COMMAND (a program that prints it); for an encrypted keyset, "
        "passphrase=PLACE; or kek=PLACE; before its place; with --envelope, also a key "
        "source: aws-kms://…, vault-transit://…, pkcs11:…, tpm2:, or a key that only wraps keys; "
        "if repeated, the first key encrypts" + ("; default: the place in WARPAES_KEYSET" if required else ""),
    )
    parser.set_defaults(needs_key=required)
    if new:
        group.add_argument("--new-key", action="append", default=[], metavar="KEY", help=new)


def _trust(parser: argparse.ArgumentParser, bind: str) -> None:
    group = parser.add_argument_group("accepted manifests")
    group.add_argument("--bind-names", action=argparse.BooleanOptionalAction, help=bind)
    group.add_argument(
        "--at-least",
        type=count,
        default=0,
        metavar="N",
        help="refuse a manifest whose save number is lower than N (see `status`)",
    )
    group.add_argument(
        "--dataset",
        default="",
        metavar="ID",
        help="refuse any dataset with a different ID, and accept this dataset even if it was moved or copied",
    )
    group.add_argument("--pin", metavar="ID", help="refuse a manifest with a manifest key other than ID (see `status`)")


def _without_manifest(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--no-manifest",
        action="store_true",
        help="process the objects without a manifest; missing, swapped and outdated objects are not detected",
    )


def _encrypted_names(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--encrypted-names",
        action="store_true",
        help="refuse a dataset with unencrypted names (required only without a manifest)",
    )


def _envelope(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("envelopes")
    group.add_argument(
        "--envelope",
        choices=["job", "object"],
        default="",
        help="create a data key for the job or for each object, wrapped with KEY (default: KEY itself encrypts)",
    )
    group.add_argument(
        "--template",
        choices=[*Keyset.templates(), *PARQUET_TEMPLATES],
        metavar="TEMPLATE",
        help=f"template of data keys (default: the dataset's template, or {TEMPLATE}; with …_PARQUET, Parquet files "
        "are encrypted with modular encryption and stay Parquet files; %(choices)s)",
    )


def _dry_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-n", "--dry-run", action="store_true", help="report the planned work without writing anything")


def _share(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--share", action="store_true", help="share the job with other machines that run the same command"
    )


def _storage(parser: argparse.ArgumentParser, ends: int) -> None:
    group = parser.add_argument_group("storage")
    group.add_argument("--endpoint-url", metavar="URL", help="URL of an S3-compatible object store")
    if ends == 2:
        group.add_argument(
            "--source-endpoint-url", metavar="URL", help="URL of the source's object store, if it differs"
        )
    group.add_argument("--region", help="region of the bucket")
    group.add_argument(
        "--timeout", type=seconds, default=60, metavar="S", help="timeout for a request in seconds (default: 60)"
    )
    group.add_argument(
        "--put",
        type=pair,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="boto3 argument for all written objects, such as StorageClass=STANDARD_IA",
    )


def _work(parser: argparse.ArgumentParser, reads: bool = True) -> None:
    group = parser.add_argument_group("workers")
    if reads:
        group.add_argument(
            "--limit-rate",
            type=rate,
            default=0,
            metavar="RATE",
            help="maximum total number of bytes that all workers read per second, such as 50M (default: no limit)",
        )
    group.add_argument(
        "--address", metavar="ADDRESS", help="Ray cluster: auto, HOST:PORT or ray://…; requires warpaes[ray]"
    )
    group.add_argument(
        "--workers",
        type=count_or_none,
        default=0,
        metavar="N",
        help="number of local processes or, with --address, of actors (default: 1 process, or as many actors as fit)",
    )
    group.add_argument("--cpus", type=share, default=1, metavar="N", help="with Ray: cores for each actor (default: 1)")
    group.add_argument(
        "--gpus",
        type=share,
        default=0,
        metavar="N",
        help="with Ray: GPUs for each actor; may be a fraction (default: 0)",
    )
    group.add_argument("--backend", help="backend (default: the planner chooses)")
    group.add_argument(
        "--threads",
        type=count,
        default=32,
        metavar="N",
        help="number of objects that a worker processes in parallel (default: 32)",
    )
    group.add_argument(
        "--requests",
        type=count,
        default=16,
        metavar="N",
        help="number of ranges and parts of large objects that a worker processes in parallel (default: 16)",
    )
    group.add_argument(
        "--memory",
        type=memory,
        default=256 << 20,
        metavar="SIZE",
        help="maximum memory that a worker uses for objects in progress (default: 256M)",
    )
    group.add_argument(
        "--attempts", type=count, default=5, metavar="N", help="maximum number of attempts for each object (default: 5)"
    )
    group.add_argument(
        "--max-errors", type=count_or_none, metavar="N", help="stop when more than N objects have failed"
    )
    group.add_argument(
        "--checkpoint",
        type=seconds,
        default=30,
        metavar="S",
        help="number of seconds between saves of the manifest (default: 30)",
    )
    group.add_argument(
        "--lock-expiry",
        type=seconds,
        default=EXPIRY,
        metavar="S",
        help="number of seconds without renewal after which a job on another machine loses its lock (default: 60)",
    )


def _telling(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("reports")
    group.add_argument("-q", "--quiet", action="store_true", help="do not show progress")
    group.add_argument("--json", action="store_true", help="print the report as JSON on standard output")
    group.add_argument(
        "--metrics",
        metavar="[HOST:]PORT|FILE",
        help="serve metrics in Prometheus' text format at a port (/metrics; a web page at /), or write them to a file",
    )


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(
        "warpaes bulk", description=DESCRIPTION, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, sentence: str) -> argparse.ArgumentParser:
        return commands.add_parser(name, help=sentence, description=sentence)

    for name, sentence in (
        ("encrypt", "encrypt the objects of SOURCE to TARGET"),
        ("decrypt", "decrypt the objects of SOURCE to TARGET"),
    ):
        each = command(name, sentence)
        each.add_argument("source", metavar="SOURCE", help="object or folder")
        each.add_argument("target", metavar="TARGET", help="folder")
        each.add_argument(
            "--names",
            metavar="FILE",
            help="process only the objects in this list: Parquet (key, size, etag), or one name per line",
        )
        _dry_run(each)
        each.add_argument("--follow", action="store_true", help="follow symbolic links in SOURCE")
        each.add_argument(
            "--suffix", type=suffix, default="", help="suffix of all names in the encrypted dataset (default: none)"
        )
        each.add_argument("--update", action="store_true", help="list the source again, and add new objects to the job")
        each.add_argument("--overwrite", action="store_true", help="replace objects that exist in TARGET")
        each.add_argument(
            "--verify", action="store_true", help="read every object again after writing it, and compare the content"
        )
        each.add_argument(
            "--remove-source",
            action="store_true",
            help="at the end, remove each original whose copy in TARGET decrypts to the same content",
        )
        each.add_argument(
            "--accept-loss",
            action="store_true",
            help="with --remove-source: also remove originals whose copies lose attributes; the job first lists the "
            "attributes",
        )
        _patterns(each)
        _keys(each, None)
        if name == "encrypt":
            each.add_argument(
                "--encrypt-names",
                action="store_true",
                help="encrypt the names of objects and folders, and the parts of the manifest that contain names",
            )
            each.add_argument(
                "--keep-key",
                metavar="ID",
                help="encrypt with the key of KEY that has this ID, instead of the primary key",
            )
            _envelope(each)
            _trust(each, "bind each object to its name and this dataset (default: yes)")
        else:
            _without_manifest(each)
            _encrypted_names(each)
            _trust(each, "refuse objects that are not bound to their names (default: as in the manifest)")
        _storage(each, 2)
        _work(each)
        _share(each)
        _telling(each)

    each = command("rekey", "re-encrypt the objects of TARGET in place with a new key")
    each.add_argument("target", metavar="TARGET")
    _dry_run(each)
    each.add_argument(
        "--verify", action="store_true", help="read every object again after writing it, and compare the content"
    )
    each.add_argument(
        "--drop-old-keys", action="store_true", help="remove wrapped data keys that no object uses any more"
    )
    each.add_argument(
        "--drop-missing",
        action="store_true",
        help="remove from the manifest the objects that an earlier attempt did not find",
    )
    _keys(each, "key that encrypts objects or wraps data keys (default: KEY, which must have a new primary key)")
    _envelope(each)
    _trust(each, "refuse a dataset whose objects are not bound to their names")
    _storage(each, 1)
    _work(each)
    _share(each)
    _telling(each)

    each = command("rewrap", "wrap TARGET's data keys with a new key; objects stay unchanged")
    each.add_argument("target", metavar="TARGET")
    _dry_run(each)
    _keys(each, "key that wraps the data keys")
    _trust(each, "refuse a dataset whose objects are not bound to their names")
    _storage(each, 1)
    _work(each, reads=False)
    _telling(each)

    each = command("verify", "authenticate every object in TARGET, and compare it with the manifest")
    each.add_argument("target", metavar="TARGET")
    each.add_argument(
        "--name", action="append", default=[], metavar="NAME", help="authenticate only this object; can be repeated"
    )
    _patterns(each)
    _keys(each, None)
    _without_manifest(each)
    _encrypted_names(each)
    _trust(each, "refuse objects that are not bound to their names (default: as in the manifest)")
    _storage(each, 1)
    _work(each)
    _telling(each)

    each = command(
        "adopt",
        "authenticate every object in TARGET and write a manifest, for datasets from warpaes 1.0 or without a manifest",
    )
    each.add_argument("target", metavar="TARGET")
    each.add_argument("--dataset", default="", metavar="ID", help="ID of the dataset, if its manifest has been lost")
    _encrypted_names(each)
    each.add_argument(
        "--bind-names",
        action=argparse.BooleanOptionalAction,
        help="require that objects are bound to their names, or that they are not",
    )
    _keys(each, None)
    _storage(each, 1)
    _work(each)
    _telling(each)

    each = command("list", "print the plaintext names of the objects in TARGET's manifest")
    each.add_argument("target", metavar="TARGET")
    _patterns(each)
    _keys(each, None)
    _encrypted_names(each)
    _trust(each, "refuse a dataset whose objects are not bound to their names")
    _storage(each, 1)
    _telling(each)

    each = command("status", "show a summary of TARGET's manifest; with -k, authenticate the manifest first")
    each.add_argument("target", metavar="TARGET")
    _keys(each, None, required=False)
    _storage(each, 1)
    _telling(each)
    return parser


def options_of(arguments: argparse.Namespace) -> Options:
    """Return the options of a job."""
    given = dict(vars(arguments))
    if given.pop("needs_key") and not given["key"]:
        place = os.environ.get("WARPAES_KEYSET", "")
        if not place:
            raise ValueError("no keys; use -k KEY, or set WARPAES_KEYSET to the place of a keyset")
        given["key"] = [place]
    storage = {
        "endpoint_url": given.pop("endpoint_url"),
        "region_name": given.pop("region"),
        "timeout": given.pop("timeout"),
        "put": dict(given.pop("put")),
    }
    source = {**storage, "endpoint_url": given.pop("source_endpoint_url", None) or storage["endpoint_url"]}
    source["follow"] = given.pop("follow", False)
    quiet, _ = given.pop("quiet"), given.pop("json")
    given.setdefault("source", given["target"])
    if parsed := dataset_place(given["key"][0]) if given["command"] == "list" and given["key"] else None:
        given["key"][0] = parsed.key
        given["dataset"], given["pin"] = given["dataset"] or parsed.id or "", given["pin"] or parsed.pin
    return Options(**given, source_options=source, target_options=storage, progress=None if quiet else sys.stderr)


def _lines(report: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of the readable report."""
    if report.get("dry_run"):
        yield from plan.lines(report)
    elif "names" in report:
        yield from contents.lines(report)
        return
    elif "states" in report:
        states = ", ".join(f"{count} {printable(state)}" for state, count in sorted(report["states"].items()))
        ended = "ended" if report["finished"] else "not ended"
        kind = "authentic" if report["authentic"] else "not checked (no -k)"
        source = printable(report["source"] or report["target"])
        yield f"{printable(report['command'])} of {source} to {printable(report['target'])}: {ended}"
        yield f"{report['objects']} objects, {human(report['bytes'])}: {states}"
        yield f"dataset {printable(report['dataset'])}, save {report['save']}: {kind}"
        if report["authentic"]:
            yield f"manifest key {report['manifest_key']}, under {printable(report['under'])}"
        if lock := report["lock"]:
            by = f"{lock['process']} on {lock['host']} ({lock['command']}, {lock['since']})"
            yield f"locked by process {printable(by)}"
    else:
        yield (
            f"{report['command']}: {report['run_objects']} objects, {human(report['run_bytes'])} "
            f"in {report['seconds']:.1f} s ({human(report['bytes_per_second'])}/s, "
            f"{report['objects_per_second']:.0f} objects/s), "
            f"{report['done']} of {report['objects']} done, {report['errors']} errors"
        )
        if report["manifest_key"]:
            yield f"  save {report['save']} of its manifest, under the manifest key {report['manifest_key']}"
        for name, sentence in (
            ("retries", "were restarted"),
            ("worker_deaths", "workers died"),
            ("adopted", "were already complete from an earlier attempt"),
            ("parts_swept", "incomplete uploads were removed"),
        ):
            if report[name]:
                yield f"  {report[name]} {sentence}"
    for computed_on, count in report.get("computed_on", {}).items():
        yield f"  {count} on {printable(computed_on)}"
    for note in report.get("notes", ()):
        yield f"  note: {printable(note)}"
    for failed in report["first_errors"]:
        yield f"  {printable(failed['key'])}: {printable(failed['error'])}"
    if report["errors"] > len(report["first_errors"]):
        yield f"  and {report['errors'] - len(report['first_errors'])} more; --json and the manifest list all of them"


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit status.

    The status is 0; 1 if objects or the job failed, or the report could not be written; 2 if the job could not begin;
    or 130 if the job was interrupted.
    """
    parsed = make_parser().parse_args(arguments)
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    run: Run | None = None
    try:
        options = options_of(parsed)
        with contextlib.redirect_stdout(sys.stderr):  # for Ray, which prints the folder of its logs
            if parsed.command == "status":
                from .verify import status

                report = status(options.target, options.target_options, options.key)
            else:
                run = make_run(options)
                report = run.run()
    except FAILURES as error:
        print(f"warpaes bulk: {printable(str(error))}", file=sys.stderr)
        return 1 if run is not None and run.begun else 2
    except KeyboardInterrupt:
        print("warpaes bulk: interrupted; run the same command to continue from the manifest", file=sys.stderr)
        return 130
    finally:
        signal.signal(signal.SIGTERM, before)
    if unwritten := print_report(json.dumps(report, indent=2) if parsed.json else "\n".join(_lines(report))):
        print(f"warpaes bulk: the job has ended, but its report could not be written: {unwritten}", file=sys.stderr)
        return 1
    return 1 if report["errors"] and parsed.command != "status" else 0
