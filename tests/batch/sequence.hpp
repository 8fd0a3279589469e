// Random sequences of batches, single calls and contexts through the C ABI, under a few keys. Handles for the keys are
// created and destroyed during a sequence. Every result is compared with libcrypto's. The sequences use all state that
// the library caches for a key between calls.
#pragma once

#include <memory>
#include <string>

#include "abi_batch.hpp"

namespace warpaes::test {

class Sequence {
public:
    /// `device` is GPU memory for some of the messages, or null. `random` determines the operations and `seed` the
    /// contents of the messages.
    Sequence(warpaes_engine* engine, Random random, std::uint32_t seed, const Limits& limits, BatchMemory* device);

    /// Executes the next step and returns the fault that it found, or "".
    std::string step();
    /// Uses more keys than any table has room for, as handles and as bytes, so that the pool's keys are evicted.
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
    std::unique_ptr<warpaes_context, DestroyContext> context_;  ///< reused for successive messages
};

}  // namespace warpaes::test
