// Runs arbitrary sequences of calls on a context and compares it with a model. The model keeps the whole message and
// calls libcrypto at the end.
#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

#include "evp_oracle.hpp"
#include "handles.hpp"

namespace {

using namespace fuzz;

constexpr std::size_t key_lengths[] = {16, 24, 32};

constexpr ModeTraits other_modes[] = {{WARPAES_GCM, "GCM", false, false},
                                      {WARPAES_CCM, "CCM", false, false},
                                      {WARPAES_CMAC, "CMAC", false, false},
                                      {WARPAES_XTS, "XTS", false, false}};

/// The inputs and outputs of the context up to now.
struct Model {
    const ModeTraits* mode = nullptr;
    bool encrypt = true;
    bool padded = false;
    Bytes iv;
    Bytes aad;
    Bytes expected_tag;  ///< the tag passed to set_tag
    Bytes input;
    Bytes output;
    std::size_t unit = 0;                         ///< XTS only: the length of a data unit
    std::size_t text_length = 0, aad_length = 0;  ///< CCM only: the announced lengths
    std::uint64_t skipped = 0;                    ///< CTR only: the position passed to seek()
    bool open = false;                            ///< true from init or set_iv until final
};

class Machine {
public:
    explicit Machine(Input& in) : in_(in), engine_(any_engine(in)) {
        key_bytes_ = in.bytes(in.pick(key_lengths));
        key_ = make_key(key_bytes_);
        tweak_bytes_ = key_bytes_;
        tweak_bytes_[0] ^= 1;
        tweak_key_ = make_key(tweak_bytes_);
        warpaes_context* made = nullptr;
        expect_ok(warpaes_context_create(engine_, &made), "context_create");
        context_.reset(made);
    }

    void step() {
        switch (in_.below(21)) {
        case 0:
            init();
            break;
        case 1:
            set_iv();
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
        case 6:
            add_aad();
            break;
        case 7:
            tags();
            break;
        case 8:
            get_iv();
            break;
        default:
            update();
            break;
        }
    }

    void finish() {
        const std::size_t most = std::max<std::size_t>(16, model_.unit);
        Bytes out(in_.below(8) == 0 ? in_.below(most) : most);
        std::size_t written = 99;
        const warpaes_status status = warpaes_context_final(context_.get(), out.data(), out.size(), &written);
        if (!model_.open) {
            require(status == WARPAES_ERROR_STATE, "final without a message");
            return;
        }
        if (status == WARPAES_ERROR_BUFFER_TOO_SMALL) {
            require(written > out.size() && written <= most, "the capacity that final reports");
            return;
        }
        check_end(status, out, written);
        // After a refused call, the message may continue. Success or a wrong tag ends the message.
        model_.open = status != WARPAES_OK && status != WARPAES_ERROR_AUTHENTICATION;
    }

private:
    void init() {
        model_ = {};
        model_.mode = in_.flag() ? &in_.pick(other_modes) : &in_.pick(plain_modes);
        if (is(WARPAES_XTS) && key_bytes_.size() == 24) model_.mode = &plain_modes[0];
        model_.encrypt = in_.flag();
        model_.padded = model_.mode->whole_blocks && in_.flag();
        model_.iv = any_iv();
        warpaes_context_options o = WARPAES_CONTEXT_OPTIONS_INIT;
        o.mode = model_.mode->mode;
        o.direction = model_.encrypt ? WARPAES_ENCRYPT : WARPAES_DECRYPT;
        o.key = key_.get();
        o.iv = model_.iv.empty() ? nullptr : model_.iv.data();
        o.iv_len = model_.iv.size();
        o.flags = model_.padded ? std::uint32_t{WARPAES_PKCS7} : 0u;
        if (is(WARPAES_XTS)) {
            o.tweak_key = tweak_key_.get();
            o.data_unit_len = model_.unit = 16 + in_.below(100);
        }
        if (is(WARPAES_CCM)) {
            o.text_len = model_.text_length = in_.below(200);
            o.aad_len = model_.aad_length = in_.below(3) * in_.below(40);
            o.tag_len = 12;
        }
        expect_ok(warpaes_context_init(context_.get(), &o), "init");
        model_.open = true;
    }

    void set_iv() {
        const Bytes iv = any_iv();
        const warpaes_status status =
            warpaes_context_set_iv(context_.get(), iv.empty() ? nullptr : iv.data(), iv.size());
        if (model_.mode == nullptr) {
            require(status == WARPAES_ERROR_STATE, "set_iv before init");
            return;
        }
        expect_ok(status, "set_iv");
        model_.iv = iv;
        model_.aad.clear();
        model_.expected_tag.clear();
        model_.input.clear();
        model_.output.clear();
        model_.skipped = 0;
        model_.open = true;
    }

