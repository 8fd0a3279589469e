// The terms of FIPS 197 and SP 800-38A that all layers share.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

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

/// The values match `warpaes_mode` in the C ABI. There may be gaps.
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
    // Modes that are composed of other modes; see is_composed().
    kw = 12,
    kwp = 13,
    siv = 14,
    gcm_siv = 15
};

/// The data units of an XTS message.
struct DataUnits {
    std::uint64_t bytes = 0;
    std::uint64_t step = 1;  ///< difference between the numbers of consecutive units

    friend constexpr bool operator==(const DataUnits&, const DataUnits&) = default;
};

/// How messages of a mode are processed.
enum class Runs : std::uint8_t {
    in_stretches,  ///< in stretches; parallel stretches require only round keys and a chaining value
    by_kernels,    ///< in stretches, by kernels that support only this mode
    whole,         ///< a lane processes the complete message
    composed       ///< by other modes; see is_composed()
};
/// Directions with independent blocks; see is_parallel(). Bit 0 represents encryption, and bit 1 decryption.
enum class Parallel : std::uint8_t { neither = 0, decryption = 2, both = 3 };
/// Whether two encryptions under the same key may have the same IV. If not, batches refuse such encryptions.
enum class Ivs : std::uint8_t { any, unique };
enum class Output : std::uint8_t { text, none };
/// The values of a key that the mode needs. GPUs store them in slots (cuda/kernels/key_slot.hpp).
enum class KeyValues : std::uint8_t {
    cipher,      ///< the round keys of the cipher
    inverse,     ///< for decryption, the round keys of the inverse cipher (FIPS 197, section 5.3)
    with_subkey  ///< the round keys of the cipher, and E(K, 0)
};
/// How a context processes the mode (message/context.cpp).
enum class Contexts : std::uint8_t { none, stream, units, gcm, ccm, mac };
/// Kinds of work that differ in their arithmetic, and therefore in their costs (engine/cost_model.hpp).
enum class WorkClass : std::uint8_t {
    ecb,
    ctr,
    xts,
    gcm_encrypt,
    gcm_decrypt,
    cbc_decrypt,  ///< CBC and CFB decryption
    chained,      ///< CBC and CFB encryption, OFB: each block depends on the previous block
    cmac,
    ccm
};

/// A column without a default: a mode whose line omits this column does not compile (the test project.modes checks
/// this).
template <typename T>
struct Required {
    constexpr Required(T given) : value(given) {}
    constexpr operator T() const { return value; }
    T value;
};

/// Every mode must specify these properties.
struct ModeKind {
    Required<Runs> runs;
    Required<Parallel> parallel;
    Required<Ivs> ivs;
    Required<Output> output;
    Required<KeyValues> keys;
    Required<Contexts> contexts;
    Required<WorkClass> encryption, decryption;
};

/// The properties of a mode. All queries about modes read a table of these properties.
struct ModeTraits {
    Mode mode;
    const char* name;
    ModeKind kind;
    bool whole_blocks = false;
    /// Allowed IV lengths in bytes, and a text that describes them. `iv_optional` means that the IV may also be
    /// omitted.
    std::uint64_t least_iv = 0, most_iv = 0;
    bool iv_optional = false;
    const char* iv_lengths = "must be 0 bytes for this mode";
    /// Allowed tag lengths: bit i allows i bytes; 0: the mode has no tags.
    std::uint32_t tags = 0;
    const char* tag_lengths = "";
    std::uint64_t most_aad = 0;
    const char* longest_aad = "at most 2^61 - 1 bytes";
    /// Allowed plaintext lengths in bytes, and a text that describes them. For CCM, the IV length limits them further.
    std::uint64_t least_text = 0, most_text = std::uint64_t{1} << 60, text_unit = 1;
    const char* text_lengths = "at most 2^60 bytes";
    /// Ciphertext length of a composed mode: the plaintext's length rounded up to a multiple of `sealed_unit`, plus
    /// `growth`. `sealed_lengths` describes the allowed ciphertext lengths.
    std::uint64_t sealed_unit = 1, growth = 0;
    const char* sealed_lengths = text_lengths;
    bool aes_192 = true;
};

