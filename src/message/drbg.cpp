#include "message/drbg.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "aes/counter.hpp"
#include "base/error.hpp"
#include "base/kernel_random.hpp"
#include "engine/short_ways.hpp"
#include "warpaes/drbg.h"

namespace warpaes {

namespace {

constexpr std::uint64_t most_input = (std::uint64_t{1} << 32) - 1;  // SP 800-90A, table 3: 2^35 bits, in whole bytes

void ask_kernel(std::span<std::uint8_t> bytes) {
    fill_from_kernel(bytes, "entropy");
}

[[noreturn]] void refuse_length(const char* name, const std::string& allowed, std::uint64_t bytes) {
    throw Error(WARPAES_ERROR_DATA_LENGTH, std::string(name) + ": " + allowed + ", got " + std::to_string(bytes));
}

}  // namespace

Drbg::Drbg(Engine& engine, const Options& options)
    : backend_(engine.plan_on_cpu({.mode = Mode::ctr}, "CTR_DRBG").backend),
      key_bits_(options.key_bits == 0 ? 256 : options.key_bits),
      derives_(options.derives),
      most_requests_(options.most_requests) {
    if (key_bits_ != 128 && key_bits_ != 192 && key_bits_ != 256) {
        throw Error(WARPAES_ERROR_KEY_LENGTH, "key_bits: must be 128, 192 or 256, got " + std::to_string(key_bits_));
    }
    check_input(options.personalization, "personalization");
    Secret<Seed> from_kernel, nonce_from_kernel;
    Input entropy = options.entropy, nonce = options.nonce;
    if (entropy.data() == nullptr) {
        ask_kernel(std::span(*from_kernel).first(seed_bytes()));
        entropy = std::span(*from_kernel).first(seed_bytes());
        if (derives_ && nonce.data() == nullptr) {
            ask_kernel(std::span(*nonce_from_kernel).first(key_bytes()));
            nonce = std::span(*nonce_from_kernel).first(key_bytes());
        }
    }
    check_entropy(entropy);
    if (!derives_ && nonce.data() != nullptr) {
        throw Error(WARPAES_ERROR_ARGUMENT, "nonce: requires the derivation function");
    }
    if (derives_) {
        check_input(nonce, "nonce");
        if (nonce.size() < key_bytes() / 2) {
            refuse_length("nonce", "at least " + std::to_string(key_bytes() / 2) + " bytes", nonce.size());
        }
    }
    const Secret<std::array<std::uint8_t, 32>> zero;
    key_.emplace(Input(*zero).first(key_bytes()));
    update(*seed_of({entropy, nonce, options.personalization}));
    requests_ = 1;
}

void Drbg::reseed(Input entropy, Input additional) {
    check_input(additional, "additional");
    Secret<Seed> from_kernel;
    const bool asks_kernel = entropy.data() == nullptr;
    if (asks_kernel) {
        ask_kernel(std::span(*from_kernel).first(seed_bytes()));
        entropy = std::span(*from_kernel).first(seed_bytes());
    }
    check_entropy(entropy);
    update(*seed_of({entropy, additional}));
    requests_ = 1;
    if (asks_kernel) home_.take_over();  // the caller may have given the parent the same entropy
}

void Drbg::generate(std::span<std::uint8_t> output, Input additional, bool resist_prediction) {
    if (output.size() > WARPAES_DRBG_MOST_BYTES) {
        refuse_length("output_len", "at most 65536 bytes for each request", output.size());
    }
    check_input(additional, "additional");
    if (!home_.is_here() || resist_prediction) {
        reseed({}, additional);
        additional = {};
    }
    if (requests_ > most_requests_) {
        throw Error(WARPAES_ERROR_STATE, "drbg: has answered 2^48 requests; reseed it");
    }
    Secret<Seed> seed;
    if (!additional.empty()) {
        seed = seed_of({additional});
        update(*seed);
    }
    SecretVector made((output.size() + block_bytes - 1) / block_bytes * block_bytes);
    next_blocks(*key_, *v_, made);
    update(*seed);
    ++requests_;
    std::copy_n(made.begin(), output.size(), output.begin());
}

void Drbg::check_input(Input input, const char* name) const {
    const std::uint64_t most = derives_ ? most_input : seed_bytes();
    if (input.size() > most) refuse_length(name, "at most " + std::to_string(most) + " bytes", input.size());
}

void Drbg::check_entropy(Input entropy) const {
    check_input(entropy, "entropy");
    const std::size_t least = derives_ ? key_bytes() : seed_bytes();
    if (entropy.size() < least) {
        refuse_length("entropy", (derives_ ? "at least " : "must be ") + std::to_string(least) + " bytes",
                      entropy.size());
    }
}

Secret<Drbg::Seed> Drbg::seed_of(std::initializer_list<Input> inputs) const {
    if (derives_) return derive(inputs);
    Secret<Seed> sum;
    for (const Input& input : inputs) {
        for (std::size_t i = 0; i < input.size(); ++i) (*sum)[i] = static_cast<std::uint8_t>((*sum)[i] ^ input[i]);
    }
    return sum;
}

/// Block_Cipher_df (SP 800-90A, 10.3.2) and BCC (10.3.3). The BCC values are computed in parallel.
Secret<Drbg::Seed> Drbg::derive(std::initializer_list<Input> inputs) const {
    std::array<std::uint8_t, 32> counted{};
    for (std::size_t i = 0; i < counted.size(); ++i) counted[i] = static_cast<std::uint8_t>(i);
    const ExpandedKey first_key(Input(counted).first(key_bytes()));
    const std::size_t n = seed_bytes() / block_bytes + (seed_bytes() % block_bytes != 0);
    Secret<std::array<Block, 3>> chains;
    for (std::size_t i = 0; i < n; ++i) {
        (*chains)[i][3] = static_cast<std::uint8_t>(i);  // the block with the counter comes first
        encrypt(first_key, (*chains)[i]);
    }
    Secret<Block> block;
    std::size_t used = 0;
    const auto flush = [&] {
        for (std::size_t i = 0; i < n; ++i) {
            for (std::size_t k = 0; k < block_bytes; ++k) {
                (*chains)[i][k] = static_cast<std::uint8_t>((*chains)[i][k] ^ (*block)[k]);
            }
            encrypt(first_key, (*chains)[i]);
        }
        used = 0;
        *block = {};
    };
    const auto add = [&](Input bytes) {
        for (const std::uint8_t byte : bytes) {
            (*block)[used++] = byte;
            if (used == block_bytes) flush();
        }
    };
    std::uint64_t length = 0;
    for (const Input& input : inputs) length += input.size();
    std::array<std::uint8_t, 8> lengths{};  // L and N
    for (unsigned i = 0; i < 4; ++i) {
        lengths[i] = static_cast<std::uint8_t>(length >> (24 - 8 * i));
        lengths[4 + i] = static_cast<std::uint8_t>(seed_bytes() >> (24 - 8 * i));
    }
    static constexpr std::uint8_t end[] = {0x80};
    add(lengths);
    for (const Input& input : inputs) add(input);
    add(end);
    if (used != 0) flush();

    const auto* const made = reinterpret_cast<const std::uint8_t*>(chains->data());
    const ExpandedKey key({made, key_bytes()});
    std::copy_n(made + key_bytes(), block_bytes, block->begin());
    Secret<Seed> seed;
    for (std::size_t at = 0; at < seed_bytes(); at += block_bytes) {
        encrypt(key, *block);
        std::copy_n(block->begin(), std::min(block_bytes, seed_bytes() - at),
                    seed->begin() + static_cast<std::ptrdiff_t>(at));
    }
    return seed;
}

/// CTR_DRBG_Update (10.2.1.2).
void Drbg::update(const Seed& provided) {
    Secret<Seed> next;
    next_blocks(*key_, *v_, std::span(*next).first((seed_bytes() + block_bytes - 1) / block_bytes * block_bytes));
    for (std::size_t i = 0; i < seed_bytes(); ++i) {
        (*next)[i] = static_cast<std::uint8_t>((*next)[i] ^ provided[i]);
    }
    key_.emplace(std::span<const std::uint8_t>(*next).first(key_bytes()));
    std::copy_n(next->begin() + static_cast<std::ptrdiff_t>(key_bytes()), block_bytes, v_->begin());
}

void Drbg::next_blocks(const ExpandedKey& key, Block& v, std::span<std::uint8_t> to) const {
    // CTR mode is not used: its kernels look up tables by the counter, and the counter V is secret.
    Counter counter = load_counter(v);
    for (std::size_t at = 0; at < to.size(); at += block_bytes) {
        counter = add(counter, 1);
        v = store_counter(counter);
        std::memcpy(to.data() + at, v.data(), block_bytes);
    }
    if (!to.empty()) encrypt(key, to);
}

void Drbg::encrypt(const ExpandedKey& key, std::span<std::uint8_t> blocks) const {
    run_blocks(*backend_, Direction::encrypt, key, blocks);
}

}  // namespace warpaes
