#include "format/digest.hpp"

#include "base/error.hpp"

namespace warpaes {

namespace {

void check(int result) {
    if (result != 1) throw Error(WARPAES_ERROR_INTERNAL, "libcrypto: SHA-256 failed");
}

}  // namespace

DigestSink::DigestSink(Sink& sink) : sink_(sink), context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
    if (context_ == nullptr) throw std::bad_alloc();
    check(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr));
}

void DigestSink::write(std::uint64_t offset, std::span<const std::uint8_t> bytes) {
    check(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()));
    sink_.write(offset, bytes);
}

Sha256 DigestSink::digest() {
    Sha256 made;
    check(EVP_DigestFinal_ex(context_.get(), made.data(), nullptr));
    return made;
}

}  // namespace warpaes
