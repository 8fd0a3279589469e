// Measures the time of forged messages, relative to authentic messages of the same length, for every kind of call and
// every mode that detects forgeries, on CPUs and on a GPU. Prints a table and writes it as JSON. Exits with status 1 if
// a ratio is above `--limit` (1.5) for calls with 64 KiB or more.
//
//     hostile_cost [--json FILE] [--limit RATIO] [--most MIB] [--seconds EACH] [--device-only 1]
//
// Authentic and forged calls take turns. A call decrypts from one buffer to another. In a batch, all tags or every
// second tag is wrong. The fastest sample counts, because other work on the machine makes samples longer.
//
// A forged message is decrypted like an authentic message, and its output is then overwritten with zeros. `zeros` is
// the time for the second step without the library: threads that are already running clear the output of an authentic
// call. (authentic + zeros) / authentic is therefore the minimum ratio when decryption precedes the check.
#include <warpaes/warpaes.h>
#ifdef WARPAES_WITH_CUDA
#include <cuda_runtime.h>
#endif

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "handles.hpp"
#include "zeros.hpp"

namespace {

using namespace bench;

struct Options {
    std::string json;
    double limit = 1.5;
    std::uint64_t most = std::uint64_t{1024} << 20;
    double seconds = 0.25;  ///< a row ends after this time and three samples, or after 31 samples
    bool device_only = false;
};

constexpr std::uint64_t least_judged = 64 << 10;

struct Row {
    std::string way, mode, backend;
    std::uint64_t messages, bytes;
    double authentic, forged;
    double zeros = 0;  ///< 0 if it was not measured
    [[nodiscard]] double ratio() const { return forged / authentic; }
    [[nodiscard]] double least_ratio() const { return (authentic + zeros) / authentic; }
};

/// Data for one kind of call: `count` sealed messages, with right and wrong tags.
struct Messages {
    static constexpr std::uint64_t tag_bytes = 16;
    static constexpr std::uint64_t most_of_ccm = (std::uint64_t{1} << 24) - 1;  ///< maximum for an IV of 12 bytes

    Messages(const Engine& its_engine, warpaes_memory kind, warpaes_mode its_mode, std::uint64_t n, std::uint64_t each,
             bool tags_inside = false, unsigned wrong_step = 1)
        : engine(its_engine),
          mode(its_mode),
          count(n),
          bytes(its_mode == WARPAES_CCM ? std::min(each, most_of_ccm) : each),
          stride(tags_inside ? bytes + tag_bytes : bytes),
          on_device(kind == WARPAES_MEMORY_DEVICE),
          sealed(engine, kind, n * stride),
          opened(engine, kind, n * bytes),
          device_tags(engine, kind, n * tag_bytes),
          statuses(engine, kind, n * sizeof(warpaes_status)),
          ivs(n * 12),
          tags(n * tag_bytes),
          wrong_tags(n * tag_bytes) {
        const std::uint8_t bytes_of_key[16] = {7};
        check(warpaes_key_create(bytes_of_key, 16, &key));
        for (std::uint64_t i = 0; i < n; ++i) std::memcpy(&ivs[12 * i], &i, sizeof i);
        std::vector<std::uint8_t> filled(std::min<std::uint64_t>(n * stride, 1 << 20), 0x5b);
        for (std::uint64_t at = 0; at < n * stride; at += filled.size()) {
            check(warpaes_copy(engine.get(), sealed.get() + at, filled.data(),
                               std::min<std::uint64_t>(filled.size(), n * stride - at)));
        }
        submit(WARPAES_ENCRYPT, tags.data());
        wrong_tags = tags;
        for (std::uint64_t i = 0; i < n; i += wrong_step) wrong_tags[i * tag_bytes + 3] ^= 0x40;
    }
    Messages(const Messages&) = delete;
    Messages& operator=(const Messages&) = delete;
    ~Messages() { warpaes_key_destroy(key); }

