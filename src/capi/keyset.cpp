#include "format/keyset.hpp"

#include "capi/guard.hpp"
#include "capi/handles.hpp"

using namespace warpaes;
using namespace warpaes::capi;

namespace {

KeyState checked_state(warpaes_key_state state) {
    if (state < WARPAES_KEY_ENABLED || state > WARPAES_KEY_DESTROYED) {
        throw Error(WARPAES_ERROR_ARGUMENT, "state: there is no state " + std::to_string(static_cast<int>(state)));
    }
    return static_cast<KeyState>(state);
}

}  // namespace

extern "C" {

size_t warpaes_template_count(void) {
    return stream_templates().size();
}

const char* warpaes_template_name(size_t index) {
    return index < stream_templates().size() ? stream_templates()[index].name.data() : nullptr;
}

warpaes_status warpaes_keyset_create(warpaes_keyset** keyset) {
    return created(keyset, "keyset", [] { return new warpaes_keyset{}; });
}

warpaes_status warpaes_keyset_parse(const char* json, size_t length, warpaes_keyset** keyset) {
    return created(keyset, "keyset", [&] {
        require(json, "json");
        return new warpaes_keyset{Keyset::parse({json, length})};
    });
}

warpaes_status warpaes_keyset_from_raw(const char* template_name, const uint8_t* key, size_t length,
                                       warpaes_keyset** keyset) {
    return created(keyset, "keyset", [&] {
        require(template_name, "template");
        require(key, "key");
        return new warpaes_keyset{Keyset::from_raw(template_name, {key, length})};
    });
}

void warpaes_keyset_destroy(warpaes_keyset* keyset) {
    delete keyset;
}

warpaes_status warpaes_keyset_add(warpaes_keyset* keyset, const char* template_name, uint32_t* key_id) {
    return guarded([&] {
        require(keyset, "keyset");
        require(template_name, "template");
        const std::uint32_t id = keyset->impl.add(template_name);
        if (key_id != nullptr) *key_id = id;
    });
}

warpaes_status warpaes_keyset_promote(warpaes_keyset* keyset, uint32_t key_id) {
    return guarded([&] {
        require(keyset, "keyset");
        keyset->impl.promote(key_id);
    });
}

warpaes_status warpaes_keyset_set_state(warpaes_keyset* keyset, uint32_t key_id, warpaes_key_state state) {
    return guarded([&] {
        require(keyset, "keyset");
        keyset->impl.set_state(key_id, checked_state(state));
    });
}

warpaes_status warpaes_keyset_remove(warpaes_keyset* keyset, uint32_t key_id) {
    return guarded([&] {
        require(keyset, "keyset");
        keyset->impl.remove(key_id);
    });
}

size_t warpaes_keyset_count(const warpaes_keyset* keyset) {
    return keyset == nullptr ? 0 : keyset->impl.entries().size();
}

warpaes_status warpaes_keyset_query(const warpaes_keyset* keyset, size_t index, warpaes_key_info* info) {
    return guarded([&] {
        require(keyset, "keyset");
        warpaes_key_info i = read_struct(info, "info");
        const auto entries = keyset->impl.entries();
        if (index >= entries.size()) {
            throw Error(WARPAES_ERROR_ARGUMENT, "index: " + std::to_string(index) + " is beyond the last key");
        }
        const Keyset::Entry& entry = entries[index];
        i.key_id = entry.key.id;
        i.state = static_cast<warpaes_key_state>(entry.state);
        i.primary = entry.key.id == keyset->impl.primary_id() ? 1 : 0;
        i.template_name = "";
        i.key_bits = i.segment_bytes = 0;
        if (entry.for_files) {
            i.template_name = template_name_of(entry.key.parameters).data();
            i.key_bits = static_cast<std::uint32_t>(8 * entry.key.parameters.aes_key_bytes);
            i.segment_bytes = entry.key.parameters.segment_bytes;
        }
        write_struct(i, info, i.struct_size);
    });
}

warpaes_status warpaes_keyset_write(const warpaes_keyset* keyset, char* json, size_t capacity, size_t* length) {
    return guarded([&] {
        require(keyset, "keyset");
        require(length, "length");
        *length = 0;
        const SecretVector text = keyset->impl.to_json();
        *length = text.size();
        if (capacity < *length) {
            throw Error(WARPAES_ERROR_BUFFER_TOO_SMALL, "json: takes " + std::to_string(*length) +
                                                            " bytes, there is room for " + std::to_string(capacity));
        }
        require(json, "json");
        std::copy(text.begin(), text.end(), json);
    });
}

}  // extern "C"
