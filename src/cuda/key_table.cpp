#include "cuda/key_table.hpp"

#include <algorithm>
#include <iterator>

namespace warpaes::cuda {

KeyTable::Held KeyTable::hold(const ExpandedKey& key, bool inverse) {
    const std::uint64_t owner = owner_of(key.serial(), inverse);
    const std::lock_guard lock(mutex_);
    if (const auto found = numbers_.find(owner); found != numbers_.end()) {
        Slot& slot = slots_[found->second];
        if (slot.state != State::ready) return {};
        ++slot.pins;
        slot.used = true;
        slot.last_use = Clock::now();
        return {found->second, false};
    }
    const std::uint32_t number = find_room();
    if (number == none) return {};
    Slot& slot = slots_[number];
    if (slot.state == State::ready) numbers_.erase(slot.owner);
    slot = {.owner = owner, .pins = 1, .state = State::filling, .used = true, .last_use = Clock::now()};
    numbers_[owner] = number;
    return {number, true};
}

/// Returns a free slot, or the first slot that has not been used since the clock hand last passed it.
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
    slot.last_use = Clock::now();
    if (!held.empty || slot.state == State::forgotten) return;
    if (filled) {
        slot.state = State::ready;
        return;
    }
    // The slot may contain a part of the key.
    forget(numbers_.find(slot.owner));
}

void KeyTable::forget(std::uint64_t serial) noexcept {
    const std::lock_guard lock(mutex_);
    for (const bool inverse : {false, true}) {
        if (const auto found = numbers_.find(owner_of(serial, inverse)); found != numbers_.end()) forget(found);
    }
}

void KeyTable::forget_before(Clock::time_point time) noexcept {
    const std::lock_guard lock(mutex_);
    for (auto next = numbers_.begin(); next != numbers_.end();) {
        const auto owner = next++;
        if (slots_[owner->second].last_use <= time) forget(owner);
    }
}

void KeyTable::forget(Numbers::iterator owner) {
    slots_[owner->second].state = State::forgotten;
    forgotten_.push_back(owner->second);
    numbers_.erase(owner);
}

bool KeyTable::empty() const noexcept {
    const std::lock_guard lock(mutex_);
    return numbers_.empty() && forgotten_.empty();
}

std::uint8_t* KeyTable::slot(std::uint32_t number) {
    const std::lock_guard lock(mutex_);
    if (memory_.get() == nullptr) memory_.reserve(std::size_t{capacity} * key_slot_bytes);
    return memory_.get() + std::size_t{number} * key_slot_bytes;
}

KeyTable::Wipe KeyTable::wipe_forgotten(cudaStream_t stream, Which which) {
    const std::lock_guard lock(mutex_);
    std::vector<std::uint32_t> wanted;
    wanted.reserve(forgotten_.size());
    std::copy_if(forgotten_.begin(), forgotten_.end(), std::back_inserter(wanted), [&](std::uint32_t number) {
        return slots_[number].pins == 0 && (which == Which::all || slots_[number].wiping == 0);
    });
    std::sort(wanted.begin(), wanted.end());
    Wipe wipe;
    wipe.numbers.reserve(wanted.size());
    // Adjacent slots are wiped together.
    for (std::size_t i = 0, end = 0; i < wanted.size(); i = end) {
        for (end = i + 1; end < wanted.size() && wanted[end] == wanted[end - 1] + 1;) ++end;
        if (memory_.get() != nullptr && !try_to(cudaMemsetAsync(memory_.get() + std::size_t{wanted[i]} * key_slot_bytes,
                                                                0, (end - i) * key_slot_bytes, stream))) {
            wipe.complete = false;
            continue;
        }
        for (std::size_t n = i; n < end; ++n) {
            ++slots_[wanted[n]].wiping;
            wipe.numbers.push_back(wanted[n]);
        }
    }
    return wipe;
}

void KeyTable::wiped(const Wipe& wipe, bool done) noexcept {
    if (wipe.numbers.empty()) return;
    const std::lock_guard lock(mutex_);
    for (const std::uint32_t number : wipe.numbers) {
        Slot& slot = slots_[number];
        slot.clean |= done;
        // Zeroing that is still pending must not overwrite a new key.
        if (--slot.wiping == 0 && slot.clean) slot = {};
    }
    std::erase_if(forgotten_, [this](std::uint32_t number) { return slots_[number].state == State::free; });
}

}  // namespace warpaes::cuda
