"""Random numbers of a key: secure, seekable, and the same on every machine.

python3 random_numbers.py
"""

# %% [markdown]
# # Random numbers
# `Generator` is AES-CTR under a key. Who does not have the key cannot tell its output from chance; who has it can make
# every number again, on a CPU or a GPU, from any position on. Without a key one comes from the operating system.

# %%
import numpy as np
import warpaes

generator = warpaes.Generator(bytes(range(32)))  # of a secret, or warpaes.Generator() for a new one
print("token", generator.bytes(16).hex())
print("dice", generator.integers(1, 7, 10))
print("weights", generator.normal(0, 0.02, (2, 3), "float32"))

# %% [markdown]
# A position is all that a checkpoint has to keep.

# %%
position = generator.position
first = generator.random(1000)
generator.position = position
assert (generator.random(1000) == first).all()

# %% [markdown]
# Workers take streams of one key, which have nothing in common. What they make does not depend on how many they are, or
# on who is first: here π, of 64 pieces.

# %%
from concurrent.futures import ThreadPoolExecutor


def inside(piece):
    x, y = generator.spawn(piece).random((2, 100_000))
    return int(np.count_nonzero(x * x + y * y < 1))


results = []
for workers in (1, 2, 8):
    with ThreadPoolExecutor(workers) as pool:
        results.append(sum(pool.map(inside, range(1, 65))))
assert len(set(results)) == 1
print("pi is about", 4 * results[0] / 6_400_000)
assert abs(4 * results[0] / 6_400_000 - np.pi) < 0.005

# %% [markdown]
# Noise that hides a record's part in a sum (differential privacy) must not be predictable, which that of a usual
# generator is, once some of it is known.

# %%
gradients = warpaes.Generator(bytes(16)).normal(size=(256, 1000))
clipped = gradients / np.maximum(1, np.linalg.norm(gradients, axis=1, keepdims=True))
noisy = clipped.sum(0) + warpaes.Generator().normal(0, 1.1, 1000)
print("mean of the noisy sum", noisy.mean())
