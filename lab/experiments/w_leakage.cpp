// W.leakage, which is in no paper, tests whether the duration of kernels depends on the text or the key. Each
// measurement uses a fixed or a random text (or key), as a random bit decides. Welch's t-test, as in dudect
// (lab/leak_test.hpp), compares the two classes. The multiprocessor's clock times single warps (lab/gpu/leakage.hpp),
// and events time whole launches (launch_leaks.hpp). Launches of T-tables are the control: the test must detect their
// leak.
#include <algorithm>
#include <array>
#include <cmath>

#include "lab/experiments/experiments.hpp"
#include "lab/experiments/launch_leaks.hpp"
#include "lab/experiments/panels.hpp"
#include "lab/gpu/leakage.hpp"
#include "lab/leak_test.hpp"
#include "lab/payload.hpp"
#include "lab/reference.hpp"
#include "lab/trial.hpp"

namespace lab::experiments {

namespace {

std::size_t measurements(const Context& context) {
    return context.most_bytes < 1u << 20 ? 100 : context.quick ? 200'000 : 1'000'000;
}

/// Returns the class of each measurement, drawn at random: 0 fixed, 1 random.
std::vector<std::uint8_t> draw_classes(std::size_t count, std::uint64_t seed) {
    std::vector<std::uint8_t> classes = random_bytes(count, seed);
    for (auto& c : classes) c &= 1;
    return classes;
}

/// The |t| above which a difference is not attributed to chance.
constexpr double leaks_from = 4.5;

enum class Secret { text, key };

struct Figure {
    std::string name;
    LeakTest::Outcome text, key;
};

using OfKernels = std::array<LeakTest::Outcome, gpu::timed_subjects>;

/// Inputs of a batch of measurements. All are prepared before the timing, and both classes read the same amounts from
/// the same locations.
struct Batch {
    std::vector<std::uint8_t> classes, texts, keys;  ///< one text or key for all measurements, if it is not the secret
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
            const auto words = KeySchedules::expanded(std::span(keys).subspan(16 * i, 16));
            std::copy(words.begin(), words.end(), schedules.data() + i * gpu::schedule_words);
        }
    }
    /// Returns the item of measurement `i`: the measurement's own item, or the only item.
    [[nodiscard]] static std::span<const std::uint8_t> part(std::span<const std::uint8_t> all, std::size_t i,
                                                            std::size_t size) {
        return all.size() == size ? all : all.subspan(i * size, size);
    }
    /// Verifies that the timed code computes AES.
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

/// Complete launches of production and, as a control for each class of inputs, of T-tables. Two texts of many different
/// blocks have about the same number of bank conflicts, and a launch takes as long as its slowest multiprocessor. Each
/// text therefore repeats the blocks of one warp, which makes the leak of T-tables measurable.
const std::vector<LaunchSubject>& launch_subjects() {
    using Secret = LaunchSubject::Secret;
    static const std::vector<LaunchSubject> list{
        {.name = "production's launches, ECB, equal warps"},
        {.name = "production's launches, CTR, equal warps", .counter = true},
        {.name = "production's launches, CTR, equal warps", .secret = Secret::key, .counter = true},
        {.name = "production's launches, ECB, decryption, equal warps", .encrypt = false},
        {.name = "production's launches, ECB, AES-256, equal warps", .key_bytes = 32},
        {.name = "production's launches, ECB, equal blocks", .secret = Secret::equal_blocks},
        {.name = "T-tables' launches, ECB, equal warps", .tables = true},
        {.name = "T-tables' launches, ECB, equal warps", .secret = Secret::key, .tables = true},
        {.name = "T-tables' launches, ECB, equal blocks", .secret = Secret::equal_blocks, .tables = true},
    };
    return list;
}

/// Returns the smallest difference of means that a test with this many times could distinguish from chance.
double least_found(const LeakTest::Outcome& outcome) {
    return leaks_from * 2 * outcome.deviation / std::sqrt(static_cast<double>(std::max<std::size_t>(outcome.times, 1)));
}

double magnitude(const LeakTest::Outcome& outcome) {
    return std::min(std::abs(outcome.t), 1e6);
}

/// Returns |t|, but at least 0.01, because the axis is logarithmic.
double drawn(const LeakTest::Outcome& outcome) {
    return std::max(magnitude(outcome), 0.01);
}

Result run_leakage(const Context& context) {
    use_gpu(context, shared_for_copies);
    const std::size_t count = measurements(context);
    const OfKernels of_text = test_warps(context, Secret::text, count, 0, 0.2),
                    of_key = test_warps(context, Secret::key, count, 0.2, 0.4);
    std::vector<Figure> figures;
    for (std::size_t s = 0; s < gpu::timed_subjects; ++s) {
        figures.push_back({std::string(gpu::name_of(static_cast<gpu::Timed>(s))), of_text[s], of_key[s]});
    }
    // A launch takes about a thousand times as long as a single warp, so fewer launches are timed.
    const std::size_t launches = std::min<std::size_t>(count, context.quick ? 20'000 : 300'000);
    std::vector<LeakTest::Outcome> whole;
    for (const LaunchSubject& subject : launch_subjects()) {
        const double share = 0.599 / static_cast<double>(launch_subjects().size());
        const double from = 0.4 + share * static_cast<double>(whole.size());
        whole.push_back(test_launches(context, subject, launches, from, from + share));
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
            result.facts.push_back({fmt::format("least difference that would be found, {}, {}", f.name, what),
                                    least_found(o), "clocks", std::nullopt});
        }
    }
    for (std::size_t i = 0; i < whole.size(); ++i) {
        const LaunchSubject& subject = launch_subjects()[i];
        const bool of_key = subject.secret == LaunchSubject::Secret::key;
        const bool again = !labels.empty() && labels.back() == subject.name;
        if (!again) {
            labels.push_back(subject.name);
            for (Series* series : {&text, &key, &fixed, &random}) series->values.emplace_back();
        }
        (of_key ? key : text).values.back() = drawn(whole[i]);
        result.facts.push_back(
            {fmt::format("|t|, {}, {}", subject.name, name_of(subject.secret)), magnitude(whole[i]), "", std::nullopt});
        result.facts.push_back(
            {fmt::format("least difference that would be found, {}, {}", subject.name, name_of(subject.secret)),
             least_found(whole[i]) * 1e9, "ns", std::nullopt});
        if (i < 2) {
            result.facts.push_back({fmt::format("microseconds a launch, {}", i == 0 ? "ECB" : "CTR"),
                                    whole[i].random_mean * 1e6, "µs", std::nullopt});
        }
    }
    Panel panel =
        bars("Whose time tells: |t|", categories("kernel", labels), {"|t|", "", Axis::Scale::log, {}, {}},
             fmt::format(
                 "The largest |t| of 102 tests, all times, cropped at 100 thresholds and of squared "
                 "distances, as dudect does; {} measurements each, {} of launches. Above {} times differ "
                 "beyond chance. The first five: T-tables, four of them, by memory. Production's kernels do "
                 "not read the clock, so their functions are timed in a kernel around "
                 "<warpaes/device.cuh>, and their launches by events, beside launches of T-tables, which the same "
                 "test has to find. Equal warps: every text repeats the 32 blocks of a warp, and the fixed text or "
                 "key is the one of {} with the most bank conflicts of T-tables. Equal blocks: the fixed text repeats "
                 "one block. Values below 0.01 are drawn at 0.01.",
                 count, launches, leaks_from, launch_candidates));
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
                           "Which implementations' time depends on the text or on the key?",
                           Experiment::Needs::gpu,
                           60,
                           8,
                           run_leakage};

}  // namespace lab::experiments
