#!/usr/bin/env python3
"""Writes mct/ECBMCT*.rsp and mct/CFB1MCT*.rsp by running NIST's Monte Carlo test (AESAVS, 6.4) on libcrypto's AES-ECB.
A Monte Carlo file follows from the record COUNT = 0 of each section, because every record is computed from the previous
record.

The seeds below, and the last results (COUNT = 99), which this program checks, come from NIST's files (CAVS 11.1, April
2011). Each of the 100 keys depends on all records before it, so files with the same end are equal.

Needs the Python package `cryptography`. Usage: make_mct.py OUTPUT_DIRECTORY
"""

import pathlib
import sys

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

# For each mode and direction: the key, IV and input of COUNT = 0, and NIST's result for COUNT = 99 (the output for ECB,
# the key for CFB1).
SEEDS = {
    ("ECB", "ENCRYPT"): [
        (
            "139a35422f1d61de3c91787fe0507afd",
            "",
            "b9145a768b7dc489a096b546f43b231f",
            "fb2649694783b551eacd9d5db6126d47",
        ),
        (
            "b9a63e09e1dfc42e93a90d9bad739e5967aef672eedd5da9",
            "",
            "85a1f7a58167b389cddc8a9ff175ee26",
            "5d1196da8f184975e240949a25104554",
        ),
        (
            "f9e8389f5b80712e3886cc1fa2d28a3b8c9cd88a2d4a54c6aa86ce0fef944be0",
            "",
            "b379777f9050e2a818f2940cbbd9aba4",
            "c5d2cb3d5b7ff0e23e308967ee074825",
        ),
    ],
    ("ECB", "DECRYPT"): [
        (
            "0c60e7bf20ada9baa9e1ddf0d1540726",
            "",
            "b08a29b11a500ea3aca42c36675b9785",
            "d1d2bfdc58ffcad2341b095bce55221e",
        ),
        (
            "4b97585701c03fbebdfa8555024f589f1482c58a00fdd9fd",
            "",
            "d0bd0e02ded155e4516be83f42d347a4",
            "b63ef1b79507a62eba3dafcec54a6328",
        ),
        (
            "2b09ba39b834062b9e93f48373b8dd018dedf1e5ba1b8af831ebbacbc92a2643",
            "",
            "89649bd0115f30bd878567610223a59d",
            "e3d3868f578caf34e36445bf14cefc68",
        ),
    ],
    ("CFB1", "ENCRYPT"): [
        (
            "36c6ef5e032c9421de69b47ed3a9d9a4",
            "48c053980190353f6499bfefacfd1d73",
            "0",
            "81dbb38438501c0c10080a5f7f37bd92",
        ),
        (
            "bf9fd5e8fe7bb529d760fab94bd5626caf7275bb68936817",
            "6a707cef04eb7316afcc6d933485a210",
            "0",
            "cbb773027846206db8269074087be2b0d919382bd0dd8174",
        ),
        (
            "67c3e7c580be653a9276b42e51a13db49b71fa2f5119e6ff668eb260358aba8e",
            "88be9b76c5a83eaef4d4cd0425e4f5c2",
            "1",
            "5275a71af35bda48eb79c3c64214690e6c6b2291ae217da16637e300ec6b7588",
        ),
    ],
    ("CFB1", "DECRYPT"): [
        (
            "c412415e405a77d0e9a310ed1ca86ae6",
            "c0df937153eb5d8ae4e3b20f0b8e9016",
            "0",
            "c04acedc9c93e0d1dfbbf80069f0bb40",
        ),
        (
            "489b8a782e7b7654f93e0463df8f44478eb76d261dbf74f5",
            "7944699c94a6723acc0582bf5a463f4c",
            "1",
            "3d536c684a44aec6b5de4768099f2607a515e311a123f8a1",
        ),
        (
            "a5d1e8c10a20bd3befb95972692c9d13822bff098c91829db5a4e6e2db971b50",
            "980c24ad0fa1b4516bfe8e35abb34f8f",
            "0",
            "9afecfde892d9eea7312b03dfefc0a5044792b68f4f18a396215e9909a015820",
        ),
    ],
}


def bits(data: bytes) -> list[int]:
    return [byte >> (7 - i) & 1 for byte in data for i in range(8)]


def from_bits(values: list[int]) -> bytes:
    return bytes(int("".join(map(str, values[i : i + 8])), 2) for i in range(0, len(values), 8))


def xor(a: bytes, b: bytes) -> bytes:
    return bytes(x ^ y for x, y in zip(a, b, strict=True))


def ecb(direction: str, key: bytes, _iv: bytes, text: bytes) -> list[bytes]:
    """Returns the input and 1000 outputs. Each output is the next input."""
    cipher = Cipher(algorithms.AES(key), modes.ECB())
    step = cipher.encryptor() if direction == "ENCRYPT" else cipher.decryptor()
    outputs = [text]
    for _ in range(1000):
        outputs.append(step.update(outputs[-1]))
    return outputs


def cfb1(direction: str, key: bytes, iv: bytes, text: int) -> list[int]:
    """Returns 1000 output bits. The next input is bit j of the IV and, later, the output 128 steps before."""
    step = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    register = int.from_bytes(iv, "big")
    iv_bits, outputs = bits(iv), []
    for j in range(1000):
        output = text ^ step.update(register.to_bytes(16, "big"))[0] >> 7
        outputs.append(output)
        register = (register << 1 | (output if direction == "ENCRYPT" else text)) & (1 << 128) - 1
        text = iv_bits[j] if j < 128 else outputs[j - 128]
    return outputs


def section(mode: str, direction: str, key_text: str, iv_text: str, text: str, last: str) -> str:
    key, iv = bytes.fromhex(key_text), bytes.fromhex(iv_text)
    source, result = ("PLAINTEXT", "CIPHERTEXT") if direction == "ENCRYPT" else ("CIPHERTEXT", "PLAINTEXT")
    lines = [f"[{direction}]", ""]
    for count in range(100):
        lines += [f"COUNT = {count}", f"KEY = {key.hex()}"]
        if mode == "ECB":
            outputs = ecb(direction, key, iv, bytes.fromhex(text))
            record_key, output, next_text = key, outputs[-1].hex(), outputs[-1].hex()
            key = xor(key, (outputs[-2] + outputs[-1])[-len(key) :])
        else:
            lines += [f"IV = {iv.hex()}"]
            outputs = cfb1(direction, key, iv, int(text))
            record_key, output, next_text = key, str(outputs[-1]), str(outputs[-129])
            key, iv = xor(key, from_bits(outputs[-8 * len(key) :])), from_bits(outputs[-128:])
        lines += [f"{source} = {text}", f"{result} = {output}", ""]
        text = next_text
    assert last == (output if mode == "ECB" else record_key.hex()), (
        f"{mode} {direction}: the last record differs from NIST's"
    )
    return "\n".join(lines)


def main() -> None:
    directory = pathlib.Path(sys.argv[1])
    for mode in ("ECB", "CFB1"):
        for index, key_bits in enumerate((128, 192, 256)):
            header = (
                f"# AESAVS MCT test data for {mode}\n# State : Encrypt and Decrypt\n# Key Length : {key_bits}\n"
                "# Computed by make_mct.py from NIST's seeds; the last records are checked against NIST's\n\n"
            )
            body = "\n".join(section(mode, d, *SEEDS[mode, d][index]) for d in ("ENCRYPT", "DECRYPT"))
            (directory / f"{mode}MCT{key_bits}.rsp").write_text(header + body)


if __name__ == "__main__":
    main()
