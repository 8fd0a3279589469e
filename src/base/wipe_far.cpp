#include <algorithm>
#include <cstdint>

#include "base/secret.hpp"
#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace warpaes {

#if defined(__x86_64__)

void wipe_far(std::span<std::uint8_t> memory) noexcept {
    constexpr std::size_t vector = sizeof(__m128i), line = 64;
    const std::size_t before = (line - reinterpret_cast<std::uintptr_t>(memory.data()) % line) % line;
    wipe(memory.first(std::min(before, memory.size())));
    memory = memory.subspan(std::min(before, memory.size()));
    for (; memory.size() >= line; memory = memory.subspan(line)) {
        for (std::size_t at = 0; at < line; at += vector) {
            _mm_stream_si128(reinterpret_cast<__m128i*>(memory.data() + at), _mm_setzero_si128());
        }
    }
    _mm_sfence();
    wipe(memory);
}

#else

void wipe_far(std::span<std::uint8_t> memory) noexcept {
    wipe(memory);
}

#endif

}  // namespace warpaes
