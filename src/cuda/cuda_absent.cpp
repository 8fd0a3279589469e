// The `cuda` backend in a build without a CUDA compiler. It is listed with the reason why it cannot run.
#include "backend/cuda_backend.hpp"
#include "base/error.hpp"
#include "cuda/tuning/host.hpp"

namespace warpaes {

namespace {

class CudaAbsent final : public CudaBackend {
public:
    std::string_view name() const noexcept override { return "cuda"; }
    const std::vector<BackendInfo>& info() const noexcept override { return info_; }
    std::unique_ptr<Lane> open_lane(int, std::size_t, Pool*) override { refuse(); }
    bool is_loaded() const noexcept override { return true; }
    bool is_awake() const noexcept override { return false; }
    MemoryPlace place(const void*) noexcept override { return {}; }
    MemoryStretch stretch(const void*, bool) noexcept override { return {-1, 0, UINTPTR_MAX}; }
    void enqueue(std::span<const MessageGroup>, int, void*) override { refuse(); }
    void enqueue(const NumbersRun&, int, void*) override { refuse(); }
    void enqueue_copied(std::span<const MessageGroup>, std::span<std::uint8_t* const>, bool, int, void*) override {
        refuse();
    }
    void finish_copies(void*) override {}
    void run(const MessageGroup&, int, std::optional<CallerStream>) override { refuse(); }
    void run(const GcmSivRun&, int) override { refuse(); }
    void run(const NumbersRun&, int) override { refuse(); }
    void synchronize(int, void*) override { refuse(); }
    void copy(void*, const void*, std::size_t, int, void*) override { refuse(); }
    void copy_rows(void*, std::size_t, const void*, std::size_t, std::size_t, std::size_t, int, void*) override {
        refuse();
    }
    void clear(void*, std::size_t, int, void*) override { refuse(); }
    bool host_register(void*, std::size_t) override { refuse(); }
    void host_unregister(void*) noexcept override {}
    bool registers() const noexcept override { return true; }
    void* allocate(Memory, int, std::size_t) override { refuse(); }
    void release(Memory, void*) noexcept override {}
    bool keeps_keys() noexcept override { return false; }
    void wipe_keys_before(std::chrono::steady_clock::time_point) override {}
    const GpuTransfers& transfers() const noexcept override { return cuda::gpu_transfers; }
    std::uint64_t most_mapped(Mode, Direction) const noexcept override { return 0; }
    void find_launches_by(StoredLaunches (*)(const GpuShape&)) noexcept override {}
    GpuLaunches launches(int) override { refuse(); }
    void use_launches(int, const std::optional<LaunchTable>&) override { refuse(); }

private:
    [[noreturn]] void refuse() const { throw Error(WARPAES_ERROR_BACKEND, "cuda: " + info_.front().reason); }

    std::vector<BackendInfo> info_{
        {.name = "cuda",
         .description = "CUDA",
         .reason = "this build of warpaes does not include CUDA; rebuild with the cuda preset",
         .gpu = true}};
};

}  // namespace

bool all_memory_is_the_hosts() noexcept {
    return true;
}

GpuMemory& gpu_memory() {
    return cuda_backend();
}

CudaBackend& cuda_backend() {
    // The backend is never destroyed, because the threads of an engine may outlive the static objects.
    static auto* backend = new CudaAbsent;
    return *backend;
}

}  // namespace warpaes
