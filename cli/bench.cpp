// `warpaes bench`: throughput by backend, mode, key, size and where the data lies.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "command.hpp"

namespace cli {

namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

struct NamedMode {
    const char* name;
    warpaes_mode mode;
    bool encrypt_is_parallel;
    bool decrypt_is_parallel;
};

constexpr NamedMode modes[] = {
    {"ecb", WARPAES_ECB, true, true},    {"cbc", WARPAES_CBC, false, true},   {"cfb128", WARPAES_CFB128, false, true},
    {"cfb8", WARPAES_CFB8, false, true}, {"cfb1", WARPAES_CFB1, false, true}, {"ofb", WARPAES_OFB, false, false},
    {"ctr", WARPAES_CTR, true, true},    {"xts", WARPAES_XTS, true, true},
};

enum class Place { device, page_locked, pageable };

const char* name_of(Place place) {
    return place == Place::device ? "device" : place == Place::page_locked ? "page_locked" : "pageable";
}

/// One row of the table.
struct Case {
    std::string backend;
    int device;
    const NamedMode* mode;
    warpaes_direction direction;
    unsigned key_bits;
    std::size_t bytes;
    Place place;
    unsigned threads;
    std::size_t data_unit;  ///< XTS
};

struct Timing {
    double median_s = 0, best_s = 0;
    unsigned samples = 0;
};

Timing summarise(std::vector<double> times) {
    std::sort(times.begin(), times.end());
    return {times[times.size() / 2], times.front(), static_cast<unsigned>(times.size())};
}

/// Input and output buffers of a case, in its kind of memory, the input random.
class Buffers {
public:
    explicit Buffers(const Case& c)
        : engine_(create_engine(c.backend, c.device)), place_(c.place), device_(c.device), bytes_(c.bytes) {
        for (void** p : {&input_, &output_}) {
            if (place_ == Place::device) {
                check(warpaes_device_alloc(engine_.get(), device_, bytes_, p));
            } else if (place_ == Place::page_locked) {
                check(warpaes_host_alloc(engine_.get(), bytes_, p));
            } else {
                *p = std::aligned_alloc(4096, (bytes_ + 4095) / 4096 * 4096);
                if (*p == nullptr) throw std::runtime_error("out of host memory for the buffers");
            }
        }
        std::vector<std::uint64_t> random(std::min<std::size_t>(bytes_, std::size_t{1} << 24) / 8 + 1);
        std::mt19937_64 generator(std::random_device{}());
        for (std::size_t at = 0; at < bytes_; at += 8 * (random.size() - 1)) {
            for (auto& word : random) word = generator();
            const std::size_t n = std::min(8 * (random.size() - 1), bytes_ - at);
            check(warpaes_copy(engine_.get(), static_cast<char*>(input_) + at, random.data(), n));
            check(warpaes_copy(engine_.get(), static_cast<char*>(output_) + at, random.data(), n));  // pages are there
        }
    }
    Buffers(const Buffers&) = delete;
    Buffers& operator=(const Buffers&) = delete;
    ~Buffers() {
        for (void* p : {input_, output_}) {
            if (place_ == Place::device) {
                warpaes_device_free(engine_.get(), p);
            } else if (place_ == Place::page_locked) {
                warpaes_host_free(engine_.get(), p);
            } else {
                std::free(p);
            }
        }
    }
    [[nodiscard]] bool fit(const Case& c) const {
        return place_ == c.place && device_ == c.device && bytes_ == c.bytes;
    }
    [[nodiscard]] void* input() const { return input_; }
    [[nodiscard]] void* output() const { return output_; }

private:
    Engine engine_;
    Place place_;
    int device_;
    std::size_t bytes_;
    void* input_ = nullptr;
    void* output_ = nullptr;
};

/// One case made ready to be run again and again.
class Subject {
public:
    Subject(const Case& c, warpaes_engine* engine, const warpaes_key* key, const warpaes_key* tweak_key,
            const Buffers& buffers)
        : engine_(engine), asynchronous_(c.place == Place::device) {
        message_ = warpaes_message WARPAES_MESSAGE_INIT;
        message_.mode = c.mode->mode;
        message_.direction = c.direction;
        message_.key = key;
        message_.iv = iv_;
        message_.iv_len = c.mode->mode == WARPAES_ECB ? 0 : sizeof iv_;
        message_.input = buffers.input();
        message_.input_len = c.bytes;
        message_.output = buffers.output();
        message_.output_capacity = c.bytes;
        if (c.mode->mode == WARPAES_XTS) {
            message_.tweak_key = tweak_key;
            message_.data_unit_len = c.data_unit;
        }
    }

