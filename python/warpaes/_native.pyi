from collections.abc import Awaitable, Callable, Generator, Sequence
from os import PathLike
from typing import Any, Literal, TypedDict, final

from typing_extensions import Self, disjoint_base

from ._typing import Buffer, Data

version: str

class BackendInfo(TypedDict):
    """A CPU backend or a CUDA device, and whether this process can use it.

    Attributes:
        name: ``libcrypto``, ``aesni``, ``vaes``, ``armv8`` or ``cuda``.
        description: The instruction sets, the version of OpenSSL or the name of the GPU.
        usable: Whether this process can use the backend.
        reason: Why the process cannot use the backend; empty if it can.
        device: The number of the CUDA device; -1 for a CPU backend.
        memory_bytes: The device's memory in bytes; 0 for a CPU backend.
    """

    name: str
    description: str
    usable: bool
    reason: str
    device: int
    memory_bytes: int

class KeyInfo(TypedDict):
    """Public properties of a key in a keyset.

    Attributes:
        key_id: The key's ID, from 1 to 2^32 - 1.
        state: ``enabled`` keys are used, ``disabled`` keys are kept but not used, and only the ID of ``destroyed`` keys
            remains.
        primary: Whether this key encrypts new files.
        template: The name of the template that has the key's parameters; empty if no template has them.
        key_bits: The size of the AES key in bits.
        segment_bytes: The size of a ciphertext segment in bytes.
    """

    key_id: int
    state: Literal["enabled", "disabled", "destroyed"]
    primary: bool
    template: str
    key_bits: int
    segment_bytes: int

class FileInfo(TypedDict):
    """Properties of a sealed file that can be read without a key.

    Attributes:
        format: The kind of file: ``streaming AEAD`` or ``openssl enc``.
        format_name: The format's name, such as ``C2SP chunked encryption``.
        template: The template that the caller named, if the file matches its parameters.
        file_bytes: The size of the file in bytes.
        header_bytes: The size in bytes of the header at the beginning of the file.
        segment_bytes: The size of a ciphertext segment in bytes; 0 if unknown.
        segments: The number of segments; 0 if unknown.
    """

    format: str
    format_name: str
    template: str
    file_bytes: int
    header_bytes: int
    segment_bytes: int
    segments: int

def configure(backend: str | None = None, threads: int = 0, device: int = -1) -> None:
    """Create this process's engine with a backend, a number of host threads (0: one per processor) and a CUDA device
    (-1: all devices).

    Call it before any other operation. Without this call, the first operation in a process creates the engine with
    default options. A process has only one engine.

    Args:
        backend: ``libcrypto``, ``aesni``, ``vaes``, ``armv8`` or ``cuda`` to use this backend for all operations. If it
            is None, the backend that the environment variable ``WARPAES_BACKEND`` names is used or, if the variable is
            not set, the best backend for each call.
        threads: The number of host threads that work on a call, from 0 to 65536.
        device: The number of a CUDA device, or -1 for all devices.

    Raises:
        Error: The process already has an engine, or the backend cannot run on this machine. The engine does not fall
            back to another backend.
        ValueError: ``threads`` or ``device`` is out of range.
    """

def backends() -> list[BackendInfo]:
    """Return the backends and devices of this machine, as a list of dictionaries.

    The CPU backends come first, in ascending order of preference, followed by the CUDA devices. The first call loads
    the CUDA driver, which can take a second. The function is thread-safe.
    """

def large_pages(buf: Buffer) -> None:
    """Request large pages from the operating system for a buffer that has not been written yet.

    The call only advises the operating system, and has no effect on buffers smaller than 4 MiB.

    Args:
        buf: A contiguous writable buffer in host memory.

    Raises:
        TypeError: ``buf`` is not a buffer, or is in device memory.
        BufferError: ``buf`` is read-only or not contiguous.
    """

def copy(to: Data, source: Data) -> None:
    """Copy bytes between host and device memory, after all work on CUDA's default stream.

    The copy is complete on return.

    The call does not wait for other streams; synchronize them first if they write ``source`` or use ``to``.

    Args:
        to: A writable buffer or tensor that is contiguous or has the same shape and strides as ``source``.
        source: A buffer or tensor of the same size, without gaps between its elements.

    Raises:
        ValueError: ``to`` and ``source`` differ in size.
        BufferError: ``to`` is read-only, an argument has gaps, or the element orders of the arguments differ.
        Error: A copy to or from a GPU failed.
    """

def _is_gpu(backend: str) -> bool: ...
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
    """Return the properties of a sealed file that can be read without a key.

    Args:
        path: The path of the file.
        template: The name of the template whose parameters apply to a file whose format does not store them.

    Raises:
        FileNotFoundError: The file does not exist.
        FormatError: The file does not match the template's parameters, or it is truncated.
    """

