// What is printed for programs: JSON.
#pragma once

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

namespace cli {

/// With a newline; indented, if `indent` says by how much. What is not UTF-8 is replaced by U+FFFD.
void print_json(const nlohmann::json& record, int indent = -1, std::FILE* to = stdout);

/// A record that is also stored in a file, `path`; "" for none. Refuses, before anything is measured, to overwrite a
/// file without `force`.
class RecordFile {
public:
    RecordFile(std::string path, bool force);
    void store(const nlohmann::json& record) const;

private:
    [[noreturn]] void refuse() const;

    std::string path_;
    bool force_;
};

/// Names of files are bytes: one that is not UTF-8 is there in hexadecimal digits too, under `field` + "_hex".
void put_name(nlohmann::json& record, const std::string& field, const std::string& name);

}  // namespace cli
