// Makes every kind of call as the first call of a process while a stream is in capture, in each capture mode, from the
// capturing thread and from another thread. The library's lazy initialization must neither fail nor invalidate the
// capture. Each case runs in a separate process, which is this program with the arguments --first KIND SITUATION.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "../why_skipped.hpp"
#include "evp_oracle.hpp"
#include "on_stream.hpp"
#include "warpaes/numbers.h"

namespace warpaes::test {
namespace {

constexpr std::uint32_t seed = 1;
constexpr int no_gpu = 77;
std::string program;  ///< this program's path, quoted

struct Situation {
    const char* name;
    cudaStreamCaptureMode mode;
    bool by_another = false;  ///< a thread other than the capturing thread makes the call
    bool blocking = false;    ///< the stream synchronizes with the default stream
};

constexpr Situation situations[] = {
    {"global", cudaStreamCaptureModeGlobal},
    {"thread_local", cudaStreamCaptureModeThreadLocal},
    {"relaxed", cudaStreamCaptureModeRelaxed},
    {"global_blocking", cudaStreamCaptureModeGlobal, false, true},
    {"global_another_thread", cudaStreamCaptureModeGlobal, true},
    {"thread_local_another_thread", cudaStreamCaptureModeThreadLocal, true},
    {"relaxed_another_thread", cudaStreamCaptureModeRelaxed, true},
    {"global_another_thread_blocking", cudaStreamCaptureModeGlobal, true, true},
};

/// The only call of a process. Also creates the engine.
class Call {
public:
    virtual ~Call() = default;
    /// Makes the call. Returns the fault, or "".
    virtual std::string make(cudaStream_t stream) = 0;
    /// Must be called after make(), or after the graph has run. Returns all faults, or "".
    virtual std::string complaints() = 0;
    [[nodiscard]] virtual bool can_run_again() const { return true; }
    /// Returns whether the graph contains part of the work.
    [[nodiscard]] virtual bool is_captured() const { return true; }

protected:
    warpaes_engine* engine() {
        if (engine_ == nullptr) engine_ = make_engine("cuda", 2);
        return engine_.get();
    }
    static std::string told(const char* what, warpaes_status status) {
        return status == WARPAES_OK ? "" : std::string(what) + ": " + warpaes_last_error() + "; ";
    }
    AbiEngine engine_;
};

/// Enqueues messages on the stream in capture.
class Enqueued final : public Call {
public:
    Enqueued(std::vector<GroupSpec> specs, bool batch) : batch_(batch), messages_(specs, seed, memory_) {}
    std::string make(cudaStream_t stream) override {
        return batch_ ? messages_.enqueue_batch(engine(), stream) : messages_.enqueue_messages(engine(), stream);
    }
    std::string complaints() override { return messages_.complaints(); }
    [[nodiscard]] bool can_run_again() const override { return !messages_.in_place(); }

private:
    CudaMemory memory_;
    bool batch_;
    OnStream messages_;
};

class Numbers final : public Call {
public:
    explicit Numbers(bool enqueued) : enqueued_(enqueued), output_(memory_.allocate(bytes)) {}
    ~Numbers() override { memory_.release(output_, bytes); }
    std::string make(cudaStream_t stream) override {
        const AbiKey key = make_key(std::vector<std::uint8_t>(16, 7));
        const std::vector<std::uint8_t> counter(16, 3);
        warpaes_numbers n = WARPAES_NUMBERS_INIT;
        n.key = key.get();
        n.counter = counter.data();
        n.output = output_;
        n.output_len = bytes;
        return told("numbers", enqueued_ ? warpaes_numbers_fill_async(engine(), &n, stream, nullptr)
                                         : warpaes_numbers_fill(engine(), &n, nullptr));
    }
    std::string complaints() override {
        std::vector<std::uint8_t> got(bytes);
        memory_.read(got, output_);
        const oracle::Bytes key(16, 7), counter(16, 3), zeros(bytes);
        return got == *oracle::evp("CTR", true, key, counter, zeros) ? "" : "the numbers are wrong";
    }

private:
    static constexpr std::size_t bytes = 4096;
    CudaMemory memory_;
    bool enqueued_;
    std::uint8_t* output_;
};

/// Runs a message on the default stream, which CUDA does not allow while a blocking stream is in capture.
class OnDefaultStream final : public Call {
public:
    OnDefaultStream(std::vector<GroupSpec> specs, bool batch, bool excluded)
        : batch_(batch), excluded_(excluded), messages_(specs, seed, memory_) {}
    std::string make(cudaStream_t) override {
        const std::string wrong =
            batch_ ? messages_.enqueue_batch(engine(), nullptr) : messages_.enqueue_messages(engine(), nullptr);
        if (!excluded_) return wrong;
        return wrong.find("CUDA does not permit the default stream") != std::string::npos ? ""
                                                                                          : "was not refused: " + wrong;
    }
    std::string complaints() override {
        if (excluded_) return "";
        const ThreadMode relaxed;
        must(cudaStreamSynchronize(nullptr), "waiting for the default stream");
        return messages_.complaints();
    }

private:
    CudaMemory memory_;
    bool batch_, excluded_;
    OnStream messages_;
};

/// Compares GCM-SIV in device memory with the result on the host.
class GcmSiv final : public Call {
public:
    GcmSiv() : text_(memory_.allocate(bytes)) { memory_.write(text_, std::vector<std::uint8_t>(bytes, 9)); }
    ~GcmSiv() override { memory_.release(text_, bytes); }
    std::string make(cudaStream_t) override { return told("warpaes_crypt", seal(engine(), text_, tag_)); }
    std::string complaints() override {
        std::vector<std::uint8_t> expected(bytes, 9), expected_tag(16), got(bytes);
        const std::string wrong =
            told("on the CPU", seal(make_engine("libcrypto", 1).get(), expected.data(), expected_tag));
        memory_.read(got, text_);
        return wrong + (got == expected && tag_ == expected_tag ? "" : "the result is wrong");
    }

private:
    static constexpr std::size_t bytes = 20000;
    static warpaes_status seal(warpaes_engine* engine, std::uint8_t* text, std::vector<std::uint8_t>& tag) {
        const AbiKey key = make_key(std::vector<std::uint8_t>(16, 7));
        const std::vector<std::uint8_t> iv(12, 3);
        warpaes_message m = WARPAES_MESSAGE_INIT;
        m.mode = WARPAES_GCM_SIV;
        m.direction = WARPAES_ENCRYPT;
        m.key = key.get();
        m.iv = iv.data();
        m.iv_len = iv.size();
        m.input = m.output = text;
        m.input_len = m.output_capacity = bytes;
        m.tag = tag.data();
        m.tag_len = tag.size();
        return warpaes_crypt(engine, &m, nullptr);
    }
    CudaMemory memory_;
    std::uint8_t* text_;
    std::vector<std::uint8_t> tag_ = std::vector<std::uint8_t>(16);
};

/// Decrypts a CBC range, which has to wait for the stream. On a stream in capture, the call is refused, and the stream
/// stays unchanged.
class Refused final : public Call {
public:
    Refused() : text_(memory_.allocate(2 * bytes)) {}
    ~Refused() override { memory_.release(text_, 2 * bytes); }
    std::string make(cudaStream_t stream) override {
        const AbiKey key = make_key(std::vector<std::uint8_t>(16, 7));
        const std::vector<std::uint8_t> iv(16, 3);
        warpaes_message m = WARPAES_MESSAGE_INIT;
        m.mode = WARPAES_CBC;
        m.direction = WARPAES_DECRYPT;
        m.flags = WARPAES_RANGE;
        m.key = key.get();
        m.iv = iv.data();
        m.iv_len = iv.size();
        m.input = text_;
        m.input_len = bytes;
        m.output = text_ + bytes;
        m.output_capacity = bytes;
        m.range_offset = m.range_len = bytes / 2;
        const warpaes_status status = warpaes_crypt_async(engine(), &m, stream, nullptr);
        return status == WARPAES_ERROR_STATE ? "" : "status " + std::to_string(status) + ": " + warpaes_last_error();
    }
    std::string complaints() override { return ""; }
    [[nodiscard]] bool is_captured() const override { return false; }

private:
    static constexpr std::size_t bytes = 256;
    CudaMemory memory_;
    std::uint8_t* text_;
};

/// Runs a synchronous message with its text in device or host memory.
class Message final : public Call {
public:
    Message(const GroupSpec& spec, bool on_device)
        : cases_({&spec, 1}, seed, on_device ? static_cast<BatchMemory&>(memory_) : guarded_memory()) {}
    std::string make(cudaStream_t) override {
        const MessageGroup& g = cases_.groups()[0];
        const warpaes_message m = message_of(g, shared_handles());
        const warpaes_status status = warpaes_crypt(engine(), &m, nullptr);
        if (status == WARPAES_ERROR_AUTHENTICATION && g.failed != nullptr) g.failed[0] = 1;
        const bool is_false = cases_.false_messages(0) != 0;
        return status == (is_false ? WARPAES_ERROR_AUTHENTICATION : WARPAES_OK) ? "" : told("warpaes_crypt", status);
    }
    std::string complaints() override { return cases_.complaints(); }

private:
    CudaMemory memory_;
    BatchCase cases_;
};

/// Runs a batch on the engine's threads.
class Batch final : public Call {
public:
    Batch(std::vector<GroupSpec> specs, bool on_device)
        : cases_(specs, seed, on_device ? static_cast<BatchMemory&>(memory_) : guarded_memory()), entries_(cases_) {}
    std::string make(cudaStream_t) override { return complaints_of_entries(engine(), cases_, entries_); }
    std::string complaints() override { return cases_.complaints(); }

private:
    CudaMemory memory_;
    BatchCase cases_;
    AbiEntries entries_;
};

/// Makes a call that has no result to compare.
class Other final : public Call {
public:
    using Function = std::function<std::string(warpaes_engine*)>;
    explicit Other(Function function) : function_(std::move(function)) {}
    std::string make(cudaStream_t) override { return function_(engine()); }
    std::string complaints() override { return ""; }
    static std::string ok(const char* what, warpaes_status status) { return told(what, status); }

private:
    Function function_;
};

std::string allocate(warpaes_engine* engine, warpaes_memory memory) {
    void* pointer = nullptr;
    std::uint8_t bytes[64] = {};
    std::string wrong = Other::ok("warpaes_alloc", warpaes_alloc(engine, memory, 0, sizeof bytes, &pointer));
    wrong += Other::ok("warpaes_copy", warpaes_copy(engine, pointer, bytes, sizeof bytes));
    warpaes_free(engine, pointer);
    return wrong;
}

std::string use_arena(warpaes_engine* engine) {
    warpaes_arena* arena = nullptr;
    std::string wrong =
        Other::ok("warpaes_arena_create", warpaes_arena_create(engine, WARPAES_MEMORY_PAGE_LOCKED, 0, 1 << 16, &arena));
    warpaes_arena_destroy(arena);
    return wrong;
}

struct Kind {
    std::string name;
    bool enqueues;  ///< whether the call enqueues work on the stream in capture
    std::function<std::unique_ptr<Call>(const Situation&)> make;
};

GroupSpec one(Mode mode, Direction direction, std::uint64_t length) {
    GroupSpec spec{.mode = mode, .direction = direction, .length = length};
    spec.key = 0;
    if (mode == Mode::gcm || mode == Mode::ccm) spec.iv_length = 12;
    if (uses_tag(mode) && mode != Mode::cmac) spec.aad_length = 20;
    if (mode == Mode::ecb || mode == Mode::cmac) spec.iv_length = 0;
    return spec;
}

std::vector<GroupSpec> mixed() {
    std::vector<GroupSpec> specs;
    for (const Mode mode : batch_modes()) {
        for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
            GroupSpec spec = one(mode, direction, 64);
            spec.count = 3;
            spec.key.reset();
            spec.raw_keys = mode != Mode::xts && direction == Direction::encrypt;
            specs.push_back(spec);
        }
    }
    return specs;
}

std::vector<Kind> kinds() {
    std::vector<Kind> all;
    const auto add = [&](std::string name, bool enqueues, std::function<std::unique_ptr<Call>(const Situation&)> make) {
        all.push_back({std::move(name), enqueues, std::move(make)});
    };
    const auto add_message = [&](Mode mode, Direction direction, std::uint64_t length, std::size_t shift) {
        GroupSpec spec = one(mode, direction, length);
        spec.shift = shift;
        const std::string name = std::string(batch_mode_name(mode)) +
                                 (direction == Direction::encrypt ? "_encrypt_" : "_decrypt_") +
                                 std::to_string(length) + (shift != 0 ? "_shifted" : "");
        add("enqueued_" + name, true,
            [=](const Situation&) { return std::make_unique<Enqueued>(std::vector{spec}, false); });
        add("device_" + name, false, [=](const Situation&) { return std::make_unique<Message>(spec, true); });
    };
    for (const Mode mode : batch_modes()) {
        for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
            add_message(mode, direction, 4096, 0);
            // These lengths need one short launch, one launch, and several launches.
            if (mode != Mode::gcm) continue;
            add_message(mode, direction, 64, 0);
            add_message(mode, direction, 70000, 0);
            add_message(mode, direction, 300001, 1);
        }
    }
    for (const Mode mode : {Mode::cfb128, Mode::cbc}) {  // in place, these kernels need extra memory
        GroupSpec spec = one(mode, Direction::decrypt, 100000 / 16 * 16);
        spec.in_place = true;
        add(std::string("enqueued_in_place_") + batch_mode_name(mode), true,
            [=](const Situation&) { return std::make_unique<Enqueued>(std::vector{spec}, false); });
    }
    add("enqueued_batch", true, [](const Situation&) { return std::make_unique<Enqueued>(mixed(), true); });
    add("enqueued_numbers", true, [](const Situation&) { return std::make_unique<Numbers>(true); });
    add("enqueued_and_refused", true, [](const Situation&) { return std::make_unique<Refused>(); });
    for (const bool batch : {false, true}) {
        add(batch ? "default_stream_batch" : "default_stream", false, [=](const Situation& situation) {
            const std::vector specs{one(Mode::gcm, Direction::encrypt, 20000), one(Mode::ctr, Direction::encrypt, 64)};
            return std::make_unique<OnDefaultStream>(specs, batch, situation.blocking);
        });
    }
    add("device_gcm_siv", false, [](const Situation&) { return std::make_unique<GcmSiv>(); });
    add("numbers", false, [](const Situation&) { return std::make_unique<Numbers>(false); });
    add("device_batch", false, [](const Situation&) { return std::make_unique<Batch>(mixed(), true); });
    add("host_batch", false, [](const Situation&) { return std::make_unique<Batch>(mixed(), false); });
    for (const Mode mode : {Mode::ctr, Mode::gcm, Mode::cbc}) {
        add(std::string("host_") + batch_mode_name(mode), false,
            [=](const Situation&) { return std::make_unique<Message>(one(mode, Direction::encrypt, 40000), false); });
    }
    const auto add_other = [&](const char* name, Other::Function function) {
        add(name, false, [=](const Situation&) { return std::make_unique<Other>(function); });
    };
    add_other("allocate_device", [](warpaes_engine* e) { return allocate(e, WARPAES_MEMORY_DEVICE); });
    add_other("allocate_page_locked", [](warpaes_engine* e) { return allocate(e, WARPAES_MEMORY_PAGE_LOCKED); });
    add_other("arena", use_arena);
    add_other("flush", [](warpaes_engine* e) { return Other::ok("flush", warpaes_engine_flush_keys(e)); });
    return all;
}

