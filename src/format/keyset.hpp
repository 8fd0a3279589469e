// Tink's cleartext keysets: several keys, one of which is the primary key. Keysets are read and written as JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "format/stream_key.hpp"

namespace warpaes {

/// The values match `warpaes_key_state`.
enum class KeyState { enabled = 1, disabled = 2, destroyed = 3 };

class Keyset {
public:
    /// A key as stored in the keyset. It is written back as it was read, including parts that warpaes does not
    /// interpret.
    struct KeyData {
        std::string type_url;  ///< empty if Tink has no type for the key
        std::string material = "SYMMETRIC";
        std::string output_prefix = "RAW";  ///< keys for files have no prefix
        SecretVector value;
    };
    struct Entry {
        StreamKey key;  ///< for a key that is not for files and a destroyed key, only the ID is set
        KeyState state = KeyState::enabled;
        KeyData data{};
        bool for_files = true;  ///< false: a Tink key that is not for files, or a destroyed key; kept but not used

        [[nodiscard]] bool usable() const noexcept { return for_files && state == KeyState::enabled; }
    };

    /// Throws Error{KEYSET} if `json` is not a valid keyset; the message never quotes `json`.
    static Keyset parse(std::string_view json);
    /// Creates a keyset from interpreted entries. Throws Error{KEYSET} if they do not form a valid keyset.
    static Keyset of(std::vector<Entry> entries, std::optional<std::uint32_t> primary_id);
    /// Creates a keyset from the public part of an encrypted keyset. The result can only be inspected; any use or
    /// change throws.
    static Keyset locked(std::vector<Entry> entries, std::optional<std::uint32_t> primary_id);
    /// Creates a keyset with a single key, the primary key. Throws Error{ARGUMENT} or Error{KEY_LENGTH}.
    static Keyset from_raw(std::string_view template_name, std::span<const std::uint8_t> key);
    /// Throws Error{KEYSET} if the keyset is empty or contains keys that Tink's format cannot represent (C2SP).
    [[nodiscard]] SecretVector to_json() const;

    /// Adds a random key and returns its ID.
    std::uint32_t add(std::string_view template_name);
    void promote(std::uint32_t key_id);
    void set_state(std::uint32_t key_id, KeyState state);
    void remove(std::uint32_t key_id);

    /// Adds the keys of `other` to usable(), after this keyset's own keys. They are not in entries() and are not
    /// written.
    void extend(const Keyset& other);

    [[nodiscard]] std::span<const Entry> entries() const noexcept { return entries_; }
    [[nodiscard]] std::optional<std::uint32_t> primary_id() const noexcept { return primary_; }
    /// Returns the key for encryption. Throws Error{KEYSET} if no usable key is primary.
    [[nodiscard]] const StreamKey& primary() const;
    /// Returns the keys for decryption: the enabled keys, beginning with the primary key.
    [[nodiscard]] std::vector<const StreamKey*> usable() const;

private:
    /// Throws Error{KEYSET} if the keyset is locked.
    void require_open() const;
    Entry& find(std::uint32_t key_id);
    void insert(Entry entry);

    std::vector<Entry> entries_;
    std::vector<StreamKey> appended_;
    std::optional<std::uint32_t> primary_;
    bool locked_ = false;
};

}  // namespace warpaes
