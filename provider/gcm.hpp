// GCM with the same interface as in the default provider. GMAC is based on it.
#pragma once

#include "provider/algorithm.hpp"
#include "provider/key.hpp"

namespace warpaes::provider {

enum class IvState { none, buffered, copied, finished };

/// The state of a message in progress.
struct GcmMessage {
    alignas(16) std::uint8_t counter[16];     ///< the next counter block
    alignas(16) std::uint8_t digest[16];      ///< GHASH digest; bytes of the current block are XORed in individually
    alignas(16) std::uint8_t key_stream[16];  ///< key stream for the current block
    alignas(16) std::uint8_t mask[16];        ///< E(J0)
    alignas(16) std::uint8_t j0[16];
    std::uint64_t aad_bytes, text_bytes;
    bool spoiled;  ///< a tag was checked or the engine failed, so no later tag is accepted
};

struct Gcm : Context {
    Key key;
    HashPowers hash;
    GcmMessage message;
    const Algorithm* algorithm;
    const cpu::UpdateKernels* kernels;
    std::size_t keylen, ivlen, taglen, tls_aad_len, tls_aad_pad;
    IvState iv_state;
    bool enc, key_set, iv_gen, iv_random;
    std::uint64_t tls_enc_records;
    alignas(16) std::uint8_t buf[16];  ///< the tag or, before a TLS record, its associated data
    std::uint8_t iv[128];
};

void* new_gcm(void* provider, const Algorithm& algorithm) noexcept;
int gcm_encrypt_init(void* context, const unsigned char* key, std::size_t keylen, const unsigned char* iv,
                     std::size_t ivlen, const OSSL_PARAM params[]) noexcept;
int gcm_update(void* context, unsigned char* out, std::size_t* outl, std::size_t outsize, const unsigned char* in,
               std::size_t inl) noexcept;
int gcm_final(void* context, unsigned char* out, std::size_t* outl, std::size_t outsize) noexcept;

}  // namespace warpaes::provider
