// Compares SIV with RFC 5297 and libcrypto.
#include "composed.hpp"

namespace abi_tests {
namespace {

class Siv : public ComposedTest {
protected:
    static void seal(ComposedCase& c) {
        std::vector<Bytes> components = c.aad;
        if (c.iv) components.push_back(*c.iv);
        const Bytes both = oracle::siv(c.mac_key, c.key, components, c.text);
        c.tag.assign(both.begin(), both.begin() + 16);
        c.sealed.assign(both.begin() + 16, both.end());
    }
    ComposedCase make_case(std::size_t key_bytes, std::size_t bytes, const std::vector<std::size_t>& aad,
                           std::optional<std::size_t> iv) {
        ComposedCase c{.mode = WARPAES_SIV, .key = random_.bytes(key_bytes), .mac_key = random_.bytes(key_bytes)};
        for (const std::size_t n : aad) c.aad.push_back(random_.bytes(n));
        if (iv) c.iv = random_.bytes(*iv);
        c.text = random_.bytes(bytes);
        seal(c);
        return c;
    }
};

TEST_P(Siv, Vectors) {  // RFC 5297, A.1 and A.2
    check({.mode = WARPAES_SIV,
           .key = from_hex("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff"),
           .mac_key = from_hex("fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0"),
           .aad = {from_hex("101112131415161718191a1b1c1d1e1f2021222324252627")},
           .text = from_hex("112233445566778899aabbccddee"),
           .sealed = from_hex("40c02b9690c4dc04daef7f6afe5c"),
           .tag = from_hex("85632d07c6e8f37f950acd320a2ecc93")});
    check({.mode = WARPAES_SIV,
           .key = from_hex("404142434445464748494a4b4c4d4e4f"),
           .mac_key = from_hex("7f7e7d7c7b7a79787776757473727170"),
           .iv = from_hex("09f911029d74e35bd84156c5635688c0"),
           .aad = {from_hex("00112233445566778899aabbccddeeffdeaddadadeaddadaffeeddccbbaa99887766554433221100"),
                   from_hex("102030405060708090a0")},
           .text = from_hex("7468697320697320736f6d6520706c61696e7465787420746f20656e6372797074207573696e67205349562d"
                            "414553"),
           .sealed = from_hex("cb900f2fddbe404326601965c889bf17dba77ceb094fa663b7a3f748ba8af829ea64ad544a272e9c485b62a3"
                              "fd5c0d"),
           .tag = from_hex("7bdb6e3b432667eb06f4d14bff2fbd0f")});
}

TEST_P(Siv, EveryLength) {
    for (const std::size_t key : {16U, 24U, 32U}) {
        for (std::size_t n = 0; n <= 300; ++n) {
            check(make_case(key, n, n % 4 == 0 ? std::vector<std::size_t>{} : std::vector{n % 50},
                            n % 3 == 0 ? std::nullopt : std::optional(n % 40)));
        }
    }
    check(make_case(16, 100001, {70000}, 12));
    check(make_case(32, (1U << 20) + 5, {}, std::nullopt));
}

TEST_P(Siv, ComponentsAreToldApart) {
    check(make_case(16, 40, {0}, std::nullopt));  // differs from having no component
    check(make_case(16, 40, {0, 0}, 0));
    check(make_case(16, 40, {}, 0));
    check(make_case(16, 40, {15, 16, 17, 0, 1000}, 16));
    check(make_case(16, 5, std::vector<std::size_t>(126, 3), std::nullopt));
    check(make_case(16, 5, std::vector<std::size_t>(125, 3), 0));
    const ComposedCase c = make_case(24, 33, {7, 9}, 12);
    EXPECT_EQ(oracle::evp_siv(c.mac_key, c.key, {c.aad[0], c.aad[1], *c.iv}, c.text),
              oracle::siv(c.mac_key, c.key, {c.aad[0], c.aad[1], *c.iv}, c.text))
        << "the oracles do not agree";
}

/// The initial counter is V with two bits cleared. The cases cover every combination of these bits in V.
TEST_P(Siv, BothBitsOfTheCounter) {
    unsigned seen = 0;
    for (int i = 0; i < 200 && seen != 0xf; ++i) {
        const ComposedCase c = make_case(16, 40, {}, std::nullopt);
        seen |= 1U << ((c.tag[8] >> 7) * 2 + (c.tag[12] >> 7));
        check(c);
    }
    EXPECT_EQ(seen, 0xfU);
}

TEST_P(Siv, WhatWasAlteredIsRefusedAndWiped) {
    for (const std::size_t n : {0U, 1U, 16U, 100U}) {
        const ComposedCase right = make_case(16, n, {5, 20}, 12);
        const auto forge = [&](const auto& change) {
            ComposedCase c = right;
            change(c);
            check_forged(c);
        };
        for (std::size_t at = 0; at < 16; ++at) forge([&](auto& c) { c.tag[at] ^= 0x80; });
        for (std::size_t at = 0; at < n; ++at) forge([&](auto& c) { c.sealed[at] ^= 1; });
        forge([](auto& c) { c.aad[0][4] ^= 1; });
        forge([](auto& c) { c.aad[1][19] ^= 1; });
        forge([](auto& c) { std::swap(c.aad[0], c.aad[1]); });
        forge([](auto& c) { c.aad.pop_back(); });
        forge([](auto& c) { (*c.iv)[0] ^= 1; });
        forge([](auto& c) { c.iv = std::nullopt; });
        forge([](auto& c) { c.mac_key[0] ^= 1; });
        if (n != 0) forge([](auto& c) { std::swap(c.key, c.mac_key); });
    }
}

TEST_P(Siv, NonceAndAssociatedDataMayLieInTheOutput) {
    check_nonce_and_aad_in_output(make_case(16, 100, {20}, 12));
}

TEST_P(Siv, WhatCannotBeIsRefusedWithASentence) {
    const ComposedCase c = make_case(16, 32, {8}, 12);
    const Key longer = make_key(Bytes(32, 3));
    const warpaes_part null_part{nullptr, 1}, huge{c.text.data(), 1ULL << 61}, beyond{c.text.data(), 1ULL << 57};
    const std::vector<warpaes_part> many(127, warpaes_part{c.text.data(), 1});
    const auto say = [&](warpaes_status status, const std::string& about,
                         const std::function<void(warpaes_message&)>& change) {
        refused(c, status, about + ": ", change);
        refused(c, status, about + ": ", change, WARPAES_DECRYPT);
    };
    const auto list = [](warpaes_message& m, const warpaes_part* parts, std::uint64_t count) {
        m.aad = nullptr;
        m.aad_len = 0;
        m.aad_list = parts;
        m.aad_count = count;
    };
    say(WARPAES_ERROR_ARGUMENT, "mac_key", [](auto& m) { m.mac_key = nullptr; });
    say(WARPAES_ERROR_KEY_LENGTH, "mac_key", [&](auto& m) { m.mac_key = longer.get(); });
    say(WARPAES_ERROR_ARGUMENT, "tag", [](auto& m) { m.tag = nullptr; });
    for (const std::uint64_t n : {0ULL, 12ULL, 15ULL, 17ULL, 48ULL, 64ULL + 16, ~0ULL}) {
        say(WARPAES_ERROR_ARGUMENT, "tag_len", [&](auto& m) { m.tag_len = n; });
    }
    say(WARPAES_ERROR_OVERLAP, "tag", [](auto& m) { m.tag = static_cast<std::uint8_t*>(m.output) + 20; });
    say(WARPAES_ERROR_ARGUMENT, "aad", [](auto& m) { m.aad = nullptr; });
    say(WARPAES_ERROR_ARGUMENT, "aad, aad_list", [&](auto& m) {
        m.aad_list = &null_part;
        m.aad_count = 1;
    });
    say(WARPAES_ERROR_ARGUMENT, "aad_list", [&](auto& m) { list(m, nullptr, 1); });
    say(WARPAES_ERROR_ARGUMENT, "aad", [&](auto& m) { list(m, &null_part, 1); });
    say(WARPAES_ERROR_DATA_LENGTH, "aad_len", [&](auto& m) { list(m, &huge, 1); });
    say(WARPAES_ERROR_RANGE, "aad", [&](auto& m) { list(m, &beyond, 1); });
    say(WARPAES_ERROR_ARGUMENT, "aad_count", [&](auto& m) { list(m, many.data(), 126); });
    say(WARPAES_ERROR_ARGUMENT, "aad_count", [&](auto& m) {
        list(m, many.data(), 127);
        m.iv = nullptr;
        m.iv_len = 0;
    });
    say(WARPAES_ERROR_ARGUMENT, "iv", [](auto& m) { m.iv = nullptr; });
    say(WARPAES_ERROR_DATA_LENGTH, "input_len", [](auto& m) { m.input_len = 1ULL << 61; });
    say(WARPAES_ERROR_BUFFER_TOO_SMALL, "output_capacity", [](auto& m) { m.output_capacity = 31; });
    say(WARPAES_ERROR_OVERLAP, "output", [](auto& m) { m.input = static_cast<std::uint8_t*>(m.output) + 1; });
    say(WARPAES_ERROR_ARGUMENT, "device_status", [](auto& m) {
        static warpaes_status status;
        m.device_status = &status;
    });
    // Other modes do not have these fields.
    const Bytes iv(16);
    Bytes output(32, 7);
    Call ctr = make_message(WARPAES_CTR, WARPAES_ENCRYPT, longer, iv, c.text.data(), 32, output.data(), 32);
    ctr.mac_key = longer.get();
    EXPECT_EQ(crypt(engine_, ctr), WARPAES_ERROR_ARGUMENT);
    EXPECT_EQ(std::string(warpaes_last_error()).rfind("mac_key, ", 0), 0U);
    EXPECT_EQ(output, Bytes(32, 7));
}

WARPAES_FOR_EVERY_CPU_BACKEND(Siv);

}  // namespace
}  // namespace abi_tests
