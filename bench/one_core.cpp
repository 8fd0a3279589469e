// Measures the speed of one core with messages of 64 bytes to 64 MiB, with one call per message. Compares warpaes_crypt
// with Intel's Multi-Buffer Crypto for IPsec (ipsec-mb), if it is installed, with libcrypto and with memcpy. libcrypto
// is measured with one context for all messages, and with a new context for each message. Prints a table, and writes
// the measurements as JSON.
//
//     one_core [--backend NAME] [--mode ctr|gcm] [--key BITS] [--size BYTES] [--aad BYTES] [--rounds N] [--json FILE]
//
// All outputs are compared before anything is timed. The subjects take turns of at least 150 microseconds, and the best
// turn counts, because the machine may have other work. The JSON file also contains medians.
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <sched.h>
#include <warpaes/warpaes.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#if defined(WARPAES_WITH_IPSEC_MB)
#include <intel-ipsec-mb.h>
#endif

namespace {

constexpr std::size_t tag_bytes = 16;

struct Case {
    bool gcm;
    bool encrypt;
    unsigned bits;
    std::size_t bytes;
    std::size_t aad_bytes;
};

/// Data shared by all subjects. `input` is plaintext, or ciphertext if the case decrypts it.
struct Data {
    std::array<std::uint8_t, 32> key{};
    std::array<std::uint8_t, 16> iv{};
    std::vector<std::uint8_t> aad, input, output;
    std::array<std::uint8_t, tag_bytes> tag{};  ///< encryption writes it; decryption expects it
};

void expect(bool right, const char* what) {
    if (!right) throw std::runtime_error(what);
}

class Subject {
public:
    virtual ~Subject() = default;
    Subject(const Subject&) = delete;
    Subject& operator=(const Subject&) = delete;
    /// Processes `calls` messages. Throws if a message fails.
    virtual void run(unsigned calls) = 0;

protected:
    Subject(const Case& c, Data& data) : c_(c), d_(data) {}
    const Case c_;
    Data& d_;
};

class Warpaes final : public Subject {
public:
    Warpaes(const Case& c, Data& data, warpaes_engine* engine) : Subject(c, data), engine_(engine) {
        expect(warpaes_key_create(d_.key.data(), c_.bits / 8, &key_) == WARPAES_OK, "warpaes_key_create");
        m_.mode = c_.gcm ? WARPAES_GCM : WARPAES_CTR;
        m_.direction = c_.encrypt ? WARPAES_ENCRYPT : WARPAES_DECRYPT;
        m_.key = key_;
        m_.iv_len = c_.gcm ? 12 : 16;
        if (!c_.gcm) return;
        m_.aad = d_.aad.data();
        m_.aad_len = c_.aad_bytes;
        m_.tag_len = tag_bytes;
    }
    ~Warpaes() override { warpaes_key_destroy(key_); }
    void run(unsigned calls) override {
        for (unsigned i = 0; i < calls; ++i) {
            m_.iv = d_.iv.data();
            m_.input = d_.input.data();
            m_.output = d_.output.data();
            m_.input_len = m_.output_capacity = c_.bytes;
            m_.tag = c_.gcm ? d_.tag.data() : nullptr;
            if (warpaes_crypt(engine_, &m_, nullptr) != WARPAES_OK) throw std::runtime_error(warpaes_last_error());
        }
    }

private:
    warpaes_engine* engine_;
    warpaes_key* key_ = nullptr;
    warpaes_message m_ = WARPAES_MESSAGE_INIT;
};

class Libcrypto final : public Subject {
public:
    Libcrypto(const Case& c, Data& data, bool anew)
        : Subject(c, data),
          anew_(anew),
          cipher_(EVP_CIPHER_fetch(nullptr, ("AES-" + std::to_string(c.bits) + (c.gcm ? "-GCM" : "-CTR")).c_str(),
                                   nullptr)) {
        expect(cipher_ != nullptr, "EVP_CIPHER_fetch");
        if (!anew_) start(d_.key.data());
    }
    ~Libcrypto() override {
        EVP_CIPHER_CTX_free(context_);
        EVP_CIPHER_free(cipher_);
    }
    void run(unsigned calls) override {
        for (unsigned i = 0; i < calls; ++i) {
            if (anew_) start(d_.key.data());
            message();
            if (!anew_) continue;
            EVP_CIPHER_CTX_free(context_);
            context_ = nullptr;
        }
    }

private:
    void start(const std::uint8_t* key) {
        context_ = EVP_CIPHER_CTX_new();
        expect(EVP_CipherInit_ex2(context_, cipher_, key, anew_ ? d_.iv.data() : nullptr, c_.encrypt ? 1 : 0,
                                  nullptr) == 1,
               "EVP_CipherInit_ex2");
    }
    void message() {
        int n = 0;
        bool right = anew_ || EVP_CipherInit_ex2(context_, nullptr, nullptr, d_.iv.data(), -1, nullptr) == 1;
        if (c_.gcm && c_.aad_bytes != 0) {
            right =
                right && EVP_CipherUpdate(context_, nullptr, &n, d_.aad.data(), static_cast<int>(c_.aad_bytes)) == 1;
        }
        right =
            right && EVP_CipherUpdate(context_, d_.output.data(), &n, d_.input.data(), static_cast<int>(c_.bytes)) == 1;
        if (c_.gcm) {
            if (!c_.encrypt) {
                right = right && EVP_CIPHER_CTX_ctrl(context_, EVP_CTRL_AEAD_SET_TAG, tag_bytes, d_.tag.data()) == 1;
            }
            std::uint8_t none[16];
            right = right && EVP_CipherFinal_ex(context_, none, &n) == 1;
            if (c_.encrypt) {
                right = right && EVP_CIPHER_CTX_ctrl(context_, EVP_CTRL_AEAD_GET_TAG, tag_bytes, d_.tag.data()) == 1;
            }
        }
        expect(right, "libcrypto");
    }

