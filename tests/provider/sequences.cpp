// Makes random sequences of calls to OpenSSL's default provider and to ours. Every result, every output and every
// readable parameter must be the same.
//
//   sequences MODULE_FOLDER [--sequences N] [--seed S] [--only NAME] [--config FILE]
//
// The sequences exclude calls that are documented to differ (docs/provider.md), calls with random results, and calls
// that crash the default provider: a key wrap or SIV without a key.
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/provider.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace {

using Bytes = std::vector<unsigned char>;

struct Options {
    std::string folder;
    std::uint64_t sequences = 20000;
    std::uint64_t seed = 1;
    std::string only;
    std::string config;  ///< an openssl.cnf that activates both providers
};

/// A log of the operations, which helps to find the cause of a difference.
std::vector<std::string> trace;

[[noreturn]] void differ(const std::string& what) {
    std::fprintf(stderr, "differs: %s\n", what.c_str());
    for (const std::string& line : trace) std::fprintf(stderr, "  %s\n", line.c_str());
    std::exit(1);
}

std::string hex(const unsigned char* data, std::size_t n) {
    std::string text;
    char two[3];
    for (std::size_t i = 0; i < std::min<std::size_t>(n, 40); ++i) {
        (void)std::snprintf(two, sizeof two, "%02x", data[i]);
        text += two;
    }
    return n > 40 ? text + "..." : text;
}

class Random {
public:
    explicit Random(std::uint64_t seed) : engine_(seed) {}
    std::uint64_t below(std::uint64_t n) { return engine_() % n; }
    bool chance(unsigned percent) { return below(100) < percent; }
    Bytes bytes(std::size_t n) {
        Bytes b(n);
        for (auto& v : b) v = static_cast<unsigned char>(engine_());
        return b;
    }
    std::size_t length() {
        switch (below(12)) {
        case 0:
            return 0;
        case 1:
            return 1 + below(15);
        case 2:
        case 3:
            return 16 * (1 + below(12));
        case 4:
        case 5:
        case 6:
            return below(300);
        case 7:
            return below(3000);
        case 8:
            return 16 * below(300);
        case 9:
            return chance(10) ? 60000 + below(80000) : below(64);
        default:
            return below(80);
        }
    }

private:
    std::mt19937_64 engine_;
};

/// An object from each of the two providers.
template <typename Type>
struct Pair {
    Type* ours = nullptr;
    Type* theirs = nullptr;
};

/// Returns the library and reason of the error that a call left. Files and functions differ between the providers.
unsigned long last_error() {
    unsigned long code = 0, next = 0;
    while ((next = ERR_get_error()) != 0) code = next;
    return code;
}

/// Whether the default provider accepts every `num` up to the block size. OpenSSL's releases differ (docs/provider.md).
bool takes_every_num = false;

/// Whether the default provider computes and compares the tags of CCM messages without text. Our provider always does.
bool ccm_knows_empty_messages = false;

bool takes_num(OSSL_LIB_CTX* library) {
    EVP_CIPHER* const cipher = EVP_CIPHER_fetch(library, "AES-128-CTR", nullptr);
    EVP_CIPHER_CTX* const context = EVP_CIPHER_CTX_new();
    unsigned last = 15;
    const OSSL_PARAM params[] = {OSSL_PARAM_construct_uint(OSSL_CIPHER_PARAM_NUM, &last), OSSL_PARAM_construct_end()};
    const bool takes = EVP_EncryptInit_ex2(context, cipher, nullptr, nullptr, nullptr) == 1 &&
                       EVP_CIPHER_CTX_set_params(context, params) == 1;
    EVP_CIPHER_CTX_free(context);
    EVP_CIPHER_free(cipher);
    ERR_clear_error();
    return takes;
}

bool seals_empty_message(OSSL_LIB_CTX* library) {
    EVP_CIPHER* const cipher = EVP_CIPHER_fetch(library, "AES-128-CCM", nullptr);
    EVP_CIPHER_CTX* const c = EVP_CIPHER_CTX_new();
    unsigned char bytes[32] = {}, tag[12];
    int n = 0;
    const bool sealed = EVP_EncryptInit_ex(c, cipher, nullptr, bytes, bytes) == 1 &&
                        EVP_EncryptUpdate(c, nullptr, &n, nullptr, 0) == 1 && EVP_EncryptFinal_ex(c, bytes, &n) == 1 &&
                        EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, sizeof tag, tag) == 1;
    EVP_CIPHER_CTX_free(c);
    EVP_CIPHER_free(cipher);
    ERR_clear_error();
    return sealed;
}

