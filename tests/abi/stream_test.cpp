// Tests batches and messages on a caller's stream. The calls do not wait, and results are written to the device.
#include <poll.h>

#include <cstring>

#include "device.hpp"

namespace abi_tests {
namespace {

struct DestroyBatch {
    void operator()(warpaes_batch* batch) const { warpaes_batch_destroy(batch); }
};

std::size_t iv_bytes_of(warpaes_mode mode) {
    return mode == WARPAES_ECB || mode == WARPAES_CMAC ? 0 : mode == WARPAES_GCM ? 12 : mode == WARPAES_CCM ? 11 : 16;
}
bool has_tag(warpaes_mode mode) {
    return mode == WARPAES_GCM || mode == WARPAES_CCM || mode == WARPAES_CMAC;
}

/// Messages of one shape, their expected results from the CPU, and their memory.
struct Shape {
    warpaes_mode mode;
    warpaes_direction direction;
    std::size_t count, length, aad, tag, key_bytes;
    bool own_keys;
    bool ivs_on_host, aad_on_host, tags_on_host, keys_on_host;
};

class Stream : public DeviceTest {
protected:
    void SetUp() override {
        DeviceTest::SetUp();
        if (IsSkipped() || HasFatalFailure()) return;
        reference_ = make_engine("libcrypto");
        ASSERT_NE(reference_, nullptr);
    }

    struct Work {
        Shape shape{};
        Bytes keys, tweak_key, ivs, aads, inputs, outputs, tags;  ///< data of the synchronous call
        std::vector<warpaes_status> statuses;
        std::vector<Key> handles;
        Key tweak;
        std::vector<Buffer> memory;
        std::uint8_t *output = nullptr, *tag = nullptr, *status = nullptr;
        warpaes_batch_entry entry{};
    };

    warpaes_message message_of(const Work& w, std::size_t i, warpaes_direction direction) const {
        const Shape& s = w.shape;
        warpaes_message m = WARPAES_MESSAGE_INIT;
        m.mode = s.mode;
        m.direction = direction;
        m.key = w.handles[w.handles.size() > 1 ? i : 0].get();
        const std::size_t iv = iv_bytes_of(s.mode);
        m.iv = iv != 0 ? w.ivs.data() + i * iv : nullptr;
        m.iv_len = iv;
        m.aad = s.aad != 0 ? w.aads.data() + i * s.aad : nullptr;
        m.aad_len = s.aad;
        if (s.mode == WARPAES_XTS) {
            m.tweak_key = w.tweak.get();
            m.data_unit_len = 48;
        }
        return m;
    }

    Work make(const Shape& s, unsigned forged_every) {
        Work w;
        w.shape = s;
        const std::size_t keys = s.own_keys ? s.count : 1, iv = iv_bytes_of(s.mode);
        w.keys = random_.bytes(keys * s.key_bytes);
        for (std::size_t i = 0; i < keys; ++i) {
            const auto begin = w.keys.begin() + static_cast<std::ptrdiff_t>(i * s.key_bytes);
            w.handles.push_back(make_key({begin, begin + static_cast<std::ptrdiff_t>(s.key_bytes)}));
        }
        if (s.mode == WARPAES_XTS) w.tweak = make_key(random_.bytes(s.key_bytes));
        w.ivs = random_.bytes(s.count * iv);
        w.aads = random_.bytes(s.count * s.aad);
        w.inputs = random_.bytes(s.count * s.length);
        w.outputs.resize(s.mode == WARPAES_CMAC ? 0 : w.inputs.size());
        w.tags.resize(s.count * s.tag);
        w.statuses.assign(s.count, WARPAES_OK);
        for (std::size_t i = 0; i < s.count; ++i) crypt_one(w, i, forged_every);
        place(w);
        return w;
    }

    /// The input for authenticated decryption is encrypted first and sometimes altered.
    void crypt_one(Work& w, std::size_t i, unsigned forged_every) {
        const Shape& s = w.shape;
        std::uint8_t *const input = w.inputs.data() + i * s.length, *const tag = w.tags.data() + i * s.tag;
        std::uint8_t* const output = s.mode == WARPAES_CMAC ? nullptr : w.outputs.data() + i * s.length;
        const auto run = [&](warpaes_direction direction, void* to) {
            warpaes_message m = message_of(w, i, direction);
            m.input = input;
            m.input_len = s.length;
            m.output = to;
            m.output_capacity = s.length;
            m.tag = s.tag != 0 ? tag : nullptr;
            m.tag_len = s.tag;
            return warpaes_crypt(reference_.get(), &m, nullptr);
        };
        if (has_tag(s.mode) && s.direction == WARPAES_DECRYPT) {
            ASSERT_EQ(run(WARPAES_ENCRYPT, input), WARPAES_OK) << warpaes_last_error();
            if (forged_every != 0 && i % forged_every == forged_every - 1) tag[i % s.tag] ^= 0x10;
        }
        w.statuses[i] = run(s.direction, output);
        ASSERT_TRUE(w.statuses[i] == WARPAES_OK || w.statuses[i] == WARPAES_ERROR_AUTHENTICATION)
            << warpaes_last_error();
    }

