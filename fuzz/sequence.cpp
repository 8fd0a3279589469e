// Batches, single calls, segments and contexts in sequence, with a few keys that come and go, on every CPU backend, or,
// as `sequence_gpu`, on the simulated GPU with messages in its memory, too. Results are compared with libcrypto's. The
// operations are those of tests/batch/sequence.hpp, with the fuzzer's input as random numbers.
#include "sequence.hpp"

#include "device_memory.hpp"
#include "input.hpp"

namespace {

using namespace warpaes::test;

struct Place {
    AbiEngine engine;
    std::unique_ptr<DeviceMemory> device;
};

std::vector<Place> make_places() {
    std::vector<Place> places;
    for (const std::string& backend : usable_backends()) {
        if (backend == "cuda") places.clear();
        Place& place = places.emplace_back(Place{make_engine(backend, 1), nullptr});
        if (backend == "cuda") place.device = std::make_unique<DeviceMemory>(place.engine, 0);
    }
    return places;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const std::vector<Place> places = make_places();
    fuzz::Input in(data, size);
    const Place& place = places[in.below(places.size())];
    // Removes cached keys, so that a run does not depend on earlier inputs.
    fuzz::require(warpaes_engine_flush_keys(place.engine.get()) == WARPAES_OK, "a flush has failed");
    Random random([&in] {
        const std::uint32_t low = in.byte();
        return low | std::uint32_t{in.byte()} << 8;
    });
    Sequence sequence(place.engine.get(), random, 1, {.count = 4, .length = 200, .aad = 40}, place.device.get());
    for (int step = 0; step < 8 && !in.empty(); ++step) {
        if (const std::string wrong = sequence.step(); !wrong.empty()) fuzz::fail(wrong);
    }
    return 0;
}
