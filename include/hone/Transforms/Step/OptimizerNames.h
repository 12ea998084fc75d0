//===- OptimizerNames.h - What --optimizer and --moments name ---*- C++ -*-===//

#ifndef HONE_TRANSFORMS_STEP_OPTIMIZERNAMES_H
#define HONE_TRANSFORMS_STEP_OPTIMIZERNAMES_H

#include "llvm/ADT/StringRef.h"

namespace hone {

/// Optimizers of hone-build-step for messages: "adamw, sgd, lion, adafactor or
/// muon".
bool isOptimizer(llvm::StringRef name);
llvm::StringRef listOptimizers();

/// Formats of their moments, "fp32, bf16 or 8bit" for messages.
bool isMomentFormat(llvm::StringRef name);
llvm::StringRef listMomentFormats();

} // namespace hone

#endif // HONE_TRANSFORMS_STEP_OPTIMIZERNAMES_H
