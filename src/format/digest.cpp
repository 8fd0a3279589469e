#include "format/digest.hpp"

#include <new>
#include <vector>

#include "base/error.hpp"
#include "base/library_context.hpp"
#include "base/stack_depth.hpp"

namespace warpaes {

namespace {

void require(bool ok) {
    if (!ok) throw Error(WARPAES_ERROR_INTERNAL, "libcrypto: SHA-256 failed");
}

/// The algorithm is fetched only once and kept for the lifetime of the process.
const EVP_MD* sha256() {
    static const EVP_MD* const md = EVP_MD_fetch(library_context(), "SHA2-256", nullptr);
    require(md != nullptr);
    return md;
}

}  // namespace

RunningDigest::RunningDigest() : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
    if (context_ == nullptr) throw std::bad_alloc();
    require(EVP_DigestInit_ex(context_.get(), sha256(), nullptr) == 1);
}

void RunningDigest::update(std::span<const std::uint8_t> bytes) {
    note_stack_depth(libcrypto_stack);
    require(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
}

Sha256 RunningDigest::finish() {
    note_stack_depth(libcrypto_stack);
    Sha256 made;
    require(EVP_DigestFinal_ex(context_.get(), made.data(), nullptr) == 1);
    return made;
}

void DigestSink::write(std::uint64_t offset, std::span<const std::uint8_t> bytes) {
    digest_.update(bytes);
    sink_.write(offset, bytes);
}

DigestSource::DigestSource(Source& source, Source& file, std::uint64_t before) : source_(source) {
    if (file.size() == Engine::unknown_length) {
        throw Error(WARPAES_ERROR_ARGUMENT, "flags: SHA256_INPUT requires a file, but the input is a pipe");
    }
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(before));
    (void)file.read(0, bytes);
    digest_.update(bytes);
}

std::size_t DigestSource::read(std::uint64_t offset, std::span<std::uint8_t> buffer) {
    const std::size_t n = source_.read(offset, buffer);
    if (offset <= hashed_ && hashed_ < offset + n) {
        digest_.update(buffer.first(n).subspan(static_cast<std::size_t>(hashed_ - offset)));
        hashed_ = offset + n;
    }
    return n;
}

Sha256 DigestSource::digest() {
    if (hashed_ != size()) throw Error(WARPAES_ERROR_INTERNAL, "SHA-256 of the input: not all of it was read");
    return digest_.finish();
}

}  // namespace warpaes