class CipherSequence {
public:
    CipherSequence(Random& random, const Pair<EVP_CIPHER>& cipher)
        : random_(random), cipher_(cipher), mode_(EVP_CIPHER_get_mode(cipher.theirs)) {
        ctx_.ours = EVP_CIPHER_CTX_new();
        ctx_.theirs = EVP_CIPHER_CTX_new();
        const std::string name = EVP_CIPHER_get0_name(cipher.theirs);
        wrap_ = mode_ == EVP_CIPH_WRAP_MODE;
        siv_ = name.find("SIV") != std::string::npos;
        cfb1_ = name.find("CFB1") != std::string::npos && name.find("CFB128") == std::string::npos;
        aead_ = mode_ == EVP_CIPH_GCM_MODE || mode_ == EVP_CIPH_CCM_MODE || siv_;
        block_ = EVP_CIPHER_get_block_size(cipher.theirs) == 16;
        if (wrap_) {
            EVP_CIPHER_CTX_set_flags(ctx_.ours, EVP_CIPHER_CTX_FLAG_WRAP_ALLOW);
            EVP_CIPHER_CTX_set_flags(ctx_.theirs, EVP_CIPHER_CTX_FLAG_WRAP_ALLOW);
        }
    }
    ~CipherSequence() {
        EVP_CIPHER_CTX_free(ctx_.ours);
        EVP_CIPHER_CTX_free(ctx_.theirs);
    }
    CipherSequence(const CipherSequence&) = delete;
    CipherSequence& operator=(const CipherSequence&) = delete;

    void run() {
        init(true);
        const std::size_t steps = 2 + random_.below(14);
        // After a wrong one-byte tag, the next final call can succeed by chance, so the sequence ends there.
        for (std::size_t i = 0; i < steps && !spoiled_; ++i) {
            step();
            compare_params();
        }
    }

private:
    template <typename Call>
    int both(const std::string& what, const Call& call) {
        ERR_clear_error();
        const int theirs = call(ctx_.theirs, 0);
        const unsigned long their_error = last_error();
        const int ours = call(ctx_.ours, 1);
        const unsigned long our_error = last_error();
        trace.push_back(what + " -> " + std::to_string(theirs));
        // Releases before 3.5.9 report a text as authentic if the previous text was.
        if (siv_ && ours < theirs && (what == "final" || what == "EVP_Cipher 0")) return ours;
        if (theirs != ours) differ(what + ": returns " + std::to_string(ours) + ", not " + std::to_string(theirs));
        // If wrapping fails, the default provider returns 1 with a length that EVP refuses.
        if (their_error != our_error && !wrap_) {
            differ(what + ": error " + std::to_string(our_error) + ", not " + std::to_string(their_error));
        }
        return theirs;
    }

    void init(bool first) {
        const bool with_key = first || random_.chance(40);
        bool with_iv = first ? random_.chance(90) : random_.chance(70);
        int enc = first ? static_cast<int>(random_.below(2)) : static_cast<int>(random_.below(3)) - 1;
        // If a key schedule for one direction is used in the other direction, the result is defined but useless.
        const bool bound = block_ || mode_ == EVP_CIPH_XTS_MODE || mode_ == EVP_CIPH_CCM_MODE || wrap_;
        if (!with_key && bound) enc = -1;
        if (mode_ == EVP_CIPH_GCM_MODE) {
            // Without an IV, encryption uses a random IV. docs/provider.md describes a key that is set during a
            // message.
            if (with_key || !iv_given_) with_iv = true;
            if (tls_) with_iv = true;
        }
        if (wrap_ && random_.chance(50)) with_iv = false;
        const Bytes key = random_.bytes(static_cast<std::size_t>(EVP_CIPHER_get_key_length(cipher_.theirs)));
        const Bytes iv = random_.bytes(128);
        const Pair<EVP_CIPHER> cipher = first ? cipher_ : Pair<EVP_CIPHER>{};
        const int result = both(
            "init key=" + std::to_string(with_key) + " iv=" + std::to_string(with_iv) + " enc=" + std::to_string(enc),
            [&](EVP_CIPHER_CTX* c, int ours) {
                return EVP_CipherInit_ex2(c, ours != 0 ? cipher.ours : cipher.theirs, with_key ? key.data() : nullptr,
                                          with_iv ? iv.data() : nullptr, enc, nullptr);
            });
        if (result == 1 && with_iv) iv_given_ = true;
        if (with_key) tls_ = false;
    }

