#include "base/kernel_random.hpp"

#include <openssl/rand.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <string>

#include "base/error.hpp"

namespace warpaes {

namespace {

void fill_from_libcrypto(std::span<std::uint8_t> bytes, const char* what) {
    while (!bytes.empty()) {
        const std::size_t n = std::min<std::size_t>(bytes.size(), INT_MAX);
        if (RAND_priv_bytes(bytes.data(), static_cast<int>(n)) != 1) {
            throw Error(WARPAES_ERROR_INTERNAL, std::string(what) + ": libcrypto provides no random numbers");
        }
        bytes = bytes.subspan(n);
    }
}

}  // namespace

void fill_from_kernel(std::span<std::uint8_t> bytes, const char* what) {
    while (!bytes.empty()) {
        const ssize_t n = getrandom(bytes.data(), bytes.size(), 0);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == ENOSYS) return fill_from_libcrypto(bytes, what);
        if (n < 0) throw Error(WARPAES_ERROR_INTERNAL, std::string(what) + ": getrandom: " + std::strerror(errno));
        bytes = bytes.subspan(static_cast<std::size_t>(n));
    }
}

}  // namespace warpaes
