// Tink's protobuf message Keyset, which is the plaintext of an encrypted keyset.
#pragma once

#include <cstdint>
#include <span>

#include "base/secret.hpp"
#include "format/keyset.hpp"

namespace warpaes {

SecretVector serialize_message(const Keyset& keyset);
/// Throws Error{KEYSET}.
Keyset parse_message(std::span<const std::uint8_t> message);

}  // namespace warpaes
