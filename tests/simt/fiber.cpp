#include "fiber.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <new>

#ifdef WARPAES_SIMT_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

namespace simt {
namespace {

constexpr std::size_t guard_bytes = 4096;
#if defined(WARPAES_SIMT_ASAN) || !defined(__OPTIMIZE__)
constexpr std::size_t stack_bytes = 256 * 1024;  // a sanitizer's stack frames are several times as large
#else
constexpr std::size_t stack_bytes = 64 * 1024;
#endif

}  // namespace

#ifndef WARPAES_SIMT_UCONTEXT

// simt_switch(void** save, void* stack_pointer) pushes the callee-saved registers of the System V ABI and switches to
// the other stack. It ends with a jump rather than a return, because the processor's return prediction would be wrong
// after the switch. simt_begin is the first code on a new stack. Its two arguments lie in registers that simt_switch
// restores.
asm(R"(
    .text
    .p2align 4
    .type simt_switch, @function
simt_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    popq %rcx
    jmpq *%rcx
    .size simt_switch, . - simt_switch

    .p2align 4
    .type simt_begin, @function
simt_begin:
    movq %r12, %rdi
    jmpq *%r13
    .size simt_begin, . - simt_begin
)");
extern "C" void simt_switch(void** save, void* stack_pointer);
extern "C" void simt_begin();

#endif

void Context::arrived(Context& here) {
#ifdef WARPAES_SIMT_ASAN
    // AddressSanitizer reports the bounds of the stack that was left. A host thread's bounds are unknown until then.
    __sanitizer_finish_switch_fiber(here.asan_stack_, &here.left_->stack_bottom_, &here.left_->stack_bytes_);
#else
    static_cast<void>(here);
#endif
}

void Context::switch_to(Context& from, Context& to) {
    to.left_ = &from;
#ifdef WARPAES_SIMT_ASAN
    __sanitizer_start_switch_fiber(&from.asan_stack_, to.stack_bottom_, to.stack_bytes_);
#endif
#ifdef WARPAES_SIMT_UCONTEXT
    swapcontext(&from.state_, &to.state_);
#else
    simt_switch(&from.stack_pointer_, to.stack_pointer_);
#endif
    arrived(from);
}

Fiber::Fiber(void (*entry)(void*), void* argument, unsigned number) : entry_(entry), argument_(argument) {
    mapping_ = mmap(nullptr, guard_bytes + stack_bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (mapping_ == MAP_FAILED || mprotect(mapping_, guard_bytes, PROT_NONE) != 0) throw std::bad_alloc();
    auto* bottom = static_cast<std::uint8_t*>(mapping_) + guard_bytes;
    // All stacks begin at the same page offset. Without this shift, their hot cache lines would share a few cache sets.
    const std::size_t shift = number * std::size_t{320} % 4096;
    stack_bottom_ = bottom;
    stack_bytes_ = stack_bytes - shift / 16 * 16;
#ifdef WARPAES_SIMT_UCONTEXT
    getcontext(&state_);
    state_.uc_stack.ss_sp = bottom;
    state_.uc_stack.ss_size = stack_bytes_;
    // makecontext passes int arguments, so the pointer is split into two of them.
    const auto self = reinterpret_cast<std::uintptr_t>(this);
    const auto thunk = [](unsigned high, unsigned low) {
        begin(reinterpret_cast<Fiber*>(static_cast<std::uintptr_t>(high) << 32 | low));
    };
    void (*function)(unsigned, unsigned) = thunk;
    makecontext(&state_, reinterpret_cast<void (*)()>(function), 2, static_cast<unsigned>(self >> 32),
                static_cast<unsigned>(self));
#else
    // Writes the layout that simt_switch leaves: r15, r14, r13, r12, rbx, rbp and the address to continue at, with a
    // null return address above them.
    auto* top = reinterpret_cast<void**>(bottom + stack_bytes_);
    *--top = nullptr;
    *--top = reinterpret_cast<void*>(&simt_begin);
    *--top = nullptr;
    *--top = nullptr;
    *--top = this;
    *--top = reinterpret_cast<void*>(&Fiber::begin);
    *--top = nullptr;
    *--top = nullptr;
    stack_pointer_ = top;
#endif
}

Fiber::~Fiber() {
    munmap(mapping_, guard_bytes + stack_bytes);
}

void Fiber::begin(Fiber* self) {
    arrived(*self);
    self->entry_(self->argument_);
    std::abort();
}

}  // namespace simt
