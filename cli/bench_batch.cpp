#include "bench_batch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <stdexcept>

#include "bench_subject.hpp"

namespace cli {

namespace {

using nlohmann::json;

constexpr BatchMode batch_modes[] = {
    {"ecb", WARPAES_ECB, 0, 0},   {"cbc", WARPAES_CBC, 16, 0},  {"cfb128", WARPAES_CFB128, 16, 0},
    {"ofb", WARPAES_OFB, 16, 0},  {"ctr", WARPAES_CTR, 16, 0},  {"xts", WARPAES_XTS, 16, 0},
    {"gcm", WARPAES_GCM, 12, 16}, {"ccm", WARPAES_CCM, 12, 16}, {"cmac", WARPAES_CMAC, 0, 16},
};

constexpr std::size_t data_unit = 4096;

struct ArenaDelete {
    void operator()(warpaes_arena* arena) const { warpaes_arena_destroy(arena); }
};
using Arena = std::unique_ptr<warpaes_arena, ArenaDelete>;
struct BatchDelete {
    void operator()(warpaes_batch* batch) const { warpaes_batch_destroy(batch); }
};
using Batch = std::unique_ptr<warpaes_batch, BatchDelete>;

std::size_t round_up(std::size_t n, std::size_t to) {
    return (n + to - 1) / to * to;
}

/// The layout of a batch's inputs and outputs in one block of memory: their offsets, and the size of the block.
struct Layout {
    explicit Layout(const BatchCase& c) {
        const auto place = [&](std::size_t bytes, std::size_t& stride) {
            stride = round_up(bytes, 16);
            const std::size_t at = all;
            all = round_up(all + stride * c.messages, 4096);
            return at;
        };
        input = place(c.bytes, text_stride);
        output = place(c.mode->mode == WARPAES_CMAC ? 0 : c.bytes, text_stride_out);
        iv = place(c.mode->iv_bytes, iv_stride);
        aad = place(c.aad_bytes, aad_stride);
        tag = place(c.mode->tag_bytes, tag_stride);
        key = place(c.own_keys ? c.key_bits / 8 : 0, key_stride);
    }
    std::size_t all = 0;
    std::size_t input, output, iv, aad, tag, key;
    std::size_t text_stride, text_stride_out, iv_stride, aad_stride, tag_stride, key_stride;
};

/// Owns memory of the kind that the case specifies.
class Memory {
public:
    Memory(const BatchCase& c, warpaes_engine* engine, std::size_t bytes) {
        if (c.memory == BatchMemory::pageable) {
            pageable_.resize(bytes);
            data_ = pageable_.data();
            return;
        }
        warpaes_arena* arena = nullptr;
        const auto kind = c.memory == BatchMemory::device ? WARPAES_MEMORY_DEVICE : WARPAES_MEMORY_PAGE_LOCKED;
        check(warpaes_arena_create(engine, kind, c.device, bytes, &arena));
        arena_.reset(arena);
        data_ = static_cast<unsigned char*>(warpaes_arena_data(arena));
    }
    [[nodiscard]] unsigned char* data() const { return data_; }

private:
    Arena arena_;
    std::vector<unsigned char> pageable_;
    unsigned char* data_ = nullptr;
};

struct BatchKeys {
    Key key, tweak_key;
};

std::vector<warpaes_batch_entry> entries_of(const BatchCase& c, const Layout& l, const BatchKeys& keys,
                                            unsigned char* base) {
    const auto elements = [&](std::size_t at, std::size_t stride, bool there) {
        warpaes_elements e{};
        if (!there) return e;
        e.at.pointer = base + at;
        e.stride = stride;
        return e;
    };
    warpaes_batch_entry e{};
    e.mode = c.mode->mode;
    e.direction = c.direction;
    e.count = c.messages;
    e.length = c.bytes;
    e.input = elements(l.input, l.text_stride, true);
    e.output = elements(l.output, l.text_stride, c.mode->mode != WARPAES_CMAC);
    e.iv = elements(l.iv, l.iv_stride, c.mode->iv_bytes != 0);
    e.aad = elements(l.aad, l.aad_stride, c.aad_bytes != 0);
    e.tag = elements(l.tag, l.tag_stride, c.mode->tag_bytes != 0);
    e.aad_len = c.aad_bytes;
    e.iv_len = c.mode->iv_bytes;
    e.tag_len = c.mode->tag_bytes;
    if (c.own_keys) {
        e.keys = elements(l.key, l.key_stride, true);
        e.key_len = c.key_bits / 8;
    } else {
        e.key = keys.key.get();
    }
    if (c.mode->mode == WARPAES_XTS) {
        e.tweak_key = keys.tweak_key.get();
        e.data_unit_len = std::min<std::size_t>(data_unit, c.bytes);
    }
    if (!c.own_entries) return {e};
    std::vector<warpaes_batch_entry> all(c.messages, e);
    for (std::size_t i = 0; i < all.size(); ++i) {
        all[i].count = 1;
        for (warpaes_elements* part :
             {&all[i].input, &all[i].output, &all[i].iv, &all[i].aad, &all[i].tag, &all[i].keys}) {
            part->at.offset += i * part->stride;
        }
    }
    return all;
}

/// Keeps up to `in_flight` batches in flight.
class BatchesInFlight {
public:
    BatchesInFlight(const BatchCase& c, warpaes_engine* engine, const Layout& layout, const BatchKeys& keys,
                    unsigned char* base)
        : engine_(engine), slots_(std::max(1U, c.in_flight)) {
        for (auto& slot : slots_) slot.entries = entries_of(c, layout, keys, base);
    }

