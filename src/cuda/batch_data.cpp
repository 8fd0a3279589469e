#include "cuda/batch_data.hpp"

#include <algorithm>
#include <cstring>
#include <thread>

#include "cuda/rows.hpp"
#include "cuda/tuning/host.hpp"

namespace warpaes::cuda {

namespace {

std::uint64_t extent_of(const MessageGroup& g, const Elements& e) {
    return (rows_of(g, e) - 1) * e.stride + g.length;
}
bool has_gaps(const MessageGroup& g, const Elements& e) {
    return rows_of(g, e) > 1 && e.stride != g.length;
}
bool is_in_place(const MessageGroup& g) {
    return g.output.first == g.input.first && (g.count == 1 || g.output.stride == g.input.stride);
}

/// Copies rows between pageable memory and a staging buffer. Uses several threads for many bytes, because a single
/// thread is slower than the link to the device.
void copy_many_rows(Pool* pool, std::uint8_t* to, std::uint64_t to_stride, const std::uint8_t* from,
                    std::uint64_t from_stride, std::uint64_t bytes, std::uint64_t rows) {
    static const std::uint64_t threads = std::max(std::thread::hardware_concurrency(), 1u);
    const std::uint64_t parts = std::min({rows, rows * bytes / Copies::least_of_thread, Copies::most_threads, threads});
    if (pool == nullptr || parts < 2) return copy_rows(to, to_stride, from, from_stride, bytes, rows);
    pool->for_each(parts, [&](std::size_t i) {
        const std::uint64_t first = rows * i / parts, end = rows * (i + 1) / parts;
        copy_rows(to + first * to_stride, to_stride, from + first * from_stride, from_stride, bytes, end - first);
    });
}

/// Returns the stride on the device, for a group that is gathered.
std::uint64_t gathered_stride(const MessageGroup& g, const Elements& e) {
    if (e.stride == 0) return 0;
    return has_gaps(g, e) ? aligned(g.length) : g.length;
}

}  // namespace

void BatchDataMemory::wipe(cudaStream_t stream) noexcept {
    input_staging.wipe();
    output_staging.wipe();
    input.wipe(stream);
    output.wipe(stream);
}

void BatchDataMemory::release() noexcept {
    input.release();
    output.release();
    input_staging.release();
    output_staging.release();
}

void BatchData::survey(std::size_t index, const MessageGroup& g) {
    if (g.length == 0 || g.device == device_) return;
    const MemoryPlace input = inputs_.of(g.input.first);
    if (!is_here(input)) {
        const std::uint64_t extent = extent_of(g, g.input), dense = rows_of(g, g.input) * g.length;
        const bool foreign = is_on_device(input.kind);
        if (foreign || (input.kind == Memory::page_locked && extent - dense <= dense / 4)) {
            const auto begin = reinterpret_cast<std::uintptr_t>(g.input.first);
            Stretch* const last = stretches_.empty() ? nullptr : &stretches_.back();
            if (last != nullptr && begin >= last->end &&
                begin - last->end <= std::max<std::uint64_t>(256, extent / 4) && inputs_.first() == last->allocation &&
                !foreign) {
                last->end = begin + extent;
                last->last_group = index;
            } else {
                stretches_.push_back({begin, begin + extent, inputs_.first(), index, foreign});
            }
        } else {
            gathered_ += aligned((rows_of(g, g.input) - 1) * gathered_stride(g, g.input) + g.length);
        }
    }
    if (g.output.first == nullptr || is_in_place(g) || is_here(outputs_.of(g.output.first))) return;
    output_bound_ += aligned((g.count - 1) * gathered_stride(g, g.output) + g.length) + 16;
}

void BatchData::reserve() {
    std::uint64_t staged = gathered_;
    for (Stretch& s : stretches_) {
        s.gathered = !s.foreign && s.end - s.begin < Copies::least_alone && stretches_.size() > Copies::few;
        if (s.gathered) {
            // The address modulo 16 must not change.
            s.offset = staged + s.begin % 16;
            staged = aligned(s.offset + (s.end - s.begin));
        }
    }
    std::uint64_t total = staged;
    for (Stretch& s : stretches_) {
        if (s.gathered) continue;
        s.offset = total + s.begin % 16;
        total = aligned(s.offset + (s.end - s.begin));
    }
    input_total_ = total;
    if (total == 0 && output_bound_ == 0) return;
    if (staged != 0) memory_.input_staging.reserve(staged);
    std::uint8_t* const device = total == 0 ? nullptr : memory_.input.reserve(total);
    if (output_bound_ != 0) memory_.output.reserve(output_bound_);
    if (staged != 0) in_.push_back({device, memory_.input_staging.get(), staged});
    for (const Stretch& s : stretches_) {
        const auto* const from = reinterpret_cast<const std::uint8_t*>(s.begin);
        if (s.gathered) {
            std::memcpy(memory_.input_staging.get() + s.offset, from, s.end - s.begin);
        } else {
            in_.push_back({device + s.offset, from, s.end - s.begin});
        }
    }
    for (const Copy& c : in_) bytes_in_ += c.bytes;
}

BatchData::Placed BatchData::place(std::size_t index, const MessageGroup& g) {
    Placed placed{g.input.first, g.output.first, g.input.stride, g.output.stride};
    if (g.length == 0 || g.device == device_) return placed;
    if (!is_here(inputs_.of(g.input.first))) {
        const auto begin = reinterpret_cast<std::uintptr_t>(g.input.first);
        while (stretch_ < stretches_.size() && stretches_[stretch_].last_group < index) ++stretch_;
        const Stretch* const s = stretch_ < stretches_.size() ? &stretches_[stretch_] : nullptr;
        const std::uint64_t extent = extent_of(g, g.input), dense = rows_of(g, g.input) * g.length;
        const bool direct = s != nullptr && begin >= s->begin && begin + extent <= s->end &&
                            (s->foreign || extent - dense <= dense / 4);
        if (direct) {
            placed.input = memory_.input.get() + s->offset + (begin - s->begin);
        } else {
            placed.input = memory_.input.get() + gather_at_;
            placed.input_stride = gathered_stride(g, g.input);
            const std::uint64_t rows = rows_of(g, g.input);
            copy_many_rows(pool_, memory_.input_staging.get() + gather_at_, placed.input_stride, g.input.first,
                           g.input.stride, g.length, rows);
            gather_at_ += aligned((rows - 1) * placed.input_stride + g.length);
        }
    }
    place_output(g, placed);
    return placed;
}

void BatchData::place_output(const MessageGroup& g, Placed& placed) {
    if (g.output.first == nullptr) return;
    const MemoryPlace place = outputs_.of(g.output.first);
    if (is_here(place)) return;
    const bool gaps = has_gaps(g, g.output);
    if (is_in_place(g)) {
        placed.output = const_cast<std::uint8_t*>(placed.input);
        placed.output_stride = placed.input_stride;
    } else {
        const std::uint64_t offset =
            gaps ? aligned(output_at_)
                 : output_at_ + (reinterpret_cast<std::uintptr_t>(g.output.first) - output_at_) % 16;
        placed.output = memory_.output.get() + offset;
        placed.output_stride = gathered_stride(g, g.output);
        output_at_ = offset + (g.count - 1) * placed.output_stride + g.length;
    }
    const bool foreign = is_on_device(place.kind);
    const bool worth_rows = !gaps || (g.length >= Copies::least_row && g.output.stride <= most_pitch);
    if (place.kind == Memory::pageable || (!foreign && !worth_rows)) {
        through_output_staging(g.output.first, g.output.stride, placed.output, placed.output_stride, g.length, g.count);
    } else if (!gaps) {
        const std::uint64_t bytes = g.count * g.length;
        Copy* const last = out_.empty() ? nullptr : &out_.back();
        // A copy may not extend from one allocation into another, even if they are adjacent.
        if (last != nullptr && last->rows == 1 && last->allocation == outputs_.first() &&
            static_cast<std::uint8_t*>(last->to) + last->bytes == g.output.first &&
            static_cast<const std::uint8_t*>(last->from) + last->bytes == placed.output && !foreign && !last->foreign) {
            last->bytes += bytes;
        } else {
            out_.push_back({g.output.first, placed.output, bytes, 0, 0, 1, foreign, outputs_.first()});
        }
    } else {
        out_.push_back(
            {g.output.first, placed.output, g.length, g.output.stride, placed.output_stride, g.count, foreign});
    }
}

void BatchData::through_output_staging(std::uint8_t* host, std::uint64_t host_stride, const std::uint8_t* device,
                                       std::uint64_t device_stride, std::uint64_t bytes, std::uint64_t rows) {
    const std::uint64_t extent = (rows - 1) * device_stride + bytes;
    Copy* const last = staged_out_.empty() ? nullptr : &staged_out_.back();
    const std::uint8_t* const end =
        last == nullptr ? nullptr : static_cast<const std::uint8_t*>(last->from) + last->bytes;
    const auto is_input = [&](const void* at) {
        return reinterpret_cast<std::uintptr_t>(at) - reinterpret_cast<std::uintptr_t>(memory_.input.get()) <
               input_total_;
    };
    if (last != nullptr && device >= end && device - end < 64 && is_input(device) == is_input(last->from)) {
        const auto gap = static_cast<std::uint64_t>(device - end);
        staging_out_ += gap;
        last->bytes += gap + extent;
    } else {
        // The staging buffer is not allocated yet, so `staged_out_` and `scatter_` hold offsets into it.
        staging_out_ = aligned(staging_out_);
        staged_out_.push_back({reinterpret_cast<void*>(staging_out_), device, extent});
    }
    scatter_.push_back({host, reinterpret_cast<const void*>(staging_out_), bytes, host_stride, device_stride, rows});
    staging_out_ += extent;
}

void BatchData::finish_placing() {
    if (out_.size() > Copies::few) {
        std::vector<Copy> kept;
        for (const Copy& c : out_) {
            if (c.foreign || c.rows > 1 || c.bytes >= Copies::least_alone) {
                kept.push_back(c);
            } else {
                through_output_staging(static_cast<std::uint8_t*>(c.to), 0, static_cast<const std::uint8_t*>(c.from), 0,
                                       c.bytes, 1);
            }
        }
        out_ = std::move(kept);
    }
    if (staging_out_ != 0) {
        std::uint8_t* const staging = memory_.output_staging.reserve(staging_out_);
        for (Copy& c : staged_out_) c.to = staging + reinterpret_cast<std::uintptr_t>(c.to);
        for (Copy& c : scatter_) c.from = staging + reinterpret_cast<std::uintptr_t>(c.from);
        out_.insert(out_.end(), staged_out_.begin(), staged_out_.end());
    }
    for (const Copy& c : out_) bytes_out_ += c.bytes * c.rows;
}

void BatchData::copy_in(cudaStream_t stream) const {
    for (const Copy& c : in_) {
        check(cudaMemcpyAsync(c.to, c.from, c.bytes, cudaMemcpyDefault, stream), "copying to the device");
    }
}

void BatchData::copy_out(cudaStream_t stream) const {
    for (const Copy& c : out_) enqueue_rows(c.to, c.to_stride, c.from, c.from_stride, c.bytes, c.rows, stream);
}

void BatchData::scatter() const {
    for (const Copy& c : scatter_) {
        copy_many_rows(pool_, static_cast<std::uint8_t*>(c.to), c.to_stride, static_cast<const std::uint8_t*>(c.from),
                       c.from_stride, c.bytes, c.rows);
    }
}

}  // namespace warpaes::cuda
