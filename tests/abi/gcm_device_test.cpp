// Tests AES-GCM with buffers, associated data and tags in device memory, on every CUDA device or on the simulated
// device.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "device.hpp"
#include "gcm.hpp"

namespace abi_tests {
namespace {

class GcmDevice : public DeviceTest {
protected:
    void expect_wiped(const Buffer& buffer, std::size_t length) {
        EXPECT_EQ(read(buffer, length), Bytes(length, 0)) << "plaintext remains";
    }
};

TEST_P(GcmDevice, WhereverTheBuffersLie) {
    for (const std::size_t length : {1U, 16U, 33U, 1024U, 4097U, 20000U}) {
        const GcmCase c = make_gcm_case(random_, 32, 12, random_.below(3) * 25, length);
        const Key key = make_key(c.key);
        for (const warpaes_direction direction : directions) {
            const bool encrypt = direction == WARPAES_ENCRYPT;
            SCOPED_TRACE((encrypt ? "sealing " : "opening ") + std::to_string(length));
            const Bytes& input = encrypt ? c.text : c.sealed;
            const Bytes& want = encrypt ? c.sealed : c.text;
            const Buffer in = on_device(input, random_.below(17)), out = allocate(length, random_.below(17));
            const Buffer aad = on_device(c.aad, 5), device_tag = on_device(encrypt ? Bytes(16, 0x11) : c.tag, 3);
            Bytes tag = encrypt ? Bytes(16, 0x11) : c.tag;

            Call message = gcm_message(c, key, direction, in.data(), out.data(), tag.data());
            run(message);
            EXPECT_TRUE(read(out, length) == want) << "device to device";
            EXPECT_EQ(tag, c.tag);

            PoisonedBuffer host(length);
            message = gcm_message(c, key, direction, in.data(), host.data(), device_tag.data());
            message.aad = aad.data();
            run(message);
            EXPECT_TRUE(host.bytes(length) == want && host.intact_after(length)) << "device to host";
            EXPECT_EQ(read(device_tag, 16), c.tag);

            const Buffer from_host = allocate(length, 3);
            message = gcm_message(c, key, direction, input.data(), from_host.data(), tag.data());
            message.aad = aad.data();
            run(message);
            EXPECT_TRUE(read(from_host, length) == want) << "host to device";

            message = gcm_message(c, key, direction, in.data(), in.data(), device_tag.data());
            run(message);
            EXPECT_TRUE(read(in, length) == want) << "in place";
            EXPECT_EQ(read(device_tag, 16), c.tag);
        }
    }
}

/// Checks that a block that two warps share is not encrypted twice.
TEST_P(GcmDevice, ALongMessageInPlace) {
    const GcmCase c = make_gcm_case(random_, 16, 12, 0, 600001);
    const Key key = make_key(c.key);
    for (const warpaes_direction direction : directions) {
        const bool encrypt = direction == WARPAES_ENCRYPT;
        const Buffer data = on_device(encrypt ? c.text : c.sealed);
        Bytes tag = c.tag;
        Call message = gcm_message(c, key, direction, data.data(), data.data(), tag.data());
        run(message);
        EXPECT_TRUE(read(data, c.text.size()) == (encrypt ? c.sealed : c.text));
        EXPECT_EQ(tag, c.tag);
    }
}

TEST_P(GcmDevice, AssociatedDataAlone) {
    for (const std::size_t length : {1U, 40U, 5000U}) {
        const GcmCase c = make_gcm_case(random_, 16, 12, length, 0);
        const Key key = make_key(c.key);
        const Buffer aad = on_device(c.aad, 1);
        Bytes tag(16);
        Call message = gcm_message(c, key, WARPAES_ENCRYPT, nullptr, nullptr, tag.data());
        message.aad = aad.data();
        ASSERT_EQ(crypt(engine_, message), WARPAES_OK) << warpaes_last_error();
        EXPECT_EQ(tag, c.tag);
        EXPECT_STREQ(message.result.backend, "cuda");
        EXPECT_EQ(message.result.device, GetParam());
        message.direction = WARPAES_DECRYPT;
        EXPECT_EQ(crypt(engine_, message), WARPAES_OK) << warpaes_last_error();
        tag[3] ^= 1;
        EXPECT_EQ(crypt(engine_, message), WARPAES_ERROR_AUTHENTICATION);
    }
}

TEST_P(GcmDevice, PageLockedMemoryInManyChunks) {
    const Engine engine = make_engine("cuda", 4096, 2);
    const GcmCase c = make_gcm_case(random_, 16, 12, 7, 30001);
    const Key key = make_key(c.key);
    void* memory = nullptr;
    ASSERT_EQ(warpaes_alloc(engine.get(), WARPAES_MEMORY_PAGE_LOCKED, 0, 65536, &memory), WARPAES_OK)
        << warpaes_last_error();
    auto* in = static_cast<std::uint8_t*>(memory);
    std::memcpy(in, c.text.data(), c.text.size());
    Bytes tag(16);
    Call message = gcm_message(c, key, WARPAES_ENCRYPT, in, in + 32768, tag.data());
    ASSERT_EQ(crypt(engine, message), WARPAES_OK) << warpaes_last_error();
    EXPECT_TRUE(std::equal(c.sealed.begin(), c.sealed.end(), in + 32768));
    EXPECT_EQ(tag, c.tag);
    message = gcm_message(c, key, WARPAES_DECRYPT, in + 32768, in + 32768, tag.data());
    ASSERT_EQ(crypt(engine, message), WARPAES_OK) << warpaes_last_error();
    EXPECT_TRUE(std::equal(c.text.begin(), c.text.end(), in + 32768));
    warpaes_free(engine.get(), memory);
}

TEST_P(GcmDevice, WhatWasAlteredIsWiped) {
    for (const std::size_t length : {1U, 100U, 9000U}) {
        GcmCase c = make_gcm_case(random_, 16, 12, 7, length);
        const Key key = make_key(c.key);
        c.sealed[random_.below(length)] ^= 2;
        const Buffer in = on_device(c.sealed), out = allocate(length, 1);
        Call message = gcm_message(c, key, WARPAES_DECRYPT, in.data(), out.data(), c.tag.data());
        EXPECT_EQ(crypt(engine_, message), WARPAES_ERROR_AUTHENTICATION);
        expect_wiped(out, length);

        const Buffer from_host = allocate(length, 9);
        message = gcm_message(c, key, WARPAES_DECRYPT, c.sealed.data(), from_host.data(), c.tag.data());
        EXPECT_EQ(crypt(engine_, message), WARPAES_ERROR_AUTHENTICATION);
        expect_wiped(from_host, length);

        PoisonedBuffer host(length);
        message = gcm_message(c, key, WARPAES_DECRYPT, in.data(), host.data(), c.tag.data());
        EXPECT_EQ(crypt(engine_, message), WARPAES_ERROR_AUTHENTICATION);
        EXPECT_EQ(host.bytes(length), Bytes(length, 0));

        message = gcm_message(c, key, WARPAES_DECRYPT, in.data(), in.data(), c.tag.data());
        EXPECT_EQ(crypt(engine_, message), WARPAES_ERROR_AUTHENTICATION);
        expect_wiped(in, length);
    }
}

/// Tests lengths around the shortest length that the device wipes, at an aligned and an unaligned address. The bytes
/// around the output stay unchanged.
TEST_P(GcmDevice, AlteredTextInPageLockedMemoryIsWiped) {
    constexpr std::size_t room = (1 << 20) + 64;
    void* memory = nullptr;
    ASSERT_EQ(warpaes_alloc(engine_.get(), WARPAES_MEMORY_PAGE_LOCKED, 0, room, &memory), WARPAES_OK)
        << warpaes_last_error();
    auto* const all = static_cast<std::uint8_t*>(memory);
    for (const std::size_t length : {1U, 5000U, (512U << 10) - 1, 512U << 10, (1U << 20) - 7, 1U << 20}) {
        GcmCase c = make_gcm_case(random_, 16, 12, 7, length);
        const Key key = make_key(c.key);
        c.sealed[random_.below(length)] ^= 2;
        for (const std::size_t at : {16U, 17U}) {
            std::memset(all, 0xa5, room);
            Call message = gcm_message(c, key, WARPAES_DECRYPT, c.sealed.data(), all + at, c.tag.data());
            EXPECT_EQ(crypt(engine_, message), WARPAES_ERROR_AUTHENTICATION);
            EXPECT_EQ(static_cast<std::size_t>(std::count(all + at, all + at + length, 0)), length) << length;
            EXPECT_EQ(static_cast<std::size_t>(std::count(all, all + room, 0xa5)), room - length) << length;
        }
    }
    warpaes_free(engine_.get(), memory);
}

/// The library reads the buffers only after the work on the default stream.
TEST_P(GcmDevice, WhatTheDefaultStreamHoldsComesFirst) {
    const std::size_t length = simulated() ? 5000 : std::size_t{64} << 20;
    const Bytes text = random_.bytes(length);
    const Bytes want = expected(WARPAES_CTR, WARPAES_ENCRYPT, key_bytes_, iv_, text);
    const Buffer in = on_device(text), middle = allocate(length), out = allocate(length);
    Bytes tag(16), host(length);
    const auto encrypt = [&] {
        // CBC is slow. Repeating a CBC call takes the same time and changes nothing.
        for (const warpaes_mode mode : {WARPAES_CBC, WARPAES_CBC, WARPAES_CTR}) {
            Call message = make_message(mode, mode == WARPAES_CTR ? WARPAES_ENCRYPT : WARPAES_DECRYPT, key_, iv_,
                                        in.data(), length / 16 * 16, middle.data(), length);
            if (mode == WARPAES_CTR) message.input_len = length;
            ASSERT_EQ(crypt_async(engine_, message), WARPAES_OK) << warpaes_last_error();
        }
    };
    encrypt();
    Call message = make_message(WARPAES_CTR, WARPAES_DECRYPT, key_, iv_, middle.data(), length, host.data(), length);
    run(message);
    EXPECT_TRUE(host == text);

    const GcmCase c{key_bytes_, random_.bytes(12), {}, text, {}, {}};
    for (void* output : {static_cast<void*>(out.data()), static_cast<void*>(host.data())}) {
        const std::vector<std::uint8_t> zeros(length);
        copy(middle.data(), zeros.data(), length);
        encrypt();
        message = gcm_message(c, key_, WARPAES_ENCRYPT, middle.data(), output, tag.data());
        run(message);
        Bytes sealed(length), expected_tag(16);
        Call reference = gcm_message(c, key_, WARPAES_ENCRYPT, want.data(), sealed.data(), expected_tag.data());
        ASSERT_EQ(crypt(make_engine("libcrypto"), reference), WARPAES_OK);
        EXPECT_EQ(tag, expected_tag);
        copy(host.data(), output, length);
        EXPECT_TRUE(host == sealed);
    }
}

TEST_P(GcmDevice, Segments) {
    for (int turn = 0; turn < 24; ++turn) {
        SegmentsCase c(random_, 1 + random_.below(30), random_.below(600), 0);
        c.inline_tags = turn % 2 == 0;
        c.in_place = turn % 3 == 0;
        c.space_out(random_, turn % 4 * 9);
        SCOPED_TRACE(c.name());
        const Key key = make_key(c.key);
        for (const warpaes_direction direction : directions) {
            const bool encrypt = direction == WARPAES_ENCRYPT;
            PoisonedBuffer host_in(c.span(encrypt)), host_out(c.span(!encrypt));
            c.lay_out(host_in, encrypt);
            const Buffer in = on_device(host_in.bytes(host_in.size()), random_.below(9));
            const Buffer out = allocate(host_out.size(), random_.below(9));
            const auto check = [&](const char* what, const void* input, std::uint8_t* output) {
                Bytes tags = encrypt ? Bytes(16 * c.count) : c.tags();
                Segments s = c.request(key, direction, input, output, tags.data());
                ASSERT_EQ(crypt_segments(engine_.get(), s), WARPAES_OK) << what << warpaes_last_error();
                ASSERT_TRUE(s.on_gpu);
                Bytes result(c.span(!encrypt));
                copy(result.data(), output, result.size());
                c.expect(result.data(), !encrypt);
                EXPECT_TRUE(c.inline_tags || tags == c.tags()) << what;
            };
            if (!c.in_place) {
                check("device to device", in.data(), out.data());
                read(out, host_out.size());
                check("device to host", in.data(), host_out.data());
                EXPECT_TRUE(host_out.intact_after(host_out.size()));
                check("host to device", host_in.data(), out.data());
                read(out, host_out.size());
            } else {
                check("in place", in.data(), in.data());
                read(in, host_in.size());
            }
        }
    }
}

TEST_P(GcmDevice, SegmentsThatWereAltered) {
    for (int turn = 0; turn < 12; ++turn) {
        SegmentsCase c(random_, 12, 1 + random_.below(300), 1);
        c.inline_tags = turn % 2 == 0;
        c.in_place = turn % 3 == 0;
        c.space_out(random_, 20);
        SCOPED_TRACE(c.name());
        const Key key = make_key(c.key);
        PoisonedBuffer host_in(c.span(false));
        c.lay_out(host_in, false);
        std::vector<bool> bad(c.count);
        for (const std::size_t i : {random_.below(12), random_.below(12), random_.below(12)}) {
            if (!bad[i]) host_in.data()[i * c.stride(false)] ^= 1;
            bad[i] = true;
        }
        const Buffer in = on_device(host_in.bytes(host_in.size())), out = allocate(c.span(true));
        const Buffer& result = c.in_place ? in : out;
        Bytes tags = c.tags();
        Segments s = c.request(key, WARPAES_DECRYPT, in.data(), result.data(), tags.data());
        EXPECT_EQ(crypt_segments(engine_.get(), s), WARPAES_ERROR_AUTHENTICATION);
        EXPECT_EQ(s.failures, static_cast<std::uint64_t>(std::count(bad.begin(), bad.end(), true)));
        EXPECT_EQ(s.first_failure, static_cast<std::uint64_t>(std::find(bad.begin(), bad.end(), true) - bad.begin()));
        const Bytes all = read(result, c.span(true));
        for (std::size_t i = 0; i < c.count; ++i) {
            const auto at = all.begin() + static_cast<std::ptrdiff_t>(i * c.stride(true));
            const Bytes got(at, at + static_cast<std::ptrdiff_t>(c.length(i)));
            EXPECT_EQ(got, bad[i] ? Bytes(c.length(i), 0) : c.texts[i]) << "segment " << i;
        }
    }
}

TEST_P(GcmDevice, ContextsInPieces) {
    const GcmCase c = make_gcm_case(random_, 24, 12, 300, 3000);
    const Key key = make_key(c.key);
    const Buffer aad = on_device(c.aad, 3);
    for (const warpaes_direction direction : directions) {
        const bool encrypt = direction == WARPAES_ENCRYPT;
        const Buffer in = on_device(encrypt ? c.text : c.sealed, 9), out = allocate(c.text.size(), 2);
        for (const bool in_place : {false, true}) {
            const Context context = make_context(engine_);
            ASSERT_EQ(context_init(context.get(), WARPAES_GCM, direction, key.get(), c.iv.data(), c.iv.size(), 0),
                      WARPAES_OK);
            for (std::size_t at = 0; at < c.aad.size(); at += 75) {
                ASSERT_EQ(warpaes_context_aad(context.get(), aad.data() + at, 75), WARPAES_OK) << warpaes_last_error();
            }
            const Buffer& result = in_place ? in : out;
            for (std::size_t at = 0; at < c.text.size();) {
                const std::size_t n = std::min(random_.below(700), c.text.size() - at);
                std::size_t written = 0;
                ASSERT_EQ(warpaes_context_update(context.get(), in.data() + at, n, result.data() + at, n, &written),
                          WARPAES_OK)
                    << warpaes_last_error();
                at += n;
            }
            Bytes tag = c.tag;
            std::size_t written = 0;
            if (!encrypt) {
                ASSERT_EQ(warpaes_context_set_tag(context.get(), tag.data(), 16), WARPAES_OK);
            }
            ASSERT_EQ(warpaes_context_final(context.get(), nullptr, 0, &written), WARPAES_OK) << warpaes_last_error();
            if (encrypt) {
                ASSERT_EQ(warpaes_context_get_tag(context.get(), tag.data(), 16), WARPAES_OK);
            }
            EXPECT_EQ(tag, c.tag);
            EXPECT_TRUE(read(result, c.text.size()) == (encrypt ? c.sealed : c.text));
        }
    }
}

TEST_P(GcmDevice, Asynchronously) {
    void* locked = nullptr;
    ASSERT_EQ(warpaes_alloc(engine_.get(), WARPAES_MEMORY_PAGE_LOCKED, 0, 16, &locked), WARPAES_OK)
        << warpaes_last_error();
    for (const std::size_t length : {0U, 1U, 100U, 4096U, 20001U}) {
        const GcmCase c = make_gcm_case(random_, 16, 12 + 4 * random_.below(2), random_.below(2) * 50, length);
        const Key key = make_key(c.key);
        const Buffer in = on_device(c.text, 1), out = allocate(length, 2), aad = on_device(c.aad);
        const Buffer tag = allocate(16, random_.below(9));
        Call message = gcm_message(c, key, WARPAES_ENCRYPT, in.data(), out.data(), tag.data());
        message.aad = aad.data();
        ASSERT_EQ(crypt_async(engine_, message), WARPAES_OK) << warpaes_last_error();
        EXPECT_STREQ(message.result.backend, "cuda");
        EXPECT_TRUE(read(out, length) == c.sealed) << length;
        EXPECT_EQ(read(tag, 16), c.tag) << length;

        const Buffer shorter = allocate(12);
        message.tag = shorter.data();
        message.tag_len = 12;
        ASSERT_EQ(crypt_async(engine_, message), WARPAES_OK) << warpaes_last_error();
        EXPECT_EQ(read(shorter, 12), Bytes(c.tag.begin(), c.tag.begin() + 12)) << length;

        message = gcm_message(c, key, WARPAES_ENCRYPT, in.data(), in.data(), locked);
        ASSERT_EQ(crypt_async(engine_, message), WARPAES_OK) << warpaes_last_error();
        EXPECT_TRUE(read(in, length) == c.sealed) << length;
        EXPECT_EQ(Bytes(static_cast<std::uint8_t*>(locked), static_cast<std::uint8_t*>(locked) + 16), c.tag);
        if (length != 0) continue;

        // Empty tensors have no address.
        const Buffer alone = allocate(16);
        message = gcm_message(c, key, WARPAES_ENCRYPT, nullptr, nullptr, alone.data());
        ASSERT_EQ(crypt_async(engine_, message), WARPAES_OK) << warpaes_last_error();
        EXPECT_EQ(read(alone, 16), c.tag);
    }
    warpaes_free(engine_.get(), locked);
}

/// The status is written to the device, wherever the expected tag lies. There are more calls than preallocated buffers.
TEST_P(GcmDevice, AsynchronousDecryption) {
    for (const std::size_t length : {0U, 1U, 100U, 4096U, 4097U, 20001U, 70000U}) {
        const GcmCase c = make_gcm_case(random_, 16, 12 + 4 * random_.below(2), random_.below(2) * 50, length);
        const Key key = make_key(c.key);
        const Buffer in = on_device(c.sealed, random_.below(2)), right = on_device(c.tag, random_.below(4));
        Bytes forged_tag = c.tag;
        forged_tag[random_.below(12)] ^= 0x10;
        const Buffer wrong = on_device(forged_tag, random_.below(4));
        struct Made {
            Buffer out, status;
            bool forged;
        };
        std::vector<Made> made;
        for (int i = 0; i < 20; ++i) {
            const bool forged = i % 3 == 1, tag_on_device = i % 2 == 0;
            Bytes host_tag = forged ? forged_tag : c.tag;
            Made& one = made.emplace_back(Made{allocate(length, 2), allocate(sizeof(warpaes_status)), forged});
            void* const tag = tag_on_device ? (forged ? wrong : right).data() : host_tag.data();
            Call message = gcm_message(c, key, WARPAES_DECRYPT, in.data(), one.out.data(), tag);
            message.tag_len = i % 5 == 0 ? 12 : 16;
            message.device_status = reinterpret_cast<warpaes_status*>(one.status.data());
            ASSERT_EQ(crypt_async(engine_, message), WARPAES_OK) << warpaes_last_error();
            std::fill(host_tag.begin(), host_tag.end(), 0);  // the call has copied the tag
        }
        for (const Made& one : made) {
            warpaes_status status;
            std::memcpy(&status, read(one.status, sizeof status).data(), sizeof status);
            EXPECT_EQ(status, one.forged ? WARPAES_ERROR_AUTHENTICATION : WARPAES_OK) << length;
            EXPECT_TRUE(read(one.out, length) == (one.forged ? Bytes(length) : c.text)) << length;
        }
        const Buffer status = allocate(sizeof(warpaes_status));
        Call message = gcm_message(c, key, WARPAES_DECRYPT, in.data(), in.data(), wrong.data());
        message.device_status = reinterpret_cast<warpaes_status*>(status.data());
        ASSERT_EQ(crypt_async(engine_, message), WARPAES_OK) << warpaes_last_error();
        EXPECT_TRUE(read(in, length) == Bytes(length)) << length;
    }
}

TEST_P(GcmDevice, WhatAnAsynchronousCallCannotDo) {
    const GcmCase c = make_gcm_case(random_, 16, 12, 5, 50);
    const Key key = make_key(c.key);
    const Buffer in = on_device(c.text), out = allocate(50), tag = allocate(16);
    const auto refused = [&](const std::string& named, Call message) {
        EXPECT_EQ(crypt_async(engine_, message), WARPAES_ERROR_ARGUMENT);
        EXPECT_EQ(std::string(warpaes_last_error()).rfind(named, 0), 0U) << warpaes_last_error();
        read(out, 0);
        read(tag, 0);
    };
    refused(
        "device_status: asynchronous decryption reports in the memory of the buffers' device whether the tag is "
        "correct",
        gcm_message(c, key, WARPAES_DECRYPT, in.data(), out.data(), tag.data()));
    Call message = gcm_message(c, key, WARPAES_ENCRYPT, in.data(), out.data(), tag.data());
    message.tag_len = 11;
    refused("tag_len", message);
    Bytes pageable(16);
    refused("tag", gcm_message(c, key, WARPAES_ENCRYPT, in.data(), out.data(), pageable.data()));
    refused("input", gcm_message(c, key, WARPAES_ENCRYPT, c.text.data(), out.data(), tag.data()));
}

WARPAES_FOR_EVERY_DEVICE(GcmDevice);

}  // namespace
}  // namespace abi_tests
