// The system calls of src/engine/pipeline/os.hpp over files in memory, any of which fails or is short if a test says
// so.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "input.hpp"

namespace fuzz::memory_os {

struct File {
    Bytes bytes;
    bool is_pipe = false;
};

/// The files by name; descriptors are dropped.
std::map<std::string, std::shared_ptr<File>>& files();
/// Nothing is left of the last run: no file, no descriptor, no fault.
void reset();
/// A descriptor of `file`.
int descriptor(std::shared_ptr<File> file);
/// The `nth` call from now on, counted from 1, fails with `error`; reads and writes move at most `step` bytes (0: all).
void disturb(unsigned nth, int error, std::size_t step);
/// Whether a call has failed as asked for.
bool disturbed();
/// Descriptors that are open.
std::size_t open_descriptors();

}  // namespace fuzz::memory_os
