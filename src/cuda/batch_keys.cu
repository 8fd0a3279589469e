#include <algorithm>
#include <utility>

#include "cuda/batch_keys.hpp"
#include "cuda/kernels/catalogue.hpp"
#include "cuda/launch.hpp"
#include "cuda/tuning/blocks.hpp"
#include "cuda/tuning/keys.hpp"
#include "cuda/tuning/shapes.hpp"

namespace warpaes::cuda {

namespace {

/// Whether all kernels of a mode that read round keys can read them from FewKeys.
constexpr bool takes_few_keys(Mode mode, Direction direction) {
    return is_parallel(mode, direction) && mode != Mode::cfb8 && mode != Mode::cfb1 && !needs_slots(mode);
}

}  // namespace

void BatchKeys::survey(BucketPlan& plan, const MessageGroup& g) {
    if (g.key == nullptr) {
        plan.mixed = true;
        plan.raw_slots += rows_of(g, g.keys);
        raw_.survey(g, g.keys, g.key_bytes);
    } else {
        plan.keys.survey(g.key);
        plan.mixed |= plan.keys.mixed;
    }
    if (g.mode == Mode::xts) plan.tweak_keys.survey(g.tweak_key);
    plan.bytes += g.count * g.length;
}

void BatchKeys::place(std::span<BucketPlan> plans) {
    for (BucketPlan& plan : plans) {
        // Holding slots of the table takes the host longer than copying the keys to the kernels' parameters.
        plan.keys.few_only = plan.may_have_few_keys() && plan.keys.most <= FewKeys::most &&
                             takes_few_keys(plan.bucket.mode, plan.bucket.direction);
        if (plan.keys.few_only || (!plan.mixed && !needs_slots(plan.bucket.mode))) plan.keys.most = 0;
        if (!plan.tweak_keys.mixed) plan.tweak_keys.most = 0;
        for (Handles* h : {&plan.keys, &plan.tweak_keys}) {
            if (h->most == 0) continue;
            if (h->most <= KeyParams::most_few) {
                h->few = std::make_unique<Secret<KeyParams>>();
            } else {
                h->bytes_at = side_.place(h->most * KeyParams::stride);
                h->targets_at = side_.place(h->most * sizeof(uint4*));
            }
        }
    }
    raw_.place();
}

void BatchKeys::reserve(std::span<BucketPlan> plans) {
    std::uint64_t slots = 0;
    for (const BucketPlan& plan : plans) {
        slots += plan.keys.most + plan.tweak_keys.most + plan.raw_slots;
    }
    if (slots != 0) slots_.reserve(slots * key_slot_bytes);

    std::uint8_t* slot = slots_.get();
    const auto take = [&slot](std::uint64_t n) {
        std::uint8_t* const here = slot;
        slot += n * key_slot_bytes;
        return here;
    };
    for (BucketPlan& plan : plans) {
        if (!plan.mixed) plan.bucket.one_key = plan.keys.last;
        if (!plan.tweak_keys.mixed) plan.bucket.one_tweak_key = plan.tweak_keys.last;
        for (Handles* h : {&plan.keys, &plan.tweak_keys}) {
            h->own_slots = take(h->most);
            h->last = nullptr;
        }
        plan.raw_slots_at = reinterpret_cast<uint4*>(take(plan.raw_slots));
    }
}

void BatchKeys::fill(BucketPlan& plan, const MessageGroup& g, BatchGroup& d) {
    if (plan.keys.few_only) {
        if (g.key != plan.keys.last) plan.keys.few_keys.push_back(plan.keys.last = g.key);
        d.key_number = static_cast<std::uint32_t>(plan.keys.few_keys.size() - 1);
        return;
    }
    if (g.key != nullptr) {
        if (plan.keys.most == 0) return;
        const Handles::Place place = place_of(*g.key, plan.keys, plan.inverse());
        d.keys = place.slot;
        d.key_number = place.number;
        return;
    }
    const Elements raw = raw_.put(g, g.keys, g.key_bytes);
    d.raw_keys = raw.first;
    d.raw_key_stride = raw.stride;
    d.keys = plan.raw_slots_at + plan.raw_filled * key_slot_blocks;
    d.key_stride = g.keys.stride == 0 ? 0 : key_slot_blocks;
    plan.raw_filled += rows_of(g, g.keys);
}

const uint4* BatchKeys::tweak_slot(BucketPlan& plan, const MessageGroup& g) {
    return plan.tweak_keys.most != 0 ? place_of(*g.tweak_key, plan.tweak_keys, false).slot : nullptr;
}

void BatchKeys::finish_filling(std::span<BucketPlan> plans) {
    for (BucketPlan& plan : plans) {
        const Handles& keys = plan.keys;
        const bool few = keys.few_only || keys.places.size() == keys.few_keys.size();
        if (!few || !plan.mixed || plan.raw_slots != 0) continue;
        plan.bucket.keys = keys.few_keys;
        if (plan.may_have_few_keys()) plan.bucket.few_keys = keys.few_keys;
    }
}

Handles::Place BatchKeys::place_of(const ExpandedKey& key, Handles& handles, bool inverse) {
    if (&key == handles.last) return handles.last_place;
    const auto [found, is_new] = handles.places.try_emplace(&key);
    if (is_new) {
        const std::size_t number = handles.places.size() - 1;
        found->second.number = static_cast<std::uint32_t>(number);
        if (number < FewKeys::most) handles.few_keys.push_back(&key);
        KeyTable::Held held;
        if (table_ != nullptr && handles.most <= most_table_keys) held = table_->hold(key, inverse);
        if (held.number != KeyTable::none) held_.push_back(held);
        found->second.slot = reinterpret_cast<uint4*>(held.number != KeyTable::none
                                                          ? table_->slot(held.number)
                                                          : handles.own_slots + handles.own++ * key_slot_bytes);
        if (held.number == KeyTable::none || held.empty) {
            const bool few = handles.few != nullptr;
            std::uint8_t* const bytes = few ? (*handles.few)->few : side_.host() + handles.bytes_at;
            uint4** const targets =
                few ? (*handles.few)->few_targets : reinterpret_cast<uint4**>(side_.host() + handles.targets_at);
            std::copy(key.bytes().begin(), key.bytes().end(), bytes + handles.fresh * KeyParams::stride);
            targets[handles.fresh++] = found->second.slot;
        }
    }
    handles.last = &key;
    return handles.last_place = found->second;
}

void BatchKeys::enqueue(std::span<const BucketPlan> plans, const DeviceLimits& limits, cudaStream_t stream) {
    if (table_ != nullptr) wipe_ = table_->wipe_forgotten(stream, KeyTable::Which::unattended);
    for (const BucketPlan& plan : plans) {
        expand(plan, limits, stream);
    }
}

void BatchKeys::expand(const BucketPlan& plan, const DeviceLimits& limits, cudaStream_t stream) const {
    const auto expand = [&](const KeyParams& p) {
        if (p.count == 0) return;
        LaunchShape shape = thread_each(limits, p.count, BatchKeysLaunch::threads, BatchKeysLaunch::blocks_each);
        shape.shared_bytes = BatchKeysLaunch::tables * table_bytes_each;
        launch(batch_keys_kernel_for(plan.bucket.rounds), shape, stream, p);
    };
    const auto expand_handles = [&](const Handles& handles, bool inverse) {
        if (handles.fresh == 0) return;
        KeyParams beyond{};
        KeyParams& p = handles.few != nullptr ? **handles.few : beyond;
        if (handles.few == nullptr) {
            p.raw = side_.device() + handles.bytes_at;
            p.targets = reinterpret_cast<uint4* const*>(side_.device() + handles.targets_at);
        }
        p.count = handles.fresh;
        p.inverse = inverse ? 1 : 0;
        expand(p);
    };
    expand_handles(plan.keys, plan.inverse());
    expand_handles(plan.tweak_keys, false);
    if (plan.raw_slots == 0) return;
    KeyParams p{};
    p.batch.groups = plan.bucket.on_device;
    p.batch.group_count = static_cast<std::uint32_t>(plan.bucket.groups.size());
    p.count = plan.bucket.messages;
    p.inverse = plan.inverse() ? 1 : 0;
    p.hash_key = needs_slots(plan.bucket.mode) ? 1 : 0;
    expand(p);
}

void BatchKeys::let_go(bool done) noexcept {
    if (table_ == nullptr) return;
    for (const KeyTable::Held& held : std::exchange(held_, {})) table_->release(held, done);
    table_->wiped(std::exchange(wipe_, {}), done);
}

}  // namespace warpaes::cuda
