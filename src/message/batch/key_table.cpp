#include "message/batch/key_table.hpp"

#include <openssl/crypto.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/kernel_random.hpp"

namespace warpaes {

const SipHash& process_hash() {
    static const SipHash hash = [] {
        std::array<std::uint64_t, 2> key{};
        fill_from_kernel({reinterpret_cast<std::uint8_t*>(key.data()), sizeof key}, "hash");
        return SipHash(key[0], key[1]);
    }();
    return hash;
}

KeyTable::KeyTable(std::size_t capacity)
    : capacity_(std::max<std::size_t>(capacity, 1)), seen_(std::bit_ceil(4 * capacity_)) {}

std::shared_ptr<const ExpandedKey> KeyTable::find(std::uint64_t hash, std::span<const std::uint8_t> key) {
    const auto [first, last] = by_hash_.equal_range(hash);
    for (auto it = first; it != last; ++it) {
        const auto entry = it->second;
        const auto bytes = entry->key->bytes();
        if (bytes.size() != key.size() || CRYPTO_memcmp(bytes.data(), key.data(), key.size()) != 0) continue;
        entry->asked_for = Clock::now();
        entries_.splice(entries_.begin(), entries_, entry);
        return entry->key;
    }
    return nullptr;
}

std::shared_ptr<const ExpandedKey> KeyTable::get(std::span<const std::uint8_t> key) {
    const std::uint64_t hash = process_hash()(key);
    {
        const std::lock_guard lock(mutex_);
        if (auto found = find(hash, key)) return found;
    }
    auto made = std::make_shared<const ExpandedKey>(key);
    std::shared_ptr<const ExpandedKey> evicted;  // released after the lock
    const std::lock_guard lock(mutex_);
    if (auto found = find(hash, key)) return found;
    // Both by_hash_ and the list allocate memory, and a failed allocation must not leave a key in only one of them.
    Entries added;
    added.push_front({hash, made, Clock::now()});
    by_hash_.emplace(hash, added.begin());
    entries_.splice(entries_.begin(), added);
    if (entries_.size() > capacity_) evicted = take_oldest();
    return made;
}

std::shared_ptr<const ExpandedKey> KeyTable::take_oldest() noexcept {
    const auto oldest = std::prev(entries_.end());
    const auto [first, last] = by_hash_.equal_range(oldest->hash);
    by_hash_.erase(std::find_if(first, last, [&](const auto& pair) { return pair.second == oldest; }));
    auto key = std::move(oldest->key);
    entries_.erase(oldest);
    return key;
}

void KeyTable::let_go_before(Clock::time_point time) noexcept {
    for (;;) {
        std::shared_ptr<const ExpandedKey> oldest;  // released after the lock
        const std::lock_guard lock(mutex_);
        if (entries_.empty()) {
            std::memset(seen_.data(), 0, seen_.size() * sizeof seen_[0]);
            return;
        }
        if (entries_.back().asked_for > time) return;
        oldest = take_oldest();
    }
}

std::shared_ptr<const ExpandedKey> KeyTable::get_if_seen(std::span<const std::uint8_t> key) {
    const std::uint64_t hash = process_hash()(key);
    {
        const std::lock_guard lock(mutex_);
        std::uint64_t& slot = seen_[hash & (seen_.size() - 1)];
        if (slot != hash) {
            slot = hash;
            return find(hash, key);
        }
    }
    return get(key);
}

std::size_t KeyTable::size() const {
    const std::lock_guard lock(mutex_);
    return entries_.size();
}

}  // namespace warpaes
