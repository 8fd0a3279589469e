// operator new that fails once. A test links failing_new.cpp, which replaces operator new in the whole program.
#pragma once

#include <cstddef>

namespace warpaes::test {

/// Makes the allocation after `before` others fail, once, in any thread. Only allocations of `size` bytes count, or all
/// of them if `size` is 0. Over-aligned types do not count.
void fail_new(int before, std::size_t size = 0);
/// Ends this. Returns whether an allocation has failed.
bool end_failing_new();

}  // namespace warpaes::test
