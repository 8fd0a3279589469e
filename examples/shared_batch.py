"""Writes a batch into a shared arena, or checks the results afterwards. The program does not need the library
(docs/batches.md).

The batch has one entry: 100 messages to encrypt with AES-128-CTR, each with its own key.
"""

import mmap
import struct
import sys

COUNT, LENGTH = 100, 1500
CTR, ENCRYPT = 7, 1
HEADER = struct.Struct("<QQ")
# Mode, direction, count, length; six pairs of offset and stride; the lengths of AAD, IV, tag and key; the step of XTS;
# key, second key, data unit, statuses.
ENTRY = struct.Struct("<IIQQ" + "QQ" * 6 + "QIIII" + "QQQ" + "Q")
KEYS, IVS, MESSAGES, RESULTS, ENTRIES = 4096, 8192, 12288, 262144, 64


def entry(source, target):
    nothing = (0, 0)
    elements = (source, LENGTH), (target, LENGTH), (IVS, 16), nothing, nothing, (KEYS, 16)
    flat = [number for pair in elements for number in pair]
    return ENTRY.pack(CTR, ENCRYPT, COUNT, LENGTH, *flat, 0, 16, 0, 16, 0, 0, 0, 0, 0)


def message(i):
    return bytes((i + j) % 256 for j in range(LENGTH))


def main():
    arena = mmap.mmap(int(sys.argv[1]), 0)
    if sys.argv[2] == "write":
        for i in range(COUNT):
            arena[KEYS + 16 * i : KEYS + 16 * (i + 1)] = bytes([i] * 16)
            arena[MESSAGES + LENGTH * i : MESSAGES + LENGTH * (i + 1)] = message(i)
        arena[ENTRIES : ENTRIES + ENTRY.size] = entry(MESSAGES, RESULTS)
        arena[: HEADER.size] = HEADER.pack(ENTRIES, 1)
        return 0
    for i in range(COUNT):
        result = arena[RESULTS + LENGTH * i : RESULTS + LENGTH * (i + 1)]
        if result == message(i) or len(set(result)) < 100:
            return f"message {i} was not encrypted"
    return 0


if __name__ == "__main__":
    sys.exit(main())
