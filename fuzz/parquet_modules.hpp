// Modules of encrypted Parquet files.
#pragma once

#include "handles.hpp"

namespace fuzz {

/// Appends a GCM module of row group 0 and column 0: of a data page by its ordinal, or of the dictionary page if that
/// is negative. `type`: of the module, as Parquet's encryption numbers it.
void seal(warpaes_engine* engine, const Key& key, const Bytes& aad, std::uint8_t type, int ordinal, const Bytes& text,
          Bytes& to);

}  // namespace fuzz
