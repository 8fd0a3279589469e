#include "lab/trial.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lab/gpu/contenders.hpp"
#include "lab/production.hpp"
#include "lab/reference.hpp"

namespace lab {

namespace {

constexpr std::size_t guard = 4096;
constexpr std::uint8_t poison_byte = 0xc3;
/// Launches on a short text are timed together, so that their time is long compared with the resolution of events: at
/// most `most_launches` launches, and at most about `timed_bytes` bytes in total.
constexpr std::size_t timed_bytes = std::size_t{1} << 20, most_launches = 8;
/// The GPU fills this many bytes before the clock starts, which takes about 0.1 ms, so that the host has enqueued all
/// launches before the first begins. The fill is omitted for the short texts of tests.
constexpr std::size_t ahead_bytes = std::size_t{256} << 20, least_for_ahead = std::size_t{1} << 20;

}  // namespace

void use_gpu(const Context& context, std::size_t shared_bytes) {
    if (context.gpu < 0) throw LeftOut("needs a GPU");
    gpu::use(context.gpu);
    if (shared_bytes == 0) return;
    if (const gpu::Properties p = gpu::properties(context.gpu); p.shared_per_block < shared_bytes) {
        throw LeftOut(fmt::format("needs a GPU with {} KiB of shared memory a thread block; {} has {}",
                                  shared_bytes >> 10, p.name, p.shared_per_block >> 10));
    }
}

std::size_t allowed(const Context& context, std::size_t bytes) {
    return std::min(bytes, context.most_bytes) / 16 * 16;
}

Trial::Trial(const gpu::Cipher& cipher, std::size_t bytes)
    : cipher_(cipher),
      bytes_(bytes),
      key_(random_bytes(static_cast<std::size_t>(gpu::key_bits(cipher)) / 8, 1)),
      input_(bytes),
      wanted_(bytes),
      output_(bytes + guard),
      ahead_(bytes < least_for_ahead ? gpu::DeviceMemory() : gpu::DeviceMemory(ahead_bytes)),
      variants_(std::make_shared<gpu::Variants>(key_)) {
    if (cipher.counter) {
        counter_ = random_bytes(16, 2);
        counter_[14] = static_cast<std::uint8_t>(counter_[14] & 0xfc);
        counter_[15] = 0;
    }
    std::vector<std::uint8_t> text = random_bytes(bytes, 3);
    gpu::copy(input_.get(), text.data(), bytes);
    Reference reference(cipher.counter ? Mode::ctr : Mode::ecb,
                        cipher.inverse ? Direction::decrypt : Direction::encrypt, key_);
    reference.run(counter_, text, text);
    gpu::copy(wanted_.get(), text.data(), bytes);
}

Trial::Work Trial::variant(const gpu::Variant& variant, const gpu::Geometry& geometry) const {
    return [this, entry = gpu::Entry{variant, cipher_}, geometry](const std::uint8_t* in, std::uint8_t* out,
                                                                  std::size_t bytes) {
        variants_->run(entry, geometry, in, out, bytes, counter_, stream_);
    };
}

Trial::Work Trial::production(const Context& context) const {
    auto engine = std::make_shared<const Production>(context.gpu, key_);
    return [this, engine](const std::uint8_t* in, std::uint8_t* out, std::size_t bytes) {
        engine->enqueue(!cipher_.inverse, counter_, in, out, bytes, stream_.get());
    };
}

Trial::Work Trial::bitsliced() const {
    if (cipher_.inverse || cipher_.rounds != 10) throw std::invalid_argument("cipher: AES-128, encryption");
    return [this](const std::uint8_t* in, std::uint8_t* out, std::size_t bytes) {
        gpu::run_bitsliced(key_, counter_, in, out, bytes, stream_);
    };
}

Trial::Work Trial::cached_counter() const {
    auto cached = std::make_shared<const gpu::CachedCounter>(key_, counter_, bytes_);
    return [this, cached](const std::uint8_t* in, std::uint8_t* out, std::size_t bytes) {
        cached->run(in, out, bytes, stream_);
    };
}

Trial::Work Trial::grouped(unsigned blocks_of_group) const {
    return [this, blocks_of_group](const std::uint8_t* in, std::uint8_t* out, std::size_t bytes) {
        gpu::run_grouped(key_, blocks_of_group, in, out, bytes, stream_);
    };
}

void Trial::verify(const std::string& what, const Work& work, std::size_t bytes) const {
    gpu::fill(output_.get(), poison_byte, bytes + guard, stream_);
    work(input_.get(), output_.get(), bytes);
    const std::size_t at = gpu::first_difference(output_.get(), wanted_.get(), bytes, stream_);
    if (at != bytes) throw Mismatch(fmt::format("{}: byte {} of {} is not libcrypto's", what, at, bytes));
    std::vector<std::uint8_t> beyond(guard);
    gpu::copy(beyond.data(), output_.get() + bytes, guard);
    if (std::any_of(beyond.begin(), beyond.end(), [](std::uint8_t byte) { return byte != poison_byte; })) {
        throw Mismatch(fmt::format("{}: writes beyond its {} bytes", what, bytes));
    }
}

double Trial::seconds(const Work& work, std::size_t bytes) const {
    const std::size_t launches = std::clamp<std::size_t>(timed_bytes / bytes, 1, most_launches);
    if (ahead_.size() != 0) gpu::fill(ahead_.get(), 0, ahead_.size(), stream_);
    return gpu::seconds_of(stream_,
                           [&] {
                               for (std::size_t i = 0; i < launches; ++i) work(input_.get(), output_.get(), bytes);
                           }) /
           static_cast<double>(launches);
}

Summary Trial::speed(const Effort& effort, const std::string& what, const Work& work, std::size_t bytes) const {
    return speeds(effort, {{what, work}}, bytes, [](double, const std::string&) {}).front();
}

Trial::Told Trial::part_of(const Context& context, double from, double to) {
    return
        [&context, from, to](double share, const std::string& name) { context.step(from + share * (to - from), name); };
}

std::vector<Summary> Trial::speeds(const Effort& effort, const std::vector<Subject>& subjects, std::size_t bytes,
                                   const Told& told) const {
    // Per subject: one call to verify, one warm-up, and at most `most` samples.
    const double calls = static_cast<double>(subjects.size() * (effort.most + 2));
    double done = 0;
    std::vector<std::function<double()>> works;
    for (const Subject& subject : subjects) {
        told(done++ / calls, subject.name);
        if (subject.encrypts) verify(subject.name, subject.work, bytes);
        works.emplace_back([this, &subject, &told, &done, bytes, calls] {
            told(done++ / calls, subject.name);
            return seconds(subject.work, bytes);
        });
    }
    std::vector<Summary> speeds = sample_in_turns(effort, works);
    for (Summary& s : speeds) s = rate(static_cast<double>(bytes) / 1e9, s);
    return speeds;
}

std::vector<Summary> Trial::best_speeds(const Effort& effort, std::span<const gpu::Variant> variants,
                                        std::span<const unsigned> threads, const Told& told) const {
    std::vector<Subject> subjects;
    std::vector<std::size_t> of;  // the variant of each subject
    for (std::size_t i = 0; i < variants.size(); ++i) {
        const gpu::Variant& v = variants[i];
        const std::string name(gpu::name_of({v, cipher_}).view());
        const unsigned usual = usual_geometry(v).threads;
        const bool one = v.tables == gpu::TableMemory::replicated;
        for (const unsigned count : one ? std::span(&usual, 1) : threads) {
            subjects.push_back({fmt::format("{}, {} threads", name, count), variant(v, {count, 0})});
            of.push_back(i);
        }
    }
    const std::vector<Summary> all = speeds(effort, subjects, bytes_, told);
    std::vector<Summary> best(variants.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (all[i].median > best[of[i]].median) best[of[i]] = all[i];
    }
    return best;
}

}  // namespace lab
