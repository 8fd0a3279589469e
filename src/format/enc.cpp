#include "format/enc.hpp"

#include <openssl/err.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <memory>

#include "base/error.hpp"
#include "base/kernel_random.hpp"
#include "base/stack_depth.hpp"
#include "engine/chain.hpp"
#include "engine/pipeline/cipher_stage.hpp"
#include "engine/pipeline/memory.hpp"

namespace warpaes {

namespace {

constexpr std::size_t salt_bytes = 8;
using Header = std::array<std::uint8_t, 16>;
static_assert(enc_magic.size() + salt_bytes == Header{}.size());

bool has_header(const EncOptions& options) {
    return options.passphrase && options.passphrase->salted && options.passphrase->salt.empty();
}

Header new_header() {
    Header header;
    std::copy(enc_magic.begin(), enc_magic.end(), header.begin());
    fill_from_kernel(std::span(header).last(salt_bytes), "salt");
    return header;
}

Header read_header(Source& source) {
    Header header{};
    const std::size_t n = source.read(0, header);
    if (!std::equal(enc_magic.begin(), enc_magic.begin() + static_cast<std::ptrdiff_t>(std::min(n, enc_magic.size())),
                    header.begin()) ||
        n == 0) {
        throw Error(WARPAES_ERROR_FORMAT,
                    "input: does not begin with \"Salted__\": it was not encrypted with a passphrase by `openssl enc`, "
                    "or it is base64, or has no salt");
    }
    if (n < header.size()) {
        throw Error(WARPAES_ERROR_FORMAT,
                    "input: is truncated: the header has 16 bytes, but the file has " + std::to_string(n));
    }
    return header;
}

void check(const FileJob& job, const EncOptions& o) {
    const ModeTraits& mode = traits_of(o.mode);
    if (o.key == nullptr && !o.passphrase) {
        throw Error(WARPAES_ERROR_ARGUMENT, "key: is missing; set a key or a passphrase");
    }
    if (uses_tag(o.mode)) {
        throw Error(WARPAES_ERROR_ARGUMENT, "mode: a raw file cannot store a tag; use WARPAES_FORMAT_STREAMING_AEAD");
    }
    if (o.mode == Mode::xts) {
        throw Error(WARPAES_ERROR_ARGUMENT, "mode: XTS encrypts data units of storage, not complete files");
    }
    if (o.iv && (o.iv->size() < mode.least_iv || o.iv->size() > mode.most_iv)) {
        throw Error(WARPAES_ERROR_IV_LENGTH,
                    std::string("iv: ") + mode.iv_lengths + ", got " + std::to_string(o.iv->size()));
    }
    if (uses_iv(o.mode) && !o.iv && !o.passphrase) {
        throw Error(WARPAES_ERROR_IV_LENGTH, "iv: is missing; it is 16 bytes for this mode");
    }
    if (o.passphrase && !o.passphrase->salt.empty() && o.passphrase->salt.size() != salt_bytes) {
        throw Error(WARPAES_ERROR_ARGUMENT, "salt: must be 8 bytes, got " + std::to_string(o.passphrase->salt.size()));
    }
    if (o.pkcs7 && !needs_whole_blocks(o.mode)) {
        throw Error(WARPAES_ERROR_ARGUMENT, "flags: PKCS7 applies only to ECB and CBC");
    }
    if (!job.range) return;
    if (!is_parallel(o.mode, job.direction)) {
        throw Error(WARPAES_ERROR_RANGE, "range: this mode and direction can only start at the beginning of a file");
    }
    if (job.base64) throw Error(WARPAES_ERROR_RANGE, "range: needs an input that can seek, but base64 cannot");
    if (job.direction == Direction::encrypt && (o.pkcs7 || has_header(o))) {
        throw Error(WARPAES_ERROR_RANGE, "range: a partial encryption supports neither padding nor a header");
    }
    check_range(*job.range);
}

Block read_block(Source& source, std::uint64_t offset) {
    Block block;
    if (source.read(offset, block) != block_bytes)
        throw Error(WARPAES_ERROR_READ, "input: became shorter during the run");
    return block;
}

class EncFormat final : public FileFormat {
public:
    EncFormat(const FileJob& job, const EncOptions& options) : job_(job), o_(options) { check(job, options); }

