// A context under any sequence of calls, beside a model that keeps the whole message and asks libcrypto in the end.
#include <cstring>
#include <memory>
#include <optional>

#include "handles.hpp"
#include "oracles.hpp"

namespace {

using namespace fuzz;

constexpr std::size_t key_lengths[] = {16, 24, 32};

constexpr ModeTraits gcm_mode = {WARPAES_GCM, "GCM", false, false};

/// What the context has been told, and what it has given.
struct Model {
    const ModeTraits* mode = nullptr;
    bool encrypt = true;
    bool padded = false;
    Bytes iv;
    Bytes aad;
    Bytes expected_tag;  ///< of set_tag
    Bytes input;
    Bytes output;
    std::uint64_t skipped = 0;  ///< CTR: the position of seek()
    bool open = false;          ///< between init or reset and final
};

class Machine {
public:
    explicit Machine(Input& in) : in_(in), engine_(any_engine(in)) {
        key_bytes_ = in.bytes(in.pick(key_lengths));
        key_ = make_key(key_bytes_);
        warpaes_context* made = nullptr;
        expect_ok(warpaes_context_create(engine_, &made), "context_create");
        context_.reset(made);
    }

    void step() {
        switch (in_.below(19)) {
        case 0:
            init();
            break;
        case 1:
            reset();
            break;
        case 2:
            seek();
            break;
        case 3:
            copy();
            break;
        case 4:
            finish();
            break;
        case 5:
            nonsense();
            break;
        default:
            update();
            break;
        }
    }

    void finish() {
        Bytes out(in_.below(8) == 0 ? in_.below(16) : 16);
        std::size_t written = 99;
        const warpaes_status status = warpaes_context_final(context_.get(), out.data(), out.size(), &written);
        if (!model_.open) {
            require(status == WARPAES_ERROR_STATE, "final without a message");
            return;
        }
        if (status == WARPAES_ERROR_BUFFER_TOO_SMALL) {
            require(written > out.size() && written <= 16, "the room that final asks for");
            return;
        }
        check_end(status, out, written);
        // Who was refused may go on; a wrong tag is the end.
        model_.open = status != WARPAES_OK && status != WARPAES_ERROR_AUTHENTICATION;
    }

private:
    void init() {
        model_ = {};
        model_.mode = in_.below(4) == 0 ? &gcm_mode : &in_.pick(plain_modes);
        model_.encrypt = in_.flag();
        model_.padded = model_.mode->whole_blocks && in_.flag();
        model_.iv = any_iv();
        expect_ok(
            warpaes_context_init(context_.get(), model_.mode->mode, model_.encrypt ? WARPAES_ENCRYPT : WARPAES_DECRYPT,
                                 key_.get(), model_.iv.empty() ? nullptr : model_.iv.data(), model_.iv.size(),
                                 model_.padded ? std::uint32_t{WARPAES_PKCS7} : 0u),
            "init");
        model_.open = true;
    }

    void reset() {
        const Bytes iv = any_iv();
        const warpaes_status status =
            warpaes_context_reset(context_.get(), iv.empty() ? nullptr : iv.data(), iv.size());
        if (model_.mode == nullptr) {
            require(status == WARPAES_ERROR_STATE, "reset before init");
            return;
        }
        expect_ok(status, "reset");
        model_.iv = iv;
        model_.aad.clear();
        model_.expected_tag.clear();
        model_.input.clear();
        model_.output.clear();
        model_.skipped = 0;
        model_.open = true;
    }

    [[nodiscard]] bool is_gcm() const { return model_.mode == &gcm_mode; }

    Bytes any_iv() {
        if (is_gcm()) return in_.bytes(in_.below(4) != 0 ? 12 : 1 + in_.below(40));
        return in_.bytes(model_.mode != nullptr && model_.mode->mode == WARPAES_ECB ? 0 : 16);
    }

    void add_aad() {
        const Bytes piece = in_.bytes(1 + in_.below(in_.below(8) == 0 ? 900 : 40));
        const warpaes_status status = warpaes_context_aad(context_.get(), piece.data(), piece.size());
        if (!model_.open || !is_gcm() || !model_.input.empty()) {
            require(status == WARPAES_ERROR_STATE, "associated data out of turn");
            return;
        }
        expect_ok(status, "aad");
        model_.aad.insert(model_.aad.end(), piece.begin(), piece.end());
    }

    /// The right tag of what has gone by, or a wrong one.
    void tags() {
        Bytes tag(16);
        if (model_.open && is_gcm() && !model_.encrypt) {
            tag = right_tag();
            if (in_.below(4) == 0) tag[in_.below(12)] ^= 1;
        }
        tag.resize(in_.flag() ? 16 : 12);
        const warpaes_status set = warpaes_context_set_tag(context_.get(), tag.data(), tag.size());
        require((set == WARPAES_OK) == (model_.open && is_gcm() && !model_.encrypt), "set_tag out of turn");
        if (set == WARPAES_OK) model_.expected_tag = tag;
        if (model_.open || !is_gcm() || !model_.encrypt) {
            require(warpaes_context_get_tag(context_.get(), tag.data(), tag.size()) != WARPAES_OK,
                    "get_tag out of turn");
        }
    }

