#include <algorithm>
#include <array>
#include <bit>
#include <stdexcept>
#include <utility>

#include "lab/gpu/lookup.cuh"
#include "lab/gpu/payload.hpp"

namespace lab::gpu {
namespace {

constexpr unsigned lanes = 32;
/// Four tables in shared memory, the fastest choice in the paper.
constexpr Variant published{};

struct PayloadParams {
    Params tables;  ///< lookups need only the tables' address
    const std::uint8_t* input;
    std::uint8_t* output;
    const LogicalMessage* messages;
    const std::uint32_t* first;
    const uint4* schedules;
    std::uint32_t count, threads;
    ThreadMapping mapping;
    std::uint32_t run_shift;
    std::uint64_t run_distance;
};

using SharedLookup = Lookup<published, false>;

__device__ __forceinline__ uint4 operator^(uint4 a, uint4 b) {
    return make_uint4(a.x ^ b.x, a.y ^ b.y, a.z ^ b.z, a.w ^ b.w);
}

__device__ __forceinline__ std::uint32_t mixed(const SharedLookup& t, std::uint32_t w0, std::uint32_t w1,
                                               std::uint32_t w2, std::uint32_t w3) {
    return t.t<0, 0>(w0) ^ t.t<1, 1>(w1) ^ t.t<2, 2>(w2) ^ t.t<3, 3>(w3);
}

/// The cipher of FIPS 197, 5.1, with the round keys of the message.
__device__ __forceinline__ uint4 encrypt(const SharedLookup& t, uint4 s, const uint4* keys) {
    s = s ^ __ldg(keys);
#pragma unroll
    for (int r = 1; r < 10; ++r) {
        s = make_uint4(mixed(t, s.x, s.y, s.z, s.w), mixed(t, s.y, s.z, s.w, s.x), mixed(t, s.z, s.w, s.x, s.y),
                       mixed(t, s.w, s.x, s.y, s.z)) ^
            __ldg(keys + r);
    }
    return make_uint4(t.s<0, 1, 2, 3>(s.x, s.y, s.z, s.w), t.s<0, 1, 2, 3>(s.y, s.z, s.w, s.x),
                      t.s<0, 1, 2, 3>(s.z, s.w, s.x, s.y), t.s<0, 1, 2, 3>(s.w, s.x, s.y, s.z)) ^
           __ldg(keys + 10);
}

__device__ __forceinline__ std::uint32_t byte_swap(std::uint32_t v) {
    return __byte_perm(v, 0, 0x0123);
}

/// Returns the counter block that is `n` positions after `first` (SP 800-38A, B.1).
__device__ __forceinline__ uint4 counter(uint4 first, std::uint32_t n) {
    const std::uint64_t high = static_cast<std::uint64_t>(byte_swap(first.x)) << 32 | byte_swap(first.y);
    const std::uint64_t low = static_cast<std::uint64_t>(byte_swap(first.z)) << 32 | byte_swap(first.w);
    const std::uint64_t l = low + n, h = high + (l < low);
    return make_uint4(byte_swap(static_cast<std::uint32_t>(h >> 32)), byte_swap(static_cast<std::uint32_t>(h)),
                      byte_swap(static_cast<std::uint32_t>(l >> 32)), byte_swap(static_cast<std::uint32_t>(l)));
}

/// Returns the message of a logical thread: the last message whose first thread does not come after it.
__device__ __forceinline__ std::uint32_t message_of(const PayloadParams& p, std::uint32_t logical) {
    std::uint32_t from = 0, to = p.count;
    while (to - from > 1) {
        const std::uint32_t middle = from + (to - from) / 2;
        (__ldg(p.first + middle) <= logical ? from : to) = middle;
    }
    return from;
}

__device__ __forceinline__ std::uint64_t place_of(const PayloadParams& p, const LogicalMessage& m, std::uint32_t j) {
    return m.text + (j >> p.run_shift) * p.run_distance + (j & ((1u << p.run_shift) - 1)) * 16;
}

/// The modes of a kernel: a single mode, or all modes. A kernel for all modes reads the mode of each message.
constexpr int all_modes = -1;
constexpr std::array<Mode, 5> modes{Mode::ecb, Mode::ctr, Mode::cbc, Mode::cfb128, Mode::ofb};

template <int Only>
__device__ __forceinline__ Mode mode_of(const LogicalMessage& m) {
    if constexpr (Only == all_modes) {
        return m.mode;
    } else {
        return static_cast<Mode>(Only);
    }
}

template <int Only>
__device__ __forceinline__ void run_serial(const PayloadParams& p, const SharedLookup& tables, const LogicalMessage& m,
                                           const uint4* keys) {
    const Mode mode = mode_of<Only>(m);
    uint4 chain = *reinterpret_cast<const uint4*>(p.input + m.iv);
    for (std::uint32_t j = 0; j < m.blocks; ++j) {
        const std::uint64_t at = place_of(p, m, j);
        const uint4 text = *reinterpret_cast<const uint4*>(p.input + at);
        uint4 out;
        if (mode == Mode::cbc) {
            out = chain = encrypt(tables, text ^ chain, keys);
        } else {
            chain = encrypt(tables, chain, keys);
            out = text ^ chain;
            if (mode == Mode::cfb128) chain = out;
        }
        *reinterpret_cast<uint4*>(p.output + at) = out;
    }
}

template <int Only>
__device__ __forceinline__ void run_thread(const PayloadParams& p) {
    const SharedLookup tables(p.tables);
    tables.load();
    __syncthreads();

    std::uint32_t logical = blockIdx.x * blockDim.x + threadIdx.x;
    if (p.mapping == ThreadMapping::striped) {
        logical = (threadIdx.x / lanes * gridDim.x + blockIdx.x) * lanes + threadIdx.x % lanes;
    }
    if (logical >= p.threads) return;
    const std::uint32_t number = message_of(p, logical);
    const LogicalMessage m = p.messages[number];
    const uint4* const keys = p.schedules + m.schedule * (KeySchedules::words / 4);
    const Mode mode = mode_of<Only>(m);
    if (is_serial(mode)) {
        run_serial<Only>(p, tables, m, keys);
        return;
    }
    const std::uint32_t j = logical - __ldg(p.first + number);
    const std::uint64_t at = place_of(p, m, j);
    const uint4 text = *reinterpret_cast<const uint4*>(p.input + at);
    const bool ctr = mode == Mode::ctr;
    const uint4 in = ctr ? counter(*reinterpret_cast<const uint4*>(p.input + m.iv), j) : text;
    const uint4 out = encrypt(tables, in, keys);
    *reinterpret_cast<uint4*>(p.output + at) = ctr ? out ^ text : out;
}

/// The data model's kernel. Its launch bounds set no minimum of resident thread blocks, so the compiler weighs
/// registers against occupancy.
__global__ void __launch_bounds__(PayloadOnDevice::threads_per_block)
    run_payload(const __grid_constant__ PayloadParams p) {
    run_thread<all_modes>(p);
}

/// The launch bounds require only one resident thread block, so they do not limit the number of registers that the
/// compiler may allocate. The kernel uses as many as the mode needs.
template <int Only>
__global__ void __launch_bounds__(PayloadOnDevice::threads_per_block, 1)
    run_freely(const __grid_constant__ PayloadParams p) {
    run_thread<Only>(p);
}

using Kernel = void (*)(PayloadParams);

template <std::size_t... I>
constexpr std::array<Kernel, sizeof...(I)> list_kernels(std::index_sequence<I...>) {
    return {&run_freely<static_cast<int>(modes[I])>...};
}

Kernel free_kernel(std::optional<Mode> alone) {
    static constexpr auto kernels = list_kernels(std::make_index_sequence<modes.size()>());
    if (!alone) return &run_freely<all_modes>;
    return kernels[static_cast<std::size_t>(std::find(modes.begin(), modes.end(), *alone) - modes.begin())];
}

/// Copies `values` to `memory`, which grows if necessary.
template <typename T>
void put(DeviceMemory& memory, std::span<const T> values) {
    if (memory.size() < values.size_bytes()) memory = DeviceMemory(values.size_bytes());
    if (!values.empty()) copy(memory.get(), values.data(), values.size_bytes());
}

}  // namespace

PayloadOnDevice::PayloadOnDevice() {
    constexpr Tables tables = make_tables(false);
    put(tables_, std::span<const Tables>(&tables, 1));
}

void PayloadOnDevice::load(const PreparedPayload& payload, const KeySchedules& schedules) {
    put(messages_, std::span<const LogicalMessage>(payload.messages));
    put(first_, std::span<const std::uint32_t>(payload.first));
    put(schedules_, schedules.schedules());
    count_ = static_cast<std::uint32_t>(payload.messages.size());
    threads_ = payload.threads;
    mode_.reset();
    const auto alike = [&](const LogicalMessage& m) { return m.mode == payload.messages[0].mode; };
    if (count_ != 0 && std::all_of(payload.messages.begin(), payload.messages.end(), alike)) {
        mode_ = payload.messages[0].mode;
    }
}

void PayloadOnDevice::run(const std::uint8_t* input, std::uint8_t* output, ThreadMapping mapping, const Runs& runs,
                          const Stream& stream) const {
    enqueue(reinterpret_cast<const void*>(&run_payload), input, output, mapping, runs, stream);
}

void PayloadOnDevice::run_freely(std::optional<Mode> alone, const std::uint8_t* input, std::uint8_t* output,
                                 const Stream& stream) const {
    if (alone && mode_ != alone) throw std::invalid_argument("alone: the payload has messages of another mode");
    enqueue(reinterpret_cast<const void*>(free_kernel(alone)), input, output, ThreadMapping::natural, {}, stream);
}

void PayloadOnDevice::enqueue(const void* kernel, const std::uint8_t* input, std::uint8_t* output,
                              ThreadMapping mapping, const Runs& runs, const Stream& stream) const {
    if (threads_ == 0) return;
    if (runs.blocks != 0 && !std::has_single_bit(runs.blocks)) throw Error("a run is a power of two of blocks");
    PayloadParams p{};
    p.tables.tables = reinterpret_cast<const Tables*>(tables_.get());
    p.input = input;
    p.output = output;
    p.messages = reinterpret_cast<const LogicalMessage*>(messages_.get());
    p.first = reinterpret_cast<const std::uint32_t*>(first_.get());
    p.schedules = reinterpret_cast<const uint4*>(schedules_.get());
    p.count = count_;
    p.threads = threads_;
    p.mapping = mapping;
    p.run_shift = runs.blocks == 0 ? 31 : static_cast<std::uint32_t>(std::countr_zero(runs.blocks));
    p.run_distance = runs.distance;
    const unsigned blocks = (threads_ + threads_per_block - 1) / threads_per_block;
    launch(reinterpret_cast<Kernel>(const_cast<void*>(kernel)), blocks, threads_per_block, table_bytes(published),
           stream, p);
}

Resources PayloadOnDevice::resources(std::optional<Mode> alone) {
    const auto* const kernel = reinterpret_cast<const void*>(free_kernel(alone));
    const std::size_t shared = table_bytes(published);
    cudaFuncAttributes attributes{};
    check(cudaFuncGetAttributes(&attributes, kernel), "asking for a kernel's attributes");
    int blocks = 0;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, static_cast<int>(threads_per_block), shared),
          "asking for a kernel's occupancy");
    return {attributes.numRegs, attributes.localSizeBytes, attributes.sharedSizeBytes + shared, blocks};
}

}  // namespace lab::gpu
