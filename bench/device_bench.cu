// Measures <warpaes/device.cuh> and prints the blocks per second for every kind of use as JSON. Each kernel reads its
// input from device memory and stores its complete output in device memory. CUDA events time the launches. Before a
// kernel is timed, its output is compared with libcrypto's.
//
//     device_bench [--blocks N] [--samples N]
#include <cuda_runtime.h>
#include <openssl/evp.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>
#include <warpaes/device.cuh>

namespace {

namespace aes = warpaes::device;

// ------------------------------------------------------------------------------------------------------------ kernels

extern __shared__ __align__(128) unsigned char shared_memory[];

__device__ __forceinline__ unsigned first_index() {
    return blockIdx.x * blockDim.x + threadIdx.x;
}
__device__ __forceinline__ unsigned index_step() {
    return gridDim.x * blockDim.x;
}

/// In planar order, block j of all keys precedes block j + 1 of all keys. Otherwise the blocks of a key are contiguous.
template <int KeyBits, int Blocks, int Count, bool Planar>
__global__ void __launch_bounds__(1024) prg(const uint4* keys, uint4* out, unsigned n) {
    const aes::tables<Count> t(shared_memory);
    t.load();
    for (unsigned i = first_index(); i < n; i += index_step()) {
        uint4 blocks[Blocks];
        if constexpr (KeyBits == 128) {
            aes::counter_prg(t, aes::make_key(keys[i]), make_uint4(0, 0, 0, 0), blocks);
        } else {
            aes::counter_prg(t, aes::make_key(keys[2 * i], keys[2 * i + 1]), make_uint4(0, 0, 0, 0), blocks);
        }
#pragma unroll
        for (unsigned j = 0; j < Blocks; ++j) out[Planar ? j * n + i : Blocks * i + j] = blocks[j];
    }
}

template <int KeyBits>
__global__ void __launch_bounds__(1024)
    ecb(const __grid_constant__ aes::key_schedule<KeyBits> keys, const uint4* in, uint4* out, unsigned n) {
    const aes::tables<4> t(shared_memory);
    t.load();
    for (unsigned i = first_index(); i < n; i += index_step()) out[i] = aes::encrypt_block(t, keys, in[i]);
}

template <int KeyBits>
__global__ void __launch_bounds__(1024) ecb_decrypt(const __grid_constant__ aes::inverse_key_schedule<KeyBits> keys,
                                                    const uint4* in, uint4* out, unsigned n) {
    const aes::inverse_tables<4> t(shared_memory);
    t.load();
    for (unsigned i = first_index(); i < n; i += index_step()) out[i] = aes::decrypt_block(t, keys, in[i]);
}

template <int KeyBits>
__global__ void __launch_bounds__(1024)
    ctr(const __grid_constant__ aes::key_schedule<KeyBits> keys, uint4* out, unsigned n) {
    const aes::tables<4> t(shared_memory);
    t.load();
    aes::ctr_stream<KeyBits, 4> stream(t, keys, make_uint4(0, 0, 0, 0), first_index(), index_step());
    for (unsigned i = first_index(); i < n; i += index_step()) out[i] = stream.next();
}

/// `n` is a multiple of 1,024.
template <int KeyBits, bool Counters>
__global__ void __launch_bounds__(256)
    planes(const __grid_constant__ aes::bitsliced_key<KeyBits> key, const uint4* in, uint4* out, unsigned n) {
    const unsigned lane = threadIdx.x % 32;
    for (unsigned first = first_index() / 32 * 1024; first < n; first += index_step() / 32 * 1024) {
        uint4 blocks[32];
        std::uint32_t planes[128];
        if constexpr (Counters) {
            aes::counter_planes(make_uint4(0, 0, 0, __byte_perm(first, 0, 0x0123)), lane, planes);
        } else {
#pragma unroll
            for (unsigned j = 0; j < 32; ++j) blocks[j] = in[first + 32 * j + lane];
            aes::to_planes(blocks, planes);
        }
        aes::encrypt_planes(key, planes);
        aes::from_planes(planes, blocks);
#pragma unroll
        for (unsigned j = 0; j < 32; ++j) out[first + 32 * j + lane] = blocks[j];
    }
}

/// Keys and plaintexts are hashes of their index, so all words differ and the host can compute any word.
__host__ __device__ std::uint32_t input_word(unsigned i) {
    i = (i ^ i >> 16) * 0x7feb352du;
    i = (i ^ i >> 15) * 0x846ca68bu;
    return i ^ i >> 16;
}

__global__ void make_input(std::uint32_t* words, std::size_t n) {
    for (std::size_t i = first_index(); i < n; i += index_step()) words[i] = input_word(static_cast<unsigned>(i));
}

// --------------------------------------------------------------------------------------------------------------- host

void check(cudaError_t error, const char* what) {
    if (error != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(error));
}

using Bytes = std::vector<unsigned char>;

Bytes input_bytes(std::size_t offset, std::size_t length) {
    Bytes bytes(length);
    for (std::size_t i = 0; i < length; i += 4) {
        const std::uint32_t word = input_word(static_cast<unsigned>((offset + i) / 4));
        std::memcpy(bytes.data() + i, &word, 4);
    }
    return bytes;
}

/// Encrypts or decrypts blocks with libcrypto's ECB.
Bytes libcrypto(const Bytes& key, const Bytes& blocks, bool encrypt = true) {
    static const std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)> context(EVP_CIPHER_CTX_new(),
                                                                                         EVP_CIPHER_CTX_free);
    Bytes out(blocks.size());
    int length = 0;
    const EVP_CIPHER* const cipher = key.size() == 16 ? EVP_aes_128_ecb() : EVP_aes_256_ecb();
    if (EVP_CipherInit_ex(context.get(), cipher, nullptr, key.data(), nullptr, encrypt ? 1 : 0) != 1 ||
        EVP_CIPHER_CTX_set_padding(context.get(), 0) != 1 ||
        EVP_CipherUpdate(context.get(), out.data(), &length, blocks.data(), static_cast<int>(blocks.size())) != 1) {
        throw std::runtime_error("libcrypto refuses");
    }
    return out;
}

