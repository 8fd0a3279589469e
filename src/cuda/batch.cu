#include <algorithm>
#include <memory>
#include <thread>
#include <vector>

#include "cuda/batch.hpp"
#include "cuda/batch_merge.hpp"
#include "cuda/batch_work.hpp"
#include "cuda/rows.hpp"
#include "cuda/tuning/host.hpp"
#include "cuda/tuning/keys.hpp"

namespace warpaes::cuda {

namespace {

template <typename Work>
void for_each_part(const BatchContext& context, std::size_t parts, const Work& work) {
    const auto on_device = [&](std::size_t i) {
        const CurrentDevice current(context.device);
        work(i);
    };
    if (context.pool != nullptr && parts > 1) return context.pool->for_each(parts, on_device);
    for (std::size_t i = 0; i < parts; ++i) on_device(i);
}

/// Runs batches, each with its own memory. Several threads prepare the batches, which are then enqueued in order on the
/// lane's stream.
void run_parts(const BatchContext& context, std::vector<MergedGroups>& parts) {
    auto& others = context.memory.others;
    while (others.size() + 1 < parts.size()) others.push_back(std::make_unique<BatchMemory>());
    std::vector<std::unique_ptr<BatchWork>> batches(parts.size());
    for_each_part(context, parts.size(), [&](std::size_t i) {
        BatchMemory& memory = i == 0 ? context.memory : *others[i - 1];
        batches[i] = std::make_unique<BatchWork>(context, memory, std::move(parts[i]));
        batches[i]->get_ready();
    });
    for (const auto& batch : batches) batch->enqueue();
    for (const auto& batch : batches) batch->finish();
}

/// Merges consecutive messages. If there are very many groups, they are split into a few parts.
std::vector<MergedGroups> merge(const BatchContext& context, std::span<const MessageGroup> groups) {
    static const unsigned threads = std::clamp(std::thread::hardware_concurrency(), 1u, Preparation::most_threads);
    const std::size_t most = context.pool != nullptr ? threads : 1;
    const std::size_t parts = std::clamp<std::size_t>(groups.size() / Preparation::groups_of_thread, 1, most);
    std::vector<MergedGroups> merged(parts);
    for_each_part(context, parts, [&](std::size_t i) {
        const std::size_t first = groups.size() * i / parts, end = groups.size() * (i + 1) / parts;
        merged[i] = MergedGroups(groups.subspan(first, end - first));
    });
    return merged;
}

}  // namespace

void BatchMemory::wipe(cudaStream_t stream) noexcept {
    data.wipe(stream);  // BatchWork has already wiped all other memory
    for (const auto& other : others) other->wipe(stream);
}

void BatchMemory::may_free(bool may) noexcept {
    side.may_free(may);
    for (DeviceBuffer* const buffer : {&device_side, &scratch, &slots}) buffer->may_free(may);
}

void BatchMemory::release() noexcept {
    data.release();
    side.release();
    device_side.release();
    scratch.release();
    slots.release();
    others.clear();
}

void run_batch(const BatchContext& context, std::span<const MessageGroup> groups) {
    std::vector<MergedGroups> parts = merge(context, groups);
    const auto raw_keys = [](const MessageGroup& g) { return g.key != nullptr ? 0 : rows_of(g, g.keys); };
    if (std::all_of(parts.begin(), parts.end(),
                    [](const auto& p) { return p.raw_keys() <= BatchKeysLaunch::most_at_a_time; })) {
        return run_parts(context, parts);
    }

    std::vector<MessageGroup> part;
    std::uint64_t in_part = 0;
    const auto run_part = [&] {
        std::vector<MergedGroups> one;
        one.emplace_back(part);
        run_parts(context, one);
        part.clear();
        in_part = 0;
    };
    for (const MessageGroup& g : groups) {
        if (raw_keys(g) <= 1) {
            part.push_back(g);
            in_part += raw_keys(g);
            if (in_part == BatchKeysLaunch::most_at_a_time) run_part();
            continue;
        }
        for (std::uint64_t first = 0; first < g.count;) {
            const std::uint64_t n = std::min(g.count - first, BatchKeysLaunch::most_at_a_time - in_part);
            part.push_back(g.slice(first, n));
            first += n;
            in_part += n;
            if (in_part == BatchKeysLaunch::most_at_a_time) run_part();
        }
    }
    if (!part.empty()) run_part();
}

}  // namespace warpaes::cuda