@final
class Memory:
    """Zeroed memory that is wiped when it is freed: 'page-locked' host memory, which copies to and from a GPU at full
    speed, or 'device' memory.

    Page-locked memory supports the buffer protocol. Device memory has ``__cuda_array_interface__``. ``len()`` returns
    the size in bytes.

    Args:
        nbytes: The size in bytes, at least 1.
        kind: ``page-locked`` or ``device``. Without a GPU, page-locked memory is ordinary host memory.
        device: The number of the CUDA device; ignored for page-locked memory.

    Raises:
        MemoryError: There is not enough memory.
        Error: The device does not exist.
        ValueError: ``kind`` is unknown, or ``nbytes`` is out of range.
    """

    def __new__(cls, nbytes: int, kind: Literal["page-locked", "device"] = "page-locked", device: int = 0) -> Self: ...
    def __len__(self) -> int: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    @property
    def address(self) -> int:
        """The address of the first byte. For device memory, it is a device address."""
    @property
    def device(self) -> int:
        """The number of the device, or -1 for page-locked memory."""
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The CUDA array interface, which describes device memory as a one-dimensional array of bytes.

        Raises:
            AttributeError: The memory is page-locked.
        """

@final
class Batch(Awaitable[list[Any]]):
    """A batch of messages in flight, which can be waited for or awaited.

    The methods ``submit`` and ``submit_into`` of AESGCM and AESCCM return a batch. Any number of threads and coroutines
    may wait for it. Do not change its messages or use its outputs before the batch has finished. Deleting the last
    reference to a batch cancels the batch and waits until the work in flight has ended.

    A batch belongs to the process that submitted it: in a process created by ``fork``, its methods raise Error.
    """

    def __await__(self) -> Generator[Any, Any, list[Any]]: ...
    def done(self) -> bool:
        """Return whether the batch has finished.

        The call never waits.
        """
    def fileno(self) -> int:
        """Return a descriptor that becomes readable when the batch has finished.

        The descriptor can be used with ``select`` and event loops. The batch owns it: do not read from it or close it.
        It is -1 if no descriptor can be created.
        """
    def result(self, timeout: float | None = None, *, return_exceptions: bool = False) -> list[Any]:
        """Wait for the batch, at most `timeout` seconds.

        Return a list of bytes, or of None for messages whose output is a buffer. Raise the first exception, or put each
        exception into the list if return_exceptions is true.

        Args:
            timeout: The limit in seconds, or None to wait without a limit.
            return_exceptions: Whether the list contains the exception of a message that failed, in place of its result.

        Returns:
            A list with one entry for each message, in the order of submission.

        Raises:
            TimeoutError: The batch did not finish in time. It continues, and ``result`` can be called again.
            InvalidTag: A message is not authentic. Its output is wiped.
            Error: A message was cancelled, or a GPU failed.
        """
    def cancel(self) -> None:
        """Cancel the messages that have not been started.

        Messages in flight still finish. The result of each canceled message is an Error. The call returns immediately.
        """

class _Single:
    @staticmethod
    def generate_key(bit_length: int) -> bytes:
        """Return a random key of 128 or 256 bits.

        The key comes from the operating system's random number generator.

        Args:
            bit_length: The size of the key: 128 or 256. RFC 8452 does not define 192-bit keys.

        Returns:
            The key, ``bit_length / 8`` bytes.

        Raises:
            ValueError: ``bit_length`` is not one of these values.
        """
    def encrypt(self, nonce: Buffer, data: Data, associated_data: Data | None) -> bytes:
        """Encrypt data and return the ciphertext followed by its tag, as bytes.

        Args:
            nonce: 8 to 128 bytes for AESGCM, preferably 12; 7 to 13 bytes for AESCCM; 12 bytes for AESGCMSIV. Never use
                the same nonce twice with the same key. With AESGCMSIV, a repeated nonce reveals only which messages are
                equal.
            data: The plaintext, in host memory.
            associated_data: Data to authenticate but not to encrypt, or None.

        Returns:
            ``len(data)`` bytes of ciphertext, then the tag: 16 bytes, or ``tag_length`` bytes for AESCCM.

        Raises:
            ValueError: The nonce has the wrong length, or the data is too long for the mode.
            TypeError: The data is in device memory; use ``encrypt_into``.
        """
    def decrypt(self, nonce: Buffer, data: Data, associated_data: Data | None) -> bytes:
        """Decrypt a ciphertext followed by its tag and return the plaintext.

        Raises InvalidTag if the ciphertext is not authentic.

        Args:
            nonce: The nonce used for encryption.
            data: The ciphertext followed by its tag, in host memory.
            associated_data: The associated data used for encryption, or None.

        Returns:
            The plaintext.

        Raises:
            InvalidTag: The key, the nonce or the associated data differ from those used for encryption, or the data was
                altered or truncated. No plaintext is returned.
            ValueError: The nonce has the wrong length.
            TypeError: The data is in device memory; use ``decrypt_into``.
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
        """Encrypt data into buf, followed by the tag unless `tag` is given; return the bytes written to buf.

        On a GPU, the work is enqueued on the tensors' stream. AESGCMSIV waits for the stream and for the result.

        Args:
            nonce: See ``encrypt``.
            data: The plaintext: a buffer or a tensor of any shape and dtype in host or device memory. It must be
                contiguous or have no gaps between its elements (Fortran order, for example). The bytes are processed in
                memory order.
            associated_data: See ``encrypt``. For data in device memory, it may be in host memory or on the same device.
            buf: The output, in the same kind of memory as ``data``: ``len(data)`` bytes, plus the size of the tag if
                ``tag`` is None. It may be the same memory as ``data``, but must not overlap ``data`` in any other way.
                Its shape and strides must equal those of ``data``, unless both are contiguous.
            tag: A separate output for the tag, in the same kind of memory as ``data``: 16 bytes, or ``tag_length``
                bytes for AESCCM.
            stream: The CUDA stream for data in device memory: a number, or a stream object of PyTorch, CuPy or another
                library that implements ``__cuda_stream__``. None means the current stream of the tensors' libraries; it
                is not allowed if these streams differ. The work runs in stream order, and the call returns as soon as
                it is enqueued. AESGCMSIV first waits for the stream, and returns when the result is complete.

        Raises:
            ValueError: A length is wrong, ``data`` and ``buf`` overlap or are in different kinds of memory, or
                ``stream`` is given for host memory.
            BufferError: A tensor or buffer has gaps, the element orders of ``data`` and ``buf`` differ, or an output is
                read-only or requires grad.
            TypeError: An argument is neither a buffer nor a tensor.
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
        """Decrypt data into buf and return the length of the plaintext.

        If data is not authentic, wipes buf and raises InvalidTag.

        Args:
            nonce: See ``encrypt``.
            data: The ciphertext, followed by its tag if ``tag`` is None.
            associated_data: The associated data used for encryption, or None.
            buf: The output for the plaintext; see ``encrypt_into``.
            tag: The tag. For data in device memory, it may also be in host memory.
            status: For data in device memory: an int32 on the same device. In stream order, it is set to 0, or to 22 if
                the message is not authentic; ``buf`` is then wiped. With ``status``, the call does not wait and does
                not raise InvalidTag. Without ``status``, the call waits for the result. AESGCMSIV does not support
                ``status``, because it always waits.
            stream: See ``encrypt_into``.

        Raises:
            InvalidTag: The message is not authentic, and ``buf`` is wiped.
            ValueError: For the same reasons as ``encrypt_into``, or because ``status`` is given for host memory or for
                AESGCMSIV.
            BufferError: For the same reasons as ``encrypt_into``.
        """

class _Many(_Single):
    @staticmethod
    def generate_key(bit_length: int) -> bytes:
        """Return a random key of 128, 192 or 256 bits.

        The key comes from the operating system's random number generator.

        Args:
            bit_length: The size of the key: 128, 192 or 256.

        Returns:
            The key, ``bit_length / 8`` bytes.

        Raises:
            ValueError: ``bit_length`` is not one of these values.
        """
    def encrypt_batch(
        self,
        nonces: Sequence[Buffer] | Buffer,
        data: Sequence[Buffer],
        associated_data: Sequence[Buffer] | Buffer | None = None,
        *,
        return_exceptions: bool = False,
        check_nonces: bool = True,
    ) -> list[Any]:
        """Encrypt a list of messages at once and return a list of ciphertexts, each followed by its tag.

        The call waits until all messages have been encrypted.

        Args:
            nonces: A list with one nonce for each message, or one buffer that contains them back to back.
            data: A list of plaintexts, in host memory.
            associated_data: A list with one entry for each message, one buffer for all messages, or None.
            return_exceptions: Whether the exception of a failed message takes the place of its result in the list.
                Otherwise, the first exception is raised.
            check_nonces: Whether to reject a list that contains a nonce twice.

        Returns:
            A list of bytes, one entry for each message, in the order of ``data``.

        Raises:
            ValueError: The lists differ in length, a nonce has the wrong length, or a nonce occurs twice.
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
        """Decrypt a list of messages at once and return a list of plaintexts.

        The call waits until all messages have been decrypted.

        Args:
            nonces: See ``encrypt_batch``.
            data: A list of ciphertexts, each followed by its tag, in host memory.
            associated_data: See ``encrypt_batch``.
            return_exceptions: Whether the list contains InvalidTag for a message that is not authentic. Otherwise, the
                first exception is raised.
            check_nonces: Ignored, because decryption may use a nonce more than once.

        Returns:
            A list of bytes, one entry for each message, in the order of ``data``.

        Raises:
            InvalidTag: A message is not authentic.
            ValueError: The lists differ in length, or a nonce has the wrong length.
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
        """Begin to 'encrypt' or 'decrypt' a list of messages and return a Batch to wait for or to await.

        The call returns immediately. See ``encrypt_batch`` for the arguments. The batch keeps the messages alive; do
        not change them before the batch has finished.

        Returns:
            The batch. Its results are bytes.

        Raises:
            ValueError: For the same reasons as ``encrypt_batch``.
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
        """Begin to 'encrypt' or 'decrypt' messages in one buffer, with results at the same offsets in another.

        The tags are stored back to back.

        The call returns immediately. The batch keeps all arguments alive; do not change them before the batch has
        finished.

        Args:
            direction: ``encrypt`` or ``decrypt``.
            nonces: A list with one nonce for each message, or one buffer that contains them back to back.
            data: One buffer or tensor with all messages, in host or device memory.
            offsets: The offset of each message in ``data`` and of its result in ``buf``: one 64-bit integer for each
                message.
            lengths: The size of each message in bytes: one 64-bit integer for each message.
            buf: The output, as large as ``data``, in host or device memory. The batch does not run in stream order:
                synchronize every stream that still uses ``data`` or ``buf`` before the call.
            tags: The tags of all messages back to back, in host memory: 16 bytes each, or ``tag_length`` bytes for
                AESCCM. Encryption writes them, decryption reads them.
            associated_data: A list with one entry for each message, one buffer for all messages, or None.
            check_nonces: Whether to reject an encryption if two of its messages have the same nonce.

        Returns:
            The batch. Its results are None.

        Raises:
            ValueError: A message extends past the buffers, a buffer has the wrong size, or a nonce occurs twice.
        """
    @classmethod
    def enqueue_into(
        cls,
        direction: Literal["encrypt", "decrypt"],
        ciphers: Sequence[Self],
        nonces: Sequence[Buffer] | Buffer,
        data: Data,
        offsets: Buffer,
        lengths: Buffer,
        buf: Data,
        tags: Data,
        associated_data: Sequence[Buffer] | Buffer | None = None,
        *,
        statuses: Data | None = None,
        stream: Any = None,
        host: Data | None = None,
        first_copied: int = 0,
        more: bool = False,
    ) -> None:
        """Enqueue messages in device memory on a stream, each under the key of its own object.

        The call returns as soon as the work is enqueued. It copies the keys, and copies nonces, associated data and
        tags if they are in host memory. It does not check whether a nonce occurs twice.

        Args:
            direction: ``encrypt`` or ``decrypt``.
            ciphers: A list with one object of this class for each message.
            nonces: A list with one nonce for each message, or one buffer that contains them back to back.
            data: One buffer or tensor with all messages, in device memory.
            offsets: The offset of each message in ``data`` and of its result in ``buf``: one 64-bit integer for each
                message.
            lengths: The size of each message in bytes: one 64-bit integer for each message.
            buf: The output, as large as ``data``, on the same device. It may be the same memory as ``data``.
            tags: The tags of all messages back to back. Encryption writes them, so they must be on the same device;
                decryption reads them, and they may also be in host memory.
            associated_data: A list with one entry for each message, one buffer for all messages, or None.
            statuses: Only for decryption: an int32 for each message, on the same device. In stream order, it is set to
                0, or to 22 if the message is not authentic; the message's part of ``buf`` is then wiped.
            stream: See ``encrypt_into``.
            host: Page-locked memory as large as ``data``, or None. Encryption also copies the messages of ``buf`` to
                the same offsets of ``host``; decryption first copies them from ``host`` to ``data``. Copies run on
                another stream, at the same time as work on other messages, and ``stream`` waits for them. Do not free
                this memory before.
            first_copied: The number of messages at the beginning that are not copied.
            more: Only with ``host``: ``stream`` does not wait for the copies yet, but at the end of the next call with
                ``host`` and without ``more``.

        Raises:
            TypeError: ``ciphers`` contains an object of a different class.
            ValueError: A message extends past the buffers, a buffer has the wrong size or is in host memory, ``host``
                is not page-locked, or ``statuses`` is missing for decryption or given for encryption.
        """

