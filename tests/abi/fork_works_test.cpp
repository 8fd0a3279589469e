// Tests operations that work in a child of fork() with the parent's handles.
#include <fcntl.h>
#include <sys/mman.h>

#include <cstring>
#include <set>

#include "fork.hpp"
#include "warpaes/drbg.h"
#include "warpaes/numbers.h"

namespace abi_tests {
namespace {

TEST_P(Fork, EngineAndKeyCompute) {
    const Bytes text = random_.bytes(long_text), short_text(text.begin(), text.begin() + 100);
    Bytes tag, short_tag, numbers(800), counter(16, 3);
    const Bytes out = gcm(engine_.get(), text, tag), short_out = gcm(engine_.get(), short_text, short_tag);
    const auto draw = [&](Bytes& to) {
        warpaes_numbers n = WARPAES_NUMBERS_INIT;
        n.kind = WARPAES_UNIFORM_FLOAT64;
        n.key = key_.get();
        n.counter = counter.data();
        n.output = to.data();
        n.output_len = to.size();
        return warpaes_numbers_fill(engine_.get(), &n, nullptr);
    };
    ASSERT_EQ(draw(numbers), WARPAES_OK) << warpaes_last_error();
    in_a_child([&](Faults& faults) {
        Bytes its_tag, drawn(800);
        faults.expect(gcm(engine_.get(), text, its_tag) == out && its_tag == tag, "a long message");
        faults.expect(gcm(engine_.get(), short_text, its_tag) == short_out && its_tag == short_tag, "a short message");
        faults.expect(draw(drawn) == WARPAES_OK && drawn == numbers, "numbers");
        warpaes_plan plan = WARPAES_PLAN_INIT;
        warpaes_work work = WARPAES_WORK_INIT;
        work.message_len = long_text;
        faults.expect(warpaes_engine_plan(engine_.get(), &work, &plan) == WARPAES_OK, "a plan");
        warpaes_backend_info info = WARPAES_BACKEND_INFO_INIT;
        for (std::size_t i = 0; i < warpaes_backend_count(); ++i) {
            warpaes_prediction prediction = WARPAES_PREDICTION_INIT;
            faults.expect(warpaes_backend_query(i, &info) == WARPAES_OK, "a backend");
            faults.expect(warpaes_engine_predict(engine_.get(), &work, i, &prediction) == WARPAES_OK, "a prediction");
        }
        faults.expect(warpaes_engine_flush_keys(engine_.get()) == WARPAES_OK, "wiping kept keys");
        warpaes_key* other = nullptr;
        faults.expect(warpaes_key_create(Bytes(16, 4).data(), 16, &other) == WARPAES_OK, "another key");
        warpaes_key_destroy(other);
        warpaes_key_destroy(key_.release());
        warpaes_engine_destroy(engine_.release());
    });
    Bytes again;
    EXPECT_EQ(gcm(engine_.get(), text, again), out);
}

TEST_P(Fork, MemoryIsTheChildsOwnUnlessItIsShared) {
    warpaes_arena *own = nullptr, *shared = nullptr;
    ASSERT_EQ(warpaes_arena_create(engine_.get(), WARPAES_MEMORY_PAGEABLE, 0, 5000, &own), WARPAES_OK);
    ASSERT_EQ(warpaes_arena_create(engine_.get(), WARPAES_MEMORY_SHARED, 0, 5000, &shared), WARPAES_OK);
    void* given = nullptr;
    ASSERT_EQ(warpaes_alloc(engine_.get(), WARPAES_MEMORY_PAGE_LOCKED, 0, 5000, &given), WARPAES_OK);
    const auto bytes_of = [](warpaes_arena* arena) { return static_cast<std::uint8_t*>(warpaes_arena_data(arena)); };
    std::memset(bytes_of(own), 7, 5000);
    std::memset(bytes_of(shared), 7, 5000);
    std::memset(given, 7, 5000);
    in_a_child([&](Faults& faults) {
        faults.expect(bytes_of(own)[4999] == 7 && bytes_of(shared)[4999] == 7 && warpaes_arena_fd(shared) >= 0, "seen");
        Bytes copy(5000);
        faults.expect(warpaes_copy(engine_.get(), copy.data(), given, 5000) == WARPAES_OK && copy == Bytes(5000, 7),
                      "copied");
        bytes_of(own)[0] = 9;
        bytes_of(shared)[0] = 9;
        warpaes_arena_destroy(own);
        warpaes_arena_destroy(shared);
        warpaes_free(engine_.get(), given);
        void* more = nullptr;
        faults.expect(warpaes_alloc(engine_.get(), WARPAES_MEMORY_PAGE_LOCKED, 0, 100, &more) == WARPAES_OK, "more");
        warpaes_free(engine_.get(), more);
        warpaes_arena* arena = nullptr;
        faults.expect(warpaes_arena_create(engine_.get(), WARPAES_MEMORY_SHARED, 0, 9, &arena) == WARPAES_OK,
                      "an arena");
        warpaes_arena_destroy(arena);
    });
    EXPECT_EQ(Bytes(bytes_of(own), bytes_of(own) + 5000), Bytes(5000, 7));
    Bytes written(5000, 7);
    written[0] = 9;
    EXPECT_EQ(Bytes(bytes_of(shared), bytes_of(shared) + 5000), written) << "the child has wiped shared memory";
    EXPECT_EQ(static_cast<std::uint8_t*>(given)[4999], 7);
    warpaes_arena_destroy(own);
    warpaes_arena_destroy(shared);
    warpaes_free(engine_.get(), given);
}

TEST_P(Fork, AReaderReadsOn) {
    const Bytes text = random_.bytes(long_text), file = sealed(text);
    const std::string path = folder_ / "sealed";
    const int fd = open(path.c_str(), O_CREAT | O_WRONLY, 0600);
    ASSERT_EQ(write(fd, file.data(), file.size()), static_cast<ssize_t>(file.size()));
    close(fd);
    warpaes_source of_path = WARPAES_SOURCE_INIT, of_memory = WARPAES_SOURCE_INIT;
    of_path.path = path.c_str();
    of_memory.memory = file.data();
    of_memory.memory_len = file.size();
    for (const warpaes_source& source : {of_path, of_memory}) {
        warpaes_reader* const reader = open_reader(source);
        const auto right = [&](std::uint64_t from, std::uint64_t length) {
            Bytes out(length);
            std::uint64_t n = 0;
            return warpaes_reader_read(reader, from, out.data(), length, &n) == WARPAES_OK && n == length &&
                   std::memcmp(out.data(), text.data() + from, length) == 0;
        };
        // The reads are sequential, so threads are reading ahead when the parent forks.
        for (std::uint64_t at = 0; at < 1000000; at += 100000) ASSERT_TRUE(right(at, 100000)) << warpaes_last_error();
        in_a_child([&](Faults& faults) {
            for (std::uint64_t at = 1000000; at < 2000000; at += 100000) {
                faults.expect(right(at, 100000), "byte " + std::to_string(at));
            }
            faults.expect(right(5, 10) && right(0, long_text), "elsewhere");
            warpaes_reader_close(reader);
        });
        for (std::uint64_t at = 1000000; at < 2000000; at += 100000) EXPECT_TRUE(right(at, 100000));
        warpaes_reader_close(reader);
    }
}

TEST_P(Fork, KeysetsMakeOtherKeysAndFilesOtherSalts) {
    const Bytes text = random_.bytes(100);
    const auto look = [&] {
        std::uint32_t id = 0;
        Bytes all(65536);
        std::size_t n = 0;
        (void)warpaes_keyset_add(keyset_, "AES128_GCM_HKDF_4KB", &id);
        (void)warpaes_keyset_write(keyset_, reinterpret_cast<char*>(all.data()), all.size(), &n);
        all.resize(n);
        const Bytes file = sealed(text);
        all.insert(all.end(), file.begin(), file.end());
        return all;
    };
    auto* const its =
        static_cast<std::uint8_t*>(mmap(nullptr, 65536, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    in_a_child([&](Faults& faults) {
        const Bytes all = look();
        faults.expect(all.size() > 500 && all.size() < 65536, "nothing made");
        std::memcpy(its, all.data(), all.size());
        warpaes_keyset_destroy(keyset_);
    });
    const Bytes ours = look();
    const Bytes theirs(its, its + ours.size());
    munmap(its, 65536);
    EXPECT_NE(ours, theirs);
    const auto header = [](const Bytes& all) { return Bytes(all.end() - (100 + 16 + 40), all.end() - (100 + 16)); };
    EXPECT_NE(header(ours), header(theirs));
}

TEST_P(Fork, AGeneratorGivesOtherBytes) {
    const Bytes entropy = random_.bytes(48), nonce = random_.bytes(16);
    warpaes_drbg_options options = WARPAES_DRBG_OPTIONS_INIT;
    options.entropy = entropy.data();
    options.entropy_len = entropy.size();
    options.nonce = nonce.data();
    options.nonce_len = nonce.size();
    auto* const seen =
        static_cast<std::uint8_t*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    const auto whole = [&]() -> std::string {
        warpaes_drbg* drbg = nullptr;
        if (warpaes_drbg_create(engine_.get(), &options, &drbg) != WARPAES_OK) return warpaes_last_error();
        // Creates two children. The second child receives the same entropy as the parent.
        for (int child = 0; child < 2; ++child) {
            const std::string said = in_child(
                [&] {
                    Faults faults;
                    if (child == 1) (void)warpaes_drbg_reseed(drbg, entropy.data(), entropy.size(), nullptr, 0);
                    faults.expect(warpaes_drbg_generate(drbg, seen + 32 * child, 32, nullptr, 0, 0) == WARPAES_OK,
                                  "generate");
                    warpaes_drbg_destroy(drbg);
                    return faults.text;
                },
                way());
            if (!said.empty()) return said;
        }
        (void)warpaes_drbg_generate(drbg, seen + 64, 32, nullptr, 0, 0);
        (void)warpaes_drbg_reseed(drbg, entropy.data(), entropy.size(), nullptr, 0);
        (void)warpaes_drbg_generate(drbg, seen + 96, 32, nullptr, 0, 0);
        warpaes_drbg_destroy(drbg);
        return "";
    };
    // With Way::same_id, the parent is the first process of a namespace, so its child has the same PID.
    EXPECT_EQ(way() == Way::same_id ? in_child(whole, way()) : whole(), "");
    std::set<Bytes> all;
    for (int i = 0; i < 4; ++i) all.insert(Bytes(seen + 32 * i, seen + 32 * i + 32));
    EXPECT_EQ(all.size(), 4U) << "the same bytes twice";
    // After a reseed at the same point, the second child's output also differs from the parent's.
    warpaes_drbg* same = nullptr;
    ASSERT_EQ(warpaes_drbg_create(engine_.get(), &options, &same), WARPAES_OK);
    Bytes known(32);
    EXPECT_EQ(warpaes_drbg_reseed(same, entropy.data(), entropy.size(), nullptr, 0), WARPAES_OK);
    EXPECT_EQ(warpaes_drbg_generate(same, known.data(), 32, nullptr, 0, 0), WARPAES_OK);
    EXPECT_FALSE(all.contains(known));
    warpaes_drbg_destroy(same);
    munmap(seen, 4096);
}

/// The parent's writer is refused in a child even if the child has the parent's PID.
TEST_P(Fork, AWriterOfTheFirstProcessOfANamespace) {
    if (way() != Way::same_id) return;
    const auto first = [&]() -> std::string {
        Bytes file;
        warpaes_writer* const writer = open_writer(file);
        const pid_t number = getpid();
        return in_child(
            [&] {
                Faults faults;
                faults.expect(getpid() == number, "the number is another");
                faults.refused(warpaes_writer_finish(writer), "writer");
                return faults.text;
            },
            Way::same_id);
    };
    EXPECT_EQ(in_child(first, Way::same_id), "");
}

}  // namespace
}  // namespace abi_tests
