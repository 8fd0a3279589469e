// Shared code of `warpaes plan` and related commands: names, and the library's predictions as JSON.
#pragma once

#include <warpaes/planning.h>

#include <nlohmann/json.hpp>

#include "command.hpp"

namespace cli {

/// Throws UsageError if there is no such mode or memory.
warpaes_mode mode_named(const std::string& name);
warpaes_memory memory_named(const std::string& name);

/// 0.00123 as "1.23 ms".
std::string human_seconds(double seconds);

nlohmann::json predictions_of(warpaes_engine* engine, const warpaes_work& work);
nlohmann::json plan_of(warpaes_engine* engine, const warpaes_work& work);

}  // namespace cli
