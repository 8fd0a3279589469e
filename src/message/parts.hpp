// Messages without a tag. Ranges and padding are split into whole blocks and parts of single blocks.
#pragma once

#include "message/message.hpp"

namespace warpaes {

/// Processes a checked message without a tag, in host or device memory. If a stream is given, enqueues the message.
void crypt_parts(Engine& engine, const Request& request, const Places& places, MessageResult& result,
                 std::optional<CallerStream> stream);

}  // namespace warpaes
