#include "format/tink_key.hpp"

#include "base/error.hpp"
#include "format/keyset_parts.hpp"
#include "format/protobuf.hpp"
#include "format/segments.hpp"

namespace warpaes {

namespace {

// Field numbers of Tink's aes_gcm_hkdf_streaming.proto, aes_ctr_hmac_streaming.proto and hmac.proto.
enum KeyField : std::uint32_t { key_version = 1, key_params = 2, key_value = 3 };
enum ParamsField : std::uint32_t { segment_size = 1, derived_key_size = 2, hkdf_hash_type = 3, hmac_params = 4 };
enum HmacField : std::uint32_t { hmac_hash = 1, hmac_tag_size = 2 };

constexpr std::uint32_t most_segment_bytes = 64u << 20;
constexpr std::size_t most_key_bytes = 4096;

[[noreturn]] void refuse(const std::string& why) {
    throw Error(WARPAES_ERROR_KEYSET, "keyset: " + why);
}

/// Returns the size of a digest that the streaming formats allow.
std::size_t digest_bytes(Hash hash) {
    switch (hash) {
    case Hash::sha1:
        return 20;
    case Hash::sha256:
        return 32;
    case Hash::sha512:
        return 64;
    default:
        refuse("a key uses hash type " + std::to_string(static_cast<int>(hash)) + "; use SHA1, SHA256 or SHA512");
    }
}

void parse_hmac(std::span<const std::uint8_t> message, StreamParameters& parameters) {
    ProtoReader reader(message);
    for (ProtoField field; reader.next(field);) {
        if (field.number == hmac_hash) parameters.hmac_hash = static_cast<Hash>(field.as_uint32());
        if (field.number == hmac_tag_size) parameters.tag_bytes = field.as_uint32();
    }
}

void parse_parameters(std::span<const std::uint8_t> message, StreamParameters& parameters) {
    ProtoReader reader(message);
    for (ProtoField field; reader.next(field);) {
        if (field.number == segment_size) parameters.segment_bytes = field.as_uint32();
        if (field.number == derived_key_size) parameters.aes_key_bytes = field.as_uint32();
        if (field.number == hkdf_hash_type) parameters.hkdf_hash = static_cast<Hash>(field.as_uint32());
        if (field.number == hmac_params && parameters.format->hmac) {
            parse_hmac(field.as_bytes(), parameters);
        }
    }
}

}  // namespace

void check_parameters(const StreamParameters& parameters, std::size_t key_bytes) {
    const std::size_t aes_bytes = parameters.aes_key_bytes;
    if (aes_bytes != 16 && aes_bytes != 32) {
        refuse("a key derives AES keys of " + std::to_string(aes_bytes) + " bytes; it must be 16 or 32");
    }
    digest_bytes(parameters.hkdf_hash);
    if (parameters.format->hmac) {
        const std::size_t most = digest_bytes(parameters.hmac_hash);
        if (parameters.tag_bytes < 10 || parameters.tag_bytes > most) {
            refuse("a key has tags of " + std::to_string(parameters.tag_bytes) + " bytes; its hash allows 10 to " +
                   std::to_string(most));
        }
    }
    const std::size_t least_segment = tink_header_bytes(aes_bytes) + parameters.tag_bytes + 1;
    if (parameters.segment_bytes < least_segment || parameters.segment_bytes > most_segment_bytes) {
        refuse("a key has segments of " + std::to_string(parameters.segment_bytes) + " bytes; they must have " +
               std::to_string(least_segment) + " to " + std::to_string(most_segment_bytes));
    }
    if (key_bytes < aes_bytes || key_bytes > most_key_bytes) {
        refuse("a key is " + std::to_string(key_bytes) + " bytes long; it must have " + std::to_string(aes_bytes) +
               " to " + std::to_string(most_key_bytes));
    }
}

StreamKey parse_tink_key(const SegmentFormat& format, std::span<const std::uint8_t> value) {
    StreamKey key;
    // protobuf's defaults for missing fields.
    key.parameters = {
        &format, 0, 0, Hash{}, format.hmac ? Hash{} : Hash::sha256, format.hmac ? std::size_t{0} : std::size_t{16}};
    std::span<const std::uint8_t> bytes;
    ProtoReader reader(value);
    for (ProtoField field; reader.next(field);) {
        if (field.number == key_version && field.as_uint32() != 0) {
            refuse("a key is of version " + std::to_string(field.integer) + "; only version 0 is supported");
        }
        if (field.number == key_params) parse_parameters(field.as_bytes(), key.parameters);
        if (field.number == key_value) bytes = field.as_bytes();
    }
    check_parameters(key.parameters, bytes.size());
    key.key = SecretVector(bytes.begin(), bytes.end());
    return key;
}

SecretVector serialize_tink_key(const StreamKey& key) {
    const StreamParameters& p = key.parameters;
    SecretVector parameters;
    append_integer(parameters, segment_size, p.segment_bytes);
    append_integer(parameters, derived_key_size, p.aes_key_bytes);
    append_integer(parameters, hkdf_hash_type, static_cast<std::uint32_t>(p.hkdf_hash));
    if (p.format->hmac) {
        SecretVector hmac;
        append_integer(hmac, hmac_hash, static_cast<std::uint32_t>(p.hmac_hash));
        append_integer(hmac, hmac_tag_size, p.tag_bytes);
        append_bytes(parameters, hmac_params, hmac);
    }
    SecretVector message;
    message.reserve(parameters.size() + key.key.size() + 16);
    append_bytes(message, key_params, parameters);
    append_bytes(message, key_value, key.key);
    return message;
}

namespace {

using namespace keyset_parts;

// Field numbers of tink.proto.
enum KeysetField : std::uint32_t { primary_key_id = 1, keyset_key = 2 };
enum EntryField : std::uint32_t { key_data = 1, key_status = 2, key_id = 3, output_prefix = 4 };
enum DataField : std::uint32_t { type_url = 1, data_value = 2, key_material = 3 };

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

[[noreturn]] void refuse_field(std::uint32_t number) {
    refuse("has the field " + std::to_string(number) +
           " of a message, which this version does not support and would lose");
}

template <std::size_t N>
std::uint32_t choice(const ProtoField& field, const std::array<std::string_view, N>& choices, const char* what) {
    const std::uint32_t value = field.as_uint32();
    if (value == 0 || value >= choices.size()) refuse(std::string("a key has ") + what + " that does not exist");
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

}  // namespace

SecretVector serialize_message(const Keyset& keyset) {
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

}  // namespace warpaes
