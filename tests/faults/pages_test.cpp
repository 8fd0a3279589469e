// Many threads write to a file in memory. Whole pages are copied to a mapping, and the rest is written with pwrite().
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/statfs.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <numeric>
#include <thread>
#include <vector>

#include "../why_skipped.hpp"
#include "base/error.hpp"
#include "engine/pipeline/file.hpp"
#include "faulty_os.hpp"
#include "folder.hpp"

namespace faults {
namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr unsigned writers = 4;

class Pages : public testing::Test {
protected:
    void SetUp() override {
        struct statfs status {};
        if (::statfs("/dev/shm", &status) != 0 || status.f_type != TMPFS_MAGIC) {
            GTEST_SKIP() << "no tmpfs at /dev/shm; runs where there is one";
        }
        reset();
    }
    void TearDown() override { reset(); }

    /// Divides the file into pieces that end `over` bytes past a page boundary and writes each piece in a separate
    /// thread.
    [[nodiscard]] Bytes written(std::size_t pieces, std::size_t over, std::uint64_t* least_piece = nullptr) {
        const oracle::Folder folder("/dev/shm");
        warpaes::FileSink sink(folder / "out", false, nullptr);
        const std::uint64_t least = sink.prepare_for(writers);
        if (least_piece != nullptr) *least_piece = least;
        piece_ = (std::size_t{4} << 20) + over;
        text_.resize(pieces * piece_ + 5);
        std::iota(text_.begin(), text_.end(), std::uint8_t{1});
        for (std::size_t i = 0; i < text_.size(); i += 509) text_[i] = static_cast<std::uint8_t>(i >> 12);
        {
            std::vector<std::jthread> threads;
            for (std::size_t at = 0; at < text_.size(); at += piece_) {
                const std::span piece = std::span(text_).subspan(at, std::min(piece_, text_.size() - at));
                threads.emplace_back([&sink, at, piece] { sink.write(at, piece); });
            }
        }
        EXPECT_EQ(sink.bytes_written(), text_.size());
        sink.commit();
        std::ifstream file(folder / "out", std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }

    std::size_t piece_ = 0;
    Bytes text_;
};

TEST_F(Pages, PiecesMayBeginAndEndInAPage) {
    for (const std::size_t over : {0U, 1U, 40U, 4095U}) {
        reset();
        std::uint64_t least = 0;
        EXPECT_EQ(written(3, over, &least), text_) << over;
        EXPECT_GE(least, std::uint64_t{1} << 20);
        EXPECT_EQ(counts()["copy_to_pages"], 3U) << over << ": the last five bytes have no page";
    }
}

TEST_F(Pages, WhatCannotBeMappedIsWritten) {
    for (const int error : {ENOMEM, EINVAL, ENOSPC}) {
        reset();
        inject({.call = "copy_to_pages", .effect = Effect::fail, .error = error, .times = for_ever});
        EXPECT_EQ(written(2, 77), text_);
        EXPECT_TRUE(happened());
    }
    reset();
    inject({.call = "fstatfs", .effect = Effect::fail, .error = EIO});
    EXPECT_EQ(written(2, 77), text_);
    EXPECT_EQ(counts()["copy_to_pages"], 0U) << "a writer that does not know where the file is does not map it";
}

TEST_F(Pages, AFullFileSystemIsAnErrorAndNoSignal) {
    const oracle::Folder folder("/dev/shm");
    warpaes::FileSink sink(folder / "out", false, nullptr);
    ASSERT_NE(sink.prepare_for(writers), 0U);
    const Bytes piece(std::size_t{4} << 20, 7);
    inject({.call = "copy_to_pages", .effect = Effect::fail, .error = ENOSPC});
    // The file system has space for the last page, but not for the pages before it.
    inject({.call = "pwrite", .nth = 2, .effect = Effect::fail, .error = ENOSPC, .times = for_ever});
    try {
        sink.write(0, piece);
        ADD_FAILURE() << "nothing was refused";
    } catch (const warpaes::Error& e) {
        EXPECT_EQ(e.status(), WARPAES_ERROR_WRITE);
        EXPECT_NE(std::string(e.what()).find("free some space"), std::string::npos) << e.what();
    }
}

TEST_F(Pages, FewThreadsWriteAsEver) {
    const oracle::Folder folder("/dev/shm");
    warpaes::FileSink few(folder / "few", false, nullptr);
    EXPECT_EQ(few.prepare_for(writers - 1), 0U);
    EXPECT_EQ(counts()["fstatfs"], 0U);
    few.write(0, Bytes(std::size_t{4} << 20, 7));
    EXPECT_EQ(counts()["copy_to_pages"], 0U);
}

}  // namespace
}  // namespace faults