    bool anew_;
    EVP_CIPHER* cipher_;
    EVP_CIPHER_CTX* context_ = nullptr;
};

#if defined(WARPAES_WITH_IPSEC_MB)
IMB_MGR* ipsec_manager() {
    static IMB_MGR* const manager = [] {
        IMB_MGR* m = alloc_mb_mgr(0);
        if (m != nullptr) init_mb_mgr_auto(m, nullptr);
        return m;
    }();
    expect(manager != nullptr && imb_get_errno(manager) == 0, "ipsec-mb does not support this machine");
    return manager;
}

/// Measures ipsec-mb's functions for a single message, with an expanded key.
class IpsecGcm final : public Subject {
public:
    IpsecGcm(const Case& c, Data& data) : Subject(c, data), m_(ipsec_manager()) {
        c_.bits == 128 ? IMB_AES128_GCM_PRE(m_, d_.key.data(), &key_) : IMB_AES256_GCM_PRE(m_, d_.key.data(), &key_);
        crypt_ = c_.bits == 128 ? (c_.encrypt ? m_->gcm128_enc : m_->gcm128_dec)
                                : (c_.encrypt ? m_->gcm256_enc : m_->gcm256_dec);
    }
    void run(unsigned calls) override {
        for (unsigned i = 0; i < calls; ++i) {
            std::uint8_t tag[tag_bytes];
            crypt_(&key_, &context_, d_.output.data(), d_.input.data(), c_.bytes, d_.iv.data(), d_.aad.data(),
                   c_.aad_bytes, c_.encrypt ? d_.tag.data() : tag, tag_bytes);
            if (!c_.encrypt) expect(CRYPTO_memcmp(tag, d_.tag.data(), tag_bytes) == 0, "ipsec-mb: wrong tag");
        }
    }

private:
    IMB_MGR* m_;
    decltype(IMB_MGR::gcm128_enc) crypt_ = nullptr;
    alignas(64) gcm_key_data key_{};
    alignas(64) gcm_context_data context_{};
};

/// CTR is only available as jobs. With `burst`, a job is submitted as an array of one job; otherwise, through the
/// manager's queue.
class IpsecCtr final : public Subject {
public:
    IpsecCtr(const Case& c, Data& data, bool burst) : Subject(c, data), burst_(burst), m_(ipsec_manager()) {
        c_.bits == 128 ? IMB_AES_KEYEXP_128(m_, d_.key.data(), encrypt_.data(), decrypt_.data())
                       : IMB_AES_KEYEXP_256(m_, d_.key.data(), encrypt_.data(), decrypt_.data());
        fill(own_);
    }
    void run(unsigned calls) override {
        for (unsigned i = 0; i < calls; ++i) {
            if (burst_) {
                own_.src = d_.input.data();
                own_.dst = d_.output.data();
                own_.iv = d_.iv.data();
                own_.msg_len_to_cipher_in_bytes = c_.bytes;
                const auto done = IMB_SUBMIT_CIPHER_BURST_NOCHECK(m_, &own_, 1, IMB_CIPHER_CNTR, IMB_DIR_ENCRYPT,
                                                                  static_cast<IMB_KEY_SIZE_BYTES>(c_.bits / 8));
                expect(done == 1, "ipsec-mb: the burst is incomplete");
                continue;
            }
            IMB_JOB* const job = IMB_GET_NEXT_JOB(m_);
            fill(*job);
            expect(IMB_SUBMIT_JOB_NOCHECK(m_) == job, "ipsec-mb: the job is incomplete");
        }
    }

private:
    void fill(IMB_JOB& job) const {
        job.cipher_mode = IMB_CIPHER_CNTR;
        job.cipher_direction = IMB_DIR_ENCRYPT;
        job.hash_alg = IMB_AUTH_NULL;
        job.chain_order = IMB_ORDER_CIPHER_HASH;
        job.enc_keys = job.dec_keys = encrypt_.data();
        job.key_len_in_bytes = c_.bits / 8;
        job.iv = d_.iv.data();
        job.iv_len_in_bytes = 16;
        job.src = d_.input.data();
        job.dst = d_.output.data();
        job.cipher_start_src_offset_in_bytes = 0;
        job.msg_len_to_cipher_in_bytes = c_.bytes;
    }

