// Shared parts of the experiments with files: folders, file sizes, and backends.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lab/experiment.hpp"
#include "lab/measure.hpp"

namespace lab::experiments {

/// A folder of the context, and its name.
struct Place {
    std::filesystem::path folder;
    std::string name;  ///< "tmpfs", "disk"
    bool on_disk;
};
/// Returns the folders that exist. Adds a note for each missing folder, and throws LeftOut if none exists.
std::vector<Place> places_of(const Context& context, std::vector<std::string>& notes);

/// Returns those of `sizes` that the context allows, of which `files` + 1 files fit in each place and `files` + 4
/// copies fit in free memory. Throws LeftOut if there is none.
std::vector<std::uint64_t> fitting(const Context& context, const std::vector<Place>& places,
                                   std::vector<std::uint64_t> sizes, std::uint64_t files);

/// Returns the fastest CPU backend, and `cuda` if the context has a GPU.
std::vector<std::string> backends_of(const Context& context);

/// Measures [P]'s streams from disk to disk, as in its program. Returns none without a disk.
std::optional<Panel> measure_streams_on_a_disk(const Context& context, std::span<const unsigned> streams);

/// Measures [P]'s kernels from disk to disk, with the published numbers of threads per block and locations of tables.
/// Returns none without a disk.
std::optional<Panel> measure_kernels_on_a_disk(const Context& context);

/// Returns a work function for sample(). The function returns the seconds of `work`, and also calls `verify` in its
/// first call, which sample() does not count (lab/measure.hpp). It throws Interrupted if the run was interrupted.
std::function<double()> verified_once(const Context& context, std::function<double()> work,
                                      std::function<void()> verify);

}  // namespace lab::experiments
