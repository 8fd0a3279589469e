// CMAC of AES under a schedule of the cipher, update by update.
#pragma once

#include <openssl/crypto.h>

#include <algorithm>
#include <cstring>

#include "aes/cmac.hpp"
#include "provider/key.hpp"

namespace warpaes::provider {

/// Up to a whole block waits, for the last one is treated differently.
struct CmacState {
    alignas(16) std::uint8_t chain[16];
    alignas(16) std::uint8_t last[16];
    alignas(16) std::uint8_t k1[16], k2[16];
    std::size_t used;  ///< of `last`

    void set_key(const Key& key) noexcept {
        Block zero{};
        key.block(zero.data(), zero.data());
        const Block one = doubled(zero), two = doubled(one);
        std::memcpy(k1, one.data(), 16);
        std::memcpy(k2, two.data(), 16);
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
        if (used != 16) {
            last[used] = 0x80;
            std::memset(last + used + 1, 0, 15 - used);
        }
        const std::uint8_t* const mask = used == 16 ? k1 : k2;
        alignas(16) std::uint8_t block[16];
        for (std::size_t i = 0; i < 16; ++i) block[i] = static_cast<std::uint8_t>(last[i] ^ mask[i]);
        key.serial->mac(key.schedule, chain, block, 1);
        std::memcpy(tag, chain, 16);
    }
};

}  // namespace warpaes::provider
