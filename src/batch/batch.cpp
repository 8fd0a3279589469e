#include "batch/batch.hpp"

#include <algorithm>
#include <bit>
#include <chrono>

#include "base/threads.hpp"
#include "message/message.hpp"
#include "pipeline/memory.hpp"

namespace warpaes {

namespace {

/// Whatever a lane throws.
Error as_error(std::exception_ptr thrown) {
    try {
        std::rethrow_exception(std::move(thrown));
    } catch (const Error& e) {
        return e;
    } catch (const std::bad_alloc&) {
        return {WARPAES_ERROR_OUT_OF_MEMORY, "out of host memory"};
    } catch (const std::exception& e) {
        return {WARPAES_ERROR_INTERNAL, e.what()};
    } catch (...) {
        return {WARPAES_ERROR_INTERNAL, "unknown failure"};
    }
}

bool opens(const MessageGroup& g) {
    return g.direction == Direction::decrypt && uses_tag(g.mode);
}

bool in_place(const MessageGroup& g) {
    return g.output.first != nullptr && g.input.first == g.output.first;
}

}  // namespace

LaneLease& BatchScratch::lane(Engine& engine, Backend& backend, int device, std::size_t staging_bytes) {
    if (lane_ && backend_ == &backend && device_ == device && staging_bytes_ == staging_bytes) return *lane_;
    lane_.reset();
    Plan plan;
    plan.backend = &backend;
    plan.devices = {&device, 1};
    lane_.emplace(engine.lease(plan, 0, staging_bytes));
    backend_ = &backend;
    device_ = device;
    staging_bytes_ = staging_bytes;
    return *lane_;
}

void BatchScratch::discard_lane() noexcept {
    if (lane_) lane_->discard();
    lane_.reset();
}

Batch::Batch(Engine& engine, KeyTable& keys, BatchRequest request)
    : engine_(engine), keys_(keys), request_(std::move(request)), outcomes_(request_), shapes_(request_.count) {}

bool Batch::needs_cpu() const noexcept {
    return !solos_.empty() || (plan_.cpu != nullptr && host_.size() != 0);
}

std::uint64_t Batch::wants_of(int device) const {
    const auto its = device_tasks_.find(device);
    const std::uint64_t tasks = its != device_tasks_.end() ? its->second.list.size() : 0;
    const bool planned = std::find(plan_.gpus.begin(), plan_.gpus.end(), device) != plan_.gpus.end();
    return tasks + (planned ? host_.size() : 0);
}

std::vector<int> Batch::devices() const {
    std::vector<int> devices(plan_.gpus.begin(), plan_.gpus.end());
    for (const auto& [device, tasks] : device_tasks_) {
        if (std::find(devices.begin(), devices.end(), device) == devices.end()) devices.push_back(device);
    }
    return devices;
}

MessageGroup Batch::group(std::uint32_t entry) const {
    MessageGroup g = group_of(request_, request_.entry(entry));
    g.device = shapes_[entry].place;
    if (g.key == nullptr && !table_keys_.empty()) {
        if (const auto it = table_keys_.find(entry); it != table_keys_.end()) {
            g.key = it->second.get();
            g.keys = {};
            g.key_bytes = 0;
        }
    }
    return g;
}

Claim Batch::take_host(unsigned worker, std::uint32_t most) {
    if (returned_any_.load(std::memory_order_acquire)) {
        const std::lock_guard lock(mutex_);
        if (!returned_.empty()) {
            Claim& back = returned_.back();
            const Claim taken{back.begin, back.begin + std::min(most, back.size())};
            back.begin = taken.end;
            if (back.empty()) returned_.pop_back();
            returned_any_ = !returned_.empty();
            return taken;
        }
    }
    return shares_->take(worker, most);
}

bool Batch::leave_out(const TaskList& list, Claim claim) {
    if (!cancelled_) return false;
    give_up(list, claim, Error(WARPAES_ERROR_CANCELLED, "cancelled by the caller"));
    return true;
}

void Batch::count(const TaskList& list, Claim claim, std::atomic<std::uint64_t>& where) noexcept {
    std::uint64_t messages = 0;
    for (const Slice* s = list.begin_of(claim.begin); s != list.end_of(claim.end - 1); ++s) messages += s->count;
    where += messages;
}

// ---------------------------------------------------------------------------------------------------------- one claim

void Batch::gather(const TaskList& list, Claim claim, std::span<std::uint8_t> staging, BatchScratch& scratch) {
    scratch.groups.clear();
    scratch.origins.clear();
    std::size_t flags = 0;
    std::size_t staged = 0;
    const Slice* const end = list.end_of(claim.end - 1);
    for (const Slice* s = list.begin_of(claim.begin); s != end;) {
        Slice slice = *s++;
        for (; s != end && s->entry == slice.entry && s->first == slice.first + slice.count; ++s)
            slice.count += s->count;
        MessageGroup& g = scratch.groups.emplace_back(group(slice.entry));
        if (slice.first != 0 || slice.count != g.count) g = g.slice(slice.first, slice.count);
        BatchScratch::Origin origin{.slice = slice};
        if (in_place(g) && !staging.empty()) {
            origin.output = g.output;
            g.output = {staging.data() + staged, g.bytes()};
            staged += g.count * g.bytes();
        }
        if (opens(g)) {
            origin.failed = flags;
            flags += g.count;
        }
        scratch.origins.push_back(origin);
    }
    scratch.failed.assign(flags, 0);
    for (std::size_t i = 0; i < scratch.groups.size(); ++i) {
        if (opens(scratch.groups[i])) scratch.groups[i].failed = scratch.failed.data() + scratch.origins[i].failed;
    }
}

void Batch::settle(BatchScratch& scratch) {
    for (std::size_t i = 0; i < scratch.groups.size(); ++i) {
        const MessageGroup& g = scratch.groups[i];
        const auto& [slice, output, failed] = scratch.origins[i];
        for (std::uint64_t m = 0; output.first != nullptr && m < g.count; ++m) {
            std::copy_n(g.output.at(m), g.bytes(), output.at(m));
        }
        if (g.failed == nullptr) continue;
        const auto begin = scratch.failed.begin() + static_cast<std::ptrdiff_t>(failed);
        const auto end = begin + static_cast<std::ptrdiff_t>(g.count);
        for (auto it = std::find(begin, end, 1); it != end; it = std::find(it + 1, end, 1)) {
            outcomes_.reject(slice.entry, slice.first + static_cast<std::uint64_t>(it - begin));
        }
    }
}

std::size_t Batch::staging_bytes() const noexcept {
    // Of few sizes, for the engine keeps lanes by size.
    constexpr std::uint64_t least = std::uint64_t{1} << 16;
    return std::bit_ceil(static_cast<std::size_t>(std::min(std::max(host_.bytes(), least), plan_.gpu_task_bytes)));
}

std::size_t Batch::bytes_in_place(Claim claim) const {
    std::uint64_t bytes = 0;
    for (const Slice* s = host_.begin_of(claim.begin); s != host_.end_of(claim.end - 1); ++s) {
        const MessageGroup g = group(s->entry);
        if (in_place(g)) bytes += s->count * g.bytes();
    }
    return static_cast<std::size_t>(bytes);
}

void Batch::wipe_outputs(const TaskList& list, Claim claim, bool staged, int device) noexcept {
    for (const Slice* s = list.begin_of(claim.begin); s != list.end_of(claim.end - 1); ++s) {
        const MessageGroup g = group(s->entry).slice(s->first, s->count);
        if (!opens(g) || g.output.first == nullptr || (staged && in_place(g))) continue;
        for (std::uint64_t m = 0; m < g.count; ++m) {
            clear_after_failure(g.output.at(m), static_cast<std::size_t>(g.bytes()), device);
        }
    }
}

void Batch::give_up(const TaskList& list, Claim claim, const Error& error) {
    for (const Slice* s = list.begin_of(claim.begin); s != list.end_of(claim.end - 1); ++s) {
        outcomes_.fail(s->entry, s->first, s->count, error);
    }
}

// ------------------------------------------------------------------------------------------------------------ on a CPU

Batch::Step Batch::work_on_cpu(unsigned worker, BatchScratch& scratch) {
    const std::size_t solo = next_solo_ < solos_.size() ? next_solo_++ : solos_.size();
    if (solo < solos_.size()) {
        run_solo(solos_[solo]);
        return done(1);
    }
    if (plan_.cpu == nullptr && !cpu_takes_over_) return Step::nothing;
    const Claim claim = take_host(worker, 1);
    if (claim.empty()) return Step::nothing;
    return run_on_cpu(claim, scratch);
}

Batch::Step Batch::run_on_cpu(Claim claim, BatchScratch& scratch) {
    if (leave_out(host_, claim)) return done(claim.size());
    try {
        Backend* const backend = plan_.cpu != nullptr ? plan_.cpu : Engine::replacement({}).backend;
        LaneLease& lane = scratch.lane(engine_, *backend, -1, 0);
        gather(host_, claim, {}, scratch);
        lane->run_batch(scratch.groups);
        settle(scratch);
        count(host_, claim, on_cpu_);
    } catch (...) {
        wipe_outputs(host_, claim, false, -1);
        give_up(host_, claim, as_error(std::current_exception()));
    }
    return done(claim.size());
}

void Batch::run_solo(const Solo& solo) {
    if (cancelled_) {
        outcomes_.fail(solo.entry, solo.message, 1, WARPAES_ERROR_CANCELLED, "cancelled by the caller");
        return;
    }
    try {
        const MessageGroup g = group(solo.entry).slice(solo.message, 1);
        const auto own = g.key == nullptr ? keys_.get({g.keys.first, g.key_bytes}) : nullptr;
        MessageResult result;
        crypt(engine_,
              {.mode = g.mode,
               .direction = g.direction,
               .key = own != nullptr ? own.get() : g.key,
               .iv = {g.iv.first, g.iv_length},
               .input = g.input.first,
               .input_length = g.length,
               .output = g.output.first,
               .output_capacity = g.bytes(),
               .range = std::nullopt,
               .length_in_bits = g.mode == Mode::cfb1,
               .aad = g.aad.first,
               .aad_length = g.aad_length,
               .tag = g.tag.first,
               .tag_length = g.tag_length,
               .tweak_key = g.tweak_key,
               .data_unit_length = g.data_unit},
              result);
        notes_ |= result.notes & WARPAES_NOTE_DEVICE_FAILED;
        ++(result.device >= 0 ? on_gpu_ : on_cpu_);
    } catch (...) {
        const Error error = as_error(std::current_exception());
        if (error.status() == WARPAES_ERROR_AUTHENTICATION) {
            outcomes_.reject(solo.entry, solo.message);
            ++on_cpu_;
        } else {
            outcomes_.fail(solo.entry, solo.message, 1, error);
        }
    }
}

// ------------------------------------------------------------------------------------------------------------ on a GPU

bool Batch::lost(int device) noexcept {
    const std::lock_guard lock(mutex_);
    return std::find(lost_.begin(), lost_.end(), device) != lost_.end();
}

Batch::Step Batch::work_on_gpu(int device, std::optional<unsigned> worker, BatchScratch& scratch) {
    if (const auto its = device_tasks_.find(device); its != device_tasks_.end()) {
        auto& [list, next] = its->second;
        const std::uint32_t task = next < list.size() ? next++ : list.size();
        if (task < list.size()) return run_on_device(device, list, task, scratch);
    }
    const bool planned = std::find(plan_.gpus.begin(), plan_.gpus.end(), device) != plan_.gpus.end();
    if (!worker || !planned || lost(device)) return Step::nothing;
    // As much as is worth a launch, but near the end less, so that all workers end at about the same time.
    const std::uint64_t tasks = host_.size(), workers = std::uint64_t{2} * plan_.gpus.size() * plan_.gpu_lanes;
    const std::uint64_t full = tasks * plan_.gpu_task_bytes / std::max<std::uint64_t>(1, host_.bytes());
    constexpr std::uint64_t least = 4;
    const std::uint64_t most = std::max<std::uint64_t>(std::min(full, std::max(shares_->left() / workers, least)), 1);
    const Claim claim = take_host(*worker, static_cast<std::uint32_t>(most));
    if (claim.empty()) return Step::nothing;
    return run_on_gpu(device, claim, scratch);
}

Batch::Step Batch::run_on_gpu(int device, Claim claim, BatchScratch& scratch) {
    if (leave_out(host_, claim)) return done(claim.size());
    // Work that may have to be done again leaves its input as it is: what lies in place gets another output.
    const bool staged = replaceable_ && stages_;
    try {
        const std::size_t room = staged ? staging_bytes() : 0;
        LaneLease& lane = scratch.lane(engine_, cuda_backend(), device, room);
        lane.used(room);
        std::optional<SecretBuffer> more;
        if (const std::size_t needed = staged ? bytes_in_place(claim) : 0; needed > room) more.emplace(needed);
        gather(host_, claim, more ? std::span(more->data(), more->size()) : lane->output_staging().first(room),
               scratch);
        lane->run_batch(scratch.groups);
        settle(scratch);
        count(host_, claim, on_gpu_);
    } catch (...) {
        const Error error = as_error(std::current_exception());
        scratch.discard_lane();
        wipe_outputs(host_, claim, staged, -1);
        if (replaceable_ && is_failure_of_device(error)) {
            hand_back(claim, device);
            return Step::worked;
        }
        give_up(host_, claim, error);
    }
    return done(claim.size());
}

Batch::Step Batch::run_on_device(int device, const TaskList& list, std::uint32_t task, BatchScratch& scratch) {
    const Claim claim{task, task + 1};
    if (leave_out(list, claim)) return done(1);
    try {
        // A lane's stream waits for no other, so what the default stream does to the messages must be done before.
        cuda_backend().synchronize(device, nullptr);
        LaneLease& lane = scratch.lane(engine_, cuda_backend(), device, 0);
        gather(list, claim, {}, scratch);
        lane->run_batch(scratch.groups);
        settle(scratch);
        count(list, claim, on_gpu_);
    } catch (...) {
        scratch.discard_lane();
        wipe_outputs(list, claim, false, device);
        give_up(list, claim, as_error(std::current_exception()));
    }
    return done(1);
}

void Batch::hand_back(Claim claim, int device) noexcept {
    notes_ |= WARPAES_NOTE_DEVICE_FAILED;
    const std::lock_guard lock(mutex_);
    if (std::find(lost_.begin(), lost_.end(), device) == lost_.end()) lost_.push_back(device);
    if (lost_.size() >= plan_.gpus.size()) cpu_takes_over_ = true;
    returned_.push_back(claim);
    returned_any_ = true;
    returned_note_ = true;
}

// ---------------------------------------------------------------------------------------------------------- the client

void Batch::abandon(const Error& error) {
    for (std::uint32_t i = 0; i < request_.count; ++i) {
        if (shapes_[i].place != refused) outcomes_.refuse(i, error);
    }
}

void Batch::finish() noexcept {
    table_keys_.clear();
    complete_ = true;
    if (request_.finished) request_.finished();
    const std::lock_guard lock(mutex_);
    finished_ = true;
    finish_condition_.notify_all();
}

bool Batch::wait(std::uint64_t milliseconds) {
    const auto done = [this] { return finished_.load(); };
    if (milliseconds == 0) return done();
    if (poll(std::chrono::microseconds(200), done)) return true;
    // CUDA's own functions wait for a GPU like this too; longer ones are not worth it.
    if (on_gpus_alone_ && milliseconds > 2 && poll(std::chrono::microseconds(1800), done)) return true;
    std::unique_lock lock(mutex_);
    constexpr std::uint64_t most = std::uint64_t{1} << 40;  // what a clock can count
    if (milliseconds < most) {
        return finish_condition_.wait_for(lock, std::chrono::milliseconds(milliseconds), done);
    }
    finish_condition_.wait(lock, done);
    return true;
}

}  // namespace warpaes
