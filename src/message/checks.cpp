#include "message/checks.hpp"

#include <string>

#include "base/error.hpp"

namespace warpaes {

namespace {

[[noreturn]] void refuse(warpaes_status status, const char* name, const std::string& allowed, std::uint64_t bytes) {
    throw Error(status, std::string(name) + ": " + allowed + ", got " + std::to_string(bytes));
}

}  // namespace

void refuse_mode(int mode) {
    throw Error(WARPAES_ERROR_ARGUMENT, "mode: there is no mode " + std::to_string(mode));
}

void refuse_direction(int direction) {
    throw Error(WARPAES_ERROR_ARGUMENT,
                "direction: must be WARPAES_ENCRYPT or WARPAES_DECRYPT, got " + std::to_string(direction));
}

void refuse_iv_length(Mode mode, std::uint64_t bytes, const char* name) {
    if (mode == Mode::gcm) {
        refuse(WARPAES_ERROR_IV_LENGTH, name, "must be 1 to 2^61 - 1 bytes for GCM, best 12", bytes);
    }
    if (mode == Mode::ccm) refuse(WARPAES_ERROR_IV_LENGTH, name, "must be 7 to 13 bytes for CCM", bytes);
    refuse(WARPAES_ERROR_IV_LENGTH, name,
           "must be " + std::to_string(uses_iv(mode) ? block_bytes : 0) + " bytes for this mode", bytes);
}

void refuse_tag_length(Mode mode, std::uint64_t bytes) {
    refuse(WARPAES_ERROR_ARGUMENT, "tag_len",
           mode == Mode::gcm   ? "must be 16, 15, 14, 13, 12, 8 or 4 bytes"
           : mode == Mode::ccm ? "must be 4, 6, 8, 10, 12, 14 or 16 bytes for CCM"
                               : "must be 4 to 16 bytes for CMAC",
           bytes);
}

void refuse_aad_length(Mode mode, std::uint64_t bytes) {
    if (mode == Mode::cmac) throw Error(WARPAES_ERROR_ARGUMENT, "aad_len: CMAC has no associated data");
    refuse(WARPAES_ERROR_DATA_LENGTH, "aad_len", "at most 2^61 - 1 bytes", bytes);
}

void refuse_longest(Mode mode, std::uint64_t bytes, std::uint64_t iv_bytes, const char* name) {
    if (bytes > (std::uint64_t{1} << 60)) refuse(WARPAES_ERROR_DATA_LENGTH, name, "at most 2^60 bytes", bytes);
    if (mode == Mode::gcm) refuse(WARPAES_ERROR_DATA_LENGTH, name, "at most 2^36 - 32 bytes for GCM", bytes);
    refuse(WARPAES_ERROR_DATA_LENGTH, name,
           "at most " + std::to_string(ccm_most_bytes(iv_bytes)) + " bytes for CCM with an IV of " +
               std::to_string(iv_bytes),
           bytes);
}

void refuse_memory(const char* name) {
    throw Error(WARPAES_ERROR_RANGE, std::string(name) + ": reaches beyond the end of memory");
}

}  // namespace warpaes
