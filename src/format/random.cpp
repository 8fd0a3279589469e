#include "format/random.hpp"

#include <openssl/rand.h>

#include "base/error.hpp"

namespace warpaes {

namespace {

void fill(std::span<std::uint8_t> bytes, int (*generator)(unsigned char*, int), const char* what) {
    if (generator(bytes.data(), static_cast<int>(bytes.size())) != 1) {
        throw Error(WARPAES_ERROR_INTERNAL, std::string(what) + ": libcrypto has no random numbers");
    }
}

}  // namespace

void make_salt(std::span<std::uint8_t> bytes) {
    fill(bytes, RAND_bytes, "salt");
}

void make_key(std::span<std::uint8_t> bytes) {
    fill(bytes, RAND_priv_bytes, "key");
}

}  // namespace warpaes
