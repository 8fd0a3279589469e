#include "engine/run/executor.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "aes/pkcs7.hpp"
#include "aes/xts.hpp"
#include "base/error.hpp"
#include "engine/chain.hpp"
#include "engine/short_ways.hpp"

namespace warpaes {

namespace {

/// The encrypted numbers of XTS data units, for a message with few units: the CPU encrypts the numbers faster than the
/// GPU kernel, which would otherwise have to encrypt them first.
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

Executor::Executor(Engine& engine, const Places& places, std::optional<CallerStream> stream)
    : engine_(engine), stream_(stream) {
    const MemoryPlace &in = places.input, &out = places.output;
    const bool in_device = is_on_device(in.kind), out_device = is_on_device(out.kind);
    if (in_device && out_device && in.device != out.device) {
        throw Error(WARPAES_ERROR_ARGUMENT, "output: is on a device other than that of input");
    }
    device_only_ = in_device && out_device;
    output_device_ = out.device;
    if (in_device || out_device) {
        device_ = in_device ? in.device : out.device;
        memory_ = in_device ? in.kind : out.kind;
        engine.require_gpu();
    } else if (is_direct(in.kind) && is_direct(out.kind)) {
        memory_ = in.kind;
    }
    if (stream_ && !device_only_) {
        throw Error(WARPAES_ERROR_ARGUMENT, "input, output: an asynchronous call requires buffers in device memory");
    }
}

void Executor::run(const MessageGroup& message) {
    const bool tagged = uses_tag(message.mode);
    if (message.length == 0 && !tagged) return;
    const bool needs_lane = tagged && (message.mode != Mode::gcm || message.digest != nullptr);
    if (device_only_ && (stream_ || !needs_lane)) return run_on_device(message);
    wait_for_buffers();
    ran_.merge(run_group(engine_, message, memory_, device_));
}

/// This function is separate from run(): otherwise, clean_stack() would overwrite the space for tweaks after every
/// message.
[[gnu::noinline]] void Executor::run_on_device(MessageGroup group) {
    CudaBackend& gpu = engine_.gpu();
    ran_.merge({gpu.name(), device_});
    const FewTweaks tweaks(group);
    group.tweaks = tweaks.get();
    gpu.run(group, device_, stream_);
}

void Executor::clear(std::uint8_t* output, std::uint64_t bytes) noexcept {
    clear_after_failure(engine_, output, static_cast<std::size_t>(bytes), output_device_);
}

void Executor::wait_for_buffers() const {
    wait_for_device(device_);
}

Block Executor::run_and_chain(const MessageGroup& stretch) {
    if (!on_device()) {
        const ChainAfter after(stretch);
        run(stretch);
        return after.value(stretch);
    }
    // Copies the last 16 bytes of input and output to host memory, where the chaining value is computed.
    const std::uint64_t bytes = stretch.length;
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, block_bytes));
    Secret<Block> in, out;
    MessageGroup tail = stretch;
    tail.input = Elements::of(in->data());
    tail.output = Elements::of(out->data());
    tail.length = n;
    copy(in->data(), stretch.input.first + (bytes - n), n);
    run(stretch);
    copy(out->data(), stretch.output.first + (bytes - n), n);
    if (stretch.mode == Mode::ctr) return ChainAfter(stretch).value(stretch);
    return ChainAfter(tail).value(tail);
}

std::optional<std::uint64_t> Executor::run_parts(const MessageGroup& m, const Block& iv,
                                                 std::span<const MessagePart> parts) {
    std::uint64_t written = 0;
    for (const MessagePart& part : parts) {
        const std::optional<std::uint64_t> bytes = run_part(m, iv, part);
        if (!bytes) return std::nullopt;
        written += *bytes;
    }
    return written;
}

std::optional<std::uint64_t> Executor::run_part(const MessageGroup& m, const Block& iv, const MessagePart& part) {
    const std::uint8_t* const ciphertext = m.direction == Direction::decrypt ? m.input.first : m.output.first;
    const Block chain = chain_at(m.mode, iv, part.offset, m.data_units, [&](std::span<std::uint8_t> before) {
        copy(before.data(), ciphertext + (part.offset - before.size()), before.size());
    });
    MessageGroup group = m;
    group.iv = Elements::of(chain.data());
    group.input = Elements::of(m.input.first + part.offset);
    group.output = {m.output.first + part.to, 0};
    group.length = part.length;
    if (!part.local) {
        run(group);
        return part.length;
    }
    if (const auto kept = run_local_part(group, part)) return kept;
    clear(m.output.first, m.length);
    return std::nullopt;
}

std::optional<std::uint64_t> Executor::run_local_part(const MessageGroup& group, const MessagePart& part) {
    const auto bytes = static_cast<std::size_t>(part.length);
    Secret<Block> in, out;
    copy(in->data(), group.input.first, bytes);
    if (part.padding == MessagePart::Padding::add) pkcs7_pad(*in, bytes);
    run_local(group, *in, *out);
    const bool unpads = part.padding == MessagePart::Padding::remove;
    const std::uint64_t kept = unpads ? pkcs7_unpad(*out) : part.keep;
    if (unpads && kept == block_bytes) return std::nullopt;
    copy(group.output.first, out->data() + part.skip, static_cast<std::size_t>(kept));
    return kept;
}

void Executor::run_local(MessageGroup stretch, const Block& in, Block& out) {
    stretch.input = Elements::of(in.data());
    stretch.output = {out.data(), 0};
    stretch.length = block_bytes;
    ran_.merge(run_group(engine_, stretch, memory_, device_));
}

void Executor::copy(void* to, const void* from, std::size_t bytes) {
    copy_memory(to, from, bytes, device_, stream_ ? stream_->stream : nullptr);
}

void encrypt_block(const Engine& engine, const ExpandedKey& key, const Block& in, Block& out) {
    const bool cpu_forced = engine.forced() != nullptr && !engine.forced_is_gpu();
    out = in;
    run_blocks(cpu_forced ? *engine.forced() : best_cpu_backend(), Direction::encrypt, key, out);
}

}  // namespace warpaes
