#include "cuda/key_table.hpp"

namespace warpaes::cuda {

KeyTable::Held KeyTable::hold(const ExpandedKey& key, bool inverse) {
    const std::uint64_t owner = owner_of(key.serial(), inverse);
    const std::lock_guard lock(mutex_);
    if (const auto found = numbers_.find(owner); found != numbers_.end()) {
        Slot& slot = slots_[found->second];
        if (slot.state != State::ready) return {};
        ++slot.pins;
        slot.used = true;
        return {found->second, false};
    }
    const std::uint32_t number = find_room();
    if (number == none) return {};
    Slot& slot = slots_[number];
    if (slot.state == State::ready) numbers_.erase(slot.owner);
    slot = {owner, 1, State::filling, true};
    numbers_[owner] = number;
    return {number, true};
}

/// A free slot, or the first that nobody has used since the hand last came by.
std::uint32_t KeyTable::find_room() {
    if (slots_.size() < capacity) {
        slots_.emplace_back();
        return static_cast<std::uint32_t>(slots_.size() - 1);
    }
    for (std::uint32_t step = 0; step < 2 * capacity; ++step) {
        const std::uint32_t number = hand_;
        hand_ = (hand_ + 1) % capacity;
        Slot& slot = slots_[number];
        if (slot.state == State::free) return number;
        if (slot.state != State::ready || slot.pins != 0) continue;
        if (!slot.used) return number;
        slot.used = false;
    }
    return none;
}

void KeyTable::release(const Held& held, bool filled) noexcept {
    if (held.number == none) return;
    const std::lock_guard lock(mutex_);
    Slot& slot = slots_[held.number];
    --slot.pins;
    if (!held.empty || slot.state == State::forgotten) return;
    if (filled) {
        slot.state = State::ready;
        return;
    }
    // It may hold a part of the key.
    numbers_.erase(slot.owner);
    slot.state = State::forgotten;
    forgotten_.push_back(held.number);
}

void KeyTable::forget(std::uint64_t serial) noexcept {
    const std::lock_guard lock(mutex_);
    for (const bool inverse : {false, true}) {
        const auto found = numbers_.find(owner_of(serial, inverse));
        if (found == numbers_.end()) continue;
        slots_[found->second].state = State::forgotten;
        forgotten_.push_back(found->second);
        numbers_.erase(found);
    }
}

std::uint8_t* KeyTable::slot(std::uint32_t number) {
    const std::lock_guard lock(mutex_);
    if (memory_.get() == nullptr) memory_.reserve(std::size_t{capacity} * key_slot_bytes);
    return memory_.get() + std::size_t{number} * key_slot_bytes;
}

std::vector<std::uint32_t> KeyTable::wipe_forgotten(cudaStream_t stream) {
    const std::lock_guard lock(mutex_);
    std::vector<std::uint32_t> numbers;
    std::erase_if(forgotten_, [&](std::uint32_t number) {
        if (slots_[number].pins != 0) return false;
        numbers.push_back(number);
        return true;
    });
    for (const std::uint32_t number : numbers) {
        if (memory_.get() == nullptr) break;
        (void)cudaMemsetAsync(memory_.get() + std::size_t{number} * key_slot_bytes, 0, key_slot_bytes, stream);
    }
    return numbers;
}

void KeyTable::wiped(const std::vector<std::uint32_t>& numbers, bool done) noexcept {
    if (numbers.empty()) return;
    const std::lock_guard lock(mutex_);
    for (const std::uint32_t number : numbers) {
        if (done) {
            slots_[number].state = State::free;
        } else {
            forgotten_.push_back(number);
        }
    }
}

}  // namespace warpaes::cuda
