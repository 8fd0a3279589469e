// Tests readers and writers with buffers in device memory, on every CUDA device or on the simulated device.
#include <gtest/gtest.h>

#include <algorithm>

#include "stream_support.hpp"

namespace stream_tests {
namespace {

class DeviceStreams : public testing::TestWithParam<std::int32_t> {
protected:
    static constexpr std::size_t guard = 64;

    /// The caller does not request the GPU. The engine chooses it because of the device memory.
    void SetUp() override { engine_ = small_chunks("auto"); }

    struct Free {
        warpaes_engine* engine;
        void operator()(std::uint8_t* pointer) const { warpaes_free(engine, pointer); }
    };
    using Memory = std::unique_ptr<std::uint8_t, Free>;
    Memory on_device(const Bytes& bytes) {
        void* pointer = nullptr;
        EXPECT_EQ(warpaes_alloc(engine_.get(), WARPAES_MEMORY_DEVICE, GetParam(), bytes.size(), &pointer), WARPAES_OK)
            << warpaes_last_error();
        EXPECT_EQ(warpaes_copy(engine_.get(), pointer, bytes.data(), bytes.size()), WARPAES_OK);
        return {static_cast<std::uint8_t*>(pointer), {engine_.get()}};
    }
    Bytes from_device(const Memory& memory, std::size_t bytes) {
        Bytes host(bytes);
        EXPECT_EQ(warpaes_copy(engine_.get(), host.data(), memory.get(), bytes), WARPAES_OK);
        return host;
    }
    /// Reads into device memory and returns the `length` bytes that were stored there. Checks that the surrounding
    /// bytes are unchanged.
    Bytes read(const Reader& reader, std::uint64_t offset, std::size_t length, std::size_t misalignment,
               warpaes_status* status, std::uint64_t* got) {
        const Bytes poison = random_.bytes(length + misalignment + 2 * guard);
        const Memory memory = on_device(poison);
        const std::size_t begin = guard + misalignment;
        *status = warpaes_reader_read(reader.get(), offset, memory.get() + begin, length, got);
        const Bytes all = from_device(memory, poison.size());
        const auto first = static_cast<std::ptrdiff_t>(begin), end = first + static_cast<std::ptrdiff_t>(length);
        EXPECT_TRUE(std::equal(all.begin(), all.begin() + first, poison.begin())) << "wrote before its output";
        EXPECT_TRUE(std::equal(all.begin() + end, all.end(), poison.begin() + end)) << "wrote after its output";
        return {all.begin() + first, all.begin() + end};
    }

    Random random_{21};
    Engine engine_;
};

TEST_P(DeviceStreams, AnyRangeIntoDeviceMemory) {
    for (const SegmentFormat& format : oracle::segment_formats()) {
        const TestFile file(format, format.first_text() + 9 * format.text() + 5);
        const Memory in_device = on_device(file.file);
        warpaes_source device_source = memory_source(file.file);
        device_source.memory = in_device.get();
        Store store(file.file);
        for (const warpaes_source& source : {memory_source(file.file), device_source, store.source()}) {
            const Reader reader = open_reader(engine_, source, file.keyset, file.aad);
            ASSERT_NE(reader, nullptr);
            for (int i = 0; i < (abi_tests::simulated() ? 4 : 40); ++i) {
                const std::size_t offset = i == 0 ? 0 : random_.below(file.text.size());
                const std::size_t length = i == 0 ? file.text.size() : 1 + random_.below(file.text.size() - offset);
                SCOPED_TRACE(format.name + " " + std::to_string(offset) + " + " + std::to_string(length));
                warpaes_status status = WARPAES_OK;
                std::uint64_t got = 0;
                const Bytes output = read(reader, offset, length, random_.below(17), &status, &got);
                EXPECT_EQ(status, WARPAES_OK) << warpaes_last_error();
                EXPECT_EQ(got, length);
                EXPECT_TRUE(file.is_the_text(output, offset));
            }
        }
    }
}

TEST_P(DeviceStreams, DeviceMemoryIsWipedAfterAnError) {
    for (const SegmentFormat& format : oracle::segment_formats()) {
        SCOPED_TRACE(format.name);
        const TestFile file(format, format.first_text() + 5 * format.text() + 5);
        Bytes altered = file.file;
        altered[format.begin(3) + 1] ^= 4;
        const Reader reader = open_reader(engine_, memory_source(altered), file.keyset, file.aad);
        ASSERT_NE(reader, nullptr);
        const std::size_t begin = format.first_text() + 2 * format.text();  // the start of the altered segment
        for (const auto& [from, length] : {std::pair{std::size_t{0}, file.text.size()},
                                           {begin, format.text()},
                                           {begin - 1, std::size_t{3}},
                                           {begin + 1, 2 * format.text()}}) {
            warpaes_status status = WARPAES_OK;
            std::uint64_t got = 9;
            const Bytes output = read(reader, from, length, 3, &status, &got);
            EXPECT_EQ(status, WARPAES_ERROR_AUTHENTICATION);
            EXPECT_EQ(got, 0U);
            EXPECT_TRUE(output == Bytes(length)) << "not wiped, from " << from;
        }
    }
}

TEST_P(DeviceStreams, WriterTakesDeviceMemory) {
    for (const SegmentFormat& format : oracle::segment_formats()) {
        const Bytes key = random_.bytes(32), aad = random_.bytes(5), text = random_.bytes(60001);
        const Memory memory = on_device(text);
        for (const std::size_t piece : {std::size_t{9000}, std::size_t{17001}, text.size()}) {
            SCOPED_TRACE(format.name + " in pieces of " + std::to_string(piece));
            Store store;
            const Writer writer = open_writer(engine_, store.sink(), make_keyset(format, key), aad);
            for (std::size_t at = 0; at < text.size(); at += piece) {
                ASSERT_EQ(warpaes_writer_write(writer.get(), memory.get() + at, std::min(piece, text.size() - at)),
                          WARPAES_OK)
                    << warpaes_last_error();
            }
            ASSERT_EQ(warpaes_writer_finish(writer.get()), WARPAES_OK);
            ASSERT_GE(store.bytes().size(), format.header_bytes());
            const Bytes header(store.bytes().begin(),
                               store.bytes().begin() + static_cast<std::ptrdiff_t>(format.header_bytes()));
            EXPECT_TRUE(oracle::seal_segments(format, key, aad, text, header) == store.bytes());
        }
    }
}

/// If the caller requests a CPU backend, device memory is refused, as for messages.
TEST_P(DeviceStreams, ACpuThatWasAskedForCannotReachIt) {
    const Engine cpu = small_chunks("libcrypto");
    const TestFile file(oracle::segment_formats().front(), 1000);
    const Reader reader = open_reader(cpu, memory_source(file.file), file.keyset, file.aad);
    ASSERT_NE(reader, nullptr);
    warpaes_status status = WARPAES_OK;
    std::uint64_t got = 9;
    read(reader, 0, 1000, 0, &status, &got);
    EXPECT_EQ(status, WARPAES_ERROR_BACKEND);
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(DeviceStreams);
INSTANTIATE_TEST_SUITE_P(cuda, DeviceStreams, testing::ValuesIn(abi_tests::usable_devices()));

}  // namespace
}  // namespace stream_tests
