// Random numbers from a key's CTR key stream, in host or device memory (include/warpaes/numbers.h).
#pragma once

#include <optional>

#include "message/message.hpp"

namespace warpaes {

/// Executes a checked request, on a caller's stream if `stream` is given. Thread-safe. Throws Error{ARGUMENT},
/// Error{BACKEND}, Error{DEVICE}, Error{DEVICE_MEMORY} or Error{OUT_OF_MEMORY}.
void fill_numbers(Engine& engine, const NumbersRun& run, MessageResult& result,
                  std::optional<CallerStream> stream = std::nullopt);

}  // namespace warpaes
