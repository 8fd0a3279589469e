// Compares OpenSSL's default provider with the warpaes provider, in turns in one process. Makes the same calls as
// `openssl speed` for ciphers and MACs. Prints one line per figure: cipher, direction, calls, bytes, and the
// nanoseconds that the default provider and the warpaes provider take.
//
//     provider_speed MODULE_FOLDER [CONFIG [NAME]]      NAME: measure only ciphers whose name contains NAME
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/provider.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace {

using Byte = unsigned char;

constexpr int most_bytes = 1 << 20, room = 4096;
constexpr int sizes[] = {16, 64, 256, 1024, 8192, 16384, 65536, most_bytes};

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void need(bool right, const char* what) {
    if (right) return;
    std::fprintf(stderr, "provider_speed: %s\n", what);
    std::exit(1);
}

const char* provider(int side) {
    return side == 0 ? "provider=default" : "provider=warpaes";
}

/// A cipher context of one provider, with the measured calls.
class Cipher {
public:
    Cipher(OSSL_LIB_CTX* library, const std::string& name, int side, bool encrypts)
        : cipher_(EVP_CIPHER_fetch(library, name.c_str(), provider(side))),
          encrypts_(encrypts),
          buffer_(most_bytes + room) {
        if (cipher_ == nullptr) return;
        mode_ = EVP_CIPHER_get_mode(cipher_);
        aead_ = mode_ == EVP_CIPH_GCM_MODE || mode_ == EVP_CIPH_CCM_MODE || mode_ == EVP_CIPH_SIV_MODE;
        for (unsigned k = 0; k < sizeof key_; ++k) key_[k] = static_cast<Byte>(k);
        context_ = context(encrypts);
    }
    Cipher(const Cipher&) = delete;
    Cipher& operator=(const Cipher&) = delete;
    ~Cipher() {
        EVP_CIPHER_CTX_free(context_);
        EVP_CIPHER_free(cipher_);
    }
    [[nodiscard]] bool there() const { return cipher_ != nullptr; }

    /// Prepares messages of `bytes` bytes. CCM, SIV and key wrap decrypt only authentic input, so this function
    /// encrypts the input for them.
    void prepare(int bytes, bool with_key, int offset) {
        bytes_ = bytes;
        with_key_ = with_key;
        text_ = buffer_.data() + offset;
        in_ = text_;
        const bool sealed = mode_ == EVP_CIPH_CCM_MODE || mode_ == EVP_CIPH_SIV_MODE || mode_ == EVP_CIPH_WRAP_MODE;
        if (encrypts_ || !sealed) return;
        sealed_.assign(static_cast<std::size_t>(bytes) + 16, 0);
        in_ = sealed_.data();
        EVP_CIPHER_CTX* const c = context(true);
        const std::vector<Byte> plain(static_cast<std::size_t>(bytes));
        start(c, bytes);
        need(EVP_CipherUpdate(c, sealed_.data(), &bytes_, plain.data(), bytes) == 1, "encrypting the input");
        if (aead_) need(EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, tag_bytes(), tag_) == 1, "its tag");
        EVP_CIPHER_CTX_free(c);
    }
    void once() {
        int n = 0;
        if (aead_) {
            start(context_, bytes_);
        } else if (with_key_) {
            (void)EVP_CipherInit_ex(context_, nullptr, nullptr, key_, iv_, -1);
        }
        if (EVP_CipherUpdate(context_, text_, &n, in_, bytes_) != 1) need(false, "an update");
        // GCM decrypts any input. Only this call checks the tag, and its result is ignored.
        if (aead_) (void)EVP_CipherFinal_ex(context_, text_, &n);
    }

private:
    [[nodiscard]] int tag_bytes() const { return mode_ == EVP_CIPH_CCM_MODE ? 12 : 16; }
    [[nodiscard]] EVP_CIPHER_CTX* context(bool encrypts) const {
        EVP_CIPHER_CTX* const c = EVP_CIPHER_CTX_new();
        if (mode_ == EVP_CIPH_WRAP_MODE) EVP_CIPHER_CTX_set_flags(c, EVP_CIPHER_CTX_FLAG_WRAP_ALLOW);
        need(EVP_CipherInit_ex(c, cipher_, nullptr, key_, iv_, encrypts ? 1 : 0) == 1, "a key");
        (void)EVP_CIPHER_CTX_set_padding(c, 0);
        return c;
    }
    /// Starts a message of an AEAD.
    void start(EVP_CIPHER_CTX* c, int bytes) const {
        if (!aead_) return;
        int n = 0;
        const bool key = with_key_ || mode_ == EVP_CIPH_SIV_MODE;
        (void)EVP_CipherInit_ex(c, nullptr, nullptr, key ? key_ : nullptr, iv_, -1);
        if (EVP_CIPHER_CTX_is_encrypting(c) == 0 && mode_ != EVP_CIPH_GCM_MODE) {
            (void)EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_TAG, tag_bytes(), const_cast<Byte*>(tag_));
        }
        if (mode_ == EVP_CIPH_CCM_MODE) (void)EVP_CipherUpdate(c, nullptr, &n, nullptr, bytes);
        (void)EVP_CipherUpdate(c, nullptr, &n, aad_, sizeof aad_);
    }

    EVP_CIPHER* cipher_;
    EVP_CIPHER_CTX* context_ = nullptr;
    int mode_ = 0, bytes_ = 0;
    bool encrypts_, aead_ = false, with_key_ = false;
    Byte key_[64] = {}, iv_[16] = {}, aad_[13] = {}, tag_[16] = {};
    std::vector<Byte> buffer_, sealed_;
    Byte* text_ = nullptr;
    const Byte* in_ = nullptr;
};

