// AES-GCM of many short messages on the CPU.
#pragma once

#include <array>

#include "backend/group.hpp"
#include "backend/short.hpp"
#include "base/secret.hpp"
#include "cpu/message_keys.hpp"
#include "cpu/simd.hpp"

namespace warpaes::cpu {

/// Selects the function for a single short message, which takes the key's tables.
using ShortGcmFunction = ShortFunction (*)(Direction direction, int rounds);

/// Processes GCM messages of a batch, given their round keys, with only a few powers of H. The powers are made for
/// several messages at a time, or kept while messages of one key follow each other.
class GcmBatch {
public:
    /// Others may use `keys` between two runs.
    GcmBatch(const SimdBatchKernels& kernels, MessageKeys& keys, ShortGcmFunction short_gcm)
        : kernels_(kernels), keys_(keys), short_gcm_(short_gcm) {}
    GcmBatch(const GcmBatch&) = delete;
    GcmBatch& operator=(const GcmBatch&) = delete;

    /// Whether the messages are so short that making the tables of an ExpandedKey would not pay.
    [[nodiscard]] static bool takes(const MessageGroup& group);
    void run(const MessageGroup& group);

private:
    /// Size of a key's powers and of the bytes beyond them that a vector load reads.
    static constexpr std::size_t stride = block_bytes * (SimdGcmMessages::most_powers + 3);

    void run_with_tables(const MessageGroup& group) const;
    /// Decrypts the messages of a window whose tags are right, and wipes the outputs of the others.
    void open_checked(const MessageGroup& window, const std::uint8_t* round_keys,
                      const std::array<Block, MessageKeys::window>& tags);
    void make_powers(const MessageGroup& group, const std::uint8_t* round_keys, std::size_t count);

    const SimdBatchKernels& kernels_;
    MessageKeys& keys_;
    ShortGcmFunction short_gcm_;
    const ExpandedKey* made_for_ = nullptr;
    std::size_t power_count_ = 0;
    alignas(64) std::array<std::uint8_t, stride * MessageKeys::window> powers_;
};

}  // namespace warpaes::cpu
