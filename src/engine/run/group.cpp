#include "engine/run/group.hpp"

#include <algorithm>
#include <vector>

#include "backend/tag.hpp"
#include "engine/pipeline/cipher_stage.hpp"
#include "engine/pipeline/memory.hpp"
#include "engine/pipeline/worker_lane.hpp"
#include "engine/run/chunk_owners.hpp"

namespace warpaes {

namespace {

/// Up to this length, the calling thread hashes block by block, because using a lane costs more.
constexpr std::uint64_t hashed_here = 2 * block_bytes;

/// A GCM message, or a stretch of a message. Each chunk yields the digest of its own ciphertext.
class GcmStage final : public EvenStage {
public:
    GcmStage(Engine& engine, const Ends& ends, const MessageGroup& group)
        : EvenStage({.staging_bytes = static_cast<std::size_t>(ends.plan.chunk_bytes)}, ends.plan.chunk_bytes),
          engine_(engine),
          ends_(ends),
          group_(group),
          j0_(group.digest == nullptr ? j0_of(group) : Block{}),
          chunk_blocks_(ends.plan.chunk_bytes / block_bytes),
          digests_(static_cast<std::size_t>(chunks(group.length))),
          owners_(digests_.size(), ends.plan.lanes) {}
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
        owners_.note(chunk.index);
        if (group_.output.first != nullptr) {
            part.output = {chunk.output, 0};
            chunk.output_bytes = chunk.input_bytes;
        }
        lane.run(part);
    }

    /// Combines the digests of all chunks to the stretch's digest, or to the message's tag, which is written or
    /// compared.
    void finish() {
        const MessageGroup& g = group_;
        const FieldElement sum = digest();
        if (g.digest != nullptr) {
            *g.digest = store_element(sum);
            return;
        }
        const Secret<Block> tag(gcm_tag(*g.key, j0_, *g.aad_digest, g.aad_length, sum, g.length));
        settle_tag(g, *tag, [&](auto) {
            const MemoryBuffer& out = ends_.out;
            const auto bytes = static_cast<std::size_t>(out.bytes);
            // Data that a GPU has written is in the GPU's memory, or at least not in a core's cache.
            if (ends_.plan.backend->is_gpu()) return clear_memory(engine_, out.data, bytes, out.device);
            owners_.wipe(engine_, {out.data, bytes}, static_cast<std::size_t>(ends_.plan.chunk_bytes),
                         bytes >= cached_bytes());
        });
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

    Engine& engine_;
    const Ends& ends_;
    const MessageGroup& group_;
    const Block j0_;
    const std::uint64_t chunk_blocks_;
    std::vector<Block> digests_;
    ChunkOwners owners_;
};

Outcome run_cut(Engine& engine, const Ends& ends, const MessageGroup& g) {
    MemorySource source(ends.in);
    MemorySink sink(ends.out);
    if (g.mode == Mode::gcm) {
        GcmStage stage(engine, ends, g);
        const ReadyToClear ready(engine, g.direction, g.length);
        const Outcome outcome = run_pipeline(engine, ends.plan, stage, source, sink);
        stage.finish();
        return outcome;
    }
    Cipher cipher{.mode = g.mode,
                  .direction = g.direction,
                  .key = g.key,
                  .pkcs7 = false,
                  .unused_bits = g.unused_bits,
                  .in_place = g.input.first == g.output.first,
                  .tweak_key = g.tweak_key,
                  .data_units = g.data_units,
                  .beyond_caches = g.beyond_caches};
    if (g.mode != Mode::ecb) std::copy_n(g.iv.first, block_bytes, cipher.iv.begin());
    return run_cipher(engine, ends.plan, cipher, source, sink);
}

}  // namespace

Outcome run_group(Engine& engine, MessageGroup g, Memory memory, int device) {
    const auto bytes = static_cast<std::size_t>(g.length);
    const bool whole = traits_of(g.mode).kind.runs == Runs::whole;
    Ends ends = plan_ends(engine,
                          {.mode = g.mode,
                           .direction = g.direction,
                           .key_bits = g.key->bits(),
                           .memory = memory,
                           .whole = g.mode == Mode::xts ? g.data_units.bytes : 0},
                          {g.input.first, bytes}, {g.output.first, g.output.first != nullptr ? bytes : 0}, device);
    if (g.output.first == nullptr) ends.out = ends.in;
    Plan& plan = ends.plan;
    // CCM and CMAC do not start on a GPU that the CPU may have to replace, because their work cannot be repeated.
    if (whole && plan.replaceable) plan = Engine::replacement(plan);
    // Cutting a message is worthwhile if its chunks run in parallel, or if they are copied to a GPU and back.
    const bool on_cpu = !plan.backend->is_gpu();
    const bool in_device = g.mode == Mode::gcm && ends.in.device >= 0 && ends.out.device >= 0;
    const bool one_lane = on_cpu && (plan.lanes == 1 || !ends.parallel);
    g.direct = !whole && ends.in.direct && ends.out.direct;
    g.beyond_caches = is_beyond_caches(g);
    const bool aligned =
        ((reinterpret_cast<std::uintptr_t>(g.input.first) | reinterpret_cast<std::uintptr_t>(g.output.first)) %
         block_bytes) == 0;
    const bool in_host_memory = ends.in.device < 0 || ends.out.device < 0;
    g.zero_copy = g.direct && aligned && !on_cpu && in_host_memory && plan.devices.size() == 1 &&
                  bytes <= engine.gpu().most_mapped(g.mode, g.direction) && engine.options().chunk_bytes == 0;
    const bool at_once = whole || (g.direct && (bytes <= plan.chunk_bytes || one_lane || in_device || g.zero_copy));
    if (!at_once) return run_cut(engine, ends, g);
    WorkerLane worker(engine, plan, 0, 0);
    worker.run([&](Lane& lane) { lane.run(g); });
    const auto notes = worker.device_failed() ? std::uint32_t{WARPAES_NOTE_DEVICE_FAILED} : 0;
    return {plan.backend->name(), plan.devices.front(), notes};
}

Block gcm_digest(Engine& engine, const ExpandedKey& key, const std::uint8_t* data, std::uint64_t bytes,
                 const MemoryPlace& place, Outcome* ran) {
    Block digest{};
    if (bytes == 0) return digest;
    const int device = place.device;
    if (device >= 0 || bytes > hashed_here) {
        if (device >= 0) engine.require_gpu();
        wait_for_device(device);
        const Outcome outcome = run_group(engine,
                                          {.mode = Mode::gcm,
                                           .direction = Direction::encrypt,
                                           .length = bytes,
                                           .input = Elements::of(data),
                                           .key = &key,
                                           .digest = &digest},
                                          place.kind, device);
        if (ran != nullptr) *ran = outcome;
        return digest;
    }
    FieldElement sum;
    hash_blocks(key.hash_key().powers[0], data, bytes, sum);
    return store_element(sum);
}

Block first_counter(Engine& engine, const ExpandedKey& key, std::span<const std::uint8_t> iv) {
    if (iv.size() != gcm_nonce_bytes) {
        const Block digest = gcm_digest(engine, key, iv.data(), iv.size(), place_of(iv.data()));
        return pre_counter(key.hash_key().powers[0], digest, iv.size());
    }
    return pre_counter(iv.first<gcm_nonce_bytes>());
}

}  // namespace warpaes
