#include "message/batch/enqueue.hpp"

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "engine/memory.hpp"
#include "message/batch/clashes.hpp"
#include "message/batch/table.hpp"
#include "message/checks.hpp"

namespace warpaes {

namespace {

void refuse(const std::string& sentence) {
    throw Error(WARPAES_ERROR_ARGUMENT, sentence);
}

/// Performs the additional checks that an entry with messages to process requires in a batch on a caller's stream.
/// Returns the device of the text or, without text, of the memory that is written. `of_table` is the device of a
/// table's statuses.
int check_for_stream(const warpaes_batch_entry& e, const EntryChecker::Checked& checked, std::optional<int> of_table,
                     EntryChecker& checker) {
    const MessageGroup& g = checked.group;
    const bool opens = uses_tag(g.mode) && g.direction == Direction::decrypt;
    const int of_statuses = of_table ? *of_table : opens ? checker.device_of_statuses(e.statuses) : -1;
    const int device = of_table || (checked.device < 0 && g.length == 0) ? of_statuses : checked.device;
    const auto is_here = [&](EntryChecker::Kind kind) {
        return device >= 0 && checked.device == device && !checked.lies_on_host(kind);
    };
    if (g.length != 0 && !(is_here(EntryChecker::input) && is_here(EntryChecker::output))) {
        refuse("input, output: an enqueued batch requires data in the memory of one device");
    }
    if (!uses_tag(g.mode)) return device;
    if (!opens) {
        if (!is_here(EntryChecker::tag)) {
            refuse("tag: an enqueued batch writes tags to the memory of the data's device");
        }
    } else if (e.statuses == nullptr) {
        refuse("statuses: is null; decryption with a tag reports there which messages are authentic");
    } else if (device < 0 || of_statuses != device) {
        refuse("statuses: an enqueued batch writes them to the memory of the data's device");
    }
    // Wiping an output would otherwise overwrite a status with WARPAES_OK.
    const Strip statuses{reinterpret_cast<std::uintptr_t>(e.statuses), sizeof(warpaes_status), g.count,
                         sizeof(warpaes_status)};
    if (opens && meet(writes_of(g)[0], statuses) != Meeting::no) {
        throw Error(WARPAES_ERROR_OVERLAP, "statuses: overlap the output");
    }
    return device;
}

/// Returns what a group writes, including an input that is copied to the device.
std::array<Strip, 2> writes_of(const BatchRequest& request, std::uint64_t entry, const MessageGroup& g) {
    std::array<Strip, 2> writes = warpaes::writes_of(g);
    if (request.copies == nullptr || request.copies[entry] == nullptr || g.direction == Direction::encrypt) {
        return writes;
    }
    if (g.length != 0 && g.input.first != g.output.first) {  // decryption does not write tags
        writes[1] = {reinterpret_cast<std::uintptr_t>(g.input.first), g.input.stride, g.count, g.length};
    }
    return writes;
}

/// Writes the statuses of a table's messages that are not processed, before the statuses of the other messages.
class TableFaults {
public:
    TableFaults(const BatchRequest& request, int device) : request_(request), device_(device) {}

    void set(std::uint64_t message, warpaes_status status) {
        if (statuses_.empty()) statuses_.resize(request_.count, WARPAES_OK);
        statuses_[message] = status;
    }
    void write(void* stream) const {
        if (statuses_.empty()) return;
        copy_memory(request_.entry(0).statuses, statuses_.data(), statuses_.size() * sizeof(warpaes_status), device_,
                    stream);
    }

private:
    const BatchRequest& request_;
    int device_;
    std::vector<warpaes_status> statuses_;
};

/// Checks the memory for the copies of texts. Entries must be added in ascending order.
class Copies {
public:
    explicit Copies(const BatchRequest& request) : request_(request) {}

    void add(std::uint64_t entry, const MessageGroup& g) {
        auto* const first = g.length != 0 ? static_cast<std::uint8_t*>(request_.copies[entry]) : nullptr;
        pointers_.push_back(first);
        if (first == nullptr) return;
        const std::uint64_t bytes = g.count * g.length;
        const std::uint64_t stride = g.direction == Direction::encrypt ? g.output.stride : g.input.stride;
        if (g.output.first == nullptr) throw fault(entry, "the mode has no output");
        if (g.count > 1 && stride != g.length) throw fault(entry, "the text on the device has gaps");
        check_memory(first, bytes, "copies");
        // Of adjacent memory, only the ends are checked, because a query takes up to a microsecond.
        if (first != end_) {
            check_end();
            require_page_locked(entry, first);
        }
        last_ = entry;
        end_ = first + bytes;
        if (g.direction == Direction::encrypt) clashes_.add(static_cast<std::uint32_t>(entry), writes_to(first, bytes));
    }
    /// Must be called after the last entry. Returns a pointer for each entry.
    std::span<std::uint8_t* const> finish() {
        check_end();
        (void)clashes_.find(
            [&](std::uint32_t i) {
                const MessageGroup g = group_of(request_, request_.entry(i));
                return writes_to(static_cast<std::uint8_t*>(request_.copies[i]), g.count * g.length);
            },
            [](std::uint32_t i) {
                throw Error(WARPAES_ERROR_OVERLAP,
                            "entry " + std::to_string(i) + ": copies: overlaps the memory of another entry");
            });
        return pointers_;
    }

private:
    static Error fault(std::uint64_t entry, const char* sentence) {
        return {WARPAES_ERROR_ARGUMENT, "entry " + std::to_string(entry) + ": copies: " + sentence};
    }
    static std::array<Strip, 2> writes_to(const std::uint8_t* first, std::uint64_t bytes) {
        return {Strip{reinterpret_cast<std::uintptr_t>(first), bytes, 1, bytes}, Strip{}};
    }
    static void require_page_locked(std::uint64_t entry, const std::uint8_t* at) {
        if (place_of(at).kind != Memory::page_locked) throw fault(entry, "must be in page-locked memory");
    }
    void check_end() const {
        if (end_ != nullptr) require_page_locked(last_, end_ - 1);
    }

