// Tests single messages of the C ABI with arbitrary fields. Valid messages are compared with libcrypto. A message must
// not access memory outside its buffers.
#include "evp_oracle.hpp"
#include "handles.hpp"

namespace {

using namespace fuzz;

constexpr std::size_t key_lengths[] = {16, 24, 32};

/// Input with any alignment, and either a poisoned output buffer of exactly `capacity` bytes or output in place.
struct Buffers {
    Bytes storage_in, storage_out;
    std::size_t shift_in, shift_out;
    bool in_place;
    Buffers(Input& in, const Bytes& text, std::size_t capacity)
        : shift_in(in.below(17)), shift_out(in.below(17)), in_place(in.below(4) == 0 && capacity <= text.size()) {
        storage_in.resize(shift_in);
        storage_in.insert(storage_in.end(), text.begin(), text.end());
        storage_in.shrink_to_fit();
        storage_out.assign(shift_out + capacity, 0xa5);
    }
    std::uint8_t* input() { return storage_in.data() + shift_in; }
    std::uint8_t* output() { return in_place ? input() : storage_out.data() + shift_out; }
};

/// Sets random fields. The message must be refused with an error message or be harmless.
void anything(Input& in) {
    const Key key = make_key(in.bytes(in.pick(key_lengths)));
    const Key other = make_key(in.bytes(in.pick(key_lengths)));
    const Bytes iv = in.bytes(in.below(40)), aad = in.bytes(in.below(40));
    Bytes tag = in.bytes(in.below(20));
    warpaes_message m = WARPAES_MESSAGE_INIT;
    m.flags = in.byte();
    m.mode = static_cast<warpaes_mode>(in.below(12));
    m.direction = static_cast<warpaes_direction>(in.below(4));
    if (in.below(8) != 0) m.key = key.get();
    if (in.below(8) != 0) m.iv = iv.data();
    m.iv_len = iv.size();
    if (in.below(8) != 0) m.tag = tag.data();
    m.tag_len = tag.size();
    if (in.below(8) != 0) m.aad = aad.data();
    m.aad_len = aad.size();
    if (in.flag()) m.tweak_key = in.flag() ? other.get() : key.get();
    m.data_unit_len = in.flag() ? in.below(70) : in.number();
    m.range_offset = in.flag() ? in.below(600) : in.number();
    m.range_len = in.flag() ? in.below(600) : in.number();
    warpaes_engine* const engine = any_engine(in);
    const std::size_t capacity = in.below(600);
    Buffers buffers(in, in.bytes(in.below(600)), capacity);
    const std::size_t bytes = buffers.storage_in.size() - buffers.shift_in;
    m.input = in.below(8) != 0 ? buffers.input() : nullptr;
    m.input_len =
        (m.flags & WARPAES_LENGTH_IN_BITS) != 0 ? bytes * 8 - std::min<std::size_t>(bytes * 8, in.below(8)) : bytes;
    m.output = in.below(8) != 0 ? buffers.output() : nullptr;
    m.output_capacity = (m.flags & WARPAES_LENGTH_IN_BITS) != 0 ? capacity * 8 : capacity;
    warpaes_result result = WARPAES_RESULT_INIT;
    const warpaes_status status = warpaes_crypt(engine, &m, &result);
    require(status == result.status, "the result's status differs from the returned status");
    if (status != WARPAES_OK) require(*warpaes_last_error() != '\0', "an error without a message");
    require((result.error[0] == '\0') == (status == WARPAES_OK),
            "an error without a message, or a message without an error");
    if (status == WARPAES_OK) require(result.output_len <= m.output_capacity, "more output than the capacity");
}

void plain_mode(Input& in) {
    const ModeTraits& t = in.pick(plain_modes);
    const bool encrypt = in.flag();
    const Bytes key_bytes = in.bytes(in.pick(key_lengths)), iv = in.bytes(16);
    const Key key = make_key(key_bytes);
    const bool padded = t.whole_blocks && in.flag();
    warpaes_engine* const engine = any_engine(in);
    std::size_t length = in.below(in.below(16) == 0 ? 2100 : 250);
    if (t.whole_blocks && !(padded && encrypt)) length -= length % 16;
    const Bytes text = in.bytes(length);
    const auto expected = oracle::evp(t.name, encrypt, key_bytes, t.mode == WARPAES_ECB ? Bytes() : iv, text, padded);

    warpaes_message m = WARPAES_MESSAGE_INIT;
    m.mode = t.mode;
    m.direction = encrypt ? WARPAES_ENCRYPT : WARPAES_DECRYPT;
    m.key = key.get();
    if (t.mode != WARPAES_ECB) {
        m.iv = iv.data();
        m.iv_len = iv.size();
    }
    if (padded) m.flags |= WARPAES_PKCS7;
    const bool ranged = !padded && length != 0 &&
                        (t.mode == WARPAES_CTR || t.mode == WARPAES_ECB || (t.range && !encrypt)) && in.flag();
    std::size_t capacity = padded && encrypt ? length / 16 * 16 + 16 : length;
    if (ranged) {
        m.flags |= WARPAES_RANGE;
        m.range_offset = in.below(length);
        m.range_len = in.below(length - m.range_offset + 1);
        capacity = m.range_len;
    }
    Buffers buffers(in, text, capacity);
    if (ranged) buffers.in_place = false;
    m.input = buffers.input();
    m.input_len = length;
    m.output = buffers.output();
    m.output_capacity = capacity;
    warpaes_result result = WARPAES_RESULT_INIT;
    const warpaes_status status = warpaes_crypt(engine, &m, &result);
    if (!expected) {
        require(status == WARPAES_ERROR_PADDING || (length == 0 && status == WARPAES_ERROR_DATA_LENGTH),
                "wrong padding was accepted");
        return;
    }
    expect_ok(status, t.name);
    const Bytes got(buffers.output(), buffers.output() + result.output_len);
    const auto begin = expected->begin() + static_cast<std::ptrdiff_t>(ranged ? m.range_offset : 0);
    const Bytes right = ranged ? Bytes(begin, begin + static_cast<std::ptrdiff_t>(m.range_len)) : *expected;
    require(got == right, t.name);
}

/// Flips a bit in one of the non-empty parts.
void damage(Input& in, std::initializer_list<Bytes*> parts) {
    std::vector<Bytes*> some;
    for (Bytes* part : parts) {
        if (!part->empty()) some.push_back(part);
    }
    Bytes& part = *some[in.below(some.size())];
    part[in.below(part.size())] ^= static_cast<std::uint8_t>(1U << in.below(8));
}

void gcm_message(Input& in) {
    static constexpr std::size_t tag_lengths[] = {16, 15, 14, 13, 12, 8, 4};
    const Bytes key_bytes = in.bytes(in.pick(key_lengths));
    const Key key = make_key(key_bytes);
    warpaes_engine* const engine = any_engine(in);
    Bytes iv = in.bytes(in.below(4) != 0 ? 12 : 1 + in.below(128)),
          aad = in.bytes(in.below(4) == 0 ? in.below(600) : 0);
    const Bytes text = in.bytes(in.below(in.below(16) == 0 ? 3000 : 400));
    const bool encrypt = in.flag(), damaged = !encrypt && in.below(4) == 0;
    oracle::Sealed sealed = oracle::seal({.mode = "GCM", .key = key_bytes, .iv = iv, .aad = aad, .text = text});
    sealed.tag.resize(in.pick(tag_lengths));
    if (damaged) damage(in, {&iv, &aad, &sealed.text, &sealed.tag});

    Buffers buffers(in, encrypt ? text : sealed.text, text.size());
    Bytes tag = encrypt ? Bytes(sealed.tag.size(), 0xa5) : sealed.tag;
    warpaes_message m = WARPAES_MESSAGE_INIT;
    m.mode = WARPAES_GCM;
    m.direction = encrypt ? WARPAES_ENCRYPT : WARPAES_DECRYPT;
    m.key = key.get();
    m.iv = iv.data();
    m.iv_len = iv.size();
    m.aad = aad.data();
    m.aad_len = aad.size();
    m.tag = tag.data();
    m.tag_len = tag.size();
    m.input = buffers.input();
    m.input_len = text.size();
    m.output = buffers.output();
    m.output_capacity = text.size();
    const warpaes_status status = warpaes_crypt(engine, &m, nullptr);
    const Bytes got(buffers.output(), buffers.output() + text.size());
    if (damaged) {
        // The probability of guessing a four-byte tag is one in four billion.
        require(status == WARPAES_ERROR_AUTHENTICATION, "damage was not detected");
        require(got == Bytes(text.size(), 0), "unauthenticated bytes are left in the output");
        return;
    }
    expect_ok(status, "GCM");
    require(got == (encrypt ? sealed.text : text), "GCM: text");
    if (encrypt) require(tag == sealed.tag, "GCM: tag");
}

void xts_message(Input& in) {
    const std::size_t key_length = in.flag() ? 32 : 16;
    const Bytes key_bytes = in.bytes(key_length), tweak = in.bytes(16);
    Bytes tweak_key_bytes = in.bytes(key_length);
    if (tweak_key_bytes == key_bytes) tweak_key_bytes[0] ^= 1;
    const Key key = make_key(key_bytes), tweak_key = make_key(tweak_key_bytes);
    warpaes_engine* const engine = any_engine(in);
    const std::size_t unit = in.flag() ? 16 + in.below(120) : in.flag() ? 512 : 0;
    std::size_t length = in.below(in.below(16) == 0 ? 3000 : 400);
    const std::size_t rest = unit == 0 ? length : length % unit;
    if (rest < 16 && (unit == 0 || rest != 0)) length += 16 - rest;
    const Bytes text = in.bytes(length);
    const bool encrypt = in.flag();
    const std::uint64_t step = in.flag() ? 1 + in.below(std::size_t{1} << 20) : 1;
    const Bytes expected = oracle::xts(encrypt, key_bytes, tweak_key_bytes, tweak, unit, text, step);

    Buffers buffers(in, text, length);
    warpaes_message m = WARPAES_MESSAGE_INIT;
    m.mode = WARPAES_XTS;
    m.direction = encrypt ? WARPAES_ENCRYPT : WARPAES_DECRYPT;
    m.key = key.get();
    m.tweak_key = tweak_key.get();
    m.iv = tweak.data();
    m.iv_len = tweak.size();
    m.data_unit_len = unit;
    m.data_unit_step = step;
    m.input = buffers.input();
    m.input_len = length;
    m.output = buffers.output();
    m.output_capacity = length;
    expect_ok(warpaes_crypt(engine, &m, nullptr), "XTS");
    require(Bytes(buffers.output(), buffers.output() + length) == expected, "XTS");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Input in(data, size);
    switch (in.below(5)) {
    case 0:
        anything(in);
        break;
    case 1:
        gcm_message(in);
        break;
    case 2:
        xts_message(in);
        break;
    default:
        plain_mode(in);
        break;
    }
    return 0;
}
