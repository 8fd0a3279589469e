#include "format/file_job.hpp"

#include <algorithm>
#include <memory>

#include "base/error.hpp"
#include "base/pool.hpp"
#include "format/base64.hpp"

namespace warpaes {

namespace {

/// Returns a hook that calls the job's progress callback, which may cancel, while a pipe has no data or no room. `size`
/// is the input's size if it is already known.
WaitHook hook_of(const FileJob& job, const std::uint64_t& size) {
    if (!job.progress) return {};
    return [&job, &size] {
        if (!job.progress(0, size)) throw Error(WARPAES_ERROR_CANCELLED, "cancelled by the caller");
    };
}

/// Returns a lower bound on the output's length; 0 if the input is a pipe. Tags and padding are less than a 64th of the
/// input.
std::uint64_t least_output(const Opening& opening, const Source& content) {
    if (content.size() == Engine::unknown_length) return 0;
    return std::min(opening.keep, content.size() - content.size() / 64);
}

}  // namespace

Plan FileFormat::fitted(const Engine& engine, Plan plan, const FileJob& job, std::uint64_t bytes, Sink& sink) {
    plan.lanes = std::max(1U, std::min(plan.lanes, job.threads));
    const bool on_cpu = plan.devices.front() < 0;
    if (bytes == Engine::unknown_length) return plan;
    const std::uint64_t piece = sink.prepare_for(std::min(plan.lanes, usable_processors()));
    if (!on_cpu || engine.options().chunk_bytes != 0) return plan;
    // Every worker gets several chunks, so that all workers finish at about the same time.
    if (piece <= plan.chunk_bytes || bytes / 4 / plan.lanes < piece) return plan;
    // More workers than this would not write faster, and each worker has two buffers of this length.
    constexpr unsigned most_lanes = 32;
    plan.lanes = std::min(plan.lanes, most_lanes);
    plan.chunk_bytes = piece;
    return plan;
}

FileResult run_file(Engine& engine, const FileJob& job, FileFormat& format) {
    const bool encrypt = job.direction == Direction::encrypt;
    std::uint64_t input_size = Engine::unknown_length;
    const WaitHook hook = hook_of(job, input_size);
    FileSource file = FileSource::at(job.input, hook);
    input_size = file.size();
    std::optional<Base64Source> decoded;
    Source* input = &file;
    if (!encrypt && job.base64) input = &decoded.emplace(file);
    Opening opening = format.open(engine, input);
    opening.header.insert(opening.header.begin(), job.prefix.begin(), job.prefix.end());
    SourceSlice content(*input, opening.begin, opening.size);

    std::optional<DigestSource> hashed;
    if (job.sha256_input) hashed.emplace(content, file, opening.begin);

    std::unique_ptr<FileSink> output;
    if (!job.verify) {
        output = FileSink::at(job.output, job.overwrite, file, hook);
        output->require_space(least_output(opening, content));
        output->set_durable(job.durable);
        if (job.keep_attributes) output->keep_attributes(file.status());
    }
    Sink* sink = output.get();
    std::optional<DigestSink> digested;
    if (job.sha256) sink = &digested.emplace(*sink);
    std::optional<Base64Sink> encoded;
    if (encrypt && job.base64) sink = &encoded.emplace(*sink, job.one_line);
    if (!opening.header.empty()) sink->write(0, opening.header);
    SinkSlice kept(sink, opening.header.size(), opening.skip, opening.keep,
                   opening.in_order && output != nullptr && !output->is_provisional());

    FileResult result{format.run(engine, hashed ? static_cast<Source&>(*hashed) : content, kept), opening.key_id};
    if (digested) result.sha256 = digested->digest();
    if (hashed) result.sha256 = hashed->digest();
    if (output != nullptr) {
        output->commit();
        result.notes |= output->notes();
    }
    result.bytes_read += opening.header_bytes;
    result.bytes_written = output != nullptr ? output->bytes_written() : 0;
    if (opening.notes_growth && file.has_grown()) result.notes |= WARPAES_NOTE_INPUT_GREW;
    return result;
}

void check_range(const ByteRange& range) {
    if (range.first <= range.last) return;
    throw Error(WARPAES_ERROR_RANGE, "range: ends at byte " + std::to_string(range.last) + ", before its first byte " +
                                         std::to_string(range.first));
}

std::uint64_t last_byte(const ByteRange& range, std::uint64_t size) {
    const std::uint64_t last = range.last == Engine::unknown_length ? std::max(size, std::uint64_t{1}) - 1 : range.last;
    if (range.first < size && last < size) return last;
    throw Error(WARPAES_ERROR_RANGE, "range: byte " + std::to_string(std::max(range.first, last)) +
                                         " is outside the result of " + std::to_string(size) + " bytes");
}

}  // namespace warpaes
