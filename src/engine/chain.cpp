#include "engine/chain.hpp"

#include <algorithm>

#include "aes/counter.hpp"
#include "aes/xts.hpp"

namespace warpaes {

namespace {

/// The last 16 bytes of `first` followed by `second`.
Block last_block(const Block& first, std::span<const std::uint8_t> second) {
    Block out = first;
    const auto n = static_cast<std::ptrdiff_t>(std::min(second.size(), block_bytes));
    std::copy(out.begin() + n, out.end(), out.begin());
    std::copy(second.end() - n, second.end(), out.end() - n);
    return out;
}

std::span<const std::uint8_t> tail(const std::uint8_t* data, std::uint64_t bytes) {
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, block_bytes));
    return {data + (bytes - n), n};
}

std::uint64_t bytes_of(const Run& run) {
    return run.mode == Mode::cfb1 ? run.length / 8 : run.length;
}

}  // namespace

Block chain_at(Mode mode, const Block& iv, std::uint64_t offset, std::span<const std::uint8_t> before) {
    if (mode == Mode::ctr) return add(iv, offset / block_bytes);
    if (mode == Mode::ecb) return iv;
    return last_block(iv, before);
}

Block xts_chain_at(const Block& iv, std::uint64_t offset, std::uint64_t data_unit) {
    return store_tweak(add(load_tweak(iv), offset / data_unit));
}

ChainAfter::ChainAfter(const Run& run) {
    const bool needs_input = run.mode == Mode::ofb || chains_on_ciphertext(run.mode, run.direction);
    if (needs_input) input_tail_ = last_block(run.chain, tail(run.input, bytes_of(run)));
}

Block ChainAfter::value(const Run& run) const {
    const std::uint64_t bytes = bytes_of(run);
    if (run.mode == Mode::ecb || bytes == 0) return run.chain;
    if (run.mode == Mode::ctr) return add(run.chain, bytes / block_bytes);
    if (run.mode == Mode::ofb) {
        // O_n = P_n xor C_n (SP 800-38A, 6.4), whichever of the two the input was.
        Block out = input_tail_;
        const auto last = tail(run.output, bytes);
        for (std::size_t i = 0; i < block_bytes; ++i) out[i] = static_cast<std::uint8_t>(out[i] ^ last[i]);
        return out;
    }
    if (run.direction == Direction::decrypt) return input_tail_;
    return last_block(run.chain, tail(run.output, bytes));
}

}  // namespace warpaes
