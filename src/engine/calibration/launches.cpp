#include "engine/calibration/launches.hpp"

#include <algorithm>

#include "backend/launch_figures.hpp"
#include "engine/calibration/file.hpp"

namespace warpaes {

namespace {

constexpr const char* what_to_do = "; the defaults of its architecture are used until `warpaes tune` measures it again";

std::string name_of(const TunedLaunches& tuned) {
    const std::uint32_t capability = tuned.gpu.compute_capability;
    return "compute capability " + std::to_string(capability / 10) + "." + std::to_string(capability % 10) + ", " +
           std::to_string(tuned.gpu.multiprocessors) + " multiprocessors and " +
           std::to_string(tuned.gpu.shared_bytes) + " bytes of shared memory";
}

}  // namespace

StoredLaunches launches_of(const CostModel& model, const GpuShape& gpu) {
    if (!model.note.empty()) return {{}, model.note + what_to_do};
    const auto found = std::find_if(model.launches.begin(), model.launches.end(),
                                    [&](const auto& stored) { return stored.first == plain_name(gpu.name); });
    if (found == model.launches.end()) {
        if (model.launches.empty()) return {};
        return {{}, "the stored launches belong to " + model.launches.begin()->first + what_to_do};
    }
    const TunedLaunches& tuned = found->second;
    if (tuned.gpu.compute_capability != gpu.compute_capability || tuned.gpu.multiprocessors != gpu.multiprocessors ||
        tuned.gpu.shared_bytes != gpu.shared_bytes) {
        return {{}, "the stored launches belong to a GPU of this name with " + name_of(tuned) + what_to_do};
    }
    if (const std::string why = objection(tuned.table, gpu); !why.empty()) {
        return {{}, "the stored launches are impossible on this GPU: " + why + what_to_do};
    }
    return {tuned.table, {}};
}

void store_launches(const GpuLaunches& launches, const std::string& path) {
    CostModel model = *load_calibration(path);
    model.launches[plain_name(launches.gpu.name)] = {launches.gpu, launches.used};
    store_calibration(model, path);
}

StoredLaunches stored_launches(const GpuShape& gpu) {
    return launches_of(*load_calibration(), gpu);
}

}  // namespace warpaes
