// A run's record as a page to read: one file that needs nothing else, no network and no library.
#pragma once

#include <string>

#include "lab/record.hpp"

namespace lab {

/// The page, UTF-8. It holds the whole record, as JSON in a script element, from which a script of its own draws it.
std::string report_page(const Record& record);

}  // namespace lab
