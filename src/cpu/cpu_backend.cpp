#include "cpu/cpu_backend.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "base/error.hpp"

namespace warpaes::cpu {

namespace {

/// Page-aligned heap memory that is wiped before it is released. Memory that was never handed out is not accessed: its
/// pages are not mapped yet, and mapping them only to wipe them would take longer than a short message.
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
    CpuLane(const CpuFunctions& functions, std::size_t staging_bytes)
        : functions_(functions), input_(staging_bytes), output_(staging_bytes) {}

    std::span<std::uint8_t> input_staging() noexcept override { return input_.hand_out(); }
    std::span<std::uint8_t> output_staging() noexcept override { return output_.hand_out(); }
    void wipe_staging(std::size_t bytes) noexcept override {
        input_.wipe_first(bytes);
        output_.wipe_first(bytes);
    }
    void run_stretch(const Run& run) override {
        if (run.length != 0) functions_.run(run);
    }
    void run_gcm(const GcmRun& run) override { functions_.run_gcm(run); }
    void run(std::span<const MessageGroup> groups) override {
        const bool one_by_one =
            std::all_of(groups.begin(), groups.end(), [](const MessageGroup& g) { return g.direct; });
        if (one_by_one || functions_.run_batch == nullptr) return run_one_by_one(groups);
        functions_.run_batch(*this, groups);
    }
    void run_alike(const MessageGroup& form, std::span<const AlikeGroup> groups) override {
        if (functions_.run_alike == nullptr) return Lane::run_alike(form, groups);
        functions_.run_alike(*this, form, groups);
    }

private:
    CpuFunctions functions_;
    Staging input_;
    Staging output_;
};

}  // namespace

CpuBackend::CpuBackend(std::string name, std::string description, std::string reason, const CpuFunctions& functions)
    : functions_(functions) {
    info_.push_back({.name = std::move(name), .description = std::move(description), .reason = std::move(reason)});
}

std::unique_ptr<Lane> CpuBackend::open_lane(int /*device*/, std::size_t staging_bytes, Pool* /*pool*/) {
    if (!usable()) throw Error(WARPAES_ERROR_BACKEND, info_.front().name + ": " + info_.front().reason);
    try {
        return std::make_unique<CpuLane>(functions_, staging_bytes);
    } catch (const std::bad_alloc&) {
        throw Error(WARPAES_ERROR_OUT_OF_MEMORY,
                    "staging: cannot allocate 2 x " + std::to_string(staging_bytes) + " bytes of memory");
    }
}

}  // namespace warpaes::cpu