@final
class AESGCM(_Many):
    """AES-GCM (SP 800-38D) with tags of 16 bytes.

    The class is thread-safe, and an object also works in processes created by ``fork``. It wipes its copy of the key
    when it is destroyed.

    Args:
        key: 16, 24 or 32 bytes.

    Raises:
        ValueError: The key has the wrong length.
    """

    def __new__(cls, key: Buffer) -> Self: ...
    @classmethod
    def load(cls, place: str) -> Self:
        """Read the key from a place and return an object with this key.

        A pickle contains the place, not the key.

        Args:
            place: ``file:PATH``, ``env:NAME``, ``fd:NUMBER`` or ``exec:COMMAND``, which contains or prints the key as
                bytes or hexadecimal digits. A descriptor is read once, and an object loaded from it cannot be pickled.

        Raises:
            ValueError: ``place`` is not in one of these forms, or the key has the wrong length.
            KeysetError: The place contains text that is not a key.
            OSError: The place cannot be read.
        """
    def __reduce__(self) -> tuple[Any, ...]: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, memo: object) -> Self: ...

@final
class AESCCM(_Many):
    """AES-CCM (SP 800-38C) with tags of 4 to 16 bytes.

    See AESGCM for the use with threads and ``fork``.

    Args:
        key: 16, 24 or 32 bytes.
        tag_length: The size of the tag in bytes: 4, 6, 8, 10, 12, 14 or 16.

    Raises:
        ValueError: The key or ``tag_length`` is invalid.
    """

    def __new__(cls, key: Buffer, tag_length: int = 16) -> Self: ...
    @classmethod
    def load(cls, place: str, tag_length: int = 16) -> Self:
        """Read the key from a place and return an object with this key.

        A pickle contains the place, not the key.

        Args:
            place: ``file:PATH``, ``env:NAME``, ``fd:NUMBER`` or ``exec:COMMAND``, which contains or prints the key as
                bytes or hexadecimal digits. A descriptor is read once, and an object loaded from it cannot be pickled.
            tag_length: See the constructor.

        Raises:
            ValueError: ``place`` is not in one of these forms, or the key has the wrong length.
            KeysetError: The place contains text that is not a key.
            OSError: The place cannot be read.
        """
    def __reduce__(self) -> tuple[Any, ...]: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, memo: object) -> Self: ...

