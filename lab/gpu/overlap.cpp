#include "lab/gpu/overlap.hpp"

#include <algorithm>
#include <stdexcept>

namespace lab::gpu {

Overlap::Overlap(std::size_t most_bytes, unsigned most_lanes)
    : input_(most_bytes), output_(most_bytes), lanes_(most_lanes) {}

double Overlap::run(const std::uint8_t* input, std::uint8_t* output, std::size_t bytes, const Chunks& chunks,
                    const ChunkKernel& kernel) {
    if (chunks.bytes == 0 || chunks.lanes == 0 || chunks.lanes > lanes_.size() ||
        chunks.bytes > input_.size() / chunks.lanes) {
        throw std::invalid_argument("chunks: more bytes or lanes than there is room for");
    }
    begin_.record(main_);
    begin_.hold(queue_in_);
    begin_.hold(queue_out_);
    for (unsigned l = 0; l < chunks.lanes; ++l) begin_.hold(lanes_[l].stream);

    std::size_t number = 0;
    for (std::size_t at = 0; at < bytes; at += chunks.bytes, ++number) {
        const std::size_t size = std::min(chunks.bytes, bytes - at);
        const std::size_t l = number % chunks.lanes;
        Lane& lane = lanes_[l];
        std::uint8_t* const in = input_.get() + l * chunks.bytes;
        std::uint8_t* const out = output_.get() + l * chunks.bytes;
        const Stream& from = chunks.queues ? queue_in_ : lane.stream;
        const Stream& to = chunks.queues ? queue_out_ : lane.stream;
        const bool again = number >= chunks.lanes;  // the lane's buffers may hold an earlier chunk

        if (chunks.queues && again) lane.kernel.hold(from);
        copy(in, input + at, size, from);
        if (chunks.queues) {
            lane.in.record(from);
            lane.in.hold(lane.stream);
            if (again) lane.out.hold(lane.stream);
        }
        kernel(in, out, at, size, lane.stream);
        if (chunks.queues) {
            lane.kernel.record(lane.stream);
            lane.kernel.hold(to);
        }
        copy(output + at, out, size, to);
        if (chunks.queues) lane.out.record(to);
    }
    const auto wait_for = [&](const Stream& stream) {
        ready_.record(stream);
        ready_.hold(main_);
    };
    wait_for(queue_in_);
    wait_for(queue_out_);
    for (unsigned l = 0; l < chunks.lanes; ++l) wait_for(lanes_[l].stream);
    end_.record(main_);
    return end_.since(begin_);
}

Steps Overlap::steps(const std::uint8_t* input, std::uint8_t* output, std::size_t bytes, const ChunkKernel& kernel) {
    if (bytes > input_.size()) throw std::invalid_argument("bytes: more than there is room for");
    // Keeps the device busy until all steps are enqueued; otherwise a short step would appear to take as long as the
    // enqueuing.
    constexpr std::size_t busy_bytes = std::size_t{64} << 20;
    fill(output_.get(), 0, std::min(busy_bytes, output_.size()), main_);
    begin_.record(main_);
    copy(input_.get(), input, bytes, main_);
    after_in_.record(main_);
    kernel(input_.get(), output_.get(), 0, bytes, main_);
    after_kernel_.record(main_);
    copy(output, output_.get(), bytes, main_);
    end_.record(main_);
    return {after_in_.since(begin_), after_kernel_.since(after_in_), end_.since(after_kernel_)};
}

}  // namespace lab::gpu
