#include "lab/reference.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <cstring>

namespace lab {

namespace {

void check(int result, const char* what) {
    if (result != 1) throw std::runtime_error(fmt::format("libcrypto: {} failed", what));
}

const char* name_of(Mode mode) {
    switch (mode) {
    case Mode::ecb:
        return "ECB";
    case Mode::cbc:
        return "CBC";
    case Mode::cfb128:
        return "CFB";
    case Mode::ofb:
        return "OFB";
    case Mode::ctr:
        return "CTR";
    }
    throw std::invalid_argument("mode: unknown");
}

}  // namespace

void Reference::Free::operator()(evp_cipher_ctx_st* context) const {
    EVP_CIPHER_CTX_free(context);
}

Reference::Reference(Mode mode, Direction direction, std::span<const std::uint8_t> key)
    : context_(EVP_CIPHER_CTX_new()) {
    const auto name = fmt::format("AES-{}-{}", 8 * key.size(), name_of(mode));
    const std::unique_ptr<EVP_CIPHER, decltype(&EVP_CIPHER_free)> cipher(
        EVP_CIPHER_fetch(nullptr, name.c_str(), nullptr), EVP_CIPHER_free);
    check(context_ != nullptr && cipher != nullptr, name.c_str());
    check(EVP_CipherInit_ex2(context_.get(), cipher.get(), key.data(), nullptr, direction == Direction::encrypt ? 1 : 0,
                             nullptr),
          "setting a key");
    check(EVP_CIPHER_CTX_set_padding(context_.get(), 0), "switching padding off");
}

void Reference::run(std::span<const std::uint8_t> iv, std::span<const std::uint8_t> input,
                    std::span<std::uint8_t> output) {
    constexpr std::size_t most_at_once = std::size_t{1} << 30;  // libcrypto's lengths are of type int
    if (input.size() != output.size()) throw std::invalid_argument("output: not as long as the input");
    check(EVP_CipherInit_ex2(context_.get(), nullptr, nullptr, iv.empty() ? nullptr : iv.data(), -1, nullptr),
          "setting an IV");
    for (std::size_t at = 0; at < input.size();) {
        const std::size_t bytes = std::min(most_at_once, input.size() - at);
        int written = 0;
        check(
            EVP_CipherUpdate(context_.get(), output.data() + at, &written, input.data() + at, static_cast<int>(bytes)),
            "encrypting");
        check(static_cast<std::size_t>(written) == bytes, "encrypting whole blocks");
        at += bytes;
    }
}

std::vector<std::uint8_t> Reference::run(std::span<const std::uint8_t> iv, std::span<const std::uint8_t> input) {
    std::vector<std::uint8_t> output(input.size());
    run(iv, input, output);
    return output;
}

void require_equal(std::span<const std::uint8_t> expected, std::span<const std::uint8_t> actual,
                   const std::string& what) {
    if (expected.size() != actual.size()) {
        throw Mismatch(fmt::format("{}: {} bytes instead of {}", what, actual.size(), expected.size()));
    }
    if (expected.empty() || std::memcmp(expected.data(), actual.data(), expected.size()) == 0) return;
    const auto at = std::mismatch(expected.begin(), expected.end(), actual.begin()).first - expected.begin();
    throw Mismatch(fmt::format("{}: byte {} of {} is wrong", what, at, expected.size()));
}

void fill_random(std::span<std::uint8_t> bytes, std::uint64_t seed) {
    std::uint64_t state = seed;
    for (std::size_t at = 0; at < bytes.size(); at += 8) {
        std::uint64_t z = state += 0x9e3779b97f4a7c15u;  // splitmix64
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        z ^= z >> 31;
        std::memcpy(bytes.data() + at, &z, std::min<std::size_t>(8, bytes.size() - at));
    }
}

std::vector<std::uint8_t> random_bytes(std::size_t bytes, std::uint64_t seed) {
    std::vector<std::uint8_t> out(bytes);
    fill_random(out, seed);
    return out;
}

}  // namespace lab