    void place(Work& w) {
        const Shape& s = w.shape;
        const auto lay = [&](const Bytes& bytes, bool on_host) {
            if (bytes.empty()) return const_cast<std::uint8_t*>(bytes.data());
            if (on_host) return const_cast<std::uint8_t*>(bytes.data());
            return w.memory.emplace_back(on_device(bytes)).data();
        };
        warpaes_batch_entry& e = w.entry;
        e.mode = s.mode;
        e.direction = s.direction;
        e.count = s.count;
        e.length = s.length;
        e.input = {{lay(w.inputs, false)}, s.length};
        w.output = lay(Bytes(w.outputs.size(), 0x77), false);
        e.output = {{w.output}, s.length};
        e.iv = {{lay(w.ivs, s.ivs_on_host)}, iv_bytes_of(s.mode)};
        e.iv_len = static_cast<std::uint32_t>(iv_bytes_of(s.mode));
        e.aad = {{lay(w.aads, s.aad_on_host)}, s.aad};
        e.aad_len = s.aad;
        const bool encrypt = s.direction == WARPAES_ENCRYPT;
        if (s.tag != 0) {
            w.tag = encrypt ? lay(Bytes(w.tags.size(), 0x78), false) : lay(w.tags, s.tags_on_host);
            e.tag = {{w.tag}, s.tag};
            e.tag_len = static_cast<std::uint32_t>(s.tag);
            w.status = lay(Bytes(s.count * sizeof(warpaes_status), 0x79), false);
            if (!encrypt) e.statuses = reinterpret_cast<warpaes_status*>(w.status);
        }
        if (s.own_keys) {
            e.keys = {{lay(w.keys, s.keys_on_host)}, s.key_bytes};
            e.key_len = static_cast<std::uint32_t>(s.key_bytes);
        } else {
            e.key = w.handles[0].get();
        }
        if (s.mode == WARPAES_XTS) {
            e.tweak_key = w.tweak.get();
            e.data_unit_len = 48;
        }
    }

    using Host = std::unique_ptr<std::uint8_t, Free>;
    Host page_locked(const Bytes& bytes) {
        void* pointer = nullptr;
        EXPECT_EQ(warpaes_alloc(engine_.get(), WARPAES_MEMORY_PAGE_LOCKED, -1, bytes.size() + 1, &pointer), WARPAES_OK)
            << warpaes_last_error();
        std::copy(bytes.begin(), bytes.end(), static_cast<std::uint8_t*>(pointer));
        return {static_cast<std::uint8_t*>(pointer), Free{engine_.get()}};
    }

    Bytes fetch(const std::uint8_t* from, std::size_t n) {
        Bytes bytes(n);
        if (n != 0) copy(bytes.data(), from, n);
        return bytes;
    }

    void expect(const Work& w, const std::string& what) {
        const Shape& s = w.shape;
        EXPECT_EQ(fetch(w.output, w.outputs.size()), w.outputs) << what;
        if (s.tag != 0 && s.direction == WARPAES_ENCRYPT) {
            EXPECT_EQ(fetch(w.tag, w.tags.size()), w.tags) << what;
        }
        if (s.tag == 0 || s.direction == WARPAES_ENCRYPT) return;
        const Bytes told = fetch(w.status, s.count * sizeof(warpaes_status));
        EXPECT_EQ(std::memcmp(told.data(), w.statuses.data(), told.size()), 0) << what;
    }

