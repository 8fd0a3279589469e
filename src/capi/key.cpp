#include <array>
#include <memory>
#include <shared_mutex>
#include <unordered_set>

#include "base/process.hpp"
#include "capi/guard.hpp"
#include "capi/handles.hpp"

namespace warpaes::capi {

namespace {

/// The existing keys, so that a batch can detect a destroyed one without reading its memory.
class Living {
public:
    void add(const warpaes_key* key) {
        Shard& shard = shard_of(key);
        const std::unique_lock lock(shard.mutex);
        shard.keys.insert(key);
    }
    void remove(const warpaes_key* key) noexcept {
        Shard& shard = shard_of(key);
        const std::unique_lock lock(shard.mutex);
        shard.keys.erase(key);
    }
    bool contains(const warpaes_key* key) {
        Shard& shard = shard_of(key);
        const std::shared_lock lock(shard.mutex);
        return shard.keys.contains(key);
    }

private:
    struct alignas(64) Shard {
        ForkSafe<std::shared_mutex> mutex;
        std::unordered_set<const warpaes_key*> keys;
    };
    Shard& shard_of(const warpaes_key* key) {
        return shards_[(reinterpret_cast<std::uintptr_t>(key) >> 8) % shards_.size()];
    }

    std::array<Shard, 64> shards_;
};

/// Never destroyed, because keys may be destroyed after all static objects.
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
