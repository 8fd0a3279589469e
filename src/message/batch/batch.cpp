#include "message/batch/batch.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>

#include "aes/counter.hpp"
#include "base/clean_stack.hpp"
#include "base/pool.hpp"
#include "engine/pipeline/memory.hpp"
#include "message/message.hpp"

namespace warpaes {

namespace {

bool opens(const MessageGroup& g) {
    return g.direction == Direction::decrypt && uses_tag(g.mode);
}

/// Whether the counter of a message passes 2^128 - 1. `ivs` are the IVs of a group of the form of `g`, in host memory.
bool counter_wraps(const MessageGroup& g, const Elements& ivs, std::uint64_t count) {
    if (g.mode != Mode::ctr || g.length == 0) return false;
    for (std::uint64_t m = 0; m < count; ++m) {
        const std::uint8_t* const iv = ivs.at(m);
        if (iv[0] != 0xff) continue;
        Block first;
        std::copy_n(iv, first.size(), first.begin());
        if (wraps(first, blocks_of(g.length))) return true;
    }
    return false;
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
    : engine_(engine), keys_(keys), request_(std::move(request)), outcomes_(request_), shapes_(request_.count) {
    if (request_.results == nullptr) {
        own_results_ = std::make_unique_for_overwrite<warpaes_entry_result[]>(request_.count);
        request_.results = own_results_.get();
        request_.result_bytes = sizeof(warpaes_entry_result);
    }
}

Batch::~Batch() {
    if (descriptor_ >= 0) (void)::close(descriptor_);
}

const char* Batch::reason() const {
    const std::lock_guard lock(mutex_);
    if (reason_.empty()) reason_ = crew_.reason();
    return reason_.c_str();
}

bool Batch::needs_cpu() const noexcept {
    return solos_.list.size() != 0 || (crew_.cpu != nullptr && host_.size() != 0);
}

std::uint64_t Batch::wants_of(int device) const {
    const auto its = device_tasks_.find(device);
    const std::uint64_t tasks = its != device_tasks_.end() ? its->second.list.size() : 0;
    const bool planned = std::find(crew_.gpus.begin(), crew_.gpus.end(), device) != crew_.gpus.end();
    return tasks + (planned ? host_.size() : 0);
}

std::vector<int> Batch::devices() const {
    std::vector<int> devices(crew_.gpus.begin(), crew_.gpus.end());
    for (const auto& [device, tasks] : device_tasks_) {
        if (std::find(devices.begin(), devices.end(), device) == devices.end()) devices.push_back(device);
    }
    return devices;
}

/// Constructs a group in place.
struct Batch::Group {
    const Batch& batch;
    std::uint32_t entry;
    operator MessageGroup() const { return batch.group(entry); }
};

MessageGroup Batch::group(std::uint32_t entry) const {
    MessageGroup g = group_of(request_, request_.entry(entry));
    g.device = shapes_[entry].split ? -1 : shapes_[entry].place;
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

bool Batch::leave_out(std::span<const Slice> slices) {
    if (!cancelled_) return false;
    for (const Slice& s : slices) outcomes_.fail(s.entry, WARPAES_ERROR_CANCELLED, "cancelled by the caller");
    return true;
}

void Batch::count(std::span<const Slice> slices, std::atomic<std::uint64_t>& where) noexcept {
    std::uint64_t messages = 0;
    for (const Slice& s : slices) messages += s.count;
    where += messages;
}

std::uint64_t Batch::most_at_once(const Slice& slice, std::uint64_t bytes) const noexcept {
    // At least the number of messages in a serial task of normal size (serial_most in prepare.cpp).
    constexpr std::uint64_t least = 64;
    return std::max(bytes / shapes_[slice.entry].cost + 1, least);
}

// ---------------------------------------------------------------------------------------------------------- one claim

void Batch::gather(std::span<const Slice> slices, std::span<std::uint8_t> staging, bool on_cpu, BatchScratch& scratch) {
    scratch.groups.clear();
    scratch.origins.clear();
    scratch.alike.clear();
    scratch.alike_runs.clear();
    if (!on_cpu) {
        scratch.groups.reserve(slices.size());
        scratch.origins.reserve(slices.size());
    }
    std::size_t flags = 0;
    std::size_t staged = 0;
    // If a whole entry is like the entries before it, its group differs from the group `form` only in addresses, the
    // key and the count. A CPU lane needs only these. `form` is copied instead of the last group, because copying a
    // struct whose fields have just been written would wait for these writes.
    constexpr std::uint64_t no_entry = ~std::uint64_t{0};
    std::uint64_t next_alike = no_entry;
    std::size_t form = 0;
    for (auto s = slices.begin(); s != slices.end();) {
        Slice slice = *s++;
        for (; s != slices.end() && s->entry == slice.entry && s->first == slice.first + slice.count; ++s)
            slice.count += s->count;
        const Shape& shape = shapes_[slice.entry];
        const bool is_whole = slice.count == shape.count;
        const bool is_alike = is_whole && slice.entry == next_alike && shape.alike;
        if (is_alike && on_cpu && scratch.groups[form].key != nullptr && shape.work == Shape::Work::parallel) {
            ++next_alike;
            const MessageGroup& g = scratch.groups[form];
            if (scratch.alike_runs.empty() || scratch.alike_runs.back().form != form) {
                scratch.alike.reserve(scratch.alike.size() + static_cast<std::size_t>(slices.end() - s) + 1);
                scratch.alike_runs.push_back({form, slice.entry, scratch.alike.size(), 0, flags});
            }
            ++scratch.alike_runs.back().count;
            const AlikeGroup& its = scratch.alike.emplace_back(alike_group_of(request_, request_.entry(slice.entry)));
            if (shape.iv_on_host && counter_wraps(g, {its.iv, g.iv.stride}, its.count)) {
                notes_ |= WARPAES_NOTE_COUNTER_WRAPPED;
            }
            if (opens(g)) flags += its.count;
            continue;
        }
        MessageGroup& g = is_alike ? scratch.groups.emplace_back(scratch.groups[form])
                                   : scratch.groups.emplace_back(Group{*this, slice.entry});
        if (is_alike) {
            readdress(g, request_, request_.entry(slice.entry));
        } else {
            form = scratch.groups.size() - 1;
            if (!is_whole) g = g.slice(slice.first, slice.count);
        }
        // Raw keys may have been replaced by expanded keys, and staged outputs are not the caller's.
        next_alike = is_whole && staging.empty() && table_keys_.empty() ? slice.entry + std::uint64_t{1} : no_entry;
        if (shapes_[slice.entry].iv_on_host && counter_wraps(g, g.iv, g.count)) notes_ |= WARPAES_NOTE_COUNTER_WRAPPED;
        BatchScratch::Origin& origin = scratch.origins.emplace_back();
        origin.slice = slice;
        if (in_place(g) && !staging.empty()) {
            origin.output = g.output;
            g.output = {staging.data() + staged, g.length};
            staged += g.count * g.length;
        }
        if (opens(g)) {
            origin.failed = flags;
            flags += g.count;
        }
    }
    scratch.failed.assign(flags, 0);
    for (std::size_t i = 0; i < scratch.groups.size(); ++i) {
        if (opens(scratch.groups[i])) scratch.groups[i].failed = scratch.failed.data() + scratch.origins[i].failed;
    }
}

void Batch::run_groups(Lane& lane, BatchScratch& scratch) {
    clean_stack([&] {
        lane.run(scratch.groups);
        for (const BatchScratch::Alike& run : scratch.alike_runs) {
            MessageGroup form = scratch.groups[run.form];
            if (opens(form)) form.failed = scratch.failed.data() + run.failed;
            lane.run_alike(form, std::span(scratch.alike).subspan(run.first, run.count));
        }
    });
}

void Batch::settle(BatchScratch& scratch) {
    for (std::size_t i = 0; i < scratch.groups.size(); ++i) {
        const MessageGroup& g = scratch.groups[i];
        const auto& [slice, output, failed] = scratch.origins[i];
        for (std::uint64_t m = 0; output.first != nullptr && m < g.count; ++m) {
            std::copy_n(g.output.at(m), g.length, output.at(m));
        }
        if (g.failed == nullptr) continue;
        outcomes_.reject(slice.entry, slice.first, std::span(scratch.failed).subspan(failed, g.count));
    }
    for (const BatchScratch::Alike& run : scratch.alike_runs) {
        std::size_t failed = run.failed;
        for (std::size_t i = 0; opens(scratch.groups[run.form]) && i < run.count; ++i) {
            const auto marks = std::span(scratch.failed).subspan(failed, scratch.alike[run.first + i].count);
            outcomes_.reject(run.first_entry + static_cast<std::uint32_t>(i), 0, marks);
            failed += marks.size();
        }
    }
}

std::size_t Batch::staging_bytes() const noexcept {
    // A power of two, so that there are few different sizes: the engine pools lanes by size.
    constexpr std::uint64_t least = std::uint64_t{1} << 16;
    return std::bit_ceil(static_cast<std::size_t>(std::min(std::max(host_.bytes(), least), crew_.gpu_task_bytes)));
}

std::size_t Batch::bytes_in_place(std::span<const Slice> slices) const {
    std::uint64_t bytes = 0;
    for (const Slice& s : slices) {
        const MessageGroup g = group(s.entry);
        if (in_place(g)) bytes += s.count * g.length;
    }
    return static_cast<std::size_t>(bytes);
}

void Batch::wipe_outputs(std::span<const Slice> slices, bool staged, int device) noexcept {
    for (const Slice& s : slices) {
        const MessageGroup g = group(s.entry).slice(s.first, s.count);
        if (!opens(g) || g.output.first == nullptr || (staged && in_place(g))) continue;
        const int its = shapes_[s.entry].output_on_host ? -1 : device;
        for (std::uint64_t m = 0; m < g.count; ++m) {
            clear_after_failure(engine_, g.output.at(m), static_cast<std::size_t>(g.length), its);
        }
    }
}

void Batch::give_up(std::span<const Slice> slices, const Error& error) {
    for (const Slice& s : slices) outcomes_.fail(s.entry, error);
}

// ------------------------------------------------------------------------------------------------------------ on a CPU

Batch::Step Batch::work_on_cpu(unsigned worker, BatchScratch& scratch) {
    if (const Claim solos = cancelled_ ? solos_.take_all() : solos_.take(); !solos.empty()) {
        const std::span<const Slice> slices = solos_.list.slices(solos);
        if (leave_out(slices)) return done(solos.size());
        for (const Slice& s : slices) {
            for (std::uint64_t m = 0; m < s.count; ++m) clean_stack([&] { run_solo(s.entry, s.first + m); });
        }
        return done(solos.size());
    }
    if (crew_.cpu == nullptr && !cpu_takes_over_) return Step::nothing;
    const Claim claim = take_host(worker, cancelled_ ? host_.size() : 1);
    if (claim.empty()) return Step::nothing;
    return run_on_cpu(claim, scratch);
}

Batch::Step Batch::run_on_cpu(Claim claim, BatchScratch& scratch) {
    const std::span<const Slice> slices = host_.slices(claim);
    if (leave_out(slices)) return done(claim.size());
    try {
        run_pieces_on_cpu(Pieces(slices), scratch);
    } catch (...) {
        wipe_outputs(slices, false, -1);
        give_up(slices, current_error());
    }
    return done(claim.size());
}

void Batch::run_pieces_on_cpu(Pieces pieces, BatchScratch& scratch) {
    Backend* const backend = crew_.cpu != nullptr ? crew_.cpu : Engine::replacement({}).backend;
    run_pieces(pieces, 4 * crew_.cpu_task_bytes, *backend, -1, on_cpu_, scratch);
}

void Batch::run_pieces(Pieces pieces, std::uint64_t bytes, Backend& backend, int device,
                       std::atomic<std::uint64_t>& where, BatchScratch& scratch) {
    const auto most = [&](const Slice& s) { return most_at_once(s, bytes); };
    for (auto piece = pieces.next(most); !piece.empty(); piece = pieces.next(most)) {
        if (leave_out(piece) && leave_out(pieces.rest())) break;
        LaneLease& lane = scratch.lane(engine_, backend, device, 0);
        gather(piece, {}, device < 0, scratch);
        run_groups(*lane, scratch);
        settle(scratch);
        count(piece, where);
    }
}

void Batch::run_solo(std::uint32_t entry, std::uint64_t message) {
    try {
        MessageResult result;
        MessageGroup g = group(entry).slice(message, 1);
        const auto own = g.key == nullptr ? keys_.get({g.keys.first, g.key_bytes}) : nullptr;
        if (own != nullptr) g.key = own.get();
        g.device = -1;
        crypt(engine_, {.message = g, .output_capacity = g.length}, result);
        notes_ |= result.notes;
        ++(result.device >= 0 ? on_gpu_ : on_cpu_);
        if (result.refusal) outcomes_.reject(entry, message, std::array<std::uint8_t, 1>{1});
    } catch (...) {
        outcomes_.fail(entry, current_error());
    }
}

// ------------------------------------------------------------------------------------------------------------ on a GPU

bool Batch::lost(int device) noexcept {
    const std::lock_guard lock(mutex_);
    return std::find(lost_.begin(), lost_.end(), device) != lost_.end();
}

Batch::Step Batch::work_on_gpu(int device, std::optional<unsigned> worker, BatchScratch& scratch) {
    if (const auto its = device_tasks_.find(device); its != device_tasks_.end()) {
        const Claim task = its->second.take();
        if (!task.empty()) return run_on_device(device, its->second.list.slices(task), scratch);
    }
    const bool planned = std::find(crew_.gpus.begin(), crew_.gpus.end(), device) != crew_.gpus.end();
    if (!worker || !planned || lost(device)) return Step::nothing;
    // Claims enough tasks to justify a launch, but fewer near the end, so that all workers finish at about the same
    // time.
    const std::uint64_t tasks = host_.size(), workers = std::uint64_t{2} * crew_.gpus.size() * crew_.gpu_lanes;
    const std::uint64_t full = tasks * crew_.gpu_task_bytes / std::max<std::uint64_t>(1, host_.bytes());
    constexpr std::uint64_t least = 4;
    const std::uint64_t most = std::max<std::uint64_t>(std::min(full, std::max(shares_->left() / workers, least)), 1);
    const Claim claim = take_host(*worker, cancelled_ ? host_.size() : static_cast<std::uint32_t>(most));
    if (claim.empty()) return Step::nothing;
    return run_on_gpu(device, claim, scratch);
}

Batch::Step Batch::run_on_gpu(int device, Claim claim, BatchScratch& scratch) {
    const std::span<const Slice> slices = host_.slices(claim);
    if (leave_out(slices)) return done(claim.size());
    // Work that may have to be repeated must preserve its input, so messages in place get a staged output.
    bool staged = replaceable_ && stages_;
    Pieces left(slices);
    bool some_done = false;
    try {
        try {
            run_pieces_on_gpu(device, left, some_done, staged, scratch);
        } catch (...) {
            const Error error = current_error();
            scratch.discard_lane();
            if (!replaceable_ || !is_failure_of_device(error)) throw;
            lose(device, some_done ? Claim{} : claim);
            if (!some_done) return Step::worked;
            staged = false;
            run_pieces_on_cpu(left, scratch);  // finished pieces must not run again, so this worker processes the rest
        }
    } catch (...) {
        scratch.discard_lane();
        wipe_outputs(slices, staged, -1);
        give_up(slices, current_error());
    }
    return done(claim.size());
}

/// Removes finished pieces from `left`.
void Batch::run_pieces_on_gpu(int device, Pieces& left, bool& some_done, bool staged, BatchScratch& scratch) {
    const std::size_t room = staged ? staging_bytes() : 0;
    LaneLease& lane = scratch.lane(engine_, engine_.gpu(), device, room);
    lane.used(room);
    const auto most = [&](const Slice& s) { return most_at_once(s, crew_.gpu_task_bytes); };
    for (;;) {
        Pieces after = left;
        const auto piece = after.next(most);
        if (piece.empty()) return;
        if (leave_out(piece) && leave_out(after.rest())) return;
        std::optional<SecretBuffer> more;  // must live until settle() has read the results
        try {
            if (const std::size_t needed = staged ? bytes_in_place(piece) : 0; needed > room) more.emplace(needed);
            gather(piece, more ? std::span(more->data(), more->size()) : lane->output_staging().first(room), false,
                   scratch);
            run_groups(*lane, scratch);
        } catch (...) {
            wipe_outputs(piece, staged, -1);
            throw;
        }
        settle(scratch);
        count(piece, on_gpu_);
        some_done = true;
        left = after;
    }
}

Batch::Step Batch::run_on_device(int device, std::span<const Slice> slices, BatchScratch& scratch) {
    // Bounds the delay of a cancellation, because everything that was launched together runs to its end.
    constexpr std::uint64_t bytes_at_once = std::uint64_t{1} << 33;
    try {
        // A lane's stream does not wait for the default stream, on which the caller may have enqueued work that writes
        // or reads the messages.
        if (!cancelled_) wait_for_device(device);
        run_pieces(Pieces(slices), bytes_at_once, engine_.gpu(), device, on_gpu_, scratch);
    } catch (...) {
        scratch.discard_lane();
        wipe_outputs(slices, false, device);
        give_up(slices, current_error());
    }
    return done(1);
}

void Batch::lose(int device, Claim claim) noexcept {
    notes_ |= WARPAES_NOTE_DEVICE_FAILED;
    const std::lock_guard lock(mutex_);
    if (std::find(lost_.begin(), lost_.end(), device) == lost_.end()) lost_.push_back(device);
    if (lost_.size() >= crew_.gpus.size()) cpu_takes_over_ = true;
    if (!claim.empty()) returned_.push_back(claim);
    returned_any_ = !returned_.empty();
    returned_note_ = true;
}

// ---------------------------------------------------------------------------------------------------------- the client

void Batch::abandon(warpaes_status status, const char* sentence) noexcept {
    for (std::uint32_t i = 0; i < request_.count; ++i) {
        if (shapes_[i].place == unseen) outcomes_.begin(i);
        if (shapes_[i].place != refused) outcomes_.fail(i, status, sentence);
    }
}

void Batch::finish() noexcept {
    table_keys_.clear();
    outcomes_.close();
    complete_ = true;
    if (request_.finished) request_.finished();
    const std::lock_guard lock(mutex_);
    finished_ = true;
    if (descriptor_ >= 0) (void)::eventfd_write(descriptor_, 1);
    finish_condition_.notify_all();
}

int Batch::descriptor() noexcept {
    const std::lock_guard lock(mutex_);
    if (descriptor_ < 0) descriptor_ = ::eventfd(finished_ ? 1 : 0, EFD_CLOEXEC | EFD_NONBLOCK);
    return descriptor_;
}

bool Batch::wait(std::uint64_t milliseconds) {
    const auto done = [this] { return finished_.load(); };
    if (milliseconds == 0) return done();
    if (poll(std::chrono::microseconds(200), done)) return true;
    // CUDA's own functions also poll while they wait for a GPU. Polling is not worthwhile for a longer wait.
    if (on_gpus_alone_ && milliseconds > 2 && poll(std::chrono::microseconds(1800), done)) return true;
    std::unique_lock lock(mutex_);
    if (milliseconds < forever) {
        return finish_condition_.wait_for(lock, std::chrono::milliseconds(milliseconds), done);
    }
    finish_condition_.wait(lock, done);
    return true;
}

}  // namespace warpaes
