// Who does short messages in host memory: known beforehand, for a plan would cost more than the message.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "backend/short.hpp"

namespace warpaes {

/// The longest message that takes the short way, if it is not worth a GPU before. What a plan and a lane cost, a
/// quarter of a microsecond, is a twentieth of the fastest message of this length.
inline constexpr std::uint64_t longest_short_message = std::uint64_t{64} << 10;

/// Messages of up to `most_bytes` bytes; no function: ask for a plan.
struct ShortWay {
    ShortFunction function = nullptr;
    std::uint64_t most_bytes = 0;
    std::string_view backend = {};
};

/// For every mode, direction and key length.
class ShortWays {
public:
    /// `find(mode, direction, key_bits)` gives a ShortWay.
    template <typename Find>
    explicit ShortWays(const Find& find) {
        for (const Mode mode : modes) {
            for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
                for (const int rounds : {10, 12, 14}) {
                    ways_[index(mode, direction, rounds)] =
                        find(mode, direction, static_cast<unsigned>(32 * (rounds - 6)));
                }
            }
        }
    }

    [[nodiscard]] const ShortWay& of(Mode mode, Direction direction, int rounds) const noexcept {
        return ways_[index(mode, direction, rounds)];
    }

private:
    static std::size_t index(Mode mode, Direction direction, int rounds) noexcept {
        return (2 * static_cast<std::size_t>(mode) + (direction == Direction::encrypt)) * 3 +
               static_cast<std::size_t>(rounds - 10) / 2;
    }

    std::array<ShortWay, mode_values * 2 * 3> ways_{};
};

}  // namespace warpaes
