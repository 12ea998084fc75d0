//===- Jit.h - Kernels compiled into this process ---------------*- C++ -*-===//

#ifndef HONE_TEST_ATTENTION_JIT_H
#define HONE_TEST_ATTENTION_JIT_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace llvm::orc {
class LLJIT;
} // namespace llvm::orc

namespace hone::test {

/// A context with the dialects that kernels are written on.
std::unique_ptr<mlir::MLIRContext> makeContext();

/// Host code of a module of kernels.
class Jit {
public:
  /// Lowers `module` in place and compiles it for the CPU called `arch`; ends
  /// the process on failure.
  explicit Jit(mlir::ModuleOp module, const std::string &arch = "native");
  ~Jit();
  /// Calls `name(buffers..., lo, hi)`.
  void call(const std::string &name, const std::vector<void *> &buffers,
            int64_t lo, int64_t hi);
  /// Calls the entry of kernel `name`, as the runtime does.
  void callEntry(const std::string &name, const std::vector<void *> &buffers,
                 int64_t lo, int64_t hi);
  /// Address of the function, for timing.
  void *lookup(const std::string &name);

private:
  std::unique_ptr<llvm::orc::LLJIT> jit;
};

} // namespace hone::test

#endif // HONE_TEST_ATTENTION_JIT_H
