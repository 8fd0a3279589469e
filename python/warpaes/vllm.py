"""Encryption of KV blocks on a GPU before vLLM's offloading connector copies them to host memory, files or object
stores.

    vllm serve MODEL --kv-transfer-config '{"kv_connector": "EncryptedOffloadingConnector", "kv_role": "kv_both",
      "kv_connector_module_path": "warpaes.vllm", "kv_connector_extra_config": {"cpu_bytes_to_use": 8589934592,
      "spec_name": "EncryptedOffloadingSpec", "spec_module_path": "warpaes.vllm"}}'

The classes are subclasses of vLLM's classes, which are not changed; docs/kv-caches.md describes them. An offloaded
chunk is one block of ``warpaes.kv``: the pages of all layers, followed by the chunk's seal. vLLM's managers and tiers
have access only to ciphertext.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from vllm.distributed.kv_transfer.kv_connector.v1.offloading_connector import OffloadingConnector
from vllm.v1.kv_offload.base import (
    OffloadingManager,
    OffloadingWorker,
    TransferResult,
    get_offload_block_hash,
    get_offload_group_idx,
)
from vllm.v1.kv_offload.cpu.shared_offload_region import SharedOffloadRegion
from vllm.v1.kv_offload.cpu.spec import CPUOffloadingSpec
from vllm.v1.kv_offload.tiering.spec import TieringOffloadingSpec

from . import kv
from ._kv_frames import TAG_BYTES
from ._native import Keyset
from .exceptions import InvalidTag

__all__ = ["EncryptedOffloadingConnector", "EncryptedOffloadingSpec", "EncryptedTieringSpec", "EncryptingWorker"]

#: Number of bytes that vLLM reserves for each GPU block and worker in addition to the block. They store a chunk's seal.
ROOM_BYTES = 256
#: Number of bytes that are encrypted at a time. Each direction has two buffers of this size on the GPU.
PART_BYTES = 16 << 20
_IDLE: contextlib.AbstractContextManager[None] = contextlib.nullcontext()


class _Plan(NamedTuple):
    """The position of each of a transfer's GPU blocks in the transfer's chunks, for one group of layers."""

    group: int
    blocks: Any  #: numbers of GPU blocks
    chunks: Any  #: for each block, the index of its chunk in the transfer
    places: Any  #: for each block, its index in the chunk


def _plans(gpu: Any, count: int, blocks_per_chunk: int) -> list[_Plan]:
    """Return the plans for a transfer of ``count`` chunks.

    ``gpu`` is the transfer's GPULoadStoreSpec. A group's first block may be any block of its chunk, because vLLM omits
    blocks before a sliding window and blocks that are still on the GPU.
    """
    found, begin, first = [], 0, 0
    for group, (size, index) in enumerate(zip(gpu.group_sizes, gpu.block_indices, strict=True)):
        if size:
            at = np.arange(size) + index % blocks_per_chunk
            chunks = first + at // blocks_per_chunk
            found.append(_Plan(group, gpu.block_ids[begin : begin + size], chunks, at % blocks_per_chunk))
            first = int(chunks[-1]) + 1
        begin += size
    if first != count:
        raise ValueError(f"a transfer contains blocks of {first} chunks, but names {count} chunks")
    return found


@dataclass
class _Job:
    number: int
    nbytes: int
    start: Any  #: an event of the GPU, or None
    end: Any
    plans: Sequence[_Plan] = ()
    statuses: Any = None  #: the statuses of a load that have not been checked yet


class _Lane:
    """The transfers in one direction, in order, and two buffers, each with a stream.

    One buffer is copied while the other is encrypted or decrypted.
    """

    def __init__(self, device: torch.device, row_bytes: int) -> None:
        self.jobs: deque[_Job] = deque()
        self.rows = max(1, PART_BYTES // row_bytes)
        self._device, self._row_bytes = device, row_bytes
        self._streams: list[Any] = []
        self._buffers: list[Tensor] = []

    def begin(self) -> tuple[Any, Iterator[tuple[contextlib.AbstractContextManager[None], Tensor]]]:
        """Return an event, and an endless iterator that alternates between the buffers.

        Each item is a context that makes the buffer's stream current, and the buffer. Work on these streams begins
        after the current stream's work.
        """
        if not self._buffers:
            shape = (self.rows, self._row_bytes)
            self._buffers = [torch.empty(shape, dtype=torch.int8, device=self._device) for _ in range(2)]
            self._streams = [torch.cuda.Stream(self._device) for _ in range(2)] if self._device.type == "cuda" else []
        for stream in self._streams:
            stream.wait_stream(torch.cuda.current_stream(self._device))
        contexts = [torch.cuda.stream(stream) for stream in self._streams] or [_IDLE, _IDLE]
        return self._event(), itertools.cycle(zip(contexts, self._buffers))

    def end(self) -> Any:
        """Return an event after the work of both streams, or None if there is no GPU."""
        if self._streams:
            self._streams[0].wait_stream(self._streams[1])
        return self._event()

    def close(self) -> None:
        """Wait for all transfers, and wipe the buffers."""
        for stream in self._streams:  # a failed submission leaves work, but no job
            stream.synchronize()
        self.jobs.clear()
        for buffer in self._buffers:
            buffer.zero_()
        self._buffers, self._streams = [], []

    def _event(self) -> Any:
        return self._streams[0].record_event(torch.cuda.Event(enable_timing=True)) if self._streams else None


class EncryptingWorker(OffloadingWorker):  # type: ignore[misc]  # vLLM has no types here
    """Moves encrypted chunks between a GPU and host memory. As with vLLM's worker, only one thread at a time may use
    it.

    In host memory, a chunk consists of the ciphertext of its pages, in the order of the tensors, and its 32-byte seal.
    """

    def __init__(
        self,
        kv_caches: Any,
        host: Tensor,
        blocks_per_chunk: int,
        blocks: kv.Blocks,
        name: Callable[[bytes], kv.ObjectName],
        release: Callable[[], None] = lambda: None,
    ) -> None:
        """Create a worker.

        Args:
            kv_caches: vLLM's CanonicalKVCaches.
            host: Memory for chunks: int8 with the shape (chunks, bytes of a chunk), where a chunk has room for its
                pages and 32 bytes.
            blocks_per_chunk: The number of GPU blocks in a chunk.
            blocks: The object that encrypts and decrypts.
            name: A function that returns the name that a seal binds, for vLLM's key of a chunk.
            release: A function that ``shutdown`` calls when no transfer uses ``host`` any more.

        Raises:
            ValueError: The memory for a chunk is too short.
        """
        self._refs, self._per_chunk = kv_caches.group_data_refs, blocks_per_chunk
        pages = [each.tensor.view(torch.int8).view(-1, each.page_size_bytes) for each in kv_caches.tensors]
        self._row = blocks_per_chunk * sum(each.page_size_bytes for each in kv_caches.tensors)
        needed = self._row + kv.Seals.ENTRY_BYTES
        if len(host) and host.shape[1] < needed:
            raise ValueError(f"host: a chunk has {host.shape[1]} bytes, but requires {needed} with its seal")
        # Pages are gathered as words, because each GPU thread moves one element.
        sizes = [self._row, *(ref.page_size_bytes for refs in self._refs for ref in refs)]
        sizes += [step for each in pages for step in (each.shape[1], each.stride(0), each.storage_offset())]
        self._word = torch.int64 if all(size % 8 == 0 for size in sizes) else torch.int8
        self._pages = [each.view(self._word) for each in pages]
        self._host, self._bytes = host, host.numpy()
        self._blocks, self._name, self._release = blocks, name, release
        self._device = pages[0].device
        self._store, self._load, self._expedited = (_Lane(self._device, self._row) for _ in range(3))
        #: GPU blocks that were wiped because their chunks are not authentic. If it is None, such a chunk raises
        #: InvalidTag.
        self.failed: set[int] | None = None

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def submit_store(self, job_id: int, src_spec: Any, dst_spec: Any) -> bool:
        """Encrypt chunks and copy them to host memory. Return True immediately.

        Raises:
            ValueError: ``dst_spec`` has no names, because it was not created by a manager from this module.
            Error: The key has reached the limit of encryptions.
        """
        chunks, names = self._named(dst_spec)
        plans, lane = _plans(src_spec, len(chunks), self._per_chunk), self._store
        start, buffers = lane.begin()
        for part in self._parts(lane, chunks):
            context, buffer = next(buffers)
            with context:
                rows = buffer[: len(chunks[part])]
                rows.zero_()  # some chunks are not full
                for cells, pages, blocks, places, size in self._pieces(plans, part, rows):
                    cells[(*places, slice(size))] = pages[blocks, :size]
                self._seal(rows, chunks[part], names[part])
        lane.jobs.append(_Job(job_id, self._row * len(chunks), start, lane.end()))
        return True

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def submit_load(self, job_id: int, src_spec: Any, dst_spec: Any, expedited: bool = False) -> bool:
        """Copy chunks from host memory and decrypt them. Return True immediately.

        A chunk that is not authentic is detected when the transfer has ended. Its GPU blocks are wiped, and either
        ``get_finished`` or ``wait`` raises InvalidTag, or the blocks are added to ``failed``.

        Raises:
            ValueError: ``src_spec`` has no names.
        """
        chunks, names = self._named(src_spec)
        plans, lane = _plans(dst_spec, len(chunks), self._per_chunk), self._expedited if expedited else self._load
        statuses = torch.empty(len(chunks), dtype=torch.int32, pin_memory=self._device.type == "cuda")
        start, buffers = lane.begin()
        for part in self._parts(lane, chunks):
            context, buffer = next(buffers)
            with context:
                rows = buffer[: len(chunks[part])]
                for row, chunk in zip(rows, chunks[part]):
                    row.copy_(self._host[chunk, : self._row], non_blocking=True)
                found = self._blocks.decrypt(rows, self._seals(chunks[part]), names[part])
                for cells, pages, blocks, places, size in self._pieces(plans, part, rows):
                    pages[blocks, :size] = cells[(*places, slice(size))]
                statuses[part].copy_(found, non_blocking=True)
        lane.jobs.append(_Job(job_id, self._row * len(chunks), start, lane.end(), plans, statuses))
        return True

    def get_finished(self) -> list[Any]:
        """Return the results of transfers that have ended, as vLLM's TransferResult.

        Raises:
            InvalidTag: A chunk is not authentic, and ``failed`` is None.
        """
        results = []
        for lane in self._lanes:
            while lane.jobs and (lane.jobs[0].end is None or lane.jobs[0].end.query()):
                job = lane.jobs.popleft()
                self._check(job)
                seconds = None if job.end is None else job.start.elapsed_time(job.end) / 1000
                results.append(TransferResult(job.number, True, job.nbytes, seconds))
        return results

    def wait(self, job_ids: set[int]) -> None:
        """Wait for transfers. Raises the same exceptions as ``get_finished``."""
        for job in [job for lane in self._lanes for job in lane.jobs if job.number in job_ids]:
            if job.end is not None:
                job.end.synchronize()
            self._check(job)

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def shutdown(self) -> None:
        """Wait for all transfers, wipe the buffers and release the host memory."""
        for lane in self._lanes:
            lane.close()
        self._host = self._bytes = None
        release, self._release = self._release, lambda: None
        release()

    @property
    def _lanes(self) -> tuple[_Lane, ...]:
        return self._store, self._load, self._expedited

    def _named(self, spec: Any) -> tuple[list[int], list[kv.ObjectName]]:
        """Return the chunks of a transfer and their names."""
        names = getattr(spec, "names", None)
        if names is None or len(names) != len(spec.block_ids):
            raise ValueError("the transfer does not name its chunks; use a spec from warpaes.vllm as spec_name")
        return spec.block_ids.tolist(), [self._name(name) for name in names]

    @staticmethod
    def _parts(lane: _Lane, chunks: list[int]) -> list[slice]:
        return [slice(begin, min(begin + lane.rows, len(chunks))) for begin in range(0, len(chunks), lane.rows)]

    def _pieces(self, plans: list[_Plan], part: slice, rows: Tensor) -> Iterator[tuple[Any, ...]]:
        """For each layer, yield its cells in ``rows``, its pages, the blocks, their places, and the number of words in
        a page."""
        words = rows.view(self._word)
        begins = itertools.accumulate((self._per_chunk * each.shape[1] for each in self._pages), initial=0)
        starts = list(begins)
        for plan in plans:
            chosen = (plan.chunks >= part.start) & (plan.chunks < part.stop)
            if not chosen.any():
                continue
            blocks, chunks, places = (
                torch.from_numpy(each[chosen].astype(np.int64)).to(self._device, non_blocking=True)
                for each in (plan.blocks, plan.chunks - part.start, plan.places)
            )
            for ref in self._refs[plan.group]:
                pages = self._pages[ref.tensor_idx]
                cells = words[:, starts[ref.tensor_idx] : starts[ref.tensor_idx + 1]]
                cells = cells.view(len(rows), self._per_chunk, pages.shape[1])
                yield cells, pages, blocks, (chunks, places), ref.page_size_bytes // self._word.itemsize

    def _seal(self, rows: Tensor, chunks: list[int], names: list[kv.ObjectName]) -> None:
        """Encrypt rows, and copy them and their seals to their chunks."""
        seals = self._blocks.encrypt(rows, names)
        begin, end = self._row, self._row + kv.Seals.ENTRY_BYTES
        for number, chunk in enumerate(chunks):
            header = np.frombuffer(seals.header(number), np.int8)
            self._bytes[chunk, begin : begin + len(header)] = header
            self._host[chunk, :begin].copy_(rows[number], non_blocking=True)
            tag = seals.tags[TAG_BYTES * number : TAG_BYTES * (number + 1)].view(torch.int8)
            self._host[chunk, begin + len(header) : end].copy_(tag, non_blocking=True)

    def _seals(self, chunks: list[int]) -> kv.Seals:
        begin, end = self._row, self._row + kv.Seals.ENTRY_BYTES
        seals = kv.Seals.from_bytes(b"".join(self._bytes[chunk, begin:end].tobytes() for chunk in chunks))
        # Key IDs are not authenticated. An unknown ID is replaced by the primary key's ID, and the chunk then fails
        # authentication.
        seals.key_ids = [number if self._blocks.has_key(number) else self._blocks.primary for number in seals.key_ids]
        return seals

    def _check(self, job: _Job) -> None:
        """Check the statuses of a load that has ended."""
        if job.statuses is None:
            return
        bad = np.flatnonzero(job.statuses.numpy())
        job.statuses = None
        if bad.size == 0:
            return
        if self.failed is None:
            raise InvalidTag(f"KV cache: {bad.size} of the chunks in a load are not authentic")
        self.failed.update(int(block) for plan in job.plans for block in plan.blocks[np.isin(plan.chunks, bad)])


def _with_names(manager: OffloadingManager) -> OffloadingManager:
    """Attach the keys of its chunks to each of a manager's transfers, as ``names``. The worker binds its seals to these
    names."""
    load, store = manager.prepare_load, manager.prepare_store

    def prepare_load(keys: Collection[bytes], req_context: Any) -> Any:
        keys = list(keys)
        spec = load(keys, req_context)
        spec.names = keys
        return spec

    def prepare_store(keys: Collection[bytes], req_context: Any) -> Any:
        output = store(keys, req_context)
        if output is not None:
            output.store_spec.names = list(output.keys_to_store)
        return output

    # vLLM's spec creates the manager with all its tiers, so subclasses of the managers would have to repeat that code.
    manager.prepare_load, manager.prepare_store = prepare_load, prepare_store
    return manager


class _Encrypted:
    """The difference between vLLM's specs and the specs in this module."""

    _needs_keyset = False

    def __init__(self, config: Any) -> None:
        """Adapt vLLM's OffloadingConfig.

        Raises:
            ValueError: ``canonical_layout`` is set, or a required keyset is missing.
        """
        if config.canonical_layout:
            raise ValueError("canonical_layout: other topologies cannot read encrypted chunks; omit it")
        self._keyset = config.extra_config.get("keyset") or os.environ.get("WARPAES_KEYSET")
        if self._needs_keyset and not self._keyset:
            raise ValueError(
                "kv_connector_extra_config: name the place of a keyset with 'keyset' or with WARPAES_KEYSET, because "
                "other processes read the chunks in other tiers"
            )
        self._named: OffloadingManager | None = None
        size = config.worker_kv_bytes_per_block
        super().__init__(  # type: ignore[call-arg]
            replace(
                config,
                worker_kv_bytes_per_block=size + ROOM_BYTES if size else 0,
                replicated_layout=False,  # each worker encrypts its own copy
                parallel=replace(config.parallel, is_parallelism_agnostic=False),
            )
        )

    def get_manager(self) -> OffloadingManager:
        """Return vLLM's manager, whose transfers also contain the keys of their chunks."""
        if self._named is None:
            self._named = _with_names(super().get_manager())  # type: ignore[misc]
        return self._named

    def create_worker(self, kv_caches: Any) -> EncryptingWorker:
        """Return an encrypting worker that uses the memory of vLLM's shared region."""
        spec: Any = self
        region, width = None, spec.cpu_page_size_per_worker
        if spec.num_chunks:
            region = self._region()
            host = region.create_next_worker_view(width)
            if kv_caches.tensors[0].tensor.is_cuda:
                from vllm.v1.kv_offload.cpu.gpu_worker import pin_mmap_region

                pin_mmap_region(region, worker_slot_only=True)
        else:
            host = torch.empty((0, width), dtype=torch.int8)
        try:
            blocks = kv.Blocks(self._keyset or Keyset.generate())
            release = region.cleanup if region is not None else lambda: None
            return EncryptingWorker(kv_caches, host, spec.blocks_per_chunk, blocks, self._names(), release)
        except BaseException:
            if region is not None:
                region.cleanup()
            raise

    def _region(self, **options: Any) -> SharedOffloadRegion:
        spec: Any = self
        return SharedOffloadRegion(
            engine_id=spec.config.engine_id,
            num_chunks=spec.num_chunks,
            rank=spec.config.parallel.rank,
            kv_bytes_per_chunk=spec.kv_bytes_per_chunk,
            cpu_page_size=spec.cpu_page_size_per_worker,
            **options,
        )

    def _names(self) -> Callable[[bytes], kv.ObjectName]:
        """Return the function that names a chunk by its hash, its group, this worker, and the parameters of its
        layout."""
        config = self.config  # type: ignore[attr-defined]
        parallel = config.parallel
        layout = json.dumps(
            [
                config.model.name,
                config.model.dtype,
                config.kv_cache_layout,
                config.cache.blocks_per_chunk,
                [[group.tokens_per_block, list(group.layer_names)] for group in config.groups],
                [parallel.tp_size, parallel.pp_size, parallel.pcp_size, parallel.dcp_size],
            ]
        )
        return lambda key: kv.ObjectName(
            get_offload_block_hash(key), layout, parallel.rank, get_offload_group_idx(key), ""
        )


