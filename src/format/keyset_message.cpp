#include "format/keyset_message.hpp"

#include "base/error.hpp"
#include "format/keyset_parts.hpp"
#include "format/protobuf.hpp"

namespace warpaes {

namespace {

using namespace keyset_parts;

// Field numbers of tink.proto.
enum KeysetField : std::uint32_t { primary_key_id = 1, keyset_key = 2 };
enum EntryField : std::uint32_t { key_data = 1, key_status = 2, key_id = 3, output_prefix = 4 };
enum DataField : std::uint32_t { type_url = 1, data_value = 2, key_material = 3 };

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
