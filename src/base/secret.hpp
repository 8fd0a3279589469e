// Memory that held a secret is overwritten before it is released.
#pragma once

#include <openssl/crypto.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

namespace warpaes {

/// Overwrites `memory` in a way that the compiler may not remove.
inline void wipe(std::span<std::uint8_t> memory) noexcept {
    OPENSSL_cleanse(memory.data(), memory.size());
}

/// A value that wipes itself when it goes out of scope. Copies are secrets too and wipe themselves likewise.
template <typename T>
requires std::is_trivially_copyable_v<T>
class Secret {
public:
    Secret() = default;
    explicit Secret(const T& v) : value_(v) {}
    Secret(const Secret&) = default;
    Secret& operator=(const Secret&) = default;
    ~Secret() { OPENSSL_cleanse(&value_, sizeof value_); }

    T& operator*() noexcept { return value_; }
    const T& operator*() const noexcept { return value_; }
    T* operator->() noexcept { return &value_; }
    const T* operator->() const noexcept { return &value_; }

private:
    T value_{};
};

}  // namespace warpaes
