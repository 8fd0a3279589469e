// The short way of a short message: from the checks to the kernel, without a plan, a lane, a lock or an allocation.
#pragma once

#include "message/message.hpp"
#include "warpaes/warpaes.h"

namespace warpaes {

struct PlainOutcome {
    const ShortWay* way = nullptr;  ///< null: nothing was done; the checks say what is wrong, or another way is for it
    bool tag_is_right = true;       ///< if not, the output is wiped
    int input_device = -1;          ///< as in MessageRequest, of a message that was not done
};

/// A message as the caller describes it, if a look shows that it is plain: in host memory, at least a byte, no flags,
/// nothing that its mode has no use for, a counter that does not end, buffers apart or in place. `message.key` is
/// `key`. Nothing of it stays on the stack and in vector registers. Nothing is done of a message that libcrypto is to
/// do.
PlainOutcome crypt_plain(Engine& engine, const warpaes_message& message, const ExpandedKey& key) noexcept;

/// Does those. Throws Error{AUTHENTICATION} and what libcrypto fails with.
bool crypt_plain_or_fail(Engine& engine, const warpaes_message& message, const ExpandedKey& key, MessageResult& result);

/// Carries out a message that has passed all checks. False: it is not one for the short way, and nothing was done.
/// Nothing of it stays on the stack and in vector registers. Thread-safe. Throws Error{AUTHENTICATION}, and what
/// libcrypto fails with in a serial mode.
bool crypt_short(Engine& engine, const MessageRequest& request, MessageResult& result);

/// Blocks through the cipher itself, in place, where no lane is at hand. In host memory.
void run_blocks(const Backend& backend, Direction direction, const ExpandedKey& key, std::span<std::uint8_t> blocks);

}  // namespace warpaes
