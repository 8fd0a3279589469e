// Renders the record of a run as a web page: a single self-contained file that needs no network or library.
#pragma once

#include <span>
#include <string>

#include "lab/record.hpp"

namespace lab {

/// Returns the page of the first record, UTF-8. It contains the whole record as JSON in a script element; the page's
/// own script draws it. With more than one record, it also shows the verdicts of all records side by side.
std::string report_page(std::span<const Record> records);

}  // namespace lab
