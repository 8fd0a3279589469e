// Tests parts of the batch engine: strips of memory, tasks and their shares, and the table of keys.
#include <gtest/gtest.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "base/siphash.hpp"
#include "message/batch/batch.hpp"
#include "message/batch/clashes.hpp"
#include "message/batch/key_table.hpp"
#include "message/batch/rectangles.hpp"
#include "message/batch/strip.hpp"
#include "message/batch/tasks.hpp"

namespace {

/// Random words that the process obtained from the system, two per request.
std::vector<std::array<std::uint64_t, 2>> random_words;

}  // namespace

/// Replaces libc's getrandom, which the library calls.
ssize_t getrandom(void* buffer, std::size_t bytes, unsigned flags) {
    const ssize_t n = ::syscall(SYS_getrandom, buffer, bytes, flags);
    if (bytes == sizeof random_words[0]) std::memcpy(random_words.emplace_back().data(), buffer, bytes);
    return n;
}

namespace warpaes {
namespace {

// -------------------------------------------------------------------------------------------------------------- strips

std::set<std::uintptr_t> bytes_of(const Strip& s) {
    std::set<std::uintptr_t> bytes;
    for (std::uint64_t i = 0; i < s.count; ++i) {
        for (std::uint64_t b = 0; b < s.size; ++b) bytes.insert(s.begin + i * s.stride + b);
    }
    return bytes;
}

bool share_a_byte(const Strip& a, const Strip& b) {
    const auto x = bytes_of(a), y = bytes_of(b);
    return std::any_of(x.begin(), x.end(), [&](std::uintptr_t at) { return y.contains(at); });
}

TEST(Strips, MeetWhereTheyShareAByte) {
    std::mt19937 random(1);
    const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
    unsigned unknown = 0;
    for (int i = 0; i < 200000; ++i) {
        const Strip a{100 + below(40), below(12), below(6), below(9)};
        Strip b{100 + below(40), below(12), below(6), below(9)};
        if (below(2) == 0) b.stride = a.stride;
        const Meeting found = meet(a, b);
        ASSERT_EQ(meet(b, a), found);
        if (found == Meeting::unknown) {
            ++unknown;
            ASSERT_NE(a.stride, b.stride);
            continue;
        }
        ASSERT_EQ(found == Meeting::yes, share_a_byte(a, b))
            << a.begin << '+' << a.stride << '*' << a.count << ':' << a.size << ' ' << b.begin << '+' << b.stride << '*'
            << b.count << ':' << b.size;
    }
    EXPECT_LT(unknown, 40000U);
    EXPECT_GT(unknown, 100U);
}

TEST(Strips, AtTheEndOfMemory) {
    const Strip last{UINTPTR_MAX - 160, 16, 10, 16};
    EXPECT_EQ(meet(last, last), Meeting::yes);
    EXPECT_EQ(meet(last, {0, 16, 10, 16}), Meeting::no);
    const Strip wide{16, std::uint64_t{1} << 62, 3, 16};
    EXPECT_EQ(meet(wide, {32 + (std::uintptr_t{1} << 62), std::uint64_t{1} << 62, 2, 16}), Meeting::no);
    EXPECT_EQ(meet(wide, {31 + (std::uintptr_t{1} << 62), std::uint64_t{1} << 62, 2, 16}), Meeting::yes);
}

std::set<std::uint32_t> clashes_of(const std::vector<std::array<Strip, 2>>& writes) {
    const auto n = static_cast<std::uint32_t>(writes.size());
    // Adds all writes at once, and in two parts. If there are only a few writes, every position of the split is tested.
    // Otherwise, only some positions are tested.
    std::optional<std::set<std::uint32_t>> found;
    for (std::uint32_t cut = 0; cut <= n; cut += 1 + n / 16) {
        Clashes clashes, rest;
        for (std::uint32_t i = 0; i < n; ++i) (i < cut ? clashes : rest).add(i, writes[i]);
        clashes.append(rest);
        std::set<std::uint32_t> these;
        clashes.find([&](std::uint32_t i) { return writes[i]; }, [&](std::uint32_t i) { these.insert(i); });
        if (found) {
            EXPECT_EQ(these, *found) << "cut before " << cut;
        }
        found = these;
    }
    return *found;
}

TEST(Clashes, AreThoseOfEntriesThatShareAByte) {
    std::mt19937 random(2);
    const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
    for (int round = 0; round < 3000; ++round) {
        std::vector<std::array<Strip, 2>> writes;
        const std::uint64_t stride = 8 + below(40);
        for (std::uint32_t i = 0, n = 2 + below(8); i < n; ++i) {
            writes.push_back({Strip{100 + below(2000), stride, 1 + below(4), below(8)},
                              Strip{100 + below(2000), stride, 1 + below(4), below(8)}});
        }
        std::set<std::uint32_t> expected;
        for (std::uint32_t i = 0; i < writes.size(); ++i) {
            for (std::uint32_t j = 0; j < writes.size(); ++j) {
                if (i == j) continue;
                for (const Strip& a : writes[i]) {
                    for (const Strip& b : writes[j]) {
                        if (share_a_byte(a, b)) expected.insert(i);
                    }
                }
            }
        }
        ASSERT_EQ(clashes_of(writes), expected);
    }
}

/// Finds the entries that share a byte with another entry by marking every byte.
std::set<std::uint32_t> clashes_by_byte(const std::vector<std::array<Strip, 2>>& writes) {
    std::map<std::uintptr_t, std::set<std::uint32_t>> writers;
    for (std::uint32_t i = 0; i < writes.size(); ++i) {
        for (const Strip& s : writes[i]) {
            for (std::uint64_t k = 0; k < s.count; ++k) {
                for (std::uint64_t b = 0; b < s.size; ++b) writers[s.begin + k * s.stride + b].insert(i);
            }
        }
    }
    std::set<std::uint32_t> clashing;
    for (const auto& [at, who] : writers) {
        if (who.size() > 1) clashing.insert(who.begin(), who.end());
    }
    return clashing;
}

// Compares the owners of overlapping rectangles with a check of all pairs, for few and many rectangles and owners.
TEST(Rectangles, OfWhichOwnersOverlap) {
    std::mt19937 random(3);
    const auto below = [&](std::uint64_t n) { return random() % n; };
    std::size_t clean = 0, all = 0;
    constexpr int rounds = 3000;
    for (int round = 0; round < rounds; ++round) {
        const std::uint64_t rows = 2 + below(20), columns = 2 + below(60), owners = 2 + below(8);
        std::vector<Rectangle> rectangles(2 + below(10));
        for (Rectangle& r : rectangles) {
            r.left = below(columns);
            r.right = r.left + 1 + below(3);
            r.low = below(rows);
            r.high = r.low + 1 + below(rows / 2);
            r.owner = static_cast<std::uint32_t>(below(owners));
        }
        std::set<std::uint32_t> expected, found, whose;
        for (const Rectangle& a : rectangles) {
            whose.insert(a.owner);
            for (const Rectangle& b : rectangles) {
                const bool meet = a.left < b.right && b.left < a.right && a.low < b.high && b.low < a.high;
                if (meet && a.owner != b.owner) expected.insert(a.owner);
            }
        }
        find_overlaps(rectangles, [&](std::uint32_t owner) { found.insert(owner); });
        ASSERT_EQ(found, expected) << "round " << round;
        clean += expected.empty() ? 1 : 0;
        all += expected == whose ? 1 : 0;
    }
    EXPECT_GT(clean, rounds / 20);
    EXPECT_GT(all, rounds / 20);
    EXPECT_LT(clean + all, rounds - rounds / 20);
}

// Tests any number of columns of a table, each with some of the table's rows. Sometimes further messages (one, several
// without gaps, or another column) are at random positions, where they may overlap the columns. Most tables have room
// for all columns, so that few of them overlap.
TEST(Clashes, OfColumnsBetweenEachOther) {
    std::mt19937 random(9);
    const auto below = [&](std::uint64_t n) { return random() % n; };
    std::size_t clean = 0, all = 0, most = 0;
    for (int round = 0; round < 600; ++round) {
        const std::uint64_t columns = 1 + below(300), width = 1 + below(4), stride = columns * width;
        const std::uint64_t mistakes = below(3) == 0 ? 0 : below(1 + columns / 10);
        std::vector<std::array<Strip, 2>> writes;
        for (std::uint64_t c = 0; c < columns; ++c) {
            const bool tag = below(4) == 0;
            const std::uint64_t rows = 1 + below(8), from = 100 + below(4) * stride + c * width,
                                size = width - (tag ? 1 : 0);
            writes.push_back({Strip{from, stride, rows, size}, Strip{from + size, stride, rows, tag ? 1U : 0U}});
        }
        for (std::uint64_t m = 0; m < mistakes; ++m) {
            const std::uint64_t count = below(2) == 0 ? 1 : 1 + below(5),
                                size = 1 + below(below(3) == 0 ? 3 * stride : width);
            const std::uint64_t its = count == 1 || below(2) == 0 || size >= stride ? size : stride;
            writes.push_back({Strip{100 + below(10 * stride), its, count, size}, Strip{}});
        }
        std::shuffle(writes.begin(), writes.end(), random);
        const auto expected = clashes_by_byte(writes);
        ASSERT_EQ(clashes_of(writes), expected) << "round " << round << ": " << columns << " columns of " << width;
        clean += expected.empty() ? 1 : 0;
        all += expected.size() == writes.size() ? 1 : 0;
        most = std::max(most, expected.size());
    }
    EXPECT_GT(clean, 50U);
    EXPECT_LT(all, 300U);
    EXPECT_GT(most, 100U);
}

// A clash among very many columns is found at any position, in less than quadratic time.
TEST(Clashes, OfVeryManyColumns) {
    constexpr std::uint64_t columns = 50000, stride = 16 * columns;
    std::vector<std::array<Strip, 2>> writes;
    for (std::uint64_t c = 0; c < columns; ++c) writes.push_back({Strip{4096 + 16 * c, stride, 1000, 16}, Strip{}});
    for (const bool all_at_once : {false, true}) {
        Clashes clashes;
        for (std::uint32_t i = 0; i < columns; ++i) clashes.add(i, writes[i]);
        std::set<std::uint32_t> found;
        clashes.find([&](std::uint32_t i) { return writes[i]; }, [&](std::uint32_t i) { found.insert(i); });
        if (all_at_once) {
            EXPECT_EQ(found.size(), columns);
            break;
        }
        EXPECT_TRUE(found.empty());
        for (auto& write : writes) write[0].size = 17;
    }
    for (auto& write : writes) write[0].size = 16;
    writes.push_back({Strip{4096 + stride * 999 + 16 * 777 + 15, stride, 5, 2}, Strip{}});
    Clashes clashes;
    for (std::uint32_t i = 0; i < writes.size(); ++i) clashes.add(i, writes[i]);
    std::set<std::uint32_t> found;
    clashes.find([&](std::uint32_t i) { return writes[i]; }, [&](std::uint32_t i) { found.insert(i); });
    EXPECT_EQ(found, (std::set<std::uint32_t>{777, 778, columns}));
}

// Outputs are in one buffer and tags in another, in ascending order. Most of them are disjoint, but the buffers and
// neighbouring messages may overlap.
TEST(Clashes, OfOutputsAndTagsThatAscend) {
    std::mt19937 random(11);
    const auto below = [&](std::uint64_t n) { return random() % n; };
    std::size_t clean = 0;
    constexpr int rounds = 2000;
    for (int round = 0; round < rounds; ++round) {
        const std::uint64_t entries = 1 + below(30), size = 1 + below(8), mistake = below(2 * entries);
        std::uint64_t output = 100 + below(300), tag = 100 + below(300);
        std::vector<std::array<Strip, 2>> writes;
        for (std::uint64_t i = 0; i < entries; ++i) {
            const bool has_output = below(8) != 0, has_tag = below(8) != 0;
            writes.push_back({Strip{output, size, 1, has_output ? size : 0U}, Strip{tag, 4, 1, has_tag ? 4U : 0U}});
            output += size + below(3);
            tag += 4;
            if (i == mistake) (below(2) == 0 ? output : tag) -= 1 + below(3);
        }
        const auto expected = clashes_by_byte(writes);
        ASSERT_EQ(clashes_of(writes), expected) << "round " << round;
        clean += expected.empty() ? 1 : 0;
    }
    EXPECT_GT(clean, rounds / 10);
    EXPECT_LT(clean, rounds - rounds / 10);
}

// There are too many strides to compare each of them with single messages. Messages with the same stride are still
// compared.
TEST(Clashes, OfManyStrides) {
    std::vector<std::array<Strip, 2>> writes;
    for (std::uint64_t k = 0; k < 200; ++k) writes.push_back({Strip{100 + 2 * k, 1000 + k, 50, 1}, Strip{}});
    EXPECT_TRUE(clashes_of(writes).empty());
    writes.push_back({Strip{100 + 2 * 150 + 1150, 1150, 10, 1}, Strip{}});
    EXPECT_EQ(clashes_of(writes), (std::set<std::uint32_t>{150, 200}));
}

// Sorting must not assume an order among writes that begin at the same address.
TEST(Clashes, OfVeryManyThatBeginTogether) {
    constexpr std::uint32_t n = 1000;
    std::vector<std::array<Strip, 2>> writes(n, {Strip{4096, 0, 1, 16}, Strip{4096, 0, 1, 8}});
    std::set<std::uint32_t> all;
    for (std::uint32_t i = 0; i < n; ++i) all.insert(i);
    EXPECT_EQ(clashes_of(writes), all);
    // Parts of the same entry may overlap. No entry overlaps another entry now.
    for (std::uint32_t i = 1; i < n; ++i) writes[i][1] = writes[i][0] = Strip{std::uintptr_t{8192} + 32 * i, 0, 1, 16};
    EXPECT_TRUE(clashes_of(writes).empty());
}

TEST(Clashes, OfMessagesInOrderOrNot) {
    std::vector<std::array<Strip, 2>> writes;
    for (std::uintptr_t i = 0; i < 1000; ++i)
        writes.push_back({Strip{1000 + 100 * i, 0, 1, 84}, Strip{1084 + 100 * i, 0, 1, 16}});
    EXPECT_TRUE(clashes_of(writes).empty());
    writes[500][1].size = 17;  // overlaps one byte of the next
    EXPECT_EQ(clashes_of(writes), (std::set<std::uint32_t>{500, 501}));
    writes[500][1].size = 16;
    std::reverse(writes.begin(), writes.end());
    EXPECT_TRUE(clashes_of(writes).empty());
    writes[10][0].size = 85;
    writes[10][1] = {};
    EXPECT_TRUE(clashes_of(writes).empty());
    writes[10][0].size = 101;
    EXPECT_EQ(clashes_of(writes), (std::set<std::uint32_t>{9, 10}));
}

TEST(Clashes, ListEntriesByAddressUnlessTheyAreInOrder) {
    std::vector<std::uint32_t> by_address(1000);
    std::iota(by_address.begin(), by_address.end(), 0);
    const auto listed = [&] {
        Clashes clashes;
        std::vector<std::array<Strip, 2>> writes(by_address.size());
        for (std::uint32_t place = 0; place < by_address.size(); ++place) {
            // A tag follows each text, so an entry has two writes.
            const std::uintptr_t text = 1000 + 100 * std::uintptr_t{place};
            writes[by_address[place]] = {Strip{text, 0, 1, 84}, Strip{text + 84, 0, 1, 16}};
        }
        for (std::uint32_t i = 0; i < writes.size(); ++i) clashes.add(i, writes[i]);
        return clashes.find([&](std::uint32_t i) { return writes[i]; },
                            [](std::uint32_t i) { FAIL() << "entry " << i << " overlaps no other"; });
    };
    EXPECT_TRUE(listed().empty());
    std::shuffle(by_address.begin(), by_address.end(), std::mt19937(5));
    EXPECT_EQ(listed(), by_address);
}

TEST(Clashes, OfMessagesInMemoriesFarApart) {
    std::vector<std::array<Strip, 2>> writes;
    for (std::uintptr_t i = 0; i < 1000; ++i) {
        const std::uintptr_t memory = i % 3 == 0 ? std::uintptr_t{1} << 46 : 4096;
        writes.push_back({Strip{memory + 100 * i, 0, 1, 100}, Strip{}});
    }
    std::shuffle(writes.begin(), writes.end(), std::mt19937(4));
    EXPECT_TRUE(clashes_of(writes).empty());
    writes[0] = {Strip{writes[17][0].begin + 99, 0, 1, 1}, Strip{}};
    EXPECT_EQ(clashes_of(writes), (std::set<std::uint32_t>{0, 17}));
}

// ---------------------------------------------------------------------------------------------------------- outcomes

/// A batch of entries with a few messages each, as a client provides them.
struct OneBatch {
    explicit OneBatch(std::uint64_t n)
        : entries(n), results(n, {WARPAES_ERROR_STATE, 0, 0, 0}), statuses(n, std::vector(3, WARPAES_ERROR_STATE)) {
        for (std::size_t i = 0; i < n; ++i) {
            entries[i].mode = WARPAES_CMAC;
            entries[i].direction = i % 3 == 0 ? WARPAES_ENCRYPT : WARPAES_DECRYPT;
            entries[i].count = 3;
            entries[i].key_len = i % 5 == 0 ? 17 : 16;  // a key length of 17 bytes is refused
            entries[i].keys.at.pointer = bytes.data();
            entries[i].tag.at.pointer = tags.data() + 48 * (i % 3 == 0 ? i + 1 : 0);
            entries[i].tag.stride = entries[i].tag_len = 16;
            entries[i].statuses = statuses[i].data();
        }
    }
    [[nodiscard]] BatchRequest request() {
        return {.entries = entries.data(),
                .count = entries.size(),
                .results = results.data(),
                .handles = {},
                .finished = {}};
    }
    void expect(warpaes_status status) const {
        for (std::size_t i = 0; i < entries.size(); ++i) {
            EXPECT_TRUE(results[i].status == status || results[i].status == WARPAES_ERROR_KEY_LENGTH) << i;
            EXPECT_EQ(statuses[i], std::vector(3, results[i].status)) << i;
        }
    }

