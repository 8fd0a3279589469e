#include "engine/pipeline/stream.hpp"

#include <algorithm>

namespace warpaes {

RewoundSource::RewoundSource(Source& source, std::size_t bytes) : source_(source), beginning_(bytes) {
    const std::size_t n = source.read(0, beginning_);
    whole_ = n < bytes;
    beginning_.resize(n);
}

std::size_t RewoundSource::read(std::uint64_t offset, std::span<std::uint8_t> buffer) {
    if (!source_.is_sequential()) return source_.read(offset, buffer);
    std::size_t have = 0;
    if (offset < beginning_.size()) {
        const auto at = static_cast<std::size_t>(offset);
        have = std::min(buffer.size(), beginning_.size() - at);
        std::copy_n(beginning_.begin() + static_cast<std::ptrdiff_t>(at), have, buffer.begin());
    }
    // Not once more after its end: a terminal would wait for another.
    if (have == buffer.size() || whole_) return have;
    return have + source_.read(offset + have, buffer.subspan(have));
}

void SinkWindow::write(std::uint64_t offset, std::span<const std::uint8_t> bytes) {
    const std::uint64_t begin = std::max(offset, first_);
    const std::uint64_t end = std::min(offset + bytes.size(), first_ + size_);
    if (begin >= end) return;
    sink_.write(begin - first_,
                bytes.subspan(static_cast<std::size_t>(begin - offset), static_cast<std::size_t>(end - begin)));
}

}  // namespace warpaes
