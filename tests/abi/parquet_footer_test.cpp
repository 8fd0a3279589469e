// Tests footers and other modules of encrypted Parquet files (warpaes/parquet.h). The test assembles them byte by byte.
#include <algorithm>
#include <cstring>
#include <string>

#include "support.hpp"
#include "warpaes/parquet.h"

namespace abi_tests {
namespace {

Bytes operator+(Bytes left, const Bytes& right) {
    left.insert(left.end(), right.begin(), right.end());
    return left;
}

Bytes text_bytes(const std::string& text) {
    return {text.begin(), text.end()};
}

Bytes little_endian(std::size_t value) {
    Bytes bytes;
    for (unsigned shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<std::uint8_t>(value >> shift));
    return bytes;
}

/// Returns a short binary field in Thrift's compact protocol. Its number is the previous field's number plus `step`.
Bytes binary_field(std::uint8_t step, const Bytes& value) {
    return Bytes{static_cast<std::uint8_t>(step << 4 | 8), static_cast<std::uint8_t>(value.size())} + value;
}

class ParquetFooter : public testing::Test {
protected:
    Bytes sealed(const Bytes& aad, const Bytes& text, const Bytes& nonce, Bytes& tag) {
        Bytes out(text.size());
        tag.resize(16);
        warpaes_message message = WARPAES_MESSAGE_INIT;
        message.mode = WARPAES_GCM;
        message.direction = WARPAES_ENCRYPT;
        message.key = key_.get();
        message.iv = nonce.data();
        message.iv_len = nonce.size();
        message.input = text.data();
        message.input_len = text.size();
        message.output = out.data();
        message.output_capacity = out.size();
        message.aad = aad.data();
        message.aad_len = aad.size();
        message.tag = tag.data();
        message.tag_len = tag.size();
        EXPECT_EQ(warpaes_crypt(engine_.get(), &message, nullptr), WARPAES_OK) << warpaes_last_error();
        return out;
    }
    /// Returns a module, which consists of length, nonce, ciphertext and tag. Its AAD consists of the file's AAD, the
    /// module's kind and the ordinals.
    Bytes module(const Bytes& text, const Bytes& kind_and_ordinals) {
        const Bytes nonce = random_.bytes(12);
        Bytes tag;
        const Bytes out = sealed(prefix_ + unique_ + kind_and_ordinals, text, nonce, tag);
        return little_endian(28 + text.size()) + nonce + out + tag;
    }
    /// Returns the union EncryptionAlgorithm. `prefix` states whether the AAD prefix is stored.
    Bytes algorithm(bool ctr, bool prefix, bool supply) {
        Bytes one = prefix ? binary_field(1, prefix_) + binary_field(1, unique_) : binary_field(2, unique_);
        one = one + Bytes{static_cast<std::uint8_t>(supply ? 0x11 : 0x12), 0};
        return Bytes{static_cast<std::uint8_t>(ctr ? 0x2c : 0x1c)} + one + Bytes{0};
    }
    Bytes encrypted_footer(bool ctr = false, bool prefix = true, bool supply = false) {
        const Bytes crypto =
            Bytes{0x1c} + algorithm(ctr, prefix, supply) + binary_field(1, metadata_of_key_) + Bytes{0};
        const Bytes whole = crypto + module(metadata_, {0});
        return whole + little_endian(whole.size()) + text_bytes("PARE");
    }
    /// Returns metadata_ without its stop byte, followed by fields 8 and 9 and a signature.
    Bytes plaintext_footer(bool ctr = false) {
        Bytes text(metadata_.begin(), metadata_.end() - 1);
        text = text + Bytes{0x5c} + algorithm(ctr, true, false) + binary_field(1, metadata_of_key_) + Bytes{0};
        plain_ = text;
        const Bytes nonce = random_.bytes(12);
        Bytes tag;
        (void)sealed(prefix_ + unique_ + Bytes{0}, text, nonce, tag);
        const Bytes whole = text + nonce + tag;
        return whole + little_endian(whole.size()) + text_bytes("PAR1");
    }
    warpaes_parquet_module described(const Bytes& bytes, std::uint32_t kind) {
        aad_ = prefix_ + unique_;
        warpaes_parquet_module made = WARPAES_PARQUET_MODULE_INIT;
        made.kind = kind;
        made.key = key_.get();
        made.aad = aad_.data();
        made.aad_len = aad_.size();
        made.module = bytes.data();
        made.module_len = bytes.size();
        made.row_group = 3;
        made.column = 259;
        return made;
    }
    static Bytes part(const void* at, std::uint64_t length) {
        const auto* const from = static_cast<const std::uint8_t*>(at);
        return from == nullptr ? Bytes() : Bytes(from, from + length);
    }
    /// Inspects and opens a footer. Returns "" if either call fails.
    Bytes opened(const Bytes& footer, warpaes_status& status) {
        warpaes_parquet_footer facts = WARPAES_PARQUET_FOOTER_INIT;
        status = warpaes_parquet_inspect_footer(footer.data(), footer.size(), &facts);
        if (status != WARPAES_OK) return {};
        Bytes metadata(facts.metadata_len, 0xaa);
        const auto its = described(footer, WARPAES_PARQUET_FOOTER);
        status = warpaes_parquet_open_footer(engine_.get(), &its, metadata.data(), metadata.size());
        return status == WARPAES_OK ? metadata : Bytes();
    }

