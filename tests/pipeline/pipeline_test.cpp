// Compares the pipeline between sources and sinks of every kind with libcrypto, and tests its failures and
// cancellation.
#include "engine/pipeline/pipeline.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "engine/pipeline/memory.hpp"
#include "support.hpp"

namespace warpaes::test {
namespace {

const Bytes key_bytes = random_bytes(32, 1);
const Bytes iv_bytes = random_bytes(16, 2);

Block iv_block() {
    Block iv;
    std::copy(iv_bytes.begin(), iv_bytes.end(), iv.begin());
    return iv;
}

class PipelineTest : public testing::Test {
protected:
    Totals run(const Cipher& cipher, Source& source, Sink& sink, const Progress& progress = {}) {
        const Plan plan = engine_.plan(cipher.mode, cipher.direction, source.size());
        return run_cipher(engine_, plan, cipher, source, sink, progress);
    }
    Cipher cipher(Mode mode, Direction direction, bool pkcs7 = false) {
        return {mode, direction, &key_, iv_block(), pkcs7, 0};
    }

    Engine engine_{small_chunks()};
    ExpandedKey key_{key_bytes};
};

constexpr TestSource::Kind source_kinds[] = {TestSource::Kind::positional, TestSource::Kind::sequential};
constexpr TestSink::Kind sink_kinds[] = {TestSink::Kind::positional, TestSink::Kind::sequential};

TEST_F(PipelineTest, EveryModeThroughEveryKindOfSourceAndSink) {
    for (const ModeCase& m : all_modes) {
        for (const bool encrypt : {true, false}) {
            for (const std::size_t chunks : {0, 1, 2, 7}) {
                for (const int rest : {-16, -1, 0, 1, 15, 16, 17}) {
                    const std::ptrdiff_t wanted = static_cast<std::ptrdiff_t>(chunks * 4096) + rest;
                    if (wanted < 0 || (needs_whole_blocks(m.mode) && wanted % 16 != 0)) continue;
                    const Bytes input = random_bytes(static_cast<std::size_t>(wanted), 3);
                    const Bytes expected = *oracle::evp(m.name, encrypt, key_bytes, iv_bytes, input);
                    for (const auto source_kind : source_kinds) {
                        for (const auto sink_kind : sink_kinds) {
                            TestSource source(input, source_kind);
                            TestSink sink(sink_kind);
                            const Totals totals =
                                run(cipher(m.mode, encrypt ? Direction::encrypt : Direction::decrypt), source, sink);
                            ASSERT_EQ(sink.bytes(), expected) << m.name << " " << encrypt << " " << wanted;
                            ASSERT_TRUE(sink.finished());
                            ASSERT_EQ(totals.bytes_read, input.size());
                            ASSERT_EQ(totals.bytes_written, expected.size());
                        }
                    }
                }
            }
        }
    }
}

TEST_F(PipelineTest, PaddingBothWays) {
    for (const Mode mode : {Mode::ecb, Mode::cbc}) {
        const char* name = mode == Mode::ecb ? "ECB" : "CBC";
        for (const std::size_t length : {0u, 1u, 15u, 16u, 17u, 4080u, 4095u, 4096u, 4097u, 8191u, 8192u, 20000u}) {
            const Bytes plain = random_bytes(length, 4);
            const Bytes expected = *oracle::evp(name, true, key_bytes, iv_bytes, plain, true);
            for (const auto source_kind : source_kinds) {
                for (const auto sink_kind : sink_kinds) {
                    TestSource plain_source(plain, source_kind), cipher_source(expected, source_kind);
                    TestSink encrypted(sink_kind), decrypted(sink_kind);
                    run(cipher(mode, Direction::encrypt, true), plain_source, encrypted);
                    ASSERT_EQ(encrypted.bytes(), expected) << name << " " << length;
                    const Totals totals = run(cipher(mode, Direction::decrypt, true), cipher_source, decrypted);
                    ASSERT_EQ(decrypted.bytes(), plain) << name << " " << length;
                    ASSERT_EQ(totals.bytes_written, length);
                }
            }
        }
    }
}

/// Pads messages whose input and output are the caller's memory. The padding must not be written past the end of either
/// buffer or into the input.
TEST_F(PipelineTest, PaddingInMemory) {
    for (const std::size_t length : {0u, 1u, 15u, 16u, 4095u, 4096u, 20000u}) {
        const std::size_t padded = length / 16 * 16 + 16;
        const Bytes plain = random_bytes(length, 4);
        const Bytes expected = *oracle::evp("CBC", true, key_bytes, iv_bytes, plain, true);
        Bytes input = plain, output(padded + 16, 0xa5);
        input.resize(padded + 16, 0xa5);
        const Bytes before = input;
        MemorySource source({input.data(), length, true, -1});
        MemorySink sink({output.data(), padded, true, -1});
        run(cipher(Mode::cbc, Direction::encrypt, true), source, sink);
        EXPECT_EQ(input, before) << length;
        EXPECT_EQ(Bytes(output.begin(), output.begin() + static_cast<std::ptrdiff_t>(padded)), expected) << length;
        EXPECT_EQ(Bytes(output.end() - 16, output.end()), Bytes(16, 0xa5)) << length;

        Bytes again(length + 16, 0xa5);
        MemorySource encrypted({output.data(), padded, true, -1});
        MemorySink decrypted({again.data(), length, true, -1});
        run(cipher(Mode::cbc, Direction::decrypt, true), encrypted, decrypted);
        EXPECT_EQ(Bytes(again.begin(), again.end() - 16), plain) << length;
        EXPECT_EQ(Bytes(again.end() - 16, again.end()), Bytes(16, 0xa5)) << length;
    }
}

TEST_F(PipelineTest, WrongPaddingIsToldAndTheLastBlockIsNotWritten) {
    for (const std::size_t blocks : {1u, 2u, 256u, 257u, 700u}) {
        Bytes plain = random_bytes(16 * blocks, 5);
        for (const std::uint8_t last : Bytes{0, 17, 255}) {
            plain.back() = last;
            const Bytes input = *oracle::evp("CBC", true, key_bytes, iv_bytes, plain);
            for (const auto kind : source_kinds) {
                TestSource source(input, kind);
                TestSink sink(TestSink::Kind::sequential);
                EXPECT_EQ(status_of([&] { run(cipher(Mode::cbc, Direction::decrypt, true), source, sink); }),
                          WARPAES_ERROR_PADDING);
                EXPECT_LT(sink.bytes().size(), plain.size());
                EXPECT_FALSE(sink.finished());
            }
        }
    }
}

TEST_F(PipelineTest, OnlyWholeBlocksWhereTheModeTakesNothingElse) {
    for (const std::size_t length : {1u, 15u, 17u, 4097u, 8191u}) {
        for (const auto kind : source_kinds) {
            for (const bool encrypt : {true, false}) {
                TestSource source(random_bytes(length, 6), kind);
                TestSink sink(TestSink::Kind::sequential);
                const Direction direction = encrypt ? Direction::encrypt : Direction::decrypt;
                EXPECT_EQ(status_of([&] { run(cipher(Mode::cbc, direction, !encrypt), source, sink); }),
                          WARPAES_ERROR_DATA_LENGTH);
                EXPECT_FALSE(sink.finished());
            }
        }
    }
    TestSource empty({}, TestSource::Kind::sequential);
    TestSink sink(TestSink::Kind::sequential);
    EXPECT_EQ(status_of([&] { run(cipher(Mode::cbc, Direction::decrypt, true), empty, sink); }),
              WARPAES_ERROR_DATA_LENGTH);
}

/// Makes each call of the source or sink fail in turn. The run must end and report the failure.
template <typename RunWithFault>
void fail_at_every_call(const RunWithFault& run_with) {
    Fault none;
    ASSERT_EQ(status_of([&] { run_with(none); }), WARPAES_OK);
    ASSERT_GT(none.calls(), 3);
    for (int at = 0; at < none.calls(); ++at) {
        Fault fault(at);
        try {
            run_with(fault);
            FAIL() << "call " << at << " failed, but the failure was not reported";
        } catch (const Error& e) {
            ASSERT_STREQ(e.what(), "injected") << "call " << at;
        }
    }
}

TEST_F(PipelineTest, AFailureAtAnyCallOfTheSourceComesOut) {
    const Bytes input = random_bytes(5 * 4096 + 100, 7);
    for (const Mode mode : {Mode::ctr, Mode::ofb, Mode::cfb128}) {
        for (const auto kind : source_kinds) {
            fail_at_every_call([&](Fault& fault) {
                TestSource source(input, kind, &fault);
                TestSink sink(TestSink::Kind::sequential);
                run(cipher(mode, Direction::decrypt), source, sink);
            });
        }
    }
}

TEST_F(PipelineTest, AFailureAtAnyCallOfTheSinkComesOut) {
    const Bytes input = random_bytes(5 * 4096 + 100, 8);
    for (const Mode mode : {Mode::ctr, Mode::ofb}) {
        for (const auto kind : sink_kinds) {
            fail_at_every_call([&](Fault& fault) {
                TestSource source(input, TestSource::Kind::sequential);
                TestSink sink(kind, &fault);
                run(cipher(mode, Direction::encrypt), source, sink);
            });
        }
    }
}

TEST_F(PipelineTest, ASourceThatShrinksIsAFailureNotAShortResult) {
    class Shrinking final : public Source {
    public:
        std::uint64_t size() const noexcept override { return 40000; }
        bool is_sequential() const noexcept override { return false; }
        std::size_t read(std::uint64_t offset, std::span<std::uint8_t> buffer) override {
            return offset + buffer.size() <= 20000 ? buffer.size() : 0;
        }
    } source;
    TestSink sink(TestSink::Kind::positional);
    EXPECT_EQ(status_of([&] { run(cipher(Mode::ctr, Direction::encrypt), source, sink); }), WARPAES_ERROR_READ);
}

TEST_F(PipelineTest, ProgressHearsTheEndAndCanCancel) {
    const Bytes input = random_bytes(9 * 4096, 9);
    TestSource source(input, TestSource::Kind::positional);
    TestSink sink(TestSink::Kind::positional);
    std::uint64_t heard = 0, heard_total = 0;
    run(cipher(Mode::ctr, Direction::encrypt), source, sink, [&](std::uint64_t done, std::uint64_t total) {
        EXPECT_GE(done, heard);
        heard = done;
        heard_total = total;
        return true;
    });
    EXPECT_EQ(heard, input.size());
    EXPECT_EQ(heard_total, input.size());

    for (const auto kind : source_kinds) {
        TestSource again(input, kind);
        TestSink unfinished(TestSink::Kind::sequential);
        EXPECT_EQ(status_of([&] {
                      run(cipher(Mode::ctr, Direction::encrypt), again, unfinished,
                          [](std::uint64_t, std::uint64_t) { return false; });
                  }),
                  WARPAES_ERROR_CANCELLED);
    }
}

TEST_F(PipelineTest, ProgressIsToldNowAndThen) {
    const Bytes input = random_bytes(200 * 4096, 10);
    TestSource source(input, TestSource::Kind::positional);
    TestSink sink(TestSink::Kind::positional);
    std::atomic<int> told = 0;
    std::atomic<std::uint64_t> first = 0;
    const auto begin = std::chrono::steady_clock::now();
    run(cipher(Mode::ctr, Direction::encrypt), source, sink, [&](std::uint64_t done, std::uint64_t) {
        if (++told == 1) first = done;
        return true;
    });
    EXPECT_LT(first, input.size()) << "only the end is reported";
    const auto took = std::chrono::steady_clock::now() - begin;
    EXPECT_LE(told, took / std::chrono::milliseconds(20) + 2);  // plus the reports at the start and at the end
}

constexpr int patience = 10000;  // milliseconds until a wait without an event ends

/// Waits for an event that never comes, and calls the hook while it waits.
void wait_in_vain(const WaitHook& hook) {
    for (int i = 0; i < patience; ++i) {
        if (!hook) throw Error(WARPAES_ERROR_INTERNAL, "there is no hook");
        hook();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    throw Error(WARPAES_ERROR_INTERNAL, "waited in vain");
}

TEST_F(PipelineTest, ASinkThatWaitsCanBeCancelled) {
    class Full final : public Sink {
    public:
        bool is_sequential() const noexcept override { return true; }
        void on_wait(WaitHook hook) override { hook_ = std::move(hook); }
        void write(std::uint64_t, std::span<const std::uint8_t>) override { wait_in_vain(hook_); }

    private:
        WaitHook hook_;
    } sink;
    TestSource source(random_bytes(4 * 4096, 10), TestSource::Kind::positional);
    EXPECT_EQ(status_of([&] {
                  run(cipher(Mode::ctr, Direction::encrypt), source, sink,
                      [](std::uint64_t, std::uint64_t) { return false; });
              }),
              WARPAES_ERROR_CANCELLED);
}

TEST_F(PipelineTest, WhoeverWaitsHearsOfAnothersFailure) {
    std::atomic<bool> waits{false};
    struct Silent final : Source {
        explicit Silent(std::atomic<bool>& all) : waits(all) {}
        std::uint64_t size() const noexcept override { return 3 * 4096; }
        bool is_sequential() const noexcept override { return false; }
        void on_wait(WaitHook hook) override { hook_ = std::move(hook); }
        std::size_t read(std::uint64_t offset, std::span<std::uint8_t> buffer) override {
            if (offset == 0) return buffer.size();
            waits = true;
            try {
                wait_in_vain(hook_);
            } catch (const Error& e) {
                heard = e.status() == WARPAES_ERROR_CANCELLED;
                throw;
            }
            return 0;
        }
        std::atomic<bool>& waits;
        std::atomic<bool> heard{false};

    private:
        WaitHook hook_;
    } source(waits);
    struct Failing final : Sink {
        explicit Failing(const std::atomic<bool>& all) : waits(all) {}
        bool is_sequential() const noexcept override { return false; }
        void write(std::uint64_t, std::span<const std::uint8_t>) override {
            for (int i = 0; i < patience && !waits; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
            throw Error(WARPAES_ERROR_WRITE, "injected");
        }
        const std::atomic<bool>& waits;
    } sink(waits);
    EXPECT_EQ(status_of([&] { run(cipher(Mode::ctr, Direction::encrypt), source, sink); }), WARPAES_ERROR_WRITE);
    EXPECT_TRUE(source.heard);
}

TEST_F(PipelineTest, OnlyCountersWrap) {
    for (const ModeCase& m : all_modes) {
        for (const std::uint8_t last : Bytes{0xfe, 0xff}) {
            Cipher its = cipher(m.mode, Direction::encrypt);
            its.iv.fill(0xff);
            its.iv.back() = last;
            TestSource source(random_bytes(32, 11), TestSource::Kind::positional);
            TestSink sink(TestSink::Kind::positional);
            const bool wraps = m.mode == Mode::ctr && last == 0xff;
            EXPECT_EQ(run(its, source, sink).notes, wraps ? std::uint32_t{WARPAES_NOTE_COUNTER_WRAPPED} : 0U) << m.name;
        }
    }
}

/// Fills the staging memory of the engine's lanes with zeros, and later checks that it is still filled with zeros.
class Staging : public PipelineTest {
protected:
    static constexpr std::size_t chunk = 4096, bytes = chunk + 16;  // with room for padding

    Staging() {
        for (const LaneLease& lane : lanes()) {
            for (const auto staging : {lane->input_staging(), lane->output_staging()}) {
                std::fill(staging.begin(), staging.end(), std::uint8_t{0});
            }
        }
    }

    void expect_nothing() {
        for (const LaneLease& lane : lanes()) {
            for (const auto staging : {lane->input_staging(), lane->output_staging()}) {
                ASSERT_EQ(staging.size(), bytes);
                const auto left = std::count_if(staging.begin(), staging.end(), [](auto b) { return b != 0; });
                EXPECT_EQ(left, 0);
            }
        }
    }

private:
    /// Returns all lanes that a run of these tests uses.
    std::vector<LaneLease> lanes() {
        const Plan plan = engine_.plan(Mode::cbc, Direction::encrypt, Engine::unknown_length);
        std::vector<LaneLease> all;
        for (unsigned worker = 0; worker < plan.lanes; ++worker) all.push_back(engine_.lease(plan, worker, bytes));
        return all;
    }
};

TEST_F(Staging, HoldsNothingAfterwards) {
    for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
        // The text is padded, so the last chunk fills the staging memory to its last byte.
        Bytes input = random_bytes(7 * chunk - 1, 12);
        if (direction == Direction::decrypt) input = *oracle::evp("CBC", true, key_bytes, iv_bytes, input, true);
        TestSource source(input, TestSource::Kind::positional);
        TestSink sink(TestSink::Kind::positional);
        run(cipher(Mode::cbc, direction, true), source, sink);
        expect_nothing();
    }
}

TEST_F(Staging, HoldsNothingOfWhatWasReadWhenReadingFailed) {
    struct Torn final : Source {
        std::uint64_t size() const noexcept override { return chunk; }
        bool is_sequential() const noexcept override { return false; }
        std::size_t read(std::uint64_t, std::span<std::uint8_t> buffer) override {
            std::fill(buffer.begin(), buffer.end(), std::uint8_t{0x5a});
            throw Error(WARPAES_ERROR_READ, "injected");
        }
    } source;
    TestSink sink(TestSink::Kind::positional);
    EXPECT_EQ(status_of([&] { run(cipher(Mode::cbc, Direction::encrypt, true), source, sink); }), WARPAES_ERROR_READ);
    expect_nothing();
}

TEST_F(PipelineTest, ManyEmptyAndShortRunsLeaveNothingBehind) {
    // Creates and destroys lanes and threads. A leak or a stale turn would appear in one of a thousand runs.
    for (unsigned i = 0; i < 1000; ++i) {
        const Bytes input = random_bytes(i * 13, i);
        TestSource source(input, i % 2 == 0 ? TestSource::Kind::positional : TestSource::Kind::sequential);
        TestSink sink(TestSink::Kind::sequential);
        run(cipher(Mode::ctr, Direction::encrypt), source, sink);
        ASSERT_EQ(sink.bytes(), *oracle::evp("CTR", true, key_bytes, iv_bytes, input));
    }
}

TEST(SourceSlice, EndsWhereItIsSaidTo) {
    Bytes buffer(10, 0xee);
    TestSource source({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, TestSource::Kind::positional);
    SourceSlice slice(source, 2, 5);
    EXPECT_EQ(slice.size(), 5U);
    EXPECT_EQ(slice.read(1, buffer), 4U);
    EXPECT_EQ(buffer, (Bytes{3, 4, 5, 6, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee}));
    EXPECT_EQ(slice.read(0, std::span(buffer).first(5)), 5U);
    EXPECT_EQ(SourceSlice(source, 3).size(), 7U);
}

TEST(Overlap, IsAByteThatTwoRangesHaveInCommon) {
    const Bytes memory(12);
    for (std::size_t a = 0; a < 6; ++a) {
        for (std::size_t a_bytes = 0; a_bytes < 4; ++a_bytes) {
            for (std::size_t b = 0; b < 6; ++b) {
                for (std::size_t b_bytes = 0; b_bytes < 4; ++b_bytes) {
                    bool common = false;
                    for (std::size_t i = a; i < a + a_bytes; ++i) common = common || (i >= b && i < b + b_bytes);
                    EXPECT_EQ(overlap(memory.data() + a, a_bytes, memory.data() + b, b_bytes), common)
                        << a << " + " << a_bytes << ", " << b << " + " << b_bytes;
                }
            }
        }
    }
}

}  // namespace
}  // namespace warpaes::test
