#include "message/mac.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "aes/cmac.hpp"
#include "base/error.hpp"
#include "cuda/cuda_backend.hpp"
#include "message/executor.hpp"
#include "message/gcm.hpp"
#include "pipeline/memory.hpp"
#include "pipeline/worker_lane.hpp"

namespace warpaes {

void check_mac(const MessageRequest& r) {
    if (r.aad == nullptr && r.aad_length != 0) throw Error(WARPAES_ERROR_ARGUMENT, "aad: is null");
    if (r.tag == nullptr) throw Error(WARPAES_ERROR_ARGUMENT, "tag: is null");
    if (r.mode == Mode::ccm && overlap(r.tag, r.tag_length, r.output, r.input_length)) {
        throw Error(WARPAES_ERROR_OVERLAP, "tag: lies in the output");
    }
}

void crypt_mac(Engine& engine, const MessageRequest& r, MessageResult& result) {
    const bool empty = r.input_length == 0, has_output = r.mode == Mode::ccm && !empty;
    const bool decrypt = r.direction == Direction::decrypt;
    const std::uint8_t* const input = empty ? nullptr : r.input;
    const Executor placed(engine, input, has_output ? r.output : input, std::nullopt);
    Plan plan = engine.plan(r.mode, r.direction, r.input_length, placed.memory());
    const int device = placed.data_device();
    if (device >= 0) plan.devices = {&device, 1};
    // What a GPU may fail to do is not begun there: in place, it could not be done again.
    if (plan.replaceable && plan.backend == &cuda_backend()) plan = Engine::replacement(plan);
    placed.wait_for_buffers();

    // A CPU reads nothing that lies on a device.
    std::optional<SecretBuffer> copied_aad;
    const std::uint8_t* aad = r.aad;
    if (const MemoryPlace place = cuda_backend().place(r.aad); r.aad_length != 0 && place.kind == Memory::device) {
        aad = copied_aad.emplace(static_cast<std::size_t>(r.aad_length)).data();
        copy_anywhere(copied_aad->data(), r.aad, copied_aad->size());
    }
    std::array<std::uint8_t, 13> iv{};
    std::copy(r.iv.begin(), r.iv.end(), iv.begin());
    const auto tag_bytes = static_cast<std::size_t>(r.tag_length);
    Secret<Block> tag;
    if (decrypt) copy_anywhere(tag->data(), r.tag, tag_bytes);

    std::uint8_t failed = 0;
    const MessageGroup group{.mode = r.mode,
                             .direction = r.direction,
                             .length = r.input_length,
                             .input = {const_cast<std::uint8_t*>(input), 0},
                             .output = {has_output ? r.output : nullptr, 0},
                             .iv = {iv.data(), 0},
                             .iv_length = static_cast<std::uint32_t>(r.iv.size()),
                             .aad_length = r.aad_length,
                             .aad = {const_cast<std::uint8_t*>(aad), 0},
                             .tag = {tag->data(), 0},
                             .tag_length = static_cast<std::uint32_t>(tag_bytes),
                             .key = r.key,
                             .keys = {},
                             .failed = &failed};
    try {
        WorkerLane worker(engine, plan, 0, 0);
        worker.run([&](Lane& lane) { lane.run_batch({&group, 1}); });
        result.backend = plan.backend->name();
        result.device = plan.devices.front();
        if (failed != 0) throw wrong_tag();
    } catch (...) {
        if (decrypt && has_output) {
            clear_after_failure(r.output, static_cast<std::size_t>(r.input_length), placed.output_device());
        }
        throw;
    }
    if (!decrypt) copy_anywhere(r.tag, tag->data(), tag_bytes);
}

}  // namespace warpaes
