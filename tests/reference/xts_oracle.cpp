#include "xts_oracle.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>

namespace oracle {

Bytes later_unit(Bytes number, std::uint64_t units) {
    std::uint64_t carry = 0;
    for (std::uint8_t& byte : number) {
        const std::uint64_t sum = byte + (units & 0xff) + carry;
        byte = static_cast<std::uint8_t>(sum);
        carry = sum >> 8;
        units >>= 8;
    }
    return number;
}

Bytes xts(bool encrypt, const Bytes& key, const Bytes& tweak_key, const Bytes& number, std::size_t unit,
          const Bytes& in, std::uint64_t step) {
    const std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)> context(EVP_CIPHER_CTX_new(),
                                                                                  EVP_CIPHER_CTX_free);
    const auto require = [](int result) {
        if (result != 1) throw std::runtime_error("libcrypto refused what the test asked of it");
    };
    Bytes keys = key;
    keys.insert(keys.end(), tweak_key.begin(), tweak_key.end());
    require(EVP_CipherInit_ex(context.get(), key.size() == 16 ? EVP_aes_128_xts() : EVP_aes_256_xts(), nullptr,
                              keys.data(), nullptr, encrypt ? 1 : 0));
    Bytes out(in.size());
    Bytes here = number;
    for (std::size_t at = 0; at < in.size(); at += unit) {
        const auto bytes = static_cast<int>(std::min(unit, in.size() - at));
        int written = 0;
        require(EVP_CipherInit_ex(context.get(), nullptr, nullptr, nullptr, here.data(), -1));
        require(EVP_CipherUpdate(context.get(), out.data() + at, &written, in.data() + at, bytes));
        if (written != bytes) throw std::runtime_error("libcrypto wrote less than a data unit");
        here = later_unit(std::move(here), step);
    }
    return out;
}

}  // namespace oracle
