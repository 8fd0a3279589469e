// warpaes: random bits by CTR_DRBG (SP 800-90A). C++20 over warpaes/drbg.h.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <warpaes/drbg.h>

#include <algorithm>
#include <warpaes/warpaes.hpp>

namespace warpaes {
inline namespace cpp {

struct DrbgOptions {
    unsigned key_bits = 256;
    bool derivation_function = true;
    ConstBytes entropy{};  ///< if empty, the entropy and the nonce come from the kernel
    ConstBytes nonce{};
    ConstBytes personalization{};
};

/// A generator of random bits. Only one thread at a time may use a generator. The engine must outlive the generator. A
/// call that fails throws Error; warpaes/drbg.h describes lengths and statuses.
class Drbg {
public:
    explicit Drbg(const Engine& engine, const DrbgOptions& options = {}) {
        warpaes_drbg_options raw = WARPAES_DRBG_OPTIONS_INIT;
        raw.key_bits = options.key_bits;
        raw.flags = options.derivation_function ? 0 : WARPAES_DRBG_WITHOUT_DF;
        raw.entropy = options.entropy.data();
        raw.entropy_len = options.entropy.size();
        raw.nonce = options.nonce.data();
        raw.nonce_len = options.nonce.size();
        raw.personalization = options.personalization.data();
        raw.personalization_len = options.personalization.size();
        char error[WARPAES_ERROR_BYTES];
        raw.error = error;
        warpaes_drbg* drbg = nullptr;
        check(warpaes_drbg_create(engine.get(), &raw, &drbg), error);
        handle_.reset(drbg);
    }

    /// Reseeds from `entropy`, or from the kernel if `entropy` is empty.
    void reseed(ConstBytes entropy = {}, ConstBytes additional = {}) {
        check(warpaes_drbg_reseed(get(), entropy.data(), entropy.size(), additional.data(), additional.size()));
    }

    /// Fills `output`, of any length, with requests of 65,536 bytes, each with the same additional input.
    void generate(Bytes output, ConstBytes additional = {}, bool prediction_resistance = false) {
        const std::uint32_t flags = prediction_resistance ? WARPAES_DRBG_PREDICTION_RESISTANCE : 0;
        std::size_t done = 0;
        do {
            const std::size_t n = std::min<std::size_t>(output.size() - done, WARPAES_DRBG_MOST_BYTES);
            check(warpaes_drbg_generate(get(), output.data() + done, n, additional.data(), additional.size(), flags));
            done += n;
        } while (done != output.size());
    }

    [[nodiscard]] warpaes_drbg* get() const noexcept { return handle_.get(); }

private:
    detail::Handle<warpaes_drbg, warpaes_drbg_destroy> handle_;
};

}  // namespace cpp
}  // namespace warpaes
