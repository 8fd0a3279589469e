#include "message/short.hpp"

#include "aes/ghash.hpp"
#include "base/clean_stack.hpp"
#include "base/secret.hpp"
#include "engine/engine.hpp"
#include "message/checks.hpp"
#include "message/xts.hpp"

namespace warpaes {

namespace {

/// Whether all memory that a CPU would read or write is in host memory. One query covers all buffers in the same
/// stretch of memory, and often all buffers of a short message are in one stretch. If the input is on a device,
/// `input_device` is set to that device.
bool lies_in_host_memory(const ShortMessage& m, int& input_device) {
    MemoryStretch known;
    const auto on_host = [&](const void* pointer, std::uint64_t bytes) {
        if (bytes != 0 && !known.holds(pointer)) known = stretch_of(pointer, false);
        return known.device < 0;
    };
    if (!on_host(m.input, m.length)) input_device = known.device;
    return input_device < 0 && on_host(m.output, m.length) && on_host(m.aad, m.aad_length) &&
           on_host(m.tag, m.tag_length);
}

/// Processes a short message with a kernel; all short messages take this path. `input_device` is the device of the
/// input, if known. If a buffer is in device memory, nothing is processed.
[[gnu::always_inline]] inline PlainOutcome carry_out(const ShortWay& way, const ShortMessage& m, int input_device) {
    if (!all_memory_is_the_hosts() && (input_device >= 0 || !lies_in_host_memory(m, input_device))) {
        return {nullptr, true, input_device};
    }
    const bool right = clean_after(way.function, m);
    if (!right) wipe({m.output, static_cast<std::size_t>(m.length)});
    return {&way, right};
}

bool note(const PlainOutcome& outcome, MessageResult& result) {
    if (outcome.way == nullptr) return false;
    result.backend = outcome.way->backend;
    if (!outcome.tag_is_right) result.refusal = wrong_tag;
    return true;
}

std::uintptr_t address(const void* pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer);
}

/// Whether `way` accepts `m` without further checks. (A buffer that ends below 2^48 cannot extend past the end of
/// memory.)
[[gnu::always_inline]] inline bool is_plain(const warpaes_message& m, const ShortWay& way) {
    const std::uint64_t bytes = m.input_len;
    // Values that are all 0 for a plain message, so that one branch tests most conditions. A null pointer minus 1 has
    // its upper bits set.
    const std::uint64_t unused = m.flags | address(m.tweak_key) | m.data_unit_len | m.data_unit_step |
                                 address(m.device_status) | address(m.mac_key) | address(m.aad_list) | m.aad_count;
    const std::uint64_t pointers = (address(m.input) - 1) | (address(m.output) - 1) | (address(m.iv) - way.some_iv);
    if ((unused | (bytes & way.odd_bytes) | (m.iv_len ^ way.iv_bytes) | pointers >> 47) != 0) return false;
    if (bytes - 1 >= way.most_plain_bytes || m.output_capacity < bytes) return false;
    if (m.input != m.output && overlap(m.input, bytes, m.output, bytes)) return false;
    if (way.tags == 0) return (address(m.aad) | m.aad_len | address(m.tag) | m.tag_len) == 0;
    if (m.tag_len > block_bytes || (way.tags >> m.tag_len & 1) == 0) return false;
    if ((address(m.aad) | (address(m.tag) - 1)) >> 47 != 0) return false;
    if (m.aad_len > way.most_plain_bytes - bytes || (m.aad == nullptr && m.aad_len != 0)) return false;
    return !overlap(m.tag, m.tag_len, m.output, bytes) && !overlap(m.tag, m.tag_len, m.input, bytes);
}

template <ShortWay::Plain Kind>
[[gnu::always_inline]] inline PlainOutcome crypt_if_plain(Engine& engine, const warpaes_message& m,
                                                          const ExpandedKey& key) noexcept(Kind ==
                                                                                           ShortWay::Plain::safe) {
    const ShortWays* const ways = engine.short_ways();
    const auto mode = static_cast<std::uint32_t>(m.mode), direction = static_cast<std::uint32_t>(m.direction);
    static_assert(WARPAES_ENCRYPT == 1 && WARPAES_DECRYPT == 2);
    if (ways == nullptr || mode - 1 >= mode_values - 1 || direction - 1 >= 2) return {};
    const ShortWay& way = ways->of(static_cast<Mode>(mode), static_cast<Direction>(direction), key.rounds());
    if (way.plain != Kind) [[unlikely]]
        return {};
    if (!is_plain(m, way)) return {};
    if (way.counts && m.iv[0] == 0xff) return {};  // the counter may wrap, which requires a note
    const ShortMessage message{.mode = static_cast<Mode>(mode),
                               .direction = static_cast<Direction>(direction),
                               .key = &key,
                               .round_keys = round_keys_of(key),
                               .iv = m.iv,
                               .input = static_cast<const std::uint8_t*>(m.input),
                               .output = static_cast<std::uint8_t*>(m.output),
                               .length = m.input_len,
                               .aad = static_cast<const std::uint8_t*>(m.aad),
                               .aad_length = m.aad_len,
                               .tag = static_cast<std::uint8_t*>(m.tag),
                               .tag_length = m.tag_len};
    return carry_out(way, message, -1);
}

}  // namespace

PlainOutcome crypt_plain(Engine& engine, const warpaes_message& m, const ExpandedKey& key) noexcept {
    return crypt_if_plain<ShortWay::Plain::safe>(engine, m, key);
}

bool crypt_plain_or_fail(Engine& engine, const warpaes_message& m, const ExpandedKey& key, MessageResult& result) {
    if (!note(crypt_if_plain<ShortWay::Plain::may_fail>(engine, m, key), result)) return false;
    result.output_length = m.input_len;
    return true;
}

bool crypt_short(Engine& engine, const Request& r, MessageResult& result) {
    const MessageGroup& m = r.message;
    const bool gcm = m.mode == Mode::gcm;
    if (r.pkcs7 || r.range || is_composed(m.mode)) return false;
    if (gcm ? m.iv_length != gcm_nonce_bytes : m.length == 0) return false;
    const ShortWays* const ways = engine.short_ways();
    if (ways == nullptr) return false;
    const ShortWay& way = ways->of(m.mode, m.direction, m.key->rounds());
    if (way.function == nullptr || m.length > way.most_bytes || m.aad_length > way.most_bytes - m.length) return false;
    const ShortMessage message{.mode = m.mode,
                               .direction = m.direction,
                               .key = m.key,
                               .round_keys = round_keys_of(*m.key),
                               .iv = m.iv.first,
                               .input = m.input.first,
                               .output = m.output.first,
                               .length = m.length,
                               .aad = m.aad.first,
                               .aad_length = m.aad_length,
                               .tag = m.tag.first,
                               .tag_length = m.tag_length,
                               .tweak_key = m.tweak_key,
                               .data_units = m.mode == Mode::xts ? xts_units_of(m) : DataUnits{},
                               .unused_bits = m.unused_bits};
    return note(carry_out(way, message, r.input_device), result);
}

}  // namespace warpaes
