// Runs operations on keysets, files, readers and writers.
#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "evp_oracle.hpp"
#include "memory.hpp"
#include "operations.hpp"
#include "patterns.hpp"

namespace secrets {

namespace {

/// Writes a file with system calls, which leave no copy in this process.
std::string put(const std::string& path, const char* text, std::size_t bytes) {
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (write(fd, text, bytes) != static_cast<ssize_t>(bytes)) std::abort();
    close(fd);
    return path;
}

}  // namespace

void World::load(const std::string& place, const warpaes_place_options* options) {
    warpaes_keyset* keyset = nullptr;
    expect(warpaes_keyset_load(place.c_str(), options, &keyset), "keyset_load");
    warpaes_keyset_destroy(keyset);
}

void World::keysets_into(std::vector<Operation>& all) {
    all.push_back({"keyset: written",
                   [this] {
                       warpaes_keyset* keyset = nullptr;
                       std::size_t length = 0;
                       std::memset(json_, 0, 4096);
                       expect(warpaes_keyset_from_raw(templates[0], keys_ + 64, 32, &keyset), "keyset_from_raw");
                       expect(warpaes_keyset_write(keyset, json_, 4096, &length), "keyset_write");
                       warpaes_keyset_destroy(keyset);
                   },
                   {}});
    all.push_back({"keyset: loaded from a file and from a program, saved",
                   [this] {
                       const std::string file = put(path("keyset"), json_, std::strlen(json_));
                       load(file);
                       load("exec:cat '" + file + "'");
                       warpaes_keyset* keyset = nullptr;
                       expect(warpaes_keyset_load(file.c_str(), nullptr, &keyset), "keyset_load");
                       unlink(file.c_str());
                       expect(warpaes_keyset_save(keyset, file.c_str(), nullptr), "keyset_save");
                       warpaes_keyset_destroy(keyset);
                   },
                   {}});
    all.push_back({"keyset: parsed, with a new key, written again",
                   [this] {
                       warpaes_keyset* keyset = nullptr;
                       std::size_t length = std::strlen(json_);
                       expect(warpaes_keyset_parse(json_, length, &keyset), "keyset_parse");
                       expect(warpaes_keyset_add(keyset, templates[1], nullptr), "keyset_add");
                       expect(warpaes_keyset_write(keyset, json_, 4096, &length), "keyset_write");
                       warpaes_keyset_destroy(keyset);
                   },
                   [this] {
                       if (!apart([&] {
                               const char* const value = std::strstr(json_, "\"value\":");
                               const char* const begin = value == nullptr ? nullptr : std::strchr(value + 8, '"') + 1;
                               if (begin == nullptr) std::abort();
                               look_for_bytes({reinterpret_cast<const std::uint8_t*>(begin), std::strcspn(begin, "\"")},
                                              "key in base64");
                           })) {
                           std::abort();
                       }
                   }});
}

void World::names_into(std::vector<Operation>& all) {
    all.push_back(
        {"names: encrypted and decrypted",
         [this] {
             warpaes_keyset* keyset = nullptr;
             warpaes_names* names = nullptr;
             char stored[64];
             std::size_t length = 0, bytes = 0;
             expect(warpaes_keyset_from_raw(templates[0], keys_ + 64, 32, &keyset), "keyset_from_raw");
             expect(warpaes_names_create(engine_, keyset, &names), "names_create");
             warpaes_keyset_destroy(keyset);
             const char* const name = reinterpret_cast<const char*>(plain_);
             char* const out = reinterpret_cast<char*>(out_);
             expect(warpaes_names_encrypt(names, 0, "a", 1, name, 16, stored, sizeof stored, &length), "names_encrypt");
             expect(warpaes_names_decrypt(names, "a", 1, stored, length, out, 16, &bytes, nullptr), "names_decrypt");
             stored[3] = stored[3] == '0' ? '1' : '0';
             expect(warpaes_names_decrypt(names, "a", 1, stored, length, out, 16, &bytes, nullptr),
                    "names_decrypt, altered", WARPAES_ERROR_AUTHENTICATION);
             warpaes_names_destroy(names);
         },
         [this] {
             if (!apart([&] {
                     const auto bytes = [](std::string_view text) {
                         return Bytes{reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
                     };
                     const std::vector<std::uint8_t> derived =
                         hkdf("SHA256", false, {keys_ + 64, 32}, bytes("warpaes encrypted names, version 1"),
                              bytes("AES-256-SIV"), 64);
                     look_for_key(Bytes(derived).first(32), "K1 of names", {});
                     look_for_key(Bytes(derived).subspan(32), "K2 of names", {});
                 })) {
                 std::abort();
             }
         }});
}

void World::passphrases_into(std::vector<Operation>& all) {
    all.push_back({"keyset: under a passphrase",
                   [this] {
                       warpaes_keyset* keyset = nullptr;
                       std::size_t length = 0;
                       const warpaes_scrypt cost = WARPAES_SCRYPT_INIT;
                       std::memset(json_, 0, 4096);
                       expect(warpaes_keyset_from_raw(templates[0], keys_ + 64, 32, &keyset), "keyset_from_raw");
                       expect(warpaes_keyset_wrap(keyset, passphrase_, passphrase_bytes, &cost, json_, 4096, &length),
                              "keyset_wrap");
                       warpaes_keyset_destroy(keyset);
                   },
                   {}});
    all.push_back({"keyset: opened with its passphrase",
                   [this] {
                       warpaes_keyset* keyset = nullptr;
                       expect(warpaes_keyset_unwrap(json_, std::strlen(json_), passphrase_, passphrase_bytes, &keyset),
                              "keyset_unwrap");
                       warpaes_keyset_destroy(keyset);
                   },
                   [this] { look_for_kek(); }});
    all.push_back({"keyset: loaded with a passphrase in a file, and asked for",
                   [this] {
                       const std::string file = put(path("keyset"), json_, std::strlen(json_));
                       load("passphrase=" + put(path("word"), passphrase_, passphrase_bytes) + ";" + file);
                       warpaes_place_options options = WARPAES_PLACE_OPTIONS_INIT;
                       options.user = passphrase_;
                       options.ask = [](void* user, const char*, char* to, std::size_t, std::size_t* length) {
                           std::memcpy(to, user, passphrase_bytes);
                           *length = passphrase_bytes;
                           return 0;
                       };
                       load("passphrase:" + file, &options);
                   },
                   {}});
}

/// Writes a key in a separate process, as a Tink keyset and as hexadecimal digits.
void World::make_kek() const {
    // In an AesGcmKey, key_value is field 3. It has 16 bytes here.
    std::array<std::uint8_t, 18> value{0x1a, 16};
    std::copy_n(raw_keys_, 16, value.begin() + 2);
    std::array<char, 25> base64{};
    (void)EVP_EncodeBlock(reinterpret_cast<unsigned char*>(base64.data()), value.data(), 18);
    std::snprintf(kek_, 4000,
                  R"({"primaryKeyId": 5, "key": [{"keyData": {"typeUrl": )"
                  R"("type.googleapis.com/google.crypto.tink.AesGcmKey", "value": "%s", )"
                  R"("keyMaterialType": "SYMMETRIC"}, "status": "ENABLED", "keyId": 5, "outputPrefixType": "TINK"}]})",
                  base64.data());
    for (std::size_t i = 0; i < 16; ++i) std::snprintf(kek_ + 4000 + 2 * i, 3, "%02x", raw_keys_[i]);
    look_for_bytes({reinterpret_cast<const std::uint8_t*>(base64.data()), 24}, "key-encryption key in base64");
    look_for_bytes({reinterpret_cast<const std::uint8_t*>(kek_) + 4000, 32}, "key-encryption key in hexadecimal");
    look_for_key({raw_keys_, 16}, "key-encryption key", {});
}

void World::keks_into(std::vector<Operation>& all) {
    all.push_back({"keyset: under a key-encryption key",
                   [this] {
                       warpaes_keyset* keyset = nullptr;
                       std::size_t length = 0;
                       std::memset(json_, 0, 4096);
                       expect(warpaes_keyset_from_raw(templates[0], keys_ + 64, 32, &keyset), "keyset_from_raw");
                       expect(warpaes_keyset_wrap_under(keyset, kek_, std::strlen(kek_), "x", 1, json_, 4096, &length),
                              "keyset_wrap_under");
                       warpaes_keyset_destroy(keyset);
                   },
                   {}});
    const auto open = [this](const char* kek, warpaes_status wanted) {
        warpaes_keyset* keyset = nullptr;
        expect(warpaes_keyset_unwrap_under(json_, std::strlen(json_), kek, std::strlen(kek), "x", 1, &keyset),
               "keyset_unwrap_under", wanted);
        warpaes_keyset_destroy(keyset);
    };
    all.push_back({"keyset: opened with its key-encryption key", [this, open] { open(kek_, WARPAES_OK); }, {}});
    all.push_back({"keyset: loaded with a key-encryption key in a file",
                   [this] {
                       const std::string file = put(path("keyset"), json_, std::strlen(json_));
                       const std::string kek = put(path("kek"), kek_, std::strlen(kek_));
                       load("kek=" + kek + ";kek-aad=x;" + file);
                       load("kek=exec:cat '" + kek + "';kek-aad=x;exec:cat '" + file + "'");
                   },
                   {}});
    // A raw key cannot open a keyset that has a prefix.
    all.push_back(
        {"keyset: not opened with a raw key", [this, open] { open(kek_ + 4000, WARPAES_ERROR_AUTHENTICATION); }, {}});
}

/// The key depends on the salt, so the search after the next operation still finds remains of wrapping.
void World::look_for_kek() const {
    const bool looked = apart([&] {
        const char* const label = std::strstr(json_, "\"salt\": \"");
        if (label == nullptr) std::abort();
        std::array<std::uint8_t, 18> salt{};
        if (EVP_DecodeBlock(salt.data(), reinterpret_cast<const unsigned char*>(label + 9), 24) != 18) std::abort();
        std::array<std::uint8_t, 32> kek{};
        if (EVP_PBE_scrypt(passphrase_, passphrase_bytes, salt.data(), 16, 131072, 8, 1, 1u << 30, kek.data(),
                           kek.size()) != 1) {
            std::abort();
        }
        look_for_bytes(kek, "key-encryption key");
    });
    if (!looked) std::abort();
}

void World::enc(warpaes_direction direction, warpaes_kdf kdf, std::uint32_t flags) {
    const std::string plain = path("plain"), sealed = path("sealed"), opened = path("opened");
    const bool encrypts = direction == WARPAES_ENCRYPT;
    warpaes_file_job j = WARPAES_FILE_JOB_INIT;
    j.format = WARPAES_FORMAT_OPENSSL_ENC;
    j.mode = WARPAES_CBC;
    j.direction = direction;
    j.kdf = kdf;
    j.key_bits = 256;
    j.iterations = 1000;
    j.flags = flags | WARPAES_FILE_OVERWRITE | WARPAES_FILE_PKCS7;
    j.passphrase = passphrase_;
    j.passphrase_len = passphrase_bytes;
    j.input_path = encrypts ? plain.c_str() : sealed.c_str();
    j.output_path = encrypts ? sealed.c_str() : opened.c_str();
    expect(warpaes_file_run(engine_, &j, nullptr), "enc");
}

void World::seal(warpaes_direction direction, const char* name, std::uint32_t flags) {
    const std::string plain = path("plain"), sealed = path("sealed"), opened = path("opened");
    const bool encrypts = direction == WARPAES_ENCRYPT;
    warpaes_keyset* keyset = nullptr;
    expect(warpaes_keyset_from_raw(name, keys_ + 64, 32, &keyset), "keyset_from_raw");
    warpaes_file_job j = WARPAES_FILE_JOB_INIT;
    j.format = WARPAES_FORMAT_STREAMING_AEAD;
    j.direction = direction;
    j.keyset = keyset;
    j.flags = flags | ((flags & WARPAES_FILE_VERIFY) == 0 ? std::uint32_t{WARPAES_FILE_OVERWRITE} : 0u);
    j.range_first = 5000;
    j.range_last = 20000;
    j.input_path = encrypts ? plain.c_str() : sealed.c_str();
    j.output_path = encrypts ? sealed.c_str() : (flags & WARPAES_FILE_VERIFY) != 0 ? nullptr : opened.c_str();
    expect(warpaes_file_run(engine_, &j, nullptr), "file_run");
    warpaes_keyset_destroy(keyset);
}

/// Searches for the file's own key, which depends on the file's salt.
void World::look_for_derived(const char* name) const {
    const bool looked = apart([&] {
        std::array<std::uint8_t, 64> header{};
        std::FILE* const file = std::fopen(path("sealed").c_str(), "rb");
        if (file == nullptr || std::fread(header.data(), 1, header.size(), file) != header.size()) std::abort();
        const Bytes master{keys_ + 64, 32};
        const bool c2sp = std::strncmp(name, "C2SP", 4) == 0, mac = std::strstr(name, "HMAC") != nullptr;
        const std::size_t n = mac ? 16 : 32;
        std::vector<std::uint8_t> derived;
        if (c2sp) {
            constexpr std::string_view protocol = "c2sp.org/chunked-encryption@v1+AEAD_AES_256_GCM";
            std::vector<std::uint8_t> info(protocol.begin(), protocol.end());
            info.push_back(0);
            info.insert(info.end(), header.begin(), header.begin() + 24);
            derived = hkdf("SHA512", true, master, {}, info, 32);
        } else {
            derived = hkdf("SHA256", false, master, {header.data() + 1, n}, {}, n + (mac ? 32 : 0));
        }
        look_for_key(Bytes(derived).first(n), std::string(name) + ": derived key", {});
        if (mac) look_for_bytes(Bytes(derived).subspan(n), std::string(name) + ": derived HMAC key");
    });
    if (!looked) std::abort();
}

void World::look_for_derived(warpaes_kdf kdf, bool base64) const {
    const bool looked = apart([&] {
        if (base64) return;  // the salt in a base64 file cannot be read directly; the code is the same
        std::array<std::uint8_t, 16> header{};
        std::FILE* const file = std::fopen(path("sealed").c_str(), "rb");
        if (file == nullptr || std::fread(header.data(), 1, header.size(), file) != header.size()) std::abort();
        const auto derived = from_passphrase({passphrase_, passphrase_bytes}, {header.data() + 8, 8},
                                             kdf == WARPAES_KDF_PBKDF2 ? 1000 : 0, 32);
        look_for_key(derived, kdf == WARPAES_KDF_PBKDF2 ? "PBKDF2's key" : "EVP_BytesToKey's key", {});
    });
    if (!looked) std::abort();
}

void World::files_into(std::vector<Operation>& all) {
    const auto write_plain = [this] {
        const int fd = open(path("plain").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (write(fd, plain_, file_bytes) != static_cast<ssize_t>(file_bytes)) std::abort();
        close(fd);
    };
    for (const warpaes_kdf kdf : {WARPAES_KDF_PBKDF2, WARPAES_KDF_EVP_BYTESTOKEY}) {
        for (const std::uint32_t flags : {0u, std::uint32_t{WARPAES_FILE_BASE64}}) {
            all.push_back({text("enc: encryption, kdf %d, flags %d%.0zu%s", kdf, static_cast<int>(flags), 0, ""),
                           [=, this] { enc(WARPAES_ENCRYPT, kdf, flags); }, write_plain});
            all.push_back({text("enc: decryption, kdf %d, flags %d%.0zu%s", kdf, static_cast<int>(flags), 0, ""),
                           [=, this] { enc(WARPAES_DECRYPT, kdf, flags); },
                           [=, this] { look_for_derived(kdf, flags != 0); }});
        }
    }
    for (const char* const name : templates) {
        all.push_back({std::string("file: encryption, ") + name, [=, this] { seal(WARPAES_ENCRYPT, name, 0); }, {}});
        all.push_back({std::string("file: decryption, ") + name, [=, this] { seal(WARPAES_DECRYPT, name, 0); },
                       [=, this] { look_for_derived(name); }});
        all.push_back({std::string("file: decryption with a digest, ") + name,
                       [=, this] { seal(WARPAES_DECRYPT, name, WARPAES_FILE_SHA256); },
                       {}});
        all.push_back(
            {std::string("file: range, ") + name, [=, this] { seal(WARPAES_DECRYPT, name, WARPAES_FILE_RANGE); }, {}});
        all.push_back({std::string("file: verified, ") + name,
                       [=, this] { seal(WARPAES_DECRYPT, name, WARPAES_FILE_VERIFY); },
                       {}});
    }
}

void World::write_pieces(warpaes_engine* engine, const char* name, const char* file,
                         std::initializer_list<std::uint64_t> pieces, bool finish) {
    const std::string written = path(file);
    warpaes_keyset* keyset = nullptr;
    warpaes_writer* writer = nullptr;
    warpaes_sink sink = {};
    sink.struct_size = sizeof sink;
    sink.flags = finish ? WARPAES_FILE_OVERWRITE : 0;
    sink.path = written.c_str();
    expect(warpaes_keyset_from_raw(name, keys_ + 64, 32, &keyset), "keyset_from_raw");
    expect(warpaes_writer_open(engine, &sink, keyset, nullptr, 0, &writer), "writer_open");
    for (const std::uint64_t bytes : pieces) expect(warpaes_writer_write(writer, plain_, bytes), "writer_write");
    if (finish) expect(warpaes_writer_finish(writer), "writer_finish");
    warpaes_writer_close(writer);
    warpaes_keyset_destroy(keyset);
}

void World::streams_into(std::vector<Operation>& all) {
    for (const char* const name : templates) {
        all.push_back({std::string("writer: ") + name,
                       [=, this] {
                           write_pieces(engine_, name, "sealed", {10, 5000, 60000}, true);
                       },
                       {}});
        all.push_back({std::string("writer, not finished: ") + name,
                       [=, this] { write_pieces(engine_, name, "other", {1000}, false); },
                       {}});
        all.push_back({std::string("reader: ") + name,
                       [=, this] {
                           const std::string sealed = path("sealed");
                           warpaes_keyset* keyset = nullptr;
                           warpaes_reader* reader = nullptr;
                           warpaes_source source = {};
                           source.struct_size = sizeof source;
                           source.path = sealed.c_str();
                           std::uint64_t read = 0;
                           expect(warpaes_keyset_from_raw(name, keys_ + 64, 32, &keyset), "keyset_from_raw");
                           expect(warpaes_reader_open(engine_, &source, keyset, nullptr, 0, &reader), "reader_open");
                           // The last two reads are consecutive, so the reader starts to read ahead.
                           for (const std::uint64_t offset : {0u, 100u, 30000u, 39000u, 48000u}) {
                               expect(warpaes_reader_read(reader, offset, out_, 9000, &read), "reader_read");
                           }
                           warpaes_reader_close(reader);
                           warpaes_keyset_destroy(keyset);
                       },
                       [=, this] { look_for_derived(name); }});
    }
}

void World::stdio_into(std::vector<Operation>& all) {
    all.push_back({"FILE*: written and read",
                   [this] {
                       const std::string sealed = path("sealed");
                       warpaes_keyset* keyset = nullptr;
                       warpaes_sink sink = WARPAES_SINK_INIT;
                       sink.flags = WARPAES_FILE_OVERWRITE;
                       sink.path = sealed.c_str();
                       warpaes_source source = WARPAES_SOURCE_INIT;
                       source.path = sealed.c_str();
                       std::FILE* stream = nullptr;
                       expect(warpaes_keyset_from_raw(templates[0], keys_ + 64, 32, &keyset), "keyset_from_raw");
                       expect(warpaes_create_stream(engine_, &sink, keyset, nullptr, 0, &stream), "create_stream");
                       if (std::fwrite(plain_, 1, 60000, stream) != 60000 || std::fclose(stream) != 0) std::abort();
                       expect(warpaes_open_stream(engine_, &source, keyset, nullptr, 0, &stream), "open_stream");
                       for (const long offset : {0L, 100L, 30000L, 59990L}) {
                           if (std::fseek(stream, offset, SEEK_SET) != 0 || std::fread(out_, 1, 9000, stream) == 0) {
                               std::abort();
                           }
                       }
                       std::fclose(stream);
                       warpaes_keyset_destroy(keyset);
                   },
                   {}});
}

/// Pending text grows to its limit and is sealed. Afterwards, less text is pending than before.
void World::cut_streams_into(std::vector<Operation>& all, warpaes_engine* cutting) {
    all.push_back({"writer: more than may wait",
                   [=, this] {
                       write_pieces(cutting, templates[0], "other", {10, 40000}, false);
                   },
                   {}});
}

// -------------------------------------------------------------------------------------------------------------
// memory

}  // namespace secrets
