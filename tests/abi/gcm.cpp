#include "gcm.hpp"

#include <algorithm>

#include "evp_oracle.hpp"
#include "reference.hpp"

namespace abi_tests {

namespace {

void seal(GcmCase& c) {
    constexpr std::size_t longest_of_libcrypto = 128;
    if (c.iv.size() > longest_of_libcrypto) {
        const reference::Aes aes(c.key);
        const auto [sealed, tag] = reference::gcm::encrypt(aes, reference::gcm::j0(aes, c.iv), c.text, c.aad);
        c.sealed = sealed;
        c.tag.assign(tag.begin(), tag.end());
        return;
    }
    c.sealed = oracle::evp_gcm(c.key, c.iv, c.text, c.aad);
    c.tag.assign(c.sealed.end() - 16, c.sealed.end());
    c.sealed.resize(c.text.size());
}

}  // namespace

GcmCase make_gcm_case(Random& random, std::size_t key_bytes, std::size_t iv_bytes, std::size_t aad_bytes,
                      std::size_t text_bytes) {
    GcmCase c{
        random.bytes(key_bytes), random.bytes(iv_bytes), random.bytes(aad_bytes), random.bytes(text_bytes), {}, {}};
    seal(c);
    return c;
}

void change_iv(GcmCase& c, const Bytes& iv) {
    c.iv = iv;
    seal(c);
}

Bytes iv_of(const Bytes& key, const Bytes& j0) {
    using reference::Block;
    using reference::gcm::multiply;
    // j0 = (iv * H ^ lengths) * H, and 1 / H = H^(2^128 - 2) = H^2 * H^4 * … * H^(2^127).
    const Block h = reference::Aes(key).cipher(Block{});
    Block square = multiply(h, h), inverse = square;
    for (int i = 2; i < 128; ++i) {
        square = multiply(square, square);
        inverse = multiply(inverse, square);
    }
    Block block;
    std::copy(j0.begin(), j0.end(), block.begin());
    block = multiply(block, inverse);
    block[15] ^= 128;  // bits
    block = multiply(block, inverse);
    return {block.begin(), block.end()};
}

Call gcm_message(const GcmCase& c, const Key& key, warpaes_direction direction, const void* input, void* output,
                 void* tag) {
    Call message = make_message(WARPAES_GCM, direction, key, c.iv, input, c.text.size(), output, c.text.size());
    message.aad = c.aad.data();
    message.aad_len = c.aad.size();
    message.tag = tag;
    message.tag_len = 16;
    return message;
}

}  // namespace abi_tests
