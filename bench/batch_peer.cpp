// Compares batches on one core with Intel's Multi-Buffer Crypto for IPsec (ipsec-mb): messages of 64 bytes to 16 KiB,
// under one key and under many keys. Each message has its own IV. Prints a table, and writes the measurements as JSON.
//
//     batch_peer [--mode LIST] [--size LIST] [--keys LIST] [--order LIST] [--bits LIST] [--mib N] [--rounds N]
//                [--json FILE]
//
// Adjacent messages share a key. With `--order random`, each message uses a random key, and each message of warpaes is
// an entry. With `--keys each`, each message has a key of 16 or 32 bytes that is used only once, and the time includes
// the expansion of the keys.
//
// `--mib` sets the size of a batch's text (default: 1, which fits in a second-level cache). ipsec-mb is used through
// each interface that supports the mode: bursts of the maximum number of jobs, the job queue, and the function for a
// single GCM message. Keys that several messages share are expanded in advance, and its fastest interface counts. All
// outputs and tags are compared. The subjects take turns, and the best turn counts, because the machine may have other
// work.
#include <intel-ipsec-mb.h>
#include <sched.h>
#include <warpaes/warpaes.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "handles.hpp"

namespace {

using namespace bench;

constexpr std::size_t tag_bytes = 16, aad_bytes = 12;

struct Case {
    std::string mode;  ///< ctr, cbc or gcm
    bool encrypt;
    unsigned bits;
    std::size_t bytes, messages, keys;
    bool random = false;  ///< the order of the keys
    bool raw = false;     ///< each message has a key that is not expanded
    [[nodiscard]] bool gcm() const { return mode == "gcm"; }
    [[nodiscard]] std::uint32_t iv_bytes() const { return gcm() ? 12 : 16; }
    [[nodiscard]] std::size_t stride() const { return (bytes + 15) / 16 * 16; }
    [[nodiscard]] std::size_t key_of(std::size_t message) const {
        if (!random) return message * keys / messages;
        return (message * 0x9e3779b97f4a7c15U >> 40) % keys;
    }
};

struct Data {
    explicit Data(const Case& c)
        : keys(32 * c.keys),
          ivs(16 * c.messages),
          aad(16 * c.messages),
          input(c.stride() * c.messages),
          output(input.size()),
          tags(tag_bytes * c.messages) {
        unsigned seed = 1;
        for (auto* bytes : {&keys, &ivs, &aad, &input}) {
            for (std::uint8_t& byte : *bytes)
                byte = static_cast<std::uint8_t>((seed = seed * 1103515245 + 12345) >> 16);
        }
    }
    std::vector<std::uint8_t> keys, ivs, aad, input, output, tags;
};

struct Subject {
    const char* name;
    std::function<void()> run;
    double seconds = 1e9;
};

class Warpaes {
public:
    Warpaes(const Case& c, Data& d) : engine_(nullptr, 1) {
        for (std::size_t k = 0; !c.raw && k < c.keys; ++k) {
            check(warpaes_key_create(&d.keys[32 * k], c.bits / 8, &keys_.emplace_back()));
        }
        for (std::size_t first = 0; first < c.messages;) {
            std::size_t end = first + 1;
            while (end < c.messages && (c.raw || c.key_of(end) == c.key_of(first))) ++end;
            const auto part = [&](std::vector<std::uint8_t>& all, std::size_t stride) {
                return warpaes_elements{{.pointer = all.data() + first * stride}, stride};
            };
            warpaes_batch_entry e{};
            e.mode = c.gcm() ? WARPAES_GCM : c.mode == "cbc" ? WARPAES_CBC : WARPAES_CTR;
            e.direction = c.encrypt ? WARPAES_ENCRYPT : WARPAES_DECRYPT;
            e.count = end - first;
            e.length = c.bytes;
            e.input = part(d.input, c.stride());
            e.output = part(d.output, c.stride());
            e.iv = part(d.ivs, 16);
            e.iv_len = c.iv_bytes();
            if (c.gcm()) {
                e.aad = part(d.aad, 16);
                e.aad_len = aad_bytes;
                e.tag = part(d.tags, tag_bytes);
                e.tag_len = tag_bytes;
            }
            if (c.raw) {
                e.keys = part(d.keys, 32);
                e.key_len = c.bits / 8;
            } else {
                e.key = keys_[c.key_of(first)];
            }
            entries_.push_back(e);
            first = end;
        }
    }
    Warpaes(const Warpaes&) = delete;
    Warpaes& operator=(const Warpaes&) = delete;
    ~Warpaes() {
        for (warpaes_key* key : keys_) warpaes_key_destroy(key);
    }
    void run() {
        warpaes_batch* batch = nullptr;
        check(warpaes_batch_submit(engine_.get(), nullptr, entries_.data(), entries_.size(), &batch));
        const warpaes_status status = warpaes_batch_wait(batch, WARPAES_UNKNOWN);
        warpaes_batch_destroy(batch);
        check(status);
    }

private:
    Engine engine_;
    std::vector<warpaes_key*> keys_;
    std::vector<warpaes_batch_entry> entries_;
};

IMB_MGR* manager() {
    static IMB_MGR* const its = [] {
        IMB_MGR* m = alloc_mb_mgr(0);
        if (m != nullptr) init_mb_mgr_auto(m, nullptr);
        return m;
    }();
    expect(its != nullptr && imb_get_errno(its) == 0, "ipsec-mb does not support this machine");
    return its;
}

class Ipsec {
public:
    Ipsec(const Case& c, Data& d)
        : c_(c),
          d_(d),
          m_(manager()),
          slots_(c.raw ? IMB_MAX_BURST_SIZE : c.keys),
          gcm_(c.gcm() ? slots_ : 0),
          keys_(slots_) {
        for (std::size_t k = 0; !c.raw && k < c.keys; ++k) expand(k);
        for (std::size_t i = 0; i < c.messages; ++i) fill(jobs_.emplace_back(), i);
    }

