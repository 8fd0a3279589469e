#include "predictions.hpp"

#include <fmt/format.h>

#include <bit>

namespace cli {

using nlohmann::json;

std::string human_seconds(double seconds) {
    if (seconds < 1e-6) return fmt::format("{:.3g} ns", seconds * 1e9);
    if (seconds < 1e-3) return fmt::format("{:.3g} us", seconds * 1e6);
    if (seconds < 1) return fmt::format("{:.3g} ms", seconds * 1e3);
    return fmt::format("{:.3g} s", seconds);
}

warpaes_mode mode_named(const std::string& name) {
    constexpr std::pair<const char*, warpaes_mode> modes[] = {
        {"ecb", WARPAES_ECB},   {"cbc", WARPAES_CBC},   {"cfb128", WARPAES_CFB128}, {"cfb", WARPAES_CFB128},
        {"cfb8", WARPAES_CFB8}, {"cfb1", WARPAES_CFB1}, {"ofb", WARPAES_OFB},       {"ctr", WARPAES_CTR},
        {"xts", WARPAES_XTS},   {"gcm", WARPAES_GCM},   {"ccm", WARPAES_CCM},       {"cmac", WARPAES_CMAC}};
    for (const auto& [known, mode] : modes) {
        if (name == known) return mode;
    }
    throw UsageError(fmt::format("--mode: '{}' is not a mode; see `warpaes plan --help`", name));
}

warpaes_memory memory_named(const std::string& name) {
    if (name == "host") return WARPAES_MEMORY_PAGEABLE;
    std::string names = "host";
    for (unsigned value = 0; const char* const known = warpaes_memory_name(std::bit_cast<warpaes_memory>(value));
         ++value) {
        if (value == WARPAES_MEMORY_SHARED) continue;  // arenas have this kind, buffers do not
        if (name == known) return std::bit_cast<warpaes_memory>(value);
        names += fmt::format(", {}", known);
    }
    throw UsageError(fmt::format("--from: must be one of {}, not '{}'", names, name));
}

json predictions_of(warpaes_engine* engine, const warpaes_work& work) {
    json list = json::array();
    const auto backends = list_backends();
    for (std::size_t i = 0; i < backends.size(); ++i) {
        warpaes_prediction p = {};
        p.struct_size = sizeof p;
        check(warpaes_engine_predict(engine, &work, i, &p));
        list.push_back({{"backend", backends[i].name},
                        {"device", backends[i].device},
                        {"possible", p.possible != 0},
                        {"seconds", p.seconds},
                        {"cold_seconds", p.cold_seconds},
                        {"lanes", p.lanes},
                        {"calibrated", p.calibrated != 0}});
    }
    return list;
}

json plan_of(warpaes_engine* engine, const warpaes_work& work) {
    warpaes_plan plan = {};
    plan.struct_size = sizeof plan;
    check(warpaes_engine_plan(engine, &work, &plan));
    return {{"backend", plan.backend},
            {"beside", plan.beside},
            {"device", plan.device},
            {"seconds", plan.seconds},
            {"lanes", plan.lanes},
            {"chunk_bytes", plan.chunk_bytes},
            {"calibrated", plan.calibrated != 0},
            {"reason", plan.reason}};
}

}  // namespace cli
