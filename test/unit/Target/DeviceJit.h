//===- DeviceJit.h - Device code run by the emulator ------------*- C++ -*-===//
//
// For tests of whoever emits kernels: a gpu.module goes through the device
// phase, becomes PTX (which is not run), and is emulated from the same LLVM IR
// with all checks of runtime/include/honert/emulator.h.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_TEST_DEVICE_DEVICEJIT_H
#define HONE_TEST_DEVICE_DEVICEJIT_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace hone::test {

/// A context with the dialects that kernels are written on.
std::unique_ptr<mlir::MLIRContext> makeDeviceContext();

/// Memory of a kernel's parameter. Buffers of a launch may overlap: together
/// they are one allocation then.
struct DeviceBuffer {
  void *data;
  int64_t bytes;
};

/// The kernels of the only gpu.module in a module.
class DeviceJit {
public:
  /// Lowers `module` in place, for the GPU called `arch`; a failure is one of
  /// the test and ends the process.
  explicit DeviceJit(mlir::ModuleOp module, const std::string &arch = "sm_90");
  ~DeviceJit();

  /// Runs a kernel, whose parameters are the buffers' addresses. What the
  /// emulator finds is a failure of the test.
  void launch(const std::string &kernel, int64_t blocks, int64_t threads,
              llvm::ArrayRef<DeviceBuffer> buffers);
  /// The same; returns what the emulator finds, or "". `seed`: another order of
  /// blocks and threads, 0: their own.
  std::string run(const std::string &kernel, int64_t blocks, int64_t threads,
                  llvm::ArrayRef<DeviceBuffer> buffers, uint64_t seed = 0);

  const std::string &getPtx() const { return ptx; }

private:
  struct State;
  std::unique_ptr<State> state;
  std::string ptx;
};

} // namespace hone::test

#endif // HONE_TEST_DEVICE_DEVICEJIT_H
