// Shared code for tests of modes that are composed of other modes, on every CPU backend.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "composed_oracle.hpp"
#include "support.hpp"

namespace abi_tests {

inline Bytes from_hex(const std::string& hex) {
    Bytes bytes;
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
        bytes.push_back(static_cast<std::uint8_t>(std::stoi(hex.substr(i, 2), nullptr, 16)));
    }
    return bytes;
}

inline std::vector<std::string> cpu_backends() {
    std::vector<std::string> names = usable_backends();
    std::erase(names, "cuda");
    return names;
}

/// A message with its expected result.
struct ComposedCase {
    warpaes_mode mode;
    Bytes key{}, mac_key{};
    std::optional<Bytes> iv{};
    std::vector<Bytes> aad{};  ///< a single part is passed as `aad`, several as `aad_list`
    Bytes text{}, sealed{}, tag{};
};

class ComposedTest : public BackendTest {
protected:
    /// A call for `c`, with its buffers.
    struct Message {
        Message(const ComposedCase& c, warpaes_direction direction, const void* input, std::size_t input_len,
                void* output, std::size_t capacity, void* tag)
            : key(make_key(c.key)), mac_key(c.mac_key.empty() ? nullptr : make_key(c.mac_key)) {
            call.mode = c.mode;
            call.direction = direction;
            call.key = key.get();
            call.mac_key = mac_key.get();
            static constexpr std::uint8_t nothing = 0;
            const auto at = [](const Bytes& bytes) { return bytes.empty() ? &nothing : bytes.data(); };
            if (c.iv) {
                call.iv = at(*c.iv);
                call.iv_len = c.iv->size();
            }
            call.input = input;
            call.input_len = input_len;
            call.output = output;
            call.output_capacity = capacity;
            for (const Bytes& part : c.aad) parts.push_back({at(part), part.size()});
            if (parts.size() == 1) {
                call.aad = parts[0].data;
                call.aad_len = parts[0].length;
            } else if (!parts.empty()) {
                call.aad_list = parts.data();
                call.aad_count = parts.size();
            }
            if (!c.tag.empty()) {
                call.tag = tag;
                call.tag_len = c.tag.size();
            }
        }
        Key key, mac_key;
        std::vector<warpaes_part> parts;
        Call call;
    };

    /// Checks a message whose nonce and only associated data lie in the output buffer. Decryption overwrites them
    /// before it has checked the tag.
    void check_nonce_and_aad_in_output(const ComposedCase& c) {
        for (const warpaes_direction direction : directions) {
            const bool encrypt = direction == WARPAES_ENCRYPT;
            Bytes output(c.text.size()), tag = c.tag;
            std::copy(c.aad[0].begin(), c.aad[0].end(), output.begin() + 5);
            std::copy(c.iv->begin(), c.iv->end(), output.begin() + 50);
            Message m(c, direction, (encrypt ? c.text : c.sealed).data(), output.size(), output.data(), output.size(),
                      tag.data());
            m.call.aad = output.data() + 5;
            m.call.iv = output.data() + 50;
            ASSERT_EQ(crypt(engine_, m.call), WARPAES_OK) << warpaes_last_error();
            EXPECT_EQ(output, encrypt ? c.sealed : c.text);
        }
    }

    /// Seals and opens the case, in place and with separate buffers.
    void check(const ComposedCase& c) {
        SCOPED_TRACE("mode " + std::to_string(c.mode) + ", " + std::to_string(8 * c.key.size()) + " bits, iv " +
                     (c.iv ? std::to_string(c.iv->size()) : "none") + ", text " + std::to_string(c.text.size()) +
                     ", aad " + std::to_string(c.aad.size()));
        for (const warpaes_direction direction : directions) {
            const bool encrypt = direction == WARPAES_ENCRYPT;
            const Bytes &input = encrypt ? c.text : c.sealed, &wanted = encrypt ? c.sealed : c.text;
            const std::size_t capacity = encrypt ? c.sealed.size() : c.sealed.size() - grows(c.mode);
            for (const bool in_place : {false, true}) {
                PoisonedBuffer output(std::max(capacity, input.size()), random_.below(33)), tag(16, 3);
                if (in_place) output.assign(input);
                if (!encrypt) tag.assign(c.tag);
                Message m(c, direction, in_place ? output.data() : input.data(), input.size(), output.data(), capacity,
                          tag.data());
                ASSERT_EQ(crypt(engine_, m.call), WARPAES_OK) << warpaes_last_error();
                ASSERT_EQ(m.call.result.output_len, wanted.size());
                ASSERT_STREQ(m.call.result.backend, GetParam().c_str());
                ASSERT_TRUE(output.bytes(wanted.size()) == wanted) << (encrypt ? "sealing" : "opening");
                ASSERT_EQ(tag.bytes(c.tag.size()), c.tag);
                ASSERT_TRUE(output.intact_after(in_place ? output.size() : capacity)) << "wrote outside";
                ASSERT_TRUE(tag.intact_after(c.tag.size())) << "wrote more than the tag";
            }
        }
    }

    /// Checks that opening fails and that the output is wiped, both in place and with separate buffers.
    void check_forged(const ComposedCase& c) {
        for (const bool in_place : {false, true}) {
            const std::size_t capacity = c.sealed.size() - grows(c.mode);
            PoisonedBuffer output(c.sealed.size());
            output.assign(in_place ? c.sealed : random_.bytes(c.sealed.size()));
            Bytes tag = c.tag;
            Message m(c, WARPAES_DECRYPT, in_place ? output.data() : c.sealed.data(), c.sealed.size(), output.data(),
                      capacity, tag.data());
            ASSERT_EQ(crypt(engine_, m.call), WARPAES_ERROR_AUTHENTICATION);
            ASSERT_EQ(m.call.result.output_len, 0U);
            ASSERT_EQ(output.bytes(capacity), Bytes(capacity, 0));
            ASSERT_TRUE(output.intact_after(c.sealed.size()));
        }
    }

    /// Checks that a valid call, altered by `change`, is refused with an error message that names `about`, and that
    /// nothing is written.
    void refused(const ComposedCase& c, warpaes_status status, const std::string& about,
                 const std::function<void(warpaes_message&)>& change, warpaes_direction direction = WARPAES_ENCRYPT) {
        const Bytes& input = direction == WARPAES_ENCRYPT ? c.text : c.sealed;
        Bytes output(c.sealed.size() + 64, 7), tag(16, 7);
        if (direction == WARPAES_DECRYPT) std::copy(c.tag.begin(), c.tag.end(), tag.begin());
        const Bytes tag_before = tag;
        Message m(c, direction, input.data(), input.size(), output.data(), c.sealed.size(), tag.data());
        change(m.call);
        EXPECT_EQ(crypt(engine_, m.call), status) << about;
        EXPECT_EQ(std::string(warpaes_last_error()).rfind(about, 0), 0U) << warpaes_last_error();
        EXPECT_EQ(output, Bytes(c.sealed.size() + 64, 7)) << about;
        EXPECT_EQ(tag, tag_before) << about;
    }

    static std::size_t grows(warpaes_mode mode) { return mode == WARPAES_KW || mode == WARPAES_KWP ? 8 : 0; }

    Random random_{71};
};

#define WARPAES_FOR_EVERY_CPU_BACKEND(Suite) \
    INSTANTIATE_TEST_SUITE_P(Backend, Suite, testing::ValuesIn(abi_tests::cpu_backends()), abi_tests::backend_test_name)

}  // namespace abi_tests
