// Device memory and page-locked memory, allocated through the C ABI.
#pragma once

#include <gtest/gtest.h>

#include "abi_batch.hpp"

namespace warpaes::test {

/// Memory of one device, or page-locked memory, which a GPU accesses directly.
class DeviceMemory final : public BatchMemory {
public:
    DeviceMemory(const AbiEngine& engine, int device, warpaes_memory kind = WARPAES_MEMORY_DEVICE)
        : engine_(engine.get()), device_(device), kind_(kind) {}
    std::uint8_t* allocate(std::size_t bytes) override {
        void* memory = nullptr;
        EXPECT_EQ(warpaes_alloc(engine_, kind_, device_, bytes, &memory), WARPAES_OK) << warpaes_last_error();
        return static_cast<std::uint8_t*>(memory);
    }
    void release(std::uint8_t* memory, std::size_t) noexcept override { warpaes_free(engine_, memory); }
    void write(std::uint8_t* to, std::span<const std::uint8_t> from) override {
        EXPECT_EQ(warpaes_copy(engine_, to, from.data(), from.size()), WARPAES_OK) << warpaes_last_error();
    }
    void read(std::span<std::uint8_t> to, const std::uint8_t* from) override {
        EXPECT_EQ(warpaes_copy(engine_, to.data(), from, to.size()), WARPAES_OK) << warpaes_last_error();
    }

private:
    warpaes_engine* engine_;
    int device_;
    warpaes_memory kind_;
};

/// Returns the number of usable devices.
inline int devices() {
    int n = 0;
    for (std::size_t i = 0; i < warpaes_backend_count(); ++i) {
        warpaes_backend_info info = {};
        info.struct_size = sizeof info;
        if (warpaes_backend_query(i, &info) == WARPAES_OK && info.usable != 0 && info.device >= 0) ++n;
    }
    return n;
}

}  // namespace warpaes::test
