// GCM-SIV (RFC 8452) by GHASH's kernels, on blocks whose bytes are reversed, and a key stream of its own.
#include <algorithm>
#include <cstring>

#include "base/secret.hpp"
#include "cuda/kernels/catalogue.hpp"
#include "cuda/launch.hpp"
#include "cuda/resources.hpp"
#include "cuda/run.hpp"

namespace warpaes::cuda {

namespace {

/// Of the message that is reversed at once: what stays in the L2 cache of a large GPU until it is hashed.
constexpr std::uint64_t piece_bytes = std::uint64_t{16} << 20;

/// Overwritten in the order of the stream, whatever failed.
class SecretScratch {
public:
    SecretScratch(std::size_t bytes, cudaStream_t stream) : bytes_(bytes), stream_(stream), memory_(bytes, stream) {}
    SecretScratch(const SecretScratch&) = delete;
    SecretScratch& operator=(const SecretScratch&) = delete;
    ~SecretScratch() { try_to(cudaMemsetAsync(memory_.get(), 0, bytes_, stream_)); }
    [[nodiscard]] std::uint8_t* get() const noexcept { return static_cast<std::uint8_t*>(memory_.get()); }

private:
    std::size_t bytes_;
    cudaStream_t stream_;
    StreamScratch memory_;
};

void add_key_stream(const GcmSivRun& run, const DeviceLimits& device, cudaStream_t stream) {
    const LaunchShape shape = launch_shape(device, (run.bytes + 32 * block_bytes - 1) / (32 * block_bytes));
    Secret<Params> p;
    p->input = run.input;
    p->output = run.output;
    p->length = run.bytes;
    std::memcpy(&p->chain, run.counter.data(), block_bytes);
    p->boundaries = nullptr;
    p->alignment =
        alignment_of(reinterpret_cast<std::uintptr_t>(run.input) | reinterpret_cast<std::uintptr_t>(run.output));
    copy_round_keys(p->round_keys, *run.key, Mode::ctr, Direction::encrypt);
    launch(siv_ctr_kernel_for(run.key->rounds(), shape.tables), shape, stream, *p);
}

/// Each piece by itself; a host adds them up while there is nothing to wait for.
FieldElement digest_of(const GcmSivRun& run, const std::uint8_t* data, const DeviceLimits& device,
                       cudaStream_t stream) {
    const auto pieces = static_cast<std::size_t>((run.bytes + piece_bytes - 1) / piece_bytes);
    const SecretScratch reversed(static_cast<std::size_t>(blocks_of(std::min(run.bytes, piece_bytes)) * block_bytes),
                                 stream);
    const SecretScratch results(pieces * block_bytes, stream);
    const auto bytes_of = [&](std::size_t i) { return std::min(piece_bytes, run.bytes - i * piece_bytes); };
    for (std::size_t i = 0; i < pieces; ++i) {
        const std::uint64_t blocks = blocks_of(bytes_of(i));
        const std::uint8_t* const from = data + i * piece_bytes;
        launch(reverse_blocks_kernel_for(), thread_each(device, blocks, 256, 8), stream, from, bytes_of(i),
               alignment_of(reinterpret_cast<std::uintptr_t>(from)), reinterpret_cast<uint4*>(reversed.get()));
        enqueue({.direction = Direction::encrypt,
                 .key = run.key,
                 .input = reversed.get(),
                 .output = nullptr,
                 .segment_bytes = blocks * block_bytes,
                 .last_bytes = blocks * block_bytes,
                 .input_stride = blocks * block_bytes,
                 .results = reinterpret_cast<Block*>(results.get()) + i},
                device, stream);
    }
    SecretVector digests(pieces * block_bytes);
    check(cudaMemcpyAsync(digests.data(), results.get(), digests.size(), cudaMemcpyDeviceToHost, stream),
          "copying digests");
    check(cudaStreamSynchronize(stream), "waiting for the device");
    const FieldElement h = run.key->hash_key().powers[0];
    FieldElement sum;
    for (std::size_t i = 0; i < pieces; ++i) {
        Block part;
        std::memcpy(part.data(), digests.data() + i * block_bytes, block_bytes);
        sum = (i == 0 ? sum : multiply(sum, power(h, blocks_of(bytes_of(i))))) ^ load_element(part);
    }
    return sum;
}

}  // namespace

void run(const GcmSivRun& run, const DeviceLimits& device, cudaStream_t stream) {
    if (run.output != nullptr) add_key_stream(run, device, stream);
    if (run.digest != nullptr) {
        *run.digest = store_element(digest_of(run, run.output != nullptr ? run.output : run.input, device, stream));
    } else {
        check(cudaStreamSynchronize(stream), "waiting for the device");
    }
}

}  // namespace warpaes::cuda
