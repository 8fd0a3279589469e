"""Tests `warpaes tune` on the simulated GPU (WARPAES_LIBRARY), without assumptions about times."""

import json
import os

from support import ARGUMENT, BACKEND, DEVICE, WRITE, CommandTest, main

FIGURES = [
    "tables",
    "threads",
    "own_key_threads",
    "serial_warps",
    "tensor_blocks",
    "product_blocks",
    "one_launch_share",
    "two_tables_share",
    "own_key_tensor_bytes",
    "long_counter_bytes",
]


#: Matches a line in the output of the self-test.
RIGHT = r"(?m)^cuda\[0\] +(\d+) of \1 passed$"


class Simulated(CommandTest):
    """Tests that run the command with the simulated GPU's library."""

    def setUp(self):
        super().setUp()
        libraries = self.path("lib")
        os.mkdir(libraries)
        # The loader finds this library before the command's own library, which has the same name.
        os.symlink(os.environ["WARPAES_LIBRARY"], os.path.join(libraries, "libwarpaes.so.1"))
        self.file = self.path("calibration.json")
        self.env = {"LD_LIBRARY_PATH": libraries, "WARPAES_CALIBRATION": self.file}


class Devices(Simulated):
    def test_confidential_computing(self):
        """If a driver cannot page-lock ordinary memory, the commands report this and still work."""
        said = "page-locks only memory that the driver allocates"
        self.assertNotIn(said, self.warpaes("devices", env=self.env).decode())
        confidential = self.env | {"WARPAES_SIMT_CONFIDENTIAL": "1"}
        self.assertIn(said, self.warpaes("devices", env=confidential).decode())
        *_, record = json.loads(self.warpaes("devices", "--json", env=confidential))
        self.assertIn(said, record["description"])
        self.warpaes("keygen", "-o", "keyset")
        self.write("in", bytes(range(256)) * 1000)
        gpu = ("--backend", "cuda", "-k", "keyset")
        self.warpaes("encrypt", *gpu, "-o", "sealed", "in", env=confidential)
        self.warpaes("decrypt", *gpu, "-o", "out", "sealed", env=confidential)
        self.assertEqual(self.read("out"), self.read("in"))


