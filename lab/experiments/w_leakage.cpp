// Beyond the papers: whose time tells something about text or key. Fixed against random inputs, Welch's t as dudect
// makes it.
#include <algorithm>
#include <array>
#include <cmath>

#include "aes/key_schedule.hpp"
#include "lab/experiments/experiments.hpp"
#include "lab/experiments/panels.hpp"
#include "lab/gpu/leakage.hpp"
#include "lab/leak_test.hpp"
#include "lab/production.hpp"
#include "lab/reference.hpp"
#include "lab/trial.hpp"

namespace lab::experiments {

namespace {

std::size_t measurements(const Context& context) {
    return context.most_bytes < 1u << 20 ? 100 : context.quick ? 200'000 : 1'000'000;
}

/// Fixed or random, at random: one for each measurement.
std::vector<std::uint8_t> draw_classes(std::size_t count, std::uint64_t seed) {
    std::vector<std::uint8_t> classes = random_bytes(count, seed);
    for (auto& c : classes) c &= 1;
    return classes;
}

/// |t| above which times differ beyond chance.
constexpr double leaks_from = 4.5;

enum class Secret { text, key };

struct Figure {
    std::string name;
    LeakTest::Outcome text, key;
};

using OfKernels = std::array<LeakTest::Outcome, gpu::timed_subjects>;

/// Inputs of a batch, prepared before anything is timed: what is read, and where, is the same whatever the class is.
struct Batch {
    std::vector<std::uint8_t> classes, texts, keys;  ///< one text or one key for all, of what is not the secret
    std::vector<std::uint32_t> schedules;

    Batch(Secret secret, std::size_t size, std::uint64_t seed) : classes(draw_classes(size, 3 * seed)) {
        const std::vector<std::uint8_t> key = random_bytes(16, 11), text = random_bytes(gpu::warp_text, 12);
        texts = secret == Secret::text ? random_bytes(size * gpu::warp_text, 3 * seed + 1) : text;
        keys = secret == Secret::key ? random_bytes(size * 16, 3 * seed + 2) : key;
        std::vector<std::uint8_t>& inputs = secret == Secret::text ? texts : keys;
        const std::vector<std::uint8_t>& fixed = secret == Secret::text ? text : key;
        for (std::size_t i = 0; i < size; ++i) {
            if (classes[i] == 0) std::copy(fixed.begin(), fixed.end(), inputs.data() + i * fixed.size());
        }
        schedules.resize(keys.size() / 16 * gpu::schedule_words);
        for (std::size_t i = 0; i < keys.size() / 16; ++i) {
            const auto words = warpaes::expand_key(std::span(keys).subspan(16 * i, 16)).words;
            std::copy_n(words.begin(), gpu::schedule_words, schedules.data() + i * gpu::schedule_words);
        }
    }
    /// Of measurement `i`, the whole's only one or its own.
    [[nodiscard]] static std::span<const std::uint8_t> part(std::span<const std::uint8_t> all, std::size_t i,
                                                            std::size_t size) {
        return all.size() == size ? all : all.subspan(i * size, size);
    }
    /// That it is AES whose time was taken.
    void verify(gpu::Timed subject, std::span<const std::uint8_t> ciphertexts) const {
        for (std::size_t i = 0; i < std::min<std::size_t>(classes.size(), 64); ++i) {
            Reference reference(Mode::ecb, Direction::encrypt, part(keys, i, 16));
            require_equal(reference.run({}, part(texts, i, gpu::warp_text)),
                          ciphertexts.subspan(i * gpu::warp_text, gpu::warp_text), std::string(gpu::name_of(subject)));
        }
    }
};

OfKernels test_warps(const Context& context, Secret secret, std::size_t count, double from, double to) {
    constexpr std::size_t most = 65'536;
    gpu::WarpTimer timer;
    std::vector<LeakTest> tests;
    const std::string name = secret == Secret::text ? "fixed against random texts" : "fixed against random keys";
    std::size_t done = 0;
    for (bool first = true; first || done < count; first = false) {
        context.step(from + (to - from) * static_cast<double>(done) / static_cast<double>(count), name);
        const std::size_t size = std::min(most, count - done);
        const Batch batch(secret, size, 100 + done + !first);
        for (std::size_t s = 0; s < gpu::timed_subjects; ++s) {
            const auto subject = static_cast<gpu::Timed>(s);
            const gpu::WarpTimes times = timer.measure(subject, {size, batch.texts, batch.schedules}, first);
            if (first) {
                batch.verify(subject, times.ciphertexts);
                tests.emplace_back(std::vector<double>(times.cycles.begin(), times.cycles.end()));
                continue;
            }
            for (std::size_t i = 0; i < size; ++i) tests[s].add(batch.classes[i], times.cycles[i]);
        }
        if (!first) done += size;
    }
    OfKernels outcomes;
    for (std::size_t s = 0; s < gpu::timed_subjects; ++s) outcomes[s] = tests[s].outcome();
    return outcomes;
}

/// Of whole launches of production's kernels, texts of 64 KiB. Each is copied to where the kernel reads it before the
/// clock starts: memory elsewhere would take another time.
class LaunchTest {
public:
    LaunchTest(const Context& context, bool counter)
        : bytes_(allowed(context, std::size_t{64} << 10)),
          counter_(counter ? random_bytes(16, 21) : std::vector<std::uint8_t>{}),
          key_(random_bytes(16, 22)),
          production_(context.gpu, key_) {
        for (std::size_t i = 0; i < buffers; ++i) {
            for (const std::uint64_t random : {0u, 1u}) {
                const std::vector<std::uint8_t> text = random_bytes(bytes_, random == 0 ? 23 : 24 + i);
                sources_[random].push_back(gpu::on_device(text));
                check(sources_[random].back(), text);
            }
        }
    }

