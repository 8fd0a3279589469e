#include "engine/pipeline/file_job.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace warpaes {

namespace {

WaitHook hook_of(const Progress& progress, std::uint64_t size) {
    if (!progress) return {};
    return [&progress, size] {
        if (!progress(0, size)) throw Error(WARPAES_ERROR_CANCELLED, "cancelled by the caller");
    };
}

}  // namespace

FileSource open_source(const Place& place, const Progress& progress) {
    const WaitHook hook = hook_of(progress, Engine::unknown_length);
    if (!place.path.empty()) return FileSource(place.path, hook);
    return FileSource(place.fd, place.fd == 0 ? "standard input" : "the input descriptor", hook);
}

std::unique_ptr<FileSink> open_sink(const Place& place, bool overwrite, const FileSource& input,
                                    const Progress& progress) {
    const WaitHook hook = hook_of(progress, input.size());
    if (!place.path.empty()) return std::make_unique<FileSink>(place.path, overwrite, input, hook);
    return std::make_unique<FileSink>(place.fd, place.fd == 1 ? "standard output" : "the output descriptor", input,
                                      hook);
}

FileResult result_of(const Plan& plan, const Totals& totals, std::uint64_t header, const FileSource& input,
                     const FileSink* output) {
    return {.bytes_read = totals.bytes_read + header,
            .bytes_written = output != nullptr ? output->bytes_written() : 0,
            .notes = totals.notes | (input.has_grown() ? WARPAES_NOTE_INPUT_GREW : 0),
            .backend = plan.backend->name(),
            .device = plan.devices.front()};
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
