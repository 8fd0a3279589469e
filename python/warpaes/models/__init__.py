"""Encrypted model folders in Hugging Face's layout, with all shards authenticated together.

``encrypt`` creates an encrypted folder from an unencrypted one, under a keyset instead of two JSON Web Keys:
``model*.safetensors`` become CryptoTensors under the same names, and ``warpaes-model.json`` names every file with its
hash. ``load`` returns tensors. Within ``unlocked``, ``from_pretrained`` of transformers and diffusers loads such a
folder like an unencrypted one.

docs/serving.md describes the encrypted parts, and the data that the host can see.
"""

from ._encrypt import encrypt
from ._folder import Folder, inspect, verify
from ._load import load
from ._unlocked import unlocked

__all__ = ["Folder", "encrypt", "inspect", "load", "unlocked", "verify"]