    std::vector<std::uint8_t> bytes = std::vector<std::uint8_t>(16), tags = std::vector<std::uint8_t>(48 * 100);
    std::vector<warpaes_batch_entry> entries;
    std::vector<warpaes_entry_result> results;
    std::vector<std::vector<warpaes_status>> statuses;
};

// If no backend can run a batch, all of its entries and messages report the failure.
TEST(Batches, SayThatTheyAreAbandoned) {
    Engine engine({.backend = "libcrypto", .threads = 1});
    KeyTable keys;
    for (const bool prepared : {false, true}) {
        OneBatch one(40);
        Batch batch(engine, keys, one.request());
        if (prepared) {
            ASSERT_FALSE(batch.prepare());
        }
        batch.abandon(WARPAES_ERROR_OUT_OF_MEMORY, "no thread can be started");
        batch.finish();
        one.expect(WARPAES_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(batch.outcomes().failed_entries(), 40U);
        EXPECT_STREQ(batch.outcomes().sentence(1), "no thread can be started");
    }
}

TEST(Batches, SayThatTheyAreCancelled) {
    Engine engine({.backend = "libcrypto", .threads = 2});  // for one thread, all entries are one task
    KeyTable keys;
    for (const unsigned steps : {0U, 1U}) {
        OneBatch one(40);
        Batch batch(engine, keys, one.request());
        BatchScratch scratch;
        if (steps == 0) batch.cancel();
        const bool over = batch.prepare();
        EXPECT_EQ(over, steps == 0);
        if (!over) {
            ASSERT_EQ(batch.work_on_cpu(0, scratch), Batch::Step::worked) << "all messages are in one task";
            batch.cancel();
            while (batch.work_on_cpu(0, scratch) != Batch::Step::last) {
            }
        }
        batch.finish();
        unsigned cancelled = 0;
        for (std::size_t i = 0; i < 40; ++i) {
            cancelled += one.results[i].status == WARPAES_ERROR_CANCELLED;
            if (one.results[i].status == WARPAES_ERROR_CANCELLED || one.results[i].status == WARPAES_OK) {
                EXPECT_EQ(one.statuses[i], std::vector(3, one.results[i].status)) << i;
            }
        }
        EXPECT_GT(cancelled, 3U);
        if (over) one.expect(WARPAES_ERROR_CANCELLED);
    }
}

// Long messages are separate tasks. Tasks that have not begun are cancelled immediately.
TEST(Batches, SayThatLongMessagesAreCancelled) {
    constexpr std::size_t length = (std::size_t{16} << 20) + 16, messages = 6;
    const std::unique_ptr<void, decltype(&std::free)> memory(std::calloc(messages, length), &std::free);
    ASSERT_NE(memory, nullptr);
    std::uint8_t key[16] = {}, iv[16] = {};
    std::vector<warpaes_batch_entry> entries(messages / 2);
    for (std::size_t i = 0; i < entries.size(); ++i) {
        warpaes_batch_entry& e = entries[i];
        e.mode = WARPAES_CTR;
        e.direction = WARPAES_ENCRYPT;
        e.count = 2;
        e.length = length;
        e.input = {{static_cast<std::uint8_t*>(memory.get()) + 2 * i * length}, length};
        e.output = e.input;
        e.iv.at.pointer = iv;
        e.iv_len = 16;
        e.keys.at.pointer = key;
        e.key_len = 16;
    }
    Engine engine({.backend = "libcrypto", .threads = 1});
    KeyTable keys;
    Batch batch(engine, keys, {.entries = entries.data(), .count = entries.size(), .handles = {}, .finished = {}});
    BatchScratch scratch;
    ASSERT_FALSE(batch.prepare());
    ASSERT_EQ(batch.work_on_cpu(0, scratch), Batch::Step::worked);
    ASSERT_EQ(batch.work_on_cpu(0, scratch), Batch::Step::worked) << "the first entry is done";
    batch.cancel();
    EXPECT_EQ(batch.work_on_cpu(0, scratch), Batch::Step::last) << "all other entries at once";
    batch.finish();
    EXPECT_EQ(batch.outcomes().status_of(0), WARPAES_OK);
    for (const std::size_t i : {1U, 2U}) EXPECT_EQ(batch.outcomes().status_of(i), WARPAES_ERROR_CANCELLED) << i;
}

// --------------------------------------------------------------------------------------------------------------- tasks

TEST(Tasks, HoldEveryMessageOnce) {
    std::mt19937 random(3);
    for (int round = 0; round < 200; ++round) {
        TaskList list;
        std::vector<std::uint64_t> counts;
        for (std::uint32_t entry = 0; entry < 50; ++entry) {
            counts.push_back(1 + random() % (round % 2 == 0 ? 3 : 5000));
            const std::uint64_t bytes = random() % 3 == 0 ? 0 : random() % 3000;
            list.add(entry, counts.back(), bytes, {.bytes = 10000, .messages = 64 + random() % 100, .slices = 8});
        }
        list.close();
        std::uint32_t entry = 0;
        std::uint64_t next = 0;
        for (std::uint32_t task = 0; task < list.size(); ++task) {
            const auto slices = list.slices({task, task + 1});
            ASSERT_FALSE(slices.empty());
            ASSERT_LE(slices.size(), 8U);
            for (const Slice& s : slices) {
                if (next == counts[entry]) {
                    ++entry;
                    next = 0;
                }
                ASSERT_EQ(s.entry, entry);
                ASSERT_EQ(s.first, next);
                ASSERT_GT(s.count, 0U);
                next += s.count;
            }
        }
        EXPECT_EQ(entry, 49U);
        EXPECT_EQ(next, counts.back());
    }
}

TEST(Tasks, EndWhenTheyAreFullAndNotBefore) {
    const auto tasks_of = [](std::uint64_t messages, std::uint64_t bytes) {
        TaskList list;
        for (std::uint32_t entry = 0; entry < 80; ++entry) {
            list.add(entry, messages, bytes, {.bytes = 1000, .messages = 16, .slices = 8});
        }
        list.close();
        list.close();  // closes an empty list
        return list.size();
    };
    EXPECT_EQ(tasks_of(1, 1), 10U) << "8 slices each";
    EXPECT_EQ(tasks_of(4, 1), 20U) << "16 messages";
    EXPECT_EQ(tasks_of(1, 250), 20U) << "1000 bytes";
    EXPECT_EQ(TaskList().size(), 0U);
}

TEST(Tasks, OfAVeryManyMessagesAreNotTooMany) {
    TaskList list;
    list.add(0, std::uint64_t{1} << 48, 0, {.bytes = 1 << 20, .messages = 1024});
    list.close();
    EXPECT_LE(list.size(), (1U << 20) + 1);
}

TEST(Tasks, ComeInPiecesWhereTheyAreLarge) {
    std::mt19937 random(5);
    for (int round = 0; round < 300; ++round) {
        std::vector<Slice> slices;
        for (std::uint32_t entry = 0; entry < 1 + random() % 20; ++entry) {
            slices.push_back({random() % 100, 1 + random() % (round % 2 == 0 ? 30 : 6), entry});
        }
        const auto most = [](const Slice& s) { return std::uint64_t{5} + s.entry % 3; };
        Pieces pieces{slices};
        std::size_t at = 0;
        std::uint64_t done = 0;
        for (auto piece = pieces.next(most); !piece.empty(); piece = pieces.next(most)) {
            for (const Slice& s : piece) {
                ASSERT_LT(at, slices.size());
                ASSERT_LE(s.count, most(s));
                ASSERT_EQ(s.entry, slices[at].entry);
                ASSERT_EQ(s.first, slices[at].first + done);
                done += s.count;
                ASSERT_LE(done, slices[at].count);
                if (done != slices[at].count) continue;
                done = 0;
                ++at;
            }
        }
        EXPECT_EQ(at, slices.size());
        EXPECT_TRUE(pieces.rest().empty());
    }
    const std::vector<Slice> one_large{{0, 1, 0}, {0, 4, 1}, {0, 1, 2}};
    const auto three = [](const Slice&) { return 3U; };
    Pieces begun{one_large};
    EXPECT_EQ(begun.rest().size(), 3U);
    (void)begun.next(three);
    EXPECT_EQ(begun.rest().size(), 2U);
    EXPECT_EQ(begun.next(three)[0].count, 3U);
    EXPECT_EQ(begun.rest().size(), 2U) << "one of its messages is left";
    EXPECT_EQ(begun.next(three)[0].count, 1U);
    EXPECT_EQ(begun.rest().size(), 1U);
    // Small tasks are not divided.
    const std::vector<Slice> small{{0, 3, 0}, {3, 3, 0}, {0, 1, 1}};
    Pieces pieces{small};
    EXPECT_EQ(pieces.next([](const Slice&) { return 3U; }).size(), 3U);
}

TEST(Shares, GiveEveryTaskToOneWorker) {
    for (const unsigned workers : {1U, 2U, 7U, 16U}) {
        for (const std::uint32_t tasks : {0U, 1U, 5U, 1000U, 40000U}) {
            const std::vector<unsigned> first = workers > 2 ? std::vector<unsigned>{1, 2} : std::vector<unsigned>{0};
            TaskShares shares(tasks, workers, first);
            std::vector<std::atomic<int>> taken(tasks);
            std::vector<std::thread> threads;
            for (unsigned w = 0; w < workers; ++w) {
                threads.emplace_back([&, w] {
                    for (;;) {
                        const Claim claim = shares.take(w, w % 3 == 0 ? 1 : 5);
                        if (claim.empty()) return;
                        for (std::uint32_t t = claim.begin; t < claim.end; ++t) ++taken[t];
                    }
                });
            }
            for (std::thread& thread : threads) thread.join();
            EXPECT_TRUE(std::all_of(taken.begin(), taken.end(), [](const auto& n) { return n == 1; }));
        }
    }
}

// ---------------------------------------------------------------------------------------------------------------- keys

std::array<std::uint8_t, 32> key_number(std::uint32_t n) {
    std::array<std::uint8_t, 32> key{};
    std::memcpy(key.data() + 7, &n, sizeof n);
    return key;
}

TEST(KeyTable, ItsHashIsUnderARandomKeyOfTheProcesss) {
    const std::array<std::uint8_t, 32> key{1, 2, 3};
    const std::uint64_t hash = process_hash()(key);
    EXPECT_TRUE(std::any_of(random_words.begin(), random_words.end(), [&](const auto& words) {
        return SipHash(words[0], words[1])(key) == hash;
    })) << "neither of the two words from getrandom()";
}

TEST(KeyTable, GivesTheSameKeyAgain) {
    KeyTable table(4);
    const auto bytes = key_number(1);
    const auto key = table.get(bytes);
    EXPECT_TRUE(std::equal(key->bytes().begin(), key->bytes().end(), bytes.begin(), bytes.end()));
    EXPECT_EQ(table.get(bytes), key);
    EXPECT_NE(table.get(std::span(bytes).first(16)), key);
    EXPECT_EQ(table.get(std::span(bytes).first(16))->rounds(), 10);
    EXPECT_EQ(table.size(), 2U);
    EXPECT_THROW((void)table.get(std::span(bytes).first(17)), std::exception);
}

TEST(KeyTable, LetsTheLeastRecentGo) {
    KeyTable table(3);
    std::vector<std::weak_ptr<const ExpandedKey>> keys;
    for (std::uint32_t i = 0; i < 3; ++i) keys.push_back(table.get(key_number(i)));
    (void)table.get(key_number(0));
    (void)table.get(key_number(3));
    EXPECT_EQ(table.size(), 3U);
    EXPECT_FALSE(keys[0].expired());
    EXPECT_TRUE(keys[1].expired());
    EXPECT_FALSE(keys[2].expired());
    // An entry in use stays intact even if the table evicts it.
    const auto held = table.get(key_number(2));
    for (std::uint32_t i = 10; i < 13; ++i) (void)table.get(key_number(i));
    EXPECT_EQ(table.size(), 3U);
    const auto bytes = key_number(2);
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), held->bytes().begin()));
}

