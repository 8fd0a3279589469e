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

    /// Processes the next bytes, in memory of any kind.
    void update(const std::uint8_t* data, std::uint64_t length);
    /// CCM: pads the data with zeros to a whole number of blocks.
    void fill_block();
    /// Returns the chaining value after all blocks. The current block counts as whole, so call fill_block() first.
    [[nodiscard]] Secret<Block> chain() const;
    /// Returns the CMAC tag of all data processed so far.
    [[nodiscard]] Secret<Block> cmac() const;

private:
    /// Returns an object that continues from the state, for about `bytes` more bytes.
    auto mac(std::uint64_t bytes) const;

    Engine* engine_ = nullptr;
    const ExpandedKey* key_ = nullptr;
    Secret<MacState> state_;
};

/// The MAC of CCM for a message whose lengths are known in advance. It authenticates the lengths, the associated data
/// and the text.
class CcmStream {
public:
    struct Lengths {
        std::uint64_t text = 0, aad = 0, tag = 0;
    };

    CcmStream() = default;
    /// Throws Error{IV_LENGTH}, Error{DATA_LENGTH} or Error{ARGUMENT} if `nonce` and the lengths are not compatible.
    CcmStream(Engine& engine, const ExpandedKey& key, std::span<const std::uint8_t> nonce, const Lengths& lengths);

    /// Throws Error{STATE} after the first byte of text, and Error{DATA_LENGTH} if there is more data than announced.
    void aad(const std::uint8_t* data, std::uint64_t length);
    /// Processes the next bytes of plaintext. Throws Error{STATE} if associated data is missing, and Error{DATA_LENGTH}
    /// if there is more text than announced.
    void text(const std::uint8_t* data, std::uint64_t length);
    /// Throws the exceptions that text() would throw for `length` bytes.
    void check_text(std::uint64_t length) const;
    /// Returns the full tag; the message's tag is a prefix of it. Throws Error{DATA_LENGTH} if text is missing, and
    /// Error{STATE} if associated data is missing.
    [[nodiscard]] Secret<Block> tag() const;
    /// Returns the counter block for the first block of text.
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
