// CBC-MAC (SP 800-38C, 6.1) and CMAC (SP 800-38B), computed with CBC encryption, over bytes that arrive in pieces of
// any size.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

#include "aes/cmac.hpp"
#include "base/secret.hpp"

namespace warpaes {

/// The state between pieces.
struct MacState {
    Block chain{};         ///< the chaining value after the processed blocks
    Block last{};          ///< the last block, which is never processed early because CMAC treats it differently
    std::size_t used = 0;  ///< bytes in `last`
};

/// `encrypt(chain, blocks, bytes)` encrypts whole blocks in host memory with CBC, in place.
template <typename Encrypt>
class CbcMac {
public:
    /// `bytes` is the expected number of bytes, which determines the size of the buffer.
    CbcMac(Encrypt encrypt, std::uint64_t bytes, const MacState& state = {})
        : encrypt_(std::move(encrypt)),
          buffer_(static_cast<std::size_t>(std::min(bytes, most) / block_bytes + 2) * block_bytes),
          chain_(state.chain) {
        add(std::span(state.last).first(state.used));
    }

    void add(std::span<const std::uint8_t> bytes) {
        while (!bytes.empty()) {
            if (used_ == buffer_.size()) flush(used_);
            const std::size_t n = std::min(bytes.size(), buffer_.size() - used_);
            std::copy_n(bytes.begin(), n, buffer_.data() + used_);
            used_ += n;
            bytes = bytes.subspan(n);
        }
    }
    /// Adds zeros up to a whole number of blocks.
    void pad() {
        static constexpr Block zeros{};
        add(std::span(zeros).first((block_bytes - used_ % block_bytes) % block_bytes));
    }

    /// Returns the CBC-MAC of whole blocks.
    [[nodiscard]] Block value() {
        flush(used_);
        return *chain_;
    }
    [[nodiscard]] Block cmac(const CmacSubkeys& subkeys) {
        const std::size_t rest = cmac_rest(used_);
        used_ -= rest;
        const Secret<Block> last(cmac_last_block(subkeys, {buffer_.data() + used_, rest}));
        add(*last);
        return value();
    }
    [[nodiscard]] MacState state() {
        const std::size_t rest = cmac_rest(used_);
        flush(used_ - rest);
        MacState state{.chain = *chain_, .used = rest};
        std::copy_n(buffer_.data(), rest, state.last.begin());
        return state;
    }

private:
    static constexpr std::uint64_t most = 32 << 10;  // small enough for the first-level cache

    void flush(std::size_t bytes) {
        if (bytes == 0) return;
        encrypt_(*chain_, buffer_.data(), bytes);
        std::copy_n(buffer_.data() + bytes - block_bytes, block_bytes, chain_->begin());
        std::copy(buffer_.data() + bytes, buffer_.data() + used_, buffer_.data());
        used_ -= bytes;
    }

    Encrypt encrypt_;
    SecretBuffer buffer_;
    std::size_t used_ = 0;
    Secret<Block> chain_;
};

}  // namespace warpaes