class EncryptedOffloadingSpec(_Encrypted, CPUOffloadingSpec):  # type: ignore[misc]
    """vLLM's offloading to host memory, with chunks that are encrypted by a GPU.

    In addition to vLLM's options, ``keyset`` is the place of a keyset. Without it and without WARPAES_KEYSET, each
    worker creates its own key, which exists as long as the worker.
    """

    def _region(self, **options: Any) -> SharedOffloadRegion:
        # The file is removed when all workers have opened it, and all workers fill its parts concurrently.
        alone = self.config.parallel.world_size == 1
        return super()._region(barrier=(lambda: None) if alone else _all_workers_barrier, num_segments=32)


class EncryptedTieringSpec(_Encrypted, TieringOffloadingSpec):  # type: ignore[misc]
    """vLLM's offloading to host memory and further tiers (``fs``, ``obj``, ``p2p``), which receive only ciphertext.

    ``keyset``, or WARPAES_KEYSET, is required.
    """

    _needs_keyset = True


def _all_workers_barrier() -> None:
    """Wait until all workers of this engine have reached this call."""
    from vllm.distributed.parallel_state import get_inner_dp_world_group, get_world_group

    try:
        group = get_inner_dp_world_group()
    except AssertionError:
        group = get_world_group()
    group.barrier()