    /// Runs an update with the input and the output in separate buffers or in place.
    void update(bool aad) {
        std::size_t n = random_.length();
        const bool bits = cfb1_ && use_bits_;
        const Bytes input = random_.bytes(n + 64);
        const bool in_place = !aad && !block_ && !wrap_ && random_.chance(30);
        Pair<Bytes> out;
        Bytes a(n + 64, 0xa5), b = a;
        if (in_place) a = b = input;
        int an = -7, bn = -7;
        const std::string what =
            std::string(aad ? "aad " : "update ") + std::to_string(n) + (in_place ? " in place" : "");
        const int result = both(what, [&](EVP_CIPHER_CTX* c, int ours) {
            Bytes& o = ours != 0 ? b : a;
            int& length = ours != 0 ? bn : an;
            return EVP_CipherUpdate(c, aad ? nullptr : o.data(), &length, in_place ? o.data() : input.data(),
                                    static_cast<int>(n));
        });
        (void)bits;
        if (result != 1) return;
        if (an != bn) differ(what + ": length " + std::to_string(bn) + ", not " + std::to_string(an));
        if (!aad && a != b) {
            const auto at = static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin()).first - a.begin());
            differ(what + ": output at " + std::to_string(at) + " is " + hex(b.data() + at, 16) + ", not " +
                   hex(a.data() + at, 16));
        }
    }

    void final() {
        if (mode_ == EVP_CIPH_CCM_MODE && !ccm_knows_empty_messages) return;
        Bytes a(64, 0xa5), b = a;
        int an = -7, bn = -7;
        const int result = both("final", [&](EVP_CIPHER_CTX* c, int ours) {
            return EVP_CipherFinal_ex(c, (ours != 0 ? b : a).data(), ours != 0 ? &bn : &an);
        });
        if (result == 1 && (an != bn || a != b)) differ("final: output");
        if (result != 1 && mode_ == EVP_CIPH_GCM_MODE) spoiled_ = true;
    }

    void one_shot() {
        std::size_t n = random_.length();
        if (block_) n = n / 16 * 16;
        const Bytes input = random_.bytes(n + 16);
        Bytes a(n + 64, 0xa5), b = a;
        const bool none = n == 0 || random_.chance(10);  // a final call
        if (none && mode_ == EVP_CIPH_CCM_MODE && !ccm_knows_empty_messages) return;
        const int result = both("EVP_Cipher " + std::to_string(none ? 0 : n), [&](EVP_CIPHER_CTX* c, int ours) {
            return EVP_Cipher(c, (ours != 0 ? b : a).data(), none ? nullptr : input.data(),
                              static_cast<unsigned>(none ? 0 : n));
        });
        if (result > 0 && a != b) differ("EVP_Cipher: output");
        if (result < 0 && none && mode_ == EVP_CIPH_GCM_MODE) spoiled_ = true;
    }

    void get_tag() {
        const std::size_t n = random_.chance(60) ? 16 : random_.below(18);
        Bytes a(32, 0xa5), b = a;
        const int result = both("get tag " + std::to_string(n), [&](EVP_CIPHER_CTX* c, int ours) {
            return EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, static_cast<int>(n), (ours != 0 ? b : a).data());
        });
        if (result == 1 && a != b) differ("tag: " + hex(b.data(), 16) + ", not " + hex(a.data(), 16));
    }

    void set_tag() {
        const std::size_t n = random_.chance(60) ? 16 : random_.below(18);
        Bytes tag = random_.bytes(32);
        const bool null = mode_ == EVP_CIPH_CCM_MODE && random_.chance(40);
        (void)both("set tag " + std::to_string(n) + (null ? " of nothing" : ""), [&](EVP_CIPHER_CTX* c, int) {
            return EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_TAG, static_cast<int>(n), null ? nullptr : tag.data());
        });
    }

    void set_iv_length() {
        const std::size_t n = random_.chance(50) ? 12 : random_.below(132);
        (void)both("set ivlen " + std::to_string(n), [&](EVP_CIPHER_CTX* c, int) {
            return EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_IVLEN, static_cast<int>(n), nullptr);
        });
    }

    void set_number(const char* name, unsigned value) {
        const OSSL_PARAM params[] = {OSSL_PARAM_construct_uint(name, &value), OSSL_PARAM_construct_end()};
        (void)both(std::string("set ") + name + " " + std::to_string(value),
                   [&](EVP_CIPHER_CTX* c, int) { return EVP_CIPHER_CTX_set_params(c, params); });
    }

    void set_keylen() {
        std::size_t n = random_.chance(50) ? static_cast<std::size_t>(EVP_CIPHER_get_key_length(cipher_.theirs))
                                           : random_.below(70);
        (void)both("set keylen " + std::to_string(n),
                   [&](EVP_CIPHER_CTX* c, int) { return EVP_CIPHER_CTX_set_key_length(c, static_cast<int>(n)); });
    }

    void copy() {
        Pair<EVP_CIPHER_CTX> other{EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_new()};
        const int result = both("copy", [&](EVP_CIPHER_CTX* c, int ours) {
            return EVP_CIPHER_CTX_copy(ours != 0 ? other.ours : other.theirs, c);
        });
        if (result == 1 && random_.chance(70)) std::swap(ctx_, other);
        EVP_CIPHER_CTX_free(other.ours);
        EVP_CIPHER_CTX_free(other.theirs);
    }

    /// Sets the whole IV as before and then a TLS record, or sets the IV as OpenSSH does.
    void tls() {
        if (mode_ != EVP_CIPH_GCM_MODE && mode_ != EVP_CIPH_CCM_MODE) return;
        const bool gcm = mode_ == EVP_CIPH_GCM_MODE;
        // The default provider writes before the IV's buffer if the IV is shorter.
        if (gcm && EVP_CIPHER_CTX_get_iv_length(ctx_.theirs) < 8) return;
        if (gcm && random_.chance(50)) {
            const Bytes iv = random_.bytes(128);
            (void)both("iv fixed, all", [&](EVP_CIPHER_CTX* c, int) {
                return EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_IV_FIXED, -1, const_cast<unsigned char*>(iv.data()));
            });
            iv_given_ = tls_ = true;
        } else if (!gcm && random_.chance(50)) {
            Bytes iv = random_.bytes(16);
            const int n = random_.chance(80) ? 4 : static_cast<int>(random_.below(14));
            (void)both("iv fixed " + std::to_string(n), [&](EVP_CIPHER_CTX* c, int) {
                return EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_IV_FIXED, n, iv.data());
            });
        }
        if (gcm && random_.chance(40)) {
            const int n = static_cast<int>(random_.below(14));
            Bytes a(140, 0xa5), b = a;
            const int result = both("iv gen " + std::to_string(n), [&](EVP_CIPHER_CTX* c, int ours) {
                return EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_IV_GEN, n, (ours != 0 ? b : a).data());
            });
            if (result == 1 && a != b) differ("iv gen: output");
        }
        if (gcm && random_.chance(30)) {
            Bytes iv = random_.bytes(16);
            (void)both("iv inv", [&](EVP_CIPHER_CTX* c, int) {
                return EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_SET_IV_INV, 8, iv.data());
            });
        }
        if (random_.chance(60)) record();
    }

    void record() {
        std::size_t n = random_.chance(90) ? 24 + random_.below(400) : random_.below(40);
        Bytes aad = random_.bytes(13);
        aad[11] = static_cast<unsigned char>(n >> 8);
        aad[12] = static_cast<unsigned char>(n);
        const int size = random_.chance(95) ? 13 : static_cast<int>(random_.below(16));
        aad.resize(20);
        const int pad = both("tls aad for " + std::to_string(n), [&](EVP_CIPHER_CTX* c, int) {
            return EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_TLS1_AAD, size, aad.data());
        });
        if (pad <= 0) return;
        if (random_.chance(5)) n += 3;
        Bytes a = random_.bytes(n + 64), b = a;
        int an = 0, bn = 0;
        if (random_.chance(50)) {
            const int result = both("record " + std::to_string(n), [&](EVP_CIPHER_CTX* c, int ours) {
                Bytes& o = ours != 0 ? b : a;
                return EVP_Cipher(c, o.data(), o.data(), static_cast<unsigned>(n));
            });
            if (result > 0 && a != b) differ("record: output");
        } else {
            const int result = both("record by update " + std::to_string(n), [&](EVP_CIPHER_CTX* c, int ours) {
                Bytes& o = ours != 0 ? b : a;
                return EVP_CipherUpdate(c, o.data(), ours != 0 ? &bn : &an, o.data(), static_cast<int>(n));
            });
            if (result > 0 && (a != b || an != bn)) differ("record by update: output");
        }
    }

    void ccm_length() {
        const std::size_t n = random_.length();
        int an = 0, bn = 0;
        (void)both("ccm length " + std::to_string(n), [&](EVP_CIPHER_CTX* c, int ours) {
            return EVP_CipherUpdate(c, nullptr, ours != 0 ? &bn : &an, nullptr, static_cast<int>(n));
        });
        if (an != bn) differ("ccm length: length");
        // Usually the text has the announced length.
        if (random_.chance(80)) {
            if (random_.chance(50)) update(true);
            const Bytes input = random_.bytes(n);
            Bytes a(n + 16, 0xa5), b = a;
            const int result = both("ccm text " + std::to_string(n), [&](EVP_CIPHER_CTX* c, int ours) {
                return EVP_CipherUpdate(c, (ours != 0 ? b : a).data(), ours != 0 ? &bn : &an, input.data(),
                                        static_cast<int>(n));
            });
            if (result == 1 && (a != b || an != bn)) differ("ccm text: output");
        }
    }

    /// Decrypts earlier ciphertext, so that some tags are right.
    void round_trip() {
        if (!aead_ || siv_) return;
        const std::size_t n = mode_ == EVP_CIPH_CCM_MODE ? 1 + random_.below(400) : random_.length();
        const Bytes key = random_.bytes(static_cast<std::size_t>(EVP_CIPHER_get_key_length(cipher_.theirs)));
        const Bytes iv = random_.bytes(128), text = random_.bytes(n), aad = random_.bytes(random_.below(60));
        const bool ccm = mode_ == EVP_CIPH_CCM_MODE;
        const std::size_t tag_bytes = ccm ? 4 + 2 * random_.below(7) : 1 + random_.below(16);
        const std::size_t iv_bytes = ccm ? 7 + random_.below(7) : random_.chance(50) ? 12 : 1 + random_.below(128);
        Bytes sealed(n), tag(tag_bytes);
        for (const int enc : {1, 0}) {
            const Bytes& in = enc != 0 ? text : sealed;
            Bytes a(n + 16, 0xa5), b = a;
            int an = 0, bn = 0;
            (void)both("trip init", [&](EVP_CIPHER_CTX* c, int) {
                return EVP_CipherInit_ex(c, nullptr, nullptr, nullptr, nullptr, enc);
            });
            (void)both("trip ivlen " + std::to_string(iv_bytes), [&](EVP_CIPHER_CTX* c, int) {
                return EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_IVLEN, static_cast<int>(iv_bytes), nullptr);
            });
            if (ccm || enc == 0) {
                (void)both("trip tag " + std::to_string(tag_bytes), [&](EVP_CIPHER_CTX* c, int) {
                    return EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_TAG, static_cast<int>(tag_bytes),
                                               enc != 0 ? nullptr : tag.data());
                });
            }
            (void)both("trip key", [&](EVP_CIPHER_CTX* c, int) {
                return EVP_CipherInit_ex(c, nullptr, nullptr, key.data(), iv.data(), enc);
            });
            if (ccm) {
                (void)both("trip length", [&](EVP_CIPHER_CTX* c, int) {
                    return EVP_CipherUpdate(c, nullptr, &an, nullptr, static_cast<int>(n));
                });
            }
            (void)both("trip aad " + std::to_string(aad.size()), [&](EVP_CIPHER_CTX* c, int) {
                return EVP_CipherUpdate(c, nullptr, &an, aad.data(), static_cast<int>(aad.size()));
            });
            const int result = both("trip text " + std::to_string(n), [&](EVP_CIPHER_CTX* c, int ours) {
                return EVP_CipherUpdate(c, (ours != 0 ? b : a).data(), ours != 0 ? &bn : &an, in.data(),
                                        static_cast<int>(n));
            });
            if (result == 1 && (a != b || an != bn)) differ("trip text: output");
            const bool ended = result == 1 || !ccm || ccm_knows_empty_messages;
            if (ended)
                (void)both("trip final", [&](EVP_CIPHER_CTX* c, int) {
                    unsigned char none[16];
                    return EVP_CipherFinal_ex(c, none, &an);
                });
            if (enc != 0) {
                Bytes ta(tag_bytes), tb(tag_bytes);
                const int got = both("trip get tag", [&](EVP_CIPHER_CTX* c, int ours) {
                    return EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, static_cast<int>(tag_bytes),
                                               (ours != 0 ? tb : ta).data());
                });
                if (got == 1 && ta != tb) differ("trip tag");
                tag = ta;
                std::copy_n(a.begin(), n, sealed.begin());
            } else if (std::equal(text.begin(), text.end(), a.begin()) && n != 0) {
                ++opened;
            }
        }
        iv_given_ = true;
    }

    void step() {
        const std::uint64_t what = random_.below(100);
        if (what < 12) {
            init(false);
        } else if (what < 50) {
            if (mode_ == EVP_CIPH_CCM_MODE && random_.chance(60)) return ccm_length();
            update(false);
        } else if (what < 60) {
            if (aead_) update(true);
        } else if (what < 68) {
            final();
        } else if (what < 72) {
            if (!wrap_) one_shot();
        } else if (what < 76) {
            if (aead_) get_tag();
        } else if (what < 80) {
            if (aead_) set_tag();
        } else if (what < 83) {
            if (aead_ && !siv_) set_iv_length();
        } else if (what < 87) {
            copy();
        } else if (what < 90) {
            if (!aead_) set_number(OSSL_CIPHER_PARAM_PADDING, static_cast<unsigned>(random_.below(3)));
        } else if (what < 92) {
            if (!aead_ && !wrap_ && takes_every_num)
                set_number(OSSL_CIPHER_PARAM_NUM, static_cast<unsigned>(random_.below(16)));
        } else if (what < 94) {
            if (cfb1_) {
                const auto bits = static_cast<unsigned>(random_.below(2));
                set_number(OSSL_CIPHER_PARAM_USE_BITS, bits);
                use_bits_ = bits != 0;
            }
            if (siv_) set_number(OSSL_CIPHER_PARAM_SPEED, static_cast<unsigned>(random_.below(2)));
        } else if (what < 95) {
            set_keylen();
        } else if (what < 98) {
            tls();
        } else {
            round_trip();
        }
    }

    void compare_params() {
        const OSSL_PARAM* const list = EVP_CIPHER_gettable_ctx_params(cipher_.theirs);
        for (const OSSL_PARAM* p = list; p != nullptr && p->key != nullptr; ++p) {
            const std::string name = p->key;
            // Other steps query these parameters.
            if (name == OSSL_CIPHER_PARAM_AEAD_TAG || name == OSSL_CIPHER_PARAM_AEAD_TLS1_GET_IV_GEN) continue;
            if (name == OSSL_CIPHER_PARAM_TLS_MAC) continue;
            Bytes a(160, 0xa5), b = a;
            const std::size_t room =
                p->data_type == OSSL_PARAM_OCTET_STRING ? mode_ == EVP_CIPH_CCM_MODE ? 16 : 128 : p->data_size;
            std::size_t an = 0, bn = 0;
            const int result = both("get " + name, [&](EVP_CIPHER_CTX* c, int ours) {
                OSSL_PARAM params[] = {{p->key, p->data_type, (ours != 0 ? b : a).data(), room, OSSL_PARAM_UNMODIFIED},
                                       OSSL_PARAM_construct_end()};
                const int got = EVP_CIPHER_CTX_get_params(c, params);
                (ours != 0 ? bn : an) = params[0].return_size;
                return got;
            });
            trace.pop_back();
            if (result == 1 && (an != bn || a != b)) {
                differ("parameter " + name + " is " + hex(b.data(), room) + ", not " + hex(a.data(), room));
            }
        }
    }

