"""A common interface to places that store keys: files, programs, key managers, tokens and TPMs.

A **key source** wraps data keys under a key that it stores; ``from_url`` creates a key source. A keyset wrapped by a
source is Tink's encrypted keyset (``write_keyset``, ``read_keyset``). docs/keys.md describes each source, and which
parties have access to keys.
"""

from __future__ import annotations

from ._local import LocalSource, file_source, generate_kek, program_source
from ._source import (
    BadAnswerError,
    DeniedError,
    ExhaustedError,
    KeySource,
    KeySourceError,
    UnavailableError,
    UnknownKeyError,
)
from ._tink import read_keyset, write_keyset

__all__ = [
    "BadAnswerError",
    "DeniedError",
    "ExhaustedError",
    "KeySource",
    "KeySourceError",
    "LocalSource",
    "UnavailableError",
    "UnknownKeyError",
    "from_url",
    "generate_kek",
    "read_keyset",
    "write_keyset",
]

KINDS = (
    "file:PATH, exec:COMMAND, aws-kms://ARN, gcp-kms://projects/…, azure-kv://HOST/keys/NAME, "
    "vault-transit://HOST/MOUNT/keys/NAME, pkcs11:token=…;object=… or tpm2:"
)


def from_url(url: str) -> KeySource:
    """Return the source that a URL names. The source is not contacted before its first use."""
    scheme, _, rest = url.partition(":")
    if scheme == "file":
        return file_source(rest.removeprefix("//"))
    if scheme == "exec":
        return program_source(rest)
    # Other sources import their packages when they are used.
    if scheme == "aws-kms":
        from ._aws import AwsKmsSource

        return AwsKmsSource(rest.removeprefix("//"))
    if scheme in ("gcp-kms", "gcp-kms+http"):
        from ._gcp import GcpKmsSource

        return GcpKmsSource(url)
    if scheme == "azure-kv":
        from ._azure import AzureKeyVaultSource

        return AzureKeyVaultSource(url)
    if scheme in ("vault-transit", "vault-transit+http"):
        from ._vault import VaultTransitSource

        return VaultTransitSource(url)
    if scheme == "pkcs11":
        from ._pkcs11 import Pkcs11Source

        return Pkcs11Source(url)
    if scheme == "tpm2":
        from ._tpm2 import Tpm2Source

        return Tpm2Source(url)
    raise ValueError(f"key source: must be {KINDS}")
