// Errors inside the library: one exception type, which the C ABI turns into a status and a sentence.
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

}  // namespace warpaes
