#!/usr/bin/env python3
"""Generates the fuzzers' seeds, which are small inputs that reach the interesting code, and adds them to the
corpora."""

import base64
import json
from collections import defaultdict

import archives

TYPES = "type.googleapis.com/google.crypto.tink."


seeds: defaultdict[str, dict[str, bytes]] = defaultdict(dict)


def write(target: str, name: str, content: bytes) -> None:
    seeds[target][name] = content


def varint(number: int) -> bytes:
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def gcm_hkdf(segment: int, aes: int, ikm: bytes, hkdf: int = 3) -> bytes:
    parameters = b"\x08" + varint(segment) + b"\x10" + varint(aes) + b"\x18" + varint(hkdf)
    return b"\x12" + varint(len(parameters)) + parameters + b"\x1a" + varint(len(ikm)) + ikm


def ctr_hmac(segment: int, aes: int, ikm: bytes, tag: int = 32) -> bytes:
    hmac = b"\x08\x03\x10" + varint(tag)
    parameters = b"\x08" + varint(segment) + b"\x10" + varint(aes) + b"\x18\x03\x22" + varint(len(hmac)) + hmac
    return b"\x12" + varint(len(parameters)) + parameters + b"\x1a" + varint(len(ikm)) + ikm


def key(type_name: str, value: bytes, key_id: int, status: str = "ENABLED", prefix: str = "RAW") -> dict:
    data = {
        "typeUrl": TYPES + type_name,
        "value": base64.b64encode(value).decode(),
        "keyMaterialType": "SYMMETRIC",
    }
    return {"keyData": data, "status": status, "keyId": key_id, "outputPrefixType": prefix}


def keysets() -> None:
    gcm = key("AesGcmHkdfStreamingKey", gcm_hkdf(4096, 16, bytes(range(16))), 7)
    big = key("AesGcmHkdfStreamingKey", gcm_hkdf(1 << 20, 32, bytes(32)), 8, "DISABLED")
    ctr = key("AesCtrHmacStreamingKey", ctr_hmac(4096, 32, bytes(32)), 4294967295)
    other = key("AesGcmKey", b"\x1a\x10" + bytes(16), 9, prefix="TINK")
    gone = key("AesGcmHkdfStreamingKey", b"", 10, "DESTROYED")
    sets = {
        "one": [gcm],
        "several": [gcm, big, ctr],
        "foreign": [gcm, other],
        "destroyed": [ctr, gone],
        "segment": [key("AesGcmHkdfStreamingKey", gcm_hkdf(4294967295, 16, bytes(16)), 1)],
        "tag": [key("AesCtrHmacStreamingKey", ctr_hmac(64, 16, bytes(16), 10), 1)],
        "empty": [],
    }
    for name, keys in sets.items():
        primary = keys[0]["keyId"] if keys else 0
        text = json.dumps({"primaryKeyId": primary, "key": keys}, separators=(",", ":"))
        write("keyset", f"{name}.json", text.encode())
    write("keyset", "spaces.json", json.dumps({"key": [gcm], "primaryKeyId": 7}, indent=1).encode())
    write("keyset", "escapes.json", b'{"primaryKeyId":7,"k\\u0065y":[{"\\ud83d\\ude00":[1e3,-0.5,true,null,"\\n"]}]}')
    info = {name: gcm[name] for name in ("status", "keyId", "outputPrefixType")}
    wrapped = {
        "encryptedKeyset": base64.b64encode(bytes(60)).decode(),
        "keysetInfo": {"primaryKeyId": 7, "keyInfo": [info | {"typeUrl": gcm["keyData"]["typeUrl"]}]},
        "keyEncryptionKey": {"kdf": "scrypt", "salt": "AAAA", "n": 16, "r": 8, "p": 1},
    }
    write("keyset", "wrapped.json", json.dumps(wrapped).encode())
    # Encrypted with AES-128-GCM, an all-zero key and an all-zero nonce.
    sealed = (
        "AAAAAAAAAAAAAAAAC4/IqGroqa+HUbLcX9WRF5D5z8o5IioNlJLk0PPkrodMZz9CPArkrk+nwsW++IWhrD7lenzGQhkdLcjO"
        "rKLlm+S5NuDR/C5zaHmkicU3GpKPqE0alMWU+ikq6wL454XtDFxgbwJkHPf6uk/RUbNksFg8oK3Ib2TvCYE="
    )
    under = {"encryptedKeyset": sealed, "keysetInfo": wrapped["keysetInfo"]}
    write("keyset", "under.json", json.dumps(under).encode())
    kek = key("AesGcmKey", b"\x1a\x10" + bytes(16), 9, prefix="TINK")
    older = key("AesGcmKey", b"\x1a\x20" + bytes(32), 10, prefix="CRUNCHY")
    write("keyset", "kek.json", json.dumps({"primaryKeyId": 9, "key": [kek, older, gcm]}).encode())
    wrapped["keyEncryptionKey"]["n"] = 1 << 31
    write("keyset", "costly.json", json.dumps(wrapped).encode())
    write("keyset", "operations", bytes([0, 0, 1, 0, 0, 2, 0, 1, 2, 2, 1, 2, 1, 3, 1, 4, 3, 40]) + bytes(range(60)))


