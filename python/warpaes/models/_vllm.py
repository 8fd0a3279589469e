"""The plugin for vLLM: ``vllm serve FOLDER --load-format warpaes``, with the keyset's place in WARPAES_KEYSET."""

from __future__ import annotations

import copy
import os
from typing import Any

from ._unlocked import unlocked

LOAD_FORMAT = "warpaes"


def register() -> None:
    """Register the load format; vLLM calls it in each of its processes (entry point ``vllm.general_plugins``)."""
    from vllm.model_executor.model_loader import register_model_loader
    from vllm.model_executor.model_loader.default_loader import DefaultModelLoader

    class WarpaesModelLoader(DefaultModelLoader):  # type: ignore[misc]  # vLLM has no types here
        """Loads encrypted model folders like vLLM's own loader for ``*.safetensors``."""

        def __init__(self, load_config: Any) -> None:
            """Take ``keyset`` out of ``model_loader_extra_config``, or the environment's WARPAES_KEYSET.

            Raises:
                ValueError: Neither names a keyset.
            """
            plain = copy.copy(load_config)
            extra = dict(load_config.model_loader_extra_config or {})
            keys = extra.pop("keyset", None) or os.environ.get("WARPAES_KEYSET")
            if not keys:
                raise ValueError(
                    "--load-format warpaes: name the keyset by WARPAES_KEYSET or "
                    '--model-loader-extra-config \'{"keyset": "PLACE"}\''
                )
            self._keys: str = keys
            plain.load_format, plain.model_loader_extra_config = "safetensors", extra
            super().__init__(plain)

        def load_weights(self, model: Any, model_config: Any) -> None:
            """Load the weights of a model; exceptions are those of ``unlocked``."""
            place = model_config.model
            with unlocked(self._keys, place if os.path.isdir(place) else None):
                super().load_weights(model, model_config)

    register_model_loader(LOAD_FORMAT)(WarpaesModelLoader)
