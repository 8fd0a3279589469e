// A message that arrives in pieces of any size.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "base/secret.hpp"
#include "engine/engine.hpp"
#include "message/gcm_stream.hpp"
#include "message/mac_stream.hpp"
#include "message/message.hpp"
#include "message/unit_stream.hpp"

namespace warpaes {

/// The common properties of a context's messages.
struct ContextKind {
    Mode mode = Mode::ecb;
    Direction direction = Direction::encrypt;
    bool pkcs7 = false;
    DataUnits data_units{};        ///< XTS
    CcmStream::Lengths lengths{};  ///< CCM
};

/// Implements warpaes_context_* of the C ABI. Copyable; a copy continues independently.
class Context {
public:
    explicit Context(Engine& engine) : engine_(&engine) {}

    [[nodiscard]] const ContextKind& kind() const noexcept { return kind_; }
    /// After this call, the context has neither a key nor a message.
    void init(const ContextKind& kind);
    void set_key(const ExpandedKey& key, const ExpandedKey* tweak_key);
    /// Starts a message.
    void set_iv(std::span<const std::uint8_t> iv);
    [[nodiscard]] Block iv() const;
    void seek(std::uint64_t offset);
    /// Sets `written` to the number of bytes written; with Error{BUFFER_TOO_SMALL}, to the required capacity. If the
    /// call throws, it consumes nothing.
    void update(const std::uint8_t* input, std::size_t length, std::uint8_t* output, std::size_t capacity,
                std::size_t& written);
    [[nodiscard]] Refusal final(std::uint8_t* output, std::size_t capacity, std::size_t& written);
    // GCM, CCM, CMAC:
    void aad(const std::uint8_t* data, std::size_t length);
    void get_tag(std::span<std::uint8_t> tag) const;
    void set_tag(std::span<const std::uint8_t> tag);

private:
    enum class Phase { idle, ready, open, done };

    /// The state that changes as text passes through a mode with a key stream. A call changes a copy, which replaces
    /// the state only if the call succeeds.
    struct State {
        Block chain{};
        /// The key stream of the current block. CFB128 overwrites it with the ciphertext of the processed bytes.
        Block partial{};
        std::size_t used = 0;  ///< number of used bytes of `partial`
    };

    /// Calls `step` with a copy of `part`; the copy replaces `part` if `step` does not throw.
    template <typename Part, typename Step>
    static void change(Part& part, const Step& step) {
        Part next = part;
        step(next);
        part = std::move(next);
    }

    void require_open() const;
    void require_tagged() const;
    void check_tag(std::size_t length) const;
    [[nodiscard]] Refusal final_tagged();
    [[nodiscard]] Secret<Block> made_tag() const;
    /// Returns the mode in which stretches of the text are processed.
    [[nodiscard]] Mode stretch_mode() const noexcept { return kind_.mode == Mode::ccm ? Mode::ctr : kind_.mode; }
    [[nodiscard]] MessageGroup run_from(const State& state, const std::uint8_t* input, std::uint8_t* output,
                                        std::uint64_t bytes) const;
    /// Ends an ECB or CBC message, with or without padding.
    [[nodiscard]] Refusal final_block(std::uint8_t* output, std::size_t capacity, std::size_t& written) const;
    void update_ccm(CcmStream& ccm, const std::uint8_t* input, std::size_t length, std::uint8_t* output);
    void update_stream(State& state, const std::uint8_t* input, std::size_t length, std::uint8_t* output) const;
    void next_key_stream_block(State& state) const;

    Engine* engine_;
    Phase phase_ = Phase::idle;
    ContextKind kind_;
    const ExpandedKey* key_ = nullptr;
    const ExpandedKey* tweak_key_ = nullptr;
    Block iv_{};
    Secret<State> state_;
    GcmStream gcm_;
    CcmStream ccm_;
    MacStream mac_;               ///< CMAC
    UnitStream units_;            ///< ECB, CBC, XTS
    Secret<Block> tag_;           ///< encryption: the tag of the finished message; decryption: the expected tag
    std::size_t tag_length_ = 0;  ///< 0: no tag set
};

}  // namespace warpaes
