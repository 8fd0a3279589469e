#include "engine/calibration/tune.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "engine/calibration/calibrate.hpp"
#include "engine/memory.hpp"

namespace warpaes {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t most_bytes = 128 * mib, least_bytes = 64 * kib;
/// Smaller improvements are considered noise.
constexpr double worth_a_change = 0.98;

/// The work for measuring a figure: one message, or a batch.
struct Sample {
    Mode mode;
    Direction direction;
    std::uint64_t bytes;         ///< length of one message
    std::uint64_t messages = 0;  ///< number of messages in a batch; 0: a single message
    bool own_keys = false;

    /// Returns the sample, reduced to about `most` bytes.
    [[nodiscard]] Sample within(std::uint64_t most) const {
        Sample s = *this;
        s.bytes = std::min(bytes, most);
        if (messages != 0) s.messages = std::clamp<std::uint64_t>(most / s.bytes, 1, messages);
        return s;
    }
    [[nodiscard]] std::uint64_t all_bytes() const { return bytes * std::max<std::uint64_t>(messages, 1); }
};

constexpr Direction encrypt = Direction::encrypt, decrypt = Direction::decrypt;
constexpr std::uint64_t many = most_bytes;

struct Samples {
    std::vector<std::string_view> figures;
    const char* words;
    std::vector<Sample> samples;
};

const std::vector<Samples>& samples_of_figures() {
    static const std::vector<Samples> all{
        {{"tables", "threads"},
         "ECB, CTR, CBC decryption and GCM of one message",
         {{Mode::ecb, encrypt, many},
          {Mode::ctr, encrypt, many},
          {Mode::cbc, decrypt, many},
          {Mode::gcm, encrypt, many}}},
        {{"own_key_threads"},
         "batches of CTR with a key each, messages of 1,500 bytes and 64 KiB",
         {{Mode::ctr, encrypt, 1500, 80000, true}, {Mode::ctr, encrypt, 64 * kib, 2048, true}}},
        {{"serial_warps"},
         "batches of CBC encryption, 1,024 and 8,192 messages of 16 KiB",
         {{Mode::cbc, encrypt, 16 * kib, 1024}, {Mode::cbc, encrypt, 16 * kib, 8192}}},
        {{"tensor_blocks", "product_blocks"},
         "GCM of one message, a batch of GCM of 16 KiB under one key",
         {{Mode::gcm, encrypt, many}, {Mode::gcm, encrypt, 16 * kib, 8192}}},
        {{"one_launch_share"},
         "GCM of messages of 1 MiB, 4 MiB and 8 MiB",
         {{Mode::gcm, encrypt, mib}, {Mode::gcm, encrypt, 4 * mib}, {Mode::gcm, encrypt, 8 * mib}}},
        {{"two_tables_share"},
         "GCM of messages of 1 MiB and 8 MiB",
         {{Mode::gcm, encrypt, mib}, {Mode::gcm, encrypt, 8 * mib}}},
        {{"own_key_tensor_bytes"},
         "batches of GCM with a key each, messages of 8 KiB, 16 KiB, 64 KiB and 1 MiB",
         {{Mode::gcm, encrypt, 8 * kib, 16384, true},
          {Mode::gcm, encrypt, 16 * kib, 8192, true},
          {Mode::gcm, encrypt, 64 * kib, 2048, true},
          {Mode::gcm, encrypt, mib, 128, true}}},
        {{"long_counter_bytes"},
         "batches of CTR, messages of 4, 8, 16 and 32 KiB",
         {{Mode::ctr, encrypt, 4 * kib, 32768},
          {Mode::ctr, encrypt, 8 * kib, 16384},
          {Mode::ctr, encrypt, 16 * kib, 8192},
          {Mode::ctr, encrypt, 32 * kib, 4096}}},
    };
    return all;
}

const Samples& samples_of(const LaunchFigure& figure) {
    const auto& all = samples_of_figures();
    return *std::find_if(all.begin(), all.end(), [&](const Samples& s) {
        return std::find(s.figures.begin(), s.figures.end(), figure.name) != s.figures.end();
    });
}

/// Sizes of the IV and the key that accompany each message of a batch.
constexpr std::size_t iv_bytes = 16, key_bytes = 16;

/// Buffers for the largest sample, in host memory and on the device.
class Bench {
public:
    Bench(CudaBackend& gpu, int device, std::uint64_t bytes)
        : gpu_(gpu),
          device_(device),
          input_(bytes),
          output_(bytes),
          besides_(beside(bytes)),
          reference_(bytes + tags(bytes)) {
        std::uint64_t state = 0x9e3779b97f4a7c15;
        const auto fill = [&](std::vector<std::uint8_t>& with) {
            for (std::uint8_t& byte : with) {
                state = state * 6364136223846793005 + 1442695040888963407;
                byte = static_cast<std::uint8_t>(state >> 56);
            }
        };
        fill(input_);
        fill(besides_);
        device_input_ = DeviceBuffer(device_, input_.size());
        device_output_ = DeviceBuffer(device_, output_.size() + tags(bytes));
        device_besides_ = DeviceBuffer(device_, besides_.size());
        copy_memory(device_input_.get(), input_.data(), input_.size(), device_);
        copy_memory(device_besides_.get(), besides_.data(), besides_.size(), device_);
    }

