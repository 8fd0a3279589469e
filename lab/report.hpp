// The record of a run as a web page: one self-contained file that needs no network and no library.
#pragma once

#include <string>

#include "lab/record.hpp"

namespace lab {

/// The page, UTF-8. It contains the whole record as JSON in a script element; the page's own script draws it.
std::string report_page(const Record& record);

}  // namespace lab
