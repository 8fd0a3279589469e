// One whole message in memory: checked, cut to the range asked for, padded, and handed to a backend.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "engine/engine.hpp"
#include "engine/pipeline/memory.hpp"

namespace warpaes {

struct Range {
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
};

/// See warpaes_message in the C ABI, whose fields these are.
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
    std::uint64_t data_unit_length = 0;  ///< 0: all of the message
    std::uint64_t data_unit_step = 0;    ///< 0: 1
    // What decryption with a tag tells a caller who does not wait:
    std::int32_t* device_status = nullptr;
    int input_device = -1;  ///< that the input lies on; -1: none, or nobody has looked
};

struct MessageResult : Outcome {
    std::uint64_t output_length = 0;  ///< bytes; bits with `length_in_bits`
};

/// The stream of a caller who does not wait.
struct CallerStream {
    void* stream = nullptr;
};

/// Processes the message. `result.output_length` is set before Error{BUFFER_TOO_SMALL} is thrown. Nothing of it stays
/// on the stack. Thread-safe.
void crypt(Engine& engine, const MessageRequest& request, MessageResult& result);
/// The same, but only enqueues it.
void crypt_async(Engine& engine, const MessageRequest& request, MessageResult& result, CallerStream stream);

/// Throws Error{IV_LENGTH} unless `iv` is what `mode` takes; for ECB, which takes none, gives zeros. Not for modes with
/// tags, whose IV is no block.
Block checked_iv(Mode mode, std::span<const std::uint8_t> iv);

[[noreturn]] void refuse_overlap();

/// Throws Error{OVERLAP} if the two buffers overlap without being the same.
inline void check_overlap(const std::uint8_t* input, std::uint64_t input_bytes, const std::uint8_t* output,
                          std::uint64_t output_bytes) {
    if (input != output && overlap(input, input_bytes, output, output_bytes)) refuse_overlap();
}

}  // namespace warpaes
