// The vocabulary of FIPS 197 and SP 800-38A that every layer shares.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#if defined(__CUDACC__)
#define WARPAES_HD __host__ __device__ __forceinline__
#else
#define WARPAES_HD inline
#endif

namespace warpaes {

inline constexpr std::size_t block_bytes = 16;

using Block = std::array<std::uint8_t, block_bytes>;

constexpr Block& operator^=(Block& a, const Block& b) {
    for (std::size_t i = 0; i < block_bytes; ++i) a[i] = static_cast<std::uint8_t>(a[i] ^ b[i]);
    return a;
}
constexpr Block operator^(Block a, const Block& b) {
    return a ^= b;
}

/// Loads a block as two big-endian numbers, `high` and `low`.
template <typename Halves>
constexpr Halves load_halves(const Block& block) {
    Halves h;
    for (unsigned i = 0; i < 8; ++i) {
        h.high = (h.high << 8) | block[i];
        h.low = (h.low << 8) | block[i + 8];
    }
    return h;
}

template <typename Halves>
constexpr Block store_halves(const Halves& h) {
    Block block{};
    for (unsigned i = 0; i < 8; ++i) {
        block[i] = static_cast<std::uint8_t>(h.high >> (56 - 8 * i));
        block[i + 8] = static_cast<std::uint8_t>(h.low >> (56 - 8 * i));
    }
    return block;
}

/// Values are those of `warpaes_mode` in the C ABI.
enum class Mode : std::int32_t {
    ecb = 1,
    cbc = 2,
    cfb128 = 3,
    cfb8 = 4,
    cfb1 = 5,
    ofb = 6,
    ctr = 7,
    xts = 8,
    gcm = 9,
    ccm = 10,
    cmac = 11,
    // Modes composed of others: see is_composed().
    kw = 12,
    kwp = 13,
    siv = 14,
    gcm_siv = 15
};

/// Every mode that backends implement, in the order of its values.
inline constexpr std::array modes{Mode::ecb, Mode::cbc, Mode::cfb128, Mode::cfb8, Mode::cfb1, Mode::ofb,
                                  Mode::ctr, Mode::xts, Mode::gcm,    Mode::ccm,  Mode::cmac};
/// The size of a table that is indexed by the values of these modes.
inline constexpr std::size_t mode_values = static_cast<std::size_t>(modes.back()) + 1;

/// XTS: the data units of a message.
struct DataUnits {
    std::uint64_t bytes = 0;
    std::uint64_t step = 1;  ///< difference between the numbers of consecutive units

