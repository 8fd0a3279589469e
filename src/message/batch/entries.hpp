// The entries of a batch: how they are checked, and the groups of messages that they describe.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/arena.hpp"
#include "engine/engine.hpp"
#include "message/batch/clashes.hpp"
#include "message/batch/strip.hpp"
#include "warpaes/warpaes.h"

namespace warpaes {

/// Access to the key handles of the C ABI.
struct KeyHandles {
    bool (*alive)(const warpaes_key*);  ///< true for a handle that has not been destroyed
    const ExpandedKey& (*key)(const warpaes_key*);
};

/// The memory that the offsets of one kind of elements point into.
struct Extent {
    std::uint8_t* first = nullptr;
    std::uint64_t bytes = 0;
};

/// The entries, one per message, that a batch creates from a table and keeps, with the table's extents and the faults
/// of its messages.
struct TableEntries {
    std::vector<warpaes_batch_entry> entries;
    Extent input, output, iv, aad, tag;
    /// The faults of messages that can be detected only in the complete table; OK for a message without such a fault.
    std::vector<warpaes_status> faults;
};

/// The parameters of warpaes_batch_submit.
struct BatchRequest {
    const warpaes_batch_entry* entries = nullptr;
    std::uint64_t count = 0;
    std::size_t entry_bytes = sizeof(warpaes_batch_entry);
    warpaes_entry_result* results = nullptr;  ///< one per entry
    std::size_t result_bytes = sizeof(warpaes_entry_result);
    bool offsets = false;  ///< `at` of elements is an offset in the arena, or in the extents of `table`
    bool check_nonces = false;
    void* const* copies = nullptr;  ///< as in warpaes_batch_options
    bool more_copies = false;       ///< WARPAES_BATCH_MORE_COPIES
    const Arena* arena = nullptr;
    KeyHandles handles{};
    std::function<void()> finished;
    std::shared_ptr<const TableEntries> table{};  ///< the owner of `entries`, if they come from a table

    [[nodiscard]] const warpaes_batch_entry& entry(std::uint64_t i) const noexcept {
        const auto* const first = reinterpret_cast<const std::uint8_t*>(entries);
        return *reinterpret_cast<const warpaes_batch_entry*>(first + i * entry_bytes);
    }
    [[nodiscard]] warpaes_entry_result& result(std::uint64_t i) const noexcept {
        auto* const first = reinterpret_cast<std::uint8_t*>(results);
        return *reinterpret_cast<warpaes_entry_result*>(first + i * result_bytes);
    }
    using Kind = warpaes_elements warpaes_batch_entry::*;
    /// Only with `offsets`. In tables, messages do not have their own keys.
    [[nodiscard]] Extent extent_of(Kind kind) const noexcept {
        if (table == nullptr) return {arena->data(), arena->bytes()};
        return kind == &warpaes_batch_entry::input    ? table->input
               : kind == &warpaes_batch_entry::output ? table->output
               : kind == &warpaes_batch_entry::iv     ? table->iv
               : kind == &warpaes_batch_entry::aad    ? table->aad
               : kind == &warpaes_batch_entry::tag    ? table->tag
                                                      : Extent{};
    }
    [[nodiscard]] Elements elements(const warpaes_batch_entry& e, Kind kind) const noexcept {
        const warpaes_elements& its = e.*kind;
        return {offsets ? extent_of(kind).first + its.at.offset : static_cast<std::uint8_t*>(its.at.pointer),
                its.stride};
    }
};

/// Converts `length`, which counts bits for CFB1, to bytes.
std::uint64_t data_bytes(std::uint64_t length, Mode mode) noexcept;

/// Returns the group of a checked entry. `key` is null for raw keys. Elements that the entry does not have are null; so
/// are all elements of an entry without messages, because its offsets are not checked.
MessageGroup group_of(const BatchRequest& request, const warpaes_batch_entry& entry);

/// Constructs the group in place.
struct MakeGroup {
    const BatchRequest& request;
    const warpaes_batch_entry& entry;
    operator MessageGroup() const { return group_of(request, entry); }
};

/// Whether two entries differ at most in the addresses of their parts, their keys, their statuses and their counts.
bool same_form(const warpaes_batch_entry& a, const warpaes_batch_entry& b) noexcept;

/// Replaces the addresses, the key and the count of a group with those of `entry`, which must have the same form as the
/// group's entry. Not for requests with offsets.
void readdress(MessageGroup& group, const BatchRequest& request, const warpaes_batch_entry& entry);

/// The same addresses, key and count, without the form. Not for offsets and raw keys.
AlikeGroup alike_group_of(const BatchRequest& request, const warpaes_batch_entry& entry);

/// Returns the memory for the statuses of the entry's messages. Empty if the entry has no statuses, or if its count is
/// impossible, in which case the check refuses the entry.
std::span<warpaes_status> statuses_of(const warpaes_batch_entry& entry) noexcept;

/// Returns the memory that a group writes: outputs, and tags when encrypting.
std::array<Strip, 2> writes_of(const MessageGroup& group);

/// Checks entries one after another. Not thread-safe.
class EntryChecker {
public:
    EntryChecker(const Engine& engine, const BatchRequest& request)
        : engine_(engine), request_(request), no_devices_(all_memory_is_the_hosts()) {}

