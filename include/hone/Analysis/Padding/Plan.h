//===- Plan.h - Which dimensions pay to pad ---------------------*- C++ -*-===//
//
// Rows of contractions whose length is no multiple of what the target's library
// likes make it slower. A class of dimensions is padded, once at the parameters
// it comes from, where that saves more time than the larger tensors cost.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_ANALYSIS_PADDING_PLAN_H
#define HONE_ANALYSIS_PADDING_PLAN_H

#include "hone/Analysis/Cost/TargetDescription.h"
#include "hone/Analysis/Padding/Effects.h"

namespace hone {

struct PaddingOptions {
  /// Element type that contractions will have.
  mlir::Type element;
  /// Pad to multiples of this whatever it costs; 0: where it pays.
  int64_t multiple = 0;
  /// Products with other sizes take twice the time: they cannot multiply codes
  /// of fp8.
  int64_t codeMultiple = 1;
};

/// A class to be padded.
struct PaddedClass {
  unsigned id;
  int64_t from, to;
  PaddingEffects effects;
};

/// What was decided about a class, for people.
struct PaddingNote {
  mlir::Operation *where;
  std::string text;
};

struct PaddingPlan {
  llvm::SmallVector<PaddedClass, 0> classes;
  llvm::SmallVector<PaddingNote, 0> notes;
};

/// Decides about every class of `forward`, a function of one block.
PaddingPlan planPadding(mlir::func::FuncOp forward,
                        const DimensionClasses &classes,
                        const TargetDescription &target,
                        const PaddingOptions &options);

} // namespace hone

#endif // HONE_ANALYSIS_PADDING_PLAN_H
