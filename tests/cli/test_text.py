"""Tests that text output agrees with JSON output, and that the self-test reports a faulty library."""

import json
import os
import re
import unittest

from support import ARGUMENT, KEYS, CommandTest, data, main

NONE = {"WARPAES_CALIBRATION": "none"}
RECORDER = os.environ.get("RECORDED_CALLS_LIBRARY")
INTERNAL = 1
WARPAES = os.environ["WARPAES"]


def human_seconds(seconds):
    for unit, name in ((1e-6, "ns"), (1e-3, "us"), (1, "ms")):
        if seconds < unit:
            return f"{seconds / unit * 1e3:.3g} {name}"
    return f"{seconds:.3g} s"


def human_bytes(n):
    for unit, name in ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if n >= unit:
            return f"{n / unit:.2f} {name}"
    return f"{n} B"


def label(record):
    return record["backend"] if record["device"] < 0 else f"{record['backend']}[{record['device']}]"


class Texts(CommandTest):
    def test_plans(self):
        for arguments, first in (
            (("--mode", "ctr", "--bytes", "64"), "1 message of 64 B, ctr encryption, AES-128, in pageable memory"),
            (
                ("--mode", "cbc", "--bytes", "1500", "--messages", "3", "--direction", "decrypt", "--key-bits", "192"),
                "3 messages of 1.46 KiB, cbc decryption, AES-192, in pageable memory",
            ),
            (
                ("--mode", "gcm", "--bytes", "4G", "--from", "page-locked", "--threads", "1"),
                "1 message of 4.00 GiB, gcm encryption, AES-128, in page-locked memory",
            ),
            (
                ("--mode", "xts", "--bytes", "3M", "--backend", "libcrypto", "--batch", "--key-bits", "256"),
                "1 message of 3.00 MiB, xts encryption, AES-256, in pageable memory",
            ),
        ):
            record = json.loads(self.warpaes("plan", *arguments, "--json", env=NONE))
            lines = self.warpaes("plan", *arguments, env=NONE).decode().splitlines()
            self.assertEqual(lines[:3], [first, "", "backend        predicted      GB/s  workers"])
            total = record["messages"] * record["bytes"]
            for line, p in zip(lines[3:], record["predictions"]):
                words = [label(p), "-"]
                if p["possible"]:
                    rate = f"{total / p['seconds'] / 1e9:.3g}"
                    words = [label(p), *human_seconds(p["seconds"]).split(), rate, str(p["lanes"])]
                self.assertEqual(line.split(), words)
            plan = record["plan"]
            backends = label(plan) + (f" and {plan['beside']}" if plan["beside"] else "")
            workers = f"{plan['lanes']} worker{'s' if plan['lanes'] != 1 else ''}"
            chunks = human_bytes(int(plan["chunk_bytes"]))
            end = lines[3 + len(record["predictions"]) :]
            self.assertEqual(end[:2], ["", f"plan: {backends}, {workers}, chunks of {chunks}"])
            self.assertTrue(end[2].startswith("why:  " + label(plan)), end)

    def test_every_option_of_a_plan(self):
        def plan(*arguments):
            return json.loads(self.warpaes("plan", "--mode", "cbc", "--bytes", "16K", *arguments, "--json", env=NONE))

        def seconds(record):
            return record["predictions"][0]["seconds"]

        alone = plan("--backend", "libcrypto")
        self.assertEqual((alone["keys"], alone["messages"], alone["batch"]), (1, 1, False))
        many = plan("--messages", "64", "--keys", "64", "--threads", "1")
        self.assertEqual((many["keys"], many["messages"], many["batch"]), (64, 64, True))
        self.assertEqual({p["lanes"] for p in many["predictions"] if p["possible"]}, {1})
        self.assertGreater(seconds(many), seconds(plan("--messages", "64", "--threads", "1")))
        self.assertGreater(seconds(many), seconds(plan("--messages", "64", "--keys", "64", "--threads", "2")))
        self.assertTrue(plan("--batch")["batch"])
        self.assertGreater(seconds(plan("--key-bits", "256")), seconds(plan("--key-bits", "192")))
        self.assertGreater(seconds(plan("--key-bits", "192")), seconds(alone))
        self.assertLess(seconds(plan("--direction", "decrypt", "--threads", "1")), seconds(alone))
        for place in ("host", "page-locked"):
            self.assertEqual(plan("--from", place)["from"], place)
        self.assertFalse(
            any(p["possible"] for p in plan("--from", "host", "--backend", "libcrypto")["predictions"][3:])
        )

    def test_devices(self):
        lines = self.warpaes("devices").decode().splitlines()
        self.assertEqual(lines[0].split(), ["backend", "usable", "description"])
        records = json.loads(self.warpaes("devices", "--json"))
        self.assertEqual(len(lines), 1 + len(records))
        for line, record in zip(lines[1:], records):
            name = record["name"] + (f"[{record['device']}]" if record["device"] >= 0 else "")
            text = f"{name:<10}  {'yes' if record['usable'] else 'no':<6}  {record['description']}"
            if record["multiprocessors"]:
                text += f", {record['multiprocessors']} multiprocessors"
            if record["memory_bytes"]:
                text += f", {human_bytes(record['memory_bytes'])}"
            self.assertEqual(line, text if record["usable"] else f"{text}: {record['reason']}")

    def test_files(self):
        self.warpaes("keygen", "-t", "AES256_GCM_HKDF_4KB", "-o", "keyset")
        self.warpaes("keygen", "-t", "C2SP_CHUNKED_128", "-o", "raw")
        self.write("in", data(10_000))
        for keys, how in (("keyset", ()), ("raw", ("--format", "C2SP_CHUNKED_128"))):
            self.warpaes("encrypt", "-k", keys, *how, "-f", "-o", "out", "in")
            (record,) = json.loads(self.warpaes("inspect", "-k", keys, *how, "--json", "out"))
            lines = self.warpaes("inspect", "-k", keys, *how, "out").decode().splitlines()
            key = "the key that was given" if record["key_id"] is None else f"{record['key_id']}, which opens it"
            self.assertEqual(record["key_id"] is None, keys == "raw")
            self.assertEqual(
                lines,
                [
                    "out",
                    f"  format      {record['format']}, {record['template']}",
                    f"  length      {record['file_bytes']} bytes, {record['header_bytes']} of them header",
                    f"  segments    {record['segments']} of {record['segment_bytes']} bytes",
                    "  plaintext   10000 bytes",
                    f"  key         {key}",
                ],
            )
            self.assertEqual(record["file_bytes"], os.stat(self.path("out")).st_size)
        # Without keys, `inspect` lists the lengths for every possible template.
        self.warpaes("encrypt", "-k", "keyset", "-f", "-o", "out", "in")
        (record,) = json.loads(self.warpaes("inspect", "--json", "out"))
        lines = self.warpaes("inspect", "out").decode().splitlines()
        begin = lines.index("  if the key is one of            segments     plaintext bytes")
        self.assertEqual(
            [line.split() for line in lines[begin + 1 :]],
            [[c["template"], str(c["segments"]), str(c["plaintext_bytes"])] for c in record["candidates"]],
        )
        self.assertGreater(len(record["candidates"]), 2)

    def test_keys(self):
        self.warpaes("keygen", "-o", "keyset")
        for template in ("AES128_CTR_HMAC_SHA256_4KB", "AES256_GCM_HKDF_4KB", "AES128_GCM_HKDF_1MB"):
            self.warpaes("keys", "add", "-t", template, "keyset")
        keyset = json.loads(self.read("keyset"))
        keyset["key"][1]["keyData"]["typeUrl"] = "type.googleapis.com/google.crypto.tink.AesGcmKey"
        self.write("keyset", json.dumps(keyset).encode())
        numbers = [key["keyId"] for key in keyset["key"]]
        self.warpaes("keys", "disable", "keyset", str(numbers[2]))
        self.warpaes("keys", "destroy", "keyset", str(numbers[3]))
        records = json.loads(self.warpaes("keys", "list", "keyset", "--json"))
        self.assertEqual([record["key_id"] for record in records], numbers)
        self.assertEqual([record["template"] for record in records[1:]], ["", "AES256_GCM_HKDF_4KB", ""])
        self.assertEqual([record["key_bits"] for record in records], [256, 0, 256, 0])
        self.assertEqual([record["segment_bytes"] for record in records], [1 << 20, 0, 4096, 0])
        lines = [line.split() for line in self.warpaes("keys", "list", "keyset").decode().splitlines()]
        self.assertEqual(
            lines,
            [
                ["key", "state", "primary", "template"],
                [str(numbers[0]), "enabled", "yes", records[0]["template"]],
                [str(numbers[1]), "enabled", "(not", "for", "files)"],
                [str(numbers[2]), "disabled", "AES256_GCM_HKDF_4KB"],
                [str(numbers[3]), "destroyed"],
            ],
        )

    def test_every_name_of_an_option(self):
        self.write("in", data(100_000))
        enc = ("enc", "-aes-128-ctr", "-K", KEYS[128], "-iv", "00" * 16, "-in", "in", "-out", "out")
        sealed = self.warpaes(*enc[:-2])
        for options in (
            (),
            ("-force", "-depth", "2", "-chunk", "8K"),
            ("-f", "--no-progress"),
            ("-f", "-bufsize", "1"),
        ):
            self.assertEqual(self.run_command(WARPAES, *enc, *options).returncode, 0, options)
            self.assertEqual(self.read("out"), sealed)
        self.refused(ARGUMENT, "-chunk|many", *enc, "-f", "-chunk", "many")
        self.refused(ARGUMENT, "depth", *enc, "-f", "-depth", "1025")
        self.refused(ARGUMENT, "-threads|many", *enc, "-f", "-threads", "many")
        for option in ("-h", "-help", "--help"):
            self.assertIn(b"Usage: warpaes enc", self.warpaes("enc", option))
        self.warpaes("keygen", "-o", "keyset")
        self.refused(ARGUMENT, "standard input can be read only once", "verify", "-k", "keyset", "-", "-")

    def test_secrets_that_are_too_long(self):
        self.write("in", data(100))
        long = "ab" * 3000
        self.write("long", long.encode())
        enc = ("enc", "-aes-128-ctr", "-iv", "00" * 16, "-in", "in", "-out", "out")
        for what, env in (("file:long", {}), ("env:LONG", {"LONG": long}), (long, {})):
            self.refused(ARGUMENT, "-K|longer than 4096 bytes", *enc, "-K", what, env=env)
        self.refused(ARGUMENT, "-k|longer than 4096 bytes", *enc[:-6], "-in", "in", "-out", "out", "-k", long)

    def test_what_a_job_did(self):
        self.write("in", data(100_000))
        enc = ("enc", "-aes-128-ctr", "-K", KEYS[128], "-iv", "00" * 16, "-in", "in", "-f", "-out", "out")
        enc += ("--backend", "libcrypto")
        record = json.loads(self.warpaes(*enc, "--json"))
        self.assertEqual(
            [
                record[name]
                for name in ("status", "backend", "device", "bytes_read", "bytes_written", "counter_wrapped")
            ],
            [0, "libcrypto", -1, 100_000, 100_000, False],
        )
        self.assertAlmostEqual(record["bytes_per_second"] * record["seconds"], 100_000, delta=1)
        for option in ("-v", "--progress"):
            text = self.run_command(WARPAES, *enc, option).stderr.decode()
            self.assertRegex(text, r"97\.66 KiB in \d+\.\d\d s: \d+\.\d\d GB/s on libcrypto\n$")
        self.warpaes("keygen", "-o", "keyset")
        seal = ("encrypt", "-k", "keyset", "-f", "-o", "out", "in", "--backend", "libcrypto")
        text = self.run_command(WARPAES, *seal, "--progress").stderr.decode()
        self.assertRegex(text, r"97\.66 KiB in \d+\.\d\d s: \d+\.\d\d GB/s on libcrypto\n$")
        self.assertNotIn("GB/s", self.run_command(WARPAES, *seal, "--no-progress").stderr.decode())


