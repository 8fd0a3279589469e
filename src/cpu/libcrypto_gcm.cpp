// GCM through EVP. EVP processes only whole messages, but a run may be any stretch of a message and needs the digest.
//
// The digest follows from a tag: T = (D ^ lengths) * H ^ E(J0), so D = (T ^ E(J0)) / H ^ lengths. A stretch is
// processed as a whole message with a different J0, which is passed to EVP as a long IV: from an IV of 16 bytes, EVP
// computes J0 = (IV * H ^ lengths) * H, which can be solved for the IV. Encryption is therefore one pass. EVP does not
// output a tag when it decrypts; in decryption, the ciphertext is hashed piece by piece as the associated data of an
// empty message, and decrypted with CTR. If counters are secret, both directions are processed in this way. EVP
// branches where a counter wraps, so ECB is used for secret counters instead of CTR.
#include <algorithm>
#include <cstring>
#include <optional>

#include "aes/counter.hpp"
#include "cpu/libcrypto.hpp"

namespace warpaes::cpu {

namespace {

/// CTR with public counters. GCM counters have 32 bits and wrap without a carry, but EVP's counters have 128 bits, so
/// EVP is restarted when a counter wraps.
class PublicCounters {
public:
    PublicCounters(EvpOperation& ctr, const Block& first) : ctr_(ctr), next_(first) { ctr_.start(first); }

    /// Processes whole blocks; only the last call may end with a partial block.
    void add_key_stream(const std::uint8_t* input, std::uint8_t* output, std::uint64_t bytes) {
        while (bytes != 0) {
            const std::uint64_t until_wrap =
                ((std::uint64_t{1} << 32) - static_cast<std::uint32_t>(load_counter(next_).low)) * block_bytes;
            const std::uint64_t n = std::min(bytes, until_wrap);
            ctr_.update(input, output, n);
            next_ = inc32(next_, n / block_bytes);
            if (n == until_wrap) ctr_.start(next_);
            input += n;
            output += n;
            bytes -= n;
        }
    }

private:
    EvpOperation& ctr_;
    Block next_;
};

/// CTR with secret counters, in constant time.
class SecretCounters {
public:
    SecretCounters(EvpOperation& ecb, const Block& first, std::uint64_t bytes)
        : ecb_(ecb),
          next_(first),
          key_stream_(static_cast<std::size_t>(std::min(blocks_of(bytes), most)) * block_bytes) {}

    void add_key_stream(const std::uint8_t* input, std::uint8_t* output, std::uint64_t bytes) {
        while (bytes != 0) {
            const std::uint64_t n = std::min<std::uint64_t>(bytes, key_stream_.size()), count = blocks_of(n);
            std::uint8_t* const stream = key_stream_.data();
            for (std::uint64_t i = 0; i < count; ++i) {
                const Block counter = inc32(*next_, i);
                std::memcpy(stream + i * block_bytes, counter.data(), block_bytes);
            }
            ecb_.update(stream, stream, count * block_bytes);
            for (std::uint64_t i = 0; i < n; ++i) output[i] = static_cast<std::uint8_t>(input[i] ^ stream[i]);
            *next_ = inc32(*next_, count);
            input += n;
            output += n;
            bytes -= n;
        }
    }

private:
    static constexpr std::uint64_t most = 256;  ///< number of blocks processed at once

    EvpOperation& ecb_;
    Secret<Block> next_;
    SecretBuffer key_stream_;
};

/// Whether J0 is a 96-bit IV followed by a last word of one.
bool has_usual_iv(const GcmRun& run, const Block& j0) {
    return run.public_counters && static_cast<std::uint32_t>(load_counter(j0).low) == 1;
}

/// GCM with the state that the segments of a run share.
class Gcm {
public:
    explicit Gcm(const GcmRun& run)
        : run_(run), key_(*run.key), encrypts_(run.direction == Direction::encrypt), h_(key_.hash_key().powers[0]) {}

    Block hash(const std::uint8_t* data, std::uint64_t bytes) {
        // Up to this length, `multiply` is faster than EVP with its division. EVP supports only E(K, 0) as the hash
        // subkey.
        constexpr std::uint64_t most_bytes_by_hand = 1536;
        if (bytes > most_bytes_by_hand && !key_.has_own_hash_subkey()) {
            start_mac(any_j0);
            mac_->update(data, nullptr, bytes);
            return digest_from_mac(mac_->finish(), any_j0, bytes);
        }
        Secret<FieldElement> digest;
        hash_blocks(*h_, data, bytes, *digest);
        return store_element(*digest);
    }

