// Costs with which the planner sends all divisible work and every batch to a GPU.
#pragma once

#include <memory>

#include "engine/engine.hpp"

namespace warpaes {

inline std::shared_ptr<const CostModel> gpu_first() {
    auto model = std::make_shared<CostModel>();
    for (const Backend* backend : all_backends()) {
        for (const BackendInfo& info : backend->info()) {
            CostTable& table = model->tables[CostModel::table_name(info)];
            for (std::size_t c = 0; c < work_classes; ++c) {
                for (std::size_t w = 0; w < ways; ++w) {
                    const auto work_class = static_cast<WorkClass>(c);
                    const auto way = static_cast<Way>(w);
                    const bool chain = work_class >= WorkClass::chained && way < Way::pageable_batch;
                    Cost cost;
                    cost.byte.fill(info.name != "cuda" ? 1 : chain ? 2 : 1e-9);
                    for (const unsigned key_bits : {128U, 256U}) table.set(work_class, way, key_bits, cost);
                }
            }
        }
    }
    return model;
}

}  // namespace warpaes
