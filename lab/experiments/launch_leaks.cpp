#include "lab/experiments/launch_leaks.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "lab/cpu/ttable.hpp"
#include "lab/gpu/variants.hpp"
#include "lab/production.hpp"
#include "lab/reference.hpp"
#include "lab/trial.hpp"

namespace lab::experiments {

namespace {

/// The numbers of random texts and of random keys. There are several of each, because a single random text or key could
/// be as unusual as the fixed one. `most_at_once` launches, of up to five queue entries each, fit on a stream before it
/// blocks the host.
constexpr std::size_t most_texts = 256, most_keys = 64, most_at_once = 160;
/// The bytes of a warp's blocks, one block per lane.
constexpr std::size_t warp_bytes = 512;

/// Returns the text or key, among `count` numbered random candidates, whose lookups take the most passes of shared
/// memory.
template <typename PassesOf>
std::vector<std::uint8_t> with_most_passes(std::size_t bytes, std::size_t count, const PassesOf& passes_of) {
    std::vector<std::uint8_t> best;
    std::uint64_t most = 0;
    for (std::size_t i = 0; i < count; ++i) {
        std::vector<std::uint8_t> candidate = random_bytes(bytes, 1'000'000 + i);
        const std::uint64_t passes = passes_of(candidate);
        if (passes > most) most = passes, best = std::move(candidate);
    }
    return best;
}

std::uint64_t passes_of(std::span<const std::uint8_t> key, std::span<const std::uint8_t> warp) {
    return shared_memory_passes(key, warp.first<warp_bytes>());
}

/// Returns the first bytes of a text that repeats `part`.
std::vector<std::uint8_t> repeated(std::span<const std::uint8_t> part, std::size_t bytes) {
    std::vector<std::uint8_t> text(bytes);
    for (std::size_t i = 0; i < bytes; ++i) text[i] = part[i % part.size()];
    return text;
}

/// Takes precautions against other causes of different times. Each text is copied to the kernel's input before the
/// clock starts, because memory at a different address could be faster. The number of copies of the fixed text or key
/// equals the number of random texts or keys, because recently used memory is faster than other memory. Timed work does
/// not begin before all of it is enqueued; otherwise the GPU could wait for the host, for a time that depends on the
/// previous copy.
class LaunchTest {
public:
    LaunchTest(const Context& context, const LaunchSubject& subject)
        : subject_(subject),
          bytes_(allowed(context, std::size_t{64} << 10)),
          counter_(subject.counter ? random_bytes(16, 21) : std::vector<std::uint8_t>{}) {
        using Secret = LaunchSubject::Secret;
        const bool small = bytes_ < (1 << 10);  // a test run on a simulated GPU
        const std::size_t tried = small ? 16 : launch_candidates;
        random_texts_ = subject.secret == Secret::key ? 0 : small ? 4 : most_texts;
        random_keys_ = subject.secret == Secret::key ? (small ? 4 : most_keys) : 0;

        const std::vector<std::uint8_t> warp = random_bytes(warp_bytes, 23);
        std::vector<std::uint8_t> key = random_bytes(subject.key_bytes, 22);
        if (subject.secret == Secret::key) {
            key = with_most_passes(subject.key_bytes, tried, [&](const auto& k) { return passes_of(k, warp); });
        }
        for (std::size_t i = 0; i < std::max<std::size_t>(random_keys_, 1); ++i) add_key(context, key);
        for (std::size_t i = 0; i < random_keys_; ++i) {
            add_key(context, random_bytes(subject.key_bytes, 1022 + 1000 * i));
        }

        std::vector<std::uint8_t> part = warp;
        if (subject.secret == Secret::text) {
            part = with_most_passes(warp_bytes, tried, [&](const auto& text) { return passes_of(key, text); });
        } else if (subject.secret == Secret::equal_blocks) {
            part.resize(16);
        }
        const std::vector<std::uint8_t> fixed = repeated(part, bytes_);
        for (std::size_t i = 0; i < std::max<std::size_t>(random_texts_, 1); ++i) add_text(fixed, i == 0);
        for (std::size_t i = 0; i < random_texts_; ++i) {
            const bool repeats = subject.secret == Secret::text;
            add_text(repeated(random_bytes(repeats ? warp_bytes : bytes_, 24 + i), bytes_), true);
        }
    }

