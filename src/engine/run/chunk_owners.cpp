#include "engine/run/chunk_owners.hpp"

#include <exception>

#include "base/secret.hpp"

namespace warpaes {

void ChunkOwners::wipe(Engine& engine, std::span<std::uint8_t> output, std::size_t chunk_bytes,
                       bool beyond_caches) noexcept {
    for (auto& begun : begun_) begun = false;
    const auto wipe_chunk = [&](std::size_t i) {
        const std::size_t first = i * chunk_bytes;
        const auto chunk = output.subspan(first, std::min(chunk_bytes, output.size() - first));
        beyond_caches ? wipe_far(chunk) : warpaes::wipe(chunk);
    };
    try {
        again(engine, 0, wipe_chunk);
    } catch (const std::exception&) {  // without threads
        take_all(0, wipe_chunk);
    }
}

}  // namespace warpaes
