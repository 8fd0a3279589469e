#include "message/short.hpp"

#include "aes/ghash.hpp"
#include "backend/short.hpp"
#include "base/clean_stack.hpp"
#include "base/secret.hpp"
#include "cuda/cuda_backend.hpp"
#include "message/tagged.hpp"
#include "message/xts.hpp"

namespace warpaes {

namespace {

/// Of all that a CPU would read and write. One look for all that lies together: short messages often do.
bool lies_in_host_memory(const MessageRequest& r) {
    if (all_memory_is_the_hosts()) return true;
    CudaBackend& cuda = cuda_backend();
    MemoryStretch known;
    const auto on_host = [&](const void* pointer, std::uint64_t bytes) {
        if (bytes != 0 && !known.holds(pointer)) known = cuda.stretch(pointer, false);
        return known.device < 0;
    };
    return on_host(r.input, r.input_length) && on_host(r.output, r.input_length) && on_host(r.aad, r.aad_length) &&
           on_host(r.tag, r.tag_length);
}

}  // namespace

bool crypt_short(Engine& engine, const MessageRequest& r, MessageResult& result) {
    const bool gcm = r.mode == Mode::gcm;
    if (r.pkcs7 || r.range || (gcm ? r.iv.size() != gcm_nonce_bytes : r.input_length == 0)) return false;
    const ShortWays* const ways = engine.short_ways();
    if (ways == nullptr) return false;
    const ShortWay& way = ways->of(r.mode, r.direction, r.key->rounds());
    const std::uint64_t bytes = r.length_in_bits ? r.input_length / 8 + 1 : r.input_length;
    if (way.function == nullptr || bytes > way.most_bytes || r.aad_length > way.most_bytes - bytes) return false;
    if (!lies_in_host_memory(r)) return false;

    const bool bits = r.mode == Mode::cfb1 && !r.length_in_bits;
    const ShortMessage message{.mode = r.mode,
                               .direction = r.direction,
                               .key = r.key,
                               .iv = r.iv.data(),
                               .input = r.input,
                               .output = r.output,
                               .length = bits ? 8 * r.input_length : r.input_length,
                               .aad = r.aad,
                               .aad_length = r.aad_length,
                               .tag = r.tag,
                               .tag_length = r.tag_length,
                               .tweak_key = r.tweak_key,
                               .data_unit = r.mode == Mode::xts ? xts_unit(r) : 0};
    // What is called notes all of the stack that it uses.
    const bool right = clean_stack([&] { return way.function(message); }, 0);
    result.backend = way.backend;
    result.device = -1;
    if (!right) {
        wipe({r.output, static_cast<std::size_t>(r.input_length)});
        throw wrong_tag();
    }
    return true;
}

void run_blocks(const Backend& backend, Direction direction, const ExpandedKey& key, std::span<std::uint8_t> blocks) {
    (void)backend.short_function(Mode::ecb, direction)({.mode = Mode::ecb,
                                                        .direction = direction,
                                                        .key = &key,
                                                        .iv = nullptr,
                                                        .input = blocks.data(),
                                                        .output = blocks.data(),
                                                        .length = blocks.size(),
                                                        .aad = nullptr,
                                                        .aad_length = 0,
                                                        .tag = nullptr,
                                                        .tag_length = 0,
                                                        .tweak_key = nullptr,
                                                        .data_unit = 0});
}

}  // namespace warpaes
