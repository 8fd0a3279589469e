// Tests the C++ headers for files of authenticated segments: the arguments that they pass on, and functions that throw.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>
#include <warpaes/streams.hpp>

#include "folder.hpp"
#include "pattern.hpp"

namespace {

using Bytes = std::vector<std::uint8_t>;

class HppStreams : public testing::Test {
protected:
    HppStreams() { id = keyset.add("AES128_GCM_HKDF_4KB"); }

    /// Returns the encrypted file of `plain`.
    Bytes encrypted() {
        Bytes file;
        auto writer = warpaes::Writer::to_function(
            engine, keyset,
            [&](warpaes::ConstBytes bytes) { file.insert(file.end(), bytes.data(), bytes.data() + bytes.size()); },
            aad);
        writer.write(warpaes::ConstBytes(plain.data(), 12345));
        writer.write(warpaes::ConstBytes(plain.data() + 12345, plain.size() - 12345));
        writer.finish();
        return file;
    }

    const warpaes::Engine engine;
    warpaes::Keyset keyset;
    std::uint32_t id = 0;
    const std::string_view aad = "page 7";
    const Bytes plain = pattern(100'001);
};

TEST_F(HppStreams, AReaderGivesWhatAWriterTook) {
    const Bytes file = encrypted();
    const auto in_memory = warpaes::Reader::of_memory(engine, keyset, file, aad);
    const auto by_function = warpaes::Reader::of_function(
        engine, keyset, file.size(),
        [&](std::uint64_t offset, warpaes::Bytes buffer) {
            std::memcpy(buffer.data(), file.data() + offset, buffer.size());
        },
        aad);
    for (const warpaes::Reader* reader : {&in_memory, &by_function}) {
        ASSERT_EQ(reader->size(), plain.size());
        Bytes all(plain.size() + 10);
        EXPECT_EQ(reader->read(0, all), plain.size());
        all.resize(plain.size());
        EXPECT_EQ(all, plain);
        Bytes part(5000);
        EXPECT_EQ(reader->read(60'000, part), part.size());
        EXPECT_EQ(part, Bytes(plain.begin() + 60'000, plain.begin() + 65'000));
    }
}

TEST_F(HppStreams, AStreamIsReadForward) {
    const Bytes file = encrypted();
    std::size_t at = 0;
    bool fails = false;
    const auto reader = warpaes::Reader::of_stream(
        engine, keyset,
        [&](warpaes::Bytes buffer) {
            if (fails) throw std::out_of_range("mine");
            const std::size_t n = std::min({buffer.size(), file.size() - at, std::size_t{7000}});
            std::memcpy(buffer.data(), file.data() + at, n);
            at += n;
            return n;
        },
        aad);
    EXPECT_EQ(reader.size(), WARPAES_UNKNOWN);
    Bytes all, part(30'000);
    while (const std::size_t n = reader.read(all.size(), part)) {
        all.insert(all.end(), part.begin(), part.begin() + static_cast<std::ptrdiff_t>(n));
    }
    EXPECT_EQ(all, plain);
    EXPECT_EQ(reader.size(), plain.size());
    fails = true;
    EXPECT_THROW((void)warpaes::Reader::of_stream(engine, keyset, [](warpaes::Bytes) -> std::size_t { throw 7; }), int);
}

TEST_F(HppStreams, Files) {
    const oracle::Folder folder;
    const std::string file = folder / "file";
    {
        auto writer = warpaes::Writer::to_file(engine, keyset, file);
        writer.write(plain);
        EXPECT_FALSE(std::filesystem::exists(file));
        writer.finish();
    }
    Bytes all(plain.size());
    EXPECT_EQ(warpaes::Reader::of_file(engine, keyset, file).read(0, all), plain.size());
    EXPECT_EQ(all, plain);
    try {
        (void)warpaes::Writer::to_file(engine, keyset, file);
        ADD_FAILURE() << "overwrote a file";
    } catch (const warpaes::Error& e) {
        EXPECT_EQ(e.status(), WARPAES_ERROR_EXISTS) << e.what();
    }
    warpaes::Writer::to_file(engine, keyset, file, {}, true).finish();
    EXPECT_EQ(warpaes::Reader::of_file(engine, keyset, file).size(), 0U);
}

TEST_F(HppStreams, WhatAFunctionThrowsComesOut) {
    const Bytes file = encrypted();
    bool fails = false;
    const auto reader = warpaes::Reader::of_function(
        engine, keyset, file.size(),
        [&](std::uint64_t offset, warpaes::Bytes buffer) {
            if (fails) throw std::out_of_range("mine");
            std::memcpy(buffer.data(), file.data() + offset, buffer.size());
        },
        aad);
    Bytes part(100);
    fails = true;
    EXPECT_THROW(reader.read(0, part), std::out_of_range);
    fails = false;
    EXPECT_EQ(reader.read(0, part), part.size());

    auto writer = warpaes::Writer::to_function(engine, keyset, [&](warpaes::ConstBytes) {
        if (fails) throw std::out_of_range("mine");
    });
    fails = true;
    EXPECT_THROW(writer.finish(), std::out_of_range);
    EXPECT_THROW(writer.finish(), warpaes::Error);
    EXPECT_THROW((void)warpaes::Writer::to_function(engine, keyset, [](warpaes::ConstBytes) { throw 7; }), int);
}

// A successful call on another thread does not change the error.
TEST_F(HppStreams, WhatAFunctionThrowsComesOutWhereItWasCalled) {
    const Bytes file = encrypted();
    std::atomic<bool> fails = false, ended = false;
    const auto reader = warpaes::Reader::of_function(
        engine, keyset, file.size(),
        [&](std::uint64_t offset, warpaes::Bytes buffer) {
            if (fails && offset < file.size() / 2) throw std::out_of_range("mine");
            std::memcpy(buffer.data(), file.data() + offset, buffer.size());
        },
        aad);
    fails = true;
    std::thread other([&] {
        Bytes part(10);
        while (!ended) EXPECT_EQ(reader.read(90'000, part), part.size());
    });
    Bytes part(10);
    for (int i = 0; i < 5000; ++i) EXPECT_THROW(reader.read(0, part), std::out_of_range);
    ended = true;
    other.join();
}

TEST_F(HppStreams, RefusalsAreErrors) {
    const Bytes file = encrypted();
    const auto status_of = [&](const warpaes::Keyset& keys, std::string_view other_aad) {
        try {
            (void)warpaes::Reader::of_memory(engine, keys, file, other_aad);
        } catch (const warpaes::Error& e) {
            return e.status();
        }
        return WARPAES_OK;
    };
    warpaes::Keyset other;
    EXPECT_EQ(status_of(other, aad), WARPAES_ERROR_KEYSET);
    other.add("AES128_GCM_HKDF_4KB");
    EXPECT_EQ(status_of(other, aad), WARPAES_ERROR_AUTHENTICATION);
    EXPECT_EQ(status_of(keyset, "page 8"), WARPAES_ERROR_AUTHENTICATION);
    EXPECT_EQ(status_of(keyset, aad), WARPAES_OK);
}

TEST_F(HppStreams, KeysOfAnotherKeysetAreTriedToo) {
    const oracle::Folder folder;
    const std::string file = folder / "file";
    warpaes::Writer::to_file(engine, keyset, file).finish();
    warpaes::Keyset other;
    other.add("AES256_GCM_HKDF_1MB");
    EXPECT_THROW((void)warpaes::Reader::of_file(engine, other, file), warpaes::Error);
    other.append(keyset);
    EXPECT_EQ(warpaes::Reader::of_file(engine, other, file).size(), 0U);
}

TEST_F(HppStreams, KeysetsUnderAPassphrase) {
    const warpaes_scrypt least = WARPAES_SCRYPT_INIT;
    const std::string json = keyset.wrap("correct horse", least);
    EXPECT_EQ(warpaes::Keyset::unwrap(json, "correct horse").to_json(), keyset.to_json());
    try {
        (void)warpaes::Keyset::unwrap(json, "correct hors");
        FAIL();
    } catch (const warpaes::Error& e) {
        EXPECT_EQ(e.status(), WARPAES_ERROR_AUTHENTICATION);
    }
    EXPECT_EQ(warpaes::Keyset::scrypt_cost(0).n, least.n);
    EXPECT_THROW((void)keyset.wrap("", least), warpaes::Error);
}

TEST_F(HppStreams, KeysetsUnderAKeyEncryptionKey) {
    const Bytes kek(32, 7);
    const std::string json = keyset.wrap_under(kek, "backup");
    EXPECT_EQ(warpaes::Keyset::unwrap_under(json, kek, "backup").to_json(), keyset.to_json());
    try {
        (void)warpaes::Keyset::unwrap_under(json, kek);
        FAIL();
    } catch (const warpaes::Error& e) {
        EXPECT_EQ(e.status(), WARPAES_ERROR_AUTHENTICATION);
    }
    EXPECT_EQ(warpaes::Keyset::unwrap_under(keyset.wrap_under(kek), kek).to_json(), keyset.to_json());
    EXPECT_THROW((void)keyset.wrap_under("no key"), warpaes::Error);
}

TEST_F(HppStreams, KeysetsAtPlaces) {
    const oracle::Folder folder;
    const std::string word = "correct horse";
    warpaes::PlaceOptions options;
    std::vector<std::string> asked, warned;
    options.ask = [&](const std::string& question, std::span<char> passphrase) {
        asked.push_back(question);
        return word.copy(passphrase.data(), passphrase.size());
    };
    options.warning = [&](const std::string& sentence) { warned.push_back(sentence); };
    options.cost = WARPAES_SCRYPT_INIT;
    const std::string clear = folder / "clear", locked = "passphrase:" + folder / "locked";
    keyset.save(clear);
    keyset.save(locked, options);
    EXPECT_EQ(warpaes::Keyset::load(clear).to_json(), keyset.to_json());
    EXPECT_EQ(warpaes::Keyset::load(locked, options).to_json(), keyset.to_json());
    EXPECT_EQ(asked.size(), 2u);
    EXPECT_THROW((void)warpaes::Keyset::load(locked), warpaes::Error);
    EXPECT_THROW(keyset.save(clear), warpaes::Error);
    std::filesystem::permissions(clear, std::filesystem::perms{0644});
    EXPECT_EQ(warpaes::Keyset::load(clear, options).to_json(), keyset.to_json());
    EXPECT_EQ(warned.size(), 1u);
    options.template_name = "C2SP_CHUNKED_128";
    EXPECT_THROW((void)warpaes::Keyset::load(clear, options), warpaes::Error);

    // Exceptions that these functions throw reach the caller, and no file is created.
    warpaes::PlaceOptions throwing;
    throwing.ask = [](const std::string&, std::span<char>) -> std::size_t { throw std::domain_error("not now"); };
    throwing.warning = [](const std::string&) { throw std::domain_error("no warnings"); };
    EXPECT_THROW((void)warpaes::Keyset::load(locked, throwing), std::domain_error);
    EXPECT_THROW((void)warpaes::Keyset::load(clear, throwing), std::domain_error);
    EXPECT_THROW(keyset.save("passphrase:" + folder / "new", throwing), std::domain_error);
    EXPECT_EQ(folder.names(), (std::vector<std::string>{"clear", "locked"}));
}

TEST_F(HppStreams, KeysetsRotate) {
    const Bytes file = encrypted();
    const std::uint32_t newer = keyset.add("AES256_GCM_HKDF_1MB");
    keyset.promote(newer);
    const auto again = warpaes::Keyset::parse(keyset.to_json());
    EXPECT_EQ(warpaes::Reader::of_memory(engine, again, file, aad).size(), plain.size());
    keyset.set_state(id, WARPAES_KEY_DISABLED);
    EXPECT_THROW((void)warpaes::Reader::of_memory(engine, keyset, file, aad), warpaes::Error);
    keyset.remove(id);
    const auto raw = warpaes::Keyset::from_raw("C2SP_CHUNKED_256", Bytes(32, 1));
    EXPECT_THROW((void)warpaes::Reader::of_memory(engine, raw, file, aad), warpaes::Error);
}

}  // namespace
