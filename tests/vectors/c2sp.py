"""A short implementation of C2SP chunked encryption (c2sp.org/chunked-encryption), written from the specification
without code from warpaes.

python3 tests/vectors/c2sp.py         recreates the files in tests/vectors/c2sp.tar.xz
"""

import hashlib
import hmac
import io
import json
import tarfile
from pathlib import Path

ARCHIVE = Path(__file__).with_name("c2sp.tar.xz")

CHUNK, TAG = 16384, 16
AEADS = {"C2SP_CHUNKED_128": (b"AEAD_AES_128_GCM", 16), "C2SP_CHUNKED_256": (b"AEAD_AES_256_GCM", 32)}


def derive(template, key, salt, context):
    """Return the AES key, the base nonce and the commitment, derived by HKDF-Expand with SHA-512."""
    aead, key_bytes = AEADS[template]
    info = b"c2sp.org/chunked-encryption@v1+" + aead + b"\0" + salt + context
    stream, block = b"", b""
    for counter in (1, 2):
        block = hmac.new(key, block + info + bytes([counter]), hashlib.sha512).digest()
        stream += block
    return stream[:key_bytes], stream[key_bytes:][:12], stream[key_bytes + 12 :][:32]


def nonce(base, chunk):
    return (int.from_bytes(base, "big") ^ chunk).to_bytes(12, "big")


def encrypt(template, key, salt, context, plain):
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    aes, base, commitment = derive(template, key, salt, context)
    chunks = [plain[at : at + CHUNK] for at in range(0, len(plain) + 1, CHUNK)]
    return salt + commitment + b"".join(AESGCM(aes).encrypt(nonce(base, i), c, b"") for i, c in enumerate(chunks))


def decrypt(template, key, context, file):
    """Decrypt a file. Raises the exceptions of `cryptography`, or ValueError."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    if len(key) != AEADS[template][1]:
        raise ValueError("the key is as long as the AEAD's")

    salt, commitment, chunks = file[:24], file[24:56], file[56:]
    aes, base, expected = derive(template, key, salt, context)
    if commitment != expected:
        raise ValueError("commitment")
    plain = b""
    for i, at in enumerate(range(0, len(chunks) + 1, CHUNK + TAG)):
        chunk = AESGCM(aes).decrypt(nonce(base, i), chunks[at : at + CHUNK + TAG], b"")
        plain += chunk
    if len(chunk) == CHUNK:
        raise ValueError("the end is missing")
    return plain


def read():
    """Return the files in the archive by name."""
    with tarfile.open(ARCHIVE) as archive:
        return {member.name: archive.extractfile(member).read() for member in archive}


def plaintext(length):
    return hashlib.shake_128(b"plaintext").digest(length)


def main():
    files = {"wycheproof_128.json": read()["wycheproof_128.json"]}
    vectors = []
    for template, (_, key_bytes) in AEADS.items():
        for length in (0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK):
            seed = f"{template} {length}".encode()
            key, salt = (
                hashlib.sha256(b"key " + seed).digest()[:key_bytes],
                hashlib.sha256(b"salt " + seed).digest()[:24],
            )
            context = "" if length == 0 else f"context {length}"
            name = f"{template.lower()}_{length}.bin"
            files[name] = encrypt(template, key, salt, context.encode(), plaintext(length))
            vectors.append(
                {"file": name, "template": template, "key": key.hex(), "context": context, "plaintext_bytes": length}
            )
    files["vectors.json"] = (json.dumps(vectors, indent=1) + "\n").encode()
    with tarfile.open(ARCHIVE, "w:xz", format=tarfile.USTAR_FORMAT, preset=9) as archive:
        for name, content in sorted(files.items()):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))


if __name__ == "__main__":
    main()
