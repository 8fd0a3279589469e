#include "cpu/libcrypto.hpp"

#include <openssl/crypto.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <string>

#include "aes/xts.hpp"
#include "base/error.hpp"
#include "base/library_context.hpp"
#include "base/stack_depth.hpp"

namespace warpaes::cpu {

namespace {

[[noreturn]] void fail(const std::string& call) {
    throw Error(WARPAES_ERROR_INTERNAL, "libcrypto: " + call + " failed");
}

void require(int result, const char* call) {
    if (result != 1) fail(call);
}

}  // namespace

EvpOperation::EvpOperation(Mode mode, Direction direction, int rounds, const std::uint8_t* key, const std::uint8_t* iv)
    : context_(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free) {
    note_stack_depth(libcrypto_stack);
    if (!context_) throw Error(WARPAES_ERROR_OUT_OF_MEMORY, "libcrypto: cannot allocate a cipher context");
    require(EVP_CipherInit_ex2(context_.get(), libcrypto_cipher(mode, rounds), key, iv,
                               direction == Direction::encrypt ? 1 : 0, nullptr),
            "EVP_CipherInit_ex2");
    // With padding enabled, decryption would hold back the last block.
    const bool may_be_padded = direction == Direction::decrypt && (mode == Mode::ecb || mode == Mode::cbc);
    if (may_be_padded) EVP_CIPHER_CTX_set_padding(context_.get(), 0);
}

void EvpOperation::set_iv_length(std::size_t bytes) {
    require(EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_SET_IVLEN, static_cast<int>(bytes), nullptr),
            "EVP_CTRL_AEAD_SET_IVLEN");
}

void EvpOperation::start(const Block& iv) {
    require(EVP_CipherInit_ex2(context_.get(), nullptr, nullptr, iv.data(), -1, nullptr), "EVP_CipherInit_ex2");
}

void EvpOperation::update(const std::uint8_t* input, std::uint8_t* output, std::uint64_t bytes) {
    constexpr std::uint64_t most = std::uint64_t{1} << 30;  // lengths are int in EVP
    while (bytes != 0) {
        const std::uint64_t n = std::min(bytes, most);
        int written = 0;
        require(EVP_CipherUpdate(context_.get(), output, &written, input, static_cast<int>(n)), "EVP_CipherUpdate");
        if (static_cast<std::uint64_t>(written) != n) fail("EVP_CipherUpdate");
        input += n;
        if (output != nullptr) output += n;
        bytes -= n;
    }
}

void EvpOperation::update_bits(const std::uint8_t* input, std::uint8_t* output, int bits) {
    EVP_CIPHER_CTX_set_flags(context_.get(), EVP_CIPH_FLAG_LENGTH_BITS);
    std::uint8_t result = 0;
    int written = 0;
    require(EVP_CipherUpdate(context_.get(), &result, &written, input, bits), "EVP_CipherUpdate");
    *output = result;
}

Block EvpOperation::finish() {
    Block tag{};
    int written = 0;
    require(EVP_CipherFinal_ex(context_.get(), tag.data(), &written), "EVP_CipherFinal_ex");
    require(EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_GET_TAG, block_bytes, tag.data()),
            "EVP_CTRL_AEAD_GET_TAG");
    return tag;
}

namespace {

/// XTS: EVP accepts one data unit per call, and both keys concatenated.
void run_xts(const Run& run) {
    Secret<std::array<std::uint8_t, 64>> keys;
    std::copy(run.tweak_key->bytes().begin(), run.tweak_key->bytes().end(),
              std::copy(run.key->bytes().begin(), run.key->bytes().end(), keys->begin()));
    EvpOperation operation(run.mode, run.direction, run.key->rounds(), keys->data(), run.chain.data());
    Tweak number = load_tweak(run.chain);
    for (std::uint64_t at = 0; at < run.length; at += run.data_units.bytes) {
        if (at != 0) operation.start(store_tweak(number));
        operation.update(run.input + at, run.output + at, std::min(run.data_units.bytes, run.length - at));
        number = add(number, run.data_units.step);
    }
}

}  // namespace

const EVP_CIPHER* libcrypto_cipher(Mode mode, int rounds) {
    static std::array<std::atomic<EVP_CIPHER*>, mode_values * 3> cache{};
    auto& slot = cache[static_cast<std::size_t>(mode) * 3 + static_cast<std::size_t>(rounds - 10) / 2];
    if (EVP_CIPHER* cached = slot.load(std::memory_order_acquire)) return cached;

    const std::string name =
        "AES-" + std::to_string(32 * (rounds - 6)) + "-" + (mode == Mode::cfb128 ? "CFB" : traits_of(mode).name);
    EVP_CIPHER* fetched = EVP_CIPHER_fetch(library_context(), name.c_str(), nullptr);
    if (fetched == nullptr) fail("EVP_CIPHER_fetch(" + name + ")");
    EVP_CIPHER* other = nullptr;
    if (slot.compare_exchange_strong(other, fetched, std::memory_order_acq_rel)) return fetched;
    EVP_CIPHER_free(fetched);
    return other;
}

void run_libcrypto(const Run& run) {
    if (run.mode == Mode::xts) return run_xts(run);
    EvpOperation operation(run.mode, run.direction, run.key->rounds(), run.key->bytes().data(),
                           uses_iv(run.mode) ? run.chain.data() : nullptr);
    const std::uint64_t whole = run.length - (run.unused_bits != 0 ? 1 : 0);
    operation.update(run.input, run.output, whole);
    if (whole != run.length) {
        operation.update_bits(run.input + whole, run.output + whole, static_cast<int>(8 - run.unused_bits));
    }
}

std::string libcrypto_version() {
    return std::string("OpenSSL ") + OpenSSL_version(OPENSSL_VERSION_STRING);
}

}  // namespace warpaes::cpu
