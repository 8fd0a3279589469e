// K.last_round repeats the attack of [K] on single warps. The attacker knows the ciphertexts of 32 blocks, one for each
// lane, and the warp's clocks. In [K] the attacker knows only the time of a complete launch. The attack
// works because the delay that the last round's lookups cause is correlated with the delay that the correct key byte
// predicts.
#include <algorithm>
#include <array>

#include "lab/experiments/experiments.hpp"
#include "lab/experiments/panels.hpp"
#include "lab/gpu/leakage.hpp"
#include "lab/key_recovery.hpp"
#include "lab/payload.hpp"
#include "lab/reference.hpp"
#include "lab/trial.hpp"

namespace lab::experiments {

namespace {

constexpr std::size_t key_bytes = KeyRecovery::bytes, first_count = 256;
constexpr const char* model_names[] = {"banks", "words", "lines"};

struct Victim {
    gpu::Timed subject;
    bool contends;  ///< whether its lookups wait for each other
};
constexpr Victim victims[] = {
    {gpu::Timed::shared, true},     {gpu::Timed::constant, true},    {gpu::Timed::global, true},
    {gpu::Timed::texture, true},    {gpu::Timed::replicated, false}, {gpu::Timed::production, false},
    {gpu::Timed::bitsliced, false},
};

/// The outcome of the best of the three models. An attacker can try all of them.
struct Attempt {
    KeyRecovery::Outcome outcome;
    Contention model = Contention::banks;
};

class Attack {
public:
    Attack(const Context& context, gpu::Timed subject)
        : subject_(subject), key_(random_bytes(16, 31)), recovery_(context.threads) {
        const auto words = KeySchedules::expanded(key_);
        schedule_.assign(words.begin(), words.end());
        // In the lab's key schedules, the first byte of a word is its lowest byte.
        for (std::size_t i = 0; i < key_bytes; ++i) {
            last_round_[i] = static_cast<std::uint8_t>(schedule_[40 + i / 4] >> 8 * (i % 4));
        }
    }

    [[nodiscard]] std::span<const std::uint8_t> key() const { return key_; }

    /// Measures until there are `count` traces.
    void reach(gpu::WarpTimer& timer, std::size_t count) {
        constexpr std::size_t at_once = 16'384;
        while (traces_ < count) {
            const std::size_t n = std::min(at_once, count - traces_);
            const std::vector<std::uint8_t> texts = random_bytes(n * gpu::warp_text, 5000 + traces_);
            const gpu::WarpTimes times = timer.measure(subject_, {n, texts, schedule_}, true);
            if (traces_ == 0) verify(texts, times.ciphertexts);
            recovery_.add(times.ciphertexts, times.cycles);
            traces_ += n;
        }
    }

    [[nodiscard]] Attempt best() const {
        Attempt best;
        for (std::size_t m = 0; m < contentions; ++m) {
            const auto model = static_cast<Contention>(m);
            const KeyRecovery::Outcome outcome = recovery_.outcome(model, last_round_);
            const auto better = [](const KeyRecovery::Outcome& a, const KeyRecovery::Outcome& b) {
                return a.right != b.right ? a.right > b.right : a.mean_rank < b.mean_rank;
            };
            if (m == 0 || better(outcome, best.outcome)) best = {outcome, model};
        }
        return best;
    }

private:
    void verify(std::span<const std::uint8_t> texts, std::span<const std::uint8_t> ciphertexts) const {
        Reference reference(Mode::ecb, Direction::encrypt, key_);
        require_equal(reference.run({}, texts), ciphertexts, std::string(gpu::name_of(subject_)));
    }

