// Expanded keys that stay in a device's memory between batches: a table of bounded size that all lanes share.
//
// The batch that first needs a key fills the key's slot. Other batches may read the slot once that batch has ended;
// until then they expand the key themselves. The contents of a slot are overwritten when the slot is assigned to
// another key. When a key is destroyed or has not been used for a long time, its slot is forgotten: the next batch or
// CudaBackend::wipe_keys_before overwrites the slot, and the slot is free when all pending overwrites of it have ended.
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
        bool empty = false;           ///< whether the holder must fill the slot
    };
    /// Pins a slot for the key. `inverse` selects round keys of the equivalent inverse cipher. Thread-safe, like all
    /// functions of this class.
    [[nodiscard]] Held hold(const ExpandedKey& key, bool inverse);
    /// `filled` means that an empty slot has been filled.
    void release(const Held& held, bool filled) noexcept;
    /// Forgets the key with this serial number; called when the key is being destroyed.
    void forget(std::uint64_t serial) noexcept;
    /// Forgets all keys that have been neither pinned nor released since `time`.
    void forget_before(Clock::time_point time) noexcept;
    /// Whether all slots are empty and no slot is being wiped.
    [[nodiscard]] bool empty() const noexcept;

    /// Returns the address of a slot on the current device, which must be the same in all calls. The first call
    /// allocates the memory.
    [[nodiscard]] std::uint8_t* slot(std::uint32_t number);
    /// Selects the forgotten slots to wipe.
    enum class Which : std::uint8_t {
        unattended,  ///< slots that no thread is wiping
        all,         ///< also slots that other threads are wiping, because that work may be pending or may fail
    };
    struct Wipe {
        std::vector<std::uint32_t> numbers;
        bool complete = true;  ///< false if a slot was not wiped because CUDA refused the call
    };
    /// Enqueues zeros for forgotten slots that are not pinned. Call `wiped` when the stream's work has ended.
    [[nodiscard]] Wipe wipe_forgotten(cudaStream_t stream, Which which);
    /// Must be called when the wipe has ended; `done` means that it succeeded. A slot whose wipe failed stays
    /// forgotten.
    void wiped(const Wipe& wipe, bool done) noexcept;

private:
    enum class State : std::uint8_t { free, filling, ready, forgotten };
    struct Slot {
        std::uint64_t owner = 0;
        std::uint32_t pins = 0;
        State state = State::free;
        bool used = false;         ///< whether the slot was used since the clock hand passed it
        bool clean = false;        ///< whether the slot is forgotten and has been wiped since then
        std::uint32_t wiping = 0;  ///< number of wipes that have started but not ended
        Clock::time_point last_use{};
    };
    static std::uint64_t owner_of(std::uint64_t serial, bool inverse) { return 2 * serial + (inverse ? 1 : 0); }
    using Numbers = std::unordered_map<std::uint64_t, std::uint32_t>;  ///< indexed by owner
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