class EncryptedOffloadingConnector(OffloadingConnector):  # type: ignore[misc]
    """vLLM's offloading connector, changed so that a chunk that is not authentic fails only its requests, not the
    engine.

    ``kv_load_failure_policy`` determines whether vLLM then fails these requests or recomputes the blocks. All chunks in
    host memory are discarded. For models with several groups of KV caches, InvalidTag ends the engine, because vLLM
    does not support failures of individual blocks for these models.
    """

    def register_kv_caches(self, kv_caches: dict[str, Tensor]) -> None:
        """Create the worker.

        Raises:
            ValueError: ``spec_name`` does not name a spec in this module.
        """
        super().register_kv_caches(kv_caches)
        worker = self.connector_worker.worker
        if not isinstance(worker, EncryptingWorker):
            raise ValueError(
                "kv_connector_extra_config: with EncryptedOffloadingConnector, spec_name must be "
                "EncryptedOffloadingSpec or EncryptedTieringSpec, and spec_module_path warpaes.vllm"
            )
        if len(self._kv_cache_config.kv_cache_groups) == 1:
            worker.failed = set()

    def get_block_ids_with_load_errors(self) -> set[int]:
        """Return the GPU blocks whose chunks were not authentic, and clear their list."""
        worker = self.connector_worker.worker
        failed: set[int] = worker.failed or set()
        if failed:
            worker.failed = set()
        return failed

    def update_connector_output(self, connector_output: Any) -> None:
        """Process the workers' results. After a failure, discard all chunks, because they would fail again."""
        super().update_connector_output(connector_output)
        if connector_output.invalid_block_ids:
            self.reset_cache()