class Tune(Simulated):
    text = None

    def tune(self, *options, **variables):
        return json.loads(self.warpaes("tune", *options, "--json", env=self.env | variables))

    def tuned(self):
        """Return the stored result of a tuning run, which all tests share."""
        if Tune.text is None:
            self.tune("--quick")
            Tune.text = self.read("calibration.json")
        self.write("calibration.json", Tune.text)

    def stored(self, change):
        """Store the tuning with changes that `change` makes to the GPU's launches."""
        self.tuned()
        record = json.loads(Tune.text)
        change(record["launches"][0])
        with open(self.file, "w") as file:
            file.write(json.dumps(record))

    def test_measures_stores_and_is_read(self):
        record = self.tune("--quick")
        self.assertEqual([f["name"] for f in record["figures"]], FIGURES)
        self.assertEqual(record["path"], self.file)
        self.assertEqual(record["gpu"]["device"], 0)
        for figure in record["figures"]:
            tried = {v["value"]: v["relative"] for v in figure["values"]}
            self.assertEqual(figure["values"][0], {"value": figure["built_in"], "relative": 1.0})
            self.assertIn(figure["value"], tried)
            self.assertGreater(len(tried), 1)
            self.assertTrue(all(relative > 0 for relative in tried.values()))
        shown = self.tune("--show")
        self.assertEqual([f["value"] for f in shown["figures"]], [f["value"] for f in record["figures"]])
        self.assertNotIn("measurements", shown)

        # Launches use the stored parameters. The output does not depend on them.
        self.stored(lambda launches: launches.update(threads=384, tables=2))
        shown = {f["name"]: f["value"] for f in self.tune("--show")["figures"]}
        self.assertEqual((shown["threads"], shown["tables"]), (384, 2))
        plain = self.write("plain", os.urandom(100_003))
        key = ("-K", "00" * 16, "-iv", "11" * 16, "-in", plain)
        sealed = [
            self.warpaes("enc", "-aes-128-ctr", *key, env=self.env | {"WARPAES_BACKEND": backend})
            for backend in ("libcrypto", "cuda")
        ]
        self.assertEqual(*sealed)
        self.assertRegex(self.warpaes("selftest", env=self.env).decode(), RIGHT)

    def test_calibrate_keeps_what_is_tuned(self):
        self.stored(lambda launches: launches.update(threads=640))
        self.warpaes("calibrate", "--quick", "--cpu-only", env=self.env)
        measured = {cost["of"].split()[0] for cost in json.loads(self.read("calibration.json"))["costs"]}
        self.assertIn("libcrypto", measured)
        self.assertNotIn("cuda", measured)
        self.assertEqual(self.tune("--show")["figures"][1]["value"], 640)

    def test_a_table_for_people(self):
        text = self.warpaes("tune", "--quick", env=self.env).decode()
        for words in (*FIGURES, "built in", "best", "never", "Simulated GPU 0", f"stored in {self.file}"):
            self.assertIn(words, text)
        Tune.text = self.read("calibration.json")
        text = self.warpaes("tune", "--show", env=self.env).decode()
        for words in (*FIGURES, "in use", "T-tables in shared memory"):
            self.assertIn(words, text)

    def test_selftest_tells_what_fails_from_what_is_wrong(self):
        """A GPU that fails during an example has not computed a wrong result."""
        for launch in range(5, 125, 15):
            failing = self.env | {"WARPAES_SIMT_FAIL": f"cudaLaunchKernelEx:{launch}:719"}
            done = self.run_command(os.environ["WARPAES"], "selftest", env=failing)
            self.assertEqual(done.returncode, DEVICE, (launch, done.stdout))
            self.assertNotIn(b"wrong", done.stdout)
            self.assertIn(b"cuda", done.stderr)

    def test_a_plan_of_device_memory(self):
        plan = ("plan", "--mode", "gcm", "--size", "64M", "--direction", "decrypt", "--from", "device")
        text = self.warpaes(*plan, env=self.env).decode()
        self.assertEqual(text.splitlines()[0], "1 message of 64.00 MiB, gcm decryption, AES-128, in device memory")
        self.assertRegex(text, r"(?m)^plan: cuda\[0\], ")

    def test_what_is_stored_and_cannot_be_used(self):
        self.tuned()
        built_in = [f["built_in"] for f in self.tune("--show")["figures"]]
        for words, change in (
            ("threads: 0", {"threads": 0}),
            ("threads: 1000", {"threads": 1000}),
            ("tables: 6", {"tables": 6}),
            ("belong to cuda NVIDIA H100", {"of": "cuda NVIDIA H100, compute capability 9.0"}),
            ("132 multiprocessors", {"multiprocessors": 132}),
            ("4096 bytes of shared memory", {"shared_bytes": 4096}),
            ("expected", {"surprise": 1}),
            ("expected", {"threads": -1}),
        ):
            self.stored(lambda launches, change=change: launches.update(change))
            shown = self.run_command(os.environ["WARPAES"], "tune", "--show", "--json", env=self.env)
            self.assertEqual(shown.returncode, 0, shown.stderr)
            self.assertIn(words, shown.stderr.decode())
            self.assertIn("warpaes tune", shown.stderr.decode())
            self.assertEqual([f["value"] for f in json.loads(shown.stdout)["figures"]], built_in)
        self.assertRegex(self.warpaes("selftest", env=self.env).decode(), RIGHT)
        # Four tables do not fit in this device's shared memory.
        small = {"WARPAES_SIMT_COMPUTE_CAPABILITY": "8.9"}
        self.stored(
            lambda launches: launches.update(
                of="cuda Simulated GPU 0, compute capability 8.9", compute_capability=89, shared_bytes=101376, tables=4
            )
        )
        shown = self.run_command(os.environ["WARPAES"], "tune", "--show", env=self.env | small)
        self.assertIn("tables: 4 take 128 KiB of shared memory", shown.stderr.decode())
        self.assertEqual(self.tune("--show", **small)["figures"][0]["value"], 2)

    def test_machines_with_less_and_nothing_stored(self):
        for capability in ("7.5", "8.0", "12.0"):
            record = self.tune("--quick", "--dry-run", WARPAES_SIMT_COMPUTE_CAPABILITY=capability)
            self.assertTrue(all(f["value"] in [v["value"] for v in f["values"]] for f in record["figures"]))
            tables = [v["value"] for v in record["figures"][0]["values"]]
            self.assertEqual(tables, [4, 2] if capability == "8.0" else [2])
            self.assertNotIn("path", record)
        self.assertFalse(os.path.exists(self.file))

    def test_refusals(self):
        self.refused(ARGUMENT, "--surprise", "tune", "--surprise", env=self.env)
        self.refused(ARGUMENT, "--show|--quick", "tune", "--show", "--quick", env=self.env)
        self.refused(ARGUMENT, "--device", "tune", "--device", "x", env=self.env)
        self.refused(BACKEND, "no CUDA device 3", "tune", "--device", "3", env=self.env)
        self.refused(BACKEND, "no GPU", "tune", env=self.env | {"WARPAES_SIMT_DEVICES": "0"})
        there = self.write("there", b"somebody's")
        self.refused(WRITE, "not a calibration", "tune", "--quick", env=self.env | {"WARPAES_CALIBRATION": there})
        self.assertEqual(self.read("there"), b"somebody's")


if __name__ == "__main__":
    main()
