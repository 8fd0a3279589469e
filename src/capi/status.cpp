#include <array>
#include <cstdio>

#include "capi/guard.hpp"

namespace warpaes::capi {

namespace {
// A fixed buffer: remembering an error must not fail.
thread_local char last_error[1024] = "";
}  // namespace

void remember_error(const char* sentence) noexcept {
    std::snprintf(last_error, sizeof last_error, "%s", sentence);
}

void write_error(warpaes_status status, char* error) noexcept {
    std::snprintf(error, WARPAES_ERROR_BYTES, "%.*s", WARPAES_ERROR_BYTES - 1, status == WARPAES_OK ? "" : last_error);
}

void refuse_unknown_flags(std::uint32_t flags, std::uint32_t known) {
    if ((flags & ~known) != 0) throw Error(WARPAES_ERROR_ARGUMENT, "flags: has bits that this version does not know");
}

Memory checked_memory(warpaes_memory memory) {
    switch (memory) {
    case WARPAES_MEMORY_PAGEABLE:
        return Memory::pageable;
    case WARPAES_MEMORY_PAGE_LOCKED:
    case WARPAES_MEMORY_SHARED:
        return Memory::page_locked;
    case WARPAES_MEMORY_DEVICE:
        return Memory::device;
    }
    throw Error(WARPAES_ERROR_ARGUMENT, "memory: there is no memory " + std::to_string(static_cast<int>(memory)));
}

}  // namespace warpaes::capi

extern "C" {

const char* warpaes_version(void) {
    return WARPAES_VERSION;
}

uint32_t warpaes_abi_version(void) {
    return WARPAES_ABI_VERSION;
}

const char* warpaes_last_error(void) {
    return warpaes::capi::last_error;
}

const char* warpaes_status_message(warpaes_status status) {
    // Indexed by status.
    static constexpr std::array sentences{
        "success",
        "internal error",
        "invalid argument",
        "wrong key length",
        "wrong IV length",
        "data length not a multiple of the block",
        "wrong padding",
        "output buffer too small",
        "input and output overlap",
        "range outside the message",
        "backend not available",
        "out of host memory",
        "out of device memory",
        "CUDA failure",
        "called out of order",
        "cancelled",
        "input not found or not readable",
        "output exists already",
        "input and output are the same file",
        "read failure",
        "write failure",
        "not the expected format",
        "authentication failure: wrong key, wrong associated data, altered or cut off",
        "keyset not usable",
        "not finished yet",
        "IV used twice with one key"};
    static_assert(sentences.size() == WARPAES_ERROR_IV_REUSED + 1);
    const auto value = static_cast<std::size_t>(status);
    return value < sentences.size() ? sentences[value] : "unknown status";
}

}  // extern "C"
