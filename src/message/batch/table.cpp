#include "message/batch/table.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "engine/memory.hpp"
#include "message/checks.hpp"

namespace warpaes {

namespace {

Extent checked_extent(const warpaes_extent& extent, const char* name) {
    if (extent.bytes != 0 && extent.pointer == nullptr) {
        throw Error(WARPAES_ERROR_ARGUMENT, std::string(name) + ": is null, but its length is not 0");
    }
    check_memory(extent.pointer, extent.bytes, name);
    return {static_cast<std::uint8_t*>(extent.pointer), extent.bytes};
}

bool holds(const Extent& extent, std::uint64_t offset, std::uint64_t bytes) {
    return bytes == 0 || (offset <= extent.bytes && bytes <= extent.bytes - offset);
}

void check_statuses(const warpaes_batch_table& table, const TableEntries& entries) {
    if (table.count == 0) return;
    if (table.statuses == nullptr) throw Error(WARPAES_ERROR_ARGUMENT, "statuses: is null; a table requires statuses");
    const Extent statuses{reinterpret_cast<std::uint8_t*>(table.statuses), table.count * sizeof(warpaes_status)};
    check_memory(statuses.first, statuses.bytes, "statuses");
    for (const Extent* extent : {&entries.input, &entries.output, &entries.iv, &entries.aad, &entries.tag}) {
        if (overlap(*extent, statuses)) throw Error(WARPAES_ERROR_OVERLAP, "statuses: overlap an extent");
    }
}

std::vector<warpaes_table_message> copy_of(const warpaes_batch_table& table, void* stream) {
    std::vector<warpaes_table_message> messages(table.count);
    if (table.count == 0) return messages;
    if (table.messages == nullptr) throw Error(WARPAES_ERROR_ARGUMENT, "messages: is null");
    const std::uint64_t bytes = table.count * sizeof(warpaes_table_message);
    check_memory(table.messages, bytes, "messages");
    copy_memory(messages.data(), table.messages, bytes, device_of(table.messages), stream);
    return messages;
}

/// The bytes that a message reads or writes.
struct Range {
    std::uintptr_t begin, end;
    std::uint32_t owner;
};

class Faults {
public:
    explicit Faults(std::vector<warpaes_status>& faults) : faults_(faults) {}

    void write(const Extent& in, std::uint64_t offset, std::uint64_t bytes, std::uint32_t owner) {
        add(writes_, in, offset, bytes, owner);
    }
    void read(const Extent& in, std::uint64_t offset, std::uint64_t bytes, std::uint32_t owner) {
        add(reads_, in, offset, bytes, owner);
    }

    void find() {
        sort(writes_);
        sort(reads_);
        const Range* last = nullptr;  // the write with the greatest end so far
        for (const Range& write : writes_) {
            if (last != nullptr && write.begin < last->end && write.owner != last->owner) {
                set(write.owner, WARPAES_ERROR_OVERLAP);
                set(last->owner, WARPAES_ERROR_OVERLAP);
            }
            if (last == nullptr || write.end > last->end) last = &write;
        }
        if (reads_.empty()) return;
        // Among the reads that begin before a position: the greatest end, and the greatest end of a different owner.
        struct Ends {
            std::uintptr_t end = 0, others_end = 0;
            std::uint32_t owner = 0;
        };
        std::vector<Ends> ends(reads_.size());
        Ends now{.owner = reads_.front().owner};
        for (std::size_t i = 0; i < reads_.size(); ++i) {
            const Range& read = reads_[i];
            if (read.owner == now.owner) {
                now.end = std::max(now.end, read.end);
            } else if (read.end > now.end) {
                now = {.end = read.end, .others_end = now.end, .owner = read.owner};
            } else {
                now.others_end = std::max(now.others_end, read.end);
            }
            ends[i] = now;
        }
        for (const Range& write : writes_) {
            const auto behind = std::partition_point(reads_.begin(), reads_.end(),
                                                     [&](const Range& read) { return read.begin < write.end; });
            if (behind == reads_.begin()) continue;
            const Ends& its = ends[static_cast<std::size_t>(behind - reads_.begin()) - 1];
            if ((its.owner != write.owner ? its.end : its.others_end) > write.begin) {
                set(write.owner, WARPAES_ERROR_OVERLAP);
            }
        }
    }

    void set(std::uint32_t owner, warpaes_status fault) {
        if (faults_[owner] == WARPAES_OK) faults_[owner] = fault;
    }

private:
    static void add(std::vector<Range>& to, const Extent& in, std::uint64_t offset, std::uint64_t bytes,
                    std::uint32_t owner) {
        if (bytes == 0) return;
        const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(in.first) + offset;
        to.push_back({begin, begin + bytes, owner});
    }
    static void sort(std::vector<Range>& ranges) {
        const auto before = [](const Range& a, const Range& b) { return a.begin < b.begin; };
        if (!std::is_sorted(ranges.begin(), ranges.end(), before)) std::sort(ranges.begin(), ranges.end(), before);
    }

