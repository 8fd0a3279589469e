// AES-GCM of a message that arrives in pieces of any size.
#pragma once

#include <cstdint>
#include <span>

#include "aes/ghash.hpp"
#include "base/secret.hpp"
#include "engine/engine.hpp"

namespace warpaes {

/// First the associated data, then the text, then the tag. Copyable; a copy goes on independently. After an exception
/// only a copy made before is worth anything.
class GcmStream {
public:
    GcmStream() = default;
    GcmStream(Engine& engine, const ExpandedKey& key, Direction direction, std::span<const std::uint8_t> iv);

    /// Throws Error{STATE} once there was text.
    void aad(const std::uint8_t* data, std::uint64_t length);
    /// `output`: equal to `input` or disjoint.
    void update(const std::uint8_t* input, std::uint64_t length, std::uint8_t* output);
    /// The tag of what has gone by.
    [[nodiscard]] Secret<Block> tag() const;

private:
    struct State {
        Block j0{};
        bool public_counters = false;  ///< J0 follows from an IV of 12 bytes
        FieldElement digest;           ///< of all whole blocks so far, those of the associated data first
        std::uint64_t aad_bytes = 0;
        std::uint64_t text_bytes = 0;
        Block partial{};     ///< the block in hand of associated data or ciphertext, zeros behind what is there
        Block key_stream{};  ///< for the block in hand of the text
        // Pieces are often equally long.
        std::uint64_t blocks = 0;
        FieldElement power;  ///< H^blocks
    };

    [[nodiscard]] FieldElement h() const { return key_->hash_key().powers[0]; }
    /// Takes `n` bytes into the block in hand, which holds `used`; a full block is hashed.
    void take(const std::uint8_t* bytes, std::size_t used, std::size_t n);
    /// The last block of the associated data or of the text, if it is partial, filled up with zeros.
    static void close_block(State& state, std::uint64_t bytes, FieldElement h);
    /// Appends the digest of `blocks` whole blocks.
    void append(FieldElement digest, std::uint64_t blocks);
    void next_key_stream_block();

    Engine* engine_ = nullptr;
    const ExpandedKey* key_ = nullptr;
    Direction direction_ = Direction::encrypt;
    Secret<State> state_;
};

}  // namespace warpaes
