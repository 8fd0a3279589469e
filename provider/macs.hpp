// CMAC with an AES key schedule, computed update by update.
#pragma once

#include <openssl/crypto.h>

#include <algorithm>
#include <cstring>

#include "aes/cmac.hpp"
#include "provider/key.hpp"

namespace warpaes::provider {

/// The state of a CMAC. Up to one complete block is held back, because the last block is processed differently.
struct CmacState {
    alignas(16) std::uint8_t chain[16];
    alignas(16) std::uint8_t last[16];
    CmacSubkeys subkeys;
    std::size_t used;  ///< number of bytes in `last`

    void set_key(const Key& key) noexcept {
        Block zero{};
        key.block(zero.data(), zero.data());
        subkeys = cmac_subkeys(zero);
        begin();
    }
    void begin() noexcept {
        std::memset(chain, 0, sizeof chain);
        used = 0;
    }
    void update(const Key& key, const std::uint8_t* data, std::size_t bytes) noexcept {
        if (bytes == 0) return;
        if (used > 0) {
            const std::size_t n = std::min(16 - used, bytes);
            std::memcpy(last + used, data, n);
            used += n;
            data += n;
            bytes -= n;
            if (bytes == 0) return;
            key.serial->mac(key.schedule, chain, last, 1);
        }
        const std::size_t blocks = (bytes - 1) / 16;
        key.serial->mac(key.schedule, chain, data, blocks);
        used = bytes - 16 * blocks;
        std::memcpy(last, data + 16 * blocks, used);
    }
    void final(const Key& key, std::uint8_t* tag) noexcept {
        const Block block = cmac_last_block(subkeys, {last, used});
        key.serial->mac(key.schedule, chain, block.data(), 1);
        std::memcpy(tag, chain, 16);
    }
};

}  // namespace warpaes::provider
