#include "operations.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "composed_oracle.hpp"
#include "evp_oracle.hpp"
#include "memory.hpp"
#include "patterns.hpp"
#include "warpaes/drbg.h"

namespace secrets {

namespace {

void fill(std::uint8_t* to, std::size_t bytes, unsigned factor, unsigned start) {
    for (std::size_t i = 0; i < bytes; ++i) {
        to[i] = static_cast<std::uint8_t>((start + factor * i) ^ (i * i * 29 + 0x5a) ^ (factor * start >> 3));
    }
}

}  // namespace

std::uint64_t iv_bytes(warpaes_mode mode) {
    switch (mode) {
    case WARPAES_ECB:
    case WARPAES_CMAC:
        return 0;
    case WARPAES_GCM:
    case WARPAES_CCM:
        return 12;
    default:
        return 16;
    }
}

bool has_tag(warpaes_mode mode) {
    return mode == WARPAES_GCM || mode == WARPAES_CCM || mode == WARPAES_CMAC;
}

std::string text(const char* format, int a, int b, std::size_t c, const char* d) {
    char all[160];
    std::snprintf(all, sizeof all, format, a, b, c, d);
    return all;
}

World::World()
    : keys_(own(3 * 32)),
      tweak_keys_(own(3 * 32)),
      raw_keys_(own(messages * 32)),
      iv_(own(16)),
      ivs_(own(messages * 16)),
      tags_(own(2 * messages * 16)),
      plain_(own(text_bytes)),
      cipher_(own(text_bytes + 4096)),
      out_(own(text_bytes + 4096)),
      passphrase_(reinterpret_cast<char*>(own(passphrase_bytes))),
      json_(reinterpret_cast<char*>(own(4096))),
      kek_(reinterpret_cast<char*>(own(4096))),
      complaints_(reinterpret_cast<char*>(own(65536))) {
    const bool filled = apart([&] {
        fill(keys_, 3 * 32, 37, 11);
        fill(tweak_keys_, 3 * 32, 91, 7);
        fill(raw_keys_, messages * 32, 53, 201);
        fill(iv_, 16, 17, 3);
        iv_[15] = 0;
        for (std::size_t i = 0; i < messages; ++i) fill(ivs_ + 16 * i, 16, 23, static_cast<unsigned>(i));
        for (std::size_t i = 0; i < text_bytes; i += 16) std::memcpy(plain_ + i, "A secret's text!", 16);
        for (std::size_t i = 0; i < passphrase_bytes; ++i)
            passphrase_[i] = static_cast<char>('!' + (i * i * 7 + i) % 90);

        look_for_text({plain_, 16}, "plaintext");
        look_for_bytes({reinterpret_cast<std::uint8_t*>(passphrase_), passphrase_bytes}, "passphrase");
        std::vector<std::vector<std::uint8_t>> blocks(4, std::vector<std::uint8_t>(16));
        std::copy_n(iv_, 16, blocks[0].begin());
        blocks[1] = blocks[0];
        blocks[1][15] = 1;
        std::copy_n(iv_, 12, blocks[2].begin());  // J0 for GCM
        blocks[2][15] = 1;
        blocks[3] = blocks[2];
        blocks[3][15] = 2;
        for (unsigned i = 0; i < 3; ++i) {
            look_for_key({keys_ + 32 * i, key_lengths[i]}, "key " + std::to_string(i), blocks);
            look_for_key({tweak_keys_ + 32 * i, key_lengths[i]}, "tweak key " + std::to_string(i), blocks);
        }
        std::vector<std::vector<std::uint8_t>> j0s(9, std::vector<std::uint8_t>(16));  // J0 for each segment
        for (std::size_t i = 0; i < j0s.size(); ++i) {
            std::copy_n(ivs_ + 12 * i, 12, j0s[i].begin());
            j0s[i][15] = 1;
        }
        look_for_key({keys_ + 64, 32}, "key of segments", j0s);
        for (unsigned i = 0; i < messages; ++i) {
            look_for_key({raw_keys_ + 32 * i, 32}, "raw key " + std::to_string(i), {});
        }
        make_kek();
    });
    if (!filled) std::abort();
    std::string name = (std::filesystem::temp_directory_path() / "secrets-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::abort();
    folder_ = name;
}

World::~World() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
}

std::string World::path(const char* name) const {
    return folder_ + "/" + name;
}

std::string World::complaints() {
    const std::string all = complaints_;
    complaints_[0] = '\0';
    return all;
}

void World::expect(warpaes_status status, const char* what, warpaes_status wanted) {
    if (status == wanted) return;
    const std::size_t n = std::strlen(complaints_);
    std::snprintf(complaints_ + n, 65536 - n, "%s: status %d, %s\n", what, status, warpaes_last_error());
}

warpaes_key* World::key(unsigned length) const {
    warpaes_key* made = nullptr;
    (void)warpaes_key_create(keys_ + 32 * (length / 8 - 2), length, &made);
    return made;
}

std::vector<Operation> World::operations(warpaes_engine* engine, warpaes_engine* cutting, bool on_gpu) {
    engine_ = engine;
    on_gpu_ = on_gpu;
    std::vector<Operation> all;
    for (const unsigned length : key_lengths) {
        all.push_back({"key of " + std::to_string(length), [=, this] { warpaes_key_destroy(key(length)); }, {}});
    }
    messages_into(all);
    cut_messages_into(all, cutting);
    if (!on_gpu) composed_into(all);
    segments_into(all);
    batches_into(all);
    contexts_into(all);
    keysets_into(all);
    if (!on_gpu) names_into(all);
    passphrases_into(all);
    keks_into(all);
    files_into(all);
    streams_into(all);
    stdio_into(all);
    cut_streams_into(all, cutting);
    memory_into(all);
    devices_into(all);
    return all;
}

// -----------------------------------------------------------------------------------------------------------
// messages

void World::crypt(warpaes_mode mode, warpaes_direction direction, std::size_t length, unsigned key_length, bool forged,
                  bool padded, std::uint8_t* input, std::uint8_t* output, warpaes_engine* engine) {
    warpaes_key* const k = key(key_length);
    warpaes_key* tweak = nullptr;
    warpaes_message m = WARPAES_MESSAGE_INIT;
    m.mode = mode;
    m.direction = direction;
    m.key = k;
    m.iv = iv_;
    m.iv_len = iv_bytes(mode);
    m.input = input;
    m.input_len = length;
    m.output = output;
    m.output_capacity = length + (padded ? 16 : 0);
    if (padded) m.flags = WARPAES_PKCS7;
    if (mode == WARPAES_XTS) {
        (void)warpaes_key_create(tweak_keys_ + 32 * (key_length / 8 - 2), key_length, &tweak);
        m.tweak_key = tweak;
        m.data_unit_len = 4096;
    }
    if (has_tag(mode)) {
        m.tag = tags_;
        m.tag_len = 16;
    }
    if (forged) tags_[0] ^= 1;
    expect(warpaes_crypt(engine != nullptr ? engine : engine_, &m, nullptr), "crypt",
           forged ? WARPAES_ERROR_AUTHENTICATION : WARPAES_OK);
    if (forged) tags_[0] ^= 1;
    warpaes_key_destroy(k);
    warpaes_key_destroy(tweak);
}

/// Searches for secrets of the message that was encrypted last.
void World::look_for_tag(warpaes_mode mode, const std::uint8_t* iv, std::size_t length, unsigned key_length) const {
    const bool looked = apart([&] {
        const Bytes tag{tags_, 16};
        if (mode == WARPAES_GCM) {
            look_for_digests({keys_ + 32 * (key_length / 8 - 2), key_length}, {iv, 12}, length, tag, "GCM");
        } else if (has_tag(mode)) {
            look_for_bytes(tag, "tag");
        }
    });
    if (!looked) std::abort();
}

/// Searches for secrets of the chunks of the message that was encrypted last.
void World::look_for_chunks(unsigned key_length) const {
    const bool looked = apart([&] {
        const Bytes key{keys_ + 32 * (key_length / 8 - 2), key_length};
        for (std::size_t i = 0; i < 4; ++i) look_for_digest(key, {cipher_ + i * small_chunk, small_chunk}, "GCM");
    });
    if (!looked) std::abort();
}

void World::messages_into(std::vector<Operation>& all) {
    const std::size_t longest = on_gpu_ ? 40000 : 300000;
    unsigned turn = 0;
    for (int m = WARPAES_ECB; m <= WARPAES_CMAC; ++m) {
        const auto mode = static_cast<warpaes_mode>(m);
        // The lengths cover each kernel for short messages, with and without a partial vector, and the ordinary path.
        for (const std::size_t length : {std::size_t{64}, std::size_t{77}, std::size_t{208}, std::size_t{1520},
                                         std::size_t{4096 + 48}, longest / 16 * 16}) {
            if (mode == WARPAES_CCM && length > 65535) continue;
            if (length == 77 && (mode == WARPAES_ECB || mode == WARPAES_CBC)) continue;
            unsigned key_length = key_lengths[turn++ % 3];
            if (mode == WARPAES_XTS && key_length == 24) key_length = 32;
            for (const auto direction : directions) {
                const bool encrypts = direction == WARPAES_ENCRYPT || mode == WARPAES_CMAC;
                all.push_back({text("crypt: mode %d, direction %d, %zu bytes%s", m, direction, length, ""),
                               [=, this] {
                                   crypt(mode, direction, length, key_length, false, false, encrypts ? plain_ : cipher_,
                                         encrypts ? cipher_ : out_);
                               },
                               {}});
            }
            if (!has_tag(mode)) continue;
            all.push_back({text("crypt: mode %d, forged, direction %d, %zu bytes%s", m, 2, length, ""),
                           [=, this] {
                               crypt(mode, WARPAES_DECRYPT, length, key_length, true, false,
                                     mode == WARPAES_CMAC ? plain_ : cipher_, out_);
                           },
                           {}});
        }
    }
    for (const auto direction : directions) {
        const bool encrypts = direction == WARPAES_ENCRYPT;
        all.push_back({text("crypt: padded%.0d, direction %d, %zu bytes%s", 0, direction, 1000, ""),
                       [=, this] {
                           crypt(WARPAES_CBC, direction, encrypts ? 1000 : 1008, 16, false, encrypts,
                                 encrypts ? plain_ : cipher_, encrypts ? cipher_ : out_);
                       },
                       {}});
        all.push_back({text("crypt: in place%.0d, direction %d, %zu bytes%s", 0, direction, 5000, ""),
                       [=, this] {
                           if (encrypts) std::memcpy(out_, plain_, 5008);
                           crypt(WARPAES_CBC, direction, 5008, 16, false, false, out_, out_);
                       },
                       {}});
    }
}

/// The message is processed in chunks, some of them on the engine's threads.
void World::cut_messages_into(std::vector<Operation>& all, warpaes_engine* cutting) {
    constexpr std::size_t length = 40000;
    unsigned turn = 0;
    for (int m = WARPAES_ECB; m <= WARPAES_GCM; ++m) {
        const auto mode = static_cast<warpaes_mode>(m);
        unsigned key_length = key_lengths[turn++ % 3];
        if (mode == WARPAES_XTS && key_length == 24) key_length = 32;
        const auto add = [&](warpaes_direction direction, bool forged) {
            const bool encrypts = direction == WARPAES_ENCRYPT;
            std::function<void()> look;
            if (mode == WARPAES_GCM && !encrypts) look = [=, this] { look_for_chunks(key_length); };
            all.push_back(
                {text("crypt: mode %d, cut, direction %d, %zu bytes%s", m, direction, length, forged ? ", forged" : ""),
                 [=, this] {
                     crypt(mode, direction, length, key_length, forged, false, encrypts ? plain_ : cipher_,
                           encrypts ? cipher_ : out_, cutting);
                 },
                 look});
        };
        for (const auto direction : directions) add(direction, false);
        if (has_tag(mode)) add(WARPAES_DECRYPT, true);
    }
}

// -----------------------------------------------------------------------------------------------------------
// contexts

void World::context(warpaes_mode mode, warpaes_direction direction, std::uint32_t flags) {
    const bool encrypts = direction == WARPAES_ENCRYPT;
    const std::uint8_t* const input = encrypts || mode == WARPAES_CMAC ? plain_ : cipher_;
    std::uint8_t* const output = encrypts ? cipher_ : out_;
    const std::size_t whole = encrypts && (flags & WARPAES_PKCS7) != 0 ? 1005 : 1008;
    warpaes_key* const k = key(32);
    warpaes_key* tweak = nullptr;
    warpaes_context *c = nullptr, *copy = nullptr;
    std::size_t written = 0, at = 0;
    expect(warpaes_context_create(engine_, &c), "context_create");
    warpaes_context_options o = WARPAES_CONTEXT_OPTIONS_INIT;
    o.flags = flags;
    o.mode = mode;
    o.direction = direction;
    o.key = k;
    o.iv = iv_;
    o.iv_len = static_cast<std::uint64_t>(iv_bytes(mode));
    if (mode == WARPAES_XTS) {
        expect(warpaes_key_create(tweak_keys_, 32, &tweak), "tweak key");
        o.tweak_key = tweak;
        o.data_unit_len = 512;
    }
    if (mode == WARPAES_CCM) {
        o.text_len = whole;
        o.tag_len = 16;
    }
    expect(warpaes_context_init(c, &o), "init");
    expect(warpaes_context_update(c, input, 5, output, 32, &written), "update");
    at += written;
    expect(warpaes_context_copy(c, &copy), "context_copy");
    expect(warpaes_context_update(c, input + 5, whole - 5, output + at, 1024, &written), "update");
    at += written;
    if (has_tag(mode) && !encrypts) expect(warpaes_context_set_tag(c, tags_, 16), "set_tag");
    expect(warpaes_context_final(c, output + at, 512, &written), "final");
    if (has_tag(mode) && encrypts) expect(warpaes_context_get_tag(c, tags_, 16), "get_tag");
    warpaes_context_destroy(c);
    warpaes_context_destroy(copy);
    warpaes_key_destroy(k);
    warpaes_key_destroy(tweak);
}

void World::contexts_into(std::vector<Operation>& all) {
    for (int m = WARPAES_ECB; m <= WARPAES_CMAC; ++m) {
        const auto mode = static_cast<warpaes_mode>(m);
        for (const std::uint32_t flags : {0u, std::uint32_t{WARPAES_PKCS7}}) {
            if (flags != 0 && mode != WARPAES_ECB && mode != WARPAES_CBC) continue;
            for (const auto direction : directions) {
                all.push_back({text("context: mode %d, direction %d, flags %zu%s", m, direction, flags, ""),
                               [=, this] { context(mode, direction, flags); },
                               {}});
            }
        }
    }
}

// -------------------------------------------------------------------------------------------------
// keysets and files

void World::memory_into(std::vector<Operation>& all) {
    for (const warpaes_memory kind : {WARPAES_MEMORY_PAGEABLE, WARPAES_MEMORY_PAGE_LOCKED}) {
        all.push_back({text("memory %d%.0d%.0zu%s", kind, 0, 0, ""),
                       [=, this] {
                           void* memory = nullptr;
                           expect(warpaes_alloc(engine_, kind, 0, 300000, &memory), "alloc");
                           std::memcpy(memory, plain_, 299008);
                           auto* const bytes = static_cast<std::uint8_t*>(memory);
                           crypt(WARPAES_CTR, WARPAES_ENCRYPT, 20000, 32, false, false, bytes, bytes + 20000);
                           warpaes_free(engine_, memory);
                       },
                       {}});
    }
    if (on_gpu_) {
        all.push_back({"device memory",
                       [this] {
                           void* memory = nullptr;
                           expect(warpaes_alloc(engine_, WARPAES_MEMORY_DEVICE, 0, 60000, &memory), "alloc");
                           expect(warpaes_copy(engine_, memory, plain_, 50000), "copy");
                           auto* const bytes = static_cast<std::uint8_t*>(memory);
                           for (const warpaes_mode mode : {WARPAES_CTR, WARPAES_CBC, WARPAES_GCM, WARPAES_XTS}) {
                               crypt(mode, WARPAES_ENCRYPT, 8192, 32, false, false, bytes, bytes + 20000);
                               crypt(mode, WARPAES_DECRYPT, 8192, 32, false, false, bytes + 20000, bytes + 40000);
                           }
                           segments(WARPAES_ENCRYPT, false, bytes, bytes + 20000);
                           segments(WARPAES_DECRYPT, false, bytes + 20000, bytes + 40000);
                           warpaes_free(engine_, memory);
                       },
                       {}});
    }
    for (const warpaes_memory kind :
         {WARPAES_MEMORY_PAGEABLE, WARPAES_MEMORY_PAGE_LOCKED, WARPAES_MEMORY_SHARED, WARPAES_MEMORY_DEVICE}) {
        if (kind == WARPAES_MEMORY_DEVICE && !on_gpu_) continue;
        all.push_back({text("arena: memory %d%.0d%.0zu%s", kind, 0, 0, ""),
                       [=, this] {
                           warpaes_arena* arena = nullptr;
                           expect(warpaes_arena_create(engine_, kind, 0, 20000, &arena), "arena_create");
                           expect(warpaes_copy(engine_, warpaes_arena_data(arena), plain_, 19200), "copy");
                           warpaes_arena_destroy(arena);
                       },
                       {}});
    }
}

}  // namespace secrets
