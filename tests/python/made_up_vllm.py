"""The parts of vLLM 0.33's offloading that ``warpaes.vllm`` uses, in the same modules. They define the interface
without vLLM."""

from __future__ import annotations

import sys
import types
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np


class OffloadingManager:
    pass


class OffloadingWorker:
    pass


class TransferResult(NamedTuple):
    job_id: int
    success: bool
    transfer_size: int | None = None
    transfer_time: float | None = None


class BlockIDsLoadStoreSpec:
    def __init__(self, block_ids: list[int]) -> None:
        self.block_ids = np.array(block_ids, dtype=np.int32)


class CPULoadStoreSpec(BlockIDsLoadStoreSpec):
    pass


class GPULoadStoreSpec(BlockIDsLoadStoreSpec):
    def __init__(self, block_ids: list[int], group_sizes: list[int], block_indices: list[int]) -> None:
        super().__init__(block_ids)
        self.group_sizes, self.block_indices = group_sizes, block_indices


class CanonicalKVCacheTensor(NamedTuple):
    tensor: Any
    page_size_bytes: int


class CanonicalKVCacheRef(NamedTuple):
    tensor_idx: int
    page_size_bytes: int


class CanonicalKVCaches(NamedTuple):
    tensors: list[CanonicalKVCacheTensor]
    group_data_refs: list[list[CanonicalKVCacheRef]]


@dataclass(frozen=True)
class OffloadingGroupConfig:
    tokens_per_block: int
    layer_names: tuple[str, ...]
    group_id: int
    sliding_window_size_in_chunks: int | None = None


@dataclass(frozen=True)
class OffloadingModelConfig:
    name: str
    dtype: str
    max_model_len: int = 0


@dataclass(frozen=True)
class OffloadingCacheConfig:
    tokens_per_hash: int
    blocks_per_chunk: int


@dataclass(frozen=True)
class OffloadingParallelConfig:
    rank: int
    world_size: int
    tp_size: int
    pp_size: int
    pcp_size: int
    dcp_size: int
    data_parallel_index: int
    data_parallel_size: int
    data_parallel_rank_local: int | None
    is_parallelism_agnostic: bool


@dataclass(frozen=True)
class OffloadingConfig:
    groups: tuple[OffloadingGroupConfig, ...]
    worker_kv_bytes_per_block: int
    enable_kv_cache_events: bool
    extra_config: dict[str, Any]
    engine_id: str
    model: OffloadingModelConfig
    cache: OffloadingCacheConfig
    parallel: OffloadingParallelConfig
    replicated_layout: bool = False
    canonical_layout: bool = False
    kv_cache_layout: str | None = None


@dataclass
class PrepareStoreOutput:
    keys_to_store: list[bytes]
    store_spec: Any
    evicted_keys: list[bytes] = field(default_factory=list)


class ReqContext:
    def __init__(self, req_id: str) -> None:
        self.req_id = req_id


class CPUOffloadingManager(OffloadingManager):
    """Places chunks one after the other and never evicts a chunk."""

    def __init__(self, num_chunks: int) -> None:
        self.left, self.places = list(range(num_chunks)), dict[bytes, int]()

    def on_new_request(self, context: Any) -> None:
        pass

    def prepare_store(self, keys: Any, context: Any) -> Any:
        new = [key for key in keys if key not in self.places]
        if len(new) > len(self.left):
            return None
        self.places |= {key: self.left.pop(0) for key in new}
        return PrepareStoreOutput(new, CPULoadStoreSpec([self.places[key] for key in new]))

    def complete_store(self, keys: Any, context: Any) -> None:
        pass

    def prepare_load(self, keys: Any, context: Any) -> Any:
        return CPULoadStoreSpec([self.places[key] for key in keys])


class SharedOffloadRegion:
    """One worker's chunks in memory that all regions of an engine share."""

    memories: ClassVar[dict[str, Any]] = {}

    def __init__(self, engine_id: str, num_chunks: int, rank: int, kv_bytes_per_chunk: int, cpu_page_size: int,
                 barrier: Any = None, num_segments: int = 1) -> None:  # fmt: skip
        import torch

        shape = (num_chunks, kv_bytes_per_chunk)
        if engine_id not in self.memories:
            self.memories[engine_id] = torch.empty(shape, dtype=torch.int8)
            self.memories[engine_id].zero_()
        self.base = self.memories[engine_id]
        self.place, self.is_closed = slice(rank * cpu_page_size, (rank + 1) * cpu_page_size), False

    def create_next_worker_view(self, size: int) -> Any:
        assert size == self.place.stop - self.place.start
        return self.base[:, self.place]

    def cleanup(self) -> None:
        self.is_closed = True


class CPUOffloadingSpec:
    def __init__(self, config: OffloadingConfig) -> None:
        self.config, self.extra_config = config, config.extra_config
        self.replicated_layout, self.blocks_per_chunk = config.replicated_layout, config.cache.blocks_per_chunk
        size = config.worker_kv_bytes_per_block * self.blocks_per_chunk
        self.cpu_page_size_per_worker = size
        self.kv_bytes_per_chunk = -(-size * config.parallel.world_size // 4096) * 4096
        self.num_chunks = self.extra_config["cpu_bytes_to_use"] // max(1, self.kv_bytes_per_chunk) if size else 0
        self._manager: Any = None

    def get_manager(self) -> Any:
        self._manager = self._manager or CPUOffloadingManager(self.num_chunks)
        return self._manager


class TieringOffloadingSpec(CPUOffloadingSpec):
    pass


class OffloadingConnector:
    def __init__(self, spec: Any, groups: int) -> None:
        self.spec, self.was_reset = spec, 0
        self._kv_cache_config = types.SimpleNamespace(kv_cache_groups=[None] * groups)
        self.connector_worker = types.SimpleNamespace(worker=None)

    def register_kv_caches(self, kv_caches: Any) -> None:
        self.connector_worker.worker = self.spec.create_worker(kv_caches)

    def update_connector_output(self, output: Any) -> None:
        pass

    def reset_cache(self) -> None:
        self.was_reset += 1


def install() -> None:
    """Install the modules."""
    base = "vllm.v1.kv_offload"
    connectors = "vllm.distributed.kv_transfer.kv_connector.v1"
    modules = {
        f"{base}.base": (
            OffloadingManager, OffloadingWorker, TransferResult, GPULoadStoreSpec, CanonicalKVCaches, ReqContext,
            CanonicalKVCacheRef, CanonicalKVCacheTensor,
        ),
        f"{base}.config": (
            OffloadingConfig, OffloadingGroupConfig, OffloadingModelConfig, OffloadingCacheConfig,
            OffloadingParallelConfig,
        ),
        f"{base}.cpu.shared_offload_region": (SharedOffloadRegion,),
        f"{base}.cpu.spec": (CPUOffloadingSpec,),
        f"{base}.tiering.spec": (TieringOffloadingSpec,),
        f"{connectors}.offloading_connector": (OffloadingConnector,),
    }  # fmt: skip
    for name, members in modules.items():
        parts = name.split(".")
        for end in range(1, len(parts) + 1):
            sys.modules.setdefault(".".join(parts[:end]), types.ModuleType(".".join(parts[:end])))
        for member in members:
            setattr(sys.modules[name], member.__name__, member)
    made: Any = sys.modules[f"{base}.base"]
    made.make_offload_key = lambda block_hash, group: block_hash + group.to_bytes(4, "big")
    made.get_offload_block_hash = lambda key: key[:-4]
    made.get_offload_group_idx = lambda key: int.from_bytes(key[-4:], "big")
