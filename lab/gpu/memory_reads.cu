#include <algorithm>

#include "lab/gpu/check.hpp"
#include "lab/gpu/launch.hpp"
#include "lab/gpu/memory_reads.hpp"

namespace lab::gpu {
namespace {

constexpr unsigned threads = 1024, lanes = 32, at_once = 8, most_small_words = 1024;

__constant__ std::uint32_t constant_table[most_small_words];

__host__ __device__ constexpr std::uint32_t mix(std::uint32_t x) {
    x = (x ^ (x >> 15)) * 0x2c1b3c6du;
    x = (x ^ (x >> 12)) * 0x297a2d39u;
    return x ^ (x >> 15);
}
/// Returns word `i` of every table.
__host__ __device__ constexpr std::uint32_t word_at(std::uint32_t i) {
    return mix(i + 0x9e3779b9u);
}

/// Returns the first index of a thread's `j`th sequence of reads.
__host__ __device__ constexpr std::uint32_t first_index(ReadPattern pattern, std::uint32_t thread, std::uint32_t j,
                                                        std::uint32_t words) {
    const std::uint32_t lane = thread % lanes, warp = thread - lane;
    const std::uint32_t start = mix((pattern == ReadPattern::random ? thread : warp) * at_once + j);
    const std::uint32_t index = pattern == ReadPattern::consecutive ? start - start % lanes + lane : start;
    return index & (words - 1);
}
/// Indices change from round to round by XOR with a common value, which grows by this stride. Lanes that conflict in a
/// bank or share a cache line in one round therefore do so in every round.
constexpr std::uint32_t stride = 0x9e3779b1u;

struct Params {
    const std::uint32_t* table;  ///< in global memory, aligned to its size
    cudaTextureObject_t texture;
    std::uint32_t words, rounds;
    ReadPattern pattern;
    std::uint32_t* sums;
    std::uint64_t* cycles;
};

/// Reads at an offset, which is an index times `scale`, so that an address requires one instruction in every memory.
template <ReadFrom From>
class Reader {
public:
    static constexpr std::uint32_t scale = From == ReadFrom::texture ? 1 : From == ReadFrom::replicated ? 128 : 4;