    [[nodiscard]] warpaes_batch_entry entry(warpaes_direction direction, std::uint8_t* its_tags) {
        warpaes_batch_entry e{};
        e.mode = mode;
        e.direction = direction;
        e.count = count;
        e.length = bytes;
        e.input.at.pointer = sealed.get();
        e.input.stride = stride;
        const bool has_output = mode != WARPAES_CMAC;
        if (has_output) {
            e.output.at.pointer = direction == WARPAES_ENCRYPT ? sealed.get() : opened.get();
            e.output.stride = direction == WARPAES_ENCRYPT ? stride : bytes;
            e.iv.at.pointer = ivs.data();
            e.iv.stride = 12;
            e.iv_len = 12;
        }
        e.tag.at.pointer = its_tags;
        e.tag.stride = tag_bytes;
        e.tag_len = tag_bytes;
        e.key = key;
        return e;
    }
    void submit(warpaes_direction direction, std::uint8_t* its_tags) {
        warpaes_batch_options options = WARPAES_BATCH_OPTIONS_INIT;
        const warpaes_batch_entry e = entry(direction, its_tags);
        warpaes_batch* batch = nullptr;
        check(warpaes_batch_submit(engine.get(), &options, &e, 1, &batch));
        const warpaes_status status = warpaes_batch_wait(batch, WARPAES_UNKNOWN);
        const std::string sentence = warpaes_batch_entry_error(batch, 0);
        warpaes_batch_destroy(batch);
        expect(status == (its_tags == wrong_tags.data() ? WARPAES_ERROR_AUTHENTICATION : WARPAES_OK),
               "a batch of " + std::to_string(count) + " x " + std::to_string(bytes) +
                   " has the wrong outcome: " + sentence);
    }
    [[nodiscard]] warpaes_message message(bool forged) {
        warpaes_message m = WARPAES_MESSAGE_INIT;
        m.mode = mode;
        m.direction = WARPAES_DECRYPT;
        m.key = key;
        m.iv = mode != WARPAES_CMAC ? ivs.data() : nullptr;
        m.iv_len = mode != WARPAES_CMAC ? 12 : 0;
        m.input = sealed.get();
        m.input_len = m.output_capacity = bytes;
        m.output = opened.get();
        m.tag = forged ? wrong_tags.data() : tags.data();
        m.tag_len = tag_bytes;
        return m;
    }

    /// Returns the output in host memory that a call writes, for Table::measure().
    [[nodiscard]] Output output() const {
        if (on_device || mode == WARPAES_CMAC) return {};
        return {opened.get(), count * bytes, engine.threads()};
    }
    /// Checks that a call whose messages were all forged has wiped the last 16 MiB of its output.
    void expect_wiped() const {
        if (mode == WARPAES_CMAC) return;
        std::vector<std::uint8_t> found(std::min<std::uint64_t>(count * bytes, 16 << 20));
        check(warpaes_copy(engine.get(), found.data(), opened.get() + count * bytes - found.size(), found.size()));
        expect(std::all_of(found.begin(), found.end(), [](std::uint8_t b) { return b == 0; }), "plaintext is left");
    }

    const Engine& engine;
    warpaes_mode mode;
    std::uint64_t count, bytes, stride;
    bool on_device;
    Memory sealed, opened, device_tags, statuses;
    warpaes_key* key = nullptr;
    std::vector<std::uint8_t> ivs, tags, wrong_tags;
};

class Table {
public:
    explicit Table(const Options& options) : options_(options) {
        std::printf("%-34s %-8s %-10s %9s %11s %12s %12s %6s %6s\n", "way", "mode", "backend", "messages", "bytes",
                    "authentic us", "forged us", "ratio", "least");
    }

