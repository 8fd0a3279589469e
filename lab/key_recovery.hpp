// Recovers the last round key of AES from ciphertexts and times, as Jiang, Fei and Kaeli do ("A complete key recovery
// timing attack on a GPU", HPCA 2016): a warp whose lanes look up different entries of one table takes longer.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace lab {

/// The reason why 32 lanes that read a table of 256 words wait for one another.
enum class Contention : std::uint8_t {
    banks,  ///< shared memory reads the different words of a bank one after the other; the busiest bank counts
    words,  ///< constant memory reads different words one after the other
    lines   ///< a cache reads different lines of 128 bytes one after the other
};
inline constexpr std::size_t contentions = 3;

/// Returns the contention that a model predicts for 32 lookups.
unsigned contention_of(Contention model, std::span<const std::uint8_t, 32> indices);

/// Correlates times with the contention in the last round that is predicted from each value of each key byte.
class KeyRecovery {
public:
    static constexpr std::size_t bytes = 16, values = 256, trace_bytes = 512;

    /// `threads` is the number of CPU threads that add() may use.
    explicit KeyRecovery(unsigned threads) : threads_(threads) {}

    /// Adds one trace for each of `times`. A trace is a warp's time and its ciphertexts, 16 bytes for each lane.
    void add(std::span<const std::uint8_t> ciphertexts, std::span<const std::uint32_t> times);
    [[nodiscard]] std::size_t traces() const { return static_cast<std::size_t>(n_); }

    /// Returns Pearson's coefficient for each value of key byte `byte`; 0 if the times or the predictions do not vary.
    [[nodiscard]] std::array<double, values> correlations(Contention model, std::size_t byte) const;

    /// The attack's outcome, compared with the correct round key.
    struct Outcome {
        std::array<std::uint8_t, bytes> key{};  ///< for each byte, the value with the largest coefficient
        unsigned right = 0;                     ///< number of bytes whose right value has the largest coefficient
        double mean_rank = 0;  ///< mean rank of the right values; the best rank is 0, and guessing yields 127.5
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

/// Returns the AES-128 key with this last round key. Reverses the key expansion of FIPS 197, 5.2.
std::array<std::uint8_t, 16> key_of_last_round(std::span<const std::uint8_t, 16> round_key);

}  // namespace lab