    Block crypt(const Block& j0, const std::uint8_t* input, std::uint8_t* output, std::uint64_t bytes) {
        return encrypts_ && run_.public_counters ? encrypt(j0, input, output, bytes)
                                                 : crypt_and_hash(j0, input, output, bytes);
    }

private:
    Block encrypt(const Block& j0, const std::uint8_t* input, std::uint8_t* output, std::uint64_t bytes) {
        const bool usual = has_usual_iv(run_, j0);
        EvpOperation& operation = opened(usual ? with_usual_iv_ : with_long_iv_, Mode::gcm);
        operation.start(usual ? j0 : long_iv(j0));
        operation.update(input, output, bytes);
        const FieldElement tag = load_element(operation.finish());
        if (run_.result == GcmRun::Result::tag) return store_element(tag ^ aad_share(bytes));
        return store_element(divide(tag ^ encrypted(j0)) ^ length_block(0, bytes));
    }

    Block crypt_and_hash(const Block& j0, const std::uint8_t* input, std::uint8_t* output, std::uint64_t bytes) {
        const bool usual = has_usual_iv(run_, j0);
        const Block& mac_j0 = usual ? j0 : any_j0;
        start_mac(mac_j0);
        if (run_.public_counters && bytes != 0) {
            PublicCounters counters(opened(counter_, Mode::ctr), inc32(j0));
            crypt_and_hash_text(counters, input, output, bytes);
        } else if (bytes != 0) {
            SecretCounters counters(opened(ecb_, Mode::ecb), inc32(j0), bytes);
            crypt_and_hash_text(counters, input, output, bytes);
        }
        const Block mac = mac_->finish();
        if (run_.result == GcmRun::Result::digest) return digest_from_mac(mac, mac_j0, bytes);

        // The MAC counted the text as associated data, so the block of lengths is corrected. The rest of the tag is the
        // same if J0 is the same.
        FieldElement tag = load_element(mac) ^ multiply(length_block(bytes, bytes), *h_) ^ aad_share(bytes);
        if (!usual) tag = tag ^ encrypted(mac_j0) ^ encrypted(j0);
        return store_element(tag);
    }

    /// Processes the text in pieces that fit in the first-level cache, because the ciphertext is read twice.
    template <class Counters>
    void crypt_and_hash_text(Counters& counters, const std::uint8_t* input, std::uint8_t* output, std::uint64_t bytes) {
        constexpr std::uint64_t piece = 16384;
        for (std::uint64_t done = 0; done < bytes; done += piece) {
            const std::uint64_t n = std::min(piece, bytes - done);
            if (!encrypts_) mac_->update(input + done, nullptr, n);
            counters.add_key_stream(input + done, output + done, n);
            if (encrypts_) mac_->update(output + done, nullptr, n);
        }
    }

    EvpOperation& opened(std::optional<EvpOperation>& operation, Mode mode) {
        if (!operation) {
            operation.emplace(mode, Direction::encrypt, key_.rounds(), key_.bytes().data());
            if (&operation == &with_long_iv_) operation->set_iv_length(block_bytes);
        }
        return *operation;
    }

    /// Used for tags that do not leave this file.
    static constexpr Block any_j0{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};

    void start_mac(const Block& j0) { opened(mac_, Mode::gcm).start(j0); }

    Block digest_from_mac(const Block& mac, const Block& mac_j0, std::uint64_t bytes) {
        return store_element(divide(load_element(mac) ^ encrypted(mac_j0)) ^ length_block(bytes, 0));
    }

    /// Returns the contribution of the associated data to the tag of a message of `bytes` bytes.
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
        Secret<Block> out;
        opened(ecb_, Mode::ecb).update(block.data(), out->data(), block_bytes);
        return load_element(*out);
    }

    FieldElement divide(FieldElement e) {
        if (!inverse_) inverse_.emplace(inverse(*h_));
        return multiply(e, **inverse_);
    }

    Block long_iv(const Block& j0) {
        return store_element(divide(divide(load_element(j0)) ^ length_block(0, block_bytes)));
    }

    const GcmRun& run_;
    const ExpandedKey& key_;
    const bool encrypts_;
    Secret<FieldElement> h_;
    std::optional<Secret<FieldElement>> inverse_;
    std::optional<EvpOperation> with_usual_iv_, with_long_iv_, counter_, ecb_, mac_;
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
        run.results[i] = gcm.crypt(j0, input, output, bytes);
    }
}

}  // namespace warpaes::cpu
