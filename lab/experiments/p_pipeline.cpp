// Measures the ways to move a file through a cipher: AES-128-CTR on a file of up to 256 MiB (--quick: 64 MiB), on a
// disk and on a tmpfs. Times are measured on the host, and run from opening the files to the end of the job. On a disk,
// the input is evicted from the page cache before the clock starts, and the time includes flushing the output to the
// disk.
//
// P.staging repeats [P]'s search for the best staging buffer: production's file job in chunks of 16 KiB to 64 MiB.
// P.pipeline repeats [P]'s pipeline: one thread, then a reader, a worker and a writer connected by queues, then
// production with one worker and with all workers, in chunks of 1 MiB. measure_streams_on_a_disk() is the part of
// P.streams for files on a disk.
#include <fmt/format.h>

#include <algorithm>
#include <warpaes/warpaes.hpp>

#include "lab/compare.hpp"
#include "lab/cpu/pipelines.hpp"
#include "lab/experiments/experiments.hpp"
#include "lab/experiments/file_trials.hpp"
#include "lab/experiments/panels.hpp"
#include "lab/files.hpp"
#include "lab/published.hpp"
#include "lab/reference.hpp"

namespace lab::experiments {

namespace {

/// A file in one of the folders, with libcrypto's CTR output.
struct FileTrial {
    FileTrial(const Place& where, std::uint64_t bytes)
        : place(where), key_bytes(random_bytes(16, 1)), iv(random_bytes(16, 2)), key(key_bytes) {
        const std::vector<std::uint8_t> plain = random_bytes(bytes, 3);
        expected = Reference(Mode::ctr, Direction::encrypt, key_bytes).run(iv, plain);
        write_file(input(), plain);
    }
    ~FileTrial() {
        std::error_code ignored;
        std::filesystem::remove(input(), ignored);
        std::filesystem::remove(output(), ignored);
    }
    FileTrial(const FileTrial&) = delete;
    FileTrial& operator=(const FileTrial&) = delete;

    [[nodiscard]] std::filesystem::path input() const { return place.folder / "input"; }
    [[nodiscard]] std::filesystem::path output() const { return place.folder / "output"; }
    /// Removes the output, and on a disk evicts the input from the page cache.
    void prepare() const {
        std::filesystem::remove(output());
        if (place.on_disk) File::read_only(input()).evict();
    }
    void verify(const std::string& what) const { require_equal(expected, read_file(output()), what); }

    /// Returns the seconds of production's file job.
    [[nodiscard]] double by_production(const warpaes::Engine& engine) const {
        prepare();
        warpaes::FileJob job;
        job.mode = warpaes::Mode::ctr;
        job.direction = warpaes::Direction::encrypt;
        job.input = input();
        job.output = output();
        job.key = &key;
        job.iv = iv;
        return time_of([&] { warpaes::run_file(engine, job); });
    }
    /// Returns the seconds of one of the lab's pipelines, including the flush of the output to the disk.
    template <typename Pipeline>
    [[nodiscard]] double by_lab(const warpaes::Engine& engine, const Pipeline& pipeline) const {
        prepare();
        return time_of([&] {
            const File from = File::read_only(input()), to = File::read_write(output());
            warpaes::Context cipher(engine);
            cipher.init(warpaes::Mode::ctr, warpaes::Direction::encrypt, key, iv);
            pipeline(from, to, [&](std::span<std::uint8_t> chunk) { cipher.update(chunk, chunk); });
            to.sync();
        });
    }

