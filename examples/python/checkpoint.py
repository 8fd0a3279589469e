"""Encrypted checkpoints: a model and its optimizer are saved and loaded without anything in clear on the disk.

python3 checkpoint.py
"""

# %% [markdown]
# # Encrypted checkpoints
# A keyset holds the keys. Whoever has it can read the files, so it is kept apart from them, here in memory.

# %%
import warpaes

keyset = warpaes.Keyset.generate("AES256_GCM_HKDF_1MB")  # kept: keyset.to_json(); again: Keyset.parse(json)

# %%
import torch

model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
model(torch.randn(8, 256)).square().mean().backward()
optimizer.step()

# %% [markdown]
# `torch.save` writes to any file object. What it writes is encrypted as it comes; the file appears under its name when
# the block ends, and not at all if it is left by an exception. The associated data bind the file to its purpose.

# %%
state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": 1}
with warpaes.open("checkpoint.pt.warpaes", "wb", keyset=keyset, associated_data=b"run 7") as file:
    torch.save(state, file)

# %% [markdown]
# Loading reads and authenticates only the segments that are asked for.

# %%
with warpaes.open("checkpoint.pt.warpaes", keyset=keyset, associated_data=b"run 7") as file:
    loaded = torch.load(file, weights_only=True)
assert all(torch.equal(loaded["model"][name], value) for name, value in model.state_dict().items())
optimizer.load_state_dict(loaded["optimizer"])

# %% [markdown]
# A checkpoint that was altered, cut off, or is another run's, is not loaded.

# %%
from warpaes.exceptions import InvalidTag

try:
    with warpaes.open("checkpoint.pt.warpaes", keyset=keyset, associated_data=b"run 8") as file:
        torch.load(file, weights_only=True)
except InvalidTag as error:
    print(f"refused: {error}")
else:
    raise AssertionError("it is another run's")

# %% [markdown]
# A new key for what is saved from now on; the old files still open.

# %%
keyset.rotate()
with warpaes.open("checkpoint.pt.warpaes", keyset=keyset, associated_data=b"run 7") as file:
    print(f"{file.size} bytes of checkpoint, of step {torch.load(file, weights_only=True)['step']}")
