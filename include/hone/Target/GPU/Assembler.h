//===- Assembler.h - From PTX to machine code -------------------*- C++ -*-===//
//
// `ptxas` of the CUDA toolkit, where there is one. Nothing needs it: a
// driver compiles PTX when a program starts.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_TARGET_GPU_ASSEMBLER_H
#define HONE_TARGET_GPU_ASSEMBLER_H

#include "hone/Target/GPU/DeviceCode.h"

#include <optional>

namespace hone {

/// What a kernel takes of a multiprocessor, per thread unless it says
/// otherwise.
struct KernelResources {
  std::string kernel;
  int64_t registers = 0;
  int64_t stackBytes = 0;
  int64_t spillStoreBytes = 0;
  int64_t spillLoadBytes = 0;
  int64_t sharedBytes = 0; ///< per block, static
};

/// Machine code of one architecture.
struct DeviceBinary {
  int64_t arch;
  std::string image; ///< a cubin
  std::vector<KernelResources> kernels;
};

/// The assembler: `named`, else what the environment variable HONE_PTXAS
/// names, else what tools/setup.sh installed beside the sources, else `ptxas`
/// on PATH or of CUDA's usual place; nothing if there is none.
std::optional<std::string> findAssembler(llvm::StringRef named = "");

/// Machine code for the architecture of `device`; the error is the first line
/// that the assembler complains with.
llvm::Expected<DeviceBinary> assemble(llvm::StringRef ptx,
                                      const DeviceTarget &device,
                                      llvm::StringRef assembler);

/// What the assembler says with -v, by kernel.
std::vector<KernelResources> parseResources(llvm::StringRef text);

} // namespace hone

#endif // HONE_TARGET_GPU_ASSEMBLER_H
