// Measures the throughput of every path through the library: modes, sizes, numbers of keys, kinds of memory and kinds
// of call, with authentic and with forged messages. One batch or call runs at a time and is timed from the call to the
// end of the wait. A figure is the median of several runs. Every output byte, tag and status is compared with the CPU's
// result. Prints one JSON object.
//
//     path_sweep [--mode LIST] [--size LIST] [--keys LIST] [--place LIST] [--way LIST] [--direction LIST]
//                [--key-bits LIST] [--forged LIST] [--mib N] [--aad BYTES] [--most N] [--seconds EACH]
//
// A batch contains `--mib` MiB (256) of messages of the same size, but at most `--most` messages (1,000,000). "single"
// and "async" process one message. `--keys` contains numbers of keys. N means that each key has one entry with adjacent
// messages. "Nm" means that every message has its own entry and that the keys alternate. "each" means raw key bytes for
// every message.
#include <warpaes/warpaes.h>
#ifdef WARPAES_WITH_CUDA
#include <cuda_runtime.h>
#endif

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "handles.hpp"

namespace {

using namespace bench;
using Strings = std::vector<std::string>;

struct Mode {
    const char* name;
    warpaes_mode mode;
    std::uint32_t iv_bytes, tag_bytes;
};
constexpr Mode modes[] = {{"ecb", WARPAES_ECB, 0, 0},  {"cbc", WARPAES_CBC, 16, 0},       {"ctr", WARPAES_CTR, 16, 0},
                          {"xts", WARPAES_XTS, 16, 0}, {"cfb128", WARPAES_CFB128, 16, 0}, {"gcm", WARPAES_GCM, 12, 16},
                          {"ccm", WARPAES_CCM, 12, 16}};

struct Case {
    Mode mode;
    warpaes_direction direction;
    unsigned key_bits;
    std::uint64_t bytes, messages;
    std::string keys, place, way;
    bool forged;
    std::uint64_t aad_bytes;

