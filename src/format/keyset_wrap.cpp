#include "format/keyset_wrap.hpp"

#include <openssl/err.h>
#include <openssl/evp.h>

#include <bit>
#include <chrono>
#include <cmath>
#include <memory>
#include <new>

#include "base/error.hpp"
#include "base/library_context.hpp"
#include "base/stack_depth.hpp"
#include "format/keyset_parts.hpp"
#include "format/protobuf.hpp"
#include "format/random.hpp"

namespace warpaes {

namespace {

using namespace keyset_parts;

constexpr std::size_t salt_bytes = 16, most_salt_bytes = 1024, nonce_bytes = 12, tag_bytes = 16;

// Field numbers of tink.proto.
enum KeysetField : std::uint32_t { primary_key_id = 1, keyset_key = 2 };
enum EntryField : std::uint32_t { key_data = 1, key_status = 2, key_id = 3, output_prefix = 4 };
enum DataField : std::uint32_t { type_url = 1, data_value = 2, key_material = 3 };

using KekBytes = std::array<std::uint8_t, 32>;

/// What is wrong with a cost; empty if it is acceptable.
std::string objection(const Scrypt& cost) {
    // Each parameter is bounded first, so that the products cannot overflow.
    if (cost.n < 2 || !std::has_single_bit(cost.n)) return "n must be a power of two";
    if (cost.r == 0 || cost.p == 0) return "r and p must be 1 or more";
    constexpr std::uint64_t most = most_scrypt_work / 128;
    constexpr std::uint64_t blocks = most_scrypt_memory / 128;
    if (cost.n > most || cost.r > most || cost.p > most || cost.n * cost.r > blocks ||
        std::uint64_t{cost.r} * cost.p > blocks) {
        return "takes more than " + std::to_string(most_scrypt_memory >> 20) + " MiB of memory, which is the most";
    }
    if (cost.n * cost.r * cost.p > most) {
        return "takes more than " + std::to_string(most_scrypt_work / most_scrypt_memory) +
               " times the work of the most memory";
    }
    return {};
}

Secret<KekBytes> derive(std::span<const std::uint8_t> passphrase, std::span<const std::uint8_t> salt,
                        const Scrypt& cost) {
    note_stack_depth(libcrypto_stack);
    Secret<KekBytes> key;
    // libcrypto compares its own estimate with this bound. It includes p blocks and some more besides the memory.
    const std::uint64_t room = cost.memory() + 128ull * cost.r * cost.p + 1024ull * cost.r + (1u << 20);
    if (EVP_PBE_scrypt_ex(reinterpret_cast<const char*>(passphrase.data()), passphrase.size(), salt.data(), salt.size(),
                          cost.n, cost.r, cost.p, room, key->data(), key->size(), library_context(), nullptr) != 1) {
        ERR_clear_error();
        throw Error(WARPAES_ERROR_OUT_OF_MEMORY, "passphrase: deriving a key from it takes " +
                                                     std::to_string(cost.memory() >> 20) +
                                                     " MiB of memory, which libcrypto did not get");
    }
    return key;
}

/// AES-256-GCM with the nonce before and the tag after the ciphertext, like Tink's AEAD without a prefix.
class KekCipher {
public:
    explicit KekCipher(const KekBytes& key, bool encrypt) : key_(key), encrypt_(encrypt) {
        note_stack_depth(libcrypto_stack);
        if (context_ == nullptr) throw std::bad_alloc();
        require(cipher_ != nullptr);
    }

    SecretVector seal(const SecretVector& text) {
        SecretVector out(nonce_bytes + text.size() + tag_bytes);
        make_salt(std::span(out).first(nonce_bytes));
        begin(out.data());
        update(text.data(), text.size(), out.data() + nonce_bytes);
        int n = 0;
        require(EVP_CipherFinal_ex(context_.get(), out.data(), &n) == 1);
        require(EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_GET_TAG, tag_bytes,
                                    out.data() + out.size() - tag_bytes) == 1);
        return out;
    }
    /// Returns nullopt if `sealed` is not authentic.
    std::optional<SecretVector> open(SecretVector& sealed) {
        SecretVector text(sealed.size() - nonce_bytes - tag_bytes);
        begin(sealed.data());
        update(sealed.data() + nonce_bytes, text.size(), text.data());
        require(EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_SET_TAG, tag_bytes,
                                    sealed.data() + sealed.size() - tag_bytes) == 1);
        std::array<std::uint8_t, 16> none{};
        int n = 0;
        if (EVP_CipherFinal_ex(context_.get(), none.data(), &n) == 1) return text;
        ERR_clear_error();
        return std::nullopt;
    }

private:
    static void require(bool ok) {
        if (!ok) throw Error(WARPAES_ERROR_INTERNAL, "libcrypto: AES-256-GCM failed");
    }
    void begin(const std::uint8_t* nonce) {
        require(EVP_CipherInit_ex2(context_.get(), cipher_.get(), key_.data(), nonce, encrypt_ ? 1 : 0, nullptr) == 1);
    }
    void update(const std::uint8_t* from, std::size_t bytes, std::uint8_t* to) {
        int n = 0;
        require(bytes == 0 || EVP_CipherUpdate(context_.get(), to, &n, from, static_cast<int>(bytes)) == 1);
    }