    gpu::Timed subject_;
    std::vector<std::uint8_t> key_;
    std::vector<std::uint32_t> schedule_;
    std::array<std::uint8_t, key_bytes> last_round_{};
    KeyRecovery recovery_;
    std::size_t traces_ = 0;
};

struct Curve {
    std::vector<std::pair<std::size_t, Attempt>> points;
    std::size_t needed = 0;  ///< number of traces needed to get all bytes right; 0: never
};

/// Attacks with 256, 512, … traces up to `most`, and finally with `most`; stops once the key is found.
Curve attack(const Context& context, gpu::WarpTimer& timer, gpu::Timed subject, std::size_t most, double from,
             double to) {
    Attack attack(context, subject);
    Curve curve;
    for (std::size_t count = std::min(first_count, most);; count = std::min(2 * count, most)) {
        context.step(from + (to - from) * static_cast<double>(count) / static_cast<double>(2 * most),
                     std::string(gpu::name_of(subject)));
        attack.reach(timer, count);
        curve.points.emplace_back(count, attack.best());
        const Attempt& attempt = curve.points.back().second;
        if (attempt.outcome.right == key_bytes) {
            const auto key = key_of_last_round(attempt.outcome.key);
            require_equal(attack.key(), key, "the key computed from the last round key");
            curve.needed = count;
        }
        if (curve.needed != 0 || count == most) return curve;
    }
}

std::size_t most_traces(const Context& context) {
    return context.most_bytes < 1u << 20 ? 32 : std::size_t{1} << (context.quick ? 15 : 17);
}

Result run_last_round(const Context& context) {
    use_gpu(context, shared_for_copies);
    const std::size_t most = most_traces(context);
    gpu::WarpTimer timer;
    std::vector<Curve> curves;
    std::size_t ten_times = 0;
    for (const Victim& victim : victims) {
        // The first victim determines the number of traces for victims that no lookup delays.
        const std::size_t limit = victim.contends ? most : ten_times;
        const double part = 0.999 / static_cast<double>(std::size(victims)),
                     from = part * static_cast<double>(curves.size());
        curves.push_back(attack(context, timer, victim.subject, limit, from, from + part));
        if (curves.size() == 1) ten_times = curves[0].needed != 0 ? 10 * curves[0].needed : most;
    }

    std::vector<double> counts;
    for (const Curve& curve : curves) {
        for (const auto& [count, attempt] : curve.points) counts.push_back(static_cast<double>(count));
    }
    std::sort(counts.begin(), counts.end());
    counts.erase(std::unique(counts.begin(), counts.end()), counts.end());

    Result result;
    Panel right = lines("Key bytes recovered", numbers("traces", "", Axis::Scale::log, counts),
                        {"right bytes of 16", "", Axis::Scale::linear, {}, {}},
                        "Number of correct bytes of the last round key, by number of traces. A trace is the "
                        "ciphertexts of a warp with 32 random blocks, and its time in clocks. The attack ends when all "
                        "16 bytes are correct. By chance, 0.06 bytes are correct.");
    Panel rank = lines("Mean rank of the right bytes", right.x, {"rank, 0 to 255", "", Axis::Scale::linear, {}, {}},
                       "Mean over 16 bytes of the rank of the right value by correlation, with 0 for the best. By "
                       "chance it is 127.5, with a standard deviation of 18.5.");
    for (std::size_t v = 0; v < curves.size(); ++v) {
        const std::string name(gpu::name_of(victims[v].subject));
        Series of_right = measured(name), of_rank = measured(name);
        of_right.values.resize(counts.size()), of_rank.values.resize(counts.size());
        for (const auto& [count, attempt] : curves[v].points) {
            const auto at = static_cast<std::size_t>(
                std::lower_bound(counts.begin(), counts.end(), static_cast<double>(count)) - counts.begin());
            of_right.values[at] = attempt.outcome.right;
            of_rank.values[at] = attempt.outcome.mean_rank;
        }
        right.series.push_back(of_right), rank.series.push_back(of_rank);
        const auto& [count, last] = curves[v].points.back();
        const auto fact = [&](const char* what, double value) {
            result.facts.push_back({fmt::format("{}, {}", what, name), value, "", std::nullopt});
        };
        fact("traces", static_cast<double>(count));
        fact("right bytes", last.outcome.right);
        fact("mean rank", last.outcome.mean_rank);
        result.notes.push_back(fmt::format("{}: the model of {} was the best, with {} traces.", name,
                                           model_names[static_cast<std::size_t>(last.model)], count));
    }
    result.panels = {right, rank};
    return result;
}

}  // namespace

const Experiment k_last_round{"K.last_round",
                              Paper::jiang,
                              "The last round key, from times",
                              "How many times of a warp does it take to recover the key?",
                              Experiment::Needs::gpu,
                              60,
                              15,
                              run_last_round};

}  // namespace lab::experiments
