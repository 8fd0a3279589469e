// The side buffer of a batch: descriptors, and the IVs, associated data, tags and keys that are in host memory. One
// copy transfers the buffer to the device, and another copy transfers its end back.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "backend/group.hpp"
#include "cuda/memory_place.hpp"
#include "cuda/resources.hpp"
#include "cuda/rows.hpp"

namespace warpaes::cuda {

/// A part of the side buffer for elements of one kind. Each piece of the section begins at a multiple of 16 bytes.
struct Section {
    std::size_t bytes = 0;  ///< counted during the survey
    std::size_t begin = 0;  ///< offset in the side buffer
    std::size_t at = 0;     ///< next free offset

    void survey(std::size_t n) { bytes += aligned(n); }
    std::size_t take(std::size_t n) {
        const std::size_t here = at;
        at += aligned(n);
        return here;
    }
    /// Returns to the beginning of the section.
    void rewind() { at = begin; }
};

/// The buffer on both sides: in page-locked memory, and on the device with the same layout. First all parts are placed
/// in order; then memory is reserved.
class BatchSide {
public:
    BatchSide(PageLockedBuffer& host, DeviceBuffer& device) : host_(host), device_(device) {}

    /// Places a part of `bytes` bytes and returns its offset.
    std::size_t place(std::size_t bytes) {
        const std::size_t here = placed_;
        placed_ += aligned(bytes);
        return here;
    }
    void place(Section& section) { section.begin = section.at = place(section.bytes); }
    /// Marks the next part and all later parts as secret; they are wiped at the end.
    void begin_secret() { secret_ = placed_; }
    /// Marks the next part and all later parts to be copied back.
    void begin_back() { back_ = placed_; }
    /// Marks the next part and all later parts as flags: the device writes them, and only copy_flags() copies them
    /// back.
    void begin_flags() { flags_ = placed_; }
    /// Reserves the memory, whose contents are undefined.
    void reserve() {
        host_.reserve(placed_);
        device_.reserve(placed_);
        bytes_ = placed_;
    }

    [[nodiscard]] std::uint8_t* host() const { return host_.get(); }
    [[nodiscard]] std::uint8_t* device() const { return device_.get(); }

    void copy_in(cudaStream_t stream) const {
        check(cudaMemcpyAsync(device(), host(), flags_, cudaMemcpyHostToDevice, stream), "copying to the device");
    }
    /// Like copy_in(), but a kernel copies up to SideCopies::most_by_kernel bytes.
    void copy_in_by_kernel(const DeviceLimits& limits, cudaStream_t stream) const;
    void copy_out(cudaStream_t stream) const {
        if (flags_ <= back_) return;
        check(cudaMemcpyAsync(host() + back_, device() + back_, flags_ - back_, cudaMemcpyDeviceToHost, stream),
              "copying from the device");
    }
    void copy_flags(cudaStream_t stream) const {
        check(cudaMemcpyAsync(host() + flags_, device() + flags_, bytes_ - flags_, cudaMemcpyDeviceToHost, stream),
              "copying from the device");
    }
    void wipe_host() const noexcept {
        if (bytes_ > secret_) warpaes::wipe({host() + secret_, flags_ - secret_});
    }
    /// Wipes the device's buffer in stream order.
    void wipe_device(cudaStream_t stream) const noexcept {
        if (bytes_ > secret_) try_to(cudaMemsetAsync(device() + secret_, 0, flags_ - secret_, stream));
    }
    /// Whether the buffer contains keys.
    [[nodiscard]] bool holds_keys() const noexcept { return back_ > secret_; }

private:
    PageLockedBuffer& host_;
    DeviceBuffer& device_;
    std::size_t placed_ = 0, secret_ = 0, back_ = 0, flags_ = 0;
    std::size_t bytes_ = 0;  ///< size of the reserved memory; 0 until it is reserved
};

/// One kind of small elements of messages: IVs, associated data, tags or keys. Every pass visits the groups in the same
/// order. Groups without such elements, or with elements in this device's memory, are skipped.
class BatchSmall {
public:
    BatchSmall(BatchSide& side, int device) : side_(side), device_(device) {}

    void survey(const MessageGroup& g, const Elements& e, std::uint64_t length) {
        if (is_packed(g, e, length)) section_.survey(rows_of(g, e) * length);
    }
    /// Must be called when all groups have been surveyed.
    void place() { side_.place(section_); }
    /// Returns the address of the group's elements on the device. With `copy`, copies them to the side buffer;
    /// otherwise only reserves space for them.
    Elements put(const MessageGroup& g, const Elements& e, std::uint64_t length, bool copy = true) {
        if (!is_packed(g, e, length)) return e;
        const std::uint64_t rows = rows_of(g, e);
        const std::size_t at = section_.take(rows * length);
        if (copy) copy_rows(side_.host() + at, length, e.first, e.stride, length, rows);
        return {side_.device() + at, e.stride == 0 ? 0 : length};
    }

    /// Whether any elements are in the side buffer.
    [[nodiscard]] bool any() const { return section_.bytes != 0; }
    void rewind() { section_.rewind(); }
    /// Returns the host address of the space that `put` reserved, without gaps; null for a group without elements in
    /// the side buffer.
    const std::uint8_t* next(const MessageGroup& g, const Elements& e, std::uint64_t length) {
        return is_packed(g, e, length) ? side_.host() + section_.take(rows_of(g, e) * length) : nullptr;
    }

private:
    [[nodiscard]] bool is_packed(const MessageGroup& g, const Elements& e, std::uint64_t length) {
        if (length == 0 || g.count == 0 || e.first == nullptr || g.device == device_) return false;
        return places_.of(e.first).device != device_;
    }

    BatchSide& side_;
    int device_;
    PlaceFinder places_;
    Section section_;
};

}  // namespace warpaes::cuda
