// What the fault matrix runs: jobs over files, descriptors and pipes, each knowing what its output may be.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "warpaes/warpaes.h"

namespace faults {

using Bytes = std::vector<std::uint8_t>;

struct Destroy {
    void operator()(warpaes_engine* engine) const { warpaes_engine_destroy(engine); }
    void operator()(warpaes_key* key) const { warpaes_key_destroy(key); }
};
using Engine = std::unique_ptr<warpaes_engine, Destroy>;
using Key = std::unique_ptr<warpaes_key, Destroy>;

/// Null if the backend cannot be had.
Engine make_engine(const char* backend, std::uint32_t threads);
Bytes some_bytes(std::size_t n, unsigned seed);

/// Where a case reads and writes: paths, or where these are null descriptors.
struct Ends {
    const char* input_path = nullptr;
    const char* output_path = nullptr;
    int input_fd = -1;
    int output_fd = -1;
    bool replace = false;
};

struct Case {
    std::string name;
    Bytes input;
    std::function<warpaes_status(warpaes_engine*, const Ends&)> run;
    /// The output of a run that succeeded.
    std::function<bool(const Bytes& output)> is_whole;
    /// What a pipe has received before a failure.
    std::function<bool(const Bytes& output)> is_beginning;
    /// The output, if every success gives the same.
    Bytes exact;
    /// The input cannot be a pipe.
    bool seeks = false;
};

const std::vector<Case>& cases();

}  // namespace faults
