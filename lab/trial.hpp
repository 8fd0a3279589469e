// A text on the GPU, what the cipher must make of it, and how fast something does.
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

/// The GPU of an experiment, chosen for this thread. Throws LeftOut if there is none, or if its thread blocks cannot
/// have `shared_bytes` of shared memory.
void use_gpu(const Context& context, std::size_t shared_bytes = 0);
/// What four tables with a copy for each bank need, with some space.
inline constexpr std::size_t shared_for_copies = 140 * 1024;

/// `bytes`, or as many as the context allows; whole blocks.
std::size_t allowed(const Context& context, std::size_t bytes);

/// 256 threads a thread block; with a copy of the tables for each bank 1024.
constexpr gpu::Geometry usual_geometry(const gpu::Variant& variant) {
    return {variant.tables == gpu::TableMemory::replicated ? 1024u : 256u, 0};
}

/// One key, random text, and libcrypto's answer, all made once; of ECB and CTR every beginning can be tried, too.
class Trial {
public:
    /// Enqueues on the trial's stream.
    using Work = std::function<void(const std::uint8_t* input, std::uint8_t* output, std::size_t bytes)>;

    /// At least 16 bytes.
    Trial(const gpu::Cipher& cipher, std::size_t bytes);

    [[nodiscard]] std::size_t bytes() const { return bytes_; }
    [[nodiscard]] const gpu::Cipher& cipher() const { return cipher_; }
    [[nodiscard]] std::span<const std::uint8_t> key() const { return key_; }
    /// Empty but for CTR: then a multiple of 1,024.
    [[nodiscard]] std::span<const std::uint8_t> counter() const { return counter_; }
    [[nodiscard]] const gpu::Stream& stream() const { return stream_; }

    /// A kernel of the catalogue.
    [[nodiscard]] Work variant(const gpu::Variant& variant, const gpu::Geometry& geometry) const;
    [[nodiscard]] Work variant(const gpu::Variant& v) const { return variant(v, usual_geometry(v)); }
    /// Production's kernels, by the ABI.
    [[nodiscard]] Work production(const Context& context) const;
    /// <warpaes/device.cuh>'s bitsliced cipher; AES-128 encryption.
    [[nodiscard]] Work bitsliced() const;

    /// Throws Mismatch, with `what`, if the output of `work` on the first `bytes` bytes is not what it must be, to the
    /// last byte and not beyond.
    void verify(const std::string& what, const Work& work, std::size_t bytes) const;
    /// Verifies, then GB/s by events around launches; short ones are timed several at a time.
    [[nodiscard]] Summary speed(const Effort& effort, const std::string& what, const Work& work,
                                std::size_t bytes) const;

    /// Something to be compared with others.
    struct Subject {
        std::string name;
        Work work;
        bool encrypts = true;  ///< else nothing is verified: a bare copy
    };
    /// Called between measurements with the share that is done, below 1, and whose turn it is.
    using Told = std::function<void(double share, const std::string& name)>;
    /// That of an experiment's progress from `from` to `to`.
    static Told part_of(const Context& context, double from, double to);

    /// The same of several subjects, in turns.
    [[nodiscard]] std::vector<Summary> speeds(const Effort& effort, const std::vector<Subject>& subjects,
                                              std::size_t bytes, const Told& told) const;
    /// Of each variant the speed with its best number of threads a thread block among `threads`; of those with a copy
    /// of the tables for each bank, which leave room for one thread block, with usual_geometry.
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
