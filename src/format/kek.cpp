#include "format/kek.hpp"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <new>

#include "base/error.hpp"
#include "base/kernel_random.hpp"
#include "base/library_context.hpp"
#include "base/stack_depth.hpp"
#include "format/key_text.hpp"
#include "format/keyset_parts.hpp"
#include "format/protobuf.hpp"

namespace warpaes {

namespace {

using namespace keyset_parts;
using Bytes = std::span<const std::uint8_t>;

constexpr std::string_view aes_gcm_type = "type.googleapis.com/google.crypto.tink.AesGcmKey";
/// Field numbers of Tink's aes_gcm.proto.
enum AesGcmField : std::uint32_t { key_version = 1, key_value = 3 };

/// AES-GCM for a single text.
class Gcm {
public:
    Gcm(Bytes key, const std::uint8_t* nonce, Bytes aad, bool encrypt)
        : cipher_(EVP_CIPHER_fetch(library_context(), key.size() == 16 ? "AES-128-GCM" : "AES-256-GCM", nullptr),
                  &EVP_CIPHER_free) {
        note_stack_depth(libcrypto_stack);
        if (context_ == nullptr) throw std::bad_alloc();
        require(cipher_ != nullptr &&
                EVP_CipherInit_ex2(context_.get(), cipher_.get(), key.data(), nonce, encrypt ? 1 : 0, nullptr) == 1);
        update(aad, nullptr);
    }

    /// `to` is null for associated data.
    void update(Bytes from, std::uint8_t* to) {
        int n = 0;
        require(from.empty() ||
                EVP_CipherUpdate(context_.get(), to, &n, from.data(), static_cast<int>(from.size())) == 1);
    }
    void write_tag(std::uint8_t* tag) {
        require(finish() && EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_GET_TAG, Kek::tag_bytes, tag) == 1);
    }
    bool is_authentic(Bytes tag) {
        std::array<std::uint8_t, Kek::tag_bytes> copy{};
        std::copy(tag.begin(), tag.end(), copy.begin());
        require(EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_SET_TAG, Kek::tag_bytes, copy.data()) == 1);
        const bool authentic = finish();
        if (!authentic) ERR_clear_error();
        return authentic;
    }

private:
    static void require(bool ok) {
        if (!ok) throw Error(WARPAES_ERROR_INTERNAL, "libcrypto: AES-GCM failed");
    }
    bool finish() {
        std::array<std::uint8_t, 16> none{};
        int n = 0;
        return EVP_CipherFinal_ex(context_.get(), none.data(), &n) == 1;
    }

    std::unique_ptr<EVP_CIPHER, decltype(&EVP_CIPHER_free)> cipher_;
    std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)> context_{EVP_CIPHER_CTX_new(),
                                                                             &EVP_CIPHER_CTX_free};
};

[[noreturn]] void refuse_kek(std::string_view why) {
    throw Error(WARPAES_ERROR_KEYSET, "kek: " + std::string(why));
}

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view space = " \t\n\r\v\f";
    const std::size_t first = text.find_first_not_of(space);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(space) - first + 1);
}

/// Returns an empty vector if `text` does not consist of 32 or 64 hexadecimal digits.
SecretVector decode_hex(std::string_view text) {
    if (text.size() != 32 && text.size() != 64) return {};
    SecretVector key;
    key.reserve(text.size() / 2);
    for (std::size_t i = 0; i < text.size(); i += 2) {
        const int high = OPENSSL_hexchar2int(static_cast<unsigned char>(text[i]));
        const int low = OPENSSL_hexchar2int(static_cast<unsigned char>(text[i + 1]));
        if (high < 0 || low < 0) return {};
        key.push_back(static_cast<std::uint8_t>(high << 4 | low));
    }
    return key;
}

std::vector<std::uint8_t> prefix_of(const Keyset::Entry& entry) {
    const std::string& kind = entry.data.output_prefix;
    if (kind == "RAW") return {};
    if (kind != "TINK" && kind != "CRUNCHY" && kind != "LEGACY")
        refuse_key(entry, "has a prefix that is not an AEAD's");
    const std::uint32_t id = entry.key.id;
    const auto byte = [id](int shift) { return static_cast<std::uint8_t>(id >> shift); };
    return {static_cast<std::uint8_t>(kind == "TINK" ? 1 : 0), byte(24), byte(16), byte(8), byte(0)};
}

