// XTS (IEEE 1619) of a message that arrives in pieces of any size: whole data units go by, the rest waits.
#pragma once

#include <cstdint>

#include "base/secret.hpp"
#include "engine/engine.hpp"

namespace warpaes {

/// Copyable; a copy goes on independently. After an exception only a copy made before is worth anything.
class UnitStream {
public:
    UnitStream() = default;
    /// `units`: of 0 bytes: the whole message is one, and comes in one piece. `number`: of the first.
    UnitStream(Engine& engine, const ExpandedKey& key, const ExpandedKey& tweak_key, Direction direction,
               const DataUnits& units, const Block& number);

    /// What update() with `length` bytes writes. Throws Error{STATE, DATA_LENGTH}.
    [[nodiscard]] std::uint64_t output_of(std::uint64_t length) const;
    /// `output`: equal to `input` or disjoint, and room for what output_of() says.
    void update(const std::uint8_t* input, std::uint64_t length, std::uint8_t* output);
    /// Bytes that wait: of the last data unit, if it is a shorter one.
    [[nodiscard]] std::uint64_t waiting() const noexcept { return waiting_.size(); }
    /// The last data unit, if any waits. Throws Error{DATA_LENGTH}.
    void final(std::uint8_t* output);
    /// That of the next data unit. Throws Error{STATE} amid one.
    [[nodiscard]] Block number() const;

private:
    void run(const std::uint8_t* input, std::uint64_t length, std::uint8_t* output);

    Engine* engine_ = nullptr;
    const ExpandedKey* key_ = nullptr;
    const ExpandedKey* tweak_key_ = nullptr;
    Direction direction_ = Direction::encrypt;
    DataUnits units_{};
    Block number_{};
    bool ended_ = false;    ///< the only data unit, or a shorter one, has gone by
    SecretVector waiting_;  ///< of the data unit in hand
};

}  // namespace warpaes
