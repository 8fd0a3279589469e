// The description of an experiment, and the list of all experiments. Apart from this list, only conclusions
// (lab/claims) and experiments that read another experiment's result refer to an experiment by its key.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>

#include "lab/result.hpp"

namespace lab {

/// Thrown by Context::step and Context::check when the user interrupted the run.
class Interrupted : public std::runtime_error {
public:
    Interrupted() : std::runtime_error("interrupted") {}
};

/// Thrown if an experiment cannot run on this machine. The text contains the reason and the requirement.
class LeftOut : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// The data that a run passes to each of its experiments.
struct Context {
    bool quick = false;                        ///< measure few points and few samples
    int gpu = -1;                              ///< device to use; -1: no GPU
    unsigned threads = 1;                      ///< number of CPU threads that may be used
    std::size_t most_bytes = ~std::size_t{0};  ///< maximum length of a text; set by tests, which simulate the GPU
    std::filesystem::path disk, memory;        ///< folders for files, on a disk and on a tmpfs; empty if there is none
    std::filesystem::path command;  ///< `warpaes`, for experiments that start it as a process; empty if unknown
    /// Returns the result of another experiment of the same run, measured by this call or before a resume; null if that
    /// experiment has no result.
    std::function<const Result*(const std::string& key)> measured = [](const std::string&) { return nullptr; };
    /// Returns the energy that the GPU has used since its driver was loaded; none if it cannot be read.
    std::function<std::optional<double>()> joules = [] { return std::optional<double>(); };
    /// Called between measurements, with the completed share (0 to 1) of the experiment and the name of the next step.
    std::function<void(double done, const std::string& next)> step = [](double, const std::string&) {};
    /// Called between long samples; throws Interrupted if the user interrupted the run.
    std::function<void()> check = [] {};
};

enum class Paper {
    gibadullin,
    gu,
    paracrypt,
    damjanovic,
    harrison,
    jiang,
    tezcan,
    hajihassani,
    lam,
    ours
};  ///< [N], [G], [P], [D], [H], the later studies [K], [T], [B], [F], and experiments that are in no paper
const char* letter_of(Paper paper);
/// Returns authors, title, year and hardware on one line.
const char* citation_of(Paper paper);

struct Experiment {
    const char* key;  ///< the paper's letter, a dot and a name, such as "N.implementations"; never changes
    Paper paper;
    const char* title;
    const char* question;                         ///< a sentence that ends with a question mark
    enum class Needs { cpu, gpu, either } needs;  ///< either: without a GPU, runs and reports only the CPU's part
    double seconds, quick_seconds;                ///< estimated duration on an H200 or, for `cpu`, on two cores
    Result (*run)(const Context& context);  ///< throws LeftOut, Interrupted, or another std::exception for a failure
    const char* after = "";  ///< key of an experiment whose result this one reads; if a time limit defers that
                             ///< experiment, this one is also deferred
};

/// Returns all experiments, in the order of the papers.
std::span<const Experiment> all_experiments();
/// Returns the experiments whose key begins with one of `keys` ("G", "G.memory"); all experiments if `keys` is empty.
/// Throws std::invalid_argument if a key is empty or matches no experiment.
std::vector<Experiment> select(std::span<const std::string> keys);

}  // namespace lab
