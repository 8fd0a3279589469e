#include "pipeline/message.hpp"

#include "cuda/cuda_backend.hpp"
#include "pipeline/cipher_stage.hpp"
#include "pipeline/memory.hpp"

namespace warpaes {

Outcome run_message(Engine& engine, const HostMessage& m) {
    const bool bits = m.mode == Mode::cfb1;
    const std::uint64_t bytes = bits ? m.length / 8 + (m.length % 8 != 0) : m.length;
    Plan plan = engine.plan(m.mode, m.direction, bytes, m.memory);
    if (m.device >= 0) plan.devices = {&m.device, 1};

    const bool parallel = is_parallel(m.mode, m.direction);
    const MemoryBuffer in = locate(plan, m.input, bytes, parallel);
    const MemoryBuffer out = locate(plan, m.output, bytes, parallel);
    const Outcome outcome{plan.backend->name(), plan.devices.front()};
    // Cutting a message pays if the pieces run side by side.
    const bool on_cpu = plan.backend != &cuda_backend();
    if (in.direct && out.direct && (bytes <= plan.chunk_bytes || (on_cpu && !parallel))) {
        engine.lease(plan, 0, 0)->run({m.mode, m.direction, m.key, m.input, m.output, m.length, m.iv});
        return outcome;
    }
    const Cipher cipher{.mode = m.mode,
                        .direction = m.direction,
                        .key = m.key,
                        .iv = m.iv,
                        .pkcs7 = false,
                        .unused_bits = bits ? static_cast<unsigned>(bytes * 8 - m.length) : 0,
                        .in_place = m.input == m.output};
    MemorySource source(in);
    MemorySink sink(out);
    run_cipher(engine, plan, cipher, source, sink);
    return outcome;
}

}  // namespace warpaes
