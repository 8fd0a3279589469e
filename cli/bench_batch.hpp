// `warpaes bench --messages`: many messages at once, through warpaes_batch_submit.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "command.hpp"

namespace cli {

struct BatchMode {
    const char* name;
    warpaes_mode mode;
    unsigned iv_bytes;
    unsigned tag_bytes;
};
/// Returns the mode named `name`, or null if batches do not support it.
const BatchMode* find_batch_mode(const std::string& name);

enum class BatchMemory { device, arena, pageable };

/// One row of the table: `messages` messages of `bytes` bytes.
struct BatchCase {
    std::string backend;  ///< a backend's name or "auto"
    const BatchMode* mode = nullptr;
    warpaes_direction direction = WARPAES_ENCRYPT;
    unsigned key_bits = 128;
    std::size_t bytes = 0;
    std::size_t messages = 1;
    std::size_t aad_bytes = 0;  ///< GCM, CCM
    bool own_keys = false;      ///< a fresh key for every message
    bool own_entries = false;   ///< one entry per message instead of one entry for all
    BatchMemory memory = BatchMemory::arena;
    int device = 0;
    unsigned threads = 0;
    unsigned in_flight = 1;  ///< number of batches in flight
};

/// Times the case and checks every byte against libcrypto. For a CPU backend other than libcrypto, also times
/// libcrypto.
nlohmann::json bench_batch(const BatchCase& c, unsigned samples, double seconds);

/// Prints one row of the table, or the table's header if `row` is null.
void print_batch_row(const nlohmann::json* row);

}  // namespace cli
