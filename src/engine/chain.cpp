#include "engine/chain.hpp"

#include <algorithm>

namespace warpaes {

namespace {

std::span<const std::uint8_t> tail(const std::uint8_t* data, std::uint64_t bytes) {
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, block_bytes));
    return {data + (bytes - n), n};
}

std::uint64_t bytes_of(const MessageGroup& stretch) {
    return stretch.length - (stretch.unused_bits != 0 ? 1 : 0);
}

Block chain_of(const MessageGroup& stretch) {
    Block chain{};
    if (stretch.mode != Mode::ecb) std::copy_n(stretch.iv.first, block_bytes, chain.begin());
    return chain;
}

}  // namespace

Block last_block(const Block& first, std::span<const std::uint8_t> second) {
    Block out = first;
    const auto n = static_cast<std::ptrdiff_t>(std::min(second.size(), block_bytes));
    std::copy(out.begin() + n, out.end(), out.begin());
    std::copy(second.end() - n, second.end(), out.end() - n);
    return out;
}

ChainAfter::ChainAfter(const MessageGroup& s) {
    const bool needs_input = s.mode == Mode::ofb || chains_on_ciphertext(s.mode, s.direction);
    if (needs_input) input_tail_ = last_block(chain_of(s), tail(s.input.first, bytes_of(s)));
}

Block ChainAfter::value(const MessageGroup& s) const {
    const std::uint64_t bytes = bytes_of(s);
    const Block chain = chain_of(s);
    if (s.mode == Mode::ecb || bytes == 0) return chain;
    if (s.mode == Mode::ctr) return add(chain, bytes / block_bytes);
    if (s.mode == Mode::ofb) {
        // O_n = P_n xor C_n (SP 800-38A, 6.4), whether the input was P or C.
        Block out = input_tail_;
        const auto last = tail(s.output.first, bytes);
        for (std::size_t i = 0; i < block_bytes; ++i) out[i] = static_cast<std::uint8_t>(out[i] ^ last[i]);
        return out;
    }
    if (s.direction == Direction::decrypt) return input_tail_;
    return last_block(chain, tail(s.output.first, bytes));
}

}  // namespace warpaes