Kek parse_key(const Keyset::Entry& entry) {
    if (entry.data.material != "SYMMETRIC") refuse_key(entry, "is not marked as symmetric");
    Bytes key;
    ProtoReader reader(entry.data.value);
    for (ProtoField field; reader.next(field);) {
        if (field.number == key_version && field.as_uint32() != 0) {
            refuse_key(entry, "has an unknown version");
        }
        if (field.number == key_value) key = field.as_bytes();
    }
    if (key.size() != 16 && key.size() != 32) {
        refuse_key(entry, "has " + std::to_string(key.size()) + " bytes; it must be 16 or 32");
    }
    return Kek(SecretVector(key.begin(), key.end()), prefix_of(entry));
}

std::vector<Kek> parse_keyset(std::string_view text) {
    const ClearKeyset keyset = read_clear(text);
    check_keys(keyset.entries, keyset.primary);
    std::vector<Kek> keks;
    for (const Keyset::Entry& entry : keyset.entries) {
        const bool is_primary = entry.key.id == keyset.primary;
        if (entry.state == KeyState::enabled && entry.data.type_url == aes_gcm_type) {
            keks.insert(is_primary ? keks.begin() : keks.end(), parse_key(entry));
        } else if (is_primary) {
            refuse_key(entry, "is the primary key but not an AesGcmKey; only AesGcmKeys encrypt keys");
        }
    }
    return keks;
}

}  // namespace

SecretVector Kek::seal(Bytes text, Bytes aad) const {
    SecretVector sealed(sealed_bytes(text.size()));
    std::uint8_t* const nonce = std::copy(prefix_.begin(), prefix_.end(), sealed.data());
    fill_from_kernel({nonce, nonce_bytes}, "nonce");
    Gcm gcm(key_, nonce, aad, true);
    gcm.update(text, nonce + nonce_bytes);
    gcm.write_tag(nonce + nonce_bytes + text.size());
    return sealed;
}

std::optional<SecretVector> Kek::open(Bytes sealed, Bytes aad) const {
    if (sealed.size() < sealed_bytes(0) || !std::equal(prefix_.begin(), prefix_.end(), sealed.begin())) {
        return std::nullopt;
    }
    const Bytes nonce = sealed.subspan(prefix_.size(), nonce_bytes);
    const Bytes cipher = sealed.subspan(prefix_.size() + nonce_bytes, sealed.size() - sealed_bytes(0));
    SecretVector text(cipher.size());
    Gcm gcm(key_, nonce.data(), aad, false);
    gcm.update(cipher, text.data());
    if (!gcm.is_authentic(sealed.last(tag_bytes))) return std::nullopt;
    return text;
}

std::vector<Kek> parse_keks(Bytes content) {
    const std::string_view whole(reinterpret_cast<const char*>(content.data()), content.size());
    if (content.size() == 16 || content.size() == 32) {
        if (!trimmed(whole).empty() && decode_hex(trimmed(whole)).empty()) {
            refuse_text(content, "kek:");
            return {Kek(SecretVector(content.begin(), content.end()))};
        }
    }
    const std::string_view text = trimmed(without_byte_order_mark(whole, "kek:"));
    SecretVector raw = decode_hex(text);
    if (!raw.empty()) return {Kek(std::move(raw))};
    if (!text.starts_with('{')) {
        refuse_kek("is neither a keyset in Tink's JSON nor a key of 16 or 32 bytes, or of 32 or 64 hexadecimal digits");
    }
    if (text.find("\"encryptedKeyset\"") != std::string_view::npos) {
        refuse_kek("is encrypted itself; a key-encryption key must be unencrypted");
    }
    try {
        return parse_keyset(text);
    } catch (const Error& e) {
        // The functions that read keysets name their argument "keyset", but this argument has a different name.
        refuse_kek(std::string_view(e.what()).substr(std::strlen("keyset: ")));
    }
}

}  // namespace warpaes
