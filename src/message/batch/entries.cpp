#include "message/batch/entries.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "aes/xts.hpp"
#include "base/error.hpp"
#include "message/checks.hpp"
#include "message/xts.hpp"

namespace warpaes {

namespace {

using std::to_string;

constexpr std::uint64_t most_messages = std::uint64_t{1} << 48;

/// One kind of element in an entry.
struct Part {
    warpaes_elements warpaes_batch_entry::*kind;
    std::uint64_t bytes;  ///< per message
    const char* name;
};

std::array<Part, 6> parts_of(const warpaes_batch_entry& e, Mode mode) {
    const std::uint64_t bytes = data_bytes(e.length, mode);
    return {{{&warpaes_batch_entry::input, bytes, "input"},
             {&warpaes_batch_entry::output, has_output(mode) ? bytes : 0, "output"},
             {&warpaes_batch_entry::iv, e.iv_len, "iv"},
             {&warpaes_batch_entry::aad, e.aad_len, "aad"},
             {&warpaes_batch_entry::tag, e.tag_len, "tag"},
             {&warpaes_batch_entry::keys, e.key == nullptr ? e.key_len : 0, "keys"}}};
}

Strip strip_of(const Elements& elements, std::uint64_t count, std::uint64_t bytes) {
    return {reinterpret_cast<std::uintptr_t>(elements.first), elements.stride, count, bytes};
}

/// Computes the number of bytes from the beginning of the first element to the end of the last; returns false on
/// overflow.
bool extent(const warpaes_elements& e, std::uint64_t count, std::uint64_t bytes, std::uint64_t& all) {
    return !__builtin_mul_overflow(count - 1, e.stride, &all) && !__builtin_add_overflow(all, bytes, &all);
}

void check_tag(const warpaes_batch_entry& e, Mode mode) {
    if (!uses_tag(mode)) return;
    check_tag_length(mode, e.tag_len);
    check_aad_length(mode, e.aad_len);
}

void check_length(const warpaes_batch_entry& e, Mode mode) {
    check_longest(mode, data_bytes(e.length, mode), e.iv_len, "length");
    if (needs_whole_blocks(mode) && e.length % block_bytes != 0) {
        throw Error(WARPAES_ERROR_DATA_LENGTH,
                    "length: must be a multiple of 16 for ECB and CBC, got " + to_string(e.length));
    }
}

void check_keys(const warpaes_batch_entry& e, Mode mode) {
    if (e.key != nullptr) {
        if (e.key_len != 0) throw Error(WARPAES_ERROR_ARGUMENT, "key, key_len: set a handle or raw keys, not both");
    } else if (mode == Mode::xts) {
        throw Error(WARPAES_ERROR_ARGUMENT, "key: is null; XTS requires key handles");
    } else if (e.key_len == 0) {
        throw Error(WARPAES_ERROR_ARGUMENT, "key: is null; set a key handle or raw keys");
    } else if (rounds_for_key_bytes(e.key_len) == 0) {
        throw Error(WARPAES_ERROR_KEY_LENGTH, "key_len: must be 16, 24 or 32 bytes, got " + to_string(e.key_len));
    }
}

void check_count(const warpaes_batch_entry& e) {
    if (e.count > most_messages) throw Error(WARPAES_ERROR_ARGUMENT, "count: at most 2^48, got " + to_string(e.count));
}

}  // namespace

std::uint64_t data_bytes(std::uint64_t length, Mode mode) noexcept {
    return mode == Mode::cfb1 ? length / 8 + (length % 8 != 0) : length;
}

MessageGroup group_of(const BatchRequest& request, const warpaes_batch_entry& e) {
    const auto mode = static_cast<Mode>(e.mode);
    const bool data = e.length != 0;
    const auto given = [&](BatchRequest::Kind kind, bool there) {
        return there && e.count != 0 ? request.elements(e, kind) : Elements{};
    };
    const DataUnits units =
        mode == Mode::xts ? given_xts_units(e.data_unit_len, e.data_unit_step, e.length) : DataUnits{};
    MessageGroup group{.mode = mode,
                       .direction = static_cast<Direction>(e.direction),
                       .count = e.count,
                       .length = data_bytes(e.length, mode),
                       .unused_bits = mode == Mode::cfb1 ? static_cast<std::uint32_t>(-e.length % 8) : 0,
                       .input = given(&warpaes_batch_entry::input, data),
                       .output = given(&warpaes_batch_entry::output, data && has_output(mode)),
                       .iv = given(&warpaes_batch_entry::iv, e.iv_len != 0),
                       .iv_length = e.iv_len,
                       .aad_length = e.aad_len,
                       .aad = given(&warpaes_batch_entry::aad, e.aad_len != 0),
                       .tag = given(&warpaes_batch_entry::tag, e.tag_len != 0),
                       .tag_length = e.tag_len,
                       .key = e.key != nullptr ? &request.handles.key(e.key) : nullptr,
                       .keys = given(&warpaes_batch_entry::keys, e.key == nullptr),
                       .key_bytes = e.key == nullptr ? e.key_len : 0,
                       .tweak_key = e.tweak_key != nullptr ? &request.handles.key(e.tweak_key) : nullptr,
                       .data_units = units,
                       .failed = nullptr,
                       .device = -1};
    group.beyond_caches = is_beyond_caches(group);
    return group;
}

bool same_form(const warpaes_batch_entry& a, const warpaes_batch_entry& b) noexcept {
    return a.mode == b.mode && a.direction == b.direction && a.length == b.length && a.input.stride == b.input.stride &&
           a.output.stride == b.output.stride && a.iv.stride == b.iv.stride && a.aad.stride == b.aad.stride &&
           a.tag.stride == b.tag.stride && a.keys.stride == b.keys.stride && a.aad_len == b.aad_len &&
           a.iv_len == b.iv_len && a.tag_len == b.tag_len && a.key_len == b.key_len &&
           a.data_unit_step == b.data_unit_step && a.data_unit_len == b.data_unit_len &&
           (a.key != nullptr) == (b.key != nullptr) && (a.tweak_key != nullptr) == (b.tweak_key != nullptr);
}

void readdress(MessageGroup& g, const BatchRequest& request, const warpaes_batch_entry& e) {
    const auto move = [](Elements& elements, const warpaes_elements& to) {
        if (elements.first != nullptr) elements.first = static_cast<std::uint8_t*>(to.at.pointer);
    };
    move(g.input, e.input);
    move(g.output, e.output);
    move(g.iv, e.iv);
    move(g.aad, e.aad);
    move(g.tag, e.tag);
    g.count = e.count;
    if (e.key == nullptr) return move(g.keys, e.keys);
    g.key = &request.handles.key(e.key);
}

AlikeGroup alike_group_of(const BatchRequest& request, const warpaes_batch_entry& e) {
    const auto at = [](const warpaes_elements& elements) { return static_cast<std::uint8_t*>(elements.at.pointer); };
    return {.input = at(e.input),
            .output = at(e.output),
            .iv = at(e.iv),
            .aad = at(e.aad),
            .tag = at(e.tag),
            .key = &request.handles.key(e.key),
            .count = e.count};
}

std::span<warpaes_status> statuses_of(const warpaes_batch_entry& e) noexcept {
    const auto room = (UINTPTR_MAX - reinterpret_cast<std::uintptr_t>(e.statuses)) / sizeof(warpaes_status);
    if (e.statuses == nullptr || e.count > most_messages || e.count > room) return {};
    return {e.statuses, static_cast<std::size_t>(e.count)};
}

std::array<Strip, 2> writes_of(const MessageGroup& g) {
    const bool tags = g.direction == Direction::encrypt && g.tag_length != 0;
    return {strip_of(g.output, g.count, g.output.first != nullptr ? g.length : 0),
            strip_of(g.tag, g.count, tags ? g.tag_length : 0)};
}

/// Throws Error{ARGUMENT} if a caller with a newer header uses a field that this version does not support.
void EntryChecker::check_tail(const warpaes_batch_entry& e) const {
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(&e);
    if (std::any_of(bytes + sizeof e, bytes + request_.entry_bytes, [](std::uint8_t byte) { return byte != 0; })) {
        throw Error(WARPAES_ERROR_ARGUMENT, "entry: uses fields that this version does not support");
    }
}

/// Throws the Error for a message whose fault can be detected only in the whole table.
void EntryChecker::check_faults(const warpaes_batch_entry& e) const {
    const warpaes_status fault = request_.table->faults[static_cast<std::size_t>(&e - request_.entries)];
    if (fault == WARPAES_OK) return;
    throw Error(fault, fault == WARPAES_ERROR_OVERLAP     ? "output, tag: overlap the memory of another message"
                       : fault == WARPAES_ERROR_IV_REUSED ? "iv: is also the IV of another message"
                                                          : "reserved: must be 0");
}

void EntryChecker::check_shape(const warpaes_batch_entry& e) {
    const Mode mode = checked_mode(e.mode);
    (void)checked_direction(e.direction);
    check_count(e);
    check_fields(mode, {.tagged = (e.aad_len | e.tag_len) != 0,
                        .data_units = e.tweak_key != nullptr || (e.data_unit_len | e.data_unit_step) != 0});
    check_iv_length(mode, e.iv_len, "iv_len");
    check_tag(e, mode);
    check_length(e, mode);
    check_keys(e, mode);
}

namespace {

/// Whether the count of an entry, whose form is that of `last`, needs no checks other than those of `last`.
bool is_count_alike(const warpaes_batch_entry& e, const warpaes_batch_entry& last) {
    // The strides of a single message are not checked. Within the limits, nothing overflows, and no part is larger than
    // check_memory() accepts.
    constexpr std::uint64_t few = std::uint64_t{1} << 24, near = std::uint64_t{1} << 32;
    const std::uint64_t farthest = std::max(
        {e.length, e.aad_len, e.input.stride, e.output.stride, e.iv.stride, e.aad.stride, e.tag.stride, e.keys.stride});
    return e.count > 1 && last.count > 1 && e.count < few && last.count < few && farthest < near &&
           std::max(e.count, last.count) * e.length < cached_bytes();
}

}  // namespace

bool EntryChecker::is_alike(const warpaes_batch_entry& e, const warpaes_batch_entry& last) {
    if (!same_form(e, last) || (e.count != last.count && !is_count_alike(e, last))) return false;
    const MessageGroup& g = checked_.group;
    const bool in_place = e.input.at.pointer == e.output.at.pointer;
    if (in_place != (g.input.first == g.output.first)) return false;
    if (e.key != nullptr) {
        if (!is_alive(e.key) || e.tweak_key != last.tweak_key) return false;
        const ExpandedKey& key = request_.handles.key(e.key);
        if (key.rounds() != g.key->rounds()) return false;
        if (g.tweak_key != nullptr && !xts_keys_differ(key, *g.tweak_key)) return false;
    }
    const warpaes_elements* const elements[kinds] = {&e.input, &e.output, &e.iv, &e.aad, &e.tag, &e.keys};
    bool exists = true;
#pragma GCC unroll 6
    for (std::size_t i = 0; i < kinds; ++i) {
        if (reaches_[i].end == 0) continue;
        const std::uintptr_t bytes = reaches_[i].end - reaches_[i].begin + (e.count - last.count) * elements[i]->stride;
        const auto begin = reinterpret_cast<std::uintptr_t>(elements[i]->at.pointer);
        exists &= begin != 0 && bytes <= UINTPTR_MAX - begin;
        exists &= no_devices_ || last_[i].holds(elements[i]->at.pointer);
        reaches_[i] = {begin, begin + bytes};
    }
    if (!exists || !lies_apart(g, in_place)) return false;
    checked_.group.count = e.count;
    return true;
}

bool EntryChecker::passes_alike(const warpaes_batch_entry& e) {
    if (last_entry_ == nullptr || e.key == nullptr || e.statuses != nullptr || request_.entry_bytes > sizeof e) {
        return false;
    }
    // `reaches_` may already be those of `e`, so check() must not compare `e` with the last entry again.
    const warpaes_batch_entry* const last = std::exchange(last_entry_, nullptr);
    if (!is_alike(e, *last)) return false;
    last_entry_ = &e;
    checked_.alike = true;
    return true;
}

const EntryChecker::Checked& EntryChecker::check(const warpaes_batch_entry& e) {
    if (request_.entry_bytes > sizeof e) check_tail(e);
    const warpaes_batch_entry* const last = std::exchange(last_entry_, nullptr);
    checked_.alike = last != nullptr && is_alike(e, *last);
    if (checked_.alike) {
        if (e.statuses != nullptr) check_memory(e.statuses, e.count * sizeof(warpaes_status), "statuses");
        last_entry_ = &e;
        return checked_;
    }
    // Most entries have the same shape as the previous entry.
    if (const Shape shape(e); valid_ != shape) {
        valid_.reset();
        check_shape(e);
        valid_ = shape;
    }
    check_living(e);
    if (e.statuses != nullptr) check_memory(e.statuses, e.count * sizeof(warpaes_status), "statuses");
    if (e.count != 0) {
        check_ranges(e, static_cast<Mode>(e.mode));
        if (request_.table != nullptr) check_faults(e);
    }
    std::construct_at(&checked_.group, MakeGroup{request_, e});  // constructed in place, because copying it would take
                                                                 // longer
    checked_.device = -1;
    checked_.on_host = 0;
    if (e.count == 0) return checked_;
    check_overlaps(checked_.group);
    place(checked_);
    if (!request_.offsets && (e.mode != WARPAES_XTS || checked_.device >= 0)) last_entry_ = &e;
    if (checked_.device >= 0 && !engine_.may_use_gpu()) {
        throw Error(WARPAES_ERROR_BACKEND, "backend: '" + std::string(engine_.forced()->name()) +
                                               "' was requested, but the data is in device memory");
    }
    return checked_;
}

/// Checks the key handles, and XTS's requirements on the key values.
void EntryChecker::check_living(const warpaes_batch_entry& e) {
    if (e.key != nullptr) check_alive(e.key, "key");
    if (e.mode != WARPAES_XTS) return;
    if (e.tweak_key != nullptr) check_alive(e.tweak_key, "tweak_key");
    const auto key = [&](const warpaes_key* k) { return k != nullptr ? &request_.handles.key(k) : nullptr; };
    check_xts(key(e.key), key(e.tweak_key), {e.data_unit_len, e.data_unit_step}, e.length, "length");
}

bool EntryChecker::is_alive(const warpaes_key* key) {
    constexpr std::uint64_t golden = 0x9e3779b97f4a7c15u;
    auto& seen = alive_[(reinterpret_cast<std::uintptr_t>(key) >> 4) * golden >> 57];
    static_assert(std::tuple_size_v<decltype(alive_)> == 1 << (64 - 57));
    if (static_cast<int>(seen[0] == key) | static_cast<int>(seen[1] == key)) [[likely]]
        return true;
    if (!request_.handles.alive(key)) return false;
    seen = {key, seen[0]};
    return true;
}

void EntryChecker::check_alive(const warpaes_key* key, const char* name) {
    if (is_alive(key)) return;
    throw Error(WARPAES_ERROR_ARGUMENT, std::string(name) + ": is not a key, or was destroyed");
}

namespace {

[[noreturn, gnu::cold]] void refuse_range(const BatchRequest& request, const warpaes_batch_entry& e, const Part& part,
                                          std::uint64_t size) {
    const warpaes_elements& elements = e.*part.kind;
    if (request.table != nullptr) {
        throw Error(WARPAES_ERROR_RANGE, std::string(part.name) + ": offset " + to_string(elements.at.offset) +
                                             " and " + to_string(part.bytes) + " bytes extend past the extent of " +
                                             to_string(size) + " bytes");
    }
    throw Error(WARPAES_ERROR_RANGE, std::string(part.name) + ": offset " + to_string(elements.at.offset) + ", " +
                                         to_string(e.count) + " times " + to_string(part.bytes) +
                                         " bytes at a stride of " + to_string(elements.stride) +
                                         " extend past the arena of " + to_string(size) + " bytes");
}

}  // namespace

void EntryChecker::check_ranges(const warpaes_batch_entry& e, Mode mode) {
    const std::array<Part, kinds> parts = parts_of(e, mode);
#pragma GCC unroll 6
    for (std::size_t i = 0; i < kinds; ++i) {
        const Part& part = parts[i];
        reaches_[i] = {};
        if (part.bytes == 0) continue;
        std::uint64_t all = 0;
        const warpaes_elements& elements = e.*part.kind;
        const bool fits = extent(elements, e.count, part.bytes, all);
        if (request_.offsets) {
            const std::uint64_t size = request_.extent_of(part.kind).bytes, at = elements.at.offset;
            if (!fits || at > size || all > size - at) refuse_range(request_, e, part, size);
        } else {
            if (elements.at.pointer == nullptr) {
                throw Error(WARPAES_ERROR_ARGUMENT, std::string(part.name) + ": is null");
            }
            check_memory(elements.at.pointer, fits ? all : UINT64_MAX, part.name);
        }
        const auto begin = reinterpret_cast<std::uintptr_t>(request_.elements(e, part.kind).first);
        reaches_[i] = {begin, begin + all};
    }
}

/// Whether the extents of the group's output and tag do not overlap any memory that they must not overlap.
bool EntryChecker::lies_apart(const MessageGroup& g, bool in_place) const noexcept {
    const Reach &out = reaches_[output], &seal = reaches_[tag];
    bool apart = out.apart(seal);
    apart &= in_place || out.apart(reaches_[input]);
    for (const Kind read : {iv, aad, keys}) apart &= out.apart(reaches_[read]);
    if (g.direction == Direction::decrypt) return apart;
    for (const Kind read : {input, iv, aad, keys}) apart &= seal.apart(reaches_[read]);
    return apart;
}

void EntryChecker::check_overlaps(const MessageGroup& g) const {
    const bool encrypt = g.direction == Direction::encrypt;
    if (g.count > 1 && encrypt && g.iv_length != 0 && g.iv.stride == 0 && traits_of(g.mode).kind.ivs == Ivs::unique &&
        (g.key != nullptr || g.keys.stride == 0)) {
        throw Error(WARPAES_ERROR_IV_REUSED, "iv: has stride 0, so all messages would have the same IV and key");
    }
    const auto [output, tag] = writes_of(g);
    if (output.overlaps_itself()) {
        throw Error(WARPAES_ERROR_OVERLAP,
                    "output: a stride of " + to_string(output.stride) + " bytes is shorter than a message");
    }
    if (tag.overlaps_itself()) {
        throw Error(WARPAES_ERROR_OVERLAP,
                    "tag: a stride of " + to_string(tag.stride) + " bytes is shorter than a tag");
    }
    const bool in_place = g.input.first == g.output.first && (g.count == 1 || g.input.stride == g.output.stride);
    const Strip input = strip_of(g.input, g.count, g.input.first != nullptr ? g.length : 0);
    if (lies_apart(g, in_place)) return;
    if (meet(output, tag) != Meeting::no) throw Error(WARPAES_ERROR_OVERLAP, "tag: is inside the output");
    const struct {
        Strip strip;
        const char* name;
    } reads[] = {{in_place ? Strip{} : input, "input"},
                 {strip_of(g.iv, g.count, g.iv_length), "iv"},
                 {strip_of(g.aad, g.count, g.aad_length), "aad"},
                 {strip_of(g.tag, g.count, encrypt ? 0 : g.tag_length), "tag"},
                 {strip_of(g.keys, g.count, g.key_bytes), "keys"}};
    for (const auto& read : reads) {
        if (meet(output, read.strip) != Meeting::no) {
            throw Error(WARPAES_ERROR_OVERLAP, std::string("output: overlaps ") + read.name +
                                                   (&read == reads ? " without being the same buffer" : ""));
        }
        if (meet(tag, read.strip) != Meeting::no) {
            throw Error(WARPAES_ERROR_OVERLAP, std::string("tag: overlaps ") + read.name);
        }
    }
}

int EntryChecker::place(const void* pointer, MemoryStretch& last) {
    if (last.holds(pointer)) return last.device;
    if (const Arena* const arena = request_.arena; arena != nullptr && arena->holds(pointer)) {
        last = {arena->device(), reinterpret_cast<std::uintptr_t>(arena->data()), arena->bytes()};
        return last.device;
    }
    MemoryStretch& known = places_[(reinterpret_cast<std::uintptr_t>(pointer) >> 16) % places_.size()];
    if (!known.holds(pointer)) {
        // A query takes longer than a search of all known stretches. Querying the whole allocation is worthwhile only
        // while queries are few.
        constexpr unsigned few = 64;
        const auto there = std::find_if(places_.begin(), places_.end(),
                                        [&](const MemoryStretch& stretch) { return stretch.holds(pointer); });
        known = there != places_.end() ? *there : stretch_of(pointer, asked_++ < few);
    }
    last = known;
    return known.device;
}

void EntryChecker::place(Checked& checked) {
    const MessageGroup& g = checked.group;
    if (no_devices_) {
        for (std::size_t i = 0; i < kinds; ++i) {
            checked.on_host |= static_cast<std::uint8_t>((reaches_[i].end != 0) << i);
        }
        return;
    }
    const struct {
        const std::uint8_t* pointer;
        const char* name;
    } parts[kinds] = {{g.input.first, "input"}, {g.output.first, "output"}, {g.iv.first, "iv"},
                      {g.aad.first, "aad"},     {g.tag.first, "tag"},       {g.keys.first, "keys"}};
    const char* there = nullptr;  // name of the first part on a device
    for (std::size_t i = 0; i < kinds; ++i) {
        if (parts[i].pointer == nullptr) continue;
        const int its = place(parts[i].pointer, last_[i]);
        if (its < 0) {
            checked.on_host |= static_cast<std::uint8_t>(1u << i);
        } else if (there == nullptr) {
            there = parts[i].name;
            checked.device = its;
        } else if (its != checked.device) {
            throw Error(WARPAES_ERROR_ARGUMENT,
                        std::string(parts[i].name) + ": is on a device other than that of " + there);
        }
    }
}

}  // namespace warpaes
