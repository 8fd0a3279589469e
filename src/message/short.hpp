// The fast path for short messages: from the checks straight to the kernel, without a plan, a lane, a lock or an
// allocation.
#pragma once

#include "message/message.hpp"
#include "warpaes/warpaes.h"

namespace warpaes {

struct PlainOutcome {
    const ShortWay* way = nullptr;  ///< null: not done; the checks find the error, or another path takes it
    bool tag_is_right = true;       ///< if false, the output has been wiped
    int input_device = -1;          ///< as in Request; set for a message that was not done
};

/// Carries out a message as the caller describes it, if a few comparisons show that it is plain: in host memory, at
/// least one byte, no flags, no field that its mode does not use, a counter that cannot wrap, buffers disjoint or in
/// place. `key` is the key that `message.key` refers to. Leaves no secrets on the stack or in vector registers. Does
/// not take messages that libcrypto processes, because libcrypto may fail.
PlainOutcome crypt_plain(Engine& engine, const warpaes_message& message, const ExpandedKey& key) noexcept;

/// The same for messages that libcrypto processes. False: nothing was done. Throws libcrypto's failures.
bool crypt_plain_or_fail(Engine& engine, const warpaes_message& message, const ExpandedKey& key, MessageResult& result);

/// Carries out a message that has passed all checks. False: the message does not qualify for this path, and nothing was
/// done. Leaves no secrets on the stack or in vector registers. Thread-safe. Throws libcrypto's failures in a serial
/// mode.
bool crypt_short(Engine& engine, const Request& request, MessageResult& result);

}  // namespace warpaes
