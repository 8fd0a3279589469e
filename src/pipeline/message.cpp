#include "pipeline/message.hpp"

#include "cuda/cuda_backend.hpp"
#include "pipeline/cipher_stage.hpp"
#include "pipeline/memory.hpp"
#include "pipeline/worker_lane.hpp"

namespace warpaes {

Outcome run_message(Engine& engine, const HostMessage& m) {
    const bool bits = m.mode == Mode::cfb1;
    const std::uint64_t bytes = bits ? m.length / 8 + (m.length % 8 != 0) : m.length;
    const bool in_place = m.input == m.output;
    // Where the CPU is to redo what a GPU failed to do, the GPU must not write over its input.
    const bool apart = in_place && engine.forced() == nullptr && m.memory == Memory::page_locked;
    Plan plan = engine.plan(m.mode, m.direction, bytes, apart ? Memory::pageable : m.memory);
    if (m.device >= 0) plan.devices = {&m.device, 1};

    const bool parallel = is_parallel(m.mode, m.direction);
    const MemoryBuffer in = locate(plan, m.input, bytes, parallel);
    MemoryBuffer out = locate(plan, m.output, bytes, parallel);
    if (in_place && plan.replaceable) out.direct = false;
    Outcome outcome{plan.backend->name(), plan.devices.front()};
    // Cutting a message pays if the pieces run side by side.
    const bool on_cpu = plan.backend != &cuda_backend();
    if (in.direct && out.direct && (bytes <= plan.chunk_bytes || (on_cpu && !parallel))) {
        WorkerLane worker(engine, plan, 0, 0);
        worker.run([&](Lane& lane) { lane.run({m.mode, m.direction, m.key, m.input, m.output, m.length, m.iv}); });
        if (worker.device_failed()) outcome.notes |= WARPAES_NOTE_DEVICE_FAILED;
        return outcome;
    }
    const Cipher cipher{.mode = m.mode,
                        .direction = m.direction,
                        .key = m.key,
                        .iv = m.iv,
                        .pkcs7 = false,
                        .unused_bits = bits ? static_cast<unsigned>(bytes * 8 - m.length) : 0,
                        .in_place = in_place};
    MemorySource source(in);
    MemorySink sink(out);
    outcome.notes |= run_cipher(engine, plan, cipher, source, sink).notes;
    return outcome;
}

}  // namespace warpaes
