// Recovers the last round key of AES from ciphertexts and times, as Jiang, Fei and Kaeli do ("A complete key recovery
// timing attack on a GPU", HPCA 2016): a warp whose lanes look up different entries of one table takes longer.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace lab {

/// The cause of waiting among 32 lanes that read a table of 256 words.
enum class Contention : std::uint8_t {
    banks,  ///< words in one bank of shared memory: the largest number of different words in any bank
    words,  ///< different words, one after the other: constant memory
    lines   ///< different lines of 128 bytes: memory that is read through a cache
};
inline constexpr std::size_t contentions = 3;

/// Returns the contention that a model predicts for 32 lookups.
unsigned contention_of(Contention model, std::span<const std::uint8_t, 32> indices);

/// Correlates times with the contention that each value of each key byte predicts for the last round.
class KeyRecovery {
public:
    static constexpr std::size_t bytes = 16, values = 256, trace_bytes = 512;

    /// `threads` is the number of CPU threads that add() may use.
    explicit KeyRecovery(unsigned threads) : threads_(threads) {}

    /// Adds a trace for each of `times`: the ciphertexts of a warp, 16 bytes for each lane, and the warp's time.
    void add(std::span<const std::uint8_t> ciphertexts, std::span<const std::uint32_t> times);
    [[nodiscard]] std::size_t traces() const { return static_cast<std::size_t>(n_); }

    /// Returns Pearson's coefficient of each value of key byte `byte`; 0 if times or predictions do not vary.
    [[nodiscard]] std::array<double, values> correlations(Contention model, std::size_t byte) const;

    /// The attack's outcome, compared with the correct round key.
    struct Outcome {
        std::array<std::uint8_t, bytes> key{};  ///< for each byte, the value with the largest coefficient
        unsigned right = 0;                     ///< number of bytes whose right value has the largest coefficient
        double mean_rank = 0;  ///< mean rank of the right values; 0 is the largest coefficient, and chance gives 127.5
    };
    [[nodiscard]] Outcome outcome(Contention model, std::span<const std::uint8_t, bytes> right_key) const;

private:
    struct Sums {
        double p = 0, pp = 0, pt = 0;  ///< sums of a prediction, its square, and its product with the time
    };
    using OfByte = std::array<std::array<Sums, values>, contentions>;
    void add_byte(std::size_t byte, std::span<const std::uint8_t> ciphertexts, std::span<const std::uint32_t> times);

    unsigned threads_;
    double n_ = 0, t_ = 0, tt_ = 0, origin_ = 0;
    std::vector<OfByte> sums_ = std::vector<OfByte>(bytes);
};

/// Returns the AES-128 key with this last round key (FIPS 197, 5.2, backwards).
std::array<std::uint8_t, 16> key_of_last_round(std::span<const std::uint8_t, 16> round_key);

}  // namespace lab