    LeakTest::Outcome run(const Context& context, std::size_t count, double from, double to) {
        std::optional<LeakTest> test;
        const std::size_t batch = std::min(most_at_once, count);
        for (std::size_t done = 0, n = 0; done < count + batch; done += n) {
            context.step(from + (to - from) * static_cast<double>(done) / static_cast<double>(count + batch),
                         subject_.name);
            n = std::min(batch, count + batch - done);
            std::vector<std::uint8_t> classes = random_bytes(n, 1000 + done);
            for (auto& c : classes) c &= 1;
            const std::vector<double> seconds = times_of(classes, done);
            if (!test) {
                test.emplace(seconds);
            } else {
                for (std::size_t i = 0; i < n; ++i) test->add(classes[i], seconds[i]);
            }
        }
        return test->outcome();
    }

private:
    void add_key(const Context& context, std::vector<std::uint8_t> key) {
        if (subject_.tables) {
            tables_.push_back(std::make_unique<gpu::Variants>(key));
        } else {
            // All keys share one engine. With an engine for each key, the host would take longer for rarely used keys
            // than for frequently used keys.
            production_.push_back(production_.empty() ? std::make_unique<Production>(context.gpu, key)
                                                      : std::make_unique<Production>(*production_.front(), key));
        }
        keys_.push_back(std::move(key));
    }
    void add_text(std::span<const std::uint8_t> text, bool is_new) {
        texts_.push_back(gpu::on_device(text));
        if (!is_new) return;
        const Mode mode = subject_.counter ? Mode::ctr : Mode::ecb;
        for (std::size_t k = 0; k < keys_.size(); ++k) {
            gpu::fill(output_.get(), 0xc3, bytes_, stream_);
            gpu::copy(input_.get(), texts_.back().get(), bytes_, stream_);
            enqueue(k);
            stream_.synchronize();
            require_equal(Reference(mode, subject_.encrypt ? Direction::encrypt : Direction::decrypt, keys_[k])
                              .run(counter_, text),
                          gpu::fetch(output_), subject_.name);
        }
    }
    void enqueue(std::size_t key) const {
        if (subject_.tables) {
            tables_[key]->run({gpu::Variant{}, {}}, {256, 0}, input_.get(), output_.get(), bytes_, {}, stream_);
        } else {
            production_[key]->enqueue(subject_.encrypt, counter_, input_.get(), output_.get(), bytes_, stream_.get());
        }
    }
    /// Returns the index into a list of `count` fixed items followed by `count` random items.
    static std::size_t pick(bool random, std::size_t count, std::size_t i) {
        return count == 0 ? 0 : (random ? count : 0) + i % count;
    }
    std::vector<double> times_of(const std::vector<std::uint8_t>& classes, std::size_t first) {
        while (starts_.size() < classes.size()) starts_.emplace_back(), ends_.emplace_back();
        gpu::Gate gate(stream_);
        for (std::size_t i = 0; i < classes.size(); ++i) {
            const bool random = classes[i] != 0;
            gpu::copy(input_.get(), texts_[pick(random, random_texts_, first + i)].get(), bytes_, stream_);
            const std::size_t key = pick(random, random_keys_, first + i);
            starts_[i].record(stream_);
            enqueue(key);
            ends_[i].record(stream_);
        }
        gate.open();
        stream_.synchronize();
        std::vector<double> seconds;
        for (std::size_t i = 0; i < classes.size(); ++i) seconds.push_back(ends_[i].since(starts_[i]));
        return seconds;
    }

    LaunchSubject subject_;
    std::size_t bytes_;
    std::vector<std::uint8_t> counter_;
    std::size_t random_texts_ = 0, random_keys_ = 0;
    std::vector<std::vector<std::uint8_t>> keys_;
    std::vector<std::unique_ptr<Production>> production_;
    std::vector<std::unique_ptr<gpu::Variants>> tables_;
    gpu::Stream stream_;
    std::vector<gpu::DeviceMemory> texts_;
    gpu::DeviceMemory input_{bytes_}, output_{bytes_};
    std::vector<gpu::Event> starts_, ends_;
};

}  // namespace

const char* name_of(LaunchSubject::Secret secret) {
    return secret == LaunchSubject::Secret::key ? "key" : "text";
}

LeakTest::Outcome test_launches(const Context& context, const LaunchSubject& subject, std::size_t count, double from,
                                double to) {
    return LaunchTest(context, subject).run(context, count, from, to);
}

}  // namespace lab::experiments
