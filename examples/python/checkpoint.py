"""Encrypted checkpoints: a model and its optimizer are saved and loaded, and no plaintext reaches the disk.

python3 checkpoint.py
"""

# %% [markdown]
# # Encrypted checkpoints
# A keyset contains the keys. Anyone who has it can read the files, so keep it apart from them; here it stays in memory.

# %%
import warpaes

keyset = warpaes.Keyset.generate("AES256_GCM_HKDF_1MB")  # save keyset.to_json(), load Keyset.parse(json)

# %%
import torch

model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
model(torch.randn(8, 256)).square().mean().backward()
optimizer.step()

# %% [markdown]
# `torch.save` writes to any file object, which encrypts the data as it arrives. The file appears under its name when
# the block ends, and does not appear after an exception. The associated data binds the file to its purpose.

# %%
state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": 1}
with warpaes.open("checkpoint.pt.warpaes", "wb", keyset=keyset, associated_data=b"run 7") as file:
    torch.save(state, file)

# %% [markdown]
# Loading reads and authenticates only the segments that `torch.load` requests.

# %%
with warpaes.open("checkpoint.pt.warpaes", keyset=keyset, associated_data=b"run 7") as file:
    loaded = torch.load(file, weights_only=True)
assert all(torch.equal(loaded["model"][name], value) for name, value in model.state_dict().items())
optimizer.load_state_dict(loaded["optimizer"])

# %% [markdown]
# A checkpoint that was altered, truncated, or saved by another run does not load.

# %%
from warpaes.exceptions import InvalidTag

try:
    with warpaes.open("checkpoint.pt.warpaes", keyset=keyset, associated_data=b"run 8") as file:
        torch.load(file, weights_only=True)
except InvalidTag as error:
    print(f"refused: {error}")
else:
    raise AssertionError("it belongs to another run")

# %% [markdown]
# After a rotation, a new key encrypts new files, and the old files still open.

# %%
keyset.rotate()
with warpaes.open("checkpoint.pt.warpaes", keyset=keyset, associated_data=b"run 7") as file:
    print(f"{file.size} bytes of checkpoint, of step {torch.load(file, weights_only=True)['step']}")
