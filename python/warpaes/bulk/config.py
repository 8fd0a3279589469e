"""The options of workers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from . import keys, transfer
from .storage import WINDOW, is_local, part_bytes

#: Replaces a row's key records if they are in the file next to the object and not in a manifest.
BESIDE = "beside"
#: The memory required for the view, the rewriting and the footer of a small Parquet file, in addition to its content.
VIEW_BYTES = 16 << 20
#: The default template of data keys.
TEMPLATE = "AES256_GCM_HKDF_1MB"
#: How an object is bound to its name: not at all, by only the name (warpaes 1.0), or by keys.name_data.
UNBOUND, BARE, BOUND = "", "name", "object"


@dataclass
class Config:
    """The options of a worker. They include the keys and are sent to other processes and machines."""

    command: str
    source: str
    target: str
    source_options: dict[str, Any] = field(default_factory=dict)
    target_options: dict[str, Any] = field(default_factory=dict)
    key: list[keys.KeySpec] = field(default_factory=list)  #: decrypts, and also encrypts if there is no new key
    new_key: list[keys.KeySpec] = field(default_factory=list)  #: only for rekey and rewrap
    envelope: str = ""  #: "job", "object", or "" if the keyset itself encrypts the objects
    template: str = TEMPLATE
    key_id: str = ""  #: the ID of the key for new objects, if each object does not have its own key
    records: dict[str, dict[str, Any]] = field(default_factory=dict)
    dataset: str = ""  #: the ID of the encrypted dataset
    named_dataset: str = ""  #: the dataset's ID, if the command line names it
    job: str = ""
    record_key: bytes = field(default=b"", repr=False)  #: authenticates the dataset's records
    names_key: bytes = field(default=b"", repr=False)  #: encrypts names; b"": names are not encrypted
    old_binding: str = UNBOUND  #: the binding of objects that are read
    binding: str = UNBOUND  #: the binding of objects that are written
    overwrite: bool = False
    verify: bool = False  # read each output again after writing it
    drop_old_keys: bool = False
    given: list[str] = field(default_factory=list)  #: verify: attributes that the command line set for all objects
    threads: int = 32  #: number of concurrent objects
    requests: int = 16  #: number of concurrent ranges and parts of large objects
    memory: int = 256 << 20
    backend: str | None = None
    limit_rate: float = 0  #: bytes per second that this worker may read; 0: no limit

    @property
    def by_files(self) -> bool:
        """Whether the library's file jobs can do the work: source and target are local, and no step accesses the
        plaintext."""
        whole = self.command in ("encrypt", "decrypt") and not self.verify and not keys.is_parquet(self.template)
        return whole and not self.limit_rate and is_local(self.source) and is_local(self.target)

    def memory_of(self, what: str, size: int) -> int:
        """Return the maximum memory of an object in progress. The library's file jobs use one thread."""
        if self.by_files and what == self.command:
            return transfer.memory_of_file(size, 1)
        held = transfer.memory_of(size, part_bytes(size))
        return held + VIEW_BYTES if keys.is_parquet(self.template) and size <= WINDOW else held
