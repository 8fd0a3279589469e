#include "format/keyset_parts.hpp"

#include <openssl/evp.h>

#include "format/tink_key.hpp"

namespace warpaes::keyset_parts {

namespace {

bool is_base64(char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '/';
}

}  // namespace

void refuse(const std::string& why) {
    throw Error(WARPAES_ERROR_KEYSET, "keyset: " + why);
}

void refuse_key(const Keyset::Entry& entry, const std::string& why) {
    refuse("key " + std::to_string(entry.key.id) + " " + why);
}

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

std::size_t base64_length(const SecretVector& bytes) {
    return (bytes.size() + 2) / 3 * 4;
}

void append_base64(SecretVector& text, const SecretVector& bytes) {
    const std::size_t at = text.size();
    text.resize(at + base64_length(bytes) + 1);  // includes room for a NUL
    EVP_EncodeBlock(text.data() + at, bytes.data(), static_cast<int>(bytes.size()));
    text.pop_back();
}

void append(SecretVector& text, std::string_view part) {
    text.insert(text.end(), part.begin(), part.end());
}

void interpret(Keyset::Entry& entry) {
    const std::uint32_t id = entry.key.id;
    const auto format = format_of_tink_type(entry.data.type_url);
    const auto stands_for_itself = [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; };
    if (!std::all_of(entry.data.type_url.begin(), entry.data.type_url.end(), stands_for_itself)) {
        refuse_key(entry, "has an invalid type");  // an invalid type would have to be escaped when written
    } else if (entry.state == KeyState::destroyed) {
        entry.data.value = {};  // a destroyed key has no value
    } else if (entry.data.type_url.empty()) {
        refuse_key(entry, "has no data");
    } else if (format && entry.data.material != "SYMMETRIC") {
        refuse_key(entry, "is not marked as symmetric");
    }
    entry.for_files = format && entry.state != KeyState::destroyed;
    if (entry.for_files) {
        entry.key = parse_tink_key(*format, entry.data.value);
        entry.key.id = id;
    }
}

void check_keys(std::span<const Keyset::Entry> entries, std::optional<std::uint32_t> primary_id) {
    if (entries.empty()) refuse("is empty");
    if (!primary_id) refuse("does not name a primary key");
    std::vector<std::uint32_t> ids;
    for (const Keyset::Entry& entry : entries) ids.push_back(entry.key.id);
    std::sort(ids.begin(), ids.end());
    if (const auto twice = std::adjacent_find(ids.begin(), ids.end()); twice != ids.end()) {
        refuse("has two keys with the number " + std::to_string(*twice));
    }
    const auto primary = std::find_if(entries.begin(), entries.end(),
                                      [&](const Keyset::Entry& entry) { return entry.key.id == primary_id; });
    if (primary == entries.end()) refuse("its primary, key " + std::to_string(*primary_id) + ", is missing");
    if (primary->state != KeyState::enabled) refuse_key(*primary, "is the primary but not enabled");
}

}  // namespace warpaes::keyset_parts
