// AES-GCM of many short messages on the CPU.
#pragma once

#include <array>

#include "backend/group.hpp"
#include "base/secret.hpp"
#include "cpu/message_keys.hpp"
#include "cpu/simd.hpp"

namespace warpaes::cpu {

/// Processes GCM messages of a batch, given their round keys, with only a few powers of H. The powers are made for
/// several messages at a time, or kept while messages of one key follow each other.
class GcmBatch {
public:
    /// Others may use `keys` between two runs.
    GcmBatch(const SimdBatchKernels& kernels, MessageKeys& keys) : kernels_(kernels), keys_(keys) {}
    GcmBatch(const GcmBatch&) = delete;
    GcmBatch& operator=(const GcmBatch&) = delete;

    /// Whether the messages are so short that making the tables of an ExpandedKey would not pay.
    [[nodiscard]] static bool takes(const MessageGroup& group);
    void run(const MessageGroup& group);

private:
    /// Size of a key's powers and of the bytes beyond them that a vector load reads.
    static constexpr std::size_t stride = block_bytes * (SimdGcmMessages::most_powers + 3);

    void make_powers(const MessageGroup& group, const std::uint8_t* round_keys, std::size_t count);

    const SimdBatchKernels& kernels_;
    MessageKeys& keys_;
    const ExpandedKey* made_for_ = nullptr;
    std::size_t power_count_ = 0;
    alignas(64) std::array<std::uint8_t, stride * MessageKeys::window> powers_;
};

}  // namespace warpaes::cpu
