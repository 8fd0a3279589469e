// Provides the backends for this CPU architecture, with both widths of VAES, and a function that runs messages between
// guard bytes.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "../why_skipped.hpp"
#include "backend/backend.hpp"
#include "cpu/cpu_backend.hpp"
#include "engine/chain.hpp"
#include "evp_oracle.hpp"

namespace warpaes::test {

using oracle::Bytes;

inline constexpr std::size_t key_lengths[] = {16, 24, 32};

struct NamedBackend {
    const char* label;
    Backend* backend;
};

inline void PrintTo(const NamedBackend& b, std::ostream* out) {
    *out << b.label;
}

inline std::vector<NamedBackend> cpu_backends() {
#if defined(__aarch64__)
    return {{"libcrypto", &libcrypto_backend()}, {"armv8", &armv8_backend()}};
#else
    return {{"libcrypto", &libcrypto_backend()},
            {"aesni", &aesni_backend()},
            {"vaes256", &cpu::vaes_backend(cpu::VaesKernels::bits256)},
            {"vaes512", &cpu::vaes_backend(cpu::VaesKernels::bits512)},
            {"vaes512_folding", &cpu::vaes_backend(cpu::VaesKernels::bits512_folding)}};
#endif
}

/// Returns the reason why this machine cannot run a backend's test.
inline std::string why_not(const NamedBackend& b) {
    const std::string& reason = b.backend->info().front().reason;
    return b.backend->name() == "cuda" ? needs_gpu(reason) : reason + "; a machine whose CPU has it runs this";
}

inline Bytes random_bytes(std::size_t n, std::uint32_t seed) {
    std::mt19937 generator(seed);
    Bytes bytes(n);
    for (auto& b : bytes) b = static_cast<std::uint8_t>(generator());
    return bytes;
}

inline Block to_block(const Bytes& bytes) {
    Block block{};
    std::copy_n(bytes.begin(), block.size(), block.begin());
    return block;
}

inline const char* mode_name(Mode mode) {
    static constexpr const char* names[] = {"", "ECB", "CBC", "CFB128", "CFB8", "CFB1", "OFB", "CTR"};
    return names[static_cast<std::size_t>(mode)];
}

/// The placement of a run's buffers: their offsets in bytes from a 64-byte boundary, and whether input and output are
/// the same buffer.
struct Placement {
    std::size_t input_shift;
    std::size_t output_shift;
    bool in_place;
};

/// `bytes` bytes at a given misalignment, between two ranges of poison.
class GuardedBuffer {
public:
    GuardedBuffer(std::size_t bytes, std::size_t shift) : memory_(bytes + 4 * guard, poison), bytes_(bytes) {
        const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
        offset_ = guard + (guard - address % guard) % guard + shift;
    }
    std::uint8_t* data() { return memory_.data() + offset_; }
    Bytes contents() { return {data(), data() + bytes_}; }
    bool guards_intact() const {
        const auto intact = [](std::uint8_t b) { return b == poison; };
        const auto first = memory_.begin() + static_cast<std::ptrdiff_t>(offset_);
        return std::all_of(memory_.begin(), first, intact) &&
               std::all_of(first + static_cast<std::ptrdiff_t>(bytes_), memory_.end(), intact);
    }

private:
    static constexpr std::size_t guard = 64;
    static constexpr std::uint8_t poison = 0xa5;
    Bytes memory_;
    std::size_t bytes_;
    std::size_t offset_;
};

/// Runs `length` bytes (bits for CFB1) of `input` on `lane`, compares the result with libcrypto's, and checks the
/// guards.
inline void check_run(Lane& lane, Mode mode, Direction direction, const Bytes& key_bytes, const Bytes& chain,
                      const Bytes& input, std::uint64_t length, Placement placement, bool beyond_caches = false) {
    const bool in_bits = mode == Mode::cfb1;
    const std::size_t bytes = in_bits ? (length + 7) / 8 : length;
    const Bytes message(input.begin(), input.begin() + static_cast<std::ptrdiff_t>(bytes));
    const Bytes expected = *oracle::evp(mode_name(mode), direction == Direction::encrypt, key_bytes, chain, message,
                                        false, in_bits ? std::optional<std::size_t>(length) : std::nullopt);

    const ExpandedKey key(key_bytes);
    GuardedBuffer in(bytes, placement.input_shift), out(bytes, placement.output_shift);
    std::copy(message.begin(), message.end(), in.data());
    const Block before = to_block(chain);
    MessageGroup stretch =
        stretch_of(mode, direction, key, before, in.data(), placement.in_place ? in.data() : out.data(), bytes);
    if (in_bits) stretch.unused_bits = static_cast<std::uint32_t>(8 * bytes - length);
    stretch.direct = true;
    stretch.beyond_caches = beyond_caches;
    lane.run(stretch);

    SCOPED_TRACE(std::string(mode_name(mode)) + (direction == Direction::encrypt ? " encryption" : " decryption") +
                 ", key of " + std::to_string(key_bytes.size()) + " bytes, length " + std::to_string(length) +
                 (placement.in_place ? ", in place" : ", out of place"));
    GuardedBuffer& result = placement.in_place ? in : out;
    const Bytes actual = result.contents();
    const auto wrong = std::mismatch(actual.begin(), actual.end(), expected.begin());
    EXPECT_TRUE(actual == expected) << "first wrong byte: " << wrong.first - actual.begin();
    EXPECT_TRUE(in.guards_intact());
    EXPECT_TRUE(out.guards_intact());
    if (!placement.in_place) {
        EXPECT_TRUE(in.contents() == message) << "the input was changed";
    }
}

}  // namespace warpaes::test
