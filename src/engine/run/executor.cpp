#include "engine/run/executor.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "aes/pkcs7.hpp"
#include "aes/xts.hpp"
#include "base/error.hpp"
#include "engine/chain.hpp"
#include "engine/pipeline/cipher_stage.hpp"
#include "engine/pipeline/worker_lane.hpp"
#include "engine/run/chunk_owners.hpp"
#include "engine/short_ways.hpp"

namespace warpaes {

namespace {

/// A GCM message, or a stretch of one. Each chunk gives the digest of its own ciphertext.
class GcmStage final : public EvenStage {
public:
    GcmStage(Engine& engine, const Ends& ends, const MessageGroup& group, const Block& j0)
        : EvenStage({.staging_bytes = static_cast<std::size_t>(ends.plan.chunk_bytes)}, ends.plan.chunk_bytes),
          engine_(engine),
          ends_(ends),
          group_(group),
          j0_(j0),
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

    /// Combines the digests of all chunks: into the stretch's digest, or into the message's tag, which is written or
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
            // What a GPU has written lies in its memory, or in no core's cache.
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
    const Block& j0_;
    const std::uint64_t chunk_blocks_;
    std::vector<Block> digests_;
    ChunkOwners owners_;
};

Outcome run_cut(Engine& engine, const Ends& ends, const MessageGroup& g) {
    MemorySource source(ends.in);
    MemorySink sink(ends.out);
    if (g.mode == Mode::gcm) {
        const Block j0 = g.digest == nullptr ? pre_counter(g) : Block{};
        GcmStage stage(engine, ends, g, j0);
        const ReadyToClear ready(engine, g.direction, g.length);
        const Outcome outcome = run_pipeline(engine, ends.plan, stage, source, sink);
        stage.finish();
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

/// The encrypted numbers of XTS data units, if the message has few: the CPU encrypts them in less time than the GPU
/// kernel, which otherwise does so first.
class FewTweaks {
public:
    explicit FewTweaks(const MessageGroup& g) {
        if (g.mode != Mode::xts) return;
        const std::uint64_t units = (g.length + g.data_units.bytes - 1) / g.data_units.bytes;
        if (units > most || g.length > most_bytes) return;
        std::array<Block, most>& blocks = tweaks_.emplace();
        const Tweak first = load_tweak(*reinterpret_cast<const Block*>(g.iv.first));
        for (std::uint64_t u = 0; u < units; ++u) blocks[u] = store_tweak(add_units(first, u, g.data_units.step));
        used_ = static_cast<std::size_t>(units) * block_bytes;
        run_blocks(best_cpu_backend(), Direction::encrypt, *g.tweak_key, {blocks[0].data(), used_});
    }
    FewTweaks(const FewTweaks&) = delete;
    FewTweaks& operator=(const FewTweaks&) = delete;
    ~FewTweaks() {
        if (tweaks_) wipe({tweaks_->front().data(), used_});
    }
    [[nodiscard]] const Block* get() const noexcept { return tweaks_ ? tweaks_->data() : nullptr; }

private:
    static constexpr std::size_t most = 32, most_bytes = 1 << 20;
    std::optional<std::array<Block, most>> tweaks_;
    std::size_t used_ = 0;
};

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
    const bool one_lane = on_cpu && (plan.lanes == 1 || !ends.parallel);
    g.direct = !chained && ends.in.direct && ends.out.direct;
    g.beyond_caches = is_beyond_caches(g);
    const bool aligned =
        ((reinterpret_cast<std::uintptr_t>(g.input.first) | reinterpret_cast<std::uintptr_t>(g.output.first)) %
         block_bytes) == 0;
    const bool in_host_memory = ends.in.device < 0 || ends.out.device < 0;
    g.zero_copy = g.direct && aligned && !on_cpu && in_host_memory && plan.devices.size() == 1 &&
                  bytes <= engine.gpu().most_mapped(g.mode, g.direction) && engine.options().chunk_bytes == 0;
    const bool at_once = chained || (g.direct && (bytes <= plan.chunk_bytes || one_lane || in_device || g.zero_copy));
    if (!at_once) return run_cut(engine, ends, g);
    WorkerLane worker(engine, plan, 0, 0);
    worker.run([&](Lane& lane) { lane.run(g); });
    const auto notes = worker.device_failed() ? std::uint32_t{WARPAES_NOTE_DEVICE_FAILED} : 0;
    return {plan.backend->name(), plan.devices.front(), notes};
}

Executor::Executor(Engine& engine, const std::uint8_t* input, const std::uint8_t* output,
                   std::optional<CallerStream> stream, int input_device, int output_device)
    : engine_(engine), stream_(stream) {
    const MemoryPlace in = input_device >= 0 ? MemoryPlace{Memory::device, input_device} : place_of(input);
    const MemoryPlace out = output == input      ? in
                            : output_device >= 0 ? MemoryPlace{Memory::device, output_device}
                                                 : place_of(output);
    const bool in_device = in.kind == Memory::device, out_device = out.kind == Memory::device;
    if (in_device && out_device && in.device != out.device) {
        throw Error(WARPAES_ERROR_ARGUMENT, "output: is on another device than input");
    }
    device_only_ = in_device && out_device;
    output_device_ = device_of(out);
    if (in_device || out_device) {
        device_ = in_device ? in.device : out.device;
        memory_ = Memory::device;
        engine.require_gpu();
    } else if (in.kind == Memory::page_locked && out.kind == Memory::page_locked) {
        memory_ = Memory::page_locked;
    }
    if (stream_ && !device_only_) {
        throw Error(WARPAES_ERROR_ARGUMENT, "input, output: an asynchronous call takes buffers in device memory");
    }
}

void Executor::run(const MessageGroup& message) {
    MessageGroup group = message;
    const bool tagged = uses_tag(group.mode);
    if (group.length == 0 && !tagged) return;
    if (!device_only_ || (tagged && (group.mode != Mode::gcm || group.digest != nullptr) && !stream_)) {
        wait_for_buffers();
        return run_here(group);
    }
    CudaBackend& gpu = engine_.gpu();
    ran_.add({gpu.name(), device_});
    const FewTweaks tweaks(group);
    group.tweaks = tweaks.get();
    if (stream_) return gpu.enqueue(group, device_, stream_->stream);
    gpu.run(group, device_);
}

void Executor::clear(std::uint8_t* output, std::uint64_t bytes) noexcept {
    clear_after_failure(engine_, output, static_cast<std::size_t>(bytes), output_device_);
}

void Executor::wait_for_buffers() const {
    wait_for_device(device_);
}

void Executor::run_here(const MessageGroup& group) {
    ran_.add(run_group(engine_, group, memory_, device_));
}

Block Executor::run_and_chain(const MessageGroup& stretch) {
    if (!on_device()) {
        const ChainAfter after(stretch);
        run(stretch);
        return after.value(stretch);
    }
    // Copy the last 16 bytes of input and output to host memory, where the chaining value is computed.
    const std::uint64_t bytes = stretch.length;
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, block_bytes));
    Secret<Block> in, out;
    MessageGroup tail = stretch;
    tail.input = Elements::of(in->data());
    tail.output = Elements::of(out->data());
    tail.length = n;
    read(in->data(), stretch.input.first + (bytes - n), n);
    run(stretch);
    read(out->data(), stretch.output.first + (bytes - n), n);
    if (stretch.mode == Mode::ctr) return ChainAfter(stretch).value(stretch);
    return ChainAfter(tail).value(tail);
}

/// The chaining value before byte `offset` of a message.
Block Executor::chain_before(const MessageGroup& m, const Block& iv, std::uint64_t offset) {
    if (m.mode == Mode::xts) return xts_chain_at(iv, offset, m.data_units);
    const std::uint8_t* const ciphertext = m.direction == Direction::decrypt ? m.input.first : m.output.first;
    std::array<std::uint8_t, block_bytes> before{};
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(offset, block_bytes));
    if (n != 0 && (m.mode == Mode::cbc || chains_on_ciphertext(m.mode, m.direction))) {
        read(before.data(), ciphertext + (offset - n), n);
    }
    return chain_at(m.mode, iv, offset, {before.data(), n});
}

