// Modules of encrypted Parquet files.
#pragma once

#include "handles.hpp"

namespace fuzz {

/// Appends a GCM module of row group 0 and column 0. The module belongs to the data page with this ordinal, or to the
/// dictionary page if the ordinal is negative. `type` is the module type in Parquet's encryption.
void seal(warpaes_engine* engine, const Key& key, const Bytes& aad, std::uint8_t type, int ordinal, const Bytes& text,
          Bytes& to);

}  // namespace fuzz
