#include "engine/pipeline/group.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <new>
#include <span>
#include <vector>

#include "backend/cuda_backend.hpp"
#include "engine/pipeline/cipher_stage.hpp"
#include "engine/pipeline/memory.hpp"
#include "engine/pipeline/worker_lane.hpp"

namespace warpaes {

namespace {

/// Wipes a message that its threads have decrypted chunk by chunk: first each thread the chunks that it has decrypted,
/// in whose caches they lie, then what no other thread has begun.
class ChunkWipe {
public:
    explicit ChunkWipe(std::size_t chunks) : threads_(chunks), begun_(chunks) {}

    /// The calling thread has this chunk in hand.
    void done(std::uint64_t chunk) noexcept { threads_[static_cast<std::size_t>(chunk)] = pthread_self(); }

    void run(Engine& engine, std::span<std::uint8_t> output, std::size_t chunk_bytes) {
        const bool far = output.size() >= cached_bytes();
        const auto take = [&](std::size_t i) {
            if (begun_[i].exchange(true, std::memory_order_relaxed)) return;
            const std::size_t first = i * chunk_bytes, bytes = std::min(chunk_bytes, output.size() - first);
            far ? wipe_far(output.subspan(first, bytes)) : wipe(output.subspan(first, bytes));
        };
        const auto work = [&](unsigned) {
            for (std::size_t i = 0; i < threads_.size(); ++i) {
                if (pthread_equal(threads_[i], pthread_self()) != 0) take(i);
            }
            for (std::size_t i = 0; i < threads_.size(); ++i) take(i);
        };
        const std::size_t threads = std::min<std::size_t>(std::max(engine.options().threads, 1U), threads_.size());
        try {
            engine.pool().share(static_cast<unsigned>(threads), work);
        } catch (const std::bad_alloc&) {  // without threads
            work(0);
        }
    }

private:
    std::vector<pthread_t> threads_;
    std::vector<std::atomic<bool>> begun_;
};

/// A GCM message, or a stretch of one. Each chunk gives the digest of its own ciphertext.
class GcmStage final : public EvenStage {
public:
    GcmStage(const MessageGroup& group, const Block& j0, std::uint64_t chunk_bytes)
        : EvenStage({.staging_bytes = static_cast<std::size_t>(chunk_bytes)}, chunk_bytes),
          group_(group),
          j0_(j0),
          chunk_blocks_(chunk_bytes / block_bytes),
          digests_(static_cast<std::size_t>(chunks(group.length))),
          wipe_(digests_.size()) {}
    GcmStage(const GcmStage&) = delete;
    GcmStage& operator=(const GcmStage&) = delete;
    /// The digests are wiped because, together with the ciphertext, they reveal H.
    ~GcmStage() override { wipe({digests_.front().data(), digests_.size() * block_bytes}); }

    void process(Lane& lane, Chunk& chunk) override {
        MessageGroup part = group_;
        part.length = chunk.input_bytes;
        part.input = Elements::of(chunk.input);
        part.first_block = group_.first_block + chunk.index * chunk_blocks_;
        part.digest = &digests_[static_cast<std::size_t>(chunk.index)];
        part.direct = true;
        wipe_.done(chunk.index);
        if (group_.output.first != nullptr) {
            part.output = {chunk.output, 0};
            chunk.output_bytes = chunk.input_bytes;
        }
        lane.run(part);
    }

    /// Combines the digests of all chunks: into the stretch's digest, or into the message's tag, which is written or
    /// compared.
    void finish(Engine& engine, const MemoryBuffer& output) {
        const MessageGroup& g = group_;
        const FieldElement sum = digest();
        if (g.digest != nullptr) {
            *g.digest = store_element(sum);
            return;
        }
        const Secret<Block> tag(gcm_tag(*g.key, j0_, *g.aad_digest, g.aad_length, sum, g.length));
        if (g.direction == Direction::encrypt) {
            std::copy_n(tag->begin(), g.tag_length, g.tag.first);
        } else if (!is_tag(*tag, {g.tag.first, g.tag_length})) {
            *g.failed = 1;
            const auto bytes = static_cast<std::size_t>(output.bytes);
            if (output.device >= 0) return clear_memory(output.data, bytes, output.device);
            wipe_.run(engine, {output.data, bytes}, static_cast<std::size_t>(chunk_blocks_ * block_bytes));
        }
    }

private:
    [[nodiscard]] FieldElement digest() const {
        const FieldElement h = group_.key->hash_key().powers[0];
        FieldElement sum = load_element(digests_.front());
        FieldElement factor = power(h, chunk_blocks_);
        for (std::size_t i = 1; i < digests_.size(); ++i) {
            if (i + 1 == digests_.size()) {
                factor = power(h, blocks_of(group_.length - i * chunk_blocks_ * block_bytes));
            }
            sum = multiply(sum, factor) ^ load_element(digests_[i]);
        }
        return sum;
    }

