// Shared code for tests whose buffers lie in the memory of a CUDA device or of the simulated device.
#pragma once

#include <algorithm>

#include "support.hpp"

namespace abi_tests {

class DeviceTest : public testing::TestWithParam<std::int32_t> {
protected:
    static constexpr std::size_t guard = 64;

    void SetUp() override {
        engine_ = make_engine("cuda");
        ASSERT_NE(engine_, nullptr);
        key_bytes_ = random_.bytes(32);
        key_ = make_key(key_bytes_);
        iv_ = random_.bytes(16);
    }

    struct Free {
        warpaes_engine* engine;
        void operator()(std::uint8_t* pointer) const { warpaes_free(engine, pointer); }
    };
    /// A buffer of `size` bytes in poisoned device memory, at `misalignment`, with guards around it.
    struct Buffer {
        std::unique_ptr<std::uint8_t, Free> memory;
        Bytes poison;
        std::size_t start;
        std::uint8_t* data() const { return memory.get() + start; }
    };
    Buffer allocate(std::size_t size, std::size_t misalignment = 0) {
        void* pointer = nullptr;
        const std::size_t whole = size + 2 * guard + misalignment;
        EXPECT_EQ(warpaes_alloc(engine_.get(), WARPAES_MEMORY_DEVICE, GetParam(), whole, &pointer), WARPAES_OK)
            << warpaes_last_error();
        Buffer buffer{
            {static_cast<std::uint8_t*>(pointer), {engine_.get()}}, random_.bytes(whole), guard + misalignment};
        copy(pointer, buffer.poison.data(), whole);
        return buffer;
    }
    Buffer on_device(const Bytes& bytes, std::size_t misalignment = 0) {
        Buffer buffer = allocate(bytes.size(), misalignment);
        copy(buffer.data(), bytes.data(), bytes.size());
        return buffer;
    }
    void copy(void* to, const void* from, std::size_t bytes) {
        ASSERT_EQ(warpaes_copy(engine_.get(), to, from, bytes), WARPAES_OK) << warpaes_last_error();
    }
    /// Returns the first `written` bytes and checks that no other byte has changed.
    Bytes read(const Buffer& buffer, std::size_t written) {
        Bytes all(buffer.poison.size());
        copy(all.data(), buffer.memory.get(), all.size());
        const auto first = static_cast<std::ptrdiff_t>(buffer.start);
        const auto last = first + static_cast<std::ptrdiff_t>(written);
        EXPECT_TRUE(std::equal(all.begin(), all.begin() + first, buffer.poison.begin())) << "wrote before its output";
        EXPECT_TRUE(std::equal(all.begin() + last, all.end(), buffer.poison.begin() + last))
            << "wrote after its output";
        return {all.begin() + first, all.begin() + last};
    }

    void run(Call& message) {
        ASSERT_EQ(abi_tests::crypt(engine_, message), WARPAES_OK) << warpaes_last_error();
        ASSERT_STREQ(message.result.backend, "cuda");
        ASSERT_EQ(message.result.device, GetParam());
    }

    Random random_{13};
    Engine engine_;
    Bytes key_bytes_;
    Key key_;
    Bytes iv_;
};

/// On a machine without a GPU, the suite is empty.
#define WARPAES_FOR_EVERY_DEVICE(Suite)                   \
    GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Suite); \
    INSTANTIATE_TEST_SUITE_P(cuda, Suite, testing::ValuesIn(abi_tests::usable_devices()))

}  // namespace abi_tests
