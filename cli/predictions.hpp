// Code shared by `warpaes plan` and related commands: names of modes and memory, and the library's predictions as JSON.
#pragma once

#include <warpaes/planning.h>

#include <nlohmann/json.hpp>

#include "command.hpp"

namespace cli {

/// These functions return the mode or the memory called `name`, and throw UsageError if the name is unknown.
warpaes_mode mode_named(const std::string& name);
warpaes_memory memory_named(const std::string& name);

/// Formats 0.00123 as "1.23 ms".
std::string human_seconds(double seconds);

nlohmann::json predictions_of(warpaes_engine* engine, const warpaes_work& work);
nlohmann::json plan_of(warpaes_engine* engine, const warpaes_work& work);

}  // namespace cli