    friend constexpr bool operator==(const DataUnits&, const DataUnits&) = default;
};

/// The properties of a mode, in a table that all queries about modes read.
struct ModeTraits {
    const char* name;
    bool encrypts_parallel, decrypts_parallel;  ///< see is_parallel()
    bool whole_blocks = false;
    /// Allowed IV lengths in bytes, and a sentence that states them. `iv_optional` means that the IV may also be
    /// omitted.
    std::uint64_t least_iv = 0, most_iv = 0;
    bool iv_optional = false;
    const char* iv_lengths = "must be 0 bytes for this mode";
    /// Allowed tag lengths: bit i allows i bytes; 0: the mode has no tags.
    std::uint32_t tags = 0;
    const char* tag_lengths = "";
    std::uint64_t most_aad = 0;
    const char* longest_aad = "at most 2^61 - 1 bytes";
    /// Allowed plaintext lengths in bytes, and a sentence that states them. CCM's IV length limits them further.
    std::uint64_t least_text = 0, most_text = std::uint64_t{1} << 60, text_unit = 1;
    const char* text_lengths = "at most 2^60 bytes";
    /// Ciphertext length of a composed mode: the plaintext's length rounded up to a multiple of `sealed_unit`, plus
    /// `growth`. `sealed_lengths` states the allowed ciphertext lengths.
    std::uint64_t sealed_unit = 1, growth = 0;
    const char* sealed_lengths = text_lengths;
    bool aes_192 = true;
};

namespace detail {

inline constexpr std::uint64_t most_sp800_38d = (std::uint64_t{1} << 61) - 1;  ///< 2^64 - 1 bits, in whole bytes

constexpr ModeTraits with_block_iv(const char* name, bool encrypts_parallel, bool decrypts_parallel) {
    return {.name = name,
            .encrypts_parallel = encrypts_parallel,
            .decrypts_parallel = decrypts_parallel,
            .whole_blocks = false,
            .least_iv = block_bytes,
            .most_iv = block_bytes,
            .iv_lengths = "must be 16 bytes for this mode"};
}

constexpr ModeTraits in_whole_blocks(ModeTraits traits) {
    traits.whole_blocks = true;
    return traits;
}

constexpr ModeTraits without_aes_192(ModeTraits traits) {
    traits.aes_192 = false;
    return traits;
}

/// In the order of the modes' values, which begin at 1.
inline constexpr std::array mode_table{
    ModeTraits{.name = "ECB", .encrypts_parallel = true, .decrypts_parallel = true, .whole_blocks = true},
    in_whole_blocks(with_block_iv("CBC", false, true)),
    with_block_iv("CFB128", false, true),
    with_block_iv("CFB8", false, true),
    with_block_iv("CFB1", false, true),
    with_block_iv("OFB", false, false),
    with_block_iv("CTR", true, true),
    without_aes_192(with_block_iv("XTS", true, true)),
    ModeTraits{.name = "GCM",
               .encrypts_parallel = true,
               .decrypts_parallel = true,
               .least_iv = 1,
               .most_iv = most_sp800_38d,
               .iv_lengths = "must be 1 to 2^61 - 1 bytes for GCM, best 12",
               .tags = 0x1f110,  // SP 800-38D, 5.2.1.2; 4 and 8 only with the limits of its appendix C
               .tag_lengths = "must be 16, 15, 14, 13, 12, 8 or 4 bytes",
               .most_aad = most_sp800_38d,
               .most_text = (std::uint64_t{1} << 36) - 32,  // 2^39 - 256 bits (SP 800-38D, 5.2.1.1)
               .text_lengths = "at most 2^36 - 32 bytes for GCM"},
    ModeTraits{.name = "CCM",
               .encrypts_parallel = false,
               .decrypts_parallel = false,
               .least_iv = 7,
               .most_iv = 13,
               .iv_lengths = "must be 7 to 13 bytes for CCM",
               .tags = 0x15550,  // SP 800-38C, A.1
               .tag_lengths = "must be 4, 6, 8, 10, 12, 14 or 16 bytes for CCM",
               .most_aad = most_sp800_38d},
    ModeTraits{.name = "CMAC",
               .encrypts_parallel = false,
               .decrypts_parallel = false,
               .tags = 0x1fff0,
               .tag_lengths = "must be 4 to 16 bytes for CMAC"},
    // Composed modes.
    ModeTraits{.name = "KW",
               .encrypts_parallel = false,
               .decrypts_parallel = false,
               .least_iv = 8,
               .most_iv = 8,
               .iv_optional = true,
               .iv_lengths = "must be 0 or 8 bytes for KW",
               .least_text = 16,
               .most_text = ((std::uint64_t{1} << 54) - 1) * 8,  // SP 800-38F, 5.3.1
               .text_unit = 8,
               .text_lengths = "must be a multiple of 8 bytes from 16 to 2^57 - 8 for KW (KWP takes any length)",
               .sealed_unit = 8,
               .growth = 8,
               .sealed_lengths = "must be a multiple of 8 bytes from 24 to 2^57 for unwrapping by KW"},
    ModeTraits{.name = "KWP",
               .encrypts_parallel = false,
               .decrypts_parallel = false,
               .least_iv = 4,
               .most_iv = 4,
               .iv_optional = true,
               .iv_lengths = "must be 0 or 4 bytes for KWP",
               .least_text = 1,
               .most_text = (std::uint64_t{1} << 32) - 1,
               .text_lengths = "must be 1 to 2^32 - 1 bytes for KWP",
               .sealed_unit = 8,
               .growth = 8,
               .sealed_lengths = "must be a multiple of 8 bytes from 16 to 2^32 + 8 for unwrapping by KWP"},
    ModeTraits{.name = "SIV",
               .encrypts_parallel = false,
               .decrypts_parallel = false,
               .most_iv = std::uint64_t{1} << 60,
               .iv_lengths = "at most 2^60 bytes for SIV",
               .tags = 0x10000,
               .tag_lengths = "must be 16 bytes for SIV",
               .most_aad = std::uint64_t{1} << 60,
               .longest_aad = "at most 2^60 bytes for SIV"},
    ModeTraits{.name = "GCM-SIV",
               .encrypts_parallel = true,
               .decrypts_parallel = true,
               .least_iv = 12,
               .most_iv = 12,
               .iv_lengths = "must be 12 bytes for GCM-SIV",
               .tags = 0x10000,
               .tag_lengths = "must be 16 bytes for GCM-SIV",
               .most_aad = std::uint64_t{1} << 36,  // RFC 8452, 4
               .longest_aad = "at most 2^36 bytes for GCM-SIV",
               .most_text = std::uint64_t{1} << 36,
               .text_lengths = "at most 2^36 bytes for GCM-SIV",
               .aes_192 = false},
};

}  // namespace detail

constexpr const ModeTraits& traits_of(Mode mode) {
    return detail::mode_table[static_cast<std::size_t>(mode) - 1];
}

/// Whether the mode is composed of others and no backend implements it: `warpaes_crypt` processes its messages, each as
/// a whole (message/composed.hpp).
constexpr bool is_composed(Mode mode) {
    return mode > modes.back() && mode <= Mode::gcm_siv;
}

/// Values are those of `warpaes_direction` in the C ABI.
enum class Direction : std::int32_t { encrypt = 1, decrypt = 2 };

/// Whether a single message can be cut anywhere and its parts processed in parallel. This holds if the input to the
/// block cipher is known beforehand, from a counter or from existing ciphertext (SP 800-38A, section 6).
constexpr bool is_parallel(Mode mode, Direction direction) {
    const ModeTraits& traits = traits_of(mode);
    return direction == Direction::encrypt ? traits.encrypts_parallel : traits.decrypts_parallel;
}

/// The length passed to kernels: CFB1's count bits, all others bytes. `unused_bits`: see MessageGroup.
constexpr std::uint64_t kernel_length(Mode mode, std::uint64_t bytes, std::uint32_t unused_bits) {
    return mode == Mode::cfb1 ? 8 * bytes - unused_bits : bytes;
}

/// ECB and CBC process whole blocks only; messages of the other modes may end with a partial block.
constexpr bool needs_whole_blocks(Mode mode) {
    return traits_of(mode).whole_blocks;
}

constexpr bool uses_iv(Mode mode) {
    return traits_of(mode).most_iv != 0;
}

/// Whether messages of this mode carry a tag.
constexpr bool uses_tag(Mode mode) {
    return traits_of(mode).tags != 0;
}

/// Only ECB, CBC and XTS decryption run the inverse cipher (FIPS 197, section 5.3).
constexpr bool uses_inverse_cipher(Mode mode, Direction direction) {
    return (needs_whole_blocks(mode) || mode == Mode::xts) && direction == Direction::decrypt;
}

/// Whether this is a decryption that can start anywhere, with the 16 preceding bytes of ciphertext as its chaining
/// value.
constexpr bool chains_on_ciphertext(Mode mode, Direction direction) {
    return direction == Direction::decrypt &&
           (mode == Mode::cbc || mode == Mode::cfb128 || mode == Mode::cfb8 || mode == Mode::cfb1);
}

}  // namespace warpaes
