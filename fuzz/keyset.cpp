// Tests keysets: arbitrary text as a keyset, and arbitrary sequences of operations on a keyset. Writing and reading a
// keyset must not change it.
#include <cstring>
#include <utility>

#include "handles.hpp"

namespace {

using namespace fuzz;

const std::uint8_t zeros[16] = {};

std::string write(const Keyset& keyset) {
    std::size_t length = 0;
    const warpaes_status status = warpaes_keyset_write(keyset.get(), nullptr, 0, &length);
    if (status == WARPAES_ERROR_KEYSET) return "";  // no keys, or keys that the format cannot represent
    require(status == WARPAES_ERROR_BUFFER_TOO_SMALL, "a keyset was written to an empty buffer");
    std::vector<char> exact(length);
    expect_ok(warpaes_keyset_write(keyset.get(), exact.data(), exact.size(), &length), "keyset_write");
    require(length == exact.size(), "a different length from the one reported");
    return {exact.begin(), exact.end()};
}

Keyset parse(const std::string& text) {
    const std::vector<char> exact(text.begin(), text.end());
    warpaes_keyset* made = nullptr;
    static const char nothing = 0;
    const warpaes_status status = warpaes_keyset_parse(exact.empty() ? &nothing : exact.data(), exact.size(), &made);
    if (status != WARPAES_OK) {
        require(status == WARPAES_ERROR_KEYSET, "a status other than KEYSET");
        require(made == nullptr, "an error and a keyset");
        require(std::strlen(warpaes_last_error()) > 8, "an error without a message");
    }
    return Keyset(made);
}

void check_opened(warpaes_status status, const Keyset& inside) {
    require(status == WARPAES_ERROR_AUTHENTICATION || status == WARPAES_OK || status == WARPAES_ERROR_KEYSET,
            "another status");
    require((status == WARPAES_OK) == (inside != nullptr), "a keyset that was refused, or none");
}

/// Treats any text as an encrypted keyset. Reads its public part, and decrypts it if it is encrypted under a key or if
/// the scrypt cost is small.
void peek(const std::string& text) {
    const std::vector<char> exact(text.begin(), text.end());
    warpaes_scrypt cost = WARPAES_SCRYPT_INIT;
    warpaes_keyset* made = nullptr;
    const warpaes_status status = warpaes_keyset_peek(exact.data(), exact.size(), &cost, &made);
    const Keyset keyset(made);
    if (status != WARPAES_OK) {
        require(status == WARPAES_ERROR_KEYSET, "a status other than KEYSET");
        require(made == nullptr, "an error and a keyset");
        return;
    }
    std::size_t length = 0;
    require(warpaes_keyset_write(made, nullptr, 0, &length) == WARPAES_ERROR_KEYSET, "a closed keyset is written");
    for (std::size_t i = 0; i < warpaes_keyset_count(made); ++i) {
        warpaes_key_info info = WARPAES_KEY_INFO_INIT;
        expect_ok(warpaes_keyset_query(made, i, &info), "keyset_query");
    }
    made = nullptr;
    if (cost.n == 0) {
        require(cost.r == 0 && cost.p == 0, "half of a cost");
        const warpaes_status opened =
            warpaes_keyset_unwrap_under(exact.data(), exact.size(), zeros, sizeof zeros, nullptr, 0, &made);
        check_opened(opened, Keyset(made));
        return;
    }
    require(cost.n >= 2 && cost.r != 0 && cost.p != 0, "an invalid cost was accepted");
    require(cost.n <= (1u << 30) / 128 / cost.r && cost.n * cost.r <= (std::uint64_t{1} << 33) / 128 / cost.p,
            "an excessive cost was accepted");
    if (cost.n * cost.r * cost.p > 4096) return;
    const warpaes_status opened = warpaes_keyset_unwrap(exact.data(), exact.size(), "x", 1, &made);
    check_opened(opened, Keyset(made));
}

/// Treats any text as a key-encryption key. A keyset that is encrypted under this key must open with it.
void encrypt_under(const std::string& text) {
    static const Keyset plain = [] {
        warpaes_keyset* made = nullptr;
        expect_ok(warpaes_keyset_from_raw("AES128_GCM_HKDF_4KB", zeros, 16, &made), "keyset_from_raw");
        return Keyset(made);
    }();
    const std::vector<char> kek(text.begin(), text.end());
    std::vector<char> json(4096);
    std::size_t length = 0;
    const warpaes_status status =
        warpaes_keyset_wrap_under(plain.get(), kek.data(), kek.size(), "aad", 3, json.data(), json.size(), &length);
    if (status != WARPAES_OK) {
        require(status == WARPAES_ERROR_KEYSET, "a status other than KEYSET");
        return;
    }
    const auto open = [&](const void* aad, std::size_t bytes) {
        warpaes_keyset* made = nullptr;
        const warpaes_status opened =
            warpaes_keyset_unwrap_under(json.data(), length, kek.data(), kek.size(), aad, bytes, &made);
        return std::pair(opened, Keyset(made));
    };
    const auto [opened, inside] = open("aad", 3);
    expect_ok(opened, "keyset_unwrap_under");
    require(write(inside) == write(plain), "the decrypted keyset differs");
    require(open(nullptr, 0).first == WARPAES_ERROR_AUTHENTICATION, "it opens with other associated data");
}

std::vector<warpaes_key_info> query(const Keyset& keyset) {
    std::vector<warpaes_key_info> keys(warpaes_keyset_count(keyset.get()));
    int primaries = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) {
        keys[i].struct_size = sizeof keys[i];
        expect_ok(warpaes_keyset_query(keyset.get(), i, &keys[i]), "keyset_query");
        if (keys[i].primary == 0) continue;
        ++primaries;
        require(keys[i].state == WARPAES_KEY_ENABLED, "a primary that is not enabled");
    }
    require(primaries <= 1, "two primaries");
    warpaes_key_info beyond{};
    beyond.struct_size = sizeof beyond;
    require(warpaes_keyset_query(keyset.get(), keys.size(), &beyond) != WARPAES_OK, "a key past the last one");
    return keys;
}

