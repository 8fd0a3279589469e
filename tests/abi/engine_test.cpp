// Tests the parts of the ABI other than messages: versions, statuses, backends, keys, threads and memory.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <span>
#include <thread>

#include "support.hpp"

namespace abi_tests {
namespace {

// Compiled callers rely on these values and layouts. A change here requires a new soname.
static_assert(WARPAES_OK == 0 && WARPAES_ERROR_INTERNAL == 1 && WARPAES_ERROR_ARGUMENT == 2 &&
              WARPAES_ERROR_KEY_LENGTH == 3 && WARPAES_ERROR_IV_LENGTH == 4 && WARPAES_ERROR_DATA_LENGTH == 5 &&
              WARPAES_ERROR_PADDING == 6 && WARPAES_ERROR_BUFFER_TOO_SMALL == 7 && WARPAES_ERROR_OVERLAP == 8 &&
              WARPAES_ERROR_RANGE == 9 && WARPAES_ERROR_BACKEND == 10 && WARPAES_ERROR_OUT_OF_MEMORY == 11 &&
              WARPAES_ERROR_DEVICE_MEMORY == 12 && WARPAES_ERROR_DEVICE == 13 && WARPAES_ERROR_STATE == 14 &&
              WARPAES_ERROR_CANCELLED == 15 && WARPAES_ERROR_NOT_FOUND == 16 && WARPAES_ERROR_EXISTS == 17 &&
              WARPAES_ERROR_SAME_FILE == 18 && WARPAES_ERROR_READ == 19 && WARPAES_ERROR_WRITE == 20 &&
              WARPAES_ERROR_FORMAT == 21 && WARPAES_ERROR_AUTHENTICATION == 22 && WARPAES_ERROR_KEYSET == 23 &&
              WARPAES_ERROR_TIMEOUT == 24 && WARPAES_ERROR_IV_REUSED == 25 && WARPAES_ERROR_HOLES == 26);
static_assert(WARPAES_ECB == 1 && WARPAES_CBC == 2 && WARPAES_CFB128 == 3 && WARPAES_CFB8 == 4 && WARPAES_CFB1 == 5 &&
              WARPAES_OFB == 6 && WARPAES_CTR == 7 && WARPAES_XTS == 8 && WARPAES_GCM == 9 && WARPAES_CCM == 10 &&
              WARPAES_CMAC == 11 && WARPAES_KW == 12 && WARPAES_KWP == 13 && WARPAES_SIV == 14 &&
              WARPAES_ENCRYPT == 1 && WARPAES_DECRYPT == 2);
static_assert(WARPAES_MEMORY_PAGEABLE == 0 && WARPAES_MEMORY_PAGE_LOCKED == 1 && WARPAES_MEMORY_DEVICE == 2 &&
              WARPAES_MEMORY_SHARED == 3 && WARPAES_ERROR_BYTES == 256);
static_assert(offsetof(warpaes_message, key) == 16 && offsetof(warpaes_message, input) == 40 &&
              offsetof(warpaes_message, aad) == 88 && offsetof(warpaes_message, tweak_key) == 120 &&
              offsetof(warpaes_message, device_status) == 136 && offsetof(warpaes_message, mac_key) == 144 &&
              offsetof(warpaes_message, aad_count) == 160 && offsetof(warpaes_message, data_unit_step) == 168 &&
              sizeof(warpaes_message) == 176);
static_assert(offsetof(warpaes_result, output_len) == 8 && offsetof(warpaes_result, backend) == 24 &&
              offsetof(warpaes_result, error) == 32 && sizeof(warpaes_result) == 288);
static_assert(offsetof(warpaes_context_options, key) == 16 && offsetof(warpaes_context_options, tweak_key) == 40 &&
              offsetof(warpaes_context_options, tag_len) == 72 &&
              offsetof(warpaes_context_options, data_unit_step) == 80 && sizeof(warpaes_context_options) == 88);
static_assert(offsetof(warpaes_entry_result, failures) == 8 && sizeof(warpaes_entry_result) == 24 &&
              offsetof(warpaes_batch_entry, data_unit_step) == 140 && offsetof(warpaes_batch_entry, statuses) == 168 &&
              sizeof(warpaes_batch_entry) == 176);
static_assert(offsetof(warpaes_engine_options, backend) == 8 && offsetof(warpaes_engine_options, error) == 32 &&
              sizeof(warpaes_engine_options) == 40);
static_assert(offsetof(warpaes_backend_info, name) == 8 && sizeof(warpaes_backend_info) == 48);

warpaes_backend_info query(std::size_t index) {
    warpaes_backend_info info = {};
    info.struct_size = sizeof info;
    EXPECT_EQ(warpaes_backend_query(index, &info), WARPAES_OK) << warpaes_last_error();
    return info;
}

TEST(Library, Version) {
    EXPECT_STREQ(warpaes_version(), WARPAES_VERSION);
    EXPECT_EQ(warpaes_abi_version(), static_cast<std::uint32_t>(WARPAES_ABI_VERSION));
}

TEST(Library, EveryStatusHasItsOwnMessage) {
    std::set<std::string> messages;
    for (int status = WARPAES_OK; status <= WARPAES_ERROR_HOLES; ++status) {
        const std::string message = warpaes_status_message(static_cast<warpaes_status>(status));
        EXPECT_FALSE(message.empty()) << status;
        EXPECT_TRUE(messages.insert(message).second) << status << " has the message of another: " << message;
    }
    const char* unknown = warpaes_status_message(static_cast<warpaes_status>(WARPAES_ERROR_HOLES + 1));
    ASSERT_NE(unknown, nullptr);
    EXPECT_TRUE(messages.insert(unknown).second);
}

TEST(Library, LastErrorBelongsToItsThread) {
    warpaes_key* key = nullptr;
    EXPECT_EQ(warpaes_key_create(nullptr, 16, &key), WARPAES_ERROR_ARGUMENT);
    const std::string here = warpaes_last_error();
    EXPECT_FALSE(here.empty());
    std::string there = "untouched";
    std::thread([&] { there = warpaes_last_error(); }).join();
    EXPECT_EQ(there, "");
    EXPECT_EQ(warpaes_last_error(), here);
}

TEST(Backends, AreListedInOrder) {
    const std::size_t count = warpaes_backend_count();
    std::vector<std::string> names;
    for (std::size_t i = 0; i < count; ++i) {
        const warpaes_backend_info info = query(i);
        ASSERT_NE(info.name, nullptr);
        ASSERT_NE(info.description, nullptr);
        ASSERT_NE(info.reason, nullptr);
        EXPECT_STRNE(info.description, "") << info.name;
        EXPECT_EQ(info.usable != 0, std::string(info.reason).empty()) << info.name << ": " << info.reason;
        const bool cuda = std::string(info.name) == "cuda";
        EXPECT_TRUE(info.device >= 0 || !cuda || info.usable == 0) << "a usable GPU has a number";
        EXPECT_TRUE(info.device == -1 || cuda) << info.name;
        EXPECT_EQ(info.multiprocessors > 0, info.device >= 0) << info.name;
        EXPECT_EQ(info.memory_bytes > 0, info.device >= 0) << info.name;
        if (names.empty() || names.back() != info.name) names.emplace_back(info.name);
    }
    EXPECT_EQ(names, (std::vector<std::string>{"libcrypto", "aesni", "vaes", "armv8", "cuda"}));
    for (std::size_t i = 0; i < names.size(); ++i) {
        EXPECT_EQ(warpaes_backend_name(i), names[i]);
        EXPECT_EQ(warpaes_backend_is_gpu(names[i].c_str()), names[i] == "cuda") << names[i];
    }
    for (const char* other : {static_cast<const char*>(nullptr), "", "cud", "cuda2", "CUDA", "auto"}) {
        EXPECT_EQ(warpaes_backend_is_gpu(other), 0);
    }
    EXPECT_EQ(warpaes_backend_name(names.size()), nullptr);
    EXPECT_EQ(query(0).usable, 1) << "libcrypto runs everywhere";
}

TEST(Memory, KindsHaveNames) {
    EXPECT_STREQ(warpaes_memory_name(WARPAES_MEMORY_PAGEABLE), "pageable");
    EXPECT_STREQ(warpaes_memory_name(WARPAES_MEMORY_PAGE_LOCKED), "page-locked");
    EXPECT_STREQ(warpaes_memory_name(WARPAES_MEMORY_DEVICE), "device");
    EXPECT_STREQ(warpaes_memory_name(WARPAES_MEMORY_SHARED), "shared");
    EXPECT_EQ(warpaes_memory_name(std::bit_cast<warpaes_memory>(1000U)), nullptr);
    EXPECT_EQ(warpaes_memory_name(std::bit_cast<warpaes_memory>(~0U)), nullptr);
}

/// A driver that cannot pin ordinary memory is reported as soon as that is detected. Strings returned earlier stay
/// valid.
TEST(Backends, ADriverThatLocksNoPages) {
    const char* const wanted = std::getenv("WARPAES_SIMT_CONFIDENTIAL");
    const auto last = [] { return query(warpaes_backend_count() - 1); };
    const warpaes_backend_info before = last();
    if (before.usable == 0) return;
    const std::string said = before.description;
    const Engine engine = make_engine("cuda");
    void* memory = nullptr;
    ASSERT_EQ(warpaes_alloc(engine.get(), WARPAES_MEMORY_PAGE_LOCKED, 0, 1, &memory), WARPAES_OK);
    warpaes_free(engine.get(), memory);
    const std::string refused = ", page-locks only memory that the driver allocates";
    const bool known = said.find(refused) != std::string::npos;
    const std::string longer = wanted != nullptr && !known ? said + refused : said;
    EXPECT_EQ(last().description, longer);
    EXPECT_EQ(last().description, longer);
    EXPECT_EQ(before.description, said);
}

/// A device for which the build contains no code is listed with the reason and is never chosen.
TEST(UnknownGpu, IsListedAndRefused) {
    if (std::getenv("WARPAES_SIMT_COMPUTE_CAPABILITY") == nullptr) {
        GTEST_SKIP() << "needs a GPU for which the build has no code; the test simulated.unknown_gpu runs this on any "
                        "machine, on a simulated GPU of compute capability 7.0";
    }
    const warpaes_backend_info info = query(warpaes_backend_count() - 1);
    ASSERT_STREQ(info.name, "cuda");
    EXPECT_EQ(info.usable, 0);
    EXPECT_EQ(info.device, 0);
    EXPECT_NE(std::string(info.reason).find("compute capability"), std::string::npos) << info.reason;
    warpaes_engine_options options = WARPAES_ENGINE_OPTIONS_INIT;
    options.backend = "cuda";
    warpaes_engine* engine = nullptr;
    EXPECT_EQ(warpaes_engine_create(&options, &engine), WARPAES_ERROR_BACKEND);
    EXPECT_NE(std::string(warpaes_last_error()).find("compute capability"), std::string::npos) << warpaes_last_error();
}

TEST(Backends, WrongQueries) {
    warpaes_backend_info info = {};
    EXPECT_EQ(warpaes_backend_query(0, &info), WARPAES_ERROR_ARGUMENT) << "struct_size is 0";
    EXPECT_NE(std::string(warpaes_last_error()).find("struct_size"), std::string::npos) << warpaes_last_error();
    info.struct_size = sizeof info;
    EXPECT_EQ(warpaes_backend_query(warpaes_backend_count(), &info), WARPAES_ERROR_ARGUMENT);
    EXPECT_NE(std::string(warpaes_last_error()).find("index"), std::string::npos) << warpaes_last_error();
    EXPECT_EQ(info.name, nullptr);
    EXPECT_EQ(warpaes_backend_query(0, nullptr), WARPAES_ERROR_ARGUMENT);
    EXPECT_NE(std::string(warpaes_last_error()).find("info"), std::string::npos) << warpaes_last_error();
}

/// Tests engines. Each test sets WARPAES_BACKEND.
class EngineTest : public testing::Test {
protected:
    void SetUp() override {
        if (const char* value = std::getenv("WARPAES_BACKEND")) saved_ = value;
        unsetenv("WARPAES_BACKEND");
        setenv("WARPAES_CALIBRATION", "none", 1);  // ignore this machine's calibrations
    }
    void TearDown() override {
        if (saved_) {
            setenv("WARPAES_BACKEND", saved_->c_str(), 1);
        } else {
            unsetenv("WARPAES_BACKEND");
        }
    }

