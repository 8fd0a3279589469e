// The fast path for short messages: from the checks directly to the kernel, without a plan, a lane, a lock or an
// allocation.
#pragma once

#include "message/message.hpp"
#include "warpaes/warpaes.h"

namespace warpaes {

struct PlainOutcome {
    const ShortWay* way =
        nullptr;  ///< null: not processed; the checks will find the error, or another path will process the message
    bool tag_is_right = true;  ///< if false, the output has been wiped
    int input_device = -1;     ///< as in Request; set for a message that was not processed
};

/// Processes a message as the caller describes it, if a few comparisons show that it is plain: in host memory, at least
/// one byte, no flags, no field that its mode does not use, a counter that cannot wrap, and buffers that are disjoint
/// or in place. `key` is the key that `message.key` refers to. Leaves no secrets on the stack or in vector registers.
/// Messages that libcrypto would process are not processed here, because libcrypto may fail.
PlainOutcome crypt_plain(Engine& engine, const warpaes_message& message, const ExpandedKey& key) noexcept;

/// Like crypt_plain(), for messages that libcrypto processes. Returns false if nothing was done. Throws if libcrypto
/// fails.
bool crypt_plain_or_fail(Engine& engine, const warpaes_message& message, const ExpandedKey& key, MessageResult& result);

/// Processes a message that has passed all checks. Returns false, without doing anything, if the message does not
/// qualify for this path. Leaves no secrets on the stack or in vector registers. Thread-safe. Throws if libcrypto fails
/// in a serial mode.
bool crypt_short(Engine& engine, const Request& request, MessageResult& result);

}  // namespace warpaes
