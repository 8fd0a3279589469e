// A fiber: a separate stack and a saved execution state. Each simulated CUDA thread runs on one fiber.
//
// On x86-64 a switch takes a dozen instructions. Other processors use swapcontext, which makes a system call for each
// switch.
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

/// The saved execution state of a fiber, or of the host thread that switched to a fiber.
class Context {
public:
    Context() = default;
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

    /// Suspends `from`, the running context, and continues `to`. Returns when a context switches back to `from`.
    static void switch_to(Context& from, Context& to);

protected:
    /// Informs AddressSanitizer that the stack of `here` is active. A fiber that has just started has no state to
    /// restore.
    static void arrived(Context& here);

#ifdef WARPAES_SIMT_UCONTEXT
    ucontext_t state_{};
#else
    void* stack_pointer_ = nullptr;
#endif
    Context* left_ = nullptr;  ///< the context that switched to this one
    void* asan_stack_ = nullptr;
    const void* stack_bottom_ = nullptr;
    std::size_t stack_bytes_ = 0;
};

class Fiber : public Context {
public:
    /// The first switch to the fiber calls `entry(argument)`, which must not return. `number` identifies the stack.
    Fiber(void (*entry)(void*), void* argument, unsigned number);
    ~Fiber();

private:
    [[noreturn]] static void begin(Fiber* self);

    void (*entry_)(void*);
    void* argument_;
    void* mapping_;
};

}  // namespace simt
