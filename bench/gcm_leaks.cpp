// Tests whether the duration of a batch of GCM under one key depends on the key or the text: the kernels that process
// short messages (kernels/gcm_pass.cu) and long messages (kernels/gcm_windows.cu) in one pass. Each measurement has a
// fixed or a random key (or text), chosen at random, and the two classes are compared by Welch's t. All keys have their
// own handle and graph, all texts their own memory, and there are as many of each class; the text is copied to the same
// input before the clock starts. In the controls, one class has one message more or less text, which the test must
// find. Needs a GPU of compute capability 9.0 for these kernels.
//
//     gcm_leaks [LAUNCHES]
//
// `tools/build cuda gcm_leaks && build/cuda/bench/gcm_leaks` takes less than a minute on an H200.
//
// Prints a line for each test. Exits with status 1 if |t| is above 4.5 in a test, or below 10 in a control.
#include <cuda_runtime.h>
#include <warpaes/warpaes.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

namespace {

constexpr double leaks_from = 4.5, found_from = 10;
constexpr std::size_t of_class = 16, at_once = 64;

void require(bool right, const char* what) {
    if (right) return;
    std::fprintf(stderr, "gcm_leaks: %s failed: %s\n", what, warpaes_last_error());
    std::exit(2);
}
void require(cudaError_t status, const char* what) {
    require(status == cudaSuccess, what);
}

struct Shape {
    const char* name;
    std::size_t count, bytes, shift;
};
enum class Secret { key, text, control };
constexpr const char* secret_names[] = {"key", "text", "control"};

template <typename T>
T* device_memory(std::size_t count) {
    void* memory = nullptr;
    require(cudaMalloc(&memory, count * sizeof(T)), "memory");
    return static_cast<T*>(memory);
}

std::vector<std::uint8_t> random_bytes(std::size_t n, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<std::uint8_t> bytes(n);
    for (auto& b : bytes) b = static_cast<std::uint8_t>(random() >> 56);
    return bytes;
}

/// Mean and variance of the mean.
struct Mean {
    double mean = 0, variance = 0;
    explicit Mean(const std::vector<double>& values) {
        const auto n = static_cast<double>(std::max<std::size_t>(values.size(), 2));
        for (const double v : values) mean += v / n;
        for (const double v : values) variance += (v - mean) * (v - mean) / (n - 1) / n;
    }
};

class Test {
public:
    Test(warpaes_engine* engine, const Shape& shape, bool encrypts, Secret secret)
        : shape_(shape), encrypts_(encrypts), secret_(secret), bytes_(shape.count * shape.bytes) {
        require(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
        input_ = device_memory<std::uint8_t>(bytes_ + 16);
        output_ = device_memory<std::uint8_t>(bytes_ + 16);
        ivs_ = device_memory<std::uint8_t>(16 * shape.count);
        tags_ = device_memory<std::uint8_t>(16 * shape.count);
        statuses_ = device_memory<warpaes_status>(shape.count);
        const auto ivs = random_bytes(16 * shape.count, 3);
        require(cudaMemcpy(ivs_, ivs.data(), ivs.size(), cudaMemcpyHostToDevice), "copy");
        for (std::size_t i = 0; i < 2 * of_class; ++i) {
            const bool random = i >= of_class;
            if (i == 0 || secret == Secret::text) {
                texts_.push_back(device_memory<std::uint8_t>(bytes_));
                const auto text = random_bytes(bytes_, secret == Secret::text && random ? 100 + i : 1);
                require(cudaMemcpy(texts_.back(), text.data(), bytes_, cudaMemcpyHostToDevice), "copy");
            }
            if (i == 0 || secret != Secret::text) {
                warpaes_key* key = nullptr;
                const auto bytes = random_bytes(16, secret == Secret::key && random ? 200 + i : 2);
                require(warpaes_key_create(bytes.data(), bytes.size(), &key) == WARPAES_OK, "key");
                capture(engine, key, shape.count - (secret == Secret::control && random ? shape.count / 8 : 0));
                warpaes_key_destroy(key);
            }
        }
    }
    Test(const Test&) = delete;
    Test& operator=(const Test&) = delete;
    ~Test() {
        for (const cudaGraphExec_t graph : graphs_) (void)cudaGraphExecDestroy(graph);
        for (std::uint8_t* memory : texts_) (void)cudaFree(memory);
        for (void* memory : {static_cast<void*>(input_), static_cast<void*>(output_), static_cast<void*>(ivs_),
                             static_cast<void*>(tags_), static_cast<void*>(statuses_)}) {
            (void)cudaFree(memory);
        }
        (void)cudaStreamDestroy(stream_);
    }

    /// Returns whether the result is as expected.
    bool run(std::size_t launches) {
        std::vector<cudaEvent_t> events(2 * at_once);
        for (cudaEvent_t& event : events) require(cudaEventCreate(&event), "event");
        const std::size_t delay_bytes = launches < 1000 ? 4096 : std::size_t{1} << 30;
        auto* const delay = device_memory<std::uint8_t>(delay_bytes);
        std::mt19937_64 random(7);
        std::vector<double> times[2];
        for (std::size_t done = 0; done < launches + at_once; done += at_once) {
            int classes[at_once];
            // The GPU is busy until all work is enqueued, so it does not wait for the host between two events.
            for (int i = 0; i < 6; ++i) require(cudaMemsetAsync(delay, i, delay_bytes, stream_), "fill");
            for (std::size_t i = 0; i < at_once; ++i) {
                classes[i] = static_cast<int>(random() >> 63);
                const std::size_t item = of_class * static_cast<std::size_t>(classes[i]) + (done + i) % of_class;
                require(cudaMemcpyAsync(input_ + shape_.shift, texts_[item % texts_.size()], bytes_,
                                        cudaMemcpyDeviceToDevice, stream_),
                        "copy");
                require(cudaEventRecord(events[2 * i], stream_), "record");
                require(cudaGraphLaunch(graphs_[item % graphs_.size()], stream_), "launch");
                require(cudaEventRecord(events[2 * i + 1], stream_), "record");
            }
            require(cudaStreamSynchronize(stream_), "wait");
            for (std::size_t i = 0; i < at_once && done != 0; ++i) {
                float milliseconds = 0;
                require(cudaEventElapsedTime(&milliseconds, events[2 * i], events[2 * i + 1]), "time");
                times[classes[i]].push_back(1e6 * static_cast<double>(milliseconds));
            }
        }
        for (const cudaEvent_t event : events) (void)cudaEventDestroy(event);
        (void)cudaFree(delay);
        return report(times);
    }

private:
    void capture(warpaes_engine* engine, const warpaes_key* key, std::size_t count) {
        warpaes_batch_entry entry = {};
        entry.mode = WARPAES_GCM;
        entry.direction = encrypts_ ? WARPAES_ENCRYPT : WARPAES_DECRYPT;
        entry.count = count;
        entry.length = shape_.bytes;
        entry.input = {{input_ + shape_.shift}, shape_.bytes};
        entry.output = {{output_ + shape_.shift}, shape_.bytes};
        entry.iv = {{ivs_}, 16};
        entry.iv_len = 12;
        entry.tag = {{tags_}, 16};
        entry.tag_len = 16;
        entry.key = key;
        entry.statuses = encrypts_ ? nullptr : statuses_;
        cudaGraph_t graph = nullptr;
        require(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed), "capture");
        require(warpaes_batch_enqueue(engine, nullptr, &entry, 1, stream_) == WARPAES_OK, "enqueuing");
        require(cudaStreamEndCapture(stream_, &graph), "capture");
        require(cudaGraphInstantiate(&graphs_.emplace_back(), graph, 0), "graph");
        require(cudaGraphDestroy(graph), "graph");
    }

