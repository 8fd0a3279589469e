// GHASH of many messages under one key or a few keys on tensor cores (ghash_mma.cuh): a message is a row, with its
// associated data, its text and its lengths. All rows under the same key use the same powers of H, no digests have to
// be combined, and the tag follows from a row's digest.
//
// Each of a row's blocks is a block of the text or one of the row's edges: blocks of associated data, the text's
// partial block, the lengths. Messages under the same key are sorted by length. The four warps that execute wide_mma
// together read as many blocks as the longest of their messages has; shorter rows have leading zeros.
//
// A thread block processes tiles of 64 messages under the same key, and builds new matrices when it reaches the next
// key. A warp copies its rows to a ring in shared memory, four steps ahead of its products. This includes the first
// blocks of the next tile, whose descriptors, edges and E(J0) it loads while it multiplies the blocks of the current
// tile. A lane reads only data that it has copied itself, so the warps wait for each other only when the key changes.
#include "cuda/kernels/batch_message.cuh"
#include "cuda/kernels/catalogue.hpp"
#include "cuda/kernels/copy_async.cuh"
#include "cuda/kernels/ghash_mma.cuh"
#include "cuda/tuning/batch_gcm.hpp"
#include "cuda/tuning/ghash.hpp"

namespace warpaes::cuda {

/// The description of a row that the products need.
struct RowEdges {
    int at;  ///< number of this lane's next block; negative: a leading zero
    int text_begin, text_end,
        blocks;  ///< number of whole blocks of text, which edges surround, and number of all blocks

    [[nodiscard]] __device__ __forceinline__ bool is_text(int block) const {
        return block >= text_begin && block < text_end;
    }
    /// Returns this lane's block; `loaded` is its text.
    [[nodiscard]] __device__ __forceinline__ uint4 block(const uint4* edges, uint4 loaded, int number) const {
        if (number >= 0 && number < text_begin) loaded = loaded ^ edges[number];
        if (number >= text_end && number < blocks) loaded = loaded ^ edges[number - text_end + text_begin];
        return loaded;
    }
};

/// The destination of a row's result.
struct RowResult {
    std::uint8_t* at = nullptr;  ///< the tag, or the digest; null in lanes that store nothing
    unsigned bytes = 0;
};

/// A row whose text is being loaded.
template <int Batch, bool Aligned>
struct RowLoader {
    static constexpr int edges_each = GcmRows::most_edges / 4;

    RowEdges row;
    const std::uint8_t* text;  ///< where the lane's next block would be if the whole row were text
    std::uint32_t alignment;
    std::uint32_t quads, quad = 0;  ///< number of quads (four blocks each) in the row, and number of quads loaded
    uint4 edges[edges_each];        ///< number q, q + 4 …
    RowResult result;

    /// Row g of a warp, in lane 4g + q. `number` is the message number, and `longest` is the longest message of the
    /// four warps, or null if they have no messages. When encrypting, E(J0) is in shared memory at `pad` as soon as the
    /// next blocks are.
    __device__ __forceinline__ RowLoader(const GcmRowsParams& p, std::uint64_t number, bool present,
                                         const BatchGroup* longest, unsigned q, unsigned char* pad) {
        const GcmBatchParams& batch = p.batch;
        const BatchMessage m(batch, number);
        const BatchGroup& group = *m.group;
        text = global(batch.decrypts != 0 ? group.input + m.index * group.input_stride
                                          : group.output + m.index * group.output_stride);
        const std::uint8_t* const aad = global(group.aad + m.index * group.aad_stride);
        const auto aad_bytes = static_cast<unsigned>(group.aad_length);
        const auto aad_blocks = static_cast<int>((aad_bytes + block_bytes - 1) / block_bytes);
        const auto whole = static_cast<int>(group.length / block_bytes);
        const auto rest = static_cast<unsigned>(group.length % block_bytes);
        const int partial = rest != 0 ? 1 : 0, blocks = aad_blocks + whole + partial + 1;
#pragma unroll
        for (int i = 0; i < edges_each; ++i) {
            const int edge = 4 * i + static_cast<int>(q);
            edges[i] = uint4{};
            if (edge < aad_blocks) {
                const unsigned left = aad_bytes - static_cast<unsigned>(edge) * unsigned{block_bytes};
                edges[i] = load_part(aad + edge * static_cast<int>(block_bytes),
                                     left < block_bytes ? left : unsigned{block_bytes});
            } else if (edge < aad_blocks + partial) {
                edges[i] = load_part(text + static_cast<std::uint64_t>(whole) * block_bytes, rest);
            } else if (edge == aad_blocks + partial) {
                edges[i] = block_of(length_block(aad_bytes, group.length));
            }
        }
        if (q == 0 && present) {
            if (batch.decrypts != 0) {
                result.at = reinterpret_cast<std::uint8_t*>(batch.digests + number);
                result.bytes = block_bytes;
            } else {
                result.at = group.tag + m.index * group.tag_stride;
                result.bytes = group.tag_length;
                copy_async_16(pad, reinterpret_cast<const std::uint8_t*>(batch.pads + number));
            }
        }
        constexpr int step = 4 * Batch;
        const int most =
            longest == nullptr ? 0 : static_cast<int>(longest->length / block_bytes) + static_cast<int>(p.most_edges);
        const int row_blocks = (most + step - 1) / step * step;
        quads = static_cast<std::uint32_t>(row_blocks / 4);
        const int first = static_cast<int>(q) - (row_blocks - blocks);
        if (present) row = {first, aad_blocks, aad_blocks + whole, blocks};
        if (!present) row = {first, 0, 0, 0};
        text += (static_cast<std::int64_t>(first) - aad_blocks) * static_cast<int>(block_bytes);
        alignment = group.alignment;
    }