    /// The kinds of elements, in the order of an entry's fields.
    enum Kind : std::uint8_t { input, output, iv, aad, tag, keys, kinds };
    struct Checked {
        MessageGroup group;
        int device = -1;           ///< device of at least one part; -1 if all parts are in host memory
        std::uint8_t on_host = 0;  ///< a bit for each kind of elements that is in host memory
        bool alike = false;        ///< whether the previous entry passed too and differs only in addresses, the key and
                                   ///< the count; of these, `group` then has only the count of this entry

        [[nodiscard]] bool lies_on_host(Kind kind) const noexcept { return (on_host >> kind & 1) != 0; }
        /// Whether the entry is partly on a device and partly in host memory.
        [[nodiscard]] bool split() const noexcept { return device >= 0 && on_host != 0; }
    };
    /// Throws an Error that describes a fault in the entry itself. The result is valid until the next call.
    const Checked& check(const warpaes_batch_entry& entry);
    /// Returns true if the last entry passed, and `entry` passes too and differs from it only in addresses, the key and
    /// the count. Otherwise check() must check the entry. Not for entries with raw keys or statuses.
    [[nodiscard]] bool passes_alike(const warpaes_batch_entry& entry);
    /// The memory that the entry writes, after check(); empty if `end` is 0.
    [[nodiscard]] Clashes::Extent extent_of_output() const noexcept { return reaches_[output].extent(); }
    [[nodiscard]] Clashes::Extent extent_of_tag() const noexcept {
        return checked_.group.direction == Direction::encrypt ? reaches_[tag].extent() : Clashes::Extent{};
    }
    /// Called if the caller refuses the entry that has just been checked.
    void forget() noexcept { last_entry_ = nullptr; }
    /// The checks that depend neither on addresses nor on the values of keys.
    static void check_shape(const warpaes_batch_entry& entry);
    /// Returns the device that holds an entry's statuses, or -1.
    [[nodiscard]] int device_of_statuses(const warpaes_status* statuses) { return place(statuses, last_[kinds]); }

private:
    /// The fields that check_shape() reads.
    struct Shape {
        explicit Shape(const warpaes_batch_entry& e)
            : mode(e.mode),
              direction(e.direction),
              count(e.count),
              length(e.length),
              aad_len(e.aad_len),
              data_unit_len(e.data_unit_len),
              iv_len(e.iv_len),
              tag_len(e.tag_len),
              key_len(e.key_len),
              data_unit_step(e.data_unit_step),
              has_key(e.key != nullptr),
              has_tweak_key(e.tweak_key != nullptr) {}
        bool operator==(const Shape&) const = default;
        warpaes_mode mode;
        warpaes_direction direction;
        std::uint64_t count, length, aad_len, data_unit_len;
        std::uint32_t iv_len, tag_len, key_len, data_unit_step;
        bool has_key, has_tweak_key;
    };
    /// Memory from the first byte of the first element to the end of the last: [begin, end).
    struct Reach {
        std::uintptr_t begin = UINTPTR_MAX, end = 0;
        [[nodiscard]] Clashes::Extent extent() const noexcept {
            return end == 0 ? Clashes::Extent{} : Clashes::Extent{begin, end};
        }
        [[nodiscard]] bool apart(const Reach& other) const noexcept { return end <= other.begin || other.end <= begin; }
    };
    /// Checks an entry that differs from `last` only in addresses, the key and, if both have several messages, the
    /// count, except for its statuses. Returns false if check() must check it.
    [[nodiscard]] bool is_alike(const warpaes_batch_entry& e, const warpaes_batch_entry& last);
    void check_faults(const warpaes_batch_entry& e) const;
    void check_tail(const warpaes_batch_entry& e) const;
    void check_living(const warpaes_batch_entry& e);
    /// Sets `reaches_`.
    void check_ranges(const warpaes_batch_entry& e, Mode mode);
    void check_overlaps(const MessageGroup& g) const;
    [[nodiscard]] bool lies_apart(const MessageGroup& g, bool in_place) const noexcept;
    void place(Checked& checked);
    /// Returns the device of `pointer`. `last` is the memory that contained the same part of the previous entry.
    [[nodiscard]] int place(const void* pointer, MemoryStretch& last);
    [[nodiscard]] bool is_alive(const warpaes_key* key);
    void check_alive(const warpaes_key* key, const char* name);

    const Engine& engine_;
    const BatchRequest& request_;
    const bool no_devices_;
    std::array<Reach, kinds> reaches_{};  ///< memory of each part of the entry; default-constructed if the part
                                          ///< is missing
    /// Handles that were recently found to be valid, in sets of two: random handles then rarely displace each other, so
    /// that the branch is predictable.
    std::array<std::array<const warpaes_key*, 2>, 128> alive_{};
    Checked checked_{};
    std::optional<Shape> valid_;                       ///< the last shape that check_shape() accepted
    const warpaes_batch_entry* last_entry_ = nullptr;  ///< `checked_` is for this entry, and check_alike() may use it
    std::array<MemoryStretch, kinds + 1> last_{};      ///< memory of input, output, ..., and of statuses
    std::array<MemoryStretch, 64> places_{};           ///< results of recent queries, indexed by address
    unsigned asked_ = 0;
};

}  // namespace warpaes