    /// Submits bursts of cipher jobs, or bursts of complete jobs for GCM, which has no cipher jobs.
    void burst() {
        for (std::size_t first = 0; first < c_.messages;) {
            const auto n = static_cast<std::uint32_t>(std::min<std::size_t>(IMB_MAX_BURST_SIZE, c_.messages - first));
            for (std::size_t i = first; c_.raw && i < first + n; ++i) expand(i);
            if (!c_.gcm()) {
                const auto direction = c_.encrypt ? IMB_DIR_ENCRYPT : IMB_DIR_DECRYPT;
                const auto done =
                    IMB_SUBMIT_CIPHER_BURST_NOCHECK(m_, &jobs_[first], n, jobs_[first].cipher_mode, direction,
                                                    static_cast<IMB_KEY_SIZE_BYTES>(c_.bits / 8));
                expect(done == n, "ipsec-mb: a burst is incomplete");
                first += n;
                continue;
            }
            IMB_JOB* burst[IMB_MAX_BURST_SIZE];
            const std::uint32_t room = IMB_GET_NEXT_BURST(m_, n, burst);
            expect(room != 0, "ipsec-mb: no jobs");
            for (std::uint32_t i = 0; i < room; ++i) fill(*burst[i], first + i);
            std::uint32_t done = IMB_SUBMIT_BURST_NOCHECK(m_, room, burst);
            done += done < room ? IMB_FLUSH_BURST(m_, room - done, burst) : 0;
            expect(done == room, "ipsec-mb: a burst is incomplete");
            first += room;
        }
    }
    void jobs() {
        for (std::size_t i = 0; i < c_.messages; ++i) {
            fill(*IMB_GET_NEXT_JOB(m_), i);
            (void)IMB_SUBMIT_JOB_NOCHECK(m_);
        }
        while (IMB_FLUSH_JOB(m_) != nullptr) {
        }
    }
    /// Uses GCM's function for a single message.
    void one_by_one() {
        const auto crypt = c_.bits == 128 ? (c_.encrypt ? m_->gcm128_enc : m_->gcm128_dec)
                                          : (c_.encrypt ? m_->gcm256_enc : m_->gcm256_dec);
        for (std::size_t i = 0; i < c_.messages; ++i) {
            if (c_.raw) expand(i);
            crypt(&gcm_[slot_of(i)], &context_, &d_.output[i * c_.stride()], &d_.input[i * c_.stride()], c_.bytes,
                  &d_.ivs[16 * i], &d_.aad[16 * i], aad_bytes, &d_.tags[tag_bytes * i], tag_bytes);
        }
    }

private:
    struct alignas(64) Key {
        std::uint32_t encrypt[60], decrypt[60];
    };
    [[nodiscard]] std::size_t slot_of(std::size_t message) const {
        return c_.raw ? message % slots_ : c_.key_of(message);
    }
    /// Expands key `k` into its slot.
    void expand(std::size_t k) {
        const std::uint8_t* const key = &d_.keys[32 * k];
        const std::size_t slot = k % slots_;
        if (c_.gcm()) {
            c_.bits == 128 ? IMB_AES128_GCM_PRE(m_, key, &gcm_[slot]) : IMB_AES256_GCM_PRE(m_, key, &gcm_[slot]);
        } else {
            c_.bits == 128 ? IMB_AES_KEYEXP_128(m_, key, keys_[slot].encrypt, keys_[slot].decrypt)
                           : IMB_AES_KEYEXP_256(m_, key, keys_[slot].encrypt, keys_[slot].decrypt);
        }
    }
    void fill(IMB_JOB& job, std::size_t i) {
        const std::size_t k = slot_of(i);
        job.cipher_direction = c_.encrypt ? IMB_DIR_ENCRYPT : IMB_DIR_DECRYPT;
        job.chain_order = c_.encrypt ? IMB_ORDER_CIPHER_HASH : IMB_ORDER_HASH_CIPHER;
        job.cipher_mode = c_.gcm() ? IMB_CIPHER_GCM : c_.mode == "cbc" ? IMB_CIPHER_CBC : IMB_CIPHER_CNTR;
        job.hash_alg = c_.gcm() ? IMB_AUTH_AES_GMAC : IMB_AUTH_NULL;
        job.enc_keys = c_.gcm() ? static_cast<const void*>(&gcm_[k]) : keys_[k].encrypt;
        job.dec_keys = c_.gcm() ? static_cast<const void*>(&gcm_[k]) : keys_[k].decrypt;
        if (c_.mode == "ctr") job.dec_keys = keys_[k].encrypt;
        job.key_len_in_bytes = c_.bits / 8;
        job.iv = &d_.ivs[16 * i];
        job.iv_len_in_bytes = c_.iv_bytes();
        job.src = &d_.input[i * c_.stride()];
        job.dst = &d_.output[i * c_.stride()];
        job.cipher_start_src_offset_in_bytes = 0;
        job.msg_len_to_cipher_in_bytes = c_.bytes;
        job.hash_start_src_offset_in_bytes = 0;
        job.msg_len_to_hash_in_bytes = c_.bytes;
        if (!c_.gcm()) return;
        job.u.GCM.aad = &d_.aad[16 * i];
        job.u.GCM.aad_len_in_bytes = aad_bytes;
        job.auth_tag_output = &d_.tags[tag_bytes * i];
        job.auth_tag_output_len_in_bytes = tag_bytes;
    }