    /// Enqueues one message without waiting.
    void expect_message(const Shape& s, bool forged) {
        const Work w = make(s, forged ? 1 : 0);
        warpaes_message m = message_of(w, 0, s.direction);
        m.input = w.entry.input.at.pointer;
        m.input_len = s.length;
        m.output = w.output;
        m.output_capacity = s.mode == WARPAES_CMAC ? 0 : s.length;
        m.aad = s.aad != 0 ? w.entry.aad.at.pointer : nullptr;
        m.tag = w.tag;
        m.tag_len = s.tag;
        if (s.direction == WARPAES_DECRYPT) m.device_status = reinterpret_cast<warpaes_status*>(w.status);
        warpaes_result result = WARPAES_RESULT_INIT;
        ASSERT_EQ(warpaes_crypt_async(engine_.get(), &m, nullptr, &result), WARPAES_OK) << result.error;
        EXPECT_STREQ(result.backend, "cuda");
        EXPECT_EQ(result.device, GetParam());
        expect(w, "mode " + std::to_string(s.mode) + ", direction " + std::to_string(s.direction) + ", " +
                      std::to_string(s.length) + " bytes" + (forged ? ", forged" : ""));
    }

    Shape any_shape() {
        constexpr warpaes_mode modes[] = {WARPAES_ECB, WARPAES_CBC,  WARPAES_CFB128, WARPAES_CFB8,
                                          WARPAES_OFB, WARPAES_CTR,  WARPAES_XTS,    WARPAES_GCM,
                                          WARPAES_CCM, WARPAES_CMAC, WARPAES_GCM,    WARPAES_CTR};
        Shape s{};
        s.mode = modes[random_.below(std::size(modes))];
        s.direction = random_.below(2) == 0 ? WARPAES_ENCRYPT : WARPAES_DECRYPT;
        s.count = 1 + random_.below(random_.below(4) == 0 ? 70 : 6);
        s.length = random_.below(random_.below(5) == 0 ? 700 : 100);
        if (s.mode == WARPAES_ECB || s.mode == WARPAES_CBC) s.length = s.length / 16 * 16;
        if (s.mode == WARPAES_XTS) s.length = 48 + random_.below(3) * 48 + 16 + random_.below(32);
        s.aad = s.mode == WARPAES_GCM || s.mode == WARPAES_CCM ? random_.below(40) : 0;
        s.tag = s.mode == WARPAES_GCM ? 12 + random_.below(5) : s.mode == WARPAES_CCM ? 4 + 2 * random_.below(7) : 0;
        if (s.mode == WARPAES_CMAC) s.tag = 4 + random_.below(13);
        s.key_bytes = s.mode == WARPAES_XTS ? 16 + 16 * random_.below(2) : 16 + 8 * random_.below(3);
        s.own_keys = s.mode != WARPAES_XTS && random_.below(2) == 0;
        s.ivs_on_host = random_.below(2) == 0;
        s.aad_on_host = random_.below(2) == 0;
        s.tags_on_host = random_.below(2) == 0;
        s.keys_on_host = random_.below(2) == 0;
        return s;
    }

    warpaes_status enqueue(const std::vector<warpaes_batch_entry>& entries,
                           const warpaes_batch_options* options = nullptr) {
        return warpaes_batch_enqueue(engine_.get(), options, entries.data(), entries.size(), nullptr);
    }