    static warpaes_status create(const warpaes_engine_options* options, Engine& engine) {
        warpaes_engine* raw = nullptr;
        const warpaes_status status = warpaes_engine_create(options, &raw);
        EXPECT_EQ(raw != nullptr, status == WARPAES_OK);
        engine.reset(raw);
        return status;
    }
    static void expect_refused(const warpaes_engine_options& options, warpaes_status status, const std::string& named) {
        Engine engine;
        warpaes_engine_options with_error = options;
        std::string error(WARPAES_ERROR_BYTES + 1, 'x');
        with_error.error = error.data();
        EXPECT_EQ(create(&options, engine), status) << named;
        const std::string sentence = warpaes_last_error();
        EXPECT_NE(sentence.find(named), std::string::npos) << sentence;
        EXPECT_EQ(create(&with_error, engine), status) << named;
        EXPECT_EQ(error.back(), 'x') << "wrote behind WARPAES_ERROR_BYTES";
        if (options.struct_size >= sizeof options) {
            EXPECT_EQ(std::string(error.c_str()), sentence.substr(0, WARPAES_ERROR_BYTES - 1));
        } else {
            EXPECT_EQ(error, std::string(WARPAES_ERROR_BYTES + 1, 'x')) << "of a struct that has no such field";
        }
    }
    /// Returns the backend that runs 1 KiB of CTR.
    static std::string runner(const Engine& engine) {
        const Key key = make_key(Bytes(16, 1));
        const Bytes iv(16, 2);
        Bytes buffer(1024, 3);
        Call message = make_message(WARPAES_CTR, WARPAES_ENCRYPT, key, iv, buffer.data(), buffer.size(), buffer.data(),
                                    buffer.size());
        EXPECT_EQ(crypt(engine, message), WARPAES_OK) << warpaes_last_error();
        return message.result.backend;
    }

