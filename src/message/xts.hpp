// XTS messages: data units and their two keys.
#pragma once

#include "message/message.hpp"

namespace warpaes {

/// Throws Error{ARGUMENT}, Error{KEY_LENGTH} or Error{DATA_LENGTH} if the keys and the given data units do not match
/// each other or a message of `length` bytes; `length_name` is the caller's name for the length. For any other mode,
/// throws Error{ARGUMENT} if any of these fields is set.
void check_xts(const ExpandedKey* key, const ExpandedKey* tweak_key, const DataUnits& given, std::uint64_t length,
               const char* length_name);
/// Throws Error{RANGE} unless the range, which must be within the message, consists of whole data units.
void check_xts_range(const Request& request);

/// Throws Error{ARGUMENT} or Error{KEY_LENGTH} unless the keys are two different AES-128 or AES-256 keys.
void check_xts_keys(const ExpandedKey& key, const ExpandedKey* tweak_key);

/// Whether two keys of the same length are different.
[[nodiscard]] bool xts_keys_differ(const ExpandedKey& key, const ExpandedKey& tweak_key) noexcept;

/// Throws Error{ARGUMENT} if `step` is too large an increment for data unit numbers; 0 means 1.
void check_xts_step(std::uint64_t step);

/// Returns the data units that a caller specifies, with the defaults filled in. `length` is the message length.
[[nodiscard]] constexpr DataUnits given_xts_units(std::uint64_t bytes, std::uint64_t step, std::uint64_t length) {
    return {bytes != 0 ? bytes : length, step != 0 ? step : 1};
}
[[nodiscard]] constexpr DataUnits xts_units_of(const MessageGroup& m) {
    return given_xts_units(m.data_units.bytes, m.data_units.step, m.length);
}

}  // namespace warpaes