@final
class AESGCMSIV(_Single):
    """AES-GCM-SIV (RFC 8452): a repeated nonce reveals only which messages are equal.

    See AESGCM for the use with threads and ``fork``. Tensors in device memory are encrypted on their GPU, but not in
    stream order: the call waits for ``stream``, or for the tensors' current stream, and returns when the result is
    complete. A CUDA graph cannot capture these calls, and ``decrypt_into`` does not accept ``status``.

    Args:
        key: 16 or 32 bytes.

    Raises:
        ValueError: The key has the wrong length.
        UnsupportedAlgorithm: The key is 24 bytes long.
    """

    def __new__(cls, key: Buffer) -> Self: ...
    @classmethod
    def load(cls, place: str) -> Self:
        """Read the key from a place and return an object with this key.

        A pickle contains the place, not the key.

        Args:
            place: ``file:PATH``, ``env:NAME``, ``fd:NUMBER`` or ``exec:COMMAND``, which contains or prints the key as
                bytes or hexadecimal digits. A descriptor is read once, and an object loaded from it cannot be pickled.

        Raises:
            ValueError: ``place`` is not in one of these forms, or the key has the wrong length.
            KeysetError: The place contains text that is not a key.
            OSError: The place cannot be read.
        """
    def __reduce__(self) -> tuple[Any, ...]: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, memo: object) -> Self: ...

@final
class AESSIV:
    """AES-SIV (RFC 5297), with keys of 32, 48 or 64 bytes.

    It runs on CPUs and processes data in host memory. See AESGCM for the use with threads and ``fork``. Without a
    nonce, encryption is deterministic and reveals which messages are equal; to prevent that, pass a nonce as the last
    component of the associated data.

    Args:
        key: Two AES keys of equal length, 32, 48 or 64 bytes in total.

    Raises:
        ValueError: The key has the wrong length.
    """

    def __new__(cls, key: Buffer) -> Self: ...
    @classmethod
    def load(cls, place: str) -> Self:
        """Read the key from a place and return an object with this key.

        A pickle contains the place, not the key.

        Args:
            place: ``file:PATH``, ``env:NAME``, ``fd:NUMBER`` or ``exec:COMMAND``, which contains or prints the key as
                bytes or hexadecimal digits. A descriptor is read once, and an object loaded from it cannot be pickled.

        Raises:
            ValueError: ``place`` is not in one of these forms, or the key has the wrong length.
            KeysetError: The place contains text that is not a key.
            OSError: The place cannot be read.
        """
    def __reduce__(self) -> tuple[Any, ...]: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, memo: object) -> Self: ...
    @staticmethod
    def generate_key(bit_length: int) -> bytes:
        """Return a random key of 256, 384 or 512 bits.

        The key comes from the operating system's random number generator.

        Args:
            bit_length: The size of the key: 256, 384 or 512.

        Returns:
            The key, ``bit_length / 8`` bytes.

        Raises:
            ValueError: ``bit_length`` is not one of these values.
        """
    def encrypt(self, data: Data, associated_data: list[Any] | None) -> bytes:
        """Encrypt data and return the tag followed by the ciphertext, as bytes.

        Args:
            data: The plaintext.
            associated_data: A list of at most 126 components, or None.

        Returns:
            The tag, 16 bytes, followed by ``len(data)`` bytes of ciphertext.

        Raises:
            TypeError: ``associated_data`` is not a list, or an argument is in device memory.
        """
    def decrypt(self, data: Data, associated_data: list[Any] | None) -> bytes:
        """Decrypt a tag followed by its ciphertext and return the plaintext.

        Raises InvalidTag if the ciphertext is not authentic.

        Args:
            data: The tag followed by the ciphertext.
            associated_data: The list of components used for encryption, or None.

        Returns:
            The plaintext.

        Raises:
            InvalidTag: The key or the associated data differ from those used for encryption, or the data was altered.
        """
    def encrypt_into(self, data: Data, associated_data: list[Any] | None, buf: Data) -> int:
        """Encrypt data and write the tag, then the ciphertext, to buf.

        Args:
            data: The plaintext.
            associated_data: See ``encrypt``.
            buf: The output, ``len(data) + 16`` bytes.

        Returns:
            The number of bytes written.

        Raises:
            ValueError: ``buf`` has the wrong length.
        """
    def decrypt_into(self, data: Data, associated_data: list[Any] | None, buf: Data) -> int:
        """Decrypt data into buf.

        Args:
            data: The tag followed by the ciphertext.
            associated_data: See ``decrypt``.
            buf: The output, ``len(data) - 16`` bytes.

        Returns:
            The number of bytes written.

        Raises:
            InvalidTag: The data is not authentic, and ``buf`` is wiped.
            ValueError: ``buf`` has the wrong length.
        """

class _Pieces:
    def update(self, data: Data) -> bytes:
        """Process the next piece and return the output, as bytes.

        Args:
            data: The next piece of the message, in host memory and of any length. In XTS mode, the first piece must
                have at least 16 bytes.

        Returns:
            The output for the part of the message that is complete: in ECB and CBC modes, only complete blocks; in
            other modes, ``len(data)`` bytes.

        Raises:
            AlreadyFinalized: The message has already been finalized.
            ValueError: The mode is XTS, and the first piece is too short.
        """
    def update_into(self, data: Data, buf: Data) -> int:
        """Process the next piece into a buffer and return the number of bytes written.

        Args:
            data: See ``update``.
            buf: The output, at least ``len(data)`` bytes or, in ECB and CBC modes, ``len(data) + 15`` bytes.

        Raises:
            AlreadyFinalized: The message has already been finalized.
            ValueError: ``buf`` is too short.
        """
    def finalize(self) -> bytes:
        """End the message.

        Returns:
            Empty bytes, because ``update`` has already returned all output.

        Raises:
            ValueError: The length of the message is not a multiple of 16 bytes (ECB, CBC), or the tag is missing (GCM
                decryption).
            InvalidTag: The message is not authentic (GCM decryption). Discard all output of ``update``.
            AlreadyFinalized: The message has already been finalized.
        """
    def reset_nonce(self, nonce: Buffer) -> None:
        """Begin another message in CTR mode.

        Args:
            nonce: The first counter block of the next message, 16 bytes.

        Raises:
            UnsupportedAlgorithm: The mode is not CTR.
            ValueError: ``nonce`` has the wrong length.
            AlreadyFinalized: The message has already been finalized.
        """

@final
class CipherContext(_Pieces):
    """A message that is processed in pieces, in a mode without a tag.

    Only one thread at a time may use the context: a call during another thread's call raises Error.
    """

    def seek(self, offset: int) -> None:
        """In CTR mode, continue at byte `offset` of the message.

        Args:
            offset: The position in bytes, 0 or more.

        Raises:
            UnsupportedAlgorithm: The mode is not CTR.
            ValueError: ``offset`` is negative.
        """

