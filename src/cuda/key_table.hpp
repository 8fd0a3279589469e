// Expanded keys that stay in a device's memory from batch to batch: a table of bounded size that all lanes share.
//
// A slot is filled by the batch that first wants its key, and others may read it when that batch has ended; until then
// they do without. What a slot held is overwritten when it is given to another key, and, with the next batch, when its
// key is no more.
#pragma once

#include <cuda_runtime.h>

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

    /// Of the current device, which is always the same; the memory is there from the first time on.
    [[nodiscard]] std::uint8_t* slot(std::uint32_t number);
    /// Enqueues zeros for where keys were that are no more; these slots are free when `wiped` is called.
    [[nodiscard]] std::vector<std::uint32_t> wipe_forgotten(cudaStream_t stream);
    void wiped(const std::vector<std::uint32_t>& numbers, bool done) noexcept;

private:
    enum class State : std::uint8_t { free, filling, ready, forgotten };
    struct Slot {
        std::uint64_t owner = 0;
        std::uint32_t pins = 0;
        State state = State::free;
        bool used = false;  ///< since the hand of the clock passed
    };
    static std::uint64_t owner_of(std::uint64_t serial, bool inverse) { return 2 * serial + (inverse ? 1 : 0); }
    [[nodiscard]] std::uint32_t find_room();

    std::mutex mutex_;
    std::unordered_map<std::uint64_t, std::uint32_t> numbers_;  ///< by owner
    std::vector<Slot> slots_;
    std::vector<std::uint32_t> forgotten_;
    std::uint32_t hand_ = 0;
    DeviceBuffer memory_;
};

}  // namespace warpaes::cuda