    [[nodiscard]] bool own_keys() const { return keys == "each"; }
    [[nodiscard]] bool in_turn() const { return keys.back() == 'm'; }
    [[nodiscard]] std::uint64_t key_count() const {
        return own_keys() ? messages : std::min<std::uint64_t>(std::stoull(keys), messages);
    }
    [[nodiscard]] bool is_batch() const { return way != "single" && way != "async"; }
    [[nodiscard]] bool on_device() const { return place == "device"; }
};

/// Offsets of all parts within one buffer.
struct Layout {
    explicit Layout(const Case& c) {
        const auto place = [&](std::uint64_t bytes) {
            const std::uint64_t stride = (bytes + 15) / 16 * 16, at = all;
            all = (all + stride * c.messages + 4095) / 4096 * 4096;
            return warpaes_elements{{.offset = at}, stride};
        };
        input = place(c.bytes);
        iv = place(c.mode.iv_bytes);
        aad = place(c.aad_bytes);
        key = place(c.own_keys() ? c.key_bits / 8 : 0);
        output = place(c.bytes);
        tag = place(c.mode.tag_bytes);
    }
    warpaes_elements input{}, iv{}, aad{}, key{}, output{}, tag{};
    std::uint64_t all = 0;
};

class Keys {
public:
    Keys(std::uint64_t count, unsigned bits) {
        for (std::uint64_t i = 0; i < count; ++i) {
            std::uint8_t bytes[32] = {1};
            std::memcpy(bytes + 1, &i, sizeof i);
            check(warpaes_key_create(bytes, bits / 8, &keys_.emplace_back()));
        }
        const std::uint8_t bytes[32] = {2};
        check(warpaes_key_create(bytes, bits / 8, &tweak_key));
    }
    Keys(const Keys&) = delete;
    Keys& operator=(const Keys&) = delete;
    ~Keys() {
        for (warpaes_key* key : keys_) warpaes_key_destroy(key);
        warpaes_key_destroy(tweak_key);
    }
    [[nodiscard]] const warpaes_key* operator[](std::uint64_t i) const { return keys_[i]; }
    warpaes_key* tweak_key = nullptr;

private:
    std::vector<warpaes_key*> keys_;
};

std::vector<warpaes_batch_entry> entries_of(const Case& c, const Layout& l, const Keys& keys, std::uint8_t* base,
                                            warpaes_direction direction, warpaes_status* statuses) {
    const auto entry = [&](std::uint64_t first, std::uint64_t count, std::uint64_t key) {
        const auto part = [&](warpaes_elements e) {
            return warpaes_elements{{.pointer = base + e.at.offset + first * e.stride}, e.stride};
        };
        warpaes_batch_entry e{};
        e.mode = c.mode.mode;
        e.direction = direction;
        e.count = count;
        e.length = c.bytes;
        e.input = part(l.input);
        e.output = part(l.output);
        if (c.mode.iv_bytes != 0) e.iv = part(l.iv);
        e.iv_len = c.mode.iv_bytes;
        if (c.mode.tag_bytes != 0) e.tag = part(l.tag);
        e.tag_len = c.mode.tag_bytes;
        if (c.aad_bytes != 0) e.aad = part(l.aad);
        e.aad_len = c.aad_bytes;
        if (c.own_keys()) {
            e.keys = part(l.key);
            e.key_len = c.key_bits / 8;
        } else {
            e.key = keys[key];
        }
        if (c.mode.mode == WARPAES_XTS) {
            e.tweak_key = keys.tweak_key;
            e.data_unit_len = std::min<std::uint64_t>(4096, c.bytes);
        }
        if (statuses != nullptr) e.statuses = statuses + first;
        return e;
    };
    std::vector<warpaes_batch_entry> entries;
    const std::uint64_t n = c.messages, k = c.key_count();
    if (c.own_keys()) {
        entries.push_back(entry(0, n, 0));
    } else if (c.in_turn()) {
        for (std::uint64_t i = 0; i < n; ++i) entries.push_back(entry(i, 1, i % k));
    } else {
        for (std::uint64_t i = 0; i < k; ++i) entries.push_back(entry(n * i / k, n * (i + 1) / k - n * i / k, i));
    }
    return entries;
}

void run_batch(const Engine& engine, const std::vector<warpaes_batch_entry>& entries, warpaes_status expected) {
    warpaes_batch* batch = nullptr;
    check(warpaes_batch_submit(engine.get(), nullptr, entries.data(), entries.size(), &batch));
    const warpaes_status status = warpaes_batch_wait(batch, WARPAES_UNKNOWN);
    warpaes_batch_destroy(batch);
    if (status != expected) throw std::runtime_error(warpaes_status_message(status));
}

warpaes_memory memory_of(const std::string& place) {
    if (place == "device") return WARPAES_MEMORY_DEVICE;
    return place == "page-locked" ? WARPAES_MEMORY_PAGE_LOCKED : WARPAES_MEMORY_PAGEABLE;
}

/// Host memory for a case. It is kept between cases, because touching new memory takes longer than most cases.
struct HostMemory {
    std::vector<std::uint8_t> before, after, got;

    void reserve(std::uint64_t bytes) {
        for (auto* buffer : {&before, &after, &got}) buffer->resize(std::max<std::uint64_t>(buffer->size(), bytes));
    }
    /// Fills the memory with random bytes that repeat after 4 MiB.
    void fill(std::uint64_t bytes) {
        static const std::vector<std::uint64_t> words = [] {
            std::mt19937_64 random(1);
            std::vector<std::uint64_t> some((4 << 20) / 8);
            std::generate(some.begin(), some.end(), random);
            return some;
        }();
        const std::uint64_t each = words.size() * 8;
        for (std::uint64_t at = 0; at < bytes; at += each) {
            std::memcpy(&before[at], words.data(), std::min(each, bytes - at));
        }
    }
};

/// A case with its inputs and outputs in memory.
class Subject {
public:
    Subject(const Engine& engine, const Engine& reference, const Case& c, HostMemory& host)
        : engine_(engine),
          case_(c),
          layout_(c),
          keys_(c.own_keys() ? 0 : c.key_count(), c.key_bits),
          memory_(engine, memory_of(c.place), layout_.all),
          statuses_(engine, memory_of(c.place), c.messages * sizeof(warpaes_status)),
          got_(host.got),
          before_(host.before),
          after_(host.after) {
        host.reserve(layout_.all);
        host.fill(layout_.all);
        const auto run = [&](std::vector<std::uint8_t>& bytes, warpaes_direction direction, warpaes_status expected) {
            run_batch(reference, entries_of(c, layout_, keys_, bytes.data(), direction, nullptr), expected);
        };
        const bool opens = c.direction == WARPAES_DECRYPT;
        if (opens && c.mode.tag_bytes != 0) {
            run(before_, WARPAES_ENCRYPT, WARPAES_OK);
            std::copy_n(&before_[layout_.output.at.offset], layout_.input.stride * c.messages,
                        &before_[layout_.input.at.offset]);
            for (std::uint64_t i = 0; c.forged && i < c.messages; ++i) {
                before_[layout_.tag.at.offset + i * layout_.tag.stride + 3] ^= 0x40;
            }
        }
        std::memcpy(after_.data(), before_.data(), layout_.all);
        run(after_, c.direction, c.forged ? WARPAES_ERROR_AUTHENTICATION : WARPAES_OK);
        check(warpaes_copy(engine.get(), memory_.get(), before_.data(), layout_.all));
    }

