// Long updates: through the engine, if its plan says that several threads or a GPU are worth it.
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

/// A stretch of whole blocks of a message, in a direction that is parallel; or of XTS, a data unit.
struct BulkRun {
    Mode mode;
    Direction direction;
    const Key* key;
    const Key* tweak_key;       ///< XTS
    const std::uint8_t* chain;  ///< a block: as in Run; GCM: J0
    const std::uint8_t* input;
    std::uint8_t* output;
    std::uint64_t bytes;
    std::uint64_t first_block;  ///< GCM: of the stretch in the message
    std::uint8_t* digest;       ///< GCM: a block, gets the stretch's own digest
};

/// All of it is done; or nothing was, and kernels are to do it; or it has failed, and the output is undefined.
enum class Bulked { done, untouched, failed };

/// The engine of one set of settings. In a child process of fork() another one, without GPUs: a CUDA context does not
/// survive it. Nothing is locked across fork(): what a parent's thread was making is left where it is.
class Bulk {
public:
    explicit Bulk(const Settings& settings) : settings_(settings) {}

    /// Never throws.
    Bulked run(Kind kind, const BulkRun& run) noexcept;

    /// This process's engine for CPUs alone, made if there is none; null if there is no memory for one.
    Engine* engine_of_cpus() noexcept;

    /// Whether run() is for updates of so many bytes.
    [[nodiscard]] bool wants(std::uint64_t bytes) const noexcept;
    /// Whether one of these lies in device memory, which kernels cannot reach. Only run() is for it then, and only
    /// whole blocks. False unless the settings say that applications may pass such pointers.
    [[nodiscard]] bool on_device(const void* in, const void* out) const noexcept;

private:
    struct Made {
        std::uint64_t forks;
        Engine* engine;  ///< null: it could not be made
    };
    /// Where an engine is, or is being made.
    struct Slot {
        std::atomic<const Made*> made{nullptr};
        std::atomic<std::uint64_t> making{0};  ///< one more than the number of forks before the process that makes it
    };
    /// Null also while another thread makes it, unless it is to be waited for.
    Engine* engine(Slot& slot, bool cpus, bool waits) noexcept;

    const Settings& settings_;
    Slot any_, cpus_;
};

}  // namespace warpaes::provider
