// Round keys of the messages of a group, which share a key or each have their own key.
#pragma once

#include <algorithm>
#include <array>

#include "backend/backend.hpp"
#include "cpu/simd.hpp"

namespace warpaes::cpu {

inline constexpr std::size_t round_keys_bytes = sizeof(RoundKeys);

/// Round keys of the cipher.
inline const std::uint8_t* round_keys_of(const ExpandedKey& key) {
    return reinterpret_cast<const std::uint8_t*>(key.encrypt().words.data());
}

/// Per-message keys are expanded a few at a time, without the other contents of an ExpandedKey.
class MessageKeys {
public:
    static constexpr std::uint64_t window = 16;

    explicit MessageKeys(const SimdBatchKernels& kernels) : kernels_(kernels) {}
    MessageKeys(const MessageKeys&) = delete;
    MessageKeys& operator=(const MessageKeys&) = delete;

    /// Selects the group whose messages follow. The group must stay valid until the next call.
    void take(const MessageGroup& group) noexcept {
        group_ = &group;
        first_ = count_ = 0;
    }

    /// Returns round keys of the cipher. If the keys are passed as bytes, the round keys are valid until a message
    /// outside the current window is requested.
    [[nodiscard]] const std::uint8_t* encrypt(std::uint64_t message) {
        if (group_->key != nullptr) return round_keys_of(*group_->key);
        if (message < first_ || message >= first_ + count_) expand(message);
        return expanded_[message - first_].data();
    }

    /// Returns consecutive round keys starting at `message`, for `window` messages or as many as are left. If all
    /// messages share a key, every message uses the same round keys.
    [[nodiscard]] const std::uint8_t* encrypt_from(std::uint64_t message) {
        if (group_->key == nullptr) expand(message);
        return encrypt(message);
    }

private:
    void expand(std::uint64_t message) {
        first_ = message;
        count_ = std::min(window, group_->count - message);
        kernels_.expand_keys({.keys = group_->keys.at(message),
                              .stride = group_->keys.stride,
                              .key_bytes = group_->key_bytes,
                              .count = static_cast<std::size_t>(count_),
                              .round_keys = expanded_[0].data()});
    }

    const SimdBatchKernels& kernels_;
    const MessageGroup* group_ = nullptr;
    std::uint64_t first_ = 0, count_ = 0;
    alignas(64) std::array<std::array<std::uint8_t, round_keys_bytes>, window> expanded_;
};

}  // namespace warpaes::cpu
