// What a backend understands of a batch: messages of any modes, keys and sizes, those of one shape together.
#pragma once

#include <cstdint>
#include <span>

#include "aes/types.hpp"

namespace warpaes {

class ExpandedKey;
class Lane;

/// What each message of a group has of its own: that of message i begins i strides behind the first. With stride 0 all
/// share it.
struct Elements {
    std::uint8_t* first = nullptr;
    std::uint64_t stride = 0;

    [[nodiscard]] std::uint8_t* at(std::uint64_t i) const noexcept { return first + i * stride; }
    [[nodiscard]] Elements from(std::uint64_t i) const noexcept { return {at(i), stride}; }
};

/// `count` messages of one shape: same mode, direction and lengths; key, IV, associated data, data and tag at equal
/// distances. A message of its own kind is a group of one.
///
/// Besides what Run and GcmRun say of the modes: CMAC (SP 800-38B) has no output; it writes tags, and with
/// Direction::decrypt it compares them. GCM takes an IV of any length, CCM (SP 800-38C) one of 7 to 13 bytes, XTS the
/// number of the first data unit, all others 16 bytes, ECB and CMAC none. GCM without data is GMAC.
struct MessageGroup {
    Mode mode;
    Direction direction;
    std::uint64_t count = 1;
    std::uint64_t length = 0;  ///< of each, in bytes; CFB1: in bits
    Elements input;
    Elements output;  ///< equal to the input, or disjoint from all inputs and outputs of the batch
    Elements iv;
    std::uint32_t iv_length = 0;
    std::uint64_t aad_length = 0;
    Elements aad;
    /// GCM, CCM, CMAC: written, or on decryption expected. Nothing is written that lies beyond `tag_length`.
    Elements tag;
    std::uint32_t tag_length = 0;
    /// One key for all; or null, and `key_bytes` bytes for each message at `keys`.
    const ExpandedKey* key = nullptr;
    Elements keys;
    std::uint32_t key_bytes = 0;
    const ExpandedKey* tweak_key = nullptr;  ///< XTS, which has no keys of single messages
    std::uint64_t data_unit = 0;             ///< XTS: as in Run
    /// `count` bytes in host memory, or null. Decryption writes 1 for a message whose tag is wrong, and wipes its
    /// output; nothing for the others.
    std::uint8_t* failed = nullptr;
    /// All that the messages have, `failed` aside, lies on this device; -1: nobody has looked.
    int device = -1;

    /// Messages [first, first + n) of the group.
    [[nodiscard]] MessageGroup slice(std::uint64_t first, std::uint64_t n) const;
    [[nodiscard]] std::uint64_t bytes() const noexcept { return mode == Mode::cfb1 ? (length + 7) / 8 : length; }
    [[nodiscard]] int rounds() const noexcept;
};

/// The end of message `index` of a group whose messages carry tags: writes `tag`, which is the right one, or compares
/// it, and if it is not the one that is there, wipes the output and says so in `failed`. In host memory.
void settle_tag(const MessageGroup& group, std::uint64_t index, const Block& tag);

/// Messages of a group one after the other, each as a Run or a GcmRun of the lane: for modes and sizes that a backend
/// has nothing better for. What it reads and writes lies in host memory.
void run_one_by_one(Lane& lane, const MessageGroup& group);

}  // namespace warpaes
