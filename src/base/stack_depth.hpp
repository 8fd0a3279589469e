// How far down the stack has been in use, for clean_stack (clean_stack.hpp).
#pragma once

#include <cstddef>

namespace warpaes {

/// Says that the stack is in use down to here, and `below` bytes further by functions that do not say it themselves.
/// For functions with kilobytes of locals, and around other people's functions.
void note_stack_depth(std::size_t below = 1024) noexcept;

/// What libcrypto takes at the most, looking up its algorithms included.
inline constexpr std::size_t libcrypto_stack = 4096;

/// What the C++ library takes for files and their names. It binds its symbols when they are first called, which saves
/// vector registers far down.
inline constexpr std::size_t files_stack = 32768;

}  // namespace warpaes
