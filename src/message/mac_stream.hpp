// CMAC (SP 800-38B) and the CBC-MAC of CCM (SP 800-38C) of data that arrives in pieces of any size.
#pragma once

#include <cstdint>
#include <span>

#include "base/secret.hpp"
#include "engine/engine.hpp"

namespace warpaes {

/// Copyable; a copy goes on independently. After an exception only a copy made before is worth anything.
class MacStream {
public:
    MacStream() = default;
    MacStream(Engine& engine, const ExpandedKey& key) : engine_(&engine), key_(&key) {}

    /// The next bytes, in memory of any kind.
    void update(const std::uint8_t* data, std::uint64_t length);
    /// CCM: zeros up to the next whole block.
    void fill_block();
    /// The chaining value after all blocks, the block in hand as it is being a whole one.
    [[nodiscard]] Secret<Block> chain() const;
    /// CMAC: the tag of what has gone by.
    [[nodiscard]] Secret<Block> cmac() const;

private:
    struct State {
        Block chain{};
        Block partial{};       ///< the block in hand: the last one, which CMAC treats in its own way, is held back
        std::size_t used = 0;  ///< bytes of it
    };

    void add_blocks(State& state, const std::uint8_t* data, std::uint64_t bytes) const;
    void encrypt(const Block& in, Block& out) const;

    Engine* engine_ = nullptr;
    const ExpandedKey* key_ = nullptr;
    Secret<State> state_;
};

/// CCM of a message whose lengths are known beforehand: what its MAC takes besides the text, and the tag.
class CcmStream {
public:
    struct Lengths {
        std::uint64_t text = 0, aad = 0, tag = 0;
    };

    CcmStream() = default;
    /// Throws Error{IV_LENGTH, DATA_LENGTH, ARGUMENT} if `nonce` and lengths do not go together.
    CcmStream(Engine& engine, const ExpandedKey& key, std::span<const std::uint8_t> nonce, const Lengths& lengths);

    /// Throws Error{STATE} once there was text, and Error{DATA_LENGTH} for more than was announced.
    void aad(const std::uint8_t* data, std::uint64_t length);
    /// The next bytes of plaintext. Throws Error{STATE} if associated data are missing, Error{DATA_LENGTH}.
    void text(const std::uint8_t* data, std::uint64_t length);
    /// Whether `length` bytes may follow; throws what text() would.
    void check_text(std::uint64_t length) const;
    /// The tag; its first bytes are the message's. Throws Error{DATA_LENGTH} if something is missing.
    [[nodiscard]] Secret<Block> tag() const;
    /// The counter block that the text begins with.
    [[nodiscard]] Block first_counter() const;
    [[nodiscard]] const Lengths& lengths() const noexcept { return lengths_; }

private:
    MacStream mac_;
    Engine* engine_ = nullptr;
    const ExpandedKey* key_ = nullptr;
    Lengths lengths_;
    Block counter0_{};
    std::uint64_t aad_bytes_ = 0, text_bytes_ = 0;
};

}  // namespace warpaes