    Engine reference_;
};

TEST_P(Stream, BatchesOfAnyKindAreWhatTheCallsThatWaitMake) {
    const int rounds = simulated() ? 40 : 400;
    std::vector<std::vector<Work>> under_way;
    for (int round = 0; round < rounds; ++round) {
        std::vector<Work> works;
        std::vector<warpaes_batch_entry> entries;
        for (std::size_t n = 1 + random_.below(4); n != 0; --n) works.push_back(make(any_shape(), 3));
        for (const Work& w : works) entries.push_back(w.entry);
        ASSERT_EQ(enqueue(entries), WARPAES_OK) << warpaes_last_error();
        // The caller may reuse keys and host memory after the call.
        for (Work& w : works) {
            w.handles.clear();
            w.tweak.reset();
            for (Bytes* bytes : {&w.keys, &w.ivs, &w.aads}) std::fill(bytes->begin(), bytes->end(), std::uint8_t{0});
            if (w.shape.tags_on_host && w.shape.direction == WARPAES_DECRYPT)
                std::fill(w.tags.begin(), w.tags.end(), 0);
        }
        under_way.push_back(std::move(works));
    }
    for (const auto& works : under_way) {
        for (const Work& w : works) {
            expect(w, "mode " + std::to_string(w.shape.mode) + ", direction " + std::to_string(w.shape.direction) +
                          ", " + std::to_string(w.shape.count) + " times " + std::to_string(w.shape.length));
        }
    }
}

// The texts in page-locked memory are those on the device, in place or not.
TEST_P(Stream, TextsAreAlsoCopied) {
    for (int round = 0; round < (simulated() ? 30 : 200); ++round) {
        std::vector<Work> works;
        while (works.size() < 1 + static_cast<std::size_t>(round) % 5) {
            const Shape shape = any_shape();
            if (shape.mode != WARPAES_CMAC) works.push_back(make(shape, 3));
        }
        std::vector<Host> hosts;
        std::vector<void*> copies;
        std::vector<warpaes_batch_entry> entries;
        for (Work& w : works) {
            const bool encrypts = w.shape.direction == WARPAES_ENCRYPT;
            hosts.push_back(page_locked(encrypts ? Bytes(w.inputs.size(), 0x5c) : w.inputs));
            const bool copied = !w.inputs.empty() && (round + works.size()) % 3 != 0;
            copies.push_back(copied ? hosts.back().get() : nullptr);
            auto* const input = static_cast<std::uint8_t*>(w.entry.input.at.pointer);
            if (!encrypts && copied) copy(input, Bytes(w.inputs.size(), 0x3e).data(), w.inputs.size());
            if (round % 2 == 0) {
                w.entry.output = w.entry.input;
                w.output = input;
            }
            entries.push_back(w.entry);
        }
        warpaes_batch_options options = WARPAES_BATCH_OPTIONS_INIT;
        options.copies = copies.data();
        ASSERT_EQ(enqueue(entries, &options), WARPAES_OK) << warpaes_last_error();
        for (std::size_t i = 0; i < works.size(); ++i) {
            const Work& w = works[i];
            const std::string what = "mode " + std::to_string(w.shape.mode) + ", direction " +
                                     std::to_string(w.shape.direction) + ", " + std::to_string(w.shape.count) +
                                     " times " + std::to_string(w.shape.length);
            expect(w, what);
            const Bytes found(hosts[i].get(), hosts[i].get() + w.inputs.size());
            const Bytes& written = copies[i] != nullptr ? w.outputs : Bytes(w.inputs.size(), 0x5c);
            EXPECT_EQ(found, w.shape.direction == WARPAES_ENCRYPT ? written : w.inputs) << what;
        }
    }
}

TEST_P(Stream, CopiesThatCannotBeEnqueued) {
    Shape s{WARPAES_GCM, WARPAES_ENCRYPT, 3, 32, 0, 16, 16, false, true, true, true, true};
    const Work first = make(s, 0), second = make(s, 0);
    s.mode = WARPAES_CMAC;
    const Work mac = make(s, 0);
    const Host host = page_locked(Bytes(300, 0x5c));
    const auto refused = [&](warpaes_status status, const std::string& named, const Work& w, const auto& spoil) {
        std::vector<void*> copies{host.get(), host.get() + 96};
        warpaes_batch_options options = WARPAES_BATCH_OPTIONS_INIT;
        options.copies = copies.data();
        warpaes_batch_entry bad = w.entry;
        spoil(bad, copies[1]);
        EXPECT_EQ(enqueue({first.entry, bad}, &options), status) << named;
        EXPECT_EQ(std::string(warpaes_last_error()), "entry 1: copies: " + named);
        EXPECT_EQ(fetch(first.output, first.outputs.size()), Bytes(first.outputs.size(), 0x77)) << named;
        EXPECT_EQ(Bytes(host.get(), host.get() + 300), Bytes(300, 0x5c)) << named;
    };
    using Entry = warpaes_batch_entry;
    Bytes pageable(300);
    refused(WARPAES_ERROR_ARGUMENT, "must be in page-locked memory", second,
            [&](Entry&, void*& copy) { copy = pageable.data(); });
    refused(WARPAES_ERROR_ARGUMENT, "must be in page-locked memory", second,
            [&](Entry&, void*& copy) { copy = second.output; });
    refused(WARPAES_ERROR_ARGUMENT, "the text on the device has gaps", second, [](Entry& e, void*&) {
        e.count = 2;
        e.output.stride = 48;
    });
    refused(WARPAES_ERROR_ARGUMENT, "the mode has no output", mac, [](Entry&, void*&) {});
    refused(WARPAES_ERROR_OVERLAP, "overlaps the memory of another entry", second,
            [&](Entry&, void*& copy) { copy = host.get() + 95; });

    std::vector<void*> copies{host.get()};
    warpaes_batch_options options = WARPAES_BATCH_OPTIONS_INIT;
    options.copies = copies.data();
    warpaes_batch* batch = nullptr;
    EXPECT_EQ(warpaes_batch_submit(engine_.get(), &options, &first.entry, 1, &batch), WARPAES_ERROR_ARGUMENT);
    EXPECT_STREQ(warpaes_last_error(), "options: copies applies only to warpaes_batch_enqueue");
    options.copies = nullptr;
    options.flags = WARPAES_BATCH_MORE_COPIES;
    EXPECT_EQ(enqueue({first.entry}, &options), WARPAES_ERROR_ARGUMENT);
    EXPECT_STREQ(warpaes_last_error(), "options: WARPAES_BATCH_MORE_COPIES applies only with copies");
}

/// Wiping a forged output would overwrite a status in it with WARPAES_OK.
TEST_P(Stream, StatusesInTheOutput) {
    const Shape s{WARPAES_GCM, WARPAES_DECRYPT, 1, 64, 0, 16, 16, false, true, true, true, true};
    const Work w = make(s, 1);
    for (const std::size_t at : {0U, 32U, 60U}) {
        auto* const status = reinterpret_cast<warpaes_status*>(w.output + at);
        warpaes_batch_entry bad = w.entry;
        bad.statuses = status;
        EXPECT_EQ(enqueue({bad}), WARPAES_ERROR_OVERLAP);
        EXPECT_STREQ(warpaes_last_error(), "entry 0: statuses: overlap the output");
        warpaes_message m = message_of(w, 0, WARPAES_DECRYPT);
        m.input = w.entry.input.at.pointer;
        m.input_len = s.length;
        m.output = w.output;
        m.output_capacity = s.length;
        m.tag = w.tag;
        m.tag_len = s.tag;
        m.device_status = status;
        EXPECT_EQ(warpaes_crypt_async(engine_.get(), &m, nullptr, nullptr), WARPAES_ERROR_OVERLAP);
        EXPECT_STREQ(warpaes_last_error(), "device_status: overlaps the output");
        EXPECT_EQ(fetch(w.output, 64), Bytes(64, 0x77));
    }
}

/// An input that is copied counts as memory that its entry writes.
TEST_P(Stream, CopiesOfInputsThatOverlapOnTheDevice) {
    const Shape s{WARPAES_CTR, WARPAES_DECRYPT, 3, 32, 0, 0, 16, false, true, true, true, true};
    for (const bool in_place : {false, true}) {
        const Work first = make(s, 0), second = make(s, 0);
        const Host host = page_locked(Bytes(192, 0x5c));
        std::vector<void*> copies{host.get(), host.get() + 96};
        warpaes_batch_options options = WARPAES_BATCH_OPTIONS_INIT;
        options.copies = copies.data();
        for (std::uint8_t* const at : {static_cast<std::uint8_t*>(first.entry.input.at.pointer), first.output + 95}) {
            warpaes_batch_entry bad = second.entry;
            bad.input.at.pointer = at;
            if (in_place) bad.output = bad.input;
            EXPECT_EQ(enqueue({first.entry, bad}, &options), WARPAES_ERROR_OVERLAP);
            EXPECT_EQ(fetch(first.output, first.outputs.size()), Bytes(first.outputs.size(), 0x77));
        }
    }
}

/// A call without messages ends the copies of earlier calls.
TEST_P(Stream, CopiesThatACallWithoutMessagesEnds) {
    const Shape s{WARPAES_CTR, WARPAES_ENCRYPT, 1, 64, 0, 0, 16, false, true, true, true, true};
    for (const bool has_entry : {false, true}) {
        const Work w = make(s, 0);
        const Host host = page_locked(Bytes(64, 0x5c));
        void* copies = host.get();
        warpaes_batch_options options = WARPAES_BATCH_OPTIONS_INIT;
        options.copies = &copies;
        options.flags = WARPAES_BATCH_MORE_COPIES;
        ASSERT_EQ(enqueue({w.entry}, &options), WARPAES_OK) << warpaes_last_error();
        options.flags = 0;
        warpaes_batch_entry empty = w.entry;
        empty.length = 0;
        std::vector<warpaes_batch_entry> entries;
        if (has_entry) entries.push_back(empty);
        ASSERT_EQ(enqueue(entries, &options), WARPAES_OK) << warpaes_last_error();
        expect(w, "CTR");
        EXPECT_EQ(Bytes(host.get(), host.get() + 64), w.outputs);
    }
}

TEST_P(Stream, OfManyMessagesThoseThatWereAlteredAreTold) {
    const std::size_t count = simulated() ? 500 : 20000;
    const Shape s{WARPAES_GCM, WARPAES_DECRYPT, count, 64, 13, 16, 32, false, false, false, false, false};
    const Work w = make(s, 101);
    ASSERT_EQ(enqueue({w.entry}), WARPAES_OK) << warpaes_last_error();
    expect(w, "GCM");
    EXPECT_EQ(std::count(w.statuses.begin(), w.statuses.end(), WARPAES_ERROR_AUTHENTICATION),
              static_cast<std::ptrdiff_t>(count / 101));
}

TEST_P(Stream, MessagesWithTagsAreDecryptedWithoutWaiting) {
    for (const warpaes_mode mode : {WARPAES_GCM, WARPAES_CCM, WARPAES_CMAC}) {
        for (const warpaes_direction direction : directions) {
            for (const bool forged : {false, true}) {
                for (const bool aad_on_host : {false, true}) {
                    expect_message({mode, direction, 1, 333, mode == WARPAES_CMAC ? 0u : 21u, 12, 16, false, true, true,
                                    aad_on_host, true},
                                   forged);
                }
            }
        }
    }
}

// Tests messages without text, such as keep-alives. The parts that are only read lie in host or device memory, in every
// combination. If all of them are in host memory, the tag or the status determines the device.
TEST_P(Stream, MessagesWithoutText) {
    for (const warpaes_mode mode : {WARPAES_GCM, WARPAES_CCM, WARPAES_CMAC}) {
        for (const warpaes_direction direction : directions) {
            for (unsigned places = 0; places < 8; ++places) {
                for (const std::size_t aad : {std::size_t{0}, std::size_t{21}}) {
                    for (const unsigned forged_every : {0U, 1U, 2U}) {
                        if (mode == WARPAES_CMAC && aad != 0) continue;
                        const bool ivs = (places & 1) != 0, aads = (places & 2) != 0, tags = (places & 4) != 0;
                        const Shape s{mode, direction, 1, 0, aad, 16, 16, false, ivs, aads, tags, true};
                        if (ivs) expect_message(s, forged_every == 1);
                        Shape several = s;
                        several.count = 5;
                        const Work w = make(several, forged_every);
                        ASSERT_EQ(enqueue({w.entry}), WARPAES_OK) << warpaes_last_error();
                        expect(w, "without text");
                    }
                }
            }
        }
    }
}

// Entries without text are enqueued among other entries, in any order.
TEST_P(Stream, EntriesWithoutTextAmongOthers) {
    for (const warpaes_direction direction : directions) {
        const Shape empty{WARPAES_GCM, direction, 3, 0, 0, 16, 16, false, true, true, true, true};
        const Shape full{WARPAES_GCM, WARPAES_DECRYPT, 3, 100, 7, 16, 16, false, true, true, true, true};
        const Shape nothing{WARPAES_CTR, direction, 3, 0, 0, 0, 16, false, true, true, true, true};
        for (const bool first : {false, true}) {
            std::vector<Work> works;
            for (const Shape& s : {first ? empty : full, nothing, first ? full : empty}) works.push_back(make(s, 2));
            std::vector<warpaes_batch_entry> entries;
            for (const Work& w : works) entries.push_back(w.entry);
            ASSERT_EQ(enqueue(entries), WARPAES_OK) << warpaes_last_error();
            for (const Work& w : works) expect(w, "among others");
        }
    }
}

// In a mode without tags, a message of 0 bytes needs no work, whatever its pointers are.
TEST_P(Stream, NothingToDo) {
    Bytes host(64);
    const Buffer there = on_device(Bytes(64));
    for (const ModeTraits& mode : all_modes()) {
        for (const warpaes_direction direction : directions) {
            for (std::uint8_t* const pointer : {static_cast<std::uint8_t*>(nullptr), host.data(), there.data()}) {
                Call message = make_message(mode.mode, direction, key_, iv_, pointer, 0, pointer, 0);
                EXPECT_EQ(crypt_async(engine_, message), WARPAES_OK) << warpaes_last_error();
                EXPECT_EQ(message.result.output_len, 0U);
            }
        }
    }
}

// Outputs must lie on the device, even for messages without text. The error message names the wrong argument.
TEST_P(Stream, WithoutTextWhatIsWrittenLiesOnTheDevice) {
    Bytes host(64);
    const Buffer there = on_device(Bytes(64));
    const auto refused = [&](warpaes_direction direction, void* tag, warpaes_status* status, const std::string& named) {
        Call message = make_message(WARPAES_GCM, direction, key_, Bytes(12), nullptr, 0, nullptr, 0);
        const Bytes iv(12);
        message.iv = iv.data();
        message.tag = tag;
        message.tag_len = 16;
        message.device_status = status;
        EXPECT_EQ(crypt_async(engine_, message), WARPAES_ERROR_ARGUMENT) << named;
        EXPECT_EQ(std::string(warpaes_last_error()).find(named), 0U) << warpaes_last_error();
        warpaes_batch_entry e = {};
        e.mode = WARPAES_GCM;
        e.direction = direction;
        e.count = 1;
        e.iv = {{const_cast<std::uint8_t*>(iv.data())}, 12};
        e.iv_len = 12;
        e.tag = {{tag}, 16};
        e.tag_len = 16;
        e.key = key_.get();
        e.statuses = status;
        EXPECT_EQ(enqueue({e}), WARPAES_ERROR_ARGUMENT) << named;
        const std::string in_batch = named == "device_status: " ? "entry 0: statuses: " : "entry 0: " + named;
        EXPECT_EQ(std::string(warpaes_last_error()).find(in_batch), 0U) << warpaes_last_error();
    };
    refused(WARPAES_ENCRYPT, host.data(), nullptr, "tag: ");
    refused(WARPAES_DECRYPT, host.data(), nullptr, "device_status: ");
    refused(WARPAES_DECRYPT, there.data(), nullptr, "device_status: ");
    refused(WARPAES_DECRYPT, there.data(), reinterpret_cast<warpaes_status*>(host.data()), "device_status: ");
    refused(WARPAES_DECRYPT, host.data(), reinterpret_cast<warpaes_status*>(host.data() + 32), "device_status: ");
}

// Tests a GCM message that is so long that it needs separate launches.
TEST_P(Stream, OneLongMessageOfGcm) {
    for (const warpaes_direction direction : directions) {
        for (const bool forged : {false, true}) {
            expect_message({WARPAES_GCM, direction, 1, (1 << 20) + 13, 21, 12, 16, false, true, true, true, true},
                           forged);
        }
    }
}

TEST_P(Stream, WhatCannotBeEnqueuedIsRefusedAndNothingIsDone) {
    const Shape s{WARPAES_GCM, WARPAES_DECRYPT, 3, 32, 0, 16, 16, false, true, true, true, true};
    const Work good = make(s, 0);
    Shape sealing = s;
    sealing.direction = WARPAES_ENCRYPT;
    const Work seal = make(sealing, 0);
    const auto refused = [&](warpaes_status status, const std::string& named, const Work& w, const auto& spoil) {
        Bytes host(4096);
        warpaes_batch_entry bad = w.entry;
        warpaes_batch_options options = WARPAES_BATCH_OPTIONS_INIT;
        spoil(bad, options, host.data());
        EXPECT_EQ(enqueue({good.entry, bad}, &options), status) << named;
        EXPECT_NE(std::string(warpaes_last_error()).find(named), std::string::npos) << warpaes_last_error();
        EXPECT_EQ(fetch(good.output, good.outputs.size()), Bytes(good.outputs.size(), 0x77)) << named;
    };
    using Entry = warpaes_batch_entry;
    using Options = warpaes_batch_options;
    refused(WARPAES_ERROR_ARGUMENT, "entry 1: input, output: an enqueued batch", seal,
            [](Entry& e, Options&, std::uint8_t* p) {
                e.input.at.pointer = p;
                e.output.at.pointer = p + 1024;
                e.tag.at.pointer = p + 2048;
            });
    refused(WARPAES_ERROR_ARGUMENT, "entry 1: input, output: an enqueued batch", seal,
            [](Entry& e, Options&, std::uint8_t* p) { e.output.at.pointer = p; });
    refused(WARPAES_ERROR_ARGUMENT, "entry 1: tag: an enqueued batch", seal,
            [](Entry& e, Options&, std::uint8_t* p) { e.tag.at.pointer = p; });
    refused(WARPAES_ERROR_ARGUMENT, "entry 1: statuses: is null", good,
            [](Entry& e, Options&, std::uint8_t*) { e.statuses = nullptr; });
    refused(WARPAES_ERROR_ARGUMENT, "entry 1: statuses: an enqueued batch", good,
            [](Entry& e, Options&, std::uint8_t* p) { e.statuses = reinterpret_cast<warpaes_status*>(p); });
    refused(WARPAES_ERROR_OVERLAP, "overlap the output or tag of another entry", good,
            [](Entry&, Options&, std::uint8_t*) {});
    refused(WARPAES_ERROR_ARGUMENT, "entry 1: tag_len", seal, [](Entry& e, Options&, std::uint8_t*) { e.tag_len = 3; });
    refused(WARPAES_ERROR_ARGUMENT, "options: ", seal,
            [](Entry&, Options& o, std::uint8_t* p) { o.results = reinterpret_cast<warpaes_entry_result*>(p); });
    refused(WARPAES_ERROR_ARGUMENT, "options: ", seal,
            [](Entry&, Options& o, std::uint8_t*) { o.flags = WARPAES_BATCH_CHECK_NONCES; });

    warpaes_message m = message_of(good, 0, WARPAES_DECRYPT);
    m.input = good.entry.input.at.pointer;
    m.output = good.output;
    m.input_len = m.output_capacity = s.length;
    m.tag = good.tag;
    m.tag_len = 16;
    EXPECT_EQ(warpaes_crypt_async(engine_.get(), &m, nullptr, nullptr), WARPAES_ERROR_ARGUMENT);
    EXPECT_NE(std::string(warpaes_last_error()).find("device_status: "), std::string::npos) << warpaes_last_error();
    const Engine cpu = make_engine("libcrypto");
    EXPECT_EQ(warpaes_batch_enqueue(cpu.get(), nullptr, &good.entry, 1, nullptr), WARPAES_ERROR_BACKEND);
    EXPECT_EQ(warpaes_batch_enqueue(nullptr, nullptr, &good.entry, 1, nullptr), WARPAES_ERROR_ARGUMENT);
    EXPECT_EQ(warpaes_batch_enqueue(engine_.get(), nullptr, nullptr, 0, nullptr), WARPAES_OK);
}

TEST_P(Stream, OfABatchThatIsWaitedForIvsAndTagsMayLieInHostMemory) {
    for (const warpaes_direction direction : directions) {
        const Shape s{WARPAES_GCM, direction, 9, 200, 5, 16, 32, true, true, true, true, true};
        Work w = make(s, 4);
        Bytes tags = direction == WARPAES_ENCRYPT ? Bytes(w.tags.size(), 0x11) : w.tags;
        std::vector<warpaes_status> statuses(s.count, WARPAES_ERROR_INTERNAL);
        w.entry.tag.at.pointer = tags.data();
        w.entry.statuses = statuses.data();
        warpaes_batch_options options = WARPAES_BATCH_OPTIONS_INIT;
        options.flags = WARPAES_BATCH_CHECK_NONCES;
        warpaes_batch* made = nullptr;
        ASSERT_EQ(warpaes_batch_submit(engine_.get(), &options, &w.entry, 1, &made), WARPAES_OK)
            << warpaes_last_error();
        const std::unique_ptr<warpaes_batch, DestroyBatch> batch(made);
        pollfd finished{warpaes_batch_fd(made), POLLIN, 0};
        ASSERT_GE(finished.fd, 0);
        ASSERT_EQ(::poll(&finished, 1, 60000), 1);
        EXPECT_EQ(warpaes_batch_poll(made), 1);
        EXPECT_EQ(fetch(w.output, w.outputs.size()), w.outputs);
        EXPECT_EQ(tags, w.tags);
        EXPECT_EQ(statuses, w.statuses);
    }
}

WARPAES_FOR_EVERY_DEVICE(Stream);

TEST(BatchDescriptor, CanBeReadFromOnceTheBatchIsFinished) {
    const Engine engine = make_engine("libcrypto");
    const Key key = make_key(Bytes(16, 1));
    Bytes text(1 << 20), iv(16);
    warpaes_batch_entry e{};
    e.mode = WARPAES_CTR;
    e.direction = WARPAES_ENCRYPT;
    e.count = 1;
    e.length = text.size();
    e.key = key.get();
    e.input.at.pointer = e.output.at.pointer = text.data();
    e.iv.at.pointer = iv.data();
    e.iv_len = 16;
    for (const bool late : {false, true}) {
        warpaes_batch* made = nullptr;
        ASSERT_EQ(warpaes_batch_submit(engine.get(), nullptr, &e, 1, &made), WARPAES_OK);
        const std::unique_ptr<warpaes_batch, DestroyBatch> batch(made);
        if (late) {
            ASSERT_EQ(warpaes_batch_wait(made, WARPAES_UNKNOWN), WARPAES_OK);
        }
        pollfd finished{warpaes_batch_fd(made), POLLIN, 0};
        ASSERT_GE(finished.fd, 0);
        EXPECT_EQ(warpaes_batch_fd(made), finished.fd) << "one a batch";
        ASSERT_EQ(::poll(&finished, 1, 60000), 1);
        EXPECT_EQ(warpaes_batch_poll(made), 1);
    }
    EXPECT_EQ(warpaes_batch_fd(nullptr), -1);
}

}  // namespace
}  // namespace abi_tests
