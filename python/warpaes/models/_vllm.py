"""A vLLM plugin for ``vllm serve FOLDER --load-format warpaes``, with the keyset's place in WARPAES_KEYSET."""

from __future__ import annotations

import contextlib
import copy
import os
from collections.abc import Callable, Iterator
from typing import Any

from ..safetensors import safe_open
from ._unlocked import in_place_of, opening

LOAD_FORMAT = "warpaes"
#: Number of bytes of weights that are decrypted at a time. They require memory in addition to the model.
GROUP_BYTES = 1 << 30


def _device_of(model: Any) -> Any:
    """Return the device of a model's weights. Weights that are quantized during loading have no device before
    loading."""
    import torch

    for weight in model.parameters():
        if weight.device.type != "meta":
            return weight.device
    return torch.device("cuda", torch.cuda.current_device()) if torch.cuda.is_available() else "cpu"


def _is_wanted(experts: set[int] | None) -> Callable[[str], bool]:
    """Return a function that returns whether this rank needs a weight, given by its name.

    ``experts`` contains the rank's experts, or is None for all experts.
    """
    if experts is None:
        return lambda name: True
    from vllm.model_executor.model_loader.ep_weight_filter import should_skip_weight

    return lambda name: not should_skip_weight(name, experts)


def _groups(file: safe_open, names: list[str]) -> Iterator[list[str]]:
    """Yield groups of tensor names, each of about ``GROUP_BYTES`` of data."""
    group: list[str] = []
    size = 0
    for name in names:
        first, end = file._file.entries[name]["data_offsets"]
        if group and size + end - first > GROUP_BYTES:
            yield group
            group, size = [], 0
        group.append(name)
        size += end - first
    if group:
        yield group


def _weights_on(device: Any, opener: Callable[..., safe_open], real: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that replaces ``real``, vLLM's iterator over the weights in files, and decrypts the weights on
    a device."""

    def weights(files: list[str], *arguments: Any, local_expert_ids: Any = None, **options: Any) -> Iterator[Any]:
        if "torchao" in arguments:  # vLLM assembles these tensors itself, in host memory
            yield from real(files, *arguments, local_expert_ids=local_expert_ids, **options)
            return
        is_wanted = _is_wanted(local_expert_ids)
        for path in sorted(files):
            with opener(path, "pt", device) as file:
                for names in _groups(file, [name for name in file.offset_keys() if is_wanted(name)]):
                    yield from file._tensors(names)

    return weights


def register() -> None:
    """Register the load format. vLLM calls this function in each of its processes (entry point
    ``vllm.general_plugins``)."""
    from vllm.model_executor.model_loader import default_loader, register_model_loader

    class WarpaesModelLoader(default_loader.DefaultModelLoader):  # type: ignore[misc]  # vLLM has no types here
        """Loads encrypted model folders as vLLM's own loader loads ``*.safetensors``. Each GPU decrypts its own
        weights."""

        def __init__(self, load_config: Any) -> None:
            """Read ``keyset`` and ``reader`` from ``model_loader_extra_config``, or the keyset's place from
            WARPAES_KEYSET.

            Raises:
                ValueError: Neither of them names a keyset.
            """
            plain = copy.copy(load_config)
            extra = dict(load_config.model_loader_extra_config or {})
            keys = extra.pop("keyset", None) or os.environ.get("WARPAES_KEYSET")
            if not keys:
                raise ValueError(
                    "--load-format warpaes: no keyset given; name a keyset with WARPAES_KEYSET or "
                    '--model-loader-extra-config \'{"keyset": "PLACE"}\''
                )
            self._keys: str = keys
            self._reader: str = extra.pop("reader", "threads")
            plain.load_format, plain.model_loader_extra_config = "safetensors", extra
            super().__init__(plain)

        def load_weights(self, model: Any, model_config: Any) -> None:
            """Load a model's weights. Raises the same exceptions as ``unlocked``."""
            place = model_config.model
            iterators = (
                default_loader.safetensors_weights_iterator,
                default_loader.multi_thread_safetensors_weights_iterator,
            )
            with contextlib.ExitStack() as places:
                folder = place if os.path.isdir(place) else None
                opener = places.enter_context(opening(self._keys, folder, self._reader))
                for real in iterators:
                    places.enter_context(in_place_of(real, _weights_on(_device_of(model), opener, real)))
                super().load_weights(model, model_config)

    register_model_loader(LOAD_FORMAT)(WarpaesModelLoader)
