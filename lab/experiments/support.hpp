// What experiments on a GPU have in common.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "lab/experiment.hpp"
#include "lab/experiments/panels.hpp"
#include "lab/gpu/device.hpp"
#include "lab/gpu/overlap.hpp"
#include "lab/gpu/variants.hpp"
#include "lab/measure.hpp"
#include "lab/reference.hpp"
#include "lab/trial.hpp"

namespace lab::experiments {

/// Makes the context's GPU the thread's, and says what it is. Throws LeftOut if there is none.
gpu::Properties gpu_of(const Context& context);

/// `wanted` bytes, or the power of two below of which the context, the GPU's free memory and the host's allow several
/// copies; for texts that are to be long, on machines of any size.
std::size_t room_for(const Context& context, std::size_t wanted);

/// `from`, `from * factor`, … up to `to`, which is the last; none longer than the context allows, but at least one.
std::vector<double> sizes(const Context& context, std::size_t from, std::size_t to, std::size_t factor);

/// GB/s of plaintext, from very little on.
Axis wide_throughput();
/// `values` of a paper in Gbit/s as GB/s, then none: a panel's x may go on.
Series published_gbit(std::string name, std::span<const double> values, std::size_t size);
/// The same number everywhere.
Series published_everywhere(std::string name, double value, std::size_t size);

/// Calls the context's step before each of `total` measurements.
class Progress {
public:
    Progress(const Context& context, std::size_t total) : context_(context), total_(total) {}
    void next(const std::string& what);

private:
    const Context& context_;
    std::size_t total_, done_ = 0;
};

/// The number of the one that takes the fewest seconds, after a call of each that is not counted.
std::size_t quickest(const std::vector<std::function<double()>>& works);

/// A text on the host, random, with what libcrypto encrypts it to. Outputs are compared on the device, so that memory
/// which the CPU reads slowly can hold them too.
class Text {
public:
    /// AES-128. `mode`: ECB or CTR, so that every beginning of the text has its ciphertext.
    Text(std::size_t bytes, Mode mode);
    [[nodiscard]] std::span<const std::uint8_t> key() const { return key_; }
    /// 16 bytes; of ECB none.
    [[nodiscard]] std::span<const std::uint8_t> iv() const { return iv_; }
    [[nodiscard]] std::span<const std::uint8_t> plain() const { return plain_; }
    /// Throws Mismatch, naming `what`, if the first `bytes` bytes at `output`, which the device reaches, are wrong.
    void check(const std::uint8_t* output, std::size_t bytes, const std::string& what) const;

private:
    std::vector<std::uint8_t> key_, iv_, plain_;
    gpu::DeviceMemory expected_;
    gpu::Stream stream_;
};

/// Host memory for a text and what becomes of it.
struct TextBuffers {
    TextBuffers(const Text& text, gpu::HostMemory::Kind kind);
    /// Overwrites the output with what no cipher makes of it.
    void poison(std::size_t bytes);
    gpu::HostMemory input, output;
};

/// The fastest of the published kernels: one thread a block, four tables in shared memory; and the one that comes
/// closest to production's: tables without conflicts, threads that stay.
struct NamedKernel {
    std::string name;
    gpu::Entry entry;
    gpu::Geometry geometry;
};
NamedKernel published_kernel(bool counter = false);
NamedKernel conflict_free_kernel(const gpu::Properties& properties, bool counter = false);
/// Of ECB, for the chunks of a text. `variants` must stay.
gpu::ChunkKernel chunk_kernel(const gpu::Variants& variants, const NamedKernel& kernel);

}  // namespace lab::experiments