    std::optional<std::string> saved_;
};

TEST_F(EngineTest, DefaultsToTheBestCpuForAShortMessage) {
    std::string best;
    for (const std::string& name : usable_backends()) {
        if (name != "cuda") best = name;
    }
    Engine engine;
    ASSERT_EQ(create(nullptr, engine), WARPAES_OK) << warpaes_last_error();
    EXPECT_EQ(runner(engine), best);
    warpaes_engine_options options = WARPAES_ENGINE_OPTIONS_INIT;
    options.backend = "auto";
    ASSERT_EQ(create(&options, engine), WARPAES_OK) << warpaes_last_error();
    EXPECT_EQ(runner(engine), best);
}

TEST_F(EngineTest, RunsTheBackendAskedFor) {
    for (const std::string& name : usable_backends()) {
        if (simulated() && name != "cuda") continue;
        EXPECT_EQ(runner(make_engine(name)), name);
        setenv("WARPAES_BACKEND", name.c_str(), 1);
        Engine engine;
        ASSERT_EQ(create(nullptr, engine), WARPAES_OK) << warpaes_last_error();
        EXPECT_EQ(runner(engine), name) << "WARPAES_BACKEND";
        unsetenv("WARPAES_BACKEND");
    }
}

TEST_F(EngineTest, AnOptionIsStrongerThanTheEnvironment) {
    setenv("WARPAES_BACKEND", "no such thing", 1);
    EXPECT_EQ(runner(make_engine("libcrypto")), "libcrypto");
}

TEST_F(EngineTest, AnEmptyEnvironmentVariableIsNone) {
    setenv("WARPAES_BACKEND", "", 1);
    Engine engine;
    EXPECT_EQ(create(nullptr, engine), WARPAES_OK) << warpaes_last_error();
}

TEST_F(EngineTest, OneThatIsCreatedHasNoError) {
    warpaes_engine_options options = WARPAES_ENGINE_OPTIONS_INIT;
    std::string error(WARPAES_ERROR_BYTES, 'x');
    options.error = error.data();
    Engine engine;
    EXPECT_EQ(create(&options, engine), WARPAES_OK) << warpaes_last_error();
    EXPECT_STREQ(error.c_str(), "");
    error.assign(WARPAES_ERROR_BYTES, 'x');
    EXPECT_EQ(warpaes_engine_create(&options, nullptr), WARPAES_ERROR_ARGUMENT);
    EXPECT_STREQ(error.c_str(), "engine: is null");
}

TEST_F(EngineTest, UnknownBackendsAreRefused) {
    warpaes_engine_options options = WARPAES_ENGINE_OPTIONS_INIT;
    for (const char* name : {"openssl", "CUDA", "aesni ", "vaes512"}) {
        options.backend = name;
        expect_refused(options, WARPAES_ERROR_BACKEND, name);
        expect_refused(options, WARPAES_ERROR_BACKEND, "libcrypto");  // the message lists the existing backends
        setenv("WARPAES_BACKEND", name, 1);
        Engine engine;
        EXPECT_EQ(create(nullptr, engine), WARPAES_ERROR_BACKEND);
        EXPECT_NE(std::string(warpaes_last_error()).find(name), std::string::npos) << warpaes_last_error();
        unsetenv("WARPAES_BACKEND");
    }
}

/// Tests the register width of `vaes`. CMakeLists.txt also runs the tests with WARPAES_VECTOR_BITS=256.
TEST_F(EngineTest, TheEnvironmentLimitsVectorRegisters) {
    const char* const given = std::getenv("WARPAES_VECTOR_BITS");
    const std::string before = given != nullptr ? given : "";
    for (std::size_t i = 0; i < warpaes_backend_count(); ++i) {
        const warpaes_backend_info info = query(i);
        if (std::string(info.name) != "vaes" || info.usable == 0) continue;
        const std::string description = info.description;
        EXPECT_NE(description.find("-bit"), std::string::npos) << description;
        if (before == "256") {
            EXPECT_NE(description.find("256-bit"), std::string::npos) << description;
        }
    }
    for (const char* const value : {"128", "257", "x", " 256", "512 "}) {
        setenv("WARPAES_VECTOR_BITS", value, 1);
        Engine engine;
        EXPECT_EQ(create(nullptr, engine), WARPAES_ERROR_BACKEND) << value;
        EXPECT_EQ(std::string(warpaes_last_error()),
                  std::string("WARPAES_VECTOR_BITS: must be 256 or 512, got '") + value + "'");
    }
    for (const char* const value : {"", "256", "512"}) {
        setenv("WARPAES_VECTOR_BITS", value, 1);
        Engine engine;
        EXPECT_EQ(create(nullptr, engine), WARPAES_OK) << value << warpaes_last_error();
    }
    if (given != nullptr) {
        setenv("WARPAES_VECTOR_BITS", before.c_str(), 1);
    } else {
        unsetenv("WARPAES_VECTOR_BITS");
    }
}

TEST_F(EngineTest, BackendsThatCannotRunHereSayWhy) {
    for (std::size_t i = 0; i < warpaes_backend_count(); ++i) {
        const warpaes_backend_info info = query(i);
        if (info.usable != 0) continue;
        warpaes_engine_options options = WARPAES_ENGINE_OPTIONS_INIT;
        options.backend = info.name;
        expect_refused(options, WARPAES_ERROR_BACKEND, info.reason);
    }
}

TEST_F(EngineTest, WrongOptions) {
    warpaes_engine_options options = WARPAES_ENGINE_OPTIONS_INIT;
    for (const std::uint32_t size : {0U, 4U, 39U}) {
        options.struct_size = size;
        expect_refused(options, WARPAES_ERROR_ARGUMENT, "struct_size");
    }
    options.struct_size = sizeof options;
    options.chunk_bytes = 4097;
    expect_refused(options, WARPAES_ERROR_ARGUMENT, "chunk_bytes");
    options.chunk_bytes = std::uint64_t{1} << 40;
    expect_refused(options, WARPAES_ERROR_ARGUMENT, "chunk_bytes");
    options.chunk_bytes = 0;
    options.threads = 100000;
    expect_refused(options, WARPAES_ERROR_ARGUMENT, "threads");
    options.threads = 0;
    options.depth = 100000;
    expect_refused(options, WARPAES_ERROR_ARGUMENT, "depth");
    options.depth = 0;
    options.device = -2;
    expect_refused(options, WARPAES_ERROR_ARGUMENT, "device");
    options.device = 4000;
    expect_refused(options, WARPAES_ERROR_BACKEND, "device");
    EXPECT_EQ(warpaes_engine_create(nullptr, nullptr), WARPAES_ERROR_ARGUMENT);
    EXPECT_NE(std::string(warpaes_last_error()).find("engine"), std::string::npos);
    warpaes_engine_destroy(nullptr);
}

TEST(Keys, LengthsAndNulls) {
    const Bytes bytes(64, 9);
    for (std::size_t length = 0; length <= 64; ++length) {
        auto* key = reinterpret_cast<warpaes_key*>(1);
        const warpaes_status status = warpaes_key_create(bytes.data(), length, &key);
        if (length == 16 || length == 24 || length == 32) {
            EXPECT_EQ(status, WARPAES_OK) << warpaes_last_error();
        } else {
            EXPECT_EQ(status, WARPAES_ERROR_KEY_LENGTH) << length;
            EXPECT_NE(std::string(warpaes_last_error()).find("key"), std::string::npos) << warpaes_last_error();
            EXPECT_EQ(key, nullptr);
        }
        warpaes_key_destroy(key);
    }
    warpaes_key* key = nullptr;
    EXPECT_EQ(warpaes_key_create(nullptr, 16, &key), WARPAES_ERROR_ARGUMENT);
    EXPECT_EQ(warpaes_key_create(bytes.data(), 16, nullptr), WARPAES_ERROR_ARGUMENT);
    warpaes_key_destroy(nullptr);
}

TEST(Keys, AreCopied) {
    Bytes bytes(16, 9);
    const Key key = make_key(bytes);
    const Bytes original = bytes;
    std::fill(bytes.begin(), bytes.end(), std::uint8_t{0});
    const Bytes text(16, 4);
    EXPECT_EQ(crypt(make_engine("libcrypto"), "libcrypto", WARPAES_ECB, WARPAES_ENCRYPT, key, {}, text),
              expected(WARPAES_ECB, WARPAES_ENCRYPT, original, {}, text));
}

class EngineOfBackend : public BackendTest {};

TEST_P(EngineOfBackend, IsSharedByThreads) {
    // Each message has several chunks, so that the calls compete for the engine's workers.
    const Engine engine = make_engine(GetParam(), 4096, 2);
    const Bytes key_bytes = Random(3).bytes(32);
    const Key key = make_key(key_bytes);
    std::atomic<int> wrong{0};
    std::atomic<int> right{0};
    std::vector<std::thread> threads;
    const int rounds = simulated() ? 3 : 60;
    for (std::uint64_t t = 0; t < 8; ++t) {
        threads.emplace_back([&, t] {
            Random random(100 + t);
            for (int i = 0; i < rounds; ++i) {
                const ModeTraits& mode = all_modes()[random.below(all_modes().size())];
                const warpaes_direction direction = directions[random.below(2)];
                const Bytes input = random.bytes(random.below(mode.mode == WARPAES_CFB1 ? 64 : 2000) * 16);
                const Bytes iv = random.bytes(16);
                Bytes output(input.size());
                Call message = make_message(mode.mode, direction, key, iv, input.data(), input.size(), output.data(),
                                            output.size());
                const bool ok = crypt(engine, message) == WARPAES_OK &&
                                output == expected(mode.mode, direction, key_bytes, iv, input);
                ++(ok ? right : wrong);
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(right, 8 * rounds);
}

/// Returns the size of this process's address space.
std::uint64_t address_space() {
    std::uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

TEST(HostMemory, TakesLittleMoreThanWasAskedFor) {
    const Engine engine = make_engine("libcrypto");
    std::array<void*, 100> pointers{};
    ASSERT_EQ(warpaes_alloc(engine.get(), WARPAES_MEMORY_PAGE_LOCKED, 0, 1, &pointers[0]), WARPAES_OK)
        << warpaes_last_error();
    const std::uint64_t before = address_space();
    for (void*& pointer : std::span(pointers).subspan(1)) {
        ASSERT_EQ(warpaes_alloc(engine.get(), WARPAES_MEMORY_PAGE_LOCKED, 0, 1, &pointer), WARPAES_OK)
            << warpaes_last_error();
    }
    EXPECT_LE(address_space() - before, std::uint64_t{100} << 20);
    for (void* pointer : pointers) warpaes_free(engine.get(), pointer);
}

WARPAES_FOR_EVERY_BACKEND(EngineOfBackend);

}  // namespace
}  // namespace abi_tests
