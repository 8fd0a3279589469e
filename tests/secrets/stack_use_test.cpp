// Tests how much of the caller's stack the operations of the C ABI use when they are the first calls of a process. The
// dynamic linker then binds symbols, which saves the vector registers on the stack, and tables are built.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

#include "abi/support.hpp"
#include "memory.hpp"
#include "operations.hpp"
#include "warpaes/parquet.h"

namespace {

using namespace secrets;

/// A thread with a stack whose unused part keeps its first contents.
class PaintedStack {
public:
    PaintedStack() {
        void* const memory =
            mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) std::abort();
        stack_ = static_cast<std::uint8_t*>(memory);
        std::memset(stack_, paint, bytes);
    }
    ~PaintedStack() { munmap(stack_, bytes); }
    PaintedStack(const PaintedStack&) = delete;
    PaintedStack& operator=(const PaintedStack&) = delete;
    /// Calls `work` on a thread with this stack, and returns how many bytes below the call were written.
    std::size_t depth_of(const std::function<void()>& work) {
        work_ = &work;
        pthread_attr_t attributes;
        pthread_t thread{};
        pthread_attr_init(&attributes);
        pthread_attr_setstack(&attributes, stack_, bytes);
        if (pthread_create(&thread, &attributes, &PaintedStack::run, this) != 0) std::abort();
        pthread_join(thread, nullptr);
        pthread_attr_destroy(&attributes);
        const std::uint8_t* const lowest = std::find_if(stack_, stack_ + bytes, [](auto b) { return b != paint; });
        return static_cast<std::size_t>(called_ - lowest);
    }

private:
    static constexpr std::size_t bytes = std::size_t{1} << 20;
    static constexpr std::uint8_t paint = 0xa5;

    static void* run(void* self) {
        auto* const its = static_cast<PaintedStack*>(self);
        its->called_ = static_cast<std::uint8_t*>(__builtin_frame_address(0));
        (*its->work_)();
        return nullptr;
    }

    std::uint8_t* stack_;
    const std::uint8_t* called_ = nullptr;
    const std::function<void()>* work_ = nullptr;
};

class StackUse : public testing::TestWithParam<std::string> {
protected:
    void SetUp() override {
        if (GetParam() == "cuda") GTEST_SKIP() << "CUDA's driver does not document its stack use";
    }
    /// Calls `measure` in a new process and returns its result, or 0 if the process failed.
    std::size_t in_new_process(const std::function<std::size_t()>& measure) {
        *result_ = 0;
        const pid_t child = fork();
        if (child == 0) {
            *result_ = measure();
            _exit(0);
        }
        int status = 0;
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0) return 0;
        return *result_;
    }
    [[nodiscard]] abi_tests::Engine engine(std::uint64_t chunk_bytes = 0) const {
        return abi_tests::make_engine(GetParam(), chunk_bytes, 2);
    }
    void check(const std::string& name, const std::function<std::size_t()>& measure) {
        const std::size_t depth = in_new_process(measure);
        EXPECT_GT(depth, 0) << name << " failed";
        EXPECT_LE(depth, documented) << name;
        deepest_ = std::max(deepest_, depth);
    }

    static constexpr std::size_t documented = 48 << 10;  // docs/library.md
    std::size_t deepest_ = 0;
    volatile std::size_t* const result_ = reinterpret_cast<volatile std::size_t*>(own(sizeof(std::size_t)));
};

/// Parquet modules that do not authenticate, with and without a table of pages.
void decrypt_parquet(warpaes_engine* engine) {
    std::vector<std::uint8_t> modules(4 + 28 + 40 + 4 + 28 + 1000, 1), view(modules.size());
    const std::uint32_t header = 28 + 40, page = 28 + 1000;
    std::memcpy(modules.data(), &header, sizeof header);
    std::memcpy(modules.data() + 4 + header, &page, sizeof page);
    const abi_tests::Key key = abi_tests::make_key(abi_tests::Bytes(16, 1));
    warpaes_parquet_chunk chunk = WARPAES_PARQUET_CHUNK_INIT;
    chunk.key = key.get();
    chunk.modules = modules.data();
    chunk.modules_len = modules.size();
    warpaes_parquet_page pages[2];
    std::uint64_t count = 0, bytes = 0;
    if (warpaes_parquet_walk(&chunk, pages, 2, &count, &bytes) != WARPAES_OK || count != 1 || bytes != modules.size() ||
        warpaes_parquet_decrypt(engine, &chunk, pages, count, view.data(), bytes) != WARPAES_ERROR_AUTHENTICATION) {
        std::abort();
    }
}

TEST_P(StackUse, FirstCallsOfAProcess) {
    World world;
    const std::vector<Operation> all = world.operations(nullptr, nullptr, false);
    for (std::size_t i = 0; i < all.size(); ++i) {
        check(all[i].name, [&] {
            const abi_tests::Engine whole = engine(), cutting = engine(World::small_chunk);
            std::vector<Operation> own = world.operations(whole.get(), cutting.get(), false);
            if (own[i].before) own[i].before();
            const std::size_t depth = PaintedStack().depth_of(own[i].run);
            look_for_nothing();
            return world.complaints().empty() ? depth : 0;
        });
    }
    check("warpaes_engine_create", [&] { return PaintedStack().depth_of([&] { (void)engine(); }); });
    check("warpaes_parquet_decrypt", [&] {
        const abi_tests::Engine whole = engine();
        return PaintedStack().depth_of([&] { decrypt_parquet(whole.get()); });
    });
    RecordProperty("deepest", std::to_string(deepest_));
    EXPECT_GT(deepest_, 8192) << "nothing was measured";
}

WARPAES_FOR_EVERY_BACKEND(StackUse);

}  // namespace