@unittest.skipUnless(RECORDER, "CTest sets the path of the faulty library; `make test` runs this test")
class SelfTest(CommandTest):
    def test_says_what_is_wrong(self):
        asan = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
        named = set()
        for number in (1, 2, 40, 41, 60, 75, 76, 77, 78, 80, 84, 88, 92, 94, 95, 96, 98, 110, 115, 118, 120, 126, 135):
            env = {"LD_PRELOAD": RECORDER, "WRONG_CALL": str(number), "ASAN_OPTIONS": asan}
            result = self.run_command(WARPAES, "selftest", "--json", env=env)
            self.assertEqual(result.returncode, INTERNAL, (number, result.stderr))
            first, *others = json.loads(result.stdout)
            self.assertIn(len(first["wrong"]), (1, 2), number)
            self.assertEqual([record.get("wrong", []) for record in others], [[]] * len(others))
            named |= {re.sub(r"\d+", "", name).strip() for name in first["wrong"]}
        self.assertGreater(len(named), 12, named)
        lines = self.run_command(WARPAES, "selftest", env=env).stdout.decode().splitlines()
        self.assertEqual(
            lines[0], f"libcrypto   {first['examples'] - len(first['wrong'])} of {first['examples']} passed"
        )
        self.assertEqual(lines[1].split("wrong: ")[1], first["wrong"][0])


if __name__ == "__main__":
    main()
