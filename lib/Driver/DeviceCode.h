//===- DeviceCode.h - The part of a program that runs on a GPU --*- C++ -*-===//

#ifndef HONE_DRIVER_DEVICECODE_H
#define HONE_DRIVER_DEVICECODE_H

#include "hone/Support/AttentionPlanner.h"
#include "hone/Target/CPU/MachineCode.h"
#include "hone/Target/GPU/DeviceCode.h"

#include "mlir/IR/BuiltinOps.h"

namespace hone::driver {

/// Code of a program's kernels.
struct DeviceCode {
  std::string ptx;
  /// The kernels for this machine, behind the emulator; null if not asked for.
  std::unique_ptr<llvm::Module> emulated;
};

/// Compiles the `gpu.module` of a program whose kernels are in the nvvm
/// dialect, takes it out of `module`, and defines there what tells the runtime
/// of the code: PTX and, where an assembler is installed, machine code.
/// `emulates` asks for the emulation too, by `machine`, in `context`.
llvm::Expected<DeviceCode>
compileDevice(mlir::ModuleOp module, const hone::DeviceTarget &device,
              bool emulates, const hone::CpuTarget &cpu,
              llvm::TargetMachine &machine, llvm::LLVMContext &context);

/// Defines in `module`, as hone-lower-to-kernels leaves it, what tells the
/// runtime of the library's plans for its attention on `device`. The error
/// names the place of an attention whose operands lie so that the library
/// refuses it, or needs more memory than is planned.
llvm::Error planAttentionCalls(mlir::ModuleOp module,
                               const hone::DeviceTarget &device,
                               hone::AttentionPlanner planner,
                               hone::AttentionAnswers &answers);

} // namespace hone::driver

#endif // HONE_DRIVER_DEVICECODE_H
