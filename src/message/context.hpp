// A message that arrives in pieces of any size.
#pragma once

#include <cstdint>
#include <span>

#include "base/secret.hpp"
#include "engine/engine.hpp"
#include "message/gcm_stream.hpp"
#include "message/message.hpp"

namespace warpaes {

/// See warpaes_context_* in the C ABI. Copyable; a copy goes on independently.
class Context {
public:
    explicit Context(Engine& engine) : engine_(&engine) {}

    void init(Mode mode, Direction direction, const ExpandedKey& key, std::span<const std::uint8_t> iv, bool pkcs7);
    void reset(std::span<const std::uint8_t> iv);
    void seek(std::uint64_t offset);
    /// `written`: what was written; with Error{BUFFER_TOO_SMALL}, what there must be room for. Nothing is consumed if
    /// it throws.
    void update(const std::uint8_t* input, std::size_t length, std::uint8_t* output, std::size_t capacity,
                std::size_t& written);
    void final(std::uint8_t* output, std::size_t capacity, std::size_t& written);
    // GCM:
    void aad(const std::uint8_t* data, std::size_t length);
    void get_tag(std::span<std::uint8_t> tag) const;
    void set_tag(std::span<const std::uint8_t> tag);

private:
    enum class Phase { idle, open, done };

    /// What changes as the message goes by; a call works on a copy and keeps it only when it has succeeded.
    struct State {
        Block chain{};
        /// ECB and CBC: input that does not fill a block yet (or is held back because it may be the padded last one).
        /// CTR, OFB, CFB128: the key stream of the block in hand, for CFB128 overwritten by ciphertext as it goes by.
        Block partial{};
        std::size_t used = 0;  ///< bytes of `partial` that are there (ECB, CBC) or spent (the others)
    };

    void require_open() const;
    void require_gcm() const;
    void start(std::span<const std::uint8_t> iv);
    void final_gcm();
    [[nodiscard]] MessageGroup run_from(const State& state, const std::uint8_t* input, std::uint8_t* output,
                                        std::uint64_t bytes) const;
    void update_blocks(State& state, const std::uint8_t* input, std::size_t length, std::uint8_t* output,
                       std::size_t capacity, std::size_t& written) const;
    void update_stream(State& state, const std::uint8_t* input, std::size_t length, std::uint8_t* output) const;
    void next_key_stream_block(State& state) const;

    Engine* engine_;
    Phase phase_ = Phase::idle;
    Mode mode_ = Mode::ecb;
    Direction direction_ = Direction::encrypt;
    const ExpandedKey* key_ = nullptr;
    bool pkcs7_ = false;
    Block iv_{};
    Secret<State> state_;
    GcmStream gcm_;
    Secret<Block> tag_;           ///< GCM: encryption, of the message that has ended; decryption, the one to expect
    std::size_t tag_length_ = 0;  ///< 0: there is none
};

}  // namespace warpaes
