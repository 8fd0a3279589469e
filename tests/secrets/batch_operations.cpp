// Runs batches, including batches of GCM segments.
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "memory.hpp"
#include "operations.hpp"
#include "patterns.hpp"

namespace secrets {

void World::segments(warpaes_direction direction, bool forged, std::uint8_t* input, std::uint8_t* output) {
    warpaes_key* const k = key(32);
    // The last segment is shorter.
    warpaes_batch_entry entries[2] = {};
    for (std::size_t i = 0; i < 2; ++i) {
        warpaes_batch_entry& e = entries[i];
        e.mode = WARPAES_GCM;
        e.direction = direction;
        e.key = k;
        e.count = i == 0 ? 8 : 1;
        e.length = i == 0 ? 1000 : 500;
        e.input = {{input + 8000 * i}, 1000};
        e.output = {{output + 8000 * i}, 1000};
        e.iv = {{ivs_ + 12 * 8 * i}, 12};
        e.iv_len = 12;
        e.tag = {{tags_ + 16 * 8 * i}, 16};
        e.tag_len = 16;
    }
    if (forged) tags_[16] ^= 1;
    warpaes_batch* b = nullptr;
    expect(warpaes_batch_submit(engine_, nullptr, entries, 2, &b), "segments");
    expect(warpaes_batch_wait(b, WARPAES_UNKNOWN), "segments", forged ? WARPAES_ERROR_AUTHENTICATION : WARPAES_OK);
    warpaes_batch_destroy(b);
    if (forged) tags_[16] ^= 1;
    warpaes_key_destroy(k);
}

void World::segments_into(std::vector<Operation>& all) {
    all.push_back({"segments: encryption", [this] { segments(WARPAES_ENCRYPT, false, plain_, cipher_); }, {}});
    all.push_back({"segments: decryption", [this] { segments(WARPAES_DECRYPT, false, cipher_, out_); },
                   [this] {
                       const bool looked = apart([this] {
                           for (unsigned i = 0; i < 9; ++i) {
                               look_for_digests({keys_ + 64, 32}, {ivs_ + 12 * i, 12}, i == 8 ? 500 : 1000,
                                                {tags_ + 16 * i, 16}, "segment");
                           }
                       });
                       if (!looked) std::abort();
                   }});
    all.push_back({"segments: forged", [this] { segments(WARPAES_DECRYPT, true, cipher_, out_); }, {}});
}

/// With `helped`, the caller waits without a time limit and executes tasks. Otherwise, the engine's threads execute all
/// tasks on their stacks.
void World::batch(warpaes_mode mode, warpaes_direction direction, std::size_t length, bool raw, bool helped,
                  bool forged) {
    warpaes_key* const k = raw ? nullptr : key(32);
    warpaes_key* tweak = nullptr;
    const bool encrypts = direction == WARPAES_ENCRYPT || mode == WARPAES_CMAC;
    warpaes_batch_entry e = {};
    e.mode = mode;
    e.direction = direction;
    e.count = messages;
    e.length = length;
    e.input = {{encrypts ? plain_ : cipher_}, length};
    e.output = {{encrypts ? cipher_ : out_}, length};
    e.iv = {{ivs_}, 16};
    e.iv_len = static_cast<std::uint32_t>(iv_bytes(mode));
    e.key = k;
    if (raw) {
        e.keys = {{raw_keys_}, 32};
        e.key_len = 32;
    }
    if (mode == WARPAES_XTS) {
        (void)warpaes_key_create(tweak_keys_ + 64, 32, &tweak);
        e.tweak_key = tweak;
        e.data_unit_len = 512;
    }
    if (has_tag(mode)) {
        e.tag = {{tags_}, 16};
        e.tag_len = 16;
    }
    if (forged) tags_[0] ^= 1;
    // Entries of the same form take another path.
    warpaes_batch_entry entries[messages];
    const std::uint64_t count = !raw && length == 1024 ? messages : 1;
    for (std::uint64_t i = 0; i < count; ++i) {
        entries[i] = e;
        if (count == 1) break;
        entries[i].count = 1;
        for (warpaes_elements* of : {&entries[i].input, &entries[i].output, &entries[i].iv, &entries[i].tag}) {
            if (of->at.pointer != nullptr) of->at.pointer = static_cast<std::uint8_t*>(of->at.pointer) + i * of->stride;
        }
    }
    warpaes_batch* b = nullptr;
    expect(warpaes_batch_submit(engine_, nullptr, entries, count, &b), "batch_submit");
    constexpr std::uint64_t a_while = 600'000;
    expect(warpaes_batch_wait(b, helped ? WARPAES_UNKNOWN : a_while), "batch_wait",
           forged ? WARPAES_ERROR_AUTHENTICATION : WARPAES_OK);
    warpaes_batch_destroy(b);
    if (forged) tags_[0] ^= 1;
    warpaes_key_destroy(k);
    warpaes_key_destroy(tweak);
}

/// The batch is refused after the check of its keys, so no task is executed.
void World::refused_batch(std::uint64_t key_stride) {
    warpaes_batch_entry e = {};
    e.mode = WARPAES_GCM;
    e.direction = WARPAES_ENCRYPT;
    e.count = messages;
    e.length = 1024;
    e.input = {{plain_}, 1024};
    e.output = {{cipher_}, 1024};
    e.iv = {{ivs_}, 0};
    e.iv_len = 12;
    e.keys = {{raw_keys_}, key_stride};
    e.key_len = 32;
    e.tag = {{tags_}, 16};
    e.tag_len = 16;
    warpaes_batch_options options = WARPAES_BATCH_OPTIONS_INIT;
    options.flags = WARPAES_BATCH_CHECK_NONCES;
    warpaes_batch_entry both[2] = {e, e};
    both[1].output.at.pointer = out_;
    both[1].tag.at.pointer = tags_ + 16 * messages;
    warpaes_batch* b = nullptr;
    expect(warpaes_batch_submit(engine_, &options, both, 2, &b), "batch_submit");
    expect(warpaes_batch_wait(b, 600'000), "batch_wait", WARPAES_ERROR_IV_REUSED);
    warpaes_batch_destroy(b);
}

/// Encrypts a message that is divided among several tasks. The task that starts it expands its key.
void World::long_message_in_batch(warpaes_mode mode) {
    constexpr std::size_t length = (std::size_t{16} << 20) + 16;
    void* const memory = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    warpaes_batch_entry e = {};
    e.mode = mode;
    e.direction = WARPAES_ENCRYPT;
    e.count = 1;
    e.length = length;
    e.input.at.pointer = e.output.at.pointer = memory;
    e.iv = {{ivs_}, 16};
    e.iv_len = static_cast<std::uint32_t>(iv_bytes(mode));
    e.keys = {{raw_keys_}, 32};
    e.key_len = 32;
    if (has_tag(mode)) {
        e.tag = {{tags_}, 16};
        e.tag_len = 16;
    }
    warpaes_batch* b = nullptr;
    expect(warpaes_batch_submit(engine_, nullptr, &e, 1, &b), "batch_submit");
    expect(warpaes_batch_wait(b, 600'000), "batch_wait");
    warpaes_batch_destroy(b);
    munmap(memory, length);
}

void World::batches_into(std::vector<Operation>& all) {
    if (!on_gpu_) {  // too slow on a simulated GPU
        for (const auto mode : {WARPAES_CTR, WARPAES_GCM}) {
            all.push_back({text("batch: mode %d, a message of more than %d MiB%.0zu%s", mode, 16, 0, ""),
                           [=, this] { long_message_in_batch(mode); },
                           {}});
        }
    }
    all.push_back({"batch: an IV twice under one raw key", [this] { refused_batch(0); }, {}});
    all.push_back({"batch: an IV twice under each raw key", [this] { refused_batch(32); }, {}});
    for (int m = WARPAES_ECB; m <= WARPAES_CMAC; ++m) {
        const auto mode = static_cast<warpaes_mode>(m);
        for (const bool raw : {false, true}) {
            if (raw && mode == WARPAES_XTS) continue;
            for (const std::size_t length : {64, 1024, 16384}) {
                const bool helped = raw == (length == 1024);
                const std::string how =
                    std::string(raw ? " each, raw keys" : " each, a handle") + (helped ? "" : ", by the engine alone");
                for (const auto direction : directions) {
                    all.push_back({text("batch: mode %d, direction %d, %zu bytes%s", m, direction, length, how.c_str()),
                                   [=, this] { batch(mode, direction, length, raw, helped, false); },
                                   [=, this] {
                                       if (direction == WARPAES_DECRYPT && !raw) look_for_tag(mode, ivs_, length, 32);
                                   }});
                }
                if (!has_tag(mode)) continue;
                all.push_back({text("batch: mode %d, forged, direction %d, %zu bytes%s", m, 2, length, how.c_str()),
                               [=, this] { batch(mode, WARPAES_DECRYPT, length, raw, helped, true); },
                               {}});
            }
        }
    }
}

}  // namespace secrets
