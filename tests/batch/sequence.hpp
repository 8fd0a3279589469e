// Random sequences of batches, single calls and contexts under a few keys, whose handles come and go, through
// the C ABI: every result is compared with libcrypto's. What the library keeps of a key from one call to the next, for
// whatever comes then, is all used here.
#pragma once

#include <memory>
#include <string>

#include "abi_batch.hpp"

namespace warpaes::test {

class Sequence {
public:
    /// `device`: memory of a GPU for some of the messages, or null. `random` says what happens and `seed` what the
    /// messages contain.
    Sequence(warpaes_engine* engine, Random random, std::uint32_t seed, const Limits& limits, BatchMemory* device);

    /// What is wrong with the next step; "" if nothing is.
    std::string step();
    /// More keys than any table has room for, with handles and as bytes: what the pool's keys had there is gone.
    std::string flood(std::uint32_t keys);

private:
    [[nodiscard]] GroupSpec any_group(Mode mode);
    [[nodiscard]] GroupSpec any_single(Mode mode);
    [[nodiscard]] BatchMemory& any_memory();
    std::string batch();
    std::string message();
    std::string context();
    std::string pieces(const MessageGroup& g, BatchMemory& text, std::uint64_t false_messages);
    void keys();

    warpaes_engine* engine_;
    Random random_;
    std::uint32_t seed_;
    Limits limits_;
    BatchMemory* device_;
    KeyPool pool_;
    KeyHandles handles_{pool_};
    struct DestroyContext {
        void operator()(warpaes_context* context) const { warpaes_context_destroy(context); }
    };
    std::unique_ptr<warpaes_context, DestroyContext> context_;  ///< for one message after the other
};

}  // namespace warpaes::test