    LeakTest::Outcome run(const Context& context, std::size_t count, double from, double to) {
        std::optional<LeakTest> test;
        const std::size_t batch = std::min(most_at_once, count);
        for (std::size_t done = 0, n = 0; done < count + batch; done += n) {
            context.step(from + (to - from) * static_cast<double>(done) / static_cast<double>(count + batch),
                         counter_.empty() ? "production's launches, ECB" : "production's launches, CTR");
            n = std::min(batch, count + batch - done);
            const std::vector<std::uint8_t> classes = draw_classes(n, 1000 + done);
            const std::vector<double> seconds = times_of(classes);
            if (!test) {
                test.emplace(seconds);
            } else {
                for (std::size_t i = 0; i < n; ++i) test->add(classes[i], seconds[i]);
            }
        }
        return test->outcome();
    }

private:
    static constexpr std::size_t buffers = 32, most_at_once = 1000;

    void take(const gpu::DeviceMemory& source) const { gpu::copy(input_.get(), source.get(), bytes_, stream_); }
    void enqueue() const { production_.enqueue(true, counter_, input_.get(), output_.get(), bytes_, stream_.get()); }
    void check(const gpu::DeviceMemory& source, std::span<const std::uint8_t> text) {
        gpu::fill(output_.get(), 0xc3, bytes_, stream_);
        take(source);
        enqueue();
        stream_.synchronize();
        const Mode mode = counter_.empty() ? Mode::ecb : Mode::ctr;
        require_equal(Reference(mode, Direction::encrypt, key_).run(counter_, text), gpu::fetch(output_), "production");
    }
    std::vector<double> times_of(const std::vector<std::uint8_t>& classes) {
        while (starts_.size() < classes.size()) starts_.emplace_back(), ends_.emplace_back();
        for (std::size_t i = 0; i < classes.size(); ++i) {
            take(sources_[classes[i]][i % buffers]);
            starts_[i].record(stream_);
            enqueue();
            ends_[i].record(stream_);
        }
        stream_.synchronize();
        std::vector<double> seconds;
        for (std::size_t i = 0; i < classes.size(); ++i) seconds.push_back(ends_[i].since(starts_[i]));
        return seconds;
    }

