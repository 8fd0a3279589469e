// Messages with tags in memory: GCM (SP 800-38D), CCM (SP 800-38C), CMAC (SP 800-38B).
#pragma once

#include <optional>

#include "engine/run/executor.hpp"

namespace warpaes {

struct TaggedOutcome : Outcome {
    bool authentic = true;  ///< false: decrypted, the tag is wrong, and the output has been wiped
};

/// Runs a checked message with a tag, whose buffers are in memory of any kind. With a stream, enqueues it and returns
/// without waiting.
TaggedOutcome run_tagged(Engine& engine, const MessageGroup& message, const Places& places,
                         std::optional<CallerStream> stream);

}  // namespace warpaes
