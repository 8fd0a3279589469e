// Encrypted names (docs/formats.md).
#include "warpaes/names.h"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/secret.hpp"
#include "capi/guard.hpp"
#include "capi/handles.hpp"
#include "format/hkdf.hpp"

using namespace warpaes;
using namespace warpaes::capi;

namespace {

struct KeyDestroy {
    void operator()(warpaes_key* key) const { warpaes_key_destroy(key); }
};
using OwnedKey = std::unique_ptr<warpaes_key, KeyDestroy>;

}  // namespace

struct warpaes_names {
    struct Pair {
        OwnedKey mac, text;  ///< K1 and K2 of RFC 5297
    };
    explicit warpaes_names(warpaes_engine* with) : engine(with) {}  // clang 14 cannot construct it from a list in ()

    warpaes_engine* engine;
    std::vector<Pair> keys;
};

namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::size_t half_bytes = 32, tag_bytes = 16, most_name = WARPAES_NAME_BYTES;
/// This salt is longer than any salt with which a file's key is derived, so the two kinds of keys always differ.
constexpr std::string_view derivation_salt = "warpaes encrypted names, version 1";
constexpr std::string_view derivation_info = "AES-256-SIV";
/// Every file system supports names of this length, and eCryptfs does not support longer names.
constexpr std::size_t longest_part = 143;
constexpr std::string_view digits = "0123456789abcdefghijklmnopqrstuv";

OwnedKey make_key(Bytes bytes) {
    warpaes_key* key = nullptr;
    require_success(warpaes_key_create(bytes.data(), bytes.size(), &key));
    return OwnedKey(key);
}

warpaes_names::Pair derive(const StreamKey& key) {
    const SecretVector both =
        hkdf(Hash::sha256, key.key, bytes_of(derivation_salt), bytes_of(derivation_info), 2 * half_bytes);
    return {make_key(Bytes(both).first(half_bytes)), make_key(Bytes(both).subspan(half_bytes))};
}

std::string_view fault_of(std::string_view name) {
    if (name.empty()) return "is empty";
    if (name == "." || name == "..") return "is '.' or '..'";
    if (name.find('/') != std::string_view::npos) return "contains a '/'";
    if (name.find('\0') != std::string_view::npos) return "contains a NUL";
    if (name.size() > most_name) return "is longer than 1,024 bytes";
    return {};
}

void check_name(std::string_view name, const char* what) {
    if (const std::string_view fault = fault_of(name); !fault.empty()) {
        throw Error(WARPAES_ERROR_ARGUMENT, std::string(what) + " " + std::string(fault));
    }
}

std::string_view checked_text(const char* text, std::size_t length, const char* name) {
    const Bytes bytes = checked_bytes(text, length, name);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Checks the plaintext path of a folder, and returns it as the associated data of the names in that folder. It begins
/// with '/', and is "/" for the root.
std::string checked_folder(const char* text, std::size_t length) {
    const std::string_view folder = checked_text(text, length, "folder");
    for (std::size_t at = 0; !folder.empty() && at <= folder.size();) {
        const std::size_t slash = std::min(folder.find('/', at), folder.size());
        check_name(folder.substr(at, slash - at), "folder: a name in it");
        at = slash + 1;
    }
    return std::string("/").append(folder);
}

/// Encodes bytes as base32hex (RFC 4648, section 7), in lower case and without padding.
std::string encoded(Bytes bytes) {
    std::string text;
    text.reserve((8 * bytes.size() + 4) / 5);
    unsigned bits = 0, held = 0;
    for (const std::uint8_t byte : bytes) {
        bits = (bits << 8 | byte) & 0xfff;
        for (held += 8; held >= 5; held -= 5) text += digits[bits >> (held - 5) & 31];
    }
    if (held != 0) text += digits[bits << (5 - held) & 31];
    return text;
}

/// Returns the parts of a stored name as a path; all parts except the last end with '-'.
std::string in_parts(std::string_view text) {
    std::string parts;
    for (; text.size() > longest_part; text.remove_prefix(longest_part - 1)) {
        parts += text.substr(0, longest_part - 1);
        parts += "-/";
    }
    return parts.append(text);
}

/// Returns the bytes of a stored name. Throws Error{FORMAT} for any spelling that in_parts(encoded(…)) does not
/// produce.
std::vector<std::uint8_t> decoded(std::string_view stored) {
    const Error other_form(WARPAES_ERROR_FORMAT, "stored: does not have the form of an encrypted name");
    if (stored.size() > WARPAES_STORED_NAME_BYTES) throw other_form;
    std::vector<std::uint8_t> bytes;
    unsigned bits = 0, held = 0;
    for (const char c : stored) {
        if (c == '-' || c == '/') continue;
        const std::size_t digit = digits.find(c);
        if (digit == std::string_view::npos) throw other_form;
        bits = (bits << 5 | static_cast<unsigned>(digit)) & 0xfff;
        held += 5;
        if (held < 8) continue;
        held -= 8;
        bytes.push_back(static_cast<std::uint8_t>(bits >> held));
    }
    if (bytes.size() <= tag_bytes || in_parts(encoded(bytes)) != stored) throw other_form;
    return bytes;
}

/// Processes one SIV message. Returns false if `tag` is wrong.
bool crypt_name(const warpaes_names& names, const warpaes_names::Pair& keys, warpaes_direction direction,
                std::string_view folder, Bytes input, std::uint8_t* output, std::uint8_t* tag) {
    const warpaes_part part{folder.data(), folder.size()};
    warpaes_message message = WARPAES_MESSAGE_INIT;
    message.mode = WARPAES_SIV;
    message.direction = direction;
    message.key = keys.text.get();
    message.mac_key = keys.mac.get();
    message.input = input.data();
    message.input_len = message.output_capacity = input.size();
    message.output = output;
    message.aad_list = &part;
    message.aad_count = 1;
    message.tag = tag;
    message.tag_len = tag_bytes;
    const warpaes_status status = warpaes_crypt(names.engine, &message, nullptr);
    if (status == WARPAES_ERROR_AUTHENTICATION) return false;
    require_success(status);
    return true;
}

}  // namespace