@final
class AEADEncryptionContext(_Pieces):
    """A message that is processed in pieces and encrypted with a tag.

    Only one thread at a time may use the context: a call during another thread's call raises Error.
    """

    def authenticate_additional_data(self, data: Data) -> None:
        """Add associated data, before the first call of update.

        Several calls authenticate the concatenation of their data.

        Raises:
            AlreadyUpdated: ``update`` was called before.
            AlreadyFinalized: The message has already been finalized.
        """
    @property
    def tag(self) -> bytes:
        """The message's tag, available once the message is finalized.

        The tag has 16 bytes.

        Raises:
            NotYetFinalized: ``finalize`` has not been called.
        """

@final
class AEADDecryptionContext(_Pieces):
    """A message with a tag that is processed in pieces.

    The output of update is not authentic until finalize has returned.

    Only one thread at a time may use the context: a call during another thread's call raises Error.
    """

    def authenticate_additional_data(self, data: Data) -> None:
        """Add associated data, before the first call of update.

        Several calls authenticate the concatenation of their data.

        Raises:
            AlreadyUpdated: ``update`` was called before.
            AlreadyFinalized: The message has already been finalized.
        """
    def finalize_with_tag(self, tag: Buffer) -> bytes:
        """End the message and compare its tag with the given tag.

        Args:
            tag: The tag, from ``min_tag_length`` of the mode to 16 bytes.

        Raises:
            InvalidTag: The message is not authentic. Discard all output of ``update``.
            ValueError: The tag is too short or too long, or a tag was already passed with the mode.
            AlreadyFinalized: The message has already been finalized.
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

    Only one thread at a time may use the object: a call during another thread's call raises Error.

    Args:
        key: 16, 24 or 32 bytes.

    Raises:
        ValueError: The key has the wrong length.
    """

    def __new__(cls, key: Buffer) -> Self: ...
    def update(self, data: Data) -> None:
        """Process the next bytes of the message.

        Args:
            data: The next piece of the message, in host memory and of any length.

        Raises:
            AlreadyFinalized: The message has already been finalized.
        """
    def finalize(self) -> bytes:
        """End the message and return its tag, 16 bytes.

        Raises:
            AlreadyFinalized: The message has already been finalized.
        """
    def verify(self, signature: Buffer) -> None:
        """Compare the message's tag with a signature. Raises InvalidSignature if they differ.

        The call ends the message. The comparison takes constant time.

        Args:
            signature: The expected tag, 16 bytes.

        Raises:
            InvalidSignature: The message's tag differs from the signature.
            AlreadyFinalized: The message has already been finalized.
        """
    def copy(self) -> Self:
        """Return a copy that continues independently from this point.

        Raises:
            AlreadyFinalized: The message has already been finalized.
        """

def aes_key_wrap(wrapping_key: Buffer, key_to_wrap: Buffer, backend: Any = None) -> bytes:
    """Wrap a key whose length is a multiple of 8 bytes (RFC 3394).

    Args:
        wrapping_key: The key-encryption key, 16, 24 or 32 bytes.
        key_to_wrap: The key to wrap, at least 16 bytes and a multiple of 8 bytes.
        backend: Ignored.

    Returns:
        The wrapped key, ``len(key_to_wrap) + 8`` bytes.

    Raises:
        ValueError: ``wrapping_key`` or ``key_to_wrap`` has the wrong length.
    """

def aes_key_unwrap(wrapping_key: Buffer, wrapped_key: Buffer, backend: Any = None) -> bytes:
    """Unwrap a key (RFC 3394). Raises InvalidUnwrap if the wrapped key is not authentic.

    Args:
        wrapping_key: The key-encryption key, 16, 24 or 32 bytes.
        wrapped_key: The result of ``aes_key_wrap``: at least 24 bytes and a multiple of 8 bytes.
        backend: Ignored.

    Returns:
        The key, ``len(wrapped_key) - 8`` bytes.

    Raises:
        InvalidUnwrap: ``wrapped_key`` is not authentic or has the wrong length.
        ValueError: ``wrapping_key`` has the wrong length.
    """

def aes_key_wrap_with_padding(wrapping_key: Buffer, key_to_wrap: Buffer, backend: Any = None) -> bytes:
    """Wrap a key of any length, padded with zeros to a multiple of 8 bytes (RFC 5649).

    Args:
        wrapping_key: The key-encryption key, 16, 24 or 32 bytes.
        key_to_wrap: The key to wrap, from 1 to 2^32 - 1 bytes.
        backend: Ignored.

    Returns:
        The wrapped key: the padded length plus 8 bytes.

    Raises:
        ValueError: ``wrapping_key`` or ``key_to_wrap`` has the wrong length.
    """

def aes_key_unwrap_with_padding(wrapping_key: Buffer, wrapped_key: Buffer, backend: Any = None) -> bytes:
    """Unwrap a key and remove its padding (RFC 5649). Raises InvalidUnwrap if the wrapped key is not authentic.

    Args:
        wrapping_key: The key-encryption key, 16, 24 or 32 bytes.
        wrapped_key: The result of ``aes_key_wrap_with_padding``: at least 16 bytes and a multiple of 8 bytes.
        backend: Ignored.

    Returns:
        The key, without padding.

    Raises:
        InvalidUnwrap: ``wrapped_key`` is not authentic or has the wrong length.
        ValueError: ``wrapping_key`` has the wrong length.
    """

