// A fiber: a stack of its own and a place to continue. One simulated CUDA thread runs on each.
//
// On x86-64 a switch is a dozen instructions; swapcontext, the fallback for other processors, makes a system call for
// each.
#pragma once

#include <cstddef>

#if !defined(__x86_64__) && !defined(WARPAES_SIMT_UCONTEXT)
#define WARPAES_SIMT_UCONTEXT 1
#endif
#ifdef WARPAES_SIMT_UCONTEXT
#include <ucontext.h>
#endif

#if defined(__SANITIZE_ADDRESS__)
#define WARPAES_SIMT_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WARPAES_SIMT_ASAN 1
#endif
#endif

namespace simt {

/// Where to continue: that of a fiber, or of the host thread that switched to one.
class Context {
public:
    Context() = default;
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

    /// Leaves `from`, the running context, and continues `to`. Returns when something switches back to `from`.
    static void switch_to(Context& from, Context& to);

protected:
    /// AddressSanitizer follows stacks, if it is told; at a fiber's very start there is nothing to restore.
    static void arrived(Context& here);

#ifdef WARPAES_SIMT_UCONTEXT
    ucontext_t state_{};
#else
    void* stack_pointer_ = nullptr;
#endif
    Context* left_ = nullptr;  ///< the one that was left when this was entered
    void* asan_stack_ = nullptr;
    const void* stack_bottom_ = nullptr;
    std::size_t stack_bytes_ = 0;
};

class Fiber : public Context {
public:
    /// `entry(argument)` begins with the first switch to the fiber, and must not return. `number` tells stacks apart.
    Fiber(void (*entry)(void*), void* argument, unsigned number);
    ~Fiber();

private:
    [[noreturn]] static void begin(Fiber* self);

    void (*entry_)(void*);
    void* argument_;
    void* mapping_;
};

}  // namespace simt
