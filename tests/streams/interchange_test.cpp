// Tests that readers open the output of warpaes_file_run, and that warpaes_file_run opens the output of writers.
#include <gtest/gtest.h>

#include "stream_support.hpp"

namespace stream_tests {
namespace {

/// Returns only a few lengths, because each file needs an fsync.
std::vector<std::size_t> some_lengths(const SegmentFormat& format) {
    return {0, format.first_text(), format.first_text() + 3 * format.text() + 5};
}

class InterchangeTest : public StreamTest {
protected:
    void run(const SegmentFormat& format, warpaes_direction direction, const std::string& input,
             const std::string& output) {
        const Keyset keyset = make_keyset(format, key_);
        warpaes_file_job job = WARPAES_FILE_JOB_INIT;
        job.direction = direction;
        job.format = WARPAES_FORMAT_STREAMING_AEAD;
        job.flags = WARPAES_FILE_OVERWRITE;
        job.input_path = input.c_str();
        job.output_path = output.c_str();
        job.keyset = keyset.get();
        job.aad = aad_.data();
        job.aad_len = aad_.size();
        ASSERT_EQ(warpaes_file_run(engine_.get(), &job, nullptr), WARPAES_OK) << warpaes_last_error();
    }

    const Folder folder_;
    const std::string plain_ = folder_ / "plain", sealed_ = folder_ / "sealed";
    const Bytes key_ = Random(1).bytes(32), aad_ = Random(2).bytes(13);
};

TEST_P(InterchangeTest, ReadersOpenWhatAJobWrote) {
    for (const SegmentFormat& format : oracle::segment_formats()) {
        for (const std::size_t bytes : some_lengths(format)) {
            SCOPED_TRACE(format.name + " " + std::to_string(bytes));
            const Bytes text = Random(bytes).bytes(bytes);
            write_file(plain_, text);
            run(format, WARPAES_ENCRYPT, plain_, sealed_);
            const Reader reader = open_reader(engine_, path_source(sealed_), make_keyset(format, key_), aad_);
            ASSERT_NE(reader, nullptr);
            EXPECT_TRUE(read(reader, 0, bytes + 1) == text);
        }
    }
}

TEST_P(InterchangeTest, JobsOpenWhatAWriterWrote) {
    for (const SegmentFormat& format : oracle::segment_formats()) {
        for (const std::size_t bytes : some_lengths(format)) {
            SCOPED_TRACE(format.name + " " + std::to_string(bytes));
            const Bytes text = Random(bytes).bytes(bytes);
            const Writer writer =
                open_writer(engine_, path_sink(sealed_, WARPAES_FILE_OVERWRITE), make_keyset(format, key_), aad_);
            ASSERT_EQ(warpaes_writer_write(writer.get(), text.data(), text.size()), WARPAES_OK);
            ASSERT_EQ(warpaes_writer_finish(writer.get()), WARPAES_OK);
            run(format, WARPAES_DECRYPT, sealed_, plain_);
            EXPECT_TRUE(read_file(plain_) == text);
        }
    }
}

WARPAES_FOR_EVERY_BACKEND(InterchangeTest);

}  // namespace
}  // namespace stream_tests
