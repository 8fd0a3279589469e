// `warpaes selftest`: runs the known-answer tests of FIPS 197, SP 800-38A to C, IEEE 1619 and GCM on every usable
// backend.
#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>
#include <vector>

#include "command.hpp"
#include "known_answers.hpp"
#include "record.hpp"
#include "secrets.hpp"

namespace cli {

namespace {

using nlohmann::json;
using Bytes = std::vector<unsigned char>;

constexpr const char* selftest_help = R"(Usage: warpaes selftest [--json]

Runs the examples of FIPS 197 (appendix C), SP 800-38A (appendix F), XTS, GCM,
CCM and CMAC in both directions, and compares long messages with libcrypto, on
every backend that this machine can run. The exit status is 0 if all tests
passed.

  --json   print a JSON record
)";

warpaes_mode mode_of(const std::string& name) {
    static const std::map<std::string, warpaes_mode> modes{
        {"ECB", WARPAES_ECB},   {"CBC", WARPAES_CBC},  {"CFB128", WARPAES_CFB128}, {"CFB8", WARPAES_CFB8},
        {"CFB1", WARPAES_CFB1}, {"OFB", WARPAES_OFB},  {"CTR", WARPAES_CTR},       {"GCM", WARPAES_GCM},
        {"CCM", WARPAES_CCM},   {"CMAC", WARPAES_CMAC}};
    return modes.at(name);
}

Bytes from_hex(const std::string& hex) {
    return parse_hex("vector", hex, hex.size() / 2, WARPAES_ERROR_INTERNAL);
}

warpaes_message make_message(warpaes_mode mode, warpaes_direction direction, const Key& key, const Bytes& iv,
                             const Bytes& input, Bytes& output) {
    warpaes_message message = WARPAES_MESSAGE_INIT;
    message.mode = mode;
    message.direction = direction;
    message.key = key.get();
    message.iv = iv.empty() ? nullptr : iv.data();
    message.iv_len = iv.size();
    message.input = input.data();
    message.input_len = input.size();
    message.output = output.data();
    message.output_capacity = output.size();
    return message;
}

Bytes crypt(warpaes_engine* engine, warpaes_mode mode, warpaes_direction direction, const Bytes& key_bytes,
            const Bytes& iv, const Bytes& input) {
    const Key key = create_key(key_bytes.data(), key_bytes.size());
    Bytes output(input.size(), 0xa5);
    const warpaes_message message = make_message(mode, direction, key, iv, input, output);
    check(warpaes_crypt(engine, &message, nullptr));
    return output;
}

Bytes crypt_xts(warpaes_engine* engine, warpaes_direction direction, const Bytes& key_bytes,
                const Bytes& tweak_key_bytes, const Bytes& number, std::size_t data_unit, const Bytes& input) {
    const Key key = create_key(key_bytes.data(), key_bytes.size());
    const Key tweak_key = create_key(tweak_key_bytes.data(), tweak_key_bytes.size());
    Bytes output(input.size(), 0xa5);
    warpaes_message message = make_message(WARPAES_XTS, direction, key, number, input, output);
    message.tweak_key = tweak_key.get();
    message.data_unit_len = data_unit;
    check(warpaes_crypt(engine, &message, nullptr));
    return output;
}

/// The input or output of a mode with a tag.
struct Tagged {
    Bytes text, tag;
    friend bool operator==(const Tagged&, const Tagged&) = default;
};

/// Encryption returns the ciphertext (CMAC: the text itself) and a tag of the same length as the tag of `input`.
/// Decryption returns the text, or nothing if the tag is wrong.
std::optional<Tagged> crypt_tagged(warpaes_engine* engine, warpaes_mode mode, warpaes_direction direction,
                                   const Bytes& key_bytes, const Bytes& iv, const Bytes& aad, const Tagged& input) {
    const Key key = create_key(key_bytes.data(), key_bytes.size());
    Tagged output{mode == WARPAES_CMAC ? input.text : Bytes(input.text.size(), 0xa5), input.tag};
    if (direction == WARPAES_ENCRYPT) output.tag.assign(input.tag.size(), 0xa5);
    warpaes_message message = make_message(mode, direction, key, iv, input.text, output.text);
    message.aad = aad.data();
    message.aad_len = aad.size();
    message.tag = output.tag.data();
    message.tag_len = output.tag.size();
    const warpaes_status status = warpaes_crypt(engine, &message, nullptr);
    if (status == WARPAES_ERROR_AUTHENTICATION) return std::nullopt;
    check(status);
    return output;
}

/// The number of examples that a backend computed, and the names of the examples with wrong results.
struct Report {
    unsigned examples = 0;
    std::vector<std::string> wrong;
    void expect(bool right, const std::string& name) {
        ++examples;
        if (!right) wrong.push_back(name);
    }
};

void run_examples(warpaes_engine* engine, Report& report) {
    for (const auto& list : {vectors::fips_197_appendix_c, vectors::sp800_38a::examples}) {
        for (const vectors::Example& e : list) {
            const Bytes key = from_hex(e.key), iv = from_hex(e.iv);
            const Bytes plain = from_hex(e.plaintext), cipher = from_hex(e.ciphertext);
            const warpaes_mode mode = mode_of(e.mode);
            report.expect(crypt(engine, mode, WARPAES_ENCRYPT, key, iv, plain) == cipher,
                          fmt::format("{} {} encryption", e.section, e.mode));
            report.expect(crypt(engine, mode, WARPAES_DECRYPT, key, iv, cipher) == plain,
                          fmt::format("{} {} decryption", e.section, e.mode));
        }
    }
}

void run_xts_examples(warpaes_engine* engine, Report& report) {
    for (const vectors::XtsExample& e : vectors::xts_examples) {
        const Bytes key = from_hex(e.key), tweak_key = from_hex(e.tweak_key), number = from_hex(e.number);
        const Bytes plain = from_hex(e.plaintext), cipher = from_hex(e.ciphertext);
        report.expect(crypt_xts(engine, WARPAES_ENCRYPT, key, tweak_key, number, 0, plain) == cipher,
                      fmt::format("{} encryption", e.name));
        report.expect(crypt_xts(engine, WARPAES_DECRYPT, key, tweak_key, number, 0, cipher) == plain,
                      fmt::format("{} decryption", e.name));
    }
}

void run_tag_examples(warpaes_engine* engine, Report& report) {
    for (const auto& list : {vectors::gcm::examples, vectors::ccm_examples, vectors::cmac_examples}) {
        for (const vectors::TagExample& e : list) {
            const warpaes_mode mode = mode_of(e.mode);
            const Bytes key = from_hex(e.key), iv = from_hex(e.iv), aad = from_hex(e.aad);
            const Tagged plain{from_hex(e.plaintext), from_hex(e.tag)};
            Tagged sealed{mode == WARPAES_CMAC ? plain.text : from_hex(e.ciphertext), plain.tag};
            report.expect(crypt_tagged(engine, mode, WARPAES_ENCRYPT, key, iv, aad, plain) == sealed,
                          fmt::format("{} encryption", e.name));
            report.expect(crypt_tagged(engine, mode, WARPAES_DECRYPT, key, iv, aad, sealed) == plain,
                          fmt::format("{} decryption", e.name));
            sealed.tag.back() ^= 1;
            report.expect(crypt_tagged(engine, mode, WARPAES_DECRYPT, key, iv, aad, sealed) == std::nullopt,
                          fmt::format("{} with a wrong tag", e.name));
        }
    }
}

/// Compares the results for a message that is long enough for every kernel's main loop and remainder, and for several
/// chunks.
void run_long_message(warpaes_engine* engine, warpaes_engine* reference, Report& report) {
    constexpr std::size_t blocks = 80'003;
    const Bytes key = from_hex(vectors::sp800_38a::key_256), iv = from_hex(vectors::sp800_38a::counter);
    Bytes input(blocks * 16);
    std::uint32_t state = 1;
    for (unsigned char& byte : input) byte = static_cast<unsigned char>((state = state * 1664525u + 1013904223u) >> 24);
    for (const warpaes_mode mode : {WARPAES_ECB, WARPAES_CBC, WARPAES_CFB128, WARPAES_OFB, WARPAES_CTR}) {
        const Bytes mode_iv = mode == WARPAES_ECB ? Bytes{} : iv;
        for (const warpaes_direction direction : {WARPAES_ENCRYPT, WARPAES_DECRYPT}) {
            report.expect(crypt(engine, mode, direction, key, mode_iv, input) ==
                              crypt(reference, mode, direction, key, mode_iv, input),
                          fmt::format("long message, mode {}, direction {}", static_cast<int>(mode),
                                      static_cast<int>(direction)));
        }
    }
    const Bytes nonce(iv.begin(), iv.begin() + 12);
    for (const auto& [name, mode, own_iv] : {std::tuple("GCM", WARPAES_GCM, iv), std::tuple("CCM", WARPAES_CCM, nonce),
                                             std::tuple("CMAC", WARPAES_CMAC, Bytes{})}) {
        const Bytes aad = mode == WARPAES_CMAC ? Bytes{} : iv;
        const Tagged plain{input, Bytes(16)};
        Tagged sealed = crypt_tagged(reference, mode, WARPAES_ENCRYPT, key, own_iv, aad, plain).value();
        report.expect(crypt_tagged(engine, mode, WARPAES_ENCRYPT, key, own_iv, aad, plain) == sealed,
                      fmt::format("long {} message, encryption", name));
        report.expect(
            crypt_tagged(engine, mode, WARPAES_DECRYPT, key, own_iv, aad, sealed) == Tagged{input, sealed.tag},
            fmt::format("long {} message, decryption", name));
    }
    const Bytes tweak_key(key.rbegin(), key.rend());
    for (const std::size_t data_unit : {512u, 4096u, 4160u, 520u}) {
        for (const warpaes_direction direction : {WARPAES_ENCRYPT, WARPAES_DECRYPT}) {
            report.expect(crypt_xts(engine, direction, key, tweak_key, iv, data_unit, input) ==
                              crypt_xts(reference, direction, key, tweak_key, iv, data_unit, input),
                          fmt::format("long XTS message, data units of {}, direction {}", data_unit,
                                      static_cast<int>(direction)));
        }
    }
}

}  // namespace

