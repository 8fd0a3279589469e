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

/// The GPU of an experiment, chosen for this thread. Throws LeftOut if there is none.
void use_gpu(const Context& context);

/// `bytes`, or as many as the context allows; whole blocks.
std::size_t allowed(const Context& context, std::size_t bytes);

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
    [[nodiscard]] Work variant(const gpu::Variant& variant, const gpu::Geometry& geometry = {}) const;
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
    [[nodiscard]] Summary speed(const Effort& effort, const std::string& what, const Work& work) const {
        return speed(effort, what, work, bytes_);
    }
    /// The same for several subjects in turns.
    [[nodiscard]] std::vector<Summary> speeds(const Effort& effort,
                                              const std::vector<std::pair<std::string, Work>>& subjects) const;
    /// Without verification: of what does not encrypt, a bare copy.
    [[nodiscard]] Summary unverified_speed(const Effort& effort, const Work& work, std::size_t bytes) const;
    /// The speed of a variant at its best number of threads a thread block among `threads`.
    [[nodiscard]] Summary best_speed(const Effort& effort, const gpu::Variant& variant,
                                     std::span<const unsigned> threads) const;

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
