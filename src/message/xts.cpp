#include "message/xts.hpp"

#include <openssl/crypto.h>

#include <string>

#include "aes/xts.hpp"
#include "base/error.hpp"

namespace warpaes {

bool xts_keys_differ(const ExpandedKey& key, const ExpandedKey& tweak_key) noexcept {
    return CRYPTO_memcmp(key.bytes().data(), tweak_key.bytes().data(), key.bytes().size()) != 0;
}

void check_xts_keys(const ExpandedKey& key, const ExpandedKey* tweak_key) {
    if (tweak_key == nullptr) throw Error(WARPAES_ERROR_ARGUMENT, "tweak_key: is null; XTS requires two keys");
    const auto a = key.bytes(), b = tweak_key->bytes();
    for (const auto& [bytes, name] : {std::pair{a, "key"}, std::pair{b, "tweak_key"}}) {
        if (bytes.size() == 24) {
            throw Error(
                WARPAES_ERROR_KEY_LENGTH,
                std::string(name) + ": is an AES-192 key, which XTS (IEEE 1619) does not support; use 16 or 32 bytes");
        }
    }
    if (a.size() != b.size()) {
        throw Error(WARPAES_ERROR_KEY_LENGTH,
                    "tweak_key: has " + std::to_string(b.size()) + " bytes, but key has " + std::to_string(a.size()));
    }
    if (!xts_keys_differ(key, *tweak_key)) {
        throw Error(WARPAES_ERROR_ARGUMENT, "key, tweak_key: are equal, which makes XTS insecure");
    }
}

void check_xts_step(std::uint64_t step) {
    if (step <= xts_most_step) return;
    throw Error(WARPAES_ERROR_ARGUMENT,
                "data_unit_step: must be at most 2^20, or 0 for 1, got " + std::to_string(step));
}

void check_xts(const ExpandedKey* key, const ExpandedKey* tweak_key, const DataUnits& given, std::uint64_t length,
               const char* length_name) {
    check_xts_keys(*key, tweak_key);
    check_xts_step(given.step);
    const std::uint64_t unit = given_xts_units(given.bytes, given.step, length).bytes;
    if (given.bytes != 0 && !is_xts_unit(unit)) {
        throw Error(WARPAES_ERROR_ARGUMENT,
                    "data_unit_len: must be 16 to 2^24 bytes, or 0 for one unit, got " + std::to_string(unit));
    }
    if (!is_xts_unit(unit)) {
        throw Error(WARPAES_ERROR_DATA_LENGTH,
                    std::string(length_name) + ": a data unit must have 16 to 2^24 bytes, got " + std::to_string(unit) +
                        "; data_unit_len divides a message into several");
    }
    if (!is_whole_units(length, unit)) {
        throw Error(WARPAES_ERROR_DATA_LENGTH, std::string(length_name) + ": leaves " + std::to_string(length % unit) +
                                                   " bytes for the last data unit, which must have at least 16");
    }
}

void check_xts_range(const Request& r) {
    const std::uint64_t unit = xts_units_of(r.message).bytes, end = r.range->offset + r.range->length;
    if (r.range->offset % unit != 0 || (end % unit != 0 && end != r.message.length)) {
        throw Error(WARPAES_ERROR_RANGE, "range: must consist of complete data units of " + std::to_string(unit) +
                                             " bytes; got bytes " + std::to_string(r.range->offset) + " + " +
                                             std::to_string(r.range->length));
    }
}

}  // namespace warpaes
