#include "message/executor.hpp"

#include <algorithm>
#include <array>

#include "aes/xts.hpp"
#include "base/error.hpp"
#include "engine/chain.hpp"
#include "engine/pipeline/group.hpp"
#include "engine/pipeline/memory.hpp"
#include "message/short.hpp"

namespace warpaes {

Executor::Executor(Engine& engine, const std::uint8_t* input, const std::uint8_t* output,
                   std::optional<CallerStream> stream, int input_device)
    : engine_(engine), stream_(stream) {
    const MemoryPlace in = input_device >= 0 ? MemoryPlace{Memory::device, input_device} : place_of(input);
    const MemoryPlace out = output == input ? in : place_of(output);
    const bool in_device = in.kind == Memory::device, out_device = out.kind == Memory::device;
    if (in_device && out_device && in.device != out.device) {
        throw Error(WARPAES_ERROR_ARGUMENT, "output: lies on another device than input");
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

namespace {

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

void Executor::run_local(MessageGroup stretch, const Block& in, Block& out) {
    stretch.input = Elements::of(in.data());
    stretch.output = {out.data(), 0};
    stretch.length = block_bytes;
    run_here(stretch);
}

void Executor::encrypt_block(const ExpandedKey& key, const Block& in, Block& out) {
    run_local(stretch_of(Mode::ecb, Direction::encrypt, key, in, nullptr, nullptr, block_bytes), in, out);
}

void Executor::read(void* to, const std::uint8_t* from, std::size_t bytes) {
    copy_memory(to, from, bytes, device_, stream_ ? stream_->stream : nullptr);
}

void Executor::write(std::uint8_t* to, const void* from, std::size_t bytes) {
    copy_memory(to, from, bytes, device_, stream_ ? stream_->stream : nullptr);
}

}  // namespace warpaes
