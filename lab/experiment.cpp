#include "lab/experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <stdexcept>
#include <vector>

#include "lab/experiments/experiments.hpp"

namespace lab {

namespace {

/// Returns the list of all experiments, in the order of the papers.
const std::vector<Experiment>& experiment_list() {
    using namespace experiments;
    static const std::vector<Experiment> experiments{
        n_implementations, n_granularity, n_tables,        n_layout,    n_persistent,  n_overlap,
        n_baselines,       g_schemes,     g_tables,        g_transfers, g_breakdown,   p_threads,
        p_memory,          p_streams,     p_staging,       p_pipeline,  p_host_memory, p_modes,
        p_encryption,      p_decryption,  p_random_access, p_gpus,      p_qkd,         d_surfaces,
        d_model,           d_occupancy,   d_memory,        h_reads,     h_tables,      h_ctr,
        h_overhead,        h_rekeying,    h_serial,        h_mixing,    h_modes,       k_last_round,
        t_designs,         f_dpf,         w_worth,         w_leakage,   w_contenders,
    };
    return experiments;
}

/// The comparison is case-insensitive: "g", "G" and "g.mem" are all prefixes of "G.memory".
bool begins_with(const std::string& key, const std::string& begin) {
    return begin.size() <= key.size() && std::equal(begin.begin(), begin.end(), key.begin(), [](char a, char b) {
               return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
           });
}

}  // namespace

std::span<const Experiment> all_experiments() {
    return experiment_list();
}

std::vector<Experiment> select(std::span<const std::string> keys) {
    for (const std::string& key : keys) {
        const bool known =
            !key.empty() && std::any_of(experiment_list().begin(), experiment_list().end(),
                                        [&](const Experiment& experiment) { return begins_with(experiment.key, key); });
        if (!known) {
            throw std::invalid_argument(
                fmt::format("KEY: no experiment begins with '{}'; see `warpaes lab list`", key));
        }
    }
    std::vector<Experiment> chosen;
    for (const Experiment& experiment : experiment_list()) {
        const bool wanted = std::any_of(keys.begin(), keys.end(),
                                        [&](const std::string& key) { return begins_with(experiment.key, key); });
        if (keys.empty() || wanted) chosen.push_back(experiment);
    }
    return chosen;
}

}  // namespace lab
