// `warpaes bench`: throughput by backend, mode, key, size and location of the data.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench_batch.hpp"
#include "bench_subject.hpp"
#include "record.hpp"

namespace cli {

namespace {

using nlohmann::json;

constexpr NamedMode bench_modes[] = {
    {"ecb", WARPAES_ECB, true, true},        {"cbc", WARPAES_CBC, false, true},
    {"cfb128", WARPAES_CFB128, false, true}, {"cfb8", WARPAES_CFB8, false, true},
    {"cfb1", WARPAES_CFB1, false, true},     {"ofb", WARPAES_OFB, false, false},
    {"ctr", WARPAES_CTR, true, true},        {"xts", WARPAES_XTS, true, true},
    {"gcm", WARPAES_GCM, true, true},        {"gmac", WARPAES_GCM, true, true, true},
};

struct Timing {
    double median_s = 0, best_s = 0;
    unsigned samples = 0;
};

Timing summarise(std::vector<double> times) {
    std::sort(times.begin(), times.end());
    return {times[times.size() / 2], times.front(), static_cast<unsigned>(times.size())};
}

class Bench {
public:
    Bench(unsigned samples, double seconds) : samples_(samples), seconds_(seconds) {}

    /// Times the case. For a CPU backend other than libcrypto, alternates with timings of libcrypto's EVP.
    json run(const Case& c) {
        const Engine engine = create_engine(c.backend, c.device, c.threads);
        if (!buffers_ || !buffers_->fit(c)) {
            buffers_.reset();  // frees the old buffers before allocating the new buffers
            buffers_.emplace(c);
        }
        const Buffers& buffers = *buffers_;
        Secrets secrets(c);

        Subject subject(c, engine.get(), secrets, buffers);
        subject.seal_input();
        Engine baseline_engine;
        std::optional<Subject> baseline;
        if (!is_gpu(c.backend) && c.backend != "libcrypto") {
            baseline_engine = create_engine("libcrypto", -1, c.threads);
            baseline.emplace(c, baseline_engine.get(), secrets, buffers);
        }

        const double once = std::max(subject.time(1), 1e-7);  // also warms up
        subject.verify();
        if (baseline) baseline->time(1);
        const auto calls = static_cast<unsigned>(std::clamp(seconds_ / samples_ / once, 1.0, 1e6));
        std::vector<double> times, baseline_times;
        for (unsigned i = 0; i < samples_; ++i) {
            times.push_back(subject.time(calls));
            if (baseline) baseline_times.push_back(baseline->time(calls));
        }
        const Timing timing = summarise(times);
        const auto rate = [&](double s) { return static_cast<double>(c.bytes) / s / 1e9; };
        json row{{"backend", subject.backend()},
                 {"device", subject.device()},
                 {"mode", c.mode->name},
                 {"direction", c.direction == WARPAES_ENCRYPT ? "encrypt" : "decrypt"},
                 {"key_bits", c.key_bits},
                 {"bytes", c.bytes},
                 {"memory", memory_name(c.memory)},
                 {"threads", c.threads},
                 {"samples", timing.samples},
                 {"calls_per_sample", calls},
                 {"median_s", timing.median_s},
                 {"best_s", timing.best_s},
                 {"gb_per_s", rate(timing.median_s)},
                 {"baseline_gb_per_s", nullptr},
                 {"includes", subject.includes()}};
        if (c.segment != 0) row["segment"] = c.segment;
        if (c.mode->mode == WARPAES_XTS) row["data_unit"] = c.data_unit;
        if (baseline) row["baseline_gb_per_s"] = rate(summarise(baseline_times).median_s);
        return row;
    }

private:
    unsigned samples_;
    double seconds_;
    std::optional<Buffers> buffers_;  ///< reused by later cases, because filling them takes longer than measuring
};

std::string size_name(std::size_t n) {
    if (n >= (std::size_t{1} << 30) && n % (std::size_t{1} << 30) == 0) return fmt::format("{} GiB", n >> 30);
    if (n >= (std::size_t{1} << 20) && n % (std::size_t{1} << 20) == 0) return fmt::format("{} MiB", n >> 20);
    if (n >= 1024 && n % 1024 == 0) return fmt::format("{} KiB", n >> 10);
    return fmt::format("{} B", n);
}

/// Returns the mode with its segment size, for example "gcm/16K" for segments of 16 KiB.
std::string mode_of_row(const json& row) {
    const std::string mode = row["mode"];
    if (!row.contains("segment")) return mode;
    const std::size_t n = row["segment"];
    if (n % (1 << 20) == 0) return fmt::format("{}/{}M", mode, n >> 20);
    return n % 1024 == 0 ? fmt::format("{}/{}K", mode, n >> 10) : fmt::format("{}/{}", mode, n);
}

void print_figure(const json& row) {
    std::string beside;
    if (!row["baseline_gb_per_s"].is_null()) {
        const double baseline = row["baseline_gb_per_s"], ours = row["gb_per_s"];
        beside = fmt::format("{:9.2f} {:5.2f}x", baseline, ours / baseline);
    }
    fmt::print("{:<10} {:<7} {:<8} {:>4} {:>9} {:<12} {:>7} {:10.2f} {}\n", row["backend"].get<std::string>(),
               mode_of_row(row), row["direction"].get<std::string>(), row["key_bits"].get<int>(),
               size_name(row["bytes"]), row["memory"].get<std::string>(),
               row["threads"] == 0 ? "GPU" : std::to_string(row["threads"].get<int>()), row["gb_per_s"].get<double>(),
               beside);
    show_row();
}

json host_facts() {
    std::string cpu = "unknown";
    json isa = json::array();
    std::ifstream info("/proc/cpuinfo");
    for (std::string line; std::getline(info, line);) {
        const auto colon = line.find(": ");
        if (colon == std::string::npos) continue;
        if (line.starts_with("model name")) cpu = line.substr(colon + 2);
        if (line.starts_with("CPU implementer")) cpu = "implementer " + line.substr(colon + 2);  // Arm reports numbers
        if (line.starts_with("CPU part")) cpu += ", part " + line.substr(colon + 2);
        if (line.starts_with("flags") || line.starts_with("Features")) {
            for (const char* flag : {"aes", "vaes", "avx2", "avx512f", "pclmulqdq", "vpclmulqdq", "pmull"}) {
                if ((line + " ").find(fmt::format(" {} ", flag)) != std::string::npos) isa.push_back(flag);
            }
        }
        if (line.starts_with("flags") || line.starts_with("CPU part")) break;
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
        if (!is_gpu(name)) {
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

constexpr int all_devices = -1, first_device = -2;

struct BenchOptions {
    std::vector<std::string> backends, mode_names, directions, places;
    std::vector<unsigned> key_bits{128, 256};
    std::vector<std::string> sizes;
    std::vector<std::string> segments;
    std::string data_unit = "4K";
    std::vector<std::size_t> messages;
    std::vector<std::string> keys;
    std::vector<std::size_t> aad;
    bool own_entries = false;
    unsigned in_flight = 0;
    int device = first_device;
    unsigned threads = 1;
    unsigned samples = 9;
    double seconds = 0.3;
    bool quick = false, as_json = false, force = false;
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
        throw CLI::ValidationError(option,
                                   "'" + text + "' is not a positive multiple of 16 bytes, such as 64K, 1M or 1G");
    }
    return static_cast<std::size_t>(n << shift);
}

bool wanted(const std::vector<std::string>& list, const std::string& name) {
    return list.empty() || std::find(list.begin(), list.end(), name) != list.end();
}

std::vector<Case> make_cases(const BenchOptions& o, const Found& found) {
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
    // Without --segment, only long messages are cut into segments.
    const std::size_t least_cut = o.segments.empty() ? std::size_t{64} << 20 : 0;
    std::vector<std::size_t> segments{1 << 20, 16 << 10};
    if (!o.segments.empty()) segments.clear();
    for (const auto& s : o.segments) segments.push_back(parse_size("--segment", s));
    std::vector<Case> cases;
    const auto add = [&](const std::string& backend, int device, warpaes_memory memory, std::size_t bytes,
                         unsigned threads) {
        for (const NamedMode& mode : bench_modes) {
            if (!wanted(o.mode_names, mode.name)) continue;
            for (const auto direction : {WARPAES_ENCRYPT, WARPAES_DECRYPT}) {
                const bool encrypt = direction == WARPAES_ENCRYPT;
                if (!wanted(o.directions, encrypt ? "encrypt" : "decrypt")) continue;
                const bool parallel = encrypt ? mode.encrypt_is_parallel : mode.decrypt_is_parallel;
                // The default omits serial modes, which reveal little about a GPU, and CFB8 and CFB1, which are slow
                // everywhere.
                if (o.mode_names.empty() && (!parallel || mode.mode == WARPAES_CFB8 || mode.mode == WARPAES_CFB1))
                    continue;
                if (o.directions.empty() && mode.mode == WARPAES_CTR && !encrypt)
                    continue;  // the same operation as encryption
                if (mode.hash_only && !encrypt) continue;
                for (const unsigned bits : o.key_bits) {
                    if (mode.mode == WARPAES_XTS && bits == 192) continue;
                    cases.push_back({backend, device, &mode, direction, bits, bytes, memory, threads, data_unit, 0});
                    if (mode.mode != WARPAES_GCM || mode.hash_only || bytes < least_cut) continue;
                    for (const std::size_t segment : segments) {
                        if (segment >= bytes) continue;
                        cases.push_back(cases.back());
                        cases.back().segment = segment;
                    }
                }
            }
        }
    };
    for (const auto& backend : found.cpu_backends) {
        if (!wanted(o.backends, backend)) continue;
        for (const auto bytes : cpu_sizes) {
            if (wanted(o.places, "pageable")) add(backend, -1, WARPAES_MEMORY_PAGEABLE, bytes, o.threads);
        }
    }
    if (!found.devices.empty() && wanted(o.backends, gpu_backend())) {
        for (const warpaes_memory memory :
             {WARPAES_MEMORY_DEVICE, WARPAES_MEMORY_PAGE_LOCKED, WARPAES_MEMORY_PAGEABLE}) {
            if (!wanted(o.places, memory_name(memory))) continue;
            if (memory == WARPAES_MEMORY_DEVICE && o.device == all_devices) continue;
            const int device = o.device == first_device ? found.devices.front() : o.device;
            for (const auto bytes : gpu_sizes) add(gpu_backend(), device, memory, bytes, 0);
        }
    }
    return cases;
}

/// Parses the size of a message in a batch. It need not be a multiple of 16 bytes.
std::size_t parse_any_size(const std::string& text) {
    const bool plain = text.find_first_not_of("0123456789") == std::string::npos;
    return plain && !text.empty() ? std::stoull(text) : parse_size("--size", text);
}

/// Returns the cases of --messages: every combination of the given options.
std::vector<BatchCase> make_batch_cases(const BenchOptions& o, const Found& found) {
    std::vector<BatchCase> cases(1);
    const auto combine = [&](const auto& values, const auto& set) {
        std::vector<BatchCase> all;
        for (const BatchCase& c : cases) {
            for (const auto& value : values) set(all.emplace_back(c), value);
        }
        cases = std::move(all);
    };
    const auto or_else = [](auto given, decltype(given) usual) { return given.empty() ? usual : given; };
    std::vector<std::string> backends = found.cpu_backends, places{"arena"};
    if (!found.devices.empty()) {
        backends.emplace_back(gpu_backend());
        places.insert(places.begin(), "device");
    }
    combine(or_else(o.backends, backends), [](BatchCase& c, const std::string& name) { c.backend = name; });
    combine(or_else(o.places, places), [](BatchCase& c, const std::string& name) {
        c.memory = name == "device"     ? BatchMemory::device
                   : name == "pageable" ? BatchMemory::pageable
                                        : BatchMemory::arena;
    });
    combine(or_else(o.mode_names, {"ctr", "cbc", "gcm"}), [](BatchCase& c, const std::string& name) {
        c.mode = find_batch_mode(name);
        if (c.mode == nullptr) throw CLI::ValidationError("--mode", "'" + name + "' is not a mode for batches");
    });
    combine(or_else(o.directions, {"encrypt"}), [](BatchCase& c, const std::string& name) {
        c.direction = name == "decrypt" ? WARPAES_DECRYPT : WARPAES_ENCRYPT;
    });
    combine(or_else(o.sizes, {"1500", "16K"}), [](BatchCase& c, const std::string& s) { c.bytes = parse_any_size(s); });
    combine(o.messages, [](BatchCase& c, std::size_t n) { c.messages = n; });
    combine(o.key_bits, [](BatchCase& c, unsigned bits) { c.key_bits = bits; });
    combine(or_else(o.keys, {"one"}), [](BatchCase& c, const std::string& keys) { c.own_keys = keys == "each"; });
    combine(or_else(o.aad, {0}), [](BatchCase& c, std::size_t bytes) { c.aad_bytes = bytes; });
    for (BatchCase& c : cases) {
        const bool gpu = is_gpu(c.backend) || c.backend == "auto", device = c.memory == BatchMemory::device;
        c.own_entries = o.own_entries;
        c.device = std::max(o.device, 0);
        c.threads = gpu ? 0 : o.threads;
        c.in_flight = o.in_flight != 0 ? o.in_flight : device ? 4 : 1;
        if (c.mode->tag_bytes == 0 || c.mode->iv_bytes == 0) c.aad_bytes = 0;
        if (device && (!gpu || o.device == all_devices)) c.messages = 0;
        if (c.mode->mode == WARPAES_XTS && (c.own_keys || c.key_bits == 192)) c.messages = 0;
    }
    std::erase_if(cases, [](const BatchCase& c) { return c.messages == 0; });
    return cases;
}

constexpr const char* bench_help = R"(Usage: warpaes bench [options]

Measures the throughput of backends, modes, keys and sizes, for data in device
memory, page-locked memory and pageable memory. Options with LIST accept several
values, separated by commas, and can be repeated.

  --backend LIST     names from `warpaes devices`; default: all
  --mode LIST        ecb, cbc, cfb128, cfb8, cfb1, ofb, ctr, xts, gcm, gmac;
                     default: the parallel modes
  --direction LIST   encrypt, decrypt
  --key-bits LIST    128, 192, 256; default: 128,256
  --size LIST        message sizes, such as 64K,1M,1G
  --segment LIST     also measure GCM in segments of these sizes; default:
                     1M,16K for messages of 64M or more
  --data-unit N      size of XTS data units; default: 4K
  --from LIST        memory that holds the data: device, page-locked (with
                     --messages: arena), pageable
  --messages LIST    measure batches of this many messages, each of --size
                     bytes
  --keys LIST        with --messages: one (the same key for all messages) or
                     each (a separate key for each message)
  --aad LIST         with --messages: bytes of associated data for GCM and CCM;
                     default: 0
  --entry-each       with --messages: use one batch entry for each message,
                     instead of one entry for all messages
  --in-flight N      with --messages: batches in flight; default: 1, or 4 for
                     device memory
  --device N         the GPU; -1: all GPUs, for data in host memory. Default:
                     the first GPU
  --threads N        host threads of a CPU backend; 0: all. Default: 1
  --samples N        samples for each case; default: 9. The table shows the
                     median
  --seconds S        approximate time for each case; default: 0.3
  --quick            measure fewer sizes
  --json             print JSON instead of a table
  -o, --output FILE  also store the JSON in FILE
  -f, --force        overwrite FILE

1 GB/s is 10^9 bytes of plaintext per second. Every case writes its output,
except GMAC, which hashes associated data. The results are compared with
libcrypto's: every tag, and either the whole output (of batches and segments) or
its first 64 KiB. CPU rows also show the throughput of libcrypto's EVP, measured
alternately.

Examples
  warpaes bench --quick
  warpaes bench --backend vaes --mode ctr --size 1M
  warpaes bench --backend cuda --from device --size 1G --json -o h200.json
  warpaes bench --messages 1000000 --size 1500 --mode gcm --aad 13 --keys each
)";

void parse_bench_options(CLI::App& app, BenchOptions& o) {
    app.add_option("--backend", o.backends)->delimiter(',');
    app.add_option("--mode", o.mode_names)->delimiter(',');
    app.add_option("--direction", o.directions)->delimiter(',');
    app.add_option("--key-bits,--key", o.key_bits)->delimiter(',')->check(CLI::IsMember({128, 192, 256}));
    app.add_option("--size", o.sizes)->delimiter(',');
    app.add_option("--segment", o.segments)->delimiter(',');
    app.add_option("--data-unit", o.data_unit);
    app.add_option("--from,--memory", o.places)->delimiter(',');
    app.add_option("--messages", o.messages)->delimiter(',')->check(CLI::Range(std::size_t{1}, std::size_t{1} << 32));
    app.add_option("--keys", o.keys)->delimiter(',')->check(CLI::IsMember({"one", "each"}));
    app.add_option("--aad", o.aad)->delimiter(',');
    app.add_flag("--entry-each", o.own_entries);
    app.add_option("--in-flight", o.in_flight);
    app.add_option("--device", o.device)->check(CLI::Range(-1, 1 << 20));
    app.add_option("--threads", o.threads);
    app.add_option("--samples", o.samples)->check(CLI::Range(1, 1000));
    app.add_option("--seconds", o.seconds)->check(CLI::Range(0.001, 60.0));
    app.add_flag("--quick", o.quick);
    app.add_flag("--json", o.as_json);
    app.add_option("-o,--output", o.output);
    app.add_flag("-f,--force", o.force);
}

}  // namespace

int run_bench(int argc, char** argv) {
    CLI::App app{"", "warpaes bench"};
    BenchOptions o;
    parse_bench_options(app, o);
    if (!parse_options(app, argc, argv, bench_help)) return 0;
    std::replace(o.places.begin(), o.places.end(), std::string("page-locked"), std::string("page_locked"));
    const RecordFile file(o.output, o.force);
    const Found found = look_around();
    for (const auto& name : o.backends) {
        if (name == "auto" && !o.messages.empty()) continue;
        const auto& cpu = found.cpu_backends;
        const bool here = is_gpu(name) ? !found.devices.empty() : std::find(cpu.begin(), cpu.end(), name) != cpu.end();
        if (!here) {
            throw Failure(WARPAES_ERROR_BACKEND,
                          "--backend: '" + name + "' cannot run on this machine; see `warpaes devices`");
        }
    }
    json record{{"warpaes", warpaes_version()}, {"host", host_facts()}, {"gpu", found.gpu}, {"bench", json::array()}};
    record["host"]["openssl"] = found.openssl;
    const auto batch_cases = make_batch_cases(o, found);
    const auto cases = o.messages.empty() ? make_cases(o, found) : std::vector<Case>();
    if (!o.messages.empty()) {
        record["batches"] = json::array();
        if (!o.as_json) print_batch_row(nullptr);
        for (const BatchCase& c : batch_cases) {
            record["batches"].push_back(bench_batch(c, o.samples, o.seconds));
            if (!o.as_json) print_batch_row(&record["batches"].back());
        }
    } else if (!o.as_json) {
        fmt::print("{:<10} {:<7} {:<8} {:>4} {:>9} {:<12} {:>7} {:>10} {:>9}\n", "backend", "mode", "", "key", "size",
                   "memory", "threads", "GB/s", "libcrypto");
    }
    Bench bench(o.samples, o.seconds);
    for (std::size_t i = 0; i < cases.size(); ++i) {
        if (o.as_json && isatty(STDERR_FILENO) != 0) say(fmt::format("\r{} of {} ", i + 1, cases.size()));
        record["bench"].push_back(bench.run(cases[i]));
        if (!o.as_json) print_figure(record["bench"].back());
    }
    if (o.as_json) print_json(record, 1);
    file.store(record);
    return WARPAES_OK;
}

}  // namespace cli
