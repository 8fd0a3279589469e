"""Writes encrypted GGUF models without plaintext on a disk, and reads them with gguf's own reader.

python3 gguf_model.py
"""

# %% [markdown]
# # Encrypted GGUF models
# The keyset is in a separate file. Any [place of a keyset](../../docs/keys.md#places-of-keysets) works.

# %%
import contextlib
import os
import shutil

import gguf
import numpy as np
import warpaes

warpaes.Keyset.generate("AES256_GCM_HKDF_1MB").save("keyset.json")
PLACE = "keyset.json"

# %% [markdown]
# gguf writes and maps files by their paths. A file from `memfd_create` exists only in memory and has the path
# `/proc/self/fd/N`. It contains the unencrypted model as long as the descriptor is open. The memory can be swapped out,
# so use this method only if swap is off or encrypted. C and C++ programs that read from a `FILE*`, such as llama.cpp
# (`llama_model_load_from_file_ptr`), do not need a copy, because `warpaes_open_stream` decrypts as they read.


# %%
@contextlib.contextmanager
def in_memory():
    descriptor = os.memfd_create("model.gguf", os.MFD_CLOEXEC)
    try:
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)


# %%
weights = {name: np.random.default_rng(7).standard_normal((64, 256), dtype="f4") for name in ("up", "down")}
with in_memory() as path:
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(1)
    for name, tensor in weights.items():
        writer.add_tensor(f"blk.0.ffn_{name}.weight", tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with open(path, "rb") as clear, warpaes.open("model.gguf.warpaes", "wb", keyset=PLACE) as sealed:
        shutil.copyfileobj(clear, sealed, 1 << 20)

# %% [markdown]
# Every byte is authenticated before gguf reads it. An altered file is refused while it is copied.

# %%
with in_memory() as path:
    with warpaes.open("model.gguf.warpaes", keyset=PLACE) as sealed, open(path, "wb") as clear:
        shutil.copyfileobj(sealed, clear, 1 << 20)
    reader = gguf.GGUFReader(path)
    for tensor in reader.tensors:
        name = tensor.name.removeprefix("blk.0.ffn_").removesuffix(".weight")
        assert np.array_equal(tensor.data, weights[name]), tensor.name
    print(f"{len(reader.tensors)} tensors of {reader.fields['general.architecture'].contents()} are the same")
