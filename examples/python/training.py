"""Trains on an encrypted dataset. Workers decrypt only the segments with the records that they need.

python3 training.py
"""

# %% [markdown]
# # Training on an encrypted dataset
# The file contains records of equal length back to back. Segments of 4 KiB suit records that are read in random order.

# %%
import numpy as np
import torch
import warpaes

FEATURES, RECORDS = 64, 4096
keyset = warpaes.Keyset.generate("AES256_GCM_HKDF_4KB")
generator = np.random.default_rng(7)
truth = generator.standard_normal(FEATURES, "f4")
inputs = generator.standard_normal((RECORDS, FEATURES), "f4")
records = np.concatenate([inputs, (inputs @ truth)[:, None]], 1)
with warpaes.open("records.warpaes", "wb", keyset=keyset) as file:
    file.write(records)  # a buffer, or a tensor in host or device memory

# %% [markdown]
# The parent process opens the file. A forked worker automatically opens the file again, and computes on the CPU. Any
# number of threads may read from `file.raw.reader` at the same time.


# %%
class Records(torch.utils.data.Dataset):
    def __init__(self, path, keyset, shape, dtype=np.float32):
        self.file, self.shape, self.dtype = warpaes.open(path, keyset=keyset), shape, np.dtype(dtype)
        self.nbytes = self.dtype.itemsize * int(np.prod(shape))

    def __len__(self):
        return self.file.size // self.nbytes

    def __getitems__(self, indices):
        batch = np.empty((len(indices), *self.shape), self.dtype)
        for row, index in zip(batch, indices):
            self.file.raw.reader.read_into(index * self.nbytes, row)
        return torch.from_numpy(batch)


dataset = Records("records.warpaes", keyset, (FEATURES + 1,))
loader = torch.utils.data.DataLoader(
    dataset, batch_size=128, shuffle=True, num_workers=2, multiprocessing_context="fork", collate_fn=lambda batch: batch
)

# %%
torch.manual_seed(7)
model = torch.nn.Linear(FEATURES, 1, bias=False)
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
for epoch in range(5):
    total = 0.0
    for batch in loader:
        loss = torch.nn.functional.mse_loss(model(batch[:, :-1]), batch[:, -1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    with warpaes.open("model.pt.warpaes", "wb", keyset=keyset) as file:
        torch.save(model.state_dict(), file)
    print(f"epoch {epoch}: loss {total / len(loader):.4f}")
assert total / len(loader) < 0.1
