// A keyset in Tink's JSON:
//   {"primaryKeyId": N, "key": [{"keyData": {"typeUrl": "…", "value": BASE64, "keyMaterialType": "SYMMETRIC"},
//                                "status": "ENABLED", "keyId": N, "outputPrefixType": "RAW"}, …]}
#include "base/error.hpp"
#include "base/json_reader.hpp"
#include "format/key_text.hpp"
#include "format/keyset.hpp"
#include "format/keyset_parts.hpp"

namespace warpaes {

namespace {

using namespace keyset_parts;

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

ClearKeyset keyset_parts::read_clear(std::string_view text) {
    if (text.size() > most_text) refuse("is longer than 1 MiB");
    ClearKeyset keyset;
    JsonReader json(without_byte_order_mark(text, "keyset:"), WARPAES_ERROR_KEYSET, "keyset");
    json.object([&](std::string_view name) {
        if (name == "primaryKeyId") {
            keyset.primary = json.number();
        } else if (name == "key") {
            json.array([&] { keyset.entries.push_back(read_key(json)); });
        } else if (name == "encryptedKeyset") {
            refuse(
                "is encrypted; open it with warpaes_keyset_unwrap and its passphrase, with warpaes_keyset_unwrap_under "
                "and its key-encryption key, or with the key manager that has that key");
        } else {
            json.refuse("\"primaryKeyId\" or \"key\" before it");
        }
    });
    json.end();
    return keyset;
}

Keyset Keyset::parse(std::string_view text) {
    ClearKeyset keyset = read_clear(text);
    return of(std::move(keyset.entries), keyset.primary);
}

SecretVector Keyset::to_json() const {
    require_open();
    if (entries_.empty()) refuse("is empty");
    std::size_t most = 64;
    for (const Entry& entry : entries_) {
        if (entry.state != KeyState::destroyed && entry.data.type_url.empty()) {
            refuse_key(entry, "is for " + std::string(entry.key.parameters.format->name) +
                                  ", which Tink's keysets cannot contain; store it as a raw key");
        }
        most += 512 + entry.data.type_url.size() + base64_length(entry.data.value);
    }
    SecretVector text;
    text.reserve(most);  // reallocation would leave unwiped copies
    append(text, "{\n  \"primaryKeyId\": " + std::to_string(*primary_) + ",\n  \"key\": [\n");
    for (const Entry& entry : entries_) {
        append_key(text, entry);
        append(text, &entry == &entries_.back() ? "\n" : ",\n");
    }
    append(text, "  ]\n}\n");
    return text;
}

}  // namespace warpaes
