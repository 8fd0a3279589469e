#include <algorithm>
#include <array>
#include <memory>

#include "base/error.hpp"
#include "engine/memory.hpp"
#include "message/batch/table.hpp"

namespace warpaes {

namespace {

/// The parts of a table's messages, in the order of its extents.
enum Part : std::size_t { input, output, iv, aad, tag, parts };
using Offset = std::uint64_t warpaes_table_message::*;
constexpr Offset offset_of[parts] = {&warpaes_table_message::input, &warpaes_table_message::output,
                                     &warpaes_table_message::iv, &warpaes_table_message::aad,
                                     &warpaes_table_message::tag};
using Kind = Elements MessageGroup::*;
constexpr Kind kind_of[parts] = {&MessageGroup::input, &MessageGroup::output, &MessageGroup::iv, &MessageGroup::aad,
                                 &MessageGroup::tag};

constexpr int nowhere = -2;

/// Returns the device of a whole extent, -1 for host memory, or `nowhere` if its ends are in different memory.
int place_of_all(const Extent& extent) {
    if (extent.bytes == 0) return -1;
    const int first = device_of(extent.first), last = device_of(extent.first + extent.bytes - 1);
    return first == last ? first : nowhere;
}

/// Reads a row that another thread or process may be writing to.
warpaes_table_message read_once(const volatile warpaes_table_message& row) {
    return {row.input, row.output, row.length, row.iv, row.aad, row.aad_len, row.tag, row.reserved};
}

class OrderedRows {
public:
    OrderedRows(const Engine& engine, const KeyHandles& handles, const warpaes_batch_table& table)
        : engine_(engine), table_(table), entry_(entry_of(table)), mode_(static_cast<Mode>(table.mode)) {
        auto extents = std::make_shared<TableEntries>(checked_extents(table));
        extents_ = {extents->input, extents->output, extents->iv, extents->aad, extents->tag};
        request_.handles = handles;
        request_.offsets = true;
        request_.table = std::move(extents);
        encrypts_ = table.direction == WARPAES_ENCRYPT;
        writes_tags_ = encrypts_ && table.tag_len != 0;
        one_iv_each_ = encrypts_ && traits_of(mode_).kind.ivs == Ivs::unique;
    }

    /// Whether the extents are arranged as a single pass requires. Each row is also checked.
    bool begin() {
        if (!request_.handles.alive(table_.key) || !engine_.may_use_gpu() || mode_ == Mode::xts) return false;
        made_.device = device_of(table_.statuses);
        if (made_.device < 0 || device_of(table_.messages) >= 0) return false;
        std::array<int, parts> places{};
        for (std::size_t part = 0; part < parts; ++part) {
            const auto same = std::find_if(extents_.begin(), extents_.begin() + part, [&](const Extent& other) {
                return other.first == extents_[part].first && other.bytes == extents_[part].bytes;
            });
            const auto known = static_cast<std::size_t>(same - extents_.begin());
            places[part] = known != part ? places[known] : place_of_all(extents_[part]);
            if (places[part] != -1 && places[part] != made_.device) return false;
            on_host_[part] = places[part] < 0;
        }
        if (on_host_[input] || (on_host_[output] && has_output(mode_)) || (writes_tags_ && on_host_[tag])) {
            return false;
        }
        const bool one = extents_[input].first == extents_[output].first;
        in_place_ = one && has_output(mode_);
        const auto meet = [&](Part a, Part b) { return overlap(extents_[a], extents_[b]); };
        const bool text = has_output(mode_) &&
                          ((!one && meet(input, output)) || meet(iv, output) || meet(aad, output) || meet(tag, output));
        return !text && !(writes_tags_ && (meet(tag, input) || meet(tag, iv) || meet(tag, aad)));
    }

    /// Processes the next row. Returns false if a single pass is not enough for the table.
    bool add(const warpaes_table_message& m) {
        if (m.reserved != 0 || !(has_shape(m) || take_shape(m)) || !ascends(m)) return false;
        if (!continues(m)) begin_group(m);
        last_ = m;
        ++rows_;
        return true;
    }