public:
    static inline std::uint64_t opened = 0;

private:
    Random& random_;
    Pair<EVP_CIPHER> cipher_;
    Pair<EVP_CIPHER_CTX> ctx_;
    int mode_;
    bool wrap_, siv_, cfb1_, aead_, block_;
    bool use_bits_ = false, iv_given_ = false, tls_ = false, spoiled_ = false;
};

/// Tests CMAC and GMAC with AES and with a different cipher.
void mac_sequence(Random& random, const Pair<EVP_MAC>& mac, bool gmac) {
    Pair<EVP_MAC_CTX> ctx{EVP_MAC_CTX_new(mac.ours), EVP_MAC_CTX_new(mac.theirs)};
    const auto both = [&](const std::string& what, const auto& call) {
        ERR_clear_error();
        const int theirs = call(ctx.theirs, 0);
        ERR_clear_error();
        const int ours = call(ctx.ours, 1);
        trace.push_back(what + " -> " + std::to_string(theirs));
        if (theirs != ours) differ(what + ": returns " + std::to_string(ours) + ", not " + std::to_string(theirs));
        return theirs;
    };
    const char* const ciphers[] = {"AES-128-CBC", "aes256", "2.16.840.1.101.3.4.1.22", "DES-EDE3-CBC", "AES-128-CTR"};
    const char* const gcms[] = {"AES-128-GCM", "id-aes256-gcm", "2.16.840.1.101.3.4.1.26", "ARIA-128-GCM"};
    std::size_t key_bytes = 16;
    bool keyed = false;
    const auto start = [&] {
        const std::size_t i = random.below(gmac ? 4 : 5);
        key_bytes = gmac ? (i == 0 || i == 3 ? 16 : i == 1 ? 32 : 24) : (i == 1 ? 32 : i == 2 || i == 3 ? 24 : 16);
        Bytes key = random.bytes(random.chance(95) ? key_bytes : random.below(40) + 1);
        Bytes iv = random.bytes(1 + random.below(20));
        char* const name = const_cast<char*>(gmac ? gcms[i] : ciphers[i]);
        std::vector<OSSL_PARAM> params{OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_CIPHER, name, 0)};
        if (gmac) params.push_back(OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_IV, iv.data(), iv.size()));
        const bool key_as_param = random.chance(40);
        if (key_as_param) {
            params.push_back(OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, key.data(), key.size()));
        }
        params.push_back(OSSL_PARAM_construct_end());
        keyed = both(std::string("mac init ") + name + " key " + std::to_string(key.size()) +
                         (key_as_param ? " in parameters" : ""),
                     [&](EVP_MAC_CTX* c, int) {
                         return EVP_MAC_init(c, key_as_param ? nullptr : key.data(), key_as_param ? 0 : key.size(),
                                             params.data());
                     }) == 1;
    };
    start();
    const std::size_t steps = 1 + random.below(10);
    for (std::size_t s = 0; s < steps && keyed; ++s) {
        switch (random.below(10)) {
        case 0:
            if (random.chance(50)) {
                start();
            } else if (!gmac) {
                (void)both("mac restart", [&](EVP_MAC_CTX* c, int) { return EVP_MAC_init(c, nullptr, 0, nullptr); });
            }
            break;
        case 1: {
            Bytes a(64, 0xa5), b = a;
            std::size_t an = 0, bn = 0;
            const int result = both("mac final", [&](EVP_MAC_CTX* c, int ours) {
                return EVP_MAC_final(c, (ours != 0 ? b : a).data(), ours != 0 ? &bn : &an, 64);
            });
            if (result == 1 && (a != b || an != bn)) differ("mac");
            break;
        }
        case 2: {
            const Pair<EVP_MAC_CTX> copy{EVP_MAC_CTX_dup(ctx.ours), EVP_MAC_CTX_dup(ctx.theirs)};
            if ((copy.ours == nullptr) != (copy.theirs == nullptr)) differ("mac dup");
            if (copy.ours == nullptr) break;
            EVP_MAC_CTX_free(ctx.ours);
            EVP_MAC_CTX_free(ctx.theirs);
            ctx = copy;
            break;
        }
        case 3:
            if (EVP_MAC_CTX_get_mac_size(ctx.ours) != EVP_MAC_CTX_get_mac_size(ctx.theirs)) differ("mac size");
            if (!gmac && EVP_MAC_CTX_get_block_size(ctx.ours) != EVP_MAC_CTX_get_block_size(ctx.theirs)) {
                differ("mac block size");
            }
            break;
        default: {
            const Bytes data = random.bytes(random.length());
            (void)both("mac update " + std::to_string(data.size()),
                       [&](EVP_MAC_CTX* c, int) { return EVP_MAC_update(c, data.data(), data.size()); });
        }
        }
    }
    if (keyed) {
        Bytes a(64, 0xa5), b = a;
        std::size_t an = 0, bn = 0;
        const int result = both("mac final", [&](EVP_MAC_CTX* c, int ours) {
            return EVP_MAC_final(c, (ours != 0 ? b : a).data(), ours != 0 ? &bn : &an, 64);
        });
        if (result == 1 && (a != b || an != bn)) differ("mac");
    }
    EVP_MAC_CTX_free(ctx.ours);
    EVP_MAC_CTX_free(ctx.theirs);
}

