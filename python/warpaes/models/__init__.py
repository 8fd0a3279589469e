"""Encrypted model folders in Hugging Face's layout, with all shards authenticated together.

``encrypt`` creates an encrypted folder from an unencrypted folder, under a keyset in place of two JSON Web Keys.
``model*.safetensors`` become CryptoTensors files with the same names, and ``warpaes-model.json`` lists every file with
its hash. ``load`` returns tensors. Within ``unlocked``, ``from_pretrained`` of transformers and diffusers loads an
encrypted folder like an unencrypted folder.

docs/serving.md describes the encrypted parts, and the data that is visible to the host.
"""

from ._encrypt import encrypt
from ._folder import Folder, inspect, verify
from ._load import load
from ._unlocked import unlocked

__all__ = ["Folder", "encrypt", "inspect", "load", "unlocked", "verify"]
