#include "cuda/launch.hpp"

#include <shared_mutex>
#include <unordered_map>
#include <vector>

namespace warpaes::cuda {

void allow_shared_bytes(const void* kernel, std::size_t bytes) {
    constexpr std::size_t always_allowed = 48 * 1024;
    if (bytes <= always_allowed) return;
    static std::shared_mutex mutex;
    static std::unordered_map<const void*, std::vector<std::size_t>> allowed;  // by device
    int device = 0;
    check(cudaGetDevice(&device), "querying the current device");
    const auto index = static_cast<std::size_t>(device);
    {
        const std::shared_lock lock(mutex);
        const auto found = allowed.find(kernel);
        if (found != allowed.end() && index < found->second.size() && bytes <= found->second[index]) return;
    }
    const std::lock_guard lock(mutex);
    std::vector<std::size_t>& its = allowed[kernel];
    if (its.size() <= index) its.resize(index + 1);
    if (bytes <= its[index]) return;
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
          "reserving shared memory");
    its[index] = bytes;
}

}  // namespace warpaes::cuda