    /// Whether the GPU's output equals the CPU's reference, which is recomputed first if `anew` is set.
    [[nodiscard]] bool is_right(const Sample& sample, bool anew) {
        const std::size_t bytes = sample.all_bytes();
        const std::size_t tag_bytes =
            sample.mode == Mode::gcm ? std::max<std::uint64_t>(sample.messages, 1) * block_bytes : 0;
        if (anew) {
            const MessageGroup g = group(sample, input_.data(), reference_.data(), besides_.data());
            libcrypto_backend().open_lane(-1, 0)->run(g);
        }
        clear_memory(device_output_.get(), bytes + tag_bytes, device_);
        run(sample);
        output_.resize(std::max(output_.size(), bytes + tag_bytes));
        copy_memory(output_.data(), device_output_.get(), bytes + tag_bytes, device_);
        return std::memcmp(output_.data(), reference_.data(), bytes + tag_bytes) == 0;
    }

    /// Returns seconds per call, averaged over calls that together take a few milliseconds, or measured in one long
    /// call.
    double seconds(const Sample& sample) {
        const auto time = [&](unsigned calls) {
            const auto start = Clock::now();
            for (unsigned i = 0; i < calls; ++i) run(sample);
            return std::max(std::chrono::duration<double>(Clock::now() - start).count() / calls, 1e-9);
        };
        const double first = time(1);
        if (first > long_call) return first;
        return time(static_cast<unsigned>(std::clamp(2e-3 / first, 1.0, 1000.0)));
    }
    static constexpr double long_call = 20e-3;

private:
    static std::size_t most_messages(std::uint64_t bytes) { return static_cast<std::size_t>(bytes / 1500 + 1); }
    static std::size_t tags(std::uint64_t bytes) { return most_messages(bytes) * block_bytes; }
    static std::size_t beside(std::uint64_t bytes) { return most_messages(bytes) * (iv_bytes + key_bytes); }

    /// Tags follow the output. The IV of a single message is in host memory.
    [[nodiscard]] MessageGroup group(const Sample& sample, std::uint8_t* input, std::uint8_t* output,
                                     std::uint8_t* besides) {
        const std::uint64_t count = std::max<std::uint64_t>(sample.messages, 1);
        const bool batch = sample.messages != 0, gcm = sample.mode == Mode::gcm, iv = sample.mode != Mode::ecb;
        MessageGroup g{};
        g.mode = sample.mode;
        g.direction = sample.direction;
        g.count = count;
        g.length = sample.bytes;
        if (sample.mode == Mode::ecb || sample.mode == Mode::cbc) g.length -= g.length % block_bytes;
        g.input = {input, sample.bytes};
        g.output = {output, sample.bytes};
        if (iv) g.iv = {batch ? besides : besides_.data(), batch ? iv_bytes : 0};
        g.iv_length = !iv ? 0 : gcm ? 12 : 16;
        if (gcm) {
            g.tag = {output + sample.all_bytes(), block_bytes};
            g.tag_length = block_bytes;
        }
        if (sample.own_keys) {
            g.keys = {besides + count * iv_bytes, key_bytes};
            g.key_bytes = key_bytes;
        } else {
            g.key = &key_;
        }
        return g;
    }

    void run(const Sample& sample) {
        const MessageGroup g = group(sample, device_input_.get(), device_output_.get(), device_besides_.get());
        if (sample.messages == 0) {
            gpu_.run(g, device_, CallerStream{});
        } else {
            gpu_.enqueue({&g, 1}, device_, nullptr);
        }
        wait_for_device(device_);
    }

    CudaBackend& gpu_;
    int device_;
    std::vector<std::uint8_t> input_, output_, besides_, reference_;
    DeviceBuffer device_input_, device_output_, device_besides_;
    ExpandedKey key_{std::vector<std::uint8_t>(16, 0x5a)};
};

/// Returns enough bytes that the fixed cost of a call is negligible, but fewer on a slow GPU, such as a simulated GPU.
std::uint64_t bytes_to_measure(CudaBackend& gpu, int device) {
    std::uint64_t bytes = least_bytes;
    for (; bytes < most_bytes; bytes *= 4) {
        Bench bench(gpu, device, bytes);
        const Sample sample{Mode::ctr, encrypt, bytes};
        (void)bench.seconds(sample);  // the first call includes one-time setup
        if (bench.seconds(sample) > 0.1e-3) break;
    }
    return std::min(bytes, most_bytes);
}

class Tuning {
public:
    Tuning(CudaBackend& gpu, const TuningOptions& options)
        : gpu_(gpu), options_(options), before_(gpu.launches(options.device)), best_(before_.built_in) {}
    Tuning(const Tuning&) = delete;
    Tuning& operator=(const Tuning&) = delete;
    ~Tuning() {
        try {
            gpu_.use_launches(options_.device, before_.used);
        } catch (...) {
            // There is not enough memory to restore the table, so the last table stays in use. Results do not depend on
            // it.
        }
    }

