// GCM through EVP, which knows whole messages only, where a run may be any stretch of one and wants its digest.
//
// A tag gives the digest away: T = (D ^ lengths) * H ^ E(J0), so D = (T ^ E(J0)) / H ^ lengths. And a stretch is a
// whole message of another J0, which EVP takes in the guise of a long IV: from 16 bytes it makes J0 = (IV * H ^
// lengths) * H, which can be solved for the IV just as well. So encryption is one pass. EVP shows no tag when it
// decrypts; there the ciphertext is hashed as the associated data of an empty message, piece by piece beside CTR.
#include <openssl/evp.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "aes/cipher.hpp"
#include "aes/counter.hpp"
#include "base/error.hpp"
#include "base/stack_depth.hpp"
#include "cpu/libcrypto.hpp"

namespace warpaes::cpu {

namespace {

void require(int result, const char* call) {
    if (result != 1) throw Error(WARPAES_ERROR_INTERNAL, std::string("libcrypto: ") + call + " failed");
}

/// An EVP operation under one key that is started many times. EVP_CIPHER_CTX_free cleanses its key.
class Operation {
public:
    Operation(Mode mode, const ExpandedKey& key, int iv_bytes) : context_(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free) {
        note_stack_depth(libcrypto_stack);
        if (!context_) throw Error(WARPAES_ERROR_OUT_OF_MEMORY, "libcrypto: cannot allocate a cipher context");
        require(EVP_EncryptInit_ex2(context_.get(), libcrypto_cipher(mode, key.rounds()), key.bytes().data(), nullptr,
                                    nullptr),
                "EVP_EncryptInit_ex2");
        if (iv_bytes != EVP_CIPHER_CTX_get_iv_length(context_.get())) {
            require(EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_SET_IVLEN, iv_bytes, nullptr),
                    "EVP_CTRL_AEAD_SET_IVLEN");
        }
    }

    void start(const Block& iv) {
        require(EVP_EncryptInit_ex2(context_.get(), nullptr, nullptr, iv.data(), nullptr), "EVP_EncryptInit_ex2");
    }

    /// Null `output`: associated data.
    void update(const std::uint8_t* input, std::uint8_t* output, std::uint64_t bytes) {
        constexpr std::uint64_t most = std::uint64_t{1} << 30;  // lengths are int in EVP
        while (bytes != 0) {
            const std::uint64_t n = std::min(bytes, most);
            int written = 0;
            require(EVP_EncryptUpdate(context_.get(), output, &written, input, static_cast<int>(n)),
                    "EVP_EncryptUpdate");
            input += n;
            if (output != nullptr) output += n;
            bytes -= n;
        }
    }

    [[nodiscard]] Block finish() {
        Block tag{};
        int written = 0;
        require(EVP_EncryptFinal_ex(context_.get(), tag.data(), &written), "EVP_EncryptFinal_ex");
        require(EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_GET_TAG, block_bytes, tag.data()),
                "EVP_CTRL_AEAD_GET_TAG");
        return tag;
    }

private:
    std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)> context_;
};

constexpr int usual_iv_bytes = 12;

/// The IV of 96 bits is J0 but for its last word, a one.
bool has_usual_iv(const Block& j0) {
    return static_cast<std::uint32_t>(load_counter(j0).low) == 1;
}

/// What the segments of a run share.
class Gcm {
public:
    explicit Gcm(const GcmRun& run) : run_(run), key_(*run.key), h_(key_.hash_key().powers[0]) {}

    Block hash(const std::uint8_t* data, std::uint64_t bytes) {
        // Up to here `multiply` is done before EVP and the division are.
        constexpr std::uint64_t most_bytes_by_hand = 1536;
        if (bytes > most_bytes_by_hand) {
            start_mac(any_j0);
            mac_->update(data, nullptr, bytes);
            return digest_from_mac(mac_->finish(), any_j0, bytes);
        }
        Secret<FieldElement> digest;
        hash_blocks(*h_, data, bytes, *digest);
        return store_element(*digest);
    }

    Block encrypt(const Block& j0, const std::uint8_t* input, std::uint8_t* output, std::uint64_t bytes) {
        const bool usual = has_usual_iv(j0);
        auto& operation = usual ? with_usual_iv_ : with_long_iv_;
        if (!operation) operation.emplace(Mode::gcm, key_, usual ? usual_iv_bytes : static_cast<int>(block_bytes));
        operation->start(usual ? j0 : long_iv(j0));
        operation->update(input, output, bytes);
        const FieldElement tag = load_element(operation->finish());
        if (run_.result == GcmRun::Result::tag) return store_element(tag ^ aad_share(bytes));
        return store_element(divide(tag ^ encrypted(j0)) ^ length_block(0, bytes));
    }

