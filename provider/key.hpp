// An AES key as stored in a context.
#pragma once

#include <cstdint>

#include "aes/types.hpp"
#include "cpu/update.hpp"

namespace warpaes::provider {

/// An AES key with one key schedule, as in the default provider. set() selects the cipher's or the inverse schedule.
struct Key {
    alignas(64) std::uint8_t schedule[240];
    std::uint8_t bytes[32];
    std::uint32_t length;  ///< length of `bytes`
    std::uint32_t rounds;  ///< 0 if no key is set
    bool inverse;          ///< whether `schedule` is for the equivalent inverse cipher
    const cpu::serial::Kernels* serial;

    void set(const std::uint8_t* key, std::size_t key_bytes, bool inverse_cipher) noexcept;
    [[nodiscard]] bool is_set() const noexcept { return rounds != 0; }
    /// Encrypts one block or, with an inverse schedule, decrypts it. `to` may be equal to `from`.
    void block(const std::uint8_t* from, std::uint8_t* to) const {
        (inverse ? serial->ecb_inverse : serial->ecb)(schedule, from, to, 1);
    }
};

/// The powers of H for GHASH, for keys with an encryption schedule. Most of the powers are computed on first use,
/// because a key may serve only one short message.
struct HashPowers {
    alignas(64) std::uint8_t powers[cpu::update_powers_bytes];
    bool extended;

    void set(const Key& key) noexcept {
        key.serial->make_few_powers(key.schedule, powers);
        extended = false;
    }
    /// Returns whether to use a kernel for few blocks, which needs few powers. Otherwise, computes all powers if
    /// necessary.
    bool few(const cpu::UpdateKernels& kernels, std::size_t blocks) noexcept {
        if (blocks <= cpu::few_powers) return true;
        if (!extended) kernels.extend_powers(powers);
        extended = true;
        return false;
    }
};

}  // namespace warpaes::provider
