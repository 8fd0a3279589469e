// What the opaque handles of the C ABI point to.
#pragma once

#include "batch/arena.hpp"
#include "batch/batch_engine.hpp"
#include "engine/engine.hpp"
#include "format/keyset.hpp"
#include "format/reader.hpp"
#include "format/writer.hpp"
#include "message/context.hpp"
#include "warpaes/warpaes.h"

struct warpaes_engine {
    explicit warpaes_engine(const warpaes::EngineOptions& options) : impl(options) {}
    warpaes_engine(const warpaes_engine&) = delete;
    warpaes_engine& operator=(const warpaes_engine&) = delete;
    ~warpaes_engine() { batches->stop(); }

    warpaes::Engine impl;
    std::shared_ptr<warpaes::BatchEngine> batches = std::make_shared<warpaes::BatchEngine>(impl);
};

struct warpaes_key {
    warpaes::ExpandedKey impl;
};

struct warpaes_arena {
    warpaes::Arena impl;
};

struct warpaes_batch {
    std::shared_ptr<warpaes::BatchEngine> engine;  ///< may have stopped
    std::shared_ptr<warpaes::Batch> impl;
};

struct warpaes_context {
    warpaes::Context impl;
};

struct warpaes_keyset {
    warpaes::Keyset impl;
};

struct warpaes_reader {
    warpaes::SegmentReader impl;
};

struct warpaes_writer {
    warpaes::SegmentWriter impl;
};

namespace warpaes::capi {

/// Whether it is a key that was created and not destroyed; nothing is read of what it points to. Thread-safe.
bool is_alive(const warpaes_key* key);

}  // namespace warpaes::capi
