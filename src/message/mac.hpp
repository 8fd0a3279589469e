// CCM (SP 800-38C) and CMAC (SP 800-38B) of a message in memory. Both chain block after block, so a message is one
// piece of work for one lane.
#pragma once

#include "engine/engine.hpp"
#include "message/message.hpp"

namespace warpaes {

/// Throws Error{IV_LENGTH, ARGUMENT, DATA_LENGTH, OVERLAP} if it is no message of CCM or CMAC.
void check_mac(const MessageRequest& request);

/// `crypt` for CCM and CMAC, after all checks.
void crypt_mac(Engine& engine, const MessageRequest& request, MessageResult& result);

}  // namespace warpaes
