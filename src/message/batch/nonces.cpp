#include "message/batch/nonces.hpp"

#include <openssl/crypto.h>

#include <algorithm>

#include "base/secret.hpp"
#include "message/batch/key_table.hpp"

namespace warpaes {

namespace {

/// Elements that the host can read: the original elements, or copies from a device.
class HostView {
public:
    /// `data_device` is the device that contains the entry's data, and possibly these elements.
    HostView(const Elements& elements, std::uint64_t bytes, std::uint64_t count, int data_device)
        : HostView(elements, bytes, count, data_device, data_device < 0 || bytes == 0 || in_host(elements)) {}
    [[nodiscard]] const std::uint8_t* at(std::uint64_t i) const noexcept { return elements_.at(i); }

private:
    static bool in_host(const Elements& elements) { return device_of(elements.first) < 0; }
    HostView(const Elements& elements, std::uint64_t bytes, std::uint64_t count, int device, bool as_they_lie)
        : elements_(elements), copy_(as_they_lie ? 0 : static_cast<std::size_t>(bytes * count)) {
        if (as_they_lie) return;
        const bool shared = elements.stride == 0;
        const auto rows = static_cast<std::size_t>(shared ? 1 : count), size = static_cast<std::size_t>(bytes);
        if (rows == 1 || elements.stride >= bytes) {
            gather_rows(copy_.data(), elements.first, rows == 1 ? size : static_cast<std::size_t>(elements.stride),
                        size, rows, device);
        } else {
            for (std::size_t i = 0; i < rows; ++i) {
                copy_memory(copy_.data() + i * size, elements.at(i), size, device);
            }
        }
        elements_ = {copy_.data(), shared ? 0 : bytes};
    }

    Elements elements_;
    SecretBuffer copy_;
};

class Uses {
public:
    Uses(const MessageGroup& group, int device)
        : group_(group),
          ivs_(group.iv, group.iv_length, group.count, device),
          keys_(group.keys, group.key_bytes, group.key_bytes != 0 ? group.count : 0, device) {}

    [[nodiscard]] std::span<const std::uint8_t> iv(std::uint64_t i) const { return {ivs_.at(i), group_.iv_length}; }
    [[nodiscard]] std::span<const std::uint8_t> key(std::uint64_t i) const {
        return group_.key != nullptr ? group_.key->bytes()
                                     : std::span<const std::uint8_t>(keys_.at(i), group_.key_bytes);
    }
    [[nodiscard]] Mode mode() const noexcept { return group_.mode; }

private:
    const MessageGroup& group_;
    HostView ivs_, keys_;
};

bool equal(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b) {
    return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace

void NonceCheck::add(std::uint32_t entry, const MessageGroup& group, int device) {
    if (group.direction != Direction::encrypt || traits_of(group.mode).kind.ivs != Ivs::unique) return;
    const SipHash& hash = process_hash();
    const Uses uses(group, device);
    std::uint64_t of_key = 0;
    for (std::uint64_t i = 0; i < group.count; ++i) {
        if (i == 0 || (group.key == nullptr && group.keys.stride != 0)) of_key = hash(uses.key(i));
        uses_.push_back({hash(uses.iv(i), of_key + static_cast<std::uint64_t>(group.mode)), i, entry, device});
    }
}

void NonceCheck::find(const std::function<MessageGroup(std::uint32_t)>& again,
                      const std::function<void(std::uint32_t)>& reused) {
    std::sort(uses_.begin(), uses_.end(), [](const Use& a, const Use& b) { return a.hash < b.hash; });
    for (std::size_t i = 1; i < uses_.size(); ++i) {
        const Use &a = uses_[i - 1], &b = uses_[i];
        if (a.hash != b.hash) continue;
        const MessageGroup first = again(a.entry).slice(a.message, 1), second = again(b.entry).slice(b.message, 1);
        const Uses x(first, a.device), y(second, b.device);
        if (x.mode() != y.mode() || !equal(x.iv(0), y.iv(0)) || !equal(x.key(0), y.key(0))) continue;
        reused(a.entry);
        reused(b.entry);
    }
}

}  // namespace warpaes