/// Like Cipher, but for a MAC. `name` is a name such as "AES-128-CMAC" or "AES-128-GMAC".
class Mac {
public:
    Mac(OSSL_LIB_CTX* library, const std::string& name, int side) : buffer_(most_bytes + room) {
        const std::string mac = name.substr(8);
        EVP_MAC* const found = EVP_MAC_fetch(library, mac.c_str(), provider(side));
        if (found == nullptr) return;
        context_ = EVP_MAC_CTX_new(found);
        EVP_MAC_free(found);
        gmac_ = mac == "GMAC";
        key_bytes_ = static_cast<std::size_t>(std::stoi(name.substr(4, 3)) / 8);
        std::string cipher = name.substr(0, 8) + (gmac_ ? "GCM" : "CBC");
        OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_CIPHER, cipher.data(), 0),
                               OSSL_PARAM_construct_end()};
        need(EVP_MAC_CTX_set_params(context_, params) == 1, "a MAC's cipher");
        set(true);
    }
    Mac(const Mac&) = delete;
    Mac& operator=(const Mac&) = delete;
    ~Mac() { EVP_MAC_CTX_free(context_); }
    [[nodiscard]] bool there() const { return context_ != nullptr; }

    void prepare(int bytes, bool with_key, int offset) {
        bytes_ = static_cast<std::size_t>(bytes);
        with_key_ = with_key;
        text_ = buffer_.data() + offset;
    }
    void once() {
        Byte tag[16];
        std::size_t n = 0;
        set(with_key_);
        const bool made =
            EVP_MAC_update(context_, text_, bytes_) == 1 && EVP_MAC_final(context_, tag, &n, sizeof tag) == 1;
        if (!made) need(false, "a MAC");
    }