TEST(KeyTable, KeepsWhatComesTwice) {
    KeyTable table(8);
    EXPECT_EQ(table.get_if_seen(key_number(1)), nullptr);
    EXPECT_EQ(table.size(), 0U);
    const auto key = table.get_if_seen(key_number(1));
    ASSERT_NE(key, nullptr);
    for (std::uint32_t i = 100; i < 1000; ++i) (void)table.get_if_seen(key_number(i));
    EXPECT_EQ(table.get_if_seen(key_number(1)), key);
}

TEST(KeyTable, LetsGoWhatNobodyHasAskedForSince) {
    KeyTable table(8);
    const std::weak_ptr<const ExpandedKey> first = table.get(key_number(1)), second = table.get(key_number(2));
    const auto then = KeyTable::Clock::now();
    while (KeyTable::Clock::now() <= then) {
    }
    (void)table.get(key_number(1));
    table.let_go_before(then);
    EXPECT_FALSE(first.expired());
    EXPECT_TRUE(second.expired());
    EXPECT_EQ(table.get_if_seen(key_number(3)), nullptr);
    const auto used = first.lock();
    table.let_go_before(KeyTable::Clock::time_point::max());
    EXPECT_EQ(table.size(), 0U);
    EXPECT_EQ(used.use_count(), 1) << "an entry in use is kept";
    EXPECT_EQ(table.get_if_seen(key_number(3)), nullptr) << "the data recorded for it is removed";
}

