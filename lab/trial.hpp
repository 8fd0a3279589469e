// A test text on the GPU with its expected output, and functions that verify and time a cipher on it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lab/experiment.hpp"
#include "lab/gpu/device.hpp"
#include "lab/gpu/variants.hpp"
#include "lab/measure.hpp"

namespace lab {

/// Selects the experiment's GPU for this thread. Throws LeftOut if there is none, or if a thread block cannot have
/// `shared_bytes` of shared memory.
void use_gpu(const Context& context, std::size_t shared_bytes = 0);
/// Number of bytes of shared memory for four tables with a copy for each bank, and some margin.
inline constexpr std::size_t shared_for_copies = 140 * 1024;

/// Returns `bytes` or the context's limit, whichever is less, rounded down to whole blocks.
std::size_t allowed(const Context& context, std::size_t bytes);

/// Returns thread blocks of 256 threads, or of 1024 threads for variants with a copy of the tables for each bank.
constexpr gpu::Geometry usual_geometry(const gpu::Variant& variant) {
    return {variant.tables == gpu::TableMemory::replicated ? 1024u : 256u, 0};
}

/// One key, a random text and libcrypto's output, all prepared once. The modes are ECB and CTR, so work can also run on
/// any prefix of the text.
class Trial {
public:
    /// Enqueues the work on the trial's stream.
    using Work = std::function<void(const std::uint8_t* input, std::uint8_t* output, std::size_t bytes)>;

    /// `bytes` is at least 16.
    Trial(const gpu::Cipher& cipher, std::size_t bytes);

    [[nodiscard]] std::size_t bytes() const { return bytes_; }
    [[nodiscard]] const gpu::Cipher& cipher() const { return cipher_; }
    [[nodiscard]] std::span<const std::uint8_t> key() const { return key_; }
    /// Returns the first counter block, a multiple of 1,024, for CTR; otherwise empty.
    [[nodiscard]] std::span<const std::uint8_t> counter() const { return counter_; }
    [[nodiscard]] const gpu::Stream& stream() const { return stream_; }

    /// Returns a kernel of the catalogue.
    [[nodiscard]] Work variant(const gpu::Variant& variant, const gpu::Geometry& geometry) const;
    [[nodiscard]] Work variant(const gpu::Variant& v) const { return variant(v, usual_geometry(v)); }
    /// Returns production's kernels, called through the ABI.
    [[nodiscard]] Work production(const Context& context) const;
    /// Returns AES-128 encryption with the bitsliced cipher of <warpaes/device.cuh>.
    [[nodiscard]] Work bitsliced() const;

    /// Returns AES-128 in CTR with a cached first round.
    [[nodiscard]] Work cached_counter() const;

    /// Returns AES-128 encryption in ECB with [G]'s third scheme and 4 or 8 blocks per group.
    [[nodiscard]] Work grouped(unsigned blocks_of_group) const;

    /// Enqueues `work` on the whole text.
    void enqueue(const Work& work) const { work(input_.get(), output_.get(), bytes_); }
    /// Runs `work` on the first `bytes` bytes. Throws Mismatch, with `what`, if the output differs from the expected
    /// output, or if bytes after it are written.
    void verify(const std::string& what, const Work& work, std::size_t bytes) const;
    /// Verifies the work, and then measures GB/s with events around the launches. Short launches are timed together.
    [[nodiscard]] Summary speed(const Effort& effort, const std::string& what, const Work& work,
                                std::size_t bytes) const;

    /// One of the works that are compared.
    struct Subject {
        std::string name;
        Work work;
        bool encrypts = true;  ///< false: a plain copy, whose output is not verified
    };
    /// Called between measurements with the fraction completed (less than 1) and the name of the next subject.
    using Told = std::function<void(double share, const std::string& name)>;
    /// Returns a callback that maps shares to the range `from` to `to` of an experiment's progress.
    static Told part_of(const Context& context, double from, double to);

    /// Returns the speed() of each subject. The subjects are sampled in turn.
    [[nodiscard]] std::vector<Summary> speeds(const Effort& effort, const std::vector<Subject>& subjects,
                                              std::size_t bytes, const Told& told) const;
    /// Returns the speed of each variant with the best thread-block size among `threads`. Variants with a copy of the
    /// tables for each bank use usual_geometry, because only one such thread block fits on a multiprocessor.
    [[nodiscard]] std::vector<Summary> best_speeds(const Effort& effort, std::span<const gpu::Variant> variants,
                                                   std::span<const unsigned> threads, const Told& told) const;

private:
    [[nodiscard]] double seconds(const Work& work, std::size_t bytes) const;

    gpu::Cipher cipher_;
    std::size_t bytes_;
    std::vector<std::uint8_t> key_, counter_;
    gpu::DeviceMemory input_, wanted_, output_, ahead_;
    gpu::Stream stream_;
    std::shared_ptr<const gpu::Variants> variants_;
};

}  // namespace lab
