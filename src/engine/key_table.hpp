// Expanded keys by their bytes, the most recent ones, so that a key that comes again need not be expanded again.
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

#include "backend/backend.hpp"
#include "base/siphash.hpp"

namespace warpaes {

/// A SipHash whose key this process has drawn by lot. Throws Error{INTERNAL} if there is no randomness.
const SipHash& process_hash();

/// At most `capacity` keys. One that goes wipes itself as soon as nobody uses it any more. Thread-safe.
class KeyTable {
public:
    using Clock = std::chrono::steady_clock;

    explicit KeyTable(std::size_t capacity = 4096);

    /// Throws Error{KEY_LENGTH}.
    [[nodiscard]] std::shared_ptr<const ExpandedKey> get(std::span<const std::uint8_t> key);
    /// The same for a key that came before; for one that comes for the first time null, so that keys which are used
    /// once do not drive out the others.
    [[nodiscard]] std::shared_ptr<const ExpandedKey> get_if_seen(std::span<const std::uint8_t> key);
    [[nodiscard]] std::size_t size() const;
    /// Lets those go that nobody has asked for since `time`; with the last of them what was noted of others, too.
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
    mutable std::mutex mutex_;
    Entries entries_;  ///< the most recent first
    std::unordered_multimap<std::uint64_t, Entries::iterator> by_hash_;
    std::vector<std::uint64_t> seen_;  ///< hashes, each where its low bits say
};

}  // namespace warpaes
