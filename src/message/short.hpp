// The short way of a short message: from the checks to the kernel, without a plan, a lane, a lock or an allocation.
#pragma once

#include "message/message.hpp"

namespace warpaes {

/// Carries out a message that has passed all checks. False: it is not one for the short way, and nothing was done.
/// Nothing of it stays on the stack and in vector registers. Thread-safe. Throws Error{AUTHENTICATION}, and what
/// libcrypto fails with in a serial mode.
bool crypt_short(Engine& engine, const MessageRequest& request, MessageResult& result);

/// Blocks through the cipher itself, in place, where no lane is at hand. In host memory.
void run_blocks(const Backend& backend, Direction direction, const ExpandedKey& key, std::span<std::uint8_t> blocks);

}  // namespace warpaes
