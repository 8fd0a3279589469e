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
    // Does not read again after the end of the source, because a terminal would wait for a second end of file.
    if (have == buffer.size() || whole_) return have;
    return have + source_.read(offset + have, buffer.subspan(have));
}

std::size_t RewoundSource::read_some(std::uint64_t offset, std::span<std::uint8_t> buffer) {
    if (source_.is_sequential() && offset < beginning_.size()) {
        const auto left = std::span(beginning_).subspan(static_cast<std::size_t>(offset));
        return read(offset, buffer.first(std::min(buffer.size(), left.size())));
    }
    return whole_ ? 0 : source_.read_some(offset, buffer);
}

void SinkSlice::write(std::uint64_t offset, std::span<const std::uint8_t> bytes) {
    const std::uint64_t before = offset < first_ ? first_ - offset : 0;
    if (sink_ == nullptr || bytes.size() <= before || offset + before - first_ >= size_) return;
    const std::uint64_t at = offset + before - first_;
    bytes = bytes.subspan(static_cast<std::size_t>(before));
    sink_->write(to_ + at, bytes.first(static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), size_ - at))));
}

}  // namespace warpaes
