// A record in the form of submissions to the repository (bench/results/lab/submitted).
#pragma once

#include <string>

#include "lab/record.hpp"

namespace lab {

/// Returns the record with figures of six significant digits, without verdicts, which the rules make again, and without
/// the names of folders. A submission of a submission is identical. Throws RecordError, with a remedy, if the figures
/// cannot be traced to a commit, an experiment failed, or none was measured.
Record submission_of(const Record& record);

/// Returns the text of its file: JSON in one line.
std::string text_of_submission(const Record& submission);

/// "nvidia-h200-2026-11-23t062601z.json": the machine and the date, in letters, digits and "-".
std::string submission_file_name(const Record& record);

}  // namespace lab
