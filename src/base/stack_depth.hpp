// How far down the stack has been in use, for clean_stack (clean_stack.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace warpaes {

/// Says that the stack is in use down to here, and `below` bytes further by functions that do not say it themselves.
/// For functions with kilobytes of locals, and around other people's functions.
void note_stack_depth(std::size_t below = 1024) noexcept;

/// What libcrypto takes at the most, looking up its algorithms included.
inline constexpr std::size_t libcrypto_stack = 4096;

/// What a table of the C++ library's takes to grow for the first time: it binds a symbol of the mathematical library
/// then, which saves the vector registers, with all that was in work, far down.
inline constexpr std::size_t tables_stack = 8192;

/// What the C++ library takes for files and their names. It binds its symbols when they are first called, which saves
/// vector registers far down.
inline constexpr std::size_t files_stack = 32768;

namespace detail {

/// The thread's note of the depth is put aside, and the call has none that is going on.
[[nodiscard]] std::uintptr_t leave_call() noexcept;
void return_to_call(std::uintptr_t deepest) noexcept;

}  // namespace detail

/// Calls the caller's `function`, which may go on on another stack or thread (coroutines) and make calls there: to
/// those this thread is in no call, and what they note of another stack is none of this one's depth.
template <typename Function>
decltype(auto) call_back(Function&& function) {
    struct Back {
        ~Back() { detail::return_to_call(deepest); }
        const std::uintptr_t deepest = detail::leave_call();
    } const back;
    return std::forward<Function>(function)();
}

}  // namespace warpaes
