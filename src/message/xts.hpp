// XTS messages: data units and their two keys.
#pragma once

#include "message/message.hpp"

namespace warpaes {

/// Throws Error{ARGUMENT, KEY_LENGTH, DATA_LENGTH, RANGE} if the keys, the data units and the range, which lies within
/// the message, do not go together; for another mode Error{ARGUMENT} if there are fields of XTS.
void check_xts(const MessageRequest& request);

/// Throws Error{ARGUMENT, KEY_LENGTH} unless they are two different keys of AES-128 or of AES-256.
void check_xts_keys(const ExpandedKey& key, const ExpandedKey* tweak_key);

/// Bytes of a data unit of a message.
[[nodiscard]] constexpr std::uint64_t xts_unit(const MessageRequest& r) {
    return r.data_unit_length != 0 ? r.data_unit_length : r.input_length;
}

/// What a checked message asks for: its data units, or those of its range, which begin with unit `number`.
[[nodiscard]] MessageGroup xts_units(const MessageRequest& request, const Block& number);

}  // namespace warpaes