    Engine engine_ = make_engine("auto");
    Key key_ = make_key(Bytes(16, 5));
    Random random_{45};
    Bytes prefix_ = text_bytes("table/file"), unique_ = {1, 2, 3, 4, 5, 6, 7, 8}, aad_;
    Bytes metadata_of_key_ = text_bytes("kf");
    /// the fields version, schema, number of rows and row groups
    Bytes metadata_ = {0x15, 0x02, 0x19, 0x1c, 0x48, 0x01, 'r', 0x00, 0x16, 0x00, 0x00};
    Bytes plain_;
};

TEST_F(ParquetFooter, Encrypted) {
    for (const bool ctr : {false, true}) {
        for (const bool prefix : {false, true}) {
            const Bytes footer = encrypted_footer(ctr, prefix, !prefix);
            warpaes_parquet_footer facts = WARPAES_PARQUET_FOOTER_INIT;
            ASSERT_EQ(warpaes_parquet_inspect_footer(footer.data(), footer.size(), &facts), WARPAES_OK)
                << warpaes_last_error();
            EXPECT_EQ((facts.flags & WARPAES_PARQUET_CTR_PAGES) != 0, ctr);
            EXPECT_EQ((facts.flags & WARPAES_PARQUET_SUPPLY_AAD_PREFIX) != 0, !prefix);
            EXPECT_NE(facts.flags & WARPAES_PARQUET_ENCRYPTED, 0U);
            EXPECT_EQ(facts.flags & WARPAES_PARQUET_PLAINTEXT_FOOTER, 0U);
            EXPECT_EQ(part(facts.aad_prefix, facts.aad_prefix_len), prefix ? prefix_ : Bytes());
            EXPECT_EQ(part(facts.aad_file_unique, facts.aad_file_unique_len), unique_);
            EXPECT_EQ(part(facts.key_metadata, facts.key_metadata_len), metadata_of_key_);
            warpaes_status status = WARPAES_OK;
            EXPECT_EQ(opened(footer, status), metadata_) << warpaes_last_error();
        }
    }
}

TEST_F(ParquetFooter, InClearAndSigned) {
    const Bytes footer = plaintext_footer(true);
    warpaes_parquet_footer facts = WARPAES_PARQUET_FOOTER_INIT;
    ASSERT_EQ(warpaes_parquet_inspect_footer(footer.data(), footer.size(), &facts), WARPAES_OK) << warpaes_last_error();
    EXPECT_EQ(facts.flags, static_cast<std::uint32_t>(WARPAES_PARQUET_ENCRYPTED) |
                               static_cast<std::uint32_t>(WARPAES_PARQUET_PLAINTEXT_FOOTER) |
                               static_cast<std::uint32_t>(WARPAES_PARQUET_CTR_PAGES));
    EXPECT_EQ(part(facts.key_metadata, facts.key_metadata_len), metadata_of_key_);
    warpaes_status status = WARPAES_OK;
    EXPECT_EQ(opened(footer, status), plain_) << warpaes_last_error();
}

TEST_F(ParquetFooter, AFileInClear) {
    const Bytes footer = metadata_ + little_endian(metadata_.size()) + text_bytes("PAR1");
    warpaes_parquet_footer facts = WARPAES_PARQUET_FOOTER_INIT;
    ASSERT_EQ(warpaes_parquet_inspect_footer(footer.data(), footer.size(), &facts), WARPAES_OK);
    EXPECT_EQ(facts.flags, static_cast<std::uint32_t>(WARPAES_PARQUET_PLAINTEXT_FOOTER));
    EXPECT_EQ(facts.metadata_len, metadata_.size());
    warpaes_status status = WARPAES_OK;
    EXPECT_EQ(opened(footer, status), Bytes());
    EXPECT_EQ(status, WARPAES_ERROR_FORMAT) << "nothing authenticates it";
}

/// Alters every byte and truncates the footer at every length. Either the footer is refused, or the byte is
/// unauthenticated and has no effect.
TEST_F(ParquetFooter, Altered) {
    for (const bool plaintext : {false, true}) {
        const Bytes good = plaintext ? plaintext_footer() : encrypted_footer();
        const Bytes want = plaintext ? plain_ : metadata_;
        warpaes_status status = WARPAES_OK;
        for (std::size_t at = 0; at < good.size(); ++at) {
            for (unsigned bit = 0; bit < 8; ++bit) {
                Bytes altered = good;
                altered[at] = static_cast<std::uint8_t>(altered[at] ^ 1U << bit);
                const Bytes got = opened(altered, status);
                if (status == WARPAES_OK) {
                    EXPECT_FALSE(plaintext) << at;
                    EXPECT_LT(at, good.size() - metadata_.size() - 40) << "in FileCryptoMetaData";
                    EXPECT_EQ(got, want);
                }
            }
        }
        for (std::size_t end = 0; end < good.size(); ++end) {
            (void)opened(Bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(end)), status);
            EXPECT_NE(status, WARPAES_OK);
        }
    }
}

TEST_F(ParquetFooter, WrongKeyAndPrefix) {
    for (const bool plaintext : {false, true}) {
        const Bytes footer = plaintext ? plaintext_footer() : encrypted_footer();
        warpaes_parquet_footer facts = WARPAES_PARQUET_FOOTER_INIT;
        ASSERT_EQ(warpaes_parquet_inspect_footer(footer.data(), footer.size(), &facts), WARPAES_OK);
        Bytes metadata(facts.metadata_len);
        auto its = described(footer, WARPAES_PARQUET_FOOTER);
        const Key other = make_key(Bytes(16, 6));
        its.key = other.get();
        EXPECT_EQ(warpaes_parquet_open_footer(engine_.get(), &its, metadata.data(), metadata.size()),
                  WARPAES_ERROR_AUTHENTICATION);
        EXPECT_EQ(metadata, Bytes(metadata.size())) << "nothing of it";
        EXPECT_EQ(std::string(warpaes_last_error()),
                  "the footer is not authentic: the key or the AAD prefix is wrong, or the file was altered");
        its = described(footer, WARPAES_PARQUET_FOOTER);
        its.aad_len -= 1;
        EXPECT_EQ(warpaes_parquet_open_footer(engine_.get(), &its, metadata.data(), metadata.size()),
                  WARPAES_ERROR_AUTHENTICATION);
        its = described(footer, WARPAES_PARQUET_FOOTER);
        EXPECT_EQ(warpaes_parquet_open_footer(engine_.get(), &its, metadata.data(), metadata.size() - 1),
                  WARPAES_ERROR_BUFFER_TOO_SMALL);
    }
}

TEST_F(ParquetFooter, LengthAtTheEnd) {
    const Bytes footer = encrypted_footer();
    const Bytes last(footer.end() - 8, footer.end());
    std::uint64_t bytes = 0;
    EXPECT_EQ(warpaes_parquet_footer_bytes(last.data(), footer.size() + 4, &bytes), WARPAES_OK);
    EXPECT_EQ(bytes, footer.size());
    EXPECT_EQ(warpaes_parquet_footer_bytes(last.data(), footer.size() + 3, &bytes), WARPAES_ERROR_FORMAT);
    for (const char* tail : {"\xff\xff\xff\xffPAR1", "\1\0\0\0PAR2", "\0\0\0\0\0\0\0\0"}) {
        EXPECT_EQ(warpaes_parquet_footer_bytes(tail, 100, &bytes), WARPAES_ERROR_FORMAT);
    }
    EXPECT_EQ(warpaes_parquet_footer_bytes(last.data(), 0, &bytes), WARPAES_ERROR_FORMAT);
}

TEST_F(ParquetFooter, OtherModules) {
    const Bytes text = random_.bytes(100);
    for (const std::uint8_t kind : Bytes{1, 6, 7, 8, 9}) {
        const Bytes bytes = module(text, {kind, 3, 0, 3, 1});
        auto its = described(bytes, kind);
        Bytes out(100);
        EXPECT_EQ(warpaes_parquet_open_module(engine_.get(), &its, out.data(), out.size()), WARPAES_OK)
            << warpaes_last_error();
        EXPECT_EQ(out, text);
        EXPECT_EQ(warpaes_parquet_open_module(engine_.get(), &its, out.data(), 99), WARPAES_ERROR_BUFFER_TOO_SMALL);
        const auto refused = [&](warpaes_status status) {
            EXPECT_EQ(warpaes_parquet_open_module(engine_.get(), &its, out.data(), out.size()), status);
            EXPECT_EQ(
                std::string(warpaes_last_error()).find("row group " + std::to_string(its.row_group) + ", column "), 0U)
                << warpaes_last_error();
            EXPECT_TRUE(out == Bytes(100) || out == text) << "nothing else is left";
        };
        its.module_len -= 1;
        refused(WARPAES_ERROR_FORMAT);
        its.module_len += 1;
        its.row_group = 4;
        refused(WARPAES_ERROR_AUTHENTICATION);
        its.row_group = 3;
        its.column = 3;
        refused(WARPAES_ERROR_AUTHENTICATION);
        its.column = 259;
        its.kind = kind == 1 ? 6 : 1;
        refused(WARPAES_ERROR_AUTHENTICATION);
    }
    auto empty = described(module({}, {7, 3, 0, 3, 1}), 7);
    const Bytes bytes = module({}, {7, 3, 0, 3, 1});
    empty.module = bytes.data();
    empty.module_len = bytes.size();
    EXPECT_EQ(warpaes_parquet_open_module(engine_.get(), &empty, nullptr, 0), WARPAES_OK) << warpaes_last_error();
}

TEST_F(ParquetFooter, Refusals) {
    const Bytes footer = encrypted_footer(), bytes = module(Bytes(8), {7, 3, 0, 3, 1});
    Bytes out(100);
    std::uint64_t length = 0;
    const auto refused = [](const std::string& sentence, warpaes_status status) {
        EXPECT_EQ(status, WARPAES_ERROR_ARGUMENT) << sentence;
        EXPECT_EQ(std::string(warpaes_last_error()).find(sentence), 0U) << warpaes_last_error();
    };
    refused("last: is null", warpaes_parquet_footer_bytes(nullptr, 100, &length));
    refused("bytes: is null", warpaes_parquet_footer_bytes(footer.data(), 100, nullptr));
    warpaes_parquet_footer facts = WARPAES_PARQUET_FOOTER_INIT;
    refused("footer: is null", warpaes_parquet_inspect_footer(nullptr, 100, &facts));
    refused("facts: is null", warpaes_parquet_inspect_footer(footer.data(), footer.size(), nullptr));
    refused("footer_len: ", warpaes_parquet_inspect_footer(footer.data() + 1, footer.size() - 1, &facts));
    const auto open = [&](warpaes_parquet_module its, warpaes_engine* engine, void* to) {
        return its.kind == WARPAES_PARQUET_FOOTER ? warpaes_parquet_open_footer(engine, &its, to, out.size())
                                                  : warpaes_parquet_open_module(engine, &its, to, out.size());
    };
    refused("module: is null", warpaes_parquet_open_module(engine_.get(), nullptr, out.data(), 1));
    for (const auto& good : {described(footer, WARPAES_PARQUET_FOOTER), described(bytes, 7)}) {
        refused("engine: is null", open(good, nullptr, out.data()));
        auto its = good;
        its.key = nullptr;
        refused("key: is null", open(its, engine_.get(), out.data()));
        its = good;
        its.aad = nullptr;
        refused("aad: is null", open(its, engine_.get(), out.data()));
        its = good;
        its.aad_len = 65537;
        refused("aad_len: ", open(its, engine_.get(), out.data()));
        its = good;
        its.module = nullptr;
        refused("module: is null", open(its, engine_.get(), out.data()));
        its = good;
        its.column = 32768;
        refused("column: must be at most", open(its, engine_.get(), out.data()));
        its = good;
        its.kind = 2;
        refused("kind: ", open(its, engine_.get(), out.data()));
    }
    refused("output: is null", open(described(bytes, 7), engine_.get(), nullptr));
    auto its = described(bytes, 7);
    refused("kind: ", warpaes_parquet_open_footer(engine_.get(), &its, out.data(), out.size()));
    its.kind = WARPAES_PARQUET_FOOTER;
    refused("kind: ", warpaes_parquet_open_module(engine_.get(), &its, out.data(), out.size()));
}

}  // namespace
}  // namespace abi_tests
