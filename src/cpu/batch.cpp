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

/// CTR: a key that processes less text in a batch does not use its table, which is rarely cached.
constexpr std::uint64_t worth_loading_first_round = 65536;

SimdMessages messages_of(const MessageGroup& g) {
    return {.mode = g.mode,
            .direction = g.direction,
            .rounds = g.rounds(),
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
            .first_round = nullptr,
            .beyond_caches = g.beyond_caches};
}

/// Sets the number of messages and the key of `run`, which contains the messages of a group of the form of `form`.
void set_key(SimdMessages& run, const MessageGroup& form, const ExpandedKey& key, std::uint64_t count) {
    run.count = static_cast<std::size_t>(count);
    run.keys = reinterpret_cast<const std::uint8_t*>(key.round_keys(form.mode, form.direction).words.data());
    run.first_round = nullptr;
    if (form.mode == Mode::ctr && form.length >= first_round_ctr_bytes && !form.beyond_caches &&
        count * form.length >= worth_loading_first_round) {
        const FirstRound* const table = key.first_round_if_worth(count * form.length);
        if (table != nullptr) run.first_round = reinterpret_cast<const std::uint8_t*>(table->columns.data());
    }
    if (form.mode == Mode::ecb && form.input.stride == form.length && form.output.stride == form.length) {
        run.length = run.count * static_cast<std::size_t>(form.length);  // the adjacent lanes process a single message
        run.count = 1;
    }
}

/// Processes messages that share a key.
void run_vectorised(const SimdBatchKernels& kernels, const MessageGroup& g) {
    SimdMessages run = messages_of(g);
    set_key(run, g, *g.key, g.count);
    kernels.run_messages(run);
}

/// Processes messages with a key each.
void run_vectorised(const SimdBatchKernels& kernels, MessageKeys& keys, const MessageGroup& g) {
    SimdMessages run = messages_of(g);
    const bool inverse = uses_inverse_cipher(g.mode, g.direction);
    Secret<std::array<std::array<std::uint8_t, round_keys_bytes>, MessageKeys::window>> inverted;
    run.key_stride = round_keys_bytes;
    keys.take(g);
    for (std::uint64_t first = 0; first < g.count; first += MessageKeys::window) {
        run.count = static_cast<std::size_t>(std::min(MessageKeys::window, g.count - first));
        run.keys = keys.encrypt_from(first);
        if (inverse) {
            for (std::size_t i = 0; i < run.count; ++i) {
                kernels.invert_keys(run.keys + i * round_keys_bytes, run.rounds, (*inverted)[i].data());
            }
            run.keys = (*inverted)[0].data();
        }
        run.input = g.input.at(first);
        run.output = g.output.at(first);
        run.iv = g.iv.at(first);
        kernels.run_messages(run);
    }
}

/// Processes groups whose messages have a key each, and GCM groups whose keys have no tables. Not inlined: this
/// function uses kilobytes of stack, which are wiped afterwards.
[[gnu::noinline]] void run_with_own_keys(const SimdBatchKernels& kernels, std::span<const MessageGroup* const> groups) {
    note_stack_depth(4096);
    MessageKeys keys(kernels);
    GcmBatch gcm(kernels, keys);
    for (const MessageGroup* g : groups) {
        if (g->mode == Mode::gcm) {
            gcm.run(*g);
        } else {
            run_vectorised(kernels, keys, *g);
        }
    }
}

}  // namespace

void run_batch(StretchLane& lane, const SimdBatchKernels& kernels, ShortGcmFunction short_gcm,
               std::span<const MessageGroup> groups) {
    note_stack_depth(4096);
    std::vector<const MessageGroup*> streams, with_own_keys;
    for (std::size_t i = 0; i < groups.size(); ++i) {
        const MessageGroup& group = groups[i];
        if (is_stream(group.mode, group.direction)) {
            streams.push_back(&group);
            continue;
        }
        if (i + 1 < groups.size() && groups[i + 1].key != nullptr) {
            groups[i + 1].key->prefetch(groups[i + 1].mode, blocks_of(groups[i + 1].length) + 2);
        }
        if (GcmBatch::takes(group)) {
            if (!run_gcm_with_tables(short_gcm, group)) with_own_keys.push_back(&group);
        } else if (is_vectorised(group.mode, group.direction)) {
            if (group.length == 0) continue;
            if (group.key == nullptr) {
                with_own_keys.push_back(&group);
            } else {
                run_vectorised(kernels, group);
            }
        } else {
            lane.run_one_by_one({&group, 1});
        }
    }
    if (!with_own_keys.empty()) run_with_own_keys(kernels, with_own_keys);
    if (!streams.empty()) run_serial(kernels, streams);
}

void run_alike_groups(StretchLane& lane, const SimdBatchKernels& kernels, ShortGcmFunction short_gcm,
                      const MessageGroup& form, std::span<const AlikeGroup> groups) {
    const bool is_gcm = GcmBatch::takes(form);
    if (is_stream(form.mode, form.direction) || (!is_gcm && !is_vectorised(form.mode, form.direction))) {
        return lane.Lane::run_alike(form, groups);
    }
    note_stack_depth(4096);
    if (!is_gcm && form.length == 0) return;
    SimdMessages run = is_gcm ? SimdMessages{} : messages_of(form);
    std::vector<MessageGroup> without_tables;
    const std::uint64_t blocks = blocks_of(form.length) + 2;
    std::uint8_t* failed = form.failed;
    for (std::size_t i = 0; i < groups.size(); ++i) {
        const AlikeGroup& group = groups[i];
        if (i + 1 < groups.size()) groups[i + 1].key->prefetch(form.mode, blocks);
        if (is_gcm) {
            if (!run_gcm_with_tables(short_gcm, form, group, failed)) {
                without_tables.push_back(form.with(group));
                without_tables.back().failed = failed;
            }
            if (failed != nullptr) failed += group.count;
        } else {
            run.input = group.input;
            run.output = group.output;
            run.iv = group.iv;
            set_key(run, form, *group.key, group.count);
            kernels.run_messages(run);
        }
    }
    std::vector<const MessageGroup*> with_own_keys;
    for (const MessageGroup& g : without_tables) with_own_keys.push_back(&g);
    if (!with_own_keys.empty()) run_with_own_keys(kernels, with_own_keys);
}

}  // namespace warpaes::cpu
