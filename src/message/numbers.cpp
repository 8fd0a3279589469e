#include "message/numbers.hpp"

#include <algorithm>
#include <cstring>

#include "aes/counter.hpp"
#include "base/error.hpp"
#include "engine/run/executor.hpp"

namespace warpaes {

namespace {

static_assert(std::endian::native == std::endian::little, "words are those of the key stream, little-endian");

/// Key stream bytes per piece: few enough that the piece and the numbers computed from it fit in the first-level cache.
constexpr std::size_t piece_bytes = 16 << 10;

/// Writes `bytes` bytes of numbers computed from `stream`, starting with its first block; the last block may be used
/// only partially.
template <Number Kind>
void make(const std::uint8_t* stream, const NumberRange& range, std::uint8_t* to, std::size_t bytes) {
    constexpr std::size_t each = numbers_block_bytes(Kind);
    NumberBlock block;
    for (; bytes >= each; bytes -= each, stream += block_bytes, to += each) {
        std::memcpy(&block, stream, block_bytes);
        block = numbers_of<Kind>(block, range);
        std::memcpy(to, &block, each);
    }
    if (bytes == 0) return;
    std::memcpy(&block, stream, block_bytes);
    block = numbers_of<Kind>(block, range);
    std::memcpy(to, &block, bytes);
}

/// Writes bytes [begin, end) of the output on a CPU lane; `begin` is the first byte of a block's numbers.
void make_part(Lane& lane, const NumbersRun& run, std::uint64_t begin, std::uint64_t end) {
    const std::uint64_t each = numbers_block_bytes(run.kind), blocks = (end - begin + each - 1) / each;
    SecretBuffer stream(static_cast<std::size_t>(std::min<std::uint64_t>(piece_bytes, blocks * block_bytes)));
    const std::uint64_t at_once = stream.size() / block_bytes * each;
    for (; begin < end; begin += at_once) {
        const std::uint64_t bytes = std::min(end - begin, at_once);
        const std::uint64_t stream_bytes = (bytes + each - 1) / each * block_bytes;
        const Secret<Block> counter(add(run.counter, begin / each));
        std::memset(stream.data(), 0, static_cast<std::size_t>(stream_bytes));
        lane.run(
            stretch_of(Mode::ctr, Direction::encrypt, *run.key, *counter, stream.data(), stream.data(), stream_bytes));
        with_number(run.kind, [&]<Number Kind>() {
            make<Kind>(stream.data(), run.range, run.output + begin, static_cast<std::size_t>(bytes));
        });
    }
}

/// Fills the output on the CPU. Workers claim parts of the output until none are left.
Outcome fill_on_cpu(Engine& engine, const NumbersRun& run) {
    const std::uint64_t each = numbers_block_bytes(run.kind), blocks = (run.bytes + each - 1) / each;
    const Plan plan = engine.plan_on_cpu({.mode = Mode::ctr,
                                          .direction = Direction::encrypt,
                                          .key_bits = run.key->bits(),
                                          .bytes = blocks * block_bytes},
                                         "random numbers in host memory");
    constexpr std::uint64_t part_pieces = 16;
    const std::uint64_t part = part_pieces * piece_bytes / block_bytes * each;
    const std::uint64_t parts = (run.bytes + part - 1) / part;
    for_each_part(engine, plan, parts, [&](Lane& lane, std::uint64_t i) {
        make_part(lane, run, i * part, std::min(run.bytes, (i + 1) * part));
    });
    return {plan.backend->name(), -1};
}

/// Fills output in host memory if the GPU was requested by name.
Outcome fill_by_gpu(Engine& engine, const NumbersRun& run) {
    constexpr std::uint64_t most_blocks = 4 << 20;
    const Plan plan = engine.plan(Mode::ctr, Direction::encrypt, run.bytes);
    CudaBackend& gpu = engine.gpu();
    const int device = plan.devices.front();
    const std::uint64_t each = numbers_block_bytes(run.kind);
    const auto at_once = static_cast<std::size_t>(std::min(run.bytes, most_blocks * each));
    const DeviceBuffer memory(device, at_once);
    for (std::uint64_t begin = 0; begin < run.bytes; begin += at_once) {
        NumbersRun piece = run;
        piece.counter = add(run.counter, begin / each);
        piece.output = memory.get();
        piece.bytes = std::min<std::uint64_t>(run.bytes - begin, at_once);
        gpu.run(piece, device);
        copy_memory(run.output + begin, memory.get(), static_cast<std::size_t>(piece.bytes), device);
    }
    return {gpu.name(), device};
}

Outcome fill_where_it_lies(Engine& engine, const NumbersRun& run, std::optional<CallerStream> stream) {
    CudaBackend& gpu = engine.gpu();
    const int device = device_of(run.output);
    if (device < 0) {
        if (stream) throw Error(WARPAES_ERROR_ARGUMENT, "output: must be in device memory for an asynchronous call");
        return engine.forced_is_gpu() ? fill_by_gpu(engine, run) : fill_on_cpu(engine, run);
    }
    engine.require_gpu();
    if (stream) {
        gpu.enqueue(run, device, stream->stream);
    } else {
        gpu.run(run, device);
    }
    return {gpu.name(), device};
}

}  // namespace

void fill_numbers(Engine& engine, const NumbersRun& run, MessageResult& result, std::optional<CallerStream> stream) {
    const std::uint64_t each = numbers_block_bytes(run.kind);
    const bool wrapped = wraps(run.counter, (run.bytes + each - 1) / each);
    if (run.bytes != 0) result.merge(fill_where_it_lies(engine, run, stream));
    result.output_length = run.bytes;
    if (wrapped) result.notes |= std::uint32_t{WARPAES_NOTE_COUNTER_WRAPPED};
}

}  // namespace warpaes
