"""Implements encrypted names as docs/formats.md describes them, with pyca's cryptography and without warpaes."""

import base64

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESSIV
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

SALT = b"warpaes encrypted names, version 1"


def siv(key):
    return AESSIV(HKDF(hashes.SHA256(), 64, SALT, b"AES-256-SIV").derive(key))


def encrypt_name(key, folder, name):
    """Return the stored form of ``name`` in the folder with the plain path ``folder``. All of these are bytes."""
    sealed = siv(key).encrypt(name, [b"/" + folder])
    text = base64.b32hexencode(sealed).rstrip(b"=").lower()
    parts = []
    while len(text) > 143:
        parts.append(text[:142] + b"-")
        text = text[142:]
    return b"/".join([*parts, text])


def encrypt_path(key, path):
    steps = path.split(b"/")
    return b"/".join(encrypt_name(key, b"/".join(steps[:i]), step) for i, step in enumerate(steps))


def associated_data(path, more=b""):
    """Return the associated data of the file at the plain path."""
    return b"warpaes-names-1\0" + path + b"\0" + more
