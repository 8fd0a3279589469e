// Tests sequences of batches, single calls, segments and contexts with a few keys, which are created and destroyed
// during the sequence. They run on every CPU backend or, as `sequence_gpu`, on the simulated GPU, where some messages
// are in GPU memory. The results are compared with libcrypto's. The operations are those in tests/batch/sequence.hpp,
// with the fuzzer's input as random numbers.
#include "sequence.hpp"

#include <cstdlib>

#include "backend/cuda_backend.hpp"
#include "device_memory.hpp"
#include "input.hpp"
#include "sleeping_workers.hpp"

namespace {

using namespace warpaes::test;

/// A launch table with few threads, because simulated kernels spend most of their time starting and ending threads and
/// filling tables.
constexpr warpaes::LaunchTable few_threads{
    .tables = 2, .threads = 128, .own_key_threads = 64, .serial_warps = 1, .product_blocks = 1};

class Places {
public:
    Places() {
        (void)::setenv("WARPAES_SIMT_MULTIPROCESSORS", "1", 0);
        const std::vector<std::string> backends = usable_backends();
        if (backends.back() == "cuda") {
            warpaes::cuda_backend().use_launches(0, few_threads);
            gpu_ = make_engine("cuda", 1);
            device_ = std::make_unique<DeviceMemory>(gpu_, 0);
            return;
        }
        for (const std::string& backend : backends) {
            awake_.push_back(make_engine(backend, 1));
            asleep_.push_back(make_engine(backend, 1));
            fuzz::put_workers_to_sleep(asleep_.back().get(), 1);
        }
    }
    ~Places() { fuzz::wake_workers(); }
    Places(const Places&) = delete;
    Places& operator=(const Places&) = delete;

    /// Returns an engine of one backend. The workers of some engines are awake. A GPU engine's workers are always
    /// awake.
    [[nodiscard]] warpaes_engine* any(fuzz::Input& in) const {
        const std::size_t which = in.byte();
        if (gpu_ != nullptr) return gpu_.get();
        return (which < 0xf0 ? asleep_ : awake_)[which % asleep_.size()].get();
    }
    /// Returns the GPU memory, or null if there is none.
    [[nodiscard]] DeviceMemory* device() const { return device_.get(); }

private:
    std::vector<AbiEngine> asleep_, awake_;
    AbiEngine gpu_;
    std::unique_ptr<DeviceMemory> device_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const Places places;
    fuzz::Input in(data, size);
    warpaes_engine* const engine = places.any(in);
    // Flushes the keys, so that an input has the same effect each time.
    fuzz::require(warpaes_engine_flush_keys(engine) == WARPAES_OK, "a flush failed");
    Random random([&in] {
        const std::uint32_t low = in.byte();
        return low | std::uint32_t{in.byte()} << 8;
    });
    Sequence sequence(engine, random, 1, {.count = 4, .length = 200, .aad = 40}, places.device());
    for (int step = 0; step < 8 && !in.empty(); ++step) {
        if (const std::string wrong = sequence.step(); !wrong.empty()) fuzz::fail(wrong);
    }
    return 0;
}