    __device__ __forceinline__ explicit Reader(const Params& p) : p_(p), shared_(dynamic_shared()) {
        if constexpr (in_shared) {
            constexpr unsigned copies = From == ReadFrom::replicated ? lanes : 1;
            for (unsigned i = threadIdx.x; i < p.words * copies; i += blockDim.x) {
                reinterpret_cast<std::uint32_t*>(shared_)[i] = p.table[i / copies];
            }
            __syncthreads();
        }
    }
    /// Returns the constant that a lane adds to its offsets. For a table in global memory, this is the lower half of
    /// the table's address.
    __device__ __forceinline__ std::uint32_t lane_offset() const {
        if constexpr (in_global) return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(p_.table));
        return From == ReadFrom::replicated ? 4 * (threadIdx.x % lanes) : 0;
    }
    __device__ __forceinline__ std::uint32_t operator()(std::uint32_t offset) const {
        if constexpr (in_shared) {
            return *reinterpret_cast<const std::uint32_t*>(shared_ + offset);
        } else if constexpr (From == ReadFrom::constant) {
            return *reinterpret_cast<const std::uint32_t*>(reinterpret_cast<const char*>(constant_table) + offset);
        } else if constexpr (From == ReadFrom::texture) {
            return tex1Dfetch<std::uint32_t>(p_.texture, static_cast<int>(offset));
        } else {
            const std::uintptr_t upper = reinterpret_cast<std::uintptr_t>(p_.table) & ~std::uintptr_t{0xffffffff};
            const auto* at = reinterpret_cast<const std::uint32_t*>(upper | offset);
            return From == ReadFrom::l1 ? __ldg(at) : __ldcg(at);
        }
    }

private:
    static constexpr bool in_shared = From == ReadFrom::shared || From == ReadFrom::replicated;
    static constexpr bool in_global = From == ReadFrom::l1 || From == ReadFrom::l2;
    const Params& p_;
    unsigned char* shared_;
};

template <ReadFrom From>
__global__ void __launch_bounds__(threads) read_words(const __grid_constant__ Params p) {
    using R = Reader<From>;
    const R read(p);
    const std::uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
    std::uint32_t offsets[at_once];
#pragma unroll
    for (unsigned j = 0; j < at_once; ++j) {
        offsets[j] = first_index(p.pattern, thread, j, p.words) * R::scale + read.lane_offset();
    }
    const std::uint32_t mask = p.words * R::scale - 1;
    std::uint32_t sum = 0, moved = 0;
    const long long begin = clock64();
#pragma unroll 2
    for (std::uint32_t round = 0; round < p.rounds; ++round) {
#pragma unroll
        for (unsigned j = 0; j < at_once; ++j) sum += read(offsets[j] ^ moved);
        moved = (moved + stride * R::scale) & mask;
    }
    p.sums[thread] = sum;
    __syncthreads();
    if (threadIdx.x == 0) p.cycles[blockIdx.x] = static_cast<std::uint64_t>(clock64() - begin);
}

__host__ __device__ constexpr std::uint32_t sum_of(ReadPattern pattern, std::uint32_t thread, std::uint32_t words,
                                                   std::uint32_t rounds) {
    std::uint32_t sum = 0;
    for (std::uint32_t round = 0, moved = 0; round < rounds; ++round) {
        for (unsigned j = 0; j < at_once; ++j) {
            sum += word_at((first_index(pattern, thread, j, words) ^ moved) & (words - 1));
        }
        moved = (moved + stride) & (words - 1);
    }
    return sum;
}

__global__ void __launch_bounds__(threads) make_table(std::uint32_t* table, std::uint32_t words) {
    const std::uint32_t all = gridDim.x * blockDim.x;
    for (std::uint64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < words; i += all) {
        table[i] = word_at(static_cast<std::uint32_t>(i));
    }
}

/// Counts the sums that differ from the expected sums.
__global__ void __launch_bounds__(threads) check_sums(const __grid_constant__ Params p, unsigned* wrong) {
    const std::uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
    if (p.sums[thread] != sum_of(p.pattern, thread, p.words, p.rounds)) atomicAdd(wrong, 1u);
}

/// Owns a texture over a table in device memory.
class Texture {
public:
    Texture(std::uint32_t* table, std::uint32_t words) {
        cudaResourceDesc resource{};
        resource.resType = cudaResourceTypeLinear;
        resource.res.linear.devPtr = table;
        resource.res.linear.desc = cudaCreateChannelDesc<std::uint32_t>();
        resource.res.linear.sizeInBytes = std::size_t{4} * words;
        const cudaTextureDesc plain{};
        check(cudaCreateTextureObject(&object_, &resource, &plain, nullptr), "making a texture");
    }
    Texture(const Texture&) = delete;
    Texture& operator=(const Texture&) = delete;
    ~Texture() { (void)cudaDestroyTextureObject(object_); }
    [[nodiscard]] cudaTextureObject_t get() const { return object_; }

private:
    cudaTextureObject_t object_ = 0;
};

using Kernel = void (*)(Params);

Kernel kernel_of(ReadFrom from) {
    switch (from) {
    case ReadFrom::constant:
        return read_words<ReadFrom::constant>;
    case ReadFrom::shared:
        return read_words<ReadFrom::shared>;
    case ReadFrom::replicated:
        return read_words<ReadFrom::replicated>;
    case ReadFrom::texture:
        return read_words<ReadFrom::texture>;
    case ReadFrom::l1:
        return read_words<ReadFrom::l1>;
    case ReadFrom::l2:
    case ReadFrom::memory:
        return read_words<ReadFrom::l2>;
    }
    throw Error("no such memory");
}

/// Returns the beginning of a table of `words` words in `memory`, which is twice as large as the table. The table is
/// aligned to its size, so that XOR with an index stays inside it.
std::uint32_t* table_in(const DeviceMemory& memory, std::uint32_t words) {
    const std::uintptr_t bytes = std::uintptr_t{4} * words, first = reinterpret_cast<std::uintptr_t>(memory.get());
    return reinterpret_cast<std::uint32_t*>((first + bytes - 1) / bytes * bytes);
}

std::uint32_t* words_in(const DeviceMemory& memory) {
    return reinterpret_cast<std::uint32_t*>(memory.get());
}

}  // namespace

