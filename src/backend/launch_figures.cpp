#include "backend/launch_figures.hpp"

#include <algorithm>

namespace warpaes {

namespace {

using T = LaunchTable;

constexpr std::uint32_t table_bytes = 32 << 10;

/// In the order in which they are tuned: what most depends on first.
constexpr LaunchFigure figures[] = {
    {"tables", &T::tables, "T-tables in shared memory, 32 KiB each", {4, 2}, 2, 2, 4, 2, false},
    {"threads", &T::threads, "threads of a block with T-tables", {1024, 768, 512}, 3, 128, 1024, 128, false},
    {"own_key_threads",
     &T::own_key_threads,
     "the same where messages of CTR have keys of their own",
     {512, 384, 256},
     3,
     64,
     512,
     64,
     false},
    {"serial_warps",
     &T::serial_warps,
     "least warps of a block in batches of serial modes",
     {1, 2, 4, 8},
     4,
     1,
     16,
     1,
     false},
    {"tensor_blocks",
     &T::tensor_blocks,
     "blocks from which on tensor cores do GHASH",
     {64, 512, 4096, never},
     4,
     64,
     1 << 30,
     1,
     true},
    {"product_blocks",
     &T::product_blocks,
     "thread blocks a multiprocessor of GHASH without tensor cores",
     {2, 3, 4},
     3,
     1,
     8,
     1,
     false},
    {"one_launch_share",
     &T::one_launch_share,
     "blocks a multiprocessor up to which GCM takes one launch",
     {0, 1024, 4096, 8192},
     4,
     0,
     8192,
     1,
     false},
    {"two_tables_share",
     &T::two_tables_share,
     "the same up to which two tables are filled for it",
     {0, 1024, 8192},
     3,
     0,
     8192,
     1,
     false},
    {"own_key_tensor_bytes",
     &T::own_key_tensor_bytes,
     "bytes of a message with a key of its own from which on tensor cores do GHASH",
     {16384, 65536, never},
     3,
     4096,
     1 << 30,
     1,
     true},
    {"long_counter_bytes",
     &T::long_counter_bytes,
     "bytes of a message of a batch from which on a warp keeps its counters",
     {4096, 8192, 16384, 65536},
     4,
     1024,
     65536,
     1,
     false},
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
    if (table.tables * table_bytes > gpu.shared_bytes) {
        return "tables: " + std::to_string(table.tables) + " take " + std::to_string(table.tables * 32) +
               " KiB of shared memory, and a thread block of this GPU has " + std::to_string(gpu.shared_bytes >> 10);
    }
    const bool products = table.tensor_blocks != never || table.own_key_tensor_bytes != never;
    if (gpu.bit_products == BitProducts::none && (products || table.one_launch_share != 0)) {
        return "tensor_blocks, own_key_tensor_bytes, one_launch_share: this GPU's tensor cores take no bits";
    }
    return {};
}

}  // namespace warpaes
