//===- Fibres.cpp - Stacks of threads that take turns ---------------------===//

#include "emulation/kernels/Fibres.h"

#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#ifndef __x86_64__
#include <ucontext.h>
#endif

using namespace honert::emulator;

//===----------------------------------------------------------------------===//
// The switch
//===----------------------------------------------------------------------===//

#ifdef __x86_64__

/// A point to go on from: the stack, on which lie the registers that a call
/// preserves and the address to return to.
using Context = void *;

/// Stores where it was called from to `*from`, goes on at `to`.
extern "C" void honemu_switch(Context *from, Context to);
asm(R"(
.text
.hidden honemu_switch
.globl honemu_switch
.type honemu_switch, @function
honemu_switch:
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
  ret
.size honemu_switch, .-honemu_switch
)");

static void prepare(Context &context, char *stack, Fibres::Entry entry) {
  // Below a return address that nobody uses, which aligns the stack as a call
  // does: the entry, and six registers.
  auto **top = reinterpret_cast<void **>(stack + Fibres::stackBytes);
  *--top = nullptr;
  *--top = reinterpret_cast<void *>(entry);
  for (int i = 0; i < 6; ++i)
    *--top = nullptr;
  context = top;
}

static void switchTo(Context &from, Context &to) { honemu_switch(&from, to); }

#else

using Context = ucontext_t;

static void prepare(Context &context, char *stack, Fibres::Entry entry) {
  getcontext(&context);
  context.uc_stack.ss_sp = stack;
  context.uc_stack.ss_size = Fibres::stackBytes;
  context.uc_link = nullptr;
  makecontext(&context, entry, 0);
}

static void switchTo(Context &from, Context &to) { swapcontext(&from, &to); }

#endif

//===----------------------------------------------------------------------===//
// Fibres
//===----------------------------------------------------------------------===//

struct Fibres::Fibre {
  char *stack;
  Context context;
};

struct Fibres::State {
  std::vector<Fibre> fibres;
  Context scheduler;
  Fibre *running = nullptr;
  size_t guard = static_cast<size_t>(sysconf(_SC_PAGESIZE));
};

Fibres::Fibres() : state(std::make_unique<State>()) {}

Fibres::~Fibres() {
  for (Fibre &fibre : state->fibres)
    munmap(fibre.stack - state->guard, stackBytes + state->guard);
}

bool Fibres::reserve(size_t count) {
  // A stack that overflows hits a page without access. Pages come into being
  // when they are touched.
  while (state->fibres.size() < count) {
    void *memory =
        mmap(nullptr, stackBytes + state->guard, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
      return false;
    mprotect(memory, state->guard, PROT_NONE);
    Fibre fibre = {};
    fibre.stack = static_cast<char *>(memory) + state->guard;
    state->fibres.push_back(fibre);
  }
  return true;
}

void Fibres::start(size_t index, Entry entry) {
  Fibre &fibre = state->fibres[index];
  prepare(fibre.context, fibre.stack, entry);
}

void Fibres::enter(size_t index) {
  state->running = &state->fibres[index];
  switchTo(state->scheduler, state->running->context);
  state->running = nullptr;
}

void Fibres::leave() { switchTo(state->running->context, state->scheduler); }

bool Fibres::isOnStack(uintptr_t address, size_t bytes) const {
  auto begin = reinterpret_cast<uintptr_t>(state->running->stack);
  return address >= begin && bytes <= stackBytes &&
         address - begin <= stackBytes - bytes;
}
