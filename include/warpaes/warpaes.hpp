// warpaes: AES (FIPS 197) at the speed of the hardware. C++20 over the C ABI: handles that free themselves, spans and
// exceptions. Header only; it uses only warpaes.h, whose rules also apply here:
//
//  - Many threads may use the same Engine or Key at once; only one thread at a time may use a Context.
//  - Buffers may be in pageable, page-locked or device memory, at any alignment. Input and output may be the same
//    buffer; any other overlap is refused.
//  - Lengths and offsets are in bytes unless a name contains "bits".
//  - A child of fork() may use the handles that warpaes.h lists; in the child, all other handles throw
//    Error{WARPAES_ERROR_STATE}.
//  - A call that fails throws Error, which contains a warpaes_status and a message that names the argument.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#if __cplusplus < 202002L
#error "the C++ headers of warpaes require C++20 (-std=c++20); the C header warpaes.h does not"
#endif

#include <warpaes/files.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace warpaes {
// If the library is linked statically, this inline namespace separates these classes from the library's internal
// classes in the same outer namespace.
inline namespace cpp {

/// Thrown by a call that failed.
class Error : public std::runtime_error {
public:
    Error(warpaes_status status, const std::string& sentence) : std::runtime_error(sentence), status_(status) {}
    [[nodiscard]] warpaes_status status() const noexcept { return status_; }

private:
    warpaes_status status_;
};

/// Throws this thread's last error if `status`, which a call has just returned, is not WARPAES_OK.
inline void check(warpaes_status status) {
    if (status != WARPAES_OK) throw Error(status, warpaes_last_error());
}
/// Throws with the message of the call's result if `status` is not WARPAES_OK.
inline void check(warpaes_status status, const char* sentence) {
    if (status != WARPAES_OK) throw Error(status, sentence);
}

namespace detail {
template <auto Function>
struct Calls {
    template <typename Type>
    void operator()(Type* handle) const noexcept {
        Function(handle);
    }
};
/// A handle that `Destroy(handle)` frees.
template <typename Type, auto Destroy>
using Handle = std::unique_ptr<Type, Calls<Destroy>>;

/// Returns the object that `create(arguments…, &made)` created; throws Error if it failed.
template <typename Type, typename Create, typename... Arguments>
Type* made(const Create& create, const Arguments&... arguments) {
    Type* made = nullptr;
    check(create(arguments..., &made));
    return made;
}

struct Free {
    warpaes_engine* engine = nullptr;
    void operator()(void* pointer) const noexcept { warpaes_free(engine, pointer); }
};
}  // namespace detail

// -------------------------------------------------------------------------------------------------------------- bytes

/// A contiguous range of char, unsigned char or std::byte, but not an array of char: for a string literal, it is
/// unclear whether the NUL is part of the data. Use std::string_view for string literals.
template <typename Range>
concept ByteRange =
    std::ranges::contiguous_range<Range> && std::ranges::sized_range<Range> &&
        sizeof(std::ranges::range_value_t<Range>) == 1 &&
    std::is_trivially_copyable_v<std::ranges::range_value_t<Range>> &&
    !std::is_same_v<std::remove_cvref_t<std::remove_all_extents_t<std::remove_reference_t<Range>>>, char>;

/// A writable ByteRange that outlives the expression that names it.
template <typename Range>
concept WritableByteRange = ByteRange<Range> && std::ranges::borrowed_range<Range> &&
    !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<Range>>>;

/// Bytes to read: any ByteRange, or a pointer to memory of any kind with a length. Non-owning.
class ConstBytes {
public:
    ConstBytes() = default;
    ConstBytes(const void* data, std::size_t size) noexcept : data_(data), size_(size) {}
    template <ByteRange Range>
    ConstBytes(const Range& range) noexcept : data_(std::ranges::data(range)), size_(std::ranges::size(range)) {}
    /// A string, without its terminating NUL.
    ConstBytes(const char* text) noexcept : data_(text), size_(std::char_traits<char>::length(text)) {}

    [[nodiscard]] const std::uint8_t* data() const noexcept { return static_cast<const std::uint8_t*>(data_); }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }

private:
    const void* data_ = nullptr;
    std::size_t size_ = 0;
};

