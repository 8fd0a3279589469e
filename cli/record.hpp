// JSON output for other programs.
#pragma once

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

namespace cli {

/// Prints a record and a newline. `indent` is the number of spaces per level; if negative, the record is printed on one
/// line. Bytes that are not UTF-8 are replaced with U+FFFD.
void print_json(const nlohmann::json& record, int indent = -1, std::FILE* to = stdout);

/// A record that is also stored in the file `path`, unless it is "". Without `force`, the constructor refuses an
/// existing file, before anything is measured.
class RecordFile {
public:
    RecordFile(std::string path, bool force);
    void store(const nlohmann::json& record) const;

private:
    [[noreturn]] void refuse() const;

    std::string path_;
    bool force_;
};

/// Stores a file name in a record. A name that is not UTF-8 is also stored in hexadecimal digits, in the field `field`
/// + "_hex".
void put_name(nlohmann::json& record, const std::string& field, const std::string& name);

}  // namespace cli
