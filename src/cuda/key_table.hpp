// Expanded keys that stay in a device's memory from batch to batch: a table of bounded size that all lanes share.
//
// The batch that first needs a key fills the key's slot. Other batches may read the slot once that batch has ended;
// until then they expand the key themselves. The contents of a slot are overwritten when it is given to another key.
// When a key is destroyed or has not been used for a long time, its slot is forgotten: the next batch or
// CudaBackend::wipe_keys_before overwrites it, and it is free when all of those that overwrite it have ended.
#pragma once

#include <cuda_runtime.h>

#include <chrono>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "backend/backend.hpp"
#include "cuda/kernels/key_slot.hpp"
#include "cuda/resources.hpp"

namespace warpaes::cuda {

class KeyTable {
public:
    static constexpr std::uint32_t capacity = 4096;
    static constexpr std::uint32_t none = ~std::uint32_t{0};
    using Clock = std::chrono::steady_clock;

    /// A slot that stays pinned until it is released.
    struct Held {
        std::uint32_t number = none;  ///< none: the table is full, or another batch is filling a slot with the key
        bool empty = false;           ///< the holder must fill it
    };
    /// Pins a slot for the key. `inverse`: round keys of the equivalent inverse cipher. Thread-safe, like all functions
    /// here.
    [[nodiscard]] Held hold(const ExpandedKey& key, bool inverse);
    /// `filled` means that an empty slot has been filled.
    void release(const Held& held, bool filled) noexcept;
    /// Forgets the key with this serial number, which is being destroyed.
    void forget(std::uint64_t serial) noexcept;
    /// Forgets all keys that were neither taken nor released since `time`.
    void forget_before(Clock::time_point time) noexcept;
    /// Whether all slots are empty and none is being wiped.
    [[nodiscard]] bool empty() const noexcept;

    /// The address of a slot on the current device, which must be the same in all calls. The first call allocates the
    /// memory.
    [[nodiscard]] std::uint8_t* slot(std::uint32_t number);
    /// The forgotten slots to wipe.
    enum class Which : std::uint8_t {
        unattended,  ///< those that no thread is wiping
        all,         ///< includes slots that other threads are wiping, because their work may be pending or may fail
    };
    struct Wipe {
        std::vector<std::uint32_t> numbers;
        bool complete = true;  ///< false if a slot was left out because CUDA refused
    };
    /// Enqueues zeros for forgotten slots that are not pinned. Call `wiped` when the stream has ended.
    [[nodiscard]] Wipe wipe_forgotten(cudaStream_t stream, Which which);
    /// Called when the wipe has ended; `done` is whether it succeeded. A slot whose wipe failed stays forgotten.
    void wiped(const Wipe& wipe, bool done) noexcept;

private:
    enum class State : std::uint8_t { free, filling, ready, forgotten };
    struct Slot {
        std::uint64_t owner = 0;
        std::uint32_t pins = 0;
        State state = State::free;
        bool used = false;         ///< used since the clock hand passed
        bool clean = false;        ///< forgotten, and wiped since
        std::uint32_t wiping = 0;  ///< wipes that have begun but not ended
        Clock::time_point last_use{};
    };
    static std::uint64_t owner_of(std::uint64_t serial, bool inverse) { return 2 * serial + (inverse ? 1 : 0); }
    using Numbers = std::unordered_map<std::uint64_t, std::uint32_t>;  ///< by owner
    [[nodiscard]] std::uint32_t find_room();
    void forget(Numbers::iterator owner);

    mutable std::mutex mutex_;
    Numbers numbers_;
    std::vector<Slot> slots_;
    std::vector<std::uint32_t> forgotten_;
    std::uint32_t hand_ = 0;
    DeviceBuffer memory_;
};

}  // namespace warpaes::cuda
