// `warpaes plan --grid`: how good the library's choices are, measured.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cli {

struct GridOptions {
    std::uint64_t most_bytes = 0;  ///< of a point, all messages together; 0: what memory allows, up to 1 GiB
    std::vector<unsigned> key_bits{128};
    std::vector<std::string> modes;   ///< empty: all five
    std::vector<std::string> places;  ///< empty: all that there are
    unsigned threads = 0;
    double seconds = 2e-3;  ///< about how long a sample takes, at least a call
    bool as_json = false;
    std::string output;  ///< also store the JSON there
    bool force = false;  ///< over what is there
};

int run_grid(const GridOptions& options);

}  // namespace cli
