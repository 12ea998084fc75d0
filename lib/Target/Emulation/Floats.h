//===- Floats.h - bf16 as a GPU computes it ---------------------*- C++ -*-===//

#ifndef HONE_LIB_TARGET_EMULATION_FLOATS_H
#define HONE_LIB_TARGET_EMULATION_FLOATS_H

#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"

namespace hone {

/// Writes arithmetic of bf16 in f32 and integers, with the roundings of PTX:
/// to nearest even, subnormals kept. What has no such form is an error.
llvm::Error emulateBFloat(llvm::Module &module);

} // namespace hone

#endif // HONE_LIB_TARGET_EMULATION_FLOATS_H