    /// Seconds per call over `calls` calls back to back. In device memory they are enqueued, and the last one waited
    /// for.
    double time(unsigned calls) {
        const auto start = Clock::now();
        for (unsigned i = 0; i < calls; ++i) {
            check(asynchronous_ ? warpaes_crypt_async(engine_, &message_, nullptr) : warpaes_crypt(engine_, &message_));
        }
        if (asynchronous_) {
            unsigned char last[16];
            check(warpaes_copy(engine_, last, static_cast<char*>(message_.output) + message_.input_len - 16, 16));
        }
        return seconds_since(start) / calls;
    }

    /// Up to `n` bytes of the output from `offset`.
    [[nodiscard]] std::vector<unsigned char> output(std::size_t offset, std::size_t n) const {
        std::vector<unsigned char> bytes(n);
        check(warpaes_copy(engine_, bytes.data(), static_cast<char*>(message_.output) + offset, n));
        return bytes;
    }
    [[nodiscard]] const warpaes_message& message() const { return message_; }

private:
    warpaes_engine* engine_;
    bool asynchronous_;
    unsigned char iv_[16] = {0xf0, 0xf1, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7,
                             0xf8, 0xf9, 0xfa, 0xfb, 0xfc, 0xfd, 0xfe, 0xff};
    warpaes_message message_{};
};

/// The first bytes of what was timed must be what libcrypto makes of the same input.
void verify(const Case& c, const Subject& subject, const Buffers& buffers) {
    std::size_t n = std::min<std::size_t>(c.bytes, 65536);
    if (c.mode->mode == WARPAES_XTS && n < c.bytes && c.data_unit <= n) n = n / c.data_unit * c.data_unit;
    const Engine reference = create_engine("libcrypto", -1, 1);
    std::vector<unsigned char> input(n), expected(n);
    check(warpaes_copy(reference.get(), input.data(), buffers.input(), n));
    warpaes_message message = subject.message();
    message.input = input.data();
    message.output = expected.data();
    message.input_len = message.output_capacity = n;
    check(warpaes_crypt(reference.get(), &message));
    if (subject.output(0, n) != expected) {
        throw std::runtime_error(fmt::format("{} {}: the output differs from libcrypto's", c.backend, c.mode->name));
    }
}

class Bench {
public:
    Bench(unsigned samples, double seconds) : samples_(samples), seconds_(seconds) {}

