// What the experiments with files share: where the files are, which sizes fit, which backends there are.
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

/// A folder of the context, and what to call it.
struct Place {
    std::filesystem::path folder;
    std::string name;  ///< "tmpfs", "disk"
    bool on_disk;
};
/// Those that there are; throws LeftOut if there is none, and says in `notes` which is missing.
std::vector<Place> places_of(const Context& context, std::vector<std::string>& notes);

/// Those of `sizes` that the context allows, and that fit `files` times into each place and three times into memory.
std::vector<std::uint64_t> fitting(const Context& context, const std::vector<Place>& places,
                                   std::vector<std::uint64_t> sizes, std::uint64_t files);

/// The fastest backend on the CPU, and `cuda` if the context has a GPU.
std::vector<std::string> backends_of(const Context& context);

/// [P]'s streams where its program has them, between reading and writing a file; none without a disk.
std::optional<Panel> measure_streams_on_a_disk(const Context& context, std::span<const unsigned> streams);

/// A sample of `work` a call, as long as the run goes on. Verifies the first, which is not counted (lab/measure.hpp).
std::function<double()> verified_once(const Context& context, std::function<double()> work,
                                      std::function<void()> verify);

}  // namespace lab::experiments
