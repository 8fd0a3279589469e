// Random numbers of a key's CTR key stream, in host or device memory (include/warpaes/numbers.h).
#pragma once

#include <optional>

#include "message/message.hpp"

namespace warpaes {

/// A checked request, on a caller's stream if there is one. Thread-safe. Throws Error{ARGUMENT, BACKEND, DEVICE,
/// DEVICE_MEMORY, OUT_OF_MEMORY}.
void fill_numbers(Engine& engine, const NumbersRun& run, MessageResult& result,
                  std::optional<CallerStream> stream = std::nullopt);

}  // namespace warpaes
