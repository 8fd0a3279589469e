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
/// Null if there is no such mode.
const BatchMode* find_batch_mode(const std::string& name);

enum class BatchMemory { device, arena, pageable };

/// One row of the table: `messages` messages of `bytes` bytes.
struct BatchCase {
    std::string backend;  ///< or "auto"
    const BatchMode* mode = nullptr;
    warpaes_direction direction = WARPAES_ENCRYPT;
    unsigned key_bits = 128;
    std::size_t bytes = 0;
    std::size_t messages = 1;
    std::size_t aad_bytes = 0;  ///< GCM, CCM
    bool own_keys = false;      ///< a fresh key for every message
    bool own_entries = false;   ///< an entry per message, instead of one for all
    BatchMemory memory = BatchMemory::arena;
    int device = 0;
    unsigned threads = 0;
    unsigned in_flight = 1;  ///< number of batches in flight
};

/// Times the row, checks every byte against libcrypto, and for a CPU backend also times libcrypto.
nlohmann::json bench_batch(const BatchCase& c, unsigned samples, double seconds);

/// Returns one line of the printed table; without a row, the table's header.
void print_batch_row(const nlohmann::json* row);

}  // namespace cli