TEST(KeyTable, FromManyThreads) {
    KeyTable table(16);
    std::vector<std::thread> threads;
    for (std::uint32_t t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
            for (std::uint32_t i = 0; i < 2000; ++i) {
                const auto bytes = key_number((i * (t + 1)) % 40);
                const auto key = table.get(bytes);
                EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), key->bytes().begin()));
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_LE(table.size(), 16U);
}

// Keys that the table evicts wipe themselves.
TEST(KeyTable, KeysWipeThemselves) {
    alignas(ExpandedKey) static std::array<std::uint8_t, sizeof(ExpandedKey)> room;
    std::array<std::uint8_t, 32> bytes{};
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i + 1);
    auto* key = new (room.data()) ExpandedKey(bytes);
    (void)key->hash_key();
    const auto holds = [&](std::span<const std::uint8_t> what) {
        const volatile std::uint8_t* from = room.data();
        std::vector<std::uint8_t> seen(room.size());
        for (std::size_t i = 0; i < seen.size(); ++i) seen[i] = from[i];
        return std::search(seen.begin(), seen.end(), what.begin(), what.end()) != seen.end();
    };
    std::array<std::uint8_t, 16> round_key{};
    std::memcpy(round_key.data(), key->encrypt().words.data() + 20, round_key.size());
    ASSERT_TRUE(holds(bytes) && holds(round_key));
    key->~ExpandedKey();
    EXPECT_FALSE(holds(bytes));
    EXPECT_FALSE(holds(round_key));
}

}  // namespace
}  // namespace warpaes