    /// The slowest twentieth of all times, in which other work interferes, is omitted.
    [[nodiscard]] bool report(const std::vector<double> (&times)[2]) const {
        std::vector<double> all(times[0]);
        all.insert(all.end(), times[1].begin(), times[1].end());
        require(!all.empty(), "measuring");
        std::sort(all.begin(), all.end());
        const double limit = secret_ == Secret::control ? all.back() : all[all.size() * 19 / 20];
        std::vector<double> kept[2];
        for (int c = 0; c < 2; ++c) {
            std::copy_if(times[c].begin(), times[c].end(), std::back_inserter(kept[c]),
                         [&](double t) { return t <= limit; });
        }
        const Mean fixed(kept[0]), random(kept[1]);
        const double deviation = std::sqrt(fixed.variance + random.variance);
        const double t = deviation > 0 ? (fixed.mean - random.mean) / deviation : 0;
        const bool right = secret_ == Secret::control ? std::abs(t) > found_from : std::abs(t) < leaks_from;
        std::printf("%-28s %s %-7s  %zu launches, fixed %.1f ns, random %.1f ns, least found %.2f ns, t = %.2f%s\n",
                    shape_.name, encrypts_ ? "encrypt" : "decrypt", secret_names[static_cast<int>(secret_)], all.size(),
                    fixed.mean, random.mean, leaks_from * deviation, t, right ? "" : "  <- not as expected");
        std::fflush(stdout);
        return right;
    }

    Shape shape_;
    bool encrypts_;
    Secret secret_;
    std::size_t bytes_;
    cudaStream_t stream_ = nullptr;
    std::uint8_t *input_ = nullptr, *output_ = nullptr, *ivs_ = nullptr, *tags_ = nullptr;
    warpaes_status* statuses_ = nullptr;
    std::vector<std::uint8_t*> texts_;
    std::vector<cudaGraphExec_t> graphs_;
};

}  // namespace

int main(int argc, char** argv) {
    const std::size_t launches = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 20000;
    warpaes_engine* engine = nullptr;
    warpaes_engine_options options = WARPAES_ENGINE_OPTIONS_INIT;
    options.backend = "cuda";
    options.device = 0;
    require(warpaes_engine_create(&options, &engine) == WARPAES_OK, "creating an engine");
    // With few launches, as on a simulated GPU, the messages are shorter.
    const std::size_t size = launches < 1000 ? 8 : 1;
    const Shape shapes[] = {{"pass, 512 x 2 KiB", 512 / size / size, 2048, 0},
                            {"windows, 8 x 128 KiB", 8, (128 << 10) / size / size, 0},
                            {"windows, at any address", 8, (128 << 10) / size / size, 3}};
    bool right = true;
    for (const Shape& shape : shapes) {
        right &= Test(engine, shape, true, Secret::control).run(launches / 4);
        for (const Secret secret : {Secret::key, Secret::text})
            right &= Test(engine, shape, true, secret).run(launches);
        // All tags are wrong, in both classes.
        right &= Test(engine, shape, false, Secret::key).run(launches);
    }
    warpaes_engine_destroy(engine);
    return right ? 0 : 1;
}
