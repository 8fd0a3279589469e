#include "message/measure.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "base/error.hpp"
#include "engine/arena.hpp"
#include "engine/calibration/file.hpp"
#include "engine/engine.hpp"
#include "engine/pipeline/memory.hpp"
#include "message/batch/batch_engine.hpp"
#include "message/message.hpp"

namespace warpaes {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t data_unit = 4096;

/// Two buffers in the same kind of memory.
class Pair {
public:
    Pair(const Engine& engine, Memory memory, int device, std::size_t bytes) : bytes_(bytes) {
        for (Buffer& buffer : buffers_) {
            if (memory == Memory::pageable) {
                buffer.plain.reset(static_cast<std::uint8_t*>(std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096)));
                if (buffer.plain == nullptr) throw std::bad_alloc();
            } else {
                buffer.arena = std::make_unique<Arena>(engine, memory, false, device, bytes);
            }
        }
        // Writing to the buffers maps every page before the timing starts.
        const std::vector<std::uint8_t> pattern(std::min<std::size_t>(bytes, 1 << 20), 0x5a);
        for (std::uint8_t* p : {first(), second()}) {
            for (std::size_t at = 0; at < bytes; at += pattern.size()) {
                copy_anywhere(p + at, pattern.data(), std::min(pattern.size(), bytes - at));
            }
        }
    }
    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
    [[nodiscard]] std::uint8_t* first() const noexcept { return buffers_[0].data(); }
    [[nodiscard]] std::uint8_t* second() const noexcept { return buffers_[1].data(); }

private:
    struct Buffer {
        std::unique_ptr<Arena> arena;
        std::unique_ptr<std::uint8_t, decltype(&std::free)> plain{nullptr, &std::free};
        [[nodiscard]] std::uint8_t* data() const noexcept { return arena != nullptr ? arena->data() : plain.get(); }
    };
    std::size_t bytes_;
    std::array<Buffer, 2> buffers_;
};

ExpandedKey key_of(unsigned bits, std::uint8_t filling) {
    return ExpandedKey(std::vector<std::uint8_t>(bits / 8, filling));
}