/// Bytes to write: any WritableByteRange, or a pointer to memory of any kind with a length. Non-owning.
class Bytes {
public:
    Bytes() = default;
    Bytes(void* data, std::size_t size) noexcept : data_(data), size_(size) {}
    template <WritableByteRange Range>
    Bytes(Range&& range) noexcept : data_(std::ranges::data(range)), size_(std::ranges::size(range)) {}
    operator ConstBytes() const noexcept { return {data_, size_}; }

    [[nodiscard]] std::uint8_t* data() const noexcept { return static_cast<std::uint8_t*>(data_); }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }

private:
    void* data_ = nullptr;
    std::size_t size_ = 0;
};

// -------------------------------------------------------------------------------------------------------------- terms

enum class Mode {
    ecb = WARPAES_ECB,
    cbc = WARPAES_CBC,
    cfb128 = WARPAES_CFB128,
    cfb8 = WARPAES_CFB8,
    cfb1 = WARPAES_CFB1,
    ofb = WARPAES_OFB,
    ctr = WARPAES_CTR,
    xts = WARPAES_XTS,
    gcm = WARPAES_GCM,
    ccm = WARPAES_CCM,
    cmac = WARPAES_CMAC,
    kw = WARPAES_KW,
    kwp = WARPAES_KWP,
    siv = WARPAES_SIV,
    gcm_siv = WARPAES_GCM_SIV
};

enum class Direction { encrypt = WARPAES_ENCRYPT, decrypt = WARPAES_DECRYPT };

struct Range {
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
};

/// An expanded key. Immutable; threads may share it; wiped when destroyed.
class Key {
public:
    /// Expands a copy of `bytes` (16, 24 or 32 bytes). Throws Error{WARPAES_ERROR_KEY_LENGTH}.
    explicit Key(ConstBytes bytes)
        : handle_(detail::made<warpaes_key>(warpaes_key_create, bytes.data(), bytes.size())) {}
    [[nodiscard]] const warpaes_key* get() const noexcept { return handle_.get(); }

private:
    detail::Handle<warpaes_key, warpaes_key_destroy> handle_;
};

/// One complete message. Use designated initialisers: {.mode = Mode::ctr, .key = &key, …}.
struct Message {
    Mode mode{};
    Direction direction{};
    const Key* key = nullptr;
    /// 16 bytes: the IV; for CTR the initial counter block; for XTS the little-endian number of the first data unit.
    /// Empty for ECB and CMAC. GCM: any length, preferably 12 bytes; never use the same IV twice with the same key. KW
    /// and KWP: empty for the standard's check value. SIV: empty if there is no nonce.
    ConstBytes iv{};
    ConstBytes input{};  ///< the complete message, even with `range`
    /// At least as long as the input; for encryption, up to 16 bytes longer with PKCS#7, 8 bytes longer for KW and up
    /// to 15 bytes longer for KWP. With `range`, at least as long as the range.
    Bytes output{};
    bool pkcs7 = false;
    /// Produce only these bytes of the result, and read only the blocks that contain them. Supported by ECB, CTR,
    /// decryption of CBC, CFB128, CFB8 and CFB1, and XTS (in complete data units).
    std::optional<Range> range{};
    /// CFB1: the number of bits of `input` in the message, if the message does not use all bits.
    std::optional<std::uint64_t> input_bits{};
    const Key* tweak_key = nullptr;            ///< XTS: the second key
    std::uint64_t data_unit_len = 0;           ///< XTS: 16 to 2^24 bytes; 0: the complete message is one data unit
    std::uint64_t data_unit_step = 0;          ///< XTS: increment of the number from unit to unit; 0 means 1
    ConstBytes aad{};                          ///< GCM, CCM, SIV, GCM-SIV: associated data
    Bytes tag{};                               ///< written by encryption, read by decryption; GCM: 16 bytes, or 15 …
                                               ///< 12, 8 or 4
    const Key* mac_key = nullptr;              ///< SIV: K1; `key` is K2
    std::span<const warpaes_part> aad_list{};  ///< SIV: components, instead of `aad`
};

/// The outcome of a message.
struct Result {
    std::uint64_t output_len = 0;  ///< in bytes; in bits if `input_bits` is set
    std::uint32_t notes = 0;       ///< WARPAES_NOTE_*
    std::string_view backend{};    ///< the backend that processed the message
    int device = -1;               ///< CUDA device number; -1: the CPU
};