    const KekBytes& key_;
    bool encrypt_;
    std::unique_ptr<EVP_CIPHER, decltype(&EVP_CIPHER_free)> cipher_{
        EVP_CIPHER_fetch(library_context(), "AES-256-GCM", nullptr), &EVP_CIPHER_free};
    std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)> context_{EVP_CIPHER_CTX_new(),
                                                                             &EVP_CIPHER_CTX_free};
};

// ------------------------------------------------------------------------------------------------- Tink's protobuf

std::span<const std::uint8_t> bytes_of(std::string_view text) {
    return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

SecretVector serialize_entry(const Keyset::Entry& entry) {
    SecretVector data, message;
    const Keyset::KeyData& d = entry.data;
    data.reserve(d.type_url.size() + d.value.size() + 32);  // reallocation would leave unwiped copies
    message.reserve(data.capacity() + 32);
    if (entry.state != KeyState::destroyed) {
        append_bytes(data, type_url, bytes_of(d.type_url));
        append_bytes(data, data_value, d.value);
        append_integer(data, key_material, index_of(materials, d.material));
        append_bytes(message, key_data, data);
    }
    append_integer(message, key_status, static_cast<std::uint32_t>(entry.state));
    append_integer(message, key_id, entry.key.id);
    append_integer(message, output_prefix, index_of(prefixes, d.output_prefix));
    return message;
}

SecretVector serialize(const Keyset& keyset) {
    std::size_t most = 16;
    for (const Keyset::Entry& entry : keyset.entries()) {
        most += entry.data.type_url.size() + entry.data.value.size() + 96;
    }
    SecretVector message;
    message.reserve(most);
    append_integer(message, primary_key_id, *keyset.primary_id());
    for (const Keyset::Entry& entry : keyset.entries()) append_bytes(message, keyset_key, serialize_entry(entry));
    return message;
}

[[noreturn]] void refuse_field(std::uint32_t number) {
    refuse("holds field " + std::to_string(number) + " of some message, which is not known here and would be lost");
}

template <std::size_t N>
std::uint32_t choice(const ProtoField& field, const std::array<std::string_view, N>& choices, const char* what) {
    const std::uint32_t value = field.as_uint32();
    if (value == 0 || value >= choices.size()) refuse(std::string("a key has ") + what + " that there is not");
    return value;
}

void parse_data(std::span<const std::uint8_t> message, Keyset::KeyData& data) {
    ProtoReader reader(message);
    for (ProtoField field; reader.next(field);) {
        if (field.number == type_url) {
            const auto text = field.as_bytes();
            data.type_url.assign(text.begin(), text.end());
        } else if (field.number == data_value) {
            const auto value = field.as_bytes();
            data.value = SecretVector(value.begin(), value.end());
        } else if (field.number == key_material) {
            data.material = materials[choice(field, materials, "a kind of material")];
        } else {
            refuse_field(field.number);
        }
    }
}

Keyset::Entry parse_entry(std::span<const std::uint8_t> message) {
    Keyset::Entry entry;
    std::uint32_t state = 0;
    bool has_prefix = false;
    ProtoReader reader(message);
    for (ProtoField field; reader.next(field);) {
        if (field.number == key_data) {
            parse_data(field.as_bytes(), entry.data);
        } else if (field.number == key_status) {
            state = choice(field, states, "a status");
        } else if (field.number == key_id) {
            entry.key.id = field.as_uint32();
        } else if (field.number == output_prefix) {
            entry.data.output_prefix = prefixes[choice(field, prefixes, "a kind of prefix")];
            has_prefix = true;
        } else {
            refuse_field(field.number);
        }
    }
    if (state == 0) refuse_key(entry, "has no status");
    if (!has_prefix) refuse_key(entry, "has no outputPrefixType");
    entry.state = static_cast<KeyState>(state);
    interpret(entry);
    return entry;
}

Keyset parse_message(std::span<const std::uint8_t> message) {
    std::vector<Keyset::Entry> entries;
    std::optional<std::uint32_t> primary;
    ProtoReader reader(message);
    for (ProtoField field; reader.next(field);) {
        if (field.number == primary_key_id) {
            primary = field.as_uint32();
        } else if (field.number == keyset_key) {
            entries.push_back(parse_entry(field.as_bytes()));
        } else {
            refuse_field(field.number);
        }
    }
    return Keyset::of(std::move(entries), primary);
}

// ------------------------------------------------------------------------------------------------------------ JSON

struct Wrapped {
    Scrypt cost;
    SecretVector salt, sealed;
    std::optional<std::uint32_t> primary;
    std::vector<Keyset::Entry> info;  ///< the public information on each key
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
    wrapped.cost = {0, 0, 0};
    json.object([&](std::string_view name) {
        if (name == "kdf") {
            const SecretVector kdf = json.string();
            if (JsonReader::as_text(kdf) != "scrypt") refuse("its key comes from another derivation than scrypt");
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
        refuse("its passphrase's scrypt " + why + "; nothing was derived");
    }
}

Wrapped parse_wrapped(std::string_view text) {
    if (text.size() > most_text) refuse("is longer than 1 MiB");
    Wrapped wrapped;
    bool has_cost = false;
    JsonReader json(text, WARPAES_ERROR_KEYSET, "keyset");
    json.object([&](std::string_view name) {
        if (name == "encryptedKeyset") {
            const SecretVector base64 = json.string();
            wrapped.sealed = decode_base64(JsonReader::as_text(base64), json);
        } else if (name == "keysetInfo") {
            read_info_list(json, wrapped);
        } else if (name == "keyEncryptionKey") {
            read_cost(json, wrapped);
            has_cost = true;
        } else {
            json.refuse("\"encryptedKeyset\", \"keysetInfo\" or \"keyEncryptionKey\" before it");
        }
    });
    json.end();
    if (wrapped.sealed.size() <= nonce_bytes + tag_bytes) refuse("has no encryptedKeyset");
    if (!has_cost) {
        refuse(
            "is encrypted under a key, not under a passphrase: it has no keyEncryptionKey; who has that key "
            "opens it: Tink, or `python -m warpaes.keysources open`, whose output -k exec: takes");
    }
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

std::string info_json(const Keyset& keyset) {
    std::string text = "  \"keysetInfo\": {\n    \"primaryKeyId\": " + std::to_string(*keyset.primary_id()) +
                       ",\n    \"keyInfo\": [\n";
    for (const Keyset::Entry& entry : keyset.entries()) {
        text += "      {\"typeUrl\": \"" + entry.data.type_url + "\", \"status\": \"" +
                std::string(states[static_cast<std::size_t>(entry.state)]) +
                "\", \"keyId\": " + std::to_string(entry.key.id) + ", \"outputPrefixType\": \"" +
                entry.data.output_prefix + "\"}";
        text += &entry == &keyset.entries().back() ? "\n" : ",\n";
    }
    return text + "    ]\n  },\n";
}

void check_passphrase(std::span<const std::uint8_t> passphrase) {
    if (passphrase.empty()) throw Error(WARPAES_ERROR_ARGUMENT, "passphrase: is empty");
}

}  // namespace

Scrypt choose_scrypt(double seconds) {
    if (!std::isfinite(seconds) || seconds < 0) {
        throw Error(WARPAES_ERROR_ARGUMENT, "seconds: must be a time, 0 or more");
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
        throw Error(WARPAES_ERROR_ARGUMENT, "cost: scrypt takes " + std::to_string(cost.memory()) +
                                                " bytes; new keysets take at least " +
                                                std::to_string(least_scrypt_memory >> 20) + " MiB");
    }
    (void)keyset.to_json();  // refuses keys that no keyset file can hold
    const SecretVector message = serialize(keyset);
    SecretVector salt(salt_bytes), sealed(nonce_bytes + message.size() + tag_bytes);
    make_salt(salt);
    const std::string before = "{\n  \"encryptedKeyset\": \"",
                      between =
                          "\",\n" + info_json(keyset) + "  \"keyEncryptionKey\": {\"kdf\": \"scrypt\", \"salt\": \"",
                      after = "\", \"n\": " + std::to_string(cost.n) + ", \"r\": " + std::to_string(cost.r) +
                              ", \"p\": " + std::to_string(cost.p) + "}\n}\n";
    const std::size_t size =
        before.size() + base64_length(sealed) + between.size() + base64_length(salt) + after.size();
    if (size <= room) {
        const auto key = derive(passphrase, salt, cost);
        sealed = KekCipher(*key, true).seal(message);
    }
    SecretVector text;
    text.reserve(size + 1);
    append(text, before);
    append_base64(text, sealed);
    append(text, between);
    append_base64(text, salt);
    append(text, after);
    return text;
}

Keyset unwrap_keyset(std::string_view json, std::span<const std::uint8_t> passphrase) {
    check_passphrase(passphrase);
    Wrapped wrapped = parse_wrapped(json);
    const auto key = derive(passphrase, wrapped.salt, wrapped.cost);
    const auto message = KekCipher(*key, false).open(wrapped.sealed);
    if (!message) {
        throw Error(WARPAES_ERROR_AUTHENTICATION, "passphrase: wrong, or the keyset was altered");
    }
    Keyset keyset = parse_message(*message);
    if (!agrees(wrapped, keyset)) refuse("its keysetInfo is not of the keys that it holds: somebody has altered it");
    return keyset;
}

PeekedKeyset peek_keyset(std::string_view json) {
    Wrapped wrapped = parse_wrapped(json);
    return {wrapped.cost, Keyset::locked(std::move(wrapped.info), wrapped.primary)};
}

}  // namespace warpaes
