#include "base/clean_stack.hpp"

#include <cstdint>
#include <utility>

#include "base/secret.hpp"

namespace warpaes {

constinit thread_local std::uintptr_t detail::deepest = 0;

[[gnu::noinline]] void note_stack_depth(std::size_t below) noexcept {
    const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) - below;
    if (here < detail::deepest) detail::deepest = here;
}

namespace detail {

[[gnu::noinline]] bool begin_clean_stack(std::size_t least) noexcept {
    if (deepest != 0) {
        note_stack_depth(least);
        return false;
    }
    deepest = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) - least;
    return true;
}

[[gnu::noinline]] void end_clean_stack() noexcept {
    const std::uintptr_t to = std::exchange(deepest, 0);
    clear_vector_registers();
    wipe_below(to);
}

[[gnu::noinline]] std::uintptr_t leave_call() noexcept {
    return std::exchange(deepest, 0);
}

[[gnu::noinline]] void return_to_call(std::uintptr_t before) noexcept {
    deepest = before;
}

}  // namespace detail

}  // namespace warpaes