    bool burst_;
    IMB_MGR* m_;
    alignas(16) std::array<std::uint8_t, 240> encrypt_{}, decrypt_{};
    IMB_JOB own_{};
};
#endif

/// Measures the limit that memory sets: for messages larger than the caches, no cipher can be faster than memcpy.
class Memcpy final : public Subject {
public:
    Memcpy(const Case& c, Data& data) : Subject(c, data) {}
    void run(unsigned calls) override {
        for (unsigned i = 0; i < calls; ++i) {
            std::memcpy(d_.output.data(), d_.input.data(), c_.bytes);
            asm volatile("" ::"r"(d_.output.data()) : "memory");
        }
    }
};

struct Named {
    const char* name;
    std::unique_ptr<Subject> subject;
    std::vector<double> seconds = {};  ///< seconds per message in each turn, sorted
};

constexpr const char* memcpy_name = "memcpy";

std::vector<Named> subjects_of(const Case& c, Data& data, warpaes_engine* engine) {
    std::vector<Named> all;
    all.push_back({"warpaes", std::make_unique<Warpaes>(c, data, engine)});
#if defined(WARPAES_WITH_IPSEC_MB)
    if (c.gcm) {
        all.push_back({"ipsec-mb", std::make_unique<IpsecGcm>(c, data)});
    } else {
        all.push_back({"ipsec-mb job", std::make_unique<IpsecCtr>(c, data, false)});
        all.push_back({"ipsec-mb burst", std::make_unique<IpsecCtr>(c, data, true)});
    }
#endif
    all.push_back({"libcrypto reused", std::make_unique<Libcrypto>(c, data, false)});
    all.push_back({"libcrypto anew", std::make_unique<Libcrypto>(c, data, true)});
    all.push_back({memcpy_name, std::make_unique<Memcpy>(c, data)});
    return all;
}

double time(Subject& subject, unsigned calls) {
    const auto begin = std::chrono::steady_clock::now();
    subject.run(calls);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / calls;
}

std::vector<Named> measure(const Case& c, warpaes_engine* engine, unsigned rounds) {
    constexpr double turn = 150e-6;
    Data data;
    for (std::size_t i = 0; i < data.key.size(); ++i) data.key[i] = static_cast<std::uint8_t>(7 * i + 1);
    for (std::size_t i = 0; i < 12; ++i) data.iv[i] = static_cast<std::uint8_t>(0xa0 + i);
    data.aad.resize(c.aad_bytes, 0x5a);
    data.input.resize(c.bytes);
    for (std::size_t i = 0; i < c.bytes; ++i) data.input[i] = static_cast<std::uint8_t>(i * i % 251);
    data.output.resize(c.bytes);
    if (!c.encrypt) {
        Case seal = c;
        seal.encrypt = true;
        Libcrypto(seal, data, false).run(1);
        std::swap(data.input, data.output);
    }
    std::vector<Named> all = subjects_of(c, data, engine);
    const Data before = data;
    std::vector<std::uint8_t> first;
    std::array<std::uint8_t, tag_bytes> tag{};
    std::vector<unsigned> calls;
    for (Named& one : all) {
        std::fill(data.output.begin(), data.output.end(), std::uint8_t{0});
        data.tag = before.tag;
        one.subject->run(1);
        if (one.name == memcpy_name) {  // the last subject, whose output is not compared
            first = data.output;
            tag = data.tag;
        }
        if (first.empty()) {
            first = data.output;
            tag = data.tag;
        }
        if (data.output != first || data.tag != tag) throw std::runtime_error(std::string(one.name) + ": wrong output");
        const double once = std::max(1e-8, time(*one.subject, 10));
        calls.push_back(static_cast<unsigned>(std::max(1.0, turn / once)));
    }
    for (unsigned round = 0; round < rounds; ++round) {
        for (std::size_t i = 0; i < all.size(); ++i) all[i].seconds.push_back(time(*all[i].subject, calls[i]));
    }
    for (Named& one : all) std::sort(one.seconds.begin(), one.seconds.end());
    return all;
}

/// Returns the time in the best turn of all subjects whose name begins with `name`, or 0 if there is no such subject.
double best(const std::vector<Named>& all, const std::string& name) {
    double seconds = 0;
    for (const Named& one : all) {
        if (!std::string(one.name).starts_with(name)) continue;
        if (seconds == 0 || one.seconds.front() < seconds) seconds = one.seconds.front();
    }
    return seconds;
}

void print_row(const Case& c, const std::vector<Named>& all) {
    const double ours = best(all, "warpaes"), ipsec = best(all, "ipsec-mb");
    const double reused = best(all, "libcrypto reused"), anew = best(all, "libcrypto anew");
    const auto rate = [&](double s) { return static_cast<double>(c.bytes) / s / 1e9; };
    std::printf("%s-%u %s %8zu %9.1f %8.2f", c.gcm ? "GCM" : "CTR", c.bits, c.encrypt ? "encrypt" : "decrypt", c.bytes,
                1e9 * ours, rate(ours));
    if (ipsec != 0) {
        std::printf(" %9.2f %6.2f", rate(ipsec), ipsec / ours);
    } else {
        std::printf(" %9s %6s", "", "");
    }
    const double copied = best(all, memcpy_name);
    std::printf(" %10.2f %6.2f %10.2f %6.2f %8.2f %6.2f\n", rate(reused), reused / ours, rate(anew), anew / ours,
                rate(copied), copied / ours);
    std::fflush(stdout);
}

void write_json(std::FILE* file, const Case& c, const std::vector<Named>& all, bool first) {
    for (const Named& one : all) {
        std::fprintf(file,
                     "%s\n  {\"subject\": \"%s\", \"mode\": \"%s\", \"direction\": \"%s\", \"key_bits\": %u, "
                     "\"bytes\": %zu, \"aad_bytes\": %zu, \"best_ns\": %.2f, \"median_ns\": %.2f}",
                     first ? "" : ",", one.name, c.gcm ? "gcm" : "ctr", c.encrypt ? "encrypt" : "decrypt", c.bits,
                     c.bytes, c.aad_bytes, 1e9 * one.seconds.front(), 1e9 * one.seconds[one.seconds.size() / 2]);
        first = false;
    }
}

/// Binds the thread to its current processor.
void stay_here() {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(std::max(0, sched_getcpu())), &set);
    (void)sched_setaffinity(0, sizeof set, &set);
}