    const Case& c_;
    Data& d_;
    IMB_MGR* m_;
    std::size_t slots_;  ///< number of expanded keys
    std::vector<gcm_key_data> gcm_;
    std::vector<Key> keys_;
    std::vector<IMB_JOB> jobs_;
    alignas(64) gcm_context_data context_{};
};

double seconds_of(const std::function<void()>& run, unsigned calls) {
    const auto begin = std::chrono::steady_clock::now();
    for (unsigned i = 0; i < calls; ++i) run();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / calls;
}

std::vector<Subject> measure(const Case& c, unsigned rounds) {
    Data d(c);
    if (!c.encrypt && c.gcm()) {  // creates ciphertexts that match the tags
        Case seal = c;
        seal.encrypt = true;
        Warpaes(seal, d).run();
        d.input.swap(d.output);
    }
    Warpaes ours(c, d);
    Ipsec peer(c, d);
    std::vector<Subject> all{{"warpaes", [&] { ours.run(); }}, {"ipsec-mb burst", [&] { peer.burst(); }}};
    if (!c.raw) all.push_back({"ipsec-mb jobs", [&] { peer.jobs(); }});  // whose queue would outlive the key slots
    if (c.gcm()) all.push_back({"ipsec-mb one by one", [&] { peer.one_by_one(); }});
    std::vector<std::uint8_t> output, tags;
    std::vector<unsigned> calls;
    for (Subject& one : all) {
        std::fill(d.output.begin(), d.output.end(), std::uint8_t{0});
        one.run();
        if (output.empty()) {
            output = d.output;
            tags = d.tags;
        }
        expect(d.output == output && d.tags == tags, std::string(one.name) + ": wrong output");
        calls.push_back(static_cast<unsigned>(std::max(1.0, 3e-4 / std::max(1e-7, seconds_of(one.run, 3)))));
    }
    for (unsigned round = 0; round < rounds; ++round) {
        for (std::size_t i = 0; i < all.size(); ++i) {
            all[i].seconds = std::min(all[i].seconds, seconds_of(all[i].run, calls[i]));
        }
    }
    return all;
}

std::vector<std::string> split(const std::string& list) {
    std::vector<std::string> parts;
    std::stringstream stream(list);
    for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
    return parts;
}

std::size_t number(const std::string& option, const std::string& text) {
    char* end = nullptr;
    const unsigned long long n = std::strtoull(text.c_str(), &end, 10);
    expect(!text.empty() && *end == 0 && n != 0 && n < (1ULL << 30),
           option + ": '" + text + "' is not a number above 0");
    return static_cast<std::size_t>(n);
}

void stay_here() {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(std::max(0, sched_getcpu())), &set);
    (void)sched_setaffinity(0, sizeof set, &set);
}

