// Errors inside the library: a single exception type, which the C ABI converts to a status and a message.
#pragma once

#include <stdexcept>
#include <string>

#include "warpaes/warpaes.h"

namespace warpaes {

class Error : public std::runtime_error {
public:
    Error(warpaes_status status, const std::string& sentence) : std::runtime_error(sentence), status_(status) {}
    [[nodiscard]] warpaes_status status() const noexcept { return status_; }

private:
    warpaes_status status_;
};

/// A fault in the data of a processed message: the data is not authentic, or its padding is wrong. A Refusal is a
/// result rather than an exception, because throwing takes 4 us, as long as processing 50 KiB of text, and anyone can
/// send such messages.
struct Refusal {
    warpaes_status status = WARPAES_OK;
    const char* sentence = nullptr;  ///< static storage; null: nothing is wrong

    explicit operator bool() const noexcept { return sentence != nullptr; }
};

/// Whether the GPU failed, so that the same work may succeed on another backend.
inline bool is_failure_of_device(const Error& e) {
    return e.status() == WARPAES_ERROR_DEVICE || e.status() == WARPAES_ERROR_DEVICE_MEMORY;
}

}  // namespace warpaes
