// The most recently used expanded keys, indexed by their bytes, so that a repeated key need not be expanded again.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/process.hpp"
#include "base/siphash.hpp"
#include "engine/engine.hpp"

namespace warpaes {

/// Returns a SipHash with a random key that this process has generated. Throws Error{INTERNAL} if no random numbers are
/// available.
const SipHash& process_hash();

/// Contains at most `capacity` keys. A removed key wipes itself once it is no longer in use. Thread-safe.
class KeyTable {
public:
    using Clock = std::chrono::steady_clock;

    explicit KeyTable(std::size_t capacity = 4096);

    /// Returns the expanded key, and adds it to the table if it is missing. Throws Error{KEY_LENGTH}.
    [[nodiscard]] std::shared_ptr<const ExpandedKey> get(std::span<const std::uint8_t> key);
    /// Like get(), but returns null when a key is used for the first time, so that keys that are used only once do not
    /// evict other keys.
    [[nodiscard]] std::shared_ptr<const ExpandedKey> get_if_seen(std::span<const std::uint8_t> key);
    [[nodiscard]] std::size_t size() const;
    /// Removes the keys that have not been requested since `time`. Once the table is empty, the function also clears
    /// the hashes of requested keys.
    void let_go_before(Clock::time_point time) noexcept;

private:
    struct Entry {
        std::uint64_t hash;
        std::shared_ptr<const ExpandedKey> key;
        Clock::time_point asked_for;
    };
    using Entries = std::list<Entry>;
    [[nodiscard]] std::shared_ptr<const ExpandedKey> find(std::uint64_t hash, std::span<const std::uint8_t> key);
    [[nodiscard]] std::shared_ptr<const ExpandedKey> take_oldest() noexcept;

    const std::size_t capacity_;
    mutable ForkSafe<> mutex_;
    Entries entries_;  ///< most recently used first
    std::unordered_multimap<std::uint64_t, Entries::iterator> by_hash_;
    std::vector<std::uint64_t> seen_;  ///< hashes of keys that have been requested, indexed by their low bits
};

}  // namespace warpaes
