#include "cuda/lane.hpp"

#include <algorithm>
#include <utility>

#include "cuda/rows.hpp"
#include "cuda/run.hpp"
#include "cuda/tuning/batch_gcm.hpp"
#include "cuda/tuning/host.hpp"
#include "cuda/tuning/shapes.hpp"

namespace warpaes::cuda {

namespace {

constexpr std::uint64_t mapped_by_default = PageLockedAccess::by_default;

Block* blocks_of(PageLockedBuffer& buffer, std::uint64_t count) {
    return reinterpret_cast<Block*>(buffer.reserve(count * sizeof(Block)));
}

}  // namespace

CudaLane::CudaLane(int device, const DeviceLimits& limits, DeviceShare& share, std::size_t staging_bytes, Pool* pool)
    : device_(device),
      limits_(limits),
      queues_(share.queues),
      pool_(pool),
      keys_(share.keys),
      staging_bytes_(staging_bytes) {
    if (staging_bytes != 0) {
        check(cudaHostAlloc(reinterpret_cast<void**>(&staging_), 2 * staging_bytes, cudaHostAllocPortable),
              "allocating page-locked memory");
    }
}

CudaLane::~CudaLane() {
    Lane::wipe_staging(staging_bytes_);
    try {
        const CurrentDevice current(device_);
        input_.release();
        output_.release();
        gcm_.scratch.release();
        gcm_.sum.release();
        gcm_.results.release();
        j0s_.release();
        batch_.release();
        if (staging_ != nullptr) try_to(cudaFreeHost(staging_));
    } catch (...) {
        // The device has failed, and its memory is lost.
    }
}

/// Whether kernels can access a side in place: in the device's memory, or in page-locked memory.
template <typename Byte>
bool CudaLane::is_in_reach(const End<Byte>& end) const {
    if (end.bytes == 0) return true;
    const MemoryPlace place = place_of(end.first);
    if (place.device == device_) return true;
    if (place.kind != Memory::page_locked || end.bytes > end.most_mapped ||
        reinterpret_cast<std::uintptr_t>(end.first) % block_bytes != 0) {
        return false;
    }
    // Possibly only a part of a long buffer is page-locked.
    return end.bytes <= mapped_by_default || place_of(end.first + end.bytes - 1).kind == Memory::page_locked;
}

/// Calls `work(input, output)`, which enqueues on the lane's stream. A side that kernels cannot access is copied to or
/// from device memory.
template <typename Work>
void CudaLane::carry_out(const End<const std::uint8_t>& input, const End<std::uint8_t>& output, const Work& work) {
    const CurrentDevice current(device_);
    const bool copy_in = !is_in_reach(input), copy_out = !is_in_reach(output);
    const std::uint8_t* const device_input = copy_in ? input_.reserve(input.bytes) : input.first;
    std::uint8_t* const device_output = copy_out ? output_.reserve(output.bytes) : output.first;
    try {
        const cudaStream_t stream = stream_.get();
        bool all_on_stream = true;
        {
            const CopyOrder copies(queues_, stream, std::max(input.bytes, output.bytes));
            if (copy_in) {
                if (wiping_) event_.order(stream, copies.in);
                check(cudaMemcpyAsync(input_.get(), input.first, input.bytes, cudaMemcpyDefault, copies.in),
                      "copying to the device");
                event_.order(copies.in, stream);
            }
            wiping_ = false;
            work(device_input, device_output);
            if (copy_out) {
                event_.order(stream, copies.out);
                check(cudaMemcpyAsync(output.first, device_output, output.bytes, cudaMemcpyDefault, copies.out),
                      "copying from the device");
            }
            all_on_stream = !copy_out || copies.out == stream;
            if (!all_on_stream) check(cudaEventRecord(done_.get(), copies.out), "recording an event");
        }
        check(all_on_stream ? cudaStreamSynchronize(stream) : cudaEventSynchronize(done_.get()),
              "waiting for the device");
    } catch (...) {
        queues_.wait(stream_.get());
        throw;
    }
}

/// Whether the messages are long GCM messages under the same key, which get their own launches.
bool CudaLane::is_worth_its_own_launches(const MessageGroup& g) const {
    const auto on_host = [](const std::uint8_t* pointer) {
        return pointer == nullptr || !is_on_device(place_of(pointer).kind);
    };
    if (g.mode != Mode::gcm || g.key == nullptr || !OwnLaunches::take(g.count, g.length) ||
        g.iv_length != gcm_nonce_bytes) {
        return false;
    }
    GcmPassWork work;
    work.add(g.count, warpaes::blocks_of(g.length), warpaes::blocks_of(g.aad_length));
    const bool passes = GcmOnePass::fits(g.length, g.aad_length, g.iv_length) &&
                        GcmOnePass::choose(limits_, work).kernels != GcmOnePass::Kernels::several;
    return !passes && is_here(g.input.first) && is_here(g.output.first) && on_host(g.iv.first) &&
           (g.aad_length == 0 || (g.aad.stride == 0 && on_host(g.aad.first)));
}

void CudaLane::run_stretch(const Run& run) {
    const std::uint64_t bytes = run.length;
    if (bytes == 0) return;
    const std::uint64_t most = !PageLockedAccess::is_once(run.mode, run.direction) ? 0
                               : run.zero_copy                                     ? bytes
                                                                                   : mapped_by_default;
    carry_out({run.input, bytes, most}, {run.output, bytes, most},
              [&](const std::uint8_t* input, std::uint8_t* output) {
                  Run on_device = run;
                  on_device.input = input;
                  on_device.output = output;
                  enqueue(on_device, limits_, stream_.get());
              });
}

void CudaLane::run_gcm(const GcmRun& run) {
    if (run.count == 0) return;
    const auto extent = [&](std::uint64_t stride) { return (run.count - 1) * stride + run.last_bytes; };
    const std::uint64_t output_bytes = run.output == nullptr ? 0 : extent(run.output_stride);
    const CurrentDevice current(device_);
    Block* const results = blocks_of(gcm_.results, run.count);
    const Block* j0 = run.j0;
    if (run.count > 1 && !run.hashes_only()) {
        // A copy from pageable memory would block the thread.
        j0 = std::copy_n(run.j0, run.count, blocks_of(j0s_, run.count)) - run.count;
    }
    // Encryption reads its input once, and decryption writes its output once. The ciphertext is accessed a second time,
    // for GHASH.
    const bool encrypts = run.direction == Direction::encrypt;
    carry_out({run.input, extent(run.input_stride), encrypts || run.output == nullptr ? mapped_by_default : 0},
              {run.output, output_bytes, encrypts ? 0 : mapped_by_default},
              [&](const std::uint8_t* input, std::uint8_t* output) {
                  GcmRun on_device = run;
                  on_device.input = input;
                  on_device.output = output;
                  on_device.results = results;
                  on_device.j0 = j0;
                  const GcmScratch scratch{gcm_.scratch, gcm_.sum_on(stream_.get())};
                  enqueue(on_device, limits_, stream_.get(), &scratch);
              });
    std::copy_n(results, run.count, run.results);
    wipe({results->data(), run.count * sizeof(Block)});
}

void CudaLane::run(std::span<const MessageGroup> groups) {
    const bool one_by_one = std::all_of(groups.begin(), groups.end(), [this](const MessageGroup& g) {
        return g.direct || is_worth_its_own_launches(g);
    });
    if (one_by_one) {
        run_one_by_one(groups);
        if (std::exchange(clearing_, false)) check(cudaStreamSynchronize(stream_.get()), "waiting for the device");
        return;
    }
    const CurrentDevice current(device_);
    run_batch({device_, limits_, queues_, &keys_, stream_.get(), batch_, pool_}, groups);
}

void CudaLane::copy_rows(void* to, std::size_t to_stride, const void* from, std::size_t from_stride, std::size_t bytes,
                         std::size_t rows) {
    if (!is_on_device(place_of(to).kind) && !is_on_device(place_of(from).kind)) {
        return StretchLane::copy_rows(to, to_stride, from, from_stride, bytes, rows);
    }
    const CurrentDevice current(device_);
    enqueue_rows(to, to_stride, from, from_stride, bytes, rows, stream_.get());
    check(cudaStreamSynchronize(stream_.get()), "waiting for the device");
}

void CudaLane::clear_rows(std::uint8_t* memory, std::size_t stride, std::size_t bytes,
                          std::span<const std::uint8_t> marks, bool beyond_caches) {
    const std::size_t extent = marks.empty() ? 0 : (marks.size() - 1) * stride + bytes;
    const std::size_t mapped = extent < PageLockedAccess::least_wiped ? 0 : mapped_by_default;
    if (!is_on_device(place_of(memory).kind) && !is_in_reach(End<std::uint8_t>{memory, extent, mapped})) {
        return StretchLane::clear_rows(memory, stride, bytes, marks, beyond_caches);
    }
    const CurrentDevice current(device_);
    clearing_ = true;
    std::uint8_t* marked = nullptr;
    if (std::find(marks.begin(), marks.end(), 0) != marks.end()) {
        marked = gcm_.scratch.reserve(marks.size());  // the run that used this memory has ended
        check(cudaMemcpyAsync(marked, marks.data(), marks.size(), cudaMemcpyHostToDevice, stream_.get()),
              "copying to the device");
    }
    enqueue_wipe({memory, stride, bytes, marks.size(), marked}, limits_, stream_.get());
}

void CudaLane::wipe_staging(std::size_t bytes) noexcept {
    Lane::wipe_staging(bytes);
    try {
        const CurrentDevice current(device_);
        input_.wipe(stream_.get());
        output_.wipe(stream_.get());
        batch_.wipe(stream_.get());
        wiping_ = true;
    } catch (...) {
        // The device has failed, and its memory is lost.
    }
}

}  // namespace warpaes::cuda
