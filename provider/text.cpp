// Processing of text in each mode, update by update.
#include <algorithm>

#include "provider/bulk.hpp"
#include "provider/generic.hpp"

namespace warpaes::provider {

namespace {

void run(const Generic& c, Mode mode, Direction direction, Byte* out, const Byte* in, std::size_t length) noexcept {
    const cpu::SimdRun run{.mode = mode,
                           .direction = direction,
                           .rounds = static_cast<int>(c.key.rounds),
                           .keys = c.key.schedule,
                           .input = in,
                           .output = out,
                           .length = length,
                           .chain = c.iv};
    c.kernels->run(run);
}

/// Ends a message after a failure. Part of the text may have been output, so no other text may use the same counters.
void end_message(Generic& c) noexcept {
    c.key_set = false;
}

Bulked run_in_engine(Generic& c, Mode mode, Direction direction, Byte* out, const Byte* in,
                     std::size_t bytes) noexcept {
    return c.provider->settings()->bulk->run(c.tally.kind, {.mode = mode,
                                                            .direction = direction,
                                                            .key = &c.key,
                                                            .tweak_key = nullptr,
                                                            .chain = c.iv,
                                                            .input = in,
                                                            .output = out,
                                                            .bytes = bytes,
                                                            .first_block = 0,
                                                            .digest = nullptr});
}

/// Processes a long text in the engine, and a short text with the kernels. Subtracts from `counted` the bytes that the
/// engine counts. Returns false if the engine failed and the kernels cannot process the bytes either.
bool run_any(Generic& c, Mode mode, Direction direction, Byte* out, const Byte* in, std::size_t bytes,
             std::size_t& counted) noexcept {
    if (c.provider->settings()->bulk->wants(bytes)) [[unlikely]] {
        const Bulked outcome = run_in_engine(c, mode, direction, out, in, bytes);
        if (outcome == Bulked::failed) end_message(c);
        if (outcome == Bulked::done) counted -= bytes;
        if (outcome != Bulked::untouched) return outcome == Bulked::done;
    }
    run(c, mode, direction, out, in, kernel_length(mode, bytes, 0));
    return true;
}

/// Decrypts the text, and sets the chain to `next`, which was read before the text could be overwritten.
bool decrypt_chained(Generic& c, Mode mode, Byte* out, const Byte* in, std::size_t bytes, const Block& next,
                     std::size_t& counted) noexcept {
    if (!run_any(c, mode, Direction::decrypt, out, in, bytes, counted)) return false;
    std::memcpy(c.iv, next.data(), 16);
    return true;
}

int counted_update(Generic& c, std::size_t counted) noexcept {
    if (counted != 0) c.tally.add(counted);
    return 1;
}

int ecb(Generic& c, Byte* out, const Byte* in, std::size_t bytes) noexcept {
    const std::size_t blocks = bytes / 16;
    if (blocks <= cpu::serial::few_blocks) {
        if (blocks == 0) return 1;
        (c.key.inverse ? c.key.serial->ecb_inverse : c.key.serial->ecb)(c.key.schedule, in, out, blocks);
        c.tally.add(bytes);
        return 1;
    }
    const Direction direction = c.key.inverse ? Direction::decrypt : Direction::encrypt;
    std::size_t counted = bytes;
    if (!run_any(c, Mode::ecb, direction, out, in, 16 * blocks, counted)) return 0;
    return counted_update(c, counted);
}

int cbc(Generic& c, Byte* out, const Byte* in, std::size_t bytes) noexcept {
    const std::size_t blocks = bytes / 16;
    if (blocks == 0) return 1;
    if (c.enc) {
        c.key.serial->cbc(c.key.schedule, c.iv, in, out, blocks);
        c.tally.add(bytes);
        return 1;
    }
    if (blocks <= cpu::serial::few_blocks && c.key.inverse) {
        c.key.serial->cbc_inverse(c.key.schedule, c.iv, in, out, blocks);
        c.tally.add(bytes);
        return 1;
    }
    Block last;
    std::memcpy(last.data(), in + 16 * (blocks - 1), 16);
    std::size_t counted = bytes;
    if (!decrypt_chained(c, Mode::cbc, out, in, 16 * blocks, last, counted)) return 0;
    return counted_update(c, counted);
}

/// Processes the bytes up to the end of the current block or of the text.
template <typename Step>
void in_hand(Generic& c, Byte*& out, const Byte*& in, std::size_t& bytes, const Step& step) noexcept {
    unsigned n = c.num;
    for (; n != 0 && bytes != 0; --bytes) {
        *out++ = step(*in++, n);
        n = (n + 1) % 16;
    }
    c.num = n;
}

/// Processes the bytes after the last complete block.
template <typename Step>
void start_block(Generic& c, Byte* out, const Byte* in, std::size_t bytes, const Step& step) noexcept {
    if (bytes == 0) return;
    c.key.serial->ecb(c.key.schedule, c.iv, c.iv, 1);
    for (unsigned n = 0; n < bytes; ++n) out[n] = step(in[n], n);
    c.num = static_cast<unsigned>(bytes);
}

/// Computes to = a ^ b; `to` may be equal to `a`.
void add_block(Byte* to, const Byte* a, const Byte* b) noexcept {
    std::uint64_t x[2], y[2];
    std::memcpy(x, a, 16);
    std::memcpy(y, b, 16);
    x[0] ^= y[0];
    x[1] ^= y[1];
    std::memcpy(to, x, 16);
}

int cfb(Generic& c, Byte* out, const Byte* in, std::size_t bytes) noexcept {
    const auto step = [&](Byte text, unsigned n) {
        const Byte made = static_cast<Byte>(c.iv[n] ^ text);
        c.iv[n] = c.enc ? made : text;
        return made;
    };
    std::size_t counted = bytes;
    if (c.num != 0) in_hand(c, out, in, bytes, step);
    const std::size_t blocks = bytes / 16;
    if (blocks != 0) {
        if (c.enc) {
            c.key.serial->cfb(c.key.schedule, c.iv, in, out, blocks);
        } else if (blocks <= 2) {
            // For one or two blocks, a wide kernel would be slower than the serial kernel. `before` contains the
            // preceding ciphertext blocks, which are saved because the text may be overwritten.
            Byte before[32], last[16];
            std::memcpy(before, c.iv, 16);
            std::memcpy(before + 16, in, 16 * (blocks - 1));
            std::memcpy(last, in + 16 * (blocks - 1), 16);
            c.key.serial->ecb(c.key.schedule, before, before, blocks);
            for (std::size_t i = 0; i < 16 * blocks; i += 16) add_block(out + i, in + i, before + i);
            std::memcpy(c.iv, last, 16);
        } else {
            Block last;
            std::memcpy(last.data(), in + 16 * (blocks - 1), 16);
            if (!decrypt_chained(c, Mode::cfb128, out, in, 16 * blocks, last, counted)) return 0;
        }
    }
    start_block(c, out + 16 * blocks, in + 16 * blocks, bytes % 16, step);
    return counted_update(c, counted);
}

int ofb(Generic& c, Byte* out, const Byte* in, std::size_t bytes) noexcept {
    c.tally.add(bytes);
    const auto step = [&](Byte text, unsigned n) { return static_cast<Byte>(c.iv[n] ^ text); };
    if (c.num != 0) in_hand(c, out, in, bytes, step);
    const std::size_t blocks = bytes / 16;
    if (blocks != 0) {
        c.key.serial->ofb(c.key.schedule, c.iv, in, out, blocks);
    }
    start_block(c, out + 16 * blocks, in + 16 * blocks, bytes % 16, step);
    return 1;
}

/// Returns the last 16 bytes of the chain followed by `bytes` ciphertext bytes. Call this function before the text is
/// overwritten.
Block next_window(const Byte* chain, const Byte* text, std::size_t bytes) noexcept {
    Block window;
    const std::size_t n = std::min<std::size_t>(bytes, 16);
    std::memcpy(window.data(), chain + n, 16 - n);
    std::memcpy(window.data() + 16 - n, text + bytes - n, n);
    return window;
}

int cfb8(Generic& c, Byte* out, const Byte* in, std::size_t bytes) noexcept {
    if (c.enc) {
        c.key.serial->cfb8(c.key.schedule, c.iv, in, out, bytes);
        c.tally.add(bytes);
        return 1;
    }
    const Block window = next_window(c.iv, in, bytes);
    std::size_t counted = bytes;
    if (!decrypt_chained(c, Mode::cfb8, out, in, bytes, window, counted)) return 0;
    return counted_update(c, counted);
}

int cfb1(Generic& c, Byte* out, const Byte* in, std::size_t length) noexcept {
    const std::size_t bytes = c.use_bits ? (length + 7) / 8 : length;
    // For fewer bytes, the wide kernel would compute more blocks than are needed.
    constexpr std::size_t few_bytes = 16;
    if (c.enc || (c.use_bits && length % 8 != 0) || bytes < few_bytes) {
        c.key.serial->cfb1(c.key.schedule, c.iv, in, out, c.use_bits ? length : 8 * length, c.enc);
        c.tally.add(bytes);
        return 1;
    }
    const Block window = next_window(c.iv, in, bytes);
    std::size_t counted = bytes;
    if (!decrypt_chained(c, Mode::cfb1, out, in, bytes, window, counted)) return 0;
    return counted_update(c, counted);
}

void advance(Byte* counter, std::uint64_t blocks) noexcept {
    std::uint64_t high, low;
    std::memcpy(&high, counter, 8);
    std::memcpy(&low, counter + 8, 8);
    high = __builtin_bswap64(high);
    low = __builtin_bswap64(low);
    const std::uint64_t next = low + blocks;
    if (next < low) ++high;
    high = __builtin_bswap64(high);
    low = __builtin_bswap64(next);
    std::memcpy(counter, &high, 8);
    std::memcpy(counter + 8, &low, 8);
}

int ctr(Generic& c, Byte* out, const Byte* in, std::size_t bytes) noexcept {
    std::size_t counted = bytes;
    if (c.num != 0) {
        in_hand(c, out, in, bytes, [&](Byte text, unsigned n) { return static_cast<Byte>(text ^ c.buf[n]); });
    }
    const std::size_t blocks = bytes / 16;
    if (blocks > cpu::serial::few_blocks) {
        if (!run_any(c, Mode::ctr, Direction::encrypt, out, in, 16 * blocks, counted)) return 0;
        advance(c.iv, blocks);
    } else if (blocks != 0) {
        c.key.serial->ctr(c.key.schedule, c.iv, in, out, blocks);
    }
    if (const std::size_t rest = bytes % 16; rest != 0) {
        out += 16 * blocks;
        in += 16 * blocks;
        std::memset(c.buf, 0, 16);
        c.key.serial->ctr(c.key.schedule, c.iv, c.buf, c.buf, 1);
        for (unsigned n = 0; n < rest; ++n) out[n] = static_cast<Byte>(in[n] ^ c.buf[n]);
        c.num = static_cast<unsigned>(rest);
    }
    return counted_update(c, counted);
}

/// Processes complete blocks of text in device memory, in ECB or CTR. To update the state of any other mode, the CPU
/// would have to read the text.
int text_on_device(Generic& c, Byte* out, const Byte* in, std::size_t bytes) noexcept {
    const bool is_ctr = c.tally.kind == Kind::ctr;
    if ((!is_ctr && c.tally.kind != Kind::ecb) || bytes % 16 != 0 || (is_ctr && c.num != 0)) return 0;
    const Direction direction = c.key.inverse ? Direction::decrypt : Direction::encrypt;
    if (run_in_engine(c, is_ctr ? Mode::ctr : Mode::ecb, direction, out, in, bytes) != Bulked::done) {
        end_message(c);
        return 0;
    }
    if (is_ctr) advance(c.iv, bytes / 16);
    return 1;
}

TextFunction function_of(Kind kind) noexcept {
    switch (kind) {
    case Kind::ecb:
        return ecb;
    case Kind::cbc:
        return cbc;
    case Kind::cfb:
        return cfb;
    case Kind::cfb8:
        return cfb8;
    case Kind::cfb1:
        return cfb1;
    case Kind::ofb:
        return ofb;
    default:
        return ctr;
    }
}

int text_anywhere(Generic& c, Byte* out, const Byte* in, std::size_t bytes) noexcept {
    if (c.provider->settings()->bulk->on_device(in, out)) return text_on_device(c, out, in, bytes);
    return function_of(c.tally.kind)(c, out, in, bytes);
}

}  // namespace

TextFunction text_function(Kind kind, bool device_memory) noexcept {
    return device_memory ? text_anywhere : function_of(kind);
}

}  // namespace warpaes::provider
