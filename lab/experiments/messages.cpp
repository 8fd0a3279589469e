#include "lab/experiments/messages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

namespace lab::experiments {

namespace {

constexpr std::uint8_t poisoned = 0x5c;

warpaes_mode abi_mode(Mode mode) {
    constexpr warpaes_mode modes[] = {WARPAES_ECB, WARPAES_CTR, WARPAES_CBC, WARPAES_CFB128, WARPAES_OFB};
    return modes[static_cast<std::size_t>(mode)];
}

struct DestroyBatch {
    void operator()(warpaes_batch* batch) const { warpaes_batch_destroy(batch); }
};
using BatchHandle = std::unique_ptr<warpaes_batch, DestroyBatch>;

BatchHandle submit(const warpaes::Engine& engine, std::vector<warpaes_batch_entry>& entries) {
    warpaes_batch* batch = nullptr;
    warpaes::check(warpaes_batch_submit(engine.get(), nullptr, entries.data(), entries.size(), &batch));
    return BatchHandle(batch);
}

void wait_for(BatchHandle batch) {
    warpaes::check(warpaes_batch_wait(batch.get(), WARPAES_UNKNOWN));
}

}  // namespace

Messages::Messages(const Shape& shape, MessageMemory memory)
    : shape_(shape),
      memory_(memory),
      texts_(shape.stride() * (shape.count - 1) + block_bytes * shape.blocks),
      host_(texts_ + 2 * block_bytes * shape.count) {
    fill_random(host_, 21);
    const std::size_t keys = shape.own_keys ? shape.count : 1;
    const auto at = host_.begin() + static_cast<std::ptrdiff_t>(texts_ + block_bytes * shape.count);
    keys_.assign(at, at + static_cast<std::ptrdiff_t>(block_bytes * keys));
    if (memory == MessageMemory::device) {
        input_ = gpu::on_device(host_);
        output_ = gpu::DeviceMemory(texts_);
    } else {
        locked_in_ = gpu::HostMemory(host_.size(), gpu::HostMemory::Kind::page_locked);
        locked_out_ = gpu::HostMemory(texts_, gpu::HostMemory::Kind::page_locked);
        std::copy(host_.begin(), host_.end(), locked_in_.get());
    }
    poison();
}

std::span<const std::uint8_t> Messages::iv(std::uint64_t message) const {
    return std::span(host_).subspan(texts_ + block_bytes * message, block_bytes);
}

PreparedPayload Messages::prepare(KeySchedules& schedules, bool whole) const {
    MessageDescriptor d;
    d.mode = shape_.mode;
    d.messages = {0, block_bytes * shape_.blocks, shape_.count, shape_.stride()};
    if (whole) d.messages = {0, texts_, 1, 0};
    d.ivs = {texts_, block_bytes, whole ? 1 : shape_.count, 0};
    d.keys = whole ? 1 : keys_.size() / block_bytes;
    return lab::prepare({1, {d}}, host_.size(), keys_, schedules);
}

std::vector<warpaes_batch_entry> Messages::entries(const warpaes::Key& key, bool one_each) const {
    const auto elements = [&](const std::uint8_t* at, std::uint64_t stride) {
        warpaes_elements e{};
        e.at.pointer = const_cast<std::uint8_t*>(at);
        e.stride = stride;
        return e;
    };
    warpaes_batch_entry e{};
    e.mode = abi_mode(shape_.mode);
    e.direction = WARPAES_ENCRYPT;
    e.count = shape_.count;
    e.length = block_bytes * shape_.blocks;
    e.input = elements(input(), shape_.stride());
    e.output = elements(output(), shape_.stride());
    e.iv = elements(input() + texts_, block_bytes);
    e.iv_len = block_bytes;
    if (shape_.own_keys) {
        e.keys = elements(input() + texts_ + block_bytes * shape_.count, block_bytes);
        e.key_len = block_bytes;
    } else {
        e.key = key.get();
    }
    if (!one_each) return {e};
    std::vector<warpaes_batch_entry> all(shape_.count, e);
    for (std::uint64_t i = 0; i < shape_.count; ++i) {
        all[i].count = 1;
        for (warpaes_elements* part : {&all[i].input, &all[i].output, &all[i].iv, &all[i].keys}) {
            part->at.offset += i * part->stride;
        }
    }
    return all;
}

void Messages::poison() {
    if (memory_ == MessageMemory::device) {
        gpu::fill(output(), poisoned, texts_);
    } else {
        std::fill_n(output(), texts_, poisoned);
    }
}

const gpu::DeviceMemory& Messages::expected(bool whole) {
    gpu::DeviceMemory& expected = whole ? expected_whole_ : expected_;
    if (expected.size() != 0) return expected;
    std::vector<std::uint8_t> bytes(texts_, poisoned);
    Reference cipher(shape_.mode, Direction::encrypt, std::span(keys_).first(block_bytes));
    if (whole) {
        cipher.run(iv(0), std::span(host_).first(texts_), bytes);
    } else {
        for (std::uint64_t i = 0; i < shape_.count; ++i) {
            if (shape_.own_keys && i != 0) {
                cipher =
                    Reference(shape_.mode, Direction::encrypt, std::span(keys_).subspan(block_bytes * i, block_bytes));
            }
            cipher.run(iv(i), std::span(host_).subspan(i * shape_.stride(), block_bytes * shape_.blocks),
                       std::span(bytes).subspan(i * shape_.stride(), block_bytes * shape_.blocks));
        }
    }
    return expected = gpu::on_device(bytes);
}

void Messages::require(const gpu::DeviceMemory& expected, const std::string& what) const {
    const std::uint8_t* const got = memory_ == MessageMemory::device ? output() : locked_out_.on_device();
    const std::size_t at = gpu::first_difference(expected.get(), got, texts_, stream_);
    if (at != texts_) throw Mismatch(fmt::format("{}: byte {} of {} is wrong", what, at, texts_));
}

void Messages::check(const std::string& what, bool whole) {
    require(expected(whole), what);
}

void Messages::check_runs(const std::string& what, std::uint64_t count, std::uint64_t runs) const {
    std::vector<std::uint8_t> bytes(texts_, poisoned), message(block_bytes * shape_.blocks * runs);
    Reference cipher(shape_.mode, Direction::encrypt, std::span(keys_).first(block_bytes));
    const std::uint64_t run_bytes = block_bytes * shape_.blocks;
    for (std::uint64_t i = 0; i < count; ++i) {
        const auto each_run = [&](const auto& move) {
            for (std::uint64_t r = 0; r < runs; ++r) {
                move(static_cast<std::ptrdiff_t>((r * count + i) * shape_.stride()),
                     static_cast<std::ptrdiff_t>(r * run_bytes));
            }
        };
        const auto size = static_cast<std::ptrdiff_t>(run_bytes);
        each_run([&](auto lies, auto at) { std::copy_n(host_.begin() + lies, size, message.begin() + at); });
        cipher.run(iv(i), message, message);
        each_run([&](auto lies, auto at) { std::copy_n(message.begin() + at, size, bytes.begin() + lies); });
    }
    require(gpu::on_device(bytes), what);
}

double time_batch(const warpaes::Engine& engine, std::vector<warpaes_batch_entry>& entries) {
    return time_of([&] { wait_for(submit(engine, entries)); });
}

double time_batches(const warpaes::Engine& engine, std::vector<warpaes_batch_entry>& entries, unsigned calls) {
    std::array<std::vector<warpaes_batch_entry>, 4> copies;
    copies.fill(entries);
    const double seconds = time_of([&] {
        std::array<BatchHandle, copies.size()> on_their_way;
        for (unsigned i = 0; i < calls + copies.size(); ++i) {
            BatchHandle& batch = on_their_way[i % copies.size()];
            if (batch != nullptr) wait_for(std::move(batch));
            if (i < calls) batch = submit(engine, copies[i % copies.size()]);
        }
    });
    return seconds / calls;
}

MessageRates rates_of_messages(const Context& context, const warpaes::Engine& engine, const Shape& shape) {
    Messages messages(shape);
    const warpaes::Key key(messages.keys());
    auto entries = messages.entries(key, false);
    KeySchedules schedules;
    gpu::PayloadOnDevice payload;
    payload.load(messages.prepare(schedules), schedules);
    const gpu::Stream stream;
    const auto amount = static_cast<double>(shape.bytes()) / 1e9;
    const Summary production = sample(effort(context.quick), [&] { return time_batch(engine, entries); });
    messages.check("production's batch");
    messages.poison();
    const Summary model = sample(effort(context.quick), [&] {
        return gpu::seconds_of(
            stream, [&] { payload.run(messages.input(), messages.output(), gpu::ThreadMapping::natural, {}, stream); });
    });
    messages.check("the data model's kernel");
    return {rate(amount, production), rate(amount, model)};
}

std::uint64_t messages_for(std::uint64_t bytes, std::uint64_t blocks, std::uint64_t most) {
    return std::clamp<std::uint64_t>(bytes / (block_bytes * blocks), 1, most);
}

}  // namespace lab::experiments
