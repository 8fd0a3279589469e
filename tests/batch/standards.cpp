#include "standards.hpp"

#include <gtest/gtest.h>

#include <deque>

#include "response_file.hpp"

namespace warpaes::test {

namespace {

using vectors::Bytes;
using vectors::from_hex;
using vectors::Record;

/// A single message, with room for the result of a run.
struct Single {
    Single(const Bytes& key_bytes, Bytes text) : key(key_bytes), input(std::move(text)), output(input.size(), 0xa5) {}

    [[nodiscard]] MessageGroup group(Mode mode, Direction direction) {
        MessageGroup g{};
        g.mode = mode;
        g.direction = direction;
        g.length = input.size();
        g.input.first = input.data();
        if (mode != Mode::cmac) g.output.first = output.data();
        g.iv.first = nonce.data();
        g.iv_length = static_cast<std::uint32_t>(nonce.size());
        g.aad.first = aad.data();
        g.aad_length = aad.size();
        g.tag.first = tag.data();
        g.tag_length = static_cast<std::uint32_t>(tag.size());
        g.key = &key;
        g.failed = &failed;
        return g;
    }

    ExpandedKey key;
    Bytes input, output, nonce{}, aad{}, tag{};
    std::uint8_t failed = 0;
};

Bytes first(Bytes bytes, std::size_t n) {
    bytes.resize(n);
    return bytes;
}

}  // namespace

void check_cmac_examples(const RunGroups& run) {
    const Bytes message = from_hex(
        "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e5130c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b"
        "17ad2b417be66c3710");
    constexpr std::size_t lengths[] = {0, 16, 40, 64};
    const struct {
        const char* key;
        const char* tags[4];
    } examples[] = {
        {"2b7e151628aed2a6abf7158809cf4f3c",
         {"bb1d6929e95937287fa37d129b756746", "070a16b46b4d4144f79bdd9dd04a287c", "dfa66747de9ae63030ca32611497c827",
          "51f0bebf7e3b9d92fc49741779363cfe"}},
        {"8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b",
         {"d17ddf46adaacde531cac483de7a9367", "9e99a7bf31e710900662f65e617c5184", "8a1de5be2eb31aad089a82e6ee908b0e",
          "a1d5df0eed790f794d77589659f39a11"}},
        {"603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
         {"028962f61b7bf89efc6b551f4667d983", "28a7023f452e8f82bd4bf28d8c37c35c", "aaf3d8f1de5640c232f5b169b9c911e6",
          "e1992190549f6ed5696a2c056c315410"}},
    };
    std::deque<Single> made, right, wrong;
    std::vector<MessageGroup> groups;
    std::vector<Bytes> tags;
    for (const auto& example : examples) {
        for (std::size_t i = 0; i < std::size(lengths); ++i) {
            tags.push_back(from_hex(example.tags[i]));
            for (auto* list : {&made, &right, &wrong}) {
                Single& s = list->emplace_back(from_hex(example.key), first(message, lengths[i]));
                s.tag = list == &made ? Bytes(16, 0xa5) : tags.back();
                if (list == &wrong) s.tag[i] ^= 1;
                groups.push_back(s.group(Mode::cmac, list == &made ? Direction::encrypt : Direction::decrypt));
            }
        }
    }
    run(groups);
    for (std::size_t i = 0; i < tags.size(); ++i) {
        EXPECT_EQ(made[i].tag, tags[i]) << i;
        EXPECT_EQ(right[i].failed, 0) << i;
        EXPECT_EQ(wrong[i].failed, 1) << i;
    }
}

void check_ccm_vectors(const RunGroups& run) {
    struct Expected {
        Expected(const Bytes& key, Bytes input) : message(key, std::move(input)) {}
        Single message;
        Bytes output{}, tag{};
        bool encrypts = true, authentic = true;
        std::string count{};
    };
    std::deque<Expected> all;
    std::vector<MessageGroup> groups;
    for (const char* file : {"ccm/ccm128.rsp", "ccm/ccm192.rsp", "ccm/ccm256.rsp"}) {
        for (const Record& r : vectors::read_response_file(file)) {
            const std::size_t text_bytes = std::stoul(r.fields.at("Plen"));
            const Bytes both = r.bytes("CT");
            const auto middle = both.begin() + static_cast<std::ptrdiff_t>(text_bytes);
            const Bytes ciphertext(both.begin(), middle), tag(middle, both.end());
            const bool authentic = r.fields.count("Result") == 0 || r.fields.at("Result") == "Pass";
            const Bytes plaintext = authentic ? first(r.bytes("Payload"), text_bytes) : Bytes(text_bytes, 0);
            for (const bool encrypts : {true, false}) {
                if (encrypts && !authentic) continue;
                Expected& e = all.emplace_back(r.bytes("Key"), encrypts ? plaintext : ciphertext);
                e.output = encrypts ? ciphertext : plaintext;
                e.tag = tag;
                e.encrypts = encrypts;
                e.authentic = authentic;
                e.count = std::string(file) + " " + r.fields.at("Count");
                e.message.nonce = r.bytes("Nonce");
                e.message.aad = first(r.bytes("Adata"), std::stoul(r.fields.at("Alen")));
                e.message.tag = encrypts ? Bytes(tag.size(), 0xa5) : tag;
                groups.push_back(e.message.group(Mode::ccm, encrypts ? Direction::encrypt : Direction::decrypt));
            }
        }
    }
    ASSERT_GT(groups.size(), 500u);
    run(groups);
    for (const Expected& e : all) {
        EXPECT_EQ(e.message.output, e.output) << e.count << (e.encrypts ? " encrypt" : " decrypt");
        EXPECT_EQ(e.message.tag, e.tag) << e.count << (e.encrypts ? " encrypt" : " decrypt");
        EXPECT_EQ(e.message.failed, e.authentic ? 0 : 1) << e.count;
    }
}

}  // namespace warpaes::test
