// Marks keys and texts as undefined for valgrind's memcheck, which tracks all values computed from them and reports
// every branch and address that depends on such a value.
#include <dlfcn.h>
#include <valgrind/memcheck.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "warpaes/drbg.h"
#include "warpaes/files.h"

// The results of two comparisons of secrets are public: whether a tag is right, and whether XTS's two keys are equal.
#pragma GCC visibility push(default)
extern "C" int CRYPTO_memcmp(const void* a, const void* b, std::size_t bytes) {
    static const auto real = reinterpret_cast<decltype(&CRYPTO_memcmp)>(dlsym(RTLD_NEXT, "CRYPTO_memcmp"));
    const int result = real(a, b, bytes);
    (void)VALGRIND_MAKE_MEM_DEFINED(&result, sizeof result);
    return result;
}
#pragma GCC visibility pop

namespace {

constexpr std::size_t text_bytes = 80000;
constexpr std::uint64_t messages = 9;

int failures = 0;

/// Checks that `work` does not branch on a secret or, with `planted`, that it does.
void check(const std::string& name, const std::function<void()>& work, bool planted = false) {
    const auto before = VALGRIND_COUNT_ERRORS;
    work();
    const auto errors = VALGRIND_COUNT_ERRORS - before;
    if ((errors != 0) == planted) return;
    ++failures;
    std::printf("%s: %s\n", name.c_str(), planted ? "was not noticed" : "depends on a secret");
}

void expect(warpaes_status status, const char* what) {
    if (status == WARPAES_OK) return;
    ++failures;
    std::printf("%s: status %d, %s\n", what, status, warpaes_last_error());
}

/// IV lengths in bytes. If an IV is not 12 bytes long, GCM derives a counter from it that is as secret as H.
std::vector<std::size_t> iv_lengths(int mode) {
    if (mode == WARPAES_GCM) return {12, 1, 8, 16, 20};
    return {mode == WARPAES_ECB || mode == WARPAES_CMAC ? 0u : mode == WARPAES_CCM ? 12u : 16u};
}

/// Secrets that are created again before each operation. Parts of a result become public before the test reads them.
struct Secrets {
    std::uint8_t key[32], tweak_key[32], keys[messages][32];
    std::uint8_t plain[text_bytes], sealed[text_bytes + 64], opened[text_bytes + 64];
    std::uint8_t tags[messages][16];
    std::uint8_t ivs[messages][20];  // public