struct Options {
    std::string backend, json;
    std::vector<std::string> modes{"ctr", "gcm"};
    std::vector<unsigned> keys{128, 256};
    std::vector<std::size_t> sizes{64, 256, 1500, 4096, 16384, 65536, 1048576, 67108864};
    std::size_t aad = 0;
    unsigned rounds = 60;
};

/// Parses the whole `text` as a number.
std::uint64_t number(const std::string& option, const std::string& text, std::uint64_t least, std::uint64_t most) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) {
        throw std::runtime_error(option + ": must be a number from " + std::to_string(least) + " to " +
                                 std::to_string(most) + ", not '" + text + "'");
    }
    return value;
}

Options parse(int argc, char** argv) {
    constexpr std::uint64_t most_bytes = INT_MAX;  // libcrypto's calls return lengths as int
    Options o;
    bool keys_given = false, sizes_given = false;
    const auto add = [](auto& list, bool& given, auto value) {
        if (!std::exchange(given, true)) list.clear();
        list.push_back(value);
    };
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string name = argv[i], value = argv[i + 1];
        if (name == "--backend") {
            o.backend = value;
        } else if (name == "--mode") {
            if (value != "ctr" && value != "gcm")
                throw std::runtime_error("--mode: must be ctr or gcm, not '" + value + "'");
            o.modes = {value};
        } else if (name == "--key") {
            const std::uint64_t bits = number(name, value, 128, 256);
            if (bits != 128 && bits != 256) throw std::runtime_error("--key: must be 128 or 256, not " + value);
            add(o.keys, keys_given, static_cast<unsigned>(bits));
        } else if (name == "--size") {
            add(o.sizes, sizes_given, static_cast<std::size_t>(number(name, value, 1, most_bytes)));
        } else if (name == "--aad") {
            o.aad = number(name, value, 0, most_bytes);
        } else if (name == "--rounds") {
            o.rounds = static_cast<unsigned>(number(name, value, 1, 1'000'000));
        } else if (name == "--json") {
            o.json = value;
        } else {
            throw std::runtime_error(name + ": unknown option");
        }
    }
    if (argc % 2 == 0) throw std::runtime_error(std::string(argv[argc - 1]) + ": requires a value");
    return o;
}

