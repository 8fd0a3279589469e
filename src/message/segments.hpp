// Many AES-GCM messages of one key at equal distances in memory, as one batch.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/engine.hpp"

namespace warpaes {

/// See warpaes_segments in the C ABI, whose fields these are. Strides of 0: without gaps.
struct SegmentsRequest {
    Direction direction;
    const ExpandedKey* key;
    const std::uint8_t* nonces;
    std::uint64_t count;
    std::uint64_t segment_bytes;
    std::uint64_t last_bytes;
    const std::uint8_t* aad;
    std::uint64_t aad_bytes;
    const std::uint8_t* input;
    std::uint8_t* output;
    std::uint64_t plaintext_stride;
    std::uint64_t ciphertext_stride;
    std::uint8_t* tags;  ///< null: inline
};

struct SegmentsResult {
    std::uint64_t failures = 0;
    std::uint64_t first_failure = 0;
    std::string_view backend;
    int device = -1;
    std::uint32_t notes = 0;
};

/// Throws Error{AUTHENTICATION} when all segments have been processed and some are not authentic; `result` is set then
/// too. Thread-safe.
void crypt_segments(Engine& engine, const SegmentsRequest& request, SegmentsResult& result);

}  // namespace warpaes
