//===- Jit.cpp - Kernels compiled into this process -----------------------===//

#include "Jit.h"

#include "hone/Pipelines/Pipelines.h"
#include "hone/Target/CPU/MachineCode.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"

#include <cstdio>
#include <cstdlib>

using namespace mlir;
using namespace hone::test;

[[noreturn]] static void fail(const std::string &message) {
  std::fprintf(stderr, "error: jit: %s\n", message.c_str());
  std::exit(1);
}

template <typename T> static T take(llvm::Expected<T> value) {
  if (!value)
    fail(llvm::toString(value.takeError()));
  return std::move(*value);
}

std::unique_ptr<MLIRContext> hone::test::makeContext() {
  DialectRegistry registry;
  registerAllDialects(registry);
  auto context =
      std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  context->loadAllAvailableDialects();
  return context;
}

Jit::Jit(ModuleOp module, const std::string &arch) {
  PassManager manager(module.getContext());
  buildLLVMPhase(manager);
  if (failed(manager.run(module)))
    fail("a kernel does not lower to LLVM");
  CpuTarget cpu = take(selectCpu(arch));
  std::unique_ptr<llvm::TargetMachine> machine = createMachine(cpu);
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code =
      translateToLLVM(module, cpu, *machine, context);
  if (!code)
    fail("a kernel does not translate to LLVM IR");
  // Entries are internal: in a program, its description refers to them.
  for (llvm::Function &function : *code)
    if (function.getName().ends_with("_entry"))
      function.setLinkage(llvm::GlobalValue::ExternalLinkage);
  optimize(*code, *machine);
  jit = take(llvm::orc::LLJITBuilder().create());
  if (llvm::Error error =
          jit->addObjectFile(std::make_unique<llvm::SmallVectorMemoryBuffer>(
              emitObject(*code, *machine))))
    fail(llvm::toString(std::move(error)));
}

Jit::~Jit() = default;

void Jit::callEntry(const std::string &name, const std::vector<void *> &buffers,
                    int64_t lo, int64_t hi) {
  using Entry = void (*)(void *const *, int64_t, int64_t);
  reinterpret_cast<Entry>(lookup(name + "_entry"))(buffers.data(), lo, hi);
}

void *Jit::lookup(const std::string &name) {
  return take(jit->lookup(name)).toPtr<void *>();
}

/// Calls a function of `sizeof...(I)` pointers and two integers.
template <size_t... I>
static void callWith(void *function, void *const *p, int64_t lo, int64_t hi,
                     std::index_sequence<I...>) {
  auto pointer = [](void *value, size_t) { return value; };
  (void)pointer;
  reinterpret_cast<void (*)(decltype(pointer(nullptr, I))..., int64_t,
                            int64_t)>(function)(p[I]..., lo, hi);
}

void Jit::call(const std::string &name, const std::vector<void *> &buffers,
               int64_t lo, int64_t hi) {
  void *function = lookup(name);
  switch (buffers.size()) {
#define HONE_CASE(n)                                                           \
  case n:                                                                      \
    return callWith(function, buffers.data(), lo, hi,                          \
                    std::make_index_sequence<n>());
    HONE_CASE(1)
    HONE_CASE(2)
    HONE_CASE(3)
    HONE_CASE(4)
    HONE_CASE(5)
    HONE_CASE(6)
    HONE_CASE(7)
    HONE_CASE(8)
    HONE_CASE(9)
    HONE_CASE(10)
    HONE_CASE(11)
    HONE_CASE(12)
    HONE_CASE(13)
#undef HONE_CASE
  default:
    fail("too many buffers");
  }
}
