// Tests whether two classes of times differ: Welch's t-test as in dudect (Reparaz, Balasch, Verbauwhede: "Dude, is my
// code constant time?", 2017).
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace lab {

/// Count, sum and sum of squares of a class. Values should be near 0, because a large common offset loses precision.
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

/// Welch's t of two classes; 0 if either has fewer than two times. If neither class varies, t is 0 for equal means and
/// otherwise `no_doubt` with the sign of the difference.
inline constexpr double no_doubt = 1e9;
double welch_t(const Moments& a, const Moments& b);

/// Compares the times of a fixed class and a random class, which are added one by one. Long times are usually caused by
/// other programs, so the test is repeated on the times up to each of 100 thresholds, and on the squared distances from
/// the mean.
class LeakTest {
public:
    static constexpr std::size_t crops = 100;
    static constexpr double enough = 10'000;  ///< minimum number of times for a test to count

    /// `first` contains at least one time. The thresholds are the quantiles of `first`, whose times are not part of the
    /// test.
    explicit LeakTest(std::vector<double> first);
    /// `kind` is 0 for the fixed class and 1 for the random class.
    void add(unsigned kind, double time);

    struct Outcome {
        double t = 0;           ///< largest |t| of the tests with enough times; negative if the fixed mean is lower
        double whole_t = 0;     ///< t of the uncropped times
        double kept = 1;        ///< share of the times from which the largest |t| is computed
        bool squared = false;   ///< whether the largest |t| comes from the squared distances
        std::size_t times = 0;  ///< number of times in both classes
        double fixed_mean = 0, random_mean = 0, deviation = 0;
    };
    [[nodiscard]] Outcome outcome() const;

private:
    using Both = std::array<Moments, 2>;
    double origin_;  ///< subtracted from every time, so that sums of squares keep their precision
    std::array<double, crops> thresholds_{};
    std::array<Both, crops + 1> buckets_{};  ///< grouped by the lowest threshold that is not below the time
    Both squared_{};
    Both all_{};
};

}  // namespace lab
