// Tests children of a process with busy threads, which may hold any of the library's locks at the time of the fork.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <thread>

#include "support.hpp"

namespace abi_tests {
namespace {

TEST(ForkOfBusyThreads, AChildNeitherHangsNorCrashes) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP()
        << "needs a build without sanitizers, because a child may inherit a sanitizer's own locks in the held state";
#endif
    warpaes_engine_options options = WARPAES_ENGINE_OPTIONS_INIT;
    options.threads = 3;
    options.chunk_bytes = 4096;
    warpaes_engine* engine = nullptr;
    ASSERT_EQ(warpaes_engine_create(&options, &engine), WARPAES_OK) << warpaes_last_error();
    const Key key = make_key(Bytes(32, 1));
    const Bytes iv(16, 5), text(40000, 7);
    warpaes_keyset* keyset = nullptr;
    ASSERT_EQ(warpaes_keyset_create(&keyset), WARPAES_OK);
    ASSERT_EQ(warpaes_keyset_add(keyset, "AES256_GCM_HKDF_4KB", nullptr), WARPAES_OK);
    Bytes file;
    warpaes_sink sink = WARPAES_SINK_INIT;
    sink.write = [](void* to, const void* bytes, std::uint64_t length) {
        const auto* const begin = static_cast<const std::uint8_t*>(bytes);
        static_cast<Bytes*>(to)->insert(static_cast<Bytes*>(to)->end(), begin, begin + length);
        return 0;
    };
    sink.user = &file;
    warpaes_writer* writer = nullptr;
    ASSERT_EQ(warpaes_writer_open(engine, &sink, keyset, nullptr, 0, &writer), WARPAES_OK);
    for (int i = 0; i < 10; ++i) ASSERT_EQ(warpaes_writer_write(writer, text.data(), text.size()), WARPAES_OK);
    ASSERT_EQ(warpaes_writer_finish(writer), WARPAES_OK);
    warpaes_writer_close(writer);
    warpaes_source source = WARPAES_SOURCE_INIT;
    source.memory = file.data();
    source.memory_len = file.size();
    warpaes_reader* reader = nullptr;
    ASSERT_EQ(warpaes_reader_open(engine, &source, keyset, nullptr, 0, &reader), WARPAES_OK);

    const auto encrypts = [&] {
        Bytes out(text.size());
        Call m = make_message(WARPAES_CTR, WARPAES_ENCRYPT, key, iv, text.data(), text.size(), out.data(), out.size());
        return warpaes_crypt(engine, &m, nullptr) == WARPAES_OK;
    };
    std::uint64_t at = 0;
    const auto reads = [&](std::uint64_t from) {
        Bytes out(5000);
        std::uint64_t n = 0;
        return warpaes_reader_read(reader, from, out.data(), out.size(), &n) == WARPAES_OK && n == 5000 &&
               out == Bytes(5000, 7);
    };
    const auto makes_keys = [&] {
        warpaes_key* made = nullptr;
        const bool right = warpaes_key_create(iv.data(), 16, &made) == WARPAES_OK;
        warpaes_key_destroy(made);
        return right;
    };
    const auto allocates = [&] {
        void* memory = nullptr;
        const bool right = warpaes_alloc(engine, WARPAES_MEMORY_PAGEABLE, 0, 100, &memory) == WARPAES_OK;
        warpaes_free(engine, memory);
        return right;
    };
    const auto submits = [&] {
        Bytes out(text.size()), raw(16, 3);
        warpaes_batch_entry e{};
        e.mode = WARPAES_CTR;
        e.direction = WARPAES_ENCRYPT;
        e.count = 1;
        e.length = text.size();
        e.input.at.pointer = const_cast<std::uint8_t*>(text.data());
        e.output.at.pointer = out.data();
        e.iv.at.pointer = const_cast<std::uint8_t*>(iv.data());
        e.iv_len = 16;
        e.keys.at.pointer = raw.data();
        e.key_len = 16;
        warpaes_batch* batch = nullptr;
        if (warpaes_batch_submit(engine, nullptr, &e, 1, &batch) != WARPAES_OK) return false;
        const bool right = warpaes_batch_wait(batch, WARPAES_UNKNOWN) == WARPAES_OK;
        warpaes_batch_destroy(batch);
        return right;
    };

    std::atomic<bool> ends{false}, failed{false};
    std::vector<std::thread> threads;
    const std::function<bool()> works[] = {encrypts, makes_keys, allocates, submits, [&] {
                                               at = (at + 5000) % 300000;
                                               return reads(at);
                                           }};
    for (const auto& work : works) {
        threads.emplace_back([&] {
            while (!ends) failed = !work() || failed;
        });
    }
    for (int round = 0; round < 60; ++round) {
        const pid_t child = fork();
        if (child == 0) {
            alarm(60);
            bool right = true;
            for (int i = 0; i < 2; ++i) right = encrypts() && makes_keys() && allocates() && reads(5000) && right;
            right = right && warpaes_engine_flush_keys(engine) == WARPAES_OK && !submits();
            warpaes_reader_close(reader);
            warpaes_keyset_destroy(keyset);
            warpaes_engine_destroy(engine);
            _exit(right ? 0 : 1);
        }
        int status = -1;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        ASSERT_EQ(status, 0) << "child " << round;
    }
    ends = true;
    for (std::thread& thread : threads) thread.join();
    EXPECT_FALSE(failed) << "the parent's own work";
    warpaes_reader_close(reader);
    warpaes_keyset_destroy(keyset);
    warpaes_engine_destroy(engine);
}

}  // namespace
}  // namespace abi_tests
