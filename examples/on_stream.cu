// Runs AES on the caller's stream without waiting on the host. First, a CUDA graph is captured once and launched a
// thousand times. Then a hundred thousand AES-GCM messages are decrypted, and a kernel reads their statuses.
//
//   nvcc -std=c++20 -o on_stream on_stream.cu -lwarpaes && ./on_stream
//
// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>
#include <warpaes/warpaes.hpp>

namespace {

void check(cudaError_t error) {
    if (error == cudaSuccess) return;
    std::fprintf(stderr, "cuda: %s\n", cudaGetErrorString(error));
    std::exit(1);
}

void require(bool right, const char* what) {
    if (right) return;
    std::fprintf(stderr, "wrong: %s\n", what);
    std::exit(1);
}

std::uint8_t* device_bytes(std::size_t bytes) {
    void* memory = nullptr;
    check(cudaMalloc(&memory, bytes));
    check(cudaMemset(memory, 0, bytes));
    return static_cast<std::uint8_t*>(memory);
}

__global__ void fill(std::uint8_t* bytes, std::size_t n, unsigned seed) {
    const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
    for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step) {
        bytes[i] = static_cast<std::uint8_t>((i * 2654435761u + seed) >> 13);
    }
}

/// Adds `blocks` to the last eight bytes of a counter block, so that each launch of a graph uses new counters.
__global__ void next_counter(std::uint8_t* iv, unsigned long long blocks) {
    unsigned long long n = 0;
    for (int i = 8; i < 16; ++i) n = n << 8 | iv[i];
    n += blocks;
    for (int i = 15; i >= 8; --i, n >>= 8) iv[i] = static_cast<std::uint8_t>(n);
}

/// Counts the messages that are not authentic, and finds the first of them. A real program would handle these messages
/// here.
__global__ void count_bad(const warpaes_status* statuses, unsigned n, unsigned* bad, unsigned* first) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || statuses[i] == WARPAES_OK) return;
    atomicAdd(bad, 1);
    atomicMin(first, i);
}

/// Launches a graph that generates 1 MiB of key stream. The counter is in device memory, and each launch increments it.
void replay(const warpaes::Engine& engine, cudaStream_t stream) {
    constexpr std::size_t bytes = 1 << 20;
    constexpr int launches = 1000;
    const std::vector<std::uint8_t> key_bytes(32, 7);
    std::uint8_t *const zeros = device_bytes(bytes), *const output = device_bytes(bytes), *const iv = device_bytes(16);

    warpaes_batch_entry entry{};
    entry.mode = WARPAES_CTR;
    entry.direction = WARPAES_ENCRYPT;
    entry.count = 1;
    entry.length = bytes;
    entry.input.at.pointer = zeros;
    entry.output.at.pointer = output;
    entry.iv.at.pointer = iv;
    entry.iv_len = 16;

    cudaGraph_t graph = nullptr;
    cudaGraphExec_t runnable = nullptr;
    {
        const warpaes::Key key(key_bytes);
        entry.key = key.get();
        check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
        warpaes::check(warpaes_batch_enqueue(engine.get(), nullptr, &entry, 1, stream));
        next_counter<<<1, 1, 0, stream>>>(iv, bytes / 16);
        check(cudaStreamEndCapture(stream, &graph));
        check(cudaGraphInstantiate(&runnable, graph, 0));
    }  // the graph has its own copy of the key
    for (int i = 0; i < launches; ++i) check(cudaGraphLaunch(runnable, stream));
    check(cudaStreamSynchronize(stream));

    std::vector<std::uint8_t> last(bytes);
    check(cudaMemcpy(last.data(), output, bytes, cudaMemcpyDeviceToHost));
    std::vector<std::uint8_t> counter(16);
    const unsigned long long first = (launches - 1) * (bytes / 16);
    for (int i = 0; i < 8; ++i) counter[15 - i] = static_cast<std::uint8_t>(first >> (8 * i));
    const warpaes::Key key(key_bytes);
    const auto expected = warpaes::encrypt(engine, warpaes::Mode::ctr, key, counter, std::vector<std::uint8_t>(bytes));
    require(last == expected, "the key stream of the last launch");
    check(cudaGraphExecDestroy(runnable));
    check(cudaGraphDestroy(graph));
    for (std::uint8_t* memory : {zeros, output, iv}) check(cudaFree(memory));
    std::printf("a graph was launched %d times: %d MiB of key stream, of which the last MiB was compared\n", launches,
                launches);
}