/// Returns counter block `i`, counted from zero.
Bytes counter_block(std::size_t i) {
    Bytes block(16);
    for (std::size_t k = 0; k < 8; ++k) block[15 - k] = static_cast<unsigned char>(i >> (8 * k));
    return block;
}

struct Device {
    int number = 0;
    cudaDeviceProp properties{};
    int clock_khz = 0;
    unsigned blocks = 0;
    int samples = 0;
    unsigned char* in = nullptr;
    unsigned char* out = nullptr;
};

/// A measured kernel: its description, a function that launches it, and a function that computes expected blocks.
struct Subject {
    const char* kernel;
    int key_bits;
    int blocks_per_key;  ///< 0: one key for all blocks
    int tables;          ///< 0: bitsliced
    const char* note;
    double lookups;  ///< per block
    const void* function;
    int threads;
    std::function<void(int grid, std::size_t shared)> launch;
    std::function<Bytes(std::size_t i)> expected;  ///< returns block i of the output
};

/// Compares blocks at both ends and at regular distances between them, and throws if a block is wrong. Returns the
/// number of compared blocks.
std::size_t verify(const Device& device, const Subject& subject) {
    std::vector<unsigned char> out(std::size_t{16} * device.blocks);
    check(cudaMemcpy(out.data(), device.out, out.size(), cudaMemcpyDeviceToHost), "cudaMemcpy");
    constexpr std::size_t ends = 4096, between = 16381;
    std::size_t checked = 0;
    const auto compare = [&](std::size_t i) {
        ++checked;
        if (std::memcmp(out.data() + 16 * i, subject.expected(i).data(), 16) != 0) {
            throw std::runtime_error(std::string(subject.kernel) + ", " + std::to_string(subject.key_bits) +
                                     " bits: block " + std::to_string(i) + " is wrong");
        }
    };
    for (std::size_t i = 0; i < std::min<std::size_t>(ends, device.blocks); ++i) {
        compare(i);
        compare(device.blocks - 1 - i);
    }
    for (std::size_t i = 0; i < between; ++i) compare(i * device.blocks / between);
    return checked;
}