/// Writing and reading must not change the keyset.
void check_fixed_point(const Keyset& keyset) {
    const std::string text = write(keyset);
    if (text.empty()) return;
    const Keyset again = parse(text);
    if (!again) fail(std::string("our own keyset is refused: ") + warpaes_last_error());
    require(write(again) == text, "writing, reading and writing again changes the keyset");
    const auto before = query(keyset), after = query(again);
    require(before.size() == after.size(), "keys are lost in writing");
    for (std::size_t i = 0; i < before.size(); ++i) {
        require(before[i].key_id == after[i].key_id && before[i].state == after[i].state &&
                    before[i].primary == after[i].primary && before[i].segment_bytes == after[i].segment_bytes &&
                    before[i].key_bits == after[i].key_bits,
                "a key changes in writing");
    }
}

void change(Input& in, const Keyset& keyset) {
    const auto keys = query(keyset);
    const std::uint32_t id = !keys.empty() && in.below(8) != 0 ? keys[in.below(keys.size())].key_id : in.byte();
    const auto info = [&](std::uint32_t key) {
        for (const auto& k : keys) {
            if (k.key_id == key) return k;
        }
        return warpaes_key_info{};
    };
    switch (in.below(5)) {
    case 0: {
        std::uint32_t added = 0;
        const char* name = warpaes_template_name(in.below(warpaes_template_count() + 1));
        const warpaes_status status = warpaes_keyset_add(keyset.get(), name, &added);
        require((status == WARPAES_OK) == (name != nullptr), "adding a key");
        require(warpaes_keyset_count(keyset.get()) == keys.size() + (status == WARPAES_OK ? 1 : 0),
                "the number of keys");
        break;
    }
    case 1:
        if (warpaes_keyset_promote(keyset.get(), id) == WARPAES_OK) {
            require(info(id).state == WARPAES_KEY_ENABLED, "a disabled key becomes the primary");
        }
        break;
    case 2: {
        const auto state = static_cast<warpaes_key_state>(in.below(5));
        if (warpaes_keyset_set_state(keyset.get(), id, state) == WARPAES_OK) {
            require(info(id).primary == 0 || state == WARPAES_KEY_ENABLED, "the primary is switched off");
        }
        break;
    }
    case 3:
        if (warpaes_keyset_remove(keyset.get(), id) == WARPAES_OK) {
            require(info(id).primary == 0, "the primary is removed");
            require(warpaes_keyset_count(keyset.get()) == keys.size() - 1, "the number of keys");
        }
        break;
    default: {
        const char* name = warpaes_template_name(in.below(warpaes_template_count()));
        const Bytes key = in.bytes(in.below(70));
        warpaes_keyset* made = nullptr;
        static const std::uint8_t nothing = 0;
        (void)warpaes_keyset_from_raw(name, key.empty() ? &nothing : key.data(), key.size(), &made);
        const Keyset raw(made);
        if (raw) check_fixed_point(raw);
    }
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Keyset keyset;
    if (size != 0 && data[0] == '{') {
        keyset = parse(std::string(reinterpret_cast<const char*>(data), size));
        if (keyset) check_fixed_point(keyset);
        peek(std::string(reinterpret_cast<const char*>(data), size));
        encrypt_under(std::string(reinterpret_cast<const char*>(data), size));
        return 0;
    }
    Input in(data, size);
    warpaes_keyset* made = nullptr;
    expect_ok(warpaes_keyset_create(&made), "keyset_create");
    keyset.reset(made);
    for (int steps = 0; steps < 8 && !in.empty(); ++steps) change(in, keyset);
    check_fixed_point(keyset);
    return 0;
}