int run(int argc, char** argv) {
    std::string modes = "ctr,cbc,gcm", sizes = "64,256,1024,1504,4096,16384", keys = "1,64", bits = "128,256",
                orders = "adjacent", json;
    std::size_t mib = 1, rounds = 40;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string name = argv[i], value = argv[i + 1];
        if (name == "--mode") {
            modes = value;
        } else if (name == "--size") {
            sizes = value;
        } else if (name == "--keys") {
            keys = value;
        } else if (name == "--order") {
            orders = value;
        } else if (name == "--bits") {
            bits = value;
        } else if (name == "--json") {
            json = value;
        } else if (name == "--mib") {
            mib = number(name, value);
        } else if (name == "--rounds") {
            rounds = number(name, value);
        } else {
            expect(false, name + ": unknown option");
        }
    }
    expect(argc % 2 == 1, std::string(argv[argc - 1]) + ": requires a value");
    stay_here();
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(json.empty() ? nullptr : std::fopen(json.c_str(), "w"),
                                                               [](std::FILE* f) { return std::fclose(f); });
    expect(json.empty() || file != nullptr, "--json: cannot write " + json);
    if (file != nullptr) std::fprintf(file.get(), "{\"ipsec_mb\": \"%s\", \"rows\": [", imb_get_version_str());
    std::printf("One core, GB/s, and how many times as fast warpaes is.\n%-16s %7s %9s %6s %-8s %8s %9s %6s\n", "",
                "bytes", "messages", "keys", "order", "warpaes", "ipsec-mb", "x");
    bool first = true;
    const auto write = [&](const Case& c, const std::string& keys_text, const std::string& order,
                           const std::vector<Subject>& all) {
        double peer = 1e9;
        for (const Subject& one : all) {
            if (&one != &all.front()) peer = std::min(peer, one.seconds);
            if (file == nullptr) continue;
            std::fprintf(file.get(),
                         "%s\n {\"subject\": \"%s\", \"mode\": \"%s\", \"direction\": \"%s\", "
                         "\"key_bits\": %u, \"bytes\": %zu, \"messages\": %zu, \"keys\": %zu, \"order\": \"%s\", "
                         "\"raw_keys\": %s, \"best_us\": %.3f}",
                         first ? "" : ",", one.name, c.mode.c_str(), c.encrypt ? "encrypt" : "decrypt", c.bits, c.bytes,
                         c.messages, c.keys, order.c_str(), c.raw ? "true" : "false", 1e6 * one.seconds);
            first = false;
        }
        const auto rate = [&](double s) { return static_cast<double>(c.bytes * c.messages) / s / 1e9; };
        const double ours = all.front().seconds;
        std::printf("%s-%u %s %7zu %9zu %6s %-8s %8.2f %9.2f %6.2f\n", c.mode.c_str(), c.bits,
                    c.encrypt ? "encrypt" : "decrypt", c.bytes, c.messages, keys_text.c_str(), order.c_str(),
                    rate(ours), rate(peer), peer / ours);
        std::fflush(stdout);
    };
    for (const std::string& mode : split(modes)) {
        expect(mode == "ctr" || mode == "cbc" || mode == "gcm", "--mode: '" + mode + "' is not ctr, cbc or gcm");
        for (const bool encrypt : {true, false}) {
            if (mode == "ctr" && !encrypt) continue;
            for (const std::string& b : split(bits))
                for (const std::string& order : split(orders))
                    for (const std::string& k : split(keys))
                        for (const std::string& n : split(sizes)) {
                            const std::size_t bytes = number("--size", n);
                            Case c{mode,
                                   encrypt,
                                   static_cast<unsigned>(number("--bits", b)),
                                   bytes,
                                   std::max<std::size_t>((mib << 20) / bytes, 64),
                                   0};
                            expect(order == "adjacent" || order == "random",
                                   "--order: '" + order + "' is not adjacent or random");
                            c.raw = k == "each";
                            c.random = order == "random" && !c.raw;
                            c.keys = c.raw ? c.messages : std::min(number("--keys", k), c.messages);
                            if (mode == "cbc" && bytes % 16 != 0) continue;
                            write(c, k, order, measure(c, static_cast<unsigned>(rounds)));
                        }
        }
    }
    if (file != nullptr) std::fprintf(file.get(), "\n]}\n");
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "batch_peer: %s\n", e.what());
        return 1;
    }
}
