// A file from end to end, in whatever format: the ends are opened, the format says what is to be done between them, and
// the output appears when all of it was.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "engine/pipeline/pipeline.hpp"
#include "format/digest.hpp"

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
    bool durable = true;    ///< FileSink::set_durable
    bool base64 = false;    ///< what is encrypted is, or is to be, base64
    bool one_line = false;  ///< of it
    bool verify = false;    ///< nothing is written, and `output` is ignored
    bool sha256 = false;    ///< of the output
    unsigned threads = std::numeric_limits<unsigned>::max();
    std::optional<ByteRange> range;
    Place input;
    Place output;
    Progress progress;
};

/// Bytes read: as the cipher saw them, and the header; written: to the output.
struct FileResult : Totals {
    std::uint32_t key_id = 0;  ///< of a keyset
    Sha256 sha256{};           ///< of the output, if it was asked for
};

/// What a format finds at the beginning of a file, or puts there, and what of the file the job is about.
struct Opening {
    std::uint64_t header_bytes = 0;               ///< that were read
    std::vector<std::uint8_t> header;             ///< to be written
    std::uint64_t begin = 0;                      ///< of what is processed, in the input
    std::uint64_t size = Engine::unknown_length;  ///< of it; unknown: all that follows
    std::uint64_t skip = 0;                       ///< bytes of the result before those that are kept
    std::uint64_t keep = Engine::unknown_length;  ///< bytes of the result that are kept, after those
    bool notes_growth = true;                     ///< it matters whether the input has grown meanwhile
    bool in_order = false;                        ///< what cannot be taken back is written front to back
    std::uint32_t key_id = 0;
};

/// A format under its keys, for one job.
class FileFormat {
public:
    virtual ~FileFormat() = default;
    /// Reads or makes the header, and settles keys and range. `input`: all of it, and the source to go on with; it must
    /// outlive the job.
    virtual Opening open(Engine& engine, Source*& input) = 0;
    /// Carries it out, from the input's part of it to what its result is written to.
    virtual Totals run(Engine& engine, Source& content, Sink& sink) = 0;

protected:
    /// `plan` with as many workers as the job may have.
    [[nodiscard]] static Plan limited(Plan plan, const FileJob& job) {
        plan.lanes = std::min(plan.lanes, job.threads);
        return plan;
    }
};

/// Throws Error; then there is no output file.
FileResult run_file(Engine& engine, const FileJob& job, FileFormat& format);

/// Throws Error{RANGE} if the range ends before it begins.
void check_range(const ByteRange& range);
/// The last byte of a range of a result of `size` bytes. Throws Error{RANGE} if it is not within.
std::uint64_t last_byte(const ByteRange& range, std::uint64_t size);

}  // namespace warpaes