// ------------------------------------------------------------------------------------------------------------- engine

struct EngineOptions {
    /// "libcrypto", "aesni", "vaes", "armv8" or "cuda". Empty: the environment variable WARPAES_BACKEND if it is set,
    /// otherwise the best backend for each call.
    std::string backend{};
    int device = -1;                ///< CUDA device number; -1: every device
    unsigned threads = 0;           ///< 0: one thread per available processor
    unsigned depth = 0;             ///< chunks in flight; 0: the measured default
    std::uint64_t chunk_bytes = 0;  ///< a multiple of 4096; 0: the measured default
};

/// An engine runs all work. Create one engine and share it; it must outlive all objects that are created with it.
class Engine {
public:
    /// Throws Error{WARPAES_ERROR_BACKEND} if the requested backend or device is not available.
    explicit Engine(const EngineOptions& options = {}) {
        warpaes_engine_options raw = WARPAES_ENGINE_OPTIONS_INIT;
        raw.backend = options.backend.empty() ? nullptr : options.backend.c_str();
        raw.device = options.device;
        raw.threads = options.threads;
        raw.depth = options.depth;
        raw.chunk_bytes = options.chunk_bytes;
        char error[WARPAES_ERROR_BYTES];
        raw.error = error;
        warpaes_engine* engine = nullptr;
        check(warpaes_engine_create(&raw, &engine), error);
        handle_.reset(engine);
    }

    /// Encrypts or decrypts and returns when the output is complete. Thread-safe. Throws Error; after
    /// WARPAES_ERROR_PADDING or WARPAES_ERROR_AUTHENTICATION the output is wiped.
    Result crypt(const Message& message) const {
        const warpaes_message raw = to_c(message);
        warpaes_result result = WARPAES_RESULT_INIT;
        check(warpaes_crypt(get(), &raw, &result), result.error);
        return result_of(result);
    }

    /// Enqueues work on buffers in device memory on `cuda_stream` (a cudaStream_t of the buffers' device) and returns.
    /// The output is complete when the stream has completed the work. PKCS#7 is refused. The key may be destroyed after
    /// the call. For modes with a tag, only encryption is supported, because Message has no device_status;
    /// warpaes_crypt_async describes where the tag must be. Thread-safe.
    Result crypt_async(const Message& message, void* cuda_stream = nullptr) const {
        const warpaes_message raw = to_c(message);
        warpaes_result result = WARPAES_RESULT_INIT;
        check(warpaes_crypt_async(get(), &raw, cuda_stream, &result), result.error);
        return result_of(result);
    }

    /// Copies `from.size()` bytes between any two kinds of memory; the copy is complete on return. Throws
    /// Error{WARPAES_ERROR_BUFFER_TOO_SMALL} if `to` is shorter than `from`.
    void copy(Bytes to, ConstBytes from) const {
        if (to.size() < from.size()) throw Error(WARPAES_ERROR_BUFFER_TOO_SMALL, "to: is shorter than from");
        check(warpaes_copy(get(), to.data(), from.data(), from.size()));
    }

    /// Wipes the keys that batches keep for later batches, in host memory and on GPUs. Without this call, a key that no
    /// batch has used for ten seconds is wiped. Thread-safe.
    void flush_keys() const { check(warpaes_engine_flush_keys(get())); }

    [[nodiscard]] warpaes_engine* get() const noexcept { return handle_.get(); }

private:
    static warpaes_message to_c(const Message& message) {
        warpaes_message raw = WARPAES_MESSAGE_INIT;
        raw.mode = static_cast<warpaes_mode>(message.mode);
        raw.direction = static_cast<warpaes_direction>(message.direction);
        raw.key = message.key != nullptr ? message.key->get() : nullptr;
        raw.iv = message.iv.data();
        raw.iv_len = message.iv.size();
        raw.input = message.input.data();
        raw.input_len = message.input.size();
        raw.output = message.output.data();
        raw.output_capacity = message.output.size();
        raw.tweak_key = message.tweak_key != nullptr ? message.tweak_key->get() : nullptr;
        raw.data_unit_len = message.data_unit_len;
        raw.data_unit_step = message.data_unit_step;
        raw.aad = message.aad.data();
        raw.aad_len = message.aad.size();
        raw.tag = message.tag.data();
        raw.tag_len = message.tag.size();
        raw.mac_key = message.mac_key != nullptr ? message.mac_key->get() : nullptr;
        raw.aad_list = message.aad_list.data();
        raw.aad_count = message.aad_list.size();
        if (message.pkcs7) raw.flags |= WARPAES_PKCS7;
        if (message.range) {
            raw.flags |= WARPAES_RANGE;
            raw.range_offset = message.range->offset;
            raw.range_len = message.range->length;
        }
        if (message.input_bits) {
            if (*message.input_bits / 8 > message.input.size() ||
                (*message.input_bits + 7) / 8 > message.input.size()) {
                throw Error(WARPAES_ERROR_ARGUMENT, "input_bits: more than the bits of input");
            }
            raw.flags |= WARPAES_LENGTH_IN_BITS;
            raw.input_len = *message.input_bits;
        }
        return raw;
    }
    static Result result_of(const warpaes_result& raw) {
        return {raw.output_len, raw.notes, raw.backend != nullptr ? raw.backend : "", raw.device};
    }

