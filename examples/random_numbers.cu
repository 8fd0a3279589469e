// Generates random numbers on a GPU with a custom kernel for AES-128 in counter mode (SP 800-38A, 6.5), based on
// <warpaes/device.cuh>. The key and the first counter come from the operating system, so no two runs produce the same
// numbers. Anyone who knows the key and the counter can reproduce the numbers, for example by encrypting zeros with
// `openssl enc -aes-128-ctr`.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>
#include <warpaes/device.cuh>

namespace {

namespace aes = warpaes::device;

constexpr unsigned threads = 1024;

/// Thread t computes blocks t, t + (number of threads), … `out` contains the key stream in order.
__global__ void __launch_bounds__(threads)
    generate(const __grid_constant__ aes::key_schedule<128> keys, uint4 counter, uint4* out, unsigned long long n) {
    extern __shared__ __align__(16) unsigned char shared[];
    const aes::tables<4> t(shared);
    t.load();
    const unsigned long long thread = blockIdx.x * blockDim.x + threadIdx.x, step = gridDim.x * blockDim.x;
    aes::ctr_stream<128, 4> stream(t, keys, counter, thread, step);
    for (unsigned long long i = thread; i < n; i += step) out[i] = stream.next();
}

void check(cudaError_t error) {
    if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}

/// Launches the kernel to fill `blocks` blocks of device memory.
void start(const unsigned char (&key)[16], const unsigned char (&counter)[16], uint4* out, unsigned long long blocks) {
    constexpr unsigned shared = aes::tables<4>::bytes;
    check(cudaFuncSetAttribute(generate, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared)));
    int multiprocessors = 0;
    check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
    uint4 first;
    std::memcpy(&first, counter, sizeof first);
    generate<<<static_cast<unsigned>(multiprocessors), threads, shared>>>(aes::expand_key(aes::make_key<128>(key)),
                                                                          first, out, blocks);
    check(cudaGetLastError());
}

/// Checks the kernel with SP 800-38A, F.5.1. The expected key stream is the XOR of its plaintext and ciphertext.
bool passes_nist(uint4* device) {
    constexpr unsigned char key[16] = {0x2b, 0x7e, 0x15, 0x16, 0x28, 0xae, 0xd2, 0xa6,
                                       0xab, 0xf7, 0x15, 0x88, 0x09, 0xcf, 0x4f, 0x3c};
    constexpr unsigned char counter[16] = {0xf0, 0xf1, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7,
                                           0xf8, 0xf9, 0xfa, 0xfb, 0xfc, 0xfd, 0xfe, 0xff};
    // The key stream's blocks 1 and 4. The counter carries between them.
    constexpr unsigned char first[16] = {0xec, 0x8c, 0xdf, 0x73, 0x98, 0x60, 0x7c, 0xb0,
                                         0xf2, 0xd2, 0x16, 0x75, 0xea, 0x9e, 0xa1, 0xe4};
    constexpr unsigned char fourth[16] = {0xe8, 0x9c, 0x39, 0x9f, 0xf0, 0xf1, 0x98, 0xc6,
                                          0xd4, 0x0a, 0x31, 0xdb, 0x15, 0x6c, 0xab, 0xfe};
    unsigned char out[64];
    start(key, counter, device, 4);
    check(cudaMemcpy(out, device, sizeof out, cudaMemcpyDeviceToHost));
    return std::memcmp(out, first, 16) == 0 && std::memcmp(out + 48, fourth, 16) == 0;
}

