// Tests file jobs on a simulated GPU that fails midway. Each CUDA call fails in turn, once and permanently.
#include <limits>

#include "../gpu_first.hpp"
#include "file_job.hpp"
#include "format/segment_cipher.hpp"
#include "simt.hpp"

namespace warpaes::test {
namespace {

constexpr SegmentCase gpu_cases[] = {
    {"gcm_256_4096", {&gcm_hkdf, 32, 4096, Hash::sha256, Hash::sha256, 16}},
    {"gcm_128_20000", {&gcm_hkdf, 16, 20000, Hash::sha256, Hash::sha256, 16}},  // more than a chunk
    {"c2sp_256", {&c2sp, 32, 16400, Hash::sha512, Hash::sha512, 16}},
};

class FileDeviceFailure : public FileJobTest {
protected:
    FileDeviceFailure() { simt::reset(); }
    ~FileDeviceFailure() override { simt::reset(); }

    static EngineOptions options(const char* backend) {
        return {.backend = backend, .threads = 2, .depth = 2, .chunk_bytes = 16384, .costs = gpu_first()};
    }

    static constexpr int for_good = std::numeric_limits<int>::max() / 2;

    /// Runs `work` on new engines and makes each CUDA call fail in turn.
    template <typename Work>
    void fail_every_call(const char* backend, const Work& work, std::initializer_list<int> how_often = {1, for_good}) {
        simt::reset();
        work(std::make_unique<Engine>(options(backend)));
        const std::uint64_t calls = simt::calls("*");
        ASSERT_GT(calls, 20U);
        for (std::uint64_t nth = 1; nth <= calls; ++nth) {
            for (const int times : how_often) {
                SCOPED_TRACE(std::to_string(nth) + " x " + std::to_string(times));
                simt::reset();
                simt::fail_call("*", static_cast<int>(nth), cudaErrorUnknown, times);
                work(std::make_unique<Engine>(options(backend)));
            }
        }
        simt::reset();
    }

    const Bytes plaintext_ = pseudorandom(36000, 30);
};

TEST_F(FileDeviceFailure, TheCpuFinishesWhatTheGpuBegan) {
    write_file("plain", plaintext_);
    for (const SegmentCase& c : gpu_cases) {
        SCOPED_TRACE(c.name);
        const StreamKey key = key_of(c);
        const Keyset keyset = keyset_of({key});
        const auto header_bytes = static_cast<std::size_t>(layout_of(c.parameters).header_bytes);
        unsigned failures = 0;
        AeadJob seal_job = job(Direction::encrypt, keyset, "plain", "sealed");
        seal_job.overwrite = true;
        fail_every_call("auto", [&](std::unique_ptr<Engine> engine) {
            const FileResult result = run_aead(*engine, seal_job);
            const Bytes file = read_file("sealed");
            ASSERT_EQ(file, seal(key, {}, std::span(file).first(header_bytes), plaintext_));
            ASSERT_EQ(result.backend, "cuda");
            failures += (result.notes & WARPAES_NOTE_DEVICE_FAILED) != 0;
        });
        EXPECT_GT(failures, 20U);

        failures = 0;
        AeadJob open_job = job(Direction::decrypt, keyset, "sealed", "opened");
        open_job.overwrite = true;
        fail_every_call("auto", [&](std::unique_ptr<Engine> engine) {
            const FileResult result = run_aead(*engine, open_job);
            ASSERT_EQ(read_file("opened"), plaintext_);
            failures += (result.notes & WARPAES_NOTE_DEVICE_FAILED) != 0;
        });
        EXPECT_GT(failures, 20U);

        Bytes altered = read_file("sealed");
        altered[30000] ^= 1;
        write_file("sealed", altered);
        std::filesystem::remove(path("opened"));
        const auto refused = [&](std::unique_ptr<Engine> engine) {
            ASSERT_EQ(failure_of([&] { run_aead(*engine, open_job); }).status, WARPAES_ERROR_AUTHENTICATION);
            ASSERT_FALSE(exists("opened"));
        };
        fail_every_call("auto", refused, {for_good});
    }
}

TEST_F(FileDeviceFailure, WhereCudaWasAskedForTheFailureIsReported) {
    write_file("plain", plaintext_);
    const StreamKey key = key_of(gpu_cases[0]);
    const Keyset keyset = keyset_of({key});
    const AeadJob seal_job = job(Direction::encrypt, keyset, "plain", "sealed");
    unsigned failures = 0;
    fail_every_call("cuda", [&](std::unique_ptr<Engine> engine) {
        const Failure failure = failure_of([&] { run_aead(*engine, seal_job); });
        if (failure.status == WARPAES_OK) {
            const Bytes file = read_file("sealed");
            ASSERT_EQ(file, seal(key, {}, std::span(file).first(40), plaintext_));
            std::filesystem::remove(path("sealed"));
        } else {
            ASSERT_EQ(failure.status, WARPAES_ERROR_DEVICE) << failure.sentence;
            ++failures;
        }
        ASSERT_EQ(entries(), 1u);
    });
    EXPECT_GT(failures, 20U);
}

TEST_F(FileDeviceFailure, TooLittleDeviceMemory) {
    write_file("plain", plaintext_);
    const Keyset keyset = keyset_of({key_of(gpu_cases[0])});
    simt::Machine machine = simt::Machine::from_environment();
    machine.memory = 25000;  // less than a chunk in each direction
    simt::reset(machine);
    Engine engine(options("auto")), cuda(options("cuda"));
    EXPECT_EQ(failure_of([&] { run_aead(cuda, job(Direction::encrypt, keyset, "plain", "sealed")); }).status,
              WARPAES_ERROR_DEVICE_MEMORY);
    EXPECT_EQ(run_aead(engine, job(Direction::encrypt, keyset, "plain", "sealed")).notes,
              std::uint32_t{WARPAES_NOTE_DEVICE_FAILED});
    run_aead(engine, job(Direction::decrypt, keyset, "sealed", "opened"));
    EXPECT_EQ(read_file("opened"), plaintext_);
}

}  // namespace
}  // namespace warpaes::test
