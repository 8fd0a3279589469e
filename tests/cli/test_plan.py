"""Tests `warpaes plan` and `warpaes calibrate`, without checking durations."""

import json
import os
import unittest

from support import ARGUMENT, BACKEND, EXISTS, KEY_LENGTH, WRITE, CommandTest

NONE = {"WARPAES_CALIBRATION": "none"}
COST = (
    '{"of": "%s", "class": "%s", "way": "one-lane", "key_bits": 128, "fixed_s": 1e-6, "message_s": 0, "key_s": 0, '
    '"serial_byte_s": 0, "byte_s": [%s]}'
)


class Plan(CommandTest):
    def plan(self, *arguments, env=NONE):
        return json.loads(self.warpaes("plan", *arguments, "--json", env=env))

    def test_help(self):
        for command in ("plan", "calibrate"):
            text = self.warpaes(command, "--help").decode()
            self.assertIn(f"Usage: warpaes {command}", text)
            self.assertIn(command, self.warpaes("--help").decode())

    def test_a_record_for_programs(self):
        record = self.plan("--mode", "ctr", "--bytes", "64K", "--key-bits", "256")
        self.assertEqual((record["mode"], record["bytes"], record["messages"]), ("ctr", 65536, 1))
        self.assertEqual((record["key_bits"], record["direction"], record["from"]), (256, "encrypt", "host"))
        backends = [p["backend"] for p in record["predictions"]]
        self.assertEqual(backends[:4], ["libcrypto", "aesni", "vaes", "armv8"])
        self.assertIn("cuda", backends)
        possible = {p["backend"]: p for p in record["predictions"] if p["possible"]}
        self.assertIn("libcrypto", possible)
        for p in possible.values():
            self.assertGreater(p["seconds"], 0)
            self.assertGreaterEqual(p["lanes"], 1)
            self.assertFalse(p["calibrated"])
        plan = record["plan"]
        self.assertIn(plan["backend"], possible)
        self.assertEqual(plan["device"], -1)
        self.assertIn(plan["backend"], plan["reason"])
        self.assertIn("not calibrated", plan["reason"])

    def test_sizes_by_any_name(self):
        for text, size in (
            ("3", 3),
            ("3k", 3 << 10),
            ("3K", 3 << 10),
            ("3KiB", 3 << 10),
            ("3MiB", 3 << 20),
            ("3G", 3 << 30),
        ):
            self.assertEqual(self.plan("--mode", "ctr", "--bytes", text)["bytes"], size)
        for text in ("3KB", "iB", "3T", "3 K", "-3", ""):
            self.refused(ARGUMENT, "--size", "plan", "--mode", "ctr", f"--bytes={text}")

    def test_a_table_for_people(self):
        text = self.warpaes("plan", "--mode", "gcm", "--bytes", "1500", "--messages", "1000", env=NONE).decode()
        for words in ("1000 messages of 1.46 KiB", "gcm encryption", "AES-128", "libcrypto", "plan: ", "why: "):
            self.assertIn(words, text)
        for place, words in (("host", "in pageable memory"), ("page-locked", "in page-locked memory")):
            text = self.warpaes("plan", "--mode", "gcm", "--size", "1500", "--from", place, env=NONE).decode()
            self.assertEqual(text.splitlines()[0], f"1 message of 1.46 KiB, gcm encryption, AES-128, {words}")

    def test_larger_messages_take_longer(self):
        sizes = ["0", "64", "1K", "64K", "1M", "64M", "1G"]
        seconds = [self.plan("--mode", "xts", "--bytes", size, "--threads", "1")["plan"]["seconds"] for size in sizes]
        self.assertEqual(seconds, sorted(seconds))

    def test_every_mode_place_and_direction(self):
        for mode in ("ecb", "cbc", "cfb128", "cfb8", "cfb1", "ofb", "ctr", "xts", "gcm", "ccm", "cmac"):
            for direction in ("encrypt", "decrypt"):
                record = self.plan("--mode", mode, "--bytes", "1M", "--direction", direction, "--from", "page-locked")
                self.assertGreater(record["plan"]["seconds"], 0)
                self.assertFalse(record["batch"])

    def test_what_was_asked_for_stays(self):
        record = self.plan("--mode", "ctr", "--bytes", "1G", "--backend", "libcrypto")
        self.assertEqual(record["plan"]["backend"], "libcrypto")
        self.assertIn("requested", record["plan"]["reason"])
        record = self.plan("--mode", "ctr", "--bytes", "1G", env=NONE | {"WARPAES_BACKEND": "libcrypto"})
        self.assertEqual(record["plan"]["backend"], "libcrypto")

    def test_wrong_options(self):
        plan = ("plan", "--mode", "ctr", "--bytes", "1M")
        for words, arguments in (
            ("--mode and --size", ("plan",)),
            ("--mode and --size", ("plan", "--mode", "ctr")),
            ("rot13", ("plan", "--mode", "rot13", "--bytes", "1")),
            ("--size|many", ("plan", "--mode", "ctr", "--bytes", "many")),
            ("--from|tape", (*plan, "--from", "tape")),
            ("--direction|sideways", (*plan, "--direction", "sideways")),
            ("--messages", (*plan, "--messages", "0")),
            ("--key-bits", (*plan, "--key-bits", "128,256")),
            ("--surprise", (*plan, "--surprise")),
            ("--mode", ("plan", "--grid", "--modes", "rot13")),
            ("--from", ("plan", "--grid", "--places", "tape")),
            ("--surprise", ("calibrate", "--surprise")),
        ):
            self.refused(ARGUMENT, words, *arguments, env=NONE)
        self.refused(KEY_LENGTH, "key_bits|129", *plan, "--key-bits", "129", env=NONE)
        self.refused(BACKEND, "abacus", *plan, "--backend", "abacus", env=NONE)
        self.refused(BACKEND, "device 9999", *plan, "--device", "9999", env=NONE)
        forced = (*plan, "--from", "device", "--backend", "libcrypto")
        self.refused(BACKEND, "device memory", *forced, env=NONE)


