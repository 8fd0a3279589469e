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
    // What a plain message of the mode is (message/short.hpp); 0 bytes at the most where none is.
    std::uint64_t most_plain_bytes = 0;
    std::uint64_t iv_bytes = 0;
    std::uint32_t some_iv = 0;    ///< 1 if there is one
    std::uint32_t odd_bytes = 0;  ///< bits of a length that must be 0
    std::uint32_t tags = 0;       ///< as in ModeTraits
    bool counts = false;          ///< from the IV on, with all of its bits
    /// Plain messages: none, or whether what does them may fail.
    enum class Plain : std::uint8_t { none, safe, may_fail } plain = Plain::none;
};

/// For every mode, direction and key length.
class ShortWays {
public:
    /// `find(mode, direction, rounds)` gives a ShortWay.
    template <typename Find>
    explicit ShortWays(const Find& find) {
        for (const Mode mode : modes) {
            for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
                for (const int rounds : {10, 12, 14}) {
                    ShortWay& way = ways_[index(mode, direction, rounds)];
                    way = find(mode, direction, rounds);
                    describe_plain(way, mode, direction);
                }
            }
        }
    }

    [[nodiscard]] const ShortWay& of(Mode mode, Direction direction, int rounds) const noexcept {
        return ways_[index(mode, direction, rounds)];
    }

private:
    /// Lengths in bits, and a key for tweaks, are nothing plain.
    static void describe_plain(ShortWay& way, Mode mode, Direction direction) noexcept {
        if (way.function == nullptr || mode == Mode::cfb1 || mode == Mode::xts) return;
        const bool safe = is_parallel(mode, direction) && way.backend != "libcrypto";
        way.plain = safe ? ShortWay::Plain::safe : ShortWay::Plain::may_fail;
        const ModeTraits& traits = traits_of(mode);
        way.most_plain_bytes = way.most_bytes;
        way.iv_bytes = mode == Mode::gcm ? gcm_nonce_bytes : traits.least_iv;
        way.some_iv = way.iv_bytes != 0 ? 1 : 0;
        way.odd_bytes = traits.whole_blocks ? block_bytes - 1 : 0;
        way.counts = mode == Mode::ctr;
        way.tags = traits.tags;
    }

    static std::size_t index(Mode mode, Direction direction, int rounds) noexcept {
        return (2 * static_cast<std::size_t>(mode) + (direction == Direction::encrypt)) * 3 +
               static_cast<std::size_t>(rounds - 10) / 2;
    }

    std::array<ShortWay, mode_values * 2 * 3> ways_{};
};

}  // namespace warpaes
