#include "cpu/cpu_backend.hpp"

#include <new>
#include <utility>

#include "base/error.hpp"

namespace warpaes::cpu {

namespace {

/// Page-aligned heap memory that is wiped before it is released.
class Staging {
public:
    explicit Staging(std::size_t bytes) : bytes_(bytes) {
        if (bytes != 0) data_ = static_cast<std::uint8_t*>(::operator new(bytes, alignment));
    }
    Staging(const Staging&) = delete;
    Staging& operator=(const Staging&) = delete;
    ~Staging() {
        if (data_ == nullptr) return;
        wipe(span());
        ::operator delete(data_, alignment);
    }
    [[nodiscard]] std::span<std::uint8_t> span() const noexcept { return {data_, bytes_}; }

private:
    static constexpr std::align_val_t alignment{4096};
    std::uint8_t* data_ = nullptr;
    std::size_t bytes_;
};

class CpuLane final : public Lane {
public:
    CpuLane(RunFunction run, GcmFunction run_gcm, std::size_t staging_bytes)
        : run_(run), run_gcm_(run_gcm), input_(staging_bytes), output_(staging_bytes) {}

    std::span<std::uint8_t> input_staging() noexcept override { return input_.span(); }
    std::span<std::uint8_t> output_staging() noexcept override { return output_.span(); }
    void run(const Run& run) override {
        if (run.length != 0) run_(run);
    }
    void run_gcm(const GcmRun& run) override { run_gcm_(run); }

private:
    RunFunction run_;
    GcmFunction run_gcm_;
    Staging input_;
    Staging output_;
};

}  // namespace

CpuBackend::CpuBackend(std::string name, std::string description, std::string reason, RunFunction run,
                       GcmFunction run_gcm)
    : run_(run), run_gcm_(run_gcm) {
    info_.push_back({.name = std::move(name), .description = std::move(description), .reason = std::move(reason)});
}

std::unique_ptr<Lane> CpuBackend::open_lane(int /*device*/, std::size_t staging_bytes) {
    if (!usable()) throw Error(WARPAES_ERROR_BACKEND, info_.front().name + ": " + info_.front().reason);
    try {
        return std::make_unique<CpuLane>(run_, run_gcm_, staging_bytes);
    } catch (const std::bad_alloc&) {
        throw Error(WARPAES_ERROR_OUT_OF_MEMORY,
                    "staging: cannot allocate 2 x " + std::to_string(staging_bytes) + " bytes of memory");
    }
}

}  // namespace warpaes::cpu
