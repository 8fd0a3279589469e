#include "lab/experiments/support.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "lab/published.hpp"

namespace lab::experiments {

gpu::Properties gpu_of(const Context& context) {
    use_gpu(context);
    return gpu::properties(context.gpu);
}

std::size_t room_for(const Context& context, std::size_t wanted) {
    const auto host =
        static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t most = std::min({context.most_bytes, gpu::free_memory() / 8, host / 16});
    return wanted <= most ? wanted : std::max<std::size_t>(std::bit_floor(most), 16);
}

std::size_t kernel_text_bytes(const Context& context) {
    return allowed(context, 256 * mib);
}

std::vector<double> sizes(const Context& context, std::size_t from, std::size_t to, std::size_t factor) {
    std::vector<double> list;
    for (std::size_t size = from; size < to && size <= context.most_bytes; size *= factor) {
        list.push_back(static_cast<double>(size));
    }
    if (to <= context.most_bytes) list.push_back(static_cast<double>(to));
    if (list.empty()) list.push_back(static_cast<double>(from));
    return list;
}

std::string label_of(const gpu::Variant& variant) {
    return std::string(gpu::name_of(variant).view());
}

Axis wide_throughput() {
    return {"throughput", "GB/s", Axis::Scale::log, {}, {}};
}

Series published_gbit(std::string name, std::span<const double> values, std::size_t size) {
    Series series{std::move(name), Series::Role::published, {}, {}};
    for (std::size_t i = 0; i < size; ++i) {
        if (i < values.size()) {
            series.values.emplace_back(published::gb_per_s_of_gbit(values[i]));
        } else {
            add_none(series);
        }
    }
    return series;
}

void Progress::next(const std::string& what) {
    context_.step(static_cast<double>(std::min(done_, total_)) / static_cast<double>(total_), what);
    ++done_;
}

std::size_t quickest(const std::vector<std::function<double()>>& works) {
    std::size_t best = 0;
    double least = 0;
    for (std::size_t i = 0; i < works.size(); ++i) {
        works[i]();
        const double seconds = std::min(works[i](), works[i]());
        if (i == 0 || seconds < least) best = i, least = seconds;
    }
    return best;
}

Text::Text(std::size_t bytes, Mode mode)
    : key_(random_bytes(16, 11)), iv_(mode == Mode::ecb ? 0 : 16), plain_(random_bytes(bytes, 12)) {
    fill_random(iv_, 13);
    std::vector<std::uint8_t> expected(bytes);
    Reference(mode, Direction::encrypt, key_).run(iv_, plain_, expected);
    expected_ = gpu::on_device(expected);
}

void Text::check(const std::uint8_t* output, std::size_t bytes, const std::string& what) const {
    const std::size_t at = gpu::first_difference(expected_.get(), output, bytes, stream_);
    if (at != bytes) throw Mismatch(fmt::format("{}: byte {} of {} is wrong", what, at, bytes));
}

TextBuffers::TextBuffers(const Text& text, gpu::HostMemory::Kind kind)
    : input(text.plain().size(), kind), output(text.plain().size(), kind) {
    std::memcpy(input.get(), text.plain().data(), text.plain().size());
    poison(output.size());
}

void TextBuffers::poison(std::size_t bytes) {
    std::memset(output.get(), 0x5c, bytes);
}

NamedKernel published_kernel(bool counter) {
    return {"four tables in shared memory", {gpu::Variant{.persistent = counter}, {.counter = counter}}, {}};
}

NamedKernel conflict_free_kernel(const gpu::Properties& properties, bool counter) {
    return {"tables without conflicts",
            {gpu::Variant{.tables = gpu::TableMemory::replicated, .persistent = true}, {.counter = counter}},
            {.threads = 1024, .blocks = static_cast<unsigned>(properties.multiprocessors)}};
}

gpu::ChunkKernel chunk_kernel(const gpu::Variants& variants, const NamedKernel& kernel) {
    return [&variants, kernel](const std::uint8_t* in, std::uint8_t* out, std::size_t, std::size_t bytes,
                               const gpu::Stream& stream) {
        variants.run(kernel.entry, kernel.geometry, in, out, bytes, {}, stream);
    };
}

}  // namespace lab::experiments
