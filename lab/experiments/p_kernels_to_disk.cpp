// The part of P.memory for files on a disk. The lab's kernels, not production's kernels, run in [P]'s pipeline of a
// reader, a worker and a writer. They encrypt a file of 256 MiB (--quick: 64 MiB) with AES-128-ECB, in chunks of 8 MiB
// that pass through page-locked memory and four streams. The host's clock measures from opening the files to the end of
// the output's flush. Before each measurement, the input is evicted from the page cache. The paper reports differences
// between kernels for such files.
#include <algorithm>
#include <array>
#include <cstring>

#include "lab/compare.hpp"
#include "lab/cpu/pipelines.hpp"
#include "lab/experiments/file_trials.hpp"
#include "lab/experiments/panels.hpp"
#include "lab/experiments/support.hpp"
#include "lab/files.hpp"
#include "lab/gpu/catalogue.hpp"
#include "lab/gpu/overlap.hpp"
#include "lab/published.hpp"
#include "lab/reference.hpp"

namespace lab::experiments {

namespace {

constexpr std::size_t queued_chunks = 4;

struct NamedVariant {
    const char* name;
    gpu::Variant variant;
};
const std::array<NamedVariant, 7> kernels{{{"1 thread a block", gpu::teams[0]},
                                           {"2 threads a block", gpu::teams[1]},
                                           {"4 threads a block", gpu::teams[2]},
                                           {"16 threads a block", gpu::teams[3]},
                                           {"tables in constant memory", gpu::memories[0]},
                                           {"tables in shared memory", gpu::memories[3]},
                                           {"tables in global memory", gpu::memories[6]}}};

/// The files, staging memory and streams that all kernels share.
class DiskTrial {
public:
    DiskTrial(const std::filesystem::path& folder, std::uint64_t bytes)
        : input_(folder / "input"),
          output_(folder / "output"),
          key_(random_bytes(16, 1)),
          chunk_(std::min<std::uint64_t>(published::paracrypt::best_staging_bytes, bytes)),
          in_(chunk_, gpu::HostMemory::Kind::page_locked),
          out_(chunk_, gpu::HostMemory::Kind::page_locked),
          overlap_(chunk_ + 16 * published::paracrypt::streams, published::paracrypt::streams),
          variants_(key_) {
        const std::vector<std::uint8_t> plain = random_bytes(bytes, 3);
        expected_ = Reference(Mode::ecb, Direction::encrypt, key_).run({}, plain);
        write_file(input_, plain);
    }
    ~DiskTrial() {
        std::error_code ignored;
        std::filesystem::remove(input_, ignored);
        std::filesystem::remove(output_, ignored);
    }
    DiskTrial(const DiskTrial&) = delete;
    DiskTrial& operator=(const DiskTrial&) = delete;

    [[nodiscard]] std::function<double()> work(const Context& context, const NamedVariant& kernel) {
        return verified_once(
            context, [this, kernel] { return seconds(kernel); },
            [this, kernel] { require_equal(expected_, read_file(output_), kernel.name); });
    }

private:
    double seconds(const NamedVariant& kernel) {
        std::filesystem::remove(output_);
        File::read_only(input_).evict();
        const auto run = chunk_kernel(variants_, {kernel.name, {kernel.variant, {}}, {}});
        const std::size_t part = (chunk_ / published::paracrypt::streams + 15) / 16 * 16;
        return time_of([&] {
            const File from = File::read_only(input_), to = File::read_write(output_);
            run_by_three_threads(from, to, chunk_, queued_chunks, [&](std::span<std::uint8_t> chunk) {
                std::memcpy(in_.get(), chunk.data(), chunk.size());
                overlap_.run(in_.get(), out_.get(), chunk.size(), {part, published::paracrypt::streams, false}, run);
                std::memcpy(chunk.data(), out_.get(), chunk.size());
            });
            to.sync();
        });
    }

    std::filesystem::path input_, output_;
    std::vector<std::uint8_t> key_, expected_;
    std::size_t chunk_;
    gpu::HostMemory in_, out_;
    gpu::Overlap overlap_;
    gpu::Variants variants_;
};

}  // namespace

std::optional<Panel> measure_kernels_on_a_disk(const Context& context) {
    if (context.disk.empty()) return {};
    const Place place{context.disk, "disk", true};
    std::vector<std::uint64_t> sizes{16 << 10, 1 << 20, 64 << 20};
    if (!context.quick) sizes.push_back(256 << 20);
    const std::uint64_t bytes = fitting(context, {place}, sizes, 2).back();
    std::vector<std::string> names;
    for (const NamedVariant& kernel : kernels) names.emplace_back(kernel.name);
    Panel panel =
        bars("From disk to disk, by kernel", categories("kernel", names), throughput(),
             fmt::format("A file of {}, AES-128-ECB, read, encrypted and written by three threads, in chunks of "
                         "{} through page-locked memory and {} streams. The input is not in the page cache, and "
                         "the time ends when the output is on the disk.",
                         size_name(bytes), size_name(published::paracrypt::best_staging_bytes),
                         published::paracrypt::streams));
    panel.series = {measured("speed")};
    DiskTrial trial(place.folder, bytes);
    std::vector<std::function<double()>> works;
    for (const NamedVariant& kernel : kernels) works.push_back(trial.work(context, kernel));
    const Effort effort = context.quick ? Effort{3, 5, 0.05} : Effort{5, 9, 0.3};
    for (const Summary& seconds : sample_in_turns(effort, works)) {
        add(panel.series[0], rate(static_cast<double>(bytes) / 1e9, seconds));
    }
    return panel;
}

}  // namespace lab::experiments
