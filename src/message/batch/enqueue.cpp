#include "message/batch/enqueue.hpp"

#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "message/batch/clashes.hpp"

namespace warpaes {

namespace {

void refuse(const std::string& sentence) {
    throw Error(WARPAES_ERROR_ARGUMENT, sentence);
}

/// Additional checks for an entry of a batch on a caller's stream, which has messages to process. Returns their device:
/// that of the text, or of what is written if there is no text.
int check_for_stream(const warpaes_batch_entry& e, const EntryChecker::Checked& checked) {
    const MessageGroup& g = checked.group;
    const bool opens = uses_tag(g.mode) && g.direction == Direction::decrypt;
    // The checker has looked at all parts except for the statuses.
    const int device = checked.device < 0 && g.length == 0 && opens ? device_of(e.statuses) : checked.device;
    const auto lies_there = [&](const void* pointer) { return device >= 0 && device_of(pointer) == device; };
    // Unless the entry is split, all parts that the checker looked at lie on the device.
    const auto is_here = [&](const void* pointer) { return device >= 0 && (!checked.split || lies_there(pointer)); };
    if (g.length != 0 && (!is_here(g.input.first) || (g.output.first != nullptr && !is_here(g.output.first)))) {
        refuse("input, output: an enqueued batch takes data in the memory of one device");
    }
    if (!uses_tag(g.mode)) return device;
    if (!opens) {
        if (!is_here(g.tag.first)) refuse("tag: an enqueued batch writes tags to the memory of the data's device");
    } else if (e.statuses == nullptr) {
        refuse("statuses: is null; decryption with a tag writes there which messages are authentic");
    } else if (!lies_there(e.statuses)) {
        refuse("statuses: an enqueued batch writes them to the memory of the data's device");
    }
    return device;
}

}  // namespace

void enqueue_batch(Engine& engine, const BatchRequest& request, void* stream) {
    EntryChecker checker(engine, request);
    std::vector<MessageGroup> groups;
    groups.reserve(request.count);
    std::optional<int> device;
    Clashes clashes;
    for (std::uint64_t i = 0; i < request.count; ++i) {
        const warpaes_batch_entry& e = request.entry(i);
        try {
            const EntryChecker::Checked checked = checker.check(e);
            MessageGroup g = checked.group;
            clashes.add(static_cast<std::uint32_t>(i), writes_of(g));
            if (g.count == 0 || (g.length == 0 && !uses_tag(g.mode))) continue;
            const int its = check_for_stream(e, checked);
            if (device && *device != its) {
                refuse(std::string(g.length != 0 ? "input" : "tag, statuses") +
                       ": lies on another device than the entries before");
            }
            device = its;
            g.device = checked.split ? -1 : checked.device;
            if (g.direction == Direction::decrypt) g.statuses = reinterpret_cast<std::int32_t*>(e.statuses);
            groups.push_back(g);
        } catch (const Error& error) {
            throw Error(error.status(), "entry " + std::to_string(i) + ": " + error.what());
        }
    }
    (void)clashes.find([&](std::uint32_t i) { return writes_of(group_of(request, request.entry(i))); },
                       [](std::uint32_t i) {
                           throw Error(WARPAES_ERROR_OVERLAP,
                                       "entry " + std::to_string(i) + ": output, tag: overlap those of another entry");
                       });
    static_assert(sizeof(warpaes_status) == sizeof(std::int32_t));
    if (!groups.empty()) engine.gpu().enqueue(groups, *device, stream);
}

}  // namespace warpaes