    [[nodiscard]] bool is(warpaes_mode mode) const { return model_.mode != nullptr && model_.mode->mode == mode; }
    [[nodiscard]] bool has_tag() const { return is(WARPAES_GCM) || is(WARPAES_CCM) || is(WARPAES_CMAC); }

    Bytes any_iv() {
        if (is(WARPAES_GCM)) return in_.bytes(in_.below(4) != 0 ? 12 : 1 + in_.below(40));
        if (is(WARPAES_CCM)) return in_.bytes(7 + in_.below(7));
        return in_.bytes(is(WARPAES_ECB) || is(WARPAES_CMAC) ? 0 : 16);
    }

    void add_aad() {
        std::size_t length = 1 + in_.below(in_.below(8) == 0 ? 900 : 40);
        // For CCM, this is usually all of the announced associated data, because text is refused until all of it has
        // arrived.
        if (is(WARPAES_CCM) && model_.aad.size() < model_.aad_length && in_.below(8) != 0) {
            length = model_.aad_length - model_.aad.size();
        }
        const Bytes piece = in_.bytes(length);
        const warpaes_status status = warpaes_context_aad(context_.get(), piece.data(), piece.size());
        if (!model_.open || !has_tag() || is(WARPAES_CMAC) || !model_.input.empty()) {
            require(status == WARPAES_ERROR_STATE, "associated data in the wrong state");
            return;
        }
        if (is(WARPAES_CCM) && model_.aad.size() + piece.size() > model_.aad_length) {
            require(status == WARPAES_ERROR_DATA_LENGTH, "more associated data than announced");
            return;
        }
        expect_ok(status, "aad");
        model_.aad.insert(model_.aad.end(), piece.begin(), piece.end());
    }

    /// Sets the right tag of the message so far, or a wrong tag.
    void tags() {
        Bytes tag(16);
        if (model_.open && has_tag() && !model_.encrypt) {
            tag = right().tag;
            if (in_.below(4) == 0) tag[in_.below(12)] ^= 1;
        }
        tag.resize(!is(WARPAES_CCM) && in_.flag() ? 16 : 12);
        const warpaes_status set = warpaes_context_set_tag(context_.get(), tag.data(), tag.size());
        require((set == WARPAES_OK) == (model_.open && has_tag() && !model_.encrypt), "set_tag in the wrong state");
        if (set == WARPAES_OK) model_.expected_tag = tag;
        if (model_.open || !has_tag() || !model_.encrypt) {
            require(warpaes_context_get_tag(context_.get(), tag.data(), tag.size()) != WARPAES_OK,
                    "get_tag in the wrong state");
        }
    }

    [[nodiscard]] oracle::Sealed sealed(const Bytes& text) const {
        if (is(WARPAES_CMAC)) return {{}, oracle::evp_cmac(key_bytes_, text)};
        const bool gcm = is(WARPAES_GCM);
        return oracle::seal({.mode = gcm ? "GCM" : "CCM",
                             .key = key_bytes_,
                             .iv = model_.iv,
                             .aad = model_.aad,
                             .text = text,
                             .tag_bytes = gcm ? std::size_t{16} : std::size_t{12}});
    }
    /// Returns the expected output for the input so far, with its tag. The plaintext is computed by encrypting the
    /// ciphertext, because encryption and decryption are the same operation in CTR.
    [[nodiscard]] oracle::Sealed right() const {
        oracle::Sealed made = sealed(model_.input);
        if (!model_.encrypt && !is(WARPAES_CMAC)) made.tag = sealed(made.text).tag;
        return made;
    }

    void get_iv() {
        Bytes iv(16);
        const warpaes_status status = warpaes_context_get_iv(context_.get(), iv.data());
        const bool never = model_.mode == nullptr || is(WARPAES_ECB) || has_tag();
        require(status == WARPAES_OK || status == WARPAES_ERROR_STATE, "the status of get_iv");
        require(status != WARPAES_OK || (model_.open && !never), "get_iv in the wrong state");
        // Continues the message in a copy of the context that is initialized with the current IV. CTR is excluded,
        // because its IV is also the origin of seek().
        if (status != WARPAES_OK || is(WARPAES_CTR) || in_.flag()) return;
        warpaes_context* made = nullptr;
        expect_ok(warpaes_context_copy(context_.get(), &made), "copy");
        context_.reset(made);
        expect_ok(warpaes_context_set_iv(context_.get(), iv.data(), iv.size()), "set_iv with the result of get_iv");
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
        const warpaes_context_options unknown = WARPAES_CONTEXT_OPTIONS_INIT;
        require(warpaes_context_init(context_.get(), &unknown) != WARPAES_OK, "an unknown mode");
        if (!model_.open) return;
        // The interface does not define whether a refused call ends the message, so the target starts another message.
        set_iv();
    }