    std::size_t bytes_;
    std::vector<std::uint8_t> counter_, key_;
    Production production_;
    gpu::Stream stream_;
    std::array<std::vector<gpu::DeviceMemory>, 2> sources_;
    gpu::DeviceMemory input_{bytes_}, output_{bytes_};
    std::vector<gpu::Event> starts_, ends_;
};

double magnitude(const LeakTest::Outcome& outcome) {
    return std::min(std::abs(outcome.t), 1e6);
}

/// On an axis that knows no 0.
double drawn(const LeakTest::Outcome& outcome) {
    return std::max(magnitude(outcome), 0.01);
}

Result run(const Context& context) {
    use_gpu(context, shared_for_copies);
    const std::size_t count = measurements(context);
    const OfKernels of_text = test_warps(context, Secret::text, count, 0, 0.2),
                    of_key = test_warps(context, Secret::key, count, 0.2, 0.4);
    std::vector<Figure> figures;
    for (std::size_t s = 0; s < gpu::timed_subjects; ++s) {
        figures.push_back({std::string(gpu::name_of(static_cast<gpu::Timed>(s))), of_text[s], of_key[s]});
    }
    // Launches are a thousand times as long; a quick run takes fewer.
    const std::size_t launches = context.quick ? std::min<std::size_t>(count, 20'000) : count;
    std::array<LeakTest::Outcome, 2> whole;
    for (const bool counter : {false, true}) {
        LaunchTest test(context, counter);
        whole[counter] = test.run(context, launches, counter ? 0.7 : 0.4, counter ? 0.999 : 0.7);
    }

    std::vector<std::string> labels;
    Result result;
    Series text = measured("fixed against random text"), key = measured("fixed against random key");
    Panel times = bars("Clocks of a warp", {}, {"clocks", "", {}, {}, {}},
                       "Mean time of 32 blocks, one each lane (bitsliced: 1,024), of the test of texts.");
    Series fixed = measured("fixed text"), random = measured("random text");
    for (const Figure& f : figures) {
        labels.push_back(f.name);
        text.values.emplace_back(drawn(f.text));
        key.values.emplace_back(drawn(f.key));
        fixed.values.emplace_back(f.text.fixed_mean);
        random.values.emplace_back(f.text.random_mean);
        for (const auto& [what, o] : {std::pair("text", f.text), std::pair("key", f.key)}) {
            result.facts.push_back({fmt::format("|t|, {}, {}", f.name, what), magnitude(o), "", std::nullopt});
        }
    }
    for (const bool counter : {false, true}) {
        const char* mode = counter ? "CTR" : "ECB";
        labels.push_back(fmt::format("production's launches, {}", mode));
        text.values.emplace_back(drawn(whole[counter]));
        key.values.emplace_back();
        fixed.values.emplace_back();
        random.values.emplace_back();
        result.facts.push_back(
            {fmt::format("|t|, production's launches, {}, text", mode), magnitude(whole[counter]), "", std::nullopt});
        result.facts.push_back(
            {fmt::format("microseconds a launch, {}", mode), whole[counter].random_mean * 1e6, "µs", std::nullopt});
    }
    Panel panel =
        bars("Whose time tells: |t|", categories("kernel", labels), {"|t|", "", Axis::Scale::log, {}, {}},
             fmt::format("The largest |t| of 102 tests, all times, cropped at 100 thresholds and of squared "
                         "distances, as dudect does; {} measurements each, {} of launches. Above {} times differ "
                         "beyond chance. The first five: T-tables, four of them, by memory. Production's kernels do "
                         "not read the clock, so their functions are timed in a kernel around "
                         "<warpaes/device.cuh>, and their launches by events. What is below 0.01 is drawn there.",
                         count, launches, leaks_from));
    panel.series = {text, key, model("beyond chance", std::vector<std::optional<double>>(labels.size(), leaks_from))};
    times.x = categories("kernel", labels);
    times.series = {fixed, random};
    result.panels = {panel, times};
    result.facts.push_back({"measurements of each kernel", static_cast<double>(count), "", std::nullopt});

    return result;
}

}  // namespace

const Experiment w_leakage{"W.leakage",
                           Paper::ours,
                           "Timing leakage",
                           "Whose time depends on the text or on the key?",
                           Experiment::Needs::gpu,
                           90,
                           3,
                           run};

}  // namespace lab::experiments
