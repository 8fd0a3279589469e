// Runs NIST's validation vectors (tests/vectors/README.md) on every backend.
#include <algorithm>
#include <iostream>

#include "known_answers.hpp"
#include "response_file.hpp"
#include "support.hpp"

namespace abi_tests {
namespace {

/// Runs one operation. CFB1 counts bits, and the unused low bits of the last output byte must be zero.
Bytes one(const Engine& engine, const std::string& backend, const ModeTraits& mode, bool encrypt, const Key& key,
          const Bytes& iv, const Bytes& input, std::size_t bits) {
    const warpaes_direction direction = encrypt ? WARPAES_ENCRYPT : WARPAES_DECRYPT;
    PoisonedBuffer output(input.size());
    Call message =
        make_message(mode.mode, direction, key, iv, input.data(), input.size(), output.data(), output.size());
    if (mode.mode == WARPAES_CFB1) {
        message.flags = WARPAES_LENGTH_IN_BITS;
        message.input_len = bits;
    }
    EXPECT_EQ(crypt(engine, message), WARPAES_OK) << warpaes_last_error();
    EXPECT_STREQ(message.result.backend, backend.c_str());
    EXPECT_EQ(message.result.output_len, message.input_len);
    EXPECT_TRUE(output.intact_after(output.size()));
    return output.bytes(output.size());
}

void check_known_answers(const Engine& engine, const std::string& backend, const ModeTraits& mode,
                         const std::string& path) {
    for (const auto& record : vectors::read_response_file(path)) {
        const bool in_bits = mode.mode == WARPAES_CFB1;
        const Bytes input = in_bits ? vectors::from_bits(record.input()) : vectors::from_hex(record.input());
        const Bytes output = in_bits ? vectors::from_bits(record.output()) : vectors::from_hex(record.output());
        ASSERT_EQ(one(engine, backend, mode, record.encrypt, make_key(record.bytes("KEY")), record.bytes("IV"), input,
                      record.input().size()),
                  output)
            << path << (record.encrypt ? " [ENCRYPT]" : " [DECRYPT]") << " COUNT = " << record.fields.at("COUNT");
    }
}

class Cavp : public testing::TestWithParam<std::tuple<std::string, std::string>> {
protected:
    void SetUp() override {
        engine_ = make_engine(backend());
        ASSERT_NE(engine_, nullptr);
    }
    std::string backend() const { return std::get<0>(GetParam()); }
    const ModeTraits& mode() const {
        return *std::find_if(all_modes().begin(), all_modes().end(),
                             [](const ModeTraits& m) { return m.name == std::get<1>(GetParam()); });
    }
    Engine engine_;
};

TEST_P(Cavp, KnownAnswers) {
    for (const std::string kind : {"GFSbox", "KeySbox", "VarKey", "VarTxt"}) {
        for (const std::string key_bits : {"128", "192", "256"}) {
            check_known_answers(engine_, backend(), mode(), "kat/" + mode().name + kind + key_bits + ".rsp");
        }
    }
}

TEST_P(Cavp, MultiBlockMessages) {
    for (const std::string key_bits : {"128", "192", "256"}) {
        check_known_answers(engine_, backend(), mode(), "mmt/" + mode().name + "MMT" + key_bits + ".rsp");
    }
}

// ------------------------------------------------------------------------------------------ Monte Carlo (AESAVS, 6.4)

bool bit_of(const Bytes& bytes, std::size_t i) {
    return (bytes[i / 8] >> (7 - i % 8) & 1) != 0;
}

/// A segment has 128, 8 or 1 bits, and a block contains `per_block` segments. NIST describes each mode separately, but
/// a common rule applies. The input after segment j is segment j of the IV while the IV contains a segment j, and then
/// the output from `per_block` segments earlier. The chaining value carries over through the 1000 steps. ECB has no IV,
/// so its input is the previous output.
class MonteCarlo {
public:
    MonteCarlo(const Engine& engine, std::string backend, const ModeTraits& mode, bool encrypt)
        : engine_(engine), backend_(std::move(backend)), mode_(mode), encrypt_(encrypt) {
        segment_bits_ = mode.mode == WARPAES_CFB1 ? 1 : mode.mode == WARPAES_CFB8 ? 8 : 128;
        per_block_ = 128 / segment_bits_;
    }

    void run(const std::vector<vectors::Record>& records) {
        Bytes key = records.front().bytes("KEY");
        Bytes iv = records.front().bytes("IV");
        Bytes text = segment_of(records.front().input());
        for (const auto& record : records) {
            ASSERT_EQ(key, record.bytes("KEY")) << "COUNT = " << record.fields.at("COUNT");
            ASSERT_EQ(iv, record.bytes("IV")) << "COUNT = " << record.fields.at("COUNT");
            ASSERT_EQ(text, segment_of(record.input())) << "COUNT = " << record.fields.at("COUNT");
            thousand(key, iv, text);
            ASSERT_EQ(outputs_.back(), segment_of(record.output())) << "COUNT = " << record.fields.at("COUNT");

            const Bytes change = last_outputs(key.size());
            for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::uint8_t>(key[i] ^ change[i]);
            if (mode_.mode == WARPAES_ECB) {
                text = outputs_.back();
            } else {
                iv = last_outputs(16);
                text = outputs_[outputs_.size() - 1 - per_block_];
            }
        }
    }

private:
    Bytes segment_of(const std::string& field) const {
        return segment_bits_ == 1 ? vectors::from_bits(field) : vectors::from_hex(field);
    }