def spans() -> None:
    """Generates an input for each call in fuzz/spans.cpp, which the first byte selects, with two different
    continuations."""
    for call in range(13):
        for name, rest in ("up", bytes(range(1, 120))), ("mixed", bytes(7 * i * i % 251 for i in range(200))):
            write("spans", f"{call}_{name}", bytes([call]) + rest)


def parquet() -> None:
    """Generates chunks with right and wrong lengths, and page headers (fuzz/parquet.cpp)."""

    def module(text: int) -> bytes:
        return (28 + text).to_bytes(4, "little") + bytes(28 + text)

    for name, modules in {
        "pages": 3 * (module(20) + module(50)),
        "cut": module(20) + module(50)[:-1],
        "short": b"\x05\0\0\0" + bytes(40),
        "long": b"\xff\xff\xff\xff" + bytes(40),
        "empty": module(1) + module(0),
    }.items():
        for flags in range(4):
            write("parquet", f"{name}_{flags}", bytes([0, 0, flags]) + modules)
    size = varint(2 * (10 + 32))
    page = bytes.fromhex("15001550 15") + size
    for name, header in {
        "v1": page + bytes.fromhex("2c1510150015061506 00 00"),
        "crc": page + bytes.fromhex("15feffffff0f1c1510150015061506 00 00"),
        "v2": bytes.fromhex("15061550 15") + size + bytes.fromhex("5c1510150015101500150015001200 00"),
        "statistics": page + bytes.fromhex("2c15101500150615061c1802000118020000160016020000 00"),
        "deep": b"\x1c" * 40,
        "binary": bytes.fromhex("18ffffffff0f"),
        "list": bytes.fromhex("19fcffffffff0f"),
        "map": bytes.fromhex("1bffffff0f55"),
        "long_id": bytes.fromhex("0502 00"),
    }.items():
        for padding in (0, 61, 69, 200):
            write("parquet", f"{name}_{padding}", bytes([0, 1, 10]) + bytes(10) + header + bytes(padding))
    algorithm = bytes.fromhex("1c1c1804") + b"pref" + bytes.fromhex("1808") + bytes(8) + bytes.fromhex("120000")
    sealed = algorithm + bytes.fromhex("18026b6600") + module(20)
    signed = bytes.fromhex("15021900160019005c") + algorithm[1:] + bytes.fromhex("18026b6600") + bytes(28)
    for name, footer in {"encrypted": sealed, "cut": sealed[:-1], "deep": b"\x1c" * 40, "signed": signed}.items():
        for plaintext in (0, 1):
            write("parquet", f"footer_{name}_{plaintext}", bytes([0, 2, plaintext]) + footer)


def pages() -> None:
    """Generates complete and altered chunks of a few pages, with sizes of buffers and windows, and numbers of threads
    (fuzz/pages.cpp)."""
    page = bytes([1, 200, 5, 1, 3])  # up to 3,000 bytes long
    for name, (ctr, dictionary, count) in {"one": (1, 0, 1), "many": (1, 0, 20), "ctr": (0, 1, 9)}.items():
        begin = bytes([0, ctr, dictionary, count]) + count * page
        whole = bytes([7, 0, 1, 1]) + bytes([0, 16])
        for threads in (0, 4):
            end = whole + bytes([0, 4 * threads, threads & 1, threads])
            write("pages", f"{name}_{threads}", begin + bytes(1) + end)
            for change in range(4):
                write("pages", f"{name}_{threads}_{change}", begin + bytes([1, 0, 40, 0, change]) + 8 * b"\x05" + end)


def places() -> None:
    for number, text in enumerate((
        "keyset.json", "clear:file:a;b", "passphrase:own:", "passphrase=env:WORD;keyset.json", "env:KEYSET", "fd:12",
        "passphrase=exec:printf %s x;; cat word;file:locked", "kek=kek.json;kek-aad=backup;; of May;env:KEYSET",
        "kek=pkcs11:token=a;;object=b;keyset.json", "kek-aad=;kek=a;b", "kek=a;kek=b;c", "kek=;a", "pasphrase=x;y",
        "passphrase=x;kek=y;z", "clear:own:", "aws-kms://alias/a", "evn:A", "a=b", "C2SP_CHUNKED_256 " + 64 * "0",
        "\ufeff" + 32 * "aF" + "\n", "correct horse\r\n", "c2VjcmV0c2VjcmV0U2VjcmV0MTIzNA==",
    )):  # fmt: skip
        write("place", str(number), text.encode())


if __name__ == "__main__":
    places()
    parquet()
    pages()
    spans()
    keysets()
    for target, inputs in seeds.items():
        archives.write(target, archives.read(target) | inputs)