    detail::Handle<warpaes_engine, warpaes_engine_destroy> handle_;
};

/// One backend on this machine, or one of its devices.
struct BackendInfo {
    std::string name, description;
    std::string reason{};  ///< why the backend cannot run here; empty if it can
    bool usable = false;
    int device = -1;
    int multiprocessors = 0;
    std::uint64_t memory_bytes = 0;
};

/// Returns first the CPU backends, ending with the best, then the CUDA devices. Thread-safe.
inline std::vector<BackendInfo> backends() {
    std::vector<BackendInfo> list;
    for (std::size_t i = 0; i < warpaes_backend_count(); ++i) {
        warpaes_backend_info raw{};
        raw.struct_size = sizeof raw;
        check(warpaes_backend_query(i, &raw));
        list.push_back({raw.name, raw.description, raw.reason, raw.usable != 0, raw.device, raw.multiprocessors,
                        raw.memory_bytes});
    }
    return list;
}

// ---------------------------------------------------------------------------------------------------- complete message

namespace detail {
inline Message message_of(Mode mode, Direction direction, const Key& key, ConstBytes iv, ConstBytes input,
                          Bytes output) {
    Message message;
    message.mode = mode;
    message.direction = direction;
    message.key = &key;
    message.iv = iv;
    message.input = input;
    message.output = output;
    return message;
}

inline std::vector<std::uint8_t> crypt(const Engine& engine, Mode mode, Direction direction, const Key& key,
                                       ConstBytes iv, ConstBytes input, bool pkcs7) {
    const bool grows = pkcs7 && direction == Direction::encrypt;
    std::vector<std::uint8_t> output(input.size() + (grows ? 16 : 0));
    Message message = message_of(mode, direction, key, iv, input, output);
    message.pkcs7 = pkcs7;
    output.resize(static_cast<std::size_t>(engine.crypt(message).output_len));
    return output;
}
}  // namespace detail

/// Returns the ciphertext of `input`. With `pkcs7`, the input is padded (ECB, CBC). Thread-safe. Throws Error.
inline std::vector<std::uint8_t> encrypt(const Engine& engine, Mode mode, const Key& key, ConstBytes iv,
                                         ConstBytes input, bool pkcs7 = false) {
    return detail::crypt(engine, mode, Direction::encrypt, key, iv, input, pkcs7);
}

/// Returns the plaintext of `input`. With `pkcs7`, the padding is checked and removed. Thread-safe. Throws Error.
inline std::vector<std::uint8_t> decrypt(const Engine& engine, Mode mode, const Key& key, ConstBytes iv,
                                         ConstBytes input, bool pkcs7 = false) {
    return detail::crypt(engine, mode, Direction::decrypt, key, iv, input, pkcs7);
}

// ------------------------------------------------------------------------------------------------------------ context

/// A message that arrives in pieces of any size. Only one thread at a time may use a Context. A copy continues
/// independently.
class Context {
public:
    explicit Context(const Engine& engine)
        : handle_(detail::made<warpaes_context>(warpaes_context_create, engine.get())) {}
    Context(const Context& other) : handle_(detail::made<warpaes_context>(warpaes_context_copy, other.get())) {}
    Context& operator=(const Context& other) { return *this = Context(other); }
    Context(Context&&) noexcept = default;
    Context& operator=(Context&&) noexcept = default;
    ~Context() = default;

