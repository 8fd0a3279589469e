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

/// Additional checks for an entry of a batch on a caller's stream.
void check_for_stream(const warpaes_batch_entry& e, const EntryChecker::Checked& checked) {
    const MessageGroup& g = checked.group;
    if (g.count == 0 || (g.length == 0 && !uses_tag(g.mode))) return;
    const auto lies_there = [&](const void* pointer) {
        return checked.device >= 0 && device_of(cuda_backend().place(pointer)) == checked.device;
    };
    // Unless the entry is split, all parts that the checker looked at lie on the device.
    const auto is_here = [&](const void* pointer) {
        return checked.device >= 0 && (!checked.split || lies_there(pointer));
    };
    if (g.length != 0 && (!is_here(g.input.first) || (g.output.first != nullptr && !is_here(g.output.first)))) {
        refuse("input, output: an enqueued batch takes data in the memory of one device");
    }
    if (!uses_tag(g.mode)) return;
    if (g.direction == Direction::encrypt) {
        if (!is_here(g.tag.first)) refuse("tag: an enqueued batch writes tags to the memory of the data's device");
    } else if (e.statuses == nullptr) {
        refuse("statuses: is null; nobody would hear that a tag is wrong");
    } else if (!lies_there(e.statuses)) {
        refuse("statuses: an enqueued batch writes them to the memory of the data's device");
    }
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
            check_for_stream(e, checked);
            MessageGroup g = checked.group;
            clashes.add(static_cast<std::uint32_t>(i), writes_of(g));
            if (g.count == 0 || (g.length == 0 && !uses_tag(g.mode))) continue;
            if (device && *device != checked.device)
                refuse("input: lies on another device than that of entries before");
            device = checked.device;
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
    if (!groups.empty()) cuda_backend().enqueue(groups, *device, stream);
}

}  // namespace warpaes