    Place place;
    std::vector<std::uint8_t> key_bytes, iv, expected;
    warpaes::Key key;
};

std::uint64_t file_size(const Context& context, const std::vector<Place>& places) {
    const std::vector<std::uint64_t> sizes =
        context.quick ? std::vector<std::uint64_t>{16 << 10, 64 << 10, 256 << 10, 4 << 20, 64 << 20}
                      : std::vector<std::uint64_t>{16 << 10, 64 << 10, 256 << 10, 4 << 20, 64 << 20, 256 << 20};
    return fitting(context, places, sizes, 2).back();
}

std::string title_of(const Place& place, std::uint64_t bytes) {
    return fmt::format("A file of {} on a {}", size_name(bytes), place.name);
}

const char* note_of(const Place& place) {
    return place.on_disk
               ? "CTR, AES-128. The input is not in the page cache, and the time ends when the output is on the "
                 "disk."
               : "CTR, AES-128. Input and output are in memory.";
}

warpaes::Engine engine_for(const Context& context, const std::string& backend, unsigned threads, std::uint64_t chunk) {
    const int device = backend == "cuda" ? context.gpu : -1;
    return warpaes::Engine(
        {.backend = backend, .device = device, .threads = threads, .depth = 0, .chunk_bytes = chunk});
}

const Effort& effort_of(const Context& context) {
    static const Effort quick{3, 5, 0.05}, whole{5, 11, 0.5};
    return context.quick ? quick : whole;
}

// ------------------------------------------------------------------------------------------------------------ staging

Panel measure_staging(const Context& context, const Place& place, std::uint64_t bytes,
                      const std::vector<std::uint64_t>& chunks, double done, double share) {
    Panel panel{title_of(place, bytes), Panel::Kind::lines, sizes("chunk", chunks), throughput(), {}, {},
                note_of(place)};
    const FileTrial trial(place, bytes);
    const std::vector<std::string> backends = backends_of(context);
    for (const std::string& backend : backends) panel.series.push_back(measured(backend));
    for (std::size_t i = 0; i < chunks.size(); ++i) {
        context.step(done + share * static_cast<double>(i) / static_cast<double>(chunks.size()),
                     place.name + ", chunks of " + place_name(panel.x, i));
        std::vector<warpaes::Engine> engines;
        for (const std::string& backend : backends) {
            engines.push_back(engine_for(context, backend, context.threads, chunks[i]));
        }
        std::vector<std::function<double()>> works;
        for (std::size_t b = 0; b < backends.size(); ++b) {
            works.push_back(verified_once(
                context, [&trial, &engine = engines[b]] { return trial.by_production(engine); },
                [&trial, &backend = backends[b]] { trial.verify(backend); }));
        }
        const std::vector<Summary> seconds = sample_in_turns(effort_of(context), works);
        for (std::size_t b = 0; b < backends.size(); ++b) {
            add(panel.series[b], rate(static_cast<double>(bytes) / 1e9, seconds[b]));
        }
    }
    return panel;
}

Result run_staging(const Context& context) {
    Result result;
    const std::vector<Place> places = places_of(context, result.notes);
    const std::uint64_t bytes = file_size(context, places);
    std::vector<std::uint64_t> chunks;
    for (std::uint64_t chunk = 16 << 10; chunk <= std::min<std::uint64_t>(bytes, 64 << 20);
         chunk *= context.quick ? 8 : 4) {
        chunks.push_back(chunk);
    }
    const std::uint64_t theirs = published::paracrypt::best_staging_bytes;
    const auto place = std::lower_bound(chunks.begin(), chunks.end(), theirs);
    if (theirs <= bytes && (place == chunks.end() || *place != theirs)) chunks.insert(place, theirs);
    for (std::size_t i = 0; i < places.size(); ++i) {
        const double share = 1.0 / static_cast<double>(places.size());
        result.panels.push_back(
            measure_staging(context, places[i], bytes, chunks, share * static_cast<double>(i), share));
        const Panel& panel = result.panels.back();
        for (const Series& series : panel.series) {
            const auto best = std::max_element(series.values.begin(), series.values.end()) - series.values.begin();
            result.facts.push_back({fmt::format("{}, {}: best chunk", panel.title, series.name),
                                    panel.x.values[static_cast<std::size_t>(best)], "B",
                                    static_cast<double>(published::paracrypt::best_staging_bytes)});
        }
    }
    if (context.gpu < 0) result.notes.emplace_back("The GPU is left out: there is none.");
    return result;
}

// ----------------------------------------------------------------------------------------------------------- pipeline

constexpr std::size_t pipeline_chunk = 1 << 20, pipeline_buffers = 4;

Panel measure_pipelines(const Context& context, const Place& place, std::uint64_t bytes, double done, double share) {
    const std::string many = fmt::format("production, {} workers", context.threads);
    Panel panel{title_of(place, bytes),
                Panel::Kind::bars,
                categories("who does it", {"one thread", "reader, worker, writer", "production, 1 worker", many,
                                           "production, as it chooses"}),
                throughput(),
                {},
                {},
                fmt::format("{} Chunks of 1 MiB; {} of them between the three threads. On a GPU production has as many "
                            "workers as it chooses. As it chooses: chunks, too, as without an option.",
                            note_of(place), pipeline_buffers)};
    if (context.threads == 1) std::erase(panel.x.labels, many);
    const FileTrial trial(place, bytes);
    const std::vector<std::string> backends = backends_of(context);
    for (std::size_t b = 0; b < backends.size(); ++b) {
        context.step(done + share * static_cast<double>(b) / static_cast<double>(backends.size()),
                     place.name + ", " + backends[b]);
        const warpaes::Engine one = engine_for(context, backends[b], 1, pipeline_chunk);
        const warpaes::Engine all = engine_for(context, backends[b], context.threads, pipeline_chunk);
        const warpaes::Engine free = engine_for(context, backends[b], 0, 0);
        const auto verify = [&] { trial.verify(backends[b]); };
        std::vector<std::function<double()>> works{
            verified_once(
                context,
                [&] {
                    return trial.by_lab(one, [](const File& from, const File& to, const ChunkWork& work) {
                        run_by_one_thread(from, to, pipeline_chunk, work);
                    });
                },
                verify),
            verified_once(
                context,
                [&] {
                    return trial.by_lab(one, [](const File& from, const File& to, const ChunkWork& work) {
                        run_by_three_threads(from, to, pipeline_chunk, pipeline_buffers, work);
                    });
                },
                verify),
            verified_once(
                context, [&] { return trial.by_production(one); }, verify)};
        if (context.threads > 1)
            works.push_back(verified_once(
                context, [&] { return trial.by_production(all); }, verify));
        works.push_back(verified_once(
            context, [&] { return trial.by_production(free); }, verify));
        Series series = measured(backends[b]);
        for (const Summary& seconds : sample_in_turns(effort_of(context), works)) {
            add(series, rate(static_cast<double>(bytes) / 1e9, seconds));
        }
        panel.series.push_back(std::move(series));
    }
    return panel;
}

Result run_pipeline(const Context& context) {
    Result result;
    const std::vector<Place> places = places_of(context, result.notes);
    const std::uint64_t bytes = file_size(context, places);
    for (std::size_t i = 0; i < places.size(); ++i) {
        const double share = 1.0 / static_cast<double>(places.size());
        result.panels.push_back(measure_pipelines(context, places[i], bytes, share * static_cast<double>(i), share));
    }
    if (context.gpu < 0) result.notes.emplace_back("The GPU is left out: there is none.");
    return result;
}

}  // namespace

std::optional<Panel> measure_streams_on_a_disk(const Context& context, std::span<const unsigned> streams) {
    if (context.disk.empty()) return {};
    const Place place{context.disk, "disk", true};
    const std::uint64_t bytes = file_size(context, {place});
    Panel panel{title_of(place, bytes) + ", by number of streams",
                Panel::Kind::lines,
                numbers("streams", "", Axis::Scale::log, {streams.begin(), streams.end()}),
                throughput(),
                {},
                {measured("cuda")},
                fmt::format("{} Production's file job on the GPU, in chunks of {}, of which so many are under way.",
                            note_of(place), size_name(published::paracrypt::best_staging_bytes))};
    const FileTrial trial(place, bytes);
    std::vector<warpaes::Engine> engines;
    std::vector<std::function<double()>> works;
    engines.reserve(streams.size());
    for (const unsigned n : streams) {
        engines.emplace_back(warpaes::EngineOptions{.backend = "cuda",
                                                    .device = context.gpu,
                                                    .threads = 1,
                                                    .depth = n,
                                                    .chunk_bytes = published::paracrypt::best_staging_bytes});
        works.push_back(verified_once(
            context, [&trial, &engine = engines.back()] { return trial.by_production(engine); },
            [&trial] { trial.verify("streams"); }));
    }
    for (const Summary& seconds : sample_in_turns(effort_of(context), works)) {
        add(panel.series[0], rate(static_cast<double>(bytes) / 1e9, seconds));
    }
    return panel;
}

const Experiment p_staging{"P.staging",
                           Paper::paracrypt,
                           "The size of the staging buffers",
                           "Are chunks of 8 MiB best, and are smaller and larger ones slower?",
                           Experiment::Needs::either,
                           65,
                           10,
                           run_staging};

const Experiment p_pipeline{"P.pipeline",
                            Paper::paracrypt,
                            "Threads for reading and writing",
                            "Do a reader and a writer, joined to the worker by queues, hide the disk?",
                            Experiment::Needs::either,
                            38,
                            8,
                            run_pipeline};

}  // namespace lab::experiments
