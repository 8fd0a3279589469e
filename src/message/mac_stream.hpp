// CMAC (SP 800-38B) and the CBC-MAC of CCM (SP 800-38C) for data that arrives in pieces of any size.
#pragma once

#include <cstdint>
#include <span>

#include "base/secret.hpp"
#include "engine/run/executor.hpp"

namespace warpaes {

/// Copyable; a copy continues independently. After an exception the object is unusable: keep a copy made before the
/// call.
class MacStream {
public:
    MacStream() = default;
    MacStream(Engine& engine, const ExpandedKey& key) : engine_(&engine), key_(&key) {}

    /// Takes the next bytes, in memory of any kind.
    void update(const std::uint8_t* data, std::uint64_t length);
    /// CCM: pads with zeros to the next whole block.
    void fill_block();
    /// The chaining value after all blocks. The current block counts as whole, so call fill_block() first.
    [[nodiscard]] Secret<Block> chain() const;
    /// CMAC: the tag of everything processed so far.
    [[nodiscard]] Secret<Block> cmac() const;

private:
    /// Continues from the state, for about `bytes` more bytes.
    auto mac(std::uint64_t bytes) const;

    Engine* engine_ = nullptr;
    const ExpandedKey* key_ = nullptr;
    Secret<MacState> state_;
};

/// The CCM MAC for a message whose lengths are known in advance: it authenticates the lengths, the associated data and
/// the text, and returns the tag.
class CcmStream {
public:
    struct Lengths {
        std::uint64_t text = 0, aad = 0, tag = 0;
    };

    CcmStream() = default;
    /// Throws Error{IV_LENGTH, DATA_LENGTH, ARGUMENT} if `nonce` and the lengths do not match.
    CcmStream(Engine& engine, const ExpandedKey& key, std::span<const std::uint8_t> nonce, const Lengths& lengths);

    /// Throws Error{STATE} after the first byte of text, and Error{DATA_LENGTH} for more data than announced.
    void aad(const std::uint8_t* data, std::uint64_t length);
    /// Takes the next bytes of plaintext. Throws Error{STATE} if associated data is missing, and Error{DATA_LENGTH} for
    /// more text than announced.
    void text(const std::uint8_t* data, std::uint64_t length);
    /// Throws the same exceptions as text() with `length` bytes.
    void check_text(std::uint64_t length) const;
    /// The full tag; the message's tag is its first bytes. Throws Error{DATA_LENGTH} if text is missing, and
    /// Error{STATE} if associated data is.
    [[nodiscard]] Secret<Block> tag() const;
    /// The counter block for the first block of text.
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
