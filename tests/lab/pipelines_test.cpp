// Tests the lab's methods of moving a file, and the files that they use.
#include "lab/cpu/pipelines.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <system_error>

#include "folder.hpp"
#include "lab/reference.hpp"

namespace {

using namespace lab;

class Pipelines : public testing::Test {
protected:
    /// Runs both pipelines with work that depends on the order of the chunks, and compares the outputs.
    void expect_right(std::size_t bytes, std::size_t chunk_bytes, std::size_t buffers) {
        const std::string input = folder_ / "input", output = folder_ / "output";
        const auto text = random_bytes(bytes, bytes);
        write_file(input, text);
        std::vector<std::uint8_t> expected = text;
        for (std::size_t i = 0; i < bytes; ++i) {
            expected[i] = static_cast<std::uint8_t>(expected[i] ^ (i / chunk_bytes + 1));
        }
        for (const bool three : {false, true}) {
            std::size_t count = 0;
            const ChunkWork work = [&](std::span<std::uint8_t> chunk) {
                ++count;
                for (auto& byte : chunk) byte = static_cast<std::uint8_t>(byte ^ count);
            };
            std::filesystem::remove(output);
            const File from = File::read_only(input), to = File::read_write(output);
            if (three) {
                run_by_three_threads(from, to, chunk_bytes, buffers, work);
            } else {
                run_by_one_thread(from, to, chunk_bytes, work);
            }
            EXPECT_EQ(read_file(output), expected) << bytes << " " << chunk_bytes << " " << three;
        }
    }
    oracle::Folder folder_;
};

TEST_F(Pipelines, EveryLengthRoundAChunk) {
    for (const std::size_t bytes : {0u, 1u, 63u, 64u, 65u, 127u, 128u, 129u, 1000u}) expect_right(bytes, 64, 2);
    for (const std::size_t buffers : {1u, 2u, 3u, 8u}) expect_right(100'000, 999, buffers);
}

TEST_F(Pipelines, AFailureAnywhereEndsAllThree) {
    write_file(folder_ / "input", random_bytes(10'000, 1));
    const File input = File::read_only(folder_ / "input"), output = File::read_write(folder_ / "output");
    int chunks = 0;
    const ChunkWork fails = [&](std::span<std::uint8_t>) {
        if (++chunks == 3) throw std::runtime_error("third");
    };
    EXPECT_THROW(run_by_three_threads(input, output, 100, 2, fails), std::runtime_error);
    const ChunkWork nothing = [](std::span<std::uint8_t>) {};
    // The output is not open for writing.
    EXPECT_THROW(run_by_three_threads(input, input, 100, 2, nothing), std::system_error);
    EXPECT_THROW(run_by_three_threads(input, output, 100, 0, nothing), std::invalid_argument);
    EXPECT_THROW(run_by_three_threads(input, output, 0, 2, nothing), std::invalid_argument);
    EXPECT_THROW(run_by_one_thread(input, output, 0, nothing), std::invalid_argument);
}

TEST_F(Pipelines, FilesSayWhatFails) {
    EXPECT_THROW(File::read_only(folder_ / "absent"), std::system_error);
    EXPECT_THROW(File::read_write(folder_ / "absent" + "/file"), std::system_error);
    write_file(folder_ / "file", random_bytes(10, 1));
    write_file(folder_ / "file", random_bytes(4, 2));
    EXPECT_EQ(read_file(folder_ / "file"), random_bytes(4, 2));
    std::vector<std::uint8_t> more(5);
    EXPECT_THROW(File::read_only(folder_ / "file").read(0, more), std::system_error);
    EXPECT_GT(free_bytes(folder_.path()), 0u);
}

}  // namespace