    /// Returns seconds per batch.
    double time(unsigned calls) {
        const auto start = std::chrono::steady_clock::now();
        for (unsigned i = 0; i < calls; ++i) {
            Slot& slot = slots_[i % slots_.size()];
            finish(slot);
            warpaes_batch* batch = nullptr;
            check(warpaes_batch_submit(engine_, nullptr, slot.entries.data(), slot.entries.size(), &batch));
            slot.batch.reset(batch);
        }
        for (Slot& slot : slots_) finish(slot);
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / calls;
    }
    [[nodiscard]] const warpaes_batch_result& result() const { return result_; }
    [[nodiscard]] const std::string& reason() const { return reason_; }

private:
    struct Slot {
        std::vector<warpaes_batch_entry> entries;
        Batch batch;
    };
    void finish(Slot& slot) {
        if (slot.batch == nullptr) return;
        check(warpaes_batch_wait(slot.batch.get(), WARPAES_UNKNOWN));
        result_ = {};
        result_.struct_size = sizeof result_;
        check(warpaes_batch_query(slot.batch.get(), &result_));
        reason_ = result_.reason;
        slot.batch.reset();
    }

    warpaes_engine* engine_;
    std::vector<Slot> slots_;
    warpaes_batch_result result_{};
    std::string reason_;
};

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

void run_once(const BatchCase& c, warpaes_engine* engine, const Layout& layout, const BatchKeys& keys,
              unsigned char* base) {
    (void)BatchesInFlight(c, engine, layout, keys, base).time(1);
}

}  // namespace

const BatchMode* find_batch_mode(const std::string& name) {
    const auto it = std::find_if(std::begin(batch_modes), std::end(batch_modes),
                                 [&](const BatchMode& m) { return m.name == name; });
    return it == std::end(batch_modes) ? nullptr : &*it;
}

json bench_batch(const BatchCase& c, unsigned samples, double seconds) {
    const Engine engine = create_engine(c.backend, -1, c.threads), reference = create_engine("libcrypto", -1);
    const Layout layout(c);
    const BatchKeys keys{random_key(c.key_bits), random_key(c.key_bits)};
    std::vector<unsigned char> host(layout.all);
    fill_randomly(host);
    if (c.direction == WARPAES_DECRYPT && c.mode->tag_bytes != 0) {
        // Decryption needs authentic input.
        BatchCase seal = c;
        seal.direction = WARPAES_ENCRYPT;
        run_once(seal, reference.get(), layout, keys, host.data());
        if (c.mode->mode != WARPAES_CMAC) {
            std::copy_n(host.begin() + static_cast<std::ptrdiff_t>(layout.output), layout.text_stride * c.messages,
                        host.begin() + static_cast<std::ptrdiff_t>(layout.input));
        }
    }
    const Memory memory(c, engine.get(), layout.all);
    check(warpaes_copy(engine.get(), memory.data(), host.data(), layout.all));

    BatchesInFlight subject(c, engine.get(), layout, keys, memory.data());
    const double once = std::max(subject.time(2), 1e-7);
    std::vector<unsigned char> got(layout.all);
    check(warpaes_copy(engine.get(), got.data(), memory.data(), layout.all));
    run_once(c, reference.get(), layout, keys, host.data());
    if (got != host) {
        throw std::runtime_error(
            fmt::format("{} {}: outputs or tags differ from libcrypto's", c.backend, c.mode->name));
    }

    Engine baseline_engine;
    std::optional<BatchesInFlight> baseline;
    const bool on_cpu = subject.result().messages_on_gpu == 0;
    if (on_cpu && c.backend != "libcrypto") {
        baseline_engine = create_engine("libcrypto", -1, c.threads);
        baseline.emplace(c, baseline_engine.get(), layout, keys, memory.data());
        (void)baseline->time(1);
    }
    const auto calls = static_cast<unsigned>(std::clamp(seconds / samples / once, 1.0 * c.in_flight, 1e6));
    std::vector<double> times, baseline_times;
    for (unsigned i = 0; i < samples; ++i) {
        times.push_back(subject.time(calls));
        if (baseline) baseline_times.push_back(baseline->time(calls));
    }
    const double total = static_cast<double>(c.bytes) * static_cast<double>(c.messages);
    const auto rate = [&](double s) { return total / s / 1e9; };
    const auto& result = subject.result();
    json row{
        {"backend", c.backend},
        {"mode", c.mode->name},
        {"direction", c.direction == WARPAES_ENCRYPT ? "encrypt" : "decrypt"},
        {"key_bits", c.key_bits},
        {"bytes", c.bytes},
        {"messages", c.messages},
        {"aad_bytes", c.aad_bytes},
        {"keys", c.own_keys ? "each" : "one"},
        {"entries", c.own_entries ? "each" : "one"},
        {"memory", c.memory == BatchMemory::device  ? "device"
                   : c.memory == BatchMemory::arena ? "arena"
                                                    : "pageable"},
        {"threads", c.threads},
        {"in_flight", c.in_flight},
        {"samples", samples},
        {"calls_per_sample", calls},
        {"median_s", median(times)},
        {"best_s", *std::min_element(times.begin(), times.end())},
        {"gb_per_s", rate(median(times))},
        {"baseline_gb_per_s", nullptr},
        {"on_gpu", static_cast<double>(result.messages_on_gpu) / static_cast<double>(result.messages)},
        {"reason", subject.reason()},
        {"includes",
         "submitting, checking and waiting; outputs and tags are stored in the same kind of memory as the inputs"}};
    if (baseline) row["baseline_gb_per_s"] = rate(median(baseline_times));
    return row;
}

void print_batch_row(const json* row) {
    if (row == nullptr) {
        fmt::print("{:<10} {:<7} {:<8} {:>4} {:>9} {:>10} {:<5} {:<8} {:>10} {:>9}\n", "backend", "mode", "", "key",
                   "messages", "bytes", "keys", "memory", "GB/s", "libcrypto");
        return;
    }
    const json& r = *row;
    std::string beside;
    if (!r["baseline_gb_per_s"].is_null()) {
        const double baseline = r["baseline_gb_per_s"], ours = r["gb_per_s"];
        beside = fmt::format("{:9.2f} {:5.2f}x", baseline, ours / baseline);
    }
    fmt::print("{:<10} {:<7} {:<8} {:>4} {:>9} {:>10} {:<5} {:<8} {:10.2f} {}\n", r["backend"].get<std::string>(),
               r["mode"].get<std::string>(), r["direction"].get<std::string>(), r["key_bits"].get<int>(),
               r["messages"].get<std::size_t>(), r["bytes"].get<std::size_t>(), r["keys"].get<std::string>(),
               r["memory"].get<std::string>(), r["gb_per_s"].get<double>(), beside);
    show_row();
}

}  // namespace cli
