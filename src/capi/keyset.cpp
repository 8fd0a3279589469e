#include "format/keyset.hpp"

#include "base/json_reader.hpp"
#include "capi/guard.hpp"
#include "capi/handles.hpp"
#include "format/key_text.hpp"
#include "format/keyset_wrap.hpp"
#include "format/segment_cipher.hpp"

using namespace warpaes;
using namespace warpaes::capi;

namespace {

KeyState checked_state(warpaes_key_state state) {
    if (state < WARPAES_KEY_ENABLED || state > WARPAES_KEY_DESTROYED) {
        throw Error(WARPAES_ERROR_ARGUMENT, "state: there is no state " + std::to_string(static_cast<int>(state)));
    }
    return static_cast<KeyState>(state);
}

void hand_out_json(const SecretVector& text, char* json, std::size_t capacity, std::size_t* length) {
    hand_out(JsonReader::as_text(text), json, capacity, "json", length);
}

std::span<const std::uint8_t> passphrase_bytes(const char* passphrase, std::size_t length) {
    if (length != 0) require(passphrase, "passphrase");
    return {reinterpret_cast<const std::uint8_t*>(passphrase), length};
}

warpaes_scrypt public_cost(const Scrypt& cost, warpaes_scrypt to) {
    to.n = cost.n;
    to.r = cost.r;
    to.p = cost.p;
    return to;
}

}  // namespace

extern "C" {

size_t warpaes_template_count(void) {
    std::size_t count = 0;
    while (template_at(count) != nullptr) ++count;
    return count;
}

const char* warpaes_template_name(size_t index) {
    const StreamTemplate* const found = template_at(index);
    return found != nullptr ? found->name.data() : nullptr;
}

warpaes_status warpaes_template_query(const char* template_name, warpaes_template_info* info) {
    return guarded([&] {
        require(template_name, "template");
        warpaes_template_info i = read_struct(info, "info");
        const StreamParameters& p = find_template(template_name).parameters;
        i.key_bits = static_cast<std::uint32_t>(8 * p.aes_key_bytes);
        i.format = p.format->name.data();
        i.header_bytes = layout_of(p).header_bytes;
        i.segment_bytes = p.segment_bytes;
        i.raw_only = p.format->tink_type.empty() ? 1 : 0;
        i.has_mark = p.format->marked ? 1 : 0;
        write_struct(i, info, i.struct_size);
    });
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

warpaes_status warpaes_keyset_check_raw(const void* key, size_t length) {
    return guarded([&] {
        require(key, "key");
        refuse_text({static_cast<const std::uint8_t*>(key), length}, "key:");
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

warpaes_status warpaes_keyset_append(warpaes_keyset* keyset, const warpaes_keyset* other) {
    return guarded([&] {
        require(keyset, "keyset");
        require(other, "other");
        keyset->impl.extend(other->impl);
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
        hand_out_json(keyset->impl.to_json(), json, capacity, length);
    });
}

warpaes_status warpaes_scrypt_choose(double seconds, warpaes_scrypt* cost) {
    return guarded([&] {
        const warpaes_scrypt given = read_struct(cost, "cost");
        write_struct(public_cost(choose_scrypt(seconds), given), cost, given.struct_size);
    });
}

warpaes_status warpaes_keyset_wrap(const warpaes_keyset* keyset, const char* passphrase, size_t passphrase_len,
                                   const warpaes_scrypt* cost, char* json, size_t capacity, size_t* length) {
    return guarded([&] {
        require(keyset, "keyset");
        require(length, "length");
        *length = 0;
        Scrypt paid;
        if (cost != nullptr) {
            const warpaes_scrypt given = read_struct(cost, "cost");
            paid = {given.n, given.r, given.p};
        } else {
            paid = choose_scrypt(1);
        }
        hand_out_json(wrap_keyset(keyset->impl, passphrase_bytes(passphrase, passphrase_len), paid, capacity), json,
                      capacity, length);
    });
}

warpaes_status warpaes_keyset_unwrap(const char* json, size_t length, const char* passphrase, size_t passphrase_len,
                                     warpaes_keyset** keyset) {
    return created(keyset, "keyset", [&] {
        require(json, "json");
        return new warpaes_keyset{unwrap_keyset({json, length}, passphrase_bytes(passphrase, passphrase_len))};
    });
}

warpaes_status warpaes_keyset_wrap_under(const warpaes_keyset* keyset, const void* kek, size_t kek_len, const void* aad,
                                         size_t aad_len, char* json, size_t capacity, size_t* length) {
    return guarded([&] {
        require(keyset, "keyset");
        require(kek, "kek");
        require(length, "length");
        *length = 0;
        hand_out_json(
            wrap_keyset_under(keyset->impl, checked_bytes(kek, kek_len, "kek"), checked_bytes(aad, aad_len, "aad")),
            json, capacity, length);
    });
}

warpaes_status warpaes_keyset_unwrap_under(const char* json, size_t length, const void* kek, size_t kek_len,
                                           const void* aad, size_t aad_len, warpaes_keyset** keyset) {
    return created(keyset, "keyset", [&] {
        require(json, "json");
        require(kek, "kek");
        return new warpaes_keyset{unwrap_keyset_under({json, length}, checked_bytes(kek, kek_len, "kek"),
                                                      checked_bytes(aad, aad_len, "aad"))};
    });
}

warpaes_status warpaes_keyset_peek(const char* json, size_t length, warpaes_scrypt* cost, warpaes_keyset** keyset) {
    return guarded([&] {
        if (keyset != nullptr) *keyset = nullptr;
        require(json, "json");
        const warpaes_scrypt given = cost != nullptr ? read_struct(cost, "cost") : warpaes_scrypt{};
        PeekedKeyset peeked = peek_keyset({json, length});
        if (keyset != nullptr) *keyset = new warpaes_keyset{std::move(peeked.keyset)};
        if (cost != nullptr) write_struct(public_cost(peeked.cost, given), cost, given.struct_size);
    });
}

}  // extern "C"