    TableGroups take() { return std::move(made_); }

private:
    [[nodiscard]] bool has_shape(const warpaes_table_message& m) const {
        return rows_ != 0 && m.length == last_.length && m.aad_len == last_.aad_len;
    }
    bool take_shape(const warpaes_table_message& m) {
        entry_.length = m.length;
        entry_.aad_len = m.aad_len;
        try {
            EntryChecker::check_shape(entry_);
        } catch (const Error&) {
            return false;
        }
        const std::uint64_t bytes = data_bytes(m.length, mode_);
        bytes_ = {bytes, has_output(mode_) ? bytes : 0, table_.iv_len, m.aad_len, table_.tag_len};
        in_group_ = 0;
        return true;
    }
    /// Whether the row is inside the extents, and writes after all rows before it.
    bool ascends(const warpaes_table_message& m) {
        for (std::size_t part = 0; part < parts; ++part) {
            const std::uint64_t at = m.*offset_of[part], size = extents_[part].bytes, bytes = bytes_[part];
            if (bytes != 0 && !(at <= size && bytes <= size - at)) return false;
        }
        if (in_place_ && bytes_[input] != 0 && m.input != m.output) return false;
        if (bytes_[output] != 0) {
            if (m.output < output_end_) return false;
            output_end_ = m.output + bytes_[output];
        }
        if (writes_tags_) {
            if (m.tag < tag_end_) return false;
            tag_end_ = m.tag + bytes_[tag];
        }
        if (one_iv_each_) {
            if (rows_ != 0 && m.iv <= last_.iv) return false;
        }
        return true;
    }
    /// Adds the row to the last group if it is at the position of the group's next message.
    bool continues(const warpaes_table_message& m) {
        if (in_group_ == 0) return false;
        for (std::size_t part = 0; part < parts; ++part) {
            if (bytes_[part] == 0) continue;
            const std::uint64_t step = m.*offset_of[part] - last_.*offset_of[part];
            if (in_group_ == 1 ? step > most_step : step != steps_[part]) return false;
        }
        MessageGroup& group = made_.groups.back();
        if (in_group_ == 1) {
            for (std::size_t part = 0; part < parts; ++part) {
                steps_[part] = bytes_[part] == 0 ? 0 : m.*offset_of[part] - last_.*offset_of[part];
                (group.*kind_of[part]).stride = steps_[part];
            }
        }
        ++group.count;
        ++in_group_;
        return true;
    }
    void begin_group(const warpaes_table_message& m) {
        const auto at = [&](Part part) {
            warpaes_elements elements{};
            if (bytes_[part] != 0) elements.at.offset = m.*offset_of[part];
            return elements;
        };
        entry_.input = at(input);
        entry_.output = at(output);
        entry_.iv = at(iv);
        entry_.aad = at(aad);
        entry_.tag = at(tag);
        MessageGroup& group = made_.groups.emplace_back(group_of(request_, entry_));
        group.device = made_.device;
        for (std::size_t part = 0; part < parts; ++part) {
            if (bytes_[part] != 0 && on_host_[part]) group.device = -1;
        }
        group.statuses = reinterpret_cast<std::int32_t*>(table_.statuses + rows_);
        in_group_ = 1;
    }

    /// The greatest possible distance between two parts of a table. A greater unsigned difference means that a part of
    /// the row precedes the same part of the last row.
    static constexpr std::uint64_t most_step = std::uint64_t{1} << 48;

    const Engine& engine_;
    const warpaes_batch_table& table_;
    warpaes_batch_entry entry_;
    Mode mode_;
    BatchRequest request_;
    std::array<Extent, parts> extents_{};
    std::array<bool, parts> on_host_{};
    std::array<std::uint64_t, parts> bytes_{};  ///< position of each part of the last row
    std::array<std::uint64_t, parts> steps_{};  ///< distance between the rows of the last group
    bool encrypts_ = false, writes_tags_ = false, one_iv_each_ = false, in_place_ = false;
    std::uint64_t output_end_ = 0, tag_end_ = 0;
    std::uint64_t rows_ = 0, in_group_ = 0;
    warpaes_table_message last_{};
    TableGroups made_;
};

}  // namespace

std::optional<TableGroups> groups_in_order(const Engine& engine, const KeyHandles& handles,
                                           const warpaes_batch_table& table) {
    OrderedRows rows(engine, handles, table);
    if (table.count == 0 || !rows.begin()) return std::nullopt;
    for (std::uint64_t i = 0; i < table.count; ++i) {
        if (!rows.add(read_once(table.messages[i]))) return std::nullopt;
    }
    return rows.take();
}

}  // namespace warpaes