MemoryReads::MemoryReads(int device, std::uint32_t small_words, std::uint32_t l2_words, std::uint32_t memory_words)
    : blocks_(static_cast<unsigned>(properties(device).multiprocessors)),
      small_words_(small_words),
      l2_words_(l2_words),
      memory_words_(memory_words),
      small_(std::size_t{8} * small_words),
      l2_(std::size_t{8} * l2_words),
      memory_(std::size_t{8} * memory_words),
      sums_(std::size_t{4} * blocks_ * threads),
      cycles_(std::size_t{8} * blocks_) {
    if (small_words > most_small_words) throw Error("the small table has at most 1024 words");
    const auto make = [&](const DeviceMemory& memory, std::uint32_t words) {
        launch(make_table, blocks_, threads, 0, stream_, table_in(memory, words), words);
    };
    make(small_, small_words);
    make(l2_, l2_words);
    make(memory_, memory_words);
    stream_.synchronize();
    std::vector<std::uint32_t> words(small_words);
    copy(words.data(), table_in(small_, small_words), std::size_t{4} * small_words);
    check(cudaMemcpyToSymbol(constant_table, words.data(), std::size_t{4} * small_words), "filling constant memory");
}

std::uint32_t MemoryReads::words_of(ReadFrom from) const {
    return from == ReadFrom::l2 ? l2_words_ : from == ReadFrom::memory ? memory_words_ : small_words_;
}

std::uint64_t MemoryReads::reads(std::uint64_t wanted) const {
    const std::uint64_t round = std::uint64_t{blocks_} * threads * at_once;
    return (wanted + round - 1) / round * round;
}

ReadTimes MemoryReads::run(ReadFrom from, ReadPattern pattern, std::uint64_t wanted) {
    const DeviceMemory& table = from == ReadFrom::l2 ? l2_ : from == ReadFrom::memory ? memory_ : small_;
    const Texture texture(table_in(small_, small_words_), small_words_);
    last_ = {from, pattern, static_cast<std::uint32_t>(reads(wanted) / (std::uint64_t{blocks_} * threads * at_once))};
    const Params params{table_in(table, words_of(from)),
                        texture.get(),
                        words_of(from),
                        last_.rounds,
                        pattern,
                        words_in(sums_),
                        reinterpret_cast<std::uint64_t*>(cycles_.get())};
    const std::size_t copies = from == ReadFrom::replicated ? lanes : from == ReadFrom::shared ? 1 : 0;
    fill(sums_.get(), 0xa5, sums_.size(), stream_);
    ReadTimes times;
    times.seconds = seconds_of(
        stream_, [&] { launch(kernel_of(from), blocks_, threads, copies * 4 * small_words_, stream_, params); });
    std::vector<std::uint64_t> cycles(blocks_);
    copy(cycles.data(), cycles_.get(), cycles_.size());
    std::nth_element(cycles.begin(), cycles.begin() + blocks_ / 2, cycles.end());
    times.cycles = static_cast<double>(cycles[blocks_ / 2]);
    return times;
}

bool MemoryReads::verify() {
    const std::uint32_t words = words_of(last_.from);
    const Params params{nullptr, 0, words, last_.rounds, last_.pattern, words_in(sums_), nullptr};
    DeviceMemory wrong(sizeof(unsigned));
    fill(wrong.get(), 0, wrong.size(), stream_);
    launch(check_sums, blocks_, threads, 0, stream_, params, reinterpret_cast<unsigned*>(wrong.get()));
    stream_.synchronize();
    unsigned number = 1;
    copy(&number, wrong.get(), sizeof number);
    if (number != 0) return false;
    std::vector<std::uint32_t> sums(std::size_t{blocks_} * threads);
    copy(sums.data(), sums_.get(), sums_.size());
    for (std::uint32_t thread : {0u, 33u, blocks_ * threads - 1}) {
        if (sums[thread] != sum_of(last_.pattern, thread, words, last_.rounds)) return false;
    }
    return true;
}

}  // namespace lab::gpu
