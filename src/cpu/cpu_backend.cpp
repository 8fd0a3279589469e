#include "cpu/cpu_backend.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "base/error.hpp"

namespace warpaes::cpu {

namespace {

/// Page-aligned heap memory that is wiped before it is released. What was never handed out stays untouched: its pages
/// are not even there, and to fetch them for wiping would take longer than a short message.
class Staging {
public:
    explicit Staging(std::size_t bytes) : bytes_(bytes) {
        if (bytes != 0) data_ = static_cast<std::uint8_t*>(::operator new(bytes, alignment));
    }
    Staging(const Staging&) = delete;
    Staging& operator=(const Staging&) = delete;
    ~Staging() {
        if (data_ == nullptr) return;
        wipe_first(bytes_);
        ::operator delete(data_, alignment);
    }
    [[nodiscard]] std::span<std::uint8_t> hand_out() noexcept {
        clean_ = false;
        return {data_, bytes_};
    }
    void wipe_first(std::size_t bytes) noexcept {
        if (clean_) return;
        wipe({data_, bytes});
        clean_ = bytes == bytes_;
    }

private:
    static constexpr std::align_val_t alignment{4096};
    std::uint8_t* data_ = nullptr;
    std::size_t bytes_;
    bool clean_ = true;
};

class CpuLane final : public StretchLane {
public:
    CpuLane(RunFunction run, GcmFunction run_gcm, BatchFunction run_batch, std::size_t staging_bytes)
        : run_(run), run_gcm_(run_gcm), run_batch_(run_batch), input_(staging_bytes), output_(staging_bytes) {}

    std::span<std::uint8_t> input_staging() noexcept override { return input_.hand_out(); }
    std::span<std::uint8_t> output_staging() noexcept override { return output_.hand_out(); }
    void wipe_staging(std::size_t bytes) noexcept override {
        input_.wipe_first(bytes);
        output_.wipe_first(bytes);
    }
    void run_stretch(const Run& run) override {
        if (run.length != 0) run_(run);
    }
    void run_gcm(const GcmRun& run) override { run_gcm_(run); }
    void run(std::span<const MessageGroup> groups) override {
        const bool one_by_one =
            std::all_of(groups.begin(), groups.end(), [](const MessageGroup& g) { return g.direct; });
        if (one_by_one) return run_one_by_one(groups);
        run_batch_(*this, groups);
    }

private:
    RunFunction run_;
    GcmFunction run_gcm_;
    BatchFunction run_batch_;
    Staging input_;
    Staging output_;
};

}  // namespace

CpuBackend::CpuBackend(std::string name, std::string description, std::string reason, RunFunction run,
                       GcmFunction run_gcm, BatchFunction run_batch, ShortFunctions short_functions)
    : run_(run), run_gcm_(run_gcm), run_batch_(run_batch), short_functions_(short_functions) {
    info_.push_back({.name = std::move(name), .description = std::move(description), .reason = std::move(reason)});
}

std::unique_ptr<Lane> CpuBackend::open_lane(int /*device*/, std::size_t staging_bytes, Pool* /*pool*/) {
    if (!usable()) throw Error(WARPAES_ERROR_BACKEND, info_.front().name + ": " + info_.front().reason);
    try {
        return std::make_unique<CpuLane>(run_, run_gcm_, run_batch_, staging_bytes);
    } catch (const std::bad_alloc&) {
        throw Error(WARPAES_ERROR_OUT_OF_MEMORY,
                    "staging: cannot allocate 2 x " + std::to_string(staging_bytes) + " bytes of memory");
    }
}

}  // namespace warpaes::cpu