/// Encrypts and decrypts messages on the stream, each under its own key. Keys, nonces, tags and statuses lie in device
/// memory.
void open_many(const warpaes::Engine& engine, cudaStream_t stream) {
    constexpr unsigned count = 100000;
    constexpr std::size_t length = 1500;
    std::uint8_t *const text = device_bytes(count * length), *const sealed = device_bytes(count * length),
                        *const opened = device_bytes(count * length), *const keys = device_bytes(count * 16),
                        *const nonces = device_bytes(count * 12), *const tags = device_bytes(count * 16),
                        *const statuses = device_bytes(count * sizeof(warpaes_status)),
                        *const found = device_bytes(2 * sizeof(unsigned));
    fill<<<1024, 256, 0, stream>>>(text, count * length, 1);
    fill<<<1024, 256, 0, stream>>>(keys, count * 16, 2);
    fill<<<1024, 256, 0, stream>>>(nonces, count * 12, 3);

    warpaes_batch_entry entry{};
    entry.mode = WARPAES_GCM;
    entry.direction = WARPAES_ENCRYPT;
    entry.count = count;
    entry.length = length;
    entry.input = {{text}, length};
    entry.output = {{sealed}, length};
    entry.keys = {{keys}, 16};
    entry.key_len = 16;
    entry.iv = {{nonces}, 12};
    entry.iv_len = 12;
    entry.tag = {{tags}, 16};
    entry.tag_len = 16;
    warpaes::check(warpaes_batch_enqueue(engine.get(), nullptr, &entry, 1, stream));

    constexpr unsigned altered[] = {7, 50000, count - 1};
    check(cudaMemsetAsync(sealed + altered[0] * length + 700, 0xff, 2, stream));
    check(cudaMemsetAsync(tags + altered[1] * std::size_t{16} + 3, 0xff, 2, stream));
    check(cudaMemsetAsync(nonces + altered[2] * std::size_t{12}, 0xff, 2, stream));

    entry.direction = WARPAES_DECRYPT;
    entry.input = {{sealed}, length};
    entry.output = {{opened}, length};
    entry.statuses = reinterpret_cast<warpaes_status*>(statuses);
    warpaes::check(warpaes_batch_enqueue(engine.get(), nullptr, &entry, 1, stream));
    auto* const bad = reinterpret_cast<unsigned*>(found);
    check(cudaMemsetAsync(bad + 1, 0xff, sizeof(unsigned), stream));
    count_bad<<<(count + 255) / 256, 256, 0, stream>>>(entry.statuses, count, bad, bad + 1);

    unsigned told[2];  // the host waits only for this copy
    check(cudaMemcpyAsync(told, found, sizeof told, cudaMemcpyDeviceToHost, stream));
    check(cudaStreamSynchronize(stream));
    require(told[0] == 3 && told[1] == altered[0], "the messages that were altered");
    std::vector<std::uint8_t> before(count * length), after(count * length);
    check(cudaMemcpy(before.data(), text, before.size(), cudaMemcpyDeviceToHost));
    check(cudaMemcpy(after.data(), opened, after.size(), cudaMemcpyDeviceToHost));
    for (const unsigned i : altered) {
        for (std::size_t at = i * length; at < (i + 1) * length; ++at) before[at] = 0;
    }
    require(before == after, "the plaintext, with zeros where it is not authentic");
    for (std::uint8_t* memory : {text, sealed, opened, keys, nonces, tags, statuses, found}) check(cudaFree(memory));
    std::printf("%u AES-GCM messages were decrypted on a stream; the device found %u that are not authentic\n", count,
                told[0]);
}

}  // namespace

int main() {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        std::fprintf(stderr, "needs an NVIDIA GPU\n");
        return 3;
    }
    try {
        const warpaes::Engine engine({.backend = "cuda"});
        cudaStream_t stream = nullptr;
        check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        replay(engine, stream);
        open_many(engine, stream);
        check(cudaStreamDestroy(stream));
        return 0;
    } catch (const warpaes::Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
