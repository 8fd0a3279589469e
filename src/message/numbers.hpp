// Random numbers from the CTR key stream of a key, in host or device memory (include/warpaes/numbers.h).
#pragma once

#include <optional>

#include "message/message.hpp"

namespace warpaes {

/// Executes a checked request, on a caller's stream if one is given. Thread-safe. Throws Error{ARGUMENT, BACKEND,
/// DEVICE, DEVICE_MEMORY, OUT_OF_MEMORY}.
void fill_numbers(Engine& engine, const NumbersRun& run, MessageResult& result,
                  std::optional<CallerStream> stream = std::nullopt);

}  // namespace warpaes
