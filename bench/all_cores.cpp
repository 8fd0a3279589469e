// Measures the speed of all cores with one message in host memory, compared with memcpy on the same number of threads.
// Memory bandwidth limits both. Prints a table, and writes the measurements as JSON.
//
//     all_cores [--backend NAME] [--mib N] [--threads N] [--samples N] [--json FILE]
//
// One call encrypts or decrypts the complete message from one buffer to another. Both buffers' pages are resident. The
// subjects take turns, and the first turn is not counted. The table shows medians. The JSON file also contains the best
// samples.
#include <warpaes/warpaes.h>

#include <algorithm>
#include <barrier>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using Bytes = std::vector<std::uint8_t>;

struct Options {
    std::string backend, json;
    unsigned mib = 1024;
    unsigned threads = std::max(1u, std::thread::hardware_concurrency());
    unsigned samples = 9;
};

void expect(bool right, const std::string& what) {
    if (!right) throw std::runtime_error(what);
}

/// Threads that wait for copy(). In each call, every thread copies its share of `from` to `to`.
class Copiers {
public:
    Copiers(unsigned threads, const Bytes& from, Bytes& to) : meeting_(threads + 1) {
        try {
            for (unsigned i = 0; i < threads; ++i) {
                const std::size_t begin = from.size() * i / threads, end = from.size() * (i + 1) / threads;
                threads_.emplace_back([this, &from, &to, begin, end] {
                    for (;;) {
                        meeting_.arrive_and_wait();
                        if (done_) return;
                        std::memcpy(to.data() + begin, from.data() + begin, end - begin);
                        meeting_.arrive_and_wait();
                    }
                });
            }
        } catch (...) {
            for (std::size_t missing = threads_.size(); missing < threads; ++missing) meeting_.arrive_and_drop();
            end();
            throw;
        }
    }
    Copiers(const Copiers&) = delete;
    Copiers& operator=(const Copiers&) = delete;
    ~Copiers() { end(); }
    void copy() {
        meeting_.arrive_and_wait();
        meeting_.arrive_and_wait();
    }

private:
    void end() {
        done_ = true;
        meeting_.arrive_and_wait();
    }

    std::barrier<> meeting_;
    bool done_ = false;
    std::vector<std::jthread> threads_;
};

struct Subject {
    std::string name;
    std::function<void()> run;
    std::vector<double> seconds = {};
};

/// Messages in one mode and under one key, encrypted to `sealed` and decrypted to `opened`.
class Cipher {
public:
    Cipher(warpaes_engine* engine, warpaes_mode mode, unsigned bits, const Bytes& plain, Bytes& sealed, Bytes& opened)
        : engine_(engine) {
        const std::uint8_t key[32] = {7};
        expect(warpaes_key_create(key, bits / 8, &key_) == WARPAES_OK, "warpaes_key_create");
        seal_.mode = mode;
        seal_.direction = WARPAES_ENCRYPT;
        seal_.key = key_;
        seal_.iv = iv_;
        seal_.iv_len = mode == WARPAES_GCM ? 12 : 16;
        seal_.tag = mode == WARPAES_GCM ? tag_ : nullptr;
        seal_.tag_len = mode == WARPAES_GCM ? sizeof tag_ : 0;
        seal_.input = plain.data();
        seal_.output = sealed.data();
        seal_.input_len = seal_.output_capacity = plain.size();
        open_ = seal_;
        open_.direction = WARPAES_DECRYPT;
        open_.input = sealed.data();
        open_.output = opened.data();
    }
    Cipher(const Cipher&) = delete;
    Cipher& operator=(const Cipher&) = delete;
    ~Cipher() { warpaes_key_destroy(key_); }
    void encrypt() { run(seal_); }
    void decrypt() { run(open_); }

private:
    void run(warpaes_message& message) {
        if (warpaes_crypt(engine_, &message, nullptr) != WARPAES_OK) throw std::runtime_error(warpaes_last_error());
    }

    warpaes_engine* engine_;
    warpaes_key* key_ = nullptr;
    std::uint8_t iv_[16] = {}, tag_[16] = {};
    warpaes_message seal_ = WARPAES_MESSAGE_INIT, open_ = WARPAES_MESSAGE_INIT;
};

std::string best_cpu_backend() {
    std::string best;
    for (std::size_t i = 0; i < warpaes_backend_count(); ++i) {
        warpaes_backend_info info = WARPAES_BACKEND_INFO_INIT;
        expect(warpaes_backend_query(i, &info) == WARPAES_OK, "warpaes_backend_query");
        if (info.usable != 0 && std::strcmp(info.name, "cuda") != 0) best = info.name;
    }
    return best;
}

unsigned number(const std::string& option, const std::string& text, unsigned most) {
    unsigned value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    expect(error == std::errc() && end == text.data() + text.size() && value != 0 && value <= most,
           option + ": must be a number from 1 to " + std::to_string(most) + ", not '" + text + "'");
    return value;
}

