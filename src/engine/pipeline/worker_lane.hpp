// A worker's lane, and its replacement if a GPU fails during the work.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "base/error.hpp"
#include "engine/engine.hpp"

namespace warpaes {

/// A lane of the plan. If its GPU fails and the plan is replaceable, the best CPU backend replaces it permanently. The
/// failed lane's staging buffers stay in use, because they are host memory and contain the input.
class WorkerLane {
public:
    WorkerLane(Engine& engine, const Plan& plan, unsigned worker, std::size_t staging_bytes);

    [[nodiscard]] std::span<std::uint8_t> input_staging() noexcept { return (*first_)->input_staging(); }
    [[nodiscard]] std::span<std::uint8_t> output_staging() noexcept { return (*first_)->output_staging(); }
    void used(std::size_t bytes) noexcept { first_->used(bytes); }

    /// Whether work may have to be repeated and therefore must not overwrite its input.
    [[nodiscard]] bool may_repeat() const noexcept { return replaceable_; }
    [[nodiscard]] bool device_failed() const noexcept { return device_failed_; }

    /// Calls `work(Lane&)`, and again with a different lane if the GPU of the first lane fails.
    template <typename Work>
    void run(const Work& work) {
        try {
            work(second_ ? **second_ : **first_);
        } catch (const Error& e) {
            if (!replaceable_ || !is_failure_of_device(e)) throw;
            replace();
            work(**second_);
        }
    }

private:
    void replace();

    Engine& engine_;
    const Plan& plan_;
    unsigned worker_;
    bool replaceable_;
    bool device_failed_ = false;
    std::optional<LaneLease> first_;
    std::optional<LaneLease> second_;
};

}  // namespace warpaes