    Secrets() {
        for (unsigned i = 0; i < 32; ++i) {
            key[i] = static_cast<std::uint8_t>(7 * i + 1);
            tweak_key[i] = static_cast<std::uint8_t>(5 * i + 3);
            for (unsigned m = 0; m < messages; ++m) keys[m][i] = static_cast<std::uint8_t>(11 * i + 17 * m);
        }
        for (std::size_t i = 0; i < text_bytes; ++i) plain[i] = static_cast<std::uint8_t>(i * i + 3);
        std::memset(ivs, 0, sizeof ivs);
        for (unsigned m = 0; m < messages; ++m) ivs[m][0] = static_cast<std::uint8_t>(m);
        std::memset(sealed, 0, sizeof sealed);
        std::memset(tags, 0, sizeof tags);
        (void)VALGRIND_MAKE_MEM_UNDEFINED(key, sizeof key);
        (void)VALGRIND_MAKE_MEM_UNDEFINED(tweak_key, sizeof tweak_key);
        (void)VALGRIND_MAKE_MEM_UNDEFINED(keys, sizeof keys);
        (void)VALGRIND_MAKE_MEM_UNDEFINED(plain, sizeof plain);
    }
};

Secrets secrets;
warpaes_engine* engine = nullptr;

/// Keys of `bytes` bytes.
struct Keys {
    explicit Keys(std::size_t bytes) {
        expect(warpaes_key_create(secrets.key, bytes, &key), "key");
        expect(warpaes_key_create(secrets.tweak_key, bytes, &tweak_key), "tweak key");
    }
    ~Keys() {
        warpaes_key_destroy(key);
        warpaes_key_destroy(tweak_key);
    }
    Keys(const Keys&) = delete;
    Keys& operator=(const Keys&) = delete;
    warpaes_key *key = nullptr, *tweak_key = nullptr;
};

void crypt(int mode, int direction, std::size_t key_bytes, std::size_t iv_bytes, std::size_t length) {
    const Keys keys(key_bytes);
    const bool encrypts = direction == WARPAES_ENCRYPT;
    warpaes_message m = WARPAES_MESSAGE_INIT;
    m.mode = static_cast<warpaes_mode>(mode);
    m.direction = static_cast<warpaes_direction>(direction);
    m.key = keys.key;
    m.iv = secrets.ivs[0];
    m.iv_len = iv_bytes;
    m.input = encrypts || mode == WARPAES_CMAC ? secrets.plain : secrets.sealed;
    m.input_len = length;
    m.output = encrypts ? secrets.sealed : secrets.opened;
    m.output_capacity = text_bytes;
    if (mode == WARPAES_XTS) {
        m.tweak_key = keys.tweak_key;
        m.data_unit_len = 4096;
    }
    if (mode >= WARPAES_GCM) {
        m.tag = secrets.tags[0];
        m.tag_len = 16;
    }
    expect(warpaes_crypt(engine, &m, nullptr), "crypt");
}

/// Runs the modes that are composed of other modes.
void composed(int mode, int direction, std::size_t key_bytes, std::size_t length) {
    const Keys keys(key_bytes);
    const bool encrypts = direction == WARPAES_ENCRYPT, wraps = mode == WARPAES_KW || mode == WARPAES_KWP;
    const std::size_t wrapped = (length + 7) / 8 * 8 + 8;
    warpaes_message m = WARPAES_MESSAGE_INIT;
    m.mode = static_cast<warpaes_mode>(mode);
    m.direction = static_cast<warpaes_direction>(direction);
    m.key = keys.key;
    m.input = encrypts ? secrets.plain : secrets.sealed;
    m.input_len = !encrypts && wraps ? wrapped : length;
    m.output = encrypts ? secrets.sealed : secrets.opened;
    m.output_capacity = text_bytes;
    if (!wraps) {
        m.iv = secrets.ivs[0];
        m.iv_len = 12;
        m.aad = secrets.keys;  // associated data is treated as secret, like a text
        m.aad_len = 100;
        m.tag = secrets.tags[0];
        m.tag_len = 16;
    }
    if (mode == WARPAES_SIV) m.mac_key = keys.tweak_key;
    expect(warpaes_crypt(engine, &m, nullptr), "crypt");
}

void drbg(std::uint32_t bits, std::uint32_t flags) {
    warpaes_drbg_options o = WARPAES_DRBG_OPTIONS_INIT;
    o.key_bits = bits;
    o.flags = flags;
    o.entropy = secrets.keys;
    o.entropy_len = bits / 8 + 16;
    o.nonce = flags == 0 ? secrets.tweak_key : nullptr;
    o.nonce_len = flags == 0 ? 32 : 0;
    warpaes_drbg* generator = nullptr;
    expect(warpaes_drbg_create(engine, &o, &generator), "drbg_create");
    expect(warpaes_drbg_generate(generator, secrets.opened, 1000, secrets.plain, 20, 0), "drbg_generate");
    expect(warpaes_drbg_reseed(generator, secrets.keys, bits / 8 + 16, nullptr, 0), "drbg_reseed");
    expect(warpaes_drbg_generate(generator, secrets.opened, 20000, nullptr, 0, 0), "drbg_generate");
    warpaes_drbg_destroy(generator);
}

void batch(int mode, int direction, std::size_t key_bytes, std::size_t iv_bytes, std::size_t length, bool own_keys) {
    const Keys keys(key_bytes);
    const bool encrypts = direction == WARPAES_ENCRYPT;
    warpaes_batch_entry e = {};
    e.mode = static_cast<warpaes_mode>(mode);
    e.direction = static_cast<warpaes_direction>(direction);
    e.count = messages;
    e.length = length;
    e.input = {{encrypts || mode == WARPAES_CMAC ? secrets.plain : secrets.sealed}, length};
    e.output = {{encrypts ? secrets.sealed : secrets.opened}, length};
    e.iv = {{secrets.ivs}, sizeof secrets.ivs[0]};
    e.iv_len = static_cast<std::uint32_t>(iv_bytes);
    if (own_keys) {
        e.keys = {{secrets.keys}, 32};
        e.key_len = static_cast<std::uint32_t>(key_bytes);
    } else {
        e.key = keys.key;
    }
    if (mode == WARPAES_XTS) e.tweak_key = keys.tweak_key;
    if (mode >= WARPAES_GCM) {
        e.tag = {{secrets.tags}, 16};
        e.tag_len = 16;
    }
    warpaes_batch* b = nullptr;
    expect(warpaes_batch_submit(engine, nullptr, &e, 1, &b), "batch_submit");
    expect(warpaes_batch_wait(b, WARPAES_UNKNOWN), "batch");
    warpaes_batch_destroy(b);
}

void context(int mode, int direction, std::size_t key_bytes, std::size_t iv_bytes) {
    const Keys keys(key_bytes);
    const bool encrypts = direction == WARPAES_ENCRYPT;
    std::uint8_t* const input = encrypts || mode == WARPAES_CMAC ? secrets.plain : secrets.sealed;
    std::uint8_t* const output = encrypts ? secrets.sealed : secrets.opened;
    warpaes_context* c = nullptr;
    std::size_t written = 0, at = 0;
    expect(warpaes_context_create(engine, &c), "context_create");
    warpaes_context_options o = WARPAES_CONTEXT_OPTIONS_INIT;
    o.mode = static_cast<warpaes_mode>(mode);
    o.direction = static_cast<warpaes_direction>(direction);
    o.key = keys.key;
    o.iv = secrets.ivs[0];
    o.iv_len = iv_bytes;
    if (mode == WARPAES_XTS) {
        o.tweak_key = keys.tweak_key;
        o.data_unit_len = 490;  // the last unit has 28 bytes
    }
    if (mode == WARPAES_CCM) {
        o.text_len = 1008;
        o.tag_len = 16;
    }
    expect(warpaes_context_init(c, &o), "context_init");
    expect(warpaes_context_update(c, input, 5, output, text_bytes, &written), "context_update");
    at += written;
    expect(warpaes_context_update(c, input + 5, 1003, output + at, text_bytes - at, &written), "context_update");
    at += written;
    if (mode >= WARPAES_GCM && !encrypts) expect(warpaes_context_set_tag(c, secrets.tags[0], 16), "context_set_tag");
    expect(warpaes_context_final(c, output + at, text_bytes - at, &written), "context_final");
    if (mode >= WARPAES_GCM && encrypts) expect(warpaes_context_get_tag(c, secrets.tags[0], 16), "context_get_tag");
    warpaes_context_destroy(c);
}

/// Runs the operations of a file's reader and writer on the keyset's key, without a file.
void streams(const char* name) {
    static std::vector<std::uint8_t> file;
    file.clear();
    warpaes_keyset* keyset = nullptr;
    expect(warpaes_keyset_from_raw(name, secrets.key, 32, &keyset), "keyset_from_raw");
    warpaes_sink sink = {};
    sink.struct_size = sizeof sink;
    sink.write = [](void*, const void* bytes, std::uint64_t length) {
        (void)VALGRIND_MAKE_MEM_DEFINED(bytes, length);  // sealed data is public
        const auto* const from = static_cast<const std::uint8_t*>(bytes);
        file.insert(file.end(), from, from + length);
        return 0;
    };
    warpaes_writer* writer = nullptr;
    expect(warpaes_writer_open(engine, &sink, keyset, nullptr, 0, &writer), "writer_open");
    expect(warpaes_writer_write(writer, secrets.plain, text_bytes), "writer_write");
    expect(warpaes_writer_finish(writer), "writer_finish");
    warpaes_writer_close(writer);
    warpaes_source source = {};
    source.struct_size = sizeof source;
    source.memory = file.data();
    source.memory_len = file.size();
    warpaes_reader* reader = nullptr;
    std::uint64_t read = 0;
    expect(warpaes_reader_open(engine, &source, keyset, nullptr, 0, &reader), "reader_open");
    expect(warpaes_reader_read(reader, 100, secrets.opened, 9000, &read), "reader_read");
    warpaes_reader_close(reader);
    warpaes_keyset_destroy(keyset);
}

/// Checks that memcheck detects a dependence.
void planted() {
    static volatile int target = 0;
    (void)target;
    static const std::uint8_t table[256] = {1, 2, 3};
    check(
        "a planted branch",
        [] {
            if ((secrets.key[3] & 1) != 0) target = 1;
        },
        true);
    check(
        "a planted lookup", [] { target = table[secrets.key[4]]; }, true);
    check(
        "a planted branch on a ciphertext",
        [] {
            crypt(WARPAES_CTR, WARPAES_ENCRYPT, 16, 16, 64);
            if ((secrets.sealed[5] & 1) != 0) target = 2;
        },
        true);
}

void mode_of_length(int mode, std::size_t key_bytes, std::size_t iv_bytes, const std::string& backend) {
    // Runs encryption and immediately decrypts the ciphertext.
    const auto both = [&](const std::string& what, const std::function<void(int)>& work) {
        for (const int direction : {WARPAES_ENCRYPT, WARPAES_DECRYPT}) {
            check(backend + ", " + std::to_string(8 * key_bytes) + " bits, mode " + std::to_string(mode) + ", IV of " +
                      std::to_string(iv_bytes) + ", direction " + std::to_string(direction) + what,
                  [&] { work(direction); });
        }
    };
    std::vector<std::size_t> lengths{64, 1008};
    if (mode != WARPAES_CFB1 && mode != WARPAES_CFB8)
        lengths.push_back(20000);                       // the modes of single bits or bytes are slow
    if (mode == WARPAES_GCM) lengths.push_back(70000);  // long enough for separate tables
    for (const std::size_t length : lengths) {
        both(", message of " + std::to_string(length),
             [&](int direction) { crypt(mode, direction, key_bytes, iv_bytes, length); });
    }
    for (const bool own_keys : {false, true}) {
        if (own_keys && mode == WARPAES_XTS) continue;
        const std::string keys = own_keys ? ", own keys" : "";
        both(", batch" + keys, [&](int direction) { batch(mode, direction, key_bytes, iv_bytes, 160, own_keys); });
        if (mode != WARPAES_GCM || own_keys) continue;
        both(", batch of long messages",
             [&](int direction) { batch(mode, direction, key_bytes, iv_bytes, 8192, own_keys); });
    }
    // EVP processes a stretch with an IV that the library solves for with H (libcrypto_gcm.cpp). EVP counts up from the
    // counter that it derives from this IV. The counter is public, but memcheck cannot detect that.
    if (mode == WARPAES_GCM && iv_bytes == 12 && backend == "libcrypto") return;
    both(", context", [&](int direction) { context(mode, direction, key_bytes, iv_bytes); });
}

void everything(const std::string& backend) {
    warpaes_engine_options options = WARPAES_ENGINE_OPTIONS_INIT;
    options.backend = backend.c_str();
    options.threads = 1;
    expect(warpaes_engine_create(&options, &engine), backend.c_str());
    if (engine == nullptr) return;
    for (std::size_t key_bytes = 16; key_bytes <= 32; key_bytes += 8) {
        const std::string with = backend + ", " + std::to_string(8 * key_bytes) + " bits";
        for (int mode = WARPAES_ECB; mode <= WARPAES_CMAC; ++mode) {
            if (mode == WARPAES_XTS && key_bytes == 24) continue;
            for (const std::size_t iv_bytes : iv_lengths(mode)) {
                mode_of_length(mode, key_bytes, iv_bytes, backend);
            }
        }
        for (int mode = WARPAES_KW; mode <= WARPAES_GCM_SIV; ++mode) {
            if (mode == WARPAES_GCM_SIV && key_bytes == 24) continue;
            for (const std::size_t length : {16, 40, 5000}) {
                for (const int direction : {WARPAES_ENCRYPT, WARPAES_DECRYPT}) {
                    // The tag determines the first counter, which is public, but memcheck cannot detect that.
                    if (mode >= WARPAES_SIV && direction == WARPAES_ENCRYPT) {
                        composed(mode, direction, key_bytes, length);
                        (void)VALGRIND_MAKE_MEM_DEFINED(secrets.tags[0], 16);
                        continue;
                    }
                    check(with + ", mode " + std::to_string(mode) + ", direction " + std::to_string(direction) +
                              ", message of " + std::to_string(length),
                          [&] { composed(mode, direction, key_bytes, length); });
                }
            }
        }
        for (const std::uint32_t flags : {0U, std::uint32_t{WARPAES_DRBG_WITHOUT_DF}}) {
            check(with + ", CTR_DRBG", [&] { drbg(static_cast<std::uint32_t>(8 * key_bytes), flags); });
        }
    }
    for (const char* const name : {"AES256_GCM_HKDF_4KB", "AES128_CTR_HMAC_SHA256_4KB", "C2SP_CHUNKED_256"}) {
        check(backend + ", " + name, [&] { streams(name); });
    }
    if (backend == "aesni") planted();
    warpaes_engine_destroy(engine);
    engine = nullptr;
}

}  // namespace

int main(int arguments, char** argument) {
    if (RUNNING_ON_VALGRIND == 0) {
        std::puts("to be run by valgrind");
        return 1;
    }
    std::vector<std::string> backends(argument + 1, argument + arguments);
    for (const std::string& backend : backends) everything(backend);
    std::printf("%d failures\n", failures);
    return failures == 0 && !backends.empty() ? 0 : 1;
}