    Opening open(Engine& engine, Source*& input) override {
        Opening opening;
        opening.notes_growth = !job_.range;
        Header header;
        std::span<const std::uint8_t> salt;
        if (o_.passphrase) salt = o_.passphrase->salt;
        if (has_header(o_)) {
            const bool encrypt = job_.direction == Direction::encrypt;
            header = encrypt ? new_header() : read_header(*input);
            if (encrypt) opening.header.assign(header.begin(), header.end());
            if (!encrypt) opening.begin = opening.header_bytes = header.size();
            salt = std::span(header).subspan(enc_magic.size());
        }
        settle_keys(salt);
        if (job_.range) {
            SourceSlice content(*input, opening.begin);
            find_window(engine, *job_.range, content, opening);
        }
        return opening;
    }

    Totals run(Engine& engine, Source& content, Sink& sink) override {
        const Plan plan =
            fitted(engine, engine.plan(o_.mode, job_.direction, content.size()), job_, content.size(), sink);
        return run_cipher(engine, plan, cipher_, content, sink, job_.progress);
    }

private:
    /// Determines the key and the IV. A key or IV from the caller takes precedence over one derived from the
    /// passphrase.
    void settle_keys(std::span<const std::uint8_t> salt) {
        cipher_ = {o_.mode, job_.direction, o_.key, {}, o_.pkcs7, 0};
        if (o_.passphrase) {
            const Secret<DerivedKey> derived = derive_key(o_.passphrase->how, o_.passphrase->text, salt);
            if (o_.key == nullptr) {
                cipher_.key = &derived_.emplace(std::span(derived->key).first(derived->key_bytes));
            }
            cipher_.iv = derived->iv;
        }
        if (o_.iv) std::copy(o_.iv->begin(), o_.iv->end(), cipher_.iv.begin());
        if (!uses_iv(o_.mode)) cipher_.iv = {};
    }

    /// Returns the chaining value for the blocks that start at `offset`, a multiple of 16.
    [[nodiscard]] Block chain_for(Source& content, std::uint64_t offset) const {
        return chain_at(cipher_.mode, cipher_.iv, offset, {}, [&](std::span<std::uint8_t> to) {
            const Block before = read_block(content, offset - block_bytes);
            std::copy(before.begin(), before.end(), to.begin());
        });
    }

    /// Returns the length of a padded plaintext, determined by decrypting its last block.
    std::uint64_t unpadded_size(Engine& engine, Source& content) const {
        const std::uint64_t at = content.size() - block_bytes;
        Cipher cipher = cipher_;
        cipher.iv = chain_for(content, at);
        Secret<Block> plain;
        SourceSlice last(content, at);
        MemorySink sink({plain->data(), block_bytes, true, -1});
        const Plan plan = engine.plan(cipher.mode, cipher.direction, block_bytes);
        return at + run_cipher(engine, plan, cipher, last, sink, {}).bytes_written;
    }