std::optional<std::uint64_t> Executor::run_local_part(const MessageGroup& m, const Block& chain,
                                                      const MessagePart& part) {
    Secret<Block> in, out;
    const auto used = static_cast<std::size_t>(part.length);
    read(in->data(), m.input.first + part.offset, used);
    if (part.padding == MessagePart::Padding::add) pkcs7_pad(*in, used);
    MessageGroup block = m;
    block.iv = Elements::of(chain.data());
    run_local(block, *in, *out);
    const bool unpads = part.padding == MessagePart::Padding::remove;
    const std::uint64_t kept = unpads ? pkcs7_unpad(*out) : part.keep;
    if (unpads && kept == block_bytes) return std::nullopt;
    write(m.output.first + part.to, out->data() + part.skip, static_cast<std::size_t>(kept));
    return kept;
}

std::optional<std::uint64_t> Executor::run_parts(const MessageGroup& m, const Block& iv,
                                                 std::span<const MessagePart> parts) {
    std::uint64_t written = 0;
    for (const MessagePart& part : parts) {
        const Block chain = chain_before(m, iv, part.offset);
        if (part.local) {
            const std::optional<std::uint64_t> kept = run_local_part(m, chain, part);
            if (!kept) {
                clear(m.output.first, m.length);
                return std::nullopt;
            }
            written += *kept;
            continue;
        }
        MessageGroup whole = m;
        whole.length = part.length;
        whole.input = Elements::of(m.input.first + part.offset);
        whole.output = {m.output.first + part.to, 0};
        whole.iv = Elements::of(chain.data());
        run(whole);
        written += part.length;
    }
    return written;
}

void Executor::run_local(MessageGroup stretch, const Block& in, Block& out) {
    stretch.input = Elements::of(in.data());
    stretch.output = {out.data(), 0};
    stretch.length = block_bytes;
    run_here(stretch);
}

void Executor::read(void* to, const std::uint8_t* from, std::size_t bytes) {
    copy_memory(to, from, bytes, device_, stream_ ? stream_->stream : nullptr);
}

void Executor::write(std::uint8_t* to, const void* from, std::size_t bytes) {
    copy_memory(to, from, bytes, device_, stream_ ? stream_->stream : nullptr);
}

void encrypt_block(const Engine& engine, const ExpandedKey& key, const Block& in, Block& out) {
    const bool cpu_forced = engine.forced() != nullptr && !engine.forced_is_gpu();
    out = in;
    run_blocks(cpu_forced ? *engine.forced() : best_cpu_backend(), Direction::encrypt, key, out);
}

void run_blocks(const Backend& backend, Direction direction, const ExpandedKey& key, std::span<std::uint8_t> blocks) {
    (void)backend.short_function(Mode::ecb, direction, key.rounds())({.mode = Mode::ecb,
                                                                      .direction = direction,
                                                                      .key = &key,
                                                                      .round_keys = round_keys_of(key),
                                                                      .iv = nullptr,
                                                                      .input = blocks.data(),
                                                                      .output = blocks.data(),
                                                                      .length = blocks.size()});
}

}  // namespace warpaes
