// D.surfaces repeats [D]'s comparison of C++ with T-tables, AES-NI and CUDA: the throughput of ECB over the lengths of
// file and buffer, for three key sizes and both directions. The host's clock measures from reading the file's first
// byte to writing its last, including the copies to and from the GPU; opening the files and flushing them are excluded.
// The last panel is the processor time per gigabyte, without files.
#include <fmt/format.h>

#include "lab/compare.hpp"
#include "lab/experiments/experiments.hpp"
#include "lab/experiments/panels.hpp"
#include "lab/gpu/catalogue.hpp"
#include "lab/gpu/device.hpp"
#include "lab/gpu/variants.hpp"
#include "lab/machine.hpp"
#include "lab/published.hpp"
#include "lab/surfaces.hpp"

namespace lab::experiments {

namespace {

Panel panel_of(const Surfaces& surfaces, unsigned key_bits, Direction direction) {
    Panel panel{name_of(key_bits, direction),
                Panel::Kind::surface,
                sizes("file", surfaces.files),
                sizes("buffer", surfaces.buffers),
                numbers("throughput", "GB/s", Axis::Scale::log, {}),
                {},
                fmt::format("ECB; from reading the file's first byte to writing its last, in {}, both open already; "
                            "CUDA's copies included. The paper shows surfaces, not figures.",
                            surfaces.place)};
    for (const std::string& implementation : surfaces.implementations) {
        Series series = measured(implementation);
        const Surface& surface = surfaces.of(implementation, key_bits, direction);
        for (std::size_t i = 0; i < surface.seconds.size(); ++i) {
            const auto bytes = static_cast<double>(surfaces.files[i % surfaces.files.size()]);
            add(series, rate(bytes / 1e9, surface.seconds[i]));
        }
        panel.series.push_back(std::move(series));
    }
    return panel;
}

/// Returns the processor seconds of the whole machine per gigabyte while each implementation repeatedly encrypts a full
/// buffer, without files.
Panel processor_seconds_of(const Context& context, const Surfaces& surfaces) {
    Panel panel{"Processor seconds a gigabyte",
                Panel::Kind::bars,
                categories("implementation", surfaces.implementations),
                numbers("processor seconds", "s/GB", Axis::Scale::linear, {}),
                {},
                {measured("largest file and buffer")},
                "User and system time of all processes of the machine while AES-128 encrypts the largest buffer "
                "repeatedly. It includes the GPU's copies; no file is used."};
    const std::uint64_t buffer = surfaces.buffers.back();
    const std::vector<std::uint8_t> key(16, 0x2b);
    for (const Implementation* one : {&in_plain_cpp, &with_aes_ni, &on_cuda}) {
        if (!surfaces.has(one->name)) continue;
        const auto cipher = one->make(context, key, Direction::encrypt, buffer);
        cipher->run(buffer);
        std::vector<double> samples;
        for (int i = 0; i < 3; ++i) {
            context.check();
            double bytes = 0, seconds = 0;
            const double before = processor_seconds().value_or(0);
            // Processor time is counted in ticks of 0.01 s, so each sample lasts many ticks.
            while (seconds < (context.quick ? 0.1 : 1)) {
                seconds += time_of([&] { cipher->run(buffer); });
                bytes += static_cast<double>(buffer);
            }
            samples.push_back((processor_seconds().value_or(0) - before) / (bytes / 1e9));
        }
        add(panel.series[0], summarize(samples));
    }
    return panel;
}

Result run_surfaces(const Context& context) {
    const Surfaces surfaces = measure_surfaces(context, 1);
    Result result;
    for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
        for (const unsigned key_bits : {128u, 192u, 256u}) {
            result.panels.push_back(panel_of(surfaces, key_bits, direction));
        }
    }
    result.panels.push_back(processor_seconds_of(context, surfaces));
    for (const std::string& implementation : surfaces.implementations) {
        const auto last = [&](unsigned key_bits) {
            return surfaces.of(implementation, key_bits, Direction::encrypt).seconds.back().median;
        };
        result.facts.push_back(
            {fmt::format("{}: AES-256 over AES-128, time at the largest file and buffer", implementation),
             last(256) / last(128), "", std::nullopt});
    }
    result.notes = surfaces.notes;
    return result;
}

}  // namespace

const Experiment d_surfaces{"D.surfaces",
                            Paper::damjanovic,
                            "C++, AES-NI and CUDA over the lengths of buffer and file",
                            "When should one use the GPU rather than C++ or AES-NI?",
                            Experiment::Needs::either,
                            200,
                            12,
                            run_surfaces};

}  // namespace lab::experiments

// [D]'s CUDA implementation for D.surfaces. Each thread processes complete AES blocks. Tables, keys and text are in
// shared memory, and 16 persistent thread blocks have 256 threads each. A call copies the page-locked buffer to the
// device, encrypts or decrypts it in place, and copies it back. The time includes all three steps.
namespace lab {

namespace {

class CudaCipher final : public BufferCipher {
public:
    CudaCipher(int device, std::span<const std::uint8_t> key, Direction direction, std::size_t bytes)
        : entry_{gpu::damjanovic,
                 {.rounds = static_cast<int>(key.size() / 4) + 6, .inverse = direction == Direction::decrypt}} {
        gpu::use(device);
        variants_.emplace(key);
        stream_.emplace();
        buffer_ = gpu::HostMemory(bytes, gpu::HostMemory::Kind::page_locked);
        text_ = gpu::DeviceMemory(bytes);
    }
    std::span<std::uint8_t> buffer() override { return buffer_.bytes(); }
    void run(std::size_t bytes) override {
        gpu::copy(text_.get(), buffer_.get(), bytes, *stream_);
        variants_->run(entry_, geometry, text_.get(), text_.get(), bytes, {}, *stream_);
        gpu::copy(buffer_.get(), text_.get(), bytes, *stream_);
        stream_->synchronize();
    }

private:
    static constexpr gpu::Geometry geometry{published::damjanovic::threads, published::damjanovic::thread_blocks};
    gpu::Entry entry_;
    std::optional<gpu::Variants> variants_;
    std::optional<gpu::Stream> stream_;
    gpu::HostMemory buffer_;
    gpu::DeviceMemory text_;
};

}  // namespace

const Implementation on_cuda{"CUDA",
                             [](const Context& context, std::span<const std::uint8_t> key, Direction direction,
                                std::size_t bytes) -> std::unique_ptr<BufferCipher> {
                                 return std::make_unique<CudaCipher>(context.gpu, key, direction, bytes);
                             }};

}  // namespace lab
