"""Generates random numbers from a key. They are secure, can be generated from any position, and are identical on every
machine.

python3 random_numbers.py
"""

# %% [markdown]
# # Random numbers
# `Generator` is AES-CTR under a key. Without the key, its output is indistinguishable from random numbers. With the
# key, every number can be reproduced, on a CPU or a GPU and from any position. By default the key is random.

# %%
import numpy as np
import warpaes

generator = warpaes.Generator(bytes(range(32)))  # a secret key, or warpaes.Generator() for a random one
print("token", generator.bytes(16).hex())
print("dice", generator.integers(1, 7, 10))
print("weights", generator.normal(0, 0.02, (2, 3), "float32"))

# %% [markdown]
# A checkpoint needs to save only the position.

# %%
position = generator.position
first = generator.random(1000)
generator.position = position
assert (generator.random(1000) == first).all()

# %% [markdown]
# Workers use different streams of the same key, which do not overlap. The results do not depend on the number of
# workers or on their order. In this example, the workers estimate π from 64 pieces.

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
# Differential privacy adds noise to a sum to hide the contribution of each record. The noise must be unpredictable. An
# ordinary generator's noise can be predicted from a part of its output.

# %%
gradients = warpaes.Generator(bytes(16)).normal(size=(256, 1000))
clipped = gradients / np.maximum(1, np.linalg.norm(gradients, axis=1, keepdims=True))
noisy = clipped.sum(0) + warpaes.Generator().normal(0, 1.1, 1000)
print("mean of the noisy sum", noisy.mean())
