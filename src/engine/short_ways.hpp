// The backend for each kind of short message in host memory. It is chosen in advance, because making a plan would cost
// more than processing the message.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "backend/backend.hpp"

namespace warpaes {

/// The longest message on the short path, unless a GPU may be worthwhile for a shorter message. A plan and a lane cost
/// a quarter of a microsecond, a twentieth of the time of the fastest message of this length.
inline constexpr std::uint64_t longest_short_message = std::uint64_t{64} << 10;

/// The function for messages of up to `most_bytes` bytes; if there is no function, a plan must be made.
struct ShortWay {
    ShortFunction function = nullptr;
    std::uint64_t most_bytes = 0;
    std::string_view backend = {};
    // The properties of a plain message in this mode (message/short.hpp); most_plain_bytes is 0 if the mode has no
    // plain messages.
    std::uint64_t most_plain_bytes = 0;
    std::uint64_t iv_bytes = 0;
    std::uint32_t some_iv = 0;    ///< 1 if the mode has an IV
    std::uint32_t odd_bytes = 0;  ///< length bits that must be 0
    std::uint32_t tags = 0;       ///< as in ModeTraits
    bool counts = false;          ///< whether the mode counts up from the IV, using all of its bits
    /// Whether the mode has plain messages, and whether their function may fail.
    enum class Plain : std::uint8_t { none, safe, may_fail } plain = Plain::none;
};

/// The short paths for every mode, direction and key length.
class ShortWays {
public:
    /// `find(mode, direction, rounds)` returns a ShortWay.
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
    /// CFB1 has no plain messages because its lengths are in bits, and XTS has none because it requires a tweak key.
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

/// Returns the round keys of the cipher, for ShortMessage.
inline const std::uint8_t* round_keys_of(const ExpandedKey& key) {
    return reinterpret_cast<const std::uint8_t*>(key.encrypt().words.data());
}

/// Runs blocks in host memory through the block cipher, in place, if no lane is available.
inline void run_blocks(const Backend& backend, Direction direction, const ExpandedKey& key,
                       std::span<std::uint8_t> blocks) {
    (void)backend.short_function(Mode::ecb, direction, key.rounds())({.mode = Mode::ecb,
                                                                      .direction = direction,
                                                                      .key = &key,
                                                                      .round_keys = round_keys_of(key),
                                                                      .iv = nullptr,
                                                                      .input = blocks.data(),
                                                                      .output = blocks.data(),
                                                                      .length = blocks.size()});
}

}  // namespace warpaes
