#include "engine/pipeline/stream.hpp"

#include <algorithm>

namespace warpaes {

void SinkWindow::write(std::uint64_t offset, std::span<const std::uint8_t> bytes) {
    const std::uint64_t begin = std::max(offset, first_);
    const std::uint64_t end = std::min(offset + bytes.size(), first_ + size_);
    if (begin >= end) return;
    sink_.write(begin - first_,
                bytes.subspan(static_cast<std::size_t>(begin - offset), static_cast<std::size_t>(end - begin)));
}

}  // namespace warpaes
