#include <algorithm>
#include <stdexcept>
#include <warpaes/device.cuh>

#include "lab/gpu/dpf.hpp"
#include "lab/gpu/launch.hpp"

namespace lab::gpu {
namespace {

namespace aes = warpaes::device;

constexpr unsigned threads = 1024, warp = 32;
/// Number of nodes of one key that a warp processes in sequence in the last level, before it sums its lanes.
constexpr std::uint64_t piece = 512;

struct LevelParams {
    const uint4* nodes;
    uint4* children;           ///< children of the nodes, in all levels except the last
    const uint4* corrections;  ///< corrections of the left and the right child, for each key and level
    const uint4* table;        ///< entries of the table, for the last level
    uint4* partial;            ///< sums over pieces of the last level
    std::uint64_t count;       ///< nodes of all keys
    unsigned level, depth;
};

__device__ __forceinline__ uint4 add(uint4 a, uint4 b) {
    return make_uint4(a.x ^ b.x, a.y ^ b.y, a.z ^ b.z, a.w ^ b.w);
}

/// Returns `b` if `bit` is 1, otherwise zero, without a branch.
__device__ __forceinline__ uint4 if_set(std::uint32_t bit, uint4 b) {
    const std::uint32_t mask = 0u - bit;
    return make_uint4(b.x & mask, b.y & mask, b.z & mask, b.w & mask);
}

template <Prg P>
class Generator;

template <>
class Generator<Prg::aes> {
public:
    static constexpr unsigned shared = aes::tables<4>::bytes;
    __device__ __forceinline__ Generator() : tables_(dynamic_shared()) { tables_.load(); }
    __device__ __forceinline__ void operator()(uint4 seed, uint4 (&children)[2]) const {
        aes::counter_prg<128>(tables_, aes::make_key(seed), make_uint4(0, 0, 0, 0), children);
    }

private:
    aes::tables<4> tables_;
};

/// Computes the first 32 bytes of a ChaCha20 block (RFC 8439, 2.3).
template <>
class Generator<Prg::chacha> {
public:
    static constexpr unsigned shared = 0;
    __device__ __forceinline__ void operator()(uint4 seed, uint4 (&children)[2]) const {
        const std::uint32_t start[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574, seed.x, seed.y, seed.z, seed.w,
                                         0,          0,          0,          0,          0,      0,      0,      0};
        std::uint32_t s[16];
#pragma unroll
        for (unsigned i = 0; i < 16; ++i) s[i] = start[i];
#pragma unroll
        for (unsigned r = 0; r < 10; ++r) {
#pragma unroll
            for (unsigned i = 0; i < 4; ++i) quarter(s[i], s[4 + i], s[8 + i], s[12 + i]);
#pragma unroll
            for (unsigned i = 0; i < 4; ++i) {
                quarter(s[i], s[4 + (i + 1) % 4], s[8 + (i + 2) % 4], s[12 + (i + 3) % 4]);
            }
        }
        children[0] = make_uint4(s[0] + start[0], s[1] + start[1], s[2] + start[2], s[3] + start[3]);
        children[1] = make_uint4(s[4] + start[4], s[5] + start[5], s[6] + start[6], s[7] + start[7]);
    }

private:
    static __device__ __forceinline__ std::uint32_t rotated(std::uint32_t v, unsigned bits) {
        return __funnelshift_l(v, v, bits);
    }
    static __device__ __forceinline__ void quarter(std::uint32_t& a, std::uint32_t& b, std::uint32_t& c,
                                                   std::uint32_t& d) {
        a += b, d = rotated(d ^ a, 16);
        c += d, b = rotated(b ^ c, 12);
        a += b, d = rotated(d ^ a, 8);
        c += d, b = rotated(b ^ c, 7);
    }
};

/// Computes the corrected children of node `i` of a level. The nodes of all keys are numbered consecutively.
template <Prg P>
__device__ __forceinline__ void expand(const Generator<P>& generator, const LevelParams& p, std::uint64_t i,
                                       uint4 (&children)[2]) {
    const uint4 node = p.nodes[i];
    generator(make_uint4(node.x & ~1u, node.y, node.z, node.w), children);
    const uint4* const corrections = p.corrections + ((i >> p.level) * p.depth + p.level) * 2;
    children[0] = add(children[0], if_set(node.x & 1, __ldg(corrections)));
    children[1] = add(children[1], if_set(node.x & 1, __ldg(corrections + 1)));
}

template <Prg P>
__global__ void __launch_bounds__(threads) expand_level(const __grid_constant__ LevelParams p) {
    const Generator<P> generator;
    const std::uint64_t step = std::uint64_t{gridDim.x} * threads;
    for (std::uint64_t i = std::uint64_t{blockIdx.x} * threads + threadIdx.x; i < p.count; i += step) {
        uint4 children[2];
        expand<P>(generator, p, i, children);
        p.children[2 * i] = children[0];
        p.children[2 * i + 1] = children[1];
    }
}

__device__ __forceinline__ uint4 summed(uint4 v) {
#pragma unroll
    for (int lanes = 16; lanes > 0; lanes /= 2) {
        v.x ^= __shfl_xor_sync(~0u, v.x, lanes);
        v.y ^= __shfl_xor_sync(~0u, v.y, lanes);
        v.z ^= __shfl_xor_sync(~0u, v.z, lanes);
        v.w ^= __shfl_xor_sync(~0u, v.w, lanes);
    }
    return v;
}

/// Processes the last level, whose children are not stored. Sums the table entries whose control bit is 1.
template <Prg P>
__global__ void __launch_bounds__(threads) sum_leaves(const __grid_constant__ LevelParams p, std::uint64_t of_piece) {
    const Generator<P> generator;
    const std::uint64_t mask = (std::uint64_t{1} << p.level) - 1, step = std::uint64_t{gridDim.x} * (threads / warp);
    for (std::uint64_t at = std::uint64_t{blockIdx.x} * (threads / warp) + threadIdx.x / warp; at * of_piece < p.count;
         at += step) {
        uint4 sum = make_uint4(0, 0, 0, 0);
        for (std::uint64_t i = at * of_piece + threadIdx.x % warp; i < (at + 1) * of_piece; i += warp) {
            uint4 children[2];
            expand<P>(generator, p, i, children);
            const uint4* const entries = p.table + 2 * (i & mask);
            sum = add(sum, if_set(children[0].x & 1, __ldg(entries)));
            sum = add(sum, if_set(children[1].x & 1, __ldg(entries + 1)));
        }
        sum = summed(sum);
        if (threadIdx.x % warp == 0) p.partial[at] = sum;
    }
}

/// Adds the partial sums of each key, with one warp per key.
__global__ void __launch_bounds__(warp) sum_pieces(const uint4* partial, std::uint64_t pieces, uint4* answers) {
    uint4 sum = make_uint4(0, 0, 0, 0);
    for (std::uint64_t i = threadIdx.x; i < pieces; i += warp) sum = add(sum, partial[blockIdx.x * pieces + i]);
    sum = summed(sum);
    if (threadIdx.x == 0) answers[blockIdx.x] = sum;
}

std::uint64_t piece_of(unsigned depth) {
    return std::min(piece, std::uint64_t{1} << (depth - 1));
}

template <Prg P>
void start(const LevelParams& p, unsigned multiprocessors, const Stream& stream) {
    const auto grid = [&](std::uint64_t warps) {
        return static_cast<unsigned>(std::clamp<std::uint64_t>((warps + threads / warp - 1) / (threads / warp), 1,
                                                               (P == Prg::aes ? 1 : 2) * multiprocessors));
    };
    if (p.level + 1 < p.depth) {
        launch(&expand_level<P>, grid((p.count + warp - 1) / warp), threads, Generator<P>::shared, stream, p);
    } else {
        const std::uint64_t of_piece = piece_of(p.depth);
        launch(&sum_leaves<P>, grid(p.count / of_piece), threads, Generator<P>::shared, stream, p, of_piece);
    }
}

}  // namespace

DpfServer::DpfServer(std::span<const DpfNode> table, unsigned depth, std::size_t batch) : depth_(depth), batch_(batch) {
    if (depth < least_depth || depth > 30) throw std::invalid_argument("depth: 6 to 30");
    if (table.size() != std::size_t{1} << depth) throw std::invalid_argument("table: 2^depth entries");
    if (batch == 0 || batch > 1 << 20) throw std::invalid_argument("batch: 1 to 2^20");
    int device = 0;
    check(cudaGetDevice(&device), "asking for the device");
    multiprocessors_ = static_cast<unsigned>(properties(device).multiprocessors);
    const std::size_t leaves = batch << depth;
    table_ = DeviceMemory(table.size_bytes());
    copy(table_.get(), table.data(), table.size_bytes());
    roots_ = DeviceMemory(batch * sizeof(DpfNode));
    corrections_ = DeviceMemory(batch * depth * 2 * sizeof(DpfNode));
    // The levels alternate between two buffers. The last stored level has half as many nodes as there are leaves.
    even_ = DeviceMemory(leaves / 2 * sizeof(DpfNode));
    odd_ = DeviceMemory(leaves / 2 * sizeof(DpfNode));
    partial_ = DeviceMemory(leaves / 2 / piece_of(depth) * sizeof(DpfNode));
    answers_ = DeviceMemory(batch * sizeof(DpfNode));
}

void DpfServer::load(std::span<const DpfKey> keys) {
    if (keys.size() != batch_) throw std::invalid_argument("keys: as many as the batch");
    std::vector<DpfNode> roots, corrections;
    for (const DpfKey& key : keys) {
        if (key.corrections.size() != depth_) throw std::invalid_argument("keys: of the table's depth");
        roots.push_back(key.root);
        for (const auto& both : key.corrections) corrections.insert(corrections.end(), both.begin(), both.end());
    }
    copy(roots_.get(), roots.data(), roots.size() * sizeof(DpfNode));
    copy(corrections_.get(), corrections.data(), corrections.size() * sizeof(DpfNode));
}

void DpfServer::run(Prg prg, const Stream& stream) {
    LevelParams p{};
    p.nodes = reinterpret_cast<const uint4*>(roots_.get());
    p.corrections = reinterpret_cast<const uint4*>(corrections_.get());
    p.table = reinterpret_cast<const uint4*>(table_.get());
    p.partial = reinterpret_cast<uint4*>(partial_.get());
    p.depth = depth_;
    for (unsigned level = 0; level < depth_; ++level) {
        p.level = level;
        p.count = static_cast<std::uint64_t>(batch_) << level;
        p.children = reinterpret_cast<uint4*>((level % 2 == 0 ? even_ : odd_).get());
        prg == Prg::aes ? start<Prg::aes>(p, multiprocessors_, stream)
                        : start<Prg::chacha>(p, multiprocessors_, stream);
        p.nodes = p.children;
    }
    const std::uint64_t pieces = (std::uint64_t{1} << (depth_ - 1)) / piece_of(depth_);
    launch(&sum_pieces, static_cast<unsigned>(batch_), warp, 0, stream, reinterpret_cast<const uint4*>(partial_.get()),
           pieces, reinterpret_cast<uint4*>(answers_.get()));
}

std::vector<DpfNode> DpfServer::answers() const {
    std::vector<DpfNode> answers(batch_);
    copy(answers.data(), answers_.get(), answers.size() * sizeof(DpfNode));
    return answers;
}

}  // namespace lab::gpu
