#include "format/keyset.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/kernel_random.hpp"
#include "format/keyset_parts.hpp"
#include "format/tink_key.hpp"

namespace warpaes {

namespace {

/// The largest file that can be read has room for far more keys, so every keyset that is written can also be read.
constexpr std::size_t most_keys = 1000;
constexpr std::size_t most_raw_bytes = 4096;

[[noreturn]] void refuse_id(std::uint32_t key_id, const std::string& why) {
    throw Error(WARPAES_ERROR_ARGUMENT, "key_id: key " + std::to_string(key_id) + " " + why);
}

Keyset::Entry make_entry(const StreamParameters& parameters, SecretVector key, std::uint32_t id) {
    Keyset::Entry entry;
    entry.key = {parameters, std::move(key), id};
    entry.data.type_url = parameters.format->tink_type;
    if (!entry.data.type_url.empty()) entry.data.value = serialize_tink_key(entry.key);
    return entry;
}

}  // namespace

Keyset Keyset::from_raw(std::string_view template_name, std::span<const std::uint8_t> key) {
    const StreamParameters& parameters = find_template(template_name).parameters;
    const bool exact = parameters.format->tink_type.empty();
    const std::size_t least = parameters.aes_key_bytes, most = exact ? least : most_raw_bytes;
    if (key.size() < least || key.size() > most) {
        std::string sentence = "key: " + std::string(template_name) + " requires " + (exact ? "" : "at least ") +
                               std::to_string(least) + " bytes, got " + std::to_string(key.size());
        if (exact && key.size() == 32) {
            sentence += "; warpaes 0.1 accepted 32 bytes, and only it can read files that it encrypted with such keys";
        }
        throw Error(WARPAES_ERROR_KEY_LENGTH, sentence);
    }
    Keyset keyset;
    keyset.insert(make_entry(parameters, SecretVector(key.begin(), key.end()), 1));
    return keyset;
}

Keyset Keyset::of(std::vector<Entry> entries, std::optional<std::uint32_t> primary_id) {
    keyset_parts::check_keys(entries, primary_id);
    Keyset keyset;
    keyset.entries_ = std::move(entries);
    keyset.primary_ = primary_id;
    if (keyset.usable().empty()) keyset_parts::refuse("has no enabled key for files (a key of Tink's streaming AEAD)");
    return keyset;
}

Keyset Keyset::locked(std::vector<Entry> entries, std::optional<std::uint32_t> primary_id) {
    Keyset keyset;
    keyset.entries_ = std::move(entries);
    keyset.primary_ = primary_id;
    keyset.locked_ = true;
    return keyset;
}

void Keyset::require_open() const {
    if (locked_) keyset_parts::refuse("is encrypted and was only listed; open it with its passphrase or its key");
}

std::uint32_t Keyset::add(std::string_view template_name) {
    require_open();
    const StreamParameters& parameters = find_template(template_name).parameters;
    if (entries_.size() >= most_keys) {
        throw Error(WARPAES_ERROR_KEYSET, "keyset: has " + std::to_string(most_keys) + " keys, which is the maximum");
    }
    std::uint32_t id = 0;
    const auto taken = [&](const Entry& entry) { return entry.key.id == id; };
    while (id == 0 || std::any_of(entries_.begin(), entries_.end(), taken)) {
        fill_from_kernel({reinterpret_cast<std::uint8_t*>(&id), sizeof id}, "key");
    }
    SecretVector key(parameters.aes_key_bytes);
    fill_from_kernel(key, "key");
    insert(make_entry(parameters, std::move(key), id));
    return id;
}

void Keyset::insert(Entry entry) {
    if (!primary_) primary_ = entry.key.id;
    entries_.push_back(std::move(entry));
}

Keyset::Entry& Keyset::find(std::uint32_t key_id) {
    require_open();
    const auto found =
        std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.key.id == key_id; });
    if (found == entries_.end()) refuse_id(key_id, "is not in the keyset");
    return *found;
}

void Keyset::promote(std::uint32_t key_id) {
    const Entry& entry = find(key_id);
    if (entry.state != KeyState::enabled) refuse_id(key_id, "is not enabled; enable it first");
    if (!entry.for_files) refuse_id(key_id, "is not a key for files");
    primary_ = key_id;
}

void Keyset::set_state(std::uint32_t key_id, KeyState state) {
    Entry& entry = find(key_id);
    if (key_id == primary_ && state != KeyState::enabled) {
        refuse_id(key_id, "is the primary; make another key the primary first");
    }
    if (entry.state == KeyState::destroyed && state != KeyState::destroyed) refuse_id(key_id, "is destroyed");
    entry.state = state;
    if (state == KeyState::destroyed) {
        entry.key = {{}, {}, key_id};
        entry.data.value = {};
        entry.for_files = false;
    }
}

void Keyset::remove(std::uint32_t key_id) {
    const Entry& entry = find(key_id);
    if (key_id == primary_) refuse_id(key_id, "is the primary; make another key the primary first");
    entries_.erase(entries_.begin() + (&entry - entries_.data()));
}

const StreamKey& Keyset::primary() const {
    require_open();
    for (const Entry& entry : entries_) {
        if (entry.key.id == primary_ && entry.usable()) return entry.key;
    }
    throw Error(WARPAES_ERROR_KEYSET,
                entries_.empty() ? "keyset: is empty" : "keyset: the primary key is not for files (streaming AEAD)");
}

std::vector<const StreamKey*> Keyset::usable() const {
    require_open();
    std::vector<const StreamKey*> keys;
    for (const Entry& entry : entries_) {
        if (entry.usable()) keys.insert(entry.key.id == primary_ ? keys.begin() : keys.end(), &entry.key);
    }
    for (const StreamKey& key : appended_) keys.push_back(&key);
    return keys;
}

void Keyset::extend(const Keyset& other) {
    std::vector<StreamKey> more;  // copied first, because `other` may be this keyset
    for (const StreamKey* key : other.usable()) more.push_back(*key);
    appended_.insert(appended_.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace warpaes
