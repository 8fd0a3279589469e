#include "cpu/batch.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "cpu/message_keys.hpp"

namespace warpaes::cpu {

namespace {

/// Whether a single message fills the vectors, so that only the messages' round keys are needed.
bool is_vectorised(Mode mode, Direction direction) {
    return is_parallel(mode, direction) && traits_of(mode).kind.runs == Runs::in_stretches;
}

void run_vectorised(const SimdBatchKernels& kernels, MessageKeys& keys, const MessageGroup& g) {
    const int rounds = g.rounds();
    SimdMessages run{.mode = g.mode,
                     .direction = g.direction,
                     .rounds = rounds,
                     .count = static_cast<std::size_t>(g.count),
                     .length = static_cast<std::size_t>(kernel_length(g.mode, g.length, g.unused_bits)),
                     .keys = nullptr,
                     .key_stride = 0,
                     .input = g.input.first,
                     .output = g.output.first,
                     .input_stride = static_cast<std::size_t>(g.input.stride),
                     .output_stride = static_cast<std::size_t>(g.output.stride),
                     .iv = g.iv.first,
                     .iv_stride = static_cast<std::size_t>(g.iv.stride),
                     .beyond_caches = g.beyond_caches};
    if (g.key != nullptr) {
        run.keys = reinterpret_cast<const std::uint8_t*>(g.key->round_keys(g.mode, g.direction).words.data());
        if (g.mode == Mode::ecb && g.input.stride == g.length && g.output.stride == g.length) {
            run.length *= run.count;  // the adjacent lanes process a single message
            run.count = 1;
        }
        return kernels.run_messages(run);
    }
    const bool inverse = uses_inverse_cipher(g.mode, g.direction);
    Secret<std::array<std::array<std::uint8_t, round_keys_bytes>, MessageKeys::window>> inverted;
    run.key_stride = round_keys_bytes;
    keys.take(g);
    for (std::uint64_t first = 0; first < g.count; first += MessageKeys::window) {
        run.count = static_cast<std::size_t>(std::min(MessageKeys::window, g.count - first));
        run.keys = keys.encrypt_from(first);
        if (inverse) {
            for (std::size_t i = 0; i < run.count; ++i) {
                kernels.invert_keys(run.keys + i * round_keys_bytes, rounds, (*inverted)[i].data());
            }
            run.keys = (*inverted)[0].data();
        }
        run.input = g.input.at(first);
        run.output = g.output.at(first);
        run.iv = g.iv.at(first);
        kernels.run_messages(run);
    }
}

}  // namespace

void run_batch(StretchLane& lane, const SimdBatchKernels& kernels, ShortGcmFunction short_gcm,
               std::span<const MessageGroup> groups) {
    note_stack_depth(4096);
    std::vector<const MessageGroup*> streams;
    MessageKeys keys(kernels);
    GcmBatch gcm(kernels, keys, short_gcm);
    for (std::size_t i = 0; i < groups.size(); ++i) {
        const MessageGroup& group = groups[i];
        if (i + 1 < groups.size() && groups[i + 1].key != nullptr) {
            groups[i + 1].key->prefetch(groups[i + 1].mode, blocks_of(groups[i + 1].length) + 2);
        }
        if (is_stream(group.mode, group.direction)) {
            streams.push_back(&group);
        } else if (GcmBatch::takes(group)) {
            gcm.run(group);
        } else if (is_vectorised(group.mode, group.direction)) {
            if (group.length != 0) run_vectorised(kernels, keys, group);
        } else {
            lane.run_one_by_one({&group, 1});
        }
    }
    run_serial(kernels, streams);
}

}  // namespace warpaes::cpu
