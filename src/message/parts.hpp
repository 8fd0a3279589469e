// Messages without a tag: ranges and padding are split into whole blocks and bytes of single blocks.
#pragma once

#include "message/message.hpp"

namespace warpaes {

/// Processes a checked message without a tag, in memory of any kind. With a stream, enqueues it.
void crypt_parts(Engine& engine, const Request& request, const Places& places, MessageResult& result,
                 std::optional<CallerStream> stream);

}  // namespace warpaes