namespace detail {

inline constexpr std::uint64_t most_sp800_38d = (std::uint64_t{1} << 61) - 1;  ///< 2^64 - 1 bits, in whole bytes

constexpr ModeTraits with_block_iv(ModeTraits traits) {
    traits.least_iv = traits.most_iv = block_bytes;
    traits.iv_lengths = "must be 16 bytes for this mode";
    return traits;
}

/// In CBC and CFB, encryption is a chain of blocks, but decryption is not.
constexpr ModeKind chained(KeyValues keys, Contexts contexts) {
    return {Runs::in_stretches, Parallel::decryption,  Ivs::any, Output::text, keys, contexts,
            WorkClass::chained, WorkClass::cbc_decrypt};
}
inline constexpr ModeKind cfb = chained(KeyValues::cipher, Contexts::stream);
inline constexpr ModeKind composed{Runs::composed,    Parallel::neither, Ivs::any,           Output::text,
                                   KeyValues::cipher, Contexts::none,    WorkClass::chained, WorkClass::chained};

/// In the order of the modes' values.
inline constexpr std::array mode_lines{
    ModeTraits{.mode = Mode::ecb,
               .name = "ECB",
               .kind = {Runs::in_stretches, Parallel::both, Ivs::any, Output::text, KeyValues::inverse, Contexts::units,
                        WorkClass::ecb, WorkClass::ecb},
               .whole_blocks = true},
    with_block_iv(
        {.mode = Mode::cbc, .name = "CBC", .kind = chained(KeyValues::inverse, Contexts::units), .whole_blocks = true}),
    with_block_iv({.mode = Mode::cfb128, .name = "CFB128", .kind = cfb}),
    with_block_iv({.mode = Mode::cfb8, .name = "CFB8", .kind = cfb}),
    with_block_iv({.mode = Mode::cfb1, .name = "CFB1", .kind = cfb}),
    with_block_iv({.mode = Mode::ofb,
                   .name = "OFB",
                   .kind = {Runs::in_stretches, Parallel::neither, Ivs::any, Output::text, KeyValues::cipher,
                            Contexts::stream, WorkClass::chained, WorkClass::chained}}),
    with_block_iv({.mode = Mode::ctr,
                   .name = "CTR",
                   .kind = {Runs::in_stretches, Parallel::both, Ivs::any, Output::text, KeyValues::cipher,
                            Contexts::stream, WorkClass::ctr, WorkClass::ctr}}),
    with_block_iv({.mode = Mode::xts,
                   .name = "XTS",
                   .kind = {Runs::by_kernels, Parallel::both, Ivs::any, Output::text, KeyValues::inverse,
                            Contexts::units, WorkClass::xts, WorkClass::xts},
                   .aes_192 = false}),
    ModeTraits{.mode = Mode::gcm,
               .name = "GCM",
               .kind = {Runs::by_kernels, Parallel::both, Ivs::unique, Output::text, KeyValues::with_subkey,
                        Contexts::gcm, WorkClass::gcm_encrypt, WorkClass::gcm_decrypt},
               .least_iv = 1,
               .most_iv = most_sp800_38d,
               .iv_lengths = "must be 1 to 2^61 - 1 bytes for GCM, best 12",
               .tags = 0x1f110,  // SP 800-38D, 5.2.1.2; 4 and 8 only with the limits of its appendix C
               .tag_lengths = "must be 16, 15, 14, 13, 12, 8 or 4 bytes",
               .most_aad = most_sp800_38d,
               .most_text = (std::uint64_t{1} << 36) - 32,  // 2^39 - 256 bits (SP 800-38D, 5.2.1.1)
               .text_lengths = "at most 2^36 - 32 bytes for GCM"},
    ModeTraits{.mode = Mode::ccm,
               .name = "CCM",
               .kind = {Runs::whole, Parallel::neither, Ivs::unique, Output::text, KeyValues::cipher, Contexts::ccm,
                        WorkClass::ccm, WorkClass::ccm},
               .least_iv = 7,
               .most_iv = 13,
               .iv_lengths = "must be 7 to 13 bytes for CCM",
               .tags = 0x15550,  // SP 800-38C, A.1
               .tag_lengths = "must be 4, 6, 8, 10, 12, 14 or 16 bytes for CCM",
               .most_aad = most_sp800_38d},
    ModeTraits{.mode = Mode::cmac,
               .name = "CMAC",
               .kind = {Runs::whole, Parallel::neither, Ivs::any, Output::none, KeyValues::with_subkey, Contexts::mac,
                        WorkClass::cmac, WorkClass::cmac},
               .tags = 0x1fff0,
               .tag_lengths = "must be 4 to 16 bytes for CMAC"},
    // Composed modes.
    ModeTraits{.mode = Mode::kw,
               .name = "KW",
               .kind = composed,
               .least_iv = 8,
               .most_iv = 8,
               .iv_optional = true,
               .iv_lengths = "must be 0 or 8 bytes for KW",
               .least_text = 16,
               .most_text = ((std::uint64_t{1} << 54) - 1) * 8,  // SP 800-38F, 5.3.1
               .text_unit = 8,
               .text_lengths = "must be a multiple of 8 bytes from 16 to 2^57 - 8 for KW (KWP accepts any length)",
               .sealed_unit = 8,
               .growth = 8,
               .sealed_lengths = "must be a multiple of 8 bytes from 24 to 2^57 for unwrapping by KW"},
    ModeTraits{.mode = Mode::kwp,
               .name = "KWP",
               .kind = composed,
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
    ModeTraits{.mode = Mode::siv,
               .name = "SIV",
               .kind = composed,
               .most_iv = std::uint64_t{1} << 60,
               .iv_lengths = "at most 2^60 bytes for SIV",
               .tags = 0x10000,
               .tag_lengths = "must be 16 bytes for SIV",
               .most_aad = std::uint64_t{1} << 60,
               .longest_aad = "at most 2^60 bytes for SIV"},
    ModeTraits{.mode = Mode::gcm_siv,
               .name = "GCM-SIV",
               .kind = {Runs::composed, Parallel::both, Ivs::any, Output::text, KeyValues::cipher, Contexts::none,
                        WorkClass::chained, WorkClass::chained},
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

constexpr bool are_in_order() {
    std::int32_t last = 0;
    for (const ModeTraits& line : mode_lines) {
        if (line.name == nullptr || static_cast<std::int32_t>(line.mode) <= last) return false;
        last = static_cast<std::int32_t>(line.mode);
    }
    return true;
}
static_assert(are_in_order(), "each line has its mode and a name, and values ascend from 1");
inline constexpr std::size_t lines_end = static_cast<std::size_t>(mode_lines.back().mode) + 1;

inline constexpr ModeTraits no_mode{.mode = Mode{}, .name = "", .kind = composed};
constexpr const ModeTraits& line_of(std::size_t value) {
    for (const ModeTraits& line : mode_lines) {
        if (value == static_cast<std::size_t>(line.mode)) return line;
    }
    return no_mode;
}
template <std::size_t... Values>
constexpr std::array<ModeTraits, lines_end> lines_by_value(std::index_sequence<Values...>) {
    return {line_of(Values)...};
}
/// Indexed by a mode's value. Entries for values that are not modes are never read.
inline constexpr auto mode_table = lines_by_value(std::make_index_sequence<lines_end>());

/// Bit i is set if the mode with the value i is in the set.
constexpr std::uint64_t set_of_modes(bool of_composed) {
    std::uint64_t set = 0;
    for (const ModeTraits& line : mode_lines) {
        if ((line.kind.runs == Runs::composed) == of_composed) set |= std::uint64_t{1} << static_cast<int>(line.mode);
    }
    return set;
}
inline constexpr std::uint64_t backend_modes = set_of_modes(false), composed_modes = set_of_modes(true);
constexpr bool is_in(std::uint64_t modes, std::int32_t value) {
    return static_cast<std::uint32_t>(value) < 64 && (modes >> value & 1) != 0;
}

}  // namespace detail

/// `mode` must exist.
constexpr const ModeTraits& traits_of(Mode mode) {
    return detail::mode_table[static_cast<std::size_t>(mode)];
}

/// Every mode that backends implement, in the order of the modes' values.
inline constexpr auto modes = [] {
    std::array<Mode, std::popcount(detail::backend_modes)> list{};
    auto* next = list.data();
    for (const ModeTraits& line : detail::mode_lines) {
        if (line.kind.runs != Runs::composed) *next++ = line.mode;
    }
    return list;
}();
/// Size of a table that is indexed by the value of a mode that backends implement.
inline constexpr std::size_t mode_values = static_cast<std::size_t>(modes.back()) + 1;

/// Whether backends implement the mode with this value.
constexpr bool is_backend_mode(std::int32_t value) {
    return detail::is_in(detail::backend_modes, value);
}

/// Whether the mode is composed of other modes and no backend implements it: `warpaes_crypt` processes each of its
/// messages as a whole (message/composed.hpp). False for values that are not modes.
constexpr bool is_composed(Mode mode) {
    return detail::is_in(detail::composed_modes, static_cast<std::int32_t>(mode));
}

/// The values match `warpaes_direction` in the C ABI.
enum class Direction : std::int32_t { encrypt = 1, decrypt = 2 };

/// Whether a single message can be cut anywhere and its parts processed in parallel. This is the case if the input to
/// the block cipher is known beforehand, from a counter or from existing ciphertext (SP 800-38A, section 6).
constexpr bool is_parallel(Mode mode, Direction direction) {
    const auto directions = static_cast<unsigned>(traits_of(mode).kind.parallel.value);
    return (directions & static_cast<unsigned>(direction)) != 0;
}

/// Returns the length to pass to kernels, which counts bits for CFB1 and bytes for all other modes. `unused_bits` is as
/// in MessageGroup.
constexpr std::uint64_t kernel_length(Mode mode, std::uint64_t bytes, std::uint32_t unused_bits) {
    return mode == Mode::cfb1 ? 8 * bytes - unused_bits : bytes;
}

/// Whether messages must consist of whole blocks (ECB, CBC); messages of the other modes may end with a partial block.
constexpr bool needs_whole_blocks(Mode mode) {
    return traits_of(mode).whole_blocks;
}

constexpr bool uses_iv(Mode mode) {
    return traits_of(mode).most_iv != 0;
}

/// Whether the mode has an output. False for CMAC, whose messages are only read.
constexpr bool has_output(Mode mode) {
    return traits_of(mode).kind.output == Output::text;
}

/// Whether messages of this mode carry a tag.
constexpr bool uses_tag(Mode mode) {
    return traits_of(mode).tags != 0;
}

constexpr bool uses_inverse_cipher(Mode mode, Direction direction) {
    return traits_of(mode).kind.keys == KeyValues::inverse && direction == Direction::decrypt;
}

/// Whether a decryption can start anywhere, with the 16 preceding bytes of ciphertext as its chaining value.
constexpr bool chains_on_ciphertext(Mode mode, Direction direction) {
    return direction == Direction::decrypt &&
           (mode == Mode::cbc || mode == Mode::cfb128 || mode == Mode::cfb8 || mode == Mode::cfb1);
}

}  // namespace warpaes
