// Expanded keys that stay in a device's memory from batch to batch: a table of bounded size that all lanes share.
//
// A slot is filled by the batch that first wants its key, and others may read it when that batch has ended; until then
// they do without. What a slot held is overwritten when it is given to another key, and, with the next batch or when
// somebody looks after them, when its key is no more or was not used for long.
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

    /// A slot that is pinned until it is released.
    struct Held {
        std::uint32_t number = none;  ///< none: the table has no room, or the key is on its way to another's slot
        bool empty = false;           ///< whoever holds it must fill it
    };
    /// `inverse`: round keys of the equivalent inverse cipher. Thread-safe, as all of them.
    [[nodiscard]] Held hold(const ExpandedKey& key, bool inverse);
    /// `filled`: what had to be filled has been.
    void release(const Held& held, bool filled) noexcept;
    /// The key with this serial number is no more.
    void forget(std::uint64_t serial) noexcept;
    /// Keys that nobody has taken or released since `time` are no more, either.
    void forget_before(Clock::time_point time) noexcept;
    /// No slot holds anything.
    [[nodiscard]] bool empty() const noexcept;

    /// Of the current device, which is always the same; the memory is there from the first time on.
    [[nodiscard]] std::uint8_t* slot(std::uint32_t number);
    /// Enqueues zeros for where keys were that are no more and nobody holds; these slots are free when `wiped` is
    /// called.
    [[nodiscard]] std::vector<std::uint32_t> wipe_forgotten(cudaStream_t stream);
    void wiped(const std::vector<std::uint32_t>& numbers, bool done) noexcept;
    /// Zeros could be enqueued now.
    [[nodiscard]] bool has_to_wipe() const noexcept;

private:
    enum class State : std::uint8_t { free, filling, ready, forgotten };
    struct Slot {
        std::uint64_t owner = 0;
        std::uint32_t pins = 0;
        State state = State::free;
        bool used = false;  ///< since the hand of the clock passed
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
