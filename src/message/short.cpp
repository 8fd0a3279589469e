#include "message/short.hpp"

#include "aes/ghash.hpp"
#include "base/clean_stack.hpp"
#include "base/secret.hpp"
#include "engine/engine.hpp"
#include "message/tagged.hpp"
#include "message/xts.hpp"

namespace warpaes {

namespace {

/// Of all that a CPU would read and write. One look for all that lies together: short messages often do.
bool lies_in_host_memory(const ShortMessage& m) {
    if (all_memory_is_the_hosts()) return true;
    CudaBackend& cuda = cuda_backend();
    MemoryStretch known;
    const auto on_host = [&](const void* pointer, std::uint64_t bytes) {
        if (bytes != 0 && !known.holds(pointer)) known = cuda.stretch(pointer, false);
        return known.device < 0;
    };
    return on_host(m.input, m.length) && on_host(m.output, m.length) && on_host(m.aad, m.aad_length) &&
           on_host(m.tag, m.tag_length);
}

/// `bytes`: of the output, which is wiped if the tag is wrong.
void carry_out(const ShortWay& way, const ShortMessage& message, std::uint64_t bytes, MessageResult& result) {
    // What is called notes all of the stack that it uses.
    const bool right = clean_stack([&] { return way.function(message); }, 0);
    result.backend = way.backend;
    result.device = -1;
    if (!right) {
        wipe({message.output, static_cast<std::size_t>(bytes)});
        throw wrong_tag();
    }
}

std::uintptr_t address(const void* pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer);
}

}  // namespace

bool crypt_plain(Engine& engine, const warpaes_message& m, const ExpandedKey& key, MessageResult& result) {
    const ShortWays* const ways = engine.short_ways();
    if (ways == nullptr || m.mode <= 0 || static_cast<std::size_t>(m.mode) >= mode_values) return false;
    if (m.direction != WARPAES_ENCRYPT && m.direction != WARPAES_DECRYPT) return false;
    const auto mode = static_cast<Mode>(m.mode);
    const ShortWay& way = ways->of(mode, static_cast<Direction>(m.direction), key.rounds());
    const std::uint64_t bytes = m.input_len;
    // Differences and bits that are all 0 where the message is plain: one branch for most of them. (No buffer that ends
    // below 2^48 reaches beyond the end of memory.)
    const std::uint64_t unused = m.flags | address(m.tweak_key) | m.data_unit_len | address(m.device_status) |
                                 address(m.mac_key) | address(m.aad_list) | m.aad_count;
    const std::uint64_t odd =
        unused | (bytes & way.odd_bytes) | (m.iv_len ^ way.iv_bytes) |
        (address(m.input) | address(m.output) | address(m.iv) | address(m.aad) | address(m.tag)) >> 47;
    if (odd != 0 || bytes - 1 >= way.most_plain_bytes || m.output_capacity < bytes) return false;
    if (m.input == nullptr || m.output == nullptr || (m.iv == nullptr && way.iv_bytes != 0)) return false;
    if (m.input != m.output && overlap(m.input, bytes, m.output, bytes)) return false;
    if (way.tags != 0) {
        if (m.tag_len > block_bytes || (way.tags >> m.tag_len & 1) == 0 || m.tag == nullptr) return false;
        if (m.aad_len > way.most_plain_bytes - bytes || (m.aad == nullptr && m.aad_len != 0)) return false;
        if (overlap(m.tag, m.tag_len, m.output, bytes) || overlap(m.tag, m.tag_len, m.input, bytes)) return false;
    } else if ((address(m.aad) | m.aad_len | address(m.tag) | m.tag_len) != 0) {
        return false;
    }
    if (mode == Mode::ctr && m.iv[0] == 0xff) return false;  // it may begin anew, which is worth a note

    const ShortMessage message{.mode = mode,
                               .direction = static_cast<Direction>(m.direction),
                               .key = &key,
                               .iv = m.iv,
                               .input = static_cast<const std::uint8_t*>(m.input),
                               .output = static_cast<std::uint8_t*>(m.output),
                               .length = bytes,
                               .aad = static_cast<const std::uint8_t*>(m.aad),
                               .aad_length = m.aad_len,
                               .tag = static_cast<std::uint8_t*>(m.tag),
                               .tag_length = m.tag_len,
                               .tweak_key = nullptr,
                               .data_unit = 0};
    if (!lies_in_host_memory(message)) return false;
    result.output_length = bytes;
    carry_out(way, message, bytes, result);
    return true;
}

bool crypt_short(Engine& engine, const MessageRequest& r, MessageResult& result) {
    const bool gcm = r.mode == Mode::gcm;
    if (r.pkcs7 || r.range || (gcm ? r.iv.size() != gcm_nonce_bytes : r.input_length == 0)) return false;
    const ShortWays* const ways = engine.short_ways();
    if (ways == nullptr) return false;
    const ShortWay& way = ways->of(r.mode, r.direction, r.key->rounds());
    const std::uint64_t bytes = r.length_in_bits ? r.input_length / 8 + 1 : r.input_length;
    if (way.function == nullptr || bytes > way.most_bytes || r.aad_length > way.most_bytes - bytes) return false;
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
    if (!lies_in_host_memory(message)) return false;
    carry_out(way, message, r.input_length, result);
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
