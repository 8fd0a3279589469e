#include "cuda/stream_messages.hpp"

#include <algorithm>

#include "base/secret.hpp"
#include "cuda/memory_place.hpp"
#include "cuda/run.hpp"
#include "cuda/tuning/batch_gcm.hpp"
#include "cuda/tuning/host.hpp"

namespace warpaes::cuda {

namespace {

/// Whether each message can have its own launches. Their associated data is hashed on the host, and their tags must not
/// be truncated.
bool can_have_own_launches(std::span<const MessageGroup> groups) {
    PlaceFinder ivs, aads;
    return std::all_of(groups.begin(), groups.end(), [&](const MessageGroup& g) {
        // If `device` is set, all parts are in its memory, and a failed query must not make the host read them.
        return g.mode == Mode::gcm && g.device < 0 && g.key != nullptr && g.iv_length == gcm_nonce_bytes &&
               !is_on_device(ivs.of(g.iv.first).kind) && g.aad_length <= StreamMessages::most_aad &&
               (g.aad_length == 0 || !is_on_device(aads.of(g.aad.first).kind)) &&
               (g.direction == Direction::decrypt ? g.statuses != nullptr : g.tag_length == block_bytes);
    });
}

/// Whether a graph captures the stream. The graph then gets the kernels for batches: its launches cost the host
/// nothing, and the scratch memory of separate launches would restrict the use of the graph.
bool is_captured(cudaStream_t stream) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    return !try_to(cudaStreamIsCapturing(stream, &status)) || status != cudaStreamCaptureStatusNone;
}

/// Whether the batch is processed in one pass (gcm_one_pass.cu), which is faster for several messages than separate
/// launches.
bool takes_pass(std::span<const MessageGroup> groups, const DeviceLimits& limits) {
    GcmPassWork work;
    const MessageGroup& first = groups.front();
    for (const MessageGroup& g : groups) {
        if (g.key != first.key || g.direction != first.direction ||
            !GcmOnePass::fits(g.length, g.aad_length, g.iv_length)) {
            return false;
        }
        work.add(g.count, blocks_of(g.length), blocks_of(g.aad_length));
    }
    return work.messages > 1 && GcmOnePass::choose(limits, work).kernels != GcmOnePass::Kernels::several;
}

}  // namespace

void enqueue_message(const MessageGroup& message, const DeviceLimits& limits, cudaStream_t stream,
                     StreamPieces& pieces) {
    const bool decrypt = message.direction == Direction::decrypt;
    const GcmMessageRun its(message, decrypt ? nullptr : reinterpret_cast<Block*>(message.tag.first));
    if (!decrypt) {
        enqueue_seal(its.run, limits, stream, pieces);
        return;
    }
    const bool on_device = is_on_device(place_of(message.tag.first).kind);
    enqueue_open(its.run, {message.tag.first, message.tag_length}, on_device, message.statuses, limits, stream, pieces);
}

bool are_worth_own_launches(std::span<const MessageGroup> groups, const DeviceLimits& limits, cudaStream_t stream) {
    std::uint64_t messages = 0, shortest = ~std::uint64_t{0};
    bool several_keys = false;
    for (const MessageGroup& g : groups) {
        messages += g.count;
        if (g.count != 0) shortest = std::min(shortest, g.length);
        several_keys = several_keys || g.key != groups.front().key;
    }
    return messages != 0 && StreamMessages::take(messages, shortest, several_keys) && can_have_own_launches(groups) &&
           !takes_pass(groups, limits) && !is_captured(stream);
}

void enqueue_one_by_one(std::span<const MessageGroup> groups, const DeviceLimits& limits, cudaStream_t stream,
                        StreamPieces& pieces) {
    try {
        for (const MessageGroup& g : groups) {
            for (std::uint64_t i = 0; i < g.count; ++i) {
                MessageGroup message = g.slice(i, 1);
                FieldElement sum;
                hash_blocks(g.key->hash_key().powers[0], message.aad.first, message.aad_length, sum);
                const Secret<Block> digest(store_element(sum));
                message.aad_digest = &*digest;
                enqueue_message(message, limits, stream, pieces);
            }
            // Only tables have statuses for encryption. Decryption has already written its statuses.
            if (g.direction == Direction::encrypt && g.statuses != nullptr) {
                static_assert(WARPAES_OK == 0);
                check(cudaMemsetAsync(g.statuses, 0, g.count * sizeof *g.statuses, stream), "writing statuses");
            }
        }
    } catch (...) {
        try_to(cudaStreamSynchronize(stream));  // the caller may free the memory of earlier messages
        throw;
    }
}

}  // namespace warpaes::cuda