    const MessageGroup& group_;
    const Block& j0_;
    const std::uint64_t chunk_blocks_;
    std::vector<Block> digests_;
    ChunkWipe wipe_;
};

Outcome run_cut(Engine& engine, const Ends& ends, const MessageGroup& g) {
    MemorySource source(ends.in);
    MemorySink sink(ends.out);
    if (g.mode == Mode::gcm) {
        const Block j0 = g.digest == nullptr ? pre_counter(g) : Block{};
        GcmStage stage(g, j0, ends.plan.chunk_bytes);
        const ReadyToClear ready(engine, g.direction, g.length);
        const Outcome outcome = run_pipeline(engine, ends.plan, stage, source, sink);
        stage.finish(engine, ends.out);
        return outcome;
    }
    Cipher cipher{.mode = g.mode,
                  .direction = g.direction,
                  .key = g.key,
                  .iv = {},
                  .pkcs7 = false,
                  .unused_bits = g.unused_bits,
                  .in_place = g.input.first == g.output.first,
                  .tweak_key = g.tweak_key,
                  .data_units = g.data_units,
                  .beyond_caches = g.beyond_caches};
    if (g.mode != Mode::ecb) std::copy_n(g.iv.first, block_bytes, cipher.iv.begin());
    return run_cipher(engine, ends.plan, cipher, source, sink);
}

/// Up to this length one launch that reads and writes page-locked memory is faster than copies in both directions at
/// once. H200, 2026-11, AES-128, 2 / 4 / 8 / 16 / 32 MiB in this way and in chunks of 2 MiB that are copied, GB/s: ECB
/// 29.7 / 34.8 / 37.4 / 39.3 / 40.4 and 16.8 / 23.3 / 32.1 / 36.8 / 41.6, CTR 26.9 / 31.0 / 33.0 / 34.2 / 35.1 and 17.3
/// / 23.3 / 32.3 / 37.2 / 41.7. 0: the kernels read some of it twice.
constexpr std::uint64_t most_zero_copy_bytes(Mode mode, Direction direction) {
    if (!accesses_once(mode, direction)) return 0;
    return std::uint64_t{mode == Mode::ctr ? 8U : 16U} << 20;
}

}  // namespace

Outcome run_group(Engine& engine, MessageGroup g, Memory memory, int device) {
    const auto bytes = static_cast<std::size_t>(g.length);
    const bool chained = g.mode == Mode::ccm || g.mode == Mode::cmac;
    Ends ends = plan_ends(engine,
                          {.mode = g.mode,
                           .direction = g.direction,
                           .key_bits = g.key->bits(),
                           .memory = memory,
                           .whole = g.mode == Mode::xts ? g.data_units.bytes : 0},
                          {g.input.first, bytes}, {g.output.first, g.output.first != nullptr ? bytes : 0}, device);
    if (g.output.first == nullptr) ends.out = ends.in;
    Plan& plan = ends.plan;
    // CCM and CMAC do not start on a GPU that the CPU may have to replace, because the work could not be repeated.
    if (chained && plan.replaceable) plan = Engine::replacement(plan);
    // Cutting a message pays if its chunks run in parallel, or if they are copied to a GPU and back.
    const bool on_cpu = !plan.backend->is_gpu();
    const bool in_device = g.mode == Mode::gcm && ends.in.device >= 0 && ends.out.device >= 0;
    const bool one_lane = on_cpu && (plan.lanes == 1 || !is_parallel(g.mode, g.direction));
    g.direct = !chained && ends.in.direct && ends.out.direct;
    g.beyond_caches = is_beyond_caches(g);
    const bool aligned =
        ((reinterpret_cast<std::uintptr_t>(g.input.first) | reinterpret_cast<std::uintptr_t>(g.output.first)) %
         block_bytes) == 0;
    const bool in_host_memory = ends.in.device < 0 || ends.out.device < 0;
    g.zero_copy = g.direct && aligned && !on_cpu && in_host_memory && plan.devices.size() == 1 &&
                  bytes <= most_zero_copy_bytes(g.mode, g.direction) && engine.options().chunk_bytes == 0;
    const bool at_once = chained || (g.direct && (bytes <= plan.chunk_bytes || one_lane || in_device || g.zero_copy));
    if (!at_once) return run_cut(engine, ends, g);
    WorkerLane worker(engine, plan, 0, 0);
    worker.run([&](Lane& lane) { lane.run(g); });
    const auto notes = worker.device_failed() ? std::uint32_t{WARPAES_NOTE_DEVICE_FAILED} : 0;
    return {plan.backend->name(), plan.devices.front(), notes};
}

}  // namespace warpaes
