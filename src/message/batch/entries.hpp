// The entries of a batch: what is wrong with one, and the messages that it stands for.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>

#include "engine/arena.hpp"
#include "engine/engine.hpp"
#include "message/batch/strip.hpp"
#include "warpaes/warpaes.h"

namespace warpaes {

/// What a key handle of the C ABI stands for.
struct KeyHandles {
    bool (*alive)(const warpaes_key*);  ///< whether it is one, and not destroyed
    const ExpandedKey& (*key)(const warpaes_key*);
};

/// See warpaes_batch_submit.
struct BatchRequest {
    const warpaes_batch_entry* entries = nullptr;
    std::uint64_t count = 0;
    std::size_t entry_bytes = sizeof(warpaes_batch_entry);
    warpaes_entry_result* results = nullptr;  ///< one for each entry
    std::size_t result_bytes = sizeof(warpaes_entry_result);
    bool offsets = false;
    bool check_nonces = false;
    const Arena* arena = nullptr;
    KeyHandles handles{};
    std::function<void()> finished;

    [[nodiscard]] const warpaes_batch_entry& entry(std::uint64_t i) const noexcept {
        const auto* const first = reinterpret_cast<const std::uint8_t*>(entries);
        return *reinterpret_cast<const warpaes_batch_entry*>(first + i * entry_bytes);
    }
    [[nodiscard]] warpaes_entry_result& result(std::uint64_t i) const noexcept {
        auto* const first = reinterpret_cast<std::uint8_t*>(results);
        return *reinterpret_cast<warpaes_entry_result*>(first + i * result_bytes);
    }
    [[nodiscard]] Elements elements(const warpaes_elements& e) const noexcept {
        return {offsets ? arena->data() + e.at.offset : static_cast<std::uint8_t*>(e.at.pointer), e.stride};
    }
};

/// The messages of a checked entry; `key` of one with raw keys is null. Elements that it does not have are null, and so
/// are all of an entry without messages, whose offsets nobody has checked.
MessageGroup group_of(const BatchRequest& request, const warpaes_batch_entry& entry);

/// Where the entry wants the statuses of its messages; empty if nowhere, or if no memory could hold them, for which it
/// is refused.
std::span<warpaes_status> statuses_of(const warpaes_batch_entry& entry) noexcept;

/// What an entry writes: outputs, and tags if it encrypts.
std::array<Strip, 2> writes_of(const MessageGroup& group);

/// Checks entries one after the other. One thread at a time.
class EntryChecker {
public:
    EntryChecker(const Engine& engine, const BatchRequest& request) : engine_(engine), request_(request) {}

    struct Checked {
        MessageGroup group;
        int device = -1;              ///< where some of it lies, or all; -1: all in host memory
        bool split = false;           ///< some on a device, and some in host memory
        bool output_on_host = false;  ///< of a split one
    };
    /// Throws Error that says what is wrong with the entry by itself.
    Checked check(const warpaes_batch_entry& entry);

private:
    void check_keys(const warpaes_batch_entry& e, Mode mode);
    void check_ranges(const warpaes_batch_entry& e, Mode mode) const;
    void check_overlaps(const MessageGroup& g) const;
    void place(Checked& checked);
    /// `last`: where the same of the entry before lay.
    [[nodiscard]] int place(const void* pointer, MemoryStretch& last);
    void check_alive(const warpaes_key* key, const char* name);

    const Engine& engine_;
    const BatchRequest& request_;
    std::array<const warpaes_key*, 64> alive_{};  ///< handles lately seen alive
    std::array<MemoryStretch, 6> last_{};         ///< of input, output, …
    std::array<MemoryStretch, 64> places_{};      ///< where memory lately asked about lies, found by address
    unsigned asked_ = 0;
};

}  // namespace warpaes
