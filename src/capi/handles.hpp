// What the opaque handles of the C ABI point to.
#pragma once

#include "engine/engine.hpp"
#include "format/keyset.hpp"
#include "format/reader.hpp"
#include "format/writer.hpp"
#include "message/context.hpp"
#include "warpaes/warpaes.h"

struct warpaes_engine {
    warpaes::Engine impl;
};

struct warpaes_key {
    warpaes::ExpandedKey impl;
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
