// A message that arrives in pieces of any size but is processed in whole units: blocks of ECB and CBC, or data units of
// XTS (IEEE 1619). Whole units are processed immediately; the rest is buffered.
#pragma once

#include <cstdint>
#include <span>

#include "base/secret.hpp"
#include "engine/engine.hpp"

namespace warpaes {

/// Copyable; a copy continues independently. After an exception the object is unusable: keep a copy made before the
/// call.
class UnitStream {
public:
    UnitStream() = default;
    /// `shape` contains the mode, direction and keys, and for XTS also the data units: 0 bytes mean that the whole
    /// message is one unit and arrives in one piece. `chain` is the chaining value before the first unit, or for XTS
    /// the first unit's number. `holds_back` means that a unit that may be the last is held back.
    UnitStream(Engine& engine, const MessageGroup& shape, const Block& chain, bool holds_back)
        : engine_(&engine), shape_(shape), chain_(chain), holds_back_(holds_back) {}

    /// Returns the number of bytes that update() writes for `length` bytes of input. Throws Error{STATE} or
    /// Error{DATA_LENGTH}.
    [[nodiscard]] std::uint64_t output_of(std::uint64_t length) const;
    /// `output` is equal to `input` or disjoint from it, and has room for output_of(length) bytes.
    void update(const std::uint8_t* input, std::uint64_t length, std::uint8_t* output);
    /// Returns the input of a unit that is incomplete or held back.
    [[nodiscard]] std::span<const std::uint8_t> waiting() const noexcept { return waiting_; }
    /// XTS: processes the last data unit, if any input is waiting. Throws Error{DATA_LENGTH}.
    void final(std::uint8_t* output);
    /// Returns the chaining value before the next unit. Throws Error{STATE} in the middle of a unit.
    [[nodiscard]] Block chain() const;
    /// Processes the last block of ECB or CBC, in host memory. The memory that contains `like` determines the backend.
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
    bool ended_ = false;    ///< whether the message's only data unit has been processed
    SecretVector waiting_;  ///< input of the current unit
};

}  // namespace warpaes