void same_lists(const std::string& what, const OSSL_PARAM* a, const OSSL_PARAM* b) {
    const auto text = [](const OSSL_PARAM* p) {
        std::map<std::string, std::string> all;
        for (; p != nullptr && p->key != nullptr; ++p) {
            // OpenSSL supports this parameter since 3.4. Our provider always supports it.
            if (std::strcmp(p->key, "iv-generated") == 0) continue;
            all[p->key] = std::to_string(p->data_type) + "/" + std::to_string(p->data_size);
        }
        std::string s;
        for (const auto& [name, type] : all) s += name + "=" + type + " ";
        return s;
    };
    if (text(a) != text(b)) differ(what + ": list is " + text(a) + ", not " + text(b));
}

/// Compares the fixed parameters of a cipher.
void same_cipher(const Pair<EVP_CIPHER>& c) {
    const std::string name = EVP_CIPHER_get0_name(c.theirs);
    const auto same = [&](const char* what, long a, long b) {
        if (a != b) differ(name + ": " + what + " is " + std::to_string(a) + ", not " + std::to_string(b));
    };
    same("key length", EVP_CIPHER_get_key_length(c.ours), EVP_CIPHER_get_key_length(c.theirs));
    same("IV length", EVP_CIPHER_get_iv_length(c.ours), EVP_CIPHER_get_iv_length(c.theirs));
    same("block size", EVP_CIPHER_get_block_size(c.ours), EVP_CIPHER_get_block_size(c.theirs));
    same("mode", static_cast<long>(EVP_CIPHER_get_mode(c.ours)), static_cast<long>(EVP_CIPHER_get_mode(c.theirs)));
    same("flags", static_cast<long>(EVP_CIPHER_get_flags(c.ours)), static_cast<long>(EVP_CIPHER_get_flags(c.theirs)));
    same("nid", EVP_CIPHER_get_nid(c.ours), EVP_CIPHER_get_nid(c.theirs));
    same_lists(name + " gettable", EVP_CIPHER_gettable_params(c.ours), EVP_CIPHER_gettable_params(c.theirs));
    same_lists(name + " gettable of a context", EVP_CIPHER_gettable_ctx_params(c.ours),
               EVP_CIPHER_gettable_ctx_params(c.theirs));
    same_lists(name + " settable", EVP_CIPHER_settable_ctx_params(c.ours), EVP_CIPHER_settable_ctx_params(c.theirs));
    const auto names = [](const EVP_CIPHER* cipher) {
        std::vector<std::string> all;
        EVP_CIPHER_names_do_all(
            cipher, [](const char* n, void* to) { static_cast<std::vector<std::string>*>(to)->emplace_back(n); }, &all);
        std::sort(all.begin(), all.end());
        std::string text;
        for (const auto& n : all) text += n + ":";
        return text;
    };
    if (names(c.ours) != names(c.theirs)) differ(name + ": names " + names(c.ours) + ", not " + names(c.theirs));
}

