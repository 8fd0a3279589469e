// What kernels for batches are told: groups of messages in memory of the device (backend/group.hpp), sorted and
// numbered by the host. A kernel finds the message that a thread works on by binary search over the numbers.
#pragma once

#include <cstdint>

#include "cuda/kernels/key_slot.hpp"
#include "cuda/kernels/simt.cuh"

namespace warpaes::cuda {

/// A MessageGroup whose pointers all lead to memory of the device.
struct alignas(16) BatchGroup {
    const std::uint8_t* input;
    std::uint8_t* output;
    const std::uint8_t* iv;
    const std::uint8_t* aad;
    std::uint8_t* tag;
    const uint4* keys;     ///< slot of the first message's key
    std::uint8_t* failed;  ///< a byte a message: 1 if its tag was wrong
    std::uint64_t input_stride, output_stride, iv_stride, aad_stride, tag_stride;
    std::uint64_t key_stride;  ///< in blocks: 0 or key_slot_blocks
    /// Keys of single messages as they came, from which the slots are made; or null.
    const std::uint8_t* raw_keys;
    std::uint64_t raw_key_stride;
    std::uint64_t count;
    std::uint64_t length;
    std::uint64_t aad_length;
    std::uint64_t first_message;  ///< messages of the launch's groups before it
    std::uint64_t first_unit;     ///< pieces of work of the launch's groups before it, as the kernel cuts messages
    std::uint32_t iv_length;
    std::uint32_t tag_length;
    std::uint32_t alignment;  ///< 16, 4 or 1: what inputs, outputs and their strides are multiples of
    std::uint32_t lanes;      ///< log2 of the threads that share a message, where a kernel wants it
};

/// One launch: groups of one mode, direction and key length.
struct BatchParams {
    const BatchGroup* groups;
    std::uint32_t group_count;
    std::uint32_t one_key;   ///< all messages have the key whose round keys are `round_keys`, constant-bank operands
    std::uint64_t messages;  ///< of all groups
    std::uint64_t units;     ///< of all groups
    unsigned long long* ticket;  ///< zero at the start: the next piece of work, for kernels that hand it out
    std::uint32_t round_keys[60];
};

}  // namespace warpaes::cuda
