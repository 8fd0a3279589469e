from collections.abc import Awaitable, Callable, Generator, Sequence
from os import PathLike
from typing import Any, Literal, TypedDict, final

from typing_extensions import Self, disjoint_base

from ._typing import Buffer, Data

version: str

class BackendInfo(TypedDict):
    """What there is to compute on, or why it cannot run here.

    Attributes:
        name: ``libcrypto``, ``aesni``, ``vaes``, ``armv8`` or ``cuda``.
        description: The instruction sets, OpenSSL's version or the GPU's name.
        usable: Whether it can run here.
        reason: Why it cannot; empty if it can.
        device: The number of the CUDA device; -1 for a CPU.
        memory_bytes: Bytes of the device's memory; 0 for a CPU.
    """

    name: str
    description: str
    usable: bool
    reason: str
    device: int
    memory_bytes: int

class KeyInfo(TypedDict):
    """What can be said about a key of a keyset without giving it away.

    Attributes:
        key_id: Its number, from 1 to 2^32 - 1.
        state: Whether it is used, kept aside, or gone but for its number.
        primary: Whether it encrypts.
        template: The name of its parameters; empty if they have none.
        key_bits: Bits of the AES key.
        segment_bytes: Bytes of a segment of ciphertext.
    """

    key_id: int
    state: Literal["enabled", "disabled", "destroyed"]
    primary: bool
    template: str
    key_bits: int
    segment_bytes: int

class FileInfo(TypedDict):
    """What can be said about a sealed file without a key.

    Attributes:
        format: ``streaming AEAD``, ``openssl enc`` or ``raw``.
        template: The template that was given, if the file can be of it.
        file_bytes: Bytes of the file.
        header_bytes: Bytes of the header at its beginning.
        segment_bytes: Bytes of a segment of ciphertext; 0 if not known.
        segments: How many segments there are; 0 if not known.
    """

    format: str
    template: str
    file_bytes: int
    header_bytes: int
    segment_bytes: int
    segments: int

def configure(backend: str | None = None, threads: int = 0, device: int = -1) -> None:
    """Make the engine of this process: the backend that everything is computed on, host threads (0: one per processor),
    CUDA device (-1: every one).

    Only before anything else.

    Args:
        backend: ``libcrypto``, ``aesni``, ``vaes``, ``armv8`` or ``cuda``: this one for everything. None: the best for
            each call, or what the environment variable ``WARPAES_BACKEND`` names.
        threads: Host threads that work on one call, from 0 on.
        device: Number of a CUDA device, from -1 on.

    Raises:
        Error: The process has its engine already, or the backend cannot run here; nothing falls back to another.
        ValueError: A number is out of range.
    """

def backends() -> list[BackendInfo]:
    """What this machine can compute on, as a list of dictionaries.

    CPU backends come first, the best of them last, then CUDA devices. Thread-safe. Looks for a driver, which may take
    a second the first time.
    """

def large_pages(buf: Buffer) -> None:
    """Ask for large pages where a buffer lies that nobody has written to yet; a hint.

    Args:
        buf: A writable buffer in host memory.

    Raises:
        TypeError, ValueError: It is none.
    """

def copy(to: Data, source: Data) -> None:
    """Copy bytes between host and device memory, after all work that was enqueued on the default stream; complete on
    return.

    Args:
        to: A writable buffer or tensor.
        source: A buffer or tensor of as many bytes.

    Raises:
        ValueError: They differ in bytes.
        Error: A copy to or from a GPU failed.
    """

def _reaches(device: int) -> bool: ...
def _chunks(
    direction: Literal["encrypt", "decrypt"],
    chunk: int,
    parts: list[Any],
) -> tuple[int, int] | None: ...
def _refuse_subinterpreters() -> None: ...
def _crypt_file(
    direction: Literal["encrypt", "decrypt"],
    source: int,
    target: int,
    keyset: Keyset,
    associated_data: Buffer | None,
    threads: int,
    proceed: Callable[[], bool],
) -> tuple[int, bytes, str, int]: ...
def inspect(path: str | PathLike[str], template: str | None = None) -> FileInfo:
    """What can be said about a sealed file without a key.

    Args:
        path: A file.
        template: The template whose parameters are assumed, for formats that do not say them.

    Raises:
        FileNotFoundError: There is no such file.
        FormatError: Not a file of the template, or one that was cut off.
    """