/// Computes the mean of the 32-bit numbers as fractions of 2^32, the share of ones among the bits, and the chi-square
/// of the bytes (255 degrees of freedom). Returns false if one of these values differs from its expected value by six
/// standard deviations or more.
bool looks_random(const std::vector<unsigned char>& bytes) {
    const double n = static_cast<double>(bytes.size());
    double counts[256] = {}, sum = 0, ones = 0, chi = 0;
    for (const unsigned char byte : bytes) ++counts[byte];
    for (std::size_t i = 0; i + 4 <= bytes.size(); i += 4) {
        std::uint32_t word;
        std::memcpy(&word, bytes.data() + i, 4);
        sum += word / 4294967296.0;
    }
    for (unsigned byte = 0; byte < 256; ++byte) {
        for (unsigned bit = 0; bit < 8; ++bit) ones += (byte >> bit & 1u) * counts[byte];
        chi += (counts[byte] - n / 256) * (counts[byte] - n / 256) / (n / 256);
    }
    const double mean = sum / (n / 4), share = ones / (8 * n);
    std::printf("of the first %.0f bytes: mean %.6f (0.5), ones %.6f (0.5), chi-square of bytes %.1f (255 +- 22.6)\n",
                n, mean, share, chi);
    return std::abs(mean - 0.5) < 6 / std::sqrt(12 * n / 4) && std::abs(share - 0.5) < 6 * 0.5 / std::sqrt(8 * n) &&
           std::abs(chi - 255) < 6 * 22.6;
}

constexpr const char* usage =
    "usage: random_numbers [--mib N] [-o FILE]\n"
    "Checks a vector of NIST, generates N MiB (default: 1024) of random numbers on GPU 0, and prints the throughput\n"
    "and statistics of the numbers.\n"
    "  -o FILE  writes the numbers to FILE\n"
    "Exit status: 0 success; 1 wrong result or failure; 2 usage error; 3 no GPU found.\n";

}  // namespace

int main(int argc, char** argv) try {
    unsigned long long mib = 1024;
    std::string file;
    for (int i = 1; i < argc; ++i) {
        const std::string option = argv[i], value = i + 1 < argc ? argv[i + 1] : "";
        if (option == "--help") {
            std::fputs(usage, stdout);
            return 0;
        }
        const bool number = !value.empty() && value.size() < 8 && value.find_first_not_of("0123456789") == value.npos;
        if (option == "--mib" && number && std::stoull(value) > 0) {
            mib = std::stoull(value);
        } else if (option == "-o" && !value.empty()) {
            file = value;
        } else {
            std::fputs(usage, stderr);
            return 2;
        }
        ++i;
    }
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        std::fputs("random_numbers: no GPU found; an NVIDIA GPU of compute capability 8.0 or later is required\n",
                   stderr);
        return 3;
    }

    const unsigned long long bytes = mib << 20;
    uint4* device = nullptr;
    check(cudaMalloc(&device, bytes));
    if (!passes_nist(device)) throw std::runtime_error("SP 800-38A F.5.1: wrong");
    std::puts("SP 800-38A F.5.1: right");

    unsigned char key[16], counter[16];
    std::random_device system;
    for (unsigned char& byte : key) byte = static_cast<unsigned char>(system());
    for (unsigned char& byte : counter) byte = static_cast<unsigned char>(system());
    start(key, counter, device, bytes / 16);  // raises the GPU's clock rate
    cudaEvent_t begin{}, end{};
    check(cudaEventCreate(&begin));
    check(cudaEventCreate(&end));
    check(cudaEventRecord(begin));
    start(key, counter, device, bytes / 16);
    check(cudaEventRecord(end));
    check(cudaEventSynchronize(end));
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin, end));
    std::printf("%llu MiB in %.3f ms: %.1f GB/s, %.2f x 10^9 blocks/s\n", mib, milliseconds,
                static_cast<double>(bytes) / milliseconds / 1e6, static_cast<double>(bytes) / 16 / milliseconds / 1e6);

    std::vector<unsigned char> numbers(file.empty() && mib > 64 ? 64ULL << 20 : bytes);
    check(cudaMemcpy(numbers.data(), device, numbers.size(), cudaMemcpyDeviceToHost));
    check(cudaFree(device));
    const bool random = looks_random(numbers);
    if (!file.empty()) {
        std::ofstream out(file, std::ios::binary);
        out.write(reinterpret_cast<const char*>(numbers.data()), static_cast<std::streamsize>(numbers.size()));
        if (!out.flush()) throw std::runtime_error(file + ": cannot be written");
    }
    if (!random) throw std::runtime_error("these numbers are not random");
    return 0;
} catch (const std::exception& e) {
    std::fprintf(stderr, "random_numbers: %s\n", e.what());
    return 1;
}
