// Tests messages whose buffers lie in device memory or page-locked memory, on every CUDA device or on the simulated
// device.
#include "device.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "evp_oracle.hpp"

namespace abi_tests {
namespace {

using Device = DeviceTest;

TEST_P(Device, WhereverTheBuffersLie) {
    for (const ModeTraits& mode : all_modes()) {
        for (const std::size_t length : {1U, 16U, 33U, 1024U, 4097U, 8208U}) {
            if (mode.whole_blocks && length % 16 != 0) continue;
            for (const warpaes_direction direction : directions) {
                SCOPED_TRACE(name_of(mode.mode, direction, 32) + " " + std::to_string(length));
                const Bytes input = random_.bytes(length);
                const Bytes want = expected(mode.mode, direction, key_bytes_, iv_, input);
                const Buffer in = on_device(input, random_.below(17));
                const Buffer out = allocate(length, random_.below(17));
                Call message = make_message(mode.mode, direction, key_, iv_, in.data(), length, out.data(), length);
                run(message);
                EXPECT_TRUE(read(out, length) == want) << "device to device";

                PoisonedBuffer host(length);
                message = make_message(mode.mode, direction, key_, iv_, in.data(), length, host.data(), length);
                run(message);
                EXPECT_TRUE(host.bytes(length) == want) << "device to host";
                EXPECT_TRUE(host.intact_after(length));

                const Buffer from_host = allocate(length, 3);
                message = make_message(mode.mode, direction, key_, iv_, input.data(), length, from_host.data(), length);
                run(message);
                EXPECT_TRUE(read(from_host, length) == want) << "host to device";

                message = make_message(mode.mode, direction, key_, iv_, in.data(), length, in.data(), length);
                run(message);
                EXPECT_TRUE(read(in, length) == want) << "in place";
            }
        }
    }
}

TEST_P(Device, CcmWhereverItsPartsLie) {
    const Bytes nonce(iv_.begin(), iv_.begin() + 12);
    for (const std::size_t aad_bytes : {0U, 1U, 40U, 5000U}) {
        const Bytes text = random_.bytes(1000), aad = random_.bytes(aad_bytes);
        const Bytes sealed = oracle::evp_ccm(key_bytes_, nonce, text, aad, 16);
        const Buffer in = on_device(text, 3), out = allocate(text.size(), 5), device_aad = on_device(aad, 7);
        const Buffer device_tag = allocate(16, 1);
        Bytes tag(16);
        Call m =
            make_message(WARPAES_CCM, WARPAES_ENCRYPT, key_, nonce, in.data(), text.size(), out.data(), text.size());
        m.aad_len = aad_bytes;
        m.tag_len = 16;
        for (const bool on_device : {false, true}) {
            SCOPED_TRACE(std::to_string(aad_bytes) + (on_device ? " bytes of associated data there" : " bytes here"));
            m.direction = WARPAES_ENCRYPT;
            m.input = in.data();
            m.output = out.data();
            m.aad = on_device ? device_aad.data() : aad.data();
            m.tag = on_device ? device_tag.data() : tag.data();
            run(m);
            Bytes both = read(out, text.size()), its_tag = on_device ? read(device_tag, 16) : tag;
            both.insert(both.end(), its_tag.begin(), its_tag.end());
            EXPECT_TRUE(both == sealed);
            m.direction = WARPAES_DECRYPT;
            m.input = out.data();
            run(m);  // in place
            EXPECT_TRUE(read(out, text.size()) == text);
        }
    }
}

TEST_P(Device, PageLockedMemory) {
    for (const std::size_t length : {std::size_t{4096}, std::size_t{100000}}) {
        void* memory = nullptr;
        ASSERT_EQ(warpaes_alloc(engine_.get(), WARPAES_MEMORY_PAGE_LOCKED, 0, 2 * length, &memory), WARPAES_OK)
            << warpaes_last_error();
        auto* in = static_cast<std::uint8_t*>(memory);
        const Bytes input = random_.bytes(length);
        std::memcpy(in, input.data(), length);
        Call message = make_message(WARPAES_CTR, WARPAES_ENCRYPT, key_, iv_, in, length, in + length, length);
        ASSERT_EQ(crypt(engine_, message), WARPAES_OK) << warpaes_last_error();
        // Any device may process the message, because all devices are equally close to host memory.
        ASSERT_STREQ(message.result.backend, "cuda");
        EXPECT_TRUE(Bytes(in + length, in + 2 * length) ==
                    expected(WARPAES_CTR, WARPAES_ENCRYPT, key_bytes_, iv_, input));
        warpaes_free(engine_.get(), memory);
    }
}

TEST_P(Device, Ranges) {
    const Bytes input = random_.bytes(1024);
    const Buffer in = on_device(input, 5);
    for (const warpaes_mode mode : {WARPAES_ECB, WARPAES_CTR, WARPAES_CBC, WARPAES_CFB128, WARPAES_CFB8}) {
        const Bytes whole = expected(mode, WARPAES_DECRYPT, key_bytes_, iv_, input);
        for (int i = 0; i < 12; ++i) {
            const std::size_t offset = random_.below(1024);
            const std::size_t length = random_.below(1024 - offset + 1);
            const Buffer out = allocate(length, 1);
            Call message = make_message(mode, WARPAES_DECRYPT, key_, iv_, in.data(), 1024, out.data(), length);
            message.flags = WARPAES_RANGE;
            message.range_offset = offset;
            message.range_len = length;
            ASSERT_EQ(crypt(engine_, message), WARPAES_OK) << warpaes_last_error();
            const auto first = whole.begin() + static_cast<std::ptrdiff_t>(offset);
            EXPECT_TRUE(read(out, length) == Bytes(first, first + static_cast<std::ptrdiff_t>(length)))
                << traits(mode).name << " " << offset << " + " << length;
        }
    }
}

TEST_P(Device, Padding) {
    for (const warpaes_mode mode : {WARPAES_ECB, WARPAES_CBC}) {
        for (const std::size_t length : {0U, 1U, 16U, 31U, 1000U}) {
            const Bytes text = random_.bytes(length);
            const std::size_t padded_length = length / 16 * 16 + 16;
            const Buffer in = on_device(text);
            const Buffer out = allocate(padded_length, 7);
            Call message = make_message(mode, WARPAES_ENCRYPT, key_, iv_, in.data(), length, out.data(), padded_length);
            message.flags = WARPAES_PKCS7;
            run(message);
            const Bytes padded = read(out, padded_length);
            EXPECT_EQ(padded, oracle::evp(traits(mode).name, true, key_bytes_, iv_, text, true)) << length;
            message =
                make_message(mode, WARPAES_DECRYPT, key_, iv_, out.data(), padded_length, out.data(), padded_length);
            message.flags = WARPAES_PKCS7;
            run(message);
            ASSERT_EQ(message.result.output_len, length);
            Bytes back(length);
            copy(back.data(), out.data(), length);
            EXPECT_EQ(back, text);
        }
    }
    const Bytes bad = expected(WARPAES_CBC, WARPAES_ENCRYPT, key_bytes_, iv_, Bytes(64, 0));
    const Buffer in = on_device(bad);
    const Buffer out = allocate(64);
    Call message = make_message(WARPAES_CBC, WARPAES_DECRYPT, key_, iv_, in.data(), 64, out.data(), 64);
    message.flags = WARPAES_PKCS7;
    EXPECT_EQ(crypt(engine_, message), WARPAES_ERROR_PADDING);
    EXPECT_EQ(read(out, 64), Bytes(64, 0)) << "plaintext remains";
}

TEST_P(Device, ContextsInPieces) {
    for (const ModeTraits& mode : all_modes()) {
        for (const warpaes_direction direction : directions) {
            const Bytes input = random_.bytes(640);
            const Buffer in = on_device(input, 9);
            const Buffer out = allocate(input.size() + 16, 2);
            const Context context = make_context(engine_);
            const bool ecb = mode.mode == WARPAES_ECB;
            ASSERT_EQ(context_init(context.get(), mode.mode, direction, key_.get(), ecb ? nullptr : iv_.data(),
                                   ecb ? 0 : 16, 0),
                      WARPAES_OK);
            std::size_t total = 0;
            for (std::size_t at = 0; at < input.size();) {
                const std::size_t n = std::min(random_.below(150), input.size() - at);
                std::size_t written = 0;
                ASSERT_EQ(warpaes_context_update(context.get(), in.data() + at, n, out.data() + total,
                                                 input.size() + 16 - total, &written),
                          WARPAES_OK)
                    << warpaes_last_error();
                at += n;
                total += written;
            }
            EXPECT_TRUE(read(out, total) == expected(mode.mode, direction, key_bytes_, iv_, input))
                << name_of(mode.mode, direction, 32);
        }
    }
}

// Updates in place with any size: partial blocks and whole blocks. When decrypting with PKCS7, the context holds back
// the last block.
TEST_P(Device, ContextsInPlace) {
    const auto in_pieces = [&](warpaes_context* context, const Bytes& input, std::size_t most, std::size_t unit,
                               std::size_t room) {
        const Buffer memory = allocate(room, random_.below(17));
        Bytes all;
        for (std::size_t at = 0; at < input.size();) {
            const std::size_t n = std::min((1 + random_.below(most)) * unit, input.size() - at);
            std::size_t written = 0;
            copy(memory.data(), input.data() + at, n);
            EXPECT_EQ(warpaes_context_update(context, memory.data(), n, memory.data(), room, &written), WARPAES_OK)
                << warpaes_last_error();
            const Bytes piece = read(memory, std::max(n, written));
            all.insert(all.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(written));
            copy(memory.memory.get(), memory.poison.data(), memory.poison.size());
            at += n;
        }
        std::size_t written = 0;
        EXPECT_EQ(warpaes_context_final(context, memory.data(), room, &written), WARPAES_OK) << warpaes_last_error();
        const Bytes rest = read(memory, written);
        all.insert(all.end(), rest.begin(), rest.end());
        return all;
    };
    for (const std::size_t unit : {1U, 16U}) {
        for (const warpaes_direction direction : directions) {
            for (const ModeTraits& mode : all_modes()) {
                const Context context = make_context(engine_);
                const Bytes input = random_.bytes(640);
                const bool ecb = mode.mode == WARPAES_ECB;
                ASSERT_EQ(context_init(context.get(), mode.mode, direction, key_.get(), ecb ? nullptr : iv_.data(),
                                       ecb ? 0 : 16, 0),
                          WARPAES_OK);
                EXPECT_TRUE(in_pieces(context.get(), input, unit == 1 ? 150 : 9, unit, 700) ==
                            expected(mode.mode, direction, key_bytes_, iv_, input))
                    << name_of(mode.mode, direction, 32) << " " << unit;
            }
            for (const warpaes_mode mode : {WARPAES_ECB, WARPAES_CBC}) {
                for (const std::size_t length : {0U, 5U, 16U, 32U, 623U, 640U}) {
                    const Bytes text = random_.bytes(length);
                    const Bytes padded = *oracle::evp(traits(mode).name, true, key_bytes_, iv_, text, true);
                    const bool encrypt = direction == WARPAES_ENCRYPT;
                    const Context context = make_context(engine_);
                    ASSERT_EQ(context_init(context.get(), mode, direction, key_.get(),
                                           mode == WARPAES_ECB ? nullptr : iv_.data(), mode == WARPAES_ECB ? 0 : 16,
                                           WARPAES_PKCS7),
                              WARPAES_OK);
                    EXPECT_TRUE(in_pieces(context.get(), encrypt ? text : padded, unit == 1 ? 150 : 9, unit, 700) ==
                                (encrypt ? padded : text))
                        << name_of(mode, direction, 32) << ", padded, " << length << ", " << unit;
                }
            }
        }
    }
}

TEST_P(Device, Asynchronously) {
    for (const ModeTraits& mode : all_modes()) {
        for (const warpaes_direction direction : directions) {
            const Bytes input = random_.bytes(4096);
            const Buffer in = on_device(input);
            const Buffer out = allocate(input.size());
            Call message =
                make_message(mode.mode, direction, key_, iv_, in.data(), input.size(), out.data(), input.size());
            ASSERT_EQ(crypt_async(engine_, message), WARPAES_OK) << warpaes_last_error();
            EXPECT_EQ(message.result.output_len, input.size());
            EXPECT_STREQ(message.result.backend, "cuda");
            // The copies that `read` makes are ordered after all work on the default stream.
            EXPECT_TRUE(read(out, input.size()) == expected(mode.mode, direction, key_bytes_, iv_, input))
                << name_of(mode.mode, direction, 32);
        }
    }
    const Buffer in = on_device(Bytes(32, 1));
    const Buffer out = allocate(32);
    Call message = make_message(WARPAES_CBC, WARPAES_DECRYPT, key_, iv_, in.data(), 32, out.data(), 32);
    message.flags = WARPAES_PKCS7;
    EXPECT_EQ(crypt_async(engine_, message), WARPAES_ERROR_ARGUMENT);
    EXPECT_NE(std::string(warpaes_last_error()).find("flags"), std::string::npos) << warpaes_last_error();
    read(out, 0);
}

TEST_P(Device, OnlyCudaCanReachIt) {
    const Buffer in = on_device(Bytes(32, 1));
    const Buffer out = allocate(32);
    Call message = make_message(WARPAES_CTR, WARPAES_DECRYPT, key_, iv_, in.data(), 32, out.data(), 32);
    EXPECT_EQ(crypt(make_engine("libcrypto"), message), WARPAES_ERROR_BACKEND);
    EXPECT_NE(std::string(warpaes_last_error()).find("libcrypto"), std::string::npos) << warpaes_last_error();
    read(out, 0);
    EXPECT_EQ(crypt(make_engine("auto"), message), WARPAES_OK) << warpaes_last_error();
    EXPECT_STREQ(message.result.backend, "cuda");
    const Bytes want = expected(WARPAES_CTR, WARPAES_DECRYPT, key_bytes_, iv_, Bytes(32, 1));
    EXPECT_EQ(read(out, 32), want);

    // If only the input or only the output lies in device memory, the engine also chooses the GPU.
    const Bytes on_host(32, 1);
    Bytes to_host(32);
    const Buffer another = allocate(32);
    Call inwards = make_message(WARPAES_CTR, WARPAES_DECRYPT, key_, iv_, on_host.data(), 32, another.data(), 32);
    EXPECT_EQ(crypt(make_engine("auto"), inwards), WARPAES_OK) << warpaes_last_error();
    EXPECT_STREQ(inwards.result.backend, "cuda");
    EXPECT_EQ(read(another, 32), want);
    Call outwards = make_message(WARPAES_CTR, WARPAES_DECRYPT, key_, iv_, in.data(), 32, to_host.data(), 32);
    EXPECT_EQ(crypt(make_engine("auto"), outwards), WARPAES_OK) << warpaes_last_error();
    EXPECT_STREQ(outwards.result.backend, "cuda");
    EXPECT_EQ(to_host, want);
}

TEST_P(Device, XtsDataUnits) {
    const Bytes tweak_key_bytes = random_.bytes(32);
    const Key tweak_key = make_key(tweak_key_bytes);
    for (const auto& [unit, length] :
         {std::pair{512U, 8192U}, {4096U, 8192U}, {4096U, 9000U}, {520U, 5200U}, {48U, 1000U}, {4112U, 4112U}}) {
        for (const warpaes_direction direction : directions) {
            SCOPED_TRACE(std::to_string(length) + " in units of " + std::to_string(unit));
            const Bytes input = random_.bytes(length);
            const Bytes want = oracle::xts(direction == WARPAES_ENCRYPT, key_bytes_, tweak_key_bytes, iv_, unit, input);
            const auto message = [&, u = unit](const std::uint8_t* from, std::uint8_t* to, std::size_t bytes) {
                Call m = make_message(WARPAES_XTS, direction, key_, iv_, from, input.size(), to, bytes);
                m.tweak_key = tweak_key.get();
                m.data_unit_len = u;
                return m;
            };
            for (const std::size_t misalignment : {0U, 4U, 5U}) {
                const Buffer in = on_device(input, misalignment), out = allocate(length, 2 * misalignment);
                Call m = message(in.data(), out.data(), length);
                run(m);
                EXPECT_TRUE(read(out, length) == want) << misalignment;

                const Buffer part = allocate(unit);
                m = message(in.data(), part.data(), unit);
                m.flags = WARPAES_RANGE;
                m.range_offset = length == unit ? 0 : unit;
                m.range_len = unit;
                run(m);
                const auto first = want.begin() + static_cast<std::ptrdiff_t>(m.range_offset);
                EXPECT_TRUE(read(part, unit) == Bytes(first, first + unit)) << misalignment;

                const Buffer later = allocate(length);
                m = message(in.data(), later.data(), length);
                ASSERT_EQ(crypt_async(engine_, m), WARPAES_OK) << warpaes_last_error();
                EXPECT_TRUE(read(later, length) == want) << misalignment << ", asynchronously";

                m = message(in.data(), in.data(), length);
                run(m);
                EXPECT_TRUE(read(in, length) == want) << misalignment << ", in place";
            }
            PoisonedBuffer host(length);
            host.assign(input);
            const Buffer out = allocate(length);
            Call m = message(host.data(), out.data(), length);
            run(m);
            EXPECT_TRUE(read(out, length) == want) << "host to device";
        }
    }
}

TEST_P(Device, OverlapIsRefused) {
    const Buffer buffer = allocate(128);
    Call message = make_message(WARPAES_CTR, WARPAES_DECRYPT, key_, iv_, buffer.data(), 64, buffer.data() + 16, 64);
    EXPECT_EQ(crypt(engine_, message), WARPAES_ERROR_OVERLAP);
    read(buffer, 0);
}

TEST_P(Device, WrongAllocations) {
    void* pointer = nullptr;
    EXPECT_EQ(warpaes_alloc(nullptr, WARPAES_MEMORY_DEVICE, GetParam(), 16, &pointer), WARPAES_ERROR_ARGUMENT);
    EXPECT_EQ(warpaes_alloc(engine_.get(), WARPAES_MEMORY_DEVICE, GetParam(), 16, nullptr), WARPAES_ERROR_ARGUMENT);
    EXPECT_EQ(warpaes_alloc(engine_.get(), WARPAES_MEMORY_DEVICE, 4000, 16, &pointer), WARPAES_ERROR_BACKEND);
    EXPECT_EQ(warpaes_alloc(engine_.get(), WARPAES_MEMORY_DEVICE, -1, 16, &pointer), WARPAES_ERROR_BACKEND);
    EXPECT_EQ(warpaes_alloc(engine_.get(), WARPAES_MEMORY_DEVICE, GetParam(), std::size_t{1} << 60, &pointer),
              WARPAES_ERROR_DEVICE_MEMORY);
    EXPECT_EQ(pointer, nullptr);
    warpaes_free(engine_.get(), nullptr);
    // The device remains usable after a failure.
    const Buffer buffer = on_device(Bytes(16, 5));
    EXPECT_EQ(read(buffer, 16), Bytes(16, 5));
}

WARPAES_FOR_EVERY_DEVICE(Device);

}  // namespace
}  // namespace abi_tests