void measure(const Device& device, const Subject& subject, bool last) {
    const std::size_t shared = static_cast<std::size_t>(subject.tables) * 32 * 1024;
    check(cudaFuncSetAttribute(subject.function, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared)),
          "shared memory");
    cudaFuncAttributes attributes{};
    check(cudaFuncGetAttributes(&attributes, subject.function), "cudaFuncGetAttributes");
    int resident = 0;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, subject.function, subject.threads, shared),
          "occupancy");
    const int grid = device.properties.multiProcessorCount * std::max(resident, 1);

    check(cudaMemset(device.out, 0xb7, std::size_t{16} * device.blocks), "cudaMemset");
    subject.launch(grid, shared);
    check(cudaGetLastError(), subject.kernel);
    check(cudaDeviceSynchronize(), subject.kernel);
    const std::size_t checked = verify(device, subject);

    cudaEvent_t start{}, stop{};
    check(cudaEventCreate(&start), "cudaEventCreate");
    check(cudaEventCreate(&stop), "cudaEventCreate");
    std::vector<double> seconds;
    for (int i = -3; i < device.samples; ++i) {
        check(cudaEventRecord(start), "cudaEventRecord");
        subject.launch(grid, shared);
        check(cudaEventRecord(stop), "cudaEventRecord");
        check(cudaEventSynchronize(stop), subject.kernel);
        float milliseconds = 0;
        check(cudaEventElapsedTime(&milliseconds, start, stop), "cudaEventElapsedTime");
        if (i >= 0) seconds.push_back(milliseconds / 1e3);
    }
    check(cudaEventDestroy(start), "cudaEventDestroy");
    check(cudaEventDestroy(stop), "cudaEventDestroy");
    std::sort(seconds.begin(), seconds.end());
    const double median = seconds[seconds.size() / 2];

    std::printf("  {\"kernel\": \"%s\", \"key_bits\": %d, \"blocks_per_key\": ", subject.kernel, subject.key_bits);
    std::printf(subject.blocks_per_key == 0 ? "null" : "%d", subject.blocks_per_key);
    std::printf(", \"tables\": %d, \"note\": \"%s\", \"blocks\": %u, \"median_s\": %.6g, \"fastest_s\": %.6g, ",
                subject.tables, subject.note, device.blocks, median, seconds.front());
    std::printf("\"blocks_per_s\": %.4g, ", device.blocks / median);
    if (subject.lookups > 0) {
        const double clocks = device.properties.multiProcessorCount * 1e3 * device.clock_khz;
        std::printf("\"lookups\": %.4g, \"limit_blocks_per_s\": %.4g, ", subject.lookups,
                    clocks * 32 / subject.lookups);
    } else {
        std::printf("\"lookups\": null, \"limit_blocks_per_s\": null, ");
    }
    std::printf("\"registers\": %d, \"spilled_bytes\": %zu, \"threads\": %d, \"samples\": %d, \"verified\": %zu}%s\n",
                attributes.numRegs, attributes.localSizeBytes, subject.threads, device.samples, checked,
                last ? "" : ",");
    std::fflush(stdout);
}

// ----------------------------------------------------------------------------------------------------------- subjects

template <int KeyBits, int Blocks, int Count, bool Planar>
Subject prg_subject(const Device& device, double lookups) {
    constexpr std::size_t key_bytes = KeyBits / 8;
    const unsigned n = device.blocks / Blocks;
    const auto kernel = prg<KeyBits, Blocks, Count, Planar>;
    return {"counter_prg",
            KeyBits,
            Blocks,
            Count,
            Planar ? "planar" : "",
            lookups,
            reinterpret_cast<const void*>(kernel),
            1024,
            [=](int grid, std::size_t shared) {
                kernel<<<static_cast<unsigned>(grid), 1024, shared>>>(reinterpret_cast<const uint4*>(device.in),
                                                                      reinterpret_cast<uint4*>(device.out), n);
            },
            [=](std::size_t i) {
                const std::size_t key = Planar ? i % n : i / Blocks, block = Planar ? i / n : i % Blocks;
                return libcrypto(input_bytes(key * key_bytes, key_bytes), counter_block(block));
            }};
}

template <int KeyBits>
Bytes one_key() {
    return input_bytes(std::size_t{1} << 20, KeyBits / 8);
}

template <int KeyBits>
std::vector<Subject> one_key_subjects(const Device& device) {
    const Bytes key = one_key<KeyBits>();
    const auto schedule = aes::expand_key(aes::make_key<KeyBits>(key.data()));
    const auto inverse = aes::invert(schedule);
    aes::bitsliced_key<KeyBits> masks;
    masks.load(schedule);
    const auto* const in = reinterpret_cast<const uint4*>(device.in);
    auto* const out = reinterpret_cast<uint4*>(device.out);
    const unsigned n = device.blocks;
    const double lookups = 16.0 * aes::rounds<KeyBits>;
    const auto of_input = [=](std::size_t i) { return libcrypto(key, input_bytes(16 * i, 16)); };
    const auto of_inverse = [=](std::size_t i) { return libcrypto(key, input_bytes(16 * i, 16), false); };
    const auto of_counter = [=](std::size_t i) { return libcrypto(key, counter_block(i)); };
    const auto u = [](int grid) { return static_cast<unsigned>(grid); };
    return {
        {"encrypt_block", KeyBits, 0, 4, "", lookups, reinterpret_cast<const void*>(ecb<KeyBits>), 1024,
         [=](int g, std::size_t shared) { ecb<KeyBits><<<u(g), 1024, shared>>>(schedule, in, out, n); }, of_input},
        {"decrypt_block", KeyBits, 0, 4, "", lookups, reinterpret_cast<const void*>(ecb_decrypt<KeyBits>), 1024,
         [=](int g, std::size_t shared) { ecb_decrypt<KeyBits><<<u(g), 1024, shared>>>(inverse, in, out, n); },
         of_inverse},
        {"ctr_stream", KeyBits, 0, 4, "", lookups, reinterpret_cast<const void*>(ctr<KeyBits>), 1024,
         [=](int g, std::size_t shared) { ctr<KeyBits><<<u(g), 1024, shared>>>(schedule, out, n); }, of_counter},
        {"encrypt_planes", KeyBits, 0, 0, "blocks from memory", 0,
         reinterpret_cast<const void*>(planes<KeyBits, false>), 256,
         [=](int g, std::size_t) { planes<KeyBits, false><<<u(g), 256>>>(masks, in, out, n); }, of_input},
        {"encrypt_planes", KeyBits, 0, 0, "counters", 0, reinterpret_cast<const void*>(planes<KeyBits, true>), 256,
         [=](int g, std::size_t) { planes<KeyBits, true><<<u(g), 256>>>(masks, in, out, n); }, of_counter},
    };
}

