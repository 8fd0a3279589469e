#include "message/batch/strip.hpp"

#include <initializer_list>

namespace warpaes {

namespace {

/// Whether two strips have a byte in common. Both must have this stride, and no range may be longer than the stride.
bool meet_at_stride(const Strip& a, const Strip& b, std::uint64_t stride) noexcept {
    const Strip& low = a.begin <= b.begin ? a : b;
    const Strip& high = a.begin <= b.begin ? b : a;
    // Range i of `high` begins `rest` bytes after the beginning of range i + quotient of `low`.
    const std::uint64_t quotient = (high.begin - low.begin) / stride, rest = (high.begin - low.begin) % stride;
    if (rest < low.size && quotient < low.count) return true;
    return rest + high.size > stride && quotient + 1 < low.count;
}

}  // namespace

Meeting meet_among(const Strip& a, const Strip& b) noexcept {
    if (a.solid() && b.solid()) return Meeting::yes;
    const std::uint64_t stride = a.solid() ? b.stride : a.stride;
    for (const Strip& s : {a, b}) {
        // A solid strip that is at least as long as the other strip's stride always overlaps one of the other's ranges.
        if (s.solid() && s.end() - s.begin >= stride) return Meeting::yes;
    }
    const auto at_stride = [&](Strip s) {
        if (s.solid()) s = {s.begin, stride, 1, s.end() - s.begin};
        return s;
    };
    if (!a.solid() && !b.solid() && a.stride != b.stride) return Meeting::unknown;
    return meet_at_stride(at_stride(a), at_stride(b), stride) ? Meeting::yes : Meeting::no;
}

}  // namespace warpaes