/// Makes the first call while a stream is in capture and then runs the captured graph. Returns the fault, or "".
std::string run(const Kind& kind, const Situation& situation) {
    const std::unique_ptr<Call> call = kind.make(situation);
    CudaMemory memory;
    std::uint8_t* const mark = memory.allocate(1);
    memory.write(mark, std::vector<std::uint8_t>{0});
    const CudaStream stream(situation.blocking ? cudaStreamDefault : cudaStreamNonBlocking);
    std::string wrong;
    {
        Captured capture(stream.get(), situation.mode);
        if (situation.by_another) {
            std::thread([&] { wrong = call->make(stream.get()); }).join();
        } else {
            wrong = call->make(stream.get());
        }
        if (wrong.empty()) must(cudaMemsetAsync(mark, 5, 1, stream.get()), "capturing work of the caller");
        wrong += capture.finish();
        if (!wrong.empty()) return wrong;
        if (!kind.enqueues) wrong += call->complaints();
        if (kind.enqueues && call->is_captured() && call->complaints().empty()) return "was done before the graph ran";
        for (int time = 0; time < (kind.enqueues && call->can_run_again() ? 2 : 1) && wrong.empty(); ++time) {
            capture.run(stream);
            wrong += call->complaints();
        }
    }
    std::vector<std::uint8_t> marked(1);
    memory.read(marked, mark);
    memory.release(mark, 1);
    if (marked[0] != 5) wrong += "the caller's own work is not in the graph; ";
    return wrong;
}

