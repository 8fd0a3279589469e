// A directory with an input and an output of some kind, and checks of the files that a run leaves.
#pragma once

#include <optional>
#include <string>

#include "cases.hpp"
#include "folder.hpp"

namespace faults {

/// One case with one kind of input and one kind of output.
struct Work {
    const Case* work;
    EndKind ends;
};
std::vector<Work> all_work();
std::string name_of(const Work& work);

/// The outcome of a run.
struct Result {
    warpaes_status status = WARPAES_OK;
    std::uint32_t notes = 0;
    std::string sentence;
    std::optional<Bytes> output;  ///< empty if the file does not exist
    bool left_over = false;       ///< whether a new file other than the output remains
    bool position_right = true;   ///< whether a shared descriptor is positioned after the output
};

class Stage {
public:
    explicit Stage(EndKind ends);

    [[nodiscard]] Result run(const Case& c, warpaes_engine* engine);
    /// Returns "" if `result` is the whole output, or an error without output. Otherwise, returns a description of the
    /// fault.
    [[nodiscard]] std::string fault_in(const Case& c, const Result& result) const;

private:
    [[nodiscard]] Result run_on_files(const Case& c, warpaes_engine* engine) const;
    [[nodiscard]] Result run_on_descriptors(const Case& c, warpaes_engine* engine) const;
    [[nodiscard]] Result run_on_pipes(const Case& c, warpaes_engine* engine) const;
    [[nodiscard]] Result run_into_memory(const Case& c, warpaes_engine* engine) const;
    [[nodiscard]] std::string path(const char* name) const { return folder_ / name; }

    EndKind ends_;
    oracle::Folder folder_;
    Bytes old_;  ///< the content of the file that is replaced
};

}  // namespace faults