    /// Determines the whole blocks of ciphertext that a range requires.
    void find_window(Engine& engine, const ByteRange& range, Source& content, Opening& opening) {
        if (content.is_sequential() && content.size() == Engine::unknown_length) {
            throw Error(WARPAES_ERROR_RANGE, "range: needs an input that can seek; a pipe or an empty file cannot");
        }
        const std::uint64_t size = content.size();
        if (needs_whole_blocks(cipher_.mode) && (size % block_bytes != 0 || (cipher_.pkcs7 && size == 0))) {
            throw Error(
                WARPAES_ERROR_DATA_LENGTH,
                "input: is " + std::to_string(size) +
                    " bytes, which are not complete 16-byte blocks, so it is truncated or has a different format");
        }
        std::uint64_t plain_size = size;
        if (cipher_.pkcs7 && range.last >= size - block_bytes) plain_size = unpadded_size(engine, content);
        const std::uint64_t last = last_byte(range, plain_size);
        const std::uint64_t begin = range.first / block_bytes * block_bytes;
        opening.begin = opening.header_bytes + begin;
        opening.size = std::min(size, last / block_bytes * block_bytes + block_bytes) - begin;
        opening.skip = range.first - begin;
        opening.keep = last - range.first + 1;
        cipher_.iv = chain_for(content, begin);
        cipher_.pkcs7 = false;
    }

    const FileJob& job_;
    const EncOptions o_;
    std::optional<ExpandedKey> derived_;
    Cipher cipher_{};
};

}  // namespace

std::unique_ptr<FileFormat> enc_format(const FileJob& job, const EncOptions& options) {
    return std::make_unique<EncFormat>(job, options);
}

namespace {

constexpr std::size_t iv_bytes = std::tuple_size_v<decltype(DerivedKey::iv)>;

using Digest = std::unique_ptr<EVP_MD, decltype(&EVP_MD_free)>;

Digest fetch_digest(const std::string& name) {
    Digest digest(EVP_MD_fetch(nullptr, name.c_str(), nullptr), &EVP_MD_free);
    if (digest == nullptr) {
        ERR_clear_error();
        throw Error(WARPAES_ERROR_ARGUMENT,
                    "digest: libcrypto does not support '" + name + "'; use sha256, the usual digest");
    }
    return digest;
}

const EVP_CIPHER* cipher_for(std::uint32_t key_bits) {
    switch (key_bits) {
    case 128:
        return EVP_aes_128_cbc();
    case 192:
        return EVP_aes_192_cbc();
    case 256:
        return EVP_aes_256_cbc();
    default:
        throw Error(WARPAES_ERROR_KEY_LENGTH, "key_bits: must be 128, 192 or 256, got " + std::to_string(key_bits));
    }
}

}  // namespace

Secret<DerivedKey> derive_key(const KeyDerivation& how, std::span<const std::uint8_t> passphrase,
                              std::span<const std::uint8_t> salt) {
    note_stack_depth(libcrypto_stack);
    const EVP_CIPHER* cipher = cipher_for(how.key_bits);
    const Digest digest = fetch_digest(how.digest);
    Secret<DerivedKey> derived;
    derived->key_bytes = how.key_bits / 8;
    const auto length = static_cast<int>(passphrase.size());
    bool ok = false;
    if (how.kdf == Kdf::pbkdf2) {
        Secret<std::array<std::uint8_t, 32 + iv_bytes>> both;
        const std::size_t wanted = derived->key_bytes + iv_bytes;
        ok = PKCS5_PBKDF2_HMAC(reinterpret_cast<const char*>(passphrase.data()), length, salt.data(),
                               static_cast<int>(salt.size()), static_cast<int>(how.iterations), digest.get(),
                               static_cast<int>(wanted), both->data()) == 1;
        std::copy_n(both->begin(), derived->key_bytes, derived->key.begin());
        std::copy_n(both->begin() + static_cast<std::ptrdiff_t>(derived->key_bytes), iv_bytes, derived->iv.begin());
    } else {
        ok = EVP_BytesToKey(cipher, digest.get(), salt.empty() ? nullptr : salt.data(), passphrase.data(), length, 1,
                            derived->key.data(), derived->iv.data()) == static_cast<int>(derived->key_bytes);
    }
    if (!ok) {
        ERR_clear_error();
        throw Error(WARPAES_ERROR_ARGUMENT,
                    "passphrase: libcrypto cannot derive a key from it with digest '" + how.digest + "'");
    }
    return derived;
}

}  // namespace warpaes
