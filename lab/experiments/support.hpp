// Shared parts of the experiments on a GPU.
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

inline constexpr std::size_t kib = 1 << 10, mib = 1 << 20;

/// Selects the context's GPU for this thread and returns its properties. Throws LeftOut if there is none.
gpu::Properties gpu_of(const Context& context);

/// Returns `wanted` if the context allows it, eight copies fit in the GPU's free memory, and sixteen copies fit in the
/// host's memory. Otherwise, returns the largest power of two that meets these conditions (at least 16).
std::size_t room_for(const Context& context, std::size_t wanted);

/// Returns the size of the text in device memory for comparisons of kernels: 256 MiB, or less if the context does not
/// allow it.
std::size_t kernel_text_bytes(const Context& context);

/// Returns the sizes `from`, `from * factor`, … and finally `to`, except sizes that the context does not allow. If it
/// allows none, returns only `from`.
std::vector<double> sizes(const Context& context, std::size_t from, std::size_t to, std::size_t factor);

/// Returns a variant's name in panels.
std::string label_of(const gpu::Variant& variant);
/// Returns a logarithmic axis in GB/s, for rates that differ by several orders of magnitude.
Axis wide_throughput();
/// Returns the `values` of a paper in Gbit/s, converted to GB/s and padded with none up to `size`, because a panel's x
/// may be longer.
Series published_gbit(std::string name, std::span<const double> values, std::size_t size);

/// Calls the context's step before each of `total` measurements.
class Progress {
public:
    Progress(const Context& context, std::size_t total) : context_(context), total_(total) {}
    void next(const std::string& what);

private:
    const Context& context_;
    std::size_t total_, done_ = 0;
};

/// Returns the index of the fastest work function. Each function is called once to warm up; then the faster of two
/// calls counts.
std::size_t quickest(const std::vector<std::function<double()>>& works);

/// A random text on the host, with libcrypto's ciphertext on the device. Outputs are compared on the device, because
/// they may be in host memory that the CPU reads slowly.
class Text {
public:
    /// Encrypts the text with AES-128. `mode` is ECB or CTR, so a prefix of the text encrypts to a prefix of the
    /// ciphertext.
    Text(std::size_t bytes, Mode mode);
    [[nodiscard]] std::span<const std::uint8_t> key() const { return key_; }
    /// Returns the IV of 16 bytes, or an empty span for ECB.
    [[nodiscard]] std::span<const std::uint8_t> iv() const { return iv_; }
    [[nodiscard]] std::span<const std::uint8_t> plain() const { return plain_; }
    /// Throws Mismatch, naming `what`, if the first `bytes` bytes at `output` are wrong. The device must be able to
    /// read `output`.
    void check(const std::uint8_t* output, std::size_t bytes, const std::string& what) const;

private:
    std::vector<std::uint8_t> key_, iv_, plain_;
    gpu::DeviceMemory expected_;
    gpu::Stream stream_;
};

/// Host memory for a text and its output.
struct TextBuffers {
    TextBuffers(const Text& text, gpu::HostMemory::Kind kind);
    /// Overwrites the output, so that an output of an earlier run cannot pass a check.
    void poison(std::size_t bytes);
    gpu::HostMemory input, output;
};

/// A kernel with a name and a launch geometry.
struct NamedKernel {
    std::string name;
    gpu::Entry entry;
    gpu::Geometry geometry;
};
/// published_kernel(): the fastest of the published kernels, with one thread per block and four tables in shared
/// memory. conflict_free_kernel(): the kernel most similar to production's kernels, with conflict-free tables and
/// persistent threads.
NamedKernel published_kernel(bool counter = false);
NamedKernel conflict_free_kernel(const gpu::Properties& properties, bool counter = false);
/// Returns a function that enqueues ECB for a chunk of a text. `variants` must outlive the result.
gpu::ChunkKernel chunk_kernel(const gpu::Variants& variants, const NamedKernel& kernel);

}  // namespace lab::experiments
