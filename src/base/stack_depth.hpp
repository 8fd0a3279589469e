// Records how deep the stack has been used, for clean_stack (clean_stack.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace warpaes {

/// Records that the stack is in use down to this call, plus `below` bytes for callees that do not record their own
/// depth. Used in functions with kilobytes of locals, and around calls into other libraries.
void note_stack_depth(std::size_t below = 1024) noexcept;

/// The maximum stack size in bytes that libcrypto uses, including the lookup of algorithms.
inline constexpr std::size_t libcrypto_stack = 4096;

/// Stack size that a hash table of the C++ library uses to grow for the first time: it then binds a symbol of the math
/// library, which saves the vector registers, including the data in them, far down the stack.
inline constexpr std::size_t tables_stack = 8192;

/// Stack size that the C++ library uses for files and file names. It binds its symbols at their first call, which saves
/// vector registers far down the stack.
inline constexpr std::size_t files_stack = 32768;

namespace detail {

/// Returns and clears the thread's recorded depth, so that no call counts as in progress; return_to_call() restores the
/// depth.
[[nodiscard]] std::uintptr_t leave_call() noexcept;
void return_to_call(std::uintptr_t deepest) noexcept;

}  // namespace detail

/// Calls the caller's `function`, which may continue on another stack or thread (coroutines) and make calls there.
/// During those calls, this thread counts as being outside any call, so depths recorded on another stack are not mixed
/// with the depth of this stack.
template <typename Function>
decltype(auto) call_back(Function&& function) {
    struct Back {
        ~Back() { detail::return_to_call(deepest); }
        const std::uintptr_t deepest = detail::leave_call();
    } const back;
    return std::forward<Function>(function)();
}

}  // namespace warpaes