    /// Returns the median time of a call in seconds.
    double median(double seconds) {
        const std::function<void()> call = way();
        call();
        std::vector<double> times;
        const auto now = [] { return std::chrono::steady_clock::now(); };
        const auto begin = now();
        do {
            const auto before = now();
            call();
            times.push_back(std::chrono::duration<double>(now() - before).count());
        } while (times.size() < 7 || std::chrono::duration<double>(now() - begin).count() < seconds);
        std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
        verify();
        return times[times.size() / 2];
    }

private:
    [[nodiscard]] warpaes_status expected() const { return case_.forged ? WARPAES_ERROR_AUTHENTICATION : WARPAES_OK; }

    std::function<void()> way() {
        const bool opens = case_.direction == WARPAES_DECRYPT && case_.mode.tag_bytes != 0;
        if (case_.way == "submit") {
            entries_ = entries_of(case_, layout_, keys_, memory_.get(), case_.direction, nullptr);
            return [this] { run_batch(engine_, entries_, expected()); };
        }
        const warpaes_batch_entry e =
            entries_of(case_, layout_, keys_, memory_.get(), case_.direction, nullptr).front();
        message_.mode = e.mode;
        message_.direction = e.direction;
        message_.key = e.key;
        message_.tweak_key = e.tweak_key;
        message_.data_unit_len = e.data_unit_len;
        // In a single call, nonces, associated data and tags are usually in host memory.
        message_.iv = &before_[layout_.iv.at.offset];
        message_.iv_len = e.iv_len;
        if (e.iv_len == 0) message_.iv = nullptr;
        message_.input = e.input.at.pointer;
        message_.input_len = e.length;
        message_.output = e.output.at.pointer;
        message_.output_capacity = e.length;
        message_.aad = e.aad_len != 0 ? &before_[layout_.aad.at.offset] : nullptr;
        message_.aad_len = e.aad_len;
        message_.tag_len = e.tag_len;
        if (case_.way == "single") {
            tag_.assign(&before_[layout_.tag.at.offset], &before_[layout_.tag.at.offset] + e.tag_len);
            message_.tag = opens ? static_cast<void*>(tag_.data()) : e.tag.at.pointer;
            return [this] { expect(warpaes_crypt(engine_.get(), &message_, nullptr) == expected(), "a call failed"); };
        }
#ifdef WARPAES_WITH_CUDA
        has_statuses_ = opens;
        auto* const statuses = opens ? reinterpret_cast<warpaes_status*>(statuses_.get()) : nullptr;
        if (stream_ == nullptr) check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
        if (case_.way == "async") {
            tag_.assign(&before_[layout_.tag.at.offset], &before_[layout_.tag.at.offset] + e.tag_len);
            message_.tag = opens ? static_cast<void*>(tag_.data()) : e.tag.at.pointer;
            message_.device_status = statuses;
            return [this] {
                check(warpaes_crypt_async(engine_.get(), &message_, stream_, nullptr));
                check(cudaStreamSynchronize(stream_));
            };
        }
        entries_ = entries_of(case_, layout_, keys_, memory_.get(), case_.direction, statuses);
        const auto enqueue = [this] {
            check(warpaes_batch_enqueue(engine_.get(), nullptr, entries_.data(), entries_.size(), stream_));
        };
        if (case_.way == "enqueue") {
            return [this, enqueue] {
                enqueue();
                check(cudaStreamSynchronize(stream_));
            };
        }
        if (case_.way == "graph") {
            cudaGraph_t graph = nullptr;
            check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
            enqueue();
            check(cudaStreamEndCapture(stream_, &graph));
            check(cudaGraphInstantiate(&graph_, graph, 0));
            check(cudaGraphDestroy(graph));
            return [this] {
                check(cudaGraphLaunch(graph_, stream_));
                check(cudaStreamSynchronize(stream_));
            };
        }
#endif
        throw std::runtime_error("--way: '" + case_.way + "' is unknown, or this build has no CUDA");
    }

