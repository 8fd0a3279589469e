// What OpenSSL's default provider takes and what ours takes, in turns, in one process: the calls of `openssl speed
// -evp`. A line a figure: cipher, direction, calls, bytes, nanoseconds of the default provider, nanoseconds of ours.
//
//   provider_speed MODULE_FOLDER [CONFIG]
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

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// One provider's context of a cipher, and what a measurement does with it.
struct Side {
    EVP_CIPHER_CTX* context = nullptr;
    int mode = 0;
    bool with_key = false, encrypts = true;
    Byte key[64] = {}, iv[16] = {}, aad[13] = {};
    std::vector<Byte> buffer;
    Byte* text = nullptr;

    void init(bool key_too) { (void)EVP_CipherInit_ex(context, nullptr, nullptr, key_too ? key : nullptr, iv, -1); }
    void once(int bytes) {
        int n = 0;
        const bool aead = mode == EVP_CIPH_GCM_MODE || mode == EVP_CIPH_CCM_MODE || mode == EVP_CIPH_SIV_MODE;
        if (aead) {
            init(with_key || mode == EVP_CIPH_SIV_MODE);
            if (mode == EVP_CIPH_CCM_MODE) (void)EVP_CipherUpdate(context, nullptr, &n, nullptr, bytes);
            (void)EVP_CipherUpdate(context, nullptr, &n, aad, sizeof aad);
        } else if (with_key) {
            init(true);
        }
        if (EVP_CipherUpdate(context, text, &n, text, bytes) != 1) std::abort();
        if (aead) (void)EVP_CipherFinal_ex(context, text, &n);
    }
};

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    OSSL_LIB_CTX* const context = OSSL_LIB_CTX_new();
    (void)OSSL_PROVIDER_set_default_search_path(context, argv[1]);
    if (argc > 2) (void)OSSL_LIB_CTX_load_config(context, argv[2]);
    if (OSSL_PROVIDER_load(context, "default") == nullptr || OSSL_PROVIDER_load(context, "warpaes") == nullptr)
        return 1;
    const std::vector<int> sizes{16, 64, 256, 1024, 8192, 16384, 65536, 1 << 20};
    for (const char* const mode :
         {"ECB", "CBC", "CFB", "CFB8", "CFB1", "OFB", "CTR", "XTS", "GCM", "CCM", "SIV", "WRAP"}) {
        for (const char* const bits : {"128", "192", "256"}) {
            const std::string name = std::string("AES-") + bits + "-" + mode;
            for (const bool encrypts : {true, false}) {
                Side sides[2];
                bool there = true;
                for (int i = 0; i < 2; ++i) {
                    Side& s = sides[i];
                    EVP_CIPHER* const cipher =
                        EVP_CIPHER_fetch(context, name.c_str(), i == 0 ? "provider=default" : "provider=warpaes");
                    there = there && cipher != nullptr;
                    if (!there) break;
                    s.mode = EVP_CIPHER_get_mode(cipher);
                    s.encrypts = encrypts;
                    for (unsigned k = 0; k < sizeof s.key; ++k) s.key[k] = static_cast<Byte>(k);
                    s.buffer.resize((1 << 20) + 4096);
                    s.context = EVP_CIPHER_CTX_new();
                    if (s.mode == EVP_CIPH_WRAP_MODE) {
                        EVP_CIPHER_CTX_set_flags(s.context, EVP_CIPHER_CTX_FLAG_WRAP_ALLOW);
                    }
                    if (EVP_CipherInit_ex(s.context, cipher, nullptr, s.key, s.iv, encrypts ? 1 : 0) != 1) return 1;
                    (void)EVP_CIPHER_CTX_set_padding(s.context, 0);
                    EVP_CIPHER_free(cipher);
                }
                // CCM, SIV and key wrap decrypt nothing but what is authentic.
                const int m = sides[0].mode;
                const bool sealed = m == EVP_CIPH_CCM_MODE || m == EVP_CIPH_SIV_MODE || m == EVP_CIPH_WRAP_MODE;
                for (const bool with_key : {false, true}) {
                    for (const int bytes : sizes) {
                        if (!there || (sealed && !encrypts) || (with_key && bytes > 16384)) continue;
                        constexpr int rounds = 30;
                        constexpr double sample = 2e-4;
                        long calls = 1;
                        double best[2] = {1, 1};
                        for (int r = 0; r < rounds; ++r) {
                            for (int i = 0; i < 2; ++i) {
                                sides[i].with_key = with_key;
                                // Some place is not a multiple of a page from where the context lies: a processor
                                // takes such for one, and waits.
                                sides[i].text = sides[i].buffer.data() + 192 * (r % 5);
                                const double begin = now();
                                for (long c = 0; c < calls; ++c) sides[i].once(bytes);
                                const double taken = (now() - begin) / static_cast<double>(calls);
                                if (r > 1) best[i] = std::min(best[i], taken);
                                if (r < 2) calls = std::max(1L, static_cast<long>(sample / std::max(taken, 1e-9)));
                            }
                        }
                        std::printf("%s %s %s %d %.2f %.2f\n", name.c_str(), encrypts ? "encrypt" : "decrypt",
                                    with_key ? "key" : "message", bytes, best[0] * 1e9, best[1] * 1e9);
                        (void)std::fflush(stdout);
                    }
                }
                for (const Side& s : sides) EVP_CIPHER_CTX_free(s.context);
            }
        }
    }
    return 0;
}