int run_selftest(int argc, char** argv) {
    const auto as_json = parse_json_option(argc, argv, selftest_help);
    if (!as_json) return 0;
    const Engine reference = create_engine("libcrypto", -1);
    json records = json::array();
    bool all_right = true;
    for (const warpaes_backend_info& info : list_backends()) {
        json record = {{"backend", info.name}, {"device", info.device}, {"run", info.usable != 0}};
        std::string outcome;
        if (info.usable == 0) {
            record["reason"] = info.reason;
            outcome = fmt::format("not run: {}", info.reason);
        } else {
            Report report;
            const Engine engine = create_engine(info.name, info.device);
            run_examples(engine.get(), report);
            run_xts_examples(engine.get(), report);
            run_tag_examples(engine.get(), report);
            run_long_message(engine.get(), reference.get(), report);
            record["examples"] = report.examples;
            record["wrong"] = report.wrong;
            outcome = fmt::format("{} of {} passed", report.examples - report.wrong.size(), report.examples);
            for (const std::string& name : report.wrong) outcome += fmt::format("\n{:12}wrong: {}", "", name);
            all_right = all_right && report.wrong.empty();
        }
        const std::string name = info.device < 0 ? info.name : fmt::format("{}[{}]", info.name, info.device);
        if (!*as_json) fmt::print("{:<10}  {}\n", name, outcome);
        records.push_back(record);
    }
    if (*as_json) print_json(records, 2);
    return all_right ? 0 : WARPAES_ERROR_INTERNAL;
}

}  // namespace cli