extern "C" {

warpaes_status warpaes_names_create(warpaes_engine* engine, const warpaes_keyset* keyset, warpaes_names** names) {
    return created(names, "names", [&] {
        require(engine, "engine");
        require(keyset, "keyset");
        auto made = std::make_unique<warpaes_names>(engine);
        (void)keyset->impl.primary();
        for (const StreamKey* key : keyset->impl.usable()) made->keys.push_back(derive(*key));
        return made.release();
    });
}

void warpaes_names_destroy(warpaes_names* names) {
    delete names;
}

size_t warpaes_names_count(const warpaes_names* names) {
    return names == nullptr ? 0 : names->keys.size();
}

warpaes_status warpaes_names_encrypt(const warpaes_names* names, size_t index, const char* folder, size_t folder_len,
                                     const char* name, size_t name_len, char* stored, size_t capacity, size_t* length) {
    return guarded([&] {
        require(length, "length");
        *length = 0;
        require(names, "names");
        const std::string place = checked_folder(folder, folder_len);
        const std::string_view plain = checked_text(name, name_len, "name");
        check_name(plain, "name:");
        if (index >= names->keys.size()) {
            throw Error(WARPAES_ERROR_ARGUMENT, "index: " + std::to_string(index) + " is beyond the last key");
        }
        std::vector<std::uint8_t> sealed(tag_bytes + plain.size());
        crypt_name(*names, names->keys[index], WARPAES_ENCRYPT, place, bytes_of(plain), sealed.data() + tag_bytes,
                   sealed.data());
        hand_out(in_parts(encoded(sealed)), stored, capacity, "stored", length);
    });
}

warpaes_status warpaes_names_decrypt(const warpaes_names* names, const char* folder, size_t folder_len,
                                     const char* stored, size_t stored_len, char* name, size_t capacity, size_t* length,
                                     size_t* index) {
    return guarded([&] {
        require(length, "length");
        *length = 0;
        require(names, "names");
        const std::string place = checked_folder(folder, folder_len);
        std::vector<std::uint8_t> sealed = decoded(checked_text(stored, stored_len, "stored"));
        SecretVector plain(sealed.size() - tag_bytes);
        for (std::size_t i = 0; i < names->keys.size(); ++i) {
            if (!crypt_name(*names, names->keys[i], WARPAES_DECRYPT, place, Bytes(sealed).subspan(tag_bytes),
                            plain.data(), sealed.data())) {
                continue;
            }
            const std::string_view text(reinterpret_cast<const char*>(plain.data()), plain.size());
            if (const std::string_view fault = fault_of(text); !fault.empty()) {
                throw Error(WARPAES_ERROR_FORMAT, "stored: the name in it " + std::string(fault));
            }
            hand_out(text, name, capacity, "name", length);
            if (index != nullptr) *index = i;
            return;
        }
        throw Error(
            WARPAES_ERROR_AUTHENTICATION,
            "stored: no key opens this name in this folder; the keys are wrong, or the name was changed or moved");
    });
}

}  // extern "C"
