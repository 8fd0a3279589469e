"""Makes the same calls with pyca/cryptography and with warpaes, and compares results and times.

python3 beside_pyca.py
"""

# %% [markdown]
# # Compared with pyca/cryptography
# Names and arguments are the same, so only the import changes.

# %%
import os
import time

from cryptography.hazmat.primitives.ciphers import Cipher as TheirCipher
from cryptography.hazmat.primitives.ciphers import aead as theirs
from cryptography.hazmat.primitives.ciphers import algorithms as their_algorithms
from cryptography.hazmat.primitives.ciphers import modes as their_modes
from warpaes import aead as ours
from warpaes.ciphers import Cipher, algorithms, modes

key, nonce = os.urandom(32), os.urandom(12)
for name in ("AESGCM", "AESCCM", "AESGCMSIV"):
    mine, other = getattr(ours, name)(key), getattr(theirs, name)(key)
    sealed = mine.encrypt(nonce, b"text", b"associated data")
    assert sealed == other.encrypt(nonce, b"text", b"associated data")
    assert other.decrypt(nonce, sealed, b"associated data") == b"text"

counter = os.urandom(16)
mine = Cipher(algorithms.AES(key), modes.CTR(counter)).encryptor()
other = TheirCipher(their_algorithms.AES(key), their_modes.CTR(counter)).encryptor()
assert mine.update(bytes(1000)) + mine.finalize() == other.update(bytes(1000)) + other.finalize()

# %% [markdown]
# The time of a call depends on the machine. This cell is only a quick measurement. `make python-bench` measures more
# carefully.


# %%
def seconds(action, calls):
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(calls):
            action()
        best = min(best, (time.perf_counter() - start) / calls)
    return best


mine, other = ours.AESGCM(key), theirs.AESGCM(key)
for size, calls in ((64, 2000), (1 << 10, 2000), (1 << 20, 20), (16 << 20, 2)):
    data = os.urandom(size)
    times = [seconds(lambda a=a, d=data: a.encrypt(nonce, d, None), calls) for a in (mine, other)]
    print(f"AESGCM.encrypt of {size:>9} bytes: warpaes {1e6 * times[0]:9.2f} us, pyca {1e6 * times[1]:9.2f} us")

# %% [markdown]
# warpaes can also encrypt many messages in one call, with a result for each message. pyca has no equivalent call.

# %%
nonces = [number.to_bytes(12, "big") for number in range(1000)]
messages = [os.urandom(1500) for _ in nonces]
sealed = mine.encrypt_batch(nonces, messages)
assert sealed == [other.encrypt(n, m, None) for n, m in zip(nonces, messages)]
