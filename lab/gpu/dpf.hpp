// Evaluates many distributed point functions on all entries of a table, as a server for private information retrieval
// does.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lab/dpf.hpp"
#include "lab/gpu/device.hpp"

namespace lab::gpu {

class DpfServer {
public:
    static constexpr unsigned least_depth = 6;

    /// `table`: 2^depth entries of 16 bytes, `depth` at least least_depth. `batch`: keys evaluated together. Throws
    /// std::invalid_argument.
    DpfServer(std::span<const DpfNode> table, unsigned depth, std::size_t batch);
    /// Copies the keys to the device. Throws std::invalid_argument unless there are `batch` keys of `depth` levels.
    void load(std::span<const DpfKey> keys);
    /// Enqueues the evaluation of all keys, including the sums.
    void run(Prg prg, const Stream& stream);
    /// Returns the sum of the chosen entries for each key.
    [[nodiscard]] std::vector<DpfNode> answers() const;

private:
    unsigned depth_;
    std::size_t batch_;
    unsigned multiprocessors_;
    DeviceMemory table_, roots_, corrections_, even_, odd_, partial_, answers_;
};

}  // namespace lab::gpu