const char* ipsec_version() {
#if defined(WARPAES_WITH_IPSEC_MB)
    return imb_get_version_str();
#else
    return "";
#endif
}

void run(const Options& o) {
    stay_here();
    warpaes_engine_options options = WARPAES_ENGINE_OPTIONS_INIT;
    options.threads = 1;
    if (!o.backend.empty()) options.backend = o.backend.c_str();
    warpaes_engine* engine = nullptr;
    if (warpaes_engine_create(&options, &engine) != WARPAES_OK) throw std::runtime_error(warpaes_last_error());
    const std::unique_ptr<warpaes_engine, decltype(&warpaes_engine_destroy)> owned(engine, warpaes_engine_destroy);
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> json(
        o.json.empty() ? nullptr : std::fopen(o.json.c_str(), "w"), [](std::FILE* f) { return std::fclose(f); });
    if (!o.json.empty() && json == nullptr) throw std::runtime_error("--json: cannot write " + o.json);
    if (json != nullptr) {
        std::fprintf(json.get(), "{\"openssl\": \"%s\", \"ipsec_mb\": \"%s\", \"rows\": [",
                     OpenSSL_version(OPENSSL_VERSION), ipsec_version());
    }
    std::printf(
        "One core, one call per message; GB/s, and how many times as fast warpaes is.\n"
        "%-15s %8s %9s %8s %9s %6s %10s %6s %10s %6s %8s %6s\n",
        "", "bytes", "ns", "warpaes", "ipsec-mb", "x", "libcrypto", "x", "set up anew", "x", "memcpy", "x");
    bool first = true;
    for (const std::string& mode : o.modes) {
        for (const unsigned bits : o.keys) {
            for (const bool encrypt : {true, false}) {
                const bool gcm = mode == "gcm";
                if (!gcm && !encrypt) continue;  // CTR decryption is the same operation as encryption
                for (const std::size_t bytes : o.sizes) {
                    const Case c{gcm, encrypt, bits, bytes, gcm ? o.aad : 0};
                    const auto all = measure(c, engine, o.rounds);
                    print_row(c, all);
                    if (json != nullptr) write_json(json.get(), c, all, std::exchange(first, false));
                }
            }
        }
    }
    if (json != nullptr) std::fprintf(json.get(), "\n]}\n");
}

}  // namespace

int main(int argc, char** argv) {
    try {
        run(parse(argc, argv));
    } catch (const std::exception& e) {
        std::fprintf(stderr, "one_core: %s\n", e.what());
        return 1;
    }
    return 0;
}
