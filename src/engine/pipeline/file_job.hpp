// What jobs of all formats have in common: the ends, as their caller names them, and what comes of it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

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

struct FileJob {
    Direction direction = Direction::encrypt;
    bool overwrite = false;
    bool durable = true;  ///< FileSink::commit
    std::optional<ByteRange> range;
    Place input;
    Place output;
    Progress progress;
};

struct FileResult {
    std::uint64_t bytes_read = 0;     ///< as the cipher saw them, and the header
    std::uint64_t bytes_written = 0;  ///< to the output
    std::uint32_t notes = 0;
    std::string_view backend;
    int device = -1;
    std::uint32_t key_id = 0;  ///< of a keyset
};

/// `output` may be null. `header`: bytes that were read before those that the pipeline has.
FileResult result_of(const Plan& plan, const Totals& totals, std::uint64_t header, const FileSource& input,
                     const FileSink* output);

/// While it waits for a pipe, `progress` is asked whether to go on; it must outlive the source and the sink.
FileSource open_source(const Place& place, const Progress& progress);
std::unique_ptr<FileSink> open_sink(const Place& place, bool overwrite, const FileSource& input,
                                    const Progress& progress);

/// Throws Error{RANGE} if the range ends before it begins.
void check_range(const ByteRange& range);
/// The last byte of a range of a result of `size` bytes. Throws Error{RANGE} if it is not within.
std::uint64_t last_byte(const ByteRange& range, std::uint64_t size);

}  // namespace warpaes
