// Runs modes that are composed of other modes, and the random bit generator.
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "composed_oracle.hpp"
#include "evp_oracle.hpp"
#include "memory.hpp"
#include "operations.hpp"
#include "patterns.hpp"
#include "warpaes/drbg.h"

namespace secrets {

void World::composed(warpaes_mode mode, warpaes_direction direction, std::size_t length, unsigned key_length,
                     bool forged) {
    const bool wraps = mode == WARPAES_KW || mode == WARPAES_KWP, encrypts = direction == WARPAES_ENCRYPT;
    warpaes_key* const k = key(key_length);
    warpaes_key* mac_key = nullptr;
    warpaes_message m = WARPAES_MESSAGE_INIT;
    m.mode = mode;
    m.direction = direction;
    m.key = k;
    m.input = encrypts ? plain_ : cipher_;
    m.input_len = length + (wraps && !encrypts ? 8 : 0);
    m.output = encrypts ? cipher_ : out_;
    m.output_capacity = length + 8;
    if (mode == WARPAES_SIV) {
        (void)warpaes_key_create(tweak_keys_ + 32 * (key_length / 8 - 2), key_length, &mac_key);
        m.mac_key = mac_key;
    }
    if (!wraps) {
        m.iv = iv_;
        m.iv_len = 12;
        m.aad = plain_;
        m.aad_len = 1000;
        m.tag = tags_;
        m.tag_len = 16;
    }
    std::uint8_t& changed = wraps ? cipher_[0] : tags_[0];
    if (forged) changed ^= 1;
    expect(warpaes_crypt(engine_, &m, nullptr), "crypt", forged ? WARPAES_ERROR_AUTHENTICATION : WARPAES_OK);
    if (forged) changed ^= 1;
    warpaes_key_destroy(k);
    warpaes_key_destroy(mac_key);
}

/// Searches for the states of drbg(false, true), computed as in section 10.2.1.2 of the standard from an all-zero Key
/// and V.
void World::look_for_drbg() const {
    const bool looked = apart([&] {
        std::vector<std::uint8_t> key(32), counter(16), next;
        const auto count = [&](int steps) {
            while (steps-- > 0) {
                for (std::size_t i = 16; i-- > 0 && ++counter[i] == 0;) {
                }
            }
        };
        const auto update = [&](const std::vector<std::uint8_t>& provided) {
            count(1);
            next = *oracle::evp("CTR", true, key, counter, provided);
            look_for_bytes({next.data() + 32, 16}, "V of CTR_DRBG");
            key.assign(next.begin(), next.begin() + 32);
            look_for_key({key.data(), 32}, "key of CTR_DRBG", {});
            counter.assign(next.begin() + 32, next.end());
        };
        update({keys_, keys_ + 48});
        count(4);  // four blocks: drbg() generates 64 bytes
        update(std::vector<std::uint8_t>(48));
    });
    if (!looked) std::abort();
}

void World::drbg(bool derives, bool briefly) {
    warpaes_drbg_options o = WARPAES_DRBG_OPTIONS_INIT;
    o.flags = derives ? 0 : WARPAES_DRBG_WITHOUT_DF;
    o.entropy = keys_;
    o.entropy_len = 48;
    o.nonce = derives ? tweak_keys_ : nullptr;
    o.nonce_len = derives ? 32 : 0;
    warpaes_drbg* generator = nullptr;
    expect(warpaes_drbg_create(engine_, &o, &generator), "drbg_create");
    expect(warpaes_drbg_generate(generator, out_, 64, nullptr, 0, 0), "drbg_generate");
    if (briefly) return warpaes_drbg_destroy(generator);
    expect(warpaes_drbg_generate(generator, out_, 40000, plain_, 48, 0), "drbg_generate");
    expect(warpaes_drbg_reseed(generator, keys_, 48, plain_, 16), "drbg_reseed");
    expect(warpaes_drbg_generate(generator, out_, 40000, nullptr, 0, WARPAES_DRBG_PREDICTION_RESISTANCE), "drbg");
    warpaes_drbg_destroy(generator);
}

void World::numbers(warpaes_number kind, std::size_t bytes, std::uint8_t* output) {
    warpaes_key* k = nullptr;
    expect(warpaes_key_create(keys_, 32, &k), "key_create");
    warpaes_numbers n = WARPAES_NUMBERS_INIT;
    n.kind = kind;
    n.key = k;
    n.counter = iv_;
    n.output = output;
    n.output_len = bytes;
    expect(warpaes_numbers_fill(engine_, &n, nullptr), "numbers_fill");
    warpaes_key_destroy(k);
}

namespace {

/// Searches for the key stream of random numbers: the first blocks and a thread's last blocks.
void look_for_stream(Bytes key, Bytes counter, std::size_t blocks) {
    constexpr std::size_t taken = (std::size_t{256} << 10) / 16, last = 4;
    const bool looked = apart([&] {
        const std::vector<std::uint8_t> zeros(16 * blocks);
        const auto stream =
            *oracle::evp("CTR", true, {key.begin(), key.end()}, {counter.begin(), counter.end()}, zeros);
        for (std::size_t i = 0; i < blocks; ++i) {
            if (i >= 3 && i % taken < taken - last && i + last < blocks) continue;
            look_for_bytes({stream.data() + 16 * i, 16}, "key stream");
        }
    });
    if (!looked) std::abort();
}

}  // namespace

/// Searches for the keys of a message under `iv_`.
void World::look_for_gcm_siv_keys(unsigned key_length) const {
    const bool looked = apart([&] {
        const auto derived = oracle::gcm_siv::derive(
            {keys_ + 32 * (key_length / 8 - 2), keys_ + 32 * (key_length / 8 - 2) + key_length}, {iv_, iv_ + 12});
        look_for_key(derived.encryption, "key of GCM-SIV", {});
        look_for_bytes(derived.authentication, "authentication key of GCM-SIV");
        std::vector<std::uint8_t> reversed(derived.authentication.rbegin(), derived.authentication.rend());
        look_for_bytes(reversed, "reversed authentication key of GCM-SIV");
    });
    if (!looked) std::abort();
}

void World::composed_into(std::vector<Operation>& all) {
    unsigned turn = 0;
    for (int m = WARPAES_KW; m <= WARPAES_GCM_SIV; ++m) {
        const auto mode = static_cast<warpaes_mode>(m);
        for (const std::size_t length : {32, 208, 5008, 40000}) {
            unsigned key_length = key_lengths[turn++ % 3];
            if (mode == WARPAES_GCM_SIV && key_length == 24) key_length = 32;
            std::function<void()> look;
            if (mode == WARPAES_GCM_SIV) {
                look = [=, this] { look_for_gcm_siv_keys(key_length); };
            }
            for (const int what : {1, 2, 3}) {
                const bool forged = what == 3;
                const auto direction = what == 1 ? WARPAES_ENCRYPT : WARPAES_DECRYPT;
                all.push_back(
                    {text("crypt: mode %d, direction %d, %zu bytes%s", m, direction, length, forged ? ", forged" : ""),
                     [=, this] { composed(mode, direction, length, key_length, forged); }, look});
            }
        }
    }
    all.push_back({"CTR_DRBG, derived", [this] { drbg(true, false); }, {}});
    all.push_back({"CTR_DRBG, state", [this] { drbg(false, true); }, [this] { look_for_drbg(); }});
    all.push_back({"CTR_DRBG", [this] { drbg(false, false); }, {}});
    for (const warpaes_number kind : {WARPAES_BITS, WARPAES_UNIFORM_FLOAT32, WARPAES_NORMAL_FLOAT64}) {
        for (const std::size_t bytes : {48, 400000}) {
            std::function<void()> look;
            if (kind != WARPAES_BITS) {
                look = [=, this] { look_for_stream({keys_, 32}, {iv_, 16}, bytes / 16); };
            }
            all.push_back({text("numbers: kind %d%.0d, %zu bytes%s", kind, 0, bytes, ""),
                           [=, this] { numbers(kind, bytes, out_); }, look});
        }
    }
    for (const warpaes_number kind : {WARPAES_UNIFORM_FLOAT32, WARPAES_NORMAL_FLOAT64}) {
        // The length is large enough that threads other than the caller's take part.
        constexpr std::size_t many = std::size_t{32} << 20;
        all.push_back({text("numbers: kind %d%.0d, %zu bytes%s", kind, 0, many, ""),
                       [=, this] {
                           void* const memory =
                               mmap(nullptr, many, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                           if (memory == MAP_FAILED) std::abort();
                           numbers(kind, many, static_cast<std::uint8_t*>(memory));
                           munmap(memory, many);
                       },
                       [=, this] {
                           look_for_stream({keys_, 32}, {iv_, 16}, many / 16);
                       }});
    }
}

}  // namespace secrets