template <typename Type>
Type* needed(Type* made, const std::string& what) {
    if (made != nullptr) return made;
    std::fprintf(stderr, "cannot make %s\n", what.c_str());
    ERR_print_errors_fp(stderr);
    std::exit(2);
}

}  // namespace

int main(int argc, char** argv) {
    Options options;
    for (int i = 1; i < argc; ++i) {
        const std::string argument = argv[i];
        if (argument == "--sequences" && i + 1 < argc) {
            options.sequences = std::stoull(argv[++i]);
        } else if (argument == "--seed" && i + 1 < argc) {
            options.seed = std::stoull(argv[++i]);
        } else if (argument == "--config" && i + 1 < argc) {
            options.config = argv[++i];
        } else if (argument == "--only" && i + 1 < argc) {
            options.only = argv[++i];
        } else {
            options.folder = argument;
        }
    }
    OSSL_LIB_CTX* const theirs = needed(OSSL_LIB_CTX_new(), "a library context");
    OSSL_LIB_CTX* const ours = needed(OSSL_LIB_CTX_new(), "a library context");
    OSSL_PROVIDER* const standard = needed(OSSL_PROVIDER_load(theirs, "default"), "the default provider");
    takes_every_num = takes_num(theirs);
    ccm_knows_empty_messages = seals_empty_message(theirs);
    (void)OSSL_PROVIDER_set_default_search_path(ours, options.folder.c_str());
    if (!options.config.empty() && OSSL_LIB_CTX_load_config(ours, options.config.c_str()) != 1) {
        (void)needed<OSSL_LIB_CTX>(nullptr, "what the configuration says");
    }
    OSSL_PROVIDER* const warpaes = needed(OSSL_PROVIDER_load(ours, "warpaes"), "warpaes");
    OSSL_PROVIDER* const beside = needed(OSSL_PROVIDER_load(ours, "default"), "the default provider");

    std::vector<Pair<EVP_CIPHER>> ciphers;
    std::vector<std::string> names;
    for (const std::string bits : {"128", "192", "256"}) {
        for (const std::string mode : {"ECB", "CBC", "CFB", "CFB1", "CFB8", "OFB", "CTR", "XTS", "GCM", "CCM", "SIV",
                                       "WRAP", "WRAP-PAD", "WRAP-INV", "WRAP-PAD-INV"}) {
            if (mode == "XTS" && bits == "192") continue;
            names.push_back("AES-" + bits + "-" + mode);
        }
    }
    for (const std::string& name : names) {
        if (!options.only.empty() && name.find(options.only) == std::string::npos) continue;
        EVP_CIPHER* const cipher = EVP_CIPHER_fetch(ours, name.c_str(), "provider=warpaes");
        // CBC is available only if the configuration enables it.
        if (cipher == nullptr && name.find("CBC") != std::string::npos) continue;
        ciphers.push_back({needed(cipher, name), needed(EVP_CIPHER_fetch(theirs, name.c_str(), nullptr), name)});
        same_cipher(ciphers.back());
    }
    const Pair<EVP_MAC> cmac{needed(EVP_MAC_fetch(ours, "CMAC", "provider=warpaes"), "CMAC"),
                             needed(EVP_MAC_fetch(theirs, "CMAC", nullptr), "CMAC")};
    const Pair<EVP_MAC> gmac{needed(EVP_MAC_fetch(ours, "GMAC", "provider=warpaes"), "GMAC"),
                             needed(EVP_MAC_fetch(theirs, "GMAC", nullptr), "GMAC")};
    const bool macs = options.only.empty() || options.only == "MAC";

    for (std::uint64_t i = 0; i < options.sequences; ++i) {
        Random random(options.seed * 1000003 + i);
        const std::size_t which = random.below(ciphers.size() + (macs ? 8 : 0));
        trace.assign(1, "sequence " + std::to_string(i) + " of seed " + std::to_string(options.seed) + ": " +
                            (which < ciphers.size() ? EVP_CIPHER_get0_name(ciphers[which].theirs) : "a MAC"));
        if (which >= ciphers.size()) {
            mac_sequence(random, which % 2 == 0 ? cmac : gmac, which % 2 != 0);
        } else {
            CipherSequence(random, ciphers[which]).run();
        }
    }
    std::printf("%llu sequences, %zu ciphers, %llu texts opened: all alike\n",
                static_cast<unsigned long long>(options.sequences), ciphers.size(),
                static_cast<unsigned long long>(CipherSequence::opened));
    for (const auto& c : ciphers) {
        EVP_CIPHER_free(c.ours);
        EVP_CIPHER_free(c.theirs);
    }
    for (EVP_MAC* mac : {cmac.ours, cmac.theirs, gmac.ours, gmac.theirs}) EVP_MAC_free(mac);
    OSSL_PROVIDER_unload(beside);
    OSSL_PROVIDER_unload(warpaes);
    OSSL_PROVIDER_unload(standard);
    OSSL_LIB_CTX_free(ours);
    OSSL_LIB_CTX_free(theirs);
    return 0;
}
