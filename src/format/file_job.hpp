// Processes a file from beginning to end, in any format: opens the input and the output, runs the format between them,
// and gives the output its name only after all of it has been written.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/pipeline/file.hpp"
#include "engine/pipeline/pipeline.hpp"
#include "format/digest.hpp"

namespace warpaes {

/// Bytes `first` to `last` of the result, inclusive.
struct ByteRange {
    std::uint64_t first = 0;
    std::uint64_t last = Engine::unknown_length;  ///< unknown_length: up to the end
};

struct FileJob {
    Direction direction = Direction::encrypt;
    bool overwrite = false;
    bool durable = true;           ///< FileSink::set_durable
    bool base64 = false;           ///< the encrypted side is base64
    bool one_line = false;         ///< base64 in a single line
    bool verify = false;           ///< write nothing and ignore `output`
    bool sha256 = false;           ///< compute the SHA-256 of the output
    bool sha256_input = false;     ///< compute the SHA-256 of the input, which must be a file
    bool keep_attributes = false;  ///< FileSink::keep_attributes
    bool salvage = false;          ///< write the authentic parts of a damaged file, and zeros for the rest
    unsigned threads = std::numeric_limits<unsigned>::max();
    std::optional<ByteRange> range;
    std::span<const std::uint8_t> prefix;  ///< encryption: bytes to write before the file
    FilePlace input;
    FilePlace output;
    Progress progress;
    /// With `salvage`, `hole` is called in order for each range of the output that is zeros. Engine::unknown_length
    /// means that the end is missing.
    std::function<void(std::uint64_t first, std::uint64_t length)> hole;
};

/// `bytes_read` counts the header and the bytes that the cipher processed; `bytes_written` counts the bytes written to
/// the output.
struct FileResult : Totals {
    std::uint32_t key_id = 0;  ///< ID of the key in the keyset
    Sha256 sha256{};           ///< SHA-256 of the output or the input, if the job requested it
};

/// The header that a format reads or creates, and the part of the file that the job processes.
struct Opening {
    std::uint64_t header_bytes = 0;               ///< length of the header that was read
    std::vector<std::uint8_t> header;             ///< header to write
    std::uint64_t begin = 0;                      ///< beginning of the processed part of the input
    std::uint64_t size = Engine::unknown_length;  ///< length of the processed part; unknown: the rest of the input
    std::uint64_t skip = 0;                       ///< leading bytes of the result to drop
    std::uint64_t keep = Engine::unknown_length;  ///< bytes of the result to keep after the dropped bytes
    bool notes_growth = true;                     ///< whether to note that the input has grown
    bool in_order = false;                        ///< whether output that cannot be undone is written from front to
                                                  ///< back
    std::uint32_t key_id = 0;
};

/// A format with its keys, for one job.
class FileFormat {
public:
    virtual ~FileFormat() = default;
    /// Reads or creates the header and determines keys and range. `input` is the whole input. The function may replace
    /// `input` by the source to continue with, which must outlive the job.
    virtual Opening open(Engine& engine, Source*& input) = 0;
    /// Processes the job's part of the input, and writes the result to `sink`.
    virtual Totals run(Engine& engine, Source& content, Sink& sink) = 0;

protected:
    /// Returns `plan` with the number of workers that the job may use, and with a chunk size that is suitable for
    /// `sink` and that many workers.
    [[nodiscard]] static Plan fitted(const Engine& engine, Plan plan, const FileJob& job, std::uint64_t bytes,
                                     Sink& sink);
};

/// Throws Error; after an exception there is no output file.
FileResult run_file(Engine& engine, const FileJob& job, FileFormat& format);

/// Throws Error{RANGE} if the range ends before it begins.
void check_range(const ByteRange& range);
/// Returns the last byte of a range within a result of `size` bytes. Throws Error{RANGE} if the range exceeds the
/// result.
std::uint64_t last_byte(const ByteRange& range, std::uint64_t size);

}  // namespace warpaes
