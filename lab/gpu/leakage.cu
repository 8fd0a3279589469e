#include <algorithm>
#include <stdexcept>

#include "lab/gpu/launch.hpp"
#include "lab/gpu/leakage.hpp"
#include "lab/gpu/rounds.cuh"
#include "lab/gpu/tables_on_device.hpp"

namespace lab::gpu {
namespace {

namespace aes = warpaes::device;

struct TimerParams {
    Params cipher;  ///< only its tables are used
    const uint4* texts;
    const std::uint32_t* keys;
    uint4* ciphertexts;
    std::uint32_t* cycles;
    std::uint32_t count;
    std::uint32_t text_stride;  ///< in blocks
    std::uint32_t key_stride;   ///< in words
    std::uint32_t zero;         ///< always 0, but unknown to the compiler
};

constexpr TableMemory memory_of(Timed subject) {
    return static_cast<TableMemory>(subject);
}
static_assert(memory_of(Timed::constant) == TableMemory::constant &&
              memory_of(Timed::texture) == TableMemory::texture &&
              memory_of(Timed::replicated) == TableMemory::replicated);

/// A subject. load() copies its tables to shared memory if necessary, key() copies a key schedule from global to shared
/// memory, and run() encrypts a lane's block.
template <Timed S>
class Subject {
    static constexpr Entry entry{{.tables = memory_of(S), .keys = KeyMemory::shared, .persistent = true}, {}};

public:
    static constexpr unsigned shared = shared_bytes(entry.variant, 32);
    __device__ __forceinline__ explicit Subject(const Params& p) : tables_(p), keys_(p) {}
    __device__ __forceinline__ void load() const {
        tables_.load();
        __syncthreads();
    }
    __device__ __forceinline__ void key(const std::uint32_t* words) const {
        auto* const to = reinterpret_cast<std::uint32_t*>(dynamic_shared() + table_bytes(entry.variant));
        for (unsigned i = threadIdx.x; i < schedule_words; i += 32) to[i] = __ldcs(words + i);
    }
    __device__ __forceinline__ uint4 run(uint4 block) const {
        std::uint32_t columns[4] = {block.x, block.y, block.z, block.w};
        run_rounds<entry>(tables_, keys_, columns);
        return make_uint4(columns[0], columns[1], columns[2], columns[3]);
    }

private:
    Lookup<entry.variant, false> tables_;
    Keys<entry.variant> keys_;
};

template <>
class Subject<Timed::production> {
    using Key = aes::key_schedule<128>;

public:
    static constexpr unsigned shared = aes::tables<4>::bytes + sizeof(Key);
    __device__ __forceinline__ explicit Subject(const Params&) : tables_(dynamic_shared()) {}
    __device__ __forceinline__ void load() const { tables_.load(); }
    __device__ __forceinline__ void key(const std::uint32_t* words) const {
        for (unsigned i = threadIdx.x; i < schedule_words; i += 32) schedule().words[i] = __ldcs(words + i);
    }
    __device__ __forceinline__ uint4 run(uint4 block) const {
        return aes::encrypt_block<128>(tables_, schedule(), block);
    }

private:
    static __device__ __forceinline__ Key& schedule() {
        return *reinterpret_cast<Key*>(dynamic_shared() + aes::tables<4>::bytes);
    }
    aes::tables<4> tables_;
};

template <>
class Subject<Timed::bitsliced> {
    using Key = aes::bitsliced_key<128>;

public:
    static constexpr unsigned shared = sizeof(Key);
    __device__ __forceinline__ explicit Subject(const Params&) {}
    __device__ __forceinline__ void load() const {}
    __device__ __forceinline__ void key(const std::uint32_t* words) const {
        masks().load(*reinterpret_cast<const aes::key_schedule<128>*>(words), threadIdx.x, 32);
    }
    __device__ __forceinline__ uint4 run(uint4 block) const {
        uint4 blocks[32];
        std::uint32_t planes[128];
#pragma unroll
        for (unsigned j = 0; j < 32; ++j) {
            blocks[j] = make_uint4(block.x ^ j * 0x9e3779b9u, block.y ^ j * 0x85ebca6bu, block.z + j, block.w - j);
        }
        aes::to_planes(blocks, planes);
        aes::encrypt_planes(masks(), planes);
        aes::from_planes(planes, blocks);
        // Makes the result depend on all 32 blocks without changing it, so that the compiler cannot remove any block.
        uint4 all = blocks[0];
#pragma unroll
        for (unsigned j = 1; j < 32; ++j) {
            all.x |= blocks[j].x, all.y |= blocks[j].y, all.z |= blocks[j].z, all.w |= blocks[j].w;
        }
        const bool never = (all.x | all.y | all.z | all.w) == 0;
        return never ? make_uint4(0, 0, 0, 0) : blocks[0];
    }

private:
    static __device__ __forceinline__ Key& masks() {
        return *reinterpret_cast<Key*>(dynamic_shared());
    }
};

__device__ __forceinline__ std::uint32_t sum(uint4 v) {
    return v.x ^ v.y ^ v.z ^ v.w;
}

/// Each thread block consists of one warp, is the only thread block on its multiprocessor, and takes its measurements
/// one after the other. Data dependencies keep the timed work between the two clock reads: the input of the work
/// depends on the first read, and the vote before the second read depends on the output of the work. A vote waits until
/// the values of all lanes are available.
template <Timed S>
__global__ void __launch_bounds__(32) time_warp(const __grid_constant__ TimerParams p) {
    const Subject<S> subject(p.cipher);
    subject.load();
    for (std::uint32_t i = blockIdx.x; i < p.count; i += gridDim.x) {
        __syncwarp();
        subject.key(p.keys + std::size_t{i} * p.key_stride);
        uint4 block = __ldcs(p.texts + std::size_t{i} * p.text_stride + threadIdx.x);
        __syncwarp();
        const int before = __any_sync(~0u, sum(block) == 0x5a17c0deu);
        const long long start = clock64();
        block.x ^= static_cast<std::uint32_t>(start) & p.zero;
        const uint4 out = subject.run(block);
        const int after = __any_sync(~0u, sum(out) == 0x5a17c0deu);
        const long long end = clock64();
        p.ciphertexts[std::size_t{i} * 32 + threadIdx.x] = out;
        if (threadIdx.x == 0) {
            p.cycles[i] =
                static_cast<std::uint32_t>(end - start) + (static_cast<std::uint32_t>(before + after) & p.zero);
        }
    }
}

template <Timed S>
void start(const TimerParams& p, unsigned multiprocessors, const Stream& stream) {
    launch(&time_warp<S>, std::min(p.count, multiprocessors), 32, Subject<S>::shared, stream, p);
}

void start(Timed subject, const TimerParams& p, unsigned multiprocessors, const Stream& stream) {
    switch (subject) {
    case Timed::constant:
        return start<Timed::constant>(p, multiprocessors, stream);
    case Timed::shared:
        return start<Timed::shared>(p, multiprocessors, stream);
    case Timed::global:
        return start<Timed::global>(p, multiprocessors, stream);
    case Timed::texture:
        return start<Timed::texture>(p, multiprocessors, stream);
    case Timed::replicated:
        return start<Timed::replicated>(p, multiprocessors, stream);
    case Timed::production:
        return start<Timed::production>(p, multiprocessors, stream);
    case Timed::bitsliced:
        return start<Timed::bitsliced>(p, multiprocessors, stream);
    }
}

std::uint8_t* at_least(DeviceMemory& memory, std::size_t bytes) {
    if (memory.size() < bytes) memory = DeviceMemory(bytes);
    return memory.get();
}

}  // namespace

WarpTimer::WarpTimer() {
    int device = 0;
    check(cudaGetDevice(&device), "asking for the device");
    multiprocessors_ = static_cast<unsigned>(properties(device).multiprocessors);
}

WarpTimes WarpTimer::measure(Timed subject, const WarpInputs& inputs, bool with_ciphertexts) {
    const std::size_t count = inputs.count;
    const bool one_text = inputs.texts.size() == warp_text, one_key = inputs.keys.size() == schedule_words;
    if (count == 0 || count > 1u << 24) throw std::invalid_argument("count: 1 to 2^24");
    if (!one_text && inputs.texts.size() != count * warp_text) throw std::invalid_argument("texts: one, or count");
    if (!one_key && inputs.keys.size() != count * schedule_words) throw std::invalid_argument("keys: one, or count");

    const TablesOnDevice tables(false);
    TimerParams p{};
    tables.tell(p.cipher);
    p.texts = reinterpret_cast<const uint4*>(at_least(texts_, inputs.texts.size()));
    p.keys = reinterpret_cast<const std::uint32_t*>(at_least(keys_, inputs.keys.size_bytes()));
    p.ciphertexts = reinterpret_cast<uint4*>(at_least(ciphertexts_, count * warp_text));
    p.cycles = reinterpret_cast<std::uint32_t*>(at_least(cycles_, count * sizeof(std::uint32_t)));
    p.count = static_cast<std::uint32_t>(count);
    p.text_stride = one_text && count > 1 ? 0 : warp_text / 16;
    p.key_stride = one_key && count > 1 ? 0 : schedule_words;
    copy(texts_.get(), inputs.texts.data(), inputs.texts.size(), stream_);
    copy(keys_.get(), inputs.keys.data(), inputs.keys.size_bytes(), stream_);
    start(subject, p, multiprocessors_, stream_);

    WarpTimes times;
    times.cycles.resize(count);
    copy(times.cycles.data(), cycles_.get(), count * sizeof(std::uint32_t), stream_);
    if (with_ciphertexts) {
        times.ciphertexts.resize(count * warp_text);
        copy(times.ciphertexts.data(), ciphertexts_.get(), times.ciphertexts.size(), stream_);
    }
    stream_.synchronize();
    return times;
}

}  // namespace lab::gpu