@final
class Memory:
    """Zeroed memory, wiped when it goes: 'page-locked', which copies to and from a GPU at full speed, or of a 'device'.

    It has the buffer protocol if it is page-locked, and ``__cuda_array_interface__`` if it is a device's.

    Args:
        nbytes: Bytes, from 0 on.
        kind: ``page-locked`` or ``device``. Without a GPU page-locked memory is ordinary memory.
        device: Number of the CUDA device; of memory of a device alone.

    Raises:
        MemoryError: There is not so much.
        Error: There is no such device.
        ValueError: Another kind, or a negative size.
    """

    def __new__(cls, nbytes: int, kind: Literal["page-locked", "device"] = "page-locked", device: int = 0) -> Self: ...
    def __len__(self) -> int: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    @property
    def device(self) -> int:
        """The number of the device, or -1."""
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Of memory of a device.

        Bytes in one dimension. Page-locked memory has none.
        """

@final
class Batch(Awaitable[list[Any]]):
    """Messages on their way, to wait for or to await.

    ``submit`` of AESGCM and AESCCM makes them. Any number of threads and of coroutines may wait for one; its messages
    may not be changed until it has finished. One that is dropped is cancelled, and waited for.
    """

    def __await__(self) -> Generator[Any, Any, list[Any]]: ...
    def done(self) -> bool:
        """Whether it is finished.

        Never waits.
        """
    def fileno(self) -> int:
        """A descriptor that can be read from once it is finished.

        For ``select`` and event loops. Its own: not to be closed, and gone with the batch.
        """
    def result(self, timeout: float | None = None, *, return_exceptions: bool = False) -> list[Any]:
        """Wait, at most `timeout` seconds.

        A list of bytes, or of None where the caller gave a buffer; the first exception is raised, or with
        return_exceptions each stands in the list.

        Args:
            timeout: Seconds; None for as long as it takes.
            return_exceptions: Whether exceptions stand in the list where the results of their messages would.

        Returns:
            A list with an entry for each message, in the order in which they were given.

        Raises:
            TimeoutError: It has not finished in time; it goes on.
            InvalidTag: A message is not authentic; what was decrypted of it is wiped.
            Error: It was cancelled, or a GPU failed.
        """
    def cancel(self) -> None:
        """Leave out what has not begun.

        Messages that have begun are finished. Those left out have an Error as their result.
        """

class _Single:
    @staticmethod
    def generate_key(bit_length: int) -> bytes:
        """A random key of 128, 192 or 256 bits.

        Args:
            bit_length: 128, 192 or 256; AESGCMSIV has no keys of 192.

        Raises:
            ValueError: Another number.
        """
    def encrypt(self, nonce: Buffer, data: Data, associated_data: Data | None) -> bytes:
        """The ciphertext of data with its tag behind it, as bytes.

        Args:
            nonce: For AESGCM 8 to 128 bytes, best 12; for AESCCM 7 to 13; for AESGCMSIV 12. Never twice with one key,
                but for AESGCMSIV, which then tells equal messages from others and nothing else.
            data: The plaintext, in host memory, of any length that the mode has.
            associated_data: What is authenticated and not encrypted, or None.

        Returns:
            ``len(data)`` bytes of ciphertext and 16 of tag; of AESCCM as many as ``tag_length`` says.

        Raises:
            ValueError: The nonce has a wrong length, or the data are too long for the mode.
        """
    def decrypt(self, nonce: Buffer, data: Data, associated_data: Data | None) -> bytes:
        """The plaintext of data, a ciphertext with its tag behind it. InvalidTag if it is not authentic.

        Args:
            nonce: The nonce that it was encrypted with.
            data: Ciphertext and tag.
            associated_data: The same as for encryption.

        Raises:
            InvalidTag: Another key, nonce or associated data, or data that were altered or cut off. Nothing is handed
                out.
            ValueError: The nonce has a wrong length.
        """
    def encrypt_into(
        self,
        nonce: Buffer,
        data: Data,
        associated_data: Data | None,
        buf: Data,
        *,
        tag: Data | None = None,
        stream: Any = None,
    ) -> int:
        """Write ciphertext and tag to buf, or the tag to `tag`; returns the bytes written to buf.

        Tensors of a GPU: enqueued on their stream; AESGCMSIV waits for it, and for the result.

        Args:
            nonce: As for ``encrypt``.
            data: The plaintext: a buffer, or a tensor in host or device memory, contiguous, of any shape and dtype.
            associated_data: As for ``encrypt``; with tensors of a device in host memory or on that device.
            buf: Where it goes: as many bytes as the data, and those of the tag behind them unless ``tag`` is given.
                It may be the
                same memory as ``data``, and overlap it in no other way.
            tag: Where the tag goes instead, 16 bytes; on the same device as the data.
            stream: The CUDA stream for data of a device, as a number or as an object of
                PyTorch, CuPy or another library with ``__cuda_stream__``.
                None: the
                one that the tensor's library works on now. The call returns when the work is enqueued there; of
                AESGCMSIV it first waits for that stream, and returns when the work is done.

        Raises:
            ValueError: A wrong length, an overlap, memory of two devices, a tensor that requires grad.
            BufferError: Memory that is not contiguous or, for output, read-only.
            TypeError: Neither a buffer nor a tensor.
        """
    def decrypt_into(
        self,
        nonce: Buffer,
        data: Data,
        associated_data: Data | None,
        buf: Data,
        *,
        tag: Data | None = None,
        status: Data | None = None,
        stream: Any = None,
    ) -> int:
        """Write the plaintext to buf; returns its length.

        InvalidTag, and buf is wiped, if data is not authentic.

        Args:
            nonce: As for ``encrypt``.
            data: The ciphertext, with its tag behind it unless ``tag`` is given.
            associated_data: The same as for encryption.
            buf: Where the plaintext goes; see ``encrypt_into``.
            tag: The tag.
            status: For data of a device: 4 bytes there, int32, that become 0, or 22 if the message is not authentic,
                whose output is then wiped. The host does not wait and nothing is raised. Without it the call waits.
                Not of AESGCMSIV, which always waits.
            stream: As for ``encrypt_into``.

        Raises:
            InvalidTag: Not authentic; ``buf`` is wiped.
            ValueError: As for ``encrypt_into``.
        """

class _Many(_Single):
    def encrypt_batch(
        self,
        nonces: Sequence[Buffer] | Buffer,
        data: Sequence[Buffer],
        associated_data: Sequence[Buffer] | Buffer | None = None,
        *,
        return_exceptions: bool = False,
        check_nonces: bool = True,
    ) -> list[Any]:
        """Encrypt a list of messages at once; a list of ciphertexts with their tags.

        Args:
            nonces: A list, or one buffer that has them one behind the other.
            data: The plaintexts, in host memory.
            associated_data: A list, or one for all, or None.
            return_exceptions: Whether exceptions stand in the list where results would; else the first is raised.
            check_nonces: Whether two messages with one nonce are refused.

        Raises:
            ValueError: Lists that differ in length, or a nonce that comes twice.
        """
    def decrypt_batch(
        self,
        nonces: Sequence[Buffer] | Buffer,
        data: Sequence[Buffer],
        associated_data: Sequence[Buffer] | Buffer | None = None,
        *,
        return_exceptions: bool = False,
        check_nonces: bool = True,
    ) -> list[Any]:
        """Decrypt a list of messages at once; a list of plaintexts.

        Args:
            nonces: As for ``encrypt_batch``.
            data: Ciphertexts with their tags.
            associated_data: As for ``encrypt_batch``.
            return_exceptions: Whether InvalidTag stands in the list where a message is not authentic; else it is
                raised.
            check_nonces: Of no consequence for decryption.

        Raises:
            InvalidTag: A message is not authentic.
            ValueError: Lists that differ in length.
        """
    def submit(
        self,
        direction: Literal["encrypt", "decrypt"],
        nonces: Sequence[Buffer] | Buffer,
        data: Sequence[Buffer],
        associated_data: Sequence[Buffer] | Buffer | None = None,
        *,
        check_nonces: bool = True,
    ) -> Batch:
        """Begin to 'encrypt' or 'decrypt' a list of messages; a Batch to wait for or to await.

        The arguments are those of ``encrypt_batch``. The call returns at once; the messages are kept alive, and are
        not to be changed before the batch has finished.
        """
    def submit_into(
        self,
        direction: Literal["encrypt", "decrypt"],
        nonces: Sequence[Buffer] | Buffer,
        data: Data,
        offsets: Buffer,
        lengths: Buffer,
        buf: Data,
        tags: Buffer,
        associated_data: Sequence[Buffer] | Buffer | None = None,
        *,
        check_nonces: bool = True,
    ) -> Batch:
        """Begin on messages that lie in one buffer, to the same offsets of another; tags lie one behind the other.

        Args:
            direction: ``encrypt`` or ``decrypt``.
            nonces: A list, or one buffer.
            data: One buffer or tensor with all messages.
            offsets: Where each begins in ``data``, and its result in ``buf``: 64-bit integers, one a message.
            lengths: Bytes of each: 64-bit integers.
            buf: Where results go, in host or device memory; what streams still do to tensors has to be waited for
                before.
            tags: 16 bytes for each message, one behind the other, written or for decryption read.
            associated_data: A list, or one for all, or None.
            check_nonces: Whether two messages with one nonce are refused.

        Raises:
            ValueError: A message that does not lie within the buffers, or lists that differ in length.
        """

@final
class AESGCM(_Many):
    """AES-GCM (SP 800-38D), tags of 16 bytes.

    One object may be used by any number of threads, and in children of ``fork``. The key is copied, and
    wiped with the object.

    Args:
        key: 16, 24 or 32 bytes.

    Raises:
        ValueError: Another length.
    """

    def __new__(cls, key: Buffer) -> Self: ...

@final
class AESCCM(_Many):
    """AES-CCM (SP 800-38C), tags of 4 to 16 bytes.

    Threads and forks as AESGCM.

    Args:
        key: 16, 24 or 32 bytes.
        tag_length: 4, 6, 8, 10, 12, 14 or 16 bytes.

    Raises:
        ValueError: Another length of either.
    """

    def __new__(cls, key: Buffer, tag_length: int = 16) -> Self: ...

@final
class AESGCMSIV(_Single):
    """AES-GCM-SIV (RFC 8452): a nonce that repeats tells equal messages, nothing else.

    Threads and forks as AESGCM. Tensors in a GPU's memory are encrypted there, but nothing is enqueued: a call waits
    for the tensors' current stream, or for ``stream``, and returns when its work is done. ``decrypt_into`` has no use
    for a ``status``, and in a CUDA graph it cannot be captured.

    Args:
        key: 16 or 32 bytes.

    Raises:
        ValueError: Another length.
        UnsupportedAlgorithm: 24 bytes.
    """

    def __new__(cls, key: Buffer) -> Self: ...

@final
class AESSIV:
    """AES-SIV (RFC 5297), with keys of 32, 48 or 64 bytes.

    On CPUs; threads and forks as AESGCM. Without a nonce it tells equal messages; give one as the last component of the
    associated data.

    Args:
        key: 32, 48 or 64 bytes: two AES keys.

    Raises:
        ValueError: Another length.
    """

    def __new__(cls, key: Buffer) -> Self: ...
    @staticmethod
    def generate_key(bit_length: int) -> bytes:
        """A random key of 256, 384 or 512 bits.

        Args:
            bit_length: 256, 384 or 512.

        Raises:
            ValueError: Another number.
        """
    def encrypt(self, data: Data, associated_data: list[Any] | None) -> bytes:
        """Tag and ciphertext of data, as bytes.

        Args:
            data: The plaintext, of any length.
            associated_data: A list of components, at most 126, or None.

        Returns:
            16 bytes of tag and ``len(data)`` of ciphertext.
        """
    def decrypt(self, data: Data, associated_data: list[Any] | None) -> bytes:
        """The plaintext of data, a tag with its ciphertext. InvalidTag if it is not authentic.

        Raises:
            InvalidTag: Another key or associated data, or altered data.
        """
    def encrypt_into(self, data: Data, associated_data: list[Any] | None, buf: Data) -> int:
        """Write tag and ciphertext to buf.

        ``buf`` has 16 bytes more than the data.

        Raises:
            ValueError: ``buf`` has another length.
        """
    def decrypt_into(self, data: Data, associated_data: list[Any] | None, buf: Data) -> int:
        """Write the plaintext to buf.

        ``buf`` has 16 bytes fewer than the data.

        Raises:
            InvalidTag: Not authentic; ``buf`` is wiped.
            ValueError: ``buf`` has another length.
        """

class _Pieces:
    def update(self, data: Data) -> bytes:
        """The next piece, as bytes.

        Raises:
            AlreadyFinalized: The message has ended.
        """
    def update_into(self, data: Data, buf: Data) -> int:
        """The next piece; returns the bytes written.

        Args:
            data: The next piece.
            buf: At least as many bytes; in ECB and CBC 15 more.

        Raises:
            AlreadyFinalized: The message has ended.
            ValueError: ``buf`` is too short.
        """
    def finalize(self) -> bytes:
        """End the message.

        Raises:
            ValueError: ECB and CBC: the data were no multiple of 16 bytes.
            InvalidTag: GCM: not authentic; nothing that was decrypted may be used.
            AlreadyFinalized: It has ended before.
        """
    def reset_nonce(self, nonce: Buffer) -> None:
        """CTR: begin another message.

        Args:
            nonce: 16 bytes.

        Raises:
            UnsupportedAlgorithm: Another mode.
            ValueError: Another length.
        """

@final
class CipherContext(_Pieces):
    """A message that arrives in pieces. Of a mode without a tag; for one thread at a time."""

    def seek(self, offset: int) -> None:
        """CTR: go to byte `offset` of the message.

        Args:
            offset: From 0 on, in bytes.

        Raises:
            UnsupportedAlgorithm: Another mode than CTR.
            ValueError: A negative number.
        """

@final
class AEADEncryptionContext(_Pieces):
    """A message that arrives in pieces and gets a tag. For one thread at a time."""

    def authenticate_additional_data(self, data: Data) -> None:
        """Associated data, before any update.

        Raises:
            AlreadyUpdated: Data came before.
        """
    @property
    def tag(self) -> bytes:
        """The message's tag, once it is finalized.

        16 bytes.

        Raises:
            NotYetFinalized: It has not ended.
        """

@final
class AEADDecryptionContext(_Pieces):
    """A message with a tag that arrives in pieces. What update returns is not authentic before finalize has returned.

    For one thread at a time.
    """

    def authenticate_additional_data(self, data: Data) -> None:
        """Associated data, before any update.

        Raises:
            AlreadyUpdated: Data came before.
        """
    def finalize_with_tag(self, tag: Buffer) -> bytes:
        """End the message, of which this is the tag.

        Raises:
            InvalidTag: It is not.
            ValueError: The tag is too short or too long.
        """

def context(mode: int, encrypt: bool, key: Buffer, iv: Buffer | None, tag: Buffer | None, least_tag: int) -> Any: ...
def crypt(
    mode: int,
    encrypt: bool,
    key: Buffer,
    iv: Buffer | None,
    data: Data,
    buf: Data,
    data_unit_bytes: int,
    stream: Any,
) -> int: ...

@disjoint_base
class Mac:
    """CMAC with an AES key.

    For one thread at a time.
    """

    def __new__(cls, key: Buffer) -> Self: ...
    def update(self, data: Data) -> None:
        """The next bytes of the message.

        Raises:
            AlreadyFinalized: The message has ended.
        """
    def finalize(self) -> bytes:
        """The tag, 16 bytes.

        Raises:
            AlreadyFinalized: It has ended before.
        """
    def verify(self, signature: Buffer) -> None:
        """InvalidSignature if it is not the message's tag.

        Ends the message; compared in constant time.
        """
    def copy(self) -> Self:
        """A second one that goes on independently from here.

        Raises:
            AlreadyFinalized: The message has ended.
        """

def aes_key_wrap(wrapping_key: Buffer, key_to_wrap: Buffer, backend: Any = None) -> bytes:
    """RFC 3394.

    Args:
        wrapping_key: 16, 24 or 32 bytes.
        key_to_wrap: At least 16 bytes, a multiple of 8.
        backend: Ignored.

    Returns:
        8 bytes more.

    Raises:
        ValueError: Another length.
    """

def aes_key_unwrap(wrapping_key: Buffer, wrapped_key: Buffer, backend: Any = None) -> bytes:
    """RFC 3394; InvalidUnwrap if the wrapped key is not authentic.

    Args:
        wrapping_key: 16, 24 or 32 bytes.
        wrapped_key: At least 24 bytes, a multiple of 8.
        backend: Ignored.

    Raises:
        InvalidUnwrap: Not authentic, or another length.
        ValueError: The wrapping key has another length.
    """

def aes_key_wrap_with_padding(wrapping_key: Buffer, key_to_wrap: Buffer, backend: Any = None) -> bytes:
    """RFC 5649: any length.

    Args:
        wrapping_key: 16, 24 or 32 bytes.
        key_to_wrap: At least a byte.
        backend: Ignored.

    Raises:
        ValueError: The wrapping key has another length.
    """

def aes_key_unwrap_with_padding(wrapping_key: Buffer, wrapped_key: Buffer, backend: Any = None) -> bytes:
    """RFC 5649.

    Args:
        wrapping_key: 16, 24 or 32 bytes.
        wrapped_key: At least 16 bytes, a multiple of 8.
        backend: Ignored.

    Raises:
        InvalidUnwrap: Not authentic, or another length.
        ValueError: The wrapping key has another length.
    """

@final
class Keyset:
    """Keys for files, of which one, the primary, encrypts.

    An empty one; ``generate``, ``parse`` and ``from_raw`` make others. Any number of threads may use it, while none
    changes it.
    The keys are wiped with the object. ``len()`` is how many keys there are.
    """

    def __new__(cls) -> Self: ...
    def __len__(self) -> int: ...
    @classmethod
    def generate(cls, template: str = "AES256_GCM_HKDF_1MB") -> Self:
        """A keyset of one new random key.

        Args:
            template: One of ``templates()``.

        Raises:
            ValueError: There is no such template.
        """
    @classmethod
    def parse(cls, json: str | Buffer) -> Self:
        """A cleartext keyset of Tink's, as JSON.

        Args:
            json: What ``to_json``, ``warpaes keygen`` or Tink's ``tinkey`` wrote.

        Raises:
            KeysetError: Not such JSON; nothing of it is repeated.
        """
    @classmethod
    def from_raw(cls, template: str, key: Buffer) -> Self:
        """A keyset of one raw key.

        Args:
            template: One of ``templates()``.
            key: As many bytes as the AES key of the template has, 16 or 32; for Tink's at least.

        Raises:
            ValueError: Another length, or no such template.
        """
    @staticmethod
    def templates() -> list[str]:
        """The names of templates.

        Tink's streaming AEAD, by Tink's names, and C2SP's chunked encryption.
        """
    def add(self, template: str) -> int:
        """Add a new random key; returns its number.

        The first key becomes the primary.

        Raises:
            ValueError: There is no such template.
        """
    def rotate(self, template: str | None = None) -> int:
        """Add a new random key and make it the primary; returns its number.

        None: the template of the primary until now.

        Raises:
            ValueError: There is no primary whose template could be taken.
        """
    def promote(self, key_id: int) -> None:
        """Make a key the primary.

        Raises:
            ValueError: There is no such key, or it is not enabled.
        """
    def remove(self, key_id: int) -> None:
        """Remove a key that is not the primary.

        Files that it encrypted can be read no more.

        Raises:
            ValueError: There is no such key, or it is the primary.
        """
    def enable(self, key_id: int) -> None:
        """Use a key again.

        Raises:
            ValueError: There is no such key, or it is destroyed.
        """
    def disable(self, key_id: int) -> None:
        """Keep a key and do not use it.

        Raises:
            ValueError: There is no such key, or it is the primary.
        """
    def destroy(self, key_id: int) -> None:
        """Destroy a key; its number stays.

        Raises:
            ValueError: There is no such key, or it is the primary.
        """
    def keys(self) -> list[KeyInfo]:
        """What can be said about the keys, as a list of dictionaries.

        One for each key, in the order of the keyset.
        """
    def to_json(self) -> bytes:
        """Tink's JSON, with the secret keys, as bytes.

        In clear: for a file that its owner alone can read.

        Raises:
            KeysetError: A key is of C2SP chunked encryption, which Tink has no place for.
        """

@final
class Reader:
    """Random access to a sealed file: a path, a buffer, or a function (offset, buffer) with the file's size.

    Any number of threads may read at once.

    Args:
        source: A path, a buffer, or a function that fills ``buffer`` with the file's bytes from ``offset`` on.
        keyset: Its enabled keys are tried on the last segment, which shows that the end is there.
        associated_data: The writer's.
        size: With a function: how many bytes the file has.

    Raises:
        InvalidTag: No key of the keyset opens it, or the file was altered or cut off.
        FormatError: Shorter than any sealed file.
        OSError: It cannot be read.
    """

    def __new__(
        cls,
        source: str | Buffer | Callable[[int, memoryview], object],
        keyset: Keyset,
        associated_data: Buffer | None = None,
        size: int | None = None,
    ) -> Self: ...
    @property
    def size(self) -> int:
        """Bytes of plaintext."""
    def read(self, offset: int, length: int) -> bytes:
        """Bytes at an offset; fewer only at the end.

        Args:
            offset: From 0 on, in bytes of plaintext.
            length: From 0 on.

        Raises:
            InvalidTag: A segment under the range was altered. Other ranges can be read.
            ValueError: The reader is closed, or a number is negative.
        """
    def read_into(self, offset: int, buf: Data) -> int:
        """Fill a buffer or a tensor from an offset on; returns how much.

        Args:
            offset: From 0 on, in bytes of plaintext.
            buf: A writable buffer or tensor, in host or device memory.

        Raises:
            InvalidTag: As for ``read``; ``buf`` is wiped.
        """
    def close(self) -> None:
        """Free it.

        Reads that are at work are waited for.
        """

@final
class Writer:
    """Writes a sealed file, front to back, to a path or to a function of each next piece.

    For one thread at a time.

    Args:
        sink: A path, where the file appears when it is finished, or a function.
        keyset: Whose primary encrypts.
        associated_data: What the reader must know, too. It is not in the file.
        overwrite: Whether a file at the path is replaced.

    Raises:
        FileExistsError: There is a file at the path.
        KeysetError: The keyset has no key.
    """

    def __new__(
        cls,
        sink: str | Callable[[memoryview], object],
        keyset: Keyset,
        associated_data: Buffer | None = None,
        overwrite: bool = False,
    ) -> Self: ...
    def write(self, data: Data) -> int:
        """The next bytes of plaintext; returns how many.

        Args:
            data: A buffer, or a tensor in host or device memory.

        Raises:
            OSError: The file cannot be written, or what the function raised.
        """
    def finish(self) -> None:
        """End the file. A path appears under its name now.

        Raises:
            OSError: As for ``write``; there is no file then.
        """
    def abort(self) -> None:
        """Give the file up; at a path nothing appears.

        What was at the path stays.
        """

def numbers(
    kind: int,
    key: Buffer,
    take: Callable[[int], bytes],
    buf: Data,
    first: float,
    second: float,
    low: int,
    range: int,
    stream: Any,
) -> None:
    """Fill a buffer or a tensor with random numbers of a key.

    Args:
        kind: warpaes_number.
        key: 16, 24 or 32 bytes.
        take: Returns the counter block at which so many bytes of the key stream begin.
        buf: Contiguous, in host or device memory.
        first: As in warpaes_numbers, like ``second``, ``low`` and ``range``.
        stream: Of a GPU, or None for the tensor's current one.

    Raises:
        ValueError: A key of a wrong length, a buffer that is no multiple of a number, a value that is not finite.
    """

def bits(key: Buffer, take: Callable[[int], bytes], length: int) -> bytes:
    """Return bytes of a key's stream.

    Args:
        key: 16, 24 or 32 bytes.
        take: As for ``numbers``.
        length: How many.

    Raises:
        ValueError: A key of a wrong length.
    """
