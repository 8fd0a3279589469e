// CTR_DRBG with AES (SP 800-90A Rev. 1, 10.2.1).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "base/process.hpp"
#include "base/secret.hpp"
#include "engine/engine.hpp"

namespace warpaes {

/// A CTR_DRBG. Not thread-safe.
class Drbg {
public:
    using Input = std::span<const std::uint8_t>;  ///< null data: no input

    struct Options {
        unsigned key_bits = 256;
        bool derives = true;  ///< whether the derivation function is used
        Input entropy, nonce, personalization;
        std::uint64_t most_requests = std::uint64_t{1} << 48;  ///< number of requests allowed between seedings (SP
                                                               ///< 800-90A, table 3)
    };

    /// Throws Error{ARGUMENT}, Error{KEY_LENGTH}, Error{DATA_LENGTH}, Error{BACKEND} or Error{INTERNAL}.
    Drbg(Engine& engine, const Options& options);
    void reseed(Input entropy, Input additional);
    /// Throws Error{STATE} after too many requests without a reseed. If it throws, the output is unchanged.
    void generate(std::span<std::uint8_t> output, Input additional, bool resist_prediction);

private:
    static constexpr std::size_t most_seed = 48;
    using Seed = std::array<std::uint8_t, most_seed>;

    [[nodiscard]] std::size_t key_bytes() const noexcept { return key_bits_ / 8; }
    [[nodiscard]] std::size_t seed_bytes() const noexcept { return key_bytes() + block_bytes; }
    /// Returns the seed for instantiation, reseeding and generation: the output of the derivation function for the
    /// concatenated inputs or, without the derivation function, the sum of the inputs.
    [[nodiscard]] Secret<Seed> seed_of(std::initializer_list<Input> inputs) const;
    [[nodiscard]] Secret<Seed> derive(std::initializer_list<Input> inputs) const;
    void check_input(Input input, const char* name) const;
    void check_entropy(Input entropy) const;
    void update(const Seed& provided);
    /// Fills `to`, whole blocks, with E(Key, V) for the next values of V.
    void next_blocks(const ExpandedKey& key, Block& v, std::span<std::uint8_t> to) const;
    void encrypt(const ExpandedKey& key, std::span<std::uint8_t> blocks) const;

    const Backend* backend_;
    unsigned key_bits_;
    bool derives_;
    std::uint64_t most_requests_;
    std::optional<ExpandedKey> key_;
    Secret<Block> v_;
    std::uint64_t requests_ = 0;  ///< number of requests since the last seeding
    Home home_;                   ///< owner of the state; a child process seeds from the kernel first
};

}  // namespace warpaes
