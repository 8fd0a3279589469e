#include <algorithm>
#include <stdexcept>
#include <vector>

#include "aes/key_schedule.hpp"
#include "lab/gpu/contenders.hpp"
#include "lab/gpu/launch.hpp"
#include "lab/gpu/lookup.cuh"
#include "lab/gpu/tables_on_device.hpp"

namespace lab::gpu {
namespace {

constexpr unsigned threads = 512;
constexpr std::uint64_t counters_of_group = 65'536;
constexpr Variant variant{.tables = TableMemory::replicated, .table_count = 1, .persistent = true};

struct CachedParams {
    Params cipher;
    const uint4* cached;  ///< for each group of 65,536 counters: the first round without bytes 14 and 15 of the counter
};

/// Only bytes 14 and 15 differ within a group. They are in rows 2 and 3 of the last column, so the first round's
/// columns 2 and 3 are constant, and columns 0 and 1 require one lookup each. A block therefore requires 146 lookups
/// instead of 160.
__global__ void __launch_bounds__(threads) cached_counter_kernel(const __grid_constant__ CachedParams p) {
    const Lookup<variant, false> tables(p.cipher);
    tables.load();
    __syncthreads();
    const std::uint32_t* const keys = p.cipher.round_keys;
    const std::uint64_t step = std::uint64_t{gridDim.x} * threads, first_group = p.cipher.counter_low >> 16;
    for (std::uint64_t i = std::uint64_t{blockIdx.x} * threads + threadIdx.x; i < p.cipher.blocks; i += step) {
        const std::uint64_t counter = p.cipher.counter_low + i;
        const uint4 cached = __ldg(p.cached + (((counter >> 16) - first_group) & 0xffffffffffff));
        const std::uint32_t last = __byte_perm(static_cast<std::uint32_t>(counter), 0, 0x0123) ^ keys[3];
        std::uint32_t s[4] = {cached.x ^ tables.t<3, 3>(last), cached.y ^ tables.t<2, 2>(last), cached.z, cached.w};
#pragma unroll
        for (unsigned r = 2; r < 10; ++r) {
            std::uint32_t next[4];
#pragma unroll
            for (unsigned c = 0; c < 4; ++c) {
                next[c] = tables.t<0, 0>(s[c]) ^ tables.t<1, 1>(s[(c + 1) % 4]) ^ tables.t<2, 2>(s[(c + 2) % 4]) ^
                          tables.t<3, 3>(s[(c + 3) % 4]) ^ keys[4 * r + c];
            }
#pragma unroll
            for (unsigned c = 0; c < 4; ++c) s[c] = next[c];
        }
        std::uint32_t stream[4];
#pragma unroll
        for (unsigned c = 0; c < 4; ++c) {
            stream[c] = tables.s<0, 1, 2, 3>(s[c], s[(c + 1) % 4], s[(c + 2) % 4], s[(c + 3) % 4]) ^ keys[40 + c];
        }
        const uint4 text = reinterpret_cast<const uint4*>(p.cipher.input)[i];
        reinterpret_cast<uint4*>(p.cipher.output)[i] =
            make_uint4(text.x ^ stream[0], text.y ^ stream[1], text.z ^ stream[2], text.w ^ stream[3]);
    }
}

std::uint32_t swapped(std::uint64_t v) {
    return __builtin_bswap32(static_cast<std::uint32_t>(v));
}

}  // namespace

struct CachedCounter::State {
    TablesOnDevice tables{false};
    DeviceMemory cached;
    Params params{};
    std::uint64_t blocks = 0;
    unsigned grid = 0;
};

CachedCounter::CachedCounter(std::span<const std::uint8_t> key, std::span<const std::uint8_t> counter,
                             std::size_t bytes) {
    if (key.size() != 16) throw std::invalid_argument("key: 16 bytes");
    if (counter.size() != 16) throw std::invalid_argument("counter: 16 bytes");
    auto state = std::make_unique<State>();
    state->blocks = bytes / 16;
    Params& p = state->params;
    state->tables.tell(p);
    const auto words = warpaes::expand_key(key).words;
    std::copy(words.begin(), words.begin() + 44, p.round_keys);
    for (std::size_t i = 0; i < 16; ++i) {
        std::uint64_t& half = i < 8 ? p.counter_high : p.counter_low;
        half = half << 8 | counter[i];
    }

    const Tables tables = make_tables(false);
    const auto t = [&](unsigned row, std::uint32_t word) { return tables.t[256 * row + (word >> 8 * row & 0xff)]; };
    std::vector<std::uint32_t> cached;
    const std::uint64_t groups = state->blocks / counters_of_group + 2;
    for (std::uint64_t g = 0; g < groups; ++g) {
        // In the kernel, a group's index wraps with the low half of the counter, so the carry is added to the high half
        // here.
        const std::uint64_t low = (p.counter_low >> 16 << 16) + g * counters_of_group;
        const std::uint64_t high = p.counter_high + (low < p.counter_low >> 16 << 16);
        const std::uint32_t w[4] = {swapped(high >> 32) ^ words[0], swapped(high) ^ words[1],
                                    swapped(low >> 32) ^ words[2], swapped(low) ^ words[3]};
        for (unsigned c = 0; c < 4; ++c) {
            std::uint32_t column = words[4 + c];
            for (unsigned row = 0; row < 4; ++row) {
                const unsigned from = (c + row) % 4;
                if (from == 3 && row >= 2) continue;  // bytes 14 and 15
                column ^= t(row, w[from]);
            }
            cached.push_back(column);
        }
    }
    state->cached = DeviceMemory(4 * cached.size());
    copy(state->cached.get(), cached.data(), 4 * cached.size());

    int device = 0, at_once = 0;
    check(cudaGetDevice(&device), "asking for the device");
    const auto* const kernel = reinterpret_cast<const void*>(&cached_counter_kernel);
    allow_shared(kernel, table_bytes(variant));
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&at_once, kernel, threads, table_bytes(variant)),
          "asking for a kernel's occupancy");
    state->grid = static_cast<unsigned>(std::max(at_once, 1) * properties(device).multiprocessors);
    state_ = std::move(state);
}

CachedCounter::~CachedCounter() = default;

void CachedCounter::run(const std::uint8_t* input, std::uint8_t* output, std::size_t bytes,
                        const Stream& stream) const {
    if (bytes % 16 != 0 || bytes / 16 > state_->blocks) {
        throw std::invalid_argument("bytes: whole blocks, as many as were prepared");
    }
    if (bytes == 0) return;
    CachedParams p{state_->params, reinterpret_cast<const uint4*>(state_->cached.get())};
    p.cipher.input = input;
    p.cipher.output = output;
    p.cipher.blocks = bytes / 16;
    const std::uint64_t wanted = (p.cipher.blocks + threads - 1) / threads;
    launch(&cached_counter_kernel, static_cast<unsigned>(std::min<std::uint64_t>(wanted, state_->grid)), threads,
           table_bytes(variant), stream, p);
}

}  // namespace lab::gpu