    /// Starts a message. `key` must outlive the message. If `iv` is empty, set_iv starts the message.
    void init(Mode mode, Direction direction, const Key& key, ConstBytes iv, bool pkcs7 = false) {
        warpaes_context_options options = WARPAES_CONTEXT_OPTIONS_INIT;
        options.mode = static_cast<warpaes_mode>(mode);
        options.direction = static_cast<warpaes_direction>(direction);
        options.key = key.get();
        options.iv = iv.data();
        options.iv_len = iv.size();
        options.flags = pkcs7 ? WARPAES_PKCS7 : 0;
        init(options);
    }
    /// Starts a message with options that the overload above does not support, such as those of XTS and CCM.
    void init(const warpaes_context_options& options) { check(warpaes_context_init(get(), &options)); }
    /// Sets a new key; XTS also requires its second key. set_iv starts the next message.
    void set_key(const Key& key, const Key* tweak_key = nullptr) {
        check(warpaes_context_set_key(get(), key.get(), tweak_key != nullptr ? tweak_key->get() : nullptr));
    }
    /// Starts another message with the same mode, direction and key.
    void set_iv(ConstBytes iv) { check(warpaes_context_set_iv(get(), iv.data(), iv.size())); }
    /// The current IV, 16 bytes, from which another context can continue.
    [[nodiscard]] std::vector<std::uint8_t> iv() const {
        std::vector<std::uint8_t> now(16);
        check(warpaes_context_get_iv(get(), now.data()));
        return now;
    }
    /// Processes all of `input` and returns the number of bytes written: for ECB and CBC up to 15 more than the input
    /// (16 with padding), for XTS complete data units. A call that throws consumes nothing.
    std::size_t update(ConstBytes input, Bytes output) {
        std::size_t written = 0;
        check(warpaes_context_update(get(), input.data(), input.size(), output.data(), output.size(), &written));
        return written;
    }
    /// Ends the message. Returns the number of bytes written, which are padding or buffered plaintext: up to 16 (XTS:
    /// less than a data unit).
    std::size_t final(Bytes output = {}) {
        std::size_t written = 0;
        check(warpaes_context_final(get(), output.data(), output.size(), &written));
        return written;
    }
    /// CTR: moves to byte `offset` of the message.
    void seek(std::uint64_t offset) { check(warpaes_context_seek(get(), offset)); }

    /// GCM, CCM: adds associated data; must be called before any text is processed.
    void aad(ConstBytes bytes) { check(warpaes_context_aad(get(), bytes.data(), bytes.size())); }
    /// GCM, CCM, CMAC encryption, after final: writes the tag, truncated to the length of `tag`.
    void get_tag(Bytes tag) const { check(warpaes_context_get_tag(get(), tag.data(), tag.size())); }
    /// GCM, CCM, CMAC decryption, before final: sets the expected tag. The output of the updates is authentic only
    /// after final has returned without an exception.
    void set_tag(ConstBytes tag) { check(warpaes_context_set_tag(get(), tag.data(), tag.size())); }

    [[nodiscard]] warpaes_context* get() const noexcept { return handle_.get(); }

private:
    detail::Handle<warpaes_context, warpaes_context_destroy> handle_;
};

// ------------------------------------------------------------------------------------------------------------- memory

/// Page-locked memory, which a GPU can copy to and from at full speed. Wiped when released. The engine must outlive the
/// buffer.
class HostBuffer {
public:
    HostBuffer(const Engine& engine, std::size_t bytes) : size_(bytes) {
        void* const pointer = detail::made<void>(warpaes_alloc, engine.get(), WARPAES_MEMORY_PAGE_LOCKED, 0, bytes);
        memory_ = {static_cast<std::uint8_t*>(pointer), {engine.get()}};
    }
    [[nodiscard]] std::uint8_t* data() const noexcept { return memory_.get(); }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] std::uint8_t* begin() const noexcept { return data(); }
    [[nodiscard]] std::uint8_t* end() const noexcept { return data() + size_; }

private:
    std::unique_ptr<std::uint8_t[], detail::Free> memory_;
    std::size_t size_;
};

