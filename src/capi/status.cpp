#include <pthread.h>

#include <array>
#include <cstdio>
#include <cstdlib>

#include "capi/guard.hpp"

namespace warpaes::capi {

namespace {

constexpr std::size_t sentence_bytes = 1024;

/// The thread's last error message. It is a pointer because the library's thread-local variables are in static TLS
/// (clean_stack.hpp), of which a process has only about 1,600 bytes for everything that it loads with dlopen.
constinit thread_local const char* last_error = nullptr;

/// Frees the messages of threads that end.
class Sentences {
public:
    Sentences() noexcept {
        valid_ = pthread_key_create(&key_, [](void* sentence) {
                     last_error = nullptr;
                     std::free(sentence);
                 }) == 0;
    }
    Sentences(const Sentences&) = delete;
    Sentences& operator=(const Sentences&) = delete;
    ~Sentences() {
        if (valid_) pthread_key_delete(key_);
        valid_ = false;
    }
    /// Returns this thread's buffer of `sentence_bytes` bytes; null if no memory is available.
    [[nodiscard]] char* buffer() const noexcept {
        if (!valid_) return nullptr;
        if (void* const its = pthread_getspecific(key_)) return static_cast<char*>(its);
        void* const made = std::malloc(sentence_bytes);
        if (made == nullptr || pthread_setspecific(key_, made) == 0) return static_cast<char*>(made);
        std::free(made);
        return nullptr;
    }

private:
    pthread_key_t key_{};
    bool valid_ = false;
};
Sentences sentences;

}  // namespace

void remember_error(const char* sentence) noexcept {
    char* const buffer = sentences.buffer();
    if (buffer != nullptr) std::snprintf(buffer, sentence_bytes, "%s", sentence);
    last_error = buffer != nullptr
                     ? buffer
                     : "out of host memory; there is not even enough for a message that describes the failure";
}

void remember_static(const char* sentence) noexcept {
    last_error = sentence;
}

void hand_out(std::string_view text, char* to, std::size_t capacity, const char* name, std::size_t* length) {
    *length = text.size();
    if (capacity < text.size()) {
        throw Error(WARPAES_ERROR_BUFFER_TOO_SMALL, std::string(name) + ": needs " + std::to_string(text.size()) +
                                                        " bytes, but the buffer has " + std::to_string(capacity));
    }
    require(to, name);
    std::copy(text.begin(), text.end(), to);
}

void write_error(warpaes_status status, char* error) noexcept {
    std::snprintf(error, WARPAES_ERROR_BYTES, "%.*s", WARPAES_ERROR_BYTES - 1,
                  status == WARPAES_OK ? "" : warpaes_last_error());
}

void refuse_unknown_flags(std::uint32_t flags, std::uint32_t known) {
    if ((flags & ~known) != 0)
        throw Error(WARPAES_ERROR_ARGUMENT, "flags: has bits that this version does not support");
}

Memory checked_memory(warpaes_memory memory) {
    const auto value = static_cast<std::size_t>(memory);
    if (value < memory_kinds.size()) return memory_kinds[value].kind;
    throw Error(WARPAES_ERROR_ARGUMENT, "memory: there is no memory " + std::to_string(static_cast<int>(memory)));
}

}  // namespace warpaes::capi

extern "C" {

const char* warpaes_version(void) {
    return WARPAES_VERSION;
}

uint32_t warpaes_abi_version(void) {
    return WARPAES_ABI_VERSION;
}

const char* warpaes_last_error(void) {
    return warpaes::capi::last_error != nullptr ? warpaes::capi::last_error : "";
}

const char* warpaes_status_message(warpaes_status status) {
    // Indexed by status.
    static constexpr std::array sentences{
        "success",
        "internal error",
        "invalid argument",
        "wrong key length",
        "wrong IV length",
        "data length not a multiple of the block",
        "wrong padding",
        "output buffer too small",
        "input and output overlap",
        "range outside the message",
        "backend not available",
        "out of host memory",
        "out of device memory",
        "CUDA failure",
        "called out of order",
        "cancelled",
        "input not found or not readable",
        "output already exists",
        "input and output are the same file",
        "read failure",
        "write failure",
        "not the expected format",
        "authentication failure: wrong key or associated data, or altered or truncated data",
        "keyset not usable",
        "not finished yet",
        "IV used twice with the same key",
        "parts of the input not authentic; the output has zeros there"};
    static_assert(sentences.size() == WARPAES_ERROR_HOLES + 1);
    const auto value = static_cast<std::size_t>(status);
    return value < sentences.size() ? sentences[value] : "unknown status";
}

}  // extern "C"
