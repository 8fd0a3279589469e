// One whole message in memory: checks the message, limits it to the requested range, pads it and passes it to a
// backend.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/error.hpp"
#include "engine/engine.hpp"
#include "engine/pipeline/memory.hpp"
#include "engine/run/executor.hpp"
#include "warpaes/warpaes.h"

namespace warpaes {

struct Range {
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
};

/// One message as its caller describes it (warpaes_message in the C ABI): a one-message group, and the fields that a
/// group lacks. For XTS, `message.data_units` is as the caller specified it: 0 bytes mean that the whole message is one
/// unit, and a step of 0 means 1.
struct Request {
    MessageGroup message;
    std::uint64_t output_capacity = 0;  ///< bytes
    std::optional<Range> range{};
    bool pkcs7 = false;
    int input_device = -1;  ///< device that contains the input; -1: none, or unknown
    // SIV:
    const ExpandedKey* mac_key = nullptr;
    std::span<const warpaes_part> aad_list{};  ///< components, instead of `message.aad`
};

struct MessageResult : Outcome {
    std::uint64_t output_length = 0;  ///< bytes
    Refusal refusal{};                ///< fault in decrypted data; the output has been wiped
};

/// Processes the message. Sets `result.output_length` before throwing Error{BUFFER_TOO_SMALL}. Reports AUTHENTICATION
/// and PADDING failures in `result.refusal` instead of throwing. Leaves no secrets on the stack. Thread-safe.
void crypt(Engine& engine, const Request& request, MessageResult& result);
/// Enqueues the message on `stream` and returns without waiting.
void crypt_async(Engine& engine, const Request& request, MessageResult& result, CallerStream stream);

/// Processes a checked message without a tag, in host or device memory. If a stream is given, enqueues the message.
/// Ranges and padding are split into whole blocks and parts of single blocks.
void crypt_parts(Engine& engine, const Request& request, const Places& places, MessageResult& result,
                 std::optional<CallerStream> stream);

/// Returns the IV as a block. Throws Error{IV_LENGTH} unless `mode` accepts `iv`. Returns zeros for ECB, which has no
/// IV. Not for modes with tags, whose IV is not a block.
Block checked_iv(Mode mode, std::span<const std::uint8_t> iv);

[[noreturn]] void refuse_overlap();

/// Throws Error{OVERLAP} if the two buffers overlap but are not the same buffer.
inline void check_overlap(const std::uint8_t* input, std::uint64_t input_bytes, const std::uint8_t* output,
                          std::uint64_t output_bytes) {
    if (input != output && overlap(input, input_bytes, output, output_bytes)) refuse_overlap();
}

}  // namespace warpaes
