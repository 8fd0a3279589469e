#include "pipeline/gcm.hpp"

#include <algorithm>
#include <vector>

#include "aes/cipher.hpp"
#include "aes/ghash.hpp"
#include "cuda/cuda_backend.hpp"
#include "pipeline/memory.hpp"
#include "pipeline/pipeline.hpp"
#include "pipeline/worker_lane.hpp"

namespace warpaes {

namespace {

/// A stretch of one message: every chunk gives the digest of its own ciphertext.
class StretchStage final : public EvenStage {
public:
    StretchStage(const GcmRun& run, std::uint64_t chunk_bytes)
        : EvenStage({.staging_bytes = static_cast<std::size_t>(chunk_bytes)}, chunk_bytes),
          run_(run),
          chunk_blocks_(chunk_bytes / block_bytes),
          digests_(static_cast<std::size_t>(chunks(run.last_bytes))) {}

    void process(Lane& lane, Chunk& chunk) override {
        GcmRun part = run_;
        part.input = chunk.input;
        part.segment_bytes = part.last_bytes = part.input_stride = part.output_stride = chunk.input_bytes;
        part.first_block = run_.first_block + chunk.index * chunk_blocks_;
        part.result = GcmRun::Result::digest;
        part.results = &digests_[static_cast<std::size_t>(chunk.index)];
        if (run_.output != nullptr) {
            part.output = chunk.output;
            chunk.output_bytes = chunk.input_bytes;
        }
        lane.run_gcm(part);
    }

    /// The digest of all that has gone by.
    [[nodiscard]] FieldElement digest() const {
        const FieldElement h = run_.key->hash_key().powers[0];
        FieldElement sum = load_element(digests_.front());
        FieldElement factor = power(h, chunk_blocks_);
        for (std::size_t i = 1; i < digests_.size(); ++i) {
            if (i + 1 == digests_.size())
                factor = power(h, blocks_of(run_.last_bytes - i * chunk_blocks_ * block_bytes));
            sum = multiply(sum, factor) ^ load_element(digests_[i]);
        }
        return sum;
    }

private:
    const GcmRun& run_;
    const std::uint64_t chunk_blocks_;
    std::vector<Block> digests_;
};

}  // namespace

FieldElement gcm_tag(const GcmRun& run, FieldElement digest) {
    const FieldElement h = run.key->hash_key().powers[0];
    const Secret<Block> mask(encrypt_block(run.key->encrypt(), run.key->rounds(), *run.j0));
    return whole_digest(h, load_element(run.aad_digest), run.aad_bytes, digest, run.last_bytes) ^ load_element(*mask);
}

Outcome run_gcm(Engine& engine, const GcmRun& run, Memory memory, int device) {
    const auto bytes = static_cast<std::size_t>(run.last_bytes);
    auto [plan, in, out] = plan_ends(
        engine, {.mode = Mode::gcm, .direction = run.direction, .key_bits = run.key->bits(), .memory = memory},
        {run.input, bytes}, {run.output, run.output != nullptr ? bytes : 0}, device);
    if (run.output == nullptr) out = in;
    Outcome outcome{plan.backend->name(), plan.devices.front()};
    // Cutting pays if the pieces run side by side, or if they are copied to a GPU and back.
    const bool on_cpu = plan.backend != &cuda_backend();
    const bool alone = bytes <= plan.chunk_bytes || (on_cpu && plan.lanes == 1) || (in.device >= 0 && out.device >= 0);
    if (in.direct && out.direct && alone) {
        WorkerLane worker(engine, plan, 0, 0);
        worker.run([&](Lane& lane) { lane.run_gcm(run); });
        if (worker.device_failed()) outcome.notes |= WARPAES_NOTE_DEVICE_FAILED;
        return outcome;
    }
    StretchStage stage(run, plan.chunk_bytes);
    MemorySource source(in);
    MemorySink sink(out);
    outcome.notes |= run_pipeline(engine, plan, stage, source, sink).notes;
    const FieldElement digest = stage.digest();
    *run.results = store_element(run.result == GcmRun::Result::tag ? gcm_tag(run, digest) : digest);
    return outcome;
}

}  // namespace warpaes
