"""Saves and loads encrypted checkpoints of a model and its optimizer. No plaintext reaches the disk.

python3 checkpoint.py
"""

# %% [markdown]
# # Encrypted checkpoints
# A keyset contains the keys. Anyone who has the keyset can read the files, so store it separately. In this example, the
# keyset stays in memory.

# %%
import warpaes

keyset = warpaes.Keyset.generate("AES256_GCM_HKDF_1MB")  # to_json() returns its text, and Keyset.parse() loads the text

# %%
import torch

model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
model(torch.randn(8, 256)).square().mean().backward()
optimizer.step()

# %% [markdown]
# `warpaes.torch.save` encrypts the output of `torch.save` as it is written. The file appears under its name when it is
# complete, and does not appear after an exception. The associated data binds the file to its purpose.

# %%
import warpaes.torch

state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": 1}
warpaes.torch.save(state, "checkpoint.pt.warpaes", keyset=keyset, associated_data=b"run 7")

# %% [markdown]
# Loading reads and authenticates only the segments that `torch.load` requests.

# %%
loaded = warpaes.torch.load("checkpoint.pt.warpaes", keyset=keyset, associated_data=b"run 7")
assert all(torch.equal(loaded["model"][name], value) for name, value in model.state_dict().items())
optimizer.load_state_dict(loaded["optimizer"])

# %% [markdown]
# A checkpoint that was altered, truncated, or saved by a different run does not load.

# %%
from warpaes.exceptions import InvalidTag

try:
    warpaes.torch.load("checkpoint.pt.warpaes", keyset=keyset, associated_data=b"run 8")
except InvalidTag as error:
    print(f"refused: {error}")
else:
    raise AssertionError("a checkpoint of run 7 was opened as a checkpoint of run 8")

# %% [markdown]
# After a rotation, a new key encrypts new files, and the old files still open.

# %%
keyset.rotate()
again = warpaes.torch.load("checkpoint.pt.warpaes", keyset=keyset, associated_data=b"run 7")
print(f"a checkpoint of step {again['step']}")
