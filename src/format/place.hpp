// The ends of a file job, as its caller names them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "engine/pipeline/file.hpp"
#include "engine/pipeline/pipeline.hpp"

namespace warpaes {

/// A file by its path, or if that is empty by a descriptor.
struct Place {
    std::string path;
    int fd = -1;
};

/// Bytes first … last of the result.
struct ByteRange {
    std::uint64_t first = 0;
    std::uint64_t last = Engine::unknown_length;  ///< to the end
};

/// While it waits for a pipe, `progress` is asked whether to go on; it must outlive the source and the sink.
FileSource open_source(const Place& place, const Progress& progress);
std::unique_ptr<FileSink> open_sink(const Place& place, bool overwrite, const FileSource& input,
                                    const Progress& progress);

/// Throws Error{RANGE} if the range ends before it begins.
void check_range(const ByteRange& range);
/// The last byte of a range of a result of `size` bytes. Throws Error{RANGE} if it is not within.
std::uint64_t last_byte(const ByteRange& range, std::uint64_t size);

}  // namespace warpaes
