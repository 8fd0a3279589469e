// Measures an upper limit for transfers between the host and GPUs. Copies page-locked memory to every GPU and, at the
// same time, back from every GPU, without computing. Prints the GB/s of all GPUs together as JSON. Like `warpaes
// bench`, it counts the bytes of one direction. The host's clock measures the time. The time excludes allocation and a
// first round, in which the GPUs and drivers warm up.
//
//     copy_bench [--mib N] [--samples N]
#include <cuda_runtime.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t chunk = std::size_t{16} << 20;

void check(cudaError_t error, const char* what) {
    if (error != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(error));
}

/// One GPU's share: a buffer and a stream for each direction.
class Way {
public:
    Way(int device, std::size_t bytes) : device_(device), bytes_(bytes) {
        check(cudaSetDevice(device_), "choosing the device");
        for (Side& side : sides_) {
            check(cudaHostAlloc(&side.host, bytes_, cudaHostAllocPortable), "page-locked memory");
            check(cudaMalloc(&side.device, 2 * chunk), "device memory");
            check(cudaStreamCreateWithFlags(&side.stream, cudaStreamNonBlocking), "a stream");
            std::memset(side.host, 1, bytes_);
        }
    }
    Way(const Way&) = delete;
    Way& operator=(const Way&) = delete;
    ~Way() {
        (void)cudaSetDevice(device_);
        for (Side& side : sides_) {
            (void)cudaStreamDestroy(side.stream);
            (void)cudaFree(side.device);
            (void)cudaFreeHost(side.host);
        }
    }

    void copy() {
        check(cudaSetDevice(device_), "choosing the device");
        for (std::size_t at = 0; at < bytes_; at += chunk) {
            const std::size_t n = std::min(chunk, bytes_ - at), place = at / chunk % 2 * chunk;
            check(cudaMemcpyAsync(static_cast<char*>(sides_[0].device) + place, static_cast<char*>(sides_[0].host) + at,
                                  n, cudaMemcpyHostToDevice, sides_[0].stream),
                  "copying to the device");
            check(cudaMemcpyAsync(static_cast<char*>(sides_[1].host) + at, static_cast<char*>(sides_[1].device) + place,
                                  n, cudaMemcpyDeviceToHost, sides_[1].stream),
                  "copying from the device");
        }
        for (const Side& side : sides_) check(cudaStreamSynchronize(side.stream), "waiting");
    }

private:
    struct Side {
        void* host = nullptr;
        void* device = nullptr;
        cudaStream_t stream = nullptr;
    };
    int device_;
    std::size_t bytes_;
    Side sides_[2];
};

int run(std::size_t bytes, std::size_t samples) {
    int gpus = 0;
    check(cudaGetDeviceCount(&gpus), "looking for GPUs");
    std::vector<double> seconds(samples);
    std::vector<std::string> failures(static_cast<std::size_t>(gpus));
    std::chrono::steady_clock::time_point begin;
    const auto tick = [&, turn = std::size_t{0}]() mutable noexcept {
        const auto now = std::chrono::steady_clock::now();
        // On even turns, all threads are ready and a sample begins. On odd turns, all threads are done. The first
        // sample is a warm-up.
        if (turn % 2 == 1 && turn > 1) seconds[turn / 2 - 1] = std::chrono::duration<double>(now - begin).count();
        begin = now;
        ++turn;
    };
    std::barrier together(gpus, tick);
    {
        std::vector<std::jthread> threads;
        for (int device = 0; device < gpus; ++device) {
            threads.emplace_back([&, device] {
                try {
                    Way way(device, bytes);
                    for (std::size_t i = 0; i <= samples; ++i) {
                        together.arrive_and_wait();
                        way.copy();
                        together.arrive_and_wait();
                    }
                } catch (const std::exception& e) {
                    failures[static_cast<std::size_t>(device)] = e.what();
                    together.arrive_and_drop();
                }
            });
        }
    }
    for (const std::string& failure : failures) {
        if (!failure.empty()) throw std::runtime_error(failure);
    }
    std::sort(seconds.begin(), seconds.end());
    const double rate = static_cast<double>(bytes) * gpus / seconds[samples / 2] / 1e9;
    std::printf("{\"copies\": {\"gpus\": %d, \"bytes_each\": %zu, \"samples\": %zu, \"gb_per_s\": %.5g}}\n", gpus,
                bytes, samples, rate);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    std::size_t mib = 1024, samples = 9;
    for (int i = 1; i < argc; i += 2) {
        const std::string option = argv[i];
        const unsigned long value = i + 1 < argc ? std::strtoul(argv[i + 1], nullptr, 10) : 0;
        if ((option != "--mib" && option != "--samples") || value == 0 || value > 65536) {
            std::fprintf(stderr, "usage: copy_bench [--mib N] [--samples N]\n");
            return 2;
        }
        (option == "--mib" ? mib : samples) = value;
    }
    try {
        return run(mib << 20, samples);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "copy_bench: %s\n", e.what());
        return 1;
    }
}
