// An OpenSSL library context with our provider and the default provider, configured as by an openssl.cnf.
#pragma once

#include <gtest/gtest.h>
#include <openssl/core_dispatch.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/provider.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace warpaes::test {

using Bytes = std::vector<unsigned char>;

inline Bytes random_bytes(std::size_t n, std::uint32_t seed = 1) {
    std::mt19937 engine(seed);
    Bytes bytes(n);
    for (auto& b : bytes) b = static_cast<unsigned char>(engine());
    return bytes;
}

/// A file that is deleted with this object.
class TemporaryFile {
public:
    explicit TemporaryFile(const std::string& text = "") {
        char name[] = "/tmp/warpaes-provider-XXXXXX";
        const int file = ::mkstemp(name);
        path_ = name;
        if (file >= 0) ::close(file);
        std::ofstream(path_) << text;
    }
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;
    ~TemporaryFile() { (void)::unlink(path_.c_str()); }
    [[nodiscard]] const std::string& path() const { return path_; }

private:
    std::string path_;
};

#ifdef WARPAES_PROVIDER
inline constexpr const char* module_line = "module = " WARPAES_PROVIDER "\n";
#else  // the program contains the provider's objects
inline constexpr const char* module_line = "";
extern "C" int OSSL_provider_init(const OSSL_CORE_HANDLE*, const OSSL_DISPATCH*, const OSSL_DISPATCH**, void**);
#endif

class Library {
public:
    /// `settings` contains lines for the provider's section.
    explicit Library(const std::string& settings = "")
        : config_(
              "openssl_conf = init\n[init]\nproviders = all\nalg_section = algorithms\n[algorithms]\n"
              "default_properties = ?provider=warpaes\n[all]\ndefault = one\nwarpaes = two\n[one]\nactivate = 1\n"
              "[two]\nactivate = 1\n" +
              (module_line + settings)),
          context_(OSSL_LIB_CTX_new()) {
#ifndef WARPAES_PROVIDER
        EXPECT_EQ(1, OSSL_PROVIDER_add_builtin(context_, "warpaes", OSSL_provider_init));
#endif
        ERR_clear_error();
        loaded_ = OSSL_LIB_CTX_load_config(context_, config_.path().c_str()) == 1;
    }
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;
    ~Library() {
        OSSL_LIB_CTX_free(context_);
    }

    [[nodiscard]] bool loaded() const {
        return loaded_;
    }
    [[nodiscard]] OSSL_LIB_CTX* context() const {
        return context_;
    }
    [[nodiscard]] std::shared_ptr<EVP_CIPHER> cipher(const std::string& name, const char* provider = "warpaes") const {
        const std::string wanted = std::string("provider=") + provider;
        return {EVP_CIPHER_fetch(context_, name.c_str(), wanted.c_str()), EVP_CIPHER_free};
    }

private:
    TemporaryFile config_;
    OSSL_LIB_CTX* context_;
    bool loaded_ = false;
};

/// Runs `body` in a child process and returns its result, or -1 if the child crashes.
template <typename Body>
int in_a_child(const Body& body) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(60);
        ::_exit(body());
    }
    int status = 0;
    (void)::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

using CipherContext = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;

inline CipherContext started(const EVP_CIPHER* cipher, bool encrypt, const Bytes& key, const Bytes& iv) {
    CipherContext c(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
    EXPECT_EQ(1, EVP_CipherInit_ex2(c.get(), cipher, key.data(), iv.empty() ? nullptr : iv.data(), encrypt, nullptr));
    EXPECT_EQ(1, EVP_CIPHER_CTX_set_padding(c.get(), 0));
    return c;
}

inline Bytes updated(EVP_CIPHER_CTX* c, const Bytes& text) {
    Bytes out(text.size() + 32);
    int n = 0;
    EXPECT_EQ(1, EVP_CipherUpdate(c, out.data(), &n, text.data(), static_cast<int>(text.size())));
    out.resize(static_cast<std::size_t>(n));
    return out;
}

inline Bytes key_for(const EVP_CIPHER* cipher) {
    return random_bytes(static_cast<std::size_t>(EVP_CIPHER_get_key_length(cipher)), 7);
}

/// Returns the provider's build info, which `openssl list -providers -verbose` prints.
inline std::string build_info(const Library& library) {
    OSSL_PROVIDER* const provider = OSSL_PROVIDER_load(library.context(), "warpaes");
    char* text = nullptr;
    OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_ptr(OSSL_PROV_PARAM_BUILDINFO, &text, 0),
                           OSSL_PARAM_construct_end()};
    const bool got = provider != nullptr && OSSL_PROVIDER_get_params(provider, params) == 1 && text != nullptr;
    const std::string info = got ? text : "";
    OSSL_PROVIDER_unload(provider);
    return info;
}

/// Returns one of the provider's counters for this process.
inline std::uint64_t counter(const Library& library, const std::string& name) {
    OSSL_PROVIDER* const provider = OSSL_PROVIDER_load(library.context(), "warpaes");
    std::uint64_t value = 0;
    OSSL_PARAM params[] = {OSSL_PARAM_construct_uint64(name.c_str(), &value), OSSL_PARAM_construct_end()};
    EXPECT_TRUE(provider != nullptr && OSSL_PROVIDER_get_params(provider, params) == 1 && OSSL_PARAM_modified(params))
        << name;
    OSSL_PROVIDER_unload(provider);
    return value;
}

}  // namespace warpaes::test
