// Plans and predictions.
#include <algorithm>
#include <cstdio>

#include "capi/guard.hpp"
#include "capi/handles.hpp"
#include "message/checks.hpp"
#include "warpaes/planning.h"

namespace {

using namespace warpaes;
using namespace warpaes::capi;

Work to_work(const warpaes_work* given) {
    const auto w = read_struct(given, "work");
    if (w.key_bits != 128 && w.key_bits != 192 && w.key_bits != 256) {
        throw Error(WARPAES_ERROR_KEY_LENGTH, "key_bits: must be 128, 192 or 256, got " + std::to_string(w.key_bits));
    }
    if (w.batch != 0 && w.batch != 1) throw Error(WARPAES_ERROR_ARGUMENT, "batch: must be 0 or 1");
    const std::uint64_t messages = std::max<std::uint64_t>(1, w.messages);
    if (messages > 1 && w.batch == 0) throw Error(WARPAES_ERROR_ARGUMENT, "messages: must be 1 unless batch is 1");
    constexpr std::uint64_t most = std::uint64_t{1} << 60;
    if (messages > most || w.message_len > most / messages) {
        throw Error(WARPAES_ERROR_DATA_LENGTH, "message_len: all messages together must have at most 2^60 bytes");
    }
    if (w.memory == WARPAES_MEMORY_SHARED) {
        throw Error(WARPAES_ERROR_ARGUMENT, "memory: use PAGE_LOCKED for shared memory in a plan");
    }
    return {.mode = checked_mode(w.mode),
            .direction = checked_direction(w.direction),
            .key_bits = w.key_bits,
            .bytes = messages * w.message_len,
            .memory = checked_memory(w.memory),
            .messages = messages,
            .keys = std::max<std::uint64_t>(1, w.keys),
            .batch = w.batch == 1};
}

}  // namespace

extern "C" {

warpaes_status warpaes_engine_plan(warpaes_engine* engine, const warpaes_work* work, warpaes_plan* plan) {
    return guarded([&] {
        require(engine, "engine");
        auto out = read_struct(plan, "plan");
        const Explanation e = engine->impl.explain(to_work(work));
        out.device = e.plan.devices.front();
        out.backend = e.plan.backend->name().data();
        out.beside = e.beside != nullptr ? e.beside->name().data() : "";
        out.seconds = e.seconds;
        out.chunk_bytes = e.plan.chunk_bytes;
        out.lanes = e.plan.lanes;
        out.calibrated = e.calibrated ? 1 : 0;
        std::snprintf(out.reason, sizeof out.reason, "%s", e.reason.c_str());
        write_struct(out, plan, out.struct_size);
    });
}

warpaes_status warpaes_engine_predict(warpaes_engine* engine, const warpaes_work* work, size_t index,
                                      warpaes_prediction* prediction) {
    return guarded([&] {
        require(engine, "engine");
        auto out = read_struct(prediction, "prediction");
        const auto found = engine->impl.predict(to_work(work), backend_at(index));
        const Prediction p = found.value_or(Prediction{});
        out = {.struct_size = out.struct_size,
               .possible = found ? 1 : 0,
               .seconds = p.seconds,
               .cold_seconds = p.cold_seconds,
               .lanes = found ? p.lanes : 0,
               .calibrated = p.calibrated ? 1 : 0};
        write_struct(out, prediction, out.struct_size);
    });
}

}  // extern "C"
