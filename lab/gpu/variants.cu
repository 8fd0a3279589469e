#include <algorithm>
#include <array>
#include <map>
#include <stdexcept>
#include <utility>

#include "aes/key_schedule.hpp"
#include "lab/gpu/launch.hpp"
#include "lab/gpu/tables_on_device.hpp"
#include "lab/gpu/variants.cuh"
#include "lab/gpu/variants.hpp"

namespace lab::gpu {
namespace {

std::size_t index_of(const Entry& entry) {
    const auto* const found = std::find(catalogue.begin(), catalogue.end(), entry);
    if (found == catalogue.end()) {
        throw std::invalid_argument(std::string("entry: there is no kernel of ").append(name_of(entry).view()));
    }
    return static_cast<std::size_t>(found - catalogue.begin());
}

using Kernel = void (*)(Params);

template <std::size_t... I>
constexpr std::array<Kernel, sizeof...(I)> list_kernels(std::index_sequence<I...>) {
    return {&variant_kernel<I>...};
}

Kernel kernel_of(std::size_t index) {
    static constexpr auto kernels = list_kernels(std::make_index_sequence<catalogue.size()>());
    return kernels[index];
}

__global__ void __launch_bounds__(256)
    find_difference(const std::uint8_t* a, const std::uint8_t* b, unsigned long long bytes, unsigned long long* first) {
    const unsigned long long thread = 1ull * blockIdx.x * blockDim.x + threadIdx.x,
                             step = 1ull * gridDim.x * blockDim.x;
    const auto *from_a = reinterpret_cast<const uint4*>(a), *from_b = reinterpret_cast<const uint4*>(b);
    for (unsigned long long i = thread; i < bytes / 16; i += step) {
        const uint4 x = from_a[i], y = from_b[i];
        if (((x.x ^ y.x) | (x.y ^ y.y) | (x.z ^ y.z) | (x.w ^ y.w)) != 0) atomicMin(first, 16 * i);
    }
    for (unsigned long long i = bytes / 16 * 16 + thread; i < bytes; i += step) {
        if (a[i] != b[i]) atomicMin(first, i);
    }
}

}  // namespace

std::span<const Entry> variants() {
    return catalogue;
}

struct Variants::State {
    struct OfDirection {
        explicit OfDirection(bool inverse, const warpaes::RoundKeys& round_keys)
            : tables(inverse), words(round_keys.words), keys(sizeof(words)) {
            copy(keys.get(), words.data(), sizeof(words));
        }
        TablesOnDevice tables;
        std::array<std::uint32_t, 60> words;
        DeviceMemory keys;
    };

    explicit State(std::span<const std::uint8_t> key, const warpaes::RoundKeys& round_keys)
        : rounds(warpaes::rounds_for_key_bytes(key.size())),
          forward(false, round_keys),
          inverse(true, warpaes::invert_round_keys(round_keys, rounds)) {
        int device = 0;
        check(cudaGetDevice(&device), "asking for the device");
        multiprocessors = properties(device).multiprocessors;
    }
    /// Returns the number of thread blocks that fit on the device at once. The query takes longer than a launch, so
    /// answers are cached.
    std::uint64_t blocks_at_once(const Entry& entry, std::size_t index, unsigned threads) {
        const auto [found, is_new] = at_once.try_emplace({index, threads});
        if (is_new) {
            const int blocks = resources(entry, threads).blocks_per_multiprocessor;
            found->second = static_cast<std::uint64_t>(multiprocessors) * static_cast<unsigned>(blocks);
        }
        return found->second;
    }

    /// Returns a texture over a text. Textures are kept, because kernels that read them may still be in flight.
    cudaTextureObject_t texture_of(const std::uint8_t* text, std::size_t bytes) {
        const auto [found, is_new] = texts.try_emplace({text, bytes});
        if (is_new) found->second = make_texture(reinterpret_cast<const uint4*>(text), bytes);
        return found->second;
    }
    ~State() {
        for (const auto& [text, texture] : texts) (void)cudaDestroyTextureObject(texture);
    }

