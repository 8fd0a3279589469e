// Searches this process's memory for patterns: blocks when they are freed, all writable memory, and the vector
// registers. The patterns and the tests' own data lie in an arena, which is not searched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace secrets {

using Bytes = std::span<const std::uint8_t>;

/// Returns zeroed memory in the arena, which is shared with child processes and never freed.
std::uint8_t* own(std::size_t bytes);

/// Adds a pattern of 8 to 64 bytes to all later searches.
void look_for(Bytes bytes, const std::string& name);

/// Removes all patterns.
void look_for_nothing();

/// Calls `work` in a separate process, so that `work` leaves no data in this process. Returns false on failure.
bool apart(const std::function<void()>& work);

/// Starts or stops the search of blocks when they are freed.
void watch_frees(bool on);

/// Searches all memory and returns the secrets that it finds: "… in freed memory: …" for blocks freed since the last
/// search, "… in a vector register", or "… at ADDRESS …".
std::vector<std::string> findings();

/// A thread that calls the library on its own stack. As soon as a call returns, the thread's registers are saved.
class Caller {
public:
    Caller();
    ~Caller();
    Caller(const Caller&) = delete;
    Caller& operator=(const Caller&) = delete;
    void call(const std::function<void()>& work);

private:
    struct State;
    State* state_;
};

}  // namespace secrets
