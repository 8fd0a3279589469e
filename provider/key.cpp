#include "provider/key.hpp"

#include <cstring>

#include "provider/provider.hpp"

namespace warpaes::provider {

void Key::set(const std::uint8_t* key, std::size_t key_bytes, bool inverse_cipher) noexcept {
    std::memcpy(bytes, key, key_bytes);
    length = static_cast<std::uint32_t>(key_bytes);
    rounds = static_cast<std::uint32_t>(6 + key_bytes / 4);
    inverse = inverse_cipher;
    serial = &cpu::serial::kernels(static_cast<int>(rounds));
    (inverse_cipher ? serial->expand_inverse : serial->expand)(key, schedule);
    clear_registers();
}

}  // namespace warpaes::provider
