#include "places/secret_text.hpp"

#include <string.h>

#include <cerrno>

#include "base/error.hpp"
#include "places/host.hpp"

namespace warpaes::places {

namespace {

[[noreturn]] void refuse_length(const std::string& what) {
    throw Error(WARPAES_ERROR_KEYSET, what + ": is longer than " + std::to_string(SecretText::capacity - 1) + " bytes");
}

}  // namespace

SecretText::~SecretText() {
    if (bytes_) ::explicit_bzero(bytes_.get(), size_);
}

void SecretText::read(const std::string& what, int fd, Host& host) {
    for (;;) {
        if (size_ == capacity) refuse_length(what);
        const ssize_t n = host.read(fd, bytes_.get() + size_, capacity - size_);
        if (n < 0 && errno == EINTR) throw Error(WARPAES_ERROR_CANCELLED, what + ": interrupted");
        if (n < 0) throw Error(WARPAES_ERROR_READ, what + ": cannot read: " + error_text(errno));
        if (n == 0) return;
        size_ += static_cast<std::size_t>(n);
    }
}

void SecretText::copy(const std::string& what, std::string_view text) {
    if (text.size() >= capacity) refuse_length(what);
    size_ = text.copy(bytes_.get(), text.size());
}

}  // namespace warpaes::places