    /// `call(forged)` decrypts `messages` messages of `bytes` bytes, and throws if the outcome is not as expected.
    void measure(const std::string& way, const std::string& mode, const std::string& backend, std::uint64_t messages,
                 std::uint64_t bytes, const std::function<void(bool forged)>& call, const Output& output = {}) {
        Row row{way, mode, backend, messages, bytes, 0, 0};
        std::vector<double> times[2];
        for (const bool forged : {false, true}) (void)seconds_of(call, forged, 1);
        const double once = seconds_of(call, false, 1);
        const auto calls = static_cast<unsigned>(std::clamp(2e-4 / once, 1.0, 200.0));
        const auto begin = std::chrono::steady_clock::now();
        do {
            for (const bool forged : {false, true}) times[forged ? 1 : 0].push_back(seconds_of(call, forged, calls));
        } while (times[0].size() < 31 && (times[0].size() < 3 || since(begin) < options_.seconds));
        row.authentic = *std::min_element(times[0].begin(), times[0].end());
        row.forged = *std::min_element(times[1].begin(), times[1].end());
        const bool judged = row.bytes * row.messages >= least_judged;
        const bool bad = judged && row.ratio() > options_.limit;
        if (output.data != nullptr && judged) {
            row.zeros = seconds_of_zeros(output, [&] { call(false); });
            call(true);  // the caller checks that the last call wiped its output
        }
        std::printf("%-34s %-8s %-10s %9llu %11llu %12.2f %12.2f %6.2f ", way.c_str(), mode.c_str(), backend.c_str(),
                    static_cast<unsigned long long>(messages), static_cast<unsigned long long>(bytes),
                    1e6 * row.authentic, 1e6 * row.forged, row.ratio());
        row.zeros > 0 ? std::printf("%6.2f", row.least_ratio()) : std::printf("%6s", "");
        std::printf("%s\n", bad ? "  <- too much" : "");
        std::fflush(stdout);
        too_much_ += bad ? 1 : 0;
        rows_.push_back(std::move(row));
    }

    [[nodiscard]] bool write() const {
        if (!options_.json.empty()) {
            const std::unique_ptr<std::FILE, int (*)(std::FILE*)> json(std::fopen(options_.json.c_str(), "w"),
                                                                       [](std::FILE* f) { return std::fclose(f); });
            expect(json != nullptr, "--json: cannot write " + options_.json);
            std::fprintf(json.get(), "[");
            for (const Row& r : rows_) {
                std::fprintf(json.get(),
                             "%s\n {\"way\": \"%s\", \"mode\": \"%s\", \"backend\": \"%s\", \"messages\": %llu, "
                             "\"bytes\": %llu, \"authentic_us\": %.3f, \"forged_us\": %.3f, \"ratio\": %.3f",
                             &r == &rows_.front() ? "" : ",", r.way.c_str(), r.mode.c_str(), r.backend.c_str(),
                             static_cast<unsigned long long>(r.messages), static_cast<unsigned long long>(r.bytes),
                             1e6 * r.authentic, 1e6 * r.forged, r.ratio());
                if (r.zeros > 0) std::fprintf(json.get(), ", \"zeros_us\": %.3f", 1e6 * r.zeros);
                std::fprintf(json.get(), "}");
            }
            std::fprintf(json.get(), "\n]\n");
        }
        std::printf("%zu rows, %u above %.2f for 64 KiB and more\n", rows_.size(), too_much_, options_.limit);
        return too_much_ == 0;
    }

private:
    static double since(std::chrono::steady_clock::time_point begin) {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    }
    static double seconds_of(const std::function<void(bool)>& call, bool forged, unsigned calls) {
        const auto begin = std::chrono::steady_clock::now();
        for (unsigned i = 0; i < calls; ++i) call(forged);
        return since(begin) / calls;
    }

