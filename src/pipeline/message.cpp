#include "pipeline/message.hpp"

#include "cuda/cuda_backend.hpp"
#include "pipeline/cipher_stage.hpp"
#include "pipeline/memory.hpp"
#include "pipeline/worker_lane.hpp"

namespace warpaes {

Outcome run_message(Engine& engine, const HostMessage& m) {
    const bool bits = m.mode == Mode::cfb1;
    const std::uint64_t bytes = bits ? m.length / 8 + (m.length % 8 != 0) : m.length;
    const auto size = static_cast<std::size_t>(bytes);
    const auto [plan, in, out] =
        plan_ends(engine, {.mode = m.mode, .direction = m.direction, .key_bits = m.key->bits(), .memory = m.memory},
                  {m.input, size}, {m.output, size}, m.device);
    Outcome outcome{plan.backend->name(), plan.devices.front()};
    // Cutting a message pays if the pieces run side by side.
    const bool parallel = is_parallel(m.mode, m.direction);
    const bool on_cpu = plan.backend != &cuda_backend();
    if (in.direct && out.direct && (bytes <= plan.chunk_bytes || (on_cpu && !parallel))) {
        WorkerLane worker(engine, plan, 0, 0);
        worker.run([&](Lane& lane) {
            lane.run({m.mode, m.direction, m.key, m.input, m.output, m.length, m.iv, m.tweak_key, m.data_unit});
        });
        if (worker.device_failed()) outcome.notes |= WARPAES_NOTE_DEVICE_FAILED;
        return outcome;
    }
    const Cipher cipher{.mode = m.mode,
                        .direction = m.direction,
                        .key = m.key,
                        .iv = m.iv,
                        .pkcs7 = false,
                        .unused_bits = bits ? static_cast<unsigned>(bytes * 8 - m.length) : 0,
                        .in_place = m.input == m.output,
                        .tweak_key = m.tweak_key,
                        .data_unit = m.data_unit};
    MemorySource source(in);
    MemorySink sink(out);
    outcome.notes |= run_cipher(engine, plan, cipher, source, sink).notes;
    return outcome;
}

}  // namespace warpaes
