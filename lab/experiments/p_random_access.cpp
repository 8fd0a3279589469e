// P.random_access measures [P]'s random access, for which the paper contains no figures: the decryption of a range of
// an encrypted file of up to 256 MiB (--quick: 64 MiB), by range length, from 16 bytes to the complete file. There are
// two formats: plain CTR, processed by a file job with a range, and authenticated segments of 16 KiB, processed by a
// reader. The host's clock measures the time, including the copy of the output to a file in memory. Every range is at a
// different offset, and is compared with the plaintext outside the timed section.
#include <fmt/format.h>
#include <sys/mman.h>

#include <warpaes/streams.hpp>
#include <warpaes/warpaes.hpp>

#include "lab/compare.hpp"
#include "lab/experiments/experiments.hpp"
#include "lab/experiments/file_trials.hpp"
#include "lab/experiments/panels.hpp"
#include "lab/files.hpp"
#include "lab/reference.hpp"

namespace lab::experiments {

namespace {

/// A CTR file job with a range, whose output is a file in memory.
class RangeJob {
public:
    RangeJob(const warpaes::Engine& engine, const std::filesystem::path& path, std::span<const std::uint8_t> key_bytes,
             std::vector<std::uint8_t> iv)
        : engine_(engine),
          path_(path),
          key_(key_bytes),
          iv_(std::move(iv)),
          output_(memfd_create("range", MFD_CLOEXEC)) {
        if (output_ < 0) throw std::system_error(errno, std::generic_category(), "memfd_create");
    }
    ~RangeJob() { close(output_); }
    RangeJob(const RangeJob&) = delete;
    RangeJob& operator=(const RangeJob&) = delete;