    void verify() {
        check(warpaes_copy(engine_.get(), got_.data(), memory_.get(), layout_.all));
        expect(std::memcmp(got_.data(), after_.data(), layout_.all) == 0, "outputs or tags differ from the CPU's");
        if (!has_statuses_) return;
        std::vector<warpaes_status> statuses(case_.messages);
        check(warpaes_copy(engine_.get(), statuses.data(), statuses_.get(), statuses.size() * sizeof statuses[0]));
        for (const warpaes_status status : statuses) expect(status == expected(), "a status is wrong");
    }

    const Engine& engine_;
    Case case_;
    Layout layout_;
    Keys keys_;
    Memory memory_, statuses_;
    std::vector<std::uint8_t>&got_, &before_, &after_;
    std::vector<std::uint8_t> tag_;
    std::vector<warpaes_batch_entry> entries_;
    warpaes_message message_ = WARPAES_MESSAGE_INIT;
    bool has_statuses_ = false;
#ifdef WARPAES_WITH_CUDA
    cudaStream_t stream_ = nullptr;
    cudaGraphExec_t graph_ = nullptr;

public:
    ~Subject() {
        if (graph_ != nullptr) cudaGraphExecDestroy(graph_);
        if (stream_ != nullptr) cudaStreamDestroy(stream_);
    }
    Subject(const Subject&) = delete;
    Subject& operator=(const Subject&) = delete;
#endif
};

std::uint64_t parse_size(const std::string& option, const std::string& text) {
    std::size_t used = 0;
    unsigned long long n = 0;
    try {
        n = std::stoull(text, &used);
    } catch (const std::exception&) {
        used = 0;
    }
    const std::string unit = text.substr(used);
    const int shift = unit.empty() ? 0 : unit == "K" ? 10 : unit == "M" ? 20 : unit == "G" ? 30 : -1;
    expect(used != 0 && text[0] != '-' && n != 0 && shift >= 0 && n < (1ULL << 33),
           option + ": '" + text + "' is not a number above 0, optionally with the unit K, M or G");
    return n << shift;
}

Strings split(const std::string& list) {
    Strings parts;
    std::stringstream stream(list);
    for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
    return parts;
}

/// Returns whether the library supports the case, and the case is not equivalent to another case.
bool makes_sense(const Case& c) {
    const bool gpu_way = c.way == "async" || c.way == "enqueue" || c.way == "graph";
    if (gpu_way && !c.on_device()) return false;
    if (!c.is_batch() && c.keys != "1") return false;
    if (c.own_keys() && c.mode.mode == WARPAES_XTS) return false;
    if (c.forged && (c.direction != WARPAES_DECRYPT || c.mode.tag_bytes == 0)) return false;
    if (c.mode.mode == WARPAES_XTS && c.key_bits == 192) return false;
    return (c.mode.mode != WARPAES_ECB && c.mode.mode != WARPAES_CBC) || c.bytes % 16 == 0;
}

int sweep(int argc, char** argv) {
    std::map<std::string, std::string> options = {
        {"--mode", "ctr,gcm"},   {"--size", "16,64,256,1K,1500,4K,8K,16K,64K,1M"},
        {"--keys", "1,64,each"}, {"--place", "device"},
        {"--way", "submit"},     {"--direction", "encrypt,decrypt"},
        {"--key-bits", "128"},   {"--forged", "0"},
        {"--mib", "256"},        {"--aad", "28"},
        {"--most", "1000000"},   {"--seconds", "0.05"}};
    for (int i = 1; i < argc; i += 2) {
        const auto option = options.find(argv[i]);
        expect(option != options.end() && i + 1 < argc,
               std::string(argv[i]) + ": unknown option, or its value is missing");
        option->second = argv[i + 1];
    }
    const std::uint64_t bytes = parse_size("--mib", options["--mib"]) << 20;
    const std::uint64_t most = parse_size("--most", options["--most"]);
    const std::uint64_t aad = options["--aad"] == "0" ? 0 : parse_size("--aad", options["--aad"]);
    const double seconds = std::stod(options["--seconds"]);

    std::vector<Case> cases;
    for (const std::string& mode : split(options["--mode"])) {
        const auto found =
            std::find_if(std::begin(modes), std::end(modes), [&](const Mode& m) { return m.name == mode; });
        expect(found != std::end(modes), "--mode: '" + mode + "' is unknown");
        for (const std::string& direction : split(options["--direction"]))
            for (const std::string& key_bits : split(options["--key-bits"]))
                for (const std::string& forged : split(options["--forged"]))
                    for (const std::string& place : split(options["--place"]))
                        for (const std::string& way : split(options["--way"]))
                            for (const std::string& keys : split(options["--keys"]))
                                for (const std::string& size : split(options["--size"])) {
                                    Case c{*found,
                                           direction == "decrypt" ? WARPAES_DECRYPT : WARPAES_ENCRYPT,
                                           static_cast<unsigned>(parse_size("--key-bits", key_bits)),
                                           parse_size("--size", size),
                                           1,
                                           keys,
                                           place,
                                           way,
                                           forged == "1",
                                           found->tag_bytes != 0 ? aad : 0};
                                    if (keys != "each") (void)parse_size("--keys", keys.substr(0, keys.find('m')));
                                    if (c.is_batch()) c.messages = std::clamp<std::uint64_t>(bytes / c.bytes, 1, most);
                                    if (makes_sense(c)) cases.push_back(c);
                                }
    }
    const Engine reference("libcrypto");
    std::map<std::string, std::unique_ptr<Engine>> engines;
    HostMemory host;
    std::printf("{\"paths\": [");
    const char* comma = "";
    for (const Case& c : cases) {
        auto& engine = engines[c.on_device() ? "cuda" : "auto"];
        if (engine == nullptr) engine = std::make_unique<Engine>(c.on_device() ? "cuda" : nullptr);
        double median = 0;
        std::string error;
        try {
            median = Subject(*engine, reference, c, host).median(seconds);
        } catch (const std::exception& e) {
            error = e.what();
        }
        std::printf(
            "%s\n {\"mode\": \"%s\", \"direction\": \"%s\", \"key_bits\": %u, \"bytes\": %llu, \"messages\": %llu, "
            "\"keys\": \"%s\", \"place\": \"%s\", \"way\": \"%s\", \"forged\": %s, \"aad_bytes\": %llu, ",
            comma, c.mode.name, c.direction == WARPAES_ENCRYPT ? "encrypt" : "decrypt", c.key_bits,
            static_cast<unsigned long long>(c.bytes), static_cast<unsigned long long>(c.messages), c.keys.c_str(),
            c.place.c_str(), c.way.c_str(), c.forged ? "true" : "false", static_cast<unsigned long long>(c.aad_bytes));
        if (error.empty()) {
            const double total = static_cast<double>(c.bytes) * static_cast<double>(c.messages);
            std::printf("\"us\": %.2f, \"gb_per_s\": %.3f}", median * 1e6, total / median / 1e9);
        } else {
            std::printf("\"error\": \"%s\"}", error.c_str());
            std::fprintf(stderr, "path_sweep: %s %s of %llu bytes, %s keys, %s, %s: %s\n", c.mode.name,
                         c.direction == WARPAES_ENCRYPT ? "encryption" : "decryption",
                         static_cast<unsigned long long>(c.bytes), c.keys.c_str(), c.place.c_str(), c.way.c_str(),
                         error.c_str());
        }
        std::fflush(stdout);
        comma = ",";
    }
    std::printf("]}\n");
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return sweep(argc, argv);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "path_sweep: %s\n", e.what());
        return 1;
    }
}