    /// Times the case and, for a CPU backend, libcrypto's EVP alternately with it.
    json run(const Case& c) {
        const Engine engine = create_engine(c.backend, c.device, c.threads);
        if (!buffers_ || !buffers_->fit(c)) {
            buffers_.reset();  // before the next ones are allocated
            buffers_.emplace(c);
        }
        const Buffers& buffers = *buffers_;
        unsigned char bytes[64];
        std::random_device random;
        for (auto& byte : bytes) byte = static_cast<unsigned char>(random());
        const Key key = create_key(bytes, c.key_bits / 8), tweak_key = create_key(bytes + 32, c.key_bits / 8);

        Subject subject(c, engine.get(), key.get(), tweak_key.get(), buffers);
        Engine baseline_engine;
        std::optional<Subject> baseline;
        if (c.backend != "cuda" && c.backend != "libcrypto") {
            baseline_engine = create_engine("libcrypto", -1, c.threads);
            baseline.emplace(c, baseline_engine.get(), key.get(), tweak_key.get(), buffers);
        }

        const double once = std::max(subject.time(1), 1e-7);  // warms up as well
        verify(c, subject, buffers);
        if (baseline) baseline->time(1);
        const auto calls = static_cast<unsigned>(std::clamp(seconds_ / samples_ / once, 1.0, 1e6));
        std::vector<double> times, baseline_times;
        for (unsigned i = 0; i < samples_; ++i) {
            times.push_back(subject.time(calls));
            if (baseline) baseline_times.push_back(baseline->time(calls));
        }
        const Timing timing = summarise(times);
        const auto rate = [&](double s) { return static_cast<double>(c.bytes) / s / 1e9; };
        json row{{"backend", subject.message().backend},
                 {"device", subject.message().device},
                 {"mode", c.mode->name},
                 {"direction", c.direction == WARPAES_ENCRYPT ? "encrypt" : "decrypt"},
                 {"key_bits", c.key_bits},
                 {"bytes", c.bytes},
                 {"memory", name_of(c.place)},
                 {"threads", c.threads},
                 {"samples", timing.samples},
                 {"calls_per_sample", calls},
                 {"median_s", timing.median_s},
                 {"best_s", timing.best_s},
                 {"gb_per_s", rate(timing.median_s)},
                 {"baseline_gb_per_s", nullptr},
                 {"includes", c.place == Place::device ? "calls back to back on one stream, output stored"
                              : c.backend == "cuda"    ? "copies both ways, output stored in host memory"
                                                       : "the whole call, output stored"}};
        if (c.mode->mode == WARPAES_XTS) row["data_unit"] = c.data_unit;
        if (baseline) row["baseline_gb_per_s"] = rate(summarise(baseline_times).median_s);
        return row;
    }

private:
    unsigned samples_;
    double seconds_;
    std::optional<Buffers> buffers_;  ///< kept from case to case: filling them takes longer than using them
};

std::string human_bytes(std::size_t n) {
    if (n >= (std::size_t{1} << 30) && n % (std::size_t{1} << 30) == 0) return fmt::format("{} GiB", n >> 30);
    if (n >= (std::size_t{1} << 20) && n % (std::size_t{1} << 20) == 0) return fmt::format("{} MiB", n >> 20);
    if (n >= 1024 && n % 1024 == 0) return fmt::format("{} KiB", n >> 10);
    return fmt::format("{} B", n);
}

void print_row(const json& row) {
    std::string beside;
    if (!row["baseline_gb_per_s"].is_null()) {
        const double baseline = row["baseline_gb_per_s"], ours = row["gb_per_s"];
        beside = fmt::format("{:9.2f} {:5.2f}x", baseline, ours / baseline);
    }
    fmt::print("{:<10} {:<7} {:<8} {:>4} {:>9} {:<12} {:>7} {:10.2f} {}\n", row["backend"].get<std::string>(),
               row["mode"].get<std::string>(), row["direction"].get<std::string>(), row["key_bits"].get<int>(),
               human_bytes(row["bytes"]), row["memory"].get<std::string>(),
               row["threads"] == 0 ? "GPU" : std::to_string(row["threads"].get<int>()), row["gb_per_s"].get<double>(),
               beside);
    std::fflush(stdout);
}

json host_facts() {
    std::string cpu = "unknown";
    json isa = json::array();
    std::ifstream info("/proc/cpuinfo");
    for (std::string line; std::getline(info, line);) {
        const auto colon = line.find(": ");
        if (colon == std::string::npos) continue;
        if (line.starts_with("model name")) cpu = line.substr(colon + 2);
        if (line.starts_with("flags")) {
            for (const char* flag : {"aes", "vaes", "avx2", "avx512f", "pclmulqdq", "vpclmulqdq"}) {
                if ((line + " ").find(fmt::format(" {} ", flag)) != std::string::npos) isa.push_back(flag);
            }
            break;
        }
    }
    return {{"cpu", cpu}, {"cores", sysconf(_SC_NPROCESSORS_ONLN)}, {"isa", isa}};
}

struct Found {
    std::vector<std::string> cpu_backends;
    std::vector<int> devices;
    json gpu = nullptr;
    std::string openssl;
};

Found look_around() {
    Found found;
    for (const warpaes_backend_info& info : list_backends()) {
        const std::string name = info.name;
        if (name == "libcrypto") found.openssl = info.description;
        if (info.usable == 0) continue;
        if (name != "cuda") {
            found.cpu_backends.push_back(name);
            continue;
        }
        found.devices.push_back(info.device);
        if (found.gpu.is_null()) {
            found.gpu = {{"name", info.description},
                         {"multiprocessors", info.multiprocessors},
                         {"memory_bytes", info.memory_bytes}};
        }
    }
    return found;
}

struct Options {
    std::vector<std::string> backends, mode_names, directions, places;
    std::vector<unsigned> key_bits{128, 256};
    std::vector<std::string> sizes;
    std::string data_unit = "4K";
    unsigned threads = 1;
    unsigned samples = 9;
    double seconds = 0.3;
    bool quick = false, as_json = false;
    std::string output;
};

std::size_t parse_size(const std::string& option, const std::string& text) {
    std::size_t used = 0;
    const unsigned long long n = std::stoull(text, &used);
    const std::string unit = text.substr(used);
    const int shift = unit.empty() || unit == "B"    ? 0
                      : unit == "K" || unit == "KiB" ? 10
                      : unit == "M" || unit == "MiB" ? 20
                      : unit == "G" || unit == "GiB" ? 30
                                                     : -1;
    if (shift < 0 || n == 0 || (n << shift) % 16 != 0) {
        throw CLI::ValidationError(option, "'" + text + "' must be a multiple of 16 bytes, like 64K, 1M or 1G");
    }
    return static_cast<std::size_t>(n << shift);
}

bool wanted(const std::vector<std::string>& list, const std::string& name) {
    return list.empty() || std::find(list.begin(), list.end(), name) != list.end();
}

std::vector<Case> make_cases(const Options& o, const Found& found) {
    std::vector<std::size_t> cpu_sizes{1 << 10, 16 << 10, 1 << 20, 64 << 20};
    std::vector<std::size_t> gpu_sizes{64 << 10, 1 << 20, 8 << 20, 64 << 20, 1 << 30};
    if (o.quick) {
        cpu_sizes = {1 << 20};
        gpu_sizes = {1 << 20, 1 << 30};
    }
    if (!o.sizes.empty()) {
        cpu_sizes.clear();
        for (const auto& s : o.sizes) cpu_sizes.push_back(parse_size("--size", s));
        gpu_sizes = cpu_sizes;
    }
    const std::size_t data_unit = parse_size("--data-unit", o.data_unit);
    std::vector<Case> cases;
    const auto add = [&](const std::string& backend, int device, Place place, std::size_t bytes, unsigned threads) {
        for (const NamedMode& mode : modes) {
            if (!wanted(o.mode_names, mode.name)) continue;
            for (const auto direction : {WARPAES_ENCRYPT, WARPAES_DECRYPT}) {
                const bool encrypt = direction == WARPAES_ENCRYPT;
                if (!wanted(o.directions, encrypt ? "encrypt" : "decrypt")) continue;
                const bool parallel = encrypt ? mode.encrypt_is_parallel : mode.decrypt_is_parallel;
                // Unless asked for: what cannot be cut says nothing about a GPU, and small segments are slow
                // everywhere.
                if (o.mode_names.empty() && (!parallel || mode.mode == WARPAES_CFB8 || mode.mode == WARPAES_CFB1))
                    continue;
                if (o.directions.empty() && mode.mode == WARPAES_CTR && !encrypt) continue;  // the same operation
                for (const unsigned bits : o.key_bits) {
                    if (mode.mode == WARPAES_XTS && bits == 192) continue;
                    cases.push_back({backend, device, &mode, direction, bits, bytes, place, threads, data_unit});
                }
            }
        }
    };
    for (const auto& backend : found.cpu_backends) {
        if (!wanted(o.backends, backend)) continue;
        for (const auto bytes : cpu_sizes) {
            if (wanted(o.places, "pageable")) add(backend, -1, Place::pageable, bytes, o.threads);
        }
    }
    if (!found.devices.empty() && wanted(o.backends, "cuda")) {
        for (const Place place : {Place::device, Place::page_locked, Place::pageable}) {
            if (!wanted(o.places, name_of(place))) continue;
            for (const auto bytes : gpu_sizes) add("cuda", found.devices.front(), place, bytes, 0);
        }
    }
    return cases;
}

void parse_options(CLI::App& app, Options& o) {
    app.add_option("--backend", o.backends, "only these: libcrypto, aesni, vaes, cuda")->delimiter(',');
    app.add_option("--mode", o.mode_names,
                   "only these: ecb, cbc, cfb128, cfb8, cfb1, ofb, ctr, xts (default: the parallel ones)")
        ->delimiter(',');
    app.add_option("--direction", o.directions, "only encrypt or decrypt")->delimiter(',');
    app.add_option("--key", o.key_bits, "key sizes in bits (default 128,256)")
        ->delimiter(',')
        ->check(CLI::IsMember({128, 192, 256}));
    app.add_option("--size", o.sizes, "message sizes, like 64K,1M,1G")->delimiter(',');
    app.add_option("--data-unit", o.data_unit, "data units of XTS (default 4K)");
    app.add_option("--memory", o.places, "where the data lies: device, page_locked, pageable")->delimiter(',');
    app.add_option("--threads", o.threads, "host threads of a CPU backend (default 1; 0: all)");
    app.add_option("--samples", o.samples, "samples a case; the median counts (default 9)")->check(CLI::Range(1, 1000));
    app.add_option("--seconds", o.seconds, "about how long a case is timed (default 0.3)")
        ->check(CLI::Range(0.001, 60.0));
    app.add_flag("--quick", o.quick, "few sizes");
    app.add_flag("--json", o.as_json, "print JSON instead of a table");
    app.add_option("-o,--output", o.output, "also store the JSON in this file");
    app.footer(
        "GB/s are 10^9 plaintext bytes a second, counted once; every case stores its output, which is checked against\n"
        "libcrypto. CPU rows name libcrypto's EVP, timed alternately with them, beside.\n\n"
        "Examples:\n"
        "  warpaes bench --quick\n"
        "  warpaes bench --backend vaes --mode ctr --size 1M\n"
        "  warpaes bench --backend cuda --memory device --size 1G --json -o h200.json");
}

}  // namespace

