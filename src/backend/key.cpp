#include <algorithm>
#include <atomic>

#include "aes/cipher.hpp"
#include "backend/backend.hpp"
#include "base/error.hpp"
#include "base/stack_depth.hpp"

namespace warpaes {

namespace {

std::atomic<void (*)(std::uint64_t)> forget_key{nullptr};

std::uint64_t next_serial() {
    static std::atomic<std::uint64_t> last{0};
    return ++last;
}

}  // namespace

void when_key_ends(void (*forget)(std::uint64_t serial)) noexcept {
    forget_key = forget;
}

ExpandedKey::ExpandedKey(std::span<const std::uint8_t> key)
    : serial_(next_serial()), rounds_(rounds_for_key_bytes(key.size())) {
    if (rounds_ == 0) {
        throw Error(WARPAES_ERROR_KEY_LENGTH,
                    "key: must be 16, 24 or 32 bytes (AES-128, -192 or -256), got " + std::to_string(key.size()));
    }
    note_stack_depth(tables_stack);  // callers insert new keys into hash tables, which uses this much stack
    std::copy(key.begin(), key.end(), bytes_->begin());
    *encrypt_ = expand_key(key);
    *decrypt_ = invert_round_keys(*encrypt_, rounds_);
}

ExpandedKey::ExpandedKey(std::span<const std::uint8_t> key, FieldElement hash_subkey) : ExpandedKey(key) {
    has_own_hash_subkey_ = true;
    *own_hash_subkey_ = store_element(hash_subkey);
}

ExpandedKey::~ExpandedKey() {
    if (const auto forget = forget_key.load()) forget(serial_);
}

void ExpandedKey::make_hash_key_once() const {
    std::call_once(hash_key_made_, [this] {
        note_stack_depth(tables_stack);  // binding memcpy saves the vector registers far down the stack
        const Secret<FieldElement> h(has_own_hash_subkey_ ? load_element(*own_hash_subkey_)
                                                          : load_element(encrypt_block(*encrypt_, rounds_, Block{})));
        *hash_key_ = make_hash_key(*h);
        hash_key_ready_.store(true, std::memory_order_release);
    });
}

void ExpandedKey::make_first_round_once() const {
    std::call_once(first_round_made_, [this] {
        note_stack_depth(tables_stack);
        first_round_ = std::make_unique<const Secret<FirstRound>>(make_first_round(*encrypt_));
        first_round_ready_.store(true, std::memory_order_release);
    });
}

}  // namespace warpaes