class Calibration(CommandTest):
    def machine(self):
        """Return a calibration of this machine from a short run."""
        path = self.path("calibration.json")
        env = {"WARPAES_CALIBRATION": path}
        record = json.loads(self.warpaes("calibrate", "--quick", "--cpu-only", "--json", env=env))
        self.assertEqual(record["path"], path)
        self.assertGreater(record["measurements"], 20)
        return env

    def test_is_stored_and_used(self):
        env = self.machine()
        self.assertEqual(os.listdir(self.directory), ["calibration.json"])
        stored = json.loads(self.read("calibration.json"))
        self.assertEqual(stored["schema"], 1)
        self.assertIn("libcrypto", {cost["of"] for cost in stored["costs"]})
        arguments = ("plan", "--mode", "ctr", "--bytes", "1M", "--json")
        plan = json.loads(self.warpaes(*arguments, env=env))["plan"]
        self.assertTrue(plan["calibrated"])
        self.assertIn("(calibrated)", plan["reason"])
        # With different figures, the plan chooses a different backend.
        for favourite in ("libcrypto", "aesni", "armv8"):
            costs = [
                COST % (name, "ctr", ", ".join(["1e-12" if name == favourite else "1e-6"] * 8))
                for name in ("libcrypto", "aesni", "vaes", "armv8")
            ]
            other = stored | {"costs": [json.loads(cost) for cost in costs]}
            self.write("calibration.json", json.dumps(other).encode())
            record = json.loads(self.warpaes(*arguments, "--threads", "1", env=env))
            usable = [p["backend"] for p in record["predictions"] if p["possible"]]
            if favourite in usable:
                self.assertEqual(record["plan"]["backend"], favourite)
        # A calibration that is damaged or from a different machine is ignored, and the command reports it.
        for text in (b"{", b"", json.dumps(stored | {"cpu": "another"}).encode()):
            self.write("calibration.json", text)
            plan = json.loads(self.warpaes(*arguments, env=env))["plan"]
            self.assertFalse(plan["calibrated"])
            self.assertIn("is not used", plan["reason"])

    def test_goes_to_the_cache(self):
        env = {"WARPAES_CALIBRATION": "", "XDG_CACHE_HOME": self.path("cache")}
        self.warpaes("calibrate", "--quick", "--cpu-only", env=env)
        (name,) = os.listdir(self.path("cache/warpaes"))
        self.assertTrue(name.startswith("calibration-"), name)

    def test_what_a_person_reads_of_it(self):
        path = self.path("calibration.json")
        for env, where in ((NONE, "not stored"), ({"WARPAES_CALIBRATION": path}, f"stored in {path}")):
            measured, stored = self.warpaes("calibrate", "--quick", "--cpu-only", env=env).decode().splitlines()
            self.assertRegex(
                measured,
                r"^[1-9]\d+ measurements in \d+\.\d s; median error of the predictions: \d+\.\d %$",
            )
            self.assertEqual(stored, where)
            self.assertEqual(os.listdir(self.directory), [] if env is NONE else ["calibration.json"])

    def test_says_where_it_cannot_be_stored(self):
        self.write("file", b"")
        env = {"WARPAES_CALIBRATION": self.path("file/below")}
        self.refused(WRITE, "calibration|file/below", "calibrate", "--quick", "--cpu-only", env=env)

    def test_overwrites_nothing_else(self):
        keyset = self.write("keyset", self.warpaes("keygen"))
        before = self.read("keyset")
        words = "calibration|keyset|it is not a calibration"
        self.refused(WRITE, words, "calibrate", "--quick", "--cpu-only", env={"WARPAES_CALIBRATION": keyset})
        self.assertEqual(self.read("keyset"), before)


