// What a call leaves behind where nobody owns it: round keys that the compiler spilled, blocks in work in frames that
// are gone, and the vector registers, which a caller's lazily bound symbols save on the stack. It is overwritten in one
// place, where a call or a task of a thread ends, as far down as the stack was in use.
#pragma once

#include <utility>

#include "base/stack_depth.hpp"

namespace warpaes {

namespace detail {

/// Whether this thread has begun nothing yet that will be cleaned up after.
[[nodiscard]] bool begin_clean_stack() noexcept;
/// Overwrites what is dead now.
void end_clean_stack() noexcept;

template <typename Work>
[[gnu::noinline]] decltype(auto) in_a_frame_of_its_own(Work&& work) {
    return std::forward<Work>(work)();
}

}  // namespace detail

/// `work()`, of which nothing stays on the stack and in vector registers. Within itself it is just the call.
template <typename Work>
decltype(auto) clean_stack(Work&& work) {
    struct End {
        ~End() {
            if (outermost) detail::end_clean_stack();
        }
        const bool outermost = detail::begin_clean_stack();
    } const end;
    return detail::in_a_frame_of_its_own(std::forward<Work>(work));
}

}  // namespace warpaes
