// An AES key as a context holds it.
#pragma once

#include <cstdint>

#include "aes/types.hpp"
#include "cpu/update.hpp"

namespace warpaes::provider {

/// One schedule, as the default provider has: which one is decided when the key is set.
struct Key {
    alignas(64) std::uint8_t schedule[240];
    std::uint8_t bytes[32];
    std::uint32_t length;  ///< of `bytes`
    std::uint32_t rounds;  ///< 0: no key yet
    bool inverse;          ///< the schedule is that of the equivalent inverse cipher
    const cpu::serial::Kernels* serial;

    void set(const std::uint8_t* key, std::size_t key_bytes, bool inverse_cipher) noexcept;
    [[nodiscard]] bool is_set() const noexcept { return rounds != 0; }
    /// One block; `to` may be `from`.
    void block(const std::uint8_t* from, std::uint8_t* to) const {
        (inverse ? serial->ecb_inverse : serial->ecb)(schedule, from, to, 1);
    }
};

/// What GHASH needs of a key whose schedule is the cipher's. A key may be there for one short message: most of it is
/// made when it is first needed.
struct HashPowers {
    alignas(64) std::uint8_t powers[cpu::update_powers_bytes];
    bool extended;

    void set(const Key& key) noexcept {
        key.serial->make_few_powers(key.schedule, powers);
        extended = false;
    }
    /// Whether a kernel for few blocks is to be taken, which needs few powers. Else all of them are there.
    bool few(const cpu::UpdateKernels& kernels, std::size_t blocks) noexcept {
        if (blocks <= cpu::few_powers) return true;
        if (!extended) kernels.extend_powers(powers);
        extended = true;
        return false;
    }
};

}  // namespace warpaes::provider