/// Memory of CUDA device `device`, for callers that do not use CUDA directly. Wiped when released. The engine must
/// outlive the buffer.
class DeviceBuffer {
public:
    /// Throws Error{WARPAES_ERROR_BACKEND} or Error{WARPAES_ERROR_DEVICE_MEMORY}.
    DeviceBuffer(const Engine& engine, int device, std::size_t bytes) : size_(bytes) {
        memory_ = {detail::made<void>(warpaes_alloc, engine.get(), WARPAES_MEMORY_DEVICE, device, bytes),
                   {engine.get()}};
    }
    /// The host cannot access these bytes directly; use Engine::copy.
    [[nodiscard]] Bytes bytes() const noexcept { return {memory_.get(), size_}; }

private:
    std::unique_ptr<void, detail::Free> memory_;
    std::size_t size_;
};

// -------------------------------------------------------------------------------------------------------------- files

/// A file to encrypt or decrypt. With `key`, the file contains only ciphertext; with `passphrase`, it has the format of
/// `openssl enc`.
struct FileJob {
    Mode mode = Mode::ctr;
    Direction direction{};
    std::string input{}, output{};  ///< paths
    const Key* key = nullptr;
    ConstBytes iv{};
    std::string_view passphrase{};
    unsigned key_bits = 256;       ///< with a passphrase: 128, 192 or 256
    std::uint32_t iterations = 0;  ///< PBKDF2 iterations; 0: 10000, as in openssl
    bool pkcs7 = false;            ///< ECB, CBC
    bool overwrite = false;
    std::optional<Range> range{};  ///< produce only these bytes of the result
    /// Called at intervals with the number of bytes done and the total (WARPAES_UNKNOWN for a pipe). Returning false
    /// cancels the job. An exception also cancels the job, and run_file rethrows it.
    std::function<bool(std::uint64_t done, std::uint64_t total)> progress{};
};

struct FileResult {
    std::uint64_t bytes_read = 0;
    std::uint64_t bytes_written = 0;
    std::uint32_t notes = 0;  ///< WARPAES_NOTE_*
    std::string_view backend{};
    int device = -1;
};

/// Runs the job and returns when the output is complete and visible under its name. If the call throws, there is no
/// output file. Thread-safe.
inline FileResult run_file(const Engine& engine, const FileJob& job) {
    struct Progress {
        const FileJob* job;
        std::exception_ptr thrown;
    } state{&job, {}};

    warpaes_file_job raw = WARPAES_FILE_JOB_INIT;
    raw.mode = static_cast<warpaes_mode>(job.mode);
    raw.direction = static_cast<warpaes_direction>(job.direction);
    raw.input_path = job.input.c_str();
    raw.output_path = job.output.c_str();
    if (job.key != nullptr) {
        raw.format = WARPAES_FORMAT_RAW;
        raw.key = job.key->get();
        raw.iv = job.iv.data();
        raw.iv_len = job.iv.size();
    } else {
        raw.format = WARPAES_FORMAT_OPENSSL_ENC;
        raw.key_bits = job.key_bits;
        raw.iterations = job.iterations;
        raw.passphrase = job.passphrase.data();
        raw.passphrase_len = job.passphrase.size();
    }
    if (job.pkcs7) raw.flags |= WARPAES_FILE_PKCS7;
    if (job.overwrite) raw.flags |= WARPAES_FILE_OVERWRITE;
    if (job.range) {
        if (job.range->length == 0) throw Error(WARPAES_ERROR_RANGE, "range: is empty");
        raw.flags |= WARPAES_FILE_RANGE;
        raw.range_first = job.range->offset;
        raw.range_last = job.range->offset + (job.range->length - 1);
    }
    if (job.progress) {
        raw.progress = [](void* user, std::uint64_t done, std::uint64_t total) noexcept -> int {
            auto* progress = static_cast<Progress*>(user);
            try {
                return progress->job->progress(done, total) ? 0 : 1;
            } catch (...) {
                progress->thrown = std::current_exception();
                return 1;
            }
        };
        raw.progress_user = &state;
    }
    warpaes_file_result result = WARPAES_FILE_RESULT_INIT;
    const warpaes_status status = warpaes_file_run(engine.get(), &raw, &result);
    if (state.thrown) std::rethrow_exception(state.thrown);
    check(status, result.error);
    return {result.bytes_read, result.bytes_written, result.notes, result.backend, result.device};
}

}  // namespace cpp
}  // namespace warpaes
