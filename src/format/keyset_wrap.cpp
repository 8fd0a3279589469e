#include "format/keyset_wrap.hpp"

#include <openssl/err.h>
#include <openssl/evp.h>

#include <bit>
#include <chrono>
#include <cmath>

#include "base/error.hpp"
#include "base/kernel_random.hpp"
#include "base/library_context.hpp"
#include "base/stack_depth.hpp"
#include "format/kek.hpp"
#include "format/key_text.hpp"
#include "format/keyset_parts.hpp"
#include "format/tink_key.hpp"

namespace warpaes {

namespace {

using namespace keyset_parts;

constexpr std::size_t salt_bytes = 16, most_salt_bytes = 1024, kek_bytes = 32;

/// Returns the fault in a cost; empty if the cost is acceptable.
std::string objection(const Scrypt& cost) {
    // Each parameter is bounded first, so that the products cannot overflow.
    if (cost.n < 2 || !std::has_single_bit(cost.n)) return "n must be a power of two";
    if (cost.r == 0 || cost.p == 0) return "r and p must be 1 or more";
    constexpr std::uint64_t most = most_scrypt_work / 128;
    constexpr std::uint64_t blocks = most_scrypt_memory / 128;
    // In addition to the memory in the formula, libcrypto allocates 128 r (p + 2) bytes, which is most of the total if
    // n is small.
    if (cost.n > most || cost.r > most || cost.p > most || cost.n * cost.r > blocks ||
        cost.r * (std::uint64_t{cost.p} + 2) > blocks / 16) {
        return "requires more than " + std::to_string(most_scrypt_memory >> 20) +
               " MiB of memory, which is the maximum";
    }
    if (cost.n * cost.r * cost.p > most) {
        return "requires more than " + std::to_string(most_scrypt_work / most_scrypt_memory) +
               " times the work of the maximum memory";
    }
    return {};
}

SecretVector derive(std::span<const std::uint8_t> passphrase, std::span<const std::uint8_t> salt, const Scrypt& cost) {
    note_stack_depth(libcrypto_stack);
    SecretVector key(kek_bytes);
    // libcrypto compares its own estimate with this bound. Its estimate also includes p blocks and a few more blocks.
    const std::uint64_t room = cost.memory() + 128ull * cost.r * cost.p + 1024ull * cost.r + (1u << 20);
    if (EVP_PBE_scrypt_ex(reinterpret_cast<const char*>(passphrase.data()), passphrase.size(), salt.data(), salt.size(),
                          cost.n, cost.r, cost.p, room, key.data(), key.size(), library_context(), nullptr) != 1) {
        ERR_clear_error();
        throw Error(WARPAES_ERROR_OUT_OF_MEMORY, "passphrase: deriving a key from it requires " +
                                                     std::to_string(cost.memory() >> 20) +
                                                     " MiB of memory, which libcrypto could not allocate");
    }
    return key;
}

struct Wrapped {
    Scrypt cost{0, 0, 0};  ///< zeros: not encrypted under a passphrase
    SecretVector salt, sealed;
    std::optional<std::uint32_t> primary;
    std::vector<Keyset::Entry> info;  ///< the public information about each key
    bool has_info = false;
};

Keyset::Entry read_info(JsonReader& json) {
    Keyset::Entry entry;
    entry.for_files = false;
    bool has_id = false, has_state = false;
    json.object([&](std::string_view name) {
        if (name == "typeUrl") {
            entry.data.type_url = JsonReader::as_text(json.string());
        } else if (name == "status") {
            entry.state = static_cast<KeyState>(read_choice(json, states, "a status of a key"));
            has_state = true;
        } else if (name == "keyId") {
            entry.key.id = json.number();
            has_id = true;
        } else if (name == "outputPrefixType") {
            entry.data.output_prefix = prefixes[read_choice(json, prefixes, "a kind of prefix")];
        } else {
            json.refuse("\"typeUrl\", \"status\", \"keyId\" or \"outputPrefixType\" before it");
        }
    });
    if (!has_id || !has_state) json.refuse("a keyId and a status before it");
    return entry;
}

void read_info_list(JsonReader& json, Wrapped& wrapped) {
    json.object([&](std::string_view name) {
        if (name == "primaryKeyId") {
            wrapped.primary = json.number();
        } else if (name == "keyInfo") {
            json.array([&] { wrapped.info.push_back(read_info(json)); });
        } else {
            json.refuse("\"primaryKeyId\" or \"keyInfo\" before it");
        }
    });
    wrapped.has_info = true;
}

void read_cost(JsonReader& json, Wrapped& wrapped) {
    bool is_scrypt = false;
    json.object([&](std::string_view name) {
        if (name == "kdf") {
            const SecretVector kdf = json.string();
            if (JsonReader::as_text(kdf) != "scrypt") refuse("its key derivation is not scrypt");
            is_scrypt = true;
        } else if (name == "salt") {
            const SecretVector text = json.string();
            wrapped.salt = decode_base64(JsonReader::as_text(text), json);
        } else if (name == "n") {
            wrapped.cost.n = json.number();
        } else if (name == "r") {
            wrapped.cost.r = json.number();
        } else if (name == "p") {
            wrapped.cost.p = json.number();
        } else {
            json.refuse("\"kdf\", \"salt\", \"n\", \"r\" or \"p\" before it");
        }
    });
    if (!is_scrypt) json.refuse("a kdf before it");
    if (wrapped.salt.empty() || wrapped.salt.size() > most_salt_bytes) json.refuse("a salt before it");
    if (const std::string why = objection(wrapped.cost); !why.empty()) {
        refuse("its scrypt cost " + why + "; nothing was derived");
    }
}

Wrapped parse_wrapped(std::string_view text) {
    if (text.size() > most_text) refuse("is longer than 1 MiB");
    Wrapped wrapped;
    JsonReader json(without_byte_order_mark(text, "keyset:"), WARPAES_ERROR_KEYSET, "keyset");
    json.object([&](std::string_view name) {
        if (name == "encryptedKeyset") {
            const SecretVector base64 = json.string();
            wrapped.sealed = decode_base64(JsonReader::as_text(base64), json);
        } else if (name == "keysetInfo") {
            read_info_list(json, wrapped);
        } else if (name == "keyEncryptionKey") {
            read_cost(json, wrapped);
        } else {
            json.refuse("\"encryptedKeyset\", \"keysetInfo\" or \"keyEncryptionKey\" before it");
        }
    });
    json.end();
    if (wrapped.sealed.size() <= Kek::nonce_bytes + Kek::tag_bytes) refuse("has no encryptedKeyset");
    return wrapped;
}

/// Whether the public keysetInfo matches the encrypted keyset.
bool agrees(const Wrapped& wrapped, const Keyset& keyset) {
    const auto same = [](const Keyset::Entry& a, const Keyset::Entry& b) {
        return a.key.id == b.key.id && a.state == b.state && a.data.output_prefix == b.data.output_prefix &&
               (a.data.type_url == b.data.type_url || a.state == KeyState::destroyed);
    };
    const auto entries = keyset.entries();
    return !wrapped.has_info ||
           (wrapped.primary == keyset.primary_id() &&
            std::equal(entries.begin(), entries.end(), wrapped.info.begin(), wrapped.info.end(), same));
}

Keyset checked(const Wrapped& wrapped, const SecretVector& message) {
    Keyset keyset = parse_message(message);
    if (!agrees(wrapped, keyset)) refuse("its keysetInfo does not match its keys, so it was altered");
    return keyset;
}

SecretVector message_of(const Keyset& keyset) {
    (void)keyset.to_json();  // refuses keys that a keyset file cannot contain
    return serialize_message(keyset);
}

constexpr std::string_view json_begin = "{\n  \"encryptedKeyset\": \"";

/// Returns the JSON that follows the value of `encryptedKeyset`.
std::string info_json(const Keyset& keyset) {
    std::string text = "\",\n  \"keysetInfo\": {\n    \"primaryKeyId\": " + std::to_string(*keyset.primary_id()) +
                       ",\n    \"keyInfo\": [\n";
    for (const Keyset::Entry& entry : keyset.entries()) {
        text += "      {\"typeUrl\": \"" + entry.data.type_url + "\", \"status\": \"" +
                std::string(states[static_cast<std::size_t>(entry.state)]) +
                "\", \"keyId\": " + std::to_string(entry.key.id) + ", \"outputPrefixType\": \"" +
                entry.data.output_prefix + "\"}";
        text += &entry == &keyset.entries().back() ? "\n" : ",\n";
    }
    return text + "    ]\n  }";
}

void check_passphrase(std::span<const std::uint8_t> passphrase) {
    if (passphrase.empty()) throw Error(WARPAES_ERROR_ARGUMENT, "passphrase: is empty");
}

}  // namespace

Scrypt choose_scrypt(double seconds) {
    if (!std::isfinite(seconds) || seconds < 0) {
        throw Error(WARPAES_ERROR_ARGUMENT, "seconds: must be at least 0");
    }
    Scrypt cost{least_scrypt_memory / 128 / 8, 8, 1};
    const std::array<std::uint8_t, 16> anything{};
    const auto begin = std::chrono::steady_clock::now();
    (void)derive(anything, anything, cost);
    double taken = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    for (; taken * std::sqrt(2.0) < seconds && cost.memory() < most_scrypt_memory; taken *= 2) cost.n *= 2;
    return cost;
}

SecretVector wrap_keyset(const Keyset& keyset, std::span<const std::uint8_t> passphrase, const Scrypt& cost,
                         std::size_t room) {
    check_passphrase(passphrase);
    if (const std::string why = objection(cost); !why.empty()) {
        throw Error(WARPAES_ERROR_ARGUMENT, "cost: scrypt " + why);
    }
    if (cost.memory() < least_scrypt_memory) {
        throw Error(WARPAES_ERROR_ARGUMENT, "cost: scrypt uses " + std::to_string(cost.memory()) +
                                                " bytes; new keysets require at least " +
                                                std::to_string(least_scrypt_memory >> 20) + " MiB");
    }
    const SecretVector message = message_of(keyset);
    SecretVector salt(salt_bytes), sealed(Kek::nonce_bytes + message.size() + Kek::tag_bytes);
    fill_from_kernel(salt, "salt");
    const std::string between = info_json(keyset) + ",\n  \"keyEncryptionKey\": {\"kdf\": \"scrypt\", \"salt\": \"",
                      after = "\", \"n\": " + std::to_string(cost.n) + ", \"r\": " + std::to_string(cost.r) +
                              ", \"p\": " + std::to_string(cost.p) + "}\n}\n";
    const std::size_t size =
        json_begin.size() + base64_length(sealed) + between.size() + base64_length(salt) + after.size();
    if (size <= room) sealed = Kek(derive(passphrase, salt, cost)).seal(message, {});
    SecretVector text;
    text.reserve(size + 1);
    append(text, json_begin);
    append_base64(text, sealed);
    append(text, between);
    append_base64(text, salt);
    append(text, after);
    return text;
}

Keyset unwrap_keyset(std::string_view json, std::span<const std::uint8_t> passphrase) {
    check_passphrase(passphrase);
    const Wrapped wrapped = parse_wrapped(json);
    if (wrapped.cost.n == 0) {
        refuse(
            "is encrypted under a key, not under a passphrase: open it with warpaes_keyset_unwrap_under or with that "
            "key's manager");
    }
    const auto message = Kek(derive(passphrase, wrapped.salt, wrapped.cost)).open(wrapped.sealed, {});
    if (!message) {
        throw Error(WARPAES_ERROR_AUTHENTICATION, "passphrase: is wrong, or the keyset was altered");
    }
    return checked(wrapped, *message);
}

SecretVector wrap_keyset_under(const Keyset& keyset, std::span<const std::uint8_t> kek,
                               std::span<const std::uint8_t> aad) {
    const SecretVector sealed = parse_keks(kek).front().seal(message_of(keyset), aad);
    SecretVector text;
    append(text, json_begin);
    append_base64(text, sealed);
    append(text, info_json(keyset) + "\n}\n");
    return text;
}

Keyset unwrap_keyset_under(std::string_view json, std::span<const std::uint8_t> kek,
                           std::span<const std::uint8_t> aad) {
    const Wrapped wrapped = parse_wrapped(json);
    if (wrapped.cost.n != 0) {
        refuse("is encrypted under a passphrase, not under a key: open it with warpaes_keyset_unwrap");
    }
    for (const Kek& key : parse_keks(kek)) {
        if (const auto message = key.open(wrapped.sealed, aad)) return checked(wrapped, *message);
    }
    throw Error(WARPAES_ERROR_AUTHENTICATION,
                "kek: does not open the keyset; the key or the associated data is wrong, or the keyset was altered");
}

PeekedKeyset peek_keyset(std::string_view json) {
    Wrapped wrapped = parse_wrapped(json);
    return {wrapped.cost, Keyset::locked(std::move(wrapped.info), wrapped.primary)};
}

}  // namespace warpaes
