// The launch figures of GPUs, which can be changed, and the parameters for transfers to GPUs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "aes/types.hpp"
#include "backend/launch_table.hpp"

namespace warpaes {

/// The properties of a GPU on which launches depend.
struct GpuShape {
    std::string name;  ///< the name of the GPU's cost table (CostModel::table_name)
    std::uint32_t compute_capability = 0;
    std::uint32_t multiprocessors = 0;
    std::uint32_t shared_bytes = 0;  ///< maximum per thread block
    BitProducts bit_products = BitProducts::none;
};

struct GpuLaunches {
    GpuShape gpu;
    LaunchTable built_in;  ///< table of the GPU's architecture
    LaunchTable used;
    std::string note;  ///< why `used` is not the stored table, if a table is stored
};

/// The stored result of a tuning run for a GPU. `table` is empty unless the stored table has passed every check. If a
/// table is stored but cannot be used, `note` states the reason.
struct StoredLaunches {
    std::optional<LaunchTable> table;
    std::string note;
};

/// How messages in host memory are transferred to a GPU (cuda/tuning/host.hpp defines the values).
struct GpuTransfers {
    std::uint64_t least_chunk, most_chunk;  ///< bytes of page-locked memory
    std::uint64_t chunks;                   ///< number of chunks per message, within these limits
    unsigned lanes;                         ///< number of lanes per device
    std::uint64_t pageable_chunk;
    unsigned pageable_lanes;
};

class GpuTuning {
public:
    [[nodiscard]] virtual const GpuTransfers& transfers() const noexcept = 0;
    /// Up to this length, one launch that reads and writes page-locked memory is faster than simultaneous copies in
    /// both directions. 0 if the kernels read parts of the message twice.
    [[nodiscard]] virtual std::uint64_t most_mapped(Mode mode, Direction direction) const noexcept = 0;
    /// Sets the function that looks up stored launch tables. The function is called once for each GPU, on first use;
    /// nothing is launched before that. Thread-safe.
    virtual void find_launches_by(StoredLaunches (*find)(const GpuShape& gpu)) noexcept = 0;
    /// Returns the launch figures of a device. Thread-safe. Throws Error{BACKEND}.
    [[nodiscard]] virtual GpuLaunches launches(int device) = 0;
    /// Sets the launch table for lanes that are opened after this call; std::nullopt restores the architecture's table.
    /// Thread-safe. Throws Error{ARGUMENT} with the objection to the table, or Error{BACKEND}.
    virtual void use_launches(int device, const std::optional<LaunchTable>& table) = 0;

protected:
    ~GpuTuning() = default;
};

}  // namespace warpaes
