// Whether what [P] and [D] concluded about files still holds: sentences made of figures.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "lab/result.hpp"
#include "lab/surfaces.hpp"

namespace lab::experiments {

// Of [P]. Panels are over file sizes, in GB/s; the first series is warpaes.

/// How much faster than the series `openssl`, on average over the files from `from` bytes on, or at the largest file if
/// all are smaller: 0.5 is 50 %.
double gain_on_large_files(const Panel& panel, const std::string& openssl, std::uint64_t from);
Verdict judge_large_files(const Panel& panel, const std::string& openssl, std::uint64_t from, double published);
Verdict judge_small_files(const Panel& panel, const std::string& openssl);
/// `series` of a panel over sizes of chunks.
Verdict judge_staging(const Panel& panel, const Series& series);
/// `series`: one thread; reader, worker and writer; production with one worker, and with more.
Verdict judge_reader_and_writer(const Panel& panel, const Series& series);
Verdict judge_workers(const Panel& panel, const Series& series);
/// Microseconds over lengths of ranges, of which the last is the whole file: a file job, and a reader.
Verdict judge_range(const Panel& panel);

// Of [D].

/// Surfaces with a GPU's among them.
Verdict judge_small_data(const Surfaces& surfaces);
Verdict judge_large_data(const Surfaces& surfaces);
/// Surfaces with AES-NI's among them.
Verdict judge_aes_ni(const Surfaces& surfaces);

/// How well a model describes the surfaces of an implementation, cross-validated.
struct Fit {
    std::string implementation;
    double relative_absolute_error, r_squared;
    double unsmoothed_error;  ///< relative absolute error if predictions are not smoothed
    double typical_factor;    ///< median of how many times too large or too small a predicted time is
};
/// At least one.
Verdict judge_fit(std::span<const Fit> fits);
/// `from`: the file size from which on the model expects the GPU ahead of `other`, none if it does not; `largest`: of
/// the surfaces.
Verdict judge_use(std::optional<std::uint64_t> from, const std::string& other, std::uint64_t largest);

}  // namespace lab::experiments
