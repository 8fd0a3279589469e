// A message that arrives in pieces of any size, in whole units: blocks of ECB and CBC, data units of XTS (IEEE 1619).
// Whole ones go by, the rest waits.
#pragma once

#include <cstdint>
#include <span>

#include "base/secret.hpp"
#include "engine/engine.hpp"

namespace warpaes {

/// Copyable; a copy goes on independently. After an exception only a copy made before is worth anything.
class UnitStream {
public:
    UnitStream() = default;
    /// `shape`: mode, direction and keys; of XTS its data units, of 0 bytes: the whole message is one, and comes in one
    /// piece. `chain`: before the first, of XTS its number. `holds_back`: what may be the last unit waits.
    UnitStream(Engine& engine, const MessageGroup& shape, const Block& chain, bool holds_back)
        : engine_(&engine), shape_(shape), chain_(chain), holds_back_(holds_back) {}

    /// What update() with `length` bytes writes. Throws Error{STATE, DATA_LENGTH}.
    [[nodiscard]] std::uint64_t output_of(std::uint64_t length) const;
    /// `output`: equal to `input` or disjoint, and room for what output_of() says.
    void update(const std::uint8_t* input, std::uint64_t length, std::uint8_t* output);
    /// Of a unit that is not there as a whole, or held back.
    [[nodiscard]] std::span<const std::uint8_t> waiting() const noexcept { return waiting_; }
    /// XTS: the last data unit, if any waits. Throws Error{DATA_LENGTH}.
    void final(std::uint8_t* output);
    /// Before the next unit. Throws Error{STATE} amid one.
    [[nodiscard]] Block chain() const;
    /// One more block of ECB or CBC, the last, in the caller's own memory, where `like` is in memory of any kind.
    void last_block(const Block& in, Block& out, std::uint8_t* like) const;

private:
    [[nodiscard]] std::uint64_t unit() const noexcept {
        return shape_.mode == Mode::xts ? shape_.data_units.bytes : block_bytes;
    }
    void run(const std::uint8_t* input, std::uint64_t length, std::uint8_t* output);

    Engine* engine_ = nullptr;
    MessageGroup shape_{};
    Block chain_{};
    bool holds_back_ = false;
    bool ended_ = false;    ///< the only data unit, or a shorter one, has gone by
    SecretVector waiting_;  ///< of the unit in hand
};

}  // namespace warpaes
