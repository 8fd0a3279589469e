#include "message/checks.hpp"

#include <string>

#include "aes/cmac.hpp"
#include "aes/ghash.hpp"
#include "base/error.hpp"

namespace warpaes {

namespace {

[[noreturn]] void refuse(warpaes_status status, const char* name, const std::string& allowed, std::uint64_t bytes) {
    throw Error(status, std::string(name) + ": " + allowed + ", got " + std::to_string(bytes));
}

}  // namespace

void check_iv_length(Mode mode, std::uint64_t bytes, const char* name) {
    if (mode == Mode::gcm) {
        if (bytes != 0 && bytes <= gcm_most_aad_bytes) return;
        refuse(WARPAES_ERROR_IV_LENGTH, name, "must be 1 to 2^61 - 1 bytes for GCM, best 12", bytes);
    }
    if (mode == Mode::ccm) {
        if (is_ccm_nonce_length(bytes)) return;
        refuse(WARPAES_ERROR_IV_LENGTH, name, "must be 7 to 13 bytes for CCM", bytes);
    }
    const std::uint64_t wanted = uses_iv(mode) ? block_bytes : 0;
    if (bytes != wanted) {
        refuse(WARPAES_ERROR_IV_LENGTH, name, "must be " + std::to_string(wanted) + " bytes for this mode", bytes);
    }
}

void check_tag_length(Mode mode, std::uint64_t bytes) {
    constexpr const char* name = "tag_len";
    if (mode == Mode::gcm && !is_gcm_tag_length(bytes)) {
        refuse(WARPAES_ERROR_ARGUMENT, name, "must be 16, 15, 14, 13, 12, 8 or 4 bytes", bytes);
    }
    if (mode == Mode::ccm && !is_ccm_tag_length(bytes)) {
        refuse(WARPAES_ERROR_ARGUMENT, name, "must be 4, 6, 8, 10, 12, 14 or 16 bytes for CCM", bytes);
    }
    if (mode == Mode::cmac && (bytes < 4 || bytes > block_bytes)) {
        refuse(WARPAES_ERROR_ARGUMENT, name, "must be 4 to 16 bytes for CMAC", bytes);
    }
}

void check_aad_length(Mode mode, std::uint64_t bytes) {
    if (mode == Mode::cmac && bytes != 0) {
        throw Error(WARPAES_ERROR_ARGUMENT, "aad_len: CMAC has no associated data");
    }
    if (bytes > gcm_most_aad_bytes) {
        refuse(WARPAES_ERROR_DATA_LENGTH, "aad_len", "at most 2^61 - 1 bytes", bytes);
    }
}

void check_longest(Mode mode, std::uint64_t bytes, std::uint64_t iv_bytes, const char* name) {
    if (bytes > (std::uint64_t{1} << 60)) refuse(WARPAES_ERROR_DATA_LENGTH, name, "at most 2^60 bytes", bytes);
    if (mode == Mode::gcm && bytes > gcm_most_bytes) {
        refuse(WARPAES_ERROR_DATA_LENGTH, name, "at most 2^36 - 32 bytes for GCM", bytes);
    }
    if (mode == Mode::ccm && bytes > ccm_most_bytes(iv_bytes)) {
        refuse(WARPAES_ERROR_DATA_LENGTH, name,
               "at most " + std::to_string(ccm_most_bytes(iv_bytes)) + " bytes for CCM with an IV of " +
                   std::to_string(iv_bytes),
               bytes);
    }
}

void check_memory(const void* begin, std::uint64_t bytes, const char* name) {
    constexpr std::uint64_t most = std::uint64_t{1} << 56;  // what a program has on any processor
    if (bytes <= most && bytes <= UINTPTR_MAX - reinterpret_cast<std::uintptr_t>(begin)) return;
    throw Error(WARPAES_ERROR_RANGE, std::string(name) + ": reaches beyond the end of memory");
}

}  // namespace warpaes
