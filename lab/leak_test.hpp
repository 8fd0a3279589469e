// Whether two classes of times differ: Welch's t-test as dudect makes it (Reparaz, Balasch, Verbauwhede: "Dude, is my
// code constant time?", 2017).
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace lab {

/// Number, sum and sum of squares of a class. Values are best near 0: what they have in common costs digits.
class Moments {
public:
    void add(double x) {
        n_ += 1;
        sum_ += x;
        squares_ += x * x;
    }
    Moments& operator+=(const Moments& other) {
        n_ += other.n_;
        sum_ += other.sum_;
        squares_ += other.squares_;
        return *this;
    }
    [[nodiscard]] double count() const { return n_; }
    [[nodiscard]] double mean() const { return n_ == 0 ? 0 : sum_ / n_; }
    [[nodiscard]] double variance() const { return n_ < 2 ? 0 : (squares_ - sum_ * sum_ / n_) / (n_ - 1); }

private:
    double n_ = 0, sum_ = 0, squares_ = 0;
};

/// Welch's t of two classes; 0 if one of them has fewer than two times. Of classes that do not vary at all it is 0
/// where they are equal, else `no_doubt` with the difference's sign.
inline constexpr double no_doubt = 1e9;
double welch_t(const Moments& a, const Moments& b);

/// The times of a fixed and of a random class, one by one. Long times are mostly other people's doing, so the test is
/// also made without them: cropped at 100 thresholds, and of the squared distances from the mean.
class LeakTest {
public:
    static constexpr std::size_t crops = 100;
    static constexpr double enough = 10'000;  ///< times that a test needs to count

    /// `first`: times that thresholds are taken from, at least one. They are not part of the test.
    explicit LeakTest(std::vector<double> first);
    /// `kind`: 0 fixed, 1 random.
    void add(unsigned kind, double time);

    struct Outcome {
        double t = 0;           ///< the largest of all tests that have enough times, with its sign: fixed less random
        double whole_t = 0;     ///< of all times
        double kept = 1;        ///< which share of the times the largest was of
        bool squared = false;   ///< it was the one of squared distances
        std::size_t times = 0;  ///< of both classes
        double fixed_mean = 0, random_mean = 0, deviation = 0;
    };
    [[nodiscard]] Outcome outcome() const;

private:
    using Both = std::array<Moments, 2>;
    double origin_;  ///< taken off every time, so that sums of squares lose nothing
    std::array<double, crops> thresholds_{};
    std::array<Both, crops + 1> buckets_{};  ///< by the first threshold that a time is not above
    Both squared_{};
    Both all_{};
};

}  // namespace lab
