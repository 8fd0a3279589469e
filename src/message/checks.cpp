#include "message/checks.hpp"

#include <string>

#include "base/error.hpp"

namespace warpaes {

namespace {

[[noreturn]] void refuse(warpaes_status status, const char* name, const std::string& allowed, std::uint64_t bytes) {
    throw Error(status, std::string(name) + ": " + allowed + ", got " + std::to_string(bytes));
}

}  // namespace

std::string names_of_tagged(bool for_contexts) {
    std::string names, last;
    for (const ModeTraits& mode : detail::mode_lines) {
        if (mode.tags == 0 || (for_contexts && mode.kind.contexts == Contexts::none)) continue;
        names += (names.empty() ? "" : ", ") + last;
        last = mode.name;
    }
    return names + " and " + last;
}

void refuse_mode(int mode) {
    if (is_composed(static_cast<Mode>(mode))) {
        throw Error(WARPAES_ERROR_ARGUMENT, std::string("mode: ") + traits_of(static_cast<Mode>(mode)).name +
                                                " is only for warpaes_crypt, which requires the complete message");
    }
    throw Error(WARPAES_ERROR_ARGUMENT, "mode: there is no mode " + std::to_string(mode));
}

void refuse_direction(int direction) {
    throw Error(WARPAES_ERROR_ARGUMENT,
                "direction: must be WARPAES_ENCRYPT or WARPAES_DECRYPT, got " + std::to_string(direction));
}

void refuse_fields(Mode mode, const ModeFields& given) {
    throw Error(WARPAES_ERROR_ARGUMENT,
                given.tagged && !uses_tag(mode)  ? "aad, tag: apply only to " + names_of_tagged(false)
                : given.siv && mode != Mode::siv ? "mac_key, aad_list, aad_count: apply only to SIV"
                                                 : "tweak_key, data_unit_len, data_unit_step: apply only to XTS");
}

void refuse_iv_length(const ModeTraits& mode, std::uint64_t bytes, const char* name) {
    refuse(WARPAES_ERROR_IV_LENGTH, name, mode.iv_lengths, bytes);
}

void refuse_tag_length(const ModeTraits& mode, std::uint64_t bytes) {
    refuse(WARPAES_ERROR_ARGUMENT, "tag_len", mode.tag_lengths, bytes);
}

void refuse_aad_length(const ModeTraits& mode, std::uint64_t bytes) {
    if (mode.most_aad == 0) {
        throw Error(WARPAES_ERROR_ARGUMENT, std::string("aad_len: ") + mode.name + " has no associated data");
    }
    refuse(WARPAES_ERROR_DATA_LENGTH, "aad_len", mode.longest_aad, bytes);
}

void refuse_text_length(const ModeTraits& mode, std::uint64_t bytes, const char* name) {
    refuse(WARPAES_ERROR_DATA_LENGTH, name, mode.text_lengths, bytes);
}

void refuse_longest_of_ccm(std::uint64_t bytes, std::uint64_t iv_bytes, const char* name) {
    refuse(WARPAES_ERROR_DATA_LENGTH, name,
           "at most " + std::to_string(ccm_most_bytes(iv_bytes)) + " bytes for CCM with an IV of " +
               std::to_string(iv_bytes),
           bytes);
}

void check_composed_length(Mode mode, Direction direction, std::uint64_t bytes) {
    const ModeTraits& traits = traits_of(mode);
    const bool encrypt = direction == Direction::encrypt;
    const std::uint64_t unit = encrypt ? traits.text_unit : traits.sealed_unit, growth = encrypt ? 0 : traits.growth;
    const std::uint64_t least = (encrypt ? traits.least_text : round_up(traits.least_text, unit)) + growth;
    const std::uint64_t most = (encrypt ? traits.most_text : round_up(traits.most_text, unit)) + growth;
    if (bytes >= least && bytes <= most && bytes % unit == 0) return;
    refuse(WARPAES_ERROR_DATA_LENGTH, "input_len", encrypt ? traits.text_lengths : traits.sealed_lengths, bytes);
}

void refuse_memory(const char* name) {
    throw Error(WARPAES_ERROR_RANGE, std::string(name) + ": extends past the end of the address space");
}

}  // namespace warpaes