Options parse(int argc, char** argv) {
    Options o;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string name = argv[i], value = argv[i + 1];
        if (name == "--backend") {
            o.backend = value;
        } else if (name == "--mib") {
            o.mib = number(name, value, 1 << 20);
        } else if (name == "--threads") {
            o.threads = number(name, value, 4096);
        } else if (name == "--samples") {
            o.samples = number(name, value, 1000);
        } else if (name == "--json") {
            o.json = value;
        } else {
            throw std::runtime_error(name + ": unknown option");
        }
    }
    expect(argc % 2 == 1, std::string(argv[argc - 1]) + ": requires a value");
    return o;
}

void report(const Options& o, const std::vector<Subject>& all, std::size_t bytes) {
    const auto median = [](const Subject& one) { return one.seconds[one.seconds.size() / 2]; };
    const auto rate = [&](double seconds) { return static_cast<double>(bytes) / seconds / 1e9; };
    std::printf("%u MiB from buffer to buffer, %u threads; medians of %u\n%-18s %8s %8s %10s\n", o.mib, o.threads,
                o.samples, "", "ms", "GB/s", "x memcpy");
    for (const Subject& one : all) {
        std::printf("%-18s %8.2f %8.2f %10.2f\n", one.name.c_str(), 1e3 * median(one), rate(median(one)),
                    median(all.front()) / median(one));
    }
    if (o.json.empty()) return;
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> json(std::fopen(o.json.c_str(), "w"),
                                                               [](std::FILE* f) { return std::fclose(f); });
    expect(json != nullptr, "--json: cannot write " + o.json);
    std::fprintf(json.get(), "{\"threads\": %u, \"bytes\": %zu, \"samples\": %u, \"rows\": [", o.threads, bytes,
                 o.samples);
    for (const Subject& one : all) {
        std::fprintf(json.get(),
                     "%s\n  {\"subject\": \"%s\", \"median_ms\": %.3f, \"best_ms\": %.3f, \"gb_per_s\": %.2f}",
                     &one == &all.front() ? "" : ",", one.name.c_str(), 1e3 * median(one), 1e3 * one.seconds.front(),
                     rate(median(one)));
    }
    std::fprintf(json.get(), "\n]}\n");
}

void run(const Options& o) {
    warpaes_engine_options options = WARPAES_ENGINE_OPTIONS_INIT;
    options.threads = o.threads;
    const std::string backend = o.backend.empty() ? best_cpu_backend() : o.backend;
    options.backend = backend.c_str();
    warpaes_engine* engine = nullptr;
    if (warpaes_engine_create(&options, &engine) != WARPAES_OK) throw std::runtime_error(warpaes_last_error());
    const std::unique_ptr<warpaes_engine, decltype(&warpaes_engine_destroy)> owned(engine, warpaes_engine_destroy);
    const std::size_t bytes = std::size_t{o.mib} << 20;
    Bytes plain(bytes), sealed(bytes), opened(bytes);
    for (std::size_t i = 0; i < bytes; ++i) plain[i] = static_cast<std::uint8_t>(i * 131 >> 8);

    Copiers copiers(o.threads, plain, sealed);
    std::vector<Subject> all{{"memcpy", [&] { copiers.copy(); }}};
    std::vector<std::unique_ptr<Cipher>> ciphers;
    for (const warpaes_mode mode : {WARPAES_CTR, WARPAES_GCM}) {
        for (const unsigned bits : {128u, 256u}) {
            Cipher& cipher = *ciphers.emplace_back(std::make_unique<Cipher>(engine, mode, bits, plain, sealed, opened));
            const std::string name = (mode == WARPAES_CTR ? "CTR-" : "GCM-") + std::to_string(bits);
            all.push_back({name + " encrypt", [&cipher] { cipher.encrypt(); }});
            all.push_back({name + " decrypt", [&cipher] { cipher.decrypt(); }});
        }
    }
    for (unsigned turn = 0; turn <= o.samples; ++turn) {
        for (Subject& one : all) {
            for (std::size_t i = 0; i < bytes; i += 4096) opened[i] ^= 1;  // decryption must restore the bytes
            const auto begin = std::chrono::steady_clock::now();
            one.run();
            const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
            if (turn != 0) one.seconds.push_back(seconds);
            if (one.name.ends_with("decrypt")) expect(opened == plain, one.name + ": wrong output");
        }
    }
    for (Subject& one : all) std::sort(one.seconds.begin(), one.seconds.end());
    report(o, all, bytes);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        run(parse(argc, argv));
    } catch (const std::exception& e) {
        std::fprintf(stderr, "all_cores: %s\n", e.what());
        return 1;
    }
    return 0;
}
