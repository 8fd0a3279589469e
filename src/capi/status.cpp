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
    switch (status) {
    case WARPAES_OK:
        return "success";
    case WARPAES_ERROR_INTERNAL:
        return "internal error";
    case WARPAES_ERROR_ARGUMENT:
        return "invalid argument";
    case WARPAES_ERROR_KEY_LENGTH:
        return "wrong key length";
    case WARPAES_ERROR_IV_LENGTH:
        return "wrong IV length";
    case WARPAES_ERROR_DATA_LENGTH:
        return "data length not a multiple of the block";
    case WARPAES_ERROR_PADDING:
        return "wrong padding";
    case WARPAES_ERROR_BUFFER_TOO_SMALL:
        return "output buffer too small";
    case WARPAES_ERROR_OVERLAP:
        return "input and output overlap";
    case WARPAES_ERROR_RANGE:
        return "range outside the message";
    case WARPAES_ERROR_BACKEND:
        return "backend not available";
    case WARPAES_ERROR_OUT_OF_MEMORY:
        return "out of host memory";
    case WARPAES_ERROR_DEVICE_MEMORY:
        return "out of device memory";
    case WARPAES_ERROR_DEVICE:
        return "CUDA failure";
    case WARPAES_ERROR_STATE:
        return "called out of order";
    case WARPAES_ERROR_CANCELLED:
        return "cancelled";
    case WARPAES_ERROR_NOT_FOUND:
        return "input not found or not readable";
    case WARPAES_ERROR_EXISTS:
        return "output exists already";
    case WARPAES_ERROR_SAME_FILE:
        return "input and output are the same file";
    case WARPAES_ERROR_READ:
        return "read failure";
    case WARPAES_ERROR_WRITE:
        return "write failure";
    case WARPAES_ERROR_FORMAT:
        return "not the expected format";
    case WARPAES_ERROR_AUTHENTICATION:
        return "authentication failure: wrong key, wrong associated data, altered or cut off";
    case WARPAES_ERROR_KEYSET:
        return "keyset not usable";
    case WARPAES_ERROR_TIMEOUT:
        return "not finished yet";
    case WARPAES_ERROR_IV_REUSED:
        return "IV used twice with one key";
    }
    return "unknown status";
}

}  // extern "C"