    TuningReport run() {
        use(best_);
        const std::uint64_t bytes = bytes_to_measure(gpu_, options_.device);
        Bench bench(gpu_, options_.device, bytes);
        for (const LaunchFigure& figure : launch_figures()) total_ += values_of(figure).size();
        for (const LaunchFigure& figure : launch_figures()) tune(figure, bench, bytes);
        if (best_ != before_.built_in) {
            // The chosen values have not been tested in combination yet.
            use(best_);
            for (const LaunchFigure& figure : launch_figures()) {
                for (const Sample& sample : samples_of(figure).samples) {
                    if (!bench.is_right(sample.within(bytes), true)) refuse(figure, best_.*figure.value);
                }
            }
        }
        TuningReport report{before_, measurements_};
        report.launches.used = best_;
        return report;
    }

private:
    void use(const LaunchTable& table) const { gpu_.use_launches(options_.device, table); }

    /// Returns the values to try, beginning with the value in use.
    [[nodiscard]] std::vector<std::uint32_t> values_of(const LaunchFigure& figure) const {
        const std::uint32_t in_use = best_.*figure.value;
        std::vector<std::uint32_t> values{in_use};
        for (const std::uint32_t value : figure.worth_trying()) {
            LaunchTable table = best_;
            table.*figure.value = value;
            if (value != in_use && objection(table, before_.gpu).empty()) values.push_back(value);
        }
        return values;
    }

    [[noreturn]] static void refuse(const LaunchFigure& figure, std::uint32_t value) {
        throw Error(WARPAES_ERROR_DEVICE, std::string("launches: with ") + figure.name + " = " + figure_text(value) +
                                              " the GPU's output differs from the CPU's; nothing is stored, and "
                                              "launches are unchanged. Run `warpaes selftest`");
    }

    void tune(const LaunchFigure& figure, Bench& bench, std::uint64_t bytes) {
        const Samples& samples = samples_of(figure);
        const std::vector<std::uint32_t> values = values_of(figure);
        std::vector<double> logs(values.size(), 0);
        std::vector<bool> possible(values.size(), true);
        const auto table_with = [&](std::size_t i) {
            LaunchTable table = best_;
            table.*figure.value = values[i];
            return table;
        };
        for (const Sample& whole : samples.samples) {
            const Sample sample = whole.within(bytes);
            std::vector<double> least(values.size(), std::numeric_limits<double>::infinity());
            for (std::size_t i = 0; i < values.size(); ++i) {
                if (!possible[i]) continue;
                use(table_with(i));
                bool is_right = true;
                try {
                    is_right = bench.is_right(sample, i == 0);
                    least[i] = bench.seconds(sample);
                    ++measurements_;
                } catch (const Error& e) {
                    // An error with the value in use ends the tuning run.
                    if (i == 0 || e.status() != WARPAES_ERROR_DEVICE) throw;
                    possible[i] = false;
                }
                if (!is_right) refuse(figure, values[i]);
            }
            // The values are measured in turn, because clock rates and temperatures change.
            const bool is_long = least[0] > Bench::long_call;
            for (unsigned round = 1; !is_long && round < (options_.quick ? 3U : 7U); ++round) {
                for (std::size_t i = 0; i < values.size(); ++i) {
                    if (!possible[i]) continue;
                    use(table_with(i));
                    least[i] = std::min(least[i], bench.seconds(sample));
                    ++measurements_;
                }
            }
            for (std::size_t i = 0; i < values.size(); ++i) logs[i] += std::log(least[i] / least[0]);
        }
        std::size_t best = 0;
        double least = worth_a_change;
        for (std::size_t i = 0; i < values.size(); ++i) {
            const double relative = possible[i] ? std::exp(logs[i] / static_cast<double>(samples.samples.size())) : 0;
            if (i != 0 && possible[i] && relative < least) {
                least = relative;
                best = i;
            }
            ++done_;
            if (options_.progress &&
                !options_.progress({figure.name, values[i], samples.words, relative, done_, total_})) {
                throw Error(WARPAES_ERROR_CANCELLED, "cancelled by the caller");
            }
        }
        best_.*figure.value = values[best];
    }

    CudaBackend& gpu_;
    const TuningOptions& options_;
    GpuLaunches before_;
    LaunchTable best_;
    std::uint64_t measurements_ = 0, done_ = 0, total_ = 0;
};

}  // namespace

TuningReport tune(CudaBackend& gpu, const TuningOptions& options) {
    return Tuning(gpu, options).run();
}

}  // namespace warpaes
