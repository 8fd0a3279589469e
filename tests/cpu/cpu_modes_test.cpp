// Compares every CPU backend with libcrypto: modes, directions, key lengths, boundaries, alignment, and carries.
#include <sys/mman.h>
#include <unistd.h>

#include <tuple>

#include "aes/counter.hpp"
#include "cpu_backends.hpp"

namespace warpaes::test {
namespace {

class CpuModes : public testing::TestWithParam<std::tuple<NamedBackend, Mode, Direction>> {};

/// Returns lengths on both sides of every boundary where a kernel changes its step: the 1 to 32 blocks of an unrolled
/// step for any vector width, several such steps, and the 256 blocks that share a correction in CTR.
std::vector<std::uint64_t> lengths_for(Mode mode) {
    std::vector<std::uint64_t> blocks;
    for (std::uint64_t n = 0; n <= 70; ++n) blocks.push_back(n);
    for (const std::uint64_t n : {95, 96, 97, 127, 128, 129, 255, 256, 257, 511, 512, 513}) blocks.push_back(n);

    std::vector<std::uint64_t> lengths;
    for (const std::uint64_t n : blocks) {
        if (needs_whole_blocks(mode)) {
            lengths.push_back(16 * n);
        } else if (mode == Mode::cfb1) {
            if (n <= 18) {
                for (const std::uint64_t bits : {0, 1, 5, 7, 8, 9, 63, 127}) lengths.push_back(128 * n + bits);
            }
        } else if (mode != Mode::cfb8 || n <= 70) {
            for (const std::uint64_t extra : {0, 1, 7, 15}) lengths.push_back(16 * n + extra);
        }
    }
    return lengths;
}

TEST_P(CpuModes, AgreesWithLibcrypto) {
    const auto [named, mode, direction] = GetParam();
    if (!named.backend->usable()) GTEST_SKIP() << why_not(named);
    const auto lane = named.backend->open_lane(-1, 0);
    const auto lengths = lengths_for(mode);
    const Bytes input = random_bytes(16 * 514, 1);
    std::uint32_t seed = 2;
    for (const std::uint64_t length : lengths) {
        for (const std::size_t key_length : key_lengths) {
            const Bytes key = random_bytes(key_length, ++seed), chain = random_bytes(16, ++seed);
            const std::size_t shift = seed % 17, other_shift = seed % 13;
            check_run(*lane, mode, direction, key, chain, input, length, {shift, other_shift, false});
            check_run(*lane, mode, direction, key, chain, input, length, {shift, other_shift, true});
            if (HasFailure()) return;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(All, CpuModes,
                         testing::Combine(testing::ValuesIn(cpu_backends()),
                                          testing::Values(Mode::ecb, Mode::cbc, Mode::cfb128, Mode::cfb8, Mode::cfb1,
                                                          Mode::ofb, Mode::ctr),
                                          testing::Values(Direction::encrypt, Direction::decrypt)),
                         [](const auto& info) {
                             return std::string(std::get<0>(info.param).label) + "_" +
                                    mode_name(std::get<1>(info.param)) +
                                    (std::get<2>(info.param) == Direction::encrypt ? "_encrypt" : "_decrypt");
                         });

class CpuCounter : public testing::TestWithParam<NamedBackend> {
protected:
    void SetUp() override {
        if (!GetParam().backend->usable()) GTEST_SKIP() << why_not(GetParam());
        lane_ = GetParam().backend->open_lane(-1, 0);
    }
    void check(const Bytes& counter, std::uint64_t length, const Bytes& input) {
        const Bytes key = random_bytes(key_lengths[turn_ % 3], turn_);
        const bool in_place = turn_ % 2 != 0;
        check_run(*lane_, Mode::ctr, Direction::encrypt, key, counter, input, length, {turn_ % 5, turn_ % 7, in_place});
        ++turn_;
    }
    std::unique_ptr<Lane> lane_;
    std::uint32_t turn_ = 0;
};

/// Returns a counter that carries out of byte `byte` after `blocks` blocks; if `byte` is 0, a counter that wraps at
/// 2^128.
Bytes counter_before_carry(std::size_t byte, std::uint64_t blocks) {
    Bytes counter = random_bytes(16, 7);
    if (byte != 0) counter[byte - 1] = 0x3c;
    std::fill(counter.begin() + static_cast<std::ptrdiff_t>(byte), counter.end(), std::uint8_t{0xff});
    const std::uint64_t back = blocks - 1;
    counter[15] = static_cast<std::uint8_t>(counter[15] - (back & 0xff));
    if (byte < 15) counter[14] = static_cast<std::uint8_t>(counter[14] - (back >> 8));
    return counter;
}

TEST_P(CpuCounter, CarriesIntoEveryByteAndWrapsAround) {
    const Bytes input = random_bytes(40000, 8);
    for (std::size_t byte = 0; byte < 16; ++byte) {
        for (const std::uint64_t before : {1, 2, 3, 4, 5, 15, 16, 31, 32, 33, 200}) {
            const Bytes counter = counter_before_carry(byte, before);
            for (const std::uint64_t length : {16u, 33u, 512u, 1000u, 4096u, 16383u, 16384u, 16385u, 40000u}) {
                check(counter, length, input);
                if (HasFailure()) return;
            }
        }
    }
}

TEST_P(CpuCounter, CrossesGroupsOf256AndOf65536Blocks) {
    constexpr std::uint64_t blocks = 65536;
    const Bytes input = random_bytes(16 * (2 * blocks + 3), 9);
    const Block base = to_block(random_bytes(16, 10));
    Block aligned = base;
    aligned[14] = aligned[15] = 0;
    for (const std::uint64_t start : {0u, 1u, 3u, 4u, 255u, 256u, 257u, 511u, 32770u, 65279u, 65280u, 65535u}) {
        const Block first = add(aligned, start);
        const Bytes counter(first.begin(), first.end());
        for (const std::uint64_t length : {16 * blocks - 16, 16 * blocks, 16 * blocks + 5, 32 * blocks + 48}) {
            check(counter, length, input);
            if (HasFailure()) return;
        }
    }
}

TEST_P(CpuCounter, OfTextBeyondTheCaches) {
    const Bytes input = random_bytes(150'000, 11);
    for (std::uint32_t shift = 0; shift < 64; shift += shift % 16 == 15 || shift % 16 == 0 ? 1 : 7) {
        const Bytes counter = counter_before_carry(2 * (shift % 8), 1 + 97 * shift);
        for (const std::uint64_t length : {0u, 1u, 16u, 63u, 16384u, 40000u, 65600u, 150000u}) {
            check_run(*lane_, Mode::ctr, Direction::encrypt, random_bytes(key_lengths[shift % 3], shift), counter,
                      input, length, {shift / 3, shift, false}, true);
            if (HasFailure()) return;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(All, CpuCounter, testing::ValuesIn(cpu_backends()),
                         [](const auto& info) { return std::string(info.param.label); });

/// Maps the same memory `windows` times at consecutive addresses.
class RepeatedMemory {
public:
    RepeatedMemory(std::size_t window, std::size_t windows) : bytes_(window * windows) {
        const int fd = memfd_create("warpaes-test", 0);
        if (fd < 0 || ftruncate(fd, static_cast<off_t>(window)) != 0) throw std::runtime_error("memfd");
        void* const base = mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (base == MAP_FAILED) throw std::runtime_error("mmap");
        data_ = static_cast<std::uint8_t*>(base);
        for (std::size_t i = 0; i < windows; ++i) {
            if (mmap(data_ + i * window, window, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED) {
                throw std::runtime_error("mmap");
            }
        }
        close(fd);
    }
    RepeatedMemory(const RepeatedMemory&) = delete;
    RepeatedMemory& operator=(const RepeatedMemory&) = delete;
    ~RepeatedMemory() { munmap(data_, bytes_); }
    std::uint8_t* data() const { return data_; }

private:
    std::uint8_t* data_;
    std::size_t bytes_;
};

class CpuLength : public testing::TestWithParam<NamedBackend> {};

// EVP accepts lengths as int, but a run can be longer. The test maps more than 2 GiB of input and as much output, each
// to only 8 MiB of memory. After the run, the memory of the output contains the run's last 8 MiB.
TEST_P(CpuLength, MayExceedTheLargestInt) {
    if (!GetParam().backend->usable()) GTEST_SKIP() << why_not(GetParam());
    constexpr std::size_t window = std::size_t{8} << 20, windows = 257;
    static_assert(window * windows > (std::size_t{1} << 31));
    const RepeatedMemory in(window, windows), out(window, windows);
    const Bytes message = random_bytes(window, 11), key_bytes = random_bytes(16, 12), chain = random_bytes(16, 13);
    std::copy(message.begin(), message.end(), in.data());
    const ExpandedKey key(key_bytes);
    const Block first = to_block(chain);
    GetParam().backend->open_lane(-1, 0)->run(
        stretch_of(Mode::ctr, Direction::encrypt, key, first, in.data(), out.data(), window * windows));
    const Block last = add(to_block(chain), (windows - 1) * (window / 16));
    const Bytes expected = *oracle::evp("CTR", true, key_bytes, Bytes(last.begin(), last.end()), message);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), out.data()));
}

INSTANTIATE_TEST_SUITE_P(All, CpuLength, testing::ValuesIn(std::vector{cpu_backends()[0], cpu_backends()[1]}),
                         [](const auto& info) { return std::string(info.param.label); });

}  // namespace
}  // namespace warpaes::test
