// What a call leaves behind where nobody owns it: round keys that the compiler spilled, blocks in work in frames that
// are gone, and the vector registers, which a caller's lazily bound symbols save on the stack. It is overwritten in one
// place, where a call or a task of a thread ends, as far down as the stack was in use.
#pragma once

#include <cstddef>
#include <utility>

#include "base/stack_depth.hpp"

namespace warpaes {

/// How far down the stack is overwritten at the least: what functions use that have no large locals.
inline constexpr std::size_t usual_stack = 2048;

namespace detail {

/// Whether this thread has begun nothing yet that will be cleaned up after.
[[nodiscard]] bool begin_clean_stack(std::size_t least) noexcept;
/// Overwrites what is dead now.
void end_clean_stack() noexcept;

template <typename Work>
[[gnu::noinline]] decltype(auto) in_a_frame_of_its_own(Work&& work) {
    return std::forward<Work>(work)();
}

}  // namespace detail

/// `work()`, of which nothing stays on the stack and in vector registers. Within itself it is just the call. `least`:
/// how far down it is overwritten whatever is noted; less only for work that notes all that it uses.
template <typename Work>
decltype(auto) clean_stack(Work&& work, std::size_t least = usual_stack) {
    struct End {
        ~End() {
            if (outermost) detail::end_clean_stack();
        }
        const bool outermost;
    } const end{detail::begin_clean_stack(least)};
    return detail::in_a_frame_of_its_own(std::forward<Work>(work));
}

}  // namespace warpaes
