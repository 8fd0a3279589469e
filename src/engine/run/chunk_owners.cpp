#include "engine/run/chunk_owners.hpp"

#include <exception>

#include "base/secret.hpp"

namespace warpaes {

void ChunkOwners::wipe(Engine& engine, std::span<std::uint8_t> output, std::size_t chunk_bytes,
                       bool beyond_caches) noexcept {
    const auto wipe_chunk = [&](std::size_t i) {
        const std::size_t first = i * chunk_bytes;
        const auto chunk = output.subspan(first, std::min(chunk_bytes, output.size() - first));
        beyond_caches ? wipe_far(chunk) : warpaes::wipe(chunk);
    };
    const std::size_t threads = std::min(most_, threads_.size());
    if (threads <= 1) return take_all(wipe_chunk);
    try {
        engine.pool().for_each(threads, [&](std::size_t) { take_all(wipe_chunk); });
    } catch (const std::exception&) {  // without threads
        take_all(wipe_chunk);
    }
}

}  // namespace warpaes
