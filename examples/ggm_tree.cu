// Computes a GGM tree (Goldreich, Goldwasser, Micali: "How to Construct Random Functions") on a GPU, with
// <warpaes/device.cuh>. A seed is expanded to 2^depth leaves: a pseudorandom generator computes the two children of
// every node. Distributed point functions, puncturable functions and correlated randomness for secure computation are
// built from GGM trees.
//
// The program supports two generators:
//   fresh  children of s: E_s(0), E_s(1); AES-128 with the node as its key
//   fixed  children of s: E_k0(s) ^ s, E_k1(s) ^ s; AES-128 with two public keys (Matyas, Meyer, Oseas)
#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>
#include <warpaes/device.cuh>
#include <warpaes/warpaes.hpp>

namespace {

namespace aes = warpaes::device;

using Node = std::array<unsigned char, 16>;

constexpr unsigned threads = 1024;

/// Expands the `n` nodes of a level to the 2 n nodes of the next level.
__global__ void __launch_bounds__(threads) expand_fresh(const uint4* nodes, uint4* children, unsigned n) {
    extern __shared__ __align__(16) unsigned char shared[];
    const aes::tables<4> t(shared);
    t.load();
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        uint4 two[2];
        aes::counter_prg(t, aes::make_key(nodes[i]), make_uint4(0, 0, 0, 0), two);
        children[2 * i] = two[0];
        children[2 * i + 1] = two[1];
    }
}

struct FixedKeys {
    aes::key_schedule<128> child[2];
};

__device__ __forceinline__ uint4 add(uint4 a, uint4 b) {
    return make_uint4(a.x ^ b.x, a.y ^ b.y, a.z ^ b.z, a.w ^ b.w);
}

__global__ void __launch_bounds__(threads)
    expand_fixed(const __grid_constant__ FixedKeys keys, const uint4* nodes, uint4* children, unsigned n) {
    extern __shared__ __align__(16) unsigned char shared[];
    const aes::tables<4> t(shared);
    t.load();
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const uint4 node = nodes[i];
        children[2 * i] = add(aes::encrypt_block(t, keys.child[0], node), node);
        children[2 * i + 1] = add(aes::encrypt_block(t, keys.child[1], node), node);
    }
}

void check(cudaError_t error) {
    if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}

/// The public keys of the generator `fixed`: digits of pi.
constexpr unsigned char fixed_keys[2][16] = {
    {0x24, 0x3f, 0x6a, 0x88, 0x85, 0xa3, 0x08, 0xd3, 0x13, 0x19, 0x8a, 0x2e, 0x03, 0x70, 0x73, 0x44},
    {0xa4, 0x09, 0x38, 0x22, 0x29, 0x9f, 0x31, 0xd0, 0x08, 0x2e, 0xfa, 0x98, 0xec, 0x4e, 0x6c, 0x89}};

/// Returns the leaves of the tree, in device memory that the caller frees. Prints the time.
uint4* expand(const Node& root, unsigned depth, bool fixed) {
    FixedKeys keys;
    for (int i = 0; i < 2; ++i) keys.child[i] = aes::expand_key(aes::make_key<128>(fixed_keys[i]));
    constexpr unsigned shared = aes::tables<4>::bytes;
    for (const void* kernel :
         {reinterpret_cast<const void*>(expand_fresh), reinterpret_cast<const void*>(expand_fixed)}) {
        check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared)));
    }
    int multiprocessors = 0;
    check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));

    const std::size_t bytes = std::size_t{16} << depth;
    uint4 *level = nullptr, *next = nullptr;
    check(cudaMalloc(&level, bytes));
    check(cudaMalloc(&next, bytes));
    cudaEvent_t begin{}, end{};
    check(cudaEventCreate(&begin));
    check(cudaEventCreate(&end));
    for (int run = 0; run < 2; ++run) {  // the first run loads the kernel and raises the GPU's clock rate
        check(cudaMemcpy(level, root.data(), root.size(), cudaMemcpyHostToDevice));
        check(cudaEventRecord(begin));
        for (unsigned d = 0; d < depth; ++d) {
            const unsigned n = 1u << d;
            const unsigned grid = std::min(static_cast<unsigned>(multiprocessors), (n + threads - 1) / threads);
            if (fixed) {
                expand_fixed<<<grid, threads, shared>>>(keys, level, next, n);
            } else {
                expand_fresh<<<grid, threads, shared>>>(level, next, n);
            }
            check(cudaGetLastError());
            std::swap(level, next);
        }
        check(cudaEventRecord(end));
    }
    check(cudaEventSynchronize(end));
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin, end));
    check(cudaFree(next));
    const double blocks = 2.0 * ((1ULL << depth) - 1);
    std::printf("%s: %u levels, %.0f blocks in %.3f ms: %.2f x 10^9 blocks/s\n", fixed ? "fixed" : "fresh", depth,
                blocks, milliseconds, blocks / milliseconds / 1e6);
    return level;
}

