//===- MachineCode.h - Machine code for a CPU -------------------*- C++ -*-===//

#ifndef HONE_TARGET_CPU_MACHINECODE_H
#define HONE_TARGET_CPU_MACHINECODE_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include "llvm/Target/TargetMachine.h"

namespace hone {

/// A CPU as LLVM names it.
struct CpuTarget {
  std::string triple;
  std::string name;     ///< "znver4", "x86-64-v3", ...
  std::string features; ///< "+avx2,-avx512f,...", empty: what the name implies
};

/// The CPU called `arch` on this machine's operating system; "native" is the
/// host. An unknown name is an error that lists a few known ones, and so is a
/// CPU without a 64-bit mode.
llvm::Expected<CpuTarget> selectCpu(llvm::StringRef arch);

/// The names of all CPUs of this machine's architecture, of 32 bits too.
std::vector<llvm::StringRef> listCpus();

/// Code generator for `cpu`: position-independent, and without contraction of
/// multiplications and additions, which belongs to whoever wrote the kernel.
std::unique_ptr<llvm::TargetMachine> createMachine(const CpuTarget &cpu);

/// Those extensions of x86-64 that code for `machine` may use and not every CPU
/// has, separated by spaces (honert/cpu_features.def).
std::string listFeatures(const llvm::TargetMachine &machine);

/// LLVM IR of a module in the llvm dialect, bound to `cpu`, but for what
/// describes the program: that runs on every CPU. Null after a diagnostic.
std::unique_ptr<llvm::Module> translateToLLVM(mlir::ModuleOp module,
                                              const CpuTarget &cpu,
                                              llvm::TargetMachine &machine,
                                              llvm::LLVMContext &context);

/// LLVM's -O3 without its vectorisers: kernels are vector code already, and the
/// order of their sums is part of the result.
void optimize(llvm::Module &module, llvm::TargetMachine &machine);

/// The object file of `module`.
llvm::SmallVector<char, 0> emitObject(llvm::Module &module,
                                      llvm::TargetMachine &machine);

} // namespace hone

#endif // HONE_TARGET_CPU_MACHINECODE_H