    Block decrypt(const Block& j0, const std::uint8_t* input, std::uint8_t* output, std::uint64_t bytes) {
        const bool usual = has_usual_iv(j0);
        const Block& mac_j0 = usual ? j0 : any_j0;
        start_mac(mac_j0);
        if (bytes != 0) decrypt_and_hash(inc32(j0), input, output, bytes);
        const Block mac = mac_->finish();
        if (run_.result == GcmRun::Result::digest) return digest_from_mac(mac, mac_j0, bytes);

        // From here to the tag the lengths are to be exchanged; the rest is the same if J0 is.
        FieldElement tag = load_element(mac) ^ multiply(length_block(bytes, bytes), *h_) ^ aad_share(bytes);
        if (!usual) tag = tag ^ encrypted(mac_j0) ^ encrypted(j0);
        return store_element(tag);
    }

private:
    /// For tags that do not leave this file.
    static constexpr Block any_j0{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};

    void start_mac(const Block& j0) {
        if (!mac_) mac_.emplace(Mode::gcm, key_, usual_iv_bytes);
        mac_->start(j0);
    }

    /// In pieces that stay in the first-level cache, for they are read twice. The counter of GCM has 32 bits and wraps
    /// without a carry, EVP's has 128: cut there.
    void decrypt_and_hash(const Block& first, const std::uint8_t* input, std::uint8_t* output, std::uint64_t bytes) {
        constexpr std::uint64_t piece = 16384;
        if (!counter_) counter_.emplace(Mode::ctr, key_, static_cast<int>(block_bytes));
        counter_->start(first);
        std::uint64_t until_wrap = (counters - static_cast<std::uint32_t>(load_counter(first).low)) * block_bytes;
        for (std::uint64_t done = 0; done < bytes;) {
            const std::uint64_t n = std::min({piece, bytes - done, until_wrap});
            mac_->update(input + done, nullptr, n);
            counter_->update(input + done, output + done, n);
            done += n;
            until_wrap -= n;
            if (until_wrap == 0) {
                counter_->start(inc32(first, done / block_bytes));
                until_wrap = counters * block_bytes;
            }
        }
    }

    Block digest_from_mac(const Block& mac, const Block& mac_j0, std::uint64_t bytes) {
        return store_element(divide(load_element(mac) ^ encrypted(mac_j0)) ^ length_block(bytes, 0));
    }

    /// What the associated data add to the tag of a message of `bytes`.
    FieldElement aad_share(std::uint64_t bytes) {
        if (run_.aad_bytes == 0) return {};
        if (!aad_share_ || bytes != aad_share_bytes_) {
            aad_share_ = whole_digest(*h_, load_element(run_.aad_digest), run_.aad_bytes, {}, bytes) ^
                         whole_digest(*h_, {}, 0, {}, bytes);
            aad_share_bytes_ = bytes;
        }
        return *aad_share_;
    }

    FieldElement encrypted(const Block& block) {
        return load_element(encrypt_block(key_.encrypt(), key_.rounds(), block));
    }

    FieldElement divide(FieldElement e) {
        if (!inverse_) inverse_.emplace(inverse(*h_));
        return multiply(e, **inverse_);
    }

    Block long_iv(const Block& j0) {
        return store_element(divide(divide(load_element(j0)) ^ length_block(0, block_bytes)));
    }

    static constexpr std::uint64_t counters = std::uint64_t{1} << 32;

    const GcmRun& run_;
    const ExpandedKey& key_;
    Secret<FieldElement> h_;
    std::optional<Secret<FieldElement>> inverse_;
    std::optional<Operation> with_usual_iv_, with_long_iv_, counter_, mac_;
    std::optional<FieldElement> aad_share_;
    std::uint64_t aad_share_bytes_ = 0;
};

}  // namespace

void run_gcm_libcrypto(const GcmRun& run) {
    Gcm gcm(run);
    for (std::uint64_t i = 0; i < run.count; ++i) {
        const std::uint64_t bytes = i + 1 == run.count ? run.last_bytes : run.segment_bytes;
        const std::uint8_t* const input = run.input + i * run.input_stride;
        if (run.hashes_only()) {
            run.results[i] = gcm.hash(input, bytes);
            continue;
        }
        std::uint8_t* const output = bytes == 0 ? nullptr : run.output + i * run.output_stride;
        const Block j0 = inc32(run.j0[i], run.first_block);
        run.results[i] = run.direction == Direction::encrypt ? gcm.encrypt(j0, input, output, bytes)
                                                             : gcm.decrypt(j0, input, output, bytes);
    }
}

}  // namespace warpaes::cpu
