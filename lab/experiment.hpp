// What an experiment is. Each is a value in one of the lists below; nothing else knows that it exists.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
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

/// An experiment cannot run here; says why, and what would be needed.
class LeftOut : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// What the run that an experiment is part of gives to it.
struct Context {
    bool quick = false;                        ///< few points, few samples
    int gpu = -1;                              ///< device to use, -1: there is none
    unsigned threads = 1;                      ///< CPU threads that may be used
    std::size_t most_bytes = ~std::size_t{0};  ///< no text longer than this: of tests, on a GPU that is simulated
    std::filesystem::path disk, memory;        ///< folders for files, on a disk and on a tmpfs; empty if there is none
    std::filesystem::path command;             ///< `warpaes`, for experiments that start it; empty if it is not known
    /// What an experiment of the same run yielded, if it was measured, now or before the run was resumed; else null.
    std::function<const Result*(const std::string& key)> measured = [](const std::string&) { return nullptr; };
    /// Called between measurements with the share of the experiment that is done, 0 to 1, and what comes next.
    std::function<void(double done, const std::string& next)> step = [](double, const std::string&) {};
    /// Called between samples that take long: throws Interrupted if the user interrupted the run.
    std::function<void()> check = [] {};
};

enum class Paper {
    gibadullin,
    gu,
    paracrypt,
    damjanovic,
    harrison,
    ours
};  ///< [N], [G], [P], [D], [H], and beyond them
const char* letter_of(Paper paper);
/// Authors, title, year, hardware: a line.
const char* citation_of(Paper paper);

struct Experiment {
    const char* key;  ///< "N.implementations": the paper's letter, a dot, a name; stable
    Paper paper;
    const char* title;
    const char* question;  ///< a sentence that ends with a question mark
    enum class Needs {
        cpu,
        gpu,
        either
    } needs;                                ///< either: does without a GPU what can be done, and says what is left out
    double seconds, quick_seconds;          ///< about how long it takes, on an H200 or, for `cpu`, on two cores
    Result (*run)(const Context& context);  ///< throws LeftOut, Interrupted, or std::exception: a failure
    const char* after = "";                 ///< key of one whose result it takes; it waits while that one waits
};

/// Every experiment, in the order of the papers.
std::span<const Experiment> all_experiments();
/// Those whose key begins with one of `keys` ("G", "G.memory"); all if there are none. Throws std::invalid_argument.
std::vector<Experiment> select(std::span<const std::string> keys);

}  // namespace lab
