// A group: messages of the same shape. All work is described as groups.
#pragma once

#include <cstdint>
#include <span>

#include "aes/ghash.hpp"
#include "aes/types.hpp"

namespace warpaes {

class ExpandedKey;

/// One item of every message in a group: the item of message i begins i strides after the first item. With stride 0,
/// all messages share the item.
struct Elements {
    std::uint8_t* first = nullptr;
    std::uint64_t stride = 0;

    /// Returns an item that is only read.
    [[nodiscard]] static Elements of(const void* first, std::uint64_t stride = 0) noexcept {
        return {const_cast<std::uint8_t*>(static_cast<const std::uint8_t*>(first)), stride};
    }
    [[nodiscard]] std::uint8_t* at(std::uint64_t i) const noexcept { return first + i * stride; }
    [[nodiscard]] Elements from(std::uint64_t i) const noexcept { return {at(i), stride}; }
};

/// The addresses, the key and the number of messages of a group that otherwise equals another group, its form. Items
/// that the form does not have are ignored.
struct AlikeGroup {
    std::uint8_t* input;
    std::uint8_t* output;
    std::uint8_t* iv;
    std::uint8_t* aad;
    std::uint8_t* tag;
    const ExpandedKey* key;
    std::uint64_t count;
};

/// `count` messages of the same shape (mode, direction and lengths), with key, IV, associated data, data and tag at
/// equal distances. A single message is a group with a count of 1. So is a stretch of a longer message, whose `iv` is
/// the chaining value before the stretch: IV, counter, or previous ciphertext (for CFB8 and CFB1 the shift register).
/// Processing a group does not change the chaining value; see engine/chain.hpp.
///
/// ECB and CBC: whole blocks. CTR, OFB, CFB128: any length, but a stretch that does not end on a block boundary is the
/// last stretch of its message. CFB8 and CFB1: any number of bytes; for CFB1, the last stretch may have `unused_bits`.
/// XTS: `iv` is the number of the first data unit, a little-endian number that grows from unit to unit (IEEE 1619,
/// 5.1); `length` is a number of whole units, but the last unit of a message may be shorter, with at least 16 bytes.
/// GCM allows an IV of any length, CCM (SP 800-38C) an IV of 7 to 13 bytes, ECB and CMAC none, and all other modes 16
/// bytes. CMAC (SP 800-38B) has no output: it writes tags, and with Direction::decrypt it compares them. GCM without
/// data is GMAC.
struct MessageGroup {
    Mode mode;
    Direction direction;
    std::uint64_t count = 1;
    std::uint64_t length = 0;       ///< length of each message, in bytes
    std::uint32_t unused_bits = 0;  ///< CFB1: low bits of the last byte that are not part of the message; 0 to 7
    Elements input{};
    Elements output{};  ///< equal to the input, or disjoint from all inputs and outputs of the batch
    Elements iv{};
    std::uint64_t iv_length = 0;
    std::uint64_t aad_length = 0;
    Elements aad{};
    /// GCM, CCM, CMAC: written on encryption, expected on decryption. Nothing beyond `tag_length` is written.
    Elements tag{};
    std::uint64_t tag_length = 0;
    /// One key for all messages; or null, and then each message has `key_bytes` bytes at `keys`.
    const ExpandedKey* key = nullptr;
    Elements keys{};
    std::uint32_t key_bytes = 0;
    const ExpandedKey* tweak_key = nullptr;  ///< XTS, which does not support per-message keys
    DataUnits data_units{};                  ///< XTS
    /// XTS, in host memory: the encrypted numbers of the data units, if they are already computed.
    const Block* tweaks = nullptr;
    /// GCM, in host memory, only in a group of one: the pre-counter block J0 (SP 800-38D, 7.1), if it is already
    /// computed; `iv` is then not read.
    const Block* j0 = nullptr;
    /// GCM, in host memory: the digest of the associated data that all messages share, if it is already computed; `aad`
    /// is then not read.
    const Block* aad_digest = nullptr;
    /// GCM: marks a stretch of a message. `digest`, in host memory, receives the digest of the stretch's ciphertext,
    /// padded with zeros to whole blocks; there is no tag. The stretch begins at block `first_block` of the message.
    /// Without an output, the input is only hashed, like associated data. GHASH is linear: a message can be cut
    /// anywhere, each part hashed from zero, and the parts' digests summed as `part * H^(blocks after it)`
    /// (aes/ghash.hpp).
    Block* digest = nullptr;
    std::uint64_t first_block = 0;
    /// `count` bytes in host memory, or null. Decryption writes 1 for each message whose tag is wrong, and wipes the
    /// message's output; the bytes of other messages are not written.
    std::uint8_t* failed = nullptr;
    /// For work on a caller's stream: `count` values of warpaes_status in memory of the messages' device, or null.
    /// Receives one status for each message.
    std::int32_t* statuses = nullptr;
    /// The device that contains all memory of the messages except `failed`; -1: not determined.
    int device = -1;
    /// Whether a lane may access input and output in place. A GPU lane can access its own memory, page-locked memory,
    /// or a few bytes of any memory. The IV, J0 and associated data must then be in host memory; tags can be anywhere.
    bool direct = false;
    /// Whether the group is larger than the caches and not processed in place, or is part of such a group; caching the
    /// data is useless.
    bool beyond_caches = false;
    /// Whether, on a GPU, input and output in page-locked memory are read and written in place, regardless of their
    /// length.
    bool zero_copy = false;

    /// Returns messages [first, first + n) of the group.
    [[nodiscard]] MessageGroup slice(std::uint64_t first, std::uint64_t n) const;
    [[nodiscard]] int rounds() const noexcept;
    /// Returns a group with the form of this group, which has one key for all messages. `failed` stays the same.
    [[nodiscard]] MessageGroup with(const AlikeGroup& other) const;
};

/// From this length onwards, a message's input and output together do not fit in the last-level cache, or in one
/// processor's share of a large cache.
[[nodiscard]] std::uint64_t cached_bytes();
/// A core's private caches can hold this many bytes of each of two buffers.
[[nodiscard]] std::uint64_t core_cached_bytes();
/// Whether the messages are not processed in place, and input and output together do not fit in the last-level cache.
[[nodiscard]] bool is_beyond_caches(const MessageGroup& group);

/// Returns a stretch of a message as a group. `chain` and the key must outlive the result.
[[nodiscard]] MessageGroup stretch_of(Mode mode, Direction direction, const ExpandedKey& key, const Block& chain,
                                      const std::uint8_t* input, std::uint8_t* output, std::uint64_t length);

/// Returns the pre-counter block J0 of message `index` of a GCM group with 12-byte IVs or with a `j0`.
[[nodiscard]] Block j0_of(const MessageGroup& group, std::uint64_t index = 0);

/// Copies rows between two buffers in host memory that do not overlap.
void copy_rows(std::uint8_t* to, std::uint64_t to_stride, const std::uint8_t* from, std::uint64_t from_stride,
               std::uint64_t bytes, std::uint64_t rows);

}  // namespace warpaes