@final
class Keyset:
    """Keys for files. The primary key encrypts, and all enabled keys decrypt.

    ``Keyset()`` is empty; ``generate``, ``parse`` and ``from_raw`` return a keyset that contains keys. ``len()``
    returns the number of keys. Any number of threads may use a keyset while no thread changes it. A method that changes
    the keyset raises Error while another thread is opening a file with it. The object wipes its keys when it is
    destroyed.
    """

    def __new__(cls) -> Self: ...
    def __len__(self) -> int: ...
    @classmethod
    def generate(cls, template: str = "AES256_GCM_HKDF_1MB") -> Self:
        """Return a keyset with one new random key.

        Args:
            template: A name from ``templates()``.

        Raises:
            ValueError: There is no such template.
        """
    @classmethod
    def parse(cls, json: str | Buffer) -> Self:
        """Parse an unencrypted keyset in Tink's JSON format.

        Args:
            json: The output of ``to_json``, ``warpaes keygen`` or Tink's ``tinkey``.

        Raises:
            KeysetError: The JSON is not an unencrypted keyset. The message does not quote the JSON.
        """
    @classmethod
    def from_raw(cls, template: str, key: Buffer) -> Self:
        """Return a keyset that contains one raw key.

        Args:
            template: A name from ``templates()``.
            key: The key's bytes. For C2SP's templates, the size must be the size of the AES key, 16 or 32 bytes. For
                Tink's templates, the size must be between the size of the AES key and 4096 bytes.

        Raises:
            ValueError: The key has the wrong length, or there is no such template.
        """
    @staticmethod
    def check_raw(key: Buffer) -> None:
        """Raise an exception if a raw key looks like text.

        Call it for bytes that were read from a file, a variable or a program. Fewer than one in 100,000 random 16-byte
        keys look like text, and practically no random 32-byte key does.

        Args:
            key: The bytes, of any length, in host memory.

        Raises:
            KeysetError: The bytes are text: ASCII, UTF-8, UTF-16, UTF-32 or Latin-1, possibly followed by zeros. The
                message does not quote the text.
        """
    @staticmethod
    def templates() -> list[str]:
        """Return the names of the templates.

        There are templates for Tink's streaming AEAD, with Tink's names, and for C2SP's chunked encryption.
        """
    def add(self, template: str) -> int:
        """Add a new random key and return its ID.

        The first key of a keyset becomes the primary.

        Args:
            template: A name from ``templates()``.

        Raises:
            ValueError: There is no such template.
        """
    def rotate(self, template: str | None = None) -> int:
        """Add a new random key, make it the primary and return its ID.

        If the template is None, that of the previous primary is used.

        The previous primary stays in the keyset and still decrypts files.

        Args:
            template: A name from ``templates()``, or None.

        Raises:
            ValueError: ``template`` is None and the keyset has no primary key with a known template, or there is no
                such template.
        """
    def promote(self, key_id: int) -> None:
        """Make a key the primary.

        Args:
            key_id: The key's ID.

        Raises:
            ValueError: The keyset has no such key, or the key is not enabled.
        """
    def remove(self, key_id: int) -> None:
        """Remove a key that is not the primary.

        Files encrypted with the key can no longer be read.

        Args:
            key_id: The key's ID.

        Raises:
            ValueError: The keyset has no such key, or the key is the primary.
        """
    def enable(self, key_id: int) -> None:
        """Enable a key again.

        Args:
            key_id: The key's ID.

        Raises:
            ValueError: The keyset has no such key, or the key is destroyed.
        """
    def disable(self, key_id: int) -> None:
        """Disable a key: it stays in the keyset but is not used.

        Args:
            key_id: The key's ID.

        Raises:
            ValueError: The keyset has no such key, or the key is the primary.
        """
    def destroy(self, key_id: int) -> None:
        """Destroy a key; its ID stays in the keyset.

        Files encrypted with the key can no longer be read.

        Args:
            key_id: The key's ID.

        Raises:
            ValueError: The keyset has no such key, or the key is the primary.
        """
    def keys(self) -> list[KeyInfo]:
        """Return the public properties of the keys, as a list of dictionaries.

        The list contains one KeyInfo for each key, in the order of the keyset.
        """
    @staticmethod
    def load(place: str, kek: str | None = None, passphrase: Callable[[str], str | bytes] | None = None) -> Keyset:
        """Read a keyset from a place.

        A pickle contains the place, not the keys. The keyset cannot be pickled after it was changed, if the place
        contains a descriptor, or if the user is prompted for the passphrase.

        Args:
            place: A path, ``file:PATH``, ``env:NAME``, ``fd:NUMBER`` or ``exec:COMMAND``, which contains or prints the
                keyset's JSON or a raw key. Prefixes: ``passphrase:`` prompts for the passphrase, ``passphrase=PLACE;``
                reads it from a place, and ``kek=PLACE;`` and ``kek-aad=TEXT;`` describe the key-encryption key. See
                docs/keys.md for the grammar.
            kek: The place of the key-encryption key, if ``place`` does not name it.
            passphrase: The function that ``passphrase:`` calls with a prompt; the default prompts on the terminal.

        Raises:
            ValueError: ``place`` is not in one of these forms, or a prompt is needed and there is no terminal.
            KeysetError: The text is not a keyset, or the keyset is not encrypted as the place requires.
            InvalidTag: The passphrase is wrong, or the keyset was altered.
            InvalidUnwrap: The key-encryption key does not decrypt the keyset.
            OSError: The place cannot be read.
        """
    def save(self, place: str, passphrase: Callable[[str], str | bytes] | None = None) -> None:
        """Write the keyset to a new file that only its owner can read.

        Args:
            place: A path, optionally with the prefix ``passphrase:``, ``passphrase=PLACE;`` or ``kek=PLACE;`` to
                encrypt the keyset; see ``load``. Without a prefix, the keyset is stored unencrypted.
            passphrase: See ``load``.

        Raises:
            FileExistsError: The file exists.
            ValueError: ``place`` is not in one of these forms or is not a file, or a prompt is needed and there is no
                terminal.
            KeysetError: A key is for C2SP chunked encryption, which Tink's JSON cannot represent.
            OSError: The file cannot be written.
        """
    @staticmethod
    def _check_wrapped(json: Buffer) -> int: ...
    @classmethod
    def _unwrap(cls, json: Buffer, passphrase: Buffer) -> Self: ...
    def _wrap(self, passphrase: Buffer, seconds: float) -> bytes: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, memo: object) -> Self: ...
    def to_json(self) -> bytes:
        """Return the keyset in Tink's JSON format, including the secret keys, as bytes.

        The keys are not encrypted, so store the JSON only in places that no one else can read.

        Raises:
            KeysetError: A key is for C2SP chunked encryption, which Tink's JSON cannot represent.
        """

