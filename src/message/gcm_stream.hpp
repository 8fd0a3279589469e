// AES-GCM for a message that arrives in pieces of any size.
#pragma once

#include <cstdint>
#include <span>

#include "aes/ghash.hpp"
#include "base/secret.hpp"
#include "engine/engine.hpp"

namespace warpaes {

/// Processes the associated data first, then the text, and finally returns the tag. Copyable; a copy continues
/// independently. After an exception the object is unusable: keep a copy made before the call.
class GcmStream {
public:
    GcmStream() = default;
    GcmStream(Engine& engine, const ExpandedKey& key, Direction direction, std::span<const std::uint8_t> iv);

    /// Throws Error{STATE} after the first byte of text.
    void aad(const std::uint8_t* data, std::uint64_t length);
    /// `output` is equal to `input` or disjoint from it.
    void update(const std::uint8_t* input, std::uint64_t length, std::uint8_t* output);
    /// Returns the tag of all data processed so far.
    [[nodiscard]] Secret<Block> tag() const;

private:
    struct State {
        Block j0{};
        bool public_counters = false;  ///< J0 comes from an IV of 12 bytes, so the counters are not secret
        FieldElement digest;           ///< GHASH of all whole blocks so far, beginning with the associated data
        std::uint64_t aad_bytes = 0;
        std::uint64_t text_bytes = 0;
        Block partial{};     ///< the incomplete block of associated data or ciphertext, padded with zeros
        Block key_stream{};  ///< key stream for the incomplete block of text
        // H^blocks of the last piece is kept, because consecutive pieces often have the same length.
        std::uint64_t blocks = 0;
        FieldElement power;  ///< H^blocks
    };

    [[nodiscard]] FieldElement h() const { return key_->hash_key().powers[0]; }
    /// Adds `n` bytes to the current block, which contains `used` bytes, and hashes the block once it is full.
    void take(const std::uint8_t* bytes, std::size_t used, std::size_t n);
    /// Hashes the last block of the associated data or of the text, padded with zeros, if it is incomplete.
    static void close_block(State& state, std::uint64_t bytes, FieldElement h);
    /// Appends the digest of `blocks` whole blocks to the running digest.
    void append(FieldElement digest, std::uint64_t blocks);
    void next_key_stream_block();

    Engine* engine_ = nullptr;
    const ExpandedKey* key_ = nullptr;
    Direction direction_ = Direction::encrypt;
    Secret<State> state_;
};

}  // namespace warpaes
