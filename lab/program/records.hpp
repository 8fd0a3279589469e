// What the command does with records of the lab: pages, verdicts and comparisons, which need neither a GPU nor kernels.
// `warpaes lab report`, `judge` and `compare` are in the command itself, the rest of the lab in a program of its own.
#pragma once

#include <filesystem>
#include <string>

#include "lab/record.hpp"

namespace cli {

/// Throws Failure if there is no such file, or no record in it.
lab::Record load_record(const std::string& path);
/// Writes the page of a record; "-" and /dev/stdout are the standard output. Throws Failure.
void write_page(const lab::Record& record, const std::filesystem::path& path);
/// "[N] 12 conclusions: 7 hold, 4 in part, 1 does not, 0 open", a line for each paper.
void print_tally(const lab::Record& record);

int run_report(int argc, char** argv);
int run_judge(int argc, char** argv);
int run_compare(int argc, char** argv);

/// The command of that name, of the three; nullptr for another.
using RecordCommand = int (*)(int argc, char** argv);
RecordCommand record_command(const char* name);

}  // namespace cli