@final
class Reader:
    """Random access to a sealed file, given as a path, a buffer, or a function (offset, buffer) and the file's size.

    Any number of threads may read at once. The library may call the function from several of its own threads
    concurrently. If the source is a function (buffer) without a size, or the path of a pipe, the file is read forward,
    by one thread at a time: each read continues after the previous one and may return fewer bytes than requested. An
    empty read means that the end has been reached and authenticated. After an error, every read of such a file
    raises an exception.

    Args:
        source: A path, a buffer, or a function that fills all of ``buffer``, a memoryview, with the file's bytes from
            ``offset``. Without ``size``, the function writes at least one of the next bytes of the file to ``buffer``
            and returns the number of bytes written, or 0 at the end. The memoryview is released when the function
            returns. If a view of a part of the memoryview still exists then, BufferError is raised, so copy data that
            is needed later.
        keyset: The keys. The reader tries the enabled keys on the last segment, which also proves that the file is not
            truncated, or on the first segment if it reads forward.
        associated_data: The associated data that the writer used, or None.
        size: The size of the file in bytes, required for a function (offset, buffer).

    Raises:
        InvalidTag: No key of the keyset opens the file, or the file was altered or truncated.
        FormatError: The file is shorter than any sealed file.
        OSError: The file cannot be read. An exception of the function is raised unchanged.
    """

    def __new__(
        cls,
        source: str | Buffer | Callable[[int, memoryview], object] | Callable[[memoryview], int],
        keyset: Keyset,
        associated_data: Buffer | None = None,
        size: int | None = None,
        *,
        _own: bool = False,
    ) -> Self: ...
    @property
    def size(self) -> int:
        """The size of the plaintext in bytes.

        Raises:
            ValueError: The reader is closed, or reads forward and has not reached the end.
        """
    @property
    def segments(self) -> tuple[int, int]:
        """The plaintext sizes of the first segment and of the others, in bytes. A read opens complete segments."""
    def seekable(self) -> bool:
        """Return whether any offset can be read."""
    def read(self, offset: int, length: int) -> bytes:
        """Read and return bytes at an offset.

        Fewer bytes are returned only at the end, or if the source cannot seek. Only the segments that contain the range
        are read and authenticated.

        Args:
            offset: The first byte of plaintext, 0 or more.
            length: The number of bytes, 0 or more.

        Returns:
            The plaintext. It is empty if ``offset`` is at or past the end.

        Raises:
            InvalidTag: A segment that contains part of the range was altered. Other ranges can still be read.
            ValueError: The reader is closed, or ``offset`` or ``length`` is negative.
        """
    def read_into(self, offset: int, buf: Data) -> int:
        """Fill a buffer or a tensor, starting at an offset, and return the number of bytes.

        The result is less than the size of ``buf`` only at the end of the plaintext, or if the source cannot seek.

        Args:
            offset: The first byte of plaintext, 0 or more.
            buf: A contiguous writable buffer or tensor, in host or device memory.

        Raises:
            InvalidTag: A segment that contains part of the range was altered, and ``buf`` is wiped.
            ValueError: The reader is closed, or ``offset`` is negative or beyond the end.
        """
    def close(self) -> None:
        """Free the reader.

        Reads in progress in other threads still finish, and the last of them frees the reader.
        """

@final
class Writer:
    """Writes a sealed file from front to back, to a path or to a function that receives the pieces in order.

    Only one thread at a time may use the writer: a call during another thread's call raises Error.

    Args:
        sink: A path, where ``finish`` makes the complete file appear, or a function that receives each piece of the
            file, in order, as a memoryview. The memoryview is released when the function returns; see Reader.
        keyset: The keyset whose primary key encrypts.
        associated_data: Data that the reader must also supply. It is not stored in the file.
        overwrite: Whether to replace a file at the path.

    Raises:
        FileExistsError: A file already exists at the path, and ``overwrite`` is False.
        KeysetError: The keyset has no primary key.
    """

    def __new__(
        cls,
        sink: str | Callable[[memoryview], object],
        keyset: Keyset,
        associated_data: Buffer | None = None,
        overwrite: bool = False,
        *,
        _own: bool = False,
    ) -> Self: ...
    def write(self, data: Data) -> int:
        """Write the next bytes of plaintext and return their number.

        Args:
            data: A contiguous buffer or tensor, in host or device memory.

        Raises:
            OSError: The file cannot be written. An exception of the function is raised unchanged.
            ValueError: The writer is finished or aborted.
        """
    def finish(self) -> None:
        """Complete the file. A file at a path appears under its name at this point.

        Raises:
            OSError: The file cannot be written. No file appears at the path.
            ValueError: The writer is finished or aborted.
        """
    def abort(self) -> None:
        """Abort the file. Nothing appears at the path.

        An existing file at the path is not changed.
        """

