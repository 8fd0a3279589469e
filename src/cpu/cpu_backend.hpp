// What the CPU backends share: all of them are a name and a function that carries out a run.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backend/stretch.hpp"

namespace warpaes::cpu {

using RunFunction = void (*)(const Run&);
using GcmFunction = void (*)(const GcmRun&);
/// See Backend::short_function.
using ShortFunctions = ShortFunction (*)(Mode, Direction) noexcept;
/// Groups of many messages, for the lane.
using BatchFunction = void (*)(StretchLane&, std::span<const MessageGroup>);

class CpuBackend final : public Backend {
public:
    /// `reason`: why it cannot run here; empty if it can. The functions are never called if it cannot.
    CpuBackend(std::string name, std::string description, std::string reason, RunFunction run, GcmFunction run_gcm,
               BatchFunction run_batch, ShortFunctions short_functions);

    [[nodiscard]] std::string_view name() const noexcept override { return info_.front().name; }
    [[nodiscard]] const std::vector<BackendInfo>& info() const noexcept override { return info_; }
    /// Throws Error{BACKEND} if it cannot run here.
    [[nodiscard]] std::unique_ptr<Lane> open_lane(int device, std::size_t staging_bytes, Pool* pool) override;
    [[nodiscard]] ShortFunction short_function(Mode mode, Direction direction) const noexcept override {
        return short_functions_(mode, direction);
    }

private:
    std::vector<BackendInfo> info_;
    RunFunction run_;
    GcmFunction run_gcm_;
    BatchFunction run_batch_;
    ShortFunctions short_functions_;
};

}  // namespace warpaes::cpu
