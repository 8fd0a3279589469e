#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "base/process.hpp"
#include "capi/guard.hpp"
#include "capi/handles.hpp"

namespace warpaes::capi {

namespace {

/// The existing keys, so that a batch can detect a destroyed key without reading its memory. A batch looks up the key
/// of each entry, so an existing key is found without a lock.
class Living {
public:
    void add(const warpaes_key* key) {
        Shard& shard = shard_of(key);
        const std::lock_guard lock(shard.mutex);
        shard.add(key);
    }
    void remove(const warpaes_key* key) noexcept {
        Shard& shard = shard_of(key);
        const std::lock_guard lock(shard.mutex);
        shard.remove(key);
    }
    bool contains(const warpaes_key* key) {
        Shard& shard = shard_of(key);
        if (shard.contains(key)) return true;
        // Another thread may be moving the key.
        const std::lock_guard lock(shard.mutex);
        return shard.contains(key);
    }

private:
    using Slot = std::atomic<const warpaes_key*>;
    /// A hash table with linear probing, at most half full. The address of its slots and the logarithm of their number
    /// are a single value, so that a lookup reads only this value and the slot: batches look up keys whose slots are
    /// not cached.
    class Table {
    public:
        static constexpr std::uintptr_t alignment = 64;

        Table() = default;
        explicit Table(unsigned log2)
            : value_(
                  reinterpret_cast<std::uintptr_t>(new (std::align_val_t{alignment}) Slot[std::size_t{1} << log2]{}) |
                  log2) {}
        static Table of(std::uintptr_t value) noexcept {
            Table table;
            table.value_ = value;
            return table;
        }
        [[nodiscard]] std::uintptr_t value() const noexcept { return value_; }
        [[nodiscard]] unsigned log2() const noexcept { return static_cast<unsigned>(value_ % alignment); }
        [[nodiscard]] std::size_t size() const noexcept { return value_ == 0 ? 0 : mask() + 1; }
        [[nodiscard]] std::size_t mask() const noexcept { return (std::size_t{1} << log2()) - 1; }
        [[nodiscard]] Slot& slot(std::size_t at) const noexcept {
            return reinterpret_cast<Slot*>(value_ - value_ % alignment)[at];
        }
        [[nodiscard]] std::size_t home(const warpaes_key* key) const noexcept {
            return ((reinterpret_cast<std::uintptr_t>(key) >> 4) * 0x9e3779b97f4a7c15u >> 32) & mask();
        }
        /// Returns the key's slot, or the empty slot where the key would be inserted.
        [[nodiscard]] std::size_t find(const warpaes_key* key) const noexcept {
            for (std::size_t at = home(key);; at = (at + 1) & mask()) {
                const warpaes_key* const there = slot(at).load(std::memory_order_relaxed);
                if (there == key || there == nullptr) return at;
            }
        }

    private:
        std::uintptr_t value_ = 0;
    };
    class alignas(64) Shard {
    public:
        ForkSafe<> mutex;

        [[nodiscard]] bool contains(const warpaes_key* key) const noexcept {
            const Table table = Table::of(now_.load(std::memory_order_acquire));
            return table.size() != 0 && table.slot(table.find(key)).load(std::memory_order_relaxed) == key;
        }
        void add(const warpaes_key* key) {
            Table table = Table::of(now_.load(std::memory_order_relaxed));
            if (2 * (count_ + 1) > table.size()) table = grow(table);
            table.slot(table.find(key)).store(key, std::memory_order_release);
            ++count_;
        }
        void remove(const warpaes_key* key) noexcept {
            const Table table = Table::of(now_.load(std::memory_order_relaxed));
            if (table.size() == 0) return;
            std::size_t gap = table.find(key);
            if (table.slot(gap).load(std::memory_order_relaxed) != key) return;
            --count_;
            // Moves back keys that the gap would make unreachable.
            for (std::size_t at = (gap + 1) & table.mask();; at = (at + 1) & table.mask()) {
                const warpaes_key* const there = table.slot(at).load(std::memory_order_relaxed);
                if (there == nullptr) break;
                if (((at - table.home(there)) & table.mask()) < ((at - gap) & table.mask())) continue;
                table.slot(gap).store(there, std::memory_order_release);
                gap = at;
            }
            table.slot(gap).store(nullptr, std::memory_order_release);
        }

    private:
        Table grow(Table old) {
            tables_.reserve(tables_.size() + 1);  // nothing must throw while only `made` refers to its slots
            const Table made(old.size() == 0 ? 4 : old.log2() + 1);
            tables_.push_back(&made.slot(0));
            for (std::size_t i = 0; i < old.size(); ++i) {
                const warpaes_key* const key = old.slot(i).load(std::memory_order_relaxed);
                if (key != nullptr) made.slot(made.find(key)).store(key, std::memory_order_relaxed);
            }
            now_.store(made.value(), std::memory_order_release);
            return made;
        }

        std::atomic<std::uintptr_t> now_{0};  ///< Table::value()
        std::size_t count_ = 0;
        /// Only the last table is used. The smaller tables are not freed, because threads may still be reading them.
        std::vector<const Slot*> tables_;
    };
    Shard& shard_of(const warpaes_key* key) {
        return shards_[(reinterpret_cast<std::uintptr_t>(key) >> 8) % shards_.size()];
    }

    std::array<Shard, 16> shards_;
};

/// This object is never destroyed, because keys may be destroyed after all static objects.
Living& living() {
    static auto* all = new Living;
    return *all;
}

}  // namespace

bool is_alive(const warpaes_key* key) {
    return living().contains(key);
}

}  // namespace warpaes::capi

using namespace warpaes;
using namespace warpaes::capi;

extern "C" {

warpaes_status warpaes_key_create(const uint8_t* bytes, size_t length, warpaes_key** key) {
    return created(key, "key", [&] {
        require(bytes, "bytes");
        std::unique_ptr<warpaes_key> made(new warpaes_key{ExpandedKey({bytes, length})});
        living().add(made.get());
        return made.release();
    });
}

void warpaes_key_destroy(warpaes_key* key) {
    if (key == nullptr) return;
    living().remove(key);
    delete key;
}

}  // extern "C"