    void thousand(const Bytes& key_bytes, const Bytes& iv, Bytes text) {
        const Key key = make_key(key_bytes);
        Bytes chain = iv;
        outputs_.clear();
        for (std::size_t j = 0; j < 1000; ++j) {
            outputs_.push_back(one(engine_, backend_, mode_, encrypt_, key, chain, text, segment_bits_));
            advance(chain, text, outputs_.back());
            if (mode_.mode == WARPAES_ECB) {
                text = outputs_.back();
            } else if (j < per_block_) {
                text = segment_of_iv(iv, j);
            } else {
                text = outputs_[j - per_block_];
            }
        }
    }

    /// Computes the chaining value after a segment (SP 800-38A, section 6).
    void advance(Bytes& chain, const Bytes& input, const Bytes& output) const {
        if (mode_.mode == WARPAES_ECB) return;
        const Bytes& ciphertext = encrypt_ ? output : input;
        if (mode_.mode == WARPAES_OFB) {
            for (std::size_t i = 0; i < 16; ++i) chain[i] = static_cast<std::uint8_t>(input[i] ^ output[i]);
        } else if (segment_bits_ == 128) {
            chain = ciphertext;
        } else if (segment_bits_ == 8) {
            std::rotate(chain.begin(), chain.begin() + 1, chain.end());
            chain.back() = ciphertext[0];
        } else {
            for (std::size_t i = 0; i < 16; ++i) {
                const bool carry = i < 15 ? bit_of(chain, 8 * (i + 1)) : bit_of(ciphertext, 0);
                chain[i] = static_cast<std::uint8_t>(chain[i] << 1 | (carry ? 1 : 0));
            }
        }
    }

    Bytes segment_of_iv(const Bytes& iv, std::size_t j) const {
        if (segment_bits_ == 128) return iv;
        if (segment_bits_ == 8) return {iv[j]};
        return {static_cast<std::uint8_t>(bit_of(iv, j) ? 0x80 : 0)};
    }

    Bytes last_outputs(std::size_t bytes) const {
        Bytes out;
        if (segment_bits_ == 1) {
            std::string bits;
            for (std::size_t i = outputs_.size() - 8 * bytes; i < outputs_.size(); ++i) {
                bits += bit_of(outputs_[i], 0) ? '1' : '0';
            }
            return vectors::from_bits(bits);
        }
        for (std::size_t i = outputs_.size() - 8 * 32 / segment_bits_; i < outputs_.size(); ++i) {
            out.insert(out.end(), outputs_[i].begin(), outputs_[i].end());
        }
        return {out.end() - static_cast<std::ptrdiff_t>(bytes), out.end()};
    }

    const Engine& engine_;
    std::string backend_;
    const ModeTraits& mode_;
    bool encrypt_;
    std::size_t segment_bits_ = 0;
    std::size_t per_block_ = 0;
    std::vector<Bytes> outputs_;
};

TEST_P(Cavp, MonteCarlo) {
    const std::size_t records_to_run = simulated() && backend() == "cuda" ? 1 : 100;
    if (records_to_run != 100) std::cout << "simulated GPU: 1 of the 100 records of 1000 operations of each section\n";
    for (const std::string key_bits : {"128", "192", "256"}) {
        const auto records = vectors::read_response_file("mct/" + mode().name + "MCT" + key_bits + ".rsp");
        for (const bool encrypt : {true, false}) {
            std::vector<vectors::Record> section;
            std::copy_if(records.begin(), records.end(), std::back_inserter(section),
                         [&](const auto& record) { return record.encrypt == encrypt; });
            ASSERT_EQ(section.size(), 100U);
            section.resize(records_to_run);
            MonteCarlo(engine_, backend(), mode(), encrypt).run(section);
            ASSERT_FALSE(HasFatalFailure()) << mode().name << key_bits << (encrypt ? " [ENCRYPT]" : " [DECRYPT]");
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Backend, Cavp,
                         testing::Combine(testing::ValuesIn(usable_backends()),
                                          testing::Values("ECB", "CBC", "CFB128", "CFB8", "CFB1", "OFB")),
                         [](const auto& info) { return std::get<0>(info.param) + "_" + std::get<1>(info.param); });

// --------------------------------------------------------------------------------------------------- the standards'
// vectors

class Standards : public BackendTest {
protected:
    void check(const vectors::Example& example) {
        const ModeTraits& mode = *std::find_if(all_modes().begin(), all_modes().end(),
                                               [&](const ModeTraits& m) { return m.name == example.mode; });
        const Key key = make_key(vectors::from_hex(example.key));
        const Bytes iv = vectors::from_hex(example.iv);
        const Bytes plaintext = vectors::from_hex(example.plaintext);
        const Bytes ciphertext = vectors::from_hex(example.ciphertext);
        EXPECT_EQ(crypt(engine_, GetParam(), mode.mode, WARPAES_ENCRYPT, key, iv, plaintext), ciphertext)
            << example.section;
        EXPECT_EQ(crypt(engine_, GetParam(), mode.mode, WARPAES_DECRYPT, key, iv, ciphertext), plaintext)
            << example.section;
    }
};

TEST_P(Standards, Fips197AppendixC) {
    for (const auto& example : vectors::fips_197_appendix_c) check(example);
}

TEST_P(Standards, Sp80038aAppendixF) {
    for (const auto& example : vectors::sp800_38a::examples) check(example);
}

TEST_P(Standards, Rfc3686CounterMode) {
    for (const std::string key_bits : {"128", "192", "256"}) {
        const auto records = vectors::read_response_file("ctr/aes-" + key_bits + "-ctr.txt");
        ASSERT_EQ(records.size(), 3U);
        for (const auto& record : records) {
            check(
                {"RFC 3686", "CTR", record.fields.at("KEY"), record.fields.at("IV"), record.input(), record.output()});
        }
    }
}

WARPAES_FOR_EVERY_BACKEND(Standards);

}  // namespace
}  // namespace abi_tests
