#include "cpu/batch.hpp"

#include <vector>

#include "cpu/gcm_batch.hpp"
#include "cpu/message_keys.hpp"
#include "cpu/serial_batch.hpp"

namespace warpaes::cpu {

namespace {

/// Modes in which a single message fills the vectors, so that they need only the messages' round keys.
bool is_vectorised(Mode mode, Direction direction) {
    return is_parallel(mode, direction) && mode != Mode::gcm && mode != Mode::xts;
}

/// Processes a group in which every message has its own key.
void run_with_own_keys(const SimdBatchKernels& kernels, MessageKeys& keys, const MessageGroup& g) {
    const int rounds = g.rounds();
    const bool inverse = uses_inverse_cipher(g.mode, g.direction);
    Secret<std::array<std::uint8_t, round_keys_bytes>> inverted;
    keys.take(g);
    for (std::uint64_t i = 0; i < g.count; ++i) {
        const std::uint8_t* round_keys = keys.encrypt(i);
        if (inverse) {
            kernels.invert_keys(round_keys, rounds, inverted->data());
            round_keys = inverted->data();
        }
        kernels.run({.mode = g.mode,
                     .direction = g.direction,
                     .rounds = rounds,
                     .keys = round_keys,
                     .input = g.input.at(i),
                     .output = g.output.at(i),
                     .length = static_cast<std::size_t>(kernel_length(g.mode, g.length, g.unused_bits)),
                     .chain = g.iv.at(i)});
    }
}

}  // namespace

void run_batch(StretchLane& lane, const SimdBatchKernels& kernels, std::span<const MessageGroup> groups) {
    note_stack_depth(4096);
    std::vector<const MessageGroup*> streams;
    MessageKeys keys(kernels);
    GcmBatch gcm(kernels, keys);
    for (const MessageGroup& group : groups) {
        if (is_stream(group.mode, group.direction)) {
            streams.push_back(&group);
        } else if (GcmBatch::takes(group)) {
            gcm.run(group);
        } else if (group.key == nullptr && is_vectorised(group.mode, group.direction)) {
            if (group.length != 0) run_with_own_keys(kernels, keys, group);
        } else {
            lane.run_one_by_one({&group, 1});
        }
    }
    run_serial(kernels, streams);
}

}  // namespace warpaes::cpu