private:
    void set(bool with_key) {
        OSSL_PARAM params[] = {OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_IV, iv_, sizeof iv_),
                               OSSL_PARAM_construct_end()};
        const bool done =
            EVP_MAC_init(context_, with_key ? key_ : nullptr, with_key ? key_bytes_ : 0, gmac_ ? params : nullptr) == 1;
        if (!done) need(false, "a MAC's key");
    }

    EVP_MAC_CTX* context_ = nullptr;
    bool gmac_ = false, with_key_ = false;
    Byte key_[32] = {1, 2, 3}, iv_[12] = {};
    std::size_t key_bytes_ = 0, bytes_ = 0;
    std::vector<Byte> buffer_;
    const Byte* text_ = nullptr;
};

/// Measures both providers in turns and reports the shortest sample of each.
template <typename Side>
void measure(const std::string& name, const char* direction, Side& theirs, Side& ours) {
    if (!theirs.there() || !ours.there()) return;
    Side* const sides[2] = {&theirs, &ours};
    for (const bool with_key : {false, true}) {
        for (const int bytes : sizes) {
            if (with_key && bytes > 16384) continue;
            constexpr int rounds = 30;
            constexpr double sample = 2e-4, enough = 0.5;
            long calls = 1;
            double best[2] = {1e9, 1e9};
            const double first = now();
            for (int r = 0; r < rounds; ++r) {
                for (int i = 0; i < 2; ++i) {
                    // Varies the buffer's offset. If the buffer and the context have the same offset within a page, the
                    // processor mistakes accesses to one for accesses to the other and stalls (4K aliasing). The
                    // shortest sample is free of these stalls.
                    sides[i]->prepare(bytes, with_key, 192 * (r % 5));
                    const double begin = now();
                    for (long c = 0; c < calls; ++c) sides[i]->once();
                    const double taken = (now() - begin) / static_cast<double>(calls);
                    // The first two rounds determine the number of calls per sample.
                    if (r > 1) best[i] = std::min(best[i], taken);
                    if (r < 2) calls = std::max(1L, static_cast<long>(sample / std::max(taken, 1e-9)));
                }
                // If calls are long, the loop ends before all `rounds` rounds.
                if (r > 6 && now() - first > enough) break;
            }
            std::printf("%s %s %s %d %.2f %.2f\n", name.c_str(), direction, with_key ? "key" : "message", bytes,
                        best[0] * 1e9, best[1] * 1e9);
            (void)std::fflush(stdout);
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    const std::string only = argc > 3 ? argv[3] : "";
    OSSL_LIB_CTX* const library = OSSL_LIB_CTX_new();
    (void)OSSL_PROVIDER_set_default_search_path(library, argv[1]);
    if (argc > 2 && argv[2][0] != '\0') need(OSSL_LIB_CTX_load_config(library, argv[2]) == 1, "the configuration");
    need(OSSL_PROVIDER_load(library, "default") != nullptr, "the default provider");
    need(OSSL_PROVIDER_load(library, "warpaes") != nullptr, "the provider");
    // Ciphers that are not in this OpenSSL release, such as GCM-SIV before 3.2, are skipped.
    for (const char* const mode : {"ECB", "CBC", "CFB", "CFB8", "CFB1", "OFB", "CTR", "XTS", "GCM", "CCM", "SIV",
                                   "GCM-SIV", "WRAP", "WRAP-PAD", "WRAP-INV", "WRAP-PAD-INV", "CMAC", "GMAC"}) {
        for (const char* const bits : {"128", "192", "256"}) {
            const std::string name = std::string("AES-") + bits + "-" + mode;
            if (name.find(only) == std::string::npos) continue;
            if (std::strstr(mode, "MAC") != nullptr) {
                Mac theirs(library, name, 0), ours(library, name, 1);
                measure(name, "mac", theirs, ours);
                continue;
            }
            for (const bool encrypts : {true, false}) {
                Cipher theirs(library, name, 0, encrypts), ours(library, name, 1, encrypts);
                measure(name, encrypts ? "encrypt" : "decrypt", theirs, ours);
            }
        }
    }
    OSSL_LIB_CTX_free(library);
    return 0;
}
