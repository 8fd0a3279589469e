"""Tests programs that were not written for warpaes and that use the provider through configuration: TLS with OpenSSL's
own commands, nginx and curl, OpenSSH, and PostgreSQL. The tests compare the bytes, and counters show which code ran."""

import hashlib
import os
import pwd
import random
import shutil
import socket
import struct
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

MODULE = Path(os.environ["WARPAES_PROVIDER"])
KINDS = [
    "ecb",
    "cbc",
    "cfb",
    "cfb8",
    "cfb1",
    "ofb",
    "ctr",
    "xts",
    "gcm",
    "ccm",
    "siv",
    "gcm-siv",
    "wrap",
    "cmac",
    "gmac",
]
WHERES = ["kernels", "threads", "gpu", "delegated"]
MIB = 1 << 20


def command(name):
    """Return the path of a program. The search includes folders for daemons, which a user's PATH may lack."""
    found = shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/sbin:/usr/local/sbin")
    if found is None:
        for versions in sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), reverse=True):
            return str(versions)
    return found


def needs(*names):
    missing = [name for name in names if command(name) is None]
    return unittest.skipIf(missing, f"{', '.join(missing)}: not installed; a machine that has it runs this test")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Servers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="warpaes-servers-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.folder.chmod(0o755)
        # The servers run as a different user, who may need to read the module.
        shutil.copy(MODULE, cls.folder / "warpaes.so")
        cls.blob = cls.folder / "blob"
        cls.blob.write_bytes(random.Random(1).randbytes(100 * MIB))
        cls.digest = hashlib.sha256(cls.blob.read_bytes()).hexdigest()

    def setUp(self):
        self.processes = []
        self.addCleanup(self.stop)

    def stop(self):
        for process in reversed(self.processes):
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def config(self, name, more=""):
        """Return an environment that makes programs write their counts to a file of this name, and the file."""
        counters = self.folder / f"{name}.counters"
        counters.touch()
        counters.chmod(0o666)
        path = self.folder / f"{name}.cnf"
        path.write_text(
            "openssl_conf = init\n[init]\nproviders = all\nalg_section = algorithms\n[algorithms]\n"
            "default_properties = ?provider=warpaes\n[all]\ndefault = one\nwarpaes = two\n[one]\nactivate = 1\n"
            f"[two]\nmodule = {self.folder}/warpaes.so\nactivate = 1\ncounters = {counters}\n{more}"
        )
        return {**os.environ, "OPENSSL_CONF": str(path)}, counters

    @staticmethod
    def counted(counters):
        """Return the number of bytes by algorithm and backend."""
        data = counters.read_bytes()
        numbers = struct.unpack(f"<{len(data) // 8}Q", data)
        cells = [(kind, where) for kind in KINDS for where in WHERES]
        return {cell: numbers[2 + 2 * i + 1] for i, cell in enumerate(cells) if numbers[2 + 2 * i + 1]}

    @staticmethod
    def plain():
        return {name: value for name, value in os.environ.items() if name != "OPENSSL_CONF"}

    def run_command(self, *arguments, **options):
        done = subprocess.run(arguments, capture_output=True, timeout=240, check=False, **options)
        self.assertEqual(done.returncode, 0, (arguments, done.stdout[-2000:], done.stderr[-2000:]))
        return done.stdout

    def start(self, *arguments, port, **options):
        log = self.folder / "log"
        with log.open("wb") as to:
            process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=to, stderr=to, **options)
        self.processes.append(process)
        for _ in range(600):
            self.assertIsNone(process.poll(), log.read_text(errors="replace"))
            with socket.socket() as s:
                if s.connect_ex(("127.0.0.1", port)) == 0:
                    return process
            time.sleep(0.05)
        self.fail(f"{arguments[0]} does not answer: {log.read_text(errors='replace')}")

    def certificate(self):
        key, certificate = self.folder / "key.pem", self.folder / "certificate.pem"
        if not certificate.exists():
            self.run_command(
                "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", str(key),
                "-out", str(certificate), "-days", "2", "-subj", "/CN=localhost", env=self.plain(),
            )  # fmt: skip
        return key, certificate

    @needs("openssl")
    def test_tls_by_openssl(self):
        key, certificate = self.certificate()
        suites = [
            ("-tls1_2", ["-cipher", "ECDHE-RSA-AES128-GCM-SHA256"], "gcm", ""),
            ("-tls1_2", ["-cipher", "ECDHE-RSA-AES256-GCM-SHA384"], "gcm", ""),
            ("-tls1_2", ["-cipher", "AES128-CCM:@SECLEVEL=0"], "ccm", ""),
            ("-tls1_2", ["-cipher", "ECDHE-RSA-AES128-SHA256"], "cbc", "cbc = yes\n"),
            ("-tls1_3", ["-ciphersuites", "TLS_AES_128_GCM_SHA256"], "gcm", ""),
            ("-tls1_3", ["-ciphersuites", "TLS_AES_256_GCM_SHA384"], "gcm", ""),
            ("-tls1_3", ["-ciphersuites", "TLS_AES_128_CCM_SHA256"], "ccm", ""),
        ]
        for number, (version, suite, kind, more) in enumerate(suites):
            # Each side is also tested separately, because errors on both sides could cancel each other out.
            for ours in ("server", "client", "both"):
                if kind == "cbc" and ours != "both":
                    continue
                with self.subTest(version=version, suite=suite[1], ours=ours):
                    environment, counters = self.config(f"tls-{number}-{ours}", more)
                    port = free_port()
                    server = environment if ours != "client" else self.plain()
                    client = environment if ours != "server" else self.plain()
                    process = self.start(
                        "openssl", "s_server", "-accept", str(port), "-cert", str(certificate), "-key", str(key),
                        "-HTTP", version, *suite, env=server, cwd=self.folder, port=port,
                    )  # fmt: skip
                    got = self.run_command(
                        "openssl", "s_client", "-connect", f"localhost:{port}", "-quiet", version, *suite,
                        env=client, input=b"GET /blob HTTP/1.0\r\n\r\n",
                    )  # fmt: skip
                    process.terminate()
                    process.wait()
                    self.assertEqual(hashlib.sha256(got).hexdigest(), self.digest)
                    counted = self.counted(counters)
                    bytes_counted = sum(n for (name, _), n in counted.items() if name == kind)
                    # If possible, OpenSSL uses its stitched cipher with HMAC instead of CBC.
                    if kind != "cbc":
                        self.assertGreaterEqual(bytes_counted, (200 if ours == "both" else 100) * MIB, counted)

    @needs("openssl", "nginx", "curl")
    def test_nginx_with_workers(self):
        key, certificate = self.certificate()
        environment, counters = self.config("nginx")
        port = free_port()
        user = f"user {pwd.getpwuid(os.geteuid()).pw_name};" if os.geteuid() == 0 else ""
        (self.folder / "nginx.conf").write_text(
            f"daemon off; {user} worker_processes 2; pid {self.folder}/nginx.pid; error_log stderr;\n"
            "events { worker_connections 64; }\n"
            f"http {{ access_log off; client_body_temp_path {self.folder}/body; proxy_temp_path {self.folder}/proxy;\n"
            f" fastcgi_temp_path {self.folder}/f; uwsgi_temp_path {self.folder}/u; scgi_temp_path {self.folder}/s;\n"
            f" server {{ listen 127.0.0.1:{port} ssl; root {self.folder};\n"
            f"  ssl_certificate {certificate}; ssl_certificate_key {key}; ssl_protocols TLSv1.2 TLSv1.3; }} }}\n"
        )
        self.start(
            command("nginx"), "-p", str(self.folder), "-c", str(self.folder / "nginx.conf"), env=environment, port=port
        )
        for version in ("--tls-max=1.2", "--tlsv1.3"):
            got = self.run_command(
                "curl", "-sSk", *version.split("="), "--ciphers", "ECDHE-RSA-AES128-GCM-SHA256",
                "--tls13-ciphers", "TLS_AES_128_GCM_SHA256", f"https://localhost:{port}/blob", env=self.plain(),
            )  # fmt: skip
            self.assertEqual(hashlib.sha256(got).hexdigest(), self.digest)
        self.assertGreaterEqual(self.counted(counters).get(("gcm", "kernels"), 0), 200 * MIB)
        # curl also uses the provider.
        environment, counters = self.config("curl")
        got = self.run_command("curl", "-sSk", f"https://localhost:{port}/blob", env=environment)
        self.assertEqual(hashlib.sha256(got).hexdigest(), self.digest)
        self.assertGreaterEqual(self.counted(counters).get(("gcm", "kernels"), 0), 100 * MIB)

    @needs("sshd", "ssh", "scp", "ssh-keygen")
    def test_openssh(self):
        folder = self.folder / "ssh"
        folder.mkdir()
        folder.chmod(0o700)
        for name in ("host", "user"):
            self.run_command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name), env=self.plain())
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(exist_ok=True)
        for cipher, kind in (
            ("aes128-gcm@openssh.com", "gcm"),
            ("aes256-gcm@openssh.com", "gcm"),
            ("aes256-ctr", "ctr"),
        ):
            for ours in ("server", "client"):
                with self.subTest(cipher=cipher, ours=ours):
                    environment, counters = self.config(f"ssh-{kind}-{cipher[3:6]}-{ours}")
                    server, client = (environment, self.plain()) if ours == "server" else (self.plain(), environment)
                    port = free_port()
                    (folder / "sshd_config").write_text(
                        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\nPidFile none\nUsePAM no\n"
                        f"AuthorizedKeysFile {folder}/user.pub\nStrictModes no\nPermitRootLogin yes\n"
                        f"Ciphers {cipher}\nSubsystem sftp internal-sftp\n"
                    )
                    self.start(command("sshd"), "-D", "-e", "-f", str(folder / "sshd_config"), env=server, port=port)
                    target = folder / "copy"
                    target.unlink(missing_ok=True)
                    self.run_command(
                        "scp", "-q", "-F", "none", "-P", str(port), "-i", str(folder / "user"), "-c", cipher, "-o",
                        "StrictHostKeyChecking=no", "-o", f"UserKnownHostsFile={folder}/known",
                        "-o", "IdentitiesOnly=yes",
                        f"localhost:{self.blob}", str(target), env=client,
                    )  # fmt: skip
                    self.stop()
                    self.processes.clear()
                    self.assertEqual(hashlib.sha256(target.read_bytes()).hexdigest(), self.digest)
                    counted = self.counted(counters).get((kind, "kernels"), 0)
                    # A process that is killed may lose the counts for its last MiB.
                    self.assertGreaterEqual(counted, 98 * MIB)

    @needs("openssl", "postgres", "initdb", "psql")
    def test_postgresql(self):
        key, certificate = self.certificate()
        environment, counters = self.config("postgresql")
        data, port = self.folder / "postgresql", free_port()
        data.mkdir()
        as_user = []
        if os.geteuid() == 0:  # PostgreSQL refuses to run as root
            try:
                user = pwd.getpwnam("postgres")
            except KeyError:
                self.skipTest("there is no user postgres; a machine that has one runs this test")
            os.chown(data, user.pw_uid, user.pw_gid)
            as_user = ["setpriv", "--reuid", str(user.pw_uid), "--regid", str(user.pw_gid), "--clear-groups"]
        for name, source in (("server.key", key), ("server.crt", certificate)):
            (self.folder / name).write_bytes(source.read_bytes())
        initdb = Path(command("initdb")).resolve()
        self.run_command(*as_user, str(initdb), "-D", str(data), "-A", "trust", "-U", "me", env=self.plain(), cwd="/")
        for name in ("server.key", "server.crt"):
            shutil.copy(self.folder / name, data / name)
            if as_user:
                os.chown(data / name, user.pw_uid, user.pw_gid)
            (data / name).chmod(0o600)
        server = initdb.parent / "postgres" if (initdb.parent / "postgres").exists() else command("postgres")
        self.start(
            *as_user, str(server), "-D", str(data), "-p", str(port), "-k", "", "-h", "127.0.0.1", "-c", "ssl=on",
            env=environment, port=port, cwd="/",
        )  # fmt: skip
        # PostgreSQL accepts connections before it can serve them. Once it can, this file contains "ready".
        state, until = data / "postmaster.pid", time.monotonic() + 60
        while "ready" not in state.read_text().split() and time.monotonic() < until:
            time.sleep(0.1)
        for version in ("TLSv1.2", "TLSv1.3"):
            target = (
                f"host=127.0.0.1 port={port} user=me dbname=postgres sslmode=require"
                f" ssl_min_protocol_version={version} ssl_max_protocol_version={version}"
            )
            got = self.run_command(
                "psql", "-XAtc", "select repeat(md5('warpaes'), 1000000)", target, env=self.plain(), cwd="/"
            )
            self.assertEqual(got.strip(), hashlib.md5(b"warpaes").hexdigest().encode() * 1000000)
        counted = self.counted(counters)
        self.assertGreaterEqual(counted.get(("gcm", "kernels"), 0), 60 * 1000 * 1000, counted)

    @needs("openssl")
    def test_openssl_enc(self):
        environment, counters = self.config("enc")
        for cipher in ("aes-128-ctr", "aes-256-cfb", "aes-192-ofb", "aes-256-cfb8", "aes-128-ecb"):
            with self.subTest(cipher=cipher):
                data = self.blob.read_bytes()[: 3 * MIB + 5]
                given = ["openssl", "enc", "-" + cipher, "-K", "00" * (int(cipher[4:7]) // 8)]
                given += [] if "ecb" in cipher else ["-iv", "01" * 16]
                sealed = self.run_command(*given, env=environment, input=data)
                self.assertEqual(sealed, self.run_command(*given, env=self.plain(), input=data))
                self.assertEqual(self.run_command(*given, "-d", env=environment, input=sealed), data)
        self.assertGreaterEqual(sum(self.counted(counters).values()), 30 * MIB)


if __name__ == "__main__":
    unittest.main()
