// One whole message in memory: checks it, cuts it to the requested range, pads it and hands it to a backend.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/error.hpp"
#include "engine/engine.hpp"
#include "engine/pipeline/memory.hpp"

namespace warpaes {

struct Range {
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
};

/// The fields of warpaes_message in the C ABI, which documents them.
struct MessageRequest {
    Mode mode;
    Direction direction;
    const ExpandedKey* key;
    std::span<const std::uint8_t> iv;
    const std::uint8_t* input;
    std::uint64_t input_length;  ///< bytes; bits with `length_in_bits`
    std::uint8_t* output;
    std::uint64_t output_capacity;  ///< bytes
    std::optional<Range> range;
    bool pkcs7 = false;
    bool length_in_bits = false;
    // GCM, CCM, CMAC:
    const std::uint8_t* aad = nullptr;
    std::uint64_t aad_length = 0;
    std::uint8_t* tag = nullptr;
    std::uint64_t tag_length = 0;
    // XTS:
    const ExpandedKey* tweak_key = nullptr;
    std::uint64_t data_unit_length = 0;  ///< 0: the whole message is one unit
    std::uint64_t data_unit_step = 0;    ///< 0 stands for 1
    // Where decryption with a tag stores its status for a caller who does not wait:
    std::int32_t* device_status = nullptr;
    int input_device = -1;  ///< device where the input lies; -1: none, or not yet known
};

struct MessageResult : Outcome {
    std::uint64_t output_length = 0;  ///< bytes; bits with `length_in_bits`
    Refusal refusal{};                ///< of decrypted data; the output has been wiped
};

/// The stream of a caller who does not wait (crypt_async).
struct CallerStream {
    void* stream = nullptr;
};

/// Processes the message. Sets `result.output_length` before it throws Error{BUFFER_TOO_SMALL}, and `result.refusal`
/// instead of throwing Error{AUTHENTICATION, PADDING}. Leaves no secrets on the stack. Thread-safe.
void crypt(Engine& engine, const MessageRequest& request, MessageResult& result);
/// Enqueues the message on `stream` and returns without waiting.
void crypt_async(Engine& engine, const MessageRequest& request, MessageResult& result, CallerStream stream);

/// Returns the IV as a block. Throws Error{IV_LENGTH} unless `mode` accepts `iv`; ECB takes none and gets zeros. Not
/// for modes with tags, whose IV is not a block.
Block checked_iv(Mode mode, std::span<const std::uint8_t> iv);

[[noreturn]] void refuse_overlap();

/// Throws Error{OVERLAP} if the two buffers overlap without being the same buffer.
inline void check_overlap(const std::uint8_t* input, std::uint64_t input_bytes, const std::uint8_t* output,
                          std::uint64_t output_bytes) {
    if (input != output && overlap(input, input_bytes, output, output_bytes)) refuse_overlap();
}

}  // namespace warpaes
