#include "lab/key_recovery.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>
#include <thread>

#include "aes/gf256.hpp"

namespace lab {

namespace {

/// The table entries that were looked up: bit b of word r stands for entry 32 r + b, which is in bank b and line r.
using Touched = std::array<std::uint32_t, 8>;

/// Returns the largest number of words that have the same bit set. Counts all 32 bits at once with carry-save adders.
unsigned most_in_a_column(const Touched& touched) {
    std::uint32_t planes[4] = {};
    for (const std::uint32_t word : touched) {
        std::uint32_t carry = word;
        for (std::uint32_t& plane : planes) {
            const std::uint32_t both = plane & carry;
            plane ^= carry;
            carry = both;
        }
    }
    unsigned most = 0;
    std::uint32_t columns = ~0u;
    for (int i = 3; i >= 0; --i) {
        const std::uint32_t with = columns & planes[i];
        if (with == 0) continue;
        columns = with;
        most |= 1u << i;
    }
    return most;
}

std::array<unsigned, contentions> contention(const Touched& touched) {
    unsigned words = 0, lines = 0;
    for (const std::uint32_t word : touched) {
        words += static_cast<unsigned>(std::popcount(word));
        lines += word != 0 ? 1 : 0;
    }
    return {most_in_a_column(touched), words, lines};
}

}  // namespace

unsigned contention_of(Contention model, std::span<const std::uint8_t, 32> indices) {
    Touched touched{};
    for (const std::uint8_t x : indices) touched[x / 32u] |= 1u << x % 32u;
    return contention(touched)[static_cast<std::size_t>(model)];
}

void KeyRecovery::add(std::span<const std::uint8_t> ciphertexts, std::span<const std::uint32_t> times) {
    if (ciphertexts.size() != times.size() * trace_bytes) throw std::invalid_argument("ciphertexts: 512 bytes a time");
    if (times.empty()) return;
    if (n_ == 0) origin_ = times[0];  // subtracted from all times, so that sums of squares keep their precision
    std::vector<std::thread> workers;
    const unsigned count = std::clamp(threads_, 1u, static_cast<unsigned>(bytes));
    for (unsigned w = 0; w < count; ++w) {
        workers.emplace_back([=, this] {
            for (std::size_t byte = w; byte < bytes; byte += count) add_byte(byte, ciphertexts, times);
        });
    }
    for (std::thread& worker : workers) worker.join();
    for (const std::uint32_t time : times) {
        const double t = time - origin_;
        n_ += 1, t_ += t, tt_ += t * t;
    }
}

void KeyRecovery::add_byte(std::size_t byte, std::span<const std::uint8_t> ciphertexts,
                           std::span<const std::uint32_t> times) {
    OfByte& sums = sums_[byte];
    for (std::size_t i = 0; i < times.size(); ++i) {
        const double t = times[i] - origin_;
        const std::uint8_t* const at = ciphertexts.data() + i * trace_bytes + byte;
        for (std::size_t value = 0; value < values; ++value) {
            Touched touched{};
            for (std::size_t lane = 0; lane < 32; ++lane) {
                const unsigned x = warpaes::inv_sbox[at[16 * lane] ^ value];
                touched[x / 32u] |= 1u << x % 32u;
            }
            const auto predicted = contention(touched);
            for (std::size_t model = 0; model < contentions; ++model) {
                const double p = predicted[model];
                Sums& s = sums[model][value];
                s.p += p, s.pp += p * p, s.pt += p * t;
            }
        }
    }
}

std::array<double, KeyRecovery::values> KeyRecovery::correlations(Contention model, std::size_t byte) const {
    std::array<double, values> out{};
    const double of_times = tt_ - t_ * t_ / std::max(n_, 1.0);
    for (std::size_t value = 0; value < values; ++value) {
        const Sums& s = sums_.at(byte)[static_cast<std::size_t>(model)][value];
        const double of_predictions = s.pp - s.p * s.p / std::max(n_, 1.0);
        if (of_times <= 0 || of_predictions <= 0) continue;
        out[value] = (s.pt - s.p * t_ / n_) / std::sqrt(of_times * of_predictions);
    }
    return out;
}

KeyRecovery::Outcome KeyRecovery::outcome(Contention model, std::span<const std::uint8_t, bytes> right_key) const {
    Outcome outcome;
    for (std::size_t byte = 0; byte < bytes; ++byte) {
        const std::array<double, values> of = correlations(model, byte);
        const double right = of[right_key[byte]];
        // Equal coefficients share their mean rank. If the times never vary, all coefficients are equal.
        double rank = 0;
        for (const double other : of) rank += other > right ? 1 : other == right ? 0.5 : 0;
        rank -= 0.5;
        outcome.mean_rank += rank / bytes;
        outcome.right += rank == 0 ? 1 : 0;
        outcome.key[byte] = static_cast<std::uint8_t>(std::max_element(of.begin(), of.end()) - of.begin());
    }
    return outcome;
}

std::array<std::uint8_t, 16> key_of_last_round(std::span<const std::uint8_t, 16> round_key) {
    std::array<std::uint8_t, 16> k{};
    std::copy(round_key.begin(), round_key.end(), k.begin());
    std::array<std::uint8_t, 10> constants{};
    std::uint8_t power = 1;
    for (auto& c : constants) {
        c = power;
        power = static_cast<std::uint8_t>(power << 1 ^ (power >= 0x80 ? 0x1b : 0));
    }
    for (int r = 9; r >= 0; --r) {
        for (std::size_t i = 15; i >= 4; --i) k[i] ^= k[i - 4];
        for (std::size_t i = 0; i < 4; ++i) k[i] ^= warpaes::sbox[k[12 + (i + 1) % 4]];
        k[0] ^= constants[static_cast<std::size_t>(r)];
    }
    return k;
}

}  // namespace lab
