// The common part of the CPU backends. Each backend consists of a name and a few functions that process runs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backend/backend.hpp"
#include "backend/stretch.hpp"

namespace warpaes::cpu {

using RunFunction = void (*)(const Run&);
using GcmFunction = void (*)(const GcmRun&);
/// See Backend::short_function.
using ShortFunctions = ShortFunction (*)(Mode, Direction, int rounds) noexcept;
/// Processes groups of many messages for the lane.
using BatchFunction = void (*)(StretchLane&, std::span<const MessageGroup>);

/// As Lane::run_alike().
using AlikeFunction = void (*)(StretchLane&, const MessageGroup& form, std::span<const AlikeGroup>);

struct CpuFunctions {
    RunFunction run = nullptr;
    GcmFunction run_gcm = nullptr;
    ShortFunctions short_function = nullptr;
    BatchFunction run_batch = nullptr;  ///< null: messages are processed one after another
    GcmSivFunction gcm_siv = nullptr;
    AlikeFunction run_alike = nullptr;  ///< null: as other groups
};

class CpuBackend final : public Backend {
public:
    /// `reason` is why the backend cannot run here, or empty if it can. If it cannot, the functions are never called.
    CpuBackend(std::string name, std::string description, std::string reason, const CpuFunctions& functions);

    [[nodiscard]] std::string_view name() const noexcept override { return info_.front().name; }
    [[nodiscard]] const std::vector<BackendInfo>& info() const noexcept override { return info_; }
    /// Throws Error{BACKEND} if the backend cannot run here.
    [[nodiscard]] std::unique_ptr<Lane> open_lane(int device, std::size_t staging_bytes, Pool* pool) override;
    [[nodiscard]] ShortFunction short_function(Mode mode, Direction direction, int rounds) const noexcept override {
        return functions_.short_function(mode, direction, rounds);
    }

    [[nodiscard]] GcmSivFunction gcm_siv_function() const noexcept override { return functions_.gcm_siv; }

private:
    std::vector<BackendInfo> info_;
    CpuFunctions functions_;
};

/// The kernels are named by register width; `folding` computes fewer products in GCM (FoldingZmm in
/// vaes512_vector.hpp).
enum class VaesKernels { bits256, bits512, bits512_folding };

/// Returns the VAES backend with these kernels, for tests and measurements. The global vaes_backend() uses the fastest
/// kernels that this machine can run.
Backend& vaes_backend(VaesKernels kernels);

}  // namespace warpaes::cpu
