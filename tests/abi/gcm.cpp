#include "gcm.hpp"

#include "evp_oracle.hpp"
#include "reference.hpp"

namespace abi_tests {

GcmCase make_gcm_case(Random& random, std::size_t key_bytes, std::size_t iv_bytes, std::size_t aad_bytes,
                      std::size_t text_bytes) {
    GcmCase c{
        random.bytes(key_bytes), random.bytes(iv_bytes), random.bytes(aad_bytes), random.bytes(text_bytes), {}, {}};
    constexpr std::size_t longest_of_libcrypto = 128;
    if (iv_bytes > longest_of_libcrypto) {
        const reference::Aes aes(c.key);
        const auto [sealed, tag] = reference::gcm::encrypt(aes, reference::gcm::j0(aes, c.iv), c.text, c.aad);
        c.sealed = sealed;
        c.tag.assign(tag.begin(), tag.end());
        return c;
    }
    c.sealed = oracle::evp_gcm(c.key, c.iv, c.text, c.aad);
    c.tag.assign(c.sealed.end() - 16, c.sealed.end());
    c.sealed.resize(text_bytes);
    return c;
}

warpaes_message gcm_message(const GcmCase& c, const Key& key, warpaes_direction direction, const void* input,
                            void* output, void* tag) {
    warpaes_message message =
        make_message(WARPAES_GCM, direction, key, c.iv, input, c.text.size(), output, c.text.size());
    message.aad = c.aad.data();
    message.aad_len = c.aad.size();
    message.tag = tag;
    message.tag_len = 16;
    return message;
}

}  // namespace abi_tests