@final
class Names:
    """Keys for names, derived from the enabled keys of a keyset. ``len()`` returns the number of keys."""

    def __new__(cls, keyset: Keyset) -> Self: ...
    def __len__(self) -> int: ...
    def encrypt(self, folder: bytes, name: bytes, key: int) -> str:
        """Return the encrypted form of a name.

        The result consists of one or more parts joined by ``/``.

        Args:
            folder: The plain path of the folder; empty for the root folder.
            name: The plaintext name.
            key: The index of the key; 0 is the primary key.

        Raises:
            ValueError: The name is not a valid file name, or the key does not exist.
        """
    def decrypt(self, folder: bytes, stored: bytes) -> bytes:
        """Return the plaintext of an encrypted name.

        Args:
            folder: The plain path of the folder.
            stored: The encrypted name.

        Raises:
            FormatError: ``stored`` is not an encrypted name.
            InvalidTag: No key decrypts the name in this folder.
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
    """Fill a buffer or a tensor with random numbers generated from a key.

    Args:
        kind: A value of the C enumeration warpaes_number.
        key: 16, 24 or 32 bytes.
        take: A function that reserves the given number of key-stream bytes, and returns their first counter block.
        buf: The output, contiguous, in host or device memory.
        first: The field of the same name in warpaes_numbers.
        second: The field of the same name in warpaes_numbers.
        low: The field of the same name in warpaes_numbers.
        range: The field of the same name in warpaes_numbers.
        stream: The CUDA stream for device memory; None for the tensor's current stream. The call does not wait for the
            stream.

    Raises:
        ValueError: The key has the wrong length, the length of ``buf`` is not a multiple of a number's size, or a
            parameter is not finite.
    """

def bits(key: Buffer, take: Callable[[int], bytes], length: int) -> bytes:
    """Return bytes of a key's key stream.

    Args:
        key: 16, 24 or 32 bytes.
        take: See ``numbers``.
        length: The number of bytes.

    Raises:
        ValueError: The key has the wrong length.
    """

def parquet_walk(
    modules: Buffer, ctr: bool, dictionary: bool, row_group: int, column: int, first_page: int
) -> list[tuple[int, int]]:
    """Return the sizes of the header module and the page module of each complete page in modules.

    Args:
        modules: Bytes of a column chunk that begin with the header module of a page.
        ctr: Whether pages are encrypted with AES-CTR.
        dictionary: Whether the first page is a dictionary page.
        row_group: The ordinal of the row group.
        column: The ordinal of the column.
        first_page: The ordinal of the first data page.

    Raises:
        FormatError: A module has an invalid length.
        ValueError: An ordinal is above 32,767.
    """

def parquet_decrypt(
    key: Buffer,
    aad: Buffer,
    modules: Buffer,
    buf: Buffer,
    ctr: bool,
    dictionary: bool,
    row_group: int,
    column: int,
    first_page: int,
) -> None:
    """Write the plain view of complete pages to a buffer. The view has the same number of bytes as the pages, and its
    page headers describe unencrypted pages.

    If the call fails, the buffer is wiped.

    Args:
        key: 16, 24 or 32 bytes.
        aad: The AAD prefix followed by aad_file_unique.
        modules: Complete pages of a column chunk.
        buf: The output, as long as ``modules``.
        ctr: Whether pages are encrypted with AES-CTR.
        dictionary: Whether the first page is a dictionary page.
        row_group: The ordinal of the row group.
        column: The ordinal of the column.
        first_page: The ordinal of the first data page.

    Raises:
        InvalidTag: A module is not authentic. The message names the row group, column and page.
        FormatError: A module or a page header is damaged.
        ValueError: The key or the buffer has the wrong length, an ordinal is above 32,767, or the last module is
            truncated.
    """

def parquet_read(
    aad: Buffer,
    descriptor: int,
    window_bytes: int,
    to: Buffer,
    threads: int,
    ctr: bool,
    chunks: list[tuple[bytes, int, int, int, int, bool, int, int, int]],
) -> list[list[int]]:
    """Read complete pages of column chunks from a file, write their plain view to a buffer, and return the sizes of the
    pages of each column chunk.

    Reading of a column chunk stops before a page that does not fit in its part of the buffer, is truncated or has an
    invalid length. If the call fails, all these parts are wiped.

    Args:
        aad: The AAD prefix followed by aad_file_unique.
        descriptor: The file's descriptor.
        window_bytes: The number of ciphertext bytes to read and decrypt at a time, if no page is longer.
        to: The output buffer.
        threads: The maximum number of threads.
        ctr: Whether pages are encrypted with AES-CTR.
        chunks: Nine values for each column chunk: its key; the offset of the first page in the file; the number of
            bytes from there to the end of the chunk; the offset and the size of its part of ``to``; whether the first
            page is the dictionary page; and the ordinals of the row group, the column and the first data page.

    Raises:
        InvalidTag: A module is not authentic.
        FormatError: A module or a page header is damaged.
        OSError: The file cannot be read.
    """

def parquet_move(
    key: Buffer,
    aad: Buffer,
    image: Buffer,
    to: Data,
    offset: int,
    ctr: bool,
    dictionary: bool,
    row_group: int,
    column: int,
    first_page: int,
) -> tuple[int, int]:
    """Decrypt the complete pages in an image of modules into the view's memory, and return their size and number.

    The pages are copied as ciphertext to the view's memory, which may be host or device memory.

    Args:
        key: The column's key.
        aad: The AAD prefix followed by aad_file_unique.
        image: Host memory that contains the modules, preceded by 16 bytes unless pages are encrypted with AES-CTR. It
            is overwritten.
        to: The view's memory.
        offset: The offset in ``to`` of the first page.
        ctr: Whether pages are encrypted with AES-CTR.
        dictionary: Whether the first page is the dictionary page.
        row_group: The ordinal of the row group.
        column: The ordinal of the column.
        first_page: The ordinal of the first data page.

    Returns:
        The total size in bytes of the complete pages in ``image``, and their number.

    Raises:
        InvalidTag: A module is not authentic.
        FormatError: A page header is damaged.
    """

def parquet_enqueue(
    cipher: AESGCM,
    aad: Buffer,
    image: Buffer,
    to: Data,
    offset: int,
    ctr: bool,
    dictionary: bool,
    row_group: int,
    column: int,
    first_page: int,
    statuses: Data,
    first_status: int,
) -> tuple[int, int] | None:
    """Do the same as parquet_move for a device, without waiting for the decryption. Each page gets a status.

    A later ``copy`` by the same thread follows the decryption. Pages that are not authentic are wiped.

    Args:
        cipher: The column's key.
        aad: The AAD prefix followed by aad_file_unique.
        image: See ``parquet_move``.
        to: The view's memory, on a device.
        offset: The offset in ``to`` of the first page.
        ctr: Whether pages are encrypted with AES-CTR.
        dictionary: Whether the first page is the dictionary page.
        row_group: The ordinal of the row group.
        column: The ordinal of the column.
        first_page: The ordinal of the first data page.
        statuses: Memory of the device: a 32-bit integer for each page, 0 if the page is authentic.
        first_status: The index of the first page's status in ``statuses``.

    Returns:
        The total size in bytes of the complete pages in ``image`` and their number, or None if ``statuses`` is too
        small.
    """

def parquet_footer(footer: Buffer) -> tuple[bool, bool, bool, bool, bytes | None, bytes | None, bytes | None, int]:
    """Return the fields of a footer that need no key. The fields are not authenticated.

    Args:
        footer: The end of the file, starting with the footer's first byte.

    Returns:
        Eight values: whether the file is encrypted; whether the footer is plaintext; whether pages are encrypted with
        AES-CTR; whether the AAD prefix must be supplied; the AAD prefix, aad_file_unique and the key metadata, each
        possibly None; and the length of FileMetaData in bytes.

    Raises:
        FormatError: The bytes are not a footer, or the footer is damaged.
    """

def parquet_open_footer(key: Buffer, aad: Buffer, footer: Buffer, length: int) -> bytes:
    """Return FileMetaData, decrypted or verified.

    Args:
        key: The footer key.
        aad: The AAD prefix followed by aad_file_unique.
        footer: The end of the file, starting with the footer's first byte.
        length: The length of FileMetaData, from ``parquet_footer``.

    Raises:
        InvalidTag: The key or the AAD prefix is wrong, or the file was altered.
        FormatError: The footer is damaged, or the file is not encrypted.
    """

def thrift_read(
    data: Buffer, what: str, at: int, list_class: Callable[[int, list[Any]], Any], map_class: Callable[..., Any]
) -> tuple[dict[int, tuple[int, Any]], int]:
    """Return the struct at an offset, as a dictionary, and the offset of its end.

    Args:
        data: Bytes in Thrift's compact protocol.
        what: The name of the bytes in error messages.
        at: The offset of the struct.
        list_class: Makes a list or a set from the type and the list of its elements.
        map_class: Makes a map from the types of keys and values and a list of pairs.

    Raises:
        FormatError: The struct is damaged or nested too deeply.
        ValueError: The offset is past the end.
    """

def thrift_write(fields: dict[int, tuple[int, Any]]) -> bytes:
    """Return the bytes of a struct in Thrift's compact protocol.

    Args:
        fields: The fields, as ``thrift_read`` returns them.

    Raises:
        OverflowError: An integer has more than 64 bits.
        TypeError: A value does not have the Python type of its Thrift type.
        ValueError: A type is unknown.
    """

def parquet_simple_footer(
    data: Buffer, what: str, list_class: Callable[[int, list[Any]], Any], map_class: Callable[..., Any]
) -> tuple[bytes, Any, list[tuple[int | None, list[tuple[int, int | None, int]]]]] | None:
    """Convert FileMetaData of an encrypted file to that of the plain file, if it contains no offset that changes.

    Args:
        data: FileMetaData.
        what: The name of the bytes in error messages.
        list_class: See ``thrift_read``.
        map_class: See ``thrift_read``.

    Returns:
        FileMetaData of the plain file; the schema, as a list; and for each row group, its ordinal and the offset of the
        first data page, the offset of the dictionary page and the length of each column chunk. None unless all column
        chunks are encrypted under the footer's key and have neither an index nor a Bloom filter.

    Raises:
        FormatError: FileMetaData is damaged.
    """

def parquet_buffer(length: int) -> tuple[bytes, memoryview]:
    """Return a new bytes object and a view through which to fill it. Do not share the bytes before they are filled, and
    do not use the view after the bytes are freed.

    Args:
        length: The number of bytes.
    """
