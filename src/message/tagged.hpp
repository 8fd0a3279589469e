// Messages with tags in memory: GCM (SP 800-38D), CCM (SP 800-38C), CMAC (SP 800-38B).
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "aes/ghash.hpp"
#include "base/error.hpp"
#include "engine/engine.hpp"
#include "engine/run/executor.hpp"
#include "message/message.hpp"

namespace warpaes {

/// The pre-counter block J0 for any GCM `iv` in host memory. Throws Error{IV_LENGTH}.
Block pre_counter(Engine& engine, const ExpandedKey& key, std::span<const std::uint8_t> iv);

/// The digest (MessageGroup::digest) of `bytes` bytes in memory of any kind, read after the work that is already on
/// their device's default stream. `ran`: receives the outcome, unless the bytes are so few that this thread hashes them
/// itself.
FieldElement gcm_digest(Engine& engine, const ExpandedKey& key, const std::uint8_t* data, std::uint64_t bytes,
                        Outcome* ran = nullptr);

inline constexpr Refusal wrong_tag{
    WARPAES_ERROR_AUTHENTICATION,
    "tag: is wrong: wrong key, wrong IV, wrong associated data, or data that was altered"};

/// `crypt` for modes with tags, after all checks; with a stream, `crypt_async`.
void crypt_tagged(Engine& engine, const Request& request, MessageResult& result, std::optional<CallerStream> stream);

}  // namespace warpaes
