#include "lab/surfaces.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <warpaes/warpaes.hpp>

#include "lab/cpu/ttable.hpp"
#include "lab/files.hpp"
#include "lab/reference.hpp"

namespace lab {

namespace {

class PlainCipher final : public BufferCipher {
public:
    PlainCipher(std::span<const std::uint8_t> key, Direction direction, std::size_t bytes)
        : cipher_(key, direction), buffer_(bytes) {}
    std::span<std::uint8_t> buffer() override { return buffer_; }
    void run(std::size_t bytes) override { cipher_.run(buffer_.data(), buffer_.data(), bytes / 16); }

private:
    TTableCipher cipher_;
    std::vector<std::uint8_t> buffer_;
};

class AesNiCipher final : public BufferCipher {
public:
    AesNiCipher(std::span<const std::uint8_t> key, Direction direction, std::size_t bytes)
        : engine_({.backend = "aesni", .threads = 1}), key_(key), buffer_(bytes) {
        message_.mode = warpaes::Mode::ecb;
        message_.direction =
            direction == Direction::encrypt ? warpaes::Direction::encrypt : warpaes::Direction::decrypt;
        message_.key = &key_;
    }
    std::span<std::uint8_t> buffer() override { return buffer_; }
    void run(std::size_t bytes) override {
        message_.input = {buffer_.data(), bytes};
        message_.output = {buffer_.data(), bytes};
        engine_.crypt(message_);
    }

private:
    warpaes::Engine engine_;
    warpaes::Key key_;
    std::vector<std::uint8_t> buffer_;
    warpaes::Message message_;
};

/// The longest input file, its text, and its expected output. Every shorter file is a prefix of this file, and the
/// shorter file's output is a prefix of `expected`.
struct Texts {
    File input, output;
    std::vector<std::uint8_t> plain, expected, key;
};

void pass_through(BufferCipher& cipher, const Texts& texts, std::uint64_t file_bytes) {
    const std::span<std::uint8_t> buffer = cipher.buffer();
    for (std::uint64_t offset = 0; offset < file_bytes; offset += buffer.size()) {
        const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), file_bytes - offset));
        texts.input.read(offset, buffer.first(bytes));
        cipher.run(bytes);
        texts.output.write(offset, buffer.first(bytes));
    }
}

/// Compares the output file with libcrypto's output.
void verify(const Texts& texts, std::uint64_t file_bytes, const std::string& what) {
    std::vector<std::uint8_t> output(file_bytes);
    texts.output.read(0, output);
    require_equal(std::span(texts.expected).first(file_bytes), output, what);
}

void poison_output(const Texts& texts, std::uint64_t file_bytes) {
    const std::vector<std::uint8_t> bytes(file_bytes, 0xa5);
    texts.output.write(0, bytes);
}

std::vector<std::uint64_t> lengths(std::uint64_t first, std::uint64_t factor, std::uint64_t last, std::uint64_t most) {
    std::vector<std::uint64_t> list;
    for (std::uint64_t bytes = first; bytes <= last && bytes <= most; bytes *= factor) list.push_back(bytes);
    if (list.empty()) throw std::invalid_argument("most_bytes: below the shortest file");
    return list;
}

std::vector<Implementation> here(const Context& context, std::vector<std::string>& notes) {
    std::vector<Implementation> list{in_plain_cpp};
    const auto backends = warpaes::backends();
    const auto aesni =
        std::find_if(backends.begin(), backends.end(), [](const auto& info) { return info.name == "aesni"; });
    if (aesni != backends.end() && aesni->usable) {
        list.push_back(with_aes_ni);
    } else {
        notes.push_back(fmt::format("{} is left out: {}", with_aes_ni.name,
                                    aesni != backends.end() ? aesni->reason : "there is no such backend"));
    }
    if (context.gpu >= 0) {
        list.push_back(on_cuda);
    } else {
        notes.push_back(fmt::format("{} is left out: it needs a GPU", on_cuda.name));
    }
    return list;
}

}  // namespace

