#include "engine/calibration/fit.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace warpaes {

namespace {

using Row = std::vector<double>;

// Columns of the linear system.
enum Column : std::size_t { fixed, message, key, serial_byte, first_span };
constexpr std::size_t columns = first_span + Cost::spans;

/// Weight of cost differences between adjacent spans, relative to the measurements. The weight is so small that it only
/// affects costs that the measurements do not determine.
constexpr double smoothness = 0.001;

std::uint64_t begin_of(std::size_t span) {
    return span == 0 ? 0 : Cost::ends[span - 1];
}

double bytes_in(std::size_t span, std::uint64_t bytes) {
    const std::uint64_t end = span < Cost::ends.size() ? std::min(bytes, Cost::ends[span]) : bytes;
    return end > begin_of(span) ? static_cast<double>(end - begin_of(span)) : 0;
}

Row row_of(const Measured& m, const FitTerms& terms, bool is_serial) {
    Row row(columns, 0.0);
    if (terms.fixed) row[fixed] = 1;
    if (is_serial) {
        row[serial_byte] = Cost{.serial_byte = 1, .in_flight = terms.in_flight}.of_chains(m.bytes, m.longest);
        return row;
    }
    if (terms.messages) row[message] = static_cast<double>(m.messages);
    if (terms.keys) row[key] = static_cast<double>(m.keys);
    for (std::size_t i = 0; i < Cost::spans; ++i) row[first_span + i] = bytes_in(i, m.bytes);
    return row;
}

Cost cost_of(const Row& x) {
    Cost cost{.fixed = x[fixed], .message = x[message], .key = x[key], .serial_byte = x[serial_byte]};
    std::copy(x.begin() + first_span, x.end(), cost.byte.begin());
    return cost;
}

/// Solves the least-squares problem over the columns in `chosen`, with normal equations and Gaussian elimination with
/// pivoting.
Row solve_chosen(const std::vector<Row>& normal, const Row& right, const std::vector<std::size_t>& chosen) {
    const std::size_t n = chosen.size();
    std::vector<Row> m(n, Row(n + 1));
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) m[i][j] = normal[chosen[i]][chosen[j]];
        m[i][i] *= 1 + 1e-12;  // linearly dependent columns share the weight
        m[i][n] = right[chosen[i]];
    }
    for (std::size_t i = 0; i < n; ++i) {
        const auto pivot =
            std::max_element(m.begin() + static_cast<std::ptrdiff_t>(i), m.end(),
                             [&](const Row& a, const Row& b) { return std::fabs(a[i]) < std::fabs(b[i]); });
        std::iter_swap(m.begin() + static_cast<std::ptrdiff_t>(i), pivot);
        if (m[i][i] == 0) continue;
        for (std::size_t k = i + 1; k < n; ++k) {
            const double factor = m[k][i] / m[i][i];
            for (std::size_t j = i; j <= n; ++j) m[k][j] -= factor * m[i][j];
        }
    }
    Row x(n, 0.0);
    for (std::size_t i = n; i-- > 0;) {
        double sum = m[i][n];
        for (std::size_t j = i + 1; j < n; ++j) sum -= m[i][j] * x[j];
        x[i] = m[i][i] == 0 ? 0 : sum / m[i][i];
    }
    return x;
}

}  // namespace

