// A keyset as Tink's JSON has it:
//   {"primaryKeyId": N, "key": [{"keyData": {"typeUrl": "…", "value": BASE64, "keyMaterialType": "SYMMETRIC"},
//                                "status": "ENABLED", "keyId": N, "outputPrefixType": "RAW"}, …]}
#include <openssl/evp.h>

#include <algorithm>
#include <array>

#include "base/error.hpp"
#include "base/json_reader.hpp"
#include "format/keyset.hpp"
#include "format/tink_key.hpp"

namespace warpaes {

namespace {

constexpr std::size_t most_text = 1 << 20;
constexpr std::array<std::string_view, 4> states = {"UNKNOWN_STATUS", "ENABLED", "DISABLED", "DESTROYED"};
constexpr std::array<std::string_view, 4> materials = {"SYMMETRIC", "ASYMMETRIC_PRIVATE", "ASYMMETRIC_PUBLIC",
                                                       "REMOTE"};
constexpr std::array<std::string_view, 5> prefixes = {"RAW", "TINK", "LEGACY", "CRUNCHY", "WITH_ID_REQUIREMENT"};

[[noreturn]] void refuse(const std::string& why) {
    throw Error(WARPAES_ERROR_KEYSET, "keyset: " + why);
}

[[noreturn]] void refuse_key(const Keyset::Entry& entry, const std::string& why) {
    refuse("key " + std::to_string(entry.key.id) + " " + why);
}

bool is_base64(char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '/';
}

/// RFC 4648, section 4, in canonical form: whole groups, unused bits zero.
SecretVector decode_base64(std::string_view text, const JsonReader& json) {
    const std::size_t padding = text.size() - std::min(text.find_last_not_of('=') + 1, text.size());
    const std::string_view digits = text.substr(0, text.size() - padding);
    if (text.size() % 4 != 0 || padding > 2 || !std::all_of(digits.begin(), digits.end(), is_base64)) {
        json.refuse("base64 before it");
    }
    SecretVector bytes;
    bytes.resize(text.size() / 4 * 3);
    const auto* from = reinterpret_cast<const unsigned char*>(text.data());
    EVP_DecodeBlock(bytes.data(), from, static_cast<int>(text.size()));
    if (padding != 0 &&
        std::any_of(bytes.end() - static_cast<std::ptrdiff_t>(padding), bytes.end(), [](auto b) { return b != 0; })) {
        json.refuse("base64 before it");
    }
    for (std::size_t i = 0; i < padding; ++i) bytes.pop_back();
    return bytes;
}

/// One of `choices`, as its index.
template <std::size_t N>
std::size_t read_choice(JsonReader& json, const std::array<std::string_view, N>& choices, const char* what) {
    const SecretVector text = json.string();
    const auto found = std::find(choices.begin(), choices.end(), JsonReader::as_text(text));
    if (found == choices.end()) json.refuse(std::string(what) + " before it");
    return static_cast<std::size_t>(found - choices.begin());
}

void read_key_data(JsonReader& json, Keyset::KeyData& data) {
    json.object([&](std::string_view name) {
        if (name == "typeUrl") {
            data.type_url = JsonReader::as_text(json.string());
        } else if (name == "value") {
            const SecretVector text = json.string();
            data.value = decode_base64(JsonReader::as_text(text), json);
        } else if (name == "keyMaterialType") {
            data.material = materials[read_choice(json, materials, "a kind of key material")];
        } else {
            json.refuse("\"typeUrl\", \"value\" or \"keyMaterialType\" before it");
        }
    });
}

/// What the members say together.
void interpret(Keyset::Entry& entry) {
    const std::uint32_t id = entry.key.id;
    const auto format = format_of_tink_type(entry.data.type_url);
    const auto stands_for_itself = [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; };
    if (!std::all_of(entry.data.type_url.begin(), entry.data.type_url.end(), stands_for_itself)) {
        refuse_key(entry, "has a type that is none");  // it would have to be escaped again
    } else if (entry.state == KeyState::destroyed) {
        entry.data.value = {};  // of no use to anyone any more
    } else if (entry.data.type_url.empty()) {
        refuse_key(entry, "has no data");
    } else if (format && entry.data.material != materials[0]) {
        refuse_key(entry, "is not marked as symmetric");
    }
    entry.for_files = format && entry.state != KeyState::destroyed;
    if (entry.for_files) {
        entry.key = parse_tink_key(*format, entry.data.value);
        entry.key.id = id;
    }
}

Keyset::Entry read_key(JsonReader& json) {
    Keyset::Entry entry;
    std::size_t state = 0;
    bool has_id = false, has_prefix = false;
    json.object([&](std::string_view name) {
        if (name == "keyData") {
            read_key_data(json, entry.data);
        } else if (name == "status") {
            state = read_choice(json, states, "a status of a key");
        } else if (name == "keyId") {
            entry.key.id = json.number();
            has_id = true;
        } else if (name == "outputPrefixType") {
            entry.data.output_prefix = prefixes[read_choice(json, prefixes, "a kind of prefix")];
            has_prefix = true;
        } else {
            json.refuse("\"keyData\", \"status\", \"keyId\" or \"outputPrefixType\" before it");
        }
    });
    if (!has_id) refuse("a key has no keyId");
    if (state == 0) refuse_key(entry, "has no status");
    if (!has_prefix) refuse_key(entry, "has no outputPrefixType");
    entry.state = static_cast<KeyState>(state);
    interpret(entry);
    return entry;
}

void append(SecretVector& text, std::string_view part) {
    text.insert(text.end(), part.begin(), part.end());
}

std::size_t base64_length(const SecretVector& bytes) {
    return (bytes.size() + 2) / 3 * 4;
}

void append_base64(SecretVector& text, const SecretVector& bytes) {
    const std::size_t at = text.size();
    text.resize(at + base64_length(bytes) + 1);  // and a NUL
    EVP_EncodeBlock(text.data() + at, bytes.data(), static_cast<int>(bytes.size()));
    text.pop_back();
}

void append_key(SecretVector& text, const Keyset::Entry& entry) {
    append(text, "    {\n");
    if (entry.state != KeyState::destroyed) {
        append(text,
               "      \"keyData\": {\n        \"typeUrl\": \"" + entry.data.type_url + "\",\n        \"value\": \"");
        append_base64(text, entry.data.value);
        append(text, "\",\n        \"keyMaterialType\": \"" + entry.data.material + "\"\n      },\n");
    }
    append(text, "      \"status\": \"" + std::string(states[static_cast<std::size_t>(entry.state)]) + "\",\n");
    append(text, "      \"keyId\": " + std::to_string(entry.key.id) + ",\n");
    append(text, "      \"outputPrefixType\": \"" + entry.data.output_prefix + "\"\n    }");
}

}  // namespace

Keyset Keyset::parse(std::string_view text) {
    if (text.size() > most_text) refuse("is longer than 1 MiB");
    Keyset keyset;
    JsonReader json(text, WARPAES_ERROR_KEYSET, "keyset");
    json.object([&](std::string_view name) {
        if (name == "primaryKeyId") {
            keyset.primary_ = json.number();
        } else if (name == "key") {
            json.array([&] { keyset.entries_.push_back(read_key(json)); });
        } else {
            json.refuse("\"primaryKeyId\" or \"key\" before it");
        }
    });
    json.end();
    if (keyset.entries_.empty()) refuse("is empty");
    if (!keyset.primary_) refuse("names no primary key");
    std::vector<std::uint32_t> ids;
    for (const Entry& entry : keyset.entries_) ids.push_back(entry.key.id);
    std::sort(ids.begin(), ids.end());
    if (const auto twice = std::adjacent_find(ids.begin(), ids.end()); twice != ids.end()) {
        refuse("has two keys of number " + std::to_string(*twice));
    }
    const auto primary = std::find_if(keyset.entries_.begin(), keyset.entries_.end(),
                                      [&](const Entry& entry) { return entry.key.id == keyset.primary_; });
    if (primary == keyset.entries_.end())
        refuse("its primary, key " + std::to_string(*keyset.primary_) + ", is not there");
    if (primary->state != KeyState::enabled) refuse_key(*primary, "is the primary and not enabled");
    if (keyset.usable().empty()) refuse("holds no enabled key for files: none is of Tink's streaming AEAD");
    return keyset;
}

SecretVector Keyset::to_json() const {
    if (entries_.empty()) refuse("is empty");
    std::size_t most = 64;
    for (const Entry& entry : entries_) {
        if (entry.state != KeyState::destroyed && entry.data.type_url.empty()) {
            refuse_key(entry, "is of C2SP chunked encryption, which Tink's keysets have no place for; keep it raw");
        }
        most += 512 + entry.data.type_url.size() + base64_length(entry.data.value);
    }
    SecretVector text;
    text.reserve(most);  // growing would leave copies behind
    append(text, "{\n  \"primaryKeyId\": " + std::to_string(*primary_) + ",\n  \"key\": [\n");
    for (const Entry& entry : entries_) {
        append_key(text, entry);
        append(text, &entry == &entries_.back() ? "\n" : ",\n");
    }
    append(text, "  ]\n}\n");
    return text;
}

}  // namespace warpaes