    [[nodiscard]] __device__ __forceinline__ bool done() const {
        return quad == quads;
    }

    /// Copies the next blocks to this lane's slot in the ring.
    __device__ __forceinline__ void load(unsigned char* to) {
#pragma unroll
        for (int u = 0; u < Batch; ++u) {
            const bool present = row.is_text(row.at + 4 * u);
            const std::uint8_t* const from = text + 4 * u * static_cast<int>(block_bytes);
            unsigned char* const here = to + u * warp_lanes * block_bytes;
            if (Aligned || alignment == 16) {
                copy_async_16_if(present, here, from);
            } else {
                *reinterpret_cast<uint4*>(here) = present ? load_block(from, alignment) : uint4{};
            }
        }
        copy_async_commit();
        row.at += 4 * Batch;
        text += 4 * Batch * static_cast<int>(block_bytes);
        quad += Batch;
    }
};

/// Encryption adds E(J0) and writes tags; decryption stores digests.
template <int Batch, int Depth, int Slots, bool Aligned, bool Wide>
__global__ void __launch_bounds__(GcmRows::threads, GcmRows::blocks_each)
    ghash_messages_kernel(const __grid_constant__ GcmRowsParams p) {
    using G = GcmRows;
    constexpr unsigned rows_per_warp = 8, together = 4, slot_bytes = Batch * warp_lanes * block_bytes;
    const Powers<Slots, Wide && has_wide_mma> powers;
    const unsigned warp = threadIdx.x / warp_lanes, g = lane_id() / 4, q = lane_id() % 4;
    unsigned char* const ring =
        dynamic_shared() + Slots * powers.slot_bytes + warp * G::warp_bytes + lane_id() * block_bytes;
    auto* const behind_ring = reinterpret_cast<uint4*>(ring - lane_id() * block_bytes + unsigned{Depth} * slot_bytes);
    uint4* const edges = behind_ring + g * G::most_edges;
    uint4* const pads = behind_ring + rows_per_warp * G::most_edges + g;  // for every second tile, followed by space
                                                                          // for the other tiles

    // The tile being loaded, and the tile's run.
    std::uint32_t tile = blockIdx.x * p.tiles_at_once, run = 0;
    unsigned next_pad = 0;
    const auto loader_of_tile = [&] {
        KeyRun its{.first = p.batch.first, .messages = p.batch.end - p.batch.first};
        if (p.runs != nullptr) {
            if (run + 1 < p.run_count && p.runs[run + 1].first_tile <= tile) {
                run = find_in<&KeyRun::first_tile>(p.runs, p.run_count, tile);
            }
            its = p.runs[run];
        }
        const std::uint64_t first = (tile - its.first_tile) * G::tile_rows + warp / together * together * rows_per_warp;
        const std::uint64_t row = first + warp % together * rows_per_warp + g;
        const bool present = row < its.messages;
        const BatchGroup* longest = nullptr;
        if (first < its.messages) longest = BatchMessage(p.batch, its.first + first).group;
        return RowLoader<Batch, Aligned>(p, its.first + (present ? row : its.messages - 1), present, longest, q,
                                         reinterpret_cast<unsigned char*>(pads + next_pad));
    };
    if (tile >= p.tiles) return;
    RowLoader<Batch, Aligned> loader = loader_of_tile();
    bool is_ahead = true;  // whether the loader's tile is the next tile rather than the current tile
    unsigned loaded = 0, used = 0;

    std::uint32_t run_of_powers = ~0u;
    RowEdges row{};
    RowResult result;
    const uint4* pad = pads;
    std::uint32_t quads = 0, quad = 0;
    int at = 0;
    RowCounts counts;
    bool add = false;
    uint4 digest{};
    for (;;) {
        // Load as many blocks as there is space for.
        while (loaded - used < unsigned{Depth}) {
            if (!loader.done()) {
                loader.load(ring + loaded % unsigned{Depth} * slot_bytes);
                ++loaded;
                continue;
            }
            if (is_ahead) break;
            ++tile;
            if (tile % p.tiles_at_once == 0) tile += (gridDim.x - 1) * p.tiles_at_once;
            if (tile >= p.tiles) break;
            loader = loader_of_tile();
            is_ahead = true;
        }
        if (quad == quads) {
            if (result.at != nullptr) {
                if (p.batch.decrypts == 0) digest = digest ^ *pad;
                store_tail(result.at, digest, result.bytes);
            }
            if (!is_ahead) return;
            // The tile that was loaded first becomes the current tile.
            row = loader.row;
            at = row.at - 4 * static_cast<int>(loader.quad);
            quads = loader.quads;
            quad = 0;
            result = loader.result;
            add = false;
            pad = pads + next_pad;
            next_pad ^= rows_per_warp;
            is_ahead = false;
            __syncwarp();
#pragma unroll
            for (int i = 0; i < RowLoader<Batch, Aligned>::edges_each; ++i) edges[4 * i + q] = loader.edges[i];
            __syncwarp();
            if (run != run_of_powers) {
                run_of_powers = run;
                __syncthreads();
                if (p.runs == nullptr) {
                    powers.fill(p.powers);
                } else {
                    powers.fill(p.run_powers + std::size_t{run} * HashKey::count);
                }
                __syncthreads();
            }
            continue;
        }
        if (loaded - used == unsigned{Depth}) {
            copy_async_wait<Depth - 1>();
        } else {
            copy_async_wait<0>();
        }
        uint4 x[Batch];
#pragma unroll
        for (int u = 0; u < Batch; ++u) {
            x[u] = *reinterpret_cast<const uint4*>(ring + used % unsigned{Depth} * slot_bytes +
                                                   u * warp_lanes * block_bytes);
        }
        // Only the first and last blocks of a row are edges.
        if (at < row.text_begin || at + 4 * (Batch - 1) >= row.text_end) {
#pragma unroll
            for (int u = 0; u < Batch; ++u) x[u] = row.block(edges, x[u], at + 4 * u);
        }
        if (quad != 0 && !add && q == 0) x[0] = x[0] ^ digest;
        ++used;
        at += 4 * Batch;
        const unsigned slot = (quads - 1 - quad) % Slots;
        quad += Batch;
        powers.begin();
#pragma unroll
        for (int u = 0; u < Batch; ++u) powers.multiply(counts, x[u], slot - u, u != 0 || add);
        powers.end();
        add = slot != Batch - 1;
        if (!add) digest = counts.digest(q);
    }
}

namespace {

template <bool Aligned>
Kernel<GcmRowsParams> kernel_for(bool wide) {
    if (wide) return &ghash_messages_kernel<GcmRows::batch, GcmRows::depth, GhashMma::slots, Aligned, true>;
    return &ghash_messages_kernel<GcmRows::batch, GcmRows::depth, GhashMma::slots, Aligned, false>;
}

}  // namespace

Kernel<GcmRowsParams> ghash_messages_kernel_for(bool wide, bool aligned) {
    return aligned ? kernel_for<true>(wide) : kernel_for<false>(wide);
}

}  // namespace warpaes::cuda