constexpr const char* usage =
    "usage: device_bench [--blocks N] [--samples N]\n"
    "Measures AES in custom kernels (warpaes/device.cuh) on GPU 0 and prints JSON.\n"
    "  --blocks N   number of 16-byte output blocks, a multiple of 1024 up to 2^27 (67108864)\n"
    "  --samples N  number of samples, whose median counts (15)\n"
    "Exit status: 0 if every compared result is right; 1 if not; 2 for a usage error; 3 without a GPU.\n";

long number_of(const char* text) {
    char* end = nullptr;
    const long value = std::strtol(text, &end, 10);
    return *text != '\0' && *end == '\0' ? value : -1;
}

}  // namespace

int main(int argc, char** argv) try {
    long blocks = 1L << 26, samples = 15;
    for (int i = 1; i < argc; ++i) {
        const std::string option = argv[i];
        if (option == "--help") {
            std::fputs(usage, stdout);
            return 0;
        }
        const long value = i + 1 < argc ? number_of(argv[++i]) : -1;
        if (option == "--blocks" && value > 0 && value % 1024 == 0 && value <= 1L << 27) {
            blocks = value;
        } else if (option == "--samples" && value > 0 && value <= 10000) {
            samples = value;
        } else {
            std::fputs(usage, stderr);
            return 2;
        }
    }
    Device device;
    device.blocks = static_cast<unsigned>(blocks);
    device.samples = static_cast<int>(samples);
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        std::fputs("device_bench: no GPU found; a GPU of compute capability 8.0 or later is required\n", stderr);
        return 3;
    }
    check(cudaGetDeviceProperties(&device.properties, device.number), "cudaGetDeviceProperties");
    check(cudaDeviceGetAttribute(&device.clock_khz, cudaDevAttrClockRate, device.number), "clock");
    // The input has two blocks for each output block, which is enough for AES-256 with one block per key.
    const std::size_t in_bytes = std::size_t{32} * device.blocks;
    check(cudaMalloc(&device.in, in_bytes), "cudaMalloc");
    check(cudaMalloc(&device.out, std::size_t{16} * device.blocks), "cudaMalloc");
    make_input<<<1024, 256>>>(reinterpret_cast<std::uint32_t*>(device.in), in_bytes / 4);
    check(cudaDeviceSynchronize(), "make_input");

    std::vector<Subject> subjects{
        prg_subject<128, 1, 4, false>(device, 200),       prg_subject<128, 2, 4, false>(device, 333 / 2.0),
        prg_subject<128, 4, 4, false>(device, 599 / 4.0), prg_subject<256, 1, 4, false>(device, 276),
        prg_subject<256, 2, 4, false>(device, 473 / 2.0), prg_subject<256, 4, 4, false>(device, 867 / 4.0),
        prg_subject<128, 2, 4, true>(device, 333 / 2.0),  prg_subject<128, 4, 4, true>(device, 599 / 4.0),
        prg_subject<128, 2, 2, false>(device, 333 / 2.0), prg_subject<128, 2, 1, false>(device, 333 / 2.0),
    };
    for (auto& more : {one_key_subjects<128>(device), one_key_subjects<256>(device)}) {
        subjects.insert(subjects.end(), more.begin(), more.end());
    }
    std::printf("{\"gpu\": \"%s\", \"multiprocessors\": %d, \"clock_mhz\": %d, \"device\": [\n", device.properties.name,
                device.properties.multiProcessorCount, device.clock_khz / 1000);
    for (const Subject& subject : subjects) measure(device, subject, &subject == &subjects.back());
    std::printf("]}\n");
    check(cudaFree(device.in), "cudaFree");
    check(cudaFree(device.out), "cudaFree");
    return 0;
} catch (const std::exception& e) {
    std::fprintf(stderr, "device_bench: %s\n", e.what());
    return 1;
}
