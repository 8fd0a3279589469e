// Processes groups of many messages on the CPU: GCM, serial modes, and all other modes.
#pragma once

#include <array>
#include <span>

#include "backend/group.hpp"
#include "backend/short.hpp"
#include "backend/stretch.hpp"
#include "base/secret.hpp"
#include "cpu/message_keys.hpp"
#include "cpu/simd.hpp"

namespace warpaes::cpu {

/// Selects the function for a single short message, which uses the key's tables.
using ShortGcmFunction = ShortFunction (*)(Direction direction, int rounds);

/// Processes the GCM messages of a batch, given their round keys, with only a few powers of H. The powers are computed
/// for several messages at a time, or kept while consecutive messages have the same key.
class GcmBatch {
public:
    /// Other code may use `keys` between two runs.
    GcmBatch(const SimdBatchKernels& kernels, MessageKeys& keys) : kernels_(kernels), keys_(keys) {}
    GcmBatch(const GcmBatch&) = delete;
    GcmBatch& operator=(const GcmBatch&) = delete;

    /// Whether the messages are so short that creating the tables of an ExpandedKey would not be worthwhile.
    [[nodiscard]] static bool takes(const MessageGroup& group);
    void run(const MessageGroup& group);

private:
    /// The size of a key's powers, including the bytes past their end that a vector load reads.
    static constexpr std::size_t stride = block_bytes * (SimdGcmMessages::most_powers + 3);

    void make_powers(const MessageGroup& group, const std::uint8_t* round_keys, std::size_t count);

    const SimdBatchKernels& kernels_;
    MessageKeys& keys_;
    const ExpandedKey* made_for_ = nullptr;
    std::size_t power_count_ = 0;
    alignas(64) std::array<std::uint8_t, stride * MessageKeys::window> powers_;
};

/// Processes a group with the tables of its key. Returns false if the group needs another function, or if the key has
/// no tables and has processed too little text to justify computing them.
[[nodiscard]] bool run_gcm_with_tables(ShortGcmFunction short_gcm, const MessageGroup& group);
/// As above, for a group with the form of `form`. `failed` is null or the byte of the group's first message.
[[nodiscard]] bool run_gcm_with_tables(ShortGcmFunction short_gcm, const MessageGroup& form, const AlikeGroup& group,
                                       std::uint8_t* failed);

/// Whether run_serial() processes messages of this kind: CBC, CFB128 and OFB encryption, OFB decryption, CMAC and CCM.
[[nodiscard]] bool is_stream(Mode mode, Direction direction);

/// Processes all messages of groups for which is_stream() is true, as many at once as the vectors have lanes. A lane
/// that has finished its message starts the next message.
void run_serial(const SimdBatchKernels& kernels, std::span<const MessageGroup* const> groups);

/// As Lane::run_alike().
void run_alike_groups(StretchLane& lane, const SimdBatchKernels& kernels, ShortGcmFunction short_gcm,
                      const MessageGroup& form, std::span<const AlikeGroup> groups);

/// `short_gcm` is the function for a single short GCM message.
void run_batch(StretchLane& lane, const SimdBatchKernels& kernels, ShortGcmFunction short_gcm,
               std::span<const MessageGroup> groups);

}  // namespace warpaes::cpu
