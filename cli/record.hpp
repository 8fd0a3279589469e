// What is printed for programs: JSON.
#pragma once

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

namespace cli {

/// With a newline; indented, if `indent` says by how much. What is not UTF-8 is replaced by U+FFFD.
void print_json(const nlohmann::json& record, int indent = -1, std::FILE* to = stdout);

/// Names of files are bytes: one that is not UTF-8 is there in hexadecimal digits too, under `field` + "_hex".
void put_name(nlohmann::json& record, const std::string& field, const std::string& name);

}  // namespace cli
