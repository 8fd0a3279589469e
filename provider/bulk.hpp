// Processing of long updates with the engine, if its plan predicts that several threads or a GPU are faster than the
// calling thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "aes/types.hpp"
#include "provider/counters.hpp"

namespace warpaes {
class Engine;
struct MessageGroup;
}  // namespace warpaes

namespace warpaes::provider {

struct Settings;
struct Key;

/// The work of one call: consecutive complete blocks of a message, in a mode and direction that can be parallelized, or
/// an XTS data unit.
struct BulkRun {
    Mode mode;
    Direction direction;
    const Key* key;
    const Key* tweak_key;       ///< only for XTS
    const std::uint8_t* chain;  ///< 16 bytes: the chaining value before the first block; J0 for GCM
    const std::uint8_t* input;
    std::uint8_t* output;
    std::uint64_t bytes;
    std::uint64_t first_block;  ///< GCM: the first block's index in the message
    std::uint8_t* digest;       ///< GCM: receives the GHASH digest of these blocks, 16 bytes
};

/// done: the entire update has been processed. untouched: nothing was done, and the CPU kernels must process the
/// update. failed: the output is undefined.
enum class Bulked { done, untouched, failed };

/// The engine for one set of settings. A child process of fork() gets a separate engine without GPUs, because a CUDA
/// context does not survive fork(). No lock is held across fork(). If a thread of the parent was creating an engine,
/// the child abandons that engine.
class Bulk {
public:
    explicit Bulk(const Settings& settings) : settings_(settings) {}

    /// Processes an update with the engine if the plan predicts a gain, or if the text is in device memory. Never
    /// throws.
    Bulked run(Kind kind, const BulkRun& run) noexcept;

    /// Returns this process's engine without GPUs. Creates the engine if necessary. Returns null if it cannot be
    /// created.
    Engine* engine_of_cpus() noexcept;

    /// Returns whether an update of `bytes` bytes is long enough for run().
    [[nodiscard]] bool wants(std::uint64_t bytes) const noexcept;
    /// Returns whether `in` or `out` is in device memory, which CPU kernels cannot access. Such an update must consist
    /// of complete blocks and be processed by run(). Always false unless the settings permit applications to pass
    /// device pointers.
    [[nodiscard]] bool on_device(const void* in, const void* out) const noexcept;

private:
    struct Made {
        std::uint64_t forks;
        Engine* engine;  ///< null if creation failed
    };
    /// Contains an engine, or a mark that a thread is creating an engine.
    struct Slot {
        std::atomic<const Made*> made{nullptr};
        std::atomic<std::uint64_t> making{0};  ///< fork count of the creating process, plus one
    };
    /// Returns null on failure and, unless `waits` is set, while another thread is creating the engine.
    Engine* engine(Slot& slot, bool cpus, bool waits) noexcept;

    const Settings& settings_;
    Slot any_, cpus_;
};

}  // namespace warpaes::provider
