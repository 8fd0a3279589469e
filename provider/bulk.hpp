// Long updates: they use the engine if its plan predicts that several threads or a GPU pay off.
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

/// A stretch of complete blocks of a message in a parallel direction, or a data unit of XTS.
struct BulkRun {
    Mode mode;
    Direction direction;
    const Key* key;
    const Key* tweak_key;       ///< XTS
    const std::uint8_t* chain;  ///< one block, as in Run; for GCM, J0
    const std::uint8_t* input;
    std::uint8_t* output;
    std::uint64_t bytes;
    std::uint64_t first_block;  ///< GCM: the stretch's first block in the message
    std::uint8_t* digest;       ///< GCM: receives the stretch's own digest, one block
};

/// done: the whole update is done. untouched: nothing was done, and the CPU kernels must process the update. failed:
/// the output is undefined.
enum class Bulked { done, untouched, failed };

/// The engine for one set of settings. A child process of fork() gets a separate engine without GPUs, because a CUDA
/// context does not survive fork(). No lock is held across fork(): an engine that a thread of the parent was creating
/// is abandoned in the child.
class Bulk {
public:
    explicit Bulk(const Settings& settings) : settings_(settings) {}

    /// Never throws.
    Bulked run(Kind kind, const BulkRun& run) noexcept;

    /// This process's engine without GPUs; creates it if needed. Null if there is no memory for it.
    Engine* engine_of_cpus() noexcept;

    /// Whether an update of `bytes` bytes is long enough for run().
    [[nodiscard]] bool wants(std::uint64_t bytes) const noexcept;
    /// Whether `in` or `out` is in device memory, which CPU kernels cannot access. Such an update must go through
    /// run() and consist of complete blocks. Always false unless the settings allow applications to pass such pointers.
    [[nodiscard]] bool on_device(const void* in, const void* out) const noexcept;

private:
    struct Made {
        std::uint64_t forks;
        Engine* engine;  ///< null: creation failed
    };
    /// Holds an engine, or a mark that one is being created.
    struct Slot {
        std::atomic<const Made*> made{nullptr};
        std::atomic<std::uint64_t> making{0};  ///< fork count of the creating process, plus one
    };
    /// Also null while another thread creates the engine, unless `waits`.
    Engine* engine(Slot& slot, bool cpus, bool waits) noexcept;

    const Settings& settings_;
    Slot any_, cpus_;
};

}  // namespace warpaes::provider
