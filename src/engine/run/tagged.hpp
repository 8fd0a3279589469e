// Messages with tags in memory: GCM (SP 800-38D), CCM (SP 800-38C), CMAC (SP 800-38B).
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "aes/ghash.hpp"
#include "engine/run/executor.hpp"

namespace warpaes {

/// The pre-counter block J0 for any GCM `iv` in host memory.
Block pre_counter(Engine& engine, const ExpandedKey& key, std::span<const std::uint8_t> iv);

/// The digest (MessageGroup::digest) of `bytes` bytes in memory of any kind, read after the work that is already on
/// their device's default stream. `ran`: receives the outcome, unless the bytes are so few that this thread hashes them
/// itself.
FieldElement gcm_digest(Engine& engine, const ExpandedKey& key, const std::uint8_t* data, std::uint64_t bytes,
                        Outcome* ran = nullptr);

struct TaggedOutcome : Outcome {
    bool authentic = true;  ///< false: decrypted, the tag is wrong, and the output has been wiped
};

/// Runs a checked message with a tag, whose parts lie in memory of any kind. With a stream, enqueues it and returns
/// without waiting. `input_device` as for Executor.
TaggedOutcome run_tagged(Engine& engine, const MessageGroup& message, std::optional<CallerStream> stream,
                         int input_device = -1);

}  // namespace warpaes
