// Runs random sequences in 8 threads on one GPU and compares every byte with libcrypto's. Sequences contain single
// messages, batches, contexts, calls on streams and in captures of every mode, and flushes of cached keys. They also
// create and destroy engines. Every call must succeed.
//
//   device_threads --runs 3000 --seed 1 --threads 8 --steps 20
//
// `--runs` is the total number of sequences in all threads. Prints JSON. Exits with status 3 if there is no GPU.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "device_memory.hpp"
#include "on_stream.hpp"
#include "sequence.hpp"

namespace {

using namespace warpaes;
using namespace warpaes::test;

struct Options {
    std::uint32_t runs = 3000, seed = 1, threads = 8, steps = 20;
};

Options parse(int argc, char** argv) {
    Options o;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string name = argv[i];
        const auto value = static_cast<std::uint32_t>(std::strtoul(argv[i + 1], nullptr, 10));
        if (name == "--runs") o.runs = value;
        if (name == "--seed") o.seed = value;
        if (name == "--threads") o.threads = value;
        if (name == "--steps") o.steps = value;
    }
    return o;
}

struct Tally {
    std::atomic<std::uint32_t> next{0}, failed{0};
    std::atomic<std::uint64_t> steps{0}, flushes{0}, captures{0}, enqueued{0};
    std::mutex mutex;
    std::string first;

    void fail(std::uint32_t seed, const std::string& what) {
        ++failed;
        const std::lock_guard lock(mutex);
        if (first.empty()) first = "seed " + std::to_string(seed) + ": " + what;
    }
};

/// Runs one thread's sequences.
class Thread {
public:
    Thread(warpaes_engine* engine, const AbiEngine& shared, Tally& tally)
        : engine_(engine), shared_(shared), tally_(tally) {}

    void run(std::uint32_t seed, std::uint32_t steps) {
        std::mt19937 generator(seed);
        DeviceMemory device(shared_, 0);
        Sequence sequence(engine_, generator, seed, limits(), &device);
        Random random(generator);
        for (std::uint32_t step = 0; step < steps; ++step, ++tally_.steps) {
            const std::string wrong = take_step(sequence, random);
            if (!wrong.empty()) return tally_.fail(seed, "step " + std::to_string(step) + ": " + wrong);
        }
    }

private:
    std::string take_step(Sequence& sequence, Random& random) {
        switch (random.below(16)) {
        case 0:
        case 1:
            ++tally_.flushes;
            return warpaes_engine_flush_keys(engine_) == WARPAES_OK ? ""
                                                                    : std::string("flush: ") + warpaes_last_error();
        case 2:
        case 3:
        case 4:
        case 5:
            return on_stream(random);
        case 6:
            return another_engine(random);
        default:
            return sequence.step();
        }
    }

    std::string on_stream(Random& random) {
        const bool batch = random.chance(50), captures = random.chance(60);
        std::vector<GroupSpec> specs;
        for (std::uint64_t n = 1 + random.below(4); n != 0; --n) {
            const Mode mode = batch_modes()[random.below(batch_modes().size())];
            GroupSpec spec = for_stream(
                random_group(random, mode, random.chance(50) ? Direction::encrypt : Direction::decrypt, limits()));
            if (!batch) {
                spec.count = 1;
                spec.raw_keys = false;
                spec.key = static_cast<unsigned>(random.below(KeyPool::keys_each));
            }
            specs.push_back(spec);
        }
        OnStream messages(specs, random(), memory_);
        std::string wrong;
        if (!captures) {
            ++tally_.enqueued;
            wrong = enqueue(messages, batch);
            stream_.synchronize();
            return wrong + messages.complaints();
        }
        ++tally_.captures;
        constexpr cudaStreamCaptureMode modes[] = {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal,
                                                   cudaStreamCaptureModeRelaxed};
        Captured capture(stream_.get(), modes[random.below(3)]);
        wrong = enqueue(messages, batch);
        wrong += capture.finish();
        if (!wrong.empty()) return "capture: " + wrong;
        if (messages.complaints().empty()) return "capture: the work was done before the graph ran";
        for (int time = 0; time < (messages.in_place() ? 1 : 2) && wrong.empty(); ++time) {
            capture.run(stream_);
            wrong = messages.complaints();
        }
        return wrong;
    }

    std::string enqueue(OnStream& messages, bool batch) {
        return batch ? messages.enqueue_batch(engine_, stream_.get())
                     : messages.enqueue_messages(engine_, stream_.get());
    }

    /// Destroying an engine also flushes keys.
    static std::string another_engine(Random& random) {
        const AbiEngine engine = make_engine("auto", 1);
        if (engine == nullptr) return warpaes_last_error();
        const std::vector<GroupSpec> specs = random_batch(random, 1 + random.below(3), limits());
        return complaints_of_abi_batch(engine, specs, random());
    }

    warpaes_engine* engine_;
    const AbiEngine& shared_;
    Tally& tally_;
    CudaMemory memory_;
    CudaStream stream_;
};

}  // namespace

int main(int argc, char** argv) {
    const Options o = parse(argc, argv);
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
        std::fprintf(stderr, "there is no GPU\n");
        return 3;
    }
    const AbiEngine engine = make_engine("auto");
    if (engine == nullptr) {
        std::fprintf(stderr, "%s\n", warpaes_last_error());
        return 2;
    }
    Tally tally;
    std::vector<std::thread> threads;
    for (std::uint32_t t = 0; t < o.threads; ++t) {
        threads.emplace_back([&] {
            try {
                Thread thread(engine.get(), engine, tally);
                for (std::uint32_t n = tally.next++; n < o.runs && tally.failed == 0; n = tally.next++) {
                    thread.run(o.seed + n, o.steps);
                }
            } catch (const std::exception& e) {
                tally.fail(o.seed, e.what());
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    if (warpaes_engine_flush_keys(engine.get()) != WARPAES_OK) tally.fail(o.seed, warpaes_last_error());
    std::printf(
        "{\"runs\": %u, \"threads\": %u, \"seed\": %u, \"steps\": %llu, \"flushes\": %llu, \"captures\": %llu, "
        "\"enqueued\": %llu, \"failed\": %u}\n",
        o.runs, o.threads, o.seed, static_cast<unsigned long long>(tally.steps),
        static_cast<unsigned long long>(tally.flushes), static_cast<unsigned long long>(tally.captures),
        static_cast<unsigned long long>(tally.enqueued), tally.failed.load());
    if (!tally.first.empty()) std::fprintf(stderr, "%s\n", tally.first.c_str());
    return tally.failed == 0 && !testing::Test::HasFailure() ? 0 : 1;
}
