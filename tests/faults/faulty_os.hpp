// Replacements for the system calls of src/base/os.hpp that fail on request. The tests in this folder link
// them.
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
    half,      ///< half of it
    end,       ///< a read finds the end of the file, a poll nothing that is ready
    slow,      ///< takes three milliseconds
    raise      ///< the process sends itself signal `error` before the call
};

inline constexpr unsigned for_ever = std::numeric_limits<unsigned>::max();

struct Injection {
    std::string call;  ///< as in os.hpp; "*": whichever it is
    unsigned nth = 1;  ///< counted from 1, from inject() on
    Effect effect = Effect::fail;
    int error = 0;
    unsigned times = 1;
};

/// Drops the injections and sets all counts to 0.
void reset();
/// WARPAES_FAULT="pwrite:3:fail:28" sets it from outside: call, nth, effect (fail, one_byte, half, end, slow, raise),
/// error.
void inject(const Injection& injection);
/// Calls since the last reset, by name; "*": of all.
std::map<std::string, unsigned> counts();
/// Whether any injection had its effect since the last reset.
bool happened();
/// Whether anything was written since then to a file that was created with permissions for others: they may have opened
/// it before the permissions were removed.
bool exposed();
/// Since then, the names of files that got others.
std::set<std::string> earlier_names();

}  // namespace faults
