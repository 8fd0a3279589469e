// Checks of a message's fields: the values of the C enums, and the lengths that a mode allows. Single messages,
// contexts and batches share these checks; `name` is the caller's name for the length. The inline checks are a few
// comparisons that accept valid values; the out-of-line `refuse_` functions determine the fault and throw.
#pragma once

#include <cstdint>
#include <string>

#include "aes/cmac.hpp"
#include "aes/types.hpp"
#include "base/error.hpp"

namespace warpaes {

inline constexpr Refusal wrong_padding{
    WARPAES_ERROR_PADDING, "input: the padding is wrong, so the key or the IV is wrong or the data is damaged"};

inline constexpr Refusal wrong_tag{
    WARPAES_ERROR_AUTHENTICATION,
    "tag: is wrong, so the key, the IV or the associated data is wrong or the data was altered"};

/// Returns the names of the modes with a tag: "GCM, CCM and CMAC". `for_contexts` omits modes without context support.
std::string names_of_tagged(bool for_contexts);
[[noreturn]] void refuse_mode(int mode);
[[noreturn]] void refuse_direction(int direction);
[[noreturn]] void refuse_iv_length(const ModeTraits& mode, std::uint64_t bytes, const char* name);
[[noreturn]] void refuse_tag_length(const ModeTraits& mode, std::uint64_t bytes);
[[noreturn]] void refuse_aad_length(const ModeTraits& mode, std::uint64_t bytes);
[[noreturn]] void refuse_memory(const char* name);
[[noreturn]] void refuse_text_length(const ModeTraits& mode, std::uint64_t bytes, const char* name);
[[noreturn]] void refuse_longest_of_ccm(std::uint64_t bytes, std::uint64_t iv_bytes, const char* name);

/// Accepts a mode that backends implement, for batches, contexts and asynchronous calls. Throws Error{ARGUMENT} for an
/// unknown mode and for a mode that is composed of other modes.
inline Mode checked_mode(warpaes_mode mode) {
    if (!is_backend_mode(mode)) refuse_mode(mode);
    return static_cast<Mode>(mode);
}

/// Accepts every mode. Throws Error{ARGUMENT} for an unknown mode.
inline Mode checked_message_mode(warpaes_mode mode) {
    return is_composed(static_cast<Mode>(mode)) ? static_cast<Mode>(mode) : checked_mode(mode);
}

inline Direction checked_direction(warpaes_direction direction) {
    if (direction != WARPAES_ENCRYPT && direction != WARPAES_DECRYPT) refuse_direction(direction);
    return static_cast<Direction>(direction);
}

/// The fields that only some modes use. A member is true if the caller set one of its fields to a value other than 0 or
/// null.
struct ModeFields {
    bool tagged = false;      ///< aad, aad_len, tag, tag_len; in a batch entry, only the lengths are considered
    bool data_units = false;  ///< tweak_key, data_unit_len, data_unit_step
    bool siv = false;         ///< mac_key, aad_list, aad_count
};
[[noreturn]] void refuse_fields(Mode mode, const ModeFields& given);

/// Throws Error{ARGUMENT} if the caller set a field that `mode` does not use. For messages, entries and contexts.
inline void check_fields(Mode mode, const ModeFields& given) {
    const bool units = mode == Mode::xts, siv = mode == Mode::siv, tagged = uses_tag(mode);
    if ((given.tagged && !tagged) || (given.data_units && !units) || (given.siv && !siv)) refuse_fields(mode, given);
}

/// Throws Error{IV_LENGTH} if the mode does not accept IVs of this length.
inline void check_iv_length(Mode mode, std::uint64_t bytes, const char* name) {
    const ModeTraits& traits = traits_of(mode);
    const bool right = (bytes >= traits.least_iv && bytes <= traits.most_iv) || (traits.iv_optional && bytes == 0);
    if (!right) refuse_iv_length(traits, bytes, name);
}

/// Throws Error{ARGUMENT} if the mode does not accept tags of this length. Only for a mode with tags.
inline void check_tag_length(Mode mode, std::uint64_t bytes) {
    const ModeTraits& traits = traits_of(mode);
    if (bytes > block_bytes || (traits.tags >> bytes & 1) == 0) refuse_tag_length(traits, bytes);
}

/// Throws Error{ARGUMENT} if the mode has no associated data (CMAC), and Error{DATA_LENGTH} if there is too much. Only
/// for a mode with tags.
inline void check_aad_length(Mode mode, std::uint64_t bytes) {
    const ModeTraits& traits = traits_of(mode);
    if (bytes > traits.most_aad) refuse_aad_length(traits, bytes);
}

/// Throws Error{RANGE} if the buffer would extend past the end of the address space, so that it cannot exist.
inline void check_memory(const void* begin, std::uint64_t bytes, const char* name) {
    constexpr std::uint64_t most = std::uint64_t{1} << 56;  // more than a program can address on any processor
    if (bytes > most || bytes > UINTPTR_MAX - reinterpret_cast<std::uintptr_t>(begin)) refuse_memory(name);
}

/// Checks the length against the longest message that a mode allows; CCM's limit depends on `iv_bytes`. Throws
/// Error{DATA_LENGTH}.
inline void check_longest(Mode mode, std::uint64_t bytes, std::uint64_t iv_bytes, const char* name) {
    const ModeTraits& traits = traits_of(mode);
    if (bytes > traits.most_text) refuse_text_length(traits, bytes, name);
    if (mode == Mode::ccm && bytes > ccm_most_bytes(iv_bytes)) refuse_longest_of_ccm(bytes, iv_bytes, name);
}

constexpr std::uint64_t round_up(std::uint64_t bytes, std::uint64_t unit) {
    return (bytes + unit - 1) / unit * unit;
}

/// Checks the length for a composed mode, where plaintexts and ciphertexts have different limits. Throws
/// Error{DATA_LENGTH}.
void check_composed_length(Mode mode, Direction direction, std::uint64_t bytes);

}  // namespace warpaes