int run_first(std::string_view kind_name, std::string_view situation_name) {
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) return no_gpu;
    for (const Kind& kind : kinds()) {
        if (kind.name != kind_name) continue;
        for (const Situation& situation : situations) {
            if (situation.name != situation_name) continue;
            std::string wrong;
            try {
                wrong = run(kind, situation);
            } catch (const std::exception& e) {
                wrong = e.what();
            }
            std::printf("%s\n", wrong.c_str());
            return wrong.empty() && !testing::Test::HasFailure() ? 0 : 1;
        }
    }
    std::printf("there is no such case\n");
    return 1;
}

class FirstCall : public testing::TestWithParam<Kind> {};

TEST_P(FirstCall, LeavesTheCaptureWhole) {
    for (const Situation& situation : situations) {
        // Only the capturing thread can enqueue the work, unless the capture mode allows any thread.
        if (GetParam().enqueues && situation.by_another && situation.mode != cudaStreamCaptureModeRelaxed) continue;
        std::string said;
        const std::string command = "exec " + program + " --first " + GetParam().name + " " + situation.name + " 2>&1";
        std::FILE* const pipe = ::popen(command.c_str(), "r");
        ASSERT_NE(pipe, nullptr);
        for (int c = 0; (c = std::fgetc(pipe)) != EOF;) said += static_cast<char>(c);
        const int status = ::pclose(pipe);
        if (WIFEXITED(status) && WEXITSTATUS(status) == no_gpu) GTEST_SKIP() << needs_gpu("there is none");
        EXPECT_EQ(status, 0) << situation.name << ": " << said;
    }
}

INSTANTIATE_TEST_SUITE_P(cuda, FirstCall, testing::ValuesIn(kinds()), [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace warpaes::test

int main(int argc, char** argv) {
    using namespace warpaes::test;
    if (argc == 4 && std::string_view(argv[1]) == "--first") return run_first(argv[2], argv[3]);
    program = "'" + std::filesystem::read_symlink("/proc/self/exe").string() + "'";
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
