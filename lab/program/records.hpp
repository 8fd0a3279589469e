// Commands that work on lab records: pages, verdicts, comparisons and submissions. They need neither a GPU nor kernels.
// `warpaes lab report`, `judge`, `compare` and `submit` are part of the command itself; the rest of the lab is a
// separate program.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "lab/record.hpp"

namespace cli {

/// Throws Failure if the file does not exist or is not a record.
lab::Record load_record(const std::string& path);
/// Writes the page of the first record, with the verdicts of all; "-" and /dev/stdout are the standard output. Throws
/// Failure.
void write_page(std::span<const lab::Record> records, const std::filesystem::path& path);
/// Prints a line for each paper: "[N] 12 conclusions: 7 hold, 4 in part, 1 does not, 0 open".
void print_tally(const lab::Record& record);

/// Returns the function of the command `name`, or nullptr unless it is one of these four commands.
using RecordCommand = int (*)(int argc, char** argv);
RecordCommand record_command(const char* name);

}  // namespace cli
