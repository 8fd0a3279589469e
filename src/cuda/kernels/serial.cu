// Modes and directions in which each block depends on the previous block: CBC, CFB and OFB encryption. A single message
// occupies only one thread; these kernels exist so that the `cuda` backend supports every mode when a caller requests
// it by name.
#include "aes/types.hpp"
#include "cuda/kernels/catalogue.hpp"
#include "cuda/kernels/cipher.cuh"
#include "cuda/kernels/memory.cuh"
#include "cuda/kernels/params.cuh"
#include "cuda/kernels/segments.cuh"
#include "cuda/tuning/shapes.hpp"

namespace warpaes::cuda {

template <Mode M, int Rounds, int Tables>
__global__ void __launch_bounds__(most_table_threads, 1) serial_kernel(const __grid_constant__ Params p) {
    const SharedTables<Tables> tables;
    tables.fill(te0_table);
    if (threadIdx.x != 0) return;

    uint4 chain = p.chain;
    if constexpr (M == Mode::cfb8) {
        for (std::uint64_t at = 0; at < p.length; ++at) {
            const uint4 key_stream = cipher<false, Rounds>(tables, chain, p.round_keys);
            const std::uint32_t text = (p.input[at] ^ key_stream.x) & 0xff;
            p.output[at] = static_cast<std::uint8_t>(text);
            chain = make_uint4(__funnelshift_r(chain.x, chain.y, 8), __funnelshift_r(chain.y, chain.z, 8),
                               __funnelshift_r(chain.z, chain.w, 8), __funnelshift_r(chain.w, text, 8));
        }
    } else if constexpr (M == Mode::cfb1) {
        std::uint32_t out = 0;
        for (std::uint64_t bit = 0; bit < p.length; ++bit) {
            const auto in_byte = static_cast<unsigned>(bit % 8);
            const uint4 key_stream = cipher<false, Rounds>(tables, chain, p.round_keys);
            const std::uint32_t text =
                ((static_cast<std::uint32_t>(p.input[bit / 8]) << in_byte) ^ key_stream.x) & 0x80u;
            chain = shift_in(chain, text, 1);
            out |= text >> in_byte;
            if (in_byte == 7 || bit + 1 == p.length) {
                p.output[bit / 8] = static_cast<std::uint8_t>(out);
                out = 0;
            }
        }
    } else {
        const std::uint64_t whole = p.length / block_bytes;
        for (std::uint64_t at = 0; at < whole; ++at) {
            const uint4 text = load_block(p.input + at * block_bytes, p.alignment);
            uint4 result;
            if constexpr (M == Mode::cbc) {
                result = chain = cipher<false, Rounds>(tables, text ^ chain, p.round_keys);
            } else if constexpr (M == Mode::cfb128) {
                result = chain = cipher<false, Rounds>(tables, chain, p.round_keys) ^ text;
            } else {
                chain = cipher<false, Rounds>(tables, chain, p.round_keys);
                result = chain ^ text;
            }
            store_block(p.output + at * block_bytes, result, p.alignment);
        }
        const auto rest = static_cast<unsigned>(p.length % block_bytes);
        if (rest != 0) {
            const uint4 key_stream = cipher<false, Rounds>(tables, chain, p.round_keys);
            xor_partial_block(p.output + whole * block_bytes, p.input + whole * block_bytes, key_stream, rest);
        }
    }
}

Kernel<Params> serial_kernel_for(Mode mode, int rounds, int tables) {
    return with_rounds_and_tables(rounds, tables, [&]<int Rounds, int Tables>() -> Kernel<Params> {
        switch (mode) {
        case Mode::cbc:
            return &serial_kernel<Mode::cbc, Rounds, Tables>;
        case Mode::cfb128:
            return &serial_kernel<Mode::cfb128, Rounds, Tables>;
        case Mode::cfb8:
            return &serial_kernel<Mode::cfb8, Rounds, Tables>;
        case Mode::cfb1:
            return &serial_kernel<Mode::cfb1, Rounds, Tables>;
        default:
            return &serial_kernel<Mode::ofb, Rounds, Tables>;
        }
    });
}

}  // namespace warpaes::cuda
