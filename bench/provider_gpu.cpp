// Measures the throughput of EVP_CipherUpdate with long updates when the provider has a GPU: in page-locked, pageable
// and device memory, from one buffer to another and in place. Every output is first compared with the default
// provider's. The host's clock times each update, after two uncounted updates. Prints JSON. Without a GPU, prints a
// message and exits with status 3.
//
//     provider_gpu MODULE_FOLDER [BYTES [UPDATES]]
#include <openssl/core.h>
#include <openssl/core_dispatch.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/provider.h>
#include <unistd.h>
#include <warpaes/warpaes.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

// If the provider is linked into the program, as in a test, no module is loaded.
extern "C" [[gnu::weak]] int OSSL_provider_init(const OSSL_CORE_HANDLE*, const OSSL_DISPATCH*, const OSSL_DISPATCH**,
                                                void**);

namespace {

using Byte = unsigned char;

[[noreturn]] void fail(const std::string& what) {
    std::fprintf(stderr, "provider_gpu: %s\n", what.c_str());
    ERR_print_errors_fp(stderr);
    std::exit(1);
}

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Library {
    OSSL_LIB_CTX* context = OSSL_LIB_CTX_new();

    Library(const std::string& folder, const std::string& settings) {
        char name[] = "/tmp/provider-gpu-XXXXXX";
        const int file = ::mkstemp(name);
        if (file < 0) fail("cannot create a temporary file");
        ::close(file);
        std::ofstream(name) << "openssl_conf = init\n[init]\nproviders = all\n[all]\ndefault = one\nwarpaes = two\n"
                               "[one]\nactivate = 1\n[two]\nactivate = 1\n"
                            << settings;
        (void)OSSL_PROVIDER_set_default_search_path(context, folder.c_str());
        if (OSSL_provider_init != nullptr) (void)OSSL_PROVIDER_add_builtin(context, "warpaes", OSSL_provider_init);
        const int loaded = OSSL_LIB_CTX_load_config(context, name);
        (void)::unlink(name);
        if (loaded != 1 || OSSL_PROVIDER_available(context, "warpaes") != 1) fail("cannot load the provider");
    }
    [[nodiscard]] std::uint64_t gpu_bytes(const std::string& mode) const {
        OSSL_PROVIDER* const provider = OSSL_PROVIDER_load(context, "warpaes");
        std::uint64_t value = 0;
        const std::string name = "warpaes-" + mode + "-gpu-bytes";
        OSSL_PARAM params[] = {OSSL_PARAM_construct_uint64(name.c_str(), &value), OSSL_PARAM_construct_end()};
        (void)OSSL_PROVIDER_get_params(provider, params);
        (void)OSSL_PROVIDER_unload(provider);
        return value;
    }
};

struct Case {
    const char* cipher;
    const char* counter;
    bool encrypt;
    std::size_t most;  ///< maximum bytes per update
};
constexpr std::size_t any = ~std::size_t{0};
constexpr Case cases[] = {{"AES-128-CTR", "ctr", true, any},
                          {"AES-256-CTR", "ctr", true, any},
                          {"AES-128-GCM", "gcm", true, any},
                          {"AES-256-GCM", "gcm", false, any},
                          {"AES-256-XTS", "xts", true, std::size_t{16} << 20},  // the longest data unit
                          {"AES-256-XTS", "xts", false, std::size_t{16} << 20},
                          {"AES-128-CBC", "cbc", false, any},
                          {"AES-128-ECB", "ecb", true, any}};
struct Place {
    const char* name;
    warpaes_memory kind;
    bool in_place;
};
constexpr Place places[] = {{"page-locked", WARPAES_MEMORY_PAGE_LOCKED, false},
                            {"page-locked", WARPAES_MEMORY_PAGE_LOCKED, true},
                            {"pageable", WARPAES_MEMORY_PAGEABLE, false},
                            {"device", WARPAES_MEMORY_DEVICE, false}};

EVP_CIPHER_CTX* started(const Library& library, const Case& c, const char* provider) {
    Byte key[64], iv[16] = {1, 2, 3};
    for (unsigned i = 0; i < sizeof key; ++i) key[i] = static_cast<Byte>(i);
    EVP_CIPHER* const cipher = EVP_CIPHER_fetch(library.context, c.cipher, provider);
    EVP_CIPHER_CTX* const context = EVP_CIPHER_CTX_new();
    if (EVP_CipherInit_ex2(context, cipher, key, iv, c.encrypt ? 1 : 0, nullptr) != 1) fail(c.cipher);
    (void)EVP_CIPHER_CTX_set_padding(context, 0);
    EVP_CIPHER_free(cipher);
    return context;
}

void update(EVP_CIPHER_CTX* context, Byte* out, const Byte* in, std::size_t bytes) {
    int n = 0;
    if (EVP_CipherUpdate(context, out, &n, in, static_cast<int>(bytes)) != 1) fail("an update failed");
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    const std::size_t asked = argc > 2 ? std::strtoull(argv[2], nullptr, 0) : std::size_t{64} << 20;
    const int updates = argc > 3 ? std::atoi(argv[3]) : 21;
    if (asked < 65536 || asked > INT32_MAX || asked % 4096 != 0 || updates < 1) return 2;

    warpaes_engine* engine = nullptr;
    warpaes_engine_options options = WARPAES_ENGINE_OPTIONS_INIT;
    options.backend = "cuda";
    if (warpaes_engine_create(&options, &engine) != WARPAES_OK) {
        std::fprintf(stderr, "provider_gpu: skipped, a machine with a GPU runs this: %s\n", warpaes_last_error());
        return 3;
    }
    const auto copy = [&](void* to, const void* from, std::size_t bytes) {
        if (warpaes_copy(engine, to, from, bytes) != WARPAES_OK) fail(warpaes_last_error());
    };
    const auto allocate = [&](const Place& place, std::size_t bytes) {
        void* memory = nullptr;
        if (warpaes_alloc(engine, place.kind, 0, bytes, &memory) != WARPAES_OK) fail(warpaes_last_error());
        return static_cast<Byte*>(memory);
    };

    std::vector<Byte> text(asked), expected(asked), made(asked);
    for (std::size_t i = 0; i < asked; ++i) text[i] = static_cast<Byte>(i * 7 + i / 251);
    const char* separator = "{\"provider\": [\n";
    for (const char* const backend : {"cuda", "auto"}) {
        const Library library(argv[1],
                              std::string("threshold = 64K\ncbc = yes\ndevice-memory = yes\nthreads = auto\n") +
                                  "backend = " + backend + "\n");
        for (const Case& c : cases) {
            const std::size_t bytes = std::min(asked, c.most);
            EVP_CIPHER_CTX* const other = started(library, c, "provider=default");
            update(other, expected.data(), text.data(), bytes);
            EVP_CIPHER_CTX_free(other);
            for (const Place& place : places) {
                const bool there = place.kind == WARPAES_MEMORY_DEVICE;
                if (there && std::strcmp(c.counter, "cbc") == 0) continue;
                Byte* const in = allocate(place, bytes);
                Byte* const out = place.in_place ? in : allocate(place, bytes);
                copy(in, text.data(), bytes);
                EVP_CIPHER_CTX* const context = started(library, c, "provider=warpaes");
                update(context, out, in, bytes);
                copy(made.data(), out, bytes);
                if (!std::equal(made.begin(), made.begin() + static_cast<long>(bytes), expected.begin())) {
                    fail(std::string(c.cipher) + ", " + place.name + ": a wrong result");
                }
                update(context, out, in, bytes);
                const std::uint64_t before = library.gpu_bytes(c.counter);
                std::vector<double> seconds;
                for (int i = 0; i < updates; ++i) {
                    const double begin = now();
                    update(context, out, in, bytes);
                    seconds.push_back(now() - begin);
                }
                const std::uint64_t ran = library.gpu_bytes(c.counter) - before;
                EVP_CIPHER_CTX_free(context);
                std::sort(seconds.begin(), seconds.end());
                const double median = seconds[seconds.size() / 2];
                std::printf(
                    "%s {\"backend\": \"%s\", \"cipher\": \"%s\", \"direction\": \"%s\", \"memory\": \"%s\", "
                    "\"in_place\": %s, \"bytes\": %zu, \"on_gpu\": %.2f, \"median_s\": %.6g, \"gb_per_s\": %.4g}",
                    separator, backend, c.cipher, c.encrypt ? "encrypt" : "decrypt", place.name,
                    place.in_place ? "true" : "false", bytes,
                    static_cast<double>(ran) / (static_cast<double>(bytes) * updates), median,
                    static_cast<double>(bytes) / median / 1e9);
                (void)std::fflush(stdout);
                separator = ",\n";
                if (out != in) warpaes_free(engine, out);
                warpaes_free(engine, in);
            }
        }
        OSSL_LIB_CTX_free(library.context);
    }
    std::printf("\n]}\n");
    warpaes_engine_destroy(engine);
    return 0;
}
