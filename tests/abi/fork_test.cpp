// Tests every handle of the ABI in a child of fork(): either it works with the child's own state, or calls on it are
// refused with an error message. Nothing hangs, and the child's actions do not affect the parent. docs/abi.md contains
// a table of all handles.
#include "fork.hpp"

#include <cstdlib>
#include <cstring>
#include <latch>

namespace abi_tests {
namespace {

// ---------------------------------------------------------------------------------------------------- refused calls

TEST_P(Fork, AWriterSealsNothing) {
    Bytes file;
    warpaes_sink sink = WARPAES_SINK_INIT;
    sink.write = append;
    sink.user = &file;
    const std::string path = folder_ / "made";
    warpaes_sink to_path = WARPAES_SINK_INIT;
    to_path.path = path.c_str();
    warpaes_writer* const writers[] = {open_writer(sink), open_writer(to_path)};
    const Bytes text = random_.bytes(10000);
    for (warpaes_writer* const writer : writers) {
        ASSERT_EQ(warpaes_writer_write(writer, text.data(), 5000), WARPAES_OK) << warpaes_last_error();
    }
    const Bytes before = file;
    in_a_child([&](Faults& faults) {
        for (warpaes_writer* const writer : writers) {
            faults.refused(warpaes_writer_write(writer, text.data(), 100), "writer");
            faults.refused(warpaes_writer_write(writer, text.data(), 0), "writer");
            faults.refused(warpaes_writer_finish(writer), "writer");
            warpaes_writer_close(writer);
        }
        faults.expect(file == before, "the child has sealed something");
        faults.expect(folder_.names().empty(), "a file appeared");
    });
    for (warpaes_writer* const writer : writers) {
        EXPECT_EQ(warpaes_writer_write(writer, text.data() + 5000, 5000), WARPAES_OK) << warpaes_last_error();
        EXPECT_EQ(warpaes_writer_finish(writer), WARPAES_OK) << warpaes_last_error();
        warpaes_writer_close(writer);
    }
    EXPECT_EQ(opened(file), text);
    EXPECT_EQ(folder_.names().size(), 1U);
}

TEST_P(Fork, ABatchIsTheParents) {
    const Bytes text = random_.bytes(1000);
    Bytes out(1000), other(1000);
    const auto entry = [&](Bytes& to) {
        warpaes_batch_entry e{};
        e.mode = WARPAES_CTR;
        e.direction = WARPAES_ENCRYPT;
        e.count = 1;
        e.length = text.size();
        e.input.at.pointer = const_cast<std::uint8_t*>(text.data());
        e.output.at.pointer = to.data();
        e.iv.at.pointer = const_cast<std::uint8_t*>(iv_.data());
        e.iv_len = 16;
        e.key = key_.get();
        return e;
    };
    const warpaes_batch_entry done = entry(out), held = entry(other);
    warpaes_batch *finished = nullptr, *unfinished = nullptr;
    ASSERT_EQ(warpaes_batch_submit(engine_.get(), nullptr, &done, 1, &finished), WARPAES_OK) << warpaes_last_error();
    ASSERT_EQ(warpaes_batch_wait(finished, WARPAES_UNKNOWN), WARPAES_OK);
    struct Hold {
        std::latch called{1}, go_on{1};
    } hold;
    warpaes_batch_options options = WARPAES_BATCH_OPTIONS_INIT;
    options.user = &hold;
    options.finished = [](void* user, warpaes_batch*) {
        static_cast<Hold*>(user)->called.count_down();
        static_cast<Hold*>(user)->go_on.wait();
    };
    ASSERT_EQ(warpaes_batch_submit(engine_.get(), &options, &held, 1, &unfinished), WARPAES_OK);
    hold.called.wait();
    in_a_child([&](Faults& faults) {
        warpaes_batch* fresh = nullptr;
        warpaes_batch_result result = WARPAES_BATCH_RESULT_INIT;
        warpaes_entry_result one{};
        faults.refused(warpaes_batch_submit(engine_.get(), nullptr, &done, 1, &fresh), "engine");
        faults.refused(warpaes_batch_enqueue(engine_.get(), nullptr, &done, 1, nullptr), "engine");
        faults.expect(warpaes_batch_poll(finished) == 1, "finished is not");
        faults.expect(warpaes_batch_wait(finished, WARPAES_UNKNOWN) == WARPAES_OK, "waiting for a finished batch");
        faults.expect(warpaes_batch_query(finished, &result) == WARPAES_OK && result.messages == 1, "its result");
        faults.expect(warpaes_batch_query_entry(finished, 0, &one) == WARPAES_OK, "its entry");
        faults.expect(std::string(warpaes_batch_entry_error(finished, 0)) == warpaes_status_message(WARPAES_OK) ||
                          *warpaes_batch_entry_error(finished, 0) == '\0',
                      "its sentence");
        faults.expect(warpaes_batch_poll(unfinished) == 0, "unfinished is finished");
        faults.refused(warpaes_batch_wait(unfinished, WARPAES_UNKNOWN), "batch");
        faults.refused(warpaes_batch_wait(unfinished, 1), "batch");
        faults.refused(warpaes_batch_query(unfinished, &result), "batch");
        faults.refused(warpaes_batch_query_entry(unfinished, 0, &one), "batch");
        faults.expect(warpaes_batch_fd(unfinished) == -1, "its descriptor");
        warpaes_batch_cancel(unfinished);
        warpaes_batch_destroy(unfinished);
        warpaes_batch_destroy(finished);
        // An engine that the child creates can run batches.
        warpaes_engine* engine = nullptr;
        faults.expect(warpaes_engine_create(nullptr, &engine) == WARPAES_OK, "another engine");
        faults.expect(warpaes_batch_submit(engine, nullptr, &held, 1, &fresh) == WARPAES_OK, "a batch of it");
        faults.expect(warpaes_batch_wait(fresh, WARPAES_UNKNOWN) == WARPAES_OK && other == out, "its output");
        warpaes_batch_destroy(fresh);
        warpaes_engine_destroy(engine);
        warpaes_engine_destroy(engine_.release());
    });
    hold.go_on.count_down();
    EXPECT_EQ(warpaes_batch_wait(unfinished, WARPAES_UNKNOWN), WARPAES_OK);
    EXPECT_EQ(other, out);
    warpaes_batch_destroy(unfinished);
    warpaes_batch_destroy(finished);
}

/// A context continues in only one process if its IV must not repeat, and otherwise in both processes.
TEST_P(Fork, AContextEncryptsUnderNoIvTwice) {
    const Bytes text = random_.bytes(64);
    for (const warpaes_mode mode :
         {WARPAES_CBC, WARPAES_CFB128, WARPAES_CFB8, WARPAES_CFB1, WARPAES_OFB, WARPAES_CTR, WARPAES_GCM}) {
        SCOPED_TRACE(static_cast<int>(mode));
        const std::size_t iv_len = mode == WARPAES_GCM ? 12 : 16;
        const Context fresh = make_context(engine_), begun = make_context(engine_), back = make_context(engine_);
        for (const auto& [context, direction] :
             {std::pair{fresh.get(), WARPAES_ENCRYPT}, std::pair{begun.get(), WARPAES_ENCRYPT},
              std::pair{back.get(), WARPAES_DECRYPT}}) {
            ASSERT_EQ(context_init(context, mode, direction, key_.get(), iv_.data(), iv_len), WARPAES_OK);
        }
        Bytes first(64), plain(64);
        std::size_t n = 0;
        ASSERT_EQ(warpaes_context_update(begun.get(), text.data(), 32, first.data(), 64, &n), WARPAES_OK);
        ASSERT_EQ(warpaes_context_update(back.get(), first.data(), 16, plain.data(), 64, &n), WARPAES_OK);
        in_a_child([&](Faults& faults) {
            Bytes out(80);
            warpaes_context* copy = nullptr;
            faults.expect(warpaes_context_copy(begun.get(), &copy) == WARPAES_OK, "copy");
            for (warpaes_context* const c : {fresh.get(), begun.get(), copy}) {
                faults.refused(warpaes_context_update(c, text.data(), 16, out.data(), 80, &n), "context");
                faults.expect(std::string(warpaes_context_error(c)) == warpaes_last_error(), "its own sentence");
                faults.refused(warpaes_context_final(c, out.data(), 80, &n), "context");
                if (mode == WARPAES_GCM) faults.refused(warpaes_context_aad(c, text.data(), 5), "context");
                faults.expect(warpaes_context_set_iv(c, Bytes(16, 9).data(), iv_len) == WARPAES_OK, "another IV");
                faults.expect(warpaes_context_update(c, text.data(), 16, out.data(), 80, &n) == WARPAES_OK, "it works");
                faults.expect(std::memcmp(out.data(), first.data(), 16) != 0, "output of the parent's IV");
            }
            warpaes_context_destroy(copy);
            faults.expect(
                warpaes_context_update(back.get(), first.data() + 16, 16, plain.data() + 16, 48, &n) == WARPAES_OK &&
                    std::memcmp(plain.data(), text.data(), 32) == 0,
                "decryption");
        });
        EXPECT_EQ(warpaes_context_update(begun.get(), text.data() + 32, 32, first.data() + 32, 32, &n), WARPAES_OK)
            << "the parent continues";
    }
}

TEST_P(Fork, ContextsWithoutAnIvContinueInBoth) {
    const Bytes text = random_.bytes(64);
    const Context mac = make_context(engine_), ecb = make_context(engine_);
    ASSERT_EQ(context_init(mac.get(), WARPAES_CMAC, WARPAES_ENCRYPT, key_.get(), nullptr, 0), WARPAES_OK);
    ASSERT_EQ(context_init(ecb.get(), WARPAES_ECB, WARPAES_ENCRYPT, key_.get(), nullptr, 0), WARPAES_OK);
    std::size_t n = 0;
    ASSERT_EQ(warpaes_context_update(mac.get(), text.data(), 33, nullptr, 0, &n), WARPAES_OK);
    const auto tag_of_it = [&] {
        Bytes tag(16);
        return warpaes_context_update(mac.get(), text.data() + 33, 31, nullptr, 0, &n) == WARPAES_OK &&
                       warpaes_context_final(mac.get(), nullptr, 0, &n) == WARPAES_OK &&
                       warpaes_context_get_tag(mac.get(), tag.data(), 16) == WARPAES_OK
                   ? tag
                   : Bytes{};
    };
    Bytes tag(16);
    Call whole = make_message(WARPAES_CMAC, WARPAES_ENCRYPT, key_, {}, text.data(), 64, nullptr, 0);
    whole.tag = tag.data();
    whole.tag_len = 16;
    ASSERT_EQ(crypt(engine_, whole), WARPAES_OK) << warpaes_last_error();
    in_a_child([&](Faults& faults) {
        Bytes out(64);
        faults.expect(tag_of_it() == tag, "CMAC");
        faults.expect(warpaes_context_update(ecb.get(), text.data(), 64, out.data(), 64, &n) == WARPAES_OK, "ECB");
        faults.expect(out == expected(WARPAES_ECB, WARPAES_ENCRYPT, Bytes(32, 1), {}, text), "ECB's output");
    });
    EXPECT_EQ(tag_of_it(), tag);
}

// -------------------------------------------------------------------------------------------------- ends and callbacks

/// exit() runs the handlers in the child, which free all handles.
TEST_P(Fork, AChildThatExitsGivesEverythingBack) {
    static std::function<void()> at_exit;
    Bytes file, out(100);
    const std::string path = folder_ / "made";
    warpaes_sink sink = WARPAES_SINK_INIT;
    sink.path = path.c_str();
    warpaes_writer* const writer = open_writer(sink);
    ASSERT_EQ(warpaes_writer_write(writer, out.data(), 100), WARPAES_OK);
    Bytes tag;
    const Bytes text = random_.bytes(long_text);
    (void)gcm(engine_.get(), text, tag);  // starts the engine's threads
    const pid_t child = ::fork();
    if (child == 0) {
        alarm(60);
        at_exit = [&] {
            (void)warpaes_writer_finish(writer);
            warpaes_writer_close(writer);
            warpaes_engine_destroy(engine_.release());
            _exit(7);
        };
        std::atexit([] { at_exit(); });
        std::exit(1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
    EXPECT_TRUE(folder_.names().empty()) << "the child has finished the parent's file";
    EXPECT_EQ(warpaes_writer_finish(writer), WARPAES_OK) << warpaes_last_error();
    warpaes_writer_close(writer);
    EXPECT_EQ(folder_.names().size(), 1U);
}

/// A callback forks and returns in the child, and the child's call ends.
TEST_P(Fork, ACallbackThatForksEndsTheChildsCall) {
    struct Forking {
        pid_t child = -1;
        Bytes file;
    } forking;
    warpaes_sink sink = WARPAES_SINK_INIT;
    sink.user = &forking;
    sink.write = [](void* user, const void* bytes, std::uint64_t length) {
        auto& f = *static_cast<Forking*>(user);
        if (f.child < 0 && f.file.size() > 50000) {
            f.child = ::fork();
            if (f.child == 0) alarm(60);
        }
        return append(&f.file, bytes, length);
    };
    warpaes_engine_options options = WARPAES_ENGINE_OPTIONS_INIT;
    // If one of the engine's threads forks, it is the only thread in the child and never returns here.
    options.threads = 1;
    options.chunk_bytes = 4096;
    warpaes_engine* engine = nullptr;
    ASSERT_EQ(warpaes_engine_create(&options, &engine), WARPAES_OK);
    warpaes_writer* writer = nullptr;
    ASSERT_EQ(warpaes_writer_open(engine, &sink, keyset_, nullptr, 0, &writer), WARPAES_OK);
    const Bytes text = random_.bytes(1000000);
    const pid_t parent = getpid();
    const warpaes_status status = warpaes_writer_write(writer, text.data(), text.size());
    if (getpid() != parent) {
        const bool right = status == WARPAES_ERROR_STATE && warpaes_writer_finish(writer) == WARPAES_ERROR_STATE &&
                           forking.file.size() < 100000;
        warpaes_writer_close(writer);
        warpaes_engine_destroy(engine);
        _exit(right ? 0 : 1);
    }
    EXPECT_EQ(status, WARPAES_OK) << warpaes_last_error();
    int ended = -1;
    ASSERT_EQ(waitpid(forking.child, &ended, 0), forking.child);
    EXPECT_EQ(ended, 0);
    EXPECT_EQ(warpaes_writer_finish(writer), WARPAES_OK);
    warpaes_writer_close(writer);
    warpaes_engine_destroy(engine);
    EXPECT_EQ(opened(forking.file), text);
}

/// A child of vfork() is not a copy. It shares its parent's memory until it executes a program. The parent then
/// continues as before.
TEST_P(Fork, AParentGoesOnAfterVfork) {
    Bytes file;
    warpaes_writer* const writer = open_writer(file);
    const pid_t child = ::vfork();
    if (child == 0) _exit(0);
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(warpaes_writer_finish(writer), WARPAES_OK) << warpaes_last_error();
    warpaes_writer_close(writer);
}

INSTANTIATE_TEST_SUITE_P(Ways, Fork,
                         testing::Combine(testing::Values(Way::fork, Way::raw_clone, Way::same_id, Way::twice),
                                          testing::Values(1U, 4U)),
                         [](const auto& info) {
                             return std::string(names_of_ways[static_cast<int>(std::get<0>(info.param))]) +
                                    (std::get<1>(info.param) == 1 ? "OneThread" : "FourThreads");
                         });

}  // namespace
}  // namespace abi_tests