    const Options& options_;
    std::vector<Row> rows_;
    unsigned too_much_ = 0;
};

const char* name_of(warpaes_mode mode) {
    switch (mode) {
    case WARPAES_GCM:
        return "GCM";
    case WARPAES_CCM:
        return "CCM";
    case WARPAES_CMAC:
        return "CMAC";
    case WARPAES_SIV:
        return "SIV";
    case WARPAES_GCM_SIV:
        return "GCM-SIV";
    case WARPAES_KW:
        return "KW";
    case WARPAES_KWP:
        return "KWP";
    default:
        return "CBC";
    }
}

void outcome(warpaes_status status, bool forged, warpaes_status refusal = WARPAES_ERROR_AUTHENTICATION) {
    if (status != (forged ? refusal : WARPAES_OK)) throw std::runtime_error("a call has the wrong outcome");
}

// ------------------------------------------------------------------------------------------------- calls in every kind
// of memory

void single(Table& table, const Engine& engine, const char* backend, const char* way, warpaes_memory kind,
            warpaes_mode mode, std::uint64_t bytes) {
    Messages m(engine, kind, mode, 1, bytes);
    const warpaes_message right = m.message(false), wrong = m.message(true);
    table.measure(
        way, name_of(mode), backend, 1, bytes,
        [&](bool forged) { outcome(warpaes_crypt(engine.get(), forged ? &wrong : &right, nullptr), forged); },
        m.output());
    m.expect_wiped();  // the last call's message was forged
}

void batch(Table& table, const Engine& engine, const char* backend, const std::string& way, warpaes_memory kind,
           warpaes_mode mode, std::uint64_t count, std::uint64_t bytes, bool tags_inside = false,
           unsigned wrong_step = 1) {
    Messages m(engine, kind, mode, count, bytes, tags_inside, wrong_step);
    table.measure(
        way, name_of(mode), backend, count, bytes,
        [&](bool forged) { m.submit(WARPAES_DECRYPT, forged ? m.wrong_tags.data() : m.tags.data()); },
        wrong_step == 1 ? m.output() : Output{});
    if (wrong_step == 1) m.expect_wiped();
}

void context(Table& table, const Engine& engine, const char* backend, warpaes_mode mode, std::uint64_t bytes) {
    Messages m(engine, WARPAES_MEMORY_PAGEABLE, mode, 1, bytes);
    bytes = m.bytes;
    warpaes_context* context = nullptr;
    check(warpaes_context_create(engine.get(), &context));
    const std::unique_ptr<warpaes_context, decltype(&warpaes_context_destroy)> owned(context, warpaes_context_destroy);
    table.measure("context, tag at its end", name_of(mode), backend, 1, bytes, [&](bool forged) {
        warpaes_context_options options = WARPAES_CONTEXT_OPTIONS_INIT;
        options.mode = mode;
        options.direction = WARPAES_DECRYPT;
        options.key = m.key;
        options.iv = mode != WARPAES_CMAC ? m.ivs.data() : nullptr;
        options.iv_len = mode != WARPAES_CMAC ? 12 : 0;
        if (mode == WARPAES_CCM) {
            options.text_len = bytes;
            options.tag_len = Messages::tag_bytes;
        }
        check(warpaes_context_init(context, &options));
        std::size_t written = 0;
        check(warpaes_context_update(context, m.sealed.get(), bytes, m.opened.get(), bytes, &written));
        check(warpaes_context_set_tag(context, forged ? m.wrong_tags.data() : m.tags.data(), Messages::tag_bytes));
        outcome(warpaes_context_final(context, m.opened.get() + written, bytes - written, &written), forged);
    });
}

/// Measures SIV, GCM-SIV, KW, KWP and CBC with padding, which also wipe their output.
void composed(Table& table, const Engine& engine, const char* backend, warpaes_memory kind, warpaes_mode mode,
              std::uint64_t bytes) {
    const std::uint8_t key_bytes[16] = {7}, mac_bytes[16] = {9};
    warpaes_key *key = nullptr, *mac_key = nullptr;
    check(warpaes_key_create(key_bytes, 16, &key));
    check(warpaes_key_create(mac_bytes, 16, &mac_key));
    const bool wraps = mode == WARPAES_KW || mode == WARPAES_KWP, pads = mode == WARPAES_CBC;
    const std::uint64_t room = bytes + 16;
    Memory plain(engine, kind, room), sealed(engine, kind, room), opened(engine, kind, room);
    std::uint8_t iv[16] = {1}, tag[16] = {}, wrong_tag[16] = {};
    warpaes_message m = WARPAES_MESSAGE_INIT;
    m.mode = mode;
    m.direction = WARPAES_ENCRYPT;
    m.key = key;
    if (mode == WARPAES_SIV) m.mac_key = mac_key;
    m.flags = pads ? WARPAES_PKCS7 : 0;
    m.iv = wraps ? nullptr : iv;
    m.iv_len = wraps ? 0 : pads ? 16 : 12;
    m.input = plain.get();
    m.input_len = bytes;
    m.output = sealed.get();
    m.output_capacity = room;
    if (!wraps && !pads) {
        m.tag = tag;
        m.tag_len = sizeof tag;
    }
    warpaes_result made = WARPAES_RESULT_INIT;
    check(warpaes_crypt(engine.get(), &m, &made));
    Memory altered(engine, kind, room);
    check(warpaes_copy(engine.get(), altered.get(), sealed.get(), made.output_len));
    if (wraps || pads) {
        std::uint8_t last[16] = {};
        check(warpaes_copy(engine.get(), last, altered.get() + made.output_len - 16, 16));
        last[pads ? 0 : 15] ^= 0x40;
        check(warpaes_copy(engine.get(), altered.get() + made.output_len - 16, last, 16));
    }
    std::copy(std::begin(tag), std::end(tag), std::begin(wrong_tag));
    wrong_tag[2] ^= 1;
    m.direction = WARPAES_DECRYPT;
    m.input_len = made.output_len;
    m.output = opened.get();
    table.measure(
        kind == WARPAES_MEMORY_DEVICE ? "single call, device memory" : "single call", name_of(mode), backend, 1, bytes,
        [&](bool forged) {
            m.input = forged ? altered.get() : sealed.get();
            if (m.tag_len != 0) m.tag = forged ? wrong_tag : tag;
            outcome(warpaes_crypt(engine.get(), &m, nullptr), forged,
                    pads ? WARPAES_ERROR_PADDING : WARPAES_ERROR_AUTHENTICATION);
        },
        kind == WARPAES_MEMORY_DEVICE ? Output{} : Output{opened.get(), bytes, engine.threads()});
    warpaes_key_destroy(key);
    warpaes_key_destroy(mac_key);
}

std::vector<std::uint64_t> lengths(const Options& o, std::uint64_t most) {
    std::vector<std::uint64_t> all;
    for (const std::uint64_t n : {std::uint64_t{64}, std::uint64_t{1500}, std::uint64_t{4} << 10,
                                  std::uint64_t{64} << 10, std::uint64_t{256} << 10, std::uint64_t{1} << 20,
                                  std::uint64_t{16} << 20, std::uint64_t{256} << 20, std::uint64_t{1024} << 20}) {
        if (n <= std::min(most, o.most)) all.push_back(n);
    }
    return all;
}

constexpr std::uint64_t mib = std::uint64_t{1} << 20;

void on_cpu(Table& table, const Options& o) {
    std::vector<std::string> backends;
    for (std::size_t i = 0; i < warpaes_backend_count(); ++i) {
        warpaes_backend_info info = WARPAES_BACKEND_INFO_INIT;
        check(warpaes_backend_query(i, &info));
        if (info.usable != 0 && std::strcmp(info.name, "cuda") != 0) backends.emplace_back(info.name);
    }
    for (const std::string& name : backends) {
        const bool best = name == backends.back();
        const Engine engine(name.c_str()), one(name.c_str(), 1);
        const char* const backend = name.c_str();
        for (const std::uint64_t n : lengths(o, best ? 256 * mib : 16 * mib)) {
            single(table, engine, backend, "single call", WARPAES_MEMORY_PAGEABLE, WARPAES_GCM, n);
        }
        for (const std::uint64_t n : lengths(o, 256 * mib)) {
            if (n >= mib) {
                single(table, one, backend, "single call, one thread", WARPAES_MEMORY_PAGEABLE, WARPAES_GCM, n);
            }
        }
        for (const warpaes_mode mode : {WARPAES_CCM, WARPAES_CMAC}) {
            for (const std::uint64_t n : lengths(o, 16 * mib)) {
                single(table, engine, backend, "single call", WARPAES_MEMORY_PAGEABLE, mode, n);
            }
        }
        for (const warpaes_mode mode : {WARPAES_GCM, WARPAES_CCM, WARPAES_CMAC}) {
            for (const std::uint64_t n : lengths(o, mib)) {
                const std::uint64_t count = std::max<std::uint64_t>((mode == WARPAES_GCM ? 64 : 16) * mib / n, 1);
                batch(table, engine, backend, "batch", WARPAES_MEMORY_PAGEABLE, mode, std::min(count, mib / 16), n);
            }
        }
        batch(table, engine, backend, "batch, every second", WARPAES_MEMORY_PAGEABLE, WARPAES_GCM, 4096, 4096, false,
              2);
        if (!best) continue;
        for (const warpaes_mode mode : {WARPAES_GCM, WARPAES_CCM, WARPAES_CMAC}) {
            for (const std::uint64_t n : lengths(o, 16 * mib)) context(table, engine, backend, mode, n);
        }
        for (const warpaes_mode mode : {WARPAES_SIV, WARPAES_GCM_SIV, WARPAES_CBC}) {
            for (const std::uint64_t n : lengths(o, mode == WARPAES_SIV ? 16 * mib : 256 * mib)) {
                composed(table, engine, backend, WARPAES_MEMORY_PAGEABLE, mode, n - (mode == WARPAES_CBC ? 4 : 0));
            }
        }
        for (const warpaes_mode mode : {WARPAES_KW, WARPAES_KWP}) {
            for (const std::uint64_t n : {64u, 4096u, 65536u}) {
                composed(table, engine, backend, WARPAES_MEMORY_PAGEABLE, mode, n);
            }
        }
    }
}

// ------------------------------------------------------------------------------------------------------------ on a GPU

#ifdef WARPAES_WITH_CUDA

/// Measures calls that run on the caller's stream.
void on_stream(Table& table, const Engine& engine, warpaes_mode mode, std::uint64_t count, std::uint64_t bytes) {
    Messages m(engine, WARPAES_MEMORY_DEVICE, mode, count, bytes);
    Memory right(engine, WARPAES_MEMORY_DEVICE, m.tags.size()), wrong(engine, WARPAES_MEMORY_DEVICE, m.tags.size());
    check(warpaes_copy(engine.get(), right.get(), m.tags.data(), m.tags.size()));
    check(warpaes_copy(engine.get(), wrong.get(), m.wrong_tags.data(), m.tags.size()));
    cudaStream_t stream = nullptr;
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    auto* const statuses = reinterpret_cast<warpaes_status*>(m.statuses.get());
    const auto finish = [&](bool forged) {
        check(cudaStreamSynchronize(stream));
        warpaes_status status = WARPAES_OK;
        check(cudaMemcpy(&status, statuses, sizeof status, cudaMemcpyDeviceToHost));
        outcome(status, forged);
    };
    const auto enqueue = [&](std::uint8_t* tags) {
        warpaes_batch_options options = WARPAES_BATCH_OPTIONS_INIT;
        warpaes_batch_entry e = m.entry(WARPAES_DECRYPT, tags);
        e.statuses = statuses;
        check(warpaes_batch_enqueue(engine.get(), &options, &e, 1, stream));
    };
    if (count == 1) {
        table.measure("async, device status", name_of(mode), "cuda", 1, bytes, [&](bool forged) {
            warpaes_message message = m.message(forged);
            message.device_status = statuses;
            check(warpaes_crypt_async(engine.get(), &message, stream, nullptr));
            finish(forged);
        });
    }
    table.measure("batch enqueued", name_of(mode), "cuda", count, bytes, [&](bool forged) {
        enqueue(forged ? wrong.get() : right.get());
        finish(forged);
    });
    cudaGraphExec_t graphs[2] = {};
    for (const bool forged : {false, true}) {
        cudaGraph_t graph = nullptr;
        check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        enqueue(forged ? wrong.get() : right.get());
        check(cudaStreamEndCapture(stream, &graph));
        check(cudaGraphInstantiate(&graphs[forged ? 1 : 0], graph, 0));
        check(cudaGraphDestroy(graph));
    }
    table.measure("graph", name_of(mode), "cuda", count, bytes, [&](bool forged) {
        check(cudaGraphLaunch(graphs[forged ? 1 : 0], stream));
        finish(forged);
    });
    m.expect_wiped();
    for (cudaGraphExec_t graph : graphs) check(cudaGraphExecDestroy(graph));
    check(cudaStreamDestroy(stream));
}

void on_gpu(Table& table, const Options& o) {
    const Engine engine("cuda");
    const auto device = WARPAES_MEMORY_DEVICE;
    for (const std::uint64_t n : lengths(o, 1024 * mib)) {
        single(table, engine, "cuda", "single call, device memory", device, WARPAES_GCM, n);
        on_stream(table, engine, WARPAES_GCM, 1, n);
        batch(table, engine, "cuda", "batch submitted", device, WARPAES_GCM, 1, n);
        if (n > 256 * mib) continue;
        composed(table, engine, "cuda", device, WARPAES_GCM_SIV, n);
        if (n < 64 << 10) continue;
        single(table, engine, "cuda", "single call, pageable", WARPAES_MEMORY_PAGEABLE, WARPAES_GCM, n);
        single(table, engine, "cuda", "single call, page-locked", WARPAES_MEMORY_PAGE_LOCKED, WARPAES_GCM, n);
    }
    const struct {
        std::uint64_t count, bytes;
    } shapes[] = {{262144, 64}, {65536, 1500}, {16384, 4 << 10}, {4096, 64 << 10}, {512, mib}, {32, 16 * mib}};
    for (const auto& [count, bytes] : shapes) {
        if (count * bytes > o.most) continue;
        on_stream(table, engine, WARPAES_GCM, count, bytes);
        for (const bool inside : {false, true}) {
            const std::string way = inside ? "segments" : "batch submitted";
            batch(table, engine, "cuda", way, device, WARPAES_GCM, count, bytes, inside);
            batch(table, engine, "cuda", way + ", every second", device, WARPAES_GCM, count, bytes, inside, 2);
        }
        if (count * bytes <= 256 * mib) {
            batch(table, engine, "cuda", "batch submitted, pageable", WARPAES_MEMORY_PAGEABLE, WARPAES_GCM, count,
                  bytes);
        }
        if (bytes > 64 << 10) continue;
        for (const warpaes_mode mode : {WARPAES_CCM, WARPAES_CMAC}) {
            on_stream(table, engine, mode, std::min<std::uint64_t>(count, 16384), bytes);
            batch(table, engine, "cuda", "batch submitted", device, mode, std::min<std::uint64_t>(count, 16384), bytes);
        }
    }
}

bool has_gpu() {
    int devices = 0;
    return cudaGetDeviceCount(&devices) == cudaSuccess && devices != 0;
}

#else

void on_gpu(Table&, const Options&) {}
bool has_gpu() {
    return false;
}

#endif

Options parse(int argc, char** argv) {
    Options o;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string name = argv[i], value = argv[i + 1];
        if (name == "--json") {
            o.json = value;
        } else if (name == "--limit") {
            o.limit = std::strtod(value.c_str(), nullptr);
            expect(o.limit > 0, name + ": must be a ratio above 0, not '" + value + "'");
        } else if (name == "--most") {
            const auto most = std::strtoull(value.c_str(), nullptr, 10);
            expect(most != 0 && most <= 65536, name + ": must be a number of MiB from 1 to 65536, not '" + value + "'");
            o.most = most * mib;
        } else if (name == "--seconds") {
            o.seconds = std::strtod(value.c_str(), nullptr);
        } else if (name == "--device-only") {
            o.device_only = value == "1";
        } else {
            throw std::runtime_error(name + ": unknown option");
        }
    }
    expect(argc % 2 == 1, std::string(argv[argc - 1]) + ": requires a value");
    return o;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const Options o = parse(argc, argv);
        Table table(o);
        if (has_gpu()) on_gpu(table, o);
        if (!o.device_only) on_cpu(table, o);
        return table.write() ? 0 : 1;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "hostile_cost: %s\n", e.what());
        return 2;
    }
}
