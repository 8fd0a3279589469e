#include "backend/launch_figures.hpp"

#include <algorithm>

namespace warpaes {

namespace {

using T = LaunchTable;

/// The figures are listed in tuning order: figures that many other figures depend on come first.
constexpr LaunchFigure figures[] = {
    {.name = "tables",
     .value = &T::tables,
     .meaning = "T-tables in shared memory, 32 KiB each",
     .candidates = {4, 2},
     .candidate_count = 2,
     .least = 2,
     .most = 4,
     .step = 2},
    {.name = "threads",
     .value = &T::threads,
     .meaning = "threads of a block with T-tables",
     .candidates = {1024, 768, 512},
     .candidate_count = 3,
     .least = 128,
     .most = 1024,
     .step = 128},
    {.name = "own_key_threads",
     .value = &T::own_key_threads,
     .meaning = "threads of a block with T-tables if each message of CTR has its own key",
     .candidates = {512, 384, 256},
     .candidate_count = 3,
     .least = 64,
     .most = 512,
     .step = 64},
    {.name = "serial_warps",
     .value = &T::serial_warps,
     .meaning = "minimum warps of a block in batches of serial modes",
     .candidates = {1, 2, 4, 8},
     .candidate_count = 4,
     .least = 1,
     .most = 16},
    {.name = "tensor_blocks",
     .value = &T::tensor_blocks,
     .meaning = "blocks from which tensor cores compute GHASH",
     .candidates = {64, 512, 4096, never},
     .candidate_count = 4,
     .least = 64,
     .most = 1 << 30,
     .or_never = true},
    {.name = "product_blocks",
     .value = &T::product_blocks,
     .meaning = "thread blocks per multiprocessor for GHASH without tensor cores",
     .candidates = {2, 3, 4},
     .candidate_count = 3,
     .least = 1,
     .most = 8},
    {.name = "one_launch_share",
     .value = &T::one_launch_share,
     .meaning = "blocks per multiprocessor up to which a GCM message is of medium length",
     .candidates = {0, 1024, 4096, 8192},
     .candidate_count = 4,
     .least = 0,
     .most = 8192},
    {.name = "two_tables_share",
     .value = &T::two_tables_share,
     .meaning = "blocks per multiprocessor up to which a GCM message fills two tables",
     .candidates = {0, 1024, 8192},
     .candidate_count = 3,
     .least = 0,
     .most = 8192},
    {.name = "own_key_tensor_bytes",
     .value = &T::own_key_tensor_bytes,
     .meaning = "bytes of a message with its own key from which tensor cores compute GHASH",
     .candidates = {8192, 16384, 65536, never},
     .candidate_count = 4,
     .least = 4096,
     .most = 1 << 30,
     .or_never = true},
    {.name = "long_counter_bytes",
     .value = &T::long_counter_bytes,
     .meaning = "bytes of a message in a batch from which a warp keeps its counters",
     .candidates = {4096, 8192, 16384, 65536},
     .candidate_count = 4,
     .least = 1024,
     .most = 65536},
};

}  // namespace

std::span<const LaunchFigure> launch_figures() noexcept {
    return figures;
}

std::string figure_text(std::uint32_t value) {
    return value == never ? "never" : std::to_string(value);
}

std::string objection(const LaunchTable& table, const GpuShape& gpu) {
    for (const LaunchFigure& figure : figures) {
        const std::uint32_t value = table.*figure.value;
        if (figure.or_never && value == never) continue;
        if (value < figure.least || value > figure.most || value % figure.step != 0) {
            return std::string(figure.name) + ": " + figure_text(value) + " is not " +
                   (figure.step > 1 ? "a multiple of " + std::to_string(figure.step) + " " : "") + "from " +
                   std::to_string(figure.least) + " to " + std::to_string(figure.most);
        }
    }
    if (table.tables * table_bytes_each > gpu.shared_bytes) {
        return "tables: " + std::to_string(table.tables) + " take " + std::to_string(table.tables * 32) +
               " KiB of shared memory, and a thread block of this GPU has " + std::to_string(gpu.shared_bytes >> 10);
    }
    const bool products = table.tensor_blocks != never || table.own_key_tensor_bytes != never;
    if (gpu.bit_products == BitProducts::none && (products || table.one_launch_share != 0)) {
        return "tensor_blocks, own_key_tensor_bytes, one_launch_share: must be never, because this GPU's tensor cores "
               "do not multiply bits";
    }
    return {};
}

}  // namespace warpaes
