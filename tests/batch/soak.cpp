// Submits random batches from several threads for a given time and checks every byte of the results. Prints the amount
// of work and the memory use as JSON: soak --seconds 600 --threads 8 --backend auto
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>

#include "abi_batch.hpp"

namespace {

using namespace warpaes;
using namespace warpaes::test;
using Clock = std::chrono::steady_clock;

struct Options {
    double seconds = 2;
    unsigned threads = 8;
    std::string backend = "auto";
    std::uint32_t seed = 1;
};

Options parse(int argc, char** argv) {
    Options o;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string name = argv[i], value = argv[i + 1];
        if (name == "--seconds") o.seconds = std::atof(value.c_str());
        if (name == "--threads") o.threads = static_cast<unsigned>(std::atoi(value.c_str()));
        if (name == "--backend") o.backend = value;
        if (name == "--seed") o.seed = static_cast<std::uint32_t>(std::atoi(value.c_str()));
    }
    return o;
}

long resident_kib() {
    std::ifstream statm("/proc/self/statm");
    long total = 0, resident = 0;
    statm >> total >> resident;
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

/// Memory of an arena, used by one batch at a time.
class ArenaMemory final : public BatchMemory {
public:
    explicit ArenaMemory(const AbiEngine& engine) : arena_(make_arena(engine, size)) {}
    std::uint8_t* allocate(std::size_t bytes) override {
        if (bytes > size - used_) return guarded_memory().allocate(bytes);
        auto* const at = static_cast<std::uint8_t*>(warpaes_arena_data(arena_.get())) + used_;
        used_ += bytes;
        ++pieces_;
        return at;
    }
    void release(std::uint8_t* memory, std::size_t bytes) noexcept override {
        const auto* const begin = static_cast<std::uint8_t*>(warpaes_arena_data(arena_.get()));
        if (memory < begin || memory >= begin + size) return guarded_memory().release(memory, bytes);
        if (--pieces_ == 0) used_ = 0;
    }

private:
    static constexpr std::size_t size = std::size_t{16} << 20;
    AbiArena arena_;
    std::size_t used_ = 0, pieces_ = 0;
};

struct Tally {
    std::atomic<std::uint64_t> batches{0}, groups{0}, errors{0};
    std::mutex mutex;
    std::string first_error;
};

void work(const AbiEngine& engine, std::uint32_t seed, Clock::time_point end, Tally& tally) {
    std::mt19937 random(seed);
    ArenaMemory memory(engine);
    for (; Clock::now() < end && tally.errors == 0; ++tally.batches) {
        const auto batch_seed = static_cast<std::uint32_t>(random());
        const auto specs = random_batch(random, 1 + random() % (simulated() ? 6 : 60), limits());
        BatchMemory& text = random() % 2 == 0 ? static_cast<BatchMemory&>(memory) : guarded_memory();
        const std::string wrong = complaints_of_abi_batch(engine, specs, batch_seed, text);
        tally.groups += specs.size();
        if (wrong.empty()) continue;
        ++tally.errors;
        const std::lock_guard lock(tally.mutex);
        if (tally.first_error.empty()) tally.first_error = "seed " + std::to_string(batch_seed) + ": " + wrong;
    }
}

/// Uses more keys than the engine keeps expanded. The keys are passed as bytes, and each is used for two messages.
/// Afterwards, the number of keys in the engine is constant.
void fill_key_table(const AbiEngine& engine) {
    std::mt19937 random(7);
    for (int i = 0; i < (simulated() ? 1 : 100); ++i) {
        const GroupSpec spec{
            .mode = Mode::gcm, .count = 2, .length = 64, .iv_length = 12, .raw_keys = true, .shared_key = true};
        const std::vector<GroupSpec> specs(50, spec);
        if (!complaints_of_abi_batch(engine, specs, static_cast<std::uint32_t>(random())).empty()) std::abort();
    }
}

}  // namespace

int main(int argc, char** argv) {
    const Options o = parse(argc, argv);
    const AbiEngine engine = make_engine(o.backend);
    if (engine == nullptr) {
        std::fprintf(stderr, "%s\n", warpaes_last_error());
        return 2;
    }
    Tally tally;
    const auto run = [&](double seconds, std::uint32_t seed) {
        const auto end =
            Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
        std::vector<std::thread> threads;
        for (unsigned t = 0; t < o.threads; ++t) {
            threads.emplace_back([&, t] { work(engine, seed + t, end, tally); });
        }
        for (std::thread& thread : threads) thread.join();
    };
    // The first quarter of the run allocates lanes, the table of keys and the allocator's memory.
    fill_key_table(engine);
    run(o.seconds / 4, o.seed);
    const long before = resident_kib();
    run(o.seconds * 3 / 4, o.seed + 1000);
    const long after = resident_kib();
    std::printf(
        "{\"seconds\": %g, \"threads\": %u, \"backend\": \"%s\", \"batches\": %llu, \"groups\": %llu, "
        "\"errors\": %llu, \"rss_kib_before\": %ld, \"rss_kib_after\": %ld}\n",
        o.seconds, o.threads, o.backend.c_str(), static_cast<unsigned long long>(tally.batches),
        static_cast<unsigned long long>(tally.groups), static_cast<unsigned long long>(tally.errors), before, after);
    if (!tally.first_error.empty()) std::fprintf(stderr, "%s\n", tally.first_error.c_str());
    return tally.errors == 0 ? 0 : 1;
}