    void update() {
        std::size_t length = in_.below(in_.below(8) == 0 ? 3000 : 70);
        if (is(WARPAES_CCM) && in_.below(8) != 0) length = std::min(length, model_.text_length - model_.input.size());
        Bytes text = in_.bytes(length);
        text.shrink_to_fit();
        const bool in_place = in_.below(4) == 0;
        const bool tight = in_.below(8) == 0;
        Bytes out(tight ? in_.below(text.size() + 1) : text.size() + std::max<std::size_t>(16, model_.unit));
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
            require(written > out.size(), "the capacity that update reports");
            require(tight || in_place, "update needs more capacity than it reports");
            return;  // nothing was consumed
        }
        if (is(WARPAES_CCM) && !text.empty() && model_.aad.size() != model_.aad_length) {
            require(status == WARPAES_ERROR_STATE, "text before all associated data");
            return;
        }
        if (is(WARPAES_CCM) && model_.input.size() + text.size() > model_.text_length) {
            require(status == WARPAES_ERROR_DATA_LENGTH, "more text than was announced");
            return;
        }
        expect_ok(status, "update");
        require(written <= out.size(), "more output than the capacity");
        model_.input.insert(model_.input.end(), text.begin(), text.end());
        model_.output.insert(model_.output.end(), out.begin(), out.begin() + static_cast<std::ptrdiff_t>(written));
    }

    void check_end_with_tag(warpaes_status status) {
        if (!model_.encrypt && model_.expected_tag.empty()) {
            require(status == WARPAES_ERROR_STATE, "final without the expected tag");
            return;
        }
        if (is(WARPAES_CCM) && model_.aad.size() != model_.aad_length) {
            require(status == WARPAES_ERROR_STATE, "final without all associated data");
            return;
        }
        if (is(WARPAES_CCM) && model_.input.size() != model_.text_length) {
            require(status == WARPAES_ERROR_DATA_LENGTH, "final without all of the text");
            return;
        }
        const oracle::Sealed wanted = right();
        if (!model_.encrypt) {
            Bytes tag = wanted.tag;
            tag.resize(model_.expected_tag.size());
            require((status == WARPAES_OK) == (tag == model_.expected_tag), "the tag's verdict");
            require(status == WARPAES_OK || status == WARPAES_ERROR_AUTHENTICATION, "the status of a wrong tag");
        }
        require(model_.output == wanted.text, model_.mode->name);
        if (!model_.encrypt) return;
        expect_ok(status, "final with a tag");
        Bytes tag(wanted.tag.size());
        expect_ok(warpaes_context_get_tag(context_.get(), tag.data(), tag.size()), "get_tag");
        require(tag == wanted.tag, "tag");
    }

    void check_end(warpaes_status status, const Bytes& out, std::size_t written) {
        const Model& m = model_;
        if (has_tag()) return check_end_with_tag(status);
        if (m.unit != 0) {
            const std::size_t rest = m.input.size() % m.unit;
            if (rest != 0 && rest < 16) {
                require(status == WARPAES_ERROR_DATA_LENGTH, "a data unit that is too short");
                return;
            }
            expect_ok(status, "final of XTS");
            Bytes got = m.output;
            got.insert(got.end(), out.begin(), out.begin() + static_cast<std::ptrdiff_t>(written));
            require(got == oracle::xts(m.encrypt, key_bytes_, tweak_bytes_, m.iv, m.unit, m.input), "XTS");
            return;
        }
        const bool whole = m.input.size() % 16 == 0;
        if (m.mode->whole_blocks && !whole && !(m.padded && m.encrypt)) {
            require(status == WARPAES_ERROR_DATA_LENGTH, "an incomplete block was accepted");
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
        require(written <= out.size(), "final wrote too much");
        got.insert(got.end(), out.begin(), out.begin() + static_cast<std::ptrdiff_t>(written));
        require(got == Bytes(expected->begin() + static_cast<std::ptrdiff_t>(m.skipped), expected->end()),
                m.mode->name);
    }

    Input& in_;
    warpaes_engine* engine_;
    Bytes key_bytes_, tweak_bytes_;
    Key key_, tweak_key_;
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