    /// libcrypto gives the text behind a ciphertext by encrypting it, which in CTR is the same.
    Bytes right_tag() {
        const Bytes text = gcm(key_bytes_, model_.iv, model_.aad, model_.input).text;
        return gcm(key_bytes_, model_.iv, model_.aad, text).tag;
    }

    void seek() {
        const std::uint64_t to = in_.below(1000);
        const warpaes_status status = warpaes_context_seek(context_.get(), to);
        if (!model_.open || model_.mode->mode != WARPAES_CTR) {
            require(status != WARPAES_OK, "seek outside of CTR");
            return;
        }
        expect_ok(status, "seek");
        model_.input.clear();
        model_.output.clear();
        model_.skipped = to;
    }

    void copy() {
        warpaes_context* made = nullptr;
        const warpaes_status status = warpaes_context_copy(context_.get(), &made);
        expect_ok(status, "copy");
        Context copied(made);
        if (in_.flag()) context_.swap(copied);
    }

    void nonsense() {
        std::size_t written = 0;
        require(warpaes_context_update(context_.get(), nullptr, 1 + in_.below(100), nullptr, 0, &written) != WARPAES_OK,
                "update from nowhere");
        require(warpaes_context_init(context_.get(), static_cast<warpaes_mode>(0), WARPAES_ENCRYPT, key_.get(), nullptr,
                                     0, 0) != WARPAES_OK,
                "an unknown mode");
        if (!model_.open) return;
        // Whether a call that was refused ends a message is not said: start another.
        reset();
    }

    void update() {
        Bytes text = in_.bytes(in_.below(in_.below(8) == 0 ? 3000 : 70));
        text.shrink_to_fit();
        const bool in_place = in_.below(4) == 0;
        const bool tight = in_.below(8) == 0;
        Bytes out(tight ? in_.below(text.size() + 1) : text.size() + 16);
        if (in_place) out = text;
        std::size_t written = 99;
        const std::uint8_t* from = in_place ? out.data() : text.data();
        const warpaes_status status =
            warpaes_context_update(context_.get(), from, text.size(), out.data(), out.size(), &written);
        if (!model_.open) {
            require(status == WARPAES_ERROR_STATE, "update without a message");
            return;
        }
        if (status == WARPAES_ERROR_BUFFER_TOO_SMALL) {
            require(written > out.size(), "the room that update asks for");
            require(tight || in_place, "update wants more room than it says");
            return;  // nothing was consumed
        }
        expect_ok(status, "update");
        require(written <= out.size(), "more output than there is room for");
        model_.input.insert(model_.input.end(), text.begin(), text.end());
        model_.output.insert(model_.output.end(), out.begin(), out.begin() + static_cast<std::ptrdiff_t>(written));
    }

    void check_end_of_gcm(warpaes_status status) {
        if (!model_.encrypt && model_.expected_tag.empty()) {
            require(status == WARPAES_ERROR_STATE, "final without the tag to expect");
            return;
        }
        if (!model_.encrypt) {
            Bytes tag = right_tag();
            tag.resize(model_.expected_tag.size());
            require((status == WARPAES_OK) == (tag == model_.expected_tag), "the tag's verdict");
            require(status == WARPAES_OK || status == WARPAES_ERROR_AUTHENTICATION, "the status of a wrong tag");
        }
        const Sealed sealed = gcm(key_bytes_, model_.iv, model_.aad, model_.input);
        require(model_.output == sealed.text, "GCM: text");
        if (!model_.encrypt) return;
        expect_ok(status, "final of GCM");
        Bytes tag(16);
        expect_ok(warpaes_context_get_tag(context_.get(), tag.data(), tag.size()), "get_tag");
        require(tag == sealed.tag, "GCM: tag");
    }

    void check_end(warpaes_status status, const Bytes& out, std::size_t written) {
        const Model& m = model_;
        if (is_gcm()) return check_end_of_gcm(status);
        const bool whole = m.input.size() % 16 == 0;
        if (m.mode->whole_blocks && !whole && !(m.padded && m.encrypt)) {
            require(status == WARPAES_ERROR_DATA_LENGTH, "half a block was accepted");
            return;
        }
        Bytes text(static_cast<std::size_t>(m.skipped));
        text.insert(text.end(), m.input.begin(), m.input.end());
        const auto expected = oracle::evp(m.mode->name, m.encrypt, key_bytes_, m.iv, text, m.padded);
        if (!expected) {
            require(status == WARPAES_ERROR_PADDING || (text.empty() && status == WARPAES_ERROR_DATA_LENGTH),
                    "wrong padding was accepted");
            return;
        }
        expect_ok(status, "final");
        Bytes got = m.output;
        require(written <= out.size(), "final writes too much");
        got.insert(got.end(), out.begin(), out.begin() + static_cast<std::ptrdiff_t>(written));
        require(got == Bytes(expected->begin() + static_cast<std::ptrdiff_t>(m.skipped), expected->end()),
                m.mode->name);
    }

    Input& in_;
    warpaes_engine* engine_;
    Bytes key_bytes_;
    Key key_;
    Context context_;
    Model model_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Input in(data, size);
    Machine machine(in);
    for (int steps = 0; steps < 40 && !in.empty(); ++steps) machine.step();
    machine.finish();
    return 0;
}
