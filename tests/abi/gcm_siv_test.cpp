// Compares GCM-SIV with the vectors of RFC 8452 and with a direct implementation of the RFC's text.
#include "composed.hpp"
#include "device.hpp"
#include "evp_oracle.hpp"

namespace abi_tests {
namespace {

void seal(ComposedCase& c) {
    const Bytes both = oracle::gcm_siv::seal(c.key, *c.iv, c.aad.empty() ? Bytes{} : c.aad[0], c.text);
    c.sealed.assign(both.begin(), both.end() - 16);
    c.tag.assign(both.end() - 16, both.end());
}

ComposedCase random_case(Random& random, std::size_t key_bytes, std::size_t bytes, std::optional<std::size_t> aad) {
    ComposedCase c{.mode = WARPAES_GCM_SIV, .key = random.bytes(key_bytes), .iv = random.bytes(12)};
    if (aad) c.aad.push_back(random.bytes(*aad));
    c.text = random.bytes(bytes);
    seal(c);
    return c;
}

/// Returns a case whose tag begins with `start`. The tag is GCM-SIV's first counter. The first block of text is
/// computed so that the tag has this value.
ComposedCase case_with_counter(Random& random, std::size_t key_bytes, std::size_t bytes, const Bytes& start) {
    namespace ref = oracle::gcm_siv;
    for (;;) {
        ComposedCase c = random_case(random, key_bytes, bytes, std::nullopt);
        const ref::Keys keys = ref::derive(c.key, *c.iv);
        std::copy(start.begin(), start.end(), c.tag.begin());
        Bytes wanted = *oracle::evp("ECB", false, keys.encryption, {}, c.tag);
        if ((wanted[15] & 0x80) != 0) continue;
        for (std::size_t i = 0; i < 12; ++i) wanted[i] ^= (*c.iv)[i];
        std::fill_n(c.text.begin(), 16, std::uint8_t{0});
        const Bytes x = ref::hashed({}, c.text), now = ref::polyval(keys.authentication, x);
        Bytes power = keys.authentication;
        for (std::size_t i = 1; i < x.size() / 16; ++i) power = ref::dot(power, keys.authentication);
        for (std::size_t i = 0; i < 16; ++i) wanted[i] ^= now[i];
        const Bytes first = ref::dot(wanted, ref::inverse(power));
        std::copy(first.begin(), first.end(), c.text.begin());
        seal(c);
        return c;
    }
}

class GcmSiv : public ComposedTest {
protected:
    ComposedCase make_case(std::size_t key_bytes, std::size_t bytes, std::optional<std::size_t> aad) {
        return random_case(random_, key_bytes, bytes, aad);
    }
    ComposedCase with_counter(std::size_t key_bytes, std::size_t bytes, const Bytes& start) {
        return case_with_counter(random_, key_bytes, bytes, start);
    }
};

TEST_P(GcmSiv, Vectors) {
    EXPECT_EQ(oracle::gcm_siv::polyval(from_hex("25629347589242761d31f826ba4b757b"),  // appendix A
                                       from_hex("4f4f95668c83dfb6401762bb2d01a262d1a24ddd2721d006bbe45f20d3c9f362")),
              from_hex("f7a3b47b846119fae5b7866cf5e5b77e"));
    const std::string one_16 = "01000000000000000000000000000000";
    const struct {
        std::size_t key;
        const char *aad, *text, *sealed;
    } examples[] = {
        // appendices C.1 and C.2
        {16, "", "", "dc20e2d83f25705bb49e439eca56de25"},
        {16, "", "0100000000000000", "b5d839330ac7b786578782fff6013b815b287c22493a364c"},
        {16, "", "010000000000000000000000", "7323ea61d05932260047d942a4978db357391a0bc4fdec8b0d106639"},
        {16, "", "01000000000000000000000000000000",
         "743f7c8077ab25f8624e2e948579cf77303aaf90f6fe21199c6068577437a0c4"},
        {16, "", "0100000000000000000000000000000002000000000000000000000000000000",
         "84e07e62ba83a6585417245d7ec413a9fe427d6315c09b57ce45f2e3936a94451a8e45dcd4578c667cd86847bf6155ff"},
        {16, "01", "0200000000000000", "1e6daba35669f4273b0a1a2560969cdf790d99759abd1508"},
        {32, "", "", "07f5f4169bbf55a8400cd47ea6fd400f"},
        {32, "", "0100000000000000", "c2ef328e5c71c83b843122130f7364b761e0b97427e3df28"}};
    for (const auto& e : examples) {
        ComposedCase c{.mode = WARPAES_GCM_SIV, .key = Bytes(e.key), .iv = Bytes(12), .text = from_hex(e.text)};
        c.key[0] = 1;
        (*c.iv)[0] = 3;
        if (*e.aad != '\0') c.aad.push_back(from_hex(e.aad));
        const Bytes sealed = from_hex(e.sealed);
        c.sealed.assign(sealed.begin(), sealed.end() - 16);
        c.tag.assign(sealed.end() - 16, sealed.end());
        check(c);
    }
    const Bytes tag = from_hex("ffffffff000000000000000000000000");  // C.3: the counter wraps
    check({.mode = WARPAES_GCM_SIV,
           .key = Bytes(32),
           .iv = Bytes(12),
           .text = from_hex("000000000000000000000000000000004db923dc793ee6497c76dcc03a98e108"),
           .sealed = from_hex("f3f80f2cf0cb2dd9c5984fcda908456cc537703b5ba70324a6793a7bf218d3ea"),
           .tag = tag});
    check({.mode = WARPAES_GCM_SIV,
           .key = Bytes(32),
           .iv = Bytes(12),
           .text = from_hex("eb3640277c7ffd1303c7a542d02d3e4c0000000000000000"),
           .sealed = from_hex("18ce4f0b8cb4d0cac65fea8f79257b20888e53e72299e56d"),
           .tag = tag});
}

TEST_P(GcmSiv, EveryLength) {
    for (const std::size_t key : {16U, 32U}) {
        for (std::size_t n = 0; n <= 300; ++n) {
            check(make_case(key, n, n % 4 == 0 ? std::nullopt : std::optional(n % 50)));
        }
        for (const std::size_t n : {8191U, 8192U, 8193U, 8448U, 16384U, 16385U}) check(make_case(key, n, n));
    }
}

/// Tests messages of many chunks, which several threads process in parallel.
TEST_P(GcmSiv, Chunks) {
    const ComposedCase c = make_case(32, 5 * 8192 + 4099, 9000);
    check(c);
    engine_ = make_engine(GetParam(), 4096, 3);
    check(c);
    ComposedCase forged = c;
    forged.sealed[4096] ^= 1;
    check_forged(forged);
}

TEST_P(GcmSiv, CounterWrapsInItsFirstFourBytesAlone) {
    for (const std::size_t key : {16U, 32U}) {
        check(with_counter(key, 100, from_hex("feffffff")));
        check(with_counter(key, 10000, from_hex("00ffffff")));
        check(with_counter(key, 20000, from_hex("00fdffffffffffffffffffff")));
    }
}

TEST_P(GcmSiv, WhatWasAlteredIsRefusedAndWiped) {
    for (const std::size_t n : {0U, 1U, 16U, 100U, 9000U}) {
        const ComposedCase right = make_case(16, n, 20);
        const auto forge = [&](const auto& change) {
            ComposedCase c = right;
            change(c);
            check_forged(c);
        };
        for (std::size_t at = 0; at < 16; ++at) forge([&](auto& c) { c.tag[at] ^= 0x80; });
        for (std::size_t at = 0; at < n; at += n / 100 + 1) forge([&](auto& c) { c.sealed[at] ^= 1; });
        forge([](auto& c) { c.aad[0][19] ^= 1; });
        forge([](auto& c) { c.aad[0].push_back(0); });
        forge([](auto& c) { c.aad.clear(); });
        forge([](auto& c) { (*c.iv)[11] ^= 1; });
        forge([](auto& c) { c.key[0] ^= 1; });
    }
}

TEST_P(GcmSiv, NonceAndAssociatedDataMayLieInTheOutput) {
    check_nonce_and_aad_in_output(make_case(32, 100, 20));
}

TEST_P(GcmSiv, WhatCannotBeIsRefusedWithASentence) {
    const ComposedCase c = make_case(16, 32, 8);
    const Key key = make_key(Bytes(16, 3)), key_192 = make_key(Bytes(24, 3));
    const warpaes_part part{c.text.data(), 1};
    const auto say = [&](warpaes_status status, const std::string& about,
                         const std::function<void(warpaes_message&)>& change) {
        refused(c, status, about + ": ", change);
        refused(c, status, about + ": ", change, WARPAES_DECRYPT);
    };
    say(WARPAES_ERROR_KEY_LENGTH, "key", [&](auto& m) { m.key = key_192.get(); });
    for (const std::uint64_t n : {0ULL, 11ULL, 13ULL, 16ULL}) {
        say(WARPAES_ERROR_IV_LENGTH, "iv", [&](auto& m) {
            m.iv = c.text.data();
            m.iv_len = n;
        });
    }
    say(WARPAES_ERROR_ARGUMENT, "tag_len", [](auto& m) { m.tag_len = 12; });
    say(WARPAES_ERROR_ARGUMENT, "mac_key, aad_list, aad_count", [&](auto& m) { m.mac_key = key.get(); });
    say(WARPAES_ERROR_ARGUMENT, "mac_key, aad_list, aad_count", [&](auto& m) {
        m.aad_list = &part;
        m.aad_count = 1;
    });
    say(WARPAES_ERROR_DATA_LENGTH, "aad_len", [](auto& m) { m.aad_len = (1ULL << 36) + 1; });
    say(WARPAES_ERROR_DATA_LENGTH, "input_len", [](auto& m) { m.input_len = (1ULL << 36) + 1; });
    const Bytes iv(12);
    Bytes text(16);
    Call async = make_message(WARPAES_GCM_SIV, WARPAES_ENCRYPT, key, iv, text.data(), 16, text.data(), 16);
    EXPECT_EQ(crypt_async(engine_, async), WARPAES_ERROR_ARGUMENT);
    EXPECT_EQ(warpaes_last_error(),
              std::string("mode: GCM-SIV is only for warpaes_crypt, which requires the complete message"));
}

/// The text is in GPU memory, and the GPU processes all of the text.
class GcmSivDevice : public DeviceTest {
protected:
    /// Seals and opens the case, in place and with separate buffers, and opens it with a wrong tag.
    void check(const ComposedCase& c) {
        SCOPED_TRACE(std::to_string(8 * c.key.size()) + " bits, text " + std::to_string(c.text.size()) + ", aad " +
                     std::to_string(c.aad.size()));
        const Key key = make_key(c.key);
        const std::size_t n = c.text.size();
        for (const warpaes_direction direction : directions) {
            const bool encrypt = direction == WARPAES_ENCRYPT;
            const Bytes &input = encrypt ? c.text : c.sealed, &wanted = encrypt ? c.sealed : c.text;
            for (const bool in_place : {false, true}) {
                const Buffer in = on_device(input, random_.below(17)), apart = allocate(n, random_.below(17));
                const Buffer& out = in_place ? in : apart;
                Bytes tag = encrypt ? Bytes(16) : c.tag;
                Call message = make_message(WARPAES_GCM_SIV, direction, key, *c.iv, in.data(), n, out.data(), n);
                message.tag = tag.data();
                message.tag_len = 16;
                if (!c.aad.empty()) {
                    message.aad = c.aad[0].data();
                    message.aad_len = c.aad[0].size();
                }
                run(message);
                ASSERT_TRUE(read(out, n) == wanted)
                    << (encrypt ? "sealing" : "opening") << (in_place ? " in place" : "");
                ASSERT_EQ(tag, c.tag);
                if (encrypt || in_place) continue;
                tag[3] ^= 1;
                ASSERT_EQ(abi_tests::crypt(engine_, message), WARPAES_ERROR_AUTHENTICATION);
                ASSERT_EQ(read(out, n), Bytes(n)) << "plaintext remains";
            }
        }
    }
};

TEST_P(GcmSivDevice, EveryLengthAroundABlock) {
    for (const std::size_t key : {16U, 32U}) {
        for (const std::size_t n : {1U, 15U, 16U, 17U, 255U, 256U, 257U, 511U, 513U, 4096U, 5000U, 33000U}) {
            check(random_case(random_, key, n, n % 2 == 0 ? std::nullopt : std::optional(n % 50)));
        }
    }
}

/// Tests a text of more bytes than a CPU reverses at a time.
TEST_P(GcmSivDevice, InPieces) {
    const std::size_t n = (std::size_t{16} << 20) + 1003;
    const Bytes iv = random_.bytes(12);
    Bytes text = random_.bytes(n), tags[2] = {Bytes(16), Bytes(16)};
    const Buffer there = on_device(text);
    std::uint8_t* const places[] = {there.data(), text.data()};
    const Engine cpu = make_engine("libcrypto");
    for (const int i : {0, 1}) {
        Call message = make_message(WARPAES_GCM_SIV, WARPAES_ENCRYPT, key_, iv, places[i], n, places[i], n);
        message.tag = tags[i].data();
        message.tag_len = 16;
        ASSERT_EQ(abi_tests::crypt(i == 0 ? engine_ : cpu, message), WARPAES_OK);
    }
    EXPECT_TRUE(read(there, n) == text);
    EXPECT_EQ(tags[0], tags[1]);
}

TEST_P(GcmSivDevice, CounterWrapsInItsFirstFourBytesAlone) {
    check(case_with_counter(random_, 16, 100, from_hex("feffffff")));
    check(case_with_counter(random_, 32, 20000, from_hex("00fdffffffffffffffffffff")));
}

/// A message without text needs no GPU work, but a GPU-only engine still accepts it, wherever its parts lie.
TEST_P(GcmSivDevice, AMessageWithoutText) {
    for (const std::size_t key_bytes : {16U, 32U}) {
        for (const std::optional<std::size_t> aad : {std::optional<std::size_t>(), std::optional<std::size_t>(37)}) {
            const ComposedCase c = random_case(random_, key_bytes, 0, aad);
            const Key key = make_key(c.key);
            const Buffer aad_there = on_device(aad ? c.aad[0] : Bytes()), anywhere = allocate(16);
            for (const bool on_host : {false, true}) {
                for (const warpaes_direction direction : directions) {
                    const bool encrypt = direction == WARPAES_ENCRYPT;
                    const Buffer tag_there = on_device(encrypt ? Bytes(16) : c.tag);
                    Bytes tag_here = encrypt ? Bytes(16) : c.tag;
                    Call message =
                        make_message(WARPAES_GCM_SIV, direction, key, *c.iv, on_host ? nullptr : anywhere.data(), 0,
                                     on_host ? nullptr : anywhere.data(), 0);
                    message.tag = on_host ? tag_here.data() : tag_there.data();
                    message.tag_len = 16;
                    if (aad) {
                        message.aad = on_host ? c.aad[0].data() : aad_there.data();
                        message.aad_len = *aad;
                    }
                    ASSERT_EQ(abi_tests::crypt(engine_, message), WARPAES_OK) << warpaes_last_error();
                    EXPECT_EQ(message.result.device, -1);
                    if (encrypt) {
                        EXPECT_EQ(on_host ? tag_here : read(tag_there, 16), c.tag);
                        continue;
                    }
                    const Bytes wrong(16, 1);
                    copy(message.tag, wrong.data(), 16);
                    EXPECT_EQ(abi_tests::crypt(engine_, message), WARPAES_ERROR_AUTHENTICATION);
                }
            }
        }
    }
}

/// The library copies messages that a GPU does not support to a CPU: SIV, and text that crosses the end of a buffer. An
/// empty message needs no memory.
TEST_P(GcmSivDevice, OrACpuDoesIt) {
    const Engine automatic = make_engine("");
    for (const std::size_t n : {0U, 100U}) {
        const ComposedCase c = random_case(random_, 16, n, 20);
        const Key key = make_key(c.key);
        const Buffer in = on_device(c.text), aad = on_device(c.aad[0]), iv = on_device(*c.iv),
                     device_tag = allocate(16);
        Bytes out(n);
        Call message = make_message(WARPAES_GCM_SIV, WARPAES_ENCRYPT, key, *c.iv, in.data(), n, out.data(), n);
        message.iv = iv.data();
        message.aad = aad.data();
        message.aad_len = 20;
        message.tag = device_tag.data();
        message.tag_len = 16;
        ASSERT_EQ(abi_tests::crypt(automatic, message), WARPAES_OK) << warpaes_last_error();
        EXPECT_EQ(out, c.sealed);
        EXPECT_EQ(read(device_tag, 16), c.tag);
        EXPECT_STRNE(message.result.backend, "cuda");
        EXPECT_EQ(message.result.device, -1);

        // Encrypts and decrypts from host memory to device memory.
        const Buffer there = allocate(n), opened = allocate(n);
        Call seal = make_message(WARPAES_GCM_SIV, WARPAES_ENCRYPT, key, *c.iv, c.text.data(), n, there.data(), n);
        Call open = make_message(WARPAES_GCM_SIV, WARPAES_DECRYPT, key, *c.iv, c.sealed.data(), n, opened.data(), n);
        for (Call* const call : {&seal, &open}) {
            call->aad = c.aad[0].data();
            call->aad_len = 20;
            call->tag = device_tag.data();
            call->tag_len = 16;
            ASSERT_EQ(abi_tests::crypt(automatic, *call), WARPAES_OK) << warpaes_last_error();
            EXPECT_STRNE(call->result.backend, "cuda");
        }
        EXPECT_EQ(read(there, n), c.sealed);
        EXPECT_EQ(read(opened, n), c.text);
    }
}

WARPAES_FOR_EVERY_DEVICE(GcmSivDevice);
WARPAES_FOR_EVERY_CPU_BACKEND(GcmSiv);

}  // namespace
}  // namespace abi_tests
