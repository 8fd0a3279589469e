// The types behind the opaque handles of the C ABI.
#pragma once

#include <sys/stat.h>

#include <map>
#include <memory>
#include <optional>

#include "base/process.hpp"
#include "engine/arena.hpp"
#include "engine/engine.hpp"
#include "format/keyset.hpp"
#include "format/reader.hpp"
#include "format/writer.hpp"
#include "message/batch/batch_engine.hpp"
#include "message/context.hpp"
#include "warpaes/files.h"

namespace warpaes::capi {

/// The allocations that warpaes_alloc has returned. Thread-safe.
class HeldMemory {
public:
    void* add(std::unique_ptr<Arena> arena) {
        const std::lock_guard lock(mutex_);
        void* const pointer = arena->data();
        arenas_.emplace(pointer, std::move(arena));
        return pointer;
    }
    void remove(void* pointer) noexcept {
        decltype(arenas_)::node_type gone;  // wiped after the lock is released
        const std::lock_guard lock(mutex_);
        gone = arenas_.extract(pointer);
    }

private:
    ForkSafe<> mutex_;
    std::map<void*, std::unique_ptr<Arena>> arenas_;
};

}  // namespace warpaes::capi

struct warpaes_engine {
    explicit warpaes_engine(const warpaes::EngineOptions& options);
    warpaes_engine(const warpaes_engine&) = delete;
    warpaes_engine& operator=(const warpaes_engine&) = delete;
    ~warpaes_engine();

    warpaes::Engine impl;
    warpaes::capi::HeldMemory memory;
    std::shared_ptr<warpaes::BatchEngine> batches;
};

struct warpaes_key {
    warpaes::ExpandedKey impl;
};

struct warpaes_arena {
    warpaes::Arena impl;
};

struct warpaes_batch {
    const warpaes::Home home;
    std::shared_ptr<warpaes::BatchEngine> engine;  ///< kept by the batch, which may outlive the warpaes_engine
    std::shared_ptr<warpaes::Batch> impl;
};

struct warpaes_context {
    warpaes::Context impl;
    warpaes::Home home;  ///< owner of the current message, because a child would encrypt different text under the same
                         ///< IV
    mutable char error[WARPAES_ERROR_BYTES] = "";  ///< message of the last failed call
};

struct warpaes_keyset {
    warpaes::Keyset impl;
};

struct warpaes_reader {
    std::unique_ptr<warpaes::FileReader> impl;
    std::optional<struct stat> file{};  ///< the regular file that the reader reads; empty for other sources
};

struct warpaes_writer {
    warpaes::SegmentWriter impl;
};

namespace warpaes::capi {

/// Returns whether `key` was created and not yet destroyed, without dereferencing it. Thread-safe.
bool is_alive(const warpaes_key* key);

}  // namespace warpaes::capi
