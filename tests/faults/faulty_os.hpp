// Replacements for the system calls in src/base/os.hpp, which fail on request. The tests in this folder link them.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>

namespace faults {

enum class Effect {
    fail,      ///< returns -1 with `error` and does nothing
    one_byte,  ///< reads or writes one byte of the request
    half,      ///< reads or writes half of the request
    end,       ///< a read returns the end of the file; a poll finds nothing ready
    slow,      ///< takes three milliseconds
    raise      ///< the process sends itself signal `error` before the call
};

inline constexpr unsigned for_ever = std::numeric_limits<unsigned>::max();

struct Injection {
    std::string call;  ///< a name in os.hpp; "*" matches any call
    unsigned nth = 1;  ///< counted from 1 since inject()
    Effect effect = Effect::fail;
    int error = 0;
    unsigned times = 1;
};

/// Removes all injections and sets all counts to 0.
void reset();
/// Adds an injection. WARPAES_FAULT="pwrite:3:fail:28" injects a fault from outside the process. Its fields are call,
/// nth, effect (fail, one_byte, half, end, slow or raise) and error.
void inject(const Injection& injection);
/// Returns the number of calls since the last reset, by name. "*" counts all calls.
std::map<std::string, unsigned> counts();
/// Returns whether any injection has taken effect since the last reset.
bool happened();
/// Returns whether, since the last reset, anything was written to a file that was created with permissions for other
/// users. Such users may have opened the file before the permissions were removed.
bool exposed();
/// Returns the names of files that were renamed since the last reset.
std::set<std::string> earlier_names();

}  // namespace faults
