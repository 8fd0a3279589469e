// The one description of work: messages of one shape.
#pragma once

#include <cstdint>
#include <span>

#include "aes/ghash.hpp"
#include "aes/types.hpp"

namespace warpaes {

class ExpandedKey;

/// What each message of a group has of its own: that of message i begins i strides behind the first. With stride 0 all
/// share it.
struct Elements {
    std::uint8_t* first = nullptr;
    std::uint64_t stride = 0;

    /// What is only read.
    [[nodiscard]] static Elements of(const void* first, std::uint64_t stride = 0) noexcept {
        return {const_cast<std::uint8_t*>(static_cast<const std::uint8_t*>(first)), stride};
    }
    [[nodiscard]] std::uint8_t* at(std::uint64_t i) const noexcept { return first + i * stride; }
    [[nodiscard]] Elements from(std::uint64_t i) const noexcept { return {at(i), stride}; }
};

/// `count` messages of one shape: same mode, direction and lengths; key, IV, associated data, data and tag at equal
/// distances. A buffer is a group of one, and so is a stretch of a longer message, whose `iv` is the chaining value
/// before it: IV, counter, or previous ciphertext (for CFB8 and CFB1 the shift register). It is not changed: see
/// engine/chain.hpp.
///
/// ECB and CBC: whole blocks. CTR, OFB, CFB128: any length, but a stretch that does not end on a block boundary is the
/// last one of its message. CFB8: any number of bytes. CFB1: `length` counts bits; full bytes unless it is the last.
/// XTS: `iv` is the number of the first data unit, a little-endian number that grows from unit to unit (IEEE 1619,
/// 5.1); whole units, of which the last of a message may be shorter; none is shorter than 16 bytes. GCM takes an
/// IV of any length, CCM (SP 800-38C) one of 7 to 13 bytes, ECB and CMAC none, all others 16 bytes. CMAC (SP 800-38B)
/// has no output; it writes tags, and with Direction::decrypt it compares them. GCM without data is GMAC.
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
    DataUnits data_units{};                  ///< XTS
    /// XTS, in host memory: the encrypted numbers of its data units, if somebody has made them already.
    const Block* tweaks = nullptr;
    /// GCM, in host memory, of a single message if its IV has not 12 bytes: the pre-counter block J0 (SP 800-38D, 7.1),
    /// if somebody has made it already; `iv` is then not read.
    const Block* j0 = nullptr;
    /// GCM, in host memory: the digest of the associated data of all messages, if somebody has made it already; `aad`
    /// is then not read.
    const Block* aad_digest = nullptr;
    /// GCM: a stretch of a message. `digest`, in host memory, gets the digest of its ciphertext, filled up with zeros
    /// to whole blocks; there is no tag. It begins with the message's block `first_block`. Without an output the input
    /// is only hashed, as associated data is. GHASH is linear: the sum over the blocks of a message can be cut
    /// anywhere, each part starting from zero, and put together as `part * H^(blocks after it)` (aes/ghash.hpp).
    Block* digest = nullptr;
    std::uint64_t first_block = 0;
    /// `count` bytes in host memory, or null. Decryption writes 1 for a message whose tag is wrong, and wipes its
    /// output; nothing for the others.
    std::uint8_t* failed = nullptr;
    /// On a caller's stream, in memory of the messages' device, or null: `count` values of warpaes_status. Decryption
    /// writes of each message whether it is authentic.
    std::int32_t* statuses = nullptr;
    /// All that the messages have, `failed` aside, lies on this device; -1: nobody has looked.
    int device = -1;
    /// A lane may work on input and output as they lie: a GPU's on its own memory, on page-locked memory or on few
    /// bytes. IV, J0 and associated data lie in host memory then, tags anywhere.
    bool direct = false;
    /// A stretch of a message that is larger than the caches, and not in place: nothing of it stays there.
    bool beyond_caches = false;

    /// Messages [first, first + n) of the group.
    [[nodiscard]] MessageGroup slice(std::uint64_t first, std::uint64_t n) const;
    [[nodiscard]] std::uint64_t bytes() const noexcept { return mode == Mode::cfb1 ? (length + 7) / 8 : length; }
    [[nodiscard]] int rounds() const noexcept;
};

/// A stretch of a message, as a group: `chain` and the key must outlive it.
[[nodiscard]] MessageGroup stretch_of(Mode mode, Direction direction, const ExpandedKey& key, const Block& chain,
                                      const std::uint8_t* input, std::uint8_t* output, std::uint64_t length);

/// The end of message `index` of a group whose messages carry tags: writes `tag`, which is the right one, or compares
/// it, and if it is not the one that is there, wipes the output and says so in `failed`. In host memory.
void settle_tag(const MessageGroup& group, std::uint64_t index, const Block& tag);

/// The pre-counter block J0 of message `index` of a group of GCM whose IVs have 12 bytes, or that brings it.
[[nodiscard]] Block pre_counter(const MessageGroup& group, std::uint64_t index = 0);

/// Between two places in host memory that do not overlap.
void copy_rows(std::uint8_t* to, std::uint64_t to_stride, const std::uint8_t* from, std::uint64_t from_stride,
               std::uint64_t bytes, std::uint64_t rows);

/// The tag of a message of GCM (SP 800-38D, 7.1) from the digests of its associated data and of its ciphertext.
[[nodiscard]] Block gcm_tag(const ExpandedKey& key, const Block& j0, const Block& aad_digest, std::uint64_t aad_bytes,
                            FieldElement digest, std::uint64_t bytes);

}  // namespace warpaes
