#include <algorithm>
#include <stdexcept>

#include "aes/key_schedule.hpp"
#include "lab/gpu/contenders.hpp"
#include "lab/gpu/launch.hpp"
#include "lab/gpu/rounds.cuh"

namespace lab::gpu {
namespace {

constexpr unsigned threads = 256, of_group = 16;
constexpr Entry entry{{.bytes = 1,
                       .tables = TableMemory::constant,
                       .state = StateMemory::shared_aos,
                       .exchange = Exchange::warp_synchronous,
                       .access = Access::bytes,
                       .persistent = true},
                      {}};

/// The text of the groups follows the states in shared memory. Each thread copies N bytes of it, 4 or 8.
template <unsigned N>
__global__ void __launch_bounds__(threads) grouped_kernel(const __grid_constant__ Params p) {
    using Word = std::conditional_t<N == 4, std::uint32_t, uint2>;
    const Lookup<entry.variant, false> tables(p);
    const Keys<entry.variant> keys(p);
    const unsigned j = threadIdx.x % of_group;
    unsigned char* const text = dynamic_shared() + state_bytes(entry.variant, threads) + (threadIdx.x - j) * N;
    const std::uint64_t at = (std::uint64_t{blockIdx.x} * threads + threadIdx.x) * N;
    const bool inside = at < 16 * p.blocks;
    if (inside) *reinterpret_cast<Word*>(text + j * N) = *reinterpret_cast<const Word*>(p.input + at);
    __syncwarp();
    for (unsigned b = 0; b < N; ++b) {
        const std::uint32_t byte = run_rounds<entry>(tables, keys, std::uint32_t{text[16 * b + j]});
        text[16 * b + j] = static_cast<unsigned char>(byte);
    }
    __syncwarp();
    if (inside) *reinterpret_cast<Word*>(p.output + at) = *reinterpret_cast<const Word*>(text + j * N);
}

}  // namespace

void run_grouped(std::span<const std::uint8_t> key, unsigned blocks_of_group, const std::uint8_t* input,
                 std::uint8_t* output, std::size_t bytes, const Stream& stream) {
    if (key.size() != 16) throw std::invalid_argument("key: 16 bytes");
    if (blocks_of_group != 4 && blocks_of_group != 8) throw std::invalid_argument("blocks_of_group: 4 or 8");
    if (bytes % 16 != 0) throw std::invalid_argument("bytes: whole blocks");
    if (bytes == 0) return;
    Params p{};
    p.input = input;
    p.output = output;
    p.blocks = bytes / 16;
    const auto words = warpaes::expand_key(key).words;
    std::copy(words.begin(), words.begin() + 44, p.round_keys);
    const std::uint64_t of_thread_block = std::uint64_t{threads} / of_group * blocks_of_group;
    const auto grid = static_cast<unsigned>((p.blocks + of_thread_block - 1) / of_thread_block);
    const unsigned shared = state_bytes(entry.variant, threads) + threads * blocks_of_group;
    launch(blocks_of_group == 4 ? &grouped_kernel<4> : &grouped_kernel<8>, grid, threads, shared, stream, p);
}

}  // namespace lab::gpu