BENCH = ("bench", "--backend", "libcrypto", "--mode", "ctr", "--size", "64K", "--key", "128", "--memory")
BENCH += ("pageable", "--samples", "1", "--seconds", "0.001")


class Grid(CommandTest):
    def test_records_overwrite_nothing_unless_it_is_asked_for(self):
        bench = (*BENCH, "-o")
        grid = ("plan", "--grid", "--most", "64", "--modes", "ctr", "--places", "host", "-o")
        for command, member in ((bench, "bench"), (grid, "points")):
            self.warpaes(*command, "new", env=NONE)
            self.assertIn(member, json.loads(self.read("new")))
            self.write("old", b"old" * 100_000)
            self.refused(EXISTS, "--output|'old' exists|with -f", *command, "old", env=NONE)
            self.assertEqual(self.read("old"), b"old" * 100_000)
            self.warpaes(*command, "old", "-f", env=NONE)
            self.assertIn(member, json.loads(self.read("old")))
            self.warpaes(*command, "/dev/null", env=NONE)
            self.refused(WRITE, "--output|nowhere/new", *command, "nowhere/new", env=NONE)
            os.unlink(self.path("new"))

    def test_no_record_is_written_where_none_is_asked_for(self):
        self.assertIn(b"GB/s", self.warpaes(*BENCH, env=NONE))
        self.assertEqual(os.listdir(self.directory), [])

    def test_measures_every_backend(self):
        options = ("--grid", "--most", "4K", "--modes", "ctr,cbc", "--places", "host", "--json", "-o", "grid.json")
        record = json.loads(self.warpaes("plan", *options, env=NONE))
        self.assertEqual(record, json.loads(self.read("grid.json")))
        self.assertEqual({p["mode"] for p in record["points"]}, {"ctr", "cbc"})
        for point in record["points"]:
            self.assertLessEqual(point["bytes"] * point["messages"], 4096)
            self.assertIn(point["choice"], point["measured_s"])
            best = min(s for s in point["measured_s"].values() if s is not None)
            self.assertAlmostEqual(point["ratio"], point["measured_s"][point["choice"]] / best)
        good = sum(p["ratio"] <= record["good_ratio"] for p in record["points"])
        self.assertEqual(record["good"], good)
        self.assertAlmostEqual(record["share"], good / len(record["points"]))


if __name__ == "__main__":
    unittest.main()
