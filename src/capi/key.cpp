#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
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
    /// A hash table with linear probing, at most half full.
    struct Table {
        explicit Table(std::size_t size) : mask(size - 1), slots(size) {}
        [[nodiscard]] std::size_t home(const warpaes_key* key) const noexcept {
            return ((reinterpret_cast<std::uintptr_t>(key) >> 4) * 0x9e3779b97f4a7c15u >> 32) & mask;
        }
        /// Returns the key's slot, or the empty slot where the key would be inserted.
        [[nodiscard]] std::size_t find(const warpaes_key* key) const noexcept {
            for (std::size_t at = home(key);; at = (at + 1) & mask) {
                const warpaes_key* const there = slots[at].load(std::memory_order_relaxed);
                if (there == key || there == nullptr) return at;
            }
        }
        const std::size_t mask;
        std::vector<Slot> slots;
    };
    class alignas(64) Shard {
    public:
        ForkSafe<> mutex;

        [[nodiscard]] bool contains(const warpaes_key* key) const noexcept {
            const Table* const table = now_.load(std::memory_order_acquire);
            if (table == nullptr) return false;
            return table->slots[table->find(key)].load(std::memory_order_relaxed) == key;
        }
        void add(const warpaes_key* key) {
            Table* table = now_.load(std::memory_order_relaxed);
            if (table == nullptr || 2 * (count_ + 1) > table->slots.size()) table = grow();
            table->slots[table->find(key)].store(key, std::memory_order_release);
            ++count_;
        }
        void remove(const warpaes_key* key) noexcept {
            Table* const table = now_.load(std::memory_order_relaxed);
            if (table == nullptr) return;
            std::size_t gap = table->find(key);
            if (table->slots[gap].load(std::memory_order_relaxed) != key) return;
            --count_;
            // Moves back keys that the gap would make unreachable.
            for (std::size_t at = (gap + 1) & table->mask;; at = (at + 1) & table->mask) {
                const warpaes_key* const there = table->slots[at].load(std::memory_order_relaxed);
                if (there == nullptr) break;
                if (((at - table->home(there)) & table->mask) < ((at - gap) & table->mask)) continue;
                table->slots[gap].store(there, std::memory_order_release);
                gap = at;
            }
            table->slots[gap].store(nullptr, std::memory_order_release);
        }

    private:
        Table* grow() {
            const Table* const old = now_.load(std::memory_order_relaxed);
            auto made = std::make_unique<Table>(old == nullptr ? 16 : 2 * old->slots.size());
            for (std::size_t i = 0; old != nullptr && i < old->slots.size(); ++i) {
                const warpaes_key* const key = old->slots[i].load(std::memory_order_relaxed);
                if (key != nullptr) made->slots[made->find(key)].store(key, std::memory_order_relaxed);
            }
            tables_.push_back(std::move(made));
            now_.store(tables_.back().get(), std::memory_order_release);
            return tables_.back().get();
        }

        std::atomic<Table*> now_{nullptr};
        std::size_t count_ = 0;
        /// Only the last table is used. The smaller tables are kept, because threads may still be reading them.
        std::vector<std::unique_ptr<Table>> tables_;
    };
    Shard& shard_of(const warpaes_key* key) {
        return shards_[(reinterpret_cast<std::uintptr_t>(key) >> 8) % shards_.size()];
    }

    std::array<Shard, 64> shards_;
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
