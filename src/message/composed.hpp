// Messages of modes that are composed of other modes; each message is processed as a whole. The CPU processes the
// blocks; data in device memory is copied to host memory and back. GCM-SIV is the exception: if its text is in device
// memory, the GPU processes it there.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>

#include "engine/run/chunk_owners.hpp"
#include "engine/run/group.hpp"
#include "message/message.hpp"

namespace warpaes {

/// Implements `crypt` for a composed mode, after all checks.
void crypt_composed(Engine& engine, const Request& request, const Places& places, MessageResult& result);

/// A checked message in host memory, or with its text on `device`, and the CPU backend of `plan`, which processes the
/// message.
struct ComposedMessage {
    Engine& engine;
    const Plan& plan;
    Mode mode;
    Direction direction;
    const ExpandedKey& key;
    const ExpandedKey* mac_key;  ///< SIV
    std::span<const std::uint8_t> iv;
    const std::uint8_t* input;
    std::uint64_t length;  ///< bytes of the input
    std::uint8_t* output;
    std::span<const std::span<const std::uint8_t>> aad;
    Block& tag;                     ///< output of encryption; expected value of decryption
    int device;                     ///< device that contains input and output; -1: host memory
    ChunkOwners* owners = nullptr;  ///< records which thread decrypted which chunk

    [[nodiscard]] bool encrypts() const noexcept { return direction == Direction::encrypt; }
    [[nodiscard]] std::span<const std::uint8_t> text(const std::uint8_t* data) const noexcept {
        return {data, static_cast<std::size_t>(length)};
    }
    /// Returns the chunk size that takes about as long as a chunk of CTR.
    [[nodiscard]] std::uint64_t chunk_bytes() const;
    [[nodiscard]] std::uint64_t chunks() const { return length / chunk_bytes() + (length % chunk_bytes() != 0); }

    /// Calls `work(lane, chunk, first byte, bytes)` for each chunk of the message, in parallel if that is faster.
    template <typename Work>
    void for_each_chunk(const Work& work) const {
        const std::uint64_t chunk = chunk_bytes();
        for_each_part(engine, plan, chunks(), [&](Lane& lane, std::uint64_t i) {
            if (owners != nullptr) owners->note(i);
            work(lane, i, i * chunk, std::min(chunk, length - i * chunk));
        });
    }
};

/// These functions return the length of the output, or nothing if a decrypted message is not authentic.
std::optional<std::uint64_t> crypt_key_wrap(const ComposedMessage& message);  // KW and KWP
std::optional<std::uint64_t> crypt_siv(const ComposedMessage& message);
std::optional<std::uint64_t> crypt_gcm_siv(const ComposedMessage& message);

}  // namespace warpaes
