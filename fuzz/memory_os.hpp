// Implements the system calls of src/base/os.hpp for files in memory. All files are in the directory "/". A test can
// make any call fail, and can shorten reads and writes.
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

/// Returns the files by name.
std::map<std::string, std::shared_ptr<File>>& files();
/// Removes all files, descriptors and faults that the last run left.
void reset();
/// Opens a descriptor of `file`.
int descriptor(std::shared_ptr<File> file);
/// Makes the `nth` of the following calls, counted from 1, fail with `error` (0: no call fails). Reads and writes
/// transfer at most `step` bytes (0: no limit).
void disturb(unsigned nth, int error, std::size_t step);
/// Returns whether the requested failure has occurred.
bool disturbed();
/// Returns the number of open descriptors.
std::size_t open_descriptors();

}  // namespace fuzz::memory_os
