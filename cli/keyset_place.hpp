// Places of keysets (src/places). Errors of that code are converted to failures of the command.
#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"
#include "command.hpp"
#include "places/place.hpp"

namespace cli {

using warpaes::places::KeysetPlace;

/// Runs `call`. Converts an Error from the library's code to a Failure.
template <typename Call>
decltype(auto) as_command(Call&& call) {
    try {
        return call();
    } catch (const warpaes::Error& error) {
        if (error.status() == WARPAES_ERROR_ARGUMENT) throw UsageError(error.what());
        throw Failure(error.status(), error.what());
    }
}

/// Parses the value of `option`. Throws UsageError, whose message repeats nothing that may be secret.
inline KeysetPlace parse_keyset_place(const std::string& option, std::string_view place) {
    return as_command([&] { return warpaes::places::parse_keyset_place(option, place); });
}

}  // namespace cli