int run_bench(int argc, char** argv) {
    CLI::App app{"Throughput by backend, mode, key, size and where the data lies", "warpaes bench"};
    Options o;
    parse_options(app, o);
    try {
        app.parse(argc, argv);
        const Found found = look_around();
        for (const auto& name : o.backends) {
            const auto& cpu = found.cpu_backends;
            const bool here =
                name == "cuda" ? !found.devices.empty() : std::find(cpu.begin(), cpu.end(), name) != cpu.end();
            if (!here) {
                throw Failure(WARPAES_ERROR_BACKEND,
                              "--backend: '" + name + "' cannot run here; see `warpaes devices`");
            }
        }
        const auto cases = make_cases(o, found);
        json record{
            {"warpaes", warpaes_version()}, {"host", host_facts()}, {"gpu", found.gpu}, {"bench", json::array()}};
        record["host"]["openssl"] = found.openssl;
        if (!o.as_json) {
            fmt::print("{:<10} {:<7} {:<8} {:>4} {:>9} {:<12} {:>7} {:>10} {:>9}\n", "backend", "mode", "", "key",
                       "size", "memory", "threads", "GB/s", "libcrypto");
        }
        Bench bench(o.samples, o.seconds);
        for (std::size_t i = 0; i < cases.size(); ++i) {
            if (o.as_json && isatty(STDERR_FILENO) != 0) fmt::print(stderr, "\r{} of {} ", i + 1, cases.size());
            record["bench"].push_back(bench.run(cases[i]));
            if (!o.as_json) print_row(record["bench"].back());
        }
        if (o.as_json) fmt::print("{}\n", record.dump(1));
        if (!o.output.empty()) {
            std::ofstream file(o.output);
            file << record.dump(1) << '\n';
            if (!file.flush()) throw Failure(WARPAES_ERROR_WRITE, "--output: cannot write '" + o.output + "'");
        }
        return WARPAES_OK;
    } catch (const CLI::ParseError& e) {
        return app.exit(e) == 0 ? WARPAES_OK : WARPAES_ERROR_ARGUMENT;
    }
}

}  // namespace cli