std::vector<double> solve_nonnegative(const std::vector<Row>& a, const std::vector<double>& b) {
    const std::size_t n = a.empty() ? 0 : a.front().size();
    // Columns are scaled to length 1, so that seconds and seconds per byte have the same weight.
    Row scale(n, 0.0);
    for (const Row& row : a) {
        for (std::size_t j = 0; j < n; ++j) scale[j] += row[j] * row[j];
    }
    for (double& s : scale) s = s > 0 ? std::sqrt(s) : 0;
    std::vector<Row> normal(n, Row(n, 0.0));
    Row right(n, 0.0);
    const auto at = [&](const Row& row, std::size_t j) { return scale[j] > 0 ? row[j] / scale[j] : 0; };
    for (std::size_t r = 0; r < a.size(); ++r) {
        for (std::size_t i = 0; i < n; ++i) {
            right[i] += at(a[r], i) * b[r];
            for (std::size_t j = 0; j < n; ++j) normal[i][j] += at(a[r], i) * at(a[r], j);
        }
    }
    Row x(n, 0.0);
    std::vector<bool> passive(n, false);
    const auto gradient = [&](std::size_t j) {
        double sum = right[j];
        for (std::size_t k = 0; k < n; ++k) sum -= normal[j][k] * x[k];
        return sum;
    };
    constexpr double tolerance = 1e-10;
    for (std::size_t step = 0; step < 3 * n; ++step) {
        std::size_t best = n;
        double steepest = tolerance;
        for (std::size_t j = 0; j < n; ++j) {
            if (!passive[j] && scale[j] > 0 && gradient(j) > steepest) {
                steepest = gradient(j);
                best = j;
            }
        }
        if (best == n) break;
        passive[best] = true;
        for (;;) {
            std::vector<std::size_t> chosen;
            for (std::size_t j = 0; j < n; ++j) {
                if (passive[j]) chosen.push_back(j);
            }
            const Row z = solve_chosen(normal, right, chosen);
            double reach = 1;  // largest step from x towards z that keeps all values nonnegative
            for (std::size_t i = 0; i < chosen.size(); ++i) {
                if (z[i] <= 0) reach = std::min(reach, x[chosen[i]] / (x[chosen[i]] - z[i] + 1e-300));
            }
            bool done = true;
            for (std::size_t i = 0; i < chosen.size(); ++i) {
                double& value = x[chosen[i]];
                value += reach * (z[i] - value);
                if (z[i] <= 0 && value <= 1e-14) {
                    value = 0;
                    passive[chosen[i]] = false;
                    done = false;
                }
            }
            if (done || reach == 1) break;
        }
    }
    for (std::size_t j = 0; j < n; ++j) x[j] = scale[j] > 0 ? std::max(0.0, x[j] / scale[j]) : 0;
    return x;
}

Cost fit_cost(std::span<const Measured> measured, const FitTerms& terms) {
    std::uint64_t most = 0;
    double cheapest = 1e300;  // seconds per byte; the scale for cost differences
    for (const Measured& m : measured) {
        most = std::max(most, m.bytes);
        if (m.bytes != 0) cheapest = std::min(cheapest, m.seconds / static_cast<double>(m.bytes));
    }
    // A measurement shows only the larger of two terms, and the parameters determine which term is larger. The
    // parameters and the larger term of each measurement are therefore determined alternately.
    std::vector<bool> is_serial(measured.size());
    for (std::size_t i = 0; i < measured.size(); ++i) is_serial[i] = terms.serial && measured[i].messages == 1;
    Cost cost;
    for (int turn = 0; turn < 20; ++turn) {
        std::vector<Row> a;
        std::vector<double> b;
        for (std::size_t i = 0; i < measured.size(); ++i) {
            Row row = row_of(measured[i], terms, is_serial[i]);
            for (double& value : row) value /= measured[i].seconds;
            a.push_back(std::move(row));
            b.push_back(1);
        }
        for (std::size_t i = 0; i + 1 < Cost::spans && most > begin_of(i + 1); ++i) {
            Row row(columns, 0.0);
            row[first_span + i] = smoothness / cheapest;
            row[first_span + i + 1] = -smoothness / cheapest;
            a.push_back(std::move(row));
            b.push_back(0);
        }
        cost = cost_of(solve_nonnegative(a, b));
        cost.in_flight = terms.in_flight;
        bool changed = false;
        for (std::size_t i = 0; i < measured.size() && terms.serial; ++i) {
            const Measured& m = measured[i];
            const double shared = cost.message * static_cast<double>(m.messages) +
                                  cost.key * static_cast<double>(m.keys) + cost.of_bytes(m.bytes);
            const bool now = cost.of_chains(m.bytes, m.longest) > shared;
            changed = changed || now != is_serial[i];
            is_serial[i] = now;
        }
        if (!changed) break;
    }
    // Beyond the largest measurement, the cost of a byte must not be 0, which could happen if that measurement was
    // disturbed less than the next smaller one.
    const Measured& largest = *std::max_element(measured.begin(), measured.end(),
                                                [](const auto& x, const auto& y) { return x.bytes < y.bytes; });
    const double usual = most == 0 ? 0 : cost.of_bytes(most) / static_cast<double>(largest.bytes);
    for (std::size_t i = 1; i < Cost::spans; ++i) {
        if (begin_of(i) >= most) cost.byte[i] = std::max(cost.byte[i - 1], usual / 2);
    }
    cost.byte.back() = std::max(cost.byte.back(), usual / 2);
    return cost;
}

double median_error(const Cost& cost, std::span<const Measured> measured) {
    std::vector<double> errors;
    for (const Measured& m : measured) {
        errors.push_back(std::fabs(cost.seconds(m.bytes, m.messages, m.longest, m.keys) / m.seconds - 1));
    }
    if (errors.empty()) return 0;
    std::nth_element(errors.begin(), errors.begin() + static_cast<std::ptrdiff_t>(errors.size() / 2), errors.end());
    return errors[errors.size() / 2];
}

}  // namespace warpaes