Surfaces measure_surfaces(const Context& context, double most_done) {
    const std::filesystem::path& folder = context.memory.empty() ? context.disk : context.memory;
    if (folder.empty()) throw LeftOut("it needs a folder for files, and there is none");
    Surfaces surfaces;
    surfaces.place = context.memory.empty() ? "a disk, in the page cache" : "a tmpfs";
    const std::vector<Implementation> implementations = here(context, surfaces.notes);
    for (const Implementation& i : implementations) surfaces.implementations.emplace_back(i.name);
    if (context.quick) {
        surfaces.files = lengths(1 << 10, 4, 4 << 20, context.most_bytes);
        surfaces.buffers = lengths(1 << 10, 16, 4 << 20, context.most_bytes);
    } else {
        surfaces.files = lengths(1 << 10, 4, 64 << 20, context.most_bytes);
        surfaces.buffers = lengths(1 << 10, 8, 32 << 20, context.most_bytes);
    }
    const std::uint64_t longest = surfaces.files.back();
    // There are hundreds of points, and most of them take little time.
    const Effort effort = context.quick ? Effort{3, 5, 0.002} : Effort{3, 15, 0.01};

    const double points = static_cast<double>(6 * surfaces.buffers.size() * surfaces.files.size());
    double point = 0;
    for (const unsigned key_bits : {128u, 192u, 256u}) {
        for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
            Texts texts{File::read_write(folder / "input"), File::read_write(folder / "output"), {}, {}, {}};
            texts.key = random_bytes(key_bits / 8, key_bits);
            texts.plain = random_bytes(longest, 1);
            texts.expected = Reference(Mode::ecb, direction, texts.key).run({}, texts.plain);
            texts.input.write(0, texts.plain);
            texts.output.resize(longest);
            const std::size_t first = surfaces.list.size();
            for (const Implementation& i : implementations) surfaces.list.push_back({i.name, key_bits, direction, {}});
            for (const std::uint64_t buffer_bytes : surfaces.buffers) {
                std::vector<std::unique_ptr<BufferCipher>> ciphers;
                for (const Implementation& i : implementations) {
                    ciphers.push_back(i.make(context, texts.key, direction, buffer_bytes));
                }
                for (const std::uint64_t file_bytes : surfaces.files) {
                    context.step(most_done * point++ / points, name_of(key_bits, direction));
                    std::vector<std::function<double()>> works;
                    for (std::size_t i = 0; i < ciphers.size(); ++i) {
                        poison_output(texts, file_bytes);
                        pass_through(*ciphers[i], texts, file_bytes);
                        verify(texts, file_bytes,
                               fmt::format("{}, {}", implementations[i].name, name_of(key_bits, direction)));
                        works.emplace_back([&texts, file_bytes, &cipher = *ciphers[i]] {
                            return time_of([&] { pass_through(cipher, texts, file_bytes); });
                        });
                    }
                    const std::vector<Summary> seconds = sample_in_turns(effort, works);
                    for (std::size_t i = 0; i < seconds.size(); ++i) {
                        surfaces.list[first + i].seconds.push_back(seconds[i]);
                    }
                }
            }
        }
    }
    std::filesystem::remove(folder / "input");
    std::filesystem::remove(folder / "output");
    return surfaces;
}

const Implementation in_plain_cpp{"C++ with T-tables",
                                  [](const Context&, std::span<const std::uint8_t> key, Direction direction,
                                     std::size_t bytes) -> std::unique_ptr<BufferCipher> {
                                      return std::make_unique<PlainCipher>(key, direction, bytes);
                                  }};

const Implementation with_aes_ni{"AES-NI",
                                 [](const Context&, std::span<const std::uint8_t> key, Direction direction,
                                    std::size_t bytes) -> std::unique_ptr<BufferCipher> {
                                     return std::make_unique<AesNiCipher>(key, direction, bytes);
                                 }};

const Surface& Surfaces::of(const std::string& implementation, unsigned key_bits, Direction direction) const {
    for (const Surface& s : list) {
        if (s.implementation == implementation && s.key_bits == key_bits && s.direction == direction) return s;
    }
    throw std::out_of_range(implementation);
}

bool Surfaces::has(const std::string& implementation) const {
    return std::find(implementations.begin(), implementations.end(), implementation) != implementations.end();
}

Surfaces surfaces_of(const Result& result) {
    Surfaces surfaces;
    surfaces.notes = result.notes;
    for (const unsigned key_bits : {128u, 192u, 256u}) {
        for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
            const auto panel = std::find_if(result.panels.begin(), result.panels.end(),
                                            [&](const Panel& p) { return p.title == name_of(key_bits, direction); });
            if (panel == result.panels.end()) throw std::invalid_argument("result: not of D.surfaces");
            surfaces.files.assign(panel->x.values.begin(), panel->x.values.end());
            surfaces.buffers.assign(panel->y.values.begin(), panel->y.values.end());
            surfaces.implementations.clear();
            for (const Series& series : panel->series) {
                surfaces.implementations.push_back(series.name);
                Surface surface{series.name, key_bits, direction, {}};
                for (std::size_t i = 0; i < series.values.size(); ++i) {
                    const double speed = series.values[i].value();
                    const auto spread =
                        i < series.spread.size() && series.spread[i] ? *series.spread[i] : Series::Spread{speed, speed};
                    const double gigabytes = panel->x.values[i % panel->x.size()] / 1e9;
                    surface.seconds.push_back(rate(gigabytes, {speed, spread.low, spread.high, 0}));
                }
                surfaces.list.push_back(std::move(surface));
            }
        }
    }
    return surfaces;
}

std::string name_of(unsigned key_bits, Direction direction) {
    return fmt::format("AES-{} {}", key_bits, direction == Direction::encrypt ? "encryption" : "decryption");
}

}  // namespace lab