    double seconds(std::uint64_t offset, std::uint64_t length) {
        warpaes_file_job job = WARPAES_FILE_JOB_INIT;
        job.mode = WARPAES_CTR;
        job.direction = WARPAES_DECRYPT;
        job.input_path = path_.c_str();
        job.output_fd = output_;
        job.key = key_.get();
        job.iv = iv_.data();
        job.iv_len = iv_.size();
        job.flags = WARPAES_FILE_RANGE;
        job.range_first = offset;
        job.range_last = offset + length - 1;
        return time_of([&] {
            put({});
            warpaes::check(warpaes_file_run(engine_.get(), &job, nullptr));
        });
    }
    /// Replaces the contents of the output file with `bytes`.
    void put(std::span<const std::uint8_t> bytes) const {
        if (ftruncate(output_, 0) != 0 || lseek(output_, 0, SEEK_SET) != 0) {
            throw std::system_error(errno, std::generic_category(), "memfd");
        }
        while (!bytes.empty()) {
            const ssize_t n = write(output_, bytes.data(), bytes.size());
            if (n <= 0) throw std::system_error(n < 0 ? errno : EIO, std::generic_category(), "memfd");
            bytes = bytes.subspan(static_cast<std::size_t>(n));
        }
    }
    std::vector<std::uint8_t> output(std::uint64_t length) const {
        std::vector<std::uint8_t> bytes(length);
        std::size_t have = 0;
        while (have < bytes.size()) {
            const ssize_t n = pread(output_, bytes.data() + have, bytes.size() - have, static_cast<off_t>(have));
            if (n <= 0) throw std::system_error(n < 0 ? errno : EIO, std::generic_category(), "memfd");
            have += static_cast<std::size_t>(n);
        }
        return bytes;
    }

private:
    const warpaes::Engine& engine_;
    std::filesystem::path path_;
    warpaes::Key key_;
    std::vector<std::uint8_t> iv_;
    int output_;
};

/// Returns a different offset each time, so that cached data from earlier ranges does not help.
class Offsets {
public:
    explicit Offsets(std::uint64_t room) : room_(room) {}
    std::uint64_t next() { return room_ == 0 ? 0 : (count_++ * 0x9e3779b97f4a7c15u) % room_; }

private:
    std::uint64_t room_, count_ = 1;
};

Result run_random_access(const Context& context) {
    Result result;
    std::vector<std::string> unused;
    const std::vector<Place> places = places_of(context, unused);
    const Place& place = places.back();  // a tmpfs if there is one: a disk would hide the cost of decryption
    std::vector<std::uint64_t> file_sizes{64 << 10, 1 << 20, 16 << 20, 64 << 20};
    if (!context.quick) file_sizes.push_back(256 << 20);
    const std::uint64_t size = fitting(context, {place}, file_sizes, 2).back();

    context.step(0, "writing the files");
    const std::vector<std::uint8_t> plain = random_bytes(size, 1), key = random_bytes(16, 2), iv = random_bytes(16, 3);
    write_file(place.folder / "ctr", Reference(Mode::ctr, Direction::encrypt, key).run(iv, plain));
    const warpaes::Engine engine({.backend = {}, .threads = context.threads});
    const auto keyset = warpaes::Keyset::from_raw("C2SP_CHUNKED_128", random_bytes(16, 4));
    auto writer = warpaes::Writer::to_file(engine, keyset, place.folder / "segments");
    writer.write(plain);
    writer.finish();
    RangeJob job(engine, place.folder / "ctr", key, iv);
    const auto reader = warpaes::Reader::of_file(engine, keyset, place.folder / "segments");

    std::vector<std::uint64_t> lengths;
    for (std::uint64_t length = 16; length < size; length *= context.quick ? 64 : 8) lengths.push_back(length);
    lengths.push_back(size);
    Panel panel{
        "Time by range",
        Panel::Kind::lines,
        sizes("range", lengths),
        numbers("time", "µs", Axis::Scale::log, {}),
        {},
        {measured("CTR, a file job with a range"), measured("authenticated segments of 16 KiB, a reader")},
        fmt::format(
            "A file of {} in {}, another place of it each time, into memory that is a file; the last range is all of "
            "it. The paper has no figures.",
            size_name(lengths.back()), place.on_disk ? "the page cache" : "a tmpfs")};
    for (std::size_t i = 0; i < lengths.size(); ++i) {
        const std::uint64_t length = lengths[i];
        context.step(static_cast<double>(i) / static_cast<double>(lengths.size()), place_name(panel.x, i));
        Offsets offsets(size - length);
        std::vector<std::uint8_t> output(length);
        const auto expected = [&](std::uint64_t offset) { return std::span(plain).subspan(offset, length); };
        const std::vector<Summary> seconds = sample_in_turns(
            effort(context.quick),
            {[&] {
                 const std::uint64_t offset = offsets.next();
                 const double taken = job.seconds(offset, length);
                 require_equal(expected(offset), job.output(length), "CTR, range");
                 return taken;
             },
             [&] {
                 const std::uint64_t offset = offsets.next();
                 std::fill(output.begin(), output.end(), std::uint8_t{0xa5});
                 std::uint64_t read = 0;
                 // The range is written to the file job's output file, so that both subjects do the same work.
                 const double taken = time_of([&] {
                     warpaes::check(warpaes_reader_read(reader.get(), offset, output.data(), length, &read));
                     job.put(std::span(output).first(read));
                 });
                 require_equal(expected(offset), std::span(output).first(read), "reader");
                 return taken;
             }});
        for (std::size_t s = 0; s < seconds.size(); ++s) add(panel.series[s], scaled(seconds[s], 1e6));
    }
    std::filesystem::remove(place.folder / "ctr");
    std::filesystem::remove(place.folder / "segments");

    for (const Series& series : panel.series) {
        result.facts.push_back({fmt::format("{}: {} of the time of all for 16 bytes", series.name, "share"),
                                100 * *series.values.front() / *series.values.back(), "%", std::nullopt});
    }
    result.panels.push_back(std::move(panel));
    return result;
}

}  // namespace

const Experiment p_random_access{"P.random_access",
                                 Paper::paracrypt,
                                 "A part of an encrypted file",
                                 "Is the cost of a range that of its own blocks?",
                                 Experiment::Needs::either,
                                 6,
                                 1,
                                 run_random_access};

}  // namespace lab::experiments
