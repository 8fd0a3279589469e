// XTS messages: data units and their two keys.
#pragma once

#include "message/message.hpp"

namespace warpaes {

/// Throws Error{ARGUMENT, KEY_LENGTH, DATA_LENGTH} if the keys and the data units, as they are given, do not go
/// together, or with a message of so many bytes, which the caller knows as `length_name`; for another mode
/// Error{ARGUMENT} if there is any of it.
void check_xts(Mode mode, const ExpandedKey* key, const ExpandedKey* tweak_key, const DataUnits& given,
               std::uint64_t length, const char* length_name);
/// Throws Error{RANGE} if the range, which lies within the message, is not of whole data units.
void check_xts_range(const MessageRequest& request);

/// Throws Error{ARGUMENT, KEY_LENGTH} unless they are two different keys of AES-128 or of AES-256.
void check_xts_keys(const ExpandedKey& key, const ExpandedKey* tweak_key);

/// Throws Error{ARGUMENT} if the numbers of data units cannot grow by `step`, of which 0 stands for 1.
void check_xts_step(std::uint64_t step);

/// Data units as a caller describes them. `length`: of the message.
[[nodiscard]] constexpr DataUnits given_xts_units(std::uint64_t bytes, std::uint64_t step, std::uint64_t length) {
    return {bytes != 0 ? bytes : length, step != 0 ? step : 1};
}
[[nodiscard]] constexpr DataUnits xts_units_of(const MessageRequest& r) {
    return given_xts_units(r.data_unit_length, r.data_unit_step, r.input_length);
}

/// What a checked message asks for: its data units, or those of its range, which begin with unit `number`.
[[nodiscard]] MessageGroup xts_units(const MessageRequest& request, const Block& number);

}  // namespace warpaes
