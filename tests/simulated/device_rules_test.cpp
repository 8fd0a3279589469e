// Tests that kernels avoid accesses that a GPU refuses or performs slowly but the simulated GPU accepts. Also tests
// rows that are further apart than CUDA can copy.
#include <cuda_runtime.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <vector>

#include "backend/cuda_backend.hpp"
#include "simt.hpp"

namespace warpaes {
namespace {

TEST(DeviceRules, RowsThatAreFurtherApartThanAPitchCanSay) {
    constexpr std::size_t rows = 3, bytes = 16;
    for (const std::size_t apart : {std::size_t{48}, std::size_t{0x7fffffff}, std::size_t{0x80000000}}) {
        const std::size_t size = rows * apart;
        void* const memory =
            ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        ASSERT_NE(memory, MAP_FAILED);
        auto* const first = static_cast<std::uint8_t*>(memory);
        for (std::size_t row = 0; row < rows; ++row) first[row * apart + 5] = static_cast<std::uint8_t>(row + 1);
        std::vector<std::uint8_t> got(rows * bytes);
        cuda_backend().copy_rows(got.data(), bytes, first, apart, bytes, rows, 0, nullptr);
        for (std::size_t row = 0; row < rows; ++row) EXPECT_EQ(got[row * bytes + 5], row + 1) << apart;
        ::munmap(memory, size);
    }
}

TEST(DeviceRules, RowsThatEndWhereTheirMemoryEnds) {
    constexpr std::size_t apart = 48, bytes = 16;
    CudaBackend& backend = cuda_backend();
    for (const std::size_t rows : {1, 2, 3, 5}) {
        const std::size_t size = (rows - 1) * apart + bytes;
        auto* const memory = static_cast<std::uint8_t*>(backend.device_alloc(0, size));
        std::vector<std::uint8_t> sent(rows * bytes), expected(size, 0x5a), found(size), got(rows * bytes);
        for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<std::uint8_t>(i);
        for (std::size_t i = 0; i < sent.size(); ++i) expected[i / bytes * apart + i % bytes] = sent[i];
        backend.copy(memory, std::vector<std::uint8_t>(size, 0x5a).data(), size, 0, nullptr);
        backend.copy_rows(memory, apart, sent.data(), bytes, bytes, rows, 0, nullptr);
        backend.copy(found.data(), memory, size, 0, nullptr);
        EXPECT_EQ(found, expected) << rows;
        backend.copy_rows(got.data(), bytes, memory, apart, bytes, rows, 0, nullptr);
        EXPECT_EQ(got, sent) << rows;
        backend.device_free(memory);
    }
}

TEST(DeviceRules, ThreadBlocksAreOfWholeWarpsAndOfNoMoreThreadsThanKernelsTake) {
    std::size_t launches = 0;
    simt::on_launch([&](const cudaLaunchConfig_t& c) {
        ++launches;
        const unsigned threads = c.blockDim.x * c.blockDim.y * c.blockDim.z;
        EXPECT_EQ(threads % 32, 0U);
        EXPECT_LE(threads, 1024U);
    });
    const ExpandedKey key(std::vector<std::uint8_t>(16, 1)), other(std::vector<std::uint8_t>(16, 2));
    std::vector<std::uint8_t> text(3 * 4096), iv(64, 3), tag(64);
    const auto lane = cuda_backend().open_lane(0, text.size());
    constexpr Mode tried[] = {Mode::ecb, Mode::cbc, Mode::cfb128, Mode::ofb, Mode::ctr, Mode::xts, Mode::gcm};
    for (const Mode mode : tried) {
        for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
            MessageGroup group;
            group.mode = mode;
            group.direction = direction;
            group.count = 3;
            group.length = 4096;
            group.key = &key;
            if (mode == Mode::xts) {
                group.tweak_key = &other;
                group.data_units.bytes = 4096;
            }
            group.input = group.output = {text.data(), 4096};  // in place
            group.iv = {iv.data(), 16};
            group.iv_length = static_cast<std::uint32_t>(traits_of(mode).least_iv);
            if (uses_tag(mode)) {
                group.tag = {tag.data(), 16};
                group.tag_length = 16;
            }
            lane->run({&group, 1});
        }
    }
    simt::on_launch({});
    EXPECT_GE(launches, 2 * std::size(tried));
}

}  // namespace
}  // namespace warpaes
