// GHASH of many messages under one key on tensor cores (ghash_mma.cuh): a message is a row, with its associated data,
// its text and its lengths. All rows take the same powers of H, no digests have to be combined, and the tag follows
// from a row's digest.
//
// Each of a row's blocks comes from the text, or is one of its edges: blocks of associated data, the text's partial
// block, the lengths. Edges are first put together in shared memory, so that the loop over the blocks has no loads but
// of whole blocks. Messages are sorted by length. The four warps that wide_mma takes together read as many blocks as
// the longest of their messages has; in shorter rows zeros stand in front. They never wait for the other warps of their
// thread block: while some look up messages and put edges together, others multiply.
#pragma once

#include "cuda/kernels/batch_message.cuh"
#include "cuda/kernels/ghash_mma.cuh"

namespace warpaes::cuda {

/// `bytes` bytes (0 to 16) at any address, padded with zeros.
__device__ __forceinline__ uint4 load_part(const std::uint8_t* p, unsigned bytes) {
    if (bytes == block_bytes && reinterpret_cast<std::uintptr_t>(p) % 16 == 0) return load_block(p, 16);
    if (reinterpret_cast<std::uintptr_t>(p) % 4 != 0 || bytes % 4 != 0) return load_tail(p, bytes);
    const auto* const words = reinterpret_cast<const std::uint32_t*>(p);
    const auto word = [&](unsigned i) { return 4 * i < bytes ? words[i] : 0; };
    return make_uint4(word(0), word(1), word(2), word(3));
}

/// A message as one lane reads it: every fourth block.
template <bool Aligned>
struct MessageReader {
    const std::uint8_t* text;  ///< where block 4 * quad + q of the row would be, if all of the row were text
    const uint4* edges;
    int at;                            ///< number of that block in the message; negative: a zero in front
    int text_begin, text_end, blocks;  ///< numbers of the text's whole blocks, which edges surround, and of all
    std::uint32_t alignment;           ///< of the text

    __device__ __forceinline__ uint4 load(std::uint32_t quad, int ahead, std::uint32_t quads) const {
        const int block = at + 4 * ahead;
        const bool present = block >= text_begin && block < text_end && quad + ahead < quads;
        const std::uint8_t* const from = text + ahead * 4 * static_cast<int>(block_bytes);
        if (Aligned) return load_block_if(present, from);
        return present ? load_block(global(from), alignment) : uint4{};
    }
    __device__ __forceinline__ uint4 with_edge(uint4 loaded, std::uint32_t, int index, std::uint32_t) const {
        const int block = at + 4 * index;
        uint4 edge{};
        if (block >= 0 && block < text_begin) edge = edges[block];
        if (block >= text_end && block < blocks) edge = edges[block - text_end + text_begin];
        return loaded ^ edge;
    }
    __device__ __forceinline__ void advance(int by) {
        at += 4 * by;
        text += by * 4 * static_cast<int>(block_bytes);
    }
};

/// Encryption adds E(J0) and writes tags; decryption leaves digests.
template <int Stages, int Batch, int Slots, bool Aligned, bool Wide>
__global__ void __launch_bounds__(GcmRows::threads, 1) ghash_messages_kernel(const __grid_constant__ GcmRowsParams p) {
    constexpr unsigned rows_per_warp = 8, together = 4;
    const Powers<Slots, Wide && has_wide_mma> powers;
    auto* const all_edges = reinterpret_cast<uint4*>(dynamic_shared() + Slots * powers.slot_bytes);
    powers.fill(p.powers);
    __syncthreads();

    const GcmBatchParams& batch = p.batch;
    const unsigned g = lane_id() / 4, q = lane_id() % 4;
    uint4* const edges = all_edges + threadIdx.x / 4 * GcmRows::most_edges;
    const std::uint64_t rows = batch.end - batch.first, at_once = global_warps() * rows_per_warp;
    const std::uint64_t rounds = (rows + at_once - 1) / at_once;
    for (std::uint64_t round = 0; round < rounds; ++round) {
        const std::uint64_t row = round * at_once + global_warp() * rows_per_warp + g;
        const bool present = row < rows;
        const std::uint64_t number = batch.first + (present ? row : rows - 1);
        const BatchMessage m(batch, number);
        const BatchGroup& group = *m.group;
        const std::uint8_t* const text = global(batch.decrypts != 0 ? group.input + m.index * group.input_stride
                                                                    : group.output + m.index * group.output_stride);
        const std::uint8_t* const aad = global(group.aad + m.index * group.aad_stride);
        const auto aad_bytes = static_cast<unsigned>(group.aad_length);
        const auto aad_blocks = static_cast<int>((aad_bytes + block_bytes - 1) / block_bytes);
        const auto whole = static_cast<int>(group.length / block_bytes);
        const auto rest = static_cast<unsigned>(group.length % block_bytes);
        const int partial = rest != 0 ? 1 : 0, blocks = aad_blocks + whole + partial + 1;

        // The first message of the four warps is the longest one, by its text.
        const std::uint64_t first = round * at_once + global_warp() / together * together * rows_per_warp;
        const BatchMessage longest(batch, batch.first + (first < rows ? first : rows - 1));
        constexpr int step = 4 * Stages * Batch;
        const int most = static_cast<int>(longest.group->length / block_bytes) + static_cast<int>(p.most_edges);
        const int row_blocks = first < rows ? (most + step - 1) / step * step : 0;
        const int zeros = row_blocks - blocks;
        MessageReader<Aligned> reader{text + (static_cast<std::int64_t>(q) - zeros - aad_blocks) * block_bytes,
                                      edges,
                                      static_cast<int>(q) - zeros,
                                      aad_blocks,
                                      aad_blocks + whole,
                                      blocks,
                                      group.alignment};
        // While the first loads of text are on their way, the row's four lanes put the edges together.
        const auto put_edges = [&] {
#pragma unroll
            for (unsigned i = 0; i < GcmRows::most_edges / 4; ++i) {
                const auto edge = static_cast<int>(4 * i + q);
                if (edge < aad_blocks) {
                    const unsigned left = aad_bytes - static_cast<unsigned>(edge) * unsigned{block_bytes};
                    edges[edge] = load_part(aad + edge * static_cast<int>(block_bytes),
                                            left < block_bytes ? left : unsigned{block_bytes});
                } else if (edge < aad_blocks + partial) {
                    edges[edge] = load_part(text + static_cast<std::uint64_t>(whole) * block_bytes, rest);
                } else if (edge == aad_blocks + partial) {
                    edges[edge] = block_of(length_block(aad_bytes, group.length));
                }
            }
            __syncwarp();
        };
        const uint4 digest =
            digest_of_rows<Stages, Batch>(powers, reader, static_cast<std::uint32_t>(row_blocks / 4), q, put_edges);
        if (q == 0 && present) {
            if (batch.decrypts != 0) {
                batch.digests[number] = digest;
            } else {
                (void)settle_tag(m, digest ^ take(batch.pads + number), false);
            }
        }
        __syncwarp();
    }
}

}  // namespace warpaes::cuda
