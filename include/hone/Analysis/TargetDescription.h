//===- TargetDescription.h - The machine that passes decide for -*- C++ -*-===//
//
// What graph passes need to know about the machine: which tensors pay to pad,
// what a library call takes with it, what moving a byte costs. Facts only; the
// tables are in TargetDescription.cpp, with their sources. The module names the
// machine (`hone.target = "cuda sm_90"`); without the attribute it is a CPU.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_ANALYSIS_TARGETDESCRIPTION_H
#define HONE_ANALYSIS_TARGETDESCRIPTION_H

#include "hone/IR/Hone.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace hone {

enum class TargetKind { CPU, CUDA };

/// What the target's matrix library computes in the call of the product itself.
struct Epilogues {
  bool bias = false;        ///< + a vector along the columns
  bool addend = false;      ///< + a matrix of the result's type (C operand)
  bool geluTanh = false;    ///< gelu_tanh of the result, with or without the
                            ///< argument stored too
  bool geluTanhBwd = false; ///< * gelu_tanh'(u): the gradient of the argument
  bool geluErf = false;     ///< gelu_erf of the result, only where the argument
                            ///< itself is not read
  bool biasGradient = false; ///< column sums of the result or of an operand
};

struct TargetDescription {
  TargetKind kind = TargetKind::CPU;
  std::string arch; ///< "znver4", "sm_90", ...; empty: generic

  double matmulFlopsPerSecond(mlir::Type element) const;
  double bytesPerSecond() const;
  /// Seconds that a kernel or call costs besides its work.
  double launchSeconds() const;
  /// Library epilogues of products whose result has this element type.
  Epilogues epilogues(mlir::Type element) const;
  /// Elements to whose multiples sizes of products are padded; 1: no need.
  int64_t paddingMultiple(mlir::Type element) const;
  /// Rows of logits that are computed, used and dropped together.
  int64_t lossChunkBytes() const;
};

/// The target that `module` names. An unknown one is an error at the module.
mlir::FailureOr<TargetDescription> getTarget(mlir::ModuleOp module);

} // namespace hone

#endif // HONE_ANALYSIS_TARGETDESCRIPTION_H
