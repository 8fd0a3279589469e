// Results as JSON, in the form of a record (docs/lab.md).
#pragma once

#include <nlohmann/json.hpp>

#include "lab/result.hpp"

namespace lab {

nlohmann::json to_json(const Result& result);
/// Throws RecordError.
Result result_from_json(const nlohmann::json& json);

}  // namespace lab