    int rounds;
    OfDirection forward, inverse;
    int multiprocessors = 0;
    std::map<std::pair<std::size_t, unsigned>, std::uint64_t> at_once;
    std::map<std::pair<const std::uint8_t*, std::size_t>, cudaTextureObject_t> texts;
};

Variants::Variants(std::span<const std::uint8_t> key) {
    if (warpaes::rounds_for_key_bytes(key.size()) == 0) throw std::invalid_argument("key: 16, 24 or 32 bytes");
    state_ = std::make_unique<State>(key, warpaes::expand_key(key));
}

Variants::Variants(Variants&&) noexcept = default;
Variants& Variants::operator=(Variants&&) noexcept = default;
Variants::~Variants() = default;

void Variants::run(const Entry& entry, const Geometry& geometry, const std::uint8_t* input, std::uint8_t* output,
                   std::size_t bytes, std::span<const std::uint8_t> counter, const Stream& stream) const {
    const std::size_t index = index_of(entry);
    const auto& [variant, cipher] = entry;
    if (cipher.rounds != state_->rounds) throw std::invalid_argument("entry: the key has a different length");
    if (geometry.threads == 0 || geometry.threads > 1024 || geometry.threads % 32 != 0) {
        throw std::invalid_argument("threads: must be a multiple of 32, at most 1024");
    }
    if (bytes % 16 != 0) throw std::invalid_argument("bytes: whole blocks");
    if (counter.size() != (cipher.counter ? 16u : 0u))
        throw std::invalid_argument("counter: must be 16 bytes, only for CTR");
    if (variant.text != TextMemory::global && input == output) {
        throw std::invalid_argument("output: must not be the input, which this kernel reads as read-only memory");
    }
    if (bytes == 0) return;

    const State::OfDirection& direction = cipher.inverse ? state_->inverse : state_->forward;
    Params p{};
    p.input = input;
    p.output = output;
    p.blocks = bytes / 16;
    direction.tables.tell(p);
    if (variant.text == TextMemory::texture) p.text = state_->texture_of(input, bytes);
    p.keys = reinterpret_cast<const std::uint32_t*>(direction.keys.get());
    for (std::size_t i = 0; i < counter.size(); ++i) {
        std::uint64_t& half = i < 8 ? p.counter_high : p.counter_low;
        half = half << 8 | counter[i];
    }
    std::copy(direction.words.begin(), direction.words.end(), p.round_keys);

    const std::uint64_t at_once = geometry.threads * static_cast<unsigned>(variant.bytes) / 16;
    const std::uint64_t parts = (p.blocks + at_once - 1) / at_once;
    std::uint64_t grid = parts;
    if (variant.persistent) {
        const std::uint64_t wanted =
            geometry.blocks != 0 ? geometry.blocks : state_->blocks_at_once(entry, index, geometry.threads);
        grid = std::min(parts, std::max<std::uint64_t>(wanted, 1));
    }
    launch(kernel_of(index), static_cast<unsigned>(grid), geometry.threads, shared_bytes(variant, geometry.threads),
           stream, p);
}

Resources Variants::resources(const Entry& entry, unsigned threads) {
    const auto* const kernel = reinterpret_cast<const void*>(kernel_of(index_of(entry)));
    const std::size_t shared = shared_bytes(entry.variant, threads);
    allow_shared(kernel, shared);
    cudaFuncAttributes attributes{};
    check(cudaFuncGetAttributes(&attributes, kernel), "asking for a kernel's attributes");
    int blocks = 0;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, static_cast<int>(threads), shared),
          "asking for a kernel's occupancy");
    return {attributes.numRegs, attributes.localSizeBytes, attributes.sharedSizeBytes + shared, blocks};
}

std::size_t first_difference(const std::uint8_t* a, const std::uint8_t* b, std::size_t bytes, const Stream& stream) {
    DeviceMemory found(sizeof(unsigned long long));
    fill(found.get(), 0xff, found.size(), stream);
    const std::size_t wanted = (bytes / 16 + 255) / 256;
    launch(find_difference, static_cast<unsigned>(std::clamp<std::size_t>(wanted, 1, 2048)), 256, 0, stream, a, b,
           static_cast<unsigned long long>(bytes), reinterpret_cast<unsigned long long*>(found.get()));
    unsigned long long first = 0;
    copy(&first, found.get(), sizeof(first), stream);
    stream.synchronize();
    if (first >= bytes) return bytes;
    // The kernel finds the block that differs; the host finds the byte in it.
    std::uint8_t x[16] = {}, y[16] = {};
    const std::size_t size = std::min<std::size_t>(16, bytes - first);
    copy(x, a + first, size);
    copy(y, b + first, size);
    return first + static_cast<std::size_t>(std::mismatch(x, x + size, y).first - x);
}

}  // namespace lab::gpu
