"""The commands to run in every environment."""

from dataclasses import dataclass, field

from world import ENC, MARKER, RAW_KEY, Case  # noqa: F401

PLAIN = (MARKER + b"." * 100) * 400


@dataclass
class Recipe:
    name: str
    arguments: tuple
    outputs: dict = field(default_factory=dict)
    reads: bool = False  # reads standard input
    prints: bool = False  # prints on standard output
    data: bool = False  # standard output contains data instead of messages
    status: int = 0
    open_stdout: bool = False
    changes_keys: bool = False
    threads: bool = False

    def case(self, axis, name, **more):
        more.setdefault("stdin", PLAIN if self.reads else b"")
        more.setdefault("arguments", list(self.arguments))
        more.setdefault("outputs", self.outputs)
        return Case(axis, f"{self.name}: {name}", open_stdout=self.open_stdout, changes_keys=self.changes_keys, **more)


K = ("-k", "keys")
IV = ("-iv", "00" * 16)
TREE = {"out/plain.warpaes": "sealed", "out/more.warpaes": "sealed"}
RECIPES = [
    Recipe("encrypt", ("encrypt", *K, "-o", "out", "plain"), {"out": "sealed"}),
    Recipe("encrypt with progress", ("encrypt", *K, "--progress", "-o", "out", "plain"), {"out": "sealed"}),
    Recipe("encrypt with a record", ("encrypt", *K, "--json", "-o", "out", "plain"), {"out": "sealed"}, prints=True),
    Recipe("encrypt a stream", ("encrypt", *K, "-o", "out"), {"out": "sealed"}, reads=True),
    Recipe("encrypt to a stream", ("encrypt", *K, "-o", "-", "plain"), prints=True, data=True),
    Recipe("encrypt several", ("encrypt", *K, "--output-dir", "out", "plain", "more"), TREE, threads=True),
    Recipe("decrypt", ("decrypt", *K, "-o", "out", "sealed"), {"out": "plain"}),
    Recipe("decrypt to a stream", ("decrypt", *K, "sealed"), prints=True, data=True, open_stdout=True),
    Recipe("decrypt a part", ("decrypt", *K, "-r", "0:99", "-o", "out", "sealed"), {"out": "part"}),
    Recipe("verify", ("verify", *K, "sealed"), prints=True),
    Recipe("verify with a record", ("verify", *K, "--json", "sealed"), prints=True),
    Recipe("inspect", ("inspect", "sealed"), prints=True),
    Recipe("inspect with a key", ("inspect", *K, "--json", "sealed", "sealed"), prints=True),
    Recipe("keygen", ("keygen", "-o", "out"), {"out": "keyset"}),
    Recipe("keygen to a stream", ("keygen",), prints=True, data=True, open_stdout=True),
    Recipe("keys list", ("keys", "list", "keys"), prints=True),
    Recipe("keys add", ("keys", "add", "keys"), prints=True, changes_keys=True),
    Recipe("enc", (*ENC, "-in", "plain", "-out", "out"), {"out": "enc"}),
    Recipe("enc -d", (*ENC, "-d", "-in", "sealed_enc", "-out", "out"), {"out": "plain"}),
    Recipe("enc -K", ("enc", "-aes-256-cbc", "-K", "file:raw", *IV, "-a", "-in", "plain"), prints=True, data=True),
    Recipe("enc of streams", (*ENC,), reads=True, prints=True, data=True),
    Recipe("plan", ("plan", "--mode", "gcm", "--bytes", "1G", "--json"), prints=True),
    Recipe("devices", ("devices",), prints=True),
    Recipe("help", ("--help",), prints=True),
    Recipe("an unknown command", ("nosuch",), status=2),
    Recipe("a missing file", ("verify", *K, "nosuch"), status=16),
    Recipe("a wrong key", ("decrypt", "-k", "raw", "-o", "out", "sealed"), status=22),
]
SELFTEST = Recipe("selftest", ("selftest",), prints=True)
BY_NAME = {recipe.name: recipe for recipe in [*RECIPES, SELFTEST]}
WRITING = [recipe for recipe in RECIPES if recipe.outputs]