    std::vector<warpaes_status>& faults_;
    std::vector<Range> writes_, reads_;
};

/// Finds encryptions whose IVs are at the same offset.
void find_shared_ivs(std::vector<std::pair<std::uint64_t, std::uint32_t>> ivs, Faults& faults) {
    if (!std::is_sorted(ivs.begin(), ivs.end())) std::sort(ivs.begin(), ivs.end());
    for (std::size_t i = 1; i < ivs.size(); ++i) {
        if (ivs[i].first != ivs[i - 1].first) continue;
        faults.set(ivs[i].second, WARPAES_ERROR_IV_REUSED);
        faults.set(ivs[i - 1].second, WARPAES_ERROR_IV_REUSED);
    }
}

void find_faults(const std::vector<warpaes_table_message>& messages, Mode mode, const warpaes_batch_table& table,
                 TableEntries& entries) {
    Faults faults(entries.faults);
    const bool encrypts = table.direction == WARPAES_ENCRYPT, writes_tags = encrypts && table.tag_len != 0;
    const bool writes_text = has_output(mode);
    const Extent none{};
    const Extent& output = writes_text ? entries.output : none;
    std::vector<std::pair<std::uint64_t, std::uint32_t>> ivs;  // IVs of encryptions that must not share them
    const bool one_iv_each = encrypts && traits_of(mode).kind.ivs == Ivs::unique;
    bool apart = true;  // whether reads and writes are in different extents
    const Extent* const reads[] = {&entries.input, &entries.iv, &entries.aad, writes_tags ? &none : &entries.tag};
    for (const Extent* read : reads) {
        apart = apart && !overlap(*read, output) && !(writes_tags && overlap(*read, entries.tag));
    }
    for (std::uint32_t i = 0; i < messages.size(); ++i) {
        const warpaes_table_message& m = messages[i];
        const std::uint64_t bytes = data_bytes(m.length, mode), written = writes_text ? bytes : 0;
        if (m.reserved != 0) faults.set(i, WARPAES_ERROR_ARGUMENT);
        if (!holds(entries.input, m.input, bytes) || !holds(output, m.output, written) ||
            !holds(entries.iv, m.iv, table.iv_len) || !holds(entries.aad, m.aad, m.aad_len) ||
            !holds(entries.tag, m.tag, table.tag_len)) {
            continue;  // the entry check refuses it later
        }
        if (one_iv_each) ivs.emplace_back(m.iv, i);
        faults.write(output, m.output, written, i);
        if (writes_tags) faults.write(entries.tag, m.tag, table.tag_len, i);
        if (apart) continue;
        faults.read(entries.input, m.input, bytes, i);
        faults.read(entries.iv, m.iv, table.iv_len, i);
        faults.read(entries.aad, m.aad, m.aad_len, i);
        if (!writes_tags) faults.read(entries.tag, m.tag, table.tag_len, i);
    }
    faults.find();
    find_shared_ivs(std::move(ivs), faults);
}

}  // namespace

bool overlap(const Extent& a, const Extent& b) {
    const auto first = reinterpret_cast<std::uintptr_t>(a.first), second = reinterpret_cast<std::uintptr_t>(b.first);
    return a.bytes != 0 && b.bytes != 0 && first < second + b.bytes && second < first + a.bytes;
}

TableEntries checked_extents(const warpaes_batch_table& table) {
    (void)checked_mode(table.mode);
    (void)checked_direction(table.direction);
    if (table.key == nullptr) throw Error(WARPAES_ERROR_ARGUMENT, "key: is null");
    TableEntries made;
    made.input = checked_extent(table.input, "input");
    made.output = checked_extent(table.output, "output");
    made.iv = checked_extent(table.iv, "iv");
    made.aad = checked_extent(table.aad, "aad");
    made.tag = checked_extent(table.tag, "tag");
    check_statuses(table, made);
    return made;
}

warpaes_batch_entry entry_of(const warpaes_batch_table& table) {
    warpaes_batch_entry e{};
    e.mode = table.mode;
    e.direction = table.direction;
    e.count = 1;
    e.iv_len = table.iv_len;
    e.tag_len = table.tag_len;
    e.data_unit_step = table.data_unit_step;
    e.data_unit_len = table.data_unit_len;
    e.key = table.key;
    e.tweak_key = table.tweak_key;
    return e;
}

std::shared_ptr<const TableEntries> entries_of(const warpaes_batch_table& table, void* stream) {
    auto made = std::make_shared<TableEntries>(checked_extents(table));
    const std::vector<warpaes_table_message> messages = copy_of(table, stream);
    made->faults.resize(messages.size(), WARPAES_OK);
    made->entries.reserve(messages.size());
    warpaes_batch_entry e = entry_of(table);
    for (const warpaes_table_message& m : messages) {
        const auto at = [](std::uint64_t offset, bool there) {
            warpaes_elements elements{};
            if (there) elements.at.offset = offset;
            return elements;
        };
        e.length = m.length;
        e.input = at(m.input, m.length != 0);
        e.output = at(m.output, m.length != 0);
        e.iv = at(m.iv, table.iv_len != 0);
        e.aad = at(m.aad, m.aad_len != 0);
        e.tag = at(m.tag, table.tag_len != 0);
        e.aad_len = m.aad_len;
        e.statuses = table.statuses + made->entries.size();
        made->entries.push_back(e);
    }
    find_faults(messages, static_cast<Mode>(table.mode), table, *made);
    return made;
}

}  // namespace warpaes
