// operator new that fails. A test links failing_new.cpp, which replaces operator new in the whole program.
#pragma once

#include <cstddef>

namespace warpaes::test {

/// Makes `times` allocations fail after `before` others, in any threads. Only allocations of `size` bytes count, or all
/// of them if `size` is 0. Over-aligned types do not count.
void fail_new(int before, int times = 1, std::size_t size = 0);
/// Makes allocations work normally again. Returns whether an allocation has failed.
bool end_failing_new();

}  // namespace warpaes::test