/// Computes nodes of the same tree on a CPU, one node at a time.
class Oracle {
public:
    explicit Oracle(bool fixed) : fixed_(fixed), engine_({.backend = "libcrypto"}) {}

    Node child(const Node& node, unsigned which) const {
        Node in{};
        if (fixed_) {
            in = node;
        } else {
            in[15] = static_cast<unsigned char>(which);
        }
        const warpaes::Key key(fixed_ ? warpaes::ConstBytes(fixed_keys[which], 16) : warpaes::ConstBytes(node));
        const std::vector<std::uint8_t> out = warpaes::encrypt(engine_, warpaes::Mode::ecb, key, {}, in);
        Node made{};
        for (unsigned i = 0; i < 16; ++i) made[i] = static_cast<unsigned char>(out[i] ^ (fixed_ ? node[i] : 0));
        return made;
    }

    /// Descends from the root `node` to a leaf. Each bit of the leaf's index selects the left or the right child.
    Node leaf(Node node, unsigned depth, unsigned long long index) const {
        for (unsigned d = depth; d-- > 0;) node = child(node, index >> d & 1u);
        return node;
    }

private:
    bool fixed_;
    warpaes::Engine engine_;
};

/// Compares all leaves of a small tree, or 500 leaves of a large tree, with leaves that a CPU computes. The first
/// and the last leaf are always compared.
void verify(const std::vector<Node>& leaves, const Node& root, unsigned depth, bool fixed) {
    const Oracle oracle(fixed);
    const unsigned long long n = leaves.size(), some = std::min(n, 500ULL);
    for (unsigned long long k = 0; k < some; ++k) {
        // In a large tree, every second compared index is odd, so that both left and right children are compared.
        const unsigned long long i = k + 1 == some ? n - 1 : k * (n / some) + (n / some > 1 ? k % 2 : 0);
        if (leaves[i] != oracle.leaf(root, depth, i)) {
            throw std::runtime_error("leaf " + std::to_string(i) + " is wrong");
        }
    }
    std::printf("%llu comparisons with leaves computed on a CPU: all equal\n", some);
}

constexpr const char* usage =
    "usage: ggm_tree [--depth N] [--prg fresh|fixed]\n"
    "Expands a random seed to a GGM tree of 2^N leaves (default: 24; at most 30) on GPU 0, compares leaves with\n"
    "leaves computed on a CPU, and prints the blocks per second. Without --prg, runs both generators.\n"
    "Exit status: 0 success; 1 wrong result or failure; 2 usage error; 3 no GPU found.\n";

}  // namespace

int main(int argc, char** argv) try {
    unsigned depth = 24;
    bool prgs[2] = {true, true};
    for (int i = 1; i < argc; ++i) {
        const std::string option = argv[i], value = i + 1 < argc ? argv[i + 1] : "";
        if (option == "--help") {
            std::fputs(usage, stdout);
            return 0;
        }
        const bool number = !value.empty() && value.size() < 3 && value.find_first_not_of("0123456789") == value.npos;
        if (option == "--depth" && number && std::stoul(value) > 0 && std::stoul(value) <= 30) {
            depth = static_cast<unsigned>(std::stoul(value));
        } else if (option == "--prg" && (value == "fresh" || value == "fixed")) {
            prgs[0] = value == "fresh";
            prgs[1] = value == "fixed";
        } else {
            std::fputs(usage, stderr);
            return 2;
        }
        ++i;
    }
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        std::fputs("ggm_tree: no GPU found; an NVIDIA GPU of compute capability 8.0 or later is required\n", stderr);
        return 3;
    }
    Node root;
    std::random_device system;
    for (unsigned char& byte : root) byte = static_cast<unsigned char>(system());
    for (const bool fixed : {false, true}) {
        if (!prgs[fixed]) continue;
        uint4* const leaves = expand(root, depth, fixed);
        std::vector<Node> copy(std::size_t{1} << depth);
        check(cudaMemcpy(copy.data(), leaves, 16 * copy.size(), cudaMemcpyDeviceToHost));
        check(cudaFree(leaves));
        verify(copy, root, depth, fixed);
    }
    return 0;
} catch (const std::exception& e) {
    std::fprintf(stderr, "ggm_tree: %s\n", e.what());
    return 1;
}