    const BatchRequest& request_;
    std::uint64_t last_ = 0;
    const std::uint8_t* end_ = nullptr;  ///< end of the memory of entry `last_`
    std::vector<std::uint8_t*> pointers_;
    Clashes clashes_;
};

int device_of_statuses(const BatchRequest& request) {
    const int device = device_of(request.entry(0).statuses);
    if (device < 0) refuse("statuses: an enqueued table writes them to the memory of the data's device");
    return device;
}

}  // namespace

void enqueue_batch(Engine& engine, const BatchRequest& request, void* stream) {
    const bool finishes_copies = request.copies != nullptr && !request.more_copies;
    if (request.count == 0 && finishes_copies) engine.gpu().finish_copies(stream);
    if (request.count == 0) return;
    EntryChecker checker(engine, request);
    std::vector<MessageGroup> groups;
    groups.reserve(request.count);
    std::vector<std::uint64_t> numbers;  // the entry of each group, if there are copies
    std::optional<int> device, of_table;
    std::optional<TableFaults> faults;
    if (request.table != nullptr) faults.emplace(request, *(of_table = device_of_statuses(request)));
    Clashes clashes;
    for (std::uint64_t i = 0; i < request.count; ++i) {
        const warpaes_batch_entry& e = request.entry(i);
        try {
            const EntryChecker::Checked& checked = checker.check(e);
            checker.forget();  // `checked.group` must always have the addresses of `e`
            MessageGroup g = checked.group;
            // A table has already been searched for all kinds of overlaps.
            if (!of_table) clashes.add(static_cast<std::uint32_t>(i), writes_of(request, i, g));
            if (g.count == 0 || (!of_table && g.length == 0 && !uses_tag(g.mode))) continue;
            const int its = check_for_stream(e, checked, of_table, checker);
            if (device && *device != its) {
                refuse(std::string(g.length != 0 ? "input" : "tag, statuses") +
                       ": is on a device other than that of earlier entries");
            }
            device = its;
            g.device = checked.split() ? -1 : checked.device;
            const bool opens = uses_tag(g.mode) && g.direction == Direction::decrypt;
            if (of_table || opens) g.statuses = reinterpret_cast<std::int32_t*>(e.statuses);
            groups.push_back(g);
            if (request.copies != nullptr) numbers.push_back(i);
        } catch (const Error& error) {
            if (!faults) throw Error(error.status(), "entry " + std::to_string(i) + ": " + error.what());
            faults->set(i, error.status());
        }
    }
    (void)clashes.find([&](std::uint32_t i) { return writes_of(request, i, group_of(request, request.entry(i))); },
                       [&](std::uint32_t i) {
                           const std::string what =
                               request.copies != nullptr ? "output, tag, copied input" : "output, tag";
                           throw Error(WARPAES_ERROR_OVERLAP, "entry " + std::to_string(i) + ": " + what +
                                                                  ": overlap the output or tag of another entry");
                       });
    static_assert(sizeof(warpaes_status) == sizeof(std::int32_t));
    if (faults) faults->write(stream);
    if (groups.empty() && finishes_copies) engine.gpu().finish_copies(stream);
    if (groups.empty()) return;
    if (request.copies == nullptr) return engine.gpu().enqueue(groups, *device, stream);
    Copies copies(request);
    for (std::size_t i = 0; i < groups.size(); ++i) copies.add(numbers[i], groups[i]);
    engine.gpu().enqueue_copied(groups, copies.finish(), request.more_copies, *device, stream);
}

bool enqueue_in_order(Engine& engine, const KeyHandles& handles, const warpaes_batch_table& table, void* stream) {
    const std::optional<TableGroups> ordered = groups_in_order(engine, handles, table);
    if (!ordered) return false;
    engine.gpu().enqueue(ordered->groups, ordered->device, stream);
    return true;
}

}  // namespace warpaes