/// Returns the time in seconds that the first use of a GPU takes in this process; 0 if a GPU was already in use.
double time_of_waking(CudaBackend& gpu, int device) {
    if (gpu.is_awake()) return 0;
    const auto start = Clock::now();
    (void)gpu.open_lane(device, 0);
    return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Returns the input length of the longest message to measure. Several buffers of this size must fit in memory and
/// leave room for other programs.
std::uint64_t affordable_bytes() {
    const long pages = sysconf(_SC_AVPHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (pages <= 0 || page <= 0) return 16 << 20;
    const std::uint64_t available = static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page);
    return std::clamp<std::uint64_t>(available / 8, 1 << 20, 256 << 20);
}

class Stopwatch {
public:
    explicit Stopwatch(const StopwatchOptions& o) : options(o) {}

    std::optional<double> operator()(const Trial& trial) {
        try {
            return trial.work.batch ? batch(trial) : message(trial);
        } catch (const std::bad_alloc&) {
            return std::nullopt;
        } catch (const Error& e) {
            if (e.status() != WARPAES_ERROR_OUT_OF_MEMORY && e.status() != WARPAES_ERROR_DEVICE_MEMORY) throw;
            return std::nullopt;
        }
    }

private:
    struct Place {
        explicit Place(const EngineOptions& o) : engine(o), batches(engine) {}
        Engine engine;
        BatchEngine batches;
    };
    Place& place(const Trial& trial) {
        const auto key = std::tuple(trial.backend, trial.device, trial.lanes, trial.chunk_bytes);
        auto& place = places[key];
        if (place == nullptr) {
            place = std::make_unique<Place>(EngineOptions{.backend = trial.backend,
                                                          .device = trial.device,
                                                          .threads = options.threads,
                                                          .depth = trial.lanes,
                                                          .chunk_bytes = trial.chunk_bytes,
                                                          .costs = std::make_shared<CostModel>()});
        }
        return *place;
    }

    /// Returns buffers for the data or, with `besides`, for the IVs, keys and tags of a batch.
    Pair& buffers(const Trial& trial, std::uint64_t wanted, bool besides = false) {
        const int device = is_on_device(trial.work.memory) ? trial.device : -1;
        auto& pair = pairs[{trial.work.memory, device, besides}];
        const auto bytes = static_cast<std::size_t>(wanted);
        if (pair == nullptr || pair->bytes() < bytes) {
            pair.reset();
            pair = std::make_unique<Pair>(place(trial).engine, trial.work.memory, device,
                                          std::max<std::size_t>(bytes, 1 << 20));
        }
        return *pair;
    }

    /// Returns the duration of one call of `call`. Other activity on the machine only makes a sample longer, so the
    /// result is the first quartile: the second-shortest of five samples, or the shortest of three.
    template <typename Call>
    double time(const Call& call) const {
        const auto once = [&](unsigned calls) {
            const auto start = Clock::now();
            for (unsigned i = 0; i < calls; ++i) call();
            return std::chrono::duration<double>(Clock::now() - start).count() / calls;
        };
        const double first = std::max(once(1), 1e-8);
        const double second = first < 10 * options.sample_seconds ? std::max(once(1), 1e-8) : first;
        const auto calls = static_cast<unsigned>(std::clamp(options.sample_seconds / second, 1.0, 1e5));
        const unsigned samples = second > 10 * options.sample_seconds ? (options.samples + 1) / 2 : options.samples;
        std::vector<double> times;
        for (unsigned i = 0; i < samples; ++i) times.push_back(once(calls));
        std::sort(times.begin(), times.end());
        return times[times.size() / 4];
    }

    double message(const Trial& trial) {
        Engine& on = place(trial).engine;
        const Work& w = trial.work;
        Pair& pair = buffers(trial, w.bytes);
        const ExpandedKey key = key_of(w.key_bits, 1), tweak_key = key_of(w.key_bits, 2);
        const Block iv{};
        Block tag{};
        Request request{.message = stretch_of(w.mode, w.direction, key, iv, pair.first(), pair.second(), w.bytes),
                        .output_capacity = w.bytes};
        MessageGroup& m = request.message;
        if (w.mode == Mode::ecb) m.iv_length = 0;
        if (w.mode == Mode::xts) {
            m.tweak_key = &tweak_key;
            m.data_units.bytes = data_unit;
        }
        MessageResult result;
        if (w.mode == Mode::gcm) {
            m.iv_length = gcm_nonce_bytes;
            m.tag = {tag.data(), 0};
            m.tag_length = tag.size();
            if (w.direction == Direction::decrypt) {  // decryption requires authentic input
                m.direction = Direction::encrypt;
                crypt(on, request, result);
                m.direction = Direction::decrypt;
                std::swap(m.input, m.output);
            }
        }
        return time([&] { crypt(on, request, result); });
    }

    double batch(const Trial& trial) {
        BatchEngine& on = place(trial).batches;
        const Work& w = trial.work;
        Pair& pair = buffers(trial, w.bytes);
        // The first buffer contains IVs and keys, the second contains tags.
        constexpr std::size_t iv_stride = 16, key_stride = 32;
        const auto messages = static_cast<std::size_t>(w.messages);
        Pair& besides = buffers(trial, messages * (iv_stride + key_stride), true);
        std::vector<std::uint8_t> ivs_and_keys(messages * (iv_stride + key_stride), 7);
        for (std::size_t i = 0; i < messages; ++i) {
            std::memcpy(ivs_and_keys.data() + i * iv_stride, &i, sizeof i);
            std::memcpy(ivs_and_keys.data() + messages * iv_stride + i * key_stride, &i, sizeof i);
        }
        copy_anywhere(besides.first(), ivs_and_keys.data(), ivs_and_keys.size());
        const ExpandedKey key = key_of(w.key_bits, 1), tweak_key = key_of(w.key_bits, 2);

        const bool has_tag = uses_tag(w.mode);
        warpaes_batch_entry entry{};
        entry.mode = static_cast<warpaes_mode>(w.mode);
        entry.direction = static_cast<warpaes_direction>(w.direction);
        entry.count = w.messages;
        entry.length = w.bytes / w.messages;
        entry.input = {{pair.first()}, entry.length};
        if (has_output(w.mode)) entry.output = {{pair.second()}, entry.length};
        entry.iv = {{besides.first()}, iv_stride};
        entry.iv_len = !uses_iv(w.mode) ? 0 : traits_of(w.mode).kind.ivs == Ivs::unique ? 12 : 16;
        if (has_tag) entry.tag = {{besides.second()}, block_bytes};
        entry.tag_len = has_tag ? block_bytes : 0;
        if (w.keys > 1) {
            entry.keys = {{besides.first() + messages * iv_stride}, key_stride};
            entry.key_len = w.key_bits / 8;
        } else {
            entry.key = reinterpret_cast<const warpaes_key*>(&key);
        }
        if (w.mode == Mode::xts) {
            entry.tweak_key = reinterpret_cast<const warpaes_key*>(&tweak_key);
            entry.data_unit_len = data_unit;
        }
        const auto run = [&on](const warpaes_batch_entry& e) {
            BatchRequest request;
            request.entries = &e;
            request.count = 1;
            request.handles = {.alive = [](const warpaes_key*) { return true; },
                               .key = [](const warpaes_key* k) -> const ExpandedKey& {
                                   return *reinterpret_cast<const ExpandedKey*>(k);
                               }};
            std::shared_ptr<Batch> batch;
            on.submit(std::move(request), batch);
            (void)on.wait(batch, Batch::forever);
            const warpaes_status status = batch->outcomes().status();
            if (status != WARPAES_OK) throw Error(status, "a measured batch failed");
        };
        if (has_tag && w.direction == Direction::decrypt) {  // decryption requires authentic input
            warpaes_batch_entry seal = entry;
            seal.direction = WARPAES_ENCRYPT;
            run(seal);
            if (has_output(w.mode)) std::swap(entry.input, entry.output);
        }
        return time([&] { run(entry); });
    }

    StopwatchOptions options;
    std::map<std::tuple<std::string, int, unsigned, std::uint64_t>, std::unique_ptr<Place>> places;
    std::map<std::tuple<Memory, int, bool>, std::unique_ptr<Pair>> pairs;
};

}  // namespace

Measure stopwatch(const StopwatchOptions& options) {
    return [watch = std::make_shared<Stopwatch>(options)](const Trial& trial) { return (*watch)(trial); };
}

CalibrationReport calibrate_here(CudaBackend& gpu, bool quick, bool gpus,
                                 const std::function<bool(std::uint64_t, std::uint64_t)>& progress) {
    std::vector<BackendInfo> backends;
    double cold = 0;
    for (const Backend* backend : all_backends()) {
        if (backend->is_gpu() && !gpus) continue;
        for (const BackendInfo& info : backend->info()) {
            if (info.device >= 0 && info.usable() && cold == 0) cold = time_of_waking(gpu, info.device);
            backends.push_back(info);
        }
    }
    const CalibrationOptions options{
        .quick = quick, .threads = Machine::here().processors, .most_bytes = affordable_bytes(), .progress = progress};
    CalibrationReport report = calibrate(
        backends, options,
        stopwatch({.samples = quick ? 3U : 5U, .sample_seconds = quick ? 0.3e-3 : 1e-3, .threads = options.threads}));
    report.model.cold = cold;
    return report;
}

}  // namespace warpaes
